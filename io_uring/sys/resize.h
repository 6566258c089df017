/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: IORING_REGISTER_RESIZE_RINGS - queues of another size */
#ifndef IO_SYS_RESIZE_H
#define IO_SYS_RESIZE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

int io_resize(struct io_ring_ctx *ctx, void __user *arg);

#endif
