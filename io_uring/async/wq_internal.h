/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the worker pool: internal structures and helpers */
#ifndef IO_ASYNC_WQ_INTERNAL_H
#define IO_ASYNC_WQ_INTERNAL_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_ASYNC
#error "async/ may not be seen from below, see io_uring/layer.h"
#endif

#include "async/wq.h"

/* limit of keys (inodes or open files) that a lane uses at a time; work of other keys waits */
#define IO_WQ_KEYS	BITS_PER_LONG

/*
 * Letters before descriptions of fields: (Q) protected by lane->lock, (W) by lane->workers_lock.
 * The other letters are explained in linux/io_uring_types.h.
 */

/**
 * struct io_wq_fifo - queue of work items
 * @first: NULL if the queue is empty; may be compared with NULL without a lock
 * @last: valid unless the queue is empty
 */
struct io_wq_fifo {
	struct io_wq_work	*first;
	struct io_wq_work	*last;
};

/**
 * struct io_wq_key - a key with queued or running work
 * @key: address of an inode or an open file, only compared
 * @fifo: queued work of this key
 */
struct io_wq_key {
	const void		*key;
	struct io_wq_fifo	fifo;
};

/**
 * struct io_wq_search - position of a search through a lane's queues
 * @link: (Q) in lane->searches
 * @before: (Q) the work before @at, NULL if @at is the first
 * @at: (Q) the next work to check, NULL at the end of the queue
 */
struct io_wq_search {
	struct list_head	link;
	struct io_wq_work	*before;
	struct io_wq_work	*at;
};

/**
 * struct io_wq_lane - the bounded or unbounded work of a pool, and the workers that run it
 * @wq: pool
 * @lock: (Q) protects the queues, and the work and key of each worker
 * @plain: (Q) queue of work that is not hashed
 * @key: (Q) keys, each with a queue of its hashed work
 * @keys: (Q) bit n is set if key[n] is in use: it has queued work, or a worker holds it
 * @held: (Q) bit n is set if a worker holds key[n], whose work it runs
 * @ready: (Q) bit n is set if key[n] has work and no worker holds it; read without the lock
 * @others: (Q) hashed work that was queued when all keys were in use, or behind such work
 * @next_key: (Q) key at which the next scan begins, so that no key starves
 * @plain_next: (Q) take plain work before hashed work next time
 * @searches: (Q) searches in progress, which drop the lock now and then
 * @workers: (Q) all workers
 * @nr_done: (Q) number of work items that workers have detached, except those of @nr_linked
 * @nr_linked: (Q) number of times that a worker continued with the next request of a chain
 * @nudged: (A) wq->task exits, and bounded work leaves interruptible waits; never cleared
 * @reap: cancels all queued work
 * @workers_lock: (W) protects idle workers, and the counts of workers.  A leaf, taken in the
 *	scheduler's hook; io_wq_kick() also reads the (W) fields without the lock
 * @idle: (W) stack of idle workers: the last worker that was pushed is woken first
 * @nr_workers: (W) number of workers, including a worker that is being created
 * @max_workers: (W) limit of @nr_workers
 * @creating: (W) a worker is being created; its creation owns @tries, @limited, @create, @retry
 * @tries: number of failed attempts of the creation
 * @limited: at the last retry, RLIMIT_NPROC allowed the user of wq->task no more threads
 * @nr_running: number of workers that are neither idle nor asleep in their work
 * @nr_coming: number of running workers that were woken or created, but have not looked for work
 * @create: task work of wq->task that creates a worker
 * @retry: queues @create again after a failure
 * @concurrent: (A) set once concurrent work has been queued
 * @late: wakes an idle worker if the running workers finish no work for a while
 * @late_done: @nr_done when io_wq_watch() last queued @late; read by @late
 */
struct io_wq_lane {
	struct io_wq		*wq;

	spinlock_t		lock;	/* (Q) */
	struct io_wq_fifo	plain;
	struct io_wq_key	key[IO_WQ_KEYS];
	unsigned long		keys, held, ready;
	struct io_wq_fifo	others;
	unsigned int		next_key;
	bool			plain_next;
	struct list_head	searches, workers;
	unsigned int		nr_done, nr_linked;
	bool			nudged;
	struct work_struct	reap;

	raw_spinlock_t		workers_lock;	/* (W) */
	struct list_head	idle;
	unsigned int		nr_workers, max_workers;
	bool			creating;
	unsigned int		tries;
	bool			limited;
	atomic_t		nr_running;
	atomic_t		nr_coming;
	struct callback_head	create;
	struct delayed_work	retry;
	bool			concurrent;
	struct delayed_work	late;
	unsigned int		late_done;
};

enum { IO_WQ_BOUNDED, IO_WQ_UNBOUNDED, IO_WQ_NR_LANES };

/**
 * struct io_wq_cpus - CPUs of the workers
 * @lock: protects all other fields except @seq
 * @seq: changes when workers have to apply the other fields again
 * @set: true if the user has set @wanted; false for all CPUs of the cpuset of wq->task
 * @wanted: the CPUs that the user has set
 * @allowed: scratch memory for the CPUs that both @wanted and the cpuset allow
 */
struct io_wq_cpus {
	struct mutex	lock;	/* see above */
	cpumask_var_t	wanted;
	cpumask_var_t	allowed;
	bool		set;
	atomic_t	seq;
};

/**
 * struct io_wq - worker pool of a task
 * @lane: IO_WQ_BOUNDED, IO_WQ_UNBOUNDED
 * @run: see struct io_wq_params
 * @put: see struct io_wq_params
 * @key: see struct io_wq_params
 * @task: the task that the pool belongs to, referenced
 * @env: environment of @task when @generation was last raised; accessed by @task only
 * @generation: (A) raised when @env of @task has changed: workers of older generations leave,
 *	see wq_worker.c
 * @exiting: no worker is created any more, and all work is cancelled; never cleared.
 *	io_wq_exit_start() sets it under each lane->lock.  Then that function takes and drops each
 *	workers_lock (pair B in wq.c)
 * @rings: (A) number of rings that @task uses
 * @refs: references to the memory: the pool's creator, io_wq_tryget(), and in each lane a
 *	pending creation, @reap and @late
 * @owner_waits: (A) @task has to be woken when a worker detaches its work; never cleared
 * @told: io_wq_exit_tell() has cancelled running work
 * @live: number of threads, and one more until @told
 * @drained: completed when @live reaches zero
 * @cpus: CPUs of the workers
 * @cpuhp_node: entry in the list of the CPU hotplug state
 */
struct io_wq {
	io_wq_run_fn		run;
	io_wq_put_fn		put;
	io_wq_key_fn		key;
	struct task_struct	*task;
	struct io_wq_env	env;
	unsigned int		generation;
	bool			exiting;

	struct io_wq_lane	lane[IO_WQ_NR_LANES];
	struct io_wq_cpus	cpus;
	struct hlist_node	cpuhp_node;

	atomic_t		rings;
	refcount_t		refs;
	bool			owner_waits;
	bool			told;
	refcount_t		live;
	struct completion	drained;
};

#define IO_WQ_NO_KEY	UINT_MAX

/**
 * struct io_wq_worker - a thread of a lane
 * @lane: the lane, for the whole life of the worker
 * @task: the thread
 * @link: (Q) in lane->workers
 * @cur: (Q) the work that the thread runs, or has handed over; written by the thread only
 * @cancelled: (Q) @cur was cancelled; read without the lock by the thread
 * @key: (Q) index of the key that the worker holds, or IO_WQ_NO_KEY
 * @generation: (-) wq->generation when the worker, or the worker that created it, was created
 * @cpus_seq: wq->cpus.seq when the worker last set its CPUs; own thread only
 * @working: the worker runs work or task work, so that a sleep sets @asleep; own thread only
 * @asleep: the worker sleeps in its work, and is not counted as running; written by its thread
 * @idle: (W) in lane->idle
 * @called: (W) the worker was removed from lane->idle, counted as running and woken
 * @spare: created to be idle, see io_wq_keep_spare(); own thread only
 */
struct io_wq_worker {
	struct io_wq_lane	*lane;
	struct task_struct	*task;
	struct list_head	link;
	struct io_wq_work	*cur;
	bool			cancelled;
	unsigned int		key;
	unsigned int		generation;
	int			cpus_seq;
	bool			working;
	bool			asleep;
	struct list_head	idle;
	bool			called;
	bool			spare;
};

static inline bool io_wq_exiting(const struct io_wq *wq)
{
	return READ_ONCE(wq->exiting);
}

/* Return: true if the pool's task exits, and waits for the workers. */
static inline bool io_wq_owner_waits(const struct io_wq *wq)
{
	return READ_ONCE(wq->owner_waits) || io_wq_exiting(wq);
}

/* Return: true if a newer generation than that of the worker has begun. */
static inline bool io_wq_worker_is_old(const struct io_wq_worker *worker)
{
	return worker->generation != READ_ONCE(worker->lane->wq->generation);
}

/* Clamp a limit on workers to the range from 1 to @nproc, the user's limit on threads. */
static inline unsigned int io_wq_limit(unsigned int want, unsigned long nproc)
{
	return clamp_t(unsigned long, want, 1, clamp_t(unsigned long, nproc, 1, INT_MAX));
}

/* Return: true if one more running worker would only wait for a CPU. */
static inline bool io_wq_workers_are_busy(int running)
{
	return running >= (int)num_online_cpus();
}

/* Remove the worker from ->nr_coming, before it looks for work. */
static inline void io_wq_worker_came(struct io_wq_worker *worker)
{
	worker->called = false;
	atomic_dec(&worker->lane->nr_coming);
}

void io_wq_renew(struct io_wq *wq);

/*
 * Begin a new generation if current, the pool's task, has replaced its root, descriptors or
 * namespaces.  Work that is queued after this is for new workers, which share the new objects.
 */
static inline void io_wq_follow_owner(struct io_wq *wq)
{
	if (unlikely(!io_wq_env_is_current(&wq->env)))
		io_wq_renew(wq);
}

/* Return: false if current has to handle a signal, task work, a reschedule or new CPUs first. */
static inline bool io_wq_worker_is_settled(const struct io_wq_worker *worker)
{
	unsigned long flags = _TIF_NEED_RESCHED | _TIF_NOTIFY_SIGNAL | _TIF_SIGPENDING |
			      _TIF_NOTIFY_RESUME;

	return !(read_thread_flags() & flags) && !task_work_pending(current) &&
	       worker->cpus_seq == atomic_read(&worker->lane->wq->cpus.seq);
}

/* wq.c */
void io_wq_live_put(struct io_wq *wq);

/* wq_queue.c */
bool io_wq_lane_runnable(struct io_wq_lane *lane);
bool io_wq_has_work_for(struct io_wq_worker *worker);
struct io_wq_work *io_wq_take(struct io_wq_worker *worker, bool done);
void io_wq_let_go(struct io_wq_worker *worker);
bool io_wq_give_back(struct io_wq_worker *worker);
void io_wq_cancel_all_running(struct io_wq_lane *lane);
void io_wq_cancel_queued(struct io_wq_lane *lane);
void io_wq_queue_reap(struct io_wq_lane *lane);
void io_wq_lane_init_queues(struct io_wq_lane *lane);

/* wq_create.c */
bool io_wq_owner_may_clone(struct task_struct *owner);
void io_wq_dismiss_idle(struct io_wq_lane *lane);
void io_wq_count_out(struct io_wq_lane *lane);
void io_wq_keep_spare(struct io_wq_lane *lane, unsigned int generation);
void io_wq_kick(struct io_wq_lane *lane, bool concurrent);
void io_wq_stop_creation(struct io_wq_lane *lane);
void io_wq_lane_init_workers(struct io_wq_lane *lane, unsigned int max);

/* wq_worker.c */
void io_wq_heed_cancel(struct io_wq_worker *worker);
int io_wq_worker_main(void *data);

#endif
