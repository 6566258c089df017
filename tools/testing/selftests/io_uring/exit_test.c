// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: the end of tasks and rings with everything in flight */
/*
 * A victim process fills several kinds of rings with many kinds of requests and keeps them busy.
 * At a random moment it is killed, executes another program, forks, closes its rings or loses the
 * thread that owns them.  In each case the process has to exit soon and leave nothing behind.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "fault.h"
#include "iou_test.h"
#include "sock.h"

/* Return: how long a killed process may take to exit, in milliseconds */
static unsigned int grace(void)
{
	return iou_slow_kernel() ? 20000 : 2000;
}

FIXTURE(end) {
	int alive[2];		/* pipe; only the victim holds its write end */
	unsigned int seed;
};

FIXTURE_VARIANT(end) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(end);
IOU_KIND(end, iopoll, IORING_SETUP_IOPOLL);
IOU_KIND(end, defer_large, IOU_DEFER | IOU_LARGE);

FIXTURE_SETUP(end)
{
	const char *seed = getenv("IOU_SEED");

	self->seed = seed ? strtoul(seed, NULL, 0) : iou_now_us();
	ASSERT_EQ(0, pipe(self->alive));
	signal(SIGPIPE, SIG_IGN);
	/* on an IOPOLL ring, a test with only NOPs would test nothing */
	if (variant->flags & IORING_SETUP_IOPOLL && access(iou_scratch(), R_OK | W_OK))
		SKIP(return, "needs a device that can be polled");
}

FIXTURE_TEARDOWN(end)
{
	close(self->alive[0]);
	close(self->alive[1]);
}

/* The last writes of a thread that exits, or the directories that it creates. */
struct last_writes {
	unsigned int flags;
	int file;
	const char *buf;
	struct hole hole;
	int unshare;
	int dir;
	bool queued;
};

static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 8;
}

/* The ring, files and buffers of a victim. */
struct victim {
	struct iou r;
	unsigned int flags;
	int pipe[2], sock[2], efd, file, disk;
	char *buf;
	unsigned int seed;
	bool waits;		/* has requests that may never end by themselves */
	bool polls_itself;	/* has polls of its own ring, which hold the ring's file */
};

static int victim_init(struct victim *v, unsigned int flags, unsigned int seed)
{
	v->flags = flags;
	v->seed = seed;
	v->waits = true;
	v->polls_itself = true;
	v->buf = iou_map_anon(64 * IOU_PAGE);
	v->efd = eventfd(0, EFD_SEMAPHORE);
	v->file = memfd_create("victim", 0);
	v->disk = open(iou_scratch(), O_RDWR | O_DIRECT);
	if (pipe(v->pipe) || socketpair(AF_UNIX, SOCK_STREAM, 0, v->sock))
		return 1;
	return iou_init_cq(&v->r, 32, 64, flags);
}

/* Release what the victim uses, in a task that outlives the victim. */
static void victim_free(struct victim *v)
{
	iou_exit(&v->r);
	close(v->pipe[0]);
	close(v->pipe[1]);
	close(v->sock[0]);
	close(v->sock[1]);
	close(v->efd);
	close(v->file);
	close(v->disk);
	munmap(v->buf, 64 * IOU_PAGE);
}

static struct __kernel_timespec victim_times[] = {
	{ .tv_nsec = 500000 }, { .tv_nsec = 5000000 }, { .tv_sec = 1000 },
};

static struct io_uring_sqe *prep_poll(struct iou *r, int fd, bool multishot)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL, multishot, 0);

	sqe->poll32_events = poll_word(POLLIN);
	return sqe;
}

/* Prepare a request that waits for an event or a time, alone or with a linked timeout. */
static void victim_prep_waiting(struct victim *v, unsigned int x)
{
	struct __kernel_timespec *ts = &victim_times[x / 8 % 3];
	struct iou *r = &v->r;

	switch (x % 8) {
	case 0:
		prep_poll(r, v->pipe[0], false);
		break;
	case 1:
		prep_poll(r, v->sock[0], true);
		break;
	case 2:
		prep_poll(r, v->polls_itself ? r->fd : v->efd, x & 64);
		break;
	case 3:
		iou_prep(r, IORING_OP_TIMEOUT, -1, ts, 1, 0);
		break;
	case 4:
		iou_prep(r, IORING_OP_TIMEOUT, -1, ts, 1, x / 64 % 4);
		break;
	case 5:
		prep_poll(r, v->efd, false)->flags = IOSQE_IO_LINK;
		iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, ts, 1, 0);
		break;
	case 6:
		iou_prep(r, IORING_OP_READ, v->pipe[0], v->buf, 8, 0)->flags = IOSQE_IO_LINK;
		iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, ts, 1, 0);
		break;
	default:
		iou_prep(r, IORING_OP_ASYNC_CANCEL, v->pipe[0], NULL, IORING_OP_POLL_ADD,
			 0)->cancel_flags = x & 64 ? IORING_ASYNC_CANCEL_FD :
						     IORING_ASYNC_CANCEL_OP;
	}
}

/*
 * Prepare one more request: it finishes, waits for ever, or blocks a worker.
 * differences: exit-worker-tag
 */
static void victim_prep(struct victim *v)
{
	unsigned int x = next_random(&v->seed);
	char *buf = v->buf + x % 64 * IOU_PAGE;
	struct iou *r = &v->r;
	struct io_uring_sqe *sqe;

	if (v->flags & IORING_SETUP_IOPOLL) {
		if (x % 4)
			sqe = iou_prep(r, x % 2 ? IORING_OP_READ : IORING_OP_WRITE,
				       v->disk, buf, 4096, x % 16 * 4096);
		else
			sqe = iou_nop(r, x);
		/* on 6.12 a worker would wait for ever for a tag, see SMALL_NULLB */
		if (!iou_on_stock())
			sqe->flags = x & 64 ? IOSQE_ASYNC : 0;
		return;
	}
	if (v->waits && x & 128 && iou_sq_room(r) >= 2) {
		victim_prep_waiting(v, x >> 8);
		return;
	}
	switch (x % 8) {
	case 0:
		sqe = iou_prep(r, IORING_OP_READ, v->pipe[0], buf, 8, 0);
		break;
	case 1:
		sqe = iou_prep(r, IORING_OP_READ, v->efd, buf, 8, 0);
		break;
	case 2:
		sqe = iou_prep(r, IORING_OP_READ, v->sock[0], buf, 8, 0);
		break;
	case 3:
		sqe = iou_prep(r, IORING_OP_WRITE, v->file, buf, 4096, x % 64 * 4096);
		break;
	case 4:
		sqe = iou_prep(r, IORING_OP_FSYNC, v->file, NULL, 0, 0);
		break;
	case 5:
		sqe = iou_prep(r, IORING_OP_READ, v->disk >= 0 ? v->disk : v->file,
			       buf, 4096, x % 16 * 4096);
		break;
	case 6:
		sqe = iou_prep(r, IORING_OP_READ, v->file, buf, 4096, 0);
		break;
	default:
		/* the ring may end before a task handles this message to the ring itself */
		if (x & 512)
			sqe = iou_nop(r, x);
		else
			sqe = iou_prep(r, IORING_OP_MSG_RING, r->fd, (void *)IORING_MSG_DATA, 0, x);
	}
	sqe->flags = x & 64 ? IOSQE_ASYNC : 0;
}

/* Keep the ring busy until the process ends, and wait now and then. */
static void victim_run(struct victim *v)
{
	struct iou *r = &v->r;
	unsigned int i;

	for (;;) {
		for (i = next_random(&v->seed) % 16 + 1; i && iou_sq_room(r); i--)
			victim_prep(v);
		iou_submit_wait(r, 0);
		if (next_random(&v->seed) % 4 == 0 &&
		    write(v->pipe[1], "12345678", 8) != 8)
			return;
		if (next_random(&v->seed) % 8 == 0)
			iou_wait_ms(r, 4, 1);
		/* sometimes let the ring overflow */
		if (next_random(&v->seed) % 4)
			iou_seen(r, iou_ready(r));
	}
}

static int start_victim(int alive[2], unsigned int flags, unsigned int seed)
{
	int pid = fork();

	if (!pid) {
		struct victim v;

		close(alive[0]);
		if (victim_init(&v, flags, seed))
			_exit(99);
		if (write(alive[1], "r", 1) != 1)
			_exit(98);
		victim_run(&v);
		_exit(97);
	}
	return pid;
}

/* Print the stacks of the tasks of a process that should have exited. */
static void print_stacks(int pid)
{
	static const char *const files[] = { "comm", "stat", "syscall", "wchan", "stack" };
	char path[320], line[256];
	struct dirent *entry;
	unsigned int i;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		for (i = 0; i < ARRAY_LEN(files); i++) {
			snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", pid,
				 entry->d_name, files[i]);
			f = fopen(path, "r");
			while (f && fgets(line, sizeof(line), f))
				printf("# %s %s: %s%s", entry->d_name, files[i], line,
				       strchr(line, '\n') ? "" : "\n");
			if (f)
				fclose(f);
		}
	}
	if (dir)
		closedir(dir);
	fflush(stdout);
}

/* Return: true if the process still runs this program, since an exec takes some time. */
static bool still_ours(int pid)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "r");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = '\0';
	if (f)
		fclose(f);
	return !strncmp(name, "exit_test", 9);
}

static int gone(int pid, int *status)
{
	unsigned long long start = iou_now_us();
	unsigned long long end = start + grace() * 1000ULL;

	while (iou_now_us() < end ||
	       (!still_ours(pid) && iou_now_us() < start + 3000ULL * IOU_PATIENCE)) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return 0;
		iou_sleep_ms(1);
	}
	print_stacks(pid);
	return -ETIME;
}

TEST_F(end, kill)
{
	unsigned int round, rounds = iou_rounds(40);
	int pid, status;
	char c;

	for (round = 0; round < rounds; round++) {
		pid = start_victim(self->alive, variant->flags, self->seed + round);
		ASSERT_LT(0, pid);
		ASSERT_EQ(1, read(self->alive[0], &c, 1));
		usleep(next_random(&self->seed) % 20000);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(0, gone(pid, &status)) {
			TH_LOG("round %u, seed %u: process %d does not go", round,
			       self->seed, pid);
		}
		ASSERT_TRUE(WIFSIGNALED(status)) {
			TH_LOG("exit status %d", WEXITSTATUS(status));
		}
	}
}

TEST_F(end, stop_then_kill)
{
	unsigned int round, rounds = iou_rounds(10);
	int pid, status;
	char c;

	for (round = 0; round < rounds; round++) {
		pid = start_victim(self->alive, variant->flags, self->seed + round);
		ASSERT_LT(0, pid);
		ASSERT_EQ(1, read(self->alive[0], &c, 1));
		usleep(next_random(&self->seed) % 20000);
		ASSERT_EQ(0, kill(pid, SIGSTOP));
		usleep(next_random(&self->seed) % 20000);
		if (round % 2) {
			ASSERT_EQ(0, kill(pid, SIGCONT));
			usleep(next_random(&self->seed) % 20000);
		}
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(0, gone(pid, &status));
	}
}

/* A second thread that ends the process by a system call. */
struct ender {
	unsigned int after_us;
	int how;
};

static void *end_process(void *arg)
{
	struct ender *e = arg;

	usleep(e->after_us);
	if (e->how == 0)
		_exit(0);
	if (e->how == 1)
		execl("/bin/true", "true", NULL);
	if (e->how == 2)
		abort();
	return NULL;
}

static int victim_with_ender(unsigned int flags, unsigned int seed, int how)
{
	int pid = fork();

	if (!pid) {
		struct ender e = { seed % 20000, how };
		struct rlimit no_core = { };
		struct victim v;
		pthread_t t;

		setrlimit(RLIMIT_CORE, &no_core);
		if (victim_init(&v, flags, seed))
			_exit(99);
		pthread_create(&t, NULL, end_process, &e);
		victim_run(&v);
		_exit(97);
	}
	return pid;
}

TEST_F(end, exit_exec_abort)
{
	unsigned int round, rounds = iou_rounds(30);
	int pid, status;

	for (round = 0; round < rounds; round++) {
		pid = victim_with_ender(variant->flags, next_random(&self->seed),
					round % 3);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, gone(pid, &status)) {
			TH_LOG("round %u: process %d does not go", round, pid);
		}
		if (round % 3 == 2)
			ASSERT_TRUE(WIFSIGNALED(status));
		if (round % 3 != 2)
			ASSERT_EQ(0, status);
	}
}

/* The process itself calls exec with everything in flight. */
TEST_F(end, exec_in_the_submitter)
{
	unsigned int round, i, rounds = iou_rounds(15);
	int pid, status;

	for (round = 0; round < rounds; round++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct victim v;

			if (victim_init(&v, variant->flags, self->seed + round))
				_exit(99);
			for (i = 0; i < 8; i++) {
				while (iou_sq_room(&v.r) > 8)
					victim_prep(&v);
				iou_submit_wait(&v.r, 0);
			}
			execl("/bin/true", "true", NULL);
			_exit(98);
		}
		ASSERT_EQ(0, gone(pid, &status)) {
			TH_LOG("round %u", round);
		}
		ASSERT_EQ(0, status);
	}
}

/*
 * An exec waits only for reads of workers.  They end when the exec cancels them, and the last one
 * wakes the exec.  Mutant: uncharge-wakes-no-task.
 */
TEST_F(end, exec_while_a_worker_ends_it)
{
	unsigned int round, i, rounds = iou_rounds(8);
	int pid, status, ends[2];

	ASSERT_EQ(0, pipe(ends));
	for (round = 0; round < rounds; round++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct iou r;
			char c[4];

			if (iou_init(&r, 8, variant->flags))
				_exit(99);
			for (i = 0; i < sizeof(c); i++)
				iou_prep(&r, IORING_OP_READ, ends[0], &c[i], 1, 0)->flags =
					IOSQE_ASYNC;
			if (iou_submit(&r) < 0)
				_exit(97);
			usleep(next_random(&self->seed) % 10000);
			execl("/bin/true", "true", NULL);
			_exit(98);
		}
		ASSERT_EQ(0, gone(pid, &status)) {
			TH_LOG("round %u", round);
		}
		ASSERT_EQ(0, status);
	}
	close(ends[0]);
	close(ends[1]);
}

/* A ring is closed and its memory unmapped while requests are in flight. */
TEST_F(end, close)
{
	unsigned int round, i, rounds = iou_rounds(40);
	struct victim v;

	ASSERT_EQ(0, victim_init(&v, variant->flags, self->seed));
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < 4; i++) {
			while (iou_sq_room(&v.r) > 4)
				victim_prep(&v);
			ASSERT_LE(0, iou_submit_wait(&v.r, 0));
			iou_seen(&v.r, iou_ready(&v.r));
		}
		usleep(next_random(&self->seed) % 500);
		iou_exit(&v.r);
		ASSERT_EQ(0, iou_init_cq(&v.r, 32, 64, variant->flags));
	}
	iou_exit(&v.r);
}

/*
 * A ring is closed with more polls than its CQ has entries, with messages and an eventfd.  The
 * close frees all of them and releases the registered file, whose other end reports POLLHUP.
 * Mutant: ring-end-skips-wait-table.
 */
TEST_F(end, close_with_more_than_fits)
{
	struct pollfd pfd = { .events = POLLIN };
	unsigned int i, sent, nr = 1000;
	int quiet[2], ends[2], efd;
	struct iou r, sender;
	__u64 tag = 7;
	struct io_uring_rsrc_register reg = { .nr = 1, .tags = (uintptr_t)&tag };
	struct io_uring_sqe *sqe;

	ASSERT_EQ(0, pipe(quiet));
	ASSERT_EQ(0, pipe(ends));
	efd = eventfd(0, EFD_NONBLOCK);
	ASSERT_LE(0, efd);
	ASSERT_EQ(0, iou_init(&sender, 8, 0));
	ASSERT_EQ(0, iou_init_cq(&r, 8, 8, variant->flags));
	reg.data = (uintptr_t)&ends[1];
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_FILES2, &reg, sizeof(reg)));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_EVENTFD, &efd, 1));
	for (i = 0; i < nr; i++) {
		prep_poll(&r, quiet[0], false)->user_data = i;
		if (iou_sq_room(&r) && i + 1 < nr)
			continue;
		ASSERT_LE(0, iou_submit(&r));
	}
	for (sent = 0; sent < 16; sent++) {
		sqe = iou_prep(&sender, IORING_OP_MSG_RING, r.fd, NULL, 0, sent);
		sqe->addr = IORING_MSG_DATA;
		ASSERT_EQ(0, iou_one(&sender));
	}
	close(ends[1]);
	iou_exit(&r);
	pfd.fd = ends[0];
	ASSERT_EQ(1, poll(&pfd, 1, IOU_PATIENCE));
	EXPECT_EQ(POLLHUP, pfd.revents);
	iou_exit(&sender);
	close(ends[0]);
	close(quiet[0]);
	close(quiet[1]);
	close(efd);
}

/*
 * Return: true if the read end of the pipe was closed in time.  The close of a ring releases the
 * file of a read that waits, so that poll() on the write end reports POLLERR.
 */
static bool reader_gone(int write_end)
{
	struct pollfd pfd = { .fd = write_end, .events = POLLOUT };
	unsigned int k;

	for (k = 0; k < grace(); k++) {
		if (poll(&pfd, 1, 0) >= 0 && pfd.revents & POLLERR)
			return true;
		iou_sleep_ms(1);
	}
	return false;
}

TEST_F(end, close_gives_files_back)
{
	unsigned char flags[] = { 0, IOSQE_ASYNC };
	unsigned int i;
	struct iou r;
	char buf[8];
	int p[2];

	if (variant->flags & IORING_SETUP_IOPOLL)
		SKIP(return, "no pipes on a ring that polls");
	for (i = 0; i < ARRAY_LEN(flags); i++) {
		ASSERT_EQ(0, pipe(p));
		ASSERT_EQ(0, iou_init(&r, 8, variant->flags));
		iou_prep(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = flags[i];
		ASSERT_EQ(1, iou_submit(&r));
		iou_sleep_ms(20);
		close(p[0]);
		iou_exit(&r);
		EXPECT_TRUE(reader_gone(p[1])) {
			TH_LOG("flags %x", flags[i]);
		}
		close(p[1]);
	}
}

/* Submit requests and exit; the process and the ring go on. */
static void *submit_and_end(void *arg)
{
	struct victim *v = arg;
	unsigned int i;

	for (i = 0; i < 12; i++)
		victim_prep(v);
	iou_submit_wait(&v->r, 0);
	return NULL;
}

TEST_F(end, thread)
{
	unsigned int round, rounds = iou_rounds(30), i;
	struct victim v;
	pthread_t t;

	if (variant->flags & IORING_SETUP_SINGLE_ISSUER)
		SKIP(return, "see the next test");
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, victim_init(&v, variant->flags, self->seed + round));
		v.waits = false;
		ASSERT_EQ(0, pthread_create(&t, NULL, submit_and_end, &v));
		pthread_join(t, NULL);
		/* each request of the exited thread posts a CQE */
		for (i = 0; i < 12; i++)
			ASSERT_TRUE(write(v.pipe[1], "12345678", 8) == 8 &&
				    write(v.sock[1], "12345678", 8) == 8 &&
				    !eventfd_write(v.efd, 1));
		for (i = 0; i < 12; i++) {
			struct io_uring_cqe cqe;
			int ret = iou_reap(&v.r, &cqe);

			ASSERT_EQ(0, ret) {
				TH_LOG("round %u: %u of 12 are there", round, i);
			}
		}
		victim_free(&v);
	}
}

/*
 * An exec of a process ends the process's own requests, also drained ones, not those of other
 * processes that use the ring.  Mutants: exit-cancels-others, exit-loses-drained.
 */
TEST_F(end, exec_leaves_others)
{
	int p[2], other[2], pid, status;
	struct io_uring_cqe cqe;
	unsigned int ended = 0;
	struct iou r;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_IOPOLL))
		return;
	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, pipe(other));
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags));
	prep_poll(&r, p[0], false)->user_data = 1;
	ASSERT_EQ(1, iou_submit(&r));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		prep_poll(&r, other[0], false)->user_data = 2;
		iou_nop(&r, 3)->flags = IOSQE_IO_DRAIN;
		if (iou_submit(&r) == 2)
			execl("/bin/true", "true", NULL);
		_exit(1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	while (!iou_wait_ms(&r, 1, 100)) {
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(-ECANCELED, cqe.res);
		ended |= 1U << cqe.user_data;
	}
	/* requests of an SQPOLL ring are its thread's, which does not exec */
	EXPECT_EQ(variant->flags & IORING_SETUP_SQPOLL ? 0 : 1U << 2 | 1U << 3, ended);
	ASSERT_EQ(1, write(p[1], "x", 1));
	ASSERT_EQ(0, iou_reap(&r, &cqe));
	EXPECT_EQ(1, cqe.user_data);
	EXPECT_EQ(POLLIN, cqe.res & POLLIN);
	iou_exit(&r);
	close(p[0]);
	close(p[1]);
	close(other[0]);
	close(other[1]);
}

static struct __kernel_timespec tick = { .tv_nsec = 20000000 };

/* Set two timers: one repeats without end (1), the other one ends with its fourth tick (2). */
static void *set_timers_and_end(void *arg)
{
	struct iou *r = arg;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_TIMEOUT, -1, &tick, 1, i * 4);

		sqe->timeout_flags = IORING_TIMEOUT_MULTISHOT;
		sqe->user_data = 1 + i;
	}
	return iou_submit(r) == 2 ? NULL : (void *)1;
}

/* Return: true if both timers tick as long as they have to, and the first one can be removed. */
static bool timers_tick(struct iou *r)
{
	unsigned int ticks[3] = {}, ends[3] = {};
	struct io_uring_cqe cqe;

	while (ticks[1] < 10 || !ends[2]) {
		if (iou_reap(r, &cqe) || cqe.user_data > 2 || cqe.res != -ETIME)
			return false;
		if (cqe.flags & IORING_CQE_F_MORE)
			ticks[cqe.user_data]++;
		else
			ends[cqe.user_data]++;
	}
	if (ends[1] || ends[2] != 1 || ticks[2] != 3)
		return false;
	iou_prep(r, IORING_OP_TIMEOUT_REMOVE, -1, (void *)1, 0, 0)->user_data = 3;
	iou_submit(r);
	do {
		if (iou_reap(r, &cqe))
			return false;
	} while (cqe.flags & IORING_CQE_F_MORE);
	return true;
}

/*
 * The timers of a ring that lives on do not stop when the thread or the process that has set them
 * exits.  Mutant: timer-ends-with-its-task.
 */
TEST_F(end, timers_of_a_thread)
{
	pthread_t t;
	pid_t child;
	void *ret;
	struct iou r;
	int status;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_IOPOLL))
		SKIP(return, "the ring is its owner's, or cannot do it");
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags));
	ASSERT_EQ(0, pthread_create(&t, NULL, set_timers_and_end, &r));
	pthread_join(t, &ret);
	EXPECT_EQ(NULL, ret);
	EXPECT_TRUE(timers_tick(&r));
	iou_exit(&r);
	if (variant->flags & IORING_SETUP_SQPOLL)
		return;
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags));
	child = fork();
	if (!child)
		_exit(set_timers_and_end(&r) ? 1 : 0);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	/* the child has moved the tail of the shared SQ */
	r.next = *r.sq_tail;
	r.sent = r.next;
	EXPECT_TRUE(timers_tick(&r));
	iou_exit(&r);
}

#define LAST_WRITES	24
#define LAST_SIZE	16384

/*
 * Prepare @nr writes, and limit the ring to one worker, so that the thread exits before the worker
 * has begun all of them.
 */
static int prep_last_writes(struct iou *r, int file, const void *buf, unsigned int size,
			    unsigned int nr)
{
	__u32 limits[2] = { 1, 1 };
	unsigned long i;

	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_WRITE, file, buf, size, i * size);

		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = 1;
	}
	return iou_register(r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2);
}

/* Queue writes and a read that gets no data, and exit. */
static void *write_and_end(void *arg)
{
	struct victim *v = arg;
	struct iou *r = &v->r;

	if (prep_last_writes(r, v->file, v->buf, LAST_SIZE, LAST_WRITES))
		return (void *)1;
	iou_prep(r, IORING_OP_READ, v->pipe[0], v->buf, 8, 0)->flags = IOSQE_ASYNC;
	return iou_submit(r) == LAST_WRITES + 1 ? NULL : (void *)2;
}

/*
 * A thread's last writes are done although it exits at once.  Its exit does not wait for requests
 * that could wait without end.  Mutant: exit-drops-writes.
 */
TEST_F(end, writes_of_a_thread)
{
	unsigned int round, rounds = iou_rounds(10), i;
	struct victim v;
	pthread_t t;
	void *ret;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_IOPOLL))
		SKIP(return, "the ring is its owner's, or cannot do it");
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, victim_init(&v, variant->flags, self->seed));
		ASSERT_EQ(0, pthread_create(&t, NULL, write_and_end, &v));
		pthread_join(t, &ret);
		ASSERT_EQ(NULL, ret);
		for (i = 0; i < LAST_WRITES; ) {
			struct io_uring_cqe cqe;

			ASSERT_EQ(0, iou_reap(&v.r, &cqe));
			if (cqe.user_data != 1)
				continue;
			EXPECT_EQ(LAST_SIZE, cqe.res);
			i++;
		}
		victim_free(&v);
	}
}

#define REGISTERED_WRITES	100
#define REGISTERED_SIZE		262144

/* Queue writes on a ring that only a registered index refers to, and exit. */
static void *write_by_index_and_end(void *arg)
{
	struct io_uring_rsrc_update index = { .offset = -1U };
	struct last_writes *w = arg;
	struct iou r;

	if (iou_init(&r, 128, w->flags) ||
	    prep_last_writes(&r, w->file, w->buf, REGISTERED_SIZE, REGISTERED_WRITES))
		return (void *)1;
	index.data = r.fd;
	if (iou_submit(&r) != REGISTERED_WRITES ||
	    iou_register(&r, IORING_REGISTER_RING_FDS, &index, 1) != 1)
		return (void *)2;
	/* unmap and close; only the registered index is left */
	iou_exit(&r);
	return NULL;
}

/* A thread's last writes are done even if its exit ends their ring.  Mutant: index-goes-first. */
TEST_F(end, writes_by_index)
{
	struct last_writes w = { .flags = variant->flags };
	unsigned long i, done = 0;
	pthread_t t;
	char *buf, c;
	void *ret;

	if (variant->flags & (IORING_SETUP_SQPOLL | IORING_SETUP_IOPOLL))
		SKIP(return, "its requests are not the thread's");
	buf = malloc(REGISTERED_SIZE);
	ASSERT_NE(NULL, buf);
	memset(buf, 'x', REGISTERED_SIZE);
	w.buf = buf;
	w.file = iou_file(4096, 0);
	ASSERT_LE(0, w.file);
	ASSERT_EQ(0, pthread_create(&t, NULL, write_by_index_and_end, &w));
	pthread_join(t, &ret);
	ASSERT_EQ(NULL, ret);
	for (i = 0; i < REGISTERED_WRITES; i++)
		done += pread(w.file, &c, 1, i * REGISTERED_SIZE) == 1 && c == 'x';
	EXPECT_EQ(REGISTERED_WRITES, done);
	close(w.file);
	free(buf);
}

/* Return: the name of the nth directory. */
static const char *last_name(unsigned int n)
{
	static const char names[2 * LAST_WRITES] =
		"a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p\0q\0r\0s\0t\0u\0v\0w\0x";

	return &names[2 * n];
}

/* Queue writes, or MKDIRATs if ->dir is set, behind a write that waits in a fault, and exit. */
static void *write_behind_a_fault_and_end(void *arg)
{
	unsigned int i, one[2] = { 1, 1 };
	struct last_writes *w = arg;
	struct iou r;

	if (iou_init(&r, 32, w->flags))
		return (void *)1;
	/* MKDIRATs are not hashed, so only a single worker makes them wait for the write */
	if (w->dir && iou_register(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, one, 2))
		return (void *)5;
	iou_prep(&r, IORING_OP_WRITE, w->file, w->hole.mem, 1, 0)->flags = IOSQE_ASYNC;
	if (iou_submit(&r) != 1 || hole_faults(&w->hole, 1) != 1)
		return (void *)2;
	if (w->unshare && unshare(w->unshare))
		return (void *)3;
	for (i = 1; i < LAST_WRITES; i++) {
		if (w->dir)
			iou_prep(&r, IORING_OP_MKDIRAT, w->dir, last_name(i), 0700, 0);
		else
			iou_prep(&r, IORING_OP_WRITE, w->file, w->buf, 1, i)->flags = IOSQE_ASYNC;
	}
	if (iou_submit(&r) != LAST_WRITES - 1)
		return (void *)4;
	__atomic_store_n(&w->queued, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Let the first write end @ms after the other requests were queued, while the thread's exit waits.
 * Return: how many writes are done; negative without userfaultfd.
 */
static int writes_done_behind(struct last_writes *w, unsigned int ms)
{
	unsigned long long end = iou_now_us() + 5000000;
	char all[LAST_WRITES + 1];
	pthread_t t;
	void *ret;
	int done;

	w->buf = "x";
	if (hole_open(&w->hole, 1))
		return -1;
	w->file = iou_file(0, 0);
	pthread_create(&t, NULL, write_behind_a_fault_and_end, w);
	/* a thread that fails does not set ->queued */
	while (!__atomic_load_n(&w->queued, __ATOMIC_ACQUIRE) && iou_now_us() < end)
		iou_sleep_ms(1);
	iou_sleep_ms(ms);
	hole_give(&w->hole, 0, 1);
	pthread_join(t, &ret);
	done = ret ? 0 : pread(w->file, all, sizeof(all), 0);
	close(w->file);
	close(w->hole.uffd);
	return done;
}

/* All writes are done even if the first of them takes long.  Mutant: patience-drops-writes. */
TEST(writes_of_a_thread_behind_a_slow_one)
{
	struct last_writes w = {};
	/* longer than an exit waits for reads */
	int done = writes_done_behind(&w, 11000);

	if (done < 0)
		SKIP(return, "needs userfaultfd");
	EXPECT_EQ(LAST_WRITES, done);
}

/*
 * A worker that was created before an unshare() must not run work that was queued after it.  All
 * writes are done nevertheless.  Mutant: newer-work-is-left.
 */
TEST(writes_of_a_thread_behind_an_unshare)
{
	static const int what[] = { CLONE_FS, CLONE_FILES, CLONE_NEWUTS };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(what); i++) {
		struct last_writes w = { .unshare = what[i] };
		int done = writes_done_behind(&w, 100);

		if (done < 0)
			SKIP(return, "needs userfaultfd");
		EXPECT_EQ(LAST_WRITES, done) {
			TH_LOG("unshare(%#x)", what[i]);
		}
	}
}

/* MKDIRATs that a thread queues after an unshare() are done, too.  Mutant: newer-work-is-left. */
TEST(names_of_a_thread_behind_an_unshare)
{
	static const int what[] = { CLONE_FS, CLONE_NEWUTS };
	char path[64];
	unsigned int i, n;
	int done;

	for (i = 0; i < ARRAY_LEN(what); i++) {
		struct last_writes w = { .unshare = what[i] };

		w.dir = iou_dir(path, sizeof(path));
		ASSERT_LE(0, w.dir);
		done = writes_done_behind(&w, 100);
		for (n = 1; n < LAST_WRITES; n++)
			EXPECT_EQ(0, unlinkat(w.dir, last_name(n), AT_REMOVEDIR)) {
				TH_LOG("unshare(%#x): %s", what[i], last_name(n));
			}
		iou_dir_remove(path, w.dir);
		if (done < 0)
			SKIP(return, "needs userfaultfd");
		/* the file has only the write that the MKDIRATs waited for */
		EXPECT_EQ(1, done);
	}
}

/* Submit a chain of writes with a linked timeout, wait for the first write, and exit. */
static void *chain_and_end(void *arg)
{
	struct __kernel_timespec ts = { .tv_sec = 100 };
	struct last_writes *w = arg;
	unsigned long long end;
	const char *mem;
	struct iou r;

	mem = mmap(NULL, IOU_PAGE, PROT_READ, MAP_SHARED, w->file, 0);
	if (mem == MAP_FAILED || iou_init(&r, 8, w->flags))
		return (void *)1;
	iou_prep(&r, IORING_OP_WRITE, w->file, "x", 1, 0)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	iou_prep(&r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags = IOSQE_IO_LINK;
	iou_prep(&r, IORING_OP_WRITE, w->file, "y", 1, 1)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	iou_prep(&r, IORING_OP_WRITE, w->file, "z", 1, 2)->flags = IOSQE_ASYNC;
	if (iou_submit(&r) != 4)
		return (void *)2;
	end = iou_now_us() + 5000000;
	while (__atomic_load_n(mem, __ATOMIC_RELAXED) != 'x' && iou_now_us() < end)
		;
	return NULL;
}

/*
 * The rest of a chain is done although it waits for a thread that exits.  Mutant: chain-is-left.
 * differences: exit-thread-chain
 */
TEST_F(end, chain_of_a_thread)
{
	struct last_writes w = { .flags = variant->flags };
	unsigned int i, rounds = iou_rounds(20), done = 0;
	char all[4] = {};
	pthread_t t;
	void *ret;

	if (variant->flags & (IORING_SETUP_SQPOLL | IORING_SETUP_IOPOLL))
		SKIP(return, "its requests are not the thread's");
	for (i = 0; i < rounds; i++) {
		w.file = iou_file(4096, 0);
		ASSERT_LE(0, w.file);
		ASSERT_EQ(0, pthread_create(&t, NULL, chain_and_end, &w));
		pthread_join(t, &ret);
		ASSERT_EQ(NULL, ret);
		ASSERT_EQ(3, pread(w.file, all, 3, 0));
		done += !strcmp("xyz", all);
		close(w.file);
	}
	EXPECT_TRUE(done == rounds || iou_on_stock()) {
		TH_LOG("%u of %u chains", done, rounds);
	}
}

#define DISKS		"/sys/kernel/config/nullb/"
#define LAST_READS	4

/* Create or open a disk whose requests take @nsec.  Return: its descriptor, or -1. */
static int open_timed_disk(const char *name, const char *nsec, int flags)
{
	char dir[64], path[96], dev[32];

	iou_scratch();
	snprintf(dir, sizeof(dir), DISKS "%s", name);
	snprintf(dev, sizeof(dev), "/dev/%s", name);
	if (access(dir, F_OK) && !mkdir(dir, 0700)) {
		const char *const settings[][2] = {
			{ "size", "16" }, { "memory_backed", "1" }, { "irqmode", "2" },
			{ "completion_nsec", nsec }, { "power", "1" },
		};
		unsigned int i;

		for (i = 0; i < ARRAY_LEN(settings); i++) {
			snprintf(path, sizeof(path), "%s/%s", dir, settings[i][0]);
			iou_put(path, settings[i][1]);
		}
	}
	return open(dev, flags);
}

/* Open a disk that needs @nsec for each request and is not in the page cache. */
static int open_slow_disk(const char *name, const char *nsec)
{
	int fd = open_timed_disk(name, nsec, O_RDONLY);

	if (fd >= 0 && ioctl(fd, BLKFLSBUF)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void *read_and_end(void *arg)
{
	struct victim *v = arg;
	unsigned long i;

	for (i = 0; i < LAST_READS; i++)
		iou_prep(&v->r, IORING_OP_READ, v->file, v->buf + i * LAST_SIZE, LAST_SIZE,
			 i << 20)->user_data = 1;
	return iou_submit(&v->r) == LAST_READS ? NULL : (void *)2;
}

/* Let a thread read from @disk, which replaces v->file, and exit.  Return: 0 if this succeeds. */
static int read_from_and_end(struct victim *v, int disk, unsigned int flags, unsigned int seed)
{
	pthread_t t;
	void *ret;

	if (victim_init(v, flags, seed))
		return 1;
	close(v->file);
	v->file = disk;
	if (pthread_create(&t, NULL, read_and_end, v))
		return 2;
	pthread_join(t, &ret);
	return ret ? 3 : 0;
}

/*
 * A thread's reads that wait for a disk are done although it ends.  Mutant: exit-drops-reads.
 * differences: exit-thread-reads
 */
TEST_F(end, reads_of_a_thread)
{
	int disk = open_slow_disk("nullb4", "20000000");
	struct io_uring_cqe cqe;
	struct victim v;
	unsigned int i;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_IOPOLL))
		SKIP(return, "the ring is its owner's, or cannot do it");
	if (disk < 0)
		SKIP(return, "needs to be root, and null_blk");
	ASSERT_EQ(0, read_from_and_end(&v, disk, variant->flags, self->seed));
	for (i = 0; i < LAST_READS; i++) {
		ASSERT_EQ(0, iou_reap(&v.r, &cqe));
		EXPECT_TRUE(cqe.res == LAST_SIZE || iou_on_stock()) {
			TH_LOG("read: %d", cqe.res);
		}
	}
	victim_free(&v);
}

/*
 * An exit waits only briefly for a disk that does not answer, as the exiting thread may serve the
 * disk.  Mutant: exit-waits-for-a-disk.
 */
TEST_F(end, reads_of_a_thread_from_a_disk_that_hangs)
{
	int disk = open_slow_disk("nullb3", "3000000000");
	struct io_uring_cqe cqe;
	unsigned long long start;
	struct victim v;
	unsigned int i;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_IOPOLL))
		SKIP(return, "the ring is its owner's, or cannot do it");
	if (disk < 0)
		SKIP(return, "needs to be root, and null_blk");
	start = iou_now_us();
	ASSERT_EQ(0, read_from_and_end(&v, disk, variant->flags, self->seed));
	EXPECT_GT(2000000, iou_now_us() - start);
	for (i = 0; i < LAST_READS; i++) {
		ASSERT_EQ(0, iou_reap(&v.r, &cqe));
		/* an SQPOLL thread does not exit, so its reads succeed; on 6.12 they get -EFAULT */
		EXPECT_TRUE(cqe.res == LAST_SIZE || cqe.res == -ECANCELED || cqe.res == -EFAULT) {
			TH_LOG("read: %d", cqe.res);
		}
	}
	victim_free(&v);
}

static int heard_by;

static void hear(int sig)
{
	if (write(heard_by, "h", 1) != 1)
		_exit(1);
}

static void *go_on(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/*
 * End the first thread of a process.  Its exit waits for the reads of one worker, which take over
 * a second in all.  If @sibling is set, the process has a second thread.
 */
static void end_before_others(unsigned int flags, int disk, int told, bool sibling)
{
	unsigned int i, limits[2] = { 1, 1 };
	struct io_uring_sqe *sqe;
	pthread_t t;
	struct iou r;
	char *buf;

	heard_by = told;
	signal(SIGUSR1, hear);
	buf = iou_map_anon(64 * IOU_PAGE);
	if ((sibling && pthread_create(&t, NULL, go_on, NULL)) || iou_init(&r, 64, flags) ||
	    iou_register(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2))
		_exit(2);
	for (i = 0; i < 64; i++) {
		sqe = iou_prep(&r, IORING_OP_READ, disk, buf + i * IOU_PAGE, IOU_PAGE,
			       i * 20 * IOU_PAGE);
		sqe->flags = IOSQE_ASYNC;
	}
	if (iou_submit(&r) != 64 || write(told, "r", 1) != 1)
		_exit(3);
	syscall(SYS_exit, 0);
}

/* Fork a process for end_before_others().  Return: its pid, once its first thread waits. */
static int start_to_end(unsigned int flags, int disk, const int p[2], bool sibling)
{
	int pid = fork();
	char c;

	if (!pid)
		end_before_others(flags, disk, p[1], sibling);
	if (pid > 0 && read(p[0], &c, 1) != 1)
		return -1;
	iou_sleep_ms(100);
	return pid;
}

/*
 * The kernel passes a signal of the process to a thread that can handle it.
 * Mutant: exit-takes-signals.
 */
TEST_F(end, signals_pass_a_thread_that_ends)
{
	int p[2], pid, status, disk = open_slow_disk("nullb4", "20000000");
	struct pollfd poll_in;

	if (variant->flags & (IORING_SETUP_SQPOLL | IORING_SETUP_IOPOLL))
		SKIP(return, "its requests are not the thread's");
	if (disk < 0)
		SKIP(return, "needs to be root, and null_blk");
	ASSERT_EQ(0, pipe(p));
	pid = start_to_end(variant->flags, disk, p, true);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, kill(pid, SIGUSR1));
	poll_in = (struct pollfd){ .fd = p[0], .events = POLLIN };
	EXPECT_EQ(1, poll(&poll_in, 1, 400));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	sock_close_pair(p);
	close(disk);
}

/* A signal ends the waiting exit of a process's last thread.  Mutant: last-thread-is-deaf. */
TEST_F(end, signal_ends_the_last_thread)
{
	int p[2], pid, status, disk = open_slow_disk("nullb4", "20000000");
	unsigned long long begin;

	if (variant->flags & (IORING_SETUP_SQPOLL | IORING_SETUP_IOPOLL))
		SKIP(return, "its requests are not the thread's");
	if (disk < 0)
		SKIP(return, "needs to be root, and null_blk");
	ASSERT_EQ(0, pipe(p));
	pid = start_to_end(variant->flags, disk, p, false);
	ASSERT_LT(0, pid);
	begin = iou_now_us();
	ASSERT_EQ(0, kill(pid, SIGTERM));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) {
		TH_LOG("status %x after %llu us", status, iou_now_us() - begin);
	}
	EXPECT_LT(iou_now_us() - begin, 500000);
	sock_close_pair(p);
	close(disk);
}

struct leaver {
	unsigned int flags;
	int told;
};

/* Exit while a worker waits in a page fault; only a kill ends this wait. */
static void *end_behind_a_fault(void *arg)
{
	struct leaver *l = arg;
	struct hole hole;
	struct iou r;
	int fds[2];

	if (hole_open(&hole, 1) || iou_init(&r, 8, l->flags) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, fds) || write(fds[1], "data", 4) != 4)
		_exit(2);
	iou_prep(&r, IORING_OP_RECV, fds[0], hole.mem, 4, 0)->flags = IOSQE_ASYNC;
	if (iou_submit(&r) != 1 || hole_faults(&hole, 1) != 1 || write(l->told, "r", 1) != 1)
		_exit(3);
	syscall(SYS_exit, 0);
	return NULL;
}

/*
 * Fork a process.  First @nr threads exit, each with a worker in a fault, and then the leader
 * exits.  Return: the pid.
 */
static int start_threads_to_end(struct leaver *l, unsigned int nr, const int p[2])
{
	int pid = fork();
	pthread_t t;
	char c;

	if (pid)
		return pid;
	while (nr--) {
		if (pthread_create(&t, NULL, end_behind_a_fault, l) || read(p[0], &c, 1) != 1)
			_exit(4);
	}
	iou_sleep_ms(100);
	if (write(p[1], "s", 1) != 1)
		_exit(5);
	syscall(SYS_exit, 0);
	return -1;
}

/*
 * One or two threads exit before their last sibling, and each exit waits for a worker.  A signal
 * that ends the process ends these waits, even right after the sibling's end.
 * Mutant: last-sibling-takes-signals.
 */
TEST_F(end, signal_behind_the_last_sibling)
{
	static const unsigned int delays[] = { 0, 4, 10, 300 };
	struct leaver l = { .flags = variant->flags };
	unsigned long long until;
	int told[2], p[2], pid, status, ret;
	unsigned int i;
	char c;

	if (variant->flags & (IORING_SETUP_SQPOLL | IORING_SETUP_IOPOLL))
		SKIP(return, "its requests are not the thread's");
	for (i = 0; i < ARRAY_LEN(delays); i++) {
		ASSERT_EQ(0, pipe(told));
		ASSERT_EQ(0, pipe(p));
		l.told = told[1];
		pid = start_threads_to_end(&l, 1 + i % 2, (int[]){ told[0], p[1] });
		ASSERT_LT(0, pid);
		ASSERT_EQ(1, read(p[0], &c, 1));
		iou_sleep_ms(delays[i]);
		ASSERT_EQ(0, kill(pid, SIGTERM));
		until = iou_now_us() + 5000000;
		do {
			ret = waitpid(pid, &status, WNOHANG);
			iou_sleep_ms(10);
		} while (!ret && iou_now_us() < until);
		EXPECT_EQ(pid, ret) {
			TH_LOG("%u ms after the last sibling's end", delays[i]);
		}
		if (!ret) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
		}
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
		sock_close_pair(told);
		sock_close_pair(p);
	}
}

/* Wait outside of io_uring while the leader exits.  Fail if a signal interrupts the wait. */
static void *wait_undisturbed(void *arg)
{
	struct epoll_event event;
	int ep = epoll_create1(0);
	unsigned int i;

	/* let the leader exit first, with its own handler of SIGUSR2 */
	iou_sleep_ms(100);
	signal(SIGUSR2, SIG_IGN);
	for (i = 0; i < 10; i++) {
		if (epoll_wait(ep, &event, 1, 60))
			_exit(1);
	}
	_exit(0);
}

/* Fork a process whose leader exits, at once or with a worker in a fault.  Return: its pid. */
static int start_leader_to_end(struct leaver *l, bool fault)
{
	int pid = fork();
	pthread_t t;
	struct iou r;

	if (pid)
		return pid;
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, hear);
	if (pthread_create(&t, NULL, wait_undisturbed, NULL))
		_exit(6);
	if (fault)
		end_behind_a_fault(l);
	if (iou_init(&r, 8, l->flags))
		_exit(7);
	iou_nop(&r, 1);
	if (iou_submit(&r) != 1 || write(l->told, "r", 1) != 1)
		_exit(8);
	syscall(SYS_exit, 0);
	return -1;
}

/*
 * Signals that are ignored do not interrupt the other threads of a leader that ends, or has ended.
 * Mutants: ignored-signals-queued, zombie-blocks-signals.
 */
TEST_F(end, ignored_signals_stay_ignored)
{
	static const int signals[] = { SIGWINCH, SIGCHLD, SIGUSR1, SIGUSR2 };
	struct leaver l = { .flags = variant->flags };
	int told[2], pid, status, fault;
	unsigned int i;
	char c;

	if (variant->flags & (IORING_SETUP_SQPOLL | IORING_SETUP_IOPOLL))
		SKIP(return, "its requests are not the thread's");
	ASSERT_EQ(0, pipe(told));
	l.told = told[1];
	for (fault = 0; fault < 2; fault++) {
		pid = start_leader_to_end(&l, fault);
		ASSERT_LT(0, pid);
		ASSERT_EQ(1, read(told[0], &c, 1));
		iou_sleep_ms(200);
		/* with a fault, the leader begins to exit before signals[3] is ignored */
		for (i = 0; i < 8; i++) {
			ASSERT_EQ(0, kill(pid, signals[i % (fault ? 3 : 4)]));
			iou_sleep_ms(20);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status) {
			TH_LOG("%s a fault", fault ? "behind" : "without");
		}
	}
	sock_close_pair(told);
}

#define LAST_OPENS	1000

/* Queue opens of a FIFO, and exit.  @arg is the number of opens. */
static void *open_many_and_end(void *arg)
{
	unsigned long i, nr = (unsigned long)arg;
	__u32 limits[2] = { 1, 1 };
	struct io_uring_sqe *sqe;
	struct iou r;

	if (iou_init(&r, LAST_OPENS, 0) ||
	    iou_register(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2))
		return (void *)1;
	for (i = 0; i < nr; i++) {
		sqe = iou_prep(&r, IORING_OP_OPENAT, AT_FDCWD, "/tmp/iou-last", 0, 0);
		sqe->open_flags = O_RDONLY;
		sqe->flags = IOSQE_ASYNC;
	}
	if (iou_submit(&r) != nr)
		return (void *)2;
	/* the worker waits in the first open */
	iou_sleep_ms(20);
	return NULL;
}

/*
 * The exit of a thread waits only once for opens that wait for other tasks, however many are
 * queued.  Mutant: each-open-waits.
 */
TEST(opens_of_a_thread)
{
	unsigned long long begin;
	pthread_t t;
	void *ret;

	unlink("/tmp/iou-last");
	ASSERT_EQ(0, mkfifo("/tmp/iou-last", 0600));
	begin = iou_now_us();
	ASSERT_EQ(0, pthread_create(&t, NULL, open_many_and_end, (void *)LAST_OPENS));
	pthread_join(t, &ret);
	EXPECT_EQ(NULL, ret);
	/* a wait of one jiffy for each open took 8 seconds */
	EXPECT_GE(grace(), (iou_now_us() - begin) / 1000);
	unlink("/tmp/iou-last");
}

/* Fork a process whose second thread exits with opens in flight.  Return: its pid. */
static int start_opens_to_end(unsigned long nr)
{
	int pid = fork();
	pthread_t t;

	if (pid)
		return pid;
	if (pthread_create(&t, NULL, open_many_and_end, (void *)nr))
		_exit(1);
	for (;;)
		pause();
}

/*
 * If a process is stopped while one of its threads exits, waitpid() in its parent reports the stop.
 * Mutant: worker-stops-beside-an-exit.  differences: stop-beside-exit
 */
TEST(stop_meets_a_thread_that_ends)
{
	unsigned int round, late = 0;
	unsigned long long until;
	int pid, status, ret;

	unlink("/tmp/iou-last");
	ASSERT_EQ(0, mkfifo("/tmp/iou-last", 0600));
	for (round = 0; round < 16; round++) {
		pid = start_opens_to_end(1 + round % 4);
		ASSERT_LT(0, pid);
		usleep(20000 + round * 1000);
		ASSERT_EQ(0, kill(pid, SIGSTOP));
		until = iou_now_us() + 1000 * grace();
		do {
			ret = waitpid(pid, &status, WUNTRACED | WNOHANG);
			iou_sleep_ms(1);
		} while (!ret && iou_now_us() < until);
		late += ret != pid || !WIFSTOPPED(status);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	EXPECT_TRUE(!late || iou_on_stock()) {
		TH_LOG("%u of %u stops", late, round);
	}
	unlink("/tmp/iou-last");
}

static void *open_and_end(void *arg)
{
	struct iou *r = arg;
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, "nobody", 0, 0);

	sqe->open_flags = O_RDONLY;
	sqe->flags = IOSQE_ASYNC;
	return iou_submit(r) == 1 ? NULL : (void *)1;
}

/* Leave the last reference to a socket that lingers for a minute to a worker, and exit. */
static void *linger_and_end(void *arg)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 60 };
	struct victim *v = arg;
	char buf[4096] = {};
	int fds[2];

	if (sock_tcp_pair_of(fds, 4096) ||
	    setsockopt(fds[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		return (void *)2;
	while (send(fds[0], buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	v->file = fds[1];
	iou_prep(&v->r, IORING_OP_CLOSE, fds[0], NULL, 0, 0)->flags = IOSQE_ASYNC;
	return iou_submit(&v->r) == 1 && !iou_discard(&v->r, 1) ? NULL : (void *)2;
}

/*
 * A thread that exits does not wait for a socket that lingers in its worker.
 * Mutant: exit-waits-for-linger.
 */
TEST_F(end, linger_of_a_thread)
{
	unsigned long long start;
	struct victim v;
	pthread_t t;
	void *ret;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_IOPOLL))
		SKIP(return, "the ring is its owner's, or cannot do it");
	ASSERT_EQ(0, victim_init(&v, variant->flags, self->seed));
	close(v.file);
	start = iou_now_us();
	ASSERT_EQ(0, pthread_create(&t, NULL, linger_and_end, &v));
	pthread_join(t, &ret);
	EXPECT_EQ(NULL, ret);
	EXPECT_GT(20000000ULL, iou_now_us() - start);
	victim_free(&v);
}

/* Enter a new directory with a FIFO that no task has open.  Return: 0, or -1. */
static int enter_dir_of_fifo(char *dir)
{
	return mkdtemp(dir) && !chdir(dir) ? mkfifo("nobody", 0600) : -1;
}

/*
 * The open of a FIFO that no task writes to does not end by itself.  A thread that has queued such
 * an open can exit all the same.  Mutant: exit-waits-for-a-fifo.
 */
TEST_F(end, open_of_a_thread)
{
	unsigned long long begin = iou_now_us();
	char dir[] = "/tmp/iou.XXXXXX";
	struct io_uring_cqe cqe;
	struct iou r;
	pthread_t t;
	void *ret;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_IOPOLL))
		SKIP(return, "the ring is its owner's, or cannot do it");
	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "its thread stays");
	ASSERT_EQ(0, enter_dir_of_fifo(dir));
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags));
	ASSERT_EQ(0, pthread_create(&t, NULL, open_and_end, &r));
	pthread_join(t, &ret);
	ASSERT_EQ(NULL, ret);
	ASSERT_EQ(0, iou_reap(&r, &cqe));
	EXPECT_TRUE(cqe.res == -EINTR || cqe.res == -ECANCELED) {
		TH_LOG("open: %d", cqe.res);
	}
	EXPECT_GE(5000000, iou_now_us() - begin);
	iou_exit(&r);
	unlink("nobody");
	rmdir(dir);
}

/* Link the open of a FIFO behind a read that a worker runs, and exit. */
static void *read_open_and_end(void *arg)
{
	static char c;
	struct iou *r = arg;
	struct io_uring_cqe cqe;
	int p[2];

	if (pipe(p) || write(p[1], "x", 1) != 1)
		return (void *)1;
	iou_prep(r, IORING_OP_READ, p[0], &c, 1, 0)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, "nobody", 0, 0)->open_flags = O_RDONLY;
	if (iou_submit(r) != 2 || iou_wait(r, 1) || iou_reap(r, &cqe) || cqe.res != 1)
		return (void *)2;
	close(p[0]);
	close(p[1]);
	return NULL;
}

/*
 * A worker of unbounded work goes on with bounded work: the open of a FIFO that no task writes to.
 * A thread that has queued both can exit all the same.  Mutant: exit-waits-for-a-chain.
 */
TEST_F(end, open_behind_a_read_of_a_thread)
{
	unsigned long long begin = iou_now_us();
	char dir[] = "/tmp/iou.XXXXXX";
	pthread_t t;
	struct iou r;
	void *ret;
	int fd;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_IOPOLL))
		SKIP(return, "the ring is its owner's, or cannot do it");
	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "its thread stays");
	ASSERT_EQ(0, enter_dir_of_fifo(dir));
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags));
	ASSERT_EQ(0, pthread_create(&t, NULL, read_open_and_end, &r));
	/* if the kernel fails the test, open the FIFO after 6 seconds so that the exit ends */
	while (pthread_tryjoin_np(t, &ret) && iou_now_us() - begin < 6000000)
		iou_sleep_ms(10);
	EXPECT_GE(5000000, iou_now_us() - begin);
	fd = open("nobody", O_RDWR);
	if (iou_now_us() - begin >= 6000000)
		pthread_join(t, &ret);
	ASSERT_EQ(NULL, ret);
	close(fd);
	iou_exit(&r);
	unlink("nobody");
	rmdir(dir);
}

static void *own_ring_and_end(void *arg)
{
	struct victim *v = arg;

	if (victim_init(v, v->flags, v->seed))
		return (void *)1;
	submit_and_end(v);
	return NULL;
}

/* Closing the ring of a thread that has exited releases all that the ring holds. */
TEST_F(end, owner_thread)
{
	unsigned int round, rounds = iou_rounds(30);
	struct victim v;
	pthread_t t;
	void *ret;
	int end;

	for (round = 0; round < rounds; round++) {
		v.flags = variant->flags;
		v.seed = self->seed + round;
		ASSERT_EQ(0, pthread_create(&t, NULL, own_ring_and_end, &v));
		pthread_join(t, &ret);
		ASSERT_EQ(NULL, ret);
		ASSERT_EQ(8, write(v.pipe[1], "12345678", 8));
		/* any task may close the ring; on a single-writer ring only the owner may wait */
		ASSERT_EQ(variant->flags & IORING_SETUP_DEFER_TASKRUN ? -EEXIST : 0,
			  iou_enter(&v.r, 0, 0, IORING_ENTER_GETEVENTS));
		end = dup(v.pipe[1]);
		victim_free(&v);
		ASSERT_TRUE(reader_gone(end)) {
			TH_LOG("round %u, seed %u", round, self->seed);
		}
		close(end);
	}
}

/* Children share the ring's descriptor and mapping, and exit at random. */
TEST_F(end, fork_storm)
{
	unsigned int round, rounds = iou_rounds(40);
	struct victim v;
	int pid, status;

	ASSERT_EQ(0, victim_init(&v, variant->flags, self->seed));
	for (round = 0; round < rounds; round++) {
		unsigned int i;

		for (i = 0; i < 4 && iou_sq_room(&v.r); i++)
			victim_prep(&v);
		ASSERT_LE(0, iou_submit_wait(&v.r, 0));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			/* in every second round, wait in the parent's ring */
			if (round % 2)
				iou_wait_ms(&v.r, 1, 2);
			if (round % 3 == 0)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		iou_seen(&v.r, iou_ready(&v.r));
		ASSERT_EQ(0, gone(pid, &status));
		ASSERT_EQ(0, status);
	}
	iou_exit(&v.r);
}

/*
 * A child submits to its parent's ring and exits.  Its exit cancels a worker's request.  A request
 * that waits for data ends when the data comes, with an error, as no task is left that could read
 * the data.
 */
TEST(submitter_is_a_dead_child)
{
	static const unsigned char flags[] = { 0, IOSQE_ASYNC };
	struct io_uring_cqe cqe;
	int pid, status, p[2];
	unsigned int i;
	struct iou r;
	char *buf;

	for (i = 0; i < ARRAY_LEN(flags); i++) {
		ASSERT_EQ(0, pipe(p));
		ASSERT_EQ(0, iou_init(&r, 8, 0));
		buf = iou_map_anon(IOU_PAGE);
		pid = fork();
		if (!pid) {
			iou_prep(&r, IORING_OP_READ, p[0], buf, 8, 0)->flags = flags[i];
			_exit(iou_submit(&r) != 1);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		r.next = *r.sq_tail;
		r.sent = r.next;
		ASSERT_EQ(8, write(p[1], "12345678", 8));
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_TRUE(cqe.res == -ECANCELED || cqe.res == -EINTR) {
			TH_LOG("result %d", cqe.res);
		}
		iou_nop(&r, 1);
		EXPECT_EQ(0, iou_one(&r));
		iou_exit(&r);
		close(p[0]);
		close(p[1]);
	}
}

/* Set up a ring with requests that wait, and kill this process. */
static void kill_with_requests(unsigned int flags, int in, int pipe[2])
{
	struct iou r;
	char c[4];
	int i;

	if (iou_init(&r, 8, flags))
		_exit(99);
	for (i = 0; i < 4; i++)
		iou_prep(&r, IORING_OP_READ, in, &c[i], 1, 0)->flags = i < 3 ? 0 : IOSQE_ASYNC;
	if (iou_submit(&r) != 4 || write(pipe[1], "r", 1) != 1)
		_exit(98);
	for (;;)
		pause();
}

/* A process killed with requests in flight leaves no task behind.  Mutant: exit-keeps-credit. */
TEST(killed_tasks_are_freed)
{
	static const unsigned int flags[] = { 0, IOU_DEFER, IORING_SETUP_SQPOLL };
	unsigned long long end;
	int pid, p[2], in[2];
	unsigned int i;
	long before;
	char c;

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, pipe(in));
	before = iou_slab_objects("task_struct");
	/* KASAN delays the reuse of freed memory */
	if (before < 0 || iou_slow_kernel())
		SKIP(return, "needs /proc/slabinfo, and no KASAN");
	for (i = 0; i < 300; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			kill_with_requests(flags[i % ARRAY_LEN(flags)], in[0], p);
		ASSERT_EQ(1, read(p[0], &c, 1));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	}
	/* each CPU may keep a slab of free objects */
	end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	while (iou_slab_objects("task_struct") > before + 60 && iou_now_us() < end)
		iou_sleep_ms(50);
	EXPECT_GE(before + 60, iou_slab_objects("task_struct"));
}

static void ignore_signal(int sig)
{
}

#define STUCK_TASKS	48
#define STUCK_RINGS	32

/* Return: the number of rings of a process.  A slow kernel needs fewer rings for a walk as long. */
static unsigned int stuck_rings(void)
{
	return iou_slow_kernel() ? STUCK_RINGS / 4 : STUCK_RINGS;
}

/* Exec with many rings, one of which has a read that cannot be cancelled: the exec waits. */
static void exec_behind_a_read(int disk, int told)
{
	static struct iou rings[STUCK_RINGS];
	void *buf = iou_map_anon(IOU_PAGE);
	unsigned int i;

	for (i = 0; i < stuck_rings(); i++)
		if (iou_init(&rings[i], 1, 0))
			_exit(99);
	signal(SIGRTMIN, ignore_signal);
	iou_prep(&rings[0], IORING_OP_READ, disk, buf, IOU_PAGE, 0);
	if (iou_submit(&rings[0]) != 1 || write(told, "r", 1) != 1)
		_exit(98);
	execl("/bin/true", "true", NULL);
	_exit(97);
}

/*
 * An exec that waits for its requests walks through its rings at each signal.  A kill during any of
 * these walks ends the exec.  Mutant: kill-lost-in-exec.
 */
TEST(exec_is_killed_at_any_time)
{
	/* a read takes 20 s, and the test does not wait for it */
	int disk = open_timed_disk("nullb7", "20000000000", O_RDONLY | O_DIRECT);
	int nr = iou_slow_kernel() ? STUCK_TASKS / 4 : STUCK_TASKS;
	int pids[STUCK_TASKS], p[2], i, status, left = nr;
	unsigned long long end;
	char c;

	if (disk < 0)
		SKIP(return, "needs to be root, and null_blk");
	ASSERT_EQ(0, pipe(p));
	for (i = 0; i < nr; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (!pids[i])
			exec_behind_a_read(disk, p[1]);
	}
	for (i = 0; i < nr; i++)
		ASSERT_EQ(1, read(p[0], &c, 1));
	end = iou_now_us() + 300000;
	/* each signal stays queued, and a debugging kernel frees it slowly */
	while (iou_now_us() < end) {
		for (i = 0; i < nr; i++)
			kill(pids[i], SIGRTMIN);
		iou_sleep_ms(iou_slow_kernel() ? 10 : 1);
	}
	/* kill one process after another, each 0.1 ms later in its walk than the previous one */
	iou_sleep_ms(20);
	for (i = 0; i < nr; i++) {
		kill(pids[i], SIGRTMIN);
		end = iou_now_us() + i * 100;
		while (iou_now_us() < end)
			;
		kill(pids[i], SIGKILL);
		iou_sleep_ms(2);
	}
	end = iou_now_us() + 8000000;
	while (left && iou_now_us() < end) {
		if (waitpid(-1, &status, WNOHANG) > 0)
			left--;
		else
			iou_sleep_ms(10);
	}
	EXPECT_EQ(0, left);
	close(disk);
}

/*
 * An exec with a pending signal sleeps until its read ends.  The signal, which has a handler, is
 * delivered after the exec and ends the program.  Mutant: pending-signal-spins.
 */
TEST(exec_sleeps_with_a_pending_signal)
{
	/* a read takes 4 s */
	int p[2], pid, status, disk = open_timed_disk("nullb2", "4000000000", O_RDONLY | O_DIRECT);
	struct timespec before, after;
	clockid_t clock;
	char c;

	if (disk < 0)
		SKIP(return, "needs to be root, and null_blk");
	ASSERT_EQ(0, pipe(p));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		exec_behind_a_read(disk, p[1]);
	ASSERT_EQ(1, read(p[0], &c, 1));
	iou_sleep_ms(300);
	ASSERT_EQ(0, kill(pid, SIGRTMIN));
	iou_sleep_ms(100);
	ASSERT_EQ(0, clock_getcpuclockid(pid, &clock));
	ASSERT_EQ(0, clock_gettime(clock, &before));
	iou_sleep_ms(1000);
	ASSERT_EQ(0, clock_gettime(clock, &after));
	EXPECT_GT(200, (after.tv_sec - before.tv_sec) * 1000 +
		       (after.tv_nsec - before.tv_nsec) / 1000000);
	/* the exec did not end before the second look */
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGRTMIN);
	close(disk);
	close(p[0]);
	close(p[1]);
}

/* Enter the ring for the first time in this thread.  Return: the number of submitted SQEs */
static void *first_submit(void *arg)
{
	struct iou *r = arg;

	return (void *)(long)iou_sys_enter(r->fd, 1, 0, 0, NULL, 0);
}

/* In each round, four threads enter a new ring for the first time at once. */
TEST(first_submit_of_many_threads)
{
	unsigned int round, i, rounds = iou_rounds(60);
	struct io_uring_cqe cqe;
	pthread_t t[4];
	struct iou r;
	void *ret;

	for (round = 0; round < rounds; round++) {
		unsigned int seen = 0;

		ASSERT_EQ(0, iou_init(&r, 8, 0));
		for (i = 0; i < 8; i++)
			iou_nop(&r, i)->flags = i % 2 ? IOSQE_ASYNC : 0;
		iou_flush(&r);
		for (i = 0; i < 4; i++)
			ASSERT_EQ(0, pthread_create(&t[i], NULL, first_submit, &r));
		for (i = 0; i < 4; i++) {
			pthread_join(t[i], &ret);
			ASSERT_EQ((void *)1, ret);
		}
		ASSERT_EQ(4, iou_enter(&r, 8, 0, 0));
		for (i = 0; i < 8; i++) {
			ASSERT_EQ(0, iou_reap(&r, &cqe));
			seen |= 1 << cqe.user_data;
			/* the exit of a thread cancels requests of its workers: 1 and 3 */
			if (cqe.res != -ECANCELED || (cqe.user_data != 1 && cqe.user_data != 3))
				ASSERT_EQ(0, cqe.res);
		}
		ASSERT_EQ(0xff, seen);
		iou_exit(&r);
	}
}

/*
 * A polled device with two tags.  The victim's polled reads hold both tags, and its workers wait
 * for one.  Once the victim is killed, no task polls.
 */
#define SMALL_NULLB	"/sys/kernel/config/nullb/nullb8/"

static const char *small_disk(void)
{
	if (!access(SMALL_NULLB, F_OK))
		return "/dev/nullb8";
	mount("none", "/sys/kernel/config", "configfs", 0, NULL);
	if (mkdir(SMALL_NULLB, 0700))
		return "/dev/null/none";
	iou_put(SMALL_NULLB "size", "16");
	iou_put(SMALL_NULLB "blocksize", "4096");
	iou_put(SMALL_NULLB "submit_queues", "1");
	iou_put(SMALL_NULLB "poll_queues", "1");
	iou_put(SMALL_NULLB "hw_queue_depth", "2");
	iou_put(SMALL_NULLB "power", "1");
	iou_put("/sys/block/nullb8/queue/scheduler", "none");
	return "/dev/nullb8";
}

static void take_tags_and_wait(struct iou *r, int disk, int alive)
{
	char *buf = iou_map_anon(4 * IOU_PAGE);
	unsigned int i;

	for (i = 0; i < 4; i++)
		iou_prep(r, IORING_OP_READ, disk, buf + i * IOU_PAGE, IOU_PAGE,
			 i * IOU_PAGE)->flags = i < 2 ? 0 : IOSQE_ASYNC;
	if (iou_submit(r) != 4)
		_exit(99);
	/* wait until the workers wait for a tag */
	iou_sleep_ms(100);
	if (write(alive, "r", 1) != 1)
		_exit(98);
	for (;;)
		pause();
}

/*
 * A killed process exits although its workers wait for tags that its own polled reads hold.
 * Mutant: tags-not-reaped.  differences: exit-worker-tag
 */
TEST(killed_while_workers_wait_for_tags)
{
	unsigned int round, rounds = iou_rounds(4);
	int disk = open(small_disk(), O_RDWR | O_DIRECT);
	int pid, status, alive[2], ret;
	struct iou r;
	char c;

	if (disk < 0)
		SKIP(return, "needs null_blk with configfs");
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, pipe(alive));
		ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_IOPOLL));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			take_tags_and_wait(&r, disk, alive[1]);
		ASSERT_EQ(1, read(alive[0], &c, 1));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ret = gone(pid, &status);
		/* the victim waits for ever on 6.12, so poll the device in its place */
		while (ret && waitpid(pid, &status, WNOHANG) != pid)
			iou_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
		EXPECT_TRUE(!ret || iou_on_stock()) {
			TH_LOG("round %u: the process did not go", round);
		}
		EXPECT_TRUE(WIFSIGNALED(status));
		iou_exit(&r);
		close(alive[0]);
		close(alive[1]);
	}
	close(disk);
}

struct tag_taker {
	int disk, alive;
};

static void *wait_for_tag(void *arg)
{
	struct tag_taker *t = arg;
	struct iou r;

	if (iou_init(&r, 8, IORING_SETUP_IOPOLL))
		_exit(97);
	iou_prep(&r, IORING_OP_READ, t->disk, iou_map_anon(IOU_PAGE), IOU_PAGE, 0)->flags =
		IOSQE_ASYNC;
	if (iou_submit(&r) != 1)
		_exit(96);
	/* wait until the worker waits for a tag */
	iou_sleep_ms(100);
	if (write(t->alive, "r", 1) != 1)
		_exit(95);
	for (;;)
		pause();
	return NULL;
}

static void take_tags_for_another(struct tag_taker *t)
{
	char *buf = iou_map_anon(2 * IOU_PAGE);
	pthread_t waiter;
	unsigned int i;
	struct iou r;

	if (iou_init(&r, 8, IORING_SETUP_IOPOLL))
		_exit(99);
	for (i = 0; i < 2; i++)
		iou_prep(&r, IORING_OP_READ, t->disk, buf + i * IOU_PAGE, IOU_PAGE, i * IOU_PAGE);
	if (iou_submit(&r) != 2 || pthread_create(&waiter, NULL, wait_for_tag, t))
		_exit(98);
	for (;;)
		pause();
}

/*
 * Polled reads of one thread hold both tags, and another thread's worker waits for one.  After the
 * kill, another task polls for the reads.  Mutant: polled-left-alone.  differences: exit-worker-tag
 */
TEST(killed_while_a_worker_waits_for_tags_of_a_sibling)
{
	struct tag_taker t = { .disk = open(small_disk(), O_RDWR | O_DIRECT) };
	unsigned int round, rounds = iou_rounds(4);
	int pid, status, alive[2];
	char c;

	if (iou_on_stock())
		SKIP(return, "stock waits for ever");
	ASSERT_LE(0, t.disk);
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, pipe(alive));
		t.alive = alive[1];
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			take_tags_for_another(&t);
		ASSERT_EQ(1, read(alive[0], &c, 1));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(0, gone(pid, &status)) {
			TH_LOG("round %u: the process did not go", round);
		}
		EXPECT_TRUE(WIFSIGNALED(status));
		close(alive[0]);
		close(alive[1]);
	}
	close(t.disk);
}

/* After the close of a ring, its SQPOLL thread does not stay in the process. */
TEST_F(end, nothing_stays)
{
	struct victim v;
	unsigned int i;
	int pid = fork(), status;

	ASSERT_LE(0, pid);
	if (!pid) {
		if (victim_init(&v, variant->flags, self->seed))
			_exit(99);
		v.polls_itself = false;
		for (i = 0; i < 16; i++)
			victim_prep(&v);
		iou_submit_wait(&v.r, 0);
		/* when the SQPOLL thread has taken the SQEs, the requests are in flight */
		if (!iou_taken(&v.r, grace()))
			_exit(98);
		iou_exit(&v.r);
		/* idle workers may stay, the SQPOLL thread of a closed ring may not */
		for (i = 0; i < grace() && iou_threads(getpid(), "iou-sqp-"); i++)
			iou_sleep_ms(1);
		if (!iou_threads(getpid(), "iou-sqp-"))
			_exit(0);
		print_stacks(getpid());
		_exit(1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("seed %u", self->seed);
	}
}

/* Let @percent of the slab allocations fail in tasks with make-it-fail.  Return: true if set. */
static bool slab_fails(const char *percent)
{
#define FAILSLAB "/sys/kernel/debug/failslab/"
	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	return !iou_put(FAILSLAB "task-filter", "Y") && !iou_put(FAILSLAB "times", "-1") &&
	       !iou_put(FAILSLAB "verbose", "0") && !iou_put(FAILSLAB "ignore-gfp-wait", "N") &&
	       !iou_put(FAILSLAB "probability", percent);
}

/*
 * Use another task's ring for the first time, while allocations of this task fail.
 * Return: 1 if the result is -ENOMEM, 2 if the preparations fail, otherwise 0.
 */
static int use_other(struct iou *other)
{
	struct iou own;
	int ret;

	if (iou_init(&own, 4, 0) || iou_put("/proc/self/make-it-fail", "1"))
		return 2;
	ret = iou_sys_enter(other->fd, 1, 0, 0, NULL, 0);
	iou_put("/proc/self/make-it-fail", "0");
	return ret == -ENOMEM;
}

/* Return: true if the task exits (PF_EXITING, in the ninth word of its stat) or is a zombie. */
static bool is_exiting(pid_t pid)
{
	unsigned int flags = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return true;
	if (fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		flags = 0;
	fclose(f);
	return flags & 4;
}

static void write_for_ever(int fd)
{
	unsigned long long one = 1;

	while (write(fd, &one, sizeof(one)) == sizeof(one))
		;
	_exit(0);
}

/* Take all CQEs.  Return: how many of them have IORING_CQE_F_MORE. */
static unsigned int reap_polls(struct iou *r)
{
	unsigned int i, nr = iou_ready(r), more = 0;

	for (i = 0; i < nr; i++)
		more += !!(iou_cqe_at(r, i)->flags & IORING_CQE_F_MORE);
	iou_seen(r, nr);
	return more;
}

/* The exit of a task ends its polls, even if wakes go on.  Mutant: exit-goes-on-polling. */
TEST(exits_while_polls_are_woken)
{
	int i, status, fd = eventfd(0, EFD_NONBLOCK);
	pid_t writers[2], pid;
	struct iou r;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, iou_init_cq(&r, 256, 8192, 0));
	pid = fork();
	if (!pid) {
		for (i = 0; i < 200; i++)
			iou_prep(&r, IORING_OP_POLL_ADD, fd, NULL, IORING_POLL_ADD_MULTI,
				 0)->poll32_events = poll_word(POLLIN);
		iou_submit(&r);
		/* wait until many CQEs are posted */
		while (iou_ready(&r) < 1000)
			;
		_exit(0);
	}
	ASSERT_LT(0, pid);
	for (i = 0; i < 2; i++) {
		writers[i] = fork();
		if (!writers[i])
			write_for_ever(fd);
	}
	while (!is_exiting(pid))
		if (iou_ready(&r) > 4096)
			iou_seen(&r, 2048);
	reap_polls(&r);
	while (!waitpid(pid, &status, WNOHANG))
		EXPECT_EQ(0, reap_polls(&r));
	for (i = 0; i < 2; i++) {
		kill(writers[i], SIGKILL);
		waitpid(writers[i], NULL, 0);
	}
	iou_exit(&r);
	close(fd);
}

/*
 * If the first use of a ring fails for lack of memory, the task exits normally: the kernel reports
 * nothing.  Mutant: tctx-leaves-nodes.
 */
TEST(use_without_memory)
{
	unsigned int i, failed = 0;
	int pid, status;
	struct iou r;

	if (!slab_fails("0"))
		SKIP(return, "needs fault injection");
	ASSERT_EQ(0, iou_init(&r, 4, 0));
	ASSERT_TRUE(slab_fails("60"));
	for (i = 0; i < 100; i++) {
		pid = fork();
		if (!pid)
			_exit(use_other(&r));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2);
		failed += WEXITSTATUS(status);
	}
	slab_fails("0");
	EXPECT_LT(10, failed);
	iou_exit(&r);
}

TEST_HARNESS_MAIN
