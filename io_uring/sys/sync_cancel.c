// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_REGISTER_SYNC_CANCEL - end requests and wait for their end */

/*
 * Requests that are queued, or wait, end as soon as the search finds them.  If the only match
 * runs on a worker, the search signals the worker to end the request.  The caller waits until the
 * worker has detached the request.
 *
 * Ordering: the caller queues itself on ctx->work_wait, then searches.  A worker detaches a
 * request, then wakes ctx->work_wait.  Both the search and the detach take the lane's lock:
 *
 *	caller					worker
 *	queue on ctx->work_wait			detach the request, under lane->lock
 *	search, under lane->lock		ctx->work_wait active?  wake
 *
 * Either the search misses the request, or the worker finds the caller on the queue.
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

/* Return: the deadline of a relative time; KTIME_MAX if both fields are -1, 0 for no wait. */
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

/* Search once.  A slot is looked up each time, because its file may change during the wait. */
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

/* Search until no worker runs the request any more.  May lose the ring lock (%IO_RING_LOST). */
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
 * io_sync_cancel - handle IORING_REGISTER_SYNC_CANCEL
 * @ctx: the ring, its lock held; dropped while this sleeps
 * @arg: user pointer to struct io_uring_sync_cancel_reg
 * @nr: unused
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: the value of io_cancel_by_key(), but never -EALREADY; 0 if the request has ended during
 * the wait; -EFAULT or -EINVAL for bad arguments; -EBADF if the descriptor or the slot has no file;
 * -ETIME; -EINTR; or %IO_RING_LOST.
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
