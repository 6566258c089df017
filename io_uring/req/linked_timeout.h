/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: linked timeouts, each limits the time of the request before it */
#ifndef IO_REQ_LINKED_TIMEOUT_H
#define IO_REQ_LINKED_TIMEOUT_H

#include <linux/errno.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/link.h"

/*
 * A linked timeout is called limit in the code, as in io_op->limit, and the request
 * before it is its *head*.  Unlike other requests of a chain, a linked timeout starts
 * before its head ends:
 *
 *	attach	->prep() sets REQ_F_LINK_TIMEOUT in the timeout, REQ_F_HAS_TIMEOUT in the head
 *	start	if the head does not finish at once, its issuer also issues the linked
 *		timeout: the timer runs, ->timed points to the head, the chain is unchanged
 *	expire	the timer has expired: the linked timeout leaves the chain and cancels the head
 *	end	the head has ended, and the linked timeout ends with it
 *
 * All steps run under the ring lock.  "end" clears ->timed, and "expire" removes
 * the linked timeout from the chain, so only the first of these steps acts on the other request.
 */

/**
 * io_linked_timeout_attach - attach a linked timeout to the last request of the chain in progress
 * @limit: the linked timeout; ring lock held
 *
 * Return: 0; -EINVAL if there is no request, or another linked timeout, before @limit.
 */
static inline int io_linked_timeout_attach(struct io_kiocb *limit)
{
	struct io_ring_ctx *ctx = limit->ctx;

	if (!ctx->chain.head || io_ops[ctx->chain.last->opcode]->limit)
		return -EINVAL;
	limit->flags |= REQ_F_LINK_TIMEOUT;
	ctx->chain.last->flags |= REQ_F_HAS_TIMEOUT;
	if (limit->flags & (REQ_F_LINK | REQ_F_HARDLINK))
		ctx->chain.last->flags |= REQ_F_TIMEOUT_LINKED;
	return 0;
}

/**
 * io_linked_timeout_start - find the linked timeout of a head that does not finish at once
 * @head: the request; ring lock held
 *
 * Return: the linked timeout, which the caller has to issue now; NULL if the chain
 * has none, or if its timer runs already.
 */
static inline struct io_kiocb *io_linked_timeout_start(struct io_kiocb *head)
{
	struct io_kiocb *limit = head->link;

	io_assert_ring(head->ctx);
	if (!limit || !(limit->flags & REQ_F_LINK_TIMEOUT) || limit->flags & REQ_F_TIMEOUT_RUNS)
		return NULL;
	limit->flags |= REQ_F_TIMEOUT_RUNS;
	limit->timed = head;
	return limit;
}

/**
 * io_linked_timeout_expire - take an expired linked timeout out of its chain
 * @limit: the linked timeout; ring lock held
 *
 * Return: the head, which the caller has to cancel; NULL if the head has ended.
 */
static inline struct io_kiocb *io_linked_timeout_expire(struct io_kiocb *limit)
{
	struct io_kiocb *head = limit->timed;

	if (head)
		io_link_leave(head, limit);
	return head;
}

/**
 * io_linked_timeout_end - find the linked timeout of a head that has ended
 * @next: successor of the head, detached from it; updated to the successor of the linked timeout
 *
 * The result of the linked timeout does not depend on the result of the head.
 *
 * Context: Task context.  Holds the ring lock.
 * Return: the linked timeout, which the caller has to complete; NULL if there is none, or
 * if its timer has expired, as the expiry completes the linked timeout.
 */
static inline struct io_kiocb *io_linked_timeout_end(struct io_kiocb **next)
{
	struct io_kiocb *limit = *next;

	if (!limit || !(limit->flags & REQ_F_LINK_TIMEOUT))
		return NULL;
	*next = io_link_cut(limit);
	if (limit->flags & REQ_F_TIMEOUT_RUNS) {
		limit->timed = NULL;
		if (!io_ops[limit->opcode]->unlinked(limit))
			return NULL;
	}
	limit->cqe.res = -ECANCELED;
	return limit;
}

#endif
