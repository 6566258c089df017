// SPDX-License-Identifier: GPL-2.0
/* io_uring: pass a request to the context that continues it */

/*
 * On single-writer rings the ring's owner continues a request.  On multi-writer rings the
 * task that submitted the request runs it as task work.  A task has one mailbox for all its
 * multi-writer rings, for requests only.  If the owner or the task is gone, the fallback
 * worker of the request's ring runs the request.
 */
#include <linux/rcupdate.h>
#include <linux/task_work.h>

#include "req/req.h"

/* Move the mailbox of a task that can no longer run task work to the fallback workers. */
static void io_tctx_to_fallback(struct io_uring_task *tctx)
{
	struct io_tw *tw = io_mailbox_take(&tctx->mailbox);

	while (tw) {
		struct io_kiocb *req = io_tw_to_req(tw);

		tw = tw->next;
		if (req->ctx->flags & IORING_SETUP_TASKRUN_FLAG)
			io_taskrun_update(req->ctx, &tctx->mailbox);
		io_fallback_push(req->ctx, &req->tw);
	}
}

/* Push a request of a multi-writer ring to the task that submitted it. */
static void io_tctx_push(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_uring_task *tctx = req->tctx;
	unsigned long old;

	/* once the request is pushed, only RCU keeps the memory of the ring and of the task */
	guard(rcu)();
	old = io_mailbox_push(&tctx->mailbox, &req->tw);
	if (unlikely(old & IO_MAILBOX_DEAD)) {
		io_fallback_push(ctx, &req->tw);
		return;
	}
	if (ctx->flags & IORING_SETUP_TASKRUN_FLAG)
		io_taskrun_update(ctx, &tctx->mailbox);
	if (io_mailbox_was_empty(old) &&
	    task_work_add(tctx->task, &tctx->task_work, ctx->notify_method))
		io_tctx_to_fallback(tctx);
}

/**
 * io_req_push_owner - push a request to the owner of a single-writer ring
 * @req: the request, with state and tw.run set
 * @push_flags: IO_PUSH_*
 */
void io_req_push_owner(struct io_kiocb *req, unsigned int push_flags)
{
	struct io_ring_ctx *ctx = req->ctx;

	/* the task work starts the next request of the chain, or issues a polled request again */
	if (unlikely(req->flags & (REQ_F_HAS_LINK | REQ_F_POLLED)))
		push_flags |= IO_PUSH_NOW;
	/* read the flags before the push, after which the request may be freed */
	if (req->flags & (REQ_F_FILE_NODE | REQ_F_BUF_NODE))
		push_flags |= IO_PUSH_NODES;
	push_flags |= IO_PUSH_REQ;
	io_owner_mailbox_push(ctx, &req->tw, push_flags);
}

/**
 * io_req_push - continue a request in the right context
 * @req: the request; belongs to that context when this returns
 * @run: called in that context, with the ring lock held
 * @push_flags: IO_PUSH_*
 *
 * Context: Any.
 */
void io_req_push(struct io_kiocb *req,
		 void (*run)(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int flags),
		 unsigned int push_flags)
{
	io_req_move(req, IO_REQ_TW_QUEUED);
	req->tw.run = run;
	if (req->ctx->cq.single_writer)
		io_req_push_owner(req, push_flags);
	else
		io_tctx_push(req);
}

/**
 * io_req_run_soon - continue a request before the ring lock is released
 * @req: the request; current has submitted it, and holds the ring lock
 * @run: called before the release
 */
void io_req_run_soon(struct io_kiocb *req,
		     void (*run)(struct io_ring_ctx *ctx, struct io_tw *tw,
				 unsigned int flags))
{
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	io_req_move(req, IO_REQ_TW_QUEUED);
	req->tw.run = run;
	req->tw.next = NULL;
	*ctx->ready.tail = &req->tw;
	ctx->ready.tail = &req->tw.next;
}

/**
 * io_req_go_on - continue a request that has waited for other requests
 * @req: the request, with tw.run set
 * @ring_locked: the caller holds the ring lock
 *
 * If the caller is the submitter and holds the ring lock, the request is issued before the lock is
 * released, so that one io_uring_enter() gets as far as possible.  In all other contexts the
 * request is pushed, see io_req_push().
 */
void io_req_go_on(struct io_kiocb *req, bool ring_locked)
{
	if (ring_locked && current->io_uring == req->tctx)
		io_req_run_soon(req, req->tw.run);
	else
		io_req_push(req, req->tw.run, IO_PUSH_NOW);
}
