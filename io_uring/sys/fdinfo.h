/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the state of a ring in /proc/PID/fdinfo */
#ifndef IO_FDINFO_H
#define IO_FDINFO_H
#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

struct file;
struct seq_file;

/**
 * io_uring_show_fdinfo - show the state of a ring in /proc/PID/fdinfo
 * @m: output
 * @file: the ring's file; private_data is its struct io_ring_ctx
 *
 * Context: Task context.  No ring lock is held.  Does not wait for one.
 */
void io_uring_show_fdinfo(struct seq_file *m, struct file *file);

#endif
