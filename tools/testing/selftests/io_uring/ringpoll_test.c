// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: rings and their eventfds as files that are polled */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "msg.h"
#include "poll.h"

static bool epoll_sees(int ep, int ms)
{
	struct epoll_event ev;
	int ret;

	do {
		ret = epoll_wait(ep, &ev, 1, ms);
	} while (ret < 0 && errno == EINTR);
	return ret == 1;
}

/* epoll on a ring reports each CQE that a poll posts to the ring. */
TEST_F(poll, epoll_on_ring)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct iou *r = &self->r;
	int ep = epoll_create1(0);
	unsigned int i;

	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, r->fd, &ev));
	EXPECT_FALSE(epoll_sees(ep, 0));
	prep_poll(r, self->p[0], POLLIN, MULTI, 1);
	ASSERT_LE(0, submit(r));
	for (i = 0; i < 50; i++) {
		EXPECT_FALSE(epoll_sees(ep, 0));
		ASSERT_EQ(1, write(self->p[1], "x", 1));
		ASSERT_TRUE(epoll_sees(ep, IOU_PATIENCE));
		EXPECT_CQE(r, 1, POLLIN, MORE);
		drain(self->p[0]);
	}
	close(ep);
}

/* Ways in which a CQE gets into a ring */
enum way {
	INLINE,
	BATCH,		/* many CQEs of one call */
	WORKER,
	EVENT,
	MESSAGE,
	WAYS
};

#define FULL	32	/* entries of a CQ that the test fills */

/* Cause a CQE in the given way; for EVENT a poll was armed before. */
static int send_by(struct iou *r, struct iou *other, int fd, enum way way)
{
	unsigned int i;

	switch (way) {
	case INLINE:
		iou_nop(r, 1);
		return submit(r);
	case BATCH:
		for (i = 0; i < FULL - 1; i++)
			iou_nop(r, 1);
		return submit(r);
	case WORKER:
		iou_nop(r, 1)->flags = IOSQE_ASYNC;
		return submit(r);
	case EVENT:
		return write(fd, "x", 1);
	default:
		return send_data(other, r->fd, 1, 0);
	}
}

/*
 * A program that has seen a full CQ waits for the next edge.  A CQE that overflows is
 * such an edge, but a later attempt to flush it into the full CQ is not.
 * Mutants: overflow-wakes-no-poll, own-overflow-wakes-no-poll.
 */
TEST_F(poll, overflow_is_an_edge)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	struct iou other;
	unsigned int i;
	enum way way;

	ASSERT_EQ(0, iou_init(&other, 8, 0));
	for (way = 0; way < WAYS; way++) {
		int ep = epoll_create1(0);
		struct iou r;

		ASSERT_EQ(0, iou_init_cq(&r, FULL, FULL, variant->flags));
		ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, r.fd, &ev));
		for (i = 0; i < FULL; i++)
			iou_nop(&r, i);
		ASSERT_LE(0, submit(&r));
		ASSERT_EQ(0, iou_wait(&r, FULL));
		EXPECT_TRUE(epoll_sees(ep, IOU_PATIENCE));
		if (way == EVENT) {
			prep_poll(&r, self->p[0], POLLIN, 0, 1);
			ASSERT_LE(0, submit(&r));
		}
		EXPECT_FALSE(epoll_sees(ep, 0));

		ASSERT_LE(0, send_by(&r, &other, self->p[1], way));
		EXPECT_TRUE(epoll_sees(ep, IOU_PATIENCE)) {
			TH_LOG("nothing was told of way %d", way);
		}
		/* an enter of the owner turns its task work into a CQE, which overflows */
		iou_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
		if (variant->flags & IORING_SETUP_DEFER_TASKRUN && way >= WORKER)
			EXPECT_TRUE(epoll_sees(ep, 0));
		EXPECT_TRUE(*r.sq_flags & IORING_SQ_CQ_OVERFLOW);
		/* 6.12 may report the overflow twice */
		epoll_sees(ep, 5);
		iou_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
		EXPECT_FALSE(epoll_sees(ep, 0));

		iou_seen(&r, FULL);
		iou_enter(&r, 0, 0, IORING_ENTER_GETEVENTS);
		EXPECT_TRUE(epoll_sees(ep, 0));
		EXPECT_LT(0, iou_ready(&r));
		drain(self->p[0]);
		iou_exit(&r);
		close(ep);
	}
	iou_exit(&other);
}

struct first_poller {
	pthread_barrier_t begin;
	pthread_barrier_t end;
	int fd;
	int ret;
};

static void *first_poll(void *arg)
{
	struct first_poller *first = arg;
	struct pollfd what = { .events = POLLIN };

	for (;;) {
		pthread_barrier_wait(&first->begin);
		what.fd = first->fd;
		if (what.fd < 0)
			return NULL;
		first->ret = poll(&what, 1, IOU_PATIENCE);
		pthread_barrier_wait(&first->end);
	}
}

/*
 * The first CQE of a ring comes just while a task polls the ring for the first time:
 * the poller is woken.  Mutant: first-poller-missed.
 */
TEST_F(poll, first_poller)
{
	unsigned long long end = iou_race_end(), begin;
	struct first_poller first;
	unsigned int round;
	pthread_t thread;
	struct iou r;

	ASSERT_EQ(0, pthread_barrier_init(&first.begin, NULL, 2));
	ASSERT_EQ(0, pthread_barrier_init(&first.end, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, first_poll, &first));
	for (round = 0; round < 20000 && iou_now_us() < end; round++) {
		ASSERT_EQ(0, iou_init(&r, 4, variant->flags));
		first.fd = r.fd;
		iou_nop(&r, 1);
		pthread_barrier_wait(&first.begin);
		/* start a little later in each round */
		begin = iou_now_us();
		while (iou_now_us() - begin < round % 32)
			;
		EXPECT_LE(0, iou_submit(&r));
		pthread_barrier_wait(&first.end);
		EXPECT_EQ(1, first.ret) {
			end = 0;
		}
		iou_exit(&r);
	}
	first.fd = -1;
	pthread_barrier_wait(&first.begin);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&first.begin);
	pthread_barrier_destroy(&first.end);
}

/* A ring polls another ring, directly and through epoll. */
TEST_F(poll, ring_polls_ring)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct iou *r = &self->r, other;
	int ep = epoll_create1(0);
	unsigned int i;

	ASSERT_EQ(0, iou_init(&other, 8, variant->flags));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, other.fd, &ev));
	for (i = 0; i < 20; i++) {
		prep_poll(r, other.fd, POLLIN, 0, 1);
		prep_poll(r, ep, POLLIN, 0, 2);
		/* a ring's CQE ends a multishot poll, as rings could wake each other for ever */
		prep_poll(r, other.fd, POLLIN, MULTI, 3);
		ASSERT_LE(0, submit(r));
		EXPECT_TRUE(has_quiet_ring(r, 5));
		iou_nop(&other, i);
		ASSERT_LE(0, submit(&other));
		EXPECT_CQE(r, 1, POLLIN, 0);
		EXPECT_CQE(r, 2, POLLIN, 0);
		EXPECT_CQE(r, 3, POLLIN, 0);
		EXPECT_EQ(0, iou_discard(&other, 1));
	}
	/* two rings poll each other, and both polls wait */
	for (i = 0; i < 20; i++) {
		prep_poll(r, other.fd, POLLIN, MULTI, 1);
		prep_poll(&other, r->fd, POLLIN, MULTI, 2);
		ASSERT_LE(0, submit(r));
		ASSERT_LE(0, submit(&other));
		iou_nop(r, 3);
		ASSERT_LE(0, submit(r));
		/* each ring's CQEs are an event for the other ring until a task consumes them */
		ASSERT_EQ(0, iou_wait(r, 2));
		ASSERT_EQ(0, iou_wait(&other, 1));
		EXPECT_CQE(r, 3, 0, 0);
		EXPECT_CQE(r, 1, POLLIN, 0);
		EXPECT_CQE(&other, 2, POLLIN, 0);
	}
	close(ep);
	iou_exit(&other);
}

TEST_F(poll, ring_polls_itself)
{
	struct iou *r = &self->r;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		prep_poll(r, r->fd, POLLIN, 0, 1);
		prep_poll(r, r->fd, POLLIN, MULTI, 2);
		ASSERT_LE(0, submit(r));
		/* in later rounds CQEs of the last round may still be pending */
		if (!i)
			EXPECT_TRUE(has_quiet_ring(r, 5));
		iou_nop(r, 3);
		ASSERT_LE(0, submit(r));
		EXPECT_CQE(r, 3, 0, 0);
		EXPECT_CQE(r, 1, POLLIN, 0);
		EXPECT_CQE(r, 2, POLLIN, 0);
		EXPECT_TRUE(has_quiet_ring(r, 5));
	}
}

/* A ring polls the eventfd that signals the ring's own CQEs. */
TEST_F(poll, ring_polls_own_eventfd)
{
	struct iou *r = &self->r;
	int fd = eventfd(0, EFD_NONBLOCK);
	struct got got = {};
	unsigned int i, more;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_EVENTFD, &fd, 1));
	for (i = 0; i < 10; i++) {
		eventfd_t value;

		prep_poll(r, fd, POLLIN, MULTI, 1);
		ASSERT_LE(0, submit(r));
		settle(r);
		if (i % 2) {
			iou_nop(r, 2);
			ASSERT_LE(0, submit(r));
			EXPECT_CQE(r, 2, 0, 0);
		} else {
			ASSERT_EQ(0, eventfd_write(fd, 1));
		}
		/* the poll's CQE signals the eventfd, and this event ends the poll */
		for (more = 0; ; more++) {
			ASSERT_EQ(0, take_of(r, 1, &got));
			EXPECT_EQ(POLLIN, got.res);
			if (!(got.flags & MORE))
				break;
		}
		EXPECT_GE(4, more);
		EXPECT_TRUE(has_quiet_ring(r, 5));
		eventfd_read(fd, &value);
	}
	close(fd);
}

/*
 * A ring reads the eventfd that signals the ring's own CQEs.  The first signal wakes
 * the read.  A second signal for the read's task work would change the value that is
 * read, depending on the timing; 6.12 sends it after a grace period.
 * Mutant: eventfd-told-twice.  differences: eventfd-own-ring
 */
TEST_F(poll, ring_reads_own_eventfd)
{
	struct iou *r = &self->r;
	int fd = eventfd(0, 0);
	unsigned int i;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_EVENTFD, &fd, 1));
	for (i = 0; i < 10; i++) {
		eventfd_t value = 0;

		iou_prep(r, IORING_OP_READ, fd, &value, sizeof(value), 0)->user_data = 1;
		ASSERT_LE(0, submit(r));
		settle(r);
		iou_nop(r, 2);
		ASSERT_LE(0, submit(r));
		EXPECT_CQE(r, 2, 0, 0);
		if (variant->flags & IORING_SETUP_DEFER_TASKRUN)
			iou_sleep_ms(20);
		EXPECT_CQE(r, 1, sizeof(value), 0);
		EXPECT_LE(1, value);
		if (!iou_on_stock())
			EXPECT_EQ(1, value);
		/* discard the signal for the read's own CQE */
		iou_sleep_ms(2);
		ASSERT_EQ(0, fcntl(fd, F_SETFL, O_NONBLOCK));
		eventfd_read(fd, &value);
		ASSERT_EQ(0, fcntl(fd, F_SETFL, 0));
	}
	close(fd);
}

/* A ring polls an eventfd that another ring signals. */
TEST_F(poll, eventfd_of_other_ring)
{
	struct iou *r = &self->r, other;
	int fd = eventfd(0, EFD_NONBLOCK);
	unsigned int i;

	ASSERT_EQ(0, iou_init(&other, 8, variant->flags));
	ASSERT_EQ(0, iou_register(&other, IORING_REGISTER_EVENTFD, &fd, 1));
	for (i = 0; i < 20; i++) {
		eventfd_t value;

		prep_poll(r, fd, POLLIN, i % 2 ? MULTI : 0, 1);
		ASSERT_LE(0, submit(r));
		iou_nop(&other, i);
		ASSERT_LE(0, submit(&other));
		EXPECT_CQE(r, 1, POLLIN, 0);
		EXPECT_EQ(0, iou_discard(&other, 1));
		iou_sleep_ms(2);
		eventfd_read(fd, &value);
	}
	iou_exit(&other);
	close(fd);
}

TEST_HARNESS_MAIN
