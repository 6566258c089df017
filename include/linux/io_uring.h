/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring: what exec, exit, fork and SCM_RIGHTS ask of us */
#ifndef _LINUX_IO_URING_H
#define _LINUX_IO_URING_H
/*
 * A task that has ever set up a ring, submitted to one or registered one keeps a
 * context in task_struct->io_uring until the task_struct is freed or the task
 * passes exec.  Most tasks have none, so that the calls below cost them one load
 * and one compare.  A forked task starts without.
 *
 * exit		io_uring_files_cancel(), before the task loses its signals and
 *		files.  May sleep until its workers and tracked requests have ended.
 * exec		io_uring_task_cancel(), before the other threads are killed,
 *		because task work that runs here may still start a worker.
 * fork		io_uring_fork(), for a child that may have to be denied; io_uring_free()
 *		with the last reference to a task_struct gone, in any context in which
 *		__put_task_struct() may run.
 * sockets	io_is_uring_fops(): a ring that holds a socket which carries the
 *		ring could never be freed, so a ring is not sent at all.
 */
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct file;

#ifdef CONFIG_IO_URING
/**
 * __io_uring_cancel - stop what the current task has in flight
 * @cancel_all: everything, as exec needs it; otherwise only requests that hold a
 *	file which may itself be a ring, as exit needs it
 *
 * Drops the task's registered rings, cancels these requests on every ring, waits
 * for them and ends its workers.  With @cancel_all the task, unless it is killed,
 * is left without a context and may use io_uring again.
 *
 * Context: task context, the caller is a live task without locks, may sleep.
 */
void __io_uring_cancel(bool cancel_all);

/**
 * __io_uring_free - free the context of a task that is gone
 * @tsk: task with no reference left and a context
 */
void __io_uring_free(struct task_struct *tsk);

/**
 * io_is_uring_fops - is this file a ring?
 * @file: any open file
 *
 * Context: any.
 * Return: whether io_uring_setup(2) made it.
 */
bool io_is_uring_fops(struct file *file);

/**
 * io_uring_get_opcode - name of an opcode
 * @opcode: as in an SQE, any value
 *
 * Context: any.
 * Return: a constant string such as "READV", "INVALID" for a number that is none.
 */
const char *io_uring_get_opcode(u8 opcode);

/* A task exits: what may keep its files, and so their rings, alive has to go. */
static inline void io_uring_files_cancel(void)
{
	if (unlikely(current->io_uring))
		__io_uring_cancel(false);
}

/* A task execs: nothing of it may touch the memory that comes. */
static inline void io_uring_task_cancel(void)
{
	if (unlikely(current->io_uring))
		__io_uring_cancel(true);
}

/* A task_struct is freed. */
static inline void io_uring_free(struct task_struct *tsk)
{
	if (unlikely(tsk->io_uring))
		__io_uring_free(tsk);
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

static inline bool io_is_uring_fops(struct file *file)
{
	return false;
}

static inline const char *io_uring_get_opcode(u8 opcode)
{
	return "";
}
#endif

/* A task is forked.  A child inherits nothing, as tasks have no restrictions. */
static inline int io_uring_fork(struct task_struct *tsk)
{
	return 0;
}

#endif
