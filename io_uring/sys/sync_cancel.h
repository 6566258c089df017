/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: IORING_REGISTER_SYNC_CANCEL - end requests and wait for their end */
#ifndef IO_SYS_SYNC_CANCEL_H
#define IO_SYS_SYNC_CANCEL_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

int io_sync_cancel(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr);

#endif
