/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: what wq.c and wq_worker.c share */
#ifndef IO_ASYNC_WQ_INTERNAL_H
#define IO_ASYNC_WQ_INTERNAL_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_ASYNC
#error "async/ may not be seen from below, see io_uring/layer.h"
#endif

#include "async/wq.h"

#define IO_WQ_BUCKETS	BITS_PER_LONG

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
 * struct io_wq_hash - which keys have work running, in all pools that share it
 * @refs: pools and the ring
 * @busy: bit n: a worker runs work of bucket n
 * @lock: changes of @pools
 * @pools: who may wait for a bucket; walked under RCU
 */
struct io_wq_hash {
	refcount_t		refs;
	unsigned long		busy;
	spinlock_t		lock;	/* of the list */
	struct list_head	pools;
};

/**
 * struct io_wq_lane - one kind of work and the workers that run it
 * @wq: pool
 * @lock: (Q) queue and what workers run
 * @plain: (Q) work that is not hashed
 * @hashed: (Q) bit n: bucket[n] is not empty; read without the lock
 * @next_bucket: (Q) where to look next, so that no bucket starves
 * @plain_next: (Q) plain work has its turn
 * @bucket: (Q) hashed work
 * @workers: (Q) all of them
 * @nr_done: (Q) works that workers have ended
 * @reap: cancels what is queued
 * @crew_lock: (W) who is idle, who is counted, who is being made; a leaf, taken in
 *	the scheduler's hook
 * @idle: (W) workers without work, the last one that came is the first
 * @nr_workers: (W) workers, the one that is being made included
 * @max_workers: (W) limit
 * @creating: (W) somebody makes a worker, and owns @tries, @create and @retry
 * @tries: how often making it has failed
 * @nr_running: workers that are neither idle nor asleep in their work
 * @create: task work of the owner
 * @retry: the same, later
 * @concurrent: (A) work that wants to run side by side has been queued
 */
struct io_wq_lane {
	struct io_wq		*wq;

	spinlock_t		lock;	/* (Q) */
	struct io_wq_fifo	plain;
	unsigned long		hashed;
	unsigned int		next_bucket;
	bool			plain_next;
	struct io_wq_fifo	bucket[IO_WQ_BUCKETS];
	struct list_head	workers;
	unsigned int		nr_done;
	struct work_struct	reap;

	raw_spinlock_t		crew_lock;	/* (W) */
	struct list_head	idle;
	unsigned int		nr_workers;
	unsigned int		max_workers;
	bool			creating;
	unsigned int		tries;
	atomic_t		nr_running;
	struct callback_head	create;
	struct delayed_work	retry;
	bool			concurrent;
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
 * @task: owner, referenced
 * @hash: shared, referenced
 * @hash_link: in hash->pools
 * @exiting: no more workers, all work is cancelled; set under each lane's lock and
 *	followed by a section under each crew_lock, never cleared
 * @refs: memory: whoever created the pool, each lane's pending creation and @reap
 * @told: who ends the pool has told running work to end, and waits for the threads
 * @live: threads, and one until @told
 * @drained: @live has reached zero
 * @cpus: where workers may run
 * @cpuhp_node: CPU hotplug
 * @rcu: for walkers of hash->pools
 */
struct io_wq {
	io_wq_run_fn		run;
	io_wq_run_fn		put;
	struct task_struct	*task;
	bool			exiting;

	struct io_wq_lane	lane[IO_WQ_NR_LANES];
	struct io_wq_cpus	cpus;
	struct hlist_node	cpuhp_node;

	struct io_wq_hash	*hash;
	struct list_head	hash_link;

	refcount_t		refs;
	bool			told;
	refcount_t		live;
	struct completion	drained;
	struct rcu_head		rcu;
};

#define IO_WQ_NO_BUCKET	UINT_MAX

/**
 * struct io_wq_worker - a thread of a lane
 * @lane: for its whole life
 * @task: the thread
 * @link: (Q) in lane->workers
 * @cur: (Q) what it runs; written by the thread alone
 * @bucket: own thread: bucket that it holds, or IO_WQ_NO_BUCKET
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
	unsigned int		bucket;
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

/* wq.c */
bool io_wq_lane_runnable(struct io_wq_lane *lane);
struct io_wq_work *io_wq_take(struct io_wq_worker *worker);
struct io_wq_work *io_wq_adopt(struct io_wq_worker *worker, struct io_wq_work *work);
void io_wq_let_go(struct io_wq_worker *worker);
void io_wq_unref(struct io_wq *wq);
void io_wq_queue_reap(struct io_wq_lane *lane);

/* wq_worker.c */
void io_wq_lane_init_crew(struct io_wq_lane *lane, unsigned int max);
void io_wq_kick(struct io_wq_lane *lane, bool concurrent);
void io_wq_dismiss_idle(struct io_wq_lane *lane);
void io_wq_stop_creation(struct io_wq_lane *lane);
void io_wq_live_put(struct io_wq *wq);

#endif
