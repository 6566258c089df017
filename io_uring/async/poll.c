// SPDX-License-Identifier: GPL-2.0
/* io_uring: requests that wait until a file is ready */

/*
 * Data: a poll has an entry on each waitqueue of its file (most have one) and two words.
 * @owner is claimed by the context that continues the request.  @wants has the events that
 * the request waits for and, for the owner, AGAIN (there was another event) and CANCEL (the
 * request has to end).
 *
 * Rules: wakers run under the waitqueue's lock, in any context.  A waker that finds no owner
 * claims the poll and pushes the request's task work; otherwise it sets AGAIN.  All others
 * hold the ring lock.
 *
 * @owner leaves 0 only under a waitqueue's lock.  With one waitqueue, that lock makes wakers
 * and other claimants (cancel, update, the recheck) exclude each other, and a plain store
 * claims the poll.  With two waitqueues a claim takes a compare-and-exchange.
 *
 * Ordering: an event that comes while the owner releases the poll must not be lost.
 *
 *	owner					waker
 *	@owner = 0				set AGAIN in @wants
 *	smp_mb()				smp_mb__after_atomic()
 *	AGAIN in @wants? claim again		@owner == 0? claim
 *
 * At least one of them sees the other.  The polls that are released in a run of task work
 * share the owner's barrier (ctx->polls.released), so an event costs one atomic operation,
 * the push.
 *
 * Documentation/io_uring/models/poll_weak.pml is the model of all barriers here and in poll.h.  A
 * name behind "model:" is its option that removes that barrier.
 *
 * The events of the wake are stored in @owner, so that the file need not be asked.  That is
 * not enough if the waker did not know them, or if there were several wakes.  Then the owner
 * clears AGAIN before it asks the file, so that AGAIN shows later events.  For a poll that
 * waits for a single event they are enough; its entry may be off the waitqueue.
 *
 * A waitqueue may be freed before its file is (POLLFREE).  It wakes all entries first.  They
 * take themselves off, cancel the poll, and forget the waitqueue as their last step.  The
 * waitqueue's memory stays for a grace period, so its lock can be taken within an RCU
 * read-side section.
 *
 * An event wakes one exclusive waiter.  If that ends without having consumed the event, it
 * wakes another one, as long as the file is ready (io_poll_pass_on()).  A waiter does not know
 * for how many events it was woken, so a waiter that was woken that way does so as well.  Each
 * end wakes one waiter, and scans only those that wait for other events.
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
 * How often a file may be found ready that then is not, before the retry blocks: 8 times, or
 * io_poll_progress() and over a hundred times if it does a part each time.
 */
#define IO_POLL_TRIES	(8 * IO_POLL_IN_VAIN)

/* In the key of a wake: an exclusive waiter passes events on. */
#define IO_POLL_PASSED	((__force __poll_t)BIT(26))

/* tasks and epoll instances that are woken by the end of an exclusive waiter, at most */
#define IO_POLL_STRANGERS	16

/*
 * Bits of an entry's ->flags that waitqueues have no use for, under the waitqueue's lock: it
 * was chosen for an event, or woken by the end of one that was.
 */
#define IO_WAIT_CHOSEN		BIT(15)
#define IO_WAIT_PASSED		BIT(16)

/* events of which a reader or a writer is told */
#define IO_POLL_INS		(EPOLLIN | EPOLLRDNORM | EPOLLRDBAND)
#define IO_POLL_OUTS		(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND)

static u32 io_poll_mask_bits(__poll_t mask)
{
	return (__force u32)mask << IO_POLL_MASK_SHIFT;
}

/* One event of many: its waker is exclusive, or may wake a whole chain of CQEs. */
static unsigned int io_poll_urgency(__poll_t events)
{
	/* it has been chosen to handle the event, others have not been told */
	return unlikely(events & EPOLLEXCLUSIVE) ? IO_PUSH_NOW : 0;
}

/* Does the poll end with one event, and is another one for the next waiter? */
static bool io_poll_takes_one(__poll_t events)
{
	const __poll_t one = EPOLLEXCLUSIVE | EPOLLONESHOT;

	return (events & one) == one;
}

static bool io_poll_try_claim(struct io_poll *poll, u32 bits)
{
	int nobody = 0;

	/* a failed exchange would take the cache line from the owner's CPU */
	return !atomic_read(&poll->owner) &&
	       atomic_try_cmpxchg(&poll->owner, &nobody, bits | IO_POLL_OWNED);
}

/* Return: true if AGAIN, which was set, still is: then the owner will find the caller's event. */
static bool io_poll_is_notified(const struct io_poll *poll)
{
	/*
	 * The event, then this check; pairs with io_poll_check(), which clears AGAIN, then asks.
	 * Model: NO_NOTIFIED.
	 */
	smp_mb();
	return atomic_read(&poll->wants) & IO_POLL_AGAIN;
}

/*
 * Claim the poll while others may do so, or let go of it; else tell its owner, which takes
 * nothing but a look where an event before has done so.
 *
 * Return: IO_POLL_OWNED if it is claimed, otherwise the news that its owner had not seen yet.
 */
static noinline u32 io_poll_claim_slow(struct io_poll *poll, u32 bits)
{
	u32 unseen;

	if (io_poll_try_claim(poll, bits))
		return IO_POLL_OWNED;
	unseen = atomic_read(&poll->wants) & IO_POLL_NEWS;
	if (unseen & IO_POLL_AGAIN && io_poll_is_notified(poll))
		return unseen;
	/* the owner asks the file after it has seen the bit; model: NO_BEFORE */
	smp_mb__before_atomic();
	atomic_or(IO_POLL_AGAIN, &poll->wants);
	/* pairs with the barrier in io_poll_recheck_slow(); model: NO_AFTER */
	smp_mb__after_atomic();
	return io_poll_try_claim(poll, bits) ? IO_POLL_OWNED : unseen;
}

/* Claim the poll for an event, or tell its owner of the event.  Under the waitqueue's lock. */
static u32 io_poll_claim(struct io_poll *poll, u32 bits)
{
	/* in this order: its owner may be about to add the second waitqueue; model: NO_ACQUIRE */
	if (unlikely(atomic_read_acquire(&poll->owner) || poll->second))
		return io_poll_claim_slow(poll, bits);
	/* @owner leaves 0 only under the lock that we hold */
	atomic_set(&poll->owner, bits | IO_POLL_OWNED);
	return IO_POLL_OWNED;
}

/*
 * A waker takes its entry off the waitqueue, whose lock it holds.  An owner may go
 * on, and free the poll, from here.
 */
static void io_poll_wake_dequeue(struct io_poll *poll, struct wait_queue_entry *wait)
{
	struct wait_queue_head **head = &poll->head;

	if (unlikely(wait != &poll->wait))
		head = &container_of(wait, struct io_poll_second, wait)->head;
	list_del_init(&wait->entry);
	/* pairs with io_poll_dequeue_entry() and io_poll_own(); model: NO_FORGET */
	smp_store_release(head, NULL);
}

/* The waitqueue is freed: nothing will ever wake this poll again. */
static noinline void io_poll_wake_free(struct io_poll *poll, struct wait_queue_entry *wait)
{
	struct io_kiocb *req = wait->private;
	bool claimed;

	/* before it is claimed, which may be all that its next owner sees */
	atomic_or(IO_POLL_CANCEL, &poll->wants);
	/* pairs with the barrier in io_poll_recheck_slow(); model: NO_FREE */
	smp_mb__after_atomic();
	claimed = io_poll_try_claim(poll, 0);
	io_poll_wake_dequeue(poll, wait);
	if (claimed)
		io_req_push(req, req->tw.run, IO_PUSH_NOW);
}

/*
 * The wake is an echo of a CQE on some ring.  A poll that posts to the same
 * ring, or to one that is polled by the other, must not go on for ever, and must
 * not announce anything while the first ring's waitqueue is locked.  An op whose
 * poll is held takes the event from its file, and goes on only if there are others.
 */
static unsigned int io_poll_wake_recursive(struct io_kiocb *req, struct io_poll *poll)
{
	if (!(READ_ONCE(req->flags) & REQ_F_POLLED))
		atomic_or((__force int)EPOLLONESHOT, &poll->wants);
	return io_eventfd_is(req->ctx, req->file) ? IO_PUSH_LATE | IO_PUSH_NOTIFIED : IO_PUSH_LATE;
}

/* Everything that a wake can be.  Return: an exclusive waiter has taken the event. */
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
	/* sockets say EPOLLPRI of all data: the file knows better */
	if (!(mask & events & ~EPOLLPRI))
		mask = 0;
	if (events & EPOLLEXCLUSIVE)
		wait->flags |= passed ? IO_WAIT_PASSED : IO_WAIT_CHOSEN;
	claim = io_poll_claim(poll, io_poll_mask_bits(mask));
	/*
	 * One that has been told of one event, and ends with it, is not enough for two.  On a
	 * second waitqueue AGAIN may come too late to say that it has been told.  But what
	 * was passed to it is passed on when it ends.
	 */
	if (claim != IO_POLL_OWNED)
		return passed ||
		       !(io_poll_takes_one(events) && (claim & IO_POLL_AGAIN || poll->second));
	/* it stays on a waitqueue: the next waker sees that it has been told */
	if (unlikely((!mask || poll->second) && io_poll_takes_one(events)))
		atomic_or(IO_POLL_AGAIN, &poll->wants);
	/* spares the owner the lock */
	if (mask && events & EPOLLONESHOT)
		io_poll_wake_dequeue(poll, wait);
	trace_io_uring_task_add(req, (__force int)mask);
	io_req_push(req, req->tw.run, push_flags);
	return 1;
}

/*
 * The wait function: io_poll_wake_any(), and without further calls what nearly all
 * wakes are: one event, which the waker knows, for a poll that has no owner.
 *
 * It must not look at req->poll: while a multishot request is issued its result is there.
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
		/* events that come faster than they are looked at take no more than this */
		if (wants & IO_POLL_AGAIN && !(wants & (__force u32)EPOLLEXCLUSIVE) &&
		    !(mask & (POLLFREE | EPOLL_URING_WAKE)) && io_poll_is_notified(poll))
			return 1;
		return io_poll_wake_any(poll, wait, mask);
	}
	if (!((__force u32)mask & wants))
		return mask ? 0 : io_poll_wake_any(poll, wait, mask);
	/* as io_poll_claim(); one that is not exclusive takes no event from others */
	if (likely(!atomic_read_acquire(&poll->owner) && !poll->second))
		atomic_set(&poll->owner, io_poll_mask_bits(mask) | IO_POLL_OWNED);
	else if (io_poll_claim_slow(poll, io_poll_mask_bits(mask)) != IO_POLL_OWNED)
		return 1;
	if (wants & (__force u32)EPOLLONESHOT)
		io_poll_wake_dequeue(poll, wait);
	io_req_push_fast(req, 0);
	return 1;
}

/* The wait function of a file's second waitqueue. */
static int io_poll_wake_second(struct wait_queue_entry *wait, unsigned int mode, int sync,
			       void *key)
{
	struct io_poll_second *second = container_of(wait, struct io_poll_second, wait);

	return io_poll_wake_any(second->poll, wait, key_to_poll(key));
}

/* Take an entry off its waitqueue, if that is still there. */
static void io_poll_dequeue_entry(struct wait_queue_head **at, struct wait_queue_entry *wait)
{
	struct wait_queue_head *head;

	guard(rcu)();
	/* NULL: the waker that has stored it does not touch the poll any more; model: NO_LOOK */
	head = smp_load_acquire(at);
	if (!head)
		return;
	spin_lock_irq(&head->lock);
	list_del_init(&wait->entry);
	spin_unlock_irq(&head->lock);
	*at = NULL;
}

/* Note what the end of an exclusive waiter has to pass on. */
static void io_poll_note_chosen(struct io_kiocb *req, const struct wait_queue_entry *wait)
{
	if (wait->flags & IO_WAIT_CHOSEN)
		req->flags |= REQ_F_POLL_CHOSEN;
	if (wait->flags & IO_WAIT_PASSED)
		req->flags |= REQ_F_POLL_PASSED;
}

/* No more wakes after this; a result takes the place of req->poll. */
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
 * struct io_poll_table - what the file's ->poll() is called with
 * @pt: first
 * @req: the request
 * @first: waitqueue that its poll was put on, NULL so far
 * @error: why it could not be put on all of them
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
		/* the file is asked next, and says what it was chosen for before */
		req->flags &= ~(REQ_F_POLL_CHOSEN | REQ_F_POLL_PASSED);
		add_wait_queue_exclusive(head, wait);
	} else {
		add_wait_queue(head, wait);
	}
}

/* Queue on a second waitqueue.  No file has a third one. */
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
	/* wakers look at it, but not while the poll is owned, as now */
	poll->second = second;
	second->poll = poll;
	second->head = head;
	io_poll_queue_entry(head, &second->wait, io_poll_wake_second, table->req);
}

/* poll_wait() */
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

/* Ask the file, and be told by it from now on if @pt says so. */
static __poll_t io_poll_check_file(struct file *file, struct poll_table_struct *pt, __poll_t events)
{
	pt->_key = events;
	return vfs_poll(file, pt) & events;
}

/*
 * An armed poll is to wait.  A worker lets go of the request first.
 * Return: false if it was cancelled.
 */
static bool io_poll_wait(struct io_kiocb *req, unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_UNLOCKED && !io_wq_disown())
		return false;
	if (!io_may_add_waiting(req))
		return false;
	io_req_move(req, IO_REQ_WAITING);
	io_wait_table_add(req);
	return true;
}

/**
 * io_poll_arm - let a request wait for its file
 * @req: the request; ring lock held, not waiting
 * @poll: with its events set
 * @run: what to do at an event, or when it is cancelled; then the caller of @run
 *	owns the poll, and the request still waits
 * @issue_flags: IO_URING_F_UNLOCKED for workers
 * @ready: events that are there already
 *
 * Return: 0 if the request waits; 1 if it is not, because of an event, and
 * what it waits for is a single one, or the file has no waitqueue; -EINVAL for
 * files with no waitqueue or with more than two, -ENOMEM, -ECANCELED.
 */
int io_poll_arm(struct io_kiocb *req, struct io_poll *poll, io_poll_run run,
		unsigned int issue_flags, __poll_t *ready)
{
	struct io_poll_table table = { .pt._qproc = io_poll_queue, .req = req };
	__poll_t mask, events = io_poll_events(poll);

	io_assert_ring(req->ctx);
	atomic_set(&poll->owner, IO_POLL_OWNED);
	io_poll_set_events(poll, events);
	poll->head = NULL;
	poll->second = NULL;
	req->poll = poll;
	req->tw.run = run;

	mask = io_poll_check_file(req->file, &table.pt, events);
	io_napi_meet(req->ctx, req->file);
	*ready = mask;
	if (unlikely(table.error || !table.first) || (mask && events & EPOLLONESHOT)) {
		io_poll_dequeue(req);
		return mask ? 1 : table.error ?: -EINVAL;
	}
	if (unlikely(!io_poll_wait(req, issue_flags))) {
		io_poll_dequeue(req);
		return -ECANCELED;
	}
	if (unlikely(mask || atomic_read(&poll->wants) & IO_POLL_NEWS)) {
		atomic_set(&poll->owner, io_poll_mask_bits(mask) | IO_POLL_OWNED);
		io_req_push(req, run, 0);
		return 0;
	}
	io_poll_unclaim(req->ctx, poll);
	return 0;
}

/*
 * Wake one exclusive waiter, from the end of the queue, where they stand: the others were told
 * by the event itself.  One that is no request, but a task or an epoll instance, passes
 * nothing on, so several of those are woken.
 */
static void io_poll_wake_another(struct file *file, struct wait_queue_head *head,
				 struct poll_table_struct *pt)
{
	void *key = poll_to_key(pt->_key | IO_POLL_PASSED);
	unsigned int left = IO_POLL_STRANGERS;
	struct wait_queue_entry *wait, *next;

	guard(spinlock_irqsave)(&head->lock);
	list_for_each_entry_safe_reverse(wait, next, &head->head, entry) {
		/* the entry may be gone when it was woken */
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
 * io_poll_pass_on - wake another waiter for an exclusive one that took an event and ended
 * @file: what it has waited for, it is on no waitqueue any more
 * @events: that it has waited for
 *
 * If @file is still ready, wake one exclusive waiter for each kind of events: a waiter for
 * one kind may ignore the others.
 *
 * Only for sockets, except AF_VSOCK.  The caller may be the fallback worker, where a ->poll()
 * must not sleep.  FUSE's sleeps for as long as its server likes, AF_VSOCK's while a receiver
 * is in a page fault.
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

/* The poll ends with the event that was found.  One that came meanwhile is for the others. */
static void io_poll_leave_rest(struct io_kiocb *req, __poll_t events)
{
	struct io_poll *poll = req->poll;

	/* sockets, whose events are passed on, have one waitqueue: no more wakes after this */
	io_poll_dequeue_entry(&poll->head, &poll->wait);
	if (atomic_read(&poll->wants) & IO_POLL_AGAIN)
		io_poll_pass_on(req->file, events);
}

/**
 * io_poll_check - check for an event that the poll waits for
 * @req: waiting; ring lock held, the caller owns its poll
 * @issue_flags: IO_URING_F_TASK_DEAD: no task is left to continue it
 *
 * May sleep.
 *
 * Return: the verdict; unless that is the end of the request, io_poll_try_unclaim()
 * comes next.
 */
enum io_poll_verdict io_poll_check(struct io_kiocb *req, unsigned int issue_flags)
{
	struct poll_table_struct pt = {};
	struct io_poll *poll = req->poll;
	__poll_t mask, events = io_poll_events(poll);
	u32 news = atomic_read(&poll->wants);

	io_assert_ring(req->ctx);
	/* what comes from here on is not in the file's answer for sure */
	if (news & IO_POLL_AGAIN) {
		atomic_andnot(IO_POLL_AGAIN, &poll->wants);
		/* before the file is asked; pairs with io_poll_claim_slow(); model: NO_CLEAR */
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
 * io_poll_pause - leave a poll alone for a moment
 * @req: waiting; ring lock held, the caller owns its poll and goes on owning it
 * @resume: calls io_poll_resume(); the ring's fallback work runs it
 *
 * For a poll that is woken again and again for nothing, faster than its file can be asked.
 * Task work runs until there is none left, so each round of looks would be followed by the
 * next, and the task would see neither the end of its wait nor a signal.  The wakes of a jiffy
 * then count as one.
 */
void io_poll_pause(struct io_kiocb *req, io_poll_run resume)
{
	io_assert_ring(req->ctx);
	req->tw.run = resume;
	io_fallback_push(req->ctx, &req->tw);
}

/**
 * io_poll_resume - go on with a poll that was paused
 * @req: the request
 * @run: what to do with it, in its own context
 */
void io_poll_resume(struct io_kiocb *req, io_poll_run run)
{
	io_req_move(req, IO_REQ_WAITING);
	io_req_push(req, run, IO_PUSH_NOW);
}

/**
 * io_poll_recheck_slow - io_poll_recheck() when there are any
 * @ctx: the ring, its lock held
 */
void io_poll_recheck_slow(struct io_ring_ctx *ctx)
{
	unsigned int i, nr = ctx->polls.nr_released;

	io_assert_ring(ctx);
	ctx->polls.nr_released = 0;
	/* between the release of all of them and the look; pairs with wakers'; model: NO_RECHECK */
	smp_mb();
	for (i = 0; i < nr; i++) {
		struct io_poll *poll = ctx->polls.released[i];
		struct io_kiocb *req = poll->wait.private;

		if (unlikely(atomic_read(&poll->wants) & IO_POLL_NEWS) && io_poll_own(req))
			io_req_push(req, req->tw.run, io_poll_urgency(io_poll_events(poll)));
	}
}

/**
 * io_poll_own - claim a poll without an event
 * @req: waiting; ring lock held
 *
 * Return: true if the caller owns the poll; false if a waker has claimed it.
 */
bool io_poll_own(struct io_kiocb *req)
{
	struct io_poll *poll = req->poll;
	struct wait_queue_head *head;
	int nobody = 0;
	bool own;

	io_assert_ring(req->ctx);
	io_poll_recheck(req->ctx);
	guard(rcu)();
	/*
	 * NULL: woken for the last time, wakers that claim by a store have done so.  Model: NO_OWN,
	 * which holds.
	 */
	head = smp_load_acquire(&poll->head);
	if (!head)
		return atomic_try_cmpxchg(&poll->owner, &nobody, IO_POLL_OWNED);
	if (atomic_read(&poll->owner))
		return false;
	spin_lock_irq(&head->lock);
	own = atomic_try_cmpxchg(&poll->owner, &nobody, IO_POLL_OWNED);
	spin_unlock_irq(&head->lock);
	return own;
}

/**
 * io_poll_end - take a request off its waitqueues for good
 * @req: waiting; ring lock held, the caller owns its poll
 */
void io_poll_end(struct io_kiocb *req)
{
	io_poll_dequeue(req);
	io_wait_table_del(req);
}

/**
 * io_poll_cancel - end a request that waits for its file, with -ECANCELED
 * @req: waiting, with a poll; ring lock held
 *
 * Does not end it here: its task work does.  Any task.
 *
 * Return: true, also if that was done before, or if there was an event that it
 * has not seen yet.
 */
bool io_poll_cancel(struct io_kiocb *req)
{
	bool own = io_poll_own(req);

	/* if there is an owner it stays one as long as we have the ring lock */
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

/* Has the file been ready too often without being so? */
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

/*
 * Has the socket a queue of errors, which MSG_ERRQUEUE reads?  Sockets of other families do not
 * know the flag, and receive data.
 */
static bool io_poll_has_errors(struct file *file)
{
	struct socket *sock = IS_ENABLED(CONFIG_NET) ? sock_from_file(file) : NULL;

	switch (sock ? READ_ONCE(sock->ops)->family : AF_UNSPEC) {
	case AF_INET:
	case AF_INET6:
	case AF_PACKET:
	case AF_CAN:
	case AF_RDS:
	case AF_SMC:
	case AF_VSOCK:
		return true;
	default:
		return false;
	}
}

/* What the op of a request waits for.  The entry of a multishot request stays. */
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
 * io_poll_is_ready - ask the file of a request whether it is ready
 * @req: whose op waits for its file; ring lock held
 *
 * May sleep.
 *
 * Return: true if it is, also if the file has failed, or come to its end.
 */
bool io_poll_is_ready(const struct io_kiocb *req)
{
	__poll_t events = io_poll_retry_events(req) | IO_POLL_UNASKED;
	struct poll_table_struct pt = { ._key = events };

	return vfs_poll(req->file, &pt) & events;
}

/* req->poll has covered what an earlier attempt has said: that it has taken a buffer. */
static void io_poll_uncover(struct io_kiocb *req)
{
	if (unlikely(req->flags & REQ_F_PICKED))
		req->cqe.flags = io_picked_cflags(req);
}

/**
 * io_poll_hold - let a request that would block wait for its file
 * @req: the request, may wait (io_poll_may_retry()); ring lock held
 * @run: as for io_poll_arm(); has to call io_poll_disarm_retry()
 * @issue_flags: as for io_poll_arm()
 *
 * Return: whether it waits, can go on, or has to block.
 */
enum io_poll_hold io_poll_hold(struct io_kiocb *req, io_poll_run run, unsigned int issue_flags)
{
	__poll_t ready, events = io_poll_retry_events(req);
	struct io_ring_ctx *ctx = req->ctx;
	struct io_poll_retry *retry = io_spare_alloc(&ctx->polls.spares, sizeof(*retry));
	int ret;

	if (!retry)
		return IO_POLL_BLOCK;
	io_poll_set_events(&retry->poll, events | IO_POLL_UNASKED);
	req->flags |= REQ_F_POLLED;
	ret = io_poll_arm(req, &retry->poll, run, issue_flags, &ready);
	trace_io_uring_poll_arm(req, (__force int)events, (__force int)(events | IO_POLL_UNASKED));
	if (likely(!ret))
		return IO_POLL_HOLD;
	req->flags &= ~REQ_F_POLLED;
	io_poll_uncover(req);
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
