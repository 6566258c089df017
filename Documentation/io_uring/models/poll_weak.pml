/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: who goes on with a poll, with weakly ordered memory
 *
 * What is modelled: the two words of io_uring/async/poll.c as in poll.pml, with the memory of
 * weak.pml.  A task runs the task work of a multishot poll, releases the poll and rechecks it.  Two
 * wakers have one event each.  They store it under the waitqueue's lock, and the task asks the file
 * by a plain load without the lock, as that of an eventfd is asked.  The first waker knows its
 * event, the second does not.
 *   BUSY	an earlier event has claimed the poll
 *   ARM	the poll is not armed yet
 *   TWO	the wakers have a waitqueue each; the poll is armed, and put on the second one,
 *		while the first can wake it.  Whether the file is ready does not matter here
 *   DATA	what the task and the pusher store into the request
 *   ONESHOT	the poll waits for a single event: a waker that knows it takes the entry off
 *   FREE	the first waker's waitqueue goes away (POLLFREE)
 *   CANCEL_IT	another task cancels, instead of the second waker
 *
 * Checked: one push at a time, each event is seen by the task that posts for it, a cancelled poll
 * ends, what a pusher stores into the request is there when it runs, no store of a waker
 * leaves its CPU after the poll's end.
 *
 * Barriers, with the option that weakens or removes each of them:
 *   NO_BEFORE	no smp_mb__before_atomic() in io_poll_claim_slow()
 *   NO_AFTER	no smp_mb__after_atomic() after it
 *   NO_NOTIFIED	no smp_mb() in io_poll_is_notified()
 *   NO_RECHECK	no smp_mb() in io_poll_recheck_slow()
 *   NO_CLEAR	no smp_mb__after_atomic() in io_poll_check()
 *   NO_FREE	no smp_mb__after_atomic() in io_poll_wake_free()
 *   NO_RELEASE	no release in io_poll_unclaim()
 *   NO_ACQUIRE	no acquire of the owner in io_poll_claim() and io_poll_wake()
 *   NO_FORGET	no release in io_poll_wake_dequeue()
 *   NO_LOOK	no acquire in io_poll_dequeue_entry()
 *   NO_OWN	no acquire in io_poll_own()
 *   PUSH	order of the push
 *
 * Not needed: the acquire of NO_OWN.  If the waitqueue was forgotten, a compare-and-exchange
 * that succeeds is a full barrier, and one that fails is followed by nothing that it has to order.
 */
#ifndef PUSH
#define PUSH	FULL
#endif
#ifdef TWO
#define ARM
#endif

#define RUNNER	0
#define WAKER	1
#define OTHER	2		/* second waker, or who cancels */
#define CPUS	3

#define OWNER	0		/* poll->owner: OWNED, MASK */
#define WANTS	1		/* poll->wants: AGAIN, CANCEL */
#define EVENT	2		/* the file: a bit for each event */
#define MAIL	3		/* the mailbox has the request */
#define QUEUE	4		/* the waitqueue's lock, with TWO 5 is the second one's */
#if defined(TWO)
#define SECOND	6		/* poll->second */
#define LOCS	7
#elif defined(CANCEL_IT)
#define HEAD	5		/* poll->head */
#define ENTRY	6		/* poll->wait */
#define RING	7		/* the ring lock */
#define LOCS	8
#elif defined(ONESHOT) || defined(FREE)
#define HEAD	5
#define ENTRY	6
#define LOCS	7
#elif defined(DATA)
#define REQ	5		/* what a pusher stores into the request */
#define LOCS	6
#else
#define LOCS	5
#endif

#ifndef ENTRY
#define ENTRY	LOCS
#endif
#define LEAVES(c, x)	\
	assert(!ended || c == RUNNER || x == EVENT || x == MAIL || x == QUEUE || x > ENTRY)

bool ended, cancelled;
bool hooked[2];			/* under the waitqueue's lock */
bool released;			/* it is on ctx->polls.released, under the ring lock */
byte told;			/* events that CQEs were posted for */
byte others;			/* wakers and others that are not done */

#include "weak.pml"

#define OWNED	1
#define MASK_OF	2		/* the waker knew its event */
#define AGAIN	1
#define CANCEL	2
#define WAITING	1
#define QUEUED	2

inline push(c)
{
#ifdef DATA
	store(c, REQ, QUEUED);
#endif
	atomic {
		rmw(c, MAIL, was, 1, PUSH);
		assert(!was && !ended)
	}
}

/* io_poll_try_claim() */
inline try_claim(c, bits)
{
	load(c, OWNER, was);
	if
	:: was == 0 -> try_cmpxchg(c, OWNER, was, OWNED | (bits), FULL, claimed)
	:: else
	fi;
	was = 0
}

/* io_poll_is_notified() */
inline is_notified(c)
{
#ifndef NO_NOTIFIED
	smp_mb(c);
#endif
	load(c, WANTS, wants);
	is_told = wants & AGAIN
}

/* io_poll_claim_slow() */
inline claim_slow(c, bits)
{
	try_claim(c, bits);
	if
	:: !claimed ->
		load(c, WANTS, wants);
		if
		:: wants & AGAIN -> is_notified(c)
		:: else
		fi;
		if
		:: !is_told ->
#ifndef NO_BEFORE
			smp_mb(c);
#endif
			atomic_or(c, WANTS, AGAIN);
#ifndef NO_AFTER
			smp_mb(c);
#endif
			try_claim(c, bits)
		:: else
		fi
	:: else
	fi
}

/* io_poll_wake_dequeue() */
inline wake_dequeue(c)
{
	hooked[0] = false;
	store(c, ENTRY, 1);
#ifdef NO_FORGET
	store(c, HEAD, 0)
#else
	store_release(c, HEAD, 0)
#endif
}

/* io_poll_wake() */
inline wake_poll(c, bits)
{
	load(c, WANTS, wants);
	if
	:: wants & AGAIN -> is_notified(c)
	:: else
	fi;
	if
	:: !is_told ->
		/* io_poll_claim() */
#ifdef NO_ACQUIRE
		load(c, OWNER, was);
#else
		load_acquire(c, OWNER, was);
#endif
#ifdef TWO
		load(c, SECOND, second);
#endif
		if
		:: was == 0 && !second ->
			store(c, OWNER, OWNED | (bits));
			claimed = true
		:: else ->
			claim_slow(c, bits)
		fi;
		if
		:: claimed ->
#ifdef ONESHOT
			if
			:: bits -> wake_dequeue(c)
			:: else
			fi;
#endif
			push(c)
		:: else
		fi
	:: else
	fi
}

/* io_poll_wake_free() */
inline wake_free(c)
{
	atomic_or(c, WANTS, CANCEL);
	cancelled = true;
#ifndef NO_FREE
	smp_mb(c);
#endif
	try_claim(c, 0);
	wake_dequeue(c);
	if
	:: claimed -> push(c)
	:: else
	fi
}

proctype waker(byte c; byte q; byte bits; bool frees)
{
	byte was, wants;
	bool claimed, is_told, second;

	lock(c, QUEUE + q);
#ifndef TWO
	atomic_or(c, EVENT, ONE(c));
#endif
	if
	:: hooked[q] ->
#ifdef FREE
		if
		:: frees -> wake_free(c)
		:: else -> wake_poll(c, bits)
		fi
#else
		wake_poll(c, bits)
#endif
	:: else
	fi;
	unlock(c, QUEUE + q);
	others--
}

/* io_poll_own() */
inline own(c)
{
#ifdef HEAD
#ifdef NO_OWN
	load(c, HEAD, was);
#else
	load_acquire(c, HEAD, was);
#endif
#else
	was = 1;
#endif
	if
	:: was == 0 -> try_cmpxchg(c, OWNER, was, OWNED, FULL, claimed)
	:: else ->
		load(c, OWNER, was);
		if
		:: was == 0 ->
			lock(c, QUEUE);
			try_cmpxchg(c, OWNER, was, OWNED, FULL, claimed);
			unlock(c, QUEUE)
		:: else
		fi
	fi;
	was = 0
}

/* io_poll_end(), io_poll_dequeue_entry() */
inline end_it()
{
#ifdef HEAD
#ifdef NO_LOOK
	load(RUNNER, HEAD, was);
#else
	load_acquire(RUNNER, HEAD, was);
#endif
#else
	was = 1;
#endif
	if
	:: was ->
		lock(RUNNER, QUEUE);
		hooked[0] = false;
		unlock(RUNNER, QUEUE)
	:: else ->
#ifdef HEAD
		/* io_poll_note_chosen() */
		load(RUNNER, ENTRY, was);
		assert(was == 1)
#endif
	fi;
	was = 0;
	assert(!ended);
	ended = true
}

/* io_poll_recheck() */
inline recheck()
{
	if
	:: released ->
		released = false;
#ifndef NO_RECHECK
		smp_mb(RUNNER);
#endif
		load(RUNNER, WANTS, news);
		if
		:: news -> own(RUNNER)
		:: else
		fi;
		if
		:: claimed -> push(RUNNER)
		:: else
		fi;
		atomic { claimed = false; news = 0; was = 0 }
	:: else
	fi
}

/* io_poll_unclaim() */
inline unclaim()
{
#ifdef DATA
	store(RUNNER, REQ, WAITING);
#endif
	released = true;
#ifdef NO_RELEASE
	store(RUNNER, OWNER, 0)
#else
	store_release(RUNNER, OWNER, 0)
#endif
}

/* io_poll_check(), io_poll_try_unclaim() and what POLL_ADD does between them */
inline run_mail()
{
#ifdef DATA
	load(RUNNER, REQ, was);
	assert(was == QUEUED);
#endif
	assert(!ended);
	do
	:: load(RUNNER, WANTS, news);
	   if
	   :: news & AGAIN ->
		atomic_andnot(RUNNER, WANTS, AGAIN);
#ifndef NO_CLEAR
		smp_mb(RUNNER);
#endif
		load(RUNNER, WANTS, was);
		news = news | was
	   :: else
	   fi;
	   if
	   :: news & CANCEL -> end_it(); break
	   :: else
	   fi;
	   load(RUNNER, OWNER, was);
#ifdef ONESHOT
	   ready = (was & MASK_OF);
#else
	   ready = (was & MASK_OF && !(news & AGAIN));
#endif
	   /* asks the file, or the program does that after the CQE */
	   load(RUNNER, EVENT, was);
	   ready = ready || (was & ~told);
	   told = told | was;
#ifdef ONESHOT
	   if
	   :: ready -> end_it(); break
	   :: else
	   fi;
#endif
	   load(RUNNER, WANTS, news);
	   if
	   :: news
	   :: else -> unclaim(); break
	   fi
	od;
	atomic { news = 0; was = 0; ready = false }
}

/* io_poll_arm(): the file is asked once the entry is on the waitqueue */
inline arm()
{
#ifndef TWO
	store(RUNNER, OWNER, OWNED);
	lock(RUNNER, QUEUE);
	hooked[0] = true;
	unlock(RUNNER, QUEUE);
#else
	store(RUNNER, SECOND, 1);
	lock(RUNNER, QUEUE + 1);
	hooked[1] = true;
	unlock(RUNNER, QUEUE + 1);
#endif
	load(RUNNER, EVENT, was);
	told = was;
	load(RUNNER, WANTS, news);
	if
#ifdef ONESHOT
	:: told -> end_it()
	:: !told && news -> push(RUNNER)
#else
	:: told || news -> store(RUNNER, OWNER, OWNED | (told -> MASK_OF : 0)); push(RUNNER)
#endif
	:: !told && !news -> unclaim()
	fi;
	atomic { news = 0; was = 0 }
}

#ifdef CANCEL_IT
#define lock_ring(c)	lock(c, RING)
#define unlock_ring(c)	unlock(c, RING)
#else
#define lock_ring(c)	skip
#define unlock_ring(c)	skip
#endif

proctype runner()
{
	byte was, news;
	bool claimed, ready;

#ifdef ARM
	lock_ring(RUNNER);
	arm();
	recheck();
	unlock_ring(RUNNER);
#endif
	do
	:: mem[MAIL] ->
		lock_ring(RUNNER);
		rmw(RUNNER, MAIL, was, 0, FULL);
		recheck();
		run_mail();
		recheck();
		unlock_ring(RUNNER)
	:: !mem[MAIL] && others == 0 && settled(WAKER) && settled(OTHER) -> break
	od
}

#ifdef CANCEL_IT
/* io_poll_cancel() */
proctype canceller(byte c)
{
	byte was;
	bool claimed;

	lock_ring(c);
	if
	:: !ended ->
		own(c);
		cancelled = true;
		atomic_or(c, WANTS, CANCEL);
		if
		:: claimed -> push(c)
		:: else
		fi
	:: else
	fi;
	unlock_ring(c);
	others--
}
#endif

init {
	atomic {
		loads[RUNNER] = ONE(OWNER) | ONE(WANTS) | ONE(EVENT);
#ifdef DATA
		loads[RUNNER] = loads[RUNNER] | ONE(REQ);
#endif
		loads[WAKER] = ONE(OWNER) | ONE(WANTS);
#ifdef TWO
		loads[WAKER] = loads[WAKER] | ONE(SECOND);
#endif
		loads[OTHER] = loads[WAKER];
#ifdef HEAD
		loads[RUNNER] = loads[RUNNER] | ONE(HEAD) | ONE(ENTRY);
		loads[OTHER] = loads[OTHER] | ONE(HEAD);
		set(HEAD, 1);
#endif
#if !defined(ARM) || defined(TWO)
		hooked[0] = true;
#endif
#ifdef TWO
		set(OWNER, OWNED);
#endif
#ifdef BUSY
		set(OWNER, OWNED);
		set(MAIL, 1);
#endif
		others = 2;
		run memory(0);
		run memory(1);
		run memory(2);
		run runner();
		run waker(WAKER, 0, MASK_OF, true);
#if defined(CANCEL_IT)
		run canceller(OTHER)
#elif defined(TWO)
		run waker(OTHER, 1, 0, false)
#else
		run waker(OTHER, 0, 0, false)
#endif
	};
	atomic {
		_nr_pr == 1 + CPUS && settled(0) && settled(1) && settled(2) ->
		assert(!mem[MAIL] && !released);
#ifdef ONESHOT
		assert(ended || (!cancelled && !mem[OWNER] && !mem[EVENT]));
#elif defined(CANCEL_IT) || defined(FREE)
		assert(ended || !cancelled);
#endif
		assert(ended || (!mem[OWNER] && told == mem[EVENT]))
	}
}
