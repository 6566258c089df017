// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_FILES_UPDATE - change registered files from the ring */

/*
 * This op changes registered files like IORING_REGISTER_FILES_UPDATE, but in order with other
 * requests.  rsrc/files.c does the work, under the ring lock.  The result is the number of slots
 * that were changed.
 */
#include <linux/errno.h>

#include "op/list.h"
#include "rsrc/files.h"

/**
 * struct io_fupdate - arguments of FILES_UPDATE
 * @addr: user address of the descriptors
 * @offset: the first slot
 * @len: number of slots
 */
struct io_fupdate {
	u64	addr;
	u32	offset;
	u32	len;
};

IO_OP_DATA(io_fupdate);

static int io_files_update_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_fupdate *up = io_fupdate(req);

	if (req->flags & (REQ_F_FIXED_FILE | REQ_F_BUFFER_SELECT))
		return -EINVAL;
	if (READ_ONCE(sqe->rw_flags) || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	up->addr = READ_ONCE(sqe->addr);
	up->offset = READ_ONCE(sqe->off);
	up->len = READ_ONCE(sqe->len);
	return up->len ? 0 : -EINVAL;
}

static enum io_result io_files_update_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_fupdate *up = io_fupdate(req);

	return io_done(req, io_files_update_op(req->ctx, up->addr, up->offset, up->len));
}

const struct io_op io_op_files_update = {
	.iopoll		= 1,
	.audit_skip	= 1,
	.ring_lock	= 1,
	.prep		= io_files_update_prep,
	.issue		= io_files_update_issue,
};
