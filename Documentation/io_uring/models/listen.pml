/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: the first poll(2) of a single-writer ring, and the second, against a commit
 *
 * What is modelled: io_cq_commit() of io_uring/ring/cq.h, which stores the tail and
 * looks at ctx->listeners without a barrier between, and io_ring_poll() with
 * io_notify_activate() of io_uring/ring/notify.c.  A task that finds that no task polls the ring
 * yet sets the bit under the ring lock; if another task has that, without it, and a
 * grace period later the CQ is looked at once more for all who poll.
 *
 * The owner's stores go through a store buffer that empties at any later time, as on
 * x86; a lock's release waits until it is empty.  A grace period is no more than a
 * full barrier on each CPU, at any time after it was asked for: so it may pass while
 * the owner is preempted at any place.
 *
 * Checked: both pollers learn of the CQE.
 *
 * Broken on purpose, each has to be found:
 *   BROKEN_FIRST	the commit looks at the bit before it stores the tail
 *   BROKEN_GRACE	no look after a grace period
 *   BROKEN_QUEUE	a poller looks at the tail before it takes its place in the queue
 */
#define POLLERS 2

bool tail;			/* memory */
bool tail_buf;			/* the owner's store buffer */
bool listen;			/* IO_LISTEN_POLL: changed by locked operations alone */
bool ring_lock;
bool grace;			/* a grace period was asked for */
bool queued[POLLERS];
bool running[POLLERS] = true;
byte told;

inline wake_all()
{
	atomic {
		if
		:: queued[0] -> running[0] = true
		:: else
		fi;
		if
		:: queued[1] -> running[1] = true
		:: else
		fi
	}
}

proctype drain()
{
end:	do
	:: atomic { tail_buf -> tail = true; tail_buf = false }
	od
}

proctype owner()
{
	bool seen;

	atomic { !ring_lock -> ring_lock = true };
#ifdef BROKEN_FIRST
	seen = listen;
	tail_buf = true;
#else
	tail_buf = true;
	seen = listen;
#endif
	if
	:: seen ->
		/* wq_has_sleeper(): a full barrier, then a look at the queue */
		!tail_buf;
		wake_all()
	:: else
	fi;
	atomic { !tail_buf -> ring_lock = false }
}

/* The callback of the grace period. */
proctype look_again()
{
end:	grace;
	!tail_buf;			/* a barrier on the owner's CPU */
	if
	:: tail -> wake_all()
	:: else
	fi
}

proctype poller(byte p)
{
	bool locked;

	if
	:: !listen ->
		atomic {
			locked = !ring_lock;
			if
			:: locked -> ring_lock = true
			:: else
			fi
		};
		if
		:: locked ->
			listen = true;
			ring_lock = false
		:: else ->
			atomic {
#ifndef BROKEN_GRACE
				if
				:: !listen -> grace = true
				:: else
				fi;
#endif
				listen = true
			}
		fi
	:: else
	fi;
	running[p] = false;
#ifdef BROKEN_QUEUE
	if
	:: tail -> running[p] = true
	:: else
	fi;
	queued[p] = true;
#else
	queued[p] = true;
	if
	:: tail -> running[p] = true
	:: else
	fi;
#endif
	running[p];
	told++
}

init {
	atomic {
		run drain();
		run owner();
		run look_again();
		run poller(0);
		run poller(1)
	}
}
