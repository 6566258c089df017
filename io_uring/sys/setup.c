// SPDX-License-Identifier: GPL-2.0
/* io_uring: io_uring_setup(2) */

/*
 * Parameters are checked in the order that programs expect.  Then the ring is built in this
 * order: struct, memory, SQPOLL thread, file, descriptor.  If a step after the struct fails,
 * io_ring_kill() ends the ring.  Once there is a file, its release calls io_ring_kill().
 */
#include <linux/compat.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/io_uring.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
/* a trace event reads fields of the ring */
#include "ctx.h"
#define CREATE_TRACE_POINTS
#include <trace/events/io_uring.h>

#include "async/iopoll.h"
#include "async/poll.h"
#include "req/drain.h"
#include "req/wait_table.h"
#include "req/req.h"
#include "req/put.h"
#include "ring/cq.h"
#include "ring/notify.h"
#include "ring/region.h"
#include "rsrc/account.h"
#include "rsrc/creds.h"
#include "rsrc/groups.h"
#include "sys/file.h"
#include "sys/sysctl.h"
#include "task/exit.h"
#include "task/run.h"
#include "task/sqpoll.h"
#include "task/tctx.h"

#define IO_MAX_SQ_ENTRIES	32768
#define IO_MAX_CQ_ENTRIES	(2 * IO_MAX_SQ_ENTRIES)

#define IO_SETUP_FLAGS							\
	(IORING_SETUP_IOPOLL | IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF |	\
	 IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_ATTACH_WQ |	\
	 IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL |			\
	 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |		\
	 IORING_SETUP_SQE128 | IORING_SETUP_CQE32 |				\
	 IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |		\
	 IORING_SETUP_NO_MMAP | IORING_SETUP_REGISTERED_FD_ONLY |		\
	 IORING_SETUP_NO_SQARRAY)

/* features that programs may rely on; set a bit only if the code behaves accordingly */
#define IO_FEATURES							\
	(IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP |				\
	 IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_RW_CUR_POS |			\
	 IORING_FEAT_CUR_PERSONALITY | IORING_FEAT_SQPOLL_NONFIXED |		\
	 IORING_FEAT_EXT_ARG | IORING_FEAT_NATIVE_WORKERS |			\
	 IORING_FEAT_RSRC_TAGS | IORING_FEAT_CQE_SKIP |				\
	 IORING_FEAT_LINKED_FILE | IORING_FEAT_REG_REG_RING |			\
	 IORING_FEAT_FAST_POLL | IORING_FEAT_POLL_32BITS |			\
	 (IS_ENABLED(CONFIG_NET) ? IORING_FEAT_RECVSEND_BUNDLE : 0) |		\
	 IORING_FEAT_MIN_TIMEOUT)

static_assert(sizeof(struct io_uring_sqe) == 64);
static_assert(sizeof(struct io_uring_cqe) == 16);
#ifndef CONFIG_IO_URING_DEBUG
static_assert(sizeof(struct io_kiocb) <= 192);
#endif

/* Check the sizes and REGISTERED_FD_ONLY.  Compute p->sq_entries and p->cq_entries. */
static int io_setup_sizes(struct io_uring_params *p, unsigned int entries)
{
	bool clamp = p->flags & IORING_SETUP_CLAMP;

	if (!entries || (entries > IO_MAX_SQ_ENTRIES && !clamp))
		return -EINVAL;
	if (p->flags & IORING_SETUP_REGISTERED_FD_ONLY && !(p->flags & IORING_SETUP_NO_MMAP))
		return -EINVAL;
	p->sq_entries = roundup_pow_of_two(min(entries, IO_MAX_SQ_ENTRIES));
	if (!(p->flags & IORING_SETUP_CQSIZE)) {
		p->cq_entries = 2 * p->sq_entries;
		return 0;
	}
	if (!p->cq_entries || (p->cq_entries > IO_MAX_CQ_ENTRIES && !clamp))
		return -EINVAL;
	p->cq_entries = roundup_pow_of_two(min(p->cq_entries, IO_MAX_CQ_ENTRIES));
	return p->cq_entries < p->sq_entries ? -EINVAL : 0;
}

/* Refuse flags that exclude each other, and flags that need another flag which is not set. */
static int io_setup_check_flags(unsigned int flags)
{
	unsigned int taskrun = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_DEFER_TASKRUN;

	if (flags & IORING_SETUP_SQPOLL && flags & (taskrun | IORING_SETUP_TASKRUN_FLAG))
		return -EINVAL;
	if (flags & IORING_SETUP_TASKRUN_FLAG && !(flags & taskrun))
		return -EINVAL;
	if (flags & IORING_SETUP_DEFER_TASKRUN && !(flags & IORING_SETUP_SINGLE_ISSUER))
		return -EINVAL;
	return 0;
}

/* Allocate a ring, but not the memory that it will share with the program. */
static struct io_ring_ctx *io_ring_alloc(const struct io_uring_params *p)
{
	struct io_ring_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	if (percpu_ref_init(&ctx->refs, io_ring_refs_gone, 0, GFP_KERNEL_ACCOUNT)) {
		kfree(ctx);
		return NULL;
	}
	ctx->flags = p->flags;
	ctx->stops.disabled = p->flags & IORING_SETUP_R_DISABLED;
	ctx->sq.entries = p->sq_entries;
	ctx->cq_entries = p->cq_entries;
	if (io_req_cache_init(ctx) || io_wait_table_init(ctx)) {
		io_req_cache_free(ctx);
		percpu_ref_exit(&ctx->refs);
		kfree(ctx);
		return NULL;
	}
	mutex_init(&ctx->uring_lock.mutex);
	io_notify_init(ctx);
	spin_lock_init(&ctx->users.lock);
	INIT_LIST_HEAD(&ctx->users.nodes);
	init_waitqueue_head(&ctx->work_wait);
	io_sqpoll_init(ctx);
	io_fallback_init(ctx);
	io_creds_init(ctx);
	io_groups_init(ctx);
	io_iopoll_init(ctx);
	io_drain_init(ctx);
	io_poll_init(ctx);
	ctx->clockid = CLOCK_MONOTONIC;
	return ctx;
}

/* Set the fields that depend on the flags, and on the task that sets up the ring. */
static void io_ring_identify(struct io_ring_ctx *ctx)
{
	unsigned int flags = ctx->flags;

	ctx->iopoll = flags & IORING_SETUP_IOPOLL;
	ctx->syscall_iopoll = ctx->iopoll && !(flags & IORING_SETUP_SQPOLL);
	ctx->compat = in_compat_syscall();
	ctx->notify_method = TWA_SIGNAL;
	if (flags & (IORING_SETUP_SQPOLL | IORING_SETUP_COOP_TASKRUN))
		ctx->notify_method = TWA_SIGNAL_NO_IPI;
	ctx->sq.shift = !!(flags & IORING_SETUP_SQE128);
	if (ctx->sq.shift)
		ctx->issue_flags |= IO_URING_F_SQE128;
	if (flags & IORING_SETUP_CQE32)
		ctx->issue_flags |= IO_URING_F_CQE32;
	if (ctx->iopoll)
		ctx->issue_flags |= IO_URING_F_IOPOLL;
	if (ctx->compat)
		ctx->issue_flags |= IO_URING_F_COMPAT;

	io_owner_init(&ctx->owner);
	io_account_init(ctx);
	if ((flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED)) ==
	    IORING_SETUP_SINGLE_ISSUER)
		ctx->submitter_task = get_task_struct(current);
}

/* Compute the offset of the index array (SIZE_MAX if there is none), and the size of the region. */
static int io_ring_layout(const struct io_uring_params *p, size_t *size, size_t *array)
{
	size_t cqes = array_size(p->cq_entries, sizeof(struct io_uring_cqe));

	if (p->flags & IORING_SETUP_CQE32)
		cqes = size_mul(cqes, 2);
	*size = struct_size_t(struct io_rings, cqes, 0);
	*size = size_add(*size, cqes);
	*array = SIZE_MAX;
	if (!(p->flags & IORING_SETUP_NO_SQARRAY)) {
		*array = *size;
		*size = size_add(*size, array_size(p->sq_entries, sizeof(u32)));
	}
	return *size == SIZE_MAX ? -EOVERFLOW : 0;
}

static int io_ring_share(struct io_mapped_region *region, const struct io_uring_params *p,
			 u64 uaddr, size_t size)
{
	if (p->flags & IORING_SETUP_NO_MMAP)
		return io_region_pin(region, uaddr, size);
	return io_region_alloc(region, size);
}

#define IO_WORD(name)	offsetof(struct io_rings, name)

static void io_ring_fill_offsets(struct io_uring_params *p, size_t array)
{
	bool user = p->flags & IORING_SETUP_NO_MMAP;

	p->sq_off = (struct io_sqring_offsets) {
		.head = IO_WORD(sq_head), .tail = IO_WORD(sq_tail),
		.ring_mask = IO_WORD(sq_ring_mask), .ring_entries = IO_WORD(sq_ring_entries),
		.flags = IO_WORD(sq_flags), .dropped = IO_WORD(sq_dropped),
		.array = array == SIZE_MAX ? 0 : array,
		.user_addr = user ? p->sq_off.user_addr : 0,
	};
	p->cq_off = (struct io_cqring_offsets) {
		.head = IO_WORD(cq_head), .tail = IO_WORD(cq_tail),
		.ring_mask = IO_WORD(cq_ring_mask), .ring_entries = IO_WORD(cq_ring_entries),
		.flags = IO_WORD(cq_flags), .overflow = IO_WORD(cq_overflow),
		.cqes = IO_WORD(cqes),
		.user_addr = user ? p->cq_off.user_addr : 0,
	};
}

/* Allocate or pin the memory that the ring shares with user space. */
static int io_ring_memory(struct io_ring_ctx *ctx, struct io_uring_params *p)
{
	size_t size, array, sqes;
	struct io_rings *rings;
	int ret;

	ret = io_ring_layout(p, &size, &array);
	if (ret)
		return ret;
	ret = io_ring_share(&ctx->ring_region, p, p->cq_off.user_addr, size);
	if (ret)
		return ret;
	rings = ctx->ring_region.ptr;
	/* the program's own memory may contain anything */
	memset(rings, 0, sizeof(*rings));
	rings->sq_ring_entries = p->sq_entries;
	rings->sq_ring_mask = p->sq_entries - 1;
	rings->cq_ring_entries = p->cq_entries;
	rings->cq_ring_mask = p->cq_entries - 1;
	ctx->rings = rings;
	if (array != SIZE_MAX)
		ctx->sq.array = (u32 *)((char *)rings + array);

	sqes = array_size(p->sq_entries, sizeof(struct io_uring_sqe));
	if (p->flags & IORING_SETUP_SQE128)
		sqes = size_mul(sqes, 2);
	ret = io_ring_share(&ctx->sqe_region, p, p->sq_off.user_addr, sqes);
	if (ret)
		return ret;
	ctx->sq.sqes = ctx->sqe_region.ptr;
	io_ring_fill_offsets(p, array);
	io_cq_init(ctx);
	return 0;
}

/* Attach the ring to current, install its file.  Return: a descriptor, index or negative errno. */
static int io_ring_install(struct io_ring_ctx *ctx, struct file *file)
{
	int fd, ret;

	ret = io_tctx_attach(ctx);
	if (ret)
		return ret;
	if (ctx->flags & IORING_SETUP_REGISTERED_FD_ONLY)
		return io_ringfd_add(file);
	fd = get_unused_fd_flags(O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		fd_install(fd, file);
	return fd;
}

static int io_ring_build(struct io_ring_ctx *ctx, struct io_uring_params *p,
			 struct io_uring_params __user *params)
{
	int ret;

	io_ring_identify(ctx);
	ret = io_ring_memory(ctx, p);
	if (!ret)
		ret = io_sqpoll_create(ctx, p);
	if (ret)
		return ret;
	p->features = IO_FEATURES;
	return copy_to_user(params, p, sizeof(*p)) ? -EFAULT : 0;
}

static int io_ring_create(unsigned int entries, struct io_uring_params *p,
			  struct io_uring_params __user *params)
{
	struct io_ring_ctx *ctx;
	struct file *file;
	int ret;

	ret = io_setup_sizes(p, entries);
	if (!ret)
		ret = io_setup_check_flags(p->flags);
	if (ret)
		return ret;
	ctx = io_ring_alloc(p);
	if (!ctx)
		return -ENOMEM;
	ret = io_ring_build(ctx, p, params);
	file = ret ? ERR_PTR(ret) : io_ring_open_file(ctx);
	if (IS_ERR(file)) {
		/* io_ring_kill() also removes the ring from an SQPOLL thread */
		io_ring_kill(ctx);
		return PTR_ERR(file);
	}
	ret = io_ring_install(ctx, file);
	if (ret < 0)
		fput(file);
	else
		trace_io_uring_create(ret, ctx, p->sq_entries, p->cq_entries, p->flags);
	return ret;
}

SYSCALL_DEFINE2(io_uring_setup, u32, entries, struct io_uring_params __user *, params)
{
	struct io_uring_params p;
	int ret = io_uring_may_setup();

	if (ret)
		return ret;
	if (copy_from_user(&p, params, sizeof(p)))
		return -EFAULT;
	if (memchr_inv(p.resv, 0, sizeof(p.resv)) || p.flags & ~IO_SETUP_FLAGS)
		return -EINVAL;
	return io_ring_create(entries, &p, params);
}
