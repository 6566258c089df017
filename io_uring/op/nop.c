// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_NOP, NOP128 - do nothing, for tests and measurements */

/*
 * A NOP does no work, so it measures the cost of the other layers.  Its flags make a
 * request pass through further ones: the lookup of a file or of a registered buffer, task
 * work, 32-byte CQEs.  With IORING_NOP_INJECT_RESULT the value of sqe->len becomes the
 * result.  So a program can test how it handles failures, also in a chain.
 */
#include <linux/errno.h>

#include "complete/complete.h"
#include "op/list.h"
#include "req/req.h"
#include "ring/sq.h"
#include "rsrc/bufs.h"
#include "submit/issue.h"

/* IORING_NOP_FIXED_FILE, like IOSQE_FIXED_FILE, has no effect without IORING_NOP_FILE. */
#define IO_NOP_FLAGS	(IORING_NOP_INJECT_RESULT | IORING_NOP_FILE | IORING_NOP_FIXED_FILE | \
			 IORING_NOP_FIXED_BUFFER | IORING_NOP_TW | IORING_NOP_CQE32)

/**
 * struct io_nop - arguments of NOP
 * @result: the result of the request
 * @flags: IORING_NOP_*
 * @extra: the second half of a 32-byte CQE, with IORING_NOP_CQE32
 */
struct io_nop {
	s32	result;
	u32	flags;
	u64	extra[2];
};

IO_OP_DATA(io_nop);

static noinline int io_nop_prep_flags(struct io_kiocb *req, const struct io_uring_sqe *sqe,
				      u32 flags)
{
	struct io_nop *nop = io_nop(req);

	if (flags & ~IO_NOP_FLAGS)
		return -EINVAL;
	if (flags & IORING_NOP_CQE32 && !(req->ctx->issue_flags & IO_URING_F_CQE32))
		return -EINVAL;
	nop->result = flags & IORING_NOP_INJECT_RESULT ? READ_ONCE(sqe->len) : 0;
	if (flags & IORING_NOP_FIXED_FILE)
		req->flags |= REQ_F_FIXED_FILE;
	/* for io_file_assign() */
	req->cqe.res = READ_ONCE(sqe->fd);
	nop->flags = flags;
	nop->extra[0] = READ_ONCE(sqe->off);
	nop->extra[1] = READ_ONCE(sqe->addr);
	return 0;
}

static int io_nop_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	u32 flags = READ_ONCE(sqe->nop_flags);

	if (unlikely(flags))
		return io_nop_prep_flags(req, sqe, flags);
	io_nop(req)->result = 0;
	io_nop(req)->flags = 0;
	return 0;
}

static int io_nop128_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return io_sq_take_second(req->ctx, sqe) ?: io_nop_prep(req, sqe);
}

static void io_nop_end_large(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);

	io_complete_large(req, io_nop(req)->extra);
}

/*
 * Complete a NOP with a 32-byte CQE.  The submitter posts the CQE here, in the order of its SQEs,
 * unless it has to start a linked timeout first.  Return: IO_PENDING.
 */
static enum io_result io_nop_large(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_nop *nop = io_nop(req);

	req->cqe.flags |= io_cqe_large_flag(req->ctx);
	if (nop->flags & IORING_NOP_TW || issue_flags & IO_URING_F_UNLOCKED ||
	    req->flags & REQ_F_HAS_TIMEOUT)
		io_req_push(req, io_nop_end_large, IO_PUSH_NOW);
	else
		io_complete_large(req, nop->extra);
	return IO_PENDING;
}

/* Issue a NOP with flags. */
static noinline enum io_result io_nop_issue_flags(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_nop *nop = io_nop(req);
	int ret = nop->result;

	if (nop->flags & IORING_NOP_FILE && !io_file_assign(req, issue_flags))
		ret = -EBADF;
	else if (nop->flags & IORING_NOP_FIXED_BUFFER && io_buf_assign(req, issue_flags))
		ret = -EFAULT;
	io_done(req, ret);
	if (nop->flags & IORING_NOP_CQE32)
		return io_nop_large(req, issue_flags);
	if (!(nop->flags & IORING_NOP_TW))
		return IO_DONE;
	io_complete_later(req);
	return IO_PENDING;
}

static enum io_result io_nop_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	if (unlikely(io_nop(req)->flags))
		return io_nop_issue_flags(req, issue_flags);
	return io_done(req, 0);
}

const struct io_op io_op_nop = {
	.iopoll		= 1,
	.audit_skip	= 1,
	.no_creds	= 1,
	.prep		= io_nop_prep,
	.issue		= io_nop_issue,
};

const struct io_op io_op_nop128 = {
	.iopoll		= 1,
	.audit_skip	= 1,
	.no_creds	= 1,
	.sqe128		= 1,
	.prep		= io_nop128_prep,
	.issue		= io_nop_issue,
};
