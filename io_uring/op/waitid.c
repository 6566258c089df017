// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_WAITID - wait for a child without a thread that sleeps */

/*
 * The request stands in the queue of the waiters for the process's children.  An event
 * of a child that it may wait for takes it off and sends it back to its task, where it
 * looks: children can be looked at by their parent alone.  If another waiter was faster
 * it stands in the queue again.
 *
 * ->state says who sends it: the task itself, which looked while an event came and has to
 * look again; otherwise the event or a cancel, whichever comes first.
 */
#include <linux/compat.h>
#include <linux/errno.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "../../kernel/exit.h"

#include "complete/complete.h"
#include "op/list.h"
#include "req/parked.h"

enum io_waitid_state {
	IO_WAITID_LOOKS,	/* its task looks for a child */
	IO_WAITID_WAITS,	/* for an event, or a cancel */
	IO_WAITID_SENT,		/* either has come, maybe while its task looked */
};

/**
 * struct io_waitid - arguments of waitid(2)
 * @infop: where the answer goes
 * @head: the queue, of the process that has submitted it, whose task the request holds
 * @state: enum io_waitid_state
 * @which: P_*
 * @upid: the process, or group
 * @options: W*
 * @cancelled: (R) ends with -ECANCELED
 */
struct io_waitid {
	struct siginfo __user	*infop;
	struct wait_queue_head	*head;
	atomic_t		state;
	int			which;
	pid_t			upid;
	int			options;
	bool			cancelled;
};

IO_OP_DATA(io_waitid);

/**
 * struct io_waitid_wait - ->async_data
 * @opts: what is waited for, with the entry of the queue
 * @info: the answer
 * @req: the request
 */
struct io_waitid_wait {
	struct wait_opts	opts;
	struct waitid_info	info;
	struct io_kiocb		*req;
};

static struct io_waitid_wait *io_waitid_wait(const struct io_kiocb *req)
{
	return req->async_data;
}

static int io_waitid_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_waitid *waitid = io_waitid(req);

	if (READ_ONCE(sqe->addr) || req->buf_index || READ_ONCE(sqe->addr3) ||
	    READ_ONCE(sqe->waitid_flags))
		return -EINVAL;
	waitid->which = READ_ONCE(sqe->len);
	waitid->upid = READ_ONCE(sqe->fd);
	waitid->options = READ_ONCE(sqe->file_index);
	waitid->infop = u64_to_user_ptr(READ_ONCE(sqe->addr2));
	waitid->cancelled = false;
	if (!io_req_alloc_async(req, sizeof(struct io_waitid_wait)))
		return -ENOMEM;
	/* looking does not block */
	req->flags &= ~REQ_F_FORCE_ASYNC;
	return 0;
}

static void io_waitid_cleanup(struct io_kiocb *req)
{
	put_pid(io_waitid_wait(req)->opts.wo_pid);
}

/* Leave the queue, if it stands in it. */
static void io_waitid_unqueue(struct io_kiocb *req)
{
	guard(spinlock_irq)(&io_waitid(req)->head->lock);
	list_del_init(&io_waitid_wait(req)->opts.child_wait.entry);
}

#define IO_PUT_SIGINFO(type, infop, info, signo)			\
({									\
	type __user *_to = (type __user *)(infop);			\
	bool _ok = user_write_access_begin(_to, sizeof(*_to));		\
									\
	if (_ok) {							\
		unsafe_put_user(signo, &_to->si_signo, fault);		\
		unsafe_put_user(0, &_to->si_errno, fault);		\
		unsafe_put_user((info)->cause, &_to->si_code, fault);	\
		unsafe_put_user((info)->pid, &_to->si_pid, fault);	\
		unsafe_put_user((info)->uid, &_to->si_uid, fault);	\
		unsafe_put_user((info)->status, &_to->si_status, fault);\
		user_write_access_end();				\
	}								\
	_ok;								\
})

/* Tell about the child; by the task.  Return: done? */
static bool io_waitid_tell(struct io_kiocb *req, int signo)
{
	const struct waitid_info *info = &io_waitid_wait(req)->info;
	void __user *infop = io_waitid(req)->infop;

	if (!infop)
		return true;
#ifdef CONFIG_COMPAT
	if (req->ctx->compat)
		return IO_PUT_SIGINFO(struct compat_siginfo, infop, info, signo);
#endif
	return IO_PUT_SIGINFO(struct siginfo, infop, info, signo);
fault:
	user_write_access_end();
	return false;
}

/* What waitid(2) makes of what it found.  Return: the result of the request. */
static int io_waitid_result(struct io_kiocb *req, long found)
{
	bool told = io_waitid_tell(req, found > 0 ? SIGCHLD : 0);

	if (found == -ECANCELED || told)
		return min(found, 0L);
	return -EFAULT;
}

static void io_waitid_mail(struct io_ring_ctx *ctx, struct io_mail *mail,
			   unsigned int issue_flags);

/*
 * Look for a child, in the task that waits for it.  An event that comes during the look
 * asks for another one.  That is made by the request's own mail: a child that stops and
 * goes on all the time must not keep the task here, with the ring lock held.
 *
 * Return: -ERESTARTSYS if it waits on; else it has left the queue.
 */
static long io_waitid_look(struct io_kiocb *req)
{
	struct wait_opts *opts = &io_waitid_wait(req)->opts;
	struct io_waitid *waitid = io_waitid(req);
	long found;

	atomic_set(&waitid->state, IO_WAITID_LOOKS);
	add_wait_queue(waitid->head, &opts->child_wait);
	found = __do_wait(opts);
	if (found != -ERESTARTSYS) {
		io_waitid_unqueue(req);
		return found;
	}
	io_req_move(req, IO_REQ_PARKED);
	if (atomic_cmpxchg(&waitid->state, IO_WAITID_LOOKS, IO_WAITID_WAITS) != IO_WAITID_LOOKS)
		io_req_push(req, io_waitid_mail, IO_PUSH_NOW);
	return found;
}

/* An event, or a cancel. */
static void io_waitid_mail(struct io_ring_ctx *ctx, struct io_mail *mail,
			   unsigned int issue_flags)
{
	struct io_kiocb *req = io_mail_to_req(mail);
	bool dead = issue_flags & IO_URING_F_TASK_DEAD;
	long found = -ECANCELED;

	/* a task that is killed runs its mail first, and this may come again and again */
	if (!dead && !io_waitid(req)->cancelled && io_may_park(req) &&
	    !fatal_signal_pending(current))
		found = io_waitid_look(req);
	if (found == -ERESTARTSYS)
		return;
	io_unpark(req);
	io_done(req, dead ? -ECANCELED : io_waitid_result(req, found));
	io_complete(req);
}

/* Something has happened to a child; the queue's lock is held. */
static int io_waitid_event(struct wait_queue_entry *entry, unsigned int mode, int sync, void *key)
{
	struct wait_opts *opts = container_of(entry, struct wait_opts, child_wait);
	struct io_waitid_wait *wait = container_of(opts, struct io_waitid_wait, opts);
	struct io_kiocb *req = wait->req;

	if (!pid_child_should_wake(opts, key))
		return 0;
	list_del_init(&entry->entry);
	/* it may find nothing, so it has to run for anything to come */
	if (atomic_xchg(&io_waitid(req)->state, IO_WAITID_SENT) == IO_WAITID_WAITS)
		io_req_push(req, io_waitid_mail, IO_PUSH_NOW);
	return 1;
}

static bool io_waitid_cancel(struct io_kiocb *req)
{
	struct io_waitid *waitid = io_waitid(req);

	/* its mail, if that is under way already, looks at this */
	waitid->cancelled = true;
	io_parked_hide(req);
	if (atomic_cmpxchg(&waitid->state, IO_WAITID_WAITS, IO_WAITID_SENT) == IO_WAITID_WAITS) {
		io_waitid_unqueue(req);
		io_req_push(req, io_waitid_mail, IO_PUSH_NOW);
	}
	return true;
}

static enum io_result io_waitid_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_waitid_wait *wait = io_waitid_wait(req);
	struct io_waitid *waitid = io_waitid(req);
	long found;

	if (!io_may_park(req))
		return io_done(req, -ECANCELED);
	memset(wait, 0, sizeof(*wait));
	found = kernel_waitid_prepare(&wait->opts, waitid->which, waitid->upid, &wait->info,
				      waitid->options, NULL);
	if (found)
		return io_done(req, found);
	req->flags |= REQ_F_NEED_CLEANUP;
	wait->req = req;
	waitid->head = &current->signal->wait_chldexit;
	init_waitqueue_func_entry(&wait->opts.child_wait, io_waitid_event);
	wait->opts.child_wait.private = current;
	io_park_poll(req);
	found = io_waitid_look(req);
	if (found == -ERESTARTSYS)
		return IO_PARKED;
	io_unpark(req);
	return io_done(req, io_waitid_result(req, found));
}

const struct io_op io_op_waitid = {
	.cancel_counts	= 1,
	.prep		= io_waitid_prep,
	.issue		= io_waitid_issue,
	.cleanup	= io_waitid_cleanup,
	.cancel		= io_waitid_cancel,
};
