// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: restrictions of a task, which its rings and its children have */
/*
 * Each test runs in a process of its own, which restricts itself for good.  READ of descriptor -1
 * ends with -EBADF if it is allowed, and with -EACCES if it is denied.
 */
#include "iou_test.h"
#include <fcntl.h>
#include <pthread.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SOME_USER	4242

/* an environment variable, with which this program only tries a READ, see tried_by_exec() */
#define TRY_READ	"IOU_TRY_READ"

struct list {
	struct io_uring_task_restriction head;
	struct io_uring_restriction all[8];
};

static const struct io_uring_restriction nop_only[] = {
	{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_NOP },
	{ .opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED,
	  .sqe_flags = IOSQE_ASYNC | IOSQE_IO_LINK | IOSQE_IO_HARDLINK | IOSQE_IO_DRAIN },
};

static int restrict_task(const struct io_uring_restriction *all, unsigned int nr)
{
	struct list list = { .head.nr_res = nr };

	memcpy(list.all, all, nr * sizeof(*all));
	return iou_sys_register(-1, IORING_REGISTER_RESTRICTIONS, &list, 1);
}

static int drop_privileges(void)
{
	return iou_ret(syscall(__NR_setresuid, SOME_USER, SOME_USER, SOME_USER));
}

static int no_new_privs(void)
{
	return iou_ret(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

/* Return: the result of an operation on a new ring of the caller. */
static int try_op(unsigned int ring_flags, int op, unsigned int sqe_flags)
{
	struct iou r;
	int ret = iou_init(&r, 4, ring_flags);

	if (ret)
		return ret;
	iou_prep(&r, op, -1, NULL, 0, 0)->flags = sqe_flags;
	ret = iou_one(&r);
	iou_exit(&r);
	return ret;
}

static int try_read(void)
{
	return try_op(0, IORING_OP_READ, 0);
}

/* Return: the result of @what in a child. */
static int in_child(int (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(-what());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? -WEXITSTATUS(status) : -ESRCH;
}

static void *in_thread(void *what)
{
	return (void *)(long)((int (*)(void))what)();
}

/* Return: the result of @what in a thread. */
static int of_thread(int (*what)(void))
{
	pthread_t thread;
	void *ret;

	if (pthread_create(&thread, NULL, in_thread, what))
		return -EAGAIN;
	pthread_join(thread, &ret);
	return (long)ret;
}

static int restrict_to_nops(void)
{
	return restrict_task(nop_only, ARRAY_LEN(nop_only)) ?: try_read();
}

static int exec_read(void)
{
	setenv(TRY_READ, "1", 1);
	execl("/proc/self/exe", "try", NULL);
	return -errno;
}

/* Try a READ in a process that exec_read() has started. */
static __attribute__((constructor)) void tried_by_exec(void)
{
	if (getenv(TRY_READ))
		_exit(-try_read());
}

/* Mutants: task-restricts-setuid, task-restricted-twice. */
TEST(rights)
{
	if (!iou_kernel_from("7"))
		SKIP(return, "no restrictions of tasks");
	if (getuid())
		SKIP(return, "needs to be root");
	/* with CAP_SYS_ADMIN, or with no_new_privs */
	EXPECT_EQ(-EACCES, in_child(restrict_to_nops));
	EXPECT_EQ(-EBADF, try_read());
	ASSERT_EQ(0, drop_privileges());
	EXPECT_EQ(-EACCES, restrict_task(nop_only, 1));
	EXPECT_EQ(-EBADF, try_read());
	ASSERT_EQ(0, no_new_privs());
	EXPECT_EQ(0, restrict_task(nop_only, 1));
	EXPECT_EQ(-EACCES, try_read());
	/* once only */
	EXPECT_EQ(-EPERM, restrict_task(nop_only, 1));
	EXPECT_EQ(-EPERM, restrict_task(nop_only, 0));
}

/* Mutant: task-restriction-reserved. */
TEST(bad_arguments)
{
	struct list list = { .head.nr_res = 1 };
	unsigned int i;

	if (!iou_kernel_from("7"))
		SKIP(return, "no restrictions of tasks");
	ASSERT_EQ(0, no_new_privs());
	list.all[0] = nop_only[0];
#define REGISTER(nr)	iou_sys_register(-1, IORING_REGISTER_RESTRICTIONS, &list, nr)
	EXPECT_EQ(-EINVAL, REGISTER(0));
	EXPECT_EQ(-EINVAL, REGISTER(2));
	list.head.flags = 1;
	EXPECT_EQ(-EINVAL, REGISTER(1));
	list.head.flags = 0;
	for (i = 0; i < ARRAY_LEN(list.head.resv); i++) {
		list.head.resv[i] = 1;
		EXPECT_EQ(-EINVAL, REGISTER(1));
		list.head.resv[i] = 0;
	}
	list.head.nr_res = 5000;
	EXPECT_EQ(-EINVAL, REGISTER(1));
	list.head.nr_res = 1;
	list.all[0].opcode = IORING_RESTRICTION_LAST;
	EXPECT_EQ(-EINVAL, REGISTER(1));
	list.all[0] = nop_only[0];
	list.all[0].sqe_op = 255;
	EXPECT_EQ(-EINVAL, REGISTER(1));
	list.all[0].opcode = IORING_RESTRICTION_REGISTER_OP;
	EXPECT_EQ(-EINVAL, REGISTER(1));
	EXPECT_EQ(-EFAULT, iou_sys_register(-1, IORING_REGISTER_RESTRICTIONS, (void *)8, 1));
	/* nothing was restricted */
	EXPECT_EQ(-EBADF, try_read());
	list.all[0] = nop_only[0];
	EXPECT_EQ(0, REGISTER(1));
	EXPECT_EQ(-EACCES, try_read());
}

/*
 * A list restricts SQEs, register opcodes or both, as it does for a ring.  An empty one denies even
 * calls without a ring.  Mutants: task-blind-calls-free, task-list-holds-late.
 */
TEST(kinds)
{
	static const struct io_uring_restriction lists[][2] = {
		{ { .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_NOP } },
		{ { .opcode = IORING_RESTRICTION_REGISTER_OP,
		    .register_op = IORING_REGISTER_PROBE } },
		{ { .opcode = IORING_RESTRICTION_REGISTER_OP,
		    .register_op = IORING_REGISTER_QUERY },
		  { .opcode = IORING_RESTRICTION_SQE_FLAGS_REQUIRED, .sqe_flags = IOSQE_ASYNC } },
		{ },
	};
	static const struct {
		int nr, nop, read, probe, query, enable;
	} rows[] = {
		{ 1, 0, -EACCES, 0, 0, 0 },
		{ 1, 0, -EBADF, 0, -EACCES, -EACCES },
		{ 2, -EACCES, -EACCES, -EACCES, 0, -EACCES },
		{ 0, -EACCES, -EACCES, -EACCES, -EACCES, -EACCES },
	};
	char probe[sizeof(struct io_uring_probe)] = { };
	unsigned int i;
	int failures;
	struct iou r;

	if (!iou_kernel_from("7"))
		SKIP(return, "no restrictions of tasks");
	ASSERT_EQ(0, no_new_privs());
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		if (!fork()) {
			failures = restrict_task(lists[i], rows[i].nr) != 0;
			failures += 2 * (rows[i].nop != try_op(0, IORING_OP_NOP, 0));
			failures += 4 * (rows[i].read != try_op(0, IORING_OP_READ, 0));
			failures += 8 * (rows[i].query !=
					 iou_sys_register(-1, IORING_REGISTER_QUERY, NULL, 0));
			iou_init(&r, 4, IORING_SETUP_R_DISABLED);
			failures += 16 * (rows[i].probe !=
					  iou_register(&r, IORING_REGISTER_PROBE, probe, 0));
			failures += 32 * (rows[i].enable !=
					  iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
			_exit(failures);
		}
		wait(&failures);
		EXPECT_EQ(0, failures) {
			TH_LOG("list %u: %#x", i, failures);
		}
	}
}

/* Mutant: ring-inherits-nothing. */
TEST(inherited)
{
	if (!iou_kernel_from("7"))
		SKIP(return, "no restrictions of tasks");
	ASSERT_EQ(0, no_new_privs());
	EXPECT_EQ(-EBADF, in_child(try_read));
	EXPECT_EQ(-EBADF, in_child(exec_read));
	EXPECT_EQ(-EBADF, of_thread(try_read));
	ASSERT_EQ(0, restrict_task(nop_only, ARRAY_LEN(nop_only)));
	EXPECT_EQ(-EACCES, in_child(try_read));
	EXPECT_EQ(-EACCES, in_child(exec_read));
	EXPECT_EQ(-EACCES, of_thread(try_read));
}

/* A task restricts itself and its later children, but no other task. */
TEST(others_are_free)
{
	if (!iou_kernel_from("7"))
		SKIP(return, "no restrictions of tasks");
	ASSERT_EQ(0, no_new_privs());
	EXPECT_EQ(-EACCES, in_child(restrict_to_nops));
	EXPECT_EQ(-EBADF, try_read());
	EXPECT_EQ(-EACCES, of_thread(restrict_to_nops));
	EXPECT_EQ(-EBADF, try_read());
	EXPECT_EQ(0, restrict_task(nop_only, ARRAY_LEN(nop_only)));
	EXPECT_EQ(-EPERM, in_child(restrict_to_nops));
}

/* A fork that fails, and tasks that end, drop what they share. */
TEST(forks_that_fail)
{
	int one = 1, i;
	/* late in the fork: only a privileged task may choose the PID of a child */
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&one, .set_tid_size = 1,
	};

	if (!iou_kernel_from("7"))
		SKIP(return, "no restrictions of tasks");
	ASSERT_EQ(0, no_new_privs());
	ASSERT_EQ(0, restrict_task(nop_only, ARRAY_LEN(nop_only)));
	if (!getuid())
		ASSERT_EQ(0, drop_privileges());
	for (i = 0; i < 100; i++)
		ASSERT_EQ(-EACCES, in_child(try_read));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(-EPERM, iou_ret(syscall(__NR_clone3, &args, sizeof(args))));
	EXPECT_EQ(-EACCES, try_read());
}

FIXTURE(doors) {
	struct iou outside;
};

FIXTURE_VARIANT(doors) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(doors);

FIXTURE_SETUP(doors)
{
	self->outside.fd = -1;
	if (!iou_kernel_from("7"))
		SKIP(return, "no restrictions of tasks");
	ASSERT_EQ(0, iou_init(&self->outside, 8, 0));
	ASSERT_EQ(0, no_new_privs());
}

FIXTURE_TEARDOWN(doors)
{
	iou_exit(&self->outside);
}

/* A ring with the restrictions denies an SQE, in whatever way it would be issued. */
TEST_F(doors, ways_to_issue)
{
	static const unsigned int ways[] = {
		0, IOSQE_ASYNC, IOSQE_IO_LINK, IOSQE_IO_HARDLINK, IOSQE_IO_DRAIN,
		IOSQE_ASYNC | IOSQE_IO_LINK, IOSQE_IO_DRAIN | IOSQE_IO_LINK,
		/* flags that the list does not allow */
		IOSQE_FIXED_FILE, IOSQE_CQE_SKIP_SUCCESS,
	};
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	unsigned int i;
	struct iou r;
	int id;

	ASSERT_EQ(0, restrict_task(nop_only, ARRAY_LEN(nop_only)));
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags | IORING_SETUP_SUBMIT_ALL));
	id = iou_register(&r, IORING_REGISTER_PERSONALITY, NULL, 0);
	ASSERT_LT(0, id);
	for (i = 0; i < ARRAY_LEN(ways); i++) {
		iou_prep(&r, IORING_OP_READ, -1, NULL, 0, 0)->flags = ways[i];
		EXPECT_EQ(-EACCES, iou_one(&r)) {
			TH_LOG("SQE flags %#x", ways[i]);
		}
	}
	iou_prep(&r, IORING_OP_READ, -1, NULL, 0, 0)->personality = id;
	EXPECT_EQ(-EACCES, iou_one(&r));
	iou_prep(&r, IORING_OP_URING_CMD, -1, NULL, 0, 0);
	EXPECT_EQ(-EACCES, iou_one(&r));
	/* a message to a ring without restrictions is an operation like others */
	sqe = iou_prep(&r, IORING_OP_MSG_RING, self->outside.fd, NULL, 1, 2);
	EXPECT_EQ(-EACCES, iou_one(&r));
	EXPECT_EQ(0, iou_ready(&self->outside));
	/* behind an operation that is allowed, also one of a worker */
	for (i = 0; i < 4; i++) {
		iou_nop(&r, 1)->flags = (i & 1 ? IOSQE_IO_HARDLINK : IOSQE_IO_LINK) |
					(i & 2 ? IOSQE_ASYNC : 0);
		sqe = iou_prep(&r, IORING_OP_READ, -1, NULL, 0, 0);
		sqe->user_data = 2;
		ASSERT_EQ(2, iou_submit(&r));
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(-ECANCELED, cqe.res);
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(-EACCES, cqe.res);
	}
	iou_nop(&r, 1);
	EXPECT_EQ(0, iou_one(&r));
	iou_exit(&r);
}

/*
 * Rings from before keep what they may do, and those of other tasks as well.  The descriptor of one
 * cannot be passed, but a child has it.
 */
TEST_F(doors, rings_from_outside)
{
	char space[CMSG_SPACE(sizeof(int))] = { };
	struct iovec iov = { "x", 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
			      .msg_controllen = sizeof(space) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	struct io_uring_params p = { .flags = IORING_SETUP_ATTACH_WQ | IORING_SETUP_SQPOLL };
	struct iou thread, attached;
	int pair[2];

	ASSERT_EQ(0, iou_init(&thread, 8, IORING_SETUP_SQPOLL));
	ASSERT_EQ(0, restrict_task(nop_only, ARRAY_LEN(nop_only)));
	iou_prep(&self->outside, IORING_OP_READ, -1, NULL, 0, 0);
	EXPECT_EQ(-EBADF, iou_one(&self->outside));
	iou_prep(&thread, IORING_OP_READ, -1, NULL, 0, 0);
	EXPECT_EQ(-EBADF, iou_one(&thread));
	/* a new ring has the restrictions, even if the thread of another one serves it */
	p.wq_fd = thread.fd;
	ASSERT_EQ(0, iou_init_params(&attached, 8, &p));
	iou_prep(&attached, IORING_OP_READ, -1, NULL, 0, 0);
	EXPECT_EQ(-EACCES, iou_one(&attached));

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &self->outside.fd, sizeof(int));
	EXPECT_EQ(-EINVAL, iou_ret(sendmsg(pair[0], &msg, 0)));
	close(pair[0]);
	close(pair[1]);
	iou_exit(&attached);
	iou_exit(&thread);
}

/* Calls of io_uring_register(), for a ring and without one. */
TEST_F(doors, register_calls)
{
	static const struct io_uring_restriction list[] = {
		{ .opcode = IORING_RESTRICTION_REGISTER_OP,
		  .register_op = IORING_REGISTER_ENABLE_RINGS },
		{ .opcode = IORING_RESTRICTION_REGISTER_OP,
		  .register_op = IORING_REGISTER_RING_FDS },
	};
	struct io_uring_clone_buffers clone = { .src_fd = self->outside.fd };
	struct io_uring_sqe message = { .opcode = IORING_OP_MSG_RING, .fd = self->outside.fd };
	struct io_uring_rsrc_update add = { .offset = -1U };
	struct iou r;

	ASSERT_EQ(0, restrict_task(list, ARRAY_LEN(list)));
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags | IORING_SETUP_R_DISABLED));
	EXPECT_EQ(-EACCES, iou_register(&r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	EXPECT_EQ(-EACCES, iou_register(&r, IORING_REGISTER_PERSONALITY, NULL, 0));
	EXPECT_EQ(-EACCES, iou_register(&r, IORING_REGISTER_RESTRICTIONS, (void *)list, 1));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	EXPECT_EQ(-EACCES, iou_register(&r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	add.data = r.fd;
	ASSERT_EQ(1, iou_register(&r, IORING_REGISTER_RING_FDS, &add, 1));
	EXPECT_EQ(-EACCES, iou_sys_register(add.offset, IORING_REGISTER_PROBE |
					    IORING_REGISTER_USE_REGISTERED_RING, NULL, 0));
	EXPECT_EQ(-EACCES, iou_sys_register(-1, IORING_REGISTER_SEND_MSG_RING, &message, 1));
	EXPECT_EQ(0, iou_ready(&self->outside));
	EXPECT_EQ(-EACCES, iou_sys_register(-1, IORING_REGISTER_QUERY, NULL, 0));
	EXPECT_EQ(-EACCES, restrict_task(nop_only, 1));
	iou_exit(&r);
}

/* A ring cannot replace the list of its task, not even by a stricter one. */
TEST_F(doors, own_restrictions)
{
	struct iou r;

	ASSERT_EQ(0, restrict_task(nop_only, 1));
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags | IORING_SETUP_R_DISABLED));
	EXPECT_EQ(-EBUSY, iou_register(&r, IORING_REGISTER_RESTRICTIONS, (void *)nop_only, 1));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	iou_nop(&r, 1);
	EXPECT_EQ(0, iou_one(&r));
	iou_prep(&r, IORING_OP_READ, -1, NULL, 0, 0);
	EXPECT_EQ(-EACCES, iou_one(&r));
	iou_exit(&r);
}

TEST_HARNESS_MAIN
