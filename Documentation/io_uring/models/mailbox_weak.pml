/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: a mailbox, its sleeping owner and IORING_SQ_TASKRUN, with weakly ordered memory
 *
 * What is modelled: as in mailbox.pml, with the memory of weak.pml.  Two senders push one item
 * each, the owner waits for two CQEs.  A third task is there with
 *   LOST	it loses the CQE of the second item (io_cq_lost()), and no second sender comes
 *   TAG	it makes two CQEs of the first item's one (io_ring_is_urgent()), or, if that has
 *		run, pushes the second item
 * Without a third task
 *   POLLER	the owner does not sleep in the kernel, but reads IORING_SQ_TASKRUN
 *   TASK	as POLLER, with the mailbox of a task: its flag is cleared by io_clear_taskrun()
 *
 * Checked: no hang, each item taken once with its ->next, the flag is clear when all is taken.
 *
 * Barriers, with the option that weakens or removes each of them:
 *   PUSH	order of try_cmpxchg() in io_mailbox_push_chain()
 *   ARM	order of try_cmpxchg() in io_mailbox_arm()
 *   TAKE	order of xchg() in io_mailbox_take()
 *   COUNT	order of atomic_dec_and_test() in io_tw_completes()
 *   DISARM	order of try_cmpxchg() in io_mailbox_disarm()
 *   NO_STATE	no barrier in io_waiter_arm(), after the task state
 *   NO_RECOUNT	no smp_mb() in io_owner_wake_recount()
 *   NO_FLAG	no smp_mb__after_atomic() in io_taskrun_update()
 *   NO_CLEAR	no smp_mb__after_atomic() in io_clear_taskrun()
 *
 * Not needed, as the model holds without them: the barrier of NO_STATE, since the arming is a full
 * barrier before anything that the owner looks at, and all orders of COUNT and DISARM, since
 * the push before the count is a full barrier.
 */
#ifndef PUSH
#define PUSH	FULL
#endif
#ifndef ARM
#define ARM	FULL
#endif
#ifndef TAKE
#define TAKE	FULL
#endif
#ifndef COUNT
#define COUNT	FULL
#endif
#ifndef DISARM
#define DISARM	FULL
#endif

#define OWNER	0
#define SENDER	1		/* and the second one, or the third task */
#define CPUS	3

#define HEAD	0		/* ITEM and ARMED */
#define NEXT(n)	(n)		/* 1 and 2: older item, 0 is none */
#if defined(POLLER) || defined(TASK)
#define FLAG	3
#define LOCS	4
#else
#define MISSING	3
#define STATE	4
#define COND	5		/* IO_CHECK_CQ_DROPPED; ctx->tags_owed */
#define RING	6		/* the ring lock */
#if defined(TAG)
#define LOCS	7
#elif defined(LOST)
#define LOCS	6
#else
#define LOCS	5
#endif
#endif

#include "weak.pml"

#define ITEM	3
#define ARMED	4
#define NONE	3		/* no item: what an unwritten ->next has */

byte taken;			/* CQEs of what was taken */
bool seen[3];
bool disturbed;			/* woken once for another reason */

/* io_taskrun_update() */
inline update_flag(c)
{
	do
	:: load(c, HEAD, w);
	   if
	   :: w & ITEM -> atomic_or(c, FLAG, 1)
	   :: else -> atomic_andnot(c, FLAG, 1)
	   fi;
#ifndef NO_FLAG
	   smp_mb(c);
#endif
	   load(c, HEAD, again);
	   if
	   :: (w & ITEM) != 0 && (again & ITEM) == 0
	   :: (w & ITEM) == 0 && (again & ITEM) != 0
	   :: else -> break
	   fi
	od;
	atomic { w = 0; again = 0 }
}

/* io_owner_mailbox_pushed(), where a mark was found or the mailbox was empty; io_tctx_push() */
inline pushed(c)
{
#ifdef TASK
	update_flag(c)
#elif defined(POLLER)
	if
	:: (old & ITEM) == 0 -> update_flag(c)
	:: else
	fi
#else
	if
	:: old & ARMED ->
		rmw(c, MISSING, w, mem[MISSING] - 1, COUNT);
#ifdef TAG
		if
		:: w != 1 -> load(c, COND, again)	/* io_ring_is_urgent() */
		:: else
		fi;
#endif
		if
		:: w == 1 || again -> wake(c, STATE)
		:: else
		fi
	:: else
	fi
#endif
}

/* io_mailbox_push() */
inline push(c, item)
{
	load(c, HEAD, old);
	do
	:: store(c, NEXT(item), old & ITEM);
	   try_cmpxchg(c, HEAD, old, (item) | (old & ARMED), PUSH, done);
	   if
	   :: done -> break
	   :: else
	   fi
	od;
	pushed(c)
}

proctype sender(byte c; byte item)
{
	byte old, w, again;
	bool done;

	push(c, item)
}

/* io_mailbox_take(), and the run of what it took */
inline take()
{
#ifdef TAG
	lock(OWNER, RING);
#endif
	rmw(OWNER, HEAD, list, 0, TAKE);
	list = list & ITEM;
#ifdef POLLER
	update_flag(OWNER);
#elif defined(TASK)
	/* io_clear_taskrun() */
	atomic_andnot(OWNER, FLAG, 1);
#ifndef NO_CLEAR
	smp_mb(OWNER);
#endif
	load(OWNER, HEAD, w);
	if
	:: w & ITEM -> atomic_or(OWNER, FLAG, 1)
	:: else
	fi;
	w = 0;
#endif
	do
	:: list != 0 ->
		assert(list != NONE && !seen[list]);
		atomic { seen[list] = true; taken++ };
#ifdef TAG
		if
		:: list == 1 && mem[COND] -> taken++
		:: else
		fi;
#endif
		load_dep(OWNER, NEXT(list), list)
	:: else -> break
	od;
#ifdef TAG
	unlock(OWNER, RING)
#endif
}

#if defined(POLLER) || defined(TASK)
/* A program that enters the ring when it reads the flag */
proctype owner()
{
	byte list, w, again;

	do
	:: taken < 2 && mem[FLAG] -> take()
	:: taken == 2 && mem[FLAG] -> take()
	:: taken == 2 -> break
	od
}
#else
/* io_wait_loop() */
proctype owner()
{
	byte list, w;
	bool sleeps;

	do
	:: /* io_waiter_arm() */
	   store(OWNER, STATE, 0);
#ifndef NO_STATE
	   smp_mb(OWNER);
#endif
	   store(OWNER, MISSING, 2 - taken);
	   w = 0;
	   try_cmpxchg(OWNER, HEAD, w, ARMED, ARM, sleeps);
#ifdef LOST
	   if
	   :: sleeps ->
		load(OWNER, COND, w);
		sleeps = !w
	   :: else
	   fi;
#endif
	   if
	   :: sleeps ->
		if
		:: sleep_until(OWNER, STATE)
		:: !disturbed -> disturbed = true
		fi
	   :: else
	   fi;
	   /* io_waiter_unregister() */
	   store(OWNER, STATE, 1);
	   w = ARMED;
	   try_cmpxchg(OWNER, HEAD, w, 0, DISARM, sleeps);
	   /* io_wait_catch_up() */
	   load(OWNER, HEAD, w);
	   if
	   :: w & ITEM -> take()
	   :: else
	   fi;
#ifdef LOST
	   load(OWNER, COND, w);
	   if
	   :: w -> break
	   :: else
	   fi;
#endif
	   if
	   :: taken >= 2 -> break
	   :: else
	   fi;
	   atomic { w = 0; sleeps = false }
	od;
	atomic { w = 0; sleeps = false }
}
#endif

#ifdef LOST
/* io_cq_lost(), io_owner_wake_recount() */
proctype other(byte c)
{
	byte w;

	set_bit(c, COND);
#ifndef NO_RECOUNT
	smp_mb(c);
#endif
	load(c, HEAD, w);
	if
	:: w & ARMED -> wake(c, STATE)
	:: else
	fi
}
#endif

#ifdef TAG
/* Empties the slot of a file with a tag, while the first item may still use it */
proctype other(byte c)
{
	byte old, w, again;
	bool done;

	lock(c, RING);
	if
	:: !seen[1] ->
		store(c, COND, 1);
#ifndef NO_RECOUNT
		smp_mb(c);
#endif
		load(c, HEAD, w);
		if
		:: w & ARMED -> wake(c, STATE)
		:: else
		fi
	:: else -> push(c, 2)
	fi;
	unlock(c, RING)
}
#endif

init {
	atomic {
#ifdef COND
		loads[OWNER] = ONE(HEAD) | ONE(COND);
#else
		loads[OWNER] = ONE(HEAD);
#endif
		loads[SENDER] = loads[OWNER];
		loads[SENDER + 1] = loads[OWNER];
		set(NEXT(1), NONE);
		set(NEXT(2), NONE);
#ifdef STATE
		set(STATE, 1);
#endif
		run memory(0);
		run memory(1);
		run memory(2);
		run owner();
		run sender(SENDER, 1);
#if defined(TAG) || defined(LOST)
		run other(SENDER + 1)
#else
		run sender(SENDER + 1, 2)
#endif
	};
	atomic {
		_nr_pr == 1 + CPUS && settled(0) && settled(1) && settled(2) ->
#ifdef FLAG
		assert(!mem[FLAG]);
#endif
#ifndef LOST
		assert(!(mem[HEAD] & ITEM))
#endif
	}
}
