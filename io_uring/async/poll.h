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

/*
 * bits of io_poll->word; the low half of the events that woke it stand in the
 * upper half of the word
 */
#define IO_POLL_OWNED		BIT(0)	/* somebody goes on with the request */
#define IO_POLL_AGAIN		BIT(1)	/* it was woken since then */
#define IO_POLL_CANCEL		BIT(2)	/* it has to end; stays */
#define IO_POLL_MASK_SHIFT	16

/**
 * struct io_poll - a request that waits until a file is ready
 * @word: (A) IO_POLL_*: who goes on with the request, see async/poll.c
 * @events: (A) what it waits for, with EPOLLONESHOT unless it goes on after an
 *	event.  A waker may add that bit
 * @head: (A) the file's waitqueue, NULL once @wait is not on it any more
 * @second: (R) the same for files that have two
 * @wait: on @head, under its lock
 *
 * POLL_ADD keeps it in the op's own storage, others take one from the ring, see
 * struct io_poll_retry.
 */
struct io_poll {
	atomic_t		word;
	__poll_t		events;
	struct wait_queue_head	*head;
	struct io_poll_second	*second;
	struct wait_queue_entry	wait;
};

/**
 * struct io_poll_second - the second waitqueue of a file
 * @head: (A) as in struct io_poll
 * @wait: on @head, under its lock
 */
struct io_poll_second {
	struct wait_queue_head	*head;
	struct wait_queue_entry	wait;
};

/**
 * struct io_poll_retry - for requests that are no polls, but wait to be issued again
 * @poll: first
 * @next: (R) on ctx->free_polls
 */
struct io_poll_retry {
	struct io_poll		poll;
	struct io_poll_retry	*next;
};

/**
 * enum io_poll_verdict - what the owner of a poll finds
 * @IO_POLL_NOTHING: no event that it waits for
 * @IO_POLL_READY: an event
 * @IO_POLL_CANCELLED: it has to end with -ECANCELED
 */
enum io_poll_verdict {
	IO_POLL_NOTHING,
	IO_POLL_READY,
	IO_POLL_CANCELLED,
};

/**
 * enum io_poll_hold - what becomes of a request that would have blocked
 * @IO_POLL_HOLD: it waits for its file, the caller must not touch it any more
 * @IO_POLL_RETRY: the file is ready by now, try again
 * @IO_POLL_BLOCK: waiting for the file does not help, block
 * @IO_POLL_END: it was cancelled, its end is the caller's
 */
enum io_poll_hold {
	IO_POLL_HOLD,
	IO_POLL_RETRY,
	IO_POLL_BLOCK,
	IO_POLL_END,
};

/* What a poll is told of whether it asked or not. */
#define IO_POLL_UNASKED	(EPOLLERR | EPOLLHUP | EPOLLNVAL | EPOLLRDHUP)

static inline __poll_t io_poll_word_mask(u32 word)
{
	return (__force __poll_t)(word >> IO_POLL_MASK_SHIFT);
}

/**
 * io_poll_straight - what io_poll_look() would say, if that is simple
 * @poll: parked; ring lock held, the caller owns it
 * @word: as it is, for io_poll_release_straight()
 *
 * Simple is one wake, which knew its events.
 *
 * Return: the events, or 0 if it is not simple.
 */
static inline __poll_t io_poll_straight(struct io_poll *poll, int *word)
{
	__poll_t events = READ_ONCE(poll->events);

	*word = atomic_read(&poll->word);
	if (unlikely(*word & (IO_POLL_AGAIN | IO_POLL_CANCEL)))
		return 0;
	return io_poll_word_mask(*word) & events;
}

/* io_poll_release() after that.  Return: as it. */
static inline bool io_poll_release_straight(struct io_kiocb *req, struct io_poll *poll, int word)
{
	/* before it is released: from there it moves on with its waker */
	io_req_move(req, IO_REQ_PARKED);
	if (likely(atomic_try_cmpxchg(&poll->word, &word, 0)))
		return true;
	io_req_move(req, IO_REQ_MAILED);
	return false;
}

typedef void (*io_poll_run)(struct io_ring_ctx *ctx, struct io_mail *mail,
			    unsigned int issue_flags);

int io_poll_arm(struct io_kiocb *req, struct io_poll *poll, io_poll_run run,
		unsigned int issue_flags, __poll_t *ready);
enum io_poll_verdict io_poll_look(struct io_kiocb *req, unsigned int issue_flags, __poll_t *mask);
bool io_poll_release(struct io_kiocb *req);
bool io_poll_own(struct io_kiocb *req);
void io_poll_end(struct io_kiocb *req);
bool io_poll_cancel(struct io_kiocb *req);

enum io_poll_hold io_poll_hold(struct io_kiocb *req, io_poll_run run, unsigned int issue_flags);
void io_poll_hold_end(struct io_kiocb *req);
void io_poll_cache_free(struct io_ring_ctx *ctx);

/* May a request that would block wait for its file instead? */
static inline bool io_poll_may_hold(const struct io_kiocb *req)
{
	const struct io_op *op = io_ops[req->opcode];

	return (op->poll_in || op->poll_out) && req->file && file_can_poll(req->file);
}

#endif
