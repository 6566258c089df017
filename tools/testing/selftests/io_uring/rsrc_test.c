// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: registered files and buffers, their tags and accounts */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "iou_test.h"

#define SEED	3
#define HUGE	(2UL << 20)

/* The CQE of a tag is expected within this time, in milliseconds. */
#define TAG_TIME	3000

FIXTURE(rsrc) {
	struct iou r;
	int file[4];		/* four files with patterns of their own */
	char buf[256];
};

FIXTURE_VARIANT(rsrc) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(rsrc);
IOU_KIND(rsrc, defer_large, IOU_DEFER | IOU_LARGE);

FIXTURE_SETUP(rsrc)
{
	int i;

	ASSERT_EQ(0, iou_init(&self->r, 16, variant->flags));
	for (i = 0; i < 4; i++) {
		self->file[i] = iou_file(4096, SEED + i);
		ASSERT_LE(0, self->file[i]);
	}
}

FIXTURE_TEARDOWN(rsrc)
{
	int i;

	iou_exit(&self->r);
	for (i = 0; i < 4; i++)
		close(self->file[i]);
}

/* Read from @slot.  Return: the index of the file in it, or a negative errno. */
static int which(struct iou *r, unsigned int slot, unsigned char flags)
{
	unsigned char buf[64];
	struct io_uring_sqe *sqe;
	int i, ret;

	sqe = iou_prep(r, IORING_OP_READ, slot, buf, sizeof(buf), 0);
	sqe->flags = flags | IOSQE_FIXED_FILE;
	ret = iou_one(r);
	if (ret < 0)
		return ret;
	for (i = 0; i < 4; i++)
		if (iou_verify(buf, sizeof(buf), 0, SEED + i) < 0)
			return i;
	return -EILSEQ;
}

static int files2(struct iou *r, unsigned int nr, const int *fds, const __u64 *tags,
		  unsigned int flags)
{
	struct io_uring_rsrc_register rr = {
		.nr = nr, .flags = flags, .data = (uintptr_t)fds,
		.tags = (uintptr_t)tags,
	};

	return iou_register(r, IORING_REGISTER_FILES2, &rr, sizeof(rr));
}

static int files_update2(struct iou *r, unsigned int off, unsigned int nr,
			 const int *fds, const __u64 *tags)
{
	struct io_uring_rsrc_update2 up = {
		.offset = off, .nr = nr, .data = (uintptr_t)fds,
		.tags = (uintptr_t)tags,
	};

	return iou_register(r, IORING_REGISTER_FILES_UPDATE2, &up, sizeof(up));
}

static int files_update(struct iou *r, unsigned int off, unsigned int nr, const int *fds)
{
	struct io_uring_files_update up = { .offset = off, .fds = (uintptr_t)fds };

	return iou_register(r, IORING_REGISTER_FILES_UPDATE, &up, nr);
}

/* Return: 0 if the next CQE is that of @tag. */
static int expect_tag(struct iou *r, __u64 tag)
{
	struct io_uring_cqe cqe;
	int ret;

	if (!iou_ready(r)) {
		ret = iou_wait_ms(r, 1, TAG_TIME);
		if (ret)
			return ret;
	}
	memcpy(&cqe, iou_cqe_at(r, 0), 16);
	iou_seen(r, 1);
	return cqe.user_data == tag && !cqe.res && !cqe.flags ? 0 : -EILSEQ;
}

/* Return: true if no CQE comes for some time. */
static bool silent(struct iou *r)
{
	return iou_wait_ms(r, 1, 30) == -ETIME;
}

TEST_F(rsrc, files_sparse_and_update)
{
	int fds[4] = { self->file[0], -1, self->file[2], -1 };
	struct iou *r = &self->r;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, fds, 4));
	EXPECT_EQ(0, which(r, 0, 0));
	EXPECT_EQ(-EBADF, which(r, 1, 0));
	EXPECT_EQ(2, which(r, 2, IOSQE_ASYNC));
	fds[0] = self->file[1];
	fds[1] = self->file[3];
	ASSERT_EQ(2, files_update(r, 1, 2, fds));
	EXPECT_EQ(1, which(r, 1, 0));
	EXPECT_EQ(3, which(r, 2, 0));
	fds[0] = IORING_REGISTER_FILES_SKIP;
	fds[1] = -1;
	ASSERT_EQ(2, files_update(r, 1, 2, fds));
	EXPECT_EQ(1, which(r, 1, 0));
	EXPECT_EQ(-EBADF, which(r, 2, IOSQE_ASYNC));
	EXPECT_EQ(-EBADF, which(r, 4, 0));
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_FILES, NULL, 0));
	EXPECT_EQ(-EBADF, which(r, 0, 0));
	ASSERT_EQ(0, files2(r, 300, NULL, NULL, IORING_RSRC_REGISTER_SPARSE));
	fds[0] = self->file[2];
	ASSERT_EQ(1, files_update(r, 299, 1, fds));
	EXPECT_EQ(2, which(r, 299, 0));
	EXPECT_EQ(-EBADF, which(r, 298, 0));
}

/* A slot keeps its file after the file's descriptor was closed. */
TEST_F(rsrc, slot_keeps_the_file)
{
	int fd = dup(self->file[1]);
	struct iou *r = &self->r;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, &fd, 1));
	close(fd);
	EXPECT_EQ(1, which(r, 0, 0));
	fd = dup(self->file[2]);
	EXPECT_EQ(1, which(r, 0, IOSQE_ASYNC));
	close(fd);
}

/* Mutant: unregister-drops-tags.  differences: unregister-tags */
TEST_F(rsrc, file_tags)
{
	int fds[4] = { self->file[0], self->file[1], -1, self->file[3] };
	__u64 tags[4] = { 100, 0, 0, 103 };
	struct iou *r = &self->r;
	int none = -1;
	__u64 tag;

	ASSERT_EQ(0, files2(r, 4, fds, tags, 0));
	EXPECT_TRUE(silent(r));
	/* the file is replaced and unused: its tag is posted at once */
	tag = 200;
	ASSERT_EQ(1, files_update2(r, 0, 1, &self->file[2], &tag));
	EXPECT_EQ(0, expect_tag(r, 100));
	EXPECT_EQ(2, which(r, 0, 0));
	/* a file without a tag posts no CQE */
	ASSERT_EQ(1, files_update2(r, 1, 1, &none, NULL));
	EXPECT_TRUE(silent(r));
	ASSERT_EQ(1, files_update(r, 3, 1, &none));
	EXPECT_EQ(0, expect_tag(r, 103));
	/* the tag of the file that is left */
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_FILES, NULL, 0));
	if (!iou_on_older_stock())
		EXPECT_EQ(0, expect_tag(r, 200));
	EXPECT_TRUE(silent(r));
}

/*
 * A table that fails to register posts no tags.  A table that is unregistered posts them from the
 * last slot to the first, and the tag of a file in use after the request.
 * Mutants: failed-table-posts-tags, tags-from-the-first.  differences: unregister-tags
 */
TEST_F(rsrc, tags_of_a_table)
{
	int p[2], fds[4] = { self->file[0], self->file[1], -1, 999 };
	__u64 tags[4] = { 100, 101, 102, 0 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	char byte;

	if (iou_on_older_stock())
		return;
	EXPECT_EQ(-EBADF, files2(r, 4, fds, (__u64[]){ 100, 101, 0, 0 }, 0));
	EXPECT_TRUE(silent(r));
	ASSERT_EQ(0, pipe(p));
	fds[2] = p[0];
	ASSERT_EQ(0, files2(r, 3, fds, tags, 0));
	iou_prep(r, IORING_OP_READ, 2, &byte, 1, 0)->flags = IOSQE_FIXED_FILE;
	ASSERT_EQ(0, iou_submit_issued(r));
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_FILES, NULL, 0));
	EXPECT_EQ(0, expect_tag(r, 101));
	EXPECT_EQ(0, expect_tag(r, 100));
	EXPECT_TRUE(silent(r));
	ASSERT_EQ(1, write(p[1], "x", 1));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	if (cqe.user_data) {
		EXPECT_EQ(102, cqe.user_data);
		ASSERT_EQ(0, iou_reap(r, &cqe));
	} else {
		EXPECT_EQ(0, expect_tag(r, 102));
	}
	EXPECT_TRUE(silent(r));
	close(p[0]);
	close(p[1]);
}

/* A tag is posted when the last request that uses the file ends, not at the update. */
TEST_F(rsrc, file_tag_waits_for_requests)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	__u64 tag = 77;
	int p[2], none = -1;
	bool first;

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, files2(r, 1, &p[0], &tag, 0));
	iou_prep(r, IORING_OP_READ, 0, self->buf, 8, 0)->flags = IOSQE_FIXED_FILE;
	ASSERT_EQ(1, iou_submit(r));
	iou_sleep_ms(20);
	ASSERT_EQ(1, files_update(r, 0, 1, &none));
	EXPECT_TRUE(silent(r));
	ASSERT_EQ(2, write(p[1], "ok", 2));
	/* the CQEs of the request and the tag come in either order */
	ASSERT_EQ(0, iou_reap(r, &cqe));
	first = cqe.user_data == 77;
	EXPECT_EQ(first ? 0 : 2, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(first ? 0 : 77, cqe.user_data);
	close(p[0]);
	close(p[1]);
}

/*
 * A tag waits only for users of the file that was in its slot, not for older users of other files.
 * Mutant: tag-waits-for-others.  differences: tag-own-user
 */
TEST_F(rsrc, tag_does_not_wait_for_others)
{
	__u64 tags[2] = { 76, 77 };
	struct iou *r = &self->r;
	int p[2], none = -1;

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, files2(r, 2, p, tags, 0));
	iou_prep(r, IORING_OP_READ, 0, self->buf, 8, 0)->flags = IOSQE_FIXED_FILE;
	ASSERT_EQ(0, iou_submit_issued(r));
	ASSERT_EQ(1, files_update(r, 1, 1, &none));
	/* on 6.12 a tag waits for the tags of earlier updates */
	if (!iou_on_stock())
		EXPECT_EQ(0, expect_tag(r, 77));
	EXPECT_TRUE(silent(r));
	ASSERT_EQ(1, files_update(r, 0, 1, &none));
	EXPECT_TRUE(silent(r));
	ASSERT_EQ(2, write(p[1], "ok", 2));
	ASSERT_EQ(0, iou_wait(r, iou_on_stock() ? 3 : 2));
	iou_seen(r, iou_ready(r));
	EXPECT_TRUE(silent(r));
	close(p[0]);
	close(p[1]);
}

static void *feeder(void *arg)
{
	iou_sleep_ms(100);
	return write(*(int *)arg, "x", 1) == 1 ? arg : NULL;
}

/* Unregistering files does not wait for a read that uses a file; the read holds the file. */
TEST_F(rsrc, unregister_files_in_use)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	pthread_t thread;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, p, 1));
	iou_prep(r, IORING_OP_READ, 0, self->buf, 8, 0)->flags = IOSQE_FIXED_FILE;
	ASSERT_EQ(1, iou_submit(r));
	iou_sleep_ms(20);
	ASSERT_EQ(0, pthread_create(&thread, NULL, feeder, &p[1]));
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_FILES, NULL, 0));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.res);
	pthread_join(thread, NULL);
	/* another table can be registered at once */
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, &self->file[1], 1));
	EXPECT_EQ(1, which(r, 0, 0));
	close(p[0]);
	close(p[1]);
}

TEST_F(rsrc, file_alloc_range)
{
	struct io_uring_file_index_range range = { .off = 2, .len = 2 };
	struct iou *r = &self->r;
	int i, fds[3];

	ASSERT_EQ(0, files2(r, 6, NULL, NULL, IORING_RSRC_REGISTER_SPARSE));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILE_ALLOC_RANGE, &range, 0));
	for (i = 0; i < 3; i++)
		fds[i] = self->file[i];
	/* two files fit, the third finds no free slot */
	iou_prep(r, IORING_OP_FILES_UPDATE, -1, fds, 3, IORING_FILE_INDEX_ALLOC);
	EXPECT_EQ(2, iou_one(r));
	EXPECT_EQ(2, fds[0]);
	EXPECT_EQ(3, fds[1]);
	EXPECT_EQ(0, which(r, 2, 0));
	EXPECT_EQ(1, which(r, 3, 0));
	fds[0] = self->file[3];
	iou_prep(r, IORING_OP_FILES_UPDATE, -1, fds, 1, IORING_FILE_INDEX_ALLOC);
	EXPECT_EQ(-ENFILE, iou_one(r));
	/* without a free slot, a ring, which may not be registered, gets the same error */
	fds[0] = r->fd;
	iou_prep(r, IORING_OP_FILES_UPDATE, -1, fds, 1, IORING_FILE_INDEX_ALLOC);
	EXPECT_EQ(-ENFILE, iou_one(r));
	fds[0] = self->file[3];
	/* the old slot is free again after an update */
	fds[1] = -1;
	ASSERT_EQ(1, files_update(r, 2, 1, &fds[1]));
	iou_prep(r, IORING_OP_FILES_UPDATE, -1, fds, 1, IORING_FILE_INDEX_ALLOC);
	EXPECT_EQ(1, iou_one(r));
	EXPECT_EQ(2, fds[0]);
	/* a slot outside the range can still be used by its number */
	ASSERT_EQ(1, files_update(r, 5, 1, &self->file[2]));
	EXPECT_EQ(2, which(r, 5, 0));
}

/* A thread that updates slot 0 with four files in turn, and empties the slot now and then. */
struct updater {
	struct iou *r;
	int *file;
	bool stop;
	unsigned int rounds;
	int err;
};

static void *update_loop(void *arg)
{
	struct updater *u = arg;
	int none = -1;

	while (!load_acq(&u->stop)) {
		if (files_update(u->r, 0, 1, &u->file[u->rounds % 4]) != 1 ||
		    (u->rounds % 8 == 7 && files_update(u->r, 0, 1, &none) != 1))
			u->err = -EIO;
		u->rounds++;
		sched_yield();
	}
	return NULL;
}

/* Update a slot under load: each read uses one of the files that were in the slot. */
TEST_F(rsrc, update_against_reads)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	struct updater u = { .r = &self->r, .file = self->file };
	unsigned int i, seen = 0, rounds = iou_rounds(500);
	pthread_t thread;
	int ret;

	if (variant->flags & IORING_SETUP_SINGLE_ISSUER)
		SKIP(return, "another thread may not register");
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, self->file, 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, update_loop, &u));
	/* run at least until a read has used each file */
	for (i = 0; i < rounds || (seen != 0xf && iou_now_us() < end); i++) {
		ret = which(&self->r, 0, i % 2 ? IOSQE_ASYNC : 0);
		if (ret == -EBADF)
			continue;
		ASSERT_LE(0, ret);
		seen |= 1 << ret;
	}
	store_rel(&u.stop, true);
	pthread_join(thread, NULL);
	EXPECT_EQ(0xf, seen);
	EXPECT_EQ(0, u.err);
}

static int buffers2(struct iou *r, unsigned int nr, const struct iovec *iov,
		    const __u64 *tags, unsigned int flags)
{
	struct io_uring_rsrc_register rr = {
		.nr = nr, .flags = flags, .data = (uintptr_t)iov,
		.tags = (uintptr_t)tags,
	};

	return iou_register(r, IORING_REGISTER_BUFFERS2, &rr, sizeof(rr));
}

static int buffers_update(struct iou *r, unsigned int off, unsigned int nr,
			  const struct iovec *iov, const __u64 *tags)
{
	struct io_uring_rsrc_update2 up = {
		.offset = off, .nr = nr, .data = (uintptr_t)iov,
		.tags = (uintptr_t)tags,
	};

	return iou_register(r, IORING_REGISTER_BUFFERS_UPDATE, &up, sizeof(up));
}

static int read_fixed(struct iou *r, int fd, unsigned int index, void *addr,
		      unsigned int len, unsigned long long off)
{
	iou_prep(r, IORING_OP_READ_FIXED, fd, addr, len, off)->buf_index = index;
	return iou_one(r);
}

/*
 * Register buffers and empty slots, and update them.
 * Mutant, for 32 bits: compat-buffers-at-double-step.
 */
TEST_F(rsrc, buffers_sparse_and_update)
{
	unsigned char *mem = iou_map_anon(4 * IOU_PAGE);
	struct iovec iov[3] = { { mem, IOU_PAGE }, { NULL, 0 }, { mem + IOU_PAGE, 100 } };
	struct iou *r = &self->r;
	int fd = self->file[0];

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, iov, 3));
	EXPECT_EQ(4096, read_fixed(r, fd, 0, mem, 4096, 0));
	EXPECT_EQ(-1, iou_verify(mem, 4096, 0, SEED));
	EXPECT_EQ(-EFAULT, read_fixed(r, fd, 1, mem, 16, 0));
	EXPECT_EQ(100, read_fixed(r, fd, 2, mem + IOU_PAGE, 100, 50));
	EXPECT_EQ(-1, iou_verify(mem + IOU_PAGE, 100, 50, SEED));
	EXPECT_EQ(-EFAULT, read_fixed(r, fd, 2, mem + IOU_PAGE, 101, 50));
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	EXPECT_EQ(-EFAULT, read_fixed(r, fd, 0, mem, 16, 0));

	ASSERT_EQ(0, buffers2(r, 8, NULL, NULL, IORING_RSRC_REGISTER_SPARSE));
	EXPECT_EQ(-EFAULT, read_fixed(r, fd, 7, mem, 16, 0));
	iov[0] = (struct iovec){ mem + 2 * IOU_PAGE + 1, IOU_PAGE };
	ASSERT_EQ(1, buffers_update(r, 7, 1, iov, NULL));
	EXPECT_EQ(4096, read_fixed(r, fd, 7, mem + 2 * IOU_PAGE + 1, 4096, 0));
	EXPECT_EQ(-1, iou_verify(mem + 2 * IOU_PAGE + 1, 4096, 0, SEED));
	/* the first buffer is valid, the second is not: one slot was updated */
	iov[0] = (struct iovec){ mem, 64 };
	iov[1] = (struct iovec){ mem, 0 };
	EXPECT_EQ(1, buffers_update(r, 0, 2, iov, NULL));
	EXPECT_EQ(64, read_fixed(r, fd, 0, mem, 64, 0));
	munmap(mem, 4 * IOU_PAGE);
}

/*
 * A request of a chain uses an empty slot, which a request ahead in the chain could fill.  It fails
 * in its turn, and requests ahead do not fail.  Mutant: empty-slot-refuses.
 * differences: fixed-at-issue
 */
TEST_F(rsrc, empty_slot_in_a_chain)
{
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	struct iou *r = &self->r;
	char buf[16];
	int i, res[3] = { 1, 1, 1 };

	ASSERT_EQ(0, buffers2(r, 2, NULL, NULL, IORING_RSRC_REGISTER_SPARSE));
	iou_nop(r, 0)->flags = IOSQE_IO_LINK;
	sqe = iou_prep(r, IORING_OP_READ_FIXED, self->file[0], buf, sizeof(buf), 0);
	sqe->flags = IOSQE_IO_LINK;
	sqe->buf_index = 1;
	sqe->user_data = 1;
	iou_nop(r, 2);
	ASSERT_EQ(3, iou_submit_wait(r, 3));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		res[cqe.user_data] = cqe.res;
	}
	EXPECT_EQ(iou_on_older_stock() ? -ECANCELED : 0, res[0]);
	EXPECT_EQ(-EFAULT, res[1]);
	EXPECT_EQ(-ECANCELED, res[2]);
}

/*
 * A request of a chain keeps the buffer that its slot had when the request was submitted.
 * differences: chained-buffer
 */
TEST_F(rsrc, chain_keeps_its_buffer)
{
	unsigned char *mem = iou_map_anon(2 * IOU_PAGE);
	struct iovec iov[2] = { { mem, IOU_PAGE }, { mem + IOU_PAGE, IOU_PAGE } };
	bool at_issue = iou_on_stock() && !iou_on_older_stock();
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	char c;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(8, pwrite(self->file[0], "the data", 8, 0));
	ASSERT_EQ(0, buffers2(r, 1, iov, NULL, 0));
	iou_prep(r, IORING_OP_READ, p[0], &c, 1, 0)->flags = IOSQE_IO_LINK;
	sqe = iou_prep(r, IORING_OP_READ_FIXED, self->file[0], mem, 8, 0);
	sqe->user_data = 1;
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(1, buffers_update(r, 0, 1, &iov[1], NULL));
	ASSERT_EQ(1, write(p[1], "x", 1));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(at_issue ? -EFAULT : 8, cqe.res);
	EXPECT_EQ(at_issue, !!memcmp(mem, "the data", 8));
	close(p[0]);
	close(p[1]);
	munmap(mem, 2 * IOU_PAGE);
}

/*
 * A request without its buffer, or with a range beyond the buffer, does not end the batch.
 * differences: fixed-at-issue
 */
TEST_F(rsrc, no_buffer_in_a_batch)
{
	unsigned char *mem = iou_map_anon(IOU_PAGE);
	struct iovec iov = { mem, 100 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	unsigned int i;

	if (iou_on_older_stock())
		return;
	ASSERT_EQ(0, buffers2(r, 1, &iov, NULL, 0));
	for (i = 0; i < 2; i++) {
		sqe = iou_prep(r, IORING_OP_READ_FIXED, self->file[0], mem + i, 100, 0);
		sqe->buf_index = 1 - i;
		sqe->user_data = 1;
		iou_nop(r, 0);
		ASSERT_EQ(2, iou_submit_wait(r, 2));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data ? -EFAULT : 0, cqe.res);
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data ? -EFAULT : 0, cqe.res);
	}
	munmap(mem, IOU_PAGE);
}

/* differences: unregister-tags */
TEST_F(rsrc, buffer_tags)
{
	unsigned char *mem = iou_map_anon(4 * IOU_PAGE);
	struct iovec iov[2] = { { mem, IOU_PAGE }, { mem + IOU_PAGE, IOU_PAGE } };
	struct iovec none = { NULL, 0 };
	__u64 tags[2] = { 10, 11 }, tag = 20;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	bool first;
	int p[2];

	ASSERT_EQ(0, buffers2(r, 2, iov, tags, 0));
	ASSERT_EQ(1, buffers_update(r, 0, 1, &iov[1], &tag));
	EXPECT_EQ(0, expect_tag(r, 10));
	/* a request uses the buffer: the tag is posted after the request */
	ASSERT_EQ(0, pipe(p));
	sqe = iou_prep(r, IORING_OP_READ_FIXED, p[0], mem + IOU_PAGE, 8, 0);
	sqe->buf_index = 1;
	ASSERT_EQ(1, iou_submit(r));
	iou_sleep_ms(20);
	ASSERT_EQ(1, buffers_update(r, 1, 1, &none, NULL));
	EXPECT_TRUE(silent(r));
	ASSERT_EQ(4, write(p[1], "data", 4));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	first = cqe.user_data == 11;
	EXPECT_EQ(first ? 0 : 4, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(first ? 0 : 11, cqe.user_data);
	EXPECT_EQ(0, memcmp(mem + IOU_PAGE, "data", 4));
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	if (!iou_on_older_stock())
		EXPECT_EQ(0, expect_tag(r, 20));
	EXPECT_TRUE(silent(r));
	close(p[0]);
	close(p[1]);
	munmap(mem, 4 * IOU_PAGE);
}

/*
 * After buffers are unregistered, the kernel does not read into their memory any more.
 * differences: unregister-waits
 */
TEST_F(rsrc, unregister_buffers_waits)
{
	unsigned char *mem = iou_map_anon(2 * IOU_PAGE);
	struct iovec iov = { mem, 2 * IOU_PAGE }, none = { NULL, 0 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	pthread_t thread;
	int i, p[2];

	ASSERT_EQ(0, pipe(p));
	/* in round 0 the buffer is still in its slot, in round 1 an update has removed it */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1));
		iou_prep(r, IORING_OP_READ_FIXED, p[0], mem, 8, 0);
		ASSERT_EQ(1, iou_submit(r));
		iou_sleep_ms(20);
		if (i)
			ASSERT_EQ(1, buffers_update(r, 0, 1, &none, NULL));
		ASSERT_EQ(0, pthread_create(&thread, NULL, feeder, &p[1]));
		ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
		ASSERT_EQ(1, iou_ready(r));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(1, cqe.res);
		EXPECT_EQ('x', mem[0]);
		mem[0] = 0;
		pthread_join(thread, NULL);
	}
	EXPECT_EQ(-ENXIO, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	close(p[0]);
	close(p[1]);
	munmap(mem, 2 * IOU_PAGE);
}

static void on_signal(int sig)
{
}

static void *interrupter(void *arg)
{
	iou_sleep_ms(100);
	/* repeat the signal: it may come before the call */
	while (!load_acq((int *)arg)) {
		kill(getpid(), SIGUSR1);
		iou_sleep_ms(20);
	}
	return arg;
}

/* A signal ends a wait that would not end, and the buffers stay registered. */
TEST_F(rsrc, unregister_buffers_interrupted)
{
	struct sigaction action = { .sa_handler = on_signal };
	unsigned char *mem = iou_map_anon(2 * IOU_PAGE);
	struct iovec iov[2] = { { mem, IOU_PAGE }, { mem + IOU_PAGE, IOU_PAGE } };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	pthread_t thread;
	int p[2], stop = 0;

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, iov, 2));
	iou_prep(r, IORING_OP_READ_FIXED, p[0], mem, 8, 0);
	ASSERT_EQ(1, iou_submit(r));
	iou_sleep_ms(20);
	ASSERT_EQ(0, pthread_create(&thread, NULL, interrupter, &stop));
	EXPECT_EQ(-EINTR, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	store_rel(&stop, 1);
	pthread_join(thread, NULL);
	EXPECT_EQ(-EBUSY, iou_register(r, IORING_REGISTER_BUFFERS, iov, 2));
	EXPECT_EQ(100, read_fixed(r, self->file[0], 0, mem + 100, 100, 0));
	EXPECT_EQ(100, read_fixed(r, self->file[0], 1, mem + IOU_PAGE, 100, 0));
	ASSERT_EQ(1, write(p[1], "x", 1));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.res);
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	close(p[0]);
	close(p[1]);
	munmap(mem, 2 * IOU_PAGE);
}

/* A buffer keeps its pages: a later mapping at the same address does not change the buffer. */
TEST_F(rsrc, buffer_keeps_its_pages)
{
	unsigned char *mem = iou_map_anon(2 * IOU_PAGE), *back;
	struct iovec iov = { mem, 2 * IOU_PAGE };
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;

	memset(mem, 'p', 2 * IOU_PAGE);
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1));
	munmap(mem, 2 * IOU_PAGE);
	sqe = iou_prep(r, IORING_OP_WRITE_FIXED, self->file[0], mem, 100, 0);
	EXPECT_EQ(100, iou_one(r));
	back = iou_map_anon(IOU_PAGE);
	ASSERT_EQ(100, pread(self->file[0], back, 100, 0));
	EXPECT_EQ('p', back[0]);
	EXPECT_EQ('p', back[99]);
	sqe = iou_prep(r, IORING_OP_READ_FIXED, self->file[1], mem, 4096, 0);
	sqe->buf_index = 0;
	EXPECT_EQ(4096, iou_one(r));
	munmap(back, IOU_PAGE);
}

TEST_F(rsrc, clone)
{
	struct io_uring_clone_buffers clone = { };
	unsigned char *mem = iou_map_anon(2 * IOU_PAGE);
	struct iovec iov[2] = { { mem, IOU_PAGE }, { NULL, 0 } };
	__u64 tags[2] = { 5, 0 };
	struct iou *r = &self->r, other;

	ASSERT_EQ(0, iou_init(&other, 8, 0));
	ASSERT_EQ(0, buffers2(&other, 2, iov, tags, 0));
	clone.src_fd = other.fd;
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	EXPECT_EQ(100, read_fixed(r, self->file[0], 0, mem, 100, 0));
	EXPECT_EQ(-1, iou_verify(mem, 100, 0, SEED));
	EXPECT_EQ(-EFAULT, read_fixed(r, self->file[0], 1, mem, 100, 0));
	/* the copy outlives the original */
	ASSERT_EQ(0, iou_register(&other, IORING_UNREGISTER_BUFFERS, NULL, 0));
	iou_exit(&other);
	EXPECT_EQ(100, read_fixed(r, self->file[1], 0, mem, 100, 0));
	EXPECT_EQ(-1, iou_verify(mem, 100, 0, SEED + 1));
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	EXPECT_TRUE(silent(r));
	munmap(mem, 2 * IOU_PAGE);
}

TEST_F(rsrc, clone_by_index)
{
	struct io_uring_clone_buffers clone = { .flags = IORING_REGISTER_SRC_REGISTERED };
	struct io_uring_rsrc_update slot = { .offset = 3 };
	unsigned char *mem = iou_map_anon(IOU_PAGE);
	struct iovec iov = { mem, IOU_PAGE };
	struct iou *r = &self->r, other;

	ASSERT_EQ(0, iou_init(&other, 8, 0));
	ASSERT_EQ(0, iou_register(&other, IORING_REGISTER_BUFFERS, &iov, 1));
	slot.data = other.fd;
	ASSERT_EQ(1, iou_register(&other, IORING_REGISTER_RING_FDS, &slot, 1));
	clone.src_fd = 3;
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	EXPECT_EQ(100, read_fixed(r, self->file[0], 0, mem, 100, 0));
	clone.src_fd = 4;
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	EXPECT_EQ(-EBADF, iou_register(r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	iou_exit(&other);
	munmap(mem, IOU_PAGE);
}

#define CLONED		4
#define CLONE_SLOTS	8

/* A ring with buffers, of which each is a page and the third is empty, in memory of its own */
struct clone_ring {
	struct iou r;
	unsigned char *mem;
};

static int clone_ring_init(struct clone_ring *c, unsigned int nr)
{
	struct iovec iov[CLONE_SLOTS] = { };
	unsigned int i;

	c->mem = iou_map_anon(CLONE_SLOTS * IOU_PAGE);
	for (i = 0; i < nr; i++)
		if (i != 2)
			iov[i] = (struct iovec){ c->mem + i * IOU_PAGE, IOU_PAGE };
	if (iou_init(&c->r, CLONE_SLOTS, 0))
		return -1;
	return nr ? iou_register(&c->r, IORING_REGISTER_BUFFERS, iov, nr) : 0;
}

static void clone_ring_exit(struct clone_ring *c)
{
	iou_exit(&c->r);
	munmap(c->mem, CLONE_SLOTS * IOU_PAGE);
}

/* Return: the buffer in @slot, as a letter for @from, a digit for @own, and '-' for none. */
static char cloned_buffer(struct iou *r, int file, unsigned int slot, const unsigned char *from,
			  const unsigned char *own)
{
	unsigned int i;

	for (i = 0; i < CLONE_SLOTS; i++) {
		if (read_fixed(r, file, slot, (void *)(from + i * IOU_PAGE), 8, 0) == 8)
			return 'a' + i;
		if (own && read_fixed(r, file, slot, (void *)(own + i * IOU_PAGE), 8, 0) == 8)
			return '0' + i;
	}
	return '-';
}

#define REPLACE		IORING_REGISTER_DST_REPLACE

/*
 * Clone a part of a table into a part of another, or of the same one.  Results and slots are those
 * of 7.3.  Mutants: clone-loses-rest, clone-from-first.
 */
TEST_F(rsrc, clone_slots)
{
	static const struct {
		unsigned int own, flags, src_off, dst_off, nr;
		int ret;
		const char *slots;
		bool same;
	} tries[] = {
		{ 0, 0, 0, 0, 0, 0, "ab-d----" },
		{ 0, 0, 1, 0, 0, -EINVAL, "--------" },
		{ 0, 0, 0, 1, 0, -EINVAL, "--------" },
		{ 0, 0, 0, 0, 2, 0, "ab------" },
		{ 0, 0, 1, 3, 3, 0, "---b-d--" },
		{ 0, 0, 2, 3, 3, -EOVERFLOW, "--------" },
		{ 0, 0, 0, 0, 5, -EINVAL, "--------" },
		{ 0, 0, 9, 0, 1, -EOVERFLOW, "--------" },
		{ 0, 0, ~0U, 0, 2, -EOVERFLOW, "--------" },
		{ 0, 0, 0, ~0U, 2, -EOVERFLOW, "--------" },
		{ 0, 0, 0, 16384, 1, -EINVAL, "--------" },
		{ 0, 0, 0, 16383, 1, 0, "--------" },
		{ 0, 0, 0, 16383, 2, -EINVAL, "--------" },
		{ 0, REPLACE, 1, 2, 1, 0, "--b-----" },
		{ 3, 0, 0, 0, 0, -EBUSY, "01------" },
		{ 3, 0, 0, 5, 1, -EBUSY, "01------" },
		{ 3, 4, 0, 0, 0, -EINVAL, "01------" },
		{ 3, REPLACE, 0, 0, 0, 0, "ab-d----" },
		{ 3, REPLACE, 2, 1, 1, 0, "0-------" },
		{ 3, REPLACE, 0, 2, 3, 0, "01ab----" },
		{ 3, REPLACE, 0, 5, 2, 0, "01---ab-" },
		{ 3, REPLACE, 0, 0, 9, -EINVAL, "01------" },
		{ 3, REPLACE, 4, 0, 1, -EOVERFLOW, "01------" },
		{ 6, REPLACE, 0, 1, 2, 0, "0ab345--" },
		{ 6, REPLACE, 0, 0, 0, 0, "ab-d45--" },
		{ 0, 0, 0, 0, 0, -EBUSY, "ab-d----", true },
		{ 0, REPLACE, 0, 0, 0, 0, "ab-d----", true },
		{ 0, REPLACE, 0, 1, 3, 0, "aab-----", true },
		{ 0, REPLACE, 1, 0, 3, 0, "b-dd----", true },
		{ 0, REPLACE, 0, 3, 4, 0, "ab-ab-d-", true },
	};
	struct io_uring_clone_buffers clone;
	struct clone_ring from, to;
	unsigned int i, s;
	char slots[CLONE_SLOTS + 1] = "";
	struct iou *r;

	/* differences: none, an addition of 6.13 */
	if (iou_on_older_stock())
		SKIP(return, "6.12 clones whole tables");
	for (i = 0; i < ARRAY_LEN(tries); i++) {
		ASSERT_EQ(0, clone_ring_init(&from, CLONED));
		ASSERT_EQ(0, clone_ring_init(&to, tries[i].own));
		r = tries[i].same ? &from.r : &to.r;
		clone = (struct io_uring_clone_buffers){
			.src_fd = from.r.fd, .flags = tries[i].flags, .src_off = tries[i].src_off,
			.dst_off = tries[i].dst_off, .nr = tries[i].nr,
		};
		EXPECT_EQ(tries[i].ret, iou_register(r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1)) {
			TH_LOG("try %u", i);
		}
		for (s = 0; s < CLONE_SLOTS; s++)
			slots[s] = cloned_buffer(r, self->file[0], s, from.mem,
						 tries[i].same ? NULL : to.mem);
		EXPECT_STREQ(tries[i].slots, slots) {
			TH_LOG("try %u", i);
		}
		clone_ring_exit(&from);
		clone_ring_exit(&to);
	}
}

/*
 * A clone that replaces a buffer posts the buffer's tag.  A buffer that stays keeps its tag.
 * Mutant: clone-drops-tags.
 */
TEST_F(rsrc, clone_over_tags)
{
	unsigned char *mem = iou_map_anon(2 * IOU_PAGE);
	struct iovec iov[2] = { { mem, IOU_PAGE }, { mem + IOU_PAGE, IOU_PAGE } };
	struct io_uring_clone_buffers clone = { .flags = REPLACE, .dst_off = 1, .nr = 1 };
	__u64 tags[2] = { 5, 6 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	/* differences: none, an addition of 6.13 */
	if (iou_on_older_stock())
		SKIP(return, "6.12 clones whole tables");
	ASSERT_EQ(0, buffers2(r, 2, iov, tags, 0));
	clone.src_fd = r->fd;
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(6, cqe.user_data);
	EXPECT_EQ(0, cqe.res);
	EXPECT_TRUE(silent(r));
	clone.dst_off = 2;
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	EXPECT_TRUE(silent(r));
	EXPECT_EQ(100, read_fixed(r, self->file[0], 1, mem, 100, 0));
	EXPECT_EQ(100, read_fixed(r, self->file[0], 2, mem, 100, 0));
	/* the tag of the first slot is still there */
	iov[0].iov_base = NULL;
	iov[0].iov_len = 0;
	ASSERT_EQ(1, buffers_update(r, 0, 1, iov, NULL));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(5, cqe.user_data);
	munmap(mem, 2 * IOU_PAGE);
}

static void *unregister_buffers(void *arg)
{
	return (void *)(long)iou_register(arg, IORING_UNREGISTER_BUFFERS, NULL, 0);
}

/* A table that is being unregistered is not replaced.  Mutant: clone-over-leaving. */
TEST_F(rsrc, clone_beside_unregister)
{
	struct io_uring_clone_buffers clone = { .flags = REPLACE };
	unsigned char *mem = iou_map_anon(IOU_PAGE);
	struct iovec iov = { mem, IOU_PAGE };
	struct iou *r = &self->r, other;
	struct io_uring_cqe cqe;
	pthread_t thread;
	void *ret;
	int p[2];

	/* differences: none, an addition of 6.13, and 7.3 does not wait */
	if (iou_on_stock())
		SKIP(return, "stock does not wait for users");
	/* only one task may unregister */
	if (variant->flags & IORING_SETUP_SINGLE_ISSUER)
		return;
	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, iou_init(&other, 8, 0));
	clone.src_fd = other.fd;
	ASSERT_EQ(0, iou_register(&other, IORING_REGISTER_BUFFERS, &iov, 1));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1));
	iou_prep(r, IORING_OP_READ_FIXED, p[0], mem, 8, 0);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, pthread_create(&thread, NULL, unregister_buffers, r));
	iou_sleep_ms(100);
	EXPECT_EQ(-EBUSY, iou_register(r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	ASSERT_EQ(1, write(p[1], "x", 1));
	pthread_join(thread, &ret);
	EXPECT_EQ(0, (long)ret);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.res);
	EXPECT_EQ(0, iou_register(r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	iou_exit(&other);
	close(p[0]);
	close(p[1]);
	munmap(mem, IOU_PAGE);
}

/*
 * A buffer lies in large pages, in small pages, or in repeats of one page.  Each byte
 * has to reach its place.
 *
 *   file:  pattern of 2 MiB     buffer:  any start, any length
 */
FIXTURE(layout) {
	struct iou r;
	int fd;
	unsigned char *mem;
	size_t len;
};

FIXTURE_VARIANT(layout) {
	int kind;
};

enum { SMALL, THP, HUGETLB, ONE_PAGE_REPEATED, MIXED, SHMEM };

FIXTURE_VARIANT_ADD(layout, small) {
	.kind = SMALL,
};

FIXTURE_VARIANT_ADD(layout, thp) {
	.kind = THP,
};

FIXTURE_VARIANT_ADD(layout, hugetlb) {
	.kind = HUGETLB,
};

FIXTURE_VARIANT_ADD(layout, one_page_repeated) {
	.kind = ONE_PAGE_REPEATED,
};

FIXTURE_VARIANT_ADD(layout, mixed) {
	.kind = MIXED,
};

FIXTURE_VARIANT_ADD(layout, shmem) {
	.kind = SHMEM,
};

static unsigned char *aligned(size_t len)
{
	char *mem = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		return NULL;
	return (void *)(((uintptr_t)mem + HUGE - 1) & ~(HUGE - 1));
}

static unsigned char *layout_memory(int kind, size_t *len)
{
	unsigned char *mem = NULL;
	unsigned int i;
	int fd;

	*len = 2 * HUGE;
	switch (kind) {
	case SMALL:
		mem = aligned(*len);
		madvise(mem, *len, MADV_NOHUGEPAGE);
		break;
	case THP:
		mem = aligned(*len);
		madvise(mem, *len, MADV_HUGEPAGE);
		break;
	case HUGETLB:
		iou_put("/proc/sys/vm/nr_hugepages", "4");
		mem = mmap(NULL, *len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE,
			   -1, 0);
		if (mem == MAP_FAILED)
			return NULL;
		break;
	case ONE_PAGE_REPEATED:
		*len = 64 * IOU_PAGE;
		mem = aligned(*len);
		fd = memfd_create("page", 0);
		if (ftruncate(fd, IOU_PAGE))
			return NULL;
		for (i = 0; i < 64; i++)
			mmap(mem + i * IOU_PAGE, IOU_PAGE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_FIXED, fd, 0);
		close(fd);
		break;
	case MIXED:
		/* a large page between two halves of small ones */
		mem = aligned(*len);
		madvise(mem, HUGE, MADV_HUGEPAGE);
		madvise(mem + HUGE, HUGE, MADV_NOHUGEPAGE);
		break;
	case SHMEM:
		fd = memfd_create("shmem", 0);
		if (ftruncate(fd, *len))
			return NULL;
		mem = mmap(NULL, *len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		break;
	}
	return mem;
}

FIXTURE_SETUP(layout)
{
	self->r.fd = -1;
	self->mem = layout_memory(variant->kind, &self->len);
	if (!self->mem)
		SKIP(return, "no memory of that kind");
	memset(self->mem, 0, self->len);
	self->fd = iou_file(4 * HUGE, SEED);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, iou_init(&self->r, 8, 0));
}

FIXTURE_TEARDOWN(layout)
{
	iou_exit(&self->r);
	close(self->fd);
	munmap(self->mem, self->len);
	if (variant->kind == HUGETLB)
		iou_put("/proc/sys/vm/nr_hugepages", "0");
}

static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 8;
}

/* Register a part of the memory, read into a part of the buffer, and check each byte. */
TEST_F(layout, any_start_any_length)
{
	unsigned int round, rounds = iou_rounds(150), state = 1;
	unsigned char *mem = self->mem;
	struct iou *r = &self->r;
	size_t start, len, at, n;
	struct iovec iov;

	for (round = 0; round < rounds; round++) {
		start = next_random(&state) % self->len;
		len = next_random(&state) % (self->len - start) + 1;
		/* errors are likely at the edges of pages */
		if (round % 4 == 1)
			start &= ~(IOU_PAGE - 1);
		if (round % 4 == 2)
			start = (start & ~(IOU_PAGE - 1)) + IOU_PAGE - 1;
		if (start + len > self->len)
			len = self->len - start;
		at = round % 3 ? next_random(&state) % len : 0;
		n = round % 5 ? next_random(&state) % (len - at) + 1 : len - at;
		if (n > 300000)
			n = 300000;
		iov = (struct iovec){ mem + start, len };
		ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1));
		if (variant->kind == ONE_PAGE_REPEATED) {
			/* the last writer of a byte wins: compare with read() */
			unsigned char *want = malloc(IOU_PAGE);

			memset(mem, 0, IOU_PAGE);
			ASSERT_EQ(n, pread(self->fd, mem + start + at, n, round));
			memcpy(want, mem, IOU_PAGE);
			memset(mem, 0, IOU_PAGE);
			ASSERT_EQ(n, read_fixed(r, self->fd, 0, mem + start + at, n,
						round));
			ASSERT_EQ(0, memcmp(want, mem, IOU_PAGE));
			free(want);
		} else {
			ASSERT_EQ(n, read_fixed(r, self->fd, 0, mem + start + at, n,
						round));
			ASSERT_EQ(-1, iou_verify(mem + start + at, n, round, SEED)) {
				TH_LOG("start %zx len %zx at %zx n %zx", start, len,
				       at, n);
			}
			memset(mem + start + at, 0, n);
		}
		EXPECT_EQ(-EFAULT, read_fixed(r, self->fd, 0, mem + start + len, 1, 0));
		EXPECT_EQ(-EFAULT, read_fixed(r, self->fd, 0, mem + start - 1, 1, 0));
		ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	}
}

/* The parts of a vector are anywhere in segments of any size.  Mutant: parts-of-large-pages. */
TEST_F(layout, vector)
{
	unsigned int i, round, rounds = iou_rounds(100), state = 1;
	struct iovec whole = { self->mem + 100, self->len - 300 };
	const size_t room = whole.iov_len / 4;
	struct iou *r = &self->r;
	struct iovec iov[4];
	size_t at, len;

	/* differences: none, 6.12 has no READV_FIXED */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_READV_FIXED");
	if (variant->kind == ONE_PAGE_REPEATED)
		SKIP(return, "all places are neighbours");
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &whole, 1));
	for (round = 0; round < rounds; round++) {
		/* one part in each quarter of the buffer, the last quarter first */
		for (i = 0, len = 0; i < ARRAY_LEN(iov); i++) {
			unsigned char *part = whole.iov_base + (3 - i) * room;
			size_t from = next_random(&state) % room;

			iov[i].iov_base = part + from;
			iov[i].iov_len = next_random(&state) % (room - from) + 1;
			if (iov[i].iov_len > 50000)
				iov[i].iov_len = 50000;
			len += iov[i].iov_len;
		}
		iou_prep(r, IORING_OP_READV_FIXED, self->fd, iov, ARRAY_LEN(iov), round);
		ASSERT_EQ(len, iou_one(r));
		for (i = 0, at = round; i < ARRAY_LEN(iov); at += iov[i++].iov_len) {
			ASSERT_EQ(-1, iou_verify(iov[i].iov_base, iov[i].iov_len, at, SEED)) {
				TH_LOG("round %u, part %u", round, i);
			}
			memset(iov[i].iov_base, 0, iov[i].iov_len);
		}
		for (at = 0; at < self->len; at++)
			ASSERT_EQ(0, self->mem[at]);
	}
}

/* A read does not write outside its part of the buffer. */
TEST_F(layout, neighbours_stay)
{
	struct iou *r = &self->r;
	struct iovec iov;
	size_t i, at = self->len / 2 - 5000;

	if (variant->kind == ONE_PAGE_REPEATED)
		SKIP(return, "all places are neighbours");
	memset(self->mem, 0x5a, self->len);
	iov = (struct iovec){ self->mem, self->len };
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1));
	ASSERT_EQ(10000, read_fixed(r, self->fd, 0, self->mem + at, 10000, 0));
	for (i = 0; i < at; i++)
		ASSERT_EQ(0x5a, self->mem[i]);
	ASSERT_EQ(-1, iou_verify(self->mem + at, 10000, 0, SEED));
	for (i = at + 10000; i < self->len; i++)
		ASSERT_EQ(0x5a, self->mem[i]);
}

/* Pinned pages are counted, and the count is undone when the buffers are freed. */
TEST_F(layout, pinned_pages_come_back)
{
	long before = iou_status(getpid(), "VmPin"), pinned;
	struct iou *r = &self->r;
	struct iovec iov[2] = {
		{ self->mem, self->len }, { self->mem, self->len },
	};
	unsigned int i;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, iov, 1 + i % 2));
		pinned = iou_status(getpid(), "VmPin") - before;
		/* a page that repeats in small pages is counted each time */
		EXPECT_LE(variant->kind == THP ? 0 : self->len / 1024, pinned);
		ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
		EXPECT_EQ(before, iou_status(getpid(), "VmPin"));
	}
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, iov, 2));
	iou_exit(r);
	/* the ring ends a little later */
	for (i = 0; i < 200 && iou_status(getpid(), "VmPin") != before; i++)
		iou_sleep_ms(10);
	EXPECT_EQ(before, iou_status(getpid(), "VmPin"));
}

/* Return: VmPin once it is at most @kb, or after some time: rings and requests end late. */
static long pinned_kb(long kb)
{
	unsigned int i;

	for (i = 0; i < 200 && iou_status(getpid(), "VmPin") > kb; i++)
		iou_sleep_ms(10);
	return iou_status(getpid(), "VmPin");
}

/*
 * A large page is pinned and counted until the last buffer in it is freed, in any order.
 * differences: large-page-charged
 */
TEST_F(layout, counted_until_the_last_user)
{
	struct io_uring_clone_buffers clone = { .src_fd = self->r.fd };
	long before = iou_status(getpid(), "VmPin"), all = self->len / 1024;
	struct iovec iov[2] = { { self->mem, self->len }, { self->mem + 1, IOU_PAGE } };
	struct iou *r = &self->r, other;
	struct iovec none = { NULL, 0 };

	if (variant->kind != HUGETLB)
		SKIP(return, "not made of large pages for sure");
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, iov, 2));
	EXPECT_EQ(before + all, iou_status(getpid(), "VmPin"));
	/* the buffer that was charged is freed, but the other buffer still holds a page */
	ASSERT_EQ(1, buffers_update(r, 0, 1, &none, NULL));
	if (!iou_on_stock())
		EXPECT_EQ(before + (long)(HUGE / 1024), pinned_kb(before + HUGE / 1024));
	ASSERT_EQ(1, buffers_update(r, 0, 1, iov, NULL));
	if (!iou_on_stock())
		EXPECT_EQ(before + all, iou_status(getpid(), "VmPin"));

	/* the page stays counted if the other buffer is of another ring */
	ASSERT_EQ(0, iou_init(&other, 8, 0));
	ASSERT_EQ(0, iou_register(&other, IORING_REGISTER_CLONE_BUFFERS, &clone, 1));
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	if (!iou_on_stock())
		EXPECT_EQ(before + all, iou_status(getpid(), "VmPin"));
	iou_exit(r);
	ASSERT_EQ(1, buffers_update(&other, 0, 1, &none, NULL));
	if (!iou_on_stock())
		EXPECT_EQ(before + (long)(HUGE / 1024), pinned_kb(before + HUGE / 1024));
	iou_exit(&other);
	EXPECT_EQ(before, pinned_kb(before));
}

/* A task above a lowered limit can still register a buffer that needs no further charge. */
static int over_the_limit(void)
{
	struct rlimit limit = { 2 * HUGE, 2 * HUGE };
	struct iovec iov[2], none = { NULL, 0 };
	unsigned char *mem;
	struct iou r;

	mem = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED)
		return 1;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(4243) || setuid(4243) ||
	    iou_init(&r, 8, 0))
		return 2;
	iov[0] = (struct iovec){ mem, IOU_PAGE };
	iov[1] = none;
	if (iou_register(&r, IORING_REGISTER_BUFFERS, iov, 2))
		return 3;
	limit.rlim_cur = IOU_PAGE;
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		return 4;
	/* the large page is charged already */
	iov[0].iov_base = mem + IOU_PAGE;
	if (buffers_update(&r, 1, 1, &iov[0], NULL) != 1)
		return 5;
	mem = iou_map_anon(IOU_PAGE);
	iov[0].iov_base = mem;
	if (buffers_update(&r, 1, 1, &iov[0], NULL) != -ENOMEM)
		return 6;
	return 0;
}

/* A vector in large pages may have as many bytes as a transfer.  Mutant: vector-of-many-bytes. */
TEST(vector_of_many_bytes)
{
	int null = open("/dev/null", O_WRONLY);
	struct iovec whole, iov[1024];
	unsigned int i;
	struct iou r;
	size_t len;

	/* differences: none, 6.12 has no WRITEV_FIXED */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_WRITEV_FIXED");
	whole.iov_base = layout_memory(HUGETLB, &len);
	whole.iov_len = len;
	ASSERT_NE(NULL, whole.iov_base);
	ASSERT_EQ(0, iou_init(&r, 4, 0));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_BUFFERS, &whole, 1));
	for (i = 0; i < ARRAY_LEN(iov); i++)
		iov[i] = (struct iovec){ whole.iov_base, HUGE };
	iou_prep(&r, IORING_OP_WRITEV_FIXED, null, iov, 1023, 0);
	EXPECT_EQ(1023 * (int)HUGE, iou_one(&r));
	iou_prep(&r, IORING_OP_WRITEV_FIXED, null, iov, 1024, 0);
	EXPECT_EQ(-EINVAL, iou_one(&r));
	iov[1023].iov_base = whole.iov_base + HUGE + 1;
	iou_prep(&r, IORING_OP_WRITEV_FIXED, null, iov, 1024, 0);
	EXPECT_EQ(-EFAULT, iou_one(&r));
	iou_exit(&r);
	close(null);
	munmap(whole.iov_base, len);
	iou_put("/proc/sys/vm/nr_hugepages", "0");
}

TEST(buffer_that_costs_nothing)
{
	int status, pid;

	if (getuid())
		SKIP(return, "needs to become another user");
	ASSERT_EQ(0, iou_put("/proc/sys/vm/nr_hugepages", "8"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(over_the_limit());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("step %d", WEXITSTATUS(status));
	}
}

/* The limit of an ordinary user applies to all of the user's rings together. */
static int limited_child(void)
{
	struct rlimit limit = { 64 * IOU_PAGE, 64 * IOU_PAGE };
	unsigned char *mem;
	struct iovec iov;
	struct iou a, b;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(4242) || setuid(4242))
		return 1;
	if (iou_init(&a, 8, 0) || iou_init(&b, 8, 0))
		return 2;
	mem = iou_map_anon(128 * IOU_PAGE);
	iov = (struct iovec){ mem, 65 * IOU_PAGE };
	if (iou_register(&a, IORING_REGISTER_BUFFERS, &iov, 1) != -ENOMEM)
		return 3;
	iov.iov_len = 40 * IOU_PAGE;
	if (iou_register(&a, IORING_REGISTER_BUFFERS, &iov, 1))
		return 4;
	iov = (struct iovec){ mem + 64 * IOU_PAGE, 40 * IOU_PAGE };
	if (iou_register(&b, IORING_REGISTER_BUFFERS, &iov, 1) != -ENOMEM)
		return 5;
	if (iou_register(&a, IORING_UNREGISTER_BUFFERS, NULL, 0))
		return 6;
	if (iou_register(&b, IORING_REGISTER_BUFFERS, &iov, 1))
		return 7;
	iou_exit(&b);
	/* the exit of a ring undoes the charge, though not at once */
	for (int i = 0; i < 300; i++) {
		if (!iou_register(&a, IORING_REGISTER_BUFFERS, &iov, 1))
			return 0;
		iou_sleep_ms(10);
	}
	return 8;
}

TEST(memlock_limit)
{
	int status, pid;

	if (getuid())
		SKIP(return, "needs to become another user");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(limited_child());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("step %d", WEXITSTATUS(status));
	}
}

/* Files that were in slots and requests do not keep a file system from being unmounted. */
TEST(umount_after_use)
{
	char dir[] = "/tmp/iou.umount.XXXXXX", path[64], buf[64] = "x";
	struct iou r;
	int i, fd;

	if (!mkdtemp(dir) || mount("none", dir, "tmpfs", 0, NULL))
		SKIP(return, "needs to mount");
	ASSERT_EQ(0, iou_init(&r, 8, 0));
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_FILES, &fd, 1));
	for (i = 0; i < 8; i++) {
		struct io_uring_sqe *sqe;

		sqe = iou_prep(&r, i & 1 ? IORING_OP_READ : IORING_OP_WRITE,
			       i & 2 ? 0 : fd, buf, 64, 0);
		sqe->flags = (i & 2 ? IOSQE_FIXED_FILE : 0) | (i & 4 ? IOSQE_ASYNC : 0);
		EXPECT_EQ(64, iou_one(&r));
	}
	close(fd);
	EXPECT_NE(0, umount(dir));
	ASSERT_EQ(0, iou_register(&r, IORING_UNREGISTER_FILES, NULL, 0));
	for (i = 0; i < 200 && umount(dir); i++)
		iou_sleep_ms(10);
	EXPECT_GT(200, i);
	rmdir(dir);
	iou_exit(&r);
}

/* A ring cannot be registered in a ring, or sent over a socket. */
TEST(rings_do_not_nest)
{
	char control[CMSG_SPACE(sizeof(int))] = { };
	struct iovec iov = { "x", 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct iou a, b;
	int s[2];

	ASSERT_EQ(0, iou_init(&a, 8, 0));
	ASSERT_EQ(0, iou_init(&b, 8, 0));
	EXPECT_EQ(-EBADF, iou_register(&a, IORING_REGISTER_FILES, &b.fd, 1));
	ASSERT_EQ(0, files2(&a, 2, NULL, NULL, IORING_RSRC_REGISTER_SPARSE));
	EXPECT_EQ(-EBADF, files_update(&a, 0, 1, &b.fd));
	EXPECT_EQ(-EBADF, files_update(&a, 0, 1, &a.fd));
	iou_prep(&a, IORING_OP_FILES_UPDATE, -1, &b.fd, 1, 0);
	EXPECT_EQ(-EBADF, iou_one(&a));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &a.fd, sizeof(int));
	EXPECT_EQ(-1, sendmsg(s[0], &msg, 0));
	EXPECT_EQ(EINVAL, errno);
	iou_exit(&a);
	iou_exit(&b);
}

/*
 * A thread handles a page fault of the submitter, but first it waits for a completion of
 * the same ring.  So no task may delay this completion.
 *
 *   worker:    WRITE from page 0, which is missing ... waits in the fault
 *   submitter: reads page 1, also missing ... waits in the fault, in enter
 *   handler:   supplies page 0, waits for the worker's CQE in ring memory, and
 *              only then supplies page 1
 */
struct handler {
	struct iou *r;
	int uffd;
	char *hole, *pages;
	bool worker_waits;
	int err;
};

static unsigned long fault_address(int uffd)
{
	struct uffd_msg msg;

	if (read(uffd, &msg, sizeof(msg)) != sizeof(msg))
		return 0;
	return msg.arg.pagefault.address & ~(IOU_PAGE - 1);
}

static int give_page(struct handler *h, unsigned int nr)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)h->hole + nr * IOU_PAGE,
		.src = (uintptr_t)h->pages + nr * IOU_PAGE,
		.len = IOU_PAGE,
	};

	return ioctl(h->uffd, UFFDIO_COPY, &copy);
}

static void *handle_faults(void *arg)
{
	struct handler *h = arg;
	unsigned long long end;

	if (fault_address(h->uffd) != (unsigned long)h->hole)
		h->err = 1;
	store_rel(&h->worker_waits, true);
	if (fault_address(h->uffd) != (unsigned long)h->hole + IOU_PAGE)
		h->err = 2;
	if (give_page(h, 0))
		h->err = 3;
	end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	while (!iou_ready(h->r) && iou_now_us() < end)
		sched_yield();
	if (!iou_ready(h->r))
		h->err = 4;
	if (give_page(h, 1))
		h->err = 5;
	return NULL;
}

FIXTURE(fault) {
	struct handler h;
	struct iou r;
	int fd;
};

FIXTURE_VARIANT(fault) {
	bool in_prep;		/* the missing page has the iovec, not the data */
};

FIXTURE_VARIANT_ADD(fault, in_prep) {
	.in_prep = true,
};

FIXTURE_VARIANT_ADD(fault, in_issue) {
	.in_prep = false,
};

FIXTURE_SETUP(fault)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct handler *h = &self->h;

	self->r.fd = -1;
	h->uffd = syscall(__NR_userfaultfd, O_CLOEXEC);
	if (h->uffd < 0 || ioctl(h->uffd, UFFDIO_API, &api))
		SKIP(return, "needs userfaultfd");
	h->r = &self->r;
	h->pages = iou_map_anon(2 * IOU_PAGE);
	h->hole = mmap(NULL, 2 * IOU_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)h->hole;
	reg.range.len = 2 * IOU_PAGE;
	ASSERT_EQ(0, ioctl(h->uffd, UFFDIO_REGISTER, &reg));
	self->fd = memfd_create("fault", 0);
	ASSERT_EQ(0, iou_init(&self->r, 8, 0));
}

FIXTURE_TEARDOWN(fault)
{
	iou_exit(&self->r);
	close(self->h.uffd);
	close(self->fd);
}

TEST_F(fault, worker_completes_meanwhile)
{
	char *second = self->h.hole + IOU_PAGE;
	struct handler *h = &self->h;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	pthread_t thread;
	unsigned int seen = 0;
	int i, p[2];

	ASSERT_EQ(0, pthread_create(&thread, NULL, handle_faults, h));
	iou_prep(r, IORING_OP_WRITE, self->fd, h->hole, 100, 0)->flags = IOSQE_ASYNC;
	ASSERT_EQ(1, iou_submit(r));
	while (!load_acq(&h->worker_waits))
		sched_yield();
	/* the submitter itself writes to a pipe with room */
	ASSERT_EQ(0, pipe(p));
	if (variant->in_prep)
		iou_prep(r, IORING_OP_READV, self->fd, second, 1, 0)->user_data = 1;
	else
		iou_prep(r, IORING_OP_WRITE, p[1], second, 100, 0)->user_data = 1;
	ASSERT_EQ(1, iou_submit(r));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, h->err);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		/* the iovec is a page of zeroes: nothing is read */
		EXPECT_EQ(cqe.user_data && variant->in_prep ? 0 : 100, cqe.res);
		seen |= 1 << cqe.user_data;
	}
	EXPECT_EQ(3, seen);
	close(p[0]);
	close(p[1]);
}

TEST_HARNESS_MAIN
