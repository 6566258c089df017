/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: tasks that want the lock of a SQPOLL thread which is always busy
 *
 * What is modelled: io_sqpoll_park(), io_sqpoll_unpark() and io_sq_yield() of
 * io_uring/task/sqpoll.c.  The thread holds the lock and drops it only when it sees
 * that a task asks for it.  It takes the lock again when no task asks any more.
 *
 * Checked: each task that asks gets the lock; the thread goes on afterwards.
 *
 * Broken on purpose, each has to be found:
 *   BROKEN_BIT		the thread looks at a bit that the last task to go
 *			clears, not at the count
 *   BROKEN_WAKE	a task that goes does not wake the thread
 */
#define PARKERS	2

bool lock = true;		/* the thread has it */
byte pending;
bool mark;
bool asleep;
byte done;

#ifdef BROKEN_BIT
#define asked	mark
#else
#define asked	(pending > 0)
#endif

proctype thread()
{
	do
	:: asked ->
		lock = false;
		do
		:: atomic { asked -> asleep = true };
		   !asleep
		:: else -> break
		od;
		atomic { !lock -> lock = true }
	:: atomic { !asked && done == PARKERS -> break }
	od
}

proctype parker()
{
	bool last;

	pending++;
	mark = true;
	asleep = false;
	atomic { !lock -> lock = true };
	atomic { pending--; last = (pending == 0) };
	if
	:: last -> mark = false
	:: else
	fi;
	lock = false;
#ifndef BROKEN_WAKE
	asleep = false;
#endif
	done++
}

init {
	atomic {
		run thread();
		run parker();
		run parker()
	}
}
