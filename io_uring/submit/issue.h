/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: issuing requests, inside submit/ */
#ifndef IO_SUBMIT_ISSUE_H
#define IO_SUBMIT_ISSUE_H

#include <linux/audit.h>
#include <linux/io_uring.h>
#include <linux/poison.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_SUBMIT
#error "submit/ may not be seen from below, see io_uring/layer.h"
#endif

#include "async/poll.h"
#include "op.h"
#include "rsrc/files.h"
#include "submit/submit.h"

bool io_file_assign_plain(struct io_kiocb *req);
bool io_file_borrow(struct io_kiocb *req);
enum io_result io_issue_slow(struct io_kiocb *req, const struct io_op *op,
			     unsigned int issue_flags);
void io_issue_result(struct io_kiocb *req, enum io_result result);
void io_issue_inline(struct io_kiocb *req);
void io_work_prepare(struct io_kiocb *req);
void io_issue_linked_timeout(struct io_kiocb *head);
void io_queue_to_worker(struct io_kiocb *req);
bool io_issue_heeds_nonblock(struct io_kiocb *req);
bool io_issue_find_file(struct io_kiocb *req, const struct io_op *op, unsigned int issue_flags);
io_poll_run io_hold_run(const struct io_kiocb *req);
bool io_work_in_turn(struct io_kiocb *req);
enum io_result io_multishot_go_on(struct io_kiocb *req, enum io_result result);

int io_init_slow(struct io_kiocb *req, const struct io_uring_sqe *sqe, u8 sqe_flags,
		 u16 personality);
void io_submit_chained(struct io_kiocb *req);
void io_submit_end_chain(struct io_ring_ctx *ctx);

/* attempts of a multishot request before other requests run, see multishot.c */
#define IO_MULTISHOT_SHARE	32

/* Return: true if ->issue has posted a CQE or moved data, and has to be called again. */
static inline bool io_result_is_more(enum io_result result)
{
	return result == IO_MORE || result == IO_MORE_IF_READY;
}

/* Return: the issue flags of an attempt by the submitter, without blocking. */
static inline unsigned int io_inline_flags(const struct io_ring_ctx *ctx)
{
	return IO_URING_F_NONBLOCK | IO_URING_F_COMPLETE_DEFER | ctx->issue_flags;
}

/* Record that a request has a reference to its file. */
static inline void io_file_counted(struct io_kiocb *req)
{
	req->flags |= REQ_F_FILE_PUT;
	if (unlikely(io_is_uring_fops(req->file)))
		io_req_track(req);
}

/* Look up the file of the descriptor in ->cqe.res.  Return: true if there is a file. */
static inline bool io_file_assign(struct io_kiocb *req, unsigned int issue_flags)
{
	if (req->flags & REQ_F_FIXED_FILE)
		return io_file_assign_fixed(req, req->cqe.res, issue_flags);
	return io_file_assign_plain(req);
}

/* Assign the file of a request for an attempt of the submitter. */
static inline bool io_file_assign_inline(struct io_kiocb *req, const struct io_op *op,
					 unsigned int issue_flags)
{
	if (op->borrows_file && !(req->flags & REQ_F_FIXED_FILE))
		return io_file_borrow(req);
	return io_file_assign(req, issue_flags);
}

/* Return: true if the request has no reference to its file.  For ops with borrows_file. */
static inline bool io_file_is_borrowed(const struct io_kiocb *req)
{
	return !(req->flags & (REQ_F_FILE_PUT | REQ_F_FILE_NODE));
}

/* In debug kernels, check the rules of borrows_file, and poison a file pointer that is invalid. */
static inline void io_file_check(struct io_kiocb *req, const struct io_op *op,
				 enum io_result result)
{
#ifdef CONFIG_IO_URING_DEBUG
	if (!op->borrows_file || WARN_ON_ONCE(result == IO_PENDING))
		return;
	if (result == IO_DONE && io_file_is_borrowed(req))
		memset(&req->file, POISON_INUSE, sizeof(req->file));
#endif
}

static __always_inline enum io_result io_issue_op(struct io_kiocb *req, const struct io_op *op,
						  unsigned int issue_flags)
{
	enum io_result result = op->issue(req, issue_flags);

	io_file_check(req, op, result);
	return result;
}

/* Return: true if no audit record is needed.  Most ops are audited, but only few tasks are. */
static inline bool io_op_unaudited(const struct io_op *op)
{
	return op->audit_skip || !audit_context();
}

/* Issue a request for the first time, with current's credentials. */
static inline enum io_result io_issue_first(struct io_kiocb *req, const struct io_op *op,
					    unsigned int issue_flags)
{
	io_req_move(req, IO_REQ_ISSUING);
	if (op->needs_file) {
		req->file = NULL;
		if (unlikely(!io_file_assign_inline(req, op, issue_flags)))
			return io_done(req, -EBADF);
	}
	if (likely(io_op_unaudited(op)))
		return io_issue_op(req, op, issue_flags);
	return io_issue_slow(req, op, issue_flags);
}

/* Issue a request that has its file, with the credentials of its submitter. */
static inline enum io_result io_issue_as_submitter(struct io_kiocb *req, const struct io_op *op,
						   unsigned int issue_flags)
{
	if (likely(io_op_unaudited(op) &&
		   (!(req->flags & REQ_F_CREDS) || req->creds == current_cred())))
		return io_issue_op(req, op, issue_flags);
	return io_issue_slow(req, op, issue_flags);
}

/* Look up the file if the request has none yet, then call io_issue_as_submitter(). */
static inline enum io_result io_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	const struct io_op *op = io_ops[req->opcode];

	io_req_move(req, IO_REQ_ISSUING);
	if (op->needs_file && !req->file && !io_issue_find_file(req, op, issue_flags))
		return io_done(req, -EBADF);
	return io_issue_as_submitter(req, op, issue_flags);
}

/**
 * io_issue_allowed - check whether current may still issue requests
 * @req: the request to be issued
 * @issue_flags: IO_URING_F_TASK_DEAD if the task is gone or killed
 *
 * Return: true if current is the request's task, is not killed, and does not exit or exec.
 */
static inline bool io_issue_allowed(const struct io_kiocb *req, unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_TASK_DEAD || current->io_uring != req->tctx)
		return false;
	return !(current->flags & PF_EXITING) && !atomic_read(&req->tctx->in_cancel);
}

/* flags of requests that io_submit_chained() has to submit, after ->prep() */
#define IO_REQ_CHAIN_FLAGS	(REQ_F_LINK | REQ_F_HARDLINK)
#define IO_REQ_SLOW_FLAGS	(IO_REQ_CHAIN_FLAGS | REQ_F_FORCE_ASYNC | REQ_F_IO_DRAIN | \
				 REQ_F_FAIL)

/* Return: true if a request still has to find its registered buffer. */
static inline bool io_buf_missing(const struct io_kiocb *req)
{
	return io_ops[req->opcode]->assign_buf && !(req->flags & REQ_F_BUF_NODE);
}

/* Return: true if the submitter issues the request right after ->prep(). */
static inline bool io_req_is_next(const struct io_kiocb *req)
{
	return !(req->flags & IO_REQ_SLOW_FLAGS) &&
	       !(req->ctx->submit_slow & (IO_SLOW_LINK | IO_SLOW_DRAIN));
}

#endif
