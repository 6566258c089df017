/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring tsan: rings that send and receive messages, in user space */
#ifndef TSAN_HAND_H
#define TSAN_HAND_H

#include "kernel.h"
#include "ring/entry.h"
#include "ring/mailbox.h"

#define MAX_SENDERS	4

/**
 * struct ring - a ring that sends or receives
 * @ctx: as the kernel knows it
 * @rings: its shared words; the tail counts the messages that were posted
 * @owner: the receiving task
 * @worker: its fallback worker
 * @next: receiver: number of each sender's next message
 * @home_first: receiver: entries that go home together
 * @home_last: the last of them
 * @running: receiver: a thread runs messages
 * @early: receiver: sleeps that ended before all was there
 */
struct ring {
	struct io_ring_ctx	ctx;
	struct io_rings		rings;
	struct task_struct	owner;
	pthread_t		worker;
	u32			next[MAX_SENDERS];
	struct io_cqe_entry	*home_first;
	struct io_cqe_entry	*home_last;
	bool			running;
	unsigned int		early;
};

void ring_begin(struct ring *ring);
void ring_end(struct ring *ring);
void ring_send(struct ring *from, struct ring *to, unsigned int sender, u32 number);
void ring_run(struct ring *ring);
void ring_wait(struct ring *ring, unsigned int nr);

static inline u32 ring_posted(struct ring *ring)
{
	return READ_ONCE(ring->rings.cq_tail);
}

long objects_left(void);
pthread_t work_start(struct delayed_work *work, void (*func)(struct work_struct *work));
void work_stop(struct delayed_work *work, pthread_t thread);
pthread_t thread_start(void *(*func)(void *arg), void *arg);
void fail(const char *what) __attribute__((noreturn));

#endif
