// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_SPLICE, IORING_OP_TEE - move data between a pipe and a file */

/*
 * sqe->fd is the destination of the data, sqe->splice_fd_in the source.  Both may be registered
 * files, and are looked up when the request starts.  Only a worker moves the data, because it may
 * have to wait for a pipe that is empty or full.
 */
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/splice.h>

#include "op/list.h"
#include "op/result.h"
#include "req/node.h"
#include "req/put.h"
#include "rsrc/files.h"

/**
 * struct io_splice - arguments of SPLICE and TEE
 * @in: the source, NULL until it is looked up
 * @off_in: position in @in, -1 to pass no offset
 * @off_out: position in the request's file, -1 to pass no offset
 * @len: number of bytes
 * @fd_in: descriptor or slot of @in
 * @flags: SPLICE_F_*
 *
 * If the source is a registered file, req->buf_node holds its node.
 */
struct io_splice {
	struct file	*in;
	loff_t		off_in;
	loff_t		off_out;
	u64		len;
	int		fd_in;
	unsigned int	flags;
};

IO_OP_DATA(io_splice);

static int io_splice_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_splice *splice = io_splice(req);

	splice->in = NULL;
	splice->off_in = READ_ONCE(sqe->splice_off_in);
	splice->off_out = READ_ONCE(sqe->off);
	splice->len = READ_ONCE(sqe->len);
	splice->fd_in = READ_ONCE(sqe->splice_fd_in);
	splice->flags = READ_ONCE(sqe->splice_flags);
	return splice->flags & ~(SPLICE_F_FD_IN_FIXED | SPLICE_F_ALL) ? -EINVAL : 0;
}

static int io_tee_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	/* pipes have no positions */
	if (READ_ONCE(sqe->splice_off_in) || READ_ONCE(sqe->off))
		return -EINVAL;
	return io_splice_prep(req, sqe);
}

static bool io_splice_find_fixed(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_splice *splice = io_splice(req);
	struct io_rsrc_node *node = io_file_node_take(req->ctx, splice->fd_in, issue_flags);

	if (!node)
		return false;
	req->buf_node = node;
	req->flags |= REQ_F_BUF_NODE;
	splice->in = io_file_node(node)->file;
	return true;
}

/* Look up the source, unless an earlier attempt has done so.  Return: true if there is a file. */
static bool io_splice_find(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_splice *splice = io_splice(req);

	if (splice->in)
		return true;
	if (splice->flags & SPLICE_F_FD_IN_FIXED)
		return io_splice_find_fixed(req, issue_flags);
	splice->in = fget(splice->fd_in);
	if (splice->in)
		req->flags |= REQ_F_NEED_CLEANUP;
	return splice->in;
}

static void io_splice_cleanup(struct io_kiocb *req)
{
	io_req_file_put(req, io_splice(req)->in);
}

/* Move the data.  Return: as splice(2) or tee(2). */
static noinline ssize_t io_splice_move(struct io_kiocb *req)
{
	struct io_splice *splice = io_splice(req);
	unsigned int flags = splice->flags & ~SPLICE_F_FD_IN_FIXED;

	if (!splice->len)
		return 0;
	if (req->opcode == IORING_OP_TEE)
		return do_tee(splice->in, req->file, splice->len, flags);
	return do_splice(splice->in, splice->off_in == -1 ? NULL : &splice->off_in,
			 req->file, splice->off_out == -1 ? NULL : &splice->off_out,
			 splice->len, flags);
}

static enum io_result io_splice_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_splice *splice = io_splice(req);
	ssize_t ret;

	if (!io_splice_find(req, issue_flags))
		return io_done(req, -EBADF);
	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	ret = io_splice_move(req);
	/* a short transfer breaks the chain, like a failure */
	if (ret != splice->len)
		req->flags |= REQ_F_FAIL;
	return io_done(req, io_no_restart(ret));
}

const struct io_op io_op_splice = {
	.needs_file		= 1,
	.audit_skip		= 1,
	.serialize_writes	= 1,
	.unbound_nonreg_file	= 1,
	.prep			= io_splice_prep,
	.issue			= io_splice_issue,
	.cleanup		= io_splice_cleanup,
};

const struct io_op io_op_tee = {
	.needs_file		= 1,
	.audit_skip		= 1,
	.serialize_writes	= 1,
	.unbound_nonreg_file	= 1,
	.prep			= io_tee_prep,
	.issue			= io_splice_issue,
	.cleanup		= io_splice_cleanup,
};
