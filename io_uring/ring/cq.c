// SPDX-License-Identifier: GPL-2.0
/* io_uring: posting of CQEs, the overflow list and the published tail */

/*
 * There are two kinds of ring.  The flags of io_uring_setup() select the kind.
 *
 * Single-writer rings (DEFER_TASKRUN): the result goes into its slot as soon as it is known.
 * Only one task, the *writer*, may fill slots, with the ring lock held (io_cq_is_writer()).  The
 * writer is the ring's owner.  Other tasks push onto ctx->mailbox.  Before there is an owner, and
 * once the mailbox is closed, any holder of the ring lock is the writer.
 *
 * Multi-writer rings (all others): the holder of the ring lock stages CQEs in cq.stage.  When the
 * stage is full, and at a commit, they move into the ring under cq.lock.  Workers and other rings
 * post under cq.lock at once, so their CQEs do not wait for a holder of the ring lock that sleeps
 * in a page fault.
 *
 * Ordering: a program sees CQEs when io_cq_publish() stores the tail, once per batch.
 *
 *	A  io_cq_publish() stores the tail with release, after the CQEs.  Pairs with the
 *	   program's acquire load of the tail.
 *	B  io_cq_refill() reads the head with acquire, before it reuses slots.  Pairs with the
 *	   program's release store of the head.
 *	C  Sleepers on multi-writer rings register under cq.lock and check the tail there.  The
 *	   publisher checks for sleepers under the same lock.  So either the sleeper finds the
 *	   new tail, or the publisher finds the sleeper (sys/wait.c).
 *	D  io_cq_commit() checks ctx->listeners after it has stored the tail, without a barrier:
 *
 *		io_cq_commit()			first poll(2) of the ring
 *		tail = n			queue, set a bit in ctx->listeners
 *		ctx->listeners?			tail?
 *
 *	   Each side may miss the store of the other side.  So io_notify_activate() checks the
 *	   tail once more, a grace period later.
 *
 * Documentation/io_uring/models/cq_weak.pml is the model of these orderings.  A name after
 * "model:" is the option of the model that removes the barrier.
 *
 * A target is a number of CQEs that a timeout waits for.  Targets count the published CQEs, except
 * those of timeouts, which are posted as uncounted: the CQE of one timeout must not end another
 * timeout.  Each target stores the count at which it is reached.  A tree sorted by this count keeps
 * adding and removing cheap.  Each commit checks the first target.  ->reached() only pushes the
 * timeout to a mailbox, so no commit runs within another commit.
 *
 * While the overflow list is not empty, all CQEs go there, in order, and cq.limit equals cq.tail.
 * So the fast path need not test for overflowed CQEs.
 *
 * With IORING_SETUP_CQE_MIXED, a CQE with IORING_CQE_F_32 takes two neighbouring slots.  A CQE with
 * IORING_CQE_F_SKIP fills the last slot of the array if such a CQE comes next.  All other CQEs take
 * one slot, so the fast path is the same.  Heads, tails, targets and waits count slots.
 */
#include <linux/memcontrol.h>
#include <linux/rbtree.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <trace/events/io_uring.h>

#include "ring/cq_section.h"
#include "ring/cq_write.h"
#include "ring/entry.h"
#include "ring/locks.h"
#include "ring/notify.h"

/* maximum number of targets that fire before cq.lock is dropped for other tasks */
#define IO_CQ_REACH	64

static void io_cq_lock_any(struct io_ring_ctx *ctx)
{
	if (ctx->cq.single_writer)
		io_assert_ring(ctx);
	else
		spin_lock(&ctx->cq.lock);
}

static void io_cq_release(struct io_ring_ctx *ctx)
{
	if (!ctx->cq.single_writer)
		spin_unlock(&ctx->cq.lock);
}

/* Protect the CQ: by cq.lock on multi-writer rings, by the ring lock on single-writer rings. */
DEFINE_GUARD(io_cq_lock_any, struct io_ring_ctx *, io_cq_lock_any(_T), io_cq_release(_T))

/**
 * io_cq_init - initialize the completion queue of a new ring
 * @ctx: the ring, with rings, cq_entries and flags set
 */
void io_cq_init(struct io_ring_ctx *ctx)
{
	struct io_cqring *cq = &ctx->cq;

	cq->shift = !!(ctx->flags & IORING_SETUP_CQE32);
	cq->single_writer = !!(ctx->flags & IORING_SETUP_DEFER_TASKRUN);
	cq->direct = cq->single_writer && !cq->shift;
	cq->mixed = !!(ctx->flags & IORING_SETUP_CQE_MIXED);
	io_cq_move(ctx);
	cq->limit = ctx->cq_entries;
	cq->overflow_tail = &cq->overflow;
	cq->targets = RB_ROOT_CACHED;
	spin_lock_init(&cq->lock);
}

/**
 * io_cq_move - use the slots in ctx->rings
 * @ctx: the ring, its lock held, or a new ring
 */
void io_cq_move(struct io_ring_ctx *ctx)
{
	struct io_cqring *cq = &ctx->cq;

	cq->mask = ctx->cq_entries - 1;
	cq->cqes = ctx->rings->cqes;
	/* the next CQE reads the head, unless CQEs have overflowed */
	cq->limit = cq->tail;
}

/**
 * io_cq_free - free overflowed CQEs that the program has not reaped
 * @ctx: the ring, which no other context can reach
 */
void io_cq_free(struct io_ring_ctx *ctx)
{
	struct io_tw *tw = ctx->cq.overflow;

	while (tw) {
		struct io_cqe_entry *entry = io_tw_to_entry(tw);

		tw = tw->next;
		io_entry_put(entry);
		cond_resched();
	}
	ctx->cq.overflow = NULL;
}

/* Read the program's head again.  Return: true if there is a free slot. */
static bool io_cq_refill(struct io_ring_ctx *ctx)
{
	struct io_cqring *cq = &ctx->cq;
	u32 used;

	if (cq->overflowed)
		return false;
	/* B, model: NO_B.  Treat a head that is out of range like that of a full ring. */
	used = cq->tail - smp_load_acquire(&ctx->rings->cq_head);
	if (used > cq->mask)
		return false;
	cq->limit = cq->tail + (cq->mask + 1 - used);
	return true;
}

static bool io_cq_has_slot(struct io_ring_ctx *ctx)
{
	return likely(ctx->cq.tail != ctx->cq.limit) || io_cq_refill(ctx);
}

/*
 * Find two slots for a CQE.  The last slot of the array is filled even if there is no room behind
 * the wrap, so that no later CQE gets ahead of the one that overflows.
 * Return: true if there is room.
 */
static noinline bool io_cq_has_two_slots(struct io_ring_ctx *ctx)
{
	static const struct io_cqe_val filler = { .flags = IORING_CQE_F_SKIP };
	struct io_cqring *cq = &ctx->cq;

	if (io_cq_has_slot(ctx) && (cq->tail & cq->mask) == cq->mask)
		io_cq_fill_slot(cq, &filler);
	if (!io_cq_has_slot(ctx))
		return false;
	return cq->limit - cq->tail > 1 || (io_cq_refill(ctx) && cq->limit - cq->tail > 1);
}

static bool io_cq_has_room(struct io_ring_ctx *ctx, const struct io_cqe_val *val)
{
	if (io_cqe_slots(ctx, val->flags) == 2)
		return io_cq_has_two_slots(ctx);
	return io_cq_has_slot(ctx);
}

static void io_cq_fill_one(struct io_cqring *cq, const struct io_cqe_val *val, const u64 *extra)
{
	struct io_uring_cqe *cqe = io_cq_fill_slot(cq, val);

	if (cq->shift) {
		cqe->big_cqe[0] = extra ? extra[0] : 0;
		cqe->big_cqe[1] = extra ? extra[1] : 0;
	}
}

static noinline void io_cq_fill_two(struct io_cqring *cq, const struct io_cqe_val *val,
				    const u64 *extra)
{
	io_cq_fill_large_slot(cq, val, extra ? extra[0] : 0, extra ? extra[1] : 0);
	cq->tail++;
}

static void io_cq_fill(struct io_ring_ctx *ctx, const struct io_cqe_val *val, const u64 *extra)
{
	if (io_cqe_slots(ctx, val->flags) == 2)
		io_cq_fill_two(&ctx->cq, val, extra);
	else
		io_cq_fill_one(&ctx->cq, val, extra);
}

/*
 * Set uncounted.seen to the number of published uncounted CQEs.  To keep commits fast,
 * io_cq_publish() does not do this.  After a publication, the number is uncounted.nr.
 */
static void io_cq_settle(struct io_cqring *cq)
{
	if (cq->uncounted.at != cq->published) {
		cq->uncounted.seen = cq->uncounted.nr;
		cq->uncounted.at = cq->published;
	}
}

/* Exclude the CQE that was filled last from the count. */
static void io_cq_uncount(struct io_cqring *cq)
{
	io_cq_settle(cq);
	cq->uncounted.nr++;
}

/* Return: the number of published CQEs that targets count.  The number never decreases. */
static u64 io_cq_counted(struct io_cqring *cq)
{
	io_cq_settle(cq);
	cq->counted += cq->published - cq->uncounted.seen - (u32)cq->counted;
	return cq->counted;
}

/* Increment cq_overflow for a lost CQE, and let one io_uring_enter() fail with -EBADR. */
static void io_cq_lose(struct io_ring_ctx *ctx)
{
	WRITE_ONCE(ctx->rings->cq_overflow, ctx->rings->cq_overflow + 1);
	set_bit(IO_CHECK_CQ_DROPPED, &ctx->check_cq);
}

/**
 * io_cq_lost - report a CQE that is lost on its way to a single-writer ring
 * @ctx: the ring, its lock held
 *
 * Wakes the owner, which may sleep for this CQE.
 */
void io_cq_lost(struct io_ring_ctx *ctx)
{
	io_assert_ring(ctx);
	WARN_ON_ONCE(!ctx->cq.single_writer);
	io_cq_lose(ctx);
	io_owner_wake_recount(ctx);
}

/* Put a CQE on the overflow list until the program has made room. */
static void io_cq_keep(struct io_ring_ctx *ctx, struct io_cqe_entry *entry)
{
	struct io_cqring *cq = &ctx->cq;

	entry->tw.next = NULL;
	*cq->overflow_tail = &entry->tw;
	cq->overflow_tail = &entry->tw.next;
	if (!cq->overflowed) {
		cq->overflowed = true;
		cq->limit = cq->tail;
		set_bit(IO_CHECK_CQ_OVERFLOW, &ctx->check_cq);
		atomic_or(IORING_SQ_CQ_OVERFLOW, &ctx->rings->sq_flags);
	}
	/* on multi-writer rings io_cq_leave() notifies pollers, after it has released cq.lock */
	if (cq->single_writer)
		io_notify_overflow(ctx);
}

/**
 * io_cq_entry - allocate an entry for a CQE of a ring, which is freed after its one use
 * @ctx: the ring that gets the CQE, kept alive by the caller
 *
 * A program that never reaps may need more and more memory.  So the allocation fails at the limit
 * of its cgroup if reclaim does not help.  A kernel thread charges the ring's memory cgroup without
 * reclaim, because it serves other rings.
 *
 * Context: Task context.  A task may sleep.
 * Return: the entry, or NULL.
 */
struct io_cqe_entry *io_cq_entry(struct io_ring_ctx *ctx)
{
	struct mem_cgroup *memcg, *old;
	struct io_cqe_entry *entry;

	if (likely(!(current->flags & PF_KTHREAD)))
		return io_entry_alloc(IO_ENTRY_BEYOND);
	scoped_guard(rcu) {
		do {
			memcg = mem_cgroup_from_virt(ctx);
		} while (!mem_cgroup_tryget(memcg));
	}
	old = set_active_memcg(memcg);
	entry = io_entry_alloc(GFP_NOWAIT);
	set_active_memcg(old);
	mem_cgroup_put(memcg);
	return entry;
}

/* Call io_cq_entry() without cq.lock, for multi-writer rings. */
static struct io_cqe_entry *io_cq_entry_unlocked(struct io_ring_ctx *ctx)
	__must_hold(&ctx->cq.lock)
{
	struct io_cqe_entry *entry;

	spin_unlock(&ctx->cq.lock);
	entry = io_cq_entry(ctx);
	spin_lock(&ctx->cq.lock);
	return entry;
}

static void io_cq_fill_any(struct io_ring_ctx *ctx, const struct io_cqe_val *val,
			   const u64 *extra, bool counted)
{
	io_cq_fill(ctx, val, extra);
	if (unlikely(!counted))
		io_cq_uncount(&ctx->cq);
}

/*
 * Allocate an entry for a CQE, and put it on the overflow list.  May sleep.  On a multi-writer ring
 * the allocation runs without cq.lock, so other CQEs may be posted, and there may be room again.
 * Return: false if there is no memory or the ring ends.
 */
static noinline bool io_cq_overflow(struct io_ring_ctx *ctx, const struct io_cqe_val *val,
				    const u64 *extra, bool counted)
{
	struct io_cqe_entry *entry;

	/* the ring's file is gone, so no task can reap the CQE */
	if (READ_ONCE(ctx->dying))
		return false;
	entry = ctx->cq.single_writer ? io_cq_entry(ctx) : io_cq_entry_unlocked(ctx);
	if (io_cq_has_room(ctx, val)) {
		if (entry)
			io_entry_put(entry);
		io_cq_fill_any(ctx, val, extra, counted);
		return true;
	}
	trace_io_uring_cqe_overflow(ctx, val->user_data, val->res, val->flags, entry);
	if (!entry)
		return false;
	entry->val = *val;
	entry->uncounted = !counted;
	if (extra)
		memcpy(entry->extra, extra, sizeof(entry->extra));
	io_cq_keep(ctx, entry);
	return true;
}

/* Put a CQE into the ring or, if that is full, on the overflow list.  Return: false if lost. */
static bool io_cq_put(struct io_ring_ctx *ctx, const struct io_cqe_val *val, const u64 *extra,
		      bool counted)
{
	if (unlikely(!io_cq_has_room(ctx, val)))
		return io_cq_overflow(ctx, val, extra, counted);
	io_cq_fill_any(ctx, val, extra, counted);
	return true;
}

/* Put a CQE as io_cq_put() does, and increment cq_overflow if the CQE is lost. */
static void io_cq_put_or_lose(struct io_ring_ctx *ctx, const struct io_cqe_val *val,
			      const u64 *extra, bool counted)
{
	if (unlikely(!io_cq_put(ctx, val, extra, counted)))
		io_cq_lose(ctx);
}

/* Move a staged CQE with two more words into the ring.  Return: the element of the last word. */
static noinline unsigned int io_cq_unstage_large(struct io_ring_ctx *ctx, unsigned int i)
{
	struct io_cqring *cq = &ctx->cq;
	u64 extra[2];

	if (!cq->mixed) {
		io_cq_put_or_lose(ctx, &cq->stage[i], cq->stage_extra[i], true);
		return i;
	}
	static_assert(sizeof(extra) == sizeof(cq->stage[0]));
	memcpy(extra, &cq->stage[i + 1], sizeof(extra));
	io_cq_put_or_lose(ctx, &cq->stage[i], extra, true);
	return i + 1;
}

/* Put a counted CQE as io_cq_put() does, which takes one slot and has no other words. */
static bool io_cq_put_one(struct io_ring_ctx *ctx, const struct io_cqe_val *val)
{
	if (unlikely(!io_cq_has_slot(ctx)))
		return io_cq_overflow(ctx, val, NULL, true);
	io_cq_fill_one(&ctx->cq, val, NULL);
	return true;
}

/* Move a staged CQE without such words into the ring. */
static void io_cq_unstage_one(struct io_ring_ctx *ctx, const struct io_cqe_val *val, bool counted)
{
	if (likely(io_cq_has_slot(ctx))) {
		io_cq_fill_one(&ctx->cq, val, NULL);
		if (unlikely(!counted))
			io_cq_uncount(&ctx->cq);
	} else if (unlikely(!io_cq_overflow(ctx, val, NULL, counted))) {
		io_cq_lose(ctx);
	}
}

/* Move the staged CQEs of a multi-writer ring into its slots. */
static void io_cq_unstage(struct io_ring_ctx *ctx)
{
	struct io_cqring *cq = &ctx->cq;
	unsigned int i;

	io_assert_cq(ctx);
	for (i = 0; i < cq->nr_staged; i++) {
		if (unlikely(cq->stage_large & BIT(i)))
			i = io_cq_unstage_large(ctx, i);
		else
			io_cq_unstage_one(ctx, &cq->stage[i], !(cq->stage_uncounted & BIT(i)));
	}
	cq->nr_staged = 0;
	cq->stage_uncounted = 0;
	cq->stage_large = 0;
}

static void io_cq_stage(struct io_ring_ctx *ctx, const struct io_cqe_val *val, const u64 *extra,
			bool counted)
{
	unsigned int nr = io_cqe_slots(ctx, val->flags);
	struct io_cqring *cq = &ctx->cq;

	if (unlikely(cq->nr_staged + nr > IO_CQ_STAGE)) {
		guard(spinlock)(&cq->lock);
		io_cq_unstage(ctx);
	}
	if (unlikely(!counted))
		cq->stage_uncounted |= BIT(cq->nr_staged);
	if (nr == 2) {
		cq->stage_large |= BIT(cq->nr_staged);
		memcpy(&cq->stage[cq->nr_staged + 1], extra, sizeof(cq->stage[0]));
	} else if (extra) {
		io_cq_stage_extra(cq, extra);
	}
	cq->stage[cq->nr_staged] = *val;
	cq->nr_staged += nr;
}

/* Return: true if a multi-writer ring has room for its staged CQEs and one more of two slots. */
static bool io_cq_may_stage_two(const struct io_ring_ctx *ctx)
{
	const struct io_cqring *cq = &ctx->cq;
	u32 at = READ_ONCE(cq->tail) + cq->nr_staged;
	u32 end = at + 2 + ((at & cq->mask) == cq->mask);

	/* pairs with the program's release store of the head */
	end -= smp_load_acquire(&ctx->rings->cq_head);
	return !READ_ONCE(cq->overflowed) && end <= cq->mask + 1;
}

static void io_cq_post_any(struct io_ring_ctx *ctx, const struct io_cqe_val *val,
			   const u64 *extra, bool counted)
{
	io_assert_ring(ctx);
	might_sleep_if(IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP));
	if (likely(ctx->cq.single_writer)) {
		io_assert_cq(ctx);
		io_cq_put_or_lose(ctx, val, extra, counted);
	} else {
		io_cq_stage(ctx, val, extra, counted);
	}
}

/**
 * io_cq_post - post a CQE as part of a batch
 * @ctx: the ring, its lock held; single-writer rings: called by the writer
 * @val: user_data, res and flags; IORING_CQE_F_32 for a CQE of two slots
 * @extra: two more words for 32-byte CQEs, NULL for zeroes
 *
 * May sleep.  User space sees the CQE after the next commit.  If there is neither room nor memory,
 * the CQE is lost and cq_overflow is incremented.
 */
void io_cq_post(struct io_ring_ctx *ctx, const struct io_cqe_val *val, const u64 *extra)
{
	io_cq_post_any(ctx, val, extra, true);
}

/**
 * io_cq_post_uncounted - post the CQE of a timeout as part of a batch
 * @ctx: the ring, as for io_cq_post()
 * @val: user_data, res and flags
 *
 * Targets do not count this CQE.  Apart from that, this is io_cq_post().
 */
void io_cq_post_uncounted(struct io_ring_ctx *ctx, const struct io_cqe_val *val)
{
	io_cq_post_any(ctx, val, NULL, false);
}

/* Implement io_cq_post_more() and io_cq_post_more_large(). */
static bool io_cq_post_more_any(struct io_ring_ctx *ctx, const struct io_cqe_val *val,
				const u64 *extra, bool counted)
{
	io_assert_ring(ctx);
	if (ctx->cq.single_writer) {
		if (!io_cq_has_room(ctx, val))
			return false;
		io_cq_fill_any(ctx, val, extra, counted);
	} else {
		if (io_cqe_slots(ctx, val->flags) == 2 ? !io_cq_may_stage_two(ctx) :
							 !io_cq_may_stage_more(ctx))
			return false;
		io_cq_stage(ctx, val, extra, counted);
	}
	return true;
}

/**
 * io_cq_post_more - post a CQE of a request that continues (IORING_CQE_F_MORE)
 * @ctx: the ring, as for io_cq_post()
 * @val: user_data, res and flags
 * @counted: false for the CQE of a timeout, see io_cq_post_uncounted()
 *
 * Return: true if the CQE was posted; false, without a side effect, if there is no room or CQEs
 * have overflowed.  On false the caller ends its request with this result.
 */
bool io_cq_post_more(struct io_ring_ctx *ctx, const struct io_cqe_val *val, bool counted)
{
	return io_cq_post_more_any(ctx, val, NULL, counted);
}

/**
 * io_cq_post_more_large - io_cq_post_more() with all words of a 32-byte CQE
 * @ctx: the ring, as for io_cq_post()
 * @val: user_data, res and flags
 * @extra: the two extra words
 *
 * Return: as io_cq_post_more()
 */
bool io_cq_post_more_large(struct io_ring_ctx *ctx, const struct io_cqe_val *val,
			   const u64 *extra)
{
	return io_cq_post_more_any(ctx, val, extra, true);
}

/**
 * io_cq_count_timeout - count a timeout that expires or ends
 * @ctx: the ring, its lock held; single-writer rings: called by the writer
 * @hidden: true if the timeout posts no CQE; false if its CQE is posted in the same batch
 *
 * Each counted timeout ends the waits of all sleepers.
 */
void io_cq_count_timeout(struct io_ring_ctx *ctx, bool hidden)
{
	struct io_cqring *cq = &ctx->cq;
	bool sleepers;

	io_assert_ring(ctx);
	cq->timeouts++;
	if (!hidden || cq->single_writer)
		return;
	/* wake sleepers here, because perhaps no commit follows */
	scoped_guard(spinlock, &cq->lock) {
		/* pairs with smp_load_acquire() in io_cq_timeouts(); model: NO_SEEN */
		smp_store_release(&cq->timeouts_seen, cq->timeouts_seen + 1);
		/* C: under cq.lock, see the head of this file */
		sleepers = waitqueue_active(&ctx->cq_wait);
	}
	if (sleepers)
		__wake_up(&ctx->cq_wait, TASK_NORMAL, 0, NULL);
}

static bool io_cq_target_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct io_cq_target, node)->at <
	       rb_entry(b, struct io_cq_target, node)->at;
}

static void io_cq_target_insert(struct io_ring_ctx *ctx, struct io_cq_target *target, u32 nr)
{
	struct io_cqring *cq = &ctx->cq;

	target->at = io_cq_counted(cq) + nr;
	target->listed = true;
	/* targets with equal counts fire in the order of insertion */
	rb_add_cached(&target->node, &cq->targets, io_cq_target_less);
	set_bit(IO_LISTEN_TARGETS, &ctx->listeners);
}

static void io_cq_target_unlist(struct io_ring_ctx *ctx, struct io_cq_target *target)
{
	struct io_cqring *cq = &ctx->cq;

	if (!target->listed)
		return;
	rb_erase_cached(&target->node, &cq->targets);
	target->listed = false;
	if (RB_EMPTY_ROOT(&cq->targets.rb_root))
		clear_bit(IO_LISTEN_TARGETS, &ctx->listeners);
}

/* Fire targets that are reached.  Return: true if there may be more of them. */
static bool io_cq_reach_some(struct io_ring_ctx *ctx)
{
	struct io_cqring *cq = &ctx->cq;
	u64 counted = io_cq_counted(cq);
	unsigned int nr;

	for (nr = 0; nr < IO_CQ_REACH; nr++) {
		struct rb_node *first = rb_first_cached(&cq->targets);
		struct io_cq_target *target = rb_entry_safe(first, struct io_cq_target, node);

		if (!target || target->at > counted)
			return false;
		io_cq_target_unlist(ctx, target);
		target->reached(target);
	}
	return true;
}

/* Fire the targets that the latest publication has reached. */
static noinline void io_cq_reach_targets(struct io_ring_ctx *ctx)
{
	bool more;

	do {
		scoped_guard(io_cq_lock_any, ctx)
			more = io_cq_reach_some(ctx);
		cond_resched();
	} while (more);
}

/**
 * io_cq_tell - fire reached targets and wake waiters after CQEs were published
 * @ctx: the ring; the caller does not hold cq.lock
 * @sleepers: a task may sleep on ctx->cq_wait
 */
void io_cq_tell(struct io_ring_ctx *ctx, bool sleepers)
{
	if (unlikely(test_bit(IO_LISTEN_TARGETS, &ctx->listeners)))
		io_cq_reach_targets(ctx);
	if (unlikely(sleepers || READ_ONCE(ctx->listeners)))
		io_notify_posted(ctx, sleepers);
}

/**
 * io_cq_target_add - let a target fire after a number of CQEs
 * @ctx: the ring, its lock held; single-writer rings: called by the writer
 * @target: with ->reached set
 * @nr: number of further CQEs after those that are published; at least 1
 */
void io_cq_target_add(struct io_ring_ctx *ctx, struct io_cq_target *target, u32 nr)
{
	io_assert_ring(ctx);
	guard(io_cq_lock_any)(ctx);
	io_cq_target_insert(ctx, target, nr);
}

/**
 * io_cq_target_remove - remove a target, so that it does not fire any more
 * @ctx: the ring, its lock held
 * @target: a target that was added, and that may have been reached
 *
 * Afterwards the caller may free @target.
 */
void io_cq_target_remove(struct io_ring_ctx *ctx, struct io_cq_target *target)
{
	io_assert_ring(ctx);
	/* on multi-writer rings ->reached may still run under cq.lock */
	guard(io_cq_lock_any)(ctx);
	io_cq_target_unlist(ctx, target);
}

/**
 * io_cq_post_remote - post a CQE to a multi-writer ring at once, without the ring lock
 * @ctx: the ring
 * @val: user_data, res and flags, of a CQE that takes one slot
 *
 * The CQE is published, and waiters are woken, before the function returns.
 *
 * Context: Task context.  May sleep.
 * Return: true if the CQE is in the ring or on the overflow list; false if the ring has no room,
 * and either there is no memory or the ring ends.
 */
bool io_cq_post_remote(struct io_ring_ctx *ctx, const struct io_cqe_val *val)
{
	might_sleep_if(IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP));
	CLASS(io_cq_section, section)(ctx, true);
	section.posted = io_cq_put_one(ctx, val);
	return section.posted;
}

/**
 * io_cq_post_remote_large - io_cq_post_remote() for a CQE that takes two slots
 * @ctx: the ring
 * @val: user_data, res and flags
 *
 * Return: as io_cq_post_remote()
 */
bool io_cq_post_remote_large(struct io_ring_ctx *ctx, const struct io_cqe_val *val)
{
	might_sleep_if(IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP));
	CLASS(io_cq_section, section)(ctx, true);
	section.posted = io_cq_put(ctx, val, NULL, true);
	return section.posted;
}

/**
 * io_cq_post_now - post a CQE at once and count it as lost if that fails
 * @ctx: a multi-writer ring; its lock need not be held
 * @val: user_data, res and flags, of a CQE that takes one slot
 */
void io_cq_post_now(struct io_ring_ctx *ctx, const struct io_cqe_val *val)
{
	might_sleep_if(IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP));
	CLASS(io_cq_section, section)(ctx, true);
	if (unlikely(!io_cq_put_one(ctx, val)))
		io_cq_lose(ctx);
	section.posted = true;
}

/**
 * io_cq_post_entry - post a stored CQE as part of a batch
 * @ctx: a single-writer ring, its lock held; called by the writer
 * @entry: the CQE
 *
 * Return: true if the caller may reuse @entry; false if it is on the overflow list.
 */
bool io_cq_post_entry(struct io_ring_ctx *ctx, struct io_cqe_entry *entry)
{
	io_assert_cq(ctx);
	if (unlikely(!io_cq_has_room(ctx, &entry->val))) {
		trace_io_uring_cqe_overflow(ctx, entry->val.user_data, entry->val.res,
					    entry->val.flags, entry);
		io_cq_keep(ctx, entry);
		return false;
	}
	io_cq_fill(ctx, &entry->val, entry->extra);
	return true;
}

/**
 * io_cq_commit_shared - publish the staged CQEs of a multi-writer ring and wake waiters
 * @ctx: the ring, its lock held
 */
void io_cq_commit_shared(struct io_ring_ctx *ctx)
{
	CLASS(io_cq_section, section)(ctx, true);

	io_assert_ring(ctx);
	io_cq_unstage(ctx);
	section.commit = true;
	section.posted = true;
}

/* Move overflowed CQEs into the ring.  Return: true if the loop ended for need_resched(). */
static bool io_cq_flush_list(struct io_ring_ctx *ctx)
{
	struct io_cqring *cq = &ctx->cq;
	bool pause = false;

	io_assert_cq(ctx);
	cq->overflowed = false;
	while (cq->overflow && !pause && io_cq_has_room(ctx, &io_tw_to_entry(cq->overflow)->val)) {
		struct io_tw *tw = cq->overflow;
		struct io_cqe_entry *entry = io_tw_to_entry(tw);

		io_cq_fill_any(ctx, &entry->val, entry->extra, !entry->uncounted);
		cq->overflow = tw->next;
		io_entry_put(entry);
		pause = need_resched();
	}
	if (cq->overflow) {
		cq->overflowed = true;
		cq->limit = cq->tail;
		return pause;
	}
	cq->overflow_tail = &cq->overflow;
	clear_bit(IO_CHECK_CQ_OVERFLOW, &ctx->check_cq);
	atomic_andnot(IORING_SQ_CQ_OVERFLOW, &ctx->rings->sq_flags);
	return false;
}

static bool io_cq_flush_batch(struct io_ring_ctx *ctx, bool shared)
{
	CLASS(io_cq_section, section)(ctx, shared);

	return io_cq_flush_list(ctx);
}

/**
 * io_cq_flush_overflow - move overflowed CQEs into the ring as far as there is room
 * @ctx: the ring, its lock held; single-writer rings: called by the writer
 *
 * The moved CQEs are also published.
 *
 * Context: Task context.  May sleep.
 */
void io_cq_flush_overflow(struct io_ring_ctx *ctx)
{
	bool again;

	io_assert_ring(ctx);
	if (!test_bit(IO_CHECK_CQ_OVERFLOW, &ctx->check_cq))
		return;
	do {
		again = io_cq_flush_batch(ctx, !ctx->cq.single_writer);
		cond_resched();
	} while (again);
}
