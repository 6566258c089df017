// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of the CQ writer */
/*
 * Most cases run on each kind of ring: single- and multi-writer, with CQEs of 16 and of
 * 32 bytes, and with positions near 2^32.
 */
#include "ring/tests/test_ring.h"

static const struct test_ring_params cq_kinds[] = {
	{ .flags = IORING_SETUP_DEFER_TASKRUN },
	{ .flags = IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQE32, .start = U32_MAX - 2 },
	{ .flags = 0 },
	{ .flags = IORING_SETUP_CQE32, .start = U32_MAX - 2 },
};

static void cq_kind_name(const struct test_ring_params *p, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s, %d bytes, from %u",
		 p->flags & IORING_SETUP_DEFER_TASKRUN ? "single-writer" : "multi-writer",
		 p->flags & IORING_SETUP_CQE32 ? 32 : 16, p->start);
}

KUNIT_ARRAY_PARAM(cq_kind, cq_kinds, cq_kind_name);

static struct io_ring_ctx *cq_ring(struct kunit *test, unsigned int entries)
{
	struct test_ring_params p = *(const struct test_ring_params *)test->param_value;

	p.cq_entries = entries;
	return test_ring_make(test, &p);
}

static struct io_cqe_val cq_val(u64 nr)
{
	return (struct io_cqe_val) { .user_data = nr, .res = -(s32)nr, .flags = nr << 16 };
}

/* Post CQEs number @first to @last, and keep the batch open. */
static void cq_post(struct io_ring_ctx *ctx, u64 first, u64 last)
{
	for (; first <= last; first++) {
		struct io_cqe_val val = cq_val(first);
		u64 extra[2] = { first + 100, first + 200 };

		io_cq_post(ctx, &val, extra);
	}
}

/* Consume one CQE, as the program does, and expect number @nr. */
static void cq_expect(struct kunit *test, struct io_ring_ctx *ctx, u64 nr)
{
	bool big = ctx->flags & IORING_SETUP_CQE32;
	u32 slot = ctx->rings->cq_head & (ctx->cq_entries - 1);
	const struct io_uring_cqe *cqe = &ctx->rings->cqes[slot << big];

	KUNIT_EXPECT_NE(test, ctx->rings->cq_head, ctx->rings->cq_tail);
	KUNIT_EXPECT_EQ(test, cqe->user_data, nr);
	KUNIT_EXPECT_EQ(test, cqe->res, -(s32)nr);
	KUNIT_EXPECT_EQ(test, cqe->flags, nr << 16);
	if (big) {
		KUNIT_EXPECT_EQ(test, cqe->big_cqe[0], nr + 100);
		KUNIT_EXPECT_EQ(test, cqe->big_cqe[1], nr + 200);
	}
	ctx->rings->cq_head++;
}

static bool cq_more(struct io_ring_ctx *ctx, u64 nr)
{
	struct io_cqe_val val = cq_val(nr);

	return io_cq_post_more(ctx, &val, true);
}

/* A batch becomes visible as a whole, when the lock is released. */
static void cq_visible_at_commit(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 8);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 1, 3);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 0);
	KUNIT_EXPECT_TRUE(test, io_cq_dirty(ctx));
	io_ring_unlock(ctx);
	KUNIT_EXPECT_FALSE(test, io_cq_dirty(ctx));
	KUNIT_ASSERT_EQ(test, io_cq_ready(ctx), 3);
	cq_expect(test, ctx, 1);
	cq_expect(test, ctx, 2);
	cq_expect(test, ctx, 3);
}

/* Each slot is used several times, once the program has consumed the CQE before. */
static void cq_goes_round(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 4);
	u64 nr;

	for (nr = 1; nr <= 41; nr += 4) {
		KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
		cq_post(ctx, nr, nr + 3);
		io_ring_unlock(ctx);
		KUNIT_ASSERT_EQ(test, io_cq_ready(ctx), 4);
		cq_expect(test, ctx, nr);
		cq_expect(test, ctx, nr + 1);
		cq_expect(test, ctx, nr + 2);
		cq_expect(test, ctx, nr + 3);
	}
	KUNIT_EXPECT_NULL(test, ctx->cq.overflow);
	KUNIT_EXPECT_EQ(test, ctx->rings->sq_flags.counter, 0);
}

/* CQEs without room overflow, in order, and flags report the overflow to the program. */
static void cq_overflows_in_order(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 4);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 1, 7);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 4);
	KUNIT_EXPECT_TRUE(test, ctx->rings->sq_flags.counter & IORING_SQ_CQ_OVERFLOW);
	KUNIT_EXPECT_TRUE(test, test_bit(IO_CHECK_CQ_OVERFLOW, &ctx->check_cq));

	/* a new CQE must not overtake overflowed CQEs, although there is room */
	cq_expect(test, ctx, 1);
	cq_expect(test, ctx, 2);
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 8, 8);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 2);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_cq_flush_overflow(ctx);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 4);
	KUNIT_EXPECT_TRUE(test, ctx->rings->sq_flags.counter & IORING_SQ_CQ_OVERFLOW);
	cq_expect(test, ctx, 3);
	cq_expect(test, ctx, 4);
	cq_expect(test, ctx, 5);
	cq_expect(test, ctx, 6);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_cq_flush_overflow(ctx);
	cq_post(ctx, 9, 9);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_FALSE(test, ctx->rings->sq_flags.counter & IORING_SQ_CQ_OVERFLOW);
	KUNIT_EXPECT_FALSE(test, test_bit(IO_CHECK_CQ_OVERFLOW, &ctx->check_cq));
	KUNIT_EXPECT_NULL(test, ctx->cq.overflow);
	cq_expect(test, ctx, 7);
	cq_expect(test, ctx, 8);
	cq_expect(test, ctx, 9);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 0);
	KUNIT_EXPECT_EQ(test, ctx->rings->cq_overflow, 0);
}

/* io_cq_free() frees the overflowed CQEs. */
static void cq_free_drops_overflow(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 1);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 1, 5);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_NOT_NULL(test, ctx->cq.overflow);
	io_cq_free(ctx);
	KUNIT_EXPECT_NULL(test, ctx->cq.overflow);
}

/* io_cq_post_more() fails without a side effect if there is no room. */
static void cq_more_refused_when_full(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 2);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	KUNIT_EXPECT_TRUE(test, cq_more(ctx, 1));
	KUNIT_EXPECT_TRUE(test, cq_more(ctx, 2));
	KUNIT_EXPECT_FALSE(test, cq_more(ctx, 3));
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 2);
	KUNIT_EXPECT_NULL(test, ctx->cq.overflow);
}

/* io_cq_post_more() fails while overflowed CQEs wait, even if there is room again. */
static void cq_more_refused_after_overflow(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 2);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 1, 3);
	io_ring_unlock(ctx);
	cq_expect(test, ctx, 1);
	cq_expect(test, ctx, 2);
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	KUNIT_EXPECT_FALSE(test, cq_more(ctx, 4));
	io_cq_flush_overflow(ctx);
	KUNIT_EXPECT_TRUE(test, cq_more(ctx, 4));
	io_ring_unlock(ctx);
	cq_expect(test, ctx, 3);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 1);
	io_cq_free(ctx);
}

/* If the program stores a head that is out of range, no CQE is overwritten. */
static void cq_lying_head(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 4);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 1, 4);
	io_ring_unlock(ctx);
	ctx->rings->cq_head += 1000;
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 5, 5);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_NOT_NULL(test, ctx->cq.overflow);
	ctx->rings->cq_head -= 1000;
	cq_expect(test, ctx, 1);
	cq_expect(test, ctx, 2);
	cq_expect(test, ctx, 3);
	cq_expect(test, ctx, 4);
	io_cq_free(ctx);
}

/* A batch larger than the stage of a multi-writer ring keeps its order, also if it overflows. */
static void cq_large_batch(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 32);
	u64 nr;

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 1, 40);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 32);
	for (nr = 1; nr <= 32; nr++)
		cq_expect(test, ctx, nr);
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_cq_flush_overflow(ctx);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 8);
	for (; nr <= 40; nr++)
		cq_expect(test, ctx, nr);
}

/* An unlock without posted CQEs does not change the tail. */
static void cq_empty_commit(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 4);
	u32 tail = ctx->rings->cq_tail;

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, ctx->rings->cq_tail, tail);
}

/* On multi-writer rings, a worker's CQE is published at once, although a batch is staged. */
static void cq_now_does_not_wait(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .cq_entries = 8);
	struct io_cqe_val val = cq_val(9);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 1, 2);
	io_cq_post_now(ctx, &val);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 1);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 3);
	cq_expect(test, ctx, 9);
	cq_expect(test, ctx, 1);
	cq_expect(test, ctx, 2);
}

/* On multi-writer rings, a worker's CQE overflows behind earlier overflowed CQEs. */
static void cq_now_overflows_in_order(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .cq_entries = 2);
	struct io_cqe_val val = cq_val(4);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 1, 3);
	io_ring_unlock(ctx);
	io_cq_post_now(ctx, &val);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 2);
	cq_expect(test, ctx, 1);
	cq_expect(test, ctx, 2);
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_cq_flush_overflow(ctx);
	io_ring_unlock(ctx);
	cq_expect(test, ctx, 3);
	cq_expect(test, ctx, 4);
}

/* A target, and its place in the order in which targets were reached. */
struct cq_counter {
	struct io_cq_target	target;
	int			*ended;
	int			place;
};

static void cq_counter_reached(struct io_cq_target *target)
{
	struct cq_counter *counter = container_of(target, struct cq_counter, target);

	counter->place = ++*counter->ended;
}

static void cq_count(struct kunit *test, struct io_ring_ctx *ctx, struct cq_counter *counter,
		     int *ended, u32 nr)
{
	counter->target.reached = cq_counter_reached;
	counter->ended = ended;
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_cq_target_add(ctx, &counter->target, nr);
	io_ring_unlock(ctx);
}

/* Post a counted or an uncounted CQE, and check how many counters have ended. */
static void cq_count_one(struct kunit *test, struct io_ring_ctx *ctx, bool counted, int *ended,
			 int expected)
{
	struct io_cqe_val val = cq_val(1);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	if (counted)
		io_cq_post(ctx, &val, NULL);
	else
		io_cq_post_uncounted(ctx, &val);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, *ended, expected);
	ctx->rings->cq_head = ctx->rings->cq_tail;
}

/* Counters end at their numbers of CQEs, equal numbers in the order of insertion. */
static void cq_counts(struct kunit *test)
{
	static const u32 numbers[] = { 3, 1, 3, 0xffffffff, 2 };
	static const int places[] = { 3, 1, 4, 0, 2 };
	struct cq_counter counters[5] = {};
	struct io_ring_ctx *ctx = cq_ring(test, 8);
	int ended = 0, i;

	for (i = 0; i < 5; i++)
		cq_count(test, ctx, &counters[i], &ended, numbers[i]);
	cq_count_one(test, ctx, true, &ended, 1);
	cq_count_one(test, ctx, false, &ended, 1);
	cq_count_one(test, ctx, false, &ended, 1);
	cq_count_one(test, ctx, true, &ended, 2);
	cq_count_one(test, ctx, true, &ended, 4);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, counters[i].place, places[i]);
	KUNIT_EXPECT_TRUE(test, test_bit(IO_LISTEN_TARGETS, &ctx->listeners));
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_cq_target_remove(ctx, &counters[3].target);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_FALSE(test, test_bit(IO_LISTEN_TARGETS, &ctx->listeners));
}

/* An uncounted CQE that has overflowed is not counted when it is flushed. */
static void cq_counts_no_overflowed(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 2);
	struct io_cqe_val val = cq_val(1);
	struct cq_counter counter = {};
	int ended = 0;

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	cq_post(ctx, 1, 2);
	io_cq_post_uncounted(ctx, &val);
	io_ring_unlock(ctx);
	cq_count(test, ctx, &counter, &ended, 1);
	ctx->rings->cq_head = ctx->rings->cq_tail;
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_cq_flush_overflow(ctx);
	io_ring_unlock(ctx);
	KUNIT_EXPECT_EQ(test, io_cq_ready(ctx), 1);
	KUNIT_EXPECT_EQ(test, ended, 0);
	cq_count_one(test, ctx, true, &ended, 1);
}

/* After 2^32 CQEs the tail is where uncounted CQEs were posted.  They are not counted again. */
static void cq_counts_beyond_a_wrap(struct kunit *test)
{
	struct io_ring_ctx *ctx = cq_ring(test, 8);
	struct io_cqe_val val = cq_val(1);
	struct cq_counter counter = {};
	int ended = 0, i;
	u32 pos;

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	for (i = 0; i < 3; i++)
		io_cq_post_uncounted(ctx, &val);
	io_ring_unlock(ctx);
	pos = ctx->cq.uncounted.at - 1;
	ctx->rings->cq_head = pos;
	ctx->rings->cq_tail = pos;
	ctx->cq.tail = pos;
	ctx->cq.published = pos;
	ctx->cq.limit = pos + ctx->cq_entries;
	cq_count(test, ctx, &counter, &ended, 8);
	for (i = 1; i < 8; i++)
		cq_count_one(test, ctx, true, &ended, 0);
	cq_count_one(test, ctx, true, &ended, 1);
}

static struct kunit_case cq_cases[] = {
	KUNIT_CASE_PARAM(cq_visible_at_commit, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_goes_round, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_overflows_in_order, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_free_drops_overflow, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_more_refused_when_full, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_more_refused_after_overflow, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_lying_head, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_large_batch, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_empty_commit, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_counts, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_counts_no_overflowed, cq_kind_gen_params),
	KUNIT_CASE_PARAM(cq_counts_beyond_a_wrap, cq_kind_gen_params),
	KUNIT_CASE(cq_now_does_not_wait),
	KUNIT_CASE(cq_now_overflows_in_order),
	{}
};

static struct kunit_suite cq_suite = {
	.name = "io_uring_cq",
	.test_cases = cq_cases,
};

kunit_test_suite(cq_suite);
