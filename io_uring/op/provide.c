// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_PROVIDE_BUFFERS, REMOVE_BUFFERS - change groups of provided buffers */

/*
 * PROVIDE_BUFFERS adds buffers to a group, and REMOVE_BUFFERS removes unused buffers.  Both ops
 * refuse a group that is a buffer ring.  rsrc/groups.c does the work.
 */
#include <linux/overflow.h>
#include <linux/uaccess.h>

#include "op/list.h"
#include "rsrc/groups.h"

/* maximum number of buffers in a request: as many as there are buffer numbers */
#define IO_PROVIDE_MAX	(U16_MAX + 1)

/**
 * struct io_provide - arguments of PROVIDE_BUFFERS and REMOVE_BUFFERS
 * @first: the first buffer, PROVIDE_BUFFERS only
 * @nr: number of buffers
 */
struct io_provide {
	struct io_uring_buf	first;
	u32			nr;
};

IO_OP_DATA(io_provide);

/* Read the number of buffers from sqe->fd.  Return: 0; @err for a bad number; or -EINVAL. */
static int io_provide_prep_nr(struct io_kiocb *req, const struct io_uring_sqe *sqe, int err)
{
	struct io_provide *provide = io_provide(req);

	if (READ_ONCE(sqe->rw_flags) || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	provide->nr = READ_ONCE(sqe->fd);
	return !provide->nr || provide->nr > IO_PROVIDE_MAX ? err : 0;
}

static int io_provide_buffers_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_provide *provide = io_provide(req);
	struct io_uring_buf *first = &provide->first;
	int ret = io_provide_prep_nr(req, sqe, -E2BIG);
	unsigned long size, end;
	u64 bid;

	if (ret)
		return ret;
	first->addr = READ_ONCE(sqe->addr);
	first->len = READ_ONCE(sqe->len);
	first->resv = 0;
	if (!first->len)
		return -EINVAL;
	if (check_mul_overflow((unsigned long)first->len, provide->nr, &size) ||
	    check_add_overflow((unsigned long)first->addr, size, &end))
		return -EOVERFLOW;
	if (!access_ok(u64_to_user_ptr(first->addr), size))
		return -EFAULT;
	bid = READ_ONCE(sqe->off);
	if (bid > U16_MAX)
		return -E2BIG;
	first->bid = bid;
	return bid + provide->nr > IO_PROVIDE_MAX ? -EINVAL : 0;
}

static int io_remove_buffers_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	if (READ_ONCE(sqe->addr) || READ_ONCE(sqe->len) || READ_ONCE(sqe->off))
		return -EINVAL;
	return io_provide_prep_nr(req, sqe, -EINVAL);
}

static enum io_result io_provide_buffers_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	const struct io_provide *p = io_provide(req);

	return io_done(req, io_group_provide(req->ctx, req->buf_index, p->first, p->nr));
}

static enum io_result io_remove_buffers_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	return io_done(req, io_group_withdraw(req->ctx, req->buf_index, io_provide(req)->nr));
}

const struct io_op io_op_provide_buffers = {
	.iopoll		= 1,
	.audit_skip	= 1,
	.ring_lock	= 1,
	.no_creds	= 1,
	.prep		= io_provide_buffers_prep,
	.issue		= io_provide_buffers_issue,
};

const struct io_op io_op_remove_buffers = {
	.iopoll		= 1,
	.audit_skip	= 1,
	.ring_lock	= 1,
	.no_creds	= 1,
	.prep		= io_remove_buffers_prep,
	.issue		= io_remove_buffers_issue,
};
