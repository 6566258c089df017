// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: rows of sends and receives */

/*
 * Two connected sockets, AF_UNIX or TCP over loopback, and small messages.  "send" and
 * "sendmsg" mark the submission of a batch up to its CQEs, "recv" and "recvmsg" that of
 * the receives after as much was sent; the other half is system calls.  "echo" is a
 * whole round: a message is sent there, received, sent back and received.  "accept"
 * takes connections that wait already; "+many" by one request.  "+picked" uses a provided
 * buffer for each message, "bundle" one request for all of them.  "read" does the same with a
 * pipe; its "+many" is one READ_MULTISHOT that goes on from round to round.  "bundle/both"
 * receives a batch and sends it back, and "flat" does so by recv(2) and send(2) of all its bytes.
 * "sendzc" marks what "send" does; the notices come outside.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench.h"

#define BYTES	32	/* in a message */

static unsigned int message_bytes(const struct bench *b)
{
	return b->row->bytes ?: BYTES;
}

static int check_bytes(const struct io_uring_cqe *cqe)
{
	return cqe->res == BYTES;
}

int open_unix(struct bench *b)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, b->pipes[0]))
		return -errno;
	b->nr_pipes = 1;
	return 0;
}

static int loopback_up(int fd)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	return ioctl(fd, SIOCSIFFLAGS, &ifr);
}

/* A whole batch of large messages is in the sockets before any task receives it. */
static int hold_batch(struct bench *b, int fd)
{
	int size = 2 * b->row->batch * b->row->bytes;

	if (!size)
		return 0;
	return setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ?:
	       setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
}

/* b->fd listens at *addr. */
static int listen_tcp(struct bench *b, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	b->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (b->fd < 0 || hold_batch(b, b->fd) || loopback_up(b->fd) ||
	    bind(b->fd, (void *)addr, len) || getsockname(b->fd, (void *)addr, &len) ||
	    listen(b->fd, MAX_BATCH))
		return -errno;
	return 0;
}

int open_tcp(struct bench *b)
{
	struct sockaddr_in addr;
	int i, one = 1, ret = listen_tcp(b, &addr);
	int *fds = b->pipes[0];

	if (ret)
		return ret;
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (fds[0] < 0 || hold_batch(b, fds[0]) || connect(fds[0], (void *)&addr, sizeof(addr)))
		return -errno;
	fds[1] = accept(b->fd, NULL, NULL);
	if (fds[1] < 0)
		return -errno;
	b->nr_pipes = 1;
	for (i = 0; i < 2; i++)
		setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return 0;
}

static void fill_io(struct bench *b, unsigned int opcode, int fd, unsigned int i)
{
	static struct iovec vec[MAX_BATCH];
	static struct msghdr msg[MAX_BATCH];
	struct io_uring_sqe *sqe = ring_sqe(&b->ring);

	sqe->opcode = opcode;
	sqe->fd = fd;
	sqe->user_data = i;
	sqe->addr = (uintptr_t)b->buf + i * BYTES;
	sqe->len = BYTES;
	if (b->row->flags & ROW_VECTORED)
		sqe->ioprio = IORING_SEND_VECTORIZED;
	else if (opcode == IORING_OP_SEND || opcode == IORING_OP_RECV)
		return;
	vec[i] = (struct iovec){ b->buf + i * BYTES, BYTES };
	msg[i] = (struct msghdr){ .msg_iov = &vec[i], .msg_iovlen = 1 };
	sqe->addr = b->row->flags & ROW_VECTORED ? (uintptr_t)&vec[i] : (uintptr_t)&msg[i];
	sqe->len = 1;
}

/* The messages of a batch, by as few calls as it takes. */
static int receive_all(struct bench *b, int fd)
{
	size_t left = b->row->batch * message_bytes(b);

	while (left) {
		ssize_t n = recv(fd, b->buf, left, 0);

		if (n <= 0)
			return -EIO;
		left -= n;
	}
	return 0;
}

/* The other half of a row, by system calls: one for all. */
static int other_half(struct bench *b, bool sends)
{
	size_t left = b->row->batch * message_bytes(b);

	if (!sends)
		return write(b->pipes[0][0], b->buf, left) == (ssize_t)left ? 0 : -EIO;
	return receive_all(b, b->pipes[0][1]);
}

int run_net(struct bench *b, unsigned int rounds)
{
	const struct row *row = b->row;
	bool sends = row->opcode == IORING_OP_SEND || row->opcode == IORING_OP_SENDMSG;

	while (rounds--) {
		unsigned int i;
		int ret = 0;

		if (!sends)
			ret = other_half(b, sends);
		part_begin(b);
		for (i = 0; i < row->batch; i++)
			fill_io(b, row->opcode, b->pipes[0][!sends], i);
		if (!ret)
			ret = ring_submit(&b->ring, row->batch);
		if (!ret)
			ret = ring_take(&b->ring, row->batch, check_bytes);
		part_end(b);
		if (!ret && sends)
			ret = other_half(b, sends);
		if (ret)
			return ret;
	}
	return 0;
}

/* A receive that waits, and the send that it waits for, there and back. */
int run_echo(struct bench *b, unsigned int rounds)
{
	while (rounds--) {
		unsigned int side;
		int ret = 0;

		for (side = 0; !ret && side < 2; side++) {
			fill_io(b, IORING_OP_RECV, b->pipes[0][!side], 0);
			fill_io(b, IORING_OP_SEND, b->pipes[0][side], 1);
			ret = ring_submit(&b->ring, 2);
			if (!ret)
				ret = ring_take(&b->ring, 2, check_bytes);
		}
		if (ret)
			return ret;
	}
	return 0;
}

/* Provided buffers, one behind the other, for the messages of a round. */
static struct io_uring_buf_ring *group;

static int open_group(struct bench *b)
{
	struct io_uring_buf_reg reg = { .ring_entries = MAX_BATCH };

	if (!group)
		group = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	group->tail = 0;
	reg.ring_addr = (uintptr_t)group;
	return ring_register(&b->ring, IORING_REGISTER_PBUF_RING, &reg, 1);
}

int open_unix_group(struct bench *b)
{
	int ret = open_unix(b);

	return ret ?: open_group(b);
}

int open_tcp_group(struct bench *b)
{
	int ret = open_tcp(b);

	return ret ?: open_group(b);
}

int open_pipe_group(struct bench *b)
{
	int ends[2];

	if (pipe(ends))
		return -errno;
	/* as with sockets, what is sent into the first comes out of the second */
	b->pipes[0][0] = ends[1];
	b->pipes[0][1] = ends[0];
	b->nr_pipes = 1;
	return open_group(b);
}

static void provide(struct bench *b)
{
	unsigned int bytes = message_bytes(b), i;
	unsigned int step = b->row->flags & ROW_APART ? 2 * bytes : bytes;

	for (i = 0; i < b->row->batch; i++) {
		struct io_uring_buf *buf = (struct io_uring_buf *)group +
					   (group->tail + i) % MAX_BATCH;

		buf->addr = (uintptr_t)b->buf + i * step;
		buf->len = bytes;
		buf->bid = i;
	}
	__atomic_store_n(&group->tail, group->tail + i, __ATOMIC_RELEASE);
}

static unsigned int moved;

static int check_moved(const struct io_uring_cqe *cqe)
{
	if (cqe->res > 0)
		moved += cqe->res;
	return cqe->res > 0;
}

/* @nr requests, of which each uses a provided buffer, or one after the other all that there are. */
static int move_picked(struct bench *b, unsigned int opcode, int fd, unsigned int nr,
		       unsigned int how)
{
	unsigned int i;
	int ret;

	moved = 0;
	do {
		for (i = 0; i < nr; i++) {
			struct io_uring_sqe *sqe = ring_sqe(&b->ring);

			sqe->opcode = opcode;
			sqe->flags = IOSQE_BUFFER_SELECT;
			sqe->ioprio = how;
			sqe->fd = fd;
		}
		ret = ring_submit(&b->ring, nr);
		if (!ret)
			ret = ring_take(&b->ring, nr, check_moved);
	} while (!ret && moved < b->row->batch * message_bytes(b));
	return ret;
}

static int run_provided(struct bench *b, unsigned int rounds, unsigned int nr, unsigned int how)
{
	bool sends = b->row->opcode == IORING_OP_SEND;

	while (rounds--) {
		int ret = 0;

		provide(b);
		if (!sends)
			ret = other_half(b, sends);
		part_begin(b);
		if (!ret)
			ret = move_picked(b, b->row->opcode, b->pipes[0][!sends], nr, how);
		part_end(b);
		if (!ret && sends)
			ret = other_half(b, sends);
		if (ret)
			return ret;
	}
	return 0;
}

int run_picked(struct bench *b, unsigned int rounds)
{
	return run_provided(b, rounds, b->row->batch, 0);
}

int run_bundle(struct bench *b, unsigned int rounds)
{
	return run_provided(b, rounds, 1, IORING_RECVSEND_BUNDLE);
}

/* Received and sent back; the other side is system calls. */
static int both_ways(struct bench *b, unsigned int rounds, int (*turn)(struct bench *b, int fd))
{
	while (rounds--) {
		int ret = other_half(b, false);

		part_begin(b);
		if (!ret)
			ret = turn(b, b->pipes[0][1]);
		part_end(b);
		if (!ret)
			ret = receive_all(b, b->pipes[0][0]);
		if (ret)
			return ret;
	}
	return 0;
}

static int turn_bundles(struct bench *b, int fd)
{
	int ret;

	provide(b);
	ret = move_picked(b, IORING_OP_RECV, fd, 1, IORING_RECVSEND_BUNDLE);
	provide(b);
	return ret ?: move_picked(b, IORING_OP_SEND, fd, 1, IORING_RECVSEND_BUNDLE);
}

static int turn_flat(struct bench *b, int fd)
{
	ssize_t bytes = b->row->batch * message_bytes(b);
	int ret = receive_all(b, fd);

	return ret ?: send(fd, b->buf, bytes, 0) == bytes ? 0 : -EIO;
}

int run_bundle_both(struct bench *b, unsigned int rounds)
{
	return both_ways(b, rounds, turn_bundles);
}

int run_flat(struct bench *b, unsigned int rounds)
{
	return both_ways(b, rounds, turn_flat);
}

static int check_zc(const struct io_uring_cqe *cqe)
{
	return cqe->flags & IORING_CQE_F_NOTIF || cqe->res > 0;
}

int run_send_zc(struct bench *b, unsigned int rounds)
{
	unsigned int i, nr = b->row->batch;

	while (rounds--) {
		int ret;

		part_begin(b);
		for (i = 0; i < nr; i++) {
			struct io_uring_sqe *sqe = ring_sqe(&b->ring);

			sqe->opcode = IORING_OP_SEND_ZC;
			sqe->fd = b->pipes[0][0];
			sqe->addr = (uintptr_t)b->buf + i * message_bytes(b);
			sqe->len = message_bytes(b);
		}
		ret = ring_submit(&b->ring, nr);
		if (!ret)
			ret = ring_take(&b->ring, nr, check_zc);
		part_end(b);
		if (!ret)
			ret = other_half(b, true);
		if (!ret)
			ret = ring_take(&b->ring, nr, check_zc);
		if (ret)
			return ret;
	}
	return 0;
}

int run_read_many(struct bench *b, unsigned int rounds)
{
	static bool armed;

	while (rounds--) {
		int ret = 0;

		provide(b);
		if (!armed) {
			struct io_uring_sqe *sqe = ring_sqe(&b->ring);

			sqe->opcode = IORING_OP_READ_MULTISHOT;
			sqe->flags = IOSQE_BUFFER_SELECT;
			sqe->fd = b->pipes[0][1];
			ret = ring_submit(&b->ring, 1);
			armed = true;
		}
		if (!ret)
			ret = other_half(b, false);
		part_begin(b);
		if (!ret)
			ret = ring_take(&b->ring, b->row->batch, check_bytes);
		part_end(b);
		if (ret)
			return ret;
	}
	return 0;
}

int open_listener(struct bench *b)
{
	struct sockaddr_in addr;

	return listen_tcp(b, &addr);
}

/* A new connection to open_listener()'s socket; its descriptor. */
int open_client(struct bench *b)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	if (fd < 0 || getsockname(b->fd, (void *)&addr, &len) ||
	    connect(fd, (void *)&addr, len))
		return -errno;
	return fd;
}

static int check_fd(const struct io_uring_cqe *cqe)
{
	if (cqe->res < 0)
		return 0;
	/* no trace in the states of connections */
	setsockopt(cqe->res, SOL_SOCKET, SO_LINGER,
		   &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
	close(cqe->res);
	return 1;
}

#define MANY	7

static int check_end(const struct io_uring_cqe *cqe)
{
	return cqe->res == -ECANCELED || !cqe->res;
}

/* End the request that accepts many. */
static int end_many(struct bench *b)
{
	struct io_uring_sqe *sqe = ring_sqe(&b->ring);
	int ret;

	sqe->opcode = IORING_OP_ASYNC_CANCEL;
	sqe->addr = MANY;
	ret = ring_submit(&b->ring, 2);
	return ret ?: ring_take(&b->ring, 2, check_end);
}

static int accept_some(struct bench *b, unsigned int rounds, bool many)
{
	int peers[MAX_BATCH];

	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++) {
			peers[i] = open_client(b);
			if (peers[i] < 0)
				return peers[i];
		}
		part_begin(b);
		for (i = 0; i < (many ? 1 : b->row->batch); i++) {
			struct io_uring_sqe *sqe = ring_sqe(&b->ring);

			sqe->opcode = IORING_OP_ACCEPT;
			sqe->fd = b->fd;
			sqe->user_data = MANY;
			sqe->ioprio = many ? IORING_ACCEPT_MULTISHOT : 0;
		}
		ret = ring_submit(&b->ring, b->row->batch);
		part_end(b);
		if (!ret)
			ret = ring_take(&b->ring, b->row->batch, check_fd);
		if (!ret && many)
			ret = end_many(b);
		for (i = 0; i < b->row->batch; i++)
			close(peers[i]);
		if (ret)
			return ret;
	}
	return 0;
}

int run_accept(struct bench *b, unsigned int rounds)
{
	return accept_some(b, rounds, false);
}

int run_accept_many(struct bench *b, unsigned int rounds)
{
	return accept_some(b, rounds, true);
}
