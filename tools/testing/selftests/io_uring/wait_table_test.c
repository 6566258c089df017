// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: requests that wait in great numbers, and searches among them */
/*
 * A cancel or a removal names a waiting request by its user_data.  If several requests have one
 * name, a search always finds the same request.  This takes about the same time however many
 * requests wait.  Some searches have to look at all requests.  Their task can be killed meanwhile.
 */
#include "fault.h"
#include "sock.h"
#include "timer.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#define BATCH	4096

FIXTURE(table) {
	struct iou r;
	int p[2];
};

FIXTURE_VARIANT(table) {
	unsigned int flags;
};

IOU_KIND(table, plain, 0);
IOU_KIND(table, defer, IOU_DEFER);

FIXTURE_SETUP(table)
{
	ASSERT_EQ(0, iou_init_cq(&self->r, BATCH, 4 * BATCH, variant->flags));
	ASSERT_EQ(0, pipe(self->p));
}

FIXTURE_TEARDOWN(table)
{
	iou_exit(&self->r);
	close(self->p[0]);
	close(self->p[1]);
}

static struct io_uring_sqe *poll_in(struct iou *r, int fd, unsigned long long data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL, 0, 0);

	sqe->poll32_events = poll_word(POLLIN);
	sqe->user_data = data;
	return sqe;
}

static struct io_uring_sqe *poll_remove(struct iou *r, unsigned long long target,
					unsigned long long data)
{
	struct io_uring_sqe *sqe;

	sqe = iou_prep(r, IORING_OP_POLL_REMOVE, -1, NULL, 0, 0);
	sqe->addr = target;
	sqe->user_data = data;
	return sqe;
}

static struct io_uring_sqe *cancel(struct iou *r, unsigned long long target, unsigned int flags,
				   unsigned long long data)
{
	struct io_uring_sqe *sqe;

	sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0);
	sqe->addr = target;
	sqe->cancel_flags = flags;
	sqe->user_data = data;
	return sqe;
}

/* Submit @nr polls that wait.  Their user_data begins at @data and increases by @step each. */
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

/* Submit @nr reads of one byte that wait, all named @data. */
static int park_reads(struct iou *r, int fd, unsigned int nr, unsigned long long data)
{
	static char byte;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		iou_prep(r, IORING_OP_READ, fd, &byte, 1, 0)->user_data = data;
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

/* Submit two polls named 7.  An event of a descriptor later shows which of them still waits. */
static void two_polls(struct iou *r, int first, int second)
{
	poll_in(r, first, 7);
	poll_in(r, second, 7);
	iou_submit(r);
}

/*
 * Of requests with one name, a cancel or a removal finds the youngest poll or the oldest timer.  A
 * cancel finds a poll rather than a timer.  The test has few and many other requests, and the wait
 * table also grows after the named requests have begun to wait.
 */
TEST_F(table, who_is_found)
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
		/* the cancel finds the younger poll */
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
		/* the older timer is removed, and an update ends the younger one */
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

/* A timer is removed once: the next removal finds the next timer, even if both repeat. */
TEST_F(table, each_is_removed)
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

/* An updated timer counts as the youngest from then on. */
TEST_F(table, updated_ones_come_last)
{
	struct iou *r = &self->r;

	timeout(r, HOUR, 0, 0, 5);
	timeout(r, 2 * HOUR, 0, 0, 5);
	timeout_update(r, 5, 3 * HOUR, 0, 1);
	/* the next update finds the second timer */
	timeout_update(r, 5, 0, 0, 2);
	EXPECT_STREQ("1:0 2:0 5:ETIME", sorted(submit_cqes(r, 3)));
	timeout_update(r, 5, 0, 0, 3);
	EXPECT_STREQ("3:0 5:ETIME", sorted(submit_cqes(r, 2)));
}

/* Return: the time in us of a batch of @nr searches for name 5; all find a request, or none. */
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
	/* the requests that were found post CQEs as well */
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
 * A removal takes about as long among twenty times as many requests with one name.
 * The shortest of some runs counts: a busy machine can only make a run longer.
 * differences: none, only the time that a removal takes differs
 */
TEST_F(table, one_name)
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

/* Each request has its own name, and is found, whatever bits the names have in common. */
TEST_F(table, many_names)
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
		/* no removed request is left in the wait table: ANY cancels only a new poll */
		poll_in(r, self->p[0], 2);
		cancel(r, 0, IORING_ASYNC_CANCEL_ANY, 1);
		EXPECT_STREQ("1:1 2:ECANCELED", submit_cqes(r, 2));
	}
}

static int polls_named_5(struct iou *r, int fd, unsigned int nr)
{
	return park_polls(r, fd, nr, 5, 0);
}

static int reads_named_5(struct iou *r, int fd, unsigned int nr)
{
	return park_reads(r, fd, nr, 5);
}

/* Queue reads for the only worker, which sleeps in a fault of the first read. */
static int queued_reads(struct iou *r, int fd, unsigned int nr)
{
	unsigned int limits[2] = { 1, 1 }, i;
	int file = memfd_create("iou", 0);
	struct hole hole;

	if (ftruncate(file, IOU_PAGE) || hole_open(&hole, 1) ||
	    iou_register(r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2))
		return -1;
	for (i = 0; i < nr; i++) {
		iou_prep(r, IORING_OP_READ, file, hole.mem, 1, 0)->flags = IOSQE_ASYNC;
		if ((i + 1) % BATCH == 0 || i + 1 == nr)
			if (iou_submit(r) <= 0)
				return -1;
	}
	return hole_faults(&hole, 1) == 1 ? 0 : -1;
}

/* The requests of a batch of searches, and the function that submits what they search. */
struct search {
	const char *name;
	int (*wait)(struct iou *r, int fd, unsigned int nr);
	int op, fd, len;
	unsigned int flags;
};

/* Submit requests that wait, and search for minutes.  *@progress is 1 between, 2 at the end. */
static void search_long(const struct search *s, unsigned int parked, volatile int *progress)
{
	unsigned int nr = 32768, i;
	struct io_uring_sqe *sqe;
	struct iou r;
	int p[2];

	if (pipe(p) || iou_init_cq(&r, nr, 2 * nr, 0) || s->wait(&r, p[0], parked))
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

/* Kill a child.  Return: the milliseconds until it has ended. */
static unsigned int time_to_die(int pid)
{
	unsigned long long start = iou_now_us();
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return (iou_now_us() - start) / 1000;
}

/*
 * Each search of a batch looks at all requests, so the batch would take minutes, but its task can
 * be killed.  Mutant: parked-search-deaf.  Only the row with a removal fails with that mutant, as a
 * cancel also checks for a kill before each search.  The row with a queue would pass even without
 * this check, as the killed worker ends the queued requests first.  differences: search-killable
 */
TEST(killed_while_searching)
{
	static const struct search row[] = {
		{ "by file", polls_named_5, IORING_OP_ASYNC_CANCEL, 0, 0, IORING_ASYNC_CANCEL_FD },
		{ "by operation", polls_named_5, IORING_OP_ASYNC_CANCEL, -1, IORING_OP_NOP,
		  IORING_ASYNC_CANCEL_OP },
		{ "by name and file", polls_named_5, IORING_OP_ASYNC_CANCEL, 0, 0,
		  IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_USERDATA },
		{ "all, again and again", polls_named_5, IORING_OP_ASYNC_CANCEL, -1, 0,
		  IORING_ASYNC_CANCEL_ANY },
		{ "a poll of that name, among reads", reads_named_5, IORING_OP_POLL_REMOVE, -1 },
		{ "in a queue", queued_reads, IORING_OP_ASYNC_CANCEL, -1, IORING_OP_NOP,
		  IORING_ASYNC_CANCEL_OP },
	};
	unsigned int parked = iou_slow_kernel() ? 5000 : 100000, i;
	volatile int *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int limit = iou_slow_kernel() ? 20000 : 2000, took;
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
		took = time_to_die(pid);
		EXPECT_GT(limit, took) {
			TH_LOG("%s: died after %u ms", row[i].name, took);
		}
	}
}

/* Link to @sqe, which was prepared last, a LINK_TIMEOUT that expires at @end. */
static void limit_at(struct iou *r, struct io_uring_sqe *sqe, const struct __kernel_timespec *end)
{
	sqe->flags |= IOSQE_IO_LINK;
	iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, end, 1, 0)->timeout_flags = IORING_TIMEOUT_ABS;
	if (iou_sq_room(r) < 4)
		iou_submit(r);
}

#define TOO_LATE	2

/*
 * One run of task work first handles events of @nr polls, each with a linked request, and then
 * LINK_TIMEOUTs of @nr reads that wait for a worker.  For each LINK_TIMEOUT the run searches the
 * ready requests for the read.  The LINK_TIMEOUTs expire after @patience times the time that
 * arming the polls took.  Exit with TOO_LATE if the reads were not submitted in that time.
 */
static void run_long(struct iou *r, unsigned int nr, unsigned int patience, volatile int *progress)
{
	int p[2], out[2], file = memfd_create("iou", 0);
	struct __kernel_timespec end = {};
	unsigned long long start, at;
	struct hole hole;
	static char byte;
	unsigned int i;

	/* use CPU 0 alone: the run handles ready requests early if another task needs its CPU */
	if (iou_run_on(0) || pipe(p) || pipe(out) || hole_open(&hole, 1) ||
	    queued_reads(r, 0, 1))
		_exit(1);
	start = iou_now_us();
	for (i = 0; i < nr; i++) {
		poll_in(r, p[0], 5)->flags = IOSQE_IO_LINK;
		iou_nop(r, 6);
		if (iou_sq_room(r) < 4)
			iou_submit(r);
	}
	iou_submit(r);
	at = iou_now_us();
	end.tv_sec = (at + patience * (at - start)) / 1000000 + 2;
	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_READ, file, &byte, 1, 0);

		sqe->flags = IOSQE_ASYNC;
		limit_at(r, sqe, &end);
	}
	iou_submit(r);
	at = end.tv_sec * 1000000ULL;
	if (iou_now_us() + 1000000 > at)
		_exit(TOO_LATE);
	/* all events come while the task sleeps in a fault of its write() below */
	if (!fork()) {
		iou_run_on(1);
		iou_sleep_ms(100);
		if (write(p[1], "x", 1) != 1)
			_exit(3);
		while (iou_now_us() < at + 1000000)
			iou_sleep_ms(10);
		hole_give(&hole, 0, 1);
		*progress = 1;
		_exit(0);
	}
	if (write(out[1], hole.mem, 1) == 1)
		*progress = 2;
	pause();
}

/*
 * LINK_TIMEOUTs expire while many requests are ready.  A killed task does not search all ready
 * requests for each LINK_TIMEOUT.  Mutant: ready-search-deaf.
 * differences: none, 6.12 has no list of what is ready
 */
TEST(killed_while_limits_expire)
{
	volatile int *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int nr = iou_slow_kernel() ? 1500 : 15000, patience = 4, took;
	int pid, status, gone;
	struct iou r;

	if (iou_on_stock())
		SKIP(return, "it has no such list");
	iou_run_on(1);
	do {
		ASSERT_EQ(0, iou_init_cq(&r, BATCH, 4 * BATCH, 0));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			run_long(&r, nr, patience, progress);
		for (gone = 0; !gone && !*progress; iou_sleep_ms(1))
			gone = waitpid(pid, &status, WNOHANG);
		if (gone)
			iou_exit(&r);
		patience *= 2;
	} while (gone && WIFEXITED(status) && WEXITSTATUS(status) == TOO_LATE && patience <= 32);
	ASSERT_EQ(0, gone) {
		TH_LOG("not started: status %x", status);
	}
	/* the events take less time than this */
	iou_sleep_ms(1500);
	took = time_to_die(pid);
	EXPECT_GT(iou_slow_kernel() ? 8000 : 4000, took) {
		TH_LOG("died after %u ms", took);
	}
	iou_exit(&r);
}

#define LONG		32768

/*
 * Submit a batch.  Its first request kills the task, as it writes into @p, and the read end of @p
 * sends SIGKILL to its owner.  Each other request adds one to @event.
 */
static void submit_and_be_killed(unsigned int flags, int p[2], int event)
{
	static const uint64_t one = 1;
	struct iou r;
	int i;

	if (iou_init(&r, LONG, flags))
		_exit(1);
	iou_prep(&r, IORING_OP_WRITE, p[1], &one, 1, 0);
	for (i = 1; i < LONG; i++)
		iou_prep(&r, IORING_OP_WRITE, event, &one, sizeof(one), 0);
	if (fcntl(p[0], F_SETOWN, getpid()) || fcntl(p[0], F_SETSIG, SIGKILL) ||
	    fcntl(p[0], F_SETFL, O_ASYNC))
		_exit(2);
	iou_submit(&r);
	iou_wait(&r, LONG);
	_exit(3);
}

/*
 * A task that is killed during a batch does not issue the rest of it.  Mutant: batch-not-killable.
 * differences: kill-leaves-batch
 */
TEST(killed_in_a_long_batch)
{
	static const unsigned int kinds[] = { 0, IOU_DEFER, IORING_SETUP_SQPOLL };
	int pid, status, p[2], event;
	eventfd_t done;
	unsigned int i;

	if (iou_on_stock())
		SKIP(return, "it goes on there");
	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		event = eventfd(0, EFD_NONBLOCK);
		ASSERT_EQ(0, pipe(p));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			submit_and_be_killed(kinds[i], p, event);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status)) {
			TH_LOG("kind %u: status %x", i, status);
		}
		/* the task checks for a kill after each 16 requests */
		EXPECT_EQ(0, eventfd_read(event, &done));
		EXPECT_GE(16, done) {
			TH_LOG("kind %u: %llu more", i, (unsigned long long)done);
		}
		close(event);
		close(p[0]);
		close(p[1]);
	}
}

/* Sleep for 1 ms again and again, and record the longest time between two runs.  Never return. */
static void measure_gaps(volatile unsigned long long *longest)
{
	unsigned long long last = iou_now_us(), now;

	for (;; last = now) {
		iou_sleep_ms(1);
		now = iou_now_us();
		if (now - last > *longest)
			*longest = now - last;
	}
}

/*
 * The first cancel of a batch ends all waits, and each other cancel searches a large table that is
 * empty.  Other tasks run on the same CPU during the batch.
 * Mutant: empty-wait-table-keeps-cpu.
 */
TEST(empty_table_lets_others_run)
{
	unsigned int parked = iou_slow_kernel() ? 20000 : 270000, nr = 512, i;
	volatile unsigned long long *longest;
	unsigned long long start, took;
	struct iou ring, *r = &ring;
	unsigned int word = 0;
	int pid;

	ASSERT_EQ(0, iou_run_on(0));
	longest = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, iou_init_cq(r, BATCH, 4 * BATCH, IOU_DEFER));
	if (!iou_has_op(r, IORING_OP_FUTEX_WAIT))
		SKIP(return, "no FUTEX_WAIT");
	for (i = 0; i < parked; i++) {
		iou_prep(r, IORING_OP_FUTEX_WAIT, FUTEX2_SIZE_U32 | FUTEX2_PRIVATE, &word, 0,
			 0)->addr3 = ~0U;
		if (!iou_sq_room(r))
			ASSERT_EQ(BATCH, iou_submit(r));
	}
	iou_submit(r);
	pid = fork();
	if (!pid)
		measure_gaps(longest);
	iou_sleep_ms(20);
	/* task work that the first cancel causes runs after the batch */
	for (i = 0; i < nr; i++)
		cancel(r, 0, IORING_ASYNC_CANCEL_ANY, 2);
	*longest = 0;
	start = iou_now_us();
	EXPECT_EQ(nr, iou_submit(r));
	took = iou_now_us() - start;
	iou_sleep_ms(20);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_GT(took / 4 + 100000, *longest) {
		TH_LOG("%llu of %llu ms", *longest / 1000, took / 1000);
	}
	iou_exit(r);
	munmap((void *)longest, IOU_PAGE);
}

/* Return: the longest gap of another task while @nr wakes scan one hash bucket for *@took us. */
static unsigned long long gap_of_wakes(struct iou *r, unsigned int *word, unsigned int nr,
				       volatile unsigned long long *longest,
				       unsigned long long *took)
{
	unsigned int i;
	int pid = fork();

	if (!pid)
		measure_gaps(longest);
	iou_sleep_ms(20);
	for (i = 0; i < nr; i++)
		iou_prep(r, IORING_OP_FUTEX_WAKE, FUTEX2_SIZE_U32 | FUTEX2_PRIVATE, word, 0,
			 1)->addr3 = 2;
	*longest = 0;
	*took = iou_now_us();
	if (iou_submit(r) != (int)nr)
		*longest = ~0ULL;
	*took = iou_now_us() - *took;
	iou_sleep_ms(20);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return *longest;
}

/*
 * Each wake of a batch scans a long hash bucket and finds no waiter with its bits.  Other tasks run
 * on the same CPU after a few wakes; on 6.12, after 10 wakes.  One good run of three is enough, as
 * the machine may be busy.
 * Mutant: futex-wake-keeps-cpu.
 */
TEST(futex_wakes_let_others_run)
{
	unsigned int parked = iou_slow_kernel() ? 20000 : 120000, nr = 64, i;
	volatile unsigned long long *longest;
	unsigned long long gap = 0, took = 0;
	struct iou ring, *r = &ring;
	unsigned int word = 0;

	ASSERT_EQ(0, iou_run_on(0));
	longest = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, iou_init_cq(r, BATCH, 4 * BATCH, IOU_DEFER));
	if (!iou_has_op(r, IORING_OP_FUTEX_WAIT))
		SKIP(return, "no FUTEX_WAIT");
	for (i = 0; i < parked; i++) {
		iou_prep(r, IORING_OP_FUTEX_WAIT, FUTEX2_SIZE_U32 | FUTEX2_PRIVATE, &word, 0,
			 0)->addr3 = 1;
		if (!iou_sq_room(r))
			ASSERT_EQ(BATCH, iou_submit(r));
	}
	iou_submit(r);
	for (i = 0; i < 3; i++) {
		gap = gap_of_wakes(r, &word, nr, longest, &took);
		if (gap < took / nr * 13)
			break;
	}
	EXPECT_GT(took / nr * 13, gap) {
		TH_LOG("%llu us, %llu us for %u wakes", gap, took, nr);
	}
	iou_exit(r);
	munmap((void *)longest, IOU_PAGE);
}

/*
 * Each write of a batch walks, without a pause, past many polls that wait for another event of the
 * same file.  Other tasks run on the same CPU during the batch.  Mutant: batch-keeps-cpu.
 */
TEST(long_batch_lets_others_run)
{
	unsigned int parked = iou_slow_kernel() ? 10000 : 60000, nr = 256, i;
	volatile unsigned long long *longest;
	unsigned long long start, took;
	static const uint64_t one = 1;
	int pid, event;
	struct iou r;

	ASSERT_EQ(0, iou_run_on(0));
	longest = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	event = eventfd(0, EFD_NONBLOCK);
	ASSERT_EQ(0, iou_init_cq(&r, BATCH, 4 * BATCH, IOU_DEFER));
	for (i = 0; i < parked; i++) {
		iou_prep(&r, IORING_OP_POLL_ADD, event, NULL, 0, 0)->poll32_events =
			poll_word(POLLPRI);
		if (!iou_sq_room(&r))
			ASSERT_EQ(BATCH, iou_submit(&r));
	}
	iou_submit(&r);
	pid = fork();
	if (!pid)
		measure_gaps(longest);
	iou_sleep_ms(20);
	for (i = 0; i < nr; i++)
		iou_prep(&r, IORING_OP_WRITE, event, &one, sizeof(one), 0);
	*longest = 0;
	start = iou_now_us();
	EXPECT_EQ(nr, iou_submit(&r));
	took = iou_now_us() - start;
	iou_sleep_ms(20);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_GT(took / 4 + 50000, *longest) {
		TH_LOG("%llu of %llu ms", *longest / 1000, took / 1000);
	}
	iou_exit(&r);
	close(event);
	munmap((void *)longest, IOU_PAGE);
}

/* Submit @nr NOPs, which wait if a drained request before them waits. */
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
 * Execute a program in a task with @nr requests that wait behind a drained request, and behind @nr
 * requests of another task.  Return: microseconds that this took; 0 on failure
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

/*
 * End @nr exclusive polls of a socket.  With @each, half of the polls are woken by an event each,
 * and all are cancelled before they report it.  Without @each, the polls are multishot, one of
 * them is woken, and the ring is closed.  Return: microseconds until the end; 0 on failure
 */
static unsigned long long end_of_exclusive(unsigned int nr, bool each)
{
	int s[2], p[2], multi = each ? 0 : IORING_POLL_ADD_MULTI;
	unsigned long long begin, took = 0;
	unsigned int i;
	struct iou r;

	if (pipe(p) || sock_tcp_pair(s) || iou_init_cq(&r, BATCH, 8 * BATCH, IOU_DEFER))
		return 0;
	/* the write end is closed when the ring is freed */
	if (iou_register(&r, IORING_REGISTER_FILES, &p[1], 1))
		return 0;
	close(p[1]);
	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe = poll_in(&r, s[1], i);

		sqe->poll32_events = poll_word(POLLIN | EPOLLEXCLUSIVE);
		sqe->len = multi;
		if ((i + 1) % BATCH == 0 || i + 1 == nr)
			if (iou_submit(&r) <= 0)
				goto out;
	}
	for (i = 0; i < (each ? nr / 2 : 1); i++)
		if (send(s[0], "x", 1, 0) != 1)
			goto out;
	begin = iou_now_us();
	if (each) {
		cancel(&r, 0, IORING_ASYNC_CANCEL_ANY, nr);
		if (iou_submit_wait(&r, nr + 1) == 1 && iou_discard(&r, nr + 1) == -ECANCELED)
			took = iou_now_us() - begin;
	}
	iou_exit(&r);
	if (!each && read(p[0], &i, 1) == 0)
		took = iou_now_us() - begin;
out:
	close(p[0]);
	close(s[0]);
	close(s[1]);
	return took;
}

static unsigned long long end_of_multishot(unsigned int nr)
{
	return end_of_exclusive(nr, false);
}

static unsigned long long end_of_chosen(unsigned int nr)
{
	return end_of_exclusive(nr, true);
}

/*
 * Check that the time of @run is not quadratic: for four times as many requests it may take up to
 * nine times as long.  The shortest of three rounds counts, or of up to ten on a busy machine.
 */
static void four_times(struct __test_metadata *_metadata, unsigned int nr,
		       unsigned long long (*run)(unsigned int nr))
{
	unsigned long long few = ~0ULL, many = ~0ULL, took;
	unsigned int round;

	for (round = 0; round < 3 || (round < 10 && 9 * few <= many); round++) {
		took = run(nr);
		ASSERT_NE(0, took);
		few = took < few ? took : few;
		took = run(4 * nr);
		ASSERT_NE(0, took);
		many = took < many ? took : many;
	}
	EXPECT_GT(9 * few, many) {
		TH_LOG("%llu us for %u, %llu us for four times as many", few, nr, many);
	}
}

TEST(exec_behind_many)
{
	four_times(_metadata, iou_slow_kernel() ? 3000 : 8000, exec_behind);
}

/* Each poll that ends wakes another poll, which ends as well. */
TEST(exclusive_ones_end)
{
	four_times(_metadata, iou_slow_kernel() ? 1000 : 5000, end_of_multishot);
}

/* Each woken poll that is cancelled wakes another poll, perhaps always the same one. */
TEST(chosen_ones_end)
{
	four_times(_metadata, iou_slow_kernel() ? 1000 : 5000, end_of_chosen);
}

TEST_HARNESS_MAIN
