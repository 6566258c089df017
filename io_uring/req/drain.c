// SPDX-License-Identifier: GPL-2.0
/* io_uring: IOSQE_IO_DRAIN, requests that wait for all earlier ones */

/*
 * While a drained request waits, every chain that is submitted after it waits
 * behind it on ctx->drain.first.  So all requests that are alive but not on the
 * list were submitted earlier.  The head of the list may start when no such request
 * is left, so requests need no sequence numbers.  Only requests are counted, not CQEs that
 * end no request (those of multishot requests, resource tags and MSG_RING).
 *
 * When a drained chain starts, the chains behind it start, too, up to the next drained one.
 */
#include "req/drain.h"
#include "req/free.h"
#include "req/link.h"
#include "ring/sq.h"

/* Remove the first chain from the list. */
static struct io_kiocb *io_drain_pop(struct io_ring_ctx *ctx)
{
	struct io_kiocb *head = io_tw_to_req(ctx->drain.first);

	ctx->drain.first = head->tw.next;
	if (!ctx->drain.first) {
		ctx->drain.tail = &ctx->drain.first;
		WRITE_ONCE(ctx->submit_slow, ctx->submit_slow & ~IO_SLOW_DRAIN);
	}
	ctx->drain.nr -= io_link_len(head);
	return head;
}

/**
 * io_drain_may_go - check whether a drained chain can be issued without waiting
 * @head: the head of the chain, or a single request; ring lock held
 *
 * A chain that need not wait is issued at once, so that later cancel requests of the batch find it.
 * The first chain of a batch always waits: as on 6.12 the rest of the batch is submitted before the
 * chain is issued, and cancel requests do not find it.  A chain also waits if other chains wait.
 *
 * Return: true if the chain need not wait.
 */
bool io_drain_may_go(const struct io_kiocb *head)
{
	struct io_ring_ctx *ctx = head->ctx;

	io_assert_ring(ctx);
	if (ctx->drain.first || io_sq_taken(ctx) == io_link_len(head))
		return false;
	io_req_reclaim_retired(ctx);
	return io_reqs_alive(ctx) == io_link_len(head);
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
	WRITE_ONCE(ctx->submit_slow, ctx->submit_slow | IO_SLOW_DRAIN);
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
	while (ctx->drain.first) {
		struct io_kiocb *head = io_tw_to_req(ctx->drain.first);

		if (head->flags & REQ_F_IO_DRAIN && io_reqs_alive(ctx) != ctx->drain.nr)
			return;
		io_drain_pop(ctx);
		io_req_go_on(head, true);
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
	if (!ctx->drain.first)
		WRITE_ONCE(ctx->submit_slow, ctx->submit_slow & ~IO_SLOW_DRAIN);
	return taken;
}
