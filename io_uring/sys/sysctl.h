/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: settings: which tasks may set up rings on this machine */
#ifndef IO_SYSCTL_H
#define IO_SYSCTL_H
#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

/**
 * io_uring_may_setup - check whether the current task may create a ring
 *
 * io_uring_setup(2) calls this first.  A later change of the settings does not affect rings
 * that exist.
 *
 * Context: Task context.
 *
 * Return: 0, -EPERM, or an error of the security module
 */
int io_uring_may_setup(void);

#endif
