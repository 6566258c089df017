// SPDX-License-Identifier: GPL-2.0
/* io_uring: the submission loop, from SQE to issue */

/*
 * For each SQE: read it into a request (->prep does the fields of the op),
 * issue it, and if that finishes it write its CQE.  This fast path is
 * io_submit_fast(); a request that is finished on it serves for the next
 * SQE at once.
 *
 * Everything unusual about a SQE shows in one test of what is read first:
 * flags, an ioprio, a personality, and ctx->submit_slow, which says that the
 * ring is restricted, that requests wait for a drained one, or that the SQE
 * continues a chain.  That is io_submit_slow() and slow.c.
 *
 * SQE memory belongs to the program: each field is read once, and not at all
 * after this loop has given the slot back.
 */
#include <linux/blkdev.h>
#include <trace/events/io_uring.h>

#include "complete/complete.h"
#include "req/free.h"
#include "ring/sq.h"
#include "submit/fast.h"

/*
 * SQEs between two looks whether others want to run, or the task is to die.  Each of them may
 * take long: a FUTEX_WAKE walks through a whole bucket.
 */
#define IO_SUBMIT_PART	16U

/**
 * io_submit_refused - end an SQE with an error in its place in the chain
 * @req: the request that it was read into
 * @sqe: the SQE, for tracing
 * @err: negative errno
 * @batch: the batch, which may end with it
 */
noinline void io_submit_refused(struct io_kiocb *req, const struct io_uring_sqe *sqe,
				       int err, struct io_submit_batch *batch)
{
	/* in a chain the rest of it is taken, to be cancelled with it */
	bool stop = !(req->flags & IO_REQ_CHAIN_FLAGS) &&
		    !(batch->ctx->flags & IORING_SETUP_SUBMIT_ALL);

	trace_io_uring_req_failed(sqe, req, err);
	/* nothing that was prepared is there to be cleaned up, or it has a flag of its own */
	req->flags &= ~REQ_F_PREPPED;
	if (req->opcode >= IORING_OP_LAST)
		req->opcode = IORING_OP_NOP;
	io_done(req, err);
	io_req_move(req, IO_REQ_PREPPED);
	io_submit_chained(req);
	if (stop) {
		batch->nr = 0;
		batch->part_end = 0;
	}
}

/* flags that any op takes on any ring that is not restricted */
#define IO_SQE_FLAGS_PLAIN	(IOSQE_IO_LINK | IOSQE_IO_HARDLINK | IOSQE_ASYNC | IOSQE_FIXED_FILE)

/* Would io_init_slow() look at anything?  A call that links and picked buffers do without. */
static bool io_sqe_is_slow(const struct io_kiocb *req, u8 sqe_flags, u16 personality)
{
	u8 plain = IO_SQE_FLAGS_PLAIN;

	if (req->opcode >= IORING_OP_LAST || personality ||
	    req->ctx->submit_slow & IO_SLOW_RESTRICTED)
		return true;
	if (io_ops[req->opcode]->buffer_select)
		plain |= IOSQE_BUFFER_SELECT;
	return sqe_flags & ~plain;
}

/**
 * io_submit_slow - submit an SQE on the slow path, see the head of this file
 * @req: the request, not the caller's any more afterwards
 * @sqe: the SQE
 * @head: its first word
 * @personality: what was read from it
 * @batch: the batch
 */
noinline void io_submit_slow(struct io_kiocb *req, const struct io_uring_sqe *sqe, u32 head,
				       u16 personality, struct io_submit_batch *batch)
{
	const struct io_op *op = io_ops[req->opcode];
	u8 sqe_flags = IO_HEAD_FLAGS(head);
	int err = 0;

	req->file = NULL;
	if (io_sqe_is_slow(req, sqe_flags, personality))
		err = io_init_slow(req, sqe_flags, personality);
	if (!err && head >> 16 && !op->ioprio)
		err = -EINVAL;
	if (!err)
		err = io_req_prep(req, sqe, op, batch);
	if (err) {
		io_submit_refused(req, sqe, err, batch);
		return;
	}
	trace_io_uring_submit_req(req);
	io_req_move(req, IO_REQ_PREPPED);
	if (req->flags & IO_REQ_SLOW_FLAGS || batch->ctx->submit_slow)
		io_submit_chained(req);
	else
		io_issue_inline(req);
}

/* Others want the CPU, or there is a signal.  Return: take the rest? */
static noinline bool io_submit_pause(void)
{
	cond_resched();
	return !fatal_signal_pending(current);
}

/*
 * A part of the batch is taken.  One load looks for both, since a kill on another CPU does not
 * make the scheduler want this one.  Return: take the next part?
 */
static bool io_submit_goes_on(struct io_submit_batch *batch, unsigned int taken)
{
	if (taken >= batch->nr)
		return false;
	if (unlikely(read_thread_flags() & (_TIF_NEED_RESCHED | _TIF_SIGPENDING)) &&
	    !io_submit_pause())
		return false;
	batch->part_end = min(taken + IO_SUBMIT_PART, batch->nr);
	return true;
}

/* The loop.  Return: the number of SQEs that were taken. */
static unsigned int io_submit_loop(struct io_ring_ctx *ctx, struct io_submit_batch *batch)
{
	struct io_uring_task *tctx = current->io_uring;
	struct io_kiocb *req = NULL;
	unsigned int taken = 0;

	do {
		const struct io_uring_sqe *sqe;

		if (!req) {
			req = io_req_take(ctx);
			if (unlikely(!req))
				break;
			req->tctx = tctx;
		}
		sqe = io_sq_next(ctx);
		if (unlikely(!sqe))
			break;
		if (unlikely(!io_submit_one(ctx, req, sqe, batch))) {
			batch->left++;
			req = NULL;
		}
	} while (++taken < batch->part_end || io_submit_goes_on(batch, taken));
	if (req)
		io_req_recycle(req);
	return taken;
}

/**
 * io_submit_sqes - take and issue SQEs
 * @ctx: the ring, its lock held, current has a node for it
 * @nr: limit of SQEs
 *
 * May sleep.
 *
 * Return: the number of SQEs that were taken, which is less than @nr if there
 * were fewer, if one was refused and the ring does not have SUBMIT_ALL, if the
 * index array named no SQE, or if the task is to die; -EAGAIN if there was no memory
 * for the first.
 */
int io_submit_sqes(struct io_ring_ctx *ctx, unsigned int nr)
{
	struct io_uring_task *tctx = current->io_uring;
	struct io_submit_batch batch;
	unsigned int taken;

	io_assert_ring(ctx);
	nr = min(nr, io_sq_pending(ctx));
	if (unlikely(!nr))
		return 0;
	batch.ctx = ctx;
	batch.nr = nr;
	batch.part_end = min(nr, IO_SUBMIT_PART);
	batch.left = 0;
	batch.issue_flags = IO_URING_F_NONBLOCK | IO_URING_F_COMPLETE_DEFER | ctx->issue_flags;
	batch.plugged = false;

	/* enough for the whole batch; taken off at its end, as only current reads it */
	if (unlikely(tctx->credit < (int)nr))
		io_tctx_refill_credit(tctx, nr);
	taken = io_submit_loop(ctx, &batch);
	tctx->credit -= batch.left;
	if (unlikely(ctx->chain.head))
		io_submit_end_chain(ctx);
	if (batch.plugged)
		blk_finish_plug(&ctx->plug);
	io_sq_release(ctx);
	if (unlikely(!taken && !ctx->reqs.nr_free))
		return -EAGAIN;
	return taken;
}
