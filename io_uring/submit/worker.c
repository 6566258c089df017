// SPDX-License-Identifier: GPL-2.0
/* io_uring: issue a request from a worker, the callbacks of the worker pool */

/*
 * A worker avoids blocking if the op and its file can be polled.  It first issues the request with
 * IO_URING_F_NONBLOCK.  After IO_AGAIN it arms a poll of the file, and is free for other work.
 */
#include <linux/file.h>
#include <linux/fs.h>

#include "async/poll.h"
#include "async/wq.h"
#include "complete/complete.h"
#include "req/link.h"
#include "req/put.h"
#include "ring/cq.h"
#include "rsrc/files.h"
#include "rsrc/groups.h"
#include "submit/issue.h"

/* Let a worker's request wait for its file.  Return: false if @req waits: do not access it. */
static bool io_work_hold(struct io_kiocb *req, unsigned int *flags)
{
	enum io_poll_hold hold = io_poll_hold(req, io_hold_run(req), IO_URING_F_UNLOCKED);

	if (hold == IO_POLL_HOLD)
		return false;
	if (hold == IO_POLL_BLOCK)
		*flags &= ~IO_URING_F_NONBLOCK;
	else if (hold == IO_POLL_END)
		req->work.flags |= IO_WQ_WORK_CANCEL;
	return true;
}

/*
 * Only the submitter posts CQEs for a multishot request.  So a worker lets the request wait for its
 * file before any attempt, and the submitter continues at the first event.  A request that cannot
 * wait becomes single-shot.  A driver's command goes back to the submitter at once.
 *
 * Return: false if the request waits or was pushed: do not access it.
 */
static bool io_work_take_multishot(struct io_kiocb *req, unsigned int *flags)
{
	const struct io_op *op = io_ops[req->opcode];
	bool command = req->opcode == IORING_OP_URING_CMD ||
		       req->opcode == IORING_OP_URING_CMD128;

	/* this excludes POLL_ADD, which arms its own poll */
	if (!(req->flags & REQ_F_MULTISHOT) || !(op->poll_in || op->poll_out || command))
		return true;
	/* io_work_hold() takes the ring lock, which the canceller may hold already */
	if (req->work.flags & IO_WQ_WORK_CANCEL)
		return true;
	if (command) {
		io_req_push(req, io_issue_tw, IO_PUSH_NOW);
		return false;
	}
	io_req_move(req, IO_REQ_ISSUING);
	if (*flags & IO_URING_F_NONBLOCK && !io_work_hold(req, flags))
		return false;
	/* the only CQE has the result */
	req->flags &= ~REQ_F_MULTISHOT;
	io_req_show_cqe(req);
	return true;
}

/*
 * Wait for the file after a worker's attempt that would have blocked.  Return: true if the worker
 * has to try again; false if the request waits: do not access it.
 */
static bool io_work_again(struct io_kiocb *req, unsigned int *flags)
{
	return !(*flags & IO_URING_F_NONBLOCK) || io_work_hold(req, flags);
}

/*
 * Act on a worker's attempt that has not completed the request.
 *
 * Return: IO_DONE to complete the request; IO_AGAIN to try again; IO_PENDING: do not access it.
 */
static noinline enum io_result io_work_unfinished(struct io_kiocb *req, enum io_result result,
						  unsigned int *flags)
{
	if (result != IO_AGAIN)
		return result;
	if (req->flags & REQ_F_AFTER_WORKER && io_issue_heeds_nonblock(req)) {
		/* the attempt may have moved a part of the data */
		io_req_set_failed(req, -EAGAIN);
		/* return the rest of an incremental buffer */
		if (req->flags & REQ_F_PICKED)
			req->cqe.flags = io_buf_used(req, req->cqe.res, IO_URING_F_UNLOCKED);
		return IO_DONE;
	}
	if (!io_work_again(req, flags))
		return IO_PENDING;
	/* a polled device has no free tag; retry until other tasks have reaped */
	if (io_wq_worker_stopped())
		req->work.flags |= IO_WQ_WORK_CANCEL;
	cond_resched();
	return IO_AGAIN;
}

/* Call io_issue() in a worker, with the ring lock held for an op that needs it. */
static enum io_result io_work_issue(struct io_kiocb *req, unsigned int flags)
{
	struct io_ring_ctx *ctx = req->ctx;
	enum io_result result;

	if (likely(!io_ops[req->opcode]->ring_lock))
		return io_issue(req, flags);
	if (io_ring_lock(ctx))
		return io_done(req, -ECANCELED);
	result = io_issue(req, flags & ~IO_URING_F_UNLOCKED);
	io_ring_unlock(ctx);
	return result;
}

/*
 * Drop the file before the CQE of a worker's request.  A program that has closed the file, too, may
 * execute it or take a lease after the CQE.  For that, the file must not be open for writing any
 * more.  The release of a regular file waits only for its filesystem.
 */
static void io_work_drop_file(struct io_kiocb *req)
{
	struct file *file = req->file;

	if (!(req->flags & REQ_F_FILE_PUT) || !io_file_keeps_exec(file))
		return;
	/* ->cleanup passes an event on to the file's other waiters */
	if (req->flags & (REQ_F_POLL_CHOSEN | REQ_F_POLL_PASSED))
		return;
	req->flags &= ~REQ_F_FILE_PUT;
	/* a search by file may find the request until the worker drops the request */
	req->file = NULL;
	__fput_sync(file);
}

/* Return: true if a worker that continues with @next has to look up the file of @next. */
static bool io_work_looks_up(const struct io_kiocb *next)
{
	return io_ops[next->opcode]->needs_file && !next->file;
}

/* Return: true if a request waits for a time, a futex or a child, and needs no worker. */
static bool io_work_only_waits(const struct io_kiocb *next)
{
	return io_ops[next->opcode]->ring_lock && io_ops[next->opcode]->cancel;
}

/*
 * Issue a request that only waits.  A program that has received the CQE of the request before may
 * cancel @req.  So the caller has held the ring lock since before that CQE.  An op returns IO_AGAIN
 * if only the submitter may make the attempt; a cancel does not find the request before that.
 */
static enum io_result io_work_issue_wait(struct io_kiocb *req)
{
	enum io_result result = io_issue(req, IO_URING_F_IOWQ);

	if (unlikely(result == IO_AGAIN)) {
		io_req_push(req, io_issue_tw, IO_PUSH_NOW);
		return IO_PENDING;
	}
	/* @req still exists: a pending request ends under the ring lock, which current holds */
	if (result == IO_PENDING && req->flags & REQ_F_HAS_TIMEOUT)
		io_issue_linked_timeout(req);
	return result;
}

/*
 * Return: true if a worker needs the ring lock to continue with a request: for a registered file
 * or buffer, for a linked timeout, or to wait.  Without the lock a linked timeout may expire before
 * the worker has the work, and would not find the request.
 */
static bool io_work_needs_lock(const struct io_kiocb *next)
{
	return next->flags & REQ_F_HAS_TIMEOUT || io_work_only_waits(next) ||
	       io_buf_missing(next) ||
	       (next->flags & REQ_F_FIXED_FILE && io_work_looks_up(next));
}

/*
 * Let current, a worker, continue a chain, because the submitter may compute, or sleep in a system
 * call, for long.  The submitter continues the chain if the ring is closed, if the file or buffer
 * of @next is not found, if @next is a multishot request that must not wait, or if current could
 * not get the ring lock.
 *
 * The submitter may have replaced its root, descriptors or namespaces after it submitted the chain.
 * The worker still has the old ones, which the chain has to use.
 *
 * Return: work that current has to run; NULL if the request was queued or pushed to the submitter.
 */
static noinline struct io_wq_work *io_work_go_on(struct io_kiocb *next, bool locked)
{
	unsigned int flags = IO_URING_F_IOWQ | (locked ? 0 : IO_URING_F_UNLOCKED);
	bool limited = next->flags & REQ_F_HAS_TIMEOUT;

	if (READ_ONCE(next->ctx->dying) || (!locked && io_work_needs_lock(next)))
		goto push;
	/* a worker would wait for an event before the first attempt */
	if (next->flags & REQ_F_MULTISHOT && next->flags & REQ_F_NOWAIT)
		goto push;
	/* look up the file before the timeout starts, as io_file_keep() needs the file */
	if (io_work_looks_up(next) && !io_file_assign(next, flags))
		goto push;
	if (io_buf_missing(next) && io_ops[next->opcode]->assign_buf(next))
		goto push;
	if (limited)
		io_issue_linked_timeout(next);
	io_work_prepare(next);
	return io_wq_go_on(&next->work, limited);
push:
	io_req_push(next, io_issue_tw, IO_PUSH_NOW);
	return NULL;
}

/* Return: true if current needs the ring lock to continue with the request behind @req. */
static bool io_work_chain_needs_lock(const struct io_kiocb *req)
{
	/* a linked timeout may leave the chain at any time */
	if (req->flags & REQ_F_HAS_TIMEOUT)
		return req->flags & REQ_F_TIMEOUT_LINKED;
	return !io_link_breaks(req) && io_work_needs_lock(req->link);
}

/*
 * Release the ring lock for a while.  @req has ended without a wait, but has no CQE yet, and many
 * such requests may follow.  Return: true if the lock is held again; false also after a kill.
 */
static bool io_work_relock(const struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	io_ring_unlock(ctx);
	cond_resched();
	return !fatal_signal_pending(current) && req->flags & REQ_F_HAS_LINK &&
	       io_work_chain_needs_lock(req) && io_ring_lock_soon(ctx);
}

/*
 * End a request of a chain, and continue with the next one.  A program that has received the CQE
 * of @req may cancel the next request, and the cancel has to find that request.  So take the lock
 * before the CQE is posted.  The lock's holder may wait for the chain, so limit the attempts.
 *
 * Return: as io_work_go_on()
 */
static noinline struct io_wq_work *io_work_end_chained(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_wq_work *work = NULL;
	struct io_kiocb *next;
	bool locked;

	locked = io_work_chain_needs_lock(req) && io_ring_lock_soon(ctx);
	while ((next = io_complete_in_worker(req, locked))) {
		bool waits = locked && io_work_only_waits(next);

		/* a TIMEOUT counts the CQE of a linked timeout in front of it */
		if (waits && io_work_issue_wait(next) == IO_PENDING)
			break;
		/* the CQE of a linked timeout comes before those of the next request */
		if (locked)
			io_cq_commit(ctx);
		if (!waits) {
			work = io_work_go_on(next, locked);
			break;
		}
		req = next;
		if (need_resched() || fatal_signal_pending(current))
			locked = io_work_relock(req);
	}
	if (locked)
		io_ring_unlock(ctx);
	return work;
}

/* End a request.  Return: as io_work_go_on() */
static struct io_wq_work *io_work_end(struct io_kiocb *req)
{
	io_work_drop_file(req);
	if (unlikely(req->flags & REQ_F_HAS_LINK) && !req->ctx->cq.single_writer)
		return io_work_end_chained(req);
	io_complete_in_worker(req, false);
	return NULL;
}

/* Prepare a request for its attempts.  Return: false if the request waits: do not access it. */
static bool io_work_begin(struct io_kiocb *req, unsigned int *flags)
{
	if (likely(!(req->flags & (REQ_F_MULTISHOT | REQ_F_AFTER_WORKER))))
		return true;
	/* the pools may have been searched for a dying ring before this work was queued */
	if (req->flags & REQ_F_AFTER_WORKER && READ_ONCE(req->ctx->dying))
		req->work.flags |= IO_WQ_WORK_CANCEL;
	return io_work_take_multishot(req, flags);
}

/**
 * io_work_run - issue a request from a worker, as io_wq_params->run
 * @work: work of the request, which ends with -ECANCELED if IO_WQ_WORK_CANCEL is set
 *
 * Return: as io_wq_go_on()
 */
struct io_wq_work *io_work_run(struct io_wq_work *work)
{
	struct io_kiocb *req = io_work_to_req(work);
	unsigned int flags = IO_URING_F_UNLOCKED | IO_URING_F_IOWQ | req->ctx->issue_flags;
	enum io_result result;

	if (io_poll_may_retry(req))
		flags |= IO_URING_F_NONBLOCK;
	if (!io_work_begin(req, &flags))
		return NULL;
	do {
		if (work->flags & IO_WQ_WORK_CANCEL) {
			/* push the request, because the caller may hold the ring lock */
			io_req_fail_later(req, -ECANCELED);
			return NULL;
		}
		result = io_work_issue(req, flags);
		if (unlikely(result != IO_DONE))
			result = io_work_unfinished(req, result, &flags);
		if (result == IO_DONE)
			return io_work_end(req);
	} while (result == IO_AGAIN);
	return NULL;
}

/**
 * io_work_put - drop the pool's reference to a request, as io_wq_params->put
 * @work: work of the request
 *
 * This does not wait for the ring lock, because a worker may have taken work of another ring.  If a
 * task that holds the ring lock has just cancelled the work, the request has other references.
 */
void io_work_put(struct io_wq_work *work)
{
	struct io_kiocb *req = io_work_to_req(work);

	/* a waiter registers before it searches for the work, see sys/sync_cancel.c */
	if (unlikely(waitqueue_active(&req->ctx->work_wait)))
		wake_up_all(&req->ctx->work_wait);
	io_req_put_unlocked(req);
}

/**
 * io_work_key - find the key that serialises hashed requests, as io_wq_params->key
 * @work: work of a request with a file
 *
 * Requests that change a file have the key of its inode.  They run in the order of submission,
 * for any open file and offset, and do not contend for the inode's lock.  Reads at the
 * current position have the key of their open file, whose position they move.  A read that waits
 * for data (a page fault, a FUSE server) must not delay writes, on which the data may depend.
 * Other requests of IOPOLL rings have the key of their inode.
 *
 * Return: the address of the file or of the inode.
 */
const void *io_work_key(const struct io_wq_work *work)
{
	struct io_kiocb *req = container_of(work, struct io_kiocb, work);

	if (io_work_in_turn(req) && !io_ops[req->opcode]->serialize_writes)
		return req->file;
	return file_inode(req->file);
}
