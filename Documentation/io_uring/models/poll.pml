/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: who goes on with a poll
 *
 * What is modelled: the word of io_uring/async/poll.c.  Two wakers, whose events
 * come under their waitqueue's lock; the run of the poll's mail, which looks, posts
 * and releases; a cancel, which owns the poll or tells its owner; the end, which
 * takes the entries off.  The wakers share a waitqueue, and claim by a plain store;
 * with TWO each has its own, and they compare and exchange.  With FREE the first
 * waker's waitqueue goes away with its event (POLLFREE).  With CANCEL_IT somebody
 * cancels.
 *
 * Checked: there is never more than one mail; a poll that is not cancelled has posted
 * after the last event; a cancelled one ends; no waker touches the poll after its end.
 *
 * The ring lock is what makes run() and cancel() exclude each other.
 *
 * Broken on purpose, each has to be found:
 *   BROKEN_STORE	a plain store claims with two waitqueues (needs TWO)
 *   BROKEN_RELEASE	the word is released by a plain store
 *   BROKEN_CLEAR	AGAIN is not cleared before the file is asked
 *   BROKEN_OWN	cancel claims without the waitqueue's lock (needs CANCEL_IT)
 *   BROKEN_FORGET	the waitqueue is forgotten before the waker is through (needs FREE
 *		and CANCEL_IT)
 */
#define OWNED	1
#define AGAIN	2
#define CANCEL	4
#define MASK	8

#ifdef TWO
#define QUEUE(n) n
#else
#define QUEUE(n) 0
#endif

byte word;
bool locked[2];			/* a waitqueue's lock */
bool head[2];			/* the poll knows the waitqueue */
bool hooked[2];			/* its entry is on it */
bool ring;			/* the ring lock */
byte mail;			/* pushed and not run yet */
byte events;			/* that have happened */
byte told;			/* that had happened at the last CQE */
byte rounds;
bool cancelled, ended;
byte others;			/* processes that may still wake it */

inline lock(l)
{
	atomic { !l -> l = true }
}

inline push()
{
	atomic {
		assert(mail == 0 && !ended);
		mail++
	}
}

/* Claim the poll or tell its owner; io_poll_claim(). */
inline claim(bits)
{
	old = word;
#if !defined(TWO) || defined(BROKEN_STORE)
	if
	:: old == 0 ->
		word = OWNED | bits;
		claimed = true
	:: else ->
#endif
		do
		:: atomic {
			if
			:: word == old && old == 0 ->
				word = OWNED | bits;
				claimed = true;
				break
			:: word == old && old != 0 ->
				word = old | AGAIN | bits;
				claimed = false;
				break
			:: else ->
				old = word
			fi
		   }
		od
#if !defined(TWO) || defined(BROKEN_STORE)
	fi
#endif
}

proctype waker(byte q; bool frees)
{
	byte old, n;
	bool claimed;

	do
	:: n < 2 ->
		events++;
		lock(locked[q]);
		if
		:: hooked[q] ->
			assert(!ended);
			if
			:: frees ->
#ifdef BROKEN_FORGET
				hooked[q] = false;
				head[q] = false;
				assert(!ended);
				claim(CANCEL);
#else
				claim(CANCEL);
				assert(!ended);
				hooked[q] = false;
				head[q] = false;
#endif
				cancelled = true
			:: else ->
				claim(MASK)
			fi;
			if
			:: claimed -> push()
			:: else
			fi
		:: else
		fi;
		locked[q] = false;
		n++
	:: n == 2 || frees -> break
	od;
	others--
}

inline unhook(q)
{
	if
	:: head[q] ->
		lock(locked[q]);
		hooked[q] = false;
		locked[q] = false;
		head[q] = false
	:: else
	fi
}

inline end_it()
{
	unhook(0);
#ifdef TWO
	unhook(1);
#endif
	ended = true
}

/* io_poll_add_mail() of a multishot poll */
proctype runner()
{
	byte seen, ready;

	do
	:: atomic { mail > 0 && !ring -> ring = true; mail-- };
again:
		seen = word;
#ifndef BROKEN_CLEAR
		if
		:: seen & AGAIN ->
			atomic {
				seen = word;
				word = word & (OWNED | CANCEL | MASK)
			}
		:: else
		fi;
#endif
		if
		:: seen & CANCEL ->
			end_it();
			ring = false;
			break
		:: else
		fi;
		if
		:: (seen & MASK) && !(seen & AGAIN) -> ready = true
		:: else -> ready = (events != told)
		fi;
		if
		:: ready -> told = events
		:: else
		fi;
#ifdef BROKEN_RELEASE
		word = 0;
#else
		if
#ifdef BROKEN_CLEAR
		:: atomic { word == seen -> word = 0 }
#else
		:: atomic { word == (seen & (OWNED | MASK)) -> word = 0 }
#endif
		:: atomic { else -> skip };
			goto again
		fi;
#endif
		ring = false
	:: mail == 0 && others == 0 && !cancelled -> break
	od
}

/* io_poll_cancel() */
proctype canceller()
{
	bool own;

	lock(ring);
	if
	:: !ended ->
		if
		:: word == 0 && head[0] ->
#ifdef BROKEN_OWN
			own = (word == 0);
			if
			:: own -> word = OWNED
			:: else
			fi
#else
			lock(locked[0]);
			atomic {
				own = (word == 0);
				if
				:: own -> word = OWNED
				:: else
				fi
			};
			locked[0] = false
#endif
		:: else
		fi;
		cancelled = true;
		atomic { word = word | CANCEL };
		if
		:: own -> push()
		:: else
		fi
	:: else
	fi;
	ring = false;
	others--
}

init {
	atomic {
		others = 2;
		head[0] = true;
		hooked[0] = true;
#ifdef TWO
		head[1] = true;
		hooked[1] = true;
#endif
#ifdef FREE
		run waker(QUEUE(0), true);
#else
		run waker(QUEUE(0), false);
#endif
		run waker(QUEUE(1), false);
		run runner();
#ifdef CANCEL_IT
		others++;
		run canceller()
#endif
	};
	_nr_pr == 1;
	assert(mail == 0);
	assert(ended == cancelled);
	assert(ended || (word == 0 && told == events))
}
