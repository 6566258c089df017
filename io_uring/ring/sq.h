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
 */

/* Return: the number of SQEs that the program has queued, at most the number of slots. */
static inline unsigned int io_sq_pending(const struct io_ring_ctx *ctx)
{
	/* pairs with the program's release store, after it has written SQEs */
	unsigned int tail = smp_load_acquire(&ctx->rings->sq_tail);

	return min(tail - ctx->sq.head, ctx->sq.entries);
}

/* Return: true if the queue is full according to the published head and tail. */
static inline bool io_sq_full(const struct io_ring_ctx *ctx)
{
	const struct io_rings *r = ctx->rings;

	return READ_ONCE(r->sq_tail) - READ_ONCE(r->sq_head) == ctx->sq.entries;
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

/* Return: the number of entries consumed since the last io_sq_release(), if sq_head is intact. */
static inline unsigned int io_sq_taken(const struct io_ring_ctx *ctx)
{
	return ctx->sq.head - READ_ONCE(ctx->rings->sq_head);
}

/* Let the program reuse the slots of consumed SQEs. */
static inline void io_sq_release(struct io_ring_ctx *ctx)
{
	/* order this after the reads of SQEs; pairs with the program's acquire load */
	smp_store_release(&ctx->rings->sq_head, ctx->sq.head);
}

#endif
