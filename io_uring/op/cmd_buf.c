// SPDX-License-Identifier: GPL-2.0
/* io_uring: URING_CMD - registered buffers in a driver's memory */

/*
 * A program that serves a block device or a file system moves data between the requests of other
 * programs and files or sockets.  To avoid a copy, the driver registers the pages of a request in a
 * slot of the server's ring.  The server reads into or writes from that slot, as with its own
 * registered buffers, but with offsets in place of addresses.
 *
 * The driver keeps the pages until its release function is called: when the slot is empty and no
 * request or notif uses the buffer.  The driver decides in which direction data may flow.  The
 * server of a block device must neither change the data of a write, nor read the old contents of
 * the pages of a read.
 */
#include <linux/blk-mq.h>
#include <linux/bvec.h>
#include <linux/io_uring/cmd.h>
#include <linux/mm.h>

#include "ring/locks.h"
#include "rsrc/bufs.h"

/* Register @map.  After a failure, free it without a call of its release function. */
static int io_cmd_set_buf(struct io_uring_cmd *cmd, struct io_mapped_ubuf *map, u32 len,
			  unsigned int dirs, unsigned int index, unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = cmd_to_io_kiocb(cmd)->ctx;
	int ret = io_issue_lock(ctx, issue_flags);

	if (!ret) {
		ret = io_buf_set_driver(ctx, index, map, len, dirs);
		io_issue_unlock(ctx, issue_flags);
	}
	if (ret)
		kvfree(map);
	return ret;
}

static struct io_mapped_ubuf *io_cmd_map(unsigned int nr, void (*release)(void *priv), void *priv)
{
	struct io_mapped_ubuf *map;

	if (!nr)
		return ERR_PTR(-EINVAL);
	map = io_map_alloc(nr);
	if (!map)
		return ERR_PTR(-ENOMEM);
	map->release = release;
	map->priv = priv;
	return map;
}

/* Documented in linux/io_uring/cmd.h. */
int io_buffer_register_request(struct io_uring_cmd *cmd, struct request *rq,
			       void (*release)(void *), unsigned int index,
			       unsigned int issue_flags)
{
	struct io_mapped_ubuf *map;
	struct req_iterator iter;
	unsigned int nr = 0;
	struct bio_vec bv;

	rq_for_each_bvec(bv, rq, iter)
		nr++;
	map = io_cmd_map(nr, release, rq);
	if (IS_ERR(map))
		return PTR_ERR(map);
	nr = 0;
	rq_for_each_bvec(bv, rq, iter)
		map->bvec[nr++] = bv;
	return io_cmd_set_buf(cmd, map, blk_rq_bytes(rq),
			      rq_data_dir(rq) == WRITE ? IO_BUF_SOURCE : IO_BUF_DEST,
			      index, issue_flags);
}
EXPORT_SYMBOL_GPL(io_buffer_register_request);

/* Documented in linux/io_uring/cmd.h. */
int io_buffer_register_bvec(struct io_uring_cmd *cmd, const struct bio_vec *bvs,
			    unsigned int nr_bvecs, void (*release)(void *), void *priv, u8 dir,
			    unsigned int index, unsigned int issue_flags)
{
	struct io_mapped_ubuf *map;
	unsigned int i;
	u32 len = 0;

	if (!dir || dir & ~(IO_BUF_DEST | IO_BUF_SOURCE))
		return -EINVAL;
	for (i = 0; i < nr_bvecs; i++) {
		if (check_add_overflow(len, bvs[i].bv_len, &len))
			return -EOVERFLOW;
	}
	map = io_cmd_map(nr_bvecs, release, priv);
	if (IS_ERR(map))
		return PTR_ERR(map);
	memcpy(map->bvec, bvs, array_size(nr_bvecs, sizeof(*bvs)));
	return io_cmd_set_buf(cmd, map, len, dir, index, issue_flags);
}
EXPORT_SYMBOL_GPL(io_buffer_register_bvec);

/* Documented in linux/io_uring/cmd.h. */
int io_buffer_unregister(struct io_uring_cmd *cmd, unsigned int index, unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = cmd_to_io_kiocb(cmd)->ctx;
	int ret = io_issue_lock(ctx, issue_flags);

	if (ret)
		return ret;
	ret = io_buf_clear_driver(ctx, index);
	io_issue_unlock(ctx, issue_flags);
	return ret;
}
EXPORT_SYMBOL_GPL(io_buffer_unregister);

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "tests/cmd_buf_kunit.c"
#endif
