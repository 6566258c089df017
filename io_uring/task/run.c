// SPDX-License-Identifier: GPL-2.0
/* io_uring: running the items of mailboxes */

/*
 * Items run in three contexts.  The owner of a single-writer ring runs them when it enters the
 * ring.  The submitter on a multi-writer ring runs them as task work.  The fallback worker runs
 * the items of tasks that are gone.  Each context takes all items of a mailbox and runs them under
 * the ring lock.  One commit publishes the CQEs of a batch.
 */
#include <linux/kthread.h>
#include <linux/sched/mm.h>
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

/* number of items that run before the ring lock is dropped */
#define IO_RUN_SHARE	4096
/* number of items that run between two calls of io_tw_stop() */
#define IO_RUN_STEP	64
/* maximum number of shares in a call of io_run_local(): enough items to fill the largest CQ */
#define IO_RUN_SHARES	16

/*
 * Run up to IO_RUN_STEP items from a ring's mailbox.  Nearly all items are finished requests or
 * messages, so avoid the indirect call for them.  Consecutive messages are posted together and
 * count as one item.
 *
 * Return: the items that are left.
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

/*
 * Return: true if the owner has to stop the run: after IO_RUN_SHARE items, or if it was killed and
 * is not ending its requests yet.
 */
static bool io_tw_stop(unsigned int count)
{
	if (count >= IO_RUN_SHARE)
		return true;
	return fatal_signal_pending(current) && !atomic_read(&current->io_uring->in_cancel);
}

/* Return: true if the CQ has the CQEs that the caller waits for. */
static bool io_run_enough(const struct io_ring_ctx *ctx, u32 wanted)
{
	return wanted && io_cq_used(ctx) >= wanted;
}

/**
 * io_run_local_locked - run the mailbox of a single-writer ring as its owner
 * @ctx: the ring, its lock held
 * @wanted: number of CQEs that end the caller's wait, 0 if it does not wait
 *
 * The function empties the mailbox at most twice, so that requests which cause each other cannot
 * keep the owner here.  It stops after the first time if the CQ has the CQEs that the caller waits
 * for.  A second time would let constant pushes make the caller return half as often, with twice
 * as many CQEs.
 *
 * The function runs about IO_RUN_SHARE items at most, so that other tasks get the lock, and stops
 * early if the owner was killed.  Items that are left keep their order, and prevent a sleep.
 *
 * Context: Task context.  May sleep.
 *
 * Return: number of items run; consecutive messages count as one.
 */
int io_run_local_locked(struct io_ring_ctx *ctx, u32 wanted)
{
	unsigned int flags = IO_URING_F_COMPLETE_DEFER;
	struct io_tw *tw = NULL;
	unsigned int loops, count = 0;

	io_assert_ring(ctx);
	/* the fallback worker runs the items of a closed mailbox */
	if (unlikely(io_mailbox_dead(&ctx->mailbox)))
		return 0;
	for (loops = 0; loops < 2 && !tw && io_local_pending(ctx); loops++) {
		if (loops && io_run_enough(ctx, wanted))
			break;
		/* the second round takes the items that were pushed during the first round */
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
 * @ctx: the ring, its lock not held
 * @wanted: number of CQEs that end the caller's wait, 0 if it does not wait
 *
 * The function drops the ring lock every IO_RUN_SHARE items.  It returns when no item is left over,
 * after IO_RUN_SHARES rounds, for a signal, or when the CQ is full: requests that wait for room in
 * the CQ would be issued in vain in each round.
 *
 * Context: Task context.  May sleep.
 */
void io_run_local(struct io_ring_ctx *ctx, u32 wanted)
{
	unsigned int shares = IO_RUN_SHARES;

	do {
		if (io_ring_lock(ctx))
			return;
		io_run_local_locked(ctx, wanted);
		io_ring_unlock(ctx);
	} while (unlikely(io_mailbox_leftover(&ctx->mailbox)) && !io_cq_is_full(ctx) && --shares &&
		 !task_sigpending(current));
}

/* maximum number of items that are searched for an item of a given ring */
#define IO_RUN_LOOK	64

/* Return: true if current's mailbox has an item of @ctx, or more items than IO_RUN_LOOK. */
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
 * Clear IORING_SQ_TASKRUN of a ring whose items were taken.  Items that have arrived since then
 * may have set the flag before, so set the flag again if one of these items belongs to this ring.
 * A flag that is set for an item of another ring would stay set.
 */
static void io_clear_taskrun(struct io_uring_task *tctx, struct io_ring_ctx *ctx)
{
	if (!(ctx->flags & IORING_SETUP_TASKRUN_FLAG))
		return;
	atomic_andnot(IORING_SQ_TASKRUN, &ctx->rings->sq_flags);
	/*
	 * Clear the flag before the mailbox is read; pairs with io_taskrun_update().  The option
	 * NO_CLEAR of Documentation/io_uring/models/mailbox_weak.pml removes this barrier.
	 */
	smp_mb__after_atomic();
	if (io_tctx_has_tw(tctx, ctx))
		atomic_or(IORING_SQ_TASKRUN, &ctx->rings->sq_flags);
}

/*
 * Drop the ring lock of @from, then take the ring lock of @to.  Both may be NULL.  Return: @to, or
 * NULL if current was killed while it waited for the lock.
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

/* Run an item if the ring lock is free.  Return: true if the item ran. */
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

		io_clear_taskrun(tctx, ctx);
		if (!io_run_try(ctx, tw, flags))
			io_fallback_push(ctx, tw);
		tw = next;
		cond_resched();
	}
	/* requests that ended here have raised tctx->credit, which the exit has already put */
	io_tctx_put_credit(tctx);
	return count;
}

/**
 * io_tctx_task_work - run current's mailbox, as task work
 * @cb: the callback head in struct io_uring_task
 *
 * Context: Task context.  May sleep.
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
	 * Current handles signals or continues its exit only when no task work is left.  End
	 * requests at their next event, because wakers could keep current here for ever.
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
			io_clear_taskrun(tctx, req->ctx);
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

/* interval of polls for requests whose tasks are gone, in jiffies */
#define IO_ORPHAN_NAP	1

/* Poll for requests whose tasks are gone.  Queue the work again to poll until all have ended. */
static void io_reap_orphans(struct io_ring_ctx *ctx)
{
	if (!io_iopoll_orphaned(ctx) || !io_cq_is_writer(ctx))
		return;
	io_iopoll_reap(ctx);
	queue_delayed_work(system_dfl_wq, &ctx->fallback.work, IO_ORPHAN_NAP);
}

/**
 * io_leave_polled - leave polled requests of an exiting task to the fallback worker
 * @ctx: a ring that the task uses
 *
 * The workers of current have ended, so they issue no more polled requests.
 */
void io_leave_polled(struct io_ring_ctx *ctx)
{
	if (io_iopoll_pending(ctx))
		queue_delayed_work(system_dfl_wq, &ctx->fallback.work, 0);
}

/*
 * Empty memory for kernel workers, in which each access to user memory fails.  Without it they run
 * in the memory of an earlier task, and the callback of a driver may write to user memory: btrfs
 * does so for an encoded read.
 */
static struct mm_struct *io_no_memory __ro_after_init;

/**
 * io_fallback_run - run the items of tasks that are gone
 * @ctx: the ring, its lock held
 *
 * Context: Task context.  May sleep.
 */
void io_fallback_run(struct io_ring_ctx *ctx)
{
	unsigned int flags = IO_URING_F_COMPLETE_DEFER | IO_URING_F_TASK_DEAD;
	unsigned int count = 0;
	struct io_tw *tw;
	bool bare;

	io_assert_ring(ctx);
	io_poll_recheck(ctx);
	tw = io_fallback_take(ctx);
	bare = tw && !current->mm && current->flags & PF_KTHREAD;
	if (bare)
		kthread_use_mm(io_no_memory);
	while (tw) {
		tw = io_tw_run_step(ctx, tw, flags, &count);
		cond_resched();
	}
	if (bare)
		kthread_unuse_mm(io_no_memory);
}

static int __init io_fallback_setup(void)
{
	io_no_memory = mm_alloc();
	if (!io_no_memory)
		panic("io_uring: cannot allocate memory for kernel workers\n");
	return 0;
}
core_initcall(io_fallback_setup);

/**
 * io_fallback_work - do the work of the fallback worker, for tasks that are gone
 * @work: ctx->fallback.work of a ring
 *
 * Context: A kworker.  May sleep, but does not wait for the ring lock.
 */
void io_fallback_work(struct work_struct *work)
{
	struct io_ring_ctx *ctx = container_of(work, struct io_ring_ctx, fallback.work.work);

	/*
	 * No reference is needed, because io_ring_free_work() waits for this work.  The last items
	 * may be messages, which hold no reference.
	 */
	if (!io_ring_try(ctx, ctx->fallback.tries)) {
		queue_delayed_work(system_dfl_wq, &ctx->fallback.work,
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
