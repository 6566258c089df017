// SPDX-License-Identifier: GPL-2.0
/* io_uring: mailboxes, work for another context, first in first out */

/*
 * See mailbox.h for the data structure.  This file has the consumer's side, and the two
 * mailboxes of a ring.
 *
 * ctx->mailbox belongs to single-writer rings (DEFER_TASKRUN).  Its consumer is the
 * owner, which empties it when it enters the ring.  The first push after that sets
 * IORING_SQ_TASKRUN, and notifies the eventfd and pollers, because no CQE can appear
 * before the owner has run the item.
 *
 * Documentation/io_uring/models/mailbox_weak.pml is the model of the barriers here and in
 * mailbox.h.  A name after "model:" is an option that weakens or removes that barrier.
 *
 * ctx->fallback.items receives items whose task is gone, and paused polls (io_poll_pause()).  The
 * fallback worker runs these items, after items that the owner of a single-writer ring has left in
 * the mailbox.  As a kworker it serves other rings, too, so it does not wait for the ring lock.
 *
 * An exec of the owner closes its mailbox.  If the new program uses the ring by a
 * descriptor that it has kept, the mailbox is reopened.
 *
 * A pushed request may complete, and the ring may be freed with it, while the pusher
 * still uses the ring.  So pushes run under RCU, and the ring's memory is freed after a
 * grace period.
 */
#include <linux/delay.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "ring/locks.h"
#include "ring/mailbox.h"
#include "ring/notify.h"

/* Reverse a mailbox's list, which is youngest first, into the order of arrival. */
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
 * io_mailbox_take - take all items
 * @box: the mailbox
 *
 * Only the consumer calls this function, which clears all marks.
 *
 * Return: the items, oldest first.
 */
struct io_tw *io_mailbox_take(struct io_mailbox *box)
{
	/* take the items before IORING_SQ_TASKRUN is updated; model: TAKE */
	return io_mailbox_oldest_first(xchg(&box->head, 0));
}

/**
 * io_mailbox_close - take all items and refuse later pushes
 * @box: the mailbox
 *
 * Return: the items, oldest first.
 */
struct io_tw *io_mailbox_close(struct io_mailbox *box)
{
	return io_mailbox_oldest_first(xchg(&box->head, IO_MAILBOX_DEAD));
}

/**
 * io_fallback_kick - let the fallback worker run now
 * @ctx: the ring, kept alive by the caller
 *
 * Context: Any.
 */
void io_fallback_kick(struct io_ring_ctx *ctx)
{
	mod_delayed_work(system_dfl_wq, &ctx->fallback.work, 0);
}

/**
 * io_ring_yield - pause for contexts that do not wait for the ring lock
 * @ctx: the ring, its lock not held by current
 *
 * The fallback worker, and tasks that exit or exec, use io_ring_try().  A task that submits without
 * a pause releases the lock too briefly for them.  On a virtual machine the worker was delayed for
 * six seconds, and an exec for fourteen.  io_ring_try() sets ->stops.starved after repeated
 * failures.  While it is set, each call of this function pauses for at most IO_GIVE_WAY jiffies.
 *
 * Context: Task context.  May sleep.
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

/*
 * Attempts of io_ring_lock_soon() without and with a pause, and the pause in microseconds.  After
 * IO_SOON_STARVED pauses, about two milliseconds, submitters yield, which costs them a jiffy.
 */
#define IO_SOON_SPINS	100
#define IO_SOON_TRIES	1000
#define IO_SOON_STARVED	20
#define IO_SOON_PAUSE	100

/**
 * io_ring_lock_soon - try to take the ring lock for about a tenth of a second
 * @ctx: the ring, its lock not held by current
 *
 * A worker calls this where the holder of the lock may sleep in a page fault that a program
 * serves only after the worker has continued.  Other holders release the lock soon: most of them
 * within microseconds, and a task that submits without a pause yields (io_ring_yield()).
 *
 * Context: Task context.  Sleeps.
 * Return: true if the lock is held.
 */
bool io_ring_lock_soon(struct io_ring_ctx *ctx)
{
	unsigned int left;
	bool held;

	for (left = IO_SOON_SPINS; left; left--) {
		if (likely(io_ring_trylock(ctx)))
			return true;
		cpu_relax();
	}
	left = IO_SOON_TRIES;
	do {
		usleep_range_state(IO_SOON_PAUSE / 2, IO_SOON_PAUSE, TASK_IDLE);
		held = io_ring_trylock(ctx);
		if (left <= IO_SOON_TRIES - IO_SOON_STARVED)
			WRITE_ONCE(ctx->stops.starved, !held);
	} while (!held && --left);
	if (!left)
		WRITE_ONCE(ctx->stops.starved, false);
	return held;
}

/**
 * io_fallback_push - push an item to the fallback worker
 * @ctx: the ring, kept alive by the item or by RCU
 * @tw: the item
 *
 * The worker runs a jiffy later, so that further items join the batch.  Also, a program that has
 * caused the item finds the ring unchanged at first, as liburing's defer-taskrun test expects.
 * If the worker is already due earlier, it runs then.
 *
 * Context: Any.
 */
void io_fallback_push(struct io_ring_ctx *ctx, struct io_tw *tw)
{
	guard(rcu)();
	if (io_mailbox_was_empty(io_mailbox_push(&ctx->fallback.items, tw)))
		queue_delayed_work(system_dfl_wq, &ctx->fallback.work, 1);
}

/**
 * io_owner_mailbox_close - let no more items into a single-writer ring's mailbox
 * @ctx: the ring; called by its owner, or with its lock held
 *
 * Later pushes go to the fallback worker.  Items in the mailbox stay until that worker
 * takes them.  If they were moved here, later pushes of the same senders could overtake them.
 */
void io_owner_mailbox_close(struct io_ring_ctx *ctx)
{
	unsigned long old = READ_ONCE(ctx->mailbox.head);

	while (!try_cmpxchg(&ctx->mailbox.head, &old, (old & ~IO_MAILBOX_MARKS) | IO_MAILBOX_DEAD))
		;
	if (!io_mailbox_was_empty(old) || old & IO_MAILBOX_LEFTOVER)
		io_fallback_kick(ctx);
}

/* Append the list @then to the list @first. */
static struct io_tw *io_mailbox_join(struct io_tw *first, struct io_tw *then)
{
	struct io_tw **end = &first;

	while (*end)
		end = &(*end)->next;
	*end = then;
	return first;
}

/**
 * io_fallback_take - take the items that the fallback worker has to run
 * @ctx: the ring, its lock held
 *
 * Return: the items, oldest first, with the items of a closed mailbox before the others.
 */
struct io_tw *io_fallback_take(struct io_ring_ctx *ctx)
{
	/* take these first: the mailbox may be closed at any time, and has older items */
	struct io_tw *late = io_mailbox_take(&ctx->fallback.items);
	struct io_tw *first = NULL;

	if (ctx->cq.single_writer && io_mailbox_dead(&ctx->mailbox)) {
		/* the owner's leftover is older than the items in the mailbox */
		first = io_mailbox_join(ctx->leftover, io_mailbox_close(&ctx->mailbox));
		ctx->leftover = NULL;
	}
	return io_mailbox_join(first, late);
}

/**
 * io_ring_run_ready - run the items on ctx->ready
 * @ctx: the ring, its lock held
 *
 * A context that holds the ring lock queues items that it may run itself, but not at once.
 * Each item may queue the next request of its chain.  So reschedule between items, and if
 * current was killed, run the rest with IO_URING_F_TASK_DEAD.
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
 * io_taskrun_update - set or clear IORING_SQ_TASKRUN by the state of a mailbox
 * @ctx: a ring with IORING_SETUP_TASKRUN_FLAG; the caller is within RCU or holds the ring lock
 * @box: the mailbox with the ring's items
 *
 * Call this after a push, and after the mailbox was emptied.  The two calls may run at once, and
 * could leave a wrong flag.  A program that spins on a stale flag makes a useless system call each
 * time.  So each call rechecks the mailbox after its update of the flag.
 */
void io_taskrun_update(struct io_ring_ctx *ctx, const struct io_mailbox *box)
{
	struct io_rings *rings;
	bool pending;

	do {
		pending = io_mailbox_pending(box);
		/*
		 * A resize may replace the words, and then calls this function.  So a pusher reads
		 * the pointer after its push.  Model: EARLY_LOAD of resize_weak.pml.
		 */
		rings = READ_ONCE(ctx->rings);
		if (pending)
			atomic_or(IORING_SQ_TASKRUN, &rings->sq_flags);
		else
			atomic_andnot(IORING_SQ_TASKRUN, &rings->sq_flags);
		/*
		 * Update the flag before the recheck; pairs with this barrier in a concurrent call,
		 * and with the barrier in io_clear_taskrun().  Model: NO_FLAG.
		 */
		smp_mb__after_atomic();
	} while (io_mailbox_pending(box) != pending);
}

/* Notify the listeners of a push, because only the owner can turn the item into CQEs. */
static void io_ring_announce(struct io_ring_ctx *ctx, unsigned int push_flags)
{
	unsigned long listeners;

	if (ctx->flags & IORING_SETUP_TASKRUN_FLAG)
		io_taskrun_update(ctx, &ctx->mailbox);
	/* after the barrier in io_taskrun_update(); model: NO_ANNOUNCE of cq_weak.pml */
	listeners = READ_ONCE(ctx->listeners);
	if (likely(!listeners))
		return;
	if (unlikely(push_flags & IO_PUSH_LATE))
		io_notify_listeners_late(ctx, push_flags & IO_PUSH_NOTIFIED &&
					 !(listeners & BIT(IO_LISTEN_POLL)));
	else
		io_notify_listeners(ctx);
}

/**
 * io_owner_mailbox_take - take the items to be run next
 * @ctx: a single-writer ring, its lock held by its owner
 *
 * Return: the leftover of an earlier run, or else all items of the mailbox, oldest first.
 */
struct io_tw *io_owner_mailbox_take(struct io_ring_ctx *ctx)
{
	struct io_tw *rest = ctx->leftover;

	if (likely(!rest))
		return io_mailbox_take(&ctx->mailbox);
	/* IO_MAILBOX_LEFTOVER stays until the next io_mailbox_take() */
	ctx->leftover = NULL;
	return rest;
}

/**
 * io_owner_mailbox_requeue - keep taken items for a later run
 * @ctx: a single-writer ring, its lock held by its owner
 * @tw: the items that were not run, oldest first
 *
 * This notifies the listeners again, as the owner has already reacted to the last notification.
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
 * Items keep their order: first the leftover, then the items that were in the mailbox when it
 * was closed, then those on the fallback list, then later pushes.  A pusher that has found the
 * mailbox closed may not have pushed to the fallback list yet.  Pushes run under RCU, so this
 * push is over after a grace period.
 *
 * Context: Task context.  May sleep.
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
 * Return: true if an item may cause more than the one CQE for which it counts.  The owner
 * changes the conditions before it arms the mailbox.  Other tasks call io_owner_wake_recount()
 * after a change.  A pusher that has seen IO_MAILBOX_ARMED must check the conditions after its
 * push, as an earlier result may be out of date.
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
 * io_owner_wake_recount - wake a sleeping owner that may have to wait for fewer items
 * @ctx: the ring, its lock held
 *
 * Called after a CQE was lost, or a condition of io_ring_is_urgent() has changed, by a task that
 * may not be the owner.  Items that were pushed before the change were only counted.
 */
void io_owner_wake_recount(struct io_ring_ctx *ctx)
{
	/*
	 * Order the change before the check; pairs with the push, before io_ring_is_urgent(), and
	 * with the arming, before IO_CHECK_CQ_DROPPED.  Model: NO_RECOUNT.
	 */
	smp_mb();
	if (READ_ONCE(ctx->mailbox.head) & IO_MAILBOX_ARMED)
		wake_up_state(ctx->submitter_task, TASK_INTERRUPTIBLE);
}

/**
 * io_owner_mailbox_pushed - do the slow part of io_owner_mailbox_push()
 * @ctx: the ring; the caller is within RCU
 * @tw: the item, which the consumer owns unless @old has IO_MAILBOX_DEAD
 * @old: result of io_mailbox_push()
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
		if (io_tw_completes(&ctx->mailbox) || io_ring_is_urgent(ctx, push_flags) ||
		    io_notify_early(ctx, ctx->submitter_task))
			wake_up_state(ctx->submitter_task, TASK_INTERRUPTIBLE);
	}
}
