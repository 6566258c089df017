/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: a mailbox's count, and the owner who waits for it
 *
 * What is modelled: io_mailbox_push(), io_mailbox_push_fast(), io_mailbox_arm(),
 * io_mailbox_disarm() and io_mailbox_take() of io_uring/ring/mailbox.h with the loop around them in
 * io_uring/sys/wait.c: the count in mailbox.missing, the forced wake, a wake-up for
 * another reason (a signal, a timer), and the announcement (IORING_SQ_TASKRUN) to
 * a program that does not sleep in the kernel.
 *
 * Three senders push one item each.  The owner first waits for two items, then for
 * the third, which is pushed only when the first two have been taken: a waiter for
 * two that is not woken by two therefore hangs for ever.  With URGENT the first
 * item is one that must not wait, and the second comes only when it was taken.
 * With POLLER the owner does not sleep in the kernel: it looks for the flag.  With
 * FAST senders try the fast path first, which does not push to a sleeper.
 *
 * Not every item is one CQE.  With DRAIN the owner adds a drained request before it
 * waits for two, and the first item, when it is run, makes the CQE of that as well;
 * the second comes when both were seen.  With TAG it is another task that makes two
 * of the first item's one, at any time: it empties the slot of a file with a tag, and
 * sends the CQE of that as the second item.  So what is asked for a pusher
 * (io_ring_is_urgent()) changes while it pushes.  With LOST another task loses the CQE of
 * the second item (io_cq_lost()), by which the owner's wait for two ends.
 *
 * Checked: no hang, each item taken once, one sender's items in order, nothing
 * left in a mailbox that was not announced, nothing announced when all is taken.
 *
 * Memory is sequentially consistent here.  mailbox_weak.pml has fewer steps and weakly
 * ordered memory.
 *
 * Broken on purpose, each has to be found:
 *   BROKEN_ARM	looks whether the mailbox is empty, then arms, in two steps
 *   BROKEN_SET	sets the count after arming, so that an arrival between is lost
 *   BROKEN_DEC	counts by load and store
 *   BROKEN_URGENT	an item that must not wait is only counted
 *   BROKEN_EARLY	asks whether the ring expects more before the push (needs DRAIN)
 *   BROKEN_EXPECT	who makes two CQEs of one item does not wake the owner (needs TAG)
 *   BROKEN_LOST	the owner does not look for lost CQEs once it has armed (needs LOST)
 *   BROKEN_CLEAR	takes, clears the flag, and does not look once more (needs POLLER)
 *   BROKEN_STALE	who pushes raises the flag and does not look once more
 *   BROKEN_SHORT	the fast path overwrites a sleeper's mark (needs FAST)
 */
#define ITEMS 4			/* the last for TAG alone */

#ifdef TAG
#define asks(item) (item == 1)	/* the others have no registered file */
#else
#define asks(item) true
#endif

byte next[ITEMS + 1];		/* item -> older item, 0: none */
byte top;			/* the word: youngest item ... */
bool armed;			/* ... and the mark */
short missing;
bool running = true;		/* the owner's task state */
bool disturbed;			/* woken once for another reason */
bool taskrun;			/* IORING_SQ_TASKRUN */
byte taken;			/* CQEs of what was taken */
bool more;			/* the first item makes another CQE */
bool seen[ITEMS + 1];
bool dropped;			/* IO_CHECK_CQ_DROPPED */

/* io_taskrun_update() */
inline update_flag(looks)
{
	do
	:: pending = (top != 0);
	   taskrun = pending;
	   if
	   :: looks && (top != 0) != pending
	   :: else -> break
	   fi
	od
}

inline announce()
{
#ifdef BROKEN_STALE
	taskrun = true
#else
	update_flag(true)
#endif
}

inline push(item, urgent)
{
#ifdef BROKEN_EARLY
	expects = asks(item) && more;
#endif
	old_top = top;
	old_armed = armed;
	do
	:: atomic {
		if
		:: top == old_top && armed == old_armed ->
			next[item] = old_top;
			top = item;
			break
		:: else ->
			old_top = top;
			old_armed = armed
		fi
	   }
	od;
	if
	:: old_top == 0 -> announce()
	:: else
	fi;
	if
	:: old_armed ->
#ifndef BROKEN_EARLY
		expects = asks(item) && more;
#endif
#ifdef BROKEN_DEC
		left = missing;
		left = left - 1;
		missing = left;
#else
		atomic {
			missing = missing - 1;
			left = missing
		};
#endif
#ifdef BROKEN_URGENT
		if
		:: left == 0 -> running = true
#else
		if
		:: left == 0 || urgent || expects -> running = true
#endif
		:: else
		fi
	:: else
	fi
}

/* io_req_push_fast() */
inline push_fast(item, urgent)
{
	atomic { old_top = top; old_armed = armed };
	do
#ifndef BROKEN_SHORT
	:: old_armed -> push(item, urgent); break
	:: !old_armed ->
#else
	:: true ->
#endif
		atomic {
			pushed = (top == old_top && armed == old_armed);
			if
			:: pushed ->
				next[item] = old_top;
				top = item;
				armed = false
			:: else ->
				old_top = top;
				old_armed = armed
			fi
		};
		if
		:: pushed && old_top == 0 -> announce(); break
		:: pushed && old_top != 0 -> break
		:: else
		fi
	od
}

#ifdef TAG
/* Empties the slot and posts that it did. */
proctype worker()
{
	bool idle;
	byte old_top;
	bool old_armed, pending;
	bool expects;
	short left;

	atomic {
		if
		:: !seen[1] -> more = true
		:: else -> idle = true
		fi
	};
	if
	:: idle -> push(4, false)	/* no request uses the file: its tag comes at once */
	:: else
	fi;
#ifndef BROKEN_EXPECT
	if
	:: armed -> running = true
	:: else
	fi;
#endif
	push(2, false)
}
#endif

proctype sender(byte item; byte after; bool urgent)
{
	byte old_top;
	bool old_armed, pushed, pending;
	bool expects;
	short left;

	taken >= after;
#ifdef FAST
	push_fast(item, urgent)
#else
	push(item, urgent)
#endif
}

inline take()
{
	atomic {
		list = top;
		top = 0;
		armed = false
	};
#ifdef BROKEN_CLEAR
	taskrun = false;
#else
	update_flag(true);
#endif
	/* youngest first here; the code turns the list round before it runs it */
	do
	:: list != 0 ->
		assert(!seen[list]);
		seen[list] = true;
		taken++;
		if
		:: list == 1 && more -> more = false; taken++
		:: else
		fi;
		list = next[list]
	:: else -> break
	od
}

inline wait_for(goal)
{
	do
	:: running = false;
#ifndef BROKEN_SET
	   missing = goal - taken;
#endif
#ifdef BROKEN_ARM
	   sleeps = (top == 0 && !armed);
	   if
	   :: sleeps -> armed = true
	   :: else
	   fi;
#else
	   atomic {
		sleeps = (top == 0 && !armed);
		if
		:: sleeps -> armed = true
		:: else
		fi
	   };
#endif
#ifdef BROKEN_SET
	   missing = goal - taken;
#endif
#ifndef BROKEN_LOST
	   if
	   :: sleeps && !dropped
	   :: else -> sleeps = false
	   fi;
#endif
	   if
	   :: sleeps ->				/* schedule() */
		if
		:: running
		:: !disturbed -> disturbed = true
		fi
	   :: else
	   fi;
	   running = true;
	   atomic {
		if
		:: top == 0 && armed -> armed = false
		:: else
		fi
	   };
	   if
	   :: top != 0 -> take()
	   :: else
	   fi;
	   if
	   :: dropped -> dropped = false; break
	   :: taken >= goal -> break
	   :: else
	   fi
	od
}

#ifdef LOST
/* io_cq_lost(), io_owner_wake_recount() */
proctype loser()
{
	dropped = true;
	if
	:: armed -> running = true
	:: else
	fi
}
#endif

proctype owner()
{
	byte list;
	bool sleeps, pending;

#ifdef POLLER
	do
	:: taskrun -> take()
	:: taken == 3 -> break
	od;
#else
#ifdef DRAIN
	more = true;
	wait_for(2);
	wait_for(4);
#else
#ifdef LOST
	wait_for(2);
	if
	:: taken < 1 -> wait_for(1)
	:: else
	fi
#else
#ifdef TAG
	wait_for(3);
	wait_for(4);
#else
	wait_for(2);
	wait_for(3);
#endif
#endif
#endif
#endif
	assert(top == 0)
}

init {
	atomic {
		run owner();
#ifdef LOST
		run loser();
		run sender(1, 0, false)
#else
#ifdef DRAIN
		run sender(1, 0, false);
		run sender(2, 2, false);
#else
#ifdef TAG
		run sender(1, 0, false);
		run worker();
#else
#ifdef URGENT
		run sender(1, 0, true);
		run sender(2, 1, false);
#else
		run sender(1, 0, false);
		run sender(2, 0, false);
#endif
#endif
#endif
#ifdef POLLER
		run sender(3, 0, false)
#else
#ifdef TAG
		run sender(3, 3, false)
#else
		run sender(3, 2, false)
#endif
#endif
#endif
	};
	_nr_pr == 1;
	assert(!taskrun)
}
