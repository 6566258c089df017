/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: the kinds of ring that a test body runs on */
/*
 * Most rules of io_uring hold on every kind of ring, and most bugs show on one
 * kind only.  A fixture with IOU_KINDS() runs each of its tests on all kinds on
 * which ordinary requests work; IOPOLL has fixtures of its own.
 */
#ifndef IOU_TEST_H
#define IOU_TEST_H

#include "iou.h"
#include "../kselftest_harness.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	120

#define IOU_DEFER	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)
#define IOU_COOP	(IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG)
/* all flags that change the layout of ring memory */
#define IOU_LARGE	(IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | \
			 IORING_SETUP_NO_SQARRAY | IORING_SETUP_NO_MMAP)

#define IOU_KIND(fixture, kind, bits) \
	FIXTURE_VARIANT_ADD(fixture, kind) { .flags = (bits) }

/* Kinds of ring that differ in the task that runs their work, and in the time when it does */
#define IOU_KINDS_OF_TASK(fixture) \
	IOU_KIND(fixture, plain, 0); \
	IOU_KIND(fixture, coop, IOU_COOP); \
	IOU_KIND(fixture, defer, IOU_DEFER); \
	IOU_KIND(fixture, sqpoll, IORING_SETUP_SQPOLL)

/* The kinds of IOU_KINDS_OF_TASK(), and kinds that differ in the layout of ring memory */
#define IOU_KINDS(fixture) \
	IOU_KINDS_OF_TASK(fixture); \
	IOU_KIND(fixture, cqe32, IORING_SETUP_CQE32); \
	IOU_KIND(fixture, sqe128, IORING_SETUP_SQE128); \
	IOU_KIND(fixture, no_sqarray, IORING_SETUP_NO_SQARRAY); \
	IOU_KIND(fixture, no_mmap, IORING_SETUP_NO_MMAP); \
	IOU_KIND(fixture, defer_large, IOU_DEFER | IOU_LARGE); \
	IOU_KIND(fixture, sqpoll_large, IORING_SETUP_SQPOLL | IOU_LARGE)

/* Two kinds whose requests workers issue: tests copy ->sqe_flags to each SQE */
#define IOU_KINDS_ASYNC(fixture) \
	FIXTURE_VARIANT_ADD(fixture, defer_async) \
		{ .flags = IOU_DEFER, .sqe_flags = IOSQE_ASYNC }; \
	FIXTURE_VARIANT_ADD(fixture, plain_async) { .sqe_flags = IOSQE_ASYNC }

#endif
