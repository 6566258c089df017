/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the states of a request */
#ifndef IO_REQ_STATE_H
#define IO_REQ_STATE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

/**
 * enum io_req_state - states of a request
 * @IO_REQ_FREE: on the ring's stack, or being filled in
 * @IO_REQ_PREPPED: its SQE has been read
 * @IO_REQ_LINKED: waits for the request before it in a chain
 * @IO_REQ_DRAINED: waits on ctx->drain.first, drained or behind a drained request
 * @IO_REQ_ISSUING: ->issue runs
 * @IO_REQ_WAITING: ->issue has handed it to the context that will complete it
 * @IO_REQ_QUEUED: in the worker pool
 * @IO_REQ_TW_QUEUED: in a mailbox
 * @IO_REQ_DONE: its result is set, and its CQE, if any, is being posted
 * @IO_REQ_NR_STATES: number of states
 *
 * Only kernels with CONFIG_IO_URING_DEBUG keep and check the state.
 */
enum io_req_state {
	IO_REQ_FREE,
	IO_REQ_PREPPED,
	IO_REQ_LINKED,
	IO_REQ_DRAINED,
	IO_REQ_ISSUING,
	IO_REQ_WAITING,
	IO_REQ_QUEUED,
	IO_REQ_TW_QUEUED,
	IO_REQ_DONE,
	IO_REQ_NR_STATES,
};

bool io_req_may_move(enum io_req_state from, enum io_req_state to);

#ifdef CONFIG_IO_URING_DEBUG
void io_req_move(struct io_kiocb *req, enum io_req_state to);
#else
static inline void io_req_move(struct io_kiocb *req, enum io_req_state to)
{
}
#endif

#endif
