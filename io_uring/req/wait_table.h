/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the table of requests that wait for an event or a timeout */
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
 * This table holds the requests that wait for an event which may never happen.  A
 * request is added before it can be woken, and the context that ends the request
 * removes it, both under the ring lock.  So cancel, exit, exec and fdinfo find the
 * request at any time in between, also while it is in a mailbox.
 *
 * A worker that adds its request removes it from the pool in the same critical
 * section (io_wq_disown()).  So under the ring lock the request is either in the
 * pool or in this table.
 *
 * Programs name requests by their user_data, and a hostile program may have a million
 * requests.  So this is a hash table that grows with their number, see wait_table.c.
 * Each search is for requests of one kind (enum io_wait_kind).  Requests with equal user_data
 * but different kinds are in different buckets, so a search does not scan requests of other
 * kinds.  Within a bucket, requests with equal user_data are in the order in which a search
 * has to find them: the youngest poll first, but the oldest timer first.
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

/* A table with more bits than this has, or recently had, many waiting requests. */
#define IO_WAIT_TABLE_MANY_BITS	6

static inline bool io_wait_table_is_large(const struct io_ring_ctx *ctx)
{
	return ctx->waiting.shift < 64 - IO_WAIT_TABLE_MANY_BITS;
}

/* Return: the number of requests in the wait table. */
static inline unsigned int io_wait_table_nr(const struct io_ring_ctx *ctx)
{
	return (1U << (64 - ctx->waiting.shift)) - ctx->waiting.room;
}

void io_wait_table_grow(struct io_ring_ctx *ctx);
void io_wait_table_trim(struct io_ring_ctx *ctx);

/*
 * Return: true if a request may still wait.  When a task or a ring ends, one of these flags is
 * set, then the wait table is scanned under the ring lock.  Check this before adding
 * a request, without dropping the lock in between, and end the request with -ECANCELED
 * if it may not wait.  Either this check reads the flag, or the scan finds the request.
 */
static inline bool io_may_add_waiting(const struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	return !READ_ONCE(req->ctx->dying) && !atomic_read(&req->tctx->in_cancel);
}

/* Account for one more request, and grow the table if it is full.  Return: the ring. */
static inline struct io_ring_ctx *io_wait_table_enter(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	req->flags |= REQ_F_WAITING;
	if (unlikely(--ctx->waiting.room < 0))
		io_wait_table_grow(ctx);
	return ctx;
}

/* Add a request of %IO_WAIT_POLL; ring lock held, after io_may_add_waiting(). */
static inline void io_wait_table_add(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = io_wait_table_enter(req);

	list_add(&req->waiting, io_wait_bucket(ctx, req->cqe.user_data, IO_WAIT_POLL));
}

/* Add a request that has a timer; ring lock held, after io_may_add_waiting(). */
static inline void io_wait_table_add_timer(struct io_kiocb *req, enum io_wait_kind kind)
{
	struct io_ring_ctx *ctx = io_wait_table_enter(req);

	list_add_tail(&req->waiting, io_wait_bucket(ctx, req->cqe.user_data, kind));
}

/* Move a timer with a new expiry time behind all others of its bucket.  Ring lock held. */
static inline void io_wait_table_renew(struct io_kiocb *req, enum io_wait_kind kind)
{
	io_assert_ring(req->ctx);
	list_move_tail(&req->waiting, io_wait_bucket(req->ctx, req->cqe.user_data, kind));
}

/*
 * Remove a request from its bucket when searches cannot end the request any more, so that they
 * need not skip it.  The request still counts as waiting.  Ring lock held.
 */
static inline void io_wait_table_hide(struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	list_del_init(&req->waiting);
}

/* Remove a request from the wait table; ring lock held. */
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

/* Visit all waiting requests that are not hidden; the body may delete or hide @req. */
#define io_for_each_waiting(ctx, bucket, tmp, req)					\
	for ((bucket) = (ctx)->waiting.buckets;						\
	     (bucket) <= io_wait_table_last_bucket(ctx); (bucket)++)			\
		list_for_each_entry_safe(req, tmp, bucket, waiting)

/*
 * A scan of the wait table, or of ctx->ready, may be long, and a program may cause many scans in
 * one system call.  Call this for each request: one call in 1024 reschedules, and checks whether
 * current was killed.  Ring lock held.  Return: false if current was killed.
 */
static inline bool io_wait_table_walk(struct io_ring_ctx *ctx)
{
	if (likely(++ctx->waiting.steps % 1024))
		return true;
	cond_resched();
	return !fatal_signal_pending(current);
}

/**
 * io_wait_table_find - search for a waiting request by its user_data
 * @ctx: the ring, its lock held
 * @kind: kind of the requests
 * @user_data: user_data of the requests
 * @match: called for each of them; returns true to end the search; may delete or hide the request
 * @data: for @match
 *
 * Return: the request for which @match returned true; NULL if there is none; or
 * ERR_PTR(-EINTR) if current was killed.
 */
static __always_inline struct io_kiocb *
io_wait_table_find(struct io_ring_ctx *ctx, enum io_wait_kind kind, u64 user_data,
		   bool (*match)(struct io_kiocb *req, void *data), void *data)
{
	struct io_kiocb *req, *tmp;

	io_assert_ring(ctx);
	/* no check of the kind: requests of other kinds in this bucket have another user_data */
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
