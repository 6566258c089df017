// SPDX-License-Identifier: GPL-2.0
/* io_uring: the submission loop, from SQE to issue */

/*
 * The loop reads each SQE into a request, whose ->prep reads the fields of the op.  Then
 * the loop issues the request, and writes a CQE if the request is done.  This fast path
 * is io_submit_fast().  The memory of a finished request is reused for the next SQE.
 *
 * One test of the first fields selects the slow path, io_submit_slow() and slow.c.
 * SQE flags other than IOSQE_FIXED_FILE, an ioprio, a personality, or a bit in
 * ctx->submit_slow select it.  These bits are set for a restricted or filtered ring, while
 * drained requests wait, and if the SQE continues a chain.
 *
 * The program can change SQEs at any time.  So each field is read only once, and never
 * after io_sq_release() at the end of the batch.
 */
#include <linux/blkdev.h>
#include <trace/events/io_uring.h>

#include "complete/complete.h"
#include "req/free.h"
#include "ring/sq.h"
#include "rsrc/bufs.h"
#include "rsrc/filter.h"
#include "submit/fast_path.h"

/*
 * SQEs between two checks for need_resched() and fatal signals.  An SQE may take long: a
 * FUTEX_WAKE scans a whole hash bucket.
 */
#define IO_SUBMIT_PART	16U

/**
 * io_submit_refused - fail the request of an SQE that is not valid, in order within its chain
 * @req: the request into which the SQE was read
 * @sqe: the SQE, for tracing
 * @err: negative errno
 * @batch: the batch, which may end with this SQE
 */
noinline void io_submit_refused(struct io_kiocb *req, const struct io_uring_sqe *sqe,
				       int err, struct io_submit_batch *batch)
{
	/* if the chain continues, consume the rest of the chain to cancel it */
	bool stop = !(req->flags & IO_REQ_CHAIN_FLAGS) &&
		    !(batch->ctx->flags & IORING_SETUP_SUBMIT_ALL);

	trace_io_uring_req_failed(sqe, req, err);
	/* ->prep has failed or was not called, or a filter denies; keep flags for a cleanup */
	req->flags &= ~REQ_F_PREPPED;
	if (req->opcode >= IORING_OP_LAST)
		req->opcode = IORING_OP_NOP;
	io_done(req, err);
	io_req_move(req, IO_REQ_PREPPED);
	io_submit_chained(req);
	if (stop) {
		batch->ctx->sq.end = batch->ctx->sq.head;
		batch->part_end = batch->ctx->sq.head;
	}
}

/* flags that every op accepts on every unrestricted ring */
#define IO_SQE_FLAGS_PLAIN	(IOSQE_IO_LINK | IOSQE_IO_HARDLINK | IOSQE_ASYNC | IOSQE_FIXED_FILE)

/* Return: true if io_init_slow() is needed.  Links and selected buffers do not need it. */
static bool io_sqe_is_slow(const struct io_kiocb *req, u8 sqe_flags, u16 personality)
{
	u8 plain = IO_SQE_FLAGS_PLAIN;

	if (io_ops[req->opcode] == &io_op_invalid || personality ||
	    req->ctx->submit_slow & IO_SLOW_RESTRICTED)
		return true;
	if (io_ops[req->opcode]->buffer_select)
		plain |= IOSQE_BUFFER_SELECT;
	return sqe_flags & ~plain;
}

/* Prepare a request of a ring with filters, which decide about what ->prep() has read. */
static noinline int io_prep_filtered(struct io_kiocb *req, const struct io_uring_sqe *sqe,
				     const struct io_op *op, u8 sqe_flags,
				     struct io_submit_batch *batch)
{
	int err = io_req_prep(req, sqe, op, batch);

	return err ?: io_filter_check(batch->ctx->restrictions, req, sqe_flags);
}

/**
 * io_submit_slow - submit an SQE on the slow path, see the head of this file
 * @req: the request; the caller must not access it afterwards
 * @sqe: the SQE
 * @head: first word of the SQE
 * @personality: personality of the SQE, 0 for none
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
		err = io_init_slow(req, sqe, sqe_flags, personality);
	if (!err && head >> 16 && !op->ioprio)
		err = -EINVAL;
	/* the next SQE is behind both slots */
	if (err && op->sqe128)
		io_sq_take_second(batch->ctx, sqe);
	if (!err && unlikely(batch->ctx->submit_slow & IO_SLOW_FILTERED))
		err = io_prep_filtered(req, sqe, op, sqe_flags, batch);
	else if (!err)
		err = io_req_prep(req, sqe, op, batch);
	if (err) {
		io_submit_refused(req, sqe, err, batch);
		return;
	}
	if (req->flags & REQ_F_BUF_NODE)
		io_buf_forget_driver(req);
	trace_io_uring_submit_req(req);
	io_req_move(req, IO_REQ_PREPPED);
	if (io_req_is_next(req))
		io_issue_inline(req);
	else
		io_submit_chained(req);
}

/* Reschedule if needed.  Return: false if a fatal signal ends the batch. */
static noinline bool io_submit_pause(void)
{
	cond_resched();
	return !fatal_signal_pending(current);
}

/* Return: true if the next SQE is before @end.  An SQE of 128 bytes may have crossed it. */
static bool io_sq_before(const struct io_ring_ctx *ctx, unsigned int end)
{
	return (int)(ctx->sq.head - end) < 0;
}

/*
 * Begin the next part of the batch.  One load checks for signals as well as for need_resched(), as
 * a kill from another CPU does not set need_resched().  Return: false if the batch has to end.
 */
static bool io_submit_goes_on(struct io_ring_ctx *ctx, struct io_submit_batch *batch)
{
	unsigned int head = ctx->sq.head;

	if (!io_sq_before(ctx, ctx->sq.end))
		return false;
	if (unlikely(read_thread_flags() & (_TIF_NEED_RESCHED | _TIF_SIGPENDING)) &&
	    !io_submit_pause())
		return false;
	batch->part_end = head + min(IO_SUBMIT_PART, ctx->sq.end - head);
	return true;
}

/* Submit SQEs until the end of the batch.  Return: the number of consumed slots. */
static unsigned int io_submit_loop(struct io_ring_ctx *ctx, struct io_uring_task *tctx,
				   struct io_submit_batch *batch)
{
	unsigned int begin = ctx->sq.head;
	struct io_kiocb *req = NULL;

	do {
		const struct io_uring_sqe *sqe;

		if (!req) {
			req = io_req_take(ctx);
			if (unlikely(!req))
				break;
			req->tctx = tctx;
		}
		sqe = io_sq_next(ctx);
		if (unlikely(!sqe)) {
			/* the entry is not counted */
			begin++;
			break;
		}
		if (unlikely(!io_submit_one(ctx, req, sqe, batch))) {
			batch->left++;
			req = NULL;
		}
	} while (io_sq_before(ctx, batch->part_end) || io_submit_goes_on(ctx, batch));
	if (req)
		io_req_recycle(req);
	return ctx->sq.head - begin;
}

/**
 * io_submit_sqes - consume and issue SQEs
 * @ctx: the ring, its lock held; current has a struct io_tctx_node for the ring
 * @nr: maximum number of slots; an SQE of 128 bytes on a ring with SQE_MIXED has two
 *
 * Context: Task context.  May sleep.
 * Return: the number of consumed slots, or -EAGAIN if there was no memory for the first SQE.  The
 * number is less than @nr if there were fewer SQEs or no more memory, or if current was killed.
 * An index out of range also ends the batch, as does a refused SQE on a ring without SUBMIT_ALL.
 */
int io_submit_sqes(struct io_ring_ctx *ctx, unsigned int nr)
{
	struct io_uring_task *tctx = current->io_uring;
	struct io_submit_batch batch = { .ctx = ctx };
	unsigned int taken;

	io_assert_ring(ctx);
	nr = min(nr, io_sq_pending(ctx));
	if (unlikely(!nr))
		return 0;
	ctx->sq.end = ctx->sq.head + nr;
	batch.part_end = ctx->sq.head + min(nr, IO_SUBMIT_PART);
	batch.issue_flags = IO_URING_F_NONBLOCK | IO_URING_F_COMPLETE_DEFER | ctx->issue_flags;

	/* raise the credit for the whole batch, and subtract the used part after the batch */
	if (unlikely(tctx->credit < (int)nr))
		io_tctx_refill_credit(tctx, nr);
	taken = io_submit_loop(ctx, tctx, &batch);
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
