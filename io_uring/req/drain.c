// SPDX-License-Identifier: GPL-2.0
/* io_uring: IOSQE_IO_DRAIN, requests that wait for all earlier ones */

/*
 * While a drained request waits, every chain that is submitted after it waits behind it on
 * ctx->drain.first.  So all requests that are alive but not on the list were submitted earlier.
 * The head of the list may start when no such request is left, so requests need no sequence
 * numbers.  Only requests are counted, not CQEs that end no request (those of multishot requests,
 * resource tags and MSG_RING).
 *
 * ctx->drain.running says that a drained chain has started.  Chains that are submitted from then on
 * wait on the list until its last request has ended, that is, until no request is alive that is not
 * on the list.  Then they start, up to the next drained one.  6.12 lets later chains start with the
 * drained one (IO_DRAIN_UNTIL_START).
 */
#include "req/drain.h"
#include "req/free.h"
#include "req/link.h"
#include "ring/sq.h"

/* Tell submitters whether a chain has to wait. */
static void io_drain_update(struct io_ring_ctx *ctx)
{
	if (ctx->drain.first || ctx->drain.running)
		WRITE_ONCE(ctx->submit_slow, ctx->submit_slow | IO_SLOW_DRAIN);
	else
		WRITE_ONCE(ctx->submit_slow, ctx->submit_slow & ~IO_SLOW_DRAIN);
}

/* Remove the first chain from the list. */
static struct io_kiocb *io_drain_pop(struct io_ring_ctx *ctx)
{
	struct io_kiocb *head = io_tw_to_req(ctx->drain.first);

	ctx->drain.first = head->tw.next;
	if (!ctx->drain.first)
		ctx->drain.tail = &ctx->drain.first;
	ctx->drain.nr -= io_link_len(head);
	ctx->drain.running = !IO_DRAIN_UNTIL_START && head->flags & REQ_F_IO_DRAIN;
	io_drain_update(ctx);
	return head;
}

/**
 * io_drain_waits - check whether a chain has to wait on the list
 * @head: the head of the chain, or a single request, drained or submitted while IO_SLOW_DRAIN is
 *	set; ring lock held
 *
 * A drained chain that need not wait is issued at once.  On 6.12 the first chain of a batch always
 * waits: the rest of the batch is submitted before the chain is issued, and cancel requests do not
 * find it.
 *
 * Return: true if the chain has to wait; false if the caller issues it now.
 */
bool io_drain_waits(const struct io_kiocb *head)
{
	struct io_ring_ctx *ctx = head->ctx;
	unsigned int len = io_link_len(head);

	io_assert_ring(ctx);
	io_req_reclaim_retired(ctx);
	if (ctx->drain.first)
		return true;
	if (io_reqs_alive(ctx) != len)
		return ctx->drain.running || head->flags & REQ_F_IO_DRAIN;
	if (IO_DRAIN_UNTIL_START && io_sq_taken(ctx) == len)
		return true;
	ctx->drain.running = !IO_DRAIN_UNTIL_START && head->flags & REQ_F_IO_DRAIN;
	io_drain_update(ctx);
	return false;
}

/**
 * io_drain_add - put a chain on the list of waiting chains
 * @head: the head of the chain, or a single request, with ->tw.run set; ring lock held
 */
void io_drain_add(struct io_kiocb *head)
{
	struct io_ring_ctx *ctx = head->ctx;

	io_assert_ring(ctx);
	io_req_move(head, IO_REQ_DRAINED);
	head->tw.next = NULL;
	*ctx->drain.tail = &head->tw;
	ctx->drain.tail = &head->tw.next;
	ctx->drain.nr += io_link_len(head);
	io_drain_update(ctx);
	/* set the flag before the reclaim; pairs with the push in io_req_retire() */
	smp_mb();
	io_req_reclaim_retired(ctx);
	io_drain_check(ctx);
}

/**
 * io_drain_check - start the chains that need not wait any more
 * @ctx: the ring, its lock held
 */
void io_drain_check(struct io_ring_ctx *ctx)
{
	io_assert_ring(ctx);
	while (ctx->submit_slow & IO_SLOW_DRAIN) {
		bool alone = io_reqs_alive(ctx) == ctx->drain.nr;

		if (ctx->drain.running) {
			if (!alone)
				return;
			ctx->drain.running = false;
			io_drain_update(ctx);
		} else {
			if (!alone && io_tw_to_req(ctx->drain.first)->flags & REQ_F_IO_DRAIN)
				return;
			io_req_go_on(io_drain_pop(ctx), true);
		}
	}
}

/**
 * io_drain_take_matching - remove the chains of a task from the list to cancel them
 * @ctx: the ring, its lock held
 * @tctx: of the task, or NULL for all tasks
 *
 * One scan removes all these chains, as tasks that share the ring can make the list long.
 * Until a removed chain is freed, it delays the drained chains on the list.
 *
 * Return: the heads of the removed chains, linked by ->tw, or NULL if there is none.
 */
struct io_tw *io_drain_take_matching(struct io_ring_ctx *ctx, struct io_uring_task *tctx)
{
	struct io_tw **at = &ctx->drain.first;
	struct io_tw *taken = NULL, **last = &taken;

	io_assert_ring(ctx);
	while (*at) {
		struct io_kiocb *head = io_tw_to_req(*at);

		cond_resched();
		if (tctx && head->tctx != tctx) {
			at = &head->tw.next;
			continue;
		}
		*at = head->tw.next;
		*last = &head->tw;
		last = &head->tw.next;
		ctx->drain.nr -= io_link_len(head);
	}
	*last = NULL;
	ctx->drain.tail = at;
	io_drain_update(ctx);
	return taken;
}
