/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the contract between submit/ and op/ */
#ifndef IO_OP_H
#define IO_OP_H

#include <linux/hrtimer_types.h>

#include "ctx.h"

/**
 * enum io_result - result of ->issue
 * @IO_DONE: finished, the result is in req->cqe; its issuer completes it
 * @IO_MORE: posted a CQE with IORING_CQE_F_MORE, and there is more: issue it again.
 *	REQ_F_MULTISHOT only
 * @IO_MORE_IF_READY: as IO_MORE, but there may be no more: issue it again if the file is ready
 * @IO_MORE_ASK: as IO_MORE, but no attempt is made before the file is known to be ready
 * @IO_PENDING: another context completes it, or has already done so: the issuer
 *	must not access it any more
 * @IO_AGAIN: would have blocked; retry when the file is ready, or from a worker.  A
 *	multishot request waits for the next event, also if it has posted CQEs
 */
enum io_result {
	IO_DONE,
	IO_MORE,
	IO_MORE_IF_READY,
	IO_MORE_ASK,
	IO_PENDING,
	IO_AGAIN,
};

/**
 * enum io_wait_kind - which waiting requests are looked for together (req/wait_table.h)
 * @IO_WAIT_POLL: those that wait for a file
 * @IO_WAIT_TIMEOUT: TIMEOUT
 * @IO_WAIT_LINK_TIMEOUT: LINK_TIMEOUT
 */
enum io_wait_kind {
	IO_WAIT_POLL,
	IO_WAIT_TIMEOUT,
	IO_WAIT_LINK_TIMEOUT,
};

/**
 * struct io_op - an operation
 * @needs_file: sqe->fd is a file; it is looked up when the request starts
 * @iopoll: allowed on IORING_SETUP_IOPOLL rings
 * @ioprio: uses sqe->ioprio; otherwise it has to be zero
 * @buffer_select: allows IOSQE_BUFFER_SELECT
 * @audit_skip: moves data only, no audit record
 * @serialize_writes: writes: workers serialise requests on one regular file
 * @unbound_nonreg_file: may block forever on anything but a regular file
 * @plug: worth a block plug; for ops with a file
 * @blocks: cannot be tried inline: ->issue says IO_AGAIN to that at once
 * @cancel_returns_count: a cancel of it by name is told how many end, 1, as if it had asked for all
 * @cancel_at_end: a request that it lets wait ends with its task or its ring; a program
 *	cannot name it, nor a LINK_TIMEOUT end it
 * @ring_lock: ->issue needs the ring lock; a worker that issues it takes the lock first
 * @borrows_file: for ops with a file: ->issue never returns IO_PENDING.  After IO_DONE of
 *	the first attempt neither the core nor ->cleanup uses req->file, so the submitter
 *	needs no reference, see io_file_keep()
 * @no_creds: does not depend on credentials: its submitter's are not kept
 * @poll_in: on IO_AGAIN wait until the file can be read, if it can be polled
 * @poll_out: until it can be written
 * @poll_exclusive: of those that wait for one event, one is enough to handle it
 * @heeds_nonblock: says -EAGAIN of an O_NONBLOCK file behind a worker's request in its chain
 * @limit: limits the time of the request before it in its chain, see req/linked_timeout.h
 * @waiting: its kind while it waits
 * @prep: reads the SQE, each field once, and refuses unknown bits and unused
 *	fields; 0 or a negative errno. Ring lock held, must not look at req->file
 * @issue: does the work; issue_flags are IO_URING_F_*
 * @cleanup: frees what @prep or @issue left behind, called for requests with REQ_F_NEED_CLEANUP
 * @fail: called before a request that was prepared fails without being issued
 *	(again), may correct the result
 * @cancel: ends a request that the op lets wait (req/wait_table.h) with
 *	-ECANCELED; ring lock held, any task. It must not complete it here, but
 *	hand it to io_complete_later() or the like. True if the request will end
 *	like that, also when it was cancelled before; false if it has begun to end
 *	by itself. Needed by ops that let requests wait themselves
 * @unlinked: the request that a limit has limited has ended; ring lock held.
 *	True: the caller ends the limit with -ECANCELED; false: it ends by itself.
 *	Needed by limits
 * @expired: the function of the timer of a limit, for another op that gives it another time
 * @in_turn: of a request that was not issued yet: will it use and move the current position
 *	of its file?  Workers serialise these; later REQ_F_CUR_POS says so
 */
struct io_op {
	bool		needs_file : 1, iopoll : 1, ioprio : 1, buffer_select : 1;
	bool		audit_skip : 1, serialize_writes : 1, unbound_nonreg_file : 1, plug : 1;
	bool		poll_in : 1, poll_out : 1, poll_exclusive : 1, no_creds : 1;
	bool		blocks : 1, cancel_returns_count : 1, limit : 1, cancel_at_end : 1;
	bool		ring_lock : 1, borrows_file : 1, heeds_nonblock : 1;
	unsigned char	waiting;
	int		(*prep)(struct io_kiocb *req, const struct io_uring_sqe *sqe);
	enum io_result	(*issue)(struct io_kiocb *req, unsigned int issue_flags);
	void		(*cleanup)(struct io_kiocb *req);
	void		(*fail)(struct io_kiocb *req);
	bool		(*cancel)(struct io_kiocb *req);
	bool		(*unlinked)(struct io_kiocb *req);
	enum hrtimer_restart (*expired)(struct hrtimer *hrtimer);
	bool		(*in_turn)(struct io_kiocb *req);
};

/* one entry for each value of sqe->opcode */
#define IO_OPS	256

/*
 * The table, op/table.c.  Opcodes that are not built have an entry that answers
 * -EOPNOTSUPP; values that are none have one that answers -EINVAL.
 */
extern const struct io_op *const io_ops[IO_OPS];
extern const struct io_op io_op_unsupported;

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
 * @res: its result; negative counts as a failure for links and IOSQE_CQE_SKIP_SUCCESS
 *
 * For ->issue to end with; does not complete anything.
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
 * @res: its result; a negative one is told in spite of IOSQE_CQE_SKIP_SUCCESS
 *
 * For the ops whose failures do not break a chain on 6.12: programs rely on that.  A request
 * that does not reach its work, without a file or because it is cancelled, breaks the chain.
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
