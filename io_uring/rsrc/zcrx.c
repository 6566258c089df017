// SPDX-License-Identifier: GPL-2.0
/* io_uring: queues for zero copy receives */

/*
 * A queue has areas in chunks of one size: memory of the program, which stays pinned, or dma-bufs
 * (zcrx_dmabuf.c).  The CQEs of a RECV_ZC tell where its data is (op/net/recv_zc.c).  The program
 * gives a piece of data back by an entry with its offset in the refill ring.
 *
 * The receive queue of a network device gets chunks from here, and writes data to them: see
 * zcrx_device.c.  The kernel reads the refill ring when that receive queue needs more chunks.
 *
 * Without a device (ZCRX_REG_NODEV) the kernel copies each piece of data to a free chunk.  It also
 * copies the data that another receive queue got.  The refill ring of a queue without a device is
 * read only for ZCRX_CTRL_FLUSH_RQ, as on 7.3.
 *
 * The program may write anything to the refill ring at any time.  The kernel trusts its own copy of
 * the head, reads each entry once, and takes back only what the program has.  Other entries are
 * skipped.  A flush reads no more entries than the ring has.
 *
 * Areas are never removed.  A queue ends with its last user.  No request uses it then, but data may
 * be in the queues of sockets.  The memory stays until page pools have given all of it back.
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

/**
 * io_zcrx_alloc - allocate a queue without areas, device, refill ring and owner
 *
 * Return: the queue with one user, or NULL
 */
struct io_zcrx *io_zcrx_alloc(void)
{
	struct io_zcrx *zcrx = kzalloc_obj(*zcrx, GFP_KERNEL_ACCOUNT);

	if (!zcrx)
		return NULL;
	refcount_set(&zcrx->users, 1);
	refcount_set(&zcrx->refs, 1);
	zcrx->shift = PAGE_SHIFT;
	spin_lock_init(&zcrx->lock);
	xa_init_flags(&zcrx->areas, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&zcrx->usable);
	return zcrx;
}

static void io_zcrx_area_free(struct io_zcrx_area *area)
{
	if (area->map)
		io_map_put(area->map);
	io_zcrx_dmabuf_put(area->dmabuf);
	kvfree(area->niovs);
	kvfree(area->given);
	kvfree(area);
}

/**
 * io_zcrx_unref - drop a reference to a queue
 * @zcrx: the queue; may be freed
 *
 * Context: Task context.  May sleep.
 */
void io_zcrx_unref(struct io_zcrx *zcrx)
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
	io_zcrx_device_free(zcrx);
	io_memory_destroy(zcrx->memory);
	kfree(zcrx);
}

/**
 * io_zcrx_put - remove a user of a queue
 * @zcrx: the queue; may be freed
 *
 * The last user detaches the queue from its device.
 *
 * Context: Task context.  May sleep, and waits for the lock of a network device.
 */
void io_zcrx_put(struct io_zcrx *zcrx)
{
	if (!refcount_dec_and_test(&zcrx->users))
		return;
	io_zcrx_device_close(zcrx);
	io_zcrx_unref(zcrx);
}

static int io_zcrx_area_check(const struct io_uring_zcrx_area_reg *reg)
{
	if (reg->flags & ~IO_ZCRX_AREA_FLAGS || (!reg->flags && reg->dmabuf_fd) ||
	    reg->rq_area_token ||
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
	area->given = kvcalloc(nr, sizeof(*area->given), GFP_KERNEL_ACCOUNT);
	if (!area->given) {
		kvfree(area);
		return NULL;
	}
	area->nr_chunks = nr;
	area->nr_free = nr;
	for (i = 0; i < nr; i++)
		area->free[i] = i;
	return area;
}

/* Return: the page at offset @at of pinned memory, see struct io_mapped_ubuf for its segments. */
static struct page *io_zcrx_page_at(const struct io_mapped_ubuf *map, size_t at)
{
	unsigned long pfn;
	size_t seg;

	seg = (at + (1UL << map->shift) - map->bvec[0].bv_len) >> map->shift;
	if (seg)
		at = (at - map->bvec[0].bv_len) & ((1UL << map->shift) - 1);
	pfn = page_to_pfn(map->bvec[seg].bv_page);
	return pfn_to_page(pfn + (at >> PAGE_SHIFT));
}

/* Return: true if pinned memory has whole chunks, and each of them is contiguous. */
static bool io_zcrx_has_chunks(const struct io_zcrx *zcrx, const struct io_mapped_ubuf *map,
			       size_t len)
{
	size_t rest = (1UL << zcrx->shift) - 1, at;
	unsigned long pfn, last = 0;

	if (len & rest)
		return false;
	if (zcrx->shift == PAGE_SHIFT)
		return true;
	for (at = 0; at < len; at += PAGE_SIZE) {
		pfn = page_to_pfn(io_zcrx_page_at(map, at));
		if (at & rest && pfn != last + 1)
			return false;
		last = pfn;
		cond_resched();
	}
	return true;
}

/* Make an area of pinned memory. */
static struct io_zcrx_area *io_zcrx_area_pin(struct io_ring_ctx *ctx, const struct io_zcrx *zcrx,
					     const struct io_uring_zcrx_area_reg *reg)
{
	struct io_mapped_ubuf *map = io_map_pin(ctx, reg->addr, reg->len);
	struct io_zcrx_area *area;

	if (IS_ERR(map))
		return ERR_CAST(map);
	if (!io_zcrx_has_chunks(zcrx, map, reg->len)) {
		io_map_put(map);
		return ERR_PTR(-ERANGE);
	}
	area = io_zcrx_area_alloc(reg->len >> zcrx->shift);
	if (!area) {
		io_map_put(map);
		return ERR_PTR(-ENOMEM);
	}
	area->map = map;
	return area;
}

/* Make an area of a whole dma-buf. */
static struct io_zcrx_area *io_zcrx_area_import(const struct io_zcrx *zcrx,
						const struct io_uring_zcrx_area_reg *reg)
{
	struct io_zcrx_dmabuf *dmabuf;
	struct io_zcrx_area *area;

	if (reg->addr)
		return ERR_PTR(-EINVAL);
	dmabuf = io_zcrx_dmabuf_get(reg->dmabuf_fd, reg->len);
	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	if (!IS_ALIGNED(reg->len, 1UL << zcrx->shift)) {
		io_zcrx_dmabuf_put(dmabuf);
		return ERR_PTR(-ERANGE);
	}
	area = io_zcrx_area_alloc(reg->len >> zcrx->shift);
	if (!area) {
		io_zcrx_dmabuf_put(dmabuf);
		return ERR_PTR(-ENOMEM);
	}
	area->dmabuf = dmabuf;
	return area;
}

/**
 * io_zcrx_area_make - get memory for a queue, and reserve a number
 * @ctx: the ring, its lock held, which is charged for memory of the program
 * @zcrx: the queue
 * @reg: the memory, from the program
 *
 * Return: the area, for io_zcrx_area_add() or io_zcrx_area_drop(); or an ERR_PTR(): -EINVAL, also
 * if the queue has too many areas, or areas of the other kind; -ERANGE if the memory does not
 * consist of chunks that are contiguous; -EBADF for the descriptor of a dma-buf; -EFAULT;
 * -EOVERFLOW; -ENOMEM, also if the charge would exceed RLIMIT_MEMLOCK; -EINTR if current is killed
 */
struct io_zcrx_area *io_zcrx_area_make(struct io_ring_ctx *ctx, struct io_zcrx *zcrx,
				       const struct io_uring_zcrx_area_reg *reg)
{
	int ret = io_zcrx_area_check(reg);
	struct io_zcrx_area *area;
	u32 id;

	if (ret)
		return ERR_PTR(ret);
	if (zcrx->dmabuf != (reg->flags & IORING_ZCRX_AREA_DMABUF))
		return ERR_PTR(-EINVAL);
	area = zcrx->dmabuf ? io_zcrx_area_import(zcrx, reg) : io_zcrx_area_pin(ctx, zcrx, reg);
	if (IS_ERR(area))
		return area;
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
 * io_zcrx_area_publish - let receives, and the refill ring, find an area
 * @zcrx: the queue
 * @area: from io_zcrx_area_make()
 */
void io_zcrx_area_publish(struct io_zcrx *zcrx, struct io_zcrx_area *area)
{
	/* cannot fail, as the number is reserved */
	xa_store(&zcrx->areas, area->offset >> IORING_ZCRX_AREA_SHIFT, area, GFP_KERNEL_ACCOUNT);
	guard(spinlock_bh)(&zcrx->lock);
	list_add_tail(&area->node, &zcrx->usable);
}

/**
 * io_zcrx_area_add - let receives use an area
 * @zcrx: the queue
 * @area: from io_zcrx_area_make()
 *
 * Context: Task context.  May sleep, and waits for the lock of a network device.
 *
 * Return: 0; or an error of io_zcrx_device_add(), and nothing is done
 */
int io_zcrx_area_add(struct io_zcrx *zcrx, struct io_zcrx_area *area)
{
	if (zcrx->device)
		return io_zcrx_device_add(zcrx, area);
	io_zcrx_area_publish(zcrx, area);
	return 0;
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

/**
 * io_zcrx_page - find the first page of a chunk
 * @zcrx: the queue
 * @area: the area, which is no dma-buf
 * @index: number of the chunk
 *
 * Return: the page
 */
struct page *io_zcrx_page(const struct io_zcrx *zcrx, const struct io_zcrx_area *area, u32 index)
{
	return io_zcrx_page_at(area->map, (size_t)index << zcrx->shift);
}

/**
 * io_zcrx_pop - take a free chunk
 * @zcrx: the queue, its lock held
 * @index: result, number of the chunk
 *
 * Of an area, the chunk that became free last is taken first, as it may be in a cache of the CPU.
 *
 * Return: its area, or NULL if no area has a free chunk
 */
struct io_zcrx_area *io_zcrx_pop(struct io_zcrx *zcrx, u32 *index)
{
	struct io_zcrx_area *area;

	lockdep_assert_held(&zcrx->lock);
	area = list_first_entry_or_null(&zcrx->usable, struct io_zcrx_area, node);
	if (!area)
		return NULL;
	*index = area->free[--area->nr_free];
	if (!area->nr_free)
		list_del(&area->node);
	return area;
}

/**
 * io_zcrx_free_chunk - free a chunk that neither the program nor a page pool has
 * @zcrx: the queue, its lock held
 * @area: the area
 * @index: number of the chunk
 */
void io_zcrx_free_chunk(struct io_zcrx *zcrx, struct io_zcrx_area *area, u32 index)
{
	lockdep_assert_held(&zcrx->lock);
	if (!area->nr_free)
		list_add_tail(&area->node, &zcrx->usable);
	area->free[area->nr_free++] = index;
}

/* Take a piece of data back, if the program has one in that chunk. */
static void io_zcrx_take_back(struct io_zcrx *zcrx, struct io_zcrx_area *area, u32 index,
			      struct io_zcrx_returns *back)
{
	struct net_iov *niov;

	lockdep_assert_held(&zcrx->lock);
	if (!area->given[index])
		return;
	area->given[index]--;
	niov = area->niovs ? io_zcrx_device_niov(area, index) : NULL;
	if (niov)
		back->niovs[back->nr++] = niov;
	else
		io_zcrx_free_chunk(zcrx, area, index);
}

/**
 * io_zcrx_return - undo io_zcrx_take() or io_zcrx_device_hold()
 * @zcrx: the queue
 * @piece: the piece, of which the program has not learned
 */
void io_zcrx_return(struct io_zcrx *zcrx, const struct io_zcrx_piece *piece)
{
	struct io_zcrx_returns back;

	back.nr = 0;
	scoped_guard(spinlock_bh, &zcrx->lock)
		io_zcrx_take_back(zcrx, piece->area, piece->index, &back);
	io_zcrx_device_return(&back);
}

/* Take back what an entry of the refill ring names.  The entry may have any contents. */
static void io_zcrx_refill_one(struct io_zcrx *zcrx, const struct io_uring_zcrx_rqe *rqe,
			       struct io_zcrx_returns *back)
{
	u64 offset = READ_ONCE(rqe->off), index;
	struct io_zcrx_area *area;

	if (READ_ONCE(rqe->__pad))
		return;
	area = xa_load(&zcrx->areas, offset >> IORING_ZCRX_AREA_SHIFT);
	index = (offset & ~IORING_ZCRX_AREA_MASK) >> zcrx->shift;
	if (!area || index >= area->nr_chunks)
		return;
	io_zcrx_take_back(zcrx, area, array_index_nospec((u32)index, area->nr_chunks), back);
}

/**
 * io_zcrx_refill - read entries of the refill ring
 * @zcrx: the queue
 * @max: most entries to read, at most IO_ZCRX_BATCH
 * @back: result; the memory of page pools that entries name
 *
 * Context: Any but hard interrupts.
 *
 * Return: the number of entries read
 */
u32 io_zcrx_refill(struct io_zcrx *zcrx, u32 max, struct io_zcrx_returns *back)
{
	struct io_zcrx_refill *refill = zcrx->memory->region.ptr;
	u32 i, nr;

	back->nr = 0;
	guard(spinlock_bh)(&zcrx->lock);
	/* pairs with the program's store of the tail, after its entries */
	nr = min(smp_load_acquire(&refill->tail) - zcrx->head, max);
	for (i = 0; i < nr; i++)
		io_zcrx_refill_one(zcrx, &refill->rqes[zcrx->head++ & (zcrx->entries - 1)],
				   back);
	/* pairs with the program's load of the head: it may reuse the entries */
	smp_store_release(&refill->head, zcrx->head);
	return nr;
}

/**
 * io_zcrx_flush - take back all that the refill ring names
 * @zcrx: the queue
 *
 * Context: Task context.  May sleep.
 */
void io_zcrx_flush(struct io_zcrx *zcrx)
{
	struct io_zcrx_returns back;
	u32 left = zcrx->entries, nr;

	do {
		nr = io_zcrx_refill(zcrx, min(left, IO_ZCRX_BATCH), &back);
		io_zcrx_device_return(&back);
		left -= nr;
		cond_resched();
	} while (nr == IO_ZCRX_BATCH && left);
}

/* Take a free chunk, and count a piece for it.  Return: false if no area has a free chunk. */
static bool io_zcrx_pop_for_program(struct io_zcrx *zcrx, struct io_zcrx_piece *piece)
{
	guard(spinlock_bh)(&zcrx->lock);
	piece->area = io_zcrx_pop(zcrx, &piece->index);
	if (!piece->area)
		return false;
	piece->area->given[piece->index] = 1;
	return true;
}

/**
 * io_zcrx_take - take a free chunk, for the program
 * @zcrx: the queue
 * @piece: result
 *
 * Context: Task context.  May sleep.
 *
 * Return: false if no area has a free chunk, or the areas are dma-bufs
 */
bool io_zcrx_take(struct io_zcrx *zcrx, struct io_zcrx_piece *piece)
{
	if (zcrx->dmabuf)
		return false;
	if (!io_zcrx_pop_for_program(zcrx, piece)) {
		/* if all data is copied, no page pool reads the refill ring */
		if (!zcrx->device)
			return false;
		io_zcrx_flush(zcrx);
		if (!io_zcrx_pop_for_program(zcrx, piece))
			return false;
	}
	piece->page = io_zcrx_page(zcrx, piece->area, piece->index);
	piece->offset = piece->area->offset | (u64)piece->index << zcrx->shift;
	return true;
}

/* Get the ring that has to post a CQE for an event, and disarm the event.  Return: NULL if none. */
static struct io_ring_ctx *io_zcrx_event_begin(struct io_zcrx *zcrx, u32 event)
{
	struct io_ring_ctx *owner = zcrx->owner;

	lockdep_assert_held(&zcrx->lock);
	if (likely(!(zcrx->armed & BIT(event))) || !owner || READ_ONCE(owner->stops.disabled) ||
	    !percpu_ref_tryget(&owner->refs))
		return NULL;
	WRITE_ONCE(zcrx->armed, zcrx->armed & ~BIT(event));
	return owner;
}

/*
 * Post the CQE of an event.  @ctx: NULL, or a ring whose lock is held, and whose CQEs current may
 * write.
 */
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
	guard(spinlock_bh)(&zcrx->lock);
	WRITE_ONCE(zcrx->armed, zcrx->armed | BIT(event));
}

/**
 * io_zcrx_report - report an event to the program
 * @zcrx: the queue
 * @event: the event
 *
 * Context: Task context, without the lock of a ring.  May sleep.
 */
void io_zcrx_report(struct io_zcrx *zcrx, u32 event)
{
	struct io_ring_ctx *owner;

	scoped_guard(spinlock_bh, &zcrx->lock)
		owner = io_zcrx_event_begin(zcrx, event);
	if (!owner)
		return;
	io_zcrx_event_post(NULL, zcrx, owner, event);
	percpu_ref_put(&owner->refs);
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
	scoped_guard(spinlock_bh, &zcrx->lock) {
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
	guard(spinlock_bh)(&zcrx->lock);
	if (zcrx->armed & BIT(event))
		return -EINVAL;
	WRITE_ONCE(zcrx->armed, zcrx->armed | BIT(event));
	return 0;
}
