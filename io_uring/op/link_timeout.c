// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_LINK_TIMEOUT - limits the time of the request before it in a chain */

/*
 * What the chain has to know of it is in req/linked_timeout.h; this is its timer.  Either
 * the head ends first: it lets go of the LINK_TIMEOUT, which ends with
 * -ECANCELED.  Or the timer has expired: then the LINK_TIMEOUT leaves the chain
 * and cancels the head, this very request, wherever it is.  If the head ends
 * while the task work of the expired timer is under way, it finds that there is
 * no head any more.
 *
 * Whether there is a CQE is decided by IOSQE_CQE_SKIP_SUCCESS alone, however it
 * ends: it counts as a success.
 */
#include "async/timer.h"
#include "complete/complete.h"
#include "op/list.h"
#include "req/linked_timeout.h"
#include "task/cancel.h"

static int io_link_timeout_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret;

	/* there is nothing to count; the upper half has never been looked at */
	if ((u32)READ_ONCE(sqe->off))
		return -EINVAL;
	/* there is nothing to repeat, but the flag has always been taken */
	ret = io_timer_prep(req, sqe);
	return ret ?: io_linked_timeout_attach(req);
}

/* The time is up. */
static void io_link_timeout_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			       unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw), *head;
	int ret = -ENOENT;

	io_timers_catch_up(ctx);
	io_wait_table_del(req);
	head = io_linked_timeout_expire(req);
	/* if its task is gone, too: a head that waited keeps waiting */
	if (head)
		ret = io_cancel_request(head);
	req->cqe.res = ret ?: -ETIME;
	io_complete(req);
}

static enum hrtimer_restart io_link_timeout_expired(struct hrtimer *hrtimer)
{
	/* what ends may be more than this */
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

/* It goes with its head. */
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
