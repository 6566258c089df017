// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: a minimal ring on raw system calls */

/*
 * Just what the rows need: a ring whose SQ array is the identity, mapped in one
 * piece, filled and emptied by its only user.  Any failure comes back as a
 * negative errno; nothing is retried here.
 */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

int ring_register(struct ring *ring, unsigned int op, const void *arg, unsigned int nr)
{
	long ret = syscall(__NR_io_uring_register, ring->fd, op, arg, nr);

	return ret < 0 ? -errno : (int)ret;
}

int ring_enter(struct ring *ring, unsigned int submit, unsigned int wait,
	       unsigned int flags, const void *arg, size_t size)
{
	long ret = syscall(__NR_io_uring_enter, ring->enter_fd, submit, wait,
			   flags | ring->enter_flags, arg, size);

	return ret < 0 ? -errno : (int)ret;
}

/* The next free SQE, all zero.  Rows fill no more than MAX_BATCH of them at once. */
struct io_uring_sqe *ring_sqe(struct ring *ring)
{
	struct io_uring_sqe *sqe = &ring->sqes[ring->sq_next++ & ring->sq_mask];

	return memset(sqe, 0, sizeof(*sqe));
}

/* The SQE that was filled last. */
struct io_uring_sqe *ring_last(const struct ring *ring)
{
	return &ring->sqes[(ring->sq_next - 1) & ring->sq_mask];
}

/* Submit what was filled and wait for a number of CQEs. */
int ring_submit(struct ring *ring, unsigned int wait)
{
	unsigned int n = ring->sq_next - *ring->sq_tail;
	int ret;

	__atomic_store_n(ring->sq_tail, ring->sq_next, __ATOMIC_RELEASE);
	ret = ring_enter(ring, n, wait, wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
	if (ret < 0)
		return ret;
	return ret == (int)n ? 0 : -EIO;
}

/* Take @want CQEs, waiting for those that are not there, and check each. */
int ring_take(struct ring *ring, unsigned int want, int (*check)(const struct io_uring_cqe *cqe))
{
	unsigned int head = *ring->cq_head;
	unsigned int got = 0;

	for (;;) {
		unsigned int tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
		int ret;

		for (; head != tail && got < want; head++, got++) {
			const struct io_uring_cqe *cqe = ring_cqe(ring, head);

			if (!check(cqe))
				return cqe->res < 0 ? cqe->res : -EIO;
		}
		__atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
		if (got == want)
			return 0;
		ret = ring_enter(ring, 0, want - got, IORING_ENTER_GETEVENTS, NULL, 0);
		if (ret < 0)
			return ret;
	}
}

int check_zero(const struct io_uring_cqe *cqe)
{
	return !cqe->res;
}

/* Submit what was filled, @nr SQEs, and take their CQEs, which have to be zero. */
int ring_send(struct ring *ring, unsigned int nr)
{
	int ret = ring_submit(ring, nr);

	return ret ?: ring_take(ring, nr, check_zero);
}

static int ring_map(struct ring *ring, const struct io_uring_params *p)
{
	size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned int);
	unsigned int shift = !!(p->flags & IORING_SETUP_CQE32);
	size_t cq = p->cq_off.cqes + p->cq_entries * (sizeof(struct io_uring_cqe) << shift);
	unsigned int *array;
	unsigned int i;
	char *map;

	ring->map_size = sq > cq ? sq : cq;
	map = mmap(NULL, ring->map_size, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQ_RING);
	if (map == MAP_FAILED)
		return -errno;
	ring->map = map;
	ring->sqes_size = p->sq_entries * (sizeof(struct io_uring_sqe) <<
					   !!(p->flags & IORING_SETUP_SQE128));
	ring->sqes = mmap(NULL, ring->sqes_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
	if (ring->sqes == MAP_FAILED) {
		ring->sqes = NULL;
		return -errno;
	}
	array = (unsigned int *)(map + p->sq_off.array);
	for (i = 0; i < p->sq_entries; i++)
		array[i] = i;
	ring->sq_mask = p->sq_entries - 1;
	ring->cq_mask = p->cq_entries - 1;
	ring->cq_shift = shift;
	ring->sq_tail = (unsigned int *)(map + p->sq_off.tail);
	ring->cq_head = (unsigned int *)(map + p->cq_off.head);
	ring->cq_tail = (unsigned int *)(map + p->cq_off.tail);
	ring->cqes = (struct io_uring_cqe *)(map + p->cq_off.cqes);
	ring->sq_next = *ring->sq_tail;
	return 0;
}

/* A ring for @row: its flags, and its index among the registered rings if wanted. */
int ring_open(struct ring *ring, const struct row *row)
{
	struct io_uring_params p = { .flags = row->setup };
	struct io_uring_rsrc_update up;
	int ret;

	memset(ring, 0, sizeof(*ring));
	ring->fd = syscall(__NR_io_uring_setup, MAX_BATCH, &p);
	if (ring->fd < 0)
		return -errno;
	ring->enter_fd = ring->fd;
	ret = ring_map(ring, &p);
	if (!ret && row->flags & ROW_REG_RING) {
		memset(&up, 0, sizeof(up));
		up.offset = -1u;
		up.data = ring->fd;
		ret = ring_register(ring, IORING_REGISTER_RING_FDS, &up, 1);
		if (ret == 1) {
			ring->enter_fd = up.offset;
			ring->enter_flags = IORING_ENTER_REGISTERED_RING;
			ret = 0;
		}
	}
	if (ret)
		ring_close(ring);
	return ret;
}

void ring_close(struct ring *ring)
{
	if (ring->sqes)
		munmap(ring->sqes, ring->sqes_size);
	if (ring->map)
		munmap(ring->map, ring->map_size);
	if (ring->enter_flags) {
		struct io_uring_rsrc_update up = { .offset = ring->enter_fd };

		ring_register(ring, IORING_UNREGISTER_RING_FDS, &up, 1);
	}
	close(ring->fd);
}
