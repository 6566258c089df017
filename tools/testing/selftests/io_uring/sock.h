/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: sockets, for the programs that test operations on them */
#ifndef SOCK_H
#define SOCK_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "iou_test.h"

/* Return: an address on the loopback device; the kernel chooses the port if @port is 0. */
static inline struct sockaddr_in sock_loopback(unsigned short port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = port,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

/* Return: a TCP socket that listens at *addr, which receives the port; or a negative errno. */
static inline int sock_listener(struct sockaddr_in *addr, int backlog)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*addr = sock_loopback(0);
	if (fd < 0 || bind(fd, (void *)addr, len) || getsockname(fd, (void *)addr, &len) ||
	    listen(fd, backlog))
		return -errno;
	return fd;
}

static inline int sock_connected(const struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (void *)addr, sizeof(*addr)))
		return -errno;
	return fd;
}

/*
 * Connect two TCP sockets.  The receive buffer of the second one has @rcvbuf bytes (SO_RCVBUF), or
 * the default size for 0.  The size is set before the connect, because TCP sends segments that do
 * not fit the window only as probes, five a second.
 */
static inline int sock_tcp_pair_of(int fds[2], int rcvbuf)
{
	struct sockaddr_in addr;
	int listener = sock_listener(&addr, 1), one = 1;

	if (listener < 0)
		return listener;
	if (rcvbuf)
		setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	fds[0] = sock_connected(&addr);
	fds[1] = accept(listener, NULL, NULL);
	close(listener);
	if (fds[0] < 0 || fds[1] < 0)
		return -EIO;
	setsockopt(fds[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fds[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return 0;
}

static inline int sock_tcp_pair(int fds[2])
{
	return sock_tcp_pair_of(fds, 0);
}

/* Connect two sockets, of TCP or AF_UNIX. */
static inline int sock_stream_pair(bool tcp, int fds[2])
{
	return tcp ? sock_tcp_pair(fds) : socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}

static inline void sock_close_pair(int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

/* Receive all @len bytes.  Return at once for 0 bytes, for which a TCP receive waits for data. */
static inline bool sock_read(int fd, void *to, size_t len)
{
	return !len || recv(fd, to, len, MSG_WAITALL) == (ssize_t)len;
}

/* Receive from @fd to @to + *have, at most @size bytes, until a CQE comes. */
static inline void sock_read_until_cqe(struct iou *r, int fd, char *to, size_t size, size_t *have)
{
	while (!iou_ready(r)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 1) == 1)
			*have += recv(fd, to + *have, size - *have, 0);
		iou_wait_ms(r, 0, 0);
	}
}

/* Return: true if there is data to read within IOU_PATIENCE. */
static inline bool sock_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, IOU_PATIENCE) == 1;
}

/* Return: CQE flags of a receive that leaves data.  AF_UNIX streams of 6.12 do not set them. */
static inline unsigned int sock_more(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
	if (type != SOCK_STREAM || (domain == AF_UNIX && !iou_kernel_from("7")))
		return 0;
	return IORING_CQE_F_SOCK_NONEMPTY;
}

#endif
