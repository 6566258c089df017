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
	ctx->free_reqs = kvmalloc_array(IO_REQ_CACHE, sizeof(*ctx->free_reqs), GFP_KERNEL_ACCOUNT);
	if (!ctx->free_reqs)
		return -ENOMEM;
	ctx->max_free = IO_REQ_CACHE;
	return 0;
}

/**
 * io_req_free_memory - give the memory of a request back to the slab
 * @ctx: the ring, its lock held
 * @req: holds nothing any more, is not on the stack
 *
 * May drop the last reference to the ring; who holds the lock has one.
 */
void io_req_free_memory(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	kmem_cache_free(io_req_cachep, req);
	ctx->nr_reqs--;
	percpu_ref_put(&ctx->refs);
}

/**
 * io_req_cache_end - keep no free requests any more
 * @ctx: the ring, its lock held
 *
 * From here on the end of each request drops its reference to the ring, so nobody
 * has to come and look for the last one.
 */
void io_req_cache_end(struct io_ring_ctx *ctx)
{
	io_assert_ring(ctx);
	ctx->max_free = 0;
	while (ctx->nr_free) {
		struct io_kiocb *req = ctx->free_reqs[--ctx->nr_free];

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
	unsigned int i, nr;

	io_req_reclaim_retired(ctx);
	if (ctx->nr_free)
		return true;

	nr = kmem_cache_alloc_bulk(io_req_cachep, gfp, IO_REQ_REFILL, reqs);
	if (unlikely(!nr)) {
		/* the bulk is all or nothing, one may still be there */
		reqs[0] = kmem_cache_alloc(io_req_cachep, gfp);
		nr = !!reqs[0];
	}
	percpu_ref_get_many(&ctx->refs, nr);
	ctx->nr_reqs += nr;
	for (i = 0; i < nr; i++) {
		struct io_kiocb *req = reqs[i];

		memset(req, 0, sizeof(*req));
		kasan_mempool_poison_object(req);
		ctx->free_reqs[ctx->nr_free++] = req;
	}
	return nr;
}

/**
 * io_req_alloc_async_data - memory for what must outlive the submission
 * @req: a request of an op with async_size
 *
 * Return: 0 or -ENOMEM.
 */
int io_req_alloc_async_data(struct io_kiocb *req)
{
	req->async_data = kmalloc(io_ops[req->opcode]->async_size, GFP_KERNEL_ACCOUNT);
	if (!req->async_data)
		return -ENOMEM;
	req->flags |= REQ_F_ASYNC_DATA;
	return 0;
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
 * io_tctx_uncharge - a request of another task has ended
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
