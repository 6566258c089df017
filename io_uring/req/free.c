// SPDX-License-Identifier: GPL-2.0
/* io_uring: the end of a request */

/*
 * Requests are freed under the ring lock.  A worker that has posted a request's
 * CQE does not wait for that lock, whose holder may sleep for long.  The worker puts
 * the request on ctx->reqs.retired, for the next holder of the lock that needs
 * requests.  If the request holds a registered resource, or a task waits for the end
 * of requests, the worker tries to take the lock.  If the lock is not free, the ring's
 * fallback worker frees the request.
 */
#include <linux/cred.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "req/drain.h"
#include "req/free.h"
#include "req/put.h"

/*
 * The last tracked request has ended: drop the mm that io_tctx_keep_mm() has stored.  The task
 * may have issued other tracked requests before it stored the mm, so check the count again.
 * After the store the task issues no tracked requests.
 */
static void io_tctx_drop_mm(struct io_uring_task *tctx)
{
	/* read the count after the mm; pairs with the release in io_tctx_keep_mm() */
	struct mm_struct *mm = smp_load_acquire(&tctx->mm);

	if (likely(!mm) || atomic_read(&tctx->inflight_tracked))
		return;
	/* a delayed worker may run this at the same time */
	mm = xchg(&tctx->mm, NULL);
	if (mm)
		mmput_async(mm);
}

/* Stop counting a request that had to end with its task. */
static void io_tctx_untrack(struct io_uring_task *tctx)
{
	if (atomic_dec_and_test(&tctx->inflight_tracked))
		io_tctx_drop_mm(tctx);
}

/**
 * io_tctx_keep_mm - keep the mm for requests that current leaves behind
 * @tctx: current's
 *
 * Waiters on private futexes are in a hash table that is freed with the last user of the mm.  The
 * key of a waiter contains the address of the mm.  If another process got an mm at this address,
 * requests left behind would consume the wake-ups of that process.
 */
void io_tctx_keep_mm(struct io_uring_task *tctx)
{
	/* keep the count above zero during the check */
	if (!atomic_inc_not_zero(&tctx->inflight_tracked))
		return;
	/* if an earlier exec has stored an mm, keep that one */
	if (!tctx->mm) {
		mmget(current->mm);
		/* pairs with smp_load_acquire() in io_tctx_drop_mm() */
		smp_store_release(&tctx->mm, current->mm);
	}
	io_tctx_untrack(tctx);
}

/**
 * io_req_clean - release the resources that a request owns
 * @req: the request, not visible to others; its flags are not changed
 *
 * Registered resources are not released, as that needs the ring lock.
 *
 * Context: Task context.
 */
void io_req_clean(struct io_kiocb *req)
{
	if (req->flags & REQ_F_NEED_CLEANUP)
		io_ops[req->opcode]->cleanup(req);
	if (req->flags & REQ_F_ASYNC_DATA)
		kfree(req->async_data);
	if (req->flags & REQ_F_TRACKED)
		io_tctx_untrack(req->tctx);
	if (req->flags & REQ_F_CREDS)
		put_cred(req->creds);
	/* this is often the only flag that is set; it is checked last, for a tail call */
	if (req->flags & REQ_F_FILE_PUT)
		io_req_file_put(req, req->file);
}

/**
 * io_req_freed_drain - start drained requests after the end of another request
 * @ctx: the ring, its lock held
 */
void io_req_freed_drain(struct io_ring_ctx *ctx)
{
	io_drain_check(ctx);
}

/**
 * io_req_reclaim_retired - free the requests that workers have retired
 * @ctx: the ring, its lock held
 */
void io_req_reclaim_retired(struct io_ring_ctx *ctx)
{
	struct io_tw *tw;

	io_assert_ring(ctx);
	if (!io_mailbox_pending(&ctx->reqs.retired))
		return;
	tw = io_mailbox_take(&ctx->reqs.retired);
	while (tw) {
		struct io_kiocb *req = io_tw_to_req(tw);

		tw = tw->next;
		io_req_free(req);
	}
}

/* Return: true if a task waits until requests are freed, not only completed. */
static bool io_req_end_awaited(struct io_ring_ctx *ctx)
{
	return READ_ONCE(ctx->submit_slow) & IO_SLOW_DRAIN || READ_ONCE(ctx->dying);
}

/*
 * Free retired requests without waiting for the lock: a worker may have taken its next work, of
 * another ring, and a wait would delay that work.  The caller has a reference to the ring.
 */
static void io_req_reclaim_now(struct io_ring_ctx *ctx)
{
	if (!io_ring_trylock(ctx)) {
		io_fallback_kick(ctx);
		return;
	}
	io_req_reclaim_retired(ctx);
	io_ring_unlock(ctx);
}

/**
 * io_req_retire - end a request whose CQE is posted, without the ring lock
 * @req: the request, without references
 *
 * Context: Task context.  May sleep, but does not wait for the ring lock.
 */
void io_req_retire(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;
	bool look = req->flags & (REQ_F_FILE_NODE | REQ_F_BUF_NODE);

	io_req_clean(req);
	/* io_req_free() must not clean the request again */
	req->flags &= ~IO_REQ_CLEAN_FLAGS;
	io_tctx_uncharge(req->tctx);
	req->tctx = NULL;
	/*
	 * The push is fully ordered, and a waiter has a full barrier between setting its flag and
	 * its reclaim.  So the waiter finds @req, or this function reads the flag.  The push also
	 * passes on the request's reference to the ring, so the reclaim needs another reference.
	 * If the tryget fails, the ring has no references left, and @req has been freed already.
	 */
	scoped_guard(rcu) {
		io_mailbox_push(&ctx->reqs.retired, &req->tw);
		look = (look || io_req_end_awaited(ctx)) && percpu_ref_tryget(&ctx->refs);
	}
	if (look) {
		io_req_reclaim_now(ctx);
		percpu_ref_put(&ctx->refs);
	}
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "tests/free_kunit.c"
#endif
