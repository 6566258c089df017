// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of commands that a driver ends in its callback */
#include <kunit/test-bug.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "ring/tests/test_ring.h"
#include "task/run.h"

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

/* Turn the first command into a multishot one, with a group of buffers of 64 bytes. */
static struct io_uring_cmd *cmd_make_multishot(struct kunit *test, struct cmd_fixture *fix, u32 nr)
{
	struct io_buf_group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);
	struct io_kiocb *req = fix->req[0];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, group);
	group->id = 1;
	group->size = roundup_pow_of_two(nr);
	group->bufs = kunit_kcalloc(test, group->size, sizeof(*group->bufs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, group->bufs);
	for (i = 0; i < nr; i++)
		*io_group_slot(group, group->tail++) = (struct io_uring_buf) {
			.addr = (i + 1) * PAGE_SIZE, .len = 64, .bid = i,
		};
	fix->ctx->groups.small[1] = group;
	req->flags |= REQ_F_MULTISHOT | REQ_F_BUFFER_SELECT;
	req->buf_index = 1;
	return io_req_cmd(req);
}

/*
 * A buffer with a result leaves its group with a CQE.  A buffer without a result stays.
 * Mutants: multishot-command-*.
 */
static void cmd_posts_buffers(struct kunit *test)
{
	struct cmd_fixture *fix = cmd_make(test);
	struct io_uring_cmd *cmd = cmd_make_multishot(test, fix, 2);
	const struct io_uring_cqe *cqe = &fix->ctx->cq.cqes[0];
	struct io_uring_task *tctx = current->io_uring;
	struct io_br_sel sel;
	size_t len = 0;

	current->io_uring = fix->tctx;
	mutex_lock(&fix->ctx->uring_lock.mutex);
	KUNIT_EXPECT_TRUE(test, io_uring_mshot_cmd_post_cqe(cmd, &sel, 0));
	sel = io_uring_cmd_buffer_select(cmd, 2, &len, 0);
	KUNIT_EXPECT_EQ(test, sel.val, -EINVAL);
	sel = io_uring_cmd_buffer_select(cmd, 1, &len, 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)sel.addr, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, len, 64);
	sel.val = 0;
	KUNIT_EXPECT_TRUE(test, io_uring_mshot_cmd_post_cqe(cmd, &sel, 0));
	sel = io_uring_cmd_buffer_select(cmd, 1, &len, 0);
	sel.val = -EFAULT;
	KUNIT_EXPECT_TRUE(test, io_uring_mshot_cmd_post_cqe(cmd, &sel, 0));
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.tail, 0);

	len = 40;
	sel = io_uring_cmd_buffer_select(cmd, 1, &len, 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)sel.addr, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, len, 40);
	sel.val = 24;
	KUNIT_EXPECT_FALSE(test, io_uring_mshot_cmd_post_cqe(cmd, &sel, 0));
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.tail, 1);
	KUNIT_EXPECT_EQ(test, cqe->res, 24);
	KUNIT_EXPECT_EQ(test, cqe->flags, IORING_CQE_F_BUFFER | IORING_CQE_F_MORE);
	sel = io_uring_cmd_buffer_select(cmd, 1, &len, 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)sel.addr, 2 * PAGE_SIZE);
	sel.val = 1;
	KUNIT_EXPECT_FALSE(test, io_uring_mshot_cmd_post_cqe(cmd, &sel, 0));
	sel = io_uring_cmd_buffer_select(cmd, 1, &len, 0);
	KUNIT_EXPECT_EQ(test, sel.val, -ENOBUFS);
	mutex_unlock(&fix->ctx->uring_lock.mutex);
	current->io_uring = tctx;
	KUNIT_EXPECT_EQ(test, io_uring_cmd_buffer_select(cmd, 1, &len, 0).val, -ECANCELED);
}

/* If the CQ is full, the last CQE of the command returns the buffer. */
static void cmd_posts_to_a_full_cq(struct kunit *test)
{
	struct cmd_fixture *fix = cmd_make(test);
	struct io_uring_cmd *cmd = cmd_make_multishot(test, fix, 16);
	struct io_uring_task *tctx = current->io_uring;
	struct io_br_sel sel;
	bool full = false;
	size_t len = 0;
	u32 i;

	current->io_uring = fix->tctx;
	mutex_lock(&fix->ctx->uring_lock.mutex);
	for (i = 0; i < 16 && !full; i++) {
		sel = io_uring_cmd_buffer_select(cmd, 1, &len, 0);
		KUNIT_EXPECT_EQ(test, (unsigned long)sel.addr, (i + 1) * PAGE_SIZE);
		sel.val = 8;
		full = io_uring_mshot_cmd_post_cqe(cmd, &sel, 0);
	}
	mutex_unlock(&fix->ctx->uring_lock.mutex);
	current->io_uring = tctx;
	KUNIT_EXPECT_EQ(test, i, fix->ctx->cq_entries + 1);
	KUNIT_EXPECT_EQ(test, fix->ctx->cq.tail, fix->ctx->cq_entries);
	KUNIT_EXPECT_EQ(test, fix->req[0]->cqe.flags,
			IORING_CQE_F_BUFFER | (i - 1) << IORING_CQE_BUFFER_SHIFT);
}

/**
 * struct cmd_race - a command that its driver ends while the driver is called to cancel it
 * @cmd: the command
 * @called: completed by the cancel call, which is in the driver then
 * @leave: completed to let that call return
 * @ended: completed when io_uring_cmd_done() has returned
 * @blank: the accepted command had an SQE without its bytes
 */
struct cmd_race {
	struct io_uring_cmd	*cmd;
	struct completion	called, leave, ended;
	bool			blank;
};

/* a race at a time: the threads of a test are not the test's task */
static struct cmd_race cmd_race;

static int cmd_race_driver(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	if (!(issue_flags & IO_URING_F_CANCEL))
		return -EIOCBQUEUED;
	cmd_race.blank = cmd->sqe == io_cmd_no_sqe;
	complete(&cmd_race.called);
	wait_for_completion(&cmd_race.leave);
	return 0;
}

static int cmd_race_cancel(void *arg)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd_race.cmd);

	mutex_lock(&req->ctx->uring_lock.mutex);
	io_cmd_cancel(req);
	mutex_unlock(&req->ctx->uring_lock.mutex);
	return 0;
}

static int cmd_race_end(void *arg)
{
	io_uring_cmd_done(cmd_race.cmd, 0, IO_URING_F_UNLOCKED);
	complete(&cmd_race.ended);
	return 0;
}

/*
 * A driver frees its own data after io_uring_cmd_done(), so that function waits for a cancel call.
 * The SQE of the command may be gone at that time.
 */
static void cmd_ends_during_a_cancel(struct kunit *test)
{
	static const struct file_operations driver = { .uring_cmd = cmd_race_driver };
	struct io_uring_sqe sqe = { .opcode = IORING_OP_URING_CMD };
	struct cmd_fixture *fix = cmd_make(test);
	struct inode *inode = kunit_kzalloc(test, sizeof(*inode), GFP_KERNEL);
	struct file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	struct task_struct *cancels, *ends;
	struct io_kiocb *req = fix->req[0];

	KUNIT_ASSERT_NOT_NULL(test, inode);
	KUNIT_ASSERT_NOT_NULL(test, file);
	file->f_op = &driver;
	file->f_inode = inode;
	req->file = file;
	cmd_race.cmd = io_req_cmd(req);
	init_completion(&cmd_race.called);
	init_completion(&cmd_race.leave);
	init_completion(&cmd_race.ended);
	mutex_lock(&fix->ctx->uring_lock.mutex);
	KUNIT_EXPECT_EQ(test, io_cmd_prep(req, &sqe), 0);
	KUNIT_EXPECT_EQ(test, io_cmd_issue(req, IO_URING_F_NONBLOCK), IO_PENDING);
	mutex_unlock(&fix->ctx->uring_lock.mutex);
	cmd_race.cmd->flags |= IORING_URING_CMD_CANCELABLE;

	cancels = kthread_create(cmd_race_cancel, NULL, "cmd_cancels");
	KUNIT_ASSERT_FALSE(test, IS_ERR(cancels));
	ends = kthread_create(cmd_race_end, NULL, "cmd_ends");
	KUNIT_ASSERT_FALSE(test, IS_ERR(ends));
	get_task_struct(cancels);
	get_task_struct(ends);
	wake_up_process(cancels);
	wait_for_completion(&cmd_race.called);
	KUNIT_EXPECT_TRUE(test, cmd_race.blank);
	wake_up_process(ends);
	msleep(50);
	KUNIT_EXPECT_FALSE(test, completion_done(&cmd_race.ended));
	complete(&cmd_race.leave);
	wait_for_completion(&cmd_race.ended);
	kthread_stop_put(cancels);
	kthread_stop_put(ends);
	/* a later cancel does not call the driver for a command that has ended */
	reinit_completion(&cmd_race.called);
	cmd_race_cancel(NULL);
	KUNIT_EXPECT_FALSE(test, completion_done(&cmd_race.called));
}

/* A driver's callback that writes to user memory fails, if a kernel worker calls it. */
static void cmd_has_no_memory(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct kunit *test = kunit_get_current_test();
	struct cmd_fixture *fix = test->priv;
	char __user *addr = (char __user *)PAGE_SIZE;

	KUNIT_EXPECT_NOT_NULL(test, current->mm);
	KUNIT_EXPECT_NE(test, copy_to_user(addr, "", 1), 0);
	fix->posted++;
}

static void cmd_in_a_kernel_worker(struct kunit *test)
{
	struct cmd_fixture *fix = cmd_make(test);
	struct io_kiocb *req = fix->req[0];

	INIT_DELAYED_WORK(&fix->ctx->fallback.work, io_fallback_work);
	req->tw.run = cmd_has_no_memory;
#ifdef CONFIG_IO_URING_DEBUG
	req->state = IO_REQ_TW_QUEUED;
#endif
	mutex_lock(&fix->ctx->uring_lock.mutex);
	/* the lock keeps the worker away */
	io_fallback_push(fix->ctx, &req->tw);
	io_fallback_run(fix->ctx);
	mutex_unlock(&fix->ctx->uring_lock.mutex);
	cancel_delayed_work_sync(&fix->ctx->fallback.work);
	KUNIT_EXPECT_EQ(test, fix->posted, 1);
	KUNIT_EXPECT_NULL(test, current->mm);
}

static struct kunit_case cmd_cases[] = {
	KUNIT_CASE(cmd_outlives_its_callback),
	KUNIT_CASE(cmd_ends_another),
	KUNIT_CASE(cmd_stays_the_drivers),
	KUNIT_CASE(cmd_posts_buffers),
	KUNIT_CASE(cmd_posts_to_a_full_cq),
	KUNIT_CASE(cmd_ends_during_a_cancel),
	KUNIT_CASE(cmd_in_a_kernel_worker),
	{}
};

/* Make the recycled requests valid objects for KASAN again: KUnit frees them next. */
static void cmd_exit(struct kunit *test)
{
	struct cmd_fixture *fix = test->priv;

	if (!fix || !fix->ctx)
		return;
	mutex_lock(&fix->ctx->uring_lock.mutex);
	while (fix->ctx->reqs.nr_free)
		io_req_take(fix->ctx);
	mutex_unlock(&fix->ctx->uring_lock.mutex);
}

static struct kunit_suite cmd_suite = {
	.name = "io_uring_cmd",
	.exit = cmd_exit,
	.test_cases = cmd_cases,
};

kunit_test_suite(cmd_suite);
