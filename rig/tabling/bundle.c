// SPDX-License-Identifier: GPL-2.0
/* rig/tables: a proxy of 32-byte messages, with and without bundles */
/*
 *	bundle plain|bundle MESSAGES
 *
 * One process sends MESSAGES on a connection, this one passes them on to another connection, and
 * a third process reads them there.  A multishot request receives into provided buffers of SIZE
 * bytes.  "plain" sends each buffer by a request of its own, one at a time, which keeps the order.
 * "bundle" receives and sends as many buffers at once as there are.  "nsec" is the time until the
 * last message has left, "clock" the proxy's own part.  The source sends many messages by one call,
 * so that the proxy is what is measured.
 */
#include "tables.h"

#define SIZE		32
#define NR_BUFS		1024
/* messages of one call */
#define AT_ONCE		64

enum what { RECEIVED = 1, SENT };

/* Buffers in the order in which they are given to the kernel, or wait to be sent. */
struct fifo {
	unsigned int	head, tail;
	unsigned short	bids[NR_BUFS];
};

static struct iou ring;
static struct group in, out;
static struct fifo given, waiting;
static unsigned short lens[NR_BUFS];
static int from, to;
static bool bundle, receiving, sending;
static unsigned long long passed;

static void push(struct fifo *fifo, unsigned int bid)
{
	fifo->bids[fifo->tail++ % NR_BUFS] = bid;
}

static unsigned int pop(struct fifo *fifo)
{
	if (fifo->head == fifo->tail)
		fail("the kernel says that it used more buffers than it had");
	return fifo->bids[fifo->head++ % NR_BUFS];
}

static void give(unsigned int bid)
{
	provide(&in, in.mem, bid, SIZE);
	push(&given, bid);
}

static void prep_recv(void)
{
	struct io_uring_sqe *sqe = iou_prep(&ring, IORING_OP_RECV, from, NULL, 0, 0);

	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->ioprio = IORING_RECV_MULTISHOT | (bundle ? IORING_RECVSEND_BUNDLE : 0);
	sqe->buf_group = 0;
	sqe->user_data = RECEIVED;
	receiving = true;
}

static void prep_send(void)
{
	unsigned int bid = waiting.bids[waiting.head % NR_BUFS];
	struct io_uring_sqe *sqe;

	if (bundle) {
		publish(&out);
		sqe = iou_prep(&ring, IORING_OP_SEND, to, NULL, 0, 0);
		sqe->flags = IOSQE_BUFFER_SELECT;
		sqe->ioprio = IORING_RECVSEND_BUNDLE;
		sqe->buf_group = 1;
	} else {
		sqe = iou_prep(&ring, IORING_OP_SEND, to, in.mem + bid * SIZE, lens[bid], 0);
	}
	sqe->msg_flags = MSG_WAITALL | MSG_NOSIGNAL;
	sqe->user_data = SENT;
	sending = true;
}

static void take_received(const struct io_uring_cqe *cqe)
{
	int left = cqe->res;
	unsigned int bid;

	receiving = cqe->flags & IORING_CQE_F_MORE;
	if (left == -ENOBUFS)
		return;
	if (left <= 0)
		fail("receive: %s", left ? strerror(-left) : "the source has ended early");
	if (given.bids[given.head % NR_BUFS] != cqe->flags >> IORING_CQE_BUFFER_SHIFT)
		fail("a buffer was taken out of order");
	for (; left > 0; left -= SIZE) {
		bid = pop(&given);
		lens[bid] = left < SIZE ? left : SIZE;
		push(&waiting, bid);
		if (bundle)
			provide(&out, in.mem, bid, lens[bid]);
	}
}

static void take_sent(const struct io_uring_cqe *cqe)
{
	int left = must(cqe->res, "send");
	unsigned int bid;

	sending = false;
	passed += left;
	while (left > 0) {
		bid = pop(&waiting);
		left -= lens[bid];
		give(bid);
	}
	if (left < 0)
		fail("a send of %d bytes has left a part of a buffer", cqe->res);
}

static void serve(unsigned long long want)
{
	struct io_uring_cqe cqe;

	while (passed < want) {
		if (!receiving && given.head != given.tail)
			prep_recv();
		if (!sending && waiting.head != waiting.tail)
			prep_send();
		must(iou_submit_wait(&ring, 1), "io_uring_enter");
		while (iou_ready(&ring)) {
			cqe = *iou_cqe_at(&ring, 0);
			iou_seen(&ring, 1);
			if (cqe.user_data == SENT)
				take_sent(&cqe);
			else
				take_received(&cqe);
		}
		publish(&in);
	}
}

static void be_source(int fd, unsigned long nr)
{
	static char messages[AT_ONCE * SIZE];
	unsigned long n;

	for (; nr; nr -= n) {
		n = nr < AT_ONCE ? nr : AT_ONCE;
		send_all(fd, messages, n * SIZE);
	}
	_exit(0);
}

static void be_sink(int fd, unsigned long long left)
{
	static char buf[1 << 16];
	ssize_t n;

	for (; left; left -= n) {
		n = must(recv(fd, buf, sizeof(buf), 0), "recv");
		if (!n)
			fail("the proxy has ended early");
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int source[2], sink[2], go_source, go_sink;
	unsigned long long begin;
	pid_t sender, receiver;
	unsigned long nr;
	unsigned int i;
	clock_t used;

	if (argc != 3)
		fail("usage: bundle plain|bundle MESSAGES");
	alarm(LIMIT);
	bundle = !strcmp(argv[1], "bundle");
	nr = above_zero(argv[2]);
	connect_pair(source);
	connect_pair(sink);
	sender = fork_child(&go_source);
	if (!sender)
		be_source(source[0], nr);
	receiver = fork_child(&go_sink);
	if (!receiver)
		be_sink(sink[1], (unsigned long long)nr * SIZE);
	from = source[1];
	to = sink[0];
	open_ring(&ring, 64, 4 * NR_BUFS);
	if (bundle && !(ring.p.features & IORING_FEAT_RECVSEND_BUNDLE))
		lacks("this kernel has no bundles of buffers (Linux 6.10)");
	open_group(&ring, &in, 0, NR_BUFS, SIZE);
	if (bundle)
		open_group(&ring, &out, 1, NR_BUFS, SIZE);
	for (i = 0; i < NR_BUFS; i++)
		give(i);
	publish(&in);
	begin = now_ns();
	used = clock();
	start_child(go_sink);
	start_child(go_source);
	serve((unsigned long long)nr * SIZE);
	printf("nsec %llu\nclock %ld\n", now_ns() - begin, (long)(clock() - used));
	child_was_well(sender);
	child_was_well(receiver);
	return 0;
}
