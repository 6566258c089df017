/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: per-task state, and which tasks use which ring */
#ifndef IO_TASK_TCTX_H
#define IO_TASK_TCTX_H

#include <linux/sched.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_TASK
#error "task/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

/**
 * struct io_tctx_node - the use of a ring by a task
 * @tctx: the task's io_uring state
 * @ctx: the ring
 * @ctx_link: links the node into ctx->users.nodes
 * @rcu: frees the node after a grace period
 *
 * The node is also in tctx->nodes, indexed by the ring's address.  The task adds the node to both.
 * When the task exits or calls exec, or before the ring is freed, the node is removed from both,
 * under ctx->users.lock.  A node holds no references.  RCU readers may follow it to the task's
 * state and to the ring, which are freed by RCU after their nodes are removed.  RCU does not
 * protect the task's worker pool: use the pool, or take a reference to it, under ctx->users.lock.
 */
struct io_tctx_node {
	struct io_uring_task	*tctx;
	struct io_ring_ctx	*ctx;
	struct list_head	ctx_link;
	struct rcu_head		rcu;
};

struct io_ring_ctx *io_tctx_next_ring(struct io_uring_task *tctx, struct io_ring_ctx *last);

/* Iterate over the rings that current uses.  To leave the loop early, put @ctx->refs. */
#define io_tctx_for_each_ring(tctx, ctx)					\
	for ((ctx) = io_tctx_next_ring(tctx, NULL); (ctx);			\
	     (ctx) = io_tctx_next_ring(tctx, ctx))

struct io_wq *io_tctx_next_pool(struct io_ring_ctx *ctx, bool first);
void io_tctx_set_limits(struct io_ring_ctx *ctx, const u32 limits[2]);
int io_tctx_create(struct io_ring_ctx *ctx, struct task_struct *task);
int io_tctx_attach(struct io_ring_ctx *ctx);
int io_tctx_attach_slow(struct io_ring_ctx *ctx);
void io_tctx_detach_all(struct io_uring_task *tctx);
void io_tctx_forget_ring(struct io_ring_ctx *ctx);
void io_tctx_free(struct io_uring_task *tctx);
int io_ringfd_register(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr);
int io_ringfd_unregister(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr);
int io_ringfd_add(struct file *file);
void io_ringfd_drop_all(void);
struct file *io_ringfd_get(unsigned int index);

/**
 * io_tctx_attach_submitter - record that current is about to submit to a ring
 * @ctx: the ring, its lock not held
 *
 * Return: 0 or an error of io_tctx_attach_slow().
 */
static inline int io_tctx_attach_submitter(struct io_ring_ctx *ctx)
{
	struct io_uring_task *tctx = current->io_uring;

	if (likely(tctx && READ_ONCE(tctx->last) == ctx))
		return 0;
	return io_tctx_attach_slow(ctx);
}

/* Return: number of current's requests that have not ended. */
static inline long io_tctx_inflight(struct io_uring_task *tctx)
{
	return atomic_long_read(&tctx->inflight) - tctx->credit;
}

/* Return: true if @task is a live thread of the program.  Call this under rcu_read_lock(). */
static inline bool io_task_is_user(struct task_struct *task)
{
	struct io_uring_task *tctx = READ_ONCE(task->io_uring);

	if (READ_ONCE(task->flags) & (PF_USER_WORKER | PF_EXITING))
		return false;
	return !tctx || !READ_ONCE(tctx->exits);
}

#endif
