// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: a request has the credentials of its submission */
/*
 * An unprivileged task submits requests that wait, becomes root, and lets the requests continue.
 * An SQPOLL ring of the task is attached to a thread that root has created.  6.12 issues the
 * requests with root's credentials.
 */
#include <sys/socket.h>
#include "iou_test.h"

#define NOBODY	4242
#define SECRET	"/tmp/iou-secret"

FIXTURE(creds) {
	struct iou base, r;
	int pipe[2];
};

FIXTURE_VARIANT(creds) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(creds);

/* Set the real and effective user ID of this thread. */
static int become(int real, int effective)
{
	return iou_ret(syscall(__NR_setresuid, real, effective, 0));
}

FIXTURE_SETUP(creds)
{
	struct io_uring_params p = { .flags = variant->flags, .sq_thread_idle = 50 };

	self->base.fd = -1;
	self->r.fd = -1;
	if (getuid())
		SKIP(return, "needs to be root");
	chmod("/tmp", 01777);
	close(open(SECRET, O_CREAT | O_RDWR, 0600));
	ASSERT_EQ(0, pipe(self->pipe));
	if (variant->flags & IORING_SETUP_SQPOLL) {
		ASSERT_EQ(0, iou_init(&self->base, 8, variant->flags));
		p.flags |= IORING_SETUP_ATTACH_WQ;
		p.wq_fd = self->base.fd;
	}
	ASSERT_EQ(0, become(NOBODY, NOBODY));
	ASSERT_EQ(0, iou_init_params(&self->r, 16, &p));
}

FIXTURE_TEARDOWN(creds)
{
	become(0, 0);
	iou_exit(&self->r);
	iou_exit(&self->base);
	close(self->pipe[0]);
	close(self->pipe[1]);
	unlink(SECRET);
}

static void wait_for_pipe(struct iou *r, int fd, unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL, 0, 0);

	sqe->poll32_events = poll_word(1);
	sqe->flags = flags;
}

static void open_secret(struct iou *r, unsigned int flags, int data)
{
	struct io_uring_sqe *sqe;

	sqe = iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, SECRET, 0, 0);
	sqe->open_flags = O_RDONLY;
	sqe->flags = flags;
	sqe->user_data = data;
}

/*
 * Submit @nr prepared requests, become root, and write to @fd, so that the first request completes.
 * Return: 0 if all other requests fail with -EACCES.  differences: submit-creds
 */
static int refused(struct iou *r, int fd, unsigned int nr)
{
	struct io_uring_cqe cqe;
	int ret = iou_submit(r);

	if (ret < 0)
		return ret;
	/* give an SQPOLL thread more time than iou_submit() to process the SQEs */
	iou_sleep_ms(r->flags & IORING_SETUP_SQPOLL ? 100 : 0);
	if (become(0, 0) || write(fd, "x", 1) != 1)
		return -EIO;
	while (nr--) {
		ret = iou_reap(r, &cqe);
		if (ret)
			return ret;
		if (cqe.user_data && cqe.res != -EACCES)
			return iou_on_stock() ? 0 : cqe.res ? cqe.res : -ENODATA;
	}
	return 0;
}

TEST_F(creds, at_once)
{
	open_secret(&self->r, 0, 1);
	EXPECT_EQ(-EACCES, iou_one(&self->r));
	open_secret(&self->r, IOSQE_ASYNC, 1);
	EXPECT_EQ(-EACCES, iou_one(&self->r));
}

TEST_F(creds, linked)
{
	wait_for_pipe(&self->r, self->pipe[0], IOSQE_IO_HARDLINK);
	open_secret(&self->r, IOSQE_IO_HARDLINK, 1);
	open_secret(&self->r, IOSQE_IO_HARDLINK | IOSQE_ASYNC, 2);
	open_secret(&self->r, 0, 3);
	EXPECT_EQ(0, refused(&self->r, self->pipe[1], 4));
}

TEST_F(creds, drained)
{
	wait_for_pipe(&self->r, self->pipe[0], 0);
	open_secret(&self->r, IOSQE_IO_DRAIN | IOSQE_IO_HARDLINK, 1);
	open_secret(&self->r, 0, 2);
	open_secret(&self->r, 0, 3);
	EXPECT_EQ(0, refused(&self->r, self->pipe[1], 4));
}

/* Fill a socket so that the next write waits; the receiver requests the sender's credentials. */
static int full_socket(int *sv)
{
	static const char data[4096];
	int one = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) ||
	    setsockopt(sv[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)))
		return -errno;
	while (send(sv[0], data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	return 0;
}

/*
 * Receive once.  Return: the user ID of the sender if the data ends with '!', -1 if there is no
 * data, otherwise -2.
 */
static int sender_of_mark(int fd)
{
	char data[4096], control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t len = recvmsg(fd, &msg, MSG_DONTWAIT);
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct ucred cred;

	if (len <= 0 || !c || data[len - 1] != '!')
		return len <= 0 ? -1 : -2;
	memcpy(&cred, CMSG_DATA(c), sizeof(cred));
	return cred.uid;
}

/*
 * A write waits for room in a socket.  The receiver gets the user ID that the task had when it
 * submitted the write.  differences: submit-creds
 */
TEST_F(creds, waits_for_its_file)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	int sv[2], uid = -1;

	ASSERT_EQ(0, full_socket(sv));
	iou_prep(&self->r, IORING_OP_WRITE, sv[0], "!", 1, -1);
	ASSERT_LE(0, iou_submit(&self->r));
	iou_sleep_ms(variant->flags & IORING_SETUP_SQPOLL ? 100 : 0);
	ASSERT_EQ(0, become(0, 0));
	while (uid < 0 && iou_now_us() < end) {
		uid = sender_of_mark(sv[1]);
		if (uid == -1)
			iou_wait_ms(&self->r, 1, 1);
	}
	EXPECT_TRUE(uid == NOBODY || iou_on_stock()) {
		TH_LOG("sender: %d", uid);
	}
	EXPECT_EQ(0, iou_discard(&self->r, 1));
	close(sv[0]);
	close(sv[1]);
}

/*
 * A NOP with a 32-byte CQE holds the last reference to the credentials of a personality, and may
 * end while it is issued.
 */
TEST_F(creds, last_reference)
{
	struct io_uring_sqe *sqe;
	struct iou r;
	int id;

	/* differences: none, 6.12 has no IORING_NOP_CQE32 */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_NOP_CQE32");
	ASSERT_EQ(0, iou_init(&r, 8, variant->flags | IORING_SETUP_CQE32));
	/* each change gives the thread a new set of credentials */
	ASSERT_EQ(0, become(NOBODY, 0));
	id = iou_register(&r, IORING_REGISTER_PERSONALITY, NULL, 0);
	ASSERT_LT(0, id);
	ASSERT_EQ(0, become(NOBODY, NOBODY));
	wait_for_pipe(&r, self->pipe[0], IOSQE_IO_LINK);
	sqe = iou_nop(&r, 2);
	sqe->nop_flags = IORING_NOP_CQE32;
	sqe->personality = id;
	ASSERT_LE(0, iou_submit_issued(&r));
	ASSERT_EQ(0, iou_register(&r, IORING_UNREGISTER_PERSONALITY, NULL, id));
	ASSERT_EQ(1, write(self->pipe[1], "", 1));
	EXPECT_EQ(0, iou_discard(&r, 2));
	iou_exit(&r);
}

TEST_HARNESS_MAIN
