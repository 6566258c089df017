// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of the worker pool's queues and limits, without threads */
#include <kunit/test.h>

#define WQ_RIG_WORKS	(IO_WQ_KEYS + 8)

/* A work item of the test, and its key. */
struct wq_rig_work {
	struct io_wq_work	work;
	unsigned long		key;
};

/**
 * struct wq_rig - a pool without a task and without threads
 * @wq: the pool
 * @worker: a worker of the bounded lane
 * @other: another worker of the same lane
 * @work: work items of the test
 */
struct wq_rig {
	struct io_wq		wq;
	struct io_wq_worker	worker;
	struct io_wq_worker	other;
	struct wq_rig_work	work[WQ_RIG_WORKS];
};

static struct wq_rig_work *to_rig_work(const struct io_wq_work *work)
{
	return container_of(work, struct wq_rig_work, work);
}

static const void *wq_rig_key(const struct io_wq_work *work)
{
	return (const void *)to_rig_work(work)->key;
}

static struct wq_rig *wq_rig_make(struct kunit *test)
{
	struct wq_rig *rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rig);
	rig->wq.key = wq_rig_key;
	for (i = 0; i < IO_WQ_NR_LANES; i++) {
		rig->wq.lane[i].wq = &rig->wq;
		io_wq_lane_init_queues(&rig->wq.lane[i]);
		io_wq_lane_init_workers(&rig->wq.lane[i], 1);
	}
	rig->worker.lane = &rig->wq.lane[IO_WQ_BOUNDED];
	rig->worker.key = IO_WQ_NO_KEY;
	rig->other = rig->worker;
	return rig;
}

/* Queue work item @nr, hashed by @key unless @key is negative. */
static bool wq_rig_push(struct wq_rig *rig, unsigned int nr, int key)
{
	rig->work[nr].work.flags = key >= 0 ? IO_WQ_WORK_HASHED : 0;
	rig->work[nr].work.generation = rig->wq.generation;
	rig->work[nr].key = key;
	return io_wq_push(rig->worker.lane, &rig->work[nr].work, key >= 0);
}

/* Take work, and let @worker run it.  Return: its number, or -1 */
static int wq_rig_begin(struct wq_rig *rig, struct io_wq_worker *worker)
{
	struct io_wq_work *work = io_wq_take(worker, false);

	return work ? to_rig_work(work) - rig->work : -1;
}

/* Take work and finish it at once.  Return: its number, or -1 */
static int wq_rig_take(struct wq_rig *rig)
{
	int nr = wq_rig_begin(rig, &rig->worker);

	if (nr >= 0)
		io_wq_let_go(&rig->worker);
	return nr;
}

static bool wq_rig_match(struct io_wq_work *work, void *data)
{
	return work == data;
}

/* Remove work item @nr from the queue, as a cancel does. */
static bool wq_rig_extract(struct wq_rig *rig, unsigned int nr)
{
	struct io_wq_work *work = &rig->work[nr].work;
	struct io_wq_fifo list = {};

	guard(spinlock)(&rig->worker.lane->lock);
	return io_wq_extract(rig->worker.lane, &list, wq_rig_match, work, false) &&
	       list.first == work && list.last == work;
}

/* io_wq_limit() lowers a limit to that of the user, and raises it to one. */
static void wq_limits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, io_wq_limit(3, 100), 3);
	KUNIT_EXPECT_EQ(test, io_wq_limit(300, 100), 100);
	KUNIT_EXPECT_EQ(test, io_wq_limit(0, 100), 1);
	KUNIT_EXPECT_EQ(test, io_wq_limit(3, 0), 1);
	KUNIT_EXPECT_EQ(test, io_wq_limit(INT_MAX, RLIM_INFINITY), INT_MAX);
	KUNIT_EXPECT_EQ(test, io_wq_limit(UINT_MAX, RLIM_INFINITY), INT_MAX);
}

/* If the head, middle or tail is removed, the rest stays in order, and more can be queued. */
static void wq_extract_keeps_order(struct kunit *test)
{
	static const int keys[] = { -1, 0, 1000 };
	unsigned int out, i, n;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		for (out = 0; out < 3; out++) {
			struct wq_rig *rig = wq_rig_make(test);

			for (n = 0; n < 3; n++)
				KUNIT_EXPECT_TRUE(test, wq_rig_push(rig, n, keys[i]));
			KUNIT_EXPECT_TRUE(test, wq_rig_extract(rig, out));
			KUNIT_EXPECT_FALSE(test, wq_rig_extract(rig, out));
			KUNIT_EXPECT_TRUE(test, wq_rig_push(rig, 3, keys[i]));
			for (n = 0; n < 4; n++) {
				if (n != out)
					KUNIT_EXPECT_EQ(test, wq_rig_take(rig), n);
			}
			KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
		}
	}
}

/* The removal of the last work of a key frees the key; the removal of plain work frees no key. */
static void wq_extract_frees_key(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);
	struct io_wq_lane *lane = rig->worker.lane;

	wq_rig_push(rig, 0, -1);
	wq_rig_push(rig, 1, 0);
	KUNIT_EXPECT_TRUE(test, wq_rig_extract(rig, 1));
	KUNIT_EXPECT_EQ(test, lane->keys | lane->ready, 0);
	wq_rig_push(rig, 2, 0);
	wq_rig_push(rig, 3, -1);
	KUNIT_EXPECT_TRUE(test, wq_rig_extract(rig, 0));
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig) + wq_rig_take(rig), 2 + 3);
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
	KUNIT_EXPECT_EQ(test, lane->keys | lane->held, 0);
}

/* Removal of work items @take by other tasks after the search has checked @at items. */
struct wq_meanwhile {
	struct wq_rig	*rig;
	unsigned int	looks;
	unsigned int	at;
	unsigned int	take[2];
};

/* After @at items were checked, remove the items of @take, as if by others, and match the next. */
static bool wq_meanwhile_match(struct io_wq_work *work, void *data)
{
	struct wq_meanwhile *m = data;
	struct io_wq_lane *lane = m->rig->worker.lane;
	unsigned int i, n;

	if (m->looks++ != m->at)
		return false;
	for (i = 0; i < ARRAY_SIZE(m->take); i++) {
		struct io_wq_work *before = NULL;

		for (n = 0; n < m->take[i]; n++) {
			if (m->rig->work[n].key)
				before = &m->rig->work[n].work;
		}
		m->rig->work[m->take[i]].key = 0;
		io_wq_remove(lane, &lane->plain, before, &m->rig->work[m->take[i]].work);
	}
	return true;
}

/* A search that dropped the lock continues with the next work item, even if items were removed. */
static void wq_search_survives(struct kunit *test)
{
	unsigned int a, b, at, n;

	for (a = 0; a < 6; a++) {
		for (b = a + 1; b < 6; b++) {
			for (at = 0; at < 6; at++) {
				struct wq_rig *rig = wq_rig_make(test);
				struct wq_meanwhile m = {
					.rig = rig, .at = at, .take = { a, b },
				};
				struct io_wq_fifo list = {};

				/* a key of 1 says that the item is queued */
				for (n = 0; n < 6; n++) {
					wq_rig_push(rig, n, -1);
					rig->work[n].key = 1;
				}
				if (a == at || b == at)
					continue;
				scoped_guard(spinlock, &rig->worker.lane->lock)
					io_wq_extract(rig->worker.lane, &list,
						      wq_meanwhile_match, &m, true);
				/* the search has not checked removed items behind @at */
				KUNIT_EXPECT_EQ(test, m.looks, 6 - (a > at) - (b > at));
				KUNIT_EXPECT_PTR_EQ(test, list.first, &rig->work[at].work);
				/* three items are left, without item @at */
				for (n = 0; n < 3; n++)
					KUNIT_EXPECT_NE(test, wq_rig_take(rig), (int)at);
				KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
			}
		}
	}
}

/* Workers alternate between plain and hashed work, and between keys. */
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

/* Workers skip queued work of a key that a worker holds; such work is not runnable. */
static void wq_take_passes_busy(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);
	struct io_wq_lane *lane = rig->worker.lane;

	KUNIT_EXPECT_FALSE(test, io_wq_lane_runnable(lane));
	wq_rig_push(rig, 0, 7);
	KUNIT_EXPECT_TRUE(test, io_wq_lane_runnable(lane));
	KUNIT_EXPECT_EQ(test, wq_rig_begin(rig, &rig->other), 0);
	KUNIT_EXPECT_FALSE(test, io_wq_lane_runnable(lane));
	wq_rig_push(rig, 1, 7);
	KUNIT_EXPECT_FALSE(test, io_wq_lane_runnable(lane));
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
	wq_rig_push(rig, 2, -1);
	wq_rig_push(rig, 3, 8);
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig) + wq_rig_take(rig), 2 + 3);
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
	io_wq_let_go(&rig->other);
	KUNIT_EXPECT_TRUE(test, io_wq_lane_runnable(lane));
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), 1);
	KUNIT_EXPECT_EQ(test, lane->keys | lane->held | lane->ready, 0);
}

/* With more than IO_WQ_KEYS keys, all work is run, and that of each key in order. */
static void wq_more_keys_than_places(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);
	unsigned int n, last = 0, nr = 0;
	int took;

	for (n = 0; n < IO_WQ_KEYS; n++)
		wq_rig_push(rig, n, n);
	KUNIT_EXPECT_EQ(test, wq_rig_begin(rig, &rig->other), 0);
	/* work of a new key, of the key that is held, and of the new key again */
	wq_rig_push(rig, n, 1000);
	wq_rig_push(rig, n + 1, 0);
	wq_rig_push(rig, n + 2, 1000);
	/* the new key gets the first free index; its later work goes behind lane->others */
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), 1);
	wq_rig_push(rig, n + 3, 1000);
	while ((took = wq_rig_take(rig)) >= 0) {
		nr++;
		KUNIT_EXPECT_NE(test, took, n + 1);
		if (took >= n) {
			KUNIT_EXPECT_LT(test, last, took);
			last = took;
		}
	}
	KUNIT_EXPECT_EQ(test, nr, IO_WQ_KEYS - 2 + 3);
	io_wq_let_go(&rig->other);
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), n + 1);
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
	KUNIT_EXPECT_NULL(test, rig->worker.lane->others.first);
}

/* ->cur and ->held show the work that a worker runs, until io_wq_let_go(). */
static void wq_take_is_findable(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);

	wq_rig_push(rig, 0, 3);
	KUNIT_EXPECT_PTR_EQ(test, io_wq_take(&rig->worker, false), &rig->work[0].work);
	KUNIT_EXPECT_PTR_EQ(test, rig->worker.cur, &rig->work[0].work);
	KUNIT_EXPECT_EQ(test, hweight_long(rig->worker.lane->held), 1);
	io_wq_let_go(&rig->worker);
	KUNIT_EXPECT_NULL(test, rig->worker.cur);
	KUNIT_EXPECT_EQ(test, rig->worker.lane->held, 0);
}

/* Workers take no newer work; they take older work unless an older worker is going to take it. */
static void wq_take_needs_its_generation(struct kunit *test)
{
	static const int keys[] = { -1, 5 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		struct wq_rig *rig = wq_rig_make(test);
		unsigned int n;

		list_add(&rig->worker.link, &rig->worker.lane->workers);
		wq_rig_push(rig, 0, keys[i]);
		wq_rig_push(rig, 1, keys[i]);
		rig->wq.generation = 1;
		rig->other.generation = 1;
		wq_rig_push(rig, 2, keys[i]);
		KUNIT_EXPECT_EQ(test, wq_rig_begin(rig, &rig->other), -1);
		KUNIT_EXPECT_FALSE(test, io_wq_has_work_for(&rig->other));
		KUNIT_EXPECT_TRUE(test, io_wq_has_work_for(&rig->worker));
		KUNIT_EXPECT_EQ(test, wq_rig_take(rig), 0);
		rig->worker.asleep = true;
		for (n = 1; n < 3; n++) {
			KUNIT_EXPECT_TRUE(test, io_wq_has_work_for(&rig->other));
			KUNIT_EXPECT_EQ(test, wq_rig_begin(rig, &rig->other), n);
			io_wq_let_go(&rig->other);
		}
		wq_rig_push(rig, 3, keys[i]);
		KUNIT_EXPECT_FALSE(test, io_wq_has_work_for(&rig->worker));
		KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
		KUNIT_EXPECT_EQ(test, wq_rig_begin(rig, &rig->other), 3);
	}
}

/* io_wq_give_back() makes work the first of its queue again, except during a search. */
static void wq_gives_back(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);
	struct io_wq_search search = {};
	unsigned int n;

	for (n = 0; n < 4; n++)
		wq_rig_push(rig, n, n < 2 ? -1 : 7);
	rig->worker.lane->plain_next = true;
	for (n = 0; n < 4; n += 2) {
		KUNIT_EXPECT_EQ(test, wq_rig_begin(rig, &rig->worker), n);
		list_add(&search.link, &rig->worker.lane->searches);
		KUNIT_EXPECT_FALSE(test, io_wq_give_back(&rig->worker));
		KUNIT_EXPECT_PTR_EQ(test, rig->worker.cur, &rig->work[n].work);
		io_wq_heed_cancel(&rig->worker);
		KUNIT_EXPECT_FALSE(test, rig->work[n].work.flags & IO_WQ_WORK_CANCEL);
		list_del(&search.link);
		KUNIT_EXPECT_TRUE(test, io_wq_give_back(&rig->worker));
		KUNIT_EXPECT_NULL(test, rig->worker.cur);
		rig->worker.lane->plain_next = !n;
		KUNIT_EXPECT_EQ(test, wq_rig_take(rig), n);
		rig->worker.lane->plain_next = !n;
		KUNIT_EXPECT_EQ(test, wq_rig_take(rig), n + 1);
	}
	KUNIT_EXPECT_EQ(test, wq_rig_take(rig), -1);
	KUNIT_EXPECT_EQ(test, rig->worker.lane->keys, 0);
}

/* io_wq_heed_cancel() marks work that was cancelled before it began. */
static void wq_heeds_cancel(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);

	wq_rig_push(rig, 0, -1);
	KUNIT_ASSERT_EQ(test, wq_rig_begin(rig, &rig->worker), 0);
	scoped_guard(spinlock, &rig->worker.lane->lock)
		rig->worker.cancelled = true;
	io_wq_heed_cancel(&rig->worker);
	KUNIT_EXPECT_TRUE(test, rig->work[0].work.flags & IO_WQ_WORK_CANCEL);
}

/* Once the pool is exiting, all work can be taken, even of a held key, and is cancelled. */
static void wq_take_at_the_end(struct kunit *test)
{
	struct wq_rig *rig = wq_rig_make(test);
	int i, sum = 0;

	wq_rig_push(rig, 0, 7);
	KUNIT_EXPECT_EQ(test, wq_rig_begin(rig, &rig->other), 0);
	wq_rig_push(rig, 1, 7);
	rig->wq.exiting = true;
	KUNIT_EXPECT_FALSE(test, wq_rig_push(rig, 2, -1));
	for (i = 0; i < 2; i++)
		sum += wq_rig_take(rig);
	KUNIT_EXPECT_EQ(test, sum, 1 + 2);
	KUNIT_EXPECT_TRUE(test, rig->work[1].work.flags & IO_WQ_WORK_CANCEL);
	KUNIT_EXPECT_TRUE(test, rig->work[2].work.flags & IO_WQ_WORK_CANCEL);
	KUNIT_EXPECT_EQ(test, hweight_long(rig->worker.lane->held), 1);
}

static struct kunit_case wq_queue_cases[] = {
	KUNIT_CASE(wq_limits),
	KUNIT_CASE(wq_extract_keeps_order),
	KUNIT_CASE(wq_extract_frees_key),
	KUNIT_CASE(wq_search_survives),
	KUNIT_CASE(wq_take_is_fair),
	KUNIT_CASE(wq_take_passes_busy),
	KUNIT_CASE(wq_more_keys_than_places),
	KUNIT_CASE(wq_take_is_findable),
	KUNIT_CASE(wq_take_needs_its_generation),
	KUNIT_CASE(wq_gives_back),
	KUNIT_CASE(wq_heeds_cancel),
	KUNIT_CASE(wq_take_at_the_end),
	{}
};

static struct kunit_suite wq_queue_suite = {
	.name = "io_uring_wq_queue",
	.test_cases = wq_queue_cases,
};

kunit_test_suite(wq_queue_suite);
