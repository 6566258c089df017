/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: shared parts of the programs that test polls */
#ifndef POLL_H
#define POLL_H

#include <termios.h>
#include <sys/epoll.h>
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

static inline struct io_uring_sqe *prep_poll(struct iou *r, int fd, __u32 events,
					     unsigned int flags, __u64 data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL, flags, 0);

	sqe->poll32_events = poll_word(events);
	sqe->user_data = data;
	return sqe;
}

static inline struct io_uring_sqe *prep_remove(struct iou *r, __u64 target)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_REMOVE, -1, NULL, 0, 0);

	sqe->addr = target;
	sqe->user_data = ACT;
	return sqe;
}

static inline struct io_uring_sqe *prep_update(struct iou *r, __u64 target, unsigned int flags,
					       __u32 events, __u64 data)
{
	struct io_uring_sqe *sqe = prep_remove(r, target);

	sqe->len = flags;
	sqe->off = data;
	sqe->poll32_events = poll_word(events);
	return sqe;
}

/* Submit the prepared SQEs and wait until they were issued. */
static inline int submit(struct iou *r)
{
	int ret = iou_submit(r);

	if (r->flags & IORING_SETUP_SQPOLL && !iou_taken(r, IOU_PATIENCE))
		return -ETIME;
	return ret;
}

/* Let an SQPOLL thread, or else this task, post the CQEs of all events so far. */
static inline void settle(struct iou *r)
{
	if (r->flags & IORING_SETUP_SQPOLL)
		iou_sleep_ms(20);
	iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS);
}

static inline bool has_quiet_ring(struct iou *r, unsigned int ms)
{
	int ret = iou_wait_ms(r, 1, ms);

	return ret == -ETIME && !iou_ready(r);
}

struct got {
	__u64 data;
	int res;
	unsigned int flags;
};

/* Take the CQE with this user_data at any place in the CQ; keep other CQEs in order. */
static inline int take_of(struct iou *r, __u64 data, struct got *got)
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

static inline void drain(int fd)
{
	char buf[4096];

	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

static inline int open_pty(int *slave)
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

#endif
