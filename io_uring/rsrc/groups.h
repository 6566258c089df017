/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: groups of provided buffers */
#ifndef IO_RSRC_GROUPS_H
#define IO_RSRC_GROUPS_H

#include <linux/refcount.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

/**
 * struct io_buf_group - buffers that a program has provided, to be used in their order
 * @refs: the ring's table, and who maps @region at the moment
 * @id: (-) its number
 * @ring: (-) @bufs is shared with the program, which appends to it; else the kernel's own
 * @inc: (-) a buffer is used up bit by bit (IOU_PBUF_RING_INC)
 * @min_left: (-) with @inc: a buffer with less left than that is used up
 * @size: (R) slots in @bufs, a power of two; (-) with @ring
 * @head: (R) the next buffer to be used, running freely; with @ring 16 bits of it count
 * @tail: (R) behind the last one; with @ring the program's word is meant instead
 * @bufs: (R) slots; (U) with @ring
 * @seen: (R) the buffer at @head as it was read when it was picked
 * @region: (-) with @ring: where @bufs is
 */
struct io_buf_group {
	refcount_t			refs;
	u16				id;
	bool				ring;
	bool				inc;
	u32				min_left;
	u32				size;
	u32				head;
	u32				tail;
	struct io_uring_buf		*bufs;
	struct io_uring_buf		seen;
	struct io_mapped_region		region;
};

/**
 * struct io_buf - a provided buffer as an op gets it
 * @addr: address of user memory (access_ok()), which may fault
 * @len: bytes, not more than the request wants
 * @inc: what the request does not use remains for others
 */
struct io_buf {
	u64	addr;
	u32	len;
	bool	inc;
};

void io_groups_init(struct io_ring_ctx *ctx);
void io_groups_free(struct io_ring_ctx *ctx);
struct io_buf_group *io_group_get(struct io_ring_ctx *ctx, unsigned int id);
void io_group_put(struct io_buf_group *group);

int io_buf_pick(struct io_kiocb *req, struct io_buf *buf, unsigned int issue_flags);
u32 io_buf_used(struct io_kiocb *req, s32 res);
void io_buf_unused(struct io_kiocb *req);
void io_buf_take(struct io_kiocb *req);

/* CQE flags that tell the program of the buffer that a request has used. */
static inline u32 io_picked_cflags(const struct io_kiocb *req)
{
	u32 cflags = IORING_CQE_F_BUFFER | (u32)req->picked.bid << IORING_CQE_BUFFER_SHIFT;

	return req->picked.more ? cflags | IORING_CQE_F_BUF_MORE : cflags;
}

int io_group_provide(struct io_ring_ctx *ctx, unsigned int id, struct io_uring_buf first,
		     unsigned int nr);
int io_group_withdraw(struct io_ring_ctx *ctx, unsigned int id, unsigned int nr);

/* for io_uring_register(2) */
int io_group_register(struct io_ring_ctx *ctx, void __user *arg);
int io_group_unregister(struct io_ring_ctx *ctx, void __user *arg);
int io_group_status(struct io_ring_ctx *ctx, void __user *arg);

#endif
