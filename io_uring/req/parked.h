/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the one lot where requests stand that wait for an event or a time */
#ifndef IO_REQ_PARKED_H
#define IO_REQ_PARKED_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/hash.h>

#include "req/req.h"

/*
 * A request whose end depends on something that may never come is here from
 * before it can be woken until who ends it takes it out, both under the ring
 * lock: cancel, exit, exec and fdinfo find it at any time in between, also
 * while it lies in a mailbox.  The bucket follows from the user_data, which is
 * what programs name their requests by.
 *
 * A worker that parks its request lets the pool forget it in the same critical
 * section (io_wq_disown()), so that under the ring lock it is in exactly one of
 * the two places.
 */

static inline struct hlist_head *io_parked_bucket(struct io_ring_ctx *ctx, u64 user_data)
{
	return &ctx->parked[hash_64(user_data, ctx->parked_bits)];
}

/*
 * May a request be parked still?  Who ends a task or a ring raises one of these
 * flags, then looks through the lot under the ring lock.  So who parks asks in
 * the same hold of the lock, and ends the request with -ECANCELED if the answer
 * is no: either it sees the flag, or its request is found.
 */
static inline bool io_may_park(const struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	return !READ_ONCE(req->ctx->dying) && !atomic_read(&req->tctx->in_cancel);
}

/* Put a request into the lot; ring lock held, io_may_park(). */
static inline void io_park(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	hlist_add_head(&req->parked, io_parked_bucket(ctx, req->cqe.user_data));
	req->flags |= REQ_F_PARKED;
}

/* Take it out; ring lock held. */
static inline void io_unpark(struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	if (WARN_ON_ONCE(!(req->flags & REQ_F_PARKED)))
		return;
	__hlist_del(&req->parked);
	req->flags &= ~REQ_F_PARKED;
}

/* All parked requests; @req may be taken out on the way. */
#define io_for_each_parked(ctx, bucket, tmp, req)					\
	for ((bucket) = (ctx)->parked;							\
	     (bucket) < (ctx)->parked + (1U << (ctx)->parked_bits); (bucket)++)		\
		hlist_for_each_entry_safe(req, tmp, bucket, parked)

int io_parked_init(struct io_ring_ctx *ctx);
void io_parked_free(struct io_ring_ctx *ctx);

#endif
