/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: struct io_ring_ctx and the structs of its parts */
#ifndef IO_CTX_H
#define IO_CTX_H

#include <linux/blkdev.h>
#include <linux/cache.h>
#include <linux/io_uring_types.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/rbtree_types.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/uidgid_types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

/*
 * Many files share struct io_ring_ctx, so this header defines all of its parts.  A part
 * belongs to the file that its kernel-doc names.  Other files read the fields, but call
 * functions of that file to change most of them.
 * The letters before descriptions of fields are explained in linux/io_uring_types.h.
 */

struct io_buf_group;
struct io_bundle;
struct io_ev_fd;
struct io_mem_account;
struct io_poll;
struct io_sq_data;
struct io_timer_queue;
struct user_struct;

/*
 * struct io_rings: the words of the ring that are shared with user space
 *
 * The words of the kernel and those of the program are in different cache lines, so
 * that their stores do not contend for a line.  User space finds the words through
 * the offsets that io_uring_setup() returns.
 */
struct io_rings {
	/* (U) the program writes */
	u32		sq_tail;
	u32		cq_head;
	u32		cq_flags;
	/* (U) the kernel writes */
	u32		sq_head ____cacheline_aligned;
	u32		cq_tail;
	u32		sq_dropped;
	u32		cq_overflow;
	atomic_t	sq_flags;
	u32		sq_ring_mask, cq_ring_mask;
	u32		sq_ring_entries, cq_ring_entries;
	/* (U) the completion queue; the index array follows, except with NO_SQARRAY */
	struct io_uring_cqe	cqes[] ____cacheline_aligned;
};

/**
 * struct io_ring_lock - the ring lock, for submission, registered resources and all (R) fields
 * @mutex: used by ring/locks.h; only io_ring_unlock() releases it, after a commit
 */
struct io_ring_lock {
	/* see above */
	struct mutex	mutex;
};

/**
 * struct io_cqe_entry - a CQE that is not in the ring yet: overflowed, or on its way as a message
 * @tw: links it into the overflow list, a mailbox or a store
 * @val: user_data, res and flags
 * @extra: the extra words of 32-byte CQEs
 * @store: (-) store that the entry belongs to, NULL if the entry is freed after one use
 * @uncounted: for an overflowed CQE: no target counts it
 */
struct io_cqe_entry {
	struct io_tw		tw;
	struct io_cqe_val	val;
	u64			extra[2];
	struct io_entry_store	*store;
	bool			uncounted;
};

/**
 * struct io_entry_store - entries for the messages of a ring (see io_uring/ring/entry.h)
 * @back: entries that were returned after use
 * @free: (R) entries to be used next, linked by ->tw
 * @made: (R) number of entries that belong to the store
 * @away: (A) after the end of the ring: number of entries that were not returned yet
 */
struct io_entry_store {
	struct io_mailbox	back;
	struct io_tw		*free;
	unsigned int		made;
	atomic_t		away;
};

/**
 * struct io_cq_target - a number of CQEs that a timeout waits for (see io_uring/ring/cq.c)
 * @node: (C) in cq.targets
 * @at: (C) value of cq.counted at which the target is reached
 * @listed: (C) the target is in cq.targets
 * @reached: called once, in the context that publishes the last of the CQEs, unless
 *	the target was removed before.  On multi-writer rings called under cq.lock
 */
struct io_cq_target {
	struct rb_node		node;
	u64			at;
	bool			listed;
	void			(*reached)(struct io_cq_target *target);
};

/**
 * struct io_cq_uncounted - CQEs that no target counts (see io_cq_settle())
 * @nr: number of such CQEs that were put into the ring since its setup
 * @seen: number of such CQEs that are published while the published tail is @at
 * @at: published tail for which @seen is valid
 */
struct io_cq_uncounted {
	u32	nr;
	u32	seen;
	u32	at;
};

#define IO_CQ_STAGE	16

/**
 * struct io_cqring - the kernel's side of the completion queue, written by ring/cq*.[ch]
 *
 * Single-writer rings write into the slots as soon as a result is known.  Multi-writer
 * rings stage up to %IO_CQ_STAGE CQEs under the ring lock and move them into the ring
 * under @lock.
 */
struct io_cqring {
	/** @tail: (C) next slot to be written */
	u32			tail;
	/** @limit: (C) position after the free slots at the last read of the head; see ring/cq.c */
	u32			limit;
	/** @published: (C) tail that user space can see */
	u32			published;
	/** @mask: (R) number of slots - 1 */
	u32			mask;
	/** @shift: (-) 1 with 32-byte slots */
	u8			shift;
	/** @single_writer: (-) see DEFER_TASKRUN in ring/cq.c */
	bool			single_writer;
	/** @overflowed: (C) the overflow list is not empty */
	bool			overflowed;
	/** @nr_staged: (R) multi-writer rings: used elements of @stage */
	u8			nr_staged;
	/** @direct: (-) @single_writer, and a slot has 16 bytes */
	bool			direct;
	/** @mixed: (-) with IORING_SETUP_CQE_MIXED: CQEs with IORING_CQE_F_32 take two slots */
	bool			mixed;
	/** @cqes: (R) the slots */
	struct io_uring_cqe	*cqes;
	/** @lock: multi-writer rings; task context only, see ring/locks.h */
	spinlock_t		lock;
	/** @overflow: (C) first overflowed CQE */
	struct io_tw		*overflow;
	/** @overflow_tail: (C) where the next overflowed CQE is linked */
	struct io_tw		**overflow_tail;
	/** @timeouts: (R) number of timeouts that ended or repeated; a change ends all waits */
	u32			timeouts;
	/** @counted: (C) published CQEs except uncounted ones; see io_cq_counted() */
	u64			counted;
	/** @targets: (C) numbers of CQEs that timeouts wait for, sorted by @at */
	struct rb_root_cached	targets;
	/** @timeouts_seen: (A) multi-writer rings: copy of @timeouts that sleepers read */
	u32			timeouts_seen;
	/** @uncounted: (C) CQEs of timeouts, which @counted leaves out */
	struct io_cq_uncounted	uncounted;
	/** @stage_uncounted: (R) uncounted CQEs in @stage, a bit each */
	u16			stage_uncounted;
	/** @stage_large: (R) CQEs in @stage that have two more words, a bit each */
	u16			stage_large;
	/**
	 * @stage: (R) multi-writer rings: CQEs that are not in the ring yet.  The extra words of a
	 * CQE that takes two slots are in the next element
	 */
	struct io_cqe_val	stage[IO_CQ_STAGE];
	/** @stage_extra: (R) with 32-byte slots: extra words of the CQEs in @stage_large */
	u64			stage_extra[IO_CQ_STAGE][2];
};

/**
 * struct io_rsrc_table - a table of registered files or buffers (see io_uring/rsrc/table.h)
 * @nr: (R) number of slots
 * @nodes: (R) a pointer for each slot, NULL if the slot is empty
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
 * @alloc_hint: (R) automatic allocation: slot to check first
 */
struct io_file_table {
	struct io_rsrc_table	data;
	unsigned long		*bitmap;
	unsigned int		alloc_start;
	unsigned int		alloc_end;
	unsigned int		alloc_hint;
};

/**
 * struct io_mapped_region - memory shared with user space (see io_uring/ring/region.h)
 * @ptr: kernel address
 * @pages: pages of the region
 * @nr_pages: number of @pages
 * @user: the pages are pinned memory of the program
 */
struct io_mapped_region {
	void		*ptr;
	struct page	**pages;
	unsigned int	nr_pages;
	bool		user;
};

/**
 * struct io_queues - memory of the queues of a ring (see io_uring/ring/queues.c)
 * @ring_region: (-) words, CQEs, index array
 * @sqe_region: (-) SQEs
 * @rings: (-) words and CQEs
 * @array: (-) index array, NULL with NO_SQARRAY
 * @sqes: (-) SQEs
 * @sq_entries: (-) number of SQ slots
 * @cq_entries: (-) number of CQ slots
 * @refs: the ring, until a grace period after it uses other memory; mmap() and fdinfo
 * @drop: drops the reference of a ring that uses other memory
 */
struct io_queues {
	struct io_mapped_region	ring_region, sqe_region;
	struct io_rings		*rings;
	u32			*array;
	struct io_uring_sqe	*sqes;
	unsigned int		sq_entries;
	unsigned int		cq_entries;
	refcount_t		refs;
	struct rcu_work		drop;
};

/**
 * struct io_memory - region that a program has asked for (see io_uring/rsrc/memory.c)
 * @region: (-) the memory
 * @wait_args: (-) a wait may read its arguments there
 * @user: (-) user that is charged for the pages, with a reference; NULL if none is
 */
struct io_memory {
	struct io_mapped_region	region;
	bool			wait_args;
	struct user_struct	*user;
};

/* groups of provided buffers with a number below this limit are in an array */
#define IO_GROUPS_SMALL	16

/**
 * struct io_buf_groups - groups of provided buffers (see io_uring/rsrc/groups.h)
 * @small: (R) groups with small numbers; changed under @lock as well
 * @others: (R) all other groups; changed under @lock as well
 * @bundle: (R) memory for a bundle during one attempt, NULL before the first bundle
 * @pinned: (R) pages of the program's memory that groups have pinned
 * @lock: protects @small and @others from mmap(), which runs without the ring lock; a leaf lock
 */
struct io_buf_groups {
	struct io_buf_group	*small[IO_GROUPS_SMALL];
	struct xarray		others;
	struct io_bundle	*bundle;
	unsigned long		pinned;
	/* see above */
	spinlock_t		lock;
};

/**
 * struct io_ring_users - the tasks that use a ring (see io_uring/task/tctx.h)
 * @lock: see ring/locks.h; task context only
 * @nodes: struct io_tctx_node of each task, under @lock
 * @next: next entry of a walk through @nodes, under @lock; the ring lock serialises walks
 * @used_workers: (R) a request was queued to a worker; if false, no pool has to be searched
 */
struct io_ring_users {
	/* see above */
	spinlock_t		lock;
	struct list_head	nodes;
	struct list_head	*next;
	bool			used_workers;
};

/**
 * struct io_sq - the submission queue (see io_uring/ring/sq.h)
 * @array: (R)(U) index array, NULL with NO_SQARRAY
 * @sqes: (R)(U) SQEs
 * @shift: (-) 1 with 128-byte SQEs
 * @tail: (R)(U) index after the last SQE; with SQ_REWIND it points to @entries
 * @head: (R) next SQE to take
 * @end: (R) position after the last slot of the batch; after a refused SQE, where the batch ends
 * @entries: (R) number of slots; written with WRITE_ONCE()
 */
struct io_sq {
	u32			*array;
	struct io_uring_sqe	*sqes;
	const u32		*tail;
	u8			shift;
	unsigned int		head;
	unsigned int		end;
	unsigned int		entries;
};

/**
 * struct io_req_pool - memory of requests (see io_uring/req/alloc.c)
 * @free: (R) stack of requests to be used next
 * @nr_free: (R) requests on that stack
 * @max_free: (R) limit of @nr_free, 0 once the ring ends
 * @nr: (R) number of requests that were allocated from the slab, including those in @free
 * @nr_notifs: (R) notifs among @nr, which have no SQE of their own, see op/net/notif.c
 * @retired: (A) requests that ended without the ring lock, to be freed under it
 * @all_gone: (R) set when the ring is closed; called under the ring lock after the last request
 */
struct io_req_pool {
	struct io_kiocb		**free;
	unsigned int		nr_free;
	unsigned int		max_free;
	unsigned int		nr;
	unsigned int		nr_notifs;
	struct io_mailbox	retired;
	void			(*all_gone)(struct io_ring_ctx *ctx);
};

/**
 * struct io_ready - chains and retries to issue before the ring lock is released (see req/push.c)
 * @first: (R) first item; items are linked by ->tw
 * @tail: (R) where the next item is linked
 */
struct io_ready {
	struct io_tw		*first;
	struct io_tw		**tail;
};

/**
 * struct io_chain - the chain that is being built (see io_uring/submit/slow.c)
 * @head: (R) first request, NULL if no chain is being built
 * @last: (R) last request so far
 */
struct io_chain {
	struct io_kiocb		*head;
	struct io_kiocb		*last;
};

/**
 * struct io_polled - requests of an IOPOLL ring in flight (see io_uring/async/iopoll.h)
 * @first: (R) first request; requests are linked by ->tw
 * @tail: (R) where the next request is linked
 * @unlisted: (A) requests that a worker could not put on the list because the worker
 *	was killed; the fallback worker puts them on the list
 * @mean_ns: (R) with HYBRID_IOPOLL, the mean time of a wait; 0 before the first one
 * @begin_ns: (R) with HYBRID_IOPOLL, the time at which the last wait began; 0 if it did not wait
 */
struct io_polled {
	struct io_tw		*first;
	struct io_tw		**tail;
	struct io_mailbox	unlisted;
	u64			mean_ns;
	u64			begin_ns;
};

/**
 * struct io_buf_life - for a task that unregisters the buffers (see io_uring/rsrc/bufs.c)
 * @alive: (R) number of buffers in slots or in use by requests, except those of drivers
 * @awaited: (R) number of buffers whose last users a task on ->work_wait waits for
 * @abandoned: (A) the waiting task was killed, so its unregistration has to be undone
 * @leaving: (R) number of slots of ->buf_table, whose nr is 0 during the wait
 * @nr_spare: (R) number of entries in @spare
 * @spare: (R) list of memory for the parts of vectors (see io_uring/rsrc/parts.c)
 */
struct io_buf_life {
	unsigned int		alive;
	unsigned int		awaited;
	bool			abandoned;
	unsigned int		leaving;
	unsigned int		nr_spare;
	struct io_buf_parts	*spare;
};

/**
 * struct io_wait_table - requests that wait for an event or a time (see io_uring/req/wait_table.h)
 * @buckets: (R) a hash table, by user_data
 * @factor: (R) multiplier of the hash of user_data
 * @room: (R) number of requests that can be added before the table grows
 * @steps: (R) steps of walks through the table, see io_wait_table_walk()
 * @shift: (R) right shift that turns the product into the index of a bucket
 */
struct io_wait_table {
	struct list_head	*buckets;
	u64			factor;
	int			room;
	unsigned int		steps;
	u8			shift;
};

/**
 * struct io_spare - first bytes of an object that a ring keeps for a later request
 * @next: (R) object that was put back before this object
 */
struct io_spare {
	struct io_spare		*next;
};

/**
 * struct io_spares - list of spare objects of one kind (see io_uring/req/spare.h)
 * @first: (R) object to be used next
 * @nr: (R) number of objects
 */
struct io_spares {
	struct io_spare		*first;
	unsigned int		nr;
};

/* maximum number of polls that share a full barrier after their release */
#define IO_POLL_RELEASED	64

/**
 * struct io_polls - requests that wait for files (see io_uring/async/poll.c)
 * @spares: memory for polls of requests that are retried when their file is ready
 * @released: (R) released polls, to be checked once more
 * @nr_released: (R) entries of @released, 0 whenever the ring lock is free
 * @recheck: (-) function that checks the polls in @released, and empties the array
 */
struct io_polls {
	struct io_spares	spares;
	struct io_poll		*released[IO_POLL_RELEASED];
	unsigned int		nr_released;
	void			(*recheck)(struct io_ring_ctx *ctx);
};

/**
 * struct io_drain - chains that wait for earlier requests (see io_uring/req/drain.c)
 * @first: (R) head of the first chain; heads are linked by ->tw
 * @tail: (R) where the next head is linked
 * @nr: (R) number of requests in all chains on the list
 * @running: (R) a drained chain has started, and not all of its requests have ended
 * @next: (R) the next chain has to be drained, see io_chain_mark_drain()
 * @disabled: (R) an SQE had IOSQE_CQE_SKIP_SUCCESS, so IOSQE_IO_DRAIN is refused
 */
struct io_drain {
	struct io_tw		*first;
	struct io_tw		**tail;
	unsigned int		nr;
	bool			running;
	bool			next;
	bool			disabled;
};

/**
 * struct io_fallback - work of tasks that are gone (see io_uring/task/run.c)
 * @items: (A) linked by ->tw
 * @work: runs @items, and the mailbox of a single-writer ring whose owner is gone
 * @tries: used by @work only: failed attempts in a row to take the ring lock
 * @orphans: (A) tasks have left tracked requests behind
 */
struct io_fallback {
	struct io_mailbox	items;
	struct delayed_work	work;
	u8			tries;
	bool			orphans;
};

/**
 * struct io_notify - listeners for CQEs, besides sleepers (see io_uring/ring/notify.c)
 * @wait: (A) tasks and rings that poll the ring's file
 * @ev_fd: the registered eventfd, read under RCU
 * @work: notifies the listeners if the context of a push must not do that
 * @rcu: checks the CQ again after the first poll of the ring's file
 */
struct io_notify {
	struct wait_queue_head	wait;
	struct io_ev_fd __rcu	*ev_fd;
	struct delayed_work	work;
	struct rcu_head		rcu;
};

/**
 * struct io_owner - user whose files are released one after the other (see io_uring/req/put.c)
 * @uid: (-) user that created the ring
 * @pid_ns: (-) number of the pid namespace that stands for a container
 */
struct io_owner {
	kuid_t			uid;
	unsigned int		pid_ns;
};

/**
 * struct io_account - user and mm charged for the memory of a ring (see io_uring/rsrc/account.h)
 * @user: (-) user whose RLIMIT_MEMLOCK is charged, NULL with CAP_IPC_LOCK
 * @mm: (-) mm whose ->pinned_vm is charged
 * @charged: (R) charges to @user and @mm, NULL until the first buffer is registered
 */
struct io_account {
	struct user_struct	*user;
	struct mm_struct	*mm;
	struct io_mem_account	*charged;
};

/**
 * struct io_creds - credentials with which requests are issued (see io_uring/rsrc/creds.h)
 * @sq: (-) credentials of the SQPOLL ring's creator
 * @personalities: (R) registered credentials
 * @next: (R) next id of a personality
 */
struct io_creds {
	const struct cred	*sq;
	struct xarray		personalities;
	u32			next;
};

/**
 * struct io_sqpoll - a ring's side of its SQPOLL thread (see io_uring/task/sqpoll.c)
 * @data: (-) the thread, shared by attached rings
 * @idle: (-) jiffies without work before the thread sleeps
 * @list: in data->ctx_list, under data->lock
 * @room: tasks that wait for room in the SQ
 * @leaving: (A) set when the ring ends, so that the thread removes the ring
 */
struct io_sqpoll {
	struct io_sq_data	*data;
	unsigned int		idle;
	struct list_head	list;
	struct wait_queue_head	room;
	bool			leaving;
};

/**
 * struct io_exit - a ring's end (see io_uring/task/exit.c)
 * @work: ends requests in flight, once the file is released
 * @tries: used by @work only: failed attempts in a row to take the ring lock
 * @free_work: frees the ring, a grace period after ->refs is zero
 */
struct io_exit {
	struct delayed_work	work;
	u8			tries;
	struct rcu_work		free_work;
};

/* reasons for an SQE to take the slow path, in ctx->submit_slow */
#define IO_SLOW_RESTRICTED	BIT(0)	/* check the ring's restrictions */
#define IO_SLOW_DRAIN		BIT(1)	/* drained requests wait */
#define IO_SLOW_LINK		BIT(2)	/* the SQE continues a chain */
#define IO_SLOW_FILTERED	BIT(3)	/* run the ring's filters after ->prep */

/* bits of ctx->listeners */
#define IO_LISTEN_POLL		0	/* the ring's file has been polled */
#define IO_LISTEN_EVENTFD	1	/* an eventfd is registered */
#define IO_LISTEN_TARGETS	2	/* timeouts wait for a number of CQEs: cq.targets */

/* conditions that io_uring_enter() checks before it waits, in ctx->check_cq */
#define IO_CHECK_CQ_OVERFLOW	0	/* bit: CQEs wait for room */
#define IO_CHECK_CQ_DROPPED	1	/* bit: a CQE was lost, reported once by -EBADR */

/* number of network device queues that a ring learns; new ones replace the oldest */
#define IO_NAPI_DYNAMIC_MAX	16
/* number of queues that a program may add with static tracking */
#define IO_NAPI_STATIC_MAX	1024

/**
 * struct io_napi - queues of network devices that a waiting task polls (see io_uring/async/napi.h)
 * @time_us: (A) microseconds of polling before each sleep, or 0; written under the ring lock
 * @prefer: (A) keep interrupts off during polling (prefer_busy_poll); written under the ring lock
 * @enabled: (R) registered
 * @learns: (R) dynamic tracking: the ring stores the IDs of its sockets
 * @nr: (A) entries of @ids; written under the ring lock
 * @next: (R) with dynamic tracking, the entry that is written next
 * @ids: (A) room for IO_NAPI_STATIC_MAX NAPI IDs, set once; entries are written under the ring lock
 */
struct io_napi {
	u32		time_us;
	bool		prefer;
	bool		enabled;
	bool		learns;
	unsigned int	nr;
	unsigned int	next;
	u32		*ids;
};

/**
 * union io_stops - reasons for io_uring_enter() to take another path at its beginning, in one word
 * @disabled: (A) IORING_SETUP_R_DISABLED, until the ring is enabled
 * @starved: (A) a context that does not wait for the ring lock has failed to take it for a
 *	while, so submitters yield (see io_ring_yield())
 * @loop: (A) a BPF loop is attached, see sys/loop.c
 * @any: (A) all of these, to check them by one load
 */
union io_stops {
	struct {
		bool	disabled;
		bool	starved;
		bool	loop;
	};
	u32	any;
};

/**
 * struct io_ring_ctx - a ring
 *
 * Exists from io_uring_setup() until the file is released, all requests have ended,
 * and two grace periods are over.
 */
struct io_ring_ctx {
	/* read by each call, rarely written */
	struct {
		/** @flags: (-) IORING_SETUP_* */
		unsigned int		flags;
		/** @submit_slow: (R) IO_SLOW_* */
		unsigned int		submit_slow;
		/** @rings: (R) shared words; other contexts use them as ring/queues.c says */
		struct io_rings		*rings;
		/** @submitter_task: (A) SINGLE_ISSUER: the owner, set once; holds a reference */
		struct task_struct	*submitter_task;
		/** @listeners: (A) bits IO_LISTEN_*: listeners for CQEs, besides sleepers */
		unsigned long		listeners;
		/** @check_cq: (A) bits IO_CHECK_CQ_* */
		unsigned long		check_cq;
		/** @issue_flags: (-) IO_URING_F_* that follow from the setup flags */
		unsigned int		issue_flags;
		/** @stops: reasons for io_uring_enter() to take another path */
		union io_stops		stops;
		/** @iopoll: (-) IORING_SETUP_IOPOLL */
		/** @syscall_iopoll: (-) IOPOLL without SQPOLL: io_uring_enter() reaps */
		bool			iopoll, syscall_iopoll;
		/** @commands: (R) a URING_CMD was submitted, so drivers may have commands */
		bool			commands;
		/** @asked: (A) a driver was called with IO_URING_F_CANCEL to end a command */
		bool			asked;
		/** @compat: (-) set up by a 32-bit task */
		bool			compat;
		/**
		 * @dying: (A) the file is released: no request may wait any more.  Set
		 * without the ring lock; task/exit.c explains the ordering
		 */
		bool			dying;
		/** @notify_method: (-) how task work reaches a submitter, TWA_* */
		enum task_work_notify_mode	notify_method;
		/** @refs: references, listed in task/exit.c */
		struct percpu_ref	refs;
	} ____cacheline_aligned_in_smp;

	/* written under the ring lock */
	struct {
		/** @uring_lock: the ring lock */
		struct io_ring_lock	uring_lock;
		/** @sq: the submission queue */
		struct io_sq		sq;
		/** @reqs: memory of requests */
		struct io_req_pool	reqs;
		/* items to run before new SQEs, and the chain that new SQEs extend */
		struct {
			/** @leftover: (R) items taken from @mailbox that have not run yet */
			struct io_tw		*leftover;
			/** @ready: chains and retries to issue next */
			struct io_ready		ready;
			/** @chain: the chain that is being built */
			struct io_chain		chain;
		};
		/** @polled: IOPOLL: requests in flight */
		struct io_polled	polled;
		/* resources of requests */
		struct {
			/** @tags_owed: (R) tags of emptied slots, to be posted when requests end */
			unsigned int		tags_owed;
			/** @file_table: (R) registered files */
			struct io_file_table	file_table;
			/** @timers: (R) queues of async/timer.c, NULL until many requests wait */
			struct io_timer_queue	*timers;
			/** @buf_table: (R) registered buffers */
			struct io_rsrc_table	buf_table;
			/** @entries: (R) store for sent messages, NULL before the first message */
			struct io_entry_store	*entries;
			/** @bufs: counts of registered buffers, to unregister them */
			struct io_buf_life	bufs;
			/** @groups: provided buffers */
			struct io_buf_groups	groups;
		};
		/** @waiting: requests that wait for an event or a time */
		struct io_wait_table	waiting;
		/** @polls: requests that wait for files */
		struct io_polls		polls;
		/** @futexes: memory for requests that wait on a futex */
		struct io_spares	futexes;
		/** @drain: chains that wait for earlier requests */
		struct io_drain		drain;
	} ____cacheline_aligned_in_smp;

	/** @cq: the completion queue */
	struct io_cqring	cq ____cacheline_aligned_in_smp;

	/* written by other contexts */
	struct {
		/** @mailbox: single-writer rings: finished requests, retries, messages */
		struct io_mailbox	mailbox;
		/** @wake_early: (A) a worker's next CQE may wake a task that waits for more CQEs */
		bool			wake_early;
		/** @cq_wait: multi-writer rings: tasks that sleep for CQEs */
		struct wait_queue_head	cq_wait;
		/** @notify: listeners for CQEs, besides sleepers */
		struct io_notify	notify;
		/** @fallback: work of tasks that are gone */
		struct io_fallback	fallback;
	} ____cacheline_aligned_in_smp;

	/* the rest is cold */

	/** @sqpoll: the ring's side of its SQPOLL thread */
	struct io_sqpoll	sqpoll;
	/** @plug: (R) block plug of the batch that is being submitted */
	struct blk_plug		plug;
	/** @clockid: (R) clock for the timeouts of waits */
	clockid_t		clockid;
	/** @iowq_limits: limits of the numbers of workers, 0 for none, under users.lock */
	u32			iowq_limits[2];
	/** @cq_entries: (R) size of the completion queue; the owner reads it without the lock */
	unsigned int		cq_entries;
	/** @queues: memory of the queues; changed under the ring lock, read under RCU */
	struct io_queues __rcu	*queues;
	/** @old_gp: (R) grace period after which the memory of replaced queues is freed */
	unsigned long		old_gp;
	/** @old_pages: (R) number of pages in that memory, 0 if the grace period is over */
	unsigned int		old_pages;
	/** @owner: user whose files are released one after the other */
	struct io_owner		owner;
	/** @account: user and mm that are charged for registered buffers */
	struct io_account	account;
	/** @creds: credentials with which requests are issued */
	struct io_creds		creds;
	/** @cmd_cancelled: (A) command whose driver is called to cancel it, or NULL */
	const struct io_kiocb	*cmd_cancelled;
	/** @memory: (A) region that the program has registered, set once; NULL before */
	struct io_memory	*memory;
	/** @work_wait: tasks that wait until workers drop requests, or requests release buffers */
	struct wait_queue_head	work_wait;
	/** @users: tasks that use the ring */
	struct io_ring_users	users;
	/** @restrictions: (R) restrictions of the ring, or NULL */
	struct io_restriction	*restrictions;
	/** @exit: the ring's end */
	struct io_exit		exit;
	/** @napi: queues of network devices */
	struct io_napi		napi;
	/** @zcrxs: (A) queues for zero copy receives, see rsrc/zcrx_register.c */
	struct xarray		zcrxs;
	/** @loop: the attached BPF loop, see sys/loop.c, or NULL */
	struct io_uring_bpf_ops __rcu *loop;
	/** @loop_link: the link that has attached @loop; only compared */
	struct bpf_link		*loop_link;
	/** @rcu: frees this struct, a grace period after @exit.free_work has run */
	struct rcu_head		rcu;
};

#endif /* IO_CTX_H */
