// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: every operation on files - reads, writes, sync, allocation */
#include <linux/falloc.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include "iou_test.h"

#define FILE_SIZE	(256 * 1024)
#define SEED		7
/* slots of the file table that the fixture registers */
#define SLOT_FILE	3
#define SLOTS		8
#define BUF_SIZE	(FILE_SIZE + IOU_PAGE)

/*
 * Each test has a file with a pattern, and a buffer.  The file is also registered in slot
 * SLOT_FILE, and the buffer as buffer 1.  Buffer 0 is another page.
 */
FIXTURE(rw) {
	struct iou r;
	int fd;
	unsigned char *buf;
	unsigned char *page;
};

FIXTURE_VARIANT(rw) {
	unsigned int flags;
	bool disk;		/* a file on a disk, where IOU_EXT4 is mounted */
};

IOU_KINDS(rw);

FIXTURE_VARIANT_ADD(rw, plain_disk) {
	.disk = true,
};

FIXTURE_VARIANT_ADD(rw, defer_disk) {
	.flags = IOU_DEFER, .disk = true,
};

FIXTURE_VARIANT_ADD(rw, sqpoll_disk) {
	.flags = IORING_SETUP_SQPOLL, .disk = true,
};

FIXTURE_SETUP(rw)
{
	int fds[SLOTS];
	struct iovec iov[2];

	self->r.fd = -1;
	self->fd = -1;
	if (variant->disk && !getenv("IOU_EXT4"))
		SKIP(return, "needs a file system on a disk in IOU_EXT4");
	memset(fds, 0xff, sizeof(fds));
	ASSERT_EQ(0, iou_init(&self->r, 32, variant->flags));
	self->fd = variant->disk ? iou_file_in(getenv("IOU_EXT4"), FILE_SIZE, SEED) :
		   iou_file(FILE_SIZE, SEED);
	ASSERT_LE(0, self->fd);
	fds[SLOT_FILE] = self->fd;
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, fds, SLOTS));
	self->buf = iou_map_anon(BUF_SIZE);
	self->page = iou_map_anon(IOU_PAGE);
	ASSERT_NE(NULL, self->buf);
	ASSERT_NE(NULL, self->page);
	iov[0] = (struct iovec){ self->page, IOU_PAGE };
	iov[1] = (struct iovec){ self->buf, BUF_SIZE };
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_BUFFERS, iov, 2));
}

FIXTURE_TEARDOWN(rw)
{
	iou_exit(&self->r);
	if (self->fd >= 0)
		close(self->fd);
	munmap(self->buf, BUF_SIZE);
	munmap(self->page, IOU_PAGE);
}

/* A way to access the file: the operation and the SQE flags. */
struct way {
	const char *name;
	int op;
	unsigned char flags;
};

static const struct way read_ways[] = {
	{ "read", IORING_OP_READ, 0 },
	{ "read async", IORING_OP_READ, IOSQE_ASYNC },
	{ "read slot", IORING_OP_READ, IOSQE_FIXED_FILE },
	{ "read slot async", IORING_OP_READ, IOSQE_FIXED_FILE | IOSQE_ASYNC },
	{ "readv", IORING_OP_READV, 0 },
	{ "readv async", IORING_OP_READV, IOSQE_ASYNC },
	{ "readv slot", IORING_OP_READV, IOSQE_FIXED_FILE },
	{ "readv slot async", IORING_OP_READV, IOSQE_FIXED_FILE | IOSQE_ASYNC },
	{ "fixed", IORING_OP_READ_FIXED, 0 },
	{ "fixed async", IORING_OP_READ_FIXED, IOSQE_ASYNC },
	{ "fixed slot", IORING_OP_READ_FIXED, IOSQE_FIXED_FILE },
	{ "fixed slot async", IORING_OP_READ_FIXED, IOSQE_FIXED_FILE | IOSQE_ASYNC },
	{ "fixed vector", IORING_OP_READV_FIXED, 0 },
	{ "fixed vector async", IORING_OP_READV_FIXED, IOSQE_ASYNC },
	{ "fixed vector slot", IORING_OP_READV_FIXED, IOSQE_FIXED_FILE },
	{ "fixed vector slot async", IORING_OP_READV_FIXED, IOSQE_FIXED_FILE | IOSQE_ASYNC },
};

static const struct way write_ways[] = {
	{ "write", IORING_OP_WRITE, 0 },
	{ "write async", IORING_OP_WRITE, IOSQE_ASYNC },
	{ "write slot", IORING_OP_WRITE, IOSQE_FIXED_FILE },
	{ "write slot async", IORING_OP_WRITE, IOSQE_FIXED_FILE | IOSQE_ASYNC },
	{ "writev", IORING_OP_WRITEV, 0 },
	{ "writev async", IORING_OP_WRITEV, IOSQE_ASYNC },
	{ "writev slot", IORING_OP_WRITEV, IOSQE_FIXED_FILE },
	{ "writev slot async", IORING_OP_WRITEV, IOSQE_FIXED_FILE | IOSQE_ASYNC },
	{ "fixed", IORING_OP_WRITE_FIXED, 0 },
	{ "fixed async", IORING_OP_WRITE_FIXED, IOSQE_ASYNC },
	{ "fixed slot", IORING_OP_WRITE_FIXED, IOSQE_FIXED_FILE },
	{ "fixed slot async", IORING_OP_WRITE_FIXED, IOSQE_FIXED_FILE | IOSQE_ASYNC },
	{ "fixed vector", IORING_OP_WRITEV_FIXED, 0 },
	{ "fixed vector async", IORING_OP_WRITEV_FIXED, IOSQE_ASYNC },
	{ "fixed vector slot", IORING_OP_WRITEV_FIXED, IOSQE_FIXED_FILE },
	{ "fixed vector slot async", IORING_OP_WRITEV_FIXED, IOSQE_FIXED_FILE | IOSQE_ASYNC },
};

/* Return: the number of ways that the kernel has; the vectors in a registered buffer are last. */
static unsigned int nr_ways(unsigned int nr)
{
	/* differences: none, 6.12 has no READV_FIXED and no WRITEV_FIXED */
	return iou_on_older_stock() ? nr - 4 : nr;
}

/* Return: true if the SQE has a vector. */
static bool has_vector(int op)
{
	return op == IORING_OP_READV || op == IORING_OP_WRITEV ||
	       op == IORING_OP_READV_FIXED || op == IORING_OP_WRITEV_FIXED;
}

/* Return: true if the data is in a registered buffer. */
static bool is_fixed(int op)
{
	return op == IORING_OP_READ_FIXED || op == IORING_OP_WRITE_FIXED ||
	       op == IORING_OP_READV_FIXED || op == IORING_OP_WRITEV_FIXED;
}

/* Prepare @way for @len bytes at @pos; @iov has to stay valid only until the submit. */
static struct io_uring_sqe *prep_way(struct iou *r, const struct way *way, int fd,
				     void *buf, unsigned int len,
				     unsigned long long pos, struct iovec *iov)
{
	struct io_uring_sqe *sqe;

	if (way->flags & IOSQE_FIXED_FILE)
		fd = SLOT_FILE;
	if (has_vector(way->op)) {
		/* an empty piece must not be in a registered buffer */
		bool one = len < 3 && is_fixed(way->op);

		iov[0] = (struct iovec){ buf, one ? len : len / 3 };
		iov[1] = (struct iovec){ buf + len / 3, len - len / 3 };
		sqe = iou_prep(r, way->op, fd, iov, one ? 1 : 2, pos);
	} else {
		sqe = iou_prep(r, way->op, fd, buf, len, pos);
	}
	if (!sqe)
		return NULL;
	sqe->flags = way->flags;
	if (is_fixed(way->op))
		sqe->buf_index = 1;
	return sqe;
}

static const unsigned int lengths[] = {
	1, 511, 4096, 4097, 65536 + 13, FILE_SIZE - 5,
};

TEST_F(rw, read)
{
	unsigned int w, i, pos = 5;
	struct iovec iov[2];
	int ret;

	for (w = 0; w < nr_ways(ARRAY_LEN(read_ways)); w++) {
		for (i = 0; i < ARRAY_LEN(lengths); i++) {
			unsigned int len = lengths[i];

			memset(self->buf, 0, BUF_SIZE);
			ASSERT_NE(NULL, prep_way(&self->r, &read_ways[w], self->fd,
						 self->buf + i, len, pos, iov));
			ret = iou_one(&self->r);
			ASSERT_EQ(len, ret) {
				TH_LOG("%s", read_ways[w].name);
			}
			ASSERT_EQ(-1, iou_verify(self->buf + i, len, pos, SEED)) {
				TH_LOG("%s of %u", read_ways[w].name, len);
			}
			ASSERT_EQ(0, self->buf[i + len]);
		}
	}
}

TEST_F(rw, write)
{
	unsigned char *back = iou_map_anon(BUF_SIZE);
	unsigned int w, i, pos = 5;
	struct iovec iov[2];
	int ret;

	ASSERT_NE(NULL, back);
	for (w = 0; w < nr_ways(ARRAY_LEN(write_ways)); w++) {
		for (i = 0; i < ARRAY_LEN(lengths); i++) {
			unsigned int len = lengths[i], seed = w * 16 + i;

			iou_fill(self->buf + i, len, pos, seed);
			ASSERT_NE(NULL, prep_way(&self->r, &write_ways[w], self->fd,
						 self->buf + i, len, pos, iov));
			ret = iou_one(&self->r);
			ASSERT_EQ(len, ret) {
				TH_LOG("%s", write_ways[w].name);
			}
			ASSERT_EQ(len, pread(self->fd, back, len, pos));
			ASSERT_EQ(-1, iou_verify(back, len, pos, seed)) {
				TH_LOG("%s of %u", write_ways[w].name, len);
			}
		}
	}
	munmap(back, BUF_SIZE);
}

/* Submit 32 requests at once, each for its own part; user_data tells the results apart. */
TEST_F(rw, many_at_once)
{
	const unsigned int piece = 4096, nr = 32;
	unsigned int w, i, seen;
	struct iovec iov[32][2];
	struct io_uring_cqe cqe;

	for (w = 0; w < nr_ways(ARRAY_LEN(read_ways)); w++) {
		memset(self->buf, 0, BUF_SIZE);
		for (i = 0; i < nr; i++) {
			unsigned int at = (i * 7 % nr) * piece;

			prep_way(&self->r, &read_ways[w], self->fd, self->buf + at,
				 piece, at, iov[i])->user_data = i;
		}
		ASSERT_EQ(nr, iou_submit_wait(&self->r, nr));
		for (i = 0, seen = 0; i < nr; i++) {
			ASSERT_EQ(0, iou_reap(&self->r, &cqe));
			ASSERT_EQ(piece, cqe.res);
			ASSERT_LT(cqe.user_data, nr);
			seen |= 1U << cqe.user_data;
		}
		EXPECT_EQ(~0U, seen);
		EXPECT_EQ(-1, iou_verify(self->buf, nr * piece, 0, SEED));
	}
}

/* If the file is on a disk, the page cache is empty, so reads of each way wait for the disk. */
TEST_F(rw, cold)
{
	const unsigned int piece = FILE_SIZE / 32, nr = 32;
	struct iovec iov[32][2];
	struct io_uring_cqe cqe;
	unsigned int w, i;

	for (w = 0; w < nr_ways(ARRAY_LEN(read_ways)); w++) {
		ASSERT_EQ(0, fsync(self->fd));
		ASSERT_EQ(0, posix_fadvise(self->fd, 0, 0, POSIX_FADV_DONTNEED));
		memset(self->buf, 0, BUF_SIZE);
		for (i = 0; i < nr; i++) {
			unsigned int at = (i * 11 % nr) * piece;

			prep_way(&self->r, &read_ways[w], self->fd, self->buf + at,
				 piece, at, iov[i]);
		}
		ASSERT_EQ(nr, iou_submit_wait(&self->r, nr));
		for (i = 0; i < nr; i++) {
			ASSERT_EQ(0, iou_reap(&self->r, &cqe));
			ASSERT_EQ(piece, cqe.res) {
				TH_LOG("%s", read_ways[w].name);
			}
		}
		ASSERT_EQ(-1, iou_verify(self->buf, FILE_SIZE, 0, SEED)) {
			TH_LOG("%s", read_ways[w].name);
		}
		/* one long read, half of which is in the page cache */
		ASSERT_EQ(0, posix_fadvise(self->fd, FILE_SIZE / 2, 0,
					   POSIX_FADV_DONTNEED));
		memset(self->buf, 0, BUF_SIZE);
		prep_way(&self->r, &read_ways[w], self->fd, self->buf, FILE_SIZE, 0,
			 iov[0]);
		ASSERT_EQ(FILE_SIZE, iou_one(&self->r)) {
			TH_LOG("%s", read_ways[w].name);
		}
		ASSERT_EQ(-1, iou_verify(self->buf, FILE_SIZE, 0, SEED));
	}
}

/* A program may reuse the memory that an SQE points to once the SQE was submitted. */
TEST_F(rw, iovec_is_free_after_submit)
{
	static const unsigned char flags[] = { 0, IOSQE_ASYNC };
	struct iovec iov[2];
	unsigned int i;
	int pipefd[2];

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the thread takes the SQE at an unknown time");
	ASSERT_EQ(0, pipe(pipefd));
	for (i = 0; i < ARRAY_LEN(flags); i++) {
		memset(self->buf, 0, 64);
		iov[0] = (struct iovec){ self->buf, 3 };
		iov[1] = (struct iovec){ self->buf + 8, 5 };
		iou_prep(&self->r, IORING_OP_READV, pipefd[0], iov, 2, 0)->flags =
			flags[i];
		ASSERT_EQ(1, iou_submit(&self->r));
		memset(iov, 0xff, sizeof(iov));
		ASSERT_EQ(8, write(pipefd[1], "abcdefgh", 8));
		ASSERT_EQ(0, iou_wait(&self->r, 1));
		EXPECT_EQ(8, iou_cqe_at(&self->r, 0)->res);
		iou_seen(&self->r, 1);
		EXPECT_EQ(0, memcmp(self->buf, "abc\0\0\0\0\0defgh", 13));
	}
	close(pipefd[0]);
	close(pipefd[1]);
}

TEST_F(rw, end_of_file)
{
	struct iovec iov[2];
	unsigned int w;

	for (w = 0; w < nr_ways(ARRAY_LEN(read_ways)); w++) {
		prep_way(&self->r, &read_ways[w], self->fd, self->buf, 4096,
			 FILE_SIZE - 100, iov);
		EXPECT_EQ(100, iou_one(&self->r)) {
			TH_LOG("%s", read_ways[w].name);
		}
		EXPECT_EQ(-1, iou_verify(self->buf, 100, FILE_SIZE - 100, SEED));
		prep_way(&self->r, &read_ways[w], self->fd, self->buf, 4096,
			 FILE_SIZE, iov);
		EXPECT_EQ(0, iou_one(&self->r));
		prep_way(&self->r, &read_ways[w], self->fd, self->buf, 4096,
			 1ULL << 40, iov);
		EXPECT_EQ(0, iou_one(&self->r));
	}
}

/* With the offset -1, a request uses and moves the file's own position. */
TEST_F(rw, current_position)
{
	struct iovec iov[2];
	unsigned int w, pos;

	for (w = 0; w < nr_ways(ARRAY_LEN(read_ways)); w++) {
		ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
		for (pos = 0; pos < 5 * 1000; pos += 1000) {
			prep_way(&self->r, &read_ways[w], self->fd, self->buf, 1000,
				 -1ULL, iov);
			ASSERT_EQ(1000, iou_one(&self->r)) {
				TH_LOG("%s", read_ways[w].name);
			}
			ASSERT_EQ(-1, iou_verify(self->buf, 1000, pos, SEED));
		}
		EXPECT_EQ(pos, lseek(self->fd, 0, SEEK_CUR));
		/* a request with an offset does not change the file's position */
		prep_way(&self->r, &read_ways[w], self->fd, self->buf, 1000, 0, iov);
		EXPECT_EQ(1000, iou_one(&self->r));
		EXPECT_EQ(pos, lseek(self->fd, 0, SEEK_CUR));
	}
	for (w = 0; w < nr_ways(ARRAY_LEN(write_ways)); w++) {
		ASSERT_EQ(100, lseek(self->fd, 100, SEEK_SET));
		prep_way(&self->r, &write_ways[w], self->fd, self->buf, 50, -1ULL,
			 iov);
		EXPECT_EQ(50, iou_one(&self->r));
		EXPECT_EQ(150, lseek(self->fd, 0, SEEK_CUR));
	}
}

#define IN_FLIGHT	16
#define SHARE		(FILE_SIZE / IN_FLIGHT)

/* Return: the share of the file that is in @buf, -1 if @buf has no complete share. */
static int share_in(const unsigned char *buf)
{
	int i;

	for (i = 0; i < IN_FLIGHT; i++) {
		if (iou_verify(buf, SHARE, i * SHARE, SEED) == -1)
			return i;
	}
	return -1;
}

/* Submit IN_FLIGHT requests at the current position.  Return: how many have moved their share. */
static int submit_shares(struct iou *r, const struct way *way, int fd, unsigned char *buf,
			 unsigned char flags)
{
	struct iovec iov[IN_FLIGHT][2];
	struct io_uring_cqe cqe;
	int i, whole = 0;

	for (i = 0; i < IN_FLIGHT; i++)
		prep_way(r, way, fd, buf + i * SHARE, SHARE, -1ULL, iov[i])->flags |=
			i == IN_FLIGHT - 1 ? 0 : flags;
	if (iou_submit(r) != IN_FLIGHT)
		return -1;
	for (i = 0; i < IN_FLIGHT; i++) {
		if (iou_reap(r, &cqe))
			return -1;
		whole += cqe.res == SHARE;
	}
	return whole;
}

/*
 * Several requests at the current position are in flight.  Each continues at the position
 * where the previous request has ended, in any context.  differences: position-in-turn
 */
TEST_F(rw, positions_in_flight)
{
	static const unsigned char links[] = { 0, IOSQE_IO_LINK };
	unsigned int w, k, i;

	for (w = 0; w < 2 * nr_ways(ARRAY_LEN(write_ways)); w++) {
		bool writes = w % 2;
		const struct way *way = (writes ? write_ways : read_ways) + w / 2;

		/* workers of 6.12 read from one position concurrently */
		if (iou_on_stock() && way->flags & IOSQE_ASYNC && !writes)
			continue;
		for (k = 0; k < ARRAY_LEN(links); k++) {
			unsigned int there = 0;

			memset(self->buf, 0, FILE_SIZE);
			if (writes) {
				ASSERT_EQ(0, ftruncate(self->fd, 0));
				iou_fill(self->buf, FILE_SIZE, 0, SEED);
			}
			ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
			ASSERT_EQ(IN_FLIGHT, submit_shares(&self->r, way, self->fd, self->buf,
							   links[k])) {
				TH_LOG("%s, link %x", way->name, links[k]);
			}
			EXPECT_EQ(FILE_SIZE, lseek(self->fd, 0, SEEK_CUR));
			if (writes)
				ASSERT_EQ(FILE_SIZE, pread(self->fd, self->buf, FILE_SIZE, 0));
			for (i = 0; i < IN_FLIGHT; i++)
				there |= 1U << (share_in(self->buf + i * SHARE) & 31);
			ASSERT_EQ((1U << IN_FLIGHT) - 1, there) {
				TH_LOG("%s, link %x", way->name, links[k]);
			}
		}
	}
}

/*
 * Workers wait for direct I/O at the current position, although direct I/O itself need not wait.
 * differences: position-in-turn
 */
TEST_F(rw, direct_positions_in_flight)
{
	const struct way write = { "write", IORING_OP_WRITE, IOSQE_ASYNC };
	const struct way read = { "read", IORING_OP_READ, IOSQE_ASYNC };
	unsigned int there = 0, i;
	char path[32];
	int fd;

	/* 6.12 transfers 2 of 16 shares */
	if (iou_on_stock())
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	fd = open(path, O_RDWR | O_DIRECT);
	ASSERT_LE(0, fd);
	EXPECT_EQ(IN_FLIGHT, submit_shares(&self->r, &read, fd, self->buf, 0));
	EXPECT_EQ(FILE_SIZE, lseek(fd, 0, SEEK_CUR));
	for (i = 0; i < IN_FLIGHT; i++)
		there |= 1U << (share_in(self->buf + i * SHARE) & 31);
	EXPECT_EQ((1U << IN_FLIGHT) - 1, there);
	ASSERT_EQ(0, lseek(fd, 0, SEEK_SET));
	for (i = 0; i < IN_FLIGHT; i++)
		memset(self->buf + i * SHARE, 'a' + i, SHARE);
	EXPECT_EQ(IN_FLIGHT, submit_shares(&self->r, &write, fd, self->buf, 0));
	EXPECT_EQ(FILE_SIZE, lseek(fd, 0, SEEK_CUR));
	for (there = 0, i = 0; i < IN_FLIGHT; i++) {
		ASSERT_EQ(SHARE, pread(fd, self->buf, SHARE, i * SHARE));
		there |= 1U << (self->buf[0] - 'a');
	}
	EXPECT_EQ((1U << IN_FLIGHT) - 1, there);
	close(fd);
}

/*
 * Direct writes over blocks that a file has need no worker.  From 7.3 on ext4 may block when it
 * updates the time of the file, so a write of the same tick comes first, and the test ends with
 * the tick.  Mutant: direct-write-by-worker.
 */
TEST_F(rw, direct_writes_need_no_worker)
{
	struct timespec before, after;
	char path[32];
	int fd, i;

	/* other file systems may block */
	if (!variant->disk)
		return;
	ASSERT_EQ(0, fsync(self->fd));
	/* pages in the cache would have to be dropped first */
	ASSERT_EQ(0, posix_fadvise(self->fd, 0, 0, POSIX_FADV_DONTNEED));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	fd = open(path, O_RDWR | O_DIRECT);
	ASSERT_LE(0, fd);
	for (i = 0; i < 4; i++) {
		iou_prep(&self->r, IORING_OP_WRITE, fd, self->buf, IOU_PAGE, i * IOU_PAGE);
		clock_gettime(CLOCK_REALTIME_COARSE, &before);
		ASSERT_EQ(IOU_PAGE, pwrite(fd, self->buf, IOU_PAGE, i * IOU_PAGE));
		EXPECT_EQ(IOU_PAGE, iou_one(&self->r));
		clock_gettime(CLOCK_REALTIME_COARSE, &after);
		if (memcmp(&before, &after, sizeof(before)))
			break;
		EXPECT_EQ(0, iou_threads(getpid(), "iou-wrk"));
	}
	close(fd);
}

/* Flags that requests handle as preadv2() and pwritev2() do, except RWF_HIPRI. */
static const int rwf_rows[] = {
	0, RWF_DSYNC, RWF_SYNC, RWF_APPEND, RWF_HIPRI, RWF_NOWAIT,
	RWF_DSYNC | RWF_SYNC, RWF_APPEND | RWF_DSYNC, RWF_APPEND | 0x20, 0x20,
	0x40, 0x80, 0x40000000,
};

TEST_F(rw, rwf_flags_like_the_system_call)
{
	struct iovec one = { self->buf, 512 };
	unsigned int i, w;
	struct iovec iov[2];
	int ret, want;

	for (i = 0; i < ARRAY_LEN(rwf_rows); i++) {
		int rwf = rwf_rows[i];

		/* only IORING_SETUP_IOPOLL enables polling */
		want = iou_ret(preadv2(self->fd, &one, 1, 0, rwf));
		if (rwf & RWF_HIPRI)
			want = -EINVAL;
		for (w = 0; w < nr_ways(ARRAY_LEN(read_ways)); w += 4) {
			prep_way(&self->r, &read_ways[w], self->fd, self->buf, 512, 0,
				 iov)->rw_flags = rwf;
			ret = iou_one(&self->r);
			EXPECT_EQ(want, ret) {
				TH_LOG("%s, flags %x", read_ways[w].name, rwf);
			}
		}
		want = iou_ret(pwritev2(self->fd, &one, 1, 0, rwf));
		if (rwf & RWF_HIPRI)
			want = -EINVAL;
		/* a write to a file system on a disk would block, so it returns -EAGAIN */
		if (rwf & RWF_NOWAIT && variant->disk)
			want = -EAGAIN;
		for (w = 0; w < nr_ways(ARRAY_LEN(write_ways)); w += 4) {
			prep_way(&self->r, &write_ways[w], self->fd, self->buf, 512, 0,
				 iov)->rw_flags = rwf;
			ret = iou_one(&self->r);
			EXPECT_EQ(want, ret) {
				TH_LOG("%s, flags %x", write_ways[w].name, rwf);
			}
		}
	}
}

TEST_F(rw, append)
{
	unsigned int i, w;
	struct iovec iov[2];
	unsigned char back[64];

	for (w = 0; w < nr_ways(ARRAY_LEN(write_ways)); w++) {
		memset(self->buf, 'a' + w, 64);
		prep_way(&self->r, &write_ways[w], self->fd, self->buf, 64, 0,
			 iov)->rw_flags = RWF_APPEND;
		ASSERT_EQ(64, iou_one(&self->r));
	}
	EXPECT_EQ(FILE_SIZE + 64 * nr_ways(ARRAY_LEN(write_ways)),
		  lseek(self->fd, 0, SEEK_END));
	for (w = 0; w < nr_ways(ARRAY_LEN(write_ways)); w++) {
		ASSERT_EQ(64, pread(self->fd, back, 64, FILE_SIZE + 64 * w));
		for (i = 0; i < 64; i++)
			ASSERT_EQ('a' + w, back[i]);
	}
	ASSERT_EQ(FILE_SIZE, pread(self->fd, self->buf, FILE_SIZE, 0));
	EXPECT_EQ(-1, iou_verify(self->buf, FILE_SIZE, 0, SEED));
}

TEST_F(rw, iovec_shapes)
{
	struct iovec *iov = calloc(1025, sizeof(*iov));
	struct iou *r = &self->r;
	unsigned int i;

	ASSERT_NE(NULL, iov);
	for (i = 0; i < 1025; i++)
		iov[i] = (struct iovec){ self->buf + i * 16, 16 };
	iou_prep(r, IORING_OP_READV, self->fd, iov, 1024, 0);
	EXPECT_EQ(1024 * 16, iou_one(r));
	EXPECT_EQ(-1, iou_verify(self->buf, 1024 * 16, 0, SEED));
	iou_prep(r, IORING_OP_READV, self->fd, iov, 1024, 0)->flags = IOSQE_ASYNC;
	EXPECT_EQ(1024 * 16, iou_one(r));
	iou_prep(r, IORING_OP_READV, self->fd, iov, 1025, 0);
	EXPECT_EQ(-EINVAL, iou_one(r));
	iou_prep(r, IORING_OP_READV, self->fd, iov, 0, 0);
	EXPECT_EQ(0, iou_one(r));
	iou_prep(r, IORING_OP_READV, self->fd, NULL, 0, 0);
	EXPECT_EQ(0, iou_one(r));
	iou_prep(r, IORING_OP_READV, self->fd, NULL, 1, 0);
	EXPECT_EQ(-EFAULT, iou_one(r));
	iov[1].iov_len = 0;
	iou_prep(r, IORING_OP_READV, self->fd, iov, 3, 0);
	EXPECT_EQ(32, iou_one(r));
	iov[1] = (struct iovec){ (void *)8, 16 };
	iou_prep(r, IORING_OP_READV, self->fd, iov, 3, 0);
	EXPECT_EQ(16, iou_one(r));
	iov[1].iov_len = -1UL;
	iou_prep(r, IORING_OP_READV, self->fd, iov, 3, 0);
	EXPECT_EQ(-EINVAL, iou_one(r));
	free(iov);
}

static const unsigned char both_flags[] = { 0, IOSQE_ASYNC };

/* Read or write at offset @off by a vector in registered buffer 1.  Return: the result. */
static int move_vec(struct iou *r, int op, int fd, const struct iovec *iov, unsigned int nr,
		    unsigned long long off, unsigned char flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, fd, (void *)iov, nr, off);

	sqe->buf_index = 1;
	sqe->flags = flags;
	return iou_one(r);
}

/* Fill @iov with @nr pieces of the buffer that do not overlap, in any order.  Return: bytes. */
static unsigned int scatter(unsigned char *buf, struct iovec *iov, unsigned int nr,
			    unsigned int *state)
{
	unsigned int i, k, room = BUF_SIZE / nr, total = 0;
	struct iovec swap;

	for (i = 0; i < nr; i++) {
		unsigned int skip, len;

		*state = *state * 1103515245 + 12345;
		skip = (*state >> 8) % room;
		*state = *state * 1103515245 + 12345;
		len = (*state >> 8) % (room - skip) + 1;
		iov[i] = (struct iovec){ buf + i * room + skip, len };
		total += len;
	}
	for (i = nr - 1; i; i--) {
		*state = *state * 1103515245 + 12345;
		k = (*state >> 8) % (i + 1);
		swap = iov[i];
		iov[i] = iov[k];
		iov[k] = swap;
	}
	return total;
}

/*
 * The pieces of a vector in a registered buffer have any sizes and alignments.  A read fills these
 * bytes and no others.
 * Mutants: parts-first-only, parts-from-page.
 */
TEST_F(rw, vector_in_a_buffer)
{
	static const unsigned int nrs[] = { 1, 2, 3, 7, 64, 1024 };
	unsigned int i, k, round, total, at, state = 1;
	struct iovec *iov = calloc(1024, sizeof(*iov));
	unsigned char *back = malloc(BUF_SIZE);
	struct iou *r = &self->r;

	/* differences: none, 6.12 has no READV_FIXED */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_READV_FIXED");
	for (round = 0; round < 4 * ARRAY_LEN(nrs); round++) {
		unsigned int nr = nrs[round % ARRAY_LEN(nrs)];
		unsigned char flags = both_flags[round / ARRAY_LEN(nrs) % 2];

		total = scatter(self->buf, iov, nr, &state);
		if (total > FILE_SIZE - 9)
			continue;
		memset(self->buf, 0xee, BUF_SIZE);
		ASSERT_EQ(total, move_vec(r, IORING_OP_READV_FIXED, self->fd, iov, nr, 9, flags));
		for (i = 0, at = 9; i < nr; at += iov[i++].iov_len) {
			ASSERT_EQ(-1, iou_verify(iov[i].iov_base, iov[i].iov_len, at, SEED)) {
				TH_LOG("piece %u of %u", i, nr);
			}
			memset(iov[i].iov_base, 0xee, iov[i].iov_len);
		}
		for (i = 0; i < BUF_SIZE; i++)
			ASSERT_EQ(0xee, self->buf[i]);
		/* write the pieces, each of which has a byte of its own */
		for (i = 0; i < nr; i++)
			memset(iov[i].iov_base, i, iov[i].iov_len);
		ASSERT_EQ(total, move_vec(r, IORING_OP_WRITEV_FIXED, self->fd, iov, nr, 9, flags));
		ASSERT_EQ(total, pread(self->fd, back, total, 9));
		for (i = 0, at = 0; i < nr; at += iov[i++].iov_len)
			for (k = 0; k < iov[i].iov_len; k++)
				ASSERT_EQ((unsigned char)i, back[at + k]);
		iou_fill(back, FILE_SIZE, 0, SEED);
		ASSERT_EQ(FILE_SIZE, pwrite(self->fd, back, FILE_SIZE, 0));
	}
	/* pieces may overlap: the last one wins */
	iov[0] = (struct iovec){ self->buf, 100 };
	iov[1] = (struct iovec){ self->buf + 50, 100 };
	ASSERT_EQ(200, move_vec(r, IORING_OP_READV_FIXED, self->fd, iov, 2, 0, 0));
	EXPECT_EQ(-1, iou_verify(self->buf, 50, 0, SEED));
	EXPECT_EQ(-1, iou_verify(self->buf + 50, 100, 100, SEED));
	free(back);
	free(iov);
}

/*
 * All pieces of a vector have to be in the one registered buffer, and none may be empty.
 * Mutants: parts-empty, parts-outside, vector-needs-no-buffer.
 */
TEST_F(rw, vector_beyond_a_buffer)
{
	unsigned char *end = self->buf + BUF_SIZE;
	struct iou *r = &self->r;
	struct iovec iov[1025];
	struct {
		struct iovec second;
		int ret;
	} rows[] = {
		{ { self->buf, 100 }, 116 },
		{ { self->buf, 0 }, -EFAULT },
		{ { NULL, 0 }, -EFAULT },
		{ { self->buf - 1, 2 }, -EFAULT },
		{ { end - 1, 1 }, 17 },
		{ { end - 1, 2 }, -EFAULT },
		{ { end, 1 }, -EFAULT },
		{ { end, 0 }, -EFAULT },
		{ { self->page, 16 }, -EFAULT },
		{ { IOU_KERNEL, 8192 }, -EFAULT },
		{ { self->buf, -1UL }, -EINVAL },
		{ { self->buf, (size_t)((1ULL << 32) + 16) }, sizeof(long) == 8 ? -EFAULT : 32 },
	};
	unsigned int i, k;
	static const int ops[] = { IORING_OP_READV_FIXED, IORING_OP_WRITEV_FIXED };

	/* differences: none, 6.12 has no READV_FIXED */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_READV_FIXED");
	for (i = 0; i < 4 * ARRAY_LEN(rows); i++) {
		unsigned char flags = both_flags[i & 1];
		int op = ops[i / 2 % 2];

		iov[0] = (struct iovec){ self->buf + 200, 16 };
		iov[1] = rows[i / 4].second;
		EXPECT_EQ(rows[i / 4].ret, move_vec(r, op, self->fd, iov, 2, 0, flags)) {
			TH_LOG("row %u, flags %x", i / 4, flags);
		}
		if (rows[i / 4].ret < 0) {
			EXPECT_EQ(rows[i / 4].ret, move_vec(r, op, self->fd, iov + 1, 1, 0, flags));
			iov[2] = iov[0];
			EXPECT_EQ(rows[i / 4].ret, move_vec(r, op, self->fd, iov + 1, 2, 0, flags));
		}
	}
	for (i = 0; i < ARRAY_LEN(iov); i++)
		iov[i] = (struct iovec){ self->buf + i * 16, 16 };
	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		struct io_uring_sqe *sqe;

		for (i = 0; i < 3; i++) {
			sqe = iou_prep(r, IORING_OP_READV_FIXED, self->fd, iov, 2, 0);
			sqe->buf_index = i ? 0xffff >> i : 0;
			sqe->flags = both_flags[k];
			EXPECT_EQ(-EFAULT, iou_one(r));
		}
		sqe = iou_prep(r, IORING_OP_READV_FIXED, self->fd, iov, 0, 0);
		sqe->buf_index = 2;
		sqe->flags = both_flags[k];
		EXPECT_EQ(-EFAULT, iou_one(r));
		EXPECT_EQ(1024 * 16, move_vec(r, IORING_OP_READV_FIXED, self->fd, iov, 1024, 0,
					      both_flags[k]));
		EXPECT_EQ(-EINVAL, move_vec(r, IORING_OP_READV_FIXED, self->fd, iov, 1025, 0,
					    both_flags[k]));
		EXPECT_EQ(0, move_vec(r, IORING_OP_READV_FIXED, self->fd, iov, 0, 0,
				      both_flags[k]));
		EXPECT_EQ(0, move_vec(r, IORING_OP_READV_FIXED, self->fd, NULL, 0, 0,
				      both_flags[k]));
		EXPECT_EQ(-EFAULT, move_vec(r, IORING_OP_READV_FIXED, self->fd, NULL, 1, 0,
					    both_flags[k]));
	}
}

/*
 * A vector that waits for a pipe is copied, and its buffer stays registered for it.  It ends with
 * the part that is there.
 */
TEST_F(rw, vector_waits)
{
	struct iovec iov[2] = { { self->buf + 7, 5 }, { self->buf + 4090, 20 } };
	struct iovec none = { NULL, 0 };
	struct io_uring_rsrc_update2 up = { .offset = 1, .nr = 1, .data = (uintptr_t)&none };
	struct io_uring_cqe cqe;
	struct iou *r = &self->r;
	int p[2], round;

	/* differences: none, 6.12 has no READV_FIXED */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_READV_FIXED");
	ASSERT_EQ(0, pipe(p));
	for (round = 0; round < 3; round++) {
		memset(self->buf, 0, 8192);
		iov[0] = (struct iovec){ self->buf + 7, 5 };
		iou_prep(r, IORING_OP_READV_FIXED, p[0], iov, 2, 0)->buf_index = 1;
		ASSERT_EQ(0, iou_submit_issued(r));
		iov[0] = (struct iovec){ self->buf + 100, 5 };
		if (round == 2)
			ASSERT_EQ(1, iou_register(r, IORING_REGISTER_BUFFERS_UPDATE, &up,
						  sizeof(up)));
		ASSERT_EQ(11, write(p[1], "hello world", 11));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(11, cqe.res);
		EXPECT_EQ(0, memcmp(self->buf + 7, "hello", 5));
		EXPECT_EQ(0, memcmp(self->buf + 4090, " world", 7));
		EXPECT_EQ(0, self->buf[100]);
	}
	close(p[0]);
	close(p[1]);
}

/*
 * Vectors of any lengths wait at the same time.  Each has its own parts, also if it uses memory that
 * earlier requests have left, and all parts cross pages.
 * Mutants: parts-shared, parts-too-few, parts-half-room.
 */
TEST_F(rw, vectors_wait_together)
{
	static const unsigned int nrs[] = { 2, 8, 9, 60, 61, 700 };
	static unsigned char data[2 * 700];
	struct iovec *iov = calloc(700, sizeof(*iov));
	int p[ARRAY_LEN(nrs)][2];
	struct iou *r = &self->r;
	unsigned int i, k, nr, round;
	struct io_uring_cqe cqe;

	/* differences: none, 6.12 has no READV_FIXED */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_READV_FIXED");
	ASSERT_NE(NULL, iov);
	for (i = 0; i < ARRAY_LEN(nrs); i++)
		ASSERT_EQ(0, pipe(p[i]));
	for (round = 0; round < 2 * ARRAY_LEN(nrs); round++) {
		for (k = 0; k < ARRAY_LEN(nrs); k++) {
			nr = nrs[(k + round) % ARRAY_LEN(nrs)];
			for (i = 0; i < nr; i++)
				iov[i] = (struct iovec){ self->buf + (k + 1) * IOU_PAGE - 1, 2 };
			iou_prep(r, IORING_OP_READV_FIXED, p[k][0], iov, nr, 0)->buf_index = 1;
			ASSERT_EQ(0, iou_submit_issued(r));
		}
		memset(self->buf, 0, BUF_SIZE);
		for (k = 0; k < ARRAY_LEN(nrs); k++) {
			unsigned char *end = self->buf + (k + 1) * IOU_PAGE + 1;

			nr = nrs[(k + round) % ARRAY_LEN(nrs)];
			memset(data, 0xee, 2 * nr);
			data[2 * nr - 2] = k + 1;
			data[2 * nr - 1] = round + 100;
			ASSERT_EQ(2 * nr, write(p[k][1], data, 2 * nr));
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(2 * (int)nr, cqe.res);
			EXPECT_EQ(k + 1, end[-2]);
			EXPECT_EQ(round + 100, end[-1]);
			memset(end - 2, 0, 2);
		}
		for (i = 0; i < BUF_SIZE; i++)
			ASSERT_EQ(0, self->buf[i]);
	}
	for (i = 0; i < ARRAY_LEN(nrs); i++) {
		close(p[i][0]);
		close(p[i][1]);
	}
	free(iov);
}

TEST_F(rw, bad_memory)
{
	char *hole = mmap(NULL, 2 * IOU_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iou *r = &self->r;
	unsigned int i;

	ASSERT_NE(MAP_FAILED, hole);
	ASSERT_EQ(0, munmap(hole + IOU_PAGE, IOU_PAGE));
	for (i = 0; i < ARRAY_LEN(both_flags); i++) {
		unsigned char flags = both_flags[i];

		iou_prep(r, IORING_OP_READ, self->fd, (void *)8, 100, 0)->flags =
			flags;
		EXPECT_EQ(-EFAULT, iou_one(r));
		iou_prep(r, IORING_OP_WRITE, self->fd, (void *)8, 100, 0)->flags =
			flags;
		EXPECT_EQ(-EFAULT, iou_one(r));
		iou_prep(r, IORING_OP_READ, self->fd, IOU_KERNEL, 100, 0)->flags =
			flags;
		EXPECT_EQ(-EFAULT, iou_one(r));
		/* the data that fits before the hole is read */
		iou_prep(r, IORING_OP_READ, self->fd, hole + IOU_PAGE - 50, 100,
			 0)->flags = flags;
		EXPECT_EQ(50, iou_one(r));
		EXPECT_EQ(-1, iou_verify(hole + IOU_PAGE - 50, 50, 0, SEED));
		iou_prep(r, IORING_OP_READ, self->fd, NULL, 0, 0)->flags = flags;
		EXPECT_EQ(0, iou_one(r));
	}
	munmap(hole, IOU_PAGE);
}

/*
 * The CQE's result and the change of the file's position agree, as for write(2) and read(2).
 * differences: position-after-fault
 */
TEST_F(rw, position_after_a_fault)
{
	char *hole = mmap(NULL, 2 * IOU_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const int ops[] = { IORING_OP_WRITE, IORING_OP_READ };
	struct iou *r = &self->r;
	unsigned int i, k;
	int ret;

	ASSERT_NE(MAP_FAILED, hole);
	memset(hole, 'h', IOU_PAGE);
	ASSERT_EQ(0, munmap(hole + IOU_PAGE, IOU_PAGE));
	for (k = 0; k < ARRAY_LEN(ops); k++) {
		for (i = 0; i < ARRAY_LEN(both_flags); i++) {
			ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
			iou_prep(r, ops[k], self->fd, hole, 2 * IOU_PAGE, -1)->flags =
				both_flags[i];
			ret = iou_one(r);
			EXPECT_EQ((int)IOU_PAGE, ret);
			/* 6.12 leaves the position unchanged */
			if (iou_on_stock())
				continue;
			EXPECT_EQ(ret, lseek(self->fd, 0, SEEK_CUR)) {
				TH_LOG("op %d, flags %x", ops[k], both_flags[i]);
			}
		}
	}
	munmap(hole, IOU_PAGE);
}

TEST_F(rw, bad_files)
{
	static const unsigned char ops[] = {
		IORING_OP_READ, IORING_OP_READV, IORING_OP_READ_FIXED,
		IORING_OP_WRITE, IORING_OP_WRITEV, IORING_OP_WRITE_FIXED,
		IORING_OP_FSYNC, IORING_OP_SYNC_FILE_RANGE, IORING_OP_FALLOCATE,
	};
	struct iovec iov = { self->buf, 16 };
	struct iou *r = &self->r;
	unsigned int i, k;
	void *mem;

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		for (k = 0; k < ARRAY_LEN(both_flags); k++) {
			bool vec = ops[i] == IORING_OP_READV ||
				   ops[i] == IORING_OP_WRITEV;

			mem = self->page;
			if (ops[i] == IORING_OP_FSYNC ||
			    ops[i] == IORING_OP_SYNC_FILE_RANGE)
				mem = NULL;
			if (vec)
				mem = &iov;
			iou_prep(r, ops[i], -1, mem, vec ? 1 : mem ? 16 : 0, 0)->flags =
				both_flags[k];
			EXPECT_EQ(-EBADF, iou_one(r)) {
				TH_LOG("op %d", ops[i]);
			}
			iou_prep(r, ops[i], SLOTS, mem, vec ? 1 : mem ? 16 : 0,
				 0)->flags = both_flags[k] | IOSQE_FIXED_FILE;
			EXPECT_EQ(-EBADF, iou_one(r)) {
				TH_LOG("op %d", ops[i]);
			}
			/* an empty slot */
			iou_prep(r, ops[i], 0, mem, vec ? 1 : mem ? 16 : 0, 0)->flags =
				both_flags[k] | IOSQE_FIXED_FILE;
			EXPECT_EQ(-EBADF, iou_one(r)) {
				TH_LOG("op %d", ops[i]);
			}
		}
	}
}

TEST_F(rw, wrong_direction)
{
	struct iou *r = &self->r;
	int rd = open("/proc/self/exe", O_RDONLY);
	int wr = open("/dev/null", O_WRONLY);
	int dir = open("/", O_RDONLY | O_DIRECTORY);
	int path = open("/", O_PATH);
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(both_flags); i++) {
		unsigned char flags = both_flags[i];

		iou_prep(r, IORING_OP_WRITE, rd, self->buf, 16, 0)->flags = flags;
		EXPECT_EQ(-EBADF, iou_one(r));
		iou_prep(r, IORING_OP_READ, wr, self->buf, 16, 0)->flags = flags;
		EXPECT_EQ(-EBADF, iou_one(r));
		iou_prep(r, IORING_OP_READ, path, self->buf, 16, 0)->flags = flags;
		EXPECT_EQ(-EBADF, iou_one(r));
		iou_prep(r, IORING_OP_READ, dir, self->buf, 16, 0)->flags = flags;
		EXPECT_EQ(-EISDIR, iou_one(r));
	}
	close(rd);
	close(wr);
	close(dir);
	close(path);
}

TEST_F(rw, fixed_buffer_bounds)
{
	struct iou *r = &self->r;
	struct {
		unsigned int index;
		void *addr;
		unsigned int len;
		int ret;
	} rows[] = {
		{ 1, self->buf, BUF_SIZE, FILE_SIZE },
		{ 1, self->buf + BUF_SIZE - 1, 1, 1 },
		{ 1, self->buf + BUF_SIZE - 1, 2, -EFAULT },
		{ 1, self->buf - 1, 2, -EFAULT },
		{ 1, self->buf + BUF_SIZE, 1, -EFAULT },
		{ 0, self->page, IOU_PAGE, IOU_PAGE },
		{ 0, self->buf, 16, -EFAULT },
		{ 2, self->buf, 16, -EFAULT },
		{ 0xffff, self->buf, 16, -EFAULT },
		{ 1, IOU_KERNEL, 8192, -EFAULT },
		{ 1, self->buf, ~0U, -EFAULT },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		for (k = 0; k < ARRAY_LEN(both_flags); k++) {
			struct io_uring_sqe *sqe;

			sqe = iou_prep(r, IORING_OP_READ_FIXED, self->fd, rows[i].addr,
				       rows[i].len, 0);
			sqe->buf_index = rows[i].index;
			sqe->flags = both_flags[k];
			EXPECT_EQ(rows[i].ret, iou_one(r)) {
				TH_LOG("row %u", i);
			}
		}
	}
}

TEST_F(rw, sync)
{
	struct iou *r = &self->r;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(both_flags); i++) {
		unsigned char flags = both_flags[i];

		iou_prep(r, IORING_OP_FSYNC, self->fd, NULL, 0, 0)->flags = flags;
		EXPECT_EQ(0, iou_one(r));
		iou_prep(r, IORING_OP_FSYNC, self->fd, NULL, 4096, 100)->flags = flags;
		EXPECT_EQ(0, iou_one(r));
		iou_prep(r, IORING_OP_FSYNC, self->fd, NULL, 0, 0)->fsync_flags =
			IORING_FSYNC_DATASYNC;
		EXPECT_EQ(0, iou_one(r));
		iou_prep(r, IORING_OP_FSYNC, self->fd, NULL, 0, 0)->fsync_flags = 2;
		EXPECT_EQ(-EINVAL, iou_one(r));
		iou_prep(r, IORING_OP_FSYNC, SLOT_FILE, NULL, 0, 0)->flags =
			flags | IOSQE_FIXED_FILE;
		EXPECT_EQ(0, iou_one(r));
		iou_prep(r, IORING_OP_SYNC_FILE_RANGE, self->fd, NULL, 8192,
			 4096)->flags = flags;
		EXPECT_EQ(0, iou_one(r));
		iou_prep(r, IORING_OP_SYNC_FILE_RANGE, self->fd, NULL, 0,
			 0)->sync_range_flags = SYNC_FILE_RANGE_WRITE;
		EXPECT_EQ(0, iou_one(r));
		iou_prep(r, IORING_OP_SYNC_FILE_RANGE, self->fd, NULL, 0,
			 0)->sync_range_flags = 8;
		EXPECT_EQ(-EINVAL, iou_one(r));
		iou_prep(r, IORING_OP_SYNC_FILE_RANGE, SLOT_FILE, NULL, 0, 0)->flags =
			flags | IOSQE_FIXED_FILE;
		EXPECT_EQ(0, iou_one(r));
	}
}

/* FALLOCATE takes the length from addr, and the mode from len. */
TEST_F(rw, allocate)
{
	struct iou *r = &self->r;
	unsigned int i, w;

	for (i = 0; i < 4; i++) {
		unsigned char flags = i & 1 ? IOSQE_ASYNC : 0;
		int fd = i & 2 ? SLOT_FILE : self->fd;

		if (i & 2)
			flags |= IOSQE_FIXED_FILE;
		ASSERT_EQ(0, ftruncate(self->fd, FILE_SIZE));
		iou_prep(r, IORING_OP_FALLOCATE, fd, (void *)8192UL, 0,
			 FILE_SIZE)->flags = flags;
		ASSERT_EQ(0, iou_one(r));
		EXPECT_EQ(FILE_SIZE + 8192, lseek(self->fd, 0, SEEK_END));
		iou_prep(r, IORING_OP_FALLOCATE, fd, (void *)8192UL,
			 FALLOC_FL_KEEP_SIZE, FILE_SIZE + 8192)->flags = flags;
		ASSERT_EQ(0, iou_one(r));
		EXPECT_EQ(FILE_SIZE + 8192, lseek(self->fd, 0, SEEK_END));
		iou_prep(r, IORING_OP_FALLOCATE, fd, (void *)4096UL,
			 FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 4096)->flags =
			flags;
		ASSERT_EQ(0, iou_one(r));
		memset(self->buf, 1, 4096);
		ASSERT_EQ(4096, pread(self->fd, self->buf, 4096, 4096));
		for (w = 0; w < 4096; w++)
			ASSERT_EQ(0, self->buf[w]);
		iou_prep(r, IORING_OP_FALLOCATE, fd, NULL, 0, 0)->flags = flags;
		EXPECT_EQ(-EINVAL, iou_one(r));
		iou_prep(r, IORING_OP_FALLOCATE, fd, (void *)1UL, 0x8000,
			 0)->flags = flags;
		EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	}
}

TEST_F(rw, files_update)
{
	struct iou *r = &self->r;
	int fds[3] = { -1, -1, -1 };
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(both_flags); i++) {
		unsigned char flags = both_flags[i];

		fds[0] = self->fd;
		fds[1] = self->fd;
		iou_prep(r, IORING_OP_FILES_UPDATE, -1, fds, 3, 4)->flags = flags;
		EXPECT_EQ(3, iou_one(r));
		sqe = iou_prep(r, IORING_OP_READ, 5, self->buf, 100, 0);
		sqe->flags = IOSQE_FIXED_FILE;
		EXPECT_EQ(100, iou_one(r));
		sqe = iou_prep(r, IORING_OP_READ, 6, self->buf, 100, 0);
		sqe->flags = IOSQE_FIXED_FILE;
		EXPECT_EQ(-EBADF, iou_one(r));
		/* use any free slots; the array returns their numbers */
		fds[0] = self->fd;
		fds[1] = self->fd;
		iou_prep(r, IORING_OP_FILES_UPDATE, -1, fds, 2,
			 IORING_FILE_INDEX_ALLOC)->flags = flags;
		EXPECT_EQ(2, iou_one(r));
		EXPECT_NE(fds[0], fds[1]);
		EXPECT_TRUE(fds[0] >= 0 && fds[0] < SLOTS);
		sqe = iou_prep(r, IORING_OP_READ, fds[1], self->buf, 100, 0);
		sqe->flags = IOSQE_FIXED_FILE;
		EXPECT_EQ(100, iou_one(r));
		memset(fds, 0xff, sizeof(fds));
		for (int slot = 0; slot < SLOTS; slot++) {
			if (slot == SLOT_FILE)
				continue;
			iou_prep(r, IORING_OP_FILES_UPDATE, -1, fds, 1, slot);
			EXPECT_EQ(1, iou_one(r));
		}
		iou_prep(r, IORING_OP_FILES_UPDATE, -1, fds, 2, SLOTS - 1);
		EXPECT_EQ(-EINVAL, iou_one(r));
		iou_prep(r, IORING_OP_FILES_UPDATE, -1, fds, 0, 0);
		EXPECT_EQ(-EINVAL, iou_one(r));
		iou_prep(r, IORING_OP_FILES_UPDATE, -1, (void *)8, 1, 0);
		EXPECT_EQ(-EFAULT, iou_one(r));
	}
}

TEST_F(rw, nop)
{
	struct iou *r = &self->r;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(both_flags); i++) {
		struct io_uring_sqe *sqe = iou_nop(r, 0x1234567890abcdefULL);

		sqe->flags = both_flags[i];
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(0, iou_wait(r, 1));
		EXPECT_EQ(0x1234567890abcdefULL, iou_cqe_at(r, 0)->user_data);
		EXPECT_EQ(0, iou_cqe_at(r, 0)->res);
		iou_seen(r, 1);
		sqe = iou_nop(r, 1);
		sqe->flags = both_flags[i];
		sqe->nop_flags = IORING_NOP_INJECT_RESULT;
		sqe->len = -77;
		EXPECT_EQ(-77, iou_one(r));
		iou_nop(r, 1)->nop_flags = 1 << 30;
		EXPECT_EQ(-EINVAL, iou_one(r));
	}
}

/* Reads of several pipes end in the order in which the data comes. */
TEST_F(rw, pipe_reads_in_any_order_of_data)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i, k;
	int p[8][2];

	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		for (i = 0; i < 8; i++) {
			struct io_uring_sqe *sqe;

			ASSERT_EQ(0, pipe(p[i]));
			sqe = iou_prep(r, IORING_OP_READ, p[i][0], self->buf + i * 64,
				       64, 0);
			sqe->user_data = i;
			sqe->flags = both_flags[k];
		}
		ASSERT_EQ(8, iou_submit(r));
		for (i = 0; i < 8; i++) {
			unsigned int who = i * 5 % 8;

			ASSERT_EQ(3, write(p[who][1], "abc", 3));
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(who, cqe.user_data);
			EXPECT_EQ(3, cqe.res);
		}
		for (i = 0; i < 8; i++) {
			close(p[i][0]);
			close(p[i][1]);
		}
	}
}

TEST_F(rw, pipe_hang_up)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int k;
	int p[2];

	signal(SIGPIPE, SIG_IGN);
	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		ASSERT_EQ(0, pipe(p));
		iou_prep(r, IORING_OP_READ, p[0], self->buf, 64, 0)->flags =
			both_flags[k];
		ASSERT_EQ(1, iou_submit(r));
		iou_sleep_ms(20);
		close(p[1]);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(0, cqe.res);
		close(p[0]);

		ASSERT_EQ(0, pipe(p));
		close(p[0]);
		iou_prep(r, IORING_OP_WRITE, p[1], self->buf, 64, 0)->flags =
			both_flags[k];
		EXPECT_EQ(-EPIPE, iou_one(r));
		close(p[1]);
	}
}

TEST_F(rw, pipe_write_waits_for_room)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int k;
	char *sink;
	int p[2], size;

	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		ASSERT_EQ(0, pipe(p));
		size = fcntl(p[1], F_GETPIPE_SZ);
		sink = malloc(size);
		ASSERT_EQ(size, write(p[1], self->buf, size));
		iou_prep(r, IORING_OP_WRITE, p[1], "tail", 4, 0)->flags =
			both_flags[k];
		ASSERT_EQ(1, iou_submit(r));
		iou_sleep_ms(20);
		EXPECT_EQ(0, iou_ready(r));
		ASSERT_EQ(size, read(p[0], sink, size));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(4, cqe.res);
		ASSERT_EQ(4, read(p[0], sink, size));
		EXPECT_EQ(0, memcmp(sink, "tail", 4));
		free(sink);
		close(p[0]);
		close(p[1]);
	}
}

/* A request waits for data even if the pipe has O_NONBLOCK, unlike read(2). */
TEST_F(rw, nonblocking_pipe)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int k;
	int p[2];

	ASSERT_EQ(0, pipe2(p, O_NONBLOCK));
	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		iou_prep(r, IORING_OP_READ, p[0], self->buf, 64, 0)->flags =
			both_flags[k];
		ASSERT_EQ(1, iou_submit(r));
		iou_sleep_ms(20);
		ASSERT_EQ(0, iou_ready(r));
		ASSERT_EQ(3, write(p[1], "abc", 3));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(3, cqe.res);
	}
	close(p[0]);
	close(p[1]);
}

/* A worker waits for a disk in spite of RWF_NOWAIT.  Mutant: nowait-kept-by-a-worker. */
TEST_F(rw, nowait_in_a_worker)
{
	const char *disk = getenv("IOU_EXT4");
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int i;
	int fd;

	if (!disk)
		SKIP(return, "needs a file system on a disk in IOU_EXT4");
	fd = iou_file_in(disk, FILE_SIZE, SEED);
	ASSERT_EQ(0, fsync(fd));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
		sqe = iou_prep(r, IORING_OP_READ, fd, self->buf, 512, 0);
		sqe->rw_flags = RWF_NOWAIT;
		sqe->flags = IOSQE_ASYNC;
		EXPECT_EQ(512, iou_one(r));
		sqe = iou_prep(r, IORING_OP_WRITE, fd, self->buf, 512, FILE_SIZE + (i << 20));
		sqe->rw_flags = RWF_NOWAIT;
		sqe->flags = IOSQE_ASYNC;
		EXPECT_EQ(512, iou_one(r));
	}
	close(fd);
}

TEST_F(rw, pipe_with_nowait)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int k;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		sqe = iou_prep(r, IORING_OP_READ, p[0], self->buf, 64, 0);
		sqe->flags = both_flags[k];
		sqe->rw_flags = RWF_NOWAIT;
		ASSERT_EQ(-EAGAIN, iou_one(r));
	}
	close(p[0]);
	close(p[1]);
}

TEST_F(rw, socket)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int k;
	int s[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		iou_prep(r, IORING_OP_READ, s[0], self->buf, 64, 0)->flags =
			both_flags[k];
		ASSERT_EQ(1, iou_submit(r));
		iou_sleep_ms(10);
		ASSERT_EQ(5, send(s[1], "hello", 5, 0));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(5, cqe.res);
		EXPECT_EQ(0, memcmp(self->buf, "hello", 5));
		iou_prep(r, IORING_OP_WRITE, s[0], "back", 4, 0)->flags =
			both_flags[k];
		EXPECT_EQ(4, iou_one(r));
		ASSERT_EQ(4, recv(s[1], self->buf, 64, 0));
		EXPECT_EQ(0, memcmp(self->buf, "back", 4));
	}
	close(s[0]);
	close(s[1]);
}

TEST_F(rw, eventfd)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	__u64 value = 3;
	unsigned int k;
	int fd = eventfd(0, 0);

	ASSERT_LE(0, fd);
	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		memset(self->buf, 0, 8);
		iou_prep(r, IORING_OP_READ, fd, self->buf, 8, 0)->flags =
			both_flags[k];
		ASSERT_EQ(1, iou_submit(r));
		iou_sleep_ms(10);
		EXPECT_EQ(0, iou_ready(r));
		ASSERT_EQ(8, write(fd, &value, 8));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(8, cqe.res);
		EXPECT_EQ(3, *(__u64 *)self->buf);
		iou_prep(r, IORING_OP_WRITE, fd, &value, 8, 0)->flags = both_flags[k];
		EXPECT_EQ(8, iou_one(r));
		EXPECT_EQ(8, read(fd, self->buf, 8));
		EXPECT_EQ(3, *(__u64 *)self->buf);
		iou_prep(r, IORING_OP_READ, fd, self->buf, 4, 0)->flags =
			both_flags[k];
		EXPECT_EQ(-EINVAL, iou_one(r));
	}
	close(fd);
}

/*
 * Each piece of a vector, even an empty piece, is a separate write to an eventfd, which refuses
 * less than 8 bytes.  Mutant: vector-skips-empty.
 */
TEST_F(rw, empty_piece_first)
{
	__u64 value = 3;
	struct iovec iov[2] = { { &value, 0 }, { &value, 8 } };
	int fd = eventfd(0, EFD_NONBLOCK);
	unsigned int k;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, iou_ret(writev(fd, iov, 2)));
	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		iou_prep(&self->r, IORING_OP_WRITEV, fd, iov, 2, 0)->flags = both_flags[k];
		EXPECT_EQ(-EINVAL, iou_one(&self->r));
		EXPECT_EQ(-EAGAIN, iou_ret(read(fd, &value, 8)));
	}
	close(fd);
}

/* Read a file that has ->read() but no ->read_iter().  Mutant: vector-in-one-piece. */
TEST_F(rw, file_without_iterator)
{
	int fd = open("/proc/self/auxv", O_RDONLY);
	char want[1024];
	struct iovec iov[3] = {
		{ self->buf, 7 }, { self->buf + 7, 9 }, { self->buf + 16, 16 },
	};
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int k;
	ssize_t len;

	ASSERT_LE(0, fd);
	len = pread(fd, want, sizeof(want), 0);
	ASSERT_LT(32, len);
	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		memset(self->buf, 0, 1024);
		iou_prep(r, IORING_OP_READ, fd, self->buf, sizeof(want), 0)->flags =
			both_flags[k];
		EXPECT_EQ(len, iou_one(r));
		EXPECT_EQ(0, memcmp(want, self->buf, len));
		memset(self->buf, 0, 1024);
		iou_prep(r, IORING_OP_READV, fd, iov, 3, 0)->flags = both_flags[k];
		EXPECT_EQ(32, iou_one(r));
		EXPECT_EQ(0, memcmp(want, self->buf, 32));
		sqe = iou_prep(r, IORING_OP_READ_FIXED, fd, self->buf, 32, 0);
		sqe->buf_index = 1;
		sqe->flags = both_flags[k];
		EXPECT_EQ(32, iou_one(r));
		/* differences: none, 6.12 has no READV_FIXED, and 7.3 writes over the vector */
		if (!iou_on_stock()) {
			memset(self->buf, 0, 1024);
			EXPECT_EQ(32, move_vec(r, IORING_OP_READV_FIXED, fd, iov, 3, 0,
					       both_flags[k]));
			EXPECT_EQ(0, memcmp(want, self->buf, 32));
		}
		/* reads advance the position, as read(2) does */
		ASSERT_EQ(0, lseek(fd, 0, SEEK_SET));
		iou_prep(r, IORING_OP_READ, fd, self->buf, 16, -1ULL)->flags =
			both_flags[k];
		EXPECT_EQ(16, iou_one(r));
		EXPECT_EQ(16, lseek(fd, 0, SEEK_CUR));
		iou_prep(r, IORING_OP_READ, fd, self->buf, 16, -1ULL)->flags =
			both_flags[k];
		EXPECT_EQ(16, iou_one(r));
		EXPECT_EQ(0, memcmp(want + 16, self->buf, 16));
	}
	close(fd);
}

/* Return: the number of bytes of @buf that are zero. */
static int zeroes(const unsigned char *buf, int len)
{
	int nr = 0;

	while (len--)
		nr += !*buf++;
	return nr;
}

/*
 * A file with ->poll(), but without nonblocking reads: a read returns the part that is there,
 * although the file is a regular one.  Mutant: part-of-a-log-goes-on.  differences: read-log-part
 */
TEST_F(rw, part_of_a_log)
{
	int log = open("/proc/kmsg", O_RDONLY | O_NONBLOCK), to = open("/dev/kmsg", O_WRONLY), way;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	static char buf[65536];

	if (log < 0 || to < 0 || variant->flags & IORING_SETUP_IOPOLL)
		SKIP(return, "needs to be root, and a ring that does not poll");
	for (way = 0; way < 4; way++) {
		fcntl(log, F_SETFL, O_NONBLOCK);
		while (read(log, buf, sizeof(buf)) > 0)
			;
		fcntl(log, F_SETFL, way & 1 ? O_NONBLOCK : 0);
		ASSERT_EQ(4, write(to, "iou\n", 4));
		sqe = iou_prep(&self->r, IORING_OP_READ, log, buf, sizeof(buf), -1);
		sqe->flags = way & 2 ? IOSQE_ASYNC : 0;
		ASSERT_EQ(1, iou_submit(&self->r));
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		EXPECT_LT(4, cqe.res);
		EXPECT_GT(1000, cqe.res);
	}
	close(log);
	close(to);
}

/* A read of /dev/zero may stop after any page if another task needs the CPU. */
TEST_F(rw, zero_and_null)
{
	int zero = open("/dev/zero", O_RDWR), null = open("/dev/null", O_RDWR);
	struct iou *r = &self->r;
	unsigned int k;
	int ret;

	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		memset(self->buf, 1, BUF_SIZE);
		iou_prep(r, IORING_OP_READ, zero, self->buf, BUF_SIZE, 0)->flags =
			both_flags[k];
		ret = iou_one(r);
		EXPECT_LE((int)IOU_PAGE, ret);
		EXPECT_EQ(ret, zeroes(self->buf, BUF_SIZE));
		iou_prep(r, IORING_OP_WRITE, null, self->buf, BUF_SIZE, 0)->flags =
			both_flags[k];
		EXPECT_EQ(BUF_SIZE, iou_one(r));
		iou_prep(r, IORING_OP_READ, null, self->buf, 100, 0)->flags =
			both_flags[k];
		EXPECT_EQ(0, iou_one(r));
	}
	close(zero);
	close(null);
}

/* The length of one request is limited, as that of read(2) is. */
TEST_F(rw, length_is_capped)
{
	int null = open("/dev/null", O_RDWR);
	struct iou *r = &self->r;

	iou_prep(r, IORING_OP_WRITE, null, NULL, 0x7fffffff, 0);
	EXPECT_EQ(0x7ffff000, iou_one(r));
	iou_prep(r, IORING_OP_WRITE, null, NULL, ~0U, 0);
	EXPECT_EQ(0x7ffff000, iou_one(r));
	close(null);
}

/* A file that is closed while a request waits stays open for the request. */
TEST_F(rw, closed_while_waiting)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int k;
	int p[2];

	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		ASSERT_EQ(0, pipe(p));
		iou_prep(r, IORING_OP_READ, p[0], self->buf, 64, 0)->flags =
			both_flags[k];
		ASSERT_EQ(1, iou_submit(r));
		/* an SQPOLL thread may take the SQE late */
		while (iou_sq_room(r) < r->p.sq_entries)
			iou_sleep_ms(1);
		iou_sleep_ms(20);
		close(p[0]);
		ASSERT_EQ(3, write(p[1], "abc", 3));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(3, cqe.res);
		close(p[1]);
	}
}

FIXTURE(direct) {
	struct iou r;
	int fd;
	unsigned char *buf;
};

FIXTURE_VARIANT(direct) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(direct);
IOU_KIND(direct, iopoll, IORING_SETUP_IOPOLL);
IOU_KIND(direct, iopoll_defer, IORING_SETUP_IOPOLL | IOU_DEFER);
IOU_KIND(direct, iopoll_sqpoll, IORING_SETUP_IOPOLL | IORING_SETUP_SQPOLL);
IOU_KIND(direct, iopoll_large, IORING_SETUP_IOPOLL | IOU_LARGE);

#define BLOCKS	64
#define BLOCK	4096
#define AREA	(BLOCKS * BLOCK)

FIXTURE_SETUP(direct)
{
	struct iovec iov;
	int fds[SLOTS];

	self->r.fd = -1;
	self->buf = iou_map_anon(AREA);
	self->fd = open(iou_scratch(), O_RDWR | O_DIRECT);
	if (self->fd < 0)
		SKIP(return, "needs a device in IOU_SCRATCH");
	ASSERT_NE(NULL, self->buf);
	iou_fill(self->buf, AREA, 0, SEED);
	ASSERT_EQ(AREA, pwrite(self->fd, self->buf, AREA, 0));
	ASSERT_EQ(0, iou_init(&self->r, BLOCKS, variant->flags));
	memset(fds, 0xff, sizeof(fds));
	fds[SLOT_FILE] = self->fd;
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, fds, SLOTS));
	iov = (struct iovec){ self->buf, AREA };
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_BUFFERS,
				  (struct iovec[]){ { NULL, 0 }, iov }, 2));
}

FIXTURE_TEARDOWN(direct)
{
	iou_exit(&self->r);
	if (self->fd >= 0)
		close(self->fd);
	munmap(self->buf, AREA);
}

/* Return: false for a null device without memory, which loses written data. */
static bool keeps_data(int fd)
{
	unsigned char *back = iou_map_anon(BLOCK);
	bool keeps = pread(fd, back, BLOCK, BLOCK) == BLOCK &&
		     iou_verify(back, BLOCK, BLOCK, SEED) < 0;

	munmap(back, BLOCK);
	return keeps;
}

TEST_F(direct, read_blocks_in_any_order)
{
	struct iovec iov[BLOCKS][2];
	struct io_uring_cqe cqe;
	struct iou *r = &self->r;
	bool keeps = keeps_data(self->fd);
	unsigned int w, i;
	unsigned long long seen;

	for (w = 0; w < nr_ways(ARRAY_LEN(read_ways)); w++) {
		const struct way *way = &read_ways[w];

		memset(self->buf, 0, AREA);
		for (i = 0; i < BLOCKS; i++) {
			unsigned int at = (i * 37 % BLOCKS) * BLOCK;
			struct io_uring_sqe *sqe;

			sqe = prep_way(r, way, self->fd, self->buf + at, BLOCK, at,
				       iov[i]);
			sqe->user_data = i;
			/* pieces of a block would not be aligned */
			if (has_vector(way->op)) {
				iov[i][0] = (struct iovec){ self->buf + at, BLOCK };
				sqe->len = 1;
			}
		}
		ASSERT_EQ(BLOCKS, iou_submit_wait(r, BLOCKS));
		for (i = 0, seen = 0; i < BLOCKS; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_EQ(BLOCK, cqe.res) {
				TH_LOG("%s", way->name);
			}
			seen |= 1ULL << cqe.user_data;
		}
		EXPECT_EQ(~0ULL, seen);
		if (keeps) {
			ASSERT_EQ(-1, iou_verify(self->buf, AREA, 0, SEED)) {
				TH_LOG("%s", way->name);
			}
		}
	}
}

TEST_F(direct, write_blocks_in_any_order)
{
	struct iovec iov[BLOCKS][2];
	struct io_uring_cqe cqe;
	struct iou *r = &self->r;
	bool keeps = keeps_data(self->fd);
	unsigned int w, i;

	for (w = 0; w < nr_ways(ARRAY_LEN(write_ways)); w++) {
		const struct way *way = &write_ways[w];

		iou_fill(self->buf, AREA, 0, 100 + w);
		for (i = 0; i < BLOCKS; i++) {
			unsigned int at = (i * 37 % BLOCKS) * BLOCK;
			struct io_uring_sqe *sqe;

			sqe = prep_way(r, way, self->fd, self->buf + at, BLOCK, at,
				       iov[i]);
			if (has_vector(way->op)) {
				iov[i][0] = (struct iovec){ self->buf + at, BLOCK };
				sqe->len = 1;
			}
		}
		ASSERT_EQ(BLOCKS, iou_submit_wait(r, BLOCKS));
		for (i = 0; i < BLOCKS; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_EQ(BLOCK, cqe.res) {
				TH_LOG("%s", way->name);
			}
		}
		memset(self->buf, 0, AREA);
		ASSERT_EQ(AREA, pread(self->fd, self->buf, AREA, 0));
		if (keeps) {
			ASSERT_EQ(-1, iou_verify(self->buf, AREA, 0, 100 + w)) {
				TH_LOG("%s", way->name);
			}
		}
	}
}

TEST_F(direct, one_large_request)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int k;

	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		memset(self->buf, 0, AREA);
		iou_prep(r, IORING_OP_READ, self->fd, self->buf, AREA, 0)->flags =
			both_flags[k];
		ASSERT_EQ(AREA, iou_one(r));
		if (keeps_data(self->fd))
			EXPECT_EQ(-1, iou_verify(self->buf, AREA, 0, SEED));
		memset(self->buf, 0, AREA);
		sqe = iou_prep(r, IORING_OP_READ_FIXED, self->fd,
			       self->buf + BLOCK, AREA - BLOCK, BLOCK);
		sqe->flags = both_flags[k];
		sqe->buf_index = 1;
		ASSERT_EQ(AREA - BLOCK, iou_one(r));
		if (keeps_data(self->fd))
			EXPECT_EQ(-1, iou_verify(self->buf + BLOCK, AREA - BLOCK,
						 BLOCK, SEED));
	}
}

TEST_F(direct, unaligned)
{
	struct iou *r = &self->r;
	unsigned int k;

	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		iou_prep(r, IORING_OP_READ, self->fd, self->buf, 100, 0)->flags =
			both_flags[k];
		EXPECT_EQ(-EINVAL, iou_one(r));
		iou_prep(r, IORING_OP_READ, self->fd, self->buf, BLOCK, 100)->flags =
			both_flags[k];
		EXPECT_EQ(-EINVAL, iou_one(r));
		iou_prep(r, IORING_OP_READ, self->fd, (void *)4096, BLOCK, 0)->flags =
			both_flags[k];
		EXPECT_EQ(-EFAULT, iou_one(r));
	}
}

/*
 * The pieces of a vector are sectors of the registered memory, whatever is mapped at their
 * addresses by then.  Mutant: vector-by-address.
 */
TEST_F(direct, vector_of_sectors)
{
	unsigned char *copy = iou_map_anon(AREA), *back = iou_map_anon(BLOCK);
	struct iovec iov[BLOCK / 512];
	unsigned int i, k;

	/* 6.12 refuses segments of less than a block of the device */
	if (!iou_kernel_from("7"))
		return;
	if (!keeps_data(self->fd))
		SKIP(return, "needs a device that keeps data");
	memcpy(copy, self->buf, AREA);
	for (i = 0; i < ARRAY_LEN(iov); i++)
		iov[i] = (struct iovec){ self->buf + (8 - i) * BLOCK + i * 512, 512 };
	ASSERT_EQ(self->buf, mmap(self->buf, AREA, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	for (k = 0; k < ARRAY_LEN(both_flags); k++) {
		ASSERT_EQ(BLOCK, move_vec(&self->r, IORING_OP_WRITEV_FIXED, self->fd, iov,
					  ARRAY_LEN(iov), k * BLOCK, both_flags[k]));
		ASSERT_EQ(BLOCK, pread(self->fd, back, BLOCK, k * BLOCK));
		for (i = 0; i < ARRAY_LEN(iov); i++)
			EXPECT_EQ(0, memcmp(back + i * 512, copy + (8 - i) * BLOCK + i * 512, 512));
	}
	EXPECT_EQ(0, self->buf[0]);
	munmap(copy, AREA);
	munmap(back, BLOCK);
}

/* Put @iov with @tag into slot 1 of the registered buffers. */
static int replace_buffer(struct iou *r, const struct iovec *iov, __u64 tag)
{
	struct io_uring_rsrc_update2 up = {
		.offset = 1, .data = (uintptr_t)iov, .tags = (uintptr_t)&tag, .nr = 1,
	};

	return iou_register(r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up));
}

/*
 * A read into parts of sectors holds its registered buffer until it has ended, although it uses the
 * addresses in its vector.  Its ring posts no CQE before the program asks for it.  Mutant:
 * vector-drops-its-buffer.
 */
TEST_F(direct, vector_within_sectors)
{
	struct iovec iov[] = { { self->buf, 256 }, { self->buf + BLOCK, BLOCK - 256 } };
	struct iovec area = { self->buf, AREA }, none = { };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;

	/* 6.12 refuses segments of less than a block of the device */
	if (!iou_kernel_from("7"))
		return;
	/* other rings post CQEs at any time */
	if (!(variant->flags & (IORING_SETUP_IOPOLL | IORING_SETUP_DEFER_TASKRUN)) ||
	    variant->flags & IORING_SETUP_SQPOLL)
		return;
	ASSERT_EQ(1, replace_buffer(r, &area, 7));
	sqe = iou_prep(r, IORING_OP_READV_FIXED, self->fd, iov, 2, 0);
	sqe->buf_index = 1;
	sqe->user_data = 1;
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(1, replace_buffer(r, &none, 0));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.user_data);
	EXPECT_EQ(BLOCK, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(7, cqe.user_data);
}

/* An IOPOLL ring refuses requests that cannot be polled. */
TEST_F(direct, what_polling_refuses)
{
	static const unsigned char refused[] = {
		IORING_OP_FSYNC, IORING_OP_SYNC_FILE_RANGE, IORING_OP_FALLOCATE,
	};
	struct iou *r = &self->r;
	struct iovec iov = { self->buf, BLOCK };
	unsigned int i;
	int fd;

	if (!(variant->flags & IORING_SETUP_IOPOLL))
		SKIP(return, "a ring that does not poll");
	for (i = 0; i < ARRAY_LEN(refused); i++) {
		iou_prep(r, refused[i], self->fd, NULL, 0, 0);
		EXPECT_EQ(-EINVAL, iou_one(r));
	}
	/* a file without O_DIRECT, and a file that cannot be polled */
	fd = open(iou_scratch(), O_RDWR);
	iou_prep(r, IORING_OP_READ, fd, self->buf, BLOCK, 0);
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	iou_prep(r, IORING_OP_READV, fd, &iov, 1, 0)->flags = IOSQE_ASYNC;
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	close(fd);
	fd = open("/dev/zero", O_RDWR);
	iou_prep(r, IORING_OP_READ, fd, self->buf, BLOCK, 0);
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	close(fd);
	iou_nop(r, 1);
	EXPECT_EQ(0, iou_one(r));
	fd = -1;
	iou_prep(r, IORING_OP_FILES_UPDATE, -1, &fd, 1, 0);
	EXPECT_EQ(1, iou_one(r));
}

/* Keep many requests in flight and reap some at a time, mixed with inline results. */
TEST_F(direct, steady_depth)
{
	unsigned int started = 0, done = 0, total = iou_rounds(512), i;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	while (done < total) {
		while (started < total && started - done < 32) {
			if (started % 8 == 3) {
				iou_nop(r, started);
			} else {
				unsigned int at = started % BLOCKS * BLOCK;

				iou_prep(r, IORING_OP_READ, self->fd, self->buf + at,
					 BLOCK, at)->user_data = started;
			}
			started++;
		}
		ASSERT_LE(0, iou_submit_wait(r, 1));
		for (i = iou_ready(r); i; i--) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_EQ(cqe.user_data % 8 == 3 ? 0 : BLOCK, cqe.res);
			done++;
		}
	}
	EXPECT_EQ(0, iou_ready(r));
}

/*
 * A drained request waits for the end of earlier transfers, which only a task that
 * polls for completions can detect on an IOPOLL ring.  differences: drain-iopoll
 */
TEST_F(direct, drained)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i, k;

	for (k = 0; k < 4; k++) {
		for (i = 0; i < 8; i++)
			iou_prep(r, IORING_OP_READ, self->fd, self->buf + i * BLOCK, BLOCK,
				 i * BLOCK)->user_data = i;
		iou_nop(r, 8)->flags = IOSQE_IO_DRAIN;
		iou_prep(r, IORING_OP_READ, self->fd, self->buf + 9 * BLOCK, BLOCK,
			 9 * BLOCK)->user_data = 9;
		ASSERT_LE(0, iou_submit(r));
		for (i = 0; i < 10; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(cqe.user_data == 8 ? 0 : BLOCK, cqe.res);
			/* eight CQEs come in any order, then two in order, except on 6.12 */
			if (i < 8) {
				EXPECT_GT(8, cqe.user_data);
			} else if (!iou_on_stock()) {
				EXPECT_EQ(i, cqe.user_data);
			}
		}
	}
}

/*
 * The first part of a read is in memory, the second is not: one CQE reports both parts, and each
 * byte is at its place.  Mutant: read-tells-last-part.
 */
TEST_F(rw, part_in_memory)
{
	const char *dir = getenv("IOU_EXT4");
	/* the second part is so long that it does not arrive at once */
	size_t part = 64 * 1024, all = 32 * part;
	unsigned char *buf;
	unsigned int i;
	int fd;

	if (!dir || variant->flags & IORING_SETUP_IOPOLL)
		SKIP(return, "needs a file on a disk, in IOU_EXT4");
	fd = iou_file_in(dir, all, SEED);
	buf = iou_map_anon(all);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fsync(fd));
	for (i = 0; i < 8; i++) {
		/* prevent readahead, which would read the second part, too */
		ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
		ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
		ASSERT_EQ(part, pread(fd, buf, part, 0));
		memset(buf, 0, all);
		iou_prep(&self->r, IORING_OP_READ, fd, buf, all, 0)->flags =
			i % 2 ? IOSQE_ASYNC : 0;
		EXPECT_EQ(all, iou_one(&self->r));
		EXPECT_EQ(-1, iou_verify(buf, all, 0, SEED)) {
			TH_LOG("round %u", i);
		}
	}
	munmap(buf, all);
	close(fd);
}

/*
 * A direct write to a block device reuses the memory of another kind of request.  If the
 * old ki_write_stream is left there, Linux 7.3 uses it, and the device refuses the write.
 */
TEST_F(rw, direct_behind_another)
{
	int fd = open(iou_scratch(), O_RDWR | O_DIRECT), p[2];
	struct __kernel_timespec ts = { .tv_nsec = 1000000 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;

	if (fd < 0)
		SKIP(return, "needs a device in IOU_SCRATCH");
	ASSERT_EQ(0, pipe(p));
	for (i = 0; i < 3; i++) {
		switch (i) {
		case 0:
			iou_prep(r, IORING_OP_TIMEOUT, -1, &ts, 1, 0);
			EXPECT_EQ(-ETIME, iou_one(r));
			break;
		case 1:
			iou_prep(r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0)->poll32_events =
				poll_word(POLLIN);
			ASSERT_EQ(1, iou_submit(r));
			ASSERT_EQ(1, write(p[1], "x", 1));
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(POLLIN, cqe.res);
			break;
		case 2:
			/* the event is there already */
			iou_prep(r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0)->poll32_events =
				poll_word(POLLIN);
			EXPECT_EQ(POLLIN, iou_one(r));
		}
		iou_prep(r, IORING_OP_WRITE, fd, self->page, IOU_PAGE, 0);
		EXPECT_EQ(IOU_PAGE, iou_one(r)) {
			TH_LOG("behind %u", i);
		}
	}
	close(p[0]);
	close(p[1]);
	close(fd);
}

/* The stream of a write is checked by a block device, which has none here. */
TEST_F(direct, write_stream)
{
	bool streams = iou_kernel_from("7"), polled = variant->flags & IORING_SETUP_IOPOLL;
	struct iovec iov = { self->buf, BLOCK };
	int plain = open(iou_scratch(), O_RDWR), want = streams ? -EINVAL : BLOCK;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;

	/* differences: none, 6.12 has no streams */
	iou_prep(r, IORING_OP_WRITE, self->fd, self->buf, BLOCK, 0)->write_stream = 1;
	EXPECT_EQ(want, iou_one(r));
	sqe = iou_prep(r, IORING_OP_WRITE, self->fd, self->buf, BLOCK, 0);
	sqe->write_stream = 255;
	sqe->flags = IOSQE_ASYNC;
	EXPECT_EQ(want, iou_one(r));
	iou_prep(r, IORING_OP_WRITEV, self->fd, &iov, 1, 0)->write_stream = 1;
	EXPECT_EQ(want, iou_one(r));
	sqe = iou_prep(r, IORING_OP_WRITE_FIXED, self->fd, self->buf, BLOCK, 0);
	sqe->buf_index = 1;
	sqe->write_stream = 1;
	EXPECT_EQ(want, iou_one(r));
	/* the three bytes behind it mean nothing, and reads and buffered writes have no stream */
	memset(iou_prep(r, IORING_OP_WRITE, self->fd, self->buf, BLOCK, 0)->__pad4, 1, 3);
	EXPECT_EQ(BLOCK, iou_one(r));
	iou_prep(r, IORING_OP_READ, self->fd, self->buf, BLOCK, 0)->write_stream = 1;
	EXPECT_EQ(BLOCK, iou_one(r));
	iou_prep(r, IORING_OP_WRITE, plain, self->buf, BLOCK, 0)->write_stream = 1;
	EXPECT_EQ(polled ? -EOPNOTSUPP : BLOCK, iou_one(r));
	close(plain);
}

static struct io_uring_sqe *prep_attr(struct iou *r, int op, int fd, void *buf, unsigned int len,
				      const struct io_uring_attr_pi *pi)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, fd, buf, len, 0);

	sqe->attr_ptr = iou_addr(pi);
	sqe->attr_type_mask = IORING_RW_ATTR_FLAG_PI;
	return sqe;
}

/* What is refused without a device that has metadata. */
TEST_F(rw, attributes)
{
	struct io_uring_attr_pi pi = { .addr = iou_addr(self->page), .len = 64 };
	struct iovec vec[2] = { { self->buf, 512 }, { self->buf + 512, 512 } };
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	int device;

	/* differences: none, 6.12 ignores the fields, on any file */
	if (!iou_kernel_from("7")) {
		prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, NULL)->attr_type_mask = 6;
		EXPECT_EQ(512, iou_one(r));
		EXPECT_FALSE(r->p.features & IORING_FEAT_RW_ATTR);
		return;
	}
	EXPECT_TRUE(r->p.features & IORING_FEAT_RW_ATTR);
	prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, (void *)8)->attr_type_mask = 0;
	EXPECT_EQ(512, iou_one(r));
	prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, NULL)->attr_type_mask = 2;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, &pi)->attr_type_mask = 3;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, &pi)->attr_type_mask = 1ULL << 63;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, NULL);
	EXPECT_EQ(-EFAULT, iou_one(r));
	prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, IOU_KERNEL);
	EXPECT_EQ(-EFAULT, iou_one(r));
	/* the file has no metadata; vectors need memory of their own */
	prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, &pi);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_attr(r, IORING_OP_WRITE, self->fd, self->buf, 512, &pi)->flags = IOSQE_ASYNC;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_attr(r, IORING_OP_READV, self->fd, vec, 2, &pi);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_attr(r, IORING_OP_WRITEV, self->fd, vec, 1, &pi);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_attr(r, IORING_OP_READ_FIXED, self->fd, self->buf, 512, &pi)->buf_index = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_attr(r, IORING_OP_READ_MULTISHOT, self->fd, NULL, 0, &pi);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_attr(r, IORING_OP_READ, 999, self->buf, 512, &pi);
	EXPECT_EQ(-EBADF, iou_one(r));
	/* the program's own flags stay unknown */
	prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, &pi)->rw_flags = 1U << 31;
	EXPECT_GT(0, iou_one(r));
	sqe = prep_attr(r, IORING_OP_READV, self->fd, vec, 2, NULL);
	sqe->attr_type_mask = 0;
	sqe->rw_flags = 1U << 31;
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	sqe = prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, NULL);
	sqe->attr_type_mask = 0;
	sqe->rw_flags = 1U << 31;
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	device = open(iou_scratch(), O_RDWR | O_DIRECT);
	if (device >= 0) {
		prep_attr(r, IORING_OP_READ, device, self->page, IOU_PAGE, &pi);
		EXPECT_EQ(-EINVAL, iou_one(r));
		close(device);
	}
	pi.rsvd = 1;
	prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, &pi);
	EXPECT_EQ(-EINVAL, iou_one(r));
	pi.rsvd = 0;
	if (iou_splits_addresses()) {
		pi.addr = iou_addr(IOU_KERNEL);
		prep_attr(r, IORING_OP_READ, self->fd, self->buf, 512, &pi);
		EXPECT_EQ(-EFAULT, iou_one(r));
	}
}

/* Return: the checksum of a block in its protection information. */
static unsigned short guard(const unsigned char *data, unsigned int len)
{
	unsigned int i, crc = 0;

	while (len--) {
		crc ^= *data++ << 8;
		for (i = 0; i < 8; i++)
			crc = crc & 0x8000 ? (crc << 1 ^ 0x8bb7) & 0xffff : crc << 1;
	}
	return crc;
}

#define PI_BLOCK	512
#define PI_TAG		0x1234
#define PI_READS	64
/* QEMU's drive does not check block 0 */
#define PI_FIRST	8
#define PI_POS		(PI_FIRST * PI_BLOCK)

/* Fill in the protection information, of type 1, of blocks from PI_FIRST on. */
static void protect(unsigned char *pi, const unsigned char *data, unsigned int blocks)
{
	unsigned int i;

	for (i = 0; i < blocks; i++, pi += 8, data += PI_BLOCK) {
		unsigned short crc = guard(data, PI_BLOCK);
		const unsigned char bytes[] = {
			crc >> 8, crc, PI_TAG >> 8, PI_TAG & 0xff, 0, 0, 0, i + PI_FIRST,
		};

		memcpy(pi, bytes, sizeof(bytes));
	}
}

/* Store the path of the block device in IOU_PI.  Return: true if it has protection information. */
static bool find_protected(char *path, size_t size)
{
	const char *name = getenv("IOU_PI");
	char format[32] = { }, file[128];
	int fd;

	snprintf(file, sizeof(file), "/sys/block/%s/integrity/format", name ?: "none");
	fd = open(file, O_RDONLY);
	if (fd < 0 || read(fd, format, sizeof(format) - 1) < 0)
		return false;
	close(fd);
	snprintf(path, size, "/dev/%s", name);
	return !strncmp(format, "T10-DIF-TYPE1-CRC", 17);
}

static struct io_uring_sqe *prep_at(struct iou *r, int op, int fd, void *buf, unsigned int len,
				    const struct io_uring_attr_pi *pi)
{
	struct io_uring_sqe *sqe = prep_attr(r, op, fd, buf, len, pi);

	sqe->off = PI_POS;
	return sqe;
}

/* Let the device refuse attempts that must not wait for one of its few tags. */
static bool few_tags(void)
{
	char file[128];
	int fd, ret;

	snprintf(file, sizeof(file), "/sys/block/%s/queue/nr_requests", getenv("IOU_PI"));
	fd = open(file, O_WRONLY);
	ret = write(fd, "4", 1);
	close(fd);
	return ret == 1;
}

/*
 * A device writes, checks and returns the metadata of blocks.  A later attempt of a request passes
 * the same metadata as the first one.
 */
TEST(metadata)
{
	static const unsigned int kinds[] = { 0, IOU_DEFER, IORING_SETUP_SQPOLL };
	unsigned int i, k, all = PI_READS * PI_BLOCK;
	unsigned char *data = iou_map_anon(2 * all), *meta = iou_map_anon(2 * 8 * PI_READS);
	struct iovec vec[2] = { { data, all / 2 }, { data + all / 2, all / 2 } };
	struct iovec reg = { data, 2 * all };
	struct io_uring_attr_pi pi, pis[PI_READS];
	struct io_uring_cqe cqe;
	struct iou r;
	char path[64];
	int fd, plain;

	/* differences: none, 6.12 cannot pass metadata */
	if (!iou_kernel_from("7") || !find_protected(path, sizeof(path)))
		SKIP(return, "needs a device with protection information in IOU_PI");
	fd = open(path, O_RDWR | O_DIRECT);
	plain = open(path, O_RDWR);
	ASSERT_LE(0, fd);
	for (k = 0; k < 2 * ARRAY_LEN(kinds); k++) {
		unsigned int f = k % 2 ? IOSQE_ASYNC : 0;

		ASSERT_EQ(0, iou_init(&r, PI_READS, kinds[k / 2]));
		ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_BUFFERS, &reg, 1));
		iou_fill(data, all, k, SEED);
		protect(meta, data, PI_READS);
		pi = (struct io_uring_attr_pi){
			.flags = 7, .app_tag = PI_TAG, .len = 8 * PI_READS, .addr = iou_addr(meta),
			.seed = PI_FIRST,
		};
		prep_at(&r, IORING_OP_WRITE, fd, data, all, &pi)->flags = f;
		EXPECT_EQ((int)all, iou_one(&r));
		prep_at(&r, IORING_OP_WRITE_FIXED, fd, data, all, &pi)->flags = f;
		EXPECT_EQ((int)all, iou_one(&r));
		prep_at(&r, IORING_OP_WRITEV, fd, vec, 2, &pi)->flags = f;
		EXPECT_EQ((int)all, iou_one(&r));
		/* the device checks what it writes */
		meta[0] ^= 1;
		prep_at(&r, IORING_OP_WRITE, fd, data, all, &pi)->flags = f;
		EXPECT_EQ(-EILSEQ, iou_one(&r));
		meta[0] ^= 1;
		pi.addr = iou_addr(meta + 8 * PI_READS);
		memset(meta + 8 * PI_READS, 0, 8 * PI_READS);
		memset(data + all, 0, all);
		prep_at(&r, IORING_OP_READ, fd, data + all, all, &pi)->flags = f;
		EXPECT_EQ((int)all, iou_one(&r));
		EXPECT_EQ(0, memcmp(data, data + all, all));
		EXPECT_EQ(0, memcmp(meta, meta + 8 * PI_READS, 8 * PI_READS));
		prep_at(&r, IORING_OP_READ_FIXED, fd, data + all, all, &pi)->flags = f;
		EXPECT_EQ((int)all, iou_one(&r));
		prep_at(&r, IORING_OP_READV, fd, vec, 2, &pi)->flags = f;
		EXPECT_EQ((int)all, iou_one(&r));
		pi.app_tag++;
		prep_at(&r, IORING_OP_READ, fd, data + all, all, &pi)->flags = f;
		EXPECT_EQ(-EILSEQ, iou_one(&r));
		pi.app_tag--;
		pi.len--;
		prep_at(&r, IORING_OP_READ, fd, data + all, all, &pi)->flags = f;
		EXPECT_EQ(-EINVAL, iou_one(&r));
		pi.len++;
		prep_attr(&r, IORING_OP_READ, plain, data + all, all, &pi)->flags = f;
		EXPECT_EQ(-EOPNOTSUPP, iou_one(&r));
		/* more reads than the device takes at once */
		ASSERT_TRUE(few_tags());
		memset(meta + 8 * PI_READS, 0, 8 * PI_READS);
		memset(data + all, 0, all);
		for (i = 0; i < PI_READS; i++) {
			struct io_uring_sqe *sqe;

			pis[i] = pi;
			pis[i].len = 8;
			pis[i].addr += 8 * i;
			pis[i].seed += i;
			sqe = prep_at(&r, IORING_OP_READ, fd, data + all + i * PI_BLOCK, PI_BLOCK,
				      &pis[i]);
			sqe->off += i * PI_BLOCK;
			sqe->flags = f;
		}
		ASSERT_EQ(PI_READS, iou_submit(&r));
		for (i = 0; i < PI_READS; i++) {
			ASSERT_EQ(0, iou_reap(&r, &cqe));
			EXPECT_EQ(PI_BLOCK, cqe.res);
		}
		EXPECT_EQ(0, memcmp(data, data + all, all));
		EXPECT_EQ(0, memcmp(meta, meta + 8 * PI_READS, 8 * PI_READS));
		iou_exit(&r);
	}
	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_IOPOLL));
	prep_attr(&r, IORING_OP_READ, fd, data, all, &pi);
	EXPECT_EQ(-EOPNOTSUPP, iou_one(&r));
	iou_exit(&r);
	close(plain);
	close(fd);
}

TEST_HARNESS_MAIN
