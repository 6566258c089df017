// SPDX-License-Identifier: GPL-2.0
/* io_uring: memory of the queues of a ring, and its replacement */

/*
 * The queues of a ring are in two regions: the shared words, the CQEs and the index array in one,
 * the SQEs in the other.  struct io_queues describes them.  IORING_REGISTER_RESIZE_RINGS replaces
 * this struct, on single-writer rings only, and with the ring lock held.  From then on, the kernel
 * must not use the old memory: a program that has provided it (NO_MMAP) may use it for other data.
 *
 * These contexts use the memory, so io_queues_replace() must not let them keep an old pointer:
 *
 * - Holders of the ring lock: all code that reads SQEs or writes CQEs.  They exclude a resize.
 * - The owner, without the ring lock, while it waits for CQEs.  Once a ring has an owner, no other
 *   task may resize the ring, and the owner does not wait during a resize.
 * - poll(2) of the ring, the callback after its first poll, the signal of the eventfd, and pushes
 *   to the mailbox, which set IORING_SQ_TASKRUN.  They are within RCU from the load of ctx->rings
 *   to the end of its use.  So old memory is freed after a grace period, for which no task waits,
 *   with two exceptions: these contexts must not use old memory of the program after the call, and
 *   the old memory of a program that resizes in a loop must not add up.
 * - mmap() and fdinfo, which may sleep or take long.  They hold a reference to the struct, and only
 *   read the memory, or map its pages.
 *
 * On multi-writer rings ctx->queues does not change, so they need no rules.
 *
 * Mappings of old memory keep its pages.  Nothing in shared memory is trusted: the sizes are those
 * in struct io_queues, and positions of the kernel are those in struct io_ring_ctx.
 *
 * Documentation/io_uring/models/resize_weak.pml is the model of a resize with a pusher, a waiter
 * and a poller.  A name after "model:" is the option of the model that removes the step.
 */
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "ring/cq.h"
#include "ring/locks.h"
#include "ring/mailbox.h"
#include "ring/notify.h"
#include "ring/queues.h"
#include "ring/region.h"
#include "ring/sq.h"

/* number of pages of old memory, 4 MiB, that may wait for a grace period when a resize begins */
#define IO_QUEUES_OLD	(SZ_4M >> PAGE_SHIFT)

#define IO_MAX_SQ_ENTRIES	32768
#define IO_MAX_CQ_ENTRIES	(2 * IO_MAX_SQ_ENTRIES)

/**
 * io_queues_sizes - compute the numbers of entries of both queues
 * @p: the parameters; p->sq_entries and p->cq_entries are set
 * @entries: number of SQEs that the program asks for
 *
 * Return: 0 or -EINVAL.
 */
int io_queues_sizes(struct io_uring_params *p, unsigned int entries)
{
	bool clamp = p->flags & IORING_SETUP_CLAMP;

	if (!entries || (entries > IO_MAX_SQ_ENTRIES && !clamp))
		return -EINVAL;
	p->sq_entries = roundup_pow_of_two(min(entries, IO_MAX_SQ_ENTRIES));
	if (!(p->flags & IORING_SETUP_CQSIZE)) {
		p->cq_entries = 2 * p->sq_entries;
		return 0;
	}
	if (!p->cq_entries || (p->cq_entries > IO_MAX_CQ_ENTRIES && !clamp))
		return -EINVAL;
	p->cq_entries = roundup_pow_of_two(min(p->cq_entries, IO_MAX_CQ_ENTRIES));
	return p->cq_entries < p->sq_entries ? -EINVAL : 0;
}

/* Compute the offset of the index array (SIZE_MAX if there is none), and the size of the region. */
static int io_queues_layout(const struct io_uring_params *p, size_t *size, size_t *array)
{
	size_t cqes = array_size(p->cq_entries, sizeof(struct io_uring_cqe));

	/* a CQE of 32 bytes has two slots, and so has an SQE of 128 bytes */
	if (p->flags & IORING_SETUP_CQE_MIXED && p->cq_entries < 2)
		return -EOVERFLOW;
	if (p->flags & IORING_SETUP_SQE_MIXED && p->sq_entries < 2)
		return -EOVERFLOW;
	if (p->flags & IORING_SETUP_CQE32)
		cqes = size_mul(cqes, 2);
	*size = struct_size_t(struct io_rings, cqes, 0);
	*size = size_add(*size, cqes);
	*array = SIZE_MAX;
	if (!(p->flags & IORING_SETUP_NO_SQARRAY)) {
		*array = *size;
		*size = size_add(*size, array_size(p->sq_entries, sizeof(u32)));
	}
	return *size == SIZE_MAX ? -EOVERFLOW : 0;
}

static int io_queues_share(struct io_mapped_region *region, const struct io_uring_params *p,
			   u64 uaddr, size_t size)
{
	if (p->flags & IORING_SETUP_NO_MMAP)
		return io_region_pin(region, uaddr, size);
	return io_region_alloc(region, size);
}

#define IO_WORD(name)	offsetof(struct io_rings, name)

static void io_queues_fill_offsets(struct io_uring_params *p, size_t array)
{
	bool user = p->flags & IORING_SETUP_NO_MMAP;

	p->sq_off = (struct io_sqring_offsets) {
		.head = IO_WORD(sq_head), .tail = IO_WORD(sq_tail),
		.ring_mask = IO_WORD(sq_ring_mask), .ring_entries = IO_WORD(sq_ring_entries),
		.flags = IO_WORD(sq_flags), .dropped = IO_WORD(sq_dropped),
		.array = array == SIZE_MAX ? 0 : array,
		.user_addr = user ? p->sq_off.user_addr : 0,
	};
	p->cq_off = (struct io_cqring_offsets) {
		.head = IO_WORD(cq_head), .tail = IO_WORD(cq_tail),
		.ring_mask = IO_WORD(cq_ring_mask), .ring_entries = IO_WORD(cq_ring_entries),
		.flags = IO_WORD(cq_flags), .overflow = IO_WORD(cq_overflow),
		.cqes = IO_WORD(cqes),
		.user_addr = user ? p->cq_off.user_addr : 0,
	};
}

static int io_queues_fill(struct io_queues *queues, struct io_uring_params *p)
{
	size_t size, array, sqes;
	int ret;

	ret = io_queues_layout(p, &size, &array);
	if (ret)
		return ret;
	ret = io_queues_share(&queues->ring_region, p, p->cq_off.user_addr, size);
	if (ret)
		return ret;
	queues->rings = queues->ring_region.ptr;
	if (array != SIZE_MAX)
		queues->array = (u32 *)((char *)queues->rings + array);

	sqes = array_size(p->sq_entries, sizeof(struct io_uring_sqe));
	if (p->flags & IORING_SETUP_SQE128)
		sqes = size_mul(sqes, 2);
	ret = io_queues_share(&queues->sqe_region, p, p->sq_off.user_addr, sqes);
	if (ret)
		return ret;
	queues->sqes = queues->sqe_region.ptr;
	io_queues_fill_offsets(p, array);
	return 0;
}

/**
 * io_queues_create - allocate or pin the memory of queues
 * @p: the parameters, with sizes and layout; the offsets are set
 *
 * The program's own memory may contain anything.  io_queues_reset() initialises the words.
 *
 * Context: Task context.  May sleep.
 *
 * Return: the queues with one reference, or an ERR_PTR(): -EOVERFLOW, -ENOMEM, or for the program's
 * memory an error of io_region_pin().
 */
struct io_queues *io_queues_create(struct io_uring_params *p)
{
	struct io_queues *queues = kzalloc_obj(*queues, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!queues)
		return ERR_PTR(-ENOMEM);
	refcount_set(&queues->refs, 1);
	queues->sq_entries = p->sq_entries;
	queues->cq_entries = p->cq_entries;
	ret = io_queues_fill(queues, p);
	if (!ret)
		return queues;
	io_queues_put(queues);
	return ERR_PTR(ret);
}

/**
 * io_queues_reset - initialise the shared words for empty queues
 * @queues: memory that no other context of the kernel uses
 */
void io_queues_reset(struct io_queues *queues)
{
	struct io_rings *rings = queues->rings;

	memset(rings, 0, sizeof(*rings));
	rings->sq_ring_entries = queues->sq_entries;
	rings->sq_ring_mask = queues->sq_entries - 1;
	rings->cq_ring_entries = queues->cq_entries;
	rings->cq_ring_mask = queues->cq_entries - 1;
}

/**
 * io_queues_use - let a ring use the memory of queues
 * @ctx: the ring, its lock held, or a new ring
 * @queues: initialised memory, whose reference goes to the ring
 *
 * The caller calls io_cq_init() or io_cq_move() next.
 */
void io_queues_use(struct io_ring_ctx *ctx, struct io_queues *queues)
{
	ctx->sq.array = queues->array;
	ctx->sq.sqes = queues->sqes;
	/* poll() reads this, and with a wrong number only misjudges a queue that is resized */
	WRITE_ONCE(ctx->sq.entries, queues->sq_entries);
	ctx->cq_entries = queues->cq_entries;
	/* publish the words after they are initialised; readers depend on the address */
	smp_store_release(&ctx->rings, queues->rings);
	rcu_assign_pointer(ctx->queues, queues);
	io_sq_init(ctx);
}

/**
 * io_queues_limit_old - wait for the end of old memory if the ring has replaced much
 * @ctx: the ring, its lock held
 *
 * Context: Task context.  May sleep for a grace period.
 */
void io_queues_limit_old(struct io_ring_ctx *ctx)
{
	io_assert_ring(ctx);
	if (ctx->old_pages <= IO_QUEUES_OLD)
		return;
	cond_synchronize_rcu(ctx->old_gp);
	ctx->old_pages = 0;
}

static void io_queues_drop_work(struct work_struct *work)
{
	io_queues_put(container_of(to_rcu_work(work), struct io_queues, drop));
}

/**
 * io_queues_replace - let a ring use other memory, and drop the memory that it has used
 * @ctx: a single-writer ring, its lock held; current is the owner, if there is one
 * @queues: memory with the state of the queues; its reference goes to the ring
 *
 * Context: Task context.  May sleep for a grace period.
 */
void io_queues_replace(struct io_ring_ctx *ctx, struct io_queues *queues)
{
	struct io_queues *old = io_queues_locked(ctx);

	io_assert_ring(ctx);
	WARN_ON_ONCE(!ctx->cq.single_writer);
	io_queues_use(ctx, queues);
	io_cq_move(ctx);
	if (ctx->flags & IORING_SETUP_TASKRUN_FLAG) {
		/*
		 * A pusher may have set the flag in the old memory.  Its push is seen here, as the
		 * barrier of this function orders the new pointer before the last check.  Model:
		 * NO_UPDATE, NO_FLAG.
		 */
		io_taskrun_update(ctx, &ctx->mailbox);
	}
	/* the program may use its old memory for other data after the call */
	if (old->ring_region.user) {
		synchronize_rcu();
		/* a poller may have read words that were being replaced in the same memory */
		io_notify_poll(ctx);
	} else {
		ctx->old_pages += old->ring_region.nr_pages + old->sqe_region.nr_pages;
	}
	ctx->old_gp = get_state_synchronize_rcu();
	/* contexts within RCU may use the old memory until then; model: NO_GRACE */
	INIT_RCU_WORK(&old->drop, io_queues_drop_work);
	queue_rcu_work(system_dfl_wq, &old->drop);
}

/**
 * io_queues_get - take a reference to the memory in use
 * @ctx: the ring, kept alive by its file
 *
 * Context: Any.
 * Return: the queues.  Their memory may be read until io_queues_put(), but after a resize the
 * program does not use it any more.
 */
struct io_queues *io_queues_get(struct io_ring_ctx *ctx)
{
	struct io_queues *queues;

	guard(rcu)();
	queues = rcu_dereference(ctx->queues);
	/* the ring drops its reference only a grace period after the pointer has changed */
	refcount_inc(&queues->refs);
	return queues;
}

/**
 * io_queues_put - drop a reference to the memory of queues
 * @queues: the queues; NULL for none
 *
 * Context: Task context.  May sleep.
 */
void io_queues_put(struct io_queues *queues)
{
	if (!queues || !refcount_dec_and_test(&queues->refs))
		return;
	io_region_free(&queues->ring_region);
	io_region_free(&queues->sqe_region);
	kfree(queues);
}
