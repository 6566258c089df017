/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: a task's share of io_uring, and which tasks use which ring */
#ifndef IO_TASK_TCTX_H
#define IO_TASK_TCTX_H

#include <linux/sched.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_TASK
#error "task/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

/**
 * struct io_tctx_node - this task uses this ring
 * @tctx: the task's state
 * @ctx: the ring
 * @ctx_link: in ctx->tctx_list
 *
 * Also in tctx->nodes, under the ring's address.  Both change under io_tctx_mutex,
 * the list under the ring lock as well, so that either of them keeps it as it is.
 * A task's pool stays until its nodes are gone.
 */
struct io_tctx_node {
	struct io_uring_task	*tctx;
	struct io_ring_ctx	*ctx;
	struct list_head	ctx_link;
};

extern struct mutex io_tctx_mutex;

int io_tctx_create(struct io_ring_ctx *ctx, struct task_struct *task);
int io_tctx_attach(struct io_ring_ctx *ctx);
void io_tctx_detach_all(struct io_uring_task *tctx);
void io_tctx_forget_ring(struct io_ring_ctx *ctx);
void io_tctx_free(struct io_uring_task *tctx);
int io_ringfd_register(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr);
int io_ringfd_unregister(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr);
int io_ringfd_add(struct file *file);
void io_ringfd_drop_all(void);
struct file *io_ringfd_get(unsigned int index);

/**
 * io_tctx_attach_submitter - current is about to submit to a ring
 * @ctx: the ring, its lock not held
 *
 * Return: 0, -EEXIST on single issuer rings of another task, or an error of
 * io_tctx_attach().
 */
static inline int io_tctx_attach_submitter(struct io_ring_ctx *ctx)
{
	struct io_uring_task *tctx = current->io_uring;
	int ret;

	if (likely(tctx && READ_ONCE(tctx->last) == ctx))
		return 0;
	if (ctx->flags & IORING_SETUP_SINGLE_ISSUER && READ_ONCE(ctx->submitter_task) != current)
		return -EEXIST;
	ret = io_tctx_attach(ctx);
	if (!ret)
		WRITE_ONCE(current->io_uring->last, ctx);
	return ret;
}

/* Requests of current that have not ended. */
static inline long io_tctx_inflight(struct io_uring_task *tctx)
{
	return atomic_long_read(&tctx->inflight) - tctx->credit;
}

#endif
