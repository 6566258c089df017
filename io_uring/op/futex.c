// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_FUTEX_WAIT, FUTEX_WAITV, FUTEX_WAKE - futexes without a sleeping thread */

/*
 * A wait queues an entry (struct futex_q) on each of its futexes.  A task that wakes a futex calls
 * the entry's ->wake() with the lock of the futex's hash bucket held.  ->wake() takes the entry off
 * the futex and pushes the request's task work, which completes the request.
 *
 * A FUTEX_WAIT has one entry.  Either a waker or a cancel takes the entry off the futex, under the
 * bucket's lock, and decides the result.
 *
 * A FUTEX_WAITV may have several wakers at once.  The first waker or cancel that changes ->state
 * decides the result and pushes the task work, which takes the other entries off:
 *
 *	first waker				second waker
 *	->state: IO_FUTEX_WAITS -> 0
 *						->state is 0: not the first
 *						take entry 1 off
 *	take entry 0 off
 *	io_req_push(req, io_futex_vector_tw)
 *	io_futex_vector_tw()
 *	  take the other entries off
 *	  complete and free the request
 *
 * io_futex_vector_tw() waits for a bucket's lock only if the entry there is still queued.  So a
 * waker changes ->state before it takes its entry off, and must not access the request afterwards.
 * The first waker is an exception, as the request exists until its task work has run.
 *
 * A cancel takes all entries off itself.  If wakers were faster at some of them, the request ends
 * with the index of the last such entry, as futex_waitv(2) does when a signal meets a wake.
 *
 * The keys of private futexes contain the mm of the task.  So io_req_track() makes the task end all
 * waits before it drops its mm.  An exit that cannot end a wait keeps the mm (io_tctx_keep_mm()).
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

/* values of io_futex_vector->state other than the index of a woken futex */
enum {
	IO_FUTEX_CANCELLED	= -3,	/* the request ends with -ECANCELED */
	IO_FUTEX_SETUP		= -2,	/* entries are being queued; the issuer handles a wake */
	IO_FUTEX_WAITS		= -1,	/* the first waker, or a cancel, decides the result */
};

/**
 * struct io_futex_entry - the entry of a FUTEX_WAIT
 * @spare: links an unused entry into ctx->futexes
 * @q: queued on the futex
 */
struct io_futex_entry {
	struct io_spare	spare;
	struct futex_q	q;
};

/**
 * struct io_futex - a FUTEX_WAIT or a FUTEX_WAKE
 * @uaddr: user address of the futex
 * @flags: FLAGS_*
 * @val: FUTEX_WAIT: value that the futex has to contain
 * @cancelled: (R) FUTEX_WAIT: a cancel has taken the entry off the futex
 * @entry: FUTEX_WAIT: the entry on the futex
 * @mask: FUTEX_WAKE: bitset that a wait has to match
 * @wake: FUTEX_WAKE: maximum number of waits to wake
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
 * struct io_futex_vector - a FUTEX_WAITV
 * @futexes: the futexes and their entries, freed by ->cleanup()
 * @nr: number of @futexes; 0 after a cancel has taken all entries off
 * @state: (A) IO_FUTEX_*, or the index of a futex that was woken: the first that reported it, or
 *	the last in the order of @futexes if a cancel found it
 */
struct io_futex_vector {
	struct futex_vector	*futexes;
	unsigned int		nr;
	atomic_t		state;
};

IO_OP_DATA(io_futex);
IO_OP_DATA(io_futex_vector);

/* Complete a FUTEX_WAIT that a waker or a cancel has ended. */
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

/* The futex_q->wake() of a FUTEX_WAIT, called with the bucket's lock held. */
static void io_futex_woken(struct wake_q_head *wake_q, struct futex_q *q)
{
	struct io_kiocb *req = q->wake_data;

	__futex_wake_mark(q);
	io_req_push(req, io_futex_tw, 0);
}

static bool io_futex_cancel(struct io_kiocb *req)
{
	struct io_futex *futex = io_futex(req);

	/* hide it in any case: if futex_unqueue() fails, a waker ends the request */
	io_wait_table_hide(req);
	/* a LINK_TIMEOUT may cancel again, but futex_unqueue() must not succeed twice */
	if (!futex->cancelled && futex_unqueue(&futex->entry->q)) {
		futex->cancelled = true;
		io_req_push(req, io_futex_tw, 0);
	}
	return futex->cancelled;
}

/* Free the entry of a request that has not waited. */
static void io_futex_cleanup(struct io_kiocb *req)
{
	kfree(io_futex(req)->entry);
}

/* Complete a FUTEX_WAITV whose result is decided.  Its other entries may still be queued. */
static void io_futex_vector_tw(struct io_ring_ctx *ctx, struct io_tw *tw,
			       unsigned int issue_flags)
{
	struct io_kiocb *req = io_tw_to_req(tw);
	struct io_futex_vector *vector = io_futex_vector(req);
	int state = atomic_read(&vector->state);

	futex_unqueue_multiple(vector->futexes, vector->nr);
	io_wait_table_del(req);
	io_done(req, state == IO_FUTEX_CANCELLED ? -ECANCELED : state);
	io_complete(req);
}

/* The futex_q->wake() of a FUTEX_WAITV, called with the bucket's lock held. */
static void io_futex_vector_woken(struct wake_q_head *wake_q, struct futex_q *q)
{
	struct futex_vector *one = container_of(q, struct futex_vector, q);
	struct io_kiocb *req = q->wake_data;
	struct io_futex_vector *vector = io_futex_vector(req);
	int state = atomic_read(&vector->state);

	while (state == IO_FUTEX_SETUP || state == IO_FUTEX_WAITS)
		if (atomic_try_cmpxchg(&vector->state, &state, one - vector->futexes))
			break;
	/* after this the request may be freed, unless this waker pushes its task work */
	__futex_wake_mark(q);
	if (state == IO_FUTEX_WAITS)
		io_req_push(req, io_futex_vector_tw, 0);
}

static bool io_futex_vector_cancel(struct io_kiocb *req)
{
	struct io_futex_vector *vector = io_futex_vector(req);
	int state, woken;

	io_wait_table_hide(req);
	state = atomic_cmpxchg(&vector->state, IO_FUTEX_WAITS, IO_FUTEX_CANCELLED);
	if (state == IO_FUTEX_WAITS) {
		/* do not leave this to the task work: the entries would consume wakes until then */
		woken = futex_unqueue_multiple(vector->futexes, vector->nr);
		vector->nr = 0;
		/* an entry has consumed a wake after the cancel, so the CQE must tell the wake */
		state = woken < 0 ? IO_FUTEX_CANCELLED : woken;
		atomic_set(&vector->state, state);
		io_req_push(req, io_futex_vector_tw, 0);
	}
	return state == IO_FUTEX_CANCELLED;
}

static void io_futex_vector_cleanup(struct io_kiocb *req)
{
	kfree(io_futex_vector(req)->futexes);
}

/* Let ->cleanup() free the memory of a wait. */
static void io_futex_has_memory(struct io_kiocb *req)
{
	req->flags |= REQ_F_NEED_CLEANUP;
	/* a worker is not needed, as queueing an entry does not block */
	req->flags &= ~REQ_F_FORCE_ASYNC;
}

/* Check the SQE of FUTEX_WAIT or FUTEX_WAKE.  Return: FLAGS_*, or a negative errno. */
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
	/* no wake matches an empty bitset */
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

/*
 * Add a request to the wait table, before a waker can end it.  Return: false if the request must
 * not wait, because the task or the ring is ending; otherwise true.
 */
static bool io_futex_add_waiting(struct io_kiocb *req)
{
	/* before the check: an exit that finds no tracked request does not search the wait table */
	io_req_track(req);
	if (!io_may_add_waiting(req))
		return false;
	/* this may sleep to grow the table */
	io_wait_table_add(req);
	return true;
}

static enum io_result io_futex_wait_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_futex *futex = io_futex(req);
	int ret;

	if (!io_futex_add_waiting(req))
		return io_done(req, -ECANCELED);
	/* a waker may end the request as soon as its entry is queued */
	io_req_move(req, IO_REQ_WAITING);
	ret = futex_wait_setup(futex->uaddr, futex->val, futex->flags,
			       &futex->entry->q, NULL, NULL);
	if (likely(!ret))
		return IO_PENDING;
	io_wait_table_del(req);
	return io_done(req, ret);
}

/*
 * Queue the entries of a FUTEX_WAITV.  Return: 0 if the request waits; 1 if a futex was woken
 * already, with its index in *@woken; or a negative errno.  If not 0, no entry is queued.
 */
static int io_futex_vector_queue(struct io_kiocb *req, int *woken)
{
	struct io_futex_vector *vector = io_futex_vector(req);
	int ret;

	atomic_set(&vector->state, IO_FUTEX_SETUP);
	ret = futex_wait_multiple_setup(vector->futexes, vector->nr, woken);
	/* the setup has prepared current to sleep: undo this, as current does not sleep */
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
	/* FLAGS_STRICT: a count of 0 wakes no wait, unlike with futex(2) */
	futex->flags = flags | FLAGS_STRICT;
	return 0;
}

static enum io_result io_futex_wake_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_futex *futex = io_futex(req);
	int ret = futex_wake(futex->uaddr, futex->flags, NULL, futex->wake, futex->mask);

	/* the scan of a long hash bucket may take milliseconds */
	if (unlikely(need_resched()))
		cond_resched();
	return io_done(req, ret);
}

const struct io_op io_op_futex_wait = {
	.cancel_returns_count	= 1,
	.ring_lock	= 1,
	.prep		= io_futex_wait_prep,
	.issue		= io_futex_wait_issue,
	.cleanup	= io_futex_cleanup,
	.cancel		= io_futex_cancel,
};

const struct io_op io_op_futex_waitv = {
	.cancel_returns_count	= 1,
	.ring_lock	= 1,
	.prep		= io_futex_waitv_prep,
	.issue		= io_futex_waitv_issue,
	.cleanup	= io_futex_vector_cleanup,
	.cancel		= io_futex_vector_cancel,
};

const struct io_op io_op_futex_wake = {
	.prep		= io_futex_wake_prep,
	.issue		= io_futex_wake_issue,
};
