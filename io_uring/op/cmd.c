// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_URING_CMD - commands that a file's driver defines */

/*
 * Who owns a command:
 *
 *	io_uring	until ->uring_cmd() is called, and again from
 *			io_uring_cmd_done() on, or when ->uring_cmd() returns anything but
 *			-EIOCBQUEUED
 *	the driver	in between.  It may call back in the submitter any number of
 *			times, one after the other
 *
 * The driver may end its command in any context at any time: before ->uring_cmd() has
 * returned, while the ring cancels it, when the task is gone.  So io_uring_cmd_done() only
 * notes the result and sends the request to where it may be completed, which needs the
 * ring lock.  Under that lock the memory of a command stays, even if the driver ends it
 * meanwhile.  The issuer relies on that inline, and so does a cancel.
 *
 * There is one short cut.  A callback runs under the ring lock in the right context, and
 * nearly always ends commands of that ring: these are completed at once.  The ring is
 * noted in tctx->cmd_ring, rather than believed from issue_flags, because a
 * driver ends other commands too in its callback, and these may be another ring's.
 *
 * On polled rings the task that polls finds what a driver has to tell, and runs it if it is
 * the submitter.  A file without ->uring_cmd_iopoll() is not polled for: its commands end as on
 * other rings.
 *
 * A command's bytes are in the SQE.  While the submitter issues it the first time they are
 * read there.  Everybody else needs a copy: those who issue it later, and block devices,
 * which find out that they would block after they have accepted a command.
 */
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/io_uring/cmd.h>
#include <linux/security.h>
#include <linux/slab.h>

#include "async/iopoll.h"
#include "async/wq.h"
#include "complete/fast.h"
#include "op/list.h"
#include "op/result.h"
#include "req/wait_table.h"
#include "ring/mailbox.h"
#include "rsrc/bufs.h"
#include "submit/issue.h"
#include "task/sqpoll.h"

/* values of req->iopoll_done, which all rings use for commands */
#define IO_CMD_DRIVER	0	/* with the driver; on polled rings who polls looks at it */
#define IO_CMD_DONE	1	/* the driver has something to tell, or has ended it */
#define IO_CMD_UNPOLLED	2	/* with the driver; it is not polled for, or not any more */

/* in cmd->flags: a worker was told to end before it could mark the command as cancelable */
#define IO_CMD_UNMARKED	BIT(29)

static_assert(sizeof(struct io_uring_cmd) <= IO_OP_DATA_SIZE);

/* The slot of the SQE is about to be given back.  Return: 0 or -ENOMEM */
static int io_cmd_keep_sqe(struct io_kiocb *req)
{
	size_t size = sizeof(struct io_uring_sqe) << req->ctx->sq.shift;
	struct io_uring_cmd *cmd = io_req_cmd(req);
	void *copy;

	if (req->flags & REQ_F_ASYNC_DATA)
		return 0;
	copy = kmemdup(cmd->sqe, size, GFP_KERNEL_ACCOUNT);
	if (!copy)
		return -ENOMEM;
	req->async_data = copy;
	req->flags |= REQ_F_ASYNC_DATA;
	cmd->sqe = copy;
	return 0;
}

/* Will the request be issued right after ->prep(), by the submitter? */
static bool io_cmd_is_next(const struct io_kiocb *req)
{
	return !(req->flags & IO_REQ_SLOW_FLAGS) &&
	       !(req->ctx->submit_slow & (IO_SLOW_LINK | IO_SLOW_DRAIN));
}

static int io_cmd_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_uring_cmd *cmd = io_req_cmd(req);

	if (READ_ONCE(sqe->__pad1))
		return -EINVAL;
	cmd->flags = READ_ONCE(sqe->uring_cmd_flags);
	if (cmd->flags & ~IORING_URING_CMD_MASK)
		return -EINVAL;
	if (cmd->flags & IORING_URING_CMD_FIXED) {
		if (req->buf_index >= ctx->buf_table.nr)
			return -EFAULT;
		/* an empty slot is the affair of the driver that imports it */
		io_buf_assign(req, 0);
	}
	cmd->cmd_op = READ_ONCE(sqe->cmd_op);
	cmd->sqe = sqe;
	req->iopoll_done = IO_CMD_DRIVER;
	ctx->commands = true;
	return likely(io_cmd_is_next(req)) ? 0 : io_cmd_keep_sqe(req);
}

/* The driver has accepted a command on a polled ring. */
static void io_cmd_poll(struct io_kiocb *req, unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_UNLOCKED)
		io_iopoll_add_unlocked(req);
	else
		io_iopoll_add(req);
}

static bool io_cmd_cancel(struct io_kiocb *req);

/* The driver has accepted a command, and may have ended it already. */
static enum io_result io_cmd_accepted(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_uring_cmd *cmd = io_req_cmd(req);

	if (issue_flags & IO_URING_F_IOPOLL) {
		io_cmd_poll(req, issue_flags);
	} else if (issue_flags & IO_URING_F_UNLOCKED) {
		if (unlikely(READ_ONCE(cmd->flags) & IO_CMD_UNMARKED))
			io_cmd_cancel(req);
	} else if (S_ISBLK(file_inode(req->file)->i_mode)) {
		/* without memory, io_uring_cmd_issue_blocking() says so */
		io_cmd_keep_sqe(req);
		io_req_keep_creds(req);
	}
	return IO_PENDING;
}

static enum io_result io_cmd_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	const struct file_operations *f_op = req->file->f_op;
	struct io_uring_cmd *cmd = io_req_cmd(req);
	int ret;

	if (unlikely(!f_op->uring_cmd))
		return io_done(req, -EOPNOTSUPP);
	cmd->file = req->file;
	ret = security_uring_cmd(cmd);
	if (unlikely(ret))
		return io_done(req, ret);
	if (issue_flags & IO_URING_F_IOPOLL) {
		if (f_op->uring_cmd_iopoll) {
			req->flags |= REQ_F_POLL_CMD;
		} else {
			req->iopoll_done = IO_CMD_UNPOLLED;
			issue_flags &= ~IO_URING_F_IOPOLL;
		}
	}
	ret = f_op->uring_cmd(cmd, issue_flags);
	if (ret == -EIOCBQUEUED)
		return io_cmd_accepted(req, issue_flags);
	if (ret != -EAGAIN || !(issue_flags & (IO_URING_F_NONBLOCK | IO_URING_F_IOPOLL)))
		return io_done(req, io_no_restart(ret));
	cmd->flags |= IORING_URING_CMD_REISSUE;
	ret = io_cmd_keep_sqe(req);
	return ret ? io_done(req, ret) : IO_AGAIN;
}

/* The driver has ended a command; ring lock held, as for io_complete(). */
static void io_cmd_end(struct io_kiocb *req)
{
	u64 extra[2] = { io_req_cmd(req)->res2 };
	struct io_ring_ctx *ctx = req->ctx;

	if (unlikely(req->flags & REQ_F_WAITING))
		io_wait_table_del(req);
	io_done(req, req->cqe.res);
	if (ctx->issue_flags & IO_URING_F_CQE32)
		io_complete_large_collected(ctx, req, extra);
	else
		io_complete_collected(ctx, req);
}

static void io_cmd_end_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	io_cmd_end(io_tw_to_req(tw));
}

/* Does the task that polls the ring look at the command? */
static bool io_cmd_is_polled(const struct io_kiocb *req)
{
	return req->ctx->iopoll && READ_ONCE(req->iopoll_done) == IO_CMD_DRIVER;
}

/* Send a request to where @run may be run. */
static void io_cmd_send(struct io_kiocb *req,
			void (*run)(struct io_ring_ctx *ctx, struct io_tw *tw,
				    unsigned int issue_flags),
			unsigned int push_flags)
{
	if (io_cmd_is_polled(req)) {
		req->tw.run = run;
		/* from here on it belongs to the task that polls */
		io_iopoll_done(req);
	} else {
		io_req_push(req, run, push_flags);
	}
}

/* Does current hold this ring's lock while it runs a callback? */
static bool io_cmd_at_home(const struct io_kiocb *req, unsigned int issue_flags)
{
	return !(issue_flags & IO_URING_F_UNLOCKED) && in_task() && current->io_uring &&
	       current->io_uring->cmd_ring == req->ctx;
}

/* Documented in linux/io_uring/cmd.h. */
void __io_uring_cmd_done(struct io_uring_cmd *cmd, s32 ret, u64 res2, unsigned int issue_flags,
			 bool is_cqe32)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);

	req->cqe.res = ret;
	cmd->res2 = res2;
	/* the driver is not asked to end it any more */
	if (!io_cmd_is_polled(req))
		WRITE_ONCE(req->iopoll_done, IO_CMD_DONE);
	if (likely(io_cmd_at_home(req, issue_flags)) &&
	    READ_ONCE(req->iopoll_done) != IO_CMD_DRIVER)
		io_cmd_end(req);
	else
		io_cmd_send(req, io_cmd_end_tw, 0);
}
EXPORT_SYMBOL_GPL(__io_uring_cmd_done);

/*
 * A driver that was asked to end its commands has seen to what programs had of it by then: what
 * it gives out later is lost, and an answer to what it has taken back crashes ublk.  It knows
 * by PF_EXITING, or by its caller, that a task is on its way out.  An SQPOLL thread is
 * not marked yet while it ends its requests, a task that execs or has only closed the ring
 * never is: the fallback worker calls the driver for them.
 *
 * A command whose driver was not asked to end it, for a task that exits or a ring that was
 * closed, is still run by its task: ublk takes the task that issues the first commands of a
 * queue for its server, and a kernel worker would never exit.
 */
static bool io_cmd_is_abandoned(struct io_kiocb *req)
{
	const struct io_uring_task *tctx = current->io_uring;
	bool leaves = tctx && atomic_read(&tctx->in_cancel);
	bool closed = tctx && READ_ONCE(req->ctx->dying);

	if (!leaves && !closed)
		return false;
	return (leaves && READ_ONCE(tctx->cmds_asked)) || (closed && READ_ONCE(req->ctx->asked)) ||
	       READ_ONCE(io_req_cmd(req)->flags) & IORING_URING_CMD_CANCELABLE;
}

/* Call the driver back; ring lock held. */
static void io_cmd_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);
	struct io_uring_task *tctx = current->io_uring;
	struct io_uring_cmd *cmd = io_req_cmd(req);
	io_tw_token_t token;

	if (unlikely(io_cmd_is_abandoned(req))) {
		io_fallback_push(ctx, tw);
		return;
	}
	io_req_move(req, IO_REQ_WAITING);
	if (ctx->iopoll)
		req->iopoll_done = IO_CMD_UNPOLLED;
	token.cancel = issue_flags & IO_URING_F_TASK_DEAD || current->flags & PF_EXITING;
	/* the fallback worker has no state: what ends there comes to it once more */
	if (likely(tctx))
		tctx->cmd_ring = ctx;
	cmd->task_work_cb((struct io_tw_req) { .req = req }, token);
	if (likely(tctx))
		tctx->cmd_ring = NULL;
}

/* Documented in linux/io_uring/cmd.h. */
void __io_uring_cmd_do_in_task(struct io_uring_cmd *cmd, io_req_tw_func_t task_work_cb,
			       unsigned int flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);
	/* a block device may have to try again first, and no CQE comes of the callback */
	bool lazy = flags & IOU_F_TWQ_LAZY_WAKE && !S_ISBLK(file_inode(req->file)->i_mode);

	cmd->task_work_cb = task_work_cb;
	io_cmd_send(req, io_cmd_tw, lazy ? 0 : IO_PUSH_NOW);
}
EXPORT_SYMBOL_GPL(__io_uring_cmd_do_in_task);

/* The buffer was registered after the SQE was read.  Return: 0 or a negative errno. */
static noinline int io_cmd_buf_assign(struct io_kiocb *req, unsigned int issue_flags)
{
	if (!(io_req_cmd(req)->flags & IORING_URING_CMD_FIXED))
		return -EINVAL;
	return io_buf_assign(req, issue_flags);
}

/* Documented in linux/io_uring/cmd.h. */
int io_uring_cmd_import_fixed(u64 ubuf, unsigned long len, int rw, struct iov_iter *iter,
			      struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(ioucmd);
	const struct io_buf_node *buf;

	if (unlikely(!(req->flags & REQ_F_BUF_NODE))) {
		int ret = io_cmd_buf_assign(req, issue_flags);

		if (ret)
			return ret;
	}
	buf = io_buf_node(req->buf_node);
	if (unlikely(!io_buf_covers(buf, ubuf, len)))
		return -EFAULT;
	if (likely(len))
		io_buf_iter(buf, rw, ubuf - buf->ubuf, len, iter);
	else
		iov_iter_bvec(iter, rw, buf->bvec, 0, 0);
	return 0;
}
EXPORT_SYMBOL_GPL(io_uring_cmd_import_fixed);

/* Documented in linux/io_uring/cmd.h. */
void io_uring_cmd_mark_cancelable(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);
	struct io_ring_ctx *ctx = req->ctx;

	if (io_cmd_is_polled(req) || cmd->flags & IORING_URING_CMD_CANCELABLE)
		return;
	/* ublk takes the fallback worker for its server, and warns when it is asked to end this */
	if (unlikely(!(issue_flags & IO_URING_F_UNLOCKED) && !current->io_uring))
		return;
	if (io_issue_lock(ctx, issue_flags)) {
		/* for io_cmd_accepted() */
		cmd->flags |= IO_CMD_UNMARKED;
		return;
	}
	cmd->flags |= IORING_URING_CMD_CANCELABLE;
	/* a cancel that has found the worker does not look among the waiting requests as well */
	if (issue_flags & IO_URING_F_UNLOCKED && (!io_wq_disown() || !io_may_add_waiting(req)))
		cmd->flags |= IO_CMD_UNMARKED;
	else
		io_wait_table_add(req);
	io_issue_unlock(ctx, issue_flags);
}
EXPORT_SYMBOL_GPL(io_uring_cmd_mark_cancelable);

/* Ask the driver to end a command; it may take more than once. */
static bool io_cmd_cancel(struct io_kiocb *req)
{
	struct io_uring_cmd *cmd = io_req_cmd(req);

	if (READ_ONCE(req->iopoll_done) == IO_CMD_DONE)
		return true;
	WRITE_ONCE(req->tctx->cmds_asked, true);
	WRITE_ONCE(req->ctx->asked, true);
	cmd->file->f_op->uring_cmd(cmd, IO_URING_F_CANCEL | IO_URING_F_COMPLETE_DEFER);
	return true;
}

/* Documented in linux/io_uring/cmd.h. */
void io_uring_cmd_issue_blocking(struct io_uring_cmd *cmd)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);

	/* the fallback worker may be here, which posts nothing while a ring has its owner */
	if (!io_issue_allowed(req, 0)) {
		io_req_fail_later(req, -ECANCELED);
		return;
	}
	if (!(req->flags & REQ_F_ASYNC_DATA)) {
		io_req_fail(req, -ENOMEM);
		return;
	}
	cmd->flags |= IORING_URING_CMD_REISSUE;
	io_queue_to_worker(req);
}

const struct io_op io_op_uring_cmd = {
	.needs_file		= 1,
	.iopoll			= 1,
	.plug			= 1,
	.unbound_nonreg_file	= 1,
	.cancel_at_end		= 1,
	.prep			= io_cmd_prep,
	.issue			= io_cmd_issue,
	.cancel			= io_cmd_cancel,
};
