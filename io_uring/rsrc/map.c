// SPDX-License-Identifier: GPL-2.0
/* io_uring: user memory pinned for registered buffers */

/*
 * A buffer is pinned page by page and kept as an array of segments.  Where its
 * pages are pages of large folios, one after the other, a segment is as large
 * as a folio; the offset of a byte then gives its segment by a shift, as it
 * does for single pages.  That needs full segments of one size, a power of two,
 * with only the first and the last shorter.  What does not fit this picture is
 * kept page by page.
 *
 * A run is what may become a segment: pages that are consecutive pages of one
 * folio.  That two pages belong to the same folio says nothing yet, a program
 * can map one page many times or leave pages out.
 *
 * Each page that was pinned is unpinned, a segment at a time; nothing is given back
 * earlier.  What it costs is the matter of rsrc/account.c.
 *
 * Task context, ring lock held, may sleep.  A buffer has up to 2^18 pages: loops let others run.
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

/* How many of the first @nr pages follow one another in one folio? */
static unsigned int io_page_run(struct page **pages, unsigned int nr)
{
	struct folio *folio = page_folio(pages[0]);
	unsigned long at = folio_page_idx(folio, pages[0]);
	unsigned long max = min_t(unsigned long, nr, folio_nr_pages(folio) - at);
	unsigned int i;

	for (i = 1; i < max; i++)
		if (pages[i] != folio_page(folio, at + i))
			break;
	return i;
}

/**
 * struct io_map_layout - how pages become segments
 * @nr_segs: number of segments
 * @unit: pages in a full segment, a power of two
 */
struct io_map_layout {
	unsigned int	nr_segs;
	unsigned int	unit;
};

/* Each run a segment if they have the right sizes, else each page. */
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

/* Describe pinned pages.  @offset is where the memory starts in the first one. */
static struct io_mapped_ubuf *io_map_build(struct page **pages, unsigned int nr,
					   unsigned int offset, size_t len)
{
	struct io_map_layout layout = io_map_lay_out(pages, nr);
	struct io_mapped_ubuf *map;
	unsigned int seg;

	map = kvmalloc(struct_size(map, bvec, layout.nr_segs), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NULL;
	refcount_set(&map->refs, 1);
	map->nr_bvecs = layout.nr_segs;
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
 * @ctx: the ring, its lock held; a compound page that its buffers lie in is not charged again
 * @uaddr: user address
 * @len: bytes, not 0, at most IO_BUF_SIZE_MAX
 *
 * Return: with one reference; -EFAULT, -EOVERFLOW, -ENOMEM, -EINTR for a task that is killed.
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

/**
 * io_map_put - drop a reference to pinned memory, unpin it with the last one
 * @map: the memory
 *
 * Task context, may sleep.
 */
void io_map_put(struct io_mapped_ubuf *map)
{
	unsigned int i;

	if (!refcount_dec_and_test(&map->refs))
		return;
	io_account_uncharge(map->account, map);
	io_account_put(map->account);
	for (i = 0; i < map->nr_bvecs; i++) {
		const struct bio_vec *bv = &map->bvec[i];

		unpin_user_folio(page_folio(bv->bv_page), io_seg_pages(bv));
		cond_resched();
	}
	kvfree(map);
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "tests/map_kunit.c"
#endif
