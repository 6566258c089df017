/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: requests that wait until a file is ready */
#ifndef IO_ASYNC_POLL_H
#define IO_ASYNC_POLL_H

#include <linux/poll.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_ASYNC
#error "async/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

/* io_poll->owner: 0 if unclaimed; the upper half has the low half of the waker's events */
#define IO_POLL_OWNED		BIT(0)
#define IO_POLL_MASK_SHIFT	16

/* io_poll->wants: events in the low half and from bit 27 on; between them, bits for the owner */
#define IO_POLL_AGAIN		BIT(16)	/* the poll was woken while it had an owner */
#define IO_POLL_CANCEL		BIT(17)	/* the request has to end; this bit stays set */
#define IO_POLL_NEWS		(IO_POLL_AGAIN | IO_POLL_CANCEL)

/**
 * struct io_poll - a request that waits until a file is ready
 * @owner: (A) nonzero while a context has claimed the poll to continue its request, see
 *	async/poll.c
 * @wants: (A) the events that the request waits for, and IO_POLL_NEWS.  Wakers set bits.
 *	Without EPOLLONESHOT the request continues to wait after an event
 * @head: (A) the file's waitqueue, NULL after @wait was removed from the waitqueue
 * @second: (R) entry of the second waitqueue, for files that have two
 * @wait: on @head, under its lock
 *
 * POLL_ADD has this structure in its op data; other requests allocate a struct io_poll_retry.
 */
struct io_poll {
	atomic_t		owner;
	atomic_t		wants;
	struct wait_queue_head	*head;
	struct io_poll_second	*second;
	struct wait_queue_entry	wait;
};

/**
 * struct io_poll_second - entry on the second waitqueue of a file
 * @poll: (-) the poll that the entry belongs to
 * @head: (A) as in struct io_poll
 * @wait: on @head, under its lock
 */
struct io_poll_second {
	struct io_poll		*poll;
	struct wait_queue_head	*head;
	struct wait_queue_entry	wait;
};

/**
 * struct io_poll_retry - poll of a request, other than POLL_ADD, that waits to be issued again
 * @spare: entry in ctx->polls.spares; must be the first field
 * @poll: the poll
 */
struct io_poll_retry {
	struct io_spare		spare;
	struct io_poll		poll;
};

/**
 * enum io_poll_verdict - result of io_poll_check()
 * @IO_POLL_NOTHING: there is no event that the request waits for
 * @IO_POLL_READY: there is such an event
 * @IO_POLL_CANCELLED: the request has to end with -ECANCELED
 */
enum io_poll_verdict {
	IO_POLL_NOTHING,
	IO_POLL_READY,
	IO_POLL_CANCELLED,
};

/**
 * enum io_poll_hold - result of io_poll_hold(), for a request that would have blocked
 * @IO_POLL_HOLD: the request waits for its file; the caller must not access the request any more
 * @IO_POLL_RETRY: the file has become ready; issue the request again
 * @IO_POLL_BLOCK: waiting for the file does not help; block
 * @IO_POLL_END: the request was cancelled; the caller ends it
 */
enum io_poll_hold {
	IO_POLL_HOLD,
	IO_POLL_RETRY,
	IO_POLL_BLOCK,
	IO_POLL_END,
};

/* events that each poll reports, even if the program did not request them */
#define IO_POLL_UNASKED	(EPOLLERR | EPOLLHUP | EPOLLNVAL | EPOLLRDHUP)

static inline __poll_t io_poll_events(const struct io_poll *poll)
{
	return (__force __poll_t)(atomic_read(&poll->wants) & ~IO_POLL_NEWS);
}

/* Set the events of a poll that is on no waitqueue. */
static inline void io_poll_set_events(struct io_poll *poll, __poll_t events)
{
	atomic_set(&poll->wants, (__force int)events);
}

/*
 * Return: the low half of the events that the last claim stored; 0 if the waker passed no events.
 * Once io_poll_check() has called ->poll(), these are the events that ->poll() returned.
 */
static inline __poll_t io_poll_woken_by(const struct io_poll *poll)
{
	return (__force __poll_t)((u32)atomic_read(&poll->owner) >> IO_POLL_MASK_SHIFT);
}

/* Clear handled events, so that the next io_poll_check() calls ->poll().  Only for the owner. */
static inline void io_poll_forget_events(struct io_poll *poll)
{
	atomic_set(&poll->owner, IO_POLL_OWNED);
}

/**
 * io_poll_check_fast - do the work of io_poll_check() for a single wake
 * @poll: poll of a waiting request; ring lock held, the caller owns the poll
 *
 * Return: the events; 0 if io_poll_check() has to be called, because there were several wakes, the
 * waker passed no events, or the request is cancelled.
 */
static inline __poll_t io_poll_check_fast(const struct io_poll *poll)
{
	u32 wants = atomic_read(&poll->wants);

	if (unlikely(wants & IO_POLL_NEWS))
		return 0;
	return io_poll_woken_by(poll) & (__force __poll_t)wants;
}

typedef void (*io_poll_run)(struct io_ring_ctx *ctx, struct io_tw *tw,
			    unsigned int issue_flags);

int io_poll_arm(struct io_kiocb *req, struct io_poll *poll, io_poll_run run,
		unsigned int issue_flags, __poll_t *ready);
enum io_poll_verdict io_poll_check(struct io_kiocb *req, unsigned int issue_flags);
/* number of successive wakes without an event after which a caller uses io_poll_pause() */
#define IO_POLL_VAIN	4

void io_poll_pause(struct io_kiocb *req, io_poll_run resume);
void io_poll_resume(struct io_kiocb *req, io_poll_run run);
void io_poll_pass_on(struct file *file, __poll_t events);
void io_poll_recheck_slow(struct io_ring_ctx *ctx);

static inline void io_poll_init(struct io_ring_ctx *ctx)
{
	ctx->polls.recheck = io_poll_recheck_slow;
}

bool io_poll_own(struct io_kiocb *req);
void io_poll_end(struct io_kiocb *req);
bool io_poll_cancel(struct io_kiocb *req);

/**
 * io_poll_recheck - check for events that arrived while polls were released
 * @ctx: the ring, its lock held
 *
 * Call this before a released poll can end: before task work runs, before io_poll_own()
 * claims a poll, and in io_ring_unlock().
 */
static inline void io_poll_recheck(struct io_ring_ctx *ctx)
{
	if (ctx->polls.nr_released)
		io_poll_recheck_slow(ctx);
}

/* Release the poll, so that the next waker can claim it. */
static inline void io_poll_unclaim(struct io_ring_ctx *ctx, struct io_poll *poll)
{
	ctx->polls.released[ctx->polls.nr_released++] = poll;
	/* pairs with the acquire in io_poll_claim(); model: NO_RELEASE */
	atomic_set_release(&poll->owner, 0);
	if (unlikely(ctx->polls.nr_released == IO_POLL_RELEASED))
		io_poll_recheck_slow(ctx);
}

/**
 * io_poll_try_unclaim - release the poll to wait for the next event
 * @req: waiting; ring lock held, the caller owns its poll and has checked it
 *
 * Return: true; false if there was a wake or a cancel: the caller has to check the poll again.
 */
static inline bool io_poll_try_unclaim(struct io_kiocb *req)
{
	struct io_poll *poll = req->poll;

	io_assert_ring(req->ctx);
	if (unlikely(atomic_read(&poll->wants) & IO_POLL_NEWS))
		return false;
	io_req_move(req, IO_REQ_WAITING);
	io_poll_unclaim(req->ctx, poll);
	return true;
}

bool io_poll_is_ready(const struct io_kiocb *req);
enum io_poll_hold io_poll_hold(struct io_kiocb *req, io_poll_run run, unsigned int issue_flags);
void io_poll_disarm_retry(struct io_kiocb *req);

/* Let the request wait only for errors before its retry, so that data does not wake it. */
static inline void io_poll_errors_only(struct io_kiocb *req)
{
	req->flags |= REQ_F_POLL_ERRORS;
}

/* the amount that an attempt without progress counts; an attempt with progress counts 1 */
#define IO_POLL_IN_VAIN	16

/*
 * Count an attempt that has transferred a part as 1 instead of IO_POLL_IN_VAIN.  If it counted as
 * 0, MSG_PEEK could transfer the same part for ever, with the ring lock held.
 */
static inline void io_poll_progress(struct io_kiocb *req)
{
	if (req->flags & REQ_F_POLL_TRIED)
		req->poll_tries -= IO_POLL_IN_VAIN - 1;
}

/* Return: true if the request can wait for its file (->poll()) when it would block. */
static inline bool io_poll_may_retry(const struct io_kiocb *req)
{
	const struct io_op *op = io_ops[req->opcode];

	return (op->poll_in || op->poll_out) && req->file && file_can_poll(req->file);
}

#endif
