// SPDX-License-Identifier: GPL-2.0
/* io_uring: the slow path of an SQE: flags, restrictions, chains, drain */

/*
 * io_init_slow() checks personalities, and the SQE flags that not every op or ring
 * accepts, before ->prep.  io_submit_chained() runs after ->prep, for requests that are
 * linked, drained, refused or meant for a worker.
 *
 * A chain is built in ctx->chain until the first SQE without a link flag, or the end
 * of the batch.  The request of a refused SQE stays in the chain, so that CQEs are
 * posted in the order of submission.
 */
#include <linux/cred.h>
#include <linux/nospec.h>
#include <linux/security.h>
#include <trace/events/io_uring.h>

#include "complete/complete.h"
#include "req/drain.h"
#include "req/link.h"
#include "ring/sq.h"
#include "rsrc/creds.h"
#include "rsrc/restrict.h"
#include "submit/issue.h"

/* Return: true if the restrictions of a ring allow this SQE. */
static bool io_sqe_allowed(struct io_ring_ctx *ctx, unsigned int opcode, u8 sqe_flags)
{
	const struct io_restriction *r = ctx->restrictions;

	if (!test_bit(opcode, r->sqe_op))
		return false;
	if ((sqe_flags & r->flags.required) != r->flags.required)
		return false;
	return !(sqe_flags & ~(r->flags.allowed | r->flags.required));
}

static int io_init_personality(struct io_kiocb *req, u16 id)
{
	int ret;

	req->creds = io_personality_get(req->ctx, id);
	if (!req->creds)
		return -EINVAL;
	req->flags |= REQ_F_CREDS;
	ret = security_uring_override_creds(req->creds);
	if (ret) {
		req->flags &= ~REQ_F_CREDS;
		put_cred(req->creds);
	}
	return ret;
}

static int io_init_flags(struct io_kiocb *req, const struct io_uring_sqe *sqe, u8 sqe_flags)
{
	const struct io_op *op = io_ops[req->opcode];
	struct io_ring_ctx *ctx = req->ctx;

	if (sqe_flags & ~IO_SQE_FLAGS_VALID) {
		/* in req->flags, bits that are unknown in an SQE have another meaning */
		req->flags &= (__force io_req_flags_t)(u64)IO_SQE_FLAGS_VALID;
		return -EINVAL;
	}
	/* as on Linux 7.3, the flags of half an SQE have no effect */
	if (op->sqe128 && !io_sq_has_second(ctx, sqe))
		return -EINVAL;
	if (sqe_flags & IOSQE_BUFFER_SELECT && !op->buffer_select)
		return -EOPNOTSUPP;
	if (sqe_flags & IOSQE_CQE_SKIP_SUCCESS)
		io_drain_disable(ctx);
	if (sqe_flags & IOSQE_IO_DRAIN && ctx->drain.disabled)
		return -EOPNOTSUPP;
	return 0;
}

/**
 * io_init_slow - check SQE flags, restrictions and personality before ->prep
 * @req: the request, with opcode and flags
 * @sqe: the SQE
 * @sqe_flags: its flags
 * @personality: personality of the SQE, 0 for none
 *
 * Return: 0; -EINVAL for an unknown opcode, flag or personality, or for half an SQE of 128 bytes;
 * -EOPNOTSUPP for flags that the op or ring does not support; -EACCES for an SQE that the
 * restrictions of the ring forbid; or an error of security_uring_override_creds().
 */
int io_init_slow(struct io_kiocb *req, const struct io_uring_sqe *sqe, u8 sqe_flags,
		 u16 personality)
{
	struct io_ring_ctx *ctx = req->ctx;
	int ret = -EINVAL;

	if (io_ops[req->opcode] != &io_op_invalid)
		ret = io_init_flags(req, sqe, sqe_flags);
	if (ret) {
		/* a request that is refused for its flags must not drain */
		req->flags &= ~REQ_F_IO_DRAIN;
		return ret;
	}
	if (ctx->submit_slow & IO_SLOW_RESTRICTED &&
	    !io_sqe_allowed(ctx, array_index_nospec(req->opcode, IORING_OP_LAST), sqe_flags))
		return -EACCES;
	return personality ? io_init_personality(req, personality) : 0;
}

/*
 * Mark the head of a chain that has to be drained.  A drained chain waits for all earlier requests,
 * and later chains wait for its end (see req/drain.c).  If a request behind the head has
 * IOSQE_IO_DRAIN, the next chain is drained as well.
 */
static void io_chain_mark_drain(struct io_kiocb *head)
{
	struct io_ring_ctx *ctx = head->ctx;
	bool inside = false;
	struct io_kiocb *req;

	for (req = head; req->flags & REQ_F_HAS_LINK; ) {
		req = req->link;
		inside |= !!(req->flags & REQ_F_IO_DRAIN);
	}
	if (inside || ctx->drain.next)
		head->flags |= REQ_F_IO_DRAIN;
	ctx->drain.next = inside;
	if (inside)
		ctx->submit_slow |= IO_SLOW_LINK;
}

/* Start a complete chain: fail it, let it wait, or issue its head. */
static void io_chain_start(struct io_kiocb *head)
{
	struct io_ring_ctx *ctx = head->ctx;

	io_chain_mark_drain(head);
	if (head->flags & REQ_F_FAIL) {
		/* a chain with a refused SQE breaks even at a hard link */
		head->flags &= ~REQ_F_HARDLINK;
		if (head->flags & REQ_F_PREPPED)
			io_req_fail(head, head->cqe.res);
		else
			io_complete(head);
	} else if ((ctx->submit_slow & IO_SLOW_DRAIN || head->flags & REQ_F_IO_DRAIN) &&
		   io_drain_waits(head)) {
		trace_io_uring_defer(head);
		io_req_keep_creds(head);
		head->tw.run = io_issue_tw;
		io_drain_add(head);
	} else if (head->flags & REQ_F_FORCE_ASYNC) {
		io_queue_to_worker(head);
	} else {
		io_issue_inline(head);
	}
}

/* Append a request to the chain that is being built. */
static void io_chain_append(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	struct io_kiocb *head = ctx->chain.head;

	trace_io_uring_link(req, head);
	io_req_keep_creds(req);
	req->tw.run = io_issue_tw;
	io_link_append(ctx->chain.last, req);
	ctx->chain.last = req;
	if (req->flags & REQ_F_FAIL && !(head->flags & REQ_F_FAIL)) {
		/* the CQE of @req has the error; earlier requests of the chain are cancelled */
		io_req_show_cqe(head);
		io_done(head, -ECANCELED);
	}
}

/**
 * io_submit_end_chain - start the chain that is being built
 * @ctx: the ring, its lock held
 */
void io_submit_end_chain(struct io_ring_ctx *ctx)
{
	struct io_kiocb *head = ctx->chain.head;

	ctx->chain.head = NULL;
	ctx->submit_slow &= ~IO_SLOW_LINK;
	io_chain_start(head);
}

/**
 * io_submit_chained - submit a request that may be linked, drained, refused, or for a worker
 * @req: the request; ring lock held
 */
void io_submit_chained(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;
	bool goes_on = req->flags & IO_REQ_CHAIN_FLAGS;

	if (ctx->chain.head) {
		io_chain_append(ctx, req);
	} else {
		ctx->chain.head = req;
		ctx->chain.last = req;
	}
	if (goes_on)
		ctx->submit_slow |= IO_SLOW_LINK;
	else
		io_submit_end_chain(ctx);
}
