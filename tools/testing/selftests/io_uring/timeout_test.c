// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: TIMEOUT and TIMEOUT_REMOVE */
/*
 * A timeout ends at its time, after a number of CQEs, or when it is removed.  Whichever of these
 * race, the timeout posts exactly one final CQE, and never -ETIME before its time.  The checks of
 * SQE fields and flags are tested one by one.
 */
#include "timer.h"
#include <pthread.h>
#include <sys/wait.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

FIXTURE(to) {
	struct iou r;
};

FIXTURE_VARIANT(to) {
	unsigned int flags;
	unsigned int others;
};

IOU_KINDS_OF_TASK(to);
IOU_KIND(to, defer_large, IOU_DEFER | IOU_LARGE);
/* If many requests wait in a ring, further timers share an hrtimer for each clock. */
FIXTURE_VARIANT_ADD(to, plain_many) { .others = 300 };
FIXTURE_VARIANT_ADD(to, defer_many) { .flags = IOU_DEFER, .others = 300 };

FIXTURE_SETUP(to)
{
	unsigned int i;

	ASSERT_EQ(0, iou_init(&self->r, 64, variant->flags));
	for (i = 0; i < variant->others; i++) {
		/* the timeouts use the three clocks in turn */
		timeout(&self->r, HOUR + i, 0, i % 3 << 2, 1000 + i);
		ASSERT_EQ(1, iou_submit(&self->r));
	}
}

FIXTURE_TEARDOWN(to)
{
	iou_exit(&self->r);
}

static const struct {
	const char *name;
	int clock;
	unsigned int flag;
} clocks[] = {
	{ "monotonic", CLOCK_MONOTONIC, 0 },
	{ "boottime", CLOCK_BOOTTIME, IORING_TIMEOUT_BOOTTIME },
	{ "realtime", CLOCK_REALTIME, IORING_TIMEOUT_REALTIME },
};

/* A relative or absolute timeout does not expire early, nor much too late, on any clock. */
TEST_F(to, expires)
{
	struct iou *r = &self->r;
	unsigned int i, abs;

	for (i = 0; i < ARRAY_LEN(clocks); i++) {
		for (abs = 0; abs < 2; abs++) {
			long long start = now_on(clocks[i].clock), end = start + 30 * MS;

			timeout(r, abs ? end : 30 * MS, 0,
				clocks[i].flag | (abs ? IORING_TIMEOUT_ABS : 0), 1);
			ASSERT_LE(0, iou_submit(r));
			ASSERT_EQ(0, iou_wait(r, 1));
			EXPECT_LE(end, now_on(clocks[i].clock)) {
				TH_LOG("%s came early", clocks[i].name);
			}
			EXPECT_GT(end + 2000 * MS, now_on(clocks[i].clock));
			EXPECT_STREQ("1:ETIME", cqes(r, 1));
		}
	}
	/* times that have passed already */
	timeout(r, 0, 0, 0, 1);
	EXPECT_STREQ("1:ETIME", submit_cqes(r, 1));
	timeout(r, 1, 0, IORING_TIMEOUT_ABS, 1);
	EXPECT_STREQ("1:ETIME", submit_cqes(r, 1));
	/* the earlier timeout expires first, in whatever order they were submitted */
	timeout(r, 40 * MS, 0, 0, 2);
	timeout(r, 10 * MS, 0, 0, 1);
	EXPECT_STREQ("1:ETIME 2:ETIME", submit_cqes(r, 2));
}

TEST_F(to, wakes_a_waiter)
{
	struct iou *r = &self->r;

	timeout(r, 20 * MS, 0, 0, 1);
	ASSERT_LE(0, iou_submit_wait(r, 1));
	ASSERT_EQ(0, iou_wait(r, 1));
	EXPECT_STREQ("1:ETIME", cqes(r, 1));
	/* a wait for three timeouts */
	timeout(r, 20 * MS, 0, 0, 1);
	timeout(r, 10 * MS, 0, 0, 2);
	timeout(r, 15 * MS, 0, 0, 3);
	ASSERT_LE(0, iou_submit_wait(r, 3));
	ASSERT_EQ(0, iou_wait(r, 3));
	EXPECT_STREQ("2:ETIME 3:ETIME 1:ETIME", cqes(r, 3));
}

/*
 * Submit the prepared SQEs and wait for more CQEs than will come.  Return: 0 if a timeout ended the
 * wait; -ETIME if the timeout expired before the wait began; another negative errno on failure.
 * A busy machine may cause -ETIME, so the caller has to try again with more time.
 */
static int ended(struct iou *r)
{
	struct __kernel_timespec ts = { .tv_sec = 2 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	int ret = iou_submit(r);

	return ret < 0 ? ret : iou_enter_arg(r, 0, 40, IORING_ENTER_GETEVENTS, &arg);
}

#define TRIES	5

/* A timeout ends a wait for any number of CQEs. */
TEST_F(to, ends_a_wait)
{
	static const struct {
		unsigned int count, flags, sqe_flags;
		const char *cqes;
	} kinds[] = {
		{ 0, 0, 0, "1:ETIME" },
		{ 1, IORING_TIMEOUT_MULTISHOT, 0, "1:ETIME" },
		/* a timeout that posts no CQE ends the wait, too */
		{ 0, IORING_TIMEOUT_ETIME_SUCCESS, IOSQE_CQE_SKIP_SUCCESS, "" },
	};
	struct iou *r = &self->r;
	unsigned int k, try;
	int ret;

	for (k = 0; k < ARRAY_LEN(kinds); k++) {
		/* an SQPOLL thread that posts no CQE wakes no task */
		if (!*kinds[k].cqes && r->flags & IORING_SETUP_SQPOLL)
			continue;
		for (try = 0; try < TRIES; try++) {
			long long ns = 20 * MS << try, start = now_on(CLOCK_MONOTONIC);

			timeout(r, ns, kinds[k].count, kinds[k].flags, 1)->flags =
				kinds[k].sqe_flags;
			ret = ended(r);
			EXPECT_LE(start + ns, now_on(CLOCK_MONOTONIC));
			EXPECT_STREQ(kinds[k].cqes, cqes(r, !!*kinds[k].cqes));
			if (ret != -ETIME)
				break;
		}
		EXPECT_EQ(0, ret);
	}
	timeout(r, 20 * MS, 3, IORING_TIMEOUT_MULTISHOT, 1);
	ASSERT_LE(0, iou_submit(r));
	EXPECT_EQ(0, iou_wait_ms(r, 8, IOU_PATIENCE));
	EXPECT_LE(1, iou_ready(r));
	EXPECT_STREQ("1:ETIME+ 1:ETIME+ 1:ETIME", cqes(r, 3));
	/* a timeout that ends after one CQE */
	for (try = 0; try < TRIES; try++) {
		timeout(r, 60000 * MS, 1, 0, 1);
		iou_nop(r, 2)->flags = IOSQE_ASYNC;
		ret = ended(r);
		EXPECT_STREQ("2:0 1:0", cqes(r, 2));
		if (ret != -ETIME)
			break;
	}
	EXPECT_EQ(0, ret);
}

/* Submit one SQE.  Return: its CQE as text */
static const char *one(struct iou *r)
{
	return submit_cqes(r, 1);
}

TEST_F(to, refuses)
{
	struct iou *r = &self->r;

	timeout(r, 0, 0, 0, 1)->buf_index = 1;
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 0, 1)->len = 0;
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 0, 1)->len = 2;
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 0, 1)->splice_fd_in = 1;
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 0, 1)->addr3 = 1;
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 0, 1)->__pad2[0] = 1;
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 0, 1)->ioprio = 1;
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 0, 1)->flags = IOSQE_BUFFER_SELECT;
	EXPECT_STREQ("1:-95", one(r));
	/* these fields and flags have no effect on a timeout */
	timeout(r, 0, 0, 0, 1)->fd = 77;
	EXPECT_STREQ("1:ETIME", one(r));
	timeout(r, 0, 0, 0, 1)->off = 1ULL << 32;
	EXPECT_STREQ("1:ETIME", one(r));
	timeout(r, 0, 0, 0, 1)->flags = IOSQE_FIXED_FILE;
	EXPECT_STREQ("1:ETIME", one(r));
	timeout(r, 0, 0, 0, 1)->flags = IOSQE_ASYNC;
	EXPECT_STREQ("1:ETIME", one(r));

	timeout(r, 0, 0, IORING_TIMEOUT_UPDATE, 1);
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, IORING_LINK_TIMEOUT_UPDATE, 1);
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 1U << 8, 1);
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 1U << 31, 1);
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, IORING_TIMEOUT_BOOTTIME | IORING_TIMEOUT_REALTIME, 1);
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, IORING_TIMEOUT_MULTISHOT | IORING_TIMEOUT_ABS, 1);
	EXPECT_STREQ("1:EINVAL", one(r));

	timeout(r, -1000 * MS, 0, 0, 1);
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, NEGATIVE, 0, 0, 1);
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, NEGATIVE, 0, IORING_TIMEOUT_ABS, 1);
	EXPECT_STREQ("1:EINVAL", one(r));
	timeout(r, 0, 0, 0, 1)->addr = 0;
	EXPECT_STREQ("1:EFAULT", one(r));
	timeout(r, 0, 0, 0, 1)->addr = 16;
	EXPECT_STREQ("1:EFAULT", one(r));
	/* two mistakes: the flags are checked before the address */
	timeout(r, 0, 0, 1U << 8, 1)->addr = 0;
	EXPECT_STREQ("1:EINVAL", one(r));
}

/* A tv_nsec of more than a second counts in full; the largest tv_sec never expires. */
TEST_F(to, odd_times)
{
	struct __kernel_timespec ts = { .tv_nsec = 1020 * MS };
	struct iou *r = &self->r;
	long long start = now_on(CLOCK_MONOTONIC);

	timeout(r, 0, 0, 0, 1)->addr = (uintptr_t)&ts;
	EXPECT_STREQ("1:ETIME", one(r));
	EXPECT_LE(start + 1020 * MS, now_on(CLOCK_MONOTONIC));
	ts.tv_sec = 0x7fffffffffffffffLL;
	ts.tv_nsec = 0;
	timeout(r, 0, 0, 0, 1)->addr = (uintptr_t)&ts;
	timeout(r, 0, 0, IORING_TIMEOUT_ABS | IORING_TIMEOUT_REALTIME, 2)->addr = (uintptr_t)&ts;
	EXPECT_STREQ("", submit_cqes(r, 0));
	timeout_remove(r, 1, 3);
	timeout_remove(r, 2, 4);
	EXPECT_STREQ("3:0 4:0 1:ECANCELED 2:ECANCELED", submit_cqes(r, 4));
}

TEST_F(to, removed)
{
	struct iou *r = &self->r;

	timeout(r, HOUR, 0, 0, 1);
	timeout_remove(r, 1, 2);
	EXPECT_STREQ("2:0 1:ECANCELED", submit_cqes(r, 2));
	timeout_remove(r, 1, 2);
	EXPECT_STREQ("2:ENOENT", submit_cqes(r, 1));
	timeout(r, HOUR, 0, 0, 1);
	EXPECT_STREQ("", submit_cqes(r, 0));
	timeout_remove(r, 1, 2);
	timeout_remove(r, 1, 3);
	EXPECT_STREQ("2:0 3:ENOENT 1:ECANCELED", submit_cqes(r, 3));
	/* a worker removes the timeout */
	timeout(r, HOUR, 0, 0, 1);
	EXPECT_STREQ("", submit_cqes(r, 0));
	timeout_remove(r, 1, 2)->flags = IOSQE_ASYNC;
	ASSERT_LE(0, iou_submit(r));
	ASSERT_EQ(0, iou_wait(r, 2));
	EXPECT_EQ(2, iou_ready(r));
	iou_seen(r, 2);
	/* of timeouts with the same user_data, the oldest is removed */
	timeout(r, HOUR, 0, 0, 1);
	timeout(r, 40 * MS, 0, 0, 1);
	timeout_remove(r, 1, 2);
	EXPECT_STREQ("2:0 1:ECANCELED 1:ETIME", submit_cqes(r, 3));
	/* an expired timeout is not found */
	timeout(r, 0, 0, 0, 1);
	EXPECT_STREQ("1:ETIME", submit_cqes(r, 1));
	timeout_remove(r, 1, 2);
	EXPECT_STREQ("2:ENOENT", submit_cqes(r, 1));
}

TEST_F(to, remove_refuses)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;

	timeout_remove(r, 1, 2)->buf_index = 1;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_remove(r, 1, 2)->len = 1;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_remove(r, 1, 2)->splice_fd_in = 1;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_remove(r, 1, 2)->addr3 = 1;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_remove(r, 1, 2)->__pad2[0] = 1;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_remove(r, 1, 2)->ioprio = 1;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_remove(r, 1, 2)->flags = IOSQE_FIXED_FILE;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_remove(r, 1, 2)->flags = IOSQE_BUFFER_SELECT;
	EXPECT_STREQ("2:-95", one(r));
	timeout_remove(r, 1, 2)->timeout_flags = IORING_TIMEOUT_ABS;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_remove(r, 1, 2)->timeout_flags = 1U << 31;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_remove(r, 1, 2)->fd = 77;
	EXPECT_STREQ("2:ENOENT", one(r));
	timeout_remove(r, 1, 2)->off = 1;
	EXPECT_STREQ("2:ENOENT", one(r));

	timeout_update(r, 1, 0, 0, 2)->len = 1;
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_update(r, 1, 0, 0, 2)->addr2 = 0;
	EXPECT_STREQ("2:EFAULT", one(r));
	timeout_update(r, 1, NEGATIVE, 0, 2);
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_update(r, 1, 0, IORING_TIMEOUT_BOOTTIME, 2);
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_update(r, 1, 0, IORING_TIMEOUT_REALTIME, 2);
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_update(r, 1, 0, IORING_TIMEOUT_CLOCK_MASK, 2);
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_update(r, 1, 0, IORING_TIMEOUT_ETIME_SUCCESS, 2);
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_update(r, 1, 0, IORING_TIMEOUT_MULTISHOT, 2);
	EXPECT_STREQ("2:EINVAL", one(r));
	timeout_update(r, 1, 0, IORING_TIMEOUT_ABS, 2);
	EXPECT_STREQ("2:ENOENT", one(r));
	timeout_update(r, 1, 0, IORING_LINK_TIMEOUT_UPDATE, 2);
	EXPECT_STREQ("2:ENOENT", one(r));
	sqe = timeout_update(r, 1, 0, 0, 2);
	sqe->timeout_flags = IORING_LINK_TIMEOUT_UPDATE;
	EXPECT_STREQ("2:ENOENT", one(r));
}

TEST_F(to, updated)
{
	struct iou *r = &self->r;
	long long start;
	unsigned int i;

	timeout(r, HOUR, 0, 0, 1);
	timeout_update(r, 1, 20 * MS, 0, 2);
	EXPECT_STREQ("2:0 1:ETIME", submit_cqes(r, 2));
	timeout(r, 30 * MS, 0, 0, 1);
	timeout_update(r, 1, HOUR, 0, 2);
	EXPECT_STREQ("2:0", submit_cqes(r, 1));
	EXPECT_STREQ("", cqes(r, 0));
	timeout_update(r, 1, 1, 0, 2);
	EXPECT_STREQ("2:0 1:ETIME", submit_cqes(r, 2));
	timeout_update(r, 1, 1, 0, 2);
	EXPECT_STREQ("2:ENOENT", submit_cqes(r, 1));
	/* IORING_LINK_TIMEOUT_UPDATE does not find a plain timeout */
	timeout(r, HOUR, 0, 0, 1);
	timeout_update(r, 1, 0, IORING_LINK_TIMEOUT_UPDATE, 2);
	EXPECT_STREQ("2:ENOENT", submit_cqes(r, 1));
	timeout_remove(r, 1, 2);
	EXPECT_STREQ("2:0 1:ECANCELED", submit_cqes(r, 2));
	/* an update keeps the clock, but not whether the time is absolute */
	for (i = 0; i < ARRAY_LEN(clocks); i++) {
		timeout(r, HOUR, 0, clocks[i].flag, 1);
		start = now_on(clocks[i].clock);
		timeout_update(r, 1, start + 20 * MS, IORING_TIMEOUT_ABS, 2);
		EXPECT_STREQ("2:0 1:ETIME", submit_cqes(r, 2));
		EXPECT_LE(start + 20 * MS, now_on(clocks[i].clock));
	}
	timeout(r, HOUR, 0, IORING_TIMEOUT_ABS, 1);
	timeout_update(r, 1, 20 * MS, 0, 2);
	EXPECT_STREQ("2:0 1:ETIME", submit_cqes(r, 2));
	/* an update drops the number of CQEs after which the timeout ends */
	timeout(r, HOUR, 2, 0, 1);
	timeout_update(r, 1, HOUR, 0, 2);
	iou_nop(r, 3);
	iou_nop(r, 4);
	EXPECT_STREQ("2:0 3:0 4:0", submit_cqes(r, 3));
	timeout_remove(r, 1, 2);
	EXPECT_STREQ("2:0 1:ECANCELED", submit_cqes(r, 2));
}

/* Prepare a TIMEOUT or a LINK_TIMEOUT whose SQE has the time itself. */
static struct io_uring_sqe *immediate(struct iou *r, int op, long long ns, unsigned int flags,
				      unsigned long long data)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, -1, NULL, 1, 0);

	sqe->addr = ns;
	sqe->timeout_flags = flags | IORING_TIMEOUT_IMMEDIATE_ARG;
	sqe->user_data = data;
	return sqe;
}

/* Prepare an update with the time itself. */
static void immediate_update(struct iou *r, unsigned long long of, long long ns,
			     unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_TIMEOUT_REMOVE, -1, NULL, 0, 0);

	sqe->addr = of;
	sqe->addr2 = ns;
	sqe->timeout_flags = flags | IORING_TIMEOUT_UPDATE | IORING_TIMEOUT_IMMEDIATE_ARG;
	sqe->user_data = 2;
}

/* The SQE has a number of nanoseconds instead of an address.  Mutant: immediate-time-negative. */
TEST_F(to, immediate)
{
	struct iou *r = &self->r;
	long long start;
	unsigned int i;
	int fds[2];
	char c;

	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_TIMEOUT_IMMEDIATE_ARG");
	for (i = 0; i < ARRAY_LEN(clocks); i++) {
		start = now_on(clocks[i].clock);
		immediate(r, IORING_OP_TIMEOUT, 5 * MS, clocks[i].flag, 1);
		EXPECT_STREQ("1:ETIME", submit_cqes(r, 1));
		EXPECT_LE(start + 5 * MS, now_on(clocks[i].clock));
		start = now_on(clocks[i].clock) + 5 * MS;
		immediate(r, IORING_OP_TIMEOUT, start, clocks[i].flag | IORING_TIMEOUT_ABS, 1);
		EXPECT_STREQ("1:ETIME", submit_cqes(r, 1));
		EXPECT_LE(start, now_on(clocks[i].clock));
	}
	immediate(r, IORING_OP_TIMEOUT, MS, IORING_TIMEOUT_MULTISHOT, 1)->off = 2;
	EXPECT_STREQ("1:ETIME+ 1:ETIME", submit_cqes(r, 2));

	/* updates, to a sooner and to a later time */
	immediate(r, IORING_OP_TIMEOUT, HOUR, 0, 1);
	immediate_update(r, 1, 5 * MS, 0);
	EXPECT_STREQ("2:0 1:ETIME", submit_cqes(r, 2));
	timeout(r, HOUR, 0, 0, 1);
	immediate_update(r, 1, now_on(CLOCK_MONOTONIC), IORING_TIMEOUT_ABS);
	EXPECT_STREQ("2:0 1:ETIME", submit_cqes(r, 2));

	ASSERT_EQ(0, pipe(fds));
	iou_prep(r, IORING_OP_READ, fds[0], &c, 1, 0)->flags = IOSQE_IO_LINK;
	immediate(r, IORING_OP_LINK_TIMEOUT, 5 * MS, 0, 3);
	EXPECT_STREQ("3:ETIME 0:ECANCELED", submit_cqes(r, 2));
	close(fds[0]);
	close(fds[1]);

	/* times below zero, the longest time, and a removal, which has no time */
	immediate(r, IORING_OP_TIMEOUT, -1, 0, 1);
	EXPECT_STREQ("1:EINVAL", submit_cqes(r, 1));
	immediate(r, IORING_OP_TIMEOUT, 1LL << 63, IORING_TIMEOUT_ABS, 1);
	EXPECT_STREQ("1:EINVAL", submit_cqes(r, 1));
	immediate(r, IORING_OP_TIMEOUT, ~(1ULL << 63), 0, 1);
	EXPECT_STREQ("", submit_cqes(r, 0));
	immediate_update(r, 1, -1, 0);
	EXPECT_STREQ("2:EINVAL", submit_cqes(r, 1));
	timeout_remove(r, 1, 2);
	EXPECT_STREQ("2:0 1:ECANCELED", submit_cqes(r, 2));
}

TEST_F(to, counts)
{
	struct iou *r = &self->r;
	unsigned int i;

	timeout(r, HOUR, 2, 0, 1);
	EXPECT_STREQ("", submit_cqes(r, 0));
	iou_nop(r, 2);
	EXPECT_STREQ("2:0", submit_cqes(r, 1));
	iou_nop(r, 3);
	EXPECT_STREQ("3:0 1:0", submit_cqes(r, 2));
	/* in one batch, CQEs of requests before and behind the timeout count */
	timeout(r, HOUR, 1, 0, 1);
	iou_nop(r, 2);
	EXPECT_STREQ("2:0 1:0", submit_cqes(r, 2));
	iou_nop(r, 2);
	timeout(r, HOUR, 1, 0, 1);
	EXPECT_STREQ("2:0 1:0", submit_cqes(r, 2));
	/* several timeouts end in the order of their targets */
	timeout(r, HOUR, 4, 0, 4);
	timeout(r, HOUR, 1, 0, 1);
	timeout(r, HOUR, 3, 0, 3);
	timeout(r, HOUR, 3, 0, 33);
	timeout(r, HOUR, 0, 0, 9);
	EXPECT_STREQ("", submit_cqes(r, 0));
	for (i = 0; i < 3; i++)
		iou_nop(r, 10 + i);
	EXPECT_STREQ("10:0 11:0 12:0 1:0 3:0 33:0", submit_cqes(r, 6));
	iou_nop(r, 13);
	EXPECT_STREQ("13:0 4:0", submit_cqes(r, 2));
	timeout_remove(r, 9, 2);
	EXPECT_STREQ("2:0 9:ECANCELED", submit_cqes(r, 2));
	/* 39 CQEs of one batch do not reach a target of 40 */
	timeout(r, HOUR, 40, 0, 1);
	for (i = 0; i < 39; i++)
		iou_nop(r, 2);
	ASSERT_LE(0, iou_submit(r));
	ASSERT_EQ(0, iou_wait(r, 39));
	iou_wait_ms(r, 40, SILENCE);
	ASSERT_EQ(39, iou_ready(r));
	iou_seen(r, 39);
	iou_nop(r, 3);
	EXPECT_STREQ("3:0 1:0", submit_cqes(r, 2));
	/* a target may be far away */
	timeout(r, HOUR, 0xffffffff, 0, 1);
	timeout(r, HOUR, 0x80000001, 0, 2);
	timeout(r, HOUR, 1, 0, 3);
	iou_nop(r, 4);
	EXPECT_STREQ("4:0 3:0", submit_cqes(r, 2));
	iou_nop(r, 4);
	EXPECT_STREQ("4:0", submit_cqes(r, 1));
	timeout_remove(r, 1, 5);
	timeout_remove(r, 2, 6);
	EXPECT_STREQ("5:0 6:0 1:ECANCELED 2:ECANCELED", submit_cqes(r, 4));
}

/* The CQEs of timeouts do not count, however the timeouts ended. */
TEST_F(to, counts_no_timeouts)
{
	struct iou *r = &self->r;

	timeout(r, HOUR, 2, 0, 1);
	timeout(r, 1, 0, 0, 2);
	EXPECT_STREQ("2:ETIME", submit_cqes(r, 1));
	timeout(r, HOUR, 1, 0, 3);
	EXPECT_STREQ("", submit_cqes(r, 0));
	iou_nop(r, 4);
	EXPECT_STREQ("4:0 3:0", submit_cqes(r, 2));
	iou_nop(r, 5);
	EXPECT_STREQ("5:0 1:0", submit_cqes(r, 2));
	/* the CQE of a removal counts */
	timeout(r, HOUR, 2, 0, 1);
	timeout(r, HOUR, 0, 0, 2);
	EXPECT_STREQ("", submit_cqes(r, 0));
	timeout_remove(r, 2, 3);
	EXPECT_STREQ("3:0 2:ECANCELED", submit_cqes(r, 2));
	iou_nop(r, 4);
	EXPECT_STREQ("4:0 1:0", submit_cqes(r, 2));
}

/* Timeouts that end without a CQE do not count, either.  differences: timeout-count-hidden */
TEST_F(to, counts_no_hidden)
{
	struct iou *r = &self->r;
	unsigned int i;

	/* 6.12 subtracts such timeouts from the number of CQEs */
	if (iou_on_stock())
		SKIP(return, "miscounts");
	/* as long as timeout 9 waits, the ring keeps its count of CQEs, and does not begin anew */
	timeout(r, HOUR, 100, 0, 9);
	for (i = 0; i < 3; i++) {
		timeout(r, 1, 0, IORING_TIMEOUT_ETIME_SUCCESS, 2)->flags = IOSQE_CQE_SKIP_SUCCESS;
		EXPECT_STREQ("", submit_cqes(r, 0));
	}
	timeout(r, HOUR, 1, 0, 1);
	EXPECT_STREQ("", submit_cqes(r, 0));
	iou_nop(r, 2);
	EXPECT_STREQ("2:0 1:0", submit_cqes(r, 2));
	timeout(r, HOUR, 2, 0, 1);
	timeout(r, 1, 0, IORING_TIMEOUT_ETIME_SUCCESS, 2)->flags = IOSQE_CQE_SKIP_SUCCESS;
	EXPECT_STREQ("", submit_cqes(r, 0));
	iou_nop(r, 2);
	EXPECT_STREQ("2:0", submit_cqes(r, 1));
	iou_nop(r, 2);
	EXPECT_STREQ("2:0 1:0", submit_cqes(r, 2));
	timeout_remove(r, 9, 2);
	EXPECT_STREQ("2:0 9:ECANCELED", submit_cqes(r, 2));
}

/* CPU time of this thread in microseconds */
static long long cpu_us(void)
{
	return now_on(CLOCK_THREAD_CPUTIME_ID) / 1000;
}

/* Start @nr timeouts that count CQEs.  Return: the CPU time that it took */
static long long start_counting(struct iou *r, unsigned int first, unsigned int nr)
{
	long long start = cpu_us();
	unsigned int i;

	for (i = first; i < first + nr; i++) {
		if (!iou_sq_room(r))
			iou_submit(r);
		timeout(r, HOUR, 1000000, 0, i);
	}
	iou_submit(r);
	return cpu_us() - start;
}

/* Remove @nr timeouts; the removals post no CQEs.  Return: the CPU time that it took */
static long long stop_counting(struct iou *r, unsigned int first, unsigned int nr)
{
	long long start = cpu_us();
	unsigned int i;

	for (i = first; i < first + nr; i++) {
		if (!iou_sq_room(r))
			iou_submit(r);
		timeout_remove(r, i, i)->flags = IOSQE_CQE_SKIP_SUCCESS;
	}
	iou_submit(r);
	return cpu_us() - start;
}

/*
 * To start or end a timeout that counts CQEs takes as long among many timeouts as among few.  The
 * test removes the timeouts that were added last.
 * differences: none, only the time that each takes differs
 */
TEST(many_that_count)
{
	const unsigned int some = 1000, many = 20000;
	long long few, last, few_off, last_off;
	struct iou r;

	if (iou_on_stock())
		SKIP(return, "walks a list");
	ASSERT_EQ(0, iou_init_cq(&r, 1024, 32768, IOU_DEFER));
	few = start_counting(&r, 0, some);
	few_off = stop_counting(&r, 0, some);
	start_counting(&r, 0, many);
	last = start_counting(&r, many, some);
	last_off = stop_counting(&r, many, some);
	EXPECT_LT(last, 8 * few);
	EXPECT_LT(last_off, 8 * few_off);
	iou_exit(&r);
}

struct sleeper {
	struct iou *r;
	pid_t task;
	int ret;
	long long took;
};

static void *sleep_for_one(void *arg)
{
	struct sleeper *s = arg;
	long long start = now_on(CLOCK_MONOTONIC);

	store_rel(&s->task, gettid());
	s->ret = iou_wait_ms(s->r, 1, IOU_PATIENCE);
	s->took = now_on(CLOCK_MONOTONIC) - start;
	return NULL;
}

/* A timeout ends the waits of all threads, even if it posts no CQE. */
TEST(hidden_ends_anothers_wait)
{
	struct sleeper s = { NULL };
	pthread_t thread;
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 8, 0));
	s.r = &r;
	ASSERT_EQ(0, pthread_create(&thread, NULL, sleep_for_one, &s));
	while (!load_acq(&s.task) || !iou_asleep(s.task))
		sched_yield();
	timeout(&r, 50 * MS, 0, IORING_TIMEOUT_ETIME_SUCCESS, 1)->flags = IOSQE_CQE_SKIP_SUCCESS;
	ASSERT_EQ(1, iou_submit(&r));
	iou_sleep_ms(100);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, s.ret);
	EXPECT_GT(IOU_PATIENCE * MS, s.took);
	iou_exit(&r);
}

/* CQEs that workers post count, as well as CQEs of events before or during a wait. */
TEST_F(to, counts_late_ones)
{
	struct iou *r = &self->r;
	unsigned int i;
	char buf[8];
	int p[2];

	ASSERT_EQ(0, pipe(p));
	timeout(r, HOUR, 2, 0, 1);
	for (i = 0; i < 2; i++)
		iou_nop(r, 2)->flags = IOSQE_ASYNC;
	EXPECT_STREQ("2:0 2:0 1:0", submit_cqes(r, 3));
	timeout(r, HOUR, 3, 0, 1);
	for (i = 0; i < 3; i++) {
		iou_prep(r, IORING_OP_READ, p[0], buf, 1, 0)->user_data = 3;
	}
	EXPECT_STREQ("", submit_cqes(r, 0));
	ASSERT_EQ(2, write(p[1], "xx", 2));
	EXPECT_STREQ("3:1 3:1", cqes(r, 2));
	ASSERT_EQ(1, write(p[1], "x", 1));
	ASSERT_EQ(0, iou_wait(r, 2));
	EXPECT_STREQ("3:1 1:0", cqes(r, 2));
	close(p[0]);
	close(p[1]);
}

TEST_F(to, repeats)
{
	struct iou *r = &self->r;
	char rest[4096] = "";
	bool found = false;
	unsigned int i;
	long long start;

	timeout(r, 5 * MS, 3, IORING_TIMEOUT_MULTISHOT, 1);
	start = now_on(CLOCK_MONOTONIC);
	ASSERT_LE(0, iou_submit(r));
	ASSERT_EQ(0, iou_wait(r, 3));
	EXPECT_LE(start + 15 * MS, now_on(CLOCK_MONOTONIC));
	EXPECT_STREQ("1:ETIME+ 1:ETIME+ 1:ETIME", cqes(r, 3));
	timeout(r, 5 * MS, 1, IORING_TIMEOUT_MULTISHOT, 1);
	EXPECT_STREQ("1:ETIME", submit_cqes(r, 1));
	/* a timeout without a number of CQEs repeats until it is removed */
	timeout(r, MS, 0, IORING_TIMEOUT_MULTISHOT | IORING_TIMEOUT_BOOTTIME, 1);
	ASSERT_LE(0, iou_submit(r));
	for (i = 0; i < 20; i++) {
		struct io_uring_cqe cqe;

		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(-ETIME, cqe.res);
		EXPECT_EQ(IORING_CQE_F_MORE, cqe.flags);
	}
	/* 6.12 does not find the timeout between an expiry and its CQE */
	for (i = 0; i < 1000 && !found; i++) {
		struct io_uring_cqe cqe;

		timeout_update(r, 1, HOUR, 0, 2);
		ASSERT_LE(0, iou_submit(r));
		do {
			ASSERT_EQ(0, iou_reap(r, &cqe));
		} while (cqe.user_data != 2);
		found = !cqe.res;
	}
	EXPECT_TRUE(found);
	/* the last expiry may still be task work */
	ASSERT_LE(0, iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS));
	write_cqes(r, rest, sizeof(rest));
	EXPECT_STREQ("", cqes(r, 0));
	timeout_remove(r, 1, 2);
	EXPECT_STREQ("2:0 1:ECANCELED", submit_cqes(r, 2));
	/* an update keeps the count and changes the interval */
	timeout(r, HOUR, 2, IORING_TIMEOUT_MULTISHOT, 1);
	timeout_update(r, 1, 10 * MS, 0, 2);
	EXPECT_STREQ("2:0 1:ETIME+ 1:ETIME", submit_cqes(r, 3));
	timeout(r, HOUR, 2, IORING_TIMEOUT_MULTISHOT, 1);
	timeout_update(r, 1, 10 * MS, IORING_TIMEOUT_ABS, 2);
	EXPECT_STREQ("2:EINVAL", submit_cqes(r, 1));
	timeout_remove(r, 1, 2);
	EXPECT_STREQ("2:0 1:ECANCELED", submit_cqes(r, 2));
	/* the CQEs of a repeating timeout do not count for other timeouts */
	timeout(r, HOUR, 2, 0, 4);
	timeout(r, MS, 3, IORING_TIMEOUT_MULTISHOT, 1);
	EXPECT_STREQ("1:ETIME+ 1:ETIME+ 1:ETIME", submit_cqes(r, 3));
	iou_nop(r, 5);
	EXPECT_STREQ("5:0", submit_cqes(r, 1));
	iou_nop(r, 6);
	EXPECT_STREQ("6:0 4:0", submit_cqes(r, 2));
}

/* A repeating timeout ends when its CQE does not fit into the CQ. */
TEST_F(to, repeats_until_full)
{
	struct io_uring_cqe cqe;
	unsigned int i;
	struct iou r;

	ASSERT_EQ(0, iou_init_cq(&r, 2, 4, variant->flags));
	timeout(&r, MS, 0, IORING_TIMEOUT_MULTISHOT, 1);
	ASSERT_LE(0, iou_submit(&r));
	ASSERT_EQ(0, iou_wait(&r, 4));
	for (i = 0; i < 500 && !(load_acq(r.sq_flags) & IORING_SQ_CQ_OVERFLOW); i++) {
		iou_wait_ms(&r, 4, 1);
		iou_sleep_ms(2);
	}
	EXPECT_NE(0, load_acq(r.sq_flags) & IORING_SQ_CQ_OVERFLOW);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(IORING_CQE_F_MORE, cqe.flags);
	}
	ASSERT_EQ(0, iou_reap(&r, &cqe));
	EXPECT_EQ(-ETIME, cqe.res);
	EXPECT_EQ(0, cqe.flags);
	EXPECT_STREQ("", cqes(&r, 0));
	iou_exit(&r);
}

/* An expiry breaks a chain, unless the link is hard or IORING_TIMEOUT_ETIME_SUCCESS is set. */
TEST_F(to, success)
{
	struct iou *r = &self->r;

	timeout(r, 1, 0, 0, 1)->flags = IOSQE_IO_LINK;
	iou_nop(r, 2);
	EXPECT_STREQ("1:ETIME 2:ECANCELED", submit_cqes(r, 2));
	timeout(r, 1, 0, 0, 1)->flags = IOSQE_IO_HARDLINK;
	iou_nop(r, 2);
	EXPECT_STREQ("1:ETIME 2:0", submit_cqes(r, 2));
	timeout(r, 1, 0, IORING_TIMEOUT_ETIME_SUCCESS, 1)->flags = IOSQE_IO_LINK;
	iou_nop(r, 2);
	EXPECT_STREQ("1:ETIME 2:0", submit_cqes(r, 2));
	timeout(r, 1, 3, IORING_TIMEOUT_ETIME_SUCCESS | IORING_TIMEOUT_MULTISHOT, 1)->flags =
		IOSQE_IO_LINK;
	iou_nop(r, 2);
	EXPECT_STREQ("1:ETIME+ 1:ETIME+ 1:ETIME 2:0", submit_cqes(r, 4));
	timeout(r, HOUR, 1, 0, 1)->flags = IOSQE_IO_LINK;
	iou_nop(r, 2);
	iou_nop(r, 3);
	EXPECT_STREQ("3:0 1:0 2:0", submit_cqes(r, 3));
	timeout(r, HOUR, 0, IORING_TIMEOUT_ETIME_SUCCESS, 1)->flags = IOSQE_IO_LINK;
	iou_nop(r, 2);
	timeout_remove(r, 1, 3);
	EXPECT_STREQ("3:0 1:ECANCELED 2:ECANCELED", submit_cqes(r, 3));
	/* IOSQE_CQE_SKIP_SUCCESS hides a final -ETIME only with IORING_TIMEOUT_ETIME_SUCCESS */
	timeout(r, 1, 0, 0, 1)->flags = IOSQE_CQE_SKIP_SUCCESS;
	EXPECT_STREQ("1:ETIME", submit_cqes(r, 1));
	timeout(r, 1, 0, IORING_TIMEOUT_ETIME_SUCCESS, 1)->flags = IOSQE_CQE_SKIP_SUCCESS;
	EXPECT_STREQ("", submit_cqes(r, 0));
	timeout(r, 1, 2, IORING_TIMEOUT_ETIME_SUCCESS | IORING_TIMEOUT_MULTISHOT, 1)->flags =
		IOSQE_CQE_SKIP_SUCCESS;
	EXPECT_STREQ("1:ETIME+", submit_cqes(r, 1));
	timeout(r, HOUR, 0, 0, 1)->flags = IOSQE_CQE_SKIP_SUCCESS;
	timeout_remove(r, 1, 3)->flags = IOSQE_CQE_SKIP_SUCCESS;
	EXPECT_STREQ("1:ECANCELED", submit_cqes(r, 1));
}

/*
 * A timeout that waits for its link begins in the call that submits the batch.  It counts the CQEs
 * that this call publishes at its end, even behind a failed request with IOSQE_IO_HARDLINK.
 * On 6.12 the timeout may begin later.  Mutant: held-back-begins-later.
 * differences: timeout-count-linked
 */
TEST_F(to, counts_behind_a_link)
{
	struct iou *r = &self->r;
	unsigned int failed;

	if (iou_on_stock())
		SKIP(return, "it begins later there");
	for (failed = 0; failed < 2; failed++) {
		struct io_uring_sqe *sqe = iou_nop(r, 1);

		sqe->flags = IOSQE_IO_HARDLINK;
		if (failed) {
			sqe->nop_flags = IORING_NOP_INJECT_RESULT;
			sqe->len = -EINTR;
		}
		timeout(r, HOUR, 2, 0, 2);
		iou_nop(r, 3);
		EXPECT_STREQ(failed ? "1:EINTR 3:0 2:0" : "1:0 3:0 2:0", submit_cqes(r, 3));
	}
}

TEST(not_on_polled_rings)
{
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_IOPOLL));
	timeout(&r, 0, 0, 0, 1);
	EXPECT_STREQ("1:EINVAL", submit_cqes(&r, 1));
	timeout_remove(&r, 1, 2);
	EXPECT_STREQ("2:EINVAL", submit_cqes(&r, 1));
	iou_exit(&r);
}

/*
 * Return: true if the kernel takes an absolute time for a time of the caller's time namespace.
 * 6.12 takes it for a time of the host, both in a request and in io_uring_enter().  So a wait in
 * io_uring_enter() also shows what a request does.
 */
static bool enter_knows_the_namespace(struct iou *r)
{
	struct __kernel_timespec ts;
	struct io_uring_getevents_arg arg = {
		.ts = (uintptr_t)ts_of(&ts, now_on(CLOCK_MONOTONIC) + 20 * MS),
	};
	long long start = now_on(CLOCK_MONOTONIC);

	iou_enter_arg(r, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_ABS_TIMER, &arg);
	return now_on(CLOCK_MONOTONIC) - start < 1000 * MS;
}

static bool came_at(long long end, int clock)
{
	long long now = now_on(clock);

	return end <= now && now < end + 1000 * MS;
}

/*
 * Test with clocks that are two seconds ahead of the host's.  Return: 0; 1 if an end is wrong;
 * 2 without a ring; KSFT_SKIP if the kernel does not convert times.
 */
static int in_namespace(void)
{
	struct iou r;
	unsigned int i;
	int bad = 0;

	if (iou_init(&r, 8, 0))
		return 2;
	if (!enter_knows_the_namespace(&r))
		return KSFT_SKIP;
	for (i = 0; i < ARRAY_LEN(clocks); i++) {
		long long end = now_on(clocks[i].clock) + 50 * MS;

		timeout(&r, end, 0, IORING_TIMEOUT_ABS | clocks[i].flag, 1);
		bad |= strcmp("1:ETIME", submit_cqes(&r, 1)) || !came_at(end, clocks[i].clock);
		end = now_on(clocks[i].clock) + 50 * MS;
		timeout(&r, HOUR, 0, clocks[i].flag, 1);
		timeout_update(&r, 1, end, IORING_TIMEOUT_ABS, 2);
		bad |= strcmp("2:0 1:ETIME", submit_cqes(&r, 2)) ||
		       !came_at(end, clocks[i].clock);
		end = now_on(clocks[i].clock) + 50 * MS;
		timeout(&r, HOUR, 0, 0, 1)->flags = IOSQE_IO_LINK;
		link_timeout(&r, end, IORING_TIMEOUT_ABS | clocks[i].flag, 2);
		bad |= strcmp("2:ETIME 1:ECANCELED", submit_cqes(&r, 2)) ||
		       !came_at(end, clocks[i].clock);
	}
	iou_exit(&r);
	return bad;
}

/*
 * Check that times at the end of the clock, or beyond, never expire, neither of waits nor of
 * timeouts, with any clock of a namespace.  Only a short timeout with user_data 7 expires.
 * Return: 0, or nonzero if this fails
 */
static int far_times(void)
{
	static const struct __kernel_timespec far[] = {
		{ INT64_MAX, 0 }, { INT64_MAX, INT64_MAX }, { 0, INT64_MAX },
		{ 1, INT64_MAX }, { 10, INT64_MAX - 255 }, { INT64_MAX / 1000000000, 0 },
	};
	unsigned int i, absolute;
	int bad = 0;

	for (i = 0; i < ARRAY_LEN(far); i++) {
		/* the upper half of tv_nsec is padding in a 32-bit program */
		if (NEGATIVE != -1 && far[i].tv_nsec)
			continue;
		for (absolute = 0; absolute < 2; absolute++) {
			struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&far[i] };
			unsigned int enter = IORING_ENTER_GETEVENTS, flags = 0;
			struct io_uring_cqe cqe = {};
			struct iou r;
			int ret;

			if (absolute) {
				enter |= IORING_ENTER_ABS_TIMER;
				flags = IORING_TIMEOUT_ABS;
			}
			if (iou_init(&r, 8, 0))
				return 2;
			iou_prep(&r, IORING_OP_TIMEOUT, -1, &far[i], 1, 0)->timeout_flags = flags;
			timeout(&r, 30 * MS, 0, 0, 7);
			ret = iou_submit(&r) == 2 ? iou_enter_arg(&r, 0, 1, enter, &arg) : 99;
			if (ret || iou_reap(&r, &cqe) || cqe.user_data != 7) {
				printf("# %lld.%lld absolute %u: %d, %llu came\n",
				       (long long)far[i].tv_sec, (long long)far[i].tv_nsec,
				       absolute, ret, (unsigned long long)cqe.user_data);
				bad = 1;
			}
			iou_exit(&r);
		}
	}
	fflush(stdout);
	return bad;
}

TEST(times_beyond_the_clock)
{
	EXPECT_EQ(0, far_times());
}

/* Run @test in a time namespace.  Return: its result; KSFT_SKIP if there is no such namespace */
static int in_time_namespace(const char *offsets, int (*test)(void))
{
	int pid = fork(), status;

	if (!pid) {
		if (unshare(CLONE_NEWTIME) || iou_put("/proc/self/timens_offsets", offsets))
			_exit(KSFT_SKIP);
		/* only later children of this process are in the namespace */
		pid = fork();
		if (!pid)
			_exit(test());
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(time_namespace)
{
	int ret = in_time_namespace("monotonic 2 0\nboottime 2 0\n", in_namespace);

	if (ret == KSFT_SKIP)
		SKIP(return, "no time namespace, or it is not looked at");
	EXPECT_EQ(0, ret);
	/* soon after a boot, wait, or the clock of the namespace would be below zero */
	while (now_on(CLOCK_MONOTONIC) < 3000 * MS)
		iou_sleep_ms(10);
	EXPECT_EQ(0, in_time_namespace("monotonic -2 0\nboottime -2 0\n", far_times));
}

/*
 * Races.  Timers expire one after the other.  Another request "meets" each of them shortly before
 * or after its expiry, at a distance that changes from round to round.  Each timer must end once,
 * and its result has to fit the result of the other request.
 */
#define TIMERS	16

struct ends {
	long long due[TIMERS];
	int nr[TIMERS];		/* CQEs without F_MORE */
	int res[TIMERS];
	int answer[TIMERS];	/* result of the other request; 1: none yet, 3: no request */
	int early;
	bool full;		/* the CQ was full at some time */
	long long ahead;	/* ns before its expiry that a timer is met, plus or minus 50 us */
	unsigned int nr_late;	/* timers that had ended when they were met */
	unsigned int nr_met;
	unsigned int in_a_row;	/* late meetings since the last early one */
	unsigned int early_in_a_row;
	unsigned int slow;	/* the delays are 2^slow times as long */
};

FIXTURE(edge) {
	struct iou r;
	struct ends e;
	unsigned int round;
};

FIXTURE_VARIANT(edge) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(edge);

FIXTURE_SETUP(edge)
{
	/* a repeating timeout would end if the CQ had no room */
	ASSERT_EQ(0, iou_init_cq(&self->r, 64, 16384, variant->flags));
}

FIXTURE_TEARDOWN(edge)
{
	iou_exit(&self->r);
}

/* Record CQEs.  user_data: timers from 1 on, requests that meet them from 101, others from 201. */
static void note_ends(struct iou *r, struct ends *e)
{
	unsigned int nr = iou_ready(r), i;
	/* read after iou_ready(), so that these CQEs are older */
	long long now = now_on(CLOCK_MONOTONIC);

	e->full |= nr == r->p.cq_entries;
	for (i = 0; i < nr; i++) {
		struct io_uring_cqe *cqe = iou_cqe_at(r, i);
		unsigned int n = (cqe->user_data - 1) % 100;

		if (cqe->user_data > 200)
			continue;
		if (cqe->user_data > 100) {
			e->answer[n] = cqe->res;
			continue;
		}
		if (cqe->res == -ETIME && now < e->due[n])
			e->early++;
		if (cqe->flags & IORING_CQE_F_MORE)
			continue;
		e->nr[n]++;
		e->res[n] = cqe->res;
	}
	iou_seen(r, nr);
}

static void reap_ends(struct iou *r, struct ends *e, unsigned int left)
{
	unsigned long long until = iou_now_us() + IOU_PATIENCE * 1000ULL;
	unsigned int i, nr;

	do {
		if (!iou_ready(r))
			iou_wait_ms(r, 1, 100);
		note_ends(r, e);
		for (i = nr = 0; i < TIMERS; i++)
			nr += e->nr[i] && e->answer[i] != 1;
	} while (nr < left && iou_now_us() < until);
	/* a second end of a timer would come now */
	iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS);
	note_ends(r, e);
}

static void spin_until(long long ns)
{
	while (now_on(CLOCK_MONOTONIC) < ns)
		;
}

/* Return: ns from start_timers() to the expiry of the first timer */
static long long first_after(const struct ends *e)
{
	return 500000LL << e->slow;
}

/*
 * Start timers that expire every 40 us from half a millisecond on, or at longer intervals on a slow
 * machine.  Do not wait for an SQPOLL thread: the timers would expire before they are met.
 */
static long long start_timers(struct iou *r, struct ends *e, unsigned int nr,
			      unsigned int flags)
{
	long long start = now_on(CLOCK_MONOTONIC);
	unsigned int i;

	memset(e->nr, 0, sizeof(e->nr));
	for (i = 0; i < TIMERS; i++) {
		long long delay = first_after(e) + (i * 40000LL << e->slow);

		e->due[i] = start + delay;
		e->answer[i] = 1;
		timeout(r, delay, nr, flags, 1 + i);
	}
	iou_submit_wait(r, 0);
	return start;
}

/* Return: when to meet a timer: within 50 us of the time at which either side may be first. */
static long long meet_at(struct ends *e, unsigned int i, unsigned int round)
{
	return e->due[i] - e->ahead + ((long long)(round * 37 % 100) - 50) * 1000;
}

/*
 * Adapt to the speed of the machine: after a late meeting, meet the next timer earlier.  A task
 * that is late TIMERS / 2 times in a row cannot submit as fast as the timers expire: double the
 * delays, and meet the next timer as early as possible.  An SQPOLL thread on the CPU of the task
 * may start the timers a time slice late, so the steps grow after many early meetings.
 */
static void note_met(struct ends *e, bool late)
{
	long long earliest = first_after(e) - 100000;

	e->nr_met++;
	e->nr_late += late;
	e->in_a_row = late ? e->in_a_row + 1 : 0;
	e->early_in_a_row = late ? 0 : e->early_in_a_row + 1;
	if (late)
		e->ahead += 2000;
	else if (e->early_in_a_row < 2 * TIMERS)
		e->ahead -= 2000;
	else
		e->ahead -= e->early_in_a_row < 2 * TIMERS + 8 ? 50000 : 1000000;
	if (e->in_a_row == TIMERS / 2 && e->slow < 6) {
		e->in_a_row = 0;
		e->slow++;
		e->ahead = first_after(e) - 100000;
	} else if (e->ahead > earliest) {
		e->ahead = earliest;
	} else if (e->ahead < -10000000) {
		e->ahead = -10000000;
	}
}

/* Return: true if the request found the timer expired, or just expiring. */
static bool too_late(int answer)
{
	return answer == -ENOENT || answer == -EALREADY;
}

/* Return: the number of rounds.  With delays that are 2^6 times as long, a round takes 70 ms. */
static unsigned int edge_rounds(void)
{
	return getenv("IOU_SOAK") ? iou_rounds(125) : iou_slow_kernel() ? 31 : 60;
}

TEST_F(edge, removal)
{
	unsigned int round, i, rounds = edge_rounds();
	struct ends *e = &self->e;
	struct iou *r = &self->r;

	for (round = 0; round < rounds; round++) {
		start_timers(r, e, 0, 0);
		for (i = 0; i < TIMERS; i++) {
			spin_until(meet_at(e, i, round));
			if (round % 2)
				timeout_remove(r, 1 + i, 101 + i);
			else
				iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)(1UL + i), 0,
					 0)->user_data = 101 + i;
			iou_submit_wait(r, 0);
		}
		reap_ends(r, e, TIMERS);
		EXPECT_EQ(0, e->early);
		for (i = 0; i < TIMERS; i++) {
			ASSERT_EQ(1, e->nr[i]);
			ASSERT_TRUE(!e->answer[i] || too_late(e->answer[i]));
			ASSERT_EQ(e->answer[i] ? -ETIME : -ECANCELED, e->res[i]);
			note_met(e, e->answer[i]);
		}
	}
	/* the requests have hit the race only if some of them were late, and some were not */
	EXPECT_LT(0, e->nr_late);
	EXPECT_LT(e->nr_late, e->nr_met);
}

TEST_F(edge, update)
{
	unsigned int round, i, rounds = edge_rounds();
	struct ends *e = &self->e;
	struct iou *r = &self->r;

	for (round = 0; round < rounds; round++) {
		start_timers(r, e, 0, 0);
		for (i = 0; i < TIMERS; i++) {
			spin_until(meet_at(e, i, round));
			/* the new time is later than the old one, however early the timer is met */
			timeout_update(r, 1 + i, first_after(e), 0, 101 + i);
			iou_submit_wait(r, 0);
		}
		reap_ends(r, e, TIMERS);
		EXPECT_EQ(0, e->early);
		for (i = 0; i < TIMERS; i++) {
			ASSERT_EQ(1, e->nr[i]);
			ASSERT_EQ(-ETIME, e->res[i]);
			ASSERT_TRUE(!e->answer[i] || too_late(e->answer[i]));
			note_met(e, e->answer[i]);
		}
	}
	EXPECT_LT(0, e->nr_late);
	EXPECT_LT(e->nr_late, e->nr_met);
}

/* A CQE of the submitter or of a worker ends timeouts that count, at about their expiry. */
TEST_F(edge, target)
{
	/* about every second round calls note_met() */
	unsigned int round, i, rounds = 2 * edge_rounds();
	struct ends *e = &self->e;
	struct iou *r = &self->r;

	for (round = 0; round < rounds; round++) {
		/* each even round removes timer 0, which is the first to expire */
		unsigned int removed = round % 2 ? round / 2 % TIMERS : 0;

		start_timers(r, e, 1, 0);
		spin_until(meet_at(e, round % TIMERS, round / TIMERS));
		iou_nop(r, 201)->flags = round % 4 ? IOSQE_ASYNC : 0;
		timeout_remove(r, 1 + removed, 101 + removed);
		iou_submit_wait(r, 0);
		/* no request removes the other timers */
		for (i = 0; i < TIMERS; i++)
			e->answer[i] = i == removed ? 1 : 3;
		reap_ends(r, e, TIMERS);
		EXPECT_EQ(0, e->early);
		for (i = 0; i < TIMERS; i++) {
			ASSERT_EQ(1, e->nr[i]);
			if (i == removed && !e->answer[i]) {
				ASSERT_EQ(-ECANCELED, e->res[i]);
			} else if (e->res[i] != -ETIME) {
				ASSERT_EQ(0, e->res[i]);
			}
		}
		ASSERT_TRUE(!e->answer[removed] || too_late(e->answer[removed]));
		if (!removed)
			note_met(e, e->res[removed] == -ETIME);
	}
	EXPECT_LT(0, e->nr_late);
	EXPECT_LT(e->nr_late, e->nr_met);
}

/* A repeating timeout that is removed at any time ends once. */
TEST_F(edge, repeats)
{
	unsigned int round, i, rounds = iou_rounds(30);
	struct ends *e = &self->e;
	struct iou *r = &self->r;

	for (round = 0; round < rounds; round++) {
		unsigned int tries = 0, left = TIMERS;

		memset(e, 0, sizeof(*e));
		for (i = 0; i < TIMERS; i++)
			timeout(r, 100000 + i * 7000, 0, IORING_TIMEOUT_MULTISHOT, 1 + i);
		iou_submit_wait(r, 0);
		spin_until(now_on(CLOCK_MONOTONIC) + 500000 + round * 3000);
		for (i = 0; i < TIMERS; i++)
			e->answer[i] = 1;
		/* 6.12 does not find the timeout between an expiry and its CQE */
		while (left && tries++ < 1000) {
			for (i = 0; i < TIMERS; i++) {
				if (!e->answer[i])
					continue;
				e->answer[i] = 1;
				timeout_remove(r, 1 + i, 101 + i);
			}
			iou_submit_wait(r, 0);
			iou_wait(r, 1);
			iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS);
			note_ends(r, e);
			for (i = left = 0; i < TIMERS; i++)
				left += e->answer[i] && !e->nr[i];
		}
		ASSERT_EQ(0, left);
		reap_ends(r, e, TIMERS);
		for (i = 0; i < TIMERS; i++) {
			ASSERT_EQ(1, e->nr[i]);
			/* timers on another CPU may keep this task running until the CQ is full */
			if (!e->full || e->res[i] != -ETIME)
				ASSERT_EQ(-ECANCELED, e->res[i]);
		}
	}
}

TEST_HARNESS_MAIN
