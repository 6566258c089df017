/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: reads and writes whose end is found by asking the device */
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

/* URING_CMD has the command, as its driver sees it, at the start of the op data. */
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
 * Return: true if there are any; a snapshot without the ring lock.
 */
static inline bool io_iopoll_pending(const struct io_ring_ctx *ctx)
{
	return READ_ONCE(ctx->polled.first);
}

/**
 * io_iopoll_done - mark a polled request that its driver has finished
 * @req: the request, its result is set; afterwards the task that reaps it owns it
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
	/* after this, the caller sees what the driver stored before io_iopoll_done() */
	return smp_load_acquire(&req->iopoll_done);
}

/**
 * io_iopoll_add - list a request that a polled device works on
 * @req: the request; ring lock held
 *
 * If the request ends with REQ_F_REISSUE, or has REQ_F_POLL_CMD, its tw.run is called instead
 * of completing it.
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
