// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: operations check limits and rights as system calls do */
/*
 * Root registers an unprivileged user as a personality.  An operation that needs a capability is
 * refused to this user, and granted to root.  6.12 has the same results.
 */
#include "iou_test.h"
#include "sock.h"
#include <linux/openat2.h>
#include <sys/xattr.h>

#define NOBODY	4242

FIXTURE(policy) {
	struct iou r;
	int nobody;
	int file;
	struct rlimit files, size;
};

FIXTURE_VARIANT(policy) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(policy);
IOU_KINDS_ASYNC(policy);

static int become(int effective)
{
	return iou_ret(syscall(__NR_setresuid, -1, effective, -1));
}

FIXTURE_SETUP(policy)
{
	self->r.fd = -1;
	if (getuid())
		SKIP(return, "needs to be root");
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	ASSERT_EQ(0, become(NOBODY));
	self->nobody = iou_register(&self->r, IORING_REGISTER_PERSONALITY, NULL, 0);
	ASSERT_EQ(0, become(0));
	ASSERT_LT(0, self->nobody);
	self->file = iou_file(0, 0);
	ASSERT_LT(0, self->file);
	getrlimit(RLIMIT_NOFILE, &self->files);
	getrlimit(RLIMIT_FSIZE, &self->size);
}

FIXTURE_TEARDOWN(policy)
{
	setrlimit(RLIMIT_NOFILE, &self->files);
	setrlimit(RLIMIT_FSIZE, &self->size);
	iou_exit(&self->r);
	close(self->file);
}

#define TWICE(refused, prep) do {						\
	struct io_uring_sqe *sqe_;						\
										\
	sqe_ = (prep);								\
	sqe_->flags |= variant->sqe_flags;					\
	sqe_->personality = self->nobody;					\
	EXPECT_EQ(refused, iou_one(&self->r));					\
	sqe_ = (prep);								\
	sqe_->flags |= variant->sqe_flags;					\
	EXPECT_LE(0, iou_one(&self->r));					\
} while (0)

static struct io_uring_sqe *prep_socket(struct iou *r, int family, int type, int protocol)
{
	return iou_prep(r, IORING_OP_SOCKET, family, NULL, protocol, type);
}

static struct io_uring_sqe *prep_option(struct iou *r, int fd, int *value)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_URING_CMD, fd, NULL, 0, 0);

	sqe->cmd_op = SOCKET_URING_OP_SETSOCKOPT;
	sqe->level = SOL_SOCKET;
	sqe->optname = SO_MARK;
	sqe->optval = (uintptr_t)value;
	sqe->optlen = sizeof(*value);
	return sqe;
}

TEST_F(policy, sockets)
{
	struct sockaddr_in low = { .sin_family = AF_INET, .sin_port = htons(81) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), mark = 7;

	low.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	TWICE(-EPERM, prep_socket(&self->r, AF_INET, SOCK_RAW, IPPROTO_UDP));
	TWICE(-EACCES, iou_prep(&self->r, IORING_OP_BIND, fd, &low, 0, sizeof(low)));
	TWICE(-EPERM, prep_option(&self->r, fd, &mark));
	close(fd);
}

TEST_F(policy, files)
{
	struct io_uring_sqe *sqe;
	char path[64];
	int i;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->file);
	for (i = 0; i < 2; i++) {
		sqe = iou_prep(&self->r, IORING_OP_FSETXATTR, self->file, "trusted.iou", 1,
			       (uintptr_t)"x");
		sqe->flags = variant->sqe_flags;
		sqe->personality = i ? 0 : self->nobody;
		EXPECT_EQ(i ? 0 : -EPERM, iou_one(&self->r));
	}
	/* rights to a file are checked when it is opened, not when its descriptor is used */
	TWICE(-EACCES, iou_prep(&self->r, IORING_OP_OPENAT, AT_FDCWD, path, 0, 0));
}

TEST_F(policy, descriptors)
{
	struct rlimit none = { .rlim_cur = 0, .rlim_max = self->files.rlim_max };
	static const struct open_how how = { .flags = O_RDONLY };
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct sockaddr_in addr;
	struct io_uring_sqe *sqe;
	int listener = sock_listener(&addr, 1), client = sock_connected(&addr), slot = -1;

	ASSERT_LT(0, listener);
	ASSERT_LT(0, client);
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, &slot, 1));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	prep_socket(r, AF_INET, SOCK_STREAM, 0)->flags = f;
	EXPECT_EQ(-EMFILE, iou_one(r));
	iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, "/dev/null", 0, 0)->flags = f;
	EXPECT_EQ(-EMFILE, iou_one(r));
	sqe = iou_prep(r, IORING_OP_OPENAT2, AT_FDCWD, "/dev/null", sizeof(how), (uintptr_t)&how);
	sqe->flags = f;
	EXPECT_EQ(-EMFILE, iou_one(r));
	iou_prep(r, IORING_OP_ACCEPT, listener, NULL, 0, 0)->flags = f;
	EXPECT_EQ(-EMFILE, iou_one(r));
	/* slots are not descriptors */
	sqe = prep_socket(r, AF_INET, SOCK_STREAM, 0);
	sqe->flags = f;
	sqe->file_index = 1;
	EXPECT_EQ(0, iou_one(r));
	iou_prep(r, IORING_OP_FIXED_FD_INSTALL, 0, NULL, 0, 0)->flags = f | IOSQE_FIXED_FILE;
	EXPECT_EQ(-EMFILE, iou_one(r));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &self->files));
	prep_socket(r, AF_INET, SOCK_STREAM, 0)->flags = f;
	EXPECT_LT(0, iou_one(r));
	iou_prep(r, IORING_OP_FIXED_FD_INSTALL, 0, NULL, 0, 0)->flags = f | IOSQE_FIXED_FILE;
	EXPECT_LT(0, iou_one(r));
	close(client);
	close(listener);
}

TEST_F(policy, sizes)
{
	struct rlimit small = { .rlim_cur = 4096, .rlim_max = self->size.rlim_max };
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	static char data[8192];
	struct io_uring_sqe *sqe;
	int fds[2];

	signal(SIGXFSZ, SIG_IGN);
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &small));
	iou_prep(r, IORING_OP_WRITE, self->file, data, 8192, 0)->flags = f;
	EXPECT_EQ(4096, iou_one(r));
	iou_prep(r, IORING_OP_WRITE, self->file, data, 1, 4096)->flags = f;
	EXPECT_EQ(-EFBIG, iou_one(r));
	iou_prep(r, IORING_OP_FALLOCATE, self->file, (void *)8192, 0, 0)->flags = f;
	EXPECT_EQ(-EFBIG, iou_one(r));
	iou_prep(r, IORING_OP_FTRUNCATE, self->file, NULL, 0, 8192)->flags = f;
	EXPECT_EQ(-EFBIG, iou_one(r));
	iou_prep(r, IORING_OP_FTRUNCATE, self->file, NULL, 0, 4096)->flags = f;
	EXPECT_EQ(0, iou_one(r));
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(1, write(fds[1], "x", 1));
	sqe = iou_prep(r, IORING_OP_SPLICE, self->file, NULL, 1, 4096);
	sqe->splice_off_in = -1;
	sqe->flags = f;
	sqe->splice_fd_in = fds[0];
	EXPECT_EQ(-EFBIG, iou_one(r));
	close(fds[0]);
	close(fds[1]);
}

static unsigned int signals;

static void count_signal(int sig)
{
	signals++;
}

/* A worker runs these requests, so the program does not get SIGXFSZ. */
TEST_F(policy, sizes_without_signals)
{
	struct rlimit small = { .rlim_cur = 4096, .rlim_max = self->size.rlim_max };
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;

	signals = 0;
	signal(SIGXFSZ, count_signal);
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &small));
	iou_prep(r, IORING_OP_FTRUNCATE, self->file, NULL, 0, 8192)->flags = f;
	EXPECT_EQ(-EFBIG, iou_one(r));
	iou_prep(r, IORING_OP_FALLOCATE, self->file, (void *)8192, 0, 0)->flags = f;
	EXPECT_EQ(-EFBIG, iou_one(r));
	iou_prep(r, IORING_OP_WRITE, self->file, "x", 1, 4096)->flags = f;
	EXPECT_EQ(-EFBIG, iou_one(r));
	EXPECT_EQ(0, signals);
	signal(SIGXFSZ, SIG_DFL);
}

TEST_HARNESS_MAIN
