// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: loads of several CPUs, by kernel time and by what gets done */

/*
 * Each load runs for a fixed time with as many threads or writers as there are CPUs, in a process
 * of its own.  Reported are the operations, and the time that all its threads, io_uring's among
 * them, spent in the kernel.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/time_types.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define MAX_THREADS	16u
#define IN_FLIGHT	8u

/**
 * struct side - a thread of a load
 * @thread:	itself
 * @load:	what it belongs to
 * @nr:		which of them it is
 * @ring:	its own ring
 * @ready:	@ring is open
 * @ops:	what it has done
 * @error:	a negative errno with which it ended
 */
struct side {
	pthread_t	thread;
	struct load	*load;
	unsigned int	nr;
	struct ring	ring;
	bool		ready;
	__u64		ops;
	int		error;
};

/**
 * struct load - one load while it runs
 * @smp:	its description
 * @nr:		threads
 * @stop:	the time is over
 * @lock:	of @ring
 * @ring:	a ring that all share
 * @fd:		a file of /tmp
 * @sides:	the threads
 */
struct load {
	const struct smp	*smp;
	unsigned int		nr;
	bool			stop;
	pthread_mutex_t		lock;
	struct ring		ring;
	int			fd;
	struct side		sides[MAX_THREADS];
};

/**
 * struct smp - one line of the table
 * @name:	of the load
 * @run:	what each thread does until @load->stop; the ring is open, whose flags are @setup
 * @setup:	IORING_SETUP_* of each thread's ring
 * @alone:	one thread, whatever the number of CPUs
 */
struct smp {
	const char	*name;
	int		(*run)(struct side *side);
	unsigned int	setup;
	bool		alone;
};

/* What a receiver has had */
static __u64 taken(const struct side *side)
{
	return __atomic_load_n(&side->ops, __ATOMIC_ACQUIRE);
}

static bool stopped(const struct load *load)
{
	return __atomic_load_n(&load->stop, __ATOMIC_ACQUIRE);
}

/* A batch of NOPs on a ring of one's own. */
static int run_nops(struct side *side)
{
	unsigned int i;
	int ret = 0;

	while (!ret && !stopped(side->load)) {
		for (i = 0; i < IN_FLIGHT; i++)
			ring_sqe(&side->ring)->opcode = IORING_OP_NOP;
		ret = ring_send(&side->ring, IN_FLIGHT);
		side->ops += IN_FLIGHT;
	}
	return ret;
}

static int check_block(const struct io_uring_cqe *cqe)
{
	return cqe->res == 512;
}

/* Writes that workers do. */
static int run_workers(struct side *side)
{
	static char block[512];
	struct ring *ring = &side->ring;
	unsigned int i;
	int ret = 0;

	while (!ret && !stopped(side->load)) {
		for (i = 0; i < IN_FLIGHT; i++) {
			struct io_uring_sqe *sqe = ring_sqe(ring);

			sqe->opcode = IORING_OP_WRITE;
			sqe->flags = IOSQE_ASYNC;
			sqe->fd = side->load->fd;
			sqe->addr = (uintptr_t)block;
			sqe->len = sizeof(block);
			sqe->off = i * sizeof(block);
		}
		ret = ring_submit(ring, IN_FLIGHT) ?: ring_take(ring, IN_FLIGHT, check_block);
		side->ops += IN_FLIGHT;
	}
	return ret;
}

/* One ring that all threads use, each under the lock that a program has for it. */
static int run_shared(struct side *side)
{
	struct load *load = side->load;
	unsigned int i;
	int ret = 0;

	while (!ret && !stopped(load)) {
		pthread_mutex_lock(&load->lock);
		for (i = 0; i < IN_FLIGHT; i++)
			ring_sqe(&load->ring)->opcode = IORING_OP_NOP;
		ret = ring_send(&load->ring, IN_FLIGHT);
		pthread_mutex_unlock(&load->lock);
		side->ops += IN_FLIGHT;
	}
	return ret;
}

/* The first thread sends messages, eight at a time to each of the others, which sleep for them. */
static int send_messages(struct side *side)
{
	struct load *load = side->load;
	unsigned int i, to;
	__u64 sent = 0;
	int ret = 0;

	for (to = 1; to < load->nr; to++)
		while (!stopped(load) && !__atomic_load_n(&load->sides[to].ready, __ATOMIC_ACQUIRE))
			usleep(1000);
	while (!ret && !stopped(load)) {
		for (to = 1; to < load->nr; to++) {
			for (i = 0; i < IN_FLIGHT; i++) {
				struct io_uring_sqe *sqe = ring_sqe(&side->ring);

				sqe->opcode = IORING_OP_MSG_RING;
				sqe->fd = load->sides[to].ring.fd;
				sqe->off = 1;
			}
		}
		ret = ring_send(&side->ring, IN_FLIGHT * (load->nr - 1));
		/* no more wait at a receiver than it has room for */
		sent += IN_FLIGHT;
		for (to = 1; to < load->nr; to++)
			while (!stopped(load) && sent > taken(&load->sides[to]) + MAX_BATCH / 2)
				sched_yield();
	}
	return ret;
}

static int run_messages(struct side *side)
{
	struct __kernel_timespec ts = { .tv_nsec = 50000000 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	struct ring *ring = &side->ring;

	if (!side->nr)
		return send_messages(side);
	while (!stopped(side->load)) {
		unsigned int head = *ring->cq_head, tail;
		int ret = ring_enter(ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
				     &arg, sizeof(arg));

		if (ret < 0 && ret != -ETIME)
			return ret;
		tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
		__atomic_store_n(ring->cq_head, tail, __ATOMIC_RELEASE);
		__atomic_store_n(&side->ops, side->ops + tail - head, __ATOMIC_RELEASE);
	}
	return 0;
}

static const struct smp loads[] = {
	{ "nops/rings", run_nops, DEFER },
	{ "nops/plain-rings", run_nops, 0 },
	{ "nops/shared-ring", run_shared, 0 },
	{ "nops/sqpoll", run_nops, IORING_SETUP_SQPOLL, true },
	{ "workers/one-ring", run_workers, DEFER, true },
	{ "workers/rings", run_workers, DEFER },
	{ "workers/plain-ring", run_workers, 0, true },
	{ "messages", run_messages, DEFER },
	{ "messages/plain", run_messages, 0 },
};

static void *side_main(void *arg)
{
	struct side *side = arg;

	side->error = side->load->smp->run(side);
	return NULL;
}

/* A ring of one issuer belongs to the thread that enables it, so this one does not open them. */
static void *side_open(void *arg)
{
	struct side *side = arg;
	const struct row row = { .setup = side->load->smp->setup };

	side->error = ring_open(&side->ring, &row);
	__atomic_store_n(&side->ready, !side->error, __ATOMIC_RELEASE);
	return side->error ? NULL : side_main(side);
}

static __u64 kernel_nsec(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_stime.tv_sec * 1000000000ull + usage.ru_stime.tv_usec * 1000ull;
}

static int load_run(struct load *load, __u64 nsec, struct smp_result *result)
{
	const struct row plain = { .setup = 0 };
	__u64 start, kernel = kernel_nsec();
	unsigned int i;
	int ret = ring_open(&load->ring, &plain);

	if (ret)
		return ret;
	start = now();
	for (i = 0; i < load->nr; i++) {
		struct side *side = &load->sides[i];

		side->load = load;
		side->nr = i;
		if (pthread_create(&side->thread, NULL, side_open, side))
			return -EAGAIN;
	}
	usleep(nsec / 1000);
	__atomic_store_n(&load->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < load->nr; i++) {
		struct side *side = &load->sides[i];

		pthread_join(side->thread, NULL);
		ret = ret ?: side->error;
		result->ops += side->ops;
	}
	result->nsec = now() - start;
	result->kernel_nsec = kernel_nsec() - kernel;
	return ret;
}

unsigned int smp_loads(void)
{
	return ARRAY_SIZE(loads);
}

/* Run load @nr for @nsec, in a child, whose threads end with it. */
int smp_run(unsigned int nr, __u64 nsec, const char **name, struct smp_result *result)
{
	static struct load load;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*name = loads[nr].name;
	memset(result, 0, sizeof(*result));
	load.smp = &loads[nr];
	load.nr = load.smp->alone ? 1 : cpus < MAX_THREADS ? cpus : MAX_THREADS;
	if (load.smp->run == run_messages && load.nr < 2)
		load.nr = 2;
	pthread_mutex_init(&load.lock, NULL);
	load.fd = open("/tmp/smp", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (load.fd < 0)
		return -errno;
	return load_run(&load, nsec, result);
}
