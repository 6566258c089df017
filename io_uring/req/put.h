/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the last reference to a file that a request or a slot held */
#ifndef IO_REQ_PUT_H
#define IO_REQ_PUT_H

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

void io_owner_init(struct io_owner *owner);
bool io_owner_is_current(const struct io_owner *owner);
bool io_file_lingers(struct file *file);
void io_file_put_late(struct io_ring_ctx *ctx, struct file *file);

/* Return: true if current is a task that may run the release of a file itself. */
static inline bool io_file_put_waits(void)
{
	return likely(!(current->flags & (PF_KTHREAD | PF_EXITING)));
}

/**
 * io_file_put - drop a reference to a file, perhaps the last one
 * @ctx: the ring that held the file
 * @file: the file
 *
 * Does not wait for the release of the file.  A task runs the release when it returns to user mode.
 * For kernel threads, a work item of the ring's user runs the release.  For exiting tasks and
 * closed rings, the work item runs a release that may take long.
 *
 * Context: Task context.
 */
static inline void io_file_put(struct io_ring_ctx *ctx, struct file *file)
{
	if (io_file_put_waits() && likely(!READ_ONCE(ctx->dying)))
		fput(file);
	else
		io_file_put_late(ctx, file);
}

/* Put a request's file like io_file_put(), but do not read req->ctx to check for a closed ring. */
static inline void io_req_file_put(struct io_kiocb *req, struct file *file)
{
	if (io_file_put_waits())
		fput(file);
	else
		io_file_put_late(req->ctx, file);
}

/**
 * io_file_keeps_exec - check whether execve() of a file fails while this open file exists
 * @file: the file
 *
 * A worker drops such a file before it posts the CQE.  Unlinked files are excluded: no program
 * waits for their release, which may take long.
 *
 * Return: true for a regular file that is open for writing and has a name.
 */
static inline bool io_file_keeps_exec(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return file->f_mode & FMODE_WRITE && S_ISREG(inode->i_mode) && inode->i_nlink;
}

#endif
