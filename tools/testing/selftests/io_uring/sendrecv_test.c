// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: SEND, RECV, SENDMSG and RECVMSG - data through sockets */
#include <linux/netlink.h>

#include "sock.h"

/* Kinds of socket pairs.  Most tests run with each kind, or with each kind of stream. */
enum { UNIX_STREAM, TCP_STREAM, NR_STREAMS, UNIX_DGRAM = NR_STREAMS, NR_PAIRS };

#define BYTES	(192 * 1024)

FIXTURE(sendrecv) {
	struct iou r;
	int pair[NR_PAIRS][2];
	char *out, *in;
};

FIXTURE_VARIANT(sendrecv) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(sendrecv);
FIXTURE_VARIANT_ADD(sendrecv, defer_async) {
	.flags = IOU_DEFER,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(sendrecv, plain_async) {
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_SETUP(sendrecv)
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->pair[UNIX_STREAM]));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, self->pair[UNIX_DGRAM]));
	ASSERT_EQ(0, sock_tcp_pair(self->pair[TCP_STREAM]));
	self->out = iou_map_anon(2 * BYTES);
	self->in = self->out + BYTES;
	ASSERT_NE(NULL, self->out);
	iou_fill(self->out, BYTES, 0, 5);
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
}

FIXTURE_TEARDOWN(sendrecv)
{
	int i;

	iou_exit(&self->r);
	for (i = 0; i < NR_PAIRS; i++)
		sock_close_pair(self->pair[i]);
	munmap(self->out, 2 * BYTES);
}

static struct io_uring_sqe *prep_io(struct iou *r, unsigned int sqe_flags, int op, int fd,
				    const void *addr, unsigned int len, unsigned int msg_flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, fd, addr, len, 0);

	sqe->flags = sqe_flags;
	sqe->msg_flags = msg_flags;
	return sqe;
}

static int do_io(struct iou *r, unsigned int sqe_flags, int op, int fd, const void *addr,
		 unsigned int len, unsigned int msg_flags)
{
	prep_io(r, sqe_flags, op, fd, addr, len, msg_flags);
	return iou_one(r);
}

/* Read all data that arrives, at most @len bytes, without io_uring. */
static size_t drain(int fd, char *buf, size_t len)
{
	size_t at = 0;
	ssize_t ret;

	while (at < len && sock_readable(fd)) {
		ret = recv(fd, buf + at, len - at, MSG_DONTWAIT);
		if (ret <= 0)
			break;
		at += ret;
	}
	return at;
}

/* Send all @len bytes; another task may have to receive at the same time. */
static bool give(int fd, const char *buf, size_t len)
{
	return send(fd, buf, len, MSG_NOSIGNAL) == (ssize_t)len;
}

TEST_F(sendrecv, there_and_back)
{
	unsigned int f = variant->sqe_flags;
	int i, len;

	for (i = 0; i < NR_PAIRS; i++) {
		int *fds = self->pair[i];

		for (len = 1; len < 9000; len = len * 3 + 1) {
			memset(self->in, 0, len);
			EXPECT_EQ(len, do_io(&self->r, f, IORING_OP_SEND, fds[0], self->out, len,
					     0));
			ASSERT_TRUE(sock_readable(fds[1]));
			EXPECT_EQ(len, do_io(&self->r, f, IORING_OP_RECV, fds[1], self->in, BYTES,
					     0));
			EXPECT_EQ(-1, iou_verify(self->in, len, 0, 5));
		}
	}
}

/* Data that arrives later, and the end of the stream, complete a receive that waits. */
TEST_F(sendrecv, receive_waits)
{
	unsigned int f = variant->sqe_flags;
	struct io_uring_cqe cqe;
	int i, first;

	for (i = 0; i < 2 * NR_PAIRS; i++) {
		int *fds = self->pair[i / 2];

		first = i & 1 ? IORING_RECVSEND_POLL_FIRST : 0;
		ASSERT_EQ(0, fcntl(fds[1], F_SETFL, i & 1 ? O_NONBLOCK : 0));
		prep_io(&self->r, f, IORING_OP_RECV, fds[1], self->in, 100, 0)->ioprio = first;
		ASSERT_EQ(1, iou_submit(&self->r));
		iou_sleep_ms(2);
		EXPECT_EQ(0, iou_ready(&self->r));
		ASSERT_TRUE(give(fds[0], self->out, 60));
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		EXPECT_EQ(60, cqe.res);
		EXPECT_EQ(0, cqe.flags);
		EXPECT_EQ(-1, iou_verify(self->in, 60, 0, 5));
	}
	for (i = 0; i < NR_STREAMS; i++) {
		prep_io(&self->r, f, IORING_OP_RECV, self->pair[i][1], self->in, 100, 0);
		ASSERT_EQ(1, iou_submit(&self->r));
		ASSERT_EQ(0, shutdown(self->pair[i][0], SHUT_WR));
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		EXPECT_EQ(0, cqe.res);
	}
}

TEST_F(sendrecv, does_not_wait)
{
	unsigned int f = variant->sqe_flags;
	int i;

	for (i = 0; i < NR_PAIRS; i++) {
		int fd = self->pair[i][1];

		EXPECT_EQ(-EAGAIN, do_io(&self->r, f, IORING_OP_RECV, fd, self->in, 1,
					 MSG_DONTWAIT));
		prep_io(&self->r, f, IORING_OP_RECV, fd, self->in, 1, MSG_DONTWAIT)->ioprio =
			IORING_RECVSEND_POLL_FIRST;
		EXPECT_EQ(-EAGAIN, iou_one(&self->r));
		ASSERT_TRUE(give(self->pair[i][0], self->out, 1));
		ASSERT_TRUE(sock_readable(fd));
		/* POLL_FIRST skips the first attempt, and MSG_DONTWAIT skips the wait */
		prep_io(&self->r, f, IORING_OP_RECV, fd, self->in, 1, MSG_DONTWAIT)->ioprio =
			IORING_RECVSEND_POLL_FIRST;
		EXPECT_EQ(-EAGAIN, iou_one(&self->r));
		EXPECT_EQ(1, do_io(&self->r, f, IORING_OP_RECV, fd, self->in, 1, MSG_DONTWAIT));
	}
}

/* With MSG_WAITALL a send waits for room until all is sent; otherwise it may send only a part. */
TEST_F(sendrecv, send_waits)
{
	unsigned int f = variant->sqe_flags, i, round;
	struct io_uring_cqe cqe;
	int small = 4096;
	size_t got;

	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		for (round = 0; round < 2; round++) {
			unsigned int all = round ? 0 : MSG_WAITALL;

			prep_io(&self->r, f, IORING_OP_SEND, fds[0], self->out, BYTES, all);
			ASSERT_EQ(1, iou_submit(&self->r));
			got = 0;
			sock_read_until_cqe(&self->r, fds[1], self->in, BYTES, &got);
			ASSERT_EQ(0, iou_reap(&self->r, &cqe));
			ASSERT_LT(0, cqe.res);
			EXPECT_TRUE(!all || cqe.res == BYTES);
			ASSERT_LE(got, cqe.res);
			got += drain(fds[1], self->in + got, cqe.res - got);
			EXPECT_EQ(cqe.res, got);
			EXPECT_EQ(-1, iou_verify(self->in, got, 0, 5));
		}
	}
}

/*
 * A receive with MSG_WAITALL collects all parts, whatever their sizes.
 * Mutants: recv-waitall-forgets, recv-short-succeeds.
 */
TEST_F(sendrecv, receive_all)
{
	unsigned int f = variant->sqe_flags, i, at, more;
	struct io_uring_cqe cqe;

	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		/* one part is available at once */
		ASSERT_TRUE(give(fds[0], self->out, 100));
		ASSERT_TRUE(sock_readable(fds[1]));
		memset(self->in, 0, 5000);
		prep_io(&self->r, f, IORING_OP_RECV, fds[1], self->in, 5000, MSG_WAITALL);
		ASSERT_EQ(1, iou_submit(&self->r));
		for (at = 100; at < 5000; at += more) {
			more = at < 2000 ? 37 : 1000;
			ASSERT_EQ(0, iou_ready(&self->r));
			ASSERT_TRUE(give(fds[0], self->out + at, more));
			iou_wait_ms(&self->r, 1, 1);
			if (at + more >= 5000)
				break;
		}
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		EXPECT_EQ(5000, cqe.res);
		EXPECT_EQ(-1, iou_verify(self->in, 5000, 0, 5));
		at += more;
		EXPECT_EQ(at - 5000, drain(fds[1], self->in, at - 5000));
		EXPECT_EQ(-1, iou_verify(self->in, at - 5000, 5000, 5));

		/* the stream ends early: the CQE reports the part, and the chain breaks */
		prep_io(&self->r, f | IOSQE_IO_LINK, IORING_OP_RECV, fds[1], self->in, 5000,
			MSG_WAITALL);
		iou_nop(&self->r, 9);
		ASSERT_EQ(2, iou_submit(&self->r));
		ASSERT_TRUE(give(fds[0], self->out, 700));
		iou_wait_ms(&self->r, 1, 1);
		shutdown(fds[0], SHUT_WR);
		ASSERT_EQ(0, iou_wait(&self->r, 2));
		EXPECT_EQ(700, iou_cqe_at(&self->r, 0)->res);
		EXPECT_EQ(-ECANCELED, iou_cqe_at(&self->r, 1)->res);
		iou_seen(&self->r, 2);
		EXPECT_EQ(-1, iou_verify(self->in, 700, 0, 5));
	}
	/* a datagram is complete although it is short */
	ASSERT_TRUE(give(self->pair[UNIX_DGRAM][0], self->out, 100));
	EXPECT_EQ(100, do_io(&self->r, f, IORING_OP_RECV, self->pair[UNIX_DGRAM][1], self->in, 200,
			     MSG_WAITALL));
}

/* With MSG_DONTWAIT, too, the part that is there is the result.  Mutant: part-counts-one-more. */
TEST_F(sendrecv, all_that_is_there)
{
	struct iovec none = { self->in, 0 };
	struct msghdr msg = { .msg_iov = &none, .msg_iovlen = 1 };
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int i;

	for (i = 0; i < UNIX_DGRAM; i++) {
		int *fds = self->pair[i];

		ASSERT_TRUE(give(fds[0], self->out, 10));
		ASSERT_TRUE(sock_readable(fds[1]));
		EXPECT_EQ(10, do_io(r, f, IORING_OP_RECV, fds[1], self->in, 50,
				    MSG_WAITALL | MSG_DONTWAIT));
		EXPECT_EQ(-1, iou_verify(self->in, 10, 0, 5));
		/* an empty vector is no error.  Mutant: empty-vector-refused. */
		EXPECT_EQ(0, do_io(r, f, IORING_OP_SENDMSG, fds[0], &msg, 1, 0));
	}
}

/*
 * A connection that is reset after a few bytes breaks the chain of a receive with MSG_WAITALL.
 * Mutant: recv-reset-succeeds.
 */
TEST_F(sendrecv, reset_in_the_middle)
{
	static const unsigned int parts[] = { 1, 30, 103, 104, 700 };
	struct linger none = { .l_onoff = 1 };
	unsigned int f = variant->sqe_flags | IOSQE_IO_LINK, i;
	struct iovec iov = { self->in, 1000 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct iou *r = &self->r;
	int fds[2], left;

	for (i = 0; i < 2 * ARRAY_LEN(parts); i++) {
		int part = parts[i / 2];

		ASSERT_EQ(0, sock_tcp_pair(fds));
		if (i & 1)
			prep_io(r, f, IORING_OP_RECVMSG, fds[1], &msg, 1, MSG_WAITALL);
		else
			prep_io(r, f, IORING_OP_RECV, fds[1], self->in, 1000, MSG_WAITALL);
		iou_nop(r, 9);
		ASSERT_EQ(2, iou_submit(r));
		ASSERT_TRUE(give(fds[0], self->out, part));
		do {
			iou_wait_ms(r, 1, 1);
			ASSERT_EQ(0, ioctl(fds[1], FIONREAD, &left));
		} while (left);
		ASSERT_EQ(0, setsockopt(fds[0], SOL_SOCKET, SO_LINGER, &none, sizeof(none)));
		close(fds[0]);
		ASSERT_EQ(0, iou_wait(r, 2));
		EXPECT_EQ(part, iou_cqe_at(r, 0)->res);
		EXPECT_EQ(-ECANCELED, iou_cqe_at(r, 1)->res) {
			TH_LOG("%u: %d bytes", i, part);
		}
		iou_seen(r, 2);
		close(fds[1]);
	}
}

/* A receive that is cancelled between parts reports its data.  Mutant: recv-cancel-forgets. */
TEST_F(sendrecv, cancelled_in_the_middle)
{
	unsigned int f = variant->sqe_flags, i, got;
	int *fds, res[3], n;

	for (i = 0; i < 2 * NR_STREAMS; i++) {
		unsigned int part = i & 1 ? 0 : 300;

		fds = self->pair[i / 2];
		ASSERT_TRUE(!part || give(fds[0], self->out, part));
		prep_io(&self->r, f, IORING_OP_RECV, fds[1], self->in, 1000, MSG_WAITALL)
			->user_data = 1;
		ASSERT_EQ(1, iou_submit(&self->r));
		for (got = 1; part && got > 0;) {
			char c;

			iou_wait_ms(&self->r, 0, 0);
			got = recv(fds[1], &c, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
			sched_yield();
		}
		iou_sleep_ms(2);
		iou_prep(&self->r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 2;
		ASSERT_LE(0, iou_submit(&self->r));
		ASSERT_EQ(0, iou_wait(&self->r, 2));
		for (n = 0; n < 2; n++)
			res[iou_cqe_at(&self->r, n)->user_data] = iou_cqe_at(&self->r, n)->res;
		iou_seen(&self->r, 2);
		EXPECT_TRUE(res[2] == 0 || res[2] == -EALREADY);
		EXPECT_TRUE(part ? res[1] == (int)part : res[1] == -ECANCELED || res[1] == -EINTR);
	}
}

/*
 * The socket takes a part and has room again at once.  So the send is between two attempts when the
 * cancel comes, in the same call.  In 6.12 the cancel does not find the send.
 * Mutant: cancel-misses-retry.  differences: cancel-between-attempts
 */
TEST_F(sendrecv, cancelled_between_parts)
{
	unsigned int f = variant->sqe_flags, i, n;
	int fds[2], small = 4096, res[3];
	struct io_uring_sqe *sqe;
	struct iou *r = &self->r;

	if (iou_on_stock())
		return;
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, sock_tcp_pair(fds));
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		setsockopt(fds[1], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		prep_io(r, f, IORING_OP_SEND, fds[0], self->out, BYTES, MSG_WAITALL)->user_data = 1;
		sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0);
		sqe->user_data = 2;
		sqe->cancel_flags = i ? IORING_ASYNC_CANCEL_ALL : 0;
		ASSERT_LE(0, iou_submit(r));
		ASSERT_EQ(0, iou_wait(r, 2));
		for (n = 0; n < 2; n++)
			res[iou_cqe_at(r, n)->user_data] = iou_cqe_at(r, n)->res;
		iou_seen(r, 2);
		/* with ALL, the result counts the ended requests, except one that a worker runs */
		EXPECT_TRUE(res[2] == (int)i || (f && res[2] == (i ? 0 : -EALREADY)));
		EXPECT_TRUE(res[1] > 0 || (f && (res[1] == -ECANCELED || res[1] == -EINTR)));
		EXPECT_GT(BYTES, res[1]);
		sock_close_pair(fds);
	}
}

TEST_F(sendrecv, limited)
{
	struct __kernel_timespec ts = { .tv_nsec = 10000000 };
	unsigned int f = variant->sqe_flags, i;
	int n, res[3];

	for (i = 0; i < NR_PAIRS; i++) {
		prep_io(&self->r, f | IOSQE_IO_LINK, IORING_OP_RECV, self->pair[i][1], self->in,
			10, 0)->user_data = 1;
		iou_prep(&self->r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 2;
		ASSERT_LE(0, iou_submit_wait(&self->r, 2));
		ASSERT_EQ(0, iou_wait(&self->r, 2));
		for (n = 0; n < 2; n++)
			res[iou_cqe_at(&self->r, n)->user_data] = iou_cqe_at(&self->r, n)->res;
		iou_seen(&self->r, 2);
		EXPECT_TRUE(res[1] == -ECANCELED || res[1] == -EINTR);
		EXPECT_TRUE(res[2] == -ETIME || res[2] == -EALREADY);
	}
	/* the end of the ring also ends this receive */
	prep_io(&self->r, f, IORING_OP_RECV, self->pair[0][1], self->in, 10, 0);
	ASSERT_EQ(1, iou_submit(&self->r));
}

/* SOCK_NONEMPTY reports that there is more data, if the socket supports this. */
TEST_F(sendrecv, non_empty)
{
	unsigned int f = variant->sqe_flags, op;
	struct iovec iov = { self->in, 60 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int *fds = self->pair[TCP_STREAM];
	struct io_uring_cqe cqe;
	int i;

	for (op = 0; op < 2; op++) {
		ASSERT_TRUE(give(fds[0], self->out, 100));
		ASSERT_TRUE(sock_readable(fds[1]));
		for (i = 0; i < 2; i++) {
			if (op)
				prep_io(&self->r, f, IORING_OP_RECVMSG, fds[1], &msg, 1, 0);
			else
				prep_io(&self->r, f, IORING_OP_RECV, fds[1], self->in, 60, 0);
			ASSERT_EQ(1, iou_submit(&self->r));
			ASSERT_EQ(0, iou_reap(&self->r, &cqe));
			EXPECT_EQ(i ? 40 : 60, cqe.res);
			EXPECT_EQ(i ? 0 : IORING_CQE_F_SOCK_NONEMPTY, cqe.flags);
		}
	}
}

/* A message that does not fit is truncated, which breaks a chain only with MSG_WAITALL. */
TEST_F(sendrecv, truncated)
{
	unsigned int f = variant->sqe_flags, i;
	int *fds = self->pair[UNIX_DGRAM];

	for (i = 0; i < 4; i++) {
		unsigned int flags = (i & 1 ? MSG_WAITALL : 0) | (i & 2 ? MSG_TRUNC : 0);

		ASSERT_TRUE(give(fds[0], self->out, 100));
		prep_io(&self->r, f | IOSQE_IO_LINK, IORING_OP_RECV, fds[1], self->in, 10, flags);
		iou_nop(&self->r, 0);
		ASSERT_LE(0, iou_submit_wait(&self->r, 2));
		ASSERT_EQ(0, iou_wait(&self->r, 2));
		EXPECT_EQ(i & 2 ? 100 : 10, iou_cqe_at(&self->r, 0)->res);
		EXPECT_EQ(i & 1 ? -ECANCELED : 0, iou_cqe_at(&self->r, 1)->res);
		iou_seen(&self->r, 2);
	}
}

TEST_F(sendrecv, peek)
{
	unsigned int f = variant->sqe_flags, i;

	for (i = 0; i < NR_PAIRS; i++) {
		ASSERT_TRUE(give(self->pair[i][0], self->out, 10));
		ASSERT_TRUE(sock_readable(self->pair[i][1]));
		EXPECT_EQ(10, do_io(&self->r, f, IORING_OP_RECV, self->pair[i][1], self->in, 99,
				    MSG_PEEK));
		EXPECT_EQ(10, do_io(&self->r, f, IORING_OP_RECV, self->pair[i][1], self->in, 99,
				    0));
	}
}

/*
 * MSG_PEEK finds the same byte again and again, so the receive never gets all data.  The
 * submitter leaves the receive to a worker, and returns.  Mutant: parts-count-nothing.
 */
TEST_F(sendrecv, peek_all)
{
	size_t len = 1 << 30;
	struct io_uring_sqe *sqe;
	void *mem;
	struct io_uring_cqe cqe;
	struct iou *r = &self->r;

	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_TRUE(give(self->pair[0][0], self->out, 1));
	ASSERT_TRUE(sock_readable(self->pair[0][1]));
	sqe = prep_io(r, variant->sqe_flags, IORING_OP_RECV, self->pair[0][1], mem, len,
		      MSG_PEEK | MSG_WAITALL);
	sqe->user_data = 5;
	ASSERT_EQ(1, iou_submit(r));
	do {
		/* a cancel between two attempts of the receive possibly does not find it: repeat */
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)5, 0, 0)->user_data = 6;
		ASSERT_EQ(1, iou_submit_wait(r, 1));
		ASSERT_EQ(0, iou_reap(r, &cqe));
	} while (cqe.user_data != 5);
	/* the result is the number of bytes received so far; a worker may not have begun */
	if (!(variant->sqe_flags & IOSQE_ASYNC) || cqe.res != -ECANCELED)
		EXPECT_LT(0, cqe.res);
	munmap(mem, len);
}

/*
 * Failed requests return the errors of the system calls, and send no signal.
 * differences: notsock-at-once
 */
TEST_F(sendrecv, errors)
{
	static const int ops[] = {
		IORING_OP_SEND, IORING_OP_RECV, IORING_OP_SENDMSG, IORING_OP_RECVMSG,
	};
	struct msghdr msg = {};
	unsigned int f = variant->sqe_flags, i;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	int p[2], fd;

	ASSERT_EQ(0, pipe(p));
	for (i = 0; i < ARRAY_LEN(ops); i++) {
		EXPECT_EQ(-ENOTSOCK, do_io(r, f, ops[i], p[0], &msg, 1, 0));
		EXPECT_EQ(-EBADF, do_io(r, f, ops[i], 9999, &msg, 1, 0));
		/* 6.12 waits for the pipe with POLL_FIRST */
		if (iou_on_stock())
			continue;
		sqe = iou_prep(r, ops[i], p[0], &msg, 1, 0);
		sqe->ioprio = IORING_RECVSEND_POLL_FIRST;
		sqe->flags = f;
		EXPECT_EQ(-ENOTSOCK, iou_one(r));
	}
	sock_close_pair(p);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	EXPECT_EQ(-EPIPE, do_io(r, f, IORING_OP_SEND, fd, self->out, 1, 0));
	EXPECT_EQ(-ENOTCONN, do_io(r, f, IORING_OP_RECV, fd, self->in, 1, 0));
	close(fd);
	fd = self->pair[UNIX_STREAM][0];
	EXPECT_EQ(-EFAULT, do_io(r, f, IORING_OP_SEND, fd, (void *)8, 100, 0));
	EXPECT_EQ(-EFAULT, do_io(r, f, IORING_OP_SEND, fd, IOU_KERNEL, 100, 0));
	/* elsewhere the request waits for data */
	if (iou_splits_addresses())
		EXPECT_EQ(-EFAULT, do_io(r, f, IORING_OP_RECV, fd, IOU_KERNEL, 100, 0));
	EXPECT_EQ(-EFAULT, do_io(r, f, IORING_OP_SENDMSG, fd, (void *)8, 1, 0));
	EXPECT_EQ(-EFAULT, do_io(r, f, IORING_OP_RECVMSG, fd, (void *)8, 1, 0));
	shutdown(self->pair[UNIX_STREAM][1], SHUT_RD);
	EXPECT_EQ(-EPIPE, do_io(r, f, IORING_OP_SEND, fd, self->out, 1, 0));
	EXPECT_EQ(0, do_io(r, f, IORING_OP_SEND, self->pair[TCP_STREAM][0], self->out, 0, 0));
	EXPECT_EQ(0, do_io(r, f, IORING_OP_RECV, self->pair[UNIX_STREAM][1], self->in, 0, 0));
}

/* A bad message fails, and no data is sent. */
TEST_F(sendrecv, bad_messages)
{
	unsigned int f = variant->sqe_flags, i;
	struct iovec iov = { self->in, 10 }, bad = { (void *)8, -1 };
	struct iou *r = &self->r;
	int fd = self->pair[UNIX_STREAM][1];
	struct msghdr msg;

	for (i = 0; i < 2; i++) {
		int op = i ? IORING_OP_RECVMSG : IORING_OP_SENDMSG;

		msg = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1025 };
		EXPECT_EQ(-EINVAL, do_io(r, f, op, fd, &msg, 1, 0));
		msg = (struct msghdr){ .msg_iov = &bad, .msg_iovlen = 1 };
		EXPECT_EQ(-EINVAL, do_io(r, f, op, fd, &msg, 1, 0));
		msg = (struct msghdr){ .msg_iov = (void *)8, .msg_iovlen = 1 };
		EXPECT_EQ(-EFAULT, do_io(r, f, op, fd, &msg, 1, 0));
		msg = (struct msghdr){ .msg_iov = (void *)8, .msg_iovlen = 2 };
		EXPECT_EQ(-EFAULT, do_io(r, f, op, fd, &msg, 1, 0));
		msg = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1, .msg_name = self->out,
				       .msg_namelen = -1 };
		EXPECT_EQ(-EINVAL, do_io(r, f, op, fd, &msg, 1, 0));
	}
	msg = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1, .msg_name = (void *)8,
			       .msg_namelen = 16 };
	EXPECT_EQ(-EFAULT, do_io(r, f, IORING_OP_SENDMSG, fd, &msg, 1, 0));
	msg = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1, .msg_control = self->out,
			       .msg_controllen = 1UL << 31 };
	EXPECT_EQ(-ENOBUFS, do_io(r, f, IORING_OP_SENDMSG, fd, &msg, 1, 0));
	msg = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1, .msg_control = (void *)8,
			       .msg_controllen = 20 };
	EXPECT_EQ(-EFAULT, do_io(r, f, IORING_OP_SENDMSG, fd, &msg, 1, 0));
	/* none of these messages was sent */
	EXPECT_EQ(-EAGAIN, do_io(r, f, IORING_OP_RECV, self->pair[UNIX_STREAM][0], self->in, 1,
				 MSG_DONTWAIT));
}

static const struct {
	const char *name;
	int op;
	unsigned int field;
	int want;
} refusals[] = {
	{ "send ioprio 2", IORING_OP_SEND, IORING_RECV_MULTISHOT, -EINVAL },
	{ "send ioprio 8", IORING_OP_SEND, IORING_SEND_ZC_REPORT_USAGE, -EINVAL },
	{ "send ioprio 64", IORING_OP_SEND, 64, -EINVAL },
	{ "sendmsg ioprio 2", IORING_OP_SENDMSG, IORING_RECV_MULTISHOT, -EINVAL },
	{ "sendmsg ioprio 4", IORING_OP_SENDMSG, IORING_RECVSEND_FIXED_BUF, -EINVAL },
	{ "sendmsg ioprio 16", IORING_OP_SENDMSG, IORING_RECVSEND_BUNDLE, -EINVAL },
	{ "recv ioprio 2", IORING_OP_RECV, IORING_RECV_MULTISHOT, -EINVAL },
	{ "recv ioprio 8", IORING_OP_RECV, IORING_SEND_ZC_REPORT_USAGE, -EINVAL },
	{ "recv ioprio 16", IORING_OP_RECV, IORING_RECVSEND_BUNDLE, -EBADF },
	{ "recvmsg ioprio 2", IORING_OP_RECVMSG, IORING_RECV_MULTISHOT, -EINVAL },
	{ "recvmsg ioprio 16", IORING_OP_RECVMSG, IORING_RECVSEND_BUNDLE, -EINVAL },
	{ "recvmsg ioprio 32", IORING_OP_RECVMSG, 32, -EINVAL },
};

/* A bad SQE field fails the request first, as the bad descriptor is checked later. */
TEST_F(sendrecv, refusals)
{
	static const int ops[] = {
		IORING_OP_SEND, IORING_OP_RECV, IORING_OP_SENDMSG, IORING_OP_RECVMSG,
	};
	unsigned int f = variant->sqe_flags, i;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct msghdr msg = {};

	for (i = 0; i < ARRAY_LEN(refusals); i++) {
		prep_io(r, f, refusals[i].op, 9999, &msg, 1, 0)->ioprio = refusals[i].field;
		EXPECT_EQ(refusals[i].want, iou_one(r)) {
			TH_LOG("%s", refusals[i].name);
		}
	}
	for (i = 0; i < ARRAY_LEN(ops); i++) {
		bool send = ops[i] == IORING_OP_SEND;

		sqe = prep_io(r, f, ops[i], 9999, &msg, 1, 0);
		sqe->addr2 = 8;
		EXPECT_EQ(send ? -EBADF : -EINVAL, iou_one(r));
		sqe = prep_io(r, f, ops[i], 9999, &msg, 1, 0);
		sqe->addr_len = 8;
		EXPECT_EQ(send ? -EBADF : -EINVAL, iou_one(r));
		sqe = prep_io(r, f, ops[i], 9999, &msg, 1, 0);
		sqe->__pad3[0] = 1;
		EXPECT_EQ(-EINVAL, iou_one(r));
		sqe = prep_io(r, f, ops[i], 9999, &msg, 1, 0);
		sqe->buf_index = 1;
		EXPECT_EQ(-EBADF, iou_one(r));
		sqe = prep_io(r, f, ops[i], 9999, &msg, 1, 0);
		sqe->addr3 = 1;
		sqe->__pad2[0] = 1;
		EXPECT_EQ(-EBADF, iou_one(r));
	}
	prep_io(r, f | IOSQE_BUFFER_SELECT, IORING_OP_SENDMSG, 9999, &msg, 1, 0);
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	sqe = prep_io(r, f, IORING_OP_SEND, 9999, self->out, 1, 0);
	sqe->addr2 = 8;
	sqe->addr_len = 16;
	EXPECT_EQ(-EFAULT, iou_one(r));
	sqe = prep_io(r, f, IORING_OP_SEND, 9999, self->out, 1, 0);
	sqe->addr2 = (uintptr_t)self->out;
	sqe->addr_len = 129;
	EXPECT_EQ(-EINVAL, iou_one(r));
}

/* An unconnected socket sends to an address, long or short.  Mutant: send-short-name. */
TEST_F(sendrecv, to_an_address)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	unsigned int f = variant->sqe_flags, i;
	int from = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct io_uring_sqe *sqe;

	for (i = 0; i < 4; i++) {
		socklen_t len = i & 1 ? sizeof(un) : offsetof(struct sockaddr_un, sun_path) + 12;
		struct iovec iov = { self->out, 50 };
		struct msghdr msg = {
			.msg_name = &un, .msg_namelen = len, .msg_iov = &iov, .msg_iovlen = 1,
		};
		int to = socket(AF_UNIX, SOCK_DGRAM, 0);

		/* all bytes of an abstract name count */
		memset(un.sun_path + 1, 'd', sizeof(un.sun_path) - 1);
		snprintf(un.sun_path + 1, 11, "to%d.%d", getpid(), i);
		un.sun_path[0] = 0;
		ASSERT_EQ(0, bind(to, (void *)&un, len));
		if (i & 2) {
			prep_io(&self->r, f, IORING_OP_SENDMSG, from, &msg, 1, 0);
		} else {
			sqe = prep_io(&self->r, f, IORING_OP_SEND, from, self->out, 50, 0);
			sqe->addr2 = (uintptr_t)&un;
			sqe->addr_len = len;
		}
		if (variant->flags & IORING_SETUP_SQPOLL) {
			EXPECT_EQ(50, iou_one(&self->r));
		} else {
			/* the program may reuse its memory once the SQE was taken */
			ASSERT_EQ(1, iou_submit(&self->r));
			memset(&un.sun_path, 0xff, sizeof(un.sun_path));
			memset(&msg, 0xff, sizeof(msg));
			memset(&iov, 0xff, sizeof(iov));
			EXPECT_EQ(0, iou_discard(&self->r, 1));
		}
		EXPECT_EQ(50, recv(to, self->in, 100, MSG_DONTWAIT));
		EXPECT_EQ(-1, iou_verify(self->in, 50, 0, 5));
		close(to);
	}
	EXPECT_EQ(-ENOTCONN, do_io(&self->r, f, IORING_OP_SEND, from, self->out, 1, 0));
	close(from);
}

/* An address without a length is invalid, even on a connected socket. */
TEST_F(sendrecv, to_an_empty_address)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(in);
	unsigned int i;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ASSERT_EQ(0, bind(fd, (void *)&in, len));
	ASSERT_EQ(0, getsockname(fd, (void *)&in, &len));
	for (i = 0; i < 2; i++) {
		prep_io(&self->r, variant->sqe_flags, IORING_OP_SEND, fd, self->out, 3,
			0)->addr2 = (uintptr_t)&in;
		EXPECT_EQ(-EINVAL, iou_one(&self->r));
		ASSERT_EQ(0, connect(fd, (void *)&in, len));
	}
	close(fd);
}

/* A length that needs more than 31 bits is refused. */
TEST_F(sendrecv, longest)
{
	static const int ops[] = {
		IORING_OP_SEND, IORING_OP_RECV, IORING_OP_SENDMSG, IORING_OP_RECVMSG,
	};
	struct iovec iov = { self->out, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	unsigned int i;

	ASSERT_TRUE(give(self->pair[0][0], self->out, 2));
	ASSERT_TRUE(sock_readable(self->pair[0][1]));
	for (i = 0; i < ARRAY_LEN(ops); i++) {
		void *what = i < 2 ? self->in : (void *)&msg;

		EXPECT_EQ(-EINVAL, do_io(&self->r, variant->sqe_flags, ops[i], self->pair[0][i & 1],
					 what, 1U << 31, 0)) {
			TH_LOG("op %d", ops[i]);
		}
	}
}

/* Send and receive vectors with no, one or many elements, in one or several parts. */
TEST_F(sendrecv, vectors)
{
	unsigned int f = variant->sqe_flags, i, n, nr;
	struct iovec out[16], in[16];
	struct io_uring_cqe cqe;
	struct msghdr none = {};
	size_t half, all;

	EXPECT_EQ(0, do_io(&self->r, f, IORING_OP_SENDMSG, self->pair[0][0], &none, 1, 0));
	for (i = 0; i < NR_PAIRS; i++) {
		int *fds = self->pair[i];

		for (nr = 1; nr <= 16; nr = nr * 2 + 1) {
			struct msghdr to = { .msg_iov = out, .msg_iovlen = nr };
			struct msghdr from = { .msg_iov = in, .msg_iovlen = nr };

			for (all = n = 0; n < nr; n++) {
				out[n] = (struct iovec){ self->out + all, 10 * n + 1 };
				in[n] = (struct iovec){ self->in + all, 10 * n + 1 };
				all += 10 * n + 1;
			}
			memset(self->in, 0, all);
			EXPECT_EQ(all, do_io(&self->r, f, IORING_OP_SENDMSG, fds[0], &to, 1, 0));
			ASSERT_TRUE(sock_readable(fds[1]));
			EXPECT_EQ(all, do_io(&self->r, f, IORING_OP_RECVMSG, fds[1], &from, 1,
					     0));
			EXPECT_EQ(-1, iou_verify(self->in, all, 0, 5));
			if (i >= NR_STREAMS || all < 2)
				continue;
			/* half of the data is there, the rest comes after the vector was changed */
			half = all / 2;
			memset(self->in, 0, all);
			ASSERT_TRUE(give(fds[0], self->out, half));
			ASSERT_TRUE(sock_readable(fds[1]));
			prep_io(&self->r, f, IORING_OP_RECVMSG, fds[1], &from, 1, MSG_WAITALL);
			ASSERT_EQ(1, iou_submit(&self->r));
			if (!(variant->flags & IORING_SETUP_SQPOLL))
				memset(in, 0xff, sizeof(in));
			iou_wait_ms(&self->r, 1, 1);
			ASSERT_TRUE(give(fds[0], self->out + half, all - half));
			ASSERT_EQ(0, iou_reap(&self->r, &cqe));
			EXPECT_EQ(all, cqe.res);
			EXPECT_EQ(-1, iou_verify(self->in, all, 0, 5));
		}
	}
}

/* Split the first @len bytes of @data into @nr pieces of different lengths. */
static void split(struct iovec *iov, unsigned int nr, char *data, size_t len)
{
	size_t at = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		iov[i].iov_base = data + at;
		iov[i].iov_len = i + 1 < nr ? len / nr / 2 + i : len - at;
		at += iov[i].iov_len;
	}
}

static struct io_uring_sqe *prep_vector(struct iou *r, unsigned int sqe_flags, int fd,
					const struct iovec *iov, unsigned int nr,
					unsigned int msg_flags)
{
	struct io_uring_sqe *sqe = prep_io(r, sqe_flags, IORING_OP_SEND, fd, iov, nr, msg_flags);

	sqe->ioprio = IORING_SEND_VECTORIZED;
	return sqe;
}

static int do_vector(struct iou *r, unsigned int sqe_flags, int fd, const struct iovec *iov,
		     unsigned int nr)
{
	prep_vector(r, sqe_flags, fd, iov, nr, 0);
	return iou_one(r);
}

/* A SEND takes a vector with IORING_SEND_VECTORIZED.  Mutant: vector-is-data. */
TEST_F(sendrecv, vectorized)
{
	unsigned int f = variant->sqe_flags, i, nr;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct iovec iov[16];
	int small = 4096;
	size_t got;

	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_SEND_VECTORIZED");
	for (i = 0; i < NR_PAIRS; i++) {
		int *fds = self->pair[i];

		for (nr = 1; nr <= 16; nr = nr * 2 + 1) {
			split(iov, nr, self->out, 700);
			memset(self->in, 0, 700);
			EXPECT_EQ(700, do_vector(r, f, fds[0], iov, nr));
			ASSERT_TRUE(sock_readable(fds[1]));
			EXPECT_EQ(700, recv(fds[1], self->in, 1000, MSG_DONTWAIT));
			EXPECT_EQ(-1, iou_verify(self->in, 700, 0, 5));
		}
		if (i >= NR_STREAMS)
			continue;
		/* the socket takes the data in parts; the vector is copied at the beginning */
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		split(iov, 16, self->out, BYTES);
		prep_vector(r, f, fds[0], iov, 16, MSG_WAITALL);
		ASSERT_EQ(1, iou_submit(r));
		if (!(variant->flags & IORING_SETUP_SQPOLL))
			memset(iov, 0xff, sizeof(iov));
		got = 0;
		sock_read_until_cqe(r, fds[1], self->in, BYTES, &got);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(BYTES, cqe.res);
		got += drain(fds[1], self->in + got, BYTES - got);
		EXPECT_EQ(BYTES, got);
		EXPECT_EQ(-1, iou_verify(self->in, got, 0, 5));
	}
}

/* A vector goes to an address, long or short.  Mutant: vector-forgets-name. */
TEST_F(sendrecv, vectorized_to_an_address)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "\0vector" };
	int from = socket(AF_UNIX, SOCK_DGRAM, 0), i;
	struct io_uring_sqe *sqe;
	struct iovec iov[3];

	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_SEND_VECTORIZED");
	split(iov, 3, self->out, 70);
	for (i = 0; i < 2; i++) {
		socklen_t len = i ? sizeof(un) : offsetof(struct sockaddr_un, sun_path) + 16;
		int to = socket(AF_UNIX, SOCK_DGRAM, 0);

		snprintf(un.sun_path + 8, 8, "%d", getpid() * 2 + i);
		ASSERT_EQ(0, bind(to, (void *)&un, len));
		sqe = prep_vector(&self->r, variant->sqe_flags, from, iov, 3, 0);
		sqe->addr2 = (uintptr_t)&un;
		sqe->addr_len = len;
		EXPECT_EQ(70, iou_one(&self->r));
		EXPECT_EQ(70, recv(to, self->in, 100, MSG_DONTWAIT));
		EXPECT_EQ(-1, iou_verify(self->in, 70, 0, 5));
		close(to);
	}
	close(from);
}

TEST_F(sendrecv, vectorized_refused)
{
	unsigned int f = variant->sqe_flags, i;
	int *fds = self->pair[0];
	struct iou *r = &self->r;
	struct iovec iov[1025];

	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_SEND_VECTORIZED");
	for (i = 0; i < 1025; i++)
		iov[i] = (struct iovec){ self->out, 1 };
	EXPECT_EQ(0, do_vector(r, f, fds[0], (void *)8, 0));
	EXPECT_EQ(1024, do_vector(r, f, fds[0], iov, 1024));
	EXPECT_EQ(1024, drain(fds[1], self->in, 1024));
	EXPECT_EQ(-EINVAL, do_vector(r, f, fds[0], iov, 1025));
	EXPECT_EQ(-EINVAL, do_vector(r, f, fds[0], iov, -1));
	EXPECT_EQ(-EFAULT, do_vector(r, f, fds[0], (void *)8, 1));
	EXPECT_EQ(-EFAULT, do_vector(r, f, fds[0], (void *)8, 2));
	iov[1].iov_len = -1;
	EXPECT_EQ(-EINVAL, do_vector(r, f, fds[0], iov, 2));
	EXPECT_EQ(-EINVAL, do_vector(r, f, fds[0], iov + 1, 1));
	prep_vector(r, f, fds[1], iov, 1, 0)->opcode = IORING_OP_RECV;
	EXPECT_EQ(-EINVAL, iou_one(r));
	EXPECT_EQ(-1, recv(fds[1], self->in, 1, MSG_DONTWAIT));
}

/* Slots of registered buffers: the last one has a part of the data to send. */
enum { BUF_NONE, BUF_OUT, BUF_IN, BUF_PART, NR_BUFS };

static int register_bufs(struct iou *r, char *out, char *in)
{
	struct iovec iov[NR_BUFS] = {
		[BUF_OUT] = { out, BYTES },
		[BUF_IN] = { in, BYTES },
		[BUF_PART] = { out + 100, 500 },
	};

	return iou_register(r, IORING_REGISTER_BUFFERS, iov, NR_BUFS);
}

static struct io_uring_sqe *prep_fixed(struct iou *r, unsigned int sqe_flags, int op, int fd,
				       const void *addr, unsigned int len, unsigned int msg_flags)
{
	struct io_uring_sqe *sqe = prep_io(r, sqe_flags, op, fd, addr, len, msg_flags);

	sqe->ioprio = IORING_RECVSEND_FIXED_BUF;
	sqe->buf_index = op == IORING_OP_RECV ? BUF_IN : BUF_OUT;
	return sqe;
}

/* Like prep_fixed() for 10 bytes, with another buffer.  Return: the result. */
static int do_fixed(struct iou *r, unsigned int sqe_flags, int op, int fd, const void *addr,
		    unsigned int index)
{
	prep_fixed(r, sqe_flags, op, fd, addr, 10, 0)->buf_index = index;
	return iou_one(r);
}

/*
 * SEND and RECV use the pages of a registered buffer, also if the program has no access to them.
 * Mutants: send-without-its-buffer, recv-without-its-buffer.
 * differences: none, 6.12 has no such sends and receives
 */
TEST_F(sendrecv, registered_buffers)
{
	unsigned int f = variant->sqe_flags, i;
	struct iou *r = &self->r;
	int len;

	if (iou_on_older_stock())
		SKIP(return, "no registered buffers for SEND and RECV");
	ASSERT_EQ(0, register_bufs(r, self->out, self->in));
	for (i = 0; i < NR_PAIRS; i++) {
		int *fds = self->pair[i];

		for (len = 1; len < 9000; len = len * 3 + 1) {
			memset(self->in, 0, len);
			ASSERT_EQ(0, mprotect(self->out, BYTES, PROT_NONE));
			ASSERT_EQ(0, mprotect(self->in, BYTES, PROT_READ));
			prep_fixed(r, f, IORING_OP_SEND, fds[0], self->out + len, len, 0);
			EXPECT_EQ(len, iou_one(r));
			ASSERT_TRUE(sock_readable(fds[1]));
			prep_fixed(r, f, IORING_OP_RECV, fds[1], self->in, BYTES, 0);
			EXPECT_EQ(len, iou_one(r));
			EXPECT_EQ(-1, iou_verify(self->in, len, len, 5));
			ASSERT_EQ(0, mprotect(self->out, 2 * BYTES, PROT_READ | PROT_WRITE));
		}
		/* no data, at the end of the buffer */
		if (i == UNIX_STREAM) {
			prep_fixed(r, f, IORING_OP_SEND, fds[0], self->out + BYTES, 0, 0);
			EXPECT_EQ(0, iou_one(r));
		}
	}
}

/*
 * A stream takes and gives the data of a registered buffer in parts.
 * Mutant: registered-parts-begin-again.
 * differences: none, 6.12 has no such sends and receives
 */
TEST_F(sendrecv, registered_buffers_in_parts)
{
	unsigned int f = variant->sqe_flags, i;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int small = 4096;
	size_t got;

	if (iou_on_older_stock())
		SKIP(return, "no registered buffers for SEND and RECV");
	ASSERT_EQ(0, register_bufs(r, self->out, self->in));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		ASSERT_TRUE(give(fds[0], self->out, 100));
		ASSERT_TRUE(sock_readable(fds[1]));
		prep_fixed(r, f, IORING_OP_RECV, fds[1], self->in, 5000, MSG_WAITALL);
		ASSERT_EQ(1, iou_submit(r));
		iou_wait_ms(r, 1, 2);
		EXPECT_EQ(0, iou_ready(r));
		ASSERT_TRUE(give(fds[0], self->out + 100, 4900));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(5000, cqe.res);
		EXPECT_EQ(-1, iou_verify(self->in, 5000, 0, 5));

		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		prep_fixed(r, f, IORING_OP_SEND, fds[0], self->out, BYTES, MSG_WAITALL);
		ASSERT_EQ(1, iou_submit(r));
		got = 0;
		sock_read_until_cqe(r, fds[1], self->in, BYTES, &got);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(BYTES, cqe.res);
		got += drain(fds[1], self->in + got, BYTES - got);
		EXPECT_EQ(BYTES, got);
		EXPECT_EQ(-1, iou_verify(self->in, got, 0, 5));

		/* the stream ends early, which breaks the chain */
		prep_fixed(r, f | IOSQE_IO_LINK, IORING_OP_RECV, fds[1], self->in, 5000,
			   MSG_WAITALL);
		iou_nop(r, 9);
		ASSERT_EQ(2, iou_submit(r));
		ASSERT_TRUE(give(fds[0], self->out, 700));
		shutdown(fds[0], SHUT_WR);
		ASSERT_EQ(0, iou_wait(r, 2));
		EXPECT_EQ(700, iou_cqe_at(r, 0)->res);
		EXPECT_EQ(-ECANCELED, iou_cqe_at(r, 1)->res);
		iou_seen(r, 2);
	}
}

/*
 * The first attempt looks up the buffer, and later attempts keep it: a request may wait for its
 * turn, or for its socket with IORING_RECVSEND_POLL_FIRST, before there is a buffer.
 * differences: none, 6.12 has no such sends and receives
 */
TEST_F(sendrecv, registered_buffers_at_issue)
{
	struct io_uring_rsrc_update2 none = { .offset = BUF_IN, .nr = 1 };
	struct iovec empty = {};
	unsigned int f = variant->sqe_flags, i;
	int pipes[2], *fds = self->pair[UNIX_STREAM];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	char byte;

	if (iou_on_older_stock())
		SKIP(return, "no registered buffers for SEND and RECV");
	ASSERT_EQ(0, pipe(pipes));
	for (i = 0; i < 2; i++) {
		iou_prep(r, IORING_OP_READ, pipes[0], &byte, 1, 0)->flags = IOSQE_IO_LINK;
		if (i)
			prep_fixed(r, f, IORING_OP_RECV, fds[1], self->in, 10, 0);
		else
			prep_fixed(r, f, IORING_OP_SEND, fds[0], self->out, 10, 0);
		ASSERT_EQ(2, iou_submit(r));
		ASSERT_EQ(0, register_bufs(r, self->out, self->in));
		ASSERT_EQ(1, write(pipes[1], "", 1));
		ASSERT_EQ(0, iou_wait(r, 2));
		EXPECT_EQ(1, iou_cqe_at(r, 0)->res);
		EXPECT_EQ(10, iou_cqe_at(r, 1)->res);
		iou_seen(r, 2);
		ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	}
	EXPECT_EQ(-1, iou_verify(self->in, 10, 0, 5));
	sock_close_pair(pipes);
	/* a worker makes its first attempt at any time */
	for (i = 0; i < 2 && !f; i++) {
		ASSERT_EQ(0, register_bufs(r, self->out, self->in));
		prep_fixed(r, f, IORING_OP_RECV, fds[1], self->in, 10, 0)->ioprio |=
			i ? IORING_RECVSEND_POLL_FIRST : 0;
		ASSERT_EQ(1, iou_submit(r));
		none.data = (uintptr_t)&empty;
		ASSERT_EQ(1, iou_register(r, IORING_REGISTER_BUFFERS_UPDATE, &none, sizeof(none)));
		memset(self->in, 0, 10);
		ASSERT_TRUE(give(fds[0], self->out, 10));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i ? -EFAULT : 10, cqe.res);
		EXPECT_EQ(i ? 0 : -1, iou_verify(self->in, 10, 0, 5));
		ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	}
}

/*
 * Buffers that do not exist or do not have all of the data, and flags that do not go with them.
 * Mutants: registered-buffer-unchecked, registered-buffer-goes-with-all.
 * differences: none, 6.12 has no such sends and receives
 */
TEST_F(sendrecv, registered_buffers_refused)
{
	static const int ops[] = { IORING_OP_SEND, IORING_OP_RECV };
	unsigned int f = variant->sqe_flags, i, flag;
	int *fds = self->pair[TCP_STREAM];
	char *out = self->out, *in = self->in;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;

	if (iou_on_older_stock())
		SKIP(return, "no registered buffers for SEND and RECV");
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-EFAULT, do_fixed(r, f, ops[i], fds[0], out, BUF_OUT));
	ASSERT_EQ(0, register_bufs(r, out, in));
	for (i = 0; i < 2; i++) {
		static const unsigned int flags[] = {
			IORING_RECV_MULTISHOT, IORING_SEND_ZC_REPORT_USAGE,
			IORING_RECVSEND_BUNDLE, IORING_SEND_VECTORIZED, 64,
		};
		int op = ops[i];

		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], out, BUF_NONE));
		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], out, NR_BUFS));
		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], out, 65535));
		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], in, BUF_OUT));
		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], in - 9, BUF_OUT));
		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], out - 1, BUF_OUT));
		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], out + 99, BUF_PART));
		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], out + 591, BUF_PART));
		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], NULL, BUF_OUT));
		EXPECT_EQ(-EFAULT, do_fixed(r, f, op, fds[0], IOU_KERNEL, BUF_OUT));
		prep_fixed(r, f, op, fds[0], out + BYTES + 1, 0, 0)->buf_index = BUF_OUT;
		EXPECT_EQ(-EFAULT, iou_one(r));
		prep_fixed(r, f, op, fds[0], out, 1U << 30, 0)->buf_index = BUF_OUT;
		EXPECT_EQ(-EFAULT, iou_one(r));
		prep_fixed(r, f, op, fds[0], out, 1U << 31, 0)->buf_index = BUF_OUT;
		EXPECT_EQ(-EINVAL, iou_one(r));
		/* the file is looked up first */
		EXPECT_EQ(-EBADF, do_fixed(r, f, op, 9999, out, BUF_NONE));
		EXPECT_EQ(-ENOTSOCK, do_fixed(r, f, op, r->fd, out, BUF_NONE));
		for (flag = 0; flag < ARRAY_LEN(flags); flag++) {
			prep_fixed(r, f, op, fds[0], out, 1, 0)->ioprio |= flags[flag];
			EXPECT_EQ(-EINVAL, iou_one(r)) {
				TH_LOG("flag %u", flags[flag]);
			}
		}
		prep_fixed(r, f | IOSQE_BUFFER_SELECT, op, fds[0], out, 1, 0);
		EXPECT_EQ(-EINVAL, iou_one(r));
	}
	sqe = prep_fixed(r, f, IORING_OP_RECV, fds[0], in, 1, 0);
	sqe->optlen = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	EXPECT_EQ(-1, recv(fds[1], in, 1, MSG_DONTWAIT));
}

/* RECVMSG returns the sender's address and the flags of a message. */
TEST_F(sendrecv, from_an_address)
{
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in at[2] = { sock_loopback(0), sock_loopback(0) }, who = {};
	unsigned int f = variant->sqe_flags;
	socklen_t len = sizeof(who);
	struct iovec iov = { self->in, 10 };
	struct msghdr msg = {
		.msg_name = &who, .msg_namelen = sizeof(who), .msg_iov = &iov, .msg_iovlen = 1,
		.msg_controllen = 0, .msg_flags = 0x5555,
	};

	ASSERT_EQ(0, bind(a, (void *)&at[0], len));
	ASSERT_EQ(0, bind(b, (void *)&at[1], len));
	ASSERT_EQ(0, getsockname(a, (void *)&at[0], &len));
	ASSERT_EQ(0, getsockname(b, (void *)&at[1], &len));
	ASSERT_EQ(20, sendto(a, self->out, 20, 0, (void *)&at[1], len));
	EXPECT_EQ(10, do_io(&self->r, f, IORING_OP_RECVMSG, b, &msg, 1, 0));
	EXPECT_EQ(MSG_TRUNC, msg.msg_flags);
	EXPECT_EQ(sizeof(who), msg.msg_namelen);
	EXPECT_EQ(0, memcmp(&who, &at[0], sizeof(who)));
	close(a);
	close(b);
}

/* A message with a descriptor in it. */
struct with_fd {
	struct iovec iov;
	struct msghdr msg;
	unsigned long control[CMSG_SPACE(sizeof(int)) / sizeof(long)];
};

static void with_fd(struct with_fd *m, void *buf, size_t len, int fd)
{
	struct cmsghdr *cmsg;

	memset(m, 0, sizeof(*m));
	m->iov = (struct iovec){ buf, len };
	m->msg.msg_iov = &m->iov;
	m->msg.msg_iovlen = 1;
	m->msg.msg_control = m->control;
	m->msg.msg_controllen = sizeof(m->control);
	if (fd < 0)
		return;
	cmsg = CMSG_FIRSTHDR(&m->msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
}

/* Return: the descriptor that came with a message, or -1. */
static int fd_of(struct with_fd *m)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&m->msg);
	int fd;

	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS || cmsg->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* A message passes a descriptor.  Mutant, for 32 bits: compat-control-long. */
TEST_F(sendrecv, ancillary_data)
{
	unsigned int f = variant->sqe_flags, i;
	struct with_fd out, in;
	struct io_uring_cqe cqe;
	int p[2], fd;
	char c = 0;

	ASSERT_EQ(0, pipe(p));
	for (i = 0; i < 4; i++) {
		int *fds = self->pair[i & 1 ? UNIX_STREAM : UNIX_DGRAM];

		with_fd(&out, self->out, 20, p[1]);
		with_fd(&in, self->in, 20, -1);
		if (i & 2) {
			prep_io(&self->r, f, IORING_OP_RECVMSG, fds[1], &in.msg, 1,
				MSG_CMSG_CLOEXEC);
			ASSERT_EQ(1, iou_submit(&self->r));
			iou_sleep_ms(1);
			ASSERT_EQ(20, sendmsg(fds[0], &out.msg, 0));
			ASSERT_EQ(0, iou_reap(&self->r, &cqe));
			EXPECT_EQ(20, cqe.res);
		} else {
			EXPECT_EQ(20, do_io(&self->r, f, IORING_OP_SENDMSG, fds[0], &out.msg, 1,
					    0));
			EXPECT_EQ(20, do_io(&self->r, f, IORING_OP_RECVMSG, fds[1], &in.msg, 1, 0));
		}
		EXPECT_EQ(sizeof(in.control), in.msg.msg_controllen);
		EXPECT_EQ(i & 2 ? MSG_CMSG_CLOEXEC : 0, in.msg.msg_flags);
		fd = fd_of(&in);
		ASSERT_LE(0, fd);
		EXPECT_EQ(i & 2 ? FD_CLOEXEC : 0, fcntl(fd, F_GETFD));
		EXPECT_EQ(1, write(fd, "q", 1));
		EXPECT_EQ(1, read(p[0], &c, 1));
		close(fd);
	}
	/* a ring cannot be sent */
	with_fd(&out, self->out, 20, self->r.fd);
	EXPECT_EQ(-EINVAL, do_io(&self->r, f, IORING_OP_SENDMSG, self->pair[UNIX_DGRAM][0],
				 &out.msg, 1, 0));
	/*
	 * If the receiver has no room for a descriptor, the kernel drops it.  This breaks a chain
	 * only with MSG_WAITALL.
	 */
	for (i = 0; i < 2; i++) {
		with_fd(&out, self->out, 20, p[1]);
		with_fd(&in, self->in, 20, -1);
		in.msg.msg_controllen = 0;
		ASSERT_EQ(20, sendmsg(self->pair[UNIX_DGRAM][0], &out.msg, 0));
		prep_io(&self->r, f | IOSQE_IO_LINK, IORING_OP_RECVMSG, self->pair[UNIX_DGRAM][1],
			&in.msg, 1, i ? MSG_WAITALL : 0);
		iou_nop(&self->r, 0);
		ASSERT_LE(0, iou_submit_wait(&self->r, 2));
		ASSERT_EQ(0, iou_wait(&self->r, 2));
		EXPECT_EQ(20, iou_cqe_at(&self->r, 0)->res);
		EXPECT_EQ(i ? -ECANCELED : 0, iou_cqe_at(&self->r, 1)->res);
		EXPECT_EQ(MSG_CTRUNC, in.msg.msg_flags & MSG_CTRUNC);
		iou_seen(&self->r, 2);
	}
	sock_close_pair(p);
}

/*
 * MSG_WAITALL does not wait for another part if the receiver's msghdr has room for ancillary data.
 * Another attempt would overwrite the ancillary data of the first part.
 * Mutant: recvmsg-hides-control.
 */
TEST_F(sendrecv, ancillary_data_of_a_part)
{
	unsigned int f = variant->sqe_flags, i;
	int *fds = self->pair[UNIX_STREAM];
	struct with_fd out, in;
	int p[2], fd;

	ASSERT_EQ(0, pipe(p));
	for (i = 0; i < 2; i++) {
		with_fd(&out, self->out, 20, i ? -1 : p[1]);
		with_fd(&in, self->in, 50, -1);
		out.msg.msg_controllen = i ? 0 : sizeof(out.control);
		ASSERT_EQ(20, sendmsg(fds[0], &out.msg, 0));
		prep_io(&self->r, f | IOSQE_IO_LINK, IORING_OP_RECVMSG, fds[1], &in.msg, 1,
			MSG_WAITALL);
		iou_nop(&self->r, 0);
		ASSERT_EQ(2, iou_submit(&self->r));
		ASSERT_EQ(0, iou_wait(&self->r, 2));
		EXPECT_EQ(20, iou_cqe_at(&self->r, 0)->res);
		EXPECT_EQ(0, iou_cqe_at(&self->r, 1)->res);
		iou_seen(&self->r, 2);
		fd = fd_of(&in);
		EXPECT_EQ(i, fd < 0);
		close(fd);
	}
	sock_close_pair(p);
}

/* Make a socket that gets an error message from the kernel for each message sent. */
static int netlink_echo(int fds[2])
{
	fds[0] = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	fds[1] = dup(fds[0]);
	return fds[1] < 0 ? -errno : 0;
}

/* Sockets without an error queue ignore MSG_ERRQUEUE.  Mutant: recv-errors-of-all. */
TEST_F(sendrecv, no_error_queue)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, 0 };
	const struct nlmsghdr ask = {
		.nlmsg_len = sizeof(ask), .nlmsg_type = NLMSG_NOOP, .nlmsg_flags = NLM_F_ACK,
	};
	struct iovec iov = { self->in, 100 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	unsigned int i, k;
	int fds[2];

	for (i = 0; i < ARRAY_LEN(types); i++) {
		ASSERT_EQ(0, types[i] ? socketpair(AF_UNIX, types[i], 0, fds) : netlink_echo(fds));
		for (k = 0; k < 8; k++) {
			bool before = k & 1, whole = k & 2, first = k & 4;
			struct io_uring_cqe cqe;

			if (before)
				ASSERT_EQ(sizeof(ask), send(fds[0], &ask, sizeof(ask), 0));
			prep_io(&self->r, variant->sqe_flags,
				whole ? IORING_OP_RECVMSG : IORING_OP_RECV, fds[1],
				whole ? (void *)&msg : self->in, whole ? 1 : 100,
				MSG_ERRQUEUE)->ioprio = first ? IORING_RECVSEND_POLL_FIRST : 0;
			ASSERT_EQ(1, iou_submit(&self->r));
			if (!before) {
				iou_wait_ms(&self->r, 1, 2);
				EXPECT_EQ(0, iou_ready(&self->r));
				ASSERT_EQ(sizeof(ask), send(fds[0], &ask, sizeof(ask), 0));
			}
			ASSERT_EQ(0, iou_reap(&self->r, &cqe));
			EXPECT_LE((int)sizeof(ask), cqe.res);
		}
		sock_close_pair(fds);
	}
}

/*
 * A socket error ends a wait for errors, but data does not.  On 6.12 data also ends the
 * wait, with -EAGAIN.  Mutant: recv-errors-and-data.  differences: recv-errqueue
 */
TEST_F(sendrecv, error_queue)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1, gone = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in at = sock_loopback(0), none = sock_loopback(0);
	unsigned int f = variant->sqe_flags;
	unsigned long control[64];
	struct iovec iov = { self->in, 100 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	socklen_t len = sizeof(at);
	struct io_uring_cqe cqe;
	int ret;

	if (iou_on_stock())
		SKIP(return, "data ends the wait");
	ASSERT_EQ(0, setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one)));
	ASSERT_EQ(0, bind(fd, (void *)&at, len));
	ASSERT_EQ(0, getsockname(fd, (void *)&at, &len));
	ASSERT_EQ(0, bind(gone, (void *)&none, len));
	ASSERT_EQ(0, getsockname(gone, (void *)&none, &len));
	close(gone);
	prep_io(&self->r, f, IORING_OP_RECVMSG, fd, &msg, 1, MSG_ERRQUEUE);
	ASSERT_EQ(1, iou_submit(&self->r));
	iou_sleep_ms(1);
	ASSERT_EQ(10, sendto(fd, self->out, 10, 0, (void *)&at, len));
	iou_sleep_ms(1);
	EXPECT_EQ(0, iou_ready(&self->r));
	ASSERT_EQ(30, sendto(fd, self->out, 30, 0, (void *)&none, len));
	ASSERT_EQ(0, iou_reap(&self->r, &cqe));
	EXPECT_EQ(30, cqe.res);
	EXPECT_EQ(MSG_ERRQUEUE, msg.msg_flags & MSG_ERRQUEUE);
	ret = do_io(&self->r, f, IORING_OP_RECV, fd, self->in, 100, 0);
	/* UDP queues an error before it sets sk_err, which another CPU may not see yet */
	if (ret == -ECONNREFUSED)
		ret = do_io(&self->r, f, IORING_OP_RECV, fd, self->in, 100, 0);
	EXPECT_EQ(10, ret);
	close(fd);
}

/* A bad SQE fails when it is read.  This ends the submission, so the NOP remains in the SQ. */
TEST_F(sendrecv, refused_when_read)
{
	int fd = self->pair[UNIX_STREAM][0], i;
	struct iou *r = &self->r;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "enter submits nothing here");
	for (i = 0; i < 4; i++) {
		static const int ops[] = {
			IORING_OP_SEND, IORING_OP_RECV, IORING_OP_SENDMSG, IORING_OP_RECVMSG,
		};

		if (i < 2 && !iou_splits_addresses())
			continue;
		prep_io(r, variant->sqe_flags, ops[i], fd, IOU_KERNEL, 100, 0);
		iou_nop(r, 0);
		ASSERT_EQ(1, iou_submit(r));
		EXPECT_EQ(-EFAULT, iou_discard(r, 1));
		ASSERT_EQ(1, iou_enter(r, 1, 0, 0));
		EXPECT_EQ(0, iou_discard(r, 1));
	}
}

/* Use registered sockets, in a chain that echoes. */
TEST_F(sendrecv, registered)
{
	unsigned int f = variant->sqe_flags | IOSQE_FIXED_FILE;
	struct iou *r = &self->r;
	int i, n;

	for (i = 0; i < NR_PAIRS; i++) {
		ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, self->pair[i], 2));
		memset(self->in, 0, 64);
		prep_io(r, f | IOSQE_IO_LINK, IORING_OP_SEND, 0, self->out, 64, 0);
		prep_io(r, f | IOSQE_IO_LINK, IORING_OP_RECV, 1, self->in, 64, MSG_WAITALL);
		prep_io(r, f | IOSQE_IO_LINK, IORING_OP_SEND, 1, self->in, 64, 0);
		prep_io(r, f, IORING_OP_RECV, 0, self->in + 64, 64, MSG_WAITALL);
		ASSERT_LE(0, iou_submit_wait(r, 4));
		ASSERT_EQ(0, iou_wait(r, 4));
		for (n = 0; n < 4; n++)
			EXPECT_EQ(64, iou_cqe_at(r, n)->res);
		iou_seen(r, 4);
		EXPECT_EQ(-1, iou_verify(self->in, 64, 0, 5));
		EXPECT_EQ(-1, iou_verify(self->in + 64, 64, 0, 5));
		ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_FILES, NULL, 0));
	}
}

/* Many receives wait for one socket: each part completes one of them, and no part is lost. */
TEST_F(sendrecv, many_wait)
{
	unsigned int f = variant->sqe_flags, i, round;
	struct io_uring_cqe cqe;

	for (i = 0; i < NR_PAIRS; i++) {
		unsigned int seen = 0;

		for (round = 0; round < 8; round++) {
			prep_io(&self->r, f, IORING_OP_RECV, self->pair[i][1],
				self->in + 8 * round, 4, 0)->user_data = round;
		}
		ASSERT_EQ(8, iou_submit(&self->r));
		for (round = 0; round < 8; round++) {
			ASSERT_EQ(4, send(self->pair[i][0], &round, 4, 0));
			ASSERT_EQ(0, iou_reap(&self->r, &cqe));
			EXPECT_EQ(4, cqe.res);
			seen |= 1 << *(unsigned int *)(self->in + 8 * cqe.user_data);
		}
		EXPECT_EQ(0xff, seen);
	}
}

TEST(iopoll)
{
	static const int ops[] = {
		IORING_OP_SEND, IORING_OP_RECV, IORING_OP_SENDMSG, IORING_OP_RECVMSG,
	};
	unsigned int i;
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_IOPOLL));
	for (i = 0; i < ARRAY_LEN(ops); i++) {
		iou_prep(&r, ops[i], 0, NULL, 0, 0);
		EXPECT_EQ(-EINVAL, iou_one(&r));
	}
	iou_exit(&r);
}

TEST_HARNESS_MAIN
