// SPDX-License-Identifier: GPL-2.0
/* io_uring: requests with a timer of their own */

/*
 * A timer that expires does nothing but hand its request to the context that
 * may end it.  Everything else happens there, and in the ops, under the ring
 * lock.  So there is one question only that is not decided by a lock: has the
 * timer expired before somebody stopped it?  hrtimer_try_to_cancel() answers it,
 * once: whoever gets a 1 owns the request, else its mail is under way.
 *
 * A callback may still be on its way out while its request ends, and while the
 * memory is used for the next timer: hrtimers allow that for callbacks that do
 * not restart their timer.
 */
#include <linux/bitops.h>

#include "async/timer.h"

#define IO_TIMER_FLAGS	(IORING_TIMEOUT_ABS | IORING_TIMEOUT_CLOCK_MASK | \
			 IORING_TIMEOUT_ETIME_SUCCESS | IORING_TIMEOUT_MULTISHOT)

static clockid_t io_timer_clock(unsigned int flags)
{
	switch (flags & IORING_TIMEOUT_CLOCK_MASK) {
	case IORING_TIMEOUT_BOOTTIME:
		return CLOCK_BOOTTIME;
	case IORING_TIMEOUT_REALTIME:
		return CLOCK_REALTIME;
	default:
		return CLOCK_MONOTONIC;
	}
}

/**
 * io_timer_read - read a time from user memory
 * @ts: where it is
 * @time: result
 *
 * Return: 0, -EFAULT, or -EINVAL for one below zero.
 */
int io_timer_read(const struct __kernel_timespec __user *ts, ktime_t *time)
{
	struct timespec64 t;

	if (get_timespec64(&t, ts))
		return -EFAULT;
	if (t.tv_sec < 0 || t.tv_nsec < 0)
		return -EINVAL;
	*time = io_time_of(t);
	return 0;
}

/**
 * io_timer_prep - read what TIMEOUT and LINK_TIMEOUT have in common
 * @req: the request
 * @sqe: its SQE
 *
 * Return: 0 or a negative errno for ->prep.
 */
int io_timer_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_timer *timer = io_timer(req);
	unsigned int flags = READ_ONCE(sqe->timeout_flags);

	BUILD_BUG_ON(IORING_TIMEOUT_MULTISHOT > U16_MAX);
	if (req->buf_index || READ_ONCE(sqe->len) != 1 || READ_ONCE(sqe->splice_fd_in) ||
	    READ_ONCE(sqe->addr3) || READ_ONCE(sqe->__pad2[0]))
		return -EINVAL;
	if (flags & ~IO_TIMER_FLAGS || hweight32(flags & IORING_TIMEOUT_CLOCK_MASK) > 1)
		return -EINVAL;
	/* an absolute time comes once */
	if (!(~flags & (IORING_TIMEOUT_MULTISHOT | IORING_TIMEOUT_ABS)))
		return -EINVAL;
	req->buf_index = flags;
	timer->nr = READ_ONCE(sqe->off);
	return io_timer_read(u64_to_user_ptr(READ_ONCE(sqe->addr)), &timer->time);
}

/*
 * Relative timers of CLOCK_REALTIME are timers of CLOCK_MONOTONIC, so the mode
 * is known from the beginning.  Absolute times are those of the time namespace
 * that they were said in.
 */
static void io_timer_go(struct io_kiocb *req, ktime_t time, enum hrtimer_mode mode,
			enum hrtimer_restart (*expired)(struct hrtimer *hrtimer))
{
	struct hrtimer *hrtimer = &io_timer(req)->hrtimer;
	clockid_t clock = io_timer_clock(io_timer_flags(req));

	io_assert_ring(req->ctx);
	if (mode == HRTIMER_MODE_ABS)
		time = io_time_to_host(clock, time);
	hrtimer_init(hrtimer, clock, mode);
	hrtimer->function = expired;
	hrtimer_start(hrtimer, time, mode);
}

/**
 * io_timer_start - start the timer of a request that was prepared
 * @req: the request, parked; ring lock held
 * @expired: called when it expires, in interrupt context; returns
 *	HRTIMER_NORESTART
 */
void io_timer_start(struct io_kiocb *req,
		    enum hrtimer_restart (*expired)(struct hrtimer *hrtimer))
{
	bool absolute = io_timer_flags(req) & IORING_TIMEOUT_ABS;

	io_timer_go(req, io_timer(req)->time, absolute ? HRTIMER_MODE_ABS : HRTIMER_MODE_REL,
		    expired);
}

/**
 * io_timer_restart - start a timer again that was stopped or has expired
 * @req: the request; ring lock held
 * @time: when it expires, on the same clock as before
 * @mode: HRTIMER_MODE_REL or HRTIMER_MODE_ABS
 */
void io_timer_restart(struct io_kiocb *req, ktime_t time, enum hrtimer_mode mode)
{
	io_timer_go(req, time, mode, io_timer(req)->hrtimer.function);
}

/**
 * io_timer_stop - take a request from its timer
 * @req: the request, parked; ring lock held, or what else keeps its end from running
 *
 * Return: 1 if the request is the caller's now; 0 if the timer has expired, or
 * somebody else has stopped it; -1 if it is about to expire.
 */
int io_timer_stop(struct io_kiocb *req)
{
	struct hrtimer *hrtimer = &io_timer(req)->hrtimer;
	int ret;

	for (;;) {
		ret = hrtimer_try_to_cancel(hrtimer);
		/* a timer that is queued has not expired: an earlier callback is on its way out */
		if (ret >= 0 || !hrtimer_is_queued(hrtimer))
			return ret;
		hrtimer_cancel_wait_running(hrtimer);
	}
}

/* Is it one that can still be stopped? */
static bool io_timer_runs(struct io_kiocb *req, void *data)
{
	if (req->flags & REQ_F_MULTISHOT || hrtimer_active(&io_timer(req)->hrtimer))
		return true;
	io_parked_hide(req);
	return false;
}

/**
 * io_timer_find - find a timer that runs
 * @ctx: the ring, its lock held
 * @kind: of the request
 * @user_data: likewise
 *
 * Timers that repeat are found between two expiries, too.  Those whose mail is
 * under way are hidden when they are met, so that nobody meets them again.
 *
 * Return: the oldest such request, or ERR_PTR(): -ENOENT, -EINTR for a task that
 * is to die.
 */
struct io_kiocb *io_timer_find(struct io_ring_ctx *ctx, enum io_parked_kind kind, u64 user_data)
{
	return io_parked_find(ctx, kind, user_data, io_timer_runs, NULL) ?: ERR_PTR(-ENOENT);
}
