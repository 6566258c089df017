/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: requests with a timer of their own */
#ifndef IO_ASYNC_TIMER_H
#define IO_ASYNC_TIMER_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_ASYNC
#error "async/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/hrtimer.h>
#include <linux/overflow.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>
#include <linux/timerqueue.h>

#include "op.h"
#include "req/wait_table.h"

/**
 * struct io_timer - the timer of a TIMEOUT or a LINK_TIMEOUT
 * @hrtimer: used from io_timer_start() on, unless the timer is in a queue of the ring
 * @node: used from io_timer_start() on, if the timer is in a queue of the ring
 * @expired: callback of a timer in a queue
 * @time: until io_timer_start(), expiry; relative unless IORING_TIMEOUT_ABS is set
 * @nr: until io_timer_start(), the number of CQEs that end a TIMEOUT, or of its repetitions
 *
 * A timer needs no extra allocation.  The flags of the SQE are in req->buf_index, see
 * io_timer_flags().
 *
 * The end of @hrtimer, with its function and its soft expiry, overlays req->tw.  A push of the
 * request overwrites this part, after the timer has expired or was stopped.  From the push until
 * io_timer_restart(), only hrtimer_active() and hrtimer_try_to_cancel() may be called.
 */
struct io_timer {
	union {
		struct hrtimer	hrtimer;
		struct {
			struct timerqueue_node	node;
			enum hrtimer_restart	(*expired)(struct hrtimer *hrtimer);
		};
		struct {
			ktime_t	time;
			u32	nr;
		};
	};
};

static inline struct io_timer *io_timer(struct io_kiocb *req)
{
	static_assert(sizeof(struct io_timer) <= sizeof(req->timer));
	static_assert(offsetofend(struct io_timer, expired) <= IO_OP_DATA_SIZE);
	/* hrtimer_active() and hrtimer_try_to_cancel() use the fields up to ->base, and flags */
	static_assert(offsetofend(struct hrtimer, base) + sizeof(u64) <= IO_OP_DATA_SIZE);
	return (struct io_timer *)req->timer;
}

/* Return: sqe->timeout_flags, with bits that async/timer.c adds: both ops need no buf_index. */
static inline unsigned int io_timer_flags(const struct io_kiocb *req)
{
	return req->buf_index;
}

static inline struct io_kiocb *io_hrtimer_to_req(struct hrtimer *hrtimer)
{
	return container_of((void *)hrtimer, struct io_kiocb, timer);
}

/*
 * Convert a time from user space, of zero or more seconds and any number of nanoseconds.
 * Return: the time, KTIME_MAX if it is beyond the clock's end.
 */
static inline ktime_t io_time_of(struct timespec64 t)
{
	ktime_t time;

	if (check_add_overflow(ktime_set(t.tv_sec, 0), (s64)t.tv_nsec, &time))
		return KTIME_MAX;
	return time;
}

/* Convert an absolute time of current's time namespace to host time; KTIME_MAX on overflow. */
static inline ktime_t io_time_to_host(clockid_t clock, ktime_t time)
{
	ktime_t host = timens_ktime_to_host(clock, time);

	return host < 0 && time > 0 ? KTIME_MAX : host;
}

int io_timer_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_timer_read(const struct __kernel_timespec __user *ts, ktime_t *time);
int io_timer_immediate(u64 ns, ktime_t *time);
void io_timer_start(struct io_kiocb *req,
		    enum hrtimer_restart (*expired)(struct hrtimer *hrtimer));
void io_timer_restart(struct io_kiocb *req, ktime_t time, enum hrtimer_mode mode,
		      enum hrtimer_restart (*expired)(struct hrtimer *hrtimer));
int io_timer_stop(struct io_kiocb *req);
void io_timers_run(struct io_ring_ctx *ctx);
void io_timers_free(struct io_ring_ctx *ctx);
struct io_kiocb *io_timer_find(struct io_ring_ctx *ctx, enum io_wait_kind kind, u64 user_data);

/* Expire due timers that an interrupt has left.  Task work of timers calls this; ring lock held. */
static inline void io_timers_catch_up(struct io_ring_ctx *ctx)
{
	if (unlikely(ctx->timers))
		io_timers_run(ctx);
}

#endif
