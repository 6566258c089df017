// SPDX-License-Identifier: GPL-2.0
/* io_uring: completion of reads and writes */

/*
 * The last attempt sets the result when it ends, in one of three places:
 *
 *	in the attempt			io_rw_end(); the issuer completes the request
 *	in ->ki_complete()		in any context; pushes the request to the context that may
 *					complete it
 *	in ->ki_complete(), polled	marks the request as done for the task that polls
 *
 * io_rw_fail() sets the result of a request that fails outside ->issue().
 *
 * ->ki_complete() may run before ->read_iter() has returned:
 *
 *	submitter, holds the ring lock		interrupt
 *	->read_iter()
 *	  submit_bio()
 *						->ki_complete()
 *						  req->cqe.res = res
 *						  io_req_push(req, io_rw_end_tw)
 *	  return -EIOCBQUEUED
 *	io_ring_unlock()
 *						io_rw_end_tw(), under the ring lock
 *						  complete and free the request
 *
 * So the submitter may access the request until it releases the ring lock.
 *
 * io_rw_end_tw() also calls fsnotify, which needs task context.  ->ki_complete() itself releases
 * the write access to the filesystem.  Otherwise a task that freezes the filesystem would wait
 * until the submitter runs its task work.
 */
#include <linux/fsnotify.h>

#include "complete/fast.h"
#include "op/result.h"
#include "op/rw/rw.h"
#include "submit/submit.h"

/*
 * Set the total result of all attempts; @ret is the result of the last attempt.  Report an error
 * only if no attempt has moved data.
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
	/* a short or failed transfer breaks the chain */
	if (ret != rw->len)
		req->flags |= REQ_F_FAIL;
	req->cqe.res = ret;
}

/* Update the file's position and call fsnotify after a transfer.  Called in task context. */
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
 * io_rw_end - set the result of a read or write that ends during its last attempt
 * @req: the request
 * @ret: return value of the last attempt
 *
 * Context: Task context.
 *
 * Return: IO_DONE.
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
 * io_rw_fail - correct the result of a read or write that fails outside ->issue()
 * @req: the request
 *
 * If earlier attempts have moved data, the result is the number of moved bytes, not the error.
 */
void io_rw_fail(struct io_kiocb *req)
{
	struct io_rw *rw = io_rw(req);

	if (!io_rw_begun(req) || !rw->done)
		return;
	req->cqe.res = rw->done;
	io_rw_tell(req);
}

/**
 * io_rw_in_turn - check whether a request uses and moves its file's position
 * @req: a read or write that has its file; not started yet
 *
 * Workers serialise such requests.  Otherwise two requests would read the same position before
 * either of them moves it.  A stream has no position.
 *
 * Return: true if the request uses the position.
 */
bool io_rw_in_turn(struct io_kiocb *req)
{
	return io_rw(req)->kiocb.ki_pos == -1 && !(req->file->f_mode & FMODE_STREAM);
}

/* Let a worker repeat an attempt that would have blocked. */
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
	/* return the part of an incremental buffer that the request has consumed, but not filled */
	if (unlikely(req->flags & REQ_F_FAIL) && req->flags & REQ_F_PICKED)
		req->cqe.flags = io_buf_used(req, req->cqe.res, 0);
	io_complete_collected(ctx, req);
}

/*
 * A transfer ended with something else than all that was wanted.  Return: true if it
 * was refused only to avoid blocking, so that a worker has to repeat it.
 */
static noinline bool io_rw_odd(struct io_kiocb *req, long res)
{
	if ((res == -EAGAIN || res == -EOPNOTSUPP) && !(req->flags & REQ_F_NOWAIT) &&
	    io_rw(req)->kiocb.ki_flags & IOCB_NOWAIT) {
		/* current is the submitter: keep its credentials for the worker */
		if (in_task() && current->io_uring == req->tctx)
			io_req_keep_creds(req);
		req->flags |= REQ_F_REISSUE;
		return true;
	}
	io_rw_set_result(req, res);
	return false;
}

/* Return: IO_PUSH_NOW if a linked request has to start without a wait for more CQEs; else 0. */
static unsigned int io_rw_urgency(const struct io_kiocb *req)
{
	return unlikely(req->flags & REQ_F_HAS_LINK) ? IO_PUSH_NOW : 0;
}

/* Push a request to the context that may complete or repeat it. */
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
 * io_read_complete - push a read, to be completed or repeated (->ki_complete())
 * @kiocb: the kiocb of the request
 * @res: number of bytes or a negative errno
 *
 * Context: Any context.
 */
void io_read_complete(struct kiocb *kiocb, long res)
{
	io_rw_push(io_kiocb_to_req(kiocb), res);
}

/**
 * io_write_complete - push a write, to be completed or repeated (->ki_complete())
 * @kiocb: the kiocb of the request
 * @res: number of bytes or a negative errno
 *
 * Context: Any context.
 */
void io_write_complete(struct kiocb *kiocb, long res)
{
	struct io_kiocb *req = io_kiocb_to_req(kiocb);

	io_write_end(kiocb);
	io_rw_push(req, res);
}

/**
 * io_rw_complete_polled - set the result of a polled request, mark it as done (->ki_complete())
 * @kiocb: the kiocb of the request
 * @res: number of bytes or a negative errno
 *
 * Context: Any context.
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
