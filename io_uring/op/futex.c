// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_FUTEX_WAIT, FUTEX_WAITV, FUTEX_WAKE - futexes without a thread that sleeps */

/*
 * A wait queues an entry on each of its futexes.  A task that wakes one of them calls
 * the entry's ->wake with the lock of that futex's hash bucket held.  It takes the entry
 * off, and pushes the request's task work, which completes it.
 *
 * A FUTEX_WAIT has one entry.  The waker or the cancel that takes it off the futex, under the
 * bucket's lock, decides how the wait ends.
 *
 * A FUTEX_WAITV may have several wakers at the same time.  The first that changes ->state
 * decides how the wait ends, and pushes the request's task work; that takes the other entries
 * off their futexes.  A waker changes ->state before it takes its entry off.
 *
 * Once an entry is off, its waker does not touch the request any more, with one exception:
 * the waker that has decided still pushes the task work, and the request lives until that has run.
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
#include "req/wait_table.h"
#include "req/spare.h"

/* io_futex_vector->state, if it is not the index of the futex that was woken */
enum {
	IO_FUTEX_CANCELLED	= -3,	/* ends with -ECANCELED */
	IO_FUTEX_SETUP		= -2,	/* is being queued: its issuer ends it */
	IO_FUTEX_WAITS		= -1,	/* the first waker, or a cancel, ends it */
};

/**
 * struct io_futex_entry - what waits on a futex
 * @spare: for ctx->futexes
 * @q: on the futex
 */
struct io_futex_entry {
	struct io_spare	spare;
	struct futex_q	q;
};

/**
 * struct io_futex - a wait on one futex, or a wake
 * @uaddr: the futex
 * @flags: FLAGS_*
 * @val: waits: what it has to contain
 * @cancelled: waits: a cancel has taken the entry off; by the ring lock
 * @entry: waits: on the futex
 * @mask: wakes: whom to wake
 * @wake: wakes: how many
 */
struct io_futex {
	u32 __user	*uaddr;
	unsigned int	flags;
	union {
		struct {
			u32			val;
			bool			cancelled;
			struct io_futex_entry	*entry;
		};
		struct {
			u32			mask;
			int			wake;
		};
	};
};

/**
 * struct io_futex_vector - a wait on several futexes
 * @futexes: with their entries, freed by ->cleanup
 * @nr: their number
 * @state: IO_FUTEX_*, or the first that was woken
 */
struct io_futex_vector {
	struct futex_vector	*futexes;
	unsigned int		nr;
	atomic_t		state;
};

IO_OP_DATA(io_futex);
IO_OP_DATA(io_futex_vector);

/* A wait on one futex has ended. */
static void io_futex_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);
	struct io_futex *futex = io_futex(req);

	io_wait_table_del(req);
	io_spare_free(&ctx->futexes, &futex->entry->spare);
	req->flags &= ~REQ_F_NEED_CLEANUP;
	io_done(req, futex->cancelled ? -ECANCELED : 0);
	io_complete(req);
}

/* The futex was woken; futex_q->wake.  Its bucket's lock is held. */
static void io_futex_woken(struct wake_q_head *wake_q, struct futex_q *q)
{
	struct io_kiocb *req = q->wake_data;

	__futex_wake_mark(q);
	io_req_push(req, io_futex_tw, 0);
}

static bool io_futex_cancel(struct io_kiocb *req)
{
	struct io_futex *futex = io_futex(req);

	/* a waker may have been first, but in both cases the request ends */
	io_wait_table_hide(req);
	/* a limit may expire later, and an entry that is off must not be taken off again */
	if (!futex->cancelled && futex_unqueue(&futex->entry->q)) {
		futex->cancelled = true;
		io_req_push(req, io_futex_tw, 0);
	}
	return futex->cancelled;
}

/* It never came to wait. */
static void io_futex_cleanup(struct io_kiocb *req)
{
	kfree(io_futex(req)->entry);
}

/* A wait on several futexes has ended: its result is decided, and it waits on some still. */
static void io_futex_vector_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			       unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);
	struct io_futex_vector *vector = io_futex_vector(req);
	int state = atomic_read(&vector->state);

	if (state != IO_FUTEX_CANCELLED)
		futex_unqueue_multiple(vector->futexes, vector->nr);
	io_wait_table_del(req);
	io_done(req, state == IO_FUTEX_CANCELLED ? -ECANCELED : state);
	io_complete(req);
}

/* One of several futexes was woken; futex_q->wake.  Its bucket's lock is held. */
static void io_futex_vector_woken(struct wake_q_head *wake_q, struct futex_q *q)
{
	struct futex_vector *one = container_of(q, struct futex_vector, q);
	struct io_kiocb *req = q->wake_data;
	struct io_futex_vector *vector = io_futex_vector(req);
	int state = atomic_read(&vector->state);

	while (state == IO_FUTEX_SETUP || state == IO_FUTEX_WAITS)
		if (atomic_try_cmpxchg(&vector->state, &state, one - vector->futexes))
			break;
	/* afterwards the request may be gone, unless it waits for our task work */
	__futex_wake_mark(q);
	if (state == IO_FUTEX_WAITS)
		io_req_push(req, io_futex_vector_tw, 0);
}

static bool io_futex_vector_cancel(struct io_kiocb *req)
{
	struct io_futex_vector *vector = io_futex_vector(req);
	int old;

	io_wait_table_hide(req);
	old = atomic_cmpxchg(&vector->state, IO_FUTEX_WAITS, IO_FUTEX_CANCELLED);
	if (old == IO_FUTEX_WAITS) {
		/* now: until its task work runs it would take wakes that are for others */
		futex_unqueue_multiple(vector->futexes, vector->nr);
		io_req_push(req, io_futex_vector_tw, 0);
	}
	return old == IO_FUTEX_WAITS || old == IO_FUTEX_CANCELLED;
}

static void io_futex_vector_cleanup(struct io_kiocb *req)
{
	kfree(io_futex_vector(req)->futexes);
}

/* A wait has memory that ->cleanup frees. */
static void io_futex_has_memory(struct io_kiocb *req)
{
	req->flags |= REQ_F_NEED_CLEANUP;
	/* queueing does not block */
	req->flags &= ~REQ_F_FORCE_ASYNC;
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
	struct io_futex *futex = io_futex(req);
	struct futex_q *q;

	if (flags < 0)
		return flags;
	/* no waker could match it */
	if (!mask)
		return -EINVAL;
	futex->entry = io_spare_alloc(&req->ctx->futexes, sizeof(*futex->entry));
	if (!futex->entry)
		return -ENOMEM;
	io_futex_has_memory(req);
	q = &futex->entry->q;
	*q = futex_q_init;
	q->bitset = mask;
	q->wake = io_futex_woken;
	q->wake_data = req;
	futex->uaddr = u64_to_user_ptr(READ_ONCE(sqe->addr));
	futex->flags = flags;
	futex->val = val;
	futex->cancelled = false;
	return 0;
}

static int io_futex_waitv_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_futex_vector *vector = io_futex_vector(req);
	unsigned int nr = READ_ONCE(sqe->len);

	if (READ_ONCE(sqe->fd) || READ_ONCE(sqe->off) || READ_ONCE(sqe->futex_flags) ||
	    req->buf_index || READ_ONCE(sqe->file_index) || READ_ONCE(sqe->addr3))
		return -EINVAL;
	if (!nr || nr > FUTEX_WAITV_MAX)
		return -EINVAL;
	vector->futexes = kcalloc(nr, sizeof(*vector->futexes), GFP_KERNEL_ACCOUNT);
	if (!vector->futexes)
		return -ENOMEM;
	vector->nr = nr;
	io_futex_has_memory(req);
	return futex_parse_waitv(vector->futexes, u64_to_user_ptr(READ_ONCE(sqe->addr)),
				 nr, io_futex_vector_woken, req);
}

/* Add it before it is queued: wakers and searches have to find it.  Return: true if it may wait. */
static bool io_futex_add_waiting(struct io_kiocb *req)
{
	if (!io_may_add_waiting(req))
		return false;
	io_req_track(req);
	/* now: room for it may have to be made */
	io_wait_table_add(req);
	return true;
}

static enum io_result io_futex_wait_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_futex *futex = io_futex(req);
	int ret;

	if (!io_futex_add_waiting(req))
		return io_done(req, -ECANCELED);
	/* now: once it is queued, which no task sleeps on, a waker may end it */
	io_req_move(req, IO_REQ_WAITING);
	ret = futex_wait_setup(futex->uaddr, futex->val, futex->flags,
			       &futex->entry->q, NULL, NULL);
	if (likely(!ret))
		return IO_PENDING;
	io_wait_table_del(req);
	return io_done(req, ret);
}

/*
 * Queue the wait on its futexes.  Return: 0 if it waits, else 1 with the index of one
 * that was woken meanwhile, or a negative errno; it is on none of them then.
 */
static int io_futex_vector_queue(struct io_kiocb *req, int *woken)
{
	struct io_futex_vector *vector = io_futex_vector(req);
	int ret;

	atomic_set(&vector->state, IO_FUTEX_SETUP);
	ret = futex_wait_multiple_setup(vector->futexes, vector->nr, woken);
	/* it is set up for a task that sleeps on them */
	__set_current_state(TASK_RUNNING);
	if (ret)
		return ret;
	io_req_move(req, IO_REQ_WAITING);
	*woken = atomic_cmpxchg(&vector->state, IO_FUTEX_SETUP, IO_FUTEX_WAITS);
	if (*woken == IO_FUTEX_SETUP)
		return 0;
	futex_unqueue_multiple(vector->futexes, vector->nr);
	return 1;
}

static enum io_result io_futex_waitv_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	int ret, woken;

	if (!io_futex_add_waiting(req))
		return io_done(req, -ECANCELED);
	ret = io_futex_vector_queue(req, &woken);
	if (!ret)
		return IO_PENDING;
	io_wait_table_del(req);
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
	int ret = futex_wake(futex->uaddr, futex->flags, NULL, futex->wake, futex->mask);

	/* the scan of a long hash bucket takes milliseconds */
	if (unlikely(need_resched()))
		cond_resched();
	return io_done(req, ret);
}

const struct io_op io_op_futex_wait = {
	.cancel_returns_count	= 1,
	.prep		= io_futex_wait_prep,
	.issue		= io_futex_wait_issue,
	.cleanup	= io_futex_cleanup,
	.cancel		= io_futex_cancel,
};

const struct io_op io_op_futex_waitv = {
	.cancel_returns_count	= 1,
	.prep		= io_futex_waitv_prep,
	.issue		= io_futex_waitv_issue,
	.cleanup	= io_futex_vector_cleanup,
	.cancel		= io_futex_vector_cancel,
};

const struct io_op io_op_futex_wake = {
	.prep		= io_futex_wake_prep,
	.issue		= io_futex_wake_issue,
};
