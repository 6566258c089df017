// SPDX-License-Identifier: GPL-2.0
/* rig/tables: messages from a ring to another thread's, at a fixed pace, and their latencies */
/*
 *	msg DELAY MS
 *
 * A thread sends a message each DELAY microseconds for MS milliseconds and waits for its own CQE;
 * another one sleeps until it has a message.  Both rings belong to one task each
 * (DEFER_TASKRUN).  The time before the call travels in the message.  Percentiles are in
 * nanoseconds: "sender" until the sender has its CQE, "receiver" until the message is seen.
 */
#include "tables.h"

#include <pthread.h>

#define MOST		4000000UL

static const double percentiles[] = {
	1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99,
};

static struct times {
	unsigned int	*ns;
	unsigned long	nr;
} sent, received;

static int target;
static int cpus[2];
static pthread_barrier_t ready;

static void note(struct times *times, unsigned long long ns)
{
	if (times->nr < MOST)
		times->ns[times->nr++] = ns;
}

static int less(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

static void print_times(const char *name, struct times *times)
{
	unsigned int i;

	if (!times->nr)
		fail("no %s time was measured", name);
	qsort(times->ns, times->nr, sizeof(times->ns[0]), less);
	printf("%s %lu", name, times->nr);
	for (i = 0; i < ARRAY_LEN(percentiles); i++)
		printf(" %.2f:%u", percentiles[i],
		       times->ns[(unsigned long)(percentiles[i] * (times->nr - 1) / 100)]);
	printf("\n");
}

/* Each thread has a CPU of its own where there are two. */
static void find_cpus(void)
{
	int cpu, nr = 0;
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (cpu = 0; cpu < CPU_SETSIZE && nr < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[nr++] = cpu;
	if (nr < 2)
		cpus[1] = cpus[0];
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void *receive(void *unused)
{
	struct io_uring_cqe cqe;
	struct iou ring;

	run_on(cpus[1]);
	must(iou_init_cq(&ring, 8, 8192, RING_FLAGS), "io_uring_setup");
	target = ring.fd;
	pthread_barrier_wait(&ready);
	for (;;) {
		if (!iou_ready(&ring))
			must(iou_submit_wait(&ring, 1), "io_uring_enter");
		if (!iou_ready(&ring))
			continue;
		cqe = *iou_cqe_at(&ring, 0);
		iou_seen(&ring, 1);
		/* 0 is the last one */
		if (!cqe.user_data)
			break;
		note(&received, now_ns() - cqe.user_data);
	}
	iou_exit(&ring);
	return NULL;
}

static void send_one(struct iou *ring, unsigned long long data)
{
	struct io_uring_cqe cqe;

	iou_prep(ring, IORING_OP_MSG_RING, target, NULL, 0, data);
	must(iou_submit_wait(ring, 1), "io_uring_enter");
	must(iou_reap(ring, &cqe), "a message's own CQE");
	if (cqe.res == -EINVAL)
		lacks("this kernel has no messages between rings (Linux 5.18)");
	must(cqe.res, "IORING_OP_MSG_RING");
}

static unsigned long send_paced(struct iou *ring, unsigned long long delay,
				unsigned long long length)
{
	unsigned long long begin = now_ns(), next = begin, now;
	unsigned long nr = 0;

	for (;;) {
		while ((now = now_ns()) < next)
			;
		if (now - begin >= length)
			break;
		/* what the sender could not do in time is left out, not made up for */
		next = now - next > delay ? now + delay : next + delay;
		send_one(ring, now);
		note(&sent, now_ns() - now);
		nr++;
	}
	send_one(ring, 0);
	return nr;
}

int main(int argc, char **argv)
{
	unsigned long long delay, length;
	pthread_t thread;
	struct iou ring;

	if (argc != 3)
		fail("usage: msg DELAY MS");
	alarm(LIMIT);
	delay = above_zero(argv[1]) * 1000ULL;
	length = above_zero(argv[2]) * 1000000ULL;
	sent.ns = calloc(MOST, sizeof(sent.ns[0]));
	received.ns = calloc(MOST, sizeof(received.ns[0]));
	if (!sent.ns || !received.ns)
		fail("no memory for the times");
	find_cpus();
	pthread_barrier_init(&ready, NULL, 2);
	if (pthread_create(&thread, NULL, receive, NULL))
		fail("no second thread");
	run_on(cpus[0]);
	if (iou_init(&ring, 8, RING_FLAGS))
		lacks("this kernel has no IORING_SETUP_DEFER_TASKRUN (Linux 6.1)");
	printf("flags %x\n", RING_FLAGS);
	pthread_barrier_wait(&ready);
	printf("possible %llu\n", length / delay);
	send_paced(&ring, delay, length);
	if (pthread_join(thread, NULL))
		fail("the receiver was lost");
	print_times("sender", &sent);
	print_times("receiver", &received);
	return 0;
}
