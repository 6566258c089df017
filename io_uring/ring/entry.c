// SPDX-License-Identifier: GPL-2.0
/* io_uring: memory of CQEs outside the CQ: sent by MSG_RING and not posted yet, or overflowed */

/*
 * entry.h describes the store of a ring.  io_entry_store_free() closes store->back, and adds
 * the number of missing entries to store->away.  An entry that is returned later is freed
 * and subtracted from store->away.  Exactly one of these operations results in zero, and
 * its context frees the store.
 */
#include <linux/slab.h>

#include "ring/entry.h"
#include "ring/mailbox.h"

/**
 * io_entry_alloc - allocate a single entry, which is freed after its one use
 * @gfp: allocation flags
 *
 * Return: the entry, or NULL if there is no memory.
 */
struct io_cqe_entry *io_entry_alloc(gfp_t gfp)
{
	return kzalloc(sizeof(struct io_cqe_entry), gfp | __GFP_ACCOUNT | __GFP_NOWARN);
}

/**
 * io_entry_refill - get an entry for io_entry_get() when its list is empty
 * @ctx: the ring, its lock held
 *
 * Return: an entry that was returned, a new entry, or NULL if there is no memory.
 */
struct io_cqe_entry *io_entry_refill(struct io_ring_ctx *ctx)
{
	struct io_entry_store *store = ctx->entries;
	struct io_cqe_entry *entry;

	if (!store) {
		store = kzalloc_obj(*store, GFP_KERNEL_ACCOUNT);
		if (!store)
			return NULL;
		ctx->entries = store;
	}
	if (io_mailbox_pending(&store->back)) {
		struct io_tw *tw = io_mailbox_take(&store->back);

		store->free = tw->next;
		return io_entry_unpoison(store, tw);
	}
	entry = io_entry_alloc(store->made < IO_ENTRY_STORE ? GFP_KERNEL : IO_ENTRY_BEYOND);
	if (entry && store->made < IO_ENTRY_STORE) {
		entry->store = store;
		store->made++;
	}
	return entry;
}

/* Free a list of entries, linked by ->tw.  Return: the number of entries. */
static unsigned int io_entry_free_list(struct io_tw *tw)
{
	unsigned int nr = 0;

	for (; tw; nr++) {
		struct io_cqe_entry *entry = io_tw_to_entry(tw);

		tw = tw->next;
		kfree(entry);
	}
	return nr;
}

/*
 * Poison the contents of these entries for KASAN, except their links.  kfree() needs the first
 * bytes unpoisoned as well.
 */
static void io_entry_poison_chain(struct io_cqe_entry *first, struct io_cqe_entry *last)
{
	struct io_cqe_entry *entry = first;

	if (!IS_ENABLED(CONFIG_KASAN))
		return;
	for (;;) {
		struct io_tw *next = entry->tw.next;

		kasan_mempool_poison_object(entry);
		kasan_unpoison_range(&entry->tw, sizeof(entry->tw));
		entry->tw.next = next;
		if (entry == last)
			return;
		entry = io_tw_to_entry(next);
	}
}

/**
 * io_entry_put_chain - return entries to their store, or free a single entry
 * @first: first of a chain that is linked by ->tw
 * @last: last entry; all entries have the same store.  Without a store, @last is the only entry
 *
 * Context: Any.
 */
void io_entry_put_chain(struct io_cqe_entry *first, struct io_cqe_entry *last)
{
	struct io_entry_store *store = last->store;

	if (!store) {
		kfree(last);
		return;
	}
	io_entry_poison_chain(first, last);
	if (likely(!(io_mailbox_push_chain(&store->back, &first->tw, &last->tw) & IO_MAILBOX_DEAD)))
		return;
	last->tw.next = NULL;
	if (!atomic_sub_return(io_entry_free_list(&first->tw), &store->away))
		kfree(store);
}

/**
 * io_entry_store_free - free the entries of a ring that has sent messages
 * @ctx: the ring, its lock held; it sends no messages any more
 */
void io_entry_store_free(struct io_ring_ctx *ctx)
{
	struct io_entry_store *store = ctx->entries;
	unsigned int home;

	if (!store)
		return;
	ctx->entries = NULL;
	home = io_entry_free_list(store->free);
	home += io_entry_free_list(io_mailbox_close(&store->back));
	if (!atomic_add_return(store->made - home, &store->away))
		kfree(store);
}
