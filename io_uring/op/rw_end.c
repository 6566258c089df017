// SPDX-License-Identifier: GPL-2.0
/* io_uring: reads and writes: the end */

/*
 * A read or write ends in one of three places:
 *
 *	in the attempt itself		io_rw_end(), the issuer completes it
 *	in ->ki_complete, any context	the result is noted and the request pushed
 *					to where it may be completed
 *	in ->ki_complete, polled	the result is noted for the task that reaps
 *
 * ->ki_complete may run before ->read_iter() has returned -EIOCBQUEUED.  fsnotify needs
 * task context and is done when the pushed request arrives.  Protection against a
 * freezing filesystem is given up as soon as the device is through with the data:
 * a task that freezes it must not have to wait for the program to fetch the result.
 */
#include <linux/fsnotify.h>

#include "complete/fast.h"
#include "op/result.h"
#include "op/rw.h"
#include "submit/submit.h"

/*
 * The last attempt has ended with @ret: make the result of all attempts from
 * it.  What was moved counts, an error after that does not.
 */
static void io_rw_set_result(struct io_kiocb *req, ssize_t ret)
{
	struct io_rw *rw = io_rw(req);

	if (ret >= 0)
		ret += rw->done;
	else if (rw->done)
		ret = rw->done;
	else
		ret = io_no_restart(ret);
	/* less than wanted is a failure for those linked behind */
	if (ret != rw->len)
		req->flags |= REQ_F_FAIL;
	req->cqe.res = ret;
}

/* What follows a transfer; task context. */
static void io_rw_tell(struct io_kiocb *req)
{
	struct kiocb *kiocb = &io_rw(req)->kiocb;

	if (unlikely(req->cqe.res < 0))
		return;
	if (unlikely(req->flags & REQ_F_CUR_POS))
		WRITE_ONCE(req->file->f_pos, kiocb->ki_pos);
	if (kiocb->ki_flags & IOCB_WRITE)
		fsnotify_modify(req->file);
	else
		fsnotify_access(req->file);
}

/**
 * io_rw_end - end a read or write in its attempt
 * @req: the request, its issuer's
 * @ret: what the last attempt returned
 *
 * Task context.
 *
 * Return: IO_DONE
 */
enum io_result io_rw_end(struct io_kiocb *req, ssize_t ret)
{
	if (likely(ret == io_rw(req)->len))
		req->cqe.res = ret;
	else
		io_rw_set_result(req, ret);
	io_rw_tell(req);
	return IO_DONE;
}

/**
 * io_rw_fail - fail a read or write that is not attempted again
 * @req: the request
 *
 * The result is the number of bytes that earlier attempts have moved, if any.
 */
void io_rw_fail(struct io_kiocb *req)
{
	struct io_rw *rw = io_rw(req);

	if (!io_rw_begun(req) || !rw->done)
		return;
	req->cqe.res = rw->done;
	if (req->flags & REQ_F_CUR_POS)
		WRITE_ONCE(req->file->f_pos, rw->kiocb.ki_pos);
}

/**
 * io_rw_in_turn - check whether a request uses and moves its file's position
 * @req: a read or write that has not begun, but has its file
 *
 * Two workers would read the same position before one of them moves it.  A stream has none.
 *
 * Return: true if it does
 */
bool io_rw_in_turn(struct io_kiocb *req)
{
	return io_rw(req)->kiocb.ki_pos == -1 && !(req->file->f_mode & FMODE_STREAM);
}

/* Attempt again, by a worker, what must not block here. */
static void io_rw_again_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			   unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);

	req->flags &= ~REQ_F_REISSUE;
	req->flags |= REQ_F_FORCE_ASYNC;
	io_issue_tw(ctx, tw, issue_flags);
}

static void io_rw_end_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);

	if (likely(!(req->flags & (REQ_F_CUR_POS | REQ_F_FAIL)) &&
		   !(io_rw(req)->kiocb.ki_flags & IOCB_WRITE)))
		fsnotify_access(req->file);
	else
		io_rw_tell(req);
	/* it may have taken more of a provided buffer than it has filled */
	if (unlikely(req->flags & REQ_F_FAIL) && req->flags & REQ_F_PICKED)
		req->cqe.flags = io_buf_used(req, req->cqe.res, 0);
	io_complete_collected(ctx, req);
}

/*
 * A transfer ended with something else than all that was wanted.  Return: it
 * was refused only because it would have blocked, and may block elsewhere.
 */
static noinline bool io_rw_odd(struct io_kiocb *req, long res)
{
	if ((res == -EAGAIN || res == -EOPNOTSUPP) && !(req->flags & REQ_F_NOWAIT) &&
	    io_rw(req)->kiocb.ki_flags & IOCB_NOWAIT) {
		/* it is refused in the call that hands it over; later they cannot be known */
		if (in_task() && current->io_uring == req->tctx)
			io_req_keep_creds(req);
		req->flags |= REQ_F_REISSUE;
		return true;
	}
	io_rw_set_result(req, res);
	return false;
}

/* What is linked behind a request waits for it, whatever the ring's owner waits for. */
static unsigned int io_rw_urgency(const struct io_kiocb *req)
{
	return unlikely(req->flags & REQ_F_HAS_LINK) ? IO_PUSH_NOW : 0;
}

/* Hand a request to where it may be completed, or attempted again. */
static void io_rw_push(struct io_kiocb *req, long res)
{
	if (likely(res == io_rw(req)->len)) {
		req->cqe.res = res;
	} else if (io_rw_odd(req, res)) {
		io_req_push(req, io_rw_again_tw, IO_PUSH_NOW);
		return;
	}
	io_req_push(req, io_rw_end_tw, io_rw_urgency(req));
}

/**
 * io_read_complete - ->ki_complete of reads
 * @kiocb: of the request
 * @res: bytes or negative errno
 *
 * Any context.
 */
void io_read_complete(struct kiocb *kiocb, long res)
{
	io_rw_push(io_kiocb_to_req(kiocb), res);
}

/**
 * io_write_complete - ->ki_complete of writes
 * @kiocb: of the request
 * @res: bytes or negative errno
 *
 * Any context.
 */
void io_write_complete(struct kiocb *kiocb, long res)
{
	struct io_kiocb *req = io_kiocb_to_req(kiocb);

	io_write_end(kiocb);
	io_rw_push(req, res);
}

/**
 * io_rw_complete_polled - ->ki_complete on polled rings
 * @kiocb: of the request
 * @res: bytes or negative errno
 *
 * Any context.
 */
void io_rw_complete_polled(struct kiocb *kiocb, long res)
{
	struct io_kiocb *req = io_kiocb_to_req(kiocb);

	if (kiocb->ki_flags & IOCB_WRITE)
		io_write_end(kiocb);
	if (likely(res == io_rw(req)->len))
		req->cqe.res = res;
	else if (io_rw_odd(req, res))
		req->tw.run = io_rw_again_tw;
	if (unlikely(req->flags & REQ_F_CUR_POS) && !(req->flags & REQ_F_REISSUE) &&
	    req->cqe.res >= 0)
		WRITE_ONCE(req->file->f_pos, kiocb->ki_pos);
	io_iopoll_done(req);
}
