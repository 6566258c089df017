// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_REGISTER_RESIZE_RINGS - queues of another size */

/*
 * A resize creates the memory of new queues, copies pending SQEs and CQEs, and replaces the old
 * memory (ring/queues.c).  Heads and tails keep their values, so that an entry may get another
 * slot.  The index array of the new queue has no holes: each SQE is in the slot of its position.
 *
 * All that may fail comes before the first store to the new memory, because the program may have
 * passed the old memory once more.  The program may write to either memory at any time.  What it
 * writes can only spoil its own entries.
 *
 * Overflowed CQEs stay where they are until the next wait.
 */
#include <linux/io_uring.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "op.h"
#include "ring/cq.h"
#include "ring/locks.h"
#include "ring/queues.h"
#include "sys/resize.h"

/**
 * struct io_resize - a resize
 * @ctx: the ring, its lock held
 * @from: memory in use
 * @to: memory of the new queues
 * @sq_tail: the program's tail of the SQ
 * @cq_head: the program's head of the CQ
 */
struct io_resize {
	struct io_ring_ctx	*ctx;
	const struct io_queues	*from;
	struct io_queues	*to;
	u32			sq_tail;
	u32			cq_head;
};

/* Return: the pending SQE at a position, or NULL if its index is out of range; *@slots is set. */
static const struct io_uring_sqe *io_resize_find_sqe(const struct io_resize *rs, u32 pos,
						     unsigned int *slots)
{
	const struct io_queues *from = rs->from;
	struct io_ring_ctx *ctx = rs->ctx;
	const struct io_uring_sqe *sqe;
	u32 index;

	*slots = 1;
	index = pos & (from->sq_entries - 1);
	if (from->array)
		index = READ_ONCE(from->array[index]);
	if (index >= from->sq_entries)
		return NULL;
	index = array_index_nospec(index, from->sq_entries);
	sqe = &from->sqes[index << ctx->sq.shift];
	if (ctx->flags & IORING_SETUP_SQE_MIXED && index + 1 < from->sq_entries &&
	    pos + 1 != rs->sq_tail && io_ops[READ_ONCE(sqe->opcode)]->sqe128)
		*slots = 2;
	return sqe;
}

/* Return: true if no pending SQE of two slots would be split by the end of the new queue. */
static bool io_resize_sqes_fit(const struct io_resize *rs)
{
	u32 mask = rs->to->sq_entries - 1, pos = rs->ctx->sq.head;
	unsigned int slots;

	if (rs->sq_tail - pos > rs->to->sq_entries)
		return false;
	for (; pos != rs->sq_tail; pos += slots) {
		io_resize_find_sqe(rs, pos, &slots);
		if ((pos & mask) + slots > rs->to->sq_entries)
			return false;
		cond_resched();
	}
	return true;
}

static void io_resize_copy_sqes(const struct io_resize *rs)
{
	u32 mask = rs->to->sq_entries - 1, pos = rs->ctx->sq.head;
	const struct io_uring_sqe *sqe;
	struct io_queues *to = rs->to;
	unsigned int slots, i;

	for (; pos != rs->sq_tail; pos += slots) {
		unsigned int shift = rs->ctx->sq.shift, slot = pos & mask;

		sqe = io_resize_find_sqe(rs, pos, &slots);
		/* the program may have changed the opcode since the check */
		if (slot + slots > to->sq_entries)
			slots = 1;
		if (sqe)
			memmove(&to->sqes[slot << shift], sqe, (slots * sizeof(*sqe)) << shift);
		for (i = 0; to->array && i < slots; i++)
			WRITE_ONCE(to->array[slot + i], sqe ? slot + i : U32_MAX);
		cond_resched();
	}
}

/* Return: true if there is room for the pending CQEs, and the new end splits none of them. */
static bool io_resize_cqes_fit(const struct io_resize *rs)
{
	u32 from_mask = rs->from->cq_entries - 1, to_mask = rs->to->cq_entries - 1;
	u32 tail = rs->ctx->cq.tail, pos = rs->cq_head, slots;

	if (tail - pos > rs->to->cq_entries)
		return false;
	for (; rs->ctx->cq.mixed && (s32)(tail - pos) > 0; pos += slots) {
		slots = io_cq_slots_at(rs->ctx, rs->from, pos & from_mask);
		if ((pos & to_mask) + slots > rs->to->cq_entries)
			return false;
	}
	return true;
}

static void io_resize_copy_cqes(const struct io_resize *rs)
{
	u32 from_mask = rs->from->cq_entries - 1, to_mask = rs->to->cq_entries - 1, pos;
	unsigned int shift = rs->ctx->cq.shift;

	for (pos = rs->cq_head; pos != rs->ctx->cq.tail; pos++) {
		memmove(&rs->to->rings->cqes[(pos & to_mask) << shift],
			&rs->from->rings->cqes[(pos & from_mask) << shift],
			sizeof(struct io_uring_cqe) << shift);
		cond_resched();
	}
}

/* Copy the shared words.  io_queues_replace() updates IORING_SQ_TASKRUN. */
static void io_resize_copy_words(const struct io_resize *rs)
{
	const struct io_rings *from = rs->from->rings;
	u32 dropped = READ_ONCE(from->sq_dropped);
	u32 overflow = READ_ONCE(from->cq_overflow);
	u32 cq_flags = READ_ONCE(from->cq_flags);
	struct io_ring_ctx *ctx = rs->ctx;
	struct io_rings *to = rs->to->rings;

	/* @from may be @to */
	io_queues_reset(rs->to);
	to->sq_head = ctx->sq.head;
	to->sq_tail = rs->sq_tail;
	to->sq_dropped = dropped;
	to->cq_head = rs->cq_head;
	to->cq_tail = ctx->cq.tail;
	to->cq_overflow = overflow;
	to->cq_flags = cq_flags;
	if (test_bit(IO_CHECK_CQ_OVERFLOW, &ctx->check_cq))
		atomic_set(&to->sq_flags, IORING_SQ_CQ_OVERFLOW);
}

/* Move the queues to new memory.  Return: 0, or -EOVERFLOW if pending entries have no room. */
static int io_resize_to(struct io_ring_ctx *ctx, struct io_queues *to)
{
	struct io_resize rs = { .ctx = ctx, .from = io_queues_locked(ctx), .to = to };

	/* pairs with the program's release store, after it has written SQEs */
	rs.sq_tail = smp_load_acquire(&ctx->rings->sq_tail);
	rs.cq_head = READ_ONCE(ctx->rings->cq_head);
	if (!io_resize_sqes_fit(&rs) || !io_resize_cqes_fit(&rs))
		return -EOVERFLOW;
	/* SQEs first: the new CQEs may be where the old index array is */
	io_resize_copy_sqes(&rs);
	io_resize_copy_cqes(&rs);
	io_resize_copy_words(&rs);
	io_queues_replace(ctx, to);
	return 0;
}

/**
 * io_resize - handle IORING_REGISTER_RESIZE_RINGS
 * @ctx: the ring, its lock held
 * @arg: user pointer to a struct io_uring_params
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: 0; -EINVAL for other rings than DEFER_TASKRUN, or wrong parameters; -EFAULT; -EOVERFLOW
 * if pending entries have no room; -ENOMEM; for memory of the program an error of io_region_pin().
 * On failure the queues stay as they are.
 */
int io_resize(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_uring_params p;
	struct io_queues *queues;
	int ret;

	io_assert_ring(ctx);
	if (!ctx->cq.single_writer)
		return -EINVAL;
	if (copy_from_user(&p, arg, sizeof(p)))
		return -EFAULT;
	if (p.flags & ~(IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP))
		return -EINVAL;
	ret = io_queues_sizes(&p, p.sq_entries);
	if (ret)
		return ret;
	p.flags |= ctx->flags & IO_LAYOUT_FLAGS;
	io_queues_limit_old(ctx);
	queues = io_queues_create(&p);
	if (IS_ERR(queues))
		return PTR_ERR(queues);
	ret = copy_to_user(arg, &p, sizeof(p)) ? -EFAULT : io_resize_to(ctx, queues);
	if (ret)
		io_queues_put(queues);
	return ret;
}
