/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: queues for zero copy receives */
#ifndef IO_RSRC_ZCRX_H
#define IO_RSRC_ZCRX_H

#include <linux/err.h>
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

struct device;
struct io_memory;
struct net_iov;
struct page;
struct skb_frag;

/* what programs can ask for, see IO_URING_QUERY_ZCRX */
#define IO_ZCRX_REG_FLAGS	(ZCRX_REG_IMPORT | ZCRX_REG_NODEV)
#define IO_ZCRX_AREA_FLAGS	IORING_ZCRX_AREA_DMABUF
#define IO_ZCRX_FEATURES	(ZCRX_FEATURE_RX_PAGE_SIZE | ZCRX_FEATURE_EVENT)
#define IO_ZCRX_DESC_FLAGS	ZCRX_EVENT_DESC_FLAG_STATS
#define IO_ZCRX_EVENTS		(BIT(__ZCRX_EVENT_TYPE_LAST) - 1)

/* the mmap offset of the refill ring of queue 0; those of other queues follow */
#define IO_OFF_ZCRX		0x30000000ULL
#define IO_OFF_ZCRX_SHIFT	16
/* number of queues of a ring that such an offset can name */
#define IO_ZCRX_MAX		2048
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
 * @map: (-) the pinned pages, or NULL for a dma-buf
 * @dmabuf: (-) the dma-buf, or NULL
 * @offset: (-) number of the area, at the place that it has in offsets for the program
 * @nr_chunks: (-) number of chunks, of 1 << zcrx->shift bytes each
 * @niovs: (-) the chunks as a page pool sees them, or NULL if the queue has no device
 * @node: in zcrx->usable while @nr_free is not 0, under zcrx->lock
 * @given: for each chunk, the pieces of data in it that the program has, under zcrx->lock
 * @nr_free: number of entries of @free, under zcrx->lock
 * @free: stack of the chunks that neither the program nor a page pool has, under zcrx->lock
 */
struct io_zcrx_area {
	struct io_mapped_ubuf	*map;
	struct io_zcrx_dmabuf	*dmabuf;
	u64			offset;
	u32			nr_chunks;
	struct io_zcrx_niovs	*niovs;
	struct list_head	node;
	u32			*given;
	u32			nr_free;
	u32			free[] __counted_by(nr_chunks);
};

/**
 * struct io_zcrx - a queue: areas to receive into, and the refill ring
 * @users: (A) entries in tables of rings, and files of ZCRX_CTRL_EXPORT
 * @refs: (A) all users together, page pools, and queued work
 * @lock: see below; no other lock of io_uring is taken inside of it, and it is taken in softirqs
 * @areas: (A) the areas, by number; none is removed
 * @usable: areas that have a free chunk, under @lock
 * @shift: (-) log2 of the bytes of a chunk, PAGE_SHIFT for a queue without a device
 * @dmabuf: (-) true if each area is a dma-buf, which the kernel does not copy to
 * @device: (-) the receive queue that uses the areas, or NULL
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
	refcount_t		users;
	refcount_t		refs;
	/* see above */
	spinlock_t		lock;
	struct xarray		areas;
	struct list_head	usable;
	u32			shift;
	bool			dmabuf;
	struct io_zcrx_device	*device;
	struct io_memory	*memory;
	u32			entries;
	u32			head;
	struct zcrx_stats	*stats;
	u64			user_data;
	u32			events;
	u32			armed;
	struct io_ring_ctx	*owner;
};

/* entries of the refill ring that are read before other users of the lock get their turn */
#define IO_ZCRX_BATCH	64

/**
 * struct io_zcrx_returns - memory of page pools that the program has given back
 * @nr: number of entries
 * @niovs: the memory; each entry is a reference, which the page pool has not got back yet
 */
struct io_zcrx_returns {
	unsigned int	nr;
	struct net_iov	*niovs[IO_ZCRX_BATCH];
};

/**
 * struct io_zcrx_piece - a piece of data in a chunk of an area
 * @area: the area
 * @index: number of the chunk in the area
 * @page: the first page of the chunk if data has to be copied to its start
 * @offset: the offset of the data that the program sees
 */
struct io_zcrx_piece {
	struct io_zcrx_area	*area;
	u32			index;
	struct page		*page;
	u64			offset;
};

struct io_zcrx *io_zcrx_alloc(void);
void io_zcrx_put(struct io_zcrx *zcrx);
void io_zcrx_unref(struct io_zcrx *zcrx);
struct io_zcrx_area *io_zcrx_area_make(struct io_ring_ctx *ctx, struct io_zcrx *zcrx,
				       const struct io_uring_zcrx_area_reg *reg);
void io_zcrx_area_publish(struct io_zcrx *zcrx, struct io_zcrx_area *area);
int io_zcrx_area_add(struct io_zcrx *zcrx, struct io_zcrx_area *area);
void io_zcrx_area_drop(struct io_zcrx *zcrx, struct io_zcrx_area *area);

struct io_zcrx_area *io_zcrx_pop(struct io_zcrx *zcrx, u32 *index);
bool io_zcrx_take(struct io_zcrx *zcrx, struct io_zcrx_piece *piece);
void io_zcrx_return(struct io_zcrx *zcrx, const struct io_zcrx_piece *piece);
u32 io_zcrx_refill(struct io_zcrx *zcrx, u32 max, struct io_zcrx_returns *back);
void io_zcrx_flush(struct io_zcrx *zcrx);
void io_zcrx_free_chunk(struct io_zcrx *zcrx, struct io_zcrx_area *area, u32 index);
struct page *io_zcrx_page(const struct io_zcrx *zcrx, const struct io_zcrx_area *area, u32 index);
void io_zcrx_report(struct io_zcrx *zcrx, u32 event);
void io_zcrx_copied(struct io_ring_ctx *ctx, struct io_zcrx *zcrx, unsigned int copies,
		    size_t bytes);
int io_zcrx_arm(struct io_zcrx *zcrx, u32 event);

#ifdef CONFIG_IO_URING_ZCRX
int io_zcrx_device_check(u32 if_idx, u32 rxq);
int io_zcrx_device_find(struct io_zcrx *zcrx, u32 if_idx, u32 rxq);
int io_zcrx_device_open(struct io_zcrx *zcrx);
void io_zcrx_device_close(struct io_zcrx *zcrx);
void io_zcrx_device_free(struct io_zcrx *zcrx);
int io_zcrx_device_add(struct io_zcrx *zcrx, struct io_zcrx_area *area);
bool io_zcrx_device_hold(struct io_zcrx *zcrx, const struct skb_frag *frag,
			 struct io_zcrx_piece *piece);
struct net_iov *io_zcrx_device_niov(const struct io_zcrx_area *area, u32 index);
void io_zcrx_device_return(const struct io_zcrx_returns *back);
#else
static inline int io_zcrx_device_check(u32 if_idx, u32 rxq)
{
	return -EOPNOTSUPP;
}

static inline int io_zcrx_device_find(struct io_zcrx *zcrx, u32 if_idx, u32 rxq)
{
	return -EOPNOTSUPP;
}

static inline int io_zcrx_device_open(struct io_zcrx *zcrx)
{
	return -EOPNOTSUPP;
}

static inline void io_zcrx_device_close(struct io_zcrx *zcrx)
{
}

static inline void io_zcrx_device_free(struct io_zcrx *zcrx)
{
}

static inline int io_zcrx_device_add(struct io_zcrx *zcrx, struct io_zcrx_area *area)
{
	return -EOPNOTSUPP;
}

static inline bool io_zcrx_device_hold(struct io_zcrx *zcrx, const struct skb_frag *frag,
				       struct io_zcrx_piece *piece)
{
	return false;
}

static inline struct net_iov *io_zcrx_device_niov(const struct io_zcrx_area *area, u32 index)
{
	return NULL;
}

static inline void io_zcrx_device_return(const struct io_zcrx_returns *back)
{
}
#endif

#if defined(CONFIG_IO_URING_ZCRX) && defined(CONFIG_DMA_SHARED_BUFFER)
struct io_zcrx_dmabuf *io_zcrx_dmabuf_get(int fd, u64 len);
void io_zcrx_dmabuf_put(struct io_zcrx_dmabuf *dmabuf);
int io_zcrx_dmabuf_map(struct io_zcrx_area *area, struct device *dma, u32 shift,
		       struct net_iov *niovs);
#else
static inline struct io_zcrx_dmabuf *io_zcrx_dmabuf_get(int fd, u64 len)
{
	return ERR_PTR(-EINVAL);
}

static inline void io_zcrx_dmabuf_put(struct io_zcrx_dmabuf *dmabuf)
{
}

static inline int io_zcrx_dmabuf_map(struct io_zcrx_area *area, struct device *dma, u32 shift,
				     struct net_iov *niovs)
{
	return -EINVAL;
}
#endif

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
