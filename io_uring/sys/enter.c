// SPDX-License-Identifier: GPL-2.0
/* io_uring: io_uring_enter(2) */

/*
 * io_uring_enter() submits SQEs, then waits for CQEs.
 *
 * Rules: if the call has submitted SQEs, it returns their number, and does not report the result
 * of the wait.  If it has submitted fewer SQEs than requested, it does not wait.
 *
 * On single-writer rings the owner runs the mailbox while it still holds the ring lock for the
 * submission.  On IOPOLL rings without SQPOLL, the wait polls the devices.  With HYBRID_IOPOLL it
 * sleeps before it polls, to save CPU time.  An SQPOLL thread does not, as it serves other rings.
 */
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/io_uring.h>
#include <linux/sched/signal.h>
#include <linux/syscalls.h>

#include "async/iopoll.h"
#include "ring/cq.h"
#include "ring/sq.h"
#include "submit/submit.h"
#include "sys/file.h"
#include "sys/flags.h"
#include "sys/loop.h"
#include "sys/wait.h"
#include "task/run.h"
#include "task/sqpoll.h"
#include "task/tctx.h"

/* the longest sleep of a wait before it polls, in nanoseconds: a device may become faster */
#define IO_HYBRID_MAX	(10 * NSEC_PER_MSEC)

/* Return: true if the poll loop, which checks this in each round, has to run other work. */
static bool io_poll_loop_interrupted(struct io_ring_ctx *ctx)
{
	return !io_iopoll_pending(ctx) || ctx->ready.first || io_local_pending(ctx) ||
	       task_work_pending(current);
}

/*
 * Run work other than polling; task work runs without the ring lock.
 * Return: 1 if the poll loop is over, because of new CQEs or because no polled request is
 * left; 0 if the loop continues; or %IO_RING_LOST.
 */
static int io_poll_loop_yield(struct io_ring_ctx *ctx)
{
	u32 tail = READ_ONCE(ctx->rings->cq_tail);

	if (ctx->cq.single_writer)
		io_run_local_locked(ctx, 0);
	if (task_work_pending(current) || ctx->ready.first || !io_iopoll_pending(ctx)) {
		io_ring_unlock(ctx);
		io_run_task_work();
		if (io_ring_lock(ctx))
			return IO_RING_LOST;
	}
	io_cq_commit(ctx);
	return READ_ONCE(ctx->rings->cq_tail) != tail || !io_iopoll_pending(ctx);
}

/*
 * Sleep for half of the time that a wait usually takes, without the ring lock, then look for
 * completions.  A call that does not wait, or has nothing to poll, does not sleep.  Task work and
 * signals end the sleep.  If requests have ended in the sleep, it was too long, by an unknown time,
 * so the mean falls by an eighth.
 *
 * Return: number of requests that have ended, or %IO_RING_LOST.
 */
static noinline int io_hybrid_sleep(struct io_ring_ctx *ctx, u32 nr)
{
	ktime_t time = min_t(u64, ctx->polled.mean_ns / 2, IO_HYBRID_MAX);
	int reaped;

	ctx->polled.begin_ns = 0;
	if (!nr || !io_iopoll_pending(ctx))
		return 0;
	ctx->polled.begin_ns = ktime_get_ns();
	if (!time)
		return 0;
	io_ring_unlock(ctx);
	set_current_state(TASK_INTERRUPTIBLE);
	schedule_hrtimeout(&time, HRTIMER_MODE_REL);
	if (io_ring_lock(ctx))
		return IO_RING_LOST;
	reaped = io_iopoll_reap(ctx);
	if (reaped) {
		ctx->polled.mean_ns -= ctx->polled.mean_ns / 8;
		ctx->polled.begin_ns = 0;
	}
	return reaped;
}

/* Add the time of the wait that ends to the mean.  A new time counts for half. */
static noinline void io_hybrid_note(struct io_ring_ctx *ctx)
{
	u64 ns = ktime_get_ns() - ctx->polled.begin_ns, mean = ctx->polled.mean_ns;

	ctx->polled.mean_ns = mean ? mean / 2 + ns / 2 : ns;
}

/* Poll for the end of up to @nr requests.  Return: 0, -EINTR or %IO_RING_LOST. */
static int io_poll_loop(struct io_ring_ctx *ctx, u32 nr)
{
	u32 reaped = 0;
	int over;

	io_assert_ring(ctx);
	do {
		over = io_poll_loop_interrupted(ctx) ? io_poll_loop_yield(ctx) : 0;
		if (over)
			return over < 0 ? over : 0;
		reaped += io_iopoll_reap(ctx);
		if (task_sigpending(current))
			return -EINTR;
		if (need_resched())
			break;
	} while (reaped < nr);
	return 0;
}

/* Wait on an IOPOLL ring; ring lock held, also on return unless that is %IO_RING_LOST. */
static int io_enter_poll_locked(struct io_ring_ctx *ctx, u32 nr)
{
	int ret;

	if (!io_may_wait(ctx))
		return -EEXIST;
	/* run the mailbox first: it would never run if ready CQEs ended each call before that */
	if (ctx->cq.single_writer && io_local_pending(ctx))
		io_run_local_locked(ctx, 0);
	io_cq_commit(ctx);
	if (unlikely(ctx->check_cq)) {
		io_cq_flush_overflow(ctx);
		if (test_bit(IO_CHECK_CQ_DROPPED, &ctx->check_cq))
			return -EBADR;
	}
	if (io_cq_ready(ctx))
		return 0;
	nr = min(nr, ctx->cq_entries);
	if (unlikely(ctx->flags & IORING_SETUP_HYBRID_IOPOLL)) {
		ret = io_hybrid_sleep(ctx, nr);
		if (ret < 0)
			return ret;
		if (ret && ret >= nr)
			return 0;
		nr -= ret;
	}
	ret = io_poll_loop(ctx, nr);
	if (unlikely(ctx->polled.begin_ns) && !ret)
		io_hybrid_note(ctx);
	return ret;
}

/* Wait on an IOPOLL ring, then drop the ring lock. */
static int io_enter_poll(struct io_ring_ctx *ctx, u32 nr)
{
	int ret = io_enter_poll_locked(ctx, nr);

	if (ret == IO_RING_LOST)
		return -EINTR;
	io_ring_unlock(ctx);
	return ret;
}

/*
 * Wake the SQPOLL thread, or wait for room in the SQ, as @flags say.  Return: @to_submit, since the
 * thread submits the SQEs; -EOWNERDEAD if the thread has ended.
 */
static long io_enter_sqpoll(struct io_ring_ctx *ctx, u32 to_submit, u32 flags)
{
	if (unlikely(io_sqpoll_dead(ctx->sqpoll.data)))
		return -EOWNERDEAD;
	if (flags & IORING_ENTER_SQ_WAKEUP)
		wake_up(&ctx->sqpoll.data->wait);
	if (flags & IORING_ENTER_SQ_WAIT)
		io_sqpoll_wait_room(ctx);
	return to_submit;
}

/* Return: true if enough CQEs are ready, and no error or task work has to be handled. */
static bool io_enough_ready(struct io_ring_ctx *ctx, u32 min_complete)
{
	return io_cq_ready(ctx) >= min_complete && likely(!READ_ONCE(ctx->check_cq)) &&
	       !task_work_pending(current);
}

/* Run the mailbox and publish CQEs.  Return: true if the caller need not wait. */
static bool io_enter_collect(struct io_ring_ctx *ctx, u32 min_complete)
{
	if (ctx->cq.single_writer && io_local_pending(ctx)) {
		io_run_local_locked(ctx, min_complete);
		/* io_enter_wait() runs the rest */
		if (unlikely(io_mailbox_leftover(&ctx->mailbox)))
			return false;
	}
	io_cq_commit(ctx);
	return io_enough_ready(ctx, min_complete);
}

/*
 * Submit, then run the mailbox or poll the devices before the ring lock is dropped.  Set *@waited
 * if the caller need not wait.  Return: the number of SQEs taken, or a negative errno.
 */
static int io_enter_submit(struct io_ring_ctx *ctx, u32 to_submit, u32 min_complete, u32 flags,
			   bool *waited)
{
	int ret = io_tctx_attach_submitter(ctx);

	if (unlikely(ret))
		return ret;
	ret = io_ring_lock(ctx);
	if (unlikely(ret))
		return ret;
	ret = io_submit_sqes(ctx, to_submit);
	if (ret == to_submit && flags & IORING_ENTER_GETEVENTS) {
		if (ctx->syscall_iopoll) {
			io_enter_poll(ctx, min_complete);
			*waited = true;
			return ret;
		}
		*waited = io_enter_collect(ctx, min_complete);
	}
	io_ring_unlock(ctx);
	return ret;
}

static int io_enter_wait(struct io_ring_ctx *ctx, u32 min_complete, u32 flags,
			 const void __user *argp, size_t size)
{
	struct io_wait_arg arg __uninitialized;
	int ret;

	/* fast exit: without EXT_ARG there is no argument to check, and enough CQEs are ready */
	if (!(flags & IORING_ENTER_EXT_ARG) && !ctx->syscall_iopoll && io_may_wait(ctx) &&
	    !io_local_pending(ctx) && io_enough_ready(ctx, min_complete))
		return 0;
	ret = io_wait_arg_read(ctx, &arg, flags, argp, size);
	if (ret)
		return ret;
	if (ctx->syscall_iopoll) {
		ret = io_ring_lock(ctx);
		return ret ?: io_enter_poll(ctx, min_complete);
	}
	return io_wait_cqes(ctx, min_complete, &arg);
}

static long io_enter(struct io_ring_ctx *ctx, u32 to_submit, u32 min_complete, u32 flags,
		     const void __user *argp, size_t size)
{
	bool waited = false;
	long taken = 0;
	int ret = 0;

	if (unlikely(READ_ONCE(ctx->stops.any))) {
		if (READ_ONCE(ctx->stops.disabled))
			return -EBADFD;
		io_ring_yield(ctx);
		if (READ_ONCE(ctx->stops.loop))
			return io_loop_run(ctx);
	}
	if (ctx->flags & IORING_SETUP_SQPOLL) {
		taken = io_enter_sqpoll(ctx, to_submit, flags);
		if (taken < 0)
			return taken;
	} else if (to_submit) {
		taken = io_enter_submit(ctx, to_submit, min_complete, flags, &waited);
		if (taken != to_submit)
			return taken;
	}
	if (flags & IORING_ENTER_GETEVENTS && !waited)
		ret = io_enter_wait(ctx, min_complete, flags, argp, size);
	if (taken)
		return taken;
	/* report a lost CQE once; a call that submits returns a number, and cannot report it */
	if (unlikely(ret == -EBADR))
		clear_bit(IO_CHECK_CQ_DROPPED, &ctx->check_cq);
	return ret;
}

/* noinline: each ABI has a stub of the system call, which would get a copy of this function. */
static noinline long io_enter_fd(unsigned int fd, u32 to_submit, u32 min_complete, u32 flags,
				 const void __user *argp, size_t argsz)
{
	struct fd f = EMPTY_FD;
	struct file *file;
	long ret;

	if (unlikely(flags & ~IO_ENTER_FLAGS))
		return -EINVAL;
	if (flags & IORING_ENTER_REGISTERED_RING) {
		file = io_ringfd_get(fd);
		if (IS_ERR(file))
			return PTR_ERR(file);
	} else {
		f = fdget(fd);
		file = fd_file(f);
		if (unlikely(!file))
			return -EBADF;
	}
	ret = -EOPNOTSUPP;
	if (likely(file->f_op == &io_ring_fops))
		ret = io_enter(file->private_data, to_submit, min_complete, flags, argp, argsz);
	fdput(f);
	return ret;
}

SYSCALL_DEFINE6(io_uring_enter, unsigned int, fd, u32, to_submit, u32, min_complete, u32, flags,
		const void __user *, argp, size_t, argsz)
{
	return io_enter_fd(fd, to_submit, min_complete, flags, argp, argsz);
}
