/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring: hooks for exec, exit, fork and SCM_RIGHTS */
#ifndef _LINUX_IO_URING_H
#define _LINUX_IO_URING_H
/*
 * A task that sets up, registers or submits to a ring gets a context in
 * task_struct->io_uring.  The context is freed by an exec, or with the task_struct.  Most
 * tasks have no context, so the calls below cost these tasks one load and one compare.
 * A forked task starts without a context.
 *
 * A task may restrict what its rings may do, in task_struct->io_uring_restrict.  Its children
 * have the same restrictions, and an exec keeps them.
 *
 * exit		io_uring_files_cancel(), before the task loses its signals and
 *		files.  May sleep until its workers, and requests that hold rings, end.
 * exec		io_uring_task_cancel(), before the other threads are killed,
 *		because task work that runs here may still start a worker.
 * fork		io_uring_fork(), which always returns 0.  If the fork fails later,
 *		io_uring_free() follows.
 * end		io_uring_free(), after the last reference to a task_struct is gone, in
 *		any context in which __put_task_struct() may run.
 * sockets	io_is_uring_fops(): a ring that holds a socket, in whose queue is the
 *		ring, could never be freed.  So SCM_RIGHTS refuses all rings.
 */
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct file;

#ifdef CONFIG_IO_URING
/**
 * __io_uring_cancel - cancel requests of the current task
 * @cancel_all: true for exec: all requests; false for exit: requests that hold a ring,
 *	and work of the task's workers that may never end
 *
 * Drops the task's registered rings, cancels these requests on each ring, waits for
 * the requests and ends the task's workers.  With @cancel_all the context of the task
 * is freed, unless the task was killed.  The task may use io_uring again.
 *
 * Context: Task context, without locks.  May sleep.
 */
void __io_uring_cancel(bool cancel_all);

/**
 * __io_uring_free - free the context and drop the restrictions of a task that is gone
 * @tsk: a task without references, or a child that never ran
 */
void __io_uring_free(struct task_struct *tsk);

/**
 * __io_uring_fork - let a new task share the restrictions of current
 * @tsk: a child of current, which has restrictions
 */
void __io_uring_fork(struct task_struct *tsk);

/**
 * io_is_uring_fops - check whether a file is a ring
 * @file: any open file
 *
 * Context: Any.
 * Return: true if io_uring_setup(2) has created @file.
 */
bool io_is_uring_fops(struct file *file);

/**
 * io_uring_get_opcode - get the name of an opcode
 * @opcode: any value of sqe->opcode
 *
 * Context: Any.
 * Return: a constant string such as "READV", or "INVALID" for an unknown opcode.
 */
const char *io_uring_get_opcode(u8 opcode);

/* Called by exit: end requests that may keep the task's files, and so rings, alive. */
static inline void io_uring_files_cancel(void)
{
	if (unlikely(current->io_uring))
		__io_uring_cancel(false);
}

/* Called by exec: end all requests, so that none accesses the memory of the new program. */
static inline void io_uring_task_cancel(void)
{
	if (unlikely(current->io_uring))
		__io_uring_cancel(true);
}

/* Return: what restricts the rings of a task, or NULL. */
static inline struct io_restriction *io_task_restriction(const struct task_struct *tsk)
{
	return tsk->io_uring_restrict;
}

/* Called when a task_struct is freed, also if the fork fails after io_uring_fork(). */
static inline void io_uring_free(struct task_struct *tsk)
{
	if (unlikely(tsk->io_uring || io_task_restriction(tsk)))
		__io_uring_free(tsk);
}

/* Called by fork: the child, which is a copy of current, has the same restrictions. */
static inline int io_uring_fork(struct task_struct *tsk)
{
	if (unlikely(io_task_restriction(tsk)))
		__io_uring_fork(tsk);
	return 0;
}
#else
static inline void io_uring_files_cancel(void)
{
}

static inline void io_uring_task_cancel(void)
{
}

static inline void io_uring_free(struct task_struct *tsk)
{
}

static inline int io_uring_fork(struct task_struct *tsk)
{
	return 0;
}

static inline bool io_is_uring_fops(struct file *file)
{
	return false;
}

static inline const char *io_uring_get_opcode(u8 opcode)
{
	return "";
}
#endif

#endif
