// SPDX-License-Identifier: GPL-2.0
/* io_uring: completing requests */

/*
 * The order is fixed: CQE, then the chain behind the request, then what it
 * holds, then its memory.  On multi-writer rings a worker posts the CQE at once under
 * cq.lock; on single-writer rings it hands the request to the owner.
 *
 * A chain goes on with the next request, which is pushed to where it may be
 * issued (tw.run was set when the chain was built), or it is broken: all that
 * follows ends with -ECANCELED, or with the error it met while the chain was
 * built.
 */
#include <trace/events/io_uring.h>

#include "complete/fast.h"
#include "req/free.h"
#include "req/linked_timeout.h"
#include "req/link.h"

/* Does this end show as a CQE?  IOSQE_CQE_SKIP_SUCCESS hides successes only. */
static bool io_req_wants_cqe(struct io_kiocb *req)
{
	if (likely(!(req->flags & REQ_F_CQE_SKIP)))
		return true;
	if (!(req->flags & REQ_F_FAIL) || req->flags & REQ_F_SKIP_LINK_CQES)
		return false;
	/* the failure is told; those behind it are cancelled in silence */
	req->flags |= REQ_F_SKIP_LINK_CQES;
	return true;
}

/* Tell tracers of a CQE. */
static void io_trace_complete(struct io_kiocb *req)
{
	if (trace_io_uring_complete_enabled())
		trace_io_uring_complete(req->ctx, req, req->cqe.user_data, req->cqe.res,
					req->cqe.flags, 0, 0);
}

/* What breaks a chain decides the result of each request behind it. */
static void io_link_fail_one(struct io_kiocb *req, bool silent)
{
	if (!(req->flags & REQ_F_FAIL)) {
		req->cqe.res = -ECANCELED;
		req->flags |= REQ_F_FAIL;
	}
	if (silent)
		req->flags |= REQ_F_CQE_SKIP | REQ_F_SKIP_LINK_CQES;
	else
		req->flags &= ~REQ_F_CQE_SKIP;
}

/* The chain is broken: all that follows ends. */
static noinline void io_link_fail_rest(struct io_kiocb *next, struct io_kiocb *head,
				       void (*end)(struct io_kiocb *req))
{
	bool silent = head->flags & REQ_F_SKIP_LINK_CQES;

	while (next) {
		struct io_kiocb *rest = io_link_cut(next);

		trace_io_uring_fail_link(next, head);
		io_link_fail_one(next, silent);
		end(next);
		next = rest;
	}
}

/*
 * The head of a chain has ended.  @end completes what is cancelled, in the way
 * that suits the caller's context.
 */
static noinline void io_link_advance(struct io_kiocb *head, void (*end)(struct io_kiocb *req))
{
	struct io_kiocb *next = io_link_cut(head), *limit = NULL;

	if (unlikely(head->flags & REQ_F_HAS_TIMEOUT))
		limit = io_linked_timeout_end(&next);
	if (limit)
		end(limit);
	if (!next)
		return;
	if (unlikely(io_link_breaks(head))) {
		io_link_fail_rest(next, head, end);
		return;
	}
	next->flags |= head->flags & REQ_F_AFTER_WORKER;
	io_req_go_on(next, end == io_complete);
}

/* The rest of the end of a request, after its CQE. */
static void io_complete_posted(struct io_kiocb *req)
{
	if (unlikely(req->flags & REQ_F_HAS_LINK))
		io_link_advance(req, io_complete);
	if (likely(io_req_put_is_last(req)))
		io_req_free(req);
}

/**
 * io_complete - end a request whose result is known
 * @req: the request, its result is in req->cqe; ring lock held
 *
 * On single-writer rings the writer calls it.
 */
void io_complete(struct io_kiocb *req)
{
	io_req_move(req, IO_REQ_DONE);
	if (likely(io_req_wants_cqe(req))) {
		io_trace_complete(req);
		if (unlikely(!io_cq_post_fast(req->ctx, &req->cqe)))
			io_cq_post(req->ctx, &req->cqe, NULL);
	}
	io_complete_posted(req);
}

/**
 * io_complete_large - io_complete() that fills all of a 32-byte CQE
 * @req: the request, as for io_complete()
 * @extra: the two extra words
 */
void io_complete_large(struct io_kiocb *req, const u64 *extra)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_req_move(req, IO_REQ_DONE);
	if (io_req_wants_cqe(req)) {
		trace_io_uring_complete(ctx, req, req->cqe.user_data, req->cqe.res,
					req->cqe.flags, extra[0], extra[1]);
		io_cq_post(ctx, &req->cqe, extra);
	}
	io_complete_posted(req);
}

/**
 * io_complete_uncounted - io_complete() of a timeout, whose CQE no other timeout counts
 * @req: the request, as for io_complete()
 */
void io_complete_uncounted(struct io_kiocb *req)
{
	io_req_move(req, IO_REQ_DONE);
	if (io_req_wants_cqe(req)) {
		io_trace_complete(req);
		io_cq_post_uncounted(req->ctx, &req->cqe);
	}
	io_complete_posted(req);
}

/**
 * io_complete_tw - io_complete() as what to do with a request from a mailbox
 * @ctx: the ring, its lock held
 * @tw: of the request
 * @issue_flags: not looked at
 */
void io_complete_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	io_complete(io_tw_to_req(tw));
}

/**
 * io_complete_later - end a request in a context that may complete it
 * @req: the request, its result is in req->cqe
 *
 * Any context.
 */
void io_complete_later(struct io_kiocb *req)
{
	io_req_push(req, io_complete_tw, 0);
}

/**
 * io_req_put_unlocked - give up a holder of a request without the ring lock
 * @req: the request
 *
 * Task context, may sleep.
 */
void io_req_put_unlocked(struct io_kiocb *req)
{
	if (io_req_put_is_last(req))
		io_req_retire(req);
}

/* The rest of io_complete_unlocked(), with the ring lock. */
static void io_complete_rest(struct io_ring_ctx *ctx, struct io_tw *tw,
			     unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);

	io_req_move(req, IO_REQ_DONE);
	io_link_advance(req, io_complete);
	if (io_req_put_is_last(req))
		io_req_free(req);
}

/**
 * io_complete_unlocked - end a request that a worker has finished
 * @req: the request, its result is in req->cqe
 *
 * Task context without the ring lock, may sleep.  The CQE is posted at once; ending
 * a linked timeout behind it needs the lock.
 */
void io_complete_unlocked(struct io_kiocb *req)
{
	if (req->ctx->cq.single_writer) {
		io_complete_later(req);
		return;
	}
	io_req_move(req, IO_REQ_DONE);
	if (likely(io_req_wants_cqe(req))) {
		io_trace_complete(req);
		io_cq_post_now(req->ctx, &req->cqe, NULL);
	}
	if (req->flags & REQ_F_HAS_TIMEOUT) {
		io_req_push(req, io_complete_rest, IO_PUSH_NOW);
		return;
	}
	if (req->flags & REQ_F_HAS_LINK) {
		req->flags |= REQ_F_AFTER_WORKER;
		io_link_advance(req, io_complete_unlocked);
	}
	io_req_put_unlocked(req);
}

static void io_req_set_failed(struct io_kiocb *req, s32 res)
{
	const struct io_op *op = io_ops[req->opcode];

	io_done(req, res);
	if (op->fail)
		op->fail(req);
}

/**
 * io_req_fail - end a prepared request with an error before it is issued
 * @req: the request; ring lock held
 * @res: negative errno
 */
void io_req_fail(struct io_kiocb *req, s32 res)
{
	io_req_set_failed(req, res);
	io_complete(req);
}

/**
 * io_req_fail_later - fail a request in a context that may complete it
 * @req: the request, not the caller's any more afterwards
 * @res: negative errno
 *
 * Any context.
 */
void io_req_fail_later(struct io_kiocb *req, s32 res)
{
	io_req_set_failed(req, res);
	io_complete_later(req);
}
