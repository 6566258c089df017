// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: workers - how many, for what, in which order, how they end */
/*
 * A missing page keeps a worker busy: the worker reads a file into a hole, and waits in the fault
 * until the test supplies the page.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <linux/sockios.h>
#include "fault.h"
#include "iou_test.h"

#define PAGES	64

/* The arguments and results of a test's second thread. */
struct joiner {
	struct iou *r;
	pthread_barrier_t *at;
	unsigned int limits[2];
	void *memory;
	int fd;
};

FIXTURE(wq) {
	struct iou r;
	struct hole hole;
	int file;
};

FIXTURE_VARIANT(wq) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(wq);

FIXTURE_SETUP(wq)
{
	self->r.fd = -1;
	if (hole_open(&self->hole, PAGES))
		SKIP(return, "needs userfaultfd");
	self->file = iou_file(4096, 1);
	ASSERT_LE(0, self->file);
	ASSERT_EQ(0, iou_init(&self->r, PAGES, variant->flags));
}

FIXTURE_TEARDOWN(wq)
{
	iou_exit(&self->r);
	close(self->hole.uffd);
	close(self->file);
}

static int set_limits(struct iou *r, unsigned int bounded, unsigned int unbounded)
{
	unsigned int limits[2] = { bounded, unbounded };

	return iou_register(r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2);
}

/* Queue a read into each of @nr pages. */
static void busy_reads(struct iou *r, int fd, char *hole, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe;

		sqe = iou_prep(r, IORING_OP_READ, fd, hole + i * IOU_PAGE, 16, 0);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = i;
	}
	iou_submit(r);
}

/* Workers are named after the submitter, or after the SQPOLL thread. */
TEST_F(wq, name)
{
	char want[32];

	busy_reads(&self->r, self->file, self->hole.mem, 1);
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	EXPECT_EQ(1, iou_threads(getpid(), "iou-wrk-"));
	snprintf(want, sizeof(want), "iou-wrk-%d\n", getpid());
	if (!(variant->flags & IORING_SETUP_SQPOLL))
		EXPECT_EQ(1, iou_threads(getpid(), want));
	hole_give(&self->hole, 0, 1);
	EXPECT_EQ(0, iou_discard(&self->r, 1));
}

static void prep_fifo(struct iou *r, const char *name, unsigned long long user_data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, name, 0, 0);

	sqe->open_flags = O_RDONLY;
	sqe->user_data = user_data;
}

/* Open a FIFO for writing once another task waits to read it.  Return: descriptor, or -1 */
static int meet_reader(const char *name)
{
	unsigned long long end = iou_now_us() + 5000000;
	int fd;

	do {
		fd = open(name, O_WRONLY | O_NONBLOCK);
	} while (fd < 0 && errno == ENXIO && iou_now_us() < end);
	return fd;
}

/* Open the FIFO, so that the open of request @nr ends.  Return: 0 or a negative errno. */
static int let_fifo_open(struct iou *r, const char *name, unsigned long long nr)
{
	int ret, writer = meet_reader(name);
	struct io_uring_cqe cqe;

	if (writer < 0)
		return -ETIME;
	close(writer);
	ret = iou_reap(r, &cqe);
	if (ret || cqe.res < 0)
		return ret ? ret : cqe.res;
	close(cqe.res);
	return cqe.user_data == nr ? 0 : -ENOMSG;
}

/*
 * The only worker waits in the open of a FIFO, and a second open is queued.  The cancel of the
 * first does not disturb the second.  Mutant: signal-for-the-next-work.
 */
TEST_F(wq, cancelled_work_leaves_the_next_alone)
{
	char dir[] = "/tmp/iou.XXXXXX", first[64], second[64];
	struct io_uring_cqe cqe;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int i;

	ASSERT_NE(NULL, mkdtemp(dir));
	snprintf(first, sizeof(first), "%s/first", dir);
	snprintf(second, sizeof(second), "%s/second", dir);
	ASSERT_EQ(0, mkfifo(first, 0600));
	ASSERT_EQ(0, mkfifo(second, 0600));
	ASSERT_EQ(0, set_limits(r, 1, 1));
	prep_fifo(r, first, 1);
	ASSERT_EQ(1, iou_submit(r));
	/* a writer lets the open of request 1 end */
	ASSERT_EQ(0, let_fifo_open(r, first, 1));

	prep_fifo(r, first, 2);
	ASSERT_EQ(1, iou_submit(r));
	iou_sleep_ms(50);
	prep_fifo(r, second, 3);
	ASSERT_EQ(1, iou_submit(r));
	iou_sleep_ms(50);
	sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)2, 0, 0);
	sqe->user_data = 4;
	ASSERT_EQ(1, iou_submit(r));
	/* the two CQEs come in either order */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data == 4 ? -EALREADY : -EINTR, cqe.res);
		EXPECT_NE(3, cqe.user_data);
	}
	/* if a signal has gone to the second open, let it end this open before a writer does */
	iou_sleep_ms(50);
	EXPECT_EQ(0, let_fifo_open(r, second, 3));
	unlink(first);
	unlink(second);
	rmdir(dir);
}

/*
 * The only worker reads a file that no other task holds open; the open of a FIFO is queued.  The
 * file is released with its request, not with the next one.  Mutant: file-waits-for-the-next-work.
 */
TEST_F(wq, file_does_not_wait_for_the_next_work)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	char name[] = "/tmp/iou.XXXXXX", fifo[64];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int file, other;

	file = mkstemp(name);
	ASSERT_LE(0, file);
	ASSERT_EQ(16, write(file, "0123456789abcdef", 16));
	other = open(name, O_RDONLY);
	ASSERT_LE(0, other);
	snprintf(fifo, sizeof(fifo), "%s.fifo", name);
	ASSERT_EQ(0, mkfifo(fifo, 0600));
	/* the lock is held as long as the file is open */
	ASSERT_EQ(0, flock(file, LOCK_EX));
	ASSERT_EQ(0, set_limits(r, 1, 1));
	busy_reads(r, file, self->hole.mem, 1);
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	prep_fifo(r, fifo, 1);
	ASSERT_EQ(1, iou_submit(r));
	close(file);
	hole_give(&self->hole, 0, 1);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(0, cqe.user_data);
	EXPECT_EQ(16, cqe.res);
	while (flock(other, LOCK_EX | LOCK_NB) && iou_now_us() < end)
		iou_sleep_ms(1);
	EXPECT_GT(end, iou_now_us());
	EXPECT_EQ(0, iou_ready(r));
	EXPECT_EQ(0, let_fifo_open(r, fifo, 1));
	close(other);
	unlink(fifo);
	unlink(name);
}

/* Let the kernel access joiner->memory with the ring lock held. */
static void *hold_ring_lock(void *arg)
{
	struct joiner *joiner = arg;

	iou_register(joiner->r, IORING_REGISTER_PROBE, joiner->memory, 1);
	return NULL;
}

/*
 * The only worker has written to a registered file, which it puts under the ring lock.  Another
 * task sleeps with that lock held.  The worker's next work, of another ring, does not wait for the
 * lock.
 * Mutant: worker-waits-for-the-ring.  differences: worker-ring-lock
 */
TEST_F(wq, put_does_not_wait_for_the_ring)
{
	struct joiner joiner = { .memory = self->hole.mem + IOU_PAGE };
	unsigned long long end;
	struct io_uring_sqe *sqe;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	pthread_t thread;
	struct iou other;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL))
		SKIP(return, "the submitter is another one, or alone");
	if (iou_on_stock())
		SKIP(return, "6.12 does not come to the end of it");
	ASSERT_EQ(0, iou_init(&other, 8, 0));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, &self->file, 1));
	ASSERT_EQ(0, set_limits(r, 1, 1));
	sqe = iou_prep(r, IORING_OP_WRITE, 0, self->hole.mem, 16, 0);
	sqe->flags = IOSQE_ASYNC | IOSQE_FIXED_FILE;
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	/* the next work of the same worker */
	sqe = iou_prep(&other, IORING_OP_FALLOCATE, self->file, (void *)IOU_PAGE, 0, 0);
	sqe->flags = IOSQE_ASYNC;
	ASSERT_EQ(1, iou_submit(&other));
	joiner.r = r;
	ASSERT_EQ(0, pthread_create(&thread, NULL, hold_ring_lock, &joiner));
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	hole_give(&self->hole, 0, 1);
	end = iou_now_us() + IOU_PATIENCE * 1000ULL / 5;
	while (!iou_ready(&other) && iou_now_us() < end)
		iou_sleep_ms(1);
	EXPECT_EQ(1, iou_ready(&other));
	hole_give(&self->hole, 1, 1);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, iou_reap(&other, &cqe));
	EXPECT_EQ(0, cqe.res);
	EXPECT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(16, cqe.res);
	iou_exit(&other);
}

/*
 * A request for a worker whose registered buffer does not exist fails before a worker gets it,
 * since the worker would wait for the ring lock.  Mutant: worker-finds-the-buffer.
 */
TEST_F(wq, missing_buffer_needs_no_worker)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	char byte = 0;

	/* differences: none, 7.3 looks the buffer up on the worker */
	if (iou_on_stock())
		return;
	ASSERT_EQ(0, set_limits(r, 1, 1));
	busy_reads(r, self->file, self->hole.mem, 1);
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	sqe = iou_prep(r, IORING_OP_WRITE_FIXED, self->file, &byte, 1, 0);
	sqe->flags = IOSQE_ASYNC;
	sqe->user_data = 1;
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.user_data);
	EXPECT_EQ(-EFAULT, cqe.res);
	hole_give(&self->hole, 0, 1);
	EXPECT_EQ(0, iou_discard(r, 1));
}

TEST_F(wq, bounded_limit)
{
	unsigned int i;

	ASSERT_EQ(0, set_limits(&self->r, 3, 1));
	busy_reads(&self->r, self->file, self->hole.mem, 12);
	EXPECT_EQ(3, hole_faults(&self->hole, 3));
	EXPECT_EQ(3, iou_threads(getpid(), "iou-wrk-"));
	for (i = 0; i < 12; i++)
		hole_give(&self->hole, i, 1);
	EXPECT_EQ(0, iou_discard(&self->r, 12));
}

/* Work that may block a worker for ever has a limit of its own. */
TEST_F(wq, unbounded_limit)
{
	int zero = open("/dev/zero", O_RDONLY);
	unsigned int i;

	ASSERT_EQ(0, set_limits(&self->r, 1, 4));
	busy_reads(&self->r, zero, self->hole.mem, 10);
	EXPECT_EQ(4, hole_faults(&self->hole, 4));
	/* bounded and unbounded work do not block each other */
	busy_reads(&self->r, self->file, self->hole.mem + 10 * IOU_PAGE, 2);
	EXPECT_EQ(1, hole_faults(&self->hole, 1));
	EXPECT_EQ(5, iou_threads(getpid(), "iou-wrk-"));
	for (i = 0; i < 12; i++)
		hole_give(&self->hole, i, 1);
	EXPECT_EQ(0, iou_discard(&self->r, 12));
	close(zero);
}

/* While a worker blocks, another worker runs, so that short work does not wait. */
TEST_F(wq, blocked_worker_does_not_stop_others)
{
	struct io_uring_cqe cqe;
	unsigned int i;

	ASSERT_EQ(0, set_limits(&self->r, 4, 4));
	busy_reads(&self->r, self->file, self->hole.mem, 1);
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	for (i = 0; i < 20; i++) {
		struct io_uring_sqe *sqe;

		sqe = iou_prep(&self->r, IORING_OP_READ, self->file, self->hole.zero, 16, 0);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = 100;
		ASSERT_LE(0, iou_submit(&self->r));
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		ASSERT_EQ(100, cqe.user_data);
	}
	hole_give(&self->hole, 0, 1);
	EXPECT_EQ(0, iou_discard(&self->r, 1));
}

/*
 * A worker on each CPU copies a lot of data.  Other work with IOSQE_ASYNC starts before this ends.
 * Mutant: busy-workers-alone.  differences: worker-beside-busy
 */
TEST_F(wq, busy_workers_do_not_stop_others)
{
	unsigned int i, nr = sysconf(_SC_NPROCESSORS_ONLN);
	int zero = open("/dev/zero", O_RDONLY);
	static struct iovec same[1024];
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	char *page;

	ASSERT_LE(0, zero);
	page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	for (i = 0; i < ARRAY_SIZE(same); i++)
		same[i] = (struct iovec){ page, 1 << 20 };
	for (i = 0; i < nr; i++) {
		sqe = iou_prep(&self->r, IORING_OP_READV, zero, same, ARRAY_SIZE(same), 0);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = i;
	}
	sqe = iou_prep(&self->r, IORING_OP_READ, zero, page, 16, 0);
	sqe->flags = IOSQE_ASYNC;
	sqe->user_data = 100;
	ASSERT_LE(0, iou_submit(&self->r));
	ASSERT_EQ(0, iou_reap(&self->r, &cqe));
	EXPECT_EQ(100, cqe.user_data);
	EXPECT_EQ(0, iou_discard(&self->r, nr));
	munmap(page, 1 << 20);
	close(zero);
}

/*
 * More long work than CPUs needs more workers.  The submitter waits outside of io_uring, and the
 * creation of these workers does not interrupt the wait.  Mutant: spare-by-owner.
 * differences: worker-interrupts
 */
TEST_F(wq, busy_workers_do_not_interrupt_their_owner)
{
	unsigned int i, nr = 3 * sysconf(_SC_NPROCESSORS_ONLN);
	int zero = open("/dev/zero", O_RDONLY), ep = epoll_create1(0);
	static struct iovec same[256];
	struct epoll_event event;
	char *page;

	ASSERT_LE(0, zero);
	page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	for (i = 0; i < ARRAY_SIZE(same); i++)
		same[i] = (struct iovec){ page, 1 << 20 };
	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe;

		sqe = iou_prep(&self->r, IORING_OP_READV, zero, same, ARRAY_SIZE(same), 0);
		sqe->flags = IOSQE_ASYNC;
	}
	ASSERT_LE(0, iou_submit(&self->r));
	for (i = 0; i < 15; i++) {
		ASSERT_TRUE(!epoll_wait(ep, &event, 1, 20) || iou_on_stock()) {
			TH_LOG("%s", strerror(errno));
		}
	}
	EXPECT_EQ(0, iou_discard(&self->r, nr));
	munmap(page, 1 << 20);
	close(zero);
	close(ep);
}

#define SLOW	6

static char slow_fifo[SLOW][32];

/* Let the opens of all FIFOs end, one after the other. */
static void *end_slow_opens(void *arg)
{
	unsigned int i;

	for (i = 0; i < SLOW; i++) {
		iou_sleep_ms(20);
		close(meet_reader(slow_fifo[i]));
	}
	return NULL;
}

/*
 * A task waits for CQEs that workers post one at a time.  The task wakes up at most twice: early
 * for one of the first CQEs, and once all CQEs are there.  The first round creates the workers.
 * Mutant: early-at-each-cqe.  differences: worker-wakes
 */
TEST_F(wq, slow_work_wakes_twice)
{
	struct rusage before, after;
	struct io_uring_cqe cqe;
	unsigned int i, round;
	pthread_t other;
	long woken, least = LONG_MAX;

	for (i = 0; i < SLOW; i++) {
		snprintf(slow_fifo[i], sizeof(slow_fifo[i]), "/tmp/iou-slow%u", i);
		unlink(slow_fifo[i]);
		ASSERT_EQ(0, mkfifo(slow_fifo[i], 0600));
	}
	for (round = 0; round < 4; round++) {
		for (i = 0; i < SLOW; i++)
			prep_fifo(&self->r, slow_fifo[i], i);
		ASSERT_EQ(0, pthread_create(&other, NULL, end_slow_opens, NULL));
		ASSERT_LE(0, iou_submit(&self->r));
		getrusage(RUSAGE_THREAD, &before);
		ASSERT_LE(0, iou_enter(&self->r, 0, SLOW, IORING_ENTER_GETEVENTS));
		getrusage(RUSAGE_THREAD, &after);
		pthread_join(other, NULL);
		for (i = 0; i < SLOW; i++) {
			ASSERT_EQ(0, iou_reap(&self->r, &cqe));
			ASSERT_LE(0, cqe.res);
			close(cqe.res);
		}
		/* in a few rounds, the task also sleeps for a lock that a worker holds */
		woken = after.ru_nvcsw - before.ru_nvcsw;
		if (woken < least)
			least = woken;
	}
	EXPECT_TRUE(least <= 2 || iou_on_stock()) {
		TH_LOG("%ld times", least);
	}
	for (i = 0; i < SLOW; i++)
		unlink(slow_fifo[i]);
}

/*
 * Long work that uses all CPUs gets few workers beyond one for each CPU.  With more of them, all of
 * the work would end at the same late time.  Mutant: workers-crowd-cpus.
 */
TEST(long_work_does_not_crowd)
{
	unsigned int i, nr, cpus = sysconf(_SC_NPROCESSORS_ONLN), limits[2] = { 64, 0 };
	int zero = open("/dev/zero", O_RDONLY);
	static struct iovec same[1024];
	struct io_uring_sqe *sqe;
	struct iou r;
	char *page;

	ASSERT_LE(0, zero);
	ASSERT_EQ(0, iou_init(&r, 128, 0));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2));
	page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	for (i = 0; i < ARRAY_SIZE(same); i++)
		same[i] = (struct iovec){ page, 1 << 20 };
	for (i = 0; i < 40; i++) {
		sqe = iou_prep(&r, IORING_OP_READV, zero, same, ARRAY_SIZE(same), 0);
		sqe->flags = IOSQE_ASYNC;
	}
	ASSERT_EQ(40, iou_submit(&r));
	iou_sleep_ms(500);
	/* the limit includes an idle spare worker of each kind */
	nr = iou_threads(getpid(), "iou-wrk-");
	EXPECT_GE(cpus + 9, nr);
	iou_exit(&r);
	munmap(page, 1 << 20);
	close(zero);
}

/*
 * A read at the current position waits in a page fault.  Writes at an offset do not wait for it,
 * nor do requests at the position of another open file.  Mutant: position-holds-inode.
 */
TEST_F(wq, stalled_read_holds_its_file_alone)
{
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	char path[32];
	int i, other;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->file);
	other = open(path, O_RDWR);
	ASSERT_LE(0, other);
	sqe = iou_prep(&self->r, IORING_OP_READ, self->file, self->hole.mem, 16, -1);
	sqe->flags = IOSQE_ASYNC;
	ASSERT_LE(0, iou_submit(&self->r));
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	for (i = 0; i < 4; i++) {
		sqe = iou_prep(&self->r, i < 3 ? IORING_OP_WRITE : IORING_OP_READ,
			       i ? other : self->file, self->hole.zero, 16, i < 2 ? 0 : -1);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = 100 + i;
		ASSERT_LE(0, iou_submit(&self->r));
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		ASSERT_EQ(100 + i, cqe.user_data);
		EXPECT_EQ(16, cqe.res);
	}
	hole_give(&self->hole, 0, 1);
	EXPECT_EQ(0, iou_discard(&self->r, 1));
	close(other);
}

static void no_end(int sig)
{
}

/*
 * A signal that the task has raised delays the creation of a worker.  Work that was queued in the
 * meantime still gets its own workers afterwards.  Mutant: creation-forgets-later-work.
 */
TEST(creation_behind_a_signal)
{
	static struct iovec iov[64];
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	int i, fds[2], zero = open("/dev/zero", O_RDONLY);
	char *buf = iou_map_anon(8 << 20);
	struct iou r;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_LE(0, zero);
	for (i = 0; i < 64; i++)
		iov[i] = (struct iovec){ buf, 8 << 20 };
	memset(buf, 1, 8 << 20);
	signal(SIGIO, no_end);
	ASSERT_EQ(0, iou_init(&r, 8, 0));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	ASSERT_EQ(0, fcntl(fds[1], F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(fds[1], F_SETFL, O_ASYNC));
	iou_prep(&r, IORING_OP_SEND, fds[0], "x", 1, 0)->user_data = 100;
	/* the first read takes long */
	for (i = 0; i < 4; i++) {
		sqe = iou_prep(&r, IORING_OP_READV, zero, iov, i ? 1 : 64, 0);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = i;
	}
	ASSERT_EQ(5, iou_submit(&r));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		if (!cqe.user_data)
			EXPECT_LT(1, i);
	}
	iou_exit(&r);
	close(fds[0]);
	close(fds[1]);
	munmap(buf, 8 << 20);
	close(zero);
}

/*
 * Writes to one file are done one by one and in order.  Writes to other files do not wait.  On
 * 6.12, they wait if their file has the same hash (1 in 64).
 *
 *   file A:  [0 sleeps in a fault] 1 2 3 ...      other files: done
 */
#define OTHERS		32
#define OTHER_DATA	100

/* Get the next CQE of the first file, and count the CQEs of other files before it. */
static int reap_but_others(struct iou *r, struct io_uring_cqe *cqe, unsigned int *others)
{
	int ret;

	while (!(ret = iou_reap(r, cqe)) && cqe->user_data == OTHER_DATA)
		++*others;
	return ret;
}

/*
 * Writes to one file wait for each other, and other requests do not wait.  Mutants:
 * writes-not-serialised, writes-of-all-files-serialised.  differences: worker-write-order
 */
TEST_F(wq, writes_of_a_file_are_ordered)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	unsigned int i, others = 0;
	int other[OTHERS];

	for (i = 0; i < 16; i++) {
		sqe = iou_prep(r, IORING_OP_WRITE, self->file,
			       i ? self->hole.zero : self->hole.mem, 16, 16 * i);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = i;
	}
	ASSERT_LE(0, iou_submit(r));
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	EXPECT_EQ(0, iou_ready(r));
	for (i = 0; i < OTHERS; i++) {
		other[i] = iou_file(16, 1);
		sqe = iou_prep(r, IORING_OP_WRITE, other[i], self->hole.zero, 16, 0);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = OTHER_DATA;
	}
	ASSERT_LE(0, iou_submit(r));
	for (; others < (iou_on_stock() ? OTHERS / 2 : OTHERS); others++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(OTHER_DATA, cqe.user_data);
	}
	/* reads of the same file do not wait, either */
	sqe = iou_prep(r, IORING_OP_READ, self->file, self->hole.zero + 100, 16, 0);
	sqe->flags = IOSQE_ASYNC;
	sqe->user_data = 101;
	ASSERT_LE(0, iou_submit(r));
	ASSERT_EQ(0, reap_but_others(r, &cqe, &others));
	EXPECT_EQ(101, cqe.user_data);
	hole_give(&self->hole, 0, 1);
	for (i = 0; i < 16; i++) {
		ASSERT_EQ(0, reap_but_others(r, &cqe, &others));
		EXPECT_EQ(i, cqe.user_data);
		EXPECT_EQ(16, cqe.res);
	}
	EXPECT_EQ(0, iou_discard(r, OTHERS - others));
	for (i = 0; i < OTHERS; i++)
		close(other[i]);
}

/* Write to many files at once.  Writes to one file keep their order, even if files share a hash. */
TEST_F(wq, order_of_many_files)
{
	unsigned int i, k, round, last[8];
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	int fd[8];

	for (k = 0; k < 8; k++) {
		fd[k] = memfd_create("order", 0);
		last[k] = 0;
	}
	for (round = 0; round < iou_rounds(20); round++) {
		for (i = 0; i < 32; i++) {
			k = i * 5 % 8;
			sqe = iou_prep(r, IORING_OP_WRITE, fd[k], self->hole.zero, 64, 0);
			sqe->flags = IOSQE_ASYNC;
			sqe->user_data = (round * 32ULL + i + 1) * 8 + k;
		}
		ASSERT_LE(0, iou_submit(r));
		for (i = 0; i < 32; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_EQ(64, cqe.res);
			k = cqe.user_data % 8;
			ASSERT_LT(last[k], cqe.user_data / 8);
			last[k] = cqe.user_data / 8;
		}
	}
	for (k = 0; k < 8; k++)
		close(fd[k]);
}

#define CHANGES		4

/* A change of a file: the op, its offset, and which of two open files it uses. */
struct change {
	int op;
	long long off;
	bool second;
};

/*
 * Changes 1 and 2 write 'a', and wait in a fault with the inode locked.  If change 3 is a write, it
 * writes 'c'; change 4 writes 'd'.  If change 4 does not wait for its turn, it locks the inode
 * before change 3.
 */
static const struct {
	const char *want;
	int flags;
	struct change change[CHANGES];
} changes[] = {
	{ "aad", 0, { { IORING_OP_WRITE, -1 }, { IORING_OP_WRITE, -1 },
		      { IORING_OP_WRITE, -1 }, { IORING_OP_WRITE, 2 } } },
	{ "da", 0, { { IORING_OP_WRITE, 0 }, { IORING_OP_WRITE, 1 },
		     { IORING_OP_WRITE, 0 }, { IORING_OP_WRITE, -1 } } },
	{ "d", 0, { { IORING_OP_WRITE, 0 }, { IORING_OP_WRITE, 1 },
		    { IORING_OP_FTRUNCATE, 0 }, { IORING_OP_WRITE, -1 } } },
	{ "aa", 0, { { IORING_OP_WRITE, -1 }, { IORING_OP_WRITE, -1 },
		     { IORING_OP_WRITE, -1 }, { IORING_OP_FTRUNCATE, 2 } } },
	{ "aacd", O_APPEND, { { IORING_OP_WRITE, -1 }, { IORING_OP_WRITE, -1 },
			      { IORING_OP_WRITE, -1 }, { IORING_OP_WRITE, -1, true } } },
};

/* Submit the changes, each to a worker.  Then supply pages for the first two, from @page on. */
static int make_changes(struct iou *r, struct hole *hole, unsigned int page, const int *fd,
			const struct change *change)
{
	static const char data[CHANGES] = "  cd";
	struct io_uring_sqe *sqe;
	unsigned int i;

	hole->zero[0] = 'a';
	for (i = 0; i < CHANGES; i++) {
		const char *from = i < 2 ? hole->mem + (page + i) * IOU_PAGE : &data[i];
		bool write = change[i].op == IORING_OP_WRITE;

		sqe = iou_prep(r, change[i].op, fd[change[i].second], write ? from : NULL, write,
			       change[i].off);
		sqe->flags = IOSQE_ASYNC;
	}
	if (iou_submit(r) != CHANGES)
		return -ENODATA;
	for (i = 0; i < 2; i++) {
		if (hole_faults(hole, 1) != 1)
			return -ETIME;
		hole_give(hole, page + i, 1);
	}
	return iou_discard(r, CHANGES);
}

/*
 * Requests that change one file are done in the order of submission, whichever open file and
 * offset they use.  Mutant: position-leaves-the-order.
 */
TEST_F(wq, changes_of_a_file_keep_their_order)
{
	unsigned int c, i;

	for (c = 0; c < ARRAY_LEN(changes); c++) {
		char name[] = "/tmp/iou.XXXXXX", got[CHANGES + 1] = "";
		int fd[2];

		close(mkstemp(name));
		for (i = 0; i < ARRAY_LEN(fd); i++) {
			fd[i] = open(name, O_RDWR | changes[c].flags);
			ASSERT_LE(0, fd[i]);
		}
		unlink(name);
		ASSERT_EQ(0, make_changes(&self->r, &self->hole, 2 * c, fd, changes[c].change));
		ASSERT_LE(0, pread(fd[0], got, CHANGES, 0));
		EXPECT_STREQ(changes[c].want, got);
		close(fd[0]);
		close(fd[1]);
	}
}

/* After seconds without work, all workers but one have exited. */
TEST_F(wq, idle_workers_leave)
{
	unsigned int i;

	if (variant->flags)
		SKIP(return, "slow, and the same on each kind");
	ASSERT_EQ(0, set_limits(&self->r, 8, 8));
	busy_reads(&self->r, self->file, self->hole.mem, 8);
	EXPECT_EQ(8, hole_faults(&self->hole, 8));
	for (i = 0; i < 8; i++)
		hole_give(&self->hole, i, 1);
	EXPECT_EQ(0, iou_discard(&self->r, 8));
	for (i = 0; i < 150 && iou_threads(getpid(), "iou-wrk-") > 1; i++)
		iou_sleep_ms(100);
	EXPECT_GE(1, iou_threads(getpid(), "iou-wrk-"));
	iou_prep(&self->r, IORING_OP_READ, self->file, self->hole.zero, 16, 0)->flags =
		IOSQE_ASYNC;
	EXPECT_EQ(16, iou_one(&self->r));
}

/* Return: true if all workers of a process have exited within @ms milliseconds. */
static bool workers_gone(int pid, unsigned int ms)
{
	unsigned long long end = iou_now_us() + ms * 1000ULL;

	while (iou_threads(pid, "iou-wrk-") && iou_now_us() < end)
		iou_sleep_ms(10);
	return !iou_threads(pid, "iou-wrk-");
}

/* Idle workers exit with the last ring, not before.  differences: idle-workers */
TEST_F(wq, idle_workers_go_with_the_ring)
{
	struct iou second;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the polling thread goes, and takes them along");
	ASSERT_EQ(0, iou_init(&second, 8, variant->flags));
	iou_nop(&second, 1)->flags = IOSQE_ASYNC;
	EXPECT_EQ(0, iou_one(&second));
	iou_prep(&self->r, IORING_OP_FSYNC, self->file, NULL, 0, 0)->flags = IOSQE_ASYNC;
	EXPECT_EQ(0, iou_one(&self->r));
	iou_exit(&self->r);
	self->r.fd = -1;
	iou_sleep_ms(2500);
	EXPECT_LE(1, iou_threads(getpid(), "iou-wrk-"));
	iou_exit(&second);
	EXPECT_TRUE(workers_gone(getpid(), 2500) || iou_on_stock());
}

/*
 * Unshare what @move says, and check that idle workers exit while the ring still works.
 * Return: 0, or the number of the step that failed.  differences: idle-workers
 */
static int leave_idle_workers(int move)
{
	struct iou r;

	if (iou_init(&r, 8, IOU_DEFER))
		return 1;
	iou_nop(&r, 1)->flags = IOSQE_ASYNC;
	if (iou_one(&r) || !iou_threads(getpid(), "iou-wrk-"))
		return 2;
	if (unshare(move))
		return 3;
	if (!workers_gone(getpid(), 3000) && !iou_on_stock())
		return 4;
	iou_nop(&r, 1)->flags = IOSQE_ASYNC;
	return iou_one(&r) ? 5 : 0;
}

/* Idle workers do not hold what their task has left: a root, descriptors, a namespace. */
TEST(idle_workers_keep_nothing)
{
	static const int moves[] = { CLONE_FS, CLONE_FILES, CLONE_NEWUTS };
	unsigned int i;
	int pid, status;

	if (getuid())
		SKIP(return, "needs to be root");
	for (i = 0; i < ARRAY_LEN(moves); i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(leave_idle_workers(moves[i]));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status) {
			TH_LOG("%x", moves[i]);
		}
	}
}

/* Close a file that a worker has used.  Return: nonzero if it is still open for writing. */
static int close_and_lease(const char *name, int fd)
{
	int ret, other;

	if (fd >= 0)
		close(fd);
	other = open(name, O_RDONLY);
	/* refused as long as a task may write to the file */
	ret = fcntl(other, F_SETLEASE, F_RDLCK);
	close(other);
	return ret;
}

/*
 * When the CQE of a worker's request is there, the worker does not hold the file open for writing
 * any more.  A program that closes the file, too, can execute it.  Mutants: worker-keeps-file,
 * close-by-worker-is-late.  differences: worker-file-closed
 */
TEST_F(wq, file_is_free_with_the_result)
{
	static const unsigned char ops[] = {
		IORING_OP_FSYNC, IORING_OP_FALLOCATE, IORING_OP_WRITE, IORING_OP_CLOSE,
	};
	unsigned int i, round, rounds = iou_rounds(100);
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	char name[] = "/tmp/iou.XXXXXX";

	close(mkstemp(name));
	for (i = 0; i < ARRAY_LEN(ops); i++) {
		unsigned int busy = 0;

		for (round = 0; round < rounds; round++) {
			int fd = open(name, O_RDWR);

			ASSERT_LE(0, fd);
			sqe = iou_prep(r, ops[i], fd, NULL, 0, 0);
			/* addr is the length of FALLOCATE, and the data of WRITE */
			if (ops[i] == IORING_OP_FALLOCATE)
				sqe->addr = 4096;
			if (ops[i] == IORING_OP_WRITE) {
				sqe->addr = iou_addr("#!");
				sqe->len = 2;
			}
			sqe->flags = IOSQE_ASYNC;
			ASSERT_LE(0, iou_one(r));
			busy += !!close_and_lease(name, ops[i] == IORING_OP_CLOSE ? -1 : fd);
		}
		EXPECT_TRUE(!busy || iou_on_stock()) {
			TH_LOG("op %u: %u of %u", ops[i], busy, rounds);
		}
	}
	unlink(name);
}

/* The exit of a process ends its running and queued work at once. */
TEST_F(wq, exit_with_queued_work)
{
	unsigned long long start;
	int status, pid;
	struct iou r;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* a child does not inherit the userfaultfd */
		if (hole_watch(&self->hole))
			_exit(1);
		if (iou_init(&r, PAGES, variant->flags) || set_limits(&r, 2, 2))
			_exit(2);
		busy_reads(&r, self->file, self->hole.mem, PAGES);
		_exit(hole_faults(&self->hole, 2) == 2 ? 0 : 3);
	}
	start = iou_now_us();
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_GT(iou_slow_kernel() ? 20 : 3, (iou_now_us() - start) / 1000000);
}

/* The close of a ring whose workers wait in faults ends its work, too. */
TEST_F(wq, close_with_queued_work)
{
	unsigned int i;
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, PAGES, variant->flags));
	ASSERT_EQ(0, set_limits(&r, 2, 2));
	busy_reads(&r, self->file, self->hole.mem, PAGES);
	EXPECT_EQ(2, hole_faults(&self->hole, 2));
	iou_exit(&r);
	/* the ring ends some time after the close */
	iou_sleep_ms(300);
	/* queued work never starts; running work ends when it gets its page */
	hole_give(&self->hole, 0, 1);
	hole_give(&self->hole, 1, 1);
	EXPECT_EQ(0, hole_faults(&self->hole, 0));
	for (i = 2; i < PAGES; i++)
		hole_give(&self->hole, i, 1);
	/* the workers serve the next ring */
	iou_nop(&self->r, 1)->flags = IOSQE_ASYNC;
	EXPECT_EQ(0, iou_one(&self->r));
}

/* Many workers start and exit, under changing limits. */
TEST_F(wq, churn)
{
	unsigned int i, round, rounds = iou_rounds(60);
	struct iou *r = &self->r;

	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, set_limits(r, 1 + round % 5, 1 + round % 3));
		for (i = 0; i < PAGES; i++) {
			struct io_uring_sqe *sqe;

			sqe = iou_prep(r, i % 2 ? IORING_OP_READ : IORING_OP_WRITE,
				       self->file, self->hole.zero, 16, 0);
			sqe->flags = IOSQE_ASYNC;
		}
		ASSERT_LE(0, iou_submit(r));
		ASSERT_EQ(0, iou_discard(r, PAGES));
	}
}

/* The file of an IOSQE_ASYNC request is looked up before a worker gets the request. */
TEST(forced_to_a_worker_without_a_file)
{
	static const unsigned char ops[] = {
		IORING_OP_READ, IORING_OP_WRITE, IORING_OP_FSYNC, IORING_OP_POLL_ADD,
	};
	static const unsigned char fixed[] = { 0, IOSQE_FIXED_FILE };
	char buf[8];
	struct iou r;
	unsigned int i;

	ASSERT_EQ(0, iou_init(&r, 8, 0));
	for (i = 0; i < 2 * ARRAY_LEN(ops); i++) {
		iou_prep(&r, ops[i / 2], 900, ops[i / 2] == IORING_OP_READ ||
			 ops[i / 2] == IORING_OP_WRITE ? buf : NULL, 0, 0)->flags =
			 IOSQE_ASYNC | fixed[i % 2];
		EXPECT_EQ(-EBADF, iou_one(&r)) {
			TH_LOG("op %u, flags %x", ops[i / 2], fixed[i % 2]);
		}
	}
	iou_nop(&r, 1);
	EXPECT_EQ(0, iou_one(&r));
	iou_exit(&r);
}

#define NOBODY	4243

/* Open a ring that may have four workers, one of which is stuck in a read. */
static int stick_worker(struct iou *r, struct hole *hole, int file)
{
	if (iou_init(r, 8, 0) || set_limits(r, 4, 4))
		return -1;
	busy_reads(r, file, hole->mem, 1);
	return hole_faults(hole, 1) == 1 ? 0 : -1;
}

/* Allow this process's user one thread, or as many as before. */
static int limit_threads(bool limited)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NPROC, &limit))
		return -1;
	limit.rlim_cur = limited ? 1 : limit.rlim_max;
	return setrlimit(RLIMIT_NPROC, &limit);
}

/*
 * Queue a read while the thread limit prevents a second worker, and lift the limit later.
 * Return: 0, or the number of the step that failed.
 */
static int wait_for_a_thread(struct hole *hole, int file)
{
	int ep = epoll_create1(0);
	struct epoll_event event;
	struct iou r;

	/* root has no limit; a child does not inherit the userfaultfd */
	if (hole_watch(hole) || syscall(__NR_setresuid, NOBODY, NOBODY, NOBODY))
		return 1;
	if (stick_worker(&r, hole, file))
		return 2;
	if (limit_threads(true))
		return 4;
	busy_reads(&r, file, hole->zero, 1);
	/* attempts to create a worker do not interrupt a program that waits elsewhere */
	if (epoll_wait(ep, &event, 1, 1500))
		return 9;
	/* longer than the time in which attempts to create a worker are frequent */
	if (iou_wait_ms(&r, 1, 2000) != -ETIME || iou_ready(&r))
		return 5;
	if (limit_threads(false))
		return 6;
	if (iou_wait(&r, 1))
		return 7;
	hole_give(hole, 0, 1);
	return iou_discard(&r, 2) ? 8 : 0;
}

/* Like wait_for_a_thread(), but the limit is lifted after 20 ms, and work starts soon. */
static int wait_a_moment(struct hole *hole, int file)
{
	unsigned long long begin;
	struct iou r;

	if (hole_watch(hole) || syscall(__NR_setresuid, NOBODY, NOBODY, NOBODY))
		return 1;
	if (stick_worker(&r, hole, file))
		return 2;
	if (limit_threads(true))
		return 4;
	begin = iou_now_us();
	busy_reads(&r, file, hole->zero, 1);
	usleep(20000);
	if (limit_threads(false))
		return 5;
	if (iou_wait_ms(&r, 1, 2000))
		return 6;
	/* the kernel waits 1, 2, 4, 8, 16 and perhaps 32 ms between attempts */
	if (iou_now_us() - begin > 300000)
		return 7;
	hole_give(hole, 0, 1);
	return iou_discard(&r, 2) ? 8 : 0;
}

/* A thread limit that lasts 20 ms does not delay work much longer.  Mutant: limit-costs-half. */
TEST(limit_of_a_moment)
{
	int pid, status, file = iou_file(4096, 1);
	struct hole hole;

	ASSERT_LE(0, file);
	if (hole_open(&hole, PAGES))
		SKIP(return, "needs userfaultfd");
	if (getuid())
		SKIP(return, "needs to be root");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(wait_a_moment(&hole, file));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

#define CGROUPS		"/tmp/iou-cgroup"
#define CGROUP		CGROUPS "/wq"

/* Return: how often epoll_wait() was interrupted in @ms. */
static unsigned int interrupts(int ep, unsigned int ms)
{
	unsigned long long end = iou_now_us() + ms * 1000ULL;
	struct epoll_event event;
	unsigned int nr = 0;

	while (iou_now_us() < end)
		nr += epoll_wait(ep, &event, 1, 100) < 0;
	return nr;
}

/*
 * Queue a read in a cgroup that has no room for a second worker, and check that attempts to create
 * it stop interrupting this task.  Return: 0, or the number of the step that failed.
 */
static int wait_at_cgroup_limit(struct hole *hole, int file)
{
	int ep = epoll_create1(0);
	char pid[32];
	struct iou r;

	snprintf(pid, sizeof(pid), "%d", getpid());
	if (hole_watch(hole) || iou_put(CGROUP "/cgroup.procs", pid))
		return 1;
	if (stick_worker(&r, hole, file))
		return 2;
	if (iou_put(CGROUP "/pids.max", "1"))
		return 4;
	busy_reads(&r, file, hole->zero, 1);
	/* at first the attempts are frequent */
	interrupts(ep, 1200);
	if (interrupts(ep, 1500))
		return 5;
	hole_give(hole, 0, 1);
	return iou_discard(&r, 2) ? 6 : 0;
}

/* Create the cgroup of the next tests.  Return: NULL, or what is missing. */
static const char *open_cgroup(void)
{
	mkdir(CGROUPS, 0700);
	if (mount("none", CGROUPS, "cgroup2", 0, NULL))
		return "needs cgroups";
	iou_put(CGROUPS "/cgroup.subtree_control", "+pids");
	mkdir(CGROUP, 0700);
	if (!access(CGROUP "/pids.max", W_OK))
		return NULL;
	umount(CGROUPS);
	return "needs the pids controller";
}

static void close_cgroup(void)
{
	rmdir(CGROUP);
	umount(CGROUPS);
}

/* A failed creation does not interrupt a task in a full cgroup.  Mutant: limit-interrupts. */
TEST(cgroup_has_no_threads_left)
{
	int pid, status, file = iou_file(4096, 1);
	const char *missing;
	struct hole hole;

	ASSERT_LE(0, file);
	if (hole_open(&hole, PAGES))
		SKIP(return, "needs userfaultfd");
	missing = open_cgroup();
	if (missing)
		SKIP(return, "%s", missing);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(wait_at_cgroup_limit(&hole, file));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close_cgroup();
}

/* Block other changes of a file by a write from memory whose page never comes. */
static void hold_file(struct hole *hole, int file)
{
	_exit(hole_watch(hole) || write(file, hole->mem, 4096) != 4096);
}

/*
 * Wait in a full cgroup for a worker that cannot be created.  The only worker sleeps in a write
 * to @held, which even a kill does not end.
 */
static void wait_for_a_worker(int held, int file, int told)
{
	static char buf[4096];
	char pid[32];
	struct iou r;

	snprintf(pid, sizeof(pid), "%d", getpid());
	if (iou_put(CGROUP "/cgroup.procs", pid) || iou_init(&r, 8, 0) || set_limits(&r, 4, 4))
		_exit(1);
	iou_prep(&r, IORING_OP_WRITE, held, buf, sizeof(buf), 0)->flags = IOSQE_ASYNC;
	if (iou_submit(&r) != 1)
		_exit(2);
	iou_sleep_ms(200);
	if (iou_put(CGROUP "/pids.max", "1"))
		_exit(3);
	busy_reads(&r, file, buf, 1);
	if (write(told, "r", 1) != 1)
		_exit(4);
	for (;;)
		pause();
}

/* Return: the nanoseconds of CPU time that a process uses in @ms milliseconds. */
static long long cpu_time_in(int pid, unsigned int ms)
{
	struct timespec before, after;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &before))
		return -1;
	iou_sleep_ms(ms);
	if (clock_gettime(clock, &after))
		return -1;
	return (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec;
}

/*
 * A killed task gives up the worker that it could not create.  Mutant: creation-fails-for-ever.
 */
TEST(killed_in_a_full_cgroup)
{
	int pid, holder, p[2], held = iou_file(4096, 1), file = iou_file(4096, 1);
	const char *missing;
	struct hole hole;
	long long used;
	char c;

	ASSERT_LE(0, held);
	ASSERT_LE(0, file);
	ASSERT_EQ(0, pipe(p));
	if (hole_open(&hole, 1))
		SKIP(return, "needs userfaultfd");
	missing = open_cgroup();
	if (missing)
		SKIP(return, "%s", missing);
	holder = fork();
	if (!holder)
		hold_file(&hole, held);
	iou_sleep_ms(200);
	pid = fork();
	if (!pid)
		wait_for_a_worker(held, file, p[1]);
	EXPECT_EQ(1, read(p[0], &c, 1));
	/* longer than the time in which attempts to create a worker are frequent */
	iou_sleep_ms(2500);
	EXPECT_EQ(0, kill(pid, SIGKILL));
	used = cpu_time_in(pid, 500);
	EXPECT_TRUE(used >= 0 && used < 100000000) {
		TH_LOG("%lld ns of 500 ms", used);
	}
	EXPECT_EQ(0, kill(holder, SIGKILL));
	EXPECT_EQ(holder, waitpid(holder, NULL, 0));
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	close(p[0]);
	close(p[1]);
	close(held);
	close(file);
	close_cgroup();
}

/*
 * One worker is stuck, and a second one is created once the thread limit is lifted.
 * Mutant: retry-interrupts-owner.  differences: worker-retry
 */
TEST_F(wq, thread_limit_is_lifted)
{
	int pid, status;

	if (variant->flags)
		SKIP(return, "slow, and the same on each kind");
	if (getuid())
		SKIP(return, "needs to be root");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(wait_for_a_thread(&self->hole, self->file));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(!status || iou_on_stock()) {
		TH_LOG("status %x", status);
	}
}

static const char exit_fifo[] = "/tmp/iou-exit-fifo";

/* Return, and so exit, while workers fall asleep in opens of a FIFO and more opens are queued. */
static void *end_beside_workers(void *arg)
{
	unsigned int *us = arg, i;
	struct iou r;

	if (iou_init(&r, 8, 0))
		_exit(1);
	for (i = 0; i < 4; i++)
		prep_fifo(&r, exit_fifo, i);
	iou_submit(&r);
	usleep(*us);
	return NULL;
}

/*
 * A thread exits while its worker requests another worker, which the thread cannot create any more.
 * The exit does not wait for that worker.
 */
TEST(thread_ends_beside_a_creation)
{
	unsigned int round, us;
	struct timespec end;
	pthread_t t;

	unlink(exit_fifo);
	ASSERT_EQ(0, mkfifo(exit_fifo, 0600));
	for (round = 0; round < 40; round++) {
		us = round * 20;
		ASSERT_EQ(0, pthread_create(&t, NULL, end_beside_workers, &us));
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_sec += 5;
		ASSERT_EQ(0, pthread_timedjoin_np(t, NULL, &end)) {
			TH_LOG("round %u", round);
		}
	}
	unlink(exit_fifo);
}

/*
 * A task exits while its worker falls asleep and requests another one.  KASAN detects a use of the
 * pool after its end.  Mutant: creation-outlives-pool.
 */
TEST(exit_beside_a_creation)
{
	unsigned int round, us;
	int pid;

	unlink(exit_fifo);
	ASSERT_EQ(0, mkfifo(exit_fifo, 0600));
	for (round = 0; round < 60; round++) {
		us = round * 50;
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			end_beside_workers(&us);
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	}
	unlink(exit_fifo);
}

/* Use a ring for the first time, and then read the limits of its workers. */
static void *join_ring(void *arg)
{
	struct joiner *joiner = arg;

	pthread_barrier_wait(joiner->at);
	iou_nop(joiner->r, 1);
	iou_submit(joiner->r);
	pthread_barrier_wait(joiner->at);
	memset(joiner->limits, 0, sizeof(joiner->limits));
	iou_register(joiner->r, IORING_REGISTER_IOWQ_MAX_WORKERS, joiner->limits, 2);
	return NULL;
}

/* A limit that is set while a thread first uses the ring applies to this thread. */
TEST(limit_meets_joining_thread)
{
	unsigned int i, rounds = iou_rounds(400);
	struct joiner joiner;
	pthread_barrier_t at;
	pthread_t thread;
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 8, 0));
	ASSERT_EQ(0, pthread_barrier_init(&at, NULL, 2));
	for (i = 0; i < rounds; i++) {
		joiner.r = &r;
		joiner.at = &at;
		ASSERT_EQ(0, pthread_create(&thread, NULL, join_ring, &joiner));
		pthread_barrier_wait(&at);
		if (i % 4)
			usleep(i * 7 % 100);
		ASSERT_EQ(0, set_limits(&r, 2 + i % 5, 3 + i % 7));
		pthread_barrier_wait(&at);
		pthread_join(thread, NULL);
		ASSERT_EQ(2 + i % 5, joiner.limits[0]);
		ASSERT_EQ(3 + i % 7, joiner.limits[1]);
		ASSERT_EQ(0, iou_discard(&r, 1));
	}
	iou_exit(&r);
}

#define ROOT	"/tmp/iou-root"
#define OUTSIDE	"/tmp/iou-outside"
#define INSIDE	"/inside"

static int open_by_worker(struct iou *r, const char *path)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, path, 0, 0);

	sqe->open_flags = O_RDONLY;
	sqe->flags = IOSQE_ASYNC;
	return iou_one(r);
}

static int into_the_root(void)
{
	return unshare(CLONE_FS) || chroot(ROOT) || chdir("/");
}

/*
 * Let workers open files after unshare() and chroot().  They use the task's new table of
 * descriptors and its new root.  Return: 0, or the number of the step that failed.
 */
static int follow_the_owner(void)
{
	struct iou r;
	int i, fd;

	if (iou_init(&r, 8, 0))
		return 1;
	for (i = 0; i < 3; i++) {
		if (open_by_worker(&r, OUTSIDE) < 0)
			return 2;
	}
	if (unshare(CLONE_FILES))
		return 3;
	fd = open_by_worker(&r, OUTSIDE);
	/* the descriptor must be in the task's new table, not in the old one */
	if (fd < 0 || fcntl(fd, F_GETFD) < 0)
		return 4;
	if (into_the_root())
		return 5;
	if (open_by_worker(&r, OUTSIDE) != -ENOENT)
		return 6;
	fd = open_by_worker(&r, INSIDE);
	return fd < 0 || fcntl(fd, F_GETFD) < 0 ? 7 : 0;
}

#define BEFORE	"/tmp/iou-before"

/* Work that was queued before the task moves runs where the task was.  differences: worker-env */
static int queue_before_the_move(void)
{
	int i, file = iou_file(4096, 1), top = open("/", O_PATH | O_DIRECTORY);
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	struct hole hole;
	struct iou r;

	if (hole_open(&hole, 1) || iou_init(&r, 8, IOU_COOP) || set_limits(&r, 1, 1))
		return 1;
	busy_reads(&r, file, hole.mem, 1);
	if (hole_faults(&hole, 1) != 1)
		return 2;
	sqe = iou_prep(&r, IORING_OP_MKDIRAT, AT_FDCWD, BEFORE, 0700, 0);
	sqe->flags = IOSQE_ASYNC;
	sqe->user_data = 1;
	if (iou_submit(&r) != 1 || into_the_root())
		return 3;
	sqe = iou_prep(&r, IORING_OP_MKDIRAT, AT_FDCWD, "/after", 0700, 0);
	sqe->flags = IOSQE_ASYNC;
	sqe->user_data = 2;
	if (iou_submit(&r) != 1)
		return 4;
	hole_give(&hole, 0, 1);
	for (i = 0; i < 3; i++) {
		if (iou_reap(&r, &cqe) || cqe.user_data != i || cqe.res != (i ? 0 : 16))
			return 5 + i;
	}
	if (unlinkat(top, &BEFORE[1], AT_REMOVEDIR))
		return 8;
	return rmdir("/after") && !iou_on_stock() ? 9 : 0;
}

/* Attach a ring to an SQPOLL thread that has another root. */
static int leave_the_thread(void)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 50 };
	struct iou base, r;

	if (iou_init_params(&base, 8, &p) || open_by_worker(&base, OUTSIDE) < 0)
		return 1;
	if (into_the_root())
		return 2;
	p.flags |= IORING_SETUP_ATTACH_WQ;
	p.wq_fd = base.fd;
	if (iou_init_params(&r, 8, &p))
		return 3;
	if (open_by_worker(&r, OUTSIDE) != -ENOENT)
		return 4;
	return open_by_worker(&r, INSIDE) < 0 ? 5 : 0;
}

static ino_t net_of(int fd)
{
	struct stat st;
	int ret = fstat(fd, &st);

	close(fd);
	return ret ? 0 : st.st_ino;
}

/* A worker creates a socket in the network namespace to which the task has moved. */
static int leave_the_network(void)
{
	struct iou r;
	int i, fd;

	if (iou_init(&r, 8, 0))
		return 1;
	for (i = 0; i < 2; i++) {
		struct io_uring_sqe *sqe = iou_prep(&r, IORING_OP_SOCKET, AF_UNIX, NULL, 0,
						    SOCK_STREAM);

		sqe->flags = IOSQE_ASYNC;
		fd = iou_one(&r);
		if (fd < 0)
			return 2;
		if (net_of(ioctl(fd, SIOCGSKNS)) != net_of(open("/proc/self/ns/net", O_RDONLY)))
			return 3 + i;
		if (unshare(CLONE_NEWNET))
			return 5;
	}
	return 0;
}

/* Give the children of this process a pid namespace of their own. */
static int leave_pids(void)
{
	return unshare(CLONE_NEWPID);
}

/* Call leave_pids(), and also leave the mounts, which the task shares with its workers. */
static int leave_pids_and_mounts(void)
{
	return unshare(CLONE_NEWPID | CLONE_NEWNS);
}

/* Enter the pid namespace of a child, in which this process gets no pid. */
static int enter_pids(void)
{
	char path[64];
	int ret, ns, pid = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);

	if (!pid)
		pause();
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	ns = open(path, O_RDONLY);
	ret = ns < 0 || setns(ns, CLONE_NEWPID);
	close(ns);
	kill(pid, SIGKILL);
	return ret;
}

/*
 * Submit work of a task that can create no threads any more: first while its worker runs, then
 * after the time when an idle worker exits.  Return: 0, or the step of the next test's child that
 * failed
 */
static int work_without_threads(int (*leave)(void), unsigned int flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 50 };
	int round, file = iou_file(4096, 0);
	struct iou r, attached;

	if (iou_init_params(&r, 8, &p))
		return 1;
	iou_prep(&r, IORING_OP_FSYNC, file, NULL, 0, 0)->flags = IOSQE_ASYNC;
	if (iou_one(&r) || leave())
		return 2;
	for (round = 0; round < 2; round++) {
		iou_prep(&r, IORING_OP_WRITE, file, "x", 1, 0)->flags = IOSQE_ASYNC;
		if (iou_one(&r) != 1)
			return 3 + round;
		iou_prep(&r, IORING_OP_FSYNC, file, NULL, 0, 0);
		if (iou_one(&r))
			return 5 + round;
		iou_sleep_ms(round ? 0 : 2500);
	}
	if (!(flags & IORING_SETUP_SQPOLL))
		return 0;
	p.flags |= IORING_SETUP_ATTACH_WQ;
	p.wq_fd = r.fd;
	return iou_init_params(&attached, 8, &p) ? 7 : 0;
}

/*
 * The workers of a task whose children belong to another pid namespace go on.  Mutants:
 * renewed-without-threads, last-worker-leaves, thread-not-shared.
 */
TEST(owner_creates_no_threads)
{
	static int (*const leave[])(void) = { leave_pids, leave_pids_and_mounts, enter_pids };
	static const unsigned int flags[] = { 0, IOU_DEFER, IORING_SETUP_SQPOLL };
	int pid[ARRAY_LEN(leave) * ARRAY_LEN(flags)], status;
	unsigned int i, nr = ARRAY_LEN(leave);

	if (getuid())
		SKIP(return, "needs to be root");
	for (i = 0; i < ARRAY_LEN(pid); i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			_exit(work_without_threads(leave[i % nr], flags[i / nr]));
	}
	for (i = 0; i < ARRAY_LEN(pid); i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status) {
			TH_LOG("%u, flags %#x: status %x", i % nr, flags[i / nr], status);
		}
	}
}

#define CHAIN	60

/*
 * A long chain of writes does not keep a write to the same file waiting.
 * Mutant: chain-keeps-its-key.
 */
TEST_F(wq, write_beside_a_chain)
{
	unsigned int i, round, size = 256 * 1024, before;
	int fd = iou_file(size, 0);
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	char *buf = iou_map_anon(size);

	memset(buf, 1, size);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < CHAIN; i++) {
			sqe = iou_prep(r, IORING_OP_WRITE, fd, buf, size, 0);
			sqe->flags = IOSQE_ASYNC | (i < CHAIN - 1 ? IOSQE_IO_LINK : 0);
		}
		ASSERT_EQ(CHAIN, iou_submit(r));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		/* the other write is alone in round 0, and the head of a chain in round 1 */
		for (i = 0; i <= round; i++) {
			sqe = iou_prep(r, IORING_OP_WRITE, fd, buf, 1, 0);
			sqe->flags = IOSQE_ASYNC | (i < round ? IOSQE_IO_LINK : 0);
			sqe->user_data = 1;
		}
		ASSERT_EQ(round + 1, iou_submit(r));
		for (before = i = 0; i < CHAIN + round; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_LE(1, cqe.res);
			if (cqe.user_data)
				before = i;
		}
		EXPECT_GT(CHAIN - 10, before) {
			TH_LOG("round %u: behind %u of the chain", round, before);
		}
	}
	munmap(buf, size);
	close(fd);
}

/*
 * The LINK_TIMEOUT of a chain's write runs.  The write does not wait for queued writes to the same
 * file, which may take longer than this timeout.  Mutant: limited-write-waits.
 */
TEST_F(wq, limited_write_beside_others)
{
	struct __kernel_timespec ts = { .tv_nsec = 400000000 };
	int fd = iou_file(4096, 0), first, second = 0;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	unsigned int i;

	sqe = iou_prep(r, IORING_OP_WRITE, fd, self->hole.mem, 16, 0);
	sqe->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	sqe->user_data = 1;
	sqe = iou_prep(r, IORING_OP_WRITE, fd, self->hole.zero, 16, 0);
	sqe->flags = IOSQE_IO_LINK;
	sqe->user_data = 2;
	iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 3;
	ASSERT_EQ(3, iou_submit(r));
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	sqe = iou_prep(r, IORING_OP_WRITE, fd, self->hole.mem + IOU_PAGE, 16, 0);
	sqe->flags = IOSQE_ASYNC;
	sqe->user_data = 4;
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, hole_give(&self->hole, 0, 1));
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	iou_sleep_ms(800);
	ASSERT_EQ(0, hole_give(&self->hole, 1, 1));
	for (i = first = 0; i < 4; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		if (cqe.user_data == 1)
			first = cqe.res;
		else if (cqe.user_data == 2)
			second = cqe.res;
	}
	EXPECT_EQ(16, first);
	EXPECT_EQ(16, second);
	close(fd);
}

/*
 * Submit two chains of writes, which take turns.  Both keep the descriptors of their submission
 * after the task gets a table of its own.  Return: 0, or the number of the step that failed.
 */
static int write_and_unshare(void)
{
	unsigned int i, size = 64 * 1024, nr = 200, failed = 0;
	char *buf = iou_map_anon(size);
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	int fd = iou_file(size, 0);
	struct iou r;

	if (fd < 0 || dup2(fd, 100) != 100 || dup2(fd, 101) != 101 || iou_init(&r, 256, 0))
		return 1;
	for (i = 0; i < nr; i++) {
		sqe = iou_prep(&r, IORING_OP_WRITE, i < nr / 2 ? 100 : 101, buf, size, 0);
		sqe->flags = i % (nr / 2) == nr / 2 - 1 ? 0 : IOSQE_IO_LINK;
		if (i % (nr / 2) == 0)
			sqe->flags |= IOSQE_ASYNC;
	}
	if (iou_submit(&r) != (int)nr || iou_reap(&r, &cqe))
		return 2;
	if (close_range(100, 101, CLOSE_RANGE_UNSHARE))
		return 3;
	iou_prep(&r, IORING_OP_WRITE, fd, buf, 1, 0)->flags = IOSQE_ASYNC;
	if (iou_submit(&r) != 1)
		return 4;
	for (i = 0; i < nr; i++) {
		if (iou_reap(&r, &cqe))
			return 5;
		failed += cqe.res <= 0;
	}
	return failed ? 6 : 0;
}

/* Chains that take turns keep their descriptors.  Mutant: turns-behind-newer-work. */
TEST(chains_keep_their_descriptors)
{
	unsigned int i;
	int pid, status;

	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid)
			_exit(write_and_unshare());
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
	}
}

static void *wait_into_a_hole(void *arg)
{
	struct joiner *j = arg;

	/* epoll_wait() holds a mutex of the epoll instance while it copies the event */
	return epoll_wait(j->fd, j->memory, 1, -1) == 1 ? NULL : (void *)1;
}

/*
 * A worker that sleeps in ->poll() does not block other requests of the ring.  The poll may wait
 * for one of these requests.  Mutant: worker-polls-with-the-lock.
 */
TEST_F(wq, poll_that_sleeps)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0), efd = eventfd(1, 0);
	struct joiner j = { .fd = ep, .memory = self->hole.mem };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;
	pthread_t t;
	void *ret;

	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, efd, &event));
	ASSERT_EQ(0, pthread_create(&t, NULL, wait_into_a_hole, &j));
	ASSERT_EQ(1, hole_faults(&self->hole, 1));
	for (i = 0; i < 2; i++) {
		struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_ADD, ep, NULL,
						    i ? IORING_POLL_ADD_MULTI : 0, 0);

		sqe->poll32_events = poll_word(EPOLLIN);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = 1 + i;
	}
	iou_submit(r);
	/* let the workers reach the mutex */
	iou_sleep_ms(100);
	iou_nop(r, 3);
	iou_submit(r);
	EXPECT_EQ(0, iou_wait_ms(r, 1, 3000));
	EXPECT_EQ(1, iou_ready(r));
	ASSERT_EQ(0, hole_give(&self->hole, 0, 1));
	pthread_join(t, &ret);
	EXPECT_EQ(NULL, ret);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data == 3 ? 0 : EPOLLIN, cqe.res);
		EXPECT_EQ(cqe.user_data == 2 ? IORING_CQE_F_MORE : 0, cqe.flags);
	}
	close(ep);
	close(efd);
}

/*
 * A task that has left a root cannot reach it through threads that were created before; on 6.12 it
 * can.  differences: worker-env, sqpoll-env
 */
TEST(owner_moves)
{
	static int (*const child[])(void) = {
		follow_the_owner, leave_the_thread, leave_the_network, queue_before_the_move,
	};
	unsigned int i;
	int pid, status;

	if (getuid())
		SKIP(return, "needs to be root");
	mkdir(ROOT, 0755);
	close(open(ROOT INSIDE, O_CREAT | O_RDWR, 0644));
	close(open(OUTSIDE, O_CREAT | O_RDWR, 0644));
	for (i = 0; i < ARRAY_LEN(child); i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(child[i]());
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(!status || (iou_on_stock() && child[i] != queue_before_the_move)) {
			TH_LOG("%u: status %x", i, status);
		}
	}
	unlink(OUTSIDE);
	unlink(ROOT INSIDE);
	rmdir(ROOT);
}

#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

/* Have a worker run a request, then store in @cpus the CPUs that this worker may use. */
static int work_and_get_cpus(struct iou *r, char *cpus, size_t size)
{
	int ret;

	iou_nop(r, 1)->flags = IOSQE_ASYNC;
	ret = iou_one(r);
	return ret ? ret : iou_cpus_of(getpid(), "iou-wrk-", cpus, size);
}

/*
 * While the CPU of a worker is offline, the worker runs on another CPU.  Once the CPU is online,
 * the worker returns.  Mutant: worker-stays-away.  differences: worker-cpu-online
 */
TEST(worker_returns_to_its_cpu)
{
	char cpus[128] = "";
	cpu_set_t second;
	struct iou r;

	if (iou_put(ONLINE, "1"))
		SKIP(return, "needs a second CPU, and to be root");
	CPU_ZERO(&second);
	CPU_SET(1, &second);
	ASSERT_EQ(0, iou_init(&r, 8, 0));
	ASSERT_EQ(0, set_limits(&r, 1, 1));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_IOWQ_AFF, &second, sizeof(second)));
	EXPECT_EQ(0, work_and_get_cpus(&r, cpus, sizeof(cpus)));
	EXPECT_STREQ("1", cpus);

	ASSERT_EQ(0, iou_put(ONLINE, "0"));
	EXPECT_EQ(0, work_and_get_cpus(&r, cpus, sizeof(cpus)));
	EXPECT_STRNE("1", cpus);
	ASSERT_EQ(0, iou_put(ONLINE, "1"));
	EXPECT_EQ(0, work_and_get_cpus(&r, cpus, sizeof(cpus)));
	/* on 6.12 the worker keeps the CPUs that it got meanwhile */
	if (!iou_on_stock())
		EXPECT_STREQ("1", cpus);
	iou_exit(&r);
}

TEST_HARNESS_MAIN
