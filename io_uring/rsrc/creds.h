/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: personalities, credentials that requests can be issued with */
#ifndef IO_RSRC_CREDS_H
#define IO_RSRC_CREDS_H

#include <linux/cred.h>
#include <linux/xarray.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

/* a 0 in an SQE stands for no personality, so XA_FLAGS_ALLOC1 makes the ids begin at 1 */
static inline void io_creds_init(struct io_ring_ctx *ctx)
{
	xa_init_flags(&ctx->creds.personalities, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
}

/* Free the rest of a ring's credentials, after io_personalities_free(). */
static inline void io_creds_free(struct io_ring_ctx *ctx)
{
	if (ctx->creds.sq)
		put_cred(ctx->creds.sq);
	xa_destroy(&ctx->creds.personalities);
}

int io_register_personality(struct io_ring_ctx *ctx);
int io_unregister_personality(struct io_ring_ctx *ctx, unsigned int id);
const struct cred *io_personality_get(struct io_ring_ctx *ctx, unsigned int id);
void io_personalities_free(struct io_ring_ctx *ctx);

#endif
