/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the ring lock, its guard and its asserts */
#ifndef IO_RING_LOCKS_H
#define IO_RING_LOCKS_H

#include <linux/cleanup.h>
#include <linux/io_uring_types.h>
#include <linux/lockdep.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ring/cq.h"

/**
 * DOC: lock order
 *
 * From the outside in; a lock may be taken while those above it are held:
 *
 * - sq_data->lock (task/sqpoll.c): which rings a SQPOLL thread serves
 * - io_tctx_mutex (task/tctx.c): which task uses which ring
 * - ctx->uring_lock, the ring lock: submission, registered resources, lists of requests
 * - locks of the worker pool (async/wq.c)
 * - cq.lock of shared rings: CQE slots, overflow list, published tail; task context only
 *
 * Never two ring locks at once, except that cloning buffers takes two in the
 * order of their addresses, and that handing over a file tries for a second one.
 */

static inline void io_ring_lock(struct io_ring_ctx *ctx)
{
	mutex_lock(&ctx->uring_lock.mutex);
}

static inline bool io_ring_trylock(struct io_ring_ctx *ctx)
{
	return mutex_trylock(&ctx->uring_lock.mutex);
}

/* For who waits without another lock.  Return: 0, or -EINTR for a signal. */
static inline int io_ring_lock_interruptible(struct io_ring_ctx *ctx)
{
	return mutex_lock_interruptible(&ctx->uring_lock.mutex);
}

/* Take a second ring's lock; the caller has ordered the two. */
static inline void io_ring_lock_nested(struct io_ring_ctx *ctx)
{
	mutex_lock_nested(&ctx->uring_lock.mutex, SINGLE_DEPTH_NESTING);
}

static inline void io_assert_ring(struct io_ring_ctx *ctx)
{
	lockdep_assert_held(&ctx->uring_lock.mutex);
}

void io_ring_run_ready(struct io_ring_ctx *ctx);

/**
 * io_ring_unlock - commit what was completed and release the ring lock
 * @ctx: the ring
 *
 * The only way to release it, so that no CQE can be left behind unpublished and
 * no request that may be issued now is forgotten.
 */
static inline void io_ring_unlock(struct io_ring_ctx *ctx)
{
	if (unlikely(ctx->ready))
		io_ring_run_ready(ctx);
	if (unlikely(ctx->nr_released))
		ctx->settle_released(ctx);
	io_cq_commit(ctx);
	mutex_unlock(&ctx->uring_lock.mutex);
}

DEFINE_GUARD(io_ring, struct io_ring_ctx *, io_ring_lock(_T), io_ring_unlock(_T))

/*
 * Around what an op does with the ring's tables: the submitter holds the lock
 * already, a worker (IO_URING_F_UNLOCKED) takes it.
 */
static inline void io_issue_lock(struct io_ring_ctx *ctx, unsigned int issue_flags)
{
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED))
		io_ring_lock(ctx);
	io_assert_ring(ctx);
}

static inline void io_issue_unlock(struct io_ring_ctx *ctx, unsigned int issue_flags)
{
	io_assert_ring(ctx);
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED))
		io_ring_unlock(ctx);
}

#endif
