/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: who goes on with a poll
 *
 * What is modelled: the two words of io_uring/async/poll.c, from io_poll_arm() on.
 * Wakers, whose events come under their waitqueue's lock; the run of the polls' mail,
 * which looks, posts, releases, puts the poll on ctx->polls.released and looks at all of
 * those once more before the ring lock is released or mail is run again; a cancel,
 * which owns the poll or tells its owner; the end, which takes the entries off.
 *
 * Without anything else: one multishot poll, whose two wakers share a waitqueue and
 * claim by a plain store.
 *   PAIR		two polls on that waitqueue: a wake is for both, they are run and
 *			released together
 *   TWO		one poll on two waitqueues, the second of which is added after the
 *			first is live; wakers compare and exchange
 *   ONESHOT		the poll waits for a single event: a waker who knows it takes the
 *			entry off.  One who does not may have none
 *   FREE		the first waker's waitqueue goes away with its event (POLLFREE)
 *   CANCEL_IT		a task cancels
 *   LATE		a waker's event is seen by others with its next barrier only
 *   REMOVE_IT		the ring's task ends the first poll by POLL_REMOVE, with the ring
 *			lock that it has anyway
 *   ISSUE		a multishot request of io_uring/submit/multishot.c: it takes one item
 *			from the file each time that it is issued, first without a poll, then
 *			with it armed.  An event is one more item.  Its share may be used up
 *			at any time
 *   ROOM=n		there is room for so many CQEs (needs ISSUE)
 *
 * Checked: a poll has never more than one mail; one that is not cancelled has posted
 * after the last event; a cancelled one ends; no task touches a poll after its end.  With
 * ISSUE: what was taken was posted; it waits only if nothing is left; it ends with one last
 * CQE, if it is cancelled or a CQE had no room.
 *
 * ctx->polls.released holds 64 polls; one that is full is looked at early, which is the same
 * step at another time, so it never gets full here.
 *
 * Memory: the owner's release of a poll is a plain store.  It is modelled as one that
 * stays in a store buffer: others may see it late, until the barrier of
 * io_poll_recheck_slow(), which is all that the design counts on.  Everything else is
 * sequentially consistent here.  poll_weak.pml has fewer steps and weakly ordered memory: it
 * tells which barriers that takes.
 *
 * Broken on purpose, each has to be found:
 *   BROKEN_STORE	a plain store claims with two waitqueues (needs TWO)
 *   BROKEN_READ	a waker looks for a second waitqueue, and then at the owner (needs
 *			TWO)
 *   BROKEN_SETTLE	the owner does not look once more after it has released
 *   BROKEN_LAST	only the poll that was released last is looked at once more (needs
 *			PAIR)
 *   BROKEN_FENCE	no barrier: the release is seen by others after that look
 *   BROKEN_AGAIN	mail is run again before the released polls were looked at
 *   BROKEN_FIRST	a poll is removed before the released ones were looked at (needs
 *			REMOVE_IT)
 *   BROKEN_TELL	a waker that has said AGAIN does not look at the owner again
 *   BROKEN_SKIP	a waker that finds an owner says nothing, though no other has said AGAIN
 *   BROKEN_LATE	its event is seen by others only after it has found that AGAIN is there
 *			(no barrier between; needs LATE)
 *   BROKEN_CLEAR	AGAIN is cleared after the file was asked
 *   BROKEN_OWN	cancel, and the second look, claim without the waitqueue's lock
 *   BROKEN_FORGET	the waitqueue is forgotten before the waker is through (needs FREE
 *			and CANCEL_IT)
 *   BROKEN_UNHOOK	a single event's entry is taken off, and its waitqueue forgotten,
 *			before the poll is claimed (needs ONESHOT and CANCEL_IT)
 *   BROKEN_BLIND	it is taken off by a waker that does not know its event, of which
 *			there may be none (needs ONESHOT)
 *   BROKEN_ARM		the file is not asked when the poll is armed (needs ISSUE)
 *   BROKEN_MORE	after an item was posted the file is not asked (needs ISSUE)
 *   BROKEN_FULL	it goes on when a CQE had no room (needs ISSUE and ROOM)
 *   BROKEN_SHARE	its share is used up, and it does not own its poll in the mailbox
 *			(needs ISSUE)
 */
#define OWNED	1
#define MASK	2		/* the waker knew its event */

#define AGAIN	1
#define CANCEL	2

#ifdef PAIR
#define POLLS	2
#define EVENTS	1
#else
#define POLLS	1
#define EVENTS	2
#endif
#ifdef TWO
#define QUEUE(n) n
#else
#define QUEUE(n) 0
#endif
#define BIT(p)	(1 << (p))
#define AT(p, q)	((p) * 2 + (q))

byte owner[POLLS];		/* 0, or OWNED and MASK */
bool unseen[POLLS];		/* ... but 0 is in its last owner's store buffer */
byte wants[POLLS];		/* AGAIN, CANCEL */
bool second[POLLS];		/* poll->second */
bool locked[2];			/* a waitqueue's lock */
bool head[POLLS * 2];		/* the poll knows the waitqueue */
bool hooked[POLLS * 2];		/* its entry is on it */
bool ring = true;		/* the ring lock */
byte mail;			/* polls that were pushed */
byte batch;			/* polls whose mail is being run */
byte released;			/* ctx->polls.released */
byte events;			/* that have happened */
byte told[POLLS];		/* that had happened at the last CQE */
bool cancelled[POLLS], ended[POLLS];
byte others;			/* processes that may still wake it */
#ifdef ISSUE
#ifndef ROOM
#define ROOM	99
#endif
byte taken;			/* items that were taken from the file */
byte posted;			/* CQEs, the last one of a full CQ included */
byte last;			/* CQEs that say that it ends */
#endif

inline lock(l)
{
	atomic { !l -> l = true }
}

inline push(p)
{
	atomic {
		assert(!((mail | batch) & BIT(p)) && !ended[p] && owner[p]);
		mail = mail | BIT(p)
	}
}

/* The store buffer empties at any time, and at a barrier of its owner. */
inline flush(p)
{
	if
	:: unseen[p] -> owner[p] = 0; unseen[p] = false
	:: else
	fi
}

inline perhaps_flush(p)
{
	if
	:: flush(p)
	:: true
	fi
}

/* A compare-and-exchange of the owner */
inline claim_empty(p, bits)
{
	atomic {
		perhaps_flush(p);
		claimed = (owner[p] == 0);
#ifdef LATE
		if
		:: claimed && late -> events++; late = false
		:: else
		fi;
#endif
		if
		:: claimed -> owner[p] = OWNED | bits
		:: else
		fi
	}
}

/* The waker's store that makes the event is seen by others */
inline land()
{
#ifdef LATE
	atomic {
		if
		:: late -> events++; late = false
		:: else
		fi
	}
#else
	skip
#endif
}

/* io_poll_is_notified(), where AGAIN was found */
inline is_told(p)
{
	told_it = (wants[p] & AGAIN);
	if
	:: told_it ->
		land();
#ifndef BROKEN_LATE
		told_it = (wants[p] & AGAIN)
#endif
	:: else
	fi
}

/* io_poll_claim_slow() */
inline claim_slow(p, bits)
{
	claim_empty(p, bits);
	if
	:: !claimed ->
#ifdef BROKEN_SKIP
		told_it = true;
		land();
#else
		is_told(p);
#endif
		if
		:: told_it -> told_it = false
		:: else ->
			land();
			atomic { wants[p] = wants[p] | AGAIN };
#ifndef BROKEN_TELL
			claim_empty(p, bits)
#endif
		fi
	:: else
	fi
}

/* io_poll_claim() */
inline claim(p, bits)
{
#if defined(TWO) && defined(BROKEN_READ)
	more = second[p];
#endif
	atomic { perhaps_flush(p); old = owner[p] };
#if defined(TWO) && !defined(BROKEN_READ) && !defined(BROKEN_STORE)
	more = second[p];
#endif
	if
	:: atomic { old == 0 && !more -> land(); owner[p] = OWNED | bits; claimed = true }
	:: old != 0 || more -> claim_slow(p, bits)
	fi
}

/* io_poll_own(); the ring lock is held, and nothing is in the store buffer */
inline own_it(p)
{
	if
	:: !head[AT(p, 0)] -> claim_empty(p, 0)
	:: else ->
		claimed = false;
		if
		:: owner[p] == 0 || unseen[p] ->
#ifdef BROKEN_OWN
			claimed = (owner[p] == 0);
			if
			:: claimed -> owner[p] = OWNED
			:: else
			fi
#else
			lock(locked[0]);
			flush(p);
			claim_empty(p, 0);
			locked[0] = false
#endif
		:: else
		fi
	fi
}

/* io_poll_wake_free() */
inline wake_free(p, q)
{
#ifdef BROKEN_FORGET
	hooked[AT(p, q)] = false;
	head[AT(p, q)] = false;
	assert(!ended[p]);
	atomic { wants[p] = wants[p] | CANCEL };
	claim_empty(p, 0);
#else
	atomic { wants[p] = wants[p] | CANCEL };
	claim_empty(p, 0);
	assert(!ended[p]);
	hooked[AT(p, q)] = false;
	head[AT(p, q)] = false;
#endif
	cancelled[p] = true;
	if
	:: claimed -> push(p)
	:: else
	fi
}

/* Does a wake take the entry off?  io_poll_wake_dequeue() */
inline wake_unhook(p, q)
{
#ifdef ONESHOT
	if
#ifdef BROKEN_BLIND
	:: true ->
#else
	:: bits == MASK ->
#endif
		assert(!ended[p]);
		hooked[AT(p, q)] = false;
		head[AT(p, q)] = false
	:: else
	fi
#else
	skip
#endif
}

/* io_poll_wake() */
inline wake(p, q)
{
#ifdef BROKEN_UNHOOK
	wake_unhook(p, q);
#endif
	is_told(p);
	if
	:: told_it -> told_it = false
	:: else -> claim(p, bits)
	fi;
	if
	:: claimed ->
#ifndef BROKEN_UNHOOK
		wake_unhook(p, q);
#endif
		push(p)
	:: else
	fi
}

proctype waker(byte q; bool frees)
{
	byte old, n, p, bits;
	bool claimed, more, told_it, late;

	do
	:: n < EVENTS ->
		atomic {
			if
#ifdef LATE
			:: late = true; bits = MASK
#else
			:: events++; bits = MASK
#endif
#ifdef ONESHOT
			:: events++
			:: true
#endif
			fi
		};
		lock(locked[q]);
		do
		:: atomic { p < POLLS && hooked[AT(p, q)] -> assert(!ended[p]) };
			if
			:: frees -> wake_free(p, q)
			:: !frees -> wake(p, q)
			fi;
			atomic { p++; old = 0; claimed = false; more = false }
		:: atomic { p < POLLS && !hooked[AT(p, q)] -> p++ }
		:: p == POLLS -> break
		od;
		land();
		atomic {
			locked[q] = false;
			n = (frees -> EVENTS : n + 1);
			p = 0;
			bits = 0
		}
	:: atomic { n == EVENTS -> others--; break }
	od
}

inline unhook(p, q)
{
	if
	:: head[AT(p, q)] ->
		lock(locked[q]);
		hooked[AT(p, q)] = false;
		locked[q] = false;
		head[AT(p, q)] = false
	:: else
	fi
}

inline end_it(p)
{
	unhook(p, 0);
#ifdef TWO
	unhook(p, 1);
#endif
	assert(!ended[p]);
	ended[p] = true
}

/* io_poll_unclaim() */
inline let_go(p)
{
	atomic {
		assert(!(released & BIT(p)));
#ifdef BROKEN_LAST
		released = 0;
#endif
		released = released | BIT(p);
		unseen[p] = true
	}
}

/* io_poll_recheck() */
inline settle()
{
#ifndef BROKEN_SETTLE
	if
	:: released ->
#ifndef BROKEN_FENCE
		/* one barrier for all of them */
		atomic { flush(0); flush(POLLS - 1) };
#endif
		do
		:: atomic {
			k < POLLS && released & BIT(k) ->
			released = released & ~BIT(k);
			assert(!ended[k]);
			own = (wants[k] != 0)
		   };
			if
			:: own ->
				own_it(k);
				if
				:: claimed -> push(k)
				:: else
				fi
			:: else
			fi;
			atomic { k++; own = false; claimed = false }
		:: atomic { k < POLLS && !(released & BIT(k)) -> k++ }
		:: atomic { k == POLLS -> k = 0; break }
		od
	:: else
	fi;
#else
	released = 0;
#endif
	/* what comes next is a lock's release, or the lock of a waitqueue */
	atomic { flush(0); flush(POLLS - 1) }
}

/* Does the file say that it is ready? */
#ifdef ISSUE
#define ASK(p)	(events != taken)
#define TOLD(p)	skip
#else
#define ASK(p)	(events != told[p])
#define TOLD(p)	told[p] = events
#endif

#ifdef ISSUE
/* ->issue() of the op: takes an item and posts it.  A CQE without room is the last one. */
inline issue(p)
{
	atomic {
		got = (taken != events);
		taken = (got -> taken + 1 : taken)
	};
	atomic {
		noroom = (got && posted >= ROOM);
		if
#ifdef BROKEN_FULL
		:: noroom -> noroom = false
#else
		:: noroom -> posted++; last++
#endif
		:: got && !noroom -> posted++
		:: else
		fi
	}
}

/* The first times, without a poll: io_issue_more() */
inline issue_first(p)
{
	do
	:: issue(p);
	   if
	   :: noroom -> ended[p] = true; break
	   :: !noroom && !got -> break
	   :: !noroom && got
	   fi
	od;
	atomic { got = false; noroom = false }
}

/* io_multishot_tw() */
inline run_multishot(p)
{
	do
	:: atomic {
		assert(!ended[p] && owner[p] && !unseen[p]);
		seen = wants[p];
		wants[p] = wants[p] & CANCEL
	   };
	   if
	   :: seen & CANCEL -> cancelled[p] = true; last++; end_it(p); break
	   :: else
	   fi;
	   ready = ((owner[p] & MASK && !(seen & AGAIN)) || ASK(p));
	   got = false;
	   if
	   :: ready ->
		issue(p);
		if
		/* IO_MORE: the file is as ready as it was, right or wrong */
		:: got
		:: owner[p] = OWNED
		fi;
		if
		:: noroom -> end_it(p); break
		:: else
		fi
	   :: else
	   fi;
	   if
#ifndef BROKEN_MORE
	   :: got ->
		/* IO_MORE_IF_READY: ask, or it is the turn of others */
		if
		:: true
		:: true ->
#ifdef BROKEN_SHARE
			owner[p] = 0;
			mail = mail | BIT(p);
#else
			push(p);
#endif
			break
		fi
	   :: !got ->
#else
	   :: true ->
#endif
		if
		:: wants[p] -> skip		/* look again */
		:: else -> let_go(p); break
		fi
	   fi
	od;
	atomic { seen = 0; ready = false; got = false; noroom = false }
}
#endif

/* io_poll_arm(): the poll is owned until it is let go of */
inline arm(p)
{
	atomic { owner[p] = OWNED; head[AT(p, 0)] = true };
	lock(locked[0]);
	hooked[AT(p, 0)] = true;
	locked[0] = false;
#ifdef TWO
	second[p] = true;
	head[AT(p, 1)] = true;
	lock(locked[1]);
	hooked[AT(p, 1)] = true;
	locked[1] = false;
#endif
#ifdef BROKEN_ARM
	ready = false;
#else
	atomic { ready = ASK(p); TOLD(p) };
#endif
	if
#ifdef ONESHOT
	:: ready -> end_it(p)
#else
	:: ready -> owner[p] = OWNED | MASK; push(p)
#endif
	:: !ready && wants[p] -> push(p)
	:: !ready && !wants[p] -> let_go(p)
	fi
}

/* io_poll_check(), io_poll_try_unclaim() and what POLL_ADD does between them */
inline run_mail(p)
{
	do
	:: atomic {
		assert(!ended[p] && owner[p] && !unseen[p]);
		seen = wants[p];
#ifndef BROKEN_CLEAR
		wants[p] = wants[p] & CANCEL
#endif
	   };
	   if
	   :: seen & CANCEL -> cancelled[p] = true; end_it(p); break
	   :: else
	   fi;
	   /* asks the file, if the waker's event is not enough */
	   atomic {
#ifdef ONESHOT
		ready = (owner[p] & MASK || ASK(p));
#else
		ready = ((owner[p] & MASK && !(seen & AGAIN)) || ASK(p));
#endif
		if
		:: ready -> told[p] = events
		:: else
		fi
	   };
#ifdef BROKEN_CLEAR
	   if
	   :: seen & AGAIN -> atomic { wants[p] = wants[p] & CANCEL }
	   :: else
	   fi;
#endif
#ifdef ONESHOT
	   if
	   :: ready -> end_it(p); break
	   :: else
	   fi;
#endif
	   if
	   :: wants[p] -> skip			/* look again */
	   :: else -> let_go(p); break
	   fi
	od;
	atomic { seen = 0; ready = false }
}

/* POLL_REMOVE by the ring's task, which ends what it owns at once */
inline remove_it(p)
{
#ifdef REMOVE_IT
	if
	:: !ended[p] && !cancelled[p] ->
#ifndef BROKEN_FIRST
		settle();
#endif
		own_it(p);
		if
		:: claimed -> cancelled[p] = true; end_it(p)
		:: else
		fi
	:: true
	fi
#else
	skip
#endif
}

proctype runner()
{
	byte seen, i, k;
	bool ready, claimed, own, late;
#ifdef ISSUE
	bool got, noroom;

	issue_first(0);
#endif

	i = 0;
	do
	:: i < POLLS && !ended[i] -> arm(i); i++
	:: i < POLLS && ended[i] -> i++
	:: i == POLLS -> break
	od;
	remove_it(0);
	settle();
	ring = false;
	do
	:: atomic { mail && !ring -> ring = true; batch = mail; mail = 0; i = 0 };
again:	   do
	   :: atomic { i < POLLS && batch & BIT(i) -> batch = batch & ~BIT(i) };
#ifdef ISSUE
		run_multishot(i);
#else
		run_mail(i);
#endif
		i++
	   :: atomic { i < POLLS && !(batch & BIT(i)) -> i++ }
	   :: i == POLLS -> break
	   od;
	   remove_it(0);
	   /* what has arrived meanwhile is perhaps run with the same lock */
	   if
	   :: mail ->
#ifndef BROKEN_AGAIN
		settle();
#endif
		atomic { batch = mail; mail = 0; i = 0 };
		goto again
	   :: true
	   fi;
	   settle();
	   ring = false
	:: mail == 0 && others == 0 -> break
	od
}

/* io_poll_cancel() */
proctype canceller()
{
	bool claimed, late;

	lock(ring);
	if
	:: !ended[0] ->
		own_it(0);
		cancelled[0] = true;
		atomic { wants[0] = wants[0] | CANCEL };
		if
		:: claimed -> push(0)
		:: else
		fi
	:: else
	fi;
	ring = false;
	others--
}

init {
	byte p;

	atomic {
		others = 2;
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
	assert(mail == 0 && released == 0);
	do
	:: p < POLLS ->
#ifdef ONESHOT
		assert(ended[p] || (owner[p] == 0 && events == 0));
#else
#ifdef ISSUE
		assert(ended[p] == (last == 1) && last <= 1);
		assert(ended[p] || (!cancelled[p] && posted <= ROOM));
		assert(posted == taken);
#else
		assert(ended[p] == cancelled[p]);
#endif
		assert(ended[p] || (owner[p] == 0 && !ASK(p)));
#endif
		p++
	:: p == POLLS -> break
	od
}
