// SPDX-License-Identifier: GPL-2.0
/* io_uring: the end of a task's share, and of a ring */

/*
 * A task that exits or execs comes through __io_uring_cancel().
 *
 * A ring ends in two halves.  io_ring_kill(), when its file is released: nobody
 * can enter any more, calls in progress have ended, because they held the file.
 * Then the exit worker ends what is in flight, until the last reference is
 * gone.  References are held by:
 *
 *	1. the file: dropped by io_ring_kill()
 *	2. the memory of each request, in flight or free: the worker frees the
 *	   free ones in each round
 *	3. task work and fallback work while they run: they hold requests, see 2
 *
 * After that, nobody but RCU readers can look at the ring: contexts that pushed
 * a request look at the ring for a moment after the push.  One grace period
 * later the memory goes.
 */
#include <linux/cred.h>
#include <linux/io_uring.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "async/poll.h"
#include "async/wq.h"
#include "req/free.h"
#include "req/parked.h"
#include "ring/cq.h"
#include "ring/entry.h"
#include "ring/mailbox.h"
#include "ring/notify.h"
#include "ring/region.h"
#include "rsrc/creds.h"
#include "rsrc/table.h"
#include "task/cancel.h"
#include "task/exit.h"
#include "task/run.h"
#include "task/sqpoll.h"
#include "task/tctx.h"

static struct workqueue_struct *io_exit_wq;

/* how often the exit worker looks for what it can end */
#define IO_EXIT_INTERVAL	(HZ / 20 ?: 1)

/**
 * __io_uring_cancel - see include/linux/io_uring.h
 * @cancel_all: see there
 */
void __io_uring_cancel(bool cancel_all)
{
	io_ringfd_drop_all();
	io_cancel_task(current->io_uring, cancel_all);
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

/* No references and no requests are left: free the ring's memory and what it has registered. */
static void io_ring_free(struct io_ring_ctx *ctx)
{
	scoped_guard(io_ring, ctx) {
		io_rsrc_free_all(ctx);
		io_req_cache_free(ctx);
		io_poll_cache_free(ctx);
		io_eventfd_unregister(ctx);
		io_entry_store_free(ctx);
	}
	io_cq_free(ctx);
	io_region_free(&ctx->ring_region);
	io_region_free(&ctx->sqe_region);
	if (ctx->sq_creds)
		put_cred(ctx->sq_creds);
	if (ctx->submitter_task)
		put_task_struct(ctx->submitter_task);
	if (ctx->mm_account)
		mmdrop(ctx->mm_account);
	if (ctx->user)
		free_uid(ctx->user);
	percpu_ref_exit(&ctx->refs);
	xa_destroy(&ctx->personalities);
	io_parked_free(ctx);
	kvfree(ctx->free_reqs);
	kfree(ctx);
}

static void io_ring_exit_work(struct work_struct *work)
{
	struct io_ring_ctx *ctx = container_of(work, struct io_ring_ctx, exit_work);
	struct io_cancel_scope all = { .ctx = ctx };

	io_sqpoll_finish(ctx);
	if (ctx->cq.exclusive) {
		/* the lock: its owner may be about to take from it */
		guard(io_ring)(ctx);
		io_ring_close(ctx);
	}
	do {
		while (io_cancel_requests(&all))
			cond_resched();
		scoped_guard(io_ring, ctx) {
			io_req_reclaim_retired(ctx);
			io_req_cache_free(ctx);
		}
		/* a stopped task may keep this going: short naps, so that nothing looks hung */
	} while (!wait_for_completion_timeout(&ctx->ref_comp, IO_EXIT_INTERVAL));

	io_tctx_forget_ring(ctx);
	/* who has pushed to the ring is done looking at it, and at its fallback work */
	synchronize_rcu();
	cancel_delayed_work_sync(&ctx->fallback_work);
	/* messages that nobody came for */
	io_fallback_work(&ctx->fallback_work.work);
	cancel_delayed_work_sync(&ctx->notify_work);
	io_ring_free(ctx);
}

/**
 * io_ring_kill - the ring's file is released
 * @ctx: the ring
 *
 * Does not wait for anything.
 */
void io_ring_kill(struct io_ring_ctx *ctx)
{
	scoped_guard(io_ring, ctx) {
		WRITE_ONCE(ctx->dying, true);
		percpu_ref_kill(&ctx->refs);
	}
	INIT_WORK(&ctx->exit_work, io_ring_exit_work);
	queue_work(io_exit_wq, &ctx->exit_work);
}

static int __init io_exit_init(void)
{
	io_exit_wq = alloc_workqueue("iou_exit", WQ_UNBOUND, 64);
	io_req_cachep = KMEM_CACHE(io_kiocb, SLAB_HWCACHE_ALIGN | SLAB_PANIC | SLAB_ACCOUNT);
	return 0;
}
core_initcall(io_exit_init);
