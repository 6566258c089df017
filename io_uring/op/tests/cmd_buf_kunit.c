// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of registered buffers in a driver's memory */
#include "ring/tests/test_ring.h"
#include "rsrc/table.h"

#define CMD_BUF_SLOTS	3

/**
 * struct cmd_buf_fixture - a command whose ring has registered buffers
 * @ctx: ring of the command
 * @req: the command as a request
 * @cmd: the command as its driver gets it
 * @bvs: memory of the driver: 600 and 100 bytes
 * @released: number of times that the driver has got the memory back
 */
struct cmd_buf_fixture {
	struct io_ring_ctx	*ctx;
	struct io_kiocb		*req;
	struct io_uring_cmd	*cmd;
	struct bio_vec		bvs[2];
	unsigned int		released;
};

static void cmd_buf_release(void *priv)
{
	struct cmd_buf_fixture *fix = priv;

	fix->released++;
}

static int cmd_buf_init(struct kunit *test)
{
	struct cmd_buf_fixture *fix = kunit_kzalloc(test, sizeof(*fix), GFP_KERNEL);
	struct page *page = ZERO_PAGE(0);

	KUNIT_ASSERT_NOT_NULL(test, fix);
	test->priv = fix;
	fix->ctx = test_ring(test, .flags = IORING_SETUP_DEFER_TASKRUN);
	fix->req = kunit_kzalloc(test, sizeof(*fix->req), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fix->req);
	fix->req->ctx = fix->ctx;
	fix->cmd = (struct io_uring_cmd *)fix->req->data;
	fix->cmd->flags = IORING_URING_CMD_FIXED;
	bvec_set_page(&fix->bvs[0], page, 600, 40);
	bvec_set_page(&fix->bvs[1], page, 100, 0);
	KUNIT_ASSERT_EQ(test, io_rsrc_table_alloc(&fix->ctx->buf_table, CMD_BUF_SLOTS), 0);
	return 0;
}

static void cmd_buf_exit(struct kunit *test)
{
	struct cmd_buf_fixture *fix = test->priv;

	guard(mutex)(&fix->ctx->uring_lock.mutex);
	io_rsrc_table_free(fix->ctx, &fix->ctx->buf_table);
	io_parts_free(fix->ctx);
}

static int cmd_buf_set(struct cmd_buf_fixture *fix, u8 dir, unsigned int slot)
{
	return io_buffer_register_bvec(fix->cmd, fix->bvs, ARRAY_SIZE(fix->bvs),
				       cmd_buf_release, fix, dir, slot, 0);
}

static int cmd_buf_clear(struct cmd_buf_fixture *fix, unsigned int slot)
{
	return io_buffer_unregister(fix->cmd, slot, 0);
}

/* Import part of the buffer as a driver does, at the first attempt of a command. */
static int cmd_buf_import(struct cmd_buf_fixture *fix, unsigned int slot, int ddir, u64 from,
			  unsigned long len)
{
	struct io_kiocb *req = fix->req;
	struct iov_iter iter;
	int ret;

	req->buf_index = slot;
	ret = io_uring_cmd_import_fixed(from, len, ddir, &iter, fix->cmd, 0);
	if (req->flags & REQ_F_BUF_NODE)
		io_node_put(fix->ctx, req->buf_node);
	req->flags &= ~REQ_F_BUF_NODE;
	return ret ?: (int)iov_iter_count(&iter);
}

/* A slot has to exist and to be empty; a driver can remove only a driver's buffer. */
static void cmd_buf_slots(struct kunit *test)
{
	struct cmd_buf_fixture *fix = test->priv;

	guard(mutex)(&fix->ctx->uring_lock.mutex);
	KUNIT_EXPECT_EQ(test, cmd_buf_clear(fix, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, cmd_buf_clear(fix, CMD_BUF_SLOTS), -EINVAL);
	KUNIT_EXPECT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, CMD_BUF_SLOTS), -EINVAL);
	KUNIT_EXPECT_EQ(test, cmd_buf_set(fix, 0, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, cmd_buf_set(fix, 4, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, 1), 0);
	KUNIT_EXPECT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, fix->released, 0);
	KUNIT_EXPECT_EQ(test, cmd_buf_clear(fix, 1), 0);
	KUNIT_EXPECT_EQ(test, fix->released, 1);
	KUNIT_EXPECT_EQ(test, cmd_buf_clear(fix, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, fix->released, 1);
}

/* Data flows in the directions that the driver allows, and within its memory. */
static void cmd_buf_directions(struct kunit *test)
{
	struct cmd_buf_fixture *fix = test->priv;

	guard(mutex)(&fix->ctx->uring_lock.mutex);
	KUNIT_ASSERT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, 0), 0);
	KUNIT_ASSERT_EQ(test, cmd_buf_set(fix, IO_BUF_SOURCE, 1), 0);
	KUNIT_ASSERT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST | IO_BUF_SOURCE, 2), 0);
	KUNIT_EXPECT_EQ(test, cmd_buf_import(fix, 0, ITER_DEST, 0, 700), 700);
	KUNIT_EXPECT_EQ(test, cmd_buf_import(fix, 0, ITER_SOURCE, 0, 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, cmd_buf_import(fix, 1, ITER_SOURCE, 599, 2), 2);
	KUNIT_EXPECT_EQ(test, cmd_buf_import(fix, 1, ITER_DEST, 599, 2), -EFAULT);
	KUNIT_EXPECT_EQ(test, cmd_buf_import(fix, 2, ITER_DEST, 699, 1), 1);
	KUNIT_EXPECT_EQ(test, cmd_buf_import(fix, 2, ITER_SOURCE, 699, 1), 1);
	KUNIT_EXPECT_EQ(test, cmd_buf_import(fix, 2, ITER_SOURCE, 699, 2), -EFAULT);
	KUNIT_EXPECT_EQ(test, cmd_buf_import(fix, 2, ITER_SOURCE, ~0ULL, 1), -EFAULT);
}

/* The driver gets its memory back when the last request that uses it has ended. */
static void cmd_buf_in_use(struct kunit *test)
{
	struct cmd_buf_fixture *fix = test->priv;
	struct io_rsrc_node *node;

	guard(mutex)(&fix->ctx->uring_lock.mutex);
	KUNIT_ASSERT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, 2), 0);
	node = io_node_get(fix->ctx, fix->ctx->buf_table.nodes[2]);
	KUNIT_EXPECT_EQ(test, cmd_buf_clear(fix, 2), 0);
	KUNIT_EXPECT_EQ(test, fix->released, 0);
	/* the slot can have a new buffer while a request uses the old buffer */
	KUNIT_EXPECT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, 2), 0);
	io_node_put(fix->ctx, node);
	KUNIT_EXPECT_EQ(test, fix->released, 1);
	/* freeing the table also releases the memory */
	io_rsrc_table_free(fix->ctx, &fix->ctx->buf_table);
	KUNIT_EXPECT_EQ(test, fix->released, 2);
}

/* When the ring drops the table, it releases unused driver memory at once, and awaits no buffer. */
static void cmd_buf_leaving(struct kunit *test)
{
	struct cmd_buf_fixture *fix = test->priv;
	struct io_rsrc_node *node;

	guard(mutex)(&fix->ctx->uring_lock.mutex);
	KUNIT_ASSERT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, 0), 0);
	KUNIT_ASSERT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, 2), 0);
	node = io_node_get(fix->ctx, fix->ctx->buf_table.nodes[2]);
	KUNIT_EXPECT_EQ(test, io_bufs_begin_leave(fix->ctx), 0);
	KUNIT_EXPECT_EQ(test, fix->ctx->bufs.awaited, 0);
	io_node_put(fix->ctx, node);
	KUNIT_EXPECT_EQ(test, fix->released, 0);
	/* a signal has ended the call: the driver's memory is still registered */
	io_bufs_end_leave(fix->ctx);
	KUNIT_EXPECT_EQ(test, cmd_buf_clear(fix, 0), 0);
	KUNIT_EXPECT_EQ(test, cmd_buf_clear(fix, 2), 0);
	KUNIT_EXPECT_EQ(test, fix->released, 2);
}

/* A request that waits in a chain drops a driver's buffer, which ->issue() looks up again. */
static void cmd_buf_in_a_chain(struct kunit *test)
{
	struct cmd_buf_fixture *fix = test->priv;
	struct io_kiocb *req = fix->req;

	guard(mutex)(&fix->ctx->uring_lock.mutex);
	KUNIT_ASSERT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, 0), 0);
	req->buf_index = 0;
	KUNIT_ASSERT_EQ(test, io_buf_assign(req, 0), 0);
	KUNIT_EXPECT_TRUE(test, req->flags & REQ_F_BUF_NODE);
	io_buf_forget_driver(req);
	KUNIT_EXPECT_FALSE(test, req->flags & REQ_F_BUF_NODE);
	KUNIT_EXPECT_EQ(test, cmd_buf_clear(fix, 0), 0);
	KUNIT_EXPECT_EQ(test, fix->released, 1);
}

/* Compare the whole of a request's buffer with segments of the driver's page. */
static void cmd_buf_expect(struct kunit *test, const struct bio_vec *want, unsigned int nr)
{
	struct cmd_buf_fixture *fix = test->priv;
	const struct io_buf_node *buf = io_buf_node(fix->req->buf_node);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, buf->map->nr_bvecs, nr);
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_PTR_EQ(test, buf->bvec[i].bv_page, ZERO_PAGE(0));
		KUNIT_EXPECT_EQ(test, buf->bvec[i].bv_offset, want[i].bv_offset);
		KUNIT_EXPECT_EQ(test, buf->bvec[i].bv_len, want[i].bv_len);
	}
}

/* The parts of a vector are segments in the order of the vector, and hold the whole buffer. */
static void cmd_buf_parts(struct kunit *test)
{
	static const struct iovec first[] = { { (void *)590, 20 }, { (void *)0, 5 } };
	static const struct iovec second[] = { { (void *)699, 1 } };
	static const struct iovec outside[] = { { (void *)0, 5 }, { (void *)699, 2 } };
	static const struct iovec empty[] = { { (void *)0, 5 }, { (void *)5, 0 } };
	static const struct bio_vec first_segs[] = {
		{ .bv_offset = 630, .bv_len = 10 },
		{ .bv_offset = 0, .bv_len = 10 },
		{ .bv_offset = 40, .bv_len = 5 },
	};
	static const struct bio_vec second_segs[] = { { .bv_offset = 99, .bv_len = 1 } };
	struct cmd_buf_fixture *fix = test->priv;
	struct io_kiocb *req = fix->req;

	guard(mutex)(&fix->ctx->uring_lock.mutex);
	KUNIT_ASSERT_EQ(test, cmd_buf_set(fix, IO_BUF_DEST, 0), 0);
	req->buf_index = 0;
	KUNIT_ASSERT_EQ(test, io_buf_assign(req, 0), 0);
	KUNIT_EXPECT_EQ(test, io_buf_gather(req, ITER_SOURCE, first, 2, 0), -EFAULT);
	KUNIT_EXPECT_EQ(test, io_buf_gather(req, ITER_DEST, outside, 2, 0), -EFAULT);
	KUNIT_EXPECT_EQ(test, io_buf_gather(req, ITER_DEST, empty, 2, 0), -EFAULT);
	KUNIT_EXPECT_PTR_EQ(test, req->buf_node, fix->ctx->buf_table.nodes[0]);
	KUNIT_ASSERT_EQ(test, io_buf_gather(req, ITER_DEST, first, 2, 0), 25);
	cmd_buf_expect(test, first_segs, ARRAY_SIZE(first_segs));
	/* other parts of the same buffer, not parts of the parts */
	KUNIT_EXPECT_EQ(test, io_buf_gather(req, ITER_DEST, outside, 2, 0), -EFAULT);
	KUNIT_ASSERT_EQ(test, io_buf_gather(req, ITER_DEST, second, 1, 0), 1);
	cmd_buf_expect(test, second_segs, ARRAY_SIZE(second_segs));
	KUNIT_EXPECT_EQ(test, cmd_buf_clear(fix, 0), 0);
	KUNIT_EXPECT_EQ(test, fix->released, 0);
	io_buf_forget(req);
	KUNIT_EXPECT_EQ(test, fix->released, 1);
}

static struct kunit_case cmd_buf_cases[] = {
	KUNIT_CASE(cmd_buf_slots),
	KUNIT_CASE(cmd_buf_directions),
	KUNIT_CASE(cmd_buf_in_use),
	KUNIT_CASE(cmd_buf_leaving),
	KUNIT_CASE(cmd_buf_in_a_chain),
	KUNIT_CASE(cmd_buf_parts),
	{}
};

static struct kunit_suite cmd_buf_suite = {
	.name = "io_uring_cmd_buf",
	.init = cmd_buf_init,
	.exit = cmd_buf_exit,
	.test_cases = cmd_buf_cases,
};

kunit_test_suite(cmd_buf_suite);
