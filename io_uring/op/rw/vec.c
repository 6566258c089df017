// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_READV_FIXED, WRITEV_FIXED - vectors in a registered buffer */

/*
 * ->prep() copies the vector, as for READV.  The entries are ranges of the registered buffer, which
 * is looked up at the first ->issue(), as in 7.3: a request ahead in the chain may register the
 * buffer.  From then on the request is a READ_FIXED or WRITE_FIXED of one range, see rsrc/parts.c.
 * A request with a single entry is that from the start.
 *
 * The block layer of 7.3 does not check all segments of a registered buffer, as they are contiguous
 * but for these vectors.  A driver that copies the data of a bio may lose what is not a whole
 * sector, so direct I/O by such parts uses the addresses of the vector, as a READV does: then all
 * is checked.
 */
#include <linux/blk_types.h>
#include <linux/fs.h>
#include <linux/uio.h>

#include "op/rw/rw.h"

/**
 * io_rw_vec_prep - read the SQE of a READV_FIXED or WRITEV_FIXED
 * @req: the request
 * @sqe: the SQE
 *
 * Return: 0 or a negative errno.
 */
int io_rw_vec_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret = io_rw_prep_sqe(req, sqe);
	struct io_rw *rw = io_rw(req);
	struct iovec one, *iov = &one;
	unsigned int nr = rw->len;

	if (unlikely(ret) || !nr)
		return ret;
	if (unlikely(nr > UIO_MAXIOV))
		return -EINVAL;
	if (nr > 1) {
		struct io_rw_async *async = io_rw_async_vec(req, nr);

		if (!async)
			return -ENOMEM;
		iov = async->iov;
	}
	iov = iovec_from_user(u64_to_user_ptr(rw->addr), nr, nr, iov, req->ctx->compat);
	if (IS_ERR(iov))
		return PTR_ERR(iov);
	if (nr > 1)
		return 0;
	/* an empty range is an error, so it gets an address that no buffer has */
	rw->addr = one.iov_len ? (uintptr_t)one.iov_base : U64_MAX;
	rw->len = clamp(one.iov_len, 1, MAX_RW_COUNT);
	return 0;
}

/*
 * Return: true if a part begins or ends within a sector, in a direct transfer that may be one by
 * bios.  A regular file may belong to another filesystem (overlayfs, FUSE passthrough).
 */
static bool io_rw_vec_splits(const struct file *file, const struct iovec *iov, unsigned int nr)
{
	const struct inode *inode = file_inode(file);
	unsigned long all = 0;
	unsigned int i;

	if (!(file->f_flags & O_DIRECT) || nr < 2)
		return false;
	if (!S_ISBLK(inode->i_mode) && !S_ISREG(inode->i_mode))
		return false;
	for (i = 0; i < nr; i++)
		all |= (uintptr_t)iov[i].iov_base | iov[i].iov_len;
	return all & (SECTOR_SIZE - 1);
}

/*
 * Let the request use the addresses of its vector.  Return: 0; -EINVAL for a driver's buffer, which
 * the request then has no more.
 */
static noinline int io_rw_vec_plain(struct io_kiocb *req)
{
	struct io_rw_async *async = req->async_data;

	if (io_buf_node(req->buf_node)->map->release) {
		io_buf_forget(req);
		return -EINVAL;
	}
	io_parts_by_address(req, async->iov, async->nr_segs);
	return 0;
}

/**
 * io_rw_vec_assign - find the registered buffer of a READV_FIXED or WRITEV_FIXED
 * @req: the request, which has its file, but no buffer; ring lock held
 *
 * Return: 0 or a negative errno.
 */
int io_rw_vec_assign(struct io_kiocb *req)
{
	struct io_rw_async *async = req->flags & REQ_F_ASYNC_DATA ? req->async_data : NULL;
	unsigned int nr = async ? async->nr_segs : 0;
	int ret, ddir = io_rw_fixed_ddir(req);
	struct io_rw *rw = io_rw(req);

	if (!nr && rw->len)
		return io_rw_buf_assign(req, ddir);
	ret = io_buf_assign(req, 0);
	if (ret)
		return ret;
	/* a vector without an entry needs a registered buffer as well */
	ret = io_buf_gather(req, ddir, nr ? async->iov : NULL, nr, 0);
	if (ret < 0) {
		io_buf_forget(req);
		return ret;
	}
	rw->addr = 0;
	rw->len = ret;
	if (unlikely(nr && io_rw_vec_splits(req->file, async->iov, nr)))
		return io_rw_vec_plain(req);
	return 0;
}
