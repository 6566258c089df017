// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_CLOSE - close a descriptor, or empty a slot of the registered files */

/*
 * A CLOSE holds the lock of the descriptor table while it checks the file and removes the
 * descriptor, so it closes the file that it has checked.  A worker closes files with ->flush(),
 * which may write data back.  Rings are refused, since a request must not close its own ring.
 *
 * A request that is linked to a CLOSE may need the file to be released: the port of a listener has
 * to be free, or a pipe has to be without readers.  fput() releases a file when the task returns to
 * user space, which is too late.  A release under the ring lock could hold that lock for long.  So
 * a CLOSE with a linked request drops the last reference itself, in task work or in a worker, and
 * completes after that.
 *
 * A CLOSE does not wait for other holders of the file: another descriptor, a request, or, briefly,
 * a worker that has just completed a request.  A CLOSE with a LINK_TIMEOUT does not wait at all, as
 * the timeout could not end the wait.  The CLOSE of a lingering socket does not wait, either.
 *
 * A worker also waits for the release of a regular file that is open for writing.  So the program
 * may execute the file as soon as the CQE is posted.
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
 * struct io_close - arguments and state of a CLOSE
 * @fd: descriptor
 * @file_index: slot + 1, or 0 for a descriptor
 * @file: closed file, with a reference, if the CLOSE waits for its release; otherwise NULL
 * @gone: task work that puts @file, and completes @req
 * @req: the request
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

/* Return: true if the CLOSE has to wait for the release of the file. */
static bool io_close_waits(const struct io_kiocb *req, struct file *file, unsigned int issue_flags)
{
	if (req->flags & REQ_F_HAS_TIMEOUT)
		return false;
	if (req->flags & REQ_F_HAS_LINK)
		return !io_file_lingers(file);
	return issue_flags & IO_URING_F_UNLOCKED && io_file_keeps_exec(file);
}

/* Get a reference to the file, if the CLOSE has to wait for its release. */
static void io_close_keep(struct io_kiocb *req, struct file *file, unsigned int issue_flags)
{
	if (unlikely(io_close_waits(req, file, issue_flags)))
		io_close(req)->file = get_file(file);
}

/* Task work: release the file, then complete the request, so that its chain continues. */
static void io_close_put(struct callback_head *gone)
{
	struct io_close *close = container_of(gone, struct io_close, gone);

	__fput_sync(close->file);
	io_complete_later(close->req);
}

/* Set the result, and put the file if it was kept.  Return: the return value of ->issue(). */
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
	/* do not wait if the file has other holders, or if current runs no more task work */
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

/*
 * Remove a file from the table of descriptors.  Return: the file; NULL if @fd is not open or is a
 * ring; ERR_PTR(-EAGAIN) if a worker has to close the file.
 */
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
