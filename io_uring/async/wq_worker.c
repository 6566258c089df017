// SPDX-License-Identifier: GPL-2.0
/* io_uring: the worker pool: how a worker runs, sleeps and leaves */

/*
 * Data: idle workers are on a stack.  A task that wakes a worker removes it from the stack at once
 * and counts it as running, so no other task wakes the same worker.  A worker that has
 * been idle for more than five seconds leaves, except the last worker of its lane.  All idle
 * workers leave once the pool's task uses no ring any more, or has replaced its root, descriptors
 * or namespaces.  Workers would keep unused objects of these kinds in use.
 *
 * Rules: workers share root, descriptors and namespaces with the pool's task, until this task calls
 * unshare() or setns().  When the task queues work or creates a worker, it compares its objects
 * with wq->env, and raises ->generation if they differ.  Work belongs to the generation in which it
 * was queued.  Workers of an older generation take no newer work, and leave.  No older worker is
 * created any more, except a spare, which leaves at once.  So a newer worker runs older work if
 * all older workers have left or sleep in their work.  A task whose children belong to another
 * pid namespace can create no threads, so no generation begins, and its workers stay.  An exiting
 * task can create no threads either.  It runs bounded work itself if all workers are older.
 *
 * A worker handles SIGKILL of its process in get_signal().  The pool's task is then exiting, or
 * waits for a core dump, so the worker ends the pool.  From then on no work begins, and the next
 * worker that looks for work cancels all queued work.
 *
 * Ordering: see pairs A and B in wq.c.
 */
#include <linux/cpumask.h>
#include <linux/cpuset.h>
#include <linux/resume_user_mode.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "async/wq_internal.h"
#include "io-wq.h"

#define IO_WQ_IDLE		(5 * HZ)
/* interval at which idle workers check whether the pool's task still uses a ring */
#define IO_WQ_IDLE_LOOK		(2 * HZ)

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
 * Return: true if the work was cancelled, if its pool or process exits, or if the pool's task runs
 * the work, see io_wq_run_bounded()
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
 * Return: true if the root, descriptors or namespaces of the pool's task and of current, a worker,
 * differ, and the task can create new workers.  Pointers are only compared.
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
 * io_wq_shares_env - check whether a thread of current's process may run current's requests
 * @env: root, descriptors and namespaces of the thread
 *
 * Return: true if current has the objects of @env, or cannot create a thread that shares its own.
 */
bool io_wq_shares_env(const struct io_wq_env *env)
{
	return io_wq_env_is_current(env) || !io_wq_owner_may_clone(current);
}

/**
 * io_wq_worker_sleeping - account for a worker that is about to block
 * @tsk: current; its state is set, so this must not sleep
 *
 * The scheduler calls this for every PF_IO_WORKER task, including the SQPOLL thread, which has no
 * ->worker_private.
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
 * The scheduler calls this for the same tasks as io_wq_worker_sleeping().
 */
void io_wq_worker_running(struct task_struct *tsk)
{
	struct io_wq_worker *worker = tsk->worker_private;

	if (!worker || !worker->asleep)
		return;
	worker->asleep = false;
	atomic_inc(&worker->lane->nr_running);
}

/* Apply the pool's affinity if it was set, or a CPU came online, since current last did so. */
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
	/* if none of these CPUs is online, the call fails, and the worker keeps its CPUs */
	set_cpus_allowed_ptr(current, wq->cpus.allowed);
}

/*
 * Return: true if current has to handle a signal.  While the pool's task waits for its workers to
 * exit, they only handle SIGKILL.  If a worker stopped, the task would wait for SIGCONT.  But the
 * task itself has not stopped, so a shell would wait for the process to stop.
 */
static bool io_wq_worker_signalled(const struct io_wq_worker *worker)
{
	if (likely(!signal_pending(current)))
		return false;
	return !io_wq_owner_waits(worker->lane->wq) || __fatal_signal_pending(current);
}

/*
 * Handle pending signals of a worker.  After a fatal signal, which only this thread has dequeued,
 * end the pool.
 *
 * Return: true if the process exits.
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

/* Once the pool's task exits, make later work and a final fput() leave interruptible waits. */
static void io_wq_worker_limit_waits(struct io_wq_lane *lane)
{
	if (unlikely(io_wq_exiting(lane->wq) || READ_ONCE(lane->nudged)))
		set_thread_flag(TIF_NOTIFY_SIGNAL);
}

/*
 * Do what other tasks do when they return to user space: a worker never returns there.
 * Also clear a signal that was sent to end the last work, so that it does not disturb the next.
 */
static void io_wq_worker_run_pending(struct io_wq_worker *worker)
{
	if (likely(io_wq_worker_is_settled(worker)))
		return;
	/* a program may queue an endless series of work that never sleeps */
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
 * @worker: current, with work that io_wq_give_back() did not requeue
 *
 * A cancel found the work assigned, and sent a signal.  The worker may have cleared this signal,
 * so that the work would not be cancelled.  All work of an exiting pool is marked, too.
 */
void io_wq_heed_cancel(struct io_wq_worker *worker)
{
	guard(spinlock)(&worker->lane->lock);
	if (worker->cancelled || io_wq_exiting(worker->lane->wq))
		worker->cur->flags |= IO_WQ_WORK_CANCEL;
}

/*
 * Handle pending signals and task work before @next, which may block.  Return: @next; or NULL if
 * it was requeued, so that another worker can take it while current is busy.
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

/* Continue with @next of a chain, assigned to current.  Return: @next; NULL if it was requeued. */
static noinline struct io_wq_work *io_wq_worker_go_on(struct io_wq_worker *worker,
						      struct io_wq_work *work,
						      struct io_wq_work *next)
{
	worker->lane->wq->put(work);
	worker->working = false;
	/* during unbounded work, io_wq_bounded_nudge() has not signalled current */
	io_wq_worker_limit_waits(worker->lane);
	if (io_wq_worker_is_settled(worker))
		return next;
	return io_wq_worker_pause(worker, next);
}

/* Run @work.  Return: the next work; NULL if there is none or current is not settled. */
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

/* Take and run work.  Return: true if more work may be queued, because current is not settled. */
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
 * io_wq_count_ring - count the rings that the pool's task uses
 * @wq: pool
 * @change: 1 or -1
 */
void io_wq_count_ring(struct io_wq *wq, int change)
{
	atomic_add(change, &wq->rings);
}

/* Return: true if the pool's task uses no ring, or will queue work for newer workers only. */
static bool io_wq_worker_is_abandoned(const struct io_wq_worker *worker)
{
	const struct io_wq *wq = worker->lane->wq;

	return !atomic_read(&wq->rings) || io_wq_worker_is_outdated(wq);
}

/* Sleep until ->called is set or a signal comes.  Return: false if @left jiffies passed first. */
static bool io_wq_worker_sleep_for(struct io_wq_worker *worker, long left)
{
	unsigned int state = TASK_INTERRUPTIBLE;

	while (left) {
		/*
		 * The task that waited for the last work may queue the next work: let the task run
		 * first.  A wake-up is cheap as long as this worker does not sleep.  With lazy
		 * preemption, the wake-up of that task asks for no schedule() before the next tick.
		 */
		if (IS_ENABLED(CONFIG_PREEMPT_LAZY) ? !single_task_running() : need_resched())
			schedule();
		set_current_state(state);
		if (READ_ONCE(worker->called) || io_wq_worker_signalled(worker))
			break;
		/* a signal that io_wq_worker_signalled() ignores must not end the sleep */
		if (unlikely(signal_pending(current)) && state == TASK_INTERRUPTIBLE)
			state = TASK_KILLABLE | TASK_NOLOAD;
		else
			left = schedule_timeout(left);
	}
	__set_current_state(TASK_RUNNING);
	return left;
}

/* Sleep.  Return: true if ->called is set or a signal came; false if idle too long or abandoned. */
static bool io_wq_worker_sleep(struct io_wq_worker *worker)
{
	unsigned long end = jiffies + IO_WQ_IDLE;

	while (!io_wq_worker_sleep_for(worker, IO_WQ_IDLE_LOOK)) {
		if (io_wq_worker_is_abandoned(worker) || time_after(jiffies, end))
			return false;
	}
	return true;
}

/* Push the worker on lane->idle.  Return: false if it was counted out instead, and must leave. */
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

/* Remove the worker from lane->idle.  Return: false if it was counted out and must leave. */
static bool io_wq_worker_idle_end(struct io_wq_worker *worker, bool may_leave)
{
	struct io_wq_lane *lane = worker->lane;
	bool abandoned;

	/* no other task accesses the worker once ->called is set */
	if (smp_load_acquire(&worker->called)) {
		io_wq_worker_came(worker);
		return true;
	}
	/* this takes a lock that may sleep with PREEMPT_RT */
	abandoned = may_leave && io_wq_worker_is_abandoned(worker);
	guard(raw_spinlock)(&lane->workers_lock);
	if (worker->called) {
		io_wq_worker_came(worker);
		return true;
	}
	list_del(&worker->idle);
	atomic_inc(&lane->nr_running);
	if (!may_leave || (lane->nr_workers == 1 && !abandoned))
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

/**
 * io_wq_worker_main - run work until the worker has to leave
 * @data: the worker, which is freed
 *
 * Return: never
 */
int io_wq_worker_main(void *data)
{
	struct io_wq_worker *worker = data;
	struct io_wq_lane *lane = worker->lane;
	struct io_wq *wq = lane->wq;
	char comm[TASK_COMM_LEN];
	bool stay;

	snprintf(comm, sizeof(comm), "iou-wrk-%d", wq->task->pid);
	set_task_comm(current, comm);
	io_wq_worker_came(worker);
	/* this worker may have been created after io_wq_bounded_nudge() */
	io_wq_worker_limit_waits(lane);
	stay = !worker->spare || io_wq_worker_wait(worker);
	while (stay) {
		while (io_wq_worker_run_some(worker))
			;
		stay = io_wq_worker_wait(worker);
	}

	scoped_guard(spinlock, &lane->lock)
		list_del(&worker->link);
	/* pair A: a submitter may have relied on this worker, or another worker left work to it */
	io_wq_kick(lane, READ_ONCE(lane->concurrent));
	current->worker_private = NULL;
	kfree(worker);
	io_wq_live_put(wq);
	do_exit(0);
}
