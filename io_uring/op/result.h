/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: check files for calls of the VFS, and convert their return values to results */
#ifndef IO_OP_RESULT_H
#define IO_OP_RESULT_H

#include <linux/errno.h>
#include <linux/fs.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

#include "op.h"

/*
 * Replace a code with which the entry code would restart the system call, as a CQE cannot do this.
 * Return: -EINTR instead of such a code, otherwise @ret.
 */
static inline ssize_t io_no_restart(ssize_t ret)
{
	bool restart = ret == -ERESTARTSYS || ret == -ERESTARTNOINTR ||
		       ret == -ERESTARTNOHAND || ret == -ERESTART_RESTARTBLOCK;

	return restart ? -EINTR : ret;
}

/*
 * Return: true for a file that was opened with O_PATH.  Its filesystem has not opened the file, and
 * may crash.  fget() does not return such a file, but a slot can have one.
 */
static inline bool io_file_is_path(const struct file *file)
{
	return unlikely(file->f_mode & FMODE_PATH);
}

#endif
