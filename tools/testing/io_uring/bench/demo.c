// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: what a program sees of multishot polls that others feed */

/*
 * MAX_BATCH multishot polls on MAX_PIPES pipes, written to by other processes as fast as
 * they can.  The ring's task waits for a number of CQEs, takes what is there, empties the
 * pipes they name, and counts how often it was woken: how often it slept.
 */

#include <errno.h>
#include <linux/time_types.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define NR_WRITERS	2

static void write_for_ever(struct bench *b, unsigned int first)
{
	unsigned int i;

	for (i = first;; i++)
		if (write(b->pipes[i % MAX_PIPES][1], "x", 1) < 0 && errno != EAGAIN)
			_exit(1);
}

static unsigned long times_slept(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/*
 * What is there, at least @wait; how many, or a negative errno.  A poll that met a
 * full queue has ended with its last CQE and is armed again.
 */
static int take(struct bench *b, unsigned int wait)
{
	struct __kernel_timespec ts = { .tv_sec = 5 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	struct ring *ring = &b->ring;
	unsigned int head = *ring->cq_head, tail, i, seen = 0, ended = 0;
	int ret = ring_enter(ring, 0, wait, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
			     &arg, sizeof(arg));
	char bytes[BLOCK];

	if (ret < 0)
		return ret;
	tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
	for (i = head; i != tail; i++) {
		const struct io_uring_cqe *cqe = &ring->cqes[i & ring->cq_mask];

		if (cqe->res < 0)
			return cqe->res;
		if (!(cqe->flags & IORING_CQE_F_MORE)) {
			fill_aux(b, cqe->user_data);
			ended++;
		}
		seen |= 1u << (cqe->user_data / b->row->len);
	}
	__atomic_store_n(ring->cq_head, tail, __ATOMIC_RELEASE);
	for (i = 0; i < b->nr_pipes; i++)
		if (seen & 1u << i && read(b->pipes[i][0], bytes, sizeof(bytes)) < 0 &&
		    errno != EAGAIN)
			return -errno;
	if (ended) {
		ret = ring_submit(ring, 0);
		if (ret)
			return ret;
	}
	return tail - head;
}

/* Feed the polls of @b for @nsec, waiting for @wait CQEs at a time. */
int demo_run(struct bench *b, unsigned int wait, __u64 nsec, struct demo *demo)
{
	pid_t writers[NR_WRITERS];
	unsigned long slept;
	__u64 start;
	int ret = 0;
	int i;

	for (i = 0; i < NR_WRITERS; i++) {
		writers[i] = fork();
		if (!writers[i])
			write_for_ever(b, i * MAX_PIPES / NR_WRITERS);
	}
	memset(demo, 0, sizeof(*demo));
	slept = times_slept();
	start = now();
	while (ret >= 0 && demo->nsec < nsec) {
		ret = take(b, wait);
		if (ret > 0)
			demo->cqes += ret;
		demo->nsec = now() - start;
	}
	demo->wakes = times_slept() - slept;
	for (i = 0; i < NR_WRITERS; i++) {
		kill(writers[i], SIGKILL);
		waitpid(writers[i], NULL, 0);
	}
	return ret < 0 ? ret : 0;
}
