// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of commands that a driver ends in its callback */
#include <kunit/test-bug.h>

#include "ring/tests/test_ring.h"

/**
 * struct cmd_fixture - a command whose driver calls back
 * @ctx: ring of the command
 * @tctx: task context of current
 * @req: the command, and another command of the same ring
 * @ends: bit mask of the commands in @req that the callback ends
 * @posted: CQEs that the ring had when the callback returned
 * @recycled: requests that the ring had recycled when the callback returned
 */
struct cmd_fixture {
	struct io_ring_ctx	*ctx;
	struct io_uring_task	*tctx;
	struct io_kiocb		*req[2];
	unsigned int		ends;
	unsigned int		posted;
	unsigned int		recycled;
};

/* The driver's callback in the submitter.  The callback may access its command until it returns. */
static void cmd_called_back(struct io_tw_req tw_req, io_tw_token_t token)
{
	struct cmd_fixture *fix = kunit_get_current_test()->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fix->req); i++) {
		if (fix->ends & BIT(i))
			io_uring_cmd_done(io_req_cmd(fix->req[i]), i + 5,
					  IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);
	}
	fix->posted = fix->ctx->cq.tail;
	fix->recycled = fix->ctx->reqs.nr_free;
}

static struct cmd_fixture *cmd_make(struct kunit *test)
{
	struct cmd_fixture *fix = kunit_kzalloc(test, sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, fix);
	test->priv = fix;
	fix->tctx = kunit_kzalloc(test, sizeof(*fix->tctx), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fix->tctx);
	fix->ctx = test_ring(test, .flags = IORING_SETUP_DEFER_TASKRUN);
	fix->ctx->reqs.max_free = ARRAY_SIZE(fix->req);
	fix->ctx->reqs.free = kunit_kcalloc(test, ARRAY_SIZE(fix->req), sizeof(fix->req[0]),
					    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fix->ctx->reqs.free);
	for (i = 0; i < ARRAY_SIZE(fix->req); i++) {
		struct io_kiocb *req = kunit_kzalloc(test, sizeof(*req), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, req);
		fix->req[i] = req;
		req->ctx = fix->ctx;
		req->tctx = fix->tctx;
		req->cqe.user_data = i;
#ifdef CONFIG_IO_URING_DEBUG
		req->state = IO_REQ_WAITING;
#endif
		io_req_cmd(req)->task_work_cb = cmd_called_back;
	}
	return fix;
}

/* Run the callback of the first command, in which the driver ends @ends. */
static void cmd_call_back(struct cmd_fixture *fix, unsigned int ends)
{
	struct io_uring_task *tctx = current->io_uring;

	fix->ends = ends;
#ifdef CONFIG_IO_URING_DEBUG
	fix->req[0]->state = IO_REQ_TW_QUEUED;
#endif
	current->io_uring = fix->tctx;
	mutex_lock(&fix->ctx->uring_lock.mutex);
	io_cmd_tw(fix->ctx, &fix->req[0]->tw, 0);
	mutex_unlock(&fix->ctx->uring_lock.mutex);
	current->io_uring = tctx;
}

/* A command that its driver ends in the callback exists until the callback has returned. */
static void cmd_outlives_its_callback(struct kunit *test)
{
	struct cmd_fixture *fix = cmd_make(test);

	cmd_call_back(fix, BIT(0));
	KUNIT_EXPECT_EQ(test, fix->posted, 0);
	KUNIT_EXPECT_EQ(test, fix->recycled, 0);
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.tail, 1);
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.cqes[0].res, 5);
	KUNIT_ASSERT_EQ(test, fix->ctx->reqs.nr_free, 1);
	KUNIT_EXPECT_PTR_EQ(test, fix->ctx->reqs.free[0], fix->req[0]);
}

/* If the callback ends another command of the ring, the CQE of that command is posted at once. */
static void cmd_ends_another(struct kunit *test)
{
	struct cmd_fixture *fix = cmd_make(test);

	cmd_call_back(fix, BIT(0) | BIT(1));
	KUNIT_EXPECT_EQ(test, fix->posted, 1);
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.cqes[0].user_data, 1);
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.tail, 2);
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.cqes[1].user_data, 0);
	KUNIT_EXPECT_EQ(test, fix->ctx->reqs.nr_free, 2);
}

/* A command that the driver's callback does not end stays with the driver. */
static void cmd_stays_the_drivers(struct kunit *test)
{
	struct cmd_fixture *fix = cmd_make(test);

	cmd_call_back(fix, 0);
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.tail, 0);
	KUNIT_EXPECT_EQ(test, fix->ctx->reqs.nr_free, 0);
	cmd_call_back(fix, BIT(0));
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.tail, 1);
}

static struct kunit_case cmd_cases[] = {
	KUNIT_CASE(cmd_outlives_its_callback),
	KUNIT_CASE(cmd_ends_another),
	KUNIT_CASE(cmd_stays_the_drivers),
	{}
};

static struct kunit_suite cmd_suite = {
	.name = "io_uring_cmd",
	.test_cases = cmd_cases,
};

kunit_test_suite(cmd_suite);
