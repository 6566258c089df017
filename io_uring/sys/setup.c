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
#include "ring/queues.h"
#include "rsrc/account.h"
#include "rsrc/creds.h"
#include "rsrc/groups.h"
#include "rsrc/restrict.h"
#include "rsrc/zcrx.h"
#include "sys/file.h"
#include "sys/flags.h"
#include "sys/sysctl.h"
#include "task/exit.h"
#include "task/run.h"
#include "task/sqpoll.h"
#include "task/tctx.h"

static_assert(sizeof(struct io_uring_sqe) == 64);
static_assert(sizeof(struct io_uring_cqe) == 16);
#ifndef CONFIG_IO_URING_DEBUG
static_assert(sizeof(struct io_kiocb) <= 192);
#endif

/* Refuse flags that exclude each other, and flags that need another flag which is not set. */
static int io_setup_check_flags(unsigned int flags)
{
	unsigned int taskrun = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_DEFER_TASKRUN;

	if (flags & IORING_SETUP_REGISTERED_FD_ONLY && !(flags & IORING_SETUP_NO_MMAP))
		return -EINVAL;
	if (flags & IORING_SETUP_SQPOLL && flags & (taskrun | IORING_SETUP_TASKRUN_FLAG))
		return -EINVAL;
	if (flags & IORING_SETUP_TASKRUN_FLAG && !(flags & taskrun))
		return -EINVAL;
	if (flags & IORING_SETUP_DEFER_TASKRUN && !(flags & IORING_SETUP_SINGLE_ISSUER))
		return -EINVAL;
	if (flags & IORING_SETUP_HYBRID_IOPOLL && !(flags & IORING_SETUP_IOPOLL))
		return -EINVAL;
	if (flags & IORING_SETUP_CQE_MIXED && flags & IORING_SETUP_CQE32)
		return -EINVAL;
	if (flags & IORING_SETUP_SQE_MIXED && flags & IORING_SETUP_SQE128)
		return -EINVAL;
	/* an SQPOLL thread needs the tail */
	if (flags & IORING_SETUP_SQ_REWIND &&
	    (!(flags & IORING_SETUP_NO_SQARRAY) || flags & IORING_SETUP_SQPOLL))
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
	io_zcrx_init(ctx);
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
	if (flags & (IORING_SETUP_CQE32 | IORING_SETUP_CQE_MIXED))
		ctx->issue_flags |= IO_URING_F_CQE32;
	if (ctx->iopoll)
		ctx->issue_flags |= IO_URING_F_IOPOLL;
	if (ctx->compat)
		ctx->issue_flags |= IO_URING_F_COMPAT;

	io_owner_init(&ctx->owner);
	io_account_init(ctx);
	io_restrictions_inherit(ctx);
	if ((flags & (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED)) ==
	    IORING_SETUP_SINGLE_ISSUER)
		ctx->submitter_task = get_task_struct(current);
}

/* Allocate or pin the memory that the ring shares with user space. */
static int io_ring_memory(struct io_ring_ctx *ctx, struct io_uring_params *p)
{
	struct io_queues *queues = io_queues_create(p);

	if (IS_ERR(queues))
		return PTR_ERR(queues);
	io_queues_reset(queues);
	io_queues_use(ctx, queues);
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

	ret = io_queues_sizes(p, entries);
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
