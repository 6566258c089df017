/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: a task that waits for sockets polls their network devices */
#ifndef IO_ASYNC_NAPI_H
#define IO_ASYNC_NAPI_H

#include <linux/jump_label.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_ASYNC
#error "async/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

/*
 * A ring with IORING_REGISTER_NAPI stores the NAPI IDs of the sockets that its requests wait for,
 * or with static tracking those that the program adds.
 * A task that waits for CQEs polls the NAPI instances of these IDs before it sleeps, and an SQPOLL
 * thread polls them in each round.  So packets are received without an interrupt.
 */
#ifdef CONFIG_NET_RX_BUSY_POLL
/* true from the first IORING_REGISTER_NAPI until reboot */
DECLARE_STATIC_KEY_FALSE(io_napi_used);

void io_napi_meet_file(struct io_ring_ctx *ctx, struct file *file);
void io_napi_poll(struct io_ring_ctx *ctx, bool (*end)(void *arg, unsigned long start), void *arg);
int io_napi_register(struct io_ring_ctx *ctx, void __user *arg);
int io_napi_unregister(struct io_ring_ctx *ctx, void __user *arg);

/* Store the NAPI ID of a file that a request waits for; ring lock held. */
static inline void io_napi_meet(struct io_ring_ctx *ctx, struct file *file)
{
	if (static_branch_unlikely(&io_napi_used) && ctx->napi.learns)
		io_napi_meet_file(ctx, file);
}

/* Return: true if the ring has stored NAPI IDs to poll, and its time for polling is not 0. */
static inline bool io_napi_polls(const struct io_ring_ctx *ctx)
{
	return static_branch_unlikely(&io_napi_used) && READ_ONCE(ctx->napi.time_us) &&
	       READ_ONCE(ctx->napi.nr);
}
#else
static inline void io_napi_meet(struct io_ring_ctx *ctx, struct file *file)
{
}

static inline bool io_napi_polls(const struct io_ring_ctx *ctx)
{
	return false;
}

static inline void io_napi_poll(struct io_ring_ctx *ctx,
				bool (*end)(void *arg, unsigned long start), void *arg)
{
}

static inline int io_napi_register(struct io_ring_ctx *ctx, void __user *arg)
{
	return -EOPNOTSUPP;
}

static inline int io_napi_unregister(struct io_ring_ctx *ctx, void __user *arg)
{
	return -EOPNOTSUPP;
}
#endif

#endif
