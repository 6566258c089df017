// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: /dev/io_uring_mock - files without data, and what io_uring does with them */
#include <linux/io_uring/mock_file.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "iou_test.h"

#define DEVICE		"/dev/io_uring_mock"
#define SIZE		10000
/* a delay in nanoseconds, longer than a submission takes */
#define DELAY		(200 * 1000000ULL)
#define DELAY_MAX	1000000000ULL
#define LARGEST		0x40000000ULL
#define BUF		(64 * IOU_PAGE)
/* a bad address */
#define BAD		8

static struct io_uring_sqe *prep_cmd(struct iou *r, int fd, unsigned int op, const void *addr,
				     unsigned int len)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_URING_CMD, fd, addr, len, 0);

	sqe->cmd_op = op;
	sqe->user_data = 1;
	return sqe;
}

static int probe(struct iou *r, int fd, struct io_uring_mock_probe *args)
{
	memset(args, 0, sizeof(*args));
	prep_cmd(r, fd, IORING_MOCK_MGR_CMD_PROBE, args, sizeof(*args));
	return iou_one(r);
}

/* Return: the result of the command, after which args->out_fd may be a descriptor. */
static int create_args(struct iou *r, int fd, struct io_uring_mock_create *args)
{
	prep_cmd(r, fd, IORING_MOCK_MGR_CMD_CREATE, args, sizeof(*args));
	return iou_one(r);
}

/* Return: a mock file of SIZE bytes, or a negative errno. */
static int create(int mgr, unsigned int flags, unsigned long long delay)
{
	struct io_uring_mock_create args = {
		.flags = flags, .file_size = SIZE, .rw_delay_ns = delay,
	};
	struct iou r;
	int ret;

	ret = iou_init(&r, 1, 0);
	if (!ret)
		ret = create_args(&r, mgr, &args);
	iou_exit(&r);
	return ret ?: (int)args.out_fd;
}

/* Return: the number of the next descriptor. */
static int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static bool all(const char *mem, size_t len, char byte)
{
	while (len--)
		if (*mem++ != byte)
			return false;
	return true;
}

FIXTURE(mgr) {
	struct iou r;
	int fd;
};

FIXTURE_SETUP(mgr)
{
	if (access(DEVICE, F_OK))
		SKIP(return, "no mock files");
	self->fd = open(DEVICE, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, iou_init(&self->r, 8, 0));
}

FIXTURE_TEARDOWN(mgr)
{
	iou_exit(&self->r);
	close(self->fd);
}

/* The device has commands only, and refuses arguments that they do not use. */
TEST_F(mgr, probe)
{
	struct io_uring_mock_probe args, *ro;
	struct iou *r = &self->r;
	char *bytes = (char *)&args;
	unsigned int i;

	EXPECT_EQ(0, probe(r, self->fd, &args));
	EXPECT_EQ(IORING_MOCK_FEAT_END, args.features);
	EXPECT_TRUE(all((char *)args.__resv, sizeof(args.__resv), 0));
	/* all bytes of the argument must be zero */
	for (i = 0; i < sizeof(args); i++) {
		memset(&args, 0, sizeof(args));
		bytes[i] = 1;
		prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_PROBE, &args, sizeof(args));
		EXPECT_EQ(-EINVAL, iou_one(r)) {
			TH_LOG("byte %u", i);
		}
	}
	memset(&args, 0, sizeof(args));
	for (i = 0; i < 2 * sizeof(args); i++) {
		prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_PROBE, &args, i);
		EXPECT_EQ(i == sizeof(args) ? 0 : -EINVAL, iou_one(r)) {
			TH_LOG("length %u", i);
		}
		args.features = 0;
	}
	prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_PROBE, (void *)BAD, sizeof(args));
	EXPECT_EQ(-EFAULT, iou_one(r));
	ro = mmap(NULL, IOU_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_PROBE, ro, sizeof(args));
	EXPECT_EQ(-EFAULT, iou_one(r));
	prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_PROBE, &args, sizeof(args))->file_index = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_PROBE, &args, sizeof(args))->addr3 = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->fd, 2, NULL, 0);
	EXPECT_EQ(-EOPNOTSUPP, iou_one(r));
	EXPECT_EQ(-1, read(self->fd, &args, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->fd, &args, 1));
	EXPECT_EQ(EINVAL, errno);
}

#define ROW(field, number, err)	\
	{ offsetof(struct io_uring_mock_create, field), \
	  sizeof(((struct io_uring_mock_create *)0)->field), (number), (err), #field }

/* Mutants: mock-delay-unlimited, mock-reserved-ignored. */
TEST_F(mgr, create)
{
	const struct {
		size_t		at, size;
		__u64		value;
		int		ret;
		const char	*name;
	} rows[] = {
		ROW(out_fd, 77, 0),
		ROW(flags, IORING_MOCK_CREATE_F_SUPPORT_NOWAIT | IORING_MOCK_CREATE_F_POLL, 0),
		ROW(flags, 4, -EINVAL),
		ROW(flags, 1U << 31, -EINVAL),
		ROW(file_size, 0, 0),
		ROW(file_size, LARGEST, 0),
		ROW(file_size, LARGEST + 1, -EINVAL),
		ROW(file_size, -1ULL, -EINVAL),
		ROW(rw_delay_ns, 1, 0),
		ROW(rw_delay_ns, DELAY_MAX, 0),
		ROW(rw_delay_ns, DELAY_MAX + 1, -EINVAL),
		ROW(rw_delay_ns, -1ULL, -EINVAL),
		ROW(__resv[0], 1, -EINVAL),
		ROW(__resv[12], 1ULL << 63, -EINVAL),
	};
	struct io_uring_mock_create args;
	struct iou *r = &self->r;
	int next = next_fd();
	struct stat st;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		args = (struct io_uring_mock_create){ .file_size = 4096 };
		memcpy((char *)&args + rows[i].at, &rows[i].value, rows[i].size);
		EXPECT_EQ(rows[i].ret, create_args(r, self->fd, &args)) {
			TH_LOG("row %u: %s %llx", i, rows[i].name, rows[i].value);
		}
		if (rows[i].ret)
			continue;
		EXPECT_EQ(next, (int)args.out_fd);
		EXPECT_EQ(FD_CLOEXEC, fcntl(next, F_GETFD));
		EXPECT_EQ(O_RDWR, fcntl(next, F_GETFL));
		EXPECT_EQ(0, fstat(next, &st));
		EXPECT_EQ(0, st.st_size);
		EXPECT_EQ(0, close(next));
	}
	EXPECT_EQ(next, next_fd());
}

/* A command that fails leaves no descriptor.  Mutant: mock-leaves-a-descriptor. */
TEST_F(mgr, create_fails)
{
	struct io_uring_mock_create args = { .file_size = 4096 }, *ro = iou_map_anon(IOU_PAGE);
	struct iou *r = &self->r;
	struct rlimit limit, few;
	int next = next_fd();
	unsigned int i;

	*ro = args;
	for (i = 0; i < 2 * sizeof(args); i++) {
		if (i == sizeof(args))
			continue;
		prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_CREATE, ro, i);
		EXPECT_EQ(-EINVAL, iou_one(r)) {
			TH_LOG("length %u", i);
		}
	}
	EXPECT_EQ(-EFAULT, create_args(r, self->fd, (void *)BAD));
	ASSERT_EQ(0, mprotect(ro, IOU_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, create_args(r, self->fd, ro));
	prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_CREATE, &args, sizeof(args))->file_index = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_CREATE, &args, sizeof(args))->addr3 = 1;
	EXPECT_EQ(-EINVAL, iou_one(r));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	few = limit;
	few.rlim_cur = next;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	EXPECT_EQ(-EMFILE, create_args(r, self->fd, &args));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	EXPECT_EQ(next, next_fd());
}

/* Fail one allocation or copy after the other. */
TEST_F(mgr, create_without_memory)
{
	struct io_uring_mock_create args = { .file_size = 4096 };
	unsigned int nth, failed = 0;
	struct iou *r = &self->r;
	int next = next_fd(), ret;
	bool more = true;

	if (iou_fail_init())
		SKIP(return, "needs fault injection");
	/* allocate requests before allocations fail */
	ASSERT_EQ(0, iou_submit_issued(r));
	for (nth = 1; more; nth++) {
		prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_CREATE, &args, sizeof(args));
		iou_flush(r);
		ASSERT_EQ(0, iou_fail_nth(nth));
		EXPECT_EQ(1, iou_enter(r, 1, 0, 0));
		more = iou_has_failed();
		iou_fail_nth(0);
		ASSERT_EQ(1, iou_ready(r));
		ret = iou_discard(r, 1);
		EXPECT_TRUE(!ret || ret == -ENOMEM || ret == -ENFILE || ret == -EFAULT) {
			TH_LOG("%d", ret);
		}
		failed += ret < 0;
		if (!ret)
			close(args.out_fd);
		EXPECT_EQ(next, next_fd());
	}
	EXPECT_LT(2, failed);
}

/*
 * A command needs CAP_SYS_ADMIN, also through a descriptor that root has opened.  A mock file needs
 * nothing.  Mutant: mock-for-all.
 */
TEST_F(mgr, rights)
{
	int file = create(self->fd, 0, 0), id, pid, status;
	struct io_uring_mock_probe args;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	char buf[100];

	ASSERT_LE(0, file);
	if (getuid())
		SKIP(return, "needs root");
	pid = fork();
	if (!pid) {
		ASSERT_EQ(0, iou_init(r, 8, 0));
		id = iou_register(r, IORING_REGISTER_PERSONALITY, NULL, 0);
		EXPECT_LT(0, id);
		ASSERT_EQ(0, setresuid(1000, 1000, 1000));
		EXPECT_EQ(-EPERM, probe(r, self->fd, &args));
		EXPECT_EQ(0, args.features);
		EXPECT_EQ(-EPERM, create(self->fd, 0, 0));
		prep_cmd(r, self->fd, 2, NULL, 0);
		EXPECT_EQ(-EPERM, iou_one(r));
		memset(&args, 0, sizeof(args));
		sqe = prep_cmd(r, self->fd, IORING_MOCK_MGR_CMD_PROBE, &args, sizeof(args));
		sqe->personality = id;
		EXPECT_EQ(0, iou_one(r));
		EXPECT_EQ(sizeof(buf), read(file, buf, sizeof(buf)));
		_exit(_metadata->exit_code);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(file);
}

FIXTURE(mock) {
	struct iou r;
	int mgr, fd;
	char *buf;
};

FIXTURE_VARIANT(mock) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(mock);
IOU_KINDS_ASYNC(mock);

FIXTURE_SETUP(mock)
{
	if (access(DEVICE, F_OK))
		SKIP(return, "no mock files");
	self->mgr = open(DEVICE, O_RDWR);
	ASSERT_LE(0, self->mgr);
	self->fd = create(self->mgr, 0, 0);
	ASSERT_LE(0, self->fd);
	self->buf = iou_map_anon(BUF);
	ASSERT_EQ(0, iou_init(&self->r, 16, variant->flags));
}

FIXTURE_TEARDOWN(mock)
{
	iou_exit(&self->r);
	close(self->fd);
	close(self->mgr);
	munmap(self->buf, BUF);
}

static int rw(struct iou *r, int op, int fd, void *buf, unsigned int len, unsigned long long off,
	      unsigned int sqe_flags)
{
	iou_prep(r, op, fd, buf, len, off)->flags = sqe_flags;
	return iou_one(r);
}

/*
 * Reads and writes lie within the file, and do not move its position.
 * Mutant: mock-reads-past-the-end.
 */
TEST_F(mock, read_and_write)
{
	const int ops[] = { IORING_OP_READ, IORING_OP_WRITE };
	unsigned int f = variant->sqe_flags, i;
	struct iou *r = &self->r;
	char *buf = self->buf;
	int fd = self->fd;

	memset(buf, 7, BUF);
	EXPECT_EQ(100, rw(r, IORING_OP_WRITE, fd, buf, 100, 0, f));
	EXPECT_EQ(100, rw(r, IORING_OP_READ, fd, buf, 100, 0, f));
	EXPECT_TRUE(all(buf, 100, 0));
	EXPECT_EQ(7, buf[100]);
	for (i = 0; i < ARRAY_LEN(ops); i++) {
		EXPECT_EQ(SIZE, rw(r, ops[i], fd, buf, SIZE, 0, f));
		EXPECT_EQ(-EINVAL, rw(r, ops[i], fd, buf, SIZE + 1, 0, f));
		EXPECT_EQ(50, rw(r, ops[i], fd, buf, 50, SIZE - 50, f));
		EXPECT_EQ(-EINVAL, rw(r, ops[i], fd, buf, 51, SIZE - 50, f));
		EXPECT_EQ(0, rw(r, ops[i], fd, buf, 0, SIZE, f));
		EXPECT_EQ(-EINVAL, rw(r, ops[i], fd, buf, 0, SIZE + 1, f));
		EXPECT_EQ(-EINVAL, rw(r, ops[i], fd, buf, 1, INT64_MAX, f));
		EXPECT_EQ(-EINVAL, rw(r, ops[i], fd, buf, 100, -100ULL, f));
		/* at the position of the file */
		EXPECT_EQ(SIZE - 50, lseek(fd, SIZE - 50, SEEK_SET));
		EXPECT_EQ(-EINVAL, rw(r, ops[i], fd, buf, 100, -1ULL, f));
		EXPECT_EQ(50, rw(r, ops[i], fd, buf, 50, -1ULL, f));
		EXPECT_EQ(SIZE - 50, lseek(fd, 0, SEEK_CUR));
	}
	EXPECT_TRUE(all(buf, SIZE, 0));
	/* only reads access the memory */
	EXPECT_EQ(0, mprotect(buf + IOU_PAGE, IOU_PAGE, PROT_NONE));
	EXPECT_EQ(50, rw(r, IORING_OP_READ, fd, buf + IOU_PAGE - 50, 100, 0, f));
	EXPECT_EQ(0, rw(r, IORING_OP_READ, fd, buf + IOU_PAGE, 100, 0, f));
	EXPECT_EQ(100, rw(r, IORING_OP_WRITE, fd, buf + IOU_PAGE, 100, 0, f));
}

/* System calls see the file as requests do. */
TEST_F(mock, system_calls)
{
	char *buf = self->buf;
	int fd = self->fd;

	memset(buf, 7, BUF);
	EXPECT_EQ(SIZE, read(fd, buf, SIZE));
	EXPECT_TRUE(all(buf, SIZE, 0));
	EXPECT_EQ(SIZE, write(fd, buf, SIZE));
	EXPECT_EQ(-1, read(fd, buf, SIZE + 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(fd, buf, SIZE + 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, lseek(fd, 0, SEEK_CUR));
	EXPECT_EQ(SIZE, lseek(fd, 0, SEEK_END));
	EXPECT_EQ(-1, lseek(fd, SIZE + 1, SEEK_SET));
	EXPECT_EQ(-1, lseek(fd, 0, SEEK_DATA));
	EXPECT_EQ(-1, pread(fd, buf, 1, 0));
	EXPECT_EQ(ESPIPE, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, IOU_PAGE, PROT_READ, MAP_SHARED, fd, 0));
}

/* A delayed request ends after the delay, and has its result then. */
TEST_F(mock, delayed)
{
	int fd = create(self->mgr, 0, DELAY), i;
	struct iou *r = &self->r;
	unsigned long long begin;
	struct io_uring_cqe cqe;
	char *buf = self->buf;
	unsigned int seen = 0;

	ASSERT_LE(0, fd);
	memset(buf, 7, BUF);
	begin = iou_now_us();
	for (i = 0; i < 8; i++) {
		struct io_uring_sqe *sqe = iou_prep(r, i % 2 ? IORING_OP_WRITE : IORING_OP_READ, fd,
						    buf + i * 100, i * 10, i);

		sqe->user_data = i;
		sqe->flags = variant->sqe_flags;
	}
	/* a request that fails, or is short, is not delayed */
	iou_prep(r, IORING_OP_READ, fd, buf, 1, SIZE)->user_data = 8;
	iou_prep(r, IORING_OP_READ, fd, (void *)BAD, 1, 0)->user_data = 9;
	ASSERT_EQ(10, iou_submit(r));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		seen |= 1 << cqe.user_data;
		EXPECT_EQ(cqe.user_data == 8 ? -EINVAL : cqe.user_data * 10 % 90, cqe.res);
		if (cqe.user_data >= 8)
			continue;
		EXPECT_LE(DELAY / 1000, iou_now_us() - begin);
	}
	EXPECT_EQ(1023, seen);
	for (i = 0; i < 8; i++)
		EXPECT_TRUE(all(buf + i * 100, i * 10, i % 2 ? 7 : 0));
	close(fd);
}

/* The timer expires while the file still tells io_uring that the request is pending. */
TEST_F(mock, delayed_by_a_nanosecond)
{
	int fd = create(self->mgr, IORING_MOCK_CREATE_F_SUPPORT_NOWAIT, 1), i;
	unsigned long long end = iou_race_end();
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	unsigned long round;

	ASSERT_LE(0, fd);
	for (round = 0; iou_race_goes_on(round, iou_rounds(500), end); round++) {
		for (i = 0; i < 8; i++) {
			sqe = iou_prep(r, i % 2 ? IORING_OP_WRITE : IORING_OP_READ, fd, self->buf,
				       100, 0);
			sqe->flags = variant->sqe_flags;
		}
		ASSERT_EQ(8, iou_submit(r));
		for (i = 0; i < 8; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_EQ(100, cqe.res);
		}
		ASSERT_EQ(0, iou_ready(r));
	}
	close(fd);
}

/* The last descriptor is closed while a request is pending. */
TEST_F(mock, closed)
{
	int fd = create(self->mgr, 0, DELAY);
	struct iou *r = &self->r;

	ASSERT_LE(0, fd);
	iou_prep(r, IORING_OP_READ, fd, self->buf, 100, 0)->flags = variant->sqe_flags;
	ASSERT_EQ(1, iou_submit(r));
	close(fd);
	EXPECT_EQ(0, iou_wait(r, 1));
	EXPECT_EQ(100, iou_cqe_at(r, 0)->res);
	iou_seen(r, 1);
}

/* Delayed requests cannot be cancelled. */
TEST_F(mock, cancelled)
{
	int fd = create(self->mgr, IORING_MOCK_CREATE_F_SUPPORT_NOWAIT, DELAY), i;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	ASSERT_LE(0, fd);
	iou_prep(r, IORING_OP_READ, fd, self->buf, 100, 0)->user_data = 1;
	iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 2;
	ASSERT_EQ(2, iou_submit(r));
	for (i = 2; i > 0; i--) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i, cqe.user_data);
		EXPECT_EQ(i == 1 ? 100 : -ENOENT, cqe.res);
	}
	close(fd);
}

/* A task exits, or is killed, or closes its ring, while a request is pending. */
TEST_F(mock, ends)
{
	int fd = create(self->mgr, 0, DELAY), i, pid, fds[2];
	struct io_uring_sqe *sqe;
	struct iou r;
	char c;

	ASSERT_LE(0, fd);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, pipe(fds));
		pid = fork();
		if (!pid) {
			close(fds[0]);
			if (iou_init(&r, 8, variant->flags))
				_exit(1);
			sqe = iou_prep(&r, IORING_OP_READ, fd, self->buf, 100, 0);
			sqe->flags = variant->sqe_flags;
			iou_submit(&r);
			if (i == 1)
				kill(getpid(), SIGKILL);
			if (i == 2)
				iou_exit(&r);
			_exit(0);
		}
		close(fds[1]);
		EXPECT_EQ(pid, waitpid(pid, NULL, 0));
		EXPECT_EQ(0, read(fds[0], &c, 1));
		close(fds[0]);
	}
	close(fd);
}

/* RWF_NOWAIT needs a file that supports it. */
TEST_F(mock, nowait)
{
	const int ops[] = { IORING_OP_READ, IORING_OP_WRITE };
	struct iovec iov = { self->buf, 100 };
	unsigned int i, flags, delay;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	int fd, want;

	for (i = 0; i < 16; i++) {
		flags = i & 3;
		delay = i / 4 % 2;
		want = flags & IORING_MOCK_CREATE_F_SUPPORT_NOWAIT ? 100 : -EOPNOTSUPP;
		fd = create(self->mgr, flags, delay * DELAY / 10);
		ASSERT_LE(0, fd);
		sqe = iou_prep(r, ops[i / 8], fd, self->buf, 100, 0);
		sqe->rw_flags = RWF_NOWAIT;
		sqe->flags = variant->sqe_flags;
		EXPECT_EQ(want, iou_one(r)) {
			TH_LOG("row %u", i);
		}
		if (!delay) {
			EXPECT_EQ(want, iou_ret(preadv2(fd, &iov, 1, -1, RWF_NOWAIT)));
		}
		close(fd);
	}
	if (variant->sqe_flags || variant->flags & IORING_SETUP_SQPOLL)
		return;
	/* the submitter reads such a file itself */
	fd = create(self->mgr, IORING_MOCK_CREATE_F_SUPPORT_NOWAIT, 0);
	iou_prep(r, IORING_OP_READ, fd, self->buf, 100, 0);
	ASSERT_EQ(1, iou_submit(r));
	EXPECT_EQ(1, iou_ready(r));
	EXPECT_EQ(0, iou_discard(r, 1));
	close(fd);
}

/*
 * A file without the flag has no ->poll().  Such a file is always ready, and a multishot poll of it
 * ends at once.  Mutant: mock-without-a-queue.
 */
TEST_F(mock, polled)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int file, fd, ep = epoll_create1(0);
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	struct pollfd pfd;

	for (file = 0; file < 2; file++) {
		fd = create(self->mgr, file ? IORING_MOCK_CREATE_F_POLL : 0, 0);
		ASSERT_LE(0, fd);
		pfd = (struct pollfd){ .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };
		EXPECT_EQ(1, poll(&pfd, 1, 0));
		EXPECT_EQ(POLLIN | POLLOUT, pfd.revents);
		EXPECT_EQ(file ? 0 : -EPERM, iou_ret(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev)));
		EXPECT_EQ(file, epoll_wait(ep, &ev, 1, 0));
		EXPECT_EQ(0, epoll_wait(ep, &ev, 1, 0));
		sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL, IORING_POLL_ADD_MULTI, 0);
		sqe->poll32_events = poll_word(POLLIN | POLLOUT | POLLPRI);
		sqe->flags = variant->sqe_flags;
		sqe->user_data = 1;
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(POLLIN | POLLOUT, cqe.res);
		EXPECT_EQ(file ? IORING_CQE_F_MORE : 0, cqe.flags);
		iou_prep(r, IORING_OP_POLL_REMOVE, -1, (void *)1, 0, 0);
		EXPECT_EQ(1, iou_submit(r));
		EXPECT_EQ(file ? -ECANCELED : -ENOENT, iou_discard(r, file ? 2 : 1));
		close(fd);
	}
	close(ep);
}

/* Copy between registered memory and @user. */
static int copy(struct iou *r, int fd, const struct iovec *iov, unsigned int nr, void *user,
		unsigned int flags, unsigned int sqe_flags)
{
	struct io_uring_sqe *sqe = prep_cmd(r, fd, IORING_MOCK_CMD_COPY_REGBUF, iov, nr);

	sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
	sqe->file_index = flags;
	sqe->addr3 = iou_addr(user);
	sqe->flags = sqe_flags;
	return iou_one(r);
}

/* Mutant: mock-copy-repeats. */
TEST_F(mock, copied)
{
	unsigned int f = variant->sqe_flags, half = BUF / 2;
	char *reg = self->buf, *user = self->buf + half;
	struct iovec slot = { reg, half }, iov[2];
	struct iou *r = &self->r;
	int fd = self->fd;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &slot, 1));
	iou_fill(user, half, 0, 1);
	iov[0] = (struct iovec){ reg + 10, 10000 };
	iov[1] = (struct iovec){ reg + 20000, 3 };
	EXPECT_EQ(10003, copy(r, fd, iov, 2, user, 0, f));
	EXPECT_TRUE(all(reg, 10, 0));
	EXPECT_EQ(-1, iou_verify(reg + 10, 10000, 0, 1));
	EXPECT_TRUE(all(reg + 10010, 9990, 0));
	EXPECT_EQ(-1, iou_verify(reg + 20000, 3, 10000, 1));
	EXPECT_TRUE(all(reg + 20003, half - 20003, 0));
	EXPECT_EQ(-1, iou_verify(user, half, 0, 1));
	/* the parts of the buffer may be in any order */
	iov[0] = (struct iovec){ reg + 5, half - 5 };
	iov[1] = (struct iovec){ reg, 5 };
	iou_fill(reg + 5, half - 5, 0, 2);
	iou_fill(reg, 5, half - 5, 2);
	EXPECT_EQ(half, copy(r, fd, iov, 2, user, IORING_MOCK_COPY_FROM, f));
	EXPECT_EQ(-1, iou_verify(user, half, 0, 2));
	EXPECT_EQ(-1, iou_verify(reg + 5, half - 5, 0, 2));
	/* the result counts the steps of 4096 bytes before the one that fails */
	ASSERT_EQ(0, mprotect(user + 2 * IOU_PAGE, IOU_PAGE, PROT_NONE));
	iov[0] = (struct iovec){ reg + 1, 10000 };
	EXPECT_EQ(8192, copy(r, fd, iov, 1, user, 0, f));
	EXPECT_EQ(-1, iou_verify(reg + 1, 8192, 0, 2));
	EXPECT_EQ(4096, copy(r, fd, iov, 1, user + 100, IORING_MOCK_COPY_FROM, f));
	EXPECT_EQ(-EFAULT, copy(r, fd, iov, 1, user + IOU_PAGE + 1, 0, f));
	EXPECT_EQ(-EFAULT, copy(r, fd, iov, 1, user + IOU_PAGE + 1, IORING_MOCK_COPY_FROM, f));
}

TEST_F(mock, copy_refused)
{
	unsigned int f = variant->sqe_flags, i, half = BUF / 2;
	char *reg = self->buf, *user = self->buf + half;
	struct iovec slot = { reg, half }, iov[2];
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	int fd = self->fd;

	iov[0] = (struct iovec){ reg, 100 };
	EXPECT_EQ(-EFAULT, copy(r, fd, iov, 1, user, 0, f));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &slot, 1));
	EXPECT_EQ(100, copy(r, fd, iov, 1, user, 0, f));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-EFAULT, copy(r, fd, iov, 1, NULL, i, f));
		EXPECT_EQ(-EFAULT, copy(r, fd, iov, 1, IOU_KERNEL, i, f));
		EXPECT_EQ(-EFAULT, copy(r, fd, (void *)BAD, 1, user, i, f));
		EXPECT_EQ(-EFAULT, copy(r, fd, NULL, 0, user, i, f));
		EXPECT_EQ(-EINVAL, copy(r, fd, iov, 1025, user, i, f));
		EXPECT_EQ(-EINVAL, copy(r, fd, iov, 1, user, i | 2, f));
		EXPECT_EQ(-EINVAL, copy(r, fd, iov, 1, user, i | 1U << 31, f));
		EXPECT_EQ(-EINVAL, copy(r, self->mgr, iov, 1, user, i, f));
	}
	iov[0].iov_base = reg + half - 99;
	EXPECT_EQ(-EFAULT, copy(r, fd, iov, 1, user, 0, f));
	iov[0].iov_base = reg;
	iov[1] = (struct iovec){ reg, 0 };
	EXPECT_EQ(-EFAULT, copy(r, fd, iov, 2, user, 0, f));
	sqe = prep_cmd(r, fd, IORING_MOCK_CMD_COPY_REGBUF, iov, 1);
	sqe->addr3 = iou_addr(user);
	sqe->flags = f;
	/* 7.3 warns, too */
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_cmd(r, fd, 1, NULL, 0)->flags = f;
	/* differences: none, 524 is no errno that programs know */
	EXPECT_EQ(iou_on_stock() ? -524 : -EOPNOTSUPP, iou_one(r));
}

/* On a ring with IORING_SETUP_IOPOLL, the commands of a mock file work, and its reads do not. */
TEST_F(mgr, iopoll)
{
	int file = create(self->fd, IORING_MOCK_CREATE_F_SUPPORT_NOWAIT, 0);
	char *mem = iou_map_anon(2 * IOU_PAGE);
	struct iovec slot = { mem, IOU_PAGE };
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_IOPOLL));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_BUFFERS, &slot, 1));
	EXPECT_EQ(-EOPNOTSUPP, rw(&r, IORING_OP_READ, file, mem, 100, 0, 0));
	EXPECT_EQ(IOU_PAGE, copy(&r, file, &slot, 1, mem + IOU_PAGE, 0, 0));
	iou_exit(&r);
	close(file);
}

/* read(2) and write(2) sleep for the delay, and can be killed.  Mutant: mock-sleeps-deeply. */
TEST_F(mgr, delayed_system_calls)
{
	unsigned long long begin, took = -1ULL;
	int file, pid, status, i;
	char buf[100];

	/* differences: none, 7.3 crashes */
	if (iou_on_stock())
		SKIP(return, "it crashes");
	file = create(self->fd, IORING_MOCK_CREATE_F_SUPPORT_NOWAIT, DELAY_MAX);
	ASSERT_LE(0, file);
	begin = iou_now_us();
	EXPECT_EQ(100, read(file, buf, 100));
	EXPECT_LE(DELAY_MAX / 1000, iou_now_us() - begin);
	begin = iou_now_us();
	EXPECT_EQ(100, write(file, buf, 100));
	EXPECT_LE(DELAY_MAX / 1000, iou_now_us() - begin);
	EXPECT_EQ(-EAGAIN, iou_ret(preadv2(file, &(struct iovec){ buf, 100 }, 1, -1, RWF_NOWAIT)));
	/* a busy machine may be late */
	for (i = 0; i < 5 && took >= DELAY_MAX / 1000; i++) {
		begin = iou_now_us();
		pid = fork();
		if (!pid) {
			status = read(file, buf, 100);
			_exit(0);
		}
		EXPECT_TRUE(iou_sleeps_in(pid, __NR_read));
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		took = iou_now_us() - begin;
	}
	EXPECT_GT(DELAY_MAX / 1000, took);
	EXPECT_TRUE(WIFSIGNALED(status));
	close(file);
}

/* Return: the CPU time in microseconds of a child that reads @file, or no file (-1), and executes. */
static unsigned long long exec_with_a_read(int file)
{
	struct rusage usage;
	int pid, status;
	char buf[100];
	struct iou r;

	pid = fork();
	if (!pid) {
		if (iou_init(&r, 1, 0))
			_exit(2);
		if (file >= 0)
			iou_prep(&r, IORING_OP_READ, file, buf, sizeof(buf), 0);
		if (iou_submit(&r) < 0)
			_exit(3);
		execl("/bin/true", "true", NULL);
		_exit(4);
	}
	if (wait4(pid, &status, 0, &usage) != pid || status)
		return -1ULL;
	return usage.ru_stime.tv_sec * 1000000ULL + usage.ru_stime.tv_usec;
}

/*
 * An exec waits for a read that cannot be cancelled, and uses no CPU meanwhile.
 * Mutant: exec-spins-idle.
 */
TEST_F(mgr, exec_sleeps)
{
	unsigned long long begin, used = exec_with_a_read(-1);
	int file = create(self->fd, 0, DELAY_MAX);

	ASSERT_LE(0, file);
	ASSERT_NE(-1ULL, used);
	begin = iou_now_us();
	EXPECT_GT(used + DELAY_MAX / 2000, exec_with_a_read(file));
	EXPECT_LE(DELAY_MAX / 1000, iou_now_us() - begin);
	close(file);
}

TEST_HARNESS_MAIN
