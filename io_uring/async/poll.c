// SPDX-License-Identifier: GPL-2.0
/* io_uring: requests that wait until a file is ready */

/*
 * A request waits until its file's waitqueue wakes it.  Its struct io_poll is called its poll here.
 * Wakers run in any context, without the ring lock.  A wake claims the poll and pushes task work.
 * No wake may get lost, and no request may be pushed twice.
 *
 * Data: a poll has an entry on each waitqueue of its file (most files have one) and two words.
 * @owner is nonzero while a context has claimed the poll to continue its request.  @wants has
 * the events that the request waits for, and two bits for the owner.  AGAIN means that another
 * event has arrived.  CANCEL means that the request has to end.
 *
 * Rules: wakers hold the waitqueue's lock.  If @owner is 0, a waker claims the poll and pushes the
 * request's task work.  If @owner is nonzero, the waker sets AGAIN.  All other code that claims
 * or releases a poll (task work, cancel, update, the recheck) holds the ring lock.
 *
 * While a poll is on one waitqueue, @owner leaves 0 only under that waitqueue's lock, so a
 * waker claims the poll by a plain store.  With two waitqueues a claim needs a
 * compare-and-exchange.
 *
 * Ordering: an event that arrives while the owner releases the poll must not be lost:
 *
 *	owner					waker
 *	AGAIN in @wants?  no
 *						@owner == 0?  no: set AGAIN, return
 *	@owner = 0
 *
 * The request would now wait for an event that has arrived.  So owner and waker check once more:
 *
 *	owner					waker
 *	@owner = 0				set AGAIN in @wants
 *	smp_mb()				smp_mb__after_atomic()
 *	AGAIN in @wants? claim again		@owner == 0? claim
 *
 * At least one of them sees the other's store.  Up to IO_POLL_RELEASED polls that a run of task
 * work releases share one barrier (ctx->polls.released).  So the usual event costs one atomic
 * read-modify-write, in its push.
 *
 * Documentation/io_uring/models/poll_weak.pml models all barriers here and in poll.h.  A name
 * after "model:" is the option of the model that removes the barrier.
 *
 * The waker stores its events in @owner, so that the owner need not call ->poll().  But the owner
 * calls ->poll() if the waker passed no events, or if there were several wakes.  The owner clears
 * AGAIN before the call, so that AGAIN shows later events.  If the waker of a single-shot poll
 * passed events, the owner never calls ->poll(), because the entry may have left the waitqueue.
 *
 * A waitqueue may be freed before its file is (POLLFREE).  Before the waitqueue is freed, all its
 * entries are woken.  The wake function of each entry cancels the poll, removes the entry, and
 * clears the pointer to the waitqueue last.  The waitqueue is freed after a grace period, so an RCU
 * read-side section is enough to take its lock.
 *
 * An event wakes one exclusive waiter.  If this waiter ends without consuming the event, and the
 * file is a ready socket, the waiter wakes another waiter (io_poll_pass_on()).  Several events may
 * have been passed on to the other waiter, so at its end it also wakes a waiter.  Each waiter that
 * ends wakes a bounded number of waiters, and skips waiters that wait for other events.
 */
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <trace/events/io_uring.h>

#include "async/napi.h"
#include "async/poll.h"
#include "async/wq.h"
#include "req/wait_table.h"
#include "req/spare.h"
#include "ring/notify.h"
#include "rsrc/groups.h"

static_assert(sizeof(struct io_poll) <= IO_OP_DATA_SIZE);

/*
 * Limit of successive attempts that would block although the file is ready.  The limit is exceeded
 * by 9 attempts, or by over a hundred that each transfer a part (io_poll_progress()).  Then a
 * worker blocks.
 */
#define IO_POLL_TRIES	(8 * IO_POLL_IN_VAIN)

/* bit in the key of a wake: an exclusive waiter has ended, and passes events on */
#define IO_POLL_PASSED	((__force __poll_t)BIT(26))

/* limit of tasks and epoll instances that the end of a waiter wakes, for each kind of event */
#define IO_POLL_STRANGERS	16

/*
 * Bits of an entry's ->flags that waitqueues do not use, under the waitqueue's lock.  CHOSEN: an
 * event has woken this exclusive waiter.  PASSED: the end of another waiter has woken this waiter.
 */
#define IO_WAIT_CHOSEN		BIT(15)
#define IO_WAIT_PASSED		BIT(16)

/* events that a reader waits for, and events that a writer waits for */
#define IO_POLL_INS		(EPOLLIN | EPOLLRDNORM | EPOLLRDBAND)
#define IO_POLL_OUTS		(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND)

static u32 io_poll_mask_bits(__poll_t mask)
{
	return (__force u32)mask << IO_POLL_MASK_SHIFT;
}

/* Return: IO_PUSH_NOW if an exclusive waiter must handle the event without delay, else 0. */
static unsigned int io_poll_urgency(__poll_t events)
{
	/* the event woke this waiter instead of others */
	return unlikely(events & EPOLLEXCLUSIVE) ? IO_PUSH_NOW : 0;
}

/* Return: true if the poll is exclusive and single-shot, and must leave later events to others. */
static bool io_poll_takes_one(__poll_t events)
{
	const __poll_t one = EPOLLEXCLUSIVE | EPOLLONESHOT;

	return (events & one) == one;
}

static bool io_poll_try_claim(struct io_poll *poll, u32 bits)
{
	int unowned = 0;

	/* a failed exchange would take the cache line from the owner's CPU */
	return !atomic_read(&poll->owner) &&
	       atomic_try_cmpxchg(&poll->owner, &unowned, bits | IO_POLL_OWNED);
}

/* Return: true if AGAIN is still set, so that the owner also handles the caller's event. */
static bool io_poll_is_notified(const struct io_poll *poll)
{
	/* order the event before the check; pairs with io_poll_check(); model: NO_NOTIFIED */
	smp_mb();
	return atomic_read(&poll->wants) & IO_POLL_AGAIN;
}

/*
 * Claim a poll that another context may claim or release at the same time.  If the poll has an
 * owner, set AGAIN.  If AGAIN is set already, do not write: that would take the cache line.
 *
 * Return: IO_POLL_OWNED if the caller has claimed the poll, otherwise the bits of IO_POLL_NEWS
 * that were set before this call.
 */
static noinline u32 io_poll_claim_slow(struct io_poll *poll, u32 bits)
{
	u32 unseen;

	if (io_poll_try_claim(poll, bits))
		return IO_POLL_OWNED;
	unseen = atomic_read(&poll->wants) & IO_POLL_NEWS;
	if (unseen & IO_POLL_AGAIN && io_poll_is_notified(poll))
		return unseen;
	/* order the event before AGAIN, which makes the owner call ->poll(); model: NO_BEFORE */
	smp_mb__before_atomic();
	atomic_or(IO_POLL_AGAIN, &poll->wants);
	/* pairs with the barrier in io_poll_recheck_slow(); model: NO_AFTER */
	smp_mb__after_atomic();
	return io_poll_try_claim(poll, bits) ? IO_POLL_OWNED : unseen;
}

/* Claim the poll for an event, or set AGAIN for its owner.  Call with the waitqueue's lock held. */
static u32 io_poll_claim(struct io_poll *poll, u32 bits)
{
	/* if @owner is 0, ->second was stored before; see io_poll_unclaim(); model: NO_ACQUIRE */
	if (unlikely(atomic_read_acquire(&poll->owner) || data_race(poll->second)))
		return io_poll_claim_slow(poll, bits);
	/* @owner leaves 0 only under the lock that the caller holds */
	atomic_set(&poll->owner, bits | IO_POLL_OWNED);
	return IO_POLL_OWNED;
}

/* Remove a woken entry, under the waitqueue's lock.  Afterwards the owner may free the poll. */
static void io_poll_wake_dequeue(struct io_poll *poll, struct wait_queue_entry *wait)
{
	struct wait_queue_head **head = &poll->head;

	if (unlikely(wait != &poll->wait))
		head = &container_of(wait, struct io_poll_second, wait)->head;
	list_del_init(&wait->entry);
	/* pairs with io_poll_dequeue_entry() and io_poll_own(); model: NO_FORGET */
	smp_store_release(head, NULL);
}

/* Handle POLLFREE: cancel the poll, because this waitqueue is about to be freed. */
static noinline void io_poll_wake_free(struct io_poll *poll, struct wait_queue_entry *wait)
{
	struct io_kiocb *req = wait->private;
	bool claimed;

	/* set CANCEL before the claim, so that the task work of this claim also reads CANCEL */
	atomic_or(IO_POLL_CANCEL, &poll->wants);
	/* pairs with the barrier in io_poll_recheck_slow(); model: NO_FREE */
	smp_mb__after_atomic();
	claimed = io_poll_try_claim(poll, 0);
	io_poll_wake_dequeue(poll, wait);
	if (claimed)
		io_req_push(req, req->tw.run, IO_PUSH_NOW);
}

/*
 * Handle a wake that a CQE of some ring has caused.  A POLL_ADD whose own CQEs wake it, perhaps
 * through another ring, would repeat for ever.  So make the POLL_ADD single-shot.  Other requests
 * consume the events, so they do not repeat without new events.  The waker holds the lock of a
 * ring's waitqueue, so the push must not notify listeners now (IO_PUSH_LATE).
 */
static unsigned int io_poll_wake_recursive(struct io_kiocb *req, struct io_poll *poll)
{
	if (!(READ_ONCE(req->flags) & REQ_F_POLLED))
		atomic_or((__force int)EPOLLONESHOT, &poll->wants);
	return io_eventfd_is(req->ctx, req->file) ? IO_PUSH_LATE | IO_PUSH_NOTIFIED : IO_PUSH_LATE;
}

/* Handle a wake of any kind.  Return: 0 to let the waker try the next exclusive waiter, else 1. */
static noinline int io_poll_wake_any(struct io_poll *poll, struct wait_queue_entry *wait,
				     __poll_t mask)
{
	struct io_kiocb *req = wait->private;
	__poll_t events = io_poll_events(poll);
	unsigned int push_flags = io_poll_urgency(events);
	bool passed = mask & IO_POLL_PASSED;
	u32 claim;

	mask &= ~IO_POLL_PASSED;

	if (mask & POLLFREE) {
		io_poll_wake_free(poll, wait);
		return 1;
	}
	if (mask && !(mask & events))
		return 0;
	if (mask & EPOLL_URING_WAKE)
		push_flags |= io_poll_wake_recursive(req, poll);
	/* sockets report EPOLLPRI with any data: let the owner call ->poll() */
	if (!(mask & events & ~EPOLLPRI))
		mask = 0;
	if (events & EPOLLEXCLUSIVE)
		wait->flags |= passed ? IO_WAIT_PASSED : IO_WAIT_CHOSEN;
	claim = io_poll_claim(poll, io_poll_mask_bits(mask));
	/*
	 * An exclusive single-shot poll that has an event must not take another event.  With two
	 * waitqueues, AGAIN may be set too late, so assume that a poll with an owner has an event.
	 * Always take an event that was passed on: this poll passes it on when it ends.
	 */
	if (claim != IO_POLL_OWNED)
		return passed || !(io_poll_takes_one(events) &&
				   /* only compared with NULL */
				   (claim & IO_POLL_AGAIN || data_race(poll->second)));
	/* an entry stays on a waitqueue: let AGAIN show later wakers that the poll has an event */
	if (unlikely((!mask || data_race(poll->second)) && io_poll_takes_one(events)))
		atomic_or(IO_POLL_AGAIN, &poll->wants);
	/* save the owner from taking the waitqueue's lock */
	if (mask && events & EPOLLONESHOT)
		io_poll_wake_dequeue(poll, wait);
	trace_io_uring_task_add(req, (__force int)mask);
	io_req_push(req, req->tw.run, push_flags);
	return 1;
}

/*
 * Handle a wake from the first waitqueue.  The most frequent wake does not need
 * io_poll_wake_any(): the waker passes events, and the poll has no owner.
 *
 * Do not read req->poll here: the result of a multishot request overlays it during ->issue().
 */
static int io_poll_wake(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	struct io_poll *poll = container_of(wait, struct io_poll, wait);
	struct io_kiocb *req = wait->private;
	__poll_t mask = key_to_poll(key);
	u32 wants = atomic_read(&poll->wants);

	if (unlikely(mask & (POLLFREE | EPOLL_URING_WAKE) ||
		     wants & ((__force u32)(EPOLLEXCLUSIVE | EPOLLPRI) | IO_POLL_AGAIN) ||
		     tracepoint_enabled(io_uring_task_add))) {
		/* fast exit: the owner still has to handle an earlier event, and also this event */
		if (wants & IO_POLL_AGAIN && !(wants & (__force u32)EPOLLEXCLUSIVE) &&
		    !(mask & (POLLFREE | EPOLL_URING_WAKE)) && io_poll_is_notified(poll))
			return 1;
		return io_poll_wake_any(poll, wait, mask);
	}
	if (!((__force u32)mask & wants))
		return mask ? 0 : io_poll_wake_any(poll, wait, mask);
	/* like io_poll_claim(); return 1, which wakers ignore unless the entry is exclusive */
	if (likely(!atomic_read_acquire(&poll->owner) && !data_race(poll->second)))
		atomic_set(&poll->owner, io_poll_mask_bits(mask) | IO_POLL_OWNED);
	else if (io_poll_claim_slow(poll, io_poll_mask_bits(mask)) != IO_POLL_OWNED)
		return 1;
	if (wants & (__force u32)EPOLLONESHOT)
		io_poll_wake_dequeue(poll, wait);
	io_req_push_fast(req, 0);
	return 1;
}

/* Handle a wake from a file's second waitqueue. */
static int io_poll_wake_second(struct wait_queue_entry *wait, unsigned int mode, int sync,
			       void *key)
{
	struct io_poll_second *second = container_of(wait, struct io_poll_second, wait);

	return io_poll_wake_any(second->poll, wait, key_to_poll(key));
}

/* Remove an entry from its waitqueue, unless a waker has removed it. */
static void io_poll_dequeue_entry(struct wait_queue_head **at, struct wait_queue_entry *wait)
{
	struct wait_queue_head *head;

	guard(rcu)();
	/* if NULL, a waker has removed the entry and no longer accesses the poll; model: NO_LOOK */
	head = smp_load_acquire(at);
	if (!head)
		return;
	spin_lock_irq(&head->lock);
	list_del_init(&wait->entry);
	spin_unlock_irq(&head->lock);
	*at = NULL;
}

/* Save in the request's flags whether its end has to pass events on. */
static void io_poll_note_chosen(struct io_kiocb *req, const struct wait_queue_entry *wait)
{
	if (wait->flags & IO_WAIT_CHOSEN)
		req->flags |= REQ_F_POLL_CHOSEN;
	if (wait->flags & IO_WAIT_PASSED)
		req->flags |= REQ_F_POLL_PASSED;
}

/* Remove the poll from its waitqueues: no wake follows, and a result may overlay req->poll. */
static void io_poll_dequeue(struct io_kiocb *req)
{
	struct io_poll *poll = req->poll;

	io_poll_dequeue_entry(&poll->head, &poll->wait);
	if (unlikely(poll->wait.flags & (IO_WAIT_CHOSEN | IO_WAIT_PASSED)))
		io_poll_note_chosen(req, &poll->wait);
	if (unlikely(poll->second)) {
		io_poll_dequeue_entry(&poll->second->head, &poll->second->wait);
		io_poll_note_chosen(req, &poll->second->wait);
		kfree(poll->second);
		poll->second = NULL;
	}
	req->cqe.flags = 0;
}

/**
 * struct io_poll_table - argument of a ->poll() that adds a request to waitqueues
 * @pt: the argument of ->poll()
 * @req: the request
 * @first: the waitqueue of the poll's first entry, NULL until this entry is added
 * @error: -EINVAL or -ENOMEM if the request could not be added to all waitqueues, else 0
 */
struct io_poll_table {
	struct poll_table_struct	pt;
	struct io_kiocb			*req;
	struct wait_queue_head		*first;
	int				error;
};

static void io_poll_queue_entry(struct wait_queue_head *head, struct wait_queue_entry *wait,
				wait_queue_func_t wake, struct io_kiocb *req)
{
	init_waitqueue_func_entry(wait, wake);
	wait->private = req;
	if (io_poll_events(req->poll) & EPOLLEXCLUSIVE) {
		/* ignore earlier events of this waiter: ->poll() checks the file after this */
		req->flags &= ~(REQ_F_POLL_CHOSEN | REQ_F_POLL_PASSED);
		add_wait_queue_exclusive(head, wait);
	} else {
		add_wait_queue(head, wait);
	}
}

/* Add the poll to a second waitqueue.  More than two are not supported. */
static void io_poll_queue_second(struct io_poll_table *table, struct wait_queue_head *head)
{
	struct io_poll *poll = table->req->poll;
	struct io_poll_second *second = poll->second;

	if (second) {
		if (second->head != head)
			table->error = -EINVAL;
		return;
	}
	second = kmalloc(sizeof(*second), GFP_KERNEL_ACCOUNT);
	if (!second) {
		table->error = -ENOMEM;
		return;
	}
	/* before the poll is released, wakers only compare ->second with NULL */
	WRITE_ONCE(poll->second, second);
	second->poll = poll;
	second->head = head;
	io_poll_queue_entry(head, &second->wait, io_poll_wake_second, table->req);
}

/* Add the poll to a waitqueue of its file; poll_wait() calls this. */
static void io_poll_queue(struct file *file, struct wait_queue_head *head,
			  struct poll_table_struct *pt)
{
	struct io_poll_table *table = container_of(pt, struct io_poll_table, pt);
	struct io_poll *poll = table->req->poll;

	if (table->first == head)
		return;
	if (table->first) {
		io_poll_queue_second(table, head);
		return;
	}
	table->first = head;
	poll->head = head;
	io_poll_queue_entry(head, &poll->wait, io_poll_wake, table->req);
}

/* Call ->poll(), which also adds the request to the waitqueues if @pt has a callback. */
static __poll_t io_poll_check_file(struct file *file, struct poll_table_struct *pt, __poll_t events)
{
	pt->_key = events;
	return vfs_poll(file, pt) & events;
}

/*
 * Let a request wait after it was added to the waitqueues of its file.  If @mask has events, or if
 * there was a wake, push the request.  Return: 0; -ECANCELED if the request has to end instead.
 */
static int io_poll_wait(struct io_kiocb *req, __poll_t mask)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_poll *poll = req->poll;

	io_napi_meet(ctx, req->file);
	if (!io_may_add_waiting(req))
		return -ECANCELED;
	io_req_move(req, IO_REQ_WAITING);
	io_wait_table_add(req);
	if (unlikely(mask || atomic_read(&poll->wants) & IO_POLL_NEWS)) {
		atomic_set(&poll->owner, io_poll_mask_bits(mask) | IO_POLL_OWNED);
		io_req_push(req, req->tw.run, 0);
		return 0;
	}
	io_poll_unclaim(ctx, poll);
	return 0;
}

/*
 * Take the ring lock in a worker, and detach the request from the pool, so that it may wait.
 * Return: true; false, without the lock, if the request has to end instead.
 */
static noinline bool io_poll_leave_worker(struct io_ring_ctx *ctx)
{
	if (io_ring_lock(ctx))
		return false;
	if (io_wq_disown())
		return true;
	io_ring_unlock(ctx);
	return false;
}

/**
 * io_poll_arm - let a request wait for its file
 * @req: the request, not waiting; ring lock held, but not by a worker
 * @poll: with its events set
 * @run: task work for an event or a cancel; it owns the poll, which may still be on waitqueues
 * @issue_flags: IO_URING_F_UNLOCKED for workers
 * @ready: set to the events that ->poll() has reported
 *
 * ->poll() of some files sleeps: FUSE waits for its server, epoll for a mutex.  So a worker takes
 * the ring lock after ->poll(), which may wait for a task that needs the ring.
 *
 * Return: 0 if the request waits; 1 if it does not wait, because @ready has events, and the poll is
 * single-shot or could not be queued; -ECANCELED if the request may not wait.  Without events:
 * -ENOMEM, or -EINVAL if the file has no waitqueue or more than two waitqueues.
 */
int io_poll_arm(struct io_kiocb *req, struct io_poll *poll, io_poll_run run,
		unsigned int issue_flags, __poll_t *ready)
{
	struct io_poll_table table = { .pt._qproc = io_poll_queue, .req = req };
	__poll_t mask, events = io_poll_events(poll);
	struct io_ring_ctx *ctx = req->ctx;
	int ret;

	atomic_set(&poll->owner, IO_POLL_OWNED);
	io_poll_set_events(poll, events);
	poll->head = NULL;
	poll->second = NULL;
	/* io_poll_dequeue() reads them even if ->poll() adds no entry */
	poll->wait.flags = 0;
	req->poll = poll;
	req->tw.run = run;

	mask = io_poll_check_file(req->file, &table.pt, events);
	*ready = mask;
	if (unlikely(table.error || !table.first) || (mask && events & EPOLLONESHOT)) {
		io_poll_dequeue(req);
		return mask ? 1 : table.error ?: -EINVAL;
	}
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED) && !io_poll_leave_worker(ctx)) {
		io_poll_dequeue(req);
		return -ECANCELED;
	}
	ret = io_poll_wait(req, mask);
	if (unlikely(ret))
		io_poll_dequeue(req);
	io_issue_unlock(ctx, issue_flags);
	return ret;
}

/*
 * Wake exclusive waiters until one of them is a request.  Exclusive entries are at the end of the
 * queue.  The event itself has woken all other waiters.  Tasks and epoll instances do not pass
 * events on, so up to IO_POLL_STRANGERS of them are woken as well.
 */
static void io_poll_wake_another(struct file *file, struct wait_queue_head *head,
				 struct poll_table_struct *pt)
{
	void *key = poll_to_key(pt->_key | IO_POLL_PASSED);
	unsigned int left = IO_POLL_STRANGERS;
	struct wait_queue_entry *wait, *next;

	guard(spinlock_irqsave)(&head->lock);
	list_for_each_entry_safe_reverse(wait, next, &head->head, entry) {
		/* read ->func first, because the entry may be freed once it is woken */
		wait_queue_func_t func = wait->func;

		if (!(wait->flags & WQ_FLAG_EXCLUSIVE))
			break;
		if (!func(wait, TASK_NORMAL, 0, key))
			continue;
		if (func == io_poll_wake || func == io_poll_wake_second || !--left)
			break;
	}
}

/**
 * io_poll_pass_on - wake another waiter after an exclusive waiter with an event has ended
 * @file: the file that the ended waiter has waited for; the waiter is on no waitqueue any more
 * @events: the events that the waiter has waited for
 *
 * If @file is still ready, wake an exclusive waiter for each kind of event, because a waiter for
 * one kind may ignore another kind.
 *
 * Only sockets, except AF_VSOCK, pass events on: the fallback worker may call this, and ->poll() of
 * other files may sleep.  FUSE sleeps until its server responds, AF_VSOCK while a receiver handles
 * a page fault.
 */
void io_poll_pass_on(struct file *file, __poll_t events)
{
	static const __poll_t kinds[] = { IO_POLL_INS, EPOLLPRI, IO_POLL_OUTS, IO_POLL_UNASKED };
	struct socket *sock = IS_ENABLED(CONFIG_NET) ? sock_from_file(file) : NULL;
	struct poll_table_struct pt = {};
	unsigned int i;
	__poll_t mask;

	if (!sock || READ_ONCE(sock->ops)->family == AF_VSOCK)
		return;
	mask = io_poll_check_file(file, &pt, events | IO_POLL_UNASKED);
	pt._qproc = io_poll_wake_another;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (mask & kinds[i])
			io_poll_check_file(file, &pt, mask & (kinds[i] | IO_POLL_UNASKED));
	}
}

/* Before an exclusive single-shot poll ends with its event, pass on any later event. */
static void io_poll_leave_rest(struct io_kiocb *req, __poll_t events)
{
	struct io_poll *poll = req->poll;

	/*
	 * No waker of the first waitqueue sets AGAIN after this.  A waker of a second
	 * waitqueue tries the next waiter, or has an event that the end of this poll
	 * passes on (io_poll_wake_any()).
	 */
	io_poll_dequeue_entry(&poll->head, &poll->wait);
	if (atomic_read(&poll->wants) & IO_POLL_AGAIN)
		io_poll_pass_on(req->file, events);
}

/**
 * io_poll_check - check for an event that the poll waits for
 * @req: waiting; ring lock held, the caller owns its poll
 * @issue_flags: IO_URING_F_TASK_DEAD if no task is left to continue the request
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 * Return: IO_POLL_READY, IO_POLL_NOTHING or IO_POLL_CANCELLED.  If the request keeps waiting, the
 * caller either releases the poll (io_poll_try_unclaim()), or passes its claim on: by
 * io_poll_pause(), or by a push of the request.
 */
enum io_poll_verdict io_poll_check(struct io_kiocb *req, unsigned int issue_flags)
{
	struct poll_table_struct pt = {};
	struct io_poll *poll = req->poll;
	__poll_t mask, events = io_poll_events(poll);
	u32 news = atomic_read(&poll->wants);

	io_assert_ring(req->ctx);
	/* clear AGAIN before ->poll(): an event that ->poll() misses sets it again */
	if (news & IO_POLL_AGAIN) {
		atomic_andnot(IO_POLL_AGAIN, &poll->wants);
		/* order this before ->poll(); pairs with io_poll_claim_slow(); model: NO_CLEAR */
		smp_mb__after_atomic();
		news |= atomic_read(&poll->wants);
	}
	if (unlikely(news & IO_POLL_CANCEL || issue_flags & IO_URING_F_TASK_DEAD))
		return IO_POLL_CANCELLED;
	mask = io_poll_woken_by(poll) & events;
	if (mask && (!(news & IO_POLL_AGAIN) || events & EPOLLONESHOT))
		return IO_POLL_READY;
	mask = io_poll_check_file(req->file, &pt, events);
	atomic_set(&poll->owner, io_poll_mask_bits(mask) | IO_POLL_OWNED);
	if (!mask)
		return IO_POLL_NOTHING;
	if (unlikely(io_poll_takes_one(events)))
		io_poll_leave_rest(req, events);
	return IO_POLL_READY;
}

/**
 * io_poll_pause - keep the poll of a request claimed until the fallback worker resumes the request
 * @req: waiting; ring lock held, the caller owns its poll, which stays claimed
 * @resume: has to call io_poll_resume(); the fallback worker runs it
 *
 * Call this if useless wakes arrive faster than ->poll() can check the file.  Task work runs until
 * none is left, so without a pause the task would neither end its wait nor handle a signal.  All
 * wakes before the fallback worker runs @resume count as one.
 */
void io_poll_pause(struct io_kiocb *req, io_poll_run resume)
{
	io_assert_ring(req->ctx);
	req->tw.run = resume;
	io_fallback_push(req->ctx, &req->tw);
}

/**
 * io_poll_resume - push a request to its task again after io_poll_pause()
 * @req: the request
 * @run: task work of the request
 */
void io_poll_resume(struct io_kiocb *req, io_poll_run run)
{
	io_req_move(req, IO_REQ_WAITING);
	io_req_push(req, run, IO_PUSH_NOW);
}

/**
 * io_poll_recheck_slow - push requests that were woken or cancelled while their poll was released
 * @ctx: the ring, its lock held
 */
void io_poll_recheck_slow(struct io_ring_ctx *ctx)
{
	unsigned int i, nr = ctx->polls.nr_released;

	io_assert_ring(ctx);
	ctx->polls.nr_released = 0;
	/* order releases before checks; pairs with the barriers of wakers; model: NO_RECHECK */
	smp_mb();
	for (i = 0; i < nr; i++) {
		struct io_poll *poll = ctx->polls.released[i];
		struct io_kiocb *req = poll->wait.private;

		if (unlikely(atomic_read(&poll->wants) & IO_POLL_NEWS) && io_poll_own(req))
			io_req_push(req, req->tw.run, io_poll_urgency(io_poll_events(poll)));
	}
}

/**
 * io_poll_own - claim a poll without an event, for example for a cancel
 * @req: waiting; ring lock held
 *
 * Return: true if the caller owns the poll; false if the poll already had an owner.
 */
bool io_poll_own(struct io_kiocb *req)
{
	struct io_poll *poll = req->poll;
	struct wait_queue_head *head;
	int unowned = 0;
	bool own;

	io_assert_ring(req->ctx);
	io_poll_recheck(req->ctx);
	guard(rcu)();
	/* if NULL, no waker claims by a plain store; a plain load would do, too (model: NO_OWN) */
	head = smp_load_acquire(&poll->head);
	if (!head)
		return atomic_try_cmpxchg(&poll->owner, &unowned, IO_POLL_OWNED);
	if (atomic_read(&poll->owner))
		return false;
	spin_lock_irq(&head->lock);
	own = atomic_try_cmpxchg(&poll->owner, &unowned, IO_POLL_OWNED);
	spin_unlock_irq(&head->lock);
	return own;
}

/**
 * io_poll_end - remove a request from its waitqueues and from the wait table
 * @req: waiting; ring lock held, the caller owns its poll
 */
void io_poll_end(struct io_kiocb *req)
{
	io_poll_dequeue(req);
	io_wait_table_del(req);
}

/**
 * io_poll_cancel - cancel a request that waits for its file
 * @req: waiting, with a poll; ring lock held
 *
 * Any task may call this.  The request's task work ends it with -ECANCELED.
 *
 * Return: true, even if the request was cancelled before, or has an event that its task work has
 * not handled yet.
 */
bool io_poll_cancel(struct io_kiocb *req)
{
	bool own = io_poll_own(req);

	/* if the poll has another owner, the owner takes the ring lock later, and reads CANCEL */
	atomic_or(IO_POLL_CANCEL, &req->poll->wants);
	if (own)
		io_req_push(req, req->tw.run, IO_PUSH_NOW);
	return true;
}

static void io_poll_retry_put(struct io_ring_ctx *ctx, struct io_poll *poll)
{
	struct io_poll_retry *retry = container_of(poll, struct io_poll_retry, poll);

	io_spare_free(&ctx->polls.spares, &retry->spare);
}

/* Count an attempt on a ready file.  Return: true if the limit IO_POLL_TRIES is exceeded. */
static bool io_poll_retries_used_up(struct io_kiocb *req)
{
	if (!(req->flags & REQ_F_POLL_TRIED)) {
		req->flags |= REQ_F_POLL_TRIED;
		req->poll_tries = 0;
	}
	static_assert(IO_POLL_TRIES + IO_POLL_IN_VAIN <= U8_MAX);
	req->poll_tries += IO_POLL_IN_VAIN;
	return req->poll_tries > IO_POLL_TRIES;
}

/* Return: true if @file is a socket of a family that has an error queue. */
static bool io_poll_has_errors(struct file *file)
{
	struct socket *sock = IS_ENABLED(CONFIG_NET) ? sock_from_file(file) : NULL;

	switch (sock ? READ_ONCE(sock->ops)->family : AF_UNSPEC) {
	case AF_INET:
	case AF_INET6:
	case AF_PACKET:
	case AF_BLUETOOTH:
	case AF_CAN:
	case AF_RDS:
	case AF_SMC:
	case AF_VSOCK:
		return true;
	default:
		return false;
	}
}

/* Return: the events for a retry.  A multishot request stays on the waitqueue after an event. */
static __poll_t io_poll_retry_events(const struct io_kiocb *req)
{
	const struct io_op *op = io_ops[req->opcode];
	__poll_t events = EPOLLERR;

	if (op->poll_in &&
	    likely(!(req->flags & REQ_F_POLL_ERRORS) || !io_poll_has_errors(req->file)))
		events |= EPOLLIN | EPOLLRDNORM;
	if (op->poll_out)
		events |= EPOLLOUT | EPOLLWRNORM;
	if (op->poll_exclusive)
		events |= EPOLLEXCLUSIVE;
	/* see io_poll_add_prep() */
	events |= req->flags & REQ_F_MULTISHOT ? EPOLLET : EPOLLONESHOT;
	return events;
}

/**
 * io_poll_is_ready - check whether the file of a request is ready
 * @req: the request, whose op can wait for its file; ring lock held
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 * Return: true if the file is ready, at its end, or has an error.
 */
bool io_poll_is_ready(const struct io_kiocb *req)
{
	__poll_t events = io_poll_retry_events(req) | IO_POLL_UNASKED;
	struct poll_table_struct pt = { ._key = events };

	return vfs_poll(req->file, &pt) & events;
}

/* If an earlier attempt has picked a buffer, restore cqe.flags, which req->poll has overlaid. */
static void io_poll_uncover(struct io_kiocb *req)
{
	if (unlikely(req->flags & REQ_F_PICKED))
		req->cqe.flags = io_picked_cflags(req);
}

/**
 * io_poll_hold - let a request that would block wait for its file
 * @req: the request, for which io_poll_may_retry() is true; ring lock held, but not by a worker
 * @run: as for io_poll_arm(); has to call io_poll_disarm_retry()
 * @issue_flags: as for io_poll_arm()
 *
 * Return: see enum io_poll_hold.
 */
enum io_poll_hold io_poll_hold(struct io_kiocb *req, io_poll_run run, unsigned int issue_flags)
{
	__poll_t ready, events = io_poll_retry_events(req);
	struct io_ring_ctx *ctx = req->ctx;
	struct io_poll_retry *retry;
	int ret;

	if (unlikely(issue_flags & IO_URING_F_UNLOCKED))
		retry = kmalloc(sizeof(*retry), GFP_KERNEL_ACCOUNT);
	else
		retry = io_spare_alloc(&ctx->polls.spares, sizeof(*retry));
	if (!retry)
		return IO_POLL_BLOCK;
	io_poll_set_events(&retry->poll, events | IO_POLL_UNASKED);
	req->flags |= REQ_F_POLLED;
	trace_io_uring_poll_arm(req, (__force int)events, (__force int)(events | IO_POLL_UNASKED));
	ret = io_poll_arm(req, &retry->poll, run, issue_flags, &ready);
	if (likely(!ret))
		return IO_POLL_HOLD;
	req->flags &= ~REQ_F_POLLED;
	io_poll_uncover(req);
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED))
		kfree(retry);
	else
		io_poll_retry_put(ctx, &retry->poll);
	if (ret == -ECANCELED)
		return IO_POLL_END;
	return ret < 0 || io_poll_retries_used_up(req) ? IO_POLL_BLOCK : IO_POLL_RETRY;
}

/**
 * io_poll_disarm_retry - end the wait that io_poll_hold() began
 * @req: the request; ring lock held, the caller owns its poll
 */
void io_poll_disarm_retry(struct io_kiocb *req)
{
	struct io_poll *poll = req->poll;

	io_poll_end(req);
	io_poll_uncover(req);
	req->flags &= ~(REQ_F_POLLED | REQ_F_POLL_TRIED);
	io_poll_retry_put(req->ctx, poll);
}
