/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: settings: which tasks may set up rings on this machine */
#ifndef IO_SYSCTL_H
#define IO_SYSCTL_H
#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

/**
 * io_uring_may_setup - may the current task create a ring?
 *
 * Asked by io_uring_setup(2) before anything else.  Rings that exist are not
 * affected by a later change of the settings.
 *
 * Context: task context, any lock.
 * Return: 0, or -EPERM.
 */
int io_uring_may_setup(void);

#endif
