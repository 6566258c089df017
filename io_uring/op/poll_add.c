// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_POLL_ADD, IORING_OP_POLL_REMOVE - wait for events of files */

/*
 * POLL_ADD waits for one event.  With IORING_POLL_ADD_MULTI it posts a CQE for each event, until
 * the CQ is full or the poll is removed.  async/poll.c and submit/multishot.c describe how it waits
 * and which context handles an event.
 *
 * POLL_REMOVE finds a POLL_ADD by its user_data, and ends the poll or changes its events or
 * user_data.  It fails with -EALREADY if task work is about to report an event of the poll.  A
 * changed poll leaves the wait queue and is armed again: ->poll() may depend on the events.
 */
#include <linux/poll.h>
#include <linux/swab.h>

#include "async/poll.h"
#include "complete/fast.h"
#include "op/list.h"
#include "req/wait_table.h"
#include "submit/submit.h"

/* flags that a program may set in the upper half of the events */
#define IO_POLL_MODES	(EPOLLEXCLUSIVE | EPOLLONESHOT | EPOLLET)

IO_OP_DATA(io_poll);

/* Convert the events in an SQE.  Older programs set only the lower half of the events. */
static __poll_t io_poll_sqe_events(u32 events)
{
#ifdef __BIG_ENDIAN
	/* the lower half is at the lower address, where older programs store sqe->poll_events */
	events = swahw32(events);
#endif
	return demangle_poll(events) | ((__force __poll_t)events & IO_POLL_MODES);
}

static int io_poll_add_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	u32 flags = READ_ONCE(sqe->len);
	__poll_t events;

	if (sqe->buf_index || sqe->off || sqe->addr)
		return -EINVAL;
	if (flags & ~IORING_POLL_ADD_MULTI)
		return -EINVAL;
	events = io_poll_sqe_events(READ_ONCE(sqe->poll32_events)) | IO_POLL_UNASKED;
	if (flags & IORING_POLL_ADD_MULTI) {
		if (req->flags & REQ_F_CQE_SKIP)
			return -EINVAL;
	} else {
		events |= EPOLLONESHOT;
	}
	/* EPOLLONESHOT overrides IORING_POLL_ADD_MULTI */
	if (!(events & EPOLLONESHOT)) {
		req->flags |= REQ_F_MULTISHOT;
		/* without EPOLLET, a write to a pipe that is not empty may not wake the poll */
		events |= EPOLLET;
	}
	io_poll_set_events(io_poll(req), events);
	if (events & EPOLLEXCLUSIVE)
		req->flags |= REQ_F_NEED_CLEANUP;
	return 0;
}

/*
 * Wake another exclusive waiter, if this poll was woken for an event that it has not reported, or
 * has reported to a closed ring.  A poll that was woken by the cleanup of another poll always calls
 * io_poll_pass_on(), since further waiters may be missing the event.
 */
static void io_poll_add_cleanup(struct io_kiocb *req)
{
	if (req->flags & REQ_F_POLL_PASSED ||
	    (req->flags & REQ_F_POLL_CHOSEN &&
	     (req->cqe.res < 0 || READ_ONCE(req->ctx->dying))))
		io_poll_pass_on(req->file, io_poll_events(io_poll(req)));
}

/* End a waiting poll.  noinline, so that a caller that only reports an event saves no registers. */
static noinline void io_poll_add_end(struct io_kiocb *req, s32 res)
{
	io_poll_end(req);
	io_done(req, res);
	io_complete(req);
}

/* Report the events of an armed poll.  Return: the return value of ->issue(). */
static enum io_result io_poll_add_tell(struct io_kiocb *req)
{
	struct io_poll *poll = io_poll(req);
	__poll_t events = io_poll_events(poll);
	s32 res = mangle_poll(io_poll_woken_by(poll) & events);

	if (events & EPOLLONESHOT || !io_post_more(req, res, 0))
		return io_done(req, res);
	return IO_AGAIN;
}

/* Report events, directly if the CQ has room, otherwise through io_multishot_tw(). */
static void io_poll_add_post(struct io_kiocb *req, __poll_t mask, unsigned int issue_flags)
{
	struct io_poll *poll = io_poll(req);

	if (io_poll_events(poll) & EPOLLONESHOT) {
		io_poll_add_end(req, mangle_poll(mask));
	} else if (likely(io_post_more_fast(req, mangle_poll(mask), 0))) {
		io_req_move(req, IO_REQ_WAITING);
		io_poll_unclaim(req->ctx, poll);
	} else {
		io_multishot_tw(req->ctx, &req->tw, issue_flags);
	}
}

/* Handle several events, an event that the waker has not reported, or a cancel. */
static noinline void io_poll_add_look(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_poll *poll = io_poll(req);

	switch (io_poll_check(req, issue_flags)) {
	case IO_POLL_READY:
		io_poll_add_post(req, io_poll_woken_by(poll) & io_poll_events(poll), issue_flags);
		return;
	case IO_POLL_NOTHING:
		if (io_poll_try_unclaim(req))
			return;
		break;
	case IO_POLL_CANCELLED:
		break;
	}
	io_multishot_tw(req->ctx, &req->tw, issue_flags);
}

/*
 * The tw.run of a waiting poll.  Its only calls are tail calls, so that it saves no registers for
 * an event that the waker has reported.
 */
static void io_poll_add_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			   unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);
	__poll_t mask = io_poll_check_fast(io_poll(req));

	if (unlikely(!mask || issue_flags & IO_URING_F_TASK_DEAD))
		io_poll_add_look(req, issue_flags);
	else
		io_poll_add_post(req, mask, issue_flags);
}

static enum io_result io_poll_add_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	__poll_t ready;
	int ret;

	if (issue_flags & IO_URING_F_MULTISHOT)
		return io_poll_add_tell(req);
	ret = io_poll_arm(req, io_poll(req), io_poll_add_tw, issue_flags, &ready);
	if (!ret)
		return IO_PENDING;
	return io_done(req, ret < 0 ? ret : mangle_poll(ready));
}

/**
 * struct io_poll_remove - arguments of POLL_REMOVE
 * @user_data: user_data of the poll
 * @new_user_data: new user_data of the poll
 * @events: new events of the poll; only the lower half is used
 * @flags: IORING_POLL_UPDATE_*, 0 to end the poll
 */
struct io_poll_remove {
	u64		user_data;
	u64		new_user_data;
	__poll_t	events;
	u32		flags;
};

IO_OP_DATA(io_poll_remove);

#define IO_POLL_UPDATES	(IORING_POLL_UPDATE_EVENTS | IORING_POLL_UPDATE_USER_DATA)

static int io_poll_remove_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_poll_remove *rm = io_poll_remove(req);
	u32 events = READ_ONCE(sqe->poll32_events);
	u32 flags = READ_ONCE(sqe->len);

	if (sqe->buf_index || sqe->splice_fd_in)
		return -EINVAL;
	if (flags & ~(IO_POLL_UPDATES | IORING_POLL_ADD_MULTI) || flags == IORING_POLL_ADD_MULTI)
		return -EINVAL;
	rm->flags = flags & IO_POLL_UPDATES;
	rm->user_data = READ_ONCE(sqe->addr);
	rm->new_user_data = READ_ONCE(sqe->off);
	if (!(flags & IORING_POLL_UPDATE_USER_DATA) && rm->new_user_data)
		return -EINVAL;
	rm->events = io_poll_sqe_events(events);
	if (!(flags & IORING_POLL_UPDATE_EVENTS) && events)
		return -EINVAL;
	return 0;
}

/* Return: true for a POLL_ADD; false for another request that waits for its file. */
static bool io_poll_is_poll(struct io_kiocb *req, void *data)
{
	return req->opcode == IORING_OP_POLL_ADD;
}

/* Change a poll that was taken off its wait queue, and arm it again. */
static void io_poll_change(struct io_kiocb *target, const struct io_poll_remove *rm)
{
	struct io_poll *poll = io_poll(target);
	__poll_t ready;
	int ret;

	io_req_move(target, IO_REQ_ISSUING);
	if (rm->flags & IORING_POLL_UPDATE_EVENTS) {
		__poll_t half = (__force __poll_t)0xffff, was = io_poll_events(poll);

		io_poll_set_events(poll, (was & ~half) | (rm->events & half) | IO_POLL_UNASKED);
		/* wake another waiter for an event that the poll does not wait for any more */
		if (target->flags & (REQ_F_POLL_CHOSEN | REQ_F_POLL_PASSED) &&
		    was & half & ~io_poll_events(poll))
			io_poll_pass_on(target->file, was);
	}
	if (rm->flags & IORING_POLL_UPDATE_USER_DATA)
		target->cqe.user_data = rm->new_user_data;
	ret = io_poll_arm(target, poll, io_poll_add_tw, 0, &ready);
	if (ret) {
		io_done(target, ret < 0 ? ret : mangle_poll(ready));
		io_complete_later(target);
	}
}

/* Find a poll, and change or end it, under the ring lock.  Return: result of the POLL_REMOVE. */
static int io_poll_remove_find(struct io_ring_ctx *ctx, const struct io_poll_remove *rm)
{
	struct io_kiocb *target;

	/* if several polls have this user_data, find the youngest */
	target = io_wait_table_find(ctx, IO_WAIT_POLL, rm->user_data, io_poll_is_poll, NULL);
	if (IS_ERR_OR_NULL(target))
		return target ? PTR_ERR(target) : -ENOENT;
	if (!io_poll_own(target))
		return -EALREADY;
	io_poll_end(target);
	if (rm->flags) {
		io_poll_change(target, rm);
	} else {
		io_done(target, -ECANCELED);
		io_complete_later(target);
	}
	return 0;
}

static enum io_result io_poll_remove_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	return io_done(req, io_poll_remove_find(req->ctx, io_poll_remove(req)));
}

const struct io_op io_op_poll_add = {
	.needs_file		= 1,
	.audit_skip		= 1,
	.no_creds		= 1,
	.unbound_nonreg_file	= 1,
	.prep			= io_poll_add_prep,
	.issue			= io_poll_add_issue,
	.cleanup		= io_poll_add_cleanup,
	.cancel			= io_poll_cancel,
};

const struct io_op io_op_poll_remove = {
	.audit_skip		= 1,
	.ring_lock		= 1,
	.no_creds		= 1,
	.prep			= io_poll_remove_prep,
	.issue			= io_poll_remove_issue,
};
