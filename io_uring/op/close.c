// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_CLOSE - close a descriptor, or empty a slot of the registered files */

/*
 * The descriptor is taken out of the table and its file looked at under one
 * hold of the table's lock, so that what was examined is what is closed.
 * Files that have to write something back when they are closed do that in a
 * worker.  Rings are refused: the request would close the ring it lives in.
 */
#include <linux/errno.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/io_uring.h>

#include "../../fs/internal.h"

#include "op/list.h"
#include "op/result.h"
#include "ring/locks.h"
#include "rsrc/files.h"

/**
 * struct io_close - what to close
 * @fd: descriptor
 * @file_index: slot + 1, or 0 for a descriptor
 */
struct io_close {
	int	fd;
	u32	file_index;
};

IO_OP_DATA(io_close);

static int io_close_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_close *close = io_close(req);

	if (READ_ONCE(sqe->off) || READ_ONCE(sqe->addr) || READ_ONCE(sqe->len) ||
	    READ_ONCE(sqe->rw_flags) || req->buf_index)
		return -EINVAL;
	if (req->flags & REQ_F_FIXED_FILE)
		return -EBADF;
	close->fd = READ_ONCE(sqe->fd);
	close->file_index = READ_ONCE(sqe->file_index);
	return close->fd && close->file_index ? -EINVAL : 0;
}

static enum io_result io_close_slot(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = req->ctx;
	int ret;

	ret = io_issue_lock(ctx, issue_flags);
	if (ret)
		return io_done(req, ret);
	ret = io_fixed_fd_remove(ctx, io_close(req)->file_index - 1);
	io_issue_unlock(ctx, issue_flags);
	return io_done(req, ret);
}

/* Take the file out of the table.  Return: the file, NULL, or -EAGAIN for a worker's turn. */
static struct file *io_close_take(int fd, bool may_flush)
{
	struct files_struct *files = current->files;
	struct file *file;

	guard(spinlock)(&files->file_lock);
	file = files_lookup_fd_locked(files, fd);
	if (!file || io_is_uring_fops(file))
		return NULL;
	if (file->f_op->flush && !may_flush)
		return ERR_PTR(-EAGAIN);
	return file_close_fd_locked(files, fd);
}

static enum io_result io_close_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_close *close = io_close(req);
	struct file *file;

	if (close->file_index)
		return io_close_slot(req, issue_flags);
	file = io_close_take(close->fd, !(issue_flags & IO_URING_F_NONBLOCK));
	if (IS_ERR(file))
		return IO_AGAIN;
	if (!file)
		return io_done(req, -EBADF);
	return io_done(req, io_no_restart(filp_close(file, current->files)));
}

const struct io_op io_op_close = {
	.prep	= io_close_prep,
	.issue	= io_close_issue,
};
