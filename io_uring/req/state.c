// SPDX-License-Identifier: GPL-2.0
/* io_uring: the states of a request */

/*
 * The table lists the valid transitions.  Debug kernels keep the state in the
 * request and warn about any other transition.  So a request that is completed
 * twice, or is on two lists, is reported at the place where that happens.
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
	/* to itself: the next attempt of a worker, or of a multishot request */
	[IO_REQ_ISSUING] = TO(ISSUING) | TO(WAITING) | TO(QUEUED) | TO(TW_QUEUED) |
			   TO(DONE),
	/* not a state of all requests: a driver may complete a request that is still ISSUING */
	[IO_REQ_WAITING]	 = TO(TW_QUEUED) | TO(ISSUING) | TO(QUEUED) | TO(DONE),
	[IO_REQ_QUEUED]	 = TO(ISSUING) | TO(TW_QUEUED) | TO(DONE),
	/* to wait again: a spurious wakeup, or a multishot request after an event */
	[IO_REQ_TW_QUEUED]	 = TO(ISSUING) | TO(WAITING) | TO(QUEUED) | TO(DONE),
	[IO_REQ_DONE]	 = TO(FREE) | TO(TW_QUEUED),
};

/**
 * io_req_may_move - check whether the table allows a transition
 * @from: old state
 * @to: new state
 *
 * Return: true if the transition is valid.
 */
bool io_req_may_move(enum io_req_state from, enum io_req_state to)
{
	return io_req_moves[from] & BIT(to);
}

#ifdef CONFIG_IO_URING_DEBUG
/**
 * io_req_move - change the state of a request, and check the transition
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
