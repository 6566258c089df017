// SPDX-License-Identifier: GPL-2.0
/* io_uring: reaping of IORING_SETUP_IOPOLL rings */

/*
 * Devices that are polled raise no interrupt.  A request that such a device
 * works on is on ctx->iopoll_list, in the order of submission, and somebody
 * comes and asks: io_uring_enter(), the SQPOLL thread, or who cancels.
 *
 * One round asks the driver, which calls back into the ops' ->ki_complete for
 * whatever is finished, in any order; that only notes the result and raises
 * req->iopoll_done.  Then the list is walked and what is done is completed,
 * wherever it stands: a slow request does not keep those behind it.
 *
 * A queue is asked once a round and not waited for, so that who waits can look
 * after messages, signals and the ring lock in between.
 */
#include <linux/blk-mq.h>
#include <linux/fs.h>

#include "async/iopoll.h"
#include "complete/complete.h"

/*
 * Ask the devices until one had something.  Those that had nothing come first
 * with the next round.  What the driver can finish as a batch is left in @iob.
 */
static void io_iopoll_ask(struct io_ring_ctx *ctx, struct io_comp_batch *iob)
{
	struct io_mail *mail;

	for (mail = ctx->iopoll_list; mail; mail = mail->next) {
		struct io_kiocb *req = io_mail_to_req(mail);

		if (io_iopoll_is_done(req))
			continue;
		if (req->file->f_op->iopoll(io_req_kiocb(req), iob, BLK_POLL_ONESHOT) > 0)
			break;
	}
	if (!rq_list_empty(&iob->req_list))
		iob->complete(iob);
}

/* Complete what is done, keep the others.  Return: how many were done. */
static unsigned int io_iopoll_collect(struct io_ring_ctx *ctx)
{
	struct io_mail *mail = ctx->iopoll_list;
	unsigned int nr = 0;

	ctx->iopoll_tail = &ctx->iopoll_list;
	while (mail) {
		struct io_kiocb *req = io_mail_to_req(mail);

		mail = mail->next;
		if (!io_iopoll_is_done(req)) {
			*ctx->iopoll_tail = &req->mail;
			ctx->iopoll_tail = &req->mail.next;
			continue;
		}
		if (unlikely(req->flags & REQ_F_REISSUE)) {
			req->mail.run(ctx, &req->mail, 0);
			continue;
		}
		io_complete_collected(ctx, req);
		nr++;
	}
	WRITE_ONCE(*ctx->iopoll_tail, NULL);
	return nr;
}

/**
 * io_iopoll_reap - one round over the polled requests in flight
 * @ctx: the ring, its lock held; exclusive rings: by who may write CQEs
 *
 * Does not wait.
 *
 * Return: the number of requests that were completed.
 */
unsigned int io_iopoll_reap(struct io_ring_ctx *ctx)
{
	DEFINE_IO_COMP_BATCH(iob);

	io_assert_ring(ctx);
	if (!ctx->iopoll_list)
		return 0;
	io_iopoll_ask(ctx, &iob);
	return io_iopoll_collect(ctx);
}

/**
 * io_iopoll_orphaned - are there polled requests of tasks that are gone?
 * @ctx: the ring, its lock held
 *
 * Nobody may come for them, and others may wait for what they hold: the tags of a
 * device.
 *
 * Return: the answer, also true for those of a task that is about to go
 */
bool io_iopoll_orphaned(struct io_ring_ctx *ctx)
{
	struct io_mail *mail;

	io_assert_ring(ctx);
	for (mail = ctx->iopoll_list; mail; mail = mail->next) {
		if (atomic_read(&io_mail_to_req(mail)->tctx->in_cancel))
			return true;
	}
	return false;
}
