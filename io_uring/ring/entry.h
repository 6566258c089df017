/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: memory of CQEs outside the CQ: sent by MSG_RING and not posted yet, or overflowed */
#ifndef IO_RING_ENTRY_H
#define IO_RING_ENTRY_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/kasan.h>

#include "ctx.h"
#include "ring/locks.h"

/*
 * A CQE that cannot be written into its ring at once is kept in a struct io_cqe_entry.
 * Each ring that sends messages (CQEs of MSG_RING to other rings) has a store of such
 * entries.  An entry carries a message to the target's mailbox, and may be kept on the
 * target's overflow list.  Entries return through store->back, several at a time.  So
 * most messages need no allocation, and entries in flight are charged to the sender,
 * which has allocated them.
 *
 * Entries hold no reference to their ring, so a store outlives its ring until the
 * last entry has returned.  Entries beyond the store's size, and those of
 * overflowed CQEs, are single: allocated for one use.
 */

/* entries that a ring keeps for reuse */
#define IO_ENTRY_STORE	512
/*
 * Flags for entries beyond the store, whose number only memory limits.  If an allocation fails,
 * the sender gets an error, or a CQE is lost, but no task of the memory cgroup is killed.
 * Unlike GFP_ATOMIC allocations, these allocations stay within the limit of the cgroup.
 */
#define IO_ENTRY_BEYOND	(GFP_KERNEL | __GFP_NORETRY)

struct io_cqe_entry *io_entry_refill(struct io_ring_ctx *ctx);
struct io_cqe_entry *io_entry_alloc(gfp_t gfp);
void io_entry_put_chain(struct io_cqe_entry *first, struct io_cqe_entry *last);
void io_entry_store_free(struct io_ring_ctx *ctx);

static inline struct io_cqe_entry *io_tw_to_entry(struct io_tw *tw)
{
	return container_of(tw, struct io_cqe_entry, tw);
}

/* Unpoison an entry of a store.  KASAN may have overwritten the entry, so set ->store again. */
static inline struct io_cqe_entry *io_entry_unpoison(struct io_entry_store *store,
						     struct io_tw *tw)
{
	struct io_cqe_entry *entry = io_tw_to_entry(tw);

	kasan_mempool_unpoison_object(entry, sizeof(*entry));
	if (IS_ENABLED(CONFIG_KASAN))
		entry->store = store;
	return entry;
}

/**
 * io_entry_get - take an entry for a message
 * @ctx: the ring that sends the message, its lock held
 *
 * Context: Task context.  May sleep.
 * Return: the entry, or NULL if there is no memory.
 */
static inline struct io_cqe_entry *io_entry_get(struct io_ring_ctx *ctx)
{
	struct io_entry_store *store = ctx->entries;

	io_assert_ring(ctx);
	if (likely(store && store->free)) {
		struct io_tw *tw = store->free;

		store->free = tw->next;
		return io_entry_unpoison(store, tw);
	}
	return io_entry_refill(ctx);
}

/* Return an entry to its store, or free a single entry.  Any context. */
static inline void io_entry_put(struct io_cqe_entry *entry)
{
	io_entry_put_chain(entry, entry);
}

#endif
