// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: multishot ACCEPT - a CQE for each connection */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "sock.h"

#define SLOTS	4
#define BURST	32
#define MANY	200

FIXTURE(acceptmulti) {
	struct iou r;
	struct sockaddr_in addr;
	int listener;
};

FIXTURE_VARIANT(acceptmulti) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(acceptmulti);
IOU_KIND(acceptmulti, defer_large, IOU_DEFER | IOU_LARGE);
FIXTURE_VARIANT_ADD(acceptmulti, defer_async) {
	.flags = IOU_DEFER,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(acceptmulti, plain_async) {
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_SETUP(acceptmulti)
{
	self->listener = sock_listener(&self->addr, 64);
	ASSERT_LE(0, self->listener);
	ASSERT_EQ(0, iou_init(&self->r, 32, variant->flags));
}

FIXTURE_TEARDOWN(acceptmulti)
{
	iou_exit(&self->r);
	close(self->listener);
}

static struct io_uring_sqe *prep_many(struct iou *r, unsigned int sqe_flags, int fd,
				      unsigned int how, unsigned int file_index)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_ACCEPT, fd, NULL, 0, 0);

	sqe->flags = sqe_flags;
	sqe->ioprio = IORING_ACCEPT_MULTISHOT | how;
	sqe->file_index = file_index;
	return sqe;
}

/*
 * A full CQ ends the request.  Its last CQE has a descriptor, so IOSQE_CQE_SKIP_SUCCESS does not
 * hide it.  Mutant: last-result-skipped.  differences: multishot-skip-last
 */
TEST_F(acceptmulti, last_descriptor_is_told)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;
	int fd;

	for (i = 0; i < r->p.cq_entries; i++) {
		iou_nop(r, 1);
		ASSERT_LE(0, iou_submit(r));
	}
	ASSERT_EQ(0, iou_wait(r, r->p.cq_entries));
	fd = sock_connected(&self->addr);
	ASSERT_LE(0, fd);
	prep_many(r, IOSQE_CQE_SKIP_SUCCESS, self->listener, 0, 0)->user_data = 2;
	ASSERT_LE(0, iou_submit(r));
	iou_sleep_ms(variant->flags & IORING_SETUP_SQPOLL ? 100 : 0);
	for (i = 0; i < r->p.cq_entries; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(1, cqe.user_data);
	}
	if (!iou_on_stock()) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(2, cqe.user_data);
		EXPECT_LE(0, cqe.res);
		EXPECT_EQ(0, cqe.flags & IORING_CQE_F_MORE);
		close(cqe.res);
	}
	close(fd);
}

/* Return: true if @a and @b are the two ends of one connection. */
static bool talk(int a, int b)
{
	char c = 0;

	return write(a, "x", 1) == 1 && sock_readable(b) && read(b, &c, 1) == 1 && c == 'x';
}

/* Return: the number of the next descriptor that this process opens. */
static int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static int cancel(struct iou *r, unsigned long long data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0);

	sqe->addr = data;
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	return iou_submit(r);
}

/* Accept the connections that wait, in their order, and then each new one, until a cancel. */
TEST_F(acceptmulti, each)
{
	unsigned int f = variant->sqe_flags, i, how, more;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int peers[8], first;

	for (how = 0; how <= IORING_ACCEPT_POLL_FIRST; how += IORING_ACCEPT_POLL_FIRST) {
		first = next_fd();
		/* a multishot accept waits even if the listener is O_NONBLOCK */
		ASSERT_EQ(0, fcntl(self->listener, F_SETFL, how ? O_NONBLOCK : 0));
		for (i = 0; i < 4; i++)
			peers[i] = sock_connected(&self->addr);
		prep_many(r, f, self->listener, how, 0)->user_data = 7;
		ASSERT_EQ(1, iou_submit(r));
		for (i = 0; i < 8; i++) {
			if (i >= 4)
				peers[i] = sock_connected(&self->addr);
			ASSERT_LE(0, peers[i]);
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_LE(0, cqe.res);
			more = i < 3 ? IORING_CQE_F_SOCK_NONEMPTY : 0;
			EXPECT_EQ(IORING_CQE_F_MORE | more, cqe.flags);
			EXPECT_TRUE(talk(peers[i], cqe.res));
			close(cqe.res);
		}
		ASSERT_LE(0, cancel(r, 7));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_TRUE(cqe.res == -ECANCELED || cqe.res == -EINTR);
		EXPECT_EQ(0, cqe.flags);
		EXPECT_EQ(0, iou_ready(r));
		for (i = 0; i < 8; i++)
			close(peers[i]);
		EXPECT_EQ(first, next_fd());
	}
}

TEST_F(acceptmulti, does_not_wait)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int peer;

	prep_many(r, f, self->listener, IORING_ACCEPT_DONTWAIT, 0);
	EXPECT_EQ(-EAGAIN, iou_one(r));
	/* a request of a worker accepts at most one connection */
	if (f)
		return;
	peer = sock_connected(&self->addr);
	prep_many(r, f, self->listener, IORING_ACCEPT_DONTWAIT, 0);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	ASSERT_LE(0, cqe.res);
	EXPECT_EQ(IORING_CQE_F_MORE, cqe.flags);
	close(cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(-EAGAIN, cqe.res);
	EXPECT_EQ(0, cqe.flags);
	close(peer);
}

/*
 * The kernel refuses a socket that does not listen, one slot for all connections, unknown flags and
 * reserved fields.
 */
TEST_F(acceptmulti, refused)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct io_uring_sqe *sqe;

	prep_many(r, f, fd, 0, 0);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_many(r, 0, r->fd, 0, 0);
	EXPECT_EQ(-ENOTSOCK, iou_one(r));
	prep_many(r, f, self->listener, 0, 1);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_many(r, f, self->listener, 8, 0);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_many(r, f, self->listener, 0, 0)->len = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	sqe = prep_many(r, f, self->listener, 0, IORING_FILE_INDEX_ALLOC);
	sqe->accept_flags = SOCK_CLOEXEC;
	EXPECT_EQ(-EINVAL, iou_one(r));
	close(fd);
}

/* Accept into slots until all are used; a connection for which no slot is left is closed. */
TEST_F(acceptmulti, slots)
{
	int fds[SLOTS] = { -1, -1, -1, -1 }, peers[SLOTS + 2], i;
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	char c;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, fds, SLOTS));
	prep_many(r, f, self->listener, 0, IORING_FILE_INDEX_ALLOC);
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < SLOTS + 1; i++) {
		peers[i] = sock_connected(&self->addr);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i < SLOTS ? i : -ENFILE, cqe.res);
		EXPECT_EQ(i < SLOTS ? IORING_CQE_F_MORE : 0, cqe.flags);
		if (i == SLOTS)
			break;
		iou_prep(r, IORING_OP_WRITE, i, "z", 1, 0)->flags = IOSQE_FIXED_FILE;
		EXPECT_EQ(1, iou_one(r));
		EXPECT_EQ(1, read(peers[i], &c, 1));
	}
	EXPECT_GE(0, read(peers[SLOTS], &c, 1));
	/* the listener still listens */
	peers[i + 1] = sock_connected(&self->addr);
	EXPECT_LE(0, peers[i + 1]);
	for (i = 0; i < SLOTS + 2; i++)
		close(peers[i]);
}

/* An error ends the request with the last CQE; the connection waits for the next accept. */
TEST_F(acceptmulti, without_descriptors)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct rlimit old, low;
	int peers[2];

	peers[0] = sock_connected(&self->addr);
	peers[1] = sock_connected(&self->addr);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	low = old;
	low.rlim_cur = next_fd() + 1;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &low));
	prep_many(r, f, self->listener, 0, 0);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(IORING_CQE_F_MORE | IORING_CQE_F_SOCK_NONEMPTY, cqe.flags);
	EXPECT_TRUE(talk(peers[0], cqe.res));
	close(peers[0]);
	peers[0] = cqe.res;
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(0, cqe.flags);
	EXPECT_EQ(-EMFILE, cqe.res);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	close(peers[0]);
	prep_many(r, f, self->listener, 0, 0);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	ASSERT_LE(0, cqe.res);
	EXPECT_TRUE(talk(peers[1], cqe.res));
	close(peers[1]);
	close(cqe.res);
}

/*
 * If the CQE of a connection does not fit into the CQ, it is the last CQE of the request, and the
 * connection is not lost.  Mutant: accept-multishot-loses.
 */
TEST_F(acceptmulti, overflow)
{
	unsigned int f = variant->sqe_flags, seen = 0, last = 0;
	struct io_uring_cqe cqe;
	int peers[12], i, first;
	struct iou r;

	ASSERT_EQ(0, iou_init_cq(&r, 4, 4, variant->flags));
	first = next_fd();
	for (i = 0; i < 12; i++)
		peers[i] = sock_connected(&self->addr);
	while (seen < 12) {
		prep_many(&r, f, self->listener, 0, 0);
		ASSERT_EQ(1, iou_submit(&r));
		do {
			ASSERT_EQ(0, iou_wait(&r, 1));
			/* wait for the CQEs that fit, and for the CQE that does not */
			iou_wait_ms(&r, 4, 50);
			ASSERT_EQ(0, iou_reap(&r, &cqe));
			ASSERT_LE(0, cqe.res);
			EXPECT_TRUE(talk(peers[seen], cqe.res));
			close(cqe.res);
			seen++;
		} while (cqe.flags & IORING_CQE_F_MORE && seen < 12);
		last += !(cqe.flags & IORING_CQE_F_MORE);
	}
	EXPECT_LE(1, last);
	EXPECT_EQ(0, *r.cq_lost);
	for (i = 0; i < 12; i++)
		close(peers[i]);
	iou_exit(&r);
	EXPECT_GE(first, next_fd());
}

/* An AF_UNIX socket does not report whether more connections wait. */
TEST_F(acceptmulti, unix_socket)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "\0iou-acceptmulti" };
	unsigned int f = variant->sqe_flags;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), peers[4], i;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, bind(fd, (void *)&addr, sizeof(addr)));
	ASSERT_EQ(0, listen(fd, 8));
	for (i = 0; i < 4; i++) {
		peers[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		if (i < 2)
			ASSERT_EQ(0, connect(peers[i], (void *)&addr, sizeof(addr)));
	}
	prep_many(r, f, fd, 0, 0);
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < 4; i++) {
		if (i >= 2)
			ASSERT_EQ(0, connect(peers[i], (void *)&addr, sizeof(addr)));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_LE(0, cqe.res);
		EXPECT_EQ(IORING_CQE_F_MORE, cqe.flags & ~IORING_CQE_F_SOCK_NONEMPTY);
		EXPECT_TRUE(talk(peers[i], cqe.res));
		close(cqe.res);
		close(peers[i]);
	}
	EXPECT_EQ(0, iou_ready(r));
	close(fd);
}

/* Two rings accept on one listener: each connection has one CQE, on one of the rings. */
TEST_F(acceptmulti, two_rings)
{
	unsigned int f = variant->sqe_flags, i, k, seen = 0;
	struct iou *rings[2], other;
	struct io_uring_cqe cqe;
	int peers[16];

	ASSERT_EQ(0, iou_init(&other, 32, variant->flags));
	rings[0] = &self->r;
	rings[1] = &other;
	for (k = 0; k < 2; k++) {
		prep_many(rings[k], f, self->listener, 0, 0);
		ASSERT_EQ(1, iou_submit(rings[k]));
	}
	for (i = 0; i < 16; i++)
		peers[i] = sock_connected(&self->addr);
	for (i = 0; i < 2000 && seen < 16; i++) {
		for (k = 0; k < 2; k++) {
			iou_wait_ms(rings[k], 1, 5);
			if (!iou_ready(rings[k]))
				continue;
			ASSERT_EQ(0, iou_reap(rings[k], &cqe));
			ASSERT_LE(0, cqe.res);
			EXPECT_TRUE(cqe.flags & IORING_CQE_F_MORE);
			close(cqe.res);
			seen++;
		}
	}
	EXPECT_EQ(16, seen);
	EXPECT_EQ(0, iou_ready(rings[0]) + iou_ready(rings[1]));
	for (i = 0; i < 16; i++)
		close(peers[i]);
	iou_exit(&other);
}

struct dialler {
	struct sockaddr_in addr;
	unsigned int nr;
	bool failed;
};

/* Connect again and again, and wait each time until the peer closes the connection. */
static void *dial(void *arg)
{
	struct dialler *d = arg;
	unsigned int i;
	char c;

	for (i = 0; i < d->nr; i++) {
		int fd = sock_connected(&d->addr);

		if (fd < 0 || read(fd, &c, 1) != 0)
			d->failed = true;
		close(fd);
	}
	return NULL;
}

/* Many clients come and go while the CQ is small: no connection is lost, no descriptor is left. */
TEST_F(acceptmulti, storm)
{
	unsigned int nr = iou_rounds(getenv("IOU_SOAK") ? 1000 : 400), seen = 0, i;
	struct dialler d[4];
	struct io_uring_cqe cqe;
	pthread_t threads[4];
	struct iou r;
	int first;

	ASSERT_EQ(0, iou_init_cq(&r, 4, 8, variant->flags));
	first = next_fd();
	for (i = 0; i < 4; i++) {
		d[i] = (struct dialler){ self->addr, nr / 4 };
		ASSERT_EQ(0, pthread_create(threads + i, NULL, dial, d + i));
	}
	nr = nr / 4 * 4;
	prep_many(&r, variant->sqe_flags, self->listener, 0, 0);
	ASSERT_EQ(1, iou_submit(&r));
	while (seen < nr) {
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		ASSERT_LE(0, cqe.res);
		close(cqe.res);
		seen++;
		if (cqe.flags & IORING_CQE_F_MORE || seen == nr)
			continue;
		prep_many(&r, variant->sqe_flags, self->listener, 0, 0);
		ASSERT_EQ(1, iou_submit(&r));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_FALSE(d[i].failed);
	}
	iou_wait_ms(&r, 1, 20);
	EXPECT_EQ(0, iou_ready(&r));
	iou_exit(&r);
	EXPECT_GE(first, next_fd());
}

/* Connect @nr sockets, and store their ports in @ports. */
static bool connect_all(const struct sockaddr_in *addr, int *peers, unsigned short *ports,
			unsigned int nr)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);

	while (nr--) {
		peers[nr] = sock_connected(addr);
		if (peers[nr] < 0 || getsockname(peers[nr], (void *)&name, &len))
			return false;
		ports[nr] = name.sin_port;
	}
	return true;
}

/* Clear the port of the peer of @fd in @ports.  Return: false if it is not there. */
static bool strike_out(int fd, unsigned short *ports, unsigned int nr)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);

	if (getpeername(fd, (void *)&name, &len))
		return false;
	while (nr--) {
		if (ports[nr] == name.sin_port) {
			ports[nr] = 0;
			return true;
		}
	}
	return false;
}

/*
 * First bursts of connections are larger than the CQ, then they fit.  Each connection has one CQE.
 * Only a CQE that does not fit ends the request.
 */
TEST_F(acceptmulti, bursts)
{
	static const unsigned int sizes[] = { 8, 256 };
	unsigned long long end = iou_race_end();
	unsigned int k, nr, left, seen, ended;
	unsigned short ports[BURST];
	struct io_uring_cqe cqe;
	int peers[BURST], first;
	struct iou r;

	for (k = 0; k < ARRAY_LEN(sizes); k++) {
		ASSERT_EQ(0, iou_init_cq(&r, 4, sizes[k], variant->flags));
		first = next_fd();
		ended = 0;
		prep_many(&r, variant->sqe_flags, self->listener, 0, 0);
		ASSERT_EQ(1, iou_submit(&r));
		for (left = iou_rounds(200); left && iou_now_us() < end; left -= nr) {
			nr = left < BURST ? left : BURST;
			ASSERT_TRUE(connect_all(&self->addr, peers, ports, nr));
			/* wait for the CQEs that fit, and for the CQE that does not */
			iou_wait_ms(&r, nr < sizes[k] ? nr : sizes[k], 50);
			for (seen = 0; seen < nr; seen++) {
				ASSERT_EQ(0, iou_reap(&r, &cqe));
				ASSERT_LE(0, cqe.res);
				EXPECT_TRUE(strike_out(cqe.res, ports, nr));
				close(cqe.res);
				if (cqe.flags & IORING_CQE_F_MORE)
					continue;
				ended++;
				prep_many(&r, variant->sqe_flags, self->listener, 0, 0);
				ASSERT_EQ(1, iou_submit(&r));
			}
			while (seen--)
				close(peers[seen]);
		}
		EXPECT_EQ(sizes[k] < BURST, ended > 0);
		/* a request that outlives its ring would accept later connections */
		ASSERT_LE(0, cancel(&r, 0));
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_TRUE(cqe.res == -ECANCELED || cqe.res == -EINTR);
		EXPECT_EQ(0, iou_ready(&r));
		EXPECT_EQ(0, *r.cq_lost);
		iou_exit(&r);
		EXPECT_GE(first, next_fd());
	}
}

/*
 * One of two waiting accepts is woken for a connection, and cancelled before it accepts: the other
 * request accepts the connection.  Mutant: cancelled-keeps-event.  differences: event-passed-on
 */
TEST_F(acceptmulti, cancelled_with_an_event)
{
	struct iou *r = &self->r, other;
	struct io_uring_cqe cqe;
	int peer, closes;

	if (iou_on_stock())
		SKIP(return, "not compared");
	for (closes = 0; closes < 2; closes++) {
		ASSERT_EQ(0, iou_init(&other, 8, IOU_DEFER));
		prep_many(&other, 0, self->listener, 0, 0);
		ASSERT_EQ(1, iou_submit(&other));
		prep_many(r, variant->sqe_flags, self->listener, 0, 0)->user_data = 7;
		ASSERT_EQ(0, iou_submit_issued(r));
		/* the first waiter is woken, but only this task can continue it */
		peer = sock_connected(&self->addr);
		if (!closes) {
			ASSERT_EQ(1, cancel(&other, 0));
			ASSERT_EQ(0, iou_reap(&other, &cqe));
			EXPECT_EQ(-ECANCELED, cqe.res);
		}
		iou_exit(&other);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_LE(0, cqe.res);
		EXPECT_TRUE(talk(peer, cqe.res));
		close(cqe.res);
		close(peer);
		ASSERT_LE(0, cancel(r, 7));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_GT(0, cqe.res);
	}
}

/*
 * The first of four waiting accepts is woken for three connections, and ends before it accepts any:
 * each of the other three gets a connection.  Mutant: event-for-one.  differences: event-passed-on
 */
TEST_F(acceptmulti, cancelled_with_many_events)
{
	struct iou *r = &self->r, other;
	struct io_uring_cqe cqe;
	int peers[3], i;

	if (iou_on_stock())
		SKIP(return, "not compared");
	ASSERT_EQ(0, iou_init(&other, 8, IOU_DEFER));
	prep_many(&other, 0, self->listener, 0, 0);
	ASSERT_EQ(1, iou_submit(&other));
	for (i = 0; i < 3; i++) {
		iou_prep(r, IORING_OP_ACCEPT, self->listener, NULL, 0, 0)->flags =
			variant->sqe_flags;
		ASSERT_EQ(0, iou_submit_issued(r));
	}
	/* the first request stays in the wait queue, and is woken for all connections */
	for (i = 0; i < 3; i++)
		peers[i] = sock_connected(&self->addr);
	iou_exit(&other);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_LE(0, cqe.res);
		close(cqe.res);
	}
	for (i = 0; i < 3; i++)
		close(peers[i]);
}

/*
 * Many connections that wait on one listener do not keep other requests from running.
 * Mutant: accept-unfair.  differences: accept-fair
 */
TEST_F(acceptmulti, fair)
{
	int listener, peers[MANY], peer, i, before = 0;
	struct sockaddr_in addr;
	struct io_uring_cqe cqe;
	bool seen = false;
	struct iou r;

	ASSERT_EQ(0, iou_init_cq(&r, 8, 2 * MANY, variant->flags));
	listener = sock_listener(&addr, MANY);
	ASSERT_LE(0, listener);
	for (i = 0; i < MANY; i++) {
		peers[i] = sock_connected(&addr);
		ASSERT_LE(0, peers[i]);
	}
	peer = sock_connected(&self->addr);
	prep_many(&r, 0, listener, 0, 0)->user_data = 1;
	prep_many(&r, 0, self->listener, 0, 0)->user_data = 2;
	ASSERT_EQ(2, iou_submit(&r));
	for (i = 0; i < MANY + 1; i++) {
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		ASSERT_LE(0, cqe.res);
		close(cqe.res);
		seen |= cqe.user_data == 2;
		before += !seen;
	}
	EXPECT_TRUE(seen);
	/* 6.12 accepts all waiting connections first */
	EXPECT_GE(iou_on_stock() ? MANY : 140, before);
	for (i = 0; i < MANY; i++)
		close(peers[i]);
	close(peer);
	close(listener);
	iou_exit(&r);
}

/* Return: true if a request of the ring waits until a file is ready. */
static bool waits_for_file(const struct iou *r)
{
	char path[64], line[256];
	bool waits = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r->fd);
	f = fopen(path, "r");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		waits |= !strncmp(line, "  op=", 5);
	fclose(f);
	return waits;
}

/*
 * Connections come while one ring has room for only a few CQEs, or has only a few slots.  Its
 * request ends, and the request of the other ring accepts the remaining connections.
 * Mutant: ended-accept-keeps-events.  differences: event-passed-on
 */
TEST_F(acceptmulti, ends_before_the_last)
{
	int fds[SLOTS] = { -1, -1, -1, -1 }, peers[3 * SLOTS], slots, i, left;
	struct iou *r = &self->r, other;
	struct io_uring_cqe cqe;

	if (iou_on_stock())
		SKIP(return, "not compared");
	for (slots = 0; slots < 2; slots++) {
		/* the request is woken for all connections before it accepts any */
		ASSERT_EQ(0, iou_init_cq(&other, 4, SLOTS, IOU_DEFER));
		ASSERT_EQ(0, iou_register(&other, IORING_REGISTER_FILES, fds, SLOTS));
		prep_many(&other, 0, self->listener, 0, slots ? IORING_FILE_INDEX_ALLOC : 0);
		ASSERT_EQ(1, iou_submit(&other));
		prep_many(r, variant->sqe_flags, self->listener, 0, 0)->user_data = 7;
		ASSERT_LE(0, iou_submit(r));
		while (!waits_for_file(r))
			iou_sleep_ms(1);
		for (i = 0; i < 3 * SLOTS; i++)
			peers[i] = sock_connected(&self->addr);
		/* the last CQE ends the request, and also takes a connection */
		left = 3 * SLOTS;
		do {
			ASSERT_EQ(0, iou_reap(&other, &cqe));
			EXPECT_EQ(slots && !(cqe.flags & IORING_CQE_F_MORE), cqe.res < 0);
			if (!slots)
				close(cqe.res);
			left--;
		} while (cqe.flags & IORING_CQE_F_MORE);
		EXPECT_EQ(2 * SLOTS - 1, left);
		while (left--) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_LE(0, cqe.res);
			close(cqe.res);
		}
		iou_exit(&other);
		ASSERT_LE(0, cancel(r, 7));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_GT(0, cqe.res);
		while (i--)
			close(peers[i]);
	}
}

/*
 * An accept that was woken for a connection is queued behind other work of a worker when it is
 * cancelled.  Another accept gets the connection.  Mutant: cancelled-keeps-event.
 * differences: event-passed-on
 */
TEST_F(acceptmulti, cancelled_before_a_worker)
{
	unsigned int limits[2] = { 1, 1 };
	struct iou *r = &self->r, other;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	int peer, from[2], to[2];

	if (iou_on_stock())
		SKIP(return, "not compared");
	if (!iou_has_op(r, IORING_OP_SPLICE))
		SKIP(return, "no SPLICE");
	ASSERT_EQ(0, pipe(from));
	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, iou_init(&other, 8, IOU_DEFER));
	ASSERT_EQ(0, iou_register(&other, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2));
	iou_prep(&other, IORING_OP_ACCEPT, self->listener, NULL, 0, 0)->flags = IOSQE_ASYNC;
	ASSERT_EQ(1, iou_submit(&other));
	/* now the request waits until its file is ready, and does not need the worker any more */
	while (!waits_for_file(&other))
		iou_sleep_ms(1);
	/* give the only worker work that does not end */
	sqe = iou_prep(&other, IORING_OP_SPLICE, to[1], NULL, 1, -1);
	sqe->splice_fd_in = from[0];
	sqe->splice_off_in = -1;
	sqe->flags = IOSQE_ASYNC;
	sqe->user_data = 9;
	ASSERT_EQ(1, iou_submit(&other));
	iou_prep(r, IORING_OP_ACCEPT, self->listener, NULL, 0, 0)->user_data = 7;
	ASSERT_EQ(0, iou_submit_issued(r));
	peer = sock_connected(&self->addr);
	/* the ring's task queues the request to the worker */
	ASSERT_EQ(0, iou_wait_ms(&other, 0, 0));
	EXPECT_EQ(0, iou_ready(&other));
	ASSERT_EQ(1, cancel(&other, 0));
	ASSERT_EQ(0, iou_reap(&other, &cqe));
	EXPECT_EQ(0, cqe.user_data);
	EXPECT_EQ(-ECANCELED, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(7, cqe.user_data);
	ASSERT_LE(0, cqe.res);
	EXPECT_TRUE(talk(peer, cqe.res));
	close(cqe.res);
	close(peer);
	iou_exit(&other);
	sock_close_pair(from);
	sock_close_pair(to);
}

/*
 * Several server processes, each with a ring, share a listener.  Each client thread connects, sends
 * four bytes and waits for their echo.
 */
#define SERVERS		3
#define CLIENTS		4
#define SESSIONS	300

static void prep_echo(struct iou *r, int op, int fd, void *buf, unsigned int len)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, fd, buf, len, 0);

	sqe->user_data = (unsigned int)op << 16 | (unsigned int)fd;
}

static void handle_session(struct iou *r, const struct io_uring_cqe *cqe, char (*bufs)[4])
{
	int op = cqe->user_data >> 16, fd = cqe->user_data & 0xffff;

	if (op == IORING_OP_ACCEPT) {
		if (cqe->res >= 0)
			prep_echo(r, IORING_OP_RECV, cqe->res, bufs[cqe->res], 4);
		if (!(cqe->flags & IORING_CQE_F_MORE))
			prep_many(r, 0, fd, 0, 0)->user_data = cqe->user_data;
	} else if (cqe->res <= 0) {
		close(fd);
	} else {
		prep_echo(r, op == IORING_OP_RECV ? IORING_OP_SEND : IORING_OP_RECV, fd, bufs[fd],
			  op == IORING_OP_RECV ? cqe->res : 4);
	}
}

static void serve(int listener, unsigned int flags)
{
	static char bufs[1024][4];
	struct io_uring_cqe cqe;
	struct iou r;

	if (iou_init(&r, 64, flags))
		_exit(1);
	prep_many(&r, 0, listener, 0, 0)->user_data = IORING_OP_ACCEPT << 16 | listener;
	iou_submit(&r);
	for (;;) {
		if (iou_reap(&r, &cqe))
			continue;
		handle_session(&r, &cqe, bufs);
		iou_submit(&r);
	}
}

struct client {
	const struct sockaddr_in *addr;
	unsigned long sessions, answered;
};

static void *connect_and_ask(void *arg)
{
	struct timeval patience = { .tv_sec = IOU_PATIENCE / 1000 };
	struct linger reset = { .l_onoff = 1 };
	struct client *client = arg;
	char buf[4];

	while (client->sessions--) {
		int fd = sock_connected(client->addr);

		if (fd < 0)
			break;
		/* avoid TIME_WAIT, as there are fewer ports than sessions */
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		if (send(fd, "ask!", 4, MSG_NOSIGNAL) == 4 && sock_read(fd, buf, 4))
			client->answered++;
		close(fd);
	}
	return NULL;
}

/* Print the stack and rings of a server whose client has waited in vain. */
static void show_task(int pid)
{
	static const char *const parts[] = { "stack", "fdinfo/4", "fdinfo/5", "fdinfo/6" };
	char path[64], text[4096];
	unsigned int i;
	ssize_t n;
	int fd;

	for (i = 0; i < ARRAY_LEN(parts); i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, parts[i]);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = 0;
		printf("# %s:\n%s\n", path, text);
		close(fd);
	}
}

TEST(sessions_of_a_pool)
{
	static const unsigned int kinds[SERVERS] = { 0, IOU_DEFER, IORING_SETUP_COOP_TASKRUN };
	unsigned long sessions = iou_rounds(iou_slow_kernel() ? SESSIONS / 2 : SESSIONS);
	unsigned long answered = 0;
	struct client clients[CLIENTS];
	pthread_t threads[CLIENTS];
	int i, pids[SERVERS], listener;
	struct sockaddr_in addr;

	listener = sock_listener(&addr, 64);
	ASSERT_LE(0, listener);
	for (i = 0; i < SERVERS; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (!pids[i])
			serve(listener, kinds[i]);
	}
	for (i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){ &addr, sessions };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, connect_and_ask, &clients[i]));
	}
	for (i = 0; i < CLIENTS; i++) {
		pthread_join(threads[i], NULL);
		answered += clients[i].answered;
	}
	EXPECT_EQ(CLIENTS * sessions, answered);
	for (i = 0; i < SERVERS; i++) {
		if (answered != CLIENTS * sessions)
			show_task(pids[i]);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	close(listener);
}

TEST_HARNESS_MAIN
