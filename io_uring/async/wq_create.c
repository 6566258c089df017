// SPDX-License-Identifier: GPL-2.0
/* io_uring: the worker pool: which work wakes or creates a worker */

/*
 * A pool needs a worker that makes progress while other workers sleep in their work, but should
 * not have more threads than that.
 *
 * Data: as with workqueues, the aim is one worker that runs and does not sleep.  Queued work wakes
 * an idle worker.  If no worker is idle, a worker is created only if no worker runs.  When the
 * last running worker goes to sleep in its work, the scheduler calls io_wq_worker_sleeping().
 * This function wakes or creates another worker if there is work that can run.
 *
 * Each item of concurrent work (IOSQE_ASYNC) gets a worker, but at most one for each CPU runs.  If
 * running workers finish no work for IO_WQ_LATE, io_wq_late() wakes one more worker.  It must not
 * have to create that worker, so io_wq_keep_spare() creates one idle worker in advance.
 *
 * create_io_thread() has to run in the pool's process.  The pool's task creates a worker when it
 * queues work.  Any other task, or the scheduler's hook, queues lane->create as task work of the
 * pool's task.  A worker may also create a spare worker between two work items.  A lane has at most
 * one creation at a time (->creating).  The creation holds a reference to the pool's memory, and
 * goes through these functions:
 *
 *	io_wq_kick()		decides to create a worker, takes the reference
 *	io_wq_request()		calls io_wq_spawn() in the pool's task, or queues task work
 *	io_wq_spawn()		checks again whether a worker is needed, creates the thread
 *	io_wq_spawn_failed()	retries later through lane->retry, or gives up.  If the lane has
 *				workers, -EAGAIN and -ENOMEM are retried without end
 *	io_wq_create_retry()	queues lane->create again, after many failures without interrupting
 *				the pool's task; ends a creation that is not needed any more
 *	io_wq_stop_creation()	at the pool's exit, removes lane->retry or lane->create
 *	io_wq_creation_over()	ends the creation, before the thread runs
 *
 * If a creation gives up and the lane has no worker at all, the lane's work is cancelled.
 *
 * Generations: see wq_worker.c.  Ordering: see pairs A and B in wq.c.
 */
#include <linux/cpumask.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/user_namespace.h>

#include "async/wq_internal.h"

#define IO_WQ_CREATE_TRIES	9
/* time for which running workers may keep concurrent work waiting, before one more is woken */
#define IO_WQ_LATE		(HZ / 100 ?: 1)

/**
 * io_wq_owner_may_clone - check whether a task may create threads of its process
 * @owner: the task of a pool
 *
 * copy_process() refuses threads of a task whose children belong to another pid namespace.
 *
 * Return: true if the task could create a thread.
 */
bool io_wq_owner_may_clone(struct task_struct *owner)
{
	const struct nsproxy *ns;

	guard(task_lock)(owner);
	ns = owner->nsproxy;
	return ns && ns->pid_ns_for_children == task_active_pid_ns(owner);
}

/* End a creation, and allow the next one.  The caller drops the reference of the creation. */
static void io_wq_creation_end(struct io_wq_lane *lane)
{
	lockdep_assert_held(&lane->workers_lock);
	WRITE_ONCE(lane->creating, false);
	lane->tries = 0;
}

static void io_wq_creation_over(struct io_wq_lane *lane)
{
	scoped_guard(raw_spinlock, &lane->workers_lock)
		io_wq_creation_end(lane);
	io_wq_unref(lane->wq);
}

/* Return: true if the pool's task runs the lane's work itself, see io_wq_run_bounded(). */
static bool io_wq_owner_runs(const struct io_wq_lane *lane)
{
	const struct io_wq *wq = lane->wq;

	return lane == &wq->lane[IO_WQ_BOUNDED] && READ_ONCE(wq->owner_waits) && !io_wq_exiting(wq);
}

/*
 * End a creation that has failed.  If the lane has no workers, cancel its queued work, except
 * bounded work that the pool's task runs when it exits.  Work that is queued later starts a new
 * creation.
 */
static void io_wq_give_up(struct io_wq_lane *lane)
{
	bool none;

	scoped_guard(raw_spinlock, &lane->workers_lock) {
		io_wq_creation_end(lane);
		none = !lane->nr_workers && !io_wq_owner_runs(lane);
	}
	/* queue this before io_wq_unref(), which may drop the last reference to the pool */
	if (none)
		io_wq_queue_reap(lane);
	io_wq_unref(lane->wq);
}

/*
 * Remove a worker from lane->idle.  Return: its task, or NULL if there is none.  The caller wakes
 * the task without the lock but within RCU, because the worker may exit once ->called is set.
 */
static struct task_struct *io_wq_call_idle(struct io_wq_lane *lane)
{
	struct io_wq_worker *worker;
	struct task_struct *task;

	lockdep_assert_held(&lane->workers_lock);
	worker = list_first_entry_or_null(&lane->idle, struct io_wq_worker, idle);
	if (!worker)
		return NULL;
	task = worker->task;
	list_del(&worker->idle);
	atomic_inc(&lane->nr_running);
	atomic_inc(&lane->nr_coming);
	/* pairs with io_wq_worker_idle_end(), which need not take the lock if ->called is set */
	smp_store_release(&worker->called, true);
	return task;
}

/* Wake an idle worker, even if others run.  Return: false if no worker is idle. */
static bool io_wq_wake_idle(struct io_wq_lane *lane)
{
	struct task_struct *task;

	guard(rcu)();
	scoped_guard(raw_spinlock, &lane->workers_lock)
		task = io_wq_call_idle(lane);
	if (task)
		wake_up_process(task);
	return task;
}

/**
 * io_wq_dismiss_idle - wake all idle workers, so that they leave
 * @lane: of a pool that is exiting, or whose workers are all of an older generation
 */
void io_wq_dismiss_idle(struct io_wq_lane *lane)
{
	/* one lock section for each worker, because there may be thousands of them */
	while (io_wq_wake_idle(lane))
		;
}

/* Return: true if the lane has workers, which can run its work until another one is created. */
static bool io_wq_has_workers(struct io_wq_lane *lane)
{
	guard(raw_spinlock)(&lane->workers_lock);
	return lane->nr_workers;
}

static bool io_wq_should_retry(struct io_wq_lane *lane, int err)
{
	/* a thread that exits cannot create other threads */
	if (fatal_signal_pending(current) || current->flags & PF_POSTCOREDUMP)
		return false;
	switch (err) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
		/* retry: the task handles the signal first, although another may be pending then */
		return true;
	case -EAGAIN:
	case -ENOMEM:
		return lane->tries < IO_WQ_CREATE_TRIES || io_wq_has_workers(lane);
	}
	return false;
}

/*
 * Let a kworker ask for the worker again.  This may drop the creation's reference to the pool, as
 * io_wq_stop_creation() disables the work while it waits for the kworker.
 */
static void io_wq_retry_in(struct io_wq_lane *lane, unsigned int ms)
{
	if (!schedule_delayed_work(&lane->retry, msecs_to_jiffies(ms)))
		io_wq_give_up(lane);
}

/* Schedule a retry.  Delays double from 1 ms to 0.5 s, because other threads may exit soon. */
static void io_wq_retry_later(struct io_wq_lane *lane)
{
	unsigned int tries = lane->tries;

	if (tries < IO_WQ_CREATE_TRIES)
		lane->tries = tries + 1;
	io_wq_retry_in(lane, 1U << tries);
}

/*
 * Retry later, or give up.  Without any worker, give up after half a second in all, unless signals
 * cause the failures.  With workers, which may be stuck for long, retry twice a second for as long
 * as work waits.  There is no notification when a limit is lifted.
 */
static void io_wq_spawn_failed(struct io_wq_lane *lane, int err)
{
	if (io_wq_exiting(lane->wq) || !io_wq_should_retry(lane, err))
		io_wq_give_up(lane);
	else
		io_wq_retry_later(lane);
}

/*
 * Create a thread and start it.  End the creation before the thread runs: if the thread
 * sleeps in its first work, the next creation may be needed.
 */
static int io_wq_spawn_thread(struct io_wq_lane *lane, unsigned int generation, bool spare)
{
	struct io_wq_worker *worker;
	struct task_struct *task;

	worker = kzalloc_node(sizeof(*worker), GFP_KERNEL_ACCOUNT, numa_node_id());
	if (!worker)
		return -ENOMEM;
	worker->lane = lane;
	worker->key = IO_WQ_NO_KEY;
	worker->generation = generation;
	worker->spare = spare;
	INIT_LIST_HEAD(&worker->idle);
	task = create_io_thread(io_wq_worker_main, worker, NUMA_NO_NODE);
	if (IS_ERR(task)) {
		kfree(worker);
		return PTR_ERR(task);
	}
	worker->task = task;
	task->worker_private = worker;
	scoped_guard(spinlock, &lane->lock)
		list_add_tail(&worker->link, &lane->workers);
	io_wq_creation_over(lane);
	wake_up_new_task(task);
	return 0;
}

/*
 * Check for work that needs another worker.  One worker at a time runs work of a key, so a batch of
 * writes to one file needs one worker.  Without ->nr_coming, each write that is queued before this
 * worker runs would wake another worker.  Each item of plain work may block, and need a worker.
 *
 * A worker decrements ->nr_coming before it takes lane->lock to look for work.  So a task that
 * queues work after this section reads the lower count.
 */
static bool io_wq_lane_waits(struct io_wq_lane *lane)
{
	return READ_ONCE(lane->plain.first) ||
	       hweight_long(READ_ONCE(lane->ready)) > atomic_read(&lane->nr_coming);
}

/* Clear ->creating.  Return: true if queued work still needs a worker. */
static bool io_wq_creation_is_needed(struct io_wq_lane *lane)
{
	lockdep_assert_held(&lane->workers_lock);
	WRITE_ONCE(lane->creating, false);
	/*
	 * Pair A: a task that queues work while ->creating is set creates no worker.  So check for
	 * such work after the barrier.
	 */
	smp_mb();
	return !io_wq_exiting(lane->wq) && io_wq_lane_waits(lane);
}

/*
 * End a creation that is not needed, because no work waits or each CPU has a running worker, which
 * calls io_wq_kick() when it falls asleep.  Return: false if the creation is needed.
 */
static bool io_wq_creation_drop(struct io_wq_lane *lane)
{
	scoped_guard(raw_spinlock, &lane->workers_lock) {
		if (io_wq_creation_is_needed(lane) &&
		    !io_wq_workers_are_busy(atomic_read(&lane->nr_running))) {
			WRITE_ONCE(lane->creating, true);
			return false;
		}
		io_wq_creation_end(lane);
	}
	io_wq_unref(lane->wq);
	return true;
}

/* Add a worker that current is going to create to the counts of its lane. */
static void io_wq_count_in(struct io_wq_lane *lane)
{
	lockdep_assert_held(&lane->workers_lock);
	WRITE_ONCE(lane->creating, true);
	WRITE_ONCE(lane->nr_workers, lane->nr_workers + 1);
	atomic_inc(&lane->nr_running);
	atomic_inc(&lane->nr_coming);
	refcount_inc(&lane->wq->live);
}

/* If a worker is still needed, get an idle one (@called), or count a new one and return true. */
static bool io_wq_spawn_count(struct io_wq_lane *lane, struct task_struct **called)
{
	guard(raw_spinlock)(&lane->workers_lock);
	if (io_wq_creation_is_needed(lane)) {
		*called = io_wq_call_idle(lane);
		if (!*called && lane->nr_workers < lane->max_workers) {
			io_wq_count_in(lane);
			return true;
		}
	}
	io_wq_creation_end(lane);
	return false;
}

static bool io_wq_spawn_begin(struct io_wq_lane *lane)
{
	struct task_struct *called = NULL;
	bool begun;

	guard(rcu)();
	begun = io_wq_spawn_count(lane, &called);
	if (called)
		wake_up_process(called);
	return begun;
}

/**
 * io_wq_count_out - remove a worker from the counts of its lane
 * @lane: lane
 */
void io_wq_count_out(struct io_wq_lane *lane)
{
	lockdep_assert_held(&lane->workers_lock);
	WRITE_ONCE(lane->nr_workers, lane->nr_workers - 1);
	atomic_dec(&lane->nr_running);
}

/* Undo io_wq_count_in() for a worker that could not be created. */
static void io_wq_count_unborn(struct io_wq_lane *lane)
{
	guard(raw_spinlock)(&lane->workers_lock);
	atomic_dec(&lane->nr_coming);
	io_wq_count_out(lane);
}

/**
 * io_wq_renew - begin a generation for the new root, descriptors or namespaces of current
 * @wq: pool of current
 *
 * See io_wq_follow_owner().
 */
void io_wq_renew(struct io_wq *wq)
{
	unsigned int i;

	if (!io_wq_owner_may_clone(current))
		return;
	wq->env = io_wq_current_env();
	/* workers that take later work read the new generation, due to the lane's lock */
	WRITE_ONCE(wq->generation, wq->generation + 1);
	for (i = 0; i < IO_WQ_NR_LANES; i++)
		io_wq_dismiss_idle(&wq->lane[i]);
}

/*
 * Create a worker, unless it is not needed any more.  Current is the pool's task, and has claimed
 * the lane's creation.
 * Return: false if the worker could not be created; a retry may be scheduled.
 */
static bool io_wq_spawn(struct io_wq_lane *lane)
{
	struct io_wq *wq = lane->wq;
	int err;

	io_wq_follow_owner(wq);
	if (!io_wq_spawn_begin(lane)) {
		io_wq_unref(wq);
		return true;
	}
	err = io_wq_spawn_thread(lane, wq->generation, false);
	if (!err)
		return true;
	io_wq_count_unborn(lane);
	/* this may drop the creation's reference; until io_wq_live_put(), ->live keeps the pool */
	io_wq_spawn_failed(lane, err);
	io_wq_live_put(wq);
	return false;
}

/*
 * Return: true if RLIMIT_NPROC allows the pool's task no more threads.  An attempt would fail, but
 * interrupt a system call of the task.  The conditions are those of copy_process(), without the
 * limits of parent user namespaces.
 */
static bool io_wq_owner_is_at_limit(const struct io_wq *wq)
{
	struct task_struct *owner = wq->task;
	const struct cred *cred;

	guard(rcu)();
	cred = __task_cred(owner);
	return cred->user != INIT_USER && !has_capability_noaudit(owner, CAP_SYS_RESOURCE) &&
	       !has_capability_noaudit(owner, CAP_SYS_ADMIN) &&
	       get_rlimit_value(cred->ucounts, UCOUNT_RLIMIT_NPROC) >=
	       task_rlimit(owner, RLIMIT_NPROC);
}

static void io_wq_create_retry(struct work_struct *work)
{
	struct io_wq_lane *lane = container_of(to_delayed_work(work), struct io_wq_lane, retry);
	enum task_work_notify_mode how = TWA_SIGNAL;

	if (io_wq_creation_drop(lane))
		return;
	if (!io_wq_exiting(lane->wq) && io_wq_has_workers(lane)) {
		if (io_wq_owner_is_at_limit(lane->wq)) {
			lane->limited = true;
			io_wq_retry_later(lane);
			return;
		}
		/* another limit, such as a cgroup's, may last: do not interrupt system calls */
		if (lane->tries == IO_WQ_CREATE_TRIES && !lane->limited)
			how = TWA_RESUME;
	}
	lane->limited = false;
	if (io_wq_exiting(lane->wq) || task_work_add(lane->wq->task, &lane->create, how))
		io_wq_give_up(lane);
}

/*
 * Return: true if current can create a worker.  A BPF program, such as a step of a loop, cannot
 * migrate to another CPU, and a thread would inherit this state for good.
 */
static bool io_wq_creates_here(const struct io_wq *wq)
{
#ifdef CONFIG_IO_URING_BPF_OPS
	if (unlikely(current->migration_disabled))
		return false;
#endif
	return current == wq->task;
}

/* Have the pool's task create a worker.  In the scheduler's hook, current is a worker. */
static void io_wq_request(struct io_wq_lane *lane)
{
	struct io_wq *wq = lane->wq;

	if (io_wq_creates_here(wq))
		io_wq_spawn(lane);
	else if (task_work_add(wq->task, &lane->create, TWA_SIGNAL))
		io_wq_retry_in(lane, 0);
}

/* Return: true if a worker may be created now.  Reliable only under the lock. */
static bool io_wq_may_create(struct io_wq_lane *lane, bool concurrent)
{
	if (io_wq_exiting(lane->wq) || READ_ONCE(lane->creating) ||
	    READ_ONCE(lane->nr_workers) >= READ_ONCE(lane->max_workers))
		return false;
	return concurrent || !atomic_read(&lane->nr_running);
}

/*
 * Wake an idle worker, or claim the lane's creation.
 * Return: true if the caller has to create a worker.
 */
static bool io_wq_wake_or_claim(struct io_wq_lane *lane, bool concurrent)
{
	struct task_struct *called;
	bool create = false;

	guard(rcu)();
	scoped_guard(raw_spinlock, &lane->workers_lock) {
		/* pair A: order queued work before the check of the workers */
		smp_mb__after_spinlock();
		if (io_wq_workers_are_busy(atomic_read(&lane->nr_running)) ||
		    !io_wq_lane_waits(lane))
			return false;
		called = io_wq_call_idle(lane);
		if (!called && io_wq_may_create(lane, concurrent)) {
			WRITE_ONCE(lane->creating, true);
			refcount_inc(&lane->wq->refs);
			create = true;
		}
	}
	if (called)
		wake_up_process(called);
	return create;
}

/*
 * Let io_wq_late() check after IO_WQ_LATE whether concurrent work still waits.  Each worker beyond
 * the number of CPUs slows down the other workers, so it doubles the interval.
 */
static noinline void io_wq_watch(struct io_wq_lane *lane)
{
	int beyond = atomic_read(&lane->nr_running) - (int)num_online_cpus();

	if (io_wq_exiting(lane->wq) || !io_wq_lane_runnable(lane))
		return;
	/* if two tasks race here, one interval may be shorter, and the check is repeated */
	WRITE_ONCE(lane->late_done, READ_ONCE(lane->nr_done));
	refcount_inc(&lane->wq->refs);
	if (!queue_delayed_work(system_dfl_wq, &lane->late, IO_WQ_LATE << clamp(beyond, 0, 8)))
		io_wq_unref(lane->wq);
}

/*
 * Wake an idle worker if work waits, and workers have finished no work since the last check.  Check
 * again while each CPU has a running worker: if one falls asleep, it calls io_wq_kick() itself.
 */
static void io_wq_late(struct work_struct *work)
{
	struct io_wq_lane *lane = container_of(to_delayed_work(work), struct io_wq_lane, late);

	if (READ_ONCE(lane->nr_done) == READ_ONCE(lane->late_done) && io_wq_lane_runnable(lane))
		io_wq_wake_idle(lane);
	if (io_wq_workers_are_busy(atomic_read(&lane->nr_running)))
		io_wq_watch(lane);
	io_wq_unref(lane->wq);
}

/* Claim the lane's creation for a spare worker.  Return: false if it is not needed or allowed. */
static bool io_wq_claim_spare(struct io_wq_lane *lane)
{
	guard(raw_spinlock)(&lane->workers_lock);
	if (!list_empty(&lane->idle) || !io_wq_may_create(lane, true))
		return false;
	io_wq_count_in(lane);
	refcount_inc(&lane->wq->refs);
	return true;
}

/**
 * io_wq_keep_spare - keep one idle worker for io_wq_late()
 * @lane: lane
 * @generation: that of current, which is the pool's task or a worker
 *
 * Creates the worker if each CPU has a running worker and concurrent work waits.  Call this in the
 * pool's task or its workers.  Task work for the creation would interrupt a system call of the
 * pool's task, such as an epoll_wait() on other files.  If no thread can be created, the work waits
 * for a running worker.
 *
 * Context: Task context.  May sleep.
 */
void io_wq_keep_spare(struct io_wq_lane *lane, unsigned int generation)
{
	struct io_wq *wq = lane->wq;
	int err;

	if (!list_empty(&lane->idle) || !READ_ONCE(lane->concurrent) || !io_wq_lane_waits(lane) ||
	    !io_wq_workers_are_busy(atomic_read(&lane->nr_running)) || !io_wq_claim_spare(lane))
		return;
	err = io_wq_spawn_thread(lane, generation, true);
	if (!err)
		return;
	io_wq_count_unborn(lane);
	/* after the claim, the last running worker may have gone to sleep */
	if (!io_wq_creation_drop(lane))
		io_wq_spawn_failed(lane, err);
	io_wq_live_put(wq);
}

/* Result of io_wq_need(), for queued work. */
enum io_wq_need {
	IO_WQ_SUFFICE,		/* the lane needs no other worker, or must not create one */
	IO_WQ_BUSY,		/* each CPU has a running worker; work may wait for them */
	IO_WQ_WANTED,		/* wake an idle worker, or create one */
};

/* Return: whether queued work needs a worker.  Reliable only after a full barrier, see pair A. */
static enum io_wq_need io_wq_need(struct io_wq_lane *lane, bool concurrent)
{
	if (io_wq_workers_are_busy(atomic_read(&lane->nr_running)))
		return IO_WQ_BUSY;
	if (!io_wq_lane_waits(lane) ||
	    (list_empty(&lane->idle) && !io_wq_may_create(lane, concurrent)))
		return IO_WQ_SUFFICE;
	return IO_WQ_WANTED;
}

/**
 * io_wq_kick - make sure that a worker takes queued work
 * @lane: the lane, after a change to its queue or its workers (pair A)
 * @concurrent: create a worker even if another worker runs
 *
 * Wakes an idle worker or creates one, unless the limit is reached or all queued work waits for
 * other work of its key.  If each CPU has a running worker, these workers check the queue before
 * they sleep.  If they keep concurrent work waiting, io_wq_late() wakes another worker.
 *
 * All submitters call this, so it takes no lock and writes nothing in the usual cases: no worker
 * can be woken or created, or each CPU has a running worker and @concurrent is false.
 *
 * Context: Any, also the scheduler's hook.  May sleep if current is the pool's task.
 */
void io_wq_kick(struct io_wq_lane *lane, bool concurrent)
{
	enum io_wq_need need = io_wq_need(lane, concurrent);

	if (need != IO_WQ_WANTED) {
		/* pair A: order the caller's changes before the checks */
		smp_mb();
		need = io_wq_need(lane, concurrent);
	}
	if (need == IO_WQ_WANTED) {
		if (io_wq_wake_or_claim(lane, concurrent))
			io_wq_request(lane);
		else
			need = io_wq_need(lane, concurrent);
	}
	if (unlikely(concurrent && need == IO_WQ_BUSY && !delayed_work_pending(&lane->late))) {
		if (io_wq_creates_here(lane->wq))
			io_wq_keep_spare(lane, lane->wq->generation);
		io_wq_watch(lane);
	}
}

/* Create a worker for another task, and more workers if work that was queued since needs them. */
static void io_wq_create_task_work(struct callback_head *cb)
{
	struct io_wq_lane *lane = container_of(cb, struct io_wq_lane, create);
	bool concurrent = READ_ONCE(lane->concurrent);
	struct io_wq *wq = lane->wq;

	/* current may be exiting, so the reference of each creation may be the last one */
	refcount_inc(&wq->refs);
	/*
	 * While ->creating was set, queued work has created no worker, so check for such work.
	 * A failure ends the loop, because each creation fails once the pool's task was killed.
	 */
	while (io_wq_spawn(lane) && io_wq_need(lane, concurrent) == IO_WQ_WANTED &&
	       io_wq_wake_or_claim(lane, concurrent))
		;
	io_wq_unref(wq);
}

/**
 * io_wq_stop_creation - stop a pending creation
 * @lane: of a pool that is exiting
 *
 * If lane->create is about to run, the creation ends when it reads ->exiting.
 *
 * Context: Task context.  May sleep.
 */
void io_wq_stop_creation(struct io_wq_lane *lane)
{
	if (cancel_delayed_work_sync(&lane->retry))
		io_wq_creation_over(lane);
	if (task_work_cancel(lane->wq->task, &lane->create))
		io_wq_creation_over(lane);
}

/**
 * io_wq_lane_init_workers - initialize the workers' part of a lane
 * @lane: zeroed
 * @max: limit
 */
void io_wq_lane_init_workers(struct io_wq_lane *lane, unsigned int max)
{
	raw_spin_lock_init(&lane->workers_lock);
	INIT_LIST_HEAD(&lane->idle);
	lane->max_workers = max;
	init_task_work(&lane->create, io_wq_create_task_work);
	INIT_DELAYED_WORK(&lane->retry, io_wq_create_retry);
	INIT_DELAYED_WORK(&lane->late, io_wq_late);
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "async/tests/wq_create_kunit.c"
#endif
