/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: requests: allocation, credentials, references */
#ifndef IO_REQ_H
#define IO_REQ_H

#include <linux/cred.h>
#include <linux/kasan.h>
#include <linux/poison.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"
#include "op.h"
#include "req/state.h"
#include "ring/locks.h"
#include "ring/mailbox.h"

/* maximum number of free requests that a ring keeps for reuse */
#define IO_REQ_CACHE	256
/* number of requests that are allocated from the slab at once */
#define IO_REQ_REFILL	16

extern struct kmem_cache *io_req_cachep;

int io_req_cache_init(struct io_ring_ctx *ctx);

/* Free the stack of free requests, when no requests are left. */
static inline void io_req_cache_free(struct io_ring_ctx *ctx)
{
	kvfree(ctx->reqs.free);
}

void io_req_cache_end(struct io_ring_ctx *ctx);
bool io_req_refill(struct io_ring_ctx *ctx);
struct io_kiocb *io_req_take_notif(struct io_kiocb *req, u64 user_data);
void io_req_free_memory(struct io_ring_ctx *ctx, struct io_kiocb *req);
void *io_req_alloc_async(struct io_kiocb *req, size_t size);
void io_req_push(struct io_kiocb *req,
		 void (*run)(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int flags),
		 unsigned int push_flags);
void io_req_push_owner(struct io_kiocb *req, unsigned int push_flags);
void io_req_run_soon(struct io_kiocb *req,
		     void (*run)(struct io_ring_ctx *ctx, struct io_tw *tw,
				 unsigned int flags));
void io_req_go_on(struct io_kiocb *req, bool ring_locked);
void io_tctx_refill_credit(struct io_uring_task *tctx, unsigned int nr);
void io_tctx_put_credit(struct io_uring_task *tctx);
void io_tctx_uncharge(struct io_uring_task *tctx);

static inline struct io_kiocb *io_tw_to_req(struct io_tw *tw)
{
	return container_of(tw, struct io_kiocb, tw);
}

static inline struct io_kiocb *io_work_to_req(struct io_wq_work *work)
{
	return container_of(work, struct io_kiocb, work);
}

/*
 * Let the last CQE of a request be posted in spite of IOSQE_CQE_SKIP_SUCCESS.  If the request
 * fails, the rest of its chain still ends without CQEs.
 */
static inline void io_req_show_cqe(struct io_kiocb *req)
{
	if (req->flags & REQ_F_CQE_SKIP)
		req->flags = (req->flags & ~REQ_F_CQE_SKIP) | REQ_F_SKIP_LINK_CQES;
}

/* Return: the number of requests that have not ended, without notifs. */
static inline unsigned int io_reqs_alive(const struct io_ring_ctx *ctx)
{
	return ctx->reqs.nr - ctx->reqs.nr_free - ctx->reqs.nr_notifs;
}

/**
 * io_req_keep_creds - keep the submitter's credentials for a request that is issued later
 * @req: the request; called by its submitter
 *
 * A request acts with the credentials that its submitter had, in any context that
 * issues it.  Call this before the request waits in a chain, for a drain, for its file or
 * for a worker.  An SQPOLL thread acts with the credentials of the ring's creator.
 */
static inline void io_req_keep_creds(struct io_kiocb *req)
{
	if (req->flags & REQ_F_CREDS || io_ops[req->opcode]->no_creds)
		return;
	req->creds = get_cred(req->ctx->creds.sq ?: current_cred());
	req->flags |= REQ_F_CREDS;
}

/**
 * io_req_track - track a request that has to end with its task
 * @req: the request, about to be issued
 *
 * A request that holds a ring's file keeps that ring alive: rings that hold each other
 * would never be freed.  A request that waits on a futex has a key that depends on the
 * task's mm.  An exiting task waits for the end of its tracked requests only.
 *
 * The task may be exiting while its worker issues the request.  So a request that may wait is
 * tracked before io_may_add_waiting().
 */
static inline void io_req_track(struct io_kiocb *req)
{
	if (req->flags & REQ_F_TRACKED)
		return;
	req->flags |= REQ_F_TRACKED;
	atomic_inc(&req->tctx->inflight_tracked);
	/* before a read of in_cancel; pairs with smp_mb__after_atomic() in io_cancel_task() */
	smp_mb__after_atomic();
}

/**
 * io_req_push_fast - push a request, inline on single-writer rings
 * @req: as for io_req_push(), with tw.run set
 * @push_flags: IO_PUSH_*
 */
static inline void io_req_push_fast(struct io_kiocb *req, unsigned int push_flags)
{
	struct io_ring_ctx *ctx = req->ctx;
	unsigned long old;

	if (unlikely(!ctx->cq.single_writer)) {
		io_req_push(req, req->tw.run, push_flags);
		return;
	}
	guard(rcu)();
	io_req_move(req, IO_REQ_TW_QUEUED);
	old = io_mailbox_push_fast(&ctx->mailbox, &req->tw);
	if (unlikely(old & IO_MAILBOX_MARKS))
		io_req_push_owner(req, push_flags);
	else if (!old)
		io_owner_mailbox_pushed(ctx, &req->tw, old, push_flags);
}

/**
 * io_req_poison - overwrite the stale fields of a request in debug kernels
 * @req: about to be filled in from an SQE
 *
 * The poison covers all fields that the submission has to set, so that a read of an
 * unset pointer faults.  See the rule at struct io_kiocb.
 */
static inline void io_req_poison(struct io_kiocb *req)
{
#ifdef CONFIG_IO_URING_DEBUG
	struct io_uring_task *tctx = req->tctx;
	struct io_ring_ctx *ctx = req->ctx;
	u8 state = req->state;

	memset(req, POISON_INUSE, sizeof(*req));
	req->ctx = ctx;
	req->tctx = tctx;
	req->state = state;
#endif
}

/**
 * io_req_take - take a request for the next SQE
 * @ctx: the ring, its lock held
 *
 * Only ->ctx is set; the other fields are stale.
 *
 * Return: the request, or NULL if there is no memory.
 */
static inline struct io_kiocb *io_req_take(struct io_ring_ctx *ctx)
{
	struct io_kiocb *req;

	io_assert_ring(ctx);
	if (unlikely(!ctx->reqs.nr_free) && !io_req_refill(ctx))
		return NULL;
	req = ctx->reqs.free[--ctx->reqs.nr_free];
	kasan_mempool_unpoison_object(req, sizeof(*req));
	/* KASAN may have overwritten ->ctx */
	req->ctx = ctx;
#ifdef CONFIG_IO_URING_DEBUG
	req->state = IO_REQ_FREE;
#endif
	return req;
}

/**
 * io_req_recycle - put a request on the stack of free ones, or free its memory
 * @req: the request, without resources; ring lock held
 */
static inline void io_req_recycle(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_assert_ring(ctx);
	if (unlikely(ctx->reqs.nr_free >= ctx->reqs.max_free)) {
		io_req_free_memory(ctx, req);
		return;
	}
	kasan_mempool_poison_object(req);
	ctx->reqs.free[ctx->reqs.nr_free++] = req;
}

/*
 * A request has one reference, that of the context that will complete it.  Once the worker pool
 * needs the request, too, REQ_F_REFCOUNT is set, and ->refs counts the references.
 */
static inline void io_req_refs_start(struct io_kiocb *req, int holders)
{
	atomic_set(&req->refs, holders);
	req->flags |= REQ_F_REFCOUNT;
}

static inline void io_req_get(struct io_kiocb *req)
{
	WARN_ON_ONCE(!(req->flags & REQ_F_REFCOUNT));
	atomic_inc(&req->refs);
}

/* Drop a reference.  Return: true if it was the last: the caller has to free the request. */
static inline bool io_req_put_is_last(struct io_kiocb *req)
{
	return !(req->flags & REQ_F_REFCOUNT) || atomic_dec_and_test(&req->refs);
}

#endif
