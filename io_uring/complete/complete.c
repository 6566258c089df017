// SPDX-License-Identifier: GPL-2.0
/* io_uring: completing requests */

/*
 * A request may end in a context that must not write CQEs, and may have requests linked behind it.
 *
 * io_complete() needs the ring lock, and on single-writer rings only the writer may call it
 * (io_cq_is_writer()).  A worker does not hold the ring lock.  On a multi-writer ring a worker
 * posts the CQE at once under cq.lock.  On a single-writer ring it pushes the request to the owner.
 *
 * First the CQE is posted, then the chain continues, then the resources of the request are
 * released, and last its memory.
 *
 * If the chain continues, its next request is passed to a context that may issue it (the
 * submission has set tw.run).  A worker of a multi-writer ring issues that request itself.  If
 * the chain is broken, the other requests end with -ECANCELED, or with the error that their
 * submission found.
 */
#include <trace/events/io_uring.h>

#include "complete/fast.h"
#include "req/free.h"
#include "req/linked_timeout.h"
#include "req/link.h"

/* Return: true if @req posts a CQE.  CQE_SKIP_SUCCESS does not hide a chain's first failure. */
static bool io_req_wants_cqe(struct io_kiocb *req)
{
	if (likely(!(req->flags & REQ_F_CQE_SKIP)))
		return true;
	if (!(req->flags & REQ_F_FAIL) || req->flags & REQ_F_SKIP_LINK_CQES)
		return false;
	/* report this failure, and cancel the rest of the chain without CQEs */
	req->flags |= REQ_F_SKIP_LINK_CQES;
	return true;
}

/* Trace the CQE of a request. */
static void io_trace_complete(struct io_kiocb *req)
{
	if (trace_io_uring_complete_enabled())
		trace_io_uring_complete(req->ctx, req, req->cqe.user_data, req->cqe.res,
					req->cqe.flags, 0, 0);
}

/* Set the result of a request of a broken chain. */
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

/* End all requests of a broken chain. */
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
 * Continue or break the chain of @head, which has ended.  @end completes the cancelled requests
 * in a way that suits the caller's context.  If @end is not io_complete(), the caller has to
 * continue the chain with head->link, unless that is NULL.
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
	if (end == io_complete)
		io_req_go_on(next, true);
	else
		head->link = next;
}

/* Continue the chain of an ended request, and free the request if no other reference is left. */
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
 * On single-writer rings only the writer may call this.
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
 * io_complete_large - complete a request with all words of a 32-byte CQE
 * @req: the request, as for io_complete(), with io_cqe_large_flag() in req->cqe.flags
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
 * io_complete_uncounted - complete a timeout, whose CQE other timeouts do not count
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
 * io_complete_tw - complete a request from a mailbox
 * @ctx: the ring, its lock held
 * @tw: item of the request
 * @issue_flags: unused
 */
void io_complete_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	io_complete(io_tw_to_req(tw));
}

/**
 * io_complete_later - push a request to a context that may complete it
 * @req: the request, its result is in req->cqe
 *
 * Context: Any.
 */
void io_complete_later(struct io_kiocb *req)
{
	io_req_push(req, io_complete_tw, 0);
}

/**
 * io_req_put_unlocked - drop a reference to a request without the ring lock
 * @req: the request
 *
 * Context: Task context.  May sleep.
 */
void io_req_put_unlocked(struct io_kiocb *req)
{
	if (io_req_put_is_last(req))
		io_req_retire(req);
}

/* Do the part of io_complete_in_worker() that needs the ring lock, as task work. */
static void io_complete_rest(struct io_ring_ctx *ctx, struct io_tw *tw,
			     unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);

	io_req_move(req, IO_REQ_DONE);
	io_link_advance(req, io_complete);
	if (io_req_put_is_last(req))
		io_req_free(req);
}

/* End a request of a chain that a worker has broken or continues; without the ring lock. */
static void io_end_unlocked(struct io_kiocb *req)
{
	io_complete_in_worker(req, false);
}

/* End a request of a chain that a worker has broken or continues; ring lock held. */
static void io_end_locked(struct io_kiocb *req)
{
	io_complete(req);
}

/* Do the last part of io_complete_in_worker() for a request that is linked to others. */
static noinline struct io_kiocb *io_complete_chained(struct io_kiocb *req, bool locked)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_kiocb *next;

	req->flags |= REQ_F_AFTER_WORKER;
	if (locked) {
		io_link_advance(req, io_end_locked);
	} else if (!(req->flags & REQ_F_HAS_TIMEOUT)) {
		io_link_advance(req, io_end_unlocked);
	} else if (req->flags & REQ_F_TIMEOUT_LINKED ? io_ring_trylock(ctx) :
						       io_ring_lock_soon(ctx)) {
		/* with REQ_F_TIMEOUT_LINKED, the caller's io_ring_lock_soon() has already failed */
		io_link_advance(req, io_end_locked);
		io_ring_unlock(ctx);
	} else {
		io_req_push(req, io_complete_rest, IO_PUSH_NOW);
		return NULL;
	}
	next = req->link;
	io_req_put_unlocked(req);
	return next;
}

/*
 * The owner of a single-writer ring drops the request's reference to its file.  If it is the last
 * one, another request may wait for the end of a pipe or a socket.
 * Return: IO_PUSH_NOW if the owner must not sleep on for more CQEs; else 0.
 */
static unsigned int io_worker_push_flags(const struct io_kiocb *req)
{
	return req->flags & REQ_F_FILE_PUT && file_count(req->file) == 1 ? IO_PUSH_NOW : 0;
}

/**
 * io_complete_in_worker - end a request that a worker has finished
 * @req: the request, its result is in req->cqe
 * @locked: the ring lock is held, for a chain that continues
 *
 * The CQE is posted at once on multi-writer rings.  A linked timeout behind the request has to
 * end under the ring lock.  If another task holds that lock for long, task work continues the chain
 * and frees the request.
 *
 * Context: Task context.  May sleep.
 * Return: the next request of the chain, which the caller has to continue, or NULL.
 */
struct io_kiocb *io_complete_in_worker(struct io_kiocb *req, bool locked)
{
	if (req->ctx->cq.single_writer) {
		io_req_push(req, io_complete_tw, io_worker_push_flags(req));
		return NULL;
	}
	io_req_move(req, IO_REQ_DONE);
	if (likely(io_req_wants_cqe(req))) {
		io_trace_complete(req);
		io_cq_post_now(req->ctx, &req->cqe);
	}
	if (unlikely(req->flags & REQ_F_HAS_LINK))
		return io_complete_chained(req, locked);
	io_req_put_unlocked(req);
	return NULL;
}

/**
 * io_req_set_failed - set the result of a prepared request that fails without another attempt
 * @req: the request, which the caller has to complete
 * @res: negative errno; an op whose earlier attempts have moved data reports that instead
 */
void io_req_set_failed(struct io_kiocb *req, s32 res)
{
	const struct io_op *op = io_ops[req->opcode];

	io_done(req, res);
	if (op->fail)
		op->fail(req);
}

/**
 * io_req_fail - end a prepared request with an error, without another attempt
 * @req: the request; ring lock held
 * @res: negative errno
 */
void io_req_fail(struct io_kiocb *req, s32 res)
{
	io_req_set_failed(req, res);
	io_complete(req);
}

/**
 * io_req_fail_later - push a failed request to a context that may complete it
 * @req: the request; the caller must not access it afterwards
 * @res: negative errno
 *
 * Context: Any.
 */
void io_req_fail_later(struct io_kiocb *req, s32 res)
{
	io_req_set_failed(req, res);
	io_complete_later(req);
}
