// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_TIMEOUT, TIMEOUT_REMOVE - post a CQE after a time or a number of CQEs */

/*
 * A TIMEOUT ends when its timer expires, when a number of CQEs has been posted, or when it is
 * removed or cancelled.  Only one context may set the result.  So every context except the timer
 * first calls io_timer_stop(), which fails if the timer has expired or was stopped:
 *
 *	removal, holds the ring lock		timer interrupt
 *						io_timeout_expired()
 *	io_timer_stop() returns -1
 *						  req->cqe.res = -ETIME
 *						  io_req_push(req, io_timeout_tw)
 *	return -EALREADY
 *	io_ring_unlock()
 *						io_timeout_tw(), under the ring lock
 *						  complete the request
 *
 * The request stays in the wait table until io_timeout_tw() runs.  For a repeating timeout,
 * io_timeout_tw() posts a CQE and starts the timer again.  Between the expiry and io_timeout_tw(),
 * an update changes the next interval, and a removal ends the request with -ECANCELED.
 */
#include "async/timer.h"
#include "complete/complete.h"
#include "op/list.h"
#include "ring/cq.h"

/**
 * struct io_timeout_more - further data of a TIMEOUT that counts CQEs or repeats
 * @target: number of CQEs that end the timeout
 * @interval: time between the CQEs of a repeating timeout
 * @repeats: number of CQEs that a repeating timeout has left, 0 for no limit
 * @stopped: (R) the repeating timeout was removed, even if its timer had already expired
 * @req: the request
 */
struct io_timeout_more {
	struct io_cq_target	target;
	ktime_t			interval;
	u32			repeats;
	bool			stopped;
	struct io_kiocb		*req;
};

/**
 * struct io_timeout_change - arguments of a TIMEOUT_REMOVE
 * @user_data: user_data of the TIMEOUT or LINK_TIMEOUT
 * @time: new time of the timeout
 * @flags: IORING_TIMEOUT_*
 */
struct io_timeout_change {
	u64		user_data;
	ktime_t		time;
	unsigned int	flags;
};

IO_OP_DATA(io_timeout_change);

static struct io_timeout_more *io_timeout_more(const struct io_kiocb *req)
{
	return req->async_data;
}

static bool io_timeout_repeats(const struct io_kiocb *req)
{
	return req->flags & REQ_F_MULTISHOT;
}

/* Return: true if the result breaks the chain.  -ECANCELED always does, -ETIME by default. */
static bool io_timeout_failed(const struct io_kiocb *req)
{
	if (req->cqe.res == -ETIME)
		return !(io_timer_flags(req) & IORING_TIMEOUT_ETIME_SUCCESS);
	return req->cqe.res < 0;
}

/* Stop counting CQEs for a timeout that the caller owns. */
static void io_timeout_unlist(struct io_kiocb *req)
{
	if (req->flags & REQ_F_ASYNC_DATA && !io_timeout_repeats(req))
		io_cq_target_remove(req->ctx, &io_timeout_more(req)->target);
}

static void io_timeout_end(struct io_kiocb *req)
{
	bool hidden;

	io_wait_table_del(req);
	io_timeout_unlist(req);
	if (io_timeout_failed(req))
		req->flags |= REQ_F_FAIL;
	hidden = (req->flags & (REQ_F_CQE_SKIP | REQ_F_FAIL)) == REQ_F_CQE_SKIP;
	io_cq_count_timeout(req->ctx, hidden);
	io_complete_uncounted(req);
}

static enum hrtimer_restart io_timeout_expired(struct hrtimer *hrtimer);

/*
 * Post a CQE and start the timer again.  Other tasks may use a multi-writer ring, so the exit of
 * the task that has set the timer does not stop the timer.  If this function restarts the timer
 * during an exec, the exec cancels the request once more.
 *
 * Return: false if the request has to end instead.
 */
static bool io_timeout_again(struct io_kiocb *req, unsigned int issue_flags)
{
	bool orphan = issue_flags & IO_URING_F_TASK_DEAD && req->ctx->cq.single_writer;
	struct io_timeout_more *more = io_timeout_more(req);

	if (unlikely(orphan) || more->stopped || READ_ONCE(req->ctx->dying)) {
		req->cqe.res = -ECANCELED;
		return false;
	}
	if (more->repeats == 1)
		return false;
	if (!io_post_more_uncounted(req, -ETIME))
		return false;
	io_cq_count_timeout(req->ctx, false);
	if (more->repeats)
		more->repeats--;
	io_req_move(req, IO_REQ_WAITING);
	io_timer_restart(req, more->interval, HRTIMER_MODE_REL, io_timeout_expired);
	return true;
}

/* Handle an expired or stopped timer: end the request, or start the timer again. */
static void io_timeout_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			  unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);

	io_timers_catch_up(ctx);
	if (io_timeout_repeats(req) && req->cqe.res == -ETIME) {
		/* leave it to the fallback worker: a short interval would delay the task's exit */
		if (unlikely(issue_flags & IO_URING_F_TASK_DEAD) &&
		    !(current->flags & PF_WQ_WORKER)) {
			io_fallback_push(ctx, tw);
			return;
		}
		if (io_timeout_again(req, issue_flags))
			return;
	}
	io_timeout_end(req);
}

/* Set the result and push the request.  The caller has stopped the timer, or is its callback. */
static void io_timeout_send(struct io_kiocb *req, s32 res)
{
	req->cqe.res = res;
	/* a TIMEOUT ends a wait in io_uring_enter(), even if the wait is for more CQEs */
	io_req_push(req, io_timeout_tw, IO_PUSH_NOW);
}

static enum hrtimer_restart io_timeout_expired(struct hrtimer *hrtimer)
{
	io_timeout_send(io_hrtimer_to_req(hrtimer), -ETIME);
	return HRTIMER_NORESTART;
}

/* io_cq_target->reached(); called under (C), see ctx.h, so io_cq_target_remove() waits for it. */
static void io_timeout_reached(struct io_cq_target *target)
{
	struct io_kiocb *req = container_of(target, struct io_timeout_more, target)->req;

	if (io_timer_stop(req) == 1)
		io_timeout_send(req, 0);
}

static int io_timeout_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_timeout_more *more;
	struct io_timer *timer = io_timer(req);
	int ret;

	ret = io_timer_prep(req, sqe);
	if (ret)
		return ret;
	/* a worker is not needed, as starting a timer does not block */
	req->flags &= ~REQ_F_FORCE_ASYNC;
	if (io_timer_flags(req) & IORING_TIMEOUT_MULTISHOT)
		req->flags |= REQ_F_MULTISHOT;
	else if (!timer->nr)
		return 0;
	more = io_req_alloc_async(req, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more, 0, sizeof(*more));
	more->interval = timer->time;
	more->repeats = timer->nr;
	more->req = req;
	return 0;
}

static enum io_result io_timeout_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	u32 nr = io_timer(req)->nr;

	if (!io_may_add_waiting(req))
		return io_done(req, -ECANCELED);
	io_wait_table_add_timer(req, IO_WAIT_TIMEOUT);
	io_req_move(req, IO_REQ_WAITING);
	/* start the timer first: adding a target that is already reached stops the timer */
	io_timer_start(req, io_timeout_expired);
	if (nr && !io_timeout_repeats(req)) {
		struct io_timeout_more *more = io_timeout_more(req);

		more->target.reached = io_timeout_reached;
		io_cq_target_add(req->ctx, &more->target, nr);
	}
	return IO_PENDING;
}

/*
 * Remove a timeout.  Return: 0 if the timeout ends with -ECANCELED; -EALREADY if the timer callback
 * is running; -ENOENT if the timer has expired or was stopped before.
 */
static int io_timeout_remove(struct io_kiocb *req)
{
	int ret = io_timer_stop(req);

	/* the request ends in any case, so later searches need not find it */
	io_wait_table_hide(req);
	if (io_timeout_repeats(req)) {
		if (io_timeout_more(req)->stopped)
			return -ENOENT;
		io_timeout_more(req)->stopped = true;
	} else if (ret != 1) {
		return ret ? -EALREADY : -ENOENT;
	}
	/* if ret is not 1, the timeout repeats and has expired: its task work checks ->stopped */
	if (ret == 1)
		io_timeout_send(req, -ECANCELED);
	return 0;
}

static bool io_timeout_cancel(struct io_kiocb *req)
{
	return !io_timeout_remove(req);
}

static enum hrtimer_mode io_change_mode(const struct io_timeout_change *change)
{
	return change->flags & IORING_TIMEOUT_ABS ? HRTIMER_MODE_ABS : HRTIMER_MODE_REL;
}

/* Set a new time for a timeout.  Return: 0 or a negative errno. */
static int io_timeout_update(struct io_kiocb *req, const struct io_timeout_change *change)
{
	int ret;

	/* the new time is also the interval, so it has to be relative */
	if (io_timeout_repeats(req) && change->flags & IORING_TIMEOUT_ABS)
		return -EINVAL;
	ret = io_timer_stop(req);
	if (io_timeout_repeats(req))
		io_timeout_more(req)->interval = change->time;
	else if (ret != 1)
		return ret ? -EALREADY : -ENOENT;
	io_wait_table_renew(req, IO_WAIT_TIMEOUT);
	if (ret == 1) {
		io_timeout_unlist(req);
		io_timer_restart(req, change->time, io_change_mode(change), io_timeout_expired);
	}
	return 0;
}

static int io_timeout_change_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_timeout_change *change = io_timeout_change(req);
	unsigned int flags = READ_ONCE(sqe->timeout_flags);

	if (req->flags & (REQ_F_FIXED_FILE | REQ_F_BUFFER_SELECT))
		return -EINVAL;
	if (req->buf_index || READ_ONCE(sqe->len) || READ_ONCE(sqe->splice_fd_in) ||
	    READ_ONCE(sqe->addr3) || READ_ONCE(sqe->__pad2[0]))
		return -EINVAL;
	change->user_data = READ_ONCE(sqe->addr);
	change->flags = flags;
	if (!(flags & IORING_TIMEOUT_UPDATE_MASK))
		return flags ? -EINVAL : 0;
	if (hweight32(flags & IORING_TIMEOUT_CLOCK_MASK) > 1)
		return -EINVAL;
	if (flags & ~(IORING_TIMEOUT_UPDATE_MASK | IORING_TIMEOUT_ABS |
		      IORING_TIMEOUT_IMMEDIATE_ARG))
		return -EINVAL;
	if (flags & IORING_TIMEOUT_IMMEDIATE_ARG)
		return io_timer_immediate(READ_ONCE(sqe->addr2), &change->time);
	return io_timer_read(u64_to_user_ptr(READ_ONCE(sqe->addr2)), &change->time);
}

/* Set a new time for a LINK_TIMEOUT whose timer runs.  Return: 0 or a negative errno. */
static int io_link_timeout_update(struct io_ring_ctx *ctx, const struct io_timeout_change *change)
{
	struct io_kiocb *req;
	int ret;

	req = io_timer_find(ctx, IO_WAIT_LINK_TIMEOUT, change->user_data);
	if (IS_ERR(req))
		return PTR_ERR(req);
	ret = io_timer_stop(req);
	if (ret != 1)
		return ret ? -EALREADY : -ENOENT;
	io_timer_restart(req, change->time, io_change_mode(change), io_ops[req->opcode]->expired);
	return 0;
}

static int io_timeout_change_do(struct io_ring_ctx *ctx, const struct io_timeout_change *change)
{
	bool update = change->flags & IORING_TIMEOUT_UPDATE;
	struct io_kiocb *req;

	/* IORING_LINK_TIMEOUT_UPDATE alone is ignored: the request is a removal */
	if (update && change->flags & IORING_LINK_TIMEOUT_UPDATE)
		return io_link_timeout_update(ctx, change);
	req = io_timer_find(ctx, IO_WAIT_TIMEOUT, change->user_data);
	if (IS_ERR(req))
		return PTR_ERR(req);
	return update ? io_timeout_update(req, change) : io_timeout_remove(req);
}

static enum io_result io_timeout_change_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	return io_done(req, io_timeout_change_do(req->ctx, io_timeout_change(req)));
}

const struct io_op io_op_timeout = {
	.audit_skip	= 1,
	.ring_lock	= 1,
	.no_creds	= 1,
	.waiting	= IO_WAIT_TIMEOUT,
	.prep		= io_timeout_prep,
	.issue		= io_timeout_issue,
	.cancel		= io_timeout_cancel,
};

const struct io_op io_op_timeout_remove = {
	.audit_skip	= 1,
	.ring_lock	= 1,
	.no_creds	= 1,
	.prep		= io_timeout_change_prep,
	.issue		= io_timeout_change_issue,
};
