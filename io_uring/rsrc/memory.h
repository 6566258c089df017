/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: IORING_REGISTER_MEM_REGION - memory for the arguments of waits */
#ifndef IO_RSRC_MEMORY_H
#define IO_RSRC_MEMORY_H

#include <linux/nospec.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

/* the mmap offset of a region that the kernel has allocated; programs know it from the call */
#define IO_OFF_MEMORY	0x20000000ULL

/* most pages: an array of pointers to them has at most INT_MAX bytes, see kvmalloc_array() */
#define IO_MEMORY_PAGES	min(INT_MAX / sizeof(struct page *), SIZE_MAX >> PAGE_SHIFT)

struct io_memory *io_memory_create(struct io_ring_ctx *ctx,
				   const struct io_uring_region_desc *desc);
void io_memory_destroy(struct io_memory *memory);
int io_memory_register(struct io_ring_ctx *ctx, void __user *arg);
void io_memory_free(struct io_ring_ctx *ctx);

/**
 * io_memory_get - find the region of a ring
 * @ctx: the ring, to whose file the caller has a reference; its lock need not be held
 *
 * Return: the region, which stays as it is until the end of the ring; NULL if there is none.
 */
static inline struct io_memory *io_memory_get(struct io_ring_ctx *ctx)
{
	/* pairs with the store in io_memory_register() */
	return smp_load_acquire(&ctx->memory);
}

/**
 * io_memory_wait_arg - find the arguments of a wait
 * @ctx: the ring, as for io_memory_get()
 * @offset: offset of the arguments in the region, from the program
 * @size: their size, less than a page
 *
 * Return: the arguments, which the program may change at any time; NULL if the offset is not
 * aligned or beyond the end, or if the ring has no region for arguments of waits.
 */
static inline const void *io_memory_wait_arg(struct io_ring_ctx *ctx, unsigned long offset,
					     size_t size)
{
	const struct io_memory *memory = io_memory_get(ctx);
	unsigned long last;

	if (!memory || !memory->wait_args)
		return NULL;
	last = ((unsigned long)memory->region.nr_pages << PAGE_SHIFT) - size;
	if (offset > last || offset % sizeof(long))
		return NULL;
	return memory->region.ptr + array_index_nospec(offset, last + 1);
}

#endif
