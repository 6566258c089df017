// SPDX-License-Identifier: GPL-2.0
/* io_uring: the worker pool: threads, their making, sleeping and leaving */

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
 * Idle workers are on a stack.  A task that wakes one removes it from the stack and counts it
 * as running at once, so that no other task relies on it.  A worker that has been idle for
 * more than five seconds leaves, except the last of its lane.  The last one leaves, too, when
 * it finds that the owner uses no ring any more, or has replaced what both shared.  Otherwise
 * it would keep unused descriptors, mounts and namespaces.
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
 * Rules: workers share root, descriptors and namespaces with their owner, until the owner
 * calls unshare() or setns().  The owner compares them when it queues work and when it creates a
 * worker, and raises ->generation if they differ.  Work belongs to the generation in which it
 * was queued: older workers run earlier work, take nothing newer, and leave.  No older worker
 * is created any more, except a spare, which leaves at once.  So a newer worker runs older work
 * if all older workers are gone or sleep in their work.  An owner whose children belong to another
 * pid namespace can create no threads.  Then no generation begins, and its workers stay.  An owner
 * that exits can create none either.  It runs bounded work itself if all workers are older.
 *
 * A worker sees SIGKILL of its process in get_signal().  Its owner is dying then, or waits for
 * a core dump, so the worker ends the pool.  From then on no work begins, and the next worker
 * that looks for work cancels what is queued.
 *
 * Ordering: see pairs A and B in wq.c.
 */
#include <linux/cpumask.h>
#include <linux/cpuset.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/resume_user_mode.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/user_namespace.h>

#include "async/wq_internal.h"
#include "io-wq.h"

#define IO_WQ_IDLE		(5 * HZ)
/* interval at which idle workers check whether the owner needs any */
#define IO_WQ_IDLE_LOOK		(2 * HZ)
#define IO_WQ_CREATE_TRIES	9
/* time for which running workers may keep concurrent work waiting, before one more runs */
#define IO_WQ_LATE		(HZ / 100 ?: 1)

/* Return: the worker that current is, or NULL. */
static struct io_wq_worker *io_wq_current_worker(void)
{
	return current->flags & PF_IO_WORKER ? current->worker_private : NULL;
}

/**
 * io_wq_worker_stopped - check whether current has to end the work that it runs
 *
 * params->run() calls this before it tries again.
 *
 * Return: true if the work was cancelled, if its pool or its process ends, or if the pool's owner
 * runs it, which exits
 */
bool io_wq_worker_stopped(void)
{
	struct io_wq_worker *worker = io_wq_current_worker();

	if (!worker)
		return true;
	return READ_ONCE(worker->cancelled) || io_wq_exiting(worker->lane->wq) ||
	       fatal_signal_pending(current);
}

/*
 * Return: true if a thread of the owner could be created.  copy_process() refuses threads of a task
 * whose children belong to another pid namespace.
 */
static bool io_wq_owner_may_clone(struct task_struct *owner)
{
	const struct nsproxy *ns;

	guard(task_lock)(owner);
	ns = owner->nsproxy;
	return ns && ns->pid_ns_for_children == task_active_pid_ns(owner);
}

/*
 * Return: true if the owner has another root, descriptors or namespaces than current, its worker,
 * and can create a worker that shares them.  Pointers are only compared.
 */
static bool io_wq_worker_is_outdated(const struct io_wq *wq)
{
	struct task_struct *owner = wq->task;

	if (likely(READ_ONCE(owner->fs) == current->fs &&
		   READ_ONCE(owner->files) == current->files &&
		   READ_ONCE(owner->nsproxy) == current->nsproxy))
		return false;
	return io_wq_owner_may_clone(owner);
}

/**
 * io_wq_worker_may_go_on - check whether current may run work that its owner would queue now
 *
 * params->run() calls this.
 *
 * Return: true if current sees the descriptors that the owner would see now.
 */
bool io_wq_worker_may_go_on(void)
{
	const struct io_wq_worker *worker = current->worker_private;

	return !io_wq_worker_is_outdated(worker->lane->wq);
}

/**
 * io_wq_shares_env - check whether a thread of current's process may run current's requests
 * @env: root, descriptors and namespaces of the thread
 *
 * Return: true if @env is current's, or if current cannot create a thread that shares its own.
 */
bool io_wq_shares_env(const struct io_wq_env *env)
{
	return io_wq_env_is_current(env) || !io_wq_owner_may_clone(current);
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

static int io_wq_worker_main(void *data);

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

/* Return: true if one more running worker would only wait for a CPU. */
static bool io_wq_workers_are_busy(int running)
{
	return running >= (int)num_online_cpus();
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

/* Remove a worker from the counts of its lane. */
static void io_wq_count_out(struct io_wq_lane *lane)
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

/*
 * Keep one idle worker for io_wq_late() while each CPU has a running worker and concurrent work
 * waits.  Only the pool's own tasks can create it: to have it created later would interrupt a
 * system call of the owner, which may be an epoll_wait() that knows nothing of the pool.
 * Without memory or threads the work waits for a running worker.
 */
static void io_wq_keep_spare(struct io_wq_lane *lane, unsigned int generation)
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

/**
 * io_wq_live_put - drop the count of a thread, or that of the pool until its exit
 * @wq: a thread must not use it afterwards
 */
void io_wq_live_put(struct io_wq *wq)
{
	if (refcount_dec_and_test(&wq->live))
		complete_all(&wq->drained);
}

/**
 * io_wq_worker_sleeping - account for a worker that is about to block
 * @tsk: current; its state is set, so this must not sleep
 *
 * The scheduler calls this for every PF_IO_WORKER task, also for the SQPOLL thread, which is no
 * worker.
 */
void io_wq_worker_sleeping(struct task_struct *tsk)
{
	struct io_wq_worker *worker = tsk->worker_private;
	struct io_wq_lane *lane;

	if (!worker || !worker->working || worker->asleep)
		return;
	lane = worker->lane;
	worker->asleep = true;
	/* pair A: atomic_dec_return() is a full barrier */
	if (!io_wq_workers_are_busy(atomic_dec_return(&lane->nr_running)) &&
	    io_wq_lane_runnable(lane))
		io_wq_kick(lane, READ_ONCE(lane->concurrent));
}

/**
 * io_wq_worker_running - account for a worker that runs again
 * @tsk: current
 *
 * The scheduler calls this as it calls io_wq_worker_sleeping().
 */
void io_wq_worker_running(struct task_struct *tsk)
{
	struct io_wq_worker *worker = tsk->worker_private;

	if (!worker || !worker->asleep)
		return;
	worker->asleep = false;
	atomic_inc(&worker->lane->nr_running);
}

/* Apply the CPUs that the user or the cpuset allows, if they have changed. */
static void io_wq_worker_apply_cpus(struct io_wq_worker *worker)
{
	struct io_wq *wq = worker->lane->wq;
	int seq = atomic_read(&wq->cpus.seq);

	if (worker->cpus_seq == seq)
		return;
	worker->cpus_seq = seq;
	guard(mutex)(&wq->cpus.lock);
	/* the cpuset may have changed since the user's mask was checked */
	cpuset_cpus_allowed(wq->task, wq->cpus.allowed);
	if (wq->cpus.set && cpumask_intersects(wq->cpus.allowed, wq->cpus.wanted))
		cpumask_and(wq->cpus.allowed, wq->cpus.allowed, wq->cpus.wanted);
	/* fails if none of them is online; the worker then keeps its CPUs */
	set_cpus_allowed_ptr(current, wq->cpus.allowed);
}

/*
 * Return: true if current has a signal to act on.  While the owner waits for its workers to end,
 * only a kill counts: a worker that stopped would make the owner wait for SIGCONT, and
 * the owner, which has not stopped, would make a shell wait for the stop.
 */
static bool io_wq_worker_signalled(const struct io_wq_worker *worker)
{
	if (likely(!signal_pending(current)))
		return false;
	return !io_wq_owner_waits(worker->lane->wq) || __fatal_signal_pending(current);
}

/*
 * Handle pending signals of a worker.  No other thread sees a fatal signal that was dequeued
 * here, so it ends the pool.
 *
 * Return: true if the process ends.
 */
static bool io_wq_worker_killed(void)
{
	struct io_wq_worker *worker = current->worker_private;
	struct ksignal ksig __uninitialized;

	if (!io_wq_worker_signalled(worker) || !get_signal(&ksig))
		return false;
	io_wq_exit_start(worker->lane->wq);
	return true;
}

/* Once the owner exits, neither the linger of a closed file nor the next work may wait for long. */
static void io_wq_worker_limit_waits(struct io_wq_lane *lane)
{
	if (unlikely(io_wq_exiting(lane->wq) || READ_ONCE(lane->nudged)))
		set_thread_flag(TIF_NOTIFY_SIGNAL);
}

/*
 * Handle what other tasks handle when they return to user space, which a worker never does.
 * A signal that was sent to end the last work must not disturb the next one.
 */
static void io_wq_worker_run_pending(struct io_wq_worker *worker)
{
	if (likely(io_wq_worker_is_settled(worker)))
		return;
	/* a program may queue work that never sleeps, without an end */
	cond_resched();
	if (test_thread_flag(TIF_NOTIFY_SIGNAL)) {
		clear_notify_signal();
		io_wq_worker_limit_waits(worker->lane);
	}
	worker->working = true;
	if (test_thread_flag(TIF_NOTIFY_RESUME))
		resume_user_mode_work(NULL);
	if (task_work_pending(current))
		task_work_run();
	worker->working = false;
	io_wq_worker_killed();
	io_wq_worker_apply_cpus(worker);
}

/**
 * io_wq_heed_cancel - mark work that was cancelled before the worker began it
 * @worker: current, with work that io_wq_give_back() has refused
 *
 * A cancel found the work running and sent a signal.  The worker has cleared this signal
 * since, so the work would not notice the cancel.
 */
void io_wq_heed_cancel(struct io_wq_worker *worker)
{
	guard(spinlock)(&worker->lane->lock);
	if (worker->cancelled)
		worker->cur->flags |= IO_WQ_WORK_CANCEL;
}

/*
 * Handle what is pending before @next, which may block.  Return: the work; or NULL if it was
 * requeued, so that another worker can take it meanwhile.
 */
static noinline struct io_wq_work *io_wq_worker_pause(struct io_wq_worker *worker,
						      struct io_wq_work *next)
{
	if (io_wq_give_back(worker))
		return NULL;
	io_wq_worker_run_pending(worker);
	io_wq_heed_cancel(worker);
	return next;
}

/* Go on with the next work of a chain.  Return: NULL if it was queued. */
static noinline struct io_wq_work *io_wq_worker_go_on(struct io_wq_worker *worker,
						      struct io_wq_work *work,
						      struct io_wq_work *next)
{
	next = io_wq_go_on(worker, next);
	worker->lane->wq->put(work);
	worker->working = false;
	if (!next || io_wq_worker_is_settled(worker))
		return next;
	return io_wq_worker_pause(worker, next);
}

/* Run a work.  Return: the next one; NULL if there is none or the worker has to check first. */
static struct io_wq_work *io_wq_worker_run(struct io_wq_worker *worker, struct io_wq_work *work)
{
	struct io_wq *wq = worker->lane->wq;
	struct io_wq_work *next;

	worker->working = true;
	next = wq->run(work);
	if (unlikely(next))
		return io_wq_worker_go_on(worker, work, next);
	next = io_wq_take(worker, true);
	wq->put(work);
	worker->working = false;
	/* task work may be a final fput() */
	if (likely(!next || !task_work_pending(current)))
		return next;
	return io_wq_worker_pause(worker, next);
}

/* Take and run work until there is none.  Return: true if the worker has to check once more. */
static bool io_wq_worker_run_some(struct io_wq_worker *worker)
{
	struct io_wq_work *work;

	io_wq_worker_run_pending(worker);
	work = io_wq_take(worker, false);
	if (!work)
		return false;
	do {
		work = io_wq_worker_run(worker, work);
	} while (work);
	return !io_wq_worker_is_settled(worker);
}

/**
 * io_wq_count_ring - count the rings that the owner uses
 * @wq: pool
 * @change: 1 or -1
 */
void io_wq_count_ring(struct io_wq *wq, int change)
{
	atomic_add(change, &wq->rings);
}

/* Return: true if a worker like current is of no use any more. */
static bool io_wq_worker_is_abandoned(const struct io_wq_worker *worker)
{
	const struct io_wq *wq = worker->lane->wq;

	return !atomic_read(&wq->rings) || io_wq_worker_is_outdated(wq);
}

/* Sleep until called or signalled, at most @left jiffies.  Return: false if that time is over. */
static bool io_wq_worker_sleep_for(struct io_wq_worker *worker, long left)
{
	unsigned int state = TASK_INTERRUPTIBLE;

	while (left) {
		/*
		 * The waiter for the last work may queue the next: let it run first.  A wake is
		 * cheap as long as this worker has not gone to sleep.
		 */
		cond_resched();
		set_current_state(state);
		if (READ_ONCE(worker->called) || io_wq_worker_signalled(worker))
			break;
		/* a signal that is left to others must not end the sleep */
		if (unlikely(signal_pending(current)) && state == TASK_INTERRUPTIBLE)
			state = TASK_KILLABLE | TASK_NOLOAD;
		else
			left = schedule_timeout(left);
	}
	__set_current_state(TASK_RUNNING);
	return left;
}

/* Sleep until called or signalled: return true; or until idle for too long or abandoned: false. */
static bool io_wq_worker_sleep(struct io_wq_worker *worker)
{
	unsigned long end = jiffies + IO_WQ_IDLE;

	while (!io_wq_worker_sleep_for(worker, IO_WQ_IDLE_LOOK)) {
		if (io_wq_worker_is_abandoned(worker) || time_after(jiffies, end))
			return false;
	}
	return true;
}

/* Push the worker on the stack of idle ones.  Return: false if it leaves, and is counted out. */
static bool io_wq_worker_idle_begin(struct io_wq_worker *worker)
{
	struct io_wq_lane *lane = worker->lane;

	guard(raw_spinlock)(&lane->workers_lock);
	if (io_wq_exiting(lane->wq) || io_wq_worker_is_old(worker)) {
		io_wq_count_out(lane);
		return false;
	}
	list_add(&worker->idle, &lane->idle);
	atomic_dec(&lane->nr_running);
	/* pair A */
	smp_mb();
	return true;
}

/* Leave @nr_coming: the worker looks for work next. */
static void io_wq_worker_came(struct io_wq_worker *worker)
{
	worker->called = false;
	atomic_dec(&worker->lane->nr_coming);
}

/* Leave the stack of idle workers.  Return: false if the worker leaves, and is counted out. */
static bool io_wq_worker_idle_end(struct io_wq_worker *worker, bool may_leave)
{
	struct io_wq_lane *lane = worker->lane;

	/* no other task accesses the worker once ->called is set */
	if (smp_load_acquire(&worker->called)) {
		io_wq_worker_came(worker);
		return true;
	}
	guard(raw_spinlock)(&lane->workers_lock);
	if (worker->called) {
		io_wq_worker_came(worker);
		return true;
	}
	list_del(&worker->idle);
	atomic_inc(&lane->nr_running);
	if (!may_leave || (lane->nr_workers == 1 && !io_wq_worker_is_abandoned(worker)))
		return true;
	io_wq_count_out(lane);
	return false;
}

/* Wait for work.  Return: false if the worker has to leave. */
static bool io_wq_worker_wait(struct io_wq_worker *worker)
{
	bool stay = true;

	if (!io_wq_worker_idle_begin(worker))
		return false;
	if (!io_wq_has_work_for(worker) ||
	    (worker->spare && io_wq_workers_are_busy(atomic_read(&worker->lane->nr_running))))
		stay = io_wq_worker_sleep(worker);
	worker->spare = false;
	if (!io_wq_worker_idle_end(worker, !stay))
		return false;
	if (!io_wq_worker_is_old(worker))
		io_wq_keep_spare(worker->lane, worker->generation);
	return true;
}

static int io_wq_worker_main(void *data)
{
	struct io_wq_worker *worker = data;
	struct io_wq_lane *lane = worker->lane;
	struct io_wq *wq = lane->wq;
	char comm[TASK_COMM_LEN];
	bool stay;

	snprintf(comm, sizeof(comm), "iou-wrk-%d", wq->task->pid);
	set_task_comm(current, comm);
	io_wq_worker_came(worker);
	/* io_wq_bounded_nudge() does not find a worker that comes later */
	io_wq_worker_limit_waits(lane);
	stay = !worker->spare || io_wq_worker_wait(worker);
	while (stay) {
		while (io_wq_worker_run_some(worker))
			;
		stay = io_wq_worker_wait(worker);
	}

	scoped_guard(spinlock, &lane->lock)
		list_del(&worker->link);
	/* pair A: a submitter may have relied on this worker, or left older work to it */
	io_wq_kick(lane, READ_ONCE(lane->concurrent));
	current->worker_private = NULL;
	kfree(worker);
	io_wq_live_put(wq);
	do_exit(0);
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "async/tests/wq_worker_kunit.c"
#endif
