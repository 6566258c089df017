/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: convert return values of the VFS to results for user space */
#ifndef IO_OP_RESULT_H
#define IO_OP_RESULT_H

#include <linux/errno.h>

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

#endif
