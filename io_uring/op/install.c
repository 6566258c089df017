// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_FIXED_FD_INSTALL - install a descriptor for a registered file */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/file.h>

#include "op/list.h"

/**
 * struct io_install - argument of FIXED_FD_INSTALL
 * @o_flags: O_CLOEXEC or 0
 */
struct io_install {
	unsigned int	o_flags;
};

IO_OP_DATA(io_install);

static int io_install_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	unsigned int flags;

	if (READ_ONCE(sqe->off) || READ_ONCE(sqe->addr) || READ_ONCE(sqe->len) ||
	    req->buf_index || READ_ONCE(sqe->splice_fd_in) || READ_ONCE(sqe->addr3))
		return -EINVAL;
	if (!(req->flags & REQ_F_FIXED_FILE))
		return -EBADF;
	flags = READ_ONCE(sqe->install_fd_flags);
	if (flags & ~IORING_FIXED_FD_NO_CLOEXEC)
		return -EINVAL;
	/* receive_fd() has to check the task's own credentials */
	if (req->flags & REQ_F_CREDS)
		return -EPERM;
	io_install(req)->o_flags = flags & IORING_FIXED_FD_NO_CLOEXEC ? 0 : O_CLOEXEC;
	return 0;
}

static enum io_result io_install_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	return io_done(req, receive_fd(req->file, NULL, io_install(req)->o_flags));
}

const struct io_op io_op_fixed_fd_install = {
	.needs_file	= 1,
	.prep		= io_install_prep,
	.issue		= io_install_issue,
};
