// SPDX-License-Identifier: GPL-2.0
/* io_uring: the end of a task's share, and of a ring */

/*
 * A task that exits or execs comes through __io_uring_cancel().
 *
 * A ring ends in three steps.  None of them waits: the first may run in the last fput()
 * of any task, and the others on workers of all rings.
 *
 *	io_ring_kill(), when the file is released: no task can enter any more, and
 *	calls in progress have ended, because they held the file.  ->dying is set.
 *
 *	io_ring_end_locked() leaves the SQPOLL thread, closes a single-writer ring's
 *	mailbox, and ends what is in flight.  A task whose own ring it is does this at
 *	once, so that close(2) returns when nothing waits any more.  If one of the locks
 *	is held, io_ring_exit_work() tries again, a little later each time.  The
 *	registered files go with the last request.
 *
 *	io_ring_free_work(), a grace period after the last reference is gone.
 *
 * ->dying is set without the ring lock, but io_ring_end_locked() takes that lock later and
 * searches for requests then.  A context that lets a request wait, or queues it to a
 * worker, checks ->dying under the lock.  If it held the lock before the search, the
 * request is found.  If it held it afterwards, the lock orders the check after the store,
 * and ->dying is seen.  So one search is enough, except for polled devices and drivers'
 * commands.
 *
 * References are held by:
 *
 *	1. the file, and then the ring's end until it has searched
 *	2. the memory of each request, in flight or free; from that search on
 *	   no free ones are kept, so that the end of a request drops its reference
 *	3. task work while it runs, it holds requests, see 2; and a scan of the
 *	   rings of a task
 *
 * After that, only RCU readers can use the ring: contexts that pushed a request use it
 * for a moment after the push.  One grace period later the ring's resources are freed.
 * Its own memory stays for another one, for tasks that have just found it in their list
 * of rings.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/io_uring.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "async/poll.h"
#include "async/timer.h"
#include "async/wq.h"
#include "req/free.h"
#include "req/wait_table.h"
#include "req/put.h"
#include "req/spare.h"
#include "ring/cq.h"
#include "ring/entry.h"
#include "ring/mailbox.h"
#include "ring/notify.h"
#include "ring/region.h"
#include "rsrc/account.h"
#include "rsrc/creds.h"
#include "rsrc/files.h"
#include "rsrc/groups.h"
#include "rsrc/table.h"
#include "task/cancel.h"
#include "task/exit.h"
#include "task/run.h"
#include "task/sqpoll.h"
#include "task/tctx.h"

static struct workqueue_struct *io_exit_wq;

/**
 * __io_uring_cancel - see include/linux/io_uring.h
 * @cancel_all: see there
 */
void __io_uring_cancel(bool cancel_all)
{
	io_ringfd_drop_all();
	io_cancel_task(current->io_uring, cancel_all);
	if (!cancel_all)
		io_sqpoll_user_left();
}

/**
 * __io_uring_free - see include/linux/io_uring.h
 * @tsk: see there
 */
void __io_uring_free(struct task_struct *tsk)
{
	struct io_uring_task *tctx = tsk->io_uring;

	tsk->io_uring = NULL;
	io_tctx_free(tctx);
}

/* Free a ring that cannot be found any more. */
static void io_ring_free(struct io_ring_ctx *ctx)
{
	if (!WARN_ON_ONCE(!io_ring_trylock(ctx))) {
		io_rsrc_free_all(ctx);
		io_spares_end(&ctx->polls.spares);
		io_spares_end(&ctx->futexes);
		io_eventfd_unregister(ctx);
		io_entry_store_free(ctx);
		io_ring_unlock(ctx);
	}
	io_sqpoll_put(ctx);
	io_cq_free(ctx);
	io_groups_free(ctx);
	io_region_free(&ctx->ring_region);
	io_region_free(&ctx->sqe_region);
	io_creds_free(ctx);
	if (ctx->submitter_task)
		put_task_struct(ctx->submitter_task);
	io_account_free(ctx);
	percpu_ref_exit(&ctx->refs);
	io_timers_free(ctx);
	io_wait_table_free(ctx);
	io_req_cache_free(ctx);
	kfree_rcu(ctx, rcu);
}

/*
 * Free a ring without references and requests.  Contexts that have pushed to it do not use it,
 * or its fallback work, any more.
 */
static void io_ring_free_work(struct work_struct *work)
{
	struct io_ring_ctx *ctx = container_of(to_rcu_work(work), struct io_ring_ctx,
					       exit.free_work);

	io_tctx_forget_ring(ctx);
	/* it does not wait for anything */
	cancel_delayed_work_sync(&ctx->fallback.work);
	/* messages that were not taken */
	io_fallback_work(&ctx->fallback.work.work);
	cancel_delayed_work_sync(&ctx->notify.work);
	io_ring_free(ctx);
}

/**
 * io_ring_refs_gone - queue the free of a ring whose last reference is gone
 * @ref: ctx->refs
 *
 * Any context, perhaps with the ring lock held.
 */
void io_ring_refs_gone(struct percpu_ref *ref)
{
	struct io_ring_ctx *ctx = container_of(ref, struct io_ring_ctx, refs);

	queue_rcu_work(io_exit_wq, &ctx->exit.free_work);
}

static void io_ring_exit_later(struct io_ring_ctx *ctx)
{
	queue_delayed_work(io_exit_wq, &ctx->exit.work,
			   io_lock_backoff(&ctx->exit.tries, IO_BACKOFF_WORK));
}

/* Cancel what is in flight.  Return: nothing has to be looked for any more. */
static bool io_ring_end_requests(struct io_ring_ctx *ctx)
{
	struct io_cancel_scope all = { .ctx = ctx };

	io_assert_ring(ctx);
	io_req_reclaim_retired(ctx);
	io_req_cache_end(ctx);
	if (!io_reqs_alive(ctx))
		return true;
	while (io_cancel_requests(&all)) {
		ctx->exit.tries = 0;
		cond_resched();
	}
	/* polled requests end when they are asked for, drivers cancel when they can */
	return !(ctx->iopoll || ctx->commands) || !io_reqs_alive(ctx);
}

/*
 * Unregister files with the last request: a lock, a port or the other end of a pipe is released
 * at once, and not when the ring's memory goes.
 */
static void io_ring_all_gone(struct io_ring_ctx *ctx)
{
	io_unregister_files(ctx);
}

/* Try for the locks that the end of a ring needs.  Return: is the ring lock held? */
static bool io_ring_try_lock(struct io_ring_ctx *ctx)
{
	return io_sqpoll_leave(ctx) && io_ring_trylock(ctx);
}

/* End what is in flight, and let go of the lock.  Return: nothing has to be looked for any more. */
static bool io_ring_end_locked(struct io_ring_ctx *ctx)
{
	bool looked;

	/* with the lock: its owner may be about to take from it */
	if (ctx->cq.single_writer)
		io_owner_mailbox_close(ctx);
	looked = io_ring_end_requests(ctx);
	/* a task that goes on does not wait for the end of files that requests have */
	if (current->flags & (PF_EXITING | PF_KTHREAD))
		io_fallback_run(ctx);
	if (!io_reqs_alive(ctx))
		io_ring_all_gone(ctx);
	io_ring_unlock(ctx);
	return looked;
}

static void io_ring_exit_work(struct work_struct *work)
{
	struct io_ring_ctx *ctx = container_of(to_delayed_work(work), struct io_ring_ctx,
					       exit.work);

	if (io_ring_try_lock(ctx) && io_ring_end_locked(ctx))
		percpu_ref_kill(&ctx->refs);
	else
		io_ring_exit_later(ctx);
}

/* pauses between the tries of a task that closes a ring, twice as long each time, microseconds */
#define IO_CLOSE_FIRST	16
#define IO_CLOSE_LAST	8192

/* End what is in flight as the ring's task.  Return: nothing has to be looked for any more. */
static bool io_ring_end_own(struct io_ring_ctx *ctx)
{
	bool looked = io_ring_end_locked(ctx);

	/* requests that end here become credit, which an exiting task has put before */
	if (current->flags & PF_EXITING && current->io_uring)
		io_tctx_put_credit(current->io_uring);
	return looked;
}

/*
 * A task closes its own ring: end it at once, if the locks are to be had.  Others may only have
 * looked at it, and behind a kernel thread files of others queue up.  Return: done.
 */
static bool io_ring_end_now(struct io_ring_ctx *ctx)
{
	unsigned int pause;

	if (current->flags & PF_KTHREAD || !io_owner_is_current(&ctx->owner))
		return false;
	for (pause = IO_CLOSE_FIRST; pause <= IO_CLOSE_LAST; pause *= 2) {
		if (io_ring_try_lock(ctx))
			return io_ring_end_own(ctx);
		/* a SQPOLL thread was asked to let go, and workers are done soon */
		usleep_range(pause, 2 * pause);
	}
	return false;
}

/**
 * io_ring_kill - begin the end of a ring whose file is released
 * @ctx: the ring
 *
 * Does not wait for anything: what needs locks that others keep is left to a work.
 */
void io_ring_kill(struct io_ring_ctx *ctx)
{
	WRITE_ONCE(ctx->dying, true);
	ctx->reqs.all_gone = io_ring_all_gone;
	INIT_RCU_WORK(&ctx->exit.free_work, io_ring_free_work);
	INIT_DELAYED_WORK(&ctx->exit.work, io_ring_exit_work);
	if (io_ring_end_now(ctx))
		percpu_ref_kill(&ctx->refs);
	else
		queue_delayed_work(io_exit_wq, &ctx->exit.work, 0);
}

static int __init io_exit_init(void)
{
	io_exit_wq = alloc_workqueue("iou_exit", WQ_UNBOUND, 0);
	io_req_cachep = KMEM_CACHE(io_kiocb, SLAB_HWCACHE_ALIGN | SLAB_PANIC | SLAB_ACCOUNT);
	return 0;
}
core_initcall(io_exit_init);
