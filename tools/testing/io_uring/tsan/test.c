// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring tsan: messages between threads, by the kernel's own mailbox and store
 *
 *	test MESSAGES [SECONDS]
 *
 * Each test is a process of its own; one that gets no further for SECONDS has failed.  With SECONDS
 * the first that fails is the last: that is enough of a variant that is broken on purpose.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hand.h"

#define SENDERS		3
#define RECEIVERS	2
#define BURST		25
/* more than a store has */
#define AHEAD		(2 * IO_ENTRY_STORE)

static struct ring receivers[RECEIVERS], senders[SENDERS];
static unsigned long messages;
static unsigned int patience;
static unsigned long progress;

static unsigned int some(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static void tick(void)
{
	__atomic_add_fetch(&progress, 1, __ATOMIC_RELAXED);
}

static void *watch(void *arg)
{
	unsigned long before = READ_ONCE(progress);
	unsigned int still;

	for (still = 0; still < patience; still++) {
		sleep(1);
		if (READ_ONCE(progress) != before)
			still = 0;
		before = READ_ONCE(progress);
	}
	(void)arg;
	fail("a sleeper is not woken");
}

static void begin_all(void)
{
	int i;

	for (i = 0; i < RECEIVERS; i++)
		ring_begin(&receivers[i]);
	for (i = 0; i < SENDERS; i++)
		ring_begin(&senders[i]);
}

static void end_all(void)
{
	int i;

	for (i = 0; i < RECEIVERS; i++)
		ring_end(&receivers[i]);
	for (i = 0; i < SENDERS; i++)
		ring_end(&senders[i]);
	if (objects_left())
		fail("entries or stores are left over");
}

/* All rings, each with a thread of its own, from their begin to their end. */
static void run_all(void *(*send)(void *arg), void *(*receive)(void *arg))
{
	pthread_t threads[RECEIVERS + SENDERS];
	int i;

	begin_all();
	for (i = 0; i < RECEIVERS; i++)
		threads[i] = thread_start(receive, &receivers[i]);
	for (i = 0; i < SENDERS; i++)
		threads[RECEIVERS + i] = thread_start(send, &senders[i]);
	for (i = 0; i < RECEIVERS + SENDERS; i++)
		pthread_join(threads[i], NULL);
	end_all();
}

/* Everybody to everybody, in bursts, not too far ahead; receivers sleep for a few. */
static unsigned long order_each(void)
{
	return messages / (SENDERS * RECEIVERS * BURST) * BURST + BURST;
}

static void *order_send(void *arg)
{
	struct ring *from = arg;
	unsigned int sender = from - senders;
	u32 number = 0;

	while (number < order_each()) {
		unsigned int i, r;

		for (r = 0; r < RECEIVERS; r++)
			for (i = 0; i < BURST; i++)
				ring_send(from, &receivers[r], sender, number + i);
		number += BURST;
		for (r = 0; r < RECEIVERS; r++)
			while (number - READ_ONCE(receivers[r].next[sender]) > AHEAD)
				sched_yield();
	}
	return NULL;
}

static void *order_receive(void *arg)
{
	struct ring *ring = arg;
	unsigned long left, all = SENDERS * order_each();
	unsigned int seed = ring - receivers;

	current = &ring->owner;
	while ((left = all - ring_posted(ring))) {
		unsigned int nr = 1 + some(&seed, 32);

		ring_wait(ring, nr < left ? nr : left);
		tick();
	}
	return NULL;
}

static void order(void)
{
	run_all(order_send, order_receive);
}

/* A round: as many messages as one receiver sleeps for.  It has to be woken once, by the last. */
static unsigned int wait_round, wait_done;
static bool wait_asleep;

static unsigned long wait_rounds(void)
{
	return messages / 100 + 1;
}

static void *wait_send(void *arg)
{
	struct ring *from = arg;
	unsigned int round, i, number = 0;

	for (round = 1; round <= wait_rounds(); round++) {
		/* after what the receiver has prepared */
		while (smp_load_acquire(&wait_round) != round)
			sched_yield();
		/* every other round begins when the receiver has armed */
		while (wait_asleep && !READ_ONCE(receivers[0].ctx.mailbox.head))
			sched_yield();
		for (i = 0; i <= round % 4; i++)
			ring_send(from, &receivers[0], from - senders, number++);
		__atomic_add_fetch(&wait_done, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *wait_receive(void *arg)
{
	struct ring *ring = arg;
	unsigned int round, nr;

	current = &ring->owner;
	for (round = 1; ring == receivers && round <= wait_rounds(); round++) {
		nr = SENDERS * (round % 4 + 1);
		ring->owner.wakes = 0;
		wait_asleep = round & 1;
		/* before senders begin */
		smp_store_release(&wait_round, round);
		ring_wait(ring, nr);
		/* after they have done with the ring */
		while (smp_load_acquire(&wait_done) != SENDERS * round)
			sched_yield();
		if (ring->early)
			fail("a sleeper is woken before all is there");
		if (READ_ONCE(ring->owner.wakes) > 1)
			fail("a sleeper is woken twice");
		if (wait_asleep && !READ_ONCE(ring->owner.wakes))
			fail("a sleeper was there before anything else and is not woken");
		tick();
	}
	return NULL;
}

static void wakes(void)
{
	run_all(wait_send, wait_receive);
}

/* Both sides end when they like.  What was sent is posted, by the owner or after it. */
#define END_ROUNDS	20000

static u32 end_sent[SENDERS][RECEIVERS];
static unsigned int end_round;

static void *end_send(void *arg)
{
	struct ring *from = arg;
	unsigned int sender = from - senders;
	unsigned int seed = end_round * SENDERS + sender;
	unsigned int nr = some(&seed, end_round % 16 ? 200 : 3 * IO_ENTRY_STORE);
	unsigned int r = 0;

	while (nr--) {
		if (!some(&seed, 8))
			r = some(&seed, RECEIVERS);
		ring_send(from, &receivers[r], sender, end_sent[sender][r]++);
	}
	io_ring_lock(&from->ctx);
	io_entry_store_free(&from->ctx);
	io_ring_unlock(&from->ctx);
	return NULL;
}

static void *end_receive(void *arg)
{
	struct ring *ring = arg;
	unsigned int seed = end_round * RECEIVERS + (ring - receivers);
	unsigned int nr = some(&seed, 40), i;

	current = &ring->owner;
	while (nr--) {
		if (io_mailbox_pending(&ring->ctx.mailbox))
			ring_run(ring);
		else if (!some(&seed, 4))
			sched_yield();
	}
	/* every other task goes, with messages that it has not seen; the rest stays */
	if (some(&seed, 2)) {
		for (i = 0; i < 1000 && !io_mailbox_pending(&ring->ctx.mailbox); i++)
			sched_yield();
		io_owner_mailbox_close(&ring->ctx);
	}
	return NULL;
}

static void leave(void)
{
	unsigned int rounds = messages / 200 + 1;
	int s, r;

	/* a round is five threads, which take longer than what they say */
	if (rounds > END_ROUNDS)
		rounds = END_ROUNDS;

	for (end_round = 0; end_round < rounds; end_round++) {
		for (s = 0; s < SENDERS; s++)
			for (r = 0; r < RECEIVERS; r++)
				end_sent[s][r] = 0;
		run_all(end_send, end_receive);
		for (s = 0; s < SENDERS; s++)
			for (r = 0; r < RECEIVERS; r++)
				if (receivers[r].next[s] != end_sent[s][r])
					fail("messages are lost when a ring ends");
		tick();
	}
}

static bool passes(const char *name, void (*func)(void))
{
	bool passed;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		pthread_detach(thread_start(watch, NULL));
		func();
		/* with what the sanitizer has found as status */
		exit(0);
	}
	passed = pid > 0 && waitpid(pid, &status, 0) == pid && !status;
	printf("%s %s\n", passed ? "ok     " : "not ok ", name);
	return passed;
}

static const struct {
	const char	*name;
	void		(*func)(void);
} tests[] = {
	{ "order: nothing lost, nothing twice, each sender's in order", order },
	{ "wakes: a sleeper is woken once, when all is there", wakes },
	{ "ends: senders and receivers go at any moment", leave },
	{ NULL, NULL }
};

int main(int argc, char **argv)
{
	unsigned int i, passed = 0, failed = 0;

	messages = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
	patience = argc > 2 ? atoi(argv[2]) : 20;
	for (i = 0; tests[i].func && !(failed && argc > 2); i++) {
		if (passes(tests[i].name, tests[i].func))
			passed++;
		else
			failed++;
	}
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	return failed > 0;
}
