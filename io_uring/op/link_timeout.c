// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_LINK_TIMEOUT - limit the time of the previous request in a chain */

/*
 * req/linked_timeout.h describes how a LINK_TIMEOUT is part of its chain; this file has the timer.
 * If the head ends first, the LINK_TIMEOUT ends with -ECANCELED.  If the timer expires first, the
 * LINK_TIMEOUT leaves the chain and cancels the head.  The head may end in between:
 *
 *	timer interrupt				end of the head, holds the ring lock
 *	io_req_push(req, io_link_timeout_tw)
 *						io_linked_timeout_end()
 *						  req->timed = NULL
 *						  io_timer_stop() does not return 1
 *						io_ring_unlock()
 *	io_link_timeout_tw(), under the ring lock
 *	  no head: complete with -ENOENT
 *
 * A LINK_TIMEOUT counts as a success, even with an error as its result.  So IOSQE_CQE_SKIP_SUCCESS
 * alone decides whether it posts a CQE.
 */
#include "async/timer.h"
#include "complete/complete.h"
#include "op/list.h"
#include "req/linked_timeout.h"
#include "task/cancel.h"

static int io_link_timeout_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret;

	/* a LINK_TIMEOUT counts no CQEs; the upper half of the field was never checked */
	if ((u32)READ_ONCE(sqe->off))
		return -EINVAL;
	/* IORING_TIMEOUT_MULTISHOT has no effect, but was always accepted */
	ret = io_timer_prep(req, sqe);
	return ret ?: io_linked_timeout_attach(req);
}

/* Handle an expired timer: cancel the head, if there still is one. */
static void io_link_timeout_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			       unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw), *head;
	int ret = -ENOENT;

	io_timers_catch_up(ctx);
	io_wait_table_del(req);
	head = io_linked_timeout_expire(req);
	/* cancel the head even if its task is gone, as the head may still be waiting */
	if (head)
		ret = io_cancel_request(head);
	req->cqe.res = ret ?: -ETIME;
	io_complete(req);
}

static enum hrtimer_restart io_link_timeout_expired(struct hrtimer *hrtimer)
{
	/* run the task work at once: the head and its chain may end as well */
	io_req_push(io_hrtimer_to_req(hrtimer), io_link_timeout_tw, IO_PUSH_NOW);
	return HRTIMER_NORESTART;
}

/* Called by the issuer of the head, see io_linked_timeout_start(). */
static enum io_result io_link_timeout_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	io_wait_table_add_timer(req, IO_WAIT_LINK_TIMEOUT);
	io_req_move(req, IO_REQ_WAITING);
	io_timer_start(req, io_link_timeout_expired);
	return IO_PENDING;
}

/* A cancel does not end a LINK_TIMEOUT, which ends together with its head. */
static bool io_link_timeout_cancel(struct io_kiocb *req)
{
	return false;
}

static bool io_link_timeout_unlinked(struct io_kiocb *req)
{
	if (io_timer_stop(req) != 1)
		return false;
	io_wait_table_del(req);
	return true;
}

const struct io_op io_op_link_timeout = {
	.audit_skip	= 1,
	.no_creds	= 1,
	.limit		= 1,
	.waiting	= IO_WAIT_LINK_TIMEOUT,
	.prep		= io_link_timeout_prep,
	.issue		= io_link_timeout_issue,
	.cancel		= io_link_timeout_cancel,
	.unlinked	= io_link_timeout_unlinked,
	.expired	= io_link_timeout_expired,
};
