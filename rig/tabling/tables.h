/* SPDX-License-Identifier: GPL-2.0 */
/* rig/tables: sockets, buffer rings and failure, for each of its programs */
/*
 * A program makes one run and prints lines of a name and numbers.  It ends with 0, with 2 where
 * the kernel lacks what the run needs, and with 1 for any other failure; stderr says why.  After
 * LIMIT seconds SIGALRM ends it.
 */
#ifndef TABLES_H
#define TABLES_H

#include "../../tools/testing/selftests/io_uring/iou.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define LIMIT		120
#define RING_FLAGS	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

__attribute__((noreturn, format(printf, 2, 3)))
static inline void end_with(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

#define fail(...)	end_with(1, __VA_ARGS__)
#define lacks(...)	end_with(2, __VA_ARGS__)

/* @ret as it is, unless it is an error of the call @what. */
static inline int must(int ret, const char *what)
{
	if (ret < 0)
		fail("%s: %s", what, strerror(ret == -1 && errno ? errno : -ret));
	return ret;
}

static inline unsigned long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* --- rings ---------------------------------------------------------------- */

/* Older kernels do not know all flags; the first set that they take is printed. */
static inline void open_ring(struct iou *r, unsigned int sq, unsigned int cq)
{
	static const unsigned int tries[] = { RING_FLAGS, IORING_SETUP_COOP_TASKRUN, 0 };
	unsigned int i;
	int ret = -EINVAL;

	for (i = 0; ret == -EINVAL && i < ARRAY_LEN(tries); i++)
		ret = iou_init_cq(r, sq, cq, tries[i]);
	must(ret, "io_uring_setup");
	printf("flags %x\n", r->flags & ~IORING_SETUP_CQSIZE);
}

/* Submit where less than @nr SQEs are free, so that the next ones are there. */
static inline void need(struct iou *r, unsigned int nr)
{
	if (iou_sq_room(r) < nr)
		must(iou_submit_wait(r, 0), "io_uring_enter");
}

/* A ring of provided buffers, @size bytes each, all of them in it. */
struct group {
	struct io_uring_buf_ring	*ring;
	char				*mem;
	unsigned int			nr;
	unsigned int			size;
	unsigned short			tail;
};

/* Buffer @bid, with @len bytes, goes behind the others; publish() shows it to the kernel. */
static inline void provide(struct group *g, char *mem, unsigned int bid, unsigned int len)
{
	struct io_uring_buf *buf = (struct io_uring_buf *)g->ring + (g->tail++ & (g->nr - 1));

	buf->addr = (uintptr_t)mem + bid * g->size;
	buf->len = len;
	buf->bid = bid;
}

static inline void publish(struct group *g)
{
	store_rel(&g->ring->tail, g->tail);
}

static inline void open_group(struct iou *r, struct group *g, unsigned int id, unsigned int nr,
			      unsigned int size)
{
	struct io_uring_buf_reg reg = { .ring_entries = nr, .bgid = id };
	int ret;

	*g = (struct group) { .nr = nr, .size = size };
	g->ring = iou_map_anon(iou_page_up(nr * sizeof(struct io_uring_buf)));
	g->mem = iou_map_anon(iou_page_up(nr * size));
	if (!g->ring || !g->mem)
		fail("no memory for buffers");
	reg.ring_addr = (uintptr_t)g->ring;
	ret = iou_register(r, IORING_REGISTER_PBUF_RING, &reg, 1);
	if (ret == -EINVAL)
		lacks("this kernel has no rings of provided buffers (Linux 5.19)");
	must(ret, "IORING_REGISTER_PBUF_RING");
}

/* --- processes and sockets ------------------------------------------------ */

static inline unsigned long above_zero(const char *text)
{
	char *end;
	unsigned long nr = strtoul(text, &end, 10);

	if (*end || !nr)
		fail("'%s' is no number above 0", text);
	return nr;
}

/* Fork; the child waits for start_child() and ends with its parent.  Return: 0 in the child. */
static inline pid_t fork_child(int *go)
{
	int fds[2];
	pid_t pid;
	char byte;

	fflush(NULL);
	must(pipe(fds), "pipe");
	pid = must(fork(), "fork");
	if (pid) {
		close(fds[0]);
		*go = fds[1];
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(fds[1]);
	alarm(LIMIT);
	if (read(fds[0], &byte, 1) != 1)
		_exit(1);
	return 0;
}

static inline void start_child(int go)
{
	if (write(go, "", 1) != 1)
		fail("a child does not start");
	close(go);
}

static inline void child_was_well(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0), "waitpid");
	if (status)
		fail("a client failed");
}

static inline int open_listener(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");

	*addr = (struct sockaddr_in) {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	must(bind(fd, (struct sockaddr *)addr, sizeof(*addr)), "bind");
	must(listen(fd, 4096), "listen");
	must(getsockname(fd, (struct sockaddr *)addr, &len), "getsockname");
	return fd;
}

static inline void no_delay(int fd)
{
	int one = 1;

	must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), "TCP_NODELAY");
}

static inline int connect_to(const struct sockaddr_in *addr)
{
	int fd = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");

	must(connect(fd, (const struct sockaddr *)addr, sizeof(*addr)), "connect");
	no_delay(fd);
	return fd;
}

/* Both ends of a connection over the loopback device. */
static inline void connect_pair(int ends[2])
{
	struct sockaddr_in addr;
	int fd = open_listener(&addr);

	ends[0] = connect_to(&addr);
	ends[1] = must(accept(fd, NULL, NULL), "accept");
	no_delay(ends[1]);
	close(fd);
}

static inline void send_all(int fd, const void *buf, size_t len)
{
	while (len) {
		ssize_t n = must(send(fd, buf, len, MSG_NOSIGNAL), "send");

		buf = (const char *)buf + n;
		len -= n;
	}
}

#endif
