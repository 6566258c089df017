/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: queues for zero copy receives */
#ifndef IO_RSRC_ZCRX_H
#define IO_RSRC_ZCRX_H

#include <linux/errno.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <uapi/linux/io_uring.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

struct io_memory;
struct page;

/* what programs can ask for, see IO_URING_QUERY_ZCRX */
#define IO_ZCRX_REG_FLAGS	(ZCRX_REG_IMPORT | ZCRX_REG_NODEV)
#define IO_ZCRX_FEATURES	(ZCRX_FEATURE_RX_PAGE_SIZE | ZCRX_FEATURE_EVENT)
#define IO_ZCRX_DESC_FLAGS	ZCRX_EVENT_DESC_FLAG_STATS
#define IO_ZCRX_EVENTS		(BIT(__ZCRX_EVENT_TYPE_LAST) - 1)

/* the mmap offset of the refill ring of queue 0; those of other queues follow */
#define IO_OFF_ZCRX		0x30000000ULL
#define IO_OFF_ZCRX_SHIFT	16
/* the alignment of the words and entries of a refill ring */
#define IO_ZCRX_ALIGN		64

/**
 * struct io_zcrx_refill - the refill ring, by which a program gives pages back
 * @head: (U) next entry to be read, written by the kernel, which has its own copy
 * @pad_head: lets the words be in different cache lines
 * @tail: (U) position after the last entry, written by the program
 * @pad_tail: lets the entries be in other cache lines
 * @rqes: (U) the entries
 */
struct io_zcrx_refill {
	u32				head;
	u32				pad_head[15];
	u32				tail;
	u32				pad_tail[15];
	struct io_uring_zcrx_rqe	rqes[];
};

/**
 * struct io_zcrx_area - memory to receive into, a part of a queue
 * @map: (-) the pinned pages
 * @offset: (-) number of the area, at the place that it has in offsets for the program
 * @nr_pages: (-) number of pages
 * @node: in zcrx->usable while @nr_free is not 0, under zcrx->lock
 * @given: bitmap of the pages that the program has, under zcrx->lock
 * @nr_free: number of entries of @free, under zcrx->lock
 * @free: stack of the pages that the program does not have, under zcrx->lock
 */
struct io_zcrx_area {
	struct io_mapped_ubuf	*map;
	u64			offset;
	u32			nr_pages;
	struct list_head	node;
	unsigned long		*given;
	u32			nr_free;
	u32			free[] __counted_by(nr_pages);
};

/**
 * struct io_zcrx - a queue: areas to receive into, and the refill ring
 * @refs: (A) entries in tables of rings, and files of ZCRX_CTRL_EXPORT
 * @lock: see below; task context only, a leaf lock
 * @areas: (A) the areas, by number; none is removed
 * @usable: areas that have a free page, under @lock
 * @memory: (-) the region of the refill ring
 * @entries: (-) size of the refill ring, a power of two
 * @head: next entry to be read, under @lock
 * @stats: (-)(U) counts in the region that the program asked for, or NULL; written under @lock
 * @user_data: (-) of the CQEs for events
 * @events: (-) events that the program asked for, a bit for each ZCRX_EVENT_*
 * @armed: events among @events whose next occurrence posts a CQE, under @lock
 * @owner: the ring that gets these CQEs, under @lock; NULL after its end
 *
 * Several rings may share a queue (ZCRX_REG_IMPORT).
 */
struct io_zcrx {
	refcount_t		refs;
	/* see above */
	spinlock_t		lock;
	struct xarray		areas;
	struct list_head	usable;
	struct io_memory	*memory;
	u32			entries;
	u32			head;
	struct zcrx_stats	*stats;
	u64			user_data;
	u32			events;
	u32			armed;
	struct io_ring_ctx	*owner;
};

/**
 * struct io_zcrx_piece - a page of an area, to receive into
 * @area: the area
 * @index: number of the page in the area
 * @page: the page
 * @offset: the offset that the program sees
 */
struct io_zcrx_piece {
	struct io_zcrx_area	*area;
	u32			index;
	struct page		*page;
	u64			offset;
};

struct io_zcrx *io_zcrx_alloc(void);
void io_zcrx_put(struct io_zcrx *zcrx);
struct io_zcrx_area *io_zcrx_area_make(struct io_ring_ctx *ctx, struct io_zcrx *zcrx,
				       const struct io_uring_zcrx_area_reg *reg);
void io_zcrx_area_add(struct io_zcrx *zcrx, struct io_zcrx_area *area);
void io_zcrx_area_drop(struct io_zcrx *zcrx, struct io_zcrx_area *area);

bool io_zcrx_take(struct io_zcrx *zcrx, struct io_zcrx_piece *piece);
void io_zcrx_return(struct io_zcrx *zcrx, const struct io_zcrx_piece *piece);
void io_zcrx_flush(struct io_zcrx *zcrx);
void io_zcrx_copied(struct io_ring_ctx *ctx, struct io_zcrx *zcrx, unsigned int copies,
		    size_t bytes);
int io_zcrx_arm(struct io_zcrx *zcrx, u32 event);

#ifdef CONFIG_INET
int io_zcrx_register(struct io_ring_ctx *ctx, void __user *arg);
int io_zcrx_ctrl(struct io_ring_ctx *ctx, void __user *arg);
struct io_mapped_region *io_zcrx_region(struct io_ring_ctx *ctx, unsigned long id);
void io_zcrx_free_all(struct io_ring_ctx *ctx);
#else
static inline int io_zcrx_register(struct io_ring_ctx *ctx, void __user *arg)
{
	return -EINVAL;
}

static inline int io_zcrx_ctrl(struct io_ring_ctx *ctx, void __user *arg)
{
	return -EINVAL;
}

static inline struct io_mapped_region *io_zcrx_region(struct io_ring_ctx *ctx, unsigned long id)
{
	return NULL;
}

static inline void io_zcrx_free_all(struct io_ring_ctx *ctx)
{
}
#endif

static inline void io_zcrx_init(struct io_ring_ctx *ctx)
{
	xa_init_flags(&ctx->zcrxs, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
}

/* Return: true if the CQEs of a ring have room for the offset of received data. */
static inline bool io_zcrx_fits_cqe(const struct io_ring_ctx *ctx)
{
	return ctx->issue_flags & IO_URING_F_CQE32;
}

/**
 * io_zcrx_find - find a queue of a ring
 * @ctx: the ring, to whose file the caller has a reference; its lock need not be held
 * @id: number of the queue, from the program
 *
 * Return: the queue, which stays until the end of the ring; NULL if there is none
 */
static inline struct io_zcrx *io_zcrx_find(struct io_ring_ctx *ctx, unsigned long id)
{
	return xa_load(&ctx->zcrxs, id);
}

#endif
