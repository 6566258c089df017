// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of which queued work wakes or creates a worker, without threads */
#include <kunit/test.h>

#define WAKE_WORKERS	3

/**
 * struct wake_test - a lane, and idle workers in place of threads
 * @wq: its bounded lane has queues
 * @worker: idle workers; current is the thread of each, so that a wake does nothing
 */
struct wake_test {
	struct io_wq		wq;
	struct io_wq_worker	worker[WAKE_WORKERS];
};

static struct wake_test *wake_make(struct kunit *test, unsigned int idle)
{
	struct wake_test *wake = kunit_kzalloc(test, sizeof(*wake), GFP_KERNEL);
	struct io_wq_lane *lane;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, wake);
	lane = &wake->wq.lane[IO_WQ_BOUNDED];
	lane->wq = &wake->wq;
	io_wq_lane_init_workers(lane, WAKE_WORKERS);
	refcount_set(&wake->wq.refs, 1);
	refcount_set(&wake->wq.live, 1);
	for (i = 0; i < idle; i++) {
		wake->worker[i].lane = lane;
		wake->worker[i].task = current;
		list_add(&wake->worker[i].idle, &lane->idle);
	}
	lane->nr_workers = idle;
	/* as if there were enough CPUs for all workers */
	atomic_set(&lane->nr_running, -2 * WAKE_WORKERS);
	return wake;
}

/* Queue two work items for each key in @ready.  Return: the number of workers that were woken. */
static int wake_queue(struct wake_test *wake, unsigned long ready)
{
	struct io_wq_lane *lane = &wake->wq.lane[IO_WQ_BOUNDED];
	unsigned int key, i, called = 0;

	for (i = 0; i < 2; i++) {
		for_each_set_bit(key, &ready, IO_WQ_KEYS) {
			lane->ready |= BIT(key);
			io_wq_kick(lane, false);
		}
	}
	for (i = 0; i < WAKE_WORKERS; i++)
		called += wake->worker[i].called;
	return called;
}

/* A batch of work of one key wakes one worker. */
static void wake_one_for_a_key(struct kunit *test)
{
	struct wake_test *wake = wake_make(test, WAKE_WORKERS);

	KUNIT_EXPECT_EQ(test, wake_queue(wake, BIT(4)), 1);
	/* work of another key does not wait for the woken worker, which runs its work by now */
	io_wq_worker_came(&wake->worker[WAKE_WORKERS - 1]);
	wake->wq.lane[IO_WQ_BOUNDED].ready = 0;
	KUNIT_EXPECT_EQ(test, wake_queue(wake, BIT(9)), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&wake->wq.lane[IO_WQ_BOUNDED].nr_coming), 1);
}

/* Keys do not wait for each other: work of two keys wakes two workers. */
static void wake_two_for_two_keys(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, wake_queue(wake_make(test, WAKE_WORKERS), BIT(4) | BIT(9)), 2);
}

/* Plain work may block, so each item of work wakes a worker. */
static void wake_all_for_plain(struct kunit *test)
{
	struct wake_test *wake = wake_make(test, WAKE_WORKERS);
	struct io_wq_lane *lane = &wake->wq.lane[IO_WQ_BOUNDED];
	struct io_wq_work work = {};

	lane->plain.first = &work;
	KUNIT_EXPECT_EQ(test, wake_queue(wake, BIT(4)), 2);
}

/* Without idle workers, one worker is created for each key. */
static void create_one_for_a_key(struct kunit *test)
{
	struct wake_test *wake = wake_make(test, 0);
	struct io_wq_lane *lane = &wake->wq.lane[IO_WQ_BOUNDED];
	struct task_struct *called = NULL;

	KUNIT_EXPECT_FALSE(test, io_wq_spawn_count(lane, &called));
	lane->ready = BIT(4);
	KUNIT_EXPECT_TRUE(test, io_wq_spawn_count(lane, &called));
	KUNIT_EXPECT_FALSE(test, io_wq_spawn_count(lane, &called));
	lane->ready |= BIT(9);
	KUNIT_EXPECT_TRUE(test, io_wq_spawn_count(lane, &called));
	KUNIT_EXPECT_FALSE(test, io_wq_spawn_count(lane, &called));
	KUNIT_EXPECT_EQ(test, lane->nr_workers, 2);
	KUNIT_EXPECT_NULL(test, called);
}

/* The pool exits while a kworker finds that it has to retry the creation of a worker. */
static void create_retry_is_refused(struct kunit *test)
{
	struct wake_test *wake = wake_make(test, 1);
	struct io_wq_lane *lane = &wake->wq.lane[IO_WQ_BOUNDED];

	/* one reference is the creation's */
	refcount_set(&wake->wq.refs, 2);
	lane->creating = true;
	disable_delayed_work_sync(&lane->retry);
	io_wq_retry_later(lane);
	KUNIT_EXPECT_FALSE(test, lane->creating);
	KUNIT_EXPECT_EQ(test, refcount_read(&wake->wq.refs), 1);
}

static struct kunit_case wake_cases[] = {
	KUNIT_CASE(wake_one_for_a_key),
	KUNIT_CASE(wake_two_for_two_keys),
	KUNIT_CASE(wake_all_for_plain),
	KUNIT_CASE(create_one_for_a_key),
	KUNIT_CASE(create_retry_is_refused),
	{}
};

static struct kunit_suite wake_suite = {
	.name = "io_uring_wq_wake",
	.test_cases = wake_cases,
};

kunit_test_suite(wake_suite);
