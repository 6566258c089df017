// SPDX-License-Identifier: GPL-2.0
/* io_uring: multishot requests, issued once per event */

/*
 * A multishot request (REQ_F_MULTISHOT) posts a CQE with IORING_CQE_F_MORE for each of
 * its transfers or events.  A CQE without that flag ends the request.  This file has the
 * part that all such requests have in common.  The result of ->issue selects the next step:
 *
 *	IO_MORE		the op has posted, and there is more: issue the request again
 *	IO_MORE_IF_READY	the op has posted or moved a part, and there may be more: issue
 *			the request again if the file is ready, or without this check while
 *			the poll is not armed
 *	IO_MORE_LATER	the CQ is full: issue the request again as task work, so that the program
 *			can reap CQEs before, or at the first attempt, arm the poll
 *	IO_AGAIN	there is nothing more: wait for the next event
 *	IO_DONE		the last CQE is in req->cqe
 *
 * The first attempt is like that of any other request.  While the op posts,
 * io_multishot_go_on() issues the request again.  After IO_AGAIN io_poll_hold() arms the poll and
 * polls the file once more, so that no event in between is lost.  After that the poll stays on
 * the file's wait queue until the end.  An event claims the poll, and queues io_multishot_tw().
 * Only the owner of the claim issues the request.  A wake-up during the claim sets IO_POLL_AGAIN,
 * which the owner finds before it drops the claim.  So no event between two attempts is lost, and
 * the file need not be polled after an attempt that would have blocked.
 *
 * An op posts by io_post_more().  If that fails for lack of room, the op returns IO_DONE
 * with the same result.  So consumed data is reported by the last CQE, which may go to the
 * overflow list.  A cancel claims the poll, or sets IO_POLL_CANCEL for the owner of the
 * claim.  In both cases the request ends with -ECANCELED.
 *
 * A file that is always ready must not keep other requests from running.  After its budget of
 * attempts the request goes to the end of the mailbox.  Its poll stays armed and claimed.
 *
 * While the request is issued with its poll armed, its result overlays req->poll.
 * Other readers of req->poll need the ring lock, and wakers do not read req->poll.
 */
#include "async/poll.h"
#include "complete/complete.h"
#include "submit/issue.h"

/**
 * io_multishot_go_on - issue a request again, within its budget, before its poll is armed
 * @req: the request; ring lock held, task context of the submitter
 * @result: IO_MORE or IO_MORE_IF_READY, from the first attempt
 *
 * Return: the result of the last attempt
 */
enum io_result io_multishot_go_on(struct io_kiocb *req, enum io_result result)
{
	unsigned int left = IO_MULTISHOT_SHARE, issue_flags = io_inline_flags(req->ctx);
	const struct io_op *op = io_ops[req->opcode];

	do {
		/* the last CQE must not inherit flags of an earlier CQE */
		req->cqe.flags = 0;
		io_req_move(req, IO_REQ_ISSUING);
		result = io_issue_as_submitter(req, op, issue_flags);
	} while (io_result_is_more(result) && --left);
	return result;
}

/* End the wait of a request. */
static void io_multishot_disarm(struct io_kiocb *req)
{
	/* without REQ_F_POLLED this is a POLL_ADD, whose poll is part of the request */
	if (req->flags & REQ_F_POLLED)
		io_poll_disarm_retry(req);
	else
		io_poll_end(req);
}

/* Issue a request with its poll armed, and complete it on IO_DONE. */
static enum io_result io_multishot_issue(struct io_kiocb *req)
{
	struct io_poll *poll = req->poll;
	enum io_result result;
	struct io_cqe_val val;

	req->cqe.flags = 0;
	io_req_move(req, IO_REQ_ISSUING);
	result = io_issue_as_submitter(req, io_ops[req->opcode],
				       io_inline_flags(req->ctx) | IO_URING_F_MULTISHOT);
	WARN_ON_ONCE(result == IO_PENDING);
	val = req->cqe;
	req->poll = poll;
	/* with IO_MORE and IO_MORE_LATER the known events are still valid */
	if (result != IO_MORE && result != IO_MORE_LATER)
		io_poll_forget_events(poll);
	if (result == IO_DONE) {
		io_multishot_disarm(req);
		req->cqe = val;
		io_complete(req);
	}
	return result;
}

/* End the pause of a request, see io_poll_pause(): push the request again. */
static void io_multishot_resume_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
				   unsigned int issue_flags)
{
	io_poll_resume(io_tw_to_req(tw), io_multishot_tw);
}

/**
 * io_multishot_tw - handle an event, or a cancel, for a request whose poll is armed
 * @ctx: the ring, its lock held
 * @tw: task work of the request, whose poll the caller has claimed
 * @issue_flags: with IO_URING_F_TASK_DEAD the task is gone, so cancel the request
 *
 * On an event, issue the request with IO_URING_F_MULTISHOT.  io_poll_woken_by() has the events.
 * This also handles a single-shot POLL_ADD, which ends with its first event.
 */
void io_multishot_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);
	unsigned int left, vain = 0;

	/* data that is consumed for a closed ring is lost, see io_issue_loses() */
	if (unlikely(!io_issue_allowed(req, issue_flags) || READ_ONCE(ctx->dying)))
		issue_flags |= IO_URING_F_TASK_DEAD;
	for (left = IO_MULTISHOT_SHARE; left; left--) {
		enum io_poll_verdict verdict = IO_POLL_READY;
		enum io_result result = IO_AGAIN;

		/* a single event that the waker has reported needs no check */
		if (unlikely(issue_flags & IO_URING_F_TASK_DEAD || !io_poll_check_fast(req->poll)))
			verdict = io_poll_check(req, issue_flags);
		switch (verdict) {
		case IO_POLL_CANCELLED:
			io_multishot_disarm(req);
			io_req_fail(req, -ECANCELED);
			return;
		case IO_POLL_READY:
			result = io_multishot_issue(req);
			vain = 0;
			break;
		case IO_POLL_NOTHING:
			vain++;
			break;
		}
		if (result == IO_DONE)
			return;
		if (result == IO_AGAIN && io_poll_try_unclaim(req))
			return;
		if (unlikely(result == IO_MORE_LATER))
			break;
		if (unlikely(vain == IO_POLL_VAIN)) {
			io_poll_pause(req, io_multishot_resume_tw);
			return;
		}
	}
	/* let other requests run; wake the owner now, as this request may post several CQEs */
	io_req_move(req, IO_REQ_WAITING);
	io_req_push(req, io_multishot_tw, IO_PUSH_NOW);
}
