// SPDX-License-Identifier: GPL-2.0
/* io_uring: running what waits in mailboxes */

/*
 * Three contexts: the owner of a single-writer ring, when it enters the ring; the
 * submitter on a multi-writer ring, as task work; the fallback worker when either is
 * gone.  Each takes everything that is there, runs it under the ring lock, and
 * what was completed is published by one commit.
 */
#include <trace/events/io_uring.h>

#include "async/iopoll.h"
#include "async/poll.h"
#include "complete/message.h"
#include "complete/fast.h"
#include "req/free.h"
#include "ring/locks.h"
#include "rsrc/bufs.h"
#include "task/cancel.h"
#include "task/run.h"

/* items that are run before others may have the ring lock, and what is looked at in between */
#define IO_RUN_SHARE	4096
#define IO_RUN_STEP	64
/* number of shares that fill the largest CQ */
#define IO_RUN_SHARES	16

/*
 * Run some of what was taken from a ring's mailbox.  Finished requests and messages are
 * what nearly all of it is: no indirect call for them, and messages are handled
 * as many as come together, which counts as one.
 *
 * Return: what is left.
 */
static struct io_tw *io_tw_run_step(struct io_ring_ctx *ctx, struct io_tw *tw,
				    unsigned int issue_flags, unsigned int *count)
{
	unsigned int left = IO_RUN_STEP;

	do {
		struct io_tw *next = tw->next;

		if (likely(tw->run == io_complete_tw))
			io_complete_collected(ctx, io_tw_to_req(tw));
		else if (tw->run == io_entry_tw)
			next = io_post_entries(ctx, tw);
		else
			tw->run(ctx, tw, issue_flags);
		tw = next;
	} while (--left && tw);
	*count += IO_RUN_STEP - left;
	return tw;
}

/* Should the owner do something else first?  On its way out this is all that it has to do. */
static bool io_tw_stop(unsigned int count)
{
	if (count >= IO_RUN_SHARE)
		return true;
	return fatal_signal_pending(current) && !atomic_read(&current->io_uring->in_cancel);
}

/* Is there what the caller waits for?  Then it hears of it before what has come meanwhile. */
static bool io_run_enough(const struct io_ring_ctx *ctx, u32 wanted)
{
	return wanted && ctx->cq.tail - READ_ONCE(ctx->rings->cq_head) >= wanted;
}

/**
 * io_run_local_locked - run the mailbox of a single-writer ring as its owner
 * @ctx: the ring, its lock held
 * @wanted: number of CQEs that end the caller's wait, 0 if it does not wait
 *
 * Runs until nothing is left, but at most what was there twice over, so that
 * requests which cause each other cannot keep the owner, and once if that is what the caller
 * waits for: while others push all the time it would get twice as much half as often.
 * It runs no more than a share of it, so that others get the lock and a killed owner
 * goes.  The rest stays, in its order, and keeps the owner from sleeping.
 *
 * May sleep.
 *
 * Return: items run; messages that come together are one.
 */
int io_run_local_locked(struct io_ring_ctx *ctx, u32 wanted)
{
	unsigned int flags = IO_URING_F_COMPLETE_DEFER;
	struct io_tw *tw = NULL;
	unsigned int loops, count = 0;

	io_assert_ring(ctx);
	/* what a closed mailbox holds is the fallback worker's */
	if (unlikely(io_mailbox_dead(&ctx->mailbox)))
		return 0;
	for (loops = 0; loops < 2 && !tw && io_local_pending(ctx); loops++) {
		if (loops && io_run_enough(ctx, wanted))
			break;
		/* also what the first round has caused is announced, and taken here */
		tw = io_owner_mailbox_take(ctx);
		if (ctx->flags & IORING_SETUP_TASKRUN_FLAG)
			io_taskrun_update(ctx, &ctx->mailbox);
		io_poll_recheck(ctx);
		while (tw) {
			tw = io_tw_run_step(ctx, tw, flags, &count);
			if (likely(!tw) || io_tw_stop(count))
				break;
			cond_resched();
		}
	}
	if (unlikely(tw))
		io_owner_mailbox_requeue(ctx, tw);
	trace_io_uring_local_work_run(ctx, count, loops);
	return count;
}

/**
 * io_run_local - run the mailbox of a single-writer ring without the ring lock
 * @ctx: the ring
 * @wanted: as there
 *
 * Ends when nothing was left, but also when there was more than any CQ can hold, or
 * for a signal.
 */
void io_run_local(struct io_ring_ctx *ctx, u32 wanted)
{
	unsigned int shares = IO_RUN_SHARES;

	do {
		if (io_ring_lock(ctx))
			return;
		io_run_local_locked(ctx, wanted);
		io_ring_unlock(ctx);
	} while (unlikely(io_mailbox_leftover(&ctx->mailbox)) && --shares &&
		 !task_sigpending(current));
}

/* items that are looked at for one of a ring */
#define IO_RUN_LOOK	64

/* Is there something for @ctx in current's mailbox?  If there is much, say so. */
static bool io_tctx_has_tw(const struct io_uring_task *tctx, const struct io_ring_ctx *ctx)
{
	struct io_tw *tw = io_mailbox_youngest(&tctx->mailbox);
	unsigned int left = IO_RUN_LOOK;

	for (; tw && left; tw = tw->next, left--)
		if (io_tw_to_req(tw)->ctx == ctx)
			return true;
	return tw;
}

/*
 * The mailbox has been taken already, so that something may have arrived in
 * between whose flag is wiped here: then say it again.  But what is there may be another
 * ring's, and this one's flag would stay up.
 */
static void io_clear_taskrun(struct io_uring_task *tctx, struct io_ring_ctx *ctx)
{
	if (!(ctx->flags & IORING_SETUP_TASKRUN_FLAG))
		return;
	atomic_andnot(IORING_SQ_TASKRUN, &ctx->rings->sq_flags);
	/* the flag is down before the mailbox is looked at; pairs with io_taskrun_update() */
	smp_mb__after_atomic();
	if (io_tctx_has_tw(tctx, ctx))
		atomic_or(IORING_SQ_TASKRUN, &ctx->rings->sq_flags);
}

/*
 * The next item is of another ring, or others want the CPU.  Return: @to, or NULL if
 * current was killed while it waited for that ring's lock.
 */
static struct io_ring_ctx *io_run_switch(struct io_ring_ctx *from, struct io_ring_ctx *to)
{
	if (from) {
		io_ring_unlock(from);
		percpu_ref_put(&from->refs);
	}
	if (to) {
		percpu_ref_get(&to->refs);
		if (unlikely(io_ring_lock(to))) {
			percpu_ref_put(&to->refs);
			return NULL;
		}
		io_clear_taskrun(current->io_uring, to);
	}
	return to;
}

/* Run one item, if its ring's lock is to be had. */
static bool io_run_try(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int flags)
{
	percpu_ref_get(&ctx->refs);
	if (!io_ring_trylock(ctx)) {
		percpu_ref_put(&ctx->refs);
		return false;
	}
	tw->run(ctx, tw, flags);
	io_ring_unlock(ctx);
	percpu_ref_put(&ctx->refs);
	return true;
}

/* Run task work of an exiting task, which does not wait for ring locks. */
static noinline unsigned int io_tctx_run_leaving(struct io_uring_task *tctx, struct io_tw *tw,
						 unsigned int flags)
{
	unsigned int count = 0;

	for (; tw; count++) {
		struct io_ring_ctx *ctx = io_tw_to_req(tw)->ctx;
		struct io_tw *next = tw->next;

		if (!io_run_try(ctx, tw, flags))
			io_fallback_push(ctx, tw);
		tw = next;
		cond_resched();
	}
	/* it has given back its credit before */
	io_tctx_put_credit(tctx);
	return count;
}

/**
 * io_tctx_task_work - task work: run current's mailbox
 * @cb: in struct io_uring_task
 */
void io_tctx_task_work(struct callback_head *cb)
{
	struct io_uring_task *tctx = container_of(cb, struct io_uring_task, task_work);
	struct io_tw *tw = io_mailbox_take(&tctx->mailbox);
	unsigned int flags = IO_URING_F_COMPLETE_DEFER;
	struct io_ring_ctx *ctx = NULL;
	unsigned int count = 0;

	if (WARN_ON_ONCE(tctx->task != current))
		return;
	/*
	 * Current gets on with its exit, or to its signals, when there is no more work.  So nothing
	 * goes on after an event: else wakers could keep it here for ever.
	 */
	if (unlikely(fatal_signal_pending(current) || current->flags & PF_EXITING))
		flags |= IO_URING_F_TASK_DEAD;
	if (unlikely(atomic_read(&tctx->in_cancel))) {
		count = io_tctx_run_leaving(tctx, tw, flags | IO_URING_F_TASK_DEAD);
		tw = NULL;
	}
	while (tw) {
		struct io_kiocb *req = io_tw_to_req(tw);
		struct io_tw *next = tw->next;

		if (req->ctx != ctx)
			ctx = io_run_switch(ctx, req->ctx);
		if (unlikely(!ctx)) {
			io_fallback_push(req->ctx, tw);
			tw = next;
			continue;
		}
		if (likely(tw->run == io_complete_tw))
			io_complete_collected(ctx, req);
		else
			tw->run(ctx, tw, flags);
		tw = next;
		count++;
		if (unlikely(need_resched())) {
			ctx = io_run_switch(ctx, NULL);
			cond_resched();
		}
	}
	io_run_switch(ctx, NULL);
	trace_io_uring_task_work_run(tctx, count);
}

/* between two looks at a device for tasks that are gone */
#define IO_ORPHAN_NAP	1

/* Polled requests of tasks that are gone: ask until they are there. */
static void io_reap_orphans(struct io_ring_ctx *ctx)
{
	if (!io_iopoll_orphaned(ctx) || !io_cq_is_writer(ctx))
		return;
	io_iopoll_reap(ctx);
	queue_delayed_work(system_unbound_wq, &ctx->fallback.work, IO_ORPHAN_NAP);
}

/**
 * io_leave_polled - leave polled requests of an exiting task to the fallback worker
 * @ctx: a ring that it uses
 *
 * Its workers are gone.  The fallback worker polls for what it leaves.
 */
void io_leave_polled(struct io_ring_ctx *ctx)
{
	if (io_iopoll_pending(ctx))
		queue_delayed_work(system_unbound_wq, &ctx->fallback.work, 0);
}

/**
 * io_fallback_run - run what belongs to tasks that are gone
 * @ctx: the ring, its lock held
 *
 * May sleep.
 */
void io_fallback_run(struct io_ring_ctx *ctx)
{
	unsigned int flags = IO_URING_F_COMPLETE_DEFER | IO_URING_F_TASK_DEAD;
	unsigned int count = 0;
	struct io_tw *tw;

	io_assert_ring(ctx);
	io_poll_recheck(ctx);
	tw = io_fallback_take(ctx);
	while (tw) {
		tw = io_tw_run_step(ctx, tw, flags, &count);
		cond_resched();
	}
}

/**
 * io_fallback_work - do the work of tasks that are gone
 * @work: fallback_work of a ring
 */
void io_fallback_work(struct work_struct *work)
{
	struct io_ring_ctx *ctx = container_of(work, struct io_ring_ctx, fallback.work.work);

	/*
	 * The end of the ring waits for this before it frees the ring, so no
	 * reference is needed: messages, which hold none, may come last.
	 */
	if (!io_ring_try(ctx, ctx->fallback.tries)) {
		queue_delayed_work(system_unbound_wq, &ctx->fallback.work,
				   io_lock_backoff(&ctx->fallback.tries, IO_BACKOFF_WORK));
		return;
	}
	ctx->fallback.tries = 0;
	io_req_reclaim_retired(ctx);
	io_bufs_take_back(ctx);
	io_cancel_orphans(ctx);
	io_fallback_run(ctx);
	if (unlikely(ctx->iopoll)) {
		io_iopoll_add_unlisted(ctx);
		io_reap_orphans(ctx);
	}
	io_ring_unlock(ctx);
}
