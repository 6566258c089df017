// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: FUTEX_WAIT, FUTEX_WAITV, FUTEX_WAKE */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/wait.h>
#include "fault.h"
#include "iou_test.h"

/* the call with a 64-bit time, as a kernel may lack the other one */
#ifdef SYS_futex_time64
#define SYS_FUTEX	SYS_futex_time64
#else
#define SYS_FUTEX	SYS_futex
#endif

#define WAITERS	16
#define RACES	500
#define ANYBODY	0xffffffffULL

FIXTURE(futex) {
	struct iou r;
	unsigned int *word;	/* a page of words, private to the process */
	unsigned int *shared;
};

FIXTURE_VARIANT(futex) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS(futex);
IOU_KINDS_ASYNC(futex);

FIXTURE_SETUP(futex)
{
	self->word = iou_map_anon(IOU_PAGE);
	self->shared = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_EQ(0, iou_init(&self->r, 32, variant->flags));
}

FIXTURE_TEARDOWN(futex)
{
	iou_exit(&self->r);
	munmap(self->word, IOU_PAGE);
	munmap(self->shared, IOU_PAGE);
}

static struct io_uring_sqe *prep_futex(struct iou *r, int op, unsigned int flags,
				       const unsigned int *word, unsigned long long val)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, FUTEX2_SIZE_U32 | flags, word, 0, val);

	sqe->addr3 = ANYBODY;
	return sqe;
}

static struct io_uring_sqe *prep_wait(struct iou *r, const unsigned int *word, unsigned int val,
				      unsigned long long data)
{
	struct io_uring_sqe *sqe = prep_futex(r, IORING_OP_FUTEX_WAIT, FUTEX2_PRIVATE, word, val);

	sqe->user_data = data;
	return sqe;
}

static int do_wake(struct iou *r, unsigned int flags, const unsigned int *word,
		   unsigned long long nr)
{
	prep_futex(r, IORING_OP_FUTEX_WAKE, flags, word, nr);
	return iou_one(r);
}

/* Wake by a system call, so that only the waits have CQEs. */
static long sys_wake(const unsigned int *word, int nr)
{
	return iou_ret(syscall(SYS_FUTEX, word, FUTEX_WAKE_PRIVATE, nr, NULL, NULL, 0));
}

/* Wake the only waiter.  On 6.12 a worker may have to queue it first, so retry until it waits. */
static bool wake_one(const unsigned int *word)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;

	while (sys_wake(word, 99) != 1) {
		if (iou_now_us() > end)
			return false;
		sched_yield();
	}
	return true;
}

static int do_cancel(struct iou *r, unsigned long long data, unsigned int flags)
{
	struct io_uring_sync_cancel_reg reg = {
		.addr = data, .flags = flags, .timeout = { -1, -1 },
	};

	return iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 1);
}

TEST_F(futex, wait_and_wake)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	prep_wait(r, self->word, 0, 1)->flags = variant->sqe_flags;
	ASSERT_EQ(0, iou_submit_issued(r));
	EXPECT_EQ(0, iou_ready(r));
	EXPECT_TRUE(wake_one(self->word));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.user_data);
	EXPECT_EQ(0, cqe.res);
	EXPECT_EQ(0, sys_wake(self->word, 1));

	/* the word has another value than the wait expects */
	prep_wait(r, self->word, 5, 1)->flags = variant->sqe_flags;
	EXPECT_EQ(-EAGAIN, iou_one(r));
	self->word[0] = 5;
	prep_wait(r, self->word, 5, 1);
	ASSERT_EQ(0, iou_submit_issued(r));
	EXPECT_EQ(0, do_wake(r, FUTEX2_PRIVATE, self->word + 1, 1));
	/* a FUTEX_WAKE of up to 0 waiters wakes no waiter */
	EXPECT_EQ(0, do_wake(r, FUTEX2_PRIVATE, self->word, 0));
	EXPECT_EQ(0, iou_ready(r));
	prep_futex(r, IORING_OP_FUTEX_WAKE, FUTEX2_PRIVATE, self->word, 3)->user_data = 2;
	ASSERT_LE(0, iou_submit_wait(r, 2));
	ASSERT_EQ(0, iou_wait(r, 2));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(cqe.user_data == 2, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(cqe.user_data == 2, cqe.res);
}

/* Wake a number of waiters, and waiters whose masks have a bit in common with the wake. */
TEST_F(futex, how_many_and_whom)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;

	for (i = 0; i < WAITERS; i++)
		prep_wait(r, self->word, 0, i)->addr3 = 1 << i;
	ASSERT_EQ(0, iou_submit_issued(r));
	prep_futex(r, IORING_OP_FUTEX_WAKE, FUTEX2_PRIVATE, self->word, 99)->addr3 = 1 << 7;
	iou_submit(r);
	ASSERT_EQ(0, iou_wait(r, 2));
	iou_seen(r, 2);
	/* the oldest waiters are woken first */
	EXPECT_EQ(3, sys_wake(self->word, 3));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i, cqe.user_data);
		EXPECT_EQ(0, cqe.res);
	}
	EXPECT_EQ(WAITERS - 4, sys_wake(self->word, 99));
	EXPECT_EQ(0, iou_discard(r, WAITERS - 4));
	EXPECT_EQ(0, iou_ready(r));
}

static void *wake_until(void *arg)
{
	unsigned int *word = arg;

	while (!syscall(SYS_FUTEX, word, FUTEX_WAKE, 1, NULL, NULL, 0))
		sched_yield();
	return NULL;
}

/* A shared futex is woken by another process, a private one is not. */
TEST_F(futex, shared)
{
	struct iou *r = &self->r;
	int pid, status;

	prep_futex(r, IORING_OP_FUTEX_WAIT, 0, self->shared, 0)->user_data = 1;
	prep_futex(r, IORING_OP_FUTEX_WAIT, FUTEX2_PRIVATE, self->shared + 1, 0)->user_data = 2;
	ASSERT_EQ(0, iou_submit_issued(r));
	pid = fork();
	if (!pid) {
		wake_until(self->shared);
		_exit(syscall(SYS_FUTEX, self->shared + 1, FUTEX_WAKE, 9, NULL, NULL, 0));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, iou_discard(r, 1));
	EXPECT_EQ(1, sys_wake(self->shared + 1, 9));
	EXPECT_EQ(0, iou_discard(r, 1));
}

static struct io_uring_sqe *prep_waitv(struct iou *r, const struct futex_waitv *waits,
				       unsigned int nr)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_FUTEX_WAITV, 0, waits, nr, 0);

	sqe->user_data = 1;
	return sqe;
}

static void fill_waitv(struct futex_waitv *waits, unsigned int *words, unsigned int nr)
{
	unsigned int i;

	memset(waits, 0, nr * sizeof(*waits));
	for (i = 0; i < nr; i++) {
		waits[i].uaddr = (uintptr_t)&words[i];
		waits[i].flags = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE;
	}
}

TEST_F(futex, vector)
{
	struct futex_waitv waits[FUTEX_WAITV_MAX + 1];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int nr = FUTEX_WAITV_MAX, i;

	fill_waitv(waits, self->word, nr + 1);
	for (i = 0; i < nr; i += 31) {
		prep_waitv(r, waits, nr)->flags = variant->sqe_flags;
		ASSERT_EQ(0, iou_submit_issued(r));
		EXPECT_TRUE(wake_one(self->word + i));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i, cqe.res);
		/* the wait was removed from all words */
		EXPECT_EQ(0, sys_wake(self->word, 99));
		EXPECT_EQ(0, sys_wake(self->word + nr - 1, 99));
	}
	/* if two words are woken, one CQE reports the first of them */
	prep_waitv(r, waits, 2);
	ASSERT_EQ(0, iou_submit_issued(r));
	EXPECT_EQ(1, sys_wake(self->word + 1, 1));
	EXPECT_LE(0, sys_wake(self->word, 1));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.res);
	EXPECT_EQ(0, iou_ready(r));

	self->word[100] = 1;
	prep_waitv(r, waits, nr);
	EXPECT_EQ(-EAGAIN, iou_one(r));
	EXPECT_EQ(0, sys_wake(self->word, 99));
	self->word[100] = 0;
	waits[100].uaddr = 8;
	prep_waitv(r, waits, nr);
	EXPECT_EQ(-EFAULT, iou_one(r));
	EXPECT_EQ(0, sys_wake(self->word, 99));
	waits[100].__reserved = 1;
	prep_waitv(r, waits, nr);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_waitv(r, waits, 0);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_waitv(r, waits, nr + 1);
	EXPECT_EQ(-EINVAL, iou_one(r));
	prep_waitv(r, NULL, 1);
	EXPECT_EQ(-EFAULT, iou_one(r));
}

/* A mask of zero is refused, and so are masks and values that do not fit into the word. */
TEST_F(futex, refused)
{
	static const int ops[] = { IORING_OP_FUTEX_WAIT, IORING_OP_FUTEX_WAKE };
	struct iou *r = &self->r;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		prep_futex(r, ops[i], 0, self->word, 1)->addr3 = 0;
		EXPECT_EQ(-EINVAL, iou_one(r));
		prep_futex(r, ops[i], 0, self->word, 1)->addr3 = 1ULL << 32;
		EXPECT_EQ(-EINVAL, iou_one(r));
		prep_futex(r, ops[i], 0, self->word, 1ULL << 32);
		EXPECT_EQ(-EINVAL, iou_one(r));
		/* skip FUTEX2_NUMA and FUTEX2_MPOL, which 7.3 supports and 6.12 does not */
		prep_futex(r, ops[i], 0x10, self->word, 1);
		EXPECT_EQ(-EINVAL, iou_one(r));
		prep_futex(r, ops[i], 1, self->word, 1);
		EXPECT_EQ(-EINVAL, iou_one(r));
		prep_futex(r, ops[i], 0, self->word, 1)->fd = 0;
		EXPECT_EQ(-EINVAL, iou_one(r));
		prep_futex(r, ops[i], 0, (void *)self->word + 1, 1);
		EXPECT_EQ(-EINVAL, iou_one(r));
		prep_futex(r, ops[i], 0, (void *)8, 1);
		EXPECT_EQ(-EFAULT, iou_one(r));
	}
}

/* Cancel waits by user_data, by opcode, and all; a second cancel finds nothing. */
TEST_F(futex, cancel)
{
	struct futex_waitv waits[4];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i, vector;

	fill_waitv(waits, self->word, 4);
	for (vector = 0; vector < 2; vector++) {
		for (i = 0; i < 4; i++) {
			if (vector)
				prep_waitv(r, waits, 4)->user_data = i;
			else
				prep_wait(r, self->word, 0, i);
		}
		ASSERT_EQ(0, iou_submit_issued(r));
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)2, 0, 0)->user_data = 8;
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)2, 0, 0)->user_data = 9;
		ASSERT_EQ(2, iou_submit(r));
		for (i = 0; i < 3; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(cqe.user_data == 2 ? -ECANCELED :
				  cqe.user_data == 8 ? 1 : -ENOENT, cqe.res);
		}
		EXPECT_EQ(1, do_cancel(r, 3, 0));
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(3, cqe.user_data);
		EXPECT_EQ(-ECANCELED, cqe.res);
		EXPECT_EQ(2, do_cancel(r, 0, IORING_ASYNC_CANCEL_ANY));
		EXPECT_EQ(-ECANCELED, iou_discard(r, 2));
		EXPECT_EQ(-ENOENT, do_cancel(r, 3, 0));
		EXPECT_EQ(0, sys_wake(self->word, 99));
	}
}

/* A linked timeout ends a wait; if the wait ends first, the timeout is removed. */
TEST_F(futex, timeout)
{
	struct __kernel_timespec soon = { .tv_nsec = 1000000 }, late = { .tv_sec = 1000 };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int i;

	prep_wait(r, self->word, 0, 1)->flags = IOSQE_IO_LINK | variant->sqe_flags;
	iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &soon, 1, 0)->user_data = 2;
	ASSERT_EQ(2, iou_submit(r));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data == 1 ? -ECANCELED : -ETIME, cqe.res);
	}
	prep_wait(r, self->word, 0, 1)->flags = IOSQE_IO_LINK | variant->sqe_flags;
	iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &late, 1, 0)->user_data = 2;
	ASSERT_EQ(0, iou_submit_issued(r));
	EXPECT_TRUE(wake_one(self->word));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data == 1 ? 0 : -ECANCELED, cqe.res);
	}
}

/*
 * The linked timeout of a wait expires, and a cancel comes before the timeout's task work runs, or
 * the other way round.  The wait ends once.  Mutant: futex-cancelled-twice.
 */
TEST_F(futex, cancelled_twice)
{
	struct __kernel_timespec ts = { .tv_nsec = 2000000 };
	unsigned int i, k, ended, rounds = iou_rounds(8);
	struct futex_waitv waits[2];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	fill_waitv(waits, self->word, 2);
	for (i = 0; i < rounds; i++) {
		if (i % 2)
			prep_waitv(r, waits, 2)->flags = IOSQE_IO_LINK;
		else
			prep_wait(r, self->word, 0, 1)->flags = IOSQE_IO_LINK;
		iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 2;
		ASSERT_EQ(0, iou_submit_issued(r));
		/* a DEFER_TASKRUN ring handles the timeout when its owner enters for events */
		iou_sleep_ms(i / 2 % 2 ? 0 : 10);
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 3;
		ASSERT_EQ(1, iou_submit(r));
		iou_sleep_ms(i / 2 % 2 ? 10 : 0);
		ASSERT_EQ(0, iou_wait(r, 3));
		for (k = 0, ended = 0; k < 3; k++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ended += cqe.user_data == 1 && cqe.res == -ECANCELED;
		}
		EXPECT_EQ(1, ended);
	}
	EXPECT_EQ(0, iou_ready(r));
	EXPECT_EQ(0, sys_wake(self->word, 99));
}

/*
 * A cancelled wait takes no wake-up from other waiters, although its CQE is not posted yet.
 * Mutant: futex-cancelled-stays.  differences: futexv-cancelled-wake
 */
TEST_F(futex, cancelled_takes_no_wake)
{
	unsigned int i, ways = iou_on_stock() ? 1 : 2;
	struct futex_waitv waits[2];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	fill_waitv(waits, self->word, 2);
	for (i = 0; i < ways; i++) {
		if (i)
			prep_waitv(r, waits, 2);
		else
			prep_wait(r, self->word, 0, 1);
		ASSERT_EQ(0, iou_submit_issued(r));
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 3;
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_TRUE(iou_taken(r, 1000));
		EXPECT_EQ(0, sys_wake(self->word, 1));
		ASSERT_EQ(0, iou_wait(r, 2));
		while (iou_ready(r)) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(cqe.user_data == 1 ? -ECANCELED : 1, cqe.res);
		}
	}
}

/*
 * A wait that was woken is not cancelled, although its CQE is not posted yet.
 * Mutant: futex-ended-twice.
 */
TEST_F(futex, woken_then_cancelled)
{
	struct futex_waitv waits[2];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;

	fill_waitv(waits, self->word, 2);
	for (i = 0; i < 2; i++) {
		if (i)
			prep_waitv(r, waits, 2);
		else
			prep_wait(r, self->word, 0, 1);
		ASSERT_EQ(0, iou_submit_issued(r));
		EXPECT_EQ(1, sys_wake(self->word, 1));
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 3;
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_TRUE(iou_taken(r, 1000));
		ASSERT_EQ(0, iou_wait(r, 2));
		while (iou_ready(r)) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_TRUE(cqe.user_data == 1 ? !cqe.res : cqe.res <= 0);
		}
	}
}

struct racing_waker {
	const unsigned int *word;
	unsigned int round;	/* (A) the round that the thread may wake in */
	unsigned int done;	/* (A) the round whose result is in @woken */
	long woken;
};

static void *racing_waker_run(void *arg)
{
	struct racing_waker *waker = arg;
	unsigned int round, spin;

	for (round = 1; round <= RACES; round++) {
		while (__atomic_load_n(&waker->round, __ATOMIC_ACQUIRE) != round)
			sched_yield();
		for (spin = round % 64 * 100; spin; spin--)
			__asm__ volatile("");
		waker->woken = sys_wake(waker->word, 1);
		__atomic_store_n(&waker->done, round, __ATOMIC_RELEASE);
	}
	return NULL;
}

/*
 * A cancel and a wake meet at a vector: the request tells each wake that it has consumed.
 * Mutant: futex-cancel-swallows-wake.  differences: futexv-cancelled-wake
 */
TEST_F(futex, cancel_meets_wake)
{
	struct racing_waker waker = { .word = self->word + FUTEX_WAITV_MAX - 1 };
	struct futex_waitv waits[FUTEX_WAITV_MAX];
	unsigned int i, told, swallowed = 0;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	pthread_t thread;

	fill_waitv(waits, self->word, FUTEX_WAITV_MAX);
	ASSERT_EQ(0, pthread_create(&thread, NULL, racing_waker_run, &waker));
	for (i = 1; i <= RACES; i++) {
		prep_waitv(r, waits, FUTEX_WAITV_MAX);
		ASSERT_EQ(0, iou_submit_issued(r));
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 3;
		__atomic_store_n(&waker.round, i, __ATOMIC_RELEASE);
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(0, iou_wait(r, 2));
		told = 0;
		while (iou_ready(r)) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			told += cqe.user_data == 1 && cqe.res >= 0;
		}
		while (__atomic_load_n(&waker.done, __ATOMIC_ACQUIRE) != i)
			sched_yield();
		swallowed += told != waker.woken;
	}
	pthread_join(thread, NULL);
	if (iou_on_stock())
		TH_LOG("%u of %u wakes were swallowed", swallowed, RACES);
	else
		EXPECT_EQ(0, swallowed);
}

/* A chain continues when its wait is woken, and breaks if the word has another value. */
TEST_F(futex, chain)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;

	prep_wait(r, self->word, 0, 1)->flags = IOSQE_IO_LINK | variant->sqe_flags;
	iou_nop(r, 2);
	ASSERT_EQ(0, iou_submit_issued(r));
	EXPECT_TRUE(wake_one(self->word));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(1, cqe.user_data);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(2, cqe.user_data);
	EXPECT_EQ(0, cqe.res);

	prep_wait(r, self->word, 9, 1)->flags = IOSQE_IO_LINK | variant->sqe_flags;
	iou_nop(r, 2);
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(-EAGAIN, cqe.res);
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(-ECANCELED, cqe.res);
}

struct racer {
	unsigned int *words;
	unsigned int nr;
	int stop;
	unsigned long woken;
};

static void *race_wakes(void *arg)
{
	struct racer *racer = arg;
	unsigned int i;

	for (i = 0; !load_acq(&racer->stop); i++)
		racer->woken += sys_wake(racer->words + i % racer->nr, 1);
	return NULL;
}

/* Two threads wake while the ring cancels: each wait ends once, and stays on no futex. */
TEST_F(futex, races)
{
	struct racer racer[2] = {
		{ .words = self->word, .nr = 3 }, { .words = self->word + 1, .nr = 2 },
	};
	unsigned long i, rounds = iou_rounds(2000), woken = 0, cancelled = 0;
	struct futex_waitv waits[3];
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	pthread_t threads[2];

	fill_waitv(waits, self->word, 3);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, race_wakes, &racer[i]));
	for (i = 0; i < rounds; i++) {
		if (i % 2)
			prep_waitv(r, waits, 3);
		else
			prep_wait(r, self->word + 1, 0, 1);
		iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 0)->user_data = 2;
		ASSERT_EQ(2, iou_submit_wait(r, 2));
		ASSERT_EQ(0, iou_wait(r, 2));
		while (iou_ready(r)) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			if (cqe.user_data != 1)
				continue;
			woken += cqe.res >= 0;
			cancelled += cqe.res == -ECANCELED;
		}
		ASSERT_EQ(i + 1, woken + cancelled);
	}
	for (i = 0; i < 2; i++) {
		store_rel(&racer[i].stop, 1);
		pthread_join(threads[i], NULL);
	}
	/* two wakes may hit one vector, which has one CQE */
	EXPECT_LE(woken, racer[0].woken + racer[1].woken);
	EXPECT_EQ(0, iou_ready(r));
	EXPECT_EQ(0, sys_wake(self->word + 1, 99));
}

/* Submit 4 waits of each kind in a child, on the inherited ring, or else on a new one. */
static void leave_waits(unsigned int ring_flags, unsigned int *words, struct iou *r)
{
	struct futex_waitv waits[4];
	unsigned int i;

	if (!r->sqes && iou_init(r, 32, ring_flags))
		_exit(1);
	fill_waitv(waits, words, 4);
	waits[3].flags = FUTEX2_SIZE_U32;
	for (i = 0; i < 4; i++) {
		prep_wait(r, words, 0, 10);
		prep_waitv(r, waits, 4)->user_data = 11;
	}
	if (iou_submit_issued(r))
		_exit(2);
}

/* A process exits with all of its waits in flight, and an exec ends them. */
TEST_F(futex, exit_and_exec)
{
	unsigned int how;
	int pid, status;

	for (how = 0; how < 3; how++) {
		pid = fork();
		if (!pid) {
			struct iou r = {};

			leave_waits(variant->flags, self->word, &r);
			if (how == 0)
				_exit(7);
			if (how == 1)
				kill(getpid(), SIGKILL);
			execl("/bin/sh", "sh", "-c", "exit 7", NULL);
			_exit(3);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		if (how == 1) {
			EXPECT_EQ(SIGKILL, WTERMSIG(status));
		} else {
			EXPECT_EQ(7, WEXITSTATUS(status));
		}
	}
}

/*
 * The ring outlives the process that waits.  The waits end with the process, as their futexes are
 * in its memory.  Mutant: futex-outlives-memory.  differences: futex-task-ends
 */
TEST_F(futex, memory_is_gone)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int pid, status, i;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL))
		SKIP(return, "one task alone submits");
	if (variant->flags & IORING_SETUP_NO_MMAP)
		SKIP(return, "a child has other memory");
	if (iou_on_stock())
		SKIP(return, "they wait for ever");
	pid = fork();
	if (!pid) {
		leave_waits(0, self->word, r);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	/* skip the SQEs that the child has submitted */
	r->sent = *r->sq_tail;
	r->next = r->sent;
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(-ECANCELED, cqe.res);
	}
}

/* Close a ring with a wait.  Return: 1 if the wait takes a wake afterwards, 0, or -1. */
static int closed_takes_wake(unsigned int flags, bool vector)
{
	unsigned int word[2] = {};
	struct futex_waitv one = {
		.uaddr = (uintptr_t)word, .flags = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE,
	};
	struct iou r;

	if (iou_init(&r, 8, flags))
		return -1;
	if (vector)
		iou_prep(&r, IORING_OP_FUTEX_WAITV, 0, &one, 1, 0);
	else
		prep_wait(&r, word, 0, 1);
	if (iou_submit_issued(&r))
		return -1;
	iou_exit(&r);
	return sys_wake(word, 1);
}

/*
 * A closed ring takes no wakes.  An SQPOLL thread releases its ring only when it runs, so one
 * success in ten rounds is enough.  Mutant: close-leaves-requests.
 * differences: close-takes-nothing
 */
TEST_F(futex, closed_takes_no_wake)
{
	int rounds = variant->flags & IORING_SETUP_SQPOLL ? 10 : 1, taken, i, how, ret;

	if (iou_on_stock())
		SKIP(return, "it does for a while");
	for (how = 0; how < 2; how++) {
		taken = 0;
		for (i = 0; i < rounds; i++) {
			ret = closed_takes_wake(variant->flags, how);
			ASSERT_LE(0, ret);
			taken += ret;
		}
		EXPECT_GT(rounds, taken) {
			TH_LOG("%s", how ? "one of several" : "a single one");
		}
	}
}

static void *submit_in_thread(void *arg)
{
	return (void *)(long)iou_submit(arg);
}

/* Return: how many of @nr processes, one after another, wake a waiter at their own word. */
static int count_wakers(const unsigned int *word, int nr)
{
	int pid, status, found = 0;

	while (nr--) {
		pid = fork();
		if (!pid)
			_exit(sys_wake(word, 1));
		waitpid(pid, &status, 0);
		found += status != 0;
	}
	return found;
}

/*
 * A killed process does not wait for the ring lock, which another process holds, and leaves its
 * waits behind.  A process that reuses its mm must not lose wakes to these waits.
 * Mutant: futex-takes-strangers-wake.  differences: exit-ring-lock
 */
TEST_F(futex, memory_is_not_reused)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int pid, status, i, p[2];
	pthread_t thread;
	struct hole h;
	char c;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL))
		SKIP(return, "one task alone submits");
	if (variant->flags & IORING_SETUP_NO_MMAP)
		SKIP(return, "a child has other memory");
	if (iou_on_stock())
		SKIP(return, "the process waits for the lock");
	/* stay on one CPU, which reuses the memory that it has freed */
	ASSERT_EQ(0, iou_run_on(0));
	ASSERT_EQ(0, hole_open(&h, 1));
	ASSERT_EQ(0, pipe(p));
	pid = fork();
	if (!pid) {
		leave_waits(0, self->word, r);
		if (write(p[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	ASSERT_EQ(1, read(p[0], &c, 1));
	/* skip the SQEs that the child has submitted */
	r->sent = *r->sq_tail;
	r->next = r->sent;
	/* OPENAT holds the ring lock while it reads its path */
	iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, h.mem, 0, 0)->user_data = 1;
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_in_thread, r));
	ASSERT_EQ(1, hole_faults(&h, 1));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, count_wakers(self->word, 64));

	ASSERT_EQ(0, hole_give(&h, 0, 1));
	pthread_join(thread, NULL);
	for (i = 0; i < 9; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data == 1 ? -ENOENT : -ECANCELED, cqe.res);
	}
}

static void *wait_in_thread(void *arg)
{
	struct iou *r = arg;

	return (void *)(long)iou_submit_issued(r);
}

/*
 * The waits of a thread that exits also end, although other threads may use the ring.
 * differences: futex-task-ends
 */
TEST_F(futex, thread_exits)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	pthread_t thread;
	void *ret;

	if (variant->flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL))
		SKIP(return, "one task alone submits");
	prep_wait(r, self->word, 0, 1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_thread, r));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	ASSERT_EQ(NULL, ret);
	/* on 6.12 the wait stays on the futex */
	if (iou_on_stock()) {
		EXPECT_EQ(1, sys_wake(self->word, 1));
	}
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(iou_on_stock() ? 0 : -ECANCELED, cqe.res);
}

/* A wake that is submitted together with a wait, on the same ring, wakes it. */
TEST_F(futex, wake_own)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int i;

	prep_wait(r, self->word, 0, 1);
	prep_futex(r, IORING_OP_FUTEX_WAKE, FUTEX2_PRIVATE, self->word, 1)->user_data = 2;
	ASSERT_LE(0, iou_submit_wait(r, 2));
	ASSERT_EQ(0, iou_wait(r, 2));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(cqe.user_data == 2, cqe.res);
	}
}

/*
 * A worker issues a wait on a private futex while its task exits.  The wait must end before the
 * hash table of these futexes is freed.  Mutant: futex-tracked-late.
 */
TEST(worker_waits_while_its_task_exits)
{
	unsigned int *word = iou_map_anon(IOU_PAGE), i, spin;
	struct iou r;
	int status;
	pid_t pid;

	for (i = 0; i < 100; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			if (iou_init(&r, 8, 0))
				_exit(1);
			iou_nop(&r, 1)->flags = IOSQE_ASYNC | IOSQE_IO_LINK;
			prep_wait(&r, word, 0, 2);
			if (iou_submit(&r) != 2)
				_exit(2);
			for (spin = i * 200; spin; spin--)
				__asm__ volatile("");
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
	}
	munmap(word, IOU_PAGE);
}

TEST_HARNESS_MAIN
