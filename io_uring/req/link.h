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
 * under the ring lock.  From then on the chain belongs to the context that completes
 * the head.  Before the head ends, only the head and a LINK_TIMEOUT right behind it are issued.
 */

/* Put @req behind @last. */
static inline void io_link_append(struct io_kiocb *last, struct io_kiocb *req)
{
	last->link = req;
	last->flags |= REQ_F_HAS_LINK;
	io_req_move(req, IO_REQ_LINKED);
}

/* Detach @head's successors, which must be started only once.  Return: the first of them. */
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
 * Remove @next, which is right behind the running @head, from the chain; ring lock held.
 * A worker may change the flags of @head at the same time.  So REQ_F_HAS_LINK
 * stays set even if @head has no successor any more.
 */
static inline void io_link_leave(struct io_kiocb *head, struct io_kiocb *next)
{
	io_assert_ring(head->ctx);
	head->link = io_link_cut(next);
}

/* Return: true if the end of @req breaks its chain. */
static inline bool io_link_breaks(const struct io_kiocb *req)
{
	return (req->flags & (REQ_F_FAIL | REQ_F_HARDLINK)) == REQ_F_FAIL;
}

/* Return: the number of requests of a chain. */
static inline unsigned int io_link_len(const struct io_kiocb *req)
{
	unsigned int nr = 1;

	for (; req->flags & REQ_F_HAS_LINK; req = req->link)
		nr++;
	return nr;
}

#endif
