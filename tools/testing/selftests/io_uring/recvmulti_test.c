// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: sends and receives with provided buffers, multishot RECV and RECVMSG */
#include <limits.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "sock.h"

#define GROUP	5
#define SLOTS	8
#define PIECE	64

#include "group.h"

/* Kinds of socket pairs.  Most tests of streams run with both kinds of stream. */
enum { TCP_STREAM, UNIX_STREAM, NR_STREAMS, UDP = NR_STREAMS, NR_PAIRS };

FIXTURE(recvmulti) {
	struct iou r;
	struct io_uring_buf_ring *ring;
	char *mem, *out;
	int pair[NR_PAIRS][2];
	struct sockaddr_in udp;
};

FIXTURE_VARIANT(recvmulti) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(recvmulti);
FIXTURE_VARIANT_ADD(recvmulti, defer_async) {
	.flags = IOU_DEFER,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(recvmulti, plain_async) {
	.sqe_flags = IOSQE_ASYNC,
};

static int udp_pair(int fds[2], struct sockaddr_in *from)
{
	struct sockaddr_in to = sock_loopback(0);
	socklen_t len = sizeof(to);

	*from = to;
	fds[0] = socket(AF_INET, SOCK_DGRAM, 0);
	fds[1] = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(fds[0], (void *)from, len) || getsockname(fds[0], (void *)from, &len) ||
	    bind(fds[1], (void *)&to, len) || getsockname(fds[1], (void *)&to, &len) ||
	    connect(fds[0], (void *)&to, len))
		return -errno;
	return 0;
}

FIXTURE_SETUP(recvmulti)
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->pair[UNIX_STREAM]));
	ASSERT_EQ(0, sock_tcp_pair(self->pair[TCP_STREAM]));
	ASSERT_EQ(0, udp_pair(self->pair[UDP], &self->udp));
	self->ring = iou_map_anon(IOU_PAGE);
	self->mem = iou_map_anon(IOU_PAGE);
	self->out = iou_map_anon(IOU_PAGE);
	ASSERT_NE(NULL, self->ring);
	ASSERT_NE(NULL, self->mem);
	ASSERT_NE(NULL, self->out);
	iou_fill(self->out, IOU_PAGE, 0, 5);
	ASSERT_EQ(0, iou_init(&self->r, 16, variant->flags));
}

FIXTURE_TEARDOWN(recvmulti)
{
	int i;

	iou_exit(&self->r);
	for (i = 0; i < NR_PAIRS; i++)
		sock_close_pair(self->pair[i]);
	munmap(self->ring, IOU_PAGE);
	munmap(self->mem, IOU_PAGE);
	munmap(self->out, IOU_PAGE);
}

static struct io_uring_sqe *prep_picked(struct iou *r, unsigned int sqe_flags, int op, int fd,
					unsigned int len)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, fd, NULL, len, 0);

	sqe->flags = sqe_flags | IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	return sqe;
}

static struct io_uring_sqe *prep_many(struct iou *r, unsigned int sqe_flags, int op, int fd)
{
	struct io_uring_sqe *sqe = prep_picked(r, sqe_flags, op, fd, 0);

	sqe->ioprio = IORING_RECV_MULTISHOT;
	return sqe;
}

/* Send data, and wait until it can be received. */
static bool give(int *fds, const char *buf, size_t len)
{
	return send(fds[0], buf, len, MSG_NOSIGNAL) == (ssize_t)len && sock_readable(fds[1]);
}

/* Return: the flags of the CQE at the end of the stream. */
static unsigned int end_of(int kind)
{
	return kind == TCP_STREAM ? IORING_CQE_F_SOCK_NONEMPTY : 0;
}

static void add_some(struct io_uring_buf_ring *ring, char *mem, unsigned int nr, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		add(ring, mem + i * PIECE, len, i);
}

/* Receives use the buffers of a group in order.  A receive fills at most the requested length. */
TEST_F(recvmulti, receive)
{
	unsigned int f = variant->sqe_flags, at;
	struct iou *r = &self->r;
	int i;

	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		at = i ? SLOTS : 0;
		if (!at)
			ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
		add_some(self->ring, self->mem, 4, 16);
		ASSERT_TRUE(give(fds, self->out, 40));
		prep_picked(r, f, IORING_OP_RECV, fds[1], 5);
		EXPECT_CQE(r, 5, BUFFER(0) | sock_more(fds[1]));
		prep_picked(r, f, IORING_OP_RECV, fds[1], 0);
		EXPECT_CQE(r, 16, BUFFER(1) | sock_more(fds[1]));
		prep_picked(r, f, IORING_OP_RECV, fds[1], 100);
		EXPECT_CQE(r, 16, BUFFER(2) | sock_more(fds[1]));
		prep_picked(r, f, IORING_OP_RECV, fds[1], 0);
		EXPECT_CQE(r, 3, BUFFER(3));
		EXPECT_EQ(-1, iou_verify(self->mem, 5, 0, 5));
		EXPECT_EQ(-1, iou_verify(self->mem + PIECE, 16, 5, 5));
		EXPECT_EQ(-1, iou_verify(self->mem + 2 * PIECE, 16, 21, 5));
		EXPECT_EQ(-1, iou_verify(self->mem + 3 * PIECE, 3, 37, 5));
		EXPECT_EQ((int)self->ring->tail, head(r, GROUP));
		/* without a buffer, a receive fails at once, although there is no data either */
		prep_picked(r, f, IORING_OP_RECV, fds[1], 0);
		EXPECT_CQE(r, -ENOBUFS, 0U);
	}
	prep_picked(r, f, IORING_OP_RECV, self->pair[0][1], 0)->buf_group = 77;
	EXPECT_CQE(r, -ENOBUFS, 0U);
}

/*
 * A receive that waits holds no buffer.  The end of the stream uses no buffer, except in a
 * worker.  TCP sets SOCK_NONEMPTY at the end of the stream.
 */
TEST_F(recvmulti, receive_waits)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int i, first;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		for (first = 0; first < 2; first++) {
			add(self->ring, self->mem, 16, 3);
			prep_picked(r, f, IORING_OP_RECV, fds[1], 0)->ioprio =
				first ? IORING_RECVSEND_POLL_FIRST : 0;
			ASSERT_EQ(1, iou_submit(r));
			iou_wait_ms(r, 1, 5);
			EXPECT_EQ(0, iou_ready(r));
			ASSERT_EQ(10, send(fds[0], self->out, 10, 0));
			EXPECT_CQE(r, 10, BUFFER(3));
			EXPECT_EQ(-1, iou_verify(self->mem, 10, 0, 5));
		}
		add(self->ring, self->mem, 16, 4);
		shutdown(fds[0], SHUT_WR);
		ASSERT_TRUE(sock_readable(fds[1]));
		prep_picked(r, f, IORING_OP_RECV, fds[1], 0);
		EXPECT_CQE(r, 0, (f ? BUFFER(4) : 0) | end_of(i));
		EXPECT_EQ(self->ring->tail - !f, head(r, GROUP));
		self->ring->tail -= !f;
	}
}

/* A failed receive has used no buffer, except in a worker. */
TEST_F(recvmulti, failures)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	/* a worker uses up the buffer that it has taken */
	if (f)
		return;
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->mem, 16, 3);
	prep_picked(r, f, IORING_OP_RECV, fd, 0);
	EXPECT_CQE(r, -ENOTCONN, 0U);
	prep_picked(r, f, IORING_OP_RECV, self->pair[0][1], 0)->msg_flags = MSG_DONTWAIT;
	EXPECT_CQE(r, -EAGAIN, 0U);
	slot(self->ring, 0)->addr = 8;
	ASSERT_TRUE(give(self->pair[0], self->out, 10));
	prep_picked(r, f, IORING_OP_RECV, self->pair[0][1], 0);
	EXPECT_CQE(r, -EFAULT, 0U);
	slot(self->ring, 0)->addr = 0xffff888000000000UL;
	prep_picked(r, f, IORING_OP_RECV, self->pair[0][1], 0);
	EXPECT_CQE(r, -EFAULT, 0U);
	EXPECT_EQ(0, head(r, GROUP));
	slot(self->ring, 0)->addr = (uintptr_t)self->mem;
	prep_picked(r, f, IORING_OP_RECV, self->pair[0][1], 0);
	EXPECT_CQE(r, 10, BUFFER(3));
	close(fd);
}

/* A receive keeps a buffer that has a part of the requested data.  Mutant: recv-part-lent. */
TEST_F(recvmulti, receive_all)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		add_some(self->ring, self->mem, 3, 32);
		ASSERT_TRUE(give(fds, self->out, 10));
		prep_picked(r, f, IORING_OP_RECV, fds[1], 0)->msg_flags = MSG_WAITALL;
		ASSERT_EQ(1, iou_submit(r));
		iou_wait_ms(r, 1, 5);
		EXPECT_EQ(0, iou_ready(r));
		ASSERT_TRUE(send(fds[0], self->out + 10, 30, 0) == 30);
		EXPECT_CQE(r, 32, BUFFER(0) | sock_more(fds[1]));
		EXPECT_EQ(-1, iou_verify(self->mem, 32, 0, 5));
		prep_picked(r, f, IORING_OP_RECV, fds[1], 0);
		EXPECT_CQE(r, 8, BUFFER(1));
		/* the stream ends before the rest comes */
		ASSERT_TRUE(give(fds, self->out, 7));
		prep_picked(r, f, IORING_OP_RECV, fds[1], 0)->msg_flags = MSG_WAITALL;
		ASSERT_EQ(1, iou_submit(r));
		iou_wait_ms(r, 1, 5);
		shutdown(fds[0], SHUT_WR);
		EXPECT_CQE(r, 7, BUFFER(2) | end_of(i));
	}
}

/*
 * Several receives fill one incremental buffer.  With MSG_WAITALL, too, a receive completes with
 * less data than fits the buffer.
 */
TEST_F(recvmulti, incremental)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int *fds = self->pair[TCP_STREAM];
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;

	/* a worker uses up the buffer that it has taken */
	if (f)
		return;
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, self->mem, 48, 6);
	ASSERT_TRUE(give(fds, self->out, 10));
	prep_picked(r, f, IORING_OP_RECV, fds[1], 0);
	EXPECT_CQE(r, 10, BUFFER(6) | IORING_CQE_F_BUF_MORE);
	ASSERT_TRUE(give(fds, self->out + 10, 20));
	sqe = prep_picked(r, f, IORING_OP_RECV, fds[1], 0);
	sqe->msg_flags = MSG_WAITALL;
	/* such a part breaks a chain.  Mutant: short-piece-succeeds. */
	sqe->flags |= IOSQE_IO_LINK;
	iou_nop(r, 2);
	EXPECT_CQE(r, 20, BUFFER(6) | IORING_CQE_F_BUF_MORE);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(-ECANCELED, cqe.res);
	ASSERT_TRUE(give(fds, self->out + 30, 20));
	prep_picked(r, f, IORING_OP_RECV, fds[1], 0);
	EXPECT_CQE(r, 18, BUFFER(6) | IORING_CQE_F_SOCK_NONEMPTY);
	EXPECT_EQ(-1, iou_verify(self->mem, 48, 0, 5));
	EXPECT_EQ(1, head(r, GROUP));
}

TEST_F(recvmulti, send)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	char got[64];
	int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		add(self->ring, self->out, 20, 1);
		add(self->ring, self->out + 7, 30, 2);
		prep_picked(r, f, IORING_OP_SEND, fds[0], 7);
		EXPECT_CQE(r, 7, BUFFER(1));
		prep_picked(r, f, IORING_OP_SEND, fds[0], 0);
		EXPECT_CQE(r, 30, BUFFER(2));
		EXPECT_EQ(37, recv(fds[1], got, 37, MSG_WAITALL));
		EXPECT_EQ(-1, iou_verify(got, 37, 0, 5));
	}
	prep_picked(r, f, IORING_OP_SEND, self->pair[UDP][0], 0);
	EXPECT_CQE(r, -ENOBUFS, 0U);
	prep_picked(r, f, IORING_OP_SEND, self->pair[UDP][0], 0)->buf_group = 77;
	EXPECT_CQE(r, -ENOENT, 0U);
}

/*
 * A failed send has used no buffer, like other failed requests; 6.12 reports a used one.
 * differences: send-unused-buffer
 */
TEST_F(recvmulti, send_fails)
{
	int *fds = self->pair[UNIX_STREAM];
	struct iou *r = &self->r;

	if (variant->sqe_flags || iou_on_stock())
		SKIP(return, "the same by a worker");
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->out, 20, 1);
	shutdown(fds[0], SHUT_WR);
	prep_picked(r, 0, IORING_OP_SEND, fds[0], 0);
	EXPECT_CQE(r, -EPIPE, 0U);
	EXPECT_EQ(0, head(r, GROUP));
	prep_picked(r, 0, IORING_OP_SEND, fds[1], 0);
	EXPECT_CQE(r, 20, BUFFER(1));
}

static const struct {
	int op;
	unsigned int how;
} kernel_uses[] = {
	{ IORING_OP_SEND, 0 },
	{ IORING_OP_RECV, 0 },
	{ IORING_OP_RECV, IORING_RECV_MULTISHOT },
	{ IORING_OP_RECVMSG, 0 },
	{ IORING_OP_RECVMSG, IORING_RECV_MULTISHOT },
};

/*
 * A buffer whose address is not user memory is never passed to a socket.  The buffer stays
 * in its group, unless a worker has taken it.
 * differences: buffer-bad-address, send-unused-buffer
 */
TEST_F(recvmulti, kernel_address)
{
	struct msghdr msg = {};
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i, k;

	if (!iou_splits_addresses())
		return;
	for (i = 0; i < ARRAY_LEN(kernel_uses); i++) {
		for (k = 0; k < NR_PAIRS; k++) {
			bool send = kernel_uses[i].op == IORING_OP_SEND;
			struct io_uring_sqe *sqe;

			/* 6.12, and a worker with multishot, check the address once data comes */
			if (!send && iou_on_stock())
				continue;
			if (variant->sqe_flags && kernel_uses[i].how)
				continue;
			self->ring->tail = 0;
			ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
			add(self->ring, IOU_KERNEL, 16, 7);
			sqe = prep_picked(r, variant->sqe_flags, kernel_uses[i].op,
					  self->pair[k][!send], 0);
			if (sqe->opcode == IORING_OP_RECVMSG)
				sqe->addr = (uintptr_t)&msg;
			sqe->ioprio = kernel_uses[i].how;
			ASSERT_EQ(0, take(r, &cqe));
			EXPECT_EQ(-EFAULT, cqe.res);
			if (!variant->sqe_flags && !iou_on_stock()) {
				EXPECT_EQ(0, cqe.flags);
				EXPECT_EQ(0, head(r, GROUP));
			}
			ASSERT_EQ(0, unreg(r, GROUP));
		}
	}
}

/* A send that waits for room holds no buffer.  differences: send-unused-buffer */
TEST_F(recvmulti, send_waits)
{
	int *fds = self->pair[UNIX_STREAM];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	char got[4096];
	ssize_t left = 0, ret;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	while ((ret = send(fds[0], got, sizeof(got), MSG_DONTWAIT)) > 0)
		left += ret;
	add(self->ring, self->out, 20, 1);
	prep_picked(r, variant->sqe_flags, IORING_OP_SEND, fds[0], 0);
	ASSERT_EQ(1, iou_submit(r));
	iou_wait_ms(r, 1, 5);
	EXPECT_EQ(0, iou_ready(r));
	if (!variant->sqe_flags && !iou_on_stock())
		EXPECT_EQ(0, head(r, GROUP));
	for (; left; left -= ret) {
		ret = recv(fds[1], got, left < (ssize_t)sizeof(got) ? left : sizeof(got), 0);
		ASSERT_LT(0, ret);
	}
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(20, cqe.res);
	EXPECT_EQ(BUFFER(1), cqe.flags);
	EXPECT_EQ(20, recv(fds[1], got, sizeof(got), 0));
	EXPECT_EQ(-1, iou_verify(got, 20, 0, 5));
}

/* RECVMSG accepts a msghdr with at most one iovec, whose length limits the received data. */
TEST_F(recvmulti, message)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct sockaddr_in from;
	struct iovec iov[2] = { { (void *)8, 12 }, { (void *)8, 12 } };
	struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from) };
	int *fds = self->pair[UDP];

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add_some(self->ring, self->mem, 4, 32);
	ASSERT_TRUE(give(fds, self->out, 20));
	prep_picked(r, f, IORING_OP_RECVMSG, fds[1], 1)->addr = (uintptr_t)&msg;
	EXPECT_CQE(r, 20, BUFFER(0));
	EXPECT_EQ(0, memcmp(&from, &self->udp, sizeof(from)));
	EXPECT_EQ(-1, iou_verify(self->mem, 20, 0, 5));
	ASSERT_TRUE(give(fds, self->out, 20));
	msg.msg_iov = iov;
	msg.msg_iovlen = 1;
	prep_picked(r, f, IORING_OP_RECVMSG, fds[1], 1)->addr = (uintptr_t)&msg;
	EXPECT_CQE(r, 12, BUFFER(1));
	EXPECT_EQ(MSG_TRUNC, msg.msg_flags & MSG_TRUNC);
	msg.msg_iovlen = 2;
	prep_picked(r, f, IORING_OP_RECVMSG, fds[1], 1)->addr = (uintptr_t)&msg;
	EXPECT_CQE(r, -EINVAL, 0U);
	msg.msg_iovlen = 1;
	msg.msg_iov = (void *)8;
	prep_picked(r, f, IORING_OP_RECVMSG, fds[1], 1)->addr = (uintptr_t)&msg;
	EXPECT_CQE(r, -EFAULT, 0U);
}

/*
 * Receives that wait for their sockets have no buffer, on workers as well: two buffers, provided
 * again after each use, are enough for four sockets.  Mutant: worker-waits-with-buffer.
 */
TEST_F(recvmulti, waits_without_buffer)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int fds[4][2], i;

	iou_prep(r, IORING_OP_PROVIDE_BUFFERS, 2, self->mem, PIECE, 0)->buf_group = GROUP;
	ASSERT_EQ(0, iou_one(r));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, sock_tcp_pair(fds[i]));
		/* urgent data is no data for these */
		ASSERT_EQ(1, send(fds[i][0], "u", 1, MSG_OOB));
		prep_picked(r, variant->sqe_flags, IORING_OP_RECV, fds[i][1], 0)->user_data = i;
		ASSERT_EQ(1, iou_submit(r));
	}
	EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 30));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(3, send(fds[i][0], self->out, 3, 0));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i, cqe.user_data);
		EXPECT_EQ(3, cqe.res);
		ASSERT_TRUE(cqe.flags & IORING_CQE_F_BUFFER);
		iou_prep(r, IORING_OP_PROVIDE_BUFFERS, 1,
			 self->mem + (cqe.flags >> IORING_CQE_BUFFER_SHIFT) * PIECE, PIECE,
			 cqe.flags >> IORING_CQE_BUFFER_SHIFT)->buf_group = GROUP;
		ASSERT_EQ(0, iou_one(r));
	}
	for (i = 0; i < 4; i++)
		sock_close_pair(fds[i]);
}

/*
 * A datagram that is cut off uses as much of an incremental buffer as it fills, although with
 * MSG_TRUNC the result is its whole length.  Mutant: cut-off-uses-all.
 */
TEST_F(recvmulti, cut_off_in_an_incremental_buffer)
{
	int *fds = self->pair[UDP], i;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, self->mem, 50, 1);
	add(self->ring, self->mem + 50, 50, 2);
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(give(fds, self->out, 70 - i));
		sqe = prep_picked(r, variant->sqe_flags, IORING_OP_RECV, fds[1], 20);
		sqe->msg_flags = MSG_TRUNC;
		ASSERT_EQ(0, take(r, &cqe));
		EXPECT_EQ(70 - i, cqe.res);
		EXPECT_EQ(BUFFER(1) | IORING_CQE_F_BUF_MORE,
			  cqe.flags & ~IORING_CQE_F_SOCK_NONEMPTY);
		EXPECT_EQ(-1, iou_verify(self->mem + 20 * i, 20, 0, 5));
	}
}

/*
 * Receives that do not wait for an event get their results at once, by workers as well.
 * Mutant: worker-waits-for-no-event.
 */
TEST_F(recvmulti, results_without_events)
{
	int *tcp = self->pair[TCP_STREAM], *local = self->pair[UNIX_STREAM], low = 100, on = 1, fd;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add_some(self->ring, self->mem, 4, PIECE);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	ASSERT_EQ(0, listen(fd, 1));
	prep_picked(r, variant->sqe_flags, IORING_OP_RECV, fd, 0);
	EXPECT_EQ(-ENOTCONN, iou_one(r));
	close(fd);
	prep_picked(r, variant->sqe_flags, IORING_OP_RECV, tcp[1], 0)->msg_flags = MSG_OOB;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_picked(r, variant->sqe_flags, IORING_OP_RECV, local[1], 0)->msg_flags = MSG_OOB;
	EXPECT_EQ(-EINVAL, iou_one(r));
	/* a socket that is being repaired */
	ASSERT_EQ(0, setsockopt(tcp[0], IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)));
	prep_picked(r, variant->sqe_flags, IORING_OP_RECV, tcp[0], 0);
	EXPECT_EQ(-EPERM, iou_one(r));
	on = -1;
	ASSERT_EQ(0, setsockopt(tcp[0], IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)));
	add_some(self->ring, self->mem, 4, PIECE);
	ASSERT_TRUE(give(tcp, self->out, 10));
	ASSERT_EQ(0, setsockopt(tcp[1], SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)));
	prep_picked(r, variant->sqe_flags, IORING_OP_RECV, tcp[1], 0);
	ASSERT_EQ(0, take(r, &cqe));
	EXPECT_EQ(10, cqe.res);
}

/* With MSG_WAITALL, a worker fills its piece of a buffer.  Mutant: worker-piece-ends-early. */
TEST_F(recvmulti, incremental_by_worker)
{
	int *fds = self->pair[TCP_STREAM];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	if (!variant->sqe_flags)
		return;
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, self->mem, 500, 6);
	ASSERT_TRUE(give(fds, self->out, 10));
	prep_picked(r, variant->sqe_flags, IORING_OP_RECV, fds[1], 50)->msg_flags = MSG_WAITALL;
	ASSERT_EQ(1, iou_submit(r));
	EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 30));
	ASSERT_EQ(40, send(fds[0], self->out + 10, 40, 0));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(50, cqe.res);
	EXPECT_EQ(BUFFER(6) | IORING_CQE_F_BUF_MORE, cqe.flags & ~IORING_CQE_F_SOCK_NONEMPTY);
	EXPECT_EQ(-1, iou_verify(self->mem, 50, 0, 5));
}

/*
 * The length of the vector limits no message of a multishot RECVMSG but the first one on 6.12, and
 * none here.  Without room for names, they have no length.  Mutants: recvmsg-length-for-all,
 * recvmsg-name-without-room.  differences: recvmsg-length
 */
TEST_F(recvmulti, messages_are_whole)
{
	struct io_uring_recvmsg_out *out = (void *)self->mem;
	struct iovec iov = { NULL, 40 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < 3; i++)
		add(self->ring, self->mem + i * 512, 512, i);
	prep_many(r, variant->sqe_flags, IORING_OP_RECVMSG, self->pair[UDP][1])->addr =
		(uintptr_t)&msg;
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(100 + i, send(self->pair[UDP][0], self->out, 100 + i, 0));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		out = (void *)self->mem + i * 512;
		EXPECT_EQ(0, out->namelen);
		if (!i && iou_on_stock())
			continue;
		EXPECT_EQ(sizeof(*out) + 100 + i, cqe.res);
		EXPECT_EQ(100 + i, out->payloadlen);
	}
}

/*
 * A multishot RECVMSG that finds too little of an incremental buffer leaves it to other requests,
 * also if the next buffer is long enough.
 */
TEST_F(recvmulti, rest_stays)
{
	int *fds = self->pair[TCP_STREAM];
	struct msghdr msg = { };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	/* a worker uses up the buffer that it has taken */
	if (variant->sqe_flags)
		return;
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, self->mem, 20, 3);
	add(self->ring, self->mem + 20, 100, 4);
	ASSERT_TRUE(give(fds, self->out, 12));
	prep_picked(r, 0, IORING_OP_RECV, fds[1], 0);
	EXPECT_CQE(r, 12, BUFFER(3) | IORING_CQE_F_BUF_MORE);
	prep_many(r, 0, IORING_OP_RECVMSG, self->pair[UDP][1])->addr = (uintptr_t)&msg;
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(-EFAULT, cqe.res);
	ASSERT_TRUE(give(fds, self->out + 12, 4));
	prep_picked(r, 0, IORING_OP_RECV, fds[1], 0);
	EXPECT_CQE(r, 4, BUFFER(3) | IORING_CQE_F_BUF_MORE);
	EXPECT_EQ(-1, iou_verify(self->mem, 16, 0, 5));
}

/* A RECV that waits uses the group that it finds.  Mutant: replaced-group-is-incremental. */
TEST_F(recvmulti, group_is_replaced)
{
	int *fds = self->pair[TCP_STREAM];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	/* a worker may have taken its buffer */
	if (variant->sqe_flags || variant->flags & IORING_SETUP_SQPOLL)
		return;
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, self->mem, 50, 0);
	prep_picked(r, 0, IORING_OP_RECV, fds[1], 50)->msg_flags = MSG_WAITALL;
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, unreg(r, GROUP));
	memset(self->ring, 0, IOU_PAGE);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->mem, 50, 0);
	ASSERT_EQ(10, send(fds[0], self->out, 10, 0));
	iou_wait_ms(r, 1, 5);
	ASSERT_EQ(40, send(fds[0], self->out + 10, 40, 0));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(50, cqe.res);
	EXPECT_EQ(-1, iou_verify(self->mem, 50, 0, 5));
}

/* Receives from a stream of @first, then @second bytes: results, with 'm' for IORING_CQE_F_MORE */
static const struct limit {
	unsigned int ioprio, group_flags, len, total, first, second;
	const char *want;
} limits[] = {
#define MULTI	IORING_RECV_MULTISHOT
#define BUNDLE	(IORING_RECV_MULTISHOT | IORING_RECVSEND_BUNDLE)
	{ MULTI, 0, 100, 0, 300, 0, " 64m 64m 64m 64m 44m" },
	{ MULTI, 0, 10, 0, 55, 0, " 10m 10m 10m 10m 10m 5m" },
	{ MULTI, 0, INT_MAX, 0, 100, 0, " 64m 36m" },
	{ MULTI, 0, 0, 100, 300, 0, " 64m 64" },
	{ MULTI, 0, 0, 128, 300, 0, " 64m 64" },
	{ MULTI, 0, 0, 64, 300, 0, " 64" },
	{ MULTI, 0, 0, 10, 300, 0, " 64" },
	{ MULTI, 0, 0, UINT_MAX, 100, 0, " 64m 36m" },
	{ MULTI, 0, 0, 100, 50, 100, " 50m 64" },
	{ MULTI, 0, 0, 100, 50, 50, " 50m 50" },
	{ MULTI, 0, 0, 100, 99, 1, " 64m 35m 1" },
	{ MULTI, 0, 30, 100, 300, 0, " 30m 30m 30m 30" },
	{ MULTI, 0, 30, 90, 300, 0, " 30m 30m 30" },
	{ MULTI, IOU_PBUF_RING_INC, 10, 0, 100, 0, " 10m 10m 10m 10m 10m 10m 4m 10m 10m 10m 6m" },
	{ MULTI, IOU_PBUF_RING_INC, 0, 100, 300, 0, " 64m 64" },
	{ MULTI, 0, 1U << 31, 0, 100, 0, " -22" },
	{ IORING_RECVSEND_POLL_FIRST, 0, 0, 100, 100, 0, " -22" },
	{ IORING_RECVSEND_BUNDLE, 0, 0, 100, 100, 0, " -22" },
	{ BUNDLE, 0, 100, 0, 300, 0, " 64m 64m 64m 64m 44m" },
	{ BUNDLE, 0, 0, 300, 400, 0, " 256m 44" },
	{ BUNDLE, 0, 0, 300, 200, 200, " 200m 64m 36" },
	{ BUNDLE, 0, 100, 250, 400, 0, " 64m 64m 64m 58" },
	{ BUNDLE, 0, 128, 256, 400, 0, " 128m 128" },
	{ BUNDLE, 0, 0, 64, 400, 0, " 64" },
	{ BUNDLE, 0, 200, 100, 400, 0, " 64m 36" },
	{ BUNDLE, IOU_PBUF_RING_INC, 100, 250, 400, 0, " 100m 100m 50" },
};

/* Receive as @limit says from a stream of this kind.  Return: as limit->want. */
static const char *receive_limited(const struct limit *limit, unsigned int flags,
				   unsigned int sqe_flags, struct io_uring_buf_ring *ring,
				   char *mem, int kind)
{
	struct io_uring_sqe *sqe;
	static char got[400];
	struct io_uring_cqe cqe;
	char out[400] = { };
	unsigned int at = 0;
	struct iou r;
	int fds[2];

	if ((kind == TCP_STREAM ? sock_tcp_pair(fds) : socketpair(AF_UNIX, SOCK_STREAM, 0, fds)) ||
	    iou_init(&r, 16, flags) || reg(&r, GROUP, ring, SLOTS, limit->group_flags, 0))
		return "no ring";
	ring->tail = 0;
	add_some(ring, mem, SLOTS, PIECE);
	if (!give(fds, out, limit->first))
		return "no stream";
	sqe = prep_picked(&r, sqe_flags, IORING_OP_RECV, fds[1], limit->len);
	sqe->ioprio = limit->ioprio;
	sqe->optlen = limit->total;
	iou_submit(&r);
	if (limit->second) {
		iou_wait_ms(&r, 2, 50);
		if (send(fds[0], out, limit->second, 0) != (ssize_t)limit->second)
			return "no second part";
	}
	got[0] = '\0';
	/* more CQEs than wanted would come soon */
	while (!iou_wait_ms(&r, 1, at < strlen(limit->want) ? 2000 : 10) && !iou_reap(&r, &cqe))
		at += snprintf(got + at, sizeof(got) - at, " %d%s", cqe.res,
			       cqe.flags & IORING_CQE_F_MORE ? "m" : "");
	iou_exit(&r);
	sock_close_pair(fds);
	return got;
}

/*
 * The length of a multishot RECV limits each CQE, and sqe->optlen all of them.  Results are those
 * of 7.3.  Mutants: limit-of-all-ignored, limit-counts-once, bundle-beyond-limit.
 */
TEST_F(recvmulti, limits)
{
	unsigned int i;
	int kind;

	/* differences: none, an addition of 6.17 */
	if (iou_on_older_stock())
		SKIP(return, "6.12 refuses both");
	for (kind = 0; kind < NR_STREAMS; kind++) {
		for (i = 0; i < ARRAY_LEN(limits); i++) {
			EXPECT_STREQ(limits[i].want,
				     receive_limited(limits + i, variant->flags, variant->sqe_flags,
						     self->ring, self->mem, kind)) {
				TH_LOG("case %u, kind %d", i, kind);
			}
		}
	}
}

static const struct refusal {
	const char *name;
	int op;
	unsigned int sqe_flags, ioprio, len, msg_flags;
	int want;
} refusals[] = {
	{ "no group", IORING_OP_RECV, 0, IORING_RECV_MULTISHOT, 0, 0, -EINVAL },
	{ "all", IORING_OP_RECV, IOSQE_BUFFER_SELECT, IORING_RECV_MULTISHOT, 0, MSG_WAITALL,
	  -EINVAL },
	{ "file", IORING_OP_RECV, IOSQE_BUFFER_SELECT, IORING_RECV_MULTISHOT, 0, 0, -EBADF },
	{ "msg no group", IORING_OP_RECVMSG, 0, IORING_RECV_MULTISHOT, 0, 0, -EINVAL },
	{ "msg all", IORING_OP_RECVMSG, IOSQE_BUFFER_SELECT, IORING_RECV_MULTISHOT, 0,
	  MSG_WAITALL, -EINVAL },
	{ "msg length", IORING_OP_RECVMSG, IOSQE_BUFFER_SELECT, IORING_RECV_MULTISHOT, 1, 0,
	  -EBADF },
	{ "msg bundle", IORING_OP_RECVMSG, IOSQE_BUFFER_SELECT,
	  IORING_RECV_MULTISHOT | IORING_RECVSEND_BUNDLE, 0, 0, -EINVAL },
	{ "send", IORING_OP_SEND, IOSQE_BUFFER_SELECT, IORING_RECV_MULTISHOT, 0, 0, -EINVAL },
};

TEST_F(recvmulti, refused)
{
	struct iou *r = &self->r;
	struct msghdr msg = {};
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(refusals); i++) {
		const struct refusal *c = refusals + i;

		sqe = iou_prep(r, c->op, 9999, &msg, c->len, 0);
		sqe->flags = variant->sqe_flags | c->sqe_flags;
		sqe->ioprio = c->ioprio;
		sqe->msg_flags = c->msg_flags;
		EXPECT_EQ(c->want, iou_one(r)) {
			TH_LOG("%s", c->name);
		}
	}
	msg.msg_controllen = 1UL << 31;
	sqe = prep_many(r, variant->sqe_flags, IORING_OP_RECVMSG, 9999);
	sqe->addr = (uintptr_t)&msg;
	EXPECT_EQ(-EOVERFLOW, iou_one(r));
	msg.msg_controllen = (1UL << 31) - 1;
	sqe = prep_many(r, variant->sqe_flags, IORING_OP_RECVMSG, 9999);
	sqe->addr = (uintptr_t)&msg;
	EXPECT_EQ(-EOVERFLOW, iou_one(r));
	msg.msg_controllen = 0;
	msg.msg_namelen = -1;
	sqe = prep_many(r, variant->sqe_flags, IORING_OP_RECVMSG, 9999);
	sqe->addr = (uintptr_t)&msg;
	EXPECT_EQ(-EOVERFLOW, iou_one(r));
}

/* Each part gets a CQE; the end of the stream uses no buffer.  Mutant: recv-non-empty-wrong. */
TEST_F(recvmulti, many)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i], before = self->ring->tail;

		add_some(self->ring, self->mem, 6, 16);
		ASSERT_TRUE(give(fds, self->out, 20));
		prep_many(r, f, IORING_OP_RECV, fds[1]);
		EXPECT_CQE(r, 16, BUFFER(0) | IORING_CQE_F_MORE | sock_more(fds[1]));
		EXPECT_CQE(r, 4, BUFFER(1) | IORING_CQE_F_MORE);
		ASSERT_EQ(3, send(fds[0], self->out + 20, 3, 0));
		EXPECT_CQE(r, 3, BUFFER(2) | IORING_CQE_F_MORE);
		ASSERT_EQ(32, send(fds[0], self->out + 23, 32, 0));
		EXPECT_CQE(r, 16, BUFFER(3) | IORING_CQE_F_MORE | sock_more(fds[1]));
		EXPECT_CQE(r, 16, BUFFER(4) | IORING_CQE_F_MORE);
		EXPECT_EQ(-1, iou_verify(self->mem, 16, 0, 5));
		EXPECT_EQ(-1, iou_verify(self->mem + PIECE, 4, 16, 5));
		EXPECT_EQ(-1, iou_verify(self->mem + 2 * PIECE, 3, 20, 5));
		EXPECT_EQ(-1, iou_verify(self->mem + 3 * PIECE, 16, 23, 5));
		EXPECT_EQ(-1, iou_verify(self->mem + 4 * PIECE, 16, 39, 5));
		shutdown(fds[0], SHUT_WR);
		EXPECT_CQE(r, 0, end_of(i));
		EXPECT_EQ((__u16)(before + 5), head(r, GROUP));
		self->ring->tail--;
	}
}

static int sys_bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

/* Create a sockmap whose program redirects data of @from to the psock ingress queue of @to. */
static int redirect(int from, int to)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_SOCKMAP,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 2,
	};
	int map = sys_bpf(BPF_MAP_CREATE, &attr), prog, fds[] = { from, to }, i;
	struct bpf_insn code[] = {
		{ BPF_LD | BPF_DW | BPF_IMM, BPF_REG_2, BPF_PSEUDO_MAP_FD, 0, map },
		{ },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 1 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, BPF_F_INGRESS },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_sk_redirect_map },
		{ BPF_JMP | BPF_EXIT },
	};

	if (map < 0)
		return -errno;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SK_SKB;
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = ARRAY_SIZE(code);
	attr.license = (uintptr_t)"GPL";
	prog = sys_bpf(BPF_PROG_LOAD, &attr);
	memset(&attr, 0, sizeof(attr));
	attr.target_fd = map;
	attr.attach_bpf_fd = prog;
	attr.attach_type = BPF_SK_SKB_VERDICT;
	if (prog < 0 || sys_bpf(BPF_PROG_ATTACH, &attr))
		return -errno;
	for (i = 0; i < 2; i++) {
		memset(&attr, 0, sizeof(attr));
		attr.map_fd = map;
		attr.key = (uintptr_t)&i;
		attr.value = (uintptr_t)&fds[i];
		if (sys_bpf(BPF_MAP_UPDATE_ELEM, &attr))
			return -errno;
	}
	close(prog);
	return map;
}

/* A receive also finds data that a sockmap has redirected.  Mutant: recv-sockmap-forgotten. */
TEST(many_of_a_sockmap)
{
	struct io_uring_buf_ring *ring = iou_map_anon(IOU_PAGE);
	char *mem = iou_map_anon(IOU_PAGE), out[40];
	int from[2], to[2], map, i;
	struct iou r;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, from));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, to));
	map = redirect(from[1], to[1]);
	if (map < 0)
		SKIP(return, "no BPF");
	iou_fill(out, 40, 0, 5);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_init(&r, 16, i ? IOU_DEFER : 0));
		ASSERT_EQ(0, reg(&r, GROUP, ring, SLOTS, 0, 0));
		ring->tail = 0;
		add_some(ring, mem, 6, 16);
		prep_many(&r, 0, IORING_OP_RECV, to[1]);
		ASSERT_EQ(1, iou_submit(&r));
		ASSERT_EQ(40, send(from[0], out, 40, 0));
		EXPECT_CQE(&r, 16, BUFFER(0) | IORING_CQE_F_MORE);
		EXPECT_CQE(&r, 16, BUFFER(1) | IORING_CQE_F_MORE);
		EXPECT_CQE(&r, 8, BUFFER(2) | IORING_CQE_F_MORE);
		EXPECT_EQ(-1, iou_verify(mem, 16, 0, 5));
		EXPECT_EQ(-1, iou_verify(mem + PIECE, 16, 16, 5));
		EXPECT_EQ(-1, iou_verify(mem + 2 * PIECE, 8, 32, 5));
		iou_exit(&r);
	}
	close(map);
	sock_close_pair(from);
	sock_close_pair(to);
}

/*
 * A request ends if the group is empty, on a cancel, and on a bad socket.  None of these ends uses
 * a buffer.
 */
TEST_F(recvmulti, many_end)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	int fd = socket(AF_INET, SOCK_STREAM, 0), i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		add_some(self->ring, self->mem, 2, 16);
		ASSERT_TRUE(give(fds, self->out, 40));
		prep_many(r, f, IORING_OP_RECV, fds[1]);
		EXPECT_CQE(r, 16, BUFFER(0) | IORING_CQE_F_MORE | sock_more(fds[1]));
		EXPECT_CQE(r, 16, BUFFER(1) | IORING_CQE_F_MORE | sock_more(fds[1]));
		EXPECT_CQE(r, -ENOBUFS, 0U);
		ASSERT_EQ(8, recv(fds[1], self->mem, 16, 0));
		add_some(self->ring, self->mem, 2, 16);
		prep_many(r, f, IORING_OP_RECV, fds[1])->user_data = 7;
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(1, send(fds[0], self->out, 1, 0));
		EXPECT_CQE(r, 1, BUFFER(0) | IORING_CQE_F_MORE);
		sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0);
		sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
		EXPECT_CQE(r, -ECANCELED, 0U);
		EXPECT_EQ((__u16)(self->ring->tail - 1), head(r, GROUP));
		ASSERT_TRUE(give(fds, self->out, 3));
		prep_picked(r, f, IORING_OP_RECV, fds[1], 0);
		EXPECT_CQE(r, 3, BUFFER(1));
	}
	add(self->ring, self->mem, 16, 5);
	prep_many(r, f, IORING_OP_RECV, fd);
	EXPECT_CQE(r, -ENOTCONN, 0U);
	prep_many(r, 0, IORING_OP_RECV, r->fd);
	EXPECT_CQE(r, -ENOTSOCK, 0U);
	EXPECT_EQ((__u16)(self->ring->tail - 1), head(r, GROUP));
	close(fd);
}

/*
 * With MSG_DONTWAIT a request ends once it has received all data, even if the socket
 * reports that it is empty.
 * Mutant: recv-dontwait-waits.
 */
TEST_F(recvmulti, many_without_waiting)
{
	struct iou *r = &self->r;
	int i;

	if (variant->sqe_flags)
		return;
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		add_some(self->ring, self->mem, 3, 16);
		ASSERT_TRUE(give(fds, self->out, 20));
		prep_many(r, 0, IORING_OP_RECV, fds[1])->msg_flags = MSG_DONTWAIT;
		EXPECT_CQE(r, 16, BUFFER(0) | IORING_CQE_F_MORE | sock_more(fds[1]));
		EXPECT_CQE(r, 4, BUFFER(1) | IORING_CQE_F_MORE);
		EXPECT_CQE(r, -EAGAIN, 0U);
		EXPECT_EQ((__u16)(self->ring->tail - 1), head(r, GROUP));
		/* one buffer is left */
		ASSERT_TRUE(give(fds, self->out, 3));
		prep_many(r, 0, IORING_OP_RECV, fds[1])->msg_flags = MSG_DONTWAIT;
		EXPECT_CQE(r, 3, BUFFER(2) | IORING_CQE_F_MORE);
		EXPECT_CQE(r, sock_more(fds[1]) ? -EAGAIN : -ENOBUFS, 0U);
	}
}

/*
 * A request with MSG_DONTWAIT does not wait behind a worker's request either.
 * Mutant: worker-waits-for-dontwait.  differences: multishot-dontwait
 */
TEST_F(recvmulti, many_behind_a_worker)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	if (variant->sqe_flags || iou_on_stock())
		return;
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add_some(self->ring, self->mem, 3, 16);
	iou_nop(r, 1)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	prep_many(r, 0, IORING_OP_RECV, self->pair[0][1])->msg_flags = MSG_DONTWAIT;
	ASSERT_EQ(0, take(r, &cqe));
	EXPECT_EQ(1, cqe.user_data);
	EXPECT_CQE(r, -EAGAIN, 0U);
}

/*
 * The last buffer is used, and the socket is empty.  If the socket reports that it is empty, the
 * request waits for data; with other sockets the request ends with -ENOBUFS at once.
 * Mutant: last-buffer-untold.
 */
TEST_F(recvmulti, many_use_the_last_buffer)
{
	unsigned int f = variant->sqe_flags, i, k, later;
	struct iou *r = &self->r;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (k = 0; k < 2 * NR_PAIRS; k++) {
		int *fds = self->pair[k / 2];

		add_some(self->ring, self->mem, SLOTS, PIECE);
		later = k & 1;
		if (!later)
			ASSERT_TRUE(give(fds, self->out, PIECE));
		prep_many(r, f, IORING_OP_RECV, fds[1]);
		ASSERT_LE(0, iou_submit(r));
		if (later)
			iou_wait_ms(r, 1, 5);
		for (i = 0; i < SLOTS; i++) {
			if (i || later)
				ASSERT_EQ(PIECE, send(fds[0], self->out, PIECE, 0));
			EXPECT_CQE(r, PIECE, BUFFER(i) | IORING_CQE_F_MORE);
		}
		if (sock_more(fds[1])) {
			EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 5));
			ASSERT_TRUE(give(fds, self->out, 10));
		}
		EXPECT_CQE(r, -ENOBUFS, 0U);
		if (sock_more(fds[1]))
			EXPECT_EQ(10, recv(fds[1], self->mem, PIECE, MSG_DONTWAIT));
	}
}

struct pieces {
	int fd;
	const char *out;
};

static void *send_pieces(void *arg)
{
	struct pieces *p = arg;
	int i;

	for (i = 0; i < SLOTS; i++) {
		if (send(p->fd, p->out, PIECE, MSG_NOSIGNAL) != PIECE)
			break;
	}
	return NULL;
}

/* Another thread sends at the same time, so an attempt may take the data of the next event. */
TEST_F(recvmulti, many_race_for_the_last_buffer)
{
	struct pieces pieces = { self->pair[UDP][0], self->out };
	unsigned long round, rounds = iou_rounds(300);
	unsigned long long end = iou_race_end();
	struct iou *r = &self->r;
	pthread_t thread;
	unsigned int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (round = 0; round < rounds && iou_now_us() < end; round++) {
		add_some(self->ring, self->mem, SLOTS, PIECE);
		ASSERT_EQ(0, pthread_create(&thread, NULL, send_pieces, &pieces));
		prep_many(r, variant->sqe_flags, IORING_OP_RECV, self->pair[UDP][1]);
		ASSERT_LE(0, iou_submit(r));
		for (i = 0; i < SLOTS; i++)
			EXPECT_CQE(r, PIECE, BUFFER(i) | IORING_CQE_F_MORE);
		EXPECT_CQE(r, -ENOBUFS, 0U);
		pthread_join(thread, NULL);
	}
}

/* A CQE that overflows is the last one of its request, and no received data is lost. */
TEST_F(recvmulti, many_overflow)
{
	unsigned int seen = 0, last = 0, flags;
	int *fds = self->pair[TCP_STREAM];
	struct io_uring_cqe cqe;
	struct iou r;

	ASSERT_EQ(0, iou_init_cq(&r, 4, 4, variant->flags));
	ASSERT_EQ(0, reg(&r, GROUP, self->ring, SLOTS, 0, 0));
	add_some(self->ring, self->mem, SLOTS, 1);
	ASSERT_TRUE(give(fds, self->out, 8));
	prep_many(&r, variant->sqe_flags, IORING_OP_RECV, fds[1]);
	ASSERT_EQ(1, iou_submit(&r));
	do {
		ASSERT_EQ(0, iou_wait(&r, 1));
		if (!seen)
			iou_wait_ms(&r, 4, 1000);
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		ASSERT_EQ(1, cqe.res);
		EXPECT_EQ(seen, cqe.flags >> IORING_CQE_BUFFER_SHIFT);
		EXPECT_EQ(-1, iou_verify(self->mem + seen * PIECE, 1, seen, 5));
		flags = cqe.flags;
		seen++;
		last += !(flags & IORING_CQE_F_MORE);
	} while (flags & IORING_CQE_F_MORE && seen < SLOTS);
	EXPECT_EQ(1, last);
	EXPECT_EQ((int)seen, head(&r, GROUP));
	EXPECT_EQ(SLOTS - (int)seen, recv(fds[1], self->mem, PIECE, MSG_DONTWAIT));
	iou_exit(&r);
}

/* Ways for a stream to end directly behind its last byte */
enum { PEER_SHUTDOWN, PEER_RESET, OWN_SHUT_RD, OWN_SHUT_RDWR, NR_ENDS };

static const struct ended_op {
	const char *name;
	int op;
	unsigned int how;
} ended_ops[] = {
	{ "RECV", IORING_OP_RECV, 0 },
	{ "RECVMSG", IORING_OP_RECVMSG, 0 },
	{ "bundle", IORING_OP_RECV, IORING_RECVSEND_BUNDLE },
};

/* Send a byte, and end the stream.  Return: true if the byte and the end have arrived. */
static bool give_last(int *fds, int end)
{
	struct pollfd p = { .fd = fds[1], .events = POLLIN };
	struct linger none = { .l_onoff = 1 };

	if (send(fds[0], "x", 1, 0) != 1)
		return false;
	/* a multi-writer ring may have received the byte already */
	poll(&p, 1, 10);
	switch (end) {
	case PEER_SHUTDOWN:
		shutdown(fds[0], SHUT_WR);
		break;
	case PEER_RESET:
		setsockopt(fds[0], SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		close(fds[0]);
		fds[0] = -1;
		break;
	default:
		shutdown(fds[1], end == OWN_SHUT_RD ? SHUT_RD : SHUT_RDWR);
	}
	p.events = POLLRDHUP;
	return poll(&p, 1, IOU_PATIENCE) == 1;
}

/*
 * Expect a CQE for the byte, and a last CQE with the end or the error of the socket.
 * Return: the result of the last CQE, or 1 if a CQE is wrong or missing.
 */
static int last_result(struct iou *r, const struct ended_op *op)
{
	int head = op->op == IORING_OP_RECVMSG ? sizeof(struct io_uring_recvmsg_out) : 0;
	struct io_uring_cqe cqe;

	if (iou_reap(r, &cqe) || cqe.res != head + 1 || !(cqe.flags & IORING_CQE_F_MORE))
		return 1;
	iou_wait_ms(r, 1, 2000);
	if (!iou_ready(r) || iou_reap(r, &cqe) || cqe.flags & IORING_CQE_F_MORE)
		return 1;
	return cqe.res < 0 ? cqe.res : cqe.res - head;
}

/*
 * Receive a byte and the end of the stream.  Both are sent before the request is submitted if
 * @before is set, and otherwise once the request waits.  @how is added to ->ioprio.
 */
static int receive_last(struct iou *r, const struct ended_op *op, unsigned int sqe_flags,
			unsigned int how, int *fds, int end, bool before)
{
	struct io_uring_sqe *sqe;
	struct msghdr msg = {};

	if (before && !give_last(fds, end))
		return 1;
	sqe = prep_many(r, sqe_flags, op->op, fds[1]);
	sqe->ioprio |= op->how | how;
	if (op->op == IORING_OP_RECVMSG)
		sqe->addr = (uintptr_t)&msg;
	if (iou_submit(r) != 1)
		return 1;
	if (!before) {
		/* by now, a request with IOSQE_ASYNC waits for data, too */
		iou_wait_ms(r, 1, 5);
		if (!give_last(fds, end))
			return 1;
	}
	return last_result(r, op);
}

/*
 * A request reports the end or an error that comes with the last data, though no event follows.
 * On a single-writer ring, both are there when the program enters the kernel.  With POLL_FIRST, or
 * in a worker, both are there when the request begins to wait; on 6.12 it then waits forever.
 * Mutant: recv-end-untold.  differences: recv-multishot-end
 */
TEST_F(recvmulti, many_end_with_the_data)
{
	unsigned int nr = ARRAY_LEN(ended_ops), i, when;
	int end, fds[2], want, got;
	struct iou r;

	for (i = 0; i < nr * NR_ENDS * NR_STREAMS * 3; i++) {
		const struct ended_op *op = ended_ops + i % nr;
		bool tcp = i / nr / NR_ENDS % NR_STREAMS == TCP_STREAM;

		end = i / nr % NR_ENDS;
		when = i / nr / NR_ENDS / NR_STREAMS;
		if (iou_on_stock() && (when == 2 || variant->sqe_flags))
			continue;
		ASSERT_EQ(0, iou_init(&r, 4, variant->flags));
		self->ring->tail = 0;
		ASSERT_EQ(0, reg(&r, GROUP, self->ring, SLOTS, 0, 0));
		add_some(self->ring, self->mem, 4, PIECE);
		ASSERT_EQ(0, sock_stream_pair(tcp, fds));
		want = tcp && end == PEER_RESET ? -ECONNRESET : 0;
		got = receive_last(&r, op, variant->sqe_flags,
				   when == 2 ? IORING_RECVSEND_POLL_FIRST : 0, fds, end, when > 0);
		EXPECT_EQ(want, got) {
			TH_LOG("%s, %s, end %d, %u", op->name, tcp ? "tcp" : "unix", end, when);
		}
		sock_close_pair(fds);
		iou_exit(&r);
	}
}

/*
 * IOSQE_CQE_SKIP_SUCCESS does not hide a last CQE that returns a buffer.
 * Mutant: empty-message-skipped.  differences: multishot-skip-last
 */
TEST_F(recvmulti, last_buffer_is_told)
{
	struct msghdr msg = {};
	struct io_uring_cqe cqe;
	struct iou r;
	int fds[2];

	ASSERT_EQ(0, iou_init(&r, 4, variant->flags));
	self->ring->tail = 0;
	ASSERT_EQ(0, reg(&r, GROUP, self->ring, SLOTS, 0, 0));
	add_some(self->ring, self->mem, 4, PIECE);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	prep_many(&r, variant->sqe_flags | IOSQE_CQE_SKIP_SUCCESS, IORING_OP_RECVMSG,
		  fds[1])->addr = (uintptr_t)&msg;
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_EQ(0, send(fds[0], "", 0, 0));
	iou_wait_ms(&r, 1, iou_on_stock() ? 20 : IOU_PATIENCE);
	EXPECT_EQ(!iou_on_stock(), iou_ready(&r));
	if (iou_ready(&r)) {
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ((int)sizeof(struct io_uring_recvmsg_out), cqe.res);
		EXPECT_EQ(IORING_CQE_F_BUFFER, cqe.flags);
	}
	sock_close_pair(fds);
	iou_exit(&r);
}

/*
 * A request with IOSQE_CQE_SKIP_SUCCESS that fails ends the rest of its chain without CQEs, also if
 * a worker has made it single-shot.  Mutant: shown-breaks-aloud.
 */
TEST_F(recvmulti, failure_ends_chain_silently)
{
	unsigned int i, flags = IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
	int null = open("/dev/null", O_RDWR);
	struct io_uring_cqe cqe;
	struct iou r;

	ASSERT_LE(0, null);
	ASSERT_EQ(0, iou_init(&r, 4, variant->flags));
	self->ring->tail = 0;
	ASSERT_EQ(0, reg(&r, GROUP, self->ring, SLOTS, 0, 0));
	add_some(self->ring, self->mem, 4, PIECE);
	for (i = 0; i < 2; i++) {
		prep_many(&r, flags | (i ? IOSQE_ASYNC : 0), IORING_OP_RECV, null)->user_data = 1;
		iou_nop(&r, 2);
		ASSERT_EQ(2, iou_submit(&r));
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(1, cqe.user_data);
		EXPECT_GT(0, cqe.res);
		iou_wait_ms(&r, 1, 20);
		EXPECT_EQ(0, iou_ready(&r));
	}
	close(null);
	iou_exit(&r);
}

/* A multishot receive that always finds data lets other requests run. */
TEST_F(recvmulti, fair)
{
	int *fds = self->pair[UNIX_STREAM], *other = self->pair[TCP_STREAM];
	unsigned int i, before = 0, nr = 100;
	struct io_uring_cqe cqe;
	bool seen = false;
	struct iou r;

	ASSERT_EQ(0, iou_init_cq(&r, 8, 256, variant->flags));
	iou_prep(&r, IORING_OP_PROVIDE_BUFFERS, 200, self->mem, 1, 0)->buf_group = GROUP;
	ASSERT_EQ(0, iou_one(&r));
	ASSERT_TRUE(give(fds, self->out, nr));
	ASSERT_TRUE(give(other, self->out, 1));
	prep_many(&r, 0, IORING_OP_RECV, fds[1])->user_data = 1;
	prep_many(&r, 0, IORING_OP_RECV, other[1])->user_data = 2;
	ASSERT_EQ(2, iou_submit(&r));
	for (i = 0; i < nr + 1; i++) {
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		ASSERT_EQ(1, cqe.res);
		seen |= cqe.user_data == 2;
		before += !seen;
	}
	EXPECT_TRUE(seen);
	EXPECT_GE(40, before);
	iou_exit(&r);
}

/* The contents of a buffer of a multishot RECVMSG. */
struct message {
	struct io_uring_recvmsg_out out;
	char rest[];
};

#define HEAD	(sizeof(struct io_uring_recvmsg_out) + sizeof(struct sockaddr_in))

static struct io_uring_sqe *prep_messages(struct iou *r, unsigned int sqe_flags, int fd,
					  struct msghdr *msg)
{
	struct io_uring_sqe *sqe = prep_many(r, sqe_flags, IORING_OP_RECVMSG, fd);

	sqe->addr = (uintptr_t)msg;
	return sqe;
}

TEST_F(recvmulti, messages)
{
	struct msghdr msg = { .msg_namelen = sizeof(struct sockaddr_in) };
	unsigned int f = variant->sqe_flags;
	struct message *got = (void *)self->mem;
	struct iou *r = &self->r;
	int *fds = self->pair[UDP];

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->mem, HEAD + 24, 0);
	add(self->ring, self->mem + 128, HEAD + 24, 1);
	add(self->ring, self->mem + 256, HEAD, 2);
	add(self->ring, self->mem + 384, HEAD + 24, 3);
	add(self->ring, self->mem + 512, HEAD - 1, 4);
	ASSERT_TRUE(give(fds, self->out, 20));
	prep_messages(r, f, fds[1], &msg);
	EXPECT_CQE(r, (int)HEAD + 20, BUFFER(0) | IORING_CQE_F_MORE);
	EXPECT_EQ(sizeof(struct sockaddr_in), got->out.namelen);
	EXPECT_EQ(0, got->out.controllen);
	EXPECT_EQ(20, got->out.payloadlen);
	EXPECT_EQ(0, got->out.flags);
	EXPECT_EQ(0, memcmp(got->rest, &self->udp, sizeof(self->udp)));
	EXPECT_EQ(-1, iou_verify(self->mem + HEAD, 20, 0, 5));
	/* first the payload is truncated, then the buffer has no room for any payload */
	got = (void *)(self->mem + 128);
	ASSERT_EQ(40, send(fds[0], self->out, 40, 0));
	EXPECT_CQE(r, (int)HEAD + 24, BUFFER(1) | IORING_CQE_F_MORE);
	EXPECT_EQ(24, got->out.payloadlen);
	EXPECT_EQ(MSG_TRUNC, got->out.flags);
	EXPECT_EQ(-1, iou_verify(self->mem + 128 + HEAD, 24, 0, 5));
	got = (void *)(self->mem + 256);
	ASSERT_EQ(40, send(fds[0], self->out, 40, 0));
	/* without any payload the request ends, as at the end of a stream */
	EXPECT_CQE(r, (int)HEAD, BUFFER(2));
	EXPECT_EQ(0, got->out.payloadlen);
	/* with MSG_TRUNC, payloadlen is the length of the whole message */
	got = (void *)(self->mem + 384);
	ASSERT_EQ(40, send(fds[0], self->out, 40, 0));
	prep_messages(r, f, fds[1], &msg)->msg_flags = MSG_TRUNC;
	EXPECT_CQE(r, (int)HEAD + 24, BUFFER(3) | IORING_CQE_F_MORE);
	EXPECT_EQ(40, got->out.payloadlen);
	/* the last buffer is shorter than the header */
	ASSERT_EQ(0, send(fds[0], self->out, 0, 0));
	EXPECT_CQE(r, -EFAULT, 0U);
}

/* Receive messages with too little room for the name or header.  Mutant: recvmsg-name-too-long. */
TEST_F(recvmulti, messages_without)
{
	struct msghdr msg = { .msg_namelen = 4 };
	unsigned int f = variant->sqe_flags;
	struct message *got = (void *)self->mem;
	struct iou *r = &self->r;
	int *fds = self->pair[UDP], one = 1;
	struct cmsghdr *cmsg;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->mem, 200, 0);
	add(self->ring, self->mem + 256, 200, 1);
	add(self->ring, self->mem + 512, 19, 2);
	/* the name is longer than the room for it */
	ASSERT_TRUE(give(fds, self->out, 20));
	prep_messages(r, f, fds[1], &msg)->user_data = 7;
	EXPECT_CQE(r, 16 + 4 + 20, BUFFER(0) | IORING_CQE_F_MORE);
	EXPECT_EQ(sizeof(struct sockaddr_in), got->out.namelen);
	EXPECT_EQ(0, memcmp(got->rest, &self->udp, 4));
	EXPECT_EQ(-1, iou_verify(got->rest + 4, 20, 0, 5));
	iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0)->flags = IOSQE_CQE_SKIP_SUCCESS;
	EXPECT_CQE(r, -ECANCELED, 0U);
	/* ancillary data */
	got = (void *)(self->mem + 256);
	setsockopt(fds[1], IPPROTO_IP, IP_RECVTTL, &one, sizeof(one));
	msg.msg_namelen = 0;
	msg.msg_controllen = 64;
	ASSERT_TRUE(give(fds, self->out, 20));
	prep_messages(r, f, fds[1], &msg);
	EXPECT_CQE(r, 16 + 64 + 20, BUFFER(1) | IORING_CQE_F_MORE);
	EXPECT_EQ(CMSG_SPACE(sizeof(int)), got->out.controllen);
	cmsg = (void *)got->rest;
	EXPECT_EQ(IPPROTO_IP, cmsg->cmsg_level);
	EXPECT_EQ(IP_TTL, cmsg->cmsg_type);
	EXPECT_EQ(-1, iou_verify(got->rest + 64, 20, 0, 5));
	/* a buffer that is shorter than the header */
	ASSERT_EQ(20, send(fds[0], self->out, 20, 0));
	EXPECT_CQE(r, -EFAULT, 0U);
	if (!f)
		EXPECT_EQ(2, head(r, GROUP));
}

/*
 * If a RECVMSG leaves a rest that has no room for a header, it uses the next buffer, and its CQE
 * has no BUF_MORE.  On 6.12 the request ends with -EFAULT.
 * Mutant: recvmsg-rest-untold.  differences: recvmsg-rest
 */
TEST_F(recvmulti, messages_skip_a_rest)
{
	struct msghdr msg = { .msg_namelen = sizeof(struct sockaddr_in) };
	unsigned int more = IORING_CQE_F_MORE | IORING_CQE_F_BUF_MORE;
	int *fds = self->pair[UDP];
	struct iou *r = &self->r;

	if (iou_on_stock())
		SKIP(return, "6.12 ends with -EFAULT");
	if (variant->sqe_flags)
		SKIP(return, "a worker takes its buffer first");
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, self->mem, 2 * (HEAD + 20) + HEAD - 1, 0);
	add(self->ring, self->mem + 256, HEAD + 20, 1);
	ASSERT_TRUE(give(fds, self->out, 20));
	prep_messages(r, 0, fds[1], &msg)->user_data = 7;
	EXPECT_CQE(r, (int)HEAD + 20, BUFFER(0) | more);
	ASSERT_EQ(20, send(fds[0], self->out, 20, 0));
	EXPECT_CQE(r, (int)HEAD + 20, BUFFER(0) | IORING_CQE_F_MORE);
	EXPECT_EQ(1, head(r, GROUP));
	ASSERT_EQ(20, send(fds[0], self->out, 20, 0));
	EXPECT_CQE(r, (int)HEAD + 20, BUFFER(1) | IORING_CQE_F_MORE);
	EXPECT_EQ(-1, iou_verify(self->mem + 256 + HEAD, 20, 0, 5));
	EXPECT_CQE(r, -ENOBUFS, 0U);
	EXPECT_EQ(2, head(r, GROUP));
}

/* Incremental buffers that are too short stay in their group. */
TEST_F(recvmulti, messages_leave_short_buffers)
{
	struct msghdr msg = { .msg_namelen = sizeof(struct sockaddr_in) };
	int *fds = self->pair[UDP];
	struct iou *r = &self->r;
	int i;

	if (variant->sqe_flags)
		SKIP(return, "a worker takes its buffer first");
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	for (i = 0; i < 3; i++)
		add(self->ring, self->mem + i * PIECE, HEAD - 1, i);
	ASSERT_TRUE(give(fds, self->out, 20));
	prep_messages(r, 0, fds[1], &msg);
	EXPECT_CQE(r, -EFAULT, 0U);
	EXPECT_EQ(0, head(r, GROUP));
}

/* Prepare a read at the end of a file, which puts the first buffer back to its group unused. */
static struct io_uring_sqe *prep_end(struct iou *r, int file, unsigned int len)
{
	struct io_uring_sqe *sqe = prep_picked(r, 0, IORING_OP_READ, file, len);

	sqe->off = IOU_PAGE;
	return sqe;
}

/*
 * A read that puts a buffer back does not change it: it has all its bytes for later reads.
 * differences: inc-gives-back
 */
TEST_F(recvmulti, messages_find_a_returned_buffer)
{
	struct msghdr msg = { .msg_namelen = sizeof(struct sockaddr_in) };
	int *fds = self->pair[UDP], file = iou_file(IOU_PAGE, 3);
	unsigned int rest = BUFFER(0) | IORING_CQE_F_BUF_MORE;
	struct iou *r = &self->r;

	if (variant->sqe_flags)
		SKIP(return, "a worker takes its buffer first");
	ASSERT_LE(0, file);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, self->mem, HEAD - 1, 0);
	add(self->ring, self->mem + 256, HEAD + 20, 1);
	ASSERT_TRUE(give(fds, self->out, 20));
	prep_end(r, file, 16);
	EXPECT_CQE(r, 0, rest);
	prep_messages(r, 0, fds[1], &msg);
	EXPECT_CQE(r, -EFAULT, 0U);
	EXPECT_EQ(0, head(r, GROUP));
	/* 6.12 has used up 16 bytes */
	if (!iou_on_stock()) {
		EXPECT_EQ(HEAD - 1, slot(self->ring, 0)->len);
		prep_picked(r, 0, IORING_OP_READ, file, 16);
		EXPECT_CQE(r, 16, rest);
		prep_end(r, file, IOU_PAGE);
		EXPECT_CQE(r, 0, rest);
	}
	close(file);
}

TEST_F(recvmulti, messages_of_a_stream)
{
	unsigned int f = variant->sqe_flags;
	struct message *got = (void *)self->mem;
	struct iou *r = &self->r;
	struct msghdr msg = {};
	int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		add_some(self->ring, self->mem, 3, 16 + 16);
		ASSERT_TRUE(give(fds, self->out, 20));
		prep_messages(r, f, fds[1], &msg);
		EXPECT_CQE(r, 16 + 16, BUFFER(0) | IORING_CQE_F_MORE | sock_more(fds[1]));
		EXPECT_EQ(16, got->out.payloadlen);
		EXPECT_CQE(r, 16 + 4, BUFFER(1) | IORING_CQE_F_MORE);
		shutdown(fds[0], SHUT_WR);
		EXPECT_CQE(r, 16, BUFFER(2) | end_of(i));
		got = (void *)(self->mem + 2 * PIECE);
		EXPECT_EQ(0, got->out.payloadlen);
		got = (void *)self->mem;
	}
}

/* MSG_CMSG_CLOEXEC applies to a received descriptor.  Mutant: recvmsg-cloexec-forgotten. */
TEST_F(recvmulti, messages_close_on_exec)
{
	char control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec vec = { self->out, 20 };
	struct msghdr msg = { .msg_controllen = sizeof(control) };
	struct msghdr sent = { .msg_iov = &vec, .msg_iovlen = 1,
			       .msg_control = control, .msg_controllen = sizeof(control) };
	struct message *got = (void *)self->mem;
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&sent);
	int *fds = self->pair[UNIX_STREAM], fd;
	struct iou *r = &self->r;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->mem, 200, 0);
	*cmsg = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(cmsg), fds, sizeof(int));
	ASSERT_EQ(20, sendmsg(fds[0], &sent, 0));
	prep_messages(r, variant->sqe_flags, fds[1], &msg)->msg_flags = MSG_CMSG_CLOEXEC;
	EXPECT_CQE(r, 16 + (int)sizeof(control) + 20, BUFFER(0) | IORING_CQE_F_MORE);
	EXPECT_EQ(MSG_CMSG_CLOEXEC, got->out.flags);
	EXPECT_EQ(sizeof(control), got->out.controllen);
	memcpy(&fd, CMSG_DATA((struct cmsghdr *)got->rest), sizeof(fd));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, close(fd));
}

/* A program may reserve a lot of room for names and control data.  Mutant: recvmsg-room-cut. */
TEST_F(recvmulti, messages_with_much_room)
{
	static const unsigned int rooms[][2] = { { 65536, 0 }, { 70000, 32 } };
	const size_t size = 20 * IOU_PAGE;
	char *mem = iou_map_anon(size);
	struct iou *r = &self->r;
	unsigned int i;

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	/* one buffer more than is used, or the request ends with -ENOBUFS */
	for (i = 0; i < 3; i++)
		add(self->ring, mem, size, i);
	for (i = 0; i < 2; i++) {
		struct msghdr msg = { .msg_namelen = rooms[i][0], .msg_controllen = rooms[i][1] };
		int at = 16 + rooms[i][0] + rooms[i][1];

		ASSERT_TRUE(give(self->pair[UDP], self->out, 20));
		prep_messages(r, variant->sqe_flags, self->pair[UDP][1], &msg)->user_data = 7;
		EXPECT_CQE(r, at + 20, BUFFER(i) | IORING_CQE_F_MORE);
		EXPECT_EQ(-1, iou_verify(mem + at, 20, 0, 5));
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0)->flags =
			IOSQE_CQE_SKIP_SUCCESS;
		EXPECT_CQE(r, -ECANCELED, 0U);
	}
	munmap(mem, size);
}

/*
 * Cancel a receive that a worker has begun, and that has taken a buffer.  Either the
 * buffer goes back to its group, or the CQE names it.  Mutant: cancelled-buffer-untold.
 */
TEST_F(recvmulti, cancelled_with_a_buffer)
{
	unsigned int i, told = 0, given = 0, rounds = iou_rounds(300);
	int fd = self->pair[TCP_STREAM][1];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < rounds; i++) {
		unsigned int cancels = 1;
		bool waits = true;

		for (; (__u16)(given - head(r, GROUP)) < SLOTS; given++)
			add(self->ring, self->mem, 16, given % SLOTS);
		prep_picked(r, IOSQE_ASYNC, IORING_OP_RECV, fd, 0)->user_data = 7;
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0);
		ASSERT_EQ(2, iou_submit(r));
		while (waits || cancels) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			if (cqe.user_data == 7) {
				EXPECT_TRUE(cqe.res == -ECANCELED || cqe.res == -EINTR);
				told += !!(cqe.flags & IORING_CQE_F_BUFFER);
				waits = false;
			} else if (waits && cqe.res) {
				/* the request is between two attempts, or posts its CQE */
				iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0);
				ASSERT_EQ(1, iou_submit_wait(r, 1));
			} else {
				cancels = 0;
			}
		}
		ASSERT_EQ((__u16)told, head(r, GROUP));
	}
}

/*
 * MSG_PEEK leaves the data, so the socket stays ready, and the worker blocks in the receive.
 * A cancel ends the receive with a part of the data.  Mutant: blocked-buffer-untold.
 */
TEST_F(recvmulti, cancelled_while_it_blocks)
{
	struct io_uring_sqe *sqe;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int kind, *fds, taken = 0;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (kind = 0; kind < NR_STREAMS; kind++) {
		bool waits = true;

		fds = self->pair[kind];
		add(self->ring, self->mem, IOU_PAGE, 3 + kind);
		ASSERT_TRUE(give(fds, self->out, 1));
		sqe = prep_picked(r, IOSQE_ASYNC, IORING_OP_RECV, fds[1], 0);
		sqe->msg_flags = MSG_PEEK | MSG_WAITALL;
		sqe->user_data = 7;
		ASSERT_EQ(1, iou_submit(r));
		iou_sleep_ms(200);
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0);
		ASSERT_EQ(1, iou_submit(r));
		for (; waits; waits = cqe.user_data != 7)
			ASSERT_EQ(0, iou_reap(r, &cqe));
		/* the CQE names the buffer, unless a slow worker has not taken one yet */
		cqe.flags &= ~IORING_CQE_F_SOCK_NONEMPTY;
		if (cqe.flags)
			EXPECT_EQ(BUFFER(3 + taken++), cqe.flags);
		EXPECT_TRUE(cqe.flags || cqe.res < 0);
		EXPECT_EQ(taken, head(r, GROUP));
	}
}

/* Reap CQEs of a child, and refill its buffers, until it ends.  Return: CQEs after the kill. */
static unsigned int feed_until_dead(struct iou *r, struct io_uring_buf_ring *ring, pid_t pid,
				    unsigned int kill_at)
{
	unsigned int seen = 0, after = 0;

	while (!waitpid(pid, NULL, WNOHANG)) {
		unsigned int nr = iou_ready(r);

		iou_seen(r, nr);
		store_rel(&ring->tail, (__u16)(ring->tail + nr));
		if (seen >= kill_at)
			after += nr;
		else if (seen + nr >= kill_at)
			kill(pid, SIGKILL);
		seen += nr;
	}
	return after;
}

/*
 * Kill a task with a request that always finds data, while another task refills its buffers.  Only
 * a few CQEs follow the signal: those of one run of task work, and those already in the ring.
 * Mutant: fed-multishot-outlives-kill.
 */
TEST_F(recvmulti, killed_while_it_is_fed)
{
	unsigned int i;
	struct iou r;
	pid_t pid;

	if (variant->flags & IORING_SETUP_SINGLE_ISSUER)
		SKIP(return, "others cannot enter it");
	ASSERT_EQ(0, iou_init_cq(&r, 16, 4096, variant->flags));
	ASSERT_EQ(self->ring, mmap(self->ring, IOU_PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	ASSERT_EQ(0, reg(&r, GROUP, self->ring, SLOTS, 0, 0));
	add_some(self->ring, self->mem, SLOTS, 16);
	ASSERT_TRUE(give(self->pair[TCP_STREAM], self->out, 1));
	pid = fork();
	if (!pid) {
		prep_many(&r, variant->sqe_flags, IORING_OP_RECV,
			  self->pair[TCP_STREAM][1])->msg_flags = MSG_PEEK;
		for (i = 0; iou_submit(&r) >= 0 && i < 1 << 20; i++)
			prep_many(&r, variant->sqe_flags, IORING_OP_RECV,
				  self->pair[TCP_STREAM][1])->msg_flags = MSG_PEEK;
		_exit(0);
	}
	ASSERT_LT(0, pid);
	EXPECT_GT(20000, feed_until_dead(&r, self->ring, pid, 2000));
	iou_exit(&r);
}

/* A multishot read gets each signal of another ring's eventfd.  Mutant: echo-read-once. */
TEST_F(recvmulti, reads_another_rings_eventfd)
{
	int i, fd = eventfd(0, EFD_NONBLOCK);
	struct iou *r = &self->r, other;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, iou_init(&other, 4, 0));
	ASSERT_EQ(0, iou_register(&other, IORING_REGISTER_EVENTFD, &fd, 1));
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add_some(self->ring, self->mem, 6, 8);
	prep_picked(r, variant->sqe_flags, IORING_OP_READ_MULTISHOT, fd, 0)->off = -1;
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < 5; i++) {
		iou_nop(&other, i);
		ASSERT_EQ(0, iou_one(&other));
		EXPECT_CQE(r, 8, BUFFER(i) | IORING_CQE_F_MORE);
	}
	iou_exit(&other);
	close(fd);
}

TEST_HARNESS_MAIN
