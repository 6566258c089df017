/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the ring as a file */
#ifndef IO_SYS_FILE_H
#define IO_SYS_FILE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

extern const struct file_operations io_ring_fops;

struct file *io_ring_open_file(struct io_ring_ctx *ctx);

#endif
