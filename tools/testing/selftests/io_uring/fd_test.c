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

/* Mutant: install-by-anybody. */
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

TEST_HARNESS_MAIN
