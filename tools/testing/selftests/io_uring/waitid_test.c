// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: WAITID - children that end, stop and go on */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "iou_test.h"

FIXTURE(waitid) {
	struct iou r;
	int child;
};

FIXTURE_VARIANT(waitid) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS(waitid);
IOU_KINDS_ASYNC(waitid);

/* Create a child that sleeps until a signal ends it, or until this process exits. */
static int make_child(void)
{
	int parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	return pid;
}

static void end_child(int pid)
{
	if (pid > 0 && !kill(pid, SIGKILL))
		waitpid(pid, NULL, 0);
}

FIXTURE_SETUP(waitid)
{
	ASSERT_EQ(0, iou_init(&self->r, 32, variant->flags));
	self->child = make_child();
	ASSERT_LT(0, self->child);
}

FIXTURE_TEARDOWN(waitid)
{
	iou_exit(&self->r);
	end_child(self->child);
}

static struct io_uring_sqe *prep_waitid(struct iou *r, int which, int id, siginfo_t *info,
					unsigned int options)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_WAITID, id, NULL, which, (uintptr_t)info);

	sqe->file_index = options;
	sqe->user_data = 1;
	return sqe;
}

static int do_waitid(struct iou *r, unsigned int f, int which, int id, siginfo_t *info,
		     unsigned int options)
{
	prep_waitid(r, which, id, info, options)->flags = f;
	return iou_one(r);
}

/*
 * A WAITID reports a child that ends during the wait, or that has ended before it.
 * Mutant: waitid-event-missed.  Mutant, for 32 bits: compat-child-told-long.
 */
TEST_F(waitid, exit)
{
	unsigned int f = variant->sqe_flags;
	siginfo_t info = { .si_signo = 77 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int pid;

	/* the wait begins before the child ends */
	prep_waitid(r, P_PID, self->child, &info, WEXITED)->flags = f;
	ASSERT_EQ(0, iou_submit_issued(r));
	kill(self->child, SIGTERM);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(0, cqe.res);
	EXPECT_EQ(SIGCHLD, info.si_signo);
	EXPECT_EQ(self->child, info.si_pid);
	EXPECT_EQ(CLD_KILLED, info.si_code);
	EXPECT_EQ(SIGTERM, info.si_status);
	EXPECT_EQ(getuid(), info.si_uid);
	EXPECT_EQ(-1, waitpid(self->child, NULL, 0));
	EXPECT_EQ(-ECHILD, do_waitid(r, f, P_PID, self->child, &info, WEXITED));
	EXPECT_EQ(0, info.si_signo);

	/* the wait begins after the child has ended; WNOWAIT does not reap it yet */
	pid = fork();
	if (!pid)
		_exit(9);
	memset(&info, 0, sizeof(info));
	EXPECT_EQ(0, do_waitid(r, f, P_ALL, 0, &info, WEXITED | WNOWAIT));
	EXPECT_EQ(pid, info.si_pid);
	EXPECT_EQ(CLD_EXITED, info.si_code);
	EXPECT_EQ(9, info.si_status);
	EXPECT_EQ(0, do_waitid(r, f, P_PGID, 0, NULL, WEXITED));
	EXPECT_EQ(-ECHILD, do_waitid(r, f, P_ALL, 0, NULL, WEXITED));
	self->child = 0;
}

/*
 * With __WNOTHREAD the child is one of the submitter's, also behind a request of a worker.
 * Mutant: waitid-children-of-a-worker.
 * differences: none, a worker of 7.3 looks for children of its own
 */
TEST_F(waitid, own_child_behind_a_worker)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	iou_prep(r, IORING_OP_NOP, -1, NULL, 0, 0)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	prep_waitid(r, P_PID, self->child, NULL, WEXITED | __WNOTHREAD)->flags = variant->sqe_flags;
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(0, cqe.user_data);
	/* the thread of the ring has no children */
	if (!(variant->flags & IORING_SETUP_SQPOLL)) {
		iou_wait_ms(r, 1, 20);
		if (!iou_on_stock())
			EXPECT_EQ(0, iou_ready(r));
		kill(self->child, SIGKILL);
	}
	ASSERT_EQ(0, iou_reap(r, &cqe));
	if (!iou_on_stock())
		EXPECT_EQ(variant->flags & IORING_SETUP_SQPOLL ? -ECHILD : 0, cqe.res);
	if (!cqe.res)
		self->child = 0;
}

static void *compute(void *arg)
{
	int *stop = arg;

	while (!load_acq(stop))
		;
	return NULL;
}

/*
 * A worker ends many requests in a chain that need not wait.  Threads that compute make it release
 * the ring lock now and then.  The CQEs come in order.
 */
TEST_F(waitid, chain_that_need_not_wait)
{
	unsigned int i, round, rounds = iou_rounds(40), nr;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	pthread_t thread[4];
	siginfo_t info;
	int stop = 0;

	nr = r->p.sq_entries - 1;
	for (i = 0; i < ARRAY_LEN(thread); i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, compute, &stop));
	for (round = 0; round < rounds; round++) {
		iou_nop(r, 0)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
		for (i = 1; i <= nr; i++) {
			struct io_uring_sqe *sqe = prep_waitid(r, P_PID, self->child, &info,
							       WEXITED | WNOHANG);

			sqe->user_data = i;
			sqe->flags = i < nr ? IOSQE_IO_LINK : 0;
		}
		ASSERT_EQ(nr + 1, iou_submit(r));
		for (i = 0; i <= nr; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_EQ(i, cqe.user_data);
			ASSERT_EQ(0, cqe.res);
		}
	}
	store_rel(&stop, 1);
	for (i = 0; i < ARRAY_LEN(thread); i++)
		pthread_join(thread[i], NULL);
}

TEST_F(waitid, stop_and_go_on)
{
	siginfo_t info = {};
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	prep_waitid(r, P_PID, self->child, &info, WSTOPPED)->flags = variant->sqe_flags;
	ASSERT_EQ(0, iou_submit_issued(r));
	kill(self->child, SIGSTOP);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(0, cqe.res);
	EXPECT_EQ(CLD_STOPPED, info.si_code);
	prep_waitid(r, P_PID, self->child, &info, WCONTINUED)->flags = variant->sqe_flags;
	ASSERT_EQ(0, iou_submit_issued(r));
	kill(self->child, SIGCONT);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(0, cqe.res);
	EXPECT_EQ(CLD_CONTINUED, info.si_code);
}

TEST_F(waitid, not_yet)
{
	unsigned int f = variant->sqe_flags;
	siginfo_t info = { .si_signo = 77, .si_pid = 77 };
	struct iou *r = &self->r;
	int pidfd = syscall(SYS_pidfd_open, self->child, 0);

	EXPECT_EQ(0, do_waitid(r, f, P_PIDFD, pidfd, &info, WEXITED | WNOHANG));
	EXPECT_EQ(0, info.si_signo);
	EXPECT_EQ(0, info.si_pid);
	fcntl(pidfd, F_SETFL, O_NONBLOCK);
	EXPECT_EQ(0, do_waitid(r, f, P_PIDFD, pidfd, &info, WEXITED));
	close(pidfd);
}

TEST_F(waitid, refused)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int pid;

	EXPECT_EQ(-EINVAL, do_waitid(r, f, P_ALL, 0, (void *)8, 0));
	EXPECT_EQ(-EINVAL, do_waitid(r, f, P_ALL, 0, (void *)8, WEXITED | 0x100));
	EXPECT_EQ(-EINVAL, do_waitid(r, f, 99, 0, (void *)8, WEXITED));
	EXPECT_EQ(-EINVAL, do_waitid(r, f, P_PID, 0, NULL, WEXITED));
	EXPECT_EQ(-EBADF, do_waitid(r, f, P_PIDFD, 999, NULL, WEXITED));
	EXPECT_EQ(-ECHILD, do_waitid(r, f, P_PID, 1, NULL, WEXITED));
	/* -EFAULT replaces -ECHILD if the siginfo cannot be written */
	EXPECT_EQ(-EFAULT, do_waitid(r, f, P_PID, 1, (void *)8, WEXITED));
	prep_waitid(r, P_ALL, 0, NULL, WEXITED)->waitid_flags = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	/* the child is reaped in spite of -EFAULT, as by waitid(2) */
	pid = fork();
	if (!pid)
		_exit(0);
	EXPECT_EQ(-EFAULT, do_waitid(r, f, P_PID, pid, (void *)8, WEXITED));
	EXPECT_EQ(-1, waitpid(pid, NULL, 0));
}

static int do_cancel(struct iou *r, unsigned long long data, unsigned int flags)
{
	struct io_uring_sync_cancel_reg reg = {
		.addr = data, .flags = flags, .timeout = { -1, -1 },
	};

	return iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 1);
}

TEST_F(waitid, cancel)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	siginfo_t info = { .si_signo = 77 };
	unsigned int i;

	for (i = 0; i < 4; i++)
		prep_waitid(r, P_PID, self->child, i ? NULL : &info, WEXITED)->user_data = i;
	prep_waitid(r, P_PID, self->child, (void *)8, WEXITED)->user_data = 4;
	ASSERT_EQ(0, iou_submit_issued(r));
	iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)2, 0, 0)->user_data = 8;
	iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)2, 0, 0)->user_data = 9;
	ASSERT_EQ(2, iou_submit(r));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data == 2 ? -ECANCELED : cqe.user_data == 8 ? 1 : -ENOENT,
			  cqe.res);
	}
	EXPECT_EQ(1, do_cancel(r, 0, 0));
	EXPECT_EQ(-ECANCELED, iou_discard(r, 1));
	EXPECT_EQ(0, info.si_signo);
	EXPECT_EQ(3, do_cancel(r, 0, IORING_ASYNC_CANCEL_ANY));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ECANCELED, iou_discard(r, 1));
	EXPECT_EQ(-ENOENT, do_cancel(r, 3, 0));
	/* no cancelled wait has reaped the child */
	kill(self->child, SIGKILL);
	EXPECT_EQ(self->child, waitpid(self->child, NULL, 0));
	self->child = 0;
}

TEST_F(waitid, timeout_and_chain)
{
	struct __kernel_timespec soon = { .tv_nsec = 1000000 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int i;

	prep_waitid(r, P_PID, self->child, NULL, WEXITED)->flags =
		IOSQE_IO_LINK | variant->sqe_flags;
	iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &soon, 1, 0)->user_data = 2;
	ASSERT_EQ(2, iou_submit(r));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data == 1 ? -ECANCELED : -ETIME, cqe.res);
	}
	prep_waitid(r, P_PID, self->child, NULL, WEXITED)->flags =
		IOSQE_IO_LINK | variant->sqe_flags;
	iou_nop(r, 2);
	ASSERT_EQ(0, iou_submit_issued(r));
	kill(self->child, SIGKILL);
	for (i = 1; i < 3; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i, cqe.user_data);
		EXPECT_EQ(0, cqe.res);
	}
	self->child = 0;
}

/* Two requests wait for any child: one reaps the first child, the other waits for the second. */
TEST_F(waitid, one_child_for_two)
{
	int second = make_child(), i, got;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	siginfo_t info[2] = {};

	for (i = 0; i < 2; i++)
		prep_waitid(r, P_ALL, 0, &info[i], WEXITED)->user_data = i;
	ASSERT_EQ(0, iou_submit_issued(r));
	kill(self->child, SIGKILL);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	got = cqe.user_data;
	EXPECT_EQ(0, cqe.res);
	EXPECT_EQ(self->child, info[got].si_pid);
	iou_wait_ms(r, 1, 20);
	EXPECT_EQ(0, iou_ready(r));
	kill(second, SIGKILL);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(!got, cqe.user_data);
	EXPECT_EQ(0, cqe.res);
	EXPECT_EQ(second, info[!got].si_pid);
	self->child = 0;
}

/* An event that waitpid(2) takes does not end the wait. */
TEST_F(waitid, taken_by_others)
{
	int pid = make_child(), status;
	struct iou *r = &self->r;

	prep_waitid(r, P_ALL, 0, NULL, WEXITED);
	ASSERT_EQ(0, iou_submit_issued(r));
	/* the request does not wait for stops, and waitpid(2) takes this stop */
	kill(self->child, SIGSTOP);
	EXPECT_EQ(self->child, waitpid(self->child, &status, WUNTRACED));
	iou_wait_ms(r, 1, 20);
	EXPECT_EQ(0, iou_ready(r));
	kill(pid, SIGKILL);
	EXPECT_EQ(0, iou_discard(r, 1));
	EXPECT_EQ(-1, waitpid(pid, NULL, WNOHANG));
}

#define MANY_WAITS	300
#define OTHER_WAITS	20

/*
 * Many requests wait for one child, on two rings, and some are cancelled.  The child's end ends
 * all others of these waits, and one of them reaps the child.  Waits for other events go on.
 * Mutants: waitid-rest-waits, waitid-cancel-loses-rest.
 */
TEST_F(waitid, many_for_one_child)
{
	static const unsigned int cancelled[] = { MANY_WAITS - 1, 0, 150, MANY_WAITS - 2, 1 };
	unsigned int i, k, had = 0;
	int second = make_child();
	struct io_uring_cqe cqe;
	struct iou r[2];

	for (k = 0; k < 2; k++) {
		ASSERT_EQ(0, iou_init(&r[k], 512, variant->flags));
		for (i = 0; i < MANY_WAITS + OTHER_WAITS; i++) {
			bool other = i >= MANY_WAITS;
			struct io_uring_sqe *sqe =
				prep_waitid(&r[k], other ? P_ALL : P_PID, other ? 0 : self->child,
					    NULL, other ? WSTOPPED : WEXITED);

			sqe->user_data = 1000 + i;
		}
		ASSERT_EQ(0, iou_submit_issued(&r[k]));
		/* cancel the youngest wait, the oldest wait, and some between */
		for (i = 0; i < ARRAY_LEN(cancelled); i++) {
			ASSERT_EQ(1, do_cancel(&r[k], 1000 + cancelled[i], 0));
			ASSERT_EQ(-ECANCELED, iou_discard(&r[k], 1));
		}
	}
	kill(self->child, SIGKILL);
	self->child = 0;
	for (k = 0; k < 2; k++) {
		for (i = 0; i < MANY_WAITS - ARRAY_LEN(cancelled); i++) {
			ASSERT_EQ(0, iou_reap(&r[k], &cqe));
			ASSERT_GT(1000 + MANY_WAITS, cqe.user_data);
			if (cqe.res)
				ASSERT_EQ(-ECHILD, cqe.res);
			had += !cqe.res;
		}
	}
	EXPECT_EQ(1, had);
	for (k = 0; k < 2; k++) {
		iou_wait_ms(&r[k], 1, 20);
		EXPECT_EQ(0, iou_ready(&r[k]));
	}
	/* the waits for a stop were woken in vain, and still wait; one of them takes this stop */
	kill(second, SIGSTOP);
	for (k = 0; !iou_ready(&r[0]) && !iou_ready(&r[1]) && k < IOU_PATIENCE; k++)
		iou_wait_ms(&r[k % 2], 1, 1);
	iou_wait_ms(&r[0], 2, 20);
	EXPECT_EQ(1, iou_ready(&r[0]) + iou_ready(&r[1]));
	for (k = 0, had = 0; k < 2; k++) {
		had += do_cancel(&r[k], 0, IORING_ASYNC_CANCEL_ANY);
		iou_exit(&r[k]);
	}
	EXPECT_EQ(2 * OTHER_WAITS - 1, had);
	end_child(second);
}

/* Return: the shortest time in us in which a child was created, ended and was reaped. */
static unsigned long long time_of_child(void)
{
	unsigned long long best = -1ULL, start;
	int i;

	for (i = 0; i < 50; i++) {
		int pid;

		start = iou_now_us();
		pid = fork();
		if (!pid)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return -1ULL;
		start = iou_now_us() - start;
		if (start < best)
			best = start;
	}
	return best;
}

/*
 * The end of a child takes about the same time however many requests wait for another child.  This
 * matters because waiters are called under a lock that each fork and exit of the machine takes.
 * 6.12 takes up to 2 us for each waiter.
 * differences: none, only the time that an end takes differs
 */
TEST_F(waitid, many_are_asked_once)
{
	unsigned long long alone;
	unsigned int i, k;
	struct iou r;

	if (iou_on_stock())
		SKIP(return, "each of them is asked");
	ASSERT_EQ(0, iou_init_cq(&r, 4096, 32768, variant->flags));
	/* the ring exists already, as a fork also copies its mappings */
	alone = time_of_child();
	for (k = 0; k < 8; k++) {
		for (i = 0; i < 4000; i++)
			prep_waitid(&r, P_PID, self->child, NULL, WEXITED)->flags =
				variant->sqe_flags;
		ASSERT_EQ(0, iou_submit_issued(&r));
	}
	EXPECT_GT(4 * alone + 2000, time_of_child());
	iou_exit(&r);
}

/* Children end while waits for them are made and cancelled: each wait ends once. */
TEST_F(waitid, races)
{
	unsigned long i, rounds = iou_rounds(200);
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	for (i = 0; i < rounds; i++) {
		int pid = fork(), j, res = 0;

		if (!pid)
			_exit(0);
		ASSERT_LT(0, pid);
		prep_waitid(r, P_PID, pid, NULL, WEXITED);
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 2;
		if (i % 2)
			sched_yield();
		ASSERT_EQ(2, iou_submit(r));
		for (j = 0; j < 2; j++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			if (cqe.user_data == 1)
				res = cqe.res;
		}
		ASSERT_TRUE(!res || res == -ECANCELED);
		/* a cancelled wait has not reaped the child */
		ASSERT_EQ(res ? pid : -1, waitpid(pid, NULL, 0));
	}
}

/* A process with waits exits, is killed, or executes a program, which goes on without waits. */
TEST_F(waitid, exit_and_exec)
{
	unsigned int how;
	int pid, status;

	for (how = 0; how < 3; how++) {
		pid = fork();
		if (!pid) {
			struct iou r;
			int i;

			if (make_child() < 0 || iou_init(&r, 8, variant->flags))
				_exit(1);
			for (i = 0; i < 4; i++)
				prep_waitid(&r, P_ALL, 0, NULL, WEXITED);
			if (iou_submit_issued(&r))
				_exit(2);
			if (how == 0)
				_exit(7);
			if (how == 1)
				kill(getpid(), SIGKILL);
			execl("/bin/sh", "sh", "-c", "exit 7", NULL);
			_exit(3);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		if (how == 1) {
			EXPECT_EQ(SIGKILL, WTERMSIG(status));
		} else {
			EXPECT_EQ(7, WEXITSTATUS(status));
		}
	}
}

static void *wait_in_thread(void *arg)
{
	struct iou *r = arg;

	return (void *)(long)iou_submit_issued(r);
}

/* The thread of a wait exits: the wait ends, as no task is left to reap the child for it. */
TEST_F(waitid, thread_exits)
{
	struct iou *r = &self->r;
	pthread_t thread;
	void *ret;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL))
		SKIP(return, "one task alone submits");
	prep_waitid(r, P_PID, self->child, NULL, WEXITED);
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_thread, r));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	ASSERT_EQ(NULL, ret);
	kill(self->child, SIGKILL);
	EXPECT_EQ(-ECANCELED, iou_discard(r, 1));
	EXPECT_EQ(self->child, waitpid(self->child, NULL, 0));
	self->child = 0;
}

/* enough children that an event is likely to come while a task searches them */
#define MANY	(iou_slow_kernel() ? 200 : 400)

FIXTURE(waitid_many) {
	struct iou r;
	int *children;
	int storm;
};

FIXTURE_VARIANT(waitid_many) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(waitid_many);

FIXTURE_SETUP(waitid_many)
{
	int i, many = MANY;

	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	self->children = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->children);
	for (i = 0; i < many; i++) {
		self->children[i] = make_child();
		ASSERT_LT(0, self->children[i]);
	}
	/* a process stops and continues one of the children all the time */
	self->storm = fork();
	ASSERT_LE(0, self->storm);
	if (!self->storm) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			kill(self->children[0], SIGSTOP);
			kill(self->children[0], SIGCONT);
		}
	}
}

FIXTURE_TEARDOWN(waitid_many)
{
	int i, many = MANY;

	end_child(self->storm);
	for (i = 0; i < many; i++)
		end_child(self->children[i]);
	iou_exit(&self->r);
	munmap(self->children, IOU_PAGE);
}

/*
 * Events for which the request does not wait come while the task searches its children.  The task
 * searches again for each event, and still serves other requests.  Debug kernels check the states
 * of the request.  Mutant: waitid-looks-on.
 */
TEST_F(waitid_many, events_while_it_looks)
{
	int i, victim, rounds = MANY / 20;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	siginfo_t info;

	for (i = 1; i <= rounds; i++) {
		victim = self->children[i];
		prep_waitid(r, P_ALL, 0, &info, WEXITED);
		ASSERT_EQ(0, iou_submit_issued(r));
		/* for a while the task only searches its children */
		iou_wait_ms(r, 1, 20);
		ASSERT_EQ(0, iou_ready(r));
		iou_nop(r, 5);
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_EQ(5, cqe.user_data);
		self->children[i] = 0;
		kill(victim, SIGKILL);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_EQ(1, cqe.user_data);
		ASSERT_EQ(0, cqe.res);
		ASSERT_EQ(victim, info.si_pid);
	}
}

TEST_HARNESS_MAIN
