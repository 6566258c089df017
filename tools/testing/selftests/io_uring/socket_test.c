// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: SOCKET, BIND, LISTEN, CONNECT, ACCEPT and SHUTDOWN */
#include "sock.h"

#define SLOTS	4

FIXTURE(socket) {
	struct iou r;
	struct sockaddr_in addr;
	int listener;
};

FIXTURE_VARIANT(socket) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(socket);
FIXTURE_VARIANT_ADD(socket, defer_async) {
	.flags = IOU_DEFER,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(socket, plain_async) {
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_SETUP(socket)
{
	self->listener = sock_listener(&self->addr, 16);
	ASSERT_LE(0, self->listener);
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
}

FIXTURE_TEARDOWN(socket)
{
	iou_exit(&self->r);
	close(self->listener);
}

static int register_slots(struct iou *r)
{
	int fds[SLOTS] = { -1, -1, -1, -1 };

	return iou_register(r, IORING_REGISTER_FILES, fds, SLOTS);
}

static struct io_uring_sqe *prep_socket(struct iou *r, unsigned int sqe_flags, int domain, int type,
					int protocol, unsigned int file_index)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_SOCKET, domain, NULL, protocol, type);

	sqe->flags = sqe_flags;
	sqe->file_index = file_index;
	return sqe;
}

static int do_socket(struct iou *r, unsigned int sqe_flags, int domain, int type, int protocol,
		     unsigned int file_index)
{
	prep_socket(r, sqe_flags, domain, type, protocol, file_index);
	return iou_one(r);
}

static struct io_uring_sqe *prep_addr(struct iou *r, unsigned int sqe_flags, int op, int fd,
				      const void *addr, unsigned long long len)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, fd, addr, 0, len);

	sqe->flags = sqe_flags;
	return sqe;
}

static int do_addr(struct iou *r, unsigned int sqe_flags, int op, int fd, const void *addr,
		   unsigned long long len)
{
	prep_addr(r, sqe_flags, op, fd, addr, len);
	return iou_one(r);
}

static int do_len(struct iou *r, unsigned int sqe_flags, int op, int fd, unsigned int len)
{
	iou_prep(r, op, fd, NULL, len, 0)->flags = sqe_flags;
	return iou_one(r);
}

static struct io_uring_sqe *prep_accept(struct iou *r, unsigned int sqe_flags, int fd,
					unsigned int how, unsigned int file_index)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_ACCEPT, fd, NULL, 0, 0);

	sqe->flags = sqe_flags;
	sqe->ioprio = how;
	sqe->file_index = file_index;
	return sqe;
}

static int do_accept(struct iou *r, unsigned int sqe_flags, int fd, unsigned int how,
		     unsigned int file_index)
{
	prep_accept(r, sqe_flags, fd, how, file_index);
	return iou_one(r);
}

/* Return: true if two descriptors belong to one connection. */
static bool talk(int a, int b)
{
	char c = 0;

	return write(a, "x", 1) == 1 && sock_readable(b) && read(b, &c, 1) == 1 && c == 'x';
}

/* Return: the next descriptor that this process will get. */
static int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

TEST_F(socket, descriptor)
{
	unsigned int f = variant->sqe_flags;
	int type, first = next_fd(), fd;
	socklen_t len = sizeof(type);

	fd = do_socket(&self->r, f, AF_UNIX, SOCK_DGRAM, 0, 0);
	ASSERT_EQ(first, fd);
	EXPECT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len));
	EXPECT_EQ(SOCK_DGRAM, type);
	EXPECT_EQ(0, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	fd = do_socket(&self->r, f, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		       IPPROTO_TCP, 0);
	ASSERT_EQ(first, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);

	EXPECT_EQ(-EAFNOSUPPORT, do_socket(&self->r, f, 9999, SOCK_STREAM, 0, 0));
	EXPECT_EQ(-EPROTONOSUPPORT, do_socket(&self->r, f, AF_INET, SOCK_STREAM, IPPROTO_UDP, 0));
	EXPECT_EQ(-EINVAL, do_socket(&self->r, f, AF_INET, 15, 0, 0));
	EXPECT_EQ(-EINVAL, do_socket(&self->r, f, AF_INET, SOCK_STREAM | 0x100, 0, 0));
	EXPECT_EQ(first, next_fd());
}

/* Create sockets in slots.  SOCK_CLOEXEC is refused for a slot.  Mutant: socket-cloexec-slot. */
TEST_F(socket, slot)
{
	unsigned int f = variant->sqe_flags, all = IORING_FILE_INDEX_ALLOC;
	int i;

	EXPECT_EQ(-ENXIO, do_socket(&self->r, f, AF_UNIX, SOCK_STREAM, 0, 1));
	EXPECT_EQ(-ENFILE, do_socket(&self->r, f, AF_UNIX, SOCK_STREAM, 0, all));
	ASSERT_EQ(0, register_slots(&self->r));
	EXPECT_EQ(0, do_socket(&self->r, f, AF_UNIX, SOCK_STREAM, 0, 2));
	EXPECT_EQ(-EINVAL, do_socket(&self->r, f, AF_UNIX, SOCK_STREAM, 0, SLOTS + 1));
	EXPECT_EQ(-EINVAL, do_socket(&self->r, f, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 1));
	EXPECT_EQ(-EINVAL, do_socket(&self->r, f, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, all));
	/* IORING_FILE_INDEX_ALLOC takes the next free slot after the last one that was filled */
	for (i = 0; i < SLOTS - 1; i++)
		EXPECT_EQ((i + 2) % SLOTS, do_socket(&self->r, f, AF_UNIX, SOCK_STREAM, 0, all));
	EXPECT_EQ(-ENFILE, do_socket(&self->r, f, AF_UNIX, SOCK_STREAM, 0, all));
}

/* Run a server and its client with io_uring operations and slots only. */
TEST_F(socket, server_in_slots)
{
	unsigned int f = variant->sqe_flags | IOSQE_FIXED_FILE;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct iou *r = &self->r;
	size_t len = offsetof(struct sockaddr_un, sun_path) + 16;
	char c = 0;

	ASSERT_EQ(0, register_slots(r));
	snprintf(un.sun_path + 1, 15, "iou%d", getpid());
	EXPECT_EQ(0, do_socket(r, variant->sqe_flags, AF_UNIX, SOCK_STREAM, 0, 1));
	EXPECT_EQ(0, do_socket(r, variant->sqe_flags, AF_UNIX, SOCK_STREAM, 0, 2));
	EXPECT_EQ(0, do_addr(r, f, IORING_OP_BIND, 0, &un, len));
	EXPECT_EQ(-EADDRINUSE, do_addr(r, f, IORING_OP_BIND, 1, &un, len));
	EXPECT_EQ(-ECONNREFUSED, do_addr(r, f, IORING_OP_CONNECT, 1, &un, len));
	EXPECT_EQ(0, do_len(r, f, IORING_OP_LISTEN, 0, 4));
	EXPECT_EQ(0, do_addr(r, f, IORING_OP_CONNECT, 1, &un, len));
	EXPECT_EQ(0, do_accept(r, f, 0, 0, 3));
	iou_prep(r, IORING_OP_WRITE, 1, "y", 1, 0)->flags = f;
	EXPECT_EQ(1, iou_one(r));
	iou_prep(r, IORING_OP_READ, 2, &c, 1, 0)->flags = f;
	EXPECT_EQ(1, iou_one(r));
	EXPECT_EQ('y', c);
	EXPECT_EQ(0, do_len(r, f, IORING_OP_SHUTDOWN, 1, SHUT_WR));
	iou_prep(r, IORING_OP_READ, 2, &c, 1, 0)->flags = f;
	EXPECT_EQ(0, iou_one(r));
}

/*
 * The kernel uses all bytes of an address, even if the address does not fit into the memory of a
 * request.  Mutant: connect-short-address.
 */
TEST_F(socket, long_address)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX }, got = {};
	unsigned int f = variant->sqe_flags;
	socklen_t len = sizeof(got);
	int fd, peer, conn;

	memset(un.sun_path + 1, 'a' + getpid() % 20, sizeof(un.sun_path) - 1);
	un.sun_path[sizeof(un.sun_path) - 1] = variant->flags % 97 + f % 97;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	peer = socket(AF_UNIX, SOCK_STREAM, 0);
	EXPECT_EQ(0, do_addr(&self->r, f, IORING_OP_BIND, fd, &un, sizeof(un)));
	EXPECT_EQ(0, getsockname(fd, (void *)&got, &len));
	EXPECT_EQ(sizeof(un), len);
	EXPECT_EQ(0, memcmp(&un, &got, sizeof(un)));
	EXPECT_EQ(0, do_len(&self->r, f, IORING_OP_LISTEN, fd, 4));
	EXPECT_EQ(0, do_addr(&self->r, f, IORING_OP_CONNECT, peer, &un, sizeof(un)));
	conn = accept(fd, NULL, NULL);
	EXPECT_TRUE(talk(peer, conn));
	close(conn);
	close(peer);
	close(fd);
}

/*
 * Requests fail for a file that is no socket, with a bad address, and in a wrong state.
 * Mutant: accept-asks-everybody.
 */
TEST_F(socket, errors)
{
	static const int ops[] = {
		IORING_OP_BIND, IORING_OP_LISTEN, IORING_OP_CONNECT, IORING_OP_ACCEPT,
		IORING_OP_SHUTDOWN,
	};
	struct sockaddr_in addr = self->addr, none = sock_loopback(0);
	unsigned int f = variant->sqe_flags, i;
	struct sockaddr_storage big = {};
	struct iou *r = &self->r;
	int fd, p[2];

	ASSERT_EQ(0, pipe(p));
	for (i = 0; i < ARRAY_LEN(ops); i++) {
		iou_prep(r, ops[i], p[0], NULL, 0, 0)->flags = f;
		EXPECT_EQ(-ENOTSOCK, iou_one(r));
		iou_prep(r, ops[i], 9999, NULL, 0, 0)->flags = f;
		EXPECT_EQ(-EBADF, iou_one(r));
	}
	close(p[0]);
	close(p[1]);

	fd = socket(AF_INET, SOCK_STREAM, 0);
	EXPECT_EQ(-EFAULT, do_addr(r, f, IORING_OP_BIND, fd, NULL, sizeof(addr)));
	EXPECT_EQ(-EFAULT, do_addr(r, f, IORING_OP_CONNECT, fd, (void *)8, sizeof(addr)));
	EXPECT_EQ(-EINVAL, do_addr(r, f, IORING_OP_BIND, fd, &big, sizeof(big) + 1));
	EXPECT_EQ(-EINVAL, do_addr(r, f, IORING_OP_CONNECT, fd, &big, sizeof(big) + 1));
	EXPECT_EQ(-EINVAL, do_addr(r, f, IORING_OP_CONNECT, fd, &addr, 0));
	EXPECT_EQ(-EINVAL, do_addr(r, f, IORING_OP_CONNECT, fd, &addr, -1ULL));
	/* four bytes are too short for an AF_INET address */
	EXPECT_EQ(-EINVAL, do_addr(r, f, IORING_OP_CONNECT, fd, &addr, 4));
	EXPECT_EQ(-EADDRINUSE, do_addr(r, f, IORING_OP_BIND, fd, &addr, sizeof(addr)));
	EXPECT_EQ(-EINVAL, do_accept(r, f, fd, 0, 0));
	EXPECT_EQ(-ENOTCONN, do_len(r, f, IORING_OP_SHUTDOWN, fd, SHUT_RDWR));
	EXPECT_EQ(-EINVAL, do_len(r, f, IORING_OP_SHUTDOWN, fd, 17));
	EXPECT_EQ(0, do_addr(r, f, IORING_OP_BIND, fd, &none, sizeof(none)));
	close(fd);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	EXPECT_EQ(-EOPNOTSUPP, do_len(r, f, IORING_OP_LISTEN, fd, 1));
	EXPECT_EQ(-EOPNOTSUPP, do_accept(r, f, fd, 0, 0));
	EXPECT_EQ(-EOPNOTSUPP, do_accept(r, f, fd, IORING_ACCEPT_DONTWAIT, 0));
	close(fd);
}

struct refusal {
	const char *name;
	int op;
	void (*spoil)(struct io_uring_sqe *sqe);
	int want;
};

static void spoil_addr(struct io_uring_sqe *sqe)
{
	sqe->addr = 1;
}

static void spoil_off(struct io_uring_sqe *sqe)
{
	sqe->off = 1;
}

static void spoil_len(struct io_uring_sqe *sqe)
{
	sqe->len = 1;
}

static void spoil_rw_flags(struct io_uring_sqe *sqe)
{
	sqe->rw_flags = 1;
}

static void spoil_buf_index(struct io_uring_sqe *sqe)
{
	sqe->buf_index = 1;
}

static void spoil_file_index(struct io_uring_sqe *sqe)
{
	sqe->file_index = 1;
}

static void spoil_ioprio(struct io_uring_sqe *sqe)
{
	sqe->ioprio = 1;
}

static void spoil_ioprio_high(struct io_uring_sqe *sqe)
{
	sqe->ioprio = 8;
}

static void spoil_select(struct io_uring_sqe *sqe)
{
	sqe->flags |= IOSQE_BUFFER_SELECT;
}

static void spoil_many_slot(struct io_uring_sqe *sqe)
{
	sqe->ioprio = IORING_ACCEPT_MULTISHOT;
	sqe->file_index = 1;
}

static void spoil_cloexec(struct io_uring_sqe *sqe)
{
	sqe->accept_flags = SOCK_CLOEXEC;
	sqe->file_index = 1;
}

static void spoil_fixed(struct io_uring_sqe *sqe)
{
	sqe->flags |= IOSQE_FIXED_FILE;
}

/* A field without a meaning fails the request before its bad descriptor is checked. */
TEST_F(socket, refusals)
{
	static const struct refusal refusals[] = {
		{ "socket addr", IORING_OP_SOCKET, spoil_addr, -EINVAL },
		{ "socket rw_flags", IORING_OP_SOCKET, spoil_rw_flags, -EINVAL },
		{ "socket buf_index", IORING_OP_SOCKET, spoil_buf_index, -EINVAL },
		{ "socket ioprio", IORING_OP_SOCKET, spoil_ioprio, -EINVAL },
		{ "socket select", IORING_OP_SOCKET, spoil_select, -EOPNOTSUPP },
		{ "socket fixed", IORING_OP_SOCKET, spoil_fixed, -EAFNOSUPPORT },
		{ "bind len", IORING_OP_BIND, spoil_len, -EINVAL },
		{ "bind rw_flags", IORING_OP_BIND, spoil_rw_flags, -EINVAL },
		{ "bind buf_index", IORING_OP_BIND, spoil_buf_index, -EINVAL },
		{ "bind file_index", IORING_OP_BIND, spoil_file_index, -EINVAL },
		{ "bind ioprio", IORING_OP_BIND, spoil_ioprio, -EINVAL },
		{ "bind select", IORING_OP_BIND, spoil_select, -EOPNOTSUPP },
		{ "listen addr", IORING_OP_LISTEN, spoil_addr, -EINVAL },
		{ "listen off", IORING_OP_LISTEN, spoil_off, -EINVAL },
		{ "listen rw_flags", IORING_OP_LISTEN, spoil_rw_flags, -EINVAL },
		{ "listen buf_index", IORING_OP_LISTEN, spoil_buf_index, -EINVAL },
		{ "listen file_index", IORING_OP_LISTEN, spoil_file_index, -EINVAL },
		{ "listen ioprio", IORING_OP_LISTEN, spoil_ioprio, -EINVAL },
		{ "connect len", IORING_OP_CONNECT, spoil_len, -EINVAL },
		{ "connect rw_flags", IORING_OP_CONNECT, spoil_rw_flags, -EINVAL },
		{ "connect buf_index", IORING_OP_CONNECT, spoil_buf_index, -EINVAL },
		{ "connect file_index", IORING_OP_CONNECT, spoil_file_index, -EINVAL },
		{ "connect ioprio", IORING_OP_CONNECT, spoil_ioprio, -EINVAL },
		{ "accept len", IORING_OP_ACCEPT, spoil_len, -EINVAL },
		{ "accept flags", IORING_OP_ACCEPT, spoil_rw_flags, -EINVAL },
		{ "accept buf_index", IORING_OP_ACCEPT, spoil_buf_index, -EINVAL },
		{ "accept ioprio", IORING_OP_ACCEPT, spoil_ioprio_high, -EINVAL },
		{ "accept select", IORING_OP_ACCEPT, spoil_select, -EOPNOTSUPP },
		{ "accept many, one slot", IORING_OP_ACCEPT, spoil_many_slot, -EINVAL },
		{ "accept cloexec slot", IORING_OP_ACCEPT, spoil_cloexec, -EINVAL },
		{ "accept addr", IORING_OP_ACCEPT, spoil_addr, -EBADF },
		{ "accept addr2", IORING_OP_ACCEPT, spoil_off, -EBADF },
		{ "shutdown addr", IORING_OP_SHUTDOWN, spoil_addr, -EINVAL },
		{ "shutdown off", IORING_OP_SHUTDOWN, spoil_off, -EINVAL },
		{ "shutdown rw_flags", IORING_OP_SHUTDOWN, spoil_rw_flags, -EINVAL },
		{ "shutdown buf_index", IORING_OP_SHUTDOWN, spoil_buf_index, -EINVAL },
		{ "shutdown file_index", IORING_OP_SHUTDOWN, spoil_file_index, -EINVAL },
		{ "shutdown ioprio", IORING_OP_SHUTDOWN, spoil_ioprio, -EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(refusals); i++) {
		const struct refusal *c = refusals + i;
		struct io_uring_sqe *sqe = iou_prep(&self->r, c->op, 9999, NULL, 0, 0);

		sqe->flags = variant->sqe_flags;
		c->spoil(sqe);
		EXPECT_EQ(c->want, iou_one(&self->r)) {
			TH_LOG("%s", c->name);
		}
	}
}

TEST_F(socket, accept_what_is_there)
{
	unsigned int f = variant->sqe_flags;
	int first, peer, fd;

	peer = sock_connected(&self->addr);
	ASSERT_LE(0, peer);
	first = next_fd();
	fd = do_accept(&self->r, f, self->listener, 0, 0);
	ASSERT_EQ(first, fd);
	EXPECT_EQ(0, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
	EXPECT_TRUE(talk(peer, fd));
	close(fd);
	close(peer);

	peer = sock_connected(&self->addr);
	prep_accept(&self->r, f, self->listener, 0, 0)->accept_flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	fd = iou_one(&self->r);
	ASSERT_EQ(first, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	close(peer);
	EXPECT_EQ(first - 1, next_fd());
}

/* ACCEPT waits for a connection that comes later. */
TEST_F(socket, accept_waits)
{
	unsigned int f = variant->sqe_flags, how;
	struct io_uring_cqe cqe;
	int peer, i;

	for (i = 0; i < 4; i++) {
		how = i & 1 ? IORING_ACCEPT_POLL_FIRST : 0;
		/* an ACCEPT waits even if the listener is O_NONBLOCK */
		ASSERT_EQ(0, fcntl(self->listener, F_SETFL, i & 2 ? O_NONBLOCK : 0));
		prep_accept(&self->r, f, self->listener, how, 0);
		ASSERT_EQ(1, iou_submit(&self->r));
		EXPECT_EQ(0, iou_wait_ms(&self->r, 1, 10) == 0 && iou_ready(&self->r));
		peer = sock_connected(&self->addr);
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		ASSERT_LE(0, cqe.res);
		EXPECT_EQ(0, cqe.flags);
		EXPECT_TRUE(talk(peer, cqe.res));
		close(cqe.res);
		close(peer);
	}
}

TEST_F(socket, accept_does_not_wait)
{
	unsigned int f = variant->sqe_flags, how = IORING_ACCEPT_DONTWAIT;
	int first = next_fd(), peer, fd;

	EXPECT_EQ(-EAGAIN, do_accept(&self->r, f, self->listener, how, 0));
	how |= IORING_ACCEPT_POLL_FIRST;
	EXPECT_EQ(-EAGAIN, do_accept(&self->r, f, self->listener, how, 0));
	EXPECT_EQ(first, next_fd());
	peer = sock_connected(&self->addr);
	fd = do_accept(&self->r, f, self->listener, IORING_ACCEPT_DONTWAIT, 0);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(talk(peer, fd));
	close(fd);
	close(peer);
}

/* SOCK_NONEMPTY reports that another connection waits.  Mutant: accept-non-empty-wrong. */
TEST_F(socket, accept_non_empty)
{
	unsigned int f = variant->sqe_flags;
	struct io_uring_cqe cqe;
	int peers[3], i;

	for (i = 0; i < 3; i++)
		peers[i] = sock_connected(&self->addr);
	for (i = 0; i < 3; i++) {
		prep_accept(&self->r, f, self->listener, 0, 0);
		ASSERT_EQ(1, iou_submit(&self->r));
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		ASSERT_LE(0, cqe.res);
		EXPECT_EQ(i < 2 ? IORING_CQE_F_SOCK_NONEMPTY : 0, cqe.flags);
		EXPECT_TRUE(talk(peers[i], cqe.res));
		close(cqe.res);
		close(peers[i]);
	}
}

/* ACCEPT stores the address of the peer.  Mutant: accept-keeps-descriptor. */
TEST_F(socket, accept_address)
{
	struct sockaddr_in who = {}, self_addr;
	unsigned int f = variant->sqe_flags;
	socklen_t len = sizeof(self_addr), room = sizeof(who);
	struct io_uring_sqe *sqe;
	int peer, fd, first;

	peer = sock_connected(&self->addr);
	ASSERT_EQ(0, getsockname(peer, (void *)&self_addr, &len));
	sqe = prep_accept(&self->r, f, self->listener, 0, 0);
	sqe->addr = (uintptr_t)&who;
	sqe->addr2 = (uintptr_t)&room;
	fd = iou_one(&self->r);
	ASSERT_LE(0, fd);
	EXPECT_EQ(sizeof(who), room);
	EXPECT_EQ(0, memcmp(&who, &self_addr, sizeof(who)));
	close(fd);
	close(peer);
	/* if the address cannot be stored, the connection and its descriptor are closed */
	peer = sock_connected(&self->addr);
	first = next_fd();
	sqe = prep_accept(&self->r, f, self->listener, 0, 0);
	sqe->addr = (uintptr_t)&who;
	EXPECT_EQ(-EFAULT, iou_one(&self->r));
	EXPECT_EQ(first, next_fd());
	close(peer);
}

TEST_F(socket, accept_slot)
{
	unsigned int f = variant->sqe_flags, all = IORING_FILE_INDEX_ALLOC;
	int peers[SLOTS + 2], i;

	for (i = 0; i < SLOTS + 2; i++)
		peers[i] = sock_connected(&self->addr);
	EXPECT_EQ(-ENXIO, do_accept(&self->r, f, self->listener, 0, 1));
	ASSERT_EQ(0, register_slots(&self->r));
	for (i = 0; i < SLOTS; i++) {
		EXPECT_EQ(i, do_accept(&self->r, f, self->listener, 0, all));
		iou_prep(&self->r, IORING_OP_WRITE, i, "z", 1, 0)->flags = IOSQE_FIXED_FILE;
		EXPECT_EQ(1, iou_one(&self->r));
	}
	/* a connection without a free slot is closed */
	EXPECT_EQ(-ENFILE, do_accept(&self->r, f, self->listener, 0, all));
	for (i = 0; i < SLOTS + 2; i++) {
		char c = 0;

		EXPECT_EQ(i > 0 && i <= SLOTS, read(peers[i], &c, 1));
		close(peers[i]);
	}
}

/* Many ACCEPTs wait; each connection completes one of them. */
TEST_F(socket, accept_each_once)
{
	unsigned int f = variant->sqe_flags;
	struct io_uring_cqe cqe;
	int peers[8], i;

	for (i = 0; i < 8; i++)
		prep_accept(&self->r, f, self->listener, 0, 0)->user_data = i;
	ASSERT_EQ(8, iou_submit(&self->r));
	for (i = 0; i < 8; i++) {
		peers[i] = sock_connected(&self->addr);
		ASSERT_LE(0, peers[i]);
		if (i & 1)
			continue;
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		ASSERT_LE(0, cqe.res);
		EXPECT_TRUE(i || talk(peers[i], cqe.res));
		close(cqe.res);
	}
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		ASSERT_LE(0, cqe.res);
		close(cqe.res);
	}
	for (i = 0; i < 8; i++)
		close(peers[i]);
}

/* The limit of descriptors is checked before a connection is taken from the queue. */
TEST_F(socket, accept_without_descriptors)
{
	unsigned int f = variant->sqe_flags;
	struct rlimit old, low;
	int peer, fd;

	peer = sock_connected(&self->addr);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	low = old;
	low.rlim_cur = next_fd();
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &low));
	EXPECT_EQ(-EMFILE, do_accept(&self->r, f, self->listener, 0, 0));
	EXPECT_EQ(-EMFILE, do_socket(&self->r, f, AF_UNIX, SOCK_STREAM, 0, 0));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	fd = do_accept(&self->r, f, self->listener, 0, 0);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(talk(peer, fd));
	close(fd);
	close(peer);
}

/* A waiting ACCEPT can be cancelled, and no descriptor stays in use. */
TEST_F(socket, cancelled)
{
	unsigned int f = variant->sqe_flags;
	int first = next_fd(), i, res[3] = {};

	prep_accept(&self->r, f, self->listener, 0, 0)->user_data = 1;
	ASSERT_EQ(1, iou_submit(&self->r));
	iou_sleep_ms(5);
	iou_prep(&self->r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 2;
	ASSERT_LE(0, iou_submit_wait(&self->r, 2));
	ASSERT_EQ(0, iou_wait(&self->r, 2));
	for (i = 0; i < 2; i++)
		res[iou_cqe_at(&self->r, i)->user_data] = iou_cqe_at(&self->r, i)->res;
	iou_seen(&self->r, 2);
	EXPECT_TRUE(res[1] == -ECANCELED || res[1] == -EINTR);
	EXPECT_TRUE(res[2] == 0 || res[2] == -EALREADY);
	EXPECT_EQ(first, next_fd());
}

/* A linked timeout, and the end of the ring, also end a waiting ACCEPT. */
TEST_F(socket, limited)
{
	struct __kernel_timespec ts = { .tv_nsec = 20000000 };
	int i, res[3] = {}, first = next_fd();
	unsigned int f = variant->sqe_flags;

	prep_accept(&self->r, f | IOSQE_IO_LINK, self->listener, 0, 0)->user_data = 1;
	iou_prep(&self->r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 2;
	ASSERT_LE(0, iou_submit_wait(&self->r, 2));
	ASSERT_EQ(0, iou_wait(&self->r, 2));
	for (i = 0; i < 2; i++)
		res[iou_cqe_at(&self->r, i)->user_data] = iou_cqe_at(&self->r, i)->res;
	iou_seen(&self->r, 2);
	EXPECT_TRUE(res[1] == -ECANCELED || res[1] == -EINTR);
	EXPECT_TRUE(res[2] == -ETIME || res[2] == -EALREADY);
	EXPECT_EQ(first, next_fd());
	prep_accept(&self->r, f, self->listener, 0, 0);
	ASSERT_EQ(1, iou_submit(&self->r));
}

/* CONNECT waits for the connection, even on a nonblocking socket.  Mutant: connect-fails-early. */
TEST_F(socket, connect)
{
	struct sockaddr_in addr = self->addr;
	unsigned int f = variant->sqe_flags;
	int i, fd, peer;

	for (i = 0; i < 2; i++) {
		fd = socket(AF_INET, SOCK_STREAM | (i ? SOCK_NONBLOCK : 0), 0);
		ASSERT_EQ(0, do_addr(&self->r, f, IORING_OP_CONNECT, fd, &addr, sizeof(addr)));
		peer = accept(self->listener, NULL, NULL);
		EXPECT_TRUE(talk(fd, peer));
		EXPECT_EQ(-EISCONN,
			  do_addr(&self->r, f, IORING_OP_CONNECT, fd, &addr, sizeof(addr)));
		close(fd);
		close(peer);
	}
	/* no socket listens at the address any more */
	close(self->listener);
	for (i = 0; i < 2; i++) {
		fd = socket(AF_INET, SOCK_STREAM | (i ? SOCK_NONBLOCK : 0), 0);
		EXPECT_EQ(-ECONNREFUSED,
			  do_addr(&self->r, f, IORING_OP_CONNECT, fd, &addr, sizeof(addr)));
		close(fd);
	}
	self->listener = -1;
}

/* The program may reuse the address once the SQE was taken. */
TEST_F(socket, address_is_copied)
{
	unsigned int f = variant->sqe_flags;
	struct sockaddr_in addr;
	int i, fd, peer;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the SQE is taken at some time");
	for (i = 0; i < 2; i++) {
		addr = self->addr;
		fd = socket(AF_INET, SOCK_STREAM, 0);
		/* first the CONNECT is alone, then a request before it in a chain delays it */
		if (i)
			iou_nop(&self->r, 0)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
		prep_addr(&self->r, f, IORING_OP_CONNECT, fd, &addr, sizeof(addr));
		ASSERT_EQ(1 + i, iou_submit(&self->r));
		memset(&addr, 0xff, sizeof(addr));
		EXPECT_EQ(0, iou_discard(&self->r, 1 + i));
		peer = accept(self->listener, NULL, NULL);
		EXPECT_TRUE(talk(fd, peer));
		close(peer);
		close(fd);
	}
}

/* CONNECT waits while the backlog of an AF_UNIX listener is full. */
TEST_F(socket, connect_waits_for_room)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + 16;
	unsigned int f = variant->sqe_flags;
	struct io_uring_cqe cqe;
	int listener, fds[2], i;

	snprintf(un.sun_path + 1, 15, "room%d", getpid());
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ASSERT_EQ(0, bind(listener, (void *)&un, len));
	ASSERT_EQ(0, listen(listener, 0));
	for (i = 0; i < 2; i++)
		fds[i] = socket(AF_UNIX, SOCK_STREAM, 0);
	ASSERT_EQ(0, connect(fds[0], (void *)&un, len));
	prep_addr(&self->r, f, IORING_OP_CONNECT, fds[1], &un, len);
	ASSERT_EQ(1, iou_submit(&self->r));
	iou_sleep_ms(10);
	EXPECT_EQ(0, iou_ready(&self->r));
	i = accept(listener, NULL, NULL);
	EXPECT_TRUE(talk(fds[0], i));
	close(i);
	ASSERT_EQ(0, iou_reap(&self->r, &cqe));
	EXPECT_EQ(0, cqe.res);
	i = accept(listener, NULL, NULL);
	EXPECT_TRUE(talk(fds[1], i));
	close(i);
	close(fds[0]);
	close(fds[1]);
	close(listener);
}

TEST_F(socket, shutdown)
{
	static const int hows[] = { SHUT_WR, SHUT_RD, SHUT_RDWR };
	unsigned int f = variant->sqe_flags, i;
	int fds[2];
	char c;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, sock_tcp_pair(fds));
		EXPECT_EQ(0, do_len(&self->r, f, IORING_OP_SHUTDOWN, fds[0], hows[i]));
		EXPECT_EQ(hows[i] == SHUT_RD ? 1 : -1, send(fds[0], "x", 1, MSG_NOSIGNAL));
		EXPECT_EQ(hows[i] == SHUT_WR ? -1 : 0, recv(fds[0], &c, 1, MSG_DONTWAIT));
		sock_close_pair(fds);
	}
}

/* A failed operation breaks its chain. */
TEST_F(socket, failure_breaks_the_chain)
{
	unsigned int f = variant->sqe_flags | IOSQE_IO_LINK;
	struct iou *r = &self->r;
	int i, peer;

	prep_socket(r, f, 9999, SOCK_STREAM, 0, 0);
	iou_nop(r, 0);
	prep_accept(r, f, self->listener, IORING_ACCEPT_DONTWAIT, 0);
	iou_nop(r, 0);
	ASSERT_LE(0, iou_submit_wait(r, 4));
	ASSERT_EQ(0, iou_wait(r, 4));
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(iou_cqe_at(r, i)->res == -EAFNOSUPPORT ||
			    iou_cqe_at(r, i)->res == -EAGAIN ||
			    iou_cqe_at(r, i)->res == -ECANCELED);
	iou_seen(r, 4);
	peer = sock_connected(&self->addr);
	prep_accept(r, f, self->listener, 0, 0);
	iou_nop(r, 0)->user_data = 7;
	ASSERT_LE(0, iou_submit_wait(r, 2));
	ASSERT_EQ(0, iou_wait(r, 2));
	ASSERT_LE(0, iou_cqe_at(r, 0)->res);
	EXPECT_EQ(0, iou_cqe_at(r, 1)->res);
	close(iou_cqe_at(r, 0)->res);
	iou_seen(r, 2);
	close(peer);
}

/*
 * A SOCKET or ACCEPT that finds no free slot does not break its chain.
 * Mutants: socket-slot-breaks, accept-slot-breaks.
 */
TEST_F(socket, no_slot_keeps_the_chain)
{
	unsigned int f = variant->sqe_flags | IOSQE_IO_LINK, all = IORING_FILE_INDEX_ALLOC, i;
	struct iou *r = &self->r;
	int peer;

	for (i = 0; i < 4; i++) {
		int res[2], slot = i % 2 ? all : 1;

		peer = sock_connected(&self->addr);
		if (i < 2)
			prep_socket(r, f, AF_UNIX, SOCK_STREAM, 0, slot);
		else
			prep_accept(r, f, self->listener, 0, slot);
		iou_nop(r, 1)->user_data = 1;
		ASSERT_LE(0, iou_submit_wait(r, 2));
		ASSERT_EQ(0, iou_wait(r, 2));
		res[iou_cqe_at(r, 0)->user_data & 1] = iou_cqe_at(r, 0)->res;
		res[iou_cqe_at(r, 1)->user_data & 1] = iou_cqe_at(r, 1)->res;
		iou_seen(r, 2);
		EXPECT_EQ(i % 2 ? -ENFILE : -ENXIO, res[0]);
		EXPECT_EQ(0, res[1]);
		close(peer);
	}
}

/* An IOPOLL ring refuses all socket operations. */
TEST(iopoll)
{
	static const int ops[] = {
		IORING_OP_SOCKET, IORING_OP_BIND, IORING_OP_LISTEN, IORING_OP_CONNECT,
		IORING_OP_ACCEPT, IORING_OP_SHUTDOWN,
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
