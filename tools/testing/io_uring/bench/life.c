// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: rows of a ring's life: set up, left alone or with polls parked, closed */

/*
 * The end of a ring goes on behind close().  A ring that is gone has let go of its
 * registered file: the writing end of a pipe, whose reading end hears when the last
 * ring of a round has done so.  What then still follows, the ring's own memory after
 * another grace period, has time at the end of the region.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* several grace periods */
static const struct timespec rest = { .tv_nsec = 100000000 };

/* Requests that wait for a pipe when their ring ends. */
static int park_polls(struct bench *b, struct ring *ring, unsigned int nr)
{
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe = ring_sqe(ring);

		sqe->opcode = IORING_OP_POLL_ADD;
		sqe->fd = b->pipes[0][0];
		sqe->poll32_events = POLLIN;
		sqe->user_data = i;
		if ((i + 1) % MAX_BATCH && i + 1 < nr)
			continue;
		ret = ring_submit(ring, 0);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int live(struct bench *b, int file)
{
	struct ring ring;
	int ret = ring_open(&ring, b->row);

	if (ret)
		return ret;
	ret = ring_register(&ring, IORING_REGISTER_FILES, &file, 1);
	if (!ret && b->row->len)
		ret = park_polls(b, &ring, b->row->len);
	ring_close(&ring);
	return ret;
}

int run_life(struct bench *b, unsigned int rounds)
{
	struct pollfd pfd = { .events = POLLIN };
	int ret = 0;

	while (rounds-- && !ret) {
		unsigned int i;
		int ends[2];

		if (pipe(ends))
			return -errno;
		for (i = 0; i < b->row->batch && !ret; i++)
			ret = live(b, ends[1]);
		close(ends[1]);
		pfd.fd = ends[0];
		/* task work of the rings interrupts it */
		while (!ret && poll(&pfd, 1, -1) != 1)
			ret = errno == EINTR ? 0 : -errno;
		close(ends[0]);
	}
	nanosleep(&rest, NULL);
	return ret;
}
