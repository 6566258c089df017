/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: a resize of the queues, and contexts without the ring lock, with weakly ordered memory
 *
 * What is modelled: with the memory of weak.pml, the owner of a ring replaces its queues
 * (io_queues_replace()).  The old memory is freed a grace period later, or is the program's again.
 * At any time before or after that
 *   by default	a sender pushes an item, and sets IORING_SQ_TASKRUN for the program, which waits
 *		for this flag in the new memory
 *   EVENTFD	the same, and the program waits for its eventfd.  It clears
 *		IORING_CQ_EVENTFD_DISABLED in the new memory, and then looks for CQEs
 *   POLL	a task polls the ring, for a CQE that the owner posts after the resize
 *
 * Checked: no hang, no use of memory that was freed, the flag is clear when all is taken.
 *
 * Not modelled: tasks that wait in io_uring_enter().  Only the owner does, and not during a resize.
 * mmap() and fdinfo hold a reference, which they take where the sender reads the pointer.
 *
 * What may be left out:
 *   NO_UPDATE	no io_taskrun_update() in io_queues_replace()
 *   NO_GRACE	no grace period in io_queues_replace()
 *   NO_FLAG	no smp_mb__after_atomic() in io_taskrun_update()
 *   EARLY_LOAD	the sender reads the pointer before its push
 */
#define OWNER	0
#define OTHER	1
#define CPUS	2

#define HEAD	0		/* of the mailbox: 1 with an item; POLL: the wait queue */
#define RINGS	1		/* ctx->rings: 0 is the old memory, 1 the new memory */
#define WORD(n)	(2 + (n))	/* in either memory: the flag; POLL: cq_tail */
#define STATE	4		/* of the task that sleeps */
#define LOCS	5

/* a store must not leave its CPU for memory that was freed */
#define LEAVES(c, x)	assert((x) != WORD(0) || !freed)

bool freed;			/* the old memory */
bool reading;			/* the other task is in a RCU section */
bool taken;

#include "weak.pml"

/* RCU: a grace period waits for a time at which the other CPU is not in a section. */
inline grace_period()
{
	smp_mb(OWNER);
	atomic { !reading && settled(OTHER) -> refresh(OTHER) }
	smp_mb(OWNER)
}

/* Read the pointer; what it leads to has not been freed. */
inline find(c, n)
{
	load(c, RINGS, n);
	assert(n == 1 || !freed)
}

/* io_taskrun_update() */
inline update_flag(c)
{
	do
	:: load(c, HEAD, w);
#ifdef EARLY_LOAD
	   if
	   :: c == OWNER -> find(c, n)
	   :: else
	   fi;
#else
	   find(c, n);
#endif
	   if
	   :: w -> atomic_or(c, WORD(n), 1)
	   :: else -> atomic_andnot(c, WORD(n), 1)
	   fi;
#ifndef NO_FLAG
	   smp_mb(c);
#endif
	   load(c, HEAD, again);
	   if
	   :: w == again -> break
	   :: else
	   fi
	od;
	atomic { w = 0; again = 0; n = 0 }
}

/* io_queues_replace() */
inline replace()
{
	store_release(OWNER, RINGS, 1);
#if !defined(EVENTFD) && !defined(POLL)
#ifndef NO_UPDATE
	update_flag(OWNER);
#endif
#endif
#ifndef NO_GRACE
	grace_period();
#endif
	freed = true
}

#if defined(POLL)
/* io_cq_commit() and io_notify_pollers(), after the resize or before it, too */
inline commit()
{
	find(OWNER, n);
	store_release(OWNER, WORD(n), 1);
	smp_mb(OWNER);
	load(OWNER, HEAD, w);
	if
	:: w -> wake(OWNER, STATE)
	:: else
	fi
}

proctype owner()
{
	byte w, n;

	replace();
	commit()
}

/* io_ring_poll() */
proctype other()
{
	byte w, n;

	set_current_state(OTHER, STATE, 0);
	store(OTHER, HEAD, 1);
	smp_mb(OTHER);
	reading = true;
	find(OTHER, n);
	load(OTHER, WORD(n), w);
	assert(n == 1 || !freed);
	reading = false;
	if
	:: w
	:: else -> sleep_until(OTHER, STATE)
	fi
}
#elif defined(EVENTFD)
/* The program: it sleeps until the eventfd is signalled, unless there is an item. */
proctype owner()
{
	byte w;

	replace();
	store(OWNER, STATE, 0);
	store(OWNER, WORD(1), 0);
	smp_mb(OWNER);
	load(OWNER, HEAD, w);
	if
	:: w
	:: else -> sleep_until(OWNER, STATE)
	fi;
	taken = true
}

/* io_owner_mailbox_push(), io_eventfd_signal() */
proctype other()
{
	byte w, n;

	reading = true;
	rmw(OTHER, HEAD, w, 1, FULL);
	find(OTHER, n);
	load(OTHER, WORD(n), w);
	assert(n == 1 || !freed);
	if
	:: w ->
		smp_mb(OTHER);
		find(OTHER, n);
		load(OTHER, WORD(n), w);
		assert(n == 1 || !freed)
	:: else
	fi;
	if
	:: !w -> wake(OTHER, STATE)
	:: else
	fi;
	reading = false
}
#else
/* A resize, then a program that enters the ring when it reads the flag */
proctype owner()
{
	byte w, again, n;

	replace();
	do
	:: mem[WORD(1)] ->
		/* io_mailbox_take() */
		rmw(OWNER, HEAD, w, 0, FULL);
		if
		:: w -> taken = true
		:: else
		fi;
		update_flag(OWNER)
	:: taken -> break
	od
}

/* io_owner_mailbox_push(), io_owner_mailbox_pushed() */
proctype other()
{
	byte w, again, n;

	reading = true;
#ifdef EARLY_LOAD
	find(OTHER, n);
#endif
	rmw(OTHER, HEAD, w, 1, FULL);
	update_flag(OTHER);
	reading = false
}
#endif

init {
	atomic {
		loads[OWNER] = ONE(HEAD) | ONE(RINGS);
		loads[OTHER] = ONE(HEAD) | ONE(RINGS) | ONE(WORD(0)) | ONE(WORD(1));
		set(STATE, 1);
#ifdef EVENTFD
		/* IORING_CQ_EVENTFD_DISABLED */
		set(WORD(0), 1);
		set(WORD(1), 1);
#endif
		run memory(0);
		run memory(1);
		run owner();
		run other()
	};
	atomic {
		_nr_pr == 1 + CPUS && settled(0) && settled(1) ->
#if !defined(EVENTFD) && !defined(POLL)
		assert(!mem[WORD(1)] && taken)
#endif
	}
}
