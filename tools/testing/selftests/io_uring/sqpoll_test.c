// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: the SQPOLL thread - sleep, sharing, credentials, end */
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "fault.h"
#include "iou_test.h"

/* Number of SQPOLL threads of process @pid, by their names in /proc */
#define THREADS(pid)	iou_threads(pid, "iou-sqp-")

/* Wait until @cond is true, at most for IOU_PATIENCE. */
#define soon(cond) ({ \
	unsigned long long _end = iou_now_us() + IOU_PATIENCE * 1000ULL; \
	bool _is; \
	while (!(_is = (cond)) && iou_now_us() < _end) \
		iou_sleep_ms(1); \
	_is; \
})

static bool asleep(struct iou *r)
{
	return load_acq(r->sq_flags) & IORING_SQ_NEED_WAKEUP;
}

static int ring_with_idle(struct iou *r, unsigned int idle, unsigned int flags, int wq)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SQPOLL | flags,
		.sq_thread_idle = idle,
		.wq_fd = wq,
	};

	return iou_init_params(r, 8, &p);
}

TEST(name)
{
	char want[32];
	struct iou r;

	EXPECT_EQ(0, THREADS(getpid()));
	ASSERT_EQ(0, ring_with_idle(&r, 50, 0, 0));
	snprintf(want, sizeof(want), "iou-sqp-%d", getpid());
	/* a thread sets its name itself, after it was created */
	EXPECT_TRUE(soon(iou_threads(getpid(), want) == 1));
	iou_nop(&r, 1);
	EXPECT_EQ(0, iou_one(&r));
	iou_exit(&r);
	EXPECT_TRUE(soon(!THREADS(getpid())));
}

TEST(sleeps_and_wakes)
{
	unsigned int i, rounds = iou_rounds(40);
	struct iou r;

	ASSERT_EQ(0, ring_with_idle(&r, 5, 0, 0));
	for (i = 0; i < rounds; i++) {
		/* after it has set NEED_WAKEUP, the thread checks for SQEs once more */
		ASSERT_TRUE(soon(asleep(&r) && iou_is_idle(iou_fdinfo(&r, "SqThread"))));
		/* the sleeping thread does not check for SQEs */
		iou_nop(&r, i);
		iou_flush(&r);
		iou_sleep_ms(5);
		ASSERT_EQ(0, iou_ready(&r));
		ASSERT_EQ(0, iou_enter(&r, 0, 0, IORING_ENTER_SQ_WAKEUP));
		ASSERT_TRUE(soon(iou_ready(&r)));
		iou_seen(&r, 1);
	}
	iou_exit(&r);
}

/* While the thread is awake, no system call is needed. */
TEST(awake_needs_no_call)
{
	unsigned int i;
	struct iou r;

	/* the thread may be asleep before its first work; each work restarts its idle time */
	ASSERT_EQ(0, ring_with_idle(&r, 2000, 0, 0));
	iou_nop(&r, 0);
	iou_flush(&r);
	ASSERT_EQ(0, iou_enter(&r, 0, 1, IORING_ENTER_SQ_WAKEUP |
			       IORING_ENTER_GETEVENTS));
	iou_seen(&r, 1);
	for (i = 0; i < 100; i++) {
		ASSERT_NE(NULL, iou_nop(&r, i));
		iou_flush(&r);
		ASSERT_TRUE(soon(iou_ready(&r)));
		ASSERT_FALSE(asleep(&r));
		iou_seen(&r, 1);
	}
	iou_exit(&r);
}

/* Submit at random times around the moment when the thread falls asleep: no wake-up is lost. */
TEST(no_wake_up_is_lost)
{
	unsigned int i, rounds = iou_rounds(400);
	struct iou r;

	ASSERT_EQ(0, ring_with_idle(&r, 1, 0, 0));
	for (i = 0; i < rounds; i++) {
		ASSERT_NE(NULL, iou_nop(&r, i));
		ASSERT_LE(0, iou_submit(&r));
		ASSERT_EQ(0, iou_wait(&r, 1));
		iou_seen(&r, 1);
		usleep(i * 37 % 3000);
	}
	iou_exit(&r);
}

TEST(idle_default_is_a_second)
{
	unsigned long long start;
	struct iou r;

	ASSERT_EQ(0, ring_with_idle(&r, 0, 0, 0));
	iou_nop(&r, 0);
	ASSERT_EQ(0, iou_one(&r));
	start = iou_now_us();
	EXPECT_TRUE(soon(asleep(&r)));
	EXPECT_LE(900000, iou_now_us() - start);
	iou_exit(&r);
}

/* io_uring_enter() with IORING_ENTER_SQ_WAIT waits until the thread has made room in the SQ. */
TEST(wait_for_room)
{
	unsigned int i, ready, nr = 0, total = iou_rounds(2000);
	struct iou r;

	ASSERT_EQ(0, iou_init_cq(&r, 4, 64, IORING_SETUP_SQPOLL));
	for (i = 0; i < total; i++) {
		while (!iou_sq_room(&r)) {
			iou_flush(&r);
			ASSERT_LE(0, iou_enter(&r, 0, 0, IORING_ENTER_SQ_WAIT |
					       (asleep(&r) ? IORING_ENTER_SQ_WAKEUP : 0)));
		}
		ASSERT_NE(NULL, iou_nop(&r, i));
		iou_submit(&r);
		ready = iou_ready(&r);
		iou_seen(&r, ready);
		nr += ready;
	}
	while (nr < total) {
		ASSERT_EQ(0, iou_discard(&r, 1));
		nr++;
	}
	iou_exit(&r);
}

static unsigned int alarms;

static void on_alarm(int sig)
{
	__atomic_fetch_add(&alarms, 1, __ATOMIC_RELAXED);
}

/*
 * A signal ends the wait for room.  The waits after it, and the thread that makes room then, do not
 * find the ended wait in the queue.  Mutant: wait-for-room-stays-queued.
 */
TEST(signal_ends_the_wait_for_room)
{
	struct itimerval often = { .it_interval.tv_usec = 20000, .it_value.tv_usec = 20000 };
	struct itimerval never = { };
	struct sigaction act = { .sa_handler = on_alarm };
	unsigned int i, before;
	struct iou r;

	ASSERT_EQ(0, ring_with_idle(&r, 5, 0, 0));
	/* the thread does not check for SQEs while it sleeps, so it makes no room */
	ASSERT_TRUE(soon(asleep(&r) && iou_is_idle(iou_fdinfo(&r, "SqThread"))));
	for (i = 0; i < 8; i++)
		ASSERT_NE(NULL, iou_nop(&r, i));
	iou_flush(&r);
	ASSERT_EQ(0, sigaction(SIGALRM, &act, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	for (i = 0; i < 3; i++) {
		before = __atomic_load_n(&alarms, __ATOMIC_RELAXED);
		EXPECT_EQ(0, iou_enter(&r, 0, 0, IORING_ENTER_SQ_WAIT));
		EXPECT_LT(before, __atomic_load_n(&alarms, __ATOMIC_RELAXED));
	}
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_EQ(0, iou_ready(&r));
	EXPECT_EQ(0, iou_enter(&r, 0, 0, IORING_ENTER_SQ_WAIT | IORING_ENTER_SQ_WAKEUP));
	EXPECT_EQ(0, iou_discard(&r, 8));
	iou_exit(&r);
}

TEST(bound_to_a_cpu)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF,
		.sq_thread_idle = 50,
	};
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), cpu;
	struct iou r;

	for (cpu = 0; cpu < cpus; cpu++) {
		p.sq_thread_cpu = cpu;
		ASSERT_EQ(0, iou_init_params(&r, 8, &p));
		iou_nop(&r, 1);
		ASSERT_EQ(0, iou_one(&r));
		EXPECT_EQ(cpu, iou_fdinfo(&r, "SqThreadCpu"));
		iou_exit(&r);
	}
}

/* Four rings share one thread; each ring gets its turn, even while other rings are busy. */
TEST(shared)
{
	unsigned int i, k, rounds = iou_rounds(200);
	struct iou r[4];

	ASSERT_EQ(0, ring_with_idle(&r[0], 50, 0, 0));
	for (k = 1; k < 4; k++)
		ASSERT_EQ(0, ring_with_idle(&r[k], 50, IORING_SETUP_ATTACH_WQ, r[0].fd));
	EXPECT_TRUE(soon(THREADS(getpid()) == 1));
	for (i = 0; i < rounds; i++) {
		for (k = 0; k < 4; k++) {
			ASSERT_NE(NULL, iou_nop(&r[k], i));
			ASSERT_LE(0, iou_submit(&r[k]));
		}
		for (k = 0; k < 4; k++)
			ASSERT_EQ(0, iou_discard(&r[k], 1));
	}
	/* the first ring may be closed; the thread serves the other rings */
	iou_exit(&r[0]);
	EXPECT_EQ(1, THREADS(getpid()));
	iou_nop(&r[2], 1);
	EXPECT_EQ(0, iou_one(&r[2]));
	iou_exit(&r[3]);
	iou_nop(&r[1], 1);
	EXPECT_EQ(0, iou_one(&r[1]));
	iou_exit(&r[1]);
	iou_exit(&r[2]);
	EXPECT_TRUE(soon(!THREADS(getpid())));
}

/* If a ring closes with a request in flight, rings that share its thread do not hang. */
TEST(shared_and_one_closes_busy)
{
	struct iou r[4];
	int p[4][2], k;
	char c[4];

	ASSERT_EQ(0, ring_with_idle(&r[0], 50, 0, 0));
	for (k = 1; k < 4; k++)
		ASSERT_EQ(0, ring_with_idle(&r[k], 50, IORING_SETUP_ATTACH_WQ, r[0].fd));
	for (k = 0; k < 4; k++) {
		ASSERT_EQ(0, pipe(p[k]));
		iou_prep(&r[k], IORING_OP_READ, p[k][0], &c[k], 1, 0);
		ASSERT_LE(0, iou_submit(&r[k]));
	}
	iou_sleep_ms(20);
	iou_exit(&r[2]);
	for (k = 0; k < 4; k++) {
		if (k == 2)
			continue;
		ASSERT_EQ(1, write(p[k][1], "x", 1));
		EXPECT_EQ(0, iou_discard(&r[k], 1));
		iou_exit(&r[k]);
	}
	EXPECT_TRUE(soon(!THREADS(getpid())));
}

/* A ring of another process cannot share the thread, and gets a thread of its own. */
TEST(attach_from_another_process)
{
	struct iou r, mine;
	int status, pid;

	ASSERT_EQ(0, ring_with_idle(&r, 50, 0, 0));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (ring_with_idle(&mine, 50, IORING_SETUP_ATTACH_WQ, r.fd))
			_exit(1);
		if (!soon(THREADS(getpid()) == 1))
			_exit(2);
		iou_nop(&mine, 1);
		_exit(iou_one(&mine) ? 3 : 0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	iou_exit(&r);
}

static int attach_to(int fd, unsigned int flags)
{
	struct io_uring_params p = {
		.flags = flags | IORING_SETUP_ATTACH_WQ, .wq_fd = fd,
	};
	int ret = iou_sys_setup(4, &p);

	if (ret < 0)
		return ret;
	close(ret);
	return 0;
}

TEST(attach_needs_a_thread)
{
	struct iou plain, poll;

	ASSERT_EQ(0, iou_init(&plain, 4, 0));
	ASSERT_EQ(0, ring_with_idle(&poll, 50, 0, 0));
	EXPECT_EQ(-EINVAL, attach_to(plain.fd, IORING_SETUP_SQPOLL));
	EXPECT_EQ(0, attach_to(plain.fd, 0));
	EXPECT_EQ(0, attach_to(poll.fd, 0));
	EXPECT_EQ(0, attach_to(poll.fd, IORING_SETUP_SQPOLL));
	iou_exit(&plain);
	iou_exit(&poll);
}

/* The thread keeps the credentials of the ring's creator, even if the creator changes its own. */
TEST(identity)
{
	struct stat st;
	struct iou r, plain;
	int fd;

	if (getuid())
		SKIP(return, "needs to be root");
	ASSERT_EQ(0, ring_with_idle(&r, 50, 0, 0));
	ASSERT_EQ(0, iou_init(&plain, 4, 0));
	fd = iou_file(64, 1);
	ASSERT_EQ(0, fchmod(fd, 04777));
	ASSERT_EQ(0, seteuid(4242));
	/* a write by root leaves the bit, a write by this task clears it */
	iou_prep(&r, IORING_OP_WRITE, fd, "x", 1, 0);
	EXPECT_EQ(1, iou_one(&r));
	fstat(fd, &st);
	EXPECT_EQ(04777, st.st_mode & 07777);
	iou_prep(&plain, IORING_OP_WRITE, fd, "x", 1, 0);
	EXPECT_EQ(1, iou_one(&plain));
	fstat(fd, &st);
	EXPECT_EQ(0777, st.st_mode & 07777);
	ASSERT_EQ(0, seteuid(0));
	iou_exit(&plain);
	iou_exit(&r);
	close(fd);
}

/* Once the ring's creator and the SQPOLL thread are gone, io_uring_enter() returns -EOWNERDEAD. */
TEST(owner_is_gone)
{
	unsigned int limits[2] = { 3, 4 };
	int pid, status, go[2], done[2];
	struct iou r;
	char c;

	/* a child sets up the ring, and pidfd_getfd() copies its descriptor */
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(done));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (ring_with_idle(&r, 50, 0, 0))
			_exit(1);
		if (write(done[1], &r.fd, sizeof(int)) != sizeof(int))
			_exit(2);
		_exit(read(go[0], &c, 1) != 1);
	}
	ASSERT_EQ(sizeof(int), read(done[0], &status, sizeof(int)));
	r.fd = syscall(__NR_pidfd_getfd, syscall(__NR_pidfd_open, pid, 0), status, 0);
	ASSERT_LE(0, r.fd);
	EXPECT_EQ(0, iou_sys_enter(r.fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0));
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(soon(iou_sys_enter(r.fd, 0, 0, 0, NULL, 0) == -EOWNERDEAD));
	/* there are no workers, so both limits are 0 */
	EXPECT_EQ(0, iou_sys_register(r.fd, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2));
	EXPECT_EQ(0, limits[0]);
	EXPECT_EQ(0, limits[1]);
	close(r.fd);
}

static void *make_ring(void *arg)
{
	static struct iou r;

	return (void *)(long)ring_with_idle(&r, 50, 0, 0);
}

static void *sleep_a_while(void *arg)
{
	iou_sleep_ms(300);
	return NULL;
}

/* Which thread of a program sets up the ring, and which thread ends last */
enum { LEADER_ALONE, LEADER_LAST, THREAD_LAST, THREAD_AFTER_LEADER };

static void end_by_threads(int who)
{
	pthread_t thread;
	void *ret;

	if (who == LEADER_LAST) {
		if (pthread_create(&thread, NULL, make_ring, NULL) ||
		    pthread_join(thread, &ret) || ret)
			_exit(1);
	} else if (make_ring(NULL)) {
		_exit(1);
	}
	if (who >= THREAD_LAST && pthread_create(&thread, NULL, sleep_a_while, NULL))
		_exit(2);
	if (who == THREAD_LAST)
		iou_sleep_ms(200);
	syscall(SYS_exit, 0);
}

/*
 * The SQPOLL thread ends with the program, even if the program's last thread ends by
 * SYS_exit.  Mutant: sqpoll-stays.  differences: sqpoll-ends
 */
TEST(ends_with_the_last_thread)
{
	int pid, status, who;

	if (iou_on_stock())
		SKIP(return, "it stays");
	for (who = LEADER_ALONE; who <= THREAD_AFTER_LEADER; who++) {
		pid = fork();
		if (!pid)
			end_by_threads(who);
		EXPECT_TRUE(soon(waitpid(pid, &status, WNOHANG) == pid)) {
			TH_LOG("case %d", who);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
		}
		EXPECT_EQ(0, status);
	}
}

static void *outlive(void *arg)
{
	struct iou *r = arg;

	/* the leader has ended, and this thread continues */
	iou_sleep_ms(300);
	iou_nop(r, 1);
	_exit(iou_one(r));
}

/* The SQPOLL thread stays as long as a thread of the program is left. */
TEST(stays_for_a_thread)
{
	static struct iou r;
	pthread_t thread;
	int pid, status;

	pid = fork();
	if (!pid) {
		if (ring_with_idle(&r, 50, 0, 0) ||
		    pthread_create(&thread, NULL, outlive, &r))
			_exit(9);
		syscall(SYS_exit, 0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Enter returns the number of SQEs that was passed in, however large it is. */
TEST(any_number_to_submit)
{
	static const unsigned int nr[] = { 100, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff };
	unsigned int i;
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_SQPOLL));
	for (i = 0; i < ARRAY_LEN(nr) && sizeof(long) == 8; i++)
		EXPECT_EQ(nr[i], syscall(__NR_io_uring_enter, r.fd, nr[i], 0, 0, NULL, 0));
	iou_exit(&r);
}

/* A ring that starts disabled closes cleanly, enabled or not, with IOPOLL or without. */
TEST(disabled_ring_goes)
{
	struct iou r;
	int i;

	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, ring_with_idle(&r, 50, IORING_SETUP_R_DISABLED |
					    (i & 1 ? IORING_SETUP_IOPOLL : 0), 0));
		if (i & 2)
			ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL,
						  0));
		iou_exit(&r);
	}
	EXPECT_TRUE(soon(!THREADS(getpid())));
}

/*
 * A thread that is awake for another ring takes no SQEs of a disabled ring until that
 * ring is enabled.
 */
TEST(disabled_ring_is_left_alone)
{
	struct iou r, off;
	int i;

	ASSERT_EQ(0, ring_with_idle(&r, 50, 0, 0));
	ASSERT_EQ(0, ring_with_idle(&off, 50, IORING_SETUP_ATTACH_WQ | IORING_SETUP_R_DISABLED,
				    r.fd));
	for (i = 0; i < 4; i++)
		iou_nop(&off, i);
	iou_flush(&off);
	/* for each request the thread checks both rings */
	for (i = 0; i < 16; i++) {
		iou_nop(&r, i);
		ASSERT_EQ(0, iou_one(&r));
	}
	EXPECT_EQ(0, iou_ready(&off));
	EXPECT_EQ(0, load_acq(off.sq_head));
	EXPECT_EQ(-EBADFD, iou_enter(&off, 0, 0, IORING_ENTER_SQ_WAKEUP));
	ASSERT_EQ(0, iou_register(&off, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	ASSERT_EQ(0, iou_enter(&off, 0, 0, IORING_ENTER_SQ_WAKEUP));
	EXPECT_EQ(0, iou_discard(&off, 4));
	EXPECT_TRUE(soon(load_acq(off.sq_head) == 4));
	iou_exit(&off);
	iou_exit(&r);
}

/* Bad SQEs are reported by CQEs, and the thread continues with the next SQE. */
TEST(bad_sqes)
{
	struct io_uring_cqe cqe;
	struct iou r;
	int i;

	ASSERT_EQ(0, ring_with_idle(&r, 50, 0, 0));
	for (i = 0; i < 8; i++)
		iou_nop(&r, i)->opcode = i % 2 ? 200 : IORING_OP_NOP;
	ASSERT_LE(0, iou_submit(&r));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(i, cqe.user_data);
		EXPECT_EQ(i % 2 ? -EINVAL : 0, cqe.res);
	}
	iou_exit(&r);
}

struct racer {
	int wq;
	bool stop;
	int err;
};

static void *attach_loop(void *arg)
{
	struct racer *race = arg;
	struct iou r;
	int ret;

	while (!load_acq(&race->stop)) {
		ret = ring_with_idle(&r, 5, IORING_SETUP_ATTACH_WQ, race->wq);
		if (ret) {
			race->err = ret;
			break;
		}
		iou_nop(&r, 1);
		if (iou_one(&r))
			race->err = -EIO;
		iou_exit(&r);
	}
	return NULL;
}

/*
 * Rings attach to a thread and leave it while the thread works and sleeps, and while a task sets
 * the limits of its workers.
 */
TEST(join_and_leave)
{
	unsigned int i, limits[2], rounds = iou_rounds(100);
	struct racer race = { };
	pthread_t thread;
	struct iou r;

	ASSERT_EQ(0, ring_with_idle(&r, 5, 0, 0));
	race.wq = r.fd;
	ASSERT_EQ(0, pthread_create(&thread, NULL, attach_loop, &race));
	for (i = 0; i < rounds; i++) {
		iou_nop(&r, i);
		ASSERT_EQ(0, iou_one(&r));
		memset(limits, 0, sizeof(limits));
		ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits,
					  2));
		if (i % 16 == 0)
			iou_sleep_ms(10);
	}
	store_rel(&race.stop, true);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, race.err);
	iou_exit(&r);
	EXPECT_TRUE(soon(!THREADS(getpid())));
}

/*
 * An IOPOLL ring leaves a shared thread while a worker runs its request.  The worker
 * starts the transfer later, and the exit of the ring polls for its completion.
 */
TEST(ring_leaves_its_worker)
{
	int disk = open(iou_scratch(), O_RDONLY | O_DIRECT);
	unsigned int round, rounds = iou_rounds(4);
	struct hole hole;
	struct iou r, a;

	if (disk < 0)
		SKIP(return, "needs null_blk with configfs");
	if (hole_open(&hole, rounds))
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(0, ring_with_idle(&r, 50, IORING_SETUP_IOPOLL, 0));
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, ring_with_idle(&a, 50, IORING_SETUP_IOPOLL |
					    IORING_SETUP_ATTACH_WQ, r.fd));
		iou_prep(&a, IORING_OP_READ, disk, hole.mem + round * IOU_PAGE, IOU_PAGE,
			 0)->flags = IOSQE_ASYNC;
		ASSERT_LE(0, iou_submit(&a));
		ASSERT_EQ(1, hole_faults(&hole, 1));
		iou_exit(&a);
		/* the exit of the ring continues after close() */
		iou_sleep_ms(200);
		ASSERT_EQ(0, hole_give(&hole, round, 1));
	}
	iou_nop(&r, 1);
	EXPECT_EQ(0, iou_one(&r));
	iou_exit(&r);
	EXPECT_TRUE(soon(!THREADS(getpid())));
	close(hole.uffd);
	close(disk);
}

/*
 * Close a ring while its shared thread waits in a page fault.  After the fault, the
 * thread serves its other rings at once.  Mutant: leaving-ring-parks-thread.
 */
TEST(closed_ring_does_not_hold_the_others)
{
	int zero = open("/dev/zero", O_RDONLY);
	unsigned long long start;
	struct iou r, a;
	struct hole hole;

	if (hole_open(&hole, 1))
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(0, ring_with_idle(&r, 2000, 0, 0));
	ASSERT_EQ(0, ring_with_idle(&a, 2000, IORING_SETUP_ATTACH_WQ, r.fd));
	iou_prep(&r, IORING_OP_READ, zero, hole.mem, 64, 0)->user_data = 1;
	ASSERT_LE(0, iou_submit(&r));
	ASSERT_EQ(1, hole_faults(&hole, 1));
	iou_exit(&a);
	/* the exit of the ring retries at growing intervals */
	iou_sleep_ms(700);
	start = iou_now_us();
	ASSERT_EQ(0, hole_give(&hole, 0, 1));
	iou_nop(&r, 1);
	ASSERT_LE(0, iou_submit(&r));
	ASSERT_EQ(0, iou_wait(&r, 2));
	EXPECT_GT(200000, iou_now_us() - start);
	iou_exit(&r);
	close(hole.uffd);
	close(zero);
}

/* Kill a task while it sets up rings: it must not wait for a thread that is dead already. */
TEST(killed_in_setup)
{
	unsigned int i, rounds = iou_rounds(100);
	int pid, gone, status;
	struct iou r;

	for (i = 0; i < rounds; i++) {
		gone = 0;
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			for (;;) {
				ring_with_idle(&r, 5, 0, 0);
				iou_exit(&r);
			}
		}
		usleep(i * 97 % 5000);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_TRUE(soon(gone || (gone = waitpid(pid, &status, WNOHANG))));
	}
}

/*
 * Set up rings with a thread of their own, and rings that attach to a thread.  In each attempt a
 * different allocation fails.  A thread that a failed setup has created must end.
 * Mutant: thread-without-its-count.
 */
TEST(setup_without_memory)
{
	unsigned int i, nth, failed = 0;
	struct iou base;

	if (iou_fail_init())
		SKIP(return, "needs fault injection");
	for (i = 0; i < 2; i++) {
		unsigned int attach = i ? IORING_SETUP_ATTACH_WQ : 0;
		bool more = true;

		ASSERT_EQ(0, ring_with_idle(&base, 5, 0, 0));
		for (nth = 1; more; nth++) {
			struct io_uring_params p = {
				.flags = IORING_SETUP_SQPOLL | attach,
				.wq_fd = base.fd,
			};
			int fd;

			ASSERT_EQ(0, iou_fail_nth(nth));
			fd = iou_sys_setup(8, &p);
			more = iou_has_failed();
			iou_fail_nth(0);
			failed += fd < 0;
			EXPECT_TRUE(fd >= 0 || more);
			if (fd >= 0)
				close(fd);
		}
		iou_nop(&base, 1);
		EXPECT_EQ(0, iou_one(&base));
		iou_exit(&base);
		EXPECT_TRUE(soon(!THREADS(getpid())));
	}
	EXPECT_LT(10, failed);
}

#define CGROUPS		"/tmp/iou-cgroup"
#define CGROUP		CGROUPS "/sqpoll"

/*
 * A thread that is not bound to a CPU runs where the cpuset of the ring's creator allows.
 * differences: sqpoll-cpuset
 */
TEST(stays_in_its_cpuset)
{
	char cpus[128] = "", pid[32];
	struct iou r;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	mkdir(CGROUPS, 0700);
	if (mount("none", CGROUPS, "cgroup2", 0, NULL))
		SKIP(return, "needs cgroups");
	iou_put(CGROUPS "/cgroup.subtree_control", "+cpuset");
	mkdir(CGROUP, 0700);
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (iou_put(CGROUP "/cpuset.cpus", "1") || iou_put(CGROUP "/cgroup.procs", pid)) {
		umount(CGROUPS);
		SKIP(return, "needs cpusets");
	}
	ASSERT_EQ(0, ring_with_idle(&r, 50, 0, 0));
	iou_nop(&r, 1);
	EXPECT_EQ(0, iou_one(&r));
	EXPECT_EQ(0, iou_cpus_of(getpid(), "iou-sqp-", cpus, sizeof(cpus)));
	/* 6.12 lets the thread run on all CPUs */
	if (!iou_on_stock())
		EXPECT_STREQ("1", cpus);
	iou_exit(&r);
	EXPECT_EQ(0, iou_put(CGROUPS "/cgroup.procs", pid));
	EXPECT_TRUE(soon(!rmdir(CGROUP) || access(CGROUP, F_OK)));
	umount(CGROUPS);
}

#define PARKERS	4

struct parker {
	struct iou *r;
	unsigned int rounds;
	int err;
};

/* Park the SQPOLL thread again and again, each time for a moment. */
static void *park_loop(void *arg)
{
	struct parker *parker = arg;
	unsigned int i, limits[2];

	for (i = 0; i < parker->rounds && !parker->err; i++) {
		memset(limits, 0, sizeof(limits));
		parker->err = iou_register(parker->r, IORING_REGISTER_IOWQ_MAX_WORKERS,
					   limits, 2);
	}
	return NULL;
}

/* Many tasks park a busy thread: each task gets its turn. */
TEST(many_park_a_busy_thread)
{
	unsigned int i, nr = 0, done = 0;
	struct parker parkers[PARKERS];
	pthread_t threads[PARKERS];
	struct iou r, others[PARKERS];

	ASSERT_EQ(0, ring_with_idle(&r, 5000, 0, 0));
	for (i = 0; i < PARKERS; i++) {
		ASSERT_EQ(0, ring_with_idle(&others[i], 5000, IORING_SETUP_ATTACH_WQ, r.fd));
		parkers[i] = (struct parker){ .r = &others[i], .rounds = iou_rounds(1000) };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, park_loop, &parkers[i]));
	}
	while (done < PARKERS) {
		for (; nr < 8; nr++)
			ASSERT_NE(NULL, iou_nop(&r, 1));
		iou_submit(&r);
		ASSERT_EQ(0, iou_wait(&r, 1));
		nr -= iou_ready(&r);
		iou_seen(&r, iou_ready(&r));
		while (done < PARKERS && !pthread_tryjoin_np(threads[done], NULL))
			done++;
	}
	for (i = 0; i < PARKERS; i++) {
		EXPECT_EQ(0, parkers[i].err);
		iou_exit(&others[i]);
	}
	iou_exit(&r);
}

TEST_HARNESS_MAIN
