/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the end of a request */
#ifndef IO_REQ_FREE_H
#define IO_REQ_FREE_H

#include <linux/sched.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/node.h"
#include "req/req.h"

#define IO_REQ_CLEAN_FLAGS	(REQ_F_NEED_CLEANUP | REQ_F_ASYNC_DATA | REQ_F_FILE_PUT | \
				 REQ_F_CREDS | REQ_F_TRACKED)

void io_tctx_keep_mm(struct io_uring_task *tctx);
void io_req_clean(struct io_kiocb *req);
void io_req_retire(struct io_kiocb *req);
void io_req_reclaim_retired(struct io_ring_ctx *ctx);

/* Uncharge the task of a request. */
static inline void io_req_uncharge(struct io_kiocb *req)
{
	struct io_uring_task *tctx = req->tctx;

	/* io_req_retire() has uncharged the task already */
	if (unlikely(!tctx))
		return;
	if (likely(current->io_uring == tctx))
		tctx->credit++;
	else
		io_tctx_uncharge(tctx);
}

/* io_req_give_back() calls this while drained requests wait for other requests to end. */
void io_req_freed_drain(struct io_ring_ctx *ctx);

/* Recycle a request that has no references and no resources, and uncharge its task. */
static inline void io_req_give_back(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	io_req_uncharge(req);
	io_req_recycle(req);
	if (unlikely(ctx->submit_slow & IO_SLOW_DRAIN))
		io_req_freed_drain(ctx);
}

/**
 * io_req_free - release the resources of a request and recycle it
 * @req: the request, without references, after its CQE was posted; ring lock held
 */
static inline void io_req_free(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;
	io_req_flags_t flags = req->flags;

	if (unlikely(flags & IO_REQ_CLEAN_FLAGS))
		io_req_clean(req);
	if (flags & REQ_F_FILE_NODE)
		io_node_put(ctx, req->file_node);
	if (flags & REQ_F_BUF_NODE)
		io_node_put(ctx, req->buf_node);
	io_req_move(req, IO_REQ_FREE);
	io_req_give_back(ctx, req);
}

#endif
