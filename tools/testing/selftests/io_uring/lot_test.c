// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: requests that wait in great numbers, and who is found among them */
/*
 * Programs name what waits by its user_data.  Which of several with the same name
 * is meant has always been the same one, however many others there are; finding it
 * costs about the same, too; and where everything has to be looked at, the task can
 * be killed meanwhile.
 */
#include "timer.h"
#include <poll.h>
#include <sys/wait.h>

#define BATCH	4096

FIXTURE(lot) {
	struct iou r;
	int p[2];
};

FIXTURE_VARIANT(lot) {
	unsigned int flags;
};

IOU_KIND(lot, plain, 0);
IOU_KIND(lot, defer, IOU_DEFER);

FIXTURE_SETUP(lot)
{
	ASSERT_EQ(0, iou_init_cq(&self->r, BATCH, 4 * BATCH, variant->flags));
	ASSERT_EQ(0, pipe(self->p));
}

FIXTURE_TEARDOWN(lot)
{
	iou_exit(&self->r);
	close(self->p[0]);
	close(self->p[1]);
}

static struct io_uring_sqe *poll_in(struct iou *r, int fd, unsigned long long data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL, 0, 0);

	sqe->poll32_events = POLLIN;
	sqe->user_data = data;
	return sqe;
}

static struct io_uring_sqe *poll_remove(struct iou *r, unsigned long long target,
					unsigned long long data)
{
	struct io_uring_sqe *sqe;

	sqe = iou_prep(r, IORING_OP_POLL_REMOVE, -1, (void *)(uintptr_t)target, 0, 0);
	sqe->user_data = data;
	return sqe;
}

static struct io_uring_sqe *cancel(struct iou *r, unsigned long long target, unsigned int flags,
				   unsigned long long data)
{
	struct io_uring_sqe *sqe;

	sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)(uintptr_t)target, 0, 0);
	sqe->cancel_flags = flags;
	sqe->user_data = data;
	return sqe;
}

/* Park @nr polls, named @data and on from there in steps, which may be 0. */
static int park_polls(struct iou *r, int fd, unsigned int nr, unsigned long long data,
		      unsigned int step)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		poll_in(r, fd, data + (unsigned long long)i * step);
		if ((i + 1) % BATCH == 0 || i + 1 == nr)
			if (iou_submit(r) <= 0)
				return -1;
	}
	return 0;
}

static int park_timeouts(struct iou *r, unsigned int nr, unsigned long long data)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		timeout(r, HOUR, 0, 0, data);
		if ((i + 1) % BATCH == 0 || i + 1 == nr)
			if (iou_submit(r) <= 0)
				return -1;
	}
	return 0;
}

/* Which of the polls named 7 goes first is seen by the descriptor's events. */
static void two_polls(struct iou *r, int first, int second)
{
	poll_in(r, first, 7);
	poll_in(r, second, 7);
	iou_submit(r);
}

/*
 * Of several that have one name, cancel and removal mean the youngest poll but the
 * oldest timer, and cancel means a poll rather than a timer; with few and with many
 * others, and although the table of the lot has grown since they were parked.
 */
TEST_F(lot, who_is_found)
{
	struct iou *r = &self->r;
	unsigned int others[] = { 0, 100, 5000 };
	int q[2];
	unsigned int i;

	ASSERT_EQ(0, pipe(q));
	for (i = 0; i < ARRAY_LEN(others); i++) {
		two_polls(r, self->p[0], q[0]);
		timeout(r, 2 * HOUR, 0, 0, 8);
		timeout(r, 3 * HOUR, 0, 0, 8);
		timeout(r, HOUR, 0, 0, 7);
		EXPECT_STREQ("", submit_cqes(r, 0));
		ASSERT_EQ(0, park_timeouts(r, others[i], 1000));
		/* the younger poll */
		cancel(r, 7, 0, 1);
		EXPECT_STREQ("1:0 7:ECANCELED", submit_cqes(r, 2));
		ASSERT_EQ(1, write(self->p[1], "x", 1));
		EXPECT_STREQ("7:1", cqes(r, 1));
		ASSERT_EQ(1, read(self->p[0], &q[1], 1));
		/* only the timer is left */
		cancel(r, 7, 0, 2);
		EXPECT_STREQ("2:0 7:ECANCELED", submit_cqes(r, 2));
		cancel(r, 7, 0, 2);
		EXPECT_STREQ("2:ENOENT", submit_cqes(r, 1));
		/* the older timer: what is left can be brought to its end */
		timeout_remove(r, 8, 3);
		EXPECT_STREQ("3:0 8:ECANCELED", submit_cqes(r, 2));
		timeout_update(r, 8, 0, 0, 4);
		EXPECT_STREQ("4:0 8:ETIME", submit_cqes(r, 2));
		timeout_remove(r, 8, 3);
		EXPECT_STREQ("3:ENOENT", submit_cqes(r, 1));
		cancel(r, 1000, IORING_ASYNC_CANCEL_ALL, 5);
		ASSERT_LT(0, iou_submit(r));
		ASSERT_EQ(0, iou_wait(r, 1 + others[i]));
		EXPECT_EQ(5, iou_cqe_at(r, 0)->user_data);
		EXPECT_EQ(others[i], iou_cqe_at(r, 0)->res);
		iou_seen(r, 1 + others[i]);
	}
	close(q[0]);
}

/* A timer is removed once: the next removal finds the next timer, though both repeat. */
TEST_F(lot, each_is_removed)
{
	unsigned int kind[] = { 0, IORING_TIMEOUT_MULTISHOT }, i;
	struct iou *r = &self->r;

	for (i = 0; i < ARRAY_LEN(kind); i++) {
		timeout(r, HOUR, 0, kind[i], 5);
		timeout(r, HOUR, 0, kind[i], 5);
		EXPECT_STREQ("", submit_cqes(r, 0));
		timeout_remove(r, 5, 1);
		cancel(r, 5, 0, 2);
		timeout_remove(r, 5, 3);
		EXPECT_STREQ("1:0 2:0 3:ENOENT 5:ECANCELED 5:ECANCELED",
			     sorted(submit_cqes(r, 5)));
	}
}

/* A timer that gets another time is the youngest from then on. */
TEST_F(lot, updated_ones_come_last)
{
	struct iou *r = &self->r;

	timeout(r, HOUR, 0, 0, 5);
	timeout(r, 2 * HOUR, 0, 0, 5);
	timeout_update(r, 5, 3 * HOUR, 0, 1);
	/* the second one */
	timeout_update(r, 5, 0, 0, 2);
	EXPECT_STREQ("1:0 2:0 5:ETIME", sorted(submit_cqes(r, 3)));
	timeout_update(r, 5, 0, 0, 3);
	EXPECT_STREQ("3:0 5:ETIME", sorted(submit_cqes(r, 2)));
}

/* The time of @nr searches for what is named 5, in a batch; they find nothing or everything. */
static unsigned long long search(struct iou *r, int op, unsigned int nr)
{
	unsigned long long start;
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		sqe = iou_prep(r, op, -1, (void *)5UL, 0, 0);
		sqe->user_data = 1;
	}
	start = iou_now_us();
	iou_submit(r);
	start = iou_now_us() - start;
	/* those that were found end as well */
	do {
		iou_seen(r, iou_ready(r));
	} while (iou_wait_ms(r, 1, SILENCE) != -ETIME);
	return start ?: 1;
}

static void park_5(struct iou *r, int fd, int op, unsigned int nr)
{
	if (op == IORING_OP_TIMEOUT)
		park_timeouts(r, nr, 5);
	else
		park_polls(r, fd, nr, 5, 0);
}

/*
 * Twenty times as many under one name, and a removal takes about as long.  The
 * best of some runs counts: a busy machine can only make it longer.
 */
TEST_F(lot, one_name)
{
	static const struct {
		int parked, removal;
	} row[] = {
		{ IORING_OP_POLL_ADD, IORING_OP_POLL_REMOVE },
		{ IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL },
		{ IORING_OP_POLL_ADD, IORING_OP_TIMEOUT_REMOVE },
		{ IORING_OP_TIMEOUT, IORING_OP_TIMEOUT_REMOVE },
		{ IORING_OP_TIMEOUT, IORING_OP_ASYNC_CANCEL },
		{ IORING_OP_TIMEOUT, IORING_OP_POLL_REMOVE },
	};
	unsigned int scale = iou_slow_kernel() ? 1 : 2, i, round;
	unsigned int nr = iou_slow_kernel() ? 250 : 1000;

	if (iou_on_stock())
		SKIP(return, "some of it takes long there");
	for (i = 0; i < ARRAY_LEN(row); i++) {
		unsigned long long few = ~0ULL, many = ~0ULL, took;
		struct iou *r = &self->r;

		for (round = 0; round < 4; round++) {
			iou_exit(r);
			ASSERT_EQ(0, iou_init_cq(r, BATCH, 4 * BATCH, variant->flags));
			park_5(r, self->p[0], row[i].parked, nr * scale);
			took = search(r, row[i].removal, nr);
			few = took < few ? took : few;
			park_5(r, self->p[0], row[i].parked, 20 * nr * scale);
			took = search(r, row[i].removal, nr);
			many = took < many ? took : many;
		}
		EXPECT_GT(8 * few, many) {
			TH_LOG("row %u: %llu us for %u, %llu us with twenty times as many", i, few,
			       nr, many);
		}
	}
}

/* As many names as requests: each is found, whatever they have in common. */
TEST_F(lot, many_names)
{
	unsigned int step[] = { 1, 64, 4096, 1 << 20 }, nr = 3 * BATCH, i, k;
	struct iou *r = &self->r;

	for (k = 0; k < ARRAY_LEN(step); k++) {
		ASSERT_EQ(0, park_polls(r, self->p[0], nr, 1 << 20, step[k]));
		for (i = 0; i < nr; i++) {
			poll_remove(r, (1 << 20) + (unsigned long long)i * step[k], 1);
			if ((i + 1) % 1024)
				continue;
			ASSERT_EQ(1024, iou_submit(r));
			ASSERT_EQ(0, iou_wait(r, 2 * 1024));
			while (iou_ready(r)) {
				struct io_uring_cqe *cqe = iou_cqe_at(r, 0);

				EXPECT_EQ(cqe->user_data == 1 ? 0 : -ECANCELED, cqe->res);
				iou_seen(r, 1);
			}
		}
		/* the lot shrinks again, and has lost nobody */
		poll_in(r, self->p[0], 2);
		cancel(r, 0, IORING_ASYNC_CANCEL_ANY, 1);
		EXPECT_STREQ("1:1 2:ECANCELED", submit_cqes(r, 2));
	}
}

/* What each of a batch of searches looks for, among polls named 5 on a pipe. */
struct search {
	const char *name;
	int op, fd, len;
	unsigned int flags;
};

/* A task that parks, then searches for minutes.  It says when it begins, and if it ends. */
static void search_long(const struct search *s, unsigned int parked, volatile int *progress)
{
	unsigned int nr = 32768, i;
	struct io_uring_sqe *sqe;
	struct iou r;
	int p[2];

	if (pipe(p) || iou_init_cq(&r, nr, 2 * nr, 0) || park_polls(&r, p[0], parked, 5, 0))
		_exit(1);
	for (i = 0; i < nr; i++) {
		sqe = iou_prep(&r, s->op, s->fd < 0 ? -1 : p[1], (void *)5UL, s->len, 0);
		sqe->cancel_flags = s->flags;
	}
	*progress = 1;
	iou_submit(&r);
	*progress = 2;
	_exit(0);
}

/*
 * A batch of searches, each of which has to look at everything: it would take
 * minutes, but its task can be killed.
 */
TEST(killed_while_searching)
{
	static const struct search row[] = {
		{ "by file", IORING_OP_ASYNC_CANCEL, 0, 0, IORING_ASYNC_CANCEL_FD },
		{ "by operation", IORING_OP_ASYNC_CANCEL, -1, IORING_OP_NOP,
		  IORING_ASYNC_CANCEL_OP },
		{ "by name and file", IORING_OP_ASYNC_CANCEL, 0, 0,
		  IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_USERDATA },
		{ "all, again and again", IORING_OP_ASYNC_CANCEL, -1, 0,
		  IORING_ASYNC_CANCEL_ANY },
	};
	unsigned int parked = iou_slow_kernel() ? 20000 : 100000, i;
	volatile int *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int limit = iou_slow_kernel() ? 20000 : 2000, took;
	unsigned long long start;
	int pid, status;

	if (iou_on_stock())
		SKIP(return, "it takes minutes there");
	for (i = 0; i < ARRAY_LEN(row); i++) {
		*progress = 0;
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			search_long(&row[i], parked, progress);
		while (!*progress && !waitpid(pid, &status, WNOHANG))
			iou_sleep_ms(1);
		iou_sleep_ms(200);
		ASSERT_EQ(1, *progress) {
			TH_LOG("%s: not started, or done before it was killed", row[i].name);
		}
		start = iou_now_us();
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		took = (iou_now_us() - start) / 1000;
		EXPECT_GT(limit, took) {
			TH_LOG("%s: died after %u ms", row[i].name, took);
		}
	}
}

/* Submit @nr requests; a drained one that waits keeps them waiting, too. */
static int queue_nops(struct iou *r, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!iou_nop(r, 1))
			return -1;
		if ((i + 1) % BATCH == 0 || i + 1 == nr)
			if (iou_submit(r) <= 0)
				return -1;
	}
	return 0;
}

/*
 * A task with @nr requests that wait for a drained one executes a program; as many of
 * another task wait in front of them.  Return: microseconds that this took, 0 on failure.
 */
static unsigned long long exec_behind(unsigned int nr)
{
	unsigned long long *begun = iou_map_anon(IOU_PAGE), took = 0;
	struct iou r;
	int p[2], pid, status;

	if (pipe(p) || iou_init_cq(&r, BATCH, 4 * BATCH, 0))
		return 0;
	poll_in(&r, p[0], 7);
	iou_nop(&r, 8)->flags = IOSQE_IO_DRAIN;
	if (iou_submit(&r) != 2 || queue_nops(&r, nr))
		goto out;
	pid = fork();
	if (!pid) {
		if (queue_nops(&r, nr))
			_exit(1);
		*begun = iou_now_us();
		execl("/bin/true", "true", NULL);
		_exit(2);
	}
	if (waitpid(pid, &status, 0) == pid && !status)
		took = iou_now_us() - *begun ?: 1;
out:
	iou_exit(&r);
	close(p[0]);
	close(p[1]);
	munmap(begun, IOU_PAGE);
	return took;
}

/* Four times as many take four times as long, not sixteen times. */
TEST(exec_behind_many)
{
	unsigned int nr = iou_slow_kernel() ? 3000 : 8000, round;
	unsigned long long few = ~0ULL, many = ~0ULL, took;

	for (round = 0; round < 3; round++) {
		took = exec_behind(nr);
		ASSERT_NE(0, took);
		few = took < few ? took : few;
		took = exec_behind(4 * nr);
		ASSERT_NE(0, took);
		many = took < many ? took : many;
	}
	EXPECT_GT(9 * few, many) {
		TH_LOG("%llu us for %u, %llu us for four times as many", few, nr, many);
	}
}

TEST_HARNESS_MAIN
