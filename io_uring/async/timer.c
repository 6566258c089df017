// SPDX-License-Identifier: GPL-2.0
/* io_uring: requests with a timer of their own */

/*
 * The timer of a request may expire while another context, such as a cancel, ends the request.
 * Only one of the two contexts may own the request.
 *
 * Rules: the callback of an expired timer runs in interrupt context, and only pushes the
 * request to the context that may end it.  That context and the ops do everything else under
 * the ring lock.
 *
 * Ordering: hrtimer_try_to_cancel() decides whether the timer has expired before it was
 * stopped:
 *
 *	io_timer_stop(), ring lock held		interrupt
 *	hrtimer_try_to_cancel()			callback: push the request
 *	1: the caller owns the request		the callback is not called
 *	0 or -1: the caller does nothing	the task work owns the request
 *
 * A callback may still be running when its request ends, and when the memory is used for
 * the next timer.  The hrtimer code allows this if callbacks do not restart their timer.
 *
 * Hrtimers that expire together run one after the other in one interrupt, and a program may have
 * any number of them.  So once many requests wait in a ring, further timers go to queues of the
 * ring.  There is one queue for each clock, with an hrtimer.  The callback of this hrtimer expires
 * a limited number of timers.  Their task work (io_timers_catch_up()) or the next interrupt expires
 * other timers that are due.  For timers in a queue, the lock of the queue decides the race above.
 */
#include <linux/bitops.h>
#include <linux/slab.h>

#include "async/timer.h"

#define IO_TIMER_FLAGS	(IORING_TIMEOUT_ABS | IORING_TIMEOUT_CLOCK_MASK | \
			 IORING_TIMEOUT_ETIME_SUCCESS | IORING_TIMEOUT_MULTISHOT)

/* number of timers that one interrupt expires, and time until the next interrupt if more are due */
#define IO_TIMERS_BATCH	64
#define IO_TIMERS_PAUSE	NSEC_PER_MSEC
/* number of timers that each task work item expires */
#define IO_TIMERS_STEP	16
/* shift of bits above IORING_TIMEOUT_* in io_timer_flags(): 1 + the index of the timer's queue */
#define IO_TIMER_QUEUE	8

/**
 * struct io_timer_queue - timers of a ring on one clock, which share an hrtimer
 * @lock: also taken in interrupts; only the lock of @hrtimer's base nests inside
 * @timers: timers by expiry; under @lock
 * @hrtimer: expires with the first of @timers, or after a pause if @behind; started under @lock
 * @behind: (A) the last io_timer_queue_run() has reached its limit and left timers that were due
 */
struct io_timer_queue {
	/* see the kernel-doc above */
	spinlock_t		lock;
	struct timerqueue_head	timers;
	struct hrtimer		hrtimer;
	bool			behind;
};

enum {
	IO_QUEUE_MONOTONIC,
	IO_QUEUE_BOOTTIME,
	IO_QUEUE_REALTIME,
	IO_QUEUES,
};

static clockid_t io_timer_clock(unsigned int flags)
{
	/* io_timer_prep() refuses an SQE with both flags */
	if (flags & IORING_TIMEOUT_REALTIME)
		return CLOCK_REALTIME;
	return flags & IORING_TIMEOUT_BOOTTIME ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
}

/**
 * io_timer_read - read a time from user memory
 * @ts: user pointer
 * @time: result
 *
 * Return: 0, -EFAULT, or -EINVAL for a time below zero.
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
 * io_timer_immediate - set a time from an SQE with IORING_TIMEOUT_IMMEDIATE_ARG
 * @ns: nanoseconds
 * @time: result
 *
 * Return: 0, or -EINVAL for a time below zero.
 */
int io_timer_immediate(u64 ns, ktime_t *time)
{
	*time = ns;
	return *time < 0 ? -EINVAL : 0;
}

/**
 * io_timer_prep - read the SQE fields that TIMEOUT and LINK_TIMEOUT have in common
 * @req: the request
 * @sqe: its SQE
 *
 * Return: 0, -EINVAL or -EFAULT, for ->prep().
 */
int io_timer_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_timer *timer = io_timer(req);
	unsigned int flags = READ_ONCE(sqe->timeout_flags);

	BUILD_BUG_ON((IO_TIMER_FLAGS | IORING_TIMEOUT_IMMEDIATE_ARG) >> IO_TIMER_QUEUE);
	if (req->buf_index || READ_ONCE(sqe->len) != 1 || READ_ONCE(sqe->splice_fd_in) ||
	    READ_ONCE(sqe->addr3) || READ_ONCE(sqe->__pad2[0]))
		return -EINVAL;
	if (hweight32(flags & IORING_TIMEOUT_CLOCK_MASK) > 1)
		return -EINVAL;
	/* an absolute time cannot repeat */
	if (!(~flags & (IORING_TIMEOUT_MULTISHOT | IORING_TIMEOUT_ABS)))
		return -EINVAL;
	req->buf_index = flags;
	timer->nr = READ_ONCE(sqe->off);
	if (likely(!(flags & ~IO_TIMER_FLAGS)))
		return io_timer_read(u64_to_user_ptr(READ_ONCE(sqe->addr)), &timer->time);
	if (flags & ~(IO_TIMER_FLAGS | IORING_TIMEOUT_IMMEDIATE_ARG))
		return -EINVAL;
	return io_timer_immediate(READ_ONCE(sqe->addr), &timer->time);
}

/*
 * Expire timers that are due, but no more than @left.  A request whose timer was removed here is
 * not freed before ->expired() is called.
 */
static void io_timer_queue_run(struct io_timer_queue *queue, unsigned int left)
{
	ktime_t now = hrtimer_cb_get_time(&queue->hrtimer);

	for (;;) {
		struct timerqueue_node *node;
		struct io_timer *timer;

		scoped_guard(spinlock_irqsave, &queue->lock) {
			node = timerqueue_getnext(&queue->timers);
			WRITE_ONCE(queue->behind, node && node->expires <= now && !left);
			if (!node)
				return;
			if (node->expires > now || !left) {
				ktime_t next = queue->behind ? ktime_add_ns(now, IO_TIMERS_PAUSE) :
							       node->expires;

				hrtimer_start(&queue->hrtimer, next, HRTIMER_MODE_ABS);
				return;
			}
			timerqueue_del(&queue->timers, node);
		}
		left--;
		timer = container_of(node, struct io_timer, node);
		timer->expired(&timer->hrtimer);
	}
}

static enum hrtimer_restart io_timer_queue_expired(struct hrtimer *hrtimer)
{
	io_timer_queue_run(container_of(hrtimer, struct io_timer_queue, hrtimer), IO_TIMERS_BATCH);
	return HRTIMER_NORESTART;
}

/**
 * io_timers_run - expire due timers that an interrupt has left to task work
 * @ctx: the ring, its lock held; ctx->timers is not NULL
 */
void io_timers_run(struct io_ring_ctx *ctx)
{
	unsigned int i;

	io_assert_ring(ctx);
	for (i = 0; i < IO_QUEUES; i++)
		if (READ_ONCE(ctx->timers[i].behind))
			io_timer_queue_run(&ctx->timers[i], IO_TIMERS_STEP);
}

/**
 * io_timers_free - free the timer queues of a ring
 * @ctx: the ring, without requests
 */
void io_timers_free(struct io_ring_ctx *ctx)
{
	unsigned int i;

	for (i = 0; ctx->timers && i < IO_QUEUES; i++)
		hrtimer_cancel(&ctx->timers[i].hrtimer);
	kfree(ctx->timers);
}

/* Return: the queues of a ring, which the first call allocates; NULL if there is no memory. */
static struct io_timer_queue *io_timer_queues(struct io_ring_ctx *ctx)
{
	static const clockid_t clocks[IO_QUEUES] = {
		[IO_QUEUE_MONOTONIC]	= CLOCK_MONOTONIC,
		[IO_QUEUE_BOOTTIME]	= CLOCK_BOOTTIME,
		[IO_QUEUE_REALTIME]	= CLOCK_REALTIME,
	};
	struct io_timer_queue *queues = ctx->timers;
	unsigned int i;

	if (likely(queues))
		return queues;
	queues = kcalloc(IO_QUEUES, sizeof(*queues), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	for (i = 0; queues && i < IO_QUEUES; i++) {
		spin_lock_init(&queues[i].lock);
		timerqueue_init_head(&queues[i].timers);
		hrtimer_setup(&queues[i].hrtimer, io_timer_queue_expired, clocks[i],
			      HRTIMER_MODE_ABS);
	}
	ctx->timers = queues;
	return queues;
}

static struct io_timer_queue *io_timer_queue(const struct io_kiocb *req)
{
	return &req->ctx->timers[(req->buf_index >> IO_TIMER_QUEUE) - 1];
}

static bool io_timer_is_queued(const struct io_kiocb *req)
{
	return req->buf_index >> IO_TIMER_QUEUE;
}

/* Add a timer to the ring's queue of its clock.  Return: false if there is no memory. */
static bool io_timer_enqueue(struct io_kiocb *req, clockid_t clock, ktime_t time,
			     enum hrtimer_mode mode,
			     enum hrtimer_restart (*expired)(struct hrtimer *hrtimer))
{
	struct io_timer_queue *queue = io_timer_queues(req->ctx);
	struct io_timer *timer = io_timer(req);
	unsigned int nr = IO_QUEUE_MONOTONIC;

	if (!queue)
		return false;
	if (clock == CLOCK_BOOTTIME)
		nr = IO_QUEUE_BOOTTIME;
	else if (clock == CLOCK_REALTIME && mode == HRTIMER_MODE_ABS)
		nr = IO_QUEUE_REALTIME;
	queue += nr;
	req->buf_index |= (nr + 1) << IO_TIMER_QUEUE;
	if (mode == HRTIMER_MODE_REL)
		time = ktime_add_safe(time, hrtimer_cb_get_time(&queue->hrtimer));
	timerqueue_init(&timer->node);
	timer->node.expires = time;
	timer->expired = expired;
	guard(spinlock_irqsave)(&queue->lock);
	if (timerqueue_add(&queue->timers, &timer->node))
		hrtimer_start(&queue->hrtimer, time, HRTIMER_MODE_ABS);
	return true;
}

/* Remove a timer from its queue.  Return: 1; 0 if it has expired or was removed before. */
static int io_timer_dequeue(struct io_kiocb *req)
{
	struct timerqueue_node *node = &io_timer(req)->node;
	struct io_timer_queue *queue = io_timer_queue(req);

	guard(spinlock_irqsave)(&queue->lock);
	if (RB_EMPTY_NODE(&node->node))
		return 0;
	/* leave the hrtimer armed: its callback starts it again for the first timer that is left */
	timerqueue_del(&queue->timers, node);
	return 1;
}

/*
 * Start a timer.  hrtimer_setup() uses @mode, because a relative timer of CLOCK_REALTIME becomes a
 * timer of CLOCK_MONOTONIC.  An absolute time is a time of current's time namespace.
 */
static void io_timer_go(struct io_kiocb *req, ktime_t time, enum hrtimer_mode mode,
			enum hrtimer_restart (*expired)(struct hrtimer *hrtimer))
{
	struct hrtimer *hrtimer = &io_timer(req)->hrtimer;
	clockid_t clock = io_timer_clock(io_timer_flags(req));

	io_assert_ring(req->ctx);
	if (mode == HRTIMER_MODE_ABS)
		time = io_time_to_host(clock, time);
	if (unlikely(io_wait_table_is_large(req->ctx)) &&
	    io_timer_enqueue(req, clock, time, mode, expired))
		return;
	hrtimer_setup(hrtimer, expired, clock, mode);
	hrtimer_start(hrtimer, time, mode);
}

/**
 * io_timer_start - start the timer of a request that was prepared
 * @req: the request, waiting; ring lock held
 * @expired: callback of the timer, in interrupt context; returns HRTIMER_NORESTART
 */
void io_timer_start(struct io_kiocb *req,
		    enum hrtimer_restart (*expired)(struct hrtimer *hrtimer))
{
	bool absolute = io_timer_flags(req) & IORING_TIMEOUT_ABS;

	io_timer_go(req, io_timer(req)->time, absolute ? HRTIMER_MODE_ABS : HRTIMER_MODE_REL,
		    expired);
}

/**
 * io_timer_restart - start a timer again after it was stopped or has expired
 * @req: the request; ring lock held
 * @time: expiry, on the clock that the request has chosen
 * @mode: HRTIMER_MODE_REL or HRTIMER_MODE_ABS
 * @expired: as for io_timer_start()
 */
void io_timer_restart(struct io_kiocb *req, ktime_t time, enum hrtimer_mode mode,
		      enum hrtimer_restart (*expired)(struct hrtimer *hrtimer))
{
	/* clear the queue of the last start */
	req->buf_index = (u8)req->buf_index;
	io_timer_go(req, time, mode, expired);
}

/**
 * io_timer_stop - stop the timer of a request
 * @req: the request, waiting; the caller prevents task work from ending it, for instance by
 *	holding the ring lock
 *
 * Return: 1 if the caller owns the request now; 0 if the timer has expired, or
 * was stopped before; -1 if its callback is running.
 */
int io_timer_stop(struct io_kiocb *req)
{
	struct hrtimer *hrtimer = &io_timer(req)->hrtimer;
	int ret;

	if (unlikely(io_timer_is_queued(req)))
		return io_timer_dequeue(req);
	for (;;) {
		ret = hrtimer_try_to_cancel(hrtimer);
		/* the timer was queued again while its last callback runs: wait for the callback */
		if (ret >= 0 || !hrtimer_is_queued(hrtimer))
			return ret;
		hrtimer_cancel_wait_running(hrtimer);
	}
}

static bool io_timer_is_active(struct io_kiocb *req)
{
	const struct io_timer *timer = io_timer(req);

	if (unlikely(io_timer_is_queued(req)))
		/* the timer may also expire right after this check */
		return !data_race(RB_EMPTY_NODE(&timer->node.node));
	return hrtimer_active(&timer->hrtimer);
}

/* Return: true if the timer repeats or can still be stopped; if not, hide its request. */
static bool io_timer_runs(struct io_kiocb *req, void *data)
{
	if (req->flags & REQ_F_MULTISHOT || io_timer_is_active(req))
		return true;
	io_wait_table_hide(req);
	return false;
}

/**
 * io_timer_find - find a running timer
 * @ctx: the ring, its lock held
 * @kind: kind of the request
 * @user_data: user_data of the request
 *
 * Repeating timers are also found between an expiry and the restart.  The search hides requests
 * whose timer has expired for the last time, so that later searches do not check them again.
 *
 * Return: the oldest such request; ERR_PTR(-ENOENT); or ERR_PTR(-EINTR) if current was killed.
 */
struct io_kiocb *io_timer_find(struct io_ring_ctx *ctx, enum io_wait_kind kind, u64 user_data)
{
	return io_wait_table_find(ctx, kind, user_data, io_timer_runs, NULL) ?: ERR_PTR(-ENOENT);
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "tests/timer_kunit.c"
#endif
