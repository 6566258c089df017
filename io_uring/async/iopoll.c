// SPDX-License-Identifier: GPL-2.0
/* io_uring: reaping of IORING_SETUP_IOPOLL rings */

/*
 * Polled devices raise no interrupt.  While such a device works on a request, the request is on
 * ctx->polled.first, in the order of submission.  The device is polled by io_uring_enter(), the
 * SQPOLL thread, a cancel, the fallback worker and IORING_UNREGISTER_BUFFERS.
 *
 * One round (io_iopoll_reap()) scans the list.  It polls the queue of each request that is not
 * done, usually once for each queue.  The driver calls ->ki_complete() of all requests that have
 * finished on this queue, in any order.  This callback stores the result and sets
 * req->iopoll_done.  A round completes such requests at any place in the list, so a slow request
 * or device does not delay the requests behind it.
 *
 * The return value of ->iopoll() is ignored: in a running task it is 1 even if no request has
 * finished.  A round does not wait for a queue, so that its caller can run task work, handle
 * signals and drop the ring lock between rounds.
 */
#include <linux/blk-mq.h>
#include <linux/fs.h>
#include <linux/io_uring/cmd.h>

#include "async/iopoll.h"
#include "complete/fast.h"

/* number of queues that a round stores, so as not to poll them twice */
#define IO_IOPOLL_QUEUES	4

/**
 * struct io_iopoll_round - queues that were polled in this round
 * @queue: the request queues (one for each device) of the last hardware queues that were polled
 * @cookie: the cookie of each of these, which identifies the hardware queue of the device
 * @next: counts stored queues; modulo IO_IOPOLL_QUEUES, the index to overwrite next
 *
 * A queue that was overwritten may be polled again, which costs only time.
 */
struct io_iopoll_round {
	struct request_queue	*queue[IO_IOPOLL_QUEUES];
	blk_qc_t		cookie[IO_IOPOLL_QUEUES];
	unsigned int		next;
};

/* Store a queue that is polled next.  Return: false if it was stored in this round already. */
static bool io_iopoll_note(struct io_iopoll_round *round, struct request_queue *queue,
			   blk_qc_t cookie)
{
	unsigned int i;

	for (i = 0; i < IO_IOPOLL_QUEUES; i++)
		if (round->queue[i] == queue && round->cookie[i] == cookie)
			return false;
	i = round->next++ % IO_IOPOLL_QUEUES;
	round->queue[i] = queue;
	round->cookie[i] = cookie;
	return true;
}

/*
 * Return: true if it is useful to poll for a request.  Call this within RCU, which keeps the bio.
 * One poll finds all finished requests of a queue only with blk-mq.
 */
static bool io_iopoll_worth(struct io_iopoll_round *round, struct io_kiocb *req)
{
	struct request_queue *queue;
	struct block_device *bdev;
	blk_qc_t cookie;
	struct bio *bio;

	if (unlikely(req->flags & REQ_F_POLL_CMD || req->file->f_op->iopoll != iocb_bio_iopoll))
		return true;
	bio = READ_ONCE(io_req_kiocb(req)->private);
	if (unlikely(!bio))
		return false;
	bdev = READ_ONCE(bio->bi_bdev);
	cookie = READ_ONCE(bio->bi_cookie);
	if (unlikely(!bdev || cookie == BLK_QC_T_NONE))
		return false;
	queue = bdev_get_queue(bdev);
	return !queue_is_mq(queue) || io_iopoll_note(round, queue, cookie);
}

/*
 * A driver that gets the ring as poll_ctx ends its commands at once, and copies data to the memory
 * of current.  So return the ring only if current has submitted all of its commands.
 */
static void *io_iopoll_owner(const struct io_kiocb *req)
{
	unsigned int one_submitter = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SQPOLL;

	return req->ctx->flags & one_submitter && req->tctx == current->io_uring ? req->ctx : NULL;
}

static void io_iopoll_ask_cmd(struct io_kiocb *req, struct io_comp_batch *iob)
{
	iob->poll_ctx = io_iopoll_owner(req);
	req->file->f_op->uring_cmd_iopoll(io_req_cmd(req), iob, BLK_POLL_ONESHOT);
}

/*
 * Poll for a request, unless its queue was polled in this round.  One RCU section both checks that
 * the request is not done and loads its bio, so that the bio is not freed within the section.
 *
 * Return: true if the request is done.
 */
static bool io_iopoll_ask(struct io_iopoll_round *round, struct io_kiocb *req)
{
	DEFINE_IO_COMP_BATCH(iob);

	scoped_guard(rcu) {
		if (io_iopoll_is_done(req))
			return true;
		if (!io_iopoll_worth(round, req))
			return false;
		if (req->flags & REQ_F_POLL_CMD)
			io_iopoll_ask_cmd(req, &iob);
		else
			req->file->f_op->iopoll(io_req_kiocb(req), &iob, BLK_POLL_ONESHOT);
	}
	/* complete the requests that the driver has collected in a batch */
	if (!rq_list_empty(&iob.req_list))
		iob.complete(&iob);
	return io_iopoll_is_done(req);
}

/*
 * Run the task work of a request to reissue, or of a driver's command, in the submitting task.
 * Return: the number of requests that were completed.
 */
static noinline unsigned int io_iopoll_run(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	bool cmd = req->flags & REQ_F_POLL_CMD;

	if (req->tctx != current->io_uring) {
		io_req_push(req, req->tw.run, IO_PUSH_NOW);
		return 0;
	}
	io_req_move(req, IO_REQ_TW_QUEUED);
	req->tw.run(ctx, &req->tw, IO_URING_F_COMPLETE_DEFER);
	return cmd;
}

/**
 * io_iopoll_reap - scan the polled requests in flight once
 * @ctx: the ring, its lock held; current may write CQEs, see io_cq_is_writer()
 *
 * Does not wait for the devices.
 *
 * Return: the number of requests that were completed.
 */
unsigned int io_iopoll_reap(struct io_ring_ctx *ctx)
{
	struct io_tw *tw = ctx->polled.first;
	struct io_iopoll_round round = {};
	unsigned int nr = 0;

	io_assert_ring(ctx);
	if (!tw)
		return 0;
	ctx->polled.tail = &ctx->polled.first;
	while (tw) {
		struct io_kiocb *req = io_tw_to_req(tw);

		tw = tw->next;
		if (!io_iopoll_is_done(req) && !io_iopoll_ask(&round, req)) {
			*ctx->polled.tail = &req->tw;
			ctx->polled.tail = &req->tw.next;
			continue;
		}
		if (unlikely(req->flags & (REQ_F_REISSUE | REQ_F_POLL_CMD))) {
			nr += io_iopoll_run(ctx, req);
			continue;
		}
		io_complete_collected(ctx, req);
		nr++;
	}
	WRITE_ONCE(*ctx->polled.tail, NULL);
	return nr;
}

/**
 * io_iopoll_add_later - let the fallback worker call io_iopoll_add(), without the ring lock
 * @req: the request; the caller must not access it afterwards
 */
void io_iopoll_add_later(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	/* the request may be reaped at once, and the ring freed */
	guard(rcu)();
	/* do not use a task's mailbox, which calls tw.run: ->ki_complete() may still set tw.run */
	io_mailbox_push(&ctx->polled.unlisted, &req->tw);
	io_fallback_kick(ctx);
}

/**
 * io_iopoll_add_unlisted - add the requests of io_iopoll_add_later() to those in flight
 * @ctx: the ring, its lock held
 */
void io_iopoll_add_unlisted(struct io_ring_ctx *ctx)
{
	struct io_tw *tw = io_mailbox_take(&ctx->polled.unlisted);

	while (tw) {
		struct io_kiocb *req = io_tw_to_req(tw);

		tw = tw->next;
		io_iopoll_add(req);
	}
}

/**
 * io_iopoll_orphaned - check for polled requests of tasks that are gone
 * @ctx: the ring, its lock held
 *
 * No task polls for such requests, which may hold device tags that other requests wait for.
 *
 * Return: true if the task of a polled request is gone or is cancelling its requests
 */
bool io_iopoll_orphaned(struct io_ring_ctx *ctx)
{
	struct io_tw *tw;

	io_assert_ring(ctx);
	for (tw = ctx->polled.first; tw; tw = tw->next) {
		if (atomic_read(&io_tw_to_req(tw)->tctx->in_cancel))
			return true;
	}
	return false;
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "async/tests/iopoll_kunit.c"
#endif
