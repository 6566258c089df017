// SPDX-License-Identifier: GPL-2.0
/* rig/tables: bursts of small requests, received by multishot or single requests */
/*
 *	aux single|multi|eventfd BURST MS
 *
 * A client in a process of its own sends BURST requests of REQUEST bytes at once on each of
 * NR_CONNS connections, then waits for an answer of one byte on each.  The server receives into
 * buffers of REQUEST bytes, so a burst is BURST CQEs of one multishot request.  "eventfd" is
 * "multi" with an eventfd that hears of each CQE.  Requests are counted for MS milliseconds.
 */
#include "tables.h"

#include <sys/eventfd.h>

#define NR_CONNS	16
#define REQUEST		64
#define NR_BUFS		4096
#define MOST_BURST	64

/* What a CQE is for, in user_data: connection, or an answer that has been sent */
#define ANSWER		NR_CONNS

static struct iou ring;
static struct group group;
static bool multi;
static unsigned long burst;
static unsigned long long nr_bytes;

static struct conn {
	int		client;
	int		server;
	unsigned long	bytes;		/* of the burst that is being received */
	char		buf[REQUEST];
} conns[NR_CONNS];

static void prep_recv(unsigned int nr)
{
	struct conn *conn = &conns[nr];
	struct io_uring_sqe *sqe;

	need(&ring, 1);
	sqe = iou_prep(&ring, IORING_OP_RECV, conn->server, multi ? NULL : conn->buf,
		       multi ? 0 : REQUEST, 0);
	if (multi) {
		sqe->flags = IOSQE_BUFFER_SELECT;
		sqe->ioprio = IORING_RECV_MULTISHOT;
	}
	sqe->user_data = nr;
}

static void prep_answer(unsigned int nr)
{
	need(&ring, 1);
	iou_prep(&ring, IORING_OP_SEND, conns[nr].server, "!", 1, 0)->user_data = ANSWER;
}

static void take(const struct io_uring_cqe *cqe)
{
	unsigned int nr = cqe->user_data;
	struct conn *conn = &conns[nr];

	if (nr == ANSWER) {
		must(cqe->res, "send");
		return;
	}
	if (cqe->res == -EINVAL && multi)
		lacks("this kernel has no multishot receive (Linux 6.0)");
	if (cqe->res > 0) {
		if (multi)
			provide(&group, group.mem, cqe->flags >> IORING_CQE_BUFFER_SHIFT, REQUEST);
		nr_bytes += cqe->res;
		conn->bytes += cqe->res;
	} else if (cqe->res != -ENOBUFS) {
		fail("receive: %s", cqe->res ? strerror(-cqe->res) : "the client has ended");
	}
	if (!(cqe->flags & IORING_CQE_F_MORE))
		prep_recv(nr);
	if (conn->bytes == burst * REQUEST) {
		conn->bytes = 0;
		prep_answer(nr);
	}
}

static void serve(unsigned long long end)
{
	struct io_uring_cqe cqe;
	unsigned int i;

	for (i = 0; i < NR_CONNS; i++)
		prep_recv(i);
	while (now_ns() < end) {
		must(iou_submit_wait(&ring, 1), "io_uring_enter");
		while (iou_ready(&ring)) {
			cqe = *iou_cqe_at(&ring, 0);
			iou_seen(&ring, 1);
			take(&cqe);
		}
		if (multi)
			publish(&group);
	}
}

static void be_clients(void)
{
	static char requests[MOST_BURST * REQUEST];
	unsigned int i;
	char byte;

	for (;;) {
		for (i = 0; i < NR_CONNS; i++)
			send_all(conns[i].client, requests, burst * REQUEST);
		for (i = 0; i < NR_CONNS; i++)
			if (recv(conns[i].client, &byte, 1, 0) != 1)
				_exit(1);
	}
}

static void open_buffers(bool hear)
{
	int fd = hear ? must(eventfd(0, EFD_CLOEXEC), "eventfd") : -1;
	unsigned int i;

	open_group(&ring, &group, 0, NR_BUFS, REQUEST);
	for (i = 0; i < NR_BUFS; i++)
		provide(&group, group.mem, i, REQUEST);
	publish(&group);
	if (hear)
		must(iou_register(&ring, IORING_REGISTER_EVENTFD, &fd, 1), "register an eventfd");
}

int main(int argc, char **argv)
{
	unsigned long long begin, length;
	unsigned int i;
	pid_t child;
	int go;

	if (argc != 4)
		fail("usage: aux single|multi|eventfd BURST MS");
	alarm(LIMIT);
	multi = strcmp(argv[1], "single");
	burst = above_zero(argv[2]);
	if (burst > MOST_BURST)
		fail("a burst has at most %d requests", MOST_BURST);
	length = above_zero(argv[3]) * 1000000ULL;
	for (i = 0; i < NR_CONNS; i++) {
		int ends[2];

		connect_pair(ends);
		conns[i].client = ends[0];
		conns[i].server = ends[1];
	}
	child = fork_child(&go);
	if (!child)
		be_clients();
	open_ring(&ring, 256, NR_BUFS);
	if (multi)
		open_buffers(!strcmp(argv[1], "eventfd"));
	start_child(go);
	begin = now_ns();
	serve(begin + length);
	printf("requests %llu\nnsec %llu\n", nr_bytes / REQUEST, now_ns() - begin);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
