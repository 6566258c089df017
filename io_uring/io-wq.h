/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: what the scheduler tells the worker pool */
#ifndef IO_URING_IO_WQ_H
#define IO_URING_IO_WQ_H

/* not for us: kernel/sched/core.c relies on getting them from here */
#include <linux/blk_plug.h>
#include <linux/task_work.h>

struct task_struct;

/*
 * kernel/sched/core.c includes this file by its path and calls both functions
 * for tasks with PF_IO_WORKER, which are current: the first when such a task is
 * about to block, with its state set, so it must not sleep; the second when it
 * has been switched back in.  See async/wq_worker.c.
 */
#ifdef CONFIG_IO_WQ
void io_wq_worker_sleeping(struct task_struct *tsk);
void io_wq_worker_running(struct task_struct *tsk);
#else
#define io_wq_worker_sleeping(tsk)	((void)(tsk))
#define io_wq_worker_running(tsk)	((void)(tsk))
#endif

#endif
