/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the SQPOLL thread, which submits without system calls */
#ifndef IO_TASK_SQPOLL_H
#define IO_TASK_SQPOLL_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_TASK
#error "task/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"
#include "async/wq.h"

/**
 * struct io_sq_data - a SQPOLL thread and the rings that it serves
 * @refs: memory: rings and the thread
 * @rings: without any the thread ends
 * @lock: the thread holds it while it works; outermost
 * @park_pending: (A) tasks that have or want @lock; the thread stays away until it is 0
 * @stop: (A) the last ring is going
 * @ctx_list: rings, under @lock
 * @wait: the idle thread
 * @thread: under @lock, NULL once it has gone
 * @idle: jiffies without work before the thread sleeps: the longest of its rings
 * @cpu: pinned to, or -1
 * @task_pid: creator, for the thread's name
 * @task_tgid: whose rings may attach
 * @env: what they have to share with it
 * @work_time: (A) microseconds spent with work
 * @user: the thread's: a thread of the program that lives, or did when the thread has looked
 * @user_wait: wakes the thread at the end of @user
 * @user_left: (A) @user has ended, perhaps: look for another one
 * @user_silent: the thread's: the end of @user wakes no poller
 */
struct io_sq_data {
	/* see above */
	struct mutex		lock;
	struct list_head	ctx_list;
	struct task_struct	*thread;
	struct wait_queue_head	wait;
	bool			stop;
	struct pid		*user;
	struct wait_queue_entry	user_wait;
	bool			user_left;
	bool			user_silent;
	atomic_t		park_pending;
	refcount_t		refs;
	refcount_t		rings;
	u64			work_time;
	unsigned int		idle;
	int			cpu;
	pid_t			task_pid;
	pid_t			task_tgid;
	struct io_wq_env	env;
};

/**
 * struct io_sq_stat - what can be told about a SQPOLL thread
 * @pid: in the initial namespace
 * @cpu: where it is pinned to or ran last
 * @total_us: time that it has run
 * @work_us: time that it spent with work
 */
struct io_sq_stat {
	pid_t	pid;
	int	cpu;
	u64	total_us;
	u64	work_us;
};

bool io_sq_stat(struct io_ring_ctx *ctx, struct io_sq_stat *stat);
int io_sqpoll_create(struct io_ring_ctx *ctx, struct io_uring_params *p);
bool io_sqpoll_leave(struct io_ring_ctx *ctx);

static inline void io_sqpoll_init(struct io_ring_ctx *ctx)
{
	init_waitqueue_head(&ctx->sqpoll.room);
	INIT_LIST_HEAD(&ctx->sqpoll.list);
}

void io_sqpoll_put(struct io_ring_ctx *ctx);
void io_iopoll_add_unlocked(struct io_kiocb *req);
void io_sqpoll_wait_room(struct io_ring_ctx *ctx);
int io_sqpoll_set_affinity(struct io_ring_ctx *ctx, const struct cpumask *mask);
int io_sqpoll_max_workers(struct io_ring_ctx *ctx, unsigned int counts[2]);

void io_sqpoll_user_left(void);

/* Is the thread still there?  A snapshot. */
static inline bool io_sqpoll_dead(const struct io_sq_data *sqd)
{
	return !READ_ONCE(sqd->thread);
}

#endif
