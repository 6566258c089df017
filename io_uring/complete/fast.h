/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the fast paths of complete/complete.h, for most requests */
#ifndef IO_COMPLETE_FAST_H
#define IO_COMPLETE_FAST_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_COMPLETE
#error "complete/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/tracepoint-defs.h>

#include "complete/complete.h"
#include "ring/cq_write.h"

/*
 * These functions write CQEs without a call.  Besides complete/, submit/ and task/, only a few
 * files of async/ and op/ include this file.  All others use the functions of complete/complete.h.
 */
DECLARE_TRACEPOINT(io_uring_complete);

/* flags of requests that need io_complete(); the fast path puts references to nodes itself */
#define IO_REQ_END_FLAGS	(IO_REQ_CLEAN_FLAGS | REQ_F_CQE_SKIP | REQ_F_HAS_LINK | \
				 REQ_F_REFCOUNT)

/* Implement io_complete_fast().  @extra: two more words for 32-byte CQEs, else NULL. */
static __always_inline bool io_complete_fast_with(struct io_ring_ctx *ctx,
						  struct io_kiocb *req, const u64 *extra)
{
	io_req_flags_t flags = req->flags;

	if (unlikely(flags & IO_REQ_END_FLAGS || tracepoint_enabled(io_uring_complete)))
		return false;
	if (unlikely(!(extra ? io_cq_post_large_fast(ctx, &req->cqe, extra) :
			       io_cq_post_fast(ctx, &req->cqe))))
		return false;
	io_req_move(req, IO_REQ_DONE);
	if (flags & (REQ_F_FILE_NODE | REQ_F_BUF_NODE)) {
		if (flags & REQ_F_FILE_NODE)
			io_node_put(ctx, req->file_node);
		if (flags & REQ_F_BUF_NODE)
			io_node_put(ctx, req->buf_node);
	}
	io_req_move(req, IO_REQ_FREE);
	return true;
}

/**
 * io_complete_fast - end a request on the fast path, without freeing it
 * @ctx: the ring
 * @req: the request, its result is in req->cqe; ring lock held, as for io_complete()
 *
 * Unlike io_complete(), this function leaves the request's memory and charge to the caller,
 * which may use them for the next request.
 *
 * Return: true if the request has ended; false, without a side effect, if it needs
 * io_complete().
 */
static inline bool io_complete_fast(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	return io_complete_fast_with(ctx, req, NULL);
}

/**
 * io_complete_collected - complete one of many finished requests that the caller collects
 * @ctx: the ring
 * @req: the request, as for io_complete()
 */
static inline void io_complete_collected(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	if (likely(io_complete_fast(ctx, req)))
		io_req_give_back(ctx, req);
	else
		io_complete(req);
}

/* Complete one of many finished requests with all words of a 32-byte CQE. */
static inline void io_complete_large_collected(struct io_ring_ctx *ctx, struct io_kiocb *req,
					       const u64 *extra)
{
	if (likely(io_complete_fast_with(ctx, req, extra)))
		io_req_give_back(ctx, req);
	else
		io_complete_large(req, extra);
}

/* Post one more CQE on the fast path.  Return: false if io_post_more() has to be tried. */
static __always_inline bool io_post_more_fast(struct io_kiocb *req, s32 res, u32 cflags)
{
	struct io_cqe_val val = {
		.user_data = req->cqe.user_data,
		.res = res,
		.flags = cflags | IORING_CQE_F_MORE,
	};

	return likely(!tracepoint_enabled(io_uring_complete)) &&
	       likely(io_cq_post_more_fast(req->ctx, &val));
}

#endif
