// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: a request's file stays open for as long as the request needs it */

/*
 * A request that finishes at once borrows the file of its descriptor, as sendto(2) does.  Any other
 * request must hold a reference, because the next SQE, the program or another thread may close the
 * descriptor.  If the reference is missing, the other end of the connection shows this, and KASAN
 * reports it.
 */
#include <pthread.h>
#include "sock.h"

#define LEN	4096

enum what {
	RECV,
	RECV_FIRST,	/* IORING_RECVSEND_POLL_FIRST */
	RECVMSG,
	SEND,
	SENDMSG,
	ACCEPT,
	ACCEPT_MANY,
	NR_WHATS,
};

/* How the program closes the descriptor. */
enum how {
	CLOSE,
	CLOSE_IN_BATCH,
	DUP_OVER,
	NR_HOWS,
};

/* A request on @fd.  The event that it waits for comes from @peer, or from a client of @addr. */
struct wait {
	enum what		what;
	int			fd;
	int			peer;
	struct sockaddr_in	addr;
	struct msghdr		msg;
	struct iovec		iov;
	char			data[LEN];
};

FIXTURE(borrow) {
	struct iou r;
	pthread_t thread;
	int other[2];
	int stop;
};

FIXTURE_VARIANT(borrow) {
	unsigned int flags;
	unsigned int sqe_flags;
	bool thread;
};

IOU_KINDS_OF_TASK(borrow);
IOU_KINDS_ASYNC(borrow);
FIXTURE_VARIANT_ADD(borrow, plain_thread) { .thread = true };
FIXTURE_VARIANT_ADD(borrow, defer_thread) { .flags = IOU_DEFER, .thread = true };

/* A second thread, so that the table of descriptors is shared. */
static void *idle_thread(void *arg)
{
	int *stop = arg;

	while (!load_acq(stop))
		iou_sleep_ms(1);
	return NULL;
}

FIXTURE_SETUP(borrow)
{
	signal(SIGPIPE, SIG_IGN);
	self->stop = 0;
	ASSERT_EQ(0, iou_init(&self->r, 16, variant->flags));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->other));
	if (variant->thread)
		ASSERT_EQ(0, pthread_create(&self->thread, NULL, idle_thread, &self->stop));
}

FIXTURE_TEARDOWN(borrow)
{
	store_rel(&self->stop, 1);
	if (variant->thread)
		pthread_join(self->thread, NULL);
	sock_close_pair(self->other);
	iou_exit(&self->r);
}

static bool what_accepts(enum what what)
{
	return what == ACCEPT || what == ACCEPT_MANY;
}

static bool what_sends(enum what what)
{
	return what == SEND || what == SENDMSG;
}

/* Open a file for which @what waits: no data to receive, no room to send, or no client. */
static int wait_open(struct wait *w, enum what what)
{
	int fds[2];

	memset(w, 0, sizeof(*w));
	w->what = what;
	w->peer = -1;
	w->iov = (struct iovec){ w->data, LEN };
	w->msg = (struct msghdr){ .msg_iov = &w->iov, .msg_iovlen = 1 };
	if (what_accepts(what)) {
		w->fd = sock_listener(&w->addr, 4);
		return w->fd < 0 ? w->fd : 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return -errno;
	w->fd = fds[0];
	w->peer = fds[1];
	while (what_sends(what) && send(w->fd, w->data, LEN, MSG_DONTWAIT) > 0)
		;
	return 0;
}

static void wait_prep(struct iou *r, struct wait *w, unsigned int sqe_flags)
{
	static const unsigned char ops[NR_WHATS] = {
		IORING_OP_RECV, IORING_OP_RECV, IORING_OP_RECVMSG, IORING_OP_SEND,
		IORING_OP_SENDMSG, IORING_OP_ACCEPT, IORING_OP_ACCEPT,
	};
	struct io_uring_sqe *sqe = iou_prep(r, ops[w->what], w->fd, w->data, LEN, 0);

	sqe->flags = sqe_flags;
	sqe->user_data = 1;
	if (w->what == RECV_FIRST)
		sqe->ioprio = IORING_RECVSEND_POLL_FIRST;
	if (w->what == RECVMSG || w->what == SENDMSG) {
		sqe->addr = (uintptr_t)&w->msg;
		sqe->len = 1;
	}
	if (what_accepts(w->what)) {
		sqe->addr = 0;
		sqe->len = 0;
		sqe->ioprio = w->what == ACCEPT_MANY ? IORING_ACCEPT_MULTISHOT : 0;
	}
}

/* Put another file in the place of the request's file. */
static int wait_dup_over(struct wait *w, int other)
{
	return dup2(other, w->fd) == w->fd ? 0 : -errno;
}

/* Cause the event that the request waits for.  Return: 0, or a negative errno of the other end. */
static int wait_wake(struct iou *r, struct wait *w)
{
	static char drain[1 << 20];
	size_t have = 0;

	if (what_accepts(w->what)) {
		w->peer = sock_connected(&w->addr);
		return w->peer < 0 ? w->peer : 0;
	}
	if (what_sends(w->what)) {
		sock_read_until_cqe(r, w->peer, drain, sizeof(drain), &have);
		/* read the rest, so that the next read returns the end */
		while (recv(w->peer, drain, sizeof(drain), MSG_DONTWAIT) > 0)
			;
		return have ? 0 : -EIO;
	}
	return send(w->peer, "data", 4, MSG_NOSIGNAL) == 4 ? 0 : -errno;
}

/* Return: true if the request had the expected result.  Close the descriptor of an accept. */
static bool wait_is_right(const struct wait *w, int res)
{
	if (!what_accepts(w->what))
		return what_sends(w->what) ? res == LEN : res == 4 && !memcmp(w->data, "data", 4);
	return res >= 0 && !close(res);
}

/*
 * Return: true if @addr refuses connections within IOU_PATIENCE.  A closed listener takes
 * connections until task work or a worker releases it.
 */
static bool is_refused(const struct sockaddr_in *addr)
{
	for (int ms = 0; ms < IOU_PATIENCE; ms++) {
		int fd = sock_connected(addr);

		if (fd == -ECONNREFUSED)
			return true;
		if (fd >= 0)
			close(fd);
		iou_sleep_ms(1);
	}
	return false;
}

/* Return: true if the file was released, after the descriptor was closed and the request ended. */
static bool wait_is_gone(const struct wait *w)
{
	char byte;

	if (what_accepts(w->what))
		return is_refused(&w->addr);
	return sock_readable(w->peer) && !recv(w->peer, &byte, 1, 0);
}

/* Submit what was prepared and get rid of the descriptor.  Return: 0 or a negative errno. */
static int submit_and_drop(struct iou *r, struct wait *w, enum how how, int other)
{
	struct io_uring_cqe cqe;
	int ret;

	if (how == CLOSE_IN_BATCH) {
		iou_prep(r, IORING_OP_CLOSE, w->fd, NULL, 0, 0)->user_data = 2;
		ret = iou_submit(r);
		if (ret < 0)
			return ret;
		ret = iou_reap(r, &cqe);
		return ret ?: cqe.user_data == 2 ? cqe.res : -EBADMSG;
	}
	ret = iou_submit_issued(r);
	if (ret)
		return ret;
	if (how == DUP_OVER)
		return wait_dup_over(w, other);
	return close(w->fd) ? -errno : 0;
}

/* Cancel a multishot request, and close the client and the descriptor that dup2() has replaced. */
static int wait_end(struct iou *r, struct wait *w, enum how how)
{
	struct io_uring_cqe cqe;
	int ret = 0;

	if (w->what == ACCEPT_MANY) {
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 3;
		ret = iou_submit(r) < 0 ? -EIO : iou_reap(r, &cqe);
		if (!ret)
			ret = iou_reap(r, &cqe);
	}
	if (w->peer >= 0 && what_accepts(w->what))
		close(w->peer);
	if (how == DUP_OVER)
		close(w->fd);
	return ret;
}

TEST_F(borrow, waits)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct wait w;

	for (int i = 0; i < NR_WHATS * NR_HOWS; i++) {
		enum how how = i % NR_HOWS;

		ASSERT_EQ(0, wait_open(&w, i / NR_HOWS));
		wait_prep(r, &w, variant->sqe_flags);
		ASSERT_EQ(0, submit_and_drop(r, &w, how, self->other[0]));
		EXPECT_EQ(0, wait_wake(r, &w)) TH_LOG("what %u, how %u", w.what, how);
		ASSERT_EQ(0, iou_reap(r, &cqe)) TH_LOG("what %u, how %u", w.what, how);
		EXPECT_EQ(1, cqe.user_data);
		EXPECT_TRUE(wait_is_right(&w, cqe.res)) TH_LOG("what %u, how %u: %d", w.what, how,
							       cqe.res);
		ASSERT_EQ(0, wait_end(r, &w, how));
		EXPECT_TRUE(wait_is_gone(&w)) TH_LOG("what %u, how %u", w.what, how);
		if (!what_accepts(w.what))
			close(w.peer);
	}
}

/* A request with a linked timeout, which is issued before the request waits, holds its file. */
TEST_F(borrow, waits_limited)
{
	struct __kernel_timespec ts = { .tv_sec = 100 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct wait w;

	for (int i = 0; i < NR_WHATS * NR_HOWS; i++) {
		enum how how = i % NR_HOWS;

		if (i / NR_HOWS == ACCEPT_MANY)
			continue;
		ASSERT_EQ(0, wait_open(&w, i / NR_HOWS));
		wait_prep(r, &w, variant->sqe_flags | IOSQE_IO_LINK);
		iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 4;
		ASSERT_EQ(0, submit_and_drop(r, &w, how, self->other[0]));
		EXPECT_EQ(0, wait_wake(r, &w));
		for (int j = 0; j < 2; j++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			if (cqe.user_data == 4) {
				EXPECT_EQ(-ECANCELED, cqe.res);
			} else {
				EXPECT_TRUE(wait_is_right(&w, cqe.res));
			}
		}
		ASSERT_EQ(0, wait_end(r, &w, how));
		EXPECT_TRUE(wait_is_gone(&w));
		if (!what_accepts(w.what))
			close(w.peer);
	}
}

/* A request that its linked timeout cancels releases its file. */
TEST_F(borrow, gives_up)
{
	struct __kernel_timespec ts = { .tv_nsec = 1000000 };
	struct iou *r = &self->r;
	struct wait w;

	for (int what = 0; what < ACCEPT_MANY; what++) {
		if (what_sends(what))
			continue;
		ASSERT_EQ(0, wait_open(&w, what));
		wait_prep(r, &w, variant->sqe_flags | IOSQE_IO_LINK);
		iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
		iou_prep(r, IORING_OP_CLOSE, w.fd, NULL, 0, 0);
		ASSERT_EQ(3, iou_submit(r));
		/* the cancelled request or its timeout reports an error */
		EXPECT_GT(0, iou_discard(r, 3));
		EXPECT_TRUE(wait_is_gone(&w)) TH_LOG("what %u", what);
		close(w.peer);
	}
}

/* A request that finishes at once is followed by a linked SQE that closes its file. */
TEST_F(borrow, closed_behind)
{
	unsigned long rounds = iou_rounds(64);
	struct iou *r = &self->r;
	char data[16] = "";

	while (rounds--) {
		int fds[2];

		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
		ASSERT_EQ(4, send(fds[1], "ping", 4, 0));
		iou_prep(r, IORING_OP_RECV, fds[0], data, 4, 0)->flags =
			variant->sqe_flags | IOSQE_IO_LINK;
		iou_prep(r, IORING_OP_SEND, fds[0], "pong", 4, 0)->flags =
			variant->sqe_flags | IOSQE_IO_LINK;
		iou_prep(r, IORING_OP_CLOSE, fds[0], NULL, 0, 0);
		ASSERT_EQ(3, iou_submit(r));
		ASSERT_EQ(0, iou_discard(r, 3));
		EXPECT_EQ(0, memcmp(data, "ping", 4));
		EXPECT_EQ(4, recv(fds[1], data, 4, MSG_WAITALL));
		EXPECT_EQ(0, memcmp(data, "pong", 4));
		ASSERT_TRUE(sock_readable(fds[1]));
		EXPECT_EQ(0, recv(fds[1], data, 4, 0));
		close(fds[1]);
	}
}

/* An SQE closes the file of the previous SQE.  Without links, both of them take the fast path. */
TEST_F(borrow, closed_in_batch)
{
	unsigned long rounds = iou_rounds(64);
	struct iou *r = &self->r;
	char data[16];

	while (rounds--) {
		struct sockaddr_in addr;
		struct io_uring_cqe cqe;
		int fds[2], listener;

		listener = sock_listener(&addr, 1);
		ASSERT_LE(0, listener);
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
		fds[1] = sock_connected(&addr);
		ASSERT_LE(0, fds[1]);
		iou_prep(r, IORING_OP_ACCEPT, listener, NULL, 0, 0)->user_data = 1;
		iou_prep(r, IORING_OP_CLOSE, listener, NULL, 0, 0);
		iou_prep(r, IORING_OP_SEND, fds[0], "data", 4, 0);
		iou_prep(r, IORING_OP_CLOSE, fds[0], NULL, 0, 0);
		ASSERT_EQ(4, iou_submit(r));
		for (int i = 0; i < 4; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_LE(0, cqe.res);
			if (cqe.user_data == 1) {
				EXPECT_EQ(4, send(cqe.res, "more", 4, 0));
				close(cqe.res);
			}
		}
		EXPECT_EQ(4, recv(fds[1], data, 4, MSG_WAITALL));
		EXPECT_TRUE(is_refused(&addr));
		close(fds[1]);
	}
}

/* A descriptor that a thread replaces until @stop is set. */
struct race {
	int	fd;
	int	stop;
};

/* Replace the file of the descriptor again and again, while the test uses it. */
static void *dup_thread(void *arg)
{
	struct race *race = arg;

	while (!load_acq(&race->stop)) {
		int fds[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
			continue;
		dup2(fds[0], race->fd);
		sock_close_pair(fds);
	}
	return NULL;
}

TEST_F(borrow, closed_by_thread)
{
	unsigned long long end = iou_now_us() + (getenv("IOU_SOAK") ? 20000000 : 300000);
	struct race race = { .fd = dup(self->other[0]) };
	struct iou *r = &self->r;
	char data[16];
	pthread_t thread;
	int ret;

	ASSERT_LE(0, race.fd);
	ASSERT_EQ(0, pthread_create(&thread, NULL, dup_thread, &race));
	do {
		/* the result depends on the state of the other end, but each request has a CQE */
		for (int i = 0; i < 8; i++) {
			int op = i & 1 ? IORING_OP_RECV : IORING_OP_SEND;
			struct io_uring_sqe *sqe = iou_prep(r, op, race.fd, data, 8, 0);

			sqe->msg_flags = MSG_DONTWAIT;
			sqe->flags = variant->sqe_flags;
		}
		ASSERT_EQ(8, iou_submit(r));
		ret = iou_discard(r, 8);
		ASSERT_TRUE(!ret || ret == -EAGAIN || ret == -EPIPE || ret == -ECONNRESET)
			TH_LOG("%d", ret);
	} while (iou_now_us() < end);
	store_rel(&race.stop, 1);
	pthread_join(thread, NULL);
	close(race.fd);
}

TEST_HARNESS_MAIN
