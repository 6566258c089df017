// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: URING_CMD - commands that a driver keeps, and their end */
#include <pthread.h>
#include "iou_test.h"
#include "ublk.h"

#ifndef BLOCK_URING_CMD_DISCARD
#define BLOCK_URING_CMD_DISCARD	_IO(0x12, 0)
#endif

FIXTURE(ublk) {
	struct ublk u;
};

FIXTURE_VARIANT(ublk) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(ublk);
IOU_KIND(ublk, large, IOU_LARGE);
IOU_KIND(ublk, defer_large, IOU_DEFER | IOU_LARGE);
FIXTURE_VARIANT_ADD(ublk, plain_async) {
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_VARIANT_ADD(ublk, defer_async) {
	.flags = IOU_DEFER,
	.sqe_flags = IOSQE_ASYNC,
};

FIXTURE_SETUP(ublk)
{
	if (access("/dev/ublk-control", F_OK))
		SKIP(return, "no ublk");
	self->u.ring_flags = variant->flags;
	self->u.sqe_flags = variant->sqe_flags;
	self->u.id = -1;
}

FIXTURE_TEARDOWN(ublk)
{
	ublk_kill(&self->u);
	EXPECT_EQ(0, ublk_del(&self->u));
}

/* Write a pattern with many requests at once, read it back, and compare it. */
static int write_and_verify(struct ublk *u, unsigned int seed)
{
	char *buf = iou_map_anon(UBLK_SIZE), *back = iou_map_anon(UBLK_SIZE);
	int fd = ublk_open(u, "b", O_RDWR | O_DIRECT), ret, pass;
	unsigned int piece = 32 << 10, i;
	struct iou r;

	if (fd < 0)
		return -errno;
	iou_fill(buf, UBLK_SIZE, 0, seed);
	ret = iou_init(&r, UBLK_SIZE / piece, 0);
	for (pass = 0; !ret && pass < 2; pass++) {
		for (i = 0; i < UBLK_SIZE / piece; i++)
			iou_prep(&r, pass ? IORING_OP_READ : IORING_OP_WRITE, fd,
				 (pass ? back : buf) + i * piece, piece, i * piece);
		ret = iou_submit(&r);
		if (ret < 0)
			break;
		for (i = 0; i < UBLK_SIZE / piece; i++) {
			struct io_uring_cqe cqe;

			ret = iou_reap(&r, &cqe) ?: cqe.res == (int)piece ? 0 : cqe.res ?: -EIO;
			if (ret)
				break;
		}
	}
	if (!ret && iou_verify(back, UBLK_SIZE, 0, seed) != -1)
		ret = -EILSEQ;
	if (!ret && fsync(fd))
		ret = -errno;
	iou_exit(&r);
	close(fd);
	munmap(buf, UBLK_SIZE);
	munmap(back, UBLK_SIZE);
	return ret;
}

TEST_F(ublk, verified)
{
	struct ublk *u = &self->u;

	ASSERT_EQ(0, ublk_add(u, 0));
	ASSERT_EQ(0, ublk_start(u));
	EXPECT_EQ(0, write_and_verify(u, 1));
	EXPECT_EQ(-1, iou_verify(u->mem, UBLK_SIZE, 0, 1));
	EXPECT_EQ(0, write_and_verify(u, 2));
	/* another task has the driver end all commands, and the server gets a CQE for each */
	EXPECT_EQ(0, ublk_ctl(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0));
	EXPECT_EQ(0, ublk_reap(u));
}

/* The driver refuses commands, at once or in a callback. */
TEST_F(ublk, refused)
{
	struct ublk *u = &self->u;
	struct ublk_srv s;

	ASSERT_EQ(0, ublk_add(u, 0));
	ASSERT_EQ(0, ublk_srv_init(&s, u));
	/* drop the prepared FETCH commands, and submit wrong commands one by one */
	s.r[0].next = 0;
	ublk_fetch(&s, UBLK_U_IO_FETCH_REQ, 99, 0);
	EXPECT_EQ(-EINVAL, iou_one(&s.r[0]));
	ublk_fetch(&s, UBLK_U_IO_COMMIT_AND_FETCH_REQ, 0, 0);
	EXPECT_EQ(-EINVAL, iou_one(&s.r[0]));
	ublk_fetch(&s, 0, 0, 0);
	EXPECT_GT(0, iou_one(&s.r[0]));
	/* control commands need large SQEs */
	iou_prep(&s.r[0], IORING_OP_URING_CMD, u->ctl_fd, NULL, 0, 0)->cmd_op =
		UBLK_U_CMD_GET_FEATURES;
	EXPECT_EQ(-EINVAL, iou_one(&s.r[0]));
	ublk_srv_exit(&s);
}

/* Start processes that use the device until an error, after which they exit with 0. */
static int start_users(struct ublk *u, pid_t *users, int nr)
{
	int i, parent = getpid();

	for (i = 0; i < nr; i++) {
		users[i] = fork();
		if (!users[i]) {
			char *buf = iou_map_anon(UBLK_IO);
			unsigned int seed = i + iou_now_us();
			int fd = ublk_open(u, "b", O_RDWR | O_DIRECT);

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			for (;;) {
				unsigned int at = rand_r(&seed) % (UBLK_SIZE / UBLK_IO);
				ssize_t ret;

				if (rand_r(&seed) % 2)
					ret = pread(fd, buf, UBLK_IO, at * UBLK_IO);
				else
					ret = pwrite(fd, buf, UBLK_IO, at * UBLK_IO);
				/* the device has failed, or is gone */
				if (ret != UBLK_IO)
					_exit(0);
			}
		}
		if (users[i] < 0)
			return -errno;
	}
	return 0;
}

static int end_users(pid_t *users, int nr, bool kill_them)
{
	int i, status, bad = 0;

	for (i = 0; i < nr; i++) {
		if (kill_them)
			kill(users[i], SIGKILL);
		if (waitpid(users[i], &status, 0) != users[i])
			bad++;
		else if (!kill_them && status)
			bad++;
	}
	return bad;
}

/* Wait until the server has served @nr more requests, so that it is busy. */
static bool wait_served(struct ublk *u, unsigned int nr)
{
	unsigned long long end = iou_now_us() + 3 * IOU_PATIENCE * 1000ULL;
	unsigned int goal = __atomic_load_n(u->fetched, __ATOMIC_RELAXED) + nr;

	while ((int)(__atomic_load_n(u->fetched, __ATOMIC_RELAXED) - goal) < 0) {
		if (iou_now_us() > end)
			return false;
		iou_sleep_ms(1);
	}
	return true;
}

/*
 * Return: true if the kernel may lose requests of the device.  On 6.12, one SQPOLL thread in ten
 * gets more requests during its exit, after the driver was told to end its commands.  These
 * requests never end, and no task can end their users.
 * differences: none, 6.12 loses requests of the device
 */
static bool loses_requests(unsigned int ring_flags)
{
	return iou_on_stock() && ring_flags & IORING_SETUP_SQPOLL;
}

/* The server is killed with requests in flight: they end, and the device can be deleted. */
TEST_F(ublk, killed)
{
	unsigned long i, rounds = iou_rounds(4);
	struct ublk *u = &self->u;
	pid_t users[4];

	if (loses_requests(variant->flags))
		SKIP(return, "requests are lost when an SQPOLL thread ends");
	for (i = 0; i < rounds; i++) {
		u->flags = i % 2 ? UBLK_SLOW : 0;
		ASSERT_EQ(0, ublk_add(u, 0));
		ASSERT_EQ(0, ublk_start(u));
		ASSERT_EQ(0, start_users(u, users, 4));
		ASSERT_TRUE(wait_served(u, 20 + rand() % 50));
		usleep(rand() % 2000);
		EXPECT_EQ(0, ublk_kill(u));
		EXPECT_EQ(0, end_users(users, 4, false));
		EXPECT_EQ(0, ublk_wait_state(u, UBLK_S_DEV_DEAD));
		ASSERT_EQ(0, ublk_del(u));
	}
}

static struct ublk_srv *leaving;

static void leave_by_exec(int sig)
{
	execl("/bin/sleep", "sleep", "100", NULL);
	_exit(3);
}

static void leave_by_close(int sig)
{
	iou_exit(&leaving->r[0]);
	/* the driver of 7.3 waits for this close, the driver of 6.12 does not */
	if (iou_kernel_from("7"))
		ublk_srv_close(leaving);
	for (;;)
		pause();
}

static void exec_when_told(struct ublk_srv *s)
{
	signal(SIGUSR1, leave_by_exec);
}

static void close_when_told(struct ublk_srv *s)
{
	leaving = s;
	signal(SIGUSR1, leave_by_close);
}

/*
 * The server process stays, but gives up its ring with requests in flight: these end as well.
 * differences: none, 6.12 loses requests of the device
 */
TEST_F(ublk, left)
{
	unsigned long i, rounds = iou_rounds(4);
	struct ublk *u = &self->u;
	pid_t users[4];

	if (iou_on_stock())
		SKIP(return, "requests are lost");
	for (i = 0; i < rounds; i++) {
		u->flags = i & 2 ? UBLK_SLOW : 0;
		u->ready = i & 1 ? exec_when_told : close_when_told;
		ASSERT_EQ(0, ublk_add(u, 0));
		ASSERT_EQ(0, ublk_start(u));
		ASSERT_EQ(0, start_users(u, users, 4));
		ASSERT_TRUE(wait_served(u, 20 + rand() % 50));
		usleep(rand() % 2000);
		kill(u->server, SIGUSR1);
		EXPECT_EQ(0, end_users(users, 4, false));
		EXPECT_EQ(0, ublk_wait_state(u, UBLK_S_DEV_DEAD));
		EXPECT_EQ(0, ublk_kill(u));
		ASSERT_EQ(0, ublk_del(u));
	}
}

/* Wait until the only worker has issued all requests that were submitted before. */
static bool workers_done(struct iou *r)
{
	int fds[2];
	char c;

	if (pipe(fds))
		return false;
	iou_prep(r, IORING_OP_WRITE, fds[1], "", 1, -1)->flags = IOSQE_ASYNC;
	return iou_submit(r) >= 0 && read(fds[0], &c, 1) == 1;
}

/* Exit or exec.  On single-writer rings, callbacks of the driver still wait for their owner. */
static void exit_unserved(struct ublk_srv *s)
{
	unsigned int most[2] = { 1, 1 };

	if (iou_register(&s->r[0], IORING_REGISTER_IOWQ_MAX_WORKERS, most, 2) ||
	    !workers_done(&s->r[0]))
		_exit(2);
	if (s->u->flags & UBLK_SLOW)
		_exit(0);
	execl("/bin/true", "true", NULL);
	_exit(3);
}

/* A server ends before the driver has recorded it.  The driver must not record another task. */
TEST_F(ublk, left_unserved)
{
	struct ublk *u = &self->u;

	/* the driver would have some of the commands, and warn of the server's end */
	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the thread does not wait");
	u->sqe_flags |= IOSQE_ASYNC;
	u->ready = exit_unserved;
	ASSERT_EQ(0, ublk_add(u, 0));
	ASSERT_EQ(0, ublk_serve(u));
	EXPECT_EQ(0, ublk_reap(u));
	ASSERT_EQ(0, ublk_del(u));
	/* the server exits; only a warning of the driver would show a failure */
	u->flags = UBLK_SLOW;
	ASSERT_EQ(0, ublk_add(u, 0));
	ASSERT_EQ(0, ublk_serve(u));
	EXPECT_EQ(0, ublk_reap(u));
	/* wait until the end of the ring has had the driver end its commands */
	iou_sleep_ms(50);
}

/* The device that exit_unserved_again() serves first. */
static struct ublk served;

static void exit_unserved_again(struct ublk_srv *s)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	struct ublk_srv first;
	int fd;

	if (ublk_srv_init(&first, &served) || iou_submit(&first.r[0]) < 0 ||
	    iou_wait_ms(&first.r[0], 0, 0))
		_exit(4);
	ublk_srv_exit(&first);
	/* one open at a time: the commands keep the device open until the driver ends them */
	do {
		iou_sleep_ms(1);
		fd = ublk_open(&served, "c", O_RDWR);
	} while (fd < 0 && iou_now_us() < end);
	if (fd < 0)
		_exit(5);
	close(fd);
	exit_unserved(s);
}

/*
 * Like left_unserved, after the driver was told to end commands of a ring that the task has closed.
 * Mutant: cmd-asked-before.
 */
TEST_F(ublk, left_unserved_again)
{
	struct ublk *u = &self->u;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the thread does not wait");
	served = *u;
	served.sqe_flags = 0;
	u->sqe_flags |= IOSQE_ASYNC;
	u->ready = exit_unserved_again;
	EXPECT_EQ(0, ublk_add(&served, 0));
	EXPECT_EQ(0, ublk_add(u, 0));
	EXPECT_EQ(0, ublk_serve(u));
	EXPECT_EQ(0, ublk_reap(u));
	EXPECT_EQ(0, ublk_del(&served));
}

/* Submit more discards to the server's own device than it has tags: workers wait.  Then exec. */
static void exec_when_busy(int sig)
{
	struct iou *r = &leaving->r[0];
	struct io_uring_sqe *sqe;
	int fd, i;

	fd = ublk_open(leaving->u, "b", O_RDWR | O_DIRECT);
	for (i = 0; i < UBLK_DEPTH + 8; i++) {
		sqe = iou_prep(r, IORING_OP_URING_CMD, fd, NULL, 0, 0);
		sqe->cmd_op = BLOCK_URING_CMD_DISCARD;
		/* no discard can be merged with the next one */
		sqe->addr = i * 8192;
		sqe->addr3 = 4096;
	}
	if (fd < 0 || iou_submit(r) < 0)
		_exit(4);
	execl("/bin/true", "true", NULL);
	_exit(3);
}

static void busy_when_told(struct ublk_srv *s)
{
	leaving = s;
	signal(SIGUSR1, exec_when_busy);
}

/*
 * A server ends with requests to its own device in flight.  On other kinds of ring, the driver
 * would use all commands for these requests, and no idle command could tell it of the end.
 * differences: none, 6.12 loses requests of the device
 */
TEST(left_busy)
{
	struct ublk u = { .id = -1, .ring_flags = IOU_DEFER | IOU_LARGE, .ready = busy_when_told };
	char path[64];

	if (access("/dev/ublk-control", F_OK))
		SKIP(return, "no ublk");
	if (iou_on_stock())
		SKIP(return, "requests are lost");
	ASSERT_EQ(0, ublk_add(&u, 0));
	ASSERT_EQ(0, ublk_start(&u));
	/* an I/O scheduler would have tags of its own */
	snprintf(path, sizeof(path), "/sys/block/ublkb%d/queue/scheduler", u.id);
	EXPECT_EQ(0, iou_put(path, "none"));
	/* let the server begin to wait for requests */
	iou_sleep_ms(50);
	kill(u.server, SIGUSR1);
	EXPECT_EQ(0, ublk_reap(&u));
	EXPECT_EQ(0, ublk_wait_state(&u, UBLK_S_DEV_DEAD));
	EXPECT_EQ(0, ublk_del(&u));
}

#define REGIONS		4
#define REGION		(UBLK_SIZE / REGIONS)
#define PIECES		(REGION / UBLK_IO)

/* An idle command tells the driver of a server's end, so half of the commands must stay idle. */
#define AT_ONCE		(UBLK_DEPTH / 2 / REGIONS)

/*
 * Read or write a region, AT_ONCE pieces at a time.  Return: 0; 1 if pieces failed with -EIO
 * because the server has died; another negative errno.
 */
static int do_region(struct iou *r, int op, int fd, char *buf, unsigned long long at)
{
	struct io_uring_cqe cqe;
	int i, ret, again = 0;

	for (i = 0; i < PIECES; i++) {
		iou_prep(r, op, fd, buf + i * UBLK_IO, UBLK_IO, at + i * UBLK_IO);
		if ((i + 1) % AT_ONCE)
			continue;
		ret = iou_submit_wait(r, AT_ONCE);
		if (ret != AT_ONCE)
			return ret < 0 ? ret : -ENODATA;
		while (iou_ready(r)) {
			ret = iou_reap(r, &cqe);
			if (ret)
				return ret;
			if (cqe.res == -EIO)
				again = 1;
			else if (cqe.res != UBLK_IO)
				return cqe.res < 0 ? cqe.res : -ENODATA;
		}
	}
	return again;
}

/* Write a region and read it back until *stop.  Return: 0 or a negative errno. */
static int use_region(struct ublk *u, unsigned int region, bool may_fail, const unsigned int *stop)
{
	unsigned long long at = (unsigned long long)region * REGION;
	char *buf = iou_map_anon(REGION), *back = iou_map_anon(REGION);
	int fd = ublk_open(u, "b", O_RDWR | O_DIRECT), ret, i;
	unsigned int seed = region;
	struct iou r;

	if (fd < 0 || iou_init(&r, PIECES, 0))
		return -EIO;
	do {
		iou_fill(buf, REGION, at, ++seed);
		for (i = 0; i < 2; i++) {
			do {
				ret = do_region(&r, i ? IORING_OP_READ : IORING_OP_WRITE, fd,
						i ? back : buf, at);
			} while (ret == 1 && may_fail);
			if (ret)
				return ret < 0 ? ret : -EIO;
		}
		if (iou_verify(back, REGION, at, seed) != -1)
			return -EILSEQ;
	} while (!load_acq(stop));
	/* compare the final contents of the device */
	return iou_verify(u->mem + at, REGION, at, seed) == -1 ? 0 : -EBADMSG;
}

static int start_verifiers(struct ublk *u, pid_t *users, bool may_fail, const unsigned int *stop)
{
	int i, parent = getpid();

	for (i = 0; i < REGIONS; i++) {
		users[i] = fork();
		if (!users[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			_exit(-use_region(u, i, may_fail, stop));
		}
		if (users[i] < 0)
			return -errno;
	}
	return 0;
}

/*
 * The server is killed at random times, and another server goes on: no written data is lost.
 * Requests of the killed server fail, or are issued again.
 */
static int kill_and_recover(struct ublk *u, bool may_fail, unsigned long kills)
{
	/* the flag is in shared memory, behind the count of requests */
	unsigned int *stop = u->fetched + 1;
	pid_t users[REGIONS];
	int ret;

	ret = ublk_start(u) ?: start_verifiers(u, users, may_fail, stop);
	while (!ret && kills--) {
		if (!wait_served(u, 1 + rand() % 50))
			ret = -ETIME;
		usleep(rand() % 1000);
		if (!ret && ublk_kill(u))
			ret = -ECHILD;
		ret = ret ?: ublk_recover(u);
	}
	if (!ret && !wait_served(u, 10))
		ret = -ETIME;
	store_rel(stop, 1);
	/* a task that waits for a device without a server cannot be killed */
	if (ret)
		ublk_ctl(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0);
	return end_users(users, REGIONS, ret) ?: ret;
}

TEST_F(ublk, recovered)
{
	struct ublk *u = &self->u;

	if (loses_requests(variant->flags))
		SKIP(return, "requests are lost when an SQPOLL thread ends");
	ASSERT_EQ(0, ublk_add(u, UBLK_F_USER_RECOVERY | UBLK_F_USER_RECOVERY_REISSUE));
	EXPECT_EQ(0, kill_and_recover(u, false, iou_rounds(4)));
	EXPECT_EQ(0, write_and_verify(u, 1));
	EXPECT_EQ(0, ublk_ctl(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0));
	EXPECT_EQ(0, ublk_reap(u));
}

TEST_F(ublk, recovered_with_errors)
{
	struct ublk *u = &self->u;

	if (loses_requests(variant->flags))
		SKIP(return, "requests are lost when an SQPOLL thread ends");
	u->flags = UBLK_SLOW;
	ASSERT_EQ(0, ublk_add(u, UBLK_F_USER_RECOVERY));
	EXPECT_EQ(0, kill_and_recover(u, true, iou_rounds(4)));
	EXPECT_EQ(0, write_and_verify(u, 1));
}

/* The device is deleted while its server works. */
TEST_F(ublk, deleted)
{
	unsigned long i, rounds = iou_rounds(4);
	struct ublk *u = &self->u;
	pid_t users[2];

	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, ublk_add(u, 0));
		ASSERT_EQ(0, ublk_start(u));
		ASSERT_EQ(0, start_users(u, users, 2));
		ASSERT_TRUE(wait_served(u, 5 + rand() % 20));
		/* DEL_DEV waits for the server's end, which STOP_DEV begins */
		EXPECT_EQ(0, ublk_ctl(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0));
		EXPECT_EQ(0, end_users(users, 2, false));
		EXPECT_EQ(0, ublk_reap(u));
		ASSERT_EQ(0, ublk_del(u));
	}
}

static int do_cancel(struct iou *r, unsigned long long data, unsigned int flags)
{
	struct io_uring_sync_cancel_reg reg = {
		.addr = data, .flags = flags, .timeout = { -1, -1 },
	};

	return iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 1);
}

/* Submit the FETCH commands, and wait until the driver has accepted all of them. */
static int fetch_all(struct ublk_srv *s)
{
	struct iou *r = &s->r[0];
	struct io_uring_cqe cqe;
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	int ret;

	iou_nop(r, 99);
	ret = iou_submit(r);
	if (ret < 0)
		return ret;
	ret = iou_reap(r, &cqe);
	if (ret || cqe.user_data != 99)
		return ret ?: -EBADMSG;
	if (!(s->u->sqe_flags & IOSQE_ASYNC))
		return 0;
	/* Workers pass commands later.  -EINVAL: the driver has this command, but lacks others. */
	do {
		ublk_fetch(s, UBLK_U_IO_FETCH_REQ, UBLK_DEPTH - 1, 0);
		ret = iou_one(r);
	} while (ret == -EINVAL && iou_now_us() < end);
	return ret == -EBUSY ? 0 : ret;
}

/* A program cannot cancel a command that a driver keeps, but the end of the ring ends it. */
TEST_F(ublk, not_by_name)
{
	struct __kernel_timespec soon = { .tv_nsec = 1000000 };
	struct ublk *u = &self->u;
	struct io_uring_cqe cqe;
	struct ublk_srv s;
	struct iou *r;
	int i;

	if (variant->sqe_flags)
		SKIP(return, "told by others");
	ASSERT_EQ(0, ublk_add(u, 0));
	ASSERT_EQ(0, ublk_srv_init(&s, u));
	r = &s.r[0];
	ASSERT_EQ(0, fetch_all(&s));
	EXPECT_EQ(-ENOENT, do_cancel(r, 3, 0));
	EXPECT_EQ(0, do_cancel(r, 0, IORING_ASYNC_CANCEL_ANY));
	EXPECT_EQ(0, do_cancel(r, 0, IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_OP));
	iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)3, 0, 0);
	EXPECT_EQ(-ENOENT, iou_one(r));
	iou_prep(r, IORING_OP_POLL_REMOVE, -1, (void *)3, 0, 0);
	EXPECT_EQ(-ENOENT, iou_one(r));
	EXPECT_EQ(0, iou_ready(r));

	/* a command with a LINK_TIMEOUT, on a stopped device: both post a CQE */
	ASSERT_EQ(0, ublk_ctl(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0));
	for (i = 0; i < UBLK_DEPTH; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(UBLK_IO_RES_ABORT, cqe.res);
	}
	ublk_fetch(&s, UBLK_U_IO_FETCH_REQ, 0, 0)->flags = IOSQE_IO_LINK;
	iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &soon, 1, 0)->user_data = 77;
	ASSERT_EQ(2, iou_submit(r));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, iou_reap(r, &cqe));
	ublk_srv_exit(&s);
}

static void on_alarm(int sig)
{
}

/* A command does not use the registered buffer that it names before the driver imports it. */
TEST_F(ublk, buffer_is_unused)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct ublk *u = &self->u;
	struct io_uring_cqe cqe;
	struct ublk_srv s;
	struct iovec iov;
	struct iou *r;
	int i;

	ASSERT_EQ(0, ublk_add(u, 0));
	u->cmd_flags = IORING_URING_CMD_FIXED;
	ASSERT_EQ(0, ublk_srv_init(&s, u));
	r = &s.r[0];
	iov = (struct iovec){ s.buf, UBLK_IO };
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1));
	ASSERT_EQ(0, fetch_all(&s));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	alarm(2);
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_BUFFERS, NULL, 0));
	alarm(0);
	ASSERT_EQ(0, ublk_ctl(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0));
	for (i = 0; i < UBLK_DEPTH; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(UBLK_IO_RES_ABORT, cqe.res);
	}
	ublk_srv_exit(&s);
}

/* A ring is closed while the driver has its commands; then the device can be deleted. */
TEST_F(ublk, ring_closed)
{
	struct ublk *u = &self->u;
	struct ublk_srv s;

	ASSERT_EQ(0, ublk_add(u, 0));
	ASSERT_EQ(0, ublk_srv_init(&s, u));
	ASSERT_EQ(0, fetch_all(&s));
	ublk_srv_exit(&s);
	ASSERT_EQ(0, ublk_ctl(u, UBLK_U_CMD_DEL_DEV, NULL, 0, 0));
	u->id = -1;
}

static void *fetch_in_thread(void *arg)
{
	return (void *)(long)fetch_all(arg);
}

/* The thread that has submitted the commands exits; its process and the ring stay. */
TEST_F(ublk, thread_exits)
{
	struct ublk *u = &self->u;
	struct ublk_srv s;
	pthread_t thread;
	void *ret;
	int i;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL))
		SKIP(return, "one task alone submits");
	ASSERT_EQ(0, ublk_add(u, 0));
	ASSERT_EQ(0, ublk_srv_init(&s, u));
	ASSERT_EQ(0, pthread_create(&thread, NULL, fetch_in_thread, &s));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	ASSERT_EQ(NULL, ret);
	EXPECT_EQ(0, iou_ready(&s.r[0]));
	ASSERT_EQ(0, ublk_ctl(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0));
	for (i = 0; i < UBLK_DEPTH; i++) {
		struct io_uring_cqe cqe;

		ASSERT_EQ(0, iou_reap(&s.r[0], &cqe));
		EXPECT_EQ(UBLK_IO_RES_ABORT, cqe.res);
	}
	ublk_srv_exit(&s);
}

/* A server executes another program. */
TEST_F(ublk, exec)
{
	struct ublk *u = &self->u;
	int status, i;

	ASSERT_EQ(0, ublk_add(u, 0));
	for (i = 0; i < 2; i++) {
		u->server = fork();
		if (!u->server) {
			struct ublk_srv s;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (ublk_srv_init(&s, u) || fetch_all(&s))
				_exit(1);
			/* in round 0 the exec keeps the ring open, in round 1 it closes the ring */
			fcntl(s.r[0].fd, F_SETFD, i ? FD_CLOEXEC : 0);
			fcntl(s.fd, F_SETFD, FD_CLOEXEC);
			execl("/bin/sh", "sh", "-c", "exit 7", NULL);
			_exit(3);
		}
		status = ublk_reap(u);
		EXPECT_EQ(7, WEXITSTATUS(status));
		ASSERT_EQ(0, ublk_del(u));
		ASSERT_EQ(0, ublk_add(u, 0));
	}
}

/*
 * A callback for a command of one ring ends commands of another ring.
 * differences: none, 6.12 loses what is served
 */
TEST_F(ublk, two_rings)
{
	struct ublk *u = &self->u;

	if (iou_on_stock())
		SKIP(return, "loses what is served");
	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "two threads cannot serve one queue");
	u->flags = UBLK_TWO_RINGS;
	ASSERT_EQ(0, ublk_add(u, 0));
	ASSERT_EQ(0, ublk_start(u));
	EXPECT_EQ(0, write_and_verify(u, 1));
	EXPECT_EQ(0, write_and_verify(u, 2));
	EXPECT_EQ(0, ublk_kill(u));
	EXPECT_EQ(0, ublk_wait_state(u, UBLK_S_DEV_DEAD));
}

#ifndef UBLK_U_IO_REGISTER_IO_BUF
#define UBLK_U_IO_REGISTER_IO_BUF	_IOWR('u', 0x23, struct ublksrv_io_cmd)
#define UBLK_U_IO_UNREGISTER_IO_BUF	_IOWR('u', 0x24, struct ublksrv_io_cmd)
#endif

/* The file to and from which the server of a zero copy device moves data. */
static int backing;

/* Register a slot for each request, one with memory of the server, and one that stays empty. */
static int zc_register_slots(struct ublk_srv *s)
{
	struct iovec own[UBLK_DEPTH + 2] = {};

	own[UBLK_DEPTH] = (struct iovec){ s->buf, IOU_PAGE };
	return iou_register(&s->r[1], IORING_REGISTER_BUFFERS, own, UBLK_DEPTH + 2);
}

/* Prepare a command for a request's buffer, in the ring that moves the data. */
static struct io_uring_sqe *zc_prep_cmd(struct ublk_srv *s, unsigned int op, unsigned int tag,
					unsigned int slot)
{
	struct io_uring_sqe *sqe = iou_prep(&s->r[1], IORING_OP_URING_CMD, s->fd, NULL, 0, 0);
	struct ublksrv_io_cmd *cmd = (void *)sqe->cmd;

	sqe->cmd_op = op;
	sqe->flags = s->u->sqe_flags;
	cmd->q_id = 0;
	cmd->tag = tag;
	cmd->addr = slot;
	return sqe;
}

static int zc_cmd(struct ublk_srv *s, unsigned int op, unsigned int tag, unsigned int slot)
{
	zc_prep_cmd(s, op, tag, slot);
	return iou_one(&s->r[1]);
}

/* Prepare to move a part of a registered request to or from the backing file. */
static struct io_uring_sqe *zc_prep_move(struct ublk_srv *s, int op, unsigned int slot,
					 size_t from, size_t len, off_t at)
{
	struct io_uring_sqe *sqe = iou_prep(&s->r[1], op, backing, (void *)from, len, at);

	sqe->flags = s->u->sqe_flags;
	sqe->buf_index = slot;
	return sqe;
}

/* Move a part as zc_prep_move() prepares it.  Return: bytes or a negative errno. */
static int zc_move(struct ublk_srv *s, int op, unsigned int slot, size_t from, size_t len,
		   off_t at)
{
	zc_prep_move(s, op, slot, from, len, at);
	return iou_one(&s->r[1]);
}

/* Report an unexpected result.  Return: 0 or -EPROTO. */
static int zc_expect(int want, int got, int line)
{
	if (want != got)
		fprintf(stderr, "# line %d: %d, not %d\n", line, got, want);
	return want == got ? 0 : -EPROTO;
}

#define ZC_EXPECT(want, got)	(err = err ?: zc_expect(want, got, __LINE__))

/*
 * One chain registers the buffer, moves the data and removes the buffer, as servers do.  The next
 * request of the chain finds no buffer, and fails.
 */
static int zc_chain(struct ublk_srv *s, int op, unsigned int tag, size_t len, off_t at)
{
	int want[] = { 0, len, 0, -EFAULT }, err = 0;
	struct io_uring_cqe cqe;
	unsigned int i;

	zc_prep_cmd(s, UBLK_U_IO_REGISTER_IO_BUF, tag, tag)->flags |= IOSQE_IO_HARDLINK;
	zc_prep_move(s, op, tag, 0, len, at)->flags |= IOSQE_IO_HARDLINK;
	zc_prep_cmd(s, UBLK_U_IO_UNREGISTER_IO_BUF, tag, tag)->flags |= IOSQE_IO_HARDLINK;
	zc_prep_move(s, op, tag, 0, len, at);
	ZC_EXPECT((int)ARRAY_LEN(want), iou_submit(&s->r[1]));
	for (i = 0; i < ARRAY_LEN(want); i++) {
		ZC_EXPECT(0, iou_reap(&s->r[1], &cqe));
		ZC_EXPECT(want[i], cqe.res);
	}
	/* a chain removes a buffer that was registered before; its next request fails, too */
	ZC_EXPECT(0, zc_cmd(s, UBLK_U_IO_REGISTER_IO_BUF, tag, tag));
	zc_prep_cmd(s, UBLK_U_IO_UNREGISTER_IO_BUF, tag, tag)->flags |= IOSQE_IO_HARDLINK;
	zc_prep_move(s, op, tag, 0, len, at);
	ZC_EXPECT(2, iou_submit(&s->r[1]));
	ZC_EXPECT(0, iou_reap(&s->r[1], &cqe));
	ZC_EXPECT(0, cqe.res);
	ZC_EXPECT(0, iou_reap(&s->r[1], &cqe));
	ZC_EXPECT(-EFAULT, cqe.res);
	return err;
}

/* Move two parts of a buffer, of which the second is ahead of the first. */
static int zc_move_vec(struct ublk_srv *s, int op, unsigned int slot, size_t cut, size_t len,
		       off_t at)
{
	struct iovec iov[2] = { { (void *)cut, len - cut }, { NULL, cut } };
	struct io_uring_sqe *sqe = iou_prep(&s->r[1], op, backing, iov, 2, at);

	sqe->flags = s->u->sqe_flags;
	sqe->buf_index = slot;
	return iou_one(&s->r[1]);
}

/* Check vectors of a buffer, whose data begins at @at.  Return: 0 or an error. */
static int zc_vectors(struct ublk_srv *s, bool out, unsigned int slot, size_t len, off_t at)
{
	int op = out ? IORING_OP_WRITEV_FIXED : IORING_OP_READV_FIXED, err = 0;
	int wrong = out ? IORING_OP_READV_FIXED : IORING_OP_WRITEV_FIXED;
	char *old = malloc(len), *moved = malloc(len);
	size_t cut = 700;

	if (pread(backing, old, len, at) != (ssize_t)len)
		return -EIO;
	ZC_EXPECT(-EFAULT, zc_move_vec(s, wrong, slot, cut, len, at));
	ZC_EXPECT(-EFAULT, zc_move_vec(s, op, slot, cut, len + 1, at));
	ZC_EXPECT(-EFAULT, zc_move_vec(s, op, slot, len, len, at));
	ZC_EXPECT((int)len, zc_move_vec(s, op, slot, cut, len, at));
	if (out) {
		/* what the vector has written, and what the whole buffer writes */
		ZC_EXPECT((int)len, (int)pread(backing, moved, len, at));
		ZC_EXPECT((int)len, zc_move(s, IORING_OP_WRITE_FIXED, slot, 0, len, at));
		ZC_EXPECT((int)len, (int)pread(backing, old, len, at));
		ZC_EXPECT(0, memcmp(moved, old + cut, len - cut));
		ZC_EXPECT(0, memcmp(moved + len - cut, old, cut));
	} else {
		/* swap the parts in the file, and read them swapped: the device's reader checks */
		memcpy(moved, old + cut, len - cut);
		memcpy(moved + len - cut, old, cut);
		ZC_EXPECT((int)len, (int)pwrite(backing, moved, len, at));
		ZC_EXPECT((int)len, zc_move_vec(s, op, slot, cut, len, at));
		ZC_EXPECT((int)len, (int)pwrite(backing, old, len, at));
	}
	free(moved);
	free(old);
	return err;
}

/* Serve a request without a copy, and check that wrong requests fail. */
static int zc_serve(struct ublk_srv *s, unsigned int tag)
{
	const struct ublksrv_io_desc *d = &s->desc[tag];
	bool out = ublksrv_get_op(d) == UBLK_IO_OP_WRITE;
	int op = out ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED, err = 0;
	int wrong = out ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
	size_t len = d->nr_sectors * 512UL;
	off_t at = d->start_sector * 512;

	if (ublksrv_get_op(d) == UBLK_IO_OP_FLUSH)
		return 0;
	if (!out && ublksrv_get_op(d) != UBLK_IO_OP_READ)
		return -EOPNOTSUPP;
	ZC_EXPECT(-EINVAL, zc_cmd(s, UBLK_U_IO_REGISTER_IO_BUF, tag, UBLK_DEPTH + 2));
	ZC_EXPECT(-EBUSY, zc_cmd(s, UBLK_U_IO_REGISTER_IO_BUF, tag, UBLK_DEPTH));
	ZC_EXPECT(-EINVAL, zc_cmd(s, UBLK_U_IO_UNREGISTER_IO_BUF, tag, UBLK_DEPTH + 1));
	ZC_EXPECT(0, zc_cmd(s, UBLK_U_IO_REGISTER_IO_BUF, tag, tag));
	ZC_EXPECT(-EBUSY, zc_cmd(s, UBLK_U_IO_REGISTER_IO_BUF, tag, tag));
	/* data flows in one direction, and within the request */
	ZC_EXPECT(-EFAULT, zc_move(s, wrong, tag, 0, 512, at));
	ZC_EXPECT(-EFAULT, zc_move(s, op, tag, 512, len, at));
	ZC_EXPECT(-EFAULT, zc_move(s, op, tag, len + 1, 0, at));
	/* the pieces begin and end within pages */
	ZC_EXPECT((int)len - 700, zc_move(s, op, tag, 700, len - 700, at + 700));
	ZC_EXPECT(700, zc_move(s, op, tag, 0, 700, at));
	ZC_EXPECT(-EBUSY, zc_cmd(s, UBLK_U_IO_UNREGISTER_IO_BUF, tag, UBLK_DEPTH));
	ZC_EXPECT(0, zc_cmd(s, UBLK_U_IO_UNREGISTER_IO_BUF, tag, tag));
	ZC_EXPECT(-EINVAL, zc_cmd(s, UBLK_U_IO_UNREGISTER_IO_BUF, tag, tag));
	ZC_EXPECT(-EFAULT, zc_move(s, op, tag, 0, 512, at));
	ZC_EXPECT(0, zc_chain(s, op, tag, len, at));
	/* last, so that the reader of the device gets the data of a vector */
	ZC_EXPECT(0, zc_cmd(s, UBLK_U_IO_REGISTER_IO_BUF, tag, tag));
	ZC_EXPECT(0, zc_vectors(s, out, tag, len, at));
	ZC_EXPECT(0, zc_cmd(s, UBLK_U_IO_UNREGISTER_IO_BUF, tag, tag));
	return err ?: (int)len;
}

static void zc_ready(struct ublk_srv *s)
{
	if (zc_register_slots(s))
		_exit(2);
}

static int zc_add(struct ublk *u)
{
	if (!iou_kernel_from("7"))
		return -ENODEV;
	u->zero_copy = true;
	u->ready = zc_ready;
	backing = memfd_create("backing", 0);
	if (backing < 0 || ftruncate(backing, UBLK_SIZE))
		return -errno;
	return ublk_add(u, UBLK_F_SUPPORT_ZERO_COPY);
}

/* A driver registers the pages of a request, and the server moves data to and from them. */
TEST_F(ublk, zero_copy)
{
	struct ublk *u = &self->u;
	char *back = iou_map_anon(UBLK_SIZE);
	int ret = zc_add(u);

	if (ret == -ENODEV)
		SKIP(return, "the driver of this kernel registers no buffers");
	ASSERT_EQ(0, ret);
	u->serve = zc_serve;
	ASSERT_EQ(0, ublk_start(u));
	EXPECT_EQ(0, write_and_verify(u, 1));
	EXPECT_EQ(UBLK_SIZE, pread(backing, back, UBLK_SIZE, 0));
	EXPECT_EQ(-1, iou_verify(back, UBLK_SIZE, 0, 1));
	EXPECT_EQ(0, ublk_ctl(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0));
	EXPECT_EQ(0, ublk_reap(u));
	munmap(back, UBLK_SIZE);
	close(backing);
}

/* Commands of 7.3 that pass many requests at once. */
struct batch_io {
	__u16 q_id;
	__u16 flags;
	__u16 nr_elem;
	__u8 elem_bytes;
	__u8 reserved;
	__u64 reserved2;
};

struct batch_elem {
	__u16 tag;
	__u16 buf_index;
	__s32 result;
	__u64 addr;
};

#define BATCH_PREP		_IOWR('u', 0x25, struct batch_io)
#define BATCH_COMMIT		_IOWR('u', 0x26, struct batch_io)
#define BATCH_FETCH		_IOWR('u', 0x27, struct batch_io)
#define BATCH_HAS_ADDR		2
#define BATCH_F			0x8000ULL

#define BATCH_BUFS		1	/* the driver often finds no buffer */
#define BATCH_TAGS		4	/* tags in one buffer */
#define BATCH_FETCHED		0x100000	/* user_data of the multishot command */
#define BATCH_NOP		0x200000

/* Buffers for tags, and elements that are indexed by the first tag of a batch. */
struct batch {
	struct ublk_srv *s;
	struct io_uring_buf_ring *ring;
	__u16 tags[BATCH_BUFS][BATCH_TAGS];
	struct batch_elem elems[UBLK_DEPTH][UBLK_DEPTH];
};

static struct io_uring_sqe *batch_prep(struct ublk_srv *s, unsigned int op, unsigned int nr,
				       unsigned int size, unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(&s->r[0], IORING_OP_URING_CMD, s->fd, NULL, 0, 0);
	struct batch_io *io = (void *)sqe->cmd;

	sqe->cmd_op = op;
	sqe->flags = s->u->sqe_flags;
	*io = (struct batch_io){ .nr_elem = nr, .elem_bytes = size, .flags = flags };
	return sqe;
}

static void batch_elems(struct batch *b, unsigned int op, unsigned int first, unsigned int nr)
{
	struct io_uring_sqe *sqe = batch_prep(b->s, op, nr, sizeof(struct batch_elem),
					      BATCH_HAS_ADDR);

	sqe->addr = iou_addr(b->elems[first]);
	sqe->len = nr * sizeof(struct batch_elem);
	sqe->user_data = nr;
}

static void batch_fetch(struct batch *b)
{
	struct io_uring_sqe *sqe;

	/* the worker that has run the NOP gets the command, too, while requests wait for it */
	if (b->s->u->sqe_flags & IOSQE_ASYNC)
		iou_nop(&b->s->r[0], BATCH_NOP)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
	sqe = batch_prep(b->s, BATCH_FETCH, 0, sizeof(__u16), 0);
	sqe->uring_cmd_flags = IORING_URING_CMD_MULTISHOT;
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 1;
	sqe->user_data = BATCH_FETCHED;
}

static void batch_provide(struct batch *b, unsigned int bid)
{
	struct io_uring_buf *buf = &b->ring->bufs[b->ring->tail % BATCH_BUFS];

	buf->addr = iou_addr(b->tags[bid]);
	buf->len = sizeof(b->tags[bid]);
	buf->bid = bid;
	store_rel(&b->ring->tail, (__u16)(b->ring->tail + 1));
}

/* Serve the requests whose tags are in a buffer, and commit them together. */
static void batch_tags(struct batch *b, unsigned int bid, unsigned int nr)
{
	const __u16 *tags = b->tags[bid];
	unsigned int i, first = tags[0];

	for (i = 0; i < nr; i++) {
		if (tags[i] >= UBLK_DEPTH)
			_exit(10);
		b->elems[first][i] = (struct batch_elem) {
			.tag = tags[i], .result = ublk_serve_one(b->s, tags[i]),
			.addr = iou_addr(b->s->buf + tags[i] * UBLK_IO),
		};
	}
	batch_provide(b, bid);
	batch_elems(b, BATCH_COMMIT, first, nr);
}

static void batch_cqe(struct batch *b, const struct io_uring_cqe *cqe)
{
	if (cqe->user_data == BATCH_NOP) {
		if (cqe->res)
			_exit(18);
	} else if (cqe->user_data != BATCH_FETCHED) {
		if (cqe->res != (int)(cqe->user_data * sizeof(struct batch_elem)))
			_exit(11);
	} else if (cqe->res > 0) {
		if (!(cqe->flags & IORING_CQE_F_MORE) || !(cqe->flags & IORING_CQE_F_BUFFER) ||
		    cqe->res % sizeof(__u16) || cqe->res > (int)sizeof(b->tags[0]))
			_exit(12);
		batch_tags(b, cqe->flags >> IORING_CQE_BUFFER_SHIFT, cqe->res / sizeof(__u16));
	} else if (cqe->flags & IORING_CQE_F_MORE) {
		_exit(13);
	} else if (cqe->res == -ENOBUFS) {
		/* the CQ was full: the CQE returns the buffer */
		if (cqe->flags & IORING_CQE_F_BUFFER)
			batch_provide(b, cqe->flags >> IORING_CQE_BUFFER_SHIFT);
		__atomic_fetch_add(b->s->u->fetched + 2, 1, __ATOMIC_RELAXED);
		batch_fetch(b);
	} else {
		_exit(cqe->res == UBLK_IO_RES_ABORT ? 0 : 14);
	}
}

/* Serve in batches until the driver ends the commands, then exit. */
static void batch_serve(struct ublk_srv *s)
{
	struct io_uring_buf_reg reg = { .ring_entries = BATCH_BUFS, .bgid = 1 };
	struct batch *b = (void *)iou_map_anon(iou_page_up(sizeof(*b)));
	struct io_uring_cqe cqe;
	unsigned int i;

	b->s = s;
	b->ring = (void *)iou_map_anon(IOU_PAGE);
	reg.ring_addr = iou_addr(b->ring);
	/* drop the commands for single requests */
	s->r[0].next = 0;
	if (iou_register(&s->r[0], IORING_REGISTER_PBUF_RING, &reg, 1))
		_exit(15);
	for (i = 0; i < BATCH_BUFS; i++)
		batch_provide(b, i);
	for (i = 0; i < UBLK_DEPTH; i++)
		b->elems[0][i] = (struct batch_elem) {
			.tag = i, .addr = iou_addr(s->buf + i * UBLK_IO),
		};
	batch_elems(b, BATCH_PREP, 0, UBLK_DEPTH);
	if (iou_one(&s->r[0]))
		_exit(16);
	batch_fetch(b);
	for (;;) {
		if (iou_submit(&s->r[0]) < 0 || iou_reap(&s->r[0], &cqe))
			_exit(17);
		batch_cqe(b, &cqe);
	}
}

/*
 * One multishot command passes all requests to the server, in provided buffers.  If a worker gets
 * the command, it has to pass the command on: 7.3's own implementation crashes then.
 * differences: none, 7.3 crashes
 */
TEST_F(ublk, batch)
{
	struct ublk *u = &self->u;

	if (!iou_kernel_from("7"))
		SKIP(return, "the driver of this kernel has no batches");
	if (iou_on_stock() && variant->sqe_flags & IOSQE_ASYNC)
		SKIP(return, "a worker crashes the kernel");
	u->ready = batch_serve;
	ASSERT_EQ(0, ublk_add(u, BATCH_F));
	ASSERT_EQ(0, ublk_start(u));
	EXPECT_EQ(0, write_and_verify(u, 1));
	EXPECT_EQ(-1, iou_verify(u->mem, UBLK_SIZE, 0, 1));
	EXPECT_EQ(0, write_and_verify(u, 2));
	EXPECT_LT(0, u->fetched[2]);
	EXPECT_EQ(0, ublk_ctl(u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0));
	EXPECT_EQ(0, ublk_reap(u));
}

TEST_HARNESS_MAIN
