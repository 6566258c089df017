/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the contract between submit/ and op/ */
#ifndef IO_OP_H
#define IO_OP_H

#include <linux/hrtimer_types.h>

#include "ctx.h"

struct io_uring_bpf_ctx;

/**
 * enum io_result - next step of the caller of ->issue
 * @IO_DONE: complete the request; its result is in req->cqe
 * @IO_MORE: issue the request again: ->issue has posted a CQE with IORING_CQE_F_MORE, and there is
 *	more to post.  Only with REQ_F_MULTISHOT; this also applies to IO_MORE_IF_READY
 * @IO_MORE_IF_READY: issue the request again if its file is ready: ->issue has posted a CQE or
 *	transferred a part, and there may be nothing more
 * @IO_MORE_LATER: issue the request again in another run of task work, as the CQ is full.  Only
 *	with REQ_F_MULTISHOT
 * @IO_PENDING: do not access the request: another context completes it, or has done so already
 * @IO_AGAIN: ->issue would have blocked: retry when the file is ready, or in a worker.  A multishot
 *	request waits for the next event, also if ->issue has posted CQEs
 */
enum io_result {
	IO_DONE,
	IO_MORE,
	IO_MORE_IF_READY,
	IO_MORE_LATER,
	IO_PENDING,
	IO_AGAIN,
};

/**
 * enum io_wait_kind - groups of waiting requests that are searched separately (req/wait_table.h)
 * @IO_WAIT_POLL: requests that wait for a file, a futex, a child or a driver
 * @IO_WAIT_TIMEOUT: TIMEOUT
 * @IO_WAIT_LINK_TIMEOUT: LINK_TIMEOUT
 */
enum io_wait_kind {
	IO_WAIT_POLL,
	IO_WAIT_TIMEOUT,
	IO_WAIT_LINK_TIMEOUT,
};

/**
 * struct io_op - properties and functions of an operation
 * @needs_file: sqe->fd is a file; the core looks it up before the first ->issue
 * @iopoll: allowed on IORING_SETUP_IOPOLL rings
 * @ioprio: uses sqe->ioprio; for other ops this field has to be zero
 * @buffer_select: allows IOSQE_BUFFER_SELECT
 * @audit_skip: only transfers data, and has no audit record
 * @serialize_writes: changes its file; workers serialise such requests on one regular file
 * @unbound_nonreg_file: may block for ever, except on a regular file or a block device
 * @plug: gains from a block plug; for ops with a file
 * @blocks: has no inline attempt: with IO_URING_F_NONBLOCK, ->issue returns IO_AGAIN at once
 * @cancel_returns_count: a cancel that ends a waiting request returns 1, as with
 *	IORING_ASYNC_CANCEL_ALL, and not 0
 * @cancel_at_end: ->cancel is called only at the end of the request's task or ring, not for a
 *	program or a LINK_TIMEOUT
 * @ring_lock: ->issue needs the ring lock; a worker takes the lock first.  If the op also has
 *	->cancel, it only waits, and needs no worker, see submit/worker.c
 * @borrows_file: for ops with a file: ->issue never returns IO_PENDING.  After IO_DONE of
 *	the first attempt neither the core nor ->cleanup uses req->file, so the submitter
 *	needs no reference, see io_file_keep()
 * @no_creds: does not depend on credentials, so the core does not keep those of the submitter
 * @poll_in: after IO_AGAIN, waits until its file can be read, if the file can be polled
 * @poll_out: after IO_AGAIN, waits until its file can be written
 * @poll_exclusive: an event wakes only one of the waiting requests, as with EPOLLEXCLUSIVE
 * @heeds_nonblock: behind a request of its chain that a worker has finished, fails with
 *	-EAGAIN on an O_NONBLOCK file instead of waiting
 * @limit: is a linked timeout of the request before it in the chain, see req/linked_timeout.h
 * @sqe128: has an SQE of 128 bytes, of which ->prep takes the second half
 * @waiting: enum io_wait_kind of the request while it waits
 * @filter_size: bytes that @filter_fields stores, which is a part of the interface
 * @prep: Read the SQE, each field once, and refuse unknown bits and unused fields.  Called by the
 *	submitter with the ring lock held; the request has no file yet.  Returns 0 or the negative
 *	errno with which the request fails
 * @issue: Do the work.  With IO_URING_F_NONBLOCK it must not block.  The submitter sets this flag
 *	inline and in task work, and holds the ring lock.  A worker sets IO_URING_F_UNLOCKED,
 *	except for ops with @ring_lock.  Returns enum io_result
 * @cleanup: Free resources of ->prep and ->issue.  Called once, in task context, for a request
 *	with REQ_F_NEED_CLEANUP that has ended
 * @fail: Correct the result of a request that fails without another ->issue, for example by bytes
 *	that earlier attempts have transferred.  Called after ->prep, before the CQE is posted
 * @cancel: End a waiting request (req/wait_table.h) with -ECANCELED.  Called with the ring lock
 *	held by any task.  It must not complete the request, but pass it to io_complete_later()
 *	or a similar function.  Returns true if this or an earlier cancel ends the request, false
 *	if the request has begun to end by itself.  Only for ops that wait without io_poll_hold()
 * @unlinked: End a linked timeout whose head has ended.  Called with the ring lock held.  Returns
 *	true if the caller has to end the timeout with -ECANCELED, false if it ends by itself
 * @expired: timer function of a linked timeout, for the op that can set a new time
 * @assign_buf: Find the registered buffer of a request without REQ_F_BUF_NODE.  Called with the
 *	ring lock held before a worker gets the request, since a worker must not wait for the lock.
 *	Returns 0 or the negative errno with which the request fails
 * @in_turn: Return true if a request that was not issued yet uses and moves the current position
 *	of its file.  Workers serialise such requests, and those with REQ_F_CUR_POS, on regular
 *	files and block devices
 * @filter_fields: Store the fields that filters see (rsrc/filter.c), in a zeroed union.  Called
 *	after ->prep(), which has read them
 */
struct io_op {
	bool		needs_file : 1, iopoll : 1, ioprio : 1, buffer_select : 1;
	bool		audit_skip : 1, serialize_writes : 1, unbound_nonreg_file : 1, plug : 1;
	bool		poll_in : 1, poll_out : 1, poll_exclusive : 1, no_creds : 1;
	bool		blocks : 1, cancel_returns_count : 1, limit : 1, cancel_at_end : 1;
	bool		ring_lock : 1, borrows_file : 1, heeds_nonblock : 1, sqe128 : 1;
	unsigned char	waiting;
	unsigned char	filter_size;
	int		(*prep)(struct io_kiocb *req, const struct io_uring_sqe *sqe);
	enum io_result	(*issue)(struct io_kiocb *req, unsigned int issue_flags);
	void		(*cleanup)(struct io_kiocb *req);
	void		(*fail)(struct io_kiocb *req);
	bool		(*cancel)(struct io_kiocb *req);
	bool		(*unlinked)(struct io_kiocb *req);
	enum hrtimer_restart (*expired)(struct hrtimer *hrtimer);
	int		(*assign_buf)(struct io_kiocb *req);
	bool		(*in_turn)(struct io_kiocb *req);
	void		(*filter_fields)(struct io_kiocb *req, struct io_uring_bpf_ctx *ctx);
};

/* one entry for each value of sqe->opcode */
#define IO_OPS	256

/*
 * The table of op/ops.c.  ->prep returns -EOPNOTSUPP for opcodes that are not built, and -EINVAL
 * for numbers without an operation.
 */
extern const struct io_op *const io_ops[IO_OPS];
extern const struct io_op io_op_unsupported;
extern const struct io_op io_op_invalid;

/* Typed access to the op's own storage in the request, for a struct of the same name. */
#define IO_OP_DATA(type)						\
static inline struct type *type(struct io_kiocb *req)			\
{									\
	static_assert(sizeof(struct type) <= IO_OP_DATA_SIZE);		\
	return (struct type *)req->data;				\
}									\
static_assert(true)

/**
 * io_done - finish a request from ->issue
 * @req: the request
 * @res: its result; if negative, it counts as a failure for links and IOSQE_CQE_SKIP_SUCCESS
 *
 * Called at the end of ->issue.  This does not complete the request.
 *
 * Return: %IO_DONE
 */
static inline enum io_result io_done(struct io_kiocb *req, s32 res)
{
	if (unlikely(res < 0))
		req->flags |= REQ_F_FAIL;
	req->cqe.res = res;
	return IO_DONE;
}

/**
 * io_done_unbroken - finish a request that does not break its chain
 * @req: the request
 * @res: its result; IOSQE_CQE_SKIP_SUCCESS does not suppress the CQE if @res is negative
 *
 * For ops whose failures do not break a chain on Linux 6.12, because programs rely on that.  A
 * request that fails before its work, for lack of a file or by a cancel, still breaks the chain.
 *
 * Return: %IO_DONE
 */
static inline enum io_result io_done_unbroken(struct io_kiocb *req, s32 res)
{
	if (unlikely(res < 0))
		req->flags &= ~REQ_F_CQE_SKIP;
	req->cqe.res = res;
	return IO_DONE;
}

#endif
