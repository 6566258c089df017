/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the ring lock, its guard and its asserts */
#ifndef IO_RING_LOCKS_H
#define IO_RING_LOCKS_H

#include <linux/cleanup.h>
#include <linux/lockdep.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"
#include "ring/cq.h"

/**
 * DOC: lock order
 *
 * Outermost first.  A lock may be taken while those above it are held:
 *
 * - sq_data->lock (task/sqpoll.c): the rings that an SQPOLL thread serves
 * - ctx->uring_lock, the ring lock: submission, registered resources, lists of requests
 * - ctx->users.lock (task/tctx.c): the tasks that use the ring; spinlock.  Only the locks
 *   of a task's XArray of rings and of worker pools nest inside it
 * - locks of the worker pool (async/wq.c); spinlocks
 * - cq.lock of multi-writer rings: CQE slots, overflow list, published tail; task context only
 *
 * A task that holds one ring lock takes a second ring lock only by io_ring_trylock(),
 * and drops the first before it waits for the second.
 *
 * The holder of a ring lock may sleep without a bound, in a fault on memory that a
 * user's program serves (userfaultfd, FUSE).  Therefore:
 *
 * - A task that waits for a ring lock holds no lock that unrelated tasks need.  The
 *   one lock above the ring lock belongs to the process's own SQPOLL thread.
 * - No kernel worker waits for a ring lock or for an SQPOLL thread's lock, because
 *   unrelated work would queue up behind it.  A kernel worker uses trylock, and retries
 *   with a delay.  A ring that is always busy would delay the fallback worker for seconds, so
 *   submitters yield after a few failures of this worker (io_ring_yield()).
 * - A task that exits or execs does not wait for these locks.  Nor does the release of
 *   a ring's file, which may happen in any task's last fput().
 * - All other waiters can be killed, because the holder may belong to another process.
 *   The exception is an SQPOLL thread that waits for its own sq_data->lock.
 *
 * io_ring_may_wait() checks the first two rules in each function that waits for a ring
 * lock.  The last rule holds because all other waits are in io_ring_lock(),
 * io_ring_lock_interruptible() and io_sqpoll_park().
 */

#if defined(CONFIG_IO_URING_DEBUG) && defined(CONFIG_PROVE_LOCKING)
/* Warn if current must not wait for a ring lock. */
static inline void io_ring_may_wait(void)
{
	/* the SQPOLL thread holds sq_data->lock */
	int allowed = current->flags & PF_IO_WORKER && !current->worker_private;

	WARN_ONCE(debug_locks && current->lockdep_depth > allowed,
		  "waits for a ring lock with a lock that others need");
	WARN_ONCE(current->flags & PF_WQ_WORKER, "kernel worker waits for a ring lock");
}
#else
#define io_ring_may_wait()	((void)0)
#endif

/**
 * io_ring_lock - take the ring lock
 * @ctx: the ring
 *
 * Return: 0, or -EINTR if current is killed while it waits.
 */
static inline int __must_check io_ring_lock(struct io_ring_ctx *ctx)
{
	io_ring_may_wait();
	return mutex_lock_killable(&ctx->uring_lock.mutex);
}

/*
 * Returned by a function that drops the ring lock of its caller, if current is killed before
 * the function has retaken the lock.  After this result the caller does not hold the lock.  It is
 * no errno, so that no other function of the kernel returns it.
 */
#define IO_RING_LOST	INT_MIN

static inline bool io_ring_trylock(struct io_ring_ctx *ctx)
{
	return mutex_trylock(&ctx->uring_lock.mutex);
}

/* Take the ring lock, unless a signal arrives.  Return: 0 or -EINTR. */
static inline int __must_check io_ring_lock_interruptible(struct io_ring_ctx *ctx)
{
	io_ring_may_wait();
	return mutex_lock_interruptible(&ctx->uring_lock.mutex);
}

static inline void io_assert_ring(struct io_ring_ctx *ctx)
{
	lockdep_assert_held(&ctx->uring_lock.mutex);
}

void io_ring_run_ready(struct io_ring_ctx *ctx);
bool io_ring_lock_soon(struct io_ring_ctx *ctx);

/**
 * io_ring_unlock - commit posted CQEs and release the ring lock
 * @ctx: the ring
 *
 * This is the only function that releases the ring lock.  So before each release, items on
 * ctx->ready are run, released polls are rechecked, and CQEs are published.
 */
static inline void io_ring_unlock(struct io_ring_ctx *ctx)
{
	if (unlikely(ctx->ready.first))
		io_ring_run_ready(ctx);
	if (unlikely(ctx->polls.nr_released))
		ctx->polls.recheck(ctx);
	io_cq_commit(ctx);
	mutex_unlock(&ctx->uring_lock.mutex);
}

/*
 * Lock the ring for an op that uses the ring's tables.  A worker (IO_URING_F_UNLOCKED)
 * takes the lock; other callers hold it already.  Return: 0, or -ECANCELED for a worker
 * that is killed while it waits.
 */
static inline int __must_check io_issue_lock(struct io_ring_ctx *ctx, unsigned int issue_flags)
{
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED) && io_ring_lock(ctx))
		return -ECANCELED;
	io_assert_ring(ctx);
	return 0;
}

static inline void io_issue_unlock(struct io_ring_ctx *ctx, unsigned int issue_flags)
{
	io_assert_ring(ctx);
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED))
		io_ring_unlock(ctx);
}

#endif
