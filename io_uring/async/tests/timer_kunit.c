// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of the queue of a ring with many timers */
#include <kunit/test.h>
#include <linux/delay.h>

#define TIMERS	200

struct timer_fixture {
	struct io_ring_ctx	ctx;
	struct io_kiocb		far;
	struct io_kiocb		reqs[TIMERS];
	/* number of timers that have expired */
	unsigned int		expired;
};

static enum hrtimer_restart timer_expire(struct hrtimer *hrtimer)
{
	struct io_kiocb *req = io_hrtimer_to_req(hrtimer);
	struct timer_fixture *fix = container_of(req->ctx, struct timer_fixture, ctx);

	req->cqe.res++;
	fix->expired++;
	return HRTIMER_NORESTART;
}

static void timer_begin(struct timer_fixture *fix, struct io_kiocb *req, ktime_t time)
{
	req->ctx = &fix->ctx;
	req->buf_index = IORING_TIMEOUT_ABS;
	io_timer(req)->time = time;
	io_timer_start(req, timer_expire);
}

static struct timer_fixture *timer_ring(struct kunit *test)
{
	struct timer_fixture *fix = kunit_kzalloc(test, sizeof(*fix), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fix);
	mutex_init(&fix->ctx.uring_lock.mutex);
	mutex_lock(&fix->ctx.uring_lock.mutex);
	/* as if many requests had been waiting */
	fix->ctx.waiting.shift = 64 - IO_WAIT_TABLE_MANY_BITS - 1;
	timer_begin(fix, &fix->far, KTIME_MAX);
	KUNIT_ASSERT_NOT_NULL(test, fix->ctx.timers);
	return fix;
}

static void timer_ring_end(struct kunit *test, struct timer_fixture *fix)
{
	KUNIT_EXPECT_EQ(test, io_timer_stop(&fix->far), 1);
	KUNIT_EXPECT_EQ(test, io_timer_stop(&fix->far), 0);
	io_timers_free(&fix->ctx);
	mutex_unlock(&fix->ctx.uring_lock.mutex);
}

/* An interrupt expires some of the due timers.  The task expires the others, in order. */
static void timer_takes_turns(struct kunit *test)
{
	struct timer_fixture *fix = timer_ring(test);
	struct io_timer_queue *queue = &fix->ctx.timers[IO_QUEUE_MONOTONIC];
	unsigned int i, expired, step;
	unsigned long flags;
	int last, again;

	/* the test calls the hrtimer's callback itself */
	local_irq_save(flags);
	for (i = 0; i < TIMERS; i++)
		timer_begin(fix, &fix->reqs[i], 1);
	io_timer_queue_expired(&queue->hrtimer);
	expired = fix->expired;
	last = io_timer_stop(&fix->reqs[TIMERS - 1]);
	again = io_timer_stop(&fix->reqs[0]);
	io_timers_catch_up(&fix->ctx);
	step = fix->expired - expired;
	for (i = 0; i < TIMERS && READ_ONCE(queue->behind); i++)
		io_timers_catch_up(&fix->ctx);
	local_irq_restore(flags);

	KUNIT_EXPECT_EQ(test, expired, IO_TIMERS_BATCH);
	KUNIT_EXPECT_EQ(test, step, IO_TIMERS_STEP);
	KUNIT_EXPECT_EQ(test, last, 1);
	KUNIT_EXPECT_EQ(test, again, 0);
	for (i = 0; i < TIMERS; i++)
		KUNIT_EXPECT_EQ(test, fix->reqs[i].cqe.res, i < TIMERS - 1);
	timer_ring_end(test, fix);
}

/* Without a task that expires timers, further interrupts expire all of them. */
static void timer_goes_on_alone(struct kunit *test)
{
	struct timer_fixture *fix = timer_ring(test);
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		timer_begin(fix, &fix->reqs[i], ktime_get() + NSEC_PER_MSEC);
	for (i = 0; i < 100 && READ_ONCE(fix->expired) < TIMERS; i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, READ_ONCE(fix->expired), TIMERS);
	for (i = 0; i < TIMERS; i++)
		KUNIT_EXPECT_EQ(test, io_timer_stop(&fix->reqs[i]), 0);
	timer_ring_end(test, fix);
}

/* A restart may move a timer to the queue of another clock; or to no queue in an emptier ring. */
static void timer_moves(struct kunit *test)
{
	struct timer_fixture *fix = timer_ring(test);
	struct io_kiocb *req = &fix->reqs[0];

	req->ctx = &fix->ctx;
	req->buf_index = IORING_TIMEOUT_REALTIME;
	io_timer(req)->time = KTIME_MAX / 2;
	io_timer_start(req, timer_expire);
	KUNIT_EXPECT_PTR_EQ(test, io_timer_queue(req), &fix->ctx.timers[IO_QUEUE_MONOTONIC]);
	KUNIT_EXPECT_EQ(test, io_timer_stop(req), 1);
	io_timer_restart(req, KTIME_MAX / 2, HRTIMER_MODE_ABS, timer_expire);
	KUNIT_EXPECT_PTR_EQ(test, io_timer_queue(req), &fix->ctx.timers[IO_QUEUE_REALTIME]);
	KUNIT_EXPECT_TRUE(test, io_timer_is_active(req));
	KUNIT_EXPECT_EQ(test, io_timer_stop(req), 1);
	KUNIT_EXPECT_FALSE(test, io_timer_is_active(req));
	fix->ctx.waiting.shift = 64 - IO_WAIT_TABLE_MANY_BITS;
	io_timer_restart(req, KTIME_MAX / 2, HRTIMER_MODE_REL, timer_expire);
	KUNIT_EXPECT_FALSE(test, io_timer_is_queued(req));
	KUNIT_EXPECT_EQ(test, io_timer_flags(req), IORING_TIMEOUT_REALTIME);
	KUNIT_EXPECT_EQ(test, io_timer_stop(req), 1);
	timer_ring_end(test, fix);
}

static struct kunit_case timer_cases[] = {
	KUNIT_CASE(timer_takes_turns),
	KUNIT_CASE(timer_goes_on_alone),
	KUNIT_CASE(timer_moves),
	{}
};

static struct kunit_suite timer_suite = {
	.name = "io_uring_timer",
	.test_cases = timer_cases,
};

kunit_test_suite(timer_suite);
