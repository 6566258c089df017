// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: SEND_ZC and SENDMSG_ZC - sends without a copy, and their notifications */
#include <netinet/udp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "sock.h"

/* Kinds of socket pairs.  Some tests run with each kind. */
enum { TCP, UDP, NR_PAIRS };

#define BYTES	(128 * 1024)
#define BUFS	3

FIXTURE(sendzc) {
	struct iou r;
	int pair[NR_PAIRS][2], narrow[2];
	struct sockaddr_in udp;
	char *out, *in;
};

FIXTURE_VARIANT(sendzc) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS(sendzc);
IOU_KINDS_ASYNC(sendzc);

/* Connect a UDP socket to a second one, whose address is stored in *to. */
static int udp_pair(int fds[2], struct sockaddr_in *to)
{
	socklen_t len = sizeof(*to);

	*to = sock_loopback(0);
	fds[0] = socket(AF_INET, SOCK_DGRAM, 0);
	fds[1] = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(fds[1], (void *)to, len) || getsockname(fds[1], (void *)to, &len) ||
	    connect(fds[0], (void *)to, len))
		return -errno;
	return 0;
}

/* Connect TCP sockets: the receiver accepts little before it reads, the sender queues much. */
static int narrow_pair(int fds[2])
{
	int ret = sock_tcp_pair_of(fds, 4096), large = 1 << 20;

	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUFFORCE, &large, sizeof(large));
	return ret;
}

FIXTURE_SETUP(sendzc)
{
	struct iovec iov[BUFS];

	ASSERT_EQ(0, sock_tcp_pair(self->pair[TCP]));
	ASSERT_EQ(0, narrow_pair(self->narrow));
	ASSERT_EQ(0, udp_pair(self->pair[UDP], &self->udp));
	self->out = iou_map_anon(2 * BYTES);
	ASSERT_NE(NULL, self->out);
	self->in = self->out + BYTES;
	iou_fill(self->out, BYTES, 0, 5);
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	/* of the registered buffers, 0 is empty, 1 has all data, and 2 a part of the data */
	iov[0] = (struct iovec){};
	iov[1] = (struct iovec){ self->out, BYTES };
	iov[2] = (struct iovec){ self->out + 100, 5000 };
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_BUFFERS, iov, BUFS));
}

FIXTURE_TEARDOWN(sendzc)
{
	int i;

	iou_exit(&self->r);
	for (i = 0; i < NR_PAIRS; i++)
		sock_close_pair(self->pair[i]);
	sock_close_pair(self->narrow);
	munmap(self->out, 2 * BYTES);
}

static struct io_uring_sqe *prep_zc(struct iou *r, unsigned int sqe_flags, int fd,
				    const void *addr, unsigned int len, unsigned int msg_flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_SEND_ZC, fd, addr, len, 0);

	sqe->flags = sqe_flags;
	sqe->msg_flags = msg_flags;
	sqe->user_data = 7;
	return sqe;
}

static struct io_uring_sqe *prep_fixed(struct iou *r, unsigned int sqe_flags, int fd,
				       const void *addr, unsigned int len, unsigned int msg_flags)
{
	struct io_uring_sqe *sqe = prep_zc(r, sqe_flags, fd, addr, len, msg_flags);

	sqe->ioprio = IORING_RECVSEND_FIXED_BUF;
	sqe->buf_index = 1;
	return sqe;
}

static struct io_uring_sqe *prep_any(struct iou *r, unsigned int sqe_flags, bool fixed, int fd,
				     const void *addr, unsigned int len, unsigned int msg_flags)
{
	return (fixed ? prep_fixed : prep_zc)(r, sqe_flags, fd, addr, len, msg_flags);
}

/* Base of codes for wrong CQEs, far below any result */
#define STRANGE	(-10000)

/* Take the CQE of a send.  Return: its result; *more is true if a notification follows. */
static int take_sent(struct iou *r, bool *more)
{
	struct io_uring_cqe cqe;
	int ret = iou_reap(r, &cqe);

	*more = false;
	if (ret)
		return STRANGE + ret;
	if (cqe.user_data != 7 || cqe.flags & ~IORING_CQE_F_MORE)
		return 2 * STRANGE - (int)cqe.flags;
	*more = cqe.flags & IORING_CQE_F_MORE;
	return cqe.res;
}

/* Take a notification.  Return: its result. */
static int take_notice(struct iou *r)
{
	struct io_uring_cqe cqe;
	int ret = iou_reap(r, &cqe);

	if (ret)
		return STRANGE + ret;
	if (cqe.user_data != 7 || cqe.flags != IORING_CQE_F_NOTIF)
		return 3 * STRANGE - (int)cqe.flags;
	return cqe.res;
}

/* Submit an SQE; a notification has to come only if @notified.  Return: the send's result. */
static int do_refused(struct iou *r, bool notified)
{
	int ret = iou_submit(r), res;
	bool more;

	if (ret < 0)
		return STRANGE + ret;
	res = take_sent(r, &more);
	if (more != notified)
		return 4 * STRANGE + res;
	ret = more ? take_notice(r) : 0;
	return ret && ret != (int)IORING_NOTIF_USAGE_ZC_COPIED ? ret : res;
}

/* Submit a send, and take its two CQEs.  Return: the send's result. */
static int do_zc(struct iou *r)
{
	return do_refused(r, true);
}

static bool quiet(struct iou *r)
{
	iou_wait_ms(r, 1, 2);
	return !iou_ready(r);
}

static bool got(int fd, char *in, size_t len, unsigned long long pos)
{
	memset(in, 0, len);
	return sock_read(fd, in, len) && iou_verify(in, len, pos, 5) == -1;
}

/* Each send has one result and one notification.  Mutant: notice-lost. */
TEST_F(sendzc, there_and_back)
{
	unsigned int f = variant->sqe_flags;
	int i, len, fixed;

	for (i = 0; i < NR_PAIRS; i++) {
		int *fds = self->pair[i];

		for (len = 1; len < 40000; len = len * 5 + 1) {
			for (fixed = 0; fixed < 2; fixed++) {
				prep_any(&self->r, f, fixed, fds[0], self->out + len, len, 0);
				EXPECT_EQ(len, do_zc(&self->r));
				ASSERT_TRUE(sock_readable(fds[1]));
				EXPECT_TRUE(got(fds[1], self->in, len, len));
			}
		}
	}
	/* a send of no bytes succeeds */
	for (fixed = 0; fixed < 2; fixed++) {
		prep_any(&self->r, f, fixed, self->pair[TCP][0], self->out, 0, 0);
		EXPECT_EQ(0, do_zc(&self->r));
	}
	EXPECT_TRUE(quiet(&self->r));
}

/* Submit sends in a row: plain, zero-copy, and zero-copy from a registered buffer. */
TEST_F(sendzc, mixed)
{
	unsigned int f = variant->sqe_flags & IOSQE_ASYNC ? 0 : variant->sqe_flags;
	struct iou *r = &self->r;
	int round, i, more, notices, want;
	int *fds = self->pair[TCP];
	struct io_uring_cqe cqe;

	for (round = 0; round < 12; round++) {
		for (want = i = 0; i < 6; i++) {
			int kind = (round + i * (round % 3 + 1)) % 3;

			want += kind != 2;
			if (kind == 2)
				iou_prep(r, IORING_OP_SEND, fds[0], self->out + i * 1500, 1500,
					 0)->user_data = 7;
			else
				prep_any(r, f, kind, fds[0], self->out + i * 1500, 1500, 0);
		}
		ASSERT_EQ(6, iou_submit(r));
		for (more = notices = i = 0; i < 6 || notices < more;) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			if (cqe.flags & IORING_CQE_F_NOTIF) {
				notices++;
				ASSERT_LE(notices, more);
				continue;
			}
			EXPECT_EQ(1500, cqe.res);
			more += !!(cqe.flags & IORING_CQE_F_MORE);
			i++;
		}
		EXPECT_EQ(want, more);
		EXPECT_TRUE(got(fds[1], self->in, 9000, 0));
	}
	EXPECT_TRUE(quiet(r));
}

/* With REPORT_USAGE the notification reports that the loopback device has copied the data. */
TEST_F(sendzc, usage)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int i, fixed;
	bool more;

	for (i = 0; i < NR_PAIRS; i++) {
		for (fixed = 0; fixed < 2; fixed++) {
			prep_any(r, f, fixed, self->pair[i][0], self->out, 5000, 0)->ioprio |=
				IORING_SEND_ZC_REPORT_USAGE;
			ASSERT_LE(0, iou_submit(r));
			EXPECT_EQ(5000, take_sent(r, &more));
			ASSERT_TRUE(more);
			EXPECT_EQ(IORING_NOTIF_USAGE_ZC_COPIED, (unsigned int)take_notice(r));
			ASSERT_TRUE(sock_readable(self->pair[i][1]));
			EXPECT_TRUE(got(self->pair[i][1], self->in, 5000, 0));
		}
	}
}

/* Nothing is reported of a request whose flags are refused.  Mutant: refused-is-copied. */
TEST_F(sendzc, usage_of_a_refused_one)
{
	struct iou *r = &self->r;
	bool more;

	prep_zc(r, variant->sqe_flags, self->pair[0][0], self->out, 10, 0)->ioprio =
		IORING_SEND_ZC_REPORT_USAGE | IORING_RECV_MULTISHOT;
	ASSERT_LE(0, iou_submit(r));
	EXPECT_EQ(-EINVAL, take_sent(r, &more));
	ASSERT_TRUE(more);
	EXPECT_EQ(0, take_notice(r));
}

/*
 * A drained send does not wait for its own notification.  Mutant: drained-waits-for-notice.
 * differences: drain-zc-notice
 */
TEST_F(sendzc, drained)
{
	struct iou *r = &self->r;
	bool more;

	prep_zc(r, variant->sqe_flags | IOSQE_IO_DRAIN, self->pair[0][0], self->out, 10, 0);
	ASSERT_LE(0, iou_submit(r));
	EXPECT_EQ(10, take_sent(r, &more));
	ASSERT_TRUE(more);
	EXPECT_EQ(0, take_notice(r));
	ASSERT_TRUE(sock_readable(self->pair[0][1]));
	EXPECT_TRUE(got(self->pair[0][1], self->in, 10, 0));
}

/* A device that needs no copy: the notification reports none.  Mutant: sent-is-copied. */
TEST_F(sendzc, usage_without_copy)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct iou *r = &self->r;
	bool more;
	int fd;

	if (access("/usr/sbin/ip", X_OK) && access("/sbin/ip", X_OK))
		SKIP(return, "needs ip(8)");
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, system("ip link add ioud0 type dummy"));
	ASSERT_EQ(0, system("ip addr add 10.9.8.1/24 dev ioud0"));
	ASSERT_EQ(0, system("ip link set ioud0 up"));
	to.sin_addr.s_addr = htonl(0x0a090802);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ASSERT_EQ(0, connect(fd, (void *)&to, sizeof(to)));
	prep_zc(r, variant->sqe_flags, fd, self->out, 1000, 0)->ioprio |=
		IORING_SEND_ZC_REPORT_USAGE;
	ASSERT_LE(0, iou_submit(r));
	EXPECT_EQ(1000, take_sent(r, &more));
	ASSERT_TRUE(more);
	EXPECT_EQ(0, take_notice(r));
	close(fd);
}

/*
 * Data that is not acknowledged yet is still read from the program's memory, so the
 * notification comes later.  Mutant: notice-early.
 */
TEST_F(sendzc, notification_waits)
{
	struct iou *r = &self->r;
	int fixed, *fds = self->narrow;
	bool more;

	for (fixed = 0; fixed < 2; fixed++) {
		prep_any(r, variant->sqe_flags, fixed, fds[0], self->out, BYTES, MSG_WAITALL);
		ASSERT_LE(0, iou_submit(r));
		EXPECT_EQ(BYTES, take_sent(r, &more));
		ASSERT_TRUE(more);
		EXPECT_TRUE(quiet(r));
		/* change the end of the data, which no task has read yet */
		iou_fill(self->out + BYTES - 1000, 1000, 3 * BYTES, 5);
		EXPECT_TRUE(got(fds[1], self->in, BYTES - 1000, 0));
		EXPECT_TRUE(got(fds[1], self->in, 1000, 3 * BYTES));
		EXPECT_EQ(0, take_notice(r));
		iou_fill(self->out, BYTES, 0, 5);
	}
	EXPECT_TRUE(quiet(r));
}

/* A stream takes one part at a time, but the send has one result and one notification. */
TEST_F(sendzc, send_all)
{
	struct iou *r = &self->r;
	int i, small = 4096, *fds = self->pair[TCP];

	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (i = 0; i < 4; i++) {
		bool all = i & 2, more;
		size_t at = 0;
		int res;

		prep_any(r, variant->sqe_flags, i & 1, fds[0], self->out, BYTES,
			 all ? MSG_WAITALL : 0);
		ASSERT_LE(0, iou_submit(r));
		sock_read_until_cqe(r, fds[1], self->in, BYTES, &at);
		res = take_sent(r, &more);
		ASSERT_LT(0, res);
		EXPECT_TRUE(!all || res == BYTES);
		ASSERT_TRUE(more);
		EXPECT_TRUE(sock_read(fds[1], self->in + at, res - at));
		EXPECT_EQ(-1, iou_verify(self->in, res, 0, 5));
		EXPECT_EQ(0, take_notice(r));
	}
	EXPECT_TRUE(quiet(r));
}

/*
 * After fill_up(), a send on a narrow connection waits: FULL bytes are queued, more than the
 * send buffer allows.  What TCP sends later, for an acknowledgment or as a probe, makes no room.
 */
#define FULL	(64 * 1024)

static bool fill_up(int fd, const char *some)
{
	int large = 1 << 20, small = 4096;

	return !setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &large, sizeof(large)) &&
	       send(fd, some, FULL, 0) == FULL &&
	       !setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
}

static bool empty(int fd, size_t len)
{
	char some[4096];

	while (len) {
		ssize_t ret = recv(fd, some, len < sizeof(some) ? len : sizeof(some), 0);

		if (ret <= 0)
			return false;
		len -= ret;
	}
	return true;
}

/*
 * A send without room neither ends nor misses its wake-up, and has one notification.
 * Mutants: zc-no-room-ends, zc-notice-each-attempt, zc-waits-for-input.
 */
TEST_F(sendzc, waits_for_room)
{
	struct iou *r = &self->r;
	int i, *fds = self->narrow;
	bool more;

	for (i = 0; i < 4; i++) {
		struct io_uring_sqe *sqe;

		ASSERT_TRUE(fill_up(fds[0], self->out));
		sqe = prep_any(r, variant->sqe_flags, i & 1, fds[0], self->out, 10, 0);
		if (i & 2)
			sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
		ASSERT_EQ(0, iou_submit_issued(r));
		EXPECT_TRUE(quiet(r));
		EXPECT_TRUE(empty(fds[1], FULL));
		EXPECT_EQ(10, take_sent(r, &more));
		ASSERT_TRUE(more);
		EXPECT_TRUE(got(fds[1], self->in, 10, 0));
		EXPECT_EQ(0, take_notice(r));
	}
	ASSERT_TRUE(fill_up(fds[0], self->out));
	prep_zc(r, variant->sqe_flags, fds[0], self->out, 10, MSG_DONTWAIT);
	EXPECT_EQ(-EAGAIN, do_zc(r));
	EXPECT_TRUE(quiet(r));
}

/* Cancel a send before or after a part was sent: the part is reported, and has a notification. */
TEST_F(sendzc, cancelled)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int i, small = 4096;

	for (i = 0; i < 4; i++) {
		bool part = i & 2, notice = false, more = false, done = false;
		int fds[2], res = 0, n;
		struct io_uring_cqe cqe;
		size_t full = FULL;

		ASSERT_EQ(0, sock_tcp_pair_of(fds, small));
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		ASSERT_TRUE(part || fill_up(fds[0], self->out));
		prep_any(r, f, i & 1, fds[0], self->out, BYTES, MSG_WAITALL);
		ASSERT_LE(0, iou_submit(r));
		/* a worker may begin late */
		ASSERT_TRUE(!part || sock_readable(fds[1]));
		EXPECT_TRUE(quiet(r));
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0)->user_data = 8;
		ASSERT_LE(0, iou_submit(r));
		for (n = 0; n < 2;) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			if (cqe.flags & IORING_CQE_F_NOTIF) {
				EXPECT_TRUE(done);
				notice = true;
				continue;
			}
			n++;
			if (cqe.user_data != 7)
				continue;
			done = true;
			more = cqe.flags & IORING_CQE_F_MORE;
			res = cqe.res;
		}
		if (part) {
			ASSERT_LT(0, res);
			EXPECT_GT(BYTES, res);
			EXPECT_TRUE(more);
			full = res;
		} else {
			EXPECT_TRUE(res == -ECANCELED || res == -EINTR);
		}
		EXPECT_TRUE(empty(fds[1], full));
		if (more && !notice)
			EXPECT_EQ(0, take_notice(r));
		EXPECT_TRUE(quiet(r));
		sock_close_pair(fds);
	}
}

/*
 * A chain continues after the result, without the notification; a failed send breaks the chain.
 * differences: drain-zc-notice, send-zc-index-issued
 */
TEST_F(sendzc, chain)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int *fds = self->narrow, i, n;
	struct io_uring_cqe cqe;

	prep_zc(r, f | IOSQE_IO_LINK, fds[0], self->out, BYTES, MSG_WAITALL);
	iou_nop(r, 9);
	ASSERT_EQ(2, iou_submit(r));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i ? 9 : 7, cqe.user_data);
		EXPECT_EQ(i ? 0 : BYTES, cqe.res);
		EXPECT_EQ(i ? 0 : IORING_CQE_F_MORE, cqe.flags);
	}
	/* a drained request does not wait for the notification either */
	if (!iou_on_stock()) {
		iou_nop(r, 10)->flags = IOSQE_IO_DRAIN;
		EXPECT_EQ(0, iou_one(r));
	}
	EXPECT_TRUE(got(fds[1], self->in, BYTES, 0));
	EXPECT_EQ(0, take_notice(r));

	prep_zc(r, f | IOSQE_IO_LINK, self->pair[TCP][0], (void *)8, 100, 0);
	iou_nop(r, 9);
	ASSERT_EQ(2, iou_submit(r));
	for (n = 0, i = 0; n < 3; n++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		if (cqe.flags & IORING_CQE_F_NOTIF)
			continue;
		EXPECT_EQ(i++ ? -ECANCELED : -EFAULT, cqe.res);
	}

	/* an index beyond the table fails when the send is issued */
	if (iou_on_stock())
		return;
	iou_nop(r, 9)->flags = IOSQE_IO_LINK;
	prep_fixed(r, f, fds[0], self->out, 100, 0)->buf_index = BUFS;
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(9, cqe.user_data);
	EXPECT_EQ(0, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(-EFAULT, cqe.res);
	EXPECT_EQ(0, take_notice(r));
}

/*
 * A send that its chain cancels has a notification, and its CQE has IORING_CQE_F_MORE.
 * Mutant: zc-cancelled-not-more.  differences: zc-cancelled-notice
 */
TEST_F(sendzc, chain_cancels)
{
	unsigned int f = variant->sqe_flags;
	unsigned int i, notices = 0, more = 0;
	struct iou *r = &self->r;
	struct msghdr msg = {};
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;

	sqe = iou_nop(r, 8);
	sqe->opcode = IORING_OP_FSYNC;
	sqe->fd = 9999;
	sqe->flags = IOSQE_IO_LINK;
	prep_zc(r, f | IOSQE_IO_LINK, self->pair[TCP][0], self->out, 100, 0);
	prep_zc(r, f, 9999, &msg, 1, 0)->opcode = IORING_OP_SENDMSG_ZC;
	ASSERT_EQ(3, iou_submit(r));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		if (cqe.flags & IORING_CQE_F_NOTIF) {
			EXPECT_EQ(7, cqe.user_data);
			notices++;
			continue;
		}
		EXPECT_EQ(cqe.user_data == 7 ? -ECANCELED : -EBADF, cqe.res);
		more += !!(cqe.flags & IORING_CQE_F_MORE);
	}
	EXPECT_EQ(2, notices);
	if (!iou_on_stock())
		EXPECT_EQ(2, more);
	EXPECT_TRUE(quiet(r));
}

/* Send to an address, as a message with one or more iovecs, and with ancillary data. */
TEST_F(sendzc, messages)
{
	int from = socket(AF_INET, SOCK_DGRAM, 0), to = self->pair[UDP][1], i;
	char control[CMSG_SPACE(sizeof(__u16))] = {};
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct iovec iov[3];
	struct cmsghdr *cmsg;
	struct io_uring_sqe *sqe;
	struct msghdr msg = {
		.msg_name = &self->udp, .msg_namelen = sizeof(self->udp),
		.msg_iov = iov, .msg_iovlen = 1,
	};

	for (i = 0; i < 2; i++) {
		sqe = prep_any(r, f, i, from, self->out, 3000, 0);
		sqe->addr2 = (uintptr_t)&self->udp;
		sqe->addr_len = sizeof(self->udp);
		EXPECT_EQ(3000, do_zc(r));
		EXPECT_TRUE(got(to, self->in, 3000, 0));
	}
	for (i = 1; i <= 3; i += 2) {
		iov[0] = (struct iovec){ self->out, 1000 };
		iov[1] = (struct iovec){ self->out + 1000, 50 };
		iov[2] = (struct iovec){ self->out + 1050, 2000 };
		msg.msg_iovlen = i;
		prep_zc(r, f, from, &msg, 1, 0)->opcode = IORING_OP_SENDMSG_ZC;
		EXPECT_EQ(i == 1 ? 1000 : 3050, do_zc(r));
		EXPECT_TRUE(got(to, self->in, i == 1 ? 1000 : 3050, 0));
	}
	/* differences: none, 6.12 has no IORING_SEND_VECTORIZED */
	for (i = 1; i <= 3 && !iou_on_older_stock(); i += 2) {
		sqe = prep_zc(r, f, from, iov, i, 0);
		sqe->ioprio = IORING_SEND_VECTORIZED;
		sqe->addr2 = (uintptr_t)&self->udp;
		sqe->addr_len = sizeof(self->udp);
		EXPECT_EQ(i == 1 ? 1000 : 3050, do_zc(r));
		EXPECT_TRUE(got(to, self->in, i == 1 ? 1000 : 3050, 0));
	}
	/* UDP_SEGMENT cuts the data into messages of 1000 bytes */
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(__u16));
	*(__u16 *)CMSG_DATA(cmsg) = 1000;
	prep_zc(r, f, from, &msg, 1, 0)->opcode = IORING_OP_SENDMSG_ZC;
	EXPECT_EQ(3050, do_zc(r));
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(got(to, self->in, i < 3 ? 1000 : 50, i * 1000));
	/* a message for a connected socket has no address */
	msg = (struct msghdr){ .msg_iov = iov, .msg_iovlen = 3 };
	prep_zc(r, f, self->pair[TCP][0], &msg, 1, MSG_WAITALL)->opcode = IORING_OP_SENDMSG_ZC;
	EXPECT_EQ(3050, do_zc(r));
	EXPECT_TRUE(got(self->pair[TCP][1], self->in, 3050, 0));
	EXPECT_TRUE(quiet(r));
	close(from);
}

/* Prepare a SENDMSG_ZC or SEND_ZC of a vector in registered buffer 1. */
static struct io_uring_sqe *prep_parts(struct iou *r, unsigned int sqe_flags, bool send, int fd,
				       struct msghdr *msg, unsigned int msg_flags)
{
	struct io_uring_sqe *sqe;

	sqe = prep_fixed(r, sqe_flags, fd, send ? (void *)msg->msg_iov : msg,
			 send ? msg->msg_iovlen : 1, msg_flags);
	if (send)
		sqe->ioprio |= IORING_SEND_VECTORIZED;
	else
		sqe->opcode = IORING_OP_SENDMSG_ZC;
	return sqe;
}

/* Receive data, and compare it with the pieces of a message. */
static bool got_parts(int fd, char *in, const struct msghdr *msg)
{
	unsigned int i;
	size_t len = 0;

	for (i = 0; i < msg->msg_iovlen; i++)
		len += msg->msg_iov[i].iov_len;
	memset(in, 0, len);
	if (!sock_read(fd, in, len))
		return false;
	for (i = 0; i < msg->msg_iovlen; i++) {
		const struct iovec *part = &msg->msg_iov[i];

		if (memcmp(in, part->iov_base, part->iov_len))
			return false;
		in += part->iov_len;
	}
	return true;
}

/*
 * The pieces of a message are parts of a registered buffer.
 * Mutants: zc-parts-sent-as-one, zc-parts-without-name.
 */
TEST_F(sendzc, vector_in_a_buffer)
{
	unsigned int f = variant->sqe_flags, i, nr, at, len;
	struct iovec iov[28];
	struct msghdr msg = { .msg_iov = iov };
	int from, *fds = self->pair[TCP];
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;

	/* differences: none, 6.12 has no vectors in registered buffers */
	if (iou_on_older_stock())
		SKIP(return, "no vectors in registered buffers");
	for (nr = 0; nr <= ARRAY_LEN(iov); nr = nr < 4 ? nr + 1 : nr * 7) {
		/* from the end of the data to its begin */
		for (i = 0, len = 0, at = BYTES; i < nr; i++, len += iov[i - 1].iov_len) {
			iov[i].iov_len = 1 + i * 37 % 1000;
			at -= iov[i].iov_len;
			iov[i].iov_base = self->out + at;
		}
		msg.msg_iovlen = nr;
		for (i = 0; i < 4; i++) {
			prep_parts(r, f, i & 1, fds[0], &msg, i & 2 ? MSG_WAITALL : 0);
			EXPECT_EQ(len, do_zc(r));
			EXPECT_TRUE(got_parts(fds[1], self->in, &msg)) {
				TH_LOG("%u parts, way %u", nr, i);
			}
		}
	}
	/* a datagram, to an address or to that of the socket */
	from = socket(AF_INET, SOCK_DGRAM, 0);
	msg.msg_iovlen = 3;
	for (i = 0; i < 2; i++) {
		sqe = prep_parts(r, f, i, self->pair[UDP][0], &msg, 0);
		EXPECT_EQ(1 + 38 + 75, do_zc(r));
		EXPECT_TRUE(got_parts(self->pair[UDP][1], self->in, &msg));
	}
	for (i = 0; i < 2; i++) {
		msg.msg_name = &self->udp;
		msg.msg_namelen = sizeof(self->udp);
		sqe = prep_parts(r, f, i, from, &msg, 0);
		if (i) {
			sqe->addr2 = (uintptr_t)&self->udp;
			sqe->addr_len = sizeof(self->udp);
		}
		EXPECT_EQ(1 + 38 + 75, do_zc(r));
		EXPECT_TRUE(got_parts(self->pair[UDP][1], self->in, &msg));
	}
	EXPECT_TRUE(quiet(r));
	close(from);
}

/* A stream takes a part of a vector at a time.  Mutant: zc-parts-begin-again. */
TEST_F(sendzc, vector_sent_in_parts)
{
	struct iovec iov[3] = {
		{ self->out + 70000, 50000 }, { self->out, 10 }, { self->out + 5000, 60000 },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };
	const unsigned int len = 110010;
	struct iou *r = &self->r;
	int i, small = 4096, *fds = self->pair[TCP];

	/* differences: none, 6.12 has no vectors in registered buffers */
	if (iou_on_older_stock())
		SKIP(return, "no vectors in registered buffers");
	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (i = 0; i < 2; i++) {
		size_t at = 0;
		bool more;

		prep_parts(r, variant->sqe_flags, i, fds[0], &msg, MSG_WAITALL);
		ASSERT_LE(0, iou_submit(r));
		sock_read_until_cqe(r, fds[1], self->in, len, &at);
		EXPECT_EQ(len, take_sent(r, &more));
		ASSERT_TRUE(more);
		EXPECT_TRUE(sock_read(fds[1], self->in + at, len - at));
		EXPECT_EQ(-1, iou_verify(self->in, 50000, 70000, 5));
		EXPECT_EQ(-1, iou_verify(self->in + 50000, 10, 0, 5));
		EXPECT_EQ(-1, iou_verify(self->in + 50010, 60000, 5000, 5));
		EXPECT_EQ(0, take_notice(r));
	}
	EXPECT_TRUE(quiet(r));
}

/* The vector is bad, or has a piece that is empty or outside of the registered buffer. */
TEST_F(sendzc, vector_beyond_a_buffer)
{
	struct iovec iov[1025];
	struct msghdr msg = { .msg_iov = iov };
	unsigned int f = variant->sqe_flags, i, send;
	int *fds = self->pair[TCP];
	struct iou *r = &self->r;
	struct {
		struct iovec piece;
		int ret;
	} rows[] = {
		{ { self->out, 0 }, -EFAULT },
		{ { NULL, 0 }, -EFAULT },
		{ { self->out - 1, 2 }, -EFAULT },
		{ { self->out + BYTES - 1, 2 }, -EFAULT },
		{ { self->in, 16 }, -EFAULT },
		{ { IOU_KERNEL, 16 }, -EFAULT },
		{ { self->out, -1UL }, -EINVAL },
	};

	/* differences: none, 6.12 has no vectors in registered buffers */
	if (iou_on_older_stock())
		SKIP(return, "no vectors in registered buffers");
	for (i = 0; i < ARRAY_LEN(iov); i++)
		iov[i] = (struct iovec){ self->out + i, 1 };
	for (send = 0; send < 2; send++) {
		for (i = 0; i < 2 * ARRAY_LEN(rows); i++) {
			msg.msg_iovlen = 1 + i % 2;
			iov[i % 2] = rows[i / 2].piece;
			prep_parts(r, f, send, fds[0], &msg, 0);
			EXPECT_EQ(rows[i / 2].ret, do_zc(r)) {
				TH_LOG("row %u", i / 2);
			}
			iov[i % 2] = (struct iovec){ self->out, 1 };
		}
		for (i = 0; i < 3; i++) {
			msg.msg_iovlen = i;
			prep_parts(r, f, send, fds[0], &msg, 0)->buf_index = BUFS;
			EXPECT_EQ(-EFAULT, do_zc(r));
		}
		msg.msg_iovlen = 1025;
		prep_parts(r, f, send, fds[0], &msg, 0);
		EXPECT_EQ(send ? -EINVAL : -EMSGSIZE, do_zc(r));
		msg.msg_iovlen = 2;
		msg.msg_iov = (void *)8;
		prep_parts(r, f, send, fds[0], &msg, 0);
		EXPECT_EQ(-EFAULT, do_zc(r));
		msg.msg_iov = iov;
	}
	prep_parts(r, f, 0, fds[0], (void *)8, 0);
	EXPECT_EQ(-EFAULT, do_zc(r));
	/* only a zero copy send uses a vector in a registered buffer */
	msg.msg_iovlen = 1;
	prep_parts(r, f, 0, fds[0], &msg, 0)->opcode = IORING_OP_SENDMSG;
	EXPECT_EQ(-EINVAL, do_refused(r, false));
	prep_parts(r, f, 1, fds[0], &msg, 0)->opcode = IORING_OP_SEND;
	EXPECT_EQ(-EINVAL, do_refused(r, false));
	EXPECT_TRUE(quiet(r));
}

/* A send that fails has a notification as well.  Mutant: zc-failed-not-more. */
TEST_F(sendzc, errors)
{
	unsigned int f = variant->sqe_flags, i;
	int fd, p[2], un[2][2], *fds = self->pair[TCP];
	struct iovec iov = { self->out, 10 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct io_uring_sqe *sqe;
	struct iou *r = &self->r;

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, un[0]));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, un[1]));
	for (i = 0; i < 2; i++) {
		unsigned char op = i ? IORING_OP_SENDMSG_ZC : IORING_OP_SEND_ZC;
		void *what = i ? (void *)&msg : self->out;

		prep_zc(r, f, p[1], what, 1, 0)->opcode = op;
		EXPECT_EQ(-ENOTSOCK, do_zc(r));
		prep_zc(r, f, 9999, what, 1, 0)->opcode = op;
		EXPECT_EQ(-EBADF, do_zc(r));
		prep_zc(r, f, un[0][0], what, 1, 0)->opcode = op;
		EXPECT_EQ(-EOPNOTSUPP, do_zc(r));
		prep_zc(r, f, un[1][0], what, 1, 0)->opcode = op;
		EXPECT_EQ(-EOPNOTSUPP, do_zc(r));
		/* the error comes before a wait, and before -EAGAIN.  Mutant: zc-unable-waits. */
		sqe = prep_zc(r, f, un[0][0], what, 1, MSG_DONTWAIT);
		sqe->opcode = op;
		sqe->ioprio = IORING_RECVSEND_POLL_FIRST;
		EXPECT_EQ(-EOPNOTSUPP, do_zc(r));
	}
	sock_close_pair(p);
	sock_close_pair(un[0]);
	sock_close_pair(un[1]);
	prep_zc(r, f, fds[0], (void *)8, 100, 0);
	EXPECT_EQ(-EFAULT, do_zc(r));
	prep_zc(r, f, fds[0], IOU_KERNEL, 100, 0);
	EXPECT_EQ(-EFAULT, do_zc(r));
	/* the data is not in the given buffer, or there is no such buffer */
	prep_fixed(r, f, fds[0], self->out, 100, 0)->buf_index = 0;
	EXPECT_EQ(-EFAULT, do_zc(r));
	prep_fixed(r, f, fds[0], self->out, 100, 0)->buf_index = BUFS;
	EXPECT_EQ(-EFAULT, do_zc(r));
	prep_fixed(r, f, fds[0], self->out, 100, 0)->buf_index = 2;
	EXPECT_EQ(-EFAULT, do_zc(r));
	prep_fixed(r, f, fds[0], self->out + 5000, 101, 0)->buf_index = 2;
	EXPECT_EQ(-EFAULT, do_zc(r));
	prep_fixed(r, f, fds[0], self->in, 1, 0);
	EXPECT_EQ(-EFAULT, do_zc(r));
	prep_fixed(r, f, fds[0], self->out + 5000, 100, 0)->buf_index = 2;
	EXPECT_EQ(100, do_zc(r));
	EXPECT_TRUE(got(fds[1], self->in, 100, 5000));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	prep_zc(r, f, fd, self->out, 1, 0);
	EXPECT_EQ(-EPIPE, do_zc(r));
	close(fd);
	/* 70000 bytes are more than a datagram can have */
	prep_fixed(r, f, self->pair[UDP][0], self->out, 70000, 0);
	EXPECT_EQ(-EMSGSIZE, do_zc(r));
	EXPECT_TRUE(quiet(r));
}

static const struct {
	const char *name;
	int op;
	unsigned int ioprio;
	unsigned int sqe_flags;
	int want;
	bool silent;	/* without a notification */
} refusals[] = {
	{ "ioprio 2", IORING_OP_SEND_ZC, IORING_RECV_MULTISHOT, 0, -EINVAL },
	{ "ioprio 16", IORING_OP_SEND_ZC, IORING_RECVSEND_BUNDLE, 0, -EINVAL },
	{ "ioprio 64", IORING_OP_SEND_ZC, 64, 0, -EINVAL },
	{ "msg ioprio 2", IORING_OP_SENDMSG_ZC, IORING_RECV_MULTISHOT, 0, -EINVAL },
	{ "msg ioprio 8", IORING_OP_SENDMSG_ZC, IORING_SEND_ZC_REPORT_USAGE, 0, -EBADF },
	{ "msg ioprio 16", IORING_OP_SENDMSG_ZC, IORING_RECVSEND_BUNDLE, 0, -EINVAL },
	{ "select", IORING_OP_SEND_ZC, 0, IOSQE_BUFFER_SELECT, -EOPNOTSUPP, true },
	{ "msg select", IORING_OP_SENDMSG_ZC, 0, IOSQE_BUFFER_SELECT, -EOPNOTSUPP, true },
	{ "skip", IORING_OP_SEND_ZC, 0, IOSQE_CQE_SKIP_SUCCESS, -EINVAL, true },
	{ "msg skip", IORING_OP_SENDMSG_ZC, 0, IOSQE_CQE_SKIP_SUCCESS, -EINVAL, true },
};

/*
 * A bad SQE field fails the request first, as the bad descriptor is checked later.
 * A few of these errors come before the notification is allocated, so no notification follows.
 */
TEST_F(sendzc, refusals)
{
	unsigned int f = variant->sqe_flags, i;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct msghdr msg = {};

	for (i = 0; i < ARRAY_LEN(refusals); i++) {
		sqe = prep_zc(r, f | refusals[i].sqe_flags, 9999, &msg, 1, 0);
		sqe->opcode = refusals[i].op;
		sqe->ioprio = refusals[i].ioprio;
		EXPECT_EQ(refusals[i].want, do_refused(r, !refusals[i].silent)) {
			TH_LOG("%s", refusals[i].name);
		}
	}
	for (i = 0; i < 2; i++) {
		bool send = !i;
		int op = i ? IORING_OP_SENDMSG_ZC : IORING_OP_SEND_ZC;

		sqe = prep_zc(r, f, 9999, &msg, 1, 0);
		sqe->opcode = op;
		sqe->addr2 = 8;
		EXPECT_EQ(send ? -EBADF : -EINVAL, do_zc(r));
		sqe = prep_zc(r, f, 9999, &msg, 1, 0);
		sqe->opcode = op;
		sqe->addr_len = 8;
		EXPECT_EQ(send ? -EBADF : -EINVAL, do_zc(r));
		sqe = prep_zc(r, f, 9999, &msg, 1, 0);
		sqe->opcode = op;
		sqe->__pad3[0] = 1;
		EXPECT_EQ(-EINVAL, do_zc(r));
		sqe = prep_zc(r, f, 9999, &msg, 1, 0);
		sqe->opcode = op;
		sqe->buf_index = 1;
		EXPECT_EQ(-EBADF, do_zc(r));
		sqe = prep_zc(r, f, 9999, &msg, 1, 0);
		sqe->opcode = op;
		sqe->__pad2[0] = 1;
		EXPECT_EQ(-EINVAL, do_refused(r, false));
		/* do not use the stack: 2 GiB above it may be beyond the end of user addresses */
		sqe = prep_zc(r, f, 9999, send ? self->out : (void *)&msg, 1U << 31, 0);
		sqe->opcode = op;
		EXPECT_EQ(-EBADF, do_zc(r));
		/* the address of a buffer is checked before the file */
		sqe = prep_zc(r, f, 9999, IOU_KERNEL, 1, 0);
		sqe->opcode = op;
		EXPECT_EQ(send && !iou_splits_addresses() ? -EBADF : -EFAULT, do_zc(r));
	}
	sqe = prep_zc(r, f, 9999, self->out, 1, 0);
	sqe->addr2 = 8;
	sqe->addr_len = 16;
	EXPECT_EQ(-EFAULT, do_zc(r));
	sqe = prep_zc(r, f, 9999, self->out, 1, 0);
	sqe->addr2 = (uintptr_t)self->out;
	sqe->addr_len = 129;
	EXPECT_EQ(-EINVAL, do_zc(r));
}

/*
 * The notification has the user_data of sqe->addr3, if that is not 0, also if the send fails.
 * Mutant: notice-user-data.
 */
TEST_F(sendzc, user_data_of_the_notification)
{
	static const __u64 values[] = { 1, 7, 1ULL << 32, -1ULL };
	struct iovec iov = { self->out, 100 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	int i, *fds = self->pair[TCP];
	bool more;

	/* differences: none, 6.12 refuses the field */
	if (iou_on_older_stock())
		SKIP(return, "no user_data for notifications");
	for (i = 0; i < 4 * ARRAY_LEN(values); i++) {
		bool fails = i & 1, message = i & 2;

		sqe = prep_zc(r, variant->sqe_flags, fails ? 9999 : fds[0],
			      message ? (void *)&msg : self->out, message ? 1 : 100, 0);
		sqe->addr3 = values[i / 4];
		if (message)
			sqe->opcode = IORING_OP_SENDMSG_ZC;
		ASSERT_LE(0, iou_submit(r));
		EXPECT_EQ(fails ? -EBADF : 100, take_sent(r, &more));
		ASSERT_TRUE(more);
		if (!fails)
			EXPECT_TRUE(got(fds[1], self->in, 100, 0));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(values[i / 4], cqe.user_data);
		EXPECT_EQ(IORING_CQE_F_NOTIF, cqe.flags);
		EXPECT_EQ(0, cqe.res);
	}
	EXPECT_TRUE(quiet(r));
}

/*
 * A send that waits for its socket before it fails has a notification like any other send.
 * Mutant: zc-failure-behind-a-wait.
 */
TEST_F(sendzc, refused_behind_a_wait)
{
	struct iou *r = &self->r;
	int i;

	for (i = 0; i < NR_PAIRS; i++) {
		struct io_uring_sqe *sqe = prep_fixed(r, variant->sqe_flags, self->pair[i][0],
						      self->out, 1, 0);

		sqe->buf_index = 9;
		sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
		EXPECT_EQ(-EFAULT, do_zc(r));
	}
}

/*
 * The socket still uses a registered buffer that was removed from its slot: the tag is
 * posted after the notification.  Mutant: notice-buffer-not-held.
 */
TEST_F(sendzc, tag)
{
	struct iovec none = {}, all = { self->out, BYTES };
	struct iou *r = &self->r;
	int *fds = self->narrow, i;
	struct io_uring_cqe cqe;
	__u64 tag = 77;
	struct io_uring_rsrc_update2 up = {
		.offset = 1, .nr = 1, .data = (uintptr_t)&all, .tags = (uintptr_t)&tag,
	};
	bool more;

	ASSERT_EQ(1, iou_register(r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up)));
	prep_fixed(r, variant->sqe_flags, fds[0], self->out, BYTES, MSG_WAITALL);
	ASSERT_LE(0, iou_submit(r));
	EXPECT_EQ(BYTES, take_sent(r, &more));
	ASSERT_TRUE(more);
	up.data = (uintptr_t)&none;
	up.tags = 0;
	ASSERT_EQ(1, iou_register(r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up)));
	EXPECT_TRUE(quiet(r));
	EXPECT_TRUE(got(fds[1], self->in, BYTES, 0));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i ? 77 : 7, cqe.user_data);
		EXPECT_EQ(i ? 0 : IORING_CQE_F_NOTIF, cqe.flags);
	}
}

/*
 * Close a ring while a peer does not read.  The files in the ring's slots are closed before
 * the notification comes.  Mutant: slots-wait-for-notifications.  differences: close-files-end
 */
TEST_F(sendzc, slots_end_before_the_notification)
{
	unsigned long long end;
	struct sockaddr_in addr;
	int listener, fd, bound;
	struct io_uring_sqe *sqe;
	struct iou r;
	bool more;

	if (iou_on_stock() || variant->sqe_flags)
		SKIP(return, "it takes up to a second there, or needs no worker");
	listener = sock_listener(&addr, 1);
	ASSERT_LE(0, listener);
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_FILES, &listener, 1));
	close(listener);
	sqe = iou_prep(&r, IORING_OP_POLL_ADD, 0, NULL, 0, 0);
	sqe->poll32_events = poll_word(POLLIN);
	sqe->flags = IOSQE_FIXED_FILE;
	sqe->user_data = 9;
	prep_zc(&r, 0, self->narrow[0], self->out, BYTES, MSG_WAITALL);
	ASSERT_LE(0, iou_submit(&r));
	ASSERT_EQ(BYTES, take_sent(&r, &more));
	ASSERT_TRUE(more);
	iou_exit(&r);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	end = iou_now_us() + 1000000;
	do {
		bound = bind(fd, (void *)&addr, sizeof(addr));
	} while (bound && iou_now_us() < end && !usleep(1000));
	EXPECT_EQ(0, bound);
	close(fd);
}

struct late_reader {
	int fd;
	char *in;
	bool ok;
};

static void *read_late(void *data)
{
	struct late_reader *late = data;

	iou_sleep_ms(50);
	late->ok = got(late->fd, late->in, BYTES, 0);
	return NULL;
}

/* Unregistering buffers waits until no socket reads them any more. */
TEST_F(sendzc, unregister)
{
	struct late_reader late = { self->narrow[1], self->in };
	struct iou *r = &self->r;
	pthread_t thread;
	bool more;

	prep_fixed(r, variant->sqe_flags, self->narrow[0], self->out, BYTES, MSG_WAITALL);
	ASSERT_LE(0, iou_submit(r));
	EXPECT_EQ(BYTES, take_sent(r, &more));
	ASSERT_TRUE(more);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_late, &late));
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	iou_fill(self->out, BYTES, 9, 9);
	pthread_join(thread, NULL);
	EXPECT_TRUE(late.ok);
	EXPECT_EQ(0, take_notice(r));
}

/* Limit of the pages that all rings and sockets of the user have pinned */
#define LIMIT	(2 * BYTES / IOU_PAGE)

static void limit_memory(void)
{
	struct rlimit limit = { LIMIT * IOU_PAGE, LIMIT * IOU_PAGE };

	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (setresgid(12345, 12345, 12345) || setresuid(12345, 12345, 12345))
		_exit(90);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Set up a ring with BYTES in flight.  Return: 0, or the exit code for the failed step. */
static int send_narrow(struct iou *r, unsigned int flags, unsigned int sqe_flags, int fd, char *out)
{
	bool more;

	if (iou_init(r, 8, flags))
		return 91;
	prep_zc(r, sqe_flags, fd, out, BYTES, MSG_WAITALL);
	if (iou_submit(r) < 0 || take_sent(r, &more) != BYTES || !more)
		return 92;
	return 0;
}

/*
 * Fill the limit with memory in flight, which is charged to the user, and end by SIGKILL.
 * Return: the exit code for the step that failed.
 */
static int fill_limit(unsigned int flags, unsigned int sqe_flags, int fds[2][2], char *out)
{
	struct iou r;
	bool more;
	int ret;

	limit_memory();
	ret = send_narrow(&r, flags, sqe_flags, fds[0][0], out);
	if (ret)
		return ret;
	prep_zc(&r, sqe_flags, fds[1][0], out, BYTES, MSG_WAITALL);
	if (iou_submit(&r) < 0)
		return 93;
	ret = take_sent(&r, &more);
	if (ret != -ENOMEM)
		return ret < 0 ? -ret : 93;
	if (more && take_notice(&r))
		return 94;
	/* the socket holds the memory, not the ring */
	iou_exit(&r);
	ret = iou_init(&r, 8, flags);
	if (ret)
		return 95;
	prep_zc(&r, sqe_flags, fds[1][0], out, BYTES, MSG_WAITALL);
	if (do_zc(&r) != -ENOMEM)
		return 96;
	kill(getpid(), SIGKILL);
	return 97;
}

/* Send as the same user until the pages are free.  Return: 0, or the code of the failed step. */
static int send_again(unsigned int flags, unsigned int sqe_flags, int fds[2], char *out)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	struct iou r;
	int ret;

	limit_memory();
	if (iou_init(&r, 8, flags))
		return 91;
	do {
		prep_zc(&r, sqe_flags, fds[0], out, 1000, MSG_WAITALL);
		ret = do_zc(&r);
	} while (ret == -ENOMEM && iou_now_us() < end);
	return ret == 1000 ? 0 : 98;
}

/*
 * Pages are charged as long as the socket holds them, even after the ring and the
 * process have gone, but no longer.  Mutants: notice-pages-uncounted, notice-pages-kept.
 * differences: sqpoll-zc-killed
 */
TEST_F(sendzc, killed)
{
	int fds[2][2], i, status, *pair = self->pair[TCP];
	pid_t child;

	if (iou_on_stock() && variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "its thread waits for the notification, and who is killed for it");
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, narrow_pair(fds[i]));
	}
	child = fork();
	if (!child)
		_exit(fill_limit(variant->flags, variant->sqe_flags, fds, self->out));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status)) {
		TH_LOG("%d", WEXITSTATUS(status));
	}
	EXPECT_TRUE(got(fds[0][1], self->in, BYTES, 0));
	child = fork();
	if (!child)
		_exit(send_again(variant->flags, variant->sqe_flags, pair, self->out));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	for (i = 0; i < 2; i++)
		sock_close_pair(fds[i]);
}

#define HUGE_PAGE	(2UL << 20)

/* Return: number of free huge pages, or -1. */
static long free_huge_pages(void)
{
	char line[128];
	long nr = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && nr < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "HugePages_Free: %ld", &nr);
	if (f)
		fclose(f);
	return nr;
}

static char *huge_page(void)
{
	return mmap(NULL, HUGE_PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
}

/* Send data of a huge page again and again, until the task is killed. */
static int send_until_killed(unsigned int flags, unsigned int sqe_flags, bool fixed, int fd)
{
	char *out = huge_page();
	struct iovec iov[2] = { {}, { out, BYTES } };
	struct io_uring_cqe cqe;
	struct iou r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (out == MAP_FAILED || iou_init(&r, 8, flags) ||
	    iou_register(&r, IORING_REGISTER_BUFFERS, iov, 2))
		return 91;
	iou_fill(out, BYTES, 0, 5);
	for (;;) {
		prep_any(&r, sqe_flags, fixed, fd, out, BYTES, MSG_WAITALL);
		if (iou_submit(&r) < 0)
			return 92;
		do {
			if (iou_reap(&r, &cqe))
				return 93;
		} while (cqe.flags & IORING_CQE_F_NOTIF);
		if (cqe.res != BYTES)
			return 94;
	}
}

/* Receive up to @len bytes, or until the end.  Return: true if they are what was sent. */
static bool receive_sent(int fd, char *in, unsigned long long *at, size_t len)
{
	bool fine = true;
	ssize_t n = 1;

	while (fine && len && n > 0) {
		size_t piece = BYTES - *at % BYTES;

		n = recv(fd, in, len < piece ? len : piece, 0);
		if (n <= 0)
			break;
		fine = iou_verify(in, n, *at % BYTES, 5) == -1;
		*at += n;
		len -= n;
	}
	return fine && n >= 0;
}

/*
 * Kill a task at any moment with sends in flight.  Memory that the socket holds does not
 * change until it was sent, and is free afterwards.
 * differences: sqpoll-zc-killed
 */
TEST_F(sendzc, killed_at_random)
{
	unsigned int round, rounds = iou_rounds(4), seed = iou_now_us();
	unsigned long long end = iou_race_end();
	long before;

	if (iou_on_stock() && variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "its thread waits for the notification, and who is killed for it");
	ASSERT_EQ(0, iou_put("/proc/sys/vm/nr_hugepages", "2"));
	before = free_huge_pages();
	ASSERT_EQ(2, before);
	for (round = 0; round < rounds && iou_now_us() < end; round++) {
		unsigned long long at = 0, late = iou_now_us() + IOU_PATIENCE * 1000ULL;
		int fds[2], status, large = 2 * BYTES;
		pid_t child;
		char *other;

		/* several sends in flight, but few enough to drain the socket soon */
		ASSERT_EQ(0, sock_tcp_pair_of(fds, BYTES / 4));
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
		child = fork();
		if (!child)
			_exit(send_until_killed(variant->flags, variant->sqe_flags, round & 1,
						fds[0]));
		EXPECT_TRUE(receive_sent(fds[1], self->in, &at, rand_r(&seed) % BYTES));
		usleep(rand_r(&seed) % 2000);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status)) {
			TH_LOG("%d", WEXITSTATUS(status));
		}
		/* write other data to huge pages that are free by now */
		other = huge_page();
		ASSERT_NE(MAP_FAILED, other);
		memset(other, 0xff, HUGE_PAGE);
		shutdown(fds[0], SHUT_WR);
		EXPECT_TRUE(receive_sent(fds[1], self->in, &at, -1UL));
		munmap(other, HUGE_PAGE);
		sock_close_pair(fds);
		while (free_huge_pages() != before && iou_now_us() < late)
			iou_sleep_ms(1);
		ASSERT_EQ(before, free_huge_pages());
	}
	iou_put("/proc/sys/vm/nr_hugepages", "0");
}

TEST_HARNESS_MAIN
