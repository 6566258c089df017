// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: rows of files' names and contents, of commands, and of futexes */

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#ifndef FUTEX2_SIZE_U32
#define FUTEX2_SIZE_U32	0x02
#define FUTEX2_PRIVATE	128
#endif

static struct io_uring_sqe *fill(struct bench *b, unsigned int opcode, int fd, const void *addr,
				 unsigned int len, __u64 off)
{
	struct io_uring_sqe *sqe = ring_sqe(&b->ring);

	sqe->opcode = opcode;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)addr;
	sqe->len = len;
	sqe->off = off;
	return sqe;
}

/* What is told about a file that was looked up before. */
int run_statx(struct bench *b, unsigned int rounds)
{
	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++)
			fill(b, IORING_OP_STATX, AT_FDCWD, b->row->dev, STATX_BASIC_STATS,
			     (uintptr_t)b->buf + i * BLOCK);
		ret = ring_send(&b->ring, b->row->batch);
		if (ret)
			return ret;
	}
	return 0;
}

static int opened[MAX_BATCH];

static int check_opened(const struct io_uring_cqe *cqe)
{
	opened[cqe->user_data] = cqe->res;
	return cqe->res >= 0;
}

/* Open a file that was looked up before, several times, and close what was opened. */
int run_open(struct bench *b, unsigned int rounds)
{
	unsigned int nr = b->row->batch;

	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < nr; i++) {
			fill(b, IORING_OP_OPENAT, AT_FDCWD, b->row->dev, 0, 0);
			ring_last(&b->ring)->user_data = i;
		}
		ret = ring_submit(&b->ring, nr);
		if (!ret)
			ret = ring_take(&b->ring, nr, check_opened);
		for (i = 0; !ret && i < nr; i++)
			fill(b, IORING_OP_CLOSE, opened[i], NULL, 0, 0);
		if (!ret)
			ret = ring_send(&b->ring, nr);
		if (ret)
			return ret;
	}
	return 0;
}

/* A command to a driver that has nothing to do: what io_uring adds to one. */
int run_command(struct bench *b, unsigned int rounds)
{
	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++)
			fill(b, IORING_OP_URING_CMD, b->fd, NULL, 0, 0);
		ret = ring_send(&b->ring, b->row->batch);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * The files are made outside the part that is marked.  A worker unlinks them.  Among normal tasks
 * a wake costs what the history of EEVDF makes of it: 11,400, 12,600 or 14,100 instructions for one
 * unlink, on stock as well.  Two real-time tasks of one priority take turns in one way.
 */
int run_unlink(struct bench *b, unsigned int rounds)
{
	static const struct sched_param lowest = { .sched_priority = 1 };
	static char names[MAX_BATCH][20];

	if (sched_setscheduler(0, SCHED_FIFO, &lowest))
		return -errno;
	while (rounds--) {
		unsigned int i;
		int fd, ret;

		for (i = 0; i < b->row->batch; i++) {
			snprintf(names[i], sizeof(names[i]), "/tmp/u%u", i);
			fd = open(names[i], O_CREAT | O_WRONLY, 0600);
			if (fd < 0)
				return -errno;
			close(fd);
			fill(b, IORING_OP_UNLINKAT, AT_FDCWD, names[i], 0, 0);
		}
		part_begin(b);
		ret = ring_send(&b->ring, b->row->batch);
		part_end(b);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_block(const struct io_uring_cqe *cqe)
{
	return cqe->res == BLOCK;
}

/* A block of a file to a pipe, a batch of them; emptying it is not marked. */
int run_splice(struct bench *b, unsigned int rounds)
{
	const int *pipe = b->pipes[0];

	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++)
			fill(b, IORING_OP_SPLICE, pipe[1], (void *)next_offset(b), BLOCK, ~0ULL)
				->splice_fd_in = b->fd;
		part_begin(b);
		ret = ring_submit(&b->ring, b->row->batch);
		if (!ret)
			ret = ring_take(&b->ring, b->row->batch, check_block);
		part_end(b);
		for (i = 0; !ret && i < b->row->batch; i++)
			ret = read(pipe[0], b->buf, BLOCK) == BLOCK ? 0 : -EIO;
		if (ret)
			return ret;
	}
	return 0;
}

static int check_woken(const struct io_uring_cqe *cqe)
{
	return cqe->res == (int)cqe->user_data;
}

/* A wait and the wake that ends it, each pair on a word of its own. */
int run_futex(struct bench *b, unsigned int rounds)
{
	unsigned int *words = (unsigned int *)b->buf;

	memset(words, 0, MAX_BATCH * sizeof(*words));
	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < b->row->batch; i++)
			fill(b, IORING_OP_FUTEX_WAIT, FUTEX2_SIZE_U32 | FUTEX2_PRIVATE, &words[i],
			     0, 0)->addr3 = ~0U;
		for (i = 0; i < b->row->batch; i++) {
			fill(b, IORING_OP_FUTEX_WAKE, FUTEX2_SIZE_U32 | FUTEX2_PRIVATE, &words[i],
			     0, 1)->addr3 = ~0U;
			ring_last(&b->ring)->user_data = 1;
		}
		ret = ring_submit(&b->ring, 2 * b->row->batch);
		if (!ret)
			ret = ring_take(&b->ring, 2 * b->row->batch, check_woken);
		if (ret)
			return ret;
	}
	return 0;
}
