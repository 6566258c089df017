// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: URING_CMD - the times at which data of a socket was sent */
#include "sock.h"
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/time_types.h>

#define DATA	1
#define OTHER	2

/* software timestamps with keys, without a copy of the data */
#define STAMPS	(SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE | \
		 SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY)

FIXTURE(timestamps) {
	struct iou r;
	int from, to;	/* UDP sockets; @from is connected to @to and takes timestamps */
};

FIXTURE_VARIANT(timestamps) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KIND(timestamps, plain, IORING_SETUP_CQE32);
IOU_KIND(timestamps, coop, IORING_SETUP_CQE32 | IOU_COOP);
IOU_KIND(timestamps, defer, IORING_SETUP_CQE32 | IOU_DEFER);
IOU_KIND(timestamps, sqpoll, IORING_SETUP_CQE32 | IORING_SETUP_SQPOLL);
IOU_KIND(timestamps, iopoll, IORING_SETUP_CQE32 | IORING_SETUP_IOPOLL);
IOU_KIND(timestamps, iopoll_defer, IORING_SETUP_CQE32 | IORING_SETUP_IOPOLL | IOU_DEFER);
IOU_KIND(timestamps, mixed, IORING_SETUP_CQE_MIXED);
IOU_KIND(timestamps, defer_mixed, IORING_SETUP_CQE_MIXED | IOU_DEFER);
FIXTURE_VARIANT_ADD(timestamps, plain_async) {
	.flags = IORING_SETUP_CQE32,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(timestamps, defer_async) {
	.flags = IORING_SETUP_CQE32 | IOU_DEFER,
	.sqe_flags = IOSQE_ASYNC,
};

static bool take_stamps(int fd, unsigned int flags)
{
	return !setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags));
}

FIXTURE_SETUP(timestamps)
{
	struct sockaddr_in addr = sock_loopback(0);
	socklen_t len = sizeof(addr);

	/* differences: none, 6.12 has no SOCKET_URING_OP_TX_TIMESTAMP */
	if (iou_on_older_stock())
		SKIP(return, "no SOCKET_URING_OP_TX_TIMESTAMP");
	ASSERT_EQ(0, iou_init(&self->r, 32, variant->flags));
	self->to = socket(AF_INET, SOCK_DGRAM, 0);
	self->from = socket(AF_INET, SOCK_DGRAM, 0);
	ASSERT_EQ(0, bind(self->to, (void *)&addr, len));
	ASSERT_EQ(0, getsockname(self->to, (void *)&addr, &len));
	ASSERT_EQ(0, connect(self->from, (void *)&addr, len));
	ASSERT_TRUE(take_stamps(self->from, STAMPS));
}

FIXTURE_TEARDOWN(timestamps)
{
	/* without the command, there is no ring either */
	if (!self->to)
		return;
	iou_exit(&self->r);
	close(self->from);
	close(self->to);
}

static struct io_uring_sqe *prep_stamps(struct iou *r, int fd, unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_URING_CMD, fd, NULL, 0, 0);

	sqe->cmd_op = SOCKET_URING_OP_TX_TIMESTAMP;
	sqe->flags = flags;
	sqe->user_data = DATA;
	return sqe;
}

static struct io_uring_sqe *prep_cancel(struct iou *r)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0);

	sqe->addr = DATA;
	sqe->user_data = OTHER;
	return sqe;
}

static bool send_bytes(int fd, unsigned int nr)
{
	while (nr--) {
		if (send(fd, "x", 1, 0) != 1)
			return false;
	}
	return true;
}

/* Return: the key of the next CQE, a timestamp of @type that is not older than @since; else -1. */
static int next_key(struct iou *r, unsigned int type, const struct timespec *since)
{
	unsigned int large = r->flags & IORING_SETUP_CQE_MIXED ? IORING_CQE_F_32 : 0;
	unsigned int flags = IORING_CQE_F_MORE | type << IORING_TIMESTAMP_TYPE_SHIFT | large;
	struct io_timespec *ts;
	struct io_uring_cqe *cqe;
	struct timespec now;
	int key = -1;

	cqe = iou_next(r);
	if (!cqe)
		return -1;
	clock_gettime(CLOCK_REALTIME, &now);
	ts = (void *)cqe->big_cqe;
	if (cqe->user_data == DATA && cqe->flags == flags && ts->tv_nsec < 1000000000 &&
	    ts->tv_sec * 1000000000 + ts->tv_nsec >=
	    since->tv_sec * 1000000000ULL + since->tv_nsec &&
	    ts->tv_sec <= (unsigned long long)now.tv_sec)
		key = cqe->res;
	iou_seen(r, iou_cqe_slots(r, cqe));
	return key;
}

/* Return: number of entries that recvmsg(2) takes from the error queue with @origin, or -1. */
static int take_errors(int fd, unsigned int origin)
{
	union {
		struct cmsghdr hdr;
		char buf[512];
	} control;
	char data[64];
	int nr = 0;

	for (;;) {
		struct iovec iov = { data, sizeof(data) };
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = &control, .msg_controllen = sizeof(control),
		};
		struct cmsghdr *cmsg;

		if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return nr;
		for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
			const struct sock_extended_err *err = (void *)CMSG_DATA(cmsg);

			if (cmsg->cmsg_level != SOL_IP || cmsg->cmsg_type != IP_RECVERR)
				continue;
			if (err->ee_origin != origin)
				return -1;
			nr++;
		}
	}
}

/* Return: true if a CQE comes within 20 ms. */
static bool came(struct iou *r)
{
	iou_wait_ms(r, 1, 20);
	return iou_ready(r);
}

/* End the command and take its last CQE.  Return: the result in that CQE. */
static int end_by_cancel(struct iou *r)
{
	struct io_uring_sync_cancel_reg reg = { .addr = DATA, .fd = -1, .timeout.tv_sec = 10 };
	struct io_uring_cqe cqe;
	int ret = 0;

	/* no ASYNC_CANCEL on IOPOLL rings */
	if (r->flags & IORING_SETUP_IOPOLL) {
		ret = iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 1);
	} else {
		prep_cancel(r);
		if (iou_submit(r) != 1 || iou_reap(r, &cqe) || cqe.user_data != OTHER)
			return -EIO;
		ret = cqe.res;
	}
	if (ret || iou_reap(r, &cqe) || cqe.user_data != DATA || cqe.flags)
		return -EIO;
	return cqe.res;
}

/* Mutant: timestamps-one-event. */
TEST_F(timestamps, of_later_data)
{
	struct iou *r = &self->r;
	struct timespec since;
	unsigned int i;

	clock_gettime(CLOCK_REALTIME, &since);
	prep_stamps(r, self->from, variant->sqe_flags);
	ASSERT_EQ(1, iou_submit(r));
	EXPECT_FALSE(came(r));
	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(send_bytes(self->from, 1));
		EXPECT_EQ((int)i, next_key(r, SCM_TSTAMP_SND, &since));
	}
	ASSERT_TRUE(send_bytes(self->from, 3));
	for (; i < 7; i++)
		EXPECT_EQ((int)i, next_key(r, SCM_TSTAMP_SND, &since));
	EXPECT_EQ(-ECANCELED, end_by_cancel(r));
	/* all of them left the queue */
	EXPECT_EQ(0, take_errors(self->from, SO_EE_ORIGIN_TIMESTAMPING));
}

/* Timestamps that were there before the command, of two kinds, in the order of the queue. */
TEST_F(timestamps, of_earlier_data)
{
	struct iou *r = &self->r;
	struct timespec since;
	unsigned int i;

	clock_gettime(CLOCK_REALTIME, &since);
	ASSERT_TRUE(take_stamps(self->from, STAMPS | SOF_TIMESTAMPING_TX_SCHED));
	ASSERT_TRUE(send_bytes(self->from, 3));
	prep_stamps(r, self->from, variant->sqe_flags);
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ((int)i, next_key(r, SCM_TSTAMP_SCHED, &since));
		EXPECT_EQ((int)i, next_key(r, SCM_TSTAMP_SND, &since));
	}
	EXPECT_EQ(-ECANCELED, end_by_cancel(r));
}

/* A TCP socket counts bytes; the peer's acknowledgment has a timestamp as well. */
TEST_F(timestamps, of_a_stream)
{
	struct iou *r = &self->r;
	struct timespec since;
	int pair[2];

	clock_gettime(CLOCK_REALTIME, &since);
	ASSERT_EQ(0, sock_tcp_pair(pair));
	ASSERT_TRUE(take_stamps(pair[0], STAMPS | SOF_TIMESTAMPING_TX_SCHED |
				SOF_TIMESTAMPING_TX_ACK));
	prep_stamps(r, pair[0], variant->sqe_flags);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(3, send(pair[0], "abc", 3, 0));
	EXPECT_EQ(2, next_key(r, SCM_TSTAMP_SCHED, &since));
	EXPECT_EQ(2, next_key(r, SCM_TSTAMP_SND, &since));
	EXPECT_EQ(2, next_key(r, SCM_TSTAMP_ACK, &since));
	/* the end of the stream is no error: the command waits for more */
	shutdown(pair[1], SHUT_WR);
	EXPECT_FALSE(came(r));
	ASSERT_EQ(4, send(pair[0], "abcd", 4, 0));
	EXPECT_EQ(6, next_key(r, SCM_TSTAMP_SCHED, &since));
	EXPECT_EQ(6, next_key(r, SCM_TSTAMP_SND, &since));
	EXPECT_EQ(6, next_key(r, SCM_TSTAMP_ACK, &since));
	EXPECT_EQ(-ECANCELED, end_by_cancel(r));
	sock_close_pair(pair);
}

/* Errors stay in the queue. */
TEST_F(timestamps, leaves_errors)
{
	struct iou *r = &self->r;
	struct sockaddr_in addr;
	struct timespec since;
	socklen_t len = sizeof(addr);
	int one = 1;

	clock_gettime(CLOCK_REALTIME, &since);
	ASSERT_EQ(0, setsockopt(self->from, SOL_IP, IP_RECVERR, &one, sizeof(one)));
	/* without a receiver, loopback returns an ICMP error for each datagram */
	ASSERT_EQ(0, getpeername(self->from, (void *)&addr, &len));
	close(self->to);
	self->to = -1;
	prep_stamps(r, self->from, variant->sqe_flags);
	ASSERT_EQ(1, iou_submit(r));
	EXPECT_FALSE(came(r));
	ASSERT_TRUE(send_bytes(self->from, 1));
	EXPECT_EQ(0, next_key(r, SCM_TSTAMP_SND, &since));
	/* the error is also told by the next send, and stays in the queue */
	EXPECT_EQ(-1, send(self->from, "x", 1, 0));
	EXPECT_EQ(ECONNREFUSED, errno);
	ASSERT_TRUE(send_bytes(self->from, 1));
	EXPECT_EQ(1, next_key(r, SCM_TSTAMP_SND, &since));
	EXPECT_FALSE(came(r));
	EXPECT_EQ(2, take_errors(self->from, SO_EE_ORIGIN_ICMP));
	EXPECT_EQ(-ECANCELED, end_by_cancel(r));
}

/* Notifications of MSG_ZEROCOPY stay in the queue.  Mutant: timestamps-take-errors. */
TEST_F(timestamps, leaves_notifications)
{
	struct iou *r = &self->r;
	struct timespec since;
	int one = 1;

	clock_gettime(CLOCK_REALTIME, &since);
	ASSERT_EQ(0, setsockopt(self->from, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)));
	ASSERT_TRUE(take_stamps(self->from, STAMPS | SOF_TIMESTAMPING_RAW_HARDWARE));
	prep_stamps(r, self->from, variant->sqe_flags);
	ASSERT_EQ(1, iou_submit(r));
	EXPECT_FALSE(came(r));
	ASSERT_EQ(1, send(self->from, "x", 1, MSG_ZEROCOPY));
	EXPECT_EQ(0, next_key(r, SCM_TSTAMP_SND, &since));
	EXPECT_FALSE(came(r));
	EXPECT_EQ(1, take_errors(self->from, SO_EE_ORIGIN_ZEROCOPY));
	EXPECT_EQ(-ECANCELED, end_by_cancel(r));
}

/*
 * Entries with data stay in the queue: it does not fit a CQE.  So do timestamps that the socket
 * does not report, until it does.  Mutants: timestamps-take-data, timestamps-take-unreported.
 */
TEST_F(timestamps, leaves_data)
{
	struct iou *r = &self->r;
	struct timespec since;

	clock_gettime(CLOCK_REALTIME, &since);
	ASSERT_TRUE(take_stamps(self->from, STAMPS & ~SOF_TIMESTAMPING_OPT_TSONLY));
	prep_stamps(r, self->from, variant->sqe_flags);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_TRUE(send_bytes(self->from, 2));
	EXPECT_FALSE(came(r));
	ASSERT_TRUE(take_stamps(self->from, STAMPS));
	ASSERT_TRUE(send_bytes(self->from, 1));
	EXPECT_EQ(2, next_key(r, SCM_TSTAMP_SND, &since));
	EXPECT_EQ(2, take_errors(self->from, SO_EE_ORIGIN_TIMESTAMPING));
	ASSERT_TRUE(take_stamps(self->from, STAMPS & ~SOF_TIMESTAMPING_SOFTWARE));
	ASSERT_TRUE(send_bytes(self->from, 1));
	EXPECT_FALSE(came(r));
	ASSERT_TRUE(take_stamps(self->from, STAMPS));
	ASSERT_TRUE(send_bytes(self->from, 1));
	EXPECT_EQ(3, next_key(r, SCM_TSTAMP_SND, &since));
	EXPECT_EQ(4, next_key(r, SCM_TSTAMP_SND, &since));
	EXPECT_EQ(-ECANCELED, end_by_cancel(r));
}

/* Mutant: timestamps-not-cancelled. */
TEST_F(timestamps, cancelled)
{
	/* a worker has to begin the command's wait before */
	struct __kernel_timespec ts = { .tv_nsec = 200000000 };
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;

	prep_stamps(r, self->from, f);
	ASSERT_EQ(1, iou_submit(r));
	EXPECT_FALSE(came(r));
	EXPECT_EQ(-ECANCELED, end_by_cancel(r));
	if (variant->flags & IORING_SETUP_IOPOLL)
		return;
	/* by its file */
	prep_stamps(r, self->from, f);
	ASSERT_EQ(1, iou_submit(r));
	EXPECT_FALSE(came(r));
	sqe = prep_cancel(r);
	sqe->addr = 0;
	sqe->fd = self->from;
	sqe->cancel_flags = IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_ALL;
	EXPECT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(OTHER, cqe.user_data);
	EXPECT_EQ(1, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(-ECANCELED, cqe.res);
	/* by a linked timeout */
	prep_stamps(r, self->from, f | IOSQE_IO_LINK);
	iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = OTHER;
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(0, iou_wait(r, 2));
	EXPECT_EQ(OTHER, iou_cqe_at(r, 0)->user_data);
	EXPECT_EQ(-ETIME, iou_cqe_at(r, 0)->res);
	EXPECT_EQ(DATA, iou_cqe_at(r, 1)->user_data);
	EXPECT_EQ(-ECANCELED, iou_cqe_at(r, 1)->res);
	iou_seen(r, 2);
}

/*
 * More timestamps than the command takes from the queue at once, and than it reports before others
 * have their turn.  Mutant: timestamps-forget-rest.
 */
TEST_F(timestamps, many)
{
	struct timespec since;
	struct iou large;
	unsigned int i;

	clock_gettime(CLOCK_REALTIME, &since);
	ASSERT_EQ(0, iou_init_cq(&large, 2, 2048, variant->flags));
	ASSERT_EQ(0, setsockopt(self->from, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ 1 << 22 }, 4));
	ASSERT_TRUE(send_bytes(self->from, 600));
	prep_stamps(&large, self->from, variant->sqe_flags);
	ASSERT_EQ(1, iou_submit(&large));
	for (i = 0; i < 600; i++)
		ASSERT_EQ((int)i, next_key(&large, SCM_TSTAMP_SND, &since));
	EXPECT_EQ(-ECANCELED, end_by_cancel(&large));
	iou_exit(&large);
}

/*
 * With a full CQ the command ends, and no timestamp is lost.  Mutants: timestamps-lost,
 * mixed-more-overflows.
 */
TEST_F(timestamps, no_room)
{
	unsigned int keys = 0, rounds = 0;
	struct timespec since;
	struct iou r;

	clock_gettime(CLOCK_REALTIME, &since);
	ASSERT_EQ(0, iou_init(&r, 2, variant->flags));
	ASSERT_TRUE(send_bytes(self->from, 10));
	while (keys < 10 && rounds++ < 10) {
		struct io_uring_cqe cqe;
		bool ends = false;

		prep_stamps(&r, self->from, variant->sqe_flags);
		ASSERT_EQ(1, iou_submit(&r));
		ASSERT_EQ(0, iou_wait(&r, 1));
		while (!ends && keys < 10) {
			ASSERT_EQ(0, iou_reap(&r, &cqe));
			if (cqe.flags & IORING_CQE_F_MORE) {
				EXPECT_EQ((int)keys, cqe.res);
				keys++;
			} else {
				EXPECT_EQ(0, cqe.flags);
				EXPECT_EQ(-ENOBUFS, cqe.res);
				ends = true;
			}
		}
	}
	EXPECT_EQ(10, keys);
	EXPECT_LT(1, rounds);
	EXPECT_EQ(0, take_errors(self->from, SO_EE_ORIGIN_TIMESTAMPING));
	iou_exit(&r);
}

/* A ring, a task and a descriptor go while a command waits.  Two commands share the timestamps. */
TEST_F(timestamps, ends)
{
	unsigned int i, f = variant->sqe_flags;
	struct iou *r = &self->r, other;
	struct timespec since;
	int status, more;
	pid_t child;

	clock_gettime(CLOCK_REALTIME, &since);
	ASSERT_EQ(0, iou_init(&other, 4, variant->flags));
	prep_stamps(&other, self->from, f);
	ASSERT_EQ(1, iou_submit(&other));
	EXPECT_FALSE(came(&other));
	iou_exit(&other);
	child = fork();
	if (!child) {
		_exit(iou_init(&other, 4, variant->flags) || !prep_stamps(&other, self->from, f) ||
		      iou_submit(&other) != 1);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	/* the command keeps its socket */
	more = dup(self->from);
	for (i = 0; i < 2; i++)
		prep_stamps(r, self->from, f);
	ASSERT_EQ(2, iou_submit(r));
	EXPECT_FALSE(came(r));
	close(self->from);
	ASSERT_TRUE(send_bytes(more, 3));
	for (i = 0; i < 3; i++)
		EXPECT_EQ((int)i, next_key(r, SCM_TSTAMP_SND, &since));
	EXPECT_FALSE(came(r));
	close(more);
	self->from = -1;
}

/* Fields that the command does not read may have any value. */
TEST_F(timestamps, fields)
{
	struct io_uring_sqe *sqe;
	struct iou *r = &self->r, small;
	struct timespec since;

	clock_gettime(CLOCK_REALTIME, &since);
	ASSERT_EQ(0, iou_init(&small, 4, variant->flags & ~(IORING_SETUP_CQE32 |
							     IORING_SETUP_CQE_MIXED)));
	prep_stamps(&small, self->from, variant->sqe_flags);
	EXPECT_EQ(-EINVAL, iou_one(&small));
	iou_exit(&small);
	prep_stamps(r, self->from, variant->sqe_flags)->ioprio = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_stamps(r, self->from, variant->sqe_flags)->uring_cmd_flags = 4;
	EXPECT_EQ(-EINVAL, iou_one(r));
	sqe = prep_stamps(r, self->from, variant->sqe_flags);
	sqe->addr = 1;
	sqe->len = 1;
	sqe->addr3 = 1;
	sqe->optlen = 1;
	sqe->buf_index = 1;
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_TRUE(send_bytes(self->from, 1));
	EXPECT_EQ(0, next_key(r, SCM_TSTAMP_SND, &since));
}

TEST_HARNESS_MAIN
