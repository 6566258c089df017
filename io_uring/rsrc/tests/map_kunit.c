// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of the segments of pinned pages, and of iterators over ranges in them */

/*
 * A test buffer consists of pieces, each of which is a number of pages of a folio.
 * The tests describe the pages, but do not pin them.  For each range a test compares
 * the iterator with the pages that the page array has for these bytes.
 */
#include <kunit/test.h>
#include <linux/pfn.h>

#define MAP_FOLIO	16U
#define MAP_ORDER	4
#define MAP_FOLIOS	4
#define MAP_PAGES	(MAP_FOLIO * MAP_FOLIOS)

/*
 * @nr pages of folio @folio, or of single pages if @folio is negative, from page @at
 * on.  With @again the piece has page @at @nr times.
 */
struct map_piece {
	int		folio;
	unsigned int	at;
	unsigned int	nr;
	bool		again;
};

struct map_case {
	const char	*name;
	struct map_piece pieces[4];
	unsigned int	segs;
	unsigned int	unit;
};

static const struct map_case map_cases[] = {
	{ "one page", { { -1, 0, 1 } }, 1, 1 },
	{ "single pages", { { -1, 0, 7 } }, 7, 1 },
	{ "a whole folio", { { 0, 0, 16 } }, 1, 16 },
	{ "inside a folio", { { 0, 5, 6 } }, 1, 8 },
	{ "end and start", { { 0, 13, 3 }, { 1, 0, 5 } }, 2, 8 },
	{ "end, whole, start", { { 0, 13, 3 }, { 1, 0, 16 }, { 2, 0, 5 } }, 3, 16 },
	{ "whole folios", { { 0, 0, 16 }, { 1, 0, 16 }, { 2, 0, 16 }, { 3, 0, 16 } }, 4, 16 },
	{ "a folio twice", { { 0, 0, 16 }, { 0, 0, 16 }, { 0, 0, 16 } }, 3, 16 },
	{ "one page of a folio many times", { { 0, 3, 16, true } }, 16, 1 },
	{ "a folio's head page many times", { { 0, 0, 16, true } }, 16, 1 },
	{ "one single page many times", { { -1, 0, 9, true } }, 9, 1 },
	{ "a hole", { { 0, 0, 4 }, { 0, 5, 4 }, { 0, 10, 4 } }, 3, 4 },
	{ "a page less in the middle", { { 0, 0, 16 }, { 1, 0, 15 }, { 2, 0, 16 } }, 47, 1 },
	{ "a short one in the middle",
	  { { 0, 8, 8 }, { 1, 0, 16 }, { 2, 0, 4 }, { 3, 0, 16 } }, 44, 1 },
	{ "a longer one at the end", { { 0, 15, 1 }, { 1, 0, 8 }, { 2, 0, 16 } }, 25, 1 },
	{ "a longer one at the start", { { 0, 0, 16 }, { 1, 0, 8 }, { 2, 0, 8 } }, 32, 1 },
	{ "a folio, then single pages", { { 0, 0, 16 }, { -1, 0, 3 } }, 19, 1 },
	{ "single pages, then a folio", { { -1, 0, 2 }, { 1, 0, 16 } }, 18, 1 },
	{ "a page, then a folio", { { -1, 0, 1 }, { 1, 0, 16 }, { 2, 0, 16 } }, 3, 16 },
};

struct map_fixture {
	struct page	*folios[MAP_FOLIOS];
	struct page	*singles[MAP_FOLIO];
	struct page	*pages[MAP_PAGES];
	unsigned int	nr;
};

static int map_init(struct kunit *test)
{
	struct map_fixture *fix = kunit_kzalloc(test, sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, fix);
	test->priv = fix;
	for (i = 0; i < MAP_FOLIOS; i++)
		fix->folios[i] = alloc_pages(GFP_KERNEL | __GFP_COMP, MAP_ORDER);
	/* the single pages are adjacent in memory, which must not join them to a segment */
	fix->singles[0] = alloc_pages(GFP_KERNEL, MAP_ORDER);
	KUNIT_ASSERT_NOT_NULL(test, fix->singles[0]);
	split_page(fix->singles[0], MAP_ORDER);
	for (i = 0; i < MAP_FOLIO; i++)
		fix->singles[i] = fix->singles[0] + i;
	for (i = 0; i < MAP_FOLIOS; i++)
		KUNIT_ASSERT_NOT_NULL(test, fix->folios[i]);
	return 0;
}

static void map_exit(struct kunit *test)
{
	struct map_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < MAP_FOLIOS; i++)
		if (fix->folios[i])
			__free_pages(fix->folios[i], MAP_ORDER);
	for (i = 0; i < MAP_FOLIO; i++)
		if (fix->singles[i])
			__free_page(fix->singles[i]);
}

static void map_make_pages(struct map_fixture *fix, const struct map_case *c)
{
	const struct map_piece *piece;
	unsigned int i;

	fix->nr = 0;
	for (piece = c->pieces; piece < c->pieces + ARRAY_SIZE(c->pieces); piece++) {
		for (i = 0; i < piece->nr; i++) {
			unsigned int at = piece->at + (piece->again ? 0 : i);

			fix->pages[fix->nr++] = piece->folio < 0 ? fix->singles[at] :
						fix->folios[piece->folio] + at;
		}
	}
}

/* Segments are as large as the pieces allow, and join only consecutive pages. */
static void map_layouts(struct kunit *test)
{
	struct map_fixture *fix = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map_cases); i++) {
		const struct map_case *c = &map_cases[i];
		struct io_map_layout layout;

		map_make_pages(fix, c);
		layout = io_map_lay_out(fix->pages, fix->nr);
		KUNIT_EXPECT_EQ_MSG(test, layout.nr_segs, c->segs, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, layout.unit, c->unit, "%s", c->name);
	}
}

/* Check that the iterator covers these bytes of the page array, without unused segments. */
static bool map_iter_right(struct map_fixture *fix, const struct iov_iter *iter, size_t at,
			   size_t len)
{
	const struct bio_vec *bv = iter->bvec;
	size_t skip = iter->iov_offset;
	unsigned long left = iter->nr_segs;

	if (iter->count != len)
		return false;
	while (len) {
		struct page *page = fix->pages[at >> PAGE_SHIFT];
		size_t step = min_t(size_t, len, PAGE_SIZE - offset_in_page(at));
		u64 want = PFN_PHYS(page_to_pfn(page)) + offset_in_page(at);

		if (!left || skip >= bv->bv_len)
			return false;
		step = min_t(size_t, step, bv->bv_len - skip);
		if (PFN_PHYS(page_to_pfn(bv->bv_page)) + bv->bv_offset + skip != want)
			return false;
		at += step;
		len -= step;
		skip += step;
		if (skip == bv->bv_len) {
			bv++;
			left--;
			skip = 0;
		}
	}
	return left == (skip ? 1 : 0);
}

static struct io_buf_node map_node(struct io_mapped_ubuf *map, u64 addr, u32 len)
{
	return (struct io_buf_node){
		.ubuf = addr,
		.len = { len, len },
		.shift = map->shift,
		.head = BIT(map->shift) - map->bvec[0].bv_len,
		.bvec = map->bvec,
		.map = map,
	};
}

/* Get an iterator as a read or write of a registered buffer does. */
static int map_range(const struct io_buf_node *node, struct iov_iter *iter, u64 addr, size_t len)
{
	if (!io_buf_covers(node, ITER_DEST, addr, len))
		return -EFAULT;
	if (len)
		io_buf_iter(node, ITER_DEST, addr - node->ubuf, len, iter);
	return 0;
}

/* Check ranges between points around the page borders of a buffer that starts at @offset. */
static void map_check_ranges(struct kunit *test, const struct map_case *c, unsigned int offset,
			     size_t total)
{
	static const int around[] = { -1, 0, 1 };
	struct map_fixture *fix = test->priv;
	struct io_mapped_ubuf *map;
	const u64 base = 0x10000 + offset;
	struct io_buf_node node;
	unsigned int i, j, step, pages = 0;

	map = io_map_build(fix->pages, fix->nr, offset, total);
	KUNIT_ASSERT_NOT_NULL(test, map);
	node = map_node(map, base, total);
	for (i = 0; i < map->nr_bvecs; i++)
		pages += io_seg_pages(&map->bvec[i]);
	KUNIT_EXPECT_EQ_MSG(test, pages, fix->nr, "%s: pages to unpin", c->name);

	step = ARRAY_SIZE(around);
	for (i = 0; i <= fix->nr * step; i++) {
		s64 from = (s64)(i / step) * PAGE_SIZE - offset + around[i % step];

		for (j = i; j <= fix->nr * step; j += j - i < 8 ? 1 : 5) {
			s64 to = (s64)(j / step) * PAGE_SIZE - offset + around[j % step];
			bool inside = from >= 0 && to >= from && to <= (s64)total;
			struct iov_iter iter;
			int ret;

			if (to < from)
				continue;
			ret = map_range(&node, &iter, base + from, to - from);
			if (ret == (inside ? 0 : -EFAULT) &&
			    (ret || from == to ||
			     map_iter_right(fix, &iter, offset + from, to - from)))
				continue;
			KUNIT_FAIL(test, "%s: offset %u, from %lld to %lld: %d", c->name, offset,
				   from, to, ret);
			kvfree(map);
			return;
		}
		cond_resched();
	}
	kvfree(map);
}

/* Each byte of a buffer is found, and no byte outside. */
static void map_ranges(struct kunit *test)
{
	static const unsigned int offsets[] = { 0, 1, 100, 4095 };
	struct map_fixture *fix = test->priv;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(map_cases); i++) {
		map_make_pages(fix, &map_cases[i]);
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			size_t room = fix->nr * PAGE_SIZE - offsets[j];

			map_check_ranges(test, &map_cases[i], offsets[j], room);
			if (room > PAGE_SIZE)
				map_check_ranges(test, &map_cases[i], offsets[j],
						 room - PAGE_SIZE + 1);
		}
	}
}

/* Ranges whose end wraps are outside; an empty range at the end is inside. */
static void map_range_limits(struct kunit *test)
{
	struct map_fixture *fix = test->priv;
	struct io_mapped_ubuf *map;
	struct io_buf_node node;
	struct iov_iter iter;

	map_make_pages(fix, &map_cases[1]);
	map = io_map_build(fix->pages, fix->nr, 0, fix->nr * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, map);
	node = map_node(map, 0x1000, fix->nr * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, map_range(&node, &iter, ~0ULL, 2), -EFAULT);
	KUNIT_EXPECT_EQ(test, map_range(&node, &iter, 0x1001, SIZE_MAX), -EFAULT);
	KUNIT_EXPECT_EQ(test, map_range(&node, &iter, 0, 0x2000), -EFAULT);
	KUNIT_EXPECT_EQ(test, map_range(&node, &iter, 0x1001 + node.len[ITER_DEST], 0), -EFAULT);
	KUNIT_EXPECT_EQ(test, map_range(&node, &iter, 0x1000 + node.len[ITER_DEST], 0), 0);
	kvfree(map);
}

/* Describe the pages of a case. */
static struct io_mapped_ubuf *map_of(struct kunit *test, const struct map_case *c)
{
	struct map_fixture *fix = test->priv;
	struct io_mapped_ubuf *map;

	map_make_pages(fix, c);
	map = io_map_build(fix->pages, fix->nr, 0, fix->nr * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, map);
	return map;
}

/* Find the segment with byte @offset of a driver's buffer.  Make @offset relative to its start. */
static const struct bio_vec *driver_seg(const struct io_mapped_ubuf *map, size_t *offset)
{
	const struct bio_vec *bv = map->bvec;

	for (; *offset >= bv->bv_len; bv++)
		*offset -= bv->bv_len;
	return bv;
}

/* A driver's buffer has segments of any size, and data flows in one direction. */
static void map_driver(struct kunit *test)
{
	static const unsigned int lens[] = { 1024, PAGE_SIZE, 1, 96 };
	struct map_fixture *fix = test->priv;
	struct io_mapped_ubuf *map = io_map_alloc(ARRAY_SIZE(lens));
	struct io_buf_node node;
	u32 i, from, len = 0;

	KUNIT_ASSERT_NOT_NULL(test, map);
	map_make_pages(fix, &map_cases[1]);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		bvec_set_page(&map->bvec[i], fix->pages[i], lens[i], PAGE_SIZE - lens[i]);
		len += lens[i];
	}
	node = (struct io_buf_node){ .len[ITER_SOURCE] = len, .bvec = map->bvec, .map = map };
	KUNIT_EXPECT_FALSE(test, io_buf_covers(&node, ITER_DEST, 0, 1));
	KUNIT_EXPECT_FALSE(test, io_buf_covers(&node, ITER_SOURCE, 1, len));
	KUNIT_EXPECT_TRUE(test, io_buf_covers(&node, ITER_SOURCE, 0, len));
	for (from = 0; from < len; from++) {
		size_t offset = from;
		const struct bio_vec *bv = driver_seg(map, &offset);
		struct iov_iter iter;

		io_buf_iter(&node, ITER_SOURCE, from, len - from, &iter);
		KUNIT_ASSERT_PTR_EQ(test, iter.bvec, bv);
		KUNIT_ASSERT_EQ(test, iter.iov_offset, offset);
		KUNIT_ASSERT_EQ(test, iov_iter_count(&iter), len - from);
	}
	kvfree(map);
}

/* Single pages are charged each time, a compound page from its first user to its last. */
static void map_charges(struct kunit *test)
{
	struct io_mem_account *account = io_account_make(NULL, NULL);
	struct io_mapped_ubuf *small, *apart, *inside;

	KUNIT_ASSERT_NOT_NULL(test, account);
	small = map_of(test, &map_cases[1]);
	KUNIT_EXPECT_EQ(test, io_account_add_segs(account, small), 7);
	KUNIT_EXPECT_EQ(test, io_account_add_segs(account, small), 7);
	KUNIT_EXPECT_EQ(test, io_account_del_segs(account, small, small->nr_bvecs), 7);
	KUNIT_EXPECT_EQ(test, io_account_del_segs(account, small, small->nr_bvecs), 7);

	/* three folios, added twice; another buffer has a part of one folio */
	apart = map_of(test, &map_cases[15]);
	inside = map_of(test, &map_cases[3]);
	KUNIT_EXPECT_EQ(test, io_account_add_segs(account, apart), 3 * MAP_FOLIO);
	KUNIT_EXPECT_EQ(test, io_account_add_segs(account, apart), 0);
	KUNIT_EXPECT_EQ(test, io_account_add_segs(account, inside), 0);
	KUNIT_EXPECT_EQ(test, io_account_del_segs(account, apart, apart->nr_bvecs), 0);
	KUNIT_EXPECT_EQ(test, io_account_del_segs(account, apart, apart->nr_bvecs), 2 * MAP_FOLIO);
	KUNIT_EXPECT_EQ(test, io_account_del_segs(account, inside, inside->nr_bvecs), MAP_FOLIO);
	KUNIT_EXPECT_TRUE(test, xa_empty(&account->compounds));

	io_account_put(account);
	kvfree(small);
	kvfree(apart);
	kvfree(inside);
}

static struct kunit_case map_kunit_cases[] = {
	KUNIT_CASE(map_layouts),
	KUNIT_CASE(map_ranges),
	KUNIT_CASE(map_range_limits),
	KUNIT_CASE(map_driver),
	KUNIT_CASE(map_charges),
	{}
};

static struct kunit_suite map_kunit_suite = {
	.name = "io_uring_rsrc_map",
	.init = map_init,
	.exit = map_exit,
	.test_cases = map_kunit_cases,
};

kunit_test_suite(map_kunit_suite);
