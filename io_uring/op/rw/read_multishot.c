// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_READ_MULTISHOT - read into provided buffers, one CQE for each */

/*
 * READ_MULTISHOT supports files that can be polled, such as pipes.  When the file has data, the
 * request reads it into the next buffer of a group and posts a CQE with IORING_CQE_F_MORE.  The
 * request ends at the end of the file, after an error or a cancel, and if the group is empty or the
 * CQ is full.  submit/multishot.c describes when the request is issued.
 */
#include <linux/fsnotify.h>
#include <linux/poll.h>

#include "async/poll.h"
#include "complete/complete.h"
#include "op/result.h"
#include "op/rw/rw.h"

static int io_read_multishot_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_rw *rw = io_rw(req);
	int ret;

	if (!(req->flags & REQ_F_BUFFER_SELECT))
		return -EINVAL;
	ret = io_rw_prep_sqe(req, sqe);
	if (ret)
		return ret;
	if (rw->addr || rw->len)
		return -EINVAL;
	req->picked.max = 0;
	req->flags |= REQ_F_MULTISHOT;
	return 0;
}

/* Prepare the first attempt.  Return: 0, or a negative errno with which the request ends. */
static noinline int io_read_multishot_start(struct io_kiocb *req)
{
	int ret = io_rw_start(req, READ);

	/* all attempts are synchronous: the file must not return -EIOCBQUEUED */
	io_rw(req)->kiocb.ki_complete = NULL;
	return ret;
}

/*
 * Prepare a later attempt.  The first attempt may be long ago, so check the permission and read
 * the current position again.  Return: as io_read_multishot_start().
 */
static int io_read_multishot_again(struct io_kiocb *req)
{
	struct io_rw *rw = io_rw(req);

	if (unlikely(req->flags & REQ_F_CUR_POS))
		rw->kiocb.ki_pos = READ_ONCE(req->file->f_pos);
	return rw_verify_area(READ, req->file, &rw->kiocb.ki_pos, rw->len);
}

/* Make one attempt.  Return: as ->read_iter(). */
static ssize_t io_read_multishot_try(struct io_kiocb *req, unsigned int issue_flags)
{
	struct kiocb *kiocb = &io_rw(req)->kiocb;

	if (likely(issue_flags & IO_URING_F_NONBLOCK)) {
		if (unlikely(!(req->file->f_mode & FMODE_NOWAIT)) &&
		    !io_rw_nonblocking(req->file, IO_READ_EVENTS))
			return -EAGAIN;
		kiocb->ki_flags |= IOCB_NOWAIT;
	} else if (!(req->flags & REQ_F_NOWAIT)) {
		kiocb->ki_flags &= ~IOCB_NOWAIT;
	}
	return io_rw_attempt(req, READ);
}

/*
 * Return: the return value of ->issue() after a posted CQE.  Before the poll is armed, check here
 * whether the file is ready, because an attempt without data would select a buffer, and fail if the
 * group is empty.  The program may still provide a buffer before there is data.
 */
static enum io_result io_read_multishot_more(const struct io_kiocb *req)
{
	if (likely(req->flags & (REQ_F_POLLED | REQ_F_NOWAIT)))
		return IO_MORE_IF_READY;
	return io_poll_is_ready(req) ? IO_MORE_IF_READY : IO_AGAIN;
}

/* Report the result @ret of an attempt.  Return: the return value of ->issue(). */
static enum io_result io_read_multishot_tell(struct io_kiocb *req, ssize_t ret,
					     unsigned int issue_flags)
{
	u32 cflags = io_buf_used(req, ret, issue_flags);

	if (unlikely(req->flags & REQ_F_CUR_POS) && ret > 0)
		WRITE_ONCE(req->file->f_pos, io_rw(req)->kiocb.ki_pos);
	if (likely(ret > 0)) {
		fsnotify_access(req->file);
		if (req->flags & REQ_F_MULTISHOT && io_post_more(req, ret, cflags))
			return io_read_multishot_more(req);
	}
	req->cqe.flags = cflags;
	return io_done(req, io_no_restart(ret));
}

static enum io_result io_read_multishot_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	ssize_t ret;

	if (unlikely(!file_can_poll(req->file)))
		return io_done(req, -EBADFD);
	if (likely(!(req->flags & REQ_F_PICKED))) {
		ret = io_rw_pick(req, issue_flags);
		if (unlikely(ret))
			return io_done(req, ret);
	}
	if (likely(io_rw_begun(req)))
		ret = io_read_multishot_again(req);
	else
		ret = io_read_multishot_start(req);
	/* here even -EAGAIN ends the request, as ->read_iter() has not returned it */
	if (unlikely(ret))
		return io_read_multishot_tell(req, ret, issue_flags);
	ret = io_read_multishot_try(req, issue_flags);
	if ((ret == -EAGAIN || ret == -EOPNOTSUPP) && issue_flags & IO_URING_F_NONBLOCK &&
	    !(req->flags & REQ_F_NOWAIT)) {
		io_buf_unused(req);
		return IO_AGAIN;
	}
	return io_read_multishot_tell(req, ret, issue_flags);
}

const struct io_op io_op_read_multishot = {
	.needs_file		= 1,
	.buffer_select		= 1,
	.audit_skip		= 1,
	.unbound_nonreg_file	= 1,
	.poll_in		= 1,
	.prep			= io_read_multishot_prep,
	.issue			= io_read_multishot_issue,
};
