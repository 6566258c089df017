// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of the submission queue reader */
/*
 * The program may write any values to the tail, the index array and the SQEs.  The
 * reader has to stay within the queue.
 */
#include "ring/sq.h"
#include "ring/tests/test_ring.h"

/* Queue an SQE by its index, as the program does. */
static void sq_push(struct io_ring_ctx *ctx, u32 index)
{
	if (ctx->sq.array)
		ctx->sq.array[ctx->rings->sq_tail & (ctx->sq.entries - 1)] = index;
	ctx->rings->sq_tail++;
}

/* Take the next SQE.  Return: its index, or -1 if io_sq_next() returns none. */
static int sq_take(struct io_ring_ctx *ctx)
{
	const struct io_uring_sqe *sqe;
	size_t bytes;

	mutex_lock(&ctx->uring_lock.mutex);
	sqe = io_sq_next(ctx);
	io_ring_unlock(ctx);
	if (!sqe)
		return -1;
	bytes = (const char *)sqe - (const char *)ctx->sq.sqes;
	return bytes / (ctx->flags & IORING_SETUP_SQE128 ? 128 : 64);
}

/* The reader takes SQEs in the order of the index array. */
static void sq_follows_the_array(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .sq_entries = 4);

	sq_push(ctx, 2);
	sq_push(ctx, 0);
	sq_push(ctx, 2);
	KUNIT_EXPECT_EQ(test, io_sq_pending(ctx), 3);
	KUNIT_EXPECT_EQ(test, sq_take(ctx), 2);
	KUNIT_EXPECT_EQ(test, sq_take(ctx), 0);
	KUNIT_EXPECT_EQ(test, sq_take(ctx), 2);
	KUNIT_EXPECT_EQ(test, io_sq_pending(ctx), 0);
}

/* Without an index array the reader takes SQEs in the order of the slots. */
static void sq_without_array(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .sq_entries = 4,
					    .flags = IORING_SETUP_NO_SQARRAY);
	int i;

	for (i = 0; i < 6; i++) {
		sq_push(ctx, 0);
		KUNIT_EXPECT_EQ(test, sq_take(ctx), i % 4);
		io_sq_release(ctx);
	}
}

/* An index out of range is consumed, and counted in sq_dropped. */
static void sq_drops_bad_index(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .sq_entries = 4);

	sq_push(ctx, 4);
	sq_push(ctx, U32_MAX);
	sq_push(ctx, 3);
	KUNIT_EXPECT_EQ(test, sq_take(ctx), -1);
	KUNIT_EXPECT_EQ(test, sq_take(ctx), -1);
	KUNIT_EXPECT_EQ(test, sq_take(ctx), 3);
	KUNIT_EXPECT_EQ(test, ctx->rings->sq_dropped, 2);
}

/* SQEs of 128 bytes are twice as far apart. */
static void sq_big_sqes(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .sq_entries = 4,
					    .flags = IORING_SETUP_SQE128);
	int i;

	for (i = 0; i < 4; i++)
		sq_push(ctx, 3 - i);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, sq_take(ctx), 3 - i);
}

/* If the tail is out of range, the reader assumes a full queue. */
static void sq_lying_tail(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .sq_entries = 4);

	ctx->rings->sq_tail += 1000;
	KUNIT_EXPECT_EQ(test, io_sq_pending(ctx), 4);
	ctx->rings->sq_tail = ctx->sq.head - 1;
	KUNIT_EXPECT_EQ(test, io_sq_pending(ctx), 4);
}

/* Positions wrap at 2^32. */
static void sq_wraps(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .sq_entries = 4, .start = U32_MAX - 1);
	int i;

	for (i = 0; i < 4; i++)
		sq_push(ctx, i);
	KUNIT_EXPECT_TRUE(test, io_sq_full(ctx));
	KUNIT_EXPECT_EQ(test, io_sq_pending(ctx), 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, sq_take(ctx), i);
	KUNIT_EXPECT_EQ(test, io_sq_pending(ctx), 0);
	KUNIT_EXPECT_EQ(test, ctx->sq.head, 2);
}

/* The program finds free slots after io_sq_release(), not before. */
static void sq_release_makes_room(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .sq_entries = 2);

	sq_push(ctx, 0);
	sq_push(ctx, 1);
	sq_take(ctx);
	sq_take(ctx);
	KUNIT_EXPECT_TRUE(test, io_sq_full(ctx));
	io_sq_release(ctx);
	KUNIT_EXPECT_FALSE(test, io_sq_full(ctx));
}

/* With IORING_SETUP_SQ_REWIND, each batch begins at the first slot, and no word is shared. */
static void sq_rewinds(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .sq_entries = 4,
					    .flags = IORING_SETUP_SQ_REWIND |
						     IORING_SETUP_NO_SQARRAY);
	int round;

	for (round = 0; round < 2; round++) {
		KUNIT_EXPECT_EQ(test, io_sq_pending(ctx), 4);
		KUNIT_EXPECT_EQ(test, sq_take(ctx), 0);
		KUNIT_EXPECT_EQ(test, sq_take(ctx), 1);
		io_sq_release(ctx);
		KUNIT_EXPECT_EQ(test, ctx->rings->sq_head, 0);
	}
	ctx->rings->sq_tail = 77;
	KUNIT_EXPECT_EQ(test, io_sq_pending(ctx), 4);
}

static struct kunit_case sq_cases[] = {
	KUNIT_CASE(sq_follows_the_array),
	KUNIT_CASE(sq_without_array),
	KUNIT_CASE(sq_drops_bad_index),
	KUNIT_CASE(sq_big_sqes),
	KUNIT_CASE(sq_lying_tail),
	KUNIT_CASE(sq_wraps),
	KUNIT_CASE(sq_release_makes_room),
	KUNIT_CASE(sq_rewinds),
	{}
};

static struct kunit_suite sq_suite = {
	.name = "io_uring_sq",
	.test_cases = sq_cases,
};

kunit_test_suite(sq_suite);
