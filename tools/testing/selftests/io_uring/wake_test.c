// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: wake-ups of a task that waits for several CQEs */
/*
 * On rings with DEFER_TASKRUN the kernel counts the task work of a sleeping task.  It wakes the
 * task for the last CQE that the task waits for.  A simple count is wrong for task work that leads
 * to two CQEs, and for task work that has to run before other CQEs can come.  The tests wait for
 * such CQEs.  If a wake-up is lost, the wait ends only with its timeout.
 */
#include <pthread.h>
#include <linux/falloc.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "fault.h"
#include "iou_test.h"
#include "sock.h"

/* What happen() does once the ring's owner sleeps in io_uring_enter(). */
struct event {
	pid_t	owner;
	int	fd;		/* gets a byte */
	int	from;		/* is emptied, then @to gets a byte */
	int	to;
	struct hole *hole;	/* gets its page */
	int	event;		/* an eventfd that gets the value 1 */
};

FIXTURE(several) {
	struct iou r;
	int p[2];		/* a pipe */
	struct event event;
	pthread_t thread;
};

FIXTURE_VARIANT(several) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(several);

FIXTURE_SETUP(several)
{
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	ASSERT_EQ(0, pipe(self->p));
	self->event = (struct event){ .owner = gettid(), .fd = -1, .from = -1, .to = -1 };
}

FIXTURE_TEARDOWN(several)
{
	iou_exit(&self->r);
	close(self->p[0]);
	close(self->p[1]);
}

static void *happen(void *arg)
{
	struct event *e = arg;
	char buf[IOU_PAGE];
	long left = 65537;

	while (!iou_asleep(e->owner))
		sched_yield();
	if (e->fd >= 0 && write(e->fd, "x", 1) != 1)
		return "write";
	if (e->event > 0 && eventfd_write(e->event, 1))
		return "signal";
	if (e->hole && hole_give(e->hole, 0, 1))
		return "give";
	while (e->from >= 0 && left > 0) {
		ssize_t nr = read(e->from, buf, sizeof(buf));

		if (nr <= 0)
			return "read";
		left -= nr;
	}
	if (e->to >= 0 && write(e->to, "y", 1) != 1)
		return "answer";
	return NULL;
}

/* Wait for @min CQEs.  Return: 0, or -ETIME if the wait took IOU_PATIENCE, without a wake-up */
static int woken(struct iou *r, unsigned int min)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	int ret;

	while (iou_ready(r) < min) {
		ret = iou_wait_ms(r, min, IOU_PATIENCE);
		if (iou_now_us() >= end)
			return -ETIME;
		if (ret < 0 && ret != -EINTR)
			return ret;
	}
	return 0;
}

/*
 * Return: true if the kernel loses wake-ups, as 6.12 counts one CQE for each request with task
 * work.  differences: defer-wake-count
 */
static bool loses_wakes(unsigned int flags)
{
	return iou_on_stock() && flags == IOU_DEFER;
}

/* Register a table of one file, with a tag. */
static int register_tagged(struct iou *r, int fd, __u64 tag)
{
	struct io_uring_rsrc_register reg = {
		.nr = 1, .data = (uintptr_t)&fd, .tags = (uintptr_t)&tag,
	};

	return iou_register(r, IORING_REGISTER_FILES2, &reg, sizeof(reg));
}

static int empty_slot(struct iou *r)
{
	int none = -1;
	struct io_uring_files_update up = { .fds = (uintptr_t)&none };

	return iou_register(r, IORING_REGISTER_FILES_UPDATE, &up, 1);
}

/* Submit a poll of the file in the slot, and give an SQPOLL thread 20 ms to start it. */
static int start_poll(struct iou *r)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_ADD, 0, NULL, 0, 0);
	int ret;

	sqe->poll32_events = poll_word(POLLIN);
	sqe->flags = IOSQE_FIXED_FILE;
	ret = iou_submit(r);
	iou_wait_ms(r, 1, 20);
	return ret;
}

#define BEGIN(e)	ASSERT_EQ(0, pthread_create(&self->thread, NULL, happen, (e)))
#define END()								\
do {									\
	void *failed;							\
									\
	ASSERT_EQ(0, pthread_join(self->thread, &failed));		\
	EXPECT_EQ(NULL, failed) {					\
		TH_LOG("%s", (char *)failed);				\
	}								\
} while (0)

/* The end of the last request on an unregistered file posts its CQE and the tag's CQE. */
TEST_F(several, poll_and_tag)
{
	struct iou *r = &self->r;

	if (loses_wakes(variant->flags))
		SKIP(return, "loses the wake-up");
	ASSERT_EQ(0, register_tagged(r, self->p[0], 77));
	ASSERT_EQ(1, start_poll(r));
	ASSERT_EQ(1, empty_slot(r));
	self->event.fd = self->p[1];
	BEGIN(&self->event);
	EXPECT_EQ(0, woken(r, 2));
	END();
}

TEST_F(several, read_and_tag)
{
	struct iou *r = &self->r;
	char buf[8];

	if (loses_wakes(variant->flags))
		SKIP(return, "loses the wake-up");
	ASSERT_EQ(0, register_tagged(r, self->p[0], 77));
	iou_prep(r, IORING_OP_READ, 0, buf, 1, 0)->flags = IOSQE_FIXED_FILE;
	ASSERT_EQ(1, iou_submit(r));
	iou_wait_ms(r, 1, 10);
	ASSERT_EQ(1, empty_slot(r));
	self->event.fd = self->p[1];
	BEGIN(&self->event);
	EXPECT_EQ(0, woken(r, 2));
	END();
}

/* A worker empties the slot while the owner sleeps, after the event was counted. */
TEST_F(several, tag_by_a_worker)
{
	struct iou *r = &self->r;
	struct hole hole;

	if (hole_open(&hole, 1))
		SKIP(return, "no userfaultfd");
	memset(hole.zero, 0xff, IOU_PAGE);
	ASSERT_EQ(0, register_tagged(r, self->p[0], 77));
	ASSERT_EQ(1, start_poll(r));
	iou_prep(r, IORING_OP_FILES_UPDATE, -1, hole.mem, 1, 0)->flags = IOSQE_ASYNC;
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(1, hole_faults(&hole, 1));
	self->event.fd = self->p[1];
	self->event.hole = &hole;
	BEGIN(&self->event);
	EXPECT_EQ(0, woken(r, 3));
	END();
	close(hole.uffd);
}

/* A write that waits for room in a pipe has to run before data for the read can come. */
TEST_F(several, write_and_answer)
{
	struct iou *r = &self->r;
	static char full[65536];
	char buf[8];
	int q[2];

	if (loses_wakes(variant->flags))
		SKIP(return, "loses the wake-up");
	ASSERT_EQ(0, pipe(q));
	ASSERT_EQ(65536, write(self->p[1], full, sizeof(full)));
	iou_prep(r, IORING_OP_WRITE, self->p[1], full, 1, 0);
	iou_prep(r, IORING_OP_READ, q[0], buf, 1, 0);
	ASSERT_EQ(2, iou_submit(r));
	self->event.from = self->p[0];
	self->event.to = q[1];
	BEGIN(&self->event);
	EXPECT_EQ(0, woken(r, 2)) {
		/* the thread still reads, and gets its last byte here */
		EXPECT_EQ(1, write(self->p[1], "z", 1));
	}
	END();
	close(q[0]);
	close(q[1]);
}

/* A drained request begins when the event of the poll before it has been handled. */
TEST_F(several, poll_and_drained)
{
	struct iou *r = &self->r;

	if (loses_wakes(variant->flags))
		SKIP(return, "loses the wake-up");
	iou_prep(r, IORING_OP_POLL_ADD, self->p[0], NULL, 0, 0)->poll32_events = poll_word(POLLIN);
	iou_nop(r, 2)->flags = IOSQE_IO_DRAIN;
	ASSERT_EQ(2, iou_submit(r));
	self->event.fd = self->p[1];
	BEGIN(&self->event);
	EXPECT_EQ(0, woken(r, 2));
	END();
}

/* The end of a direct write is task work, and the FALLOCATE of the same file waits for this. */
TEST_F(several, write_and_cut)
{
	struct iou *r = &self->r;
	const char *dir = getenv("IOU_EXT4");
	unsigned int i;
	char path[64];
	void *buf;
	int fd;

	if (!dir)
		SKIP(return, "needs a file system on a disk in IOU_EXT4");
	fd = iou_file_in(dir, 1 << 20, 1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fsync(fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	close(self->p[0]);
	self->p[0] = open(path, O_RDWR | O_DIRECT);
	ASSERT_LE(0, self->p[0]);
	close(fd);
	buf = iou_map_anon(1 << 20);
	for (i = 0; i < 32; i++) {
		iou_prep(r, IORING_OP_WRITE, self->p[0], buf, 1 << 19, 0);
		iou_prep(r, IORING_OP_FALLOCATE, self->p[0], (void *)IOU_PAGE,
			 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 19);
		ASSERT_EQ(2, iou_submit(r));
		ASSERT_EQ(0, woken(r, 2));
		/* the CQE of the FALLOCATE, whose result is 0, may come first */
		EXPECT_EQ(1 << 19, iou_cqe_at(r, 0)->res + iou_cqe_at(r, 1)->res);
		iou_seen(r, 2);
	}
}

/* A mailbox has more items than one run handles: one wait gets all CQEs, in order. */
TEST(many_at_once)
{
	const unsigned int nr = 10000;
	struct event event = { .owner = gettid(), .fd = -1, .from = -1, .to = -1 };
	pthread_t thread;
	unsigned int i;
	struct iou r;
	void *failed;

	ASSERT_EQ(0, iou_init_cq(&r, 1024, 16384, IOU_DEFER));
	event.event = eventfd(0, 0);
	ASSERT_LE(0, event.event);
	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe;

		if (!iou_sq_room(&r))
			ASSERT_EQ(1024, iou_submit(&r));
		sqe = iou_prep(&r, IORING_OP_POLL_ADD, event.event, NULL, 0, 0);
		sqe->poll32_events = poll_word(POLLIN);
		sqe->user_data = i;
	}
	ASSERT_LT(0, iou_submit(&r));
	ASSERT_EQ(0, pthread_create(&thread, NULL, happen, &event));
	EXPECT_EQ(0, woken(&r, nr));
	ASSERT_EQ(0, pthread_join(thread, &failed));
	EXPECT_EQ(NULL, failed);
	ASSERT_EQ(nr, iou_ready(&r));
	/* the youngest poll is woken first */
	for (i = 0; i < nr; i++)
		ASSERT_EQ(nr - 1 - i, iou_cqe_at(&r, i)->user_data);
	iou_exit(&r);
	close(event.event);
}

#define RUN	10000

/*
 * Run a mailbox.  Its first item kills the task: a write that waited for room in @full.  The read
 * end of @full sends SIGKILL to its owner.  Each other item would subtract one from @event.
 */
static void run_and_be_killed(int full[2], int event)
{
	static char buf[65536];
	uint64_t taken;
	unsigned int i;
	struct iou r;

	if (iou_init_cq(&r, 1024, 16384, IOU_DEFER) || write(full[1], buf, sizeof(buf)) < 0)
		_exit(1);
	iou_prep(&r, IORING_OP_WRITE, full[1], buf, 1, 0);
	for (i = 0; i < RUN; i++) {
		if (!iou_sq_room(&r) && iou_submit(&r) != 1024)
			_exit(2);
		iou_prep(&r, IORING_OP_READ, event, &taken, sizeof(taken), 0);
	}
	iou_submit(&r);
	if (fcntl(full[0], F_SETOWN, getpid()) || fcntl(full[0], F_SETSIG, SIGKILL) ||
	    fcntl(full[0], F_SETFL, O_ASYNC))
		_exit(3);
	if (read(full[0], buf, sizeof(buf)) != sizeof(buf) || eventfd_write(event, RUN))
		_exit(4);
	iou_wait(&r, RUN + 1);
	_exit(5);
}

/*
 * A task that is killed while it runs its mailbox does not run most of the items.
 * Mutant: mailbox-run-not-killable.  differences: kill-leaves-mail
 */
TEST(killed_while_it_runs_mail)
{
	int event = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC), full[2], pid, status;
	eventfd_t one, left = 0;

	if (iou_on_stock())
		SKIP(return, "runs all of it");
	ASSERT_EQ(0, pipe(full));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		run_and_be_killed(full, event);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status)) {
		TH_LOG("status %x", status);
	}
	ASSERT_EQ(0, fcntl(event, F_SETFL, O_NONBLOCK));
	while (!eventfd_read(event, &one))
		left += one;
	/* the run checks for a kill about every 64 items */
	EXPECT_LE(RUN - 1024, left);
	EXPECT_GT(RUN, left);
	close(event);
	close(full[0]);
	close(full[1]);
}

/* Fork a child that sends and receives without a pause, which wakes polls for other events, too. */
static int pass_data(int s[2])
{
	int pid = fork();
	char c = 'x';

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (write(s[1], &c, 1) == 1 && read(s[0], &c, 1) == 1)
		;
	_exit(0);
}

/*
 * Wakes for other events come faster than the task can check the file.  A wait still ends at its
 * time.
 * Mutants: vain-wakes-without-pause, wait-deadline-after-sleep.  differences: wait-vain-wakes
 */
TEST(times_of_waits_beside_vain_wakes)
{
	static const unsigned int kinds[] = { 0, IOU_COOP, IOU_DEFER };
	unsigned long long start, took, longest, end;
	int s[2], pid[3], status;
	unsigned int i, k, multi, step;
	struct iou r;

	if (iou_on_stock())
		SKIP(return, "they are longer there");
	/* three tasks keep a slow machine busy: test a poll on one ring, a multishot on another */
	step = iou_slow_kernel() && !getenv("IOU_SOAK") ? 5 : 1;
	for (i = 0; i < 2 * ARRAY_LEN(kinds); i += step) {
		multi = i % 2;
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
		ASSERT_EQ(0, iou_init(&r, 8, kinds[i / 2]));
		iou_prep(&r, IORING_OP_POLL_ADD, s[0], NULL, multi, 0)->poll32_events =
			poll_word(POLLPRI);
		ASSERT_EQ(0, iou_submit_issued(&r));
		for (k = 0; k < ARRAY_LEN(pid); k++)
			pid[k] = pass_data(s);
		longest = 0;
		/* if a wait takes two seconds, one wait is enough */
		end = iou_now_us() + (iou_slow_kernel() ? 300000 : 1000000);
		while (iou_now_us() < end) {
			start = iou_now_us();
			EXPECT_EQ(-ETIME, iou_wait_ms(&r, 1, 20));
			took = iou_now_us() - start;
			if (took > longest)
				longest = took;
		}
		for (k = 0; k < ARRAY_LEN(pid); k++) {
			kill(pid[k], SIGKILL);
			waitpid(pid[k], &status, 0);
		}
		EXPECT_GT(iou_slow_kernel() ? 2000 : 500, longest / 1000) {
			TH_LOG("kind %u, multishot %u: %llu ms", i / 2, multi, longest / 1000);
		}
		iou_exit(&r);
		sock_close_pair(s);
	}
}

static volatile int nagged_ready;

/* Read signals that do not come. */
static int read_signals(void *arg)
{
	static struct signalfd_siginfo info;
	static struct iovec iov = { &info, sizeof(info) };
	static struct iou r;
	sigset_t usr;

	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	if (iou_init(&r, 8, IOU_COOP))
		_exit(1);
	iou_prep(&r, IORING_OP_READV, signalfd(-1, &usr, 0), &iov, 1, 0);
	if (iou_submit(&r) != 1)
		_exit(2);
	nagged_ready = 1;
	for (;;)
		iou_wait_ms(&r, 1, 20);
}

/*
 * Other tasks keep sending signals to a process that shares its signal handlers with the reader.
 * Each signal wakes the read in vain, but the reader can be killed.
 * Mutant: vain-retry-without-pause.
 */
TEST(killed_beside_vain_wakes)
{
	unsigned long long start;
	int pid[4], me = getpid(), status, i, reader;
	char *stack = iou_map_anon(16 * IOU_PAGE);
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	reader = clone(read_signals, stack + 16 * IOU_PAGE, CLONE_VM | CLONE_SIGHAND | SIGCHLD,
		       NULL);
	ASSERT_LE(0, reader);
	while (!nagged_ready && !waitpid(reader, &status, WNOHANG))
		iou_sleep_ms(1);
	for (i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				kill(me, SIGRTMIN + 1);
		}
	}
	iou_sleep_ms(300);
	start = iou_now_us();
	kill(reader, SIGKILL);
	EXPECT_EQ(reader, waitpid(reader, &status, 0));
	EXPECT_GT(iou_slow_kernel() ? 10000 : 3000, (iou_now_us() - start) / 1000) {
		TH_LOG("%llu ms", (iou_now_us() - start) / 1000);
	}
	for (i = 0; i < 4; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
	}
}

TEST_HARNESS_MAIN
