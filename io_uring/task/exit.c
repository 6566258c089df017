// SPDX-License-Identifier: GPL-2.0
/* io_uring: entry points of exit and exec, and the end of a ring */

/*
 * __io_uring_cancel(), called by exit and exec, ends a task's use of io_uring; see task/end.c.
 *
 * Problem: the last fput() of a ring may run in any task, and the work items below run on kernel
 * workers that serve all rings.  So no step of a ring's end blocks on a lock or waits for a
 * request.
 *
 *	io_ring_kill() runs when the file is released, or when the setup fails.  It sets ->dying.
 *	No task can enter the ring any more, and no call is in progress: each call holds the file.
 *
 *	io_ring_end_locked() closes a single-writer ring's mailbox and ends the requests in
 *	flight.  Before that, io_sqpoll_leave() removes the ring from its SQPOLL thread.  A task of
 *	the ring's user calls io_ring_end_locked() in close(2), so that no request waits when
 *	close(2) returns.  For some milliseconds this task calls io_ring_try_lock() repeatedly.  If
 *	that fails, or if a task of another user closes the ring, io_ring_exit_work() tries at
 *	growing intervals.  The registered files are released with the last request.
 *
 *	io_ring_free_work() runs a grace period after the last reference is gone.
 *
 * Ordering: ->dying is set without the ring lock.
 *
 *	end of the ring				request that starts to wait
 *	->dying = true				lock the ring
 *	lock the ring				->dying? do not wait
 *	search for requests			add to the wait table or a pool
 *	unlock the ring				unlock the ring
 *
 * If the right side has the lock first, the search finds the request.  Otherwise the lock orders
 * the check after the store.  So one search is enough, except for polled devices and drivers'
 * commands.
 *
 * References are held by:
 *
 *	1. the file; after its release io_ring_kill() or io_ring_exit_work(), until the last search
 *	2. the memory of each request, in flight or free.  io_req_cache_end() frees the free
 *	   requests.  After that, each request that ends is freed, and drops its reference
 *	3. task work while it runs, in addition to the references of its requests; and a scan
 *	   of the rings of a task
 *	4. io_req_retire() while it reclaims; the RCU callback of io_notify_activate()
 *
 * When no reference is left, only RCU readers use the ring: contexts that pushed a request use the
 * ring for a moment after the push.  One grace period later the ring's resources are freed.  The
 * memory of struct io_ring_ctx stays for a second grace period, because tasks may have just found
 * the ring in their list of rings.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/io_uring.h>
#include <linux/panic.h>
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
#include "ring/queues.h"
#include "rsrc/account.h"
#include "rsrc/creds.h"
#include "rsrc/restrict.h"
#include "rsrc/files.h"
#include "rsrc/groups.h"
#include "rsrc/memory.h"
#include "rsrc/table.h"
#include "rsrc/zcrx.h"
#include "task/cancel.h"
#include "task/exit.h"
#include "task/run.h"
#include "task/sqpoll.h"
#include "task/tctx.h"

static struct workqueue_struct *io_exit_wq;

/**
 * __io_uring_cancel - end the use of io_uring by current, see include/linux/io_uring.h
 * @cancel_all: true for an exec, false for an exit
 */
void __io_uring_cancel(bool cancel_all)
{
	/* do this before an exec frees the tctx, which has the registered rings */
	if (cancel_all)
		io_ringfd_drop_all();
	io_cancel_task(current->io_uring, cancel_all);
	if (cancel_all)
		return;
	/* drop rings late: a last drop cancels queued writes, for which io_cancel_task() waits */
	io_ringfd_drop_all();
	io_sqpoll_user_left();
}

/**
 * __io_uring_free - free the io_uring state of a task, see include/linux/io_uring.h
 * @tsk: the task, which has no references any more, or a child that never ran
 */
void __io_uring_free(struct task_struct *tsk)
{
	struct io_uring_task *tctx = tsk->io_uring;

	tsk->io_uring = NULL;
	if (tctx)
		io_tctx_free(tctx);
	io_restriction_put(io_task_restriction(tsk));
	io_task_set_restriction(tsk, NULL);
}

/* Free a ring that no other context can reach. */
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
	io_queues_put(rcu_access_pointer(ctx->queues));
	io_memory_free(ctx);
	io_zcrx_free_all(ctx);
	io_creds_free(ctx);
	io_restriction_put(ctx->restrictions);
	if (ctx->submitter_task)
		put_task_struct(ctx->submitter_task);
	io_account_free(ctx);
	percpu_ref_exit(&ctx->refs);
	io_timers_free(ctx);
	io_wait_table_free(ctx);
	io_req_cache_free(ctx);
	kfree(ctx->napi.ids);
	kfree_rcu(ctx, rcu);
}

/*
 * Free a ring without references and requests.  The grace period is over, so contexts that pushed
 * to the ring use neither the ring nor its fallback work any more.
 */
static void io_ring_free_work(struct work_struct *work)
{
	struct io_ring_ctx *ctx = container_of(to_rcu_work(work), struct io_ring_ctx,
					       exit.free_work);

	io_tctx_forget_ring(ctx);
	/* the fallback work does not wait for locks, so this call does not sleep for long */
	cancel_delayed_work_sync(&ctx->fallback.work);
	/* messages hold no references, so some may be left */
	io_fallback_work(&ctx->fallback.work.work);
	cancel_delayed_work_sync(&ctx->notify.work);
	io_ring_free(ctx);
}

/**
 * io_ring_refs_gone - queue the freeing of a ring whose last reference is gone
 * @ref: ctx->refs
 *
 * Context: Any.  The ring lock may be held.
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

/* Cancel the requests in flight.  Return: true if no further search is needed. */
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
	/* polled requests have to be reaped, and drivers may have to be called again */
	return !(ctx->iopoll || ctx->commands) || !io_reqs_alive(ctx);
}

/*
 * Unregister files when the last request ends, and not only when the ring's memory is freed.  This
 * releases a file lock, a port or the other end of a pipe at once.
 */
static void io_ring_all_gone(struct io_ring_ctx *ctx)
{
	io_files_free(ctx);
}

/* Leave the SQPOLL thread and try to take the ring lock.  Return: true if the lock is held. */
static bool io_ring_try_lock(struct io_ring_ctx *ctx)
{
	return io_sqpoll_leave(ctx) && io_ring_trylock(ctx);
}

/* End the requests, and drop the ring lock.  Return: true if no further search is needed. */
static bool io_ring_end_locked(struct io_ring_ctx *ctx)
{
	bool looked;

	/* do this under the lock, because the owner may be about to take items */
	if (ctx->cq.single_writer)
		io_owner_mailbox_close(ctx);
	looked = io_ring_end_requests(ctx);
	/* a task that lives on would run the release of the requests' files, see req/put.c */
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

/* first and last pause between attempts to lock a ring in close(2), in microseconds */
#define IO_CLOSE_FIRST	16
#define IO_CLOSE_LAST	8192

/* End the requests in close(2) or an exit.  Return: true if no further search is needed. */
static bool io_ring_end_own(struct io_ring_ctx *ctx)
{
	bool looked = io_ring_end_locked(ctx);

	/* requests that ended here raised tctx->credit, which an exiting task has already put */
	if (current->flags & PF_EXITING && current->io_uring)
		io_tctx_put_credit(current->io_uring);
	return looked;
}

/*
 * End a ring at once if a task of its user drops the last reference, and gets the locks.  A task
 * of another user may hold the file merely to inspect it.  A kernel thread releases files of other
 * users as well, so it must not be delayed.
 *
 * Return: true if no further search is needed.
 */
static bool io_ring_end_now(struct io_ring_ctx *ctx)
{
	unsigned int pause;

	if (current->flags & PF_KTHREAD || !io_owner_is_current(&ctx->owner))
		return false;
	for (pause = IO_CLOSE_FIRST; pause <= IO_CLOSE_LAST; pause *= 2) {
		if (io_ring_try_lock(ctx))
			return io_ring_end_own(ctx);
		/* the SQPOLL thread was asked to drop its lock, and most locks are held briefly */
		usleep_range(pause, 2 * pause);
	}
	return false;
}

/**
 * io_ring_kill - begin the end of a ring whose file is released
 * @ctx: the ring
 *
 * If the locks are not free for some milliseconds, or if requests have to be searched again, a work
 * item does the rest.  For kernel threads and tasks of other users, it does all of this work.
 *
 * Context: Task context.  May sleep.
 */
void io_ring_kill(struct io_ring_ctx *ctx)
{
	WRITE_ONCE(ctx->dying, true);
	/* order ->dying before the reclaim; pairs with the push in io_req_retire() */
	smp_mb();
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
	if (!io_exit_wq)
		panic("io_uring: cannot allocate a workqueue\n");
	io_req_cachep = KMEM_CACHE(io_kiocb, SLAB_HWCACHE_ALIGN | SLAB_PANIC | SLAB_ACCOUNT);
	return 0;
}
core_initcall(io_exit_init);
