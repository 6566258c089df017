// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: MSG_RING - CQEs and files handed from ring to ring */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include "msg.h"

/* All kinds of ring that can be the target of a message. */
FIXTURE(target) {
	struct iou from;
	struct iou to;
	int pipe[2];
};

FIXTURE_VARIANT(target) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(target);
IOU_KIND(target, cqe32, IORING_SETUP_CQE32);
IOU_KIND(target, iopoll, IORING_SETUP_IOPOLL);
IOU_KIND(target, defer_iopoll, IOU_DEFER | IORING_SETUP_IOPOLL);
IOU_KIND(target, sqpoll_iopoll, IORING_SETUP_SQPOLL | IORING_SETUP_IOPOLL);
IOU_KIND(target, defer_cqe32, IOU_DEFER | IORING_SETUP_CQE32);

FIXTURE_SETUP(target)
{
	ASSERT_EQ(0, iou_init(&self->from, 32, IOU_DEFER));
	ASSERT_EQ(0, iou_init_cq(&self->to, 8, 16, variant->flags));
	ASSERT_EQ(0, pipe(self->pipe));
}

FIXTURE_TEARDOWN(target)
{
	iou_exit(&self->from);
	iou_exit(&self->to);
	close(self->pipe[0]);
	close(self->pipe[1]);
}

/* A message posts a CQE with its user_data and result.  Mutant: message-res-dropped. */
TEST_F(target, plain_data)
{
	struct io_uring_cqe *cqe;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, send_data(&self->from, self->to.fd, 100 + i, i ? 7 * i : -5));
		ASSERT_EQ(0, iou_wait(&self->to, 1));
		cqe = iou_cqe_at(&self->to, 0);
		EXPECT_EQ(100 + i, cqe->user_data);
		EXPECT_EQ(i ? 7 * i : -5, cqe->res);
		EXPECT_EQ(0, cqe->flags);
		if (variant->flags & IORING_SETUP_CQE32) {
			EXPECT_EQ(0, cqe->big_cqe[0]);
			EXPECT_EQ(0, cqe->big_cqe[1]);
		}
		iou_seen(&self->to, 1);
	}
}

/*
 * With IORING_MSG_RING_FLAGS_PASS, the sender also sets the flags of the CQE.
 * Mutant: message-flags-dropped.
 */
TEST_F(target, flags_pass)
{
	struct io_uring_sqe *sqe = prep_msg(&self->from, self->to.fd, 1, 2);

	sqe->msg_ring_flags = IORING_MSG_RING_FLAGS_PASS;
	sqe->file_index = 0x12340042;
	ASSERT_EQ(0, iou_one(&self->from));
	ASSERT_EQ(0, iou_wait(&self->to, 1));
	EXPECT_EQ(0x12340042, iou_cqe_at(&self->to, 0)->flags);
	EXPECT_EQ(2, iou_cqe_at(&self->to, 0)->res);
}

/*
 * A ring whose CQEs have 16 bytes refuses the flag of larger ones; mixed_test has the others.
 * differences: message-large-flag
 */
TEST_F(target, large_flag)
{
	bool takes = variant->flags & IORING_SETUP_CQE32 || iou_on_older_stock();
	struct io_uring_sqe *sqe = prep_msg(&self->from, self->to.fd, 1, 2);

	sqe->msg_ring_flags = IORING_MSG_RING_FLAGS_PASS;
	sqe->file_index = IORING_CQE_F_32;
	EXPECT_EQ(takes ? 0 : -EINVAL, iou_one(&self->from));
	if (!takes)
		return;
	ASSERT_EQ(0, iou_wait(&self->to, 1));
	EXPECT_EQ(IORING_CQE_F_32, iou_cqe_at(&self->to, 0)->flags);
}

/* Send a message without a ring of the sender.  Return: 0 or a negative errno. */
static int send_without_ring(const struct io_uring_sqe *sqe)
{
	return iou_sys_register(-1, IORING_REGISTER_SEND_MSG_RING, sqe, 1);
}

/* A task sends messages without a ring of its own, in order with those of a ring. */
TEST_F(target, without_ring)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_MSG_RING, .fd = self->to.fd, .len = 7, .ioprio = 3,
	};
	struct io_uring_cqe *cqe;
	int i, status;

	/* differences: none, 6.12 has no such call */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_REGISTER_SEND_MSG_RING");
	/* a child has never used io_uring */
	if (!fork())
		_exit(!!send_without_ring(&sqe));
	ASSERT_LT(0, wait(&status));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, iou_wait(&self->to, 1));
	EXPECT_EQ(7, iou_cqe_at(&self->to, 0)->res);
	iou_seen(&self->to, 1);
	for (i = 0; i < 4; i++) {
		sqe.off = 100 + 2 * i;
		ASSERT_EQ(0, send_without_ring(&sqe));
		ASSERT_EQ(0, send_data(&self->from, self->to.fd, 101 + 2 * i, 7));
	}
	sqe.off = 108;
	sqe.len = -5;
	sqe.msg_ring_flags = IORING_MSG_RING_FLAGS_PASS;
	sqe.file_index = 0x12340042;
	ASSERT_EQ(0, send_without_ring(&sqe));
	ASSERT_EQ(0, iou_wait(&self->to, 9));
	for (i = 0; i < 9; i++) {
		cqe = iou_cqe_at(&self->to, i);
		EXPECT_EQ(100 + i, cqe->user_data);
		EXPECT_EQ(i < 8 ? 7 : -5, cqe->res);
		EXPECT_EQ(i < 8 ? 0 : 0x12340042, cqe->flags);
	}
	iou_seen(&self->to, 9);
}

/* Mutant: message-without-ring-sends-file. */
TEST_F(target, without_ring_refused)
{
	const struct io_uring_sqe good = {
		.opcode = IORING_OP_MSG_RING, .fd = self->to.fd,
	};
	struct io_uring_sqe sqe;
	struct iou disabled;

	/* differences: none, 6.12 has no such call */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_REGISTER_SEND_MSG_RING");
#define REFUSED(errno_, field, value) do {		\
	sqe = good;					\
	sqe.field = (value);				\
	EXPECT_EQ(-(errno_), send_without_ring(&sqe));	\
} while (0)
	REFUSED(EINVAL, opcode, IORING_OP_NOP);
	REFUSED(EINVAL, flags, IOSQE_CQE_SKIP_SUCCESS);
	REFUSED(EINVAL, flags, IOSQE_FIXED_FILE);
	REFUSED(EINVAL, personality, 1);
	REFUSED(EINVAL, buf_index, 1);
	REFUSED(EINVAL, addr, IORING_MSG_SEND_FD);
	REFUSED(EINVAL, addr, 2);
	REFUSED(EINVAL, addr3, 1);
	REFUSED(EINVAL, file_index, 1);
	REFUSED(EINVAL, msg_ring_flags, 4);
	REFUSED(EINVAL, msg_ring_flags, IORING_MSG_RING_CQE_SKIP);
	REFUSED(EBADF, fd, -1);
	REFUSED(EBADFD, fd, self->pipe[0]);
	ASSERT_EQ(0, iou_init(&disabled, 4, IORING_SETUP_R_DISABLED));
	REFUSED(EBADFD, fd, disabled.fd);
	iou_exit(&disabled);
#undef REFUSED
	EXPECT_EQ(-EINVAL, iou_sys_register(-1, IORING_REGISTER_SEND_MSG_RING, &good, 0));
	EXPECT_EQ(-EINVAL, iou_sys_register(-1, IORING_REGISTER_SEND_MSG_RING, &good, 2));
	EXPECT_EQ(-EINVAL, iou_sys_register(-1, IORING_REGISTER_SEND_MSG_RING, NULL, 1));
	EXPECT_EQ(-EFAULT, iou_sys_register(-1, IORING_REGISTER_SEND_MSG_RING, (void *)8, 1));
	/* a ring sends by an SQE */
	EXPECT_EQ(-EINVAL, iou_register(&self->from, IORING_REGISTER_SEND_MSG_RING,
					(void *)&good, 1));
	EXPECT_EQ(0, iou_ready(&self->to));
}

/* The low 32 bits of ->addr are the command.  Mutant: message-command-64. */
TEST_F(target, command_word)
{
	prep_msg(&self->from, self->to.fd, 1, 2)->addr = 1ull << 32;
	ASSERT_EQ(0, iou_one(&self->from));
	ASSERT_EQ(0, iou_wait(&self->to, 1));
	EXPECT_EQ(2, iou_cqe_at(&self->to, 0)->res);
}

/* The low 32 bits of ->addr3 are the slot of the file.  Mutant: message-slot-64. */
TEST_F(target, source_word)
{
	ASSERT_EQ(0, register_slots(&self->from, self->pipe[0]));
	ASSERT_EQ(0, register_slots(&self->to, -1));
	prep_msg(&self->from, self->to.fd, 1, 2)->addr3 = 1ull << 32;
	ASSERT_EQ(0, iou_one(&self->from));
	ASSERT_EQ(0, iou_wait(&self->to, 1));
	prep_file(&self->from, self->to.fd, 0, 1, 3)->addr3 = 1ull << 32;
	ASSERT_EQ(0, iou_one(&self->from));
	ASSERT_EQ(0, iou_wait(&self->to, 2));
	EXPECT_EQ(2, iou_cqe_at(&self->to, 0)->res);
	EXPECT_EQ(3, iou_cqe_at(&self->to, 1)->user_data);
}

/* Return: true if no message arrives within some time. */
static bool nothing_arrived(struct iou *to)
{
	bool polls = (to->flags & (IORING_SETUP_IOPOLL | IORING_SETUP_SQPOLL)) ==
		     IORING_SETUP_IOPOLL;

	/* on an IOPOLL ring without requests a wait returns at once */
	return iou_wait_ms(to, 1, 20) == (polls ? 0 : -ETIME) && !iou_ready(to);
}

/* A message with a bad field or target does not arrive.  Mutant: message-slot-unchecked. */
TEST_F(target, refused)
{
	struct iou *r = &self->from;
	struct io_uring_sqe *sqe;
	int to = self->to.fd;

	prep_msg(r, to, 1, 1)->buf_index = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_msg(r, to, 1, 1)->msg_ring_flags = 4;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_msg(r, to, 1, 1)->personality = 9;
	EXPECT_EQ(-EINVAL, iou_one(r));
	EXPECT_EQ(-EBADF, send_data(r, -1, 1, 1));
	EXPECT_EQ(-EBADF, send_data(r, 999, 1, 1));
	EXPECT_EQ(-EBADFD, send_data(r, self->pipe[0], 1, 1));
	prep_msg(r, to, 1, 1)->addr = 2;
	EXPECT_EQ(-EINVAL, iou_one(r));
	/* the type of the file is checked before the command */
	prep_msg(r, self->pipe[0], 1, 1)->addr = 2;
	EXPECT_EQ(-EBADFD, iou_one(r));
	prep_msg(r, to, 1, 1)->addr3 = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_msg(r, to, 1, 1)->msg_ring_flags = IORING_MSG_RING_CQE_SKIP;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_msg(r, to, 1, 1)->file_index = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));

	/* a slot never holds a ring */
	ASSERT_EQ(0, register_slots(r, self->pipe[0]));
	sqe = prep_msg(r, 0, 1, 1);
	sqe->flags = IOSQE_FIXED_FILE;
	EXPECT_EQ(-EBADFD, iou_one(r));
	sqe = prep_msg(r, 1, 1, 1);
	sqe->flags = IOSQE_FIXED_FILE;
	EXPECT_EQ(-EBADF, iou_one(r));
	EXPECT_TRUE(nothing_arrived(&self->to));
}

TEST_F(target, file_refused)
{
	struct iou *r = &self->from;
	int to = self->to.fd;

	prep_file(r, to, 0, 1, 1)->len = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	/* IORING_MSG_RING_FLAGS_PASS has no effect here */
	prep_file(r, to, 0, 1, 1)->msg_ring_flags = IORING_MSG_RING_FLAGS_PASS;
	EXPECT_EQ(-EBADF, iou_one(r));
	prep_file(r, r->fd, 0, 1, 1);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_file(r, to, 0, 1, 1);
	EXPECT_EQ(-EBADF, iou_one(r));
	ASSERT_EQ(0, register_slots(r, self->pipe[0]));
	prep_file(r, to, 1, 1, 1);
	EXPECT_EQ(-EBADF, iou_one(r));
	prep_file(r, to, SLOTS, 1, 1);
	EXPECT_EQ(-EBADF, iou_one(r));
	prep_file(r, to, 0, 1, 1);
	EXPECT_EQ(-ENXIO, iou_one(r));
	prep_file(r, to, 0, IORING_FILE_INDEX_ALLOC, 1);
	EXPECT_EQ(-ENFILE, iou_one(r));
	ASSERT_EQ(0, register_slots(&self->to, -1));
	prep_file(r, to, 0, SLOTS + 1, 1);
	EXPECT_EQ(-EINVAL, iou_one(r));
	EXPECT_TRUE(nothing_arrived(&self->to));
}

/* A ring may send a message to itself.  Mutant: message-own-ring. */
TEST_F(target, to_itself)
{
	unsigned int seen = 0, i;

	if (variant->flags & (IORING_SETUP_SQPOLL | IORING_SETUP_IOPOLL))
		SKIP(return, "another task submits, or reaps");
	prep_msg(&self->to, self->to.fd, 0x20, 3)->user_data = 0x10;
	ASSERT_EQ(1, iou_submit_wait(&self->to, 2));
	ASSERT_EQ(0, iou_wait(&self->to, 2));
	for (i = 0; i < 2; i++)
		seen += iou_cqe_at(&self->to, i)->user_data;
	EXPECT_EQ(0x30, seen);
}

/* A disabled ring accepts no messages.  Mutant: message-to-the-disabled. */
TEST_F(target, disabled)
{
	struct iou off;

	ASSERT_EQ(0, iou_init(&off, 4, variant->flags | IORING_SETUP_R_DISABLED));
	EXPECT_EQ(-EBADFD, send_data(&self->from, off.fd, 1, 1));
	/* the fields of the SQE are checked before the state of the ring */
	prep_msg(&self->from, off.fd, 1, 1)->addr3 = 1;
	EXPECT_EQ(-EINVAL, iou_one(&self->from));
	ASSERT_EQ(0, iou_register(&off, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	EXPECT_EQ(0, send_data(&self->from, off.fd, 1, 1));
	EXPECT_EQ(0, iou_wait(&off, 1));
	iou_exit(&off);
}

/*
 * More messages than the CQ holds all arrive, in order, and none is counted as lost.
 * Mutant: message-entry-kept.
 */
TEST_F(target, overflow_in_order)
{
	unsigned int i, nr = 80;

	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, send_data(&self->from, self->to.fd, i, i));
		/* the target fills its CQ, and later messages overflow */
		if (i == nr / 2)
			ASSERT_EQ(0, iou_wait(&self->to, 1));
	}
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, iou_wait(&self->to, 1));
		ASSERT_EQ(i, iou_cqe_at(&self->to, 0)->user_data);
		iou_seen(&self->to, 1);
	}
	EXPECT_EQ(0, *self->to.cq_lost);
}

/*
 * Return: true if the target's owner posts the CQEs of messages; false on 6.12 for IOPOLL rings.
 * differences: msg-defer-iopoll
 */
static bool owner_posts(unsigned int flags)
{
	return flags & IORING_SETUP_DEFER_TASKRUN &&
	       !(iou_on_stock() && flags & IORING_SETUP_IOPOLL);
}

/*
 * A message in flight is not reported as an overflow.  A multi-writer ring has its CQE at once.
 * Mutant: message-seen-late.
 */
TEST_F(target, seen_without_entering)
{
	ASSERT_EQ(0, send_data(&self->from, self->to.fd, 1, 1));
	EXPECT_EQ(0, load_acq(self->to.sq_flags) & IORING_SQ_CQ_OVERFLOW);
	EXPECT_EQ(owner_posts(variant->flags) ? 0 : 1, iou_ready(&self->to));
}

/* A message sets IORING_SQ_TASKRUN if its CQE is deferred.  Mutant: message-not-announced. */
TEST_F(target, taskrun_flag)
{
	struct iou r;

	if (!owner_posts(variant->flags))
		SKIP(return, "nothing is deferred");
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags | IORING_SETUP_TASKRUN_FLAG));
	EXPECT_EQ(0, load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
	ASSERT_EQ(0, send_data(&self->from, r.fd, 1, 1));
	EXPECT_EQ(IORING_SQ_TASKRUN, load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
	ASSERT_EQ(0, iou_wait(&r, 1));
	EXPECT_EQ(0, load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
	iou_exit(&r);
}

/* A message signals the eventfd and wakes pollers of the ring.  Mutant: message-eventfd-silent. */
TEST_F(target, eventfd_and_poll)
{
	struct pollfd pfd = { .fd = self->to.fd, .events = POLLIN };
	int efd = eventfd(0, EFD_NONBLOCK);
	unsigned long long count;

	ASSERT_LE(0, efd);
	ASSERT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_EQ(0, iou_register(&self->to, IORING_REGISTER_EVENTFD, &efd, 1));
	ASSERT_EQ(0, send_data(&self->from, self->to.fd, 1, 1));
	EXPECT_EQ(8, read(efd, &count, 8));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLIN, pfd.revents & POLLIN);
	ASSERT_EQ(0, iou_wait(&self->to, 1));
	close(efd);
}

/* A message fills a slot with a file, which can be used at once.  Mutant: message-file-res. */
TEST_F(target, file)
{
	struct io_uring_cqe cqe;
	int i;

	ASSERT_EQ(0, register_slots(&self->from, self->pipe[1]));
	ASSERT_EQ(0, register_slots(&self->to, -1));
	prep_file(&self->from, self->to.fd, 0, 3, 77);
	ASSERT_EQ(0, iou_one(&self->from));
	ASSERT_EQ(0, iou_reap(&self->to, &cqe));
	EXPECT_EQ(77, cqe.user_data);
	EXPECT_EQ(0, cqe.res);
	/* the target chooses the next free slot */
	for (i = 3; i < SLOTS; i++) {
		prep_file(&self->from, self->to.fd, 0, IORING_FILE_INDEX_ALLOC, 78);
		ASSERT_EQ(i, iou_one(&self->from));
		ASSERT_EQ(0, iou_reap(&self->to, &cqe));
		EXPECT_EQ(i, cqe.res);
	}
	/* with IORING_MSG_RING_CQE_SKIP the target gets no CQE */
	prep_file(&self->from, self->to.fd, 0, IORING_FILE_INDEX_ALLOC, 79)->msg_ring_flags =
		IORING_MSG_RING_CQE_SKIP;
	ASSERT_EQ(0, iou_one(&self->from));
	EXPECT_EQ(0, iou_ready(&self->to));

	if (!(variant->flags & IORING_SETUP_IOPOLL)) {
		iou_prep(&self->to, IORING_OP_WRITE, 0, "x", 1, -1)->flags = IOSQE_FIXED_FILE;
		ASSERT_EQ(1, iou_one(&self->to));
	}
}

/*
 * Each message gets one reference to the file, and each slot that is cleared puts one.
 * Mutant: message-file-leaks.
 */
TEST_F(target, file_references)
{
	unsigned int i, rounds = iou_rounds(500);
	struct io_uring_cqe cqe;
	char c;

	ASSERT_EQ(0, register_slots(&self->from, self->pipe[1]));
	ASSERT_EQ(0, register_slots(&self->to, -1));
	close(self->pipe[1]);
	for (i = 0; i < rounds; i++) {
		prep_file(&self->from, self->to.fd, 0, 1 + i % SLOTS, i);
		ASSERT_EQ(0, iou_one(&self->from));
		ASSERT_EQ(0, iou_reap(&self->to, &cqe));
		ASSERT_EQ(i, cqe.user_data);
	}
	ASSERT_EQ(0, iou_register(&self->from, IORING_UNREGISTER_FILES, NULL, 0));
	fcntl(self->pipe[0], F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-1, read(self->pipe[0], &c, 1));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_EQ(0, iou_register(&self->to, IORING_UNREGISTER_FILES, NULL, 0));
	/* task work releases the file, the last writer of the pipe */
	for (i = 0; i < 1000 && read(self->pipe[0], &c, 1) < 0; i++)
		iou_sleep_ms(1);
	EXPECT_EQ(0, read(self->pipe[0], &c, 1));
	self->pipe[1] = dup(0);
}

/* A file replaces a tagged file: message and tag each have a CQE.  Mutant: message-tag-lost. */
TEST_F(target, file_replaces_tagged)
{
	unsigned long long tags[1] = { 55 };
	int fds[1] = { self->pipe[0] };
	struct io_uring_rsrc_register reg = {
		.nr = 1, .data = (uintptr_t)fds, .tags = (uintptr_t)tags,
	};
	unsigned long long sum = 0;
	struct io_uring_cqe cqe;
	int i;

	ASSERT_EQ(0, register_slots(&self->from, self->pipe[1]));
	ASSERT_EQ(0, iou_register(&self->to, IORING_REGISTER_FILES2, &reg, sizeof(reg)));
	prep_file(&self->from, self->to.fd, 0, 1, 1000);
	ASSERT_EQ(0, iou_one(&self->from));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(&self->to, &cqe));
		EXPECT_EQ(0, cqe.res);
		sum += cqe.user_data;
	}
	EXPECT_EQ(1055, sum);
}

/*
 * A ring is closed with messages that its task has not taken.  A new ring works as before.
 * Mutant: message-after-the-ring.
 */
TEST_F(target, closed_with_messages)
{
	int i;

	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, send_data(&self->from, self->to.fd, i, i));
	iou_exit(&self->to);
	EXPECT_EQ(-EBADF, send_data(&self->from, 999, 1, 1));
	ASSERT_EQ(0, iou_init(&self->to, 4, variant->flags));
	ASSERT_EQ(0, send_data(&self->from, self->to.fd, 5, 5));
	ASSERT_EQ(0, iou_wait(&self->to, 1));
}

/* The sender's ring ends before its messages are taken.  Mutant: message-store-dies-early. */
TEST_F(target, sender_gone)
{
	struct iou from;
	int i;

	ASSERT_EQ(0, iou_init(&from, 8, 0));
	for (i = 0; i < 12; i++)
		ASSERT_EQ(0, send_data(&from, self->to.fd, i, i));
	iou_exit(&from);
	iou_sleep_ms(50);
	for (i = 0; i < 12; i++) {
		ASSERT_EQ(0, iou_wait(&self->to, 1));
		ASSERT_EQ(i, iou_cqe_at(&self->to, 0)->user_data);
		iou_seen(&self->to, 1);
	}
}

/* A thread that receives messages in body(). */
struct receiver {
	pthread_t thread;
	struct iou r;
	unsigned int flags, sq, cq;
	pthread_barrier_t ready;
	int (*body)(struct receiver *rx);
	unsigned int arg;
	pid_t tid;
	/* results of iou_init_cq() and of body() */
	int started, ret;
};

static void *receiver_main(void *data)
{
	struct receiver *rx = data;

	rx->tid = gettid();
	rx->started = iou_init_cq(&rx->r, rx->sq, rx->cq, rx->flags);
	pthread_barrier_wait(&rx->ready);
	if (!rx->started)
		rx->ret = rx->body(rx);
	return NULL;
}

static int receiver_start(struct receiver *rx, unsigned int flags, unsigned int cq,
			  int (*body)(struct receiver *rx), unsigned int arg)
{
	memset(rx, 0, sizeof(*rx));
	rx->flags = flags;
	rx->sq = 8;
	rx->cq = cq;
	rx->body = body;
	rx->arg = arg;
	pthread_barrier_init(&rx->ready, NULL, 2);
	if (pthread_create(&rx->thread, NULL, receiver_main, rx))
		return -errno;
	pthread_barrier_wait(&rx->ready);
	return rx->started;
}

static int receiver_end(struct receiver *rx)
{
	pthread_join(rx->thread, NULL);
	iou_exit(&rx->r);
	return rx->ret;
}

FIXTURE(waiter) {
	struct iou from;
	struct receiver rx;
};

FIXTURE_VARIANT(waiter) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(waiter);
IOU_KIND(waiter, iopoll, IORING_SETUP_IOPOLL);
IOU_KIND(waiter, defer_iopoll, IOU_DEFER | IORING_SETUP_IOPOLL);

FIXTURE_SETUP(waiter)
{
	ASSERT_EQ(0, iou_init(&self->from, 64, IOU_DEFER));
}

FIXTURE_TEARDOWN(waiter)
{
	iou_exit(&self->from);
}

/* Wait for @rx->arg messages in one call. */
static int wait_for_all(struct receiver *rx)
{
	unsigned long long late = iou_now_us() + IOU_PATIENCE * 500ULL;
	int ret = iou_wait(&rx->r, rx->arg);

	/* the messages were found at the timeout, without a wake-up */
	if (iou_now_us() > late)
		return -ETIME;
	return ret ? ret : iou_ready(&rx->r) == rx->arg ? 0 : -ERANGE;
}

/* Messages end a wait for all of them.  Mutant: message-uncounted. */
TEST_F(waiter, is_woken)
{
	int i;

	ASSERT_EQ(0, receiver_start(&self->rx, variant->flags, 64, wait_for_all, 8));
	/* on an IOPOLL ring the receiver does not sleep */
	if (!(variant->flags & IORING_SETUP_IOPOLL))
		ASSERT_TRUE(iou_sleeps_in(self->rx.tid, __NR_io_uring_enter));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, send_data(&self->from, self->rx.r.fd, i, i));
	EXPECT_EQ(0, receiver_end(&self->rx));
}

static long voluntary_switches(pid_t tid)
{
	char path[64], line[128];
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &nr) == 1)
			break;
	if (f)
		fclose(f);
	return nr;
}

static int count_wakes(struct receiver *rx)
{
	struct io_uring_getevents_arg arg = {};
	pid_t tid = gettid();
	long before, after;
	int ret;

	before = voluntary_switches(tid);
	ret = iou_enter_arg(&rx->r, 0, rx->arg, IORING_ENTER_GETEVENTS, &arg);
	after = voluntary_switches(tid);
	return ret ? ret : after - before;
}

/* A wait for eight messages sleeps once, not eight times.  Mutant: message-wakes-each. */
TEST_F(waiter, is_woken_once)
{
	int i, sleeps;

	if (variant->flags & (IORING_SETUP_IOPOLL | IORING_SETUP_SQPOLL))
		SKIP(return, "the reaper never sleeps, or it is another's");
	ASSERT_EQ(0, receiver_start(&self->rx, variant->flags, 64, count_wakes, 8));
	ASSERT_TRUE(iou_sleeps_in(self->rx.tid, __NR_io_uring_enter));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, send_data(&self->from, self->rx.r.fd, i, i));
		iou_sleep_ms(10);
	}
	sleeps = receiver_end(&self->rx);
	/* a contended lock may add a sleep */
	EXPECT_LE(1, sleeps);
	EXPECT_GE(2, sleeps);
}

/* Number of messages of two senders that the receiver waits for at a time. */
#define MIX_BATCH	6

struct sender {
	pthread_t thread;
	int fd;
	unsigned int id, nr;
	int ret;
};

static void *sender_main(void *data)
{
	struct sender *s = data;
	unsigned int i, k;
	struct iou r;

	s->ret = iou_init(&r, 8, IOU_DEFER);
	for (i = 0; !s->ret && i < s->nr; i += 4) {
		for (k = i; k < i + 4; k++)
			prep_msg(&r, s->fd, (unsigned long long)s->id << 32 | k, 0);
		if (iou_submit_wait(&r, 4) != 4)
			s->ret = -EIO;
		if (!s->ret)
			s->ret = iou_discard(&r, 4);
	}
	iou_exit(&r);
	return NULL;
}

static int receive_mix(struct receiver *rx)
{
	unsigned int next[3] = {}, total = 0, want = rx->arg;
	int ret;

	while (total < want) {
		unsigned int n = want - total < MIX_BATCH ? want - total : MIX_BATCH;
		struct io_uring_cqe cqe;

		ret = iou_wait(&rx->r, n);
		if (ret)
			return ret;
		while (n--) {
			unsigned int id;

			ret = iou_reap(&rx->r, &cqe);
			if (ret)
				return ret;
			id = cqe.user_data >> 32;
			if (id > 2 || (unsigned int)cqe.user_data != next[id])
				return -EPROTO;
			next[id]++;
			total++;
		}
	}
	return 0;
}

/*
 * The messages of each of two senders arrive in order.
 * Mutant: message-misses-poller.  differences: msg-iopoll-order
 */
TEST_F(waiter, two_senders_in_order)
{
	unsigned int nr = iou_rounds(2000) & ~3U;
	struct sender s[2];
	int i;

	if (iou_on_stock() && variant->flags & IORING_SETUP_IOPOLL)
		SKIP(return, "6.12 does not keep the order of those that find no room");

	ASSERT_EQ(0, receiver_start(&self->rx, variant->flags, 64, receive_mix, 2 * nr));
	for (i = 0; i < 2; i++) {
		s[i] = (struct sender){ .fd = self->rx.r.fd, .id = i + 1, .nr = nr };
		ASSERT_EQ(0, pthread_create(&s[i].thread, NULL, sender_main, &s[i]));
	}
	for (i = 0; i < 2; i++) {
		pthread_join(s[i].thread, NULL);
		EXPECT_EQ(0, s[i].ret);
	}
	EXPECT_EQ(0, receiver_end(&self->rx));
}

/* In each round, wait for two CQEs at once: of a read on a worker, and of a message. */
static int request_and_message(struct receiver *rx)
{
	unsigned long long late;
	unsigned int i;
	int fds[2];
	char c;

	if (pipe(fds))
		return -errno;
	for (i = 0; i < rx->arg; i++) {
		struct __kernel_timespec ts = { .tv_sec = IOU_PATIENCE / 1000 };
		struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
		struct io_uring_sqe *sqe = iou_prep(&rx->r, IORING_OP_READ, fds[0], &c, 1, -1);
		int ret;

		sqe->user_data = 1;
		sqe->flags = IOSQE_ASYNC;
		ret = iou_submit(&rx->r);
		if (ret != 1)
			return ret < 0 ? ret : -EIO;
		if (write(fds[1], "x", 1) != 1)
			return -errno;
		late = iou_now_us() + IOU_PATIENCE * 500ULL;
		ret = iou_enter_arg(&rx->r, 0, 2, IORING_ENTER_GETEVENTS, &arg);
		if (ret || iou_ready(&rx->r) < 2 || iou_now_us() > late)
			return ret ? ret : -ETIME;
		iou_seen(&rx->r, 2);
		/* let the sender send the next message */
		__atomic_add_fetch(&rx->sq, 1, __ATOMIC_RELEASE);
	}
	close(fds[0]);
	close(fds[1]);
	return 0;
}

/* CQEs of requests and of messages count for one wait.  Mutant: message-uncounted. */
TEST_F(waiter, sum_of_both)
{
	unsigned int i, rounds = iou_rounds(400);

	if (variant->flags & IORING_SETUP_IOPOLL)
		SKIP(return, "pipes are not polled devices");
	ASSERT_EQ(0, receiver_start(&self->rx, variant->flags, 64, request_and_message, rounds));
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, send_data(&self->from, self->rx.r.fd, 2, 2));
		while (__atomic_load_n(&self->rx.sq, __ATOMIC_ACQUIRE) < 8 + i + 1 &&
		       !self->rx.ret)
			sched_yield();
	}
	EXPECT_EQ(0, receiver_end(&self->rx));
}

TEST_HARNESS_MAIN
