// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_WAITID - wait for a child, without a sleeping thread */

/*
 * Every exit of a child walks the wait queue of its parent process, with tasklist_lock held.  Many
 * entries there would delay other processes.  So each task has one entry.  The requests of a task
 * are in a tree (tctx->waits), sorted by pid, type and ring.  Of several requests with equal pid,
 * type and ring, only the youngest is in the tree, and the others are linked to it.
 *
 * An event takes the youngest request off the tree and pushes it to its task, because only the
 * parent can look at a child.  The request's task work pushes the linked requests, so the event
 * itself costs little.  The task work also looks for a child.  If another waiter has already reaped
 * the child, the request goes back into the tree.
 *
 * An event may come while the task is looking.  ->state ensures that the event is not lost, and
 * that the request is pushed once:
 *
 *	task, holds the ring lock		event, holds the wait queue's lock
 *	->state = IO_WAITID_LOOKS
 *	io_waitid_enter()
 *	__do_wait() finds no child
 *						take the request off the tree
 *						->state: LOOKS -> SENT, do not push
 *	->state: LOOKS -> WAITS fails
 *	io_req_push(), to look again
 *
 * If no event comes, ->state becomes WAITS.  From then on, the first context that sets SENT pushes
 * the request: an event, the task work of the request to which it is linked, or a cancel.
 */
#include <linux/compat.h>
#include <linux/errno.h>
#include <linux/pid.h>
#include <linux/rbtree.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <uapi/linux/wait.h>

#include "../../kernel/exit.h"

#include "complete/complete.h"
#include "op/list.h"
#include "req/wait_table.h"

enum io_waitid_state {
	IO_WAITID_LOOKS,	/* the task is looking for a child */
	IO_WAITID_WAITS,	/* the request waits for an event or a cancel */
	IO_WAITID_SENT,		/* an event or a cancel has come, perhaps during LOOKS */
};

/**
 * struct io_waitid - arguments and state of a WAITID
 * @infop: user address for the result, or NULL
 * @head: wait queue of the submitting process, kept by the reference of the request to its task;
 *	the lock of @head protects tctx->waits
 * @state: (A) enum io_waitid_state
 * @which: P_*
 * @upid: pid, process group or pidfd, depending on @which
 * @options: W*
 * @cancelled: (R) the request ends with -ECANCELED
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

/* maximum number of linked requests that one request pushes */
#define IO_WAITID_STEP	64

/**
 * struct io_waitid_wait - the wait of a WAITID, in req->async_data
 * @opts: children and events that the request waits for
 * @info: the result
 * @req: the request
 * @key: address of the request's ring, plus 1 with __WNOTHREAD
 * @node: in tctx->waits, under the lock of the wait queue
 * @same: (R) links requests with the same key, type and pid, from the youngest to the oldest
 */
struct io_waitid_wait {
	struct wait_opts	opts;
	struct waitid_info	info;
	struct io_kiocb		*req;
	unsigned long		key;
	struct rb_node		node;
	struct list_head	same;
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
	/* a worker is not needed, as looking for a child does not block */
	req->flags &= ~REQ_F_FORCE_ASYNC;
	return 0;
}

static void io_waitid_cleanup(struct io_kiocb *req)
{
	put_pid(io_waitid_wait(req)->opts.wo_pid);
}

static struct io_waitid_wait *io_node_to_wait(struct rb_node *node)
{
	return rb_entry(node, struct io_waitid_wait, node);
}

/* Compare pid and type first, so that the waits for one event are neighbours in the tree. */
static int io_waitid_cmp(const struct io_waitid_wait *wait, enum pid_type type,
			 const struct pid *pid, unsigned long key)
{
	if (wait->opts.wo_pid != pid)
		return wait->opts.wo_pid < pid ? -1 : 1;
	if (wait->opts.wo_type != type)
		return wait->opts.wo_type < type ? -1 : 1;
	if (wait->key != key)
		return wait->key < key ? -1 : 1;
	return 0;
}

static void io_waitid_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			 unsigned int issue_flags);

/* Push a request to look for a child, unless it was pushed already or its task is looking. */
static void io_waitid_send(struct io_waitid_wait *wait)
{
	struct io_kiocb *req = wait->req;

	/* run the task work at once: it may find no child, and post no CQE */
	if (atomic_xchg(&io_waitid(req)->state, IO_WAITID_SENT) == IO_WAITID_WAITS)
		io_req_push(req, io_waitid_tw, IO_PUSH_NOW);
}

/* Handle an event of @child: push the requests that wait for @type and @pid. */
static void io_waitid_wake(struct io_uring_task *tctx, struct task_struct *child,
			   enum pid_type type, const struct pid *pid)
{
	struct rb_node *node = tctx->waits.rb_node, *next = NULL;

	while (node) {
		bool before = io_waitid_cmp(io_node_to_wait(node), type, pid, 0) < 0;

		if (!before)
			next = node;
		node = before ? node->rb_right : node->rb_left;
	}
	while (next) {
		struct io_waitid_wait *wait = io_node_to_wait(next);

		if (wait->opts.wo_pid != pid || wait->opts.wo_type != type)
			return;
		next = rb_next(next);
		if (!pid_child_should_wake(&wait->opts, child))
			continue;
		rb_erase(&wait->node, &tctx->waits);
		RB_CLEAR_NODE(&wait->node);
		io_waitid_send(wait);
	}
}

/* Wait function of the task's entry, called with the lock of the wait queue held. */
static int io_waitid_event(struct wait_queue_entry *entry, unsigned int mode, int sync, void *key)
{
	struct io_uring_task *tctx = container_of(entry, struct io_uring_task, child_wait);
	struct task_struct *child = key;

	io_waitid_wake(tctx, child, PIDTYPE_PID, task_pid(child));
	io_waitid_wake(tctx, child, PIDTYPE_PGID, task_pgrp(child));
	io_waitid_wake(tctx, child, PIDTYPE_MAX, NULL);
	if (RB_EMPTY_ROOT(&tctx->waits))
		list_del_init(&entry->entry);
	return 1;
}

/* Put a request into the tree, so that events find it. */
static void io_waitid_enter(struct io_kiocb *req)
{
	struct io_waitid_wait *at, *wait = io_waitid_wait(req);
	struct io_uring_task *tctx = req->tctx;
	struct rb_node **link, *parent = NULL;

	guard(spinlock_irq)(&io_waitid(req)->head->lock);
	if (RB_EMPTY_ROOT(&tctx->waits)) {
		init_waitqueue_func_entry(&tctx->child_wait, io_waitid_event);
		__add_wait_queue(io_waitid(req)->head, &tctx->child_wait);
	}
	for (link = &tctx->waits.rb_node; *link; ) {
		int cmp;

		parent = *link;
		at = io_node_to_wait(parent);
		cmp = io_waitid_cmp(at, wait->opts.wo_type, wait->opts.wo_pid, wait->key);
		if (!cmp) {
			rb_replace_node(parent, &wait->node, &tctx->waits);
			RB_CLEAR_NODE(parent);
			list_add_tail(&wait->same, &at->same);
			return;
		}
		link = cmp < 0 ? &parent->rb_right : &parent->rb_left;
	}
	rb_link_node(&wait->node, parent, link);
	rb_insert_color(&wait->node, &tctx->waits);
}

/* Push the requests that are linked to @req, after an event for @req. */
static void io_waitid_pass_on(struct io_kiocb *req)
{
	struct io_waitid_wait *next, *wait = io_waitid_wait(req);
	unsigned int left = IO_WAITID_STEP;

	while (unlikely(!list_empty(&wait->same))) {
		next = list_next_entry(wait, same);
		/* after IO_WAITID_STEP requests, unlink @req: next pushes the rest as task work */
		list_del_init(--left ? &next->same : &wait->same);
		io_waitid_send(next);
	}
}

/* Unlink a request.  Return: false if the request was pushed, or its task is looking; else true. */
static bool io_waitid_leave(struct io_kiocb *req)
{
	struct io_waitid_wait *wait = io_waitid_wait(req);
	struct rb_root *waits = &req->tctx->waits;
	int old;

	io_assert_ring(req->ctx);
	scoped_guard(spinlock_irq, &io_waitid(req)->head->lock) {
		old = atomic_xchg(&io_waitid(req)->state, IO_WAITID_SENT);
		if (RB_EMPTY_NODE(&wait->node))
			break;
		if (list_empty(&wait->same))
			rb_erase(&wait->node, waits);
		else
			rb_replace_node(&wait->node, &list_next_entry(wait, same)->node, waits);
		RB_CLEAR_NODE(&wait->node);
		if (RB_EMPTY_ROOT(waits))
			list_del_init(&req->tctx->child_wait.entry);
	}
	if (old == IO_WAITID_SENT)
		io_waitid_pass_on(req);
	else
		list_del_init(&wait->same);
	return old == IO_WAITID_WAITS;
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

/* Write the result to user memory, in the task's context.  Return: false after a fault. */
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

/* Report the child that was found, as waitid(2) does.  Return: the result of the request. */
static int io_waitid_result(struct io_kiocb *req, long found)
{
	bool told = io_waitid_tell(req, found > 0 ? SIGCHLD : 0);

	if (found == -ECANCELED || told)
		return min(found, 0L);
	return -EFAULT;
}

/*
 * Look for a child, in the task that waits for it.  If an event comes during the search, the task
 * looks again in task work, not here: a child that stops and continues all the time must not keep
 * the task in this function, with the ring lock held.
 *
 * Return: -ERESTARTSYS if the request waits, otherwise the result of __do_wait().  In the latter
 * case no event pushes the request any more.
 */
static long io_waitid_look(struct io_kiocb *req)
{
	struct io_waitid *waitid = io_waitid(req);
	long found;

	atomic_set(&waitid->state, IO_WAITID_LOOKS);
	io_waitid_enter(req);
	found = __do_wait(&io_waitid_wait(req)->opts);
	if (found != -ERESTARTSYS) {
		io_waitid_leave(req);
		return found;
	}
	io_req_move(req, IO_REQ_WAITING);
	if (atomic_cmpxchg(&waitid->state, IO_WAITID_LOOKS, IO_WAITID_WAITS) != IO_WAITID_LOOKS)
		io_req_push(req, io_waitid_tw, IO_PUSH_NOW);
	return found;
}

/* Handle an event or a cancel. */
static void io_waitid_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			 unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);
	bool dead = issue_flags & IO_URING_F_TASK_DEAD;
	long found = -ECANCELED;

	io_waitid_pass_on(req);
	/* a killed task runs its task work before it exits, so it must not look again and again */
	if (!dead && !io_waitid(req)->cancelled && io_may_add_waiting(req) &&
	    !fatal_signal_pending(current))
		found = io_waitid_look(req);
	if (found == -ERESTARTSYS)
		return;
	io_wait_table_del(req);
	io_done(req, dead ? -ECANCELED : io_waitid_result(req, found));
	io_complete(req);
}

static bool io_waitid_cancel(struct io_kiocb *req)
{
	/* task work that is already queued checks this flag */
	io_waitid(req)->cancelled = true;
	io_wait_table_hide(req);
	if (io_waitid_leave(req))
		io_req_push(req, io_waitid_tw, IO_PUSH_NOW);
	return true;
}

static enum io_result io_waitid_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_waitid_wait *wait = io_waitid_wait(req);
	struct io_waitid *waitid = io_waitid(req);
	long found;

	/* these are the children of the submitter, not those of its process */
	if (issue_flags & IO_URING_F_IOWQ && waitid->options & __WNOTHREAD)
		return IO_AGAIN;
	if (!io_may_add_waiting(req))
		return io_done(req, -ECANCELED);
	memset(wait, 0, sizeof(*wait));
	found = kernel_waitid_prepare(&wait->opts, waitid->which, waitid->upid, &wait->info,
				      waitid->options, NULL);
	if (found)
		return io_done(req, found);
	req->flags |= REQ_F_NEED_CLEANUP;
	wait->req = req;
	waitid->head = &current->signal->wait_chldexit;
	wait->opts.child_wait.private = current;
	wait->key = (unsigned long)req->ctx + !!(waitid->options & __WNOTHREAD);
	RB_CLEAR_NODE(&wait->node);
	INIT_LIST_HEAD(&wait->same);
	io_wait_table_add(req);
	found = io_waitid_look(req);
	if (found == -ERESTARTSYS)
		return IO_PENDING;
	io_wait_table_del(req);
	return io_done(req, io_waitid_result(req, found));
}

const struct io_op io_op_waitid = {
	.cancel_returns_count	= 1,
	.ring_lock	= 1,
	.prep		= io_waitid_prep,
	.issue		= io_waitid_issue,
	.cleanup	= io_waitid_cleanup,
	.cancel		= io_waitid_cancel,
};
