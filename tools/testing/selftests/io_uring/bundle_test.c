// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: bundles - sends and receives of several provided buffers at once */
#include <pthread.h>

#include "sock.h"

#define GROUP	5
#define SLOTS	512

#include "group.h"

#define BYTES	(256 * 1024)

/* The kinds of streams.  Many tests run with both kinds. */
enum { TCP_STREAM, UNIX_STREAM, NR_STREAMS };

FIXTURE(bundle) {
	struct iou r;
	struct io_uring_buf_ring *ring;
	char *mem, *out;
	int pair[NR_STREAMS][2];
};

FIXTURE_VARIANT(bundle) {
	unsigned int flags;
};

IOU_KINDS(bundle);

FIXTURE_SETUP(bundle)
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->pair[UNIX_STREAM]));
	ASSERT_EQ(0, sock_tcp_pair(self->pair[TCP_STREAM]));
	self->ring = iou_map_anon(SLOTS * sizeof(struct io_uring_buf));
	self->mem = iou_map_anon(BYTES);
	self->out = iou_map_anon(BYTES);
	ASSERT_NE(NULL, self->ring);
	ASSERT_NE(NULL, self->mem);
	ASSERT_NE(NULL, self->out);
	iou_fill(self->out, BYTES, 0, 5);
	ASSERT_EQ(0, iou_init(&self->r, 16, variant->flags));
}

FIXTURE_TEARDOWN(bundle)
{
	int i;

	iou_exit(&self->r);
	for (i = 0; i < NR_STREAMS; i++)
		sock_close_pair(self->pair[i]);
	munmap(self->ring, SLOTS * sizeof(struct io_uring_buf));
	munmap(self->mem, BYTES);
	munmap(self->out, BYTES);
}

/* Add @nr buffers of @len bytes, which start @step bytes apart; their IDs count from @bid. */
static void add_row(struct io_uring_buf_ring *ring, char *mem, unsigned int nr, unsigned int len,
		    unsigned int step, unsigned int bid)
{
	while (nr--) {
		add(ring, mem, len, bid++);
		mem += step;
	}
}

/* Send @len bytes, and wait until the peer can receive them. */
static bool give(int *fds, const char *buf, size_t len)
{
	return send(fds[0], buf, len, MSG_NOSIGNAL) == (ssize_t)len && sock_readable(fds[1]);
}

static bool got(int *fds, char *to, size_t len, unsigned long long pos)
{
	return sock_read(fds[1], to, len) && iou_verify(to, len, pos, 5) == -1;
}

/* Send all buffers of the group in its order, whatever their addresses are. */
TEST_F(bundle, send)
{
	struct iou *r = &self->r;
	int i, k;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		/* add adjacent buffers, a buffer after a gap, and buffers in descending order */
		add_row(self->ring, self->out, 10, 10, 10, 1);
		add(self->ring, self->out + 110, 20, 20);
		for (k = 0; k < 5; k++)
			add(self->ring, self->out + 180 - 10 * k, 10, 30 + k);
		prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
		EXPECT_CQE(r, 170, BUFFER(1));
		EXPECT_EQ(self->ring->tail, head(r, GROUP));
		EXPECT_TRUE(got(fds, self->mem, 100, 0));
		EXPECT_TRUE(got(fds, self->mem, 20, 110));
		for (k = 0; k < 5; k++)
			EXPECT_TRUE(got(fds, self->mem, 10, 180 - 10 * k));
		prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
		EXPECT_CQE(r, -ENOBUFS, 0U);
	}
}

/* The length limits the bytes of the first CQE.  Only the first buffer may be sent in part. */
TEST_F(bundle, send_some)
{
	struct iou *r = &self->r;
	int *fds = self->pair[TCP_STREAM];

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add_row(self->ring, self->out, 6, 10, 10, 1);
	prep_bundle(r, IORING_OP_SEND, fds[0], 25, 0);
	EXPECT_CQE(r, 20, BUFFER(1) | IORING_CQE_F_MORE);
	EXPECT_CQE(r, 40, BUFFER(3));
	EXPECT_EQ(6, head(r, GROUP));
	EXPECT_TRUE(got(fds, self->mem, 60, 0));
	add(self->ring, self->out, 10, 1);
	prep_bundle(r, IORING_OP_SEND, fds[0], 7, 0);
	EXPECT_CQE(r, 7, BUFFER(1));
	EXPECT_TRUE(got(fds, self->mem, 7, 0));
}

/* One CQE covers at most 256 buffers. */
TEST_F(bundle, send_many)
{
	struct iou *r = &self->r;
	int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		add_row(self->ring, self->out, 300, 10, 10, 1);
		prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
		EXPECT_CQE(r, 2560, BUFFER(1) | IORING_CQE_F_MORE);
		EXPECT_CQE(r, 440, BUFFER(257));
		EXPECT_EQ(self->ring->tail, head(r, GROUP));
		EXPECT_TRUE(got(fds, self->mem, 3000, 0));
	}
}

/*
 * Send more than the socket takes: all of it is sent in the end, in order.  Mutant:
 * bundle-handed-out-twice.
 */
TEST_F(bundle, send_waits)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int i, small = 4096;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i], first = self->ring->tail;
		size_t have = 0, total = 0;

		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		add_row(self->ring, self->out, 60, 4000, 4000, 1);
		prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
		ASSERT_EQ(1, iou_submit(r));
		do {
			sock_read_until_cqe(r, fds[1], self->mem, BYTES, &have);
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_LT(0, cqe.res);
			EXPECT_EQ(BUFFER(1 + total / 4000), cqe.flags & ~IORING_CQE_F_MORE);
			total += cqe.res;
		} while (cqe.flags & IORING_CQE_F_MORE);
		EXPECT_EQ(60 * 4000, total);
		EXPECT_EQ((__u16)(first + 60), head(r, GROUP));
		EXPECT_TRUE(sock_read(fds[1], self->mem + have, total - have));
		EXPECT_EQ(-1, iou_verify(self->mem, total, 0, 5));
	}
}

/*
 * After a wait, an attempt sends a part and stops at a bad address.  The socket still has room, and
 * so wakes no waiter: the rest must be tried at once.  Mutant: part-waits-for-room.
 */
TEST_F(bundle, send_meets_a_fault)
{
	char *bad = mmap(NULL, IOU_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int *fds = self->pair[TCP_STREAM], large = 2 * BYTES, part = BYTES / 2;
	unsigned long long end = iou_now_us() + 1000ULL * IOU_PATIENCE;
	ssize_t n, filled = 0, have = 0;
	struct io_uring_cqe cqe;
	struct iou *r = &self->r;

	ASSERT_NE(MAP_FAILED, bad);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	/* fill the socket before the send; the reads below make room for the whole first buffer */
	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
	while ((n = send(fds[0], self->out, BYTES, MSG_DONTWAIT)) > 0)
		filled += n;
	add(self->ring, self->out, part, 1);
	add(self->ring, bad, IOU_PAGE, 2);
	prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
	ASSERT_EQ(1, iou_submit(r));
	while (!iou_ready(r) && iou_now_us() < end) {
		n = recv(fds[1], self->mem, BYTES, MSG_DONTWAIT);
		have += n > 0 ? n : 0;
		iou_wait_ms(r, 1, n > 0 ? 0 : 1);
	}
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_LT(0, cqe.res);
	EXPECT_GE(part, cqe.res);
	while (have < filled + cqe.res && sock_readable(fds[1]) &&
	       (n = recv(fds[1], self->mem, BYTES, MSG_DONTWAIT)) > 0)
		have += n;
	EXPECT_EQ(filled + cqe.res, have);
	munmap(bad, IOU_PAGE);
}

/*
 * A send that does not wait ends with a part and breaks its chain.  The buffers behind the part
 * stay in the group: only the length of the part shows which buffers were used.  6.12 takes all
 * buffers.  Mutant: bundle-part-takes-all.  differences: bundle-part
 */
TEST_F(bundle, send_a_part)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int i, small = 4096;

	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i], used;
		struct io_uring_sqe *sqe;

		memset(self->ring, 0, SLOTS * sizeof(struct io_uring_buf));
		ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		add_row(self->ring, self->out, 400, 600, 600, 1);
		sqe = prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
		sqe->msg_flags = MSG_DONTWAIT;
		sqe->flags |= IOSQE_IO_LINK;
		iou_nop(r, 2);
		ASSERT_EQ(2, iou_submit(r));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_LT(0, cqe.res);
		ASSERT_GT(256 * 600, cqe.res);
		EXPECT_EQ(BUFFER(1), cqe.flags);
		used = iou_on_stock() ? 256 : (cqe.res + 599) / 600;
		EXPECT_EQ(used, head(r, GROUP));
		EXPECT_TRUE(got(fds, self->mem, cqe.res, 0));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(2, cqe.user_data);
		EXPECT_EQ(-ECANCELED, cqe.res);
		ASSERT_EQ(0, unreg(r, GROUP));
	}
}

/*
 * Each allocation of a send that has to wait fails in turn.  The send may end with an error, or
 * with a part if it cannot keep the rest.  After a part, its chain breaks, and the buffers behind
 * the part stay in the group.  A slab that runs out adds an allocation, which hides the next
 * allocation, so more than one pass may be needed.  Mutant: bundle-part-succeeds.
 * differences: none, 6.12 has allocations of its own
 */
TEST(send_without_memory)
{
	struct io_uring_buf_ring *ring = iou_map_anon(SLOTS * sizeof(struct io_uring_buf));
	unsigned int nth, pass = 0, parts = 0;
	char *out = iou_map_anon(BYTES);
	int fds[2], small = 4096;
	struct io_uring_cqe cqe;
	bool more = true;
	struct iou r;

	if (iou_on_stock())
		SKIP(return, "it has its own allocations");
	if (iou_fail_init())
		SKIP(return, "needs fault injection");
	for (nth = 1; more || (!parts && ++pass < 10); nth++) {
		if (!more)
			nth = 1;
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		ASSERT_EQ(0, iou_init(&r, 4, 0));
		/* allocate requests before allocations fail */
		ASSERT_EQ(0, iou_submit_issued(&r));
		ring->tail = 0;
		ASSERT_EQ(0, reg(&r, GROUP, ring, SLOTS, 0, 0));
		add_row(ring, out, 60, 4000, 4000, 1);
		prep_bundle(&r, IORING_OP_SEND, fds[0], 0, 0)->flags |= IOSQE_IO_LINK;
		iou_nop(&r, 2);
		iou_flush(&r);
		ASSERT_EQ(0, iou_fail_nth(nth));
		EXPECT_EQ(2, iou_enter(&r, 2, 0, 0));
		more = iou_has_failed();
		iou_fail_nth(0);
		/* if no CQE was posted, the send waits for room */
		if (iou_ready(&r)) {
			ASSERT_EQ(0, iou_reap(&r, &cqe));
			EXPECT_GT(60 * 4000, cqe.res);
			EXPECT_EQ(cqe.res > 0 ? BUFFER(1) : 0, cqe.flags);
			EXPECT_EQ(cqe.res > 0 ? (cqe.res + 3999) / 4000 : 0, head(&r, GROUP));
			parts += cqe.res > 0;
			ASSERT_EQ(0, iou_reap(&r, &cqe));
			EXPECT_EQ(-ECANCELED, cqe.res);
		}
		iou_exit(&r);
		close(fds[0]);
		close(fds[1]);
	}
	EXPECT_LT(0, parts);
}

/*
 * Send to an address: a datagram socket sends all buffers as one message, after a wait.  A stream
 * ignores the address, and goes on after a part.
 */
TEST_F(bundle, send_to_an_address)
{
	struct sockaddr_in addr = sock_loopback(0);
	socklen_t len = sizeof(addr);
	struct iou *r = &self->r;
	int *fds = self->pair[TCP_STREAM], small = 4096;
	int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
	size_t have = 0, total = 0;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	ASSERT_EQ(0, bind(to, (void *)&addr, len));
	ASSERT_EQ(0, getsockname(to, (void *)&addr, &len));
	add_row(self->ring, self->out, 5, 10, 20, 1);
	sqe = prep_bundle(r, IORING_OP_SEND, from, 0, IORING_RECVSEND_POLL_FIRST);
	sqe->addr2 = (uintptr_t)&addr;
	sqe->addr_len = len;
	EXPECT_CQE(r, 50, BUFFER(1));
	ASSERT_TRUE(sock_readable(to));
	EXPECT_EQ(50, recv(to, self->mem, BYTES, 0));
	EXPECT_EQ(-1, iou_verify(self->mem + 40, 10, 80, 5));
	close(to);
	close(from);

	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	add_row(self->ring, self->out, 60, 4000, 4000, 1);
	sqe = prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
	sqe->addr2 = (uintptr_t)&addr;
	sqe->addr_len = len;
	ASSERT_EQ(1, iou_submit(r));
	do {
		sock_read_until_cqe(r, fds[1], self->mem, BYTES, &have);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_LT(0, cqe.res);
		total += cqe.res;
	} while (cqe.flags & IORING_CQE_F_MORE);
	ASSERT_EQ(60 * 4000, total);
	EXPECT_TRUE(sock_read(fds[1], self->mem + have, total - have));
	EXPECT_EQ(-1, iou_verify(self->mem, total, 0, 5));
}

/*
 * A failed send has used no buffer.  A send ends at a buffer outside user space.
 * Mutant: bundle-address-unchecked.  differences: send-unused-buffer
 */
TEST_F(bundle, send_fails)
{
	struct iou *r = &self->r;
	int *fds = self->pair[UNIX_STREAM];
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add_row(self->ring, self->out, 2, 10, 10, 1);
	shutdown(fds[0], SHUT_WR);
	prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
	ASSERT_EQ(0, take(r, &cqe));
	EXPECT_EQ(-EPIPE, cqe.res);
	if (iou_on_stock())
		return;
	/* no buffer was used */
	EXPECT_EQ(0, cqe.flags);
	EXPECT_EQ(0, head(r, GROUP));
	if (!iou_splits_addresses())
		return;
	/* use an address outside user space */
	slot(self->ring, 1)->addr = 0xffff888000000000UL;
	prep_bundle(r, IORING_OP_SEND, fds[1], 0, 0);
	EXPECT_CQE(r, 10, BUFFER(1) | IORING_CQE_F_MORE);
	EXPECT_CQE(r, -EFAULT, 0U);
	EXPECT_EQ(1, head(r, GROUP));
	/* put a bad buffer between two good ones */
	slot(self->ring, 1)->addr = (uintptr_t)self->out;
	add_row(self->ring, self->out, 2, 10, 10, 3);
	slot(self->ring, 2)->addr = 0xffff888000000000UL;
	prep_bundle(r, IORING_OP_SEND, fds[1], 0, 0);
	EXPECT_CQE(r, 10, BUFFER(2) | IORING_CQE_F_MORE);
	EXPECT_CQE(r, -EFAULT, 0U);
	EXPECT_EQ(2, head(r, GROUP));
}

/*
 * A receive has one CQE for all data that is there, in as many buffers as needed.
 * Mutant: bundle-merged-over-gap.  differences: bundle-recv-all
 */
TEST_F(bundle, receive)
{
	struct iou *r = &self->r;
	int i, k;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i], first = self->ring->tail;
		unsigned int how;

		/* 6.12 fills whole buffers, or only one if the socket does not report its bytes */
		if (iou_on_stock())
			break;
		memset(self->mem, 0, 1000);
		add_row(self->ring, self->mem, 3, 10, 10, 1);
		add_row(self->ring, self->mem + 100, 10, 10, 20, 4);
		ASSERT_TRUE(give(fds, self->out, 75));
		how = i ? IORING_RECVSEND_POLL_FIRST : 0;
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, how);
		EXPECT_CQE(r, 75, BUFFER(1));
		EXPECT_EQ((__u16)(first + 8), head(r, GROUP));
		EXPECT_EQ(-1, iou_verify(self->mem, 30, 0, 5));
		for (k = 0; k < 4; k++)
			EXPECT_EQ(-1, iou_verify(self->mem + 100 + 20 * k, 10, 30 + 10 * k, 5));
		EXPECT_EQ(-1, iou_verify(self->mem + 180, 5, 70, 5));
		/* more data than the buffers have room for */
		ASSERT_TRUE(give(fds, self->out, 75));
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
		EXPECT_CQE(r, 50, BUFFER(9) | sock_more(fds[1]));
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
		EXPECT_CQE(r, -ENOBUFS, 0U);
		EXPECT_EQ(25, recv(fds[1], self->mem, 100, 0));
		add(self->ring, self->mem, 10, 1);
		shutdown(fds[0], SHUT_WR);
		ASSERT_TRUE(sock_readable(fds[1]));
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
		EXPECT_CQE(r, 0, i ? 0U : IORING_CQE_F_SOCK_NONEMPTY);
		EXPECT_EQ((__u16)(self->ring->tail - 1), head(r, GROUP));
		self->ring->tail--;
	}
}

/*
 * A length is an upper limit, rounded down to whole buffers.  A wait takes no buffer, and neither
 * does an attempt that receives nothing.  Mutant: bundle-used-by-attempt.
 */
TEST_F(bundle, receive_some)
{
	struct iou *r = &self->r;
	int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i], first = self->ring->tail;

		add_row(self->ring, self->mem, 10, 10, 20, 1);
		prep_bundle(r, IORING_OP_RECV, fds[1], 35, 0);
		ASSERT_EQ(1, iou_submit(r));
		iou_wait_ms(r, 1, 5);
		EXPECT_EQ(0, iou_ready(r));
		EXPECT_EQ((__u16)first, head(r, GROUP));
		EXPECT_EQ(10, slot(self->ring, first + 3)->len);
		ASSERT_EQ(100, send(fds[0], self->out, 100, 0));
		EXPECT_CQE(r, 30, BUFFER(1) | sock_more(fds[1]));
		EXPECT_EQ((__u16)(first + 3), head(r, GROUP));
		EXPECT_EQ(-1, iou_verify(self->mem + 40, 10, 20, 5));
		EXPECT_EQ(70, recv(fds[1], self->mem, 100, 0));
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0)->msg_flags = MSG_DONTWAIT;
		EXPECT_CQE(r, -EAGAIN, 0U);
		EXPECT_EQ((__u16)(first + 3), head(r, GROUP));
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0)->buf_group = 77;
		EXPECT_CQE(r, -ENOENT, 0U);
		self->ring->tail = first + 3;
	}
}

/*
 * A buffer of zero bytes is skipped, and does not look like the end of the stream.  6.12 returns
 * -ENOBUFS.  Mutant: bundle-ends-without-room.  differences: buffer-empty
 */
TEST_F(bundle, receive_behind_no_room)
{
	struct iou *r = &self->r;
	int *fds = self->pair[0];

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->mem, 0, 1);
	add(self->ring, self->mem, 64, 2);
	ASSERT_TRUE(give(fds, self->out, 40));
	prep_bundle(r, IORING_OP_RECV, fds[1], 30, 0);
	if (iou_on_stock()) {
		EXPECT_CQE(r, -ENOBUFS, 0U);
		return;
	}
	EXPECT_CQE(r, 30, BUFFER(1) | IORING_CQE_F_SOCK_NONEMPTY);
	EXPECT_EQ(2, head(r, GROUP));
	EXPECT_EQ(-1, iou_verify(self->mem, 30, 0, 5));
}

/*
 * An incremental group skips a buffer of zero bytes, too.  The second buffer keeps its bytes beyond
 * the SQE's length.  Mutant: bundle-cut-takes-all.  differences: buffer-empty
 */
TEST_F(bundle, incremental_behind_no_room)
{
	struct iou *r = &self->r;
	int *fds = self->pair[0];

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, self->mem, 0, 1);
	add(self->ring, self->mem, 64, 2);
	ASSERT_TRUE(give(fds, self->out, 40));
	prep_bundle(r, IORING_OP_RECV, fds[1], 30, 0);
	if (iou_on_stock()) {
		EXPECT_CQE(r, -ENOBUFS, 0U);
		return;
	}
	EXPECT_CQE(r, 30, BUFFER(1) | IORING_CQE_F_BUF_MORE | IORING_CQE_F_SOCK_NONEMPTY);
	EXPECT_EQ(1, head(r, GROUP));
	EXPECT_EQ((uintptr_t)self->mem + 30, slot(self->ring, 1)->addr);
	EXPECT_EQ(34, slot(self->ring, 1)->len);
	EXPECT_EQ(-1, iou_verify(self->mem, 30, 0, 5));
}

/*
 * If a buffer cannot be written to, no data is received or lost.  6.12 may report a part.
 * differences: bundle-recv-fault
 */
TEST_F(bundle, receive_to_nowhere)
{
	struct iou *r = &self->r;
	char *none;
	int i;

	if (iou_on_stock())
		return;
	none = mmap(NULL, IOU_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, none);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i], first = self->ring->tail;

		add(self->ring, self->mem, 10, 1);
		add(self->ring, none, 10, 2);
		ASSERT_TRUE(give(fds, self->out, 15));
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
		EXPECT_CQE(r, -EFAULT, 0U);
		EXPECT_EQ((__u16)first, head(r, GROUP));
		EXPECT_TRUE(got(fds, self->mem, 15, 0));
		self->ring->tail = first;
	}
	munmap(none, IOU_PAGE);
}

/* Receive data in several CQEs, as it comes. */
TEST_F(bundle, receive_multishot)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int i, k;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i], at = 0, first = self->ring->tail;

		add_row(self->ring, self->mem, 40, 10, 10, 0);
		ASSERT_TRUE(give(fds, self->out, 20));
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, IORING_RECV_MULTISHOT);
		ASSERT_EQ(1, iou_submit(r));
		for (k = 0; k < 5; k++) {
			int want = 20 * (k + 1);

			while (at < want) {
				ASSERT_EQ(0, iou_reap(r, &cqe));
				ASSERT_LT(0, cqe.res);
				EXPECT_EQ(IORING_CQE_F_MORE, cqe.flags & IORING_CQE_F_MORE);
				EXPECT_EQ(at / 10, cqe.flags >> IORING_CQE_BUFFER_SHIFT);
				at += cqe.res;
			}
			EXPECT_EQ(want, at);
			if (k < 4)
				ASSERT_EQ(20, send(fds[0], self->out + want, 20, 0));
		}
		EXPECT_EQ(-1, iou_verify(self->mem, 100, 0, 5));
		shutdown(fds[0], SHUT_WR);
		EXPECT_CQE(r, 0, i ? 0U : IORING_CQE_F_SOCK_NONEMPTY);
		EXPECT_EQ((__u16)(first + 10), head(r, GROUP));
		self->ring->tail = first + 10;
	}
}

/*
 * The last buffer keeps the bytes that were not needed; the slots of other buffers get length 0.
 * Mutant: bundle-used-up-keeps-length.
 */
TEST_F(bundle, incremental)
{
	int *fds = self->pair[TCP_STREAM];
	struct iou *r = &self->r;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add_row(self->ring, self->mem, 4, 10, 10, 1);
	ASSERT_TRUE(give(fds, self->out, 27));
	prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
	EXPECT_CQE(r, 27, BUFFER(1) | IORING_CQE_F_BUF_MORE);
	EXPECT_EQ(2, head(r, GROUP));
	EXPECT_EQ(0, slot(self->ring, 0)->len);
	EXPECT_EQ(0, slot(self->ring, 1)->len);
	EXPECT_EQ((uintptr_t)self->mem + 27, slot(self->ring, 2)->addr);
	EXPECT_EQ(3, slot(self->ring, 2)->len);
	ASSERT_TRUE(give(fds, self->out + 27, 3));
	prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
	EXPECT_CQE(r, 3, BUFFER(3));
	EXPECT_EQ(3, head(r, GROUP));
	ASSERT_TRUE(give(fds, self->out + 30, 10));
	prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
	EXPECT_CQE(r, 10, BUFFER(4));
	EXPECT_EQ(-1, iou_verify(self->mem, 40, 0, 5));
	/* send from the incremental group */
	add_row(self->ring, self->out, 4, 10, 10, 5);
	prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
	EXPECT_CQE(r, 40, BUFFER(5));
	EXPECT_EQ(8, head(r, GROUP));
	EXPECT_TRUE(got(fds, self->mem, 40, 0));
}

/*
 * The SQE's length ends within a buffer.  The rest of this buffer stays in the group.  A datagram
 * that fits into the length is received whole.  Mutant: bundle-cuts-no-second.
 */
TEST_F(bundle, incremental_cut)
{
	struct iou *r = &self->r;
	int fds[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add_row(self->ring, self->mem, 3, 60, 60, 1);
	ASSERT_TRUE(give(fds, self->out, 100));
	prep_bundle(r, IORING_OP_RECV, fds[1], 100, 0);
	EXPECT_CQE(r, 100, BUFFER(1) | IORING_CQE_F_BUF_MORE);
	EXPECT_EQ(1, head(r, GROUP));
	EXPECT_EQ((uintptr_t)self->mem + 100, slot(self->ring, 1)->addr);
	EXPECT_EQ(20, slot(self->ring, 1)->len);
	EXPECT_EQ(-1, iou_verify(self->mem, 100, 0, 5));
	/* receive less than the length */
	ASSERT_TRUE(give(fds, self->out + 100, 10));
	prep_bundle(r, IORING_OP_RECV, fds[1], 30, 0);
	EXPECT_CQE(r, 10, BUFFER(2) | IORING_CQE_F_BUF_MORE);
	ASSERT_TRUE(give(fds, self->out + 110, 40));
	prep_bundle(r, IORING_OP_RECV, fds[1], 40, 0);
	EXPECT_CQE(r, 40, BUFFER(2) | IORING_CQE_F_BUF_MORE);
	EXPECT_EQ(2, head(r, GROUP));
	EXPECT_EQ((uintptr_t)self->mem + 150, slot(self->ring, 2)->addr);
	EXPECT_EQ(30, slot(self->ring, 2)->len);
	EXPECT_EQ(-1, iou_verify(self->mem, 150, 0, 5));
	sock_close_pair(fds);
}

/*
 * The length of a SEND ends within an incremental buffer.  The rest of the buffer is for the next
 * SEND, unless there are more buffers in the group.
 */
TEST_F(bundle, incremental_some)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
	const unsigned int part = IORING_CQE_F_BUF_MORE;
	struct iou *r = &self->r;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(types); i++) {
		int fds[2];

		ASSERT_EQ(0, socketpair(AF_UNIX, types[i], 0, fds));
		ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
		self->ring->tail = 0;
		add(self->ring, self->out, 240, 1);
		prep_bundle(r, IORING_OP_SEND, fds[0], 100, 0);
		EXPECT_CQE(r, 100, BUFFER(1) | part);
		prep_bundle(r, IORING_OP_SEND, fds[0], 100, 0);
		EXPECT_CQE(r, 100, BUFFER(1) | part);
		EXPECT_EQ(0, iou_ready(r));
		EXPECT_EQ(40, slot(self->ring, 0)->len);
		EXPECT_TRUE(got(fds, self->mem, 100, 0));
		EXPECT_TRUE(got(fds, self->mem, 100, 100));
		EXPECT_EQ(-1, recv(fds[1], self->mem, 1, MSG_DONTWAIT));
		/* with another buffer, the SEND goes on beyond its length */
		add(self->ring, self->out + 240, 60, 2);
		prep_bundle(r, IORING_OP_SEND, fds[0], 10, 0);
		EXPECT_CQE(r, 10, BUFFER(1) | part | IORING_CQE_F_MORE);
		EXPECT_CQE(r, 90, BUFFER(1));
		EXPECT_TRUE(got(fds, self->mem, 10, 200));
		EXPECT_TRUE(got(fds, self->mem, 90, 210));
		EXPECT_EQ(2, head(r, GROUP));
		ASSERT_EQ(0, unreg(r, GROUP));
		sock_close_pair(fds);
	}
}

/*
 * Empty buffers behind the last data are sent with it, not as empty packets.
 * Mutant: bundle-leaves-empty.
 */
TEST_F(bundle, send_ends_without_bytes)
{
	struct iou *r = &self->r;
	int fds[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->out, 60, 1);
	add(self->ring, self->out, 0, 2);
	add(self->ring, self->out, 0, 3);
	prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
	EXPECT_CQE(r, 60, BUFFER(1));
	EXPECT_EQ(3, head(r, GROUP));
	EXPECT_EQ(60, recv(fds[1], self->mem, 100, MSG_DONTWAIT));
	EXPECT_EQ(-1, recv(fds[1], self->mem, 100, MSG_DONTWAIT));
	sock_close_pair(fds);
}

/*
 * An empty buffer that was sent also leaves an incremental group, so that the next buffer can be
 * used.  6.12 finds no buffer there.  Mutant: group-keeps-empty.
 */
TEST_F(bundle, send_without_bytes)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int i;
	int fds[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	for (i = 0; i < 4; i += 2) {
		add(self->ring, self->mem, 0, i);
		sqe = prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
		/* the second send is no bundle */
		if (i)
			sqe->ioprio = 0;
		EXPECT_CQE(r, 0, BUFFER(i));
		EXPECT_EQ(i + 1, (unsigned int)head(r, GROUP));
		EXPECT_EQ(0, recv(fds[1], self->mem, 100, MSG_DONTWAIT));
		add(self->ring, self->out, 60, i + 1);
		prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0);
		EXPECT_CQE(r, 60, BUFFER(i + 1));
		EXPECT_EQ(60, recv(fds[1], self->mem, 100, MSG_DONTWAIT));
	}
	sock_close_pair(fds);
}

/*
 * A bundle takes one buffer at a time from a group that PROVIDE_BUFFERS fills.  6.12 uses a second
 * buffer without reporting which one.  differences: bundle-classic
 */
TEST_F(bundle, classic)
{
	int *fds = self->pair[TCP_STREAM];
	struct iou *r = &self->r;

	if (iou_on_stock())
		return;
	iou_prep(r, IORING_OP_PROVIDE_BUFFERS, 3, self->mem, 10, 1)->buf_group = GROUP;
	ASSERT_EQ(0, iou_one(r));
	ASSERT_TRUE(give(fds, self->out, 25));
	prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
	EXPECT_CQE(r, 10, BUFFER(1) | IORING_CQE_F_SOCK_NONEMPTY);
	prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
	EXPECT_CQE(r, 10, BUFFER(2) | IORING_CQE_F_SOCK_NONEMPTY);
	prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0);
	EXPECT_CQE(r, 5, BUFFER(3));
	EXPECT_EQ(-1, iou_verify(self->mem, 25, 0, 5));
}

/*
 * The length of a SEND does not limit a buffer of a group that PROVIDE_BUFFERS fills.
 * Mutant: classic-send-cut.
 */
TEST_F(bundle, classic_send)
{
	static const unsigned char ways[] = { 0, IOSQE_ASYNC };
	int *fds = self->pair[TCP_STREAM], i;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;

	for (i = 0; i < 2; i++) {
		iou_prep(r, IORING_OP_PROVIDE_BUFFERS, 1, self->out, 64, 1)->buf_group = GROUP;
		ASSERT_EQ(0, iou_one(r));
		sqe = prep_bundle(r, IORING_OP_SEND, fds[0], 10, 0);
		sqe->ioprio = 0;
		sqe->flags |= ways[i];
		EXPECT_CQE(r, 64, BUFFER(1));
		EXPECT_TRUE(got(fds, self->mem, 64, 0));
	}
	iou_prep(r, IORING_OP_PROVIDE_BUFFERS, 1, self->out, 64, 1)->buf_group = GROUP;
	ASSERT_EQ(0, iou_one(r));
	prep_bundle(r, IORING_OP_SEND, fds[0], 10, 0);
	EXPECT_CQE(r, 64, BUFFER(1));
	EXPECT_TRUE(got(fds, self->mem, 64, 0));
}

/*
 * On a worker, one CQE covers one buffer or more; all data is sent once.  6.12 sends nothing.
 * differences: bundle-goes-on
 */
TEST_F(bundle, by_worker)
{
	int *fds = self->pair[TCP_STREAM], at = 0;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	if (iou_on_stock())
		return;
	add_row(self->ring, self->out, 10, 10, 10, 0);
	while (at < 100) {
		prep_bundle(r, IORING_OP_SEND, fds[0], 0, 0)->flags |= IOSQE_ASYNC;
		do {
			ASSERT_EQ(0, take(r, &cqe));
			ASSERT_LT(0, cqe.res);
			EXPECT_EQ(at / 10, cqe.flags >> IORING_CQE_BUFFER_SHIFT);
			at += cqe.res;
		} while (cqe.flags & IORING_CQE_F_MORE);
	}
	EXPECT_EQ(10, head(r, GROUP));
	EXPECT_TRUE(got(fds, self->mem, 100, 0));
	memset(self->mem, 0, 200);
	add_row(self->ring, self->mem, 10, 10, 10, 0);
	ASSERT_TRUE(give(fds, self->out, 100));
	for (at = 0; at < 100; at += cqe.res) {
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0)->flags |= IOSQE_ASYNC;
		ASSERT_EQ(0, take(r, &cqe));
		ASSERT_LT(0, cqe.res);
		EXPECT_EQ(at / 10, cqe.flags >> IORING_CQE_BUFFER_SHIFT);
	}
	EXPECT_EQ(20, head(r, GROUP));
	EXPECT_EQ(-1, iou_verify(self->mem, 100, 0, 5));
}

/* A receive with MSG_WAITALL of data that is there uses as many buffers as its length needs. */
TEST_F(bundle, receive_all)
{
	int *fds = self->pair[TCP_STREAM];
	struct iou *r = &self->r;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add_row(self->ring, self->mem, 10, 10, 10, 1);
	ASSERT_TRUE(give(fds, self->out, 30));
	prep_bundle(r, IORING_OP_RECV, fds[1], 30, 0)->msg_flags = MSG_WAITALL;
	EXPECT_CQE(r, 30, BUFFER(1));
	EXPECT_EQ(3, head(r, GROUP));
	EXPECT_EQ(-1, iou_verify(self->mem, 30, 0, 5));
}

/*
 * A receive with MSG_WAITALL that needs one buffer waits until it has all data.  The end of the
 * stream, or a cancel, ends it with a part.  Mutant: bundle-ends-with-part.
 */
TEST_F(bundle, receive_all_of_one)
{
	struct io_uring_sqe *sqe;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int i, end;

	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		self->ring->tail = 0;
		ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
		add_row(self->ring, self->mem, 4, 64, 64, 1);
		ASSERT_TRUE(give(fds, self->out, 10));
		prep_bundle(r, IORING_OP_RECV, fds[1], 50, 0)->msg_flags = MSG_WAITALL;
		ASSERT_EQ(1, iou_submit(r));
		EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 20));
		ASSERT_EQ(20, send(fds[0], self->out + 10, 20, 0));
		EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 20));
		ASSERT_EQ(100, send(fds[0], self->out + 30, 100, 0));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(50, cqe.res);
		EXPECT_EQ(BUFFER(1), cqe.flags & ~IORING_CQE_F_SOCK_NONEMPTY);
		EXPECT_EQ(-1, iou_verify(self->mem, 50, 0, 5));
		ASSERT_TRUE(sock_read(fds[1], self->mem + BYTES / 2, 80));
		for (end = 0; end < 2; end++) {
			ASSERT_TRUE(give(fds, self->out, 10));
			sqe = prep_bundle(r, IORING_OP_RECV, fds[1], 50, 0);
			sqe->msg_flags = MSG_WAITALL;
			sqe->user_data = 7;
			ASSERT_EQ(1, iou_submit(r));
			EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 20));
			if (end)
				shutdown(fds[0], SHUT_WR);
			else
				iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0)->flags =
					IOSQE_CQE_SKIP_SUCCESS;
			iou_submit(r);
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(10, cqe.res);
			EXPECT_EQ(BUFFER(2 + end), cqe.flags & ~IORING_CQE_F_SOCK_NONEMPTY);
		}
		EXPECT_EQ(3, head(r, GROUP));
		ASSERT_EQ(0, unreg(r, GROUP));
	}
}

/* Without a length, a receive with MSG_WAITALL waits until it has filled a buffer. */
TEST_F(bundle, receive_all_without_length)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int i;

	for (i = 0; i < NR_STREAMS; i++) {
		int *fds = self->pair[i];

		self->ring->tail = 0;
		ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
		add_row(self->ring, self->mem, 4, 64, 64, 1);
		prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0)->msg_flags = MSG_WAITALL;
		ASSERT_EQ(1, iou_submit(r));
		EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 20));
		ASSERT_EQ(10, send(fds[0], self->out, 10, 0));
		EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 20));
		ASSERT_EQ(54, send(fds[0], self->out + 10, 54, 0));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(64, cqe.res);
		EXPECT_EQ(BUFFER(1), cqe.flags);
		EXPECT_EQ(-1, iou_verify(self->mem, 64, 0, 5));
		ASSERT_EQ(0, unreg(r, GROUP));
	}
}

/* Of many buffers, the last one is not the only one.  Mutant: bundle-forgets-buffers. */
TEST_F(bundle, receive_all_of_many)
{
	int *fds = self->pair[TCP_STREAM];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	/* one more than an attempt takes */
	add_row(self->ring, self->mem, 257, 64, 64, 1);
	ASSERT_TRUE(give(fds, self->out, 256 * 64 + 10));
	prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0)->msg_flags = MSG_WAITALL;
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, iou_wait_ms(r, 1, 1000));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_LE(64 * 64, cqe.res);
	EXPECT_EQ(BUFFER(1), cqe.flags & ~IORING_CQE_F_SOCK_NONEMPTY);
	EXPECT_EQ(-1, iou_verify(self->mem, cqe.res, 0, 5));
}

/* A truncated datagram in a bundle does not break the chain of its receive. */
TEST_F(bundle, truncated_in_a_chain)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int fds[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add_row(self->ring, self->mem, 4, 64, 64, 1);
	ASSERT_TRUE(give(fds, self->out, 70));
	prep_bundle(r, IORING_OP_RECV, fds[1], 55, 0)->flags |= IOSQE_IO_LINK;
	iou_nop(r, 2);
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(55, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(2, cqe.user_data);
	EXPECT_EQ(0, cqe.res);
	sock_close_pair(fds);
}

/*
 * Receive with MSG_WAITALL as the first of a chain.  Return: the result of the receive, plus 1000
 * if the chain goes on.
 */
static int receive_in_chain(struct iou *r, struct io_uring_sqe *sqe)
{
	struct io_uring_cqe cqe[2];
	int i;

	sqe->msg_flags |= MSG_WAITALL;
	sqe->flags |= IOSQE_IO_LINK;
	iou_nop(r, 2);
	if (iou_submit(r) != 2)
		return -EIO;
	for (i = 0; i < 2; i++) {
		if (iou_reap(r, &cqe[i]))
			return -ETIME;
	}
	return cqe[0].res + (cqe[1].res ? 0 : 1000);
}

/*
 * With MSG_WAITALL, a receive breaks its chain if it has not filled its buffers, or if a datagram
 * is cut off.  Mutants: control-part-breaks, full-bundle-breaks, end-of-stream-breaks,
 * cut-off-bundle-goes-on.
 */
TEST_F(bundle, chain_behind_all)
{
	static const struct {
		unsigned int inc, len, bytes;
		int type;
		int want;
	} cases[] = {
		{ 0, 100, 200, SOCK_STREAM, 1064 },	/* a second would exceed the length */
		{ 0, 200, 300, SOCK_STREAM, 1192 },
		{ 0, 128, 128, SOCK_STREAM, 1128 },
		{ 0, 20, 70, SOCK_DGRAM, 20 },
		{ 0, 60, 60, SOCK_DGRAM, 1060 },
		{ IOU_PBUF_RING_INC, 0, 10, SOCK_STREAM, 10 },
		{ IOU_PBUF_RING_INC, 64, 64, SOCK_STREAM, 1064 },
	};
	struct pollfd ended = { .events = POLLRDHUP };
	struct iovec iov = { .iov_len = 50 };
	char control[128];
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int i;
	int fds[2];

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, cases[i].type, 0, fds));
		memset(self->ring, 0, IOU_PAGE);
		ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, cases[i].inc, 0));
		add_row(self->ring, self->mem, 8, 64, 64, 1);
		ASSERT_TRUE(give(fds, self->out, cases[i].bytes));
		sqe = prep_bundle(r, IORING_OP_RECV, fds[1], cases[i].len, 0);
		EXPECT_EQ(cases[i].want, receive_in_chain(r, sqe)) {
			TH_LOG("case %u", i);
		}
		ASSERT_EQ(0, unreg(r, GROUP));
		sock_close_pair(fds);
	}
	/* differences: none, 6.12 counts the end of a TCP stream as a byte to receive */
	ASSERT_EQ(0, sock_tcp_pair(fds));
	memset(self->ring, 0, IOU_PAGE);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add_row(self->ring, self->mem, 8, 64, 64, 1);
	ASSERT_TRUE(give(fds, self->out, 64));
	shutdown(fds[0], SHUT_WR);
	ended.fd = fds[1];
	ASSERT_EQ(1, poll(&ended, 1, IOU_PATIENCE));
	EXPECT_EQ(iou_on_stock() ? 64 : 1064,
		  receive_in_chain(r, prep_bundle(r, IORING_OP_RECV, fds[1], 0, 0)));
	ASSERT_EQ(0, unreg(r, GROUP));
	sock_close_pair(fds);
	/* a RECVMSG with room for ancillary data ends with a part */
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	memset(self->ring, 0, IOU_PAGE);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add_row(self->ring, self->mem, 8, 64, 64, 1);
	ASSERT_TRUE(give(fds, self->out, 10));
	sqe = prep_bundle(r, IORING_OP_RECVMSG, fds[1], 0, 0);
	sqe->addr = (uintptr_t)&msg;
	sqe->ioprio = 0;
	EXPECT_EQ(1010, receive_in_chain(r, sqe));
	sock_close_pair(fds);
}

/* Receive @bytes.  Return: true if they come. */
static bool receive_bytes(int fd, size_t bytes)
{
	static char buf[1 << 16];
	ssize_t n;

	while (bytes) {
		n = recv(fd, buf, bytes < sizeof(buf) ? bytes : sizeof(buf), 0);
		if (n <= 0)
			return false;
		bytes -= n;
	}
	return true;
}

static void *receive_thread(void *arg)
{
	return receive_bytes(*(int *)arg, 1 << 20) ? NULL : (void *)1;
}

/*
 * Without a provided buffer, IORING_RECVSEND_BUNDLE lets a SEND go on until all is sent.  Mutants:
 * bundle-without-selection, bundle-plain-short.  differences: bundle-plain
 */
TEST_F(bundle, of_a_plain_buffer)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	pthread_t receiver;
	int fds[2];
	void *ret;
	char *big;

	if (iou_on_older_stock())
		SKIP(return, "IORING_RECVSEND_BUNDLE needs IOSQE_BUFFER_SELECT");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	if (!iou_on_stock()) {
		sqe = prep_bundle(r, IORING_OP_SEND, fds[0], 6, 0);
		sqe->flags = 0;
		sqe->addr = (uintptr_t)"bundle";
		ASSERT_EQ(0, take(r, &cqe));
		EXPECT_EQ(6, cqe.res);
		EXPECT_EQ(0, cqe.flags);
		EXPECT_EQ(0, iou_ready(r));
		EXPECT_TRUE(receive_bytes(fds[1], 6));
	}
	big = iou_map_anon(1 << 20);
	ASSERT_EQ(0, pthread_create(&receiver, NULL, receive_thread, &fds[1]));
	sqe = prep_bundle(r, IORING_OP_SEND, fds[0], 1 << 20, 0);
	sqe->flags = 0;
	sqe->addr = (uintptr_t)big;
	EXPECT_EQ(1 << 20, iou_one(r));
	shutdown(fds[0], SHUT_WR);
	ASSERT_EQ(0, pthread_join(receiver, &ret));
	EXPECT_EQ(NULL, ret);
	sock_close_pair(fds);
	munmap(big, 1 << 20);
}

TEST_F(bundle, refused)
{
	struct iou *r = &self->r;
	struct msghdr msg = {};
	struct io_uring_sqe *sqe;

	prep_bundle(r, IORING_OP_SEND, 9999, 0, 0);
	EXPECT_EQ(-EBADF, iou_one(r));
	prep_bundle(r, IORING_OP_RECV, 9999, 0, 0);
	EXPECT_EQ(-EBADF, iou_one(r));
	sqe = prep_bundle(r, IORING_OP_RECVMSG, 9999, 0, 0);
	sqe->addr = (uintptr_t)&msg;
	EXPECT_EQ(-EINVAL, iou_one(r));
}

TEST_HARNESS_MAIN
