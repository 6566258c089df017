/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: who goes on with a poll
 *
 * What is modelled: the two words of io_uring/async/poll.c.  Two wakers, whose events
 * come under their waitqueue's lock; the run of the poll's mail, which looks, posts,
 * releases and looks once more; a cancel, which owns the poll or tells its owner; the
 * end, which takes the entries off.  The wakers share a waitqueue, and claim by a plain
 * store; with TWO each has its own, and they compare and exchange.  With FREE the first
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
 *   BROKEN_SETTLE	the owner does not look once more after it has released
 *   BROKEN_FENCE	no barrier: its release is seen by others after that look
 *   BROKEN_TELL	a waker that has said AGAIN does not look at the owner again
 *   BROKEN_CLEAR	AGAIN is cleared after the file was asked
 *   BROKEN_OWN	cancel, and the second look, claim without the waitqueue's lock
 *   BROKEN_FORGET	the waitqueue is forgotten before the waker is through (needs FREE
 *		and CANCEL_IT)
 */
#define OWNED	1
#define MASK	2

#define AGAIN	1
#define CANCEL	2

#ifdef TWO
#define QUEUE(n) n
#else
#define QUEUE(n) 0
#endif

byte owner;			/* 0, or OWNED and MASK: the waker knew its event */
byte wants;			/* AGAIN, CANCEL */
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

/* A compare-and-exchange of the owner */
inline claim_empty(bits)
{
	atomic {
		claimed = (owner == 0);
		if
		:: claimed -> owner = OWNED | bits
		:: else
		fi
	}
}

/* io_poll_claim_slow() */
inline claim_slow(bits, news)
{
	claim_empty(bits);
	if
	:: !claimed ->
		atomic { wants = wants | news };
#ifndef BROKEN_TELL
		claim_empty(bits)
#endif
	:: else
	fi
}

/* io_poll_claim() */
inline claim(bits)
{
#if !defined(TWO) || defined(BROKEN_STORE)
	old = owner;
	if
	:: old == 0 ->
		owner = OWNED | bits;
		claimed = true
	:: else ->
		claim_slow(bits, AGAIN)
	fi
#else
	claim_slow(bits, AGAIN)
#endif
}

/* io_poll_own(); the ring lock is held */
inline own_it()
{
	if
	:: !head[0] -> claim_empty(0)
	:: else ->
#ifdef BROKEN_OWN
		claimed = (owner == 0);
		if
		:: claimed -> owner = OWNED
		:: else
		fi
#else
		lock(locked[0]);
		claim_empty(0);
		locked[0] = false
#endif
	fi
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
				atomic { wants = wants | CANCEL };
				claim_slow(0, CANCEL);
#else
				atomic { wants = wants | CANCEL };
				claim_slow(0, CANCEL);
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

/* io_poll_add_mail() of a multishot poll, and io_poll_settle() */
proctype runner()
{
	byte seen;
	bool ready, claimed;

	do
	:: atomic { mail > 0 && !ring -> ring = true; mail-- };
		seen = wants;
#ifndef BROKEN_CLEAR
		if
		:: seen & AGAIN -> atomic { seen = seen | wants; wants = wants & CANCEL }
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
		:: (owner & MASK) && !(seen & AGAIN) -> ready = true
		:: else -> ready = (events != told)
		fi;
		if
		:: ready -> told = events
		:: else
		fi;
#ifdef BROKEN_CLEAR
		if
		:: seen & AGAIN -> atomic { wants = wants & CANCEL }
		:: else
		fi;
#endif
#ifdef BROKEN_FENCE
		seen = wants;
		owner = 0;
#else
		owner = 0;
		seen = wants;
#endif
#ifndef BROKEN_SETTLE
		if
		:: seen ->
			own_it();
			if
			:: claimed -> push()
			:: else
			fi
		:: else
		fi;
#endif
		ring = false
	:: mail == 0 && others == 0 && !cancelled -> break
	od
}

/* io_poll_cancel() */
proctype canceller()
{
	bool claimed;

	lock(ring);
	if
	:: !ended ->
		own_it();
		cancelled = true;
		atomic { wants = wants | CANCEL };
		if
		:: claimed -> push()
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
	assert(ended || (owner == 0 && told == events))
}
