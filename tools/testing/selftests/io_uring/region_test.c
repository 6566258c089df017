// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: the memory region of a ring, and waits whose arguments are in it */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "iou_test.h"

/* the mmap offset of a region that the kernel has allocated */
#define OFF_REGION	0x20000000

#define USER		IORING_MEM_REGION_TYPE_USER
#define WAIT_ARG	IORING_MEM_REGION_REG_WAIT_ARG
#define WAIT_FLAGS	(IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG | IORING_ENTER_EXT_ARG_REG)

/* Register @size bytes at @mem, or, if that is NULL, as many of the kernel's memory. */
static int register_region(int fd, void *mem, size_t size, unsigned int flags, __u64 *offset)
{
	struct io_uring_region_desc desc = {
		.user_addr = (uintptr_t)mem, .size = size, .flags = mem ? USER : 0,
	};
	struct io_uring_mem_region_reg reg = { .region_uptr = (uintptr_t)&desc, .flags = flags };
	int ret = iou_sys_register(fd, IORING_REGISTER_MEM_REGION, &reg, 1);

	if (offset)
		*offset = desc.mmap_offset;
	return ret;
}

static void *map_region(int fd, size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, OFF_REGION);
}

/* Wait for @min CQEs, with the arguments at @offset of the region. */
static int wait_at(const struct iou *r, unsigned int min, unsigned int flags, unsigned long offset)
{
	return iou_sys_enter(r->fd, 0, min, WAIT_FLAGS | flags, (void *)offset,
			     sizeof(struct io_uring_reg_wait));
}

static unsigned long long elapsed_ms(unsigned long long start)
{
	return (iou_now_us() - start) / 1000;
}

/* Set up a ring with a region of two pages for arguments of waits. */
static struct io_uring_reg_wait *init_waits(struct iou *r, unsigned int flags, bool user)
{
	const size_t size = 2 * IOU_PAGE;
	void *mem = user ? iou_map_anon(size) : NULL;

	if (iou_init(r, 8, flags | IORING_SETUP_R_DISABLED) ||
	    register_region(r->fd, mem, size, WAIT_ARG, NULL))
		return NULL;
	if (!user)
		mem = map_region(r->fd, size);
	if (mem == MAP_FAILED || iou_register(r, IORING_REGISTER_ENABLE_RINGS, NULL, 0))
		return NULL;
	return mem;
}

/* differences: none, 6.12 has no regions */
static bool no_regions(void)
{
	return iou_on_older_stock();
}

/* Mutants: region-any-id, region-wait-when-enabled. */
TEST(refused)
{
	void *mem = iou_map_anon(4 * IOU_PAGE), *none = mem + 3 * IOU_PAGE;
	const struct {
		struct io_uring_region_desc desc;
		struct io_uring_mem_region_reg reg;
		int ret;
		bool enabled;
	} rows[] = {
		{ { .size = IOU_PAGE }, { .flags = WAIT_ARG }, 0 },
		{ { .size = IOU_PAGE }, { }, 0, true },
		{ { .size = IOU_PAGE }, { .flags = WAIT_ARG }, -EINVAL, true },
		{ { .size = IOU_PAGE }, { .flags = 2 }, -EINVAL },
		{ { .size = IOU_PAGE }, { .__resv[0] = 1 }, -EINVAL },
		{ { .size = IOU_PAGE }, { .__resv[1] = 1 }, -EINVAL },
		{ { .size = IOU_PAGE, .flags = 2 }, { }, -EINVAL },
		{ { .size = IOU_PAGE, .id = 1 }, { }, -EINVAL },
		{ { .size = IOU_PAGE, .mmap_offset = IOU_PAGE }, { }, -EINVAL },
		{ { .size = IOU_PAGE, .__resv[0] = 1 }, { }, -EINVAL },
		{ { .size = IOU_PAGE, .__resv[3] = 1 }, { }, -EINVAL },
		{ { .size = 0 }, { }, -EINVAL },
		{ { .size = 100 }, { }, -EINVAL },
		{ { .size = 1ULL << 40 }, { }, -ENOMEM },
		{ { .size = 1ULL << 43 }, { }, -E2BIG },
		{ { .size = IOU_PAGE, .user_addr = (uintptr_t)mem }, { }, -EFAULT },
		{ { .size = IOU_PAGE, .user_addr = (uintptr_t)mem, .flags = USER }, { }, 0 },
		{ { .size = IOU_PAGE, .user_addr = (uintptr_t)mem + 64, .flags = USER }, { },
		  -EINVAL },
		{ { .size = IOU_PAGE, .user_addr = (uintptr_t)none, .flags = USER }, { }, -EFAULT },
		{ { .size = 4 * IOU_PAGE, .user_addr = (uintptr_t)mem, .flags = USER }, { },
		  -EFAULT },
		{ { .size = IOU_PAGE, .flags = USER }, { }, -EFAULT },
		{ { .size = 1ULL << 40, .user_addr = (uintptr_t)mem, .flags = USER }, { },
		  -EOVERFLOW },
	};
	unsigned int i;
	struct iou r;

	if (no_regions())
		SKIP(return, "no IORING_REGISTER_MEM_REGION");
	ASSERT_EQ(0, mprotect(none, IOU_PAGE, PROT_NONE));
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct io_uring_region_desc desc = rows[i].desc;
		struct io_uring_mem_region_reg reg = rows[i].reg;

		reg.region_uptr = (uintptr_t)&desc;
		ASSERT_EQ(0, iou_init(&r, 4, rows[i].enabled ? 0 : IORING_SETUP_R_DISABLED));
		EXPECT_EQ(rows[i].ret, iou_register(&r, IORING_REGISTER_MEM_REGION, &reg, 1)) {
			TH_LOG("row %u", i);
		}
		iou_exit(&r);
	}
	munmap(mem, 4 * IOU_PAGE);
}

/* A ring has one region.  A call that fails leaves none.  Mutant: region-replaced. */
TEST(one)
{
	struct io_uring_region_desc *desc = iou_map_anon(IOU_PAGE);
	struct io_uring_mem_region_reg reg = { .region_uptr = (uintptr_t)desc };
	__u64 offset;
	struct iou r;

	if (no_regions())
		SKIP(return, "no IORING_REGISTER_MEM_REGION");
	ASSERT_EQ(0, iou_init(&r, 4, 0));
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_MEM_REGION, &reg, 0));
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_MEM_REGION, &reg, 2));
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_MEM_REGION, NULL, 1));
	EXPECT_EQ(-EFAULT, iou_register(&r, IORING_REGISTER_MEM_REGION, (void *)8, 1));
	reg.region_uptr = 0;
	EXPECT_EQ(-EFAULT, iou_register(&r, IORING_REGISTER_MEM_REGION, &reg, 1));
	/* the kernel cannot tell the offset, so the program does not get the region */
	reg.region_uptr = (uintptr_t)desc;
	desc->size = IOU_PAGE;
	ASSERT_EQ(0, mprotect(desc, IOU_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, iou_register(&r, IORING_REGISTER_MEM_REGION, &reg, 1));
	EXPECT_EQ(MAP_FAILED, map_region(r.fd, IOU_PAGE));

	EXPECT_EQ(0, register_region(r.fd, NULL, IOU_PAGE, 0, &offset));
	EXPECT_EQ(OFF_REGION, offset);
	EXPECT_EQ(-EBUSY, register_region(r.fd, NULL, IOU_PAGE, 0, NULL));
	munmap(desc, IOU_PAGE);
	iou_exit(&r);
}

/* A kernel region is mapped like a ring, by each process that has the file. */
TEST(mapped)
{
	const size_t size = 3 * IOU_PAGE;
	char *mem, *again;
	struct iou r;
	int status;

	if (no_regions())
		SKIP(return, "no IORING_REGISTER_MEM_REGION");
	ASSERT_EQ(0, iou_init(&r, 4, 0));
	EXPECT_EQ(MAP_FAILED, map_region(r.fd, size));
	ASSERT_EQ(0, register_region(r.fd, NULL, size, 0, NULL));
	mem = map_region(r.fd, size);
	ASSERT_NE(MAP_FAILED, mem);
	for (status = 0; status < size; status++)
		ASSERT_EQ(0, mem[status]);
	mem[size - 1] = 5;
	if (!fork()) {
		again = map_region(r.fd, size);
		if (again == MAP_FAILED || again[size - 1] != 5 || mem[size - 1] != 5)
			_exit(1);
		again[0] = 6;
		_exit(mem[0] != 6);
	}
	ASSERT_LT(0, wait(&status));
	EXPECT_EQ(0, status);
	EXPECT_EQ(6, mem[0]);
	iou_exit(&r);
	/* the mapping keeps the pages */
	mem[1] = 7;
	EXPECT_EQ(6, mem[0]);
	EXPECT_EQ(0, munmap(mem, size));

	/* the program has its own memory already */
	mem = iou_map_anon(size);
	ASSERT_EQ(0, iou_init(&r, 4, 0));
	ASSERT_EQ(0, register_region(r.fd, mem, size, 0, NULL));
	EXPECT_EQ(MAP_FAILED, map_region(r.fd, size));
	iou_exit(&r);
	munmap(mem, size);
}

/* Try a region of @size for a while, on one ring after the other. */
static int register_later(void *mem, size_t size)
{
	unsigned int ms;
	struct iou r;
	int ret = -ENOMEM;

	for (ms = 0; ret == -ENOMEM && ms < IOU_PATIENCE; ms += 20) {
		iou_sleep_ms(20);
		if (iou_init(&r, 4, 0))
			return -ENODEV;
		ret = register_region(r.fd, mem, size, 0, NULL);
		iou_exit(&r);
	}
	return ret;
}

/*
 * A child of user @uid, which may lock @pages, registers a region of @size.  After the end of its
 * ring it registers another one.  Return: the exit status, an errno.
 */
static int charge_child(unsigned int uid, unsigned int pages, size_t size, bool user)
{
	struct rlimit limit = { .rlim_cur = pages * IOU_PAGE, .rlim_max = pages * IOU_PAGE };
	int status, ret;
	struct iou r;
	void *mem;

	if (!fork()) {
		mem = user ? iou_map_anon(size) : NULL;
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || setresuid(uid, uid, uid) ||
		    iou_init(&r, 4, 0))
			_exit(ENODEV);
		ret = register_region(r.fd, mem, size, 0, NULL);
		iou_exit(&r);
		_exit(-(ret ?: register_later(mem, size)));
	}
	if (wait(&status) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/*
 * The pages of a region count for RLIMIT_MEMLOCK until the end of its ring.
 * Mutants: region-uncharged, region-charged-forever.
 */
TEST(charged)
{
	unsigned int user;

	if (no_regions())
		SKIP(return, "no IORING_REGISTER_MEM_REGION");
	if (getuid())
		SKIP(return, "needs root");
	for (user = 0; user < 2; user++) {
		EXPECT_EQ(0, charge_child(70000 + 2 * user, 8, 8 * IOU_PAGE, user));
		EXPECT_EQ(ENOMEM, charge_child(70001 + 2 * user, 7, 8 * IOU_PAGE, user));
	}
}

#define ALL_MEMORY	((size_t)1 << (sizeof(long) == 8 ? 38 : 30))
#define SMALL_GROUP	"/sys/fs/cgroup/iou_region_test"

/* Fork a child in SMALL_GROUP, which exits with an errno.  Return: its pid. */
static pid_t child_in_group(int (*run)(void))
{
	char self[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(self, sizeof(self), "%d", getpid());
	_exit(iou_put(SMALL_GROUP "/cgroup.procs", self) ? EPERM : -run());
}

static int sleep_in_group(void)
{
	for (;;)
		pause();
}

/* Register a region that is four times as large as the memory of the group, and one of all RAM. */
static int register_large(void)
{
	struct iou r;

	if (iou_init(&r, 4, 0))
		return -ENODEV;
	if (register_region(r.fd, NULL, ALL_MEMORY, 0, NULL) != -ENOMEM ||
	    !register_region(r.fd, iou_map_anon(IOU_PAGE), ALL_MEMORY, 0, NULL))
		return -EINVAL;
	return register_region(r.fd, NULL, 32 << 20, 0, NULL);
}

/*
 * A region that does not fit in memory gives an error, and no task is killed for its memory.
 * Mutants: region-kills, region-of-all-memory.
 */
TEST(without_memory)
{
	pid_t other, pid;
	int status;

	if (no_regions())
		SKIP(return, "no IORING_REGISTER_MEM_REGION");
	iou_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(SMALL_GROUP, 0755) && errno != EEXIST)
		SKIP(return, "no cgroup v2 hierarchy that can be written");
	if (iou_put(SMALL_GROUP "/memory.max", "8388608")) {
		rmdir(SMALL_GROUP);
		SKIP(return, "no memory controller");
	}
	other = child_in_group(sleep_in_group);
	ASSERT_LT(0, other);
	pid = child_in_group(register_large);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(ENOMEM, WEXITSTATUS(status));
	EXPECT_EQ(0, waitpid(other, &status, WNOHANG));
	kill(other, SIGKILL);
	waitpid(other, &status, 0);
	rmdir(SMALL_GROUP);
}

/* A wait that polls devices has no arguments in a region.  Mutant: region-iopoll. */
TEST(iopoll)
{
	struct io_uring_reg_wait *w;
	struct iou r;

	if (no_regions())
		SKIP(return, "no IORING_REGISTER_MEM_REGION");
	w = init_waits(&r, IORING_SETUP_IOPOLL, false);
	ASSERT_NE(NULL, w);
	w->flags = IORING_REG_WAIT_TS;
	EXPECT_EQ(-EINVAL, wait_at(&r, 0, 0, 0));
	EXPECT_EQ(-EINVAL, wait_at(&r, 1, 0, 0));
	iou_exit(&r);
	munmap(w, 2 * IOU_PAGE);
}

FIXTURE(region)
{
	struct iou r;
	struct io_uring_reg_wait *w;
};

FIXTURE_VARIANT(region)
{
	unsigned int flags;
	bool user;
};

IOU_KIND(region, plain, 0);
IOU_KIND(region, coop, IOU_COOP);
IOU_KIND(region, defer, IOU_DEFER);
IOU_KIND(region, sqpoll, IORING_SETUP_SQPOLL);
FIXTURE_VARIANT_ADD(region, plain_user) { .user = true };
FIXTURE_VARIANT_ADD(region, defer_user) { .flags = IOU_DEFER, .user = true };

FIXTURE_SETUP(region)
{
	if (no_regions())
		SKIP(return, "no IORING_REGISTER_MEM_REGION");
	self->w = init_waits(&self->r, variant->flags, variant->user);
	ASSERT_NE(NULL, self->w);
}

FIXTURE_TEARDOWN(region)
{
	if (!self->w)
		return;
	iou_exit(&self->r);
	munmap(self->w, 2 * IOU_PAGE);
}

/*
 * The times in the region are those of struct io_uring_getevents_arg.  Mutants: region-time-always,
 * region-last-is-first.
 */
TEST_F(region, time)
{
	unsigned long places = 2 * IOU_PAGE / sizeof(struct io_uring_reg_wait);
	struct io_uring_reg_wait *w = self->w;
	struct iou *r = &self->r;
	unsigned long long start;
	struct timespec now;
	unsigned long i;

	/* differences: none, 7.3 reads the first place if the last one is meant */
	if (iou_on_stock())
		places--;
	for (i = 1; i < places; i += i == 1 ? places - 2 : 1) {
		w[i].ts.tv_nsec = 50000000;
		w[i].flags = IORING_REG_WAIT_TS;
		start = iou_now_us();
		EXPECT_EQ(-ETIME, wait_at(r, 1, 0, i * sizeof(*w)));
		EXPECT_LE(50, elapsed_ms(start));
		EXPECT_GT(3000, elapsed_ms(start));
	}

	clock_gettime(CLOCK_MONOTONIC, &now);
	w->ts = (struct __kernel_timespec){ .tv_sec = now.tv_sec + 1, .tv_nsec = now.tv_nsec };
	w->flags = IORING_REG_WAIT_TS;
	start = iou_now_us();
	EXPECT_EQ(-ETIME, wait_at(r, 1, IORING_ENTER_ABS_TIMER, 0));
	EXPECT_LE(990, elapsed_ms(start));
	EXPECT_GT(5000, elapsed_ms(start));

	/* without the flag, only the minimum wait ends the wait */
	*w = (struct io_uring_reg_wait){ .ts.tv_nsec = 1, .min_wait_usec = 60000 };
	start = iou_now_us();
	EXPECT_EQ(-ETIME, wait_at(r, 1, 0, 0));
	EXPECT_LE(60, elapsed_ms(start));
	w->flags = IORING_REG_WAIT_TS;
	w->ts = (struct __kernel_timespec){ .tv_sec = 5 };
	iou_nop(r, 1);
	ASSERT_EQ(1, iou_submit(r));
	start = iou_now_us();
	EXPECT_EQ(0, wait_at(r, 2, 0, 0));
	EXPECT_LE(55, elapsed_ms(start));
	EXPECT_GT(3000, elapsed_ms(start));

	/* enough CQEs are ready */
	EXPECT_EQ(0, wait_at(r, 1, 0, 0));
	EXPECT_EQ(0, iou_discard(r, 1));
	w->ts = (struct __kernel_timespec){ .tv_nsec = 2000000000 };
	w->min_wait_usec = 0;
	start = iou_now_us();
	EXPECT_EQ(-ETIME, wait_at(r, 1, 0, 0));
	EXPECT_GT(8000, elapsed_ms(start));
}

/* A submission and its wait are one call. */
TEST_F(region, submit_and_wait)
{
	struct iou *r = &self->r;
	unsigned int i;

	*self->w = (struct io_uring_reg_wait){ .ts.tv_sec = 5, .flags = IORING_REG_WAIT_TS };
	for (i = 0; i < 20; i++) {
		iou_nop(r, i);
		iou_nop(r, i)->flags = IOSQE_ASYNC;
		iou_flush(r);
		EXPECT_EQ(2, iou_sys_enter(r->fd, 2, 2, WAIT_FLAGS | IORING_ENTER_SQ_WAKEUP, NULL,
					   sizeof(*self->w)));
		EXPECT_EQ(2, iou_ready(r));
		EXPECT_EQ(0, iou_discard(r, 2));
	}
}

static void interrupt(int sig)
{
}

static int alarm_in_ms(unsigned int ms)
{
	struct itimerspec in = { .it_value = { .tv_nsec = ms * 1000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	return timer_create(CLOCK_MONOTONIC, &event, &timer) ?: timer_settime(timer, 0, &in, NULL);
}

/* The signal mask holds during the wait. */
TEST_F(region, signal_mask)
{
	struct sigaction act = { .sa_handler = interrupt };
	struct io_uring_reg_wait *w = self->w;
	struct iou *r = &self->r;
	sigset_t mask, old;

	ASSERT_EQ(0, sigaction(SIGUSR1, &act, NULL));
	*w = (struct io_uring_reg_wait){ .ts.tv_nsec = 300000000, .flags = IORING_REG_WAIT_TS };
	ASSERT_EQ(0, alarm_in_ms(50));
	EXPECT_EQ(-EINTR, wait_at(r, 1, 0, 0));
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	w->sigmask = (uintptr_t)&mask;
	w->sigmask_sz = 8;
	ASSERT_EQ(0, alarm_in_ms(50));
	EXPECT_EQ(-ETIME, wait_at(r, 1, 0, 0));
	ASSERT_EQ(0, sigprocmask(SIG_BLOCK, NULL, &old));
	EXPECT_EQ(0, sigismember(&old, SIGUSR1));
}

/* Mutants: region-beyond-the-end, region-any-flag, region-for-any-wait. */
TEST_F(region, bad_arguments)
{
	const unsigned long end = 2 * IOU_PAGE - sizeof(struct io_uring_reg_wait);
	struct io_uring_reg_wait *w = self->w;
	struct iou *r = &self->r;
	unsigned int size;
	struct iou other;
	__u64 mask = 0;

	*w = (struct io_uring_reg_wait){ .flags = IORING_REG_WAIT_TS };
	EXPECT_EQ(-ETIME, wait_at(r, 1, 0, 0));
	w->pad[0] = 1;
	w->pad2[1] = 1;
	EXPECT_EQ(-ETIME, wait_at(r, 1, 0, 0));
	for (size = 0; size <= 128; size += 8)
		EXPECT_EQ(size == sizeof(*w) ? -ETIME : -EINVAL,
			  iou_sys_enter(r->fd, 0, 1, WAIT_FLAGS, NULL, size));
	EXPECT_EQ(-EFAULT, wait_at(r, 1, 0, 1));
	EXPECT_EQ(-EFAULT, wait_at(r, 1, 0, end + 8));
	EXPECT_EQ(-EFAULT, wait_at(r, 1, 0, end + sizeof(*w)));
	EXPECT_EQ(-EFAULT, wait_at(r, 1, 0, -1UL << 31));
	EXPECT_EQ(-EFAULT, wait_at(r, 1, 0, -8UL));
	EXPECT_EQ(-EFAULT, wait_at(r, 1, 0, -(unsigned long)sizeof(*w)));
	/* these are found without a wait, too */
	EXPECT_EQ(-EFAULT, wait_at(r, 0, 0, end + 8));
	w->flags = IORING_REG_WAIT_TS << 1;
	EXPECT_EQ(-EINVAL, wait_at(r, 0, 0, 0));
	w->flags = IORING_REG_WAIT_TS;
	w->sigmask = 8;
	w->sigmask_sz = 8;
	EXPECT_EQ(0, wait_at(r, 0, 0, 0));
	EXPECT_EQ(-EFAULT, wait_at(r, 1, 0, 0));
	w->sigmask = (uintptr_t)&mask;
	w->sigmask_sz = 4;
	EXPECT_EQ(-EINVAL, wait_at(r, 1, 0, 0));
	w->sigmask = 0;
	w->sigmask_sz = 0;

	/* no region, and a region that is not for waits */
	ASSERT_EQ(0, iou_init(&other, 4, variant->flags));
	EXPECT_EQ(-EFAULT, wait_at(&other, 1, 0, 0));
	ASSERT_EQ(0, register_region(other.fd, NULL, IOU_PAGE, 0, NULL));
	EXPECT_EQ(-EFAULT, wait_at(&other, 1, 0, 0));
	/* without IORING_ENTER_EXT_ARG the flag is ignored, and the argument is a signal mask */
	EXPECT_EQ(0, iou_sys_enter(other.fd, 0, 0, IORING_ENTER_GETEVENTS |
				   IORING_ENTER_EXT_ARG_REG, NULL, 0));
	iou_exit(&other);
}

/* The kernel keeps its own mapping of the memory. */
TEST_F(region, unmapped)
{
	self->w->ts.tv_nsec = 20000000;
	self->w->flags = IORING_REG_WAIT_TS;
	ASSERT_EQ(0, munmap(self->w, 2 * IOU_PAGE));
	EXPECT_EQ(-ETIME, wait_at(&self->r, 1, 0, 0));
	EXPECT_EQ(-EFAULT, wait_at(&self->r, 1, 0, 2 * IOU_PAGE));
}

struct racer {
	pthread_t thread;
	int fd;
	bool stop;
	unsigned long mapped, waited;
	int bad;
};

/* Map the region of a ring and wait there, whether or not the region is there yet. */
static void *race(void *arg)
{
	struct racer *racer = arg;
	struct iou r = { };

	while (!load_acq(&racer->stop)) {
		char *mem;
		int ret;

		r.fd = load_acq(&racer->fd);
		mem = map_region(r.fd, IOU_PAGE);
		if (mem != MAP_FAILED) {
			racer->mapped++;
			mem[100] = 1;
			munmap(mem, IOU_PAGE);
		}
		ret = wait_at(&r, 1, 0, 0);
		racer->waited += ret == -ETIME || ret == -EFAULT;
		if (ret != -ETIME && ret != -EFAULT && ret != -EBADFD && ret != -EBADF)
			racer->bad = ret;
	}
	return NULL;
}

/* mmap() and waits of other threads meet the registration, and the end of the ring. */
TEST(races)
{
	unsigned long long end = iou_race_end();
	struct racer racers[2] = { };
	unsigned int i, n;

	if (no_regions())
		SKIP(return, "no IORING_REGISTER_MEM_REGION");
	for (n = 0; n < ARRAY_LEN(racers); n++) {
		racers[n].fd = -1;
		ASSERT_EQ(0, pthread_create(&racers[n].thread, NULL, race, &racers[n]));
	}
	for (i = 0; iou_race_goes_on(i, 2000, end); i++) {
		struct iou r;
		char *mem;

		ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_R_DISABLED));
		for (n = 0; n < ARRAY_LEN(racers); n++)
			store_rel(&racers[n].fd, r.fd);
		ASSERT_EQ(0, register_region(r.fd, NULL, IOU_PAGE, WAIT_ARG, NULL));
		/* a wait without this flag would not end */
		mem = map_region(r.fd, IOU_PAGE);
		ASSERT_NE(MAP_FAILED, mem);
		((struct io_uring_reg_wait *)mem)->flags = IORING_REG_WAIT_TS;
		ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
		sched_yield();
		munmap(mem, IOU_PAGE);
		iou_exit(&r);
	}
	for (n = 0; n < ARRAY_LEN(racers); n++) {
		store_rel(&racers[n].stop, true);
		pthread_join(racers[n].thread, NULL);
		EXPECT_EQ(0, racers[n].bad);
		EXPECT_LT(0, racers[n].mapped + racers[n].waited);
	}
}

TEST_HARNESS_MAIN
