// SPDX-License-Identifier: GPL-2.0
/* io_uring: sleeping for CQEs */

/*
 * A task waits until its ring has a number of CQEs, and must not miss a CQE that is posted while
 * the task goes to sleep.
 *
 * Single-writer rings have one possible sleeper, the owner.  It runs the mailbox until that is
 * empty, then arms the mailbox with the number of missing CQEs.  The context that pushes the
 * last of as many items wakes the owner (ring/mailbox.h).
 *
 * Multi-writer rings may have many sleepers, each with a target: the tail at which its wait
 * ends.  The wake function of a sleeper does nothing before the target is reached.  cq.lock
 * orders sleeper and poster (C in ring/cq.c):
 *
 *	sleeper, with cq.lock			poster, with cq.lock
 *	queue on ctx->cq_wait			publish the tail
 *	target reached?  do not sleep		sleepers?  wake them after the unlock
 *
 * Task work interrupts the sleep like a signal, so both kinds of sleepers run task work whenever
 * they wake.  They also check for task work before they sleep: items that the owner has run may
 * have queued task work that does not interrupt a sleep.
 */
#include <linux/compat.h>
#include <linux/hrtimer.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/uaccess.h>
#include <trace/events/io_uring.h>

#include "async/napi.h"
#include "async/timer.h"
#include "req/wait_table.h"
#include "ring/cq.h"
#include "ring/locks.h"
#include "ring/mailbox.h"
#include "ring/notify.h"
#include "rsrc/memory.h"
#include "sys/wait.h"
#include "task/run.h"
#include "task/tctx.h"

/**
 * struct io_waiter - a task that waits for CQEs
 * @entry: on ctx->cq_wait, multi-writer rings
 * @ctx: the ring
 * @begin: tail when the wait began
 * @target: tail at which the wait ends
 * @timeouts: number of ended IORING_OP_TIMEOUTs when the wait began; if it changes, the wait ends
 * @deadline: end of the wait, KTIME_MAX for never
 * @min_deadline: time after which a single CQE ends the wait, 0 if the wait has no such time
 * @flags: IORING_ENTER_*
 */
struct io_waiter {
	struct wait_queue_entry	entry;
	struct io_ring_ctx	*ctx;
	u32			begin;
	u32			target;
	u32			timeouts;
	ktime_t			deadline;
	ktime_t			min_deadline;
	unsigned int		flags;
};

static int io_read_ext_arg(const struct io_ring_ctx *ctx, struct io_wait_arg *arg,
			   const void __user *argp, size_t size)
{
	struct io_uring_getevents_arg ext __uninitialized;

	if (size != sizeof(ext))
		return -EINVAL;
	if (copy_from_user(&ext, argp, sizeof(ext)))
		return -EFAULT;
	arg->sig = u64_to_user_ptr(ext.sigmask);
	arg->sig_size = ext.sigmask_sz;
	arg->timed = ext.ts;
	/* a wait that polls devices has no limit */
	if (arg->timed && !ctx->syscall_iopoll &&
	    get_timespec64(&arg->time, u64_to_user_ptr(ext.ts)))
		return -EFAULT;
	arg->min_wait = (u64)ext.min_wait_usec * NSEC_PER_USEC;
	return 0;
}

/* Read the arguments at @offset of the ring's region.  The program may write to it meanwhile. */
static noinline int io_read_reg_arg(struct io_ring_ctx *ctx, struct io_wait_arg *arg,
				    unsigned long offset, size_t size)
{
	const struct io_uring_reg_wait *reg;
	u32 flags;

	/* a wait that polls devices ends when requests do, so it has no use for the arguments */
	if (size != sizeof(*reg) || ctx->syscall_iopoll)
		return -EINVAL;
	reg = io_memory_wait_arg(ctx, offset, size);
	if (!reg)
		return -EFAULT;
	flags = READ_ONCE(reg->flags);
	if (flags & ~IORING_REG_WAIT_TS)
		return -EINVAL;
	arg->sig = u64_to_user_ptr(READ_ONCE(reg->sigmask));
	arg->sig_size = READ_ONCE(reg->sigmask_sz);
	arg->min_wait = (u64)READ_ONCE(reg->min_wait_usec) * NSEC_PER_USEC;
	arg->timed = flags & IORING_REG_WAIT_TS;
	arg->time.tv_sec = READ_ONCE(reg->ts.tv_sec);
	arg->time.tv_nsec = READ_ONCE(reg->ts.tv_nsec);
	return 0;
}

/**
 * io_wait_arg_read - read the last two arguments of io_uring_enter()
 * @ctx: the ring; its lock need not be held
 * @arg: result
 * @enter_flags: IORING_ENTER_*
 * @argp: a signal mask; with EXT_ARG a struct io_uring_getevents_arg, or with EXT_ARG_REG, too,
 *	the offset of a struct io_uring_reg_wait in the ring's region
 * @size: size of the object
 *
 * Return: 0, -EINVAL for a wrong size or flag, -EFAULT
 */
int io_wait_arg_read(struct io_ring_ctx *ctx, struct io_wait_arg *arg, unsigned int enter_flags,
		     const void __user *argp, size_t size)
{
	arg->flags = enter_flags;
	if (enter_flags & IORING_ENTER_EXT_ARG) {
		if (unlikely(enter_flags & IORING_ENTER_EXT_ARG_REG))
			return io_read_reg_arg(ctx, arg, (unsigned long)argp, size);
		return io_read_ext_arg(ctx, arg, argp, size);
	}
	arg->sig = argp;
	arg->sig_size = size;
	arg->timed = false;
	arg->min_wait = 0;
	return 0;
}

/*
 * The wait is over because the next CQE does not fit.  If it takes two slots, one may be free, so
 * the program cannot get all CQEs that it waits for before it has consumed some.
 */
#define IO_WAIT_FULL	1

static ktime_t io_wait_now(const struct io_ring_ctx *ctx)
{
	return ctx->clockid == CLOCK_BOOTTIME ? ktime_get_boottime() : ktime_get();
}

/* A program may compute "deadline minus now" too late: a time below 0 ends the wait at once. */
static ktime_t io_wait_until(struct timespec64 after, ktime_t now)
{
	ktime_t time = io_time_of(after);

	if (after.tv_sec < 0 || time <= 0)
		return now;
	return ktime_add_safe(time, now);
}

static void io_waiter_set_deadlines(struct io_waiter *w, const struct io_wait_arg *arg)
{
	struct io_ring_ctx *ctx = w->ctx;

	w->deadline = KTIME_MAX;
	w->min_deadline = 0;
	if (arg->min_wait)
		w->min_deadline = ktime_add_ns(io_wait_now(ctx), arg->min_wait);
	if (!arg->timed)
		return;
	/* an absolute time below 0 becomes 0: hrtimers treat a negative time as "never" */
	if (arg->flags & IORING_ENTER_ABS_TIMER)
		w->deadline = io_time_to_host(ctx->clockid, io_wait_until(arg->time, 0));
	else
		w->deadline = io_wait_until(arg->time, io_wait_now(ctx));
}

static bool io_waiter_ready(const struct io_waiter *w)
{
	/* read this before the tail: a waiter that a timeout ends must find the timeout's CQE */
	bool timeout = io_cq_timeouts(w->ctx) != w->timeouts;

	return (s32)(READ_ONCE(w->ctx->rings->cq_tail) - w->target) >= 0 || timeout;
}

/* Return: the number of ready CQEs, including old CQEs, at which the wait ends. */
static u32 io_waiter_wanted(const struct io_waiter *w)
{
	return w->target - READ_ONCE(w->ctx->rings->cq_head);
}

/* Return: true if a CQE of two slots has overflowed or was lost, as there was one free slot. */
static bool io_waiter_full(const struct io_ring_ctx *ctx)
{
	return ctx->cq.mixed && READ_ONCE(ctx->check_cq);
}

/* The wake function of a sleeper.  The poster calls it without cq.lock. */
static int io_waiter_wake(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct io_waiter *w = container_of(entry, struct io_waiter, entry);

	if (!io_waiter_ready(w) && !io_waiter_full(w->ctx) &&
	    !io_notify_early(w->ctx, entry->private))
		return 0;
	return autoremove_wake_function(entry, mode, flags, key);
}

/* Arm the mailbox.  Return: true if the owner has to sleep. */
static bool io_waiter_arm(struct io_waiter *w)
{
	struct io_ring_ctx *ctx = w->ctx;

	/*
	 * Set the state before the count.  A pusher of an earlier wait may still decrement
	 * the new count to zero, and its wake-up must not be overwritten.  Model: NO_STATE
	 * of models/mailbox_weak.pml.
	 */
	set_current_state(TASK_INTERRUPTIBLE);
	if (unlikely(!io_mailbox_arm(&ctx->mailbox, w->target - READ_ONCE(ctx->rings->cq_tail)))) {
		__set_current_state(TASK_RUNNING);
		return false;
	}
	/* io_cq_lost() sets the bit, then checks for an armed mailbox; model: NO_RECOUNT */
	return likely(!test_bit(IO_CHECK_CQ_DROPPED, &ctx->check_cq));
}

/* Prepare current to sleep and to be woken for CQEs.  Return: true if it has to sleep. */
static bool io_waiter_register(struct io_waiter *w)
{
	struct io_ring_ctx *ctx = w->ctx;

	if (ctx->cq.single_writer)
		return io_waiter_arm(w);
	guard(spinlock)(&ctx->cq.lock);
	prepare_to_wait(&ctx->cq_wait, &w->entry, TASK_INTERRUPTIBLE);
	/*
	 * Do not sleep before io_wait_catch_up().  A CQE of one slot that goes to the overflow list
	 * wakes no waiter, and a lost CQE may have done so before.
	 */
	return !io_waiter_ready(w) && !READ_ONCE(ctx->check_cq);
}

static void io_waiter_unregister(struct io_waiter *w)
{
	__set_current_state(TASK_RUNNING);
	if (w->ctx->cq.single_writer)
		io_mailbox_disarm(&w->ctx->mailbox);
	else
		finish_wait(&w->ctx->cq_wait, &w->entry);
}

/*
 * Return: true if the wait counts as a wait for I/O; false if all requests in flight wait for an
 * event or a time (an idle server), or are drained behind such requests.
 * Two counts are checked: the task's includes requests on other rings, and the ring's includes
 * finished requests that are not freed yet.  Both are read without the ring lock.
 */
static bool io_wait_is_io(const struct io_ring_ctx *ctx)
{
	struct io_uring_task *tctx = current->io_uring;
	/* a snapshot is good enough for statistics */
	unsigned int idle = data_race(io_wait_table_nr(ctx) + ctx->drain.nr);
	/* a snapshot, too */
	unsigned int alive = data_race(io_reqs_alive(ctx));

	return tctx && io_tctx_inflight(tctx) > idle && alive > idle;
}

/* Sleep once, after io_waiter_register().  Return: 0, or -ETIME at @until. */
static int io_waiter_schedule(struct io_waiter *w, ktime_t until)
{
	int ret = 0;

	if (io_wait_is_io(w->ctx) && !(w->flags & IORING_ENTER_NO_IOWAIT))
		current->in_iowait = 1;
	if (until == KTIME_MAX)
		schedule();
	else if (!schedule_hrtimeout_range_clock(&until, current->timer_slack_ns,
						 HRTIMER_MODE_ABS, w->ctx->clockid))
		ret = -ETIME;
	current->in_iowait = 0;
	return ret;
}

/*
 * Run pending work, then check the ring for errors.  The caller waits for @wanted CQEs.
 * Return: 0, -EBADR, -EINTR, or %IO_WAIT_FULL.
 */
static noinline int io_wait_do_catch_up(struct io_ring_ctx *ctx, u32 wanted)
{
	/* run task work before the mailbox, because task work may push items to it */
	io_run_task_work();
	if (ctx->cq.single_writer && io_local_pending(ctx))
		io_run_local(ctx, wanted);
	if (unlikely(READ_ONCE(ctx->check_cq))) {
		if (test_bit(IO_CHECK_CQ_OVERFLOW, &ctx->check_cq)) {
			if (io_ring_lock(ctx))
				return -EINTR;
			io_cq_flush_overflow(ctx);
			io_ring_unlock(ctx);
		}
		if (test_bit(IO_CHECK_CQ_DROPPED, &ctx->check_cq))
			return -EBADR;
		if (io_waiter_full(ctx))
			return IO_WAIT_FULL;
	}
	return 0;
}

/* Call io_wait_do_catch_up() if there is work for it, which is rare. */
static int io_wait_catch_up(struct io_ring_ctx *ctx, u32 wanted)
{
	if (likely(!io_local_pending(ctx) && !READ_ONCE(ctx->check_cq) &&
		   !task_work_pending(current) && !test_thread_flag(TIF_NOTIFY_SIGNAL)))
		return 0;
	return io_wait_do_catch_up(ctx, wanted);
}

/*
 * Handle a deadline that has passed.  After @min_deadline one CQE ends the wait, even if another
 * thread has consumed it, and @deadline still limits the wait.  Without @deadline, @min_deadline
 * ends the wait.  Return: 0 to continue the wait, or -ETIME.
 */
static int io_waiter_timeout(struct io_waiter *w)
{
	if (!w->min_deadline || w->deadline == KTIME_MAX ||
	    READ_ONCE(w->ctx->rings->cq_tail) != w->begin)
		return -ETIME;
	w->min_deadline = 0;
	w->target = READ_ONCE(w->ctx->rings->cq_head) + 1;
	return 0;
}

/**
 * struct io_busy_wait - a task that polls network devices before it sleeps
 * @w: the wait of the task
 * @until: end of the polling, on the ring's clock
 */
struct io_busy_wait {
	struct io_waiter	*w;
	ktime_t			until;
};

/* Return: true if the task has to stop polling, because its wait is over or it has work to run. */
static bool io_wait_busy_end(void *data, unsigned long start)
{
	const struct io_busy_wait *busy = data;
	struct io_ring_ctx *ctx = busy->w->ctx;

	return io_waiter_ready(busy->w) || io_local_pending(ctx) || READ_ONCE(ctx->check_cq) ||
	       task_work_pending(current) || signal_pending(current) ||
	       io_wait_now(ctx) >= busy->until;
}

/* Poll the ring's network devices for a while.  Return: 0, -EBADR or -EINTR. */
static noinline int io_wait_busy(struct io_waiter *w)
{
	struct io_ring_ctx *ctx = w->ctx;
	struct io_busy_wait busy = { .w = w };
	ktime_t end = w->min_deadline ?: w->deadline;

	busy.until = ktime_add_us(io_wait_now(ctx), READ_ONCE(ctx->napi.time_us));
	busy.until = min(busy.until, end);
	io_napi_poll(ctx, io_wait_busy_end, &busy);
	return io_wait_catch_up(ctx, io_waiter_wanted(w));
}

/* Return: -ETIME after @until, else 0.  The loop calls this if it had work and did not sleep. */
static int io_waiter_late(const struct io_waiter *w, ktime_t until)
{
	return until != KTIME_MAX && io_wait_now(w->ctx) >= until ? -ETIME : 0;
}

static int io_wait_loop(struct io_waiter *w)
{
	int ret, timeout;
	bool slept;

	if (unlikely(io_napi_polls(w->ctx))) {
		ret = io_wait_busy(w);
		if (ret || io_waiter_ready(w))
			return ret;
	}
	for (;;) {
		ktime_t until = w->min_deadline ?: w->deadline;

		slept = io_waiter_register(w) && !signal_pending(current) &&
			!task_work_pending(current);
		timeout = slept ? io_waiter_schedule(w, until) : 0;
		io_waiter_unregister(w);

		ret = io_wait_catch_up(w->ctx, io_waiter_wanted(w));
		if (ret || io_waiter_ready(w))
			return ret;
		if (task_sigpending(current))
			return -EINTR;
		if (!slept)
			timeout = io_waiter_late(w, until);
		if (timeout)
			timeout = io_waiter_timeout(w);
		/* the CQ may already reach the target that io_waiter_timeout() has lowered */
		if (timeout || io_waiter_ready(w))
			return timeout;
		cond_resched();
	}
}

static int io_wait_set_sigmask(const struct io_wait_arg *arg)
{
	if (!arg->sig)
		return 0;
	if (in_compat_syscall())
		return set_compat_user_sigmask((const compat_sigset_t __user *)arg->sig,
					       arg->sig_size);
	return set_user_sigmask(arg->sig, arg->sig_size);
}

/**
 * io_wait_cqes - wait for a number of CQEs
 * @ctx: the ring, its lock not held
 * @nr: number of CQEs; clamped to the number of the CQ's entries
 * @arg: signal mask and times
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0 if there were enough CQEs.  If there were not: 0 if any CQE is ready, else -EINTR or
 * -ETIME.  -EBADR if a CQE was lost.  Before the wait: -EEXIST if current is not the single writer,
 * -EINTR, -EFAULT or -EINVAL for bad arguments, or an error of io_tctx_attach_slow().
 */
int io_wait_cqes(struct io_ring_ctx *ctx, u32 nr, const struct io_wait_arg *arg)
{
	struct io_waiter w __uninitialized;
	int ret;

	if (!io_may_wait(ctx))
		return -EEXIST;
	/* an exec of the owner closed the mailbox: attach the ring, which reopens the mailbox */
	if (unlikely(ctx->cq.single_writer && io_mailbox_dead(&ctx->mailbox))) {
		ret = io_tctx_attach_slow(ctx);
		if (ret)
			return ret;
	}
	nr = min(nr, ctx->cq_entries);
	ret = io_wait_catch_up(ctx, nr);
	if (ret)
		return min(ret, 0);
	if (io_cq_ready(ctx) >= nr)
		return 0;
	w.ctx = ctx;
	w.begin = READ_ONCE(ctx->rings->cq_tail);
	w.target = READ_ONCE(ctx->rings->cq_head) + nr;
	w.timeouts = io_cq_timeouts(ctx);
	w.flags = arg->flags;
	WRITE_ONCE(ctx->wake_early, nr > 1);
	if (!ctx->cq.single_writer) {
		init_waitqueue_func_entry(&w.entry, io_waiter_wake);
		INIT_LIST_HEAD(&w.entry.entry);
		w.entry.private = current;
	}
	io_waiter_set_deadlines(&w, arg);
	ret = io_wait_set_sigmask(arg);
	if (ret)
		return ret;
	trace_io_uring_cqring_wait(ctx, nr);
	ret = io_wait_loop(&w);
	if (arg->sig)
		restore_saved_sigmask_unless(ret == -EINTR);
	return ret > 0 || (ret != -EBADR && io_cq_ready(ctx)) ? 0 : ret;
}

#ifdef CONFIG_IO_URING_BPF_OPS
/**
 * io_wait_tail - run pending work, then wait until the CQ's tail reaches a position
 * @ctx: a single-writer ring, its lock not held; current is the owner
 * @tail: the position; a full CQ ends the wait before it, as does a timeout
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0, -EINTR for a signal, or -EBADR if a CQE was lost
 */
int io_wait_tail(struct io_ring_ctx *ctx, u32 tail)
{
	struct io_waiter w = {
		.ctx = ctx, .timeouts = io_cq_timeouts(ctx), .deadline = KTIME_MAX,
	};
	s32 room;
	int ret;

	w.begin = READ_ONCE(ctx->rings->cq_tail);
	room = READ_ONCE(ctx->rings->cq_head) + ctx->cq_entries - w.begin;
	w.target = w.begin + min((s32)(tail - w.begin), room);
	ret = io_wait_catch_up(ctx, io_waiter_wanted(&w));
	if (ret < 0)
		return ret;
	/* the caller may call this in a loop, so check for signals also if the wait is over */
	if (task_sigpending(current))
		return -EINTR;
	if (!ret && !io_waiter_ready(&w))
		ret = io_wait_loop(&w);
	return min(ret, 0);
}
#endif
