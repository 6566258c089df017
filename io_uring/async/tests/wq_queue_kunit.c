// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of the worker pool's queues and limits, without threads */
#include <kunit/test.h>

/**
 * struct wq_rig - a pool without owner and workers
 * @wq: its lanes have queues
 * @hash: not shared
 * @worker: of the bounded lane, in place of a thread
 * @work: of the test
 */
struct wq_rig {
	struct io_wq		wq;
	struct io_wq_hash	hash;
	struct io_wq_worker	worker;
	struct io_wq_work	work[8];
};

static struct wq_rig *wq_rig_make(struct kunit *test)
{
	struct wq_rig *rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rig);
	INIT_LIST_HEAD(&rig->hash.pools);
	rig->wq.hash = &rig->hash;
	for (i = 0; i < IO_WQ_NR_LANES; i++)
		io_wq_lane_init(&rig->wq, &rig->wq.lane[i], 1);
	rig->worker.lane = &rig->wq.lane[IO_WQ_BOUNDED];
	return rig;
}

/* Queue work @nr; in a bucket, unless that is negative. */
static bool wq_rig_push(struct wq_rig *rig, unsigned int nr, int bucket)
{
	unsigned int flags = 0;

	if (bucket >= 0)
		flags = IO_WQ_WORK_HASHED | (unsigned int)bucket << IO_WQ_HASH_SHIFT;
	atomic_set(&rig->work[nr].flags, flags);
	return io_wq_push(rig->worker.lane, &rig->work[nr]);
}

/* Take work and finish it at once.  Return: its number, or -1 */
static int wq_rig_take(struct wq_rig *rig)
{
	struct io_wq_work *work = io_wq_take(&rig->worker);

	if (!work)
		return -1;
	io_wq_let_go(&rig->worker);
	return work - rig->work;
}

static bool wq_rig_match(struct io_wq_work *work, void *data)
{
	return work == data;
}

/* Take work @nr out of the queue, as cancel does. */
static bool wq_rig_extract(struct wq_rig *rig, unsigned int nr)
{
	struct io_wq_lane *lane = rig->worker.lane;
	struct io_wq_fifo list = {};

	guard(spinlock)(&lane->lock);
	return io_wq_extract(lane, &list, wq_rig_match, &rig->work[nr], false) &&
	       list.first == &rig->work[nr] && list.last == list.first;
}

/* A limit is what was asked for, at most what the user may have, and at least one. */
static void wq_limits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, io_wq_limit(3, 100), 3);
	KUNIT_EXPECT_EQ(test, io_wq_limit(300, 100), 100);
	KUNIT_EXPECT_EQ(test, io_wq_limit(0, 100), 1);
	KUNIT_EXPECT_EQ(test, io_wq_limit(3, 0), 1);
	KUNIT_EXPECT_EQ(test, io_wq_limit(INT_MAX, RLIM_INFINITY), INT_MAX);
	KUNIT_EXPECT_EQ(test, io_wq_limit(UINT_MAX, RLIM_INFINITY), INT_MAX);
}

/* Whatever is taken out, head, middle or tail: the rest stays in order, and more can be added. */
static void wq_extract_keeps_order(struct kunit *test)
{
	static const int buckets[] = { -1, 0, IO_WQ_BUCKETS - 1 };
	unsigned int out, i, n;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		for (out = 0; out < 3; out++) {
			struct wq_rig *rig = wq_rig_make(test);

			for (n = 0; n < 3; n++)
				KUNIT_EXPECT_TRUE(test, wq_rig_push(rig, n, buckets[i]));
			KUNIT_EXPECT_TRUE(test, wq_rig_extract(rig, out));
			KUNIT_EXPECT_FALSE(test, wq_rig_extract(rig, out));
			KUNIT_EXPECT_TRUE(test, wq_rig_push(rig, 3, buckets[i]));
			for (n = 0; n < 4; n++) {
				if (n != out)
					KUNIT_EXPECT_EQ(test, wq_rig_take(rig), n);
			}
			KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
		}
	}
}

/* The last work of a bucket is cancelled; plain work beside it is not taken for it. */
static void wq_extract_empties_bucket(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);

	wq_rig_push(rig, 0, -1);
	wq_rig_push(rig, 1, 0);
	KUNIT_EXPECT_TRUE(test, wq_rig_extract(rig, 1));
	KUNIT_EXPECT_EQ(test, rig->worker.lane->hashed, 0);
	wq_rig_push(rig, 2, 0);
	wq_rig_push(rig, 3, -1);
	KUNIT_EXPECT_TRUE(test, wq_rig_extract(rig, 0));
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig) + wq_rig_take(rig), 2 + 3);
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
	KUNIT_EXPECT_EQ(test, rig->hash.busy, 0);
}

/* Neither plain nor hashed work waits for all of the other, nor one bucket for another. */
static void wq_take_is_fair(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);
	unsigned int seen = 0, n;

	for (n = 0; n < 4; n++)
		wq_rig_push(rig, n, -1);
	for (n = 4; n < 7; n++)
		wq_rig_push(rig, n, 5);
	wq_rig_push(rig, 7, 9);
	for (n = 0; n < 4; n++)
		seen |= BIT(wq_rig_take(rig));
	KUNIT_EXPECT_EQ(test, seen, BIT(0) | BIT(1) | BIT(4) | BIT(7));
}

/* Work of a busy bucket is passed by, and is no reason to make a worker. */
static void wq_take_passes_busy(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);
	struct io_wq_lane *lane = rig->worker.lane;

	KUNIT_EXPECT_FALSE(test, io_wq_lane_runnable(lane));
	wq_rig_push(rig, 0, 7);
	KUNIT_EXPECT_TRUE(test, io_wq_lane_runnable(lane));
	set_bit(7, &rig->hash.busy);
	KUNIT_EXPECT_FALSE(test, io_wq_lane_runnable(lane));
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
	wq_rig_push(rig, 1, -1);
	KUNIT_EXPECT_TRUE(test, io_wq_lane_runnable(lane));
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), 1);
	clear_bit(7, &rig->hash.busy);
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), 0);
	KUNIT_EXPECT_EQ(test, rig->hash.busy, 0);
}

/* Work that a worker runs can be found until it lets go. */
static void wq_take_is_findable(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);

	wq_rig_push(rig, 0, 3);
	KUNIT_EXPECT_PTR_EQ(test, io_wq_take(&rig->worker), &rig->work[0]);
	KUNIT_EXPECT_PTR_EQ(test, rig->worker.cur, &rig->work[0]);
	KUNIT_EXPECT_EQ(test, rig->hash.busy, BIT(3));
	io_wq_let_go(&rig->worker);
	KUNIT_EXPECT_NULL(test, rig->worker.cur);
	KUNIT_EXPECT_EQ(test, rig->hash.busy, 0);
}

/* Once the pool ends all work can be taken, busy bucket or not, and is cancelled. */
static void wq_take_at_the_end(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);

	wq_rig_push(rig, 0, 7);
	set_bit(7, &rig->hash.busy);
	rig->wq.exiting = true;
	KUNIT_EXPECT_FALSE(test, wq_rig_push(rig, 1, -1));
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig) + wq_rig_take(rig), 0 + 1);
	KUNIT_EXPECT_TRUE(test, atomic_read(&rig->work[0].flags) & IO_WQ_WORK_CANCEL);
	KUNIT_EXPECT_TRUE(test, atomic_read(&rig->work[1].flags) & IO_WQ_WORK_CANCEL);
	KUNIT_EXPECT_EQ(test, rig->hash.busy, BIT(7));
}

static struct kunit_case wq_queue_cases[] = {
	KUNIT_CASE(wq_limits),
	KUNIT_CASE(wq_extract_keeps_order),
	KUNIT_CASE(wq_extract_empties_bucket),
	KUNIT_CASE(wq_take_is_fair),
	KUNIT_CASE(wq_take_passes_busy),
	KUNIT_CASE(wq_take_is_findable),
	KUNIT_CASE(wq_take_at_the_end),
	{}
};

static struct kunit_suite wq_queue_suite = {
	.name = "io_uring_wq_queue",
	.test_cases = wq_queue_cases,
};

kunit_test_suite(wq_queue_suite);
