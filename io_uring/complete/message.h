/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: messages: CQEs that one ring posts to another */
#ifndef IO_COMPLETE_MESSAGE_H
#define IO_COMPLETE_MESSAGE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_COMPLETE
#error "complete/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/err.h>

#include "ring/cq.h"
#include "ring/entry.h"
#include "ring/mailbox.h"

struct io_tw *io_post_entries(struct io_ring_ctx *ctx, struct io_tw *tw);
void io_entry_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags);
int io_message_post_large(struct io_ring_ctx *target, struct io_cqe_entry *entry,
			  const struct io_cqe_val *val);
int io_message_post_now(struct io_ring_ctx *target, const struct io_cqe_val *val);

/**
 * io_message_prepare - allocate the entry of a message, while the sender can still fail
 * @target: the ring that receives the message, kept alive by the caller
 * @sender: the ring that sends the message if the caller holds its lock, else NULL
 *
 * Context: Task context.  May sleep.
 *
 * Return: an entry for io_message_post() or io_entry_put(); NULL if the message needs no entry;
 * ERR_PTR(-ENOMEM)
 */
static inline struct io_cqe_entry *io_message_prepare(struct io_ring_ctx *target,
						      struct io_ring_ctx *sender)
{
	struct io_cqe_entry *entry;

	if (!target->cq.single_writer || unlikely(target == sender && io_cq_is_writer(target)))
		return NULL;
	entry = likely(sender) ? io_entry_get(sender) : io_cq_entry(target);
	return likely(entry) ? entry : ERR_PTR(-ENOMEM);
}

/**
 * io_message_post - post a CQE to any ring
 * @target: the ring, kept alive by the caller; its lock need not be held
 * @entry: from io_message_prepare()
 * @val: user_data, res and flags, of a CQE that takes one slot
 *
 * Messages of one sender arrive in the order in which they were posted.
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -EOVERFLOW if a multi-writer ring has no room, and no memory or the ring ends
 */
static inline int io_message_post(struct io_ring_ctx *target, struct io_cqe_entry *entry,
				  struct io_cqe_val val)
{
	if (!entry)
		return io_message_post_now(target, &val);
	entry->val = val;
	entry->tw.run = io_entry_tw;
	io_owner_mailbox_push(target, &entry->tw, 0);
	return 0;
}

#endif
