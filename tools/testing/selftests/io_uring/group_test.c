// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: provided buffers, and reads that use them */
#include <sys/fanotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include "iou_test.h"

#define GROUP	5
#define SLOTS	8
#define PIECE	64

#include "group.h"

FIXTURE(group) {
	struct iou r;
	struct io_uring_buf_ring *ring;
	char *mem;
	int pipe[2];
};

FIXTURE_VARIANT(group) {
	unsigned int flags;
};

IOU_KINDS(group);

FIXTURE_SETUP(group)
{
	ASSERT_EQ(0, iou_init(&self->r, 64, variant->flags));
	self->ring = iou_map_anon(IOU_PAGE);
	self->mem = iou_map_anon(IOU_PAGE);
	ASSERT_NE(NULL, self->ring);
	ASSERT_NE(NULL, self->mem);
	ASSERT_EQ(0, pipe(self->pipe));
}

FIXTURE_TEARDOWN(group)
{
	iou_exit(&self->r);
	close(self->pipe[0]);
	close(self->pipe[1]);
	munmap(self->ring, IOU_PAGE);
	munmap(self->mem, IOU_PAGE);
}

static struct io_uring_sqe *prep_provide(struct iou *r, unsigned int group, void *addr,
					 unsigned int len, unsigned int nr, unsigned int bid)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_PROVIDE_BUFFERS, nr, addr, len, bid);

	sqe->buf_group = group;
	return sqe;
}

static struct io_uring_sqe *prep_remove(struct iou *r, unsigned int group, unsigned int nr)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_REMOVE_BUFFERS, nr, NULL, 0, 0);

	sqe->buf_group = group;
	return sqe;
}

static struct io_uring_sqe *prep_read(struct iou *r, int op, int fd, unsigned int len)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, fd, NULL, len,
					    op == IORING_OP_READ_MULTISHOT ? -1ULL : 0);

	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	return sqe;
}

TEST_F(group, provide_refused)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	void *m = self->mem;

	prep_provide(r, GROUP, m, PIECE, 0, 0);
	EXPECT_EQ(-E2BIG, iou_one(r));
	prep_provide(r, GROUP, m, PIECE, 65537, 0);
	EXPECT_EQ(-E2BIG, iou_one(r));
	prep_provide(r, GROUP, m, PIECE, -1, 0);
	EXPECT_EQ(-E2BIG, iou_one(r));
	prep_provide(r, GROUP, m, PIECE, 1, 65536);
	EXPECT_EQ(-E2BIG, iou_one(r));
	prep_provide(r, GROUP, m, PIECE, 2, 65535);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_provide(r, GROUP, m, 0, 1, 0);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_provide(r, GROUP, IOU_KERNEL, 4096, 65535, 0);
	EXPECT_EQ(-EOVERFLOW, iou_one(r));
	if (iou_splits_addresses()) {
		prep_provide(r, GROUP, NULL, PIECE, 1, 0)->addr = 0xffff800000000000ULL;
		EXPECT_EQ(-EFAULT, iou_one(r));
	}
	sqe = prep_provide(r, GROUP, m, PIECE, 1, 0);
	sqe->rw_flags = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	sqe = prep_provide(r, GROUP, m, PIECE, 1, 0);
	sqe->splice_fd_in = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	sqe = prep_provide(r, GROUP, m, PIECE, 1, 0);
	sqe->flags = IOSQE_BUFFER_SELECT;
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	/* none of these requests has created the group */
	prep_remove(r, GROUP, 1);
	EXPECT_EQ(-ENOENT, iou_one(r));
}

TEST_F(group, provide_and_remove)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;

	prep_provide(r, GROUP, self->mem, 1, 65536, 0);
	EXPECT_EQ(0, iou_one(r));
	sqe = prep_provide(r, GROUP, self->mem, 1, 65535, 0);
	sqe->flags = IOSQE_ASYNC;
	EXPECT_EQ(0, iou_one(r));
	prep_remove(r, GROUP, 65536);
	EXPECT_EQ(65536, iou_one(r));
	sqe = prep_remove(r, GROUP, 65536);
	sqe->flags = IOSQE_ASYNC;
	EXPECT_EQ(65535, iou_one(r));
	prep_remove(r, GROUP, 1);
	EXPECT_EQ(0, iou_one(r));
	prep_remove(r, GROUP, 0);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_remove(r, GROUP, -1);
	EXPECT_EQ(-EINVAL, iou_one(r));
	sqe = prep_remove(r, GROUP, 1);
	sqe->addr = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	sqe = prep_remove(r, GROUP, 1);
	sqe->len = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	sqe = prep_remove(r, GROUP, 1);
	sqe->off = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	/* the number of a group may be large */
	prep_provide(r, 60000, self->mem, 1, 3, 0);
	EXPECT_EQ(0, iou_one(r));
	prep_remove(r, 60000, 5);
	EXPECT_EQ(3, iou_one(r));
}

/*
 * Buffers of PROVIDE_BUFFERS are selected first in, first out.  A read that waits holds no buffer.
 * differences: wait-without-buffer
 */
TEST_F(group, classic_order)
{
	struct iou *r = &self->r;

	prep_provide(r, GROUP, self->mem, PIECE, 2, 1);
	EXPECT_EQ(0, iou_one(r));
	prep_provide(r, GROUP, self->mem + 1024, PIECE, 2, 7);
	EXPECT_EQ(0, iou_one(r));
	ASSERT_EQ(6, write(self->pipe[1], "abcdef", 6));
	prep_read(r, IORING_OP_READ, self->pipe[0], 2);
	EXPECT_CQE(r, 2, BUFFER(1));
	prep_read(r, IORING_OP_READ, self->pipe[0], 2);
	EXPECT_CQE(r, 2, BUFFER(2));
	prep_read(r, IORING_OP_READ, self->pipe[0], 2);
	EXPECT_CQE(r, 2, BUFFER(7));
	EXPECT_EQ(0, memcmp(self->mem, "ab", 2));
	EXPECT_EQ(0, memcmp(self->mem + PIECE, "cd", 2));
	EXPECT_EQ(0, memcmp(self->mem + 1024, "ef", 2));
	/* another request can remove the buffer while the read waits; on 6.12 it cannot */
	if (iou_on_stock())
		return;
	prep_read(r, IORING_OP_READ, self->pipe[0], 2)->user_data = 100;
	ASSERT_EQ(1, iou_submit(r));
	prep_remove(r, GROUP, 10);
	EXPECT_EQ(1, iou_one(r));
	ASSERT_EQ(2, write(self->pipe[1], "gh", 2));
	EXPECT_CQE(r, -ENOBUFS, 0U);
}

TEST_F(group, register_refused)
{
	struct io_uring_buf_reg reg_arg = {
		.ring_addr = (uintptr_t)self->ring,
		.ring_entries = SLOTS,
		.bgid = GROUP,
	};
	struct iou *r = &self->r;
	void *ring = self->ring;

	reg_arg.flags = 4;
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_PBUF_RING, &reg_arg, 1));
	reg_arg.flags = 0;
	reg_arg.resv[4] = 1;
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_PBUF_RING, &reg_arg, 1));
	reg_arg.resv[4] = 0;
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_PBUF_RING, &reg_arg, 0));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_PBUF_RING, &reg_arg, 2));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_PBUF_RING, NULL, 1));
	EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_PBUF_RING, (void *)8, 1));
	EXPECT_EQ(-EINVAL, reg(r, GROUP, ring, SLOTS, 0, 1));
	EXPECT_EQ(-EINVAL, reg(r, GROUP, ring, 0, 0, 0));
	EXPECT_EQ(-EINVAL, reg(r, GROUP, ring, 3, 0, 0));
	EXPECT_EQ(-EINVAL, reg(r, GROUP, ring, 65536, 0, 0));
	EXPECT_EQ(-EFAULT, reg(r, GROUP, NULL, SLOTS, 0, 0));
	/* differences: none, 6.12 looks at the address first */
	if (!iou_on_older_stock())
		EXPECT_EQ(-EINVAL, reg(r, GROUP, NULL, 3, 0, 0));
	EXPECT_EQ(-EINVAL, reg(r, GROUP, ring + 16, SLOTS, 0, 0));
	EXPECT_EQ(-EFAULT, reg(r, GROUP, (void *)0x10000, SLOTS, 0, 0));
	/* differences: none, 6.12 refuses an address that 7.3 does not look at */
	if (!iou_on_older_stock()) {
		EXPECT_EQ(0, reg(r, GROUP, ring + 16, SLOTS, IOU_PBUF_RING_MMAP, 0));
		EXPECT_EQ(0, unreg(r, GROUP));
	}
	EXPECT_EQ(-ENOENT, unreg(r, GROUP));
	EXPECT_EQ(-ENOENT, head(r, GROUP));
	EXPECT_EQ(0, reg(r, GROUP, ring, SLOTS, 0, 0));
	EXPECT_EQ(-EEXIST, reg(r, GROUP, ring, SLOTS, 0, 0));
	EXPECT_EQ(0, head(r, GROUP));
	prep_provide(r, GROUP, self->mem, PIECE, 1, 0);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_remove(r, GROUP, 1);
	EXPECT_EQ(-EINVAL, iou_one(r));
	reg_arg.flags = 1;
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_UNREGISTER_PBUF_RING, &reg_arg, 1));
	reg_arg.flags = 0;
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_PBUF_RING, &reg_arg, 1));
	EXPECT_EQ(-ENOENT, unreg(r, GROUP));
}

#define LARGEST		32768
#define LARGEST_SIZE	(LARGEST * sizeof(struct io_uring_buf))

/*
 * Register buffer rings of the largest size, in the program's own memory, until one returns
 * -ENOMEM.  Return: the number of rings, at most @most, or another negative errno.
 */
static int pin_groups(struct iou *r, char *mem, int first, int most)
{
	int nr, ret;

	for (nr = 0; nr < most; nr++) {
		ret = reg(r, first + nr, mem + (nr % 4) * LARGEST_SIZE, LARGEST, 0, 0);
		if (ret)
			return ret == -ENOMEM ? nr : ret;
	}
	return nr;
}

/* Become a user without pinned memory who may pin @bytes. */
static int become_pinner(rlim_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	return setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(4251) || setuid(100000 + getpid());
}

/* Test an RLIMIT_MEMLOCK of 0.  Return: 0, or the number of the line that failed. */
static int pin_without_limit(unsigned int flags, bool stock)
{
	struct iou r, other;
	char *mem;

	if (become_pinner(0))
		return __LINE__;
	mem = iou_map_anon(4 * LARGEST_SIZE);
	if (!mem || iou_init(&r, 8, flags) || iou_init(&other, 8, flags))
		return __LINE__;
	/* eight buffer rings are not charged, as older programs do not expect a limit */
	if (pin_groups(&r, mem, 0, 40) != (stock ? 40 : 8))
		return __LINE__;
	/* memory that the kernel allocates is not charged */
	if (reg(&r, 50, NULL, LARGEST, IOU_PBUF_RING_MMAP, 0))
		return __LINE__;
	if (stock)
		return 0;
	if (reg(&r, 51, mem, 8, 0, 0) != -ENOMEM)
		return __LINE__;
	/* each io_uring has eight uncharged buffer rings; unregistering one makes room */
	if (pin_groups(&other, mem, 0, 40) != 8)
		return __LINE__;
	if (unreg(&r, 3) || unreg(&r, 4) || pin_groups(&r, mem, 20, 40) != 2)
		return __LINE__;
	iou_exit(&other);
	iou_exit(&r);
	return 0;
}

/* Test an RLIMIT_MEMLOCK of three buffer rings.  Return: as pin_without_limit(). */
static int pin_within_limit(unsigned int flags)
{
	struct iovec iov;
	struct iou r;
	char *mem;
	int i;

	if (become_pinner(3 * LARGEST_SIZE))
		return __LINE__;
	mem = iou_map_anon(4 * LARGEST_SIZE);
	if (!mem || iou_init(&r, 8, flags))
		return __LINE__;
	for (i = 0; i < 3; i++) {
		/* eight are uncharged and three fill the limit; each round returns the charge */
		if (pin_groups(&r, mem, 100 * i, 40) != 11)
			return __LINE__;
		for (int k = 10; k >= 0; k--)
			if (unreg(&r, 100 * i + k))
				return __LINE__;
	}
	/* it does not matter which of them are replaced, or go first */
	if (pin_groups(&r, mem, 0, 40) != 11)
		return __LINE__;
	for (i = 0; i < 11; i++)
		if (unreg(&r, i) || pin_groups(&r, mem, i, 1) != 1)
			return __LINE__;
	for (i = 0; i < 8; i++)
		if (unreg(&r, i))
			return __LINE__;
	iov = (struct iovec){ mem, 3 * LARGEST_SIZE };
	if (iou_register(&r, IORING_REGISTER_BUFFERS, &iov, 1) ||
	    iou_register(&r, IORING_UNREGISTER_BUFFERS, NULL, 0))
		return __LINE__;
	for (; i < 11; i++)
		if (unreg(&r, i))
			return __LINE__;
	/* memory that cannot be pinned is not charged */
	for (i = 0; i < 20; i++)
		if (reg(&r, 900, (void *)IOU_PAGE, LARGEST, 0, 0) != -EFAULT)
			return __LINE__;
	if (pin_groups(&r, mem, 0, 40) != 11)
		return __LINE__;
	iou_exit(&r);
	return 0;
}

/*
 * Buffer rings in a program's own memory are pinned.  Eight large buffer rings of each io_uring are
 * not charged to RLIMIT_MEMLOCK, and further ones are.  Mutants: group-pins-uncharged,
 * group-pins-charged-for-ever.  differences: buffer-ring-memlock
 */
TEST_F(group, pinned_memory_is_limited)
{
	int how, pid, status;

	for (how = 0; how < 2; how++) {
		pid = fork();
		if (!pid) {
			int line = how ? pin_within_limit(variant->flags) :
					 pin_without_limit(variant->flags, iou_on_stock());

			if (line)
				fprintf(stderr, "# line %d is not so\n", line);
			_exit(!!line);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		if (iou_on_stock())
			break;
	}
}

/* A group of PROVIDE_BUFFERS can become a buffer ring only while it has no buffers. */
TEST_F(group, upgrade)
{
	struct iou *r = &self->r;

	prep_provide(r, GROUP, self->mem, PIECE, 1, 0);
	EXPECT_EQ(0, iou_one(r));
	EXPECT_EQ(-EEXIST, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	EXPECT_EQ(-EINVAL, head(r, GROUP));
	EXPECT_EQ(-EINVAL, unreg(r, GROUP));
	prep_remove(r, GROUP, 1);
	EXPECT_EQ(1, iou_one(r));
	EXPECT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	EXPECT_EQ(0, head(r, GROUP));
}

/* Test the table in Documentation/io_uring/buffers.rst, for files that can be polled. */
TEST_F(group, lent)
{
	struct iou *r = &self->r;
	int *fds = self->pipe;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	prep_read(r, IORING_OP_READ, fds[0], 0);
	EXPECT_CQE(r, -ENOBUFS, 0U);
	add(self->ring, (void *)8, 16, 1);
	ASSERT_EQ(10, write(fds[1], "0123456789", 10));
	prep_read(r, IORING_OP_READ, fds[0], 0);
	EXPECT_CQE(r, -EFAULT, 0U);
	prep_read(r, IORING_OP_READ, fds[1], 0);
	EXPECT_CQE(r, -EBADF, 0U);
	EXPECT_EQ(0, head(r, GROUP));
	slot(self->ring, 0)->addr = (uintptr_t)self->mem;
	add(self->ring, self->mem + PIECE, 16, 2);
	prep_read(r, IORING_OP_READ, fds[0], 4);
	EXPECT_CQE(r, 4, BUFFER(1));
	EXPECT_EQ(1, head(r, GROUP));
	prep_read(r, IORING_OP_READ, fds[0], 0);
	EXPECT_CQE(r, 6, BUFFER(2));
	EXPECT_EQ(0, memcmp(self->mem + PIECE, "456789", 6));
	/* a read that waits holds no buffer */
	add(self->ring, self->mem, 16, 3);
	prep_read(r, IORING_OP_READ, fds[0], 0);
	ASSERT_EQ(1, iou_submit(r));
	iou_wait_ms(r, 1, 20);
	EXPECT_EQ(0, iou_ready(r));
	EXPECT_EQ(2, head(r, GROUP));
	ASSERT_EQ(1, write(fds[1], "x", 1));
	EXPECT_CQE(r, 1, BUFFER(3));
	/* a read at the end of the file uses a buffer */
	add(self->ring, self->mem, 16, 4);
	close(fds[1]);
	prep_read(r, IORING_OP_READ, fds[0], 0);
	EXPECT_CQE(r, 0, BUFFER(4));
	EXPECT_EQ(4, head(r, GROUP));
	fds[1] = dup(fds[0]);
}

/* Test the table for other files, and for workers: the CQE names the buffer in all cases. */
TEST_F(group, taken)
{
	struct iou *r = &self->r;
	int fd = iou_file(8192, 3);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->mem, 16, 1);
	prep_read(r, IORING_OP_READ, fd, 0);
	EXPECT_CQE(r, 16, BUFFER(1));
	EXPECT_EQ(-1, iou_verify(self->mem, 16, 0, 3));
	add(self->ring, self->mem, 16, 2);
	prep_read(r, IORING_OP_READ, fd, 0)->off = 1 << 20;
	EXPECT_CQE(r, 0, BUFFER(2));
	add(self->ring, (void *)8, 16, 3);
	prep_read(r, IORING_OP_READ, fd, 0);
	EXPECT_CQE(r, -EFAULT, BUFFER(3));
	add(self->ring, self->mem, 16, 4);
	prep_read(r, IORING_OP_READ, fd, 8)->flags |= IOSQE_ASYNC;
	EXPECT_CQE(r, 8, BUFFER(4));
	add(self->ring, self->mem, 16, 5);
	ASSERT_EQ(3, write(self->pipe[1], "abc", 3));
	prep_read(r, IORING_OP_READ, self->pipe[0], 0)->flags |= IOSQE_ASYNC;
	EXPECT_CQE(r, 3, BUFFER(5));
	EXPECT_EQ(5, head(r, GROUP));
	close(fd);
}

TEST_F(group, readv)
{
	struct iovec iov[2] = { { self->mem + 512, 8 }, { self->mem + 600, 8 } };
	struct io_uring_sqe *sqe;
	struct iou *r = &self->r;
	unsigned int i;

	static const struct {
		int nr, res;
		size_t len;
	} tries[] = {
		{ 2, -EINVAL, 8 }, { 0, -EINVAL, 8 }, { 1, 4, 4 }, { 1, 16, 64 }, { 1, 12, 0 },
	};

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	ASSERT_EQ(32, write(self->pipe[1], "0123456789abcdef0123456789abcdef", 32));
	for (i = 0; i < 4; i++)
		add(self->ring, self->mem + i * PIECE, 16, i);
	for (i = 0; i < ARRAY_LEN(tries); i++) {
		struct io_uring_cqe cqe;

		iov[0].iov_len = tries[i].len;
		sqe = iou_prep(r, IORING_OP_READV, self->pipe[0], iov, tries[i].nr, 0);
		sqe->flags = IOSQE_BUFFER_SELECT;
		sqe->buf_group = GROUP;
		ASSERT_EQ(0, take(r, &cqe));
		EXPECT_EQ(tries[i].res, cqe.res);
		if (cqe.res > 0)
			EXPECT_EQ(BUFFER(i - 2), cqe.flags);
	}
	sqe = iou_prep(r, IORING_OP_READV, self->pipe[0], (void *)8, 1, 0);
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	EXPECT_CQE(r, -EFAULT, 0U);
}

/* Several reads fill one incremental buffer.  differences: inc-gives-back */
TEST_F(group, incremental)
{
	struct io_uring_buf *first = self->ring->bufs;
	const unsigned int more = BUFFER(1) | IORING_CQE_F_BUF_MORE;
	int fd = iou_file(8192, 3), *fds = self->pipe;
	int left = iou_on_stock() ? 14 : 18;
	struct iou *r = &self->r;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 4));
	add(self->ring, self->mem, 32, 1);
	ASSERT_EQ(10, write(fds[1], "0123456789", 10));
	prep_read(r, IORING_OP_READ, fds[0], 6);
	EXPECT_CQE(r, 6, more);
	EXPECT_EQ((uintptr_t)self->mem + 6, first->addr);
	EXPECT_EQ(26, first->len);
	prep_read(r, IORING_OP_READ, fds[0], 0);
	EXPECT_CQE(r, 4, more);
	EXPECT_EQ(0, memcmp(self->mem, "0123456789", 10));
	/* a short read gives back the rest of the 8 bytes; on 6.12 the rest is lost */
	prep_read(r, IORING_OP_READ, fd, 8)->off = 8188;
	EXPECT_CQE(r, 4, more);
	EXPECT_EQ(left, (int)first->len);
	EXPECT_EQ(0, head(r, GROUP));
	/* a rest that is shorter than min_left ends the buffer */
	prep_read(r, IORING_OP_READ, fd, left - 3);
	EXPECT_CQE(r, left - 3, BUFFER(1));
	EXPECT_EQ(0, first->len);
	EXPECT_EQ(1, head(r, GROUP));
	add(self->ring, self->mem, 32, 2);
	close(fds[1]);
	fds[1] = dup(fds[0]);
	prep_read(r, IORING_OP_READ, fds[0], 0);
	EXPECT_CQE(r, 0, BUFFER(2) | IORING_CQE_F_BUF_MORE);
	EXPECT_EQ(1, head(r, GROUP));
	close(fd);
}

/* Neither a wrong tail nor wrong descriptors of buffers break the ring and its groups. */
TEST_F(group, hostile)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;
	int left;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	for (i = 0; i < 200; i++) {
		slot(self->ring, i)->addr = i % 3 ? (uintptr_t)self->mem :
						   i * 0x1111111111111111ULL;
		slot(self->ring, i)->len = i * 0x01234567;
		slot(self->ring, i)->bid = i;
		store_rel(&self->ring->tail, (__u16)(i * 7919));
		ASSERT_EQ(4, write(self->pipe[1], "abcd", 4));
		prep_read(r, IORING_OP_READ, self->pipe[0], 4);
		ASSERT_EQ(0, take(r, &cqe));
		left = 4 - (cqe.res > 0 ? cqe.res : 0);
		if (left)
			ASSERT_EQ(left, read(self->pipe[0], self->mem, left));
	}
	EXPECT_EQ(0, unreg(r, GROUP));
}

/* The memory that the kernel allocates for a buffer ring stays valid until it is unmapped. */
TEST_F(group, mapped)
{
	const unsigned long long at = IORING_OFF_PBUF_RING | GROUP << IORING_OFF_PBUF_SHIFT;
	struct io_uring_buf_ring *ring;
	struct iou *r = &self->r;

	if (r->by_index)
		return;
	EXPECT_EQ(MAP_FAILED, mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, at));
	ASSERT_EQ(0, reg(r, GROUP, NULL, SLOTS, IOU_PBUF_RING_MMAP, 0));
	ring = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, at);
	ASSERT_NE(MAP_FAILED, ring);
	add(ring, self->mem, 16, 9);
	ASSERT_EQ(3, write(self->pipe[1], "abc", 3));
	prep_read(r, IORING_OP_READ, self->pipe[0], 0);
	EXPECT_CQE(r, 3, BUFFER(9));
	EXPECT_EQ(0, unreg(r, GROUP));
	memset(ring, 0x5a, IOU_PAGE);
	EXPECT_EQ(0x5a5a, ring->tail);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, at));
	munmap(ring, IOU_PAGE);
}

static void bad_len(struct io_uring_sqe *sqe)
{
	sqe->len = 1;
}

static void bad_addr(struct io_uring_sqe *sqe)
{
	sqe->addr = 1;
}

static void bad_select(struct io_uring_sqe *sqe)
{
	sqe->flags = 0;
}

static void bad_ioprio(struct io_uring_sqe *sqe)
{
	sqe->ioprio = 1;
}

TEST_F(group, multishot_refused)
{
	static void (*const bad[])(struct io_uring_sqe *) = {
		bad_len, bad_addr, bad_select, bad_ioprio,
	};
	struct iou *r = &self->r;
	int fd = iou_file(8192, 3);
	unsigned int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		bad[i](prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0));
		EXPECT_EQ(-EINVAL, iou_one(r));
	}
	prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0);
	EXPECT_CQE(r, -ENOBUFS, 0U);
	add(self->ring, self->mem, 16, 1);
	prep_read(r, IORING_OP_READ_MULTISHOT, fd, 0);
	EXPECT_CQE(r, -EBADFD, 0U);
	prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[1], 0);
	EXPECT_CQE(r, -EBADF, 0U);
	EXPECT_EQ(0, head(r, GROUP));
	close(fd);
}

static const unsigned char ways[] = { 0, IOSQE_ASYNC };

/* A multishot read posts a CQE for each piece, in order, until the end of the file. */
TEST_F(group, multishot)
{
	struct iou *r = &self->r;
	unsigned int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < SLOTS; i++)
		add(self->ring, self->mem + i * PIECE, 16, i);
	prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(3, write(self->pipe[1], "abc", 3));
	EXPECT_CQE(r, 3, BUFFER(0) | IORING_CQE_F_MORE);
	ASSERT_EQ(40, write(self->pipe[1], "0123456789abcdef0123456789abcdef01234567", 40));
	EXPECT_CQE(r, 16, BUFFER(1) | IORING_CQE_F_MORE);
	EXPECT_CQE(r, 16, BUFFER(2) | IORING_CQE_F_MORE);
	EXPECT_CQE(r, 8, BUFFER(3) | IORING_CQE_F_MORE);
	EXPECT_EQ(0, memcmp(self->mem + 2 * PIECE, "0123456789abcdef", 16));
	EXPECT_EQ(4, head(r, GROUP));
	close(self->pipe[1]);
	self->pipe[1] = dup(self->pipe[0]);
	EXPECT_CQE(r, 0, 0U);
	EXPECT_EQ(4, head(r, GROUP));
}

/*
 * A multishot read of a FIFO, which lacks FMODE_NOWAIT, ends when the last writer closes it.
 * Mutant: read-deaf-to-hang-up.  differences: read-multishot-end
 */
TEST_F(group, multishot_of_a_fifo_ends)
{
	char dir[] = "/tmp/iou.XXXXXX", name[64];
	struct iou *r = &self->r;
	int in, out;

	if (iou_on_stock())
		SKIP(return, "its end is not told");
	ASSERT_NE(NULL, mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/fifo", dir);
	ASSERT_EQ(0, mkfifo(name, 0600));
	in = open(name, O_RDONLY | O_NONBLOCK);
	out = open(name, O_WRONLY);
	fcntl(in, F_SETFL, 0);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->mem, 16, 0);
	add(self->ring, self->mem, 16, 1);
	prep_read(r, IORING_OP_READ_MULTISHOT, in, 0);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(1, write(out, "x", 1));
	EXPECT_CQE(r, 1, BUFFER(0) | IORING_CQE_F_MORE);
	close(out);
	EXPECT_CQE(r, 0, 0U);
	close(in);
	unlink(name);
	rmdir(dir);
}

/* A multishot read reads present data at once.  It ends if the group is empty, or on a cancel. */
TEST_F(group, multishot_ends)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < ARRAY_LEN(ways); i++) {
		add(self->ring, self->mem, 16, i);
		ASSERT_EQ(20, write(self->pipe[1], "0123456789abcdef0123", 20));
		prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0)->flags |= ways[i];
		EXPECT_CQE(r, 16, BUFFER(i) | IORING_CQE_F_MORE);
		EXPECT_CQE(r, -ENOBUFS, 0U);
		ASSERT_EQ(4, read(self->pipe[0], self->mem, 16));
		/* add two buffers: after the first CQE, the read looks for the second buffer */
		add(self->ring, self->mem, 16, i);
		add(self->ring, self->mem, 16, i);
		sqe = prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0);
		sqe->flags |= ways[i];
		sqe->user_data = 7;
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(1, write(self->pipe[1], "x", 1));
		EXPECT_CQE(r, 1, BUFFER(i) | IORING_CQE_F_MORE);
		sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0);
		sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
		EXPECT_CQE(r, -ECANCELED, 0U);
		/* the second buffer is still in the group */
		ASSERT_EQ(1, write(self->pipe[1], "y", 1));
		prep_read(r, IORING_OP_READ, self->pipe[0], 0);
		EXPECT_CQE(r, 1, BUFFER(i));
	}
}

/*
 * After its last buffer a multishot read waits, and looks for another buffer only when there is
 * data to read.  With RWF_NOWAIT the read ends instead.  Mutant: multishot-read-in-vain.
 */
TEST_F(group, multishot_last_buffer)
{
	struct iou *r = &self->r;
	unsigned int i;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < ARRAY_LEN(ways); i++) {
		add(self->ring, self->mem, 16, i);
		ASSERT_EQ(3, write(self->pipe[1], "abc", 3));
		prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0)->flags |= ways[i];
		EXPECT_CQE(r, 3, BUFFER(i) | IORING_CQE_F_MORE);
		iou_nop(r, 0);
		EXPECT_CQE(r, 0, 0U);
		add(self->ring, self->mem, 16, 2 + i);
		ASSERT_EQ(2, write(self->pipe[1], "de", 2));
		EXPECT_CQE(r, 2, BUFFER(2 + i) | IORING_CQE_F_MORE);
		ASSERT_EQ(1, write(self->pipe[1], "f", 1));
		EXPECT_CQE(r, -ENOBUFS, 0U);
		ASSERT_EQ(1, read(self->pipe[0], self->mem, 16));
	}
	add(self->ring, self->mem, 16, 4);
	add(self->ring, self->mem, 16, 5);
	ASSERT_EQ(3, write(self->pipe[1], "abc", 3));
	prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0)->rw_flags = RWF_NOWAIT;
	EXPECT_CQE(r, 3, BUFFER(4) | IORING_CQE_F_MORE);
	EXPECT_CQE(r, -EAGAIN, 0U);
}

static void valid_ioprio(struct io_uring_sqe *sqe)
{
	sqe->ioprio = 2 << 13 | 4;
}

/*
 * Flags that the kernel or the file does not support end a multishot read.  The read writes neither
 * to the buffer nor to the memory behind it.  Mutant: multishot-start-again.
 */
TEST_F(group, multishot_flags_refused)
{
	static const struct {
		unsigned int flags;
		int res;
	} rows[] = {
		{ RWF_HIPRI, -EINVAL }, { 0x80, -EOPNOTSUPP }, { 0x800, -EOPNOTSUPP },
		{ 0x40000000, -EOPNOTSUPP },
	};
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	unsigned int i, w;

	valid_ioprio(prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0));
	EXPECT_EQ(-EINVAL, iou_one(r));
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	ASSERT_EQ(10, write(self->pipe[1], "0123456789", 10));
	add(self->ring, self->mem, PIECE, 0);
	for (i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		w = i % 2;
		sqe = prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0);
		sqe->rw_flags = rows[i / 2].flags;
		sqe->flags |= ways[w];
		ASSERT_EQ(0, take(r, &cqe));
		EXPECT_EQ(rows[i / 2].res, cqe.res);
		EXPECT_EQ(0, cqe.flags);
	}
	EXPECT_EQ(0, head(r, GROUP));
	for (i = 0; i < IOU_PAGE; i++)
		ASSERT_EQ(0, self->mem[i]);
	prep_read(r, IORING_OP_READ, self->pipe[0], 0);
	EXPECT_CQE(r, 10, BUFFER(0));
}

static const struct {
	int op;
	unsigned int flags, rw_flags, cqe_flags;
} kernel_reads[] = {
	{ IORING_OP_READ, 0, 0, 0 },
	{ IORING_OP_READ, 0, 0x40000000, 0 },
	{ IORING_OP_READ, IOSQE_ASYNC, 0, BUFFER(7) },
	{ IORING_OP_READV, 0, 0, 0 },
	{ IORING_OP_READV, IOSQE_ASYNC, 0x40000000, BUFFER(7) },
	{ IORING_OP_READ_MULTISHOT, 0, 0, 0 },
	{ IORING_OP_READ_MULTISHOT, 0, 0x40000000, 0 },
};

/*
 * A buffer at a kernel address is refused before all other checks, even for a file that ignores
 * addresses.  A table in Documentation/io_uring/buffers.rst says when the buffer counts as used.
 * Mutant: buffer-address-unchecked.
 */
TEST_F(group, kernel_address)
{
	const int null = open("/dev/null", O_RDONLY);
	const int fds[] = { self->pipe[0], self->pipe[1], null };
	struct iovec iov = { NULL, 16 };
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int i, f;

	if (!iou_splits_addresses())
		return;
	ASSERT_LE(0, null);
	ASSERT_EQ(4, write(self->pipe[1], "abcd", 4));
	for (i = 0; i < ARRAY_LEN(kernel_reads); i++) {
		for (f = 0; f < ARRAY_LEN(fds); f++) {
			unsigned int want = kernel_reads[i].cqe_flags;

			if (fds[f] == null) {
				/* /dev/null cannot be polled */
				if (kernel_reads[i].op == IORING_OP_READ_MULTISHOT)
					continue;
				want = BUFFER(7);
			}
			self->ring->tail = 0;
			ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
			add(self->ring, IOU_KERNEL, 16, 7);
			sqe = prep_read(r, kernel_reads[i].op, fds[f], 0);
			if (sqe->opcode == IORING_OP_READV) {
				sqe->addr = (uintptr_t)&iov;
				sqe->len = 1;
			}
			sqe->flags |= kernel_reads[i].flags;
			sqe->rw_flags = kernel_reads[i].rw_flags;
			EXPECT_CQE(r, -EFAULT, want);
			EXPECT_EQ(want ? 1 : 0, head(r, GROUP));
			ASSERT_EQ(0, unreg(r, GROUP));
		}
	}
	close(null);
}

/*
 * A read that fails leaves its buffer in a group of PROVIDE_BUFFERS.  On 6.12 a READ uses it up.
 * Mutant: classic-failure-used.  differences: read-failed-buffer
 */
TEST_F(group, classic_failure)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		const unsigned int used = i == 0 && iou_on_stock();

		prep_provide(r, GROUP, self->mem, PIECE, 1, 3);
		ASSERT_EQ(0, iou_one(r));
		prep_read(r, i ? IORING_OP_READ_MULTISHOT : IORING_OP_READ, self->pipe[0],
			  0)->rw_flags = 0x40000000;
		ASSERT_EQ(0, take(r, &cqe));
		EXPECT_EQ(-EOPNOTSUPP, cqe.res);
		EXPECT_EQ(used ? BUFFER(3) : 0, cqe.flags);
		prep_remove(r, GROUP, 2);
		EXPECT_EQ(!used, iou_one(r));
	}
}

#ifdef __x86_64__
/* Call io_uring_setup() as a 32-bit program does; @p has to be below 4 GiB. */
static int setup_compat(unsigned int entries, struct io_uring_params *p)
{
	long ret;

	asm volatile("int $0x80" : "=a" (ret)
		     : "a" (__NR_io_uring_setup), "b" (entries), "c" (p)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

/*
 * A READV into a provided buffer uses only the length of its single entry, as a signed
 * number.  Mutant: readv-compat-length.
 */
TEST(readv_compat)
{
	static const struct {
		unsigned int len;
		int res;
	} rows[] = {
		{ 4, 4 }, { 0, 6 }, { 0x7fffffff, 2 }, { 0x80000000, -EINVAL }, { ~0U, -EINVAL },
	};
	struct io_uring_params *p;
	struct io_uring_sqe *sqe;
	unsigned int i, *iov;
	int fds[2];
	struct iou r = {};

	p = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, pipe(fds));
	r.fd = setup_compat(8, p);
	if (r.fd < 0)
		SKIP(return, "no programs of 32 bits");
	r.p = *p;
	r.sqe_size = sizeof(*sqe);
	r.cqe_size = sizeof(struct io_uring_cqe);
	ASSERT_EQ(0, iou_map(&r));
	iou_find_words(&r);
	iov = (unsigned int *)p;
	prep_provide(&r, GROUP, p + 1, 6, 8, 0);
	ASSERT_EQ(0, iou_one(&r));
	ASSERT_EQ(12, write(fds[1], "0123456789ab", 12));
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		iov[0] = 0;
		iov[1] = rows[i].len;
		sqe = iou_prep(&r, IORING_OP_READV, fds[0], iov, 1, -1);
		sqe->flags = IOSQE_BUFFER_SELECT;
		sqe->buf_group = GROUP;
		EXPECT_EQ(rows[i].res, iou_one(&r)) {
			TH_LOG("length %x", rows[i].len);
		}
	}
	iou_exit(&r);
	close(fds[0]);
	close(fds[1]);
	munmap(p, IOU_PAGE);
}
#endif

/*
 * A cancel or an exit ends a multishot read while it is queued to a worker.
 * Mutant: cancelled-multishot-begins.
 */
TEST_F(group, multishot_cancelled_in_the_queue)
{
	unsigned int i, left, rounds = iou_rounds(20);
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	int pid, status;

	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	add(self->ring, self->mem, 16, 0);
	for (i = 0; i < rounds; i++) {
		sqe = prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0);
		sqe->flags |= IOSQE_ASYNC;
		sqe->user_data = 7;
		sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0);
		sqe->user_data = 8;
		ASSERT_EQ(2, iou_submit(r));
		/* the result of the cancel depends on whether the read has begun */
		for (left = 2; left; left--) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			if (cqe.user_data == 7)
				EXPECT_EQ(-ECANCELED, cqe.res);
		}
	}
	pid = fork();
	if (!pid) {
		for (i = 0; i < 4; i++)
			prep_read(r, IORING_OP_READ_MULTISHOT, self->pipe[0],
				  0)->flags |= IOSQE_ASYNC;
		/* the submit fails with -EEXIST on a ring with IORING_SETUP_SINGLE_ISSUER */
		iou_submit(r);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* A CQE that overflows ends a multishot read, and no data that was read is lost. */
TEST_F(group, multishot_overflow)
{
	unsigned int flags, i, seen = 0, last = 0;
	struct io_uring_cqe cqe;
	struct iou r;

	ASSERT_EQ(0, iou_init_cq(&r, 4, 4, variant->flags));
	ASSERT_EQ(0, reg(&r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < SLOTS; i++)
		add(self->ring, self->mem + i * PIECE, 1, i);
	prep_read(&r, IORING_OP_READ_MULTISHOT, self->pipe[0], 0);
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_EQ(7, write(self->pipe[1], "0123456", 7));
	do {
		ASSERT_EQ(0, iou_wait(&r, 1));
		/* wait for all CQEs that fit, and the overflow, before making room */
		if (!seen)
			iou_wait_ms(&r, 4, 1000);
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(1, cqe.res);
		EXPECT_EQ(seen, cqe.flags >> IORING_CQE_BUFFER_SHIFT);
		EXPECT_EQ('0' + seen, self->mem[seen * PIECE]);
		flags = cqe.flags;
		seen++;
		last += !(flags & IORING_CQE_F_MORE);
	} while (flags & IORING_CQE_F_MORE && seen < 7);
	EXPECT_EQ(1, last);
	EXPECT_EQ((int)seen, head(&r, GROUP));
	iou_exit(&r);
}

/* Regular files that can be polled.  A read of the first file returns at most a page. */
static const char * const polled[] = {
	"/proc/locks", "/proc/devices", "/sys/kernel/notes",
};

#define POLLED	ARRAY_LEN(polled)
#define ROOM	16384
#define REST	64

struct polled {
	int fd;
	int len;
	char data[ROOM];
};

/* Open @path and store its contents.  Return: true if they are longer than REST. */
static bool open_polled(struct polled *file, const char *path)
{
	file->fd = open(path, O_RDONLY);
	file->len = pread(file->fd, file->data, ROOM, 0);
	while (file->len > 0) {
		int ret = pread(file->fd, file->data + file->len, ROOM - file->len, file->len);

		if (ret <= 0)
			break;
		file->len += ret;
	}
	return file->len > REST;
}

/* Lock @nr ranges of a file that goes with this process, each a line of /proc/locks. */
static int hold_locks(unsigned int nr)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
	int fd = memfd_create("locked", 0);

	for (lock.l_start = 0; lock.l_start < 2 * nr; lock.l_start += 2)
		if (fcntl(fd, F_SETLK, &lock))
			return -1;
	return 0;
}

/* Provide POLLED large buffers and then as many short ones, in @mem. */
static int provide_unequal(struct iou *r, struct io_uring_buf_ring *ring, char *mem)
{
	unsigned int i, k;

	for (k = 0; k < 2; k++) {
		if (!ring) {
			prep_provide(r, GROUP, mem + k * POLLED * ROOM, k ? REST : ROOM, POLLED,
				     k * POLLED);
			if (iou_one(r))
				return -1;
			continue;
		}
		for (i = k * POLLED; i < (k + 1) * POLLED; i++)
			add(ring, mem + (k ? POLLED * ROOM + (i - POLLED) * REST : i * ROOM),
			    k ? REST : ROOM, i);
	}
	return 0;
}

/*
 * A read that has moved a part of its data keeps its buffer.  Later requests select other buffers,
 * and the next attempt continues in the same buffer.  6.12 does so for PROVIDE_BUFFERS only.
 * Mutant: part-read-lent.  differences: read-part-buffer
 */
TEST_F(group, part_keeps_its_buffer)
{
	static const unsigned char ways[] = { 0, IOSQE_ASYNC };
	size_t room = 2 * POLLED * ROOM;
	struct polled *file = calloc(POLLED, sizeof(*file));
	char *mem = iou_map_anon(room);
	struct iou *r = &self->r;
	unsigned int w, i;
	struct iovec iov = {};

	ASSERT_EQ(0, hold_locks(150));
	for (i = 0; i < POLLED; i++)
		ASSERT_TRUE(open_polled(&file[i], polled[i]));
	ASSERT_EQ(1, write(self->pipe[1], "x", 1));
	for (w = 0; w < (iou_on_stock() ? 2 : 4); w++) {
		bool ring = w & 2;
		unsigned int told = 0;

		memset(mem, '#', room);
		if (ring) {
			if (w == 2)
				ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
			self->ring->tail = head(r, GROUP);
		}
		ASSERT_EQ(0, provide_unequal(r, ring ? self->ring : NULL, mem));
		for (i = 0; i < POLLED; i++) {
			struct io_uring_sqe *sqe;

			sqe = iou_prep(r, IORING_OP_READV, file[i].fd, &iov, 1, 0);
			sqe->flags = IOSQE_BUFFER_SELECT | ways[w & 1];
			sqe->buf_group = GROUP;
			sqe->user_data = i;
		}
		ASSERT_EQ((int)POLLED, iou_submit(r));
		for (i = 0; i < POLLED; i++) {
			struct io_uring_cqe cqe;
			unsigned int bid;

			ASSERT_EQ(0, iou_reap(r, &cqe));
			bid = cqe.flags >> IORING_CQE_BUFFER_SHIFT;
			ASSERT_TRUE(cqe.flags & IORING_CQE_F_BUFFER);
			ASSERT_GT(POLLED, bid);
			EXPECT_EQ(0, told & 1U << bid);
			told |= 1U << bid;
			EXPECT_EQ(file[cqe.user_data].len, cqe.res) {
				TH_LOG("%s, way %u", polled[cqe.user_data], w);
			}
			EXPECT_EQ(0, memcmp(mem + bid * ROOM, file[cqe.user_data].data, cqe.res));
			EXPECT_EQ('#', mem[bid * ROOM + cqe.res]);
		}
		for (i = POLLED * ROOM; i < room; i++)
			ASSERT_EQ('#', mem[i]);
		/* a read ends with a short buffer, and writes nothing behind it */
		prep_read(r, IORING_OP_READ, file[0].fd, 0)->flags |= ways[w & 1];
		EXPECT_CQE(r, REST, BUFFER(POLLED));
		EXPECT_EQ('#', mem[POLLED * ROOM + REST]);
		if (!ring) {
			prep_remove(r, GROUP, POLLED);
			EXPECT_EQ((int)POLLED - 1, iou_one(r));
		}
	}
	for (i = 0; i < POLLED; i++)
		close(file[i].fd);
	munmap(mem, room);
	free(file);
}

/* Submit a read into an incremental buffer.  Return: the result; -1 without F_BUF_MORE. */
static int one_piece(struct iou *r, struct io_uring_sqe *sqe, unsigned char flags)
{
	struct io_uring_cqe cqe;

	sqe->flags |= flags;
	if (take(r, &cqe) || cqe.flags != (BUFFER(1) | IORING_CQE_F_BUF_MORE))
		return -1;
	return cqe.res;
}

/*
 * Behind a worker's request, a read of an empty O_NONBLOCK pipe ends.  It gives back what it has
 * taken of an incremental buffer.  Mutant: piece-kept-by-eagain.  differences: inc-gives-back
 */
TEST_F(group, incremental_in_vain)
{
	char *mem = iou_map_anon(IOU_PAGE);
	struct io_uring_sqe *sqe;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	/* on a single-writer ring the submitter reads, and waits for data */
	if (iou_on_stock() || variant->flags & IORING_SETUP_DEFER_TASKRUN)
		return;
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, mem, IOU_PAGE, 1);
	ASSERT_EQ(0, fcntl(self->pipe[0], F_SETFL, O_NONBLOCK));
	iou_nop(r, 1)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	sqe = prep_read(r, IORING_OP_READ, self->pipe[0], 100);
	sqe->user_data = 2;
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(0, take(r, &cqe));
	EXPECT_EQ(1, cqe.user_data);
	ASSERT_EQ(0, take(r, &cqe));
	EXPECT_EQ(-EAGAIN, cqe.res);
	ASSERT_EQ(3, write(self->pipe[1], "abc", 3));
	prep_read(r, IORING_OP_READ, self->pipe[0], 100);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, take(r, &cqe));
	EXPECT_EQ(3, cqe.res);
	EXPECT_EQ(0, memcmp(mem, "abc", 3));
	munmap(mem, IOU_PAGE);
}

/*
 * A request that takes more of an incremental buffer than it fills gives the rest back, so that the
 * next data follows without a gap.  Mutant: piece-kept.  differences: inc-gives-back
 */
TEST_F(group, incremental_gives_back)
{
	static const unsigned char ways[] = { 0, IOSQE_ASYNC };
	int fd = iou_file(4096, 3), dir = open("/tmp", O_RDONLY | O_DIRECTORY), s[2];
	const char *disk = getenv("IOU_EXT4");
	struct io_uring_buf *slot0 = self->ring->bufs;
	char *mem = iou_map_anon(16 * IOU_PAGE), *at = mem;
	struct iou *r = &self->r;
	struct iovec iov = {};
	unsigned int i;

	if (iou_on_stock())
		return;
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, IOU_PBUF_RING_INC, 0));
	add(self->ring, mem, 16 * IOU_PAGE, 1);
	for (i = 0; i < ARRAY_LEN(ways); i++) {
		struct io_uring_sqe *sqe = prep_read(r, IORING_OP_READ, fd, 100);

		/* the file has only 6 of the 100 bytes */
		sqe->off = 4090;
		ASSERT_EQ(6, one_piece(r, sqe, ways[i]));
		ASSERT_EQ(-1, iou_verify(at, 6, 4090, 3));
		at += 6;
		/* this read takes all of the buffer, and gives back what it does not fill */
		sqe = iou_prep(r, IORING_OP_READV, fd, &iov, 1, 4000);
		sqe->flags = IOSQE_BUFFER_SELECT;
		sqe->buf_group = GROUP;
		ASSERT_EQ(96, one_piece(r, sqe, ways[i]));
		ASSERT_EQ(-1, iou_verify(at, 96, 4000, 3));
		at += 96;
		/* these two reads take the buffer and use nothing of it */
		ASSERT_EQ(-EISDIR, one_piece(r, prep_read(r, IORING_OP_READ, dir, 0), ways[i]));
		sqe = prep_read(r, IORING_OP_READ, fd, 50);
		sqe->off = 5000;
		ASSERT_EQ(0, one_piece(r, sqe, ways[i]));
		/* these files can be polled; only a worker takes 50 bytes before it reads */
		ASSERT_EQ(3, write(self->pipe[1], "abc", 3));
		ASSERT_EQ(3, one_piece(r, prep_read(r, IORING_OP_READ, self->pipe[0], 50),
				       ways[i]));
		ASSERT_EQ(0, memcmp(at, "abc", 3));
		at += 3;
		ASSERT_EQ(2, write(s[0], "de", 2));
		ASSERT_EQ(2, one_piece(r, prep_read(r, IORING_OP_RECV, s[1], 50), ways[i]));
		ASSERT_EQ(0, memcmp(at, "de", 2));
		at += 2;
		EXPECT_EQ((uintptr_t)at, slot0->addr);
		EXPECT_EQ(mem + 16 * IOU_PAGE - at, (long)slot0->len);
	}
	EXPECT_EQ(0, head(r, GROUP));
	/* direct I/O continues in the same buffer */
	if (disk) {
		int on_disk = iou_file_in(disk, 4096, 4), direct;
		char path[32];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", on_disk);
		direct = open(path, O_RDONLY | O_DIRECT);
		ASSERT_LE(0, direct);
		slot0->len -= mem + IOU_PAGE - at;
		slot0->addr += mem + IOU_PAGE - at;
		ASSERT_EQ(4096, one_piece(r, prep_read(r, IORING_OP_READ, direct, 8192), 0));
		EXPECT_EQ(-1, iou_verify(mem + IOU_PAGE, 4096, 0, 4));
		EXPECT_EQ((uintptr_t)mem + 2 * IOU_PAGE, slot0->addr);
		close(direct);
		close(on_disk);
	}
	munmap(mem, 16 * IOU_PAGE);
	close(s[0]);
	close(s[1]);
	close(dir);
	close(fd);
}

/* Allow the first two reads that fanotify reports, and deny all later ones. */
static void watch_reads(int fan)
{
	struct fanotify_event_metadata event;
	int asked = 0;

	while (read(fan, &event, sizeof(event)) == sizeof(event)) {
		struct fanotify_response answer = {
			.fd = event.fd, .response = asked++ < 2 ? FAN_ALLOW : FAN_DENY,
		};

		if (write(fan, &answer, sizeof(answer)) != sizeof(answer))
			break;
		close(event.fd);
	}
	_exit(0);
}

/* A multishot read checks its permission before each attempt.  Mutant: multishot-asks-once. */
TEST_F(group, multishot_asks_each_time)
{
	const char *path = "/sys/kernel/notes";
	int pid, fd, fan = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY);
	struct iou *r = &self->r;
	unsigned int i;

	ASSERT_LE(0, fan);
	ASSERT_EQ(0, fanotify_mark(fan, FAN_MARK_ADD, FAN_ACCESS_PERM, AT_FDCWD, path));
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	pid = fork();
	if (!pid)
		watch_reads(fan);
	ASSERT_EQ(0, reg(r, GROUP, self->ring, SLOTS, 0, 0));
	for (i = 0; i < 4; i++)
		add(self->ring, self->mem, 16, i);
	prep_read(r, IORING_OP_READ_MULTISHOT, fd, 0);
	EXPECT_CQE(r, 16, BUFFER(0) | IORING_CQE_F_MORE);
	EXPECT_CQE(r, 16, BUFFER(1) | IORING_CQE_F_MORE);
	EXPECT_CQE(r, -EPERM, 0U);
	EXPECT_EQ(2, head(r, GROUP));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fan);
	close(fd);
}

TEST_HARNESS_MAIN
