// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: SPLICE and TEE - data between pipes and files */
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "iou_test.h"

enum { IN_READ, IN_WRITE, OUT_READ, OUT_WRITE, FILE_SLOT, SLOTS };

FIXTURE(splice) {
	struct iou r;
	int fds[SLOTS];
};

FIXTURE_VARIANT(splice) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS(splice);
IOU_KINDS_ASYNC(splice);

FIXTURE_SETUP(splice)
{
	ASSERT_EQ(0, pipe(&self->fds[IN_READ]));
	ASSERT_EQ(0, pipe(&self->fds[OUT_READ]));
	self->fds[FILE_SLOT] = iou_file(8192, 7);
	ASSERT_LE(0, self->fds[FILE_SLOT]);
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, self->fds, SLOTS));
}

FIXTURE_TEARDOWN(splice)
{
	unsigned int i;

	iou_exit(&self->r);
	for (i = 0; i < SLOTS; i++)
		close(self->fds[i]);
}

/* Prepare a SPLICE or TEE.  @in is a descriptor, or with SPLICE_F_FD_IN_FIXED a slot. */
static struct io_uring_sqe *prep_splice(struct iou *r, unsigned int f, int op, int in,
					long long off_in, int out, long long off_out,
					unsigned int len, unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, out, NULL, len, off_out);

	sqe->splice_off_in = off_in;
	sqe->splice_fd_in = in;
	sqe->splice_flags = flags;
	sqe->flags = f;
	return sqe;
}

static int do_splice(struct iou *r, unsigned int f, int in, long long off_in, int out,
		     long long off_out, unsigned int len, unsigned int flags)
{
	prep_splice(r, f, IORING_OP_SPLICE, in, off_in, out, off_out, len, flags);
	return iou_one(r);
}

static int do_tee(struct iou *r, unsigned int f, int in, int out, unsigned int len,
		  unsigned int flags)
{
	prep_splice(r, f, IORING_OP_TEE, in, 0, out, 0, len, flags);
	return iou_one(r);
}

/* Move data between files, all given as descriptors, or with @fixed as slots. */
static void move_data(struct __test_metadata *_metadata, struct iou *r, unsigned int f,
		      const int *fds, bool fixed)
{
	unsigned int flags = fixed ? SPLICE_F_FD_IN_FIXED : 0, i;
	int at[SLOTS];
	char buf[8192];

	for (i = 0; i < SLOTS; i++)
		at[i] = fixed ? (int)i : fds[i];
	f |= fixed ? IOSQE_FIXED_FILE : 0;

	/* move data from the file to a pipe, at an offset and then at the file's own position */
	EXPECT_EQ(4096, do_splice(r, f, at[FILE_SLOT], 100, at[IN_WRITE], -1, 4096, flags));
	EXPECT_EQ(4096, read(fds[IN_READ], buf, sizeof(buf)));
	EXPECT_EQ(-1, iou_verify(buf, 4096, 100, 7));
	lseek(fds[FILE_SLOT], 1000, SEEK_SET);
	EXPECT_EQ(64, do_splice(r, f, at[FILE_SLOT], -1, at[IN_WRITE], -1, 64, flags));
	EXPECT_EQ(1064, lseek(fds[FILE_SLOT], 0, SEEK_CUR));
	EXPECT_EQ(64, read(fds[IN_READ], buf, sizeof(buf)));
	EXPECT_EQ(-1, iou_verify(buf, 64, 1000, 7));
	/* at the end of the file there is nothing to move */
	EXPECT_EQ(0, do_splice(r, f, at[FILE_SLOT], 8192, at[IN_WRITE], -1, 64, flags));

	/* move data from pipe to pipe with TEE and SPLICE, so the data arrives twice */
	EXPECT_EQ(5, write(fds[IN_WRITE], "hello", 5));
	EXPECT_EQ(5, do_tee(r, f, at[IN_READ], at[OUT_WRITE], 4096, flags));
	EXPECT_EQ(5, do_splice(r, f, at[IN_READ], -1, at[OUT_WRITE], -1, 4096, flags));
	EXPECT_EQ(10, read(fds[OUT_READ], buf, sizeof(buf)));
	EXPECT_EQ(0, memcmp(buf, "hellohello", 10));

	/* move data from a pipe to the file */
	EXPECT_EQ(5, write(fds[IN_WRITE], "there", 5));
	EXPECT_EQ(5, do_splice(r, f, at[IN_READ], -1, at[FILE_SLOT], 4000, 5, flags));
	EXPECT_EQ(5, pread(fds[FILE_SLOT], buf, 5, 4000));
	EXPECT_EQ(0, memcmp(buf, "there", 5));
	iou_fill(buf, 5, 4000, 7);
	EXPECT_EQ(5, pwrite(fds[FILE_SLOT], buf, 5, 4000));
}

TEST_F(splice, all_ways)
{
	move_data(_metadata, &self->r, variant->sqe_flags, self->fds, false);
	move_data(_metadata, &self->r, variant->sqe_flags, self->fds, true);
}

TEST_F(splice, refused)
{
	unsigned int f = variant->sqe_flags, fixed = SPLICE_F_FD_IN_FIXED;
	int in = self->fds[IN_READ], out = self->fds[OUT_WRITE], file = self->fds[FILE_SLOT];
	struct iou *r = &self->r;

	EXPECT_EQ(-EINVAL, do_splice(r, f, in, -1, out, -1, 1, 1 << 5));
	EXPECT_EQ(-EINVAL, do_tee(r, f, in, out, 1, 1 << 5));
	EXPECT_EQ(-EBADF, do_splice(r, f, 999, -1, out, -1, 0, 0));
	EXPECT_EQ(-EBADF, do_splice(r, f, in, -1, 999, -1, 0, 0));
	EXPECT_EQ(-EBADF, do_splice(r, f, SLOTS, -1, out, -1, 0, fixed));
	EXPECT_EQ(-EBADF, do_splice(r, f, -1, -1, out, -1, 0, fixed));
	EXPECT_EQ(-EBADF, do_tee(r, f, 999, out, 0, 0));
	EXPECT_EQ(-EBADF, do_tee(r, f, SLOTS, out, 0, fixed));
	/* nothing to move: the files are looked up, but their types are not checked */
	EXPECT_EQ(0, do_splice(r, f, file, -1, file, -1, 0, 0));
	EXPECT_EQ(0, do_tee(r, f, file, file, 0, 0));
	EXPECT_EQ(-EINVAL, do_splice(r, f, file, -1, file, -1, 1, 0));
	EXPECT_EQ(-EINVAL, do_tee(r, f, file, out, 1, 0));
	EXPECT_EQ(-EINVAL, do_splice(r, f, in, -1, self->fds[IN_WRITE], -1, 1, 0));
	EXPECT_EQ(-ESPIPE, do_splice(r, f, in, 0, out, -1, 1, 0));
	EXPECT_EQ(-ESPIPE, do_splice(r, f, in, -1, out, 0, 1, 0));
	EXPECT_EQ(-EBADF, do_splice(r, f, self->fds[OUT_WRITE], -1, self->fds[IN_WRITE], -1, 1, 0));
	prep_splice(r, f, IORING_OP_TEE, in, -1, out, 0, 1, 0);
	EXPECT_EQ(-EINVAL, iou_one(r));
	/* the pipe is empty, and the requests must not wait */
	EXPECT_EQ(-EAGAIN, do_splice(r, f, in, -1, out, -1, 1, SPLICE_F_NONBLOCK));
	fcntl(in, F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-EAGAIN, do_splice(r, f, in, -1, out, -1, 1, 0));
	EXPECT_EQ(-EAGAIN, do_tee(r, f, in, out, 1, 0));
}

/*
 * A server splices from an O_NONBLOCK socket to a pipe until -EAGAIN, and then back.
 * The peer sends more only after the echo.  So SPLICE from such a socket, and to a full
 * socket, returns -EAGAIN and does not wait.  Mutant: splice-waits-for-socket.
 */
TEST_F(splice, nonblocking_echo)
{
	int in = self->fds[IN_READ], out = self->fds[IN_WRITE], s[2], ret, i;
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	char buf[64], back[64];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s));
	for (i = 0; i < 3; i++) {
		iou_fill(buf, sizeof(buf), i * 64, 5);
		ASSERT_EQ(sizeof(buf), write(s[0], buf, sizeof(buf)));
		EXPECT_EQ(sizeof(buf), do_splice(r, f, s[1], -1, out, -1, 4096, 0));
		EXPECT_EQ(-EAGAIN, do_splice(r, f, s[1], -1, out, -1, 4096, 0));
		EXPECT_EQ(sizeof(buf), do_splice(r, f, in, -1, s[1], -1, 4096, 0));
		ASSERT_EQ(sizeof(back), read(s[0], back, sizeof(back)));
		EXPECT_EQ(-1, iou_verify(back, sizeof(back), i * 64, 5));
	}
	/* fill the socket until it has no room */
	do {
		ret = write(s[1], back, sizeof(back));
	} while (ret > 0);
	ASSERT_EQ(sizeof(buf), write(out, buf, sizeof(buf)));
	EXPECT_EQ(-EAGAIN, do_splice(r, f, in, -1, s[1], -1, 4096, 0));
	close(s[0]);
	close(s[1]);
}

/* A short result breaks a chain. */
TEST_F(splice, short_breaks_chain)
{
	static const int ops[] = { IORING_OP_TEE, IORING_OP_SPLICE };
	unsigned int i, len;

	ASSERT_EQ(3, write(self->fds[IN_WRITE], "abc", 3));
	for (i = 0; i < ARRAY_LEN(ops); i++) {
		for (len = 4; len >= 3; len--) {
			struct io_uring_cqe first, second;
			long long off = ops[i] == IORING_OP_TEE ? 0 : -1;

			if (ops[i] == IORING_OP_SPLICE && len == 3)
				ASSERT_EQ(3, write(self->fds[IN_WRITE], "abc", 3));
			prep_splice(&self->r, variant->sqe_flags | IOSQE_IO_LINK, ops[i],
				    self->fds[IN_READ], off, self->fds[OUT_WRITE], off, len, 0);
			iou_nop(&self->r, 2);
			ASSERT_EQ(2, iou_submit_wait(&self->r, 2));
			ASSERT_EQ(0, iou_reap(&self->r, &first));
			ASSERT_EQ(0, iou_reap(&self->r, &second));
			EXPECT_EQ(3, first.res);
			EXPECT_EQ(len == 3 ? 0 : -ECANCELED, second.res);
		}
	}
}

/* A cancel interrupts the worker that waits for a pipe. */
TEST_F(splice, cancel)
{
	struct io_uring_cqe cqe;
	int i, ret;

	prep_splice(&self->r, variant->sqe_flags, IORING_OP_SPLICE, self->fds[IN_READ], -1,
		    self->fds[OUT_WRITE], -1, 1, 0)->user_data = 7;
	ASSERT_EQ(1, iou_submit(&self->r));
	do {
		iou_prep(&self->r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0)->user_data = 8;
		ASSERT_EQ(1, iou_submit(&self->r));
		ASSERT_EQ(0, iou_wait(&self->r, 1));
		/* -ENOENT: the cancel has not found the request yet, so repeat it */
		ret = iou_cqe_at(&self->r, 0)->user_data == 8 ? iou_cqe_at(&self->r, 0)->res : 0;
		if (ret == -ENOENT)
			iou_seen(&self->r, 1);
	} while (ret == -ENOENT);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(&self->r, &cqe));
		if (cqe.user_data == 8) {
			EXPECT_TRUE(cqe.res == -EALREADY || cqe.res == 0);
		} else {
			EXPECT_TRUE(cqe.res == -EINTR || cqe.res == -ECANCELED);
		}
	}
}

/*
 * A registered source file is held until the request ends, and its tag is posted then.
 * Mutant: splice-in-file-not-held.
 * differences: none, on 6.12 a worker makes the attempt, which changes no result
 */
TEST_F(splice, source_is_held)
{
	struct iou *r = &self->r;
	struct io_uring_rsrc_update2 up = { .nr = 1 };
	struct io_uring_cqe cqe;
	__u64 tag = 77;
	int none = -1;
	char byte;

	up.offset = IN_READ;
	up.data = (uintptr_t)&self->fds[IN_READ];
	up.tags = (uintptr_t)&tag;
	ASSERT_EQ(1, iou_register(r, IORING_REGISTER_FILES_UPDATE2, &up, sizeof(up)));
	prep_splice(r, variant->sqe_flags, IORING_OP_SPLICE, IN_READ, -1, self->fds[OUT_WRITE], -1,
		    1, SPLICE_F_FD_IN_FIXED)->user_data = 7;
	prep_splice(r, variant->sqe_flags, IORING_OP_SPLICE, SLOTS, -1, self->fds[OUT_WRITE], -1,
		    1, SPLICE_F_FD_IN_FIXED)->user_data = 8;
	ASSERT_EQ(2, iou_submit(r));
	/* the second request has looked for its file, so the first one has, except in a worker */
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(8, cqe.user_data);
	EXPECT_EQ(-EBADF, cqe.res);
	if (variant->sqe_flags & IOSQE_ASYNC || iou_on_stock())
		iou_sleep_ms(100);
	close(self->fds[IN_READ]);
	tag = 0;
	up.data = (uintptr_t)&none;
	ASSERT_EQ(1, iou_register(r, IORING_REGISTER_FILES_UPDATE2, &up, sizeof(up)));
	iou_wait_ms(r, 1, 50);
	EXPECT_EQ(0, iou_ready(r));
	ASSERT_EQ(1, write(self->fds[IN_WRITE], "x", 1));
	ASSERT_EQ(0, iou_wait(r, 2));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(7, cqe.user_data);
	EXPECT_EQ(1, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(77, cqe.user_data);
	EXPECT_EQ(1, read(self->fds[OUT_READ], &byte, 1));
	self->fds[IN_READ] = dup(0);
}

/* A process that is killed while its worker waits for a pipe ends. */
TEST_F(splice, killed)
{
	int pid = fork(), status;

	if (!pid) {
		struct iou r;

		if (iou_init(&r, 8, variant->flags))
			_exit(1);
		prep_splice(&r, variant->sqe_flags, IORING_OP_SPLICE, self->fds[IN_READ], -1,
			    self->fds[OUT_WRITE], -1, 1, 0);
		prep_splice(&r, variant->sqe_flags, IORING_OP_TEE, self->fds[IN_READ], 0,
			    self->fds[OUT_WRITE], 0, 1, 0);
		iou_nop(&r, 3);
		if (iou_submit_wait(&r, 1) < 0)
			_exit(2);
		kill(getpid(), SIGKILL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(SIGKILL, WTERMSIG(status));
}

static void *close_later(void *fd)
{
	iou_sleep_ms(100);
	close(*(int *)fd);
	return NULL;
}

/*
 * A worker's SPLICE holds the last reference to a pipe's end.  A task that waits for two CQEs gets
 * the second one only because the SPLICE has let go of that end.  All runs on one CPU, where no
 * early wake-up helps.  Mutant: end-of-pipe-waits.
 */
TEST(end_of_a_pipe)
{
	int from[2], to[2], i;
	cpu_set_t cpus = {};
	pthread_t closer;
	struct iou r;
	char c;

	CPU_SET(0, &cpus);
	ASSERT_EQ(0, iou_run_on(0));
	ASSERT_EQ(0, pipe(from));
	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_IOWQ_AFF, &cpus, sizeof(cpus)));
	prep_splice(&r, 0, IORING_OP_SPLICE, from[0], -1, to[1], -1, 100, 0);
	ASSERT_EQ(1, iou_submit(&r));
	/* stock looks up the file in the worker */
	iou_sleep_ms(200);
	close(to[1]);
	iou_prep(&r, IORING_OP_READ, to[0], &c, 1, 0);
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_EQ(0, pthread_create(&closer, NULL, close_later, &from[1]));
	EXPECT_EQ(0, iou_wait_ms(&r, 2, IOU_PATIENCE));
	pthread_join(closer, NULL);
	for (i = 0; i < 2; i++) {
		struct io_uring_cqe cqe;

		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(0, cqe.res);
	}
	iou_exit(&r);
}

TEST_HARNESS_MAIN
