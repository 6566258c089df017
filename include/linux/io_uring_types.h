/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: requests, as drivers, sockets and tracing see them */
#ifndef _LINUX_IO_URING_TYPES_H
#define _LINUX_IO_URING_TYPES_H

/*
 * This header defines requests and the io_uring state of a task.  Rings are private to
 * io_uring/, see io_uring/ctx.h.
 *
 * A letter before the description of a field names the lock or the rule that protects it:
 *
 *	(-)  constant after setup
 *	(R)  the ring lock, ctx->uring_lock
 *	(C)  only a context that may write CQEs: on single-writer rings the writer, with
 *	     the ring lock (see ring/cq.c); on multi-writer rings a holder of cq.lock
 *	(O)  the submitting task only
 *	(A)  atomic, or READ_ONCE()/WRITE_ONCE(), with the rule explained at the field
 *	(U)  shared with user space, which may change the value at any time
 */

#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/rbtree_types.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <uapi/linux/io_uring.h>

struct io_kiocb;
struct io_poll;
struct io_ring_ctx;
struct io_rsrc_node;
struct io_uring_task;
struct io_wq;
struct mm_struct;

/**
 * enum io_uring_cmd_flags - context in which a request is issued or a driver is called
 * @IO_URING_F_COMPLETE_DEFER: the ring lock is held, completions may be batched
 * @IO_URING_F_UNLOCKED: the ring lock is not held
 * @IO_URING_F_MULTISHOT: the request is issued again after a poll event and may post more CQEs
 * @IO_URING_F_IOWQ: issued by a worker
 * @IO_URING_F_NONBLOCK: must not block; return %IO_AGAIN or -EAGAIN instead
 * @IO_URING_F_SQE128: the ring's SQEs are 128 bytes long
 * @IO_URING_F_CQE32: the ring's CQEs are, or can be, 32 bytes long
 * @IO_URING_F_IOPOLL: the ring polls for completions
 * @IO_URING_F_CANCEL: the command is to be cancelled
 * @IO_URING_F_COMPAT: submitted by a 32-bit task
 * @IO_URING_F_TASK_DEAD: the submitting task is gone, or was killed or ends; not passed to
 *	drivers
 *
 * Drivers test these flags, so the values are part of the interface for drivers.
 */
enum io_uring_cmd_flags {
	IO_URING_F_COMPLETE_DEFER	= 1,
	IO_URING_F_UNLOCKED		= 2,
	IO_URING_F_MULTISHOT		= 4,
	IO_URING_F_IOWQ			= 8,
	IO_URING_F_NONBLOCK		= INT_MIN,

	IO_URING_F_SQE128		= (1 << 8),
	IO_URING_F_CQE32		= (1 << 9),
	IO_URING_F_IOPOLL		= (1 << 10),
	IO_URING_F_CANCEL		= (1 << 11),
	IO_URING_F_COMPAT		= (1 << 12),
	IO_URING_F_TASK_DEAD		= (1 << 13),
};

/**
 * struct io_tw - an item of a mailbox
 * @next: next item of the mailbox, or of another list while the item is not in a
 *	mailbox
 * @run: called by the context that empties the mailbox, with the ring lock of @ctx held
 *
 * Requests and stored CQEs contain an item each.
 */
struct io_tw {
	struct io_tw	*next;
	void		(*run)(struct io_ring_ctx *ctx, struct io_tw *tw,
			       unsigned int issue_flags);
};

/**
 * struct io_mailbox - list of items for one consumer (see io_uring/ring/mailbox.h)
 * @head: (A) youngest item, with IO_MAILBOX_* in the low bits
 * @missing: (A) while armed: number of items that must arrive before the consumer is woken
 */
struct io_mailbox {
	unsigned long	head;
	atomic_t	missing;
};

/**
 * struct io_wq_work - part of a request for the worker pool (see io_uring/async/wq.h)
 * @next: next work of the queue
 * @flags: IO_WQ_WORK_*; see enum io_wq_work_flags for the contexts that write the flags
 * @generation: generation of the pool when the work was queued (see io_uring/async/wq_worker.c)
 *
 * The pool calls params->run(work).  Once the work cannot be found through the pool any
 * more, the pool calls params->put(work), which drops the pool's reference to the request.
 * Between these calls the pool does not use this memory: params->run() may pass the request
 * to another owner, which may queue it or let it wait before the call of params->put().
 */
struct io_wq_work {
	struct io_wq_work	*next;
	unsigned int		flags;
	unsigned int		generation;
};

/*
 * Request flags.  The first bits are IOSQE_*.  The comment above a group names the
 * folder that interprets its bits.
 */
enum {
	/* bits 0 to 7: as in the SQE */

	/* req/, complete/: lifetime of the request */
	REQ_F_FAIL_BIT		= 8,	/* the result counts as a failure for links and CQE_SKIP */
	REQ_F_REFCOUNT_BIT,		/* ->refs counts the references to the request */
	REQ_F_ASYNC_DATA_BIT,		/* ->async_data is allocated */
	REQ_F_NEED_CLEANUP_BIT,		/* op->cleanup() has to run */
	REQ_F_TRACKED_BIT,		/* counted in tctx->inflight_tracked, see io_req_track() */
	REQ_F_HAS_LINK_BIT,		/* ->link is set */
	REQ_F_SKIP_LINK_CQES_BIT,	/* cancel the rest of the chain without CQEs */
	REQ_F_PREPPED_BIT,		/* ->prep() has succeeded */

	/* rsrc/: resources of the request */
	REQ_F_FILE_PUT_BIT,		/* the request has its own reference to ->file */
	REQ_F_FILE_NODE_BIT,		/* ->file_node is held */
	REQ_F_BUF_NODE_BIT,		/* ->buf_node is held */
	REQ_F_PICKED_BIT,		/* ->picked names the provided buffer in use */
	REQ_F_CREDS_BIT,		/* ->creds is held */

	/* op/rw: reads and writes */
	REQ_F_NOWAIT_BIT,		/* end with -EAGAIN, do not retry; also in op/net */
	REQ_F_CUR_POS_BIT,		/* at the file's current position */
	REQ_F_REISSUE_BIT,		/* the completion requests a retry by a worker */

	/* async/ */
	REQ_F_POLLED_BIT,		/* ->poll is valid: a retry waits for the file */
	REQ_F_POLL_TRIED_BIT,		/* ->poll_tries is valid */
	REQ_F_POLL_ERRORS_BIT,		/* a retry waits for errors, not for data */
	REQ_F_POLL_CHOSEN_BIT,		/* an event woke only this exclusive waiter */
	REQ_F_POLL_PASSED_BIT,		/* the end of such a waiter woke this waiter */
	REQ_F_WAITING_BIT,		/* on ctx->waiting.buckets, written under the ring lock */
	REQ_F_MULTISHOT_BIT,		/* may post more than one CQE */
	REQ_F_HAS_TIMEOUT_BIT,		/* the next request is its linked timeout */
	REQ_F_TIMEOUT_LINKED_BIT,	/* others are linked behind that timeout */
	REQ_F_LINK_TIMEOUT_BIT,		/* linked timeout of the request before it */
	REQ_F_TIMEOUT_RUNS_BIT,		/* linked timeout whose timer runs */
	REQ_F_AFTER_WORKER_BIT,		/* a worker ended it or a request before it in its chain */
	REQ_F_POLL_CMD_BIT,		/* polled rings: a driver's command, ended by task work */
	__REQ_F_LAST_BIT,
};

typedef u64 __bitwise io_req_flags_t;

#define IO_REQ_FLAG(bit)	((__force io_req_flags_t)BIT_ULL(bit))

#define REQ_F_FIXED_FILE	IO_REQ_FLAG(IOSQE_FIXED_FILE_BIT)
#define REQ_F_IO_DRAIN		IO_REQ_FLAG(IOSQE_IO_DRAIN_BIT)
#define REQ_F_LINK		IO_REQ_FLAG(IOSQE_IO_LINK_BIT)
#define REQ_F_HARDLINK		IO_REQ_FLAG(IOSQE_IO_HARDLINK_BIT)
#define REQ_F_FORCE_ASYNC	IO_REQ_FLAG(IOSQE_ASYNC_BIT)
#define REQ_F_BUFFER_SELECT	IO_REQ_FLAG(IOSQE_BUFFER_SELECT_BIT)
#define REQ_F_CQE_SKIP		IO_REQ_FLAG(IOSQE_CQE_SKIP_SUCCESS_BIT)
#define REQ_F_FAIL		IO_REQ_FLAG(REQ_F_FAIL_BIT)
#define REQ_F_REFCOUNT		IO_REQ_FLAG(REQ_F_REFCOUNT_BIT)
#define REQ_F_ASYNC_DATA	IO_REQ_FLAG(REQ_F_ASYNC_DATA_BIT)
#define REQ_F_NEED_CLEANUP	IO_REQ_FLAG(REQ_F_NEED_CLEANUP_BIT)
#define REQ_F_TRACKED		IO_REQ_FLAG(REQ_F_TRACKED_BIT)
#define REQ_F_HAS_LINK		IO_REQ_FLAG(REQ_F_HAS_LINK_BIT)
#define REQ_F_SKIP_LINK_CQES	IO_REQ_FLAG(REQ_F_SKIP_LINK_CQES_BIT)
#define REQ_F_PREPPED		IO_REQ_FLAG(REQ_F_PREPPED_BIT)
#define REQ_F_FILE_PUT		IO_REQ_FLAG(REQ_F_FILE_PUT_BIT)
#define REQ_F_FILE_NODE		IO_REQ_FLAG(REQ_F_FILE_NODE_BIT)
#define REQ_F_BUF_NODE		IO_REQ_FLAG(REQ_F_BUF_NODE_BIT)
#define REQ_F_PICKED		IO_REQ_FLAG(REQ_F_PICKED_BIT)
#define REQ_F_CREDS		IO_REQ_FLAG(REQ_F_CREDS_BIT)
#define REQ_F_NOWAIT		IO_REQ_FLAG(REQ_F_NOWAIT_BIT)
#define REQ_F_CUR_POS		IO_REQ_FLAG(REQ_F_CUR_POS_BIT)
#define REQ_F_REISSUE		IO_REQ_FLAG(REQ_F_REISSUE_BIT)
#define REQ_F_POLLED		IO_REQ_FLAG(REQ_F_POLLED_BIT)
#define REQ_F_POLL_TRIED	IO_REQ_FLAG(REQ_F_POLL_TRIED_BIT)
#define REQ_F_POLL_ERRORS	IO_REQ_FLAG(REQ_F_POLL_ERRORS_BIT)
#define REQ_F_POLL_CHOSEN	IO_REQ_FLAG(REQ_F_POLL_CHOSEN_BIT)
#define REQ_F_POLL_PASSED	IO_REQ_FLAG(REQ_F_POLL_PASSED_BIT)
#define REQ_F_WAITING		IO_REQ_FLAG(REQ_F_WAITING_BIT)
#define REQ_F_MULTISHOT		IO_REQ_FLAG(REQ_F_MULTISHOT_BIT)
#define REQ_F_HAS_TIMEOUT	IO_REQ_FLAG(REQ_F_HAS_TIMEOUT_BIT)
#define REQ_F_TIMEOUT_LINKED	IO_REQ_FLAG(REQ_F_TIMEOUT_LINKED_BIT)
#define REQ_F_LINK_TIMEOUT	IO_REQ_FLAG(REQ_F_LINK_TIMEOUT_BIT)
#define REQ_F_TIMEOUT_RUNS	IO_REQ_FLAG(REQ_F_TIMEOUT_RUNS_BIT)
#define REQ_F_AFTER_WORKER	IO_REQ_FLAG(REQ_F_AFTER_WORKER_BIT)
#define REQ_F_POLL_CMD		IO_REQ_FLAG(REQ_F_POLL_CMD_BIT)

/* all SQE flags */
#define IO_SQE_FLAGS_VALID						\
	(IOSQE_FIXED_FILE | IOSQE_IO_DRAIN | IOSQE_IO_LINK |		\
	 IOSQE_IO_HARDLINK | IOSQE_ASYNC | IOSQE_BUFFER_SELECT |	\
	 IOSQE_CQE_SKIP_SUCCESS)

/**
 * struct io_cqe_val - the part of a CQE that a request stores
 * @user_data: from the SQE
 * @res: result
 * @flags: IORING_CQE_F_*
 */
struct io_cqe_val {
	u64	user_data;
	s32	res;
	u32	flags;
};

#define IO_OP_DATA_SIZE	64

/**
 * struct io_picked - a request's provided buffer (see io_uring/rsrc/groups.h)
 * @max: maximum number of bytes to transfer, 0 for no limit; set by ->prep() of
 *	requests with REQ_F_BUFFER_SELECT
 * @bid: ID of the buffer, valid with REQ_F_PICKED
 * @taken: IO_TAKEN_*: the buffer was removed from its group, and belongs to the request
 * @more: the rest of the buffer stays in its group (IORING_CQE_F_BUF_MORE)
 */
struct io_picked {
	u32	max;
	u16	bid;
	u8	taken;
	bool	more;
};

/**
 * struct io_kiocb - a request
 *
 * 192 bytes; the first two cache lines are enough for a request that completes
 * inline.  The submitter may access the request while it prepares and issues the
 * request.  After ->issue() returned IO_PENDING, or after the request was queued to a
 * worker, only the context that completes the request may access it.
 *
 * Memory is reused for other requests without being cleared.  For each request, the
 * submitter sets @tctx, @flags, @opcode, @buf_index, and @cqe except the result, and
 * ->prep() sets fields of the op.  A field that is "valid with" a flag or for some ops
 * may have data of an earlier request: check the flag or the op before you read the
 * field.  Debug kernels poison such fields, see io_req_poison().
 */
struct io_kiocb {
	/**
	 * @file: file of the request, valid for ops with needs_file; NULL until
	 * the file is looked up, when the request is issued or queued
	 * Do not access it after IO_DONE of an op with borrows_file.
	 */
	struct file		*file;
	/** @ctx: (-) the ring; does not change while the ring owns this memory */
	struct io_ring_ctx	*ctx;
	/** @tctx: the submitting task's state, holds a reference to the task */
	struct io_uring_task	*tctx;
	/** @flags: REQ_F_*; written by the present owner of the request */
	io_req_flags_t		flags;
	union {
		/** @cqe: user_data and result */
		struct io_cqe_val	cqe;
		struct {
			/** @waiting_user_data: cqe.user_data, which stays valid beside @poll */
			u64		waiting_user_data;
			/**
			 * @poll: (R) poll of the file, valid while a POLL_ADD
			 * waits, and with REQ_F_POLLED; overlays the result
			 */
			struct io_poll	*poll;
		};
	};
	/** @opcode: IORING_OP_*, below IORING_OP_LAST */
	u8			opcode;
	union {
		/**
		 * @iopoll_done: (A) set by the driver's completion on polled rings;
		 * for URING_CMD on all rings, see op/cmd.c
		 */
		/**
		 * @poll_tries: on other rings: number of attempts that would have
		 * blocked although the file was ready, in units of async/poll.h;
		 * valid with REQ_F_POLL_TRIED
		 */
		u8		iopoll_done, poll_tries;
	};
	/** @buf_index: registered buffer or buffer group, as the op defines */
	u16			buf_index;
	/** @refs: (A) number of references, valid with REQ_F_REFCOUNT */
	atomic_t		refs;
	union {
		/**
		 * @async_data: data of the op that has to outlive the
		 * submission, valid with REQ_F_ASYNC_DATA
		 */
		void			*async_data;
		/**
		 * @timed: (R) valid with REQ_F_TIMEOUT_RUNS: the request before
		 * this linked timeout, NULL after the end of that request
		 */
		struct io_kiocb		*timed;
	};

	union {
		struct {
			/** @data: the op's own storage, see IO_OP_DATA() */
			u8		data[IO_OP_DATA_SIZE] __aligned(8);
			/**
			 * @tw: for mailboxes, ctx->ready, ctx->drain, the retired list and
			 * the list of polled requests
			 */
			struct io_tw	tw;
		};
		/**
		 * @timer: timer of a TIMEOUT or a LINK_TIMEOUT; while the timer runs,
		 * @tw is not in use; see struct io_timer
		 */
		u8		timer[IO_OP_DATA_SIZE + sizeof(struct io_tw)] __aligned(8);
	};
	union {
		/** @work: for the worker pool */
		struct io_wq_work	work;
		/** @waiting: (R) on ctx->waiting.buckets, see io_uring/req/wait_table.h */
		struct list_head	waiting;
	};
	/** @creds: credentials with which to issue, valid with REQ_F_CREDS */
	const struct cred	*creds;
	/** @link: next request of the chain, valid with REQ_F_HAS_LINK */
	struct io_kiocb		*link;
	/** @file_node: (R) the registered file in use, valid with REQ_F_FILE_NODE */
	struct io_rsrc_node	*file_node;
	union {
		/** @buf_node: (R) the registered buffer, or SPLICE's source; with REQ_F_BUF_NODE */
		struct io_rsrc_node	*buf_node;
		/** @picked: the provided buffer, valid with REQ_F_BUFFER_SELECT */
		struct io_picked	picked;
	};
#ifdef CONFIG_IO_URING_DEBUG
	/** @state: enum io_req_state, checked by io_req_move() */
	u8			state;
#endif
};

#define IO_RINGFD_REG_MAX	16

/**
 * struct io_uring_task - io_uring state of a task
 *
 * Freed with the task_struct, or by an exec.  Every request holds a reference to the task.
 */
struct io_uring_task {
	/** @task: (-) the task */
	struct task_struct	*task;
	/**
	 * @credit: (O) number of requests that were charged in advance: @inflight and
	 * the task's references count them, but they are not in use
	 */
	int			credit;
	/** @last: (A) ring that was used last; NULL after the node of this ring is removed */
	struct io_ring_ctx	*last;
	/** @io_wq: (O) worker pool; other tasks use it under ctx->users.lock */
	struct io_wq		*io_wq;
	/** @mailbox: (A) work for this task from multi-writer rings */
	struct io_mailbox	mailbox;
	/** @task_work: runs @mailbox */
	struct callback_head	task_work;
	/** @inflight: (A) number of requests of this task, plus @credit */
	atomic_long_t		inflight;
	/**
	 * @inflight_tracked: (A) number of requests that have to end with the task, see
	 * io_req_track(); one more during io_tctx_keep_mm()
	 */
	/** @in_cancel: (A) not 0 if the end of a request has to wake @wait */
	atomic_t		inflight_tracked, in_cancel;
	/** @mm: of a task that has left tracked requests behind; put after their end */
	struct mm_struct	*mm;
	/** @wait: of the exiting task, for the end of its requests */
	struct wait_queue_head	wait;
	/** @nodes: rings that this task uses, see struct io_tctx_node */
	struct xarray		nodes;
	/** @cmd_req: (O) command whose driver is called back under the ring lock, or NULL */
	struct io_kiocb		*cmd_req;
	/** @cmd_ended: (O) the driver has ended @cmd_req, to be completed after the callback */
	bool			cmd_ended;
	/** @cmds_asked: (A) a driver was called to end commands of this task since @in_cancel */
	/** @exits: (A) the task does not come back to user mode, see task/sqpoll.c */
	bool			cmds_asked, exits;
	/** @child_wait: waits for children while @waits is not empty */
	struct wait_queue_entry	child_wait;
	/** @waits: requests of WAITID, under the wait queue's lock, see op/waitid.c */
	struct rb_root		waits;
	/** @reading: (A) buffered reads that wait for a folio, and continue in this task */
	atomic_t		reading;
	/** @registered_rings: (O) IORING_REGISTER_RING_FDS */
	struct file		*registered_rings[IO_RINGFD_REG_MAX];
	/** @rcu: frees this struct after a grace period */
	struct rcu_head		rcu;
};

#endif /* _LINUX_IO_URING_TYPES_H */
