// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: much data through sockets and provided buffers, by bundles at both ends */
#include <pthread.h>
#include "sock.h"

#define GROUP	5
#define SLOTS	128

#include "group.h"

#define BYTES	(256 * 1024)
/* size of the sender's buffers, a multiple of a word */
#define PART	8192
#define PARTS	(BYTES / PART)

FIXTURE(flow) {
	struct iou r;
	struct io_uring_buf_ring *ring;
	char *mem;
};

FIXTURE_VARIANT(flow) {
	unsigned int flags;
};

IOU_KINDS(flow);

FIXTURE_SETUP(flow)
{
	self->ring = iou_map_anon(IOU_PAGE);
	self->mem = iou_map_anon(BYTES);
	ASSERT_NE(NULL, self->ring);
	ASSERT_NE(NULL, self->mem);
	ASSERT_EQ(0, iou_init(&self->r, 16, variant->flags));
}

FIXTURE_TEARDOWN(flow)
{
	iou_exit(&self->r);
	munmap(self->ring, IOU_PAGE);
	munmap(self->mem, BYTES);
}

/*
 * A sender of @bytes; after the time @end it stops early, and stores its total in @bytes.  @wrong
 * is the line number of a failure.
 */
struct source {
	int fd;
	unsigned long long bytes, end;
	unsigned int flags;
	int wrong;
};

/* Send pieces of different sizes. */
static void *send_pieces(void *arg)
{
	struct source *s = arg;
	unsigned long long at;
	unsigned int len = 1;
	char piece[4096];

	for (at = 0; at < s->bytes; at += len) {
		len = len * 7 % 3001 + 1;
		if (len > s->bytes - at)
			len = s->bytes - at;
		iou_fill_words(piece, sizeof(piece), at & ~7ULL);
		/* the call blocks until the whole piece was sent */
		if (send(s->fd, piece + at % 8, len, MSG_NOSIGNAL) != (ssize_t)len) {
			s->wrong = __LINE__;
			break;
		}
	}
	shutdown(s->fd, SHUT_WR);
	return NULL;
}

/* The sender's group of PARTS buffers: bytes @added to the group, and bytes @sent from it. */
struct parts {
	struct io_uring_buf_ring *ring;
	char *mem;
	unsigned long long added, sent;
};

/* Refill the buffers that were sent with the next data.  Return: true if there is data to send. */
static bool fill_parts(struct parts *p, struct source *s)
{
	if (p->added < s->bytes && iou_now_us() > s->end)
		s->bytes = p->added;
	while (p->added < s->bytes && p->added - p->sent < BYTES) {
		char *part = p->mem + p->added % BYTES;

		iou_fill_words(part, PART, p->added);
		add(p->ring, part, PART, p->added % BYTES / PART);
		p->added += PART;
	}
	return p->added > p->sent;
}

/*
 * Send one bundle after another, and add buffers while a bundle goes on.  Return: 0, or the line
 * number of a failure.
 */
static int send_parts(struct iou *r, struct source *s, struct parts *p)
{
	struct io_uring_cqe cqe = {};

	if (reg(r, GROUP, p->ring, SLOTS, 0, 0))
		return __LINE__;
	while (fill_parts(p, s)) {
		if (!(cqe.flags & IORING_CQE_F_MORE))
			prep_bundle(r, IORING_OP_SEND, s->fd, 0, 0);
		if (take(r, &cqe))
			return __LINE__;
		if (cqe.res <= 0 || cqe.res % PART || cqe.res > (int)(p->added - p->sent))
			return __LINE__;
		if (cqe.flags >> IORING_CQE_BUFFER_SHIFT != p->sent % BYTES / PART)
			return __LINE__;
		p->sent += cqe.res;
	}
	/* a bundle that goes on ends now with -ENOBUFS, as the group is empty */
	if (!(cqe.flags & IORING_CQE_F_MORE))
		return 0;
	return take(r, &cqe) || cqe.res != -ENOBUFS ? __LINE__ : 0;
}

/* Send like send_pieces(), but by bundles on a ring of this thread. */
static void *send_bundles(void *arg)
{
	struct source *s = arg;
	struct parts p = { .ring = iou_map_anon(IOU_PAGE), .mem = iou_map_anon(BYTES) };
	struct iou r;

	s->wrong = iou_init(&r, 16, s->flags) ? __LINE__ : send_parts(&r, s, &p);
	shutdown(s->fd, SHUT_WR);
	iou_exit(&r);
	munmap(p.ring, IOU_PAGE);
	munmap(p.mem, BYTES);
	return NULL;
}

/* A receiver with buffers of @size bytes; buffers 2n and 2n + 1 are adjacent in memory. */
struct sink {
	unsigned int size;
	bool inc;
	unsigned int bid, left;
	unsigned long long at;
};

static char *sink_buf(char *mem, const struct sink *s, unsigned int bid)
{
	return mem + bid * s->size + (bid & ~1U);
}

/* Check @len received bytes, and give the used buffers back.  Return: true if they are right. */
static bool sink_takes(struct sink *s, struct io_uring_buf_ring *ring, char *mem, unsigned int len)
{
	while (len) {
		unsigned int n = s->size - s->left;
		char *buf = sink_buf(mem, s, s->bid);

		if (n > len)
			n = len;
		if (!iou_follows(buf + s->left, n, &s->at))
			return false;
		len -= n;
		s->left += n;
		if (s->inc && s->left < s->size)
			break;
		s->left = 0;
		add(ring, buf, s->size, s->bid);
		s->bid = (s->bid + 1) % SLOTS;
	}
	return true;
}

static void flow_through(struct __test_metadata *_metadata, struct _test_data_flow *self, bool tcp,
			 void *(*sends)(void *), struct source from, struct sink s)
{
	struct io_uring_cqe cqe = {};
	struct iou *r = &self->r;
	pthread_t thread;
	unsigned int bid;
	int fds[2];

	ASSERT_EQ(0, sock_stream_pair(tcp, fds));
	memset(self->ring, 0, IOU_PAGE);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, s.inc ? IOU_PBUF_RING_INC : 0, 0));
	for (bid = 0; bid < SLOTS; bid++)
		add(self->ring, sink_buf(self->mem, &s, bid), s.size, bid);
	from.fd = fds[0];
	ASSERT_EQ(0, pthread_create(&thread, NULL, sends, &from));
	for (;;) {
		if (!(cqe.flags & IORING_CQE_F_MORE))
			prep_bundle(r, IORING_OP_RECV, fds[1], 0,
				    s.inc ? 0 : IORING_RECV_MULTISHOT);
		ASSERT_EQ(0, take(r, &cqe));
		if (cqe.res == -ENOBUFS)
			continue;
		ASSERT_LE(0, cqe.res);
		if (!cqe.res)
			break;
		ASSERT_EQ(s.bid, cqe.flags >> IORING_CQE_BUFFER_SHIFT);
		ASSERT_TRUE(sink_takes(&s, self->ring, self->mem, cqe.res));
		if (s.inc)
			EXPECT_EQ(s.left > 0, !!(cqe.flags & IORING_CQE_F_BUF_MORE));
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(from.bytes, s.at);
	EXPECT_EQ(0, from.wrong);
	ASSERT_EQ(0, unreg(r, GROUP));
	sock_close_pair(fds);
}

/* Receive through buffers that are given back after use; all bytes arrive in order. */
TEST_F(flow, pieces)
{
	const struct source from = { .bytes = iou_rounds(400) * 1000 };
	unsigned int tcp, inc;

	for (inc = 0; inc < 2; inc++)
		for (tcp = 0; tcp < 2; tcp++)
			flow_through(_metadata, self, tcp, send_pieces, from,
				     (struct sink){ .size = tcp ? 32 : 1000, .inc = inc });
}

/* Return: a sender of 4 MiB, of 1 GiB in the soak, or of less with large SQEs and CQEs. */
static struct source bundles_of(unsigned int flags)
{
	unsigned long rounds = iou_rounds(getenv("IOU_SOAK") ? 41 : 16);

	return (struct source){
		.bytes = (flags & IOU_LARGE ? 1 + rounds / 5 : rounds) * BYTES,
		.end = iou_race_end(),
		.flags = flags,
	};
}

TEST_F(flow, bundles_tcp)
{
	flow_through(_metadata, self, true, send_bundles, bundles_of(variant->flags),
		     (struct sink){ .size = 2000 });
}

TEST_F(flow, bundles_unix)
{
	flow_through(_metadata, self, false, send_bundles, bundles_of(variant->flags),
		     (struct sink){ .size = 2000 });
}

TEST_HARNESS_MAIN
