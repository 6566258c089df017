// SPDX-License-Identifier: GPL-2.0
/* io_uring: messages: CQEs that one ring posts to another */

/*
 * Only one task, the writer, may write the CQEs of a single-writer ring.  Another task that
 * sends a CQE to such a ring stores the CQE in an entry (ring/entry.c), and pushes the entry to
 * the ring's mailbox.  The writer takes the entry from there.  The sender does not need the ring
 * lock of the target.  Any task may post to a multi-writer ring, so a message to it needs no entry.
 */
#include <linux/sched.h>
#include <trace/events/io_uring.h>

#include "complete/message.h"
#include "ring/cq_write.h"

/* Entries that are returned to the same store in one operation. */
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
 * io_post_entries - post stored CQEs that have reached the writer of a single-writer ring
 * @ctx: the ring, its lock held
 * @tw: item of the first entry, in a list that was taken from a mailbox
 *
 * The function stops after the first entry that goes to the overflow list.  So each overflowed
 * entry counts as a separate item in a run of the mailbox.
 *
 * Return: the item after the last entry that was posted or has overflowed, or NULL
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
 * io_entry_tw - post a stored CQE from a mailbox
 * @ctx: the ring, its lock held
 * @tw: item of the entry
 * @issue_flags: unused
 */
void io_entry_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	tw->next = NULL;
	io_post_entries(ctx, tw);
}

/* Post a stored CQE of two slots from a mailbox. */
static void io_entry_large_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct io_cqe_entry *entry = io_tw_to_entry(tw);

	trace_io_uring_complete(ctx, NULL, entry->val.user_data, entry->val.res, entry->val.flags,
				entry->extra[0], entry->extra[1]);
	if (io_cq_post_entry(ctx, entry))
		io_entry_put(entry);
}

/**
 * io_message_post_now - post a message without an entry
 * @target: a multi-writer ring; or a single-writer ring whose lock current holds as its writer
 * @val: user_data, res and flags
 *
 * Return: 0; -EOVERFLOW if a multi-writer ring has no room, and no memory or the ring ends
 */
int io_message_post_now(struct io_ring_ctx *target, const struct io_cqe_val *val)
{
	if (target->cq.single_writer)
		io_cq_post(target, val, NULL);
	else if (!io_cq_post_remote(target, val))
		return -EOVERFLOW;
	trace_io_uring_complete(target, NULL, val->user_data, val->res, val->flags, 0, 0);
	return 0;
}

/**
 * io_message_post_large - io_message_post() for a CQE that takes two slots
 * @target: a ring with CQEs of both sizes
 * @entry: from io_message_prepare()
 * @val: user_data, res and flags
 *
 * Return: as io_message_post()
 */
int io_message_post_large(struct io_ring_ctx *target, struct io_cqe_entry *entry,
			  const struct io_cqe_val *val)
{
	if (entry) {
		entry->val = *val;
		memset(entry->extra, 0, sizeof(entry->extra));
		entry->tw.run = io_entry_large_tw;
		io_owner_mailbox_push(target, &entry->tw, IO_PUSH_NOW);
		return 0;
	}
	if (target->cq.single_writer)
		return io_message_post_now(target, val);
	if (!io_cq_post_remote_large(target, val))
		return -EOVERFLOW;
	trace_io_uring_complete(target, NULL, val->user_data, val->res, val->flags, 0, 0);
	return 0;
}
