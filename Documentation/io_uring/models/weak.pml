/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Weakly ordered memory for the models whose names end in _weak
 *
 * What is modelled: memory as arm64 has it, with the barriers that the Linux kernel memory model
 * (tools/memory-model) gives each operation.  A model says how many CPUS (2 to 4) and LOCS
 * (locations, 9 at most) there are.  Each process that uses memory is one CPU, and names itself in
 * the first argument of every operation.
 *
 * Stores:	A store waits in a buffer and leaves its CPU at any later time (memory()).  Stores
 *		to one location leave in order, those to different locations in any order, unless
 *		smp_wmb(), release or a full barrier orders them.  Once it has left, all CPUs can
 *		see it.  atomic_or() and atomic_andnot(), which return nothing, wait like stores.
 * Loads:	A load returns what memory has now, or what it had at any earlier time since the
 *		CPU's last acquire, smp_rmb() or full barrier, but for one location never an older
 *		value than an earlier load did.  An acquire may be early as well, with the value
 *		at that last barrier, as a release before it does not order it.
 * Late loads:	load_late() is a load that has not ended when later operations begin.  A release
 *		or a full barrier waits for it, a plain store does not.  A model uses it
 *		where a load must not be overtaken by a store.
 * RMW:		FULL, ACQUIRE, RELEASE and RELAXED say what an operation that returns a value
 *		orders.  The store of one that is no acquire may leave later, and no store of others
 *		comes in between.  A compare-and-exchange that fails is a plain load.
 * Locks:	lock() is an acquire, unlock() is a release.
 * Sleep:	wake() is try_to_wake_up(), a full barrier before the task's state is read;
 *		sleep_until() is schedule(), which has one as well.
 *
 * What is weaker than the kernel's: an unlock before the lock of another lock orders nothing.
 * What is stronger: a load is not delayed beyond a later acquire, or beyond a later store unless
 * it is a late one.  Control dependencies, from a load to a store, hold for this reason; and
 * addresses that were loaded order the loads from there (load_dep()).
 */
#define RELAXED	0
#define ACQUIRE	1
#define RELEASE	2
#define FULL	3

#define OP_OR		64	/* in a buffer: bits that are to be set ... */
#define OP_ANDNOT	128	/* ... or cleared, values are below */

#define IN(c, x)	((c) * LOCS + (x))
#define ONE(x)		(1 << (x))

/* a bit for each location */
#if LOCS > 8
#define MASK	short
#else
#define MASK	byte
#endif

/* the locations that a CPU may load early; init sets it */
hidden MASK loads[CPUS];

byte mem[LOCS];			/* what has left its CPU */
byte early[CPUS * LOCS];	/* what an early load of a CPU would return */
MASK since[CPUS];	/* locations loaded since its last barrier */
byte buf[CPUS * LOCS];		/* stores that have not left */
MASK held[CPUS];	/* a bit for each of them */
MASK first[CPUS * LOCS];	/* stores that have to leave before it */
MASK fence[CPUS];	/* stores that have to leave before any later one */
MASK excl[CPUS];		/* stores of RMW operations: no other may come in between */
#ifdef LATE_LOADS
byte late[CPUS];		/* location + 1 of a load that has not ended, or LATE_DONE */
byte late_value[CPUS];
#define LATE_DONE	100
#define no_late(c)	(late[c] == 0 || late[c] == LATE_DONE)
#else
#define no_late(c)	true
#endif

/* arguments of the C functions below */
hidden byte c_, x_, v_, s_;

/* Has all that the CPU did before been done? */
#define settled(c)	(held[c] == 0 && no_late(c))

#define buffered(c, x)	(held[c] & ONE(x))

/* No other CPU is within a RMW operation. */
#if CPUS == 2
#define may_change(c, x)	((excl[1 - (c)] & ONE(x)) == 0)
#else
#define may_change(c, x)	((excl[((c) + 1) % CPUS] & ONE(x)) == 0 &&	\
				 (excl[((c) + 2) % CPUS] & ONE(x)) == 0 &&	\
				 (excl[((c) + 3) % CPUS] & ONE(x) && CPUS > 3) == 0)
#endif

/* The steps of all operations, in C because spin repeats a Promela inline at each call. */
c_code {
	/* CPU c's early loads return what memory has in x now. */
	static void catch_up(int c, int x)
	{
		if (loads[c] & 1 << x) {
			now.early[c * LOCS + x] = now.mem[x];
			now.since[c] |= 1 << x;
		}
	}

	/* From here on the CPU's loads return nothing older. */
	static void do_refresh(int c)
	{
		int x;

		for (x = 0; x < LOCS; x++)
			catch_up(c, x);
		now.since[c] = 0;
	}

	/*
	 * Memory changes.  With @seen early loads of other CPUs have read the value that it had
	 * just now.
	 */
	static void do_change(int c, int x, int v, int seen)
	{
		int d;

		for (d = 0; seen && d < CPUS; d++)
			if (d != c)
				catch_up(d, x);
		now.mem[x] = v;
		catch_up(c, x);
	}

	/* A store leaves its CPU. */
	static void do_leave(int c, int x, int seen)
	{
		int y, v = now.buf[c * LOCS + x];

		if (v >= OP_ANDNOT)
			v = now.mem[x] & ~(v - OP_ANDNOT);
		else if (v >= OP_OR)
			v = now.mem[x] | (v - OP_OR);
		now.buf[c * LOCS + x] = 0;
		now.held[c] &= ~(1 << x);
		now.fence[c] &= ~(1 << x);
		now.excl[c] &= ~(1 << x);
		for (y = 0; y < LOCS; y++)
			now.first[c * LOCS + y] &= ~(1 << x);
		do_change(c, x, v, seen);
	}
}

/* Begin with a value.  Within init's atomic only. */
inline set(x, v)
{
	d_step {
		x_ = x;
		v_ = v;
		c_code { do_change(0, x_, v_, 0); do_change(0, x_, v_, 1); now.since[0] = 0; }
	}
}

inline refresh(c)
{
	d_step { c_ = c; c_code { do_refresh(c_); } }
}

/* Has a CPU, other than this one, still to read the value that is about to change? */
#define stale(c, x)	(loads[c] & ONE(x) && early[IN(c, x)] != mem[x])
#if CPUS == 2
#define old_news(c, x)	stale(1 - (c), x)
#elif CPUS == 3
#define old_news(c, x)	(stale(((c) + 1) % 3, x) || stale(((c) + 2) % 3, x))
#else
#define old_news(c, x)	true
#endif

inline change(c, x, v)
{
	/* the choice first: what hides from the state is not restored after it */
	if
	:: s_ = 0
	:: old_news(c, x) -> s_ = 1
	fi;
	d_step { c_ = c; x_ = x; v_ = v; c_code { do_change(c_, x_, v_, s_); } }
}

#define may_leave(c, x)	(buffered(c, x) && first[IN(c, x)] == 0 && may_change(c, x))

/* What a store's leaving must not find: memory that was freed */
#ifndef LEAVES
#define LEAVES(c, x)	skip
#endif

/* A CPU's buffer.  Run one for each CPU. */
proctype memory(byte c)
{
	byte x;

end:	do
	:: atomic {
		if
		:: may_leave(c, 0)
#if LOCS > 1
		:: may_leave(c, 1) -> x = 1
#endif
#if LOCS > 2
		:: may_leave(c, 2) -> x = 2
#endif
#if LOCS > 3
		:: may_leave(c, 3) -> x = 3
#endif
#if LOCS > 4
		:: may_leave(c, 4) -> x = 4
#endif
#if LOCS > 5
		:: may_leave(c, 5) -> x = 5
#endif
#if LOCS > 6
		:: may_leave(c, 6) -> x = 6
#endif
#if LOCS > 7
		:: may_leave(c, 7) -> x = 7
#endif
#if LOCS > 8
		:: may_leave(c, 8) -> x = 8
#endif
		fi;
		LEAVES(c, x);
		if
		:: s_ = 0
		:: old_news(c, x) -> s_ = 1
		fi;
		d_step { c_ = c; x_ = x; x = 0; c_code { do_leave(c_, x_, s_); } }
	   }
#ifdef LATE_LOADS
	:: atomic { !no_late(c) -> late_value[c] = mem[late[c] - 1]; late[c] = LATE_DONE }
#endif
	od
}

/* READ_ONCE(), atomic_read(), and plain loads */
inline load(c, x, v)
{
	atomic {
		if
		:: buffered(c, x) && buf[IN(c, x)] < OP_OR -> v = buf[IN(c, x)]
		:: !buffered(c, x) -> v = early[IN(c, x)]
		:: !buffered(c, x) && early[IN(c, x)] != mem[x] ->
			v = mem[x];
			early[IN(c, x)] = v;
			since[c] = since[c] | ONE(x)
		fi
	}
}

/* A load from an address that was loaded before: not older than that */
inline load_dep(c, x, v)
{
	atomic { !buffered(c, x) -> v = mem[x] }
}

/* smp_load_acquire() */
inline load_acquire(c, x, v)
{
	atomic {
		if
		:: buffered(c, x) && buf[IN(c, x)] < OP_OR -> v = buf[IN(c, x)]
		:: !buffered(c, x) && !(since[c] & ONE(x)) && early[IN(c, x)] != mem[x] ->
			v = early[IN(c, x)]
		:: !buffered(c, x) -> v = mem[x]; refresh(c)
		fi
	}
}

#ifdef LATE_LOADS
/* A load that may end at any later time; late_result() waits for it. */
inline load_late(c, x)
{
	atomic {
		!buffered(c, x) ->
		if
		:: late[c] = (x) + 1
		:: late[c] = LATE_DONE; late_value[c] = early[IN(c, x)]
		fi
	}
}

inline late_result(c, v)
{
	atomic { late[c] == LATE_DONE -> v = late_value[c]; late[c] = 0; late_value[c] = 0 }
}
#endif

/* WRITE_ONCE(), atomic_set(), and plain stores */
inline store(c, x, v)
{
	atomic {
		!buffered(c, x) ->
		buf[IN(c, x)] = v;
		held[c] = held[c] | ONE(x);
		first[IN(c, x)] = fence[c]
	}
}

/* smp_store_release() */
inline store_release(c, x, v)
{
	atomic {
		!buffered(c, x) && no_late(c) ->
		buf[IN(c, x)] = v;
		first[IN(c, x)] = held[c];
		held[c] = held[c] | ONE(x)
	}
}

#define atomic_or(c, x, bits)		store(c, x, OP_OR + (bits))
#define atomic_andnot(c, x, bits)	store(c, x, OP_ANDNOT + (bits))
#define set_bit(c, x)			atomic_or(c, x, 1)

inline smp_mb(c)
{
	atomic { settled(c) -> refresh(c) }
}

inline smp_rmb(c)
{
	atomic { no_late(c) -> refresh(c) }
}

inline smp_wmb(c)
{
	fence[c] = held[c]
}

/* May a RMW operation change memory now? */
#define may_rmw(c, x, order)						\
	(((order) & RELEASE) -> settled(c) :				\
		(!buffered(c, x) && fence[c] == 0))

/* The store of a RMW operation.  One that is no acquire may leave later. */
inline rmw_store(c, x, v, order)
{
	if
	:: (order) & ACQUIRE ->
		change(c, x, v);
		refresh(c)
	:: else ->
		d_step {
			buf[IN(c, x)] = v;
			held[c] = held[c] | ONE(x);
			excl[c] = excl[c] | ONE(x)
		}
	fi
}

/* xchg() and others: returns what was there, @new may be made of mem[x] */
inline rmw(c, x, old, new, order)
{
	atomic {
		may_rmw(c, x, order) && may_change(c, x) ->
		old = mem[x];
		rmw_store(c, x, new, order)
	}
}

/* try_cmpxchg(): if it fails, @old is what was found, maybe by an early load */
inline try_cmpxchg(c, x, old, new, order, done)
{
	atomic {
		if
		:: may_rmw(c, x, order) && may_change(c, x) && mem[x] == old ->
			rmw_store(c, x, new, order);
			done = true
		:: buffered(c, x) && buf[IN(c, x)] < OP_OR && buf[IN(c, x)] != old ->
			old = buf[IN(c, x)];
			done = false
		:: !buffered(c, x) && early[IN(c, x)] != old && loads[c] & ONE(x) ->
			old = early[IN(c, x)];
			done = false
		:: !buffered(c, x) && mem[x] != old &&
		   (early[IN(c, x)] != mem[x] || !(loads[c] & ONE(x))) ->
			old = mem[x];
			if
			:: loads[c] & ONE(x) -> early[IN(c, x)] = old; since[c] = since[c] | ONE(x)
			:: else
			fi;
			done = false
		fi
	}
}

inline lock(c, l)
{
	atomic {
		may_rmw(c, l, RELAXED) && may_change(c, l) && mem[l] == 0 ->
		change(c, l, 1);
		refresh(c)
	}
}

inline unlock(c, l)
{
	store_release(c, l, 0)
}

/* The task's state is a location: 1 while it runs. */
inline set_current_state(c, s, v)
{
	store(c, s, v);
	smp_mb(c)
}

inline wake(c, s)
{
	atomic {
		settled(c) && may_change(c, s) ->
		change(c, s, 1);
		refresh(c)
	}
}

/* schedule(): a barrier, then sleep unless the state says that the task runs */
inline sleep_until(c, s)
{
	smp_mb(c);
	atomic { mem[s] == 1 -> refresh(c) }
}

/* What a grace period has done on a CPU at some time */
inline barrier_on(c)
{
	atomic { settled(c) -> refresh(c) }
}
