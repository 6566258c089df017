/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: finding requests in flight and ending them */
#ifndef IO_TASK_CANCEL_H
#define IO_TASK_CANCEL_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_TASK
#error "task/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

/**
 * struct io_cancel_scope - which requests are meant
 * @ctx: of this ring
 * @tctx: of this task, NULL for all tasks
 * @tracked: only those that hold a ring's file
 */
struct io_cancel_scope {
	struct io_ring_ctx	*ctx;
	struct io_uring_task	*tctx;
	bool			tracked;
};

bool io_parked_cancel(struct io_kiocb *req);
bool io_cancel_requests(const struct io_cancel_scope *what);
void io_cancel_task(struct io_uring_task *tctx, bool cancel_all);

#endif
