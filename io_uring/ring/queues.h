/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: memory of the queues of a ring, and its replacement */
#ifndef IO_RING_QUEUES_H
#define IO_RING_QUEUES_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_RING
#error "ring/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

/* setup flags that determine the layout of the queues */
#define IO_LAYOUT_FLAGS	(IORING_SETUP_NO_MMAP | IORING_SETUP_NO_SQARRAY | IORING_SETUP_SQE128 | \
			 IORING_SETUP_SQE_MIXED | IORING_SETUP_CQE32 | IORING_SETUP_CQE_MIXED)

int io_queues_sizes(struct io_uring_params *p, unsigned int entries);
struct io_queues *io_queues_create(struct io_uring_params *p);
void io_queues_reset(struct io_queues *queues);
void io_queues_use(struct io_ring_ctx *ctx, struct io_queues *queues);
void io_queues_limit_old(struct io_ring_ctx *ctx);
void io_queues_replace(struct io_ring_ctx *ctx, struct io_queues *queues);
struct io_queues *io_queues_get(struct io_ring_ctx *ctx);
void io_queues_put(struct io_queues *queues);

/* Return: the memory in use, for the holder of the ring lock. */
static inline struct io_queues *io_queues_locked(struct io_ring_ctx *ctx)
{
	return rcu_dereference_protected(ctx->queues, lockdep_is_held(&ctx->uring_lock.mutex));
}

#endif
