// SPDX-License-Identifier: GPL-2.0
/* io_uring: telling those who wait: sleepers, poll(2) on the ring, eventfd */

/*
 * A commit that published CQEs comes here once.  Sleepers in io_uring_enter()
 * have their own wake functions, which look at the published tail, so each is
 * examined and only those whose CQEs are there wake up (sys/wait.c).
 *
 * The eventfd hangs off the ring by RCU.  Registered with EVENTFD_ASYNC it
 * fires only for what workers post.  Where the signal itself would recurse (a
 * wakeup handler of an eventfd posts to a ring that owns an eventfd), it is
 * sent from an RCU callback instead.
 *
 * A waiter that is woken may push to a ring itself: a ring that polls this one, an epoll
 * instance or an eventfd that this one wakes, or this one itself.  The wake's key
 * has EPOLL_URING_WAKE, which epoll passes on.  A poll that sees it in a wake-up
 * leaves the news of its own ring to ctx->notify.work (IO_PUSH_LATE): the locks
 * of two rings' waitqueues never nest.
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

/* time until an eventfd is signalled once more for entries that were not taken */
#define IO_NOTIFY_REMIND	HZ

/**
 * struct io_ev_fd - a registered eventfd
 * @eventfd: the eventfd
 * @refs: the ring, and a signal that was put off
 * @pending: (A) a signal was put off
 * @async_only: signal only what workers post
 * @rcu: for freeing
 * @signal_rcu: for putting off
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

/* Readers find it by RCU, so it stays for a grace period after the last put. */
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
 * Any context.
 *
 * Return: true if it is.
 */
bool io_eventfd_is(struct io_ring_ctx *ctx, struct file *file)
{
	struct io_ev_fd *ev;

	guard(rcu)();
	ev = rcu_dereference(ctx->notify.ev_fd);
	/* nothing but eventfd's own files points to one */
	return ev && file->private_data == ev->eventfd;
}

/* Signal the ring's eventfd, if there is one and it wants to know.  Any context. */
static void io_eventfd_signal(struct io_ring_ctx *ctx)
{
	struct io_ev_fd *ev;

	if (READ_ONCE(ctx->rings->cq_flags) & IORING_CQ_EVENTFD_DISABLED)
		return;
	guard(rcu)();
	ev = rcu_dereference(ctx->notify.ev_fd);
	/* the SQPOLL thread is PF_IO_WORKER, too, but no worker of a pool */
	if (!ev || (ev->async_only && !(current->flags & PF_IO_WORKER && current->worker_private)))
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
	if (wq_has_sleeper(&ctx->notify.wait))
		__wake_up(&ctx->notify.wait, TASK_NORMAL, 0,
			  poll_to_key(EPOLL_URING_WAKE | EPOLLIN));
}

static void io_notify_look_again(struct rcu_head *rcu)
{
	struct io_ring_ctx *ctx = container_of(rcu, struct io_ring_ctx, notify.rcu);

	if (io_cq_ready(ctx))
		io_notify_pollers(ctx);
	percpu_ref_put(&ctx->refs);
}

/**
 * io_notify_activate - prepare a ring for a poll of its file
 * @ctx: the ring, kept alive by its file
 *
 * From here on publications of CQEs and pushes notify the poller.  The caller checks the CQ
 * after it has queued itself.
 *
 * On multi-writer rings cq.lock orders this with publications.  On single-writer ones that is
 * the ring lock, for which this function does not wait.  If it is held, a commit may be under
 * way that has not seen the poller and whose tail is not seen yet (D in ring/cq.c).  A grace
 * period later each CPU has had a full barrier: that commit is seen, or sees the poller.  Then
 * the CQ is checked once more for all pollers, later ones included.  No task waits for that.
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
 * io_notify_listeners - wake the ring's pollers, signal its eventfd
 * @ctx: the ring
 *
 * Any context.
 *
 * EPOLL_URING_WAKE stops a ring that polls itself, or a chain of rings that
 * poll each other, from waking in circles.
 */
void io_notify_listeners(struct io_ring_ctx *ctx)
{
	if (test_bit(IO_LISTEN_POLL, &ctx->listeners))
		io_notify_pollers(ctx);
	if (test_bit(IO_LISTEN_EVENTFD, &ctx->listeners))
		io_eventfd_signal(ctx);
}

static void io_notify_work(struct work_struct *work)
{
	struct io_ring_ctx *ctx = container_of(to_delayed_work(work), struct io_ring_ctx,
					       notify.work);

	/* the owner has come, and announces itself what it makes of it */
	if (io_mailbox_pending(&ctx->mailbox))
		io_notify_listeners(ctx);
}

/**
 * io_notify_init - for a new ring
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
 * @told: the only listener is an eventfd that is being signalled just now
 *
 * Any context, in particular the wake-up of another ring's listeners, or of
 * those of this one.
 *
 * A reader of the eventfd that is being signalled takes its lock after us, and finds
 * the item: once is enough.  But a waiter that it wakes without reading may have come
 * and gone before the push, so the eventfd is signalled again if no task comes.
 */
void io_notify_listeners_late(struct io_ring_ctx *ctx, bool told)
{
	if (told)
		queue_delayed_work(system_unbound_wq, &ctx->notify.work, IO_NOTIFY_REMIND);
	else
		mod_delayed_work(system_unbound_wq, &ctx->notify.work, 0);
}

/**
 * io_notify_posted - tell those who wait that CQEs were published
 * @ctx: the ring
 * @sleepers: a task may sleep on ctx->cq_wait
 *
 * Task context; on multi-writer rings after cq.lock was released.
 */
void io_notify_posted(struct io_ring_ctx *ctx, bool sleepers)
{
	if (sleepers)
		__wake_up(&ctx->cq_wait, TASK_NORMAL, 0, NULL);
	if (READ_ONCE(ctx->listeners))
		io_notify_listeners(ctx);
}

/**
 * io_notify_overflow - tell pollers that CQEs wait on the overflow list
 * @ctx: the ring
 *
 * A poll of the ring finds them, so each batch is an event.  It is none for eventfds, which
 * tell what is in the ring, nor for sleepers, whose CQEs are there when the CQ is full.
 *
 * Task context; on multi-writer rings after cq.lock was released.
 */
void io_notify_overflow(struct io_ring_ctx *ctx)
{
	if (test_bit(IO_LISTEN_POLL, &ctx->listeners))
		io_notify_pollers(ctx);
}

/**
 * io_eventfd_register - IORING_REGISTER_EVENTFD and _EVENTFD_ASYNC
 * @ctx: the ring, its lock held
 * @arg: user pointer to the descriptor
 * @async: signal only what workers post
 *
 * Return: 0, -EBUSY if there is one, -EFAULT, or what eventfd_ctx_fdget() says.
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
	ev = kzalloc(sizeof(*ev), GFP_KERNEL_ACCOUNT);
	if (!ev) {
		eventfd_ctx_put(eventfd);
		return -ENOMEM;
	}
	ev->eventfd = eventfd;
	ev->async_only = async;
	refcount_set(&ev->refs, 1);
	rcu_assign_pointer(ctx->notify.ev_fd, ev);
	set_bit(IO_LISTEN_EVENTFD, &ctx->listeners);
	return 0;
}

/**
 * io_eventfd_unregister - IORING_UNREGISTER_EVENTFD, and when the ring goes
 * @ctx: the ring, its lock held
 *
 * Return: 0, or -ENXIO if there is none.
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
