// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_PIPE - create a pipe, as descriptors or in two slots */

#include <linux/audit.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/pipe_fs_i.h>
#include <linux/uaccess.h>
#include <linux/watch_queue.h>

#include "op/list.h"
#include "rsrc/files.h"

/**
 * struct io_pipe - arguments of PIPE
 * @ufds: user memory for the descriptors, or for the numbers of the slots
 * @flags: flags of pipe2(2)
 * @file_index: slot + 1 of the read end, IORING_FILE_INDEX_ALLOC, or 0 for descriptors
 */
struct io_pipe {
	int __user	*ufds;
	int		flags;
	u32		file_index;
};

IO_OP_DATA(io_pipe);

static int io_pipe_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_pipe *pipe = io_pipe(req);

	if (READ_ONCE(sqe->fd) || READ_ONCE(sqe->off) || READ_ONCE(sqe->addr3))
		return -EINVAL;
	pipe->ufds = u64_to_user_ptr(READ_ONCE(sqe->addr));
	pipe->flags = READ_ONCE(sqe->pipe_flags);
	pipe->file_index = READ_ONCE(sqe->file_index);
	if (pipe->flags & ~(O_CLOEXEC | O_NONBLOCK | O_DIRECT | O_NOTIFICATION_PIPE))
		return -EINVAL;
	return 0;
}

/* Reserve two descriptors.  Return: 0, or a negative errno. */
static int io_pipe_reserve(int fds[2], int flags)
{
	fds[0] = get_unused_fd_flags(flags);
	if (fds[0] < 0)
		return fds[0];
	fds[1] = get_unused_fd_flags(flags);
	if (fds[1] >= 0)
		return 0;
	put_unused_fd(fds[0]);
	return fds[1];
}

/* Install the ends as descriptors.  Consumes both references, also on failure. */
static int io_pipe_install(const struct io_pipe *pipe, struct file *files[2])
{
	int fds[2], ret = io_pipe_reserve(fds, pipe->flags & O_CLOEXEC);

	if (!ret && copy_to_user(pipe->ufds, fds, sizeof(fds))) {
		put_unused_fd(fds[0]);
		put_unused_fd(fds[1]);
		ret = -EFAULT;
	}
	if (ret) {
		fput(files[0]);
		fput(files[1]);
		return ret;
	}
	audit_fd_pair(fds[0], fds[1]);
	fd_install(fds[0], files[0]);
	fd_install(fds[1], files[1]);
	return 0;
}

static enum io_result io_pipe_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	const struct io_pipe *pipe = io_pipe(req);
	struct file *files[2];
	int ret;

	/*
	 * exec does not close registered files, so a slot cannot have O_CLOEXEC.  As on 7.3, the
	 * requests ahead in the chain run before this is checked.
	 */
	if (pipe->file_index && pipe->flags & O_CLOEXEC)
		return io_done(req, -EINVAL);
	ret = create_pipe_files(files, pipe->flags);
	if (ret)
		return io_done(req, ret);
	if (pipe->file_index)
		ret = io_install_pair(req->ctx, files, pipe->file_index, pipe->ufds, issue_flags);
	else
		ret = io_pipe_install(pipe, files);
	return io_done(req, ret);
}

const struct io_op io_op_pipe = {
	.prep	= io_pipe_prep,
	.issue	= io_pipe_issue,
};
