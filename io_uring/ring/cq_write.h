/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the stores to CQE memory, for ring/ and complete/ only */
#ifndef IO_RING_CQ_WRITE_H
#define IO_RING_CQ_WRITE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif
#if !defined(IO_COMPLETE_FAST_H) && IO_LAYER > IO_LAYER_COMPLETE
#error "CQEs are written by complete/ and its fast paths, complete/fast.h"
#endif

#include "ring/cq.h"

/* Store the members one by one, so that values in registers need not pass through memory. */
static inline void io_cqe_write(struct io_uring_cqe *cqe, struct io_cqe_val val)
{
	cqe->user_data = val.user_data;
	cqe->res = val.res;
	cqe->flags = val.flags;
}

/* Fill the next slot.  The caller has checked that the slot is free. */
static inline struct io_uring_cqe *io_cq_fill_slot(struct io_cqring *cq,
						   const struct io_cqe_val *val)
{
	struct io_uring_cqe *cqe = &cq->cqes[(cq->tail++ & cq->mask) << cq->shift];

	io_cqe_write(cqe, *val);
	return cqe;
}

/* Fill the next slot of a ring with 32-byte slots. */
static inline void io_cq_fill_large_slot(struct io_cqring *cq, const struct io_cqe_val *val,
					 u64 extra0, u64 extra1)
{
	struct io_uring_cqe *cqe = io_cq_fill_slot(cq, val);

	cqe->big_cqe[0] = extra0;
	cqe->big_cqe[1] = extra1;
}

/* Stage the extra words of the CQE that is staged next. */
static inline void io_cq_stage_extra(struct io_cqring *cq, const u64 *extra)
{
	cq->stage_large |= BIT(cq->nr_staged);
	cq->stage_extra[cq->nr_staged][0] = extra[0];
	cq->stage_extra[cq->nr_staged][1] = extra[1];
}

/**
 * io_cq_post_fast - post a CQE as part of a batch, if no slow path is needed
 * @ctx: the ring, its lock held; single-writer rings: called by the writer
 * @val: user_data, res and flags
 *
 * Return: true if the CQE was posted; false, without a side effect, if there is no room
 * or the stage is full.  On false the caller uses io_cq_post().
 */
static inline bool io_cq_post_fast(struct io_ring_ctx *ctx, const struct io_cqe_val *val)
{
	struct io_cqring *cq = &ctx->cq;

	if (likely(cq->direct)) {
		if (unlikely(cq->tail == cq->limit))
			return false;
		io_cqe_write(&cq->cqes[cq->tail++ & cq->mask], *val);
		return true;
	}
	if (cq->single_writer) {
		if (unlikely(cq->tail == cq->limit))
			return false;
		io_cq_fill_large_slot(cq, val, 0, 0);
		return true;
	}
	if (unlikely(cq->nr_staged == IO_CQ_STAGE))
		return false;
	cq->stage[cq->nr_staged++] = *val;
	return true;
}

/**
 * io_cq_post_large_fast - io_cq_post_fast() for 32-byte CQEs
 * @ctx: a ring with 32-byte slots, its lock held; single-writer rings: called by the writer
 * @val: user_data, res and flags
 * @extra: the two extra words
 *
 * Return: as io_cq_post_fast().
 */
static inline bool io_cq_post_large_fast(struct io_ring_ctx *ctx,
					 const struct io_cqe_val *val, const u64 *extra)
{
	struct io_cqring *cq = &ctx->cq;

	if (likely(cq->single_writer)) {
		if (unlikely(cq->tail == cq->limit))
			return false;
		io_cq_fill_large_slot(cq, val, extra[0], extra[1]);
		return true;
	}
	if (unlikely(cq->nr_staged == IO_CQ_STAGE))
		return false;
	io_cq_stage_extra(cq, extra);
	cq->stage[cq->nr_staged++] = *val;
	return true;
}

/*
 * Return: true if a multi-writer ring has room for its staged CQEs and one more CQE.  If
 * remote posters use up this room before the commit, the staged CQEs overflow, in order.
 */
static inline bool io_cq_may_stage_more(const struct io_ring_ctx *ctx)
{
	const struct io_cqring *cq = &ctx->cq;
	u32 used = READ_ONCE(cq->tail) + cq->nr_staged;

	/* pairs with the program's release store of the head */
	used -= smp_load_acquire(&ctx->rings->cq_head);
	return !READ_ONCE(cq->overflowed) && used <= cq->mask;
}

/**
 * io_cq_post_more_fast - post a CQE of a request that continues, if no slow path is needed
 * @ctx: the ring, its lock held; single-writer rings: called by the writer
 * @val: user_data, res and flags
 *
 * Return: true if the CQE was posted; false, without a side effect, if the caller has to try
 * io_cq_post_more().
 */
static inline bool io_cq_post_more_fast(struct io_ring_ctx *ctx, const struct io_cqe_val *val)
{
	if (unlikely(!ctx->cq.single_writer && !io_cq_may_stage_more(ctx)))
		return false;
	/* single-writer rings: this also fails while CQEs overflow, as cq.limit equals cq.tail */
	return likely(io_cq_post_fast(ctx, val));
}

#endif
