// SPDX-License-Identifier: GPL-2.0
/* io_uring: reads and writes: a worker waits until a file is ready */

/*
 * Pipes, sockets, terminals: whoever is on the other side may take for ever, so
 * a worker does not block inside ->read_iter(), where it could only be
 * interrupted by a signal, but waits for readiness as poll(2) does.  Cancelling
 * the work ends the wait.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>

#include "async/wq.h"
#include "op/rw.h"

/* Is the worker asked to give up, or is it going? */
static bool io_rw_wait_cancelled(struct io_kiocb *req)
{
	/*
	 * Who cancels sets the flag, then notifies, so the notice is taken
	 * first.  A stopped process continues with what it waited for; one that
	 * dies ends the pool, as nobody else will see the signal again.
	 */
	if (io_wq_worker_killed())
		return true;
	return atomic_read(&req->work.flags) & IO_WQ_WORK_CANCEL || io_wq_worker_stopped();
}

/**
 * io_rw_wait_ready - wait until a file can be read from or written to
 * @req: the request; its file has ->poll
 * @events: EPOLLIN or EPOLLOUT
 *
 * Called by a worker.
 *
 * Return: false if it was cancelled.
 */
bool io_rw_wait_ready(struct io_kiocb *req, __poll_t events)
{
	struct poll_wqueues table;
	bool ready, cancelled;

	events |= EPOLLERR | EPOLLHUP;
	poll_initwait(&table);
	table.pt._key = events;
	for (;;) {
		ready = vfs_poll(req->file, &table.pt) & events;
		cancelled = io_rw_wait_cancelled(req);
		if (ready || cancelled || table.error)
			break;
		/* registered with the first call */
		table.pt._qproc = NULL;
		set_current_state(TASK_INTERRUPTIBLE);
		if (!table.triggered && !signal_pending(current))
			schedule();
		__set_current_state(TASK_RUNNING);
		/* the wake-up is noted before the file is looked at again */
		smp_store_mb(table.triggered, 0);
	}
	poll_freewait(&table);
	return !cancelled;
}
