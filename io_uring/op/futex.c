// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_FUTEX_WAIT, FUTEX_WAITV, FUTEX_WAKE - futexes without a thread that sleeps */

/*
 * A wait queues one entry on each of its futexes, a FUTEX_WAIT on its only one.
 * A task that wakes one of them calls io_futex_woken() with the lock of that futex's
 * hash bucket held.  Several wakers and a cancel may come at the same time: the first
 * that changes ->state decides how the wait ends, and pushes the request's mail.
 * io_futex_mail() then takes the other entries off their futexes and completes it.
 *
 * A waker changes ->state before it takes its entry off.  Once an entry is off, its
 * waker does not touch the request any more, with one exception: the waker that has
 * decided still pushes the mail, and the request lives until that has run.
 *
 * Futexes are known by the memory of the task.  A wait counts as one that has to end
 * with its task (io_req_track()), so that none is left when the memory goes.
 */
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../../kernel/futex/futex.h"

#include "complete/complete.h"
#include "op/list.h"
#include "req/parked.h"

/* io_futex->state, if it is not the index of the futex that was woken */
enum {
	IO_FUTEX_CANCELLED	= -3,	/* ends with -ECANCELED */
	IO_FUTEX_SETUP		= -2,	/* is being queued: its issuer ends it */
	IO_FUTEX_WAITS		= -1,	/* the first waker, or a cancel, ends it */
};

/**
 * struct io_futex - a wait or a wake
 * @futexes: waits: the futexes, freed by ->cleanup
 * @nr: their number
 * @state: waits: IO_FUTEX_*, or the first that was woken
 * @uaddr: wakes: the futex
 * @mask: wakes: whom to wake
 * @wake: wakes: how many
 * @flags: wakes: FLAGS_*
 */
struct io_futex {
	union {
		struct {
			struct futex_vector	*futexes;
			unsigned int		nr;
			atomic_t		state;
		};
		struct {
			u32 __user		*uaddr;
			u32			mask;
			int			wake;
			unsigned int		flags;
		};
	};
};

IO_OP_DATA(io_futex);

/* The wait has ended: its result is decided, and it waits on some of its futexes still. */
static void io_futex_mail(struct io_ring_ctx *ctx, struct io_mail *mail, unsigned int issue_flags)
{
	struct io_kiocb *req = io_mail_to_req(mail);
	struct io_futex *futex = io_futex(req);
	int state = atomic_read(&futex->state);

	futex_unqueue_multiple(futex->futexes, futex->nr);
	io_unpark(req);
	io_done(req, state == IO_FUTEX_CANCELLED ? -ECANCELED : state);
	io_complete(req);
}

/* A futex was woken; futex_q->wake.  Its bucket's lock is held. */
static void io_futex_woken(struct wake_q_head *wake_q, struct futex_q *q)
{
	struct futex_vector *one = container_of(q, struct futex_vector, q);
	struct io_kiocb *req = q->wake_data;
	struct io_futex *futex = io_futex(req);
	int state = atomic_read(&futex->state);

	while (state == IO_FUTEX_SETUP || state == IO_FUTEX_WAITS)
		if (atomic_try_cmpxchg(&futex->state, &state, one - futex->futexes))
			break;
	/* afterwards the request may be gone, unless it waits for our mail */
	__futex_wake_mark(q);
	if (state == IO_FUTEX_WAITS)
		io_req_push(req, io_futex_mail, 0);
}

static bool io_futex_cancel(struct io_kiocb *req)
{
	struct io_futex *futex = io_futex(req);
	int old;

	/* a waker may have been first, but in both cases the request ends */
	io_parked_hide(req);
	old = atomic_cmpxchg(&futex->state, IO_FUTEX_WAITS, IO_FUTEX_CANCELLED);
	if (old == IO_FUTEX_WAITS)
		io_req_push(req, io_futex_mail, 0);
	return old == IO_FUTEX_WAITS || old == IO_FUTEX_CANCELLED;
}

/* Memory for @nr futexes, which ->cleanup frees. */
static int io_futex_alloc(struct io_kiocb *req, unsigned int nr)
{
	struct io_futex *futex = io_futex(req);

	futex->futexes = kcalloc(nr, sizeof(*futex->futexes), GFP_KERNEL_ACCOUNT);
	if (!futex->futexes)
		return -ENOMEM;
	futex->nr = nr;
	req->flags |= REQ_F_NEED_CLEANUP;
	/* queueing does not block */
	req->flags &= ~REQ_F_FORCE_ASYNC;
	return 0;
}

static void io_futex_cleanup(struct io_kiocb *req)
{
	kfree(io_futex(req)->futexes);
}

/* One futex, of FUTEX_WAIT or FUTEX_WAKE.  Return: its FLAGS_*, or a negative errno. */
static int io_futex_check(struct io_kiocb *req, const struct io_uring_sqe *sqe, u64 val, u64 mask)
{
	unsigned int flags = READ_ONCE(sqe->fd);

	if (READ_ONCE(sqe->len) || READ_ONCE(sqe->futex_flags) || req->buf_index ||
	    READ_ONCE(sqe->file_index))
		return -EINVAL;
	if (flags & ~FUTEX2_VALID_MASK)
		return -EINVAL;
	flags = futex2_to_flags(flags);
	if (!futex_flags_valid(flags) || !futex_validate_input(flags, val) ||
	    !futex_validate_input(flags, mask))
		return -EINVAL;
	return flags;
}

static int io_futex_wait_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	u64 val = READ_ONCE(sqe->addr2), mask = READ_ONCE(sqe->addr3);
	int flags = io_futex_check(req, sqe, val, mask);
	struct futex_vector *one;
	int ret;

	if (flags < 0)
		return flags;
	/* nobody could wake it */
	if (!mask)
		return -EINVAL;
	ret = io_futex_alloc(req, 1);
	if (ret)
		return ret;
	one = io_futex(req)->futexes;
	one->w.uaddr = READ_ONCE(sqe->addr);
	one->w.val = val;
	one->w.flags = flags;
	one->q = futex_q_init;
	one->q.bitset = mask;
	one->q.wake = io_futex_woken;
	one->q.wake_data = req;
	return 0;
}

static int io_futex_waitv_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	unsigned int nr = READ_ONCE(sqe->len);
	int ret;

	if (READ_ONCE(sqe->fd) || READ_ONCE(sqe->off) || READ_ONCE(sqe->futex_flags) ||
	    req->buf_index || READ_ONCE(sqe->file_index) || READ_ONCE(sqe->addr3))
		return -EINVAL;
	if (!nr || nr > FUTEX_WAITV_MAX)
		return -EINVAL;
	ret = io_futex_alloc(req, nr);
	if (ret)
		return ret;
	return futex_parse_waitv(io_futex(req)->futexes, u64_to_user_ptr(READ_ONCE(sqe->addr)),
				 nr, io_futex_woken, req);
}

/*
 * Queue the wait on its futexes.  Return: 0 if it waits, else 1 with the index of one
 * that was woken meanwhile, or a negative errno; it is on none of them then.
 */
static int io_futex_queue(struct io_kiocb *req, int *woken)
{
	struct io_futex *futex = io_futex(req);
	int ret;

	atomic_set(&futex->state, IO_FUTEX_SETUP);
	ret = futex_wait_multiple_setup(futex->futexes, futex->nr, woken);
	/* it is set up for a task that sleeps on them */
	__set_current_state(TASK_RUNNING);
	if (ret)
		return ret;
	io_req_move(req, IO_REQ_PARKED);
	*woken = atomic_cmpxchg(&futex->state, IO_FUTEX_SETUP, IO_FUTEX_WAITS);
	if (*woken == IO_FUTEX_SETUP)
		return 0;
	futex_unqueue_multiple(futex->futexes, futex->nr);
	return 1;
}

static enum io_result io_futex_wait_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	int ret, woken;

	if (!io_may_park(req))
		return io_done(req, -ECANCELED);
	io_req_track(req);
	/* first: room for it may have to be made */
	io_park_poll(req);
	ret = io_futex_queue(req, &woken);
	if (!ret)
		return IO_PARKED;
	io_unpark(req);
	return io_done(req, ret < 0 ? ret : woken);
}

static int io_futex_wake_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	u64 val = READ_ONCE(sqe->addr2), mask = READ_ONCE(sqe->addr3);
	int flags = io_futex_check(req, sqe, val, mask);
	struct io_futex *futex = io_futex(req);

	if (flags < 0)
		return flags;
	futex->uaddr = u64_to_user_ptr(READ_ONCE(sqe->addr));
	futex->mask = mask;
	futex->wake = val;
	/* none are woken if none are to be, unlike with futex(2) */
	futex->flags = flags | FLAGS_STRICT;
	return 0;
}

static enum io_result io_futex_wake_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_futex *futex = io_futex(req);

	return io_done(req, futex_wake(futex->uaddr, futex->flags, futex->wake, futex->mask));
}

const struct io_op io_op_futex_wait = {
	.cancel_counts	= 1,
	.prep		= io_futex_wait_prep,
	.issue		= io_futex_wait_issue,
	.cleanup	= io_futex_cleanup,
	.cancel		= io_futex_cancel,
};

const struct io_op io_op_futex_waitv = {
	.cancel_counts	= 1,
	.prep		= io_futex_waitv_prep,
	.issue		= io_futex_wait_issue,
	.cleanup	= io_futex_cleanup,
	.cancel		= io_futex_cancel,
};

const struct io_op io_op_futex_wake = {
	.prep		= io_futex_wake_prep,
	.issue		= io_futex_wake_issue,
};
