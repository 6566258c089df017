/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the completion queue, for complete/ and for waiters */
#ifndef IO_RING_CQ_H
#define IO_RING_CQ_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"
#include "ring/mailbox.h"

void io_cq_init(struct io_ring_ctx *ctx);
void io_cq_move(struct io_ring_ctx *ctx);
void io_cq_free(struct io_ring_ctx *ctx);

void io_cq_post(struct io_ring_ctx *ctx, const struct io_cqe_val *cqe, const u64 *extra);
void io_cq_post_now(struct io_ring_ctx *ctx, const struct io_cqe_val *cqe);
void io_cq_post_uncounted(struct io_ring_ctx *ctx, const struct io_cqe_val *cqe);
bool io_cq_post_more(struct io_ring_ctx *ctx, const struct io_cqe_val *cqe, bool counted);
bool io_cq_post_more_large(struct io_ring_ctx *ctx, const struct io_cqe_val *cqe,
			   const u64 *extra);
bool io_cq_post_remote(struct io_ring_ctx *ctx, const struct io_cqe_val *cqe);
bool io_cq_post_remote_large(struct io_ring_ctx *ctx, const struct io_cqe_val *cqe);
bool io_cq_post_entry(struct io_ring_ctx *ctx, struct io_cqe_entry *entry);
void io_cq_commit_shared(struct io_ring_ctx *ctx);
void io_cq_tell(struct io_ring_ctx *ctx, bool sleepers);
void io_cq_lost(struct io_ring_ctx *ctx);
struct io_cqe_entry *io_cq_entry(struct io_ring_ctx *ctx);
void io_cq_flush_overflow(struct io_ring_ctx *ctx);

void io_cq_target_add(struct io_ring_ctx *ctx, struct io_cq_target *target, u32 nr);
void io_cq_target_remove(struct io_ring_ctx *ctx, struct io_cq_target *target);
void io_cq_count_timeout(struct io_ring_ctx *ctx, bool hidden);

/*
 * Return: true if current, which holds the ring lock, may write CQEs.  On single-writer
 * rings only the owner may.  If there is no owner yet, or the owner's mailbox is closed,
 * any task may write them.
 */
static inline bool io_cq_is_writer(const struct io_ring_ctx *ctx)
{
	const struct task_struct *owner = READ_ONCE(ctx->submitter_task);

	return !ctx->cq.single_writer || !owner || owner == current ||
	       io_mailbox_dead(&ctx->mailbox);
}

/* Return: true if CQEs are written or staged that user space cannot see yet. */
static inline bool io_cq_dirty(const struct io_ring_ctx *ctx)
{
	return ctx->cq.single_writer ? ctx->cq.tail != ctx->cq.published : ctx->cq.nr_staged;
}

/* Return: the flag of a 32-byte CQE, which is 0 if all CQEs of the ring have that size. */
static inline u32 io_cqe_large_flag(const struct io_ring_ctx *ctx)
{
	return ctx->cq.mixed ? IORING_CQE_F_32 : 0;
}

/* Return: the number of slots that a CQE with these flags takes. */
static inline unsigned int io_cqe_slots(const struct io_ring_ctx *ctx, u32 flags)
{
	return unlikely(flags & IORING_CQE_F_32) && ctx->cq.mixed ? 2 : 1;
}

/**
 * io_cq_slots_at - count the slots of a published CQE
 * @ctx: the ring
 * @queues: the memory of its queues, present or replaced
 * @slot: index of its first slot
 *
 * The program may have written to the CQE, but a CQE never has a slot behind the last one.
 *
 * Return: 1 or 2
 */
static inline unsigned int io_cq_slots_at(const struct io_ring_ctx *ctx,
					  const struct io_queues *queues, u32 slot)
{
	const struct io_uring_cqe *cqe = &queues->rings->cqes[slot << ctx->cq.shift];

	return slot == queues->cq_entries - 1 ? 1 : io_cqe_slots(ctx, READ_ONCE(cqe->flags));
}

/* Publish the written CQEs: barrier A in ring/cq.c. */
static inline void io_cq_publish(struct io_ring_ctx *ctx)
{
	ctx->cq.published = ctx->cq.tail;
	/* A; models/cq_weak.pml: NO_A */
	smp_store_release(&ctx->rings->cq_tail, ctx->cq.tail);
}

/**
 * io_cq_commit - publish posted CQEs and wake waiters, once
 * @ctx: the ring, its lock held
 */
static inline void io_cq_commit(struct io_ring_ctx *ctx)
{
	if (!io_cq_dirty(ctx))
		return;
	if (unlikely(!ctx->cq.single_writer)) {
		io_cq_commit_shared(ctx);
		return;
	}
	io_cq_publish(ctx);
	/* D: check listeners after the tail; the owner, the only possible sleeper, does not wait */
	if (unlikely(READ_ONCE(ctx->listeners)))
		io_cq_tell(ctx, false);
}

/**
 * io_cq_timeouts - read the number of timeouts that have ended or repeated
 * @ctx: the ring
 *
 * Sleepers call this, because a timeout ends their wait.  On single-writer rings only the
 * owner calls this, with or without the ring lock.
 *
 * Return: the number of timeouts whose CQEs, if any, are published.
 */
static inline u32 io_cq_timeouts(const struct io_ring_ctx *ctx)
{
	if (ctx->cq.single_writer)
		return ctx->cq.timeouts;
	/*
	 * Read the number before the tail; pairs with the stores in io_cq_leave() and ring/cq.c.
	 * Model: NO_SEEN_LOAD of models/cq_weak.pml.
	 */
	return smp_load_acquire(&ctx->cq.timeouts_seen);
}

/**
 * io_cq_ready - count the published CQEs that the program has not consumed
 * @ctx: the ring; the caller is its owner, or within RCU, or holds the ring lock
 *
 * Return: the number of these CQEs
 */
static inline u32 io_cq_ready(const struct io_ring_ctx *ctx)
{
	/* a resize may replace the words, so head and tail must come from the same memory */
	const struct io_rings *rings = READ_ONCE(ctx->rings);

	return READ_ONCE(rings->cq_tail) - READ_ONCE(rings->cq_head);
}

/**
 * io_cq_used - count the slots that are in use, also by CQEs that are not published yet
 * @ctx: a single-writer ring; current holds its lock or is its owner
 *
 * Return: the number of slots
 */
static inline u32 io_cq_used(const struct io_ring_ctx *ctx)
{
	return ctx->cq.tail - READ_ONCE(ctx->rings->cq_head);
}

/**
 * io_cq_is_full - check whether there is no room for the largest CQE of a ring
 * @ctx: a single-writer ring; current holds its lock or is its owner
 *
 * Return: true if io_post_more_large() fails.
 */
static inline bool io_cq_is_full(const struct io_ring_ctx *ctx)
{
	/* a large CQE of a mixed ring takes two slots */
	return ctx->cq.overflowed || io_cq_used(ctx) >= ctx->cq_entries - ctx->cq.mixed;
}

#endif
