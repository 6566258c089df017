/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the submission queue reader */
#ifndef IO_RING_SQ_H
#define IO_RING_SQ_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"
#include "ring/locks.h"

/*
 * There are two barriers with user space.  The acquire load of the tail pairs with
 * the program's release store after it has written SQEs.  The release store of the
 * head pairs with the program's acquire load before it reuses slots.  Only the holder
 * of the ring lock reads SQEs.
 *
 * With IORING_SETUP_SQ_REWIND each batch begins at the first slot, and the length of the
 * batch is that of the call.  So there is no head or tail to share, and the program has
 * the slots back when the call returns.
 */

/* Return: the number of SQEs that the program has queued, at most the number of slots. */
static inline unsigned int io_sq_pending(const struct io_ring_ctx *ctx)
{
	/* pairs with the program's release store, after it has written SQEs */
	unsigned int tail = smp_load_acquire(ctx->sq.tail);

	return min(tail - ctx->sq.head, ctx->sq.entries);
}

/* Return: true if the queue is full according to the published words; called like io_cq_ready(). */
static inline bool io_sq_full(const struct io_ring_ctx *ctx)
{
	const struct io_rings *r = READ_ONCE(ctx->rings);

	return READ_ONCE(r->sq_tail) - READ_ONCE(r->sq_head) == READ_ONCE(ctx->sq.entries);
}

/**
 * io_sq_next - take the next SQE
 * @ctx: the ring, its lock held; io_sq_pending() has returned more than 0
 *
 * Return: the SQE in shared memory, or NULL if the index in the array is out of range.  In that
 * case the entry is consumed and counted as dropped.
 */
static inline const struct io_uring_sqe *io_sq_next(struct io_ring_ctx *ctx)
{
	unsigned int mask = ctx->sq.entries - 1;
	unsigned int index = ctx->sq.head++ & mask;

	if (ctx->sq.array) {
		index = READ_ONCE(ctx->sq.array[index]);
		if (unlikely(index >= ctx->sq.entries)) {
			WRITE_ONCE(ctx->rings->sq_dropped, READ_ONCE(ctx->rings->sq_dropped) + 1);
			return NULL;
		}
		/* keep speculative accesses inside the array of SQEs */
		index &= mask;
	}
	return &ctx->sq.sqes[index << ctx->sq.shift];
}

/**
 * io_sq_has_second - check for the second half of an SQE whose opcode has 128 bytes
 * @ctx: the ring, its lock held
 * @sqe: the SQE, which io_sq_next() has returned last
 *
 * With IORING_SETUP_SQE_MIXED the second half is the next slot in memory, also if the array of
 * indices says otherwise.
 *
 * Return: false if the SQEs of the ring have 64 bytes, if @sqe is in the last slot, or if the batch
 * ends with @sqe.
 */
static inline bool io_sq_has_second(struct io_ring_ctx *ctx, const struct io_uring_sqe *sqe)
{
	if (ctx->sq.shift)
		return true;
	if (!(ctx->flags & IORING_SETUP_SQE_MIXED) || sqe == &ctx->sq.sqes[ctx->sq.entries - 1])
		return false;
	/* an SQPOLL thread limits its batches, which must not split an SQE */
	return ctx->sq.head != ctx->sq.end ||
	       (ctx->flags & IORING_SETUP_SQPOLL && io_sq_pending(ctx));
}

/* Take the second half of an SQE.  Return: 0; -EINVAL if io_sq_has_second() is false. */
static inline int io_sq_take_second(struct io_ring_ctx *ctx, const struct io_uring_sqe *sqe)
{
	if (!io_sq_has_second(ctx, sqe))
		return -EINVAL;
	if (!ctx->sq.shift)
		ctx->sq.head++;
	return 0;
}

/* Return: the number of entries consumed since the last io_sq_release(), if sq_head is intact. */
static inline unsigned int io_sq_taken(const struct io_ring_ctx *ctx)
{
	return ctx->sq.head - READ_ONCE(ctx->rings->sq_head);
}

/* Set the word that io_sq_pending() reads, when the memory of the ring is there. */
static inline void io_sq_init(struct io_ring_ctx *ctx)
{
	ctx->sq.tail = &ctx->rings->sq_tail;
	/* all slots are always pending */
	if (ctx->flags & IORING_SETUP_SQ_REWIND)
		ctx->sq.tail = &ctx->sq.entries;
}

/* Let the program reuse the slots of consumed SQEs. */
static inline void io_sq_release(struct io_ring_ctx *ctx)
{
	if (unlikely(ctx->flags & IORING_SETUP_SQ_REWIND)) {
		ctx->sq.head = 0;
		return;
	}
	/* order this after the reads of SQEs; pairs with the program's acquire load */
	smp_store_release(&ctx->rings->sq_head, ctx->sq.head);
}

#endif
