// SPDX-License-Identifier: GPL-2.0
/* io_uring: the drivers' door, closed until IORING_OP_URING_CMD is built */

/*
 * Drivers link against these.  A driver gets a command from ->uring_cmd only,
 * which nobody calls as long as the operation answers -EOPNOTSUPP at
 * submission, so none of them can be reached with a command; whoever gets here
 * nevertheless is told of and refused.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/io_uring/cmd.h>
#include <linux/io_uring/net.h>

/**
 * io_uring_cmd_done - see include/linux/io_uring/cmd.h
 * @cmd: see there
 * @ret: see there
 * @res2: see there
 * @issue_flags: see there
 */
void io_uring_cmd_done(struct io_uring_cmd *cmd, ssize_t ret, ssize_t res2,
		       unsigned int issue_flags)
{
	WARN_ON_ONCE(1);
}
EXPORT_SYMBOL_GPL(io_uring_cmd_done);

/**
 * __io_uring_cmd_do_in_task - see include/linux/io_uring/cmd.h
 * @cmd: see there
 * @task_work_cb: see there
 * @flags: see there
 */
void __io_uring_cmd_do_in_task(struct io_uring_cmd *cmd,
			       void (*task_work_cb)(struct io_uring_cmd *, unsigned int),
			       unsigned int flags)
{
	WARN_ON_ONCE(1);
}
EXPORT_SYMBOL_GPL(__io_uring_cmd_do_in_task);

/**
 * io_uring_cmd_import_fixed - see include/linux/io_uring/cmd.h
 * @ubuf: see there
 * @len: see there
 * @rw: see there
 * @iter: see there
 * @ioucmd: see there
 *
 * Return: -EOPNOTSUPP
 */
int io_uring_cmd_import_fixed(u64 ubuf, unsigned long len, int rw, struct iov_iter *iter,
			      void *ioucmd)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(io_uring_cmd_import_fixed);

/**
 * io_uring_cmd_mark_cancelable - see include/linux/io_uring/cmd.h
 * @cmd: see there
 * @issue_flags: see there
 */
void io_uring_cmd_mark_cancelable(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	WARN_ON_ONCE(1);
}
EXPORT_SYMBOL_GPL(io_uring_cmd_mark_cancelable);

/**
 * io_uring_cmd_issue_blocking - see include/linux/io_uring/cmd.h
 * @cmd: see there
 */
void io_uring_cmd_issue_blocking(struct io_uring_cmd *cmd)
{
	WARN_ON_ONCE(1);
}

/**
 * io_uring_cmd_sock - see include/linux/io_uring/net.h
 * @cmd: see there
 * @issue_flags: see there
 *
 * Return: -EOPNOTSUPP
 */
int io_uring_cmd_sock(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	return -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(io_uring_cmd_sock);
