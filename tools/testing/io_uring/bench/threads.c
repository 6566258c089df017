// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: messages between the rings of threads, and how long they take */

/*
 * Paced: a thread sends one message a period to the ring of another, which sleeps for
 * it; each has a CPU of its own where there are two.  Periods that pass while a message is
 * sent are lost, so a slow sender sends fewer.  Those that pass while the sender only
 * looks at the clock were taken by the machine, and were never possible.
 *
 * Handed over: a dispatcher hands jobs to NR_WORKERS workers, a number of them to each at
 * a time, and lets no more than twice as many wait at a worker.  They go as messages to
 * the workers' rings, all in one submission, or into a queue for each worker: a mutex,
 * an array and an eventfd that is written when the queue was empty.
 *
 * A job or message is the moment at which it was made; none is STOP.
 */

#include <errno.h>
#include <linux/time_types.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"

#define STOP		0ull
#define MAX_SAMPLES	262144u
#define NR_WORKERS	4u
#define MAX_HAND	8u
#define TENTHS		10u			/* parts of a paced run */
#define QUEUE		(2 * MAX_HAND + 1)	/* and STOP */

/**
 * struct samples - times, in nanoseconds
 * @nr:		how many there were; the first MAX_SAMPLES are kept
 * @nsec:	those that are kept
 */
struct samples {
	__u64	nr;
	__u32	*nsec;
};

/**
 * struct worker - a thread that takes what others hand to it
 * @thread:	itself
 * @ready:	@ring is open, or @error tells why not
 * @ring:	what messages are sent to; the thread's own
 * @event:	tells that @queue is not empty, -1: messages come through @ring
 * @lock:	of @queue and @nr
 * @queue:	jobs that wait
 * @nr:		how many
 * @given:	jobs handed to it, the dispatcher's
 * @taken:	jobs that it has seen
 * @error:	a negative errno with which it ended
 * @samples:	how long jobs were on their way
 */
struct worker {
	pthread_t	thread;
	pthread_barrier_t ready;
	struct ring	ring;
	int		event;
	pthread_mutex_t	lock;
	__u64		queue[QUEUE];
	unsigned int	nr;
	__u64		given;
	__u64		taken;
	int		error;
	struct samples	samples;
};

/**
 * struct dispatcher - who hands jobs to workers
 * @rings:	they go as messages to the workers' rings
 * @hand:	number for each at a time
 * @nr:		workers that run
 * @ring:	its own, which sends the messages
 * @workers:	first those that run
 */
struct dispatcher {
	bool		rings;
	unsigned int	hand;
	unsigned int	nr;
	struct ring	ring;
	struct worker	workers[NR_WORKERS];
};

static int samples_open(struct samples *s)
{
	s->nr = 0;
	s->nsec = calloc(MAX_SAMPLES, sizeof(*s->nsec));
	return s->nsec ? 0 : -ENOMEM;
}

static void samples_add(struct samples *s, __u64 nsec)
{
	if (s->nr < MAX_SAMPLES)
		s->nsec[s->nr] = nsec < UINT32_MAX ? nsec : UINT32_MAX;
	s->nr++;
}

static unsigned int samples_kept(const struct samples *s)
{
	return s->nr < MAX_SAMPLES ? s->nr : MAX_SAMPLES;
}

static int compare(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return x < y ? -1 : x > y;
}

/* Sorts what it is given. */
static void percentiles(__u32 *nsec, unsigned int nr, struct latency *latency)
{
	static const unsigned int permille[NR_PERCENTILES] = { 10, 500, 900, 990, 999 };
	int i;

	qsort(nsec, nr, sizeof(*nsec), compare);
	for (i = 0; i < NR_PERCENTILES; i++)
		latency->percentile[i] = nr ? nsec[(__u64)(nr - 1) * permille[i] / 1000] : 0;
}

/* One job; false if it was the last. */
static bool take_job(struct worker *w, __u64 job)
{
	if (job == STOP)
		return false;
	samples_add(&w->samples, now() - job);
	__atomic_store_n(&w->taken, w->taken + 1, __ATOMIC_RELEASE);
	return true;
}

/* 1, 0 after the last message, or a negative errno; -ETIME: none came for long. */
static int take_messages(struct worker *w)
{
	struct __kernel_timespec ts = { .tv_sec = 5 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	struct ring *ring = &w->ring;
	unsigned int head = *ring->cq_head, tail;
	int ret = ring_enter(ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
			     &arg, sizeof(arg));
	bool more = true;

	if (ret < 0)
		return ret;
	tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
	for (; more && head != tail; head++)
		more = take_job(w, ring->cqes[head & ring->cq_mask].user_data);
	__atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
	return more;
}

/* As take_messages(). */
static int take_queue(struct worker *w)
{
	__u64 count, jobs[QUEUE];
	unsigned int nr, i;
	bool more = true;

	if (read(w->event, &count, sizeof(count)) != sizeof(count))
		return -errno;
	pthread_mutex_lock(&w->lock);
	nr = w->nr;
	memcpy(jobs, w->queue, nr * sizeof(*jobs));
	w->nr = 0;
	pthread_mutex_unlock(&w->lock);
	for (i = 0; more && i < nr; i++)
		more = take_job(w, jobs[i]);
	return more;
}

static void *work(void *arg)
{
	static const struct row row = { .setup = DEFER };
	struct worker *w = arg;
	int ret = 0;

	if (w->event < 0)
		ret = ring_open(&w->ring, &row);
	if (ret)
		w->ring.fd = -1;
	w->error = ret;
	pthread_barrier_wait(&w->ready);
	if (ret)
		return NULL;
	do {
		ret = w->event < 0 ? take_messages(w) : take_queue(w);
	} while (ret > 0);
	__atomic_store_n(&w->error, ret, __ATOMIC_RELEASE);
	return NULL;
}

/* Wait for its end; its error. */
static int worker_join(struct worker *w)
{
	pthread_join(w->thread, NULL);
	return w->error;
}

/* The thread is gone, what it had is given back. */
static void worker_close(struct worker *w)
{
	if (w->event >= 0)
		close(w->event);
	else if (w->ring.fd >= 0)
		ring_close(&w->ring);
	free(w->samples.nsec);
}

/* A thread that takes messages, or jobs from a queue. */
static int worker_open(struct worker *w, bool rings)
{
	int ret;

	memset(w, 0, sizeof(*w));
	w->ring.fd = -1;
	w->event = rings ? -1 : eventfd(0, 0);
	if (!rings && w->event < 0)
		return -errno;
	pthread_mutex_init(&w->lock, NULL);
	pthread_barrier_init(&w->ready, NULL, 2);
	ret = samples_open(&w->samples);
	if (!ret)
		ret = -pthread_create(&w->thread, NULL, work, w);
	if (!ret) {
		pthread_barrier_wait(&w->ready);
		if (w->error)
			ret = worker_join(w);
	}
	if (ret)
		worker_close(w);
	return ret;
}

static void fill_job(struct ring *ring, const struct worker *w, __u64 job)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	sqe->opcode = IORING_OP_MSG_RING;
	sqe->fd = w->ring.fd;
	sqe->addr = IORING_MSG_DATA;
	sqe->off = job;
}

/* Queue @nr jobs, each with the moment at which it is made, or STOP. */
static int put_jobs(struct worker *w, unsigned int nr, bool stop)
{
	static const __u64 one = 1;
	bool was_empty;

	pthread_mutex_lock(&w->lock);
	was_empty = !w->nr;
	while (nr--)
		w->queue[w->nr++] = stop ? STOP : now();
	pthread_mutex_unlock(&w->lock);
	if (was_empty && write(w->event, &one, sizeof(one)) != sizeof(one))
		return -errno;
	return 0;
}

/* Jobs, or the STOP, to each worker. */
static int hand_out(struct dispatcher *d, bool stop)
{
	unsigned int nr = stop ? 1 : d->hand, i, j;
	int ret = 0;

	for (i = 0; !ret && i < d->nr; i++) {
		struct worker *w = &d->workers[i];

		if (!d->rings)
			ret = put_jobs(w, nr, stop);
		for (j = 0; d->rings && j < nr; j++)
			fill_job(&d->ring, w, stop ? STOP : now());
		w->given += stop ? 0 : nr;
	}
	if (d->rings && d->nr)
		ret = ring_send(&d->ring, d->nr * nr);
	return ret;
}

/* Wait until each worker may have more; the error of one that has ended. */
static int wait_for_room(struct dispatcher *d)
{
	unsigned int i;

	for (i = 0; i < d->nr; i++) {
		struct worker *w = &d->workers[i];

		while (w->given - __atomic_load_n(&w->taken, __ATOMIC_ACQUIRE) > d->hand) {
			int error = __atomic_load_n(&w->error, __ATOMIC_ACQUIRE);

			if (error)
				return error;
			sched_yield();
		}
	}
	return 0;
}

static int dispatch(struct dispatcher *d, __u64 nsec, struct handed *handed)
{
	__u64 start = now();
	int ret = 0;

	while (!ret && now() - start < nsec) {
		ret = wait_for_room(d);
		if (!ret)
			ret = hand_out(d, false);
	}
	handed->nsec = now() - start;
	return ret;
}

/* The percentiles of all that the workers saw. */
static int sum_up(struct dispatcher *d, struct latency *jobs)
{
	unsigned int nr = 0, i;
	__u32 *all = calloc(NR_WORKERS, MAX_SAMPLES * sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (i = 0; i < d->nr; i++) {
		const struct samples *samples = &d->workers[i].samples;

		memcpy(all + nr, samples->nsec, samples_kept(samples) * sizeof(*all));
		nr += samples_kept(samples);
		jobs->nr += samples->nr;
	}
	percentiles(all, nr, jobs);
	free(all);
	return 0;
}

/*
 * Hand jobs to NR_WORKERS workers for @nsec, @hand to each at a time, as messages to
 * their @rings or through queues.
 */
int hand_run(bool rings, unsigned int hand, __u64 nsec, struct handed *handed)
{
	static const struct row row = { .setup = DEFER };
	static struct dispatcher d;
	unsigned int i;
	int ret, err;

	memset(handed, 0, sizeof(*handed));
	memset(&d, 0, sizeof(d));
	d.rings = rings;
	d.hand = hand < MAX_HAND ? hand : MAX_HAND;
	ret = ring_open(&d.ring, &row);
	if (ret)
		return ret;
	while (!ret && d.nr < NR_WORKERS) {
		ret = worker_open(&d.workers[d.nr], rings);
		d.nr += !ret;
	}
	if (!ret)
		ret = dispatch(&d, nsec, handed);
	err = hand_out(&d, true);
	ret = ret ?: err;
	for (i = 0; i < d.nr; i++) {
		err = worker_join(&d.workers[i]);
		ret = ret ?: err;
	}
	if (!ret)
		ret = sum_up(&d, &handed->jobs);
	for (i = 0; i < d.nr; i++)
		worker_close(&d.workers[i]);
	ring_close(&d.ring);
	return ret;
}

/* Send one message, and keep how long its CQE took unless @samples is NULL. */
static int send_one(struct ring *ring, struct worker *w, __u64 job, struct samples *samples)
{
	int ret;

	fill_job(ring, w, job);
	ret = ring_send(ring, 1);
	if (!ret && samples)
		samples_add(samples, now() - job);
	return ret;
}

/* The periods that are over at @at of those that begin with @next. */
static __u64 periods_over(__u64 at, __u64 next, __u64 period)
{
	return at > next ? (at - next) / period : 0;
}

/* Send one a period for @nsec; adds how many were possible. */
static int send_part(struct ring *ring, struct worker *w, __u64 period, __u64 nsec,
		     struct samples *samples, __u64 *possible)
{
	__u64 start = now(), at = start, next = start, over;
	int ret = 0;

	while (!ret && next - start < nsec) {
		while (at < next)
			at = now();
		next += periods_over(at, next, period) * period;
		ret = send_one(ring, w, now(), samples);
		at = now();
		next += period;
		over = periods_over(at + period - 1, next, period);
		next += over * period;
		*possible += 1 + over;
	}
	return ret;
}

/* All parts and the STOP. */
static int send_paced(struct ring *ring, struct worker *w, __u64 period, __u64 nsec,
		      struct samples *samples, struct paced *paced)
{
	unsigned int i, share;
	int ret = 0, err;

	for (i = 0; !ret && i < TENTHS; i++) {
		__u64 sent = samples->nr, possible = 0;

		ret = send_part(ring, w, period, nsec / TENTHS, samples, &possible);
		share = (samples->nr - sent) * 1000 / possible;
		if (share > paced->best)
			paced->best = share;
		paced->possible += possible;
	}
	err = send_one(ring, w, STOP, NULL);
	return ret ?: err;
}

/* On a machine with fewer CPUs the thread stays where it may run. */
static void run_on(pthread_t thread, unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(thread, sizeof(set), &set);
}

/* Send a message each @period_us microseconds for @nsec to a thread that sleeps for them. */
int pace_run(unsigned int period_us, __u64 nsec, struct paced *paced)
{
	static const struct row row = { .setup = DEFER };
	static struct worker w;
	__u64 period = period_us * 1000ull;
	struct samples sent;
	struct ring ring;
	int ret = ring_open(&ring, &row);

	if (ret)
		return ret;
	memset(paced, 0, sizeof(*paced));
	ret = samples_open(&sent);
	if (!ret)
		ret = worker_open(&w, true);
	if (!ret) {
		int err;

		run_on(w.thread, 1);
		run_on(pthread_self(), 0);
		ret = send_paced(&ring, &w, period, nsec, &sent, paced);
		err = worker_join(&w);
		ret = ret ?: err;
		/* each that was sent arrives */
		if (!ret && w.samples.nr != sent.nr)
			ret = -EIO;
		paced->sender.nr = sent.nr;
		percentiles(sent.nsec, samples_kept(&sent), &paced->sender);
		paced->receiver.nr = w.samples.nr;
		percentiles(w.samples.nsec, samples_kept(&w.samples), &paced->receiver);
		worker_close(&w);
	}
	free(sent.nsec);
	ring_close(&ring);
	return ret;
}
