// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: requests that are tried again when their file is ready */
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "poll.h"

/* Reads and writes that would block wait for the file, without a worker that sleeps. */
TEST_F(poll, retry)
{
	static const unsigned char ways[] = { 0, IOSQE_ASYNC };
	struct iou *r = &self->r;
	unsigned int i, k;
	char buf[32][8];
	int slave, master = open_pty(&slave);

	ASSERT_LE(0, master);
	for (k = 0; k < ARRAY_LEN(ways); k++) {
		int s[2], before, fd = eventfd(0, 0), p[2];

		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
		ASSERT_EQ(0, pipe(p));
		before = iou_threads(getpid(), "iou-wrk");
		for (i = 0; i < 8; i++) {
			iou_prep(r, IORING_OP_READ, p[0], buf[i], 1, 0)->user_data = i;
			iou_prep(r, IORING_OP_READ, s[0], buf[i + 8], 1, 0)->user_data = i + 8;
			iou_prep(r, IORING_OP_READ, fd, buf[i + 16], 8, 0)->user_data = i + 16;
			iou_prep(r, IORING_OP_READ, slave, buf[i + 24], 1, 0)->user_data = i + 24;
		}
		for (i = 1; i <= 32; i++)
			((struct io_uring_sqe *)((char *)r->sqes +
			 ((r->next - i) & (r->p.sq_entries - 1)) * (size_t)r->sqe_size))->flags =
				ways[k];
		ASSERT_LE(0, submit(r));
		EXPECT_TRUE(has_quiet_ring(r, 50));
		if (!k)
			EXPECT_EQ(before, iou_threads(getpid(), "iou-wrk"));
		for (i = 0; i < 8; i++) {
			ASSERT_EQ(1, write(p[1], "a", 1));
			ASSERT_EQ(1, write(s[1], "b", 1));
			ASSERT_EQ(0, eventfd_write(fd, 5));
			ASSERT_EQ(1, write(master, "c", 1));
			/* the first reader empties an eventfd */
			ASSERT_EQ(0, iou_wait(r, 4 * (i + 1)));
		}
		for (i = 0; i < 32; i++)
			EXPECT_CQE(r, i, i / 8 == 2 ? 8 : 1, 0);
		EXPECT_EQ('a', buf[3][0]);
		EXPECT_EQ('b', buf[11][0]);
		EXPECT_EQ(5, *(__u64 *)buf[19]);
		EXPECT_EQ('c', buf[27][0]);
		close(p[0]);
		close(p[1]);
		close(s[0]);
		close(s[1]);
		close(fd);
	}
	close(master);
	close(slave);
}

TEST_F(poll, retry_of_a_write)
{
	static const unsigned char ways[] = { 0, IOSQE_ASYNC };
	struct iou *r = &self->r;
	unsigned int k;

	for (k = 0; k < ARRAY_LEN(ways); k++) {
		int p[2], size;
		char *fill;

		ASSERT_EQ(0, pipe(p));
		size = fcntl(p[1], F_GETPIPE_SZ);
		fill = calloc(1, size);
		ASSERT_EQ(size, write(p[1], fill, size));
		iou_prep(r, IORING_OP_WRITE, p[1], "tail", 4, 0)->flags = ways[k];
		ASSERT_LE(0, submit(r));
		EXPECT_TRUE(has_quiet_ring(r, 20));
		ASSERT_EQ(size, read(p[0], fill, size));
		EXPECT_CQE(r, 0, 4, 0);
		free(fill);
		close(p[0]);
		close(p[1]);
	}
}

/* A read with RWF_NOWAIT fails instead of a wait.  A read of an O_NONBLOCK terminal waits. */
TEST_F(poll, retry_refused)
{
	static const unsigned char ways[] = { 0, IOSQE_ASYNC };
	struct iou *r = &self->r;
	int slave, master = open_pty(&slave);
	struct io_uring_sqe *sqe;
	char buf[8];
	unsigned int k;
	int s[2], fd = eventfd(0, 0);

	ASSERT_LE(0, master);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	for (k = 0; k < ARRAY_LEN(ways); k++) {
		int files[] = { self->p[0], s[0], fd };
		unsigned int i;

		for (i = 0; i < ARRAY_LEN(files); i++) {
			sqe = iou_prep(r, IORING_OP_READ, files[i], buf, 8, 0);
			sqe->rw_flags = RWF_NOWAIT;
			sqe->flags = ways[k];
			EXPECT_EQ(-EAGAIN, iou_one(r));
		}
		sqe = iou_prep(r, IORING_OP_READ, slave, buf, 8, 0);
		sqe->rw_flags = RWF_NOWAIT;
		sqe->flags = ways[k];
		EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
		/* the terminal's master is O_NONBLOCK, but the request waits for data */
		iou_prep(r, IORING_OP_READ, master, buf, 8, 0)->flags = ways[k];
		ASSERT_LE(0, submit(r));
		EXPECT_TRUE(has_quiet_ring(r, 20));
		ASSERT_EQ(1, write(slave, "y", 1));
		EXPECT_CQE(r, 0, 1, 0);
	}
	close(s[0]);
	close(s[1]);
	close(fd);
	close(master);
	close(slave);
}

/* Many reads wait for few events; each byte is read once. */
TEST_F(poll, retry_contended)
{
	unsigned long i, rounds = iou_rounds(100);
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	char buf[16];

	/* without O_NONBLOCK a worker can block in the read if necessary */
	fcntl(self->p[0], F_SETFL, 0);
	for (i = 0; i < 16; i++)
		iou_prep(r, IORING_OP_READ, self->p[0], &buf[i], 1, 0)->user_data = i;
	ASSERT_LE(0, submit(r));
	for (i = 0; i < rounds * 16; i++) {
		ASSERT_EQ(1, write(self->p[1], "z", 1));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		ASSERT_EQ(1, cqe.res);
		ASSERT_EQ('z', buf[cqe.user_data]);
		buf[cqe.user_data] = 0;
		iou_prep(r, IORING_OP_READ, self->p[0], &buf[cqe.user_data], 1, 0)->user_data =
			cqe.user_data;
		ASSERT_LE(0, submit(r));
	}
	EXPECT_TRUE(has_quiet_ring(r, 20));
}

TEST_HARNESS_MAIN
