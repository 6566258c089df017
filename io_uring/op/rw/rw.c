// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_READ, WRITE, READV, WRITEV, READ_FIXED, WRITE_FIXED - read and write files */

/*
 * A read or write consists of attempts, each on the rest of the data.  An inline attempt must not
 * block (IOCB_NOWAIT).  If the attempt would have blocked, or if a regular file or a block device
 * has moved only a part, the next attempt is made
 *
 *	for a buffered read of a file	by the submitter, when the missing folio has been read
 *	with FOP_BUFFER_RASYNC		(io_read_wait_folio())
 *	for any other transfer		by a worker, which may block
 *
 * But if the file can be polled, the request waits until the file is ready (async/poll.c).  If an
 * attempt on a file that can be polled, or a blocking attempt, moves only a part, that part is the
 * result.  Files of procfs and sysfs are exceptions, see io_rw_goes_on().
 *
 * Offset -1 means the current position of the file.  Until an attempt has moved data, each attempt
 * reads the position again, since other requests may have changed it.
 *
 * After -EIOCBQUEUED the device completes the request, see end_io.c.  An issuer without the ring
 * lock must not access the request after that, except to list it on a polled ring.
 */
#include <linux/fsnotify.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <trace/events/io_uring.h>

#include "op/result.h"
#include "op/rw/rw.h"
#include "ring/locks.h"
#include "submit/submit.h"
#include "task/sqpoll.h"

/**
 * io_rw_nonblocking - check whether a transfer would not block
 * @file: a file without FMODE_NOWAIT
 * @events: events, one of which has to be ready
 *
 * Return: true if the file is ready, or has O_NONBLOCK and is not a regular file or block device.
 */
noinline bool io_rw_nonblocking(struct file *file, __poll_t events)
{
	struct poll_table_struct pt = { ._key = events };
	umode_t mode = file_inode(file)->i_mode;

	if (file->f_flags & O_NONBLOCK && !S_ISREG(mode) && !S_ISBLK(mode))
		return true;
	return file_can_poll(file) && vfs_poll(file, &pt) & events;
}

/* Handle -EIOCBQUEUED on a polled ring.  Return: the return value of ->issue(). */
static enum io_result io_rw_queued(struct io_kiocb *req, unsigned int issue_flags)
{
	if (unlikely(io_iopoll_is_done(req))) {
		if (!(req->flags & REQ_F_REISSUE))
			return IO_DONE;
		req->flags &= ~REQ_F_REISSUE;
		return IO_AGAIN;
	}
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED))
		io_iopoll_add_unlocked(req);
	else
		io_iopoll_add(req);
	return IO_PENDING;
}

/*
 * Let the attempt of a worker block.  With RWF_NOWAIT, it may block only on a file without
 * ->poll(), for compatibility.  An attempt at the current position is also synchronous, except on
 * a polled ring, because the next request for the file starts at the end of this transfer.
 */
static void io_rw_let_block(struct io_kiocb *req)
{
	struct kiocb *kiocb = &io_rw(req)->kiocb;

	if (unlikely(req->flags & REQ_F_NOWAIT) && file_can_poll(req->file))
		return;
	kiocb->ki_flags &= ~IOCB_NOWAIT;
	if (req->flags & REQ_F_CUR_POS && !req->ctx->iopoll)
		kiocb->ki_complete = NULL;
}

/*
 * Return: true if another attempt has to follow a short transfer.  Only regular files and block
 * devices continue.  Without FMODE_NOWAIT, as in /proc and /sys, the request continues until the
 * end, but only while ->poll() reports data: trace_pipe and /proc/kmsg may have none.
 */
static bool io_rw_goes_on(const struct io_kiocb *req, bool write)
{
	umode_t mode = file_inode(req->file)->i_mode;

	if (!S_ISREG(mode) && !S_ISBLK(mode))
		return false;
	return req->file->f_mode & FMODE_NOWAIT ||
	       io_rw_nonblocking(req->file, write ? IO_WRITE_EVENTS : IO_READ_EVENTS);
}

/*
 * Handle an attempt that has failed or moved a part.  Return: IO_AGAIN if another attempt has to
 * follow, otherwise IO_DONE.
 */
static noinline enum io_result io_rw_incomplete(struct io_kiocb *req, ssize_t ret)
{
	struct io_rw *rw = io_rw(req);
	bool asked = rw->kiocb.ki_flags & IOCB_NOWAIT;

	/* some files return this because they do not support IOCB_NOWAIT */
	if (ret == -EOPNOTSUPP && asked)
		ret = -EAGAIN;
	if (ret == -EAGAIN && !(req->flags & REQ_F_NOWAIT) && (asked || req->ctx->iopoll))
		return IO_AGAIN;
	if (ret <= 0 || rw->done + ret == rw->len || !asked || req->flags & REQ_F_NOWAIT ||
	    !io_rw_goes_on(req, rw->kiocb.ki_flags & IOCB_WRITE))
		return io_rw_end(req, ret);
	if (rw->kiocb.ki_flags & IOCB_WRITE)
		trace_io_uring_short_write(req->ctx, rw->kiocb.ki_pos - ret, rw->len - rw->done,
					   ret);
	rw->done += ret;
	return IO_AGAIN;
}

/* Attempt again after a folio was read.  An exiting task waits for this up to IO_CANCEL_READS. */
static void io_read_go_on(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	atomic_dec(&io_tw_to_req(tw)->tctx->reading);
	io_issue_tw(ctx, tw, issue_flags);
}

/* Wait function of a buffered read, called in any context when a folio is unlocked. */
static int io_read_wake(struct wait_queue_entry *wait, unsigned int mode, int sync, void *arg)
{
	struct wait_page_queue *wpq = container_of(wait, struct wait_page_queue, wait);
	struct io_kiocb *req = wait->private;

	if (!wake_page_match(wpq, arg))
		return 0;
	list_del_init(&wait->entry);
	io_req_push(req, io_read_go_on, IO_PUSH_NOW);
	return 1;
}

static bool io_read_may_wait_folio(struct io_kiocb *req)
{
	const struct file_operations *f_op = req->file->f_op;

	return !(io_rw(req)->kiocb.ki_flags & (IOCB_DIRECT | IOCB_HIPRI)) &&
	       f_op->fop_flags & FOP_BUFFER_RASYNC && !f_op->poll;
}

/*
 * Repeat a buffered read that lacks an up-to-date folio.  With IOCB_WAITQ the attempt does not
 * block: the unlock of the folio calls io_read_wake().  Return: the return value of ->issue().
 */
static noinline enum io_result io_read_wait_folio(struct io_kiocb *req)
{
	struct io_rw_async *async = req->async_data;
	struct io_rw *rw = io_rw(req);
	struct kiocb *kiocb = &rw->kiocb;
	ssize_t ret;

	if (!(req->flags & REQ_F_ASYNC_DATA)) {
		async = io_rw_async_alloc(req, 0);
		if (!async)
			return IO_AGAIN;
	}
	io_req_keep_creds(req);
	atomic_inc(&req->tctx->reading);
	for (;;) {
		async->wpq.wait.func = io_read_wake;
		async->wpq.wait.private = req;
		async->wpq.wait.flags = 0;
		INIT_LIST_HEAD(&async->wpq.wait.entry);
		kiocb->ki_waitq = &async->wpq;
		kiocb->ki_flags = (kiocb->ki_flags & ~IOCB_NOWAIT) | IOCB_WAITQ;
		ret = io_rw_attempt(req, READ);
		if (ret == -EIOCBQUEUED)
			return IO_PENDING;
		kiocb->ki_flags &= ~IOCB_WAITQ;
		if (ret <= 0 || rw->done + ret == rw->len)
			break;
		rw->done += ret;
	}
	atomic_dec(&req->tctx->reading);
	return ret == -EAGAIN ? IO_AGAIN : io_rw_end(req, ret);
}

/* additional issue flag, private to this file: a provided buffer has been selected */
#define IO_READ_PLACED	BIT(16)

static enum io_result io_read_issue(struct io_kiocb *req, unsigned int issue_flags);

/* Issue a read into a provided buffer.  rsrc/groups.c describes when a buffer leaves its group. */
static noinline enum io_result io_read_select(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_rw *rw = io_rw(req);
	enum io_result result;
	bool lent;
	int ret;

	/* in later attempts rw->len is the length of the previous buffer */
	if (!io_rw_begun(req))
		req->picked.max = rw->len;
	if (!(req->flags & REQ_F_PICKED)) {
		ret = io_rw_pick(req, issue_flags);
		if (ret)
			return io_done(req, ret);
	}
	/* read this before the attempt, as another context may complete and free the request */
	lent = !req->picked.taken;
	result = io_read_issue(req, issue_flags | IO_READ_PLACED);
	if (result == IO_DONE)
		req->cqe.flags = io_buf_used(req, req->cqe.res, issue_flags);
	else if (result == IO_AGAIN && !(lent && rw->done))
		io_buf_unused(req);
	else if (lent)
		/* a device fills the buffer, or a part is filled: no other request may use it */
		io_buf_take(req);
	return result;
}

static enum io_result io_read_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_rw *rw = io_rw(req);
	struct kiocb *kiocb = &rw->kiocb;
	enum io_result result;
	ssize_t ret;

	if (unlikely(req->flags & REQ_F_BUFFER_SELECT && !(issue_flags & IO_READ_PLACED)))
		return io_read_select(req, issue_flags);
	ret = likely(!io_rw_begun(req)) ? io_rw_start(req, READ) : io_rw_start_again(req, READ);
	if (unlikely(ret))
		return io_done(req, io_no_restart(ret));
	if (likely(issue_flags & IO_URING_F_NONBLOCK)) {
		if (unlikely(!(req->file->f_mode & FMODE_NOWAIT)) &&
		    !io_rw_nonblocking(req->file, IO_READ_EVENTS))
			return IO_AGAIN;
		kiocb->ki_flags |= IOCB_NOWAIT;
	} else {
		io_rw_let_block(req);
	}
	ret = io_rw_attempt(req, READ);
	if (ret == -EIOCBQUEUED)
		return issue_flags & IO_URING_F_IOPOLL ? io_rw_queued(req, issue_flags) :
							 IO_PENDING;
	if (ret == rw->len)
		return io_rw_end(req, ret);
	result = io_rw_incomplete(req, ret);
	if (result == IO_AGAIN && issue_flags & IO_URING_F_NONBLOCK && io_read_may_wait_folio(req))
		return io_read_wait_folio(req);
	return result;
}

/* Return: true for a buffered write to a regular file that may block despite IOCB_NOWAIT. */
static bool io_write_blocks(const struct kiocb *kiocb)
{
	const struct file *file = kiocb->ki_filp;

	return !(kiocb->ki_flags & IOCB_DIRECT) && S_ISREG(file_inode(file)->i_mode) &&
	       !(file->f_op->fop_flags & FOP_BUFFER_WASYNC);
}

static enum io_result io_write_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_rw *rw = io_rw(req);
	struct kiocb *kiocb = &rw->kiocb;
	ssize_t ret;

	ret = likely(!io_rw_begun(req)) ? io_rw_start(req, WRITE) : io_rw_start_again(req, WRITE);
	if (unlikely(ret))
		return io_done(req, io_no_restart(ret));
	if (likely(issue_flags & IO_URING_F_NONBLOCK)) {
		if (unlikely(!(req->file->f_mode & FMODE_NOWAIT)) &&
		    !io_rw_nonblocking(req->file, IO_WRITE_EVENTS))
			return IO_AGAIN;
		if (io_write_blocks(kiocb))
			return req->flags & REQ_F_NOWAIT ? io_done(req, -EAGAIN) : IO_AGAIN;
		kiocb->ki_flags |= IOCB_NOWAIT;
	} else {
		io_rw_let_block(req);
		/* ext4 waits for some writes of parts of blocks, and does not poll the device */
		if (S_ISREG(file_inode(req->file)->i_mode))
			kiocb->ki_flags &= ~IOCB_HIPRI;
	}
	if (unlikely(!io_write_start(kiocb)))
		return io_rw_incomplete(req, -EAGAIN);
	ret = io_rw_attempt(req, WRITE);
	if (ret == -EIOCBQUEUED)
		return issue_flags & IO_URING_F_IOPOLL ? io_rw_queued(req, issue_flags) :
							 IO_PENDING;
	io_write_end(kiocb);
	if (ret == rw->len)
		return io_rw_end(req, ret);
	return io_rw_incomplete(req, ret);
}

/* Find the registered buffer that ->prep() has not found, see io_rw_fixed_prep(). */
static int io_rw_fixed_assign(struct io_kiocb *req)
{
	return io_rw_buf_assign(req, io_rw_fixed_ddir(req));
}

/* Issue a request without its registered buffer.  A worker gets none, see ->assign_buf(). */
static noinline enum io_result io_rw_fixed_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	int ret = io_ops[req->opcode]->assign_buf(req);

	if (ret)
		return io_done(req, ret);
	return io_rw_fixed_ddir(req) == ITER_DEST ? io_read_issue(req, issue_flags) :
						    io_write_issue(req, issue_flags);
}

static enum io_result io_read_fixed_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	if (likely(req->flags & REQ_F_BUF_NODE))
		return io_read_issue(req, issue_flags);
	return io_rw_fixed_issue(req, issue_flags);
}

static enum io_result io_write_fixed_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	if (likely(req->flags & REQ_F_BUF_NODE))
		return io_write_issue(req, issue_flags);
	return io_rw_fixed_issue(req, issue_flags);
}

/* fields with the same values in all struct io_op below */
#define IO_RW_RECORD			\
	.needs_file		= 1,	\
	.iopoll			= 1,	\
	.ioprio			= 1,	\
	.audit_skip		= 1,	\
	.unbound_nonreg_file	= 1,	\
	.heeds_nonblock		= 1,	\
	.plug			= 1,	\
	.fail			= io_rw_fail,	\
	.in_turn		= io_rw_in_turn

#define IO_READ_RECORD			\
	IO_RW_RECORD,			\
	.poll_in		= 1

#define IO_WRITE_RECORD			\
	IO_RW_RECORD,			\
	.serialize_writes	= 1,	\
	.poll_out		= 1

const struct io_op io_op_read = {
	IO_READ_RECORD,
	.buffer_select		= 1,
	.prep			= io_rw_buf_prep,
	.issue			= io_read_issue,
};

const struct io_op io_op_write = {
	IO_WRITE_RECORD,
	.prep			= io_rw_buf_prep,
	.issue			= io_write_issue,
};

const struct io_op io_op_readv = {
	IO_READ_RECORD,
	.buffer_select		= 1,
	.prep			= io_readv_prep,
	.issue			= io_read_issue,
};

const struct io_op io_op_writev = {
	IO_WRITE_RECORD,
	.prep			= io_writev_prep,
	.issue			= io_write_issue,
};

const struct io_op io_op_read_fixed = {
	IO_READ_RECORD,
	.prep			= io_read_fixed_prep,
	.issue			= io_read_fixed_issue,
	.assign_buf		= io_rw_fixed_assign,
};

const struct io_op io_op_write_fixed = {
	IO_WRITE_RECORD,
	.prep			= io_write_fixed_prep,
	.issue			= io_write_fixed_issue,
	.assign_buf		= io_rw_fixed_assign,
};

const struct io_op io_op_readv_fixed = {
	IO_READ_RECORD,
	.prep			= io_rw_vec_prep,
	.issue			= io_read_fixed_issue,
	.assign_buf		= io_rw_vec_assign,
};

const struct io_op io_op_writev_fixed = {
	IO_WRITE_RECORD,
	.prep			= io_rw_vec_prep,
	.issue			= io_write_fixed_issue,
	.assign_buf		= io_rw_vec_assign,
};
