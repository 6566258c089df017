// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: cancel - which requests are found, the result, and that each ends once */
/*
 * Requests wait in different places: for a file to become ready, for a time, in the queue of a
 * worker, or on a worker.  A cancel finds a request by each key that matches it, and by no other
 * key.  A request that was found ends with one CQE.
 *
 * Work on a worker is a read into a hole, so that a test decides how long it takes.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "fault.h"
#include "iou_test.h"

#define ALL		IORING_ASYNC_CANCEL_ALL
#define FD		IORING_ASYNC_CANCEL_FD
#define ANY		IORING_ASYNC_CANCEL_ANY
#define FD_FIXED	IORING_ASYNC_CANCEL_FD_FIXED
#define USERDATA	IORING_ASYNC_CANCEL_USERDATA
#define OP		IORING_ASYNC_CANCEL_OP
#define FLAGS_END	64

/* user_data of the requests that cancel */
#define CANCELLER	0xcafe0000cafeULL

#define PAGES		4

static struct __kernel_timespec long_time = { .tv_sec = 1000 };

FIXTURE(cancel) {
	struct iou r;
	int a[2], b[2];		/* pipes */
	char buf[64];
};

FIXTURE_VARIANT(cancel) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(cancel);
IOU_KIND(cancel, defer_large, IOU_DEFER | IOU_LARGE);

FIXTURE_SETUP(cancel)
{
	ASSERT_EQ(0, pipe(self->a));
	ASSERT_EQ(0, pipe(self->b));
	ASSERT_EQ(0, iou_init(&self->r, 32, variant->flags));
	if (!iou_has_op(&self->r, IORING_OP_POLL_ADD) ||
	    !iou_has_op(&self->r, IORING_OP_TIMEOUT))
		SKIP(return, "nothing can be parked");
}

FIXTURE_TEARDOWN(cancel)
{
	iou_exit(&self->r);
	close(self->a[0]);
	close(self->a[1]);
	close(self->b[0]);
	close(self->b[1]);
}

static struct io_uring_sqe *prep_poll(struct iou *r, int fd, __u64 data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL, 0, 0);

	sqe->poll32_events = poll_word(POLLIN);
	sqe->user_data = data;
	return sqe;
}

static struct io_uring_sqe *prep_read(struct iou *r, int fd, void *buf, __u64 data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_READ, fd, buf, 8, 0);

	sqe->user_data = data;
	return sqe;
}

static struct io_uring_sqe *prep_timeout(struct iou *r, const struct __kernel_timespec *ts,
					 __u64 data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_TIMEOUT, -1, ts, 1, 0);

	sqe->user_data = data;
	return sqe;
}

static struct io_uring_sqe *prep_link_timeout(struct iou *r, const struct __kernel_timespec *ts,
					      __u64 data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, ts, 1, 0);

	sqe->user_data = data;
	return sqe;
}

static struct io_uring_sqe *prep_cancel(struct iou *r, __u64 data, int fd, unsigned int op,
					unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, fd, NULL, op, 0);

	sqe->addr = data;
	sqe->cancel_flags = flags;
	sqe->user_data = CANCELLER;
	return sqe;
}

static int sync_cancel_for(struct iou *r, __u64 data, int fd, unsigned int op,
			   unsigned int flags, long long sec, long long nsec)
{
	struct io_uring_sync_cancel_reg reg = {
		.addr = data, .fd = fd, .flags = flags, .opcode = op,
		.timeout = { sec, nsec },
	};

	return iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 1);
}

static int sync_cancel(struct iou *r, __u64 data, int fd, unsigned int op, unsigned int flags)
{
	return sync_cancel_for(r, data, fd, op, flags, -1, -1);
}

/* The requests that have ended, by their user_data, which is below 8. */
struct ended {
	int nr[8];		/* CQEs without F_MORE */
	int more[8];
	int res[8];		/* of the last CQE */
	int cancel;		/* the canceller's result */
	int nr_cancel;
};

/* Count and consume all CQEs that are ready. */
static void note(struct iou *r, struct ended *e)
{
	for (; iou_ready(r); iou_seen(r, 1)) {
		struct io_uring_cqe *cqe = iou_cqe_at(r, 0);

		if (cqe->user_data == CANCELLER) {
			e->cancel = cqe->res;
			e->nr_cancel++;
		} else if (cqe->user_data < 8 && cqe->flags & IORING_CQE_F_MORE) {
			e->more[cqe->user_data]++;
		} else if (cqe->user_data < 8) {
			e->nr[cqe->user_data]++;
			e->res[cqe->user_data] = cqe->res;
		}
	}
}

/* Wait for @nr CQEs and count all that are ready.  Return: -ETIME if the wait timed out. */
static int collect(struct iou *r, struct ended *e, unsigned int nr)
{
	int ret = iou_wait(r, nr);

	note(r, e);
	return ret;
}

/* Submit, and wait until an SQPOLL thread has issued the SQEs. */
static void issued(struct iou *r)
{
	iou_submit(r);
	iou_taken(r, IOU_PATIENCE);
	/* give the thread time to issue the last SQEs */
	if (r->flags & IORING_SETUP_SQPOLL)
		iou_sleep_ms(2);
}

/* Cancel by an SQE, and wait for its CQE and for @others more.  Return: the cancel's result. */
static int cancel_one(struct iou *r, struct ended *e, __u64 data, int fd, unsigned int op,
		      unsigned int flags, unsigned int others)
{
	e->nr_cancel = 0;
	e->cancel = -ENODATA;
	prep_cancel(r, data, fd, op, flags);
	iou_submit(r);
	if (collect(r, e, 1 + others))
		return -ETIME;
	return e->nr_cancel == 1 ? e->cancel : -ENODATA;
}

/*
 * The requests of the test of all keys.  ->file is 0 for pipe a, 1 for pipe b, and -1 for no file.
 * The keys match user_data 1, pipe a and polls.
 */
static const struct {
	int op, file;
	__u64 data;
} crowd[] = {
	{ IORING_OP_POLL_ADD, 0, 1 },
	{ IORING_OP_POLL_ADD, 1, 1 },
	{ IORING_OP_POLL_ADD, 0, 2 },
	{ IORING_OP_READ, 0, 3 },
	{ IORING_OP_TIMEOUT, -1, 1 },
	{ IORING_OP_READ, 1, 1 },
	{ IORING_OP_TIMEOUT, -1, 5 },
};

static bool named(unsigned int i, unsigned int flags)
{
	if (!(flags & (FD | OP | ANY)))
		flags |= USERDATA;
	if (flags & ANY)
		return !(flags & FD) || crowd[i].file >= 0;
	if (flags & FD && crowd[i].file != 0)
		return false;
	if (flags & OP && crowd[i].op != IORING_OP_POLL_ADD)
		return false;
	return !(flags & USERDATA) || crowd[i].data == 1;
}

static void start_crowd(struct iou *r, const int *fds, char *buf)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(crowd); i++) {
		if (crowd[i].op == IORING_OP_POLL_ADD)
			prep_poll(r, fds[crowd[i].file], crowd[i].data);
		else if (crowd[i].op == IORING_OP_READ)
			prep_read(r, fds[crowd[i].file], buf, crowd[i].data);
		else
			prep_timeout(r, &long_time, crowd[i].data);
	}
	issued(r);
}

/* Return: the expected result of a cancel with @flags; *@nr is the number of requests that end. */
static int expected(unsigned int flags, bool sync, int want[8], unsigned int *nr)
{
	unsigned int i, matches = 0;

	memset(want, 0, 8 * sizeof(*want));
	*nr = 0;
	if (!sync && flags & ANY && flags & (FD | OP))
		return -EINVAL;
	for (i = 0; i < ARRAY_LEN(crowd); i++) {
		if (named(i, flags)) {
			want[crowd[i].data]++;
			matches++;
		}
	}
	*nr = flags & (ALL | ANY) ? matches : 1;
	return flags & (ALL | ANY) ? matches : 0;
}

/* Test all combinations of keys, by an SQE and by IORING_REGISTER_SYNC_CANCEL. */
TEST_F(cancel, keys)
{
	int fds[2] = { self->a[0], self->b[0] };
	struct iou *r = &self->r;
	unsigned int flags, sync, nr, i;
	int want[8], res;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, fds, 2));
	for (flags = 0; flags < 2 * FLAGS_END; flags++) {
		unsigned int f = flags / 2;
		int fd = f & FD_FIXED ? 0 : self->a[0];
		struct ended e = { };

		sync = flags % 2;
		start_crowd(r, fds, self->buf);
		res = expected(f, sync, want, &nr);
		if (sync) {
			EXPECT_EQ(res, sync_cancel(r, 1, fd, IORING_OP_POLL_ADD, f)) {
				TH_LOG("flags %u", f);
			}
			EXPECT_EQ(0, collect(r, &e, nr));
		} else {
			EXPECT_EQ(res, cancel_one(r, &e, 1, fd, IORING_OP_POLL_ADD, f, nr)) {
				TH_LOG("flags %u", f);
			}
		}
		for (i = 0; i < 8; i++) {
			/* without ALL or ANY, one of several matching requests ends */
			if (f & (ALL | ANY)) {
				EXPECT_EQ(want[i], e.nr[i]);
			} else {
				EXPECT_LE(e.nr[i], want[i]);
			}
			EXPECT_EQ(e.nr[i] ? -ECANCELED : 0, e.res[i]);
			nr -= e.nr[i];
		}
		EXPECT_EQ(0, nr) {
			TH_LOG("flags %u%s: %d more than ended", f, sync ? " sync" : "", nr);
		}
		sync_cancel(r, 0, 0, 0, ANY);
		EXPECT_EQ(0, collect(r, &e, ARRAY_LEN(crowd) -
				     e.nr[1] - e.nr[2] - e.nr[3] - e.nr[5]));
		EXPECT_EQ(ARRAY_LEN(crowd), e.nr[1] + e.nr[2] + e.nr[3] + e.nr[5]);
	}
}

/* Mutant: cancel-of-any-number.  differences: cancel-op-checked */
TEST_F(cancel, bad_arguments)
{
	struct io_uring_sync_cancel_reg reg = { .timeout = { -1, -1 } };
	int fds[2] = { self->a[0], -1 };
	struct iou *r = &self->r;
	struct ended e = { };
	unsigned int i;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, fds, 2));
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 1, 0, 0, 0, 0));
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, CANCELLER, 0, 0, 0, 0));
	EXPECT_EQ(0, cancel_one(r, &e, 0, 0, 0, ANY, 0));
	EXPECT_EQ(0, cancel_one(r, &e, 1, 0, 0, ALL, 0));
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 1, 0, IORING_OP_NOP, OP, 0));
	EXPECT_EQ(iou_on_older_stock() ? -ENOENT : -EINVAL, cancel_one(r, &e, 1, 0, 255, OP, 0));
	EXPECT_EQ(iou_on_older_stock() ? -ENOENT : -EINVAL, cancel_one(r, &e, 1, 0, 256, OP, 0));
	EXPECT_EQ(-EBADF, cancel_one(r, &e, 1, -1, 0, FD, 0));
	EXPECT_EQ(-EBADF, cancel_one(r, &e, 1, 900, 0, FD, 0));
	EXPECT_EQ(-EBADF, cancel_one(r, &e, 1, 1, 0, FD | FD_FIXED, 0));
	EXPECT_EQ(-EBADF, cancel_one(r, &e, 1, 2, 0, FD | FD_FIXED, 0));
	EXPECT_EQ(-EBADF, cancel_one(r, &e, 1, -1, 0, FD | FD_FIXED, 0));
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 1, 900, 0, FD_FIXED, 0));
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 1, self->a[0], 0, FD, 0));
	for (i = 6; i < 32; i++)
		EXPECT_EQ(-EINVAL, cancel_one(r, &e, 1, 0, 0, 1U << i, 0));

	EXPECT_EQ(-ENOENT, sync_cancel(r, 1, 0, 0, 0));
	EXPECT_EQ(0, sync_cancel(r, 1, 0, 0, ANY));
	EXPECT_EQ(-EBADF, sync_cancel(r, 1, 900, 0, FD));
	EXPECT_EQ(-EBADF, sync_cancel(r, 1, 1, 0, FD | FD_FIXED));
	EXPECT_EQ(-EBADF, sync_cancel(r, 1, -1, 0, FD | FD_FIXED));
	EXPECT_EQ(-ENOENT, sync_cancel(r, 1, 0, 255, OP));
	for (i = 6; i < 32; i++)
		EXPECT_EQ(-EINVAL, sync_cancel(r, 1, 0, 0, 1U << i));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 0));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 2));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_SYNC_CANCEL, NULL, 1));
	EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_SYNC_CANCEL, (void *)8, 1));
	/* reserved fields are checked before the descriptor */
	reg.flags = FD;
	reg.fd = -1;
	for (i = 0; i < 7; i++) {
		memset(reg.pad, 0, sizeof(reg.pad));
		reg.pad[i] = 1;
		EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 1));
	}
	memset(reg.pad, 0, sizeof(reg.pad));
	for (i = 0; i < 3; i++) {
		memset(reg.pad2, 0, sizeof(reg.pad2));
		reg.pad2[i] = 1ULL << 63;
		EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 1));
	}
}

/* IOSQE_FIXED_FILE also selects a registered file for the cancel. */
TEST_F(cancel, slot_by_sqe_flag)
{
	int fds[2] = { self->a[0], self->b[0] };
	struct iou *r = &self->r;
	struct ended e = { };

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, fds, 2));
	prep_poll(r, self->a[0], 1);
	prep_poll(r, 1, 2)->flags = IOSQE_FIXED_FILE;
	issued(r);
	prep_cancel(r, 0, 0, 0, FD)->flags = IOSQE_FIXED_FILE;
	iou_submit(r);
	EXPECT_EQ(0, collect(r, &e, 2));
	EXPECT_EQ(0, e.cancel);
	EXPECT_EQ(1, e.nr[1]);
	/* the file's descriptor also finds a request that uses the registered file */
	EXPECT_EQ(0, cancel_one(r, &e, 0, self->b[0], 0, FD, 1));
	EXPECT_EQ(1, e.nr[2]);
}

/* A cancel compares files, not descriptor numbers. */
TEST_F(cancel, file_not_number)
{
	struct iou *r = &self->r;
	struct ended e = { };
	int fd = dup(self->a[0]);

	prep_poll(r, self->a[0], 1);
	prep_poll(r, self->a[0], 2);
	issued(r);
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 0, fd, 0, FD | USERDATA, 0));
	EXPECT_EQ(0, e.nr[1]);
	EXPECT_EQ(0, cancel_one(r, &e, 1, fd, 0, FD | USERDATA, 1));
	EXPECT_EQ(1, e.nr[1]);
	/* the number now refers to another pipe */
	ASSERT_EQ(self->a[0], dup2(self->b[0], self->a[0]));
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 0, self->a[0], 0, FD, 0));
	EXPECT_EQ(0, cancel_one(r, &e, 0, fd, 0, FD, 1));
	EXPECT_EQ(1, e.nr[2]);
	close(fd);
}

/* Requests without a file do not match the file of an earlier request in the same memory. */
TEST_F(cancel, no_file_is_no_match)
{
	struct iou *r = &self->r;
	struct ended e = { };
	unsigned int i;

	/* the timeouts below use the memory of these polls again */
	for (i = 0; i < 16; i++)
		prep_poll(r, self->a[0], 1);
	issued(r);
	EXPECT_EQ(16, cancel_one(r, &e, 0, self->a[0], 0, FD | ALL, 16));
	EXPECT_EQ(16, e.nr[1]);
	for (i = 0; i < 24; i++)
		prep_timeout(r, &long_time, 2);
	issued(r);
	EXPECT_EQ(0, cancel_one(r, &e, 0, self->a[0], 0, FD | ALL, 0));
	EXPECT_EQ(24, cancel_one(r, &e, 0, 0, IORING_OP_TIMEOUT, OP | ALL, 24));
	EXPECT_EQ(24, e.nr[2]);
}

/* A second cancel, after the CQE of the first one was read, finds neither a poll nor a timer. */
TEST_F(cancel, twice)
{
	struct iou *r = &self->r;
	struct ended e = { };

	prep_poll(r, self->a[0], 1);
	prep_timeout(r, &long_time, 2);
	issued(r);
	EXPECT_EQ(0, cancel_one(r, &e, 2, 0, 0, 0, 1));
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 2, 0, 0, 0, 0));
	EXPECT_EQ(0, cancel_one(r, &e, 1, 0, 0, 0, 1));
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 1, 0, 0, 0, 0));
	EXPECT_EQ(1, e.nr[1]);
	EXPECT_EQ(1, e.nr[2]);
	EXPECT_EQ(-ECANCELED, e.res[1]);
	EXPECT_EQ(-ECANCELED, e.res[2]);
}

/* Two cancels in one batch both find a poll, since the first only queues task work to end it. */
TEST_F(cancel, twice_in_a_batch)
{
	struct iou *r = &self->r;
	struct ended e = { };

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the thread may take them one by one");
	prep_poll(r, self->a[0], 3)->len = IORING_POLL_ADD_MULTI;
	issued(r);
	prep_cancel(r, 3, 0, 0, 0);
	prep_cancel(r, 3, 0, 0, 0);
	iou_submit(r);
	EXPECT_EQ(0, collect(r, &e, 3));
	EXPECT_EQ(2, e.nr_cancel);
	EXPECT_EQ(0, e.cancel);
	EXPECT_EQ(1, e.nr[3]);
	EXPECT_EQ(-ECANCELED, e.res[3]);
}

/*
 * On a DEFER_TASKRUN ring, an event may have no CQE yet.  A cancel then still ends a poll or a
 * read, but does not find a timer that has expired.
 */
TEST_F(cancel, happened_but_not_told)
{
	struct __kernel_timespec soon = { .tv_nsec = 1000000 };
	struct iou *r = &self->r;
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	struct ended e = { };
	unsigned int i;

	if (!(variant->flags & IORING_SETUP_DEFER_TASKRUN))
		SKIP(return, "told at once");
	prep_poll(r, self->a[0], 1);
	prep_poll(r, self->a[0], 2)->len = IORING_POLL_ADD_MULTI;
	prep_read(r, self->a[0], self->buf, 3);
	prep_timeout(r, &soon, 4)->off = 0;
	ASSERT_EQ(4, iou_submit(r));
	/* the expired timer makes the ring readable; the write wakes polls and read */
	ASSERT_EQ(1, poll(&pfd, 1, 20000));
	ASSERT_EQ(1, write(self->a[1], "x", 1));
	for (i = 1; i <= 4; i++)
		prep_cancel(r, i, 0, 0, 0)->user_data = 0x100 + i;
	ASSERT_EQ(4, iou_submit(r));
	for (i = 1; i <= 4; i++) {
		struct io_uring_cqe *cqe = iou_cqe_at(r, i - 1);

		ASSERT_LE(i, iou_ready(r));
		EXPECT_EQ(0x100 + i, cqe->user_data);
		EXPECT_EQ(i == 4 ? -ENOENT : 0, cqe->res);
	}
	iou_seen(r, 4);
	EXPECT_EQ(0, collect(r, &e, 4));
	for (i = 1; i <= 4; i++) {
		EXPECT_EQ(1, e.nr[i]);
		EXPECT_EQ(0, e.more[i]);
		EXPECT_EQ(i == 4 ? -ETIME : -ECANCELED, e.res[i]);
	}
}

/* A cancel finds a chain only by its head; the rest of a hardlinked chain still runs. */
TEST_F(cancel, chains)
{
	struct iou *r = &self->r;
	struct ended e = { };

	prep_poll(r, self->a[0], 1)->flags = IOSQE_IO_LINK;
	iou_nop(r, 2);
	prep_poll(r, self->a[0], 3)->flags = IOSQE_IO_HARDLINK;
	iou_nop(r, 4);
	issued(r);
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 2, 0, 0, 0, 0));
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 0, 0, IORING_OP_NOP, OP, 0));
	EXPECT_EQ(0, cancel_one(r, &e, 1, 0, 0, 0, 2));
	EXPECT_EQ(1, e.nr[1]);
	EXPECT_EQ(1, e.nr[2]);
	EXPECT_EQ(-ECANCELED, e.res[2]);
	EXPECT_EQ(0, cancel_one(r, &e, 3, 0, 0, 0, 2));
	EXPECT_EQ(1, e.nr[3]);
	EXPECT_EQ(1, e.nr[4]);
	EXPECT_EQ(0, e.res[4]);
}

TEST_F(cancel, linked_timeout)
{
	struct iou *r = &self->r;
	struct ended e = { };

	prep_poll(r, self->a[0], 1)->flags = IOSQE_IO_LINK;
	prep_link_timeout(r, &long_time, 2)->flags = IOSQE_IO_LINK;
	iou_nop(r, 3);
	issued(r);
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 2, 0, 0, 0, 0));
	EXPECT_EQ(1, cancel_one(r, &e, 0, 0, 0, ANY, 3));
	EXPECT_EQ(1, e.nr[1]);
	EXPECT_EQ(1, e.nr[2]);
	EXPECT_EQ(1, e.nr[3]);
	EXPECT_EQ(-ECANCELED, e.res[1]);
	EXPECT_EQ(-ECANCELED, e.res[2]);
	EXPECT_EQ(-ECANCELED, e.res[3]);
}

/* In a chain of cancels, a cancel that finds nothing breaks the chain. */
TEST_F(cancel, cancel_in_a_chain)
{
	struct iou *r = &self->r;
	struct ended e = { };

	prep_timeout(r, &long_time, 1);
	prep_cancel(r, 1, 0, 0, 0)->flags = IOSQE_IO_LINK;
	iou_nop(r, 2)->flags = IOSQE_IO_LINK;
	prep_cancel(r, 1, 0, 0, 0)->flags = IOSQE_IO_LINK;
	iou_nop(r, 3);
	iou_submit(r);
	EXPECT_EQ(0, collect(r, &e, 5));
	EXPECT_EQ(1, e.nr[1]);
	EXPECT_EQ(0, e.res[2]);
	EXPECT_EQ(2, e.nr_cancel);
	EXPECT_EQ(-ENOENT, e.cancel);
	EXPECT_EQ(-ECANCELED, e.res[3]);
}

/* A drained request is not found, but runs once a cancel has ended the earlier request. */
TEST_F(cancel, drained)
{
	struct iou *r = &self->r;
	struct ended e = { };

	prep_poll(r, self->a[0], 1);
	iou_nop(r, 2)->flags = IOSQE_IO_DRAIN;
	/* this cancel is drained too, and is not issued yet */
	prep_cancel(r, 1, 0, 0, 0);
	issued(r);
	EXPECT_EQ(-ENOENT, sync_cancel(r, 2, 0, 0, 0));
	EXPECT_EQ(-ENOENT, sync_cancel(r, CANCELLER, 0, 0, 0));
	EXPECT_EQ(1, sync_cancel(r, 0, 0, 0, ANY));
	EXPECT_EQ(0, collect(r, &e, 3));
	EXPECT_EQ(-ECANCELED, e.res[1]);
	EXPECT_EQ(1, e.nr[2]);
	EXPECT_EQ(0, e.res[2]);
	EXPECT_EQ(-ENOENT, e.cancel);
}

/* A cancel that runs on a worker is running work itself, which some keys match. */
TEST_F(cancel, by_a_worker)
{
	static const struct {
		__u64 data;
		unsigned int op, flags;
		int alone, with_poll;
	} rows[] = {
		{ 0, 0, ANY | ALL, 0, 1 },
		{ 0, 0, ANY, 0, 1 },
		{ 1, 0, 0, -ENOENT, 0 },
		{ 1, 0, ALL, 0, 1 },
		{ 0, IORING_OP_ASYNC_CANCEL, OP | ALL, 0, 0 },
		{ 0, IORING_OP_ASYNC_CANCEL, OP, -EALREADY, -EALREADY },
		{ CANCELLER, 0, 0, -EALREADY, -EALREADY },
	};
	struct iou *r = &self->r;
	unsigned int i, poll;

	for (i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct ended e = { };
		int want = i % 2 ? rows[i / 2].with_poll : rows[i / 2].alone;

		poll = i % 2;
		if (poll)
			prep_poll(r, self->a[0], 1);
		issued(r);
		prep_cancel(r, rows[i / 2].data, 0, rows[i / 2].op,
			    rows[i / 2].flags)->flags = IOSQE_ASYNC;
		iou_submit(r);
		EXPECT_EQ(0, collect(r, &e, 1));
		if (!e.nr_cancel)
			EXPECT_EQ(0, collect(r, &e, 1));
		EXPECT_EQ(1, e.nr_cancel);
		EXPECT_EQ(want, e.cancel) {
			TH_LOG("row %u", i);
		}
		if (poll && !e.nr[1]) {
			sync_cancel(r, 1, 0, 0, 0);
			EXPECT_EQ(0, collect(r, &e, 1));
		}
		EXPECT_EQ(poll, e.nr[1]);
	}
}

/* With IOSQE_CQE_SKIP_SUCCESS the cancel has no CQE, but the cancelled request has one. */
TEST_F(cancel, skipped)
{
	struct iou *r = &self->r;
	struct ended e = { };

	prep_poll(r, self->a[0], 1)->flags = IOSQE_CQE_SKIP_SUCCESS;
	issued(r);
	prep_cancel(r, 1, 0, 0, 0)->flags = IOSQE_CQE_SKIP_SUCCESS;
	iou_submit(r);
	EXPECT_EQ(0, collect(r, &e, 1));
	/* no other CQE comes */
	EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 20));
	note(r, &e);
	EXPECT_EQ(1, e.nr[1]);
	EXPECT_EQ(-ECANCELED, e.res[1]);
	EXPECT_EQ(0, e.nr_cancel);
}

struct helper {
	struct iou *r;
	int fd;
	char buf[8];
	unsigned int stage;
};

static void *submit_and_stay(void *arg)
{
	struct helper *h = arg;

	prep_poll(h->r, h->fd, 1);
	prep_read(h->r, h->fd, h->buf, 2);
	prep_timeout(h->r, &long_time, 3);
	issued(h->r);
	store_rel(&h->stage, 1);
	while (load_acq(&h->stage) != 2)
		iou_sleep_ms(1);
	return NULL;
}

/* Cancel requests of another task of the ring, while that task sleeps. */
TEST_F(cancel, of_another_task)
{
	struct helper h = { .r = &self->r, .fd = self->a[0] };
	struct iou *r = &self->r;
	struct ended e = { };
	pthread_t thread;

	if (variant->flags & IORING_SETUP_SINGLE_ISSUER)
		SKIP(return, "one task only");
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_and_stay, &h));
	while (load_acq(&h.stage) != 1)
		iou_sleep_ms(1);
	EXPECT_EQ(0, cancel_one(r, &e, 1, 0, 0, 0, 1));
	EXPECT_EQ(0, sync_cancel(r, 2, 0, 0, 0));
	EXPECT_EQ(1, sync_cancel(r, 3, 0, 0, ALL));
	EXPECT_EQ(0, collect(r, &e, 2));
	EXPECT_EQ(-ECANCELED, e.res[1]);
	EXPECT_EQ(-ECANCELED, e.res[2]);
	EXPECT_EQ(-ECANCELED, e.res[3]);
	store_rel(&h.stage, 2);
	pthread_join(thread, NULL);
}

/* A process without a ring of its own may cancel in a ring that it has inherited. */
TEST_F(cancel, sync_by_a_child)
{
	struct iou *r = &self->r;
	struct ended e = { };
	int pid, status;

	prep_poll(r, self->a[0], 1);
	issued(r);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-sync_cancel(r, 1, 0, 0, 0));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (variant->flags & IORING_SETUP_SINGLE_ISSUER) {
		EXPECT_EQ(EEXIST, WEXITSTATUS(status));
		EXPECT_EQ(0, sync_cancel(r, 1, 0, 0, 0));
	} else {
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(0, collect(r, &e, 1));
	EXPECT_EQ(-ECANCELED, e.res[1]);
}

TEST(sync_on_other_rings)
{
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_R_DISABLED));
	EXPECT_EQ(-ENOENT, sync_cancel(&r, 1, 0, 0, 0));
	EXPECT_EQ(0, sync_cancel(&r, 0, 0, 0, ANY));
	iou_exit(&r);
	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_IOPOLL));
	EXPECT_EQ(-ENOENT, sync_cancel(&r, 1, 0, 0, 0));
	prep_cancel(&r, 1, 0, 0, 0);
	EXPECT_EQ(-EINVAL, iou_one(&r));
	iou_exit(&r);
}

/* Tests of reads on workers: the first read runs, and later reads are queued. */
FIXTURE(work) {
	struct iou r;
	struct hole hole;
	int file;
};

FIXTURE_VARIANT(work) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(work);

FIXTURE_SETUP(work)
{
	unsigned int limits[2] = { 1, 1 };

	self->r.fd = -1;
	if (hole_open(&self->hole, PAGES))
		SKIP(return, "needs userfaultfd");
	self->file = iou_file(IOU_PAGE, 1);
	ASSERT_LE(0, self->file);
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2));
}

FIXTURE_TEARDOWN(work)
{
	iou_exit(&self->r);
	close(self->hole.uffd);
	close(self->file);
}

/* Start reads 1 to @nr; read 1 waits in its page fault when this returns. */
static int start_work(struct iou *r, int file, struct hole *hole, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe;

		sqe = iou_prep(r, IORING_OP_READ, file, hole->mem + i * IOU_PAGE, 16, 0);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = i + 1;
	}
	issued(r);
	return hole_faults(hole, 1) == 1 ? 0 : -ETIME;
}

static int give_all(struct hole *hole)
{
	return hole_give(hole, 0, PAGES);
}

TEST_F(work, queued_and_running)
{
	struct iou *r = &self->r;
	struct ended e = { };

	ASSERT_EQ(0, start_work(r, self->file, &self->hole, 4));
	EXPECT_EQ(-EALREADY, cancel_one(r, &e, 1, 0, 0, 0, 0));
	EXPECT_EQ(0, cancel_one(r, &e, 2, 0, 0, 0, 1));
	EXPECT_EQ(1, e.nr[2]);
	EXPECT_EQ(-ECANCELED, e.res[2]);
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 2, 0, 0, 0, 0));
	EXPECT_EQ(-EALREADY, cancel_one(r, &e, 1, 0, 0, 0, 0));
	/* a queued request is found before a running one */
	EXPECT_EQ(0, cancel_one(r, &e, 0, self->file, 0, FD, 1));
	EXPECT_EQ(0, cancel_one(r, &e, 0, 0, IORING_OP_READ, OP, 1));
	EXPECT_EQ(1, e.nr[3]);
	EXPECT_EQ(1, e.nr[4]);
	EXPECT_EQ(-EALREADY, cancel_one(r, &e, 0, self->file, 0, FD, 0));
	EXPECT_EQ(0, e.nr[1]);
	ASSERT_EQ(0, give_all(&self->hole));
	EXPECT_EQ(0, collect(r, &e, 1));
	EXPECT_EQ(1, e.nr[1]);
	EXPECT_EQ(16, e.res[1]);
}

/*
 * A running request is notified of the cancel, but not counted; 6.12 does not count queued requests
 * either.  differences: cancel-all-counts
 */
TEST_F(work, all)
{
	struct iou *r = &self->r;
	struct ended e = { };
	int res;

	ASSERT_EQ(0, start_work(r, self->file, &self->hole, 4));
	res = cancel_one(r, &e, 0, 0, 0, ANY, 3);
	if (!iou_on_stock())
		EXPECT_EQ(3, res);
	EXPECT_EQ(0, e.nr[1]);
	EXPECT_EQ(1, e.nr[2]);
	EXPECT_EQ(1, e.nr[3]);
	EXPECT_EQ(1, e.nr[4]);
	EXPECT_EQ(0, cancel_one(r, &e, 1, 0, 0, ALL, 0));
	EXPECT_EQ(0, sync_cancel(r, 1, 0, 0, ALL));
	EXPECT_EQ(0, sync_cancel(r, 0, 0, 0, ANY));
	ASSERT_EQ(0, give_all(&self->hole));
	EXPECT_EQ(0, collect(r, &e, 1));
	EXPECT_EQ(1, e.nr[1]);
}

/* A running read and a timeout share a user_data: the cancel ends the timeout and returns 0. */
TEST_F(work, running_and_parked)
{
	struct iou *r = &self->r;
	struct ended e = { };

	if (!iou_has_op(r, IORING_OP_TIMEOUT))
		SKIP(return, "nothing can be parked");
	ASSERT_EQ(0, start_work(r, self->file, &self->hole, 1));
	prep_timeout(r, &long_time, 1);
	issued(r);
	EXPECT_EQ(0, cancel_one(r, &e, 1, 0, 0, 0, 1));
	EXPECT_EQ(-ECANCELED, e.res[1]);
	EXPECT_EQ(-EALREADY, cancel_one(r, &e, 1, 0, 0, 0, 0));
	ASSERT_EQ(0, give_all(&self->hole));
	EXPECT_EQ(0, collect(r, &e, 1));
	EXPECT_EQ(2, e.nr[1]);
}

/* A cancel of a queued head ends its whole chain. */
TEST_F(work, chain)
{
	struct iou *r = &self->r;
	struct ended e = { };
	struct io_uring_sqe *sqe;

	ASSERT_EQ(0, start_work(r, self->file, &self->hole, 1));
	sqe = iou_prep(r, IORING_OP_READ, self->file, self->hole.zero, 16, 0);
	sqe->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	sqe->user_data = 2;
	iou_nop(r, 3);
	issued(r);
	EXPECT_EQ(-ENOENT, cancel_one(r, &e, 3, 0, 0, 0, 0));
	EXPECT_EQ(0, cancel_one(r, &e, 2, 0, 0, 0, 2));
	EXPECT_EQ(-ECANCELED, e.res[2]);
	EXPECT_EQ(-ECANCELED, e.res[3]);
	ASSERT_EQ(0, give_all(&self->hole));
	EXPECT_EQ(0, collect(r, &e, 1));
}

/*
 * On 6.12, IORING_REGISTER_SYNC_CANCEL finds only work of the calling task's workers.
 * differences: sync-cancel-others
 */
#define SYNC_FINDS_WORK(flags)	(!iou_on_stock() || !((flags) & IORING_SETUP_SQPOLL))

/*
 * IORING_REGISTER_SYNC_CANCEL waits for a running request, up to its own timeout.
 * differences: sync-cancel-defer
 */
TEST_F(work, sync_waits)
{
	struct hole_later later = { &self->hole, 300 };
	struct iou *r = &self->r;
	unsigned long long start;
	struct ended e = { };
	pthread_t thread;

	if (!SYNC_FINDS_WORK(variant->flags))
		SKIP(return, "not found");
	ASSERT_EQ(0, start_work(r, self->file, &self->hole, 2));
	start = iou_now_us();
	EXPECT_EQ(-ETIME, sync_cancel_for(r, 1, 0, 0, 0, 0, 50000000));
	EXPECT_LE(50000, iou_now_us() - start);
	EXPECT_EQ(-ETIME, sync_cancel_for(r, 1, 0, 0, 0, 0, 0));
	EXPECT_EQ(-ETIME, sync_cancel_for(r, 1, 0, 0, 0, -1, 0));
	EXPECT_EQ(-ETIME, sync_cancel_for(r, 1, 0, 0, 0, 0, -1));
	EXPECT_EQ(-ETIME, sync_cancel_for(r, 1, 0, 0, 0, -5, 1));
	/* nanoseconds above a second are accepted */
	start = iou_now_us();
	EXPECT_EQ(-ETIME, sync_cancel_for(r, 1, 0, 0, 0, 0, 1100000000));
	EXPECT_LE(1100000, iou_now_us() - start);
	/* request 2 is queued, so the call has nothing to wait for */
	EXPECT_EQ(0, sync_cancel_for(r, 2, 0, 0, 0, 0, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, hole_give_later, &later));
	start = iou_now_us();
	if (iou_on_stock() && variant->flags & IORING_SETUP_DEFER_TASKRUN) {
		/* only a CQE wakes the call, and no task posts a CQE: the call would not end */
		EXPECT_EQ(-ETIME, sync_cancel_for(r, 1, 0, 0, 0, 1, 0));
	} else {
		EXPECT_EQ(0, sync_cancel(r, 1, 0, 0, 0));
		EXPECT_LE(100000, iou_now_us() - start);
		EXPECT_EQ(-ENOENT, sync_cancel(r, 1, 0, 0, 0));
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, collect(r, &e, 2));
	EXPECT_EQ(16, e.res[1]);
	EXPECT_EQ(-ECANCELED, e.res[2]);
}

static void nothing(int sig)
{
}

TEST_F(work, sync_is_interrupted)
{
	struct sigaction sa = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	struct itimerval soon = { .it_value = { .tv_usec = 100000 } };
	struct iou *r = &self->r;
	struct ended e = { };

	if (!SYNC_FINDS_WORK(variant->flags))
		SKIP(return, "not found");
	ASSERT_EQ(0, start_work(r, self->file, &self->hole, 1));
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	EXPECT_EQ(-EINTR, sync_cancel(r, 1, 0, 0, 0));
	ASSERT_EQ(0, give_all(&self->hole));
	EXPECT_EQ(0, collect(r, &e, 1));
	EXPECT_EQ(1, e.nr[1]);
}

/*
 * The storm: requests of every kind wait.  Some threads cause events for these requests, and other
 * threads cancel the requests by every key.  Each request ends with exactly one last CQE, whether
 * the event or the cancel comes first.
 */
#define STORM_PIPES	4
#define STORM_LIVE	200

struct storm {
	struct iou r;
	int pipe[STORM_PIPES][2];
	int drain[STORM_PIPES];	/* the read ends again, O_NONBLOCK */
	int file;
	unsigned int nr;	/* requests to submit in all */
	unsigned int sent;	/* requests submitted so far */
	unsigned int live;	/* submitted requests that have not ended */
	unsigned char *ended;	/* CQEs without F_MORE, for each request */
	unsigned int wrong;	/* CQEs behind the last one, or of an unknown request */
	unsigned int seed;
	bool stop;
	char buf[64];
};

FIXTURE(storm) {
	struct storm *s;
};

FIXTURE_VARIANT(storm) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(storm);

FIXTURE_SETUP(storm)
{
	const char *seed = getenv("IOU_SEED");
	struct storm *s = calloc(1, sizeof(*s));
	char path[64];
	int i;

	self->s = s;
	for (i = 0; i < STORM_PIPES; i++) {
		ASSERT_EQ(0, pipe(s->pipe[i]));
		snprintf(path, sizeof(path), "/proc/self/fd/%d", s->pipe[i][0]);
		s->drain[i] = open(path, O_RDONLY | O_NONBLOCK);
		ASSERT_LE(0, s->drain[i]);
	}
	s->file = iou_file(IOU_PAGE, 1);
	s->nr = iou_rounds(2000);
	s->ended = calloc(s->nr, 1);
	s->seed = seed ? strtoul(seed, NULL, 0) : iou_now_us();
	ASSERT_EQ(0, iou_init_cq(&s->r, 64, 1024, variant->flags));
	if (!iou_has_op(&s->r, IORING_OP_POLL_ADD) || !iou_has_op(&s->r, IORING_OP_LINK_TIMEOUT))
		SKIP(return, "nothing can be parked");
}

FIXTURE_TEARDOWN(storm)
{
	struct storm *s = self->s;
	int i;

	iou_exit(&s->r);
	for (i = 0; i < STORM_PIPES; i++) {
		close(s->pipe[i][0]);
		close(s->pipe[i][1]);
		close(s->drain[i]);
	}
	close(s->file);
	free(s->ended);
	free(s);
}

static struct __kernel_timespec storm_times[] = {
	{ .tv_nsec = 50000 }, { .tv_nsec = 1000000 }, { .tv_nsec = 20000000 }, { .tv_sec = 1000 },
};

/* Prepare one more request, or a chain of two. */
static void storm_prep(struct storm *s)
{
	unsigned int x = rand_r(&s->seed);
	struct __kernel_timespec *ts = &storm_times[x / 16 % 4];
	int fd = s->pipe[x / 64 % STORM_PIPES][0];
	__u64 id = s->sent + 1;
	struct iou *r = &s->r;

	switch (x % 8) {
	case 0:
		prep_poll(r, fd, id);
		break;
	case 1:
		prep_poll(r, fd, id)->len = IORING_POLL_ADD_MULTI;
		break;
	case 2:
		prep_read(r, fd, s->buf, id);
		break;
	case 3:
		prep_read(r, fd, s->buf, id)->flags = IOSQE_ASYNC;
		break;
	case 4:
		prep_timeout(r, ts, id)->off = x / 256 % 8;
		break;
	case 5:
		prep_timeout(r, &storm_times[2], id)->timeout_flags = IORING_TIMEOUT_MULTISHOT;
		break;
	case 6:
		prep_read(r, s->file, s->buf, id)->flags = IOSQE_ASYNC;
		break;
	default:
		if (s->sent + 2 > s->nr || iou_sq_room(r) < 2) {
			prep_poll(r, fd, id);
			break;
		}
		if (x & 1024)
			prep_poll(r, fd, id)->flags = IOSQE_IO_LINK;
		else
			prep_read(r, fd, s->buf, id)->flags = IOSQE_IO_LINK;
		prep_link_timeout(r, ts, id + 1);
		s->sent++;
		s->live++;
	}
	s->sent++;
	s->live++;
}

/* Choose the keys of the next cancel, for one of the youngest requests. */
static unsigned int storm_key(struct storm *s, unsigned int x, __u64 *data, int *fd,
			      unsigned int *op)
{
	unsigned int sent = load_acq(&s->sent);

	*data = sent - x / 64 % (2 * STORM_LIVE);
	*fd = s->pipe[x / 64 % STORM_PIPES][0];
	*op = x & 64 ? IORING_OP_TIMEOUT : IORING_OP_POLL_ADD;
	switch (x % 64) {
	case 0:
		return ANY;
	case 1:
		return FD | ALL;
	case 2:
		return OP | ALL;
	case 3 ... 6:
		return FD;
	case 7 ... 10:
		return OP;
	default:
		return USERDATA;
	}
}

static void storm_prep_cancel(struct storm *s)
{
	unsigned int x = rand_r(&s->seed), op, flags;
	__u64 data;
	int fd;

	flags = storm_key(s, x, &data, &fd, &op);
	prep_cancel(&s->r, data, fd, op, flags)->flags = x & 1 << 20 ? IOSQE_ASYNC : 0;
}

static void storm_reap(struct storm *s)
{
	struct iou *r = &s->r;

	for (; iou_ready(r); iou_seen(r, 1)) {
		struct io_uring_cqe *cqe = iou_cqe_at(r, 0);
		__u64 id = cqe->user_data;

		if (id == CANCELLER)
			continue;
		id--;
		if (id >= s->sent || s->ended[id]) {
			s->wrong++;
		} else if (!(cqe->flags & IORING_CQE_F_MORE)) {
			s->ended[id] = 1;
			s->live--;
		}
	}
}

static void *storm_fire(void *arg)
{
	struct storm *s = arg;
	unsigned int seed = s->seed + 1;
	char buf[64];

	while (!load_acq(&s->stop)) {
		int i = rand_r(&seed) % STORM_PIPES, filled = 0;

		ioctl(s->pipe[i][0], FIONREAD, &filled);
		if (filled < 512 && write(s->pipe[i][1], buf, 8) != 8)
			break;
		if (rand_r(&seed) % 2 && read(s->drain[i], buf, sizeof(buf)) < 0)
			sched_yield();
		if (rand_r(&seed) % 8 == 0)
			usleep(rand_r(&seed) % 500);
	}
	return NULL;
}

static void *storm_cancel(void *arg)
{
	struct storm *s = arg;
	unsigned int seed = s->seed + 2 + gettid();

	while (!load_acq(&s->stop)) {
		unsigned int op, flags;
		__u64 data;
		int fd;

		flags = storm_key(s, rand_r(&seed), &data, &fd, &op);
		sync_cancel_for(&s->r, data, fd, op, flags, 0, rand_r(&seed) % 2000000);
		if (rand_r(&seed) % 4 == 0)
			usleep(rand_r(&seed) % 200);
	}
	return NULL;
}

TEST_F(storm, everybody_ends_once)
{
	unsigned long long end = iou_now_us() + 100000000ULL * iou_rounds(1);
	struct storm *s = self->s;
	pthread_t t[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, i % 2 ? storm_cancel : storm_fire, s));
	while (s->sent < s->nr && iou_now_us() < end) {
		unsigned int n = rand_r(&s->seed) % 8 + 1;

		while (n-- && s->sent < s->nr && s->live < STORM_LIVE && iou_sq_room(&s->r) > 4)
			storm_prep(s);
		if (iou_sq_room(&s->r) > 2 && (s->live >= STORM_LIVE || s->seed & 256))
			storm_prep_cancel(s);
		ASSERT_LE(0, iou_submit(&s->r));
		/* events never stop, so a wait that times out has lost a wake-up */
		while (s->live >= STORM_LIVE && !iou_ready(&s->r))
			ASSERT_EQ(0, iou_wait(&s->r, 1));
		storm_reap(s);
	}
	while (s->live && iou_now_us() < end) {
		sync_cancel_for(&s->r, 0, 0, 0, ANY, 0, 0);
		ASSERT_EQ(0, iou_wait(&s->r, 1));
		storm_reap(s);
	}
	store_rel(&s->stop, true);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	EXPECT_EQ(s->nr, s->sent);
	EXPECT_EQ(0, s->live) {
		for (i = 0; i < s->sent; i++)
			if (!s->ended[i])
				TH_LOG("request %u did not end", i + 1);
	}
	/* no CQE comes after the end */
	iou_wait_ms(&s->r, 1, 20);
	storm_reap(s);
	EXPECT_EQ(0, s->wrong);
}

TEST_HARNESS_MAIN
