// SPDX-License-Identifier: GPL-2.0
/* io_uring: user memory pinned for registered buffers */

/*
 * A buffer is pinned page by page and stored as an array of segments.  If a buffer consists of
 * consecutive pages of large folios, a segment can be as large as a folio.  A shift turns the
 * offset of a byte into the number of its segment.  This requires segments of one size, a power of
 * two; only the first and the last segment may be shorter.  Buffers that cannot be divided in this
 * manner get a segment for each page.
 *
 * A run of consecutive pages of one folio may become a segment.  It is not enough that pages
 * belong to the same folio: a program can map one page many times, or leave pages out.
 *
 * io_map_put() unpins the pages, a segment at a time.  No page is unpinned earlier.  See
 * rsrc/account.c for the charges.
 *
 * Context: Task context.  Holds a ring lock.  May sleep.  A buffer may have more than 2^18 pages,
 * so loops call cond_resched().
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ctx.h"
#include "ring/locks.h"
#include "ring/region.h"
#include "rsrc/account.h"
#include "rsrc/bufs.h"
#include "rsrc/map.h"

/* Return: length of the run that begins with the first of @nr pages. */
static unsigned int io_page_run(struct page **pages, unsigned int nr)
{
	struct folio *folio = page_folio(pages[0]);
	unsigned long at = folio_page_idx(folio, pages[0]);
	unsigned long max = min_t(unsigned long, nr, folio_nr_pages(folio) - at);
	unsigned int i;

	/* a segment has 32 bits for its bytes, and a folio may have more */
	max = min(max, IO_BUF_SIZE_MAX >> PAGE_SHIFT);

	for (i = 1; i < max; i++)
		if (pages[i] != folio_page(folio, at + i))
			break;
	return i;
}

/**
 * struct io_map_layout - division of pages into segments
 * @nr_segs: number of segments
 * @unit: pages in a full segment, a power of two
 */
struct io_map_layout {
	unsigned int	nr_segs;
	unsigned int	unit;
};

/* Plan a segment for each run if the runs have suitable sizes, otherwise for each page. */
static struct io_map_layout io_map_lay_out(struct page **pages, unsigned int nr)
{
	const struct io_map_layout by_page = { .nr_segs = nr, .unit = 1 };
	unsigned int first = io_page_run(pages, nr);
	unsigned int i, run, unit, segs;

	if (first == nr)
		return (struct io_map_layout){ 1, roundup_pow_of_two(nr) };
	unit = io_page_run(pages + first, nr - first);
	if (first + unit == nr)
		return (struct io_map_layout){ 2, roundup_pow_of_two(max(first, unit)) };
	if (!is_power_of_2(unit) || first > unit)
		return by_page;

	segs = 2;
	for (i = first + unit; i < nr; i += run) {
		run = io_page_run(pages + i, nr - i);
		if (run > unit || (run < unit && i + run < nr))
			return by_page;
		segs++;
		cond_resched();
	}
	return (struct io_map_layout){ segs, unit };
}

/**
 * io_map_alloc - allocate the description of memory
 * @nr_bvecs: number of segments, which the caller fills
 *
 * Return: the description with one reference and no account, or NULL.
 */
struct io_mapped_ubuf *io_map_alloc(unsigned int nr_bvecs)
{
	struct io_mapped_ubuf *map;

	map = kvmalloc(struct_size(map, bvec, nr_bvecs), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!map)
		return NULL;
	refcount_set(&map->refs, 1);
	map->nr_bvecs = nr_bvecs;
	map->shift = 0;
	map->account = NULL;
	map->release = NULL;
	return map;
}

/* Describe pinned pages by segments.  The memory starts at @offset in the first page. */
static struct io_mapped_ubuf *io_map_build(struct page **pages, unsigned int nr,
					   unsigned int offset, size_t len)
{
	struct io_map_layout layout = io_map_lay_out(pages, nr);
	struct io_mapped_ubuf *map;
	unsigned int seg;

	map = io_map_alloc(layout.nr_segs);
	if (!map)
		return NULL;
	map->shift = PAGE_SHIFT + ilog2(layout.unit);
	for (seg = 0; seg < layout.nr_segs; seg++) {
		unsigned int run = layout.unit == 1 ? 1 : io_page_run(pages, nr);
		size_t bytes = min_t(size_t, len, run * PAGE_SIZE - offset);

		bvec_set_page(&map->bvec[seg], *pages, bytes, offset);
		pages += run;
		nr -= run;
		len -= bytes;
		offset = 0;
		cond_resched();
	}
	return map;
}

static unsigned int io_seg_pages(const struct bio_vec *bv)
{
	return DIV_ROUND_UP(bv->bv_offset + bv->bv_len, PAGE_SIZE);
}

/**
 * io_map_pin - pin and charge memory of the current task
 * @ctx: the ring, its lock held
 * @uaddr: user address
 * @len: bytes, not 0
 *
 * A compound page that already holds a part of a buffer of the ring is not charged again.
 *
 * Return: the memory with one reference; -EFAULT, -EOVERFLOW, -ENOMEM, -EINTR if current is killed.
 */
struct io_mapped_ubuf *io_map_pin(struct io_ring_ctx *ctx, unsigned long uaddr, size_t len)
{
	struct io_mapped_ubuf *map;
	struct page **pages;
	int nr, ret;

	io_assert_ring(ctx);
	if (!ctx->account.charged)
		ctx->account.charged = io_account_make(ctx->account.user, ctx->account.mm);
	if (!ctx->account.charged)
		return ERR_PTR(-ENOMEM);
	pages = io_pin_pages(uaddr, len, &nr);
	if (IS_ERR(pages))
		return ERR_CAST(pages);
	map = io_map_build(pages, nr, offset_in_page(uaddr), len);
	ret = map ? io_account_charge(ctx->account.charged, map) : -ENOMEM;
	if (ret)
		goto unpin;
	map->account = ctx->account.charged;
	refcount_inc(&map->account->refs);
	kvfree(pages);
	return map;
unpin:
	kvfree(map);
	unpin_user_pages(pages, nr);
	kvfree(pages);
	return ERR_PTR(ret);
}

static void io_map_unpin(struct io_mapped_ubuf *map)
{
	unsigned int i;

	io_account_uncharge(map->account, map);
	io_account_put(map->account);
	for (i = 0; i < map->nr_bvecs; i++) {
		const struct bio_vec *bv = &map->bvec[i];

		unpin_user_folio(page_folio(bv->bv_page), io_seg_pages(bv));
		cond_resched();
	}
}

/**
 * io_map_put - drop a reference to memory, and unpin or release the memory with the last reference
 * @map: the memory
 *
 * Context: Task context.  May sleep.
 */
void io_map_put(struct io_mapped_ubuf *map)
{
	if (!refcount_dec_and_test(&map->refs))
		return;
	if (map->release)
		map->release(map->priv);
	else
		io_map_unpin(map);
	kvfree(map);
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "tests/map_kunit.c"
#endif
