// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: rows of sends and receives */

/*
 * Two connected sockets, AF_UNIX or TCP over loopback, and small messages.  "send" and
 * "sendmsg" mark the submission of a batch up to its CQEs, "recv" and "recvmsg" that of
 * the receives after as much was sent; the other half is system calls.  "echo" is a
 * whole round: a message is sent there, received, sent back and received.  "accept"
 * takes connections that wait already.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench.h"

#define BYTES	32	/* in a message */

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

/* b->fd listens at *addr. */
static int listen_tcp(struct bench *b, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	b->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (b->fd < 0 || loopback_up(b->fd) || bind(b->fd, (void *)addr, len) ||
	    getsockname(b->fd, (void *)addr, &len) || listen(b->fd, MAX_BATCH))
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
	if (fds[0] < 0 || connect(fds[0], (void *)&addr, sizeof(addr)))
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
	if (opcode == IORING_OP_SEND || opcode == IORING_OP_RECV)
		return;
	vec[i] = (struct iovec){ b->buf + i * BYTES, BYTES };
	msg[i] = (struct msghdr){ .msg_iov = &vec[i], .msg_iovlen = 1 };
	sqe->addr = (uintptr_t)&msg[i];
	sqe->len = 1;
}

/* The other half of a row, by system calls: one for all. */
static int other_half(struct bench *b, bool sends)
{
	size_t left = b->row->batch * BYTES;

	if (!sends)
		return send(b->pipes[0][0], b->buf, left, 0) == (ssize_t)left ? 0 : -EIO;
	while (left) {
		ssize_t n = recv(b->pipes[0][1], b->buf, left, 0);

		if (n <= 0)
			return -EIO;
		left -= n;
	}
	return 0;
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

int open_listener(struct bench *b)
{
	struct sockaddr_in addr;

	return listen_tcp(b, &addr);
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

int run_accept(struct bench *b, unsigned int rounds)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	int peers[MAX_BATCH];

	getsockname(b->fd, (void *)&addr, &len);
	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++) {
			peers[i] = socket(AF_INET, SOCK_STREAM, 0);
			if (peers[i] < 0 || connect(peers[i], (void *)&addr, len))
				return -errno;
		}
		part_begin(b);
		for (i = 0; i < b->row->batch; i++) {
			struct io_uring_sqe *sqe = ring_sqe(&b->ring);

			sqe->opcode = IORING_OP_ACCEPT;
			sqe->fd = b->fd;
		}
		ret = ring_submit(&b->ring, b->row->batch);
		part_end(b);
		if (!ret)
			ret = ring_take(&b->ring, b->row->batch, check_fd);
		for (i = 0; i < b->row->batch; i++)
			close(peers[i]);
		if (ret)
			return ret;
	}
	return 0;
}
