/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: running the items of mailboxes */
#ifndef IO_TASK_RUN_H
#define IO_TASK_RUN_H

#include <linux/resume_user_mode.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_TASK
#error "task/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"
#include "ring/locks.h"
#include "ring/mailbox.h"

void io_tctx_task_work(struct callback_head *cb);
int io_run_local_locked(struct io_ring_ctx *ctx, u32 wanted);
void io_run_local(struct io_ring_ctx *ctx, u32 wanted);
void io_fallback_run(struct io_ring_ctx *ctx);
void io_fallback_work(struct work_struct *work);

static inline void io_fallback_init(struct io_ring_ctx *ctx)
{
	INIT_DELAYED_WORK(&ctx->fallback.work, io_fallback_work);
}

void io_leave_polled(struct io_ring_ctx *ctx);

/* Return: true if current has to run the mailbox of a single-writer ring. */
static inline bool io_owns_mailbox(const struct io_ring_ctx *ctx)
{
	return ctx->cq.single_writer && READ_ONCE(ctx->submitter_task) == current &&
	       !io_mailbox_dead(&ctx->mailbox);
}

/*
 * Longest pause between two attempts to take a lock (see ring/locks.h), in jiffies.  Work items
 * pause longer than tasks, because a user who closes many rings has many work items.
 */
#define IO_BACKOFF_TASK	(HZ / 100 ?: 1)
#define IO_BACKOFF_WORK	HZ

/* submitters yield for longer than a task sleeps between two attempts */
static_assert(IO_GIVE_WAY > IO_BACKOFF_TASK);

/* after this many failed attempts, each further failure makes submitters yield */
#define IO_STARVED_TRIES	3

/* Count a failed attempt.  Return: jiffies until the next attempt, doubled each time up to @max. */
static inline unsigned long io_lock_backoff(u8 *tries, unsigned long max)
{
	unsigned long delay = 1UL << min(*tries, BITS_PER_LONG - 1);

	if (*tries < U8_MAX)
		++*tries;
	return min(delay, max);
}

/**
 * io_ring_try - try to take the ring lock, without waiting
 * @ctx: the ring
 * @tries: failed attempts so far, see io_lock_backoff()
 *
 * Once @tries has reached IO_STARVED_TRIES, each failure makes submitters yield (io_ring_yield()).
 * They yield until an attempt succeeds or a waiter stops trying (io_ring_try_end()).  If another
 * waiter still tries, the next failure of that waiter makes submitters yield again.
 *
 * Return: true if the lock is held.
 */
static inline bool io_ring_try(struct io_ring_ctx *ctx, u8 tries)
{
	bool held = io_ring_trylock(ctx);

	if (unlikely(tries >= IO_STARVED_TRIES))
		WRITE_ONCE(ctx->stops.starved, !held);
	return held;
}

/* Stop trying to take the ring lock: submitters need not yield to current any more. */
static inline void io_ring_try_end(struct io_ring_ctx *ctx)
{
	if (READ_ONCE(ctx->stops.starved))
		WRITE_ONCE(ctx->stops.starved, false);
}

/**
 * io_run_task_work - run current's task work within a system call or a thread
 *
 * Context: Task context.  No ring lock is held.  May sleep.
 *
 * Return: true if this ran task work, not counting work that resume_user_mode_work() ran.
 */
static inline bool io_run_task_work(void)
{
	/* clear the flag before the work runs: work that is added later sets the flag again */
	if (test_thread_flag(TIF_NOTIFY_SIGNAL))
		clear_notify_signal();
	/* workers and SQPOLL threads do not return to user mode, where other tasks run this work */
	if (current->flags & PF_IO_WORKER && test_thread_flag(TIF_NOTIFY_RESUME)) {
		__set_current_state(TASK_RUNNING);
		resume_user_mode_work(NULL);
	}
	if (!task_work_pending(current))
		return false;
	__set_current_state(TASK_RUNNING);
	task_work_run();
	return true;
}

/* Return: true if the mailbox of a single-writer ring has items for its owner. */
static inline bool io_local_pending(const struct io_ring_ctx *ctx)
{
	return io_mailbox_pending(&ctx->mailbox);
}

#endif
