// SPDX-License-Identifier: GPL-2.0
/* io_uring: mailboxes, work for another context, first in first out */

/*
 * What a mailbox is stands in mailbox.h.  Here: taking, and the two mailboxes of a ring.
 *
 * ctx->mailbox belongs to single-writer rings (DEFER_TASKRUN).  Its consumer is the
 * owner, who drains it when it enters the ring; the first item after a drain is
 * announced by SQ_TASKRUN, eventfd and poll, because no CQE can appear before
 * the owner has come.
 *
 * ctx->fallback.items takes items whose task is gone.  A kworker drains it, after
 * what a single-writer ring's owner has left in the mailbox.  It never waits for the
 * ring lock, since it serves everybody: it tries, and comes back a little later.
 *
 * An owner that executes another program leaves the ring, but may come back to it
 * if it has kept the descriptor: then its mailbox is opened again.
 *
 * A pushed request may complete, and with it the ring may go, while the pusher
 * still looks at the ring: pushes run under RCU, and the ring's memory is freed
 * after a grace period.
 */
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "ring/locks.h"
#include "ring/mailbox.h"
#include "ring/notify.h"

/* The list comes youngest first; hand it out in the order of arrival. */
static struct io_tw *io_mailbox_oldest_first(unsigned long word)
{
	struct io_tw *tw = (struct io_tw *)(word & ~IO_MAILBOX_MARKS);
	struct io_tw *first = NULL;

	while (tw) {
		struct io_tw *older = tw->next;

		tw->next = first;
		first = tw;
		tw = older;
	}
	return first;
}

/**
 * io_mailbox_take - take everything
 * @box: a mailbox that is not dead
 *
 * Called by the consumer; disarms.
 *
 * Return: the items, oldest first.
 */
struct io_tw *io_mailbox_take(struct io_mailbox *box)
{
	return io_mailbox_oldest_first(xchg(&box->head, 0));
}

/**
 * io_mailbox_close - take everything and let nothing in any more
 * @box: the mailbox
 *
 * Return: the items, oldest first.
 */
struct io_tw *io_mailbox_close(struct io_mailbox *box)
{
	return io_mailbox_oldest_first(xchg(&box->head, IO_MAILBOX_DEAD));
}

/**
 * io_fallback_kick - let the fallback work run now
 * @ctx: the ring, kept alive by the caller
 *
 * Any context.
 */
void io_fallback_kick(struct io_ring_ctx *ctx)
{
	mod_delayed_work(system_unbound_wq, &ctx->fallback.work, 0);
}

/**
 * io_ring_yield - let those have the ring lock before current who only try for it
 * @ctx: the ring, its lock not held by current
 *
 * These are the fallback work, and tasks that exit or exec.  A task that submits without a
 * pause leaves the lock alone too briefly for them: on a virtual machine the work waited for
 * six seconds, and an exec for fourteen.  While they ask for it (io_ring_try()), each call
 * pauses until one of them has had the lock, for IO_GIVE_WAY jiffies at most.  Task context,
 * sleeps.
 */
void io_ring_yield(struct io_ring_ctx *ctx)
{
	unsigned int left;

	if (likely(!READ_ONCE(ctx->stops.starved)))
		return;
	io_fallback_kick(ctx);
	for (left = IO_GIVE_WAY; left && READ_ONCE(ctx->stops.starved); left--)
		schedule_timeout_killable(1);
}

/**
 * io_fallback_push - hand an item whose task is gone to the fallback worker
 * @ctx: the ring, kept alive by the item or by RCU
 * @tw: the item
 *
 * The worker comes a jiffy later: a program that has caused the item finds the ring as its
 * owner has left it, and what else it causes goes the same way together.  liburing's
 * defer-taskrun looks for it.  A worker that comes earlier anyway is not put off.
 *
 * Any context.
 */
void io_fallback_push(struct io_ring_ctx *ctx, struct io_tw *tw)
{
	guard(rcu)();
	if (io_mailbox_was_empty(io_mailbox_push(&ctx->fallback.items, tw)))
		queue_delayed_work(system_unbound_wq, &ctx->fallback.work, 1);
}

/**
 * io_owner_mailbox_close - let no more items into a single-writer ring's mailbox
 * @ctx: the ring; called by its owner, or with its lock held
 *
 * Later pushes go to the fallback worker.  Items that are in the mailbox stay until
 * that worker fetches them: moved here, they could come behind later pushes of the
 * same senders.
 */
void io_owner_mailbox_close(struct io_ring_ctx *ctx)
{
	unsigned long old = READ_ONCE(ctx->mailbox.head);

	while (!try_cmpxchg(&ctx->mailbox.head, &old, (old & ~IO_MAILBOX_MARKS) | IO_MAILBOX_DEAD))
		;
	if (!io_mailbox_was_empty(old) || old & IO_MAILBOX_LEFTOVER)
		io_fallback_kick(ctx);
}

/* One list behind the other. */
static struct io_tw *io_mailbox_join(struct io_tw *first, struct io_tw *then)
{
	struct io_tw **end = &first;

	while (*end)
		end = &(*end)->next;
	*end = then;
	return first;
}

/**
 * io_fallback_take - take what the fallback worker has to run
 * @ctx: the ring, its lock held
 *
 * Return: the items, oldest first, those of a closed mailbox before all others.
 */
struct io_tw *io_fallback_take(struct io_ring_ctx *ctx)
{
	/* in this order: what is here came after the mailbox was closed */
	struct io_tw *late = io_mailbox_take(&ctx->fallback.items);
	struct io_tw *first = NULL;

	if (ctx->cq.single_writer && io_mailbox_dead(&ctx->mailbox)) {
		/* what its owner has left came before what it has not taken */
		first = io_mailbox_join(ctx->leftover, io_mailbox_close(&ctx->mailbox));
		ctx->leftover = NULL;
	}
	return io_mailbox_join(first, late);
}

/**
 * io_ring_run_ready - run what was put on ctx->ready.first
 * @ctx: the ring, its lock held
 *
 * Items get there from a context that may run them itself, just not at once;
 * they may put further ones there, for as long as a chain is.  So others get the CPU
 * in between, and what a killed task has left there is not begun any more.
 */
void io_ring_run_ready(struct io_ring_ctx *ctx)
{
	unsigned int flags = IO_URING_F_COMPLETE_DEFER;

	while (ctx->ready.first) {
		struct io_tw *tw = ctx->ready.first;

		if (unlikely(need_resched())) {
			cond_resched();
			if (fatal_signal_pending(current))
				flags |= IO_URING_F_TASK_DEAD;
		}
		ctx->ready.first = tw->next;
		if (!ctx->ready.first)
			ctx->ready.tail = &ctx->ready.first;
		tw->run(ctx, tw, flags);
	}
}

/**
 * io_taskrun_update - let IORING_SQ_TASKRUN say whether there is something in a mailbox
 * @ctx: a ring that wants the flag
 * @box: the mailbox that its work waits in
 *
 * Called after a push, and after all was taken.  These race, and a flag that is wrong would
 * stay: one that is up costs a program that spins on it a system call each time.  So
 * both look once more, and who changes the flag last has seen the mailbox as it is.
 */
void io_taskrun_update(struct io_ring_ctx *ctx, const struct io_mailbox *box)
{
	bool pending;

	do {
		pending = io_mailbox_pending(box);
		if (pending)
			atomic_or(IORING_SQ_TASKRUN, &ctx->rings->sq_flags);
		else
			atomic_andnot(IORING_SQ_TASKRUN, &ctx->rings->sq_flags);
		/* the flag, then the look; pairs with itself, behind the other's push or take */
		smp_mb__after_atomic();
	} while (io_mailbox_pending(box) != pending);
}

/* Only the owner makes CQEs of pushed items: notify it. */
static void io_ring_announce(struct io_ring_ctx *ctx, unsigned int push_flags)
{
	unsigned long listeners = READ_ONCE(ctx->listeners);

	if (ctx->flags & IORING_SETUP_TASKRUN_FLAG)
		io_taskrun_update(ctx, &ctx->mailbox);
	if (likely(!listeners))
		return;
	if (unlikely(push_flags & IO_PUSH_LATE))
		io_notify_listeners_late(ctx, push_flags & IO_PUSH_NOTIFIED &&
					 !(listeners & BIT(IO_LISTEN_POLL)));
	else
		io_notify_listeners(ctx);
}

/**
 * io_owner_mailbox_take - take what is to be run next
 * @ctx: a single-writer ring, its lock held by its owner
 *
 * Return: what was left before, else all that is in the mailbox; oldest first.
 */
struct io_tw *io_owner_mailbox_take(struct io_ring_ctx *ctx)
{
	struct io_tw *rest = ctx->leftover;

	if (likely(!rest))
		return io_mailbox_take(&ctx->mailbox);
	/* IO_MAILBOX_LEFTOVER stays, until what has arrived meanwhile is taken as well */
	ctx->leftover = NULL;
	return rest;
}

/**
 * io_owner_mailbox_requeue - run the rest of what was taken another time
 * @ctx: a single-writer ring, its lock held by its owner
 * @tw: the rest, oldest first
 *
 * Its items were announced once, and the owner has come for them: so say it again.
 */
void io_owner_mailbox_requeue(struct io_ring_ctx *ctx, struct io_tw *tw)
{
	unsigned long old = READ_ONCE(ctx->mailbox.head);

	io_assert_ring(ctx);
	ctx->leftover = tw;
	while (!try_cmpxchg(&ctx->mailbox.head, &old, old | IO_MAILBOX_LEFTOVER))
		;
	io_ring_announce(ctx, 0);
}

/**
 * io_owner_mailbox_reopen - let items into a single-writer ring's mailbox again
 * @ctx: the ring, its lock held; called by its owner
 *
 * What came before stays before what comes from now on: the owner runs first what it had
 * not run, then what came to the mailbox until it was closed, then what was pushed for
 * the fallback worker.  A pusher that has seen the mailbox closed may only be about to do
 * that; pushes run under RCU, so it has done so after a grace period.
 *
 * May sleep.
 */
void io_owner_mailbox_reopen(struct io_ring_ctx *ctx)
{
	struct io_tw *tw;

	io_assert_ring(ctx);
	tw = io_mailbox_join(ctx->leftover, io_mailbox_take(&ctx->mailbox));
	synchronize_rcu();
	ctx->leftover = NULL;
	tw = io_mailbox_join(tw, io_mailbox_take(&ctx->fallback.items));
	if (tw)
		io_owner_mailbox_requeue(ctx, tw);
}

/*
 * May more come of an item than the one CQE that it is counted as?  The owner
 * changes what is looked at here before it arms the mailbox, everybody else calls
 * io_owner_wake_recount() afterwards.  So a pusher that has seen IO_MAILBOX_ARMED has to look
 * after its push: what it saw before may be out of date.
 */
static bool io_ring_is_urgent(const struct io_ring_ctx *ctx, unsigned int push_flags)
{
	if (push_flags & IO_PUSH_NOW || test_bit(IO_LISTEN_TARGETS, &ctx->listeners))
		return true;
	if (push_flags & IO_PUSH_REQ && READ_ONCE(ctx->submit_slow) & IO_SLOW_DRAIN)
		return true;
	return push_flags & IO_PUSH_NODES && READ_ONCE(ctx->tags_owed);
}

/**
 * io_owner_wake_recount - wake a sleeping owner that waits for fewer items now
 * @ctx: the ring, its lock held
 *
 * For a task that has changed what io_ring_is_urgent() looks at, or lost a CQE, and
 * may not be the owner: what was pushed before the change was only counted.
 */
void io_owner_wake_recount(struct io_ring_ctx *ctx)
{
	/* between the change and the look; pairs with the push, which comes before its look */
	smp_mb();
	if (READ_ONCE(ctx->mailbox.head) & IO_MAILBOX_ARMED)
		wake_up_state(ctx->submitter_task, TASK_INTERRUPTIBLE);
}

/**
 * io_owner_mailbox_pushed - do the slow part of io_owner_mailbox_push()
 * @ctx: the ring; the caller is within RCU
 * @tw: the item, not the caller's any more unless @old has IO_MAILBOX_DEAD
 * @old: what io_mailbox_push() said
 * @push_flags: IO_PUSH_*
 */
void io_owner_mailbox_pushed(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned long old,
			     unsigned int push_flags)
{
	if (unlikely(old & IO_MAILBOX_DEAD)) {
		io_fallback_push(ctx, tw);
		return;
	}
	if (io_mailbox_was_empty(old))
		io_ring_announce(ctx, push_flags);
	if (old & IO_MAILBOX_ARMED) {
		if (io_tw_completes(&ctx->mailbox) || io_ring_is_urgent(ctx, push_flags))
			wake_up_state(ctx->submitter_task, TASK_INTERRUPTIBLE);
	}
}
