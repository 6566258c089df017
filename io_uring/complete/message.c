// SPDX-License-Identifier: GPL-2.0
/* io_uring: CQEs that travel as entries: messages from ring to ring */

/*
 * One task writes a single-writer ring's CQEs.  Other tasks put theirs into an entry
 * (ring/entry.c) and push it onto the ring's mailbox, from which the writer takes it.
 * That needs no lock of the target.  Any task may write a multi-writer ring's CQEs, so
 * a message to it needs no entry.
 */
#include <linux/sched.h>
#include <trace/events/io_uring.h>

#include "complete/message.h"
#include "ring/cq_write.h"

/* Entries that go home together: one way for all that have the same home. */
struct io_entry_batch {
	struct io_cqe_entry	*first;
	struct io_cqe_entry	*last;
};

static void io_entry_batch_flush(struct io_entry_batch *home)
{
	if (home->first)
		io_entry_put_chain(home->first, home->last);
	home->first = NULL;
}

static void io_entry_batch_add(struct io_entry_batch *home, struct io_cqe_entry *entry)
{
	if (home->first && home->last->store == entry->store && entry->store) {
		home->last->tw.next = &entry->tw;
	} else {
		io_entry_batch_flush(home);
		home->first = entry;
	}
	home->last = entry;
}

/**
 * io_post_entries - stored CQEs have reached the writer of a single-writer ring
 * @ctx: the ring, its lock held
 * @tw: the first of them, of a list that was taken from a mailbox
 *
 * No more than fit into the queue, and one, so that a run of the mailbox keeps its share.
 *
 * Return: the item behind the last of those that were posted
 */
struct io_tw *io_post_entries(struct io_ring_ctx *ctx, struct io_tw *tw)
{
	struct io_entry_batch home = {};

	do {
		struct io_cqe_entry *entry = io_tw_to_entry(tw);
		const struct io_cqe_val *val = &entry->val;

		tw = tw->next;
		trace_io_uring_complete(ctx, NULL, val->user_data, val->res, val->flags,
					entry->extra[0], entry->extra[1]);
		if (unlikely(!io_cq_post_fast(ctx, val) && !io_cq_post_entry(ctx, entry)))
			break;
		io_entry_batch_add(&home, entry);
	} while (tw && tw->run == io_entry_tw);
	io_entry_batch_flush(&home);
	return tw;
}

/**
 * io_entry_tw - mark a stored CQE in a mailbox
 * @ctx: the ring, its lock held
 * @tw: of the entry
 * @issue_flags: unused
 */
void io_entry_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	tw->next = NULL;
	io_post_entries(ctx, tw);
}

/**
 * io_message_post_now - io_message_post() without an entry
 * @target: a multi-writer ring, or a single-writer one that current holds
 * @val: user_data, res and flags
 *
 * Return: as io_message_post()
 */
int io_message_post_now(struct io_ring_ctx *target, const struct io_cqe_val *val)
{
	trace_io_uring_complete(target, NULL, val->user_data, val->res, val->flags, 0, 0);
	if (target->cq.single_writer) {
		io_cq_post(target, val, NULL);
		return 0;
	}
	return io_cq_post_remote(target, val, NULL) ? 0 : -EOVERFLOW;
}
