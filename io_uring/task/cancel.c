// SPDX-License-Identifier: GPL-2.0
/* io_uring: finding and ending requests in flight */

/*
 * A request in flight is in one of these places, and ends as follows:
 *
 *	wait table				io_wait_cancel() claims it, task work ends it
 *	queued to or running on a worker	io_cancel_work() ends it or signals the worker
 *	on ctx->drain.first			it is removed, and fails with its chain
 *	on ctx->ready.first			it runs before the ring lock is released
 *	polled for (IOPOLL)			it is reaped after the device has finished it
 *	in a mailbox				it runs
 *	at a device				the device finishes it and pushes it to a mailbox
 *
 * If a ring ends or a task calls exec, all its requests are ended; an exit ends tracked requests.
 * io_cancel_requests() is one pass over all places.  task/end.c and task/exit.c repeat the pass.
 *
 * Requests move between these places during a pass.  Between workers and the wait table
 * they move under the ring lock, which is held while both are searched.  All other moves check
 * whether the task, the ring or the pool ends (io_may_add_waiting(), io_issue_allowed(),
 * io_queue_to_worker(), io_wq_enqueue()).  So no request moves from a place that the pass has
 * not reached to a place that the pass has left.
 *
 * A program names the requests to end by a key (IORING_OP_ASYNC_CANCEL,
 * IORING_REGISTER_SYNC_CANCEL).  A linked timeout ends one request.  Both searches cover the worker
 * pools, the wait table, and the retries on ctx->ready.first.  They find no request at a device or
 * on ctx->drain.first, and none behind the head of a chain.
 */
#include <linux/sched/signal.h>

#include "ctx.h"
#include "async/iopoll.h"
#include "async/poll.h"
#include "async/wq.h"
#include "complete/complete.h"
#include "req/drain.h"
#include "req/free.h"
#include "req/wait_table.h"
#include "ring/cq.h"
#include "task/cancel.h"
#include "task/run.h"
#include "task/tctx.h"

static bool io_cancel_match(struct io_kiocb *req, const struct io_cancel_scope *what)
{
	if (req->ctx != what->ctx || (what->tctx && req->tctx != what->tctx))
		return false;
	if (!what->tracked)
		return true;
	/* a worker may change other flags at the same time */
	return data_race(req->flags) & REQ_F_TRACKED &&
	       (what->tctx || atomic_read(&req->tctx->in_cancel));
}

static bool io_cancel_match_work(struct io_wq_work *work, void *data)
{
	return io_cancel_match(io_work_to_req(work), data);
}

/*
 * End matching work in the pool of @tctx, or in the pools of all tasks that use the ring if @tctx
 * is NULL.  Without @all, end only the first match.  Run queued matches with IO_WQ_WORK_CANCEL set.
 * A pool may end at the same time.
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: the number of queued and of running matches.
 */
static struct io_wq_found io_cancel_work(struct io_ring_ctx *ctx, struct io_uring_task *tctx,
					 io_wq_match_fn match, void *data, bool all)
{
	struct io_wq_found sum = {};
	struct io_wq *wq;

	io_assert_ring(ctx);
	if (!ctx->users.used_workers)
		return sum;
	for (wq = io_tctx_next_pool(ctx, true); wq; wq = io_tctx_next_pool(ctx, false)) {
		struct io_wq_found found = {};

		if (!tctx || wq == READ_ONCE(tctx->io_wq))
			found = io_wq_cancel(wq, match, data, all);
		io_wq_unref(wq);
		sum.queued += found.queued;
		sum.running += found.running;
		if (!all && (sum.queued || sum.running))
			break;
		cond_resched();
	}
	return sum;
}

/*
 * Let a waiting request end with -ECANCELED, in its task work.  Any task may call this with the
 * ring lock held.  Return: false if the request has begun to end by itself.
 */
static bool io_wait_cancel(struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	if (req->flags & REQ_F_POLLED)
		return io_poll_cancel(req);
	return io_ops[req->opcode]->cancel(req);
}

/* Cancel requests that wait for an event or a timeout.  Task work of each request ends it later. */
static void io_cancel_waiting(const struct io_cancel_scope *what)
{
	struct io_ring_ctx *ctx = what->ctx;
	struct io_kiocb *req, *tmp;
	struct list_head *bucket;

	io_wait_table_trim(ctx);
	io_for_each_waiting(ctx, bucket, tmp, req) {
		if (io_cancel_match(req, what))
			io_wait_cancel(req);
		io_wait_table_walk(ctx);
	}
}

/* Fail drained chains that wait for earlier requests.  Return: true if there was a chain. */
static bool io_cancel_drained(const struct io_cancel_scope *what)
{
	struct io_tw *tw;
	bool found;

	if (what->tracked)
		return false;
	tw = io_drain_take_matching(what->ctx, what->tctx);
	found = tw;
	while (tw) {
		struct io_kiocb *head = io_tw_to_req(tw);

		tw = tw->next;
		head->flags &= ~REQ_F_HARDLINK;
		io_req_fail(head, -ECANCELED);
		cond_resched();
	}
	return found;
}

/**
 * io_cancel_requests - end the requests that can be ended now, in one pass
 * @what: the requests to end; the caller holds the ring's lock
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: true if the pass ended requests or ran items, so that another pass may find more.
 */
bool io_cancel_requests(const struct io_cancel_scope *what)
{
	struct io_ring_ctx *ctx = what->ctx;
	bool found;

	io_assert_ring(ctx);
	io_req_reclaim_retired(ctx);
	/* signalled work does not count, because a second signal would not end it sooner */
	found = io_cancel_work(ctx, what->tctx, io_cancel_match_work, (void *)what, true).queued;
	/* no new search before the owner has run the items that the last search has caused */
	if (!io_mailbox_leftover(&ctx->mailbox))
		io_cancel_waiting(what);
	if (io_cq_is_writer(ctx)) {
		found |= io_cancel_drained(what);
		if (ctx->iopoll)
			found |= io_iopoll_reap(ctx) > 0;
	}
	if (io_owns_mailbox(ctx))
		found |= io_run_local_locked(ctx, 0) > 0;
	return found;
}

/**
 * io_cancel_orphans - end tracked requests of tasks that are gone
 * @ctx: the ring, its lock held
 *
 * Such a request may hold the file of a ring, and that ring would never end.
 */
void io_cancel_orphans(struct io_ring_ctx *ctx)
{
	struct io_cancel_scope what = { .ctx = ctx, .tracked = true };

	/* a task that leaves requests behind sets the flag, then kicks the fallback worker */
	if (READ_ONCE(ctx->fallback.orphans) && xchg(&ctx->fallback.orphans, false))
		io_cancel_requests(&what);
}

/* If IORING_ASYNC_CANCEL_ANY is set as well, the requests of all ops that need a file match. */
static bool io_key_match_file(const struct io_kiocb *req, const struct io_cancel_key *key)
{
	if (!io_ops[req->opcode]->needs_file)
		return false;
	return req->file == key->file || key->flags & IORING_ASYNC_CANCEL_ANY;
}

/* The compared fields do not change while a request is in a pool or waits. */
static bool io_key_match(const struct io_kiocb *req, const struct io_cancel_key *key)
{
	if (req->ctx != key->ctx)
		return false;
	/* CANCEL_ALL skips @self; without that flag @self may match, if it runs on a worker */
	if (req == key->self && key->flags & IORING_ASYNC_CANCEL_ALL)
		return false;
	if (key->flags & IORING_ASYNC_CANCEL_FD && !io_key_match_file(req, key))
		return false;
	if (key->flags & IORING_ASYNC_CANCEL_ANY)
		return true;
	if (key->flags & IORING_ASYNC_CANCEL_OP && req->opcode != key->opcode)
		return false;
	return !(key->flags & IORING_ASYNC_CANCEL_USERDATA) ||
	       req->cqe.user_data == key->user_data;
}

static bool io_key_match_work(struct io_wq_work *work, void *data)
{
	return io_key_match(io_work_to_req(work), data);
}

/**
 * struct io_key_walk - a search through the wait table
 * @key: the requests to end
 * @nr: number of requests that were ended
 * @counted: the op of the last ended request sets cancel_returns_count, see struct io_op
 * @killed: current was killed before the search was finished
 */
struct io_key_walk {
	const struct io_cancel_key	*key;
	unsigned int			nr;
	bool				counted;
	bool				killed;
};

/* End a waiting request that a program has named.  Return: true if it ends. */
static bool io_wait_cancel_named(struct io_kiocb *req)
{
	/* cancel_at_end is for ->cancel(); a request that waits for its file does not call it */
	if (io_ops[req->opcode]->cancel_at_end && !(req->flags & REQ_F_POLLED))
		return false;
	return io_wait_cancel(req);
}

/* End a waiting request if it matches.  Return: true if the search needs no further match. */
static bool io_key_cancel_one(struct io_kiocb *req, void *data)
{
	struct io_key_walk *walk = data;

	if (!io_key_match(req, walk->key) || !io_wait_cancel_named(req))
		return false;
	walk->nr++;
	walk->counted = io_ops[req->opcode]->cancel_returns_count;
	return !(walk->key->flags & IORING_ASYNC_CANCEL_ALL);
}

/* Search the requests of one kind with the key's user_data.  Return: true to continue. */
static bool io_key_cancel_kind(struct io_key_walk *walk, enum io_wait_kind kind)
{
	struct io_kiocb *last;

	last = io_wait_table_find(walk->key->ctx, kind, walk->key->user_data, io_key_cancel_one,
				  walk);
	walk->killed = IS_ERR(last);
	return !last;
}

/* Search a bucket.  An empty bucket counts as one step.  Return: true to continue. */
static bool io_key_cancel_bucket(struct io_key_walk *walk, struct list_head *bucket)
{
	struct io_ring_ctx *ctx = walk->key->ctx;
	struct io_kiocb *req, *tmp;

	walk->killed = !io_wait_table_walk(ctx);
	list_for_each_entry_safe(req, tmp, bucket, waiting) {
		if (walk->killed || io_key_cancel_one(req, walk))
			return false;
		walk->killed = !io_wait_table_walk(ctx);
	}
	return !walk->killed;
}

/* Fail the request instead of issuing it again. */
static void io_ready_cancelled_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
				  unsigned int issue_flags)
{
	io_req_fail(io_tw_to_req(tw), -ECANCELED);
}

/*
 * End a request on ctx->ready.first that is to be issued again.  Its last attempt would have
 * blocked, but then the file was ready.  Until the ring lock is released the request is in no other
 * place.  The list also has chains that have not begun; this function does not end them.
 */
static bool io_ready_cancel(struct io_kiocb *req)
{
	if (!(req->flags & REQ_F_POLL_TRIED) || req->tw.run == io_ready_cancelled_tw)
		return false;
	req->tw.run = io_ready_cancelled_tw;
	return true;
}

/* End matches on ctx->ready.first, at most one without CANCEL_ALL.  Return: their number. */
static unsigned int io_key_cancel_ready(const struct io_cancel_key *key)
{
	struct io_tw *tw;
	unsigned int nr = 0;

	io_assert_ring(key->ctx);
	for (tw = key->ctx->ready.first; tw; tw = tw->next) {
		struct io_kiocb *req = io_tw_to_req(tw);

		if (!io_wait_table_walk(key->ctx))
			break;
		if (io_key_match(req, key) && io_ready_cancel(req)) {
			nr++;
			if (!(key->flags & IORING_ASYNC_CANCEL_ALL))
				break;
		}
	}
	return nr;
}

/* End @req if it is on ctx->ready.first and is to be issued again.  Return: true if it ends. */
static bool io_ready_cancel_this(struct io_kiocb *req)
{
	struct io_tw *tw = req->ctx->ready.first;

	for (; tw && io_wait_table_walk(req->ctx); tw = tw->next) {
		if (tw == &req->tw)
			return io_ready_cancel(req);
	}
	return false;
}

/* Search all waiting requests. */
static void io_key_cancel_any(struct io_key_walk *walk)
{
	struct io_ring_ctx *ctx = walk->key->ctx;
	struct list_head *bucket;

	io_wait_table_trim(ctx);
	io_for_each_wait_bucket(ctx, bucket) {
		if (!io_key_cancel_bucket(walk, bucket))
			return;
	}
}

/* End matching requests in the wait table.  Return: their number, or -EINTR. */
static int io_key_cancel_waiting(struct io_key_walk *walk)
{
	if (!(walk->key->flags & IORING_ASYNC_CANCEL_USERDATA))
		io_key_cancel_any(walk);
	else if (io_key_cancel_kind(walk, IO_WAIT_POLL))
		/* do not search IO_WAIT_LINK_TIMEOUT: a LINK_TIMEOUT ends only with its head */
		io_key_cancel_kind(walk, IO_WAIT_TIMEOUT);
	return walk->killed ? -EINTR : walk->nr;
}

/**
 * io_cancel_key_init - set up the key of the requests that a program wants to end
 * @key: result; the caller sets file, opcode and self
 * @ctx: the ring
 * @user_data: user_data of the requests
 * @flags: IORING_ASYNC_CANCEL_*
 */
void io_cancel_key_init(struct io_cancel_key *key, struct io_ring_ctx *ctx, u64 user_data,
			u32 flags)
{
	if (flags & IORING_ASYNC_CANCEL_ANY) {
		flags |= IORING_ASYNC_CANCEL_ALL;
		flags &= ~IORING_ASYNC_CANCEL_USERDATA;
	} else if (!(flags & (IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_OP))) {
		flags |= IORING_ASYNC_CANCEL_USERDATA;
	}
	*key = (struct io_cancel_key) { .ctx = ctx, .user_data = user_data, .flags = flags };
}

/**
 * io_cancel_by_key - end the requests that a program names
 * @key: the requests to end; the caller holds the ring's lock
 *
 * Without IORING_ASYNC_CANCEL_ALL the first match ends.  Worker pools are searched before waiting
 * requests, and bounded work before unbounded work.  If the match is running, its worker is
 * signalled, and the waiting requests are searched as well.
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: the number of ended requests with IORING_ASYNC_CANCEL_ALL, which _ANY implies.  Requests
 * whose workers were signalled are not counted.  Without _ALL, 0 if a request ends (1 if its op
 * sets cancel_returns_count), -EALREADY if a worker was signalled, -ENOENT if no request matches.
 * -EINTR if current was killed before the search ended.
 */
int io_cancel_by_key(const struct io_cancel_key *key)
{
	bool all = key->flags & IORING_ASYNC_CANCEL_ALL;
	struct io_key_walk walk = { .key = key };
	struct io_wq_found found;
	int waiting;

	/* a program may submit many searches at once, and each may take long */
	if (unlikely(fatal_signal_pending(current)))
		return -EINTR;
	found = io_cancel_work(key->ctx, NULL, io_key_match_work, (void *)key, all);
	if (unlikely(key->ctx->ready.first) && (all || !found.queued))
		found.queued += io_key_cancel_ready(key);
	if (found.queued && !all)
		return 0;
	waiting = io_key_cancel_waiting(&walk);
	if (waiting < 0)
		return waiting;
	if (all)
		return found.queued + waiting;
	if (waiting)
		return walk.counted ? waiting : 0;
	return found.running ? -EALREADY : -ENOENT;
}

static bool io_match_this_work(struct io_wq_work *work, void *data)
{
	return io_work_to_req(work) == data;
}

/**
 * io_cancel_request - end one request
 * @req: the request; the caller holds a reference and the ring lock
 *
 * Return: 0 if the request ends, -EALREADY if the worker that runs it was signalled, -ENOENT
 * if it cannot be cancelled or has begun to end by itself.
 */
int io_cancel_request(struct io_kiocb *req)
{
	struct io_wq_found found;

	io_assert_ring(req->ctx);
	/* REQ_F_WAITING is set and cleared under the ring lock */
	if (data_race(req->flags) & REQ_F_WAITING)
		return io_wait_cancel_named(req) ? 0 : -ENOENT;
	if (io_ready_cancel_this(req))
		return 0;
	found = io_cancel_work(req->ctx, req->tctx, io_match_this_work, req, false);
	if (found.queued)
		return 0;
	return found.running ? -EALREADY : -ENOENT;
}
