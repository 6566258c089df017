// SPDX-License-Identifier: GPL-2.0
/* io_uring: queues for zero copy receives */

/*
 * A queue has areas of the program's memory, which stay pinned.  A RECV_ZC takes a free page for
 * each piece of received data (op/net/recv_zc.c), and its CQE tells where the data is.  Then the
 * program has the page, until it writes an entry with that offset to the refill ring.
 *
 * Queues without a network device (ZCRX_REG_NODEV) are the only ones so far.  The kernel copies the
 * data, and reads the refill ring only for ZCRX_CTRL_FLUSH_RQ, as on 7.3.
 *
 * The program may write anything to the refill ring at any time.  The kernel trusts its own copy of
 * the head, reads each entry once, and frees a page only if the program has that page.  Other
 * entries are skipped.  A flush reads no more entries than the ring has.
 *
 * Areas are never removed.  A queue ends with its last reference, when no request uses it.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "complete/complete.h"
#include "complete/message.h"
#include "ring/region.h"
#include "rsrc/map.h"
#include "rsrc/memory.h"
#include "rsrc/zcrx.h"

/* most areas of a queue; their numbers have 16 bits */
#define IO_ZCRX_AREAS	1024
/* entries of the refill ring that are read before other users of the lock get their turn */
#define IO_ZCRX_BATCH	64

/**
 * io_zcrx_alloc - allocate a queue without areas, refill ring and owner
 *
 * Return: the queue with one reference, or NULL
 */
struct io_zcrx *io_zcrx_alloc(void)
{
	struct io_zcrx *zcrx = kzalloc_obj(*zcrx, GFP_KERNEL_ACCOUNT);

	if (!zcrx)
		return NULL;
	refcount_set(&zcrx->refs, 1);
	spin_lock_init(&zcrx->lock);
	xa_init_flags(&zcrx->areas, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&zcrx->usable);
	return zcrx;
}

static void io_zcrx_area_free(struct io_zcrx_area *area)
{
	io_map_put(area->map);
	kvfree(area->given);
	kvfree(area);
}

/**
 * io_zcrx_put - drop a reference to a queue
 * @zcrx: the queue; may be freed
 *
 * Context: Task context.  May sleep.
 */
void io_zcrx_put(struct io_zcrx *zcrx)
{
	struct io_zcrx_area *area;
	unsigned long id;

	if (!refcount_dec_and_test(&zcrx->refs))
		return;
	xa_for_each(&zcrx->areas, id, area) {
		io_zcrx_area_free(area);
		cond_resched();
	}
	xa_destroy(&zcrx->areas);
	io_memory_destroy(zcrx->memory);
	kfree(zcrx);
}

static int io_zcrx_area_check(const struct io_uring_zcrx_area_reg *reg)
{
	/* a dma-buf is memory for a network device */
	if (reg->flags || reg->dmabuf_fd || reg->rq_area_token ||
	    memchr_inv(reg->__resv2, 0, sizeof(reg->__resv2)))
		return -EINVAL;
	if (!reg->len)
		return -EFAULT;
	if (!PAGE_ALIGNED(reg->addr) || !PAGE_ALIGNED(reg->len) ||
	    reg->len >> PAGE_SHIFT > INT_MAX)
		return -EINVAL;
	if (reg->len >> PAGE_SHIFT > IO_MEMORY_PAGES || reg->addr > ULONG_MAX - reg->len)
		return -EOVERFLOW;
	return 0;
}

static struct io_zcrx_area *io_zcrx_area_alloc(u32 nr)
{
	struct io_zcrx_area *area = kvzalloc(struct_size(area, free, nr), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!area)
		return NULL;
	area->given = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), GFP_KERNEL_ACCOUNT);
	if (!area->given) {
		kvfree(area);
		return NULL;
	}
	area->nr_pages = nr;
	area->nr_free = nr;
	for (i = 0; i < nr; i++)
		area->free[i] = i;
	return area;
}

/**
 * io_zcrx_area_make - pin memory for a queue, and reserve a number
 * @ctx: the ring, its lock held, which is charged for the memory
 * @zcrx: the queue
 * @reg: the memory, from the program
 *
 * Return: the area, for io_zcrx_area_add() or io_zcrx_area_drop(); or an ERR_PTR(): -EINVAL, also
 * if the queue has too many areas; -EFAULT; -EOVERFLOW; -ENOMEM, also if the charge would exceed
 * RLIMIT_MEMLOCK; -EINTR if current is killed
 */
struct io_zcrx_area *io_zcrx_area_make(struct io_ring_ctx *ctx, struct io_zcrx *zcrx,
				       const struct io_uring_zcrx_area_reg *reg)
{
	int ret = io_zcrx_area_check(reg);
	struct io_mapped_ubuf *map;
	struct io_zcrx_area *area;
	u32 id;

	if (ret)
		return ERR_PTR(ret);
	map = io_map_pin(ctx, reg->addr, reg->len);
	if (IS_ERR(map))
		return ERR_CAST(map);
	area = io_zcrx_area_alloc(reg->len >> PAGE_SHIFT);
	if (!area) {
		io_map_put(map);
		return ERR_PTR(-ENOMEM);
	}
	area->map = map;
	/* the number is taken, but io_zcrx_flush() does not find the area yet */
	ret = xa_alloc(&zcrx->areas, &id, NULL, XA_LIMIT(0, IO_ZCRX_AREAS - 1),
		       GFP_KERNEL_ACCOUNT);
	if (ret) {
		io_zcrx_area_free(area);
		return ERR_PTR(ret == -EBUSY ? -EINVAL : ret);
	}
	area->offset = (u64)id << IORING_ZCRX_AREA_SHIFT;
	return area;
}

/**
 * io_zcrx_area_add - let receives use an area
 * @zcrx: the queue
 * @area: from io_zcrx_area_make()
 */
void io_zcrx_area_add(struct io_zcrx *zcrx, struct io_zcrx_area *area)
{
	/* cannot fail, as the number is reserved */
	xa_store(&zcrx->areas, area->offset >> IORING_ZCRX_AREA_SHIFT, area, GFP_KERNEL_ACCOUNT);
	guard(spinlock)(&zcrx->lock);
	list_add_tail(&area->node, &zcrx->usable);
}

/**
 * io_zcrx_area_drop - undo io_zcrx_area_make()
 * @zcrx: the queue
 * @area: the area
 */
void io_zcrx_area_drop(struct io_zcrx *zcrx, struct io_zcrx_area *area)
{
	xa_erase(&zcrx->areas, area->offset >> IORING_ZCRX_AREA_SHIFT);
	io_zcrx_area_free(area);
}

/* Return: a page of an area.  See struct io_mapped_ubuf for the sizes of segments. */
static struct page *io_zcrx_page(const struct io_zcrx_area *area, u32 index)
{
	const struct io_mapped_ubuf *map = area->map;
	size_t at = (size_t)index << PAGE_SHIFT;
	unsigned long pfn;
	size_t seg;

	seg = (at + (1UL << map->shift) - map->bvec[0].bv_len) >> map->shift;
	if (seg)
		at = (at - map->bvec[0].bv_len) & ((1UL << map->shift) - 1);
	pfn = page_to_pfn(map->bvec[seg].bv_page);
	return pfn_to_page(pfn + (at >> PAGE_SHIFT));
}

/**
 * io_zcrx_take - take a free page, for the program
 * @zcrx: the queue
 * @piece: result
 *
 * The page that became free last is the next to be taken, as it may be in a cache of the CPU.
 *
 * Return: false if no area has a free page
 */
bool io_zcrx_take(struct io_zcrx *zcrx, struct io_zcrx_piece *piece)
{
	struct io_zcrx_area *area;

	scoped_guard(spinlock, &zcrx->lock) {
		area = list_first_entry_or_null(&zcrx->usable, struct io_zcrx_area, node);
		if (!area)
			return false;
		piece->index = area->free[--area->nr_free];
		__set_bit(piece->index, area->given);
		if (!area->nr_free)
			list_del(&area->node);
	}
	piece->area = area;
	piece->page = io_zcrx_page(area, piece->index);
	piece->offset = area->offset | (u64)piece->index << PAGE_SHIFT;
	return true;
}

/* Free a page if the program has it. */
static void io_zcrx_free_page(struct io_zcrx *zcrx, struct io_zcrx_area *area, u32 index)
{
	lockdep_assert_held(&zcrx->lock);
	if (!__test_and_clear_bit(index, area->given))
		return;
	if (!area->nr_free)
		list_add_tail(&area->node, &zcrx->usable);
	area->free[area->nr_free++] = index;
}

/**
 * io_zcrx_return - undo io_zcrx_take(), when the program has not learned of the page
 * @zcrx: the queue
 * @piece: the page
 */
void io_zcrx_return(struct io_zcrx *zcrx, const struct io_zcrx_piece *piece)
{
	guard(spinlock)(&zcrx->lock);
	io_zcrx_free_page(zcrx, piece->area, piece->index);
}

/* Free the page of an entry of the refill ring, which may have any contents. */
static void io_zcrx_refill_one(struct io_zcrx *zcrx, const struct io_uring_zcrx_rqe *rqe)
{
	u64 offset = READ_ONCE(rqe->off), index;
	struct io_zcrx_area *area;

	if (READ_ONCE(rqe->__pad))
		return;
	area = xa_load(&zcrx->areas, offset >> IORING_ZCRX_AREA_SHIFT);
	index = (offset & ~IORING_ZCRX_AREA_MASK) >> PAGE_SHIFT;
	if (!area || index >= area->nr_pages)
		return;
	io_zcrx_free_page(zcrx, area, array_index_nospec((u32)index, area->nr_pages));
}

/* Read up to @max entries of the refill ring.  Return: the number of entries read. */
static u32 io_zcrx_refill(struct io_zcrx *zcrx, u32 max)
{
	struct io_zcrx_refill *refill = zcrx->memory->region.ptr;
	u32 i, nr;

	guard(spinlock)(&zcrx->lock);
	/* pairs with the program's store of the tail, after its entries */
	nr = min(smp_load_acquire(&refill->tail) - zcrx->head, max);
	for (i = 0; i < nr; i++)
		io_zcrx_refill_one(zcrx, &refill->rqes[zcrx->head++ & (zcrx->entries - 1)]);
	/* pairs with the program's load of the head: it may reuse the entries */
	smp_store_release(&refill->head, zcrx->head);
	return nr;
}

/**
 * io_zcrx_flush - free the pages whose offsets are in the refill ring
 * @zcrx: the queue
 *
 * Context: Task context.  May sleep.
 */
void io_zcrx_flush(struct io_zcrx *zcrx)
{
	u32 left = zcrx->entries, nr;

	do {
		nr = io_zcrx_refill(zcrx, min(left, IO_ZCRX_BATCH));
		left -= nr;
		cond_resched();
	} while (nr == IO_ZCRX_BATCH && left);
}

/* Get the ring that has to post a CQE for an event, and disarm the event.  Return: NULL if none. */
static struct io_ring_ctx *io_zcrx_event_begin(struct io_zcrx *zcrx, u32 event)
{
	struct io_ring_ctx *owner = zcrx->owner;

	lockdep_assert_held(&zcrx->lock);
	if (likely(!(zcrx->armed & BIT(event))) || !owner || READ_ONCE(owner->stops.disabled) ||
	    !percpu_ref_tryget(&owner->refs))
		return NULL;
	zcrx->armed &= ~BIT(event);
	return owner;
}

/* Post the CQE of an event.  @ctx: a ring whose lock is held, and whose CQEs current may write. */
static void io_zcrx_event_post(struct io_ring_ctx *ctx, struct io_zcrx *zcrx,
			       struct io_ring_ctx *owner, u32 event)
{
	struct io_cqe_val val = { .user_data = zcrx->user_data, .res = event };
	struct io_cqe_entry *entry;

	if (owner == ctx) {
		io_post_to(ctx, val.user_data, val.res, 0);
		return;
	}
	entry = io_message_prepare(owner, ctx);
	if (!IS_ERR(entry) && !io_message_post(owner, entry, val))
		return;
	/* no memory: report the next event instead */
	guard(spinlock)(&zcrx->lock);
	zcrx->armed |= BIT(event);
}

/**
 * io_zcrx_copied - count received data that was copied, and report the event
 * @ctx: the ring that has received, its lock held; current may write its CQEs
 * @zcrx: the queue
 * @copies: number of copies, from a socket buffer each
 * @bytes: number of bytes
 */
void io_zcrx_copied(struct io_ring_ctx *ctx, struct io_zcrx *zcrx, unsigned int copies,
		    size_t bytes)
{
	struct zcrx_stats *stats = zcrx->stats;
	struct io_ring_ctx *owner;

	if (!stats && !zcrx->events)
		return;
	scoped_guard(spinlock, &zcrx->lock) {
		if (stats) {
			WRITE_ONCE(stats->copy_count, READ_ONCE(stats->copy_count) + copies);
			WRITE_ONCE(stats->copy_bytes, READ_ONCE(stats->copy_bytes) + bytes);
		}
		owner = io_zcrx_event_begin(zcrx, ZCRX_EVENT_COPY);
	}
	if (likely(!owner))
		return;
	io_zcrx_event_post(ctx, zcrx, owner, ZCRX_EVENT_COPY);
	percpu_ref_put(&owner->refs);
}

/**
 * io_zcrx_arm - let an event post a CQE again
 * @zcrx: the queue
 * @event: the event, from the program
 *
 * Return: 0; -EINVAL if the program did not ask for the event, or if the event is armed already
 */
int io_zcrx_arm(struct io_zcrx *zcrx, u32 event)
{
	if (event >= __ZCRX_EVENT_TYPE_LAST || !(zcrx->events & BIT(event)))
		return -EINVAL;
	guard(spinlock)(&zcrx->lock);
	if (zcrx->armed & BIT(event))
		return -EINVAL;
	zcrx->armed |= BIT(event);
	return 0;
}
