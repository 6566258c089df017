// SPDX-License-Identifier: GPL-2.0
/* io_uring: CQEs that do not end a request */

/*
 * io_post_more() is for requests that live on; it refuses before any side
 * effect when the CQE would not fit, so that the op can make it its last.
 *
 * io_post_to() is for CQEs that nobody submitted: a registered resource's tag.
 * It is called with the ring lock held, but not always by who may write an
 * exclusive ring's CQEs; then the CQE travels as a stored entry through the
 * mailbox.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <trace/events/io_uring.h>

#include "complete/complete.h"
#include "ring/cq.h"

/**
 * io_post_more_slow - the part of io_post_more() that is not simple
 * @req: the request
 * @val: the CQE
 *
 * Return: see there
 */
bool io_post_more_slow(struct io_kiocb *req, const struct io_cqe_val *val)
{
	if (!io_cq_post_more(req->ctx, val))
		return false;
	trace_io_uring_complete(req->ctx, req, val->user_data, val->res, val->flags, 0, 0);
	return true;
}

/* A stored CQE has arrived at the owner of an exclusive ring. */
static void io_entry_mail(struct io_ring_ctx *ctx, struct io_mail *mail, unsigned int issue_flags)
{
	struct io_cqe_entry *entry = container_of(mail, struct io_cqe_entry, mail);

	io_cq_post(ctx, &entry->val, entry->extra);
	kfree(entry);
}

/**
 * io_post_to - post a CQE that no request asked for
 * @ctx: the ring, its lock held
 * @user_data: shown as it is
 * @res: result
 * @cflags: IORING_CQE_F_*
 *
 * Never refuses; if there is no memory for a CQE that has to travel, it counts
 * as lost, as an overflowed one would.
 */
void io_post_to(struct io_ring_ctx *ctx, u64 user_data, s32 res, u32 cflags)
{
	struct io_cqe_val val = { .user_data = user_data, .res = res, .flags = cflags };
	struct io_cqe_entry *entry;

	trace_io_uring_complete(ctx, NULL, user_data, res, cflags, 0, 0);
	if (io_cq_is_writer(ctx)) {
		io_cq_post(ctx, &val, NULL);
		return;
	}
	entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry) {
		io_cq_lost(ctx);
		return;
	}
	entry->val = val;
	entry->mail.run = io_entry_mail;
	io_ring_push(ctx, &entry->mail, 0);
}
