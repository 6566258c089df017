/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: IOSQE_IO_DRAIN, requests that wait for all earlier ones */
#ifndef IO_REQ_DRAIN_H
#define IO_REQ_DRAIN_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

/* Whether chains behind a drained one wait for its start alone, as on 6.12. */
#ifndef IO_DRAIN_UNTIL_START
#define IO_DRAIN_UNTIL_START	false
#endif

static inline void io_drain_init(struct io_ring_ctx *ctx)
{
	ctx->drain.tail = &ctx->drain.first;
}

/* As on 6.12, a ring refuses IOSQE_IO_DRAIN once an SQE has had IOSQE_CQE_SKIP_SUCCESS. */
static inline void io_drain_disable(struct io_ring_ctx *ctx)
{
	io_assert_ring(ctx);
	ctx->drain.disabled = true;
}

bool io_drain_waits(const struct io_kiocb *head);
void io_drain_add(struct io_kiocb *head);
void io_drain_check(struct io_ring_ctx *ctx);
struct io_tw *io_drain_take_matching(struct io_ring_ctx *ctx, struct io_uring_task *tctx);

#endif
