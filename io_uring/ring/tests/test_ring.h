/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: a ring without a file, for the tests of this folder */
#ifndef IO_RING_TEST_RING_H
#define IO_RING_TEST_RING_H
/*
 * A test ring has queues like those of io_uring_setup(2), but no descriptor, no thread
 * and no tasks.  The test also acts as the program, which reads and writes the shared
 * words.
 */
#include <kunit/test.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"
#include "ring/cq.h"
#include "ring/locks.h"
#include "ring/sq.h"

/**
 * struct test_ring_params - parameters of a test ring
 * @flags: IORING_SETUP_*
 * @sq_entries: number of SQ slots, a power of two, or 0 for 8 slots
 * @cq_entries: number of CQ slots, a power of two, or 0 for 8 slots
 * @start: first position of both queues, to test the wrap of positions
 */
struct test_ring_params {
	unsigned int	flags;
	unsigned int	sq_entries;
	unsigned int	cq_entries;
	u32		start;
};

/* Create a test ring, which is freed with the test.  The owner is current. */
static inline struct io_ring_ctx *test_ring_make(struct kunit *test,
						 const struct test_ring_params *p)
{
	struct io_ring_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	unsigned int sq = p->sq_entries ?: 8, cq = p->cq_entries ?: 8;
	struct io_rings *rings;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	rings = kunit_kzalloc(test, sizeof(*rings) + cq * 2 * sizeof(struct io_uring_cqe),
			      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rings);
	ctx->sq.sqes = kunit_kcalloc(test, sq, 2 * sizeof(struct io_uring_sqe), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ctx->sq.sqes);
	if (!(p->flags & IORING_SETUP_NO_SQARRAY)) {
		ctx->sq.array = kunit_kcalloc(test, sq, sizeof(u32), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, ctx->sq.array);
	}

	ctx->flags = p->flags;
	ctx->sq.shift = !!(p->flags & IORING_SETUP_SQE128);
	ctx->sq.entries = sq;
	ctx->cq_entries = cq;
	ctx->rings = rings;
	ctx->submitter_task = current;
	mutex_init(&ctx->uring_lock.mutex);
	init_waitqueue_head(&ctx->cq_wait);
	init_waitqueue_head(&ctx->notify.wait);
	io_cq_init(ctx);
	io_sq_init(ctx);

	ctx->sq.head = p->start;
	rings->sq_head = p->start;
	rings->sq_tail = p->start;
	rings->cq_head = p->start;
	rings->cq_tail = p->start;
	ctx->cq.tail = p->start;
	ctx->cq.published = p->start;
	ctx->cq.limit = p->start + cq;
	return ctx;
}

#define test_ring(test, ...) \
	test_ring_make(test, &(struct test_ring_params) { __VA_ARGS__ })

#endif
