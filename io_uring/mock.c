// SPDX-License-Identifier: GPL-2.0
/* io_uring: /dev/io_uring_mock - files without data, for tests */

/*
 * Tests of io_uring need files whose reads end late, or whose driver imports registered buffers in
 * a way that no device at hand does.  A command on /dev/io_uring_mock creates such a mock file, and
 * sets its size, its flags and the delay of its reads and writes.
 *
 * A mock file has no data: reads give zeroes, and writes do not access their memory.  Each read or
 * write lies within the file, and does not move the file's position.
 *
 * A delayed request waits for a timer, whose interrupt completes the request, as the interrupt of a
 * device does.  Like I/O of a device, it cannot be cancelled, so IO_MOCK_DELAY_MAX limits how long
 * a request may outlive its task.  The request holds a reference to its file, and the file one to
 * this module, so both outlive the timer.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/io_uring/cmd.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <uapi/linux/io_uring/mock_file.h>

/* limits of what IORING_MOCK_MGR_CMD_CREATE may ask for */
#define IO_MOCK_DELAY_MAX	NSEC_PER_SEC
#define IO_MOCK_SIZE_MAX	SZ_1G
#define IO_MOCK_FLAGS		(IORING_MOCK_CREATE_F_SUPPORT_NOWAIT | IORING_MOCK_CREATE_F_POLL)

/* bytes that IORING_MOCK_CMD_COPY_REGBUF copies at a time; it fails for all of them or for none */
#define IO_MOCK_STEP		4096

/**
 * struct io_mock_file - a mock file
 * @size: end of the file
 * @delay_ns: time that a read or write takes, or 0
 * @wait: wait queue of polls, which is never woken, as the file is always ready
 */
struct io_mock_file {
	loff_t			size;
	u64			delay_ns;
	wait_queue_head_t	wait;
};

/**
 * struct io_mock_delay - a delayed read or write
 * @timer: timer that completes the request
 * @iocb: the request
 * @res: result of the request
 */
struct io_mock_delay {
	struct hrtimer	timer;
	struct kiocb	*iocb;
	ssize_t		res;
};

/*
 * End a delayed request, and with it perhaps the last use of its file, and of this module.  The
 * grace period before the memory of a module is freed covers the return from this function.
 */
static enum hrtimer_restart io_mock_expired(struct hrtimer *timer)
{
	struct io_mock_delay *delay = container_of(timer, struct io_mock_delay, timer);
	struct kiocb *iocb = delay->iocb;
	ssize_t res = delay->res;

	kfree(delay);
	iocb->ki_complete(iocb, res);
	return HRTIMER_NORESTART;
}

/* Let a system call sleep for the delay.  Return: @res, or -EINTR if the task is killed. */
static ssize_t io_mock_sleep(u64 ns, ssize_t res)
{
	ktime_t end = ktime_add_ns(ktime_get(), ns);

	do {
		set_current_state(TASK_KILLABLE);
		if (!schedule_hrtimeout(&end, HRTIMER_MODE_ABS))
			return res;
	} while (!fatal_signal_pending(current));
	return -EINTR;
}

/* End a read or write with @res, perhaps later.  Return: what ->read_iter() has to return. */
static ssize_t io_mock_end(struct kiocb *iocb, ssize_t res)
{
	struct io_mock_file *file = iocb->ki_filp->private_data;
	struct io_mock_delay *delay;

	if (!file->delay_ns)
		return res;
	if (is_sync_kiocb(iocb))
		return iocb->ki_flags & IOCB_NOWAIT ? -EAGAIN : io_mock_sleep(file->delay_ns, res);
	delay = kmalloc_obj(*delay, GFP_KERNEL_ACCOUNT);
	if (!delay)
		return -ENOMEM;
	delay->iocb = iocb;
	delay->res = res;
	hrtimer_setup(&delay->timer, io_mock_expired, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	hrtimer_start(&delay->timer, ns_to_ktime(file->delay_ns), HRTIMER_MODE_REL);
	return -EIOCBQUEUED;
}

/* Return: true if the file has the @len bytes of a read or write. */
static bool io_mock_contains(const struct kiocb *iocb, size_t len)
{
	const struct io_mock_file *file = iocb->ki_filp->private_data;

	return iocb->ki_pos >= 0 && iocb->ki_pos <= file->size && len <= file->size - iocb->ki_pos;
}

/* Zero the memory.  Return: the number of bytes, less if memory is missing or current is killed. */
static size_t io_mock_zero(struct iov_iter *to)
{
	size_t zeroed = 0, part, nr;

	do {
		part = min(iov_iter_count(to), SZ_1M);
		nr = iov_iter_zero(part, to);
		zeroed += nr;
		cond_resched();
	} while (nr == part && iov_iter_count(to) && !fatal_signal_pending(current));
	return zeroed;
}

static ssize_t io_mock_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	size_t zeroed, len = iov_iter_count(to);

	if (!io_mock_contains(iocb, len))
		return -EINVAL;
	zeroed = io_mock_zero(to);
	/* a short read ends at once, without the delay */
	return zeroed == len ? io_mock_end(iocb, len) : zeroed;
}

static ssize_t io_mock_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	size_t len = iov_iter_count(from);

	if (!io_mock_contains(iocb, len))
		return -EINVAL;
	iov_iter_advance(from, len);
	return io_mock_end(iocb, len);
}

static loff_t io_mock_llseek(struct file *filp, loff_t offset, int whence)
{
	struct io_mock_file *file = filp->private_data;

	return fixed_size_llseek(filp, offset, whence, file->size);
}

/* Copy between a registered buffer and @user.  Return: bytes, or a negative errno without any. */
static int io_mock_copy(struct iov_iter *buf, char __user *user, bool from_buf)
{
	void *step __free(kfree) = kmalloc(IO_MOCK_STEP, GFP_KERNEL);
	int done = 0;

	if (!step)
		return -ENOMEM;
	while (iov_iter_count(buf)) {
		size_t len = min_t(size_t, iov_iter_count(buf), IO_MOCK_STEP);

		if (fatal_signal_pending(current))
			return done ?: -EINTR;
		if (from_buf) {
			if (copy_from_iter(step, len, buf) != len ||
			    copy_to_user(user + done, step, len))
				break;
		} else if (copy_from_user(step, user + done, len) ||
			   copy_to_iter(step, len, buf) != len) {
			break;
		}
		done += len;
		cond_resched();
	}
	return done ?: -EFAULT;
}

static int io_mock_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct io_uring_sqe *sqe = cmd->sqe;
	u32 flags = READ_ONCE(sqe->file_index);
	bool from_buf = flags & IORING_MOCK_COPY_FROM;
	struct iov_iter buf;
	int ret;

	if (cmd->cmd_op != IORING_MOCK_CMD_COPY_REGBUF)
		return -EOPNOTSUPP;
	if (flags & ~IORING_MOCK_COPY_FROM)
		return -EINVAL;
	ret = io_uring_cmd_import_fixed_vec(cmd, u64_to_user_ptr(READ_ONCE(sqe->addr)),
					    READ_ONCE(sqe->len),
					    from_buf ? ITER_SOURCE : ITER_DEST, &buf, issue_flags);
	if (ret)
		return ret;
	return io_mock_copy(&buf, u64_to_user_ptr(READ_ONCE(sqe->addr3)), from_buf);
}

static int io_mock_release(struct inode *inode, struct file *filp)
{
	kfree(filp->private_data);
	return 0;
}

static const struct file_operations io_mock_fops = {
	.owner		= THIS_MODULE,
	.llseek		= io_mock_llseek,
	.read_iter	= io_mock_read_iter,
	.write_iter	= io_mock_write_iter,
	.uring_cmd	= io_mock_cmd,
	.release	= io_mock_release,
};

static __poll_t io_mock_poll(struct file *filp, struct poll_table_struct *pt)
{
	struct io_mock_file *file = filp->private_data;

	poll_wait(filp, &file->wait, pt);
	return DEFAULT_POLLMASK;
}

/* epoll refuses a file without ->poll(), and workers read it, so tests need both kinds */
static const struct file_operations io_mock_poll_fops = {
	.owner		= THIS_MODULE,
	.llseek		= io_mock_llseek,
	.read_iter	= io_mock_read_iter,
	.write_iter	= io_mock_write_iter,
	.poll		= io_mock_poll,
	.uring_cmd	= io_mock_cmd,
	.release	= io_mock_release,
};

static struct file *io_mock_file(const struct io_uring_mock_create *args)
{
	struct io_mock_file *file __free(kfree) = kzalloc_obj(*file, GFP_KERNEL_ACCOUNT);
	bool poll = args->flags & IORING_MOCK_CREATE_F_POLL;
	struct file *filp;

	if (!file)
		return ERR_PTR(-ENOMEM);
	file->size = args->file_size;
	file->delay_ns = args->rw_delay_ns;
	init_waitqueue_head(&file->wait);
	filp = anon_inode_getfile("[io_uring_mock]", poll ? &io_mock_poll_fops : &io_mock_fops,
				  file, O_RDWR);
	if (IS_ERR(filp))
		return filp;
	if (args->flags & IORING_MOCK_CREATE_F_SUPPORT_NOWAIT)
		filp->f_mode |= FMODE_NOWAIT;
	retain_and_null_ptr(file);
	return filp;
}

static int io_mock_create(struct io_uring_mock_create __user *uargs, u32 len)
{
	struct io_uring_mock_create args;

	if (len != sizeof(args))
		return -EINVAL;
	if (copy_from_user(&args, uargs, sizeof(args)))
		return -EFAULT;
	if (args.flags & ~IO_MOCK_FLAGS || args.file_size > IO_MOCK_SIZE_MAX ||
	    args.rw_delay_ns > IO_MOCK_DELAY_MAX ||
	    memchr_inv(args.__resv, 0, sizeof(args.__resv)))
		return -EINVAL;

	FD_PREPARE(fdf, O_CLOEXEC, io_mock_file(&args));
	if (fdf.err)
		return fdf.err;
	if (put_user(fd_prepare_fd(fdf), &uargs->out_fd))
		return -EFAULT;
	fd_publish(fdf);
	return 0;
}

static int io_mock_probe(struct io_uring_mock_probe __user *uargs, u32 len)
{
	struct io_uring_mock_probe args;

	if (len != sizeof(args))
		return -EINVAL;
	if (copy_from_user(&args, uargs, sizeof(args)))
		return -EFAULT;
	if (memchr_inv(&args, 0, sizeof(args)))
		return -EINVAL;
	return put_user((u64)IORING_MOCK_FEAT_END, &uargs->features) ? -EFAULT : 0;
}

static int io_mock_mgr_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct io_uring_sqe *sqe = cmd->sqe;
	void __user *uargs = u64_to_user_ptr(READ_ONCE(sqe->addr));
	u32 len = READ_ONCE(sqe->len);

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (READ_ONCE(sqe->file_index) || READ_ONCE(sqe->addr3))
		return -EINVAL;
	switch (cmd->cmd_op) {
	case IORING_MOCK_MGR_CMD_PROBE:
		return io_mock_probe(uargs, len);
	case IORING_MOCK_MGR_CMD_CREATE:
		return io_mock_create(uargs, len);
	default:
		return -EOPNOTSUPP;
	}
}

static const struct file_operations io_mock_mgr_fops = {
	.owner		= THIS_MODULE,
	.uring_cmd	= io_mock_mgr_cmd,
};

static struct miscdevice io_mock_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "io_uring_mock",
	.fops	= &io_mock_mgr_fops,
};
module_misc_device(io_mock_device);

MODULE_DESCRIPTION("io_uring: files without data, for tests");
MODULE_LICENSE("GPL");
