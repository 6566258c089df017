// SPDX-License-Identifier: GPL-2.0
/* io_uring: table of the operations and of their names */

/*
 * io_ops has an entry for each value of sqe->opcode, so the submitter needs neither a bounds check
 * nor array_index_nospec().  An opcode in op/list.h whose option is set has its operation as the
 * entry.  Any other entry refuses every SQE.  So a kernel may support fewer operations, and its
 * opcodes may have gaps.
 * IORING_REGISTER_PROBE reports the supported operations.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/io_uring.h>

#include "op/list.h"

static int io_unsupported_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return -EOPNOTSUPP;
}

/* Never called, as ->prep() refuses the request. */
static enum io_result io_unsupported_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	WARN_ON_ONCE(1);
	return io_done(req, -EOPNOTSUPP);
}

const struct io_op io_op_unsupported = {
	.prep	= io_unsupported_prep,
	.issue	= io_unsupported_issue,
};

static int io_invalid_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return -EINVAL;
}

/* This is the entry for values that are not an opcode, and for opcodes without an operation. */
const struct io_op io_op_invalid = {
	.prep	= io_invalid_prep,
	.issue	= io_unsupported_issue,
};

#define IO_OP(opcode, record, config)	\
	[IORING_OP_##opcode] = IS_BUILTIN(config) ? &io_op_##record : &io_op_unsupported,

const struct io_op *const io_ops[IO_OPS] = {
	[0 ... IO_OPS - 1] = &io_op_invalid,
#include "op/list.h"
};

/* Documented in linux/io_uring.h.  The build fails if two operations have the same opcode. */
const char *io_uring_get_opcode(u8 opcode)
{
	/* 6.12 uses this name in traces and fdinfo */
	if (opcode == IORING_OP_EPOLL_CTL)
		return "EPOLL";
	switch (opcode) {
#define IO_OP(opcode, ...)	case IORING_OP_##opcode: { return #opcode; }
#include "op/list.h"
	}
	return "INVALID";
}
