// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: how a ring or a task ends while others hold on to something */
/*
 * A task may hold a ring's lock and sleep for as long as a user likes: in the fault of a
 * page that a program supplies.  Tasks that do not use the ring must not be delayed by
 * this, and tasks that use it can exit, exec and be killed.  The owner of a single-writer
 * ring may leave it in several ways; messages to such a ring are posted without the owner.
 */
#include <linux/keyctl.h>
#include <linux/loop.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "fault.h"
#include "msg.h"
#include "sock.h"

/* Limit for the time that the end of a task takes, in milliseconds */
static unsigned int grace(void)
{
	return iou_slow_kernel() ? 20000 : 2000;
}

/* Print the kernel stack of a task that should have ended; needs root. */
static void print_stack(int pid)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		printf("# %d %s", pid, line);
	if (f)
		fclose(f);
	fflush(stdout);
}

/* Wait for the end of a process, at most grace() ms.  Return: 0 and its *status, or -ETIME. */
static int gone(int pid, int *status)
{
	unsigned long long end = iou_now_us() + grace() * 1000ULL;

	while (waitpid(pid, status, WNOHANG) != pid) {
		if (iou_now_us() > end) {
			print_stack(pid);
			return -ETIME;
		}
		iou_sleep_ms(1);
	}
	return 0;
}

static int say(int fd)
{
	return write(fd, "x", 1) == 1 ? 0 : 1;
}

static int hear(int fd)
{
	char c;

	return read(fd, &c, 1) == 1 ? 0 : 1;
}

/* Wait for @events, or until the other end of a pipe is closed.  Return: the events of poll(). */
static short await(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	return poll(&pfd, 1, grace()) == 1 ? pfd.revents : 0;
}

/* Use a new ring, in a child that does not use the other rings. */
static int stranger(void)
{
	struct iou r;

	if (iou_init(&r, 8, 0))
		return 1;
	iou_nop(&r, 1);
	return iou_one(&r) ? 2 : 0;
}

/* A ring whose lock a thread of this process holds until the page is supplied. */
struct held {
	struct iou r;
	struct hole hole;
	pthread_t holder;
	bool holds;
};

static void *hold(void *arg)
{
	struct held *h = arg;

	iou_prep(&h->r, IORING_OP_TIMEOUT, -1, h->hole.mem, 1, 1)->user_data = 77;
	iou_submit(&h->r);
	return NULL;
}

static int held_begin(struct held *h)
{
	/* other tasks may have submitted */
	h->r.next = *h->r.sq_tail;
	h->r.sent = h->r.next;
	if (hole_open(&h->hole, 1) || pthread_create(&h->holder, NULL, hold, h))
		return -1;
	h->holds = true;
	return hole_faults(&h->hole, 1) == 1 ? 0 : -1;
}

static void held_end(struct held *h)
{
	if (!h->holds)
		return;
	hole_give(&h->hole, 0, 1);
	pthread_join(h->holder, NULL);
	h->holds = false;
}

FIXTURE(teardown) {
	struct held h;
	int to[2], from[2];	/* bytes to and from a child */
	int pipe[2];
};

FIXTURE_SETUP(teardown)
{
	struct hole probe;

	if (hole_open(&probe, 1))
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(0, iou_init(&self->h.r, 8, 0));
	ASSERT_EQ(0, pipe(self->to));
	ASSERT_EQ(0, pipe(self->from));
	ASSERT_EQ(0, pipe(self->pipe));
	signal(SIGPIPE, SIG_IGN);
}

FIXTURE_TEARDOWN(teardown)
{
	held_end(&self->h);
}

/* Fork a child that submits what @prep prepares, waits for a byte, and executes @then. */
#define CHILD_OF(self, prep, then) ({			\
	int __pid = fork();				\
							\
	if (!__pid) {					\
		prep;					\
		if (iou_submit(&(self)->h.r) < 0 || say((self)->from[1]) || \
		    hear((self)->to[0]))		\
			_exit(99);			\
		then;					\
		_exit(98);				\
	}						\
	__pid;						\
})

/*
 * A task that uses a ring can exit and exec while the ring's lock is held, and other
 * tasks are not affected.  differences: exit-ring-lock
 */
TEST_F(teardown, exit_while_the_lock_is_held)
{
	int i, pid, status;

	for (i = 0; i < 2; i++) {
		pid = CHILD_OF(self, iou_nop(&self->h.r, 1),
			       i ? execl("/bin/true", "true", NULL) : _exit(0));
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, hear(self->from[0]));
		ASSERT_EQ(0, held_begin(&self->h));
		ASSERT_EQ(0, say(self->to[1]));
		if (!iou_on_stock()) {
			ASSERT_EQ(0, gone(pid, &status));
			EXPECT_EQ(0, status);
		}
		pid = fork();
		if (!pid)
			_exit(stranger());
		ASSERT_EQ(0, gone(pid, &status)) {
			TH_LOG("who has nothing to do with it hangs");
		}
		EXPECT_EQ(0, status);
		held_end(&self->h);
		self->h.r.next = *self->h.r.sq_tail;
		self->h.r.sent = self->h.r.next;
	}
}

/*
 * A killed task does not wait long, even for a request that holds a ring's file.  An exit
 * would wait for such a request.  The request ends when the lock is free.
 * Mutants: exit-waits-for-ring-lock, exit-forgets-orphans.  differences: exit-ring-lock
 */
TEST_F(teardown, killed_while_the_lock_is_held)
{
	int pid, status;
	struct iou q;

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	ASSERT_EQ(0, iou_init(&q, 8, 0));
	ASSERT_EQ(0, iou_register(&q, IORING_REGISTER_FILES, &self->pipe[1], 1));
	close(self->pipe[1]);
	pid = CHILD_OF(self,
		       iou_prep(&self->h.r, IORING_OP_POLL_ADD, q.fd, NULL, 0,
				0)->poll32_events = poll_word(POLLIN),
		       pause());
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, hear(self->from[0]));
	iou_exit(&q);
	ASSERT_EQ(0, held_begin(&self->h));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(0, gone(pid, &status));
	held_end(&self->h);
	EXPECT_TRUE(await(self->pipe[0], POLLIN) & POLLHUP) {
		TH_LOG("a request that nobody ends holds a ring");
	}
}

/*
 * A worker ends a request with a linked timeout while the ring's lock is held for long.  The chain
 * goes on when the lock is free.  Its task work waits for the lock, so another thread ends the hold.
 * Mutant: chain-ends-with-worker.
 */
TEST_F(teardown, worker_ends_while_the_lock_is_held)
{
	struct __kernel_timespec ts = { .tv_sec = 100 };
	int zero = open("/dev/zero", O_RDONLY), nr;
	struct iou *r = &self->h.r;
	struct io_uring_cqe cqe;
	/* after longer than a worker tries to take the lock */
	struct hole_later later = { &self->h.hole, 1000 };
	struct hole dest;
	pthread_t giver;

	ASSERT_LE(0, zero);
	ASSERT_EQ(0, hole_open(&dest, 1));
	iou_prep(r, IORING_OP_READ, zero, dest.mem, 1, 0)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->flags = IOSQE_IO_LINK;
	iou_nop(r, 3);
	ASSERT_EQ(3, iou_submit(r));
	ASSERT_EQ(1, hole_faults(&dest, 1));
	ASSERT_EQ(0, held_begin(&self->h));
	ASSERT_EQ(0, pthread_create(&giver, NULL, hole_give_later, &later));
	ASSERT_EQ(0, hole_give(&dest, 0, 1));
	pthread_join(giver, NULL);
	held_end(&self->h);
	/* the timeout of the thread that held the lock has a CQE as well */
	for (nr = 0; nr < 4; nr++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		if (cqe.user_data == 3)
			EXPECT_EQ(0, cqe.res);
	}
	close(zero);
}

/* Wait until a thread of the process is in state D.  Return: true if that happens in time. */
static bool waits(int pid)
{
	unsigned long long end = iou_now_us() + grace() * 1000ULL;
	char path[300], state;
	struct dirent *entry;
	DIR *dir;
	FILE *f;

	while (iou_now_us() < end) {
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		dir = opendir(path);
		while (dir && (entry = readdir(dir))) {
			snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid, entry->d_name);
			f = fopen(path, "r");
			state = 0;
			if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
				state = 0;
			if (f)
				fclose(f);
			if (state != 'D')
				continue;
			closedir(dir);
			return true;
		}
		if (dir)
			closedir(dir);
		iou_sleep_ms(1);
	}
	return false;
}

static void waits_in_enter(struct iou *r)
{
	iou_sys_enter(r->fd, 1, 0, 0, NULL, 0);
}

static void waits_in_register(struct iou *r)
{
	iou_register(r, IORING_REGISTER_PERSONALITY, NULL, 0);
}

static void waits_in_clone(struct iou *r)
{
	struct io_uring_clone_buffers clone = { .src_fd = r->fd };
	struct iou other;

	if (!iou_init(&other, 8, 0))
		iou_register(&other, IORING_REGISTER_CLONE_BUFFERS, &clone, 1);
}

/*
 * The lock's holder is in another process, and may sleep for ever.  A task that waits for
 * the lock can be killed.  Mutant: ring-lock-not-killable.  differences: lock-killable
 */
TEST_F(teardown, killed_while_it_waits_for_the_lock)
{
	static void (*const wait[])(struct iou *r) = {
		waits_in_enter, waits_in_register, waits_in_clone,
	};
	int i, pid, status;

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	ASSERT_EQ(0, held_begin(&self->h));
	for (i = 0; i < (int)ARRAY_LEN(wait); i++) {
		pid = fork();
		if (!pid) {
			wait[i](&self->h.r);
			_exit(0);
		}
		ASSERT_TRUE(waits(pid));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(0, gone(pid, &status)) {
			TH_LOG("way %d", i);
		}
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

/*
 * Kill a process whose worker waits for the lock: the worker's request ends nevertheless.
 * differences: lock-killable
 */
TEST_F(teardown, killed_while_its_worker_waits_for_the_lock)
{
	char fifo[] = "/tmp/iou.fifo.XXXXXX";
	unsigned int i, ended = 0;
	struct io_uring_cqe cqe;
	int pid, status, fd;

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	ASSERT_NE(NULL, mkdtemp(fifo));
	ASSERT_EQ(0, rmdir(fifo));
	ASSERT_EQ(0, mkfifo(fifo, 0600));
	ASSERT_EQ(0, register_slots(&self->h.r, -1));
	/* the worker does not need the lock until another task opens the FIFO */
	pid = CHILD_OF(self, {
		struct io_uring_sqe *sqe = iou_prep(&self->h.r, IORING_OP_OPENAT, AT_FDCWD, fifo,
						    0, 0);

		sqe->open_flags = O_RDONLY;
		sqe->file_index = 1;
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = 5;
	}, pause());
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, hear(self->from[0]));
	ASSERT_EQ(0, held_begin(&self->h));
	do
		fd = open(fifo, O_WRONLY | O_NONBLOCK);
	while (fd < 0 && errno == ENXIO);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(waits(pid));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(0, gone(pid, &status));
	held_end(&self->h);
	for (i = 0; i < 2 && !iou_wait(&self->h.r, 1); i++) {
		ASSERT_EQ(0, iou_reap(&self->h.r, &cqe));
		if (cqe.user_data == 5) {
			EXPECT_EQ(-ECANCELED, cqe.res);
			ended++;
		}
	}
	EXPECT_EQ(1, ended);
	close(fd);
	unlink(fifo);
}

static void *register_hole(void *arg)
{
	struct held *h = arg;

	iou_register(&h->r, IORING_REGISTER_FILES, h->hole.mem, 1);
	return NULL;
}

/* Hold the lock of a ring that other tasks use, and write this task's pid to @fd. */
static void hold_for_ever(struct iou *r, int fd)
{
	struct held h = { .r = *r };
	int pid = getpid();

	if (hole_open(&h.hole, 1) || pthread_create(&h.holder, NULL, register_hole, &h) ||
	    hole_faults(&h.hole, 1) != 1 || write(fd, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	pause();
}

/*
 * An SQPOLL thread that waits for its ring's lock ends with its process.
 * differences: lock-killable
 */
TEST_F(teardown, killed_while_its_sqpoll_thread_waits_for_the_lock)
{
	int pid, status, holder;
	struct iou r;

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	pid = fork();
	if (!pid) {
		if (iou_init(&r, 8, IORING_SETUP_SQPOLL))
			_exit(99);
		if (!fork())
			hold_for_ever(&r, self->from[1]);
		hear(self->to[0]);
		iou_nop(&r, 1);
		iou_submit(&r);
		for (;;)
			pause();
	}
	ASSERT_EQ(sizeof(holder), read(self->from[0], &holder, sizeof(holder)));
	ASSERT_EQ(0, say(self->to[1]));
	EXPECT_TRUE(waits(pid));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(0, gone(pid, &status));
	kill(holder, SIGKILL);
}

/*
 * A task can be killed while it waits for an SQPOLL thread that is in a page fault.
 * Mutant: park-not-killable.  differences: lock-killable
 */
TEST_F(teardown, killed_while_it_waits_for_a_sqpoll_thread)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ };
	unsigned int limits[2] = { 4, 4 };
	struct hole hole;
	struct iou r, r2;
	int pid, status;

	if (iou_on_stock())
		SKIP(return, "stock waits for the thread");
	ASSERT_EQ(0, hole_open(&hole, 1));
	ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_SQPOLL));
	p.wq_fd = r.fd;
	ASSERT_EQ(0, iou_init_params(&r2, 8, &p));
	iou_prep(&r, IORING_OP_TIMEOUT, -1, hole.mem, 1, 1);
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_EQ(1, hole_faults(&hole, 1));
	pid = fork();
	if (!pid) {
		iou_register(&r2, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2);
		_exit(0);
	}
	ASSERT_TRUE(waits(pid));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(0, gone(pid, &status));
	ASSERT_EQ(0, hole_give(&hole, 0, 1));
	/* the thread still serves both rings */
	iou_nop(&r2, 1);
	EXPECT_EQ(0, iou_one(&r2));
	iou_exit(&r2);
	iou_exit(&r);
}

#define NR_BUSY	3

/* Threads that lock and unlock a ring all the time */
struct busy {
	pthread_t threads[NR_BUSY];
	struct iou *r;
	bool stop;
};

static void *lock_and_unlock(void *arg)
{
	struct busy *b = arg;
	char probe[sizeof(struct io_uring_probe)];

	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		memset(probe, 0, sizeof(probe));
		iou_register(b->r, IORING_REGISTER_PROBE, probe, 0);
	}
	return NULL;
}

static int busy_begin(struct busy *b, struct iou *r)
{
	int i, ret = 0;

	*b = (struct busy){ .r = r };
	for (i = 0; i < NR_BUSY; i++)
		ret |= pthread_create(&b->threads[i], NULL, lock_and_unlock, b);
	return ret;
}

static void busy_end(struct busy *b)
{
	int i;

	__atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < NR_BUSY; i++)
		pthread_join(b->threads[i], NULL);
}

/*
 * A task that unregisters buffers drops the lock while it waits for requests.  If it is
 * killed and cannot take the lock again, the buffers stay registered: other tasks can
 * use them soon, however busy they keep the ring.
 * Mutants: buffers-forsaken, fallback-starves.  differences: lock-killable
 */
TEST_F(teardown, killed_while_it_unregisters_buffers)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	struct iou *r = &self->h.r;
	struct busy busy;
	int pid, status, res, zero;
	struct io_uring_cqe cqe;
	struct iovec iov;

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	zero = open("/dev/zero", O_RDONLY);
	iov = (struct iovec){ iou_map_anon(IOU_PAGE), IOU_PAGE };
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1));
	iou_prep(r, IORING_OP_READ_FIXED, self->pipe[0], iov.iov_base, 8, 0)->user_data = 9;
	ASSERT_EQ(1, iou_submit(r));
	pid = fork();
	if (!pid) {
		iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0);
		_exit(0);
	}
	do {
		iou_prep(r, IORING_OP_READ_FIXED, zero, iov.iov_base, 8, 0);
		res = iou_one(r);
	} while (res == 8 && iou_now_us() < end);
	ASSERT_EQ(-EFAULT, res);
	ASSERT_EQ(0, held_begin(&self->h));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(0, gone(pid, &status));
	held_end(&self->h);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(77, cqe.user_data);
	r->next = *r->sq_tail;
	r->sent = r->next;
	ASSERT_EQ(0, busy_begin(&busy, r));
	end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	do {
		iou_prep(r, IORING_OP_READ_FIXED, zero, iov.iov_base, 8, 0);
		res = iou_one(r);
	} while (res == -EFAULT && iou_now_us() < end);
	busy_end(&busy);
	EXPECT_EQ(8, res);
	ASSERT_EQ(8, write(self->pipe[1], "12345678", 8));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(9, cqe.user_data);
	EXPECT_EQ(8, cqe.res);
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
}

/* Exec with task work queued for a ring of its own, whose lock a worker holds. */
static void exec_with_mail(int from)
{
	struct iou r, sender;
	struct hole hole;

	if (hole_open(&hole, 1) || iou_init(&r, 8, IOU_DEFER) || register_slots(&r, -1) ||
	    iou_init(&sender, 8, 0))
		_exit(99);
	iou_prep(&r, IORING_OP_FILES_UPDATE, -1, hole.mem, 1, 0)->flags = IOSQE_ASYNC;
	if (iou_submit(&r) != 1 || hole_faults(&hole, 1) != 1 ||
	    send_data(&sender, r.fd, 40, 4) || say(from))
		_exit(98);
	execl("/bin/true", "true", NULL);
	_exit(97);
}

/*
 * An exec has to run task work of its own ring, but a worker holds the lock: the exec sleeps for
 * 4 to 8 ms between attempts.  Sleeps are counted, as CPU time depends on an emulator's host.
 * Mutant: exec-spins.  differences: exit-ring-lock
 */
TEST_F(teardown, exec_sleeps_while_the_lock_is_held)
{
	long sleeps;
	int pid, status;

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	pid = fork();
	if (!pid)
		exec_with_mail(self->from[1]);
	ASSERT_EQ(0, hear(self->from[0]));
	iou_sleep_ms(200);
	sleeps = iou_status(pid, "voluntary_ctxt_switches");
	ASSERT_LE(0, sleeps);
	iou_sleep_ms(2000);
	ASSERT_EQ(0, waitpid(pid, &status, WNOHANG));
	sleeps = iou_status(pid, "voluntary_ctxt_switches") - sleeps;
	EXPECT_LT(20, sleeps);
	EXPECT_GT(1000, sleeps);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(0, gone(pid, &status));
}

/*
 * An exec waits for all requests of its task, but can be killed while it waits.
 * differences: exit-ring-lock
 */
TEST_F(teardown, exec_killed_while_the_lock_is_held)
{
	int pid, status;
	char buf[8];

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	pid = CHILD_OF(self, iou_prep(&self->h.r, IORING_OP_READ, self->pipe[0], buf, 8, 0),
		       execl("/bin/true", "true", NULL));
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, hear(self->from[0]));
	ASSERT_EQ(0, held_begin(&self->h));
	ASSERT_EQ(0, say(self->to[1]));
	ASSERT_TRUE(iou_sleeps_in(pid, SYS_execve));
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(0, gone(pid, &status));
	EXPECT_TRUE(WIFSIGNALED(status));
}

/* Fork a child that gives its parent a new keyring every 5 ms, which queues task work. */
static void nag_parent(void)
{
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
		if (syscall(SYS_keyctl, KEYCTL_SESSION_TO_PARENT))
			_exit(0);
		iou_sleep_ms(5);
	}
}

/*
 * Other tasks keep queuing task work to the exec, as the scheduler does on a busy machine.
 * The exec does not count this task work as progress of its requests, so a kill ends it.
 * Mutant: any-task-work-is-progress.  differences: exit-ring-lock
 */
TEST_F(teardown, exec_killed_while_it_has_task_work)
{
	int pid, status;
	char buf[8];

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	pid = CHILD_OF(self, iou_prep(&self->h.r, IORING_OP_READ, self->pipe[0], buf, 8, 0);
		       nag_parent(), execl("/bin/true", "true", NULL));
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, hear(self->from[0]));
	ASSERT_EQ(0, held_begin(&self->h));
	ASSERT_EQ(0, say(self->to[1]));
	ASSERT_TRUE(iou_sleeps_in(pid, SYS_execve));
	/* let the child queue task work for a while */
	iou_sleep_ms(500);
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(0, gone(pid, &status));
	EXPECT_TRUE(WIFSIGNALED(status));
}

/* Submit the same batch of reads without a pause, until *stop is set. */
static void submit_batches(struct iou *r, int file, volatile bool *stop)
{
	unsigned int i, nr = r->p.sq_entries;
	static char byte;

	r->next = *r->sq_tail;
	r->sent = r->next;
	for (i = 0; i < nr; i++)
		iou_prep(r, IORING_OP_READ, file, &byte, 1, 0);
	iou_submit(r);
	while (!*stop) {
		store_rel(r->cq_head, load_acq(r->cq_tail));
		store_rel(r->sq_tail, *r->sq_head + nr);
		iou_sys_enter(r->fd, nr, 0, 0, NULL, 0);
	}
}

struct submitter {
	struct iou r;
	int file;
	volatile bool stop;
};

static void *submitting(void *arg)
{
	struct submitter *b = arg;

	submit_batches(&b->r, b->file, &b->stop);
	return NULL;
}

/* Leave a poll behind in a thread that ends, while another thread keeps the ring busy. */
static void *leave_poll(void *arg)
{
	struct submitter *b = arg;
	pthread_t thread;

	iou_prep(&b->r, IORING_OP_POLL_ADD, b->r.fd, NULL, 0, 0)->poll32_events =
		poll_word(POLLERR);
	if (iou_submit(&b->r) != 1 || pthread_create(&thread, NULL, submitting, b))
		return (void *)1;
	iou_sleep_ms(100);
	return NULL;
}

static unsigned int leave_limit(void)
{
	return iou_slow_kernel() ? 8000 : 2000;
}

/*
 * A task executes a program while another task submits to the same ring without a
 * pause.  The exec gets the lock to end its requests soon.  Mutant: exit-starves.
 */
TEST(exec_beside_a_busy_task)
{
	struct submitter b = { .file = memfd_create("iou", 0) };
	int pid, other, status, to[2], from[2];
	unsigned long long start;

	ASSERT_EQ(1, write(b.file, "x", 1));
	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(from));
	ASSERT_EQ(0, iou_init_cq(&b.r, 1024, 2048, IOU_COOP));
	pid = fork();
	if (!pid) {
		struct __kernel_timespec ts = { .tv_sec = 1000 };

		iou_prep(&b.r, IORING_OP_TIMEOUT, -1, &ts, 1, 0);
		if (iou_submit(&b.r) == 1 && !say(from[1]) && !hear(to[0]))
			execl("/bin/true", "true", NULL);
		_exit(1);
	}
	ASSERT_EQ(0, hear(from[0]));
	other = fork();
	if (!other) {
		submit_batches(&b.r, b.file, &b.stop);
		_exit(1);
	}
	iou_sleep_ms(200);
	start = iou_now_us();
	ASSERT_EQ(0, say(to[1]));
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_GT(leave_limit(), (iou_now_us() - start) / 1000) {
		TH_LOG("%llu ms", (iou_now_us() - start) / 1000);
	}
	kill(other, SIGKILL);
	waitpid(other, &status, 0);
	iou_exit(&b.r);
}

/* A thread exits while another thread keeps the same ring busy, and its exit ends soon. */
TEST(thread_ends_beside_a_busy_one)
{
	struct submitter b = { .file = memfd_create("iou", 0) };
	unsigned long long start;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(1, write(b.file, "x", 1));
	ASSERT_EQ(0, iou_init_cq(&b.r, 1024, 2048, IORING_SETUP_SUBMIT_ALL));
	start = iou_now_us();
	ASSERT_EQ(0, pthread_create(&thread, NULL, leave_poll, &b));
	pthread_join(thread, &ret);
	EXPECT_EQ(NULL, ret);
	EXPECT_GT(leave_limit() + 100, (iou_now_us() - start) / 1000) {
		TH_LOG("%llu ms", (iou_now_us() - start) / 1000);
	}
	b.stop = true;
	/* the busy thread ends with the process */
}

#define EVENTS	60

/*
 * A killed task cannot end its request on a ring whose lock is held.  Its own ring has an
 * event ten times a second, which must not prolong the exit.  Mutant: kill-waits-anew.
 * differences: exit-ring-lock
 */
TEST_F(teardown, killed_while_mail_comes)
{
	int pid, status, event[EVENTS], i, left = EVENTS;
	unsigned long long start;

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	for (i = 0; i < EVENTS; i++)
		event[i] = eventfd(0, 0);
	pid = fork();
	if (!pid) {
		struct iou x;

		if (iou_init(&x, 64, IOU_DEFER))
			_exit(1);
		for (i = 0; i < EVENTS; i++)
			iou_prep(&x, IORING_OP_POLL_ADD, event[i], NULL, 0, 0)->poll32_events =
				poll_word(POLLIN);
		/* a request that holds the file of a ring has to end with its task */
		iou_prep(&self->h.r, IORING_OP_POLL_ADD, x.fd, NULL, 0, 0)->poll32_events =
			poll_word(POLLERR);
		if (iou_submit(&x) != EVENTS || iou_submit(&self->h.r) != 1 ||
		    say(self->from[1]))
			_exit(2);
		for (;;)
			iou_wait_ms(&x, EVENTS, 1000);
	}
	ASSERT_EQ(0, hear(self->from[0]));
	ASSERT_EQ(0, held_begin(&self->h));
	kill(pid, SIGKILL);
	start = iou_now_us();
	while (!waitpid(pid, &status, WNOHANG) && left) {
		if ((iou_now_us() - start) / 100000 > EVENTS - left)
			eventfd_write(event[--left], 1);
		iou_sleep_ms(5);
	}
	/* the events continue for six seconds */
	EXPECT_GT(iou_slow_kernel() ? 5000 : 3000, (iou_now_us() - start) / 1000) {
		TH_LOG("%llu ms", (iou_now_us() - start) / 1000);
	}
	for (i = 0; i < EVENTS; i++)
		close(event[i]);
}

/* Leave a listener with an ACCEPT, and a locked file without a request, in slots of a ring. */
static void serve_from_slots(unsigned int flags, struct sockaddr_in *at, int file, int ready)
{
	int fds[2] = { sock_listener(at, 4), file };
	struct io_uring_sqe *sqe;
	struct iou r;

	if (fds[0] < 0 || iou_init(&r, 8, flags) || flock(file, LOCK_EX) ||
	    iou_register(&r, IORING_REGISTER_FILES, fds, 2))
		_exit(1);
	close(fds[0]);
	close(file);
	sqe = iou_prep(&r, IORING_OP_ACCEPT, 0, NULL, 0, 0);
	sqe->flags = IOSQE_FIXED_FILE;
	sqe->ioprio = IORING_ACCEPT_MULTISHOT;
	iou_submit(&r);
	if (write(ready, at, sizeof(*at)) == sizeof(*at))
		pause();
	_exit(2);
}

/*
 * Files in slots of a killed process's ring are closed before wait(2) returns.
 * Mutant: slots-go-late.  differences: close-files-end
 */
TEST(slots_end_with_the_process)
{
	static const unsigned int kinds[] = { 0, IOU_COOP, IOU_DEFER, IORING_SETUP_SQPOLL };
	int pid, status, p[2], file, again, fd;
	struct sockaddr_in at;
	unsigned int i;

	if (iou_on_stock())
		SKIP(return, "it takes up to a second there");
	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		char path[] = "/tmp/iou-XXXXXX";

		at = sock_loopback(0);
		file = mkstemp(path);
		ASSERT_LE(0, file);
		again = open(path, O_RDWR);
		ASSERT_LE(0, again);
		ASSERT_EQ(0, pipe(p));
		pid = fork();
		if (!pid) {
			close(again);
			serve_from_slots(kinds[i], &at, file, p[1]);
		}
		close(file);
		close(p[1]);
		ASSERT_EQ(sizeof(at), read(p[0], &at, sizeof(at)));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		EXPECT_EQ(0, bind(fd, (void *)&at, sizeof(at))) {
			TH_LOG("kind %u: port: %s", i, strerror(errno));
		}
		EXPECT_EQ(0, flock(again, LOCK_EX | LOCK_NB)) {
			TH_LOG("kind %u: lock: %s", i, strerror(errno));
		}
		close(fd);
		close(again);
		close(p[0]);
		unlink(path);
	}
}

/* Return: number of kworkers with an io_uring function on their stacks; needs root. */
static unsigned int stuck_kworkers(void)
{
	char path[320], line[256];
	struct dirent *entry;
	unsigned int nr = 0;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir))) {
		bool kworker;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "r");
		kworker = f && fgets(line, sizeof(line), f) && !strncmp(line, "kworker/", 8);
		if (f)
			fclose(f);
		if (!kworker)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stack", entry->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			if (!strstr(line, "] io_"))
				continue;
			printf("# %s %s", entry->d_name, line);
			nr++;
			break;
		}
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return nr;
}

/*
 * A dead task's request has its event while the lock is held.  The fallback worker does
 * not wait for the lock, and ends the request later.
 * Mutant: fallback-waits-for-lock.  differences: dead-task-lock
 */
TEST_F(teardown, event_for_a_dead_task)
{
	struct io_uring_cqe cqe;
	unsigned int i, got = 0;
	int pid, status;
	char buf[8];

	pid = CHILD_OF(self, iou_prep(&self->h.r, IORING_OP_READ, self->pipe[0], buf, 8,
				      0)->user_data = 5, _exit(0));
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, hear(self->from[0]));
	ASSERT_EQ(0, say(self->to[1]));
	ASSERT_EQ(0, gone(pid, &status));
	ASSERT_EQ(0, held_begin(&self->h));
	ASSERT_EQ(8, write(self->pipe[1], "12345678", 8));
	/* give a worker time to block */
	iou_sleep_ms(200);
	if (!iou_on_stock())
		EXPECT_EQ(0, stuck_kworkers());
	held_end(&self->h);
	for (i = 0; i < 2 && !got; i++) {
		ASSERT_EQ(0, iou_reap(&self->h.r, &cqe));
		got = cqe.user_data == 5;
	}
	EXPECT_EQ(1, got);
	EXPECT_EQ(-ECANCELED, cqe.res);
}

/* Close a ring with a registered file.  Return: POLLHUP if the ring has released the file. */
static short ring_goes(void)
{
	short events;
	struct iou r;
	int p[2];

	if (pipe(p) || iou_init(&r, 8, 0) ||
	    iou_register(&r, IORING_REGISTER_FILES, &p[1], 1))
		return 0;
	close(p[1]);
	iou_exit(&r);
	events = await(p[0], POLLIN);
	close(p[0]);
	return events;
}

#define STOPPED	70

/*
 * Close rings whose requests belong to stopped tasks: each ring waits for its task, and
 * delays no other ring.  Mutant: exit-worker-waits.  differences: stopped-tasks
 */
TEST(stopped_tasks)
{
	int pids[STOPPED], p[2], i, status;
	struct iou r;
	char buf[8];

	for (i = 0; i < STOPPED; i++) {
		ASSERT_EQ(0, pipe(p));
		ASSERT_EQ(0, iou_init(&r, 8, 0));
		pids[i] = fork();
		if (!pids[i]) {
			iou_prep(&r, IORING_OP_READ, p[0], buf, 8, 0);
			if (iou_submit(&r) != 1)
				_exit(99);
			iou_exit(&r);
			raise(SIGSTOP);
			for (;;)
				pause();
		}
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, WUNTRACED));
		ASSERT_TRUE(WIFSTOPPED(status));
		iou_exit(&r);
		close(p[0]);
		close(p[1]);
	}
	/* give the exit of the rings time to block */
	iou_sleep_ms(500);
	EXPECT_TRUE(iou_on_stock() || ring_goes() & POLLHUP) {
		TH_LOG("%d stopped tasks keep another ring", STOPPED);
	}
	for (i = 0; i < STOPPED; i++) {
		kill(pids[i], SIGKILL);
		EXPECT_EQ(pids[i], waitpid(pids[i], &status, 0));
	}
	EXPECT_TRUE(ring_goes() & POLLHUP);
}

/*
 * Let a kernel worker put the last reference to the file @fd: the worker ends a poll of it
 * after the poll's ring was closed.  Before the close, only the ring's owner could end the poll.
 */
static int put_by_worker(int fd)
{
	struct iou r;

	if (iou_init(&r, 8, IOU_DEFER))
		return -1;
	iou_prep(&r, IORING_OP_POLL_ADD, fd, NULL, 0, 0)->poll32_events = poll_word(POLLPRI);
	if (iou_submit(&r) != 1)
		return -1;
	close(fd);
	iou_exit(&r);
	return 0;
}

/*
 * A kernel worker puts the last reference to a ring whose thread waits in a page fault with
 * the ring's locks.  Other files that are put in the same way must be closed nevertheless.
 * Mutant: release-takes-lock.  differences: release-no-lock
 */
TEST(last_put_by_a_worker)
{
	struct hole hole;
	struct iou r;
	int p[2], fd;

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	if (hole_open(&hole, 1))
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_SQPOLL));
	iou_prep(&r, IORING_OP_TIMEOUT, -1, hole.mem, 1, 1);
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_EQ(1, hole_faults(&hole, 1));
	fd = dup(r.fd);
	iou_exit(&r);
	ASSERT_EQ(0, put_by_worker(fd));
	/* give the worker time to block */
	iou_sleep_ms(300);

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, put_by_worker(p[1]));
	EXPECT_TRUE(await(p[0], POLLIN) & POLLHUP) {
		TH_LOG("a file is not closed because of somebody's ring");
	}
	EXPECT_EQ(0, stuck_kworkers());
	EXPECT_TRUE(ring_goes() & POLLHUP);
	ASSERT_EQ(0, hole_give(&hole, 0, 1));
	EXPECT_TRUE(ring_goes() & POLLHUP);
}

/* A frozen filesystem: the last put of an unnamed file waits until the filesystem thaws. */
struct frozen {
	char dir[32];
	int loop, root;
};

static int frozen_mount(struct frozen *f)
{
	int image = memfd_create("iou", 0), ctl = open("/dev/loop-control", O_RDWR), nr;
	char cmd[96];

	snprintf(f->dir, sizeof(f->dir), "/tmp/iou-XXXXXX");
	snprintf(cmd, sizeof(cmd), "mkfs.ext4 -q -F /proc/%d/fd/%d", getpid(), image);
	if (ctl < 0 || ftruncate(image, 64 << 20) || system(cmd) || !mkdtemp(f->dir))
		return -1;
	nr = ioctl(ctl, LOOP_CTL_GET_FREE);
	close(ctl);
	snprintf(cmd, sizeof(cmd), "/dev/loop%d", nr);
	f->loop = open(cmd, O_RDWR);
	if (f->loop < 0 || ioctl(f->loop, LOOP_SET_FD, image) ||
	    mount(cmd, f->dir, "ext4", 0, NULL) || chmod(f->dir, 01777))
		return -1;
	close(image);
	f->root = open(f->dir, O_RDONLY | O_DIRECTORY);
	return f->root < 0 ? -1 : 0;
}

static void frozen_free(struct frozen *f)
{
	ioctl(f->root, FITHAW, 0);
	close(f->root);
	umount2(f->dir, MNT_DETACH);
	ioctl(f->loop, LOOP_CLR_FD);
	close(f->loop);
	rmdir(f->dir);
}

/* Free @f, and kill the task @pid that has left files there, if there is such a task. */
static void frozen_end(struct frozen *f, int pid)
{
	frozen_free(f);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* more works than a workqueue runs at a time */
#define SLOW_ENDS	600

/* Leave @nr files, whose last put blocks, to kernel workers, each in a slot of its own ring. */
static int leave_slow_ends(const char *dir, int nr, int ready, int go)
{
	static int file[SLOW_ENDS];
	struct iou r;
	int i;

	for (i = 0; i < nr; i++) {
		file[i] = open(dir, O_TMPFILE | O_RDWR, 0600);
		if (file[i] < 0)
			return -1;
	}
	if (say(ready) || hear(go))
		return -1;
	for (i = 0; i < nr; i++) {
		if (iou_init(&r, 8, 0) || iou_register(&r, IORING_REGISTER_FILES, &file[i], 1))
			return -1;
		close(file[i]);
		iou_exit(&r);
	}
	/* give workers time to block */
	iou_sleep_ms(300);
	return say(ready);
}

/* Fork a task of another user that calls leave_slow_ends() for @nr files.  Return: pid, or -1. */
static int slow_user(struct frozen *f, int nr)
{
	int ready[2], go[2], pid;
	struct rlimit many = { 2 * SLOW_ENDS, 2 * SLOW_ENDS };

	if (pipe(ready) || pipe(go))
		return -1;
	pid = fork();
	if (!pid) {
		if (setrlimit(RLIMIT_NOFILE, &many) || setgid(65534) || setuid(65534) ||
		    leave_slow_ends(f->dir, nr, ready[1], go[0]))
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (hear(ready[0]) || ioctl(f->root, FIFREEZE, 0) || say(go[1]) || hear(ready[0]))
		pid = -1;
	close(ready[0]);
	close(go[0]);
	close(go[1]);
	return pid;
}

/*
 * If kernel workers put files, a put that blocks delays only files of the same user.
 * Mutants: workers-put-files, late-puts-in-one-row,
 * late-puts-side-by-side, late-puts-but-one.  differences: late-files-users
 */
TEST(files_of_others_end)
{
	int p[2], slots[8], slot, pid, i;
	struct frozen f;
	struct iou r;

	if (iou_on_stock())
		SKIP(return, "stock has one queue for all");
	if (frozen_mount(&f))
		SKIP(return, "needs a filesystem on a loop device");
	pid = slow_user(&f, SLOW_ENDS);
	EXPECT_LT(0, pid);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pipe(p));
		if (i) {
			ASSERT_EQ(0, iou_init(&r, 8, 0));
			for (slot = 0; slot < 8; slot++)
				slots[slot] = p[1];
			ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_FILES, slots, 8));
			close(p[1]);
			iou_exit(&r);
		} else {
			ASSERT_EQ(0, put_by_worker(p[1]));
		}
		EXPECT_TRUE(await(p[0], POLLIN) & POLLHUP) {
			TH_LOG("a file %s is not closed", i ? "of a slot" : "of a request");
		}
		close(p[0]);
	}
	frozen_end(&f, pid);
}

/* In another container, the same user closes a ring with a poll of @fd, a pipe's last write end. */
static int put_in_container(int fd)
{
	int pid = fork(), inner, status;

	if (!pid) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		inner = fork();
		if (!inner)
			_exit(setgid(65534) || setuid(65534) || put_by_worker(fd));
		waitpid(inner, &status, 0);
		_exit(status != 0);
	}
	close(fd);
	return waitpid(pid, &status, 0) == pid && !status ? 0 : -1;
}

/*
 * A user id in two containers counts as two users.  The files of one user are put one
 * after the other, so a few that block would delay those of the other user.
 * Mutant: containers-are-one.  differences: late-files-users
 */
TEST(files_of_containers_end)
{
	struct frozen f;
	int p[2], pid;

	if (iou_on_stock())
		SKIP(return, "stock has one queue for all");
	if (frozen_mount(&f))
		SKIP(return, "needs a filesystem on a loop device");
	pid = slow_user(&f, 8);
	EXPECT_LT(0, pid);
	EXPECT_EQ(0, pipe(p));
	EXPECT_EQ(0, put_in_container(p[1]));
	EXPECT_TRUE(await(p[0], POLLIN) & POLLHUP);
	close(p[0]);
	frozen_end(&f, pid);
}

/*
 * Leave a chroot, as root may: no user namespace can be made in one.  The directory of the process
 * lies outside the new root, so each step up leads on.
 */
static int leave_chroot(void)
{
	int i;

	if (chdir("/") || chroot("/tmp"))
		return -1;
	for (i = 0; i < 16; i++)
		if (chdir(".."))
			return -1;
	return chroot(".");
}

/* Map two users of the user namespace that @pid has made, 0 and 1. */
static int map_users(int pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (iou_put(path, "0 100001 2"))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	return iou_put(path, "0 100001 2");
}

/*
 * Fork a task of a user namespace that another user has made.  As the namespace's user 0, the task
 * does what slow_user() does.  As user 1, it closes a ring with a poll of @fd.  Return: pid, or -1.
 */
static int slow_container(struct frozen *f, int fd)
{
	int ready[2], go[2], pid;

	if (pipe(ready) || pipe(go))
		return -1;
	pid = fork();
	if (!pid) {
		if (leave_chroot() || fchdir(f->root) || setgid(65534) || setuid(65534) ||
		    unshare(CLONE_NEWUSER) || say(ready[1]) ||
		    hear(go[0]) || setgid(0) || setuid(0) ||
		    leave_slow_ends(".", 8, ready[1], go[0]) ||
		    setgid(1) || setuid(1) || put_by_worker(fd) || say(ready[1]))
			_exit(1);
		for (;;)
			pause();
	}
	close(fd);
	close(ready[1]);
	if (hear(ready[0]) || map_users(pid) || say(go[1]) || hear(ready[0]) ||
	    ioctl(f->root, FIFREEZE, 0) || say(go[1]) || hear(ready[0]) || hear(ready[0]))
		pid = -1;
	close(ready[0]);
	close(go[0]);
	close(go[1]);
	return pid;
}

/*
 * All users of a user namespace count as the user who has made it.  Otherwise, a program would get
 * a further worker for each user that it maps.  Mutant: namespaces-have-users.
 * differences: late-files-users
 */
TEST(users_of_a_namespace_wait)
{
	struct pollfd pfd = { };
	struct frozen f;
	int p[2], pid;

	if (iou_on_stock())
		SKIP(return, "stock has one queue for all");
	if (frozen_mount(&f))
		SKIP(return, "needs a filesystem on a loop device");
	EXPECT_EQ(0, pipe(p));
	pid = slow_container(&f, p[1]);
	EXPECT_LT(0, pid);
	pfd.fd = p[0];
	EXPECT_EQ(0, poll(&pfd, 1, 300));
	ioctl(f.root, FITHAW, 0);
	EXPECT_TRUE(await(p[0], POLLIN) & POLLHUP);
	close(p[0]);
	frozen_end(&f, pid);
}

/*
 * A kernel worker does not linger when it puts a socket with SO_LINGER: unread data of
 * one socket does not delay the end of the next socket.  Mutant: late-puts-linger.
 * differences: late-files-linger, late-files-users
 */
TEST(lingering_ends_behind_the_ring)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
	char buf[4096] = {};
	int fds[2][2], i;

	if (iou_on_stock())
		SKIP(return, "all files end in one row there");
	/* the first socket would delay the second one */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, sock_tcp_pair_of(fds[i], 4096));
		ASSERT_EQ(0, setsockopt(fds[i][0], SOL_SOCKET, SO_LINGER, &linger,
					sizeof(linger)));
		while (!i && send(fds[0][0], buf, sizeof(buf), MSG_DONTWAIT) > 0)
			;
		ASSERT_EQ(0, put_by_worker(fds[i][0]));
	}
	EXPECT_TRUE(await(fds[1][1], POLLRDHUP) & POLLRDHUP);
	close(fds[0][1]);
	close(fds[1][1]);
}

#define LONG_TEXT	32768

struct reader {
	int fd;
	bool ended;
};

static void *read_text(void *arg)
{
	struct reader *reader = arg;
	static char text[IOU_PAGE];

	/* after the close of the ring the read may fail */
	if (read(reader->fd, text, sizeof(text)) < 0)
		text[0] = 0;
	store_rel(&reader->ended, true);
	return NULL;
}

/* Return: the CPU time of a thread in microseconds, or -1. */
static long work_of(pthread_t thread)
{
	struct timespec ts;
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &ts))
		return -1;
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/*
 * Close the last descriptor of a ring while another task reads its long fdinfo.  The
 * ring's thread waits in a page fault with the locks.  The reader continues.
 * Mutant: release-takes-lock.  differences: release-no-lock
 */
TEST(last_put_by_a_reader)
{
	struct reader reader = { };
	struct timespec end;
	struct hole hole;
	pthread_t thread;
	char path[64];
	struct iou r;

	if (iou_on_stock())
		SKIP(return, "stock waits for the lock");
	if (hole_open(&hole, 1))
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(0, iou_init_cq(&r, 8, LONG_TEXT, IORING_SETUP_SQPOLL));
	iou_prep(&r, IORING_OP_TIMEOUT, -1, hole.mem, 1, 1);
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_EQ(1, hole_faults(&hole, 1));
	/* to print this many unread CQEs takes far longer than 5 ms */
	*r.cq_head = *r.cq_tail - LONG_TEXT;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r.fd);
	reader.fd = open(path, O_RDONLY);
	ASSERT_LE(0, reader.fd);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_text, &reader));
	while (work_of(thread) < 5000 && !load_acq(&reader.ended))
		usleep(100);
	iou_exit(&r);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += grace() / 1000;
	EXPECT_EQ(0, pthread_timedjoin_np(thread, NULL, &end)) {
		TH_LOG("who reads about a ring hangs");
	}
	EXPECT_TRUE(ring_goes() & POLLHUP);
	ASSERT_EQ(0, hole_give(&hole, 0, 1));
	EXPECT_TRUE(ring_goes() & POLLHUP);
	close(reader.fd);
}

/*
 * A worker frees the last request of a closed ring, which has a registered file.  The
 * worker is the last task to access the ring.  Mutant: retire-without-reference.
 */
TEST(worker_is_the_last)
{
	int fds[2], p[2], file;
	struct hole hole;
	struct iou r;

	if (hole_open(&hole, 1))
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(0, pipe(p));
	file = memfd_create("file", 0);
	ASSERT_EQ(0, ftruncate(file, IOU_PAGE));
	ASSERT_EQ(0, iou_init(&r, 8, 0));
	fds[0] = file;
	fds[1] = p[1];
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_FILES, fds, 2));
	iou_prep(&r, IORING_OP_READ, 0, hole.mem, 8, 0)->flags = IOSQE_ASYNC | IOSQE_FIXED_FILE;
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_EQ(1, hole_faults(&hole, 1));
	close(file);
	close(p[1]);
	iou_exit(&r);
	/* give the ring time to look for its requests */
	iou_sleep_ms(100);
	ASSERT_EQ(0, hole_give(&hole, 0, 1));
	EXPECT_TRUE(await(p[0], POLLIN) & POLLHUP);
}

/* A ring that is closed while its submitter holds the lock in a page fault */
FIXTURE(closed) {
	struct iou r;
	struct hole hole;
	char *bufs;
	int slow[2];		/* a pipe whose reader waits in the fault */
	int fds[2];		/* data goes from the first to the second */
	int listener;
	struct sockaddr_in addr;
};

FIXTURE_VARIANT(closed) {
	unsigned int flags;
};

IOU_KIND(closed, plain, 0);
IOU_KIND(closed, coop, IOU_COOP);
IOU_KIND(closed, sqpoll, IORING_SETUP_SQPOLL);
IOU_KIND(closed, cqe32, IORING_SETUP_CQE32);

FIXTURE_SETUP(closed)
{
	self->bufs = iou_map_anon(IOU_PAGE);
	ASSERT_NE(NULL, self->bufs);
}

FIXTURE_TEARDOWN(closed)
{
	munmap(self->bufs, IOU_PAGE);
}

enum { OF_PIPE, OF_UDP, OF_TCP, OF_LISTENER };

static const struct taker {
	int op, from;
	unsigned int how;
	bool picks;
	bool linked;		/* linked to the request that waits in the fault */
} takers[] = {
	{ IORING_OP_READ, OF_PIPE },
	{ IORING_OP_READ_MULTISHOT, OF_PIPE, 0, true },
	{ IORING_OP_RECVMSG, OF_UDP, IORING_RECV_MULTISHOT, true },
	{ IORING_OP_RECV, OF_TCP, IORING_RECVSEND_BUNDLE, true },
	{ IORING_OP_ACCEPT, OF_LISTENER },
	{ IORING_OP_RECV, OF_UDP, 0, true, true },
};

static int udp_pair(int fds[2])
{
	struct sockaddr_in addr = sock_loopback(0);
	socklen_t len = sizeof(addr);

	fds[0] = socket(AF_INET, SOCK_DGRAM, 0);
	fds[1] = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(fds[1], (void *)&addr, len) || getsockname(fds[1], (void *)&addr, &len))
		return -errno;
	return connect(fds[0], (void *)&addr, len);
}

static int closed_open(FIXTURE_DATA(closed) * self, int from)
{
	switch (from) {
	case OF_PIPE: {
		int p[2], ret = pipe(p);

		self->fds[0] = p[1];
		self->fds[1] = p[0];
		return ret;
	}
	case OF_UDP:
		return udp_pair(self->fds);
	case OF_TCP:
		return sock_tcp_pair(self->fds);
	default:
		self->fds[0] = socket(AF_INET, SOCK_STREAM, 0);
		self->fds[1] = sock_listener(&self->addr, 4);
		return self->fds[1] < 0 ? self->fds[1] : 0;
	}
}

/* Close the ring in a thread, send data to its request, and let the submitter continue. */
static void *close_under_lock(void *data)
{
	FIXTURE_DATA(closed) * self = data;
	bool listens = self->addr.sin_port;

	/* an SQPOLL thread that was woken may fault again */
	if (hole_faults(&self->hole, 1) < 1)
		return "nothing faults";
	iou_exit(&self->r);
	if (listens ? connect(self->fds[0], (void *)&self->addr, sizeof(self->addr)) :
	    write(self->fds[0], "x", 1) != 1)
		return "nothing is sent";
	return hole_give(&self->hole, 0, 1) ? "no page" : NULL;
}

/* Wake the first request, which faults; a thread then closes and sends to the second one. */
static const char *close_and_send(FIXTURE_DATA(closed) * self)
{
	pthread_t thread;
	void *failed;

	if (pthread_create(&thread, NULL, close_under_lock, self))
		return "no thread";
	/* the read runs as task work, perhaps in this call */
	if (write(self->slow[1], "x", 1) != 1)
		return "nothing to read";
	while (pthread_tryjoin_np(thread, &failed))
		usleep(100);
	close(self->hole.uffd);
	sock_close_pair(self->slow);
	return failed;
}

static void prep_taker(FIXTURE_DATA(closed) * self, const struct taker *t)
{
	static struct msghdr msg;
	struct io_uring_sqe *sqe;

	sqe = iou_prep(&self->r, IORING_OP_READ, self->slow[0], self->hole.mem, 1, -1);
	sqe->flags = t->linked ? IOSQE_IO_LINK : 0;
	sqe = iou_prep(&self->r, t->op, self->fds[1], NULL, 0, t->from == OF_PIPE ? -1 : 0);
	sqe->ioprio = t->how;
	if (t->picks) {
		sqe->flags = IOSQE_BUFFER_SELECT;
	} else if (t->op == IORING_OP_READ) {
		sqe->addr = (uintptr_t)self->bufs;
		sqe->len = 1;
	}
	if (t->op == IORING_OP_RECVMSG)
		sqe->addr = (uintptr_t)&msg;
}

static int closed_begin(FIXTURE_DATA(closed) * self, int from, unsigned int flags)
{
	self->addr.sin_port = 0;
	if (iou_init(&self->r, 8, flags) || pipe(self->slow) || closed_open(self, from))
		return -EIO;
	iou_prep(&self->r, IORING_OP_PROVIDE_BUFFERS, 8, self->bufs, 64, 0);
	return iou_one(&self->r);
}

/*
 * Data that arrives after close(2) has returned is not consumed for the ring.  This holds
 * although the exit work is late, and the submitter continues with its task work.
 * Mutants: closed-ring-takes, closed-ring-takes-many.  differences: close-takes-nothing
 */
TEST_F(closed, takes_nothing)
{
	const char *failed;
	unsigned int i;

	if (iou_on_stock())
		SKIP(return, "close waits for the lock");
	for (i = 0; i < ARRAY_LEN(takers); i++) {
		if (hole_open(&self->hole, 1))
			SKIP(return, "needs userfaultfd");
		ASSERT_EQ(0, closed_begin(self, takers[i].from, variant->flags));
		prep_taker(self, takers + i);
		ASSERT_EQ(2, iou_submit(&self->r));
		failed = close_and_send(self);
		ASSERT_EQ(NULL, failed) {
			TH_LOG("%s", failed);
		}
		/* give a kernel thread some time */
		iou_sleep_ms(10);
		EXPECT_TRUE(await(self->fds[1], POLLIN) & POLLIN) {
			TH_LOG("row %u", i);
		}
		sock_close_pair(self->fds);
	}
}

/*
 * A poll of a closed ring passes the event that has woken it on to the next waiter.
 * Mutant: closed-ring-keeps.  differences: close-takes-nothing
 */
TEST_F(closed, passes_on)
{
	const char *failed;
	struct iou other;

	if (iou_on_stock())
		SKIP(return, "close waits for the lock");
	if (hole_open(&self->hole, 1))
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(0, closed_begin(self, OF_TCP, variant->flags));
	iou_prep(&self->r, IORING_OP_READ, self->slow[0], self->hole.mem, 1, -1);
	iou_prep(&self->r, IORING_OP_POLL_ADD, self->fds[1], NULL, 0, 0)->poll32_events =
		poll_word(POLLIN | EPOLLEXCLUSIVE);
	ASSERT_EQ(2, iou_submit(&self->r));
	ASSERT_EQ(0, iou_init(&other, 4, 0));
	iou_prep(&other, IORING_OP_POLL_ADD, self->fds[1], NULL, 0, 0)->poll32_events =
		poll_word(POLLIN | EPOLLEXCLUSIVE);
	ASSERT_EQ(1, iou_submit(&other));
	failed = close_and_send(self);
	ASSERT_EQ(NULL, failed) {
		TH_LOG("%s", failed);
	}
	EXPECT_EQ(0, iou_wait(&other, 1));
	iou_exit(&other);
	sock_close_pair(self->fds);
}

/* A ring that is closed while its submitter does not run the task work queued for it. */
struct late_chain {
	struct iou r;
	char fifo[64];
};

/*
 * Let the chain's open of a FIFO end, and close the ring.  This runs in a vfork() child, so that
 * the submitter waits until this function ends.
 */
static int end_ring(void *data)
{
	struct late_chain *late = data;
	int fd = open(late->fifo, O_WRONLY);

	/* the open's CQE is posted before the next request goes to the submitter */
	while (!iou_ready(&late->r))
		iou_sleep_ms(1);
	iou_sleep_ms(20);
	iou_exit(&late->r);
	/* give the ring time to look for its requests */
	iou_sleep_ms(100);
	close(fd);
	_exit(0);
}

/*
 * A chain that continues after its ring was closed may need memory for a notification.
 * The kernel then allocates no spare requests, which would keep the ring from ending.
 * Mutant: requests-taken-at-the-end.
 */
TEST(chain_is_the_last)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	int i, p[2], sock, status;
	struct late_chain late;
	struct io_uring_sqe *sqe;
	pid_t child;

	for (i = 0; i < 2; i++) {
		snprintf(late.fifo, sizeof(late.fifo), "/tmp/iou.fifo.%d", getpid());
		ASSERT_EQ(0, mkfifo(late.fifo, 0600));
		ASSERT_EQ(0, pipe(p));
		/* not connected: the send fails, and only its notification follows */
		sock = socket(AF_INET, SOCK_STREAM, 0);
		ASSERT_LE(0, sock);
		ASSERT_EQ(0, iou_init(&late.r, 8, i ? IOU_COOP : 0));
		ASSERT_EQ(0, iou_register(&late.r, IORING_REGISTER_FILES, &p[1], 1));
		close(p[1]);
		sqe = iou_prep(&late.r, IORING_OP_OPENAT, AT_FDCWD, late.fifo, 0, 0);
		sqe->open_flags = O_RDONLY;
		sqe->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
		iou_prep(&late.r, IORING_OP_SEND_ZC, sock, late.fifo, 8, 0);
		ASSERT_EQ(2, iou_submit(&late.r));
		child = clone(end_ring, stack + sizeof(stack),
			      CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &late);
		ASSERT_LT(0, child);
		EXPECT_TRUE(await(p[0], POLLIN) & POLLHUP);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_EQ(0, status);
		close(p[0]);
		close(sock);
		unlink(late.fifo);
	}
}

/*
 * Send to a ring whose owner has left: a file is refused, messages are posted without the owner.
 * differences: msg-owner-dead
 */
static int send_to_left(struct iou *target, int file)
{
	unsigned long long end;
	unsigned int i;
	struct iou r;
	int ret;

	if (iou_init(&r, 8, 0) || register_slots(&r, file))
		return 10;
	prep_file(&r, target->fd, 0, 1, 1);
	ret = iou_one(&r);
	if (ret != -EOWNERDEAD) {
		printf("# SEND_FD: %d\n", ret);
		return 11;
	}
	/* 6.12 crashes at the first message */
	if (iou_on_stock())
		return 0;
	for (i = 0; i < 3; i++) {
		ret = send_data(&r, target->fd, 40 + i, 4);
		if (ret) {
			printf("# DATA: %d\n", ret);
			return 12;
		}
	}
	end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	while (iou_ready(target) < 3) {
		if (iou_now_us() > end)
			return 13;
		iou_sleep_ms(1);
	}
	iou_exit(&r);
	return 0;
}

/* A ring of a thread that has ended. */
struct ended {
	struct iou r;
	unsigned int flags;
	int fd;
};

static void *enable(void *arg)
{
	struct iou *r = arg;

	return (void *)(long)iou_register(r, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

/* A thread becomes a ring's owner by enabling it, and exits.  Mutant: owner-without-node. */
TEST(owner_by_enabling_ends)
{
	struct iou r;
	pthread_t t;
	void *res;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER | IORING_SETUP_R_DISABLED));
	ASSERT_EQ(0, register_slots(&r, -1));
	ASSERT_EQ(0, pthread_create(&t, NULL, enable, &r));
	pthread_join(t, &res);
	ASSERT_EQ(NULL, res);
	EXPECT_EQ(0, send_to_left(&r, p[0]));
	iou_exit(&r);
}

/*
 * The owner of a ring executes another program, while its child keeps the ring.
 * Mutant: exec-keeps-mailbox.  differences: msg-owner-dead
 */
TEST(owner_execs)
{
	int pid, status, p[2], left[2], ret[2];
	char result = 99;
	struct iou r;

	if (iou_on_stock())
		SKIP(return, "stock takes the file, and crashes at the first message");
	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, pipe2(left, O_CLOEXEC));
	ASSERT_EQ(0, pipe(ret));
	pid = fork();
	if (!pid) {
		if (iou_init(&r, 8, IOU_DEFER) || register_slots(&r, -1))
			_exit(99);
		if (!fork()) {
			close(left[1]);
			hear(left[0]);
			result = send_to_left(&r, p[0]);
			_exit(write(ret[1], &result, 1) != 1);
		}
		execl("/bin/sleep", "sleep", "100", NULL);
		_exit(98);
	}
	close(left[1]);
	ASSERT_EQ(1, read(ret[0], &result, 1));
	EXPECT_EQ(0, result);
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
}

static void *read_with_limit_and_end(void *arg)
{
	static struct __kernel_timespec ts = { .tv_nsec = 300000000 };
	struct ended *e = arg;
	static char buf[8];

	if (iou_init(&e->r, 8, e->flags))
		return (void *)1;
	iou_prep(&e->r, IORING_OP_READ, e->fd, buf, 8, 0)->flags = IOSQE_IO_LINK;
	iou_prep(&e->r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 2;
	return iou_submit(&e->r) == 2 ? NULL : (void *)2;
}

/*
 * A request of a thread that has ended keeps its linked timeout.
 * Mutant: link-timeout-of-the-dead.  differences: limit-task-ended
 */
TEST(time_limit_of_a_thread_that_ended)
{
	static const unsigned int flags[] = { 0, IOU_DEFER };
	unsigned long long end;
	struct ended e;
	unsigned int i, k;
	pthread_t t;
	void *ret;
	int p[2];

	if (iou_on_stock())
		SKIP(return, "stock forgets the limit");
	for (i = 0; i < ARRAY_LEN(flags); i++) {
		ASSERT_EQ(0, pipe(p));
		e.flags = flags[i];
		e.fd = p[0];
		ASSERT_EQ(0, pthread_create(&t, NULL, read_with_limit_and_end, &e));
		pthread_join(t, &ret);
		ASSERT_EQ(NULL, ret);
		end = iou_now_us() + IOU_PATIENCE * 1000ULL;
		while (iou_ready(&e.r) < 2 && iou_now_us() < end)
			iou_sleep_ms(1);
		ASSERT_EQ(2, iou_ready(&e.r));
		for (k = 0; k < 2; k++) {
			struct io_uring_cqe *cqe = iou_cqe_at(&e.r, k);

			EXPECT_EQ(cqe->user_data == 2 ? -ETIME : -ECANCELED, cqe->res);
		}
		iou_exit(&e.r);
		close(p[0]);
		close(p[1]);
	}
}

/* After the exec of a ring's owner, use the ring again; its descriptor is still open. */
static void __attribute__((constructor)) after_exec(void)
{
	const char *how = getenv("IOU_AFTER_EXEC");
	struct __kernel_timespec ts = { .tv_nsec = 10000000 };
	struct io_uring_cqe cqe;
	struct iou r = {};
	int p;

	if (!how)
		return;
	if (sscanf(how, "%d %d", &r.fd, &p) != 2 ||
	    read(p, &r.p, sizeof(r.p)) != sizeof(r.p))
		_exit(11);
	r.flags = r.p.flags;
	r.sqe_size = 64;
	r.cqe_size = 16;
	if (iou_map(&r))
		_exit(12);
	iou_find_words(&r);
	/* reap the message that another task sends about now */
	if (iou_reap(&r, &cqe) || cqe.user_data != 40)
		_exit(13);
	if (getenv("IOU_ONLY_WAIT"))
		_exit(0);
	iou_prep(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0)->user_data = 6;
	if (iou_submit(&r) != 1)
		_exit(14);
	if (iou_reap(&r, &cqe) || cqe.user_data != 6)
		_exit(15);
	iou_prep(&r, IORING_OP_TIMEOUT, -1, &ts, 1, 0)->user_data = 7;
	if (iou_submit_wait(&r, 1) != 1 || iou_reap(&r, &cqe) || cqe.user_data != 7)
		_exit(16);
	_exit(0);
}

/* A ring whose owner executes this program again, while a child sends messages to the ring. */
struct returning {
	struct iou r;
	int left[2];	/* closed by the exec */
	int ended[2];	/* closed by the end of the new program */
	int p[2];	/* the ring's parameters; a file to send */
};

/*
 * Send a message after the exec, and if @then is set, again after the new program has ended.
 * Return: 0, or the step that failed.
 */
static int send_to_returned(struct returning *b, bool then)
{
	struct iou sender;

	close(b->left[1]);
	close(b->ended[1]);
	hear(b->left[0]);
	iou_sleep_ms(100);
	if (iou_init(&sender, 8, 0) || send_data(&sender, b->r.fd, 40, 4))
		return 1;
	if (!then)
		return 0;
	hear(b->ended[0]);
	return send_to_left(&b->r, b->p[0]);
}

static int return_after_exec(struct returning *b, char *self, int result, bool only_wait)
{
	char how[32], ret;

	if (iou_init(&b->r, 8, IOU_DEFER) || register_slots(&b->r, -1) ||
	    write(b->p[1], &b->r.p, sizeof(b->r.p)) != sizeof(b->r.p))
		return 99;
	if (!fork()) {
		ret = send_to_returned(b, only_wait);
		_exit(write(result, &ret, 1) != 1);
	}
	fcntl(b->r.fd, F_SETFD, 0);
	snprintf(how, sizeof(how), "%d %d", b->r.fd, b->p[0]);
	setenv("IOU_AFTER_EXEC", how, 1);
	if (only_wait)
		setenv("IOU_ONLY_WAIT", "1", 1);
	execl(self, "again", NULL);
	return 98;
}

/*
 * The new program uses the ring again, or only waits for a message and ends.  After the
 * program's end, messages are posted as for any ring whose owner is gone.
 * Mutant: waiting-owner-without-node.  differences: msg-owner-dead
 */
TEST(owner_returns_after_exec)
{
	int pid, status, result[2], only_wait;
	struct returning b;
	char self[128], ret;

	if (iou_on_stock())
		SKIP(return, "stock's kernel crashes at the first message");
	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	for (only_wait = 0; only_wait < 2; only_wait++) {
		ASSERT_EQ(0, pipe(b.p));
		ASSERT_EQ(0, pipe2(b.left, O_CLOEXEC));
		ASSERT_EQ(0, pipe(b.ended));
		ASSERT_EQ(0, pipe2(result, O_CLOEXEC));
		pid = fork();
		if (!pid)
			_exit(return_after_exec(&b, self, result[1], only_wait));
		close(b.left[1]);
		close(b.ended[1]);
		ASSERT_EQ(0, gone(pid, &status));
		EXPECT_EQ(0, status) {
			TH_LOG("status %x", status);
		}
		ASSERT_EQ(1, read(result[0], &ret, 1));
		EXPECT_EQ(0, ret);
	}
}

TEST_HARNESS_MAIN
