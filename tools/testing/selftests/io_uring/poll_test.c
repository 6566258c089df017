// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: POLL_ADD, POLL_REMOVE */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "poll.h"

/* A field of the SQE that must be zero, and the error if it is not. */
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
	/* a poll without MULTI reports only one event */
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_TRUE(has_quiet_ring(r, 20));

	/* the pipe is ready, so both polls complete at once, even in a worker */
	prep_poll(r, self->p[0], POLLIN | POLLRDNORM | POLLOUT, 0, 2);
	prep_poll(r, self->p[0], POLLIN, 0, 3)->flags = IOSQE_ASYNC;
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, 2, POLLIN | POLLRDNORM, 0);
	EXPECT_CQE(r, 3, POLLIN, 0);

	/* a worker arms a poll of a pipe that is not ready */
	drain(self->p[0]);
	prep_poll(r, self->p[0], POLLIN, 0, 4)->flags = IOSQE_ASYNC;
	ASSERT_LE(0, submit(r));
	EXPECT_TRUE(has_quiet_ring(r, 20));
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_CQE(r, 4, POLLIN, 0);

	/* with IOSQE_CQE_SKIP_SUCCESS, a success posts no CQE */
	prep_poll(r, self->p[0], POLLIN, 0, 5)->flags = IOSQE_CQE_SKIP_SUCCESS;
	ASSERT_LE(0, submit(r));
	EXPECT_TRUE(has_quiet_ring(r, 20));
}

/* A poll reports errors and hang-ups even if the program has not requested them. */
TEST_F(poll, unasked)
{
	struct iou *r = &self->r;
	int s[2];

	prep_poll(r, self->p[0], 0, 0, 1);
	prep_poll(r, self->p[1], POLLIN, 0, 2);
	ASSERT_LE(0, submit(r));
	EXPECT_TRUE(has_quiet_ring(r, 20));
	close(self->p[0]);
	/* the poll holds a reference to the file */
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

/* A poll of a file that is always ready, or has no wait queue, ends at once. */
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

/*
 * A socket wakes polls for POLLPRI whenever data arrives; only its ->poll() reports if there is
 * out-of-band data.  6.12 misses such a wake.  Mutant: poll-priority-believed.
 * differences: poll-priority
 */
TEST_F(poll, priority)
{
	struct iou *r = &self->r;
	unsigned int multi;
	int s[2];

	for (multi = 0; multi < 2; multi++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
		prep_poll(r, s[0], POLLPRI, multi ? MULTI : 0, 1);
		ASSERT_LE(0, submit(r));
		ASSERT_EQ(1, write(s[1], "x", 1));
		EXPECT_TRUE(has_quiet_ring(r, 20));
		ASSERT_EQ(1, send(s[1], "x", 1, MSG_OOB));
		if (!iou_on_stock())
			EXPECT_CQE(r, 1, POLLPRI, multi ? IORING_CQE_F_MORE : 0);
		prep_remove(r, 1);
		ASSERT_LE(0, submit(r));
		settle(r);
		iou_seen(r, iou_ready(r));
		close(s[0]);
		close(s[1]);
	}
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
		/* even rounds leave the data unread: each write is an event */
		if (i % 2)
			drain(self->p[0]);
	}
	/* without a further write there is no event */
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

/*
 * The removal of a poll that was just cancelled finds the poll, and fails with -EALREADY.  A poll
 * that was just removed is not found again.  Mutant: poll-removal-finds-nothing.
 */
TEST_F(poll, remove_of_a_cancelled_one)
{
	struct iou *r = &self->r;
	unsigned int multi;

	if (!iou_has_op(r, IORING_OP_ASYNC_CANCEL))
		SKIP(return, "no ASYNC_CANCEL");
	for (multi = 0; multi < 2; multi++) {
		prep_poll(r, self->p[0], POLLIN, multi ? MULTI : 0, 1);
		ASSERT_LE(0, submit(r));
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1UL, 0, 0)->user_data = ACT + 1;
		prep_remove(r, 1);
		ASSERT_LE(0, submit(r));
		EXPECT_CQE(r, ACT + 1, 0, 0);
		EXPECT_CQE(r, ACT, -EALREADY, 0);
		EXPECT_CQE(r, 1, -ECANCELED, 0);
		prep_poll(r, self->p[0], POLLIN, multi ? MULTI : 0, 1);
		ASSERT_LE(0, submit(r));
		prep_remove(r, 1);
		prep_remove(r, 1);
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1UL, 0, 0)->user_data = ACT + 1;
		ASSERT_LE(0, submit(r));
		EXPECT_CQE(r, ACT, 0, 0);
		EXPECT_CQE(r, ACT, -ENOENT, 0);
		EXPECT_CQE(r, ACT + 1, -ENOENT, 0);
		EXPECT_CQE(r, 1, -ECANCELED, 0);
	}
}

/* A multishot poll with EPOLLONESHOT reports one event. */
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
		sqe->poll32_events = poll_word(POLLIN | EPOLLONESHOT);
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

/* A multishot poll of a ready file reports that event, and continues. */
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
	/* a read that waits is not a poll */
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
	/* the file is ready: both the update and the poll post a CQE */
	prep_update(r, 2, EVENTS | USER_DATA, POLLIN, 3);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	EXPECT_CQE(r, 3, POLLIN, 0);
	EXPECT_TRUE(has_quiet_ring(r, 20));

	/* a multishot poll stays multishot */
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
	/* an update does not turn a single poll into a multishot one */
	prep_poll(r, self->p[0], POLLPRI, 0, 6);
	ASSERT_LE(0, submit(r));
	prep_update(r, 6, EVENTS | MULTI, POLLIN, 0);
	ASSERT_LE(0, submit(r));
	EXPECT_CQE(r, ACT, 0, 0);
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_CQE(r, 6, POLLIN, 0);
	close(fd);
}

/* A removal or update of a poll that an event has already woken is too late. */
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

/* All polls of a file report its hang-up, on each ring. */
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

/* A multishot poll survives a thousand wakes before a task checks the file. */
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
			do {
				ASSERT_EQ(0, take_of(r, 1, &got));
				EXPECT_EQ(MORE, got.flags);
			} while (iou_ready(r));
			settle(r);
		} while (iou_ready(r));
		drain(self->p[0]);
	}
	ASSERT_EQ(1, write(self->p[1], "x", 1));
	EXPECT_CQE(r, 1, POLLIN, MORE);
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
	/* exactly one poll reports the event */
	EXPECT_EQ(1, nr);
	/* a poll that is not exclusive gets the event as well */
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

/*
 * One event wakes the first of two polls, which is cancelled before it posts a CQE: the second
 * poll reports the event.  Mutant: cancelled-poll-keeps-event.  differences: event-passed-on
 */
TEST_F(poll, exclusive_cancelled)
{
	struct iou *r = &self->r, other;
	struct io_uring_sqe *sqe;
	struct got got = {};
	int fds[2], multi;
	char c;

	if (iou_on_stock())
		SKIP(return, "not compared");
	if (!iou_has_op(r, IORING_OP_ASYNC_CANCEL))
		SKIP(return, "no ASYNC_CANCEL");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	ASSERT_EQ(0, iou_init(&other, 4, IOU_DEFER));
	for (multi = 0; multi < 2; multi++) {
		prep_poll(&other, fds[0], POLLIN | EPOLLEXCLUSIVE, multi ? MULTI : 0, 1);
		ASSERT_EQ(1, submit(&other));
		prep_poll(r, fds[0], POLLIN | EPOLLEXCLUSIVE, 0, 2);
		ASSERT_LE(0, submit(r));
		settle(r);
		ASSERT_EQ(1, write(fds[1], "x", 1));
		sqe = iou_prep(&other, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0);
		sqe->user_data = ACT;
		ASSERT_EQ(1, iou_submit(&other));
		EXPECT_CQE(&other, 1, -ECANCELED, 0);
		EXPECT_CQE(&other, ACT, 0, 0);
		ASSERT_EQ(0, take_of(r, 2, &got));
		EXPECT_EQ(POLLIN, got.res);
		EXPECT_EQ(1, read(fds[0], &c, 1));
	}
	iou_exit(&other);
	close(fds[0]);
	close(fds[1]);
}

/*
 * The first of two events wakes the first of two polls, whose owner does not enter its ring.  The
 * second event is for the other poll.  The wakes of inotify do not say which event has come.
 * Mutant: exclusive-poll-takes-two.  differences: poll-exclusive-two
 */
TEST_F(poll, exclusive_two)
{
	char name[] = "/tmp/iou_poll_XXXXXX";
	struct iou *r = &self->r, first;
	struct got got = {};
	int fd, file;

	if (iou_on_stock())
		SKIP(return, "not compared");
	file = mkstemp(name);
	ASSERT_LE(0, file);
	fd = inotify_init1(IN_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, inotify_add_watch(fd, name, IN_MODIFY | IN_ATTRIB));
	ASSERT_EQ(0, iou_init(&first, 4, IOU_DEFER));
	prep_poll(&first, fd, POLLIN | EPOLLEXCLUSIVE, 0, 1);
	ASSERT_EQ(1, submit(&first));
	prep_poll(r, fd, POLLIN | EPOLLEXCLUSIVE, 0, 2);
	ASSERT_LE(0, submit(r));
	settle(r);
	ASSERT_EQ(1, write(file, "x", 1));
	settle(r);
	EXPECT_EQ(0, iou_ready(r));
	ASSERT_EQ(0, fchmod(file, 0640));
	ASSERT_EQ(0, take_of(r, 2, &got));
	EXPECT_EQ(POLLIN, got.res);
	EXPECT_CQE(&first, 1, POLLIN, 0);
	iou_exit(&first);
	unlink(name);
	close(file);
	close(fd);
}

struct removal {
	int fd;
	unsigned int turn, done;
};

/* Cause an event at some moment of each turn. */
static void *event_in_turn(void *arg)
{
	struct removal *r = arg;
	volatile unsigned int delay;
	unsigned int turn = 0;

	while (turn != -1U) {
		while (load_acq(&r->turn) == turn)
			sched_yield();
		turn = load_acq(&r->turn);
		for (delay = turn * 7 % 1500; delay; delay--)
			;
		if (write(r->fd, "x", 1) != 1)
			break;
		store_rel(&r->done, turn);
	}
	return NULL;
}

/*
 * An event comes while the first of two polls is removed: one poll reports the event.
 * differences: event-passed-on
 */
TEST_F(poll, exclusive_removed)
{
	unsigned long long end = getenv("IOU_SOAK") ? iou_race_end() : iou_now_us() + 1000000;
	unsigned int i, rounds = iou_rounds(getenv("IOU_SOAK") ? 10000 : 100);
	struct iou *r = &self->r, other;
	struct removal removal = {};
	struct got got = {};
	pthread_t thread;
	int fds[2];
	char c;

	if (iou_on_stock())
		SKIP(return, "not compared");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	removal.fd = fds[1];
	ASSERT_EQ(0, iou_init(&other, 4, variant->flags));
	ASSERT_EQ(0, pthread_create(&thread, NULL, event_in_turn, &removal));
	for (i = 1; i <= rounds && iou_now_us() < end; i++) {
		prep_poll(&other, fds[0], POLLIN | EPOLLEXCLUSIVE, 0, 1);
		ASSERT_LE(0, submit(&other));
		prep_poll(r, fds[0], POLLIN | EPOLLEXCLUSIVE, 0, 2);
		ASSERT_LE(0, submit(r));
		store_rel(&removal.turn, i);
		prep_remove(&other, 1);
		ASSERT_LE(0, iou_submit(&other));
		ASSERT_EQ(0, take_of(&other, ACT, &got));
		ASSERT_EQ(0, take_of(&other, 1, &got));
		if (got.res == -ECANCELED)
			ASSERT_EQ(0, take_of(r, 2, &got));
		EXPECT_EQ(POLLIN, got.res);
		while (load_acq(&removal.done) != i)
			sched_yield();
		if (got.data == 1) {
			prep_remove(r, 2);
			ASSERT_LE(0, iou_submit(r));
			ASSERT_EQ(0, take_of(r, ACT, &got));
			ASSERT_EQ(0, take_of(r, 2, &got));
		}
		EXPECT_EQ(1, read(fds[0], &c, 1));
	}
	store_rel(&removal.turn, -1U);
	pthread_join(thread, NULL);
	iou_exit(&other);
	close(fds[0]);
	close(fds[1]);
}

/* Return: the number of waiting requests of an op, according to fdinfo. */
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
	/* fdinfo leaves out the requests while a task holds the ring lock */
	settle(r);
	EXPECT_EQ(1, waiting(r, IORING_OP_POLL_ADD));
	EXPECT_EQ(0, waiting(r, IORING_OP_READ));
}

/* Remove all polls: the last CQE of each comes after its earlier CQEs. */
static void remove_all(struct __test_metadata *_metadata, struct iou *r, unsigned char *seen,
		       unsigned int nr)
{
	unsigned int i;

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
}

/* One event wakes many polls of one file, in batches of several sizes. */
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
		ASSERT_EQ(1, write(p[1], "x", 1));
		close(p[1]);
		settle(r);
		remove_all(_metadata, r, seen, nr);
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

/* Without room in the CQ a poll does not continue: its last CQE overflows, and is not lost. */
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

/* Many polls at once without room in the CQ: each ends only once, and no CQE is lost. */
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

/* Each published batch signals the eventfd once; without a CQE there is no signal. */
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
	 * Single-writer rings signal for the first event, and for the CQEs.  An SQPOLL thread may
	 * publish while the wakes still come, in any number of batches.
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

/* A task that waits for N CQEs is woken once all of them are there, not for each CQE. */
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
		/* on other rings, task work wakes the task for each event */
		if (variant->flags & IORING_SETUP_DEFER_TASKRUN)
			EXPECT_GE(8, switches() - before);
		pthread_join(feeder.thread, NULL);
		iou_seen(r, 16);
		for (i = 0; i < 16; i++)
			close(feeder.fd[i]);
	}
}

/* How a child with armed requests ends. */
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

/* However a task with armed polls ends, the polls end, and release their file. */
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
				/* a ring with a poll of itself is not released by its close */
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
		/* no task is left that holds the read end */
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

/* Submit the prepared polls and exit.  Return: the thread's ID */
static void *arming_thread(void *arg)
{
	struct iou *r = arg;

	iou_submit(r);
	return (void *)syscall(SYS_gettid);
}

/* A thread with armed polls ends while other threads use the ring. */
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
	/* a join may return before the thread has run its last task work */
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
