/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: the owner of a single-writer ring, or the ring, ends while others push
 *
 * What is modelled: io_owner_mailbox_push(), io_owner_mailbox_close() and io_fallback_push() of
 * io_uring/ring/mailbox.c against an owner who runs its mailbox a last time and
 * may close it, the fallback worker, and the ring's end: io_ring_kill(),
 * io_ring_exit_work() and io_ring_free_work() (io_uring/task/).
 * Each of two senders completes a request, which is what its item is; each request
 * holds a reference to the ring.  The task that runs an item drops that reference.
 * A third request is about to wait, io_may_add_waiting(): it ends if the ring ends,
 * or the exit work finds it.
 *
 * The senders look at the ring after their push, within RCU; the fallback worker
 * looks at it after its last item.  Both may be all that is left.  The owner finds
 * the ring in its list of rings, and takes a reference, before it closes the mailbox.
 *
 * Memory is sequentially consistent here; pushes and closing are full barriers in the
 * code (try_cmpxchg(), xchg()), and a grace period is one for all others.
 *
 * Checked: each item runs exactly once, no task looks at a ring that is freed,
 * nothing hangs, no work is queued on a freed ring.
 *
 * Broken on purpose, each has to be found:
 *   BROKEN_CLOSE	the mailbox is not closed
 *   BROKEN_TAKE	the exit worker closes it without the ring lock, so that an
 *			owner who is about to take opens it again
 *   BROKEN_RCU	the ring is freed without a grace period
 *   BROKEN_FLUSH	the ring is freed without waiting for the fallback worker
 *   BROKEN_ORDER	waits for the fallback worker first and for the grace period
 *			then, so that a sender may queue it again in between
 *   BROKEN_FORGET	the owner does not ask for a reference
 *   BROKEN_LOOK	the exit work looks for parked requests without the ring lock
 *   BROKEN_DYING	the ring is said to end after the look
 */
#define ITEMS 2

byte box_top;			/* the mailbox's word: youngest item ... */
bool box_dead;			/* ... and the mark */
byte next[ITEMS + 1];		/* in whichever of the two lists */
byte fall_top;			/* ctx->fallback.items */
bool work_queued;
bool work_running;
byte refs = ITEMS + 2;		/* with the parked request's, and the file's */
bool dying;
bool parked;
byte readers;			/* RCU read sections that can see the ring */
bool freed;
bool ran[ITEMS + 1];
bool ring_lock;
bool forgotten;			/* by the task that uses it: no way to the ring any more */

#define use_ring assert(!freed)

inline lock()
{
	atomic { !ring_lock -> ring_lock = true }
}

inline unlock()
{
	ring_lock = false
}

inline run_item(item)
{
	use_ring;
	assert(!ran[item]);
	ran[item] = true;
	refs--
}

proctype sender(byte item)
{
	byte old;
	bool dead;

	readers++;
	use_ring;
	old = box_top;
	dead = box_dead;
	do
	:: dead -> break
	:: else ->
		atomic {
			if
			:: box_top == old && !box_dead ->
				next[item] = old;
				box_top = item;
				break
			:: else ->
				old = box_top;
				dead = box_dead
			fi
		}
	od;
	if
	:: dead ->
		use_ring;
		atomic {
			old = fall_top;
			next[item] = old;
			fall_top = item
		};
		if
		:: old == 0 ->
			use_ring;
			work_queued = true
		:: else
		fi
	:: else ->
		use_ring		/* count, announce, wake */
	fi;
	readers--
}

inline run_list()
{
	do
	:: list != 0 ->
		item = list;
		list = next[item];
		run_item(item)
	:: else -> break
	od
}

/* io_owner_mailbox_close(): what is there stays for the fallback worker */
inline close_mailbox()
{
	use_ring;
	atomic {
		item = box_top;
		box_dead = true
	};
	if
	:: item != 0 ->
		use_ring;
		work_queued = true
	:: else
	fi
}

/* io_fallback_take(), and what follows */
inline run_fallback()
{
	atomic { late = fall_top; fall_top = 0 };
	atomic {
		if
		:: box_dead -> list = box_top; box_top = 0
		:: else
		fi
	};
	run_list();
	list = late;
	run_list()
}

proctype owner()
{
	byte list, item;

	lock();
	if
	:: !box_dead && box_top != 0 ->
		/* taking stores a whole new word */
		atomic {
			list = box_top;
			box_top = 0;
			box_dead = false
		};
		run_list()
	:: else
	fi;
	unlock();
#ifndef BROKEN_CLOSE
	/* the task exits: io_tctx_next_ring() */
	atomic {
		if
#ifdef BROKEN_FORGET
		:: true -> refs++
#else
		:: !forgotten && refs > 0 -> refs++
#endif
		:: true -> goto out	/* the task never comes back */
		fi
	};
	close_mailbox();
	refs--;
out:	skip
#endif
}

proctype parker()
{
	lock();
	if
	:: dying -> refs--		/* it ends with -ECANCELED */
	:: !dying -> parked = true
	fi;
	unlock()
}

proctype fallback()
{
	byte list, late, item;

end:	do
	:: atomic { work_queued -> work_queued = false; work_running = true };
	   use_ring;
	   lock();
	   run_fallback();
	   unlock();
	   use_ring;
	   work_running = false
	od
}

/* io_ring_end_requests() */
inline look()
{
	if
	:: parked -> parked = false; refs--
	:: !parked
	fi
}

inline flush_work()
{
	(!work_queued && !work_running)
}

inline grace_period()
{
	readers == 0
}

proctype exit_worker()
{
	byte item;

#ifndef BROKEN_DYING
	dying = true;			/* no lock: any task may call the fput() */
#endif
#ifdef BROKEN_LOOK
	look();
#endif
#ifndef BROKEN_TAKE
	lock();
#endif
#ifndef BROKEN_CLOSE
	close_mailbox();
#endif
#ifdef BROKEN_TAKE
	lock();
#endif
#ifndef BROKEN_LOOK
	look();
#endif
	unlock();
#ifdef BROKEN_DYING
	dying = true;
#endif
	refs--;				/* the file's */
	refs == 0;
#ifdef BROKEN_RCU
	flush_work();
#else
#ifdef BROKEN_FLUSH
	grace_period();
#else
#ifdef BROKEN_ORDER
	flush_work();
	grace_period();
#else
	grace_period();
	flush_work();
#endif
#endif
#endif
	forgotten = true;
	freed = true;
	assert(!work_queued)
}

init {
	atomic {
		run sender(1);
		run sender(2);
		run owner();
		run parker();
		run fallback();
		run exit_worker()
	}
}
