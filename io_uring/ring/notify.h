/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: notification of waiters: sleepers, poll(2) on the ring, eventfd */
#ifndef IO_RING_NOTIFY_H
#define IO_RING_NOTIFY_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

int io_eventfd_register(struct io_ring_ctx *ctx, void __user *arg, bool async);
int io_eventfd_unregister(struct io_ring_ctx *ctx);
bool io_eventfd_is(struct io_ring_ctx *ctx, struct file *file);
void io_notify_init(struct io_ring_ctx *ctx);
void io_notify_activate(struct io_ring_ctx *ctx);
void io_notify_listeners(struct io_ring_ctx *ctx);
bool io_notify_early(struct io_ring_ctx *ctx, struct task_struct *waiter);
void io_notify_listeners_late(struct io_ring_ctx *ctx, bool told);
void io_notify_overflow(struct io_ring_ctx *ctx);
void io_notify_posted(struct io_ring_ctx *ctx, bool sleepers);

#endif
