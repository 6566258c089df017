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
 * struct io_sq_data - an SQPOLL thread and the rings that it serves
 * @refs: (A) references to this memory: one per ring, and one of the thread
 * @rings: (A) number of rings; the thread ends at 0
 * @lock: held by the thread while it works; the outermost lock
 * @park_pending: (A) tasks that hold @lock or wait for it; the thread takes @lock again at 0
 * @leaving: (A) number of rings that end and are still in @ctx_list
 * @stop: (A) the thread has to end: the last ring is gone, or setup failed
 * @ctx_list: rings, under @lock
 * @wait: the thread sleeps here while it is idle or parked
 * @thread: the thread, NULL once it has ended; set by its creator before it runs, then under @lock
 * @idle: jiffies without work before the thread sleeps; the maximum of its rings
 * @cpu: CPU that the thread is pinned to, or -1
 * @task_pid: pid of the creator, for the thread's name; later the pid of the thread
 * @task_tgid: process whose rings may attach
 * @env: root, files and namespaces that the creator of an attaching ring must share
 * @work_time: (A) microseconds spent working
 * @user: thread of the program that was live at the last check; used by the SQPOLL thread alone
 * @user_wait: wakes the thread at the end of @user
 * @user_left: (A) @user may have ended, so find another live thread
 * @user_silent: the end of @user wakes no poller; used by the SQPOLL thread alone
 */
struct io_sq_data {
	/* lock order: see ring/locks.h */
	struct mutex		lock;
	struct list_head	ctx_list;
	struct task_struct	*thread;
	struct wait_queue_head	wait;
	bool			stop;
	struct pid		*user;
	struct wait_queue_entry	user_wait;
	bool			user_left, user_silent;
	atomic_t		park_pending, leaving;
	refcount_t		refs, rings;
	u64			work_time;
	unsigned int		idle;
	int			cpu;
	pid_t			task_pid;
	pid_t			task_tgid;
	struct io_wq_env	env;
};

/**
 * struct io_sq_stat - statistics of an SQPOLL thread
 * @pid: pid in the initial namespace
 * @cpu: CPU that the thread is pinned to, or ran on last
 * @total_us: CPU time of the thread, in microseconds
 * @work_us: time that the thread spent working, in microseconds
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

/* Return: true if the thread has ended.  The thread may end right after the check. */
static inline bool io_sqpoll_dead(const struct io_sq_data *sqd)
{
	return !READ_ONCE(sqd->thread);
}

#endif
