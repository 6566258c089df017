// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of the end of tracked requests */
#include <kunit/test.h>

/* The end of the last tracked request keeps the mm if another tracked request was issued. */
static void mm_is_kept_for_all(struct kunit *test)
{
	struct io_uring_task *tctx = kunit_kzalloc(test, sizeof(*tctx), GFP_KERNEL);
	struct mm_struct *mm = kunit_kzalloc(test, sizeof(*mm), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, tctx);
	KUNIT_ASSERT_NOT_NULL(test, mm);
	atomic_set(&mm->mm_users, 2);
	/* another request was issued, and left behind, before the last one drops the mm */
	atomic_set(&tctx->inflight_tracked, 1);
	tctx->mm = mm;
	io_tctx_drop_mm(tctx);
	KUNIT_EXPECT_PTR_EQ(test, tctx->mm, mm);
	KUNIT_EXPECT_EQ(test, atomic_read(&mm->mm_users), 2);
	io_tctx_untrack(tctx);
	KUNIT_EXPECT_NULL(test, tctx->mm);
	KUNIT_EXPECT_EQ(test, atomic_read(&mm->mm_users), 1);
	/* without an mm, a further drop does nothing */
	io_tctx_drop_mm(tctx);
	KUNIT_EXPECT_EQ(test, atomic_read(&mm->mm_users), 1);
}

static struct kunit_case free_cases[] = {
	KUNIT_CASE(mm_is_kept_for_all),
	{}
};

static struct kunit_suite free_suite = {
	.name = "io_uring_free",
	.test_cases = free_cases,
};

kunit_test_suite(free_suite);
