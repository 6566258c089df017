/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: from SQE to issue, for task/, sys/ and the worker pool */
#ifndef IO_SUBMIT_H
#define IO_SUBMIT_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_SUBMIT
#error "submit/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

int io_submit_sqes(struct io_ring_ctx *ctx, unsigned int nr);

/* issue a request, as an item of a mailbox */
void io_issue_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags);
/* handle an event for a request whose poll stays armed */
void io_multishot_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags);

/* the worker pool's callbacks, see struct io_wq_params */
struct io_wq_work *io_work_run(struct io_wq_work *work);
void io_work_put(struct io_wq_work *work);
const void *io_work_key(const struct io_wq_work *work);

#endif
