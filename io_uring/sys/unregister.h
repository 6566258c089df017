/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: IORING_UNREGISTER_BUFFERS - wait until no request uses the buffers */
#ifndef IO_SYS_UNREGISTER_H
#define IO_SYS_UNREGISTER_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

struct io_ring_ctx;

int io_unregister_buffers(struct io_ring_ctx *ctx);

#endif
