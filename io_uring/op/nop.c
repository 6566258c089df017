// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_NOP - do nothing, for tests and measurements */

/*
 * A NOP does no work, so it measures the cost of the other layers.  With
 * IORING_NOP_INJECT_RESULT the value of sqe->len becomes the result.  So a program
 * can test how it handles failures, also in a chain.
 */
#include <linux/errno.h>

#include "op/list.h"

/**
 * struct io_nop - argument of NOP
 * @result: the result of the request
 */
struct io_nop {
	s32	result;
};

IO_OP_DATA(io_nop);

static int io_nop_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	u32 flags = READ_ONCE(sqe->nop_flags);

	if (flags & ~IORING_NOP_INJECT_RESULT)
		return -EINVAL;
	io_nop(req)->result = flags ? READ_ONCE(sqe->len) : 0;
	return 0;
}

static enum io_result io_nop_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	return io_done(req, io_nop(req)->result);
}

const struct io_op io_op_nop = {
	.iopoll		= 1,
	.audit_skip	= 1,
	.no_creds	= 1,
	.prep		= io_nop_prep,
	.issue		= io_nop_issue,
};
