// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: FIXED_FD_INSTALL and EPOLL_CTL */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "iou_test.h"

FIXTURE(fd) {
	struct iou r;
	int file, efd, epfd;
};

FIXTURE_VARIANT(fd) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS(fd);
IOU_KINDS_ASYNC(fd);

FIXTURE_SETUP(fd)
{
	int fds[2] = { -1, -1 };

	self->file = iou_file(4096, 3);
	self->efd = eventfd(0, 0);
	self->epfd = epoll_create1(0);
	fds[1] = self->file;
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, fds, 2));
}

FIXTURE_TEARDOWN(fd)
{
	iou_exit(&self->r);
	close(self->epfd);
	close(self->efd);
	close(self->file);
}

static struct io_uring_sqe *prep_install(struct iou *r, unsigned int f, int slot,
					 unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_FIXED_FD_INSTALL, slot, NULL, 0, 0);

	sqe->install_fd_flags = flags;
	sqe->flags = f;
	return sqe;
}

static int do_install(struct iou *r, unsigned int f, int slot, unsigned int flags)
{
	prep_install(r, f, slot, flags);
	return iou_one(r);
}

TEST_F(fd, install)
{
	unsigned int f = variant->sqe_flags | IOSQE_FIXED_FILE;
	struct iou *r = &self->r;
	struct stat want, got;
	int fd, kept;

	fd = do_install(r, f, 1, 0);
	ASSERT_LE(0, fd);
	fstat(self->file, &want);
	fstat(fd, &got);
	EXPECT_EQ(want.st_ino, got.st_ino);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	kept = do_install(r, f, 1, IORING_FIXED_FD_NO_CLOEXEC);
	ASSERT_LE(0, kept);
	EXPECT_EQ(0, fcntl(kept, F_GETFD));
	/* descriptors of one file share its position */
	lseek(fd, 77, SEEK_SET);
	EXPECT_EQ(77, lseek(kept, 0, SEEK_CUR));
	/* the descriptor outlives the slot */
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_FILES, NULL, 0));
	EXPECT_EQ(77, lseek(kept, 0, SEEK_CUR));
	close(fd);
	close(kept);
}

/*
 * FIXED_FD_INSTALL is refused for a bad slot or flag, with a personality, and beyond
 * RLIMIT_NOFILE.  Mutant: install-with-personality.
 */
TEST_F(fd, install_refused)
{
	unsigned int f = variant->sqe_flags | IOSQE_FIXED_FILE;
	struct iou *r = &self->r;
	struct rlimit old, low;
	int id, fd;

	EXPECT_EQ(-EBADF, do_install(r, f, 0, 0));
	EXPECT_EQ(-EBADF, do_install(r, f, 2, 0));
	EXPECT_EQ(-EBADF, do_install(r, variant->sqe_flags, self->file, 0));
	EXPECT_EQ(-EINVAL, do_install(r, f, 1, 2));
	/* the credentials of an install cannot be changed */
	id = iou_register(r, IORING_REGISTER_PERSONALITY, NULL, 0);
	ASSERT_LT(0, id);
	prep_install(r, f, 1, 0)->personality = id;
	EXPECT_EQ(-EPERM, iou_one(r));
	prep_install(r, f, 1, 2)->personality = id;
	EXPECT_EQ(-EINVAL, iou_one(r));

	fd = dup(0);
	close(fd);
	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = fd;
	setrlimit(RLIMIT_NOFILE, &low);
	EXPECT_EQ(-EMFILE, do_install(r, f, 1, 0));
	setrlimit(RLIMIT_NOFILE, &old);
}

static int do_ctl(struct iou *r, unsigned int f, int epfd, int op, int fd,
		  const struct epoll_event *event)
{
	iou_prep(r, IORING_OP_EPOLL_CTL, epfd, event, op, fd)->flags = f;
	return iou_one(r);
}

TEST_F(fd, epoll_ctl)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 7 }, got = {};
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	int ep = self->epfd;

	EXPECT_EQ(0, do_ctl(r, f, ep, EPOLL_CTL_ADD, self->efd, &event));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	eventfd_write(self->efd, 1);
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, 0));
	EXPECT_EQ(7, got.data.u64);
	event.data.u64 = 8;
	EXPECT_EQ(0, do_ctl(r, f, ep, EPOLL_CTL_MOD, self->efd, &event));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, 0));
	EXPECT_EQ(8, got.data.u64);
	EXPECT_EQ(-EEXIST, do_ctl(r, f, ep, EPOLL_CTL_ADD, self->efd, &event));
	/* DEL does not read the event */
	EXPECT_EQ(0, do_ctl(r, f, ep, EPOLL_CTL_DEL, self->efd, (void *)8));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	EXPECT_EQ(-ENOENT, do_ctl(r, f, ep, EPOLL_CTL_DEL, self->efd, NULL));
	EXPECT_EQ(-ENOENT, do_ctl(r, f, ep, EPOLL_CTL_MOD, self->efd, &event));

	EXPECT_EQ(-EFAULT, do_ctl(r, f, ep, EPOLL_CTL_ADD, self->efd, (void *)8));
	EXPECT_EQ(-EINVAL, do_ctl(r, f, ep, 9, self->efd, &event));
	EXPECT_EQ(-EINVAL, do_ctl(r, f, self->efd, EPOLL_CTL_ADD, ep, &event));
	EXPECT_EQ(-EINVAL, do_ctl(r, f, ep, EPOLL_CTL_ADD, ep, &event));
	EXPECT_EQ(-EPERM, do_ctl(r, f, ep, EPOLL_CTL_ADD, self->file, &event));
	EXPECT_EQ(-EBADF, do_ctl(r, f, ep, EPOLL_CTL_ADD, 999, &event));
	EXPECT_EQ(-EBADF, do_ctl(r, f, 999, EPOLL_CTL_ADD, self->efd, &event));
}

/* An epoll instance may watch another ring, and the ring that adds it. */
TEST_F(fd, epoll_of_rings)
{
	struct epoll_event event = { .events = EPOLLIN }, got = {};
	struct iou other;

	ASSERT_EQ(0, iou_init(&other, 4, 0));
	EXPECT_EQ(0, do_ctl(&self->r, variant->sqe_flags, self->epfd, EPOLL_CTL_ADD, other.fd,
			    &event));
	iou_nop(&other, 1);
	ASSERT_EQ(1, iou_submit(&other));
	EXPECT_EQ(1, epoll_wait(self->epfd, &got, 1, IOU_PATIENCE));
	iou_exit(&other);
	EXPECT_EQ(0, do_ctl(&self->r, variant->sqe_flags, self->epfd, EPOLL_CTL_ADD, self->r.fd,
			    &event));
}

static struct io_uring_sqe *prep_epoll_wait(struct iou *r, unsigned int sqe_flags, int epfd,
					    struct epoll_event *events, unsigned int max)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_EPOLL_WAIT, epfd, events, max, 0);

	sqe->flags = sqe_flags;
	return sqe;
}

/* Watch the read ends of two pipes.  Return: the epoll instance. */
static int watch_two(int p[2][2], unsigned int events)
{
	int epfd = epoll_create1(0), i;

	for (i = 0; i < 2; i++) {
		struct epoll_event ev = { .events = events, .data.u64 = i };

		if (pipe(p[i]) || epoll_ctl(epfd, EPOLL_CTL_ADD, p[i][0], &ev))
			return -errno;
	}
	return epfd;
}

/* EPOLL_WAIT gets the events that are there, or waits for one.  Mutant: epoll-wait-takes-none. */
TEST_F(fd, epoll_wait)
{
	unsigned int f = variant->sqe_flags, i;
	struct iou *r = &self->r;
	struct epoll_event ev[4];
	struct io_uring_cqe cqe;
	int p[2][2], epfd;

	/* differences: none, 6.12 has no EPOLL_WAIT */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_EPOLL_WAIT");
	epfd = watch_two(p, EPOLLIN | EPOLLET);
	ASSERT_LE(0, epfd);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, write(p[i][1], "x", 1));
	prep_epoll_wait(r, f, epfd, ev, 4);
	EXPECT_EQ(2, iou_one(r));
	EXPECT_EQ(1, ev[0].data.u64 + ev[1].data.u64);
	EXPECT_EQ(EPOLLIN, ev[0].events);
	/* several requests wait; each event goes to one of them */
	for (i = 0; i < 2; i++)
		prep_epoll_wait(r, f, epfd, &ev[i], 1)->user_data = i;
	ASSERT_EQ(2, iou_submit(r));
	EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 5));
	ASSERT_EQ(1, write(p[1][1], "x", 1));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.res);
	EXPECT_EQ(1, ev[cqe.user_data].data.u64);
	EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 5));
	ASSERT_EQ(1, write(p[0][1], "x", 1));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.res);
	EXPECT_EQ(0, ev[cqe.user_data].data.u64);
	/* a request that waits can be cancelled */
	prep_epoll_wait(r, f, epfd, ev, 4)->user_data = 7;
	ASSERT_EQ(1, iou_submit(r));
	iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0)->user_data = 8;
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		/* a worker may be about to wait */
		if (f && cqe.user_data == 8 && cqe.res == -EALREADY)
			cqe.res = 0;
		EXPECT_EQ(cqe.user_data == 7 ? -ECANCELED : 0, cqe.res);
	}
	close(epfd);
}

/* Events that another task takes again and again end no EPOLL_WAIT. */
TEST_F(fd, epoll_wait_in_vain)
{
	struct iou *r = &self->r;
	struct epoll_event ev[2];
	int p[2][2], epfd, i;
	char c;

	/* differences: none, 6.12 has no EPOLL_WAIT */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_EPOLL_WAIT");
	epfd = watch_two(p, EPOLLIN);
	ASSERT_LE(0, epfd);
	prep_epoll_wait(r, variant->sqe_flags, epfd, ev, 2);
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(1, write(p[i % 2][1], "x", 1));
		ASSERT_EQ(1, read(p[i % 2][0], &c, 1));
		/* a thread or a worker may get an event, perhaps of an earlier round */
		if (iou_ready(r))
			break;
		iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS);
	}
	if (i == 100) {
		ASSERT_EQ(1, write(p[1][1], "x", 1));
		ASSERT_EQ(0, iou_wait(r, 1));
	}
	/* differences: none, a worker of 7.3 ends an EPOLL_WAIT in vain with -EAGAIN */
	if (!iou_on_stock() || iou_cqe_at(r, 0)->res != -EAGAIN)
		EXPECT_LE(1, iou_cqe_at(r, 0)->res);
	if (i == 100)
		EXPECT_EQ(1, ev[0].data.u64);
	iou_seen(r, 1);
	close(epfd);
}

TEST_F(fd, epoll_wait_refused)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct epoll_event ev[4];
	int p[2][2], epfd;

	/* differences: none, 6.12 has no EPOLL_WAIT */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_OP_EPOLL_WAIT");
	epfd = watch_two(p, EPOLLIN);
	ASSERT_LE(0, epfd);
	ASSERT_EQ(1, write(p[0][1], "x", 1));
#define REFUSED(errno_, field, value) do {				\
	prep_epoll_wait(r, f, epfd, ev, 4)->field = (value);		\
	EXPECT_EQ(errno_, iou_one(r));					\
} while (0)
	REFUSED(-EINVAL, len, 0);
	REFUSED(-EINVAL, len, -1);
	REFUSED(-EINVAL, off, 1);
	REFUSED(-EINVAL, rw_flags, 1);
	REFUSED(-EINVAL, buf_index, 1);
	REFUSED(-EINVAL, file_index, 1);
	REFUSED(-EINVAL, fd, p[0][0]);
	REFUSED(-EBADF, fd, -1);
	REFUSED(-EFAULT, addr, 8);
	REFUSED(1, addr3, 1);
#undef REFUSED
	close(epfd);
}

TEST_HARNESS_MAIN
