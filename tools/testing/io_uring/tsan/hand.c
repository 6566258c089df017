// SPDX-License-Identifier: GPL-2.0
/* io_uring tsan: what surrounds mailbox and store: sender, receiver, fallback worker */
#include <string.h>

#include "hand.h"

/* What rings without listeners do not call. */
void io_notify_listeners(struct io_ring_ctx *ctx)
{
	(void)ctx;
	fail("the ring has no listeners");
}

/* No thread of this program is a worker. */
bool io_notify_try_early(struct io_ring_ctx *ctx, struct task_struct *waiter)
{
	(void)ctx;
	(void)waiter;
	return false;
}

void io_notify_listeners_late(struct io_ring_ctx *ctx, bool told)
{
	(void)told;
	io_notify_listeners(ctx);
}

void io_cq_commit_shared(struct io_ring_ctx *ctx)
{
	io_notify_listeners(ctx);
}

void io_cq_tell(struct io_ring_ctx *ctx, bool sleepers)
{
	(void)sleepers;
	io_notify_listeners(ctx);
}

static void go_home(struct ring *ring)
{
	if (ring->home_first)
		io_entry_put_chain(ring->home_first, ring->home_last);
	ring->home_first = NULL;
}

/* In the place of io_post_entries(): look at the message, collect entries of the same home. */
static void message_run(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct ring *ring = container_of(ctx, struct ring, ctx);
	struct io_cqe_entry *entry = io_tw_to_entry(tw);
	unsigned int sender = entry->val.user_data;

	(void)issue_flags;
	if (sender >= MAX_SENDERS)
		fail("a message that no thread has sent");
	if (entry->val.flags != ring->next[sender])
		fail("a message is lost, comes twice, or not in its order");
	WRITE_ONCE(ring->next[sender], entry->val.flags + 1);
	ctx->cq.tail++;
	if (ring->home_first && entry->store && ring->home_last->store == entry->store) {
		ring->home_last->tw.next = &entry->tw;
	} else {
		go_home(ring);
		ring->home_first = entry;
	}
	ring->home_last = entry;
}

/* The lock is held. */
static void run_list(struct ring *ring, struct io_tw *tw)
{
	if (ring->running)
		fail("two run messages at once");
	ring->running = true;
	while (tw) {
		struct io_tw *next = tw->next;

		tw->run(&ring->ctx, tw, 0);
		tw = next;
	}
	go_home(ring);
	ring->running = false;
}

static void fallback_work(struct work_struct *work)
{
	struct io_ring_ctx *ctx = container_of(work, struct io_ring_ctx, fallback.work.work);

	io_ring_lock(ctx);
	run_list(container_of(ctx, struct ring, ctx), io_fallback_take(ctx));
	io_ring_unlock(ctx);
}

/* A single-writer ring, whose owner is the caller of ring_wait(). */
void ring_begin(struct ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	pthread_mutex_init(&ring->ctx.uring_lock.mutex.m, NULL);
	ring->ctx.rings = &ring->rings;
	ring->ctx.cq.single_writer = true;
	ring->ctx.submitter_task = &ring->owner;
	ring->worker = work_start(&ring->ctx.fallback.work, fallback_work);
}

/* As the exit worker: no task sends here any more; perhaps the owner has closed it, perhaps not. */
void ring_end(struct ring *ring)
{
	struct io_ring_ctx *ctx = &ring->ctx;

	io_ring_lock(ctx);
	io_owner_mailbox_close(ctx);
	io_ring_unlock(ctx);
	work_stop(&ctx->fallback.work, ring->worker);
	fallback_work(&ctx->fallback.work.work);
	io_ring_lock(ctx);
	io_entry_store_free(ctx);
	io_ring_unlock(ctx);
}

/* As io_req_push_fast(). */
static void push_fast(struct io_ring_ctx *ctx, struct io_tw *tw)
{
	unsigned long old;

	guard(rcu)();
	old = io_mailbox_push_fast(&ctx->mailbox, tw);
	if (old & IO_MAILBOX_MARKS)
		io_owner_mailbox_push(ctx, tw, 0);
	else if (!old)
		io_owner_mailbox_pushed(ctx, tw, old, 0);
}

/* Each sender goes both ways. */
void ring_send(struct ring *from, struct ring *to, unsigned int sender, u32 number)
{
	struct io_cqe_entry *entry = io_entry_get(&from->ctx);

	if (!entry)
		fail("no memory");
	entry->val.user_data = sender;
	entry->val.flags = number;
	entry->tw.run = message_run;
	if (number % 4)
		push_fast(&to->ctx, &entry->tw);
	else
		io_owner_mailbox_push(&to->ctx, &entry->tw, 0);
}

/* The owner runs what is there. */
void ring_run(struct ring *ring)
{
	io_ring_lock(&ring->ctx);
	run_list(ring, io_mailbox_take(&ring->ctx.mailbox));
	io_ring_unlock(&ring->ctx);
}

/* The owner sleeps until @nr more messages were posted: as sys/wait.c, but without times. */
void ring_wait(struct ring *ring, unsigned int nr)
{
	struct io_mailbox *box = &ring->ctx.mailbox;
	u32 target = ring_posted(ring) + nr;

	for (;;) {
		bool slept;

		set_current_state(TASK_INTERRUPTIBLE);
		slept = io_mailbox_arm(box, target - ring_posted(ring));
		if (slept)
			schedule();
		set_current_state(TASK_RUNNING);
		io_mailbox_disarm(box);
		if (io_mailbox_pending(box))
			ring_run(ring);
		if ((s32)(ring_posted(ring) - target) >= 0)
			return;
		if (slept)
			WRITE_ONCE(ring->early, ring->early + 1);
	}
}
