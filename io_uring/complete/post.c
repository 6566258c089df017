// SPDX-License-Identifier: GPL-2.0
/* io_uring: CQEs that do not end a request */

/*
 * io_post_more() is for requests that live on; it refuses before any side
 * effect when the CQE would not fit, so that the op can make it its last.
 *
 * io_post_to() is for CQEs that nobody submitted: a registered resource's tag.
 * It is called with the ring lock held, but not always by who may write an
 * exclusive ring's CQEs; then the CQE travels as a stored entry through the
 * mailbox.  Messages (IORING_OP_MSG_RING) go the same way without any lock of
 * the target.
 */
#include <linux/sched.h>
#include <trace/events/io_uring.h>

#include "complete/complete.h"
#include "ring/cq.h"
#include "ring/cq_write.h"
#include "ring/entry.h"

static bool io_post_more_any(struct io_kiocb *req, s32 res, u32 cflags, bool counted)
{
	struct io_cqe_val val = {
		.user_data = req->cqe.user_data,
		.res = res,
		.flags = cflags | IORING_CQE_F_MORE,
	};

	if (!io_cq_post_more(req->ctx, &val, counted))
		return false;
	trace_io_uring_complete(req->ctx, req, val.user_data, val.res, val.flags, 0, 0);
	return true;
}

/**
 * io_post_more_slow - the part of io_post_more() that is not simple
 * @req: the request
 * @res: result
 * @cflags: IORING_CQE_F_* besides F_MORE
 *
 * Return: see there
 */
bool io_post_more_slow(struct io_kiocb *req, s32 res, u32 cflags)
{
	return io_post_more_any(req, res, cflags, true);
}

/**
 * io_post_more_uncounted - io_post_more() of a timeout
 * @req: the request
 * @res: result
 *
 * Return: as io_post_more()
 */
bool io_post_more_uncounted(struct io_kiocb *req, s32 res)
{
	return io_post_more_any(req, res, 0, false);
}

/* Entries that go home together: one way for all that have the same home. */
struct io_homegoers {
	struct io_cqe_entry	*first;
	struct io_cqe_entry	*last;
};

static void io_homegoers_leave(struct io_homegoers *home)
{
	if (home->first)
		io_entry_put_chain(home->first, home->last);
	home->first = NULL;
}

static void io_homegoers_add(struct io_homegoers *home, struct io_cqe_entry *entry)
{
	if (home->first && home->last->store == entry->store && entry->store) {
		home->last->mail.next = &entry->mail;
	} else {
		io_homegoers_leave(home);
		home->first = entry;
	}
	home->last = entry;
}

/**
 * io_post_entries - stored CQEs have arrived at who may write an exclusive ring's queue
 * @ctx: the ring, its lock held
 * @mail: the first of them, of a list that was taken from a mailbox
 *
 * No more than fit into the queue, and one, so that who runs mail keeps its share.
 *
 * Return: the item behind the last of those that were posted
 */
struct io_mail *io_post_entries(struct io_ring_ctx *ctx, struct io_mail *mail)
{
	struct io_homegoers home = {};

	do {
		struct io_cqe_entry *entry = io_mail_to_entry(mail);
		const struct io_cqe_val *val = &entry->val;

		mail = mail->next;
		trace_io_uring_complete(ctx, NULL, val->user_data, val->res, val->flags,
					entry->extra[0], entry->extra[1]);
		if (unlikely(!io_cq_post_straight(ctx, val) && !io_cq_post_entry(ctx, entry)))
			break;
		io_homegoers_add(&home, entry);
	} while (mail && mail->run == io_entry_mail);
	io_homegoers_leave(&home);
	return mail;
}

/**
 * io_entry_mail - what marks a stored CQE in a mailbox
 * @ctx: the ring, its lock held
 * @mail: of the entry
 * @issue_flags: unused
 */
void io_entry_mail(struct io_ring_ctx *ctx, struct io_mail *mail, unsigned int issue_flags)
{
	mail->next = NULL;
	io_post_entries(ctx, mail);
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

	if (io_cq_is_writer(ctx)) {
		trace_io_uring_complete(ctx, NULL, user_data, res, cflags, 0, 0);
		io_cq_post(ctx, &val, NULL);
		return;
	}
	entry = io_entry_alloc(GFP_KERNEL);
	if (entry)
		io_message_post(ctx, entry, val);
	else
		io_cq_lost(ctx);
}

/**
 * io_message_post_now - io_message_post() without an entry
 * @target: a shared ring, or an exclusive one that current holds
 * @val: user_data, res and flags
 *
 * Return: as io_message_post()
 */
int io_message_post_now(struct io_ring_ctx *target, const struct io_cqe_val *val)
{
	trace_io_uring_complete(target, NULL, val->user_data, val->res, val->flags, 0, 0);
	if (target->cq.exclusive) {
		io_cq_post(target, val, NULL);
		return 0;
	}
	return io_cq_post_remote(target, val, NULL) ? 0 : -EOVERFLOW;
}
