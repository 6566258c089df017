// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_CLOSE - close a descriptor, or empty a slot of the registered files */

/*
 * The descriptor is taken out of the table and its file looked at under one
 * hold of the table's lock, so that what was examined is what is closed.
 * Files that have to write something back when they are closed do that in a
 * worker.  Rings are refused: the request would close the ring it lives in.
 *
 * A request that is linked to a CLOSE may need the file to be gone: the port of a listener is
 * free, a pipe has no reader.  fput() lets the file go when the task leaves the kernel, which is
 * too late, and it must not go under the ring lock, as that may take long.  So a CLOSE in front
 * of others puts the last reference by itself, from task work or in a worker, and is done after
 * that.  Other holders keep the file: another descriptor, a request, and for an instant also a
 * worker that has just ended one.  A CLOSE that has a limit does not wait,
 * as the limit could not end it, nor does that of a socket that would linger.
 *
 * A worker does the same for a regular file that is open for writing: when the result is there,
 * the program may execute what it has written.
 */
#include <linux/errno.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/task_work.h>

#include "../../fs/internal.h"

#include "complete/complete.h"
#include "op/list.h"
#include "op/result.h"
#include "req/put.h"
#include "ring/locks.h"
#include "rsrc/files.h"

/**
 * struct io_close - what to close
 * @fd: descriptor
 * @file_index: slot + 1, or 0 for a descriptor
 * @file: that was closed, counted, if the CLOSE is done only when it is gone
 * @gone: puts @file
 * @req: the request, for @gone
 */
struct io_close {
	int			fd;
	u32			file_index;
	struct file		*file;
	struct callback_head	gone;
	struct io_kiocb		*req;
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

/* Return: true if the CLOSE is done when the file is gone, unless others hold it. */
static bool io_close_waits(const struct io_kiocb *req, struct file *file, unsigned int issue_flags)
{
	if (req->flags & REQ_F_HAS_TIMEOUT)
		return false;
	if (req->flags & REQ_F_HAS_LINK)
		return !io_file_lingers(file);
	return issue_flags & IO_URING_F_UNLOCKED && io_file_keeps_exec(file);
}

/* A reference that keeps the file until the end of the CLOSE, if that waits for it. */
static void io_close_keep(struct io_kiocb *req, struct file *file, unsigned int issue_flags)
{
	if (unlikely(io_close_waits(req, file, issue_flags)))
		io_close(req)->file = get_file(file);
}

/* Task work: the last reference to the file goes, then the chain goes on. */
static void io_close_put(struct callback_head *gone)
{
	struct io_close *close = container_of(gone, struct io_close, gone);

	__fput_sync(close->file);
	io_complete_later(close->req);
}

/* The descriptor or slot is empty.  Return: what becomes of the request. */
static enum io_result io_close_end(struct io_kiocb *req, int ret, unsigned int issue_flags)
{
	struct io_close *close = io_close(req);

	io_done(req, io_no_restart(ret));
	if (likely(!close->file))
		return IO_DONE;
	if (issue_flags & IO_URING_F_UNLOCKED) {
		__fput_sync(close->file);
		return IO_DONE;
	}
	close->req = req;
	init_task_work(&close->gone, io_close_put);
	/* others have it, or current does not come that way any more */
	if (file_count(close->file) > 1 || task_work_add(current, &close->gone, TWA_RESUME)) {
		fput(close->file);
		return IO_DONE;
	}
	return IO_PENDING;
}

static enum io_result io_close_slot(struct io_kiocb *req, unsigned int issue_flags)
{
	unsigned int slot = io_close(req)->file_index - 1;
	struct io_ring_ctx *ctx = req->ctx;
	struct io_rsrc_node *node;
	int ret;

	ret = io_issue_lock(ctx, issue_flags);
	if (ret)
		return io_done(req, ret);
	node = io_rsrc_find(&ctx->file_table.data, slot);
	if (node)
		io_close_keep(req, io_file_node(node)->file, issue_flags);
	ret = io_fixed_fd_remove(ctx, slot);
	io_issue_unlock(ctx, issue_flags);
	return io_close_end(req, ret, issue_flags);
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

	close->file = NULL;
	if (close->file_index)
		return io_close_slot(req, issue_flags);
	file = io_close_take(close->fd, !(issue_flags & IO_URING_F_NONBLOCK));
	if (IS_ERR(file))
		return IO_AGAIN;
	if (!file)
		return io_done(req, -EBADF);
	io_close_keep(req, file, issue_flags);
	return io_close_end(req, filp_close(file, current->files), issue_flags);
}

const struct io_op io_op_close = {
	.prep	= io_close_prep,
	.issue	= io_close_issue,
};
