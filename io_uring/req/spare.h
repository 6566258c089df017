/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: memory that a ring keeps for reuse by later requests */
#ifndef IO_REQ_SPARE_H
#define IO_REQ_SPARE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/kasan.h>
#include <linux/slab.h>

#include "ctx.h"

/*
 * A request that waits may need more memory than struct io_kiocb has, and requests wait often.
 * An allocation from the slab costs more than a hundred instructions, one from a list under the
 * ring lock costs ten.  An object on the list begins with a struct io_spare.  The rest of the
 * object is not accessed until it leaves the list, and is poisoned for KASAN.
 */

/* maximum number of objects of each kind that a ring keeps */
#define IO_SPARES_MAX	64

/**
 * io_spare_alloc - allocate an object, from the list if it is not empty
 * @spares: the ring's list of this kind; ring lock held
 * @size: bytes, constant for each kind
 *
 * Context: Task context.  May sleep.
 * Return: the memory, not cleared, or NULL.
 */
static __always_inline void *io_spare_alloc(struct io_spares *spares, size_t size)
{
	struct io_spare *spare = spares->first;

	if (unlikely(!spare))
		return kmalloc(size, GFP_KERNEL_ACCOUNT);
	spares->first = spare->next;
	spares->nr--;
	kasan_mempool_unpoison_object(spare, size);
	return spare;
}

/**
 * io_spare_free - put an object on the list, or free it if the list is full
 * @spares: the ring's list of this kind; ring lock held
 * @spare: beginning of the object
 */
static inline void io_spare_free(struct io_spares *spares, struct io_spare *spare)
{
	if (unlikely(spares->nr == IO_SPARES_MAX)) {
		kfree(spare);
		return;
	}
	kasan_mempool_poison_object(spare);
	/* ->next is used on the list; kfree() needs the first bytes unpoisoned, too */
	kasan_unpoison_range(spare, sizeof(*spare));
	spare->next = spares->first;
	spares->first = spare;
	spares->nr++;
}

/**
 * io_spares_end - free the objects on a list
 * @spares: the ring's list of one kind; ring lock held
 */
static inline void io_spares_end(struct io_spares *spares)
{
	struct io_spare *spare;

	while ((spare = spares->first)) {
		spares->first = spare->next;
		kfree(spare);
	}
	spares->nr = 0;
}

#endif
