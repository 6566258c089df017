// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_REGISTER_SYNC_CANCEL - end requests and wait until they have */

/*
 * What is queued or waits ends as soon as it is found.  If the only match runs
 * on a worker, the worker is told, and the caller waits until it has let go.
 *
 * Workers wake ctx->work_wait when they let go of a request.  We get on that
 * queue, then search.  Both letting go and searching take the lane's lock: either
 * the search does not find the request any more, or the worker finds us.
 */
#include <linux/cleanup.h>
#include <linux/file.h>
#include <linux/ktime.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "async/timer.h"
#include "ring/locks.h"
#include "rsrc/files.h"
#include "sys/sync_cancel.h"
#include "task/cancel.h"
#include "task/run.h"

static int io_sync_read(struct io_uring_sync_cancel_reg *reg, const void __user *arg)
{
	if (copy_from_user(reg, arg, sizeof(*reg)))
		return -EFAULT;
	if (reg->flags & ~IO_CANCEL_FLAGS)
		return -EINVAL;
	if (memchr_inv(reg->pad, 0, sizeof(reg->pad)) ||
	    memchr_inv(reg->pad2, 0, sizeof(reg->pad2)))
		return -EINVAL;
	return 0;
}

/* The time is relative; all ones stand for none, less than nothing for no wait. */
static ktime_t io_sync_deadline(const struct __kernel_timespec *t)
{
	struct timespec64 after = { .tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec };
	ktime_t time;

	if (t->tv_sec == -1 && t->tv_nsec == -1)
		return KTIME_MAX;
	if (t->tv_sec < 0)
		return 0;
	time = io_time_of(after);
	return time > 0 ? ktime_add_safe(time, ktime_get()) : 0;
}

/* Search once.  A slot is looked up each time, its file may change while we wait. */
static int io_sync_search(struct io_ring_ctx *ctx, const struct io_uring_sync_cancel_reg *reg,
			  const struct file *file)
{
	struct io_cancel_key key;

	io_cancel_key_init(&key, ctx, reg->addr, reg->flags);
	key.opcode = reg->opcode;
	key.file = file;
	if (reg->flags & IORING_ASYNC_CANCEL_FD && !file) {
		struct io_rsrc_node *node = io_rsrc_find(&ctx->file_table.data, reg->fd);

		if (!node)
			return -EBADF;
		key.file = io_file_node(node)->file;
	}
	return io_cancel_by_key(&key);
}

/* Sleep once.  Return: 0, -ETIME or -EINTR. */
static int io_sync_sleep(struct wait_queue_entry *wait, ktime_t deadline)
{
	long timeout = MAX_SCHEDULE_TIMEOUT;

	io_run_task_work();
	if (task_sigpending(current))
		return -EINTR;
	if (deadline != KTIME_MAX) {
		s64 left = ktime_to_ns(ktime_sub(deadline, ktime_get()));

		if (left <= 0)
			return -ETIME;
		timeout = min_t(u64, nsecs_to_jiffies(left) + 1, MAX_SCHEDULE_TIMEOUT - 1);
	}
	wait_woken(wait, TASK_INTERRUPTIBLE, timeout);
	return 0;
}

/* Found on a worker: search until it is not there any more.  May lose the ring lock. */
static int io_sync_wait(struct io_ring_ctx *ctx, const struct io_uring_sync_cancel_reg *reg,
			const struct file *file)
{
	ktime_t deadline = io_sync_deadline(&reg->timeout);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int ret;

	add_wait_queue(&ctx->work_wait, &wait);
	while ((ret = io_sync_search(ctx, reg, file)) == -EALREADY) {
		io_ring_unlock(ctx);
		ret = io_sync_sleep(&wait, deadline);
		if (io_ring_lock(ctx))
			ret = IO_RING_LOST;
		if (ret)
			break;
	}
	remove_wait_queue(&ctx->work_wait, &wait);
	return ret == -ENOENT ? 0 : ret;
}

/**
 * io_sync_cancel - IORING_REGISTER_SYNC_CANCEL
 * @ctx: the ring, its lock held
 * @arg: user pointer to struct io_uring_sync_cancel_reg
 * @nr: not looked at
 *
 * May sleep, without the lock.
 *
 * Return: as io_cancel_by_key(), but never -EALREADY; -EFAULT, -EINVAL for bad
 * arguments, -EBADF for a descriptor or slot that names no file, -ETIME, -EINTR,
 * %IO_RING_LOST.
 */
int io_sync_cancel(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	struct file *file __free(fput) = NULL;
	struct io_uring_sync_cancel_reg reg;
	int ret = io_sync_read(&reg, arg);

	if (ret)
		return ret;
	if (reg.flags & IORING_ASYNC_CANCEL_FD && !(reg.flags & IORING_ASYNC_CANCEL_FD_FIXED)) {
		file = fget(reg.fd);
		if (!file)
			return -EBADF;
	}
	ret = io_sync_search(ctx, &reg, file);
	return ret == -EALREADY ? io_sync_wait(ctx, &reg, file) : ret;
}
