// SPDX-License-Identifier: GPL-2.0
/* io_uring: memory of requests, and the charge on the submitting task */

/*
 * A ring keeps up to IO_REQ_CACHE free requests on a stack for reuse.  KASAN treats
 * them as freed.  The slab supplies more, in batches.  Each request holds a reference
 * to the ring from its allocation until it is returned to the slab.  So the reuse of a
 * request does not change the reference count of the ring.
 *
 * A task is charged for its requests: tctx->inflight counts them, and each holds a
 * reference to the task.  The count and the references are raised in advance, by a batch.
 * tctx->credit is the unused part of the batch; only the task itself accesses its credit.
 */
#include <linux/kasan.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "req/free.h"
#include "req/req.h"

struct kmem_cache *io_req_cachep;

/* number of requests that a task is charged for in advance */
#define IO_CREDIT_BATCH	1024

/**
 * io_req_cache_init - allocate the stack of a ring's free requests
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
 * io_req_free_memory - return the memory of a request to the slab
 * @ctx: the ring, its lock held
 * @req: the request, without resources, not on the stack
 *
 * This drops the request's reference to the ring.  ->all_gone() does not wait for notifs: they use
 * no table slot, and may exist until the peer of a socket reads.
 */
void io_req_free_memory(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	kmem_cache_free(io_req_cachep, req);
	if (unlikely(--ctx->reqs.nr == ctx->reqs.nr_notifs && !ctx->reqs.max_free))
		ctx->reqs.all_gone(ctx);
	percpu_ref_put(&ctx->refs);
}

/**
 * io_req_cache_end - free the requests on the stack, and stop keeping freed requests
 * @ctx: the ring, its lock held
 *
 * After this call, the memory of each request that ends is freed, and its reference to the
 * ring is dropped.
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
 * Return: true if the stack is not empty now.
 */
bool io_req_refill(struct io_ring_ctx *ctx)
{
	void *reqs[IO_REQ_REFILL];
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
	unsigned int i, nr = 0;

	io_req_reclaim_retired(ctx);
	if (ctx->reqs.nr_free)
		return true;

	/* no batch after io_req_cache_end(): nothing would free the unused requests of the batch */
	if (likely(ctx->reqs.max_free) &&
	    likely(kmem_cache_alloc_bulk(io_req_cachep, gfp, IO_REQ_REFILL, reqs)))
		nr = IO_REQ_REFILL;
	if (unlikely(!nr)) {
		/* the allocation of one request may succeed where that of a batch has failed */
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
 * Charge a task for a notif.  Leave a credit of at least @batch to current: io_submit_sqes() may be
 * running, and subtracts the credit for its SQEs only at the end.
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
 * io_req_take_notif - take a request for a notif, which has no SQE
 * @req: the request that the notif belongs to; ring lock held
 * @user_data: the notif's user_data
 *
 * The notif is charged to the task of @req.  The notif ends like any request, after op/net/notif.c
 * has decremented ctx->reqs.nr_notifs.
 *
 * Return: the notif, in the state of a waiting request; NULL if there is no memory.
 */
struct io_kiocb *io_req_take_notif(struct io_kiocb *req, u64 user_data)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_kiocb *notif = io_req_take(ctx);

	if (unlikely(!notif))
		return NULL;
	notif->tctx = req->tctx;
	io_req_poison(notif);
	notif->opcode = IORING_OP_NOP;
	notif->flags = 0;
	notif->cqe = (struct io_cqe_val){ .user_data = user_data };
	io_tctx_charge_notif(req->tctx, ctx->sq.entries);
	ctx->reqs.nr_notifs++;
	io_req_move(notif, IO_REQ_PREPPED);
	io_req_move(notif, IO_REQ_ISSUING);
	io_req_move(notif, IO_REQ_WAITING);
	return notif;
}

/**
 * io_req_alloc_async - allocate memory for state that does not fit into a request
 * @req: a request without async_data
 * @size: bytes
 *
 * The memory is freed with the request.
 *
 * Return: the memory, which is also stored in ->async_data, or NULL.
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
 * @tctx: of current
 * @nr: number of requests that current is about to submit
 */
void io_tctx_refill_credit(struct io_uring_task *tctx, unsigned int nr)
{
	int more = IO_CREDIT_BATCH + nr - tctx->credit;

	refcount_add(more, &tctx->task->usage);
	atomic_long_add(more, &tctx->inflight);
	tctx->credit += more;
}

/**
 * io_tctx_put_credit - uncharge a task for its unused credit
 * @tctx: of current
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
 * io_tctx_uncharge - uncharge a task for an ended request, in any context
 * @tctx: the task's; may be freed when this function returns
 */
void io_tctx_uncharge(struct io_uring_task *tctx)
{
	struct task_struct *task = tctx->task;

	/* an exec that waits for this request may free @tctx, but only after a grace period */
	scoped_guard(rcu) {
		atomic_long_dec(&tctx->inflight);
		/* pairs with the barrier in io_cancel_task() */
		smp_mb__after_atomic();
		if (unlikely(atomic_read(&tctx->in_cancel)))
			wake_up(&tctx->wait);
	}
	put_task_struct(task);
}
