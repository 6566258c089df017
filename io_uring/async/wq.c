// SPDX-License-Identifier: GPL-2.0
/* io_uring: the worker pool: queues, cancel, limits, begin and end */

/*
 * Work that cannot be done without blocking goes to a pool of threads.  Each task that uses
 * io_uring has its own pool.  The workers are threads of that task's process, so that they
 * have its memory, files and limits.
 *
 * Data: a pool has two lanes with a limit each.  The bounded lane is for work that ends by
 * itself (storage), the unbounded lane for work that may wait for another task.  A lane queues
 * plain work in one FIFO, and hashed work in a FIFO for each key (an inode or an open file).
 * Work of one key runs one at a time and in order.  Otherwise all workers of the lane might block
 * on the lock of one inode.  If another pool holds that lock, only one worker of this lane blocks.
 * A lane has as many keys at a time as a word has bits.  Work of further keys waits in one more
 * FIFO, in order, until a key is free.
 *
 * Locks, none of which is held while another one is taken:
 *
 *	lane->lock	the queues, and which work each worker runs.  Work moves from a queue
 *			to a worker inside one section, and a cancel searches the queues first,
 *			so that it misses no work.  A long search drops the lock now and then;
 *			code that removes work updates the searches that point to this work
 *	lane->workers_lock	idle workers and counts.  A raw lock, because the scheduler's
 *			hook takes it.  Tasks are woken after it is dropped
 *	wq->cpus.lock	a mutex: CPUs of the workers
 *
 * Ordering: queued work must not wait for a worker that goes to sleep at the same time, nor
 * stay in a pool that ends.  Full barriers (A) and lane->lock (B) prevent this:
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
 * key checks the queue before it sleeps.  After B no worker becomes idle, and none is created.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpuset.h>
#include <linux/init.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "async/wq_internal.h"

static enum cpuhp_state io_wq_cpuhp;

static void io_wq_fifo_push(struct io_wq_fifo *fifo, struct io_wq_work *work)
{
	work->next = NULL;
	if (fifo->first)
		fifo->last->next = work;
	else
		WRITE_ONCE(fifo->first, work);
	fifo->last = work;
}

static void io_wq_fifo_push_front(struct io_wq_fifo *fifo, struct io_wq_work *work)
{
	work->next = fifo->first;
	if (!fifo->first)
		fifo->last = work;
	WRITE_ONCE(fifo->first, work);
}

static struct io_wq_work *io_wq_fifo_pop(struct io_wq_fifo *fifo)
{
	struct io_wq_work *work = fifo->first;

	if (work) {
		WRITE_ONCE(fifo->first, work->next);
		work->next = NULL;
	}
	return work;
}

/* Move searches that point to @work, which has left a queue: to @next, or back to @before. */
static noinline void io_wq_move_searches(struct io_wq_lane *lane, struct io_wq_work *work,
					 struct io_wq_work *before, struct io_wq_work *next)
{
	struct io_wq_search *search;

	list_for_each_entry(search, &lane->searches, link) {
		if (search->at == work)
			search->at = next;
		if (search->before == work)
			search->before = before;
	}
}

static void io_wq_left(struct io_wq_lane *lane, struct io_wq_work *work,
		       struct io_wq_work *before, struct io_wq_work *next)
{
	lockdep_assert_held(&lane->lock);
	if (unlikely(!list_empty(&lane->searches)))
		io_wq_move_searches(lane, work, before, next);
}

/* Remove @work from a queue of the lane.  It follows @before, or is the first if that is NULL. */
static void io_wq_remove(struct io_wq_lane *lane, struct io_wq_fifo *fifo,
			 struct io_wq_work *before, struct io_wq_work *work)
{
	struct io_wq_work *next = work->next;

	if (before)
		before->next = next;
	else
		WRITE_ONCE(fifo->first, next);
	if (fifo->last == work)
		fifo->last = before;
	work->next = NULL;
	io_wq_left(lane, work, before, next);
}

/* Remove the oldest work of a queue of the lane.  Return: the work, or NULL. */
static struct io_wq_work *io_wq_pop(struct io_wq_lane *lane, struct io_wq_fifo *fifo)
{
	struct io_wq_work *work = io_wq_fifo_pop(fifo);

	if (work)
		io_wq_left(lane, work, NULL, fifo->first);
	return work;
}

/* Update the bits of a key whose queue or worker has changed. */
static void io_wq_key_update(struct io_wq_lane *lane, unsigned int n)
{
	bool held = lane->held & BIT(n), work = lane->key[n].fifo.first;

	lockdep_assert_held(&lane->lock);
	__assign_bit(n, &lane->keys, held || work);
	WRITE_ONCE(lane->ready, (lane->ready & ~BIT(n)) | (work && !held ? BIT(n) : 0));
}

/* Return: the place of a key that is in use, or IO_WQ_KEYS. */
static unsigned int io_wq_key_find(struct io_wq_lane *lane, const void *key)
{
	unsigned int n;

	for_each_set_bit(n, &lane->keys, IO_WQ_KEYS) {
		if (lane->key[n].key == key)
			break;
	}
	return n;
}

/* Queue hashed work in the FIFO of its key.  Return: false if others use all keys. */
static bool io_wq_key_push(struct io_wq_lane *lane, struct io_wq_work *work)
{
	const void *key = lane->wq->key(work);
	unsigned int n = io_wq_key_find(lane, key);

	if (n == IO_WQ_KEYS)
		n = find_first_zero_bit(&lane->keys, IO_WQ_KEYS);
	if (n == IO_WQ_KEYS)
		return false;
	lane->key[n].key = key;
	io_wq_fifo_push(&lane->key[n].fifo, work);
	io_wq_key_update(lane, n);
	return true;
}

/* Move work from lane->others to keys that have become free.  Each item moves once. */
static void io_wq_keys_refill(struct io_wq_lane *lane)
{
	struct io_wq_work *work;

	while (unlikely(lane->others.first) && !io_wq_exiting(lane->wq) && ~lane->keys) {
		work = io_wq_pop(lane, &lane->others);
		io_wq_key_push(lane, work);
	}
}

static noinline void io_wq_push_hashed(struct io_wq_lane *lane, struct io_wq_work *work)
{
	if (lane->others.first || !io_wq_key_push(lane, work))
		io_wq_fifo_push(&lane->others, work);
}

/* Queue work.  Return: false if the pool ends, so that no worker may take the work. */
static bool io_wq_push(struct io_wq_lane *lane, struct io_wq_work *work, bool hashed)
{
	guard(spinlock)(&lane->lock);
	if (hashed)
		io_wq_push_hashed(lane, work);
	else
		io_wq_fifo_push(&lane->plain, work);
	return !io_wq_exiting(lane->wq);
}

/**
 * io_wq_lane_runnable - check for work that a worker could take now
 * @lane: its lock need not be held
 *
 * A caller that relies on the value for pair A must have executed a full barrier after it changed
 * what submitters check.
 *
 * Return: true if there is such work.  If the value is outdated, a submitter or worker kicks the
 * lane.
 */
bool io_wq_lane_runnable(struct io_wq_lane *lane)
{
	return READ_ONCE(lane->plain.first) || READ_ONCE(lane->ready);
}

/* Return: true if a worker of this generation (see wq_worker.c) is going to look for work. */
static bool io_wq_is_awaited(struct io_wq_lane *lane, unsigned int generation)
{
	struct io_wq_worker *worker;

	list_for_each_entry(worker, &lane->workers, link) {
		/* a worker that sleeps may depend on this work, like an open() of a FIFO */
		if (worker->generation == generation && !READ_ONCE(worker->asleep))
			return true;
	}
	return false;
}

/*
 * Return: true if the worker may take work of another generation: older work if no worker of that
 * age will take it.
 */
static noinline bool io_wq_may_take_other(const struct io_wq_worker *worker,
					  const struct io_wq_work *work)
{
	return (int)(work->generation - worker->generation) < 0 &&
	       !io_wq_is_awaited(worker->lane, work->generation);
}

static bool io_wq_may_take(const struct io_wq_worker *worker, const struct io_wq_work *work)
{
	lockdep_assert_held(&worker->lane->lock);
	return likely(work->generation == worker->generation) ||
	       io_wq_may_take_other(worker, work);
}

/* Return: the next key with work that @worker may take, or IO_WQ_KEYS. */
static unsigned int io_wq_next_key(struct io_wq_lane *lane, const struct io_wq_worker *worker)
{
	unsigned int n;

	for_each_set_bit_wrap(n, &lane->ready, IO_WQ_KEYS, lane->next_key) {
		if (io_wq_may_take(worker, lane->key[n].fifo.first))
			return n;
	}
	return IO_WQ_KEYS;
}

/* Take the oldest work of a key that no worker holds.  From then on, @worker holds the key. */
static noinline struct io_wq_work *io_wq_take_hashed(struct io_wq_lane *lane,
						     struct io_wq_worker *worker)
{
	struct io_wq_work *work;
	unsigned int n;

	if (!lane->ready)
		return NULL;
	n = io_wq_next_key(lane, worker);
	if (n == IO_WQ_KEYS)
		return NULL;
	work = io_wq_pop(lane, &lane->key[n].fifo);
	lane->held |= BIT(n);
	lane->next_key = (n + 1) % IO_WQ_KEYS;
	worker->key = n;
	io_wq_key_update(lane, n);
	return work;
}

/* Return: the nth queue, in the order in which work moves between them; NULL after the last. */
static struct io_wq_fifo *io_wq_nth_fifo(struct io_wq_lane *lane, unsigned int n)
{
	if (!n)
		return &lane->others;
	if (n <= IO_WQ_KEYS)
		return &lane->key[n - 1].fifo;
	return n == IO_WQ_KEYS + 1 ? &lane->plain : NULL;
}

/* Update the key of the nth queue after work was removed from it. */
static void io_wq_fifo_update(struct io_wq_lane *lane, unsigned int n)
{
	if (!n || n > IO_WQ_KEYS)
		return;
	io_wq_key_update(lane, n - 1);
	io_wq_keys_refill(lane);
}

/* Take any work of a lane that ends: cancelled work need not be serialised. */
static struct io_wq_work *io_wq_take_any(struct io_wq_lane *lane)
{
	struct io_wq_fifo *fifo;
	struct io_wq_work *work;
	unsigned int n;

	for (n = 0; (fifo = io_wq_nth_fifo(lane, n)); n++) {
		work = io_wq_pop(lane, fifo);
		if (!work)
			continue;
		io_wq_fifo_update(lane, n);
		return work;
	}
	return NULL;
}

static struct io_wq_work *io_wq_take_plain(struct io_wq_lane *lane,
					   const struct io_wq_worker *worker)
{
	struct io_wq_work *work = lane->plain.first;

	return work && io_wq_may_take(worker, work) ? io_wq_pop(lane, &lane->plain) : NULL;
}

/**
 * io_wq_has_work_for - check for work that this worker could take
 * @worker: current, which has counted itself as idle, see io_wq_lane_runnable()
 *
 * Return: true or false, which may be outdated.  Other workers take the work that this one
 * must not take, or kick the lane when they go to sleep or leave.
 */
bool io_wq_has_work_for(struct io_wq_worker *worker)
{
	struct io_wq_lane *lane = worker->lane;

	if (!io_wq_lane_runnable(lane))
		return false;
	guard(spinlock)(&lane->lock);
	return io_wq_exiting(lane->wq) || io_wq_next_key(lane, worker) < IO_WQ_KEYS ||
	       (lane->plain.first && io_wq_may_take(worker, lane->plain.first));
}

/* Take work for @worker, alternating between plain and hashed.  Return: the work, or NULL. */
static struct io_wq_work *io_wq_take_next(struct io_wq_lane *lane, struct io_wq_worker *worker)
{
	struct io_wq_work *work = NULL;

	if (!io_wq_lane_runnable(lane))
		return NULL;
	if (lane->plain_next)
		work = io_wq_take_plain(lane, worker);
	lane->plain_next = !work;
	if (!work)
		work = io_wq_take_hashed(lane, worker);
	return work ?: io_wq_take_plain(lane, worker);
}

/* Let @worker run @work, as cancelled if the pool ends.  Call this in the section that took it. */
static void io_wq_assign(struct io_wq_worker *worker, struct io_wq_work *work)
{
	lockdep_assert_held(&worker->lane->lock);
	if (io_wq_exiting(worker->lane->wq))
		work->flags |= IO_WQ_WORK_CANCEL;
	WRITE_ONCE(worker->cancelled, false);
	WRITE_ONCE(worker->cur, work);
}

static noinline void io_wq_give_key_back(struct io_wq_worker *worker)
{
	struct io_wq_lane *lane = worker->lane;
	unsigned int n = worker->key;

	worker->key = IO_WQ_NO_KEY;
	lane->held &= ~BIT(n);
	io_wq_key_update(lane, n);
	io_wq_keys_refill(lane);
}

/* Detach the work of @worker, and release its key; undoes io_wq_assign(). */
static void io_wq_unassign(struct io_wq_worker *worker)
{
	lockdep_assert_held(&worker->lane->lock);
	WRITE_ONCE(worker->cur, NULL);
	if (worker->key != IO_WQ_NO_KEY)
		io_wq_give_key_back(worker);
}

static void io_wq_let_go_locked(struct io_wq_worker *worker)
{
	WRITE_ONCE(worker->lane->nr_done, worker->lane->nr_done + 1);
	io_wq_unassign(worker);
}

/* Wake the pool's owner if it waits for work to finish.  Call this without a lock held. */
static void io_wq_tell_owner(struct io_wq *wq)
{
	if (unlikely(READ_ONCE(wq->owner_waits)))
		wake_up_process(wq->task);
}

/**
 * io_wq_let_go - detach the work of a worker that has finished it or handed it over
 * @worker: current
 *
 * No search finds the work through the pool any more.  Its key is released: the next
 * worker that looks for work, perhaps current, takes the next work of that key.
 */
void io_wq_let_go(struct io_wq_worker *worker)
{
	struct io_wq_lane *lane = worker->lane;

	scoped_guard(spinlock, &lane->lock)
		io_wq_let_go_locked(worker);
	io_wq_tell_owner(lane->wq);
}

/**
 * io_wq_take - take work from the queue
 * @worker: current
 * @done: the worker has finished its work: detach it first, as io_wq_let_go() does
 *
 * A cancel sends its signal under the lane's lock, so a signal for finished work is pending
 * before this returns.  The worker clears it before it begins the next work.
 *
 * Once the pool ends, all work can be taken and is marked as cancelled.
 *
 * Return: the work, assigned to @worker, or NULL if there is none.  With @done also NULL if
 * io_wq_worker_is_settled() is false.
 */
struct io_wq_work *io_wq_take(struct io_wq_worker *worker, bool done)
{
	struct io_wq_lane *lane = worker->lane;
	struct io_wq_work *work = NULL;

	scoped_guard(spinlock, &lane->lock) {
		if (done) {
			io_wq_let_go_locked(worker);
			if (unlikely(!io_wq_worker_is_settled(worker)))
				break;
		}
		if (unlikely(io_wq_exiting(lane->wq)))
			work = io_wq_take_any(lane);
		else
			work = io_wq_take_next(lane, worker);
		if (work)
			io_wq_assign(worker, work);
	}
	if (done)
		io_wq_tell_owner(lane->wq);
	return work;
}

/* Return: the lane in which work is queued. */
static struct io_wq_lane *io_wq_lane_of(struct io_wq *wq, const struct io_wq_work *work)
{
	return &wq->lane[work->flags & IO_WQ_WORK_UNBOUND ? IO_WQ_UNBOUNDED : IO_WQ_BOUNDED];
}

/*
 * Let @worker hold the key of hashed work that it runs next.  Return: false if the work belongs to
 * the other lane, another worker holds the key, or other work waits for it.
 */
static bool io_wq_switch_key(struct io_wq_worker *worker, const struct io_wq_work *work)
{
	struct io_wq_lane *lane = worker->lane;
	const void *key = lane->wq->key(work);
	unsigned int n = io_wq_key_find(lane, key);

	if (io_wq_lane_of(lane->wq, work) != lane)
		return false;
	if (n < IO_WQ_KEYS)
		return n == worker->key;
	if (worker->key != IO_WQ_NO_KEY)
		io_wq_give_key_back(worker);
	n = find_first_zero_bit(&lane->keys, IO_WQ_KEYS);
	if (n == IO_WQ_KEYS)
		return false;
	lane->key[n].key = key;
	lane->held |= BIT(n);
	worker->key = n;
	io_wq_key_update(lane, n);
	return true;
}

/**
 * io_wq_go_on - run work behind the work that has returned it
 * @worker: current, whose work is done
 * @work: the next one, on no list
 *
 * Current runs the work at once, whatever else is queued: queued work may wait for this one.  If
 * the key of hashed work is in use, the work is queued instead.
 *
 * Return: the work, assigned to @worker; NULL if it was queued, and @worker has no work
 */
struct io_wq_work *io_wq_go_on(struct io_wq_worker *worker, struct io_wq_work *work)
{
	struct io_wq_lane *lane = worker->lane;
	bool hashed = work->flags & IO_WQ_WORK_HASHED;

	work->generation = worker->generation;
	scoped_guard(spinlock, &lane->lock) {
		if (hashed && !io_wq_switch_key(worker, work))
			break;
		WRITE_ONCE(lane->nr_done, lane->nr_done + 1);
		if (!hashed)
			io_wq_unassign(worker);
		io_wq_assign(worker, work);
		return work;
	}
	/* in this order, so that an exiting owner always sees one of the two */
	io_wq_enqueue(lane->wq, work);
	io_wq_let_go(worker);
	return NULL;
}

/**
 * io_wq_give_back - requeue work that the worker should not begin yet
 * @worker: current
 *
 * The work becomes the first of its queue again.
 *
 * Return: false if the worker keeps the work: a running search may have passed that queue's head
 */
bool io_wq_give_back(struct io_wq_worker *worker)
{
	struct io_wq_lane *lane = worker->lane;
	struct io_wq_fifo *fifo = &lane->plain;

	guard(spinlock)(&lane->lock);
	if (!list_empty(&lane->searches))
		return false;
	if (worker->key != IO_WQ_NO_KEY)
		fifo = &lane->key[worker->key].fifo;
	/* a cancel has taken this work for running work: mark the work, which has not begun */
	if (worker->cancelled)
		worker->cur->flags |= IO_WQ_WORK_CANCEL;
	io_wq_fifo_push_front(fifo, worker->cur);
	io_wq_unassign(worker);
	return true;
}

/**
 * io_wq_disown - detach the work that current runs from the pool
 *
 * params->run() calls this.  Its caller holds the lock of the other place where searches find the
 * work from here on.  The worker still calls params->put() when params->run() returns.
 *
 * Return: false if the work was cancelled before; from here on the pool does not cancel it.
 */
bool io_wq_disown(void)
{
	struct io_wq_worker *worker = current->worker_private;

	io_wq_let_go(worker);
	return !worker->cancelled;
}

/* Run work that was removed from the queues as cancelled. */
static void io_wq_run_cancelled(struct io_wq *wq, struct io_wq_fifo *list)
{
	struct io_wq_work *work;

	while ((work = io_wq_fifo_pop(list))) {
		work->flags |= IO_WQ_WORK_CANCEL;
		wq->run(work);
		wq->put(work);
		cond_resched();
	}
}

/**
 * io_wq_enqueue - let a worker run work
 * @wq: pool
 * @work: on no list
 *
 * If a worker has to be created, the owner of the pool creates it within this call.  Other callers
 * queue task work for the owner.  A kernel worker cancels the work if the pool ends, or if the lane
 * gets no worker at all.  This function never runs the work, because its caller may hold the ring
 * lock.
 *
 * Context: Task context.  May sleep.
 */
void io_wq_enqueue(struct io_wq *wq, struct io_wq_work *work)
{
	struct io_wq_lane *lane = io_wq_lane_of(wq, work);
	unsigned int flags = work->flags;
	bool concurrent = flags & IO_WQ_WORK_CONCURRENT;

	if (current == wq->task)
		io_wq_follow_owner(wq);
	work->generation = READ_ONCE(wq->generation);
	if (concurrent && !READ_ONCE(lane->concurrent))
		WRITE_ONCE(lane->concurrent, true);
	/* the work may run and be freed from here on */
	if (io_wq_push(lane, work, flags & IO_WQ_WORK_HASHED))
		io_wq_kick(lane, concurrent);
	else
		io_wq_queue_reap(lane);
}

/* items of work that a search checks before it drops the lock */
#define IO_WQ_SEARCH_STEP	256

/* Drop the lock for a moment.  lane->searches keeps the position of the search valid. */
static void io_wq_search_pause(struct io_wq_lane *lane)
{
	spin_unlock(&lane->lock);
	cond_resched();
	spin_lock(&lane->lock);
}

/*
 * Remove matching work from a lane's queues, the first or all of it, and append it to @out.
 * While the lock is dropped, work moves only to queues that are scanned later, or to a worker;
 * workers requeue none during a search.
 *
 * Return: the number of items that were removed.
 */
static unsigned int io_wq_extract(struct io_wq_lane *lane, struct io_wq_fifo *out,
				  io_wq_match_fn match, void *data, bool all)
{
	unsigned int n, found = 0, looks = 0;
	struct io_wq_search search;
	struct io_wq_fifo *fifo;

	lockdep_assert_held(&lane->lock);
	/* fast exit: each cancel of a program searches the pool, which is usually empty */
	if (!lane->plain.first && !lane->keys && !lane->others.first)
		return 0;
	list_add(&search.link, &lane->searches);
	for (n = 0; (all || !found) && (fifo = io_wq_nth_fifo(lane, n)); n++) {
		search.before = NULL;
		search.at = fifo->first;
		while (search.at && (all || !found)) {
			struct io_wq_work *work = search.at;

			if (match(work, data)) {
				io_wq_remove(lane, fifo, search.before, work);
				io_wq_fifo_push(out, work);
				io_wq_fifo_update(lane, n);
				found++;
			} else {
				search.before = work;
				search.at = work->next;
			}
			if (++looks % IO_WQ_SEARCH_STEP == 0)
				io_wq_search_pause(lane);
		}
	}
	list_del(&search.link);
	return found;
}

/*
 * Mark running work that matches as cancelled, and signal its worker.  @match must not write to the
 * work, which may have another owner by now.  Return: the number of matches.
 */
static unsigned int io_wq_cancel_running(struct io_wq_lane *lane, io_wq_match_fn match,
					 void *data, bool all)
{
	struct io_wq_worker *worker;
	unsigned int found = 0;

	lockdep_assert_held(&lane->lock);
	list_for_each_entry(worker, &lane->workers, link) {
		if (!worker->cur || !match(worker->cur, data))
			continue;
		/* set the flag first: the signal makes the worker check it */
		WRITE_ONCE(worker->cancelled, true);
		set_notify_signal(worker->task);
		found++;
		if (!all)
			break;
	}
	return found;
}

/**
 * io_wq_cancel - cancel work, queued or running
 * @wq: pool
 * @match: returns true for work to cancel; called with a spinlock held; may take irq-safe spinlocks
 * @data: for @match
 * @all: cancel all work that matches, not only the first
 *
 * Queued work is run as cancelled before this returns, in the caller's context, which may
 * hold the ring lock.  Running work is marked, and its worker leaves interruptible waits.
 *
 * Context: Task context.  May sleep.
 * Return: how much queued and how much running work was cancelled.
 */
struct io_wq_found io_wq_cancel(struct io_wq *wq, io_wq_match_fn match, void *data, bool all)
{
	struct io_wq_found found = {};
	struct io_wq_fifo list = {};
	unsigned int i;

	for (i = 0; i < IO_WQ_NR_LANES; i++) {
		struct io_wq_lane *lane = &wq->lane[i];

		guard(spinlock)(&lane->lock);
		found.queued += io_wq_extract(lane, &list, match, data, all);
		if (found.queued && !all)
			break;
		found.running += io_wq_cancel_running(lane, match, data, all);
		if (found.running && !all)
			break;
	}
	io_wq_run_cancelled(wq, &list);
	return found;
}

static bool io_wq_match_any(struct io_wq_work *work, void *data)
{
	return true;
}

/* Cancel all work that is queued in a lane. */
static void io_wq_cancel_queued(struct io_wq_lane *lane)
{
	struct io_wq_fifo list = {};

	scoped_guard(spinlock, &lane->lock)
		io_wq_extract(lane, &list, io_wq_match_any, NULL, true);
	io_wq_run_cancelled(lane->wq, &list);
}

/* Cancel queued work on behalf of callers that hold the ring lock, or of the scheduler's hook. */
static void io_wq_reap(struct work_struct *work)
{
	struct io_wq_lane *lane = container_of(work, struct io_wq_lane, reap);

	io_wq_cancel_queued(lane);
	io_wq_unref(lane->wq);
}

/**
 * io_wq_queue_reap - let a kernel worker cancel all work that is queued in a lane
 * @lane: of a pool that the caller has a reference to
 *
 * The queued reap holds a reference: a late one may run after the pool's end, and then
 * finds the queues empty.
 */
void io_wq_queue_reap(struct io_wq_lane *lane)
{
	refcount_inc(&lane->wq->refs);
	if (!queue_work(system_dfl_wq, &lane->reap))
		io_wq_unref(lane->wq);
}

/* Clamp a limit on workers to the range from 1 to @nproc, the user's limit on threads. */
static unsigned int io_wq_limit(unsigned int want, unsigned long nproc)
{
	return clamp_t(unsigned long, want, 1, clamp_t(unsigned long, nproc, 1, INT_MAX));
}

/**
 * io_wq_set_max_workers - set the limits of the lanes
 * @wq: pool
 * @counts: new limits for bounded and unbounded work, 0 to keep the old one; returns the old limits
 *
 * New limits apply when the next worker would be created; surplus workers leave once
 * they are idle for long enough.
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
 * @mask: NULL for all CPUs that the owner's cpuset allows
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

/* Let workers apply wq->cpus again: the scheduler may have moved them off an offline CPU. */
static int io_wq_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	struct io_wq *wq = hlist_entry(node, struct io_wq, cpuhp_node);

	atomic_inc(&wq->cpus.seq);
	return 0;
}

static void io_wq_lane_init(struct io_wq *wq, struct io_wq_lane *lane, unsigned int max)
{
	lane->wq = wq;
	spin_lock_init(&lane->lock);
	INIT_LIST_HEAD(&lane->workers);
	INIT_LIST_HEAD(&lane->searches);
	INIT_WORK(&lane->reap, io_wq_reap);
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
 * io_wq_tryget - take a reference to a pool that its owner may end
 * @wq: pool that the caller has found in its RCU read-side section
 *
 * The reference keeps the memory of the pool and of its task.  A pool that has ended has no work.
 *
 * Return: false if the last reference is gone
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

/* Return: true if a worker of the lane runs bounded work. */
static bool io_wq_runs_bounded(struct io_wq_lane *lane)
{
	struct io_wq_worker *worker;

	lockdep_assert_held(&lane->lock);
	list_for_each_entry(worker, &lane->workers, link) {
		if (worker->cur && !(worker->cur->flags & IO_WQ_WORK_UNBOUND))
			return true;
	}
	return false;
}

/**
 * io_wq_bounded_busy - check for queued or running bounded work
 * @wq: pool
 * @done: set to a count that grows whenever a worker lets bounded work go
 *
 * Return: true if there is such work.  Once no task queues work any more, false is final.
 */
bool io_wq_bounded_busy(struct io_wq *wq, unsigned int *done)
{
	struct io_wq_lane *lane = &wq->lane[IO_WQ_UNBOUNDED];
	bool busy;

	/* a worker there may go on with a chain, or queue its next request in the other lane */
	scoped_guard(spinlock, &lane->lock)
		busy = io_wq_runs_bounded(lane);
	lane = &wq->lane[IO_WQ_BOUNDED];
	guard(spinlock)(&lane->lock);
	*done = lane->nr_done;
	return busy || lane->plain.first || lane->keys || io_wq_runs_bounded(lane);
}

/* Return: true if no worker is going to take the work that the owner queues now. */
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
 * io_wq_run_bounded - run a bounded work that no worker is going to take
 * @wq: pool, of current, after io_wq_wait_done()
 *
 * An exiting task can create no workers.  If the pool has only workers of an older generation, or
 * none, its owner runs the work itself.  The work leaves interruptible waits at once, as after
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

	scoped_guard(spinlock, &lane->lock) {
		if (!io_wq_lane_runnable(lane) || !io_wq_has_only_old_workers(lane))
			return false;
		/* searches find the work here */
		list_add_tail(&self.link, &lane->workers);
	}
	work = io_wq_take(&self, false);
	if (work) {
		current->worker_private = &self;
		set_notify_signal(current);
		next = wq->run(work);
		if (next)
			io_wq_enqueue(wq, next);
		io_wq_let_go(&self);
		wq->put(work);
		current->worker_private = NULL;
		clear_notify_signal();
	}
	scoped_guard(spinlock, &lane->lock)
		list_del(&self.link);
	return work;
}

/**
 * io_wq_wait_done - have the owner woken whenever a worker lets its work go
 * @wq: pool, of current, which io_wq_exit_start() ends soon
 *
 * From here on the workers keep running when the process is stopped.  Call this before setting
 * current's state and before io_wq_bounded_busy().  That function takes the bounded lane's lock,
 * which a worker drops when it lets its work go, before it wakes the owner.
 */
void io_wq_wait_done(struct io_wq *wq)
{
	WRITE_ONCE(wq->owner_waits, true);
}

/**
 * io_wq_bounded_nudge - make bounded work leave interruptible waits, from now on
 * @wq: pool, after io_wq_wait_done()
 *
 * The work is not cancelled, and work that waits for a disk is not disturbed.
 */
void io_wq_bounded_nudge(struct io_wq *wq)
{
	struct io_wq_lane *lane = &wq->lane[IO_WQ_BOUNDED];
	struct io_wq_worker *worker;

	WRITE_ONCE(lane->nudged, true);
	guard(spinlock)(&lane->lock);
	list_for_each_entry(worker, &lane->workers, link)
		set_notify_signal(worker->task);
}

/**
 * io_wq_exit_start - begin to end a pool
 * @wq: pool
 *
 * From here on no worker is created, and no work begins.  Queued work soon ends as cancelled, and
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

/* Cancel running work, once.  From here on, ->drained completes when the last thread exits. */
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
		io_wq_cancel_running(lane, io_wq_match_any, NULL, true);
		/* a worker without work may still be in the final fput() of its last file */
		list_for_each_entry(worker, &lane->workers, link)
			set_notify_signal(worker->task);
	}
	io_wq_live_put(wq);
}

/**
 * io_wq_exit_wait - wait for a while until the workers of a pool are gone
 * @wq: pool, after io_wq_exit_start(); the caller ends it
 * @timeout: jiffies
 *
 * The first call cancels running work.  Callers use this function if they have other work to do
 * between two calls.
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
 * because a device may hold pages of running work.  It is never reported as a hung task.
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
		/* a running reap holds requests, whose ring the caller may free next */
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

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "async/tests/wq_queue_kunit.c"
#endif
