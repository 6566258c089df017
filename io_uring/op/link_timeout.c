// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_LINK_TIMEOUT - limits the time of the request before it in a chain */

/*
 * What the chain has to know of it is in req/limit.h; this is its timer.  Either
 * the head ends first: it lets go of the LINK_TIMEOUT, which ends with
 * -ECANCELED.  Or the timer has expired: then the LINK_TIMEOUT leaves the chain
 * and cancels the head, this very request, wherever it is.  If the head ends
 * while the mail of the expired timer is under way, the mail finds that there is
 * no head any more.
 *
 * Whether there is a CQE is decided by IOSQE_CQE_SKIP_SUCCESS alone, however it
 * ends: it counts as a success.
 */
#include "async/timer.h"
#include "complete/complete.h"
#include "op/list.h"
#include "req/limit.h"
#include "task/cancel.h"

static int io_link_timeout_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret;

	/* there is nothing to count; the upper half has never been looked at */
	if ((u32)READ_ONCE(sqe->off))
		return -EINVAL;
	/* there is nothing to repeat, but the flag has always been taken */
	ret = io_timer_prep(req, sqe);
	return ret ?: io_limit_attach(req);
}

/* The time is up. */
static void io_link_timeout_mail(struct io_ring_ctx *ctx, struct io_mail *mail,
				 unsigned int issue_flags)
{
	struct io_kiocb *req = io_mail_to_req(mail), *head;
	int ret = -ENOENT;

	io_timers_catch_up(ctx);
	io_unpark(req);
	head = io_limit_expire(req);
	/* if its task is gone, too: a head that was parked waits on */
	if (head)
		ret = io_cancel_request(head);
	req->cqe.res = ret ?: -ETIME;
	io_complete(req);
}

static enum hrtimer_restart io_link_timeout_expired(struct hrtimer *hrtimer)
{
	/* what ends may be more than this */
	io_req_push(io_hrtimer_to_req(hrtimer), io_link_timeout_mail, IO_PUSH_NOW);
	return HRTIMER_NORESTART;
}

/* Whoever issues the head calls this, see io_limit_start(). */
static enum io_result io_link_timeout_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	io_park_timer(req, IO_PARKED_LINK_TIMEOUT);
	io_req_move(req, IO_REQ_PARKED);
	io_timer_start(req, io_link_timeout_expired);
	return IO_PARKED;
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
	io_unpark(req);
	return true;
}

const struct io_op io_op_link_timeout = {
	.audit_skip	= 1,
	.any_creds	= 1,
	.limit		= 1,
	.parked		= IO_PARKED_LINK_TIMEOUT,
	.prep		= io_link_timeout_prep,
	.issue		= io_link_timeout_issue,
	.cancel		= io_link_timeout_cancel,
	.unlinked	= io_link_timeout_unlinked,
};
