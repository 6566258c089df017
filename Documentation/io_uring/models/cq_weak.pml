/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: the CQ and those who wait for it, with weakly ordered memory
 *
 * What is modelled, with the memory of weak.pml, one of these at a time:
 *   REAP	A and B of io_uring/ring/cq.c: the kernel puts two CQEs through a CQ with one slot,
 *		a program reads them
 *   SLEEP	C: two tasks post to a multi-writer ring, a third one sleeps for both CQEs
 *		(io_cq_leave(), io_waiter_register())
 *   TIMEOUT	C: a sleeper whose wait a timeout ends (io_cq_timeouts())
 *   FULL_CQ	C: the program makes room and sleeps, while a CQE goes to the overflow list
 *   LISTEN	D: a commit of a single-writer ring, and the first two who poll(2) the ring
 *		(io_notify_activate(), io_ring_poll())
 *   KEEP	D: as LISTEN, and the CQE goes to the overflow list of a CQ that the program
 *		empties meanwhile (io_cq_keep())
 *   EVENTFD	a publication that signals an eventfd, and a program that reads it
 *   TOGGLE	as EVENTFD, the program clears IORING_CQ_EVENTFD_DISABLED, looks, and sleeps
 *   REGISTER	as EVENTFD, the program registers it while a worker posts, looks, and sleeps
 *   ANNOUNCE	as REGISTER, for a single-writer ring: the program looks at IORING_SQ_TASKRUN, which
 *		stands in the place of the tail (io_ring_announce())
 *
 * Checked: a program reads the CQE that the tail stands for; no one sleeps on while there is what
 * it waits for; a wait that a timeout ends finds the CQE.
 *
 * Barriers, with the option that weakens or removes each of them:
 *   NO_A	no release of the tail in io_cq_publish()
 *   NO_A_USER	no acquire of the tail in the program
 *   NO_B	no acquire of the head in io_cq_refill()
 *   NO_B_USER	no release of the head in the program
 *   NO_C_POST	the publisher stores the tail, and looks for sleepers, without cq.lock
 *   NO_C_LOOK	the publisher looks for sleepers after it has released cq.lock
 *   NO_C_SLEEP	the sleeper registers without cq.lock
 *   NO_C_KEEP	the bit for overflowed CQEs is set after cq.lock is released
 *   NO_SEEN	no release of cq.timeouts_seen
 *   NO_SEEN_LOAD	no acquire of it in io_cq_timeouts()
 *   NO_GRACE	no grace period in io_notify_activate()
 *   NO_SLEEPER	no barrier in io_notify_pollers(), of wq_has_sleeper()
 *   NO_POLL	no smp_mb() in io_ring_poll()
 *   NO_KEPT	io_notify_look_again() does not look at the overflow list
 *   NO_TOGGLE	no smp_mb() and second look at IORING_CQ_EVENTFD_DISABLED in io_eventfd_signal()
 *   NO_REGISTER	io_eventfd_register() does not take cq.lock
 *   NO_ANNOUNCE	io_ring_announce() looks for listeners before it sets the flag
 *   NO_LISTEN	no barrier in io_eventfd_register() of a single-writer ring
 *
 * Not needed: cq.lock for the look at sleepers (NO_C_LOOK), since a sleeper that had the lock
 * before the publisher is seen, and one that had it after the publisher sees the tail.
 *
 * Not needed by the memory: the acquire of NO_B, since the CQE is stored only if the head was found
 * to be far enough, and a store is not done before the branch that it depends on.  Compilers know
 * no such rule of plain stores, so the acquire stays.
 */
#if defined(REAP)
#define LATE_LOADS
#define KERNEL	0
#define PROGRAM	1
#define CPUS	2
#define TAIL	0
#define HEAD	1
#define CQE	2
#define LOCS	3
#elif defined(SLEEP)
#define POSTER	0
#define POSTER2	1
#define WAITER	2
#define CPUS	3
#elif defined(TIMEOUT) || defined(FULL_CQ)
#define POSTER	0
#define WAITER	1
#define CPUS	2
#elif defined(LISTEN) || defined(KEEP)
#define KERNEL	0
#define POLLER	1
#define POLLER2	2
#define CPUS	3
#define TAIL	0		/* with KEEP IO_CHECK_CQ_OVERFLOW: the CQ is empty */
#define LISTENERS	1	/* IO_LISTEN_POLL */
#define QUEUED	2		/* a bit for each poller */
#define TRIGGERED	3	/* those that were woken */
#define RING	4		/* the ring lock */
#define LOCS	5
#else
#define KERNEL	0
#define PROGRAM	1
#define CPUS	2
#define TAIL	0
#define FLAG	1		/* IO_LISTEN_EVENTFD, or no IORING_CQ_EVENTFD_DISABLED */
#define COUNT	2		/* of the eventfd ... */
#define WQ	3		/* ... and its lock */
#define LOCK	4		/* cq.lock */
#define LOCS	5
#endif
#if defined(SLEEP) || defined(TIMEOUT) || defined(FULL_CQ)
#define TAIL	0
#define LOCK	1		/* cq.lock */
#define STATE	2		/* the sleeper's task state */
#define QUEUED	3		/* it is on ctx->cq_wait */
#define SEEN	4		/* cq.timeouts_seen */
#define HEAD	5
#define KEPT	4		/* IO_CHECK_CQ_OVERFLOW */
#if defined(SLEEP)
#define LOCS	4
#elif defined(TIMEOUT)
#define LOCS	5
#else
#define LOCS	6
#endif
#endif

#include "weak.pml"

/* io_cq_publish() */
inline publish(c, n)
{
#ifdef NO_A
	store(c, TAIL, n)
#else
	store_release(c, TAIL, n)
#endif
}

#if defined(REAP)
proctype kernel()
{
	byte n, head;

	do
	:: n < 2 ->
		/* io_cq_refill() */
#ifdef NO_B
		load(KERNEL, HEAD, head);
#else
		load_acquire(KERNEL, HEAD, head);
#endif
		if
		:: head == n ->
			store(KERNEL, CQE, n + 1);
			publish(KERNEL, n + 1);
			n++
		:: else
		fi
	:: else -> break
	od
}

proctype program()
{
	byte n, tail, cqe;

	do
	:: n < 2 ->
#ifdef NO_A_USER
		load(PROGRAM, TAIL, tail);
#else
		load_acquire(PROGRAM, TAIL, tail);
#endif
		if
		:: tail > n ->
			load_late(PROGRAM, CQE);
			n++;
#ifdef NO_B_USER
			store(PROGRAM, HEAD, n);
#else
			store_release(PROGRAM, HEAD, n);
#endif
			late_result(PROGRAM, cqe);
			assert(cqe == n)
		:: else
		fi
	:: else -> break
	od
}

#elif defined(SLEEP) || defined(TIMEOUT) || defined(FULL_CQ)
byte cq_tail;			/* cq.tail, under cq.lock */
bool disturbed;			/* woken once for another reason */

/* io_waiter_ready() */
inline waiter_ready(c)
{
#ifdef TIMEOUT
#ifdef NO_SEEN_LOAD
	load(c, SEEN, seen);
#else
	load_acquire(c, SEEN, seen);
#endif
	load(c, TAIL, tail);
	ready = (seen == 1);
	assert(!ready || tail == 1)
#else
	load(c, TAIL, tail);
	ready = (tail == 2)
#endif
}

/* io_cq_enter(), io_cq_leave(), io_cq_tell() */
proctype poster(byte c)
{
	byte tail, seen, queued;
	bool ready;

	lock(c, LOCK);
#ifdef FULL_CQ
	load_acquire(c, HEAD, seen);
	if
	:: cq_tail != seen ->
		/* io_cq_keep(): wakes no sleeper */
#ifdef NO_C_KEEP
		unlock(c, LOCK);
		set_bit(c, KEPT);
#else
		set_bit(c, KEPT);
		unlock(c, LOCK);
#endif
		goto done
	:: else
	fi;
#endif
	cq_tail++;
#ifdef NO_C_POST
	unlock(c, LOCK);
#endif
	publish(c, cq_tail);
#ifdef TIMEOUT
#ifdef NO_SEEN
	store(c, SEEN, 1);
#else
	store_release(c, SEEN, 1);
#endif
#endif
#ifdef NO_C_LOOK
	unlock(c, LOCK);
#endif
	load(c, QUEUED, queued);
#if !defined(NO_C_LOOK) && !defined(NO_C_POST)
	unlock(c, LOCK);
#endif
	if
	:: queued ->
		waiter_ready(c);
		if
		:: ready -> wake(c, STATE)
		:: else
		fi
	:: else
	fi;
done:	skip
}

/* io_wait_loop() of a multi-writer ring */
proctype waiter()
{
	byte tail, seen, kept;
	bool ready;

#ifdef FULL_CQ
	store_release(WAITER, HEAD, 1);
#endif
	do
	:: /* io_waiter_register() */
#ifndef NO_C_SLEEP
	   lock(WAITER, LOCK);
#endif
	   store(WAITER, QUEUED, 1);
	   set_current_state(WAITER, STATE, 0);
	   waiter_ready(WAITER);
#ifdef FULL_CQ
	   load(WAITER, KEPT, kept);
#endif
#ifndef NO_C_SLEEP
	   unlock(WAITER, LOCK);
#endif
	   if
	   :: !ready && !kept ->
		if
		:: sleep_until(WAITER, STATE)
		:: !disturbed -> disturbed = true
		fi
	   :: else
	   fi;
	   /* io_waiter_unregister() */
	   store(WAITER, STATE, 1);
	   store(WAITER, QUEUED, 0);
	   waiter_ready(WAITER);
	   if
	   :: ready || kept -> break
	   :: else
	   fi
	od
}

#elif defined(LISTEN) || defined(KEEP)
bool grace;			/* a grace period was asked for */

/* __wake_up() of ctx->notify.wait */
inline wake_pollers(c)
{
	atomic {
		settled(c) -> change(c, TRIGGERED, mem[TRIGGERED] | mem[QUEUED])
	}
}

/* io_cq_commit(), or io_cq_keep() */
proctype kernel()
{
	byte listeners, queued;

	lock(KERNEL, RING);
#ifdef KEEP
	set_bit(KERNEL, TAIL);
#else
	publish(KERNEL, 1);
#endif
	load(KERNEL, LISTENERS, listeners);
	if
	:: listeners ->
		/* io_notify_pollers() */
#ifndef NO_SLEEPER
		smp_mb(KERNEL);
#endif
		load(KERNEL, QUEUED, queued);
		if
		:: queued -> wake_pollers(KERNEL)
		:: else
		fi
	:: else
	fi;
	unlock(KERNEL, RING)
}

/* io_notify_look_again() */
proctype look_again()
{
end:	grace;
	barrier_on(KERNEL);
#if !defined(KEEP) || !defined(NO_KEPT)
	atomic {
		mem[TAIL] -> change(KERNEL, TRIGGERED, mem[TRIGGERED] | mem[QUEUED])
	}
#endif
}

proctype poller(byte c)
{
	byte was, tail;
	bool locked;

	/* io_notify_activate() */
	load(c, LISTENERS, was);
	if
	:: !was ->
		atomic {
			if
			:: may_rmw(c, RING, ACQUIRE) && mem[RING] == 0 ->
				change(c, RING, 1);
				refresh(c);
				locked = true
			:: mem[RING]
			fi
		};
		if
		:: locked ->
			set_bit(c, LISTENERS);
			unlock(c, RING)
		:: else ->
			rmw(c, LISTENERS, was, 1, FULL);
#ifndef NO_GRACE
			if
			:: !was -> grace = true
			:: else
			fi
#endif
		fi
	:: else
	fi;
	/* io_ring_poll() */
	atomic_or(c, QUEUED, c);
#ifndef NO_POLL
	smp_mb(c);
#endif
	load(c, TAIL, tail);
	if
	:: !tail -> mem[TRIGGERED] & c
	:: else
	fi
}

#else
/* io_cq_publish(), io_notify_listeners(), io_eventfd_signal() */
proctype kernel()
{
	byte flag;

#if defined(REGISTER)
	lock(KERNEL, LOCK);
	publish(KERNEL, 1);
	unlock(KERNEL, LOCK);
	load(KERNEL, FLAG, flag);
#elif defined(NO_ANNOUNCE)
	load(KERNEL, FLAG, flag);
	set_bit(KERNEL, TAIL);
	smp_mb(KERNEL);
#elif defined(ANNOUNCE)
	set_bit(KERNEL, TAIL);
	smp_mb(KERNEL);
	load(KERNEL, FLAG, flag);
#else
	publish(KERNEL, 1);
	load(KERNEL, FLAG, flag);
#endif
#if defined(TOGGLE) && !defined(NO_TOGGLE)
	/* disabled, or that is an old value */
	if
	:: !flag ->
		smp_mb(KERNEL);
		load(KERNEL, FLAG, flag)
	:: else
	fi;
#endif
	if
	:: flag ->
		lock(KERNEL, WQ);
		store(KERNEL, COUNT, 1);
		unlock(KERNEL, WQ)
	:: else
	fi
}

proctype program()
{
	byte tail;

#if defined(TOGGLE)
	store(PROGRAM, FLAG, 1);
	smp_mb(PROGRAM);
	load_acquire(PROGRAM, TAIL, tail);
#elif defined(REGISTER)
#ifdef NO_REGISTER
	set_bit(PROGRAM, FLAG);
#else
	lock(PROGRAM, LOCK);
	set_bit(PROGRAM, FLAG);
	unlock(PROGRAM, LOCK);
#endif
	load_acquire(PROGRAM, TAIL, tail);
#elif defined(ANNOUNCE)
	set_bit(PROGRAM, FLAG);
#ifndef NO_LISTEN
	smp_mb(PROGRAM);
#endif
	load_acquire(PROGRAM, TAIL, tail);
#endif
	if
	:: !tail ->
		/* read() of the eventfd */
		mem[COUNT];
		lock(PROGRAM, WQ);
		store(PROGRAM, COUNT, 0);
		unlock(PROGRAM, WQ);
		load_acquire(PROGRAM, TAIL, tail);
		assert(tail)
	:: else
	fi
}
#endif

init {
	atomic {
		/* locks, and what only RMW operations use, are no loads */
#if defined(LISTEN) || defined(KEEP)
		loads[KERNEL] = ONE(LISTENERS) | ONE(QUEUED);
		loads[POLLER] = ONE(TAIL) | ONE(LISTENERS);
		loads[POLLER2] = loads[POLLER];
#elif defined(SLEEP) || defined(TIMEOUT) || defined(FULL_CQ)
		loads[POSTER] = 255 - ONE(LOCK) - ONE(STATE);
		loads[1] = loads[POSTER];
		loads[WAITER] = loads[POSTER];
#else
		loads[0] = 255;
		loads[1] = 255;
#endif
		run memory(0);
		run memory(1);
#if CPUS > 2
		run memory(2);
#endif
#if defined(SLEEP) || defined(TIMEOUT) || defined(FULL_CQ)
		set(STATE, 1);
#ifdef FULL_CQ
		set(TAIL, 1);
		cq_tail = 1;
#endif
		run poster(POSTER);
#ifdef SLEEP
		run poster(POSTER2);
#endif
		run waiter()
#elif defined(LISTEN) || defined(KEEP)
		run look_again();
		run kernel();
		run poller(POLLER);
		run poller(POLLER2)
#else
#ifdef EVENTFD
		set(FLAG, 1);
#endif
		run kernel();
		run program()
#endif
	}
}
