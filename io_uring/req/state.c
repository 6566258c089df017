// SPDX-License-Identifier: GPL-2.0
/* io_uring: the states of a request */

/*
 * The table says which moves exist.  Debug kernels keep the state in the
 * request and warn about any other move, which is how a request that is
 * completed twice, or is on two lists, shows itself at the place where it
 * happens.
 */
#include <linux/bug.h>

#include "ctx.h"
#include "req/state.h"

#define TO(state)	BIT(IO_REQ_##state)

static const u16 io_req_moves[IO_REQ_NR_STATES] = {
	[IO_REQ_FREE]	 = TO(PREPPED) | TO(DONE),
	[IO_REQ_PREPPED] = TO(LINKED) | TO(DRAINED) | TO(ISSUING) | TO(QUEUED) | TO(DONE),
	[IO_REQ_LINKED]	 = TO(TW_QUEUED) | TO(QUEUED) | TO(ISSUING) | TO(DONE),
	[IO_REQ_DRAINED] = TO(TW_QUEUED) | TO(DONE),
	/* to itself: a worker's next attempt */
	[IO_REQ_ISSUING] = TO(ISSUING) | TO(WAITING) | TO(QUEUED) | TO(TW_QUEUED) |
			   TO(DONE),
	/* a driver may complete before the issuer has noted that it waits */
	[IO_REQ_WAITING]	 = TO(TW_QUEUED) | TO(ISSUING) | TO(QUEUED) | TO(DONE),
	[IO_REQ_QUEUED]	 = TO(ISSUING) | TO(TW_QUEUED) | TO(DONE),
	/* to wait again: it was woken for nothing, or goes on after an event */
	[IO_REQ_TW_QUEUED]	 = TO(ISSUING) | TO(WAITING) | TO(QUEUED) | TO(DONE),
	[IO_REQ_DONE]	 = TO(FREE) | TO(TW_QUEUED),
};

/**
 * io_req_may_move - check whether the table allows this change of state
 * @from: the state now
 * @to: the state then
 *
 * Return: true if it does
 */
bool io_req_may_move(enum io_req_state from, enum io_req_state to)
{
	return io_req_moves[from] & BIT(to);
}

#ifdef CONFIG_IO_URING_DEBUG
/**
 * io_req_move - note where a request goes
 * @req: the request, owned by the caller
 * @to: its new state
 */
void io_req_move(struct io_kiocb *req, enum io_req_state to)
{
	WARN_ONCE(!io_req_may_move(req->state, to), "op %u moves from state %u to %u\n",
		  req->opcode, req->state, to);
	req->state = to;
}
#endif
