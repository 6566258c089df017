// SPDX-License-Identifier: GPL-2.0
/* io_uring: the worker pool: queues, and cancelling queued or running work */

/*
 * Data: a lane (struct io_wq_lane) is the bounded or unbounded work of a pool, and its workers.  It
 * queues plain work in one FIFO, and hashed work in a FIFO for each key (an inode or an open file).
 * Work of one key runs one at a time and in order, so the lock of an inode blocks only one worker.
 * A lane uses at most IO_WQ_KEYS keys at a time.  Hashed work of other keys waits in ->others, in
 * order, until a key is free.
 *
 * Locks and ordering: see wq.c.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "async/wq_internal.h"

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

/* Let searches that point to @work, which was removed, point to @next, or back to @before. */
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

/* Remove @work from a queue of the lane, in which @before precedes @work, or is NULL. */
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

/* Return: the index of a key that is in use; IO_WQ_KEYS if @key is not in use. */
static unsigned int io_wq_key_find(struct io_wq_lane *lane, const void *key)
{
	unsigned int n;

	for_each_set_bit(n, &lane->keys, IO_WQ_KEYS) {
		if (lane->key[n].key == key)
			break;
	}
	return n;
}

/* Queue hashed work in the FIFO of its key.  Return: false if other keys use all FIFOs. */
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

/* Queue work.  Return: false if the pool is exiting, and may have no worker left for the work. */
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
 * Before a caller relies on the value for pair A, it must change the counts of workers, which
 * submitters check, and execute a full barrier.
 *
 * Return: true if there is such work.  If the value is outdated, a submitter or worker calls
 * io_wq_kick().
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
		/* a worker that sleeps, for example in open() of a FIFO, may depend on this work */
		if (worker->generation == generation && !READ_ONCE(worker->asleep))
			return true;
	}
	return false;
}

/*
 * Return: true if the worker may take work of another generation: the work is older, and no worker
 * of its generation is going to take it.
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

/* Return: the index of the next key with work that @worker may take, or IO_WQ_KEYS. */
static unsigned int io_wq_next_key(struct io_wq_lane *lane, const struct io_wq_worker *worker)
{
	unsigned int n;

	for_each_set_bit_wrap(n, &lane->ready, IO_WQ_KEYS, lane->next_key) {
		if (io_wq_may_take(worker, lane->key[n].fifo.first))
			return n;
	}
	return IO_WQ_KEYS;
}

/* Take the oldest work of a key that no worker holds, and let @worker hold the key. */
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

/* Return: the nth queue to scan; NULL after the last.  Work only moves from ->others to a key. */
static struct io_wq_fifo *io_wq_nth_fifo(struct io_wq_lane *lane, unsigned int n)
{
	if (!n)
		return &lane->others;
	if (n <= IO_WQ_KEYS)
		return &lane->key[n - 1].fifo;
	return n == IO_WQ_KEYS + 1 ? &lane->plain : NULL;
}

/* Update the key of the nth queue, if it has one, after work was removed from the queue. */
static void io_wq_fifo_update(struct io_wq_lane *lane, unsigned int n)
{
	if (!n || n > IO_WQ_KEYS)
		return;
	io_wq_key_update(lane, n - 1);
	io_wq_keys_refill(lane);
}

/* Take any work of an exiting pool: cancelled work need not be serialised. */
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
 * Return: true if there is such work; the value may be outdated.  Work that @worker must not take
 * is left to other workers, which call io_wq_kick() when they go to sleep or exit.
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

/* Let @worker run @work, which it has taken in the same section; cancel @work if the pool exits. */
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

/* Wake the pool's task if it waits for work to finish.  Call this without a lock held. */
static void io_wq_tell_owner(struct io_wq *wq)
{
	if (unlikely(READ_ONCE(wq->owner_waits)))
		wake_up_process(wq->task);
}

/**
 * io_wq_let_go - detach the work of a worker that has finished it or handed it over
 * @worker: current
 *
 * No search finds the work through the pool any more.  The key of the work is released: the next
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
 * @done: the worker has finished its work: detach this work first, as io_wq_let_go() does
 *
 * A cancel sends its signal under the lane's lock, so a signal for finished work is pending
 * before this returns.  The worker clears the signal before it begins the next work.
 *
 * Once the pool exits, all work can be taken and is marked as cancelled.
 *
 * Return: the work, assigned to @worker; NULL if there is none, or if @done is set and
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

/* Queue work whose generation is set, and make sure that a worker takes it. */
static void io_wq_queue(struct io_wq *wq, struct io_wq_work *work)
{
	struct io_wq_lane *lane = io_wq_lane_of(wq, work);
	unsigned int flags = work->flags;
	bool concurrent = flags & IO_WQ_WORK_CONCURRENT;

	if (concurrent && !READ_ONCE(lane->concurrent))
		WRITE_ONCE(lane->concurrent, true);
	/* after io_wq_push() the work may run and be freed: do not access it */
	if (io_wq_push(lane, work, flags & IO_WQ_WORK_HASHED))
		io_wq_kick(lane, concurrent);
	else
		io_wq_queue_reap(lane);
}

/**
 * io_wq_enqueue - let a worker run work
 * @wq: pool
 * @work: on no list
 *
 * If a worker has to be created, the pool's task creates it within this call.  Other callers
 * queue task work for that task.  A kernel worker cancels the work if the pool exits, or if no
 * worker can be created for the lane and it has none.  This function never runs the work, because
 * its caller may hold the ring lock.
 *
 * Context: Task context.  May sleep.
 */
void io_wq_enqueue(struct io_wq *wq, struct io_wq_work *work)
{
	if (current == wq->task)
		io_wq_follow_owner(wq);
	work->generation = READ_ONCE(wq->generation);
	io_wq_queue(wq, work);
}

/*
 * Let @worker hold the key of hashed work that it runs next.  Return: false if the work belongs to
 * the other lane, its key is in use but not held by @worker, or other keys use all FIFOs.
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

/* Return: true if the worker has to queue the next work of a chain, see io_wq_go_on(). */
static bool io_wq_must_queue(struct io_wq_worker *worker, const struct io_wq_work *work)
{
	if (work->flags & IO_WQ_WORK_HASHED)
		return !io_wq_switch_key(worker, work);
	/* in io_wq_run_bounded(), the pool's task runs bounded work only */
	return work->flags & IO_WQ_WORK_UNBOUND && worker->task == worker->lane->wq->task;
}

/*
 * A chain of writes may be long.  So let it take turns with queued work of the same key.
 * Return: @work; or older work that @worker runs first, if @work was queued behind it.
 */
static struct io_wq_work *io_wq_in_turn(struct io_wq_worker *worker, struct io_wq_work *work)
{
	struct io_wq_lane *lane = worker->lane;
	struct io_wq_fifo *fifo = &lane->key[worker->key].fifo;

	if (!fifo->first || !io_wq_may_take(worker, fifo->first))
		return work;
	/* a search in progress may have passed this queue, and would miss @work in it */
	if (!list_empty(&lane->searches))
		return work;
	/* behind work of a newer generation, @work would run on a worker with other descriptors */
	if (fifo->last->generation != work->generation)
		return work;
	io_wq_fifo_push(fifo, work);
	return io_wq_pop(lane, fifo);
}

/**
 * io_wq_go_on - let current run the work that follows the finished work in a chain
 * @work: the following work, on no list
 * @timed: the time limit of @work is running
 *
 * params->run() calls this, and returns the result.  Current runs @work next, even if other work is
 * queued, because queued work may wait for @work.  But hashed work waits for queued work of its
 * key, unless @timed is set.  If current cannot hold its key, @work is queued.
 *
 * Context: Task context of a worker.  May be called with the ring lock held.
 * Return: work that is assigned to current; NULL if @work was queued
 */
struct io_wq_work *io_wq_go_on(struct io_wq_work *work, bool timed)
{
	struct io_wq_worker *worker = current->worker_private;
	struct io_wq_lane *lane = worker->lane;
	unsigned int key = worker->key;
	bool queue;

	work->generation = worker->generation;
	scoped_guard(spinlock, &lane->lock) {
		queue = io_wq_must_queue(worker, work);
		if (!queue) {
			WRITE_ONCE(lane->nr_linked, lane->nr_linked + 1);
			if (!(work->flags & IO_WQ_WORK_HASHED))
				io_wq_unassign(worker);
			else if (!timed)
				work = io_wq_in_turn(worker, work);
			io_wq_assign(worker, work);
		}
	}
	if (queue) {
		/* queue before current's work is detached: io_wq_bounded_busy() stays true */
		io_wq_queue(lane->wq, work);
		return NULL;
	}
	/* no worker was woken for work that waited for the key that current has released */
	if (key != worker->key && io_wq_lane_runnable(lane))
		io_wq_kick(lane, READ_ONCE(lane->concurrent));
	return work;
}

/**
 * io_wq_give_back - requeue work that the worker should not begin yet
 * @worker: current
 *
 * The work becomes the first of its queue again.
 *
 * Return: true if the work was requeued; false if the worker keeps it, because a search may have
 * passed the head of the queue, or the queue is in the other lane
 */
bool io_wq_give_back(struct io_wq_worker *worker)
{
	struct io_wq_lane *lane = worker->lane;
	struct io_wq_fifo *fifo = &lane->plain;

	guard(spinlock)(&lane->lock);
	if (!list_empty(&lane->searches) || io_wq_lane_of(lane->wq, worker->cur) != lane)
		return false;
	if (worker->key != IO_WQ_NO_KEY)
		fifo = &lane->key[worker->key].fifo;
	/* a cancel has found this work assigned: cancel the work itself, which has not begun */
	if (worker->cancelled)
		worker->cur->flags |= IO_WQ_WORK_CANCEL;
	io_wq_fifo_push_front(fifo, worker->cur);
	io_wq_unassign(worker);
	return true;
}

/**
 * io_wq_disown - detach current's work from the pool, before params->run() returns
 *
 * params->run() calls this under the lock of another table, in which searches find the work from
 * here on.  The worker still calls params->put() when params->run() returns.
 *
 * Return: false if the work was cancelled before.  After this the pool does not cancel the work.
 */
bool io_wq_disown(void)
{
	struct io_wq_worker *worker = current->worker_private;

	io_wq_let_go(worker);
	return !worker->cancelled;
}

/* Run work that was removed from the queues, with IO_WQ_WORK_CANCEL set. */
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

/* number of work items that a search checks before it drops the lock */
#define IO_WQ_SEARCH_STEP	256

/* Drop the lock briefly.  If work is removed then, io_wq_move_searches() updates the search. */
static void io_wq_search_pause(struct io_wq_lane *lane)
{
	spin_unlock(&lane->lock);
	cond_resched();
	spin_lock(&lane->lock);
}

/*
 * Move matching work, the first item or all of it, from a lane's queues to @out.
 * While the lock is dropped, work moves only to queues that are scanned later, or to a worker;
 * workers do not requeue work during a search.
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
	/* fast exit: each cancel request searches the pool, which is usually empty */
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
 * work, which may belong to another context by now.  Return: the number of matches.
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
		/* set the flag before the signal, which makes the worker check the flag */
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
 * Queued work that matches is ended by params->run() before this returns, in the caller's context,
 * perhaps with the ring lock held.  Running work is marked; its worker leaves interruptible waits.
 *
 * Context: Task context.  May sleep.
 * Return: the numbers of queued and running work items that were cancelled.
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

/**
 * io_wq_cancel_all_running - cancel all running work of a lane
 * @lane: lane
 *
 * Context: The caller holds the lane's lock.
 */
void io_wq_cancel_all_running(struct io_wq_lane *lane)
{
	io_wq_cancel_running(lane, io_wq_match_any, NULL, true);
}

/**
 * io_wq_cancel_queued - cancel all work that is queued in a lane
 * @lane: lane
 *
 * Context: Task context.  May sleep.
 */
void io_wq_cancel_queued(struct io_wq_lane *lane)
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
 * The kernel worker holds a reference, because it may run after io_wq_put_and_exit(), when the
 * queues are empty.
 */
void io_wq_queue_reap(struct io_wq_lane *lane)
{
	refcount_inc(&lane->wq->refs);
	if (!queue_work(system_dfl_wq, &lane->reap))
		io_wq_unref(lane->wq);
}

/**
 * io_wq_lane_init_queues - initialize the queues of a lane
 * @lane: zeroed
 */
void io_wq_lane_init_queues(struct io_wq_lane *lane)
{
	spin_lock_init(&lane->lock);
	INIT_LIST_HEAD(&lane->workers);
	INIT_LIST_HEAD(&lane->searches);
	INIT_WORK(&lane->reap, io_wq_reap);
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "async/tests/wq_queue_kunit.c"
#endif
