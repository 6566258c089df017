/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: a LINK_TIMEOUT against the end of its head, and against cancellation
 *
 * What is modelled: io_uring/op/link_timeout.c with io_timer_stop(), the end of a
 * head in io_uring/complete/complete.c, and cancellation of the head by a program.
 * A chain of three: the head, its LINK_TIMEOUT, and a request behind them.  The
 * head either is parked, then the first task to claim it sends it to where it ends:
 * an event, a canceller, or the LINK_TIMEOUT whose time has come; or a worker
 * runs it, which posts its CQE and leaves the rest to a mail.  Mails are run one
 * after the other, in the order of arrival, with the ring lock.
 *
 * A timer is stopped, expires, or its callback is running: the three answers of
 * hrtimer_try_to_cancel().  A program may start it anew.
 *
 * Memory is sequentially consistent here: what is shared is changed under the ring
 * lock, under the timer's base lock, or by an atomic operation that claims.
 *
 * Checked: each of the three ends once, nothing is touched after it was freed, and
 * all of them end.
 *
 * Broken on purpose, each has to be found:
 *   BROKEN_LOCK	the worker goes on with the chain without the ring lock
 *   BROKEN_TIMED	the head lets go of the LINK_TIMEOUT, which still points to it
 *   BROKEN_STOP	the head ends the LINK_TIMEOUT whatever its timer says
 *   BROKEN_LEAVE	a LINK_TIMEOUT that has expired stays in the chain
 *   BROKEN_CLAIM	an expired LINK_TIMEOUT ends the head where it stands
 *   BROKEN_UPDATE	the timer is started anew without asking whether it stopped
 */
#define HEAD	1		/* mails */
#define LIMIT	2

bool by_worker;			/* a worker has the head */
bool ring_lock;
bool claimed;			/* parked head: a task ends it */
bool queued = true;		/* the timer */
bool running;			/* its callback */
bool in_chain = true;		/* head->link is the LINK_TIMEOUT */
bool timed = true;		/* limit->timed is the head */
bool head_cqe, limit_cqe, next_done;
bool head_freed, limit_freed;

chan mails = [4] of { byte };

inline lock()
{
	atomic { !ring_lock -> ring_lock = true }
}

inline unlock()
{
	ring_lock = false
}

inline post(cqe)
{
	atomic { assert(!cqe); cqe = true }
}

/* answer: 2 for "the callback is running" */
inline try_to_cancel(answer)
{
	atomic {
		assert(!limit_freed);
		if
		:: running -> answer = 2
		:: !running && queued -> queued = false; answer = 1
		:: else -> answer = 0
		fi
	}
}

/* a parked head belongs to the first that says so */
inline claim_head()
{
	atomic {
		if
		:: !by_worker && !claimed ->
			assert(!head_freed);
			claimed = true;
			mails ! HEAD
		:: else
		fi
	}
}

/* io_link_advance(): the head has ended */
inline advance()
{
	if
	:: in_chain ->
		in_chain = false;
		assert(!limit_freed);
#ifndef BROKEN_TIMED
		timed = false;
#endif
		try_to_cancel(answer);
#ifdef BROKEN_STOP
		answer = 1;
#endif
		if
		:: answer == 1 -> post(limit_cqe); limit_freed = true
		:: else
		fi
	:: else
	fi;
	post(next_done);
	assert(!head_freed);
	head_freed = true
}

/* io_link_timeout_tw() */
inline limit_reached()
{
	assert(!limit_freed);
	if
	:: timed ->
		assert(!head_freed);
#ifndef BROKEN_LEAVE
		in_chain = false;
#endif
#ifdef BROKEN_CLAIM
		if
		:: !by_worker -> post(head_cqe); advance()
		:: else
		fi
#else
		claim_head()
#endif
	:: else
	fi;
	post(limit_cqe);
	limit_freed = true
}

proctype timer()
{
	do
	:: atomic { queued && !running -> queued = false; running = true };
		assert(!limit_freed);
		mails ! LIMIT;
		/* the callback returns, and touches nothing */
		running = false
	:: limit_freed -> break
	od
}

/* an event, or the worker's work, comes in the end */
proctype finisher()
{
	byte answer;

	if
	:: by_worker ->
		post(head_cqe);
#ifdef BROKEN_LOCK
		advance()
#else
		mails ! HEAD
#endif
	:: else -> claim_head()
	fi
}

proctype canceller()
{
	lock();
	if
	:: !head_freed -> claim_head()
	:: else
	fi;
	unlock()
}

proctype updater()
{
	byte answer;

	lock();
	if
	:: !limit_freed ->
		try_to_cancel(answer);
#ifdef BROKEN_UPDATE
		answer = 1;
#endif
		if
		:: answer == 1 -> queued = true
		:: else
		fi
	:: else
	fi;
	unlock()
}

proctype runner()
{
	byte answer, mail;

	do
	:: mails ? mail ->
		lock();
		if
		:: mail == HEAD ->
			assert(!head_freed);
			if
			:: !by_worker -> post(head_cqe)
			:: else
			fi;
			advance()
		:: mail == LIMIT -> limit_reached()
		fi;
		unlock()
	:: head_freed && limit_freed && empty(mails) -> break
	od
}

init {
	atomic {
		if
		:: by_worker = true
		:: by_worker = false
		fi;
		run timer();
		run finisher();
		run canceller();
		run updater();
		run runner()
	}
	/* a process that cannot go on is found as an invalid end state */
	(_nr_pr == 1);
	assert(head_cqe && limit_cqe && next_done && head_freed && limit_freed)
}
