// SPDX-License-Identifier: GPL-2.0
/* io_uring: notification of waiters: sleepers, poll(2) on the ring, eventfd */

/*
 * Each commit that publishes CQEs notifies the waiters once.  On multi-writer rings,
 * the wake function of a sleeper in io_uring_enter() checks the published tail.  It wakes
 * the sleeper once the CQEs that the sleeper waits for are published, or early for a
 * worker's CQE (sys/wait.c).
 *
 * Readers find the eventfd under RCU.  With IORING_REGISTER_EVENTFD_ASYNC it is signalled
 * only for CQEs that workers post.  If the signal would recurse, because the wake-up of
 * an eventfd has posted to a ring with an eventfd, an RCU callback sends the signal.
 *
 * The wake-up of a poll request pushes it to its ring.  This may be the ring that sends
 * the notification, or another ring that polls this ring, its eventfd, or an epoll
 * instance that contains either.  The key of the wake-up has EPOLL_URING_WAKE, which epoll
 * passes on.  With this key, the push leaves the notification of its ring to
 * ctx->notify.work (IO_PUSH_LATE), so that locks of rings' wait queues never nest.
 *
 * Documentation/io_uring/models/cq_weak.pml models orderings of this file.  A name after
 * "model:" is the option of the model that removes the ordering.
 */
#include <linux/eventfd.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "ring/locks.h"
#include "ring/mailbox.h"
#include "ring/notify.h"

/* time until an eventfd is signalled once more for items that the owner has not taken */
#define IO_NOTIFY_REMIND	HZ

/**
 * struct io_ev_fd - a registered eventfd
 * @eventfd: the eventfd
 * @refs: references of the ring and of a deferred signal
 * @pending: (A) a signal is deferred
 * @async_only: signal only CQEs that workers post
 * @rcu: frees this struct
 * @signal_rcu: sends the deferred signal
 */
struct io_ev_fd {
	struct eventfd_ctx	*eventfd;
	refcount_t		refs;
	atomic_t		pending;
	bool			async_only;
	struct rcu_head		rcu;
	struct rcu_head		signal_rcu;
};

static void io_ev_fd_free(struct rcu_head *rcu)
{
	struct io_ev_fd *ev = container_of(rcu, struct io_ev_fd, rcu);

	eventfd_ctx_put(ev->eventfd);
	kfree(ev);
}

/* Drop a reference.  RCU readers may still use @ev, so free it after a grace period. */
static void io_ev_fd_put(struct io_ev_fd *ev)
{
	if (refcount_dec_and_test(&ev->refs))
		call_rcu(&ev->rcu, io_ev_fd_free);
}

static void io_eventfd_late_signal(struct rcu_head *rcu)
{
	struct io_ev_fd *ev = container_of(rcu, struct io_ev_fd, signal_rcu);

	atomic_set_release(&ev->pending, 0);
	eventfd_signal_mask(ev->eventfd, EPOLL_URING_WAKE);
	io_ev_fd_put(ev);
}

/**
 * io_eventfd_is - check whether a file is the eventfd that the ring signals
 * @ctx: the ring
 * @file: any file
 *
 * Context: Any.
 * Return: true if @file is this eventfd.
 */
bool io_eventfd_is(struct io_ring_ctx *ctx, struct file *file)
{
	struct io_ev_fd *ev;

	guard(rcu)();
	ev = rcu_dereference(ctx->notify.ev_fd);
	/* only files of eventfd have an eventfd as their private data */
	return ev && file->private_data == ev->eventfd;
}

/* The SQPOLL thread has PF_IO_WORKER, too, but no worker_private. */
static bool io_current_is_worker(void)
{
	return current->flags & PF_IO_WORKER && current->worker_private;
}

/* Signal the ring's eventfd, unless the program or EVENTFD_ASYNC suppresses it.  Any context. */
static void io_eventfd_signal(struct io_ring_ctx *ctx)
{
	struct io_ev_fd *ev;

	/* a resize may replace ctx->rings, and frees the old words after a grace period */
	guard(rcu)();
	if (READ_ONCE(READ_ONCE(ctx->rings)->cq_flags) & IORING_CQ_EVENTFD_DISABLED) {
		/*
		 * Order the tail before the second check; pairs with the barrier of a program that
		 * has cleared the flag and checks the CQ; model: NO_TOGGLE
		 */
		smp_mb();
		if (READ_ONCE(READ_ONCE(ctx->rings)->cq_flags) & IORING_CQ_EVENTFD_DISABLED)
			return;
	}
	ev = rcu_dereference(ctx->notify.ev_fd);
	if (!ev || (ev->async_only && !io_current_is_worker()))
		return;
	if (likely(eventfd_signal_allowed())) {
		eventfd_signal_mask(ev->eventfd, EPOLL_URING_WAKE);
		return;
	}
	if (!atomic_xchg(&ev->pending, 1)) {
		if (refcount_inc_not_zero(&ev->refs))
			call_rcu_hurry(&ev->signal_rcu, io_eventfd_late_signal);
	}
}

static void io_notify_pollers(struct io_ring_ctx *ctx)
{
	/* order this after the tail or the push; model: NO_SLEEPER */
	if (wq_has_sleeper(&ctx->notify.wait))
		__wake_up(&ctx->notify.wait, TASK_NORMAL, 0,
			  poll_to_key(EPOLL_URING_WAKE | EPOLLIN));
}

static void io_notify_look_again(struct rcu_head *rcu)
{
	struct io_ring_ctx *ctx = container_of(rcu, struct io_ring_ctx, notify.rcu);

	guard(rcu)();
	if (io_cq_ready(ctx) || test_bit(IO_CHECK_CQ_OVERFLOW, &ctx->check_cq))
		io_notify_pollers(ctx);
	percpu_ref_put(&ctx->refs);
}

/**
 * io_notify_activate - prepare a ring for a poll of its file
 * @ctx: the ring, kept alive by its file
 *
 * After this call, publications of CQEs and pushes notify pollers.  The caller queues
 * itself on the wait queue before it checks the CQ.
 *
 * On multi-writer rings cq.lock orders this with publications.  On single-writer rings the ring
 * lock does so, but this function does not wait for that lock.  If the lock is held, a concurrent
 * commit and the poller may miss each other (D in ring/cq.c).  After a grace period each CPU has
 * had a full barrier, so later commits find the bit.  An RCU callback checks the CQ at that time
 * for earlier commits, and wakes all pollers.  No task waits for the callback.
 * (model: NO_GRACE)
 */
void io_notify_activate(struct io_ring_ctx *ctx)
{
	if (likely(test_bit(IO_LISTEN_POLL, &ctx->listeners)))
		return;
	if (!ctx->cq.single_writer) {
		guard(spinlock)(&ctx->cq.lock);
		set_bit(IO_LISTEN_POLL, &ctx->listeners);
	} else if (io_ring_trylock(ctx)) {
		set_bit(IO_LISTEN_POLL, &ctx->listeners);
		io_ring_unlock(ctx);
	} else if (!test_and_set_bit(IO_LISTEN_POLL, &ctx->listeners)) {
		percpu_ref_get(&ctx->refs);
		call_rcu_hurry(&ctx->notify.rcu, io_notify_look_again);
	}
}

/**
 * io_notify_poll - wake the ring's pollers
 * @ctx: the ring
 *
 * Context: Any.
 */
void io_notify_poll(struct io_ring_ctx *ctx)
{
	if (test_bit(IO_LISTEN_POLL, &ctx->listeners))
		io_notify_pollers(ctx);
}

/**
 * io_notify_listeners - wake the ring's pollers and signal its eventfd
 * @ctx: the ring
 *
 * EPOLL_URING_WAKE prevents recursive wake-ups of a ring that polls itself, and of rings
 * that poll each other.
 *
 * Context: Any.
 */
void io_notify_listeners(struct io_ring_ctx *ctx)
{
	io_notify_poll(ctx);
	if (test_bit(IO_LISTEN_EVENTFD, &ctx->listeners))
		io_eventfd_signal(ctx);
}

static void io_notify_work(struct work_struct *work)
{
	struct io_ring_ctx *ctx = container_of(to_delayed_work(work), struct io_ring_ctx,
					       notify.work);

	/* if the mailbox is empty, the owner has the items, and its commit notifies listeners */
	if (io_mailbox_pending(&ctx->mailbox))
		io_notify_listeners(ctx);
}

/**
 * io_notify_init - initialize the wait queues of a new ring
 * @ctx: the ring
 */
void io_notify_init(struct io_ring_ctx *ctx)
{
	init_waitqueue_head(&ctx->cq_wait);
	init_waitqueue_head(&ctx->notify.wait);
	INIT_DELAYED_WORK(&ctx->notify.work, io_notify_work);
}

/**
 * io_notify_listeners_late - notify the listeners of a single-writer ring's mailbox later
 * @ctx: the ring; the caller is within RCU, or holds a reference
 * @told: the only listener is an eventfd that is being signalled right now
 *
 * A reader of the eventfd that is being signalled takes the eventfd's lock after this push,
 * and finds the item: no further signal is needed.  But a waiter that the signal has woken,
 * and that does not read, may have checked the ring before the push.  So the eventfd is
 * signalled again after IO_NOTIFY_REMIND if the mailbox is still not empty.
 *
 * Context: Any, also the wake-up of this ring's or another ring's listeners.
 */
void io_notify_listeners_late(struct io_ring_ctx *ctx, bool told)
{
	if (told)
		queue_delayed_work(system_dfl_wq, &ctx->notify.work, IO_NOTIFY_REMIND);
	else
		mod_delayed_work(system_dfl_wq, &ctx->notify.work, 0);
}

/**
 * io_notify_posted - wake all waiters after CQEs were published
 * @ctx: the ring
 * @sleepers: a task may sleep on ctx->cq_wait
 *
 * Context: Task context.  The caller does not hold cq.lock.
 */
void io_notify_posted(struct io_ring_ctx *ctx, bool sleepers)
{
	if (sleepers)
		__wake_up(&ctx->cq_wait, TASK_NORMAL, 0, NULL);
	if (READ_ONCE(ctx->listeners))
		io_notify_listeners(ctx);
}

/**
 * io_notify_try_early - do the slow part of io_notify_early()
 * @ctx: the ring
 * @waiter: the task that sleeps
 *
 * Context: Any.
 * Return: true if the caller has to wake @waiter.
 */
bool io_notify_try_early(struct io_ring_ctx *ctx, struct task_struct *waiter)
{
	if (!io_current_is_worker())
		return false;
	WRITE_ONCE(ctx->wake_early, false);
	return idle_cpu(task_cpu(waiter));
}

/**
 * io_notify_overflow - wake pollers and sleepers after CQEs went to the overflow list
 * @ctx: the ring
 *
 * A poll of the ring reports overflowed CQEs, so each batch is an event for pollers.  Eventfds
 * are signalled only for CQEs in the ring.  A full CQ has enough CQEs to end each wait.  But with
 * IORING_SETUP_CQE_MIXED, a CQE of two slots overflows while one slot is free, and ends the wait.
 *
 * Context: Task context.  The caller does not hold cq.lock.
 */
void io_notify_overflow(struct io_ring_ctx *ctx)
{
	io_notify_poll(ctx);
	if (ctx->cq.mixed && wq_has_sleeper(&ctx->cq_wait))
		__wake_up(&ctx->cq_wait, TASK_NORMAL, 0, NULL);
}

/**
 * io_eventfd_register - handle IORING_REGISTER_EVENTFD and _EVENTFD_ASYNC
 * @ctx: the ring, its lock held
 * @arg: user pointer to the descriptor
 * @async: signal only CQEs that workers post
 *
 * Return: 0; -EBUSY if one is registered; -EFAULT, -ENOMEM, or an error of eventfd_ctx_fdget().
 */
int io_eventfd_register(struct io_ring_ctx *ctx, void __user *arg, bool async)
{
	struct eventfd_ctx *eventfd;
	struct io_ev_fd *ev;
	s32 fd;

	io_assert_ring(ctx);
	if (rcu_access_pointer(ctx->notify.ev_fd))
		return -EBUSY;
	if (copy_from_user(&fd, arg, sizeof(fd)))
		return -EFAULT;
	eventfd = eventfd_ctx_fdget(fd);
	if (IS_ERR(eventfd))
		return PTR_ERR(eventfd);
	ev = kzalloc_obj(*ev, GFP_KERNEL_ACCOUNT);
	if (!ev) {
		eventfd_ctx_put(eventfd);
		return -ENOMEM;
	}
	ev->eventfd = eventfd;
	ev->async_only = async;
	refcount_set(&ev->refs, 1);
	rcu_assign_pointer(ctx->notify.ev_fd, ev);
	if (ctx->cq.single_writer) {
		set_bit(IO_LISTEN_EVENTFD, &ctx->listeners);
		/* the program either finds IORING_SQ_TASKRUN set or gets a signal */
		/* pairs with the barrier in io_taskrun_update(); model: NO_LISTEN */
		smp_mb__after_atomic();
	} else {
		/* a worker either has published before this section, or finds the bit */
		/* model: NO_REGISTER */
		guard(spinlock)(&ctx->cq.lock);
		set_bit(IO_LISTEN_EVENTFD, &ctx->listeners);
	}
	return 0;
}

/**
 * io_eventfd_unregister - remove the ring's eventfd
 * @ctx: the ring, its lock held
 *
 * Return: 0, or -ENXIO if the ring has no eventfd.
 */
int io_eventfd_unregister(struct io_ring_ctx *ctx)
{
	struct io_ev_fd *ev;

	io_assert_ring(ctx);
	ev = rcu_dereference_protected(ctx->notify.ev_fd, lockdep_is_held(&ctx->uring_lock.mutex));
	if (!ev)
		return -ENXIO;
	clear_bit(IO_LISTEN_EVENTFD, &ctx->listeners);
	rcu_assign_pointer(ctx->notify.ev_fd, NULL);
	io_ev_fd_put(ev);
	return 0;
}
