/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: chains of linked requests */
#ifndef IO_REQ_LINK_H
#define IO_REQ_LINK_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

/*
 * A chain is a singly linked list through req->link.  The submitter builds it
 * under the ring lock.  From then on it belongs to the context that completes the
 * head: the head is issued alone, what follows waits untouched.
 */

/* Put @req behind @last. */
static inline void io_link_append(struct io_kiocb *last, struct io_kiocb *req)
{
	last->link = req;
	last->flags |= REQ_F_HAS_LINK;
	io_req_move(req, IO_REQ_LINKED);
}

/* Detach what follows @head, so that nothing can reach it twice. */
static inline struct io_kiocb *io_link_cut(struct io_kiocb *head)
{
	struct io_kiocb *rest = head->link;

	if (!(head->flags & REQ_F_HAS_LINK))
		return NULL;
	head->link = NULL;
	head->flags &= ~REQ_F_HAS_LINK;
	return rest;
}

/*
 * Take @next out of the chain, from behind its running @head; ring lock held.
 * A worker may be about to change the flags of @head, so that REQ_F_HAS_LINK
 * stays although there may be nothing behind it any more.
 */
static inline void io_link_leave(struct io_kiocb *head, struct io_kiocb *next)
{
	io_assert_ring(head->ctx);
	head->link = io_link_cut(next);
}

/* Does the end of @req cut its chain? */
static inline bool io_link_breaks(const struct io_kiocb *req)
{
	return (req->flags & (REQ_F_FAIL | REQ_F_HARDLINK)) == REQ_F_FAIL;
}

/* Requests of a chain. */
static inline unsigned int io_link_len(const struct io_kiocb *req)
{
	unsigned int nr = 1;

	for (; req->flags & REQ_F_HAS_LINK; req = req->link)
		nr++;
	return nr;
}

#endif
