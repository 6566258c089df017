/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: rings by bare system calls, for every program of this folder */
/*
 * A library could hide a fault of the kernel from a test, so the programs use only
 * io_uring's three system calls.  This file sets up a ring that is mapped, or placed
 * in the program's memory.  It hands out SQEs one by one, submits them, and waits for
 * CQEs with a time limit.
 *
 * Calls of io_uring return a count or a negative errno.  No function of this file exits
 * or prints; the caller asserts.  A ring is used by one thread at a time, unless a
 * test does its own locking.
 *
 * The environment scales loops: IOU_SOAK multiplies their rounds.  On a kernel with
 * lock debugging, which is slow, loops have fewer rounds and tests allow more time.
 *
 * "Mutant: NAME" in a comment names a deliberate bug of the kernel that the test detects.
 * "differences: ID" names a row of Documentation/io_uring/differences.rst.
 */
#ifndef IOU_H
#define IOU_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>

/* the header under test, not the one installed with the C library */
#include "../../../../include/uapi/linux/io_uring.h"

#ifndef __NR_io_uring_setup
#define __NR_io_uring_setup	425
#define __NR_io_uring_enter	426
#define __NR_io_uring_register	427
#endif

/* an older linux/futex.h lacks these */
#ifndef FUTEX2_SIZE_U32
#define FUTEX2_SIZE_U32	0x02
#define FUTEX2_PRIVATE	128
#endif

#define IOU_PAGE	4096UL
/* an address in kernel memory */
#define IOU_KERNEL	((void *)-4096L)
/* time limit of a wait for an event, in milliseconds */
#define IOU_PATIENCE	10000
#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

#define load_acq(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_rel(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define full_barrier()	__atomic_thread_fence(__ATOMIC_SEQ_CST)

/* A ring: its two mappings, and copies of the values that never change. */
struct iou {
	int		fd;		/* descriptor, or registered index */
	bool		by_index;	/* fd is an index */
	unsigned int	flags;		/* IORING_SETUP_* */
	unsigned int	next;		/* SQ tail that is not published yet */
	unsigned int	sent;		/* SQ tail that a submit has covered */
	unsigned int	sqe_size;
	unsigned int	cqe_size;
	void		*rings;
	size_t		rings_len;
	void		*sqes;
	size_t		sqes_len;
	unsigned int	*sq_head, *sq_tail, *sq_flags, *sq_dropped, *sq_array;
	unsigned int	*cq_head, *cq_tail, *cq_flags, *cq_lost;
	char		*cqes;
	struct io_uring_params p;
};

static inline long iou_ret(long ret)
{
	return ret < 0 ? -errno : ret;
}

static inline int iou_sys_setup(unsigned int entries, struct io_uring_params *p)
{
	return iou_ret(syscall(__NR_io_uring_setup, entries, p));
}

static inline int iou_sys_enter(int fd, unsigned int submit, unsigned int min,
				unsigned int flags, const void *arg,
				size_t size)
{
	return iou_ret(syscall(__NR_io_uring_enter, fd, submit, min, flags, arg,
			       size));
}

static inline int iou_sys_register(int fd, unsigned int op, const void *arg,
				   unsigned int nr)
{
	return iou_ret(syscall(__NR_io_uring_register, fd, op, arg, nr));
}

/* Return: true if lock debugging makes the kernel several times slower, or if IOU_SLOW is set. */
static inline bool iou_slow_kernel(void)
{
	return !access("/proc/lockdep", F_OK) || getenv("IOU_SLOW");
}

/*
 * Return: true if IOU_KERNEL says that this is the base kernel to compare with.  Tests use it for
 * intended differences.  A comment before each use names the row of
 * Documentation/io_uring/differences.rst, or says why there is none, see stock/README.
 */
static inline bool iou_on_stock(void)
{
	const char *kernel = getenv("IOU_KERNEL");

	return kernel && !strcmp(kernel, "stock");
}

/*
 * Return: true if the kernel is of this release or a later one.  Some results of tests depend on
 * code outside io_uring/, which differs between releases.
 */
static inline bool iou_kernel_from(const char *release)
{
	struct utsname kernel;

	return !uname(&kernel) && strverscmp(kernel.release, release) >= 0;
}

/* Return: true on 6.12 with its own implementation, which lacks the additions of later kernels. */
static inline bool iou_on_older_stock(void)
{
	return iou_on_stock() && !iou_kernel_from("7");
}

static inline unsigned long iou_rounds(unsigned long rounds)
{
	const char *soak = getenv("IOU_SOAK");

	if (soak)
		return rounds * strtoul(soak, NULL, 0);
	if (iou_slow_kernel() && rounds >= 8)
		return rounds / 4;
	return rounds;
}

static inline unsigned long long iou_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

/*
 * Return: the time at which a loop that looks for a race has to end, even with rounds left.  This
 * is some seconds from now; with IOU_SOAK it is half of a test's time limit.
 */
static inline unsigned long long iou_race_end(void)
{
	return iou_now_us() + (getenv("IOU_SOAK") ? 60 : iou_slow_kernel() ? 2 : 4) * 1000000ULL;
}

/* Return: true if a loop that looks for a race runs round @i; the first 100 always run. */
static inline bool iou_race_goes_on(unsigned long i, unsigned long rounds, unsigned long long end)
{
	return i < rounds && (i < 100 || iou_now_us() < end);
}

static inline void iou_sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

static inline void *iou_map_anon(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static inline size_t iou_page_up(size_t len)
{
	return (len + IOU_PAGE - 1) & ~(IOU_PAGE - 1);
}

static inline unsigned int iou_pow2(unsigned int n)
{
	unsigned int up = 1;

	while (up < n)
		up <<= 1;
	return up;
}

/* Place the ring in the program's memory, which is at least as large as the kernel requires. */
static inline int iou_place(struct iou *r, unsigned int entries)
{
	unsigned int sq = iou_pow2(entries), cq = 2 * sq;

	if (r->p.flags & IORING_SETUP_CQSIZE)
		cq = iou_pow2(r->p.cq_entries);
	r->rings_len = iou_page_up(IOU_PAGE + cq * r->cqe_size + sq * 4);
	r->sqes_len = iou_page_up(sq * r->sqe_size);
	r->rings = iou_map_anon(r->rings_len);
	r->sqes = iou_map_anon(r->sqes_len);
	if (!r->rings || !r->sqes)
		return -ENOMEM;
	r->p.cq_off.user_addr = (uintptr_t)r->rings;
	r->p.sq_off.user_addr = (uintptr_t)r->sqes;
	return 0;
}

static inline int iou_map(struct iou *r)
{
	size_t cq = r->p.cq_off.cqes + r->p.cq_entries * r->cqe_size;
	size_t sq = r->p.sq_off.array + r->p.sq_entries * 4;

	r->rings_len = cq > sq ? cq : sq;
	r->rings = mmap(NULL, r->rings_len, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQ_RING);
	if (r->rings == MAP_FAILED)
		return -errno;
	r->sqes_len = r->p.sq_entries * r->sqe_size;
	r->sqes = mmap(NULL, r->sqes_len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	if (r->sqes == MAP_FAILED)
		return -errno;
	return 0;
}

static inline unsigned int *iou_word(struct iou *r, unsigned int offset)
{
	return (unsigned int *)((char *)r->rings + offset);
}

static inline void iou_find_words(struct iou *r)
{
	unsigned int i;

	r->sq_head = iou_word(r, r->p.sq_off.head);
	r->sq_tail = iou_word(r, r->p.sq_off.tail);
	r->sq_flags = iou_word(r, r->p.sq_off.flags);
	r->sq_dropped = iou_word(r, r->p.sq_off.dropped);
	r->cq_head = iou_word(r, r->p.cq_off.head);
	r->cq_tail = iou_word(r, r->p.cq_off.tail);
	r->cq_flags = iou_word(r, r->p.cq_off.flags);
	r->cq_lost = iou_word(r, r->p.cq_off.overflow);
	r->cqes = (char *)r->rings + r->p.cq_off.cqes;
	if (r->flags & IORING_SETUP_NO_SQARRAY)
		return;
	r->sq_array = iou_word(r, r->p.sq_off.array);
	for (i = 0; i < r->p.sq_entries; i++)
		r->sq_array[i] = i;
}

static inline void iou_exit(struct iou *r)
{
	if (r->sqes && r->sqes != MAP_FAILED)
		munmap(r->sqes, r->sqes_len);
	if (r->rings && r->rings != MAP_FAILED)
		munmap(r->rings, r->rings_len);
	if (r->fd >= 0 && !r->by_index)
		close(r->fd);
	memset(r, 0, sizeof(*r));
	r->fd = -1;
}

/* Create a ring from *@p, and store in @r->p the parameters that the kernel has returned. */
static inline int iou_init_params(struct iou *r, unsigned int entries,
				  const struct io_uring_params *p)
{
	int ret = 0;

	memset(r, 0, sizeof(*r));
	r->p = *p;
	r->flags = p->flags;
	r->sqe_size = p->flags & IORING_SETUP_SQE128 ? 128 : 64;
	r->cqe_size = p->flags & IORING_SETUP_CQE32 ? 32 : 16;
	r->fd = -1;
	if (p->flags & IORING_SETUP_NO_MMAP)
		ret = iou_place(r, entries);
	if (!ret)
		ret = iou_sys_setup(entries, &r->p);
	if (ret < 0)
		goto fail;
	r->fd = ret;
	r->by_index = p->flags & IORING_SETUP_REGISTERED_FD_ONLY;
	ret = p->flags & IORING_SETUP_NO_MMAP ? 0 : iou_map(r);
	if (ret)
		goto fail;
	iou_find_words(r);
	return 0;
fail:
	iou_exit(r);
	return ret;
}

static inline int iou_init(struct iou *r, unsigned int entries, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags };

	/* the thread stays awake while a test submits, and falls asleep soon after */
	if (flags & IORING_SETUP_SQPOLL)
		p.sq_thread_idle = 50;
	return iou_init_params(r, entries, &p);
}

/* Create a ring like iou_init(), with a CQ of @cq entries. */
static inline int iou_init_cq(struct iou *r, unsigned int sq, unsigned int cq,
			      unsigned int flags)
{
	struct io_uring_params p = {
		.flags = flags | IORING_SETUP_CQSIZE,
		.cq_entries = cq,
		.sq_thread_idle = flags & IORING_SETUP_SQPOLL ? 50 : 0,
	};

	return iou_init_params(r, sq, &p);
}

static inline int iou_register(struct iou *r, unsigned int op, const void *arg,
			       unsigned int nr)
{
	if (r->by_index)
		op |= IORING_REGISTER_USE_REGISTERED_RING;
	return iou_sys_register(r->fd, op, arg, nr);
}

/* Return: true if the kernel reports that it has the operation. */
static inline bool iou_has_op(struct iou *r, unsigned int op)
{
	struct io_uring_probe *probe;
	bool has;

	probe = calloc(1, sizeof(*probe) + 256 * sizeof(probe->ops[0]));
	has = probe && !iou_register(r, IORING_REGISTER_PROBE, probe, 256) &&
	      probe->ops[op].flags & IO_URING_OP_SUPPORTED;
	free(probe);
	return has;
}

static inline int iou_enter(struct iou *r, unsigned int submit,
			    unsigned int min, unsigned int flags)
{
	if (r->by_index)
		flags |= IORING_ENTER_REGISTERED_RING;
	return iou_sys_enter(r->fd, submit, min, flags, NULL, 0);
}

static inline int iou_enter_arg(struct iou *r, unsigned int submit,
				unsigned int min, unsigned int flags,
				const struct io_uring_getevents_arg *arg)
{
	flags |= IORING_ENTER_EXT_ARG;
	if (r->by_index)
		flags |= IORING_ENTER_REGISTERED_RING;
	return iou_sys_enter(r->fd, submit, min, flags, arg, sizeof(*arg));
}

static inline unsigned int iou_sq_room(struct iou *r)
{
	return r->p.sq_entries - (r->next - load_acq(r->sq_head));
}

/* Return: the next SQE, zeroed; NULL if the SQ is full.  An SQPOLL ring gets time to make room. */
static inline struct io_uring_sqe *iou_sqe(struct iou *r)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	struct io_uring_sqe *sqe;

	while (!iou_sq_room(r)) {
		/* an SQPOLL thread posts CQEs before it releases the slots of the SQEs */
		if (!(r->flags & IORING_SETUP_SQPOLL) || iou_now_us() > end ||
		    r->next - r->sent == r->p.sq_entries)
			return NULL;
		sched_yield();
	}
	sqe = (void *)((char *)r->sqes +
		       (r->next & (r->p.sq_entries - 1)) * (size_t)r->sqe_size);
	r->next++;
	memset(sqe, 0, r->sqe_size);
	return sqe;
}

/*
 * Return: true if the kernel and programs share one address space, so that an address alone shows
 * that it is the kernel's.  On s390 each has a space of its own.
 */
static inline bool iou_splits_addresses(void)
{
#ifdef __s390__
	return false;
#else
	return true;
#endif
}

/* Return: an address for an SQE or a buffer; kernel addresses are above all 32-bit pointers. */
static inline unsigned long long iou_addr(const void *addr)
{
	return addr == IOU_KERNEL ? -4096ULL : (uintptr_t)addr;
}

static inline struct io_uring_sqe *iou_prep(struct iou *r, int op, int fd,
					    const void *addr, unsigned int len,
					    unsigned long long off)
{
	struct io_uring_sqe *sqe = iou_sqe(r);

	if (!sqe)
		return NULL;
	sqe->opcode = op;
	sqe->fd = fd;
	sqe->addr = iou_addr(addr);
	sqe->len = len;
	sqe->off = off;
	return sqe;
}

/* Return: @events in the form of poll32_events, whose halves big-endian programs swap. */
static inline __u32 poll_word(__u32 events)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	events = events << 16 | events >> 16;
#endif
	return events;
}

static inline struct io_uring_sqe *iou_nop(struct iou *r, unsigned long long data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_NOP, -1, NULL, 0, 0);

	if (sqe)
		sqe->user_data = data;
	return sqe;
}

/* Publish the prepared SQEs.  Return: their number. */
static inline unsigned int iou_flush(struct iou *r)
{
	unsigned int new = r->next - r->sent;

	store_rel(r->sq_tail, r->next);
	r->sent = r->next;
	return new;
}

/* Submit the prepared SQEs and wait for @min CQEs, without a time limit. */
static inline int iou_submit_wait(struct iou *r, unsigned int min)
{
	unsigned int flags = min ? IORING_ENTER_GETEVENTS : 0;
	unsigned int nr = iou_flush(r);

	if (r->flags & IORING_SETUP_SQPOLL) {
		full_barrier();
		if (load_acq(r->sq_flags) & IORING_SQ_NEED_WAKEUP)
			flags |= IORING_ENTER_SQ_WAKEUP;
		if (!flags)
			return nr;
	}
	return iou_enter(r, nr, min, flags);
}

/*
 * Return: true if the kernel takes the submitted SQEs within @ms milliseconds.  An SQPOLL thread
 * releases slots when it has issued their SQEs.
 */
static inline bool iou_taken(struct iou *r, unsigned int ms)
{
	unsigned long long end = iou_now_us() + ms * 1000ULL;

	while (load_acq(r->sq_head) != r->sent && iou_now_us() < end)
		sched_yield();
	return load_acq(r->sq_head) == r->sent;
}

/* Run on one CPU only.  Return: 0 or -1. */
static inline int iou_run_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* Submit the prepared SQEs.  Wait at most a second for an SQPOLL thread to take them. */
static inline int iou_submit(struct iou *r)
{
	int ret = iou_submit_wait(r, 0);

	if (ret >= 0 && r->flags & IORING_SETUP_SQPOLL)
		iou_taken(r, 1000);
	return ret;
}

static inline unsigned int iou_ready(struct iou *r)
{
	return load_acq(r->cq_tail) - *r->cq_head;
}

static inline struct io_uring_cqe *iou_cqe_at(struct iou *r, unsigned int i)
{
	unsigned int slot = (*r->cq_head + i) & (r->p.cq_entries - 1);

	return (void *)(r->cqes + slot * (size_t)r->cqe_size);
}

static inline void iou_seen(struct iou *r, unsigned int nr)
{
	store_rel(r->cq_head, *r->cq_head + nr);
}

/* Return: the number of slots that a CQE takes. */
static inline unsigned int iou_cqe_slots(const struct iou *r, const struct io_uring_cqe *cqe)
{
	return r->flags & IORING_SETUP_CQE_MIXED && cqe->flags & IORING_CQE_F_32 ? 2 : 1;
}

/*
 * Wait at most @ms milliseconds until @min CQEs are in the ring.  After a timeout the kernel still
 * returns 0 if the ring has any CQE.  A caller that waits for IOU_PATIENCE gets -ETIME in this
 * case, as it should have been woken.
 */
static inline int iou_wait_ms(struct iou *r, unsigned int min, unsigned int ms)
{
	struct __kernel_timespec ts = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000LL,
	};
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	unsigned long long late = iou_now_us() + ms * 1000ULL;
	int ret = iou_enter_arg(r, 0, min, IORING_ENTER_GETEVENTS, &arg);

	return !ret && ms >= IOU_PATIENCE && iou_now_us() >= late ? -ETIME : ret;
}

/* Wait until the ring has @min CQEs; -EINTR and an early return of 0 do not end the wait. */
static inline int iou_wait(struct iou *r, unsigned int min)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	int ret;

	while (iou_ready(r) < min) {
		ret = iou_wait_ms(r, min, IOU_PATIENCE);
		if (ret < 0 && ret != -EINTR)
			return ret;
		if (iou_now_us() > end)
			return -ETIME;
	}
	return 0;
}

/* Wait for a CQE.  Give back slots that are only filled.  Return: the CQE, or NULL. */
static inline struct io_uring_cqe *iou_next(struct iou *r)
{
	struct io_uring_cqe *cqe;

	for (;;) {
		if (iou_wait(r, 1))
			return NULL;
		cqe = iou_cqe_at(r, 0);
		if (!(r->flags & IORING_SETUP_CQE_MIXED) || !(cqe->flags & IORING_CQE_F_SKIP))
			return cqe;
		iou_seen(r, 1);
	}
}

/* Wait for one CQE, copy its first 16 bytes and give its slots back. */
static inline int iou_reap(struct iou *r, struct io_uring_cqe *cqe)
{
	struct io_uring_cqe *next;
	int ret = iou_wait(r, 1);

	if (ret)
		return ret;
	next = iou_next(r);
	if (!next)
		return -ETIME;
	memcpy(cqe, next, 16);
	iou_seen(r, iou_cqe_slots(r, next));
	return 0;
}

/* Take @nr CQEs and discard them.  Return: the first negative result, or 0. */
static inline int iou_discard(struct iou *r, unsigned int nr)
{
	struct io_uring_cqe cqe;
	int ret, first = 0;

	while (nr--) {
		ret = iou_reap(r, &cqe);
		if (ret)
			return ret;
		if (cqe.res < 0 && !first)
			first = cqe.res;
	}
	return first;
}

/* Submit the only prepared SQE.  Return: the result in its CQE, or a negative errno. */
static inline int iou_one(struct iou *r)
{
	struct io_uring_cqe cqe;
	int ret = iou_submit(r);

	if (ret != 1)
		return ret < 0 ? ret : -ENODATA;
	ret = iou_reap(r, &cqe);
	return ret ? ret : cqe.res;
}

/*
 * Submit the prepared SQEs, none of which may complete before the call returns, and a NOP behind
 * them.  The NOP's CQE shows that all have been issued, since an SQPOLL thread works in order, too.
 */
static inline int iou_submit_issued(struct iou *r)
{
	struct io_uring_cqe cqe;
	int ret;

	iou_nop(r, 99);
	ret = iou_submit(r);
	if (ret < 1)
		return ret;
	ret = iou_reap(r, &cqe);
	return ret ?: cqe.user_data == 99 ? 0 : -EBADMSG;
}

/* Return: the byte for a position in a file, such that a shift of data is detected. */
static inline unsigned char iou_pattern_at(unsigned long long pos, unsigned int seed)
{
	return (pos ^ pos >> 8 ^ pos >> 16) * 31 + seed;
}

static inline void iou_fill(void *buf, size_t len, unsigned long long pos,
			    unsigned int seed)
{
	unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = iou_pattern_at(pos + i, seed);
}

/* Return: the index of the first wrong byte, or -1. */
static inline long iou_verify(const void *buf, size_t len,
			      unsigned long long pos, unsigned int seed)
{
	const unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != iou_pattern_at(pos + i, seed))
			return i;
	return -1;
}

/*
 * Fill memory with words of 8 bytes, each of which encodes its position.  This is fast enough for
 * gigabytes.  @pos and @len are whole words.
 */
static inline void iou_fill_words(void *buf, size_t len, unsigned long long pos)
{
	uint64_t *p = buf;
	size_t i;

	for (i = 0; i < len / 8; i++)
		p[i] = (pos / 8 + i + 1) * 0x9e3779b97f4a7c15ULL;
}

/* Return: true if @buf continues the words at *@pos.  Advance *@pos past the matching bytes. */
static inline bool iou_follows(const void *buf, size_t len, unsigned long long *pos)
{
	const unsigned char *p = buf, *end = p + len;
	uint64_t want;

	while (p < end) {
		size_t at = *pos % 8, n = at || end - p < 8 ? 1 : 8;

		iou_fill_words(&want, 8, *pos);
		if (n == 8 ? memcmp(p, &want, 8) : *p != ((unsigned char *)&want)[at])
			return false;
		p += n;
		*pos += n;
	}
	return true;
}

/* Create a file without a name in @dir, with @size bytes of pattern. */
static inline int iou_file_in(const char *dir, size_t size, unsigned int seed)
{
	char buf[IOU_PAGE];
	char path[256];
	size_t at;
	int fd;

	snprintf(path, sizeof(path), "%s/iou.XXXXXX", dir);
	fd = mkstemp(path);
	if (fd < 0)
		return -errno;
	unlink(path);
	for (at = 0; at < size; at += sizeof(buf)) {
		size_t len = size - at < sizeof(buf) ? size - at : sizeof(buf);

		iou_fill(buf, len, at, seed);
		if (pwrite(fd, buf, len, at) != (ssize_t)len) {
			close(fd);
			return -EIO;
		}
	}
	return fd;
}

static inline int iou_file(size_t size, unsigned int seed)
{
	const char *dir = getenv("TMPDIR");

	return iou_file_in(dir ? dir : "/tmp", size, seed);
}

/* Create a directory, and store its path in @path.  Return: its descriptor. */
static inline int iou_dir(char *path, size_t size)
{
	int fd;

	snprintf(path, size, "/tmp/iou.XXXXXX");
	if (!mkdtemp(path))
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY);
	return fd < 0 ? -errno : fd;
}

/* Remove a directory with the files and empty directories in it. */
static inline void iou_dir_remove(const char *path, int fd)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (unlinkat(fd, entry->d_name, 0))
			unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	if (dir)
		closedir(dir);
	close(fd);
	rmdir(path);
}

static inline int iou_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/*
 * Make the @nr-th allocation or copy from or to user space of the calling thread fail.  With @nr 0,
 * cancel this.  Return: 0, or a negative errno if no fault can be injected.
 */
static inline int iou_fail_nth(int nr)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", nr);
	return iou_put("/proc/thread-self/fail-nth", text);
}

/* Return: true if the fault that iou_fail_nth() has requested was injected. */
static inline bool iou_has_failed(void)
{
	char text[16] = "0";
	int fd = open("/proc/thread-self/fail-nth", O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return atoi(text) <= 0;
}

/* Allow faults in allocations that may sleep, too.  Return: as iou_fail_nth(). */
static inline int iou_fail_init(void)
{
	int ret = iou_fail_nth(0);

	if (ret)
		return ret;
	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	iou_put("/sys/kernel/debug/failslab/verbose", "0");
	return iou_put("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
}

/* the null device of iou_scratch() */
#define IOU_NULLB	"/sys/kernel/config/nullb/nullb9/"

/* Write to @device, because null_blk may fail to allocate a block while it is polled. */
static inline void iou_touch(const char *device)
{
	char *zero = iou_map_anon(1 << 20);
	int fd = open(device, O_RDWR);

	if (fd >= 0 && pwrite(fd, zero, 1 << 20, 0) > 0)
		fsync(fd);
	close(fd);
	munmap(zero, 1 << 20);
}

/*
 * Return: the name of a device that can be polled, and whose contents may be lost.  This is
 * IOU_SCRATCH, or a null device in memory, which the first call creates and later calls reuse.
 */
static inline const char *iou_scratch(void)
{
	const char *name = getenv("IOU_SCRATCH");

	if (name)
		return name;
	if (access(IOU_NULLB, F_OK)) {
		mount("none", "/sys/kernel/config", "configfs", 0, NULL);
		if (mkdir(IOU_NULLB, 0700))
			return "/dev/null/none";
		iou_put(IOU_NULLB "size", "64");
		iou_put(IOU_NULLB "blocksize", "4096");
		iou_put(IOU_NULLB "memory_backed", "1");
		iou_put(IOU_NULLB "submit_queues", "2");
		iou_put(IOU_NULLB "poll_queues", "2");
		/* tags for more polled requests than any test has */
		iou_put(IOU_NULLB "hw_queue_depth", "1024");
		iou_put(IOU_NULLB "power", "1");
		iou_touch("/dev/nullb9");
	}
	return "/dev/nullb9";
}

/* Return: true if the thread @task of this process sleeps in io_uring_enter(). */
static inline bool iou_asleep(pid_t task)
{
	char path[64], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", task);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strtol(text, NULL, 10) == __NR_io_uring_enter;
}

/* Return: the number of threads of process @pid whose names start with @prefix. */
static inline int iou_threads(int pid, const char *prefix)
{
	char path[320], name[32];
	struct dirent *entry;
	int nr = 0;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", pid,
			 entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) &&
		    !strncmp(name, prefix, strlen(prefix)))
			nr++;
		fclose(f);
	}
	closedir(dir);
	return nr;
}

/* Store in @cpus the CPUs that the thread @name of process @pid may use. */
static inline int iou_cpus_of(int pid, const char *name, char *cpus, size_t size)
{
	char path[320], line[256], *at;
	struct dirent *entry;
	bool found = false;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!found && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(line, sizeof(line), f) && strstr(line, name)) {
			while (fgets(line, sizeof(line), f)) {
				if (strncmp(line, "Cpus_allowed_list:", 18))
					continue;
				at = line + 18 + strspn(line + 18, " \t");
				at[strcspn(at, "\n")] = 0;
				snprintf(cpus, size, "%s", at);
				found = true;
			}
		}
		fclose(f);
	}
	closedir(dir);
	return found ? 0 : -ESRCH;
}

/*
 * Wait until the thread @tid, of any process, sleeps in the system call @nr.  Return: false if the
 * thread does not do so within IOU_PATIENCE.
 */
static inline bool iou_sleeps_in(pid_t tid, long nr)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	char path[64], line[64];
	long call;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	do {
		call = -1;
		f = fopen(path, "r");
		/* the line begins with a number unless the thread runs */
		if (f && fgets(line, sizeof(line), f) && line[0] >= '0' && line[0] <= '9')
			call = strtol(line, NULL, 10);
		if (f)
			fclose(f);
		if (call == nr)
			return true;
		iou_sleep_ms(1);
	} while (iou_now_us() < end);
	return false;
}

/* Return: true if the thread @tid of this process sleeps; false if it runs or is preempted. */
static inline bool iou_is_idle(pid_t tid)
{
	char path[64], line[64];
	bool idle = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "r");
	if (f) {
		idle = fgets(line, sizeof(line), f) && strncmp(line, "running", 7);
		fclose(f);
	}
	return idle;
}

/* Return: the number at @key in the fdinfo of the ring's descriptor, or -1 without @key. */
static inline long iou_fdinfo(const struct iou *r, const char *key)
{
	char path[64], line[256];
	size_t len = strlen(key);
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r->fd);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, key, len) && line[len] == ':')
			value = strtol(line + len + 1, NULL, 0);
	}
	fclose(f);
	return value;
}

/* Return: the number at @key in /proc/PID/status, in the unit of that file, or -1. */
static inline long iou_status(int pid, const char *key)
{
	char path[64], line[256];
	size_t len = strlen(key);
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && line[len] == ':')
			value = strtol(line + len + 1, NULL, 0);
	fclose(f);
	return value;
}

/*
 * Create an instance of tracefs while "record-cmd" is off.  That option enables events of the
 * scheduler, which may stop an emulator of several CPUs.  Return: true on success.
 */
static inline bool iou_trace_instance(const char *path)
{
	static const char option[] = "/sys/kernel/tracing/options/record-cmd";
	bool made;

	mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (iou_put(option, "0"))
		return false;
	made = !mkdir(path, 0700);
	iou_put(option, "1");
	return made;
}

/* Return: the number of objects in use in slab caches whose names end in @end, or -1. */
static inline long iou_slab_objects(const char *end)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	char line[256], name[64];
	size_t len = strlen(end);
	long nr, sum = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld", name, &nr) == 2 && strlen(name) >= len &&
		    !strcmp(name + strlen(name) - len, end))
			sum += nr;
	fclose(f);
	return sum;
}

#endif
