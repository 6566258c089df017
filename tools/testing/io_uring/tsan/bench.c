// SPDX-License-Identifier: GPL-2.0
/* io_uring tsan: what a message costs its sender and its receiver, without anything around it */
#include <sched.h>
#include <stdio.h>

#include "hand.h"

#define MESSAGES	4194304u
#define AHEAD		256u

/**
 * struct row - a line of the table
 * @name: what happens
 * @senders: threads that send; 0: one thread does both
 * @batch: messages that are sent, or waited for, together
 * @sleeps: the receiver sleeps for a batch, else it polls
 */
static const struct row {
	const char	*name;
	unsigned int	senders;
	unsigned int	batch;
	bool		sleeps;
} rows[] = {
	{ "one thread, 1 at a time",		0, 1, false },
	{ "one thread, 64 at a time",		0, 64, false },
	{ "1 sender, receiver polls",		1, 64, false },
	{ "1 sender, receiver sleeps for 64",	1, 64, true },
	{ "2 senders, receiver polls",		2, 64, false },
};

static struct ring receiver, senders[MAX_SENDERS];
static const struct row *row;
static unsigned long send_ns[MAX_SENDERS], receive_ns, runs;

/* Of threads the CPU time, so that it does not matter who else wants the CPU. */
static unsigned long now(void)
{
	struct timespec ts;

	clock_gettime(row->senders ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ul + ts.tv_nsec;
}

static void *bench_send(void *arg)
{
	unsigned int sender = (struct ring *)arg - senders;
	unsigned int i;
	u32 number;

	for (number = 0; number < MESSAGES / row->senders; number += row->batch) {
		unsigned long begin;

		while (number - READ_ONCE(receiver.next[sender]) > AHEAD)
			sched_yield();
		begin = now();
		for (i = 0; i < row->batch; i++)
			ring_send(arg, &receiver, sender, number + i);
		send_ns[sender] += now() - begin;
	}
	return NULL;
}

static void bench_receive(void)
{
	current = &receiver.owner;
	while (ring_posted(&receiver) < MESSAGES) {
		unsigned long begin;

		if (!row->sleeps && !io_mailbox_pending(&receiver.ctx.mailbox)) {
			sched_yield();
			continue;
		}
		begin = now();
		if (row->sleeps)
			ring_wait(&receiver, row->batch);
		else
			ring_run(&receiver);
		receive_ns += now() - begin;
		runs++;
	}
}

static void bench_alone(void)
{
	u32 number = 0;
	unsigned int i;

	while (number < MESSAGES) {
		unsigned long begin = now(), middle;

		for (i = 0; i < row->batch; i++)
			ring_send(&senders[0], &receiver, 0, number++);
		middle = now();
		ring_run(&receiver);
		receive_ns += now() - middle;
		send_ns[0] += middle - begin;
		runs++;
	}
}

static void bench_row(void)
{
	unsigned long sum = 0;
	pthread_t threads[MAX_SENDERS];
	unsigned int i, used = row->senders ?: 1;

	receive_ns = 0;
	runs = 0;
	ring_begin(&receiver);
	for (i = 0; i < used; i++) {
		send_ns[i] = 0;
		ring_begin(&senders[i]);
		if (row->senders)
			threads[i] = thread_start(bench_send, &senders[i]);
	}
	if (row->senders)
		bench_receive();
	else
		bench_alone();
	for (i = 0; i < used; i++) {
		if (row->senders)
			pthread_join(threads[i], NULL);
		sum += send_ns[i];
	}
	printf("%-36s %8.1f %10.1f %12.1f\n", row->name, (double)sum / MESSAGES,
	       (double)receive_ns / MESSAGES, (double)MESSAGES / runs);
	fflush(stdout);
	ring_end(&receiver);
	for (i = 0; i < used; i++)
		ring_end(&senders[i]);
}

int main(void)
{
	unsigned long begin, i;

	row = &rows[2];
	begin = now();
	for (i = 0; i < 1000000; i++)
		now();
	printf("nanoseconds a message; a batch has two readings of the clock in it, of %.0f ns\n",
	       (now() - begin) / 1e6);
	printf("%-36s %8s %10s %12s\n", "", "sender", "receiver", "in one run");
	for (row = rows; row < rows + sizeof(rows) / sizeof(*rows); row++)
		bench_row();
	return 0;
}
