/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the one lot where requests stand that wait for an event or a time */
#ifndef IO_REQ_PARKED_H
#define IO_REQ_PARKED_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/err.h>
#include <linux/list.h>
#include <linux/sched/signal.h>

#include "req/req.h"

/*
 * A request whose end depends on something that may never come is here from
 * before it can be woken until whoever ends it takes it out, both under the ring
 * lock: cancel, exit, exec and fdinfo find it at any time in between, also
 * while it lies in a mailbox.
 *
 * A worker that parks its request lets the pool forget it in the same critical
 * section (io_wq_disown()), so that under the ring lock it is in exactly one of
 * the two places.
 *
 * Programs name requests by their user_data, and a hostile one parks a million.
 * So the lot is a hash table that grows with what is parked, see parked.c.  What
 * is searched for by different operations is of different kinds, in different
 * buckets, so that none has to be stepped over on the way to another.  What is
 * parked under one user_data lies in the order in which it is found: the youngest
 * poll first, but the oldest timer.
 */

static inline enum io_parked_kind io_parked_kind(const struct io_kiocb *req)
{
	return io_ops[req->opcode]->parked;
}

static inline struct list_head *io_parked_bucket(const struct io_ring_ctx *ctx, u64 user_data,
						 enum io_parked_kind kind)
{
	return &ctx->parked.buckets[(user_data * ctx->parked.factor >> ctx->parked.shift) ^ kind];
}

/* Do more requests wait than a table with so many bits has buckets, or did until lately? */
#define IO_PARKED_MANY_BITS	6

static inline bool io_parked_many(const struct io_ring_ctx *ctx)
{
	return ctx->parked.shift < 64 - IO_PARKED_MANY_BITS;
}

/* Requests in the lot. */
static inline unsigned int io_parked_nr(const struct io_ring_ctx *ctx)
{
	return (1U << (64 - ctx->parked.shift)) - ctx->parked.room;
}

void io_parked_grow(struct io_ring_ctx *ctx);
void io_parked_trim(struct io_ring_ctx *ctx);

/*
 * May a request be parked still?  The end of a task or a ring raises one of
 * these flags, then looks through the lot under the ring lock.  So whoever parks a
 * request asks in the same hold of the lock, and ends it with -ECANCELED if the
 * answer is no: either it sees the flag, or its request is found.
 */
static inline bool io_may_park(const struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	return !READ_ONCE(req->ctx->dying) && !atomic_read(&req->tctx->in_cancel);
}

/* Make room for one more.  Return: the ring. */
static inline struct io_ring_ctx *io_parked_enter(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	req->flags |= REQ_F_PARKED;
	if (unlikely(--ctx->parked.room < 0))
		io_parked_grow(ctx);
	return ctx;
}

/* Put a request that waits for a file into the lot; ring lock held, io_may_park(). */
static inline void io_park_poll(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = io_parked_enter(req);

	list_add(&req->parked, io_parked_bucket(ctx, req->cqe.user_data, IO_PARKED_POLL));
}

/* The same for one with a timer. */
static inline void io_park_timer(struct io_kiocb *req, enum io_parked_kind kind)
{
	struct io_ring_ctx *ctx = io_parked_enter(req);

	list_add_tail(&req->parked, io_parked_bucket(ctx, req->cqe.user_data, kind));
}

/* A timer has got another time: it counts as the youngest.  Ring lock held. */
static inline void io_parked_renew(struct io_kiocb *req, enum io_parked_kind kind)
{
	io_assert_ring(req->ctx);
	list_move_tail(&req->parked, io_parked_bucket(req->ctx, req->cqe.user_data, kind));
}

/*
 * Nothing that looks for it from here on could end it any more: it stays parked,
 * but is not found, and nobody has to step over it.  Ring lock held.
 */
static inline void io_parked_hide(struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	list_del_init(&req->parked);
}

/* Take it out; ring lock held. */
static inline void io_unpark(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	if (WARN_ON_ONCE(!(req->flags & REQ_F_PARKED)))
		return;
	__list_del_entry(&req->parked);
	ctx->parked.room++;
	req->flags &= ~REQ_F_PARKED;
}

static inline struct list_head *io_parked_last_bucket(const struct io_ring_ctx *ctx)
{
	return ctx->parked.buckets + (U64_MAX >> ctx->parked.shift);
}

#define io_for_each_parked_bucket(ctx, bucket)						\
	for ((bucket) = (ctx)->parked.buckets;						\
	     (bucket) <= io_parked_last_bucket(ctx); (bucket)++)

/* All parked requests that can be found; @req may be taken out, or hidden, on the way. */
#define io_for_each_parked(ctx, bucket, tmp, req)					\
	for ((bucket) = (ctx)->parked.buckets;						\
	     (bucket) <= io_parked_last_bucket(ctx); (bucket)++)			\
		list_for_each_entry_safe(req, tmp, bucket, parked)

/*
 * A walk through the lot, or through what is ready, for which the ring lock is held, may
 * be long, and a program may ask for many in one call: all together let others run, and end
 * with the task.  Called for each step.  Return: go on?
 */
static inline bool io_parked_walk(struct io_ring_ctx *ctx)
{
	if (likely(++ctx->parked.steps % 1024))
		return true;
	cond_resched();
	return !fatal_signal_pending(current);
}

/**
 * io_parked_find - look through the requests that are parked under one name
 * @ctx: the ring, its lock held
 * @kind: of the requests
 * @user_data: likewise
 * @match: called for each; true ends the search; may take it out or hide it
 * @data: for @match
 *
 * Return: the request that @match wanted, NULL, or ERR_PTR(-EINTR) for a task that
 * is to die.
 */
static __always_inline struct io_kiocb *
io_parked_find(struct io_ring_ctx *ctx, enum io_parked_kind kind, u64 user_data,
	       bool (*match)(struct io_kiocb *req, void *data), void *data)
{
	struct io_kiocb *req, *tmp;

	io_assert_ring(ctx);
	/* what has one user_data is in different buckets if it is of different kinds */
	list_for_each_entry_safe(req, tmp, io_parked_bucket(ctx, user_data, kind), parked) {
		if (!io_parked_walk(ctx))
			return ERR_PTR(-EINTR);
		if (req->cqe.user_data == user_data && match(req, data))
			return req;
	}
	return NULL;
}

int io_parked_init(struct io_ring_ctx *ctx);
void io_parked_free(struct io_ring_ctx *ctx);

#endif
