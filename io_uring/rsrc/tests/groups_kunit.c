// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of the order and the partial use of provided buffers */

/*
 * The tests use a ring of buffers in kernel memory, and write to the ring as a program
 * would.
 */
#include <kunit/test.h>

#define GROUP_SLOTS	8

struct groups_ring {
	struct io_buf_group		group;
	struct io_uring_buf		bufs[GROUP_SLOTS];
};

static struct groups_ring *groups_ring(struct kunit *test, bool inc, u32 min_left)
{
	struct groups_ring *ring = kunit_kzalloc(test, sizeof(*ring), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ring);
	ring->group.ring = true;
	ring->group.inc = inc;
	ring->group.min_left = min_left;
	ring->group.size = GROUP_SLOTS;
	ring->group.bufs = ring->bufs;
	return ring;
}

static u16 *groups_tail(struct groups_ring *ring)
{
	return &((struct io_uring_buf_ring *)ring->bufs)->tail;
}

static void groups_add(struct groups_ring *ring, u64 addr, u32 len, u16 bid)
{
	u16 *tail = groups_tail(ring), at = *tail;
	struct io_uring_buf *buf = io_group_slot(&ring->group, at);

	buf->addr = addr;
	buf->len = len;
	buf->bid = bid;
	/* like a program, store the buffer before the tail; pairs with io_group_count() */
	smp_store_release(tail, at + 1);
}

/* Head and tail pass the end of the array, and wrap at 16 bits. */
static void groups_wrap(struct kunit *test)
{
	struct groups_ring *ring = groups_ring(test, false, 0);
	struct io_buf_group *group = &ring->group;
	u32 i, k;

	for (i = 0; i < 70000; i += GROUP_SLOTS) {
		KUNIT_ASSERT_FALSE(test, io_group_look(group));
		for (k = 0; k < GROUP_SLOTS; k++)
			groups_add(ring, i + k, k + 1, i + k);
		KUNIT_ASSERT_EQ(test, io_group_count(group), GROUP_SLOTS);
		for (k = 0; k < GROUP_SLOTS; k++) {
			KUNIT_ASSERT_TRUE(test, io_group_look(group));
			KUNIT_ASSERT_EQ(test, group->seen.addr, i + k);
			KUNIT_ASSERT_EQ(test, group->seen.bid, (u16)(i + k));
			KUNIT_ASSERT_FALSE(test, io_group_use(group, 1));
		}
	}
}

static void groups_incremental(struct kunit *test)
{
	struct groups_ring *ring = groups_ring(test, true, 8);
	struct io_buf_group *group = &ring->group;

	groups_add(ring, 1000, 64, 3);
	KUNIT_ASSERT_TRUE(test, io_group_look(group));
	/* no byte was used, so the buffer stays as it is */
	KUNIT_EXPECT_TRUE(test, io_group_use(group, 0));
	KUNIT_EXPECT_EQ(test, ring->bufs[0].len, 64);
	KUNIT_EXPECT_TRUE(test, io_group_use(group, 40));
	KUNIT_EXPECT_EQ(test, ring->bufs[0].addr, 1040);
	KUNIT_EXPECT_EQ(test, ring->bufs[0].len, 24);
	KUNIT_ASSERT_TRUE(test, io_group_look(group));
	/* min_left bytes remain, which is enough */
	KUNIT_EXPECT_TRUE(test, io_group_use(group, 16));
	KUNIT_ASSERT_TRUE(test, io_group_look(group));
	/* fewer than min_left bytes remain, so the buffer is used up */
	KUNIT_EXPECT_FALSE(test, io_group_use(group, 1));
	KUNIT_EXPECT_EQ(test, ring->bufs[0].len, 0);
	KUNIT_EXPECT_EQ(test, io_group_count(group), 0);
}

/* Stores of the program to a buffer that was read already have no effect. */
static void groups_hostile(struct kunit *test)
{
	struct groups_ring *ring = groups_ring(test, true, 0);
	struct io_buf_group *group = &ring->group;

	groups_add(ring, 1000, 64, 3);
	KUNIT_ASSERT_TRUE(test, io_group_look(group));
	ring->bufs[0].len = U32_MAX;
	ring->bufs[0].addr = 5;
	KUNIT_EXPECT_TRUE(test, io_group_use(group, 60));
	KUNIT_EXPECT_EQ(test, ring->bufs[0].addr, 1060);
	KUNIT_EXPECT_EQ(test, ring->bufs[0].len, 4);
	KUNIT_ASSERT_TRUE(test, io_group_look(group));
	/* a use of more bytes than the buffer has uses up the buffer */
	KUNIT_EXPECT_FALSE(test, io_group_use(group, U32_MAX));
	/* any tail selects a valid slot */
	*groups_tail(ring) = group->head - 1;
	KUNIT_EXPECT_EQ(test, io_group_count(group), U16_MAX);
	KUNIT_EXPECT_TRUE(test, io_group_look(group));
}

/* The array that PROVIDE_BUFFERS fills grows while the first buffer is in its middle. */
static void groups_grow(struct kunit *test)
{
	struct io_buf_group *group = io_group_alloc(1);
	struct io_uring_buf buf = { .len = 1 };
	u32 next = 0, end = 0, round;

	KUNIT_ASSERT_NOT_NULL(test, group);
	for (round = 1; round < 200; round++) {
		u32 i;

		buf.addr = end;
		buf.bid = end;
		KUNIT_ASSERT_EQ(test, io_group_reserve(group, round), 0);
		io_group_append(group, buf, round);
		end += round;
		for (i = 0; i < round / 2; i++, next++) {
			KUNIT_ASSERT_TRUE(test, io_group_look(group));
			KUNIT_ASSERT_EQ(test, group->seen.addr, next);
			io_group_use(group, 1);
		}
		KUNIT_ASSERT_EQ(test, io_group_count(group), end - next);
	}
	KUNIT_EXPECT_EQ(test, io_group_reserve(group, U32_MAX), -ENOMEM);
	io_group_put(group);
}

static struct kunit_case groups_kunit_cases[] = {
	KUNIT_CASE(groups_wrap),
	KUNIT_CASE(groups_incremental),
	KUNIT_CASE(groups_hostile),
	KUNIT_CASE(groups_grow),
	{}
};

static struct kunit_suite groups_kunit_suite = {
	.name = "io_uring_rsrc_groups",
	.test_cases = groups_kunit_cases,
};

kunit_test_suite(groups_kunit_suite);
