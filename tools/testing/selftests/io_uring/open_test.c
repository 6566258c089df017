// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: OPENAT, OPENAT2 and CLOSE - descriptors and slots */
#include <linux/openat2.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include "audit.h"
#include "iou_test.h"
#include "sock.h"

#define SLOTS	4

FIXTURE(open) {
	struct iou r;
	char dir[32];
	int dfd;
};

FIXTURE_VARIANT(open) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(open);
IOU_KINDS_ASYNC(open);

FIXTURE_SETUP(open)
{
	int fd;

	self->dfd = iou_dir(self->dir, sizeof(self->dir));
	ASSERT_LE(0, self->dfd);
	fd = openat(self->dfd, "here", O_CREAT | O_WRONLY, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(5, write(fd, "hello", 5));
	close(fd);
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
}

FIXTURE_TEARDOWN(open)
{
	iou_exit(&self->r);
	iou_dir_remove(self->dir, self->dfd);
}

static struct io_uring_sqe *prep_open(struct iou *r, unsigned int sqe_flags, int dfd,
				      const char *path, int flags, int mode)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_OPENAT, dfd, path, mode, 0);

	sqe->open_flags = flags;
	sqe->flags = sqe_flags;
	return sqe;
}

static int do_open(struct iou *r, unsigned int sqe_flags, int dfd, const char *path, int flags,
		   unsigned int file_index)
{
	prep_open(r, sqe_flags, dfd, path, flags, 0600)->file_index = file_index;
	return iou_one(r);
}

static int do_open2(struct iou *r, unsigned int sqe_flags, int dfd, const char *path,
		    const void *how, size_t size)
{
	iou_prep(r, IORING_OP_OPENAT2, dfd, path, size, (uintptr_t)how)->flags = sqe_flags;
	return iou_one(r);
}

static int do_close(struct iou *r, unsigned int sqe_flags, int fd, unsigned int file_index)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_CLOSE, fd, NULL, 0, 0);

	sqe->flags = sqe_flags;
	sqe->file_index = file_index;
	return iou_one(r);
}

static int register_slots(struct iou *r)
{
	int fds[SLOTS] = { -1, -1, -1, -1 };

	return iou_register(r, IORING_REGISTER_FILES, fds, SLOTS);
}

static int read_slot(struct iou *r, unsigned int slot)
{
	static char text[8];

	iou_prep(r, IORING_OP_READ, slot, text, sizeof(text), 0)->flags = IOSQE_FIXED_FILE;
	return iou_one(r);
}

TEST_F(open, descriptor)
{
	unsigned int f = variant->sqe_flags;
	char text[8];
	int fd;

	fd = do_open(&self->r, f, self->dfd, "here", O_RDONLY, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(5, read(fd, text, sizeof(text)));
	/* an inline attempt does not leave O_NONBLOCK in the flags of the file */
	EXPECT_EQ(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
	EXPECT_EQ(0, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, do_close(&self->r, f, fd, 0));
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	EXPECT_EQ(-EBADF, do_close(&self->r, f, fd, 0));

	fd = do_open(&self->r, f, self->dfd, "new", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, do_close(&self->r, f, fd, 0));
	EXPECT_EQ(-EEXIST, do_open(&self->r, f, self->dfd, "new", O_RDWR | O_CREAT | O_EXCL, 0));
	EXPECT_EQ(-ENOENT, do_open(&self->r, f, self->dfd, "none", O_RDONLY, 0));
	EXPECT_EQ(-EBADF, do_open(&self->r, f, 999, "here", O_RDONLY, 0));
	EXPECT_EQ(-EFAULT, do_open(&self->r, f, self->dfd, (char *)8, O_RDONLY, 0));
}

/*
 * A worker runs an OPENAT, which has no file.  The request reuses the memory of an earlier request
 * whose file has been released.  The worker must not use that file.
 */
TEST_F(open, no_file_of_an_earlier_request)
{
	struct iou *r = &self->r;
	char text[4];
	int i, fd, p[2];

	for (i = 0; i < 16; i++) {
		ASSERT_EQ(0, pipe(p));
		ASSERT_EQ(4, write(p[1], "data", 4));
		iou_prep(r, IORING_OP_READ, p[0], text, sizeof(text), 0);
		ASSERT_EQ(4, iou_one(r));
		close(p[0]);
		close(p[1]);
		/* an open that creates or truncates goes to a worker */
		fd = do_open(r, variant->sqe_flags, self->dfd, "new", O_RDWR | O_CREAT, 0);
		ASSERT_LE(0, fd);
		EXPECT_EQ(0, do_close(r, variant->sqe_flags, fd, 0));
		fd = do_open(r, 0, self->dfd, "here", O_WRONLY | O_TRUNC, 0);
		ASSERT_LE(0, fd);
		EXPECT_EQ(0, do_close(r, 0, fd, 0));
	}
}

/* Mutant: open-how-of-any-size.  differences: open-how-size */
TEST_F(open, how_of_many_bytes)
{
	struct open_how *how = (struct open_how *)iou_map_anon(2 * IOU_PAGE);
	int fd;

	/* zeros behind the structure change nothing */
	fd = do_open2(&self->r, variant->sqe_flags, self->dfd, "here", how, IOU_PAGE);
	EXPECT_LE(0, fd);
	close(fd);
	fd = do_open2(&self->r, variant->sqe_flags, self->dfd, "here", how, IOU_PAGE + 1);
	EXPECT_TRUE(fd == -E2BIG || iou_on_stock());
	if (fd >= 0)
		close(fd);
	munmap(how, 2 * IOU_PAGE);
}

TEST_F(open, how)
{
	struct {
		struct open_how how;
		unsigned long long more;
	} big = { .how.flags = O_RDONLY };
	struct open_how how = { .flags = O_RDONLY };
	unsigned int f = variant->sqe_flags;
	int fd;

	fd = do_open2(&self->r, f, self->dfd, "here", &how, sizeof(how));
	ASSERT_LE(0, fd);
	close(fd);
	EXPECT_EQ(-EINVAL, do_open2(&self->r, f, self->dfd, "here", &how, sizeof(how) - 1));
	EXPECT_EQ(-EFAULT, do_open2(&self->r, f, self->dfd, "here", NULL, sizeof(how)));
	fd = do_open2(&self->r, f, self->dfd, "here", &big, sizeof(big));
	EXPECT_LE(0, fd);
	close(fd);
	big.more = 1;
	EXPECT_EQ(-E2BIG, do_open2(&self->r, f, self->dfd, "here", &big, sizeof(big)));
	how.flags = 1ULL << 40;
	EXPECT_EQ(-EINVAL, do_open2(&self->r, f, self->dfd, "here", &how, sizeof(how)));

	how.flags = O_RDONLY;
	how.resolve = RESOLVE_BENEATH;
	EXPECT_EQ(-EXDEV, do_open2(&self->r, f, self->dfd, "/etc/passwd", &how, sizeof(how)));
	ASSERT_EQ(0, symlinkat("here", self->dfd, "link"));
	how.resolve = RESOLVE_NO_SYMLINKS;
	EXPECT_EQ(-ELOOP, do_open2(&self->r, f, self->dfd, "link", &how, sizeof(how)));

	/* the dentry is cached, so this needs no worker */
	how.resolve = RESOLVE_CACHED;
	fd = do_open2(&self->r, f, self->dfd, "here", &how, sizeof(how));
	EXPECT_LE(0, fd);
	close(fd);
	how.flags = O_CREAT | O_RDWR;
	EXPECT_EQ(-EAGAIN, do_open2(&self->r, f, self->dfd, "new", &how, sizeof(how)));
}

/* Open into a slot and close it.  O_CLOEXEC is refused for a slot.  Mutant: open-cloexec-slot. */
TEST_F(open, slot)
{
	unsigned int f = variant->sqe_flags, all = IORING_FILE_INDEX_ALLOC;
	unsigned int i;

	EXPECT_EQ(-ENXIO, do_open(&self->r, f, self->dfd, "here", O_RDONLY, 1));
	EXPECT_EQ(-ENFILE, do_open(&self->r, f, self->dfd, "here", O_RDONLY, all));
	EXPECT_EQ(-ENXIO, do_close(&self->r, f, 0, 1));
	ASSERT_EQ(0, register_slots(&self->r));

	EXPECT_EQ(0, do_open(&self->r, f, self->dfd, "here", O_RDONLY, 2));
	EXPECT_EQ(5, read_slot(&self->r, 1));
	/* a second open replaces the file of the slot */
	EXPECT_EQ(0, do_open(&self->r, f, self->dfd, "here", O_RDONLY, 2));
	EXPECT_EQ(5, read_slot(&self->r, 1));
	EXPECT_EQ(-EINVAL, do_open(&self->r, f, self->dfd, "here", O_RDONLY, SLOTS + 1));
	EXPECT_EQ(-EINVAL, do_open(&self->r, f, self->dfd, "here", O_RDONLY | O_CLOEXEC, 1));
	EXPECT_EQ(-EINVAL, do_open(&self->r, f, self->dfd, "here", O_RDONLY | O_CLOEXEC, all));

	/* IORING_FILE_INDEX_ALLOC takes the next free slot after the last one that was filled */
	for (i = 0; i < SLOTS - 1; i++)
		EXPECT_EQ((i + 2) % SLOTS, do_open(&self->r, f, self->dfd, "here", O_RDONLY, all));
	EXPECT_EQ(-ENFILE, do_open(&self->r, f, self->dfd, "here", O_RDONLY, all));

	EXPECT_EQ(0, do_close(&self->r, f, 0, 4));
	EXPECT_EQ(-EBADF, do_close(&self->r, f, 0, 4));
	EXPECT_EQ(-EBADF, read_slot(&self->r, 3));
	EXPECT_EQ(-EINVAL, do_close(&self->r, f, 0, SLOTS + 1));
	EXPECT_EQ(-EINVAL, do_close(&self->r, f, 1, 1));
}

/* Create a pipe.  Return: the result of the request; @fds has the ends. */
static int do_pipe(struct iou *r, unsigned int sqe_flags, int *fds, unsigned int flags,
		   unsigned int file_index)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_PIPE, 0, fds, 0, 0);

	sqe->pipe_flags = flags;
	sqe->file_index = file_index;
	sqe->flags = sqe_flags;
	return iou_one(r);
}

/* Write to a slot.  Return: the result of the WRITE. */
static int write_slot(struct iou *r, unsigned int slot)
{
	iou_prep(r, IORING_OP_WRITE, slot, "hello", 5, 0)->flags = IOSQE_FIXED_FILE;
	return iou_one(r);
}

/* Mutant: pipe-refuses-nothing. */
TEST_F(open, pipe)
{
	unsigned int f = variant->sqe_flags;
	int fds[2] = { -9, -9 }, next;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	char text[8];

	/* differences: none, 6.12 has no PIPE */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_PIPE");
	ASSERT_EQ(0, do_pipe(r, f, fds, 0, 0));
	EXPECT_EQ(5, write(fds[1], "hello", 5));
	EXPECT_EQ(5, read(fds[0], text, sizeof(text)));
	EXPECT_EQ(O_RDONLY, fcntl(fds[0], F_GETFL));
	EXPECT_EQ(O_WRONLY, fcntl(fds[1], F_GETFL));
	EXPECT_EQ(0, fcntl(fds[0], F_GETFD));
	/* a read of the empty pipe waits for its end inline, and does not occupy a worker */
	iou_prep(r, IORING_OP_READ, fds[0], text, 1, 0);
	iou_submit(r);
	close(fds[1]);
	EXPECT_EQ(0, iou_discard(r, 1));
	close(fds[0]);

	ASSERT_EQ(0, do_pipe(r, f, fds, O_CLOEXEC | O_NONBLOCK | O_DIRECT, 0));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fds[0], F_GETFD));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fds[1], F_GETFD));
	EXPECT_EQ(O_RDONLY | O_NONBLOCK, fcntl(fds[0], F_GETFL));
	EXPECT_EQ(O_WRONLY | O_NONBLOCK | O_DIRECT, fcntl(fds[1], F_GETFL));
	close(fds[0]);
	close(fds[1]);

	/* what fails leaves no descriptor behind */
	next = dup(0);
	close(next);
	EXPECT_EQ(-EINVAL, do_pipe(r, f, fds, O_APPEND, 0));
	EXPECT_EQ(-EFAULT, do_pipe(r, f, (void *)8, 0, 0));
	iou_prep(r, IORING_OP_PIPE, 1, fds, 0, 0)->flags = f;
	EXPECT_EQ(-EINVAL, iou_one(r));
	iou_prep(r, IORING_OP_PIPE, 0, fds, 0, 1)->flags = f;
	EXPECT_EQ(-EINVAL, iou_one(r));
	sqe = iou_prep(r, IORING_OP_PIPE, 0, fds, 0, 0);
	sqe->flags = f;
	sqe->addr3 = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	EXPECT_EQ(next, dup(0));
	close(next);
	/* O_CLOEXEC for slots is refused late: what is ahead in the chain has run */
	iou_prep(r, IORING_OP_NOP, 0, NULL, 0, 0)->flags = f | IOSQE_IO_LINK;
	sqe = iou_prep(r, IORING_OP_PIPE, 0, fds, 0, 0);
	sqe->flags = f;
	sqe->pipe_flags = O_CLOEXEC;
	sqe->file_index = IORING_FILE_INDEX_ALLOC;
	ASSERT_LE(0, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(0, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(-EINVAL, cqe.res);
}

/* A pipe in two slots.  Mutants: pipe-in-one-slot, pair-takes-one-slot, pair-faults-late. */
TEST_F(open, pipe_in_slots)
{
	unsigned int f = variant->sqe_flags, all = IORING_FILE_INDEX_ALLOC;
	int fds[2] = { -9, -9 };
	struct iou *r = &self->r;

	/* differences: none, 6.12 has no PIPE */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_PIPE");
	signal(SIGPIPE, SIG_IGN);
	EXPECT_EQ(-ENXIO, do_pipe(r, f, fds, 0, 1));
	EXPECT_EQ(-ENFILE, do_pipe(r, f, fds, 0, all));
	ASSERT_EQ(0, register_slots(r));
	EXPECT_EQ(-EINVAL, do_pipe(r, f, fds, O_CLOEXEC, 1));
	EXPECT_EQ(-EINVAL, do_pipe(r, f, fds, 0, SLOTS));
	EXPECT_EQ(-EINVAL, do_pipe(r, f, fds, 0, all - 1));
	EXPECT_EQ(-9, fds[0]);

	ASSERT_EQ(0, do_pipe(r, f, fds, 0, 2));
	EXPECT_EQ(1, fds[0]);
	EXPECT_EQ(2, fds[1]);
	EXPECT_EQ(5, write_slot(r, 2));
	EXPECT_EQ(5, read_slot(r, 1));
	/* another pipe replaces the files of the slots */
	ASSERT_EQ(0, do_pipe(r, f, fds, 0, 1));
	EXPECT_EQ(0, fds[0]);
	EXPECT_EQ(1, fds[1]);
	EXPECT_EQ(5, write_slot(r, 1));
	EXPECT_EQ(5, read_slot(r, 0));
	/* a worker may still hold the read end */
	if (!(f & IOSQE_ASYNC))
		EXPECT_EQ(-EPIPE, write_slot(r, 2));
	/* with one empty slot, nothing is installed */
	EXPECT_EQ(-ENFILE, do_pipe(r, f, fds, 0, all));
	EXPECT_EQ(-EBADF, read_slot(r, 3));
	ASSERT_EQ(0, do_close(r, f, 0, 2));
	ASSERT_EQ(0, do_pipe(r, f, fds, O_NONBLOCK, all));
	EXPECT_EQ(4, fds[0] + fds[1]);
	EXPECT_EQ(5, write_slot(r, fds[1]));
	EXPECT_EQ(5, read_slot(r, fds[0]));
	/* a pipe whose slots the program cannot learn replaces nothing */
	ASSERT_EQ(0, do_pipe(r, f, fds, 0, 1));
	EXPECT_EQ(5, write_slot(r, 1));
	EXPECT_EQ(-EFAULT, do_pipe(r, f, (void *)8, 0, 1));
	/* differences: none, 7.3 loses both files */
	EXPECT_EQ(iou_on_stock() ? -EBADF : 5, read_slot(r, 0));
}

/* A request looks up its file at its issue, so the previous request of its chain may open it. */
TEST_F(open, linked_open_read_close)
{
	struct iou *r = &self->r;
	char text[8] = "";
	int i, res[3];

	ASSERT_EQ(0, register_slots(r));
	prep_open(r, IOSQE_IO_LINK | variant->sqe_flags, self->dfd, "here", O_RDONLY, 0)
		->file_index = 3;
	iou_prep(r, IORING_OP_READ, 2, text, sizeof(text), 0)->flags =
		IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK;
	iou_prep(r, IORING_OP_CLOSE, 0, NULL, 0, 0)->file_index = 3;
	ASSERT_LE(0, iou_submit_wait(r, 3));
	ASSERT_EQ(0, iou_wait(r, 3));
	for (i = 0; i < 3; i++)
		res[i] = iou_cqe_at(r, i)->res;
	iou_seen(r, 3);
	EXPECT_EQ(0, res[0]);
	EXPECT_EQ(5, res[1]);
	EXPECT_EQ(0, res[2]);
	EXPECT_STREQ("hello", text);
}

/* Prepare a CLOSE of a descriptor or a slot, and a request that is linked to it. */
static struct io_uring_sqe *prep_closed(struct iou *r, unsigned int sqe_flags, int fd,
					unsigned int file_index, int op, int fd2)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_CLOSE, file_index ? 0 : fd, NULL, 0, 0);

	sqe->file_index = file_index;
	sqe->flags = IOSQE_IO_LINK | sqe_flags;
	sqe->user_data = 1;
	sqe = iou_prep(r, op, fd2, NULL, 0, 0);
	sqe->user_data = 2;
	return sqe;
}

/* Return: the result of the request behind the CLOSE; 1000 if the CLOSE has failed. */
static int closed_result(struct iou *r, bool waits)
{
	struct io_uring_cqe cqe[2];

	if (waits ? iou_submit_wait(r, 2) < 0 : iou_submit(r) < 0)
		return -EIO;
	if (iou_wait(r, 2) || iou_reap(r, &cqe[0]) || iou_reap(r, &cqe[1]))
		return -ETIME;
	return cqe[0].user_data == 1 && !cqe[0].res ? cqe[1].res : 1000;
}

static const char *const closed_ways[] = { "fd", "fd, one call", "slot", "slot, one call" };

/*
 * A WRITE behind the CLOSE of a pipe's reader finds no reader.  Mutant: closed-file-stays.
 * differences: link-close
 */
TEST_F(open, closed_reader)
{
	unsigned int way, slot;
	struct io_uring_sqe *sqe;
	int p[2], copy;

	if (iou_on_stock())
		SKIP(return, "not compared");
	signal(SIGPIPE, SIG_IGN);
	ASSERT_EQ(0, register_slots(&self->r));
	for (way = 0; way < ARRAY_LEN(closed_ways); way++) {
		slot = way / 2;
		ASSERT_EQ(0, pipe(p));
		if (slot) {
			struct io_uring_files_update up = { .offset = slot,
							    .fds = iou_addr(&p[0]) };

			ASSERT_EQ(1, iou_register(&self->r, IORING_REGISTER_FILES_UPDATE, &up, 1));
			close(p[0]);
		}
		sqe = prep_closed(&self->r, variant->sqe_flags, p[0], slot ? slot + 1 : 0,
				  IORING_OP_WRITE, p[1]);
		sqe->addr = iou_addr("x");
		sqe->len = 1;
		EXPECT_EQ(-EPIPE, closed_result(&self->r, way % 2))
			TH_LOG("%s", closed_ways[way]);
		close(p[1]);
	}
	/* with another descriptor of the file, the pipe keeps its reader */
	ASSERT_EQ(0, pipe(p));
	copy = dup(p[0]);
	sqe = prep_closed(&self->r, variant->sqe_flags, p[0], 0, IORING_OP_WRITE, p[1]);
	sqe->addr = iou_addr("x");
	sqe->len = 1;
	EXPECT_EQ(1, closed_result(&self->r, true));
	close(copy);
	close(p[1]);
}

/*
 * A CLOSE is issued while its task waits for CQEs: the task puts the file before it sleeps
 * again.  Mutant: waits-with-task-work.  differences: link-close
 */
TEST_F(open, closed_while_waiting)
{
	struct itimerspec after = { .it_value.tv_nsec = 50000000 };
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), p[2];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	uint64_t ticks;

	if (iou_on_stock())
		SKIP(return, "not compared");
	signal(SIGPIPE, SIG_IGN);
	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, timerfd_settime(timer, 0, &after, NULL));
	iou_prep(r, IORING_OP_READ, timer, &ticks, sizeof(ticks), 0)->flags = IOSQE_IO_LINK;
	sqe = prep_closed(r, variant->sqe_flags, p[0], 0, IORING_OP_WRITE, p[1]);
	sqe->addr = iou_addr("x");
	sqe->len = 1;
	ASSERT_EQ(3, iou_submit(r));
	ASSERT_EQ(0, iou_wait(r, 3));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(sizeof(ticks), cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(0, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(-EPIPE, cqe.res);
	close(p[1]);
	close(timer);
}

/*
 * A BIND behind the CLOSE of a listener can use the port of the listener.
 * differences: link-close
 */
TEST_F(open, closed_listener)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	struct io_uring_sqe *sqe;
	unsigned int waits;
	int fd, fd2;

	if (iou_on_stock())
		SKIP(return, "not compared");
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (waits = 0; waits < 2; waits++) {
		addr.sin_port = 0;
		fd = socket(AF_INET, SOCK_STREAM, 0);
		fd2 = socket(AF_INET, SOCK_STREAM, 0);
		ASSERT_LE(0, fd2);
		ASSERT_EQ(0, bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
		ASSERT_EQ(0, listen(fd, 1));
		ASSERT_EQ(0, getsockname(fd, (struct sockaddr *)&addr, &len));
		sqe = prep_closed(&self->r, variant->sqe_flags, fd, 0, IORING_OP_BIND, fd2);
		sqe->addr = iou_addr(&addr);
		sqe->off = sizeof(addr);
		EXPECT_EQ(0, closed_result(&self->r, waits));
		close(fd2);
	}
}

/*
 * The LINK_TIMEOUT of a CLOSE does not expire, since the CLOSE completes at once.
 * Mutant: limited-close-waits.  differences: link-close
 */
TEST_F(open, closed_with_limit)
{
	struct __kernel_timespec ts = { .tv_nsec = 1 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;
	int p[2];

	if (iou_on_stock())
		SKIP(return, "not compared");
	/* an SQPOLL thread or a worker may need more than a nanosecond for the CLOSE */
	if (variant->flags & IORING_SETUP_SQPOLL || variant->sqe_flags)
		ts.tv_sec = 100;
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, pipe(p));
		iou_prep(r, IORING_OP_CLOSE, p[0], NULL, 0, 0)->flags =
			IOSQE_IO_LINK | variant->sqe_flags;
		iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 2;
		ASSERT_LE(0, iou_submit_wait(r, 2));
		ASSERT_EQ(0, iou_wait(r, 2));
		while (iou_ready(r)) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(cqe.user_data == 2 ? -ECANCELED : 0, cqe.res);
		}
		close(p[1]);
	}
}

/*
 * A CLOSE does not wait for the release of a socket that lingers, because the linked request may
 * be what ends that wait.  Mutant: lingering-close-waits.  differences: link-close
 */
TEST_F(open, closed_lingering)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 10 };
	unsigned long long start = iou_now_us();
	char buf[4096] = {};
	int fds[2];

	if (iou_on_stock())
		SKIP(return, "not compared");
	ASSERT_EQ(0, sock_tcp_pair_of(fds, 4096));
	ASSERT_EQ(0, setsockopt(fds[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(fds[0], buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	/* the second CLOSE resets the connection, which has unread data */
	prep_closed(&self->r, variant->sqe_flags, fds[0], 0, IORING_OP_CLOSE, fds[1]);
	EXPECT_EQ(0, closed_result(&self->r, true));
	EXPECT_GT(5000000ULL, iou_now_us() - start);
}

TEST_F(open, unused_fields)
{
	unsigned int f = variant->sqe_flags;
	struct io_uring_sqe *sqe;

	prep_open(&self->r, f, self->dfd, "here", O_RDONLY, 0)->buf_index = 1;
	EXPECT_EQ(-EINVAL, iou_one(&self->r));
	prep_open(&self->r, f | IOSQE_FIXED_FILE, self->dfd, "here", O_RDONLY, 0);
	EXPECT_EQ(-EBADF, iou_one(&self->r));
	prep_open(&self->r, f, self->dfd, "here", O_RDONLY, 0)->ioprio = 1;
	EXPECT_EQ(-EINVAL, iou_one(&self->r));

	/* the path is copied before O_CLOEXEC is checked */
	prep_open(&self->r, f, self->dfd, "", O_RDONLY | O_CLOEXEC, 0)->file_index = 1;
	EXPECT_EQ(-ENOENT, iou_one(&self->r));
	prep_open(&self->r, f, self->dfd, NULL, O_RDONLY | O_CLOEXEC, 0)->file_index = 1;
	EXPECT_EQ(-EFAULT, iou_one(&self->r));
	prep_open(&self->r, f, self->dfd, "none", O_RDONLY | O_CLOEXEC, 0)->file_index = 1;
	EXPECT_EQ(-EINVAL, iou_one(&self->r));

	sqe = iou_prep(&self->r, IORING_OP_CLOSE, 999, NULL, 0, 0);
	sqe->flags = f | IOSQE_FIXED_FILE;
	EXPECT_EQ(-EBADF, iou_one(&self->r));
	iou_prep(&self->r, IORING_OP_CLOSE, 999, (void *)1, 0, 0)->flags = f;
	EXPECT_EQ(-EINVAL, iou_one(&self->r));
	iou_prep(&self->r, IORING_OP_CLOSE, 999, NULL, 1, 0)->flags = f;
	EXPECT_EQ(-EINVAL, iou_one(&self->r));
	iou_prep(&self->r, IORING_OP_CLOSE, 999, NULL, 0, 1)->flags = f;
	EXPECT_EQ(-EINVAL, iou_one(&self->r));
	iou_prep(&self->r, IORING_OP_CLOSE, 999, NULL, 0, 0)->rw_flags = 1;
	EXPECT_EQ(-EINVAL, iou_one(&self->r));
	iou_prep(&self->r, IORING_OP_CLOSE, 999, NULL, 0, 0)->buf_index = 1;
	EXPECT_EQ(-EINVAL, iou_one(&self->r));
}

/* A CLOSE cannot close any ring, its own or another.  Mutant: close-closes-rings. */
TEST_F(open, close_of_rings)
{
	struct iou other;

	ASSERT_EQ(0, iou_init(&other, 4, 0));
	EXPECT_EQ(-EBADF, do_close(&self->r, variant->sqe_flags, self->r.fd, 0));
	EXPECT_EQ(-EBADF, do_close(&self->r, variant->sqe_flags, other.fd, 0));
	EXPECT_EQ(0, fcntl(other.fd, F_GETFD) & ~FD_CLOEXEC);
	iou_exit(&other);
}

/* The kernel copies the path when it takes the SQE. */
TEST_F(open, path_is_copied)
{
	char path[8] = "here";
	struct io_uring_cqe *cqe;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the SQE is taken at some time");
	prep_open(&self->r, IOSQE_ASYNC, self->dfd, path, O_RDONLY, 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	memset(path, 'x', sizeof(path));
	ASSERT_EQ(0, iou_wait(&self->r, 1));
	cqe = iou_cqe_at(&self->r, 0);
	EXPECT_LE(0, cqe->res);
	close(cqe->res);
	iou_seen(&self->r, 1);
}

/* An open that fails leaves no descriptor behind. */
TEST_F(open, descriptors_are_returned)
{
	int first = dup(0), fd, i;

	close(first);
	for (i = 0; i < 100; i++)
		ASSERT_EQ(-ENOENT, do_open(&self->r, variant->sqe_flags, self->dfd, "none",
					   O_RDONLY, 0));
	fd = dup(0);
	EXPECT_EQ(first, fd);
	close(fd);
}

/* Open a FIFO without a peer, with O_NONBLOCK. */
TEST_F(open, fifo)
{
	int fd;

	ASSERT_EQ(0, mkfifoat(self->dfd, "fifo", 0600));
	fd = do_open(&self->r, variant->sqe_flags, self->dfd, "fifo", O_RDONLY | O_NONBLOCK, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	EXPECT_EQ(-ENXIO, do_open(&self->r, variant->sqe_flags, self->dfd, "fifo",
				  O_WRONLY | O_NONBLOCK, 0));
}

/* Call chroot(), in a child.  Return: 0 if all opens, even those of workers, use the new root. */
static int open_in_new_root(struct iou *r, const char *dir)
{
	static const unsigned char sqe_flags[] = { 0, IOSQE_ASYNC };
	unsigned int i;
	int fd;

	/* create a worker before the chroot() */
	fd = do_open(r, IOSQE_ASYNC, AT_FDCWD, "/proc", O_RDONLY, 0);
	if (fd < 0 || chroot(dir))
		return 10;
	for (i = 0; i < 2 * ARRAY_LEN(sqe_flags); i++) {
		/* an open with O_CREAT always goes to a worker */
		fd = do_open(r, sqe_flags[i / 2], AT_FDCWD, "/here", i % 2 ? O_CREAT : 0, 0);
		if (fd < 0)
			return 20 + i;
		close(fd);
		if (do_open(r, sqe_flags[i / 2], AT_FDCWD, "/proc", O_RDONLY, 0) != -ENOENT)
			return 30 + i;
	}
	return 0;
}

/* Paths of a task that has called chroot() begin at its new root. */
TEST_F(open, after_chroot)
{
	int pid, status;

	if (getuid())
		SKIP(return, "needs to be root");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct iou r;

		_exit(iou_init(&r, 8, variant->flags) ? 1 : open_in_new_root(&r, self->dir));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("step %d", WEXITSTATUS(status));
	}
}

/*
 * Wait for an audit record of OPENAT that contains @what.  Skip other records, such as
 * those of attempts that would have blocked.
 */
static bool audit_record(int fd, const char *what)
{
	char text[512];
	int op;

	do {
		op = audit_next(fd, text, sizeof(text));
		if (op == IORING_OP_OPENAT && strstr(text, what))
			return true;
	} while (op >= 0);
	return false;
}

/*
 * An audit rule for io_uring records an operation that is not exempt from audit, and
 * its result.
 */
TEST_F(open, audited)
{
	struct audit_rule_data rule = AUDIT_OF(IORING_OP_OPENAT);
	int fd, pid, status;

	fd = audit_start(&rule);
	if (fd < 0)
		SKIP(return, "needs audit and root");
	/* a task that was made before audit was first switched on has no records */
	pid = fork();
	if (!pid) {
		struct iou r;

		if (iou_init(&r, 8, variant->flags))
			_exit(1);
		if (do_open(&r, variant->sqe_flags, self->dfd, "here", O_RDONLY, 0) < 0)
			_exit(2);
		_exit(do_open(&r, variant->sqe_flags, self->dfd, "none", 0, 0) != -ENOENT);
	}
	EXPECT_TRUE(audit_record(fd, "success=yes exit="));
	EXPECT_TRUE(audit_record(fd, "success=no exit=-2 "));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, audit_stop(fd, &rule));
}

/* Count attempts that would have blocked.  Return: true if the next record has @end. */
static bool audit_one_end(int fd, const char *end, unsigned int *attempts)
{
	char text[512];

	for (*attempts = 0; audit_next(fd, text, sizeof(text)) == IORING_OP_OPENAT; ++*attempts)
		if (!strstr(text, "success=no exit=-11 "))
			return strstr(text, end);
	return false;
}

/*
 * A worker opens a name that is not cached.  The inline attempt has a record of its own, and
 * the result has one record.  Mutant: audit-attempt-succeeds.  differences: audit-result
 */
TEST_F(open, audited_again)
{
	struct audit_rule_data rule = AUDIT_OF(IORING_OP_OPENAT);
	unsigned int attempts;
	int fd, pid, status;

	fd = audit_start(&rule);
	if (fd < 0)
		SKIP(return, "needs audit and root");
	pid = fork();
	if (!pid) {
		struct iou r;

		if (iou_init(&r, 8, variant->flags))
			_exit(1);
		if (do_open(&r, variant->sqe_flags, self->dfd, "none", O_RDONLY, 0) != -ENOENT)
			_exit(2);
		_exit(do_open(&r, variant->sqe_flags, self->dfd, "here", O_RDONLY, 0) < 0);
	}
	EXPECT_TRUE(audit_one_end(fd, iou_on_stock() ? "success=yes exit=0 " :
						       "success=no exit=-2 ", &attempts));
	EXPECT_EQ(!(variant->sqe_flags & IOSQE_ASYNC), attempts);
	EXPECT_TRUE(audit_one_end(fd, "success=yes exit=", &attempts));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, audit_stop(fd, &rule));
}

TEST_HARNESS_MAIN
