// SPDX-License-Identifier: GPL-2.0
/* io_uring: wait in an exiting task for the end of its requests */

/*
 * The task repeats io_cancel_requests() on all of its rings: an exec until no request is left, an
 * exit until no tracked request is left.  When a pass finds nothing to do, the task sleeps.  New
 * items in its mailboxes, and the end of any of its requests, wake the task.  It does not wait for
 * a ring lock (see ring/locks.h), but tries again.  After a timeout an exiting task leaves the
 * remaining requests to the fallback workers of the rings.
 */
#include <linux/sched/signal.h>

#include "async/wq.h"
#include "req/free.h"
#include "task/cancel.h"
#include "task/run.h"
#include "task/tctx.h"

/* interval of checks for drivers' commands, and for workers that end */
#define IO_CANCEL_NAP	(HZ / 50 ?: 1)
/* jiffies without progress after which waits of bounded work are interrupted */
#define IO_CANCEL_GRACE	1
/*
 * Timeouts in jiffies: of an exit without progress, and of a killed task.  The latter counts from
 * the kill, and progress does not extend it.
 */
#define IO_CANCEL_PATIENCE	(10 * HZ)
#define IO_CANCEL_KILLED	HZ
/* jiffies without progress after which an exit does not wait for buffered reads any more */
#define IO_CANCEL_READS		(HZ / 2)

/**
 * struct io_cancel_wait - state of a task that waits for the end of its requests
 * @tctx: current's
 * @cancel_all: see io_cancel_task()
 * @found: the last pass ended requests or ran items, so the next pass may find more
 * @ran: the last pass ran task work, so the next pass may find more
 * @busy: a ring's lock was held
 * @tries: consecutive passes in which a ring's lock was held
 * @left: requests that were left at the last check
 * @since: time of the last progress, in jiffies
 * @killed: the process was killed
 * @killed_at: time at which @killed was set, in jiffies
 * @mask: signals that current blocked before
 */
struct io_cancel_wait {
	struct io_uring_task	*tctx;
	bool			cancel_all;
	bool			found;
	bool			ran;
	bool			busy;
	u8			tries;
	long			left;
	unsigned long		since;
	bool			killed;
	unsigned long		killed_at;
	sigset_t		mask;
};

/*
 * Return: true if one thread of the process has to act on the signal.  Other signals kill all
 * threads at once, or are ignored: those are not even queued unless they are blocked.
 */
static bool io_cancel_signal_needs_thread(const struct sighand_struct *sighand, int sig)
{
	__sighandler_t handler = sighand->action[sig - 1].sa.sa_handler;

	if (handler != SIG_DFL)
		return handler != SIG_IGN;
	return sig_kernel_stop(sig) || sig_kernel_coredump(sig);
}

/* Add the signals that one thread of the process has to handle. */
static void io_cancel_add_handled(sigset_t *mask)
{
	/* only current changes ->sighand */
	struct sighand_struct *sighand = rcu_dereference_protected(current->sighand, true);
	int sig;

	guard(spinlock_irq)(&sighand->siglock);
	for (sig = 1; sig <= _NSIG; sig++) {
		if (io_cancel_signal_needs_thread(sighand, sig))
			sigaddset(mask, sig);
	}
}

/*
 * Leave the signals of the process to its other threads.  An exiting task never handles a signal,
 * but may be chosen for one until exit_signals(), since it sleeps and has no signal pending.
 * Signals that kill the process reach all threads.  They are not blocked: all other threads may
 * have ended when such a signal is sent.
 */
static void io_cancel_mask_signals(struct io_cancel_wait *w)
{
	sigset_t mask = w->mask;

	if (!thread_group_empty(current))
		io_cancel_add_handled(&mask);
	sigdelsetmask(&mask, sigmask(SIGKILL) | sigmask(SIGSTOP));
	if (!sigequalsets(&mask, &current->blocked))
		set_current_blocked(&mask);
}

/* Make one pass over all rings of current. */
static void io_cancel_pass(struct io_cancel_wait *w)
{
	struct io_cancel_scope what = { .tctx = w->tctx, .tracked = !w->cancel_all };

	if (!w->cancel_all)
		io_cancel_mask_signals(w);
	w->found = false;
	w->busy = false;
	io_tctx_for_each_ring(w->tctx, what.ctx) {
		if (!io_ring_try(what.ctx, w->tries)) {
			w->busy = true;
			continue;
		}
		w->found |= io_cancel_requests(&what);
		io_ring_unlock(what.ctx);
	}
	/* this is not progress, because other subsystems may queue task work again and again */
	w->ran = io_run_task_work();
	if (!w->busy)
		w->tries = 0;
}

static long io_cancel_left(struct io_uring_task *tctx, bool cancel_all)
{
	return cancel_all ? io_tctx_inflight(tctx) : atomic_read(&tctx->inflight_tracked);
}

/*
 * If @arm, arm the mailboxes that current owns, so that new items wake current; else disarm them.
 * Return: true if a mailbox to be armed has items already.
 */
static bool io_cancel_arm(struct io_uring_task *tctx, bool arm)
{
	struct io_ring_ctx *ctx;
	bool arrived = false;

	io_tctx_for_each_ring(tctx, ctx) {
		if (!io_owns_mailbox(ctx))
			continue;
		if (!arm)
			io_mailbox_disarm(&ctx->mailbox);
		else if (!io_mailbox_arm(&ctx->mailbox, 1))
			arrived = true;
	}
	return arrived;
}

/* Prevent pending signals from ending the sleep.  A new signal wakes current for another pass. */
static void io_cancel_ignore_signals(void)
{
	clear_thread_flag(TIF_SIGPENDING);
}

static void io_cancel_heed_signals(void)
{
	/* only current changes ->sighand */
	struct sighand_struct *sighand = rcu_dereference_protected(current->sighand, true);

	guard(spinlock_irq)(&sighand->siglock);
	recalc_sigpending();
}

/* Return: true if current uses a ring that has to be polled for completions. */
static bool io_cancel_must_reap(struct io_uring_task *tctx)
{
	struct io_ring_ctx *ctx;
	bool polls = false;

	io_tctx_for_each_ring(tctx, ctx)
		polls |= ctx->iopoll;
	return polls;
}

/* Return: true if current uses a ring whose drivers may have to be called again to end commands. */
static bool io_cancel_must_ask(struct io_uring_task *tctx)
{
	struct io_ring_ctx *ctx;
	bool commands = false;

	io_tctx_for_each_ring(tctx, ctx)
		commands |= READ_ONCE(ctx->commands);
	return commands;
}

/* Return: true if the process was killed.  The signal may have been dequeued already. */
static bool io_cancel_killed(void)
{
	return __fatal_signal_pending(current) ||
	       READ_ONCE(current->signal->flags) & SIGNAL_GROUP_EXIT;
}

/*
 * Sleep until a request ends, an item arrives or @timeout is over.  With @cancel_all the task
 * must not be frozen, since it holds a lock that other tasks need: an exec its cred_guard_mutex,
 * an SQPOLL thread its sqd->lock.
 */
static void io_cancel_sleep(struct io_cancel_wait *w, long timeout)
{
	unsigned int state = TASK_INTERRUPTIBLE | (w->cancel_all ? 0 : TASK_FREEZABLE);
	DEFINE_WAIT(wait);
	bool arrived;

	io_cancel_ignore_signals();
	prepare_to_wait(&w->tctx->wait, &wait, state);
	arrived = io_cancel_arm(w->tctx, true);
	/*
	 * Items of a ring whose lock is held cannot run yet, and @timeout is short in that case.
	 * Check for a kill after @timeout was computed, since its signal was ignored above.
	 */
	if ((w->busy || !arrived) && w->left == io_cancel_left(w->tctx, w->cancel_all) &&
	    !task_work_pending(current) && (w->killed || !io_cancel_killed()))
		schedule_timeout(timeout);
	finish_wait(&w->tctx->wait, &wait);
	io_cancel_arm(w->tctx, false);
	io_cancel_heed_signals();
}

/* Return: true if the process was killed, or another thread of it executes a program. */
static bool io_cancel_at_once(void)
{
	return io_cancel_killed() || READ_ONCE(current->signal->group_exec_task);
}

/*
 * If current uses an IOPOLL ring, keep reaping until the signalled workers have ended: a worker may
 * wait for the device tag of a request that only current reaps.
 */
static void io_cancel_await_workers(struct io_cancel_wait *w)
{
	struct io_uring_task *tctx = w->tctx;

	while (tctx->io_wq && io_cancel_must_reap(tctx) &&
	       !io_wq_exit_wait(tctx->io_wq, IO_CANCEL_NAP))
		io_cancel_pass(w);
}

/*
 * Return: true if work is left that ends by itself, but needs the task or its workers.  The last
 * progress was at @since, in jiffies.
 */
static bool io_cancel_bounded(const struct io_uring_task *tctx, unsigned int *done,
			      unsigned long since)
{
	if (io_wq_bounded_busy(tctx->io_wq, done))
		return true;
	/* current continues buffered reads that wait for a folio, in the caller's passes */
	return atomic_read(&tctx->reading) && time_before(jiffies, since + IO_CANCEL_READS);
}

/* Return: true if current has task work, or items in the mailboxes that it owns. */
static bool io_cancel_has_items(struct io_uring_task *tctx)
{
	bool items = task_work_pending(current);
	struct io_ring_ctx *ctx;

	io_tctx_for_each_ring(tctx, ctx)
		items |= io_owns_mailbox(ctx) && io_local_pending(ctx);
	return items;
}

/*
 * If the process of an exiting thread lives on, let the thread's bounded work finish, and buffered
 * reads that wait for the disk.  Without this wait a write would be done only if the worker is
 * faster than the exit.  Work that waits for another task (the open of a FIFO) is interrupted after
 * IO_CANCEL_GRACE without progress, and so is all work that begins later.  Writes to a disk have no
 * time limit: io_wq_put_and_exit() would wait for a running write as well, and only a kill drops
 * queued writes.  Reads have IO_CANCEL_READS: the task may be the server of the disk (ublk).
 */
static void io_cancel_after_workers(struct io_cancel_wait *w)
{
	struct io_wq *wq = w->tctx->io_wq;
	unsigned long since = jiffies;
	bool arrived, busy, nudged = false, last = false;
	unsigned int done, before = 0;

	if (!io_cancel_bounded(w->tctx, &done, since) && !io_cancel_has_items(w->tctx))
		return;
	io_wq_wait_done(wq);
	while (!io_cancel_at_once()) {
		io_cancel_pass(w);
		while (!io_cancel_at_once() && io_wq_run_bounded(wq))
			cond_resched();
		io_cancel_ignore_signals();
		/* do not freeze: the workers do not freeze any more, and current ends them later */
		set_current_state(TASK_INTERRUPTIBLE);
		arrived = io_cancel_arm(w->tctx, true);
		/*
		 * Check this after the pass, which may have issued the next request of a chain.  A
		 * worker pushes such a request before it detaches its work: one more pass runs it.
		 */
		busy = io_cancel_bounded(w->tctx, &done, since);
		if (!busy && (last || !io_cancel_has_items(w->tctx)))
			break;
		last = !busy;
		if (done != before)
			since = jiffies;
		before = done;
		if (!nudged && time_after_eq(jiffies, since + IO_CANCEL_GRACE)) {
			nudged = true;
			io_wq_bounded_nudge(wq);
		}
		if (!w->found && !w->ran && (w->busy || !arrived) && !task_work_pending(current))
			schedule_timeout(nudged ? IO_CANCEL_NAP : IO_CANCEL_GRACE);
		__set_current_state(TASK_RUNNING);
		io_cancel_arm(w->tctx, false);
		io_cancel_heed_signals();
	}
	__set_current_state(TASK_RUNNING);
	io_cancel_arm(w->tctx, false);
	io_cancel_heed_signals();
}

/*
 * Leave the rings of current to their fallback workers.  These run the items of single-writer
 * rings that current owned, and poll the devices of IOPOLL rings.  They also end the tracked
 * requests that are left: such a request may hold a ring's file, and that ring would never end.
 */
static void io_cancel_leave_rings(struct io_cancel_wait *w)
{
	bool orphans = atomic_read(&w->tctx->inflight_tracked);
	struct io_ring_ctx *ctx;

	if (unlikely(orphans))
		io_tctx_keep_mm(w->tctx);
	io_tctx_for_each_ring(w->tctx, ctx) {
		io_ring_try_end(ctx);
		if (io_owns_mailbox(ctx))
			io_owner_mailbox_close(ctx);
		if (ctx->iopoll)
			io_leave_polled(ctx);
		if (!orphans)
			continue;
		WRITE_ONCE(ctx->fallback.orphans, true);
		io_fallback_kick(ctx);
	}
}

/* Return: the time at which to give up, in jiffies. */
static unsigned long io_cancel_deadline(struct io_cancel_wait *w, unsigned long now)
{
	if (!w->killed && io_cancel_killed()) {
		w->killed = true;
		w->killed_at = now;
	}
	if (w->killed)
		return w->killed_at + IO_CANCEL_KILLED;
	/* an exec has no timeout until it is killed */
	return w->cancel_all ? now + MAX_JIFFY_OFFSET : w->since + IO_CANCEL_PATIENCE;
}

/* Return: jiffies to sleep, or 0 to give up. */
static long io_cancel_patience(struct io_cancel_wait *w)
{
	long left = io_cancel_left(w->tctx, w->cancel_all);
	unsigned long now = jiffies, end;

	if (left != w->left || w->found)
		w->since = now;
	w->left = left;
	end = io_cancel_deadline(w, now);
	if (time_after_eq(now, end))
		return 0;
	if (w->busy)
		return io_lock_backoff(&w->tries, IO_BACKOFF_TASK);
	if (io_cancel_must_reap(w->tctx))
		return 1;
	if (io_cancel_must_ask(w->tctx))
		return min_t(long, end - now, IO_CANCEL_NAP);
	return end - now;
}

/* End the requests.  Return: true if none is left. */
static bool io_cancel_until_gone(struct io_cancel_wait *w)
{
	w->since = jiffies;
	while (io_cancel_left(w->tctx, w->cancel_all)) {
		long timeout;

		/* no rings are left: a killed exec has detached them, or they have just ended */
		if (xa_empty(&w->tctx->nodes))
			return !io_cancel_left(w->tctx, w->cancel_all);
		io_cancel_pass(w);
		timeout = io_cancel_patience(w);
		if (!timeout)
			return false;
		if (w->found || w->ran)
			cond_resched();
		else if (w->left)
			io_cancel_sleep(w, timeout);
	}
	return true;
}

/**
 * io_cancel_task - end the requests of current and its use of io_uring
 * @tctx: current's
 * @cancel_all: true for an exec or an SQPOLL thread: end all requests, and free @tctx; false for
 *	an exit: end tracked requests (io_req_track()) and the work of the pool, but leave
 *	the other requests until their ring ends
 *
 * This also ends the worker pool.  If an exec is killed while it waits, it leaves requests
 * behind as an exit does, and the task exits.
 *
 * Context: Task context.  May sleep until the requests have ended.
 */
void io_cancel_task(struct io_uring_task *tctx, bool cancel_all)
{
	struct io_cancel_wait w = {
		.tctx = tctx, .cancel_all = cancel_all, .mask = current->blocked,
	};
	bool gone;

	if (!cancel_all)
		io_cancel_mask_signals(&w);
	if (tctx->io_wq) {
		if (!cancel_all)
			io_cancel_after_workers(&w);
		io_wq_exit_start(tctx->io_wq);
	}
	/* a cancel for an ended ring may have set this, but has set ctx->asked as well */
	WRITE_ONCE(tctx->cmds_asked, false);
	atomic_inc(&tctx->in_cancel);
	/*
	 * A context that reads in_cancel as 0 has pushed or queued before the search, and counted
	 * a tracked request before io_cancel_left() reads the count.  Pairs with
	 * smp_mb__after_atomic() in io_tctx_uncharge() and io_req_track().
	 */
	smp_mb__after_atomic();
	gone = io_cancel_until_gone(&w);
	io_cancel_await_workers(&w);
	io_cancel_leave_rings(&w);
	io_tctx_detach_all(tctx);
	io_tctx_put_credit(tctx);
	/* restore the mask: a thread group leader that is a zombie would queue signals it blocks */
	if (!cancel_all)
		set_current_blocked(&w.mask);
	if (cancel_all && gone) {
		/* no request refers to the state now */
		atomic_dec(&tctx->in_cancel);
		current->io_uring = NULL;
		io_tctx_free(tctx);
	}
}
