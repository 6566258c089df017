/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: personalities, credentials that requests can be issued with */
#ifndef IO_RSRC_CREDS_H
#define IO_RSRC_CREDS_H

#include <linux/io_uring_types.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

struct cred;

/* ctx->personalities is set up with XA_FLAGS_ALLOC1: 0 in an SQE means none */
int io_register_personality(struct io_ring_ctx *ctx);
int io_unregister_personality(struct io_ring_ctx *ctx, unsigned int id);
const struct cred *io_personality_get(struct io_ring_ctx *ctx, unsigned int id);
void io_personalities_free(struct io_ring_ctx *ctx);

#endif
