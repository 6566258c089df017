// SPDX-License-Identifier: GPL-2.0
/* io_uring: memory that the kernel and a program share */

/*
 * A region is a series of pages that the kernel maps at one address.  Either the
 * kernel allocates the pages and the program maps them through the ring's file, or
 * the program passes its own memory (IORING_SETUP_NO_MMAP, rings of buffers).  That
 * memory is pinned.  If its pages are not contiguous, a vmap makes them so for the kernel.
 * Kernel memory is charged to the memory cgroup of the task that creates the region.
 * The program's memory was charged when it was allocated.
 *
 * Pages are not charged against RLIMIT_MEMLOCK, which is too low for most programs.
 * Two kinds of regions are exceptions: rings of buffers beyond IO_GROUPS_UNCHARGED
 * bytes, see rsrc/groups.c, and IORING_REGISTER_MEM_REGION, see rsrc/memory.c.
 */
#include <linux/kasan.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ring/region.h"

/* number of pages that are allocated before the task looks for signals */
#define IO_REGION_BULK	512U

/* The OOM killer would kill other tasks, as the one that allocates has few pages that count. */
#define IO_REGION_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/**
 * io_pin_pages - pin a range of the current task's memory (FOLL_LONGTERM)
 * @uaddr: start address, which need not be page aligned
 * @len: bytes, not 0
 * @npages: result: number of pages
 *
 * Context: Task context.  May sleep.
 * Return: an array of pages, to be unpinned, and freed by kvfree(); or ERR_PTR():
 * -EOVERFLOW if the range wraps, -EINVAL if it is too large, -EFAULT, -ENOMEM.
 */
struct page **io_pin_pages(unsigned long uaddr, unsigned long len, int *npages)
{
	unsigned long first = uaddr >> PAGE_SHIFT;
	unsigned long end, nr;
	struct page **pages;
	int pinned;

	if (check_add_overflow(uaddr, len, &end) || check_add_overflow(end, PAGE_SIZE - 1, &end))
		return ERR_PTR(-EOVERFLOW);
	nr = (end >> PAGE_SHIFT) - first;
	if (WARN_ON_ONCE(!nr) || nr > INT_MAX)
		return ERR_PTR(-EINVAL);

	pages = kvmalloc_array(nr, sizeof(*pages), IO_REGION_GFP);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	pinned = pin_user_pages_fast(uaddr, nr, FOLL_WRITE | FOLL_LONGTERM, pages);
	if (pinned == nr) {
		*npages = nr;
		return pages;
	}
	if (pinned > 0)
		unpin_user_pages(pages, pinned);
	kvfree(pages);
	return ERR_PTR(pinned < 0 ? pinned : -EFAULT);
}

/* Allocate a small region in the direct map.  It needs no vmap and fewer TLB entries. */
static bool io_region_alloc_run(struct io_mapped_region *region)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_COMP | __GFP_NORETRY;
	unsigned int order = get_order((size_t)region->nr_pages << PAGE_SHIFT);
	struct page *head;
	unsigned int i;

	if (order > PAGE_ALLOC_COSTLY_ORDER)
		return false;
	head = alloc_pages(gfp, order);
	if (!head)
		return false;
	for (i = 0; i < region->nr_pages; i++)
		region->pages[i] = head + i;
	region->ptr = page_address(head);
	return true;
}

static bool io_region_alloc_pages(struct io_mapped_region *region)
{
	unsigned int nr = 0;

	/* a task that is killed must not use up the memory that it is to free */
	while (nr < region->nr_pages && !fatal_signal_pending(current)) {
		unsigned int bulk = min(region->nr_pages - nr, IO_REGION_BULK);
		unsigned int more = alloc_pages_bulk(IO_REGION_GFP | __GFP_ZERO, bulk,
						     region->pages + nr);

		if (!more)
			break;
		nr += more;
		cond_resched();
	}
	if (nr == region->nr_pages)
		region->ptr = vmap(region->pages, nr, VM_MAP, PAGE_KERNEL);
	if (region->ptr)
		return true;
	release_pages(region->pages, nr);
	return false;
}

/**
 * io_region_alloc - allocate a region of kernel memory
 * @region: empty
 * @size: bytes, rounded up to pages
 *
 * The memory is zeroed and charged to the memory cgroup.
 *
 * Context: Task context.  May sleep.
 * Return: 0 or -ENOMEM.
 */
int io_region_alloc(struct io_mapped_region *region, size_t size)
{
	size_t nr = PAGE_ALIGN(size) >> PAGE_SHIFT;

	if (!nr || nr > min(totalram_pages(), INT_MAX))
		return -ENOMEM;
	region->pages = kvcalloc(nr, sizeof(*region->pages), IO_REGION_GFP);
	if (!region->pages)
		return -ENOMEM;
	region->nr_pages = nr;
	if (io_region_alloc_run(region) || io_region_alloc_pages(region))
		return 0;
	kvfree(region->pages);
	memset(region, 0, sizeof(*region));
	return -ENOMEM;
}

/* Return: the address of contiguous pages in the direct map, or NULL. */
static void *io_region_direct(struct page **pages, int nr)
{
	int i;

	if (PageHighMem(pages[0]) || PageHighMem(pages[nr - 1]))
		return NULL;
	for (i = 1; i < nr; i++)
		if (page_to_pfn(pages[i]) != page_to_pfn(pages[0]) + i)
			return NULL;
	/* with tag-based KASAN, each page may have a tag of its own */
	return kasan_reset_tag(page_address(pages[0]));
}

/**
 * io_region_pin - pin a region of the current task's own memory
 * @region: empty
 * @uaddr: address of the memory, page aligned
 * @size: bytes, rounded up to pages
 *
 * Context: Task context.  May sleep.
 * Return: 0, -EINVAL for a bad address or size 0, -EFAULT, -EOVERFLOW, -ENOMEM.
 */
int io_region_pin(struct io_mapped_region *region, unsigned long uaddr, size_t size)
{
	struct page **pages;
	void *ptr;
	int nr;

	if (!size || offset_in_page(uaddr))
		return -EINVAL;
	pages = io_pin_pages(uaddr, size, &nr);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	/* a vmap costs time and TLB entries */
	ptr = io_region_direct(pages, nr) ?: vmap(pages, nr, VM_MAP, PAGE_KERNEL);
	if (!ptr) {
		unpin_user_pages(pages, nr);
		kvfree(pages);
		return -ENOMEM;
	}
	region->ptr = ptr;
	region->pages = pages;
	region->nr_pages = nr;
	region->user = true;
	return 0;
}

/**
 * io_region_free - undo io_region_alloc() or io_region_pin()
 * @region: may be empty
 */
void io_region_free(struct io_mapped_region *region)
{
	if (!region->ptr)
		return;
	if (is_vmalloc_addr(region->ptr))
		vunmap(region->ptr);
	/* user mappings hold their own references to the pages */
	if (region->user)
		unpin_user_pages(region->pages, region->nr_pages);
	else if (PageCompound(region->pages[0]))
		put_page(region->pages[0]);
	else
		release_pages(region->pages, region->nr_pages);
	kvfree(region->pages);
	memset(region, 0, sizeof(*region));
}

/**
 * io_region_mmap - map a region of kernel memory into the current task
 * @region: the region
 * @vma: the mapping; an access beyond the region's end gets SIGBUS
 * @part: the mapping may be smaller than the region
 *
 * Context: Task context.  Holds mmap_lock.
 * Return: 0; -EINVAL if the region is empty or the program's own memory; -EFAULT if the mapping is
 * too small; or another error of vm_insert_pages().
 */
int io_region_mmap(struct io_mapped_region *region, struct vm_area_struct *vma, bool part)
{
	unsigned long nr = region->nr_pages;

	if (!region->ptr || region->user)
		return -EINVAL;
	if (part)
		nr = min(nr, vma_pages(vma));
	vm_flags_set(vma, VM_DONTEXPAND);
	return vm_insert_pages(vma, vma->vm_start, region->pages, &nr);
}
