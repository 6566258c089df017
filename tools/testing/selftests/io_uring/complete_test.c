// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: completions - order, overflow, waiting, timeouts, signals */
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "iou_test.h"

FIXTURE(complete) {
	struct iou r;
	int p[2];
	char buf[256];
};

FIXTURE_VARIANT(complete) {
	unsigned int flags;
};

IOU_KINDS(complete);

FIXTURE_SETUP(complete)
{
	ASSERT_EQ(0, iou_init_cq(&self->r, 4, 8, variant->flags));
	ASSERT_EQ(0, pipe(self->p));
}

FIXTURE_TEARDOWN(complete)
{
	iou_exit(&self->r);
	close(self->p[0]);
	close(self->p[1]);
}

/* Submit a read that waits until another task writes to the pipe. */
static void start_read(struct iou *r, int fd, void *buf, unsigned long long data)
{
	iou_prep(r, IORING_OP_READ, fd, buf, 1, 0)->user_data = data;
	iou_submit(r);
}

/* Submit @nr NOPs numbered from @first, one at a time. */
static int submit_nops(struct iou *r, unsigned int first, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!iou_nop(r, first + i))
			return -EBUSY;
		if (iou_submit(r) < 0)
			return -EIO;
	}
	return nr;
}

/* Wait until the thread of an SQPOLL ring has taken all SQEs. */
static void settle(struct iou *r)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;

	while (load_acq(r->sq_head) != r->sent && iou_now_us() < end) {
		if (load_acq(r->sq_flags) & IORING_SQ_NEED_WAKEUP)
			iou_enter(r, 0, 0, IORING_ENTER_SQ_WAKEUP);
		sched_yield();
	}
}

/*
 * Post more CQEs than the CQ holds: none is lost, their order is kept, and IORING_SQ_CQ_OVERFLOW is
 * set while some of them are on the overflow list.
 *
 *   CQ     |0 1 2 3 4 5 6 7|          overflow  8 9 10 ... 39
 */
TEST_F(complete, overflow_keeps_order)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;

	ASSERT_EQ(40, submit_nops(r, 0, 40));
	settle(r);
	EXPECT_EQ(8, iou_ready(r));
	EXPECT_EQ(IORING_SQ_CQ_OVERFLOW,
		  load_acq(r->sq_flags) & IORING_SQ_CQ_OVERFLOW);
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_EQ(i, cqe.user_data);
		ASSERT_EQ(0, cqe.res);
	}
	EXPECT_EQ(0, iou_wait_ms(r, 0, 10));
	EXPECT_EQ(0, iou_ready(r));
	EXPECT_EQ(0, load_acq(r->sq_flags) & IORING_SQ_CQ_OVERFLOW);
	EXPECT_EQ(0, *r->cq_lost);
}

/* A CQE that is posted while the overflow list is not empty comes after the list. */
TEST_F(complete, overflow_is_not_passed)
{
	struct iou *r = &self->r;
	unsigned int next = 12, seen = 0, round;
	struct io_uring_cqe cqe;

	ASSERT_EQ(12, submit_nops(r, 0, 12));
	settle(r);
	for (round = 0; round < iou_rounds(200); round++) {
		/* make room first, then post a CQE */
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_EQ(seen++, cqe.user_data);
		ASSERT_EQ(1, submit_nops(r, next++, 1));
		settle(r);
	}
	while (seen < next) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_EQ(seen++, cqe.user_data);
	}
	EXPECT_EQ(0, *r->cq_lost);
}

/* Overflow the CQ with CQEs of reads that wait for a pipe.  The CQEs may come in any order. */
TEST_F(complete, overflow_from_workers)
{
	unsigned int i, k, seen = 0;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	for (i = 0; i < 30; i++) {
		ASSERT_NE(NULL, iou_prep(r, IORING_OP_READ, self->p[0], self->buf + i,
					 1, 0));
		((struct io_uring_sqe *)((char *)r->sqes +
		  ((r->next - 1) & 3) * (size_t)r->sqe_size))->user_data = i;
		ASSERT_LE(0, iou_submit(r));
		settle(r);
	}
	iou_fill(self->buf + 64, 30, 0, 1);
	ASSERT_EQ(30, write(self->p[1], self->buf + 64, 30));
	for (k = 0; k < 30; k++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_EQ(1, cqe.res);
		ASSERT_LT(cqe.user_data, 30);
		seen |= 1U << cqe.user_data;
	}
	EXPECT_EQ((1U << 30) - 1, seen);
	EXPECT_EQ(0, *r->cq_lost);
}

/* A long overflow list is posted completely, and a full CQ ends a wait for any number of CQEs. */
TEST_F(complete, overflow_long)
{
	unsigned int i, nr = iou_rounds(2000);
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	for (i = 0; i < nr; i += 4) {
		ASSERT_EQ(4, submit_nops(r, i, 4));
		settle(r);
	}
	EXPECT_EQ(0, iou_wait_ms(r, 8, IOU_PATIENCE));
	EXPECT_EQ(0, iou_wait_ms(r, 100, IOU_PATIENCE));
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_EQ(i, cqe.user_data);
	}
	EXPECT_EQ(0, *r->cq_lost);
}

/* The second half of a large CQE is zero, even if the CQE was on the overflow list. */
TEST_F(complete, large_cqes_are_clean)
{
	struct iou *r = &self->r;
	unsigned int i;

	if (!(variant->flags & IORING_SETUP_CQE32))
		SKIP(return, "CQEs of 16 bytes");
	for (i = 0; i < 8; i++) {
		iou_cqe_at(r, i)->big_cqe[0] = ~0ULL;
		iou_cqe_at(r, i)->big_cqe[1] = ~0ULL;
	}
	ASSERT_EQ(16, submit_nops(r, 0, 16));
	settle(r);
	for (i = 0; i < 16; i++) {
		struct io_uring_cqe *cqe;

		ASSERT_EQ(0, iou_wait(r, 1));
		cqe = iou_cqe_at(r, 0);
		EXPECT_EQ(i, cqe->user_data);
		EXPECT_EQ(0, cqe->big_cqe[0]);
		EXPECT_EQ(0, cqe->big_cqe[1]);
		cqe->big_cqe[0] = ~0ULL;
		cqe->big_cqe[1] = ~0ULL;
		iou_seen(r, 1);
	}
}

/* Submit a NOP, take its CQE.  Return: its result. */
static int nop_of(struct iou *r, unsigned int flags, int fd, unsigned int slot,
		  unsigned int sqe_flags)
{
	struct io_uring_sqe *sqe = iou_nop(r, 1);

	sqe->nop_flags = flags;
	sqe->fd = fd;
	sqe->buf_index = slot;
	sqe->len = flags & IORING_NOP_INJECT_RESULT ? 77 : 0;
	sqe->flags = sqe_flags;
	return iou_one(r);
}

/*
 * A NOP looks up what its flags name, inline and in a worker.  Mutant: nop-without-its-file.
 */
TEST_F(complete, nop_looks_up)
{
	struct iovec iov[2] = { { }, { self->buf, sizeof(self->buf) } };
	unsigned int file = IORING_NOP_FILE, slot = file | IORING_NOP_FIXED_FILE;
	unsigned int buffer = IORING_NOP_FIXED_BUFFER, async;
	int fds[2] = { -1, self->p[0] };
	struct iou *r = &self->r;

	/* differences: none, 6.12 has no such flags */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_NOP_FILE");
	ASSERT_EQ(-EFAULT, nop_of(r, buffer, 0, 0, 0));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, fds, 2));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, iov, 2));
	for (async = 0; async <= IOSQE_ASYNC; async += IOSQE_ASYNC) {
		EXPECT_EQ(0, nop_of(r, file, self->p[1], 0, async));
		EXPECT_EQ(-EBADF, nop_of(r, file, -1, 0, async));
		EXPECT_EQ(-EBADF, nop_of(r, file | IORING_NOP_INJECT_RESULT, -1, 0, async));
		EXPECT_EQ(0, nop_of(r, slot, 1, 0, async));
		EXPECT_EQ(-EBADF, nop_of(r, slot, 0, 0, async));
		EXPECT_EQ(-EBADF, nop_of(r, slot, 2, 0, async));
		EXPECT_EQ(0, nop_of(r, IORING_NOP_FIXED_FILE, 2, 0, async));
		EXPECT_EQ(0, nop_of(r, buffer, 0, 1, async));
		EXPECT_EQ(-EFAULT, nop_of(r, buffer, 0, 2, async));
		EXPECT_EQ(-EBADF, nop_of(r, buffer | slot, 2, 2, async));
		EXPECT_EQ(77, nop_of(r, buffer | slot | IORING_NOP_INJECT_RESULT, 1, 1, async));
		/* IOSQE_FIXED_FILE does the same */
		EXPECT_EQ(0, nop_of(r, file, 1, 0, async | IOSQE_FIXED_FILE));
		EXPECT_EQ(-EBADF, nop_of(r, file, 100, 0, async | IOSQE_FIXED_FILE));
	}
	EXPECT_EQ(-EINVAL, nop_of(r, IORING_NOP_CQE32 << 1, 0, 0, 0));
	/* no NOP has kept a reference to the end of the pipe */
	close(self->p[1]);
	EXPECT_EQ(0, read(self->p[0], self->buf, 1));
}

/* With IORING_NOP_TW, the CQE comes from task work.  Mutant: nop-without-task-work. */
TEST_F(complete, nop_by_task_work)
{
	unsigned int inline_kinds = IORING_SETUP_SQPOLL | IORING_SETUP_IOPOLL;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_NOP_TW");
	EXPECT_EQ(77, nop_of(r, IORING_NOP_TW | IORING_NOP_INJECT_RESULT, 0, 0, 0));
	EXPECT_EQ(77, nop_of(r, IORING_NOP_TW | IORING_NOP_INJECT_RESULT, 0, 0, IOSQE_ASYNC));
	if (variant->flags & inline_kinds)
		return;
	iou_nop(r, 1)->nop_flags = IORING_NOP_TW;
	iou_nop(r, 2);
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(0, iou_wait(r, 2));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(2, cqe.user_data);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.user_data);
}

/* With IORING_NOP_CQE32, the program chooses the second half.  Mutant: nop-swaps-halves. */
TEST_F(complete, nop_posts_large_cqe)
{
	bool large = variant->flags & IORING_SETUP_CQE32;
	struct iou *r = &self->r;
	unsigned int async;

	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_NOP_CQE32");
	for (async = 0; async <= IOSQE_ASYNC; async += IOSQE_ASYNC) {
		struct io_uring_sqe *sqe = iou_nop(r, 5);
		struct io_uring_cqe *cqe;

		sqe->nop_flags = IORING_NOP_CQE32;
		sqe->off = 1ULL << 40 | 1;
		sqe->addr = ~1ULL;
		sqe->flags = async;
		iou_submit(r);
		ASSERT_EQ(0, iou_wait(r, 1));
		cqe = iou_cqe_at(r, 0);
		EXPECT_EQ(5, cqe->user_data);
		EXPECT_EQ(large ? 0 : -EINVAL, cqe->res);
		EXPECT_EQ(0, cqe->flags);
		if (large) {
			EXPECT_EQ(1ULL << 40 | 1, cqe->big_cqe[0]);
			EXPECT_EQ(~1ULL, cqe->big_cqe[1]);
		}
		iou_seen(r, 1);
	}
}

/* CQEs of a batch come in the order of its SQEs when all finish inline. */
TEST_F(complete, inline_order)
{
	unsigned int round, i, data = 0, seen = 0;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	for (round = 0; round < iou_rounds(100); round++) {
		for (i = 0; i < 4; i++)
			iou_nop(r, data++);
		ASSERT_EQ(4, iou_submit_wait(r, 4));
		for (i = 0; i < 4; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_EQ(seen++, cqe.user_data);
		}
	}
}

static unsigned long long elapsed_ms(unsigned long long since_us)
{
	return (iou_now_us() - since_us) / 1000;
}

TEST_F(complete, timeout)
{
	unsigned long long start = iou_now_us();
	struct iou *r = &self->r;

	EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 50));
	EXPECT_LE(50, elapsed_ms(start));
	EXPECT_GT(1000, elapsed_ms(start));
	/* a wait that times out with some CQEs, but fewer than the minimum, returns 0 */
	iou_nop(r, 1);
	ASSERT_EQ(1, iou_submit(r));
	settle(r);
	start = iou_now_us();
	EXPECT_EQ(0, iou_wait_ms(r, 2, 50));
	EXPECT_LE(50, elapsed_ms(start));
	start = iou_now_us();
	EXPECT_EQ(0, iou_wait_ms(r, 1, IOU_PATIENCE));
	EXPECT_GT(900, elapsed_ms(start));
	EXPECT_EQ(0, iou_wait_ms(r, 0, IOU_PATIENCE));
}

/* A call that submits and waits returns the number of submitted SQEs, not -ETIME. */
TEST_F(complete, submit_hides_timeout)
{
	struct __kernel_timespec ts = { .tv_nsec = 50000000 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	struct iou *r = &self->r;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "enter submits nothing here");
	iou_prep(r, IORING_OP_READ, self->p[0], self->buf, 1, 0);
	iou_flush(r);
	EXPECT_EQ(1, iou_enter_arg(r, 1, 1, IORING_ENTER_GETEVENTS, &arg));
	EXPECT_EQ(0, iou_ready(r));
	EXPECT_EQ(-ETIME, iou_enter_arg(r, 0, 1, IORING_ENTER_GETEVENTS, &arg));
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_EQ(0, iou_discard(r, 1));
}

/* A call that submits fewer SQEs than its argument says does not wait. */
TEST_F(complete, partial_submit_does_not_wait)
{
	unsigned long long start = iou_now_us();
	struct __kernel_timespec ts = { .tv_sec = 5 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	struct iou *r = &self->r;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "enter submits nothing here");
	iou_nop(r, 1);
	iou_flush(r);
	EXPECT_EQ(1, iou_enter_arg(r, 3, 5, IORING_ENTER_GETEVENTS, &arg));
	EXPECT_GT(4000, elapsed_ms(start));
}

/* A wait for more CQEs than the CQ holds ends when the CQ is full. */
TEST_F(complete, minimum_is_clamped)
{
	unsigned long long start = iou_now_us();
	struct iou *r = &self->r;

	ASSERT_EQ(8, submit_nops(r, 0, 8));
	settle(r);
	EXPECT_EQ(0, iou_wait_ms(r, ~0U, IOU_PATIENCE));
	EXPECT_GT(4000, elapsed_ms(start));
	EXPECT_EQ(8, iou_ready(r));
}

static int wait_args(struct iou *r, unsigned int min, unsigned int flags,
		     struct __kernel_timespec *ts, unsigned int min_us)
{
	struct io_uring_getevents_arg arg = {
		.ts = (uintptr_t)ts, .min_wait_usec = min_us,
	};

	return iou_enter_arg(r, 0, min, flags | IORING_ENTER_GETEVENTS, &arg);
}

TEST_F(complete, absolute_timeout)
{
	static const int clocks[] = { -1, CLOCK_MONOTONIC, CLOCK_BOOTTIME };
	struct iou *r = &self->r;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(clocks); i++) {
		struct io_uring_clock_register reg = { .clockid = clocks[i] };
		struct __kernel_timespec ts;
		unsigned long long start;
		struct timespec now;

		if (clocks[i] >= 0)
			ASSERT_EQ(0, iou_register(r, IORING_REGISTER_CLOCK, &reg, 0));
		clock_gettime(clocks[i] < 0 ? CLOCK_MONOTONIC : clocks[i], &now);
		ts.tv_sec = now.tv_sec;
		ts.tv_nsec = now.tv_nsec + 60000000;
		if (ts.tv_nsec >= 1000000000) {
			ts.tv_sec++;
			ts.tv_nsec -= 1000000000;
		}
		start = iou_now_us();
		EXPECT_EQ(-ETIME, wait_args(r, 1, IORING_ENTER_ABS_TIMER, &ts, 0));
		EXPECT_LE(55, elapsed_ms(start));
		EXPECT_GT(2000, elapsed_ms(start));
		/* a time in the past */
		ts.tv_sec = 1;
		start = iou_now_us();
		EXPECT_EQ(-ETIME, wait_args(r, 1, IORING_ENTER_ABS_TIMER, &ts, 0));
		EXPECT_GT(1000, elapsed_ms(start));
	}
}

/*
 * Until min_wait_usec is over, the wait needs the whole minimum; then one CQE is enough.  The
 * timeout ends the wait in any case.
 */
TEST_F(complete, min_wait)
{
	struct __kernel_timespec ts = { .tv_sec = 5 };
	struct iou *r = &self->r;
	unsigned long long start;

	ASSERT_EQ(1, submit_nops(r, 0, 1));
	settle(r);
	start = iou_now_us();
	EXPECT_EQ(0, wait_args(r, 4, 0, &ts, 60000));
	EXPECT_LE(60, elapsed_ms(start));
	EXPECT_GT(3000, elapsed_ms(start));
	ASSERT_EQ(3, submit_nops(r, 1, 3));
	settle(r);
	start = iou_now_us();
	EXPECT_EQ(0, wait_args(r, 4, 0, &ts, 3000000));
	EXPECT_GT(2000, elapsed_ms(start));
	EXPECT_EQ(0, iou_discard(r, 4));
	/* no CQE comes */
	ts = (struct __kernel_timespec){ .tv_nsec = 80000000 };
	start = iou_now_us();
	EXPECT_EQ(-ETIME, wait_args(r, 4, 0, &ts, 20000));
	EXPECT_LE(80, elapsed_ms(start));
	EXPECT_GT(3000, elapsed_ms(start));
}

/* Without a timeout, min_wait_usec itself is the timeout of the wait. */
TEST_F(complete, min_wait_alone)
{
	struct iou *r = &self->r;
	unsigned long long start = iou_now_us();

	EXPECT_EQ(-ETIME, wait_args(r, 1, 0, NULL, 60000));
	EXPECT_LE(60, elapsed_ms(start));
	ASSERT_EQ(1, submit_nops(r, 0, 1));
	settle(r);
	EXPECT_EQ(0, wait_args(r, 2, 0, NULL, 60000));
	EXPECT_EQ(1, iou_ready(r));
}

static void interrupt(int sig)
{
}

/*
 * A wait with a timeout in the past ends at once, however far back the time is.
 * differences: wait-before-zero
 */
TEST_F(complete, passed_timeout)
{
	static const struct {
		long long sec, nsec;
		unsigned int min_us;
		bool not_on_stock;
	} row[] = {
		{ -1, 0 },
		{ 0, -1 },
		{ 1, -2000000000LL },
		{ -1, 0, 50000 },
		{ INT64_MIN, 0 },
		{ INT64_MIN, 5 },
		{ -9000000000LL, 0, 0, true },
		{ -20000000000LL, 0, 0, true },
		{ 0, INT64_MIN, 0, true },
	};
	struct sigaction act = { .sa_handler = interrupt };
	struct iou *r = &self->r;
	unsigned int i, abs;

	/* a signal interrupts a wait that would not end */
	ASSERT_EQ(0, sigaction(SIGALRM, &act, NULL));
	for (i = 0; i < ARRAY_LEN(row); i++) {
		for (abs = 0; abs < 2; abs++) {
			struct __kernel_timespec ts = { row[i].sec, row[i].nsec };
			unsigned int flags = abs ? IORING_ENTER_ABS_TIMER : 0;

			/*
			 * For a 32-bit program, the kernel clears the upper half of tv_nsec.
			 * So a negative number of nanoseconds does not stay negative.
			 */
			if (sizeof(long) == 4 && row[i].nsec < 0)
				continue;
			if (iou_on_stock() && (abs || row[i].not_on_stock))
				continue;
			alarm(10);
			EXPECT_EQ(-ETIME, wait_args(r, 1, flags, &ts, row[i].min_us)) {
				TH_LOG("%lld.%lld flags %x", row[i].sec, row[i].nsec, flags);
			}
			alarm(0);
		}
	}
}

struct late {
	int fd;
	unsigned int nr, ms;
	struct iou *r;
};

static void *write_late(void *arg)
{
	struct late *late = arg;
	unsigned int i;

	for (i = 0; i < late->nr; i++) {
		iou_sleep_ms(late->ms);
		if (write(late->fd, "x", 1) != 1)
			break;
	}
	return NULL;
}

/* After min_wait_usec, the next single CQE ends the wait. */
TEST_F(complete, min_wait_then_one)
{
	struct __kernel_timespec ts = { .tv_sec = 8 };
	struct late late = { self->p[1], 1, 150 };
	struct iou *r = &self->r;
	unsigned long long start = iou_now_us();
	pthread_t thread;

	start_read(r, self->p[0], self->buf, 1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_late, &late));
	EXPECT_EQ(0, wait_args(r, 4, 0, &ts, 20000));
	EXPECT_LE(140, elapsed_ms(start));
	EXPECT_GT(6000, elapsed_ms(start));
	EXPECT_EQ(1, iou_ready(r));
	pthread_join(thread, NULL);
}

static void *write_and_take(void *arg)
{
	struct late *late = arg;
	char byte = 0;

	iou_sleep_ms(late->ms);
	if (write(late->fd, &byte, 1) != 1)
		return (void *)1;
	while (!iou_ready(late->r))
		iou_sleep_ms(1);
	iou_discard(late->r, 1);
	return NULL;
}

/*
 * At the end of min_wait_usec, a CQE that another thread has consumed also ends the wait.
 * Mutant: min-wait-misses-a-cqe.
 */
TEST_F(complete, min_wait_of_a_cqe_that_is_taken)
{
	struct __kernel_timespec ts = { .tv_sec = 8 };
	struct iou *r = &self->r;
	struct late late = { .fd = self->p[1], .ms = 50, .r = r };
	unsigned long long start = iou_now_us();
	pthread_t thread;
	int ret;

	start_read(r, self->p[0], self->buf, 1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_and_take, &late));
	ret = wait_args(r, 4, 0, &ts, 400000);
	/* on a DEFER_TASKRUN ring, 6.12 may post the CQE at the end of the wait */
	EXPECT_TRUE(ret == -ETIME || !ret);
	EXPECT_LE(390, elapsed_ms(start));
	EXPECT_GT(6000, elapsed_ms(start));
	pthread_join(thread, NULL);
}

/* A waiter for N CQEs gets N, although they come one by one. */
TEST_F(complete, wait_for_many)
{
	unsigned int n, i;
	struct iou *r = &self->r;
	pthread_t thread;

	for (n = 1; n <= 8; n++) {
		struct late late = { self->p[1], n, 3 };

		for (i = 0; i < n; i++) {
			start_read(r, self->p[0], self->buf + i, i);
			settle(r);
		}
		ASSERT_EQ(0, pthread_create(&thread, NULL, write_late, &late));
		EXPECT_EQ(0, iou_wait_ms(r, n, IOU_PATIENCE));
		EXPECT_EQ(n, iou_ready(r));
		iou_seen(r, iou_ready(r));
		pthread_join(thread, NULL);
	}
}

/* A thread that observes a waiter, and then ends the wait by writing to @fd. */
struct observer {
	pid_t waiter;
	int fd;
	int blocked;	/* the lowest number of tasks that waited for I/O */
};

static void *observe(void *arg)
{
	struct observer *o = arg;
	int i;

	o->blocked = -1;
	if (!iou_sleeps_in(o->waiter, __NR_io_uring_enter))
		return NULL;
	for (i = 0; i < 50 && o->blocked; i++) {
		char line[256];
		int nr;
		FILE *f = fopen("/proc/stat", "r");

		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "procs_blocked %d", &nr) == 1 &&
			    (o->blocked < 0 || nr < o->blocked))
				o->blocked = nr;
		if (f)
			fclose(f);
		iou_sleep_ms(1);
	}
	if (write(o->fd, "x", 1) != 1)
		o->blocked = -1;
	return NULL;
}

/*
 * Wait for a pipe, with @flags of io_uring_enter().  Return: the lowest number of tasks that wait
 * for I/O meanwhile, or -1.
 */
static int blocked_in_wait_with(struct iou *r, int fd, unsigned int flags)
{
	struct observer o = { .waiter = gettid(), .fd = fd };
	pthread_t thread;

	if (pthread_create(&thread, NULL, observe, &o))
		return -1;
	iou_sys_enter(r->fd, 0, 1, IORING_ENTER_GETEVENTS | flags, NULL, 0);
	pthread_join(thread, NULL);
	return o.blocked;
}

static int blocked_in_wait(struct iou *r, int fd)
{
	return blocked_in_wait_with(r, fd, 0);
}

/* A FIFO that a worker opens, which waits for a writer. */
struct blocked_open {
	char dir[64], path[80];
	int at;
};

/* Submit the OPENAT of a FIFO.  Return: 0 or a negative errno. */
static int begin_blocked_open(struct iou *r, struct blocked_open *o)
{
	o->at = iou_dir(o->dir, sizeof(o->dir));
	if (o->at < 0)
		return o->at;
	snprintf(o->path, sizeof(o->path), "%s/fifo", o->dir);
	if (mkfifo(o->path, 0600))
		return -errno;
	iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, o->path, 0, 0)->user_data = 3;
	return iou_submit(r) < 0 ? -EIO : 0;
}

/* Open the FIFO for writing, and take the CQE.  Return: 0 or a negative errno. */
static int end_blocked_open(struct iou *r, struct blocked_open *o)
{
	int fifo = open(o->path, O_RDWR), ret = iou_discard(r, 1);

	close(fifo);
	iou_dir_remove(o->dir, o->at);
	return ret;
}

/*
 * A task that waits for requests that may never end, as an idle server does, does not count as
 * waiting for I/O.  It counts if a worker runs one of its requests.  Mutants: idle-is-io,
 * io-is-idle.  differences: idle-no-iowait
 */
TEST_F(complete, idle_is_no_io)
{
	struct __kernel_timespec hour = { .tv_sec = 3600 };
	struct iou *r = &self->r;
	struct blocked_open o;

	iou_prep(r, IORING_OP_TIMEOUT, -1, &hour, 1, 0)->user_data = 2;
	ASSERT_LE(0, iou_submit(r));
	start_read(r, self->p[0], self->buf, 1);
	settle(r);
	EXPECT_EQ(iou_on_stock() && !(variant->flags & IORING_SETUP_SQPOLL),
		  blocked_in_wait(r, self->p[1]));
	EXPECT_EQ(0, iou_discard(r, 1));

	ASSERT_EQ(0, begin_blocked_open(r, &o));
	start_read(r, self->p[0], self->buf, 1);
	settle(r);
	/* the requests belong to the SQPOLL thread, not to the task that waits */
	EXPECT_EQ(!(variant->flags & IORING_SETUP_SQPOLL), blocked_in_wait(r, self->p[1]));
	EXPECT_EQ(0, iou_discard(r, 1));
	EXPECT_EQ(0, end_blocked_open(r, &o));
}

/* With IORING_ENTER_NO_IOWAIT, no wait counts as a wait for I/O.  Mutant: no-iowait-is-io. */
TEST_F(complete, no_iowait)
{
	struct iou *r = &self->r;
	struct blocked_open o;

	if (!(r->p.features & IORING_FEAT_NO_IOWAIT))
		SKIP(return, "no IORING_FEAT_NO_IOWAIT");
	/* a worker opens the FIFO, so a wait counts without the flag */
	ASSERT_EQ(0, begin_blocked_open(r, &o));
	start_read(r, self->p[0], self->buf, 1);
	settle(r);
	EXPECT_EQ(0, blocked_in_wait_with(r, self->p[1], IORING_ENTER_NO_IOWAIT));
	EXPECT_EQ(0, iou_discard(r, 1));
	start_read(r, self->p[0], self->buf, 1);
	settle(r);
	EXPECT_EQ(!(variant->flags & IORING_SETUP_SQPOLL), blocked_in_wait(r, self->p[1]));
	EXPECT_EQ(0, iou_discard(r, 1));
	EXPECT_EQ(0, end_blocked_open(r, &o));
}

static int signals;

static void on_signal(int sig)
{
	__atomic_fetch_add(&signals, 1, __ATOMIC_SEQ_CST);
}

/* A thread that sends signals until the target's wait is over. */
struct signaller {
	pthread_t thread, target;
	bool stop;
};

static void *send_signals(void *arg)
{
	struct signaller *s = arg;

	while (!load_acq(&s->stop)) {
		iou_sleep_ms(50);
		pthread_kill(s->target, SIGUSR1);
	}
	return NULL;
}

static int wait_with_signals(struct iou *r, unsigned int nr)
{
	struct signaller s = { .target = pthread_self() };
	int ret;

	if (pthread_create(&s.thread, NULL, send_signals, &s))
		return -1;
	ret = iou_wait_ms(r, nr, IOU_PATIENCE);
	store_rel(&s.stop, true);
	pthread_join(s.thread, NULL);
	return ret;
}

TEST_F(complete, signal_ends_a_wait)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct iou *r = &self->r;

	sigaction(SIGUSR1, &act, NULL);
	EXPECT_EQ(-EINTR, wait_with_signals(r, 1));
	EXPECT_LE(1, load_acq(&signals));
	/* if a CQE is ready, the signal is no error */
	ASSERT_EQ(1, submit_nops(r, 0, 1));
	settle(r);
	EXPECT_EQ(0, wait_with_signals(r, 2));
}

/* The signal mask holds for the wait only, and is set before the wait starts. */
TEST_F(complete, signal_mask)
{
	struct sigaction act = { .sa_handler = on_signal };
	__u64 none = 0, usr1 = 1ULL << (SIGUSR1 - 1);
	struct __kernel_timespec ts = { .tv_nsec = 100000000 };
	struct io_uring_getevents_arg arg = {
		.sigmask_sz = sizeof(none), .ts = (uintptr_t)&ts,
	};
	struct iou *r = &self->r;
	sigset_t set, now;

	sigaction(SIGUSR1, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	EXPECT_EQ(0, load_acq(&signals));
	/* a pending signal that stays blocked does not end the wait */
	arg.sigmask = (uintptr_t)&usr1;
	EXPECT_EQ(-ETIME, iou_enter_arg(r, 0, 1, IORING_ENTER_GETEVENTS, &arg));
	EXPECT_EQ(0, load_acq(&signals));
	arg.sigmask = (uintptr_t)&none;
	EXPECT_EQ(-EINTR, iou_enter_arg(r, 0, 1, IORING_ENTER_GETEVENTS, &arg));
	EXPECT_EQ(1, load_acq(&signals));
	sigprocmask(SIG_BLOCK, NULL, &now);
	EXPECT_EQ(1, sigismember(&now, SIGUSR1));
	/* the older form of the call, without struct io_uring_getevents_arg */
	raise(SIGUSR1);
	EXPECT_EQ(-EINTR, iou_sys_enter(r->fd, 0, 1, IORING_ENTER_GETEVENTS, &none,
					sizeof(none)));
	EXPECT_EQ(2, load_acq(&signals));
	sigprocmask(SIG_BLOCK, NULL, &now);
	EXPECT_EQ(1, sigismember(&now, SIGUSR1));
}

/* Check in which call of the task a CQE becomes visible, for each kind of ring. */
TEST_F(complete, when_it_is_visible)
{
	struct iou *r = &self->r;
	unsigned int i;

	start_read(r, self->p[0], self->buf, 1);
	settle(r);
	iou_sleep_ms(20);
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	if (variant->flags & IORING_SETUP_DEFER_TASKRUN) {
		/* the CQE is not visible before the owner enters with IORING_ENTER_GETEVENTS */
		iou_sleep_ms(100);
		EXPECT_EQ(0, iou_ready(r));
		EXPECT_EQ(0, iou_enter(r, 0, 0, 0));
		EXPECT_EQ(0, iou_ready(r));
		EXPECT_EQ(0, iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS));
	} else {
		/* the CQE becomes visible in any system call of the task */
		for (i = 0; i < 1000 && !iou_ready(r); i++)
			iou_sleep_ms(1);
	}
	EXPECT_EQ(1, iou_ready(r));
}

/* With IORING_SETUP_TASKRUN_FLAG, IORING_SQ_TASKRUN is set while task work waits for the task. */
TEST(taskrun_flag)
{
	static const unsigned int flags[] = {
		IOU_DEFER | IORING_SETUP_TASKRUN_FLAG, IOU_COOP,
	};
	unsigned long long end;
	unsigned int i, seen;
	struct iou r;
	int p[2], go[2], pid;
	char c;

	for (i = 0; i < ARRAY_LEN(flags); i++) {
		ASSERT_EQ(0, pipe(p));
		ASSERT_EQ(0, pipe(go));
		ASSERT_EQ(0, iou_init(&r, 4, flags[i]));
		start_read(&r, p[0], &c, 1);
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			if (read(go[0], &c, 1) != 1)
				_exit(1);
			iou_sleep_ms(20);
			_exit(write(p[1], "x", 1) != 1);
		}
		ASSERT_EQ(1, write(go[1], "x", 1));
		/* spin without a system call: clock_gettime() needs none */
		end = iou_now_us() + 2000000;
		do {
			seen = load_acq(r.sq_flags) & IORING_SQ_TASKRUN;
		} while (!seen && !iou_ready(&r) && iou_now_us() < end);
		/*
		 * An interrupt may run the task work of a COOP_TASKRUN ring before the loop sees
		 * the flag.
		 */
		if (flags[i] & IORING_SETUP_DEFER_TASKRUN) {
			EXPECT_EQ(IORING_SQ_TASKRUN, seen);
			EXPECT_EQ(0, iou_ready(&r));
		} else {
			EXPECT_TRUE(seen || iou_ready(&r));
		}
		EXPECT_EQ(0, iou_enter(&r, 0, 1, IORING_ENTER_GETEVENTS));
		EXPECT_EQ(0, load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
		EXPECT_EQ(1, iou_ready(&r));
		iou_exit(&r);
		waitpid(pid, NULL, 0);
		close(p[0]);
		close(p[1]);
		close(go[0]);
		close(go[1]);
	}
}

/*
 * IORING_SQ_TASKRUN is cleared after all task work has run.  Here the task work of a linked timeout
 * cancels the poll, which queues more task work.
 * Mutant: taskrun-stays.  differences: taskrun-flag-down
 */
TEST(taskrun_flag_down)
{
	struct __kernel_timespec ts = { .tv_nsec = 1000000 };
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ull;
	struct io_uring_sqe *sqe;
	struct iou r;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, iou_init(&r, 4, IOU_DEFER | IORING_SETUP_TASKRUN_FLAG));
	sqe = iou_prep(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0);
	sqe->poll32_events = poll_word(POLLIN);
	sqe->flags = IOSQE_IO_LINK;
	iou_prep(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
	ASSERT_EQ(2, iou_submit(&r));
	while (!(load_acq(r.sq_flags) & IORING_SQ_TASKRUN) && iou_now_us() < end)
		sched_yield();
	EXPECT_EQ(IORING_SQ_TASKRUN, load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
	ASSERT_EQ(0, iou_enter(&r, 0, 2, IORING_ENTER_GETEVENTS));
	EXPECT_EQ(2, iou_ready(&r));
	if (!iou_on_stock())
		EXPECT_EQ(0, load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
	iou_exit(&r);
	close(p[0]);
	close(p[1]);
}

struct last_reader {
	struct iou *r;
	int fd;
	bool submitted, go;
	char byte;
};

/* Exit with a read in flight, without a system call between the read's event and the exit. */
static void *read_and_leave(void *arg)
{
	struct last_reader *reader = arg;

	start_read(reader->r, reader->fd, &reader->byte, 1);
	store_rel(&reader->submitted, true);
	while (!load_acq(&reader->go))
		;
	syscall(SYS_exit, 0);
	return NULL;
}

/*
 * IORING_SQ_TASKRUN was set for task work of a thread.  The flag is cleared when this thread exits.
 * Mutant: taskrun-of-the-dead.  differences: taskrun-flag-down
 */
TEST(taskrun_flag_of_a_thread_that_ended)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ull;
	struct last_reader reader = {};
	pthread_t thread;
	struct iou r;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG));
	reader.r = &r;
	reader.fd = p[0];
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_and_leave, &reader));
	while (!load_acq(&reader.submitted))
		sched_yield();
	ASSERT_EQ(1, write(p[1], "x", 1));
	store_rel(&reader.go, true);
	pthread_join(thread, NULL);
	while (!iou_ready(&r) && iou_now_us() < end)
		iou_wait_ms(&r, 0, 0);
	EXPECT_EQ(1, iou_ready(&r));
	if (!iou_on_stock())
		EXPECT_EQ(0, load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
	iou_exit(&r);
	close(p[0]);
	close(p[1]);
}

struct flagger {
	int fd;
	unsigned int wanted, done;
};

/* Write one byte in each round that the test starts, until it sets @wanted to -1. */
static void *write_rounds(void *arg)
{
	struct flagger *f = arg;
	unsigned int round;

	for (round = 1;; round++) {
		unsigned int wanted;

		while ((wanted = load_acq(&f->wanted)) < round)
			;
		if (wanted == -1U)
			return NULL;
		if (write(f->fd, "x", 1) != 1)
			return NULL;
		__atomic_store_n(&f->done, round, __ATOMIC_RELEASE);
	}
}

/*
 * A task runs task work while the task that has queued it is about to set IORING_SQ_TASKRUN.
 * The flag must be clear in the end.
 */
static void race_for_flag(struct __test_metadata *_metadata, unsigned int flags)
{
	unsigned long long end = iou_race_end();
	struct flagger f = { 0 };
	struct io_uring_sqe *sqe;
	pthread_t thread;
	struct iou r;
	char byte;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	f.fd = p[1];
	ASSERT_EQ(0, iou_init(&r, 4, flags | IORING_SETUP_TASKRUN_FLAG));
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_rounds, &f));
	while (f.wanted < 20000 && iou_now_us() < end) {
		sqe = iou_prep(&r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0);
		sqe->poll32_events = poll_word(POLLIN);
		ASSERT_EQ(1, iou_submit(&r));
		__atomic_store_n(&f.wanted, f.wanted + 1, __ATOMIC_RELEASE);
		while (!iou_ready(&r))
			ASSERT_EQ(0, iou_enter(&r, 0, 0, IORING_ENTER_GETEVENTS));
		iou_seen(&r, 1);
		while (load_acq(&f.done) != f.wanted)
			;
		EXPECT_EQ(0, load_acq(r.sq_flags) & IORING_SQ_TASKRUN) {
			end = 0;
		}
		ASSERT_EQ(1, read(p[0], &byte, 1));
	}
	__atomic_store_n(&f.wanted, -1U, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	iou_exit(&r);
	close(p[0]);
	close(p[1]);
}

TEST(taskrun_flag_race_owner)
{
	race_for_flag(_metadata, IOU_DEFER);
}

TEST(taskrun_flag_race_shared)
{
	race_for_flag(_metadata, IOU_COOP);
}

TEST_F(complete, poll_tells_of_completions)
{
	struct iou *r = &self->r;
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	struct late late = { self->p[1], 1, 50 };
	pthread_t thread;

	EXPECT_EQ(0, poll(&pfd, 1, 0));
	start_read(r, self->p[0], self->buf, 1);
	settle(r);
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_late, &late));
	EXPECT_EQ(1, poll(&pfd, 1, IOU_PATIENCE));
	EXPECT_EQ(POLLIN, pfd.revents);
	pthread_join(thread, NULL);
	/* a CQE that was not consumed makes the ring readable */
	ASSERT_EQ(0, iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS));
	EXPECT_EQ(1, iou_ready(r));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	iou_seen(r, 1);
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	/* a full CQ with CQEs on the overflow list also makes the ring readable */
	ASSERT_EQ(12, submit_nops(r, 0, 12));
	settle(r);
	EXPECT_EQ(1, poll(&pfd, 1, 0));
}

struct first {
	struct iou *r;
	unsigned int go;	/* rounds that the test has started */
	unsigned int done;	/* rounds that the thread has finished */
	unsigned int lost;
};

static void *poll_first(void *arg)
{
	struct first *f = arg;
	unsigned int round;

	for (round = 1; ; round++) {
		struct pollfd p;
		volatile unsigned int i;

		while (load_acq(&f->go) < round)
			;
		if (!f->r)
			return NULL;
		for (i = 0; i < round * 7919 % 2000; i++)
			;
		p = (struct pollfd){ f->r->fd, POLLIN };
		if (poll(&p, 1, IOU_PATIENCE) != 1)
			f->lost++;
		store_rel(&f->done, round);
	}
}

/*
 * A thread polls a ring for the first time while the owner commits a CQE.  A varying delay shifts
 * the two against each other.  Each poll must report the CQE.
 */
TEST(first_poll)
{
	unsigned int round, rounds = iou_rounds(1000);
	struct first f = { NULL };
	volatile unsigned int i;
	pthread_t thread;
	struct iou r;

	ASSERT_EQ(0, pthread_create(&thread, NULL, poll_first, &f));
	for (round = 1; round <= rounds; round++) {
		ASSERT_EQ(0, iou_init(&r, 4, IOU_DEFER));
		iou_nop(&r, 1);
		f.r = &r;
		store_rel(&f.go, round);
		for (i = 0; i < round * 104729 % 2000; i++)
			;
		ASSERT_EQ(1, iou_submit(&r));
		while (load_acq(&f.done) < round)
			;
		iou_exit(&r);
	}
	f.r = NULL;
	store_rel(&f.go, round);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, f.lost);
}

TEST(skip_of_success)
{
	static const unsigned int flags[] = { 0, IOU_DEFER };
	struct io_uring_cqe cqe;
	unsigned int i;
	struct iou r;

	for (i = 0; i < ARRAY_LEN(flags); i++) {
		ASSERT_EQ(0, iou_init(&r, 8, flags[i]));
		iou_nop(&r, 1)->flags = IOSQE_CQE_SKIP_SUCCESS;
		iou_nop(&r, 2);
		ASSERT_EQ(2, iou_submit(&r));
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(2, cqe.user_data);
		EXPECT_EQ(0, iou_ready(&r));
		/* a failure posts a CQE */
		iou_prep(&r, IORING_OP_READ, -1, NULL, 0, 0)->flags =
			IOSQE_CQE_SKIP_SUCCESS;
		EXPECT_EQ(-EBADF, iou_one(&r));
		iou_exit(&r);
	}
}

/* A thread that waits for @min CQEs, and stores how many CQEs were ready after the wait. */
struct waiter {
	struct iou *r;
	unsigned int min;
	int ret;
	unsigned int ready;
};

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;

	w->ret = iou_wait_ms(w->r, w->min, IOU_PATIENCE);
	w->ready = iou_ready(w->r);
	return NULL;
}

/* Two threads wait for different numbers of CQEs, and each gets its number. */
TEST(two_waiters_two_minimums)
{
	unsigned int round, i;
	struct waiter few, many;
	pthread_t t[2];
	char buf[8];
	struct iou r;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, iou_init(&r, 8, 0));
	for (round = 0; round < iou_rounds(20); round++) {
		for (i = 0; i < 5; i++)
			start_read(&r, p[0], buf + i, i);
		few = (struct waiter){ &r, 1 + round % 2 };
		many = (struct waiter){ &r, 5 };
		/* either thread may be the first in the wait queue */
		if (round % 4 < 2)
			ASSERT_EQ(0, pthread_create(&t[0], NULL, wait_thread, &many));
		iou_sleep_ms(5);
		ASSERT_EQ(0, pthread_create(&t[1], NULL, wait_thread, &few));
		iou_sleep_ms(5);
		if (round % 4 >= 2)
			ASSERT_EQ(0, pthread_create(&t[0], NULL, wait_thread, &many));
		iou_sleep_ms(5);
		ASSERT_EQ(2, write(p[1], "xx", 2));
		pthread_join(t[1], NULL);
		EXPECT_EQ(0, few.ret);
		EXPECT_LE(few.min, few.ready);
		ASSERT_EQ(3, write(p[1], "xxx", 3));
		pthread_join(t[0], NULL);
		EXPECT_EQ(0, many.ret);
		EXPECT_EQ(5, many.ready);
		iou_seen(&r, 5);
	}
	iou_exit(&r);
	close(p[0]);
	close(p[1]);
}

/* Write late->nr bytes to the pipe.  Each byte completes one read. */
static void *feed(void *arg)
{
	struct late *late = arg;
	unsigned int i;

	for (i = 0; i < late->nr; i++) {
		if (write(late->fd, "x", 1) != 1)
			break;
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

FIXTURE(wake) {
	struct iou r;
	int p[2];
};

FIXTURE_VARIANT(wake) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(wake);

FIXTURE_SETUP(wake)
{
	ASSERT_EQ(0, iou_init(&self->r, 16, variant->flags));
	ASSERT_EQ(0, pipe(self->p));
}

FIXTURE_TEARDOWN(wake)
{
	iou_exit(&self->r);
	close(self->p[0]);
	close(self->p[1]);
}

/* Wait for changing numbers of reads while a thread writes to the pipe.  No wake-up is lost. */
TEST_F(wake, storm)
{
	unsigned int want, i, started = 0, done = 0, total = iou_rounds(4000);
	struct late late = { self->p[1], total, 0 };
	struct iou *r = &self->r;
	pthread_t thread;
	char buf[16];

	ASSERT_EQ(0, pthread_create(&thread, NULL, feed, &late));
	while (done < total) {
		while (started < total && started - done < 8) {
			ASSERT_NE(NULL, iou_prep(r, IORING_OP_READ, self->p[0],
						 buf + started % 16, 1, 0));
			started++;
		}
		ASSERT_LE(0, iou_submit(r));
		want = 1 + done % (started - done);
		ASSERT_EQ(0, iou_wait(r, want)) {
			TH_LOG("done %u of %u, waiting for %u", done, total, want);
		}
		for (i = iou_ready(r); i; i--) {
			ASSERT_EQ(1, iou_cqe_at(r, 0)->res);
			iou_seen(r, 1);
			done++;
		}
	}
	pthread_join(thread, NULL);
}

/* The work of each submitter: @nr NOPs.  The submitters share the ring under @lock. */
struct nopper {
	struct iou *r;
	pthread_mutex_t lock;
	unsigned int nr;
};

static void *nop_thread(void *arg)
{
	struct nopper *n = arg;
	unsigned int i;

	for (i = 0; i < n->nr;) {
		pthread_mutex_lock(&n->lock);
		if (iou_nop(n->r, 1) && iou_submit(n->r) == 1)
			i++;
		pthread_mutex_unlock(&n->lock);
	}
	return NULL;
}

/* Two threads submit NOPs to one ring while a third thread waits for their CQEs. */
TEST(two_submitters)
{
	struct nopper n = { .nr = iou_rounds(2000) };
	unsigned int done = 0, i;
	pthread_t t[2];
	struct iou r;

	pthread_mutex_init(&n.lock, NULL);
	ASSERT_EQ(0, iou_init(&r, 8, 0));
	n.r = &r;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, nop_thread, &n));
	while (done < 2 * n.nr) {
		unsigned int left = 2 * n.nr - done;

		ASSERT_EQ(0, iou_wait(&r, left < 3 ? left : 3));
		i = iou_ready(&r);
		iou_seen(&r, i);
		done += i;
	}
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	iou_exit(&r);
}

/*
 * A CQE is counted as lost if the kernel has no memory for it.  The next call that waits and
 * submits nothing returns -EBADR, once.  In each round of the loop, a different allocation fails.
 * Mutant: loss-told-by-nothing.
 */
TEST(dropped_for_want_of_memory)
{
	unsigned int nth, lost = 0;
	struct iou r;
	int i, ret;

	if (iou_fail_init())
		SKIP(return, "needs fault injection");
	for (nth = 1; nth < 8 && !lost; nth++) {
		ASSERT_EQ(0, iou_init_cq(&r, 1, 1, 0));
		ASSERT_EQ(2, submit_nops(&r, 0, 2));
		iou_nop(&r, 2);
		iou_flush(&r);
		ASSERT_EQ(0, iou_fail_nth(nth));
		ret = iou_enter(&r, 1, 0, 0);
		iou_fail_nth(0);
		lost = load_acq(r.cq_lost);
		if (lost) {
			EXPECT_EQ(1, ret);
			EXPECT_EQ(1, lost);
			iou_nop(&r, 3);
			iou_flush(&r);
			EXPECT_EQ(1, iou_enter(&r, 1, 1, IORING_ENTER_GETEVENTS));
			EXPECT_EQ(-EBADR, iou_enter(&r, 0, 1,
						    IORING_ENTER_GETEVENTS));
			for (i = 0; i < 3; i++)
				EXPECT_EQ(0, iou_discard(&r, 1));
			EXPECT_EQ(-ETIME, iou_wait_ms(&r, 1, 20));
			EXPECT_EQ(1, load_acq(r.cq_lost));
		}
		iou_exit(&r);
	}
	EXPECT_EQ(1, lost);
}

/*
 * CQEs for which no task makes room are charged to the task that causes them, up to its memory
 * limit.  Beyond this limit a CQE is lost, or a message is refused, and a call returns an error.
 */
FIXTURE(unread) {
	char group[64];
};

FIXTURE_VARIANT(unread) {
	unsigned int flags;
	bool messages;		/* from another ring: the sender gets the error */
};

FIXTURE_VARIANT_ADD(unread, plain) { 0, false };
FIXTURE_VARIANT_ADD(unread, defer) { IOU_DEFER, false };
FIXTURE_VARIANT_ADD(unread, messages) { 0, true };

/* A slow kernel takes half a minute to post 16 MiB of CQEs that are not read. */
static unsigned long unread_limit(void)
{
	return (iou_slow_kernel() ? 4 : 16) << 20;
}

FIXTURE_SETUP(unread)
{
	char path[96], text[16];

	snprintf(self->group, sizeof(self->group), "/sys/fs/cgroup/iou_unread_test");
	iou_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(self->group, 0755) && errno != EEXIST)
		SKIP(return, "no cgroup v2 hierarchy that can be written");
	snprintf(path, sizeof(path), "%s/memory.max", self->group);
	snprintf(text, sizeof(text), "%lu", unread_limit());
	if (iou_put(path, text)) {
		rmdir(self->group);
		SKIP(return, "no memory controller");
	}
}

FIXTURE_TEARDOWN(unread)
{
	rmdir(self->group);
}

/* Return: a number of CQEs that take four times the limit, if no error comes before */
static unsigned long unread_enough(void)
{
	return 4 * unread_limit() / 64;
}

static int join_group(const char *group)
{
	char path[96], self[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	snprintf(self, sizeof(self), "%d", getpid());
	return iou_put(path, self);
}

/* Join the group, post CQEs and read none of them.  Return: the exit code of the process. */
static int never_read(const char *group, unsigned int flags)
{
	unsigned long nr, enough = unread_enough();
	struct iou r;

	if (join_group(group) || iou_init(&r, 64, flags))
		return 1;
	for (nr = 0; nr < enough && !load_acq(r.cq_lost); nr++) {
		if (!iou_sq_room(&r) && iou_submit(&r) < 0)
			return 2;
		iou_nop(&r, nr);
	}
	if (!load_acq(r.cq_lost))
		return 3;
	iou_submit(&r);
	return iou_wait_ms(&r, 1, 1000) == -EBADR ? 0 : 4;
}

static int never_reads_messages(const char *group)
{
	unsigned long nr, enough = unread_enough();
	struct iou from, to;
	int ret = 0;

	if (join_group(group) || iou_init(&from, 64, 0) || iou_init(&to, 64, 0))
		return 1;
	for (nr = 0; nr < enough && !ret; nr++) {
		iou_prep(&from, IORING_OP_MSG_RING, to.fd, NULL, 0, nr);
		ret = iou_one(&from);
	}
	return ret == -EOVERFLOW && !load_acq(to.cq_lost) ? 0 : 2;
}

static unsigned long bytes_of(const char *group, const char *name)
{
	char path[96], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = 0;
	close(fd);
	return strtoul(text, NULL, 0);
}

/*
 * A task that causes CQEs without end stays within its memory limit.
 * Mutant: overflow-beyond-limit.  differences: overflow-charged
 */
TEST_F(unread, stays_within_the_limit)
{
	int status;
	pid_t pid;

	/* 6.12 loses CQEs only when the machine has no memory left */
	if (iou_on_stock())
		SKIP(return, "has no limit");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(variant->messages ? never_reads_messages(self->group) :
		      never_read(self->group, variant->flags));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_GE(unread_limit() + (1 << 20), bytes_of(self->group, "memory.peak"));
}

static int park_polls(struct iou *r, int event, unsigned int nr)
{
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i <= nr; i++) {
		sqe = iou_prep(r, IORING_OP_POLL_ADD, i < nr ? event : 0, NULL, 0, 0);
		sqe->flags = i < nr ? 0 : IOSQE_FIXED_FILE;
		sqe->poll32_events = poll_word(POLLIN);
		if ((!iou_sq_room(r) || i == nr) && iou_submit(r) < 0)
			return 1;
	}
	return 0;
}

/*
 * Join the group, and let the fallback worker post CQEs of a child that has exited.
 * Return: the exit code of the process.
 */
static int never_read_of_the_dead(const char *group)
{
	int event = eventfd(0, 0), none = -1, p[2], pid, status;
	struct io_uring_files_update up = { .fds = (uintptr_t)&none };
	struct pollfd last = { };
	unsigned int nr = iou_slow_kernel() ? 20000 : 50000, seen = 0;
	unsigned long kept;
	struct iou r;

	if (join_group(group) || pipe(p) || iou_init_cq(&r, 1024, 1024, 0) ||
	    iou_register(&r, IORING_REGISTER_FILES, p, 1))
		return 1;
	pid = fork();
	if (!pid)
		_exit(park_polls(&r, event, nr));
	if (waitpid(pid, &status, 0) != pid || status)
		return 2;
	if (iou_register(&r, IORING_REGISTER_FILES_UPDATE, &up, 1) != 1 || close(p[0]))
		return 3;
	if (eventfd_write(event, 1) || write(p[1], "x", 1) != 1)
		return 4;
	/* the last poll holds the pipe's read end, so POLLERR shows that this poll has ended */
	last.fd = p[1];
	if (poll(&last, 1, 6 * IOU_PATIENCE) != 1 || !(last.revents & POLLERR))
		return 5;
	kept = bytes_of(group, "memory.current");
	for (; seen <= nr; iou_seen(&r, iou_ready(&r))) {
		if (iou_wait(&r, 1))
			return 6;
		seen += iou_ready(&r);
	}
	/*
	 * Each CQE on the overflow list takes 64 bytes.  Expect more than half of these bytes to
	 * be uncharged, since the slab allocator may keep partly used pages.
	 */
	return kept > bytes_of(group, "memory.current") + 32UL * nr ? 0 : 7;
}

/*
 * A fallback worker also charges the CQEs that it keeps.  Mutant: overflow-uncharged.
 * differences: overflow-charged
 */
TEST_F(unread, of_the_dead)
{
	char path[96];
	int status;
	pid_t pid;

	if (iou_on_stock())
		SKIP(return, "not charged to a task");
	if (variant->messages || variant->flags)
		SKIP(return, "posted by a task");
	snprintf(path, sizeof(path), "%s/memory.max", self->group);
	ASSERT_EQ(0, iou_put(path, "max"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(never_read_of_the_dead(self->group));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("where: %d", WEXITSTATUS(status));
	}
}

TEST_HARNESS_MAIN
