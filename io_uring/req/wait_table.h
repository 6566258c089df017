/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the table of requests that wait for an event or a time */
#ifndef IO_REQ_WAIT_TABLE_H
#define IO_REQ_WAIT_TABLE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/err.h>
#include <linux/list.h>
#include <linux/sched/signal.h>

#include "req/req.h"

/*
 * A request whose end depends on something that may never come is in this table.
 * It enters before it can be woken; the context that ends it takes it out.  Both
 * happen under the ring lock: cancel, exit, exec and fdinfo find it at any time in
 * between, also while it is in a mailbox.
 *
 * A worker that lets its request wait lets the pool forget it in the same critical
 * section (io_wq_disown()), so that under the ring lock it is in exactly one of
 * the two places.
 *
 * Programs name requests by their user_data, and a hostile one lets a million wait.
 * So the wait table is a hash table that grows with what waits, see wait_table.c.  What
 * is searched for by different operations is of different kinds, in different
 * buckets, so that none has to be stepped over on the way to another.  What is
 * waiting under one user_data lies in the order in which it is found: the youngest
 * poll first, but the oldest timer.
 */

static inline enum io_wait_kind io_wait_kind(const struct io_kiocb *req)
{
	return io_ops[req->opcode]->waiting;
}

static inline struct list_head *io_wait_bucket(const struct io_ring_ctx *ctx, u64 user_data,
					       enum io_wait_kind kind)
{
	u64 hash = user_data * ctx->waiting.factor;

	return &ctx->waiting.buckets[(hash >> ctx->waiting.shift) ^ kind];
}

/* A table with at least this many bits has, or lately had, many waiting requests. */
#define IO_WAIT_TABLE_MANY_BITS	6

static inline bool io_wait_table_is_large(const struct io_ring_ctx *ctx)
{
	return ctx->waiting.shift < 64 - IO_WAIT_TABLE_MANY_BITS;
}

/* Requests in the wait table. */
static inline unsigned int io_wait_table_nr(const struct io_ring_ctx *ctx)
{
	return (1U << (64 - ctx->waiting.shift)) - ctx->waiting.room;
}

void io_wait_table_grow(struct io_ring_ctx *ctx);
void io_wait_table_trim(struct io_ring_ctx *ctx);

/*
 * Return: true if a request may still wait.  The end of a task or a ring sets one of
 * these flags, then scans the wait table under the ring lock.  Check this before adding
 * a request, without dropping the lock in between, and end the request with -ECANCELED
 * if it may not wait.  Either the flag is seen, or the request is found.
 */
static inline bool io_may_add_waiting(const struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	return !READ_ONCE(req->ctx->dying) && !atomic_read(&req->tctx->in_cancel);
}

/* Make room for one more.  Return: the ring. */
static inline struct io_ring_ctx *io_wait_table_enter(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	req->flags |= REQ_F_WAITING;
	if (unlikely(--ctx->waiting.room < 0))
		io_wait_table_grow(ctx);
	return ctx;
}

/* Put a request that waits for a file into the wait table; ring lock held, io_may_add_waiting(). */
static inline void io_wait_table_add(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = io_wait_table_enter(req);

	list_add(&req->waiting, io_wait_bucket(ctx, req->cqe.user_data, IO_WAIT_POLL));
}

/* Add a request that has a timer. */
static inline void io_wait_table_add_timer(struct io_kiocb *req, enum io_wait_kind kind)
{
	struct io_ring_ctx *ctx = io_wait_table_enter(req);

	list_add_tail(&req->waiting, io_wait_bucket(ctx, req->cqe.user_data, kind));
}

/* A timer has got another time: it counts as the youngest.  Ring lock held. */
static inline void io_wait_table_renew(struct io_kiocb *req, enum io_wait_kind kind)
{
	io_assert_ring(req->ctx);
	list_move_tail(&req->waiting, io_wait_bucket(req->ctx, req->cqe.user_data, kind));
}

/*
 * Take a request that a search could not end any more out of its bucket.  It keeps
 * waiting, but searches do not have to step over it.  Ring lock held.
 */
static inline void io_wait_table_hide(struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	list_del_init(&req->waiting);
}

/* Take it out; ring lock held. */
static inline void io_wait_table_del(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	if (WARN_ON_ONCE(!(req->flags & REQ_F_WAITING)))
		return;
	__list_del_entry(&req->waiting);
	ctx->waiting.room++;
	req->flags &= ~REQ_F_WAITING;
}

static inline struct list_head *io_wait_table_last_bucket(const struct io_ring_ctx *ctx)
{
	return ctx->waiting.buckets + (U64_MAX >> ctx->waiting.shift);
}

#define io_for_each_wait_bucket(ctx, bucket)						\
	for ((bucket) = (ctx)->waiting.buckets;						\
	     (bucket) <= io_wait_table_last_bucket(ctx); (bucket)++)

/* All waiting requests that can be found; @req may be taken out, or hidden, on the way. */
#define io_for_each_waiting(ctx, bucket, tmp, req)					\
	for ((bucket) = (ctx)->waiting.buckets;						\
	     (bucket) <= io_wait_table_last_bucket(ctx); (bucket)++)			\
		list_for_each_entry_safe(req, tmp, bucket, waiting)

/*
 * A walk through the wait table, or through what is ready, for which the ring lock is held, may
 * be long, and a program may ask for many in one call: all together let others run, and end
 * with the task.  Called for each step.  Return: go on?
 */
static inline bool io_wait_table_walk(struct io_ring_ctx *ctx)
{
	if (likely(++ctx->waiting.steps % 1024))
		return true;
	cond_resched();
	return !fatal_signal_pending(current);
}

/**
 * io_wait_table_find - look through the requests that wait under one name
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
io_wait_table_find(struct io_ring_ctx *ctx, enum io_wait_kind kind, u64 user_data,
		   bool (*match)(struct io_kiocb *req, void *data), void *data)
{
	struct io_kiocb *req, *tmp;

	io_assert_ring(ctx);
	/* what has one user_data is in different buckets if it is of different kinds */
	list_for_each_entry_safe(req, tmp, io_wait_bucket(ctx, user_data, kind), waiting) {
		if (!io_wait_table_walk(ctx))
			return ERR_PTR(-EINTR);
		if (req->cqe.user_data == user_data && match(req, data))
			return req;
	}
	return NULL;
}

int io_wait_table_init(struct io_ring_ctx *ctx);
void io_wait_table_free(struct io_ring_ctx *ctx);

#endif
