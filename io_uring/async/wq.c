// SPDX-License-Identifier: GPL-2.0
/* io_uring: the worker pool: limits, begin and end */

/*
 * Work that cannot be done without blocking goes to a pool of threads.  Each task that uses
 * io_uring has its own pool.  This task is wq->task.  Functions such as io_wq_follow_owner() call
 * this task the owner of the pool.  The workers are threads of the task's process, so that they
 * have its memory, files and limits.
 *
 * Data: a pool has two lanes, each with its queues, workers and limit.  The bounded lane is for
 * work that ends by itself (storage), the unbounded lane for work that may wait for another task.
 *
 * Locks, none of which is held while another one is taken:
 *
 *	lane->lock	the queues, and which work each worker runs.  Work moves from a queue
 *			to a worker inside one section, and a cancel searches the queues before
 *			the workers, so it misses no work.  A long search drops the lock now and
 *			then; code that removes work updates searches that point to this work
 *	lane->workers_lock	idle workers and counts.  A raw lock, because the scheduler's
 *			hook takes it.  Tasks are woken after this lock is dropped
 *	wq->cpus.lock	a mutex: CPUs of the workers
 *
 * Ordering: queued work must not wait for a worker that goes to sleep at the same time, nor
 * stay in a pool that exits.  Full barriers (A) and lane->lock (B) prevent this:
 *
 *	A	submitter: io_wq_kick()		worker: io_wq_worker_wait(),
 *						io_wq_worker_sleeping()
 *		queue work			count itself as idle, or asleep
 *		full barrier			full barrier
 *		idle or running workers?	work in the queue?
 *
 *	B	exit				submitter
 *		set ->exiting, under lane->lock	queue work, under lane->lock
 *		take and drop workers_lock	->exiting? have the work reaped
 *
 * In A, the submitter sees the idle worker, or the worker sees the work.  A worker that releases a
 * key checks the queue before it sleeps.  After B, workers neither become idle nor are created.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpuset.h>
#include <linux/init.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "async/wq_internal.h"

static enum cpuhp_state io_wq_cpuhp;

/**
 * io_wq_set_max_workers - set the limits of the lanes
 * @wq: pool
 * @counts: new limits of bounded and unbounded workers, 0 keeps a limit; receives the old limits
 *
 * A new limit applies when the next worker would be created.  Surplus workers leave as other
 * workers do, after five idle seconds.
 *
 * Return: 0
 */
int io_wq_set_max_workers(struct io_wq *wq, unsigned int counts[2])
{
	unsigned long nproc = rlimit(RLIMIT_NPROC);
	unsigned int i, old;

	for (i = 0; i < IO_WQ_NR_LANES; i++) {
		struct io_wq_lane *lane = &wq->lane[i];

		scoped_guard(raw_spinlock, &lane->workers_lock) {
			old = lane->max_workers;
			if (counts[i])
				WRITE_ONCE(lane->max_workers, io_wq_limit(counts[i], nproc));
		}
		if (counts[i])
			io_wq_kick(lane, false);
		counts[i] = old;
	}
	return 0;
}

/**
 * io_wq_set_affinity - set the CPUs of the workers
 * @wq: pool
 * @mask: NULL for all CPUs that the cpuset of the pool's task allows
 *
 * Each worker moves before it takes more work.
 *
 * Return: 0; -EINVAL if the cpuset does not allow all CPUs of @mask
 */
int io_wq_set_affinity(struct io_wq *wq, const struct cpumask *mask)
{
	guard(mutex)(&wq->cpus.lock);
	cpuset_cpus_allowed(wq->task, wq->cpus.allowed);
	if (mask && !cpumask_subset(mask, wq->cpus.allowed))
		return -EINVAL;
	wq->cpus.set = mask;
	if (mask)
		cpumask_copy(wq->cpus.wanted, mask);
	atomic_inc(&wq->cpus.seq);
	return 0;
}

/* Let workers apply wq->cpus again: the scheduler may have moved them when the CPU went offline. */
static int io_wq_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	struct io_wq *wq = hlist_entry(node, struct io_wq, cpuhp_node);

	atomic_inc(&wq->cpus.seq);
	return 0;
}

static void io_wq_lane_init(struct io_wq *wq, struct io_wq_lane *lane, unsigned int max)
{
	lane->wq = wq;
	io_wq_lane_init_queues(lane);
	io_wq_lane_init_workers(lane, max);
}

static void io_wq_free(struct io_wq *wq)
{
	put_task_struct(wq->task);
	free_cpumask_var(wq->cpus.wanted);
	free_cpumask_var(wq->cpus.allowed);
	kfree(wq);
}

/**
 * io_wq_tryget - take a reference to a pool that its task may free
 * @wq: pool of a task in ctx->users.nodes; the caller holds ctx->users.lock, which keeps the pool
 *
 * The reference keeps the memory of the pool and of its task.  A pool that has ended has no work.
 *
 * Return: true; false if the last reference was dropped
 */
bool io_wq_tryget(struct io_wq *wq)
{
	return refcount_inc_not_zero(&wq->refs);
}

/**
 * io_wq_unref - drop a reference to the pool's memory
 * @wq: must not be used afterwards
 */
void io_wq_unref(struct io_wq *wq)
{
	if (refcount_dec_and_test(&wq->refs))
		io_wq_free(wq);
}

/**
 * io_wq_live_put - drop a reference of ->live
 * @wq: pool; a thread must not use the pool afterwards
 *
 * Each thread has one such reference.  The pool has one until its exit.
 */
void io_wq_live_put(struct io_wq *wq)
{
	if (refcount_dec_and_test(&wq->live))
		complete_all(&wq->drained);
}

/* Allocate a pool.  Return: the pool, or NULL if there is no memory. */
static struct io_wq *io_wq_alloc(const struct io_wq_params *p)
{
	unsigned long nproc = rlimit(RLIMIT_NPROC);
	struct io_wq *wq = kzalloc(sizeof(*wq), GFP_KERNEL_ACCOUNT);

	if (!wq)
		return NULL;
	if (!zalloc_cpumask_var(&wq->cpus.wanted, GFP_KERNEL_ACCOUNT) ||
	    !zalloc_cpumask_var(&wq->cpus.allowed, GFP_KERNEL_ACCOUNT)) {
		free_cpumask_var(wq->cpus.wanted);
		kfree(wq);
		return NULL;
	}
	wq->run = p->run;
	wq->put = p->put;
	wq->task = get_task_struct(p->task);
	wq->key = p->key;
	refcount_set(&wq->refs, 1);
	refcount_set(&wq->live, 1);
	init_completion(&wq->drained);
	mutex_init(&wq->cpus.lock);
	atomic_set(&wq->cpus.seq, 1);
	io_wq_lane_init(wq, &wq->lane[IO_WQ_BOUNDED], io_wq_limit(p->bounded, INT_MAX));
	io_wq_lane_init(wq, &wq->lane[IO_WQ_UNBOUNDED], io_wq_limit(INT_MAX, nproc));
	return wq;
}

/**
 * io_wq_create - create a pool, without workers
 * @p: parameters
 *
 * Context: Task context.  May sleep.
 * Return: the pool, ERR_PTR(-ENOMEM), or an error of CPU hotplug
 */
struct io_wq *io_wq_create(const struct io_wq_params *p)
{
	struct io_wq *wq = io_wq_alloc(p);
	int ret;

	if (!wq)
		return ERR_PTR(-ENOMEM);
	ret = cpuhp_state_add_instance_nocalls(io_wq_cpuhp, &wq->cpuhp_node);
	if (ret) {
		io_wq_unref(wq);
		return ERR_PTR(ret);
	}
	return wq;
}

static bool io_wq_is_bounded(const struct io_wq_work *work)
{
	return work && !(work->flags & IO_WQ_WORK_UNBOUND);
}

/* Return: true if a worker of the lane runs bounded work. */
static bool io_wq_runs_bounded(struct io_wq_lane *lane)
{
	struct io_wq_worker *worker;

	lockdep_assert_held(&lane->lock);
	list_for_each_entry(worker, &lane->workers, link) {
		if (io_wq_is_bounded(worker->cur))
			return true;
	}
	return false;
}

/**
 * io_wq_bounded_busy - check for queued or running bounded work
 * @wq: pool
 * @done: set to a count that grows whenever a worker finishes bounded work
 *
 * Return: true if there is such work.  Once no task queues work any more, false is final.
 */
bool io_wq_bounded_busy(struct io_wq *wq, unsigned int *done)
{
	struct io_wq_lane *lane = &wq->lane[IO_WQ_UNBOUNDED];
	bool busy;

	/* check this lane first: its workers may queue the next work of a chain to the other */
	scoped_guard(spinlock, &lane->lock) {
		busy = io_wq_runs_bounded(lane);
		*done = lane->nr_linked;
	}
	lane = &wq->lane[IO_WQ_BOUNDED];
	guard(spinlock)(&lane->lock);
	*done += lane->nr_done + lane->nr_linked;
	return busy || lane->plain.first || lane->keys || io_wq_runs_bounded(lane);
}

/* Return: true if no worker is going to take work that the pool's task queues now. */
static bool io_wq_has_only_old_workers(struct io_wq_lane *lane)
{
	struct io_wq_worker *worker;

	lockdep_assert_held(&lane->lock);
	list_for_each_entry(worker, &lane->workers, link) {
		if (!io_wq_worker_is_old(worker))
			return false;
	}
	return true;
}

/**
 * io_wq_run_bounded - run bounded work that no worker is going to take, and its chain
 * @wq: pool of current, after io_wq_wait_done()
 *
 * An exiting task can create no workers.  If the pool has no workers, or only workers of an older
 * generation, the task runs the work itself.  The work leaves interruptible waits at once, as after
 * io_wq_bounded_nudge().
 *
 * Context: Task context.  May sleep.
 * Return: true if the work was run.
 */
bool io_wq_run_bounded(struct io_wq *wq)
{
	struct io_wq_lane *lane = &wq->lane[IO_WQ_BOUNDED];
	struct io_wq_worker self = {
		.lane = lane, .task = current, .key = IO_WQ_NO_KEY, .generation = wq->generation,
	};
	struct io_wq_work *work, *next;
	bool ran = false;

	scoped_guard(spinlock, &lane->lock) {
		if (!io_wq_lane_runnable(lane) || !io_wq_has_only_old_workers(lane))
			return false;
		/* let searches find the work that current takes */
		list_add_tail(&self.link, &lane->workers);
	}
	current->worker_private = &self;
	for (work = io_wq_take(&self, false); work; work = next) {
		ran = true;
		set_notify_signal(current);
		next = wq->run(work);
		if (!next)
			io_wq_let_go(&self);
		wq->put(work);
		clear_notify_signal();
		cond_resched();
	}
	current->worker_private = NULL;
	scoped_guard(spinlock, &lane->lock)
		list_del(&self.link);
	return ran;
}

/**
 * io_wq_wait_done - have the pool's task woken whenever a worker detaches its work
 * @wq: pool of current, which calls io_wq_exit_start() soon
 *
 * After this call the workers keep running when the process is stopped.  Call this before setting
 * current's state and before io_wq_bounded_busy().  That function takes the locks of the lanes.  A
 * worker detaches its work under such a lock, and then wakes the task.
 */
void io_wq_wait_done(struct io_wq *wq)
{
	WRITE_ONCE(wq->owner_waits, true);
}

/**
 * io_wq_bounded_nudge - make running and later bounded work leave interruptible waits
 * @wq: pool, after io_wq_wait_done()
 *
 * The work is not cancelled, and work that waits for a disk is not disturbed.
 */
void io_wq_bounded_nudge(struct io_wq *wq)
{
	struct io_wq_worker *worker;
	unsigned int i;

	for (i = 0; i < IO_WQ_NR_LANES; i++) {
		struct io_wq_lane *lane = &wq->lane[i];

		WRITE_ONCE(lane->nudged, true);
		guard(spinlock)(&lane->lock);
		list_for_each_entry(worker, &lane->workers, link) {
			if (i == IO_WQ_BOUNDED || io_wq_is_bounded(worker->cur))
				set_notify_signal(worker->task);
		}
	}
}

/**
 * io_wq_exit_start - begin to end a pool
 * @wq: pool
 *
 * After this call no worker is created, and no work begins.  Queued work is cancelled soon, and
 * workers leave.  Any task may call this, repeatedly; io_wq_put_and_exit() has to follow.
 *
 * Context: Task context.  Does not sleep.
 */
void io_wq_exit_start(struct io_wq *wq)
{
	unsigned int i;

	/* pair B */
	for (i = 0; i < IO_WQ_NR_LANES; i++) {
		scoped_guard(spinlock, &wq->lane[i].lock)
			WRITE_ONCE(wq->exiting, true);
	}
	for (i = 0; i < IO_WQ_NR_LANES; i++) {
		struct io_wq_lane *lane = &wq->lane[i];

		io_wq_dismiss_idle(lane);
		if (READ_ONCE(lane->plain.first) || READ_ONCE(lane->keys))
			io_wq_queue_reap(lane);
	}
}

/* Cancel running work; only once.  After this, the exit of the last thread completes ->drained. */
static void io_wq_exit_tell(struct io_wq *wq)
{
	struct io_wq_worker *worker;
	unsigned int i;

	if (wq->told)
		return;
	wq->told = true;
	for (i = 0; i < IO_WQ_NR_LANES; i++) {
		struct io_wq_lane *lane = &wq->lane[i];

		io_wq_stop_creation(lane);
		guard(spinlock)(&lane->lock);
		io_wq_cancel_all_running(lane);
		/* a worker without work may still be in the final fput() of its last file */
		list_for_each_entry(worker, &lane->workers, link)
			set_notify_signal(worker->task);
	}
	io_wq_live_put(wq);
}

/**
 * io_wq_exit_wait - wait for the exit of all workers of a pool, with a time limit
 * @wq: pool, after io_wq_exit_start(); the caller ends the pool
 * @timeout: jiffies
 *
 * The first call cancels running work.  The time limit lets the caller do other work between two
 * calls, for example reap polled requests.
 *
 * Context: Task context.  May sleep.
 * Return: true if no worker is left
 */
bool io_wq_exit_wait(struct io_wq *wq, unsigned long timeout)
{
	io_wq_exit_tell(wq);
	return wait_for_completion_timeout(&wq->drained, timeout);
}

/**
 * io_wq_put_and_exit - end a pool
 * @wq: must not be used afterwards
 *
 * Cancels running and queued work, and waits until no worker is left.  The wait has no time limit,
 * because a device may access pages of running work.  It is never reported as a hung task.
 *
 * Context: Task context.  Sleeps.
 */
void io_wq_put_and_exit(struct io_wq *wq)
{
	unsigned int i;

	io_wq_exit_start(wq);
	io_wq_exit_tell(wq);
	wait_for_completion_state(&wq->drained, TASK_IDLE);

	for (i = 0; i < IO_WQ_NR_LANES; i++) {
		/* wait for ->reap: it accesses requests, whose ring the caller may free next */
		if (cancel_work_sync(&wq->lane[i].reap))
			io_wq_unref(wq);
		io_wq_cancel_queued(&wq->lane[i]);
	}
	cpuhp_state_remove_instance_nocalls(io_wq_cpuhp, &wq->cpuhp_node);
	io_wq_unref(wq);
}

static int __init io_wq_init(void)
{
	int ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "io-wq/online",
					  io_wq_cpu_online, NULL);

	if (ret < 0)
		return ret;
	io_wq_cpuhp = ret;
	return 0;
}
subsys_initcall(io_wq_init);
