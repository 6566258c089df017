// SPDX-License-Identifier: GPL-2.0
/* io_uring: issue a request from a worker, the callbacks of the worker pool */

/*
 * A worker avoids blocking if the op and its file can be polled.  It issues the request without
 * blocking first.  If that fails, it arms a poll of the file and is free for other work.
 */
#include <linux/file.h>
#include <linux/fs.h>

#include "async/poll.h"
#include "async/wq.h"
#include "complete/complete.h"
#include "req/put.h"
#include "rsrc/files.h"
#include "submit/issue.h"

/* Let a worker's request wait for its file.  Return: false if it waits, so do not access it. */
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
 * Only the submitter posts CQEs for a multishot request.  So a worker lets it wait for its file
 * before any attempt, and the submitter continues at the first event.  A request that cannot
 * wait becomes a single-shot request.  Return: false if the request waits, so do not access it.
 */
static bool io_work_take_multishot(struct io_kiocb *req, unsigned int *flags)
{
	const struct io_op *op = io_ops[req->opcode];

	/* this excludes POLL_ADD, which arms its own poll */
	if (!(req->flags & REQ_F_MULTISHOT) || !(op->poll_in || op->poll_out))
		return true;
	/* io_work_hold() takes the ring lock, which the canceller may hold already */
	if (req->work.flags & IO_WQ_WORK_CANCEL)
		return true;
	io_req_move(req, IO_REQ_ISSUING);
	if (*flags & IO_URING_F_NONBLOCK && !io_work_hold(req, flags))
		return false;
	req->flags &= ~REQ_F_MULTISHOT;
	return true;
}

/*
 * Wait for the file after a worker's attempt that would have blocked.  Return: true to try
 * again, false if the request waits, so do not access it.
 */
static bool io_work_again(struct io_kiocb *req, unsigned int *flags)
{
	return !(*flags & IO_URING_F_NONBLOCK) || io_work_hold(req, flags);
}

/*
 * Act on a worker's attempt that has not completed the request.
 *
 * Return: IO_DONE to complete the request, IO_AGAIN to try again; otherwise do not access it.
 */
static noinline enum io_result io_work_unfinished(struct io_kiocb *req, enum io_result result,
						  unsigned int *flags)
{
	if (result != IO_AGAIN)
		return result;
	if (req->flags & REQ_F_AFTER_WORKER && io_issue_heeds_nonblock(req))
		return io_done(req, -EAGAIN);
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
 * Drop the file before the CQE of a worker's request.  A program that has closed the file as
 * well may then execute it or take a lease, because it is not open for writing any more.  The
 * release of a regular file waits only for its filesystem.
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
	/* a search by file may find the request until the worker drops it */
	req->file = NULL;
	__fput_sync(file);
}

/*
 * Take the ring lock, for a lookup of a registered file alone or for more.  Programs know that a
 * worker waits for such a lookup.  Return: false if the lock is not held.
 */
static bool io_work_lock(struct io_ring_ctx *ctx, bool lookup)
{
	return lookup ? !io_ring_lock(ctx) : io_ring_lock_soon(ctx);
}

/*
 * Let current, a worker, continue a chain.  The submitter may compute, or sleep in a system call,
 * for long.  It continues the chain if the ring is closed, or if the next request has no file.
 *
 * The submitter may have replaced its root, descriptors or namespaces by now.  The chain was
 * submitted before, so it goes on with those of the worker.
 *
 * A registered file needs the ring lock.  So does a linked timeout, until current has the work: if
 * it expired before, it would find the request nowhere.  A task that holds the lock for long may
 * wait for the chain.  Then the submitter continues, too.
 *
 * Return: the work of the request, which current has; NULL if it was queued, or the request was
 * pushed to the submitter.
 */
static noinline struct io_wq_work *io_work_go_on(struct io_kiocb *next)
{
	bool lookup = io_ops[next->opcode]->needs_file && !next->file;
	bool limited = next->flags & REQ_F_HAS_TIMEOUT;
	bool lock = limited || (lookup && next->flags & REQ_F_FIXED_FILE);
	unsigned int flags = IO_URING_F_IOWQ | (lock ? 0 : IO_URING_F_UNLOCKED);
	struct io_ring_ctx *ctx = next->ctx;
	struct io_wq_work *work = NULL;
	bool taken;

	if (READ_ONCE(ctx->dying) || (lock && !io_work_lock(ctx, !limited)))
		goto push;
	/* before the timeout starts, which keeps the file */
	taken = !lookup || io_file_assign(next, flags);
	if (taken) {
		if (limited)
			io_issue_linked_timeout(next);
		io_work_prepare(next);
		work = io_wq_go_on(&next->work);
	}
	if (lock)
		io_ring_unlock(ctx);
	if (taken)
		return work;
push:
	io_req_push(next, io_issue_tw, IO_PUSH_NOW);
	return NULL;
}

/* Return: false if the request waits, so do not access it. */
static bool io_work_begin(struct io_kiocb *req, unsigned int *flags)
{
	if (likely(!(req->flags & (REQ_F_MULTISHOT | REQ_F_AFTER_WORKER))))
		return true;
	/* the ring's exit sets ->dying before it searches the pools, and may have missed this */
	if (req->flags & REQ_F_AFTER_WORKER && READ_ONCE(req->ctx->dying))
		req->work.flags |= IO_WQ_WORK_CANCEL;
	return io_work_take_multishot(req, flags);
}

/**
 * io_work_run - issue a request from a worker, as io_wq_params->run
 * @work: work of the request, which ends with -ECANCELED if IO_WQ_WORK_CANCEL is set
 *
 * Return: the work of the next request of the chain, or NULL.
 */
struct io_wq_work *io_work_run(struct io_wq_work *work)
{
	struct io_kiocb *req = io_work_to_req(work);
	unsigned int flags = IO_URING_F_UNLOCKED | IO_URING_F_IOWQ | req->ctx->issue_flags;
	enum io_result result;
	struct io_kiocb *next;

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
		if (result == IO_DONE) {
			io_work_drop_file(req);
			next = io_complete_unlocked(req);
			return likely(!next) ? NULL : io_work_go_on(next);
		}
	} while (result == IO_AGAIN);
	return NULL;
}

/**
 * io_work_put - drop the pool's reference to a request, as io_wq_params->put
 * @work: work of the request
 *
 * This does not wait for the ring lock, because a worker may have started work of another ring.
 * If a task that holds the lock has just cancelled the work, the pool is not the last holder of
 * the request.
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
 * whatever open file or offset they use, and do not contend for the inode's lock.  Reads at the
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
