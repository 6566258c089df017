// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: commands to an NVMe drive's character device */

/*
 * When the drive answers is the emulator's affair, and not to be repeated to the instruction.
 * So the task stays in user space, where nothing is counted, until all answers must have come:
 * what is counted is how commands are submitted, how their interrupts are served, and how their
 * CQEs are made.  A batch that is disturbed costs more, and of all batches the cheapest is told.
 */

#include <errno.h>
#include <linux/nvme_ioctl.h>
#include <string.h>
#include <sys/ioctl.h>

#include "bench.h"

#define SECTOR		512u
#define CMD_READ	0x02	/* NVM command set: Read */
#define SPINS		1000000u

static int nsid;

int open_drive(struct bench *b)
{
	nsid = ioctl(b->fd, NVME_IOCTL_ID);
	return nsid < 0 ? -errno : 0;
}

/* SQEs and CQEs are twice as large as the other rows'. */
static void fill_read(struct bench *b, unsigned int i)
{
	struct ring *ring = &b->ring;
	struct io_uring_sqe *sqe = &ring->sqes[2 * (ring->sq_next++ & ring->sq_mask)];
	struct nvme_uring_cmd *cmd = (void *)sqe->cmd;

	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->flags = IOSQE_FIXED_FILE;
	sqe->cmd_op = NVME_URING_CMD_IO;
	sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
	sqe->buf_index = i;
	cmd->opcode = CMD_READ;
	cmd->nsid = nsid;
	cmd->addr = (uintptr_t)b->buf + i * BLOCK;
	cmd->data_len = BLOCK;
	cmd->cdw10 = 2 * i * (BLOCK / SECTOR);
	cmd->cdw12 = BLOCK / SECTOR - 1;
}

/* Polling may be left early, for another task, so ask until all are there. */
static int wait_reads(struct ring *ring, unsigned int want)
{
	unsigned int head = *ring->cq_head;
	unsigned int left;
	int ret;

	do {
		left = want - (__atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE) - head);
		ret = left ? ring_enter(ring, 0, left, IORING_ENTER_GETEVENTS, NULL, 0) : 0;
	} while (left && ret >= 0);
	return ret;
}

static int take_reads(struct ring *ring, unsigned int want)
{
	unsigned int head = *ring->cq_head;
	unsigned int end = head + want;
	int ret = 0;

	for (; head != end && !ret; head++) {
		const struct io_uring_cqe *cqe = ring_cqe(ring, head);

		ret = cqe->res ? -EIO : 0;
	}
	__atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
	return ret;
}

/* Reads of a block to registered buffers. */
int run_drive(struct bench *b, unsigned int rounds)
{
	unsigned int nr = b->row->batch;
	unsigned int spins;

	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < nr; i++)
			fill_read(b, i);
		part_begin(b);
		ret = ring_submit(&b->ring, 0);
		for (spins = SPINS; spins; spins--)
			asm volatile("" ::: "memory");
		if (!ret)
			ret = wait_reads(&b->ring, nr);
		part_end(b);
		if (!ret)
			ret = take_reads(&b->ring, nr);
		if (ret)
			return ret;
	}
	return 0;
}
