/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: groups of provided buffers */
#ifndef IO_RSRC_GROUPS_H
#define IO_RSRC_GROUPS_H

#include <linux/nospec.h>
#include <linux/refcount.h>
#include <linux/uio.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

/**
 * struct io_buf_group - buffers that a program has provided, used in order
 * @refs: (A) references of the ring's table, and of mmap() calls of @region
 * @id: (-) number of the group
 * @ring: (-) ring of buffers: the program shares @bufs and appends to it; else @bufs is private
 * @inc: (-) buffers are used up piece by piece (IOU_PBUF_RING_INC)
 * @min_left: (-) with @inc: a buffer with fewer bytes left is used up
 * @size: (R) slots in @bufs, a power of two; (-) with @ring
 * @head: (R) index of the next buffer, free running; with @ring only the low 16 bits are valid
 * @tail: (R) index after the last buffer; unused with @ring, as the tail is in shared memory
 * @bufs: (R) slots; (U) with @ring
 * @seen: (R) copy of the buffer at @head, read when the buffer was selected
 * @taker: (R) with @inc: the request that consumed the latest piece; NULL after any later use
 * @whole: (R) with @taker: copy of the buffer before that piece was consumed
 * @region: (-) with @ring: memory of @bufs
 * @pinned: (R) number of pages of @region, if @region is pinned user memory
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
	const struct io_kiocb		*taker;
	struct io_uring_buf		whole;
	struct io_mapped_region		region;
	u32				pinned;
};

/**
 * struct io_buf - a provided buffer that is selected for an op
 * @addr: user address; access_ok() has accepted it, but it need not be mapped
 * @len: bytes, not more than the request wants
 * @inc: the group is incremental: it keeps the bytes that the request does not use; false if the
 *	request has consumed its piece, which no other request uses
 */
struct io_buf {
	u64	addr;
	u32	len;
	bool	inc;
};

/* values of io_picked->taken besides 0; only the rest of a PIECE may return to the group */
#define IO_TAKEN_BUFFER	1
#define IO_TAKEN_PIECE	2

/* maximum number of buffers of one transfer */
#define IO_BUNDLE_MAX	256

/**
 * struct io_bundle - several provided buffers for one transfer (see io_uring/rsrc/bundle.c)
 * @nr: number of buffers
 * @nr_segs: number of segments
 * @len: bytes of all segments
 * @cut: bytes of the last buffer that are beyond @len
 * @bid: number of the first buffer
 * @single: the CQE must not include buffers of another bundle
 * @segs: segments of user memory
 * @lens: lengths of the buffers as they were read
 */
struct io_bundle {
	u32			nr;
	u32			nr_segs;
	u32			len;
	u32			cut;
	u16			bid;
	bool			single;
	struct iovec		segs[IO_BUNDLE_MAX];
	u32			lens[IO_BUNDLE_MAX];
};

void io_groups_init(struct io_ring_ctx *ctx);
void io_groups_free(struct io_ring_ctx *ctx);
struct io_buf_group *io_group_get(struct io_ring_ctx *ctx, unsigned int id);
void io_group_put(struct io_buf_group *group);

int io_buf_pick(struct io_kiocb *req, struct io_buf *buf, unsigned int issue_flags);
u32 io_buf_used(struct io_kiocb *req, s32 res, unsigned int issue_flags);
void io_buf_unused(struct io_kiocb *req);
void io_buf_take(struct io_kiocb *req);
bool io_buf_retire(struct io_kiocb *req, u32 need);
bool io_buf_offered(struct io_kiocb *req);

struct io_bundle *io_bundle_pick(struct io_kiocb *req, u32 nr, u32 want, u32 most);
u32 io_bundle_used(struct io_kiocb *req, const struct io_bundle *bundle, u32 moved);
u32 io_bundle_sent(struct io_kiocb *req, const struct io_bundle *bundle);
void io_bundle_take(struct io_kiocb *req, const struct io_bundle *bundle);

/* Find a group.  The caller holds the ring lock or groups.lock. */
static inline struct io_buf_group *io_group_find(struct io_ring_ctx *ctx, unsigned int id)
{
	if (likely(id < IO_GROUPS_SMALL))
		return ctx->groups.small[array_index_nospec(id, IO_GROUPS_SMALL)];
	return xa_load(&ctx->groups.others, id);
}

/* sqe->len limits a SEND only if the group is a ring, as on 6.12 and 7.3.  Call before a pick. */
static inline void io_group_limit_send(struct io_kiocb *req, const struct io_buf_group *group)
{
	if (unlikely(!group->ring) && req->opcode == IORING_OP_SEND)
		req->picked.max = 0;
}

/* Return: number of buffers in the group; with ->ring up to 65,535: the program sets the tail. */
static inline u32 io_group_count(const struct io_buf_group *group)
{
	if (!group->ring)
		return group->tail - group->head;
	/* pairs with the program's release store of the tail, which lies in the first slot */
	return (u16)(smp_load_acquire(&((struct io_uring_buf_ring *)group->bufs)->tail) -
		     group->head);
}

/* Return: true if a buffer is left.  Ring lock held since @req has consumed a buffer. */
static inline bool io_buf_more(const struct io_kiocb *req)
{
	return io_group_count(io_group_find(req->ctx, req->buf_index));
}

/* Like io_buf_more(), but ignore the rest of an incremental buffer that a bundle has begun. */
static inline bool io_bundle_more(const struct io_kiocb *req)
{
	return io_group_count(io_group_find(req->ctx, req->buf_index)) > req->picked.more;
}

static inline struct io_uring_buf *io_group_slot(struct io_buf_group *group, u32 at)
{
	return &group->bufs[at & (group->size - 1)];
}

/*
 * Remove @used bytes of the buffer in ->seen from the group.  Remove the whole buffer if the group
 * is not incremental, or if nothing or less than ->min_left would remain.  Return: true if the
 * group keeps the rest of the buffer.
 */
static inline bool io_group_use(struct io_buf_group *group, u32 used)
{
	struct io_uring_buf *slot = io_group_slot(group, group->head);
	u32 left = group->seen.len - min(used, group->seen.len);

	if (likely(!group->inc)) {
		group->head++;
		return false;
	}
	/* a piece that was consumed before this one cannot be returned any more */
	group->taker = NULL;
	/* if no byte was used, only an empty buffer leaves the group */
	if (!used && group->seen.len)
		return true;
	if (!left || left < group->min_left) {
		WRITE_ONCE(slot->len, 0);
		group->head++;
		return false;
	}
	WRITE_ONCE(slot->len, left);
	WRITE_ONCE(slot->addr, group->seen.addr + used);
	return true;
}

/* Return: CQE flags with the number of the buffer that a request has used. */
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
