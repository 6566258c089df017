/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: memory that the kernel and a program share */
#ifndef IO_RING_REGION_H
#define IO_RING_REGION_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

struct vm_area_struct;

int io_region_alloc(struct io_mapped_region *region, size_t size);
int io_region_pin(struct io_mapped_region *region, unsigned long uaddr, size_t size);
void io_region_free(struct io_mapped_region *region);
int io_region_mmap(struct io_mapped_region *region, struct vm_area_struct *vma, bool part);
struct page **io_pin_pages(unsigned long uaddr, unsigned long len, int *npages);

#endif
