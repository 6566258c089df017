// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_URING_CMD, URING_CMD128 - commands that a file's driver defines */

/*
 * A command has one owner at a time:
 *
 *	io_uring	until it calls ->uring_cmd(); and again after io_uring_cmd_done(), or if
 *			->uring_cmd() does not return -EIOCBQUEUED
 *	the driver	in between; it may request callbacks in the submitter, one at a time
 *
 * The driver may end a command in any context, at any time: before ->uring_cmd() has returned,
 * during a cancel, or after the submitter has exited.  So io_uring_cmd_done() only stores the
 * result and pushes the request:
 *
 *	submitter, holds the ring lock		driver
 *	->uring_cmd()
 *	  queue the command to the device
 *						io_uring_cmd_done()
 *						  req->cqe.res = ret
 *						  io_req_push(req, io_cmd_end_tw)
 *	  return -EIOCBQUEUED
 *	io_cmd_accepted() accesses the request
 *	io_ring_unlock()
 *						io_cmd_end_tw(), under the ring lock
 *						  complete and free the request
 *
 * io_cmd_end_tw() needs the ring lock.  So the submitter and a cancel, which hold the lock, may
 * access the request until they release the lock.
 *
 * There is one short cut.  A driver's callback runs under the ring lock, in a context that may
 * post CQEs, and nearly always ends commands of its own ring.  Such commands are completed at once.
 * The callback may also end commands of other rings, but only the ring of tctx->cmd_req is locked.
 * tctx->cmd_req is the command whose callback runs.  It exists until the callback has returned.
 *
 * On a polled ring, the task that polls checks for ended commands and requested callbacks.  If this
 * task is the submitter, it runs the task work; if not, it pushes the command to the submitter.  A
 * file without ->uring_cmd_iopoll() is not polled: its commands end as on other rings.
 *
 * The bytes of a command are in its SQE.  Only the first ->issue(), in the submitter, may read the
 * SQE; later calls need a copy, and a cancel finds a blank SQE if there is none.  A block device
 * may accept a command, and report only later that the command would block
 * (io_uring_cmd_issue_blocking()), so its commands need a copy, too.
 *
 * The driver may end a command on one CPU while io_cmd_cancel() calls the driver for this command
 * on another CPU.  A driver frees its own data once io_uring_cmd_done() has returned, so that
 * function waits for the other call (io_cmd_await_cancel()).
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
#include "ring/locks.h"
#include "ring/mailbox.h"
#include "ring/sq.h"
#include "rsrc/bufs.h"
#include "rsrc/groups.h"
#include "submit/issue.h"
#include "task/sqpoll.h"

/* values of req->iopoll_done, which all rings use for commands */
#define IO_CMD_DRIVER	0	/* the driver owns the command, which polled rings poll for */
#define IO_CMD_DONE	1	/* the driver has ended the command, or requested a callback */
#define IO_CMD_UNPOLLED	2	/* the driver owns the command; polled rings do not poll for it */

static_assert(sizeof(struct io_uring_cmd) <= IO_OP_DATA_SIZE);

/*
 * The SQE that a driver's cancel and security modules see if a command has no copy of the real one.
 * The program may reuse the real one, and IORING_REGISTER_RESIZE_RINGS frees its memory.
 */
static const struct io_uring_sqe io_cmd_no_sqe[2];

/* Copy the SQE, before the program may reuse it.  Return: 0 or -ENOMEM. */
static noinline int io_cmd_keep_sqe(struct io_kiocb *req)
{
	bool big = req->ctx->sq.shift || io_ops[req->opcode]->sqe128;
	struct io_uring_cmd *cmd = io_req_cmd(req);
	size_t size = sizeof(struct io_uring_sqe) << big;
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

/*
 * Prepare a command that posts CQEs with provided buffers.  The driver posts under the ring lock,
 * so only the submitter issues the command.
 *
 * Return: 0; -EINVAL for wrong flags, or for a command with a provided buffer that posts no such
 * CQEs.
 */
static noinline int io_cmd_prep_multishot(struct io_kiocb *req)
{
	u32 flags = io_req_cmd(req)->flags;

	if (!(req->flags & REQ_F_BUFFER_SELECT) || flags != IORING_URING_CMD_MULTISHOT)
		return -EINVAL;
	req->flags |= REQ_F_MULTISHOT;
	req->flags &= ~REQ_F_FORCE_ASYNC;
	return 0;
}

/* Handle the flags of a command, and a provided buffer.  Return: 0 or a negative errno. */
static int io_cmd_prep_flags(struct io_kiocb *req, u32 flags)
{
	/*
	 * The driver imports the buffer if the command needs it.  A command may wait for days
	 * before that, and IORING_UNREGISTER_BUFFERS would wait for the command.
	 */
	return likely(flags == IORING_URING_CMD_FIXED) ? 0 : io_cmd_prep_multishot(req);
}

static int io_cmd_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_uring_cmd *cmd = io_req_cmd(req);
	u32 flags;

	if (READ_ONCE(sqe->__pad1))
		return -EINVAL;
	cmd->flags = READ_ONCE(sqe->uring_cmd_flags);
	BUILD_BUG_ON((__force u64)REQ_F_BUFFER_SELECT & IORING_URING_CMD_MASK);
	flags = cmd->flags | (__force u64)(req->flags & REQ_F_BUFFER_SELECT);
	if (flags) {
		int ret = io_cmd_prep_flags(req, flags);

		if (ret)
			return ret;
	}
	cmd->cmd_op = READ_ONCE(sqe->cmd_op);
	cmd->sqe = sqe;
	req->iopoll_done = IO_CMD_DRIVER;
	ctx->commands = true;
	return likely(io_req_is_next(req)) ? 0 : io_cmd_keep_sqe(req);
}

static int io_cmd128_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return io_sq_take_second(req->ctx, sqe) ?: io_cmd_prep(req, sqe);
}

/*
 * Handle -EIOCBQUEUED.  The driver may have ended the command already.  A worker does not hold the
 * ring lock, so another task may complete the command now.  The worker leaves the command alone,
 * unless the ring polls for it.
 */
static enum io_result io_cmd_accepted(struct io_kiocb *req, unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_UNLOCKED) {
		if (issue_flags & IO_URING_F_IOPOLL)
			io_iopoll_add_unlocked(req);
		return IO_PENDING;
	}
	if (issue_flags & IO_URING_F_IOPOLL) {
		io_iopoll_add(req);
	} else if (issue_flags & IO_URING_F_MULTISHOT) {
		/* the command has handled one event of its file, and there may be another one */
		return IO_MORE;
	} else if (S_ISBLK(file_inode(req->file)->i_mode)) {
		/* if this fails, io_uring_cmd_issue_blocking() ends the command with -ENOMEM */
		io_cmd_keep_sqe(req);
		io_req_keep_creds(req);
	} else if (S_ISSOCK(file_inode(req->file)->i_mode)) {
		/* security modules look at the SQE for each event of the socket */
		if (io_cmd_keep_sqe(req))
			io_req_cmd(req)->sqe = io_cmd_no_sqe;
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
	/* the command waits for the next event of its file */
	if (issue_flags & IO_URING_F_MULTISHOT)
		return IO_AGAIN;
	cmd->flags |= IORING_URING_CMD_REISSUE;
	/* a driver that may block posts no CQEs */
	req->flags &= ~REQ_F_MULTISHOT;
	ret = io_cmd_keep_sqe(req);
	return ret ? io_done(req, ret) : IO_AGAIN;
}

/* Tell the driver that the command has 80 bytes, which it asks for on rings of mixed SQEs. */
static enum io_result io_cmd128_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	return io_cmd_issue(req, issue_flags | IO_URING_F_SQE128);
}

/* Complete a command that its driver has ended; ring lock held, as for io_complete(). */
static void io_cmd_end(struct io_kiocb *req)
{
	u64 extra[2] = { io_req_cmd(req)->res2 };
	struct io_ring_ctx *ctx = req->ctx;

	if (unlikely(req->flags & REQ_F_WAITING))
		io_wait_table_del(req);
	io_done(req, req->cqe.res);
	if (ctx->cq.shift)
		io_complete_large_collected(ctx, req, extra);
	else if (unlikely(req->cqe.flags & IORING_CQE_F_32))
		io_complete_large(req, extra);
	else
		io_complete_collected(ctx, req);
}

static void io_cmd_end_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	io_cmd_end(io_tw_to_req(tw));
}

/* Return: true if the task that polls the ring checks the command. */
static bool io_cmd_is_polled(const struct io_kiocb *req)
{
	return req->ctx->iopoll && READ_ONCE(req->iopoll_done) == IO_CMD_DRIVER;
}

/* Pass a request to the context in which @run may be called. */
static void io_cmd_send(struct io_kiocb *req,
			void (*run)(struct io_ring_ctx *ctx, struct io_tw *tw,
				    unsigned int issue_flags),
			unsigned int push_flags)
{
	if (io_cmd_is_polled(req)) {
		req->tw.run = run;
		/* the task that polls owns the request after this */
		io_iopoll_done(req);
	} else {
		io_req_push(req, run, push_flags);
	}
}

/* Return: the command whose callback current runs, under the ring lock; NULL if there is none. */
static struct io_kiocb *io_cmd_called_back(unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_UNLOCKED || !in_task() || !current->io_uring)
		return NULL;
	return current->io_uring->cmd_req;
}

/*
 * Wait until no other task calls the driver to cancel a command that the driver has ended.  Only
 * drivers that end commands without the ring lock need this.  As in 6.12, the driver does not
 * hold a lock here that its cancel needs.
 */
static noinline void io_cmd_await_cancel(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	/* pairs with io_cmd_cancel(): that function reads iopoll_done, or this one cmd_cancelled */
	smp_mb();
	/* the caller frees what the driver's cancel has used */
	wait_var_event(&ctx->cmd_cancelled, smp_load_acquire(&ctx->cmd_cancelled) != req);
}

/* Documented in linux/io_uring/cmd.h. */
void __io_uring_cmd_done(struct io_uring_cmd *cmd, s32 ret, u64 res2, unsigned int issue_flags,
			 bool is_cqe32)
{
	struct io_kiocb *called, *req = cmd_to_io_kiocb(cmd);
	unsigned int push_flags = 0;

	req->cqe.res = ret;
	cmd->res2 = res2;
	if (unlikely(req->ctx->cq.mixed) && is_cqe32) {
		req->cqe.flags |= IORING_CQE_F_32;
		push_flags = IO_PUSH_NOW;
	}
	/* after this io_cmd_cancel() does not call the driver */
	if (!io_cmd_is_polled(req))
		WRITE_ONCE(req->iopoll_done, IO_CMD_DONE);
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED && cmd->flags & IORING_URING_CMD_CANCELABLE))
		io_cmd_await_cancel(req);
	called = io_cmd_called_back(issue_flags);
	if (likely(called == req))
		current->io_uring->cmd_ended = true;
	else if (called && called->ctx == req->ctx && READ_ONCE(req->iopoll_done) != IO_CMD_DRIVER)
		io_cmd_end(req);
	else
		io_cmd_send(req, io_cmd_end_tw, push_flags);
}
EXPORT_SYMBOL_GPL(__io_uring_cmd_done);

/*
 * For a task or a ring that ends.
 *
 * Return: true if the fallback worker has to call the driver back, instead of current.
 *
 * After a cancel of its commands, a driver takes back the work that it has passed to programs.
 * Work that a later callback passes to a program is lost, and ublk crashes if the program completes
 * work that was taken back.  A driver recognizes the end of a task by PF_EXITING, or by a callback
 * in the fallback worker.  An SQPOLL thread that ends its requests does not have PF_EXITING yet.
 * A task that calls exec, or has only closed the ring, never has PF_EXITING.
 *
 * Without a cancel, current calls the driver, even if the task exits or the ring is closed.  ublk
 * treats the task that issues the first commands of a queue as the server of that queue, and a
 * kernel worker in this role would never exit.
 *
 * An exiting task that has dropped its memory runs in the memory of another task, which a driver
 * would write to.  The fallback worker has empty memory (io_fallback_run()).
 */
static bool io_cmd_is_abandoned(struct io_kiocb *req)
{
	const struct io_uring_task *tctx = current->io_uring;
	const struct io_ring_ctx *ctx = req->ctx;

	if (!current->mm)
		return true;
	if (!tctx)
		return false;
	if (atomic_read(&tctx->in_cancel) && READ_ONCE(tctx->cmds_asked))
		return true;
	if (READ_ONCE(ctx->dying) && READ_ONCE(ctx->asked))
		return true;
	return READ_ONCE(io_req_cmd(req)->flags) & IORING_URING_CMD_CANCELABLE;
}

/* Call the driver back; ring lock held. */
static void io_cmd_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);
	struct io_uring_task *tctx = current->io_uring;
	struct io_uring_cmd *cmd = io_req_cmd(req);
	io_tw_token_t token;

	if (unlikely(!tctx || atomic_read(&tctx->in_cancel) || READ_ONCE(ctx->dying))) {
		if (io_cmd_is_abandoned(req)) {
			io_fallback_push(ctx, tw);
			return;
		}
		/* PF_EXITING is set after in_cancel */
		if (current->flags & PF_EXITING)
			issue_flags |= IO_URING_F_TASK_DEAD;
	}
	io_req_move(req, IO_REQ_WAITING);
	if (ctx->iopoll)
		req->iopoll_done = IO_CMD_UNPOLLED;
	token.cancel = issue_flags & IO_URING_F_TASK_DEAD;
	/* the fallback worker has no io_uring_task: a command that ends there comes back to it */
	if (likely(tctx))
		tctx->cmd_req = req;
	cmd->task_work_cb((struct io_tw_req) { .req = req }, token);
	if (likely(tctx)) {
		tctx->cmd_req = NULL;
		/* not earlier: btrfs ends the command, then frees memory that the command uses */
		if (likely(tctx->cmd_ended)) {
			tctx->cmd_ended = false;
			io_cmd_end(req);
		}
	}
}

/* Documented in linux/io_uring/cmd.h. */
void __io_uring_cmd_do_in_task(struct io_uring_cmd *cmd, io_req_tw_func_t task_work_cb,
			       unsigned int flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);
	/* not for a block device: its callback may queue the command to a worker, without a CQE */
	bool lazy = flags & IOU_F_TWQ_LAZY_WAKE && !S_ISBLK(file_inode(req->file)->i_mode);

	/* the CQE may take two slots */
	if (unlikely(req->ctx->cq.mixed))
		lazy = false;
	cmd->task_work_cb = task_work_cb;
	io_cmd_send(req, io_cmd_tw, lazy ? 0 : IO_PUSH_NOW);
}
EXPORT_SYMBOL_GPL(__io_uring_cmd_do_in_task);

static noinline int io_cmd_buf_assign_unlocked(struct io_kiocb *req)
{
	return io_buf_assign(req, IO_URING_F_UNLOCKED);
}

/* Find the registered buffer of a command.  Return: 0 or a negative errno. */
static int io_cmd_buf_assign(struct io_kiocb *req, unsigned int issue_flags)
{
	if (!(io_req_cmd(req)->flags & IORING_URING_CMD_FIXED))
		return -EINVAL;
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED))
		return io_cmd_buf_assign_unlocked(req);
	return io_buf_assign(req, 0);
}

/* Documented in linux/io_uring/cmd.h. */
int io_uring_cmd_import_fixed(u64 ubuf, unsigned long len, int rw, struct iov_iter *iter,
			      struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(ioucmd);
	int ret = io_cmd_buf_assign(req, issue_flags);
	const struct io_buf_node *buf;

	if (unlikely(ret))
		return ret;
	buf = io_buf_node(req->buf_node);
	if (unlikely(!io_buf_covers(buf, rw, ubuf, len)))
		return -EFAULT;
	if (likely(len))
		io_buf_iter(buf, rw, ubuf - buf->ubuf, len, iter);
	else
		iov_iter_bvec(iter, rw, buf->bvec, 0, 0);
	return 0;
}
EXPORT_SYMBOL_GPL(io_uring_cmd_import_fixed);

/* Documented in linux/io_uring/cmd.h. */
int io_uring_cmd_import_fixed_vec(struct io_uring_cmd *ioucmd, const struct iovec __user *uvec,
				  size_t uvec_segs, int ddir, struct iov_iter *iter,
				  unsigned int issue_flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(ioucmd);
	int ret = io_cmd_buf_assign(req, issue_flags);
	struct iovec *iov;

	if (ret)
		return ret;
	iov = iovec_from_user(uvec, uvec_segs, 0, NULL, req->ctx->compat);
	if (IS_ERR(iov))
		return PTR_ERR(iov);
	ret = io_buf_gather(req, ddir, iov, uvec_segs, issue_flags);
	kfree(iov);
	if (ret < 0)
		return ret;
	io_buf_iter(io_buf_node(req->buf_node), ddir, 0, ret, iter);
	return 0;
}
EXPORT_SYMBOL_GPL(io_uring_cmd_import_fixed_vec);

/* Documented in linux/io_uring/cmd.h. */
struct io_br_sel io_uring_cmd_buffer_select(struct io_uring_cmd *ioucmd, unsigned int buf_group,
					    size_t *len, unsigned int issue_flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(ioucmd);
	struct io_br_sel sel = { .addr = NULL };
	struct io_buf buf;

	if (!(req->flags & REQ_F_MULTISHOT) || buf_group != req->buf_index) {
		sel.val = -EINVAL;
		return sel;
	}
	/* the fallback worker, and a task that exits, have no user memory */
	if (unlikely(!current->io_uring || current->flags & PF_EXITING)) {
		sel.val = -ECANCELED;
		return sel;
	}
	io_assert_ring(req->ctx);
	req->picked.max = min(*len, MAX_RW_COUNT);
	sel.val = io_buf_pick(req, &buf, 0);
	if (likely(!sel.val)) {
		sel.addr = u64_to_user_ptr(buf.addr);
		*len = buf.len;
	}
	return sel;
}
EXPORT_SYMBOL_GPL(io_uring_cmd_buffer_select);

/* Documented in linux/io_uring/cmd.h. */
bool io_uring_mshot_cmd_post_cqe(struct io_uring_cmd *ioucmd, struct io_br_sel *sel,
				 unsigned int issue_flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(ioucmd);
	u32 cflags;

	if (!(req->flags & REQ_F_PICKED))
		return true;
	cflags = io_buf_used(req, sel->val, 0);
	if (sel->val <= 0)
		return true;
	if (likely(io_post_more(req, sel->val, cflags)))
		return false;
	/* the last CQE returns the buffer to the program */
	req->cqe.flags = cflags;
	return true;
}
EXPORT_SYMBOL_GPL(io_uring_mshot_cmd_post_cqe);

/* Documented in linux/io_uring/cmd.h. */
void io_uring_cmd_mark_cancelable(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);
	struct io_ring_ctx *ctx = req->ctx;

	if (io_cmd_is_polled(req) || cmd->flags & IORING_URING_CMD_CANCELABLE)
		return;
	/* ublk would treat the fallback worker as its server, and warn at a cancel */
	if (unlikely(!(issue_flags & IO_URING_F_UNLOCKED) && !current->io_uring))
		return;
	if (io_issue_lock(ctx, issue_flags)) {
		/* a killed worker has to go on: the end of the ring must find the command */
		while (!io_ring_lock_soon(ctx))
			;
	}
	cmd->flags |= IORING_URING_CMD_CANCELABLE;
	/* the search of an exec, or of the end of a ring, is repeated while the command exists */
	if (issue_flags & IO_URING_F_UNLOCKED)
		io_wq_disown();
	io_wait_table_add(req);
	io_issue_unlock(ctx, issue_flags);
}
EXPORT_SYMBOL_GPL(io_uring_cmd_mark_cancelable);

/* Request the end of a command.  An ending task or ring repeats this, as drivers may ignore it. */
static bool io_cmd_cancel(struct io_kiocb *req)
{
	struct io_uring_cmd *cmd = io_req_cmd(req);
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	WRITE_ONCE(ctx->cmd_cancelled, req);
	/* pairs with smp_mb() in io_cmd_await_cancel() */
	smp_mb();
	if (READ_ONCE(req->iopoll_done) != IO_CMD_DONE) {
		WRITE_ONCE(req->tctx->cmds_asked, true);
		WRITE_ONCE(ctx->asked, true);
		if (!(req->flags & REQ_F_ASYNC_DATA))
			cmd->sqe = io_cmd_no_sqe;
		cmd->file->f_op->uring_cmd(cmd, IO_URING_F_CANCEL | IO_URING_F_COMPLETE_DEFER);
	}
	/* pairs with smp_load_acquire() in io_cmd_await_cancel() */
	smp_store_release(&ctx->cmd_cancelled, NULL);
	/* order the store before wake_up_var() looks for a waiter */
	smp_mb();
	wake_up_var(&ctx->cmd_cancelled);
	return true;
}

/* Documented in linux/io_uring/cmd.h. */
void io_uring_cmd_issue_blocking(struct io_uring_cmd *cmd)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);

	/* the caller may be the fallback worker, which must not post while the ring has an owner */
	if (!io_issue_allowed(req, 0)) {
		io_req_fail_later(req, -ECANCELED);
		return;
	}
	if (!(req->flags & REQ_F_ASYNC_DATA)) {
		io_req_fail(req, -ENOMEM);
		return;
	}
	cmd->flags |= IORING_URING_CMD_REISSUE;
	/* a driver that may block posts no CQEs */
	req->flags &= ~REQ_F_MULTISHOT;
	io_queue_to_worker(req);
}

const struct io_op io_op_uring_cmd = {
	.needs_file		= 1,
	.iopoll			= 1,
	.buffer_select		= 1,
	.plug			= 1,
	.unbound_nonreg_file	= 1,
	.cancel_at_end		= 1,
	.prep			= io_cmd_prep,
	.issue			= io_cmd_issue,
	.cancel			= io_cmd_cancel,
};

const struct io_op io_op_uring_cmd128 = {
	.needs_file		= 1,
	.iopoll			= 1,
	.buffer_select		= 1,
	.plug			= 1,
	.unbound_nonreg_file	= 1,
	.cancel_at_end		= 1,
	.sqe128			= 1,
	.prep			= io_cmd128_prep,
	.issue			= io_cmd128_issue,
	.cancel			= io_cmd_cancel,
};

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "tests/cmd_kunit.c"
#endif
