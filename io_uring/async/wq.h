/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the worker pool of a task */
#ifndef IO_ASYNC_WQ_H
#define IO_ASYNC_WQ_H

#include <linux/bits.h>
#include <linux/sched.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_ASYNC
#error "async/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

struct cpumask;

/**
 * enum io_wq_work_flags - bits of io_wq_work->flags
 * @IO_WQ_WORK_CANCEL: params->run() has to end the work with -ECANCELED instead of beginning
 *	it; see also io_wq_worker_stopped()
 * @IO_WQ_WORK_HASHED: serialised with work of the same key, see struct io_wq_params
 * @IO_WQ_WORK_UNBOUND: the work may never end; counts against the limit of unbounded workers
 * @IO_WQ_WORK_CONCURRENT: the work is expected to block: if no worker is idle, create a worker
 *	now, not when the running workers go to sleep, up to one worker for each CPU
 *
 * The caller of io_wq_enqueue() sets these bits before the call.  Later only IO_WQ_WORK_CANCEL
 * is added, by the pool before it calls params->run(), or by params->run().
 */
enum io_wq_work_flags {
	IO_WQ_WORK_CANCEL	= BIT(0),
	IO_WQ_WORK_HASHED	= BIT(1),
	IO_WQ_WORK_UNBOUND	= BIT(2),
	IO_WQ_WORK_CONCURRENT	= BIT(3),
};

/**
 * struct io_wq_env - objects that a task shares with new workers, and can replace later
 * @fs: root and working directory
 * @files: descriptors
 * @ns: namespaces
 *
 * These pointers are compared, never dereferenced.  Workers hold references to the objects
 * that they share, so no address is reused while such a worker lives.
 */
struct io_wq_env {
	const struct fs_struct		*fs;
	const struct files_struct	*files;
	const struct nsproxy		*ns;
};

static inline struct io_wq_env io_wq_current_env(void)
{
	return (struct io_wq_env) {
		.fs = current->fs, .files = current->files, .ns = current->nsproxy,
	};
}

static inline bool io_wq_env_is_current(const struct io_wq_env *env)
{
	return env->fs == current->fs && env->files == current->files &&
	       env->ns == current->nsproxy;
}

/**
 * struct io_wq_found - result of io_wq_cancel()
 * @queued: number of queued work items that were cancelled, and have ended
 * @running: number of running work items that were cancelled, and may still run
 */
struct io_wq_found {
	unsigned int	queued;
	unsigned int	running;
};

typedef struct io_wq_work *(*io_wq_run_fn)(struct io_wq_work *work);
typedef void (*io_wq_put_fn)(struct io_wq_work *work);
typedef const void *(*io_wq_key_fn)(const struct io_wq_work *work);
typedef bool (*io_wq_match_fn)(struct io_wq_work *work, void *data);

/**
 * struct io_wq_params - parameters of a pool
 * @task: the task of the pool: workers are threads of its process, created in its context
 * @run: do the work, on a worker, or pass the work to another context.  With
 *	IO_WQ_WORK_CANCEL set, end the work: on a worker, on a kernel worker, or in the context
 *	that cancels work or ends the pool, with its locks held.  Never called within
 *	io_wq_enqueue().  Returns the result of io_wq_go_on(), or NULL
 * @put: drop the pool's reference to the work, in the context that has called @run.  Must not
 *	wait, because a worker may have taken its next work already
 * @key: return the key of hashed work, an address: work of one key runs one at a time.  The key
 *	is only compared, and must not change until the pool drops the work
 * @bounded: limit of workers for work that ends by itself; 0 counts as 1
 */
struct io_wq_params {
	struct task_struct	*task;
	io_wq_run_fn		run;
	io_wq_put_fn		put;
	io_wq_key_fn		key;
	unsigned int		bounded;
};

struct io_wq *io_wq_create(const struct io_wq_params *p);
void io_wq_exit_start(struct io_wq *wq);
bool io_wq_bounded_busy(struct io_wq *wq, unsigned int *done);
void io_wq_bounded_nudge(struct io_wq *wq);
bool io_wq_run_bounded(struct io_wq *wq);
bool io_wq_exit_wait(struct io_wq *wq, unsigned long timeout);
void io_wq_put_and_exit(struct io_wq *wq);
void io_wq_wait_done(struct io_wq *wq);
bool io_wq_tryget(struct io_wq *wq);
void io_wq_unref(struct io_wq *wq);

void io_wq_count_ring(struct io_wq *wq, int change);
void io_wq_enqueue(struct io_wq *wq, struct io_wq_work *work);
struct io_wq_work *io_wq_go_on(struct io_wq_work *work, bool timed);
struct io_wq_found io_wq_cancel(struct io_wq *wq, io_wq_match_fn match, void *data, bool all);

int io_wq_set_affinity(struct io_wq *wq, const struct cpumask *mask);
int io_wq_set_max_workers(struct io_wq *wq, unsigned int counts[2]);

bool io_wq_shares_env(const struct io_wq_env *env);
bool io_wq_worker_stopped(void);
bool io_wq_disown(void);

#endif
