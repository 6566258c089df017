/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: finding and ending requests in flight */
#ifndef IO_TASK_CANCEL_H
#define IO_TASK_CANCEL_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_TASK
#error "task/ may not be seen from below, see io_uring/layer.h"
#endif

#include "async/wq.h"
#include "req/req.h"

/**
 * struct io_cancel_scope - requests to end with a task or a ring
 * @ctx: the ring of the requests
 * @tctx: the task of the requests, NULL for all tasks
 * @tracked: end only requests with REQ_F_TRACKED, which must not outlive their task; if @tctx is
 *	NULL, end only those of tasks that exit or exec
 */
struct io_cancel_scope {
	struct io_ring_ctx	*ctx;
	struct io_uring_task	*tctx;
	bool			tracked;
};

/**
 * struct io_cancel_key - requests that a program wants to end
 * @ctx: the ring of the requests
 * @user_data: user_data of the requests, with IORING_ASYNC_CANCEL_USERDATA
 * @file: file of the requests, with IORING_ASYNC_CANCEL_FD
 * @self: the request that cancels, or NULL
 * @flags: IORING_ASYNC_CANCEL_*
 * @opcode: opcode of the requests, with IORING_ASYNC_CANCEL_OP
 */
struct io_cancel_key {
	struct io_ring_ctx	*ctx;
	u64			user_data;
	const struct file	*file;
	const struct io_kiocb	*self;
	u32			flags;
	u8			opcode;
};

/* flags that a program may set */
#define IO_CANCEL_FLAGS	(IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_FD |		\
			 IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_FD_FIXED |	\
			 IORING_ASYNC_CANCEL_USERDATA | IORING_ASYNC_CANCEL_OP)

void io_cancel_key_init(struct io_cancel_key *key, struct io_ring_ctx *ctx, u64 user_data,
			u32 flags);
int io_cancel_by_key(const struct io_cancel_key *key);
int io_cancel_request(struct io_kiocb *req);

bool io_cancel_requests(const struct io_cancel_scope *what);
void io_cancel_orphans(struct io_ring_ctx *ctx);
void io_cancel_task(struct io_uring_task *tctx, bool cancel_all);

#endif
