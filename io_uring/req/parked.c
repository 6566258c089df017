// SPDX-License-Identifier: GPL-2.0
/* io_uring: the one lot where requests stand that wait for an event or a time */

#include <linux/log2.h>
#include <linux/slab.h>

#include "req/parked.h"

/* one bucket for each slot of the CQ, within these bounds */
#define IO_PARKED_MIN_BITS	4
#define IO_PARKED_MAX_BITS	10

/**
 * io_parked_init - an empty lot for a new ring
 * @ctx: the ring, with cq_entries set
 *
 * Return: 0 or -ENOMEM.
 */
int io_parked_init(struct io_ring_ctx *ctx)
{
	ctx->parked_bits = clamp(ilog2(ctx->cq_entries), IO_PARKED_MIN_BITS, IO_PARKED_MAX_BITS);
	ctx->parked = kvcalloc(1U << ctx->parked_bits, sizeof(*ctx->parked), GFP_KERNEL_ACCOUNT);
	return ctx->parked ? 0 : -ENOMEM;
}

/**
 * io_parked_free - the lot of a ring that goes
 * @ctx: the ring, without requests
 */
void io_parked_free(struct io_ring_ctx *ctx)
{
	kvfree(ctx->parked);
}
