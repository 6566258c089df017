// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: URING_CMD - NVMe passthrough, plain, fixed and polled */
/*
 * IOU_NG is the character device of a drive whose last blocks may be overwritten;
 * without it these tests are skipped.
 */
#include <linux/fs.h>
#include <sys/wait.h>
#include "iou_test.h"
#include "../../../../include/uapi/linux/nvme_ioctl.h"

#define BIG	(IORING_SETUP_SQE128 | IORING_SETUP_CQE32)
/* a command has two slots */
#define MIXED	(IORING_SETUP_SQE_MIXED | IORING_SETUP_CQE32)
#define DEPTH	32
#define PIECE	4096
#define NVME_FLUSH	0
#define NVME_WRITE	1
#define NVME_READ	2

FIXTURE(nvme) {
	struct iou r;
	int ng;
	unsigned int nsid;
	unsigned long long base;	/* in blocks of 512 bytes */
	int slots;			/* of a command */
	char *out, *in;
};

FIXTURE_VARIANT(nvme) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KIND(nvme, plain, BIG);
IOU_KIND(nvme, coop, BIG | IOU_COOP);
IOU_KIND(nvme, defer, BIG | IOU_DEFER);
IOU_KIND(nvme, sqpoll, BIG | IORING_SETUP_SQPOLL);
IOU_KIND(nvme, iopoll, BIG | IORING_SETUP_IOPOLL);
IOU_KIND(nvme, iopoll_defer, BIG | IORING_SETUP_IOPOLL | IOU_DEFER);
IOU_KIND(nvme, iopoll_sqpoll, BIG | IORING_SETUP_IOPOLL | IORING_SETUP_SQPOLL);
FIXTURE_VARIANT_ADD(nvme, async) {
	.flags = BIG,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(nvme, iopoll_async) {
	.flags = BIG | IORING_SETUP_IOPOLL,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(nvme, iopoll_defer_async) {
	.flags = BIG | IORING_SETUP_IOPOLL | IOU_DEFER,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(nvme, mixed_async) {
	.flags = MIXED,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(nvme, iopoll_mixed) {
	.flags = MIXED | IORING_SETUP_IOPOLL | IORING_SETUP_NO_SQARRAY,
};

IOU_KIND(nvme, cqe_mixed, IORING_SETUP_SQE128 | IORING_SETUP_CQE_MIXED);
IOU_KIND(nvme, defer_all_mixed, IORING_SETUP_SQE_MIXED | IORING_SETUP_CQE_MIXED | IOU_DEFER);
IOU_KIND(nvme, iopoll_cqe_mixed, IORING_SETUP_SQE128 | IORING_SETUP_CQE_MIXED |
	 IORING_SETUP_IOPOLL);

/* Return: the position of the last blocks of the drive, or 0. */
static unsigned long long last_blocks(const char *ng)
{
	unsigned long long size = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/nvme%s", ng + strlen("/dev/ng"));
	fd = open(path, O_RDONLY);
	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &size))
		size = 0;
	close(fd);
	return size ? (size - 2 * DEPTH * PIECE) / 512 : 0;
}

/* differences: none, 6.12 has no such flag */
FIXTURE_SETUP(nvme)
{
	const char *ng = getenv("IOU_NG");

	if (!ng)
		SKIP(return, "no drive");
	self->slots = variant->flags & IORING_SETUP_SQE_MIXED ? 2 : 1;
	if (variant->flags & (IORING_SETUP_SQE_MIXED | IORING_SETUP_CQE_MIXED) &&
	    iou_on_older_stock())
		SKIP(return, "no IORING_SETUP_SQE_MIXED");
	ASSERT_EQ(0, iou_init(&self->r, DEPTH * self->slots, variant->flags));
	self->ng = open(ng, O_RDWR);
	ASSERT_LT(0, self->ng);
	self->nsid = ioctl(self->ng, NVME_IOCTL_ID);
	self->base = last_blocks(ng);
	ASSERT_NE(0, self->base);
	self->out = iou_map_anon(2 * DEPTH * PIECE);
	self->in = iou_map_anon(2 * DEPTH * PIECE);
}

FIXTURE_TEARDOWN(nvme)
{
	iou_exit(&self->r);
	close(self->ng);
}

static struct nvme_uring_cmd *prep_io(struct _test_data_nvme *self, unsigned int flags,
				      unsigned int opcode, const void *addr, unsigned int len,
				      unsigned int block)
{
	struct io_uring_sqe *sqe = iou_prep(&self->r, IORING_OP_URING_CMD, self->ng, NULL, 0, 0);
	struct nvme_uring_cmd *cmd = (void *)sqe->cmd;
	unsigned long long lba = self->base + block;

	if (self->slots == 2) {
		sqe->opcode = IORING_OP_URING_CMD128;
		iou_sqe(&self->r);
	}
	sqe->cmd_op = NVME_URING_CMD_IO;
	sqe->flags = flags;
	cmd->opcode = opcode;
	cmd->nsid = self->nsid;
	cmd->addr = (uintptr_t)addr;
	cmd->data_len = len;
	cmd->cdw10 = lba;
	cmd->cdw11 = lba >> 32;
	cmd->cdw12 = len ? len / 512 - 1 : 0;
	return cmd;
}

/* Submit the prepared command alone.  Return: its result. */
static int one(struct _test_data_nvme *self)
{
	int ret = iou_submit(&self->r);
	struct io_uring_cqe cqe;

	if (ret != self->slots)
		return ret < 0 ? ret : -ENODATA;
	return iou_reap(&self->r, &cqe) ?: cqe.res;
}

static struct io_uring_sqe *cmd_sqe(struct nvme_uring_cmd *cmd)
{
	return (void *)((char *)cmd - offsetof(struct io_uring_sqe, cmd));
}

/* Read or write all pieces of @buf at once.  Return: 0 or the first bad result. */
static int all_pieces(struct _test_data_nvme *self, unsigned int flags, unsigned int cmd_flags,
		      unsigned int opcode, char *buf)
{
	struct iou *r = &self->r;
	struct io_uring_cqe *cqe;
	int i, ret, bad = 0;

	for (i = 0; i < DEPTH; i++) {
		struct nvme_uring_cmd *cmd = prep_io(self, flags, opcode, buf + i * PIECE, PIECE,
						     i * PIECE / 512);

		cmd_sqe(cmd)->uring_cmd_flags = cmd_flags;
		cmd_sqe(cmd)->user_data = i;
	}
	ret = iou_submit(r);
	if (ret != DEPTH * self->slots)
		return ret ?: -ENODATA;
	for (i = 0; i < DEPTH; i++) {
		cqe = iou_next(r);
		if (!cqe)
			return -ETIME;
		/* on a ring with CQEs of both sizes, an error of the submission has a small one */
		if (!(r->flags & IORING_SETUP_CQE_MIXED) || cqe->res >= 0) {
			if (cqe->big_cqe[0] || cqe->big_cqe[1])
				bad = bad ?: -EBADMSG;
			if (r->flags & IORING_SETUP_CQE_MIXED && !(cqe->flags & IORING_CQE_F_32))
				bad = bad ?: -EPROTO;
		}
		bad = bad ?: cqe->res;
		iou_seen(r, iou_cqe_slots(r, cqe));
	}
	return bad;
}

/* Mutant: mixed-command-is-small. */
TEST_F(nvme, verified)
{
	unsigned int f = variant->sqe_flags;
	int seed;

	for (seed = 0; seed < 4; seed++) {
		iou_fill(self->out, DEPTH * PIECE, 0, seed);
		EXPECT_EQ(0, all_pieces(self, f, 0, NVME_WRITE, self->out));
		EXPECT_EQ(0, all_pieces(self, f, 0, NVME_READ, self->in));
		EXPECT_EQ(-1, iou_verify(self->in, DEPTH * PIECE, 0, seed));
	}
	/* this read uses bounce pages, which the submitter copies back */
	EXPECT_EQ(0, all_pieces(self, f, 0, NVME_READ, self->in + 1));
	EXPECT_EQ(-1, iou_verify(self->in + 1, DEPTH * PIECE, 0, 3));
}

TEST_F(nvme, fixed_buffers)
{
	struct iovec iov = { self->in, 2 * DEPTH * PIECE };
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct nvme_uring_cmd *cmd;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1));
	iou_fill(self->in, DEPTH * PIECE, 0, 9);
	EXPECT_EQ(0, all_pieces(self, f, IORING_URING_CMD_FIXED, NVME_WRITE, self->in));
	memset(self->in, 0, 2 * DEPTH * PIECE);
	EXPECT_EQ(0, all_pieces(self, f, IORING_URING_CMD_FIXED, NVME_READ,
				self->in + DEPTH * PIECE));
	EXPECT_EQ(-1, iou_verify(self->in + DEPTH * PIECE, DEPTH * PIECE, 0, 9));
	EXPECT_EQ(0, self->in[1]);
	/* these addresses are outside of the registered buffer */
	EXPECT_EQ(-EFAULT, all_pieces(self, f, IORING_URING_CMD_FIXED, NVME_READ,
				      self->in + 2 * DEPTH * PIECE));
	EXPECT_EQ(-EFAULT, all_pieces(self, f, IORING_URING_CMD_FIXED, NVME_READ, self->out));
	cmd = prep_io(self, f, NVME_READ, self->in - 1, PIECE, 0);
	cmd_sqe(cmd)->uring_cmd_flags = IORING_URING_CMD_FIXED;
	EXPECT_EQ(-EFAULT, one(self));
	cmd = prep_io(self, f, NVME_READ, self->in + 2 * DEPTH * PIECE - 512, PIECE, 0);
	cmd_sqe(cmd)->uring_cmd_flags = IORING_URING_CMD_FIXED;
	EXPECT_EQ(-EFAULT, one(self));
}

TEST_F(nvme, vector)
{
	struct iovec iov[2] = { { self->in + PIECE, 512 }, { self->in, PIECE - 512 } };
	unsigned int f = variant->sqe_flags;
	struct nvme_uring_cmd *cmd;

	iou_fill(self->out, PIECE, 0, 5);
	prep_io(self, f, NVME_WRITE, self->out, PIECE, 0);
	ASSERT_EQ(0, one(self));
	cmd = prep_io(self, f, NVME_READ, iov, 2, 0);
	cmd_sqe(cmd)->cmd_op = NVME_URING_CMD_IO_VEC;
	cmd->cdw12 = PIECE / 512 - 1;
	ASSERT_EQ(0, one(self));
	EXPECT_EQ(-1, iou_verify(self->in + PIECE, 512, 0, 5));
	EXPECT_EQ(-1, iou_verify(self->in, PIECE - 512, 512, 5));
}

/* The pieces of a vector are parts of a registered buffer.  Mutant: cmd-vector-of-one. */
TEST_F(nvme, fixed_vector)
{
	struct iovec whole = { self->in, 2 * DEPTH * PIECE };
	struct iovec iov[3] = {
		{ self->in + 2 * PIECE, 512 }, { self->in + 3 * PIECE, 1024 },
		{ self->in, PIECE - 1536 },
	};
	unsigned int i, f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct nvme_uring_cmd *cmd;
	struct {
		struct iovec second;
		int ret;
	} rows[] = {
		{ { self->in + 3 * PIECE, 1024 }, 0 },
		{ { self->in + 3 * PIECE, 0 }, -EFAULT },
		{ { self->in - 512, 1024 }, -EFAULT },
		{ { self->in + 2 * DEPTH * PIECE - 512, 1024 }, -EFAULT },
		{ { self->out, 1024 }, -EFAULT },
		{ { self->in, -1UL }, -EINVAL },
	};

	/* the driver of 6.12 takes the vector as user memory */
	if (!iou_kernel_from("7"))
		SKIP(return, "the driver of this kernel has no vectors in registered buffers");
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &whole, 1));
	iou_fill(self->out, PIECE, 0, 5);
	prep_io(self, f, NVME_WRITE, self->out, PIECE, 0);
	ASSERT_EQ(0, one(self));
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		iov[1] = rows[i].second;
		memset(self->in, 0x77, 4 * PIECE);
		cmd = prep_io(self, f, NVME_READ, iov, 3, 0);
		cmd_sqe(cmd)->cmd_op = NVME_URING_CMD_IO_VEC;
		cmd_sqe(cmd)->uring_cmd_flags = IORING_URING_CMD_FIXED;
		cmd->cdw12 = PIECE / 512 - 1;
		EXPECT_EQ(rows[i].ret, one(self)) {
			TH_LOG("row %u", i);
		}
		if (rows[i].ret)
			continue;
		EXPECT_EQ(-1, iou_verify(iov[0].iov_base, 512, 0, 5));
		EXPECT_EQ(-1, iou_verify(iov[1].iov_base, 1024, 512, 5));
		EXPECT_EQ(-1, iou_verify(iov[2].iov_base, PIECE - 1536, 1536, 5));
		EXPECT_EQ(0x77, self->in[2 * PIECE + 512]);
		EXPECT_EQ(0x77, self->in[3 * PIECE + 1024]);
		/* write the pieces to the next blocks, in another order */
		iov[0] = (struct iovec){ self->in, PIECE - 1536 };
		iov[2] = (struct iovec){ self->in + 2 * PIECE, 512 };
		cmd = prep_io(self, f, NVME_WRITE, iov, 3, PIECE / 512);
		cmd_sqe(cmd)->cmd_op = NVME_URING_CMD_IO_VEC;
		cmd_sqe(cmd)->uring_cmd_flags = IORING_URING_CMD_FIXED;
		cmd->cdw12 = PIECE / 512 - 1;
		ASSERT_EQ(0, one(self));
		prep_io(self, f, NVME_READ, self->out, PIECE, PIECE / 512);
		ASSERT_EQ(0, one(self));
		EXPECT_EQ(-1, iou_verify(self->out, PIECE - 1536, 1536, 5));
		EXPECT_EQ(-1, iou_verify(self->out + PIECE - 1536, 1024, 512, 5));
		EXPECT_EQ(-1, iou_verify(self->out + PIECE - 512, 512, 0, 5));
	}
	/* too many entries, and a bad pointer */
	for (i = 0; i < 2; i++) {
		cmd = prep_io(self, f, NVME_READ, i ? (void *)8 : iov, i ? 2 : 1025, 0);
		cmd_sqe(cmd)->cmd_op = NVME_URING_CMD_IO_VEC;
		cmd_sqe(cmd)->uring_cmd_flags = IORING_URING_CMD_FIXED;
		cmd->cdw12 = PIECE / 512 - 1;
		EXPECT_EQ(i ? -EFAULT : -EINVAL, one(self));
	}
}

TEST_F(nvme, refused)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct nvme_uring_cmd *cmd;
	struct io_uring_cqe cqe;
	int i;

	cmd = prep_io(self, f, NVME_READ, self->in, PIECE, 0);
	cmd_sqe(cmd)->cmd_op = 77;
	EXPECT_EQ(-ENOTTY, one(self));
	cmd = prep_io(self, f, NVME_READ, self->in, PIECE, 0);
	cmd->flags = 1;
	EXPECT_EQ(-EINVAL, one(self));
	prep_io(self, f, NVME_READ, (void *)8192, PIECE, 0);
	EXPECT_EQ(-EFAULT, one(self));
	/* an error status of the drive is no errno, and does not break a chain */
	cmd = prep_io(self, f | IOSQE_IO_LINK, NVME_READ, self->in, PIECE, 0);
	cmd->cdw11 = ~0U;
	cmd_sqe(cmd)->user_data = 0;
	iou_nop(r, 1);
	ASSERT_EQ(self->slots + 1, iou_submit(r));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i, cqe.user_data);
		EXPECT_EQ(i, !cqe.res);
		EXPECT_LE(0, cqe.res);
	}
}

/*
 * With CQEs of both sizes, a command's has two slots, for which a task may wait.
 * differences: none, the owner of a ring with DEFER_TASKRUN sleeps on there: 7.3 counts commands
 */
TEST_F(nvme, wait_for_one_command)
{
	bool two = variant->flags & IORING_SETUP_CQE_MIXED;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int i;

	if (two && variant->flags & IORING_SETUP_DEFER_TASKRUN && iou_on_stock())
		SKIP(return, "two commands are needed");
	for (i = 0; i < 20; i++) {
		prep_io(self, variant->sqe_flags, NVME_READ, self->in, PIECE, 0);
		ASSERT_EQ(self->slots, iou_submit(r));
		ASSERT_EQ(0, iou_wait_ms(r, 1 + two, IOU_PATIENCE));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(0, cqe.res);
		EXPECT_EQ(two ? IORING_CQE_F_32 : 0, cqe.flags);
	}
}

/* Passthrough is refused on rings with small SQEs or CQEs. */
TEST_F(nvme, small_rings)
{
	unsigned int flags[] = { 0, IORING_SETUP_SQE128, IORING_SETUP_CQE32 };
	unsigned int i, all = BIG | MIXED | IORING_SETUP_CQE_MIXED;

	for (i = 0; i < ARRAY_LEN(flags); i++) {
		struct iou r;

		ASSERT_EQ(0, iou_init(&r, 4, flags[i] | (variant->flags & ~all)));
		iou_prep(&r, IORING_OP_URING_CMD, self->ng, NULL, 0, 0)->cmd_op =
			NVME_URING_CMD_IO;
		EXPECT_EQ(-EOPNOTSUPP, iou_one(&r));
		iou_exit(&r);
	}
}

/*
 * A process exits, is killed, or calls exec while its commands are in flight.
 * differences: none, 6.12 never ends an exec with polled commands in flight
 */
TEST_F(nvme, exit_and_exec)
{
	/* on 6.12 an exec with polled commands in flight never ends */
	bool no_exec = iou_on_stock() && variant->flags & IORING_SETUP_IOPOLL;
	int how, pid, status, i;

	for (how = 0; how < (no_exec ? 2 : 3); how++) {
		pid = fork();
		if (!pid) {
			if (iou_init(&self->r, DEPTH * self->slots, variant->flags))
				_exit(1);
			for (i = 0; i < DEPTH; i++)
				prep_io(self, variant->sqe_flags, NVME_READ,
					self->in + i * PIECE + (i & 1), PIECE, i);
			if (iou_submit(&self->r) < 0)
				_exit(2);
			if (how == 1)
				kill(getpid(), SIGKILL);
			if (how == 2)
				execl("/bin/sh", "sh", "-c", "exit 0", NULL);
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(how == 1 ? SIGKILL : 0, status);
	}
	/* the drive still works */
	prep_io(self, 0, NVME_READ, self->in, PIECE, 0);
	EXPECT_EQ(0, one(self));
}

/*
 * Another process polls for a command and may find its completion.  Only the submitter
 * copies the data, to its own memory.
 */
TEST_F(nvme, polled_by_another)
{
	struct iou *r = &self->r;
	int pid, status, i;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL) ||
	    !(variant->flags & IORING_SETUP_IOPOLL))
		SKIP(return, "one task alone reaps");
	iou_fill(self->out, PIECE, 0, 6);
	prep_io(self, 0, NVME_WRITE, self->out, PIECE, 0);
	ASSERT_EQ(0, one(self));
	for (i = 0; i < 16; i++) {
		memset(self->in, 0, 2 * PIECE);
		prep_io(self, variant->sqe_flags, NVME_READ, self->in + 1, PIECE, 0);
		ASSERT_EQ(self->slots, iou_submit(r));
		pid = fork();
		if (!pid) {
			unsigned int tries = 1000;

			memset(self->in, 0x55, 2 * PIECE);
			while (!iou_ready(r) && tries--)
				iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS);
			_exit(self->in[1] != 0x55);
		}
		ASSERT_EQ(0, iou_discard(r, 1));
		EXPECT_EQ(-1, iou_verify(self->in + 1, PIECE, 0, 6));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
}

TEST_HARNESS_MAIN
