/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the end of a ring */
#ifndef IO_TASK_EXIT_H
#define IO_TASK_EXIT_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_TASK
#error "task/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

void io_ring_kill(struct io_ring_ctx *ctx);
void io_ring_refs_gone(struct percpu_ref *ref);

#endif
