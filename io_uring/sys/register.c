// SPDX-License-Identifier: GPL-2.0
/* io_uring: io_uring_register(2) */

/*
 * io_reg_ops[] has one line for each opcode: its handler, and conditions for the two arguments.
 * Handlers are called with the ring lock held.  A handler that has to wait for other tasks drops
 * the lock and takes it again.  If it cannot, because current was killed, it returns %IO_RING_LOST.
 */
#include <linux/compat.h>
#include <linux/cpumask.h>
#include <linux/file.h>
#include <linux/io_uring.h>
#include <linux/nospec.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <trace/events/io_uring.h>

#include "async/napi.h"
#include "async/wq.h"
#include "op.h"
#include "op/msg_ring.h"
#include "ring/locks.h"
#include "ring/notify.h"
#include "rsrc/bufs.h"
#include "rsrc/creds.h"
#include "rsrc/files.h"
#include "rsrc/groups.h"
#include "rsrc/memory.h"
#include "rsrc/restrict.h"
#include "rsrc/zcrx.h"
#include "sys/query.h"
#include "sys/resize.h"
#include "sys/sync_cancel.h"
#include "sys/unregister.h"
#include "task/sqpoll.h"
#include "task/tctx.h"

/* condition for the user pointer */
enum io_reg_arg {
	IO_ARG_ANY,		/* the handler checks it */
	IO_ARG_NULL,		/* NULL, else -EINVAL */
	IO_ARG_SET,		/* not NULL, else -EINVAL */
	IO_ARG_FAULT,		/* not NULL, else -EFAULT */
};

/**
 * struct io_reg_op - an opcode of io_uring_register(2)
 * @run_nr: handler; ring lock held
 * @run_arg: a handler that does not need the number
 * @run_ring: a handler without arguments
 * @run_blind: a handler for calls with -1 as the descriptor, which need no ring
 * @arg: condition for the pointer
 * @nr_min: smallest number
 * @nr_max: largest number, else -EINVAL
 */
struct io_reg_op {
	int		(*run_nr)(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr);
	int		(*run_arg)(struct io_ring_ctx *ctx, void __user *arg);
	int		(*run_ring)(struct io_ring_ctx *ctx);
	int		(*run_blind)(void __user *arg, unsigned int nr);
	enum io_reg_arg	arg;
	unsigned int	nr_min;
	unsigned int	nr_max;
};

static int io_reg_buffers(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	return io_register_buffers(ctx, arg, nr, NULL);
}

static int io_reg_files(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	return io_register_files(ctx, arg, nr, NULL);
}

static int io_reg_files_update2(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	return io_update_rsrc(ctx, arg, nr, false);
}

static int io_reg_buffers_update(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	return io_update_rsrc(ctx, arg, nr, true);
}

static int io_reg_eventfd(struct io_ring_ctx *ctx, void __user *arg)
{
	return io_eventfd_register(ctx, arg, false);
}

static int io_reg_eventfd_async(struct io_ring_ctx *ctx, void __user *arg)
{
	return io_eventfd_register(ctx, arg, true);
}

static int io_reg_no_personality(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	return io_unregister_personality(ctx, nr);
}

/*
 * Report the supported opcodes.  The program passes zeroes; entries beyond the last opcode stay
 * unchanged.
 */
static int io_reg_probe(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	size_t size = struct_size_t(struct io_uring_probe, ops, min(nr, IORING_OP_LAST));
	struct io_uring_probe *probe __free(kfree) = memdup_user(arg, size);
	unsigned int i;

	if (IS_ERR(probe))
		return PTR_ERR(no_free_ptr(probe));
	if (memchr_inv(probe, 0, size))
		return -EINVAL;
	probe->last_op = IORING_OP_LAST - 1;
	probe->ops_len = min(nr, IORING_OP_LAST);
	for (i = 0; i < probe->ops_len; i++) {
		probe->ops[i].op = i;
		if (io_ops[i] != &io_op_unsupported && io_ops[i] != &io_op_invalid)
			probe->ops[i].flags = IO_URING_OP_SUPPORTED;
	}
	return copy_to_user(arg, probe, size) ? -EFAULT : 0;
}

static int io_reg_enable(struct io_ring_ctx *ctx)
{
	if (!ctx->stops.disabled)
		return -EBADFD;
	if (ctx->flags & IORING_SETUP_SINGLE_ISSUER && !ctx->submitter_task) {
		/* attach now: the owner's exit has to find the ring even if it never submits */
		int ret = io_tctx_attach(ctx);

		if (ret)
			return ret;
		WRITE_ONCE(ctx->submitter_task, get_task_struct(current));
	}
	io_restrictions_enable(ctx);
	WRITE_ONCE(ctx->stops.disabled, false);
	if (ctx->sqpoll.data)
		wake_up(&ctx->sqpoll.data->wait);
	return 0;
}

/*
 * Set the CPUs of current's workers, or of the SQPOLL thread's workers.  Drop the ring lock for the
 * latter, as io_sqpoll_set_affinity() waits for the thread.
 */
static int io_set_affinity(struct io_ring_ctx *ctx, const struct cpumask *mask)
{
	int ret;

	if (!(ctx->flags & IORING_SETUP_SQPOLL)) {
		if (!current->io_uring || !current->io_uring->io_wq)
			return -EINVAL;
		return io_wq_set_affinity(current->io_uring->io_wq, mask);
	}
	io_ring_unlock(ctx);
	ret = io_sqpoll_set_affinity(ctx, mask);
	return io_ring_lock(ctx) ? IO_RING_LOST : ret;
}

/* Copy the bitmap of a 32-bit program, whose words are swapped on 64-bit big endian machines. */
static int io_copy_compat_bits(unsigned long *bits, void __user *arg, unsigned int len)
{
#ifdef CONFIG_COMPAT
	return compat_get_bitmap(bits, arg, BITS_PER_BYTE * len);
#else
	return -EINVAL;
#endif
}

static int io_copy_cpumask(struct cpumask *mask, void __user *arg, unsigned int len)
{
	if (len > cpumask_size())
		len = cpumask_size();
	cpumask_clear(mask);
	if (IS_ENABLED(CONFIG_COMPAT) && in_compat_syscall())
		return io_copy_compat_bits(cpumask_bits(mask), arg, len);
	return copy_from_user(mask, arg, len) ? -EFAULT : 0;
}

static int io_reg_affinity(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	cpumask_var_t mask;
	int ret;

	if (!alloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	ret = io_copy_cpumask(mask, arg, nr);
	if (!ret)
		ret = io_set_affinity(ctx, mask);
	free_cpumask_var(mask);
	return ret;
}

static int io_reg_no_affinity(struct io_ring_ctx *ctx)
{
	return io_set_affinity(ctx, NULL);
}

/* Set the limits of the bounded and unbounded workers, and return the old ones to the program. */
static int io_reg_max_workers(struct io_ring_ctx *ctx, void __user *arg)
{
	u32 limits[2];
	int ret = 0;

	if (copy_from_user(limits, arg, sizeof(limits)))
		return -EFAULT;
	if (limits[0] > INT_MAX || limits[1] > INT_MAX)
		return -EINVAL;
	io_tctx_set_limits(ctx, limits);
	io_ring_unlock(ctx);
	if (ctx->flags & IORING_SETUP_SQPOLL)
		ret = io_sqpoll_max_workers(ctx, limits);
	else if (current->io_uring && current->io_uring->io_wq)
		ret = io_wq_set_max_workers(current->io_uring->io_wq, limits);
	else
		memset(limits, 0, sizeof(limits));
	if (io_ring_lock(ctx))
		return IO_RING_LOST;
	if (ret)
		return ret;
	return copy_to_user(arg, limits, sizeof(limits)) ? -EFAULT : 0;
}

/* Set the clock for the timeouts of waits in io_uring_enter(). */
static int io_reg_clock(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_uring_clock_register reg;

	if (copy_from_user(&reg, arg, sizeof(reg)))
		return -EFAULT;
	if (reg.clockid != CLOCK_MONOTONIC && reg.clockid != CLOCK_BOOTTIME)
		return -EINVAL;
	if (memchr_inv(reg.__resv, 0, sizeof(reg.__resv)))
		return -EINVAL;
	ctx->clockid = reg.clockid;
	return 0;
}

static int io_reg_query(struct io_ring_ctx *ctx, void __user *arg)
{
	return io_query(arg);
}

static int io_blind_query(void __user *arg, unsigned int nr)
{
	return io_query(arg);
}

static int io_blind_message(void __user *arg, unsigned int nr)
{
	return io_msg_send_without_ring(arg);
}

/* entries for handlers that take the pointer and the number, only the pointer, or neither */
#define IO_REG_NR(fn, what, min, max)	\
	{ .run_nr = (fn), .arg = IO_ARG_##what, .nr_min = (min), .nr_max = (max) }
#define IO_REG_ARG(fn, what, nr)	\
	{ .run_arg = (fn), .arg = IO_ARG_##what, .nr_min = (nr), .nr_max = (nr) }
#define IO_REG_RING(fn)	\
	{ .run_ring = (fn), .arg = IO_ARG_NULL }
#define IO_REG_BLIND(fn, what, nr)	\
	{ .run_blind = (fn), .arg = IO_ARG_##what, .nr_min = (nr), .nr_max = (nr) }

static const struct io_reg_op io_reg_ops[IORING_REGISTER_LAST] = {
	[IORING_REGISTER_BUFFERS]		= IO_REG_NR(io_reg_buffers, FAULT, 0, UINT_MAX),
	[IORING_UNREGISTER_BUFFERS]		= IO_REG_RING(io_unregister_buffers),
	[IORING_REGISTER_FILES]			= IO_REG_NR(io_reg_files, FAULT, 0, UINT_MAX),
	[IORING_UNREGISTER_FILES]		= IO_REG_RING(io_unregister_files),
	[IORING_REGISTER_FILES_UPDATE]		= IO_REG_NR(io_update_files, ANY, 0, UINT_MAX),
	[IORING_REGISTER_EVENTFD]		= IO_REG_ARG(io_reg_eventfd, ANY, 1),
	[IORING_REGISTER_EVENTFD_ASYNC]		= IO_REG_ARG(io_reg_eventfd_async, ANY, 1),
	[IORING_UNREGISTER_EVENTFD]		= IO_REG_RING(io_eventfd_unregister),
	[IORING_REGISTER_PROBE]			= IO_REG_NR(io_reg_probe, SET, 0, 256),
	[IORING_REGISTER_PERSONALITY]		= IO_REG_RING(io_register_personality),
	[IORING_UNREGISTER_PERSONALITY] = IO_REG_NR(io_reg_no_personality, NULL, 0, UINT_MAX),
	[IORING_REGISTER_RESTRICTIONS] = {
		.run_nr = io_register_restrictions, .run_blind = io_restrict_task,
		.nr_max = UINT_MAX,
	},
	[IORING_REGISTER_ENABLE_RINGS]		= IO_REG_RING(io_reg_enable),
	[IORING_REGISTER_FILES2]		= IO_REG_NR(io_register_files2, ANY, 0, UINT_MAX),
	[IORING_REGISTER_FILES_UPDATE2]		= IO_REG_NR(io_reg_files_update2, ANY, 0, UINT_MAX),
	[IORING_REGISTER_BUFFERS2]		= IO_REG_NR(io_register_buffers2, ANY, 0, UINT_MAX),
	[IORING_REGISTER_BUFFERS_UPDATE] = IO_REG_NR(io_reg_buffers_update, ANY, 0, UINT_MAX),
	[IORING_REGISTER_IOWQ_AFF]		= IO_REG_NR(io_reg_affinity, SET, 1, UINT_MAX),
	[IORING_UNREGISTER_IOWQ_AFF]		= IO_REG_RING(io_reg_no_affinity),
	[IORING_REGISTER_IOWQ_MAX_WORKERS]	= IO_REG_ARG(io_reg_max_workers, SET, 2),
	[IORING_REGISTER_RING_FDS]		= IO_REG_NR(io_ringfd_register, ANY, 0, UINT_MAX),
	[IORING_UNREGISTER_RING_FDS]		= IO_REG_NR(io_ringfd_unregister, ANY, 0, UINT_MAX),
	[IORING_REGISTER_PBUF_RING]		= IO_REG_ARG(io_group_register, SET, 1),
	[IORING_UNREGISTER_PBUF_RING]		= IO_REG_ARG(io_group_unregister, SET, 1),
	[IORING_REGISTER_PBUF_STATUS]		= IO_REG_ARG(io_group_status, SET, 1),
	[IORING_REGISTER_SYNC_CANCEL]		= IO_REG_NR(io_sync_cancel, SET, 1, 1),
	[IORING_REGISTER_FILE_ALLOC_RANGE]	= IO_REG_ARG(io_register_file_alloc_range, SET, 0),
	[IORING_REGISTER_NAPI]			= IO_REG_ARG(io_napi_register, SET, 1),
	[IORING_UNREGISTER_NAPI]		= IO_REG_ARG(io_napi_unregister, ANY, 1),
	[IORING_REGISTER_CLOCK]			= IO_REG_ARG(io_reg_clock, SET, 0),
	[IORING_REGISTER_CLONE_BUFFERS]		= IO_REG_ARG(io_clone_buffers, SET, 1),
	[IORING_REGISTER_SEND_MSG_RING]		= IO_REG_BLIND(io_blind_message, SET, 1),
	[IORING_REGISTER_ZCRX_IFQ]		= IO_REG_ARG(io_zcrx_register, SET, 1),
	[IORING_REGISTER_RESIZE_RINGS]		= IO_REG_ARG(io_resize, SET, 1),
	[IORING_REGISTER_MEM_REGION]		= IO_REG_ARG(io_memory_register, SET, 1),
	[IORING_REGISTER_ZCRX_CTRL]		= IO_REG_ARG(io_zcrx_ctrl, ANY, 0),
	[IORING_REGISTER_BPF_FILTER] = {
		.run_arg = io_register_filter, .run_blind = io_filter_task,
		.nr_min = 1, .nr_max = 1,
	},
	[IORING_REGISTER_QUERY] = { .run_arg = io_reg_query, .run_blind = io_blind_query },
};

static int io_reg_check(const struct io_reg_op *op, const void __user *arg, unsigned int nr)
{
	if (op->arg == IO_ARG_FAULT && !arg)
		return -EFAULT;
	if ((op->arg == IO_ARG_SET && !arg) || (op->arg == IO_ARG_NULL && arg))
		return -EINVAL;
	return nr < op->nr_min || nr > op->nr_max ? -EINVAL : 0;
}

/* Run a handler; ring lock held, also on return unless that is %IO_RING_LOST. */
static int io_register_locked(struct io_ring_ctx *ctx, unsigned int opcode, void __user *arg,
			      unsigned int nr)
{
	const struct io_reg_op *op;
	int ret;

	io_assert_ring(ctx);
	if (ctx->submitter_task && ctx->submitter_task != current)
		return -EEXIST;
	if (!io_register_allowed(ctx->restrictions, opcode))
		return -EACCES;
	op = &io_reg_ops[opcode];
	ret = io_reg_check(op, arg, nr);
	if (ret)
		return ret;
	if (op->run_nr)
		return op->run_nr(ctx, arg, nr);
	if (op->run_arg)
		return op->run_arg(ctx, arg);
	/* the opcode works only without a ring, or has no entry in io_reg_ops[] */
	return op->run_ring ? op->run_ring(ctx) : -EINVAL;
}

static int io_register(struct io_ring_ctx *ctx, unsigned int opcode, void __user *arg,
		       unsigned int nr)
{
	int ret;

	io_ring_yield(ctx);
	ret = io_ring_lock(ctx);
	if (ret)
		return ret;
	ret = io_register_locked(ctx, opcode, arg, nr);
	if (ret == IO_RING_LOST)
		return -EINTR;
	trace_io_uring_register(ctx, opcode, ctx->file_table.data.nr, ctx->buf_table.nr, ret);
	io_ring_unlock(ctx);
	return ret;
}

/* Run a handler that needs no ring, with the restrictions of current. */
static int io_register_blind(const struct io_reg_op *op, unsigned int opcode, void __user *arg,
			     unsigned int nr)
{
	if (!io_register_allowed(io_task_restriction(current), opcode))
		return -EACCES;
	/* the opcode needs a ring, which -1 is not */
	if (!op->run_blind)
		return -EBADF;
	return io_reg_check(op, arg, nr) ?: op->run_blind(arg, nr);
}

SYSCALL_DEFINE4(io_uring_register, unsigned int, fd, unsigned int, opcode, void __user *, arg,
		unsigned int, nr_args)
{
	bool registered = opcode & IORING_REGISTER_USE_REGISTERED_RING;
	const struct io_reg_op *op;
	struct file *file;
	int ret;

	opcode &= ~IORING_REGISTER_USE_REGISTERED_RING;
	if (opcode >= IORING_REGISTER_LAST)
		return -EINVAL;
	opcode = array_index_nospec(opcode, IORING_REGISTER_LAST);
	op = &io_reg_ops[opcode];
	if (fd == (unsigned int)-1)
		return io_register_blind(op, opcode, arg, nr_args);
	if (registered) {
		file = io_ringfd_get(fd);
		if (IS_ERR(file))
			return PTR_ERR(file);
		/* the handler may remove the file from its slot */
		get_file(file);
	} else {
		file = fget(fd);
		if (!file)
			return -EBADF;
	}
	ret = -EOPNOTSUPP;
	if (io_is_uring_fops(file))
		ret = io_register(file->private_data, opcode, arg, nr_args);
	fput(file);
	return ret;
}
