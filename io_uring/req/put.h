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

/* Is a reference dropped by a task that goes on, and waits for the end of the file itself? */
static inline bool io_file_put_waits(void)
{
	return likely(!(current->flags & (PF_KTHREAD | PF_EXITING)));
}

/**
 * io_file_put - drop a reference to a file, perhaps the last one
 * @ctx: the ring that held it
 * @file: the file
 *
 * Task context.  Does not wait for the end of the file: a task does that when it leaves
 * the kernel, and what a kernel thread, an exiting task or a closed ring drops is left to a
 * work of the ring's user, if it may take long.
 */
static inline void io_file_put(struct io_ring_ctx *ctx, struct file *file)
{
	if (io_file_put_waits() && likely(!READ_ONCE(ctx->dying)))
		fput(file);
	else
		io_file_put_late(ctx, file);
}

/* As io_file_put() for a request, whose ring is only looked up if it is needed. */
static inline void io_req_file_put(struct io_kiocb *req, struct file *file)
{
	if (io_file_put_waits())
		fput(file);
	else
		io_file_put_late(req->ctx, file);
}

/**
 * io_file_keeps_exec - may execve() fail because a file is open?
 * @file: the file
 *
 * A result of a worker says that the worker has let go of such a file.  A file without a name
 * is left out: no program waits for its end, which may take long.
 *
 * Return: true for a regular file that is open for writing and has a name
 */
static inline bool io_file_keeps_exec(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return file->f_mode & FMODE_WRITE && S_ISREG(inode->i_mode) && inode->i_nlink;
}

#endif
