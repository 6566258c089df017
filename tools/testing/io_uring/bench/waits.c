// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: rows whose requests wait: polls, timeouts, links with a timeout */

/*
 * Auxiliary completions: MAX_BATCH multishot polls, as many on each pipe as the row
 * says.  One byte written wakes all of a pipe; then the ring is entered for a batch of
 * CQEs at a time until all are taken, and the pipe is emptied.  Where a row counts parts
 * of that, it sets its own marks: "wake" is the write with all that it wakes, "run" are
 * the enters.  ROW_AGAIN is what a second CPU does that writes faster than the ring is
 * entered: the write is the third one, to polls that have mail and were woken once more.
 *
 * The other rows arm a batch of requests and end them in the way their name tells; an
 * operation is the request with what ends it.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/time_types.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* user_data of the second SQE of a pair, which is not counted among the first ones */
#define SECOND		0x100000000ull

/* Far away, soon, and soon for a whole batch that is still being armed. */
static const struct __kernel_timespec never = { .tv_sec = 100000 };
static const struct __kernel_timespec soon = { .tv_nsec = 10000 };
#define SOON_FOR_ALL_NSEC	200000

static int open_pipes(struct bench *b, unsigned int nr)
{
	while (b->nr_pipes < nr) {
		if (pipe2(b->pipes[b->nr_pipes], O_NONBLOCK))
			return -errno;
		b->nr_pipes++;
	}
	return 0;
}

/* Rows with one pipe that is empty between the rounds. */
int open_pipe(struct bench *b)
{
	return open_pipes(b, 1);
}

/* Rows with one pipe that can always be read. */
int open_full_pipe(struct bench *b)
{
	int ret = open_pipes(b, 1);

	if (!ret && write(b->pipes[0][1], "x", 1) != 1)
		ret = -errno;
	return ret;
}

static void fill_poll(struct bench *b, unsigned int pipe, __u64 user_data, unsigned int flags)
{
	struct io_uring_sqe *sqe = ring_sqe(&b->ring);

	sqe->opcode = IORING_OP_POLL_ADD;
	sqe->fd = b->pipes[pipe][0];
	sqe->poll32_events = POLLIN;
	sqe->len = flags;
	sqe->user_data = user_data;
}

/* Prepare one of the polls of open_aux(), @nr from 0 on; row->len are on each pipe. */
void fill_aux(struct bench *b, unsigned int nr)
{
	fill_poll(b, nr / b->row->len, nr, IORING_POLL_ADD_MULTI);
}

/* MAX_BATCH multishot polls, row->len on each pipe. */
int open_aux(struct bench *b)
{
	unsigned int i;
	int ret = open_pipes(b, MAX_BATCH / b->row->len);

	if (ret)
		return ret;
	for (i = 0; i < MAX_BATCH; i++)
		fill_aux(b, i);
	return ring_submit(&b->ring, 0);
}

static int check_event(const struct io_uring_cqe *cqe)
{
	return cqe->res > 0 && cqe->res & POLLIN && cqe->flags & IORING_CQE_F_MORE;
}

static int wake_one(int fd)
{
	return write(fd, "x", 1) == 1 ? 0 : -errno;
}

static int drain(int fd, unsigned int want)
{
	char bytes[MAX_BATCH];
	ssize_t n = read(fd, bytes, want);

	return n == (ssize_t)want ? 0 : n < 0 ? -errno : -EIO;
}

/* The CQEs of one write, a batch an enter. */
static int take_events(struct bench *b)
{
	unsigned int batch = b->row->batch, got;
	int ret = 0;

	for (got = 0; !ret && got < b->row->len; got += batch) {
		ret = ring_enter(&b->ring, 0, batch, IORING_ENTER_GETEVENTS, NULL, 0);
		if (!ret)
			ret = ring_take(&b->ring, batch, check_event);
	}
	return ret;
}

int run_aux(struct bench *b, unsigned int rounds)
{
	const struct row *row = b->row;
	bool wake = row->flags & ROW_WAKE, run = row->flags & ROW_RUN;
	unsigned int before = row->flags & ROW_AGAIN ? 2 : 0, i;
	unsigned int writes = rounds * row->batch / row->len;

	while (writes--) {
		const int *pipe = b->pipes[b->seed++ % b->nr_pipes];
		int ret = 0;

		for (i = 0; !ret && i < before; i++)
			ret = wake_one(pipe[1]);
		if (ret)
			return ret;
		if (wake)
			part_begin(b);
		ret = wake_one(pipe[1]);
		if (wake && !run)
			part_end(b);
		if (run && !wake)
			part_begin(b);
		if (!ret)
			ret = take_events(b);
		if (run)
			part_end(b);
		if (!ret)
			ret = drain(pipe[0], before + 1);
		if (ret)
			return ret;
	}
	return 0;
}

static void fill_timeout(struct bench *b, unsigned int opcode, const struct __kernel_timespec *ts,
			 __u64 user_data, unsigned int flags)
{
	struct io_uring_sqe *sqe = ring_sqe(&b->ring);

	sqe->opcode = opcode;
	sqe->addr = (uintptr_t)ts;
	sqe->len = 1;
	sqe->timeout_flags = flags;
	sqe->user_data = user_data;
}

/* The request that ends the one with @user_data. */
static void fill_end(struct bench *b, unsigned int opcode, __u64 user_data)
{
	struct io_uring_sqe *sqe = ring_sqe(&b->ring);

	sqe->opcode = opcode;
	sqe->addr = user_data;
	sqe->user_data = user_data | SECOND;
}

static int check_cancelled(const struct io_uring_cqe *cqe)
{
	return cqe->res == (cqe->user_data & SECOND ? 0 : -ECANCELED);
}

int run_timeout_cancel(struct bench *b, unsigned int rounds)
{
	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++)
			fill_timeout(b, IORING_OP_TIMEOUT, &never, i, 0);
		for (i = 0; i < b->row->batch; i++)
			fill_end(b, IORING_OP_TIMEOUT_REMOVE, i);
		ret = ring_submit(&b->ring, 2 * b->row->batch);
		if (!ret)
			ret = ring_take(&b->ring, 2 * b->row->batch, check_cancelled);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_fired(const struct io_uring_cqe *cqe)
{
	return cqe->res == -ETIME;
}

/* Of a batch, all at the same moment. */
int run_timeout_fire(struct bench *b, unsigned int rounds)
{
	while (rounds--) {
		struct __kernel_timespec ts = soon;
		unsigned int flags = 0, i;
		struct timespec now;
		int ret;

		if (b->row->batch > 1) {
			clock_gettime(CLOCK_MONOTONIC, &now);
			flags = IORING_TIMEOUT_ABS;
			ts.tv_sec = now.tv_sec;
			ts.tv_nsec = now.tv_nsec + SOON_FOR_ALL_NSEC;
			if (ts.tv_nsec >= 1000000000) {
				ts.tv_sec++;
				ts.tv_nsec -= 1000000000;
			}
		}
		for (i = 0; i < b->row->batch; i++)
			fill_timeout(b, IORING_OP_TIMEOUT, &ts, i, flags);
		ret = ring_submit(&b->ring, b->row->batch);
		if (!ret)
			ret = ring_take(&b->ring, b->row->batch, check_fired);
		if (ret)
			return ret;
	}
	return 0;
}

/* A timeout that ends after a number of CQEs, and as many NOPs; an operation is a CQE. */
int run_timeout_count(struct bench *b, unsigned int rounds)
{
	while (rounds--) {
		unsigned int i;
		int ret;

		fill_timeout(b, IORING_OP_TIMEOUT, &never, 0, 0);
		ring_last(&b->ring)->off = b->row->batch - 1;
		for (i = 1; i < b->row->batch; i++)
			ring_sqe(&b->ring)->opcode = IORING_OP_NOP;
		ret = ring_send(&b->ring, b->row->batch);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_linked(const struct io_uring_cqe *cqe)
{
	return cqe->user_data & SECOND ? cqe->res == -ECANCELED : cqe->res >= 0;
}

/* Requests with a timeout linked to each, which does not fire. */
int run_link_timeout(struct bench *b, unsigned int rounds)
{
	bool waits = b->row->opcode == IORING_OP_POLL_ADD;

	while (rounds--) {
		unsigned int want = 2 * b->row->batch, i;
		int ret;

		for (i = 0; i < b->row->batch; i++) {
			if (waits)
				fill_poll(b, 0, i, 0);
			else
				ring_sqe(&b->ring)->opcode = IORING_OP_NOP;
			ring_last(&b->ring)->flags = IOSQE_IO_LINK;
			fill_timeout(b, IORING_OP_LINK_TIMEOUT, &never, i | SECOND, 0);
		}
		ret = ring_submit(&b->ring, waits ? 0 : want);
		if (!ret && waits)
			ret = wake_one(b->pipes[0][1]);
		if (!ret)
			ret = ring_take(&b->ring, want, check_linked);
		if (!ret && waits)
			ret = drain(b->pipes[0][0], 1);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_positive(const struct io_uring_cqe *cqe)
{
	return cqe->res > 0;
}

/* Polls that one write fires, or that find the pipe readable. */
int run_poll(struct bench *b, unsigned int rounds)
{
	bool ready = b->row->open == open_full_pipe;

	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++)
			fill_poll(b, 0, i, 0);
		ret = ring_submit(&b->ring, ready ? b->row->batch : 0);
		if (!ret && !ready)
			ret = wake_one(b->pipes[0][1]);
		if (!ret)
			ret = ring_take(&b->ring, b->row->batch, check_positive);
		if (!ret && !ready)
			ret = drain(b->pipes[0][0], 1);
		if (ret)
			return ret;
	}
	return 0;
}

/* Polls that are ended by the row's opcode. */
int run_poll_cancel(struct bench *b, unsigned int rounds)
{
	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++)
			fill_poll(b, 0, i, 0);
		for (i = 0; i < b->row->batch; i++)
			fill_end(b, b->row->opcode, i);
		ret = ring_submit(&b->ring, 2 * b->row->batch);
		if (!ret)
			ret = ring_take(&b->ring, 2 * b->row->batch, check_cancelled);
		if (ret)
			return ret;
	}
	return 0;
}

/* Reads of a byte each from an empty pipe, until one write brings them all. */
int run_pipe_read(struct bench *b, unsigned int rounds)
{
	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++) {
			struct io_uring_sqe *sqe = ring_sqe(&b->ring);

			sqe->opcode = IORING_OP_READ;
			sqe->fd = b->pipes[0][0];
			sqe->addr = (uintptr_t)b->buf + i;
			sqe->len = 1;
			sqe->user_data = i;
		}
		ret = ring_submit(&b->ring, 0);
		if (!ret && write(b->pipes[0][1], b->buf, b->row->batch) != b->row->batch)
			ret = -EIO;
		if (!ret)
			ret = ring_take(&b->ring, b->row->batch, check_positive);
		if (ret)
			return ret;
	}
	return 0;
}
