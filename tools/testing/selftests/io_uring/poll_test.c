// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: requests that wait for files - POLL_ADD, POLL_REMOVE, retries */
#include <poll.h>
#include <pthread.h>
#include <termios.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "iou_test.h"

#ifndef EPOLLEXCLUSIVE
#define EPOLLEXCLUSIVE	0x10000000U
#endif

#define MULTI		IORING_POLL_ADD_MULTI
#define EVENTS		IORING_POLL_UPDATE_EVENTS
#define USER_DATA	IORING_POLL_UPDATE_USER_DATA
#define MORE		IORING_CQE_F_MORE
/* user_data of requests that act on polls */
#define ACT		1000000

FIXTURE(poll) {
	struct iou r;
	int p[2];
};

FIXTURE_VARIANT(poll) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(poll);
IOU_KIND(poll, cqe32, IORING_SETUP_CQE32);
IOU_KIND(poll, defer_cqe32, IOU_DEFER | IORING_SETUP_CQE32);

FIXTURE_SETUP(poll)
{
	signal(SIGPIPE, SIG_IGN);
	self->r.fd = -1;
	ASSERT_EQ(0, iou_init_cq(&self->r, 64, 4096, variant->flags));
	ASSERT_EQ(0, pipe2(self->p, O_NONBLOCK));
}

FIXTURE_TEARDOWN(poll)
{
	iou_exit(&self->r);
	close(self->p[0]);
	close(self->p[1]);
}

/* The low half comes first in memory; big-endian programs swap the halves. */
static __u32 poll_word(__u32 events)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	events = events << 16 | events >> 16;
#endif
	return events;
}

static struct io_uring_sqe *prep_poll(struct iou *r, int fd, __u32 events,
				      unsigned int flags, __u64 data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL, flags, 0);

	sqe->poll32_events = poll_word(events);
	sqe->user_data = data;
	return sqe;
}

static struct io_uring_sqe *prep_remove(struct iou *r, __u64 target)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_REMOVE, -1, NULL, 0, 0);

	sqe->addr = target;
	sqe->user_data = ACT;
	return sqe;
}

static struct io_uring_sqe *prep_update(struct iou *r, __u64 target, unsigned int flags,
					__u32 events, __u64 data)
{
	struct io_uring_sqe *sqe = prep_remove(r, target);

	sqe->len = flags;
	sqe->off = data;
	sqe->poll32_events = poll_word(events);
	return sqe;
}

/* Submit what was prepared and see to it that it was looked at. */
static int submit(struct iou *r)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	int ret = iou_submit(r);

	while (r->flags & IORING_SETUP_SQPOLL && load_acq(r->sq_head) != r->next) {
		if (iou_now_us() > end)
			return -ETIME;
		sched_yield();
	}
	return ret;
}

/* Let everything that has happened become CQEs. */
static void settle(struct iou *r)
{
	if (r->flags & IORING_SETUP_SQPOLL)
		iou_sleep_ms(20);
	iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS);
}

static bool has_quiet_ring(struct iou *r, unsigned int ms)
{
	int ret = iou_wait_ms(r, 1, ms);

	return ret == -ETIME && !iou_ready(r);
}

struct got {
	__u64 data;
	int res;
	unsigned int flags;
};

/* Take the CQE with this user_data, wherever it stands; others are kept in order. */
static int take_of(struct iou *r, __u64 data, struct got *got)
{
	unsigned int i, nr;
	int ret;

	for (nr = 1; ; nr++) {
		ret = iou_wait(r, nr);
		if (ret)
			return ret;
		if (iou_cqe_at(r, nr - 1)->user_data == data)
			break;
	}
	*got = (struct got){
		.data = data,
		.res = iou_cqe_at(r, nr - 1)->res,
		.flags = iou_cqe_at(r, nr - 1)->flags,
	};
	for (i = nr - 1; i; i--)
		memcpy(iou_cqe_at(r, i), iou_cqe_at(r, i - 1), r->cqe_size);
	iou_seen(r, 1);
	return 0;
}

#define EXPECT_CQE(r, d, result, cflags) do { \
	struct got _got = {}; \
	ASSERT_EQ(0, take_of((r), (d), &_got)); \
	EXPECT_EQ((result), _got.res); \
	EXPECT_EQ((cflags), _got.flags); \
} while (0)

static void drain(int fd)
{
	char buf[4096];

	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

/* A field of the SQE that must not be set, and what is said if it is. */
struct bad {
	const char *name;
	int op;
	void (*spoil)(struct io_uring_sqe *sqe);
	int want;
};

static void bad_addr(struct io_uring_sqe *sqe)
{
	sqe->addr = 1;
}

static void bad_off(struct io_uring_sqe *sqe)
{
	sqe->off = 1;
}

static void bad_buf(struct io_uring_sqe *sqe)
{
	sqe->buf_index = 1;
}

static void bad_prio(struct io_uring_sqe *sqe)
{
	sqe->ioprio = 1;
}

static void bad_index(struct io_uring_sqe *sqe)
{
	sqe->splice_fd_in = 1;
}

static void bad_fd(struct io_uring_sqe *sqe)
{
	sqe->fd = -1;
}

static void bad_slot(struct io_uring_sqe *sqe)
{
	sqe->flags = IOSQE_FIXED_FILE;
}

static void bad_select(struct io_uring_sqe *sqe)
{
	sqe->flags = IOSQE_BUFFER_SELECT;
}

static void bad_bit(struct io_uring_sqe *sqe)
{
	sqe->len = 1 << 4;
}

static void bad_level(struct io_uring_sqe *sqe)
{
	sqe->len = IORING_POLL_ADD_LEVEL;
}

static void bad_level_multi(struct io_uring_sqe *sqe)
{
	sqe->len = IORING_POLL_ADD_LEVEL | MULTI;
}

static void bad_multi(struct io_uring_sqe *sqe)
{
	sqe->len = MULTI;
}

static void bad_events_flag(struct io_uring_sqe *sqe)
{
	sqe->len = EVENTS;
}

static void bad_skip(struct io_uring_sqe *sqe)
{
	sqe->len = MULTI;
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
}

static void bad_word(struct io_uring_sqe *sqe)
{
	sqe->poll32_events = 1;
}

static void bad_data_word(struct io_uring_sqe *sqe)
{
	sqe->len = USER_DATA;
	sqe->poll32_events = 1;
}

static void bad_events_off(struct io_uring_sqe *sqe)
{
	sqe->len = EVENTS;
	sqe->off = 1;
}

static void none(struct io_uring_sqe *sqe)
{
}

static void none_events(struct io_uring_sqe *sqe)
{
	sqe->len = EVENTS;
	sqe->poll32_events = poll_word(POLLIN);
}

static void none_both_multi(struct io_uring_sqe *sqe)
{
	sqe->len = EVENTS | USER_DATA | MULTI;
	sqe->poll32_events = poll_word(POLLIN);
	sqe->off = 5;
}

TEST_F(poll, refused)
{
	static const struct bad bad[] = {
		{ "addr", IORING_OP_POLL_ADD, bad_addr, -EINVAL },
		{ "off", IORING_OP_POLL_ADD, bad_off, -EINVAL },
		{ "buf_index", IORING_OP_POLL_ADD, bad_buf, -EINVAL },
		{ "ioprio", IORING_OP_POLL_ADD, bad_prio, -EINVAL },
		{ "fd", IORING_OP_POLL_ADD, bad_fd, -EBADF },
		{ "slot", IORING_OP_POLL_ADD, bad_slot, -EBADF },
		{ "select", IORING_OP_POLL_ADD, bad_select, -EOPNOTSUPP },
		{ "bit", IORING_OP_POLL_ADD, bad_bit, -EINVAL },
		{ "update", IORING_OP_POLL_ADD, bad_events_flag, -EINVAL },
		{ "level", IORING_OP_POLL_ADD, bad_level, -EINVAL },
		{ "level multi", IORING_OP_POLL_ADD, bad_level_multi, -EINVAL },
		{ "skip multi", IORING_OP_POLL_ADD, bad_skip, -EINVAL },
		{ "rm buf_index", IORING_OP_POLL_REMOVE, bad_buf, -EINVAL },
		{ "rm ioprio", IORING_OP_POLL_REMOVE, bad_prio, -EINVAL },
		{ "rm index", IORING_OP_POLL_REMOVE, bad_index, -EINVAL },
		{ "rm select", IORING_OP_POLL_REMOVE, bad_select, -EOPNOTSUPP },
		{ "rm bit", IORING_OP_POLL_REMOVE, bad_bit, -EINVAL },
		{ "rm level", IORING_OP_POLL_REMOVE, bad_level, -EINVAL },
		{ "rm multi", IORING_OP_POLL_REMOVE, bad_multi, -EINVAL },
		{ "rm off", IORING_OP_POLL_REMOVE, bad_off, -EINVAL },
		{ "rm off events", IORING_OP_POLL_REMOVE, bad_events_off, -EINVAL },
		{ "rm word", IORING_OP_POLL_REMOVE, bad_word, -EINVAL },
		{ "rm word data", IORING_OP_POLL_REMOVE, bad_data_word, -EINVAL },
		{ "rm none", IORING_OP_POLL_REMOVE, none, -ENOENT },
		{ "rm fd", IORING_OP_POLL_REMOVE, bad_fd, -ENOENT },
		{ "rm events", IORING_OP_POLL_REMOVE, none_events, -ENOENT },
		{ "rm both multi", IORING_OP_POLL_REMOVE, none_both_multi, -ENOENT },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		struct io_uring_sqe *sqe = iou_prep(&self->r, bad[i].op, self->p[0],
						    NULL, 0, 0);

		bad[i].spoil(sqe);
		EXPECT_EQ(bad[i].want, iou_one(&self->r))
			TH_LOG("%s", bad[i].name);
	}
	EXPECT_EQ(IORING_FEAT_FAST_POLL | IORING_FEAT_POLL_32BITS, self->r.p.features &
		  (IORING_FEAT_FAST_POLL | IORING_FEAT_POLL_32BITS));
}

TEST_F(poll, single)
{
	struct iou *r = &self->r;

	prep_poll(r, self->p[0], POLLIN, 0, 1);
	ASSERT_LE(0, submit(r));
	EXPECT_TRUE(has_quiet_ring(r, 20));
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_CQE(r, 1, POLLIN, 0);
	/* it was one event only */
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_TRUE(has_quiet_ring(r, 20));

	/* ready at once, by a worker too */
	prep_poll(r, self->p[0], POLLIN | POLLRDNORM | POLLOUT, 0, 2);
	prep_poll(r, self->p[0], POLLIN, 0, 3)->flags = IOSQE_ASYNC;
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, 2, POLLIN | POLLRDNORM, 0);
	EXPECT_CQE(r, 3, POLLIN, 0);

	/* not ready, a worker arms it */
	drain(self->p[0]);
	prep_poll(r, self->p[0], POLLIN, 0, 4)->flags = IOSQE_ASYNC;
	ASSERT_LE(0, submit(r));
	EXPECT_TRUE(has_quiet_ring(r, 20));
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_CQE(r, 4, POLLIN, 0);

	/* no CQE for a success */
	prep_poll(r, self->p[0], POLLIN, 0, 5)->flags = IOSQE_CQE_SKIP_SUCCESS;
	ASSERT_LE(0, submit(r));
	EXPECT_TRUE(has_quiet_ring(r, 20));
}

/* Errors and ends are told whether they were asked for or not. */
TEST_F(poll, unasked)
{
	struct iou *r = &self->r;
	int s[2];

	prep_poll(r, self->p[0], 0, 0, 1);
	prep_poll(r, self->p[1], POLLIN, 0, 2);
	ASSERT_LE(0, submit(r));
	EXPECT_TRUE(has_quiet_ring(r, 20));
	close(self->p[0]);
	/* the poll holds the file */
	EXPECT_TRUE(has_quiet_ring(r, 20));
	close(self->p[1]);
	self->p[0] = open("/dev/null", O_RDONLY);
	self->p[1] = open("/dev/null", O_RDONLY);
	EXPECT_TRUE(has_quiet_ring(r, 20));

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	prep_poll(r, s[0], 0, 0, 3);
	ASSERT_LE(0, submit(r));
	EXPECT_TRUE(has_quiet_ring(r, 20));
	shutdown(s[1], SHUT_WR);
	EXPECT_CQE(r, 3, POLLRDHUP, 0);
	prep_poll(r, s[0], 0, 0, 4);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, 4, POLLRDHUP, 0);
	close(s[1]);
	prep_poll(r, s[0], 0, 0, 5);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, 5, POLLHUP | POLLRDHUP, 0);
	close(s[0]);
}

/* Files that are always ready, or never say when. */
TEST_F(poll, files_without_waitqueue)
{
	struct iou *r = &self->r;
	int fd = iou_file(IOU_PAGE, 1), null = open("/dev/null", O_RDWR);

	prep_poll(r, fd, POLLIN, 0, 1);
	prep_poll(r, fd, POLLIN | POLLOUT, MULTI, 2);
	prep_poll(r, fd, POLLPRI, 0, 3);
	prep_poll(r, fd, POLLPRI, MULTI, 4);
	prep_poll(r, null, POLLOUT, 0, 5);
	prep_poll(r, null, POLLOUT, MULTI, 6);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, 1, POLLIN, 0);
	EXPECT_CQE(r, 2, POLLIN | POLLOUT, 0);
	EXPECT_CQE(r, 3, -EINVAL, 0);
	EXPECT_CQE(r, 4, -EINVAL, 0);
	EXPECT_CQE(r, 5, POLLOUT, 0);
	EXPECT_CQE(r, 6, POLLOUT, 0);
	close(fd);
	close(null);
}

TEST_F(poll, multi)
{
	struct iou *r = &self->r;
	unsigned int i;

	prep_poll(r, self->p[0], POLLIN, MULTI, 1);
	ASSERT_LE(0, submit(r));
	EXPECT_TRUE(has_quiet_ring(r, 20));
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(1, write(self->p[1], "x", 1));
		EXPECT_CQE(r, 1, POLLIN, MORE);
		/* without a read in every second round: each write is an event */
		if (i % 2)
			drain(self->p[0]);
	}
	/* nothing but writes is one */
	EXPECT_TRUE(has_quiet_ring(r, 20));
	prep_remove(r, 1);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	EXPECT_CQE(r, 1, -ECANCELED, 0);
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_TRUE(has_quiet_ring(r, 20));
	prep_remove(r, 1);
	EXPECT_EQ(-ENOENT, iou_one(r));
}

/* An event that is there when it is armed is told, and it goes on. */
/* Who asks for one event gets one, although it may be several. */
TEST_F(poll, multi_oneshot)
{
	struct iou *r = &self->r;
	unsigned int there;

	for (there = 0; there < 2; there++) {
		struct io_uring_sqe *sqe;

		if (there)
			ASSERT_EQ(1, write(self->p[1], "x", 1));
		sqe = iou_prep(r, IORING_OP_POLL_ADD, self->p[0], NULL, 0, 0);
		sqe->len = IORING_POLL_ADD_MULTI;
		sqe->poll32_events = POLLIN | EPOLLONESHOT;
		sqe->user_data = 1;
		ASSERT_LE(0, iou_submit(r));
		if (!there) {
			if (variant->flags & IORING_SETUP_SQPOLL)
				iou_sleep_ms(20);
			ASSERT_EQ(1, write(self->p[1], "x", 1));
		}
		EXPECT_CQE(r, 1, POLLIN, 0);
		ASSERT_EQ(1, write(self->p[1], "x", 1));
		settle(r);
		EXPECT_EQ(0, iou_ready(r));
		drain(self->p[0]);
	}
}

TEST_F(poll, multi_ready_at_once)
{
	struct iou *r = &self->r;
	unsigned int k;

	for (k = 0; k < 2; k++) {
		ASSERT_EQ(1, write(self->p[1], "x", 1));
		prep_poll(r, self->p[0], POLLIN, MULTI, 1)->flags = k ? IOSQE_ASYNC : 0;
		ASSERT_LE(0, submit(r));
		EXPECT_CQE(r, 1, POLLIN, MORE);
		drain(self->p[0]);
		ASSERT_EQ(1, write(self->p[1], "x", 1));
		EXPECT_CQE(r, 1, POLLIN, MORE);
		drain(self->p[0]);
		prep_remove(r, 1);
		ASSERT_LE(0, submit(r));
		EXPECT_CQE(r, ACT, 0, 0);
		EXPECT_CQE(r, 1, -ECANCELED, 0);
	}
}

TEST_F(poll, remove)
{
	struct iou *r = &self->r;
	__u8 buf[8];

	prep_poll(r, self->p[0], POLLIN, 0, 1);
	prep_poll(r, self->p[0], POLLIN, 0, 2);
	/* a read that waits is no poll */
	iou_prep(r, IORING_OP_READ, self->p[0], buf, 8, 0)->user_data = 3;
	ASSERT_LE(0, submit(r));
	settle(r);
	prep_remove(r, 3);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, -ENOENT, 0);
	prep_remove(r, 2)->flags = IOSQE_ASYNC;
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	EXPECT_CQE(r, 2, -ECANCELED, 0);
	prep_remove(r, 1);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	EXPECT_CQE(r, 1, -ECANCELED, 0);
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_CQE(r, 3, 1, 0);
	EXPECT_TRUE(has_quiet_ring(r, 20));
}

TEST_F(poll, update)
{
	struct iou *r = &self->r;
	int fd = eventfd(0, EFD_NONBLOCK);
	eventfd_t value;

	prep_poll(r, fd, POLLIN, 0, 1);
	ASSERT_LE(0, submit(r));
	prep_update(r, 1, USER_DATA, 0, 2);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	prep_update(r, 1, USER_DATA, 0, 2);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, -ENOENT, 0);
	prep_update(r, 2, EVENTS, POLLPRI, 0);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	ASSERT_EQ(0, eventfd_write(fd, 1));
	EXPECT_TRUE(has_quiet_ring(r, 20));
	/* ready already: both are told */
	prep_update(r, 2, EVENTS | USER_DATA, POLLIN, 3);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	EXPECT_CQE(r, 3, POLLIN, 0);
	EXPECT_TRUE(has_quiet_ring(r, 20));

	/* a multishot poll stays one */
	ASSERT_EQ(0, eventfd_read(fd, &value));
	prep_poll(r, fd, POLLPRI, MULTI, 4);
	ASSERT_LE(0, submit(r));
	prep_update(r, 4, EVENTS, POLLIN, 0);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	ASSERT_EQ(0, eventfd_write(fd, 1));
	EXPECT_CQE(r, 4, POLLIN, MORE);
	prep_update(r, 4, EVENTS | USER_DATA, POLLOUT, 5)->flags = IOSQE_ASYNC;
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	EXPECT_CQE(r, 5, POLLOUT, MORE);
	/* and a single one stays single */
	prep_poll(r, self->p[0], POLLPRI, 0, 6);
	ASSERT_LE(0, submit(r));
	prep_update(r, 6, EVENTS | MULTI, POLLIN, 0);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_CQE(r, 6, POLLIN, 0);
	close(fd);
}

/* The owner of an exclusive ring does not see the event before it comes. */
TEST_F(poll, firing)
{
	struct iou *r = &self->r;

	if (!(variant->flags & IORING_SETUP_DEFER_TASKRUN))
		SKIP(return, "events are seen at once");
	prep_poll(r, self->p[0], POLLIN, 0, 1);
	prep_poll(r, self->p[0], POLLIN, MULTI, 2);
	ASSERT_LE(0, submit(r));
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	prep_remove(r, 1);
	prep_update(r, 2, USER_DATA, 0, 3)->user_data = ACT + 1;
	ASSERT_EQ(2, iou_submit(r));
	EXPECT_CQE(r, ACT, -EALREADY, 0);
	EXPECT_CQE(r, ACT + 1, -EALREADY, 0);
	EXPECT_CQE(r, 1, POLLIN, 0);
	EXPECT_CQE(r, 2, POLLIN, MORE);
	EXPECT_TRUE(has_quiet_ring(r, 20));
}

/* Who writes to a pipe, or an eventfd, all the time. */
struct storm {
	int fd;
	unsigned int gap_us;
	bool stop;
	bool pause;
	bool paused;
	pthread_t thread;
};

static void *storm_main(void *arg)
{
	struct storm *storm = arg;
	__u64 one = 1;

	while (!load_acq(&storm->stop)) {
		if (load_acq(&storm->pause)) {
			store_rel(&storm->paused, true);
			sched_yield();
			continue;
		}
		if (write(storm->fd, &one, 8) < 0 && errno != EAGAIN)
			break;
		if (storm->gap_us)
			usleep(storm->gap_us);
	}
	return NULL;
}

static int storm_start(struct storm *storm, int fd, unsigned int gap_us)
{
	*storm = (struct storm){ .fd = fd, .gap_us = gap_us };
	return pthread_create(&storm->thread, NULL, storm_main, storm);
}

/* Polls that always fire cannot be removed, which is no mistake. */
static void storm_pause(struct storm *storm, struct iou *r, bool pause)
{
	storm->paused = false;
	store_rel(&storm->pause, pause);
	if (!pause)
		return;
	while (!load_acq(&storm->paused))
		sched_yield();
	settle(r);
}

static void storm_end(struct storm *storm)
{
	store_rel(&storm->stop, true);
	pthread_join(storm->thread, NULL);
}

/* Two events one after the other, @gap turns of a loop apart; the next pair when asked. */
struct two_events {
	int fd;
	unsigned int gap;
	bool go;
	bool stop;
};

static void *two_events_main(void *arg)
{
	struct two_events *two = arg;

	while (!load_acq(&two->stop)) {
		volatile unsigned int turns;

		if (!load_acq(&two->go))
			continue;
		turns = two->gap;
		if (write(two->fd, "x", 1) != 1)
			break;
		while (turns)
			turns--;
		shutdown(two->fd, SHUT_WR);
		store_rel(&two->go, false);
	}
	return NULL;
}

/*
 * The second event comes at any moment of the run of the first one's mail, between
 * its look and its release, too.  It is told all the same.
 * Mutants: poll-not-settled, poll-tells-nobody.
 */
TEST_F(poll, event_at_the_release)
{
	unsigned long rounds = iou_rounds(3000);
	unsigned long long end = iou_race_end();
	struct two_events two = {};
	struct iou *r = &self->r;
	struct got got = {};
	pthread_t thread;
	unsigned long i;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "wants two CPUs");
	ASSERT_EQ(0, pthread_create(&thread, NULL, two_events_main, &two));
	for (i = 0; i < rounds && iou_now_us() < end; i++) {
		int s[2];

		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
		prep_poll(r, s[0], POLLIN | POLLRDHUP, MULTI, 1);
		ASSERT_LE(0, submit(r));
		two.fd = s[1];
		two.gap = i % 300;
		store_rel(&two.go, true);
		do {
			ASSERT_EQ(0, take_of(r, 1, &got)) {
				TH_LOG("round %lu", i);
			}
		} while (!(got.res & POLLRDHUP));
		while (load_acq(&two.go))
			sched_yield();
		/* its mail may be on the way once more */
		do {
			prep_remove(r, 1);
			ASSERT_LE(0, submit(r));
			ASSERT_EQ(0, take_of(r, ACT, &got));
		} while (got.res == -EALREADY);
		do {
			ASSERT_EQ(0, take_of(r, 1, &got));
		} while (got.flags & MORE);
		close(s[0]);
		close(s[1]);
	}
	store_rel(&two.stop, true);
	pthread_join(thread, NULL);
}

/*
 * Polls are changed and removed while they fire.  Whatever the answers are: a
 * removed poll has one last CQE, and none after that.
 */
TEST_F(poll, changed_while_firing)
{
	unsigned long rounds = iou_rounds(2000);
	struct iou *r = &self->r;
	struct storm storm;
	unsigned long i;
	int fd = eventfd(0, EFD_NONBLOCK);

	ASSERT_EQ(0, storm_start(&storm, fd, 0));
	for (i = 0; i < rounds; i++) {
		unsigned int answers = 0, ends = 0;
		struct io_uring_cqe cqe;
		int removed = -EALREADY;
		eventfd_t value;

		prep_poll(r, fd, POLLIN, i % 3 ? MULTI : 0, 1);
		prep_update(r, 1, EVENTS | USER_DATA, POLLIN | POLLERR, 2);
		prep_update(r, 2, USER_DATA, 0, 1);
		ASSERT_LE(0, iou_submit(r));
		eventfd_read(fd, &value);
		prep_remove(r, 1)->user_data = ACT + 1;
		prep_remove(r, 2)->user_data = ACT + 2;
		ASSERT_LE(0, iou_submit(r));
		while (answers < 4 || !ends) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			if (cqe.user_data >= ACT) {
				answers++;
				if (cqe.res != -EALREADY && cqe.res != -ENOENT)
					ASSERT_EQ(0, cqe.res);
				if (cqe.user_data > ACT && !cqe.res)
					removed = 0;
				/* nobody got it: it may be multishot and go on */
				if (answers == 4 && removed && !ends) {
					storm_pause(&storm, r, true);
					prep_remove(r, 1)->user_data = ACT + 1;
					prep_remove(r, 2)->user_data = ACT + 2;
					answers = 2;
					ASSERT_LE(0, iou_submit(r));
				}
				continue;
			}
			ASSERT_EQ(0, ends);
			if (cqe.flags & MORE) {
				ASSERT_LT(0, cqe.res);
				continue;
			}
			if (cqe.res != -ECANCELED)
				ASSERT_LT(0, cqe.res);
			ends++;
		}
		storm_pause(&storm, r, false);
	}
	storm_end(&storm);
	EXPECT_TRUE(has_quiet_ring(r, 20));
	close(fd);
}

/* All polls of a file are told of its end, on whatever ring. */
TEST_F(poll, hang_up)
{
	struct iou *r = &self->r, other;
	unsigned int i, k;

	for (k = 0; k < 2; k++) {
		int p[2];

		ASSERT_EQ(0, iou_init(&other, 64, 0));
		ASSERT_EQ(0, pipe(p));
		for (i = 0; i < 60; i++) {
			prep_poll(r, p[0], POLLIN, i % 2 ? MULTI : 0, i);
			prep_poll(&other, p[0], POLLIN, i % 2 ? MULTI : 0, i);
		}
		ASSERT_LE(0, submit(r));
		ASSERT_LE(0, submit(&other));
		settle(r);
		if (k)
			ASSERT_EQ(1, write(p[1], "x", 1));
		close(p[1]);
		for (i = 0; i < 60; i++) {
			struct got got = {};

			ASSERT_EQ(0, take_of(r, i, &got));
			EXPECT_EQ(i % 2 ? MORE : 0, got.flags);
			EXPECT_NE(0, got.res & (POLLHUP | POLLIN));
			ASSERT_EQ(0, take_of(&other, i, &got));
			EXPECT_EQ(i % 2 ? MORE : 0, got.flags);
			EXPECT_NE(0, got.res & (POLLHUP | POLLIN));
		}
		iou_exit(&other);
		for (i = 1; i < 60; i += 2)
			prep_remove(r, i)->flags = IOSQE_CQE_SKIP_SUCCESS;
		ASSERT_LE(0, submit(r));
		for (i = 1; i < 60; i += 2) {
			struct got got = {};

			do {
				ASSERT_EQ(0, take_of(r, i, &got));
			} while (got.flags & MORE);
			EXPECT_EQ(-ECANCELED, got.res);
		}
		close(p[0]);
	}
}

/* More wakes than any counter of ownership has room for, before anybody looks. */
TEST_F(poll, wakes_without_end)
{
	struct iou *r = &self->r;
	struct got got = {};
	unsigned int i, round;

	prep_poll(r, self->p[0], POLLIN, MULTI, 1);
	ASSERT_LE(0, submit(r));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 1000; i++)
			ASSERT_EQ(1, write(self->p[1], "x", 1));
		drain(self->p[0]);
		ASSERT_EQ(1, write(self->p[1], "x", 1));
		do {
			ASSERT_EQ(0, take_of(r, 1, &got));
			EXPECT_EQ(MORE, got.flags);
			settle(r);
		} while (iou_ready(r));
		drain(self->p[0]);
	}
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_CQE(r, 1, POLLIN, MORE);
}

/*
 * The same from many tasks at once, and nothing is lost at the end.  Writers on another CPU
 * can keep the ring's task in the kernel until the CQ is full, which ends the poll; nothing
 * else may.
 */
TEST_F(poll, wakes_side_by_side)
{
	struct iou *r = &self->r;
	struct storm storm[8];
	struct got got = {};
	unsigned long i, rounds = iou_rounds(200);
	int fd = eventfd(0, EFD_NONBLOCK);
	bool armed = false, full = false;
	unsigned int k;

	for (k = 0; k < ARRAY_LEN(storm); k++)
		ASSERT_EQ(0, storm_start(&storm[k], fd, k));
	for (i = 0; i < rounds; i++) {
		eventfd_t value;

		if (!armed) {
			prep_poll(r, fd, POLLIN, MULTI, 1);
			ASSERT_LE(0, submit(r));
		}
		ASSERT_EQ(0, take_of(r, 1, &got));
		ASSERT_EQ(POLLIN, got.res);
		armed = got.flags & IORING_CQE_F_MORE;
		ASSERT_TRUE(armed || full);
		eventfd_read(fd, &value);
		/* one was taken before */
		full = iou_ready(r) + 1 >= r->p.cq_entries;
		iou_seen(r, iou_ready(r));
	}
	for (k = 0; k < ARRAY_LEN(storm); k++)
		storm_end(&storm[k]);
	do {
		settle(r);
		k = iou_ready(r);
		full |= k == r->p.cq_entries;
		while (k--) {
			if (!(iou_cqe_at(r, 0)->flags & IORING_CQE_F_MORE))
				armed = false;
			iou_seen(r, 1);
		}
	} while (iou_ready(r));
	ASSERT_TRUE(armed || full);
	if (!armed) {
		prep_poll(r, fd, POLLIN, MULTI, 1);
		ASSERT_LE(0, submit(r));
	}
	ASSERT_EQ(0, eventfd_write(fd, 1));
	EXPECT_CQE(r, 1, POLLIN, MORE);
	close(fd);
}

static int open_pty(int *slave)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	struct termios tio;

	if (master < 0 || grantpt(master) || unlockpt(master))
		return -1;
	*slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (*slave < 0 || tcgetattr(*slave, &tio))
		return -1;
	cfmakeraw(&tio);
	tcsetattr(*slave, TCSANOW, &tio);
	return master;
}

/* A FIFO that is open for both. */
static int open_fifo(void)
{
	char dir[] = "/tmp/iou.XXXXXX", name[32];
	int fd;

	if (!mkdtemp(dir))
		return -1;
	snprintf(name, sizeof(name), "%s/fifo", dir);
	if (mkfifo(name, 0600))
		return -1;
	fd = open(name, O_RDWR | O_NONBLOCK);
	unlink(name);
	rmdir(dir);
	return fd;
}

/* Terminals, and FIFOs that are open for both, have two waitqueues. */
TEST_F(poll, two_waitqueues)
{
	struct iou *r = &self->r;
	int slave, master = open_pty(&slave);
	int i, size, fifo = open_fifo();
	char byte = 'x';
	char *fill;

	ASSERT_LE(0, master);
	for (i = 0; i < 20; i++) {
		prep_poll(r, slave, POLLIN, MULTI, 1);
		prep_poll(r, slave, POLLIN, 0, 2);
		ASSERT_LE(0, submit(r));
		settle(r);
		ASSERT_EQ(1, write(master, &byte, 1));
		EXPECT_CQE(r, 1, POLLIN, MORE);
		EXPECT_CQE(r, 2, POLLIN, 0);
		ASSERT_EQ(1, read(slave, &byte, 1));
		prep_remove(r, 1);
		ASSERT_LE(0, submit(r));
		EXPECT_CQE(r, ACT, 0, 0);
		do {
			struct got got = {};

			ASSERT_EQ(0, take_of(r, 1, &got));
			if (got.flags & MORE)
				continue;
			EXPECT_EQ(-ECANCELED, got.res);
			break;
		} while (true);
	}
	prep_poll(r, slave, POLLIN, MULTI, 3);
	ASSERT_LE(0, submit(r));
	close(master);
	/* a thread may look between the wakes that this makes */
	if (variant->flags & IORING_SETUP_SQPOLL) {
		struct got got = {};

		ASSERT_EQ(0, take_of(r, 3, &got));
		EXPECT_EQ(POLLHUP, got.res & POLLHUP);
		EXPECT_EQ(MORE, got.flags & MORE);
	} else {
		EXPECT_CQE(r, 3, POLLIN | POLLHUP | POLLERR, MORE);
	}
	close(slave);

	ASSERT_LE(0, fifo);
	prep_poll(r, fifo, POLLIN, MULTI, 4);
	ASSERT_LE(0, submit(r));
	ASSERT_EQ(1, write(fifo, &byte, 1));
	EXPECT_CQE(r, 4, POLLIN, MORE);
	drain(fifo);
	size = fcntl(fifo, F_GETPIPE_SZ);
	fill = calloc(1, size);
	ASSERT_EQ(size, write(fifo, fill, size));
	EXPECT_CQE(r, 4, POLLIN, MORE);
	prep_poll(r, fifo, POLLOUT, 0, 5);
	ASSERT_LE(0, submit(r));
	settle(r);
	drain(fifo);
	EXPECT_CQE(r, 5, POLLOUT, 0);
	free(fill);
	close(fifo);
}

/* Both waitqueues wake it at the same time. */
TEST_F(poll, two_waitqueues_race)
{
	unsigned long i, rounds = iou_rounds(400);
	struct iou *r = &self->r;
	struct storm storm[2];
	int fifo = open_fifo();
	struct got got = {};

	ASSERT_LE(0, fifo);
	ASSERT_EQ(0, storm_start(&storm[0], fifo, 20));
	ASSERT_EQ(0, storm_start(&storm[1], fifo, 30));
	for (i = 0; i < rounds; i++) {
		prep_poll(r, fifo, POLLIN | POLLOUT, MULTI, 1);
		prep_poll(r, fifo, POLLIN, 0, 2);
		ASSERT_LE(0, submit(r));
		drain(fifo);
		EXPECT_CQE(r, 2, POLLIN, 0);
		prep_remove(r, 1);
		ASSERT_LE(0, submit(r));
		ASSERT_EQ(0, take_of(r, ACT, &got));
		if (got.res == -EALREADY) {
			storm_pause(&storm[0], r, true);
			storm_pause(&storm[1], r, true);
		}
		/* a SQPOLL thread submits before it runs the last event's mail */
		while (got.res == -EALREADY) {
			prep_remove(r, 1);
			ASSERT_LE(0, submit(r));
			ASSERT_EQ(0, take_of(r, ACT, &got));
		}
		ASSERT_EQ(0, got.res);
		do {
			ASSERT_EQ(0, take_of(r, 1, &got));
		} while (got.flags & MORE);
		ASSERT_EQ(-ECANCELED, got.res);
		storm_pause(&storm[0], r, false);
		storm_pause(&storm[1], r, false);
	}
	storm_end(&storm[0]);
	storm_end(&storm[1]);
	close(fifo);
}

/* The waitqueue of a signalfd goes with the task that has armed the poll. */
TEST_F(poll, waitqueue_goes)
{
	struct iou *r = &self->r;
	unsigned int k;
	sigset_t set;
	int fd;

	if (variant->flags)
		SKIP(return, "the ring is used by two tasks");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	ASSERT_LE(0, fd);
	for (k = 0; k < 3; k++) {
		int status, pid = fork();

		if (!pid) {
			if (k == 2) {
				char buf[128];

				fcntl(fd, F_SETFL, 0);
				iou_prep(r, IORING_OP_READ, fd, buf, 128, 0)->user_data = 7;
			} else {
				prep_poll(r, fd, POLLIN, k ? MULTI : 0, 7);
			}
			_exit(iou_submit(r) != 1);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		/* our copy of the tail has not seen what the child did */
		r->next = *r->sq_tail;
		r->sent = r->next;
		EXPECT_CQE(r, 7, -ECANCELED, 0);
	}
	close(fd);
}

TEST_F(poll, exclusive)
{
	struct iou *r = &self->r, other[4];
	unsigned int i, nr = 0;
	struct got got = {};

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, iou_init(&other[i], 4, variant->flags));
		prep_poll(&other[i], self->p[0], POLLIN | EPOLLEXCLUSIVE, i % 2 ? MULTI : 0, i);
		ASSERT_LE(0, submit(&other[i]));
	}
	for (i = 0; i < 4; i++)
		settle(&other[i]);
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	for (i = 0; i < 4; i++) {
		settle(&other[i]);
		nr += iou_ready(&other[i]);
	}
	/* one is enough, and one there is */
	EXPECT_EQ(1, nr);
	/* who does not ask for it is told all the same */
	drain(self->p[0]);
	prep_poll(r, self->p[0], POLLIN, 0, 9);
	ASSERT_LE(0, submit(r));
	settle(r);
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	ASSERT_EQ(0, take_of(r, 9, &got));
	EXPECT_EQ(POLLIN, got.res);
	for (i = 0; i < 4; i++)
		iou_exit(&other[i]);
}

/* Reads and writes that would block wait for the file; no worker sleeps for them. */
TEST_F(poll, retry)
{
	static const unsigned char ways[] = { 0, IOSQE_ASYNC };
	struct iou *r = &self->r;
	unsigned int i, k;
	char buf[32][8];
	int slave, master = open_pty(&slave);

	ASSERT_LE(0, master);
	for (k = 0; k < ARRAY_LEN(ways); k++) {
		int s[2], before, fd = eventfd(0, 0), p[2];
		char *fill;
		int size;

		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
		ASSERT_EQ(0, pipe(p));
		before = iou_threads(getpid(), "iou-wrk");
		for (i = 0; i < 8; i++) {
			iou_prep(r, IORING_OP_READ, p[0], buf[i], 1, 0)->user_data = i;
			iou_prep(r, IORING_OP_READ, s[0], buf[i + 8], 1, 0)->user_data = i + 8;
			iou_prep(r, IORING_OP_READ, fd, buf[i + 16], 8, 0)->user_data = i + 16;
			iou_prep(r, IORING_OP_READ, slave, buf[i + 24], 1, 0)->user_data = i + 24;
		}
		for (i = 1; i <= 32; i++)
			((struct io_uring_sqe *)((char *)r->sqes +
			 ((r->next - i) & (r->p.sq_entries - 1)) * (size_t)r->sqe_size))->flags =
				ways[k];
		ASSERT_LE(0, submit(r));
		EXPECT_TRUE(has_quiet_ring(r, 50));
		if (!k)
			EXPECT_EQ(before, iou_threads(getpid(), "iou-wrk"));
		for (i = 0; i < 8; i++) {
			ASSERT_EQ(1, write(p[1], "a", 1));
			ASSERT_EQ(1, write(s[1], "b", 1));
			ASSERT_EQ(0, eventfd_write(fd, 5));
			ASSERT_EQ(1, write(master, "c", 1));
			/* an eventfd is emptied by the first who reads */
			ASSERT_EQ(0, iou_wait(r, 4 * (i + 1)));
		}
		for (i = 0; i < 32; i++)
			EXPECT_CQE(r, i, i / 8 == 2 ? 8 : 1, 0);
		EXPECT_EQ('a', buf[3][0]);
		EXPECT_EQ('b', buf[11][0]);
		EXPECT_EQ(5, *(__u64 *)buf[19]);
		EXPECT_EQ('c', buf[27][0]);

		size = fcntl(p[1], F_GETPIPE_SZ);
		fill = calloc(1, size);
		ASSERT_EQ(size, write(p[1], fill, size));
		iou_prep(r, IORING_OP_WRITE, p[1], "tail", 4, 0)->flags = ways[k];
		ASSERT_LE(0, submit(r));
		EXPECT_TRUE(has_quiet_ring(r, 20));
		/* more than fits: what fits is the answer */
		ASSERT_EQ(size, read(p[0], fill, size));
		EXPECT_CQE(r, 0, 4, 0);
		free(fill);
		close(p[0]);
		close(p[1]);
		close(s[0]);
		close(s[1]);
		close(fd);
	}
	close(master);
	close(slave);
}

/* What a read says that may not wait: RWF_NOWAIT, and O_NONBLOCK on some files. */
TEST_F(poll, retry_refused)
{
	static const unsigned char ways[] = { 0, IOSQE_ASYNC };
	struct iou *r = &self->r;
	int slave, master = open_pty(&slave);
	struct io_uring_sqe *sqe;
	char buf[8];
	unsigned int k;
	int s[2], fd = eventfd(0, 0);

	ASSERT_LE(0, master);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	for (k = 0; k < ARRAY_LEN(ways); k++) {
		int files[] = { self->p[0], s[0], fd };
		unsigned int i;

		for (i = 0; i < ARRAY_LEN(files); i++) {
			sqe = iou_prep(r, IORING_OP_READ, files[i], buf, 8, 0);
			sqe->rw_flags = RWF_NOWAIT;
			sqe->flags = ways[k];
			EXPECT_EQ(-EAGAIN, iou_one(r));
		}
		sqe = iou_prep(r, IORING_OP_READ, slave, buf, 8, 0);
		sqe->rw_flags = RWF_NOWAIT;
		sqe->flags = ways[k];
		EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
		/* the other end of the terminal is O_NONBLOCK, and waits nevertheless */
		iou_prep(r, IORING_OP_READ, master, buf, 8, 0)->flags = ways[k];
		ASSERT_LE(0, submit(r));
		EXPECT_TRUE(has_quiet_ring(r, 20));
		ASSERT_EQ(1, write(slave, "y", 1));
		EXPECT_CQE(r, 0, 1, 0);
	}
	close(s[0]);
	close(s[1]);
	close(fd);
	close(master);
	close(slave);
}

/* Many readers, few events: each byte is read once. */
TEST_F(poll, retry_contended)
{
	unsigned long i, rounds = iou_rounds(100);
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	char buf[16];

	/* a worker can block on it if it has to */
	fcntl(self->p[0], F_SETFL, 0);
	for (i = 0; i < 16; i++)
		iou_prep(r, IORING_OP_READ, self->p[0], &buf[i], 1, 0)->user_data = i;
	ASSERT_LE(0, submit(r));
	for (i = 0; i < rounds * 16; i++) {
		ASSERT_EQ(1, write(self->p[1], "z", 1));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_EQ(1, cqe.res);
		ASSERT_EQ('z', buf[cqe.user_data]);
		buf[cqe.user_data] = 0;
		iou_prep(r, IORING_OP_READ, self->p[0], &buf[cqe.user_data], 1, 0)->user_data =
			cqe.user_data;
		ASSERT_LE(0, submit(r));
	}
	EXPECT_TRUE(has_quiet_ring(r, 20));
}

/* How many requests of this kind fdinfo says are waiting. */
static int waiting(struct iou *r, int op)
{
	char path[64], want[64], line[256];
	int nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r->fd);
	snprintf(want, sizeof(want), "  op=%d, task_works=", op);
	f = fopen(path, "r");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f) && strcmp(line, "PollList:\n"))
		;
	while (fgets(line, sizeof(line), f))
		nr += !strncmp(line, want, strlen(want));
	fclose(f);
	return nr;
}

TEST_F(poll, fdinfo)
{
	struct iou *r = &self->r;
	char buf[8];

	EXPECT_EQ(0, waiting(r, IORING_OP_POLL_ADD));
	prep_poll(r, self->p[0], POLLIN, 0, 1);
	prep_poll(r, self->p[0], POLLIN, MULTI, 2);
	iou_prep(r, IORING_OP_READ, self->p[0], buf, 8, 0)->user_data = 3;
	ASSERT_LE(0, submit(r));
	settle(r);
	EXPECT_EQ(2, waiting(r, IORING_OP_POLL_ADD));
	EXPECT_EQ(1, waiting(r, IORING_OP_READ));
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	ASSERT_EQ(0, iou_wait(r, 3));
	EXPECT_EQ(1, waiting(r, IORING_OP_POLL_ADD));
	EXPECT_EQ(0, waiting(r, IORING_OP_READ));
}

static bool epoll_sees(int ep, int ms)
{
	struct epoll_event ev;
	int ret;

	do {
		ret = epoll_wait(ep, &ev, 1, ms);
	} while (ret < 0 && errno == EINTR);
	return ret == 1;
}

/* epoll on a ring sees what polls post to it, each time. */
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

/* A ring polls another one, by itself and through epoll. */
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
		/* an echo of a CQE ends it: what answers echoes could go on for ever */
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
	/* the other way round, with polls that are waiting on both */
	for (i = 0; i < 20; i++) {
		prep_poll(r, other.fd, POLLIN, MULTI, 1);
		prep_poll(&other, r->fd, POLLIN, MULTI, 2);
		ASSERT_LE(0, submit(r));
		ASSERT_LE(0, submit(&other));
		iou_nop(r, 3);
		ASSERT_LE(0, submit(r));
		/* each is the other's event as long as nobody takes it */
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
		/* later the last round may still count as something pending */
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

/* A ring polls the eventfd that tells of its own CQEs. */
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
		/* its CQE is an event of its own, which ends it */
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
 * A ring reads the eventfd that tells of its own CQEs.  The signal that wakes the
 * read says all there is to say.  A second one, for the read's own way to its
 * ring, would make the value a matter of chance; stock sends it, after a grace
 * period.  Mutant: eventfd-told-twice.
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
		/* of the read itself, where its CQE is seen by others */
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

/* Polls on many files, all woken by one event, in batches of any size. */
TEST_F(poll, batches)
{
	static const unsigned int sizes[] = { 1, 15, 16, 17, 32, 33, 1000 };
	struct iou *r = &self->r;
	unsigned char *seen = calloc(1, 1000);
	unsigned int i, k, round;

	for (k = 0; k < ARRAY_LEN(sizes); k++) {
		unsigned int nr = sizes[k];
		int p[2];

		ASSERT_EQ(0, pipe2(p, O_NONBLOCK));
		for (i = 0; i < nr; i++) {
			prep_poll(r, p[0], POLLIN, MULTI, i);
			if (iou_sq_room(r) <= 1)
				ASSERT_LE(0, submit(r));
		}
		ASSERT_LE(0, submit(r));
		settle(r);
		for (round = 0; round < 3; round++) {
			memset(seen, 0, nr);
			ASSERT_EQ(1, write(p[1], "x", 1));
			ASSERT_EQ(0, iou_wait(r, nr));
			drain(p[0]);
			ASSERT_EQ(nr, iou_ready(r));
			for (i = 0; i < nr; i++) {
				struct io_uring_cqe *cqe = iou_cqe_at(r, i);

				ASSERT_GT(nr, cqe->user_data);
				ASSERT_EQ(0, seen[cqe->user_data]++);
				ASSERT_EQ(POLLIN, cqe->res);
				ASSERT_EQ(MORE, cqe->flags);
			}
			iou_seen(r, nr);
		}
		/* the end comes after what was told before */
		ASSERT_EQ(1, write(p[1], "x", 1));
		close(p[1]);
		settle(r);
		for (i = 0; i < nr; i++) {
			prep_remove(r, i)->flags = IOSQE_CQE_SKIP_SUCCESS;
			if (iou_sq_room(r) <= 1)
				ASSERT_LE(0, submit(r));
		}
		ASSERT_LE(0, submit(r));
		memset(seen, 0, nr);
		for (i = 0; i < nr; ) {
			struct io_uring_cqe cqe;

			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_GT(nr, cqe.user_data);
			ASSERT_EQ(0, seen[cqe.user_data]);
			if (cqe.flags & MORE)
				continue;
			seen[cqe.user_data]++;
			i++;
			ASSERT_EQ(-ECANCELED, cqe.res);
		}
		close(p[0]);
		EXPECT_TRUE(has_quiet_ring(r, 2));
	}
	free(seen);
}

FIXTURE(poll_small) {
	struct iou r;
	int p[2];
};

FIXTURE_VARIANT(poll_small) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(poll_small);
IOU_KIND(poll_small, cqe32, IORING_SETUP_CQE32);

FIXTURE_SETUP(poll_small)
{
	signal(SIGPIPE, SIG_IGN);
	self->r.fd = -1;
	ASSERT_EQ(0, iou_init_cq(&self->r, 4, 4, variant->flags));
	ASSERT_EQ(0, pipe2(self->p, O_NONBLOCK));
}

FIXTURE_TEARDOWN(poll_small)
{
	iou_exit(&self->r);
	close(self->p[0]);
	close(self->p[1]);
}

/* There is no room for "more": the CQE that does not fit is the last, and is not lost. */
TEST_F(poll_small, overflow)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;

	prep_poll(r, self->p[0], POLLIN, MULTI, 1);
	ASSERT_LE(0, submit(r));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(1, write(self->p[1], "x", 1));
		settle(r);
	}
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(1, cqe.user_data);
		EXPECT_EQ(POLLIN, cqe.res);
		EXPECT_EQ(i < 4 ? MORE : 0, cqe.flags);
	}
	EXPECT_TRUE(has_quiet_ring(r, 20));
	EXPECT_EQ(0, *r->cq_lost);
	prep_remove(r, 1);
	EXPECT_EQ(-ENOENT, iou_one(r));
}

/* The same with many at once: each ends once, in the order in which they were told. */
TEST_F(poll_small, overflow_many)
{
	struct iou *r = &self->r;
	unsigned int i, round, ended = 0, seen[40] = {};
	struct io_uring_cqe cqe;

	for (i = 0; i < 40; i += 4) {
		unsigned int k;

		for (k = i; k < i + 4; k++)
			prep_poll(r, self->p[0], POLLIN, MULTI, k);
		ASSERT_LE(0, submit(r));
	}
	settle(r);
	for (round = 0; round < 2; round++) {
		ASSERT_EQ(1, write(self->p[1], "x", 1));
		settle(r);
	}
	while (ended < 36) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_GT(40, cqe.user_data);
		ASSERT_EQ(POLLIN, cqe.res);
		ASSERT_GT(100, seen[cqe.user_data]);
		seen[cqe.user_data]++;
		if (cqe.flags & MORE)
			continue;
		seen[cqe.user_data] = 100;
		ended++;
	}
	EXPECT_EQ(0, *r->cq_lost);
}

FIXTURE(poll_waits) {
	struct iou r;
	int ev;
};

FIXTURE_VARIANT(poll_waits) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(poll_waits);

FIXTURE_SETUP(poll_waits)
{
	self->ev = -1;
	self->r.fd = -1;
	ASSERT_EQ(0, iou_init(&self->r, 128, variant->flags));
}

FIXTURE_TEARDOWN(poll_waits)
{
	iou_exit(&self->r);
}

/* One signal a published batch, none without. */
TEST_F(poll_waits, eventfd_per_batch)
{
	struct iou *r = &self->r;
	int ev = eventfd(0, EFD_NONBLOCK), fd = eventfd(0, EFD_NONBLOCK);
	unsigned int i;
	eventfd_t value = 0;

	for (i = 0; i < 64; i++)
		prep_poll(r, fd, POLLIN, MULTI, i);
	ASSERT_LE(0, submit(r));
	settle(r);
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_EVENTFD, &ev, 1));
	ASSERT_EQ(0, eventfd_write(fd, 1));
	ASSERT_EQ(0, iou_wait(r, 64));
	iou_sleep_ms(20);
	ASSERT_EQ(0, eventfd_read(ev, &value));
	/*
	 * Exclusive rings tell of the first event, and of the CQEs.  A thread
	 * may publish while the wakes still come, in any number of batches.
	 */
	EXPECT_GE(variant->flags & IORING_SETUP_SQPOLL ? 64 : 2, value);
	iou_seen(r, 64);
	settle(r);
	EXPECT_EQ(-1, eventfd_read(ev, &value));
	close(ev);
	close(fd);
}

static long switches(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/task/%d", getpid(), (int)syscall(SYS_gettid));
	return iou_status(getpid(), "voluntary_ctxt_switches");
}

struct feeder {
	int fd[16];
	pthread_t thread;
};

static void *feeder_main(void *arg)
{
	struct feeder *feeder = arg;
	unsigned int i;

	for (i = 0; i < 16; i++) {
		iou_sleep_ms(10);
		eventfd_write(feeder->fd[i], 1);
	}
	return NULL;
}

/* Who waits for N is woken when N are there, not for each, and not too late. */
TEST_F(poll_waits, for_n)
{
	struct iou *r = &self->r;
	unsigned long long start, took;
	struct feeder feeder;
	unsigned int i, k;
	long before;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < 16; i++) {
			feeder.fd[i] = eventfd(0, EFD_NONBLOCK);
			prep_poll(r, feeder.fd[i], POLLIN, k ? MULTI : 0, i);
		}
		ASSERT_LE(0, submit(r));
		settle(r);
		before = switches();
		start = iou_now_us();
		ASSERT_EQ(0, pthread_create(&feeder.thread, NULL, feeder_main, &feeder));
		ASSERT_EQ(0, iou_wait_ms(r, 16, IOU_PATIENCE));
		took = iou_now_us() - start;
		EXPECT_EQ(16, iou_ready(r));
		EXPECT_LE(150000, took);
		EXPECT_GT(IOU_PATIENCE * 500ULL, took);
		/* task work needs the task; an exclusive ring's owner sleeps on */
		if (variant->flags & IORING_SETUP_DEFER_TASKRUN)
			EXPECT_GE(8, switches() - before);
		pthread_join(feeder.thread, NULL);
		iou_seen(r, 16);
		for (i = 0; i < 16; i++)
			close(feeder.fd[i]);
	}
}

/* What a child does with its armed requests before it ends. */
enum ending { END_EXIT, END_KILL, END_EXEC, END_CLOSE, END_THREAD, ENDINGS };

static void *thread_main(void *arg)
{
	return NULL;
}

static void child_ends(struct iou *r, enum ending ending)
{
	pthread_t thread;

	switch (ending) {
	case END_EXIT:
		_exit(0);
	case END_KILL:
		raise(SIGKILL);
		break;
	case END_EXEC:
		execl("/bin/sleep", "sleep", "100", NULL);
		break;
	case END_CLOSE:
		iou_exit(r);
		pause();
		break;
	case END_THREAD:
		pthread_create(&thread, NULL, thread_main, NULL);
		syscall(SYS_exit_group, 0);
		break;
	default:
		break;
	}
	_exit(1);
}

FIXTURE(poll_end) {
	int p[2];
};

FIXTURE_VARIANT(poll_end) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(poll_end);

FIXTURE_SETUP(poll_end)
{
	signal(SIGPIPE, SIG_IGN);
	ASSERT_EQ(0, pipe(self->p));
}

FIXTURE_TEARDOWN(poll_end)
{
	close(self->p[1]);
}

/* However a task ends that has armed polls: they go, and with them their file. */
TEST_F(poll_end, all_ways)
{
	unsigned int ending, i;

	for (ending = 0; ending < ENDINGS; ending++) {
		struct pollfd pfd = { .fd = self->p[1], .events = 0 };
		int pid, status;

		fflush(NULL);
		pid = fork();
		if (!pid) {
			struct iou r;
			char buf[8];

			close(self->p[1]);
			if (iou_init(&r, 64, variant->flags))
				_exit(2);
			for (i = 0; i < 10; i++) {
				prep_poll(&r, self->p[0], POLLIN, 0, i);
				prep_poll(&r, self->p[0], POLLIN, MULTI, i);
				iou_prep(&r, IORING_OP_READ, self->p[0], buf, 8, 0);
				iou_prep(&r, IORING_OP_READ, self->p[0], buf, 8, 0)->flags =
					IOSQE_ASYNC;
				/* a ring that holds itself does not go by being closed */
				if (ending != END_CLOSE)
					prep_poll(&r, r.fd, POLLPRI, MULTI, i);
			}
			if (submit(&r) < 0)
				_exit(3);
			fcntl(self->p[0], F_SETFD, FD_CLOEXEC);
			if (ending == END_CLOSE)
				close(self->p[0]);
			settle(&r);
			child_ends(&r, ending);
		}
		ASSERT_LT(0, pid);
		close(self->p[0]);
		/* nobody is left who could read */
		EXPECT_EQ(1, poll(&pfd, 1, IOU_PATIENCE))
			TH_LOG("ending %u", ending);
		EXPECT_EQ(POLLERR, pfd.revents);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		close(self->p[1]);
		ASSERT_EQ(0, pipe(self->p));
	}
	close(self->p[0]);
}

/* A thread that has armed polls ends while others use the ring. */
static void *arming_thread(void *arg)
{
	struct iou *r = arg;

	iou_submit(r);
	return (void *)syscall(SYS_gettid);
}

TEST_F(poll_end, thread)
{
	struct got got = {};
	pthread_t thread;
	struct iou r;
	void *tid;

	if (variant->flags & IORING_SETUP_SINGLE_ISSUER)
		SKIP(return, "one task only");
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags));
	prep_poll(&r, self->p[0], POLLIN, 0, 1);
	prep_poll(&r, self->p[0], POLLIN, MULTI, 2);
	ASSERT_EQ(0, pthread_create(&thread, NULL, arming_thread, &r));
	pthread_join(thread, &tid);
	/* it can be joined before it has run its last task work */
	while (!syscall(SYS_tgkill, getpid(), (long)tid, 0))
		iou_sleep_ms(1);
	settle(&r);
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	ASSERT_EQ(0, take_of(&r, 1, &got));
	EXPECT_EQ(variant->flags & IORING_SETUP_SQPOLL ? POLLIN : -ECANCELED, got.res);
	ASSERT_EQ(0, take_of(&r, 2, &got));
	EXPECT_EQ(variant->flags & IORING_SETUP_SQPOLL ? POLLIN : -ECANCELED, got.res);
	iou_exit(&r);
	close(self->p[0]);
}

TEST(iopoll_refuses)
{
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_IOPOLL));
	prep_poll(&r, r.fd, POLLIN, 0, 1);
	EXPECT_EQ(-EINVAL, iou_one(&r));
	prep_remove(&r, 1);
	EXPECT_EQ(-EINVAL, iou_one(&r));
	iou_exit(&r);
}

TEST_HARNESS_MAIN
