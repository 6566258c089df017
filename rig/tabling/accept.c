// SPDX-License-Identifier: GPL-2.0
/* rig/tables: a server of short echo connections, by single or multishot accepts */
/*
 *	accept single|multi CONNECTIONS
 *
 * A client in a process of its own opens CONNECTIONS, at most WINDOW at a time.  Each brings
 * HELLO bytes, gets them back, and is closed by the server first.  The server accepts, receives,
 * sends and closes by requests.  "clock" is what clock() says that the server has used, "nsec" the
 * time on the wall.
 */
#include "tables.h"

#include <sys/epoll.h>

#define HELLO		128
/* less than any limit of a backlog or of descriptors */
#define WINDOW		100
#define NR_FDS		1024

enum what { ACCEPTED, RECEIVED, SENT, CLOSED, NR_WHATS };

static struct iou ring;
static char bytes[NR_FDS][HELLO];
static int listener;
static bool multi;
static unsigned long closed;

static struct io_uring_sqe *prep(int op, int fd, void *addr, unsigned int len, enum what what)
{
	struct io_uring_sqe *sqe;

	need(&ring, 1);
	sqe = iou_prep(&ring, op, fd, addr, len, 0);
	sqe->user_data = fd * NR_WHATS + what;
	return sqe;
}

static void prep_accept(void)
{
	struct io_uring_sqe *sqe = prep(IORING_OP_ACCEPT, listener, NULL, 0, ACCEPTED);

	if (multi)
		sqe->ioprio = IORING_ACCEPT_MULTISHOT;
}

static void take(const struct io_uring_cqe *cqe)
{
	int fd = cqe->user_data / NR_WHATS;

	switch ((enum what)(cqe->user_data % NR_WHATS)) {
	case ACCEPTED:
		if (cqe->res == -EINVAL && multi)
			lacks("this kernel has no multishot accept (Linux 5.19)");
		fd = must(cqe->res, "accept");
		if (fd >= NR_FDS)
			fail("descriptor %d is too high", fd);
		if (!(cqe->flags & IORING_CQE_F_MORE))
			prep_accept();
		prep(IORING_OP_RECV, fd, bytes[fd], HELLO, RECEIVED);
		break;
	case RECEIVED:
		if (cqe->res != HELLO)
			fail("a message of %d bytes", cqe->res);
		prep(IORING_OP_SEND, fd, bytes[fd], HELLO, SENT);
		break;
	case SENT:
		if (cqe->res != HELLO)
			fail("an echo of %d bytes", cqe->res);
		prep(IORING_OP_CLOSE, fd, NULL, 0, CLOSED);
		break;
	default:
		must(cqe->res, "close");
		closed++;
	}
}

static void serve(unsigned long nr)
{
	struct io_uring_cqe cqe;

	prep_accept();
	while (closed < nr) {
		must(iou_submit_wait(&ring, 1), "io_uring_enter");
		while (iou_ready(&ring)) {
			cqe = *iou_cqe_at(&ring, 0);
			iou_seen(&ring, 1);
			take(&cqe);
		}
	}
}

/* The reset that it sends leaves no trace of a connection in the tables of ports. */
static void close_now(int fd)
{
	struct linger none = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

static void start_one(int epoll, const struct sockaddr_in *addr)
{
	struct epoll_event event = { .events = EPOLLIN };
	char hello[HELLO] = "hello";
	int fd = connect_to(addr);

	send_all(fd, hello, HELLO);
	event.data.fd = fd;
	must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void be_clients(const struct sockaddr_in *addr, unsigned long nr)
{
	unsigned long started = 0, done = 0;
	int epoll = must(epoll_create1(0), "epoll_create1");
	struct epoll_event events[WINDOW];
	char echo[HELLO];
	int i, n;

	while (done < nr) {
		for (; started < nr && started - done < WINDOW; started++)
			start_one(epoll, addr);
		n = must(epoll_wait(epoll, events, WINDOW, IOU_PATIENCE), "epoll_wait");
		if (!n)
			fail("the server says nothing for %d s", IOU_PATIENCE / 1000);
		for (i = 0; i < n; i++) {
			if (must(recv(events[i].data.fd, echo, HELLO, 0), "recv"))
				continue;
			close_now(events[i].data.fd);
			done++;
		}
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned long long begin;
	struct sockaddr_in addr;
	unsigned long nr;
	clock_t used;
	pid_t child;
	int go;

	if (argc != 3)
		fail("usage: accept single|multi CONNECTIONS");
	alarm(LIMIT);
	multi = !strcmp(argv[1], "multi");
	nr = above_zero(argv[2]);
	listener = open_listener(&addr);
	child = fork_child(&go);
	if (!child)
		be_clients(&addr, nr);
	open_ring(&ring, 512, 4096);
	begin = now_ns();
	used = clock();
	start_child(go);
	serve(nr);
	printf("clock %ld\nnsec %llu\n", (long)(clock() - used), now_ns() - begin);
	child_was_well(child);
	return 0;
}
