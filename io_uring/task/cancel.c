// SPDX-License-Identifier: GPL-2.0
/* io_uring: finding requests in flight and ending them */

/*
 * A request in flight is in one of these places, and each has its way out:
 *
 *	parked					io_parked_cancel(): claims it, its mail ends it
 *	queued to or running on a worker	io_wq_cancel(): ends it, or signals the worker
 *	on ctx->drain_list			taken off and failed with its chain
 *	polled for (IOPOLL)			reaped until it is there
 *	in a mailbox				run it
 *	at a device				comes by itself, into a mailbox
 *
 * One pass over all of them is io_cancel_requests(); callers repeat it until
 * nothing is left, and sleep while a pass finds nothing to do: the end of each
 * request wakes them.
 *
 * Requests move between these places while we look.  Between workers and the lot
 * of parked ones they move under the ring lock, which is held while both are
 * searched.  Whoever moves one elsewhere looks at ctx->dying and tctx->in_cancel
 * (io_may_park(), io_issue_allowed(), io_wq_enqueue()), so that none slips from a
 * place we have not seen yet to one that we have left behind.
 */
#include <linux/sched/signal.h>

#include "async/iopoll.h"
#include "async/poll.h"
#include "async/wq.h"
#include "complete/complete.h"
#include "req/drain.h"
#include "req/free.h"
#include "req/parked.h"
#include "ring/cq.h"
#include "task/cancel.h"
#include "task/run.h"
#include "task/sqpoll.h"
#include "task/tctx.h"

/* between two looks at what no event tells of */
#define IO_CANCEL_NAP	(HZ / 50 ?: 1)
/* how long a thread's exit waits for a work of its own that does not end */
#define IO_CANCEL_PATIENCE	(10 * HZ)

static bool io_cancel_match(struct io_kiocb *req, const struct io_cancel_scope *what)
{
	if (req->ctx != what->ctx || (what->tctx && req->tctx != what->tctx))
		return false;
	/* a worker may be about to change other flags */
	return !what->tracked || data_race(req->flags) & REQ_F_INFLIGHT;
}

static bool io_cancel_match_work(struct io_wq_work *work, void *data)
{
	return io_cancel_match(io_work_to_req(work), data);
}

/**
 * io_cancel_work - end what worker pools have
 * @ctx: the ring; its lock is held
 * @tctx: of this task, or NULL for all that use the ring
 * @match: see io_wq_cancel()
 * @data: for @match
 * @all: all that matches, else the first that is found
 *
 * Return: how many were queued, and how many run
 */
struct io_wq_found io_cancel_work(struct io_ring_ctx *ctx, struct io_uring_task *tctx,
				  io_wq_match_fn match, void *data, bool all)
{
	struct io_wq_found sum = {};
	struct io_tctx_node *node;

	io_assert_ring(ctx);
	list_for_each_entry(node, &ctx->tctx_list, ctx_link) {
		struct io_wq_found found;

		if (tctx && node->tctx != tctx)
			continue;
		found = io_wq_cancel(node->tctx->io_wq, match, data, all);
		sum.queued += found.queued;
		sum.running += found.running;
		if (!all && (sum.queued || sum.running))
			break;
	}
	return sum;
}

/**
 * io_parked_cancel - end a parked request
 * @req: the request; ring lock held
 *
 * Any task.  The request ends, with -ECANCELED, where and when its mail is run.
 *
 * Return: false if it ends by itself.
 */
bool io_parked_cancel(struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	if (req->flags & REQ_F_POLLED)
		return io_poll_cancel(req);
	return io_ops[req->opcode]->cancel(req);
}

/* Requests that wait for an event or a time.  That they end is seen when their mail is run. */
static void io_cancel_parked(const struct io_cancel_scope *what)
{
	struct io_ring_ctx *ctx = what->ctx;
	struct io_kiocb *req, *tmp;
	struct list_head *bucket;

	io_parked_trim(ctx);
	io_for_each_parked(ctx, bucket, tmp, req) {
		if (io_cancel_match(req, what))
			io_parked_cancel(req);
	}
}

/* Chains that wait for earlier requests. */
static bool io_cancel_drained(const struct io_cancel_scope *what)
{
	struct io_kiocb *head;
	bool found = false;

	if (what->tracked)
		return false;
	while ((head = io_drain_take_matching(what->ctx, what->tctx))) {
		head->flags &= ~REQ_F_HARDLINK;
		io_req_fail(head, -ECANCELED);
		found = true;
	}
	return found;
}

/* Is current the one to run an exclusive ring's mailbox? */
static bool io_owns_mailbox(const struct io_ring_ctx *ctx)
{
	return ctx->cq.exclusive && READ_ONCE(ctx->submitter_task) == current &&
	       !io_mail_dead(&ctx->mailbox);
}

/**
 * io_cancel_requests - one pass: end what can be ended now
 * @what: which requests
 *
 * Task context without locks, may sleep.
 *
 * Return: something was found, and another pass may find more.
 */
bool io_cancel_requests(const struct io_cancel_scope *what)
{
	struct io_ring_ctx *ctx = what->ctx;
	bool found = false;

	scoped_guard(io_ring, ctx) {
		io_req_reclaim_retired(ctx);
		/* what runs was told; that it ends is seen then, not by asking again */
		found |= io_cancel_work(ctx, what->tctx, io_cancel_match_work, (void *)what,
					true).queued;
		io_cancel_parked(what);
		if (io_cq_is_writer(ctx)) {
			found |= io_cancel_drained(what);
			if (ctx->iopoll)
				found |= io_iopoll_reap(ctx) > 0;
		}
		if (io_owns_mailbox(ctx))
			found |= io_run_local_locked(ctx) > 0;
	}
	found |= io_run_task_work();
	return found;
}

/* One pass over all rings of current. */
static bool io_cancel_pass(struct io_uring_task *tctx, bool tracked)
{
	struct io_cancel_scope what = { .tctx = tctx, .tracked = tracked };
	struct io_tctx_node *node;
	unsigned long index;
	bool found = false;

	xa_for_each(&tctx->nodes, index, node) {
		struct io_ring_ctx *ctx;

		/* the exit worker may take the node away, but not a ring that we hold */
		scoped_guard(mutex, &io_tctx_mutex) {
			node = xa_load(&tctx->nodes, index);
			ctx = node ? node->ctx : NULL;
			if (ctx && !percpu_ref_tryget(&ctx->refs))
				ctx = NULL;
		}
		if (!ctx)
			continue;
		what.ctx = ctx;
		found |= io_cancel_requests(&what);
		percpu_ref_put(&ctx->refs);
	}
	return found;
}

static long io_cancel_left(struct io_uring_task *tctx, bool cancel_all)
{
	return cancel_all ? io_tctx_inflight(tctx) : atomic_read(&tctx->inflight_tracked);
}

/* Does a mailbox of current have something that arrived since the last pass? */
static bool io_cancel_mail_pending(struct io_uring_task *tctx)
{
	struct io_tctx_node *node;
	unsigned long index;

	guard(mutex)(&io_tctx_mutex);
	xa_for_each(&tctx->nodes, index, node) {
		if (io_owns_mailbox(node->ctx) && io_local_pending(node->ctx))
			return true;
	}
	return task_work_pending(current);
}

/* Sleep until a request ends or something arrives. */
static void io_cancel_sleep(struct io_uring_task *tctx, bool cancel_all)
{
	long left = io_cancel_left(tctx, cancel_all);
	DEFINE_WAIT(wait);

	prepare_to_wait(&tctx->wait, &wait, TASK_INTERRUPTIBLE);
	/*
	 * Exclusive rings wake their owner directly, for which it would have to
	 * arm their mailboxes: with several rings a short nap is simpler.
	 */
	if (left && left == io_cancel_left(tctx, cancel_all) && !task_work_pending(current))
		schedule_timeout(IO_CANCEL_NAP);
	finish_wait(&tctx->wait, &wait);
}

/* Does current use a ring that has to be polled for completions? */
static bool io_cancel_must_reap(struct io_uring_task *tctx)
{
	struct io_tctx_node *node;
	unsigned long index;

	guard(mutex)(&io_tctx_mutex);
	xa_for_each(&tctx->nodes, index, node) {
		if (node->ctx->iopoll)
			return true;
	}
	return false;
}

/*
 * What workers run has been told to end.  One may wait for a tag which a polled
 * request has, that nobody comes for but us.
 */
static void io_cancel_await_workers(struct io_uring_task *tctx)
{
	while (io_cancel_must_reap(tctx) && !io_wq_exit_wait(tctx->io_wq, IO_CANCEL_NAP))
		io_cancel_pass(tctx, true);
}

/* Does the whole process end, or become another one? */
static bool io_cancel_at_once(void)
{
	struct signal_struct *sig = current->signal;

	return fatal_signal_pending(current) || READ_ONCE(sig->flags) & SIGNAL_GROUP_EXIT ||
	       READ_ONCE(sig->group_exec_task);
}

/*
 * A thread of a process that goes on exits: what it has left to its workers and
 * ends by itself is done.  Without it a write would be done or not, as the worker
 * is faster than the thread's end or not.  Work that turns out to wait for
 * somebody (the open of a FIFO) is interrupted after a while, and what does not
 * end even then is cancelled with the rest.
 */
static void io_cancel_after_workers(struct io_uring_task *tctx)
{
	unsigned long since = jiffies;
	unsigned int done, before = 0;

	if (!io_wq_bounded_busy(tctx->io_wq, &done))
		return;
	while (!io_cancel_at_once() && time_before(jiffies, since + IO_CANCEL_PATIENCE)) {
		bool found = io_cancel_pass(tctx, true);

		/* after the pass: what ended may have left the next of its chain to us */
		if (!io_wq_bounded_busy(tctx->io_wq, &done))
			return;
		if (done != before)
			since = jiffies;
		else if (time_after(jiffies, since + IO_CANCEL_NAP))
			io_wq_bounded_nudge(tctx->io_wq);
		before = done;
		if (!found) {
			__set_current_state(TASK_KILLABLE | TASK_FREEZABLE);
			schedule_timeout(1);
		}
	}
}

/*
 * What comes from now on, to exclusive rings that current owned and to polled ones, is
 * for the fallback worker: nobody else may come for it, and those who exit after us may
 * wait for it.
 */
static void io_cancel_leave_rings(struct io_uring_task *tctx)
{
	struct io_tctx_node *node;
	unsigned long index;

	guard(mutex)(&io_tctx_mutex);
	xa_for_each(&tctx->nodes, index, node) {
		if (io_owns_mailbox(node->ctx))
			io_ring_close(node->ctx);
		if (node->ctx->iopoll)
			io_leave_polled(node->ctx);
	}
}

/**
 * io_cancel_task - end what current has in flight, then its share of io_uring
 * @tctx: current's
 * @cancel_all: exec: everything, and the task goes on without a tctx; exit: only
 *	what holds a ring's file, and what waits for a worker or runs on one and may
 *	take for ever; the rest ends with its ring
 *
 * May sleep until requests have ended.  Workers are gone afterwards.
 */
void io_cancel_task(struct io_uring_task *tctx, bool cancel_all)
{
	if (tctx->io_wq) {
		if (!cancel_all)
			io_cancel_after_workers(tctx);
		io_wq_exit_start(tctx->io_wq);
	}
	atomic_inc(&tctx->in_cancel);
	/* who does not see in_cancel has pushed or queued before we look */
	smp_mb__after_atomic();
	while (io_cancel_left(tctx, cancel_all)) {
		if (io_cancel_pass(tctx, !cancel_all)) {
			cond_resched();
			continue;
		}
		if (!io_cancel_mail_pending(tctx))
			io_cancel_sleep(tctx, cancel_all);
	}
	io_cancel_await_workers(tctx);
	if (!cancel_all)
		io_cancel_leave_rings(tctx);
	io_tctx_detach_all(tctx);
	io_tctx_put_credit(tctx);
	if (cancel_all) {
		/* exec goes on without; the state goes with its last request, which is gone */
		atomic_dec(&tctx->in_cancel);
		current->io_uring = NULL;
		io_tctx_free(tctx);
	}
}
