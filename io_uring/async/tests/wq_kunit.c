// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of the worker pool: limits, hashing, cancel and end */
/*
 * The pool's task is the thread of the test.  Workers are created in its context, by task work if
 * another task needs a worker.  The test runs task work while it waits, as a program does when it
 * enters the kernel.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/poison.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>

#include "async/wq.h"

#define POOL_WORKS	12

/**
 * struct pool_test - a pool, and counts of its work items
 * @wq: the pool
 * @gate: completion that work with ->waits waits for
 * @running: number of work items that run now
 * @most: maximum of @running
 * @ended: number of work items that ran to their end
 * @cancelled: number of work items that were run with IO_WQ_WORK_CANCEL
 * @put: number of work items that the pool has released
 * @order: numbers of the work items in the order in which they began
 * @nr_order: number of entries of @order
 */
struct pool_test {
	struct io_wq		*wq;
	struct completion	gate;
	atomic_t		running;
	atomic_t		most;
	atomic_t		ended;
	atomic_t		cancelled;
	atomic_t		put;
	int			order[POOL_WORKS];
	atomic_t		nr_order;
};

/* A work item of the test. */
struct pool_work {
	struct io_wq_work	work;
	struct pool_test	*pool;
	const void		*key;
	int			nr;
	bool			waits;
	bool			hands_over;
};

static struct pool_work *to_pool_work(struct io_wq_work *work)
{
	return container_of(work, struct pool_work, work);
}

static void pool_note_most(struct pool_test *pool, int now)
{
	int most = atomic_read(&pool->most);

	while (now > most && !atomic_try_cmpxchg(&pool->most, &most, now))
		;
}

static struct io_wq_work *pool_run(struct io_wq_work *work)
{
	struct pool_work *w = to_pool_work(work);
	struct pool_test *pool = w->pool;

	if (work->flags & IO_WQ_WORK_CANCEL) {
		atomic_inc(&pool->cancelled);
		return NULL;
	}
	pool->order[atomic_fetch_inc(&pool->nr_order)] = w->nr;
	/* as if another context had got the work, and used its memory for other data */
	if (w->hands_over)
		memset(work, POISON_INUSE, sizeof(*work));
	pool_note_most(pool, atomic_inc_return(&pool->running));
	if (w->waits)
		wait_for_completion_interruptible(&pool->gate);
	atomic_dec(&pool->running);
	atomic_inc(&pool->ended);
	return NULL;
}

static void pool_put(struct io_wq_work *work)
{
	atomic_inc(&to_pool_work(work)->pool->put);
}

static const void *pool_key(const struct io_wq_work *work)
{
	return container_of(work, struct pool_work, work)->key;
}

static struct pool_test *pool_make(struct kunit *test, unsigned int bounded)
{
	struct pool_test *pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);
	struct io_wq_params params = {
		.task = current,
		.run = pool_run,
		.put = pool_put,
		.key = pool_key,
		.bounded = bounded,
	};

	KUNIT_ASSERT_NOT_NULL(test, pool);
	init_completion(&pool->gate);
	pool->wq = io_wq_create(&params);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(pool->wq));
	return pool;
}

/*
 * End the pool: cancel running and queued work.  Check that the pool has released each work item
 * once, and that no work runs any more.
 */
static void pool_end(struct kunit *test, struct pool_test *pool, int works)
{
	io_wq_exit_start(pool->wq);
	io_wq_put_and_exit(pool->wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->put), works);
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->ended) + atomic_read(&pool->cancelled), works);
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->running), 0);
}

static struct pool_work *pool_work(struct kunit *test, struct pool_test *pool, int nr)
{
	struct pool_work *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->pool = pool;
	w->nr = nr;
	return w;
}

static void pool_queue(struct kunit *test, struct pool_test *pool, int nr, unsigned int flags,
		       const void *hash_key, bool waits)
{
	struct pool_work *w = pool_work(test, pool, nr);

	w->waits = waits;
	w->key = hash_key;
	w->work.flags = flags | (hash_key ? IO_WQ_WORK_HASHED : 0);
	io_wq_enqueue(pool->wq, &w->work);
}

/* Create requested workers, as a task does before it returns to user space. */
static void pool_run_task_work(void)
{
	if (test_thread_flag(TIF_NOTIFY_SIGNAL))
		clear_notify_signal();
	if (task_work_pending(current))
		task_work_run();
}

/* Wait until @counter is @want, for two seconds at most. */
static bool pool_reaches(atomic_t *counter, int want)
{
	unsigned long end = jiffies + 2 * HZ;

	while (atomic_read(counter) != want && time_before(jiffies, end)) {
		pool_run_task_work();
		usleep_range(1000, 2000);
	}
	return atomic_read(counter) == want;
}

/* Wait for a while, in which workers that must not exist could begin work. */
static void pool_settle(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		pool_run_task_work();
		usleep_range(1000, 2000);
	}
}

/* io_wq_set_max_workers() returns the old limits; a limit of zero changes nothing. */
static void pool_limits_are_told(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 3);
	unsigned int counts[2] = {};

	KUNIT_EXPECT_EQ(test, io_wq_set_max_workers(pool->wq, counts), 0);
	KUNIT_EXPECT_EQ(test, counts[0], 3);
	counts[0] = 2;
	counts[1] = 5;
	KUNIT_EXPECT_EQ(test, io_wq_set_max_workers(pool->wq, counts), 0);
	KUNIT_EXPECT_EQ(test, counts[0], 3);
	counts[0] = 0;
	counts[1] = 0;
	KUNIT_EXPECT_EQ(test, io_wq_set_max_workers(pool->wq, counts), 0);
	KUNIT_EXPECT_EQ(test, counts[0], 2);
	KUNIT_EXPECT_EQ(test, counts[1], 5);
	pool_end(test, pool, 0);
}

/* At most as many work items run at once as the limit allows, and in the end all have run. */
static void pool_keeps_the_limit(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 2);
	int i;

	for (i = 0; i < POOL_WORKS; i++)
		pool_queue(test, pool, i, 0, NULL, true);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->running, 2));
	pool_settle();
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->running), 2);
	complete_all(&pool->gate);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->put, POOL_WORKS));
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->most), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->ended), POOL_WORKS);
	pool_end(test, pool, POOL_WORKS);
}

/* When a limit is raised, queued work begins. */
static void pool_raises_the_limit(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 1);
	unsigned int counts[2] = { 3, 0 };
	int i;

	for (i = 0; i < 3; i++)
		pool_queue(test, pool, i, 0, NULL, true);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->running, 1));
	pool_settle();
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->running), 1);
	KUNIT_EXPECT_EQ(test, io_wq_set_max_workers(pool->wq, counts), 0);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->running, 3));
	pool_end(test, pool, 3);
}

/* Work of one lane runs even if work of the other lane blocks. */
static void pool_two_lanes(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 1);

	pool_queue(test, pool, 0, 0, NULL, true);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->running, 1));
	pool_queue(test, pool, 1, IO_WQ_WORK_UNBOUND, NULL, false);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->ended, 1));
	KUNIT_EXPECT_EQ(test, pool->order[1], 1);
	pool_end(test, pool, 2);
}

/* Work items of one key run one after the other, in the order in which they were queued. */
static void pool_hashed_is_serial(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 4);
	int i;

	for (i = 0; i < POOL_WORKS; i++)
		pool_queue(test, pool, i, 0, pool, i == 0);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->running, 1));
	pool_settle();
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->nr_order), 1);
	complete_all(&pool->gate);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->put, POOL_WORKS));
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->most), 1);
	for (i = 0; i < POOL_WORKS; i++)
		KUNIT_EXPECT_EQ(test, pool->order[i], i);
	pool_end(test, pool, POOL_WORKS);
}

/* While work of a key runs, other work runs, too. */
static void pool_hashed_is_passed(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 2);

	pool_queue(test, pool, 0, 0, pool, true);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->running, 1));
	pool_queue(test, pool, 1, 0, pool, false);
	pool_queue(test, pool, 2, 0, NULL, false);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->ended, 1));
	KUNIT_EXPECT_EQ(test, pool->order[1], 2);
	pool_end(test, pool, 3);
}

static bool pool_match_nr(struct io_wq_work *work, void *data)
{
	return to_pool_work(work)->nr == *(int *)data;
}

static void pool_expect_cancel(struct kunit *test, struct pool_test *pool, int nr,
			       unsigned int queued, unsigned int running)
{
	struct io_wq_found found = io_wq_cancel(pool->wq, pool_match_nr, &nr, false);

	KUNIT_EXPECT_EQ(test, found.queued, queued);
	KUNIT_EXPECT_EQ(test, found.running, running);
}

/* A cancel ends queued work at once, and no other work. */
static void pool_cancels_queued(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 1);
	int i;

	for (i = 0; i < 4; i++)
		pool_queue(test, pool, i, 0, NULL, true);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->running, 1));
	pool_expect_cancel(test, pool, 77, 0, 0);
	pool_expect_cancel(test, pool, 2, 1, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->cancelled), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->put), 1);
	complete_all(&pool->gate);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->put, 4));
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->ended), 3);
	pool_end(test, pool, 4);
}

/* A cancel signals running work, which leaves its wait. */
static void pool_cancels_running(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 1);

	pool_queue(test, pool, 0, 0, NULL, true);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->running, 1));
	pool_expect_cancel(test, pool, 0, 0, 1);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->put, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->ended), 1);
	pool_end(test, pool, 1);
}

/*
 * A cancel finds and signals work that params->run() has handed over, but does not write to its
 * memory.
 */
static void pool_cancels_handed_over(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 1);
	struct pool_work *w = pool_work(test, pool, 0);

	w->waits = true;
	w->hands_over = true;
	io_wq_enqueue(pool->wq, &w->work);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->running, 1));
	pool_expect_cancel(test, pool, 0, 0, 1);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->put, 1));
	KUNIT_EXPECT_NULL(test, memchr_inv(&w->work, POISON_INUSE, sizeof(w->work)));
	pool_end(test, pool, 1);
}

/* The end of a pool cancels queued and running work. */
static void pool_ends_with_work(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 2);
	int i;

	for (i = 0; i < POOL_WORKS; i++)
		pool_queue(test, pool, i, i & 1 ? IO_WQ_WORK_UNBOUND : 0, i & 2 ? pool : NULL,
			   true);
	pool_settle();
	KUNIT_EXPECT_GT(test, atomic_read(&pool->running), 1);
	pool_end(test, pool, POOL_WORKS);
	KUNIT_EXPECT_GT(test, atomic_read(&pool->cancelled), 0);
}

/* Work that is queued after io_wq_exit_start() is cancelled, before io_wq_put_and_exit(). */
static void pool_refuses_at_the_end(struct kunit *test)
{
	struct pool_test *pool = pool_make(test, 2);

	io_wq_exit_start(pool->wq);
	pool_queue(test, pool, 0, 0, NULL, true);
	KUNIT_EXPECT_TRUE(test, pool_reaches(&pool->put, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&pool->cancelled), 1);
	pool_end(test, pool, 1);
}

static struct kunit_case pool_cases[] = {
	KUNIT_CASE(pool_limits_are_told),
	KUNIT_CASE(pool_keeps_the_limit),
	KUNIT_CASE(pool_raises_the_limit),
	KUNIT_CASE(pool_two_lanes),
	KUNIT_CASE(pool_hashed_is_serial),
	KUNIT_CASE(pool_hashed_is_passed),
	KUNIT_CASE(pool_cancels_queued),
	KUNIT_CASE(pool_cancels_running),
	KUNIT_CASE(pool_cancels_handed_over),
	KUNIT_CASE(pool_ends_with_work),
	KUNIT_CASE(pool_refuses_at_the_end),
	{}
};

static struct kunit_suite pool_suite = {
	.name = "io_uring_wq",
	.test_cases = pool_cases,
};

kunit_test_suite(pool_suite);
