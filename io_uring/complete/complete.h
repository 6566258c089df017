/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the one way from a result to a CQE */
#ifndef IO_COMPLETE_H
#define IO_COMPLETE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_COMPLETE
#error "complete/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/tracepoint-defs.h>

#include "req/free.h"
#include "ring/cq.h"
#include "ring/cq_write.h"
#include "ring/entry.h"
#include "ring/mailbox.h"

/*
 * Three verbs:
 *
 *	io_complete()		this request is finished: its CQE, its chain, its end
 *	io_post_more()		one more CQE for a request that lives on
 *	io_post_to()		a CQE for a ring that no request asked for: tags, notices
 *				(io_message_post(): the same without the ring's lock)
 *
 * The ring lock is held.  What is not in its right context gets there by
 * io_complete_later() (any context) or io_complete_unlocked() (workers).
 */
void io_complete(struct io_kiocb *req);
void io_complete_uncounted(struct io_kiocb *req);
void io_complete_later(struct io_kiocb *req);
void io_complete_unlocked(struct io_kiocb *req);
void io_complete_mail(struct io_ring_ctx *ctx, struct io_mail *mail, unsigned int issue_flags);
void io_req_fail(struct io_kiocb *req, s32 res);
void io_req_fail_later(struct io_kiocb *req, s32 res);
void io_req_put_unlocked(struct io_kiocb *req);

void io_trace_complete(struct io_kiocb *req);
DECLARE_TRACEPOINT(io_uring_complete);

/* What a request may have that its end has to look after, besides registered resources. */
#define IO_REQ_END_FLAGS	(IO_REQ_CLEAN_FLAGS | REQ_F_CQE_SKIP | REQ_F_HAS_LINK | \
				 REQ_F_REFCOUNT)

/**
 * io_complete_straight - a request is finished by who issued it, if that is simple
 * @ctx: the ring
 * @req: the request, its result is in req->cqe; ring lock held, as io_complete()
 *
 * Does what io_complete() does except that the request's memory and charge stay
 * with the caller, who may use it for the next one.
 *
 * Return: false, and nothing was done, if it is not simple.
 */
static inline bool io_complete_straight(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	io_req_flags_t flags = req->flags;

	if (unlikely(flags & IO_REQ_END_FLAGS || tracepoint_enabled(io_uring_complete)))
		return false;
	if (unlikely(!io_cq_post_straight(ctx, &req->cqe)))
		return false;
	io_req_move(req, IO_REQ_DONE);
	if (flags & (REQ_F_FILE_NODE | REQ_F_BUF_NODE)) {
		if (flags & REQ_F_FILE_NODE)
			io_node_put(ctx, req->file_node);
		if (flags & REQ_F_BUF_NODE)
			io_node_put(ctx, req->buf_node);
	}
	io_req_move(req, IO_REQ_FREE);
	return true;
}

/**
 * io_complete_collected - io_complete() for who collects many finished requests
 * @ctx: the ring
 * @req: the request, as for io_complete()
 */
static inline void io_complete_collected(struct io_ring_ctx *ctx, struct io_kiocb *req)
{
	if (likely(io_complete_straight(ctx, req)))
		io_req_give_back(ctx, req);
	else
		io_complete(req);
}

bool io_post_more_slow(struct io_kiocb *req, s32 res, u32 cflags);
bool io_post_more_uncounted(struct io_kiocb *req, s32 res);

/* io_post_more(), if that is simple.  Return: whether it was posted. */
static inline bool io_post_more_straight(struct io_kiocb *req, s32 res, u32 cflags)
{
	struct io_cqe_val val = {
		.user_data = req->cqe.user_data,
		.res = res,
		.flags = cflags | IORING_CQE_F_MORE,
	};

	return likely(!tracepoint_enabled(io_uring_complete)) &&
	       likely(io_cq_post_more_straight(req->ctx, &val));
}

/**
 * io_post_more - post a CQE with IORING_CQE_F_MORE for a live request
 * @req: the request; ring lock held, exclusive rings: by who may write CQEs
 * @res: result
 * @cflags: IORING_CQE_F_* besides F_MORE
 *
 * Return: false, and nothing was done, if there is no room: the caller ends the
 * request with this result.
 */
static inline bool io_post_more(struct io_kiocb *req, s32 res, u32 cflags)
{
	return likely(io_post_more_straight(req, res, cflags)) ||
	       io_post_more_slow(req, res, cflags);
}

void io_post_to(struct io_ring_ctx *ctx, u64 user_data, s32 res, u32 cflags);
struct io_mail *io_post_entries(struct io_ring_ctx *ctx, struct io_mail *mail);
void io_entry_mail(struct io_ring_ctx *ctx, struct io_mail *mail, unsigned int issue_flags);
int io_message_post_now(struct io_ring_ctx *target, const struct io_cqe_val *val);

/**
 * io_message_prepare - get what a message needs, while it can still fail
 * @target: the ring that it is for, kept alive by the caller
 * @sender: the ring that it comes from if the caller holds its lock, else NULL
 *
 * May sleep.
 *
 * Return: an entry for io_message_post() or io_entry_put(); NULL if none is
 * needed; ERR_PTR(-ENOMEM)
 */
static inline struct io_cqe_entry *io_message_prepare(struct io_ring_ctx *target,
						      struct io_ring_ctx *sender)
{
	struct io_cqe_entry *entry;

	if (!target->cq.exclusive || unlikely(target == sender && io_cq_is_writer(target)))
		return NULL;
	entry = likely(sender) ? io_entry_get(sender) : io_entry_alloc(IO_ENTRY_BEYOND);
	return likely(entry) ? entry : ERR_PTR(-ENOMEM);
}

/**
 * io_message_post - post a CQE to any ring
 * @target: the ring, kept alive by the caller; its lock need not be held
 * @entry: from io_message_prepare()
 * @val: user_data, res and flags
 *
 * Task context.  Messages of one sender arrive in their order.
 *
 * Return: 0, or -EOVERFLOW if a shared ring had neither room nor memory.
 */
static inline int io_message_post(struct io_ring_ctx *target, struct io_cqe_entry *entry,
				  struct io_cqe_val val)
{
	if (!entry)
		return io_message_post_now(target, &val);
	entry->val = val;
	entry->mail.run = io_entry_mail;
	io_ring_push(target, &entry->mail, 0);
	return 0;
}

#endif
