// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_UNREGISTER_BUFFERS - wait until no request uses the buffers */

/*
 * A program that unregisters its buffers will use the memory for something else, so no request may
 * access the memory after the call.  The call waits for the requests that use a buffer, but does
 * not cancel them.  If a request does not end, a signal can end the call; in that case all
 * buffers stay registered.
 *
 * The caller may be the task that has to complete these requests.  So it acts like a waiter in
 * io_uring_enter(): it runs task work and the mailbox, reaps polled requests, and drops the ring
 * lock in between.
 */
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "async/iopoll.h"
#include "req/free.h"
#include "ring/locks.h"
#include "ring/mailbox.h"
#include "rsrc/bufs.h"
#include "sys/unregister.h"
#include "task/run.h"

/*
 * Sleep once, unless polled requests are pending.  On an IOPOLL ring, sleep for a jiffy at most: a
 * worker that passes a request to a device does not wake the sleeper.
 */
static void io_leave_sleep(struct io_ring_ctx *ctx)
{
	DEFINE_WAIT(wait);

	if (ctx->syscall_iopoll && io_iopoll_pending(ctx)) {
		cond_resched();
		return;
	}
	prepare_to_wait(&ctx->work_wait, &wait, TASK_INTERRUPTIBLE);
	if (READ_ONCE(ctx->bufs.awaited) && !signal_pending(current) &&
	    (!ctx->cq.single_writer || io_mailbox_dead(&ctx->mailbox) ||
	     io_mailbox_arm(&ctx->mailbox, 1)))
		schedule_timeout(ctx->syscall_iopoll ? 1 : MAX_SCHEDULE_TIMEOUT);
	finish_wait(&ctx->work_wait, &wait);
	if (ctx->cq.single_writer)
		io_mailbox_disarm(&ctx->mailbox);
}

/*
 * Run pending work, then drop the ring lock and sleep once.  Return: 0, -EINTR or
 * %IO_RING_LOST.
 */
static int io_leave_step(struct io_ring_ctx *ctx)
{
	int ret = 0;

	if (ctx->cq.single_writer)
		io_run_local_locked(ctx, 0);
	if (ctx->syscall_iopoll)
		io_iopoll_reap(ctx);
	io_req_reclaim_retired(ctx);
	if (!ctx->bufs.awaited)
		return 0;
	io_ring_unlock(ctx);
	io_run_task_work();
	if (task_sigpending(current))
		ret = -EINTR;
	else
		io_leave_sleep(ctx);
	return io_ring_lock(ctx) ? IO_RING_LOST : ret;
}

/**
 * io_unregister_buffers - handle IORING_UNREGISTER_BUFFERS
 * @ctx: the ring, its lock held; dropped and taken again if requests use its buffers
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: 0; -ENXIO if there is no table; -EINTR for a signal, or %IO_RING_LOST.  With an
 * error the buffers are still registered.
 */
int io_unregister_buffers(struct io_ring_ctx *ctx)
{
	int ret = io_bufs_begin_leave(ctx);

	if (ret)
		return ret;
	while (ctx->bufs.awaited && !ret)
		ret = io_leave_step(ctx);
	if (ret == IO_RING_LOST) {
		/* other tasks may use the ring: let the fallback worker restore its buffers */
		io_bufs_abandon(ctx);
		io_fallback_kick(ctx);
		return ret;
	}
	io_bufs_end_leave(ctx);
	if (!ret)
		io_rsrc_table_unregister(ctx, &ctx->buf_table);
	return ret;
}
