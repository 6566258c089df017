// SPDX-License-Identifier: GPL-2.0
/* io_uring: the SQPOLL thread, which submits without system calls */

/*
 * The thread is part of the process that set up the ring.  It shares the memory, files, root
 * directory and namespaces that its creator had at that time.  Requests get the credentials of the
 * task that created the ring.  With IORING_SETUP_ATTACH_WQ a ring shares the thread of another ring
 * if both creators have the same process, files, root directory and namespaces.  Otherwise the ring
 * gets its own thread.
 *
 * In a loop the thread reaps (IOPOLL) and submits for each of its rings, and then runs task work.
 * After some idle time it sets IORING_SQ_NEED_WAKEUP and sleeps.
 *
 * Locks: the thread holds sqd->lock while it works.  It drops the lock for io_sqpoll_park(), whose
 * caller attaches a ring or accesses the thread's worker pool.
 *
 * Ordering: a new SQE must not be missed.
 *
 *	thread, io_sq_say_sleep()		program
 *	set IORING_SQ_NEED_WAKEUP		store the SQ tail
 *	smp_mb()				full barrier
 *	read the SQ tail			IORING_SQ_NEED_WAKEUP? enter with
 *	unchanged? sleep			IORING_ENTER_SQ_WAKEUP
 *
 * The thread ends when it is killed, when its process ends, or when its last ring ends.  It then
 * ends its requests and leaves its rings marked NEED_WAKEUP.  From then on io_uring_enter() returns
 * -EOWNERDEAD.
 */
#include <linux/audit.h>
#include <linux/cpuset.h>
#include <linux/file.h>
#include <linux/io_uring.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/security.h>
#include <linux/slab.h>

#include "async/iopoll.h"
#include "async/napi.h"
#include "async/wq.h"
#include "ring/cq.h"
#include "ring/sq.h"
#include "submit/submit.h"
#include "task/cancel.h"
#include "task/run.h"
#include "task/sqpoll.h"
#include "task/tctx.h"

/* number of SQEs that a thread with several rings submits for a ring before it serves the next */
#define IO_SQ_TURN	8

static void io_sq_ask_to_park(struct io_sq_data *sqd)
{
	atomic_inc(&sqd->park_pending);
	wake_up(&sqd->wait);
}

/*
 * Take sqd->lock, which keeps the thread from serving its rings.  The thread itself must not call
 * this.  The call may take long, since the thread may be in a page fault.
 *
 * Return: 0 with the lock held; -EINTR without the lock if current is killed while it waits.
 */
static int __must_check io_sqpoll_park(struct io_sq_data *sqd)
{
	WARN_ON_ONCE(READ_ONCE(sqd->thread) == current);
	io_sq_ask_to_park(sqd);
	if (!mutex_lock_killable(&sqd->lock))
		return 0;
	atomic_dec(&sqd->park_pending);
	wake_up(&sqd->wait);
	return -EINTR;
}

static void io_sqpoll_unpark(struct io_sq_data *sqd)
{
	atomic_dec(&sqd->park_pending);
	mutex_unlock(&sqd->lock);
	wake_up(&sqd->wait);
}

static void io_sq_unref(struct io_sq_data *sqd)
{
	if (refcount_dec_and_test(&sqd->refs))
		kfree(sqd);
}

/* Drop a ring's references.  The thread ends after the last ring has dropped its references. */
static void io_sq_put(struct io_sq_data *sqd)
{
	if (refcount_dec_and_test(&sqd->rings)) {
		WRITE_ONCE(sqd->stop, true);
		wake_up(&sqd->wait);
	}
	io_sq_unref(sqd);
}

/* Set the thread's idle time to the longest idle time of its rings. */
static void io_sq_update_idle(struct io_sq_data *sqd)
{
	struct io_ring_ctx *ctx;

	lockdep_assert_held(&sqd->lock);
	sqd->idle = 0;
	list_for_each_entry(ctx, &sqd->ctx_list, sqpoll.list) {
		if (ctx->sqpoll.idle > sqd->idle)
			sqd->idle = ctx->sqpoll.idle;
	}
}

/* Remove a leaving ring.  After list_del_init_careful() it may be freed: do not access @ctx. */
static void io_sq_remove(struct io_sq_data *sqd, struct io_ring_ctx *ctx)
{
	lockdep_assert_held(&sqd->lock);
	list_del_init_careful(&ctx->sqpoll.list);
	io_sq_update_idle(sqd);
	atomic_dec(&sqd->leaving);
}

/**
 * io_sqpoll_leave - remove a ring from its SQPOLL thread
 * @ctx: the ring, which ends
 *
 * The function does not wait for the thread, which may be in a page fault, but asks the thread to
 * remove the ring.  The caller tries again later.
 *
 * Return: true if the thread does not serve the ring any more; false if sqd->lock is not free.
 */
bool io_sqpoll_leave(struct io_ring_ctx *ctx)
{
	struct io_sq_data *sqd = ctx->sqpoll.data;

	/* the thread may have removed the ring */
	if (!sqd || list_empty_careful(&ctx->sqpoll.list))
		return true;
	if (!ctx->sqpoll.leaving) {
		WRITE_ONCE(ctx->sqpoll.leaving, true);
		/* set the mark before the count; pairs with the acquire in io_sq_yield() */
		smp_mb__before_atomic();
		atomic_inc(&sqd->leaving);
		wake_up(&sqd->wait);
	}
	if (!mutex_trylock(&sqd->lock))
		return false;
	if (!list_empty(&ctx->sqpoll.list))
		io_sq_remove(sqd, ctx);
	mutex_unlock(&sqd->lock);
	return true;
}

/*
 * Remove the rings that end.  Without this, a ring would stay until close(2) or its exit work gets
 * sqd->lock.  Both try at growing intervals, so a ring could stay for long.
 */
static void io_sq_remove_leaving(struct io_sq_data *sqd)
{
	struct io_ring_ctx *ctx, *next;

	list_for_each_entry_safe(ctx, next, &sqd->ctx_list, sqpoll.list) {
		if (READ_ONCE(ctx->sqpoll.leaving))
			io_sq_remove(sqd, ctx);
	}
}

/**
 * io_sqpoll_put - drop a ring's references to its SQPOLL thread
 * @ctx: the ring, which io_sqpoll_leave() has removed
 *
 * Call this when no requests are left, since requests may use ctx->sqpoll.data.
 */
void io_sqpoll_put(struct io_ring_ctx *ctx)
{
	if (ctx->sqpoll.data)
		io_sq_put(ctx->sqpoll.data);
}

/*
 * Wake the thread to poll for a request.  If the ring has left the thread, the ring's exit work
 * polls, and the wake-up has no effect.
 */
static void io_sqpoll_wake(struct io_ring_ctx *ctx)
{
	struct io_sq_data *sqd = ctx->sqpoll.data;

	if (wq_has_sleeper(&sqd->wait))
		wake_up(&sqd->wait);
}

/**
 * io_iopoll_add_unlocked - list a request that a worker has issued to a polled device
 * @req: the request; the caller must not use it afterwards
 *
 * Wake the thread of an SQPOLL ring to poll for the request.
 *
 * Context: A worker, without the ring lock.  May sleep.
 */
void io_iopoll_add_unlocked(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;

	if (io_ring_lock(ctx)) {
		io_iopoll_add_later(req);
		return;
	}
	io_iopoll_add(req);
	io_ring_unlock(ctx);
	if (ctx->flags & IORING_SETUP_SQPOLL)
		io_sqpoll_wake(ctx);
}

/*
 * The SQPOLL thread ends when all other threads of the program have ended by exit(2), so that it
 * does not keep the process alive.  It watches one live thread (sqd->user) at a time.
 *
 * The end of a thread wakes pollers of its pidfd, and with them the SQPOLL thread.  A thread
 * group leader that ends before the other threads wakes no poller.  A leader that has used io_uring
 * calls io_sqpoll_user_left(); otherwise the SQPOLL thread checks the leader at intervals.
 */

/* interval of checks for the end of a leader that wakes no poller, in jiffies */
#define IO_SQ_USER_LOOK	HZ

static int io_sq_user_wake(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	struct io_sq_data *sqd = container_of(wait, struct io_sq_data, user_wait);

	WRITE_ONCE(sqd->user_left, true);
	wake_up(&sqd->wait);
	return 1;
}

/* Return: true if the end of @task wakes waiters on ->wait_pidfd of its pid. */
static bool io_sq_user_tells(struct task_struct *task)
{
	return !thread_group_leader(task) || READ_ONCE(task->io_uring);
}

/* Find a live thread of the program; prefer one whose end wakes us.  Under rcu_read_lock(). */
static struct task_struct *io_sq_find_user(void)
{
	struct task_struct *task, *silent = NULL;

	for_each_thread(current, task) {
		if (!io_task_is_user(task))
			continue;
		if (io_sq_user_tells(task))
			return task;
		silent = task;
	}
	return silent;
}

static void io_sq_forget_user(struct io_sq_data *sqd)
{
	if (!sqd->user)
		return;
	remove_wait_queue(&sqd->user->wait_pidfd, &sqd->user_wait);
	put_pid(sqd->user);
	sqd->user = NULL;
}

/* Watch for the end of a live thread of the program.  Return: false if no thread is live. */
static bool io_sq_watch_user(struct io_sq_data *sqd)
{
	struct task_struct *task;
	struct pid *pid;

	guard(rcu)();
	while ((task = io_sq_find_user())) {
		io_sq_forget_user(sqd);
		pid = get_task_pid(task, PIDTYPE_PID);
		if (!pid)
			continue;
		sqd->user = pid;
		sqd->user_silent = !io_sq_user_tells(task);
		WRITE_ONCE(sqd->user_left, false);
		add_wait_queue(&pid->wait_pidfd, &sqd->user_wait);
		/*
		 * queue before the check; pairs with io_sqpoll_user_left(), and with exit_notify(),
		 * which wakes under the lock of ->wait_pidfd
		 */
		smp_mb();
		if (io_task_is_user(task))
			return true;
	}
	return false;
}

/**
 * io_sqpoll_user_left - wake SQPOLL threads that watch current, which exits
 *
 * Each SQPOLL thread then watches another live thread of the process, or ends.
 */
void io_sqpoll_user_left(void)
{
	struct wait_queue_head *head = &task_pid(current)->wait_pidfd;

	WRITE_ONCE(current->io_uring->exits, true);
	/* this also wakes pollers of current's pidfd, although current has not ended yet */
	if (wq_has_sleeper(head))
		wake_up_all(head);
}

static struct io_sq_data *io_sq_alloc(void)
{
	struct io_sq_data *sqd = kzalloc(sizeof(*sqd), GFP_KERNEL_ACCOUNT);

	if (!sqd)
		return NULL;
	refcount_set(&sqd->refs, 1);
	refcount_set(&sqd->rings, 1);
	mutex_init(&sqd->lock);
	INIT_LIST_HEAD(&sqd->ctx_list);
	init_waitqueue_head(&sqd->wait);
	init_waitqueue_func_entry(&sqd->user_wait, io_sq_user_wake);
	sqd->user_left = true;
	sqd->cpu = -1;
	return sqd;
}

/* Get the thread of the ring that IORING_SETUP_ATTACH_WQ names. */
static struct io_sq_data *io_sq_attach(struct io_uring_params *p)
{
	struct file *file __free(fput) = fget(p->wq_fd);
	struct io_ring_ctx *other;
	struct io_sq_data *sqd;

	if (!file)
		return ERR_PTR(-ENXIO);
	if (!io_is_uring_fops(file))
		return ERR_PTR(-EINVAL);
	other = file->private_data;
	sqd = other->sqpoll.data;
	if (!sqd)
		return ERR_PTR(-EINVAL);
	if (sqd->task_tgid != current->tgid || !io_wq_shares_env(&sqd->env))
		return ERR_PTR(-EPERM);
	refcount_inc(&sqd->refs);
	refcount_inc(&sqd->rings);
	return sqd;
}

/* Get the io_sq_data of a new ring: share it with another ring, or allocate it. */
static struct io_sq_data *io_sq_get(struct io_uring_params *p, bool *attached)
{
	struct io_sq_data *sqd;

	*attached = false;
	if (p->flags & IORING_SETUP_ATTACH_WQ) {
		sqd = io_sq_attach(p);
		*attached = !IS_ERR(sqd);
		/* -EPERM: current must not share that thread, so start a new thread instead */
		if (*attached || PTR_ERR(sqd) != -EPERM)
			return sqd;
	}
	return io_sq_alloc() ?: ERR_PTR(-ENOMEM);
}

/* Set IORING_SQ_NEED_WAKEUP on all rings, before the last check for work. */
static void io_sq_say_sleep(struct io_sq_data *sqd)
{
	struct io_ring_ctx *ctx;

	list_for_each_entry(ctx, &sqd->ctx_list, sqpoll.list)
		atomic_or(IORING_SQ_NEED_WAKEUP, &ctx->rings->sq_flags);
	/* set the flag before the tails are read; pairs with the full barrier in the program */
	smp_mb();
}

static void io_sq_say_awake(struct io_sq_data *sqd)
{
	struct io_ring_ctx *ctx;

	list_for_each_entry(ctx, &sqd->ctx_list, sqpoll.list)
		atomic_andnot(IORING_SQ_NEED_WAKEUP, &ctx->rings->sq_flags);
}

static bool io_sq_ring_has_work(struct io_ring_ctx *ctx)
{
	if (ctx->iopoll && io_iopoll_pending(ctx))
		return true;
	return io_sq_pending(ctx) && !READ_ONCE(ctx->stops.disabled);
}

static bool io_sq_has_work(struct io_sq_data *sqd)
{
	struct io_ring_ctx *ctx;

	list_for_each_entry(ctx, &sqd->ctx_list, sqpoll.list) {
		if (io_sq_ring_has_work(ctx))
			return true;
	}
	return false;
}

/*
 * Reap and submit for one ring.  With @turn, submit up to IO_SQ_TURN SQEs.
 * Return: true if anything was reaped or submitted.
 */
static bool io_sq_serve_ring(struct io_ring_ctx *ctx, bool turn)
{
	unsigned int nr = io_sq_pending(ctx);
	const struct cred *creds = NULL;
	bool busy = false;

	if (turn)
		nr = min(nr, IO_SQ_TURN);
	if (!nr && !(ctx->iopoll && io_iopoll_pending(ctx)))
		return false;
	/* after -ENOMEM, the next round tries again */
	if (io_tctx_attach(ctx))
		return false;
	if (ctx->creds.sq != current_cred())
		creds = override_creds(ctx->creds.sq);
	io_ring_yield(ctx);
	if (!io_ring_lock(ctx)) {
		if (ctx->iopoll && io_iopoll_pending(ctx))
			busy |= io_iopoll_reap(ctx) > 0;
		if (nr && !READ_ONCE(ctx->dying) && !READ_ONCE(ctx->stops.disabled))
			busy |= io_submit_sqes(ctx, nr) > 0;
		io_ring_unlock(ctx);
	}
	if (wq_has_sleeper(&ctx->sqpoll.room))
		wake_up(&ctx->sqpoll.room);
	if (creds)
		revert_creds(creds);
	return busy;
}

/*
 * Remove rings that end, drop sqd->lock for tasks that want it, and handle signals.  Return: false
 * if the thread has to end.
 */
static bool io_sq_yield(struct io_sq_data *sqd)
{
	if (unlikely(atomic_read_acquire(&sqd->leaving)))
		io_sq_remove_leaving(sqd);
	if (atomic_read(&sqd->park_pending) || signal_pending(current)) {
		struct ksignal ksig;
		bool killed = false;

		mutex_unlock(&sqd->lock);
		if (signal_pending(current))
			killed = get_signal(&ksig);
		/* wait for io_sqpoll_unpark(): the task that parks may hold the lock for long */
		wait_event_state(sqd->wait, !atomic_read(&sqd->park_pending), TASK_IDLE);
		mutex_lock(&sqd->lock);
		if (killed)
			return false;
	}
	if (unlikely(READ_ONCE(sqd->user_left)) && !io_sq_watch_user(sqd))
		return false;
	return !READ_ONCE(sqd->stop);
}

/* Return: true if the thread must not sleep, for reasons other than the work of its rings. */
static bool io_sq_is_called(struct io_sq_data *sqd)
{
	return task_work_pending(current) || atomic_read(&sqd->park_pending) ||
	       atomic_read(&sqd->leaving) || READ_ONCE(sqd->stop) || READ_ONCE(sqd->user_left);
}

/* Serve each ring once, then run task work.  Return: true if anything was done. */
static bool io_sq_round(struct io_sq_data *sqd)
{
	bool turn = !list_is_singular(&sqd->ctx_list);
	struct io_ring_ctx *ctx;
	bool busy = false;

	list_for_each_entry(ctx, &sqd->ctx_list, sqpoll.list) {
		busy |= io_sq_serve_ring(ctx, turn);
		if (unlikely(io_napi_polls(ctx)))
			io_napi_poll(ctx, NULL, NULL);
	}
	return busy | io_run_task_work();
}

/* Sleep after the idle time, until the program, task work, or a ring that ends wakes the thread. */
static void io_sq_sleep(struct io_sq_data *sqd)
{
	DEFINE_WAIT(wait);

	prepare_to_wait(&sqd->wait, &wait, TASK_INTERRUPTIBLE);
	io_sq_say_sleep(sqd);
	if (!io_sq_has_work(sqd) && !io_sq_is_called(sqd)) {
		mutex_unlock(&sqd->lock);
		if (!schedule_timeout(sqd->user_silent ? IO_SQ_USER_LOOK : MAX_SCHEDULE_TIMEOUT))
			sqd->user_left = true;
		mutex_lock(&sqd->lock);
	}
	io_sq_say_awake(sqd);
	finish_wait(&sqd->wait, &wait);
}

static void io_sq_loop(struct io_sq_data *sqd)
{
	unsigned long deadline = jiffies + sqd->idle;

	while (io_sq_yield(sqd)) {
		u64 start = ktime_get_ns();

		if (io_sq_round(sqd)) {
			WRITE_ONCE(sqd->work_time, sqd->work_time +
				   div_u64(ktime_get_ns() - start, NSEC_PER_USEC));
			deadline = jiffies + sqd->idle;
		} else if (time_after(jiffies, deadline)) {
			io_sq_sleep(sqd);
			deadline = jiffies + sqd->idle;
		}
		if (need_resched()) {
			mutex_unlock(&sqd->lock);
			cond_resched();
			mutex_lock(&sqd->lock);
		}
	}
}

/* Mark the thread as ended, and wake tasks that wait for room in the SQ. */
static void io_sq_say_dead(struct io_sq_data *sqd)
{
	struct io_ring_ctx *ctx;

	WRITE_ONCE(sqd->thread, NULL);
	list_for_each_entry(ctx, &sqd->ctx_list, sqpoll.list) {
		atomic_or(IORING_SQ_NEED_WAKEUP, &ctx->rings->sq_flags);
		wake_up_all(&ctx->sqpoll.room);
	}
}

/*
 * Let an unpinned thread run on all CPUs of its cpuset.  The kernel excludes those that the creator
 * has excluded by sched_setaffinity(2).
 */
static void io_sq_unpin(void)
{
	cpumask_var_t allowed;

	if (!alloc_cpumask_var(&allowed, GFP_KERNEL))
		return;
	cpuset_cpus_allowed(current, allowed);
	set_cpus_allowed_ptr(current, allowed);
	free_cpumask_var(allowed);
}

static void io_sq_pin(struct io_sq_data *sqd)
{
	if (sqd->cpu == -1) {
		io_sq_unpin();
		return;
	}
	set_cpus_allowed_ptr(current, cpumask_of(sqd->cpu));
	sqd->cpu = raw_smp_processor_id();
}

static int io_sq_thread(void *data)
{
	struct io_sq_data *sqd = data;
	char name[TASK_COMM_LEN];

	snprintf(name, sizeof(name), "iou-sqp-%d", sqd->task_pid);
	set_task_comm(current, name);
	sqd->task_pid = current->pid;
	io_sq_pin(sqd);
	/* audit needs its context before the first request */
	audit_uring_entry(IORING_OP_NOP);
	audit_uring_exit(true, 0);

	mutex_lock(&sqd->lock);
	io_sq_loop(sqd);
	io_sq_forget_user(sqd);
	if (current->io_uring)
		io_cancel_task(current->io_uring, true);
	io_sq_say_dead(sqd);
	io_run_task_work();
	mutex_unlock(&sqd->lock);

	io_sq_unref(sqd);
	do_exit(0);
}

static int io_sq_check_cpu(unsigned int cpu)
{
	cpumask_var_t allowed;
	bool ok;

	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	if (!alloc_cpumask_var(&allowed, GFP_KERNEL))
		return -ENOMEM;
	cpuset_cpus_allowed(current, allowed);
	ok = cpumask_test_cpu(cpu, allowed);
	free_cpumask_var(allowed);
	return ok ? 0 : -EINVAL;
}

/* Create the thread of a new ring.  If io_tctx_create() fails, ->stop ends the thread. */
static int io_sq_start(struct io_ring_ctx *ctx, const struct io_uring_params *p)
{
	struct io_sq_data *sqd = ctx->sqpoll.data;
	struct task_struct *thread;
	int ret;

	if (p->flags & IORING_SETUP_SQ_AFF) {
		ret = io_sq_check_cpu(p->sq_thread_cpu);
		if (ret)
			return ret;
		sqd->cpu = p->sq_thread_cpu;
	}
	sqd->task_pid = current->pid;
	sqd->task_tgid = current->tgid;
	sqd->env = io_wq_current_env();
	thread = create_io_thread(io_sq_thread, sqd, NUMA_NO_NODE);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	ret = io_tctx_create(ctx, thread);
	if (ret)
		WRITE_ONCE(sqd->stop, true);
	WRITE_ONCE(sqd->thread, thread);
	refcount_inc(&sqd->refs);
	wake_up_new_task(thread);
	return ret;
}

/* Check the descriptor of IORING_SETUP_ATTACH_WQ, which has no other effect without SQPOLL. */
static int io_sq_check_attach(const struct io_uring_params *p)
{
	struct file *file __free(fput) = fget(p->wq_fd);

	if (!file)
		return -ENXIO;
	return io_is_uring_fops(file) ? 0 : -EINVAL;
}

/**
 * io_sqpoll_create - give a new ring its own SQPOLL thread, or the thread of another ring
 * @ctx: the ring, which no other task can see yet
 * @p: the setup parameters
 *
 * This also checks IORING_SETUP_ATTACH_WQ and IORING_SETUP_SQ_AFF for rings without SQPOLL.  On
 * failure io_ring_kill() cleans up.
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -EINVAL for bad flags, a bad CPU, or a descriptor that is not a ring with a thread;
 * -ENXIO if the descriptor is not open or the other ring's thread has ended; -EINTR if current is
 * killed; -ENOMEM; or an error of the security module or of creating the thread.
 */
int io_sqpoll_create(struct io_ring_ctx *ctx, struct io_uring_params *p)
{
	struct io_sq_data *sqd;
	bool attached;
	int ret;

	if (!(ctx->flags & IORING_SETUP_SQPOLL)) {
		if (p->flags & IORING_SETUP_ATTACH_WQ) {
			ret = io_sq_check_attach(p);
			if (ret)
				return ret;
		}
		return p->flags & IORING_SETUP_SQ_AFF ? -EINVAL : 0;
	}
	ret = security_uring_sqpoll();
	if (ret)
		return ret;
	sqd = io_sq_get(p, &attached);
	if (IS_ERR(sqd))
		return PTR_ERR(sqd);

	ctx->creds.sq = get_current_cred();
	ctx->sqpoll.data = sqd;
	ctx->sqpoll.idle = msecs_to_jiffies(p->sq_thread_idle) ?: HZ;
	ret = io_sqpoll_park(sqd);
	if (ret)
		return ret;
	list_add(&ctx->sqpoll.list, &sqd->ctx_list);
	io_sq_update_idle(sqd);
	ret = attached && !sqd->thread ? -ENXIO : 0;
	io_sqpoll_unpark(sqd);
	if (ret || attached)
		return ret;
	return io_sq_start(ctx, p);
}

/**
 * io_sqpoll_wait_room - wait until the SQ has room, for IORING_ENTER_SQ_WAIT
 * @ctx: an SQPOLL ring
 *
 * A signal or the end of the thread ends the wait, without an error.
 *
 * Context: Task context.  Sleeps.
 */
void io_sqpoll_wait_room(struct io_ring_ctx *ctx)
{
	DEFINE_WAIT(wait);

	while (io_sq_full(ctx)) {
		prepare_to_wait(&ctx->sqpoll.room, &wait, TASK_INTERRUPTIBLE);
		if (!io_sq_full(ctx) || signal_pending(current) || io_sqpoll_dead(ctx->sqpoll.data))
			break;
		schedule();
	}
	finish_wait(&ctx->sqpoll.room, &wait);
}

/**
 * io_sqpoll_set_affinity - set the CPUs of the thread's workers
 * @ctx: an SQPOLL ring, its lock not held
 * @mask: CPUs, NULL for all allowed CPUs
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -EINVAL if the ring has no thread or a CPU is not allowed; -EINTR if current is
 * killed.
 */
int io_sqpoll_set_affinity(struct io_ring_ctx *ctx, const struct cpumask *mask)
{
	struct io_sq_data *sqd = ctx->sqpoll.data;
	int ret;

	if (!sqd)
		return -EINVAL;
	ret = io_sqpoll_park(sqd);
	if (ret)
		return ret;
	ret = -EINVAL;
	if (sqd->thread && sqd->thread->io_uring)
		ret = io_wq_set_affinity(sqd->thread->io_uring->io_wq, mask);
	io_sqpoll_unpark(sqd);
	return ret;
}

/**
 * io_sqpoll_max_workers - set the limits of the thread's worker pool
 * @ctx: an SQPOLL ring, its lock not held
 * @counts: see io_wq_set_max_workers(); set to 0 if the thread has ended
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0, or -EINTR if current is killed.
 */
int io_sqpoll_max_workers(struct io_ring_ctx *ctx, unsigned int counts[2])
{
	struct io_sq_data *sqd = ctx->sqpoll.data;
	int ret = io_sqpoll_park(sqd);

	if (ret)
		return ret;
	if (sqd->thread && sqd->thread->io_uring)
		ret = io_wq_set_max_workers(sqd->thread->io_uring->io_wq, counts);
	else
		memset(counts, 0, 2 * sizeof(counts[0]));
	io_sqpoll_unpark(sqd);
	return ret;
}

/**
 * io_sq_stat - read statistics of the thread without stopping it
 * @ctx: any ring, kept alive by its file
 * @stat: result
 *
 * This takes no lock that the thread holds.
 *
 * Return: true if the ring has a thread that has not ended.
 */
bool io_sq_stat(struct io_ring_ctx *ctx, struct io_sq_stat *stat)
{
	struct io_sq_data *sqd = ctx->sqpoll.data;
	struct task_struct *thread;

	if (!sqd)
		return false;
	/* the thread may end at any time, but its task_struct stays for a grace period */
	guard(rcu)();
	thread = READ_ONCE(sqd->thread);
	if (!thread)
		return false;
	stat->pid = task_pid_nr(thread);
	stat->cpu = sqd->cpu == -1 ? task_cpu(thread) : sqd->cpu;
	/* a torn value on 32-bit systems does no harm, because the value is only shown */
	stat->total_us = div_u64(data_race(thread->se.sum_exec_runtime), NSEC_PER_USEC);
	stat->work_us = READ_ONCE(sqd->work_time);
	return true;
}
