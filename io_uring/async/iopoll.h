/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: requests whose completion is found by polling the device */
#ifndef IO_ASYNC_IOPOLL_H
#define IO_ASYNC_IOPOLL_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_ASYNC
#error "async/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

struct io_uring_cmd;
struct kiocb;

/* Ops that can be polled have their kiocb at the start of the op data. */
static inline struct kiocb *io_req_kiocb(struct io_kiocb *req)
{
	return (struct kiocb *)req->data;
}

static inline struct io_kiocb *io_kiocb_to_req(struct kiocb *kiocb)
{
	return container_of((void *)kiocb, struct io_kiocb, data);
}

/* URING_CMD has the struct io_uring_cmd of its driver at the start of the op data. */
static inline struct io_uring_cmd *io_req_cmd(struct io_kiocb *req)
{
	return (struct io_uring_cmd *)req->data;
}

static inline void io_iopoll_init(struct io_ring_ctx *ctx)
{
	ctx->polled.tail = &ctx->polled.first;
}

/**
 * io_iopoll_pending - check for polled requests in flight
 * @ctx: the ring
 *
 * Return: true if there are such requests; without the ring lock the value may be outdated.
 */
static inline bool io_iopoll_pending(const struct io_ring_ctx *ctx)
{
	return READ_ONCE(ctx->polled.first);
}

/**
 * io_iopoll_done - mark a polled request that its driver has finished
 * @req: the request, with its result set; the caller must not access it afterwards
 *
 * Context: Any.
 */
static inline void io_iopoll_done(struct io_kiocb *req)
{
	/* pairs with the acquire load in io_iopoll_is_done() */
	smp_store_release(&req->iopoll_done, 1);
}

/* Return: true if the driver has finished the request. */
static inline bool io_iopoll_is_done(const struct io_kiocb *req)
{
	/* pairs with io_iopoll_done(): the caller reads the result that the driver has stored */
	return smp_load_acquire(&req->iopoll_done);
}

/**
 * io_iopoll_add - add a request to the polled requests in flight
 * @req: the request; ring lock held
 *
 * If the request has REQ_F_REISSUE when it is done, or has REQ_F_POLL_CMD, it is not completed, but
 * its tw.run is called.
 */
static inline void io_iopoll_add(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	io_req_move(req, IO_REQ_WAITING);
	req->tw.next = NULL;
	WRITE_ONCE(*ctx->polled.tail, &req->tw);
	ctx->polled.tail = &req->tw.next;
}

void io_iopoll_add_later(struct io_kiocb *req);
void io_iopoll_add_unlisted(struct io_ring_ctx *ctx);
bool io_iopoll_orphaned(struct io_ring_ctx *ctx);
unsigned int io_iopoll_reap(struct io_ring_ctx *ctx);

#endif
