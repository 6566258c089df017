/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the fast path of a plain SQE, inside submit/ */
#ifndef IO_SUBMIT_FAST_H
#define IO_SUBMIT_FAST_H

#include <linux/bitops.h>
#include <linux/blkdev.h>
#include <trace/events/io_uring.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_SUBMIT
#error "submit/ may not be seen from below, see io_uring/layer.h"
#endif

#include "complete/fast.h"
#include "submit/issue.h"

/*
 * These functions are inlined into the loop of submit.c, so that an SQE on the fast path needs
 * few calls besides those of its op.
 */

/* smallest batch that uses a block plug */
#define IO_PLUG_MIN	3

/**
 * struct io_submit_batch - state of one call of io_submit_sqes()
 * @ctx: the ring
 * @part_end: position in the queue of the next check for need_resched() and signals
 * @left: number of requests that were not finished on the fast path
 * @issue_flags: IO_URING_F_* for ->issue
 * @plugged: ctx->plug has been started
 */
struct io_submit_batch {
	struct io_ring_ctx	*ctx;
	unsigned int		part_end;
	unsigned int		left;
	unsigned int		issue_flags;
	bool			plugged;
};

/*
 * The first four bytes of an SQE are opcode, flags and ioprio.  They are read as one little-endian
 * word, of whose upper half only zero or not zero matters.  The four bytes from buf_index on are
 * buf_index and personality, in the byte order of the machine.
 */
static_assert(offsetof(struct io_uring_sqe, opcode) == 0);
static_assert(offsetof(struct io_uring_sqe, flags) == 1);
static_assert(offsetof(struct io_uring_sqe, ioprio) == 2);
static_assert(offsetof(struct io_uring_sqe, personality) ==
	      offsetof(struct io_uring_sqe, buf_index) + 2);

#define IO_SQE_W0_OPCODE(head)	((u8)(head))
#define IO_HEAD_FLAGS(head)	((u8)((head) >> 8))
#define IO_SQE_W0_FAST		(0xff | IOSQE_FIXED_FILE << 8)

static inline u32 io_sqe_word(const void *at)
{
	return le32_to_cpu(READ_ONCE(*(const __le32 *)at));
}

/* Read two native fields of 16 bits.  Return: the first in the lower half, then the second. */
static inline u32 io_sqe_halves(const void *at)
{
	u32 word = READ_ONCE(*(const u32 *)at);

	return IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? ror32(word, 16) : word;
}

/* Start the block plug, at the first request of the batch whose op sets ->plug. */
static inline void io_batch_plug(struct io_submit_batch *batch)
{
	struct io_ring_ctx *ctx = batch->ctx;
	/* this SQE and those behind it */
	unsigned int nr = ctx->sq.end - ctx->sq.head + 1;

	if (batch->plugged || nr < IO_PLUG_MIN)
		return;
	blk_start_plug_nr_ios(&ctx->plug, min(nr, USHRT_MAX));
	batch->plugged = true;
}

/* Check for IOPOLL, read the descriptor, and call ->prep.  Return: 0 or a negative errno. */
static __always_inline int io_req_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe,
				       const struct io_op *op, struct io_submit_batch *batch)
{
	if (unlikely(batch->ctx->iopoll && !op->iopoll))
		return -EINVAL;
	if (op->needs_file) {
		/* ->cqe.res has the descriptor until the issue looks up the file */
		req->cqe.res = READ_ONCE(sqe->fd);
		if (op->plug)
			io_batch_plug(batch);
	}
	return op->prep(req, sqe);
}

void io_submit_refused(struct io_kiocb *req, const struct io_uring_sqe *sqe, int err,
		       struct io_submit_batch *batch);
void io_submit_slow(struct io_kiocb *req, const struct io_uring_sqe *sqe, u32 head,
		    u16 personality, struct io_submit_batch *batch);

/* Submit an SQE on the fast path.  Return: true if @req has ended and may be reused. */
static __always_inline bool io_submit_fast(struct io_ring_ctx *ctx, struct io_kiocb *req,
					   const struct io_uring_sqe *sqe,
					   struct io_submit_batch *batch)
{
	const struct io_op *op = io_ops[req->opcode];
	enum io_result result;
	int err;

	err = io_req_prep(req, sqe, op, batch);
	if (unlikely(err)) {
		io_submit_refused(req, sqe, err, batch);
		return false;
	}
	trace_io_uring_submit_req(req);
	io_req_move(req, IO_REQ_PREPPED);
	result = io_issue_first(req, op, batch->issue_flags);
	if (likely(result == IO_DONE) && likely(io_complete_fast(ctx, req)))
		return true;
	if (result == IO_PENDING)
		return false;
	io_issue_result(req, result);
	return false;
}

/* Submit one SQE.  Return: true if @req has ended and may be reused. */
static __always_inline bool io_submit_one(struct io_ring_ctx *ctx, struct io_kiocb *req,
					  const struct io_uring_sqe *sqe,
					  struct io_submit_batch *batch)
{
	u32 head = io_sqe_word(sqe), tail = io_sqe_halves(&sqe->buf_index);

	io_req_poison(req);
	req->cqe.user_data = READ_ONCE(sqe->user_data);
	req->cqe.flags = 0;
	req->opcode = IO_SQE_W0_OPCODE(head);
	req->flags = (__force io_req_flags_t)(u64)IO_HEAD_FLAGS(head) | REQ_F_PREPPED;
	req->buf_index = tail;
	if (unlikely(head & ~IO_SQE_W0_FAST || ctx->submit_slow || tail >> 16)) {
		io_submit_slow(req, sqe, head, tail >> 16, batch);
		return false;
	}
	return io_submit_fast(ctx, req, sqe, batch);
}

#endif
