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
 * All contexts may push.  One context takes everything at once and handles it in
 * the order of arrival.  One word holds the youngest item and three
 * marks, so that each push is a single atomic operation:
 *
 * IO_MAILBOX_ARMED
 *	the consumer sleeps and wants to be woken after mailbox.missing more items.
 *	It arms an empty mailbox only, by a compare-and-exchange on the word that
 *	pushes go through: a push is either seen by the consumer before it sleeps,
 *	or sees the mark.  Only then a second atomic operation, the count, is
 *	spent.
 * IO_MAILBOX_DEAD
 *	the consumer is gone for good.  Nothing can be pushed any more; the pusher
 *	takes its item elsewhere.
 * IO_MAILBOX_LEFTOVER
 *	the consumer has not run all that it took (ctx->leftover).  The mailbox counts as
 *	one with items, so the consumer does not sleep, and polls find it ready.
 *
 * Items are not looked at by other pushers, so the consumer may free them as soon as it has them.
 */
#define IO_MAILBOX_ARMED	1UL
#define IO_MAILBOX_DEAD	2UL
#define IO_MAILBOX_LEFTOVER	4UL
#define IO_MAILBOX_MARKS	(IO_MAILBOX_ARMED | IO_MAILBOX_DEAD | IO_MAILBOX_LEFTOVER)

/**
 * io_mailbox_push_chain - put items into a mailbox
 * @box: the mailbox
 * @first: first item; those behind it are linked by ->next
 * @last: last item, may be @first
 *
 * Any context.  They belong to the consumer unless the result has IO_MAILBOX_DEAD set.
 * A chain of several arrives in the reverse of its order.
 *
 * Return: the word as it was before: no pointer in it says that the mailbox was
 * empty, IO_MAILBOX_ARMED that the consumer sleeps, IO_MAILBOX_DEAD that
 * nothing was taken.
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
 * Push an item if the consumer is there and does not sleep.  Return: the old word;
 * with a mark in it nothing was pushed.
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

/* The item that came last, those before it are linked by ->next; for the consumer. */
static inline struct io_tw *io_mailbox_youngest(const struct io_mailbox *box)
{
	return (struct io_tw *)(READ_ONCE(box->head) & ~IO_MAILBOX_MARKS);
}

/* Has the consumer left some of what it took? */
static inline bool io_mailbox_leftover(const struct io_mailbox *box)
{
	return READ_ONCE(box->head) & IO_MAILBOX_LEFTOVER;
}

static inline bool io_mailbox_dead(const struct io_mailbox *box)
{
	return READ_ONCE(box->head) & IO_MAILBOX_DEAD;
}

/* Count an arrival for a sleeping consumer: is it the one that it waits for? */
static inline bool io_tw_completes(struct io_mailbox *box)
{
	return atomic_dec_and_test(&box->missing);
}

/**
 * io_mailbox_arm - prepare the consumer to sleep
 * @box: the mailbox
 * @nr: items to wait for, at least 1
 *
 * The consumer's state is set already.
 *
 * Return: false if there is something to take, then nothing was armed.
 */
static inline bool io_mailbox_arm(struct io_mailbox *box, int nr)
{
	unsigned long empty = 0;

	atomic_set(&box->missing, nr);
	return try_cmpxchg(&box->head, &empty, IO_MAILBOX_ARMED);
}

/* The consumer is awake again; taking disarms as well. */
static inline void io_mailbox_disarm(struct io_mailbox *box)
{
	unsigned long armed = IO_MAILBOX_ARMED;

	try_cmpxchg(&box->head, &armed, 0);
}

struct io_tw *io_mailbox_take(struct io_mailbox *box);
struct io_tw *io_mailbox_close(struct io_mailbox *box);

void io_taskrun_update(struct io_ring_ctx *ctx, const struct io_mailbox *box);

/*
 * The rule of wakes: an owner that sleeps for CQEs is woken at least once for each
 * CQE that will come.  It sleeps for a number of items, so an item that is only
 * counted makes at most one CQE, and nothing else waits for it to be run.  All
 * others force the wake: those that are pushed with IO_PUSH_NOW, because they have to
 * run for anything to come (a retry, a chain), and those that may make a second
 * CQE by what the ring has at the time (io_ring_is_urgent()).
 */

/* What a push asks for besides delivery. */
#define IO_PUSH_NOW	BIT(0)	/* wake a sleeping owner even if it waits for more items */
#define IO_PUSH_LATE	BIT(1)	/* some ring's listeners are being woken: tell ours afterwards */
#define IO_PUSH_NOTIFIED	BIT(2)	/* it is the ring's own eventfd that is being signalled */
#define IO_PUSH_REQ	BIT(3)	/* a request, which may end: drained ones wait for that */
#define IO_PUSH_NODES	BIT(4)	/* a request with registered resources, whose tags may come */

void io_owner_mailbox_pushed(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned long old,
			     unsigned int push_flags);

/**
 * io_owner_mailbox_push - hand an item to the owner of a single-writer ring
 * @ctx: the ring, kept alive by the item
 * @tw: the item, with ->run set
 * @push_flags: IO_PUSH_*
 *
 * Any context.  Wakes an owner that waits for CQEs when enough items are there.
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

/* jiffies for which a call lets those pass who only try for the ring lock */
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
