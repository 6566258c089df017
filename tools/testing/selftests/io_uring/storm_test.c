// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: storms of receives, cancels, messages and buffer groups */
#include <pthread.h>
#include "sock.h"

#define GROUP	5
#define SLOTS	16
#define PIECE	64

#include "group.h"

/*
 * Many sockets, few buffers and a small CQ: multishot receives end without buffers,
 * without room in the CQ, and by cancels, while messages arrive.
 */
#define CROWD		64
#define MESSAGE		1000
#define CANCEL		2000

struct crowd {
	struct iou r;
	struct io_uring_buf_ring *ring;
	char *mem;
	unsigned int seed, sqe_flags;
	unsigned int sends;		/* number of sends by crowd_talk(), until @end */
	unsigned long long end;
	int fds[CROWD][2];
	unsigned int sent[CROWD], got[CROWD];
	bool armed[CROWD];
	bool given[SLOTS];		/* the buffer is in the group */
	unsigned int told;		/* buffers that CQEs have named */
	unsigned int live;		/* armed receives */
	unsigned int cancels;		/* cancels without a CQE yet */
	unsigned int messages;		/* messages received */
	unsigned int total;		/* bytes received */
	bool talked, posted, stop;
	unsigned int posts;		/* all messages sent */
	unsigned long long bytes;	/* all bytes sent */
};

FIXTURE(crowd) {
	struct crowd *c;
};

FIXTURE_VARIANT(crowd) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(crowd);
IOU_KINDS_ASYNC(crowd);

/* A quarter of the sockets use TCP, which reports whether there is more data. */
FIXTURE_SETUP(crowd)
{
	const char *seed = getenv("IOU_SEED");
	struct crowd *c = calloc(1, sizeof(*c));
	unsigned int i;

	self->c = c;
	c->seed = seed ? strtoul(seed, NULL, 0) : iou_now_us();
	c->sqe_flags = variant->sqe_flags;
	c->ring = iou_map_anon(IOU_PAGE);
	c->mem = iou_map_anon(IOU_PAGE);
	for (i = 0; i < CROWD; i++)
		ASSERT_EQ(0, sock_stream_pair(i % 4 == 0, c->fds[i]));
	ASSERT_EQ(0, iou_init_cq(&c->r, 32, 32, variant->flags));
}

FIXTURE_TEARDOWN(crowd)
{
	struct crowd *c = self->c;
	unsigned int i;

	iou_exit(&c->r);
	for (i = 0; i < CROWD; i++)
		sock_close_pair(c->fds[i]);
	munmap(c->ring, IOU_PAGE);
	munmap(c->mem, IOU_PAGE);
	free(c);
}

static void crowd_give(struct crowd *c, unsigned int bid)
{
	c->given[bid] = true;
	add(c->ring, c->mem + bid * PIECE, PIECE, bid);
}

/* Send pieces of all sizes to random sockets. */
static void *crowd_talk(void *arg)
{
	struct crowd *c = arg;
	unsigned int i, seed = c->seed + 1;
	char piece[4 * PIECE];

	for (i = 0; i < c->sends && iou_now_us() < c->end; i++) {
		unsigned int x = rand_r(&seed), k = x / 64 % CROWD, len = 1 + x / 4096 % 200;

		iou_fill(piece, len, c->sent[k], k);
		if (send(c->fds[k][0], piece, len, MSG_NOSIGNAL) != (int)len)
			break;
		c->sent[k] += len;
		c->bytes += len;
		if (x % 64 == 0)
			usleep(100);
	}
	store_rel(&c->talked, true);
	return NULL;
}

/* Send numbered messages until @stop is set, and pause while many were not consumed. */
static void *crowd_post(void *arg)
{
	struct crowd *c = arg;
	unsigned int i, n = 0;
	struct iou r;

	if (iou_init(&r, 8, 0))
		return NULL;
	while (!load_acq(&c->stop)) {
		if (n - load_acq(&c->messages) > 8 * SLOTS) {
			usleep(100);
			continue;
		}
		for (i = 0; i < 8; i++)
			iou_prep(&r, IORING_OP_MSG_RING, c->r.fd, (void *)IORING_MSG_DATA, n + i,
				 MESSAGE);
		if (iou_submit(&r) != 8 || iou_discard(&r, 8))
			break;
		n += 8;
		usleep(n % 7 * 100);
	}
	c->posts = n;
	iou_exit(&r);
	store_rel(&c->posted, true);
	return NULL;
}

/* Count a CQE of a receive, and give its buffer back.  Return: true if the CQE is right. */
static bool crowd_received(struct crowd *c, const struct io_uring_cqe *cqe)
{
	unsigned int k = cqe->user_data, bid = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	bool more = cqe->flags & IORING_CQE_F_MORE, fine = k < CROWD && c->armed[k];

	if (!fine)
		return false;
	if (!more) {
		c->armed[k] = false;
		c->live--;
	}
	if (cqe->flags & IORING_CQE_F_BUFFER) {
		if (bid >= SLOTS || !c->given[bid])
			return false;
		if (cqe->res > 0) {
			fine = iou_verify(c->mem + bid * PIECE, cqe->res, c->got[k], k) == -1;
			c->got[k] += cqe->res;
			c->total += cqe->res;
		}
		c->told++;
		crowd_give(c, bid);
	}
	if (cqe->res <= 0)
		fine = !more && (cqe->res == -ENOBUFS || cqe->res == -ECANCELED ||
				 cqe->res == -EINTR);
	return fine;
}

/* Consume CQEs until a CQE is wrong.  Return: true if all are right; otherwise *cqe is wrong. */
static bool crowd_reap(struct crowd *c, struct io_uring_cqe *cqe)
{
	bool fine = true;

	while (fine && iou_ready(&c->r)) {
		memcpy(cqe, iou_cqe_at(&c->r, 0), 16);
		iou_seen(&c->r, 1);
		if (cqe->user_data == MESSAGE) {
			fine = cqe->res == (int)c->messages;
			store_rel(&c->messages, c->messages + 1);
		} else if (cqe->user_data == CANCEL) {
			c->cancels--;
			fine = cqe->res >= 0 || cqe->res == -ENOENT || cqe->res == -EALREADY;
		} else {
			fine = crowd_received(c, cqe);
		}
	}
	return fine;
}

static void crowd_prep_cancel(struct crowd *c, unsigned int k, unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(&c->r, IORING_OP_ASYNC_CANCEL, c->fds[k][1], NULL, 0,
					    0);

	sqe->addr = k;
	sqe->cancel_flags = flags;
	sqe->user_data = CANCEL;
	c->cancels++;
}

/* Arm the receives that have ended, as far as the SQ has room. */
static void crowd_arm(struct crowd *c)
{
	unsigned int n, k = rand_r(&c->seed) % CROWD;

	for (n = 0; n < CROWD && iou_sq_room(&c->r); n++, k = (k + 1) % CROWD) {
		struct io_uring_sqe *sqe;

		if (c->armed[k])
			continue;
		sqe = iou_prep(&c->r, IORING_OP_RECV, c->fds[k][1], NULL, 0, 0);
		sqe->ioprio = IORING_RECV_MULTISHOT;
		sqe->flags = c->sqe_flags | IOSQE_BUFFER_SELECT;
		sqe->buf_group = GROUP;
		sqe->user_data = k;
		c->armed[k] = true;
		c->live++;
	}
}

#define EXPECT_NONE_WRONG(c) do {					\
	struct io_uring_cqe cqe_;					\
									\
	ASSERT_TRUE(crowd_reap((c), &cqe_)) {				\
		TH_LOG("user_data %llu, result %d, flags %x",		\
		       cqe_.user_data, cqe_.res, cqe_.flags);		\
	}								\
} while (0)

/* Print the state of a test that hangs. */
static void crowd_log(struct crowd *c)
{
	unsigned int k;

	printf("# talked %d, %u of %llu bytes, %u of %u messages, %u live, %u cancels, %u told\n",
	       c->talked, c->total, c->bytes, c->messages, c->posts, c->live, c->cancels, c->told);
	for (k = 0; k < CROWD; k++) {
		if (c->got[k] < c->sent[k])
			printf("# socket %u: armed %d, %u of %u bytes\n", k, c->armed[k],
			       c->got[k], c->sent[k]);
	}
}

/*
 * Each receive ends with one CQE, and no byte is lost or reported twice.  Messages arrive
 * in order.  Each buffer is in its group, or a CQE has named it.
 */
TEST_F(crowd, few_buffers)
{
	unsigned long long end;
	struct crowd *c = self->c;
	pthread_t talker, poster;

	c->sends = iou_rounds(300);
	c->end = iou_race_end();
	end = c->end + 3000ULL * IOU_PATIENCE;
	ASSERT_EQ(0, reg(&c->r, GROUP, c->ring, SLOTS, 0, 0));
	while (c->told < SLOTS)
		crowd_give(c, c->told++);
	c->told = 0;
	ASSERT_EQ(0, pthread_create(&talker, NULL, crowd_talk, c));
	ASSERT_EQ(0, pthread_create(&poster, NULL, crowd_post, c));
	while (!load_acq(&c->talked) || c->total < c->bytes || !c->messages) {
		ASSERT_GT(end, iou_now_us()) {
			crowd_log(c);
		}
		crowd_prep_cancel(c, rand_r(&c->seed) % CROWD, 0);
		crowd_arm(c);
		ASSERT_LE(0, iou_submit(&c->r));
		/* At least the cancel has a CQE.  Enter in any case, to run task work. */
		ASSERT_EQ(0, iou_wait_ms(&c->r, 1, IOU_PATIENCE)) {
			crowd_log(c);
		}
		EXPECT_NONE_WRONG(c);
	}
	store_rel(&c->stop, true);
	while (!load_acq(&c->posted) || c->messages < c->posts || c->live || c->cancels) {
		ASSERT_GT(end, iou_now_us()) {
			crowd_log(c);
		}
		if (c->live && !c->cancels) {
			crowd_prep_cancel(c, 0, IORING_ASYNC_CANCEL_ANY);
			ASSERT_LE(0, iou_submit(&c->r));
		}
		/* only a pending cancel is sure to post a CQE */
		if (!c->cancels)
			iou_wait_ms(&c->r, 1, 1);
		else
			ASSERT_EQ(0, iou_wait_ms(&c->r, 1, IOU_PATIENCE)) {
				crowd_log(c);
			}
		EXPECT_NONE_WRONG(c);
	}
	pthread_join(talker, NULL);
	pthread_join(poster, NULL);
	/* no CQE follows */
	iou_wait_ms(&c->r, 1, 5);
	EXPECT_EQ(0, iou_ready(&c->r));
	EXPECT_EQ(c->bytes, c->total);
	EXPECT_LT(0, c->messages);
	EXPECT_EQ((__u16)c->told, head(&c->r, GROUP));
}

/*
 * A buffer group changes its kind, is removed and comes back while data arrives.  Each
 * generation of the group has its own buffers, so the data in older buffers stays valid.
 */
#define GENERATIONS	8
#define NR_BIDS		(GENERATIONS * SLOTS)
#define PROVIDE		1000

struct change {
	struct iou *r;
	struct io_uring_buf_ring *ring;	/* memory of the program, or mapped */
	char *mem;
	int fds[2];
	unsigned int seed, sqe_flags, generation;
	unsigned long long at;		/* bytes received */
	bool armed, given[NR_BIDS];
	bool stop;
};

FIXTURE(groups) {
	struct iou r;
	struct change c;
};

FIXTURE_VARIANT(groups) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(groups);
IOU_KINDS_ASYNC(groups);

FIXTURE_SETUP(groups)
{
	const char *seed = getenv("IOU_SEED");
	struct change *c = &self->c;

	c->r = &self->r;
	c->seed = seed ? strtoul(seed, NULL, 0) : iou_now_us();
	c->sqe_flags = variant->sqe_flags;
	c->mem = iou_map_anon(NR_BIDS * PIECE);
	ASSERT_EQ(0, sock_tcp_pair(c->fds));
	ASSERT_EQ(0, iou_init(c->r, 16, variant->flags));
}

FIXTURE_TEARDOWN(groups)
{
	iou_exit(&self->r);
	sock_close_pair(self->c.fds);
	munmap(self->c.mem, NR_BIDS * PIECE);
}

/* Send as fast as the data is received, until @stop is set. */
static void *change_send(void *arg)
{
	struct change *c = arg;
	unsigned long long at;
	char piece[512];
	ssize_t ret;

	for (at = 0; !load_acq(&c->stop); at += ret) {
		iou_fill_words(piece, sizeof(piece), at & ~7ULL);
		ret = send(c->fds[0], piece + at % 8, 1 + at % 400, MSG_NOSIGNAL);
		if (ret <= 0)
			break;
	}
	return NULL;
}

static off_t change_offset(void)
{
	return IORING_OFF_PBUF_RING | (unsigned long long)GROUP << IORING_OFF_PBUF_SHIFT;
}

/* Map and read the kernel's memory of the group, if it has any, again and again. */
static void *change_map(void *arg)
{
	struct change *c = arg;
	unsigned int sum = 0;

	while (!load_acq(&c->stop)) {
		struct io_uring_buf_ring *ring = mmap(NULL, IOU_PAGE, PROT_READ, MAP_SHARED,
						      c->r->fd, change_offset());

		if (ring == MAP_FAILED) {
			usleep(50);
			continue;
		}
		sum += load_acq(&ring->tail);
		sched_yield();
		sum += load_acq(&ring->tail);
		munmap(ring, IOU_PAGE);
	}
	return sum ? NULL : arg;
}

/* Give @nr buffers of the next generation to the group, by its ring or by PROVIDE_BUFFERS. */
static void change_give(struct change *c, unsigned int nr)
{
	unsigned int i, bid = ++c->generation % GENERATIONS * SLOTS;

	if (!c->ring) {
		struct io_uring_sqe *sqe = iou_prep(c->r, IORING_OP_PROVIDE_BUFFERS, nr,
						    c->mem + bid * PIECE, PIECE, bid);

		sqe->buf_group = GROUP;
		sqe->user_data = PROVIDE;
	}
	for (i = 0; i < nr; i++) {
		c->given[bid + i] = true;
		if (c->ring)
			add(c->ring, c->mem + (bid + i) * PIECE, PIECE, bid + i);
	}
}

/* Check a CQE of the receive or of another request.  Return: true if it is right. */
static bool change_seen(struct change *c, const struct io_uring_cqe *cqe)
{
	unsigned int bid = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	bool more = cqe->flags & IORING_CQE_F_MORE;

	if (cqe->user_data == PROVIDE)
		return !cqe->res;
	if (cqe->user_data == CANCEL)
		return cqe->res >= 0 || cqe->res == -ENOENT || cqe->res == -EALREADY;
	if (!c->armed)
		return false;
	c->armed = more;
	if (cqe->flags & IORING_CQE_F_BUFFER) {
		if (bid >= NR_BIDS || !c->given[bid])
			return false;
		c->given[bid] = false;
	}
	if (cqe->res > 0)
		return iou_follows(c->mem + bid * PIECE, cqe->res, &c->at);
	return !more && (cqe->res == -ENOBUFS || cqe->res == -ECANCELED || cqe->res == -EINTR);
}

/*
 * Submit all SQEs, wait for @nr CQEs for a moment, and consume the CQEs that have come.
 * Return: true if they are right.
 */
static bool change_go(struct change *c, unsigned int nr)
{
	struct io_uring_cqe cqe;

	if (iou_submit(c->r) < 0)
		return false;
	iou_wait_ms(c->r, nr, 2);
	while (iou_ready(c->r)) {
		memcpy(&cqe, iou_cqe_at(c->r, 0), 16);
		iou_seen(c->r, 1);
		if (!change_seen(c, &cqe)) {
			printf("# user_data %llu, result %d, flags %x, at %llu\n", cqe.user_data,
			       cqe.res, cqe.flags, c->at);
			return false;
		}
	}
	return true;
}

static void change_arm(struct change *c)
{
	struct io_uring_sqe *sqe;

	if (c->armed)
		return;
	sqe = iou_prep(c->r, IORING_OP_RECV, c->fds[1], NULL, 0, 0);
	sqe->ioprio = IORING_RECV_MULTISHOT;
	sqe->flags = c->sqe_flags | IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	c->armed = true;
}

/* Cancel the receive until it has ended, by a cancel or for lack of buffers. */
static bool change_end(struct change *c)
{
	unsigned long long end = iou_now_us() + 1000ULL * IOU_PATIENCE;

	while (c->armed && iou_now_us() < end) {
		iou_prep(c->r, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0)->user_data = CANCEL;
		if (!change_go(c, 2))
			return false;
	}
	return !c->armed;
}

/* Remove unused buffers: the group becomes empty, and a ring can be registered for it. */
static bool change_remove(struct change *c)
{
	struct io_uring_sqe *sqe = iou_prep(c->r, IORING_OP_REMOVE_BUFFERS, SLOTS, NULL, 0, 0);

	sqe->buf_group = GROUP;
	sqe->user_data = CANCEL;
	return change_go(c, 1);
}

/* Map new memory at the ring's address: a registered group keeps the old memory. */
static bool change_memory(struct change *c)
{
	munmap(c->ring, IOU_PAGE);
	return mmap(c->ring, IOU_PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == c->ring;
}

/* Register a ring of buffers, in memory of the program or of the kernel. */
static bool change_register(struct change *c, bool mapped)
{
	if (!mapped)
		c->ring = iou_map_anon(IOU_PAGE);
	if (reg(c->r, GROUP, c->ring, SLOTS, mapped ? IOU_PBUF_RING_MMAP : 0, 0))
		return false;
	if (mapped)
		c->ring = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, c->r->fd,
			       change_offset());
	return c->ring != MAP_FAILED;
}

/*
 * Fill the group by PROVIDE_BUFFERS, then make it a buffer ring, then remove it.
 * Return: 0, or the line of a failure.
 */
static int change_round(struct change *c)
{
	unsigned int x = rand_r(&c->seed);
	bool mapped = x & 1;

	change_give(c, 1 + x / 4 % SLOTS);
	change_arm(c);
	if (!change_go(c, 1 + x / 4 % 4))
		return __LINE__;
	if (!change_end(c) || !change_remove(c))
		return __LINE__;
	/* no CQE may name one of the removed buffers later */
	memset(c->given, 0, sizeof(c->given));
	if (!change_register(c, mapped))
		return __LINE__;
	change_give(c, 1 + x / 64 % (SLOTS / 2));
	change_arm(c);
	if (!change_go(c, 1 + x / 64 % 4))
		return __LINE__;
	change_give(c, 1 + x / 1024 % (SLOTS / 2));
	change_arm(c);
	if (x & 2 && !mapped && !change_memory(c))
		return __LINE__;
	if (!change_go(c, 1))
		return __LINE__;
	if (unreg(c->r, GROUP))
		return __LINE__;
	munmap(c->ring, IOU_PAGE);
	c->ring = NULL;
	/* an armed receive uses buffers of the next group, or ends */
	return change_go(c, 0) ? 0 : __LINE__;
}

/* No received data is lost, even if the group is unregistered or mapped concurrently. */
TEST_F(groups, come_and_go)
{
	unsigned int i, rounds = iou_rounds(40);
	unsigned long long end = iou_race_end();
	struct change *c = &self->c;
	pthread_t sender, mapper;

	ASSERT_EQ(0, pthread_create(&sender, NULL, change_send, c));
	ASSERT_EQ(0, pthread_create(&mapper, NULL, change_map, c));
	for (i = 0; iou_race_goes_on(i, rounds, end); i++)
		ASSERT_EQ(0, change_round(c));
	EXPECT_TRUE(change_end(c));
	EXPECT_LT(i, c->at);
	store_rel(&c->stop, true);
	shutdown(c->fds[0], SHUT_RDWR);
	pthread_join(sender, NULL);
	pthread_join(mapper, NULL);
}

TEST_HARNESS_MAIN
