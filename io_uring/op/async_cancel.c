// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_ASYNC_CANCEL - end requests of this ring */

/*
 * A cancel starts to end the requests that it finds, but does not wait for their end.  Their CQEs
 * may be posted after the CQE of the cancel.
 */
#include <linux/errno.h>
#include <linux/file.h>

#include "op/list.h"
#include "rsrc/files.h"
#include "task/cancel.h"

/**
 * struct io_cancel - arguments of ASYNC_CANCEL
 * @user_data: user_data of the requests
 * @fd: descriptor or slot of the file, with IORING_ASYNC_CANCEL_FD
 * @flags: IORING_ASYNC_CANCEL_*
 * @opcode: opcode of the requests, with IORING_ASYNC_CANCEL_OP
 */
struct io_cancel {
	u64	user_data;
	s32	fd;
	u32	flags;
	u8	opcode;
};

IO_OP_DATA(io_cancel);

static int io_cancel_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_cancel *cancel = io_cancel(req);

	if (READ_ONCE(sqe->off) || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	cancel->user_data = READ_ONCE(sqe->addr);
	cancel->flags = READ_ONCE(sqe->cancel_flags);
	if (cancel->flags & ~IO_CANCEL_FLAGS)
		return -EINVAL;
	if (cancel->flags & IORING_ASYNC_CANCEL_ANY &&
	    cancel->flags & (IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_OP))
		return -EINVAL;
	if (cancel->flags & IORING_ASYNC_CANCEL_FD)
		cancel->fd = READ_ONCE(sqe->fd);
	if (cancel->flags & IORING_ASYNC_CANCEL_OP) {
		u32 opcode = READ_ONCE(sqe->len);

		if (opcode >= IORING_OP_LAST)
			return -EINVAL;
		cancel->opcode = opcode;
	}
	return 0;
}

/* Find and hold the file whose requests are to be cancelled.  Return: true if there is a file. */
static bool io_cancel_file(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_cancel *cancel = io_cancel(req);

	if (cancel->flags & IORING_ASYNC_CANCEL_FD_FIXED || req->flags & REQ_F_FIXED_FILE)
		return io_file_assign_fixed(req, cancel->fd, issue_flags);
	req->file = fget(cancel->fd);
	if (!req->file)
		return false;
	req->flags |= REQ_F_FILE_PUT;
	return true;
}

static enum io_result io_cancel_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_cancel *cancel = io_cancel(req);
	struct io_cancel_key key;

	io_cancel_key_init(&key, req->ctx, cancel->user_data, cancel->flags);
	key.opcode = cancel->opcode;
	key.self = req;
	if (cancel->flags & IORING_ASYNC_CANCEL_FD) {
		if (!io_cancel_file(req, issue_flags))
			return io_done(req, -EBADF);
		key.file = req->file;
	}
	return io_done(req, io_cancel_by_key(&key));
}

const struct io_op io_op_async_cancel = {
	.audit_skip	= 1,
	.ring_lock	= 1,
	.no_creds	= 1,
	.prep		= io_cancel_prep,
	.issue		= io_cancel_issue,
};
