// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: URING_CMD - commands for /dev/null, sockets and block devices */
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "iou_test.h"

#ifndef BLOCK_URING_CMD_DISCARD
#define BLOCK_URING_CMD_DISCARD	_IO(0x12, 0)
#endif

/* SO_RCVTIMEO means SO_RCVTIMEO_NEW in a 32-bit program with a 64-bit time_t */
#ifndef SO_RCVTIMEO_OLD
#define SO_RCVTIMEO_OLD	20
#endif

FIXTURE(cmd) {
	struct iou r;
	int null;
};

FIXTURE_VARIANT(cmd) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS(cmd);
FIXTURE_VARIANT_ADD(cmd, plain_async) {
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(cmd, defer_large_async) {
	.flags = IOU_DEFER | IOU_LARGE,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_SETUP(cmd)
{
	ASSERT_EQ(0, iou_init(&self->r, 32, variant->flags));
	self->null = open("/dev/null", O_RDWR);
	ASSERT_LT(0, self->null);
}

FIXTURE_TEARDOWN(cmd)
{
	iou_exit(&self->r);
	close(self->null);
}

static struct io_uring_sqe *prep_cmd(struct iou *r, int fd, unsigned int op, unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_URING_CMD, fd, NULL, 0, 0);

	sqe->cmd_op = op;
	sqe->flags = flags;
	sqe->user_data = 1;
	return sqe;
}

TEST_F(cmd, null)
{
	unsigned int f = variant->sqe_flags, i;
	struct iou *r = &self->r;
	struct io_uring_cqe *cqe;

	prep_cmd(r, self->null, 77, f);
	EXPECT_EQ(0, iou_one(r));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, &self->null, 1));
	prep_cmd(r, 0, 77, f | IOSQE_FIXED_FILE);
	EXPECT_EQ(0, iou_one(r));
	/* a batch of commands; the extra words of their CQEs are zero */
	for (i = 0; i < 16; i++)
		prep_cmd(r, self->null, i, f)->user_data = i;
	ASSERT_EQ(16, iou_submit(r));
	ASSERT_EQ(0, iou_wait(r, 16));
	for (i = 0; i < 16; i++) {
		cqe = iou_cqe_at(r, i);
		EXPECT_EQ(0, cqe->res);
		EXPECT_EQ(0, cqe->flags);
		if (r->cqe_size == 32) {
			EXPECT_EQ(0, cqe->big_cqe[0]);
			EXPECT_EQ(0, cqe->big_cqe[1]);
		}
	}
	iou_seen(r, 16);
}

TEST_F(cmd, refused)
{
	int fd = open("/dev/zero", O_RDWR), file = iou_file(4096, 1);
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;

	/* files without commands are refused */
	prep_cmd(r, fd, 0, f);
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	prep_cmd(r, file, 0, f);
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	prep_cmd(r, r->fd, 0, f);
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	prep_cmd(r, 999, 0, f);
	EXPECT_EQ(-EBADF, iou_one(r));
	/* bad fields and flags are refused */
	prep_cmd(r, self->null, 0, f)->__pad1 = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->null, 0, f)->uring_cmd_flags = 2;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->null, 0, f)->uring_cmd_flags = 1U << 31;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->null, 0, f)->uring_cmd_flags = 1U << 30;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->null, 0, f)->ioprio = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->null, 0, f | IOSQE_BUFFER_SELECT);
	/* differences: none, 6.12 has no IORING_URING_CMD_MULTISHOT */
	EXPECT_EQ(iou_on_older_stock() ? -EOPNOTSUPP : -EINVAL, iou_one(r));
	/* fields that the command does not read may have any value */
	prep_cmd(r, self->null, 0, f)->len = 1;
	EXPECT_EQ(0, iou_one(r));
	prep_cmd(r, self->null, 0, f)->buf_index = 1;
	EXPECT_EQ(0, iou_one(r));
	close(fd);
	close(file);
}

/* A command may post CQEs with provided buffers.  A driver that posts none ignores the flag. */
TEST_F(cmd, multishot)
{
	unsigned int f = variant->sqe_flags | IOSQE_BUFFER_SELECT;
	struct iou *r = &self->r;

	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_URING_CMD_MULTISHOT");
	prep_cmd(r, self->null, 0, f)->uring_cmd_flags = IORING_URING_CMD_MULTISHOT;
	EXPECT_EQ(0, iou_one(r));
	prep_cmd(r, self->null, 0, f)->uring_cmd_flags = IORING_URING_CMD_MULTISHOT |
							 IORING_URING_CMD_FIXED;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->null, 0, f & ~IOSQE_BUFFER_SELECT)->uring_cmd_flags =
		IORING_URING_CMD_MULTISHOT;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->null, 0, f)->uring_cmd_flags = IORING_URING_CMD_MULTISHOT | 4;
	EXPECT_EQ(-EINVAL, iou_one(r));
}

/*
 * A command that imports no buffer may name a slot that is not there; 6.12 refuses it.
 * differences: cmd-fixed-import
 */
TEST_F(cmd, fixed_buffer)
{
	int none = iou_on_older_stock() ? -EFAULT : 0;
	char *mem = iou_map_anon(4096);
	struct iovec iov[2] = { { mem, 4096 }, { NULL, 0 } };
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;

	prep_cmd(r, self->null, 0, f)->uring_cmd_flags = IORING_URING_CMD_FIXED;
	EXPECT_EQ(none, iou_one(r));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, iov, 2));
	prep_cmd(r, self->null, 0, f)->uring_cmd_flags = IORING_URING_CMD_FIXED;
	EXPECT_EQ(0, iou_one(r));
	/* an empty slot, and one past the end of the table */
	sqe = prep_cmd(r, self->null, 0, f);
	sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
	sqe->buf_index = 1;
	EXPECT_EQ(0, iou_one(r));
	sqe = prep_cmd(r, self->null, 0, f);
	sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
	sqe->buf_index = 2;
	EXPECT_EQ(none, iou_one(r));
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
}

TEST_F(cmd, chain)
{
	int zero = open("/dev/zero", O_RDWR), i;
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	prep_cmd(r, self->null, 0, f | IOSQE_IO_LINK)->user_data = 0;
	prep_cmd(r, zero, 0, f | IOSQE_IO_LINK)->user_data = 1;
	prep_cmd(r, self->null, 0, f)->user_data = 2;
	prep_cmd(r, self->null, 0, f | IOSQE_IO_DRAIN)->user_data = 3;
	ASSERT_EQ(4, iou_submit(r));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i, cqe.user_data);
		EXPECT_EQ(i == 1 ? -EOPNOTSUPP : i == 2 ? -ECANCELED : 0, cqe.res);
	}
	prep_cmd(r, self->null, 0, f | IOSQE_CQE_SKIP_SUCCESS);
	iou_nop(r, 9);
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(9, cqe.user_data);
	close(zero);
}

/*
 * The commands of these files cannot be polled: on an IOPOLL ring they end as on other rings.
 * differences: submit-unpolled-command
 */
TEST(iopoll_unpolled)
{
	int fds[] = { open("/dev/null", O_RDWR), socket(AF_INET, SOCK_STREAM, 0) };
	struct iou plain, polled;
	unsigned int i, f;

	if (iou_on_stock())
		SKIP(return, "6.12 refuses them");
	ASSERT_EQ(0, iou_init(&plain, 8, 0));
	ASSERT_EQ(0, iou_init(&polled, 8, IORING_SETUP_IOPOLL));
	for (i = 0; i < 2; i++) {
		for (f = 0; f <= IOSQE_ASYNC; f += IOSQE_ASYNC) {
			prep_cmd(&plain, fds[i], 0, f);
			prep_cmd(&polled, fds[i], 0, f);
			EXPECT_EQ(iou_one(&plain), iou_one(&polled));
		}
	}
	/* an unknown command of a socket is refused */
	prep_cmd(&polled, fds[1], 99, 0);
	EXPECT_EQ(-EOPNOTSUPP, iou_one(&polled));
	iou_exit(&plain);
	iou_exit(&polled);
	close(fds[0]);
	close(fds[1]);
}

static struct io_uring_sqe *prep_sock(struct iou *r, int fd, unsigned int op, unsigned int flags,
				      int level, int name, const void *val, int len)
{
	struct io_uring_sqe *sqe = prep_cmd(r, fd, op, flags);

	sqe->level = level;
	sqe->optname = name;
	sqe->optval = (uintptr_t)val;
	sqe->optlen = len;
	return sqe;
}

static int sock_ioctl(struct iou *r, int fd, unsigned int op, unsigned int flags)
{
	prep_cmd(r, fd, op, flags);
	return iou_one(r);
}

/* Connect two TCP sockets. */
static int tcp_pair(int pair[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int ret = -1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (!bind(listener, (void *)&addr, len) && !listen(listener, 1) &&
	    !getsockname(listener, (void *)&addr, &len) &&
	    !connect(pair[0], (void *)&addr, len)) {
		pair[1] = accept(listener, NULL, NULL);
		ret = pair[1] < 0;
	}
	close(listener);
	return ret;
}

TEST_F(cmd, siocinq)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	char buf[100];
	int pair[2], bytes;

	ASSERT_EQ(0, tcp_pair(pair));
	EXPECT_EQ(0, sock_ioctl(r, pair[1], SOCKET_URING_OP_SIOCINQ, f));
	ASSERT_EQ(100, write(pair[0], buf, 100));
	while (!ioctl(pair[1], SIOCINQ, &bytes) && bytes < 100)
		sched_yield();
	EXPECT_EQ(100, sock_ioctl(r, pair[1], SOCKET_URING_OP_SIOCINQ, f));
	while (!ioctl(pair[0], SIOCOUTQ, &bytes) && bytes)
		iou_sleep_ms(1);
	EXPECT_EQ(0, sock_ioctl(r, pair[0], SOCKET_URING_OP_SIOCOUTQ, f));
	EXPECT_EQ(-EOPNOTSUPP, sock_ioctl(r, pair[0], 99, f));
	close(pair[0]);
	close(pair[1]);

	/* AF_UNIX datagram sockets have neither command, and a listener has no SIOCINQ */
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	EXPECT_EQ(-EOPNOTSUPP, sock_ioctl(r, pair[0], SOCKET_URING_OP_SIOCINQ, f));
	EXPECT_EQ(-EOPNOTSUPP, sock_ioctl(r, pair[0], SOCKET_URING_OP_SIOCOUTQ, f));
	close(pair[0]);
	close(pair[1]);
	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	ASSERT_EQ(0, listen(pair[0], 1));
	EXPECT_EQ(-EINVAL, sock_ioctl(r, pair[0], SOCKET_URING_OP_SIOCINQ, f));
	close(pair[0]);
}

static int getopt_cmd(struct iou *r, int fd, unsigned int f, int level, int name, void *val,
		      int len)
{
	prep_sock(r, fd, SOCKET_URING_OP_GETSOCKOPT, f, level, name, val, len);
	return iou_one(r);
}

static int setopt_cmd(struct iou *r, int fd, unsigned int f, int level, int name, void *val,
		      int len)
{
	prep_sock(r, fd, SOCKET_URING_OP_SETSOCKOPT, f, level, name, val, len);
	return iou_one(r);
}

TEST_F(cmd, sockopt)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), val = 0, cut = -1, one = 1;
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	socklen_t len = sizeof(val);

	EXPECT_EQ(4, getopt_cmd(r, fd, f, SOL_SOCKET, SO_TYPE, &val, sizeof(val)));
	EXPECT_EQ(SOCK_STREAM, val);
	EXPECT_EQ(2, getopt_cmd(r, fd, f, SOL_SOCKET, SO_TYPE, &cut, 2));
	EXPECT_EQ(0, memcmp(&cut, &val, 2));
	EXPECT_EQ(0, memcmp((char *)&cut + 2, "\xff\xff", 2));
	EXPECT_EQ(0, getopt_cmd(r, fd, f, SOL_SOCKET, SO_TYPE, &val, 0));
	EXPECT_EQ(4, getopt_cmd(r, fd, f, SOL_SOCKET, SO_TYPE, &val, 4000));
	EXPECT_EQ(-EINVAL, getopt_cmd(r, fd, f, SOL_SOCKET, SO_TYPE, &val, -1));
	EXPECT_EQ(-EFAULT, getopt_cmd(r, fd, f, SOL_SOCKET, SO_TYPE, (void *)8, 4));
	EXPECT_EQ(-ENOPROTOOPT, getopt_cmd(r, fd, f, SOL_SOCKET, 9999, &val, 4));
	EXPECT_EQ(-EOPNOTSUPP, getopt_cmd(r, fd, f, IPPROTO_TCP, TCP_NODELAY, &val, 4));

	EXPECT_EQ(0, setopt_cmd(r, fd, f, SOL_SOCKET, SO_REUSEADDR, &one, 4));
	EXPECT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &val, &len));
	EXPECT_EQ(1, val);
	EXPECT_EQ(0, setopt_cmd(r, fd, f, IPPROTO_TCP, TCP_NODELAY, &one, 4));
	val = 0;
	EXPECT_EQ(0, getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &val, &len));
	EXPECT_EQ(1, val);
	EXPECT_EQ(-EINVAL, setopt_cmd(r, fd, f, SOL_SOCKET, SO_REUSEADDR, &one, 2));
	EXPECT_EQ(-EINVAL, setopt_cmd(r, fd, f, SOL_SOCKET, SO_REUSEADDR, &one, -1));
	EXPECT_EQ(-EFAULT, setopt_cmd(r, fd, f, SOL_SOCKET, SO_REUSEADDR, (void *)8, 4));
	EXPECT_EQ(-ENOPROTOOPT, setopt_cmd(r, fd, f, SOL_SOCKET, 9999, &one, 4));
	close(fd);
}

/* Get the name of a socket.  Return: the command's result; *@len is the length of the name. */
static int getname_cmd(struct iou *r, int fd, unsigned int f, unsigned int peer,
		       struct sockaddr_storage *addr, int *len)
{
	struct io_uring_sqe *sqe = prep_sock(r, fd, SOCKET_URING_OP_GETSOCKNAME, f, 0, 0, len,
					     peer);

	sqe->addr = (uintptr_t)addr;
	return iou_one(r);
}

/* Mutant: getsockname-of-the-other. */
TEST_F(cmd, getsockname)
{
	int pair[2], lone = socket(AF_INET, SOCK_STREAM, 0), zero = open("/dev/zero", O_RDWR);
	struct sockaddr_storage want = {}, got = {};
	unsigned int f = variant->sqe_flags, peer;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	socklen_t want_len;
	int len;

	/* differences: none, 6.12 has no such command */
	if (iou_on_older_stock())
		SKIP(return, "no SOCKET_URING_OP_GETSOCKNAME");
	ASSERT_EQ(0, tcp_pair(pair));
	for (peer = 0; peer < 2; peer++) {
		want_len = sizeof(want);
		len = sizeof(got);
		ASSERT_EQ(0, (peer ? getpeername : getsockname)(pair[0], (void *)&want, &want_len));
		EXPECT_EQ(0, getname_cmd(r, pair[0], f, peer, &got, &len));
		EXPECT_EQ(want_len, len);
		EXPECT_EQ(0, memcmp(&want, &got, len));
	}
	/* a name that does not fit is cut off; its length is not */
	memset(&got, 0x55, sizeof(got));
	len = 3;
	EXPECT_EQ(0, getname_cmd(r, pair[0], f, 1, &got, &len));
	EXPECT_EQ(want_len, len);
	EXPECT_EQ(0, memcmp(&want, &got, 3));
	EXPECT_EQ(0x55, ((unsigned char *)&got)[3]);
	len = -1;
	EXPECT_EQ(-EINVAL, getname_cmd(r, pair[0], f, 0, &got, &len));
	len = sizeof(got);
	EXPECT_EQ(-EFAULT, getname_cmd(r, pair[0], f, 0, (void *)8, &len));
	EXPECT_EQ(-EFAULT, getname_cmd(r, pair[0], f, 0, &got, (void *)8));
	EXPECT_EQ(-EINVAL, getname_cmd(r, pair[0], f, 2, &got, &len));
	EXPECT_EQ(-ENOTCONN, getname_cmd(r, lone, f, 1, &got, &len));
	EXPECT_EQ(-EOPNOTSUPP, getname_cmd(r, zero, f, 0, &got, &len));
	sqe = prep_sock(r, pair[0], SOCKET_URING_OP_GETSOCKNAME, f, 0, 0, &len, 0);
	sqe->addr = (uintptr_t)&got;
	sqe->len = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	close(pair[0]);
	close(pair[1]);
	close(lone);
	close(zero);
}

/* SO_RCVTIMEO has two longs.  Each context that runs the command uses the program's word size. */
TEST_F(cmd, sockopt_in_words)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	long set[2] = { 3, 0 }, got[3] = { 7, 7, 7 };
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;

	EXPECT_EQ(0, setopt_cmd(r, fd, f, SOL_SOCKET, SO_RCVTIMEO_OLD, set, sizeof(set)));
	EXPECT_EQ(sizeof(set),
		  getopt_cmd(r, fd, f, SOL_SOCKET, SO_RCVTIMEO_OLD, got, sizeof(got)));
	EXPECT_EQ(3, got[0]);
	EXPECT_EQ(0, got[1]);
	EXPECT_EQ(7, got[2]);
	close(fd);
}

/*
 * A command that is issued after its submission does not read the SQE's slot again.
 * differences: cmd-sqe-copy
 */
TEST_F(cmd, sqe_is_copied)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), gate[2], val = 0;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	char byte = 0;
	unsigned int i;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the slots are given back when the thread likes");
	ASSERT_EQ(0, pipe(gate));
	iou_prep(r, IORING_OP_READ, gate[0], &byte, 1, 0)->flags = IOSQE_IO_LINK;
	sqe = prep_sock(r, fd, SOCKET_URING_OP_GETSOCKOPT, variant->sqe_flags, SOL_SOCKET,
			SO_TYPE, &val, 4);
	sqe->user_data = 2;
	prep_sock(r, fd, SOCKET_URING_OP_GETSOCKOPT, variant->sqe_flags | IOSQE_IO_DRAIN,
		  SOL_SOCKET, SO_TYPE, &val, 4);
	ASSERT_EQ(3, iou_submit(r));
	for (i = 0; i < r->p.sq_entries; i++)
		memset((char *)r->sqes + i * (size_t)r->sqe_size, 0xff, r->sqe_size);
	ASSERT_EQ(1, write(gate[1], &byte, 1));
	for (i = 0; i < 3; i++) {
		struct io_uring_cqe cqe;

		ASSERT_EQ(0, iou_reap(r, &cqe));
		if (!iou_on_stock() || !i)
			EXPECT_EQ(i ? 4 : 1, cqe.res);
	}
	if (!iou_on_stock())
		EXPECT_EQ(SOCK_STREAM, val);
	close(fd);
	close(gate[0]);
	close(gate[1]);
}

#define NULLB	"/sys/kernel/config/nullb/nullb8/"
#define DISK_SIZE	(8 << 20)

/*
 * Open a null_blk device with discard, and create the device if necessary.  The device runs one
 * request at a time, each for 2 ms.
 */
static int open_disk(int flags)
{
	if (access(NULLB, F_OK)) {
		mount("none", "/sys/kernel/config", "configfs", 0, NULL);
		if (mkdir(NULLB, 0700))
			return -1;
		iou_put(NULLB "size", "8");
		iou_put(NULLB "blocksize", "4096");
		iou_put(NULLB "memory_backed", "1");
		iou_put(NULLB "discard", "1");
		iou_put(NULLB "submit_queues", "1");
		iou_put(NULLB "hw_queue_depth", "1");
		iou_put(NULLB "irqmode", "2");
		iou_put(NULLB "completion_nsec", "2000000");
		iou_put(NULLB "power", "1");
	}
	return open("/dev/nullb8", flags);
}

static struct io_uring_sqe *prep_discard(struct iou *r, int fd, unsigned int f,
					 unsigned long long start, unsigned long long len)
{
	struct io_uring_sqe *sqe = prep_cmd(r, fd, BLOCK_URING_CMD_DISCARD, f);

	sqe->addr = start;
	sqe->addr3 = len;
	return sqe;
}

static int do_discard(struct iou *r, int fd, unsigned int f, unsigned long long start,
		      unsigned long long len)
{
	prep_discard(r, fd, f, start, len);
	return iou_one(r);
}

/* Return: 0 if blocks @start to @end - 1 are zero, and other blocks below @nr hold the pattern. */
static long check_disk(int fd, unsigned int nr, unsigned int start, unsigned int end)
{
	char *buf = iou_map_anon(4096);
	unsigned int i, j;
	long bad = 0;

	for (i = 0; i < nr && !bad; i++) {
		if (pread(fd, buf, 4096, i * 4096) != 4096)
			bad = -1;
		else if ((i < start || i >= end) && iou_verify(buf, 4096, i * 4096, 3) != -1)
			bad = i + 1;
		for (j = 0; i >= start && i < end && j < 4096; j++)
			if (buf[j])
				bad = i + 1;
	}
	munmap(buf, 4096);
	return bad;
}

static void fill_disk(int fd, unsigned int nr)
{
	char *buf = iou_map_anon(nr * 4096UL);

	iou_fill(buf, nr * 4096, 0, 3);
	if (pwrite(fd, buf, nr * 4096, 0) < 0)
		perror("pwrite");
	munmap(buf, nr * 4096UL);
}

TEST_F(cmd, discard)
{
	int fd = open_disk(O_RDWR | O_DIRECT), ro;
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;

	if (fd < 0)
		SKIP(return, "no null_blk");
	fill_disk(fd, 16);
	EXPECT_EQ(0, do_discard(r, fd, f, 4096, 3 * 4096));
	EXPECT_EQ(0, check_disk(fd, 16, 1, 4));
	EXPECT_EQ(-EINVAL, do_discard(r, fd, f, 4096, 0));
	EXPECT_EQ(-EINVAL, do_discard(r, fd, f, 100, 4096));
	EXPECT_EQ(-EINVAL, do_discard(r, fd, f, 4096, 100));
	EXPECT_EQ(-EINVAL, do_discard(r, fd, f, DISK_SIZE, 4096));
	EXPECT_EQ(-EINVAL, do_discard(r, fd, f, 0, ~4095ULL));
	prep_discard(r, fd, f, 0, 4096)->len = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_discard(r, fd, f, 0, 4096)->file_index = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_discard(r, fd, f, 0, 4096)->cmd_op = BLOCK_URING_CMD_DISCARD + 99;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_discard(r, fd, f, 0, 4096)->uring_cmd_flags = IORING_URING_CMD_FIXED;
	/* differences: cmd-fixed-import */
	EXPECT_EQ(iou_on_older_stock() ? -EFAULT : -EINVAL, iou_one(r));
	EXPECT_EQ(0, check_disk(fd, 16, 1, 4));
	ro = open_disk(O_RDONLY);
	EXPECT_EQ(-EBADF, do_discard(r, ro, f, 0, 4096));
	close(ro);
	close(fd);
}

/*
 * The device has one tag.  The bio of a discard that finds no free tag ends with -EAGAIN, and a
 * worker issues the discard again.  Meanwhile the test overwrites all SQEs.
 */
TEST_F(cmd, discard_busy)
{
	int fd = open_disk(O_RDWR | O_DIRECT), i, j;
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	if (fd < 0)
		SKIP(return, "no null_blk");
	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(close(fd); return, "the slots are given back when the thread likes");
	for (j = 0; j < 4; j++) {
		fill_disk(fd, 24);
		for (i = 0; i < 16; i++)
			prep_discard(r, fd, f, (4 + i) * 4096, 4096)->user_data = i;
		ASSERT_EQ(16, iou_submit(r));
		for (i = 0; i < (int)r->p.sq_entries; i++)
			memset((char *)r->sqes + i * (size_t)r->sqe_size, 0xff, r->sqe_size);
		for (i = 0; i < 16; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(0, cqe.res);
		}
		EXPECT_EQ(0, check_disk(fd, 24, 4, 20));
	}
	close(fd);
}

/* Discard a range in several pieces, which only a worker submits. */
TEST_F(cmd, discard_pieces)
{
	int fd = open_disk(O_RDWR | O_DIRECT);
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;

	if (fd < 0)
		SKIP(return, "no null_blk");
	ASSERT_EQ(0, iou_put("/sys/block/nullb8/queue/discard_max_bytes", "4096"));
	fill_disk(fd, 16);
	EXPECT_EQ(0, do_discard(r, fd, f, 4096, 8 * 4096));
	EXPECT_EQ(0, check_disk(fd, 16, 1, 9));
	iou_put("/sys/block/nullb8/queue/discard_max_bytes", "1073741824");
	close(fd);
}

/* A process exits, is killed, or executes another program, with discards in flight. */
TEST_F(cmd, discard_exit)
{
	int fd = open_disk(O_RDWR | O_DIRECT), pid, status, how;

	if (fd < 0)
		SKIP(return, "no null_blk");
	for (how = 0; how < 3; how++) {
		pid = fork();
		if (!pid) {
			struct iou r;
			int i;

			if (iou_init(&r, 32, variant->flags))
				_exit(1);
			for (i = 0; i < 32; i++)
				prep_discard(&r, fd, variant->sqe_flags, i * 4096, 4096);
			if (iou_submit(&r) < 0)
				_exit(2);
			if (how == 1)
				kill(getpid(), SIGKILL);
			if (how == 2)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(how == 1 ? SIGKILL : 0, status);
	}
	close(fd);
}

TEST_HARNESS_MAIN
