/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: mailboxes, work for another context, first in first out */
#ifndef IO_RING_MAILBOX_H
#define IO_RING_MAILBOX_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

/*
 * Any context may push.  One context takes all items at once and handles them in the
 * order of arrival.  One word holds the youngest item, from which ->next leads to older
 * items, and three marks, so that each push is a single atomic operation:
 *
 * IO_MAILBOX_ARMED
 *	the consumer sleeps, and is to be woken after mailbox.missing more items.
 *	It arms only an empty mailbox, by a compare-and-exchange on the word that
 *	each push changes.  So either the consumer finds the item before it sleeps,
 *	or the push finds the mark.  Only a push that finds the mark needs a second
 *	atomic operation, the count.
 * IO_MAILBOX_DEAD
 *	the consumer is gone, and a push fails: the pusher passes its item to
 *	another context.  Only io_owner_mailbox_reopen() clears this mark.
 * IO_MAILBOX_LEFTOVER
 *	the consumer has not run all items that it took (ctx->leftover).  The mailbox
 *	counts as not empty: the consumer does not sleep, and poll(2) reports EPOLLIN.
 *
 * Pushers do not dereference other items, so the consumer may free the items that it has taken.
 */
#define IO_MAILBOX_ARMED	1UL
#define IO_MAILBOX_DEAD	2UL
#define IO_MAILBOX_LEFTOVER	4UL
#define IO_MAILBOX_MARKS	(IO_MAILBOX_ARMED | IO_MAILBOX_DEAD | IO_MAILBOX_LEFTOVER)

/**
 * io_mailbox_push_chain - push a list of items into a mailbox
 * @box: the mailbox
 * @first: first item; ->next links the others
 * @last: last item, may be @first
 *
 * The items belong to the consumer unless the result has IO_MAILBOX_DEAD set.  A list of
 * several items arrives in reverse order.
 *
 * A push is fully ordered: after the stores to the items, and before later checks of the
 * caller.  Model: PUSH.
 *
 * Context: Any.
 *
 * Return: the old word: without a pointer if the mailbox was empty, with
 * IO_MAILBOX_ARMED if the consumer sleeps, with IO_MAILBOX_DEAD if the push was
 * refused.
 */
static inline unsigned long io_mailbox_push_chain(struct io_mailbox *box, struct io_tw *first,
						  struct io_tw *last)
{
	unsigned long old = READ_ONCE(box->head);

	do {
		if (unlikely(old & IO_MAILBOX_DEAD))
			return old;
		last->next = (struct io_tw *)(old & ~IO_MAILBOX_MARKS);
	} while (!try_cmpxchg(&box->head, &old, (unsigned long)first | (old & IO_MAILBOX_MARKS)));
	return old;
}

/* Push a single item. */
static inline unsigned long io_mailbox_push(struct io_mailbox *box, struct io_tw *tw)
{
	return io_mailbox_push_chain(box, tw, tw);
}

/*
 * Push an item if the mailbox has no mark.  Return: the old word; if this has a mark,
 * the item was not pushed.
 */
static inline unsigned long io_mailbox_push_fast(struct io_mailbox *box, struct io_tw *tw)
{
	unsigned long old = READ_ONCE(box->head);

	do {
		if (unlikely(old & IO_MAILBOX_MARKS))
			return old;
		tw->next = (struct io_tw *)old;
	} while (!try_cmpxchg(&box->head, &old, (unsigned long)tw));
	return old;
}

static inline bool io_mailbox_was_empty(unsigned long old)
{
	return !(old & ~IO_MAILBOX_MARKS);
}

static inline bool io_mailbox_pending(const struct io_mailbox *box)
{
	return READ_ONCE(box->head) & ~(IO_MAILBOX_ARMED | IO_MAILBOX_DEAD);
}

/* Return: the youngest item, which ->next links to older items.  Only the consumer calls this. */
static inline struct io_tw *io_mailbox_youngest(const struct io_mailbox *box)
{
	return (struct io_tw *)(READ_ONCE(box->head) & ~IO_MAILBOX_MARKS);
}

/* Return: true if the consumer has not run all items that it took. */
static inline bool io_mailbox_leftover(const struct io_mailbox *box)
{
	return READ_ONCE(box->head) & IO_MAILBOX_LEFTOVER;
}

static inline bool io_mailbox_dead(const struct io_mailbox *box)
{
	return READ_ONCE(box->head) & IO_MAILBOX_DEAD;
}

/* Count an item for a sleeping consumer.  Return: true if no item is missing any more. */
static inline bool io_tw_completes(struct io_mailbox *box)
{
	return atomic_dec_and_test(&box->missing);
}

/**
 * io_mailbox_arm - prepare the consumer to sleep
 * @box: the mailbox
 * @nr: items to wait for, at least 1
 *
 * Called by the consumer, after it has set its task state.  On success this is fully ordered:
 * after the stores to the state and the count, and before later checks of the consumer.
 * Model: ARM.
 *
 * Return: true if the mailbox is armed; false if it has items or a mark.
 */
static inline bool io_mailbox_arm(struct io_mailbox *box, int nr)
{
	unsigned long empty = 0;

	atomic_set(&box->missing, nr);
	return try_cmpxchg(&box->head, &empty, IO_MAILBOX_ARMED);
}

/* Disarm a mailbox whose consumer is awake again; io_mailbox_take() disarms as well. */
static inline void io_mailbox_disarm(struct io_mailbox *box)
{
	unsigned long armed = IO_MAILBOX_ARMED;

	try_cmpxchg(&box->head, &armed, 0);
}

struct io_tw *io_mailbox_take(struct io_mailbox *box);
struct io_tw *io_mailbox_close(struct io_mailbox *box);

void io_taskrun_update(struct io_ring_ctx *ctx, const struct io_mailbox *box);

/*
 * The rule for wake-ups: an owner that waits for n CQEs must not sleep once n CQEs could be
 * posted.  The owner sleeps until n items have arrived.  An item may be only counted if it
 * causes at most one CQE, and no other CQE depends on its run.  All other items wake the owner
 * at once: items pushed with IO_PUSH_NOW (a retry, an item before others in a chain, or one that
 * holds the last reference to a file), and items that may cause further CQEs in the present state
 * of the ring (io_ring_is_urgent()).
 * A worker may wake the owner too early, once in each wait (io_notify_early()).
 */

/* flags of a push */
#define IO_PUSH_NOW	BIT(0)	/* wake a sleeping owner even if it waits for more items */
#define IO_PUSH_LATE	BIT(1)	/* inside the wake-up of a ring: notify the listeners later */
#define IO_PUSH_NOTIFIED	BIT(2)	/* inside the signal of the ring's own eventfd */
#define IO_PUSH_REQ	BIT(3)	/* the item is a request, and drained requests may wait for it */
#define IO_PUSH_NODES	BIT(4)	/* the item holds nodes, whose tags may be posted */

void io_owner_mailbox_pushed(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned long old,
			     unsigned int push_flags);

/**
 * io_owner_mailbox_push - hand an item to the owner of a single-writer ring
 * @ctx: the ring, kept alive by the item
 * @tw: the item, with ->run set
 * @push_flags: IO_PUSH_*
 *
 * If the owner sleeps, this wakes the owner once enough items have arrived.
 *
 * Context: Any.
 */
static inline void io_owner_mailbox_push(struct io_ring_ctx *ctx, struct io_tw *tw,
					 unsigned int push_flags)
{
	unsigned long old;

	guard(rcu)();
	old = io_mailbox_push(&ctx->mailbox, tw);
	if (io_mailbox_was_empty(old) || old & IO_MAILBOX_MARKS)
		io_owner_mailbox_pushed(ctx, tw, old, push_flags);
}

/* longest pause of io_ring_yield(), in jiffies */
#define IO_GIVE_WAY	(HZ / 100 + 2)

void io_owner_wake_recount(struct io_ring_ctx *ctx);
struct io_tw *io_owner_mailbox_take(struct io_ring_ctx *ctx);
void io_owner_mailbox_requeue(struct io_ring_ctx *ctx, struct io_tw *tw);
void io_owner_mailbox_close(struct io_ring_ctx *ctx);
void io_owner_mailbox_reopen(struct io_ring_ctx *ctx);
void io_fallback_push(struct io_ring_ctx *ctx, struct io_tw *tw);
void io_fallback_kick(struct io_ring_ctx *ctx);
void io_ring_yield(struct io_ring_ctx *ctx);
struct io_tw *io_fallback_take(struct io_ring_ctx *ctx);

#endif
