// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: rows of messages from ring to ring */

/*
 * One task has both rings, so that sending and receiving are parts of their own: "send"
 * is the submission of a batch of messages up to the sender's CQEs, "receive" the enter
 * of the target that makes the CQEs of the batch, "loop" both.  An operation is a message.
 *
 * "fd-loop" sends a registered file to a batch of the target's slots and takes the CQEs
 * there; "fd-round" empties the slots as well, by one update.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define MESSAGE		0x6d657373	/* res of what is sent */

static const __s32 no_files[MAX_BATCH] = { [0 ... MAX_BATCH - 1] = -1 };

static int open_target_of(struct bench *b, unsigned int setup)
{
	const struct row target = { .setup = setup };
	int ret = ring_open(&b->target, &target);

	if (ret)
		b->target.fd = -1;
	return ret;
}

int open_target(struct bench *b)
{
	return open_target_of(b, DEFER);
}

/* Messages are posted there at once. */
int open_plain_target(struct bench *b)
{
	return open_target_of(b, 0);
}

/* A target that files can be sent to. */
int open_file_target(struct bench *b)
{
	int ret = open_target(b);

	if (!ret)
		ret = ring_register(&b->target, IORING_REGISTER_FILES, no_files, b->row->batch);
	return ret;
}

static struct io_uring_sqe *fill_msg(struct bench *b, unsigned int cmd, unsigned int i)
{
	struct io_uring_sqe *sqe = ring_sqe(&b->ring);

	sqe->opcode = IORING_OP_MSG_RING;
	sqe->fd = b->target.fd;
	sqe->addr = cmd;
	sqe->off = i;
	sqe->user_data = i;
	return sqe;
}

static int check_message(const struct io_uring_cqe *cqe)
{
	return cqe->res == MESSAGE;
}

static int receive_batch(struct bench *b, int (*check)(const struct io_uring_cqe *cqe))
{
	int ret = ring_enter(&b->target, 0, b->row->batch, IORING_ENTER_GETEVENTS, NULL, 0);

	return ret ?: ring_take(&b->target, b->row->batch, check);
}

int run_msg(struct bench *b, unsigned int rounds)
{
	const struct row *row = b->row;

	while (rounds--) {
		unsigned int i;
		int ret;

		if (row->flags & ROW_WAKE)
			part_begin(b);
		for (i = 0; i < row->batch; i++)
			fill_msg(b, IORING_MSG_DATA, i)->len = MESSAGE;
		ret = ring_send(&b->ring, b->row->batch);
		if (row->flags & ROW_WAKE)
			part_end(b);
		if (row->flags & ROW_RUN)
			part_begin(b);
		if (!ret)
			ret = receive_batch(b, check_message);
		if (row->flags & ROW_RUN)
			part_end(b);
		if (ret)
			return ret;
	}
	return 0;
}

/* All slots of the target are empty again. */
static int empty_slots(struct bench *b)
{
	struct io_uring_files_update up = { .fds = (uintptr_t)no_files };
	int ret = ring_register(&b->target, IORING_REGISTER_FILES_UPDATE, &up, b->row->batch);

	if (ret < 0)
		return ret;
	return ret == (int)b->row->batch ? 0 : -EIO;
}

int run_msg_fd(struct bench *b, unsigned int rounds)
{
	while (rounds--) {
		unsigned int i;
		int ret;

		part_begin(b);
		for (i = 0; i < b->row->batch; i++)
			fill_msg(b, IORING_MSG_SEND_FD, i)->file_index = i + 1;
		ret = ring_send(&b->ring, b->row->batch);
		if (!ret)
			ret = receive_batch(b, check_zero);
		part_end(b);
		if (!ret)
			ret = empty_slots(b);
		if (ret)
			return ret;
	}
	return 0;
}
