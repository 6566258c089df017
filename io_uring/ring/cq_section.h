/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: begin and end of a section that fills CQEs, for ring/cq.c only */
#ifndef IO_RING_CQ_SECTION_H
#define IO_RING_CQ_SECTION_H

#include <linux/cleanup.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ring/cq.h"
#include "ring/locks.h"
#include "ring/notify.h"

/* Check that current may write CQEs now. */
static inline void io_assert_cq(struct io_ring_ctx *ctx)
{
	if (!IS_ENABLED(CONFIG_PROVE_LOCKING))
		return;
	if (ctx->cq.single_writer)
		io_assert_ring(ctx);
	else
		lockdep_assert_held(&ctx->cq.lock);
	WARN_ON_ONCE(!io_cq_is_writer(ctx));
}

/**
 * struct io_cq_section - a section of code that puts CQEs into a ring
 * @ctx: the ring; if it is a single-writer ring, current is the writer
 * @shared: the ring is a multi-writer ring, and cq.lock is held
 * @commit: the ring lock is held, and no CQE is staged any more
 * @posted: CQEs were posted; those without room are on the overflow list
 *
 * io_cq_leave() publishes new CQEs, checks for sleepers under cq.lock, and wakes sleepers
 * and listeners after the unlock.  If all CQEs went to the overflow list, io_cq_leave()
 * wakes only pollers.  Callers pass @shared, because it is a compile-time constant in
 * most of them.
 */
struct io_cq_section {
	struct io_ring_ctx	*ctx;
	bool			shared;
	bool			commit;
	bool			posted;
};

static __always_inline struct io_cq_section io_cq_enter(struct io_ring_ctx *ctx, bool shared)
{
	if (shared)
		spin_lock(&ctx->cq.lock);
	io_assert_cq(ctx);
	return (struct io_cq_section) { .ctx = ctx, .shared = shared };
}

static __always_inline void io_cq_leave(const struct io_cq_section *section)
{
	struct io_ring_ctx *ctx = section->ctx;
	/* overflowed CQEs are not visible to the program yet */
	bool new = ctx->cq.published != ctx->cq.tail, sleepers = false;

	if (new)
		io_cq_publish(ctx);
	if (section->shared) {
		/* a sleeper that reads the new count must read the tail that is stored above */
		if (section->commit) {
			/* pairs with io_cq_timeouts(); model: NO_SEEN of models/cq_weak.pml */
			smp_store_release(&ctx->cq.timeouts_seen, ctx->cq.timeouts);
		}
		/* C; models/cq_weak.pml: NO_C_POST, NO_C_LOOK */
		sleepers = new && waitqueue_active(&ctx->cq_wait);
		spin_unlock(&ctx->cq.lock);
	}
	if (likely(new))
		io_cq_tell(ctx, sleepers);
	else if (section->posted)
		io_notify_overflow(ctx);
}

DEFINE_CLASS(io_cq_section, struct io_cq_section, io_cq_leave(&_T), io_cq_enter(ctx, shared),
	     struct io_ring_ctx *ctx, bool shared)

#endif
