/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: hooks that the scheduler calls for workers */
#ifndef IO_URING_IO_WQ_H
#define IO_URING_IO_WQ_H

/* not for us: kernel/sched/core.c relies on getting them from here */
#include <linux/blk_plug.h>
#include <linux/task_work.h>

struct task_struct;

/*
 * kernel/sched/core.c includes this file by its path, and calls both functions
 * for a current task with PF_IO_WORKER.  The task calls io_wq_worker_sleeping()
 * before it blocks, with its state set, so this function must not sleep.  It calls
 * io_wq_worker_running() after it was switched in again.  See async/wq_worker.c.
 */
#ifdef CONFIG_IO_WQ
void io_wq_worker_sleeping(struct task_struct *tsk);
void io_wq_worker_running(struct task_struct *tsk);
#else
#define io_wq_worker_sleeping(tsk)	((void)(tsk))
#define io_wq_worker_running(tsk)	((void)(tsk))
#endif

#endif
