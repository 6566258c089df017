/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: publishing CQEs against a task that goes to sleep, on a multi-writer ring
 *
 * What is modelled: io_cq_commit_shared() and io_cq_post_now() of io_uring/ring/cq.c
 * and the waiter of io_uring/sys/wait.c, with barrier C.  A submitter stages a CQE
 * under the ring lock and commits; a worker posts one at once; a third task waits
 * for both.
 *
 * Memory: stores go through a store buffer that empties at any later time, as on x86;
 * a lock's release waits until it is empty.  So the model tells whether the lock is
 * what makes publisher and sleeper see each other.  Stores of one task are seen in
 * their order, which elsewhere takes the release of the tail; see cq_weak.pml.
 *
 * Checked: the sleeper wakes; the submitter, which sleeps for the same CQEs
 * afterwards, does as well.
 *
 * Broken on purpose, each has to be found:
 *   BROKEN_LOCK	tail and sleepers are looked at without the lock
 *   BROKEN_ORDER	the publisher looks for sleepers before it publishes, and
 *			does not hold the lock over both
 *   BROKEN_LOOK	the sleeper looks at the tail before it takes its place
 *			in the queue, and does not hold the lock over both
 *   BROKEN_COMMIT	the submitter releases the ring lock without a commit
 */
#define SUBMITTER	0
#define WORKER		1
#define WAITER		2
#define TASKS		3

#define CQES		2

byte tail;			/* memory */
byte tail_buf[TASKS];		/* store buffers: tail + 1, 0 is none */
bool queued[TASKS];		/* places in the wait queue */
byte queue_buf[TASKS];		/* their store buffers */
bool running[TASKS] = true;
bool ring_lock;
bool cq_lock;
byte cq_tail;			/* the kernel's own, under cq_lock */
byte staged;			/* under ring_lock */

#define drained(t) (tail_buf[t] == 0 && queue_buf[t] == 0)

inline lock(l)
{
	atomic { !l -> l = true }
}

inline unlock(l, t)
{
	atomic { drained(t) -> l = false }
}

#ifdef BROKEN_LOCK
#define cq_lock_for_look	skip
#define cq_unlock_for_look(t)	skip
#else
#define cq_lock_for_look	lock(cq_lock)
#define cq_unlock_for_look(t)	unlock(cq_lock, t)
#endif

/* store buffers empty when they like */
proctype drain(byte t)
{
end:	do
	:: atomic { tail_buf[t] != 0 -> tail = tail_buf[t] - 1; tail_buf[t] = 0 }
	:: atomic { queue_buf[t] != 0 -> queued[t] = true; queue_buf[t] = 0 }
	od
}

/* the tail as task t sees it */
#define seen_tail(t) (tail_buf[t] != 0 -> tail_buf[t] - 1 : tail)

inline wake_all()
{
	atomic {
		if
		:: queued[SUBMITTER] -> running[SUBMITTER] = true
		:: else
		fi;
		if
		:: queued[WAITER] -> running[WAITER] = true
		:: else
		fi
	}
}

#define any_queued (queued[SUBMITTER] || queued[WAITER])

inline publish(t, nr)
{
	lock(cq_lock);
	cq_tail = cq_tail + nr;
#ifdef BROKEN_LOCK
	unlock(cq_lock, t);
	/* two publishers still do not overtake each other */
	atomic { tail_buf[WORKER] == 0 && tail_buf[SUBMITTER] == 0 -> tail_buf[t] = cq_tail + 1 };
	sleepers = any_queued;
#else
#ifdef BROKEN_ORDER
	unlock(cq_lock, t);
	sleepers = any_queued;
	lock(cq_lock);
	tail_buf[t] = cq_tail + 1;
	unlock(cq_lock, t);
#else
	tail_buf[t] = cq_tail + 1;
	sleepers = any_queued;
	unlock(cq_lock, t);
#endif
#endif
	if
	:: sleepers -> wake_all()
	:: else
	fi
}

inline wait_for_all(t)
{
	do
	:: running[t] = false;
#ifdef BROKEN_LOOK
	   enough = (seen_tail(t) >= CQES);
	   lock(cq_lock);
	   queue_buf[t] = 1;
	   unlock(cq_lock, t);
#else
	   cq_lock_for_look;
	   queue_buf[t] = 1;
	   enough = (seen_tail(t) >= CQES);
	   cq_unlock_for_look(t);
#endif
	   if
	   :: enough -> break
	   :: else -> running[t]		/* schedule() */
	   fi
	od
}

proctype submitter()
{
	bool sleepers;
	bool enough;

	lock(ring_lock);
	staged = 1;
#ifndef BROKEN_COMMIT
	publish(SUBMITTER, staged);
	staged = 0;
#endif
	unlock(ring_lock, SUBMITTER);
	wait_for_all(SUBMITTER)
}

proctype worker()
{
	bool sleepers;

	publish(WORKER, 1)
}

proctype waiter()
{
	bool enough;

	wait_for_all(WAITER)
}

init {
	atomic {
		run drain(SUBMITTER);
		run drain(WORKER);
		run drain(WAITER);
		run submitter();
		run worker();
		run waiter()
	}
}
