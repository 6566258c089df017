// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of reads of files without ->read_iter() */
#include <linux/io_uring/cmd.h>

#include "ring/tests/test_ring.h"
#include "rsrc/table.h"

static void rw_pieces_release(void *priv)
{
}

static ssize_t rw_pieces_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	return len;
}

/* A file that takes user addresses cannot read into a driver's buffer, which has none. */
static void rw_pieces_drivers_buffer(struct kunit *test)
{
	static const struct file_operations fops = { .read = rw_pieces_read };
	struct io_ring_ctx *ctx = test_ring(test, .flags = IORING_SETUP_DEFER_TASKRUN);
	struct io_kiocb *req = kunit_kzalloc(test, sizeof(*req), GFP_KERNEL);
	struct file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	struct io_uring_cmd *cmd;
	struct iov_iter iter;
	struct bio_vec bv;

	KUNIT_ASSERT_NOT_NULL(test, req);
	KUNIT_ASSERT_NOT_NULL(test, file);
	KUNIT_ASSERT_EQ(test, io_rsrc_table_alloc(&ctx->buf_table, 1), 0);
	req->ctx = ctx;
	req->file = file;
	file->f_op = &fops;
	cmd = (struct io_uring_cmd *)req->data;
	bvec_set_page(&bv, ZERO_PAGE(0), 600, 0);
	guard(mutex)(&ctx->uring_lock.mutex);
	KUNIT_ASSERT_EQ(test, io_buffer_register_bvec(cmd, &bv, 1, rw_pieces_release, NULL,
						      IO_BUF_DEST, 0, 0), 0);
	/* from here on the request is a read */
	memset(req->data, 0, sizeof(req->data));
	KUNIT_ASSERT_EQ(test, io_buf_assign(req, 0), 0);
	io_buf_iter(io_buf_node(req->buf_node), ITER_DEST, 0, 100, &iter);
	KUNIT_EXPECT_EQ(test, io_rw_pieces(req, READ, &iter), -EFAULT);
	io_node_put(ctx, req->buf_node);
	io_rsrc_table_free(ctx, &ctx->buf_table);
}

static struct kunit_case rw_pieces_cases[] = {
	KUNIT_CASE(rw_pieces_drivers_buffer),
	{}
};

static struct kunit_suite rw_pieces_suite = {
	.name = "io_uring_rw_pieces",
	.test_cases = rw_pieces_cases,
};

kunit_test_suite(rw_pieces_suite);
