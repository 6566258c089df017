// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: IORING_SETUP_IOPOLL on devices with and without polled queues */
/*
 * The first test creates two null devices in memory, and later tests use them as well:
 *
 *	polled		has queues that are polled
 *	unpolled	has none
 *
 * The tests use the bare devices, and an ext4 on each.  A timer completes I/O that is
 * not polled.  By that time a failed attempt, or a failed part, has been freed: polling
 * must not use its memory.
 *
 * One test uses a RAM disk, which cannot be polled.
 */
#include "iou_test.h"

#define BLOCK	4096
#define BLOCKS	32
#define AREA	(BLOCKS * BLOCK)
#define SEED	11
/* extents of the file; between them are blocks of another file */
#define PIECES	8

FIXTURE(polled) {
	struct iou r;
	char dir[32];
	bool mounted;
	int fd;
	unsigned char *buf;
};

FIXTURE_VARIANT(polled) {
	unsigned int flags;
	bool polled;
	bool ext4;
};

#define POLLED_VARIANTS(kind, bits) \
	FIXTURE_VARIANT_ADD(polled, kind##_disk) { .flags = (bits), .polled = true }; \
	FIXTURE_VARIANT_ADD(polled, kind##_ext4) { \
		.flags = (bits), .polled = true, .ext4 = true \
	}; \
	FIXTURE_VARIANT_ADD(polled, kind##_unpolled_disk) { .flags = (bits) }; \
	FIXTURE_VARIANT_ADD(polled, kind##_unpolled_ext4) { .flags = (bits), .ext4 = true }

POLLED_VARIANTS(plain, IORING_SETUP_IOPOLL);
POLLED_VARIANTS(defer, IORING_SETUP_IOPOLL | IOU_DEFER);
POLLED_VARIANTS(sqpoll, IORING_SETUP_IOPOLL | IORING_SETUP_SQPOLL);

static void null_set(const char *dir, const char *key, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", dir, key);
	iou_put(path, value);
}

/* Create /dev/nullb@nr unless it is there.  Return: 0 or -1. */
static int null_create(int nr, bool polled, const char *blocksize)
{
	char dir[48], dev[16];

	snprintf(dir, sizeof(dir), "/sys/kernel/config/nullb/nullb%d", nr);
	snprintf(dev, sizeof(dev), "/dev/nullb%d", nr);
	if (!access(dev, F_OK))
		return 0;
	mount("none", "/sys/kernel/config", "configfs", 0, NULL);
	if (mkdir(dir, 0700))
		return -1;
	null_set(dir, "size", "64");
	null_set(dir, "blocksize", blocksize);
	null_set(dir, "memory_backed", "1");
	null_set(dir, "submit_queues", "2");
	null_set(dir, "poll_queues", polled ? "2" : "0");
	/* a timer completes requests that are not polled */
	null_set(dir, "irqmode", "2");
	null_set(dir, "completion_nsec", "20000000");
	null_set(dir, "power", "1");
	iou_touch(dev);
	return access(dev, F_OK);
}

/* Return: the device's name, or NULL if it cannot be created. */
static const char *null_device(bool polled)
{
	if (null_create(polled ? 5 : 6, polled, "4096"))
		return NULL;
	return polled ? "/dev/nullb5" : "/dev/nullb6";
}

static int mount_ext4(const char *dev, const char *dir)
{
	char cmd[96];

	if (!mount(dev, dir, "ext4", 0, NULL))
		return 0;
	snprintf(cmd, sizeof(cmd), "mkfs.ext4 -q -F -b 4096 -E nodiscard %s >/dev/null 2>&1", dev);
	return system(cmd) || mount(dev, dir, "ext4", 0, NULL) ? -1 : 0;
}

/* Create a file of PIECES extents, with blocks of another file between them. */
static int file_in_pieces(const char *dir)
{
	char path[48];
	int fd, other, i;

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
	snprintf(path, sizeof(path), "%s/other", dir);
	other = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (i = 0; i < BLOCKS; i += BLOCKS / PIECES) {
		if (posix_fallocate(fd, i * BLOCK, BLOCKS / PIECES * BLOCK) ||
		    posix_fallocate(other, i * BLOCK, BLOCK))
			return -1;
	}
	close(other);
	return fd;
}

FIXTURE_SETUP(polled)
{
	const char *dev = null_device(variant->polled);
	struct iovec iov;

	self->r.fd = -1;
	self->fd = -1;
	self->mounted = false;
	self->buf = iou_map_anon(AREA);
	if (!dev)
		SKIP(return, "needs null_blk and configfs");
	snprintf(self->dir, sizeof(self->dir), "/tmp/iopoll_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	if (variant->ext4) {
		if (mount_ext4(dev, self->dir))
			SKIP(return, "needs ext4 and mkfs.ext4");
		self->mounted = true;
		self->fd = file_in_pieces(self->dir);
	} else {
		self->fd = open(dev, O_RDWR | O_DIRECT);
	}
	ASSERT_LE(0, self->fd);
	iou_fill(self->buf, AREA, 0, SEED);
	ASSERT_EQ(AREA, pwrite(self->fd, self->buf, AREA, 0));
	ASSERT_EQ(0, iou_init(&self->r, BLOCKS, variant->flags));
	iov = (struct iovec){ self->buf, AREA };
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_BUFFERS, &iov, 1));
}

FIXTURE_TEARDOWN(polled)
{
	unsigned int i;

	iou_exit(&self->r);
	if (self->fd >= 0)
		close(self->fd);
	/* the ring releases its files asynchronously */
	for (i = 0; self->mounted && i < 500 && umount(self->dir); i++)
		iou_sleep_ms(10);
	rmdir(self->dir);
	munmap(self->buf, AREA);
}

/* Prepare a request for each block of @buf, with @flags in each SQE. */
static void prep_blocks(struct iou *r, int op, int fd, unsigned char *buf, unsigned char flags)
{
	unsigned int i;

	for (i = 0; i < BLOCKS; i++) {
		unsigned int at = (i * 5 % BLOCKS) * BLOCK;
		struct io_uring_sqe *sqe = iou_prep(r, op, fd, buf + at, BLOCK, at);

		sqe->flags = flags;
		sqe->user_data = at;
	}
}

static const unsigned char ways[] = { 0, IOSQE_ASYNC };

TEST_F(polled, read)
{
	static const int ops[] = { IORING_OP_READ, IORING_OP_READ_FIXED };
	unsigned int i, w, round;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	for (round = 0; round < 4; round++) {
		for (w = 0; w < ARRAY_LEN(ways); w++) {
			memset(self->buf, 0, AREA);
			prep_blocks(r, ops[round % 2], self->fd, self->buf, ways[w]);
			ASSERT_EQ(BLOCKS, iou_submit(r));
			for (i = 0; i < BLOCKS; i++) {
				ASSERT_EQ(0, iou_reap(r, &cqe));
				if (!variant->polled) {
					EXPECT_EQ(-EOPNOTSUPP, cqe.res);
					continue;
				}
				ASSERT_EQ(BLOCK, cqe.res);
				EXPECT_EQ(-1, iou_verify(self->buf + cqe.user_data, BLOCK,
							 cqe.user_data, SEED));
			}
		}
	}
}

/*
 * Read all blocks at once, which takes a drive longer than a short sleep, @nr times.
 * Return: how often the task slept, or a negative errno.
 */
static long sleeps_of_reads(struct iou *r, int fd, unsigned char *buf, unsigned int nr)
{
	struct rusage before, after;
	unsigned int i;
	int ret;

	if (getrusage(RUSAGE_THREAD, &before))
		return -errno;
	for (i = 0; i < nr; i++) {
		memset(buf, 0, AREA);
		iou_prep(r, IORING_OP_READ, fd, buf, AREA, 0);
		ret = iou_one(r);
		if (ret != AREA)
			return ret < 0 ? ret : -EIO;
		if (iou_verify(buf, AREA, 0, SEED) != -1)
			return -EILSEQ;
	}
	if (getrusage(RUSAGE_THREAD, &after))
		return -errno;
	return after.ru_nvcsw - before.ru_nvcsw;
}

/*
 * With IORING_SETUP_HYBRID_IOPOLL, each wait but the first sleeps before it polls.  A call that
 * does not wait does not sleep.  Mutants: hybrid-polls, hybrid-peek-sleeps, hybrid-without-polling.
 */
TEST_F(polled, hybrid)
{
	unsigned int i, flags = variant->flags | IORING_SETUP_HYBRID_IOPOLL;
	struct rusage before, after;
	struct iou r;

	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock() || !variant->polled)
		return;
	EXPECT_EQ(-EINVAL, iou_init(&r, 8, flags & ~IORING_SETUP_IOPOLL));
	ASSERT_EQ(0, iou_init(&r, 8, flags));
	/* differences: none, 7.3 sleeps at times of its own, also in calls that do not wait */
	if (variant->flags & IORING_SETUP_SQPOLL || iou_on_stock()) {
		EXPECT_LE(0, sleeps_of_reads(&r, self->fd, self->buf, 40));
		iou_exit(&r);
		return;
	}
	EXPECT_GE(20, sleeps_of_reads(&self->r, self->fd, self->buf, 40));
	/* on a busy machine the time of a short sleep may pass before the task is switched out */
	EXPECT_LT(20, sleeps_of_reads(&r, self->fd, self->buf, 40));
	ASSERT_EQ(0, getrusage(RUSAGE_THREAD, &before));
	for (i = 0; i < 40; i++) {
		iou_prep(&r, IORING_OP_READ, self->fd, self->buf, BLOCK, 0);
		ASSERT_EQ(1, iou_enter(&r, iou_flush(&r), 0, IORING_ENTER_GETEVENTS));
		while (!iou_ready(&r))
			ASSERT_EQ(0, iou_enter(&r, 0, 0, IORING_ENTER_GETEVENTS));
		ASSERT_EQ(0, iou_discard(&r, 1));
	}
	ASSERT_EQ(0, getrusage(RUSAGE_THREAD, &after));
	EXPECT_GE(20, after.ru_nvcsw - before.ru_nvcsw);
	iou_exit(&r);
}

TEST_F(polled, write)
{
	static const int ops[] = { IORING_OP_WRITE, IORING_OP_WRITE_FIXED };
	unsigned int i, w, round;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	bool done = false;

	for (round = 0; round < 4; round++) {
		for (w = 0; w < ARRAY_LEN(ways); w++) {
			iou_fill(self->buf, AREA, 0, round);
			prep_blocks(r, ops[round % 2], self->fd, self->buf, ways[w]);
			ASSERT_EQ(BLOCKS, iou_submit(r));
			for (i = 0; i < BLOCKS; i++) {
				ASSERT_EQ(0, iou_reap(r, &cqe));
				done = cqe.res == BLOCK;
				/* before release 7 ext4 writes without polling */
				if (!done && (variant->polled ||
					      (variant->ext4 && !iou_kernel_from("7"))))
					ASSERT_EQ(BLOCK, cqe.res);
				if (!done)
					EXPECT_EQ(-EOPNOTSUPP, cqe.res);
			}
			if (!done)
				continue;
			memset(self->buf, 0, AREA);
			ASSERT_EQ(AREA, pread(self->fd, self->buf, AREA, 0));
			EXPECT_EQ(-1, iou_verify(self->buf, AREA, 0, round));
		}
	}
}

/*
 * A worker writes parts of old and new blocks, for which ext4 waits.  Mutant: worker-write-polled.
 * differences: iopoll-worker-write
 */
TEST(part_of_a_block)
{
	char dir[] = "/tmp/iopoll_test.XXXXXX", path[48];
	char *buf = iou_map_anon(2 * BLOCK);
	struct iou r;
	int fd, tries;

	if (null_create(7, true, "512"))
		SKIP(return, "needs null_blk and configfs");
	ASSERT_NE(NULL, mkdtemp(dir));
	if (mount_ext4("/dev/nullb7", dir))
		SKIP(return, "needs ext4 and mkfs.ext4");
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(BLOCK, pwrite(fd, buf, BLOCK, 0));
	ASSERT_EQ(0, posix_fallocate(fd, BLOCK, 2 * BLOCK));
	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_IOPOLL));
	iou_prep(&r, IORING_OP_WRITE, fd, buf, 2 * BLOCK, 512)->flags = IOSQE_ASYNC;
	EXPECT_EQ(2 * BLOCK, iou_one(&r));
	iou_exit(&r);
	close(fd);
	for (tries = 0; tries < 500 && umount(dir); tries++)
		iou_sleep_ms(10);
	rmdir(dir);
}

/* Write two parts of a sector to a file, each from another page.  Return: the result. */
static int write_parts(int fd, unsigned char *first, unsigned char *second)
{
	struct iovec iov[] = { { first, 256 }, { second, BLOCK - 256 } };
	struct iovec area = { first, AREA };
	struct iou r;
	int ret;

	ret = iou_init(&r, 4, 0) ?: iou_register(&r, IORING_REGISTER_BUFFERS, &area, 1);
	iou_prep(&r, IORING_OP_WRITEV_FIXED, fd, iov, 2, 0);
	ret = ret ?: iou_one(&r);
	iou_exit(&r);
	return ret;
}

/*
 * A RAM disk gets no part of a sector, of which it would lose the second.  Mutants:
 * vector-splits-file, vector-splits-disk.  differences: vector-split-sectors
 */
TEST(parts_of_a_sector)
{
	char dir[] = "/tmp/iopoll_test.XXXXXX", path[48] = "/dev/ram0";
	unsigned char *buf = iou_map_anon(AREA), *read = buf + 2 * BLOCK;
	int fd, ret, ext4;

	/* debugging kernels have such a disk; 6.12 has no WRITEV_FIXED */
	iou_touch(path);
	if (access(path, F_OK) || !iou_kernel_from("7"))
		return;
	iou_fill(buf, 2 * BLOCK, 0, SEED);
	for (ext4 = 0; ext4 < 2; ext4++) {
		if (ext4) {
			ASSERT_NE(NULL, mkdtemp(dir));
			ASSERT_EQ(0, mount_ext4(path, dir));
			snprintf(path, sizeof(path), "%s/file", dir);
		}
		fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
		ASSERT_LE(0, fd);
		ASSERT_EQ(BLOCK, pwrite(fd, read, BLOCK, 0));
		ret = write_parts(fd, buf, buf + BLOCK);
		if (ret != -EINVAL) {
			EXPECT_EQ(BLOCK, ret);
			ASSERT_EQ(BLOCK, pread(fd, read, BLOCK, 0));
			EXPECT_EQ(iou_on_stock(), memcmp(read, buf, 256) ||
				  memcmp(read + 256, buf + BLOCK, BLOCK - 256));
		}
		memset(read, 0, BLOCK);
		close(fd);
	}
	umount(dir);
	rmdir(dir);
}

/* The kernel polls at most the first extent of a READ that has several extents. */
TEST_F(polled, pieces_in_one)
{
	struct iou *r = &self->r;
	unsigned int w, round;
	int ret;

	for (round = 0; round < 8; round++) {
		for (w = 0; w < ARRAY_LEN(ways); w++) {
			memset(self->buf, 0, AREA);
			iou_prep(r, IORING_OP_READ, self->fd, self->buf, AREA, 0)->flags = ways[w];
			ret = iou_one(r);
			if (!variant->polled) {
				EXPECT_EQ(-EOPNOTSUPP, ret);
				continue;
			}
			ASSERT_EQ(AREA, ret);
			EXPECT_EQ(-1, iou_verify(self->buf, AREA, 0, SEED));
		}
	}
}

/*
 * A failed request breaks its chain, and has a CQE even with IOSQE_CQE_SKIP_SUCCESS, as on other
 * rings.  6.12 continues the chain, and posts no CQE.  Mutant: polled-failure-hidden.
 * differences: iopoll-failed-told
 */
TEST_F(polled, failure)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int op;

	if (iou_on_stock())
		SKIP(return, "6.12 does otherwise");
	for (op = IORING_OP_READ; op <= IORING_OP_WRITE; op++) {
		/* direct I/O refuses this unaligned memory */
		iou_prep(r, op, self->fd, self->buf + 1, BLOCK, 0)->flags = IOSQE_IO_LINK;
		iou_prep(r, IORING_OP_NOP, -1, NULL, 0, 0)->user_data = 1;
		ASSERT_EQ(2, iou_submit(r));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_GT(0, cqe.res);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(1, cqe.user_data);
		EXPECT_EQ(-ECANCELED, cqe.res);
		iou_prep(r, op, self->fd, self->buf + 1, BLOCK, 0)->flags =
			IOSQE_CQE_SKIP_SUCCESS;
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_GT(0, cqe.res);
	}
}

/*
 * IORING_UNREGISTER_BUFFERS returns only after the requests that use the buffers have ended.
 * differences: unregister-buffers-iopoll
 */
TEST_F(polled, unregister_buffers_waits)
{
	struct iou *r = &self->r;
	unsigned int w, i;

	if (iou_on_stock())
		SKIP(return, "6.12 does not poll while it waits, and waits for ever");
	for (w = 0; w < ARRAY_LEN(ways); w++) {
		struct iovec iov = { self->buf, AREA };

		prep_blocks(r, IORING_OP_READ_FIXED, self->fd, self->buf, ways[w]);
		ASSERT_EQ(BLOCKS, iou_submit(r));
		/* SQEs that an SQPOLL thread issues later find no buffer */
		ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
		if (!(variant->flags & IORING_SETUP_SQPOLL))
			EXPECT_EQ(BLOCKS, iou_ready(r));
		for (i = 0; i < BLOCKS; i++) {
			struct io_uring_cqe cqe;

			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_TRUE(cqe.res == (variant->polled ? BLOCK : -EOPNOTSUPP) ||
				    (cqe.res == -EFAULT &&
				     variant->flags & IORING_SETUP_SQPOLL));
		}
		ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1));
	}
}

TEST_HARNESS_MAIN
