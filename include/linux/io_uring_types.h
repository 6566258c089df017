/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the types that several folders, tracing and drivers' inlines need */
#ifndef _LINUX_IO_URING_TYPES_H
#define _LINUX_IO_URING_TYPES_H

/*
 * No functions live here, only what a request, a ring and a task's share of io_uring look like.
 *
 * Key of the letters behind fields, the lock or the rule that guards them:
 *
 *	(-)  constant after setup
 *	(R)  the ring lock, ctx->uring_lock
 *	(C)  who may write CQEs: the ring lock on exclusive rings (together
 *	     with being the owner, see ring/cq.c), cq.lock on shared ones
 *	(O)  the submitting task only
 *	(A)  atomic, or READ_ONCE()/WRITE_ONCE() with the rule told at the field
 *	(U)  shared with user space: anything may be read from it at any time
 */

#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/rbtree_types.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <uapi/linux/io_uring.h>

struct eventfd_ctx;
struct io_buf_group;
struct io_bundle;
struct io_kiocb;
struct io_mail;
struct io_mem_account;
struct io_poll;
struct io_poll_retry;
struct io_ring_ctx;
struct io_ev_fd;
struct io_sq_data;
struct io_uring_task;
struct io_wq;
struct io_rsrc_node;
struct user_struct;

/**
 * enum io_uring_cmd_flags - in which context a request is issued or a driver's command runs
 * @IO_URING_F_COMPLETE_DEFER: the ring lock is held, completions may be batched
 * @IO_URING_F_UNLOCKED: the ring lock is not held
 * @IO_URING_F_MULTISHOT: the request is issued again after a poll event and may post more CQEs
 * @IO_URING_F_IOWQ: issued by a worker
 * @IO_URING_F_NONBLOCK: must not block; say "again" instead
 * @IO_URING_F_SQE128: the ring's SQEs are 128 bytes long
 * @IO_URING_F_CQE32: the ring's CQEs are 32 bytes long
 * @IO_URING_F_IOPOLL: the ring polls for completions
 * @IO_URING_F_CANCEL: the command is to be cancelled
 * @IO_URING_F_COMPAT: submitted by a 32-bit task
 * @IO_URING_F_TASK_DEAD: the submitting task is gone, the callback runs elsewhere
 *
 * Drivers see these values; they are part of the contract with them.
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
 * struct io_mail - an item of a mailbox
 * @next: next item; also links the item into whatever list its owner keeps it
 *	on while it is not in a mailbox
 * @run: the task that drains the mailbox calls it, with the ring lock of @ctx held
 *
 * Embedded in whatever wants to be handled in another context: requests, stored CQEs.
 */
struct io_mail {
	struct io_mail	*next;
	void		(*run)(struct io_ring_ctx *ctx, struct io_mail *mail,
			       unsigned int issue_flags);
};

/**
 * struct io_mailbox - many push, one takes, first in first out (see io_uring/ring/mailbox.h)
 * @head: (A) youngest item, with IO_MAIL_* in the low bits
 * @missing: (A) while armed: items that must still arrive before the sleeper is woken
 */
struct io_mailbox {
	unsigned long	head;
	atomic_t	missing;
};

/**
 * struct io_wq_work - a request as the worker pool sees it (see io_uring/async/wq.h)
 * @next: next work of the queue
 * @flags: (A) IO_WQ_WORK_*
 *
 * The pool calls params->run(work) and, once nobody can find the work through
 * the pool any more, params->put(work), which gives up the pool's reference to
 * the request.
 */
struct io_wq_work {
	struct io_wq_work	*next;
	atomic_t		flags;
};

/*
 * Request flags.  The first bits are IOSQE_*; groups name the owner: only the
 * folder that owns a group sets its bits.
 */
enum {
	/* bits 0 to 7: as in the SQE */

	/* req/, complete/: life */
	REQ_F_FAIL_BIT		= 8,	/* the result counts as a failure for links and CQE_SKIP */
	REQ_F_REFCOUNT_BIT,		/* ->refs counts, more than one holder */
	REQ_F_ASYNC_DATA_BIT,		/* ->async_data is allocated */
	REQ_F_NEED_CLEANUP_BIT,		/* op->cleanup() has to run */
	REQ_F_INFLIGHT_BIT,		/* counted in tctx->inflight_tracked, see io_req_track() */
	REQ_F_HAS_LINK_BIT,		/* ->link is set */
	REQ_F_SKIP_LINK_CQES_BIT,	/* cancel the rest of the chain without CQEs */
	REQ_F_PREPPED_BIT,		/* ->prep() has succeeded */

	/* rsrc/: what the request borrows */
	REQ_F_FILE_PUT_BIT,		/* ->file holds a counted reference of its own */
	REQ_F_FILE_NODE_BIT,		/* ->file_node is held */
	REQ_F_BUF_NODE_BIT,		/* ->buf_node is held */
	REQ_F_PICKED_BIT,		/* ->picked says which provided buffer is used */
	REQ_F_CREDS_BIT,		/* ->creds is held */

	/* op/rw: reads and writes */
	REQ_F_NOWAIT_BIT,		/* RWF_NOWAIT or O_NONBLOCK: -EAGAIN is a result */
	REQ_F_CUR_POS_BIT,		/* at the file's current position */
	REQ_F_REISSUE_BIT,		/* completion wants a second attempt by a worker */

	/* async/ */
	REQ_F_POLLED_BIT,		/* ->poll is there: a retry waits for the file */
	REQ_F_POLL_TRIED_BIT,		/* ->poll_tries counts */
	REQ_F_POLL_ERRORS_BIT,		/* a retry waits for errors, not for data */
	REQ_F_PARKED_BIT,		/* on ctx->parked, written under the ring lock */
	REQ_F_MULTISHOT_BIT,		/* may post more than one CQE */
	REQ_F_LIMITED_BIT,		/* the next of the chain limits its time */
	REQ_F_LIMIT_BIT,		/* it limits the one before it in the chain */
	REQ_F_LIMIT_RUNS_BIT,		/* and its timer runs */
	REQ_F_POLL_CMD_BIT,		/* polled rings: a driver's command, its mail ends it */
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
#define REQ_F_INFLIGHT		IO_REQ_FLAG(REQ_F_INFLIGHT_BIT)
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
#define REQ_F_PARKED		IO_REQ_FLAG(REQ_F_PARKED_BIT)
#define REQ_F_MULTISHOT		IO_REQ_FLAG(REQ_F_MULTISHOT_BIT)
#define REQ_F_LIMITED		IO_REQ_FLAG(REQ_F_LIMITED_BIT)
#define REQ_F_LIMIT		IO_REQ_FLAG(REQ_F_LIMIT_BIT)
#define REQ_F_LIMIT_RUNS	IO_REQ_FLAG(REQ_F_LIMIT_RUNS_BIT)
#define REQ_F_POLL_CMD		IO_REQ_FLAG(REQ_F_POLL_CMD_BIT)

/* SQE flags that there are */
#define IO_SQE_FLAGS_VALID						\
	(IOSQE_FIXED_FILE | IOSQE_IO_DRAIN | IOSQE_IO_LINK |		\
	 IOSQE_IO_HARDLINK | IOSQE_ASYNC | IOSQE_BUFFER_SELECT |	\
	 IOSQE_CQE_SKIP_SUCCESS)

/**
 * struct io_cqe_val - the part of a CQE that a request carries
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
 * @max: bytes that the request wants at most, 0 for as many as there are; set by
 *	->prep() of requests with REQ_F_BUFFER_SELECT
 * @bid: the buffer, valid with REQ_F_PICKED
 * @taken: it is the request's until its end, not the group's any more
 * @more: its group uses the rest of it again
 */
struct io_picked {
	u32	max;
	u16	bid;
	bool	taken;
	bool	more;
};

/**
 * struct io_kiocb - a request
 *
 * 192 bytes; the first two cache lines are enough for a request that completes
 * inline.  Who may touch it: the submitter while it prepares and issues it;
 * after ->issue() said IO_PARKED, or after it was queued to a worker, whoever
 * completes it.
 *
 * The memory of one request serves for the next without being cleared.  Set for
 * each are @tctx, @flags, @opcode, @buf_index, @cqe but its result, and what ->prep()
 * fills in.  A field that is "valid with" a flag, or for some ops only, holds the
 * remains of another request otherwise: who reads it asks for the flag, or the op,
 * before.  Debug kernels poison it, see io_req_poison().
 */
struct io_kiocb {
	/**
	 * @file: what the request works on, valid for ops with needs_file; NULL
	 * until it is looked up, when the request is issued or queued
	 */
	struct file		*file;
	/** @ctx: (-) the ring; constant for as long as the memory belongs to it */
	struct io_ring_ctx	*ctx;
	/** @tctx: the submitting task's state, holds a reference to the task */
	struct io_uring_task	*tctx;
	/** @flags: REQ_F_*; written by the owner of the request at the moment */
	io_req_flags_t		flags;
	union {
		/** @cqe: user_data and result */
		struct io_cqe_val	cqe;
		struct {
			/** @parked_user_data: the same as cqe.user_data */
			u64		parked_user_data;
			/**
			 * @poll: (R) what waits for the file, valid while a
			 * POLL_ADD is parked, or another op with REQ_F_POLLED
			 */
			struct io_poll	*poll;
		};
	};
	/** @opcode: IORING_OP_*, below IORING_OP_LAST */
	u8			opcode;
	union {
		/**
		 * @iopoll_done: (A) set by the driver's completion on polled rings;
		 * URING_CMD: on all of them, see op/cmd.c
		 */
		u8		iopoll_done;
		/**
		 * @poll_tries: other rings: how often the file was ready and
		 * would have blocked all the same, in units of
		 * async/poll.h; valid with REQ_F_POLL_TRIED
		 */
		u8		poll_tries;
	};
	/** @buf_index: registered buffer or buffer group, as the op defines */
	u16			buf_index;
	/** @refs: (A) holders, valid with REQ_F_REFCOUNT */
	atomic_t		refs;
	union {
		/**
		 * @async_data: the op's copy of what must outlive the
		 * submission, valid with REQ_F_ASYNC_DATA
		 */
		void			*async_data;
		/**
		 * @timed: (R) valid with REQ_F_LIMIT_RUNS: the request whose
		 * time this one limits, NULL once that has ended
		 */
		struct io_kiocb		*timed;
	};

	/** @data: the op's own storage, see IO_OP_DATA() */
	u8			data[IO_OP_DATA_SIZE] __aligned(8);

	/**
	 * @mail: for mailboxes, the ring's free list, the retired list and the
	 * list of polled requests
	 */
	struct io_mail		mail;
	union {
		/** @work: for the worker pool */
		struct io_wq_work	work;
		/** @parked: (R) on ctx->parked, see io_uring/req/parked.h */
		struct list_head	parked;
	};
	/** @creds: valid with REQ_F_CREDS */
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

/*
 * struct io_rings: the words of the ring that are shared with user space
 *
 * Grouped by writer, a cache line each, so that the kernel's stores and the
 * program's do not fight over a line.  User space finds the words through the
 * offsets that io_uring_setup() returns.
 */
struct io_rings {
	/* (U) the kernel writes */
	u32		sq_head;
	u32		cq_tail;
	u32		sq_dropped;
	u32		cq_overflow;
	atomic_t	sq_flags;
	u32		sq_ring_mask;
	u32		cq_ring_mask;
	u32		sq_ring_entries;
	u32		cq_ring_entries;
	/* (U) the program writes */
	u32		sq_tail ____cacheline_aligned;
	u32		cq_head;
	u32		cq_flags;
	/* (U) the completion queue; the index array follows it where there is one */
	struct io_uring_cqe	cqes[] ____cacheline_aligned;
};

/**
 * struct io_ring_lock - the ring lock: submission, registered resources, everything marked (R)
 * @mutex: private to ring/locks.h; io_ring_unlock() commits before it releases, so nothing else may
 */
struct io_ring_lock {
	/* see above */
	struct mutex	mutex;
};

/**
 * struct io_cqe_entry - a CQE that is not in the ring yet: overflowed, or on its way as a message
 * @mail: links it into the overflow list, a mailbox or a store
 * @val: user_data, res and flags
 * @extra: the extra words of 32-byte CQEs
 * @store: (-) where it belongs, NULL if it is freed after its one use
 * @uncounted: overflowed: no target counts it
 */
struct io_cqe_entry {
	struct io_mail		mail;
	struct io_cqe_val	val;
	u64			extra[2];
	struct io_entry_store	*store;
	bool			uncounted;
};

/**
 * struct io_entry_store - entries for the messages of a ring (see io_uring/ring/entry.h)
 * @back: entries that have come home
 * @free: (R) entries to be used next, linked by ->mail
 * @made: (R) entries that belong to the store
 * @away: (A) once the ring is gone: entries that have not come home
 */
struct io_entry_store {
	struct io_mailbox	back;
	struct io_mail		*free;
	unsigned int		made;
	atomic_t		away;
};

/**
 * struct io_cq_target - a number of CQEs that somebody waits for (see io_uring/ring/cq.c)
 * @node: (C) in cq.targets
 * @at: (C) cq.counted when it is reached
 * @listed: (C) it is in cq.targets
 * @reached: called once, when they are published; in the context that posted
 *	the last one, on shared rings under cq.lock.  It does not happen if the
 *	target is removed before
 */
struct io_cq_target {
	struct rb_node		node;
	u64			at;
	bool			listed;
	void			(*reached)(struct io_cq_target *target);
};

/**
 * struct io_cq_uncounted - CQEs that no target counts (see io_cq_uncount())
 * @nr: in the ring
 * @seen: those of them that were published when the published tail was @at
 * @at: see @seen
 */
struct io_cq_uncounted {
	u32	nr;
	u32	seen;
	u32	at;
};

#define IO_CQ_STAGE	16

/**
 * struct io_cqring - the kernel's side of the completion queue, private to ring/cq.c
 *
 * Exclusive rings write into the slots as soon as a result is known; shared
 * rings stage up to %IO_CQ_STAGE CQEs under the ring lock and move them into
 * the ring under @lock.
 */
struct io_cqring {
	/** @tail: (C) next slot to be written */
	u32			tail;
	/** @limit: (C) first position that was not known to be free when the head was read last */
	u32			limit;
	/** @published: (C) what user space can see */
	u32			published;
	/** @mask: (-) entries - 1 */
	u32			mask;
	/** @shift: (-) 1 with 32-byte CQEs */
	u8			shift;
	/** @exclusive: (-) see DEFER_TASKRUN in ring/cq.c */
	bool			exclusive;
	/** @overflowed: (C) the overflow list is not empty */
	bool			overflowed;
	/** @nr_staged: (R) shared rings: CQEs in @stage */
	u8			nr_staged;
	/** @cqes: (-) the slots */
	struct io_uring_cqe	*cqes;
	/** @lock: shared rings; innermost, task context only */
	spinlock_t		lock;
	/** @overflow: (C) first overflowed CQE */
	struct io_mail		*overflow;
	/** @overflow_tail: (C) where the next one is linked */
	struct io_mail		**overflow_tail;
	/** @timeouts: (R) timeouts that have come, which end the wait of sleepers */
	u32			timeouts;
	/** @counted: (C) CQEs that targets have counted, up to date while there are any */
	u64			counted;
	/** @targets: (C) who waits for a number of CQEs, the first to be reached first */
	struct rb_root_cached	targets;
	/** @timeouts_seen: (A) shared rings: those that sleepers may see, see io_cq_timeouts() */
	u32			timeouts_seen;
	/** @uncounted: (C) CQEs that @counted leaves out, those of timeouts */
	struct io_cq_uncounted	uncounted;
	/** @stage_uncounted: (R) uncounted CQEs in @stage, a bit each */
	u16			stage_uncounted;
	/** @stage: (R) shared rings: CQEs that are not in the ring yet */
	struct io_cqe_val	stage[IO_CQ_STAGE];
	/** @stage_extra: (R) their extra words, 32-byte CQEs only */
	u64			stage_extra[IO_CQ_STAGE][2];
};

/**
 * struct io_rsrc_table - a table of registered files or buffers (see io_uring/rsrc/table.h)
 * @nr: (R) slots
 * @nodes: (R) one pointer a slot, NULL for an empty one
 */
struct io_rsrc_table {
	unsigned int		nr;
	struct io_rsrc_node	**nodes;
};

/**
 * struct io_file_table - registered files
 * @data: (R) the slots
 * @bitmap: (R) used slots
 * @alloc_start: (R) automatic allocation: first slot
 * @alloc_end: (R) automatic allocation: slot after the last
 * @alloc_hint: (R) automatic allocation: where to look first
 */
struct io_file_table {
	struct io_rsrc_table	data;
	unsigned long		*bitmap;
	unsigned int		alloc_start;
	unsigned int		alloc_end;
	unsigned int		alloc_hint;
};

/**
 * struct io_restriction - what a restricted ring may do
 * @register_op: allowed register opcodes
 * @sqe_op: allowed SQE opcodes
 * @flags: SQE flags that may be set, and those that have to be
 * @registered: restrictions were registered; they hold once the ring is enabled
 */
struct io_restriction {
	DECLARE_BITMAP(register_op, IORING_REGISTER_LAST);
	DECLARE_BITMAP(sqe_op, IORING_OP_LAST);
	struct {
		u8	allowed;
		u8	required;
	} flags;
	bool	registered;
};

/**
 * struct io_mapped_region - memory shared with user space (see io_uring/ring/region.h)
 * @ptr: kernel address
 * @pages: its pages
 * @nr_pages: their number
 * @user: the pages are the program's own, pinned
 */
struct io_mapped_region {
	void		*ptr;
	struct page	**pages;
	unsigned int	nr_pages;
	bool		user;
};

/* groups of provided buffers with a number below this are found at once */
#define IO_GROUPS_SMALL	16

/**
 * struct io_buf_groups - groups of provided buffers (see io_uring/rsrc/groups.h)
 * @small: (R) those with small numbers; changed under @lock as well
 * @others: (R) all others; changed under @lock as well
 * @bundle: (R) what the transfer uses that is being attempted, NULL before the first
 * @lock: lets a program map the memory of a group without the ring lock; a leaf
 */
struct io_buf_groups {
	struct io_buf_group	*small[IO_GROUPS_SMALL];
	struct xarray		others;
	struct io_bundle	*bundle;
	/* see above */
	spinlock_t		lock;
};

/**
 * struct io_ring_users - the tasks that use a ring (see io_uring/task/tctx.h)
 * @lock: a leaf; task context only
 * @nodes: struct io_tctx_node of each, under @lock
 * @next: where the one walk through @nodes goes on that the ring lock allows, under @lock
 */
struct io_ring_users {
	/* see above */
	spinlock_t		lock;
	struct list_head	nodes;
	struct list_head	*next;
};

/* reasons for a SQE to take the long way, in ctx->submit_special */
#define IO_SPECIAL_RESTRICTED	BIT(0)	/* check the ring's restrictions */
#define IO_SPECIAL_DRAIN	BIT(1)	/* requests wait for a drained one */
#define IO_SPECIAL_LINK		BIT(2)	/* the SQE continues a chain */

/* bits of ctx->listeners */
#define IO_LISTEN_POLL		0	/* the ring's file has been polled */
#define IO_LISTEN_EVENTFD	1	/* an eventfd is registered */
#define IO_LISTEN_TARGETS	2	/* somebody waits for a number of CQEs: cq.targets */

/* what io_uring_enter() has to look at before it waits, in ctx->check_cq */
#define IO_CHECK_CQ_OVERFLOW	0	/* bit: CQEs wait for room */
#define IO_CHECK_CQ_DROPPED	1	/* bit: a CQE was lost, tell once by -EBADR */

/* polls that share a full barrier when they are released, see async/poll.c */
#define IO_POLL_RELEASED	64

/**
 * struct io_ring_ctx - a ring
 *
 * Lives from io_uring_setup() until the file is released and the exit worker
 * has found and ended everything in flight.
 */
struct io_ring_ctx {
	/* looked at by every call, hardly ever written */
	struct {
		/** @flags: (-) IORING_SETUP_* (R_DISABLED is cleared once) */
		unsigned int		flags;
		/** @submit_special: (R) IO_SPECIAL_* */
		unsigned int		submit_special;
		/** @rings: (-) shared words */
		struct io_rings		*rings;
		/** @submitter_task: (A) SINGLE_ISSUER: the owner, set once; holds a reference */
		struct task_struct	*submitter_task;
		/** @listeners: (A) bits IO_LISTEN_*: who wants to hear of CQEs besides sleepers */
		unsigned long		listeners;
		/** @check_cq: (A) bits IO_CHECK_CQ_* */
		unsigned long		check_cq;
		/** @issue_flags: (-) IO_URING_F_* that follow from the setup flags */
		unsigned int		issue_flags;
		/** @iopoll: (-) IORING_SETUP_IOPOLL */
		bool			iopoll;
		/** @syscall_iopoll: (-) IOPOLL without SQPOLL: io_uring_enter() reaps */
		bool			syscall_iopoll;
		/** @commands: (R) drivers may have, or have had, commands of URING_CMD */
		bool			commands;
		/** @compat: (-) set up by a 32-bit task */
		bool			compat;
		/**
		 * @dying: (A) the file is released: nothing may be parked any more.  Raised
		 * without the ring lock; task/exit.c says when it is seen
		 */
		bool			dying;
		/** @orphans: (A) tasks have left requests behind that hold a ring's file */
		bool			orphans;
		/** @notify_method: (-) how task work reaches a submitter, TWA_* */
		enum task_work_notify_mode	notify_method;
		/** @refs: the file, then the exit work; slab memory of requests */
		struct percpu_ref	refs;
	} ____cacheline_aligned_in_smp;

	/* submission */
	struct {
		/** @uring_lock: the ring lock */
		struct io_ring_lock	uring_lock;
		/** @sq_array: (-)(U) index array, NULL with NO_SQARRAY */
		u32			*sq_array;
		/** @sq_sqes: (-)(U) SQEs */
		struct io_uring_sqe	*sq_sqes;
		/** @sqe_shift: (-) 1 with 128-byte SQEs */
		u8			sqe_shift;
		/** @cached_sq_head: (R) next SQE to take */
		unsigned int		cached_sq_head;
		/** @sq_entries: (-) size of the submission queue */
		unsigned int		sq_entries;
		/** @free_reqs: (R) stack of requests to be used next */
		struct io_kiocb		**free_reqs;
		/** @nr_free: (R) requests on that stack */
		unsigned int		nr_free;
		/** @max_free: (R) as many are kept, none once the ring ends */
		unsigned int		max_free;
		/** @nr_reqs: (R) requests that were taken from the slab, free ones included */
		unsigned int		nr_reqs;
		/**
		 * @retired: (A) completed by workers, to be freed under the
		 * ring lock; linked by ->mail
		 */
		struct io_mailbox	retired;
		/**
		 * @unlisted: (A) polled requests that workers had no time to put on
		 * @iopoll_list, because they were killed; the fallback worker does it
		 */
		struct io_mailbox	unlisted;
		/**
		 * @ready: (R) chains whose turn has come, to be issued before
		 * the lock is released; linked by ->mail
		 */
		struct io_mail		*ready;
		/** @ready_tail: (R) where the next one is linked */
		struct io_mail		**ready_tail;
		/** @mail_rest: (R) what the owner took from @mailbox and has not run yet */
		struct io_mail		*mail_rest;
		/** @link_head: (R) chain being built */
		struct io_kiocb		*link_head;
		/** @link_last: (R) its last request */
		struct io_kiocb		*link_last;
		/** @iopoll_list: (R) polled requests in flight, linked by ->mail */
		struct io_mail		*iopoll_list;
		/** @iopoll_tail: (R) where the next one is linked */
		struct io_mail		**iopoll_tail;
		/** @file_table: (R) registered files */
		struct io_file_table	file_table;
		/** @buf_table: (R) registered buffers */
		struct io_rsrc_table	buf_table;
		/** @groups: provided buffers */
		struct io_buf_groups	groups;
		/** @tags_owed: (R) tags that come when requests end, as their slots are empty */
		unsigned int		tags_owed;
		/** @bufs_alive: (R) buffers in slots, and those that requests still use */
		unsigned int		bufs_alive;
		/** @bufs_awaited: (R) buffers whose last user somebody waits for, on @work_wait */
		unsigned int		bufs_awaited;
		/** @bufs_forsaken: (A) who waits for them was killed: undo what it began */
		bool			bufs_forsaken;
		/** @bufs_leaving: (R) slots of @buf_table, which has none meanwhile */
		unsigned int		bufs_leaving;
		/**
		 * @parked: (R) requests that wait for an event or a time, by
		 * user_data: a hash table, see io_uring/req/parked.h
		 */
		struct list_head	*parked;
		/** @parked_factor: (R) user_data times this ... */
		u64			parked_factor;
		/** @parked_room: (R) requests that may still be parked before @parked grows */
		int			parked_room;
		/** @parked_steps: (R) of walks through @parked, see io_parked_walk() */
		unsigned int		parked_steps;
		/** @parked_shift: (R) ... shifted by this is the bucket */
		u8			parked_shift;
		/** @free_polls: (R) to be used next for a retry that waits for its file */
		struct io_poll_retry	*free_polls;
		/** @nr_free_polls: (R) their number */
		unsigned int		nr_free_polls;
		/** @released: (R) polls that nobody owns any more, to be looked at once more */
		struct io_poll		*released[IO_POLL_RELEASED];
		/** @nr_released: (R) their number, 0 whenever the lock is free */
		unsigned int		nr_released;
		/** @settle_released: (-) looks at them, and empties @released */
		void			(*settle_released)(struct io_ring_ctx *ctx);
		/** @entries: (R) for messages that are sent from here, NULL before the first */
		struct io_entry_store	*entries;
		/** @drain_list: (R) chains that wait for earlier requests, linked by ->mail */
		struct io_mail		*drain_list;
		/** @drain_tail: (R) where the next one is linked */
		struct io_mail		**drain_tail;
		/** @nr_drained: (R) requests on @drain_list, those linked behind them included */
		unsigned int		nr_drained;
		/** @drain_next: (R) the next chain waits for the drained one before it */
		bool			drain_next;
		/** @drain_disabled: (R) a CQE was skipped: no draining from here on */
		bool			drain_disabled;
	} ____cacheline_aligned_in_smp;

	/** @cq: the completion queue */
	struct io_cqring		cq ____cacheline_aligned_in_smp;

	/* written by other contexts */
	struct {
		/** @mailbox: exclusive rings: finished requests, retries, messages */
		struct io_mailbox	mailbox;
		/** @cq_wait: shared rings: tasks that sleep for CQEs */
		struct wait_queue_head	cq_wait;
		/** @poll_wq: (A) who polls the ring's file */
		struct wait_queue_head	poll_wq;
		/** @io_ev_fd: RCU, the registered eventfd */
		struct io_ev_fd __rcu	*io_ev_fd;
		/** @sqo_sq_wait: who waits for room in the SQ */
		struct wait_queue_head	sqo_sq_wait;
		/** @fallback: (A) items whose task is gone, linked by ->mail */
		struct io_mailbox	fallback;
		/**
		 * @fallback_work: runs @fallback, and the mailbox of an
		 * exclusive ring whose owner is gone
		 */
		struct delayed_work	fallback_work;
	} ____cacheline_aligned_in_smp;

	/* the rest is cold */

	/** @notify_work: wakes listeners when the poster must not */
	struct delayed_work	notify_work;
	/** @restricted: (R) @restrictions hold */
	bool			restricted;
	/** @restrictions: (R) registered before the ring was enabled */
	struct io_restriction	restrictions;
	/** @clockid: (R) clock of waits */
	clockid_t		clockid;
	/* whose memory registered buffers are */
	struct {
		/** @user: (-) whose RLIMIT_MEMLOCK is charged, NULL with CAP_IPC_LOCK */
		struct user_struct	*user;
		/** @mm_account: (-) whose pinned pages are counted */
		struct mm_struct	*mm_account;
		/** @mem_account: (R) what is charged to the two, NULL before the first buffer */
		struct io_mem_account	*mem_account;
	};
	/** @plug: (R) block plug of the batch that is being submitted */
	struct blk_plug		plug;
	/* on whose behalf requests are issued */
	struct {
		/** @sq_creds: (-) credentials of the SQPOLL ring's creator */
		const struct cred	*sq_creds;
		/** @personalities: (R) registered credentials */
		struct xarray		personalities;
		/** @pers_next: (R) next id of a personality */
		u32			pers_next;
	};
	/** @iowq_limits: limits of workers, 0 for none, under users.lock */
	u32			iowq_limits[2];
	/** @sq_data: (-) SQPOLL thread, shared by attached rings */
	struct io_sq_data	*sq_data;
	/** @sq_thread_idle: (-) jiffies before the SQPOLL thread sleeps */
	unsigned int		sq_thread_idle;
	/** @sqd_list: in sq_data->ctx_list, under sq_data->lock */
	struct list_head	sqd_list;
	/** @sq_leaving: exit_work alone: the thread was asked to let go */
	bool			sq_leaving;
	/** @work_wait: who waits until workers let go of requests, or these of buffers */
	struct wait_queue_head	work_wait;
	/** @users: tasks that use the ring */
	struct io_ring_users	users;
	/** @ring_region: (-) words, CQEs, index array */
	struct io_mapped_region	ring_region;
	/** @sqe_region: (-) SQEs */
	struct io_mapped_region	sqe_region;
	/** @poll_rcu: looks at the CQ for the first who polled the ring */
	struct rcu_head		poll_rcu;
	/** @exit_work: ends what is in flight, once the file is released */
	struct delayed_work	exit_work;
	/** @tries: how often the work of that name did not get the ring lock in a row */
	struct {
		u8		fallback, exit;
	} tries;
	/** @free_work: frees the ring, a grace period after @refs is zero */
	struct rcu_work		free_work;
	/** @rcu: this memory is freed another grace period later */
	struct rcu_head		rcu;
	/** @cq_entries: (-) size of the completion queue */
	unsigned int		cq_entries;
};

#define IO_RINGFD_REG_MAX	16

/**
 * struct io_uring_task - a task's share of io_uring
 *
 * Freed with the task_struct.  Every request holds a reference to the task.
 */
struct io_uring_task {
	/** @task: (-) the task */
	struct task_struct	*task;
	/**
	 * @credit: (O) requests that are counted in @inflight and in the task's
	 * references, but not in use
	 */
	int			credit;
	/** @last: (O) ring that was used last, known to have a node in @nodes */
	struct io_ring_ctx	*last;
	/** @io_wq: (O) worker pool; others look at it under RCU */
	struct io_wq		*io_wq;
	/** @mailbox: (A) work for this task from shared rings */
	struct io_mailbox	mailbox;
	/** @task_work: runs @mailbox */
	struct callback_head	task_work;
	/** @inflight: (A) requests of this task, with @credit */
	atomic_long_t		inflight;
	/** @inflight_tracked: (A) those of them that have to end with the task */
	atomic_t		inflight_tracked;
	/** @in_cancel: (A) completions of requests must wake @wait */
	atomic_t		in_cancel;
	/** @wait: the exiting task, until its requests are gone */
	struct wait_queue_head	wait;
	/** @nodes: rings that this task uses, see struct io_tctx_node */
	struct xarray		nodes;
	/** @cmd_ring: (O) ring whose lock is held while a driver is called back, else NULL */
	struct io_ring_ctx	*cmd_ring;
	/** @registered_rings: (O) IORING_REGISTER_RING_FDS */
	struct file		*registered_rings[IO_RINGFD_REG_MAX];
	/** @rcu: freed after a grace period */
	struct rcu_head		rcu;
};

#endif /* _LINUX_IO_URING_TYPES_H */
