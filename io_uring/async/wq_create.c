// SPDX-License-Identifier: GPL-2.0
/* io_uring: the worker pool: which work wakes or creates a worker */

/*
 * A pool needs a worker that makes progress while others sleep in their work, but no more
 * threads than that.
 *
 * Data: as with workqueues, the aim is one worker that runs and does not sleep.  Queued work
 * wakes an idle worker; without one, a worker is created only if none runs.  When the last
 * running worker goes to sleep in its work, the scheduler calls io_wq_worker_sleeping().  That
 * function wakes or creates another worker if there is work that can run.
 *
 * Concurrent work (IOSQE_ASYNC) gets a worker each, but at most one for each CPU runs.  If the
 * running workers end no work for IO_WQ_LATE, io_wq_late() wakes one more worker.  It must not
 * have to create that worker, so io_wq_keep_spare() keeps one idle worker in advance.
 *
 * create_io_thread() creates workers in the owner's context: the owner calls it when it queues
 * work.  Any other task, or the scheduler's hook, queues lane->create as task work of the
 * owner.  A spare worker may also be created by a worker between two works, as it is a thread of
 * the owner's process.  Each lane has one creation, so ->creating is set while it is in use.  It
 * holds a reference to the pool's memory, and passes through these functions:
 *
 *	io_wq_kick()		decides, takes the reference
 *	io_wq_request()		owner: calls io_wq_spawn(); else queues task work
 *	io_wq_spawn()		checks again whether a worker is needed, creates the thread
 *	io_wq_spawn_failed()	tries again later through lane->retry, without end for
 *				-EAGAIN and -ENOMEM if the lane has workers; or gives up
 *	io_wq_create_retry()	interrupts the owner a few times, then waits for its way to
 *				user space; ends a creation that no work needs any more
 *	io_wq_stop_creation()	exit: takes it from either queue
 *	io_wq_creation_over()	end, before the thread runs
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
/* time for which running workers may keep concurrent work waiting, before one more runs */
#define IO_WQ_LATE		(HZ / 100 ?: 1)

/**
 * io_wq_owner_may_clone - check whether a thread of a pool's owner could be created
 * @owner: task
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

/* Allow the next creation.  The caller drops the reference of the one that ends. */
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

/* Return: true if the owner runs the lane's work itself, see io_wq_run_bounded(). */
static bool io_wq_owner_runs(const struct io_wq_lane *lane)
{
	const struct io_wq *wq = lane->wq;

	return lane == &wq->lane[IO_WQ_BOUNDED] && READ_ONCE(wq->owner_waits) && !io_wq_exiting(wq);
}

/*
 * No thread can be created.  If the lane has workers, they run its work, and an exiting owner runs
 * bounded work.  Otherwise queued work is cancelled.  Work that is queued later starts a new
 * creation.
 */
static void io_wq_give_up(struct io_wq_lane *lane)
{
	bool none;

	scoped_guard(raw_spinlock, &lane->workers_lock) {
		io_wq_creation_end(lane);
		none = !lane->nr_workers && !io_wq_owner_runs(lane);
	}
	/* before io_wq_unref(): the creation's reference may be the last one */
	if (none)
		io_wq_queue_reap(lane);
	io_wq_unref(lane->wq);
}

/*
 * Remove a worker from the stack of idle ones.  Return: its task, or NULL.  The caller wakes it
 * without the lock but within RCU, because the worker may exit once it sees ->called.
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
	/* pairs with io_wq_worker_idle_end(), which then does not take the lock */
	smp_store_release(&worker->called, true);
	return task;
}

/* Wake an idle worker, however many run.  Return: false if there is none. */
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
 * io_wq_dismiss_idle - wake all idle workers, which then leave
 * @lane: of a pool that is exiting, or whose workers are all of an older generation
 */
void io_wq_dismiss_idle(struct io_wq_lane *lane)
{
	/* one lock section for each: there may be thousands of workers */
	while (io_wq_wake_idle(lane))
		;
}

/* Return: true if the lane has workers, so that its work can wait until another one is created. */
static bool io_wq_has_workers(struct io_wq_lane *lane)
{
	guard(raw_spinlock)(&lane->workers_lock);
	return lane->nr_workers;
}

static bool io_wq_should_retry(struct io_wq_lane *lane, int err)
{
	/* a thread that exits cannot create others */
	if (fatal_signal_pending(current) || current->flags & PF_POSTCOREDUMP)
		return false;
	switch (err) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
		/* the owner will handle the signal, although the next one may be pending by then */
		return true;
	case -EAGAIN:
	case -ENOMEM:
		return lane->tries < IO_WQ_CREATE_TRIES || io_wq_has_workers(lane);
	}
	return false;
}

/* Twice as late each time, up to half a second: limits may be over in milliseconds. */
static void io_wq_retry_later(struct io_wq_lane *lane)
{
	schedule_delayed_work(&lane->retry, msecs_to_jiffies(1U << lane->tries));
	if (lane->tries < IO_WQ_CREATE_TRIES)
		lane->tries++;
}

/*
 * Try again later.  Without any worker, give up after half a second in all, unless signals
 * cause the failures.  Workers may be stuck for long, so with workers try twice a second for
 * as long as work waits.  There is no notification when a limit is lifted.
 */
static void io_wq_spawn_failed(struct io_wq_lane *lane, int err)
{
	if (io_wq_exiting(lane->wq) || !io_wq_should_retry(lane, err))
		io_wq_give_up(lane);
	else
		io_wq_retry_later(lane);
}

/*
 * Create a thread and start it.  The creation is over before the thread runs: if the thread
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
 * Check for work that needs another worker.  One worker at a time serves a key, so a batch of
 * writes to one file needs one worker.  Without @nr_coming each write that is queued before this
 * worker runs would wake another one.  Plain work may block: each may need its own worker.
 *
 * A worker leaves @nr_coming before it takes lane->lock to look for work.  Work that is queued
 * after this look sees the lower count.
 */
static bool io_wq_lane_waits(struct io_wq_lane *lane)
{
	return READ_ONCE(lane->plain.first) ||
	       hweight_long(READ_ONCE(lane->ready)) > atomic_read(&lane->nr_coming);
}

/* Give the lane's creation up, but check for work that relies on it.  Return: false if none does */
static bool io_wq_creation_is_needed(struct io_wq_lane *lane)
{
	lockdep_assert_held(&lane->workers_lock);
	WRITE_ONCE(lane->creating, false);
	/*
	 * Pair A: a task that queues work and still sees @creating does nothing more, so check for
	 * its work.
	 */
	smp_mb();
	return !io_wq_exiting(lane->wq) && io_wq_lane_waits(lane);
}

/*
 * End a creation that no work needs.  While each CPU has a running worker, none does: one of these
 * kicks the lane when it falls asleep.  Return: false if work needs it.
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

/* Count in a worker that current creates. */
static void io_wq_count_in(struct io_wq_lane *lane)
{
	lockdep_assert_held(&lane->workers_lock);
	WRITE_ONCE(lane->creating, true);
	WRITE_ONCE(lane->nr_workers, lane->nr_workers + 1);
	atomic_inc(&lane->nr_running);
	atomic_inc(&lane->nr_coming);
	refcount_inc(&lane->wq->live);
}

/* If a worker is still needed, wake an idle one (@called), or count a new one in: return true. */
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

/* A worker that was counted in could not be created. */
static void io_wq_count_unborn(struct io_wq_lane *lane)
{
	guard(raw_spinlock)(&lane->workers_lock);
	atomic_dec(&lane->nr_coming);
	io_wq_count_out(lane);
}

/**
 * io_wq_renew - begin a generation for the owner's new root, descriptors or namespaces
 * @wq: of current
 *
 * See io_wq_follow_owner().
 */
void io_wq_renew(struct io_wq *wq)
{
	unsigned int i;

	if (!io_wq_owner_may_clone(current))
		return;
	wq->env = io_wq_current_env();
	/* a worker that takes later work sees the new generation through the lane's lock */
	WRITE_ONCE(wq->generation, wq->generation + 1);
	for (i = 0; i < IO_WQ_NR_LANES; i++)
		io_wq_dismiss_idle(&wq->lane[i]);
}

/*
 * Create a worker, unless it is not needed any more; current is the owner and has the lane's
 * pending creation.
 * Return: false if it could not be created, now or at all.
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
	/* may drop the creation's reference: from there on ->live keeps the pool */
	io_wq_spawn_failed(lane, err);
	io_wq_live_put(wq);
	return false;
}

/*
 * Return: true if RLIMIT_NPROC allows the owner no more threads.  An attempt would fail then, but
 * would interrupt a system call of the owner.  The conditions are those of copy_process(), without
 * the limits of parent user namespaces.
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
		/* another limit: a cgroup's, say.  Do not interrupt the owner for ever */
		if (lane->tries == IO_WQ_CREATE_TRIES && !lane->limited)
			how = TWA_RESUME;
	}
	lane->limited = false;
	if (io_wq_exiting(lane->wq) || task_work_add(lane->wq->task, &lane->create, how))
		io_wq_give_up(lane);
}

/* Have the owner create a worker.  In the scheduler's hook, current is not the owner. */
static void io_wq_request(struct io_wq_lane *lane)
{
	struct io_wq *wq = lane->wq;

	if (current == wq->task)
		io_wq_spawn(lane);
	else if (task_work_add(wq->task, &lane->create, TWA_SIGNAL))
		schedule_delayed_work(&lane->retry, 0);
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
		/* pair A: queued work, then the check of the workers */
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
 * Check after IO_WQ_LATE whether concurrent work of the lane still waits.  Each worker that runs
 * beyond the CPUs delays the end of the others' work, so the interval doubles with each of them.
 */
static noinline void io_wq_watch(struct io_wq_lane *lane)
{
	int beyond = atomic_read(&lane->nr_running) - (int)num_online_cpus();

	if (io_wq_exiting(lane->wq) || !io_wq_lane_runnable(lane))
		return;
	/* two tasks may race here: that shortens one interval, and the check is repeated */
	WRITE_ONCE(lane->late_done, READ_ONCE(lane->nr_done));
	refcount_inc(&lane->wq->refs);
	if (!queue_delayed_work(system_dfl_wq, &lane->late, IO_WQ_LATE << clamp(beyond, 0, 8)))
		io_wq_unref(lane->wq);
}

/*
 * Wake an idle worker if work waits, and none has ended since the last check.  Check again while
 * each CPU has a running worker.  A running worker that falls asleep kicks the lane itself.
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

/* Claim the lane's creation for a spare worker.  Return: false if it is not needed, or in use. */
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
 * @generation: that of current, which is the owner or a worker
 *
 * Creates the worker if each CPU has a running worker and concurrent work waits.  Only the pool's
 * own tasks can do so: to have it created later would interrupt a system call of the owner, which
 * may be an epoll_wait() that knows nothing of the pool.  Without memory or threads the work waits
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
	/* since the claim the last running worker may have gone to sleep */
	if (!io_wq_creation_drop(lane))
		io_wq_spawn_failed(lane, err);
	io_wq_live_put(wq);
}

/* Result of io_wq_need(), for queued work. */
enum io_wq_need {
	IO_WQ_SUFFICE,		/* the lane needs no other worker, or must not have one */
	IO_WQ_BUSY,		/* each CPU has a running worker; work may wait for these */
	IO_WQ_WANTED,		/* wake an idle worker, or create one */
};

/* Return: what queued work needs.  Final only after a full barrier, see pair A. */
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
 * @concurrent: create a worker even if another one runs
 *
 * Wakes an idle worker or creates one, unless the limit is reached or all queued work waits for
 * other work of its key.  If each CPU has a running worker, these check the queue before they
 * sleep.  If they keep concurrent work waiting, io_wq_late() uses another worker.
 *
 * All submitters call this, so it writes nothing, and takes no lock, unless a worker can be had, or
 * concurrent work finds all CPUs busy.
 *
 * Context: Any, also the scheduler's hook.  May sleep if current is the pool's owner.
 */
void io_wq_kick(struct io_wq_lane *lane, bool concurrent)
{
	enum io_wq_need need = io_wq_need(lane, concurrent);

	if (need != IO_WQ_WANTED) {
		/* pair A: the caller has written the queue */
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
		if (current == lane->wq->task)
			io_wq_keep_spare(lane, lane->wq->generation);
		io_wq_watch(lane);
	}
}

/* Create the worker that another task has asked for, and those that work relies on by now. */
static void io_wq_create_task_work(struct callback_head *cb)
{
	struct io_wq_lane *lane = container_of(cb, struct io_wq_lane, create);
	bool concurrent = READ_ONCE(lane->concurrent);
	struct io_wq *wq = lane->wq;

	/* current may be exiting, so the reference of each creation may be the last one */
	refcount_inc(&wq->refs);
	/*
	 * Work that was queued during this creation has asked for no other.  A creation that fails
	 * ends the loop: each one fails once the owner is killed.
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
 * A creation that is about to run ends by itself, when it sees ->exiting.
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
