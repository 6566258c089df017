// SPDX-License-Identifier: GPL-2.0
/* io_uring: issue a request and act on its result */

/*
 * A request is issued in one of three contexts.  Its submitter issues it inline or from a
 * mailbox, without blocking.  A worker may block, and usually does not hold the ring lock
 * (worker.c).  The result of ->issue selects the next step:
 *
 *	IO_DONE		complete the request here
 *	IO_PENDING	do not access the request: another context completes it
 *	IO_AGAIN	if the op and its file can be polled, issue the request again when
 *			the file is ready; if not, queue the request to a worker
 *	IO_MORE*	issue the request again, see multishot.c
 */
#include <linux/audit.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/sched/signal.h>
#include <trace/events/io_uring.h>

#include "async/poll.h"
#include "async/wq.h"
#include "complete/complete.h"
#include "req/free.h"
#include "req/linked_timeout.h"
#include "req/put.h"
#include "rsrc/files.h"
#include "submit/issue.h"

/**
 * io_file_assign_plain - look up the file of a descriptor
 * @req: the request, with the descriptor in ->cqe.res
 *
 * Return: true if there is a file.
 */
bool io_file_assign_plain(struct io_kiocb *req)
{
	int fd = req->cqe.res;

	req->file = fget(fd);
	trace_io_uring_file_get(req, fd);
	if (!req->file)
		return false;
	io_file_counted(req);
	return true;
}

/**
 * io_file_borrow - assign a file for an attempt of the submitter, without a reference
 * @req: the request, of an op with borrows_file
 *
 * If current shares its descriptor table, the request gets a reference; see io_file_keep().
 *
 * Return: true if there is a file.
 */
bool io_file_borrow(struct io_kiocb *req)
{
	int fd = req->cqe.res;
	struct fd f = fdget(fd);

	req->file = fd_file(f);
	trace_io_uring_file_get(req, fd);
	if (unlikely(!req->file))
		return false;
	if (unlikely(f.word & FDPUT_FPUT))
		io_file_counted(req);
	return true;
}

/**
 * io_issue_slow - issue a request with other credentials, or with an audit record
 * @req: the request
 * @op: its operation
 * @issue_flags: IO_URING_F_*
 *
 * Return: IO_AGAIN without a call of ->issue if the op would block, or the result of ->issue.
 */
enum io_result io_issue_slow(struct io_kiocb *req, const struct io_op *op,
			     unsigned int issue_flags)
{
	const struct cred *creds = NULL, *old;
	enum io_result result;

	/* ->issue is not called, so there is no audit record */
	if (issue_flags & IO_URING_F_NONBLOCK && op->blocks)
		return IO_AGAIN;
	if (req->flags & REQ_F_CREDS && req->creds != current_cred()) {
		/* ->issue may end and free the request while current still uses its credentials */
		creds = get_cred(req->creds);
		old = override_creds(creds);
	}
	if (!op->audit_skip)
		audit_uring_entry(req->opcode);
	result = io_issue_op(req, op, issue_flags);
	if (!op->audit_skip) {
		/* record an attempt that has to be repeated as a failure */
		s32 res = result == IO_AGAIN ? -EAGAIN : 0;

		/* only a finished request may still be accessed here */
		if (result == IO_DONE)
			res = req->cqe.res;
		audit_uring_exit(res >= 0, res);
	}
	if (creds) {
		revert_creds(old);
		put_cred(creds);
	}
	return result;
}

/**
 * io_issue_find_file - look up the file of a request that has none yet
 * @req: the request
 * @op: its operation, which needs a file
 * @issue_flags: IO_URING_F_*
 *
 * Return: true if there is a file.
 */
bool io_issue_find_file(struct io_kiocb *req, const struct io_op *op, unsigned int issue_flags)
{
	/* a worker must not borrow, because the submitter may close the descriptor at any time */
	if (issue_flags & IO_URING_F_IOWQ)
		return io_file_assign(req, issue_flags);
	return io_file_assign_inline(req, op, issue_flags);
}

static void io_retry_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags);

/* End the pause of a request, see io_poll_pause(): push the request again. */
static void io_retry_resume_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			       unsigned int issue_flags)
{
	io_poll_resume(io_tw_to_req(tw), io_retry_tw);
}

/*
 * Handle an event or a cancel for a request that waits for its file.  Without an event
 * or a cancel, the request keeps waiting.
 */
static void io_retry_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);
	unsigned int left = IO_POLL_VAIN;
	enum io_poll_verdict verdict;

	do {
		verdict = io_poll_check(req, issue_flags);
		if (verdict == IO_POLL_NOTHING && io_poll_try_unclaim(req))
			return;
	} while (verdict == IO_POLL_NOTHING && --left);
	if (unlikely(verdict == IO_POLL_NOTHING)) {
		io_poll_pause(req, io_retry_resume_tw);
		return;
	}
	io_poll_disarm_retry(req);
	if (verdict == IO_POLL_CANCELLED)
		io_req_fail(req, -ECANCELED);
	else
		io_issue_tw(ctx, tw, issue_flags);
}

/**
 * io_hold_run - select the function that handles events for a request that waits for its file
 * @req: the request
 *
 * Return: the @run argument of io_poll_hold().
 */
io_poll_run io_hold_run(const struct io_kiocb *req)
{
	return req->flags & REQ_F_MULTISHOT ? io_multishot_tw : io_retry_tw;
}

/**
 * io_issue_heeds_nonblock - check whether a request ends with -EAGAIN due to O_NONBLOCK
 * @req: the request, with REQ_F_AFTER_WORKER, after an attempt that would have blocked
 *
 * Programs rely on this for a request that is linked behind a request of a worker.
 *
 * Return: true if the request has to end with -EAGAIN instead of waiting for its file.
 */
bool io_issue_heeds_nonblock(struct io_kiocb *req)
{
	const struct file *file = req->file;

	req->flags &= ~REQ_F_AFTER_WORKER;
	return io_ops[req->opcode]->heeds_nonblock && file->f_flags & O_NONBLOCK &&
	       !S_ISREG(file_inode(file)->i_mode) &&
	       !(req->flags & (REQ_F_MULTISHOT | REQ_F_FORCE_ASYNC));
}

/* Continue after IO_AGAIN: wait for the file, queue the request to a worker, or end it. */
static void io_issue_again(struct io_kiocb *req)
{
	enum io_poll_hold hold = IO_POLL_BLOCK;

	if (io_poll_may_retry(req)) {
		if (unlikely(req->flags & REQ_F_AFTER_WORKER && io_issue_heeds_nonblock(req))) {
			io_req_fail(req, -EAGAIN);
			return;
		}
		io_req_keep_creds(req);
		hold = io_poll_hold(req, io_hold_run(req), 0);
	}
	switch (hold) {
	case IO_POLL_HOLD:
		break;
	case IO_POLL_RETRY:
		io_req_run_soon(req, io_issue_tw);
		break;
	case IO_POLL_BLOCK:
		io_queue_to_worker(req);
		break;
	case IO_POLL_END:
		io_req_fail(req, -ECANCELED);
		break;
	}
}

static noinline void io_file_keep_borrowed(struct io_kiocb *req)
{
	get_file(req->file);
	io_file_counted(req);
}

/*
 * Take a reference to the file if the request continues after the attempt.
 *
 * If current does not share its descriptor table, only current removes files from the table, and
 * not during an attempt.  So an attempt of an op with borrows_file needs no reference, like
 * sendto(2).  After the attempt the next request may close the file.  So a request that continues
 * gets a reference here, before anything else runs.
 */
static void io_file_keep(struct io_kiocb *req)
{
	if (io_ops[req->opcode]->borrows_file && io_file_is_borrowed(req))
		io_file_keep_borrowed(req);
}

/* Continue a request that an inline attempt has not completed. */
static noinline void io_issue_unfinished(struct io_kiocb *req, enum io_result result)
{
	/* an op that sets ->blocks had no inline attempt, and does not poll its file */
	if (io_ops[req->opcode]->blocks && result == IO_AGAIN) {
		io_queue_to_worker(req);
		return;
	}
	io_file_keep(req);
	if (io_result_is_more(result))
		result = io_multishot_go_on(req, result);
	if (result == IO_DONE)
		io_complete(req);
	else if (result != IO_PENDING)
		/* the budget is used up, or the CQ is full: let other requests run first */
		io_issue_again(req);
}

/**
 * io_issue_result - act on the result of a request that was issued inline
 * @req: the request; ring lock held, task context of the submitter
 * @result: result of ->issue
 */
void io_issue_result(struct io_kiocb *req, enum io_result result)
{
	if (likely(result == IO_DONE))
		io_complete(req);
	else if (result != IO_PENDING)
		io_issue_unfinished(req, result);
}

/**
 * io_issue_linked_timeout - issue the linked timeout of a request that does not finish at once
 * @head: the request; ring lock held.  Its timeout may already run
 */
noinline void io_issue_linked_timeout(struct io_kiocb *head)
{
	struct io_kiocb *limit;

	io_file_keep(head);
	limit = io_linked_timeout_start(head);
	if (limit)
		io_issue(limit, IO_URING_F_NONBLOCK | IO_URING_F_COMPLETE_DEFER);
}

/**
 * io_issue_inline - issue a request without blocking
 * @req: the request; ring lock held, task context of the submitter
 */
void io_issue_inline(struct io_kiocb *req)
{
	bool limited = req->flags & REQ_F_HAS_TIMEOUT;
	enum io_result result;

	result = io_issue(req, io_inline_flags(req->ctx));
	/* a pending request with a timeout ends under the ring lock, so @req still exists */
	if (unlikely(limited) && result != IO_DONE)
		io_issue_linked_timeout(req);
	io_issue_result(req, result);
}

/*
 * Return: true if an attempt could consume data for a ring that is closed.  The data would be
 * lost, as no program can read the CQE.  Requests that do not poll for input continue.
 */
static bool io_issue_loses(struct io_kiocb *req)
{
	const struct io_op *op = io_ops[req->opcode];

	if (likely(!READ_ONCE(req->ctx->dying)) || !op->poll_in)
		return false;
	if (!req->file && !io_issue_find_file(req, op, io_inline_flags(req->ctx)))
		return false;
	return file_can_poll(req->file);
}

/**
 * io_issue_tw - issue a request as task work
 * @ctx: the ring, its lock held
 * @tw: task work of the request
 * @issue_flags: with IO_URING_F_TASK_DEAD the task is gone, so cancel the request
 */
void io_issue_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);

	if (unlikely(!io_issue_allowed(req, issue_flags) || io_issue_loses(req)))
		io_req_fail(req, -ECANCELED);
	else if (req->flags & REQ_F_FORCE_ASYNC)
		io_queue_to_worker(req);
	else
		io_issue_inline(req);
}

/*
 * Return: true if workers have to serialise the request with other requests on its regular file.
 * Workers serialise all requests of IOPOLL rings, and writes unless the file allows direct writes
 * in parallel.
 */
static bool io_work_needs_hash(const struct io_kiocb *req)
{
	const struct file *file = req->file;

	if (req->ctx->iopoll)
		return true;
	if (!io_ops[req->opcode]->serialize_writes)
		return false;
	return !(file->f_flags & O_DIRECT && file->f_op->fop_flags & FOP_DIO_PARALLEL_WRITE);
}

/**
 * io_work_in_turn - check whether a request uses the current position of its file
 * @req: the request
 *
 * Return: true if the request uses the position, and has to be serialised.
 */
bool io_work_in_turn(struct io_kiocb *req)
{
	const struct io_op *op = io_ops[req->opcode];

	if (req->flags & REQ_F_CUR_POS)
		return true;
	/* ->issue sets the flag, but has not run yet for a request with IOSQE_ASYNC */
	return req->flags & REQ_F_FORCE_ASYNC && op->in_turn && op->in_turn(req);
}

/* Set the flags of a request's work, which select how the pool runs it. */
static void io_work_classify(struct io_kiocb *req)
{
	const struct io_op *op = io_ops[req->opcode];
	umode_t mode = op->needs_file ? file_inode(req->file)->i_mode : 0;
	unsigned int flags = 0;

	/* with IOSQE_ASYNC, the pool wakes or starts a worker even while other workers run */
	if (req->flags & REQ_F_FORCE_ASYNC)
		flags = IO_WQ_WORK_CONCURRENT;
	if (S_ISREG(mode) || S_ISBLK(mode)) {
		if ((S_ISREG(mode) && io_work_needs_hash(req)) || io_work_in_turn(req))
			flags |= IO_WQ_WORK_HASHED;
	} else if (op->unbound_nonreg_file) {
		flags |= IO_WQ_WORK_UNBOUND;
	}
	req->work.flags = flags;
}

/**
 * io_work_prepare - prepare a request for a worker
 * @req: the request, with its file
 */
void io_work_prepare(struct io_kiocb *req)
{
	io_work_classify(req);
	trace_io_uring_queue_async_work(req, req->work.flags & IO_WQ_WORK_HASHED);
	io_req_move(req, IO_REQ_QUEUED);
	if (req->flags & REQ_F_REFCOUNT)
		io_req_get(req);
	else
		io_req_refs_start(req, 2);
}

/**
 * io_queue_to_worker - let a worker issue a request
 * @req: the request; ring lock held, task context of the submitter
 */
void io_queue_to_worker(struct io_kiocb *req)
{
	struct io_uring_task *tctx = req->tctx;

	io_assert_ring(req->ctx);
	if (io_ops[req->opcode]->needs_file && !req->file &&
	    !io_file_assign(req, IO_URING_F_COMPLETE_DEFER)) {
		io_req_fail(req, -EBADF);
		return;
	}
	if (unlikely(io_buf_missing(req))) {
		int err = io_ops[req->opcode]->assign_buf(req);

		if (err) {
			io_req_fail(req, err);
			return;
		}
	}
	/* ->dying is set before the pools are searched under the ring lock, see task/exit.c */
	if (WARN_ON_ONCE(current->io_uring != tctx) || !tctx->io_wq ||
	    READ_ONCE(req->ctx->dying)) {
		io_req_fail(req, -ECANCELED);
		return;
	}
	io_req_keep_creds(req);
	/* earlier completions must not be published after the CQE of the worker */
	if (!req->ctx->cq.single_writer)
		io_cq_commit(req->ctx);
	if (req->flags & REQ_F_HAS_TIMEOUT)
		io_issue_linked_timeout(req);
	io_work_prepare(req);
	req->ctx->users.used_workers = true;
	io_wq_enqueue(tctx->io_wq, &req->work);
}
