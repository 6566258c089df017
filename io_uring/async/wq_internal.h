/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: what wq.c and wq_worker.c share */
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

/* keys that have work waiting or running in a lane at a time; work of others waits behind them */
#define IO_WQ_KEYS	BITS_PER_LONG

/**
 * struct io_wq_fifo - works in the order of their arrival
 * @first: NULL when it is empty; may be compared with NULL without a lock
 * @last: valid unless it is empty
 */
struct io_wq_fifo {
	struct io_wq_work	*first;
	struct io_wq_work	*last;
};

/**
 * struct io_wq_key - a key that has work waiting or running
 * @key: an address
 * @fifo: work that waits
 */
struct io_wq_key {
	const void		*key;
	struct io_wq_fifo	fifo;
};

/**
 * struct io_wq_search - where a search through a lane's queues is
 * @link: (Q) in lane->searches
 * @before: (Q) the work before @at, NULL for none
 * @at: (Q) what is looked at next, NULL at the end of the queue
 */
struct io_wq_search {
	struct list_head	link;
	struct io_wq_work	*before;
	struct io_wq_work	*at;
};

/**
 * struct io_wq_lane - one kind of work and the workers that run it
 * @wq: pool
 * @lock: (Q) queue and what workers run
 * @plain: (Q) work that is not hashed
 * @key: (Q) hashed work
 * @keys: (Q) bit n: key[n] is in use: it has work, or a worker has it
 * @held: (Q) bit n: a worker runs work of key[n]
 * @ready: (Q) bit n: key[n] has work and no worker has it; read without the lock
 * @others: (Q) hashed work that came when all keys were in use, or behind such work
 * @next_key: (Q) where to look next, so that no key starves
 * @plain_next: (Q) plain work has its turn
 * @searches: (Q) those that have let go of the lock on their way
 * @workers: (Q) all of them
 * @nr_done: (Q) works that workers have ended
 * @reap: cancels what is queued
 * @workers_lock: (W) who is idle, who is counted, who is being made; a leaf, taken in
 *	the scheduler's hook; io_wq_kick() looks at these without it
 * @idle: (W) workers without work, the last one that came is the first
 * @nr_workers: (W) workers, the one that is being made included
 * @max_workers: (W) limit
 * @creating: (W) a worker is being made; its maker owns @tries, @create and @retry
 * @tries: how often making it has failed
 * @nr_running: workers that are neither idle nor asleep in their work
 * @create: task work of the owner
 * @retry: the same, later
 * @concurrent: (A) work that wants to run side by side has been queued
 * @late: makes or wakes a worker if those that run keep concurrent work waiting
 * @late_done: @nr_done when @late looked last; its own
 */
struct io_wq_lane {
	struct io_wq		*wq;

	spinlock_t		lock;	/* (Q) */
	struct io_wq_fifo	plain;
	struct io_wq_key	key[IO_WQ_KEYS];
	unsigned long		keys;
	unsigned long		held;
	unsigned long		ready;
	struct io_wq_fifo	others;
	unsigned int		next_key;
	bool			plain_next;
	struct list_head	searches;
	struct list_head	workers;
	unsigned int		nr_done;
	struct work_struct	reap;

	raw_spinlock_t		workers_lock;	/* (W) */
	struct list_head	idle;
	unsigned int		nr_workers;
	unsigned int		max_workers;
	bool			creating;
	unsigned int		tries;
	atomic_t		nr_running;
	struct callback_head	create;
	struct delayed_work	retry;
	bool			concurrent;
	struct delayed_work	late;
	unsigned int		late_done;
};

enum { IO_WQ_BOUNDED, IO_WQ_UNBOUNDED, IO_WQ_NR_LANES };

/**
 * struct io_wq_cpus - where workers may run
 * @lock: of all but @seq
 * @seq: changes when workers have to look again
 * @set: the user wants @wanted, else what the owner's cpuset allows
 * @wanted: as given by the user
 * @allowed: scratch: those of them that the cpuset allows now
 */
struct io_wq_cpus {
	struct mutex	lock;	/* of what follows */
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
 * @task: owner, referenced
 * @env: the owner's, when @generation was last raised; owner only
 * @generation: (A) work of it is for workers of it, older ones leave; raised by the owner
 * @exiting: no more workers, all work is cancelled; set under each lane's lock and
 *	followed by a section under each workers_lock, never cleared
 * @rings: (A) that the owner uses
 * @refs: memory: the pool's creator, each lane's pending creation, @reap and @late
 * @owner_waits: (A) the owner wants to be woken when a work is done
 * @told: the pool's exit has told running work to end, and waits for the threads
 * @live: threads, and one until @told
 * @drained: @live has reached zero
 * @cpus: where workers may run
 * @cpuhp_node: CPU hotplug
 */
struct io_wq {
	io_wq_run_fn		run;
	io_wq_run_fn		put;
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
 * @lane: for its whole life
 * @task: the thread
 * @link: (Q) in lane->workers
 * @cur: (Q) what it runs, or has handed over; written by the thread alone
 * @cancelled: (Q) what it runs was told to end; read without the lock by the thread
 * @key: (Q) index of the key that it has, or IO_WQ_NO_KEY
 * @generation: (-) wq->generation when it was made
 * @cpus_seq: own thread: wq->cpus.seq when it last set its CPUs
 * @working: own thread: if it sleeps now, it sleeps in its work
 * @asleep: own thread: sleeps in its work, is not counted as running
 * @idle: (W) in lane->idle
 * @called: (W) it was taken from there, counted as running and woken
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
};

static inline bool io_wq_exiting(const struct io_wq *wq)
{
	return READ_ONCE(wq->exiting);
}

/* Was it made before the owner got another root, descriptors or namespaces? */
static inline bool io_wq_worker_is_old(const struct io_wq_worker *worker)
{
	return worker->generation != READ_ONCE(worker->lane->wq->generation);
}

void io_wq_renew(struct io_wq *wq);

/*
 * Workers shall see what their owner, which is current, sees: what is queued from here on is
 * run by workers that share its root, descriptors and namespaces of now.
 */
static inline void io_wq_follow_owner(struct io_wq *wq)
{
	if (unlikely(!io_wq_env_is_current(&wq->env)))
		io_wq_renew(wq);
}

/* Has current nothing to do but work?  Signals, task work, others that want the CPU are rare. */
static inline bool io_wq_worker_is_settled(const struct io_wq_worker *worker)
{
	unsigned long flags = _TIF_NEED_RESCHED | _TIF_NOTIFY_SIGNAL | _TIF_SIGPENDING |
			      _TIF_NOTIFY_RESUME;

	return !(read_thread_flags() & flags) && !task_work_pending(current) &&
	       worker->cpus_seq == atomic_read(&worker->lane->wq->cpus.seq);
}

/* wq.c */
bool io_wq_lane_runnable(struct io_wq_lane *lane);
bool io_wq_has_work_for(struct io_wq_worker *worker);
struct io_wq_work *io_wq_take(struct io_wq_worker *worker, bool done);
void io_wq_let_go(struct io_wq_worker *worker);
bool io_wq_give_back(struct io_wq_worker *worker);
void io_wq_queue_reap(struct io_wq_lane *lane);

/* wq_worker.c */
void io_wq_heed_cancel(struct io_wq_worker *worker);
void io_wq_lane_init_workers(struct io_wq_lane *lane, unsigned int max);
void io_wq_kick(struct io_wq_lane *lane, bool concurrent);
void io_wq_dismiss_idle(struct io_wq_lane *lane);
void io_wq_stop_creation(struct io_wq_lane *lane);
void io_wq_live_put(struct io_wq *wq);

#endif
