// SPDX-License-Identifier: GPL-2.0
/* io_uring: memory of requests, and the charge on the submitting task */

/*
 * A ring keeps up to IO_REQ_CACHE requests on a stack for reuse, poisoned for
 * KASAN while they lie there; more come from the slab in batches.  Each request
 * that was taken from the slab holds a reference to the ring, so an operation
 * on a warm ring changes no reference count at all.
 *
 * A task is charged for its requests: tctx->inflight counts them and each holds
 * a reference to the task.  Both are raised in advance by a batch, tctx->credit
 * says how much of that is unused; only the task itself touches its credit.
 */
#include <linux/kasan.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "req/free.h"
#include "req/req.h"

struct kmem_cache *io_req_cachep;

/* requests that a task is charged for in advance */
#define IO_CREDIT_BATCH	1024

/**
 * io_req_cache_init - make room for a ring's free requests
 * @ctx: the ring
 *
 * Return: 0 or -ENOMEM.
 */
int io_req_cache_init(struct io_ring_ctx *ctx)
{
	ctx->reqs.free = kvmalloc_array(IO_REQ_CACHE, sizeof(*ctx->reqs.free), GFP_KERNEL_ACCOUNT);
	if (!ctx->reqs.free)
		return -ENOMEM;
	ctx->reqs.max_free = IO_REQ_CACHE;
	ctx->ready.tail = &ctx->ready.first;
	return 0;
}

/**
 * io_req_free_memory - give the memory of a request back to the slab
 * @ctx: the ring, its lock held
 * @req: holds nothing any more, is not on the stack
 *
 * Gives up the request's reference to the ring, which the lock's holder keeps alive.
 */
void io_req_free_memory(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	kmem_cache_free(io_req_cachep, req);
	if (unlikely(!--ctx->reqs.nr && !ctx->reqs.max_free))
		ctx->reqs.all_gone(ctx);
	percpu_ref_put(&ctx->refs);
}

/**
 * io_req_cache_end - keep no free requests any more
 * @ctx: the ring, its lock held
 *
 * From here on the end of each request drops its reference to the ring, so the last
 * one ends the ring by itself.
 */
void io_req_cache_end(struct io_ring_ctx *ctx)
{
	io_assert_ring(ctx);
	ctx->reqs.max_free = 0;
	while (ctx->reqs.nr_free) {
		struct io_kiocb *req = ctx->reqs.free[--ctx->reqs.nr_free];

		kasan_mempool_unpoison_object(req, sizeof(*req));
		io_req_free_memory(ctx, req);
	}
}

/**
 * io_req_refill - get more free requests
 * @ctx: the ring, its lock held
 *
 * Return: is there one now?
 */
bool io_req_refill(struct io_ring_ctx *ctx)
{
	void *reqs[IO_REQ_REFILL];
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
	unsigned int i, nr = 0;

	io_req_reclaim_retired(ctx);
	if (ctx->reqs.nr_free)
		return true;

	/* no batches once the ring ends: the rest would stay, see io_req_cache_end() */
	if (likely(ctx->reqs.max_free))
		nr = kmem_cache_alloc_bulk(io_req_cachep, gfp, IO_REQ_REFILL, reqs);
	if (unlikely(!nr)) {
		/* the bulk is all or nothing, one may still be there */
		reqs[0] = kmem_cache_alloc(io_req_cachep, gfp);
		nr = !!reqs[0];
	}
	percpu_ref_get_many(&ctx->refs, nr);
	ctx->reqs.nr += nr;
	for (i = 0; i < nr; i++) {
		struct io_kiocb *req = reqs[i];

		memset(req, 0, sizeof(*req));
		kasan_mempool_poison_object(req);
		ctx->reqs.free[ctx->reqs.nr_free++] = req;
	}
	return nr;
}

/*
 * Charge a task for a request that it has not submitted.  Its credit may be spoken for by
 * the batch that it is submitting.
 */
static void io_tctx_charge_notif(struct io_uring_task *tctx, unsigned int batch)
{
	if (unlikely(current->io_uring != tctx)) {
		get_task_struct(tctx->task);
		atomic_long_inc(&tctx->inflight);
		return;
	}
	if (unlikely(tctx->credit <= (int)batch))
		io_tctx_refill_credit(tctx, batch);
	tctx->credit--;
}

/**
 * io_req_take_notif - take a request that no SQE has asked for
 * @req: the issued request that the notif belongs to; ring lock held
 *
 * The notif has the user_data of @req, and its task's charge, nothing else.  It ends
 * like any request, after its op has taken it off ctx->reqs.nr_notifs.
 *
 * Return: the notif, in the state of a waiting request; NULL without memory.
 */
struct io_kiocb *io_req_take_notif(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_kiocb *notif = io_req_take(ctx);

	if (unlikely(!notif))
		return NULL;
	notif->tctx = req->tctx;
	io_req_poison(notif);
	notif->opcode = IORING_OP_NOP;
	notif->flags = 0;
	notif->cqe = (struct io_cqe_val){ .user_data = req->cqe.user_data };
	io_tctx_charge_notif(req->tctx, ctx->sq.entries);
	ctx->reqs.nr_notifs++;
	io_req_move(notif, IO_REQ_PREPPED);
	io_req_move(notif, IO_REQ_ISSUING);
	io_req_move(notif, IO_REQ_WAITING);
	return notif;
}

/**
 * io_req_alloc_async - memory for what must outlive the submission and does not fit into a request
 * @req: a request that has none
 * @size: bytes
 *
 * It is freed with the request.
 *
 * Return: the memory, which is ->async_data, or NULL.
 */
void *io_req_alloc_async(struct io_kiocb *req, size_t size)
{
	req->async_data = kmalloc(size, GFP_KERNEL_ACCOUNT);
	if (req->async_data)
		req->flags |= REQ_F_ASYNC_DATA;
	return req->async_data;
}

/**
 * io_tctx_refill_credit - charge a task for requests in advance
 * @tctx: current's
 * @nr: requests that it is about to submit
 */
void io_tctx_refill_credit(struct io_uring_task *tctx, unsigned int nr)
{
	int more = IO_CREDIT_BATCH + nr - tctx->credit;

	refcount_add(more, &tctx->task->usage);
	atomic_long_add(more, &tctx->inflight);
	tctx->credit += more;
}

/**
 * io_tctx_put_credit - give back what was charged in advance
 * @tctx: current's
 */
void io_tctx_put_credit(struct io_uring_task *tctx)
{
	int nr = tctx->credit;

	if (!nr)
		return;
	tctx->credit = 0;
	atomic_long_sub(nr, &tctx->inflight);
	put_task_struct_many(tctx->task, nr);
}

/**
 * io_tctx_uncharge - uncharge a task for a request that has ended elsewhere
 * @tctx: that task's state; may be gone afterwards
 */
void io_tctx_uncharge(struct io_uring_task *tctx)
{
	struct task_struct *task = tctx->task;

	/* an exec that waits for this request may free @tctx, after a grace period */
	scoped_guard(rcu) {
		atomic_long_dec(&tctx->inflight);
		/* pairs with that in io_cancel_task() */
		smp_mb__after_atomic();
		if (unlikely(atomic_read(&tctx->in_cancel)))
			wake_up(&tctx->wait);
	}
	put_task_struct(task);
}
