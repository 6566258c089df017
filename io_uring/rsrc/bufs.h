/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: registered buffers */
#ifndef IO_RSRC_BUFS_H
#define IO_RSRC_BUFS_H

#include <linux/sizes.h>
#include <linux/uio.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "rsrc/map.h"
#include "rsrc/table.h"

/* limits: number of registered buffers, and bytes of a registered buffer */
#define IO_BUFS_MAX		SZ_16K
#define IO_BUF_SIZE_MAX		SZ_1G

/**
 * struct io_buf_node - a registered buffer
 * @node: references and tag
 * @ubuf: (-) user address; 0 for a driver's buffer, in which addresses are offsets
 * @len: (-) bytes for each direction (ITER_DEST, ITER_SOURCE), at most IO_BUF_SIZE_MAX for user
 *	memory; 0 for a direction that a driver does not allow
 * @head: (-) bytes by which the first segment is shorter than a full segment
 * @shift: (-) @map->shift
 * @bvec: (-) @map->bvec; NULL after io_parts_by_address()
 * @map: (-) the memory, with a reference
 */
struct io_buf_node {
	struct io_rsrc_node	node;
	u64			ubuf;
	u32			len[2];
	u32			head;
	u32			shift;
	const struct bio_vec	*bvec;
	struct io_mapped_ubuf	*map;
};

static inline struct io_buf_node *io_buf_node(struct io_rsrc_node *node)
{
	return container_of(node, struct io_buf_node, node);
}

/**
 * io_buf_assign - assign the registered buffer ->buf_index to a request
 * @req: the request; it keeps a buffer from an earlier attempt
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * io_req_free() puts the reference.
 *
 * Return: 0; -EFAULT if the slot is empty or does not exist; -ECANCELED if a worker is killed
 * while it waits for the lock.
 */
static inline int io_buf_assign(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_rsrc_node *node;
	int err;

	if (unlikely(req->flags & REQ_F_BUF_NODE))
		return 0;
	err = io_issue_lock(ctx, issue_flags);
	if (err)
		return err;
	node = io_rsrc_find(&ctx->buf_table, req->buf_index);
	if (likely(node)) {
		req->buf_node = io_node_get(ctx, node);
		req->flags |= REQ_F_BUF_NODE;
	}
	io_issue_unlock(ctx, issue_flags);
	return likely(node) ? 0 : -EFAULT;
}

void io_buf_forget(struct io_kiocb *req);
void io_buf_forget_driver(struct io_kiocb *req);

/**
 * io_buf_covers - check whether a range is part of a registered buffer
 * @buf: the buffer
 * @ddir: ITER_DEST or ITER_SOURCE
 * @addr: address of the first byte
 * @len: bytes
 *
 * Return: true if the buffer has the whole range and allows this direction.
 */
static inline bool io_buf_covers(const struct io_buf_node *buf, int ddir, u64 addr, size_t len)
{
	/* for an address below the buffer the difference wraps, so it is too large as well */
	return len <= buf->len[ddir] && addr - buf->ubuf <= buf->len[ddir] - len;
}

void io_buf_iter_segments(const struct io_buf_node *buf, int ddir, u32 offset, u32 len,
			  struct iov_iter *iter);

/**
 * io_buf_iter - set up an iterator over part of a registered buffer
 * @buf: the buffer
 * @ddir: ITER_DEST or ITER_SOURCE
 * @offset: offset of the first byte in the buffer
 * @len: bytes, at least one; io_buf_covers() was true
 * @iter: result
 *
 * For user memory the iterator has only the segments of the range: the block layer scans no others.
 */
static inline void io_buf_iter(const struct io_buf_node *buf, int ddir, u32 offset, u32 len,
			       struct iov_iter *iter)
{
	u32 pos = offset + buf->head;
	u32 first = pos >> buf->shift;

	if (unlikely(!buf->shift)) {
		io_buf_iter_segments(buf, ddir, offset, len, iter);
		return;
	}
	*iter = (struct iov_iter) {
		.iter_type	= ITER_BVEC,
		.data_source	= ddir,
		.bvec		= buf->bvec + first,
		.iov_offset	= first ? pos & (BIT(buf->shift) - 1) : offset,
		.count		= len,
		.nr_segs	= ((pos + len - 1) >> buf->shift) - first + 1,
	};
}

int io_buf_gather(struct io_kiocb *req, int ddir, const struct iovec *iov, unsigned int nr,
		  unsigned int issue_flags);
void io_parts_by_address(struct io_kiocb *req, struct iovec *iov, unsigned int nr);
void io_parts_free(struct io_ring_ctx *ctx);
int io_buf_set_driver(struct io_ring_ctx *ctx, unsigned int slot, struct io_mapped_ubuf *map,
		      u32 len, unsigned int dirs);
int io_buf_clear_driver(struct io_ring_ctx *ctx, unsigned int slot);

/* for io_uring_register(2) */
int io_register_buffers(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr,
			u64 __user *tags);
int io_register_buffers2(struct io_ring_ctx *ctx, void __user *arg, unsigned int size);
int io_bufs_begin_leave(struct io_ring_ctx *ctx);
void io_bufs_end_leave(struct io_ring_ctx *ctx);

/* Let the fallback worker undo io_bufs_begin_leave(), as the unregistering task was killed. */
static inline void io_bufs_abandon(struct io_ring_ctx *ctx)
{
	WRITE_ONCE(ctx->bufs.abandoned, true);
}

/* Undo an abandoned io_bufs_begin_leave(); ring lock held. */
static inline void io_bufs_take_back(struct io_ring_ctx *ctx)
{
	if (unlikely(READ_ONCE(ctx->bufs.abandoned)) && xchg(&ctx->bufs.abandoned, false))
		io_bufs_end_leave(ctx);
}

int io_bufs_update(struct io_ring_ctx *ctx, const struct io_uring_rsrc_update2 *up);
int io_clone_buffers(struct io_ring_ctx *ctx, void __user *arg);

#endif
