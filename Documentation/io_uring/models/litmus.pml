/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test of weak.pml: litmus tests, whose results are known from tools/memory-model
 *
 *   SB		store X, load Y || store Y, load X: may both loads miss the store?
 *   SB_RMW	RMW of X, load Y by an acquire || full RMW of Y, load X
 *   MP		store X, store Y || load Y, load X: may the second load miss what the first saw?
 *   MP_OR	as MP, Y by atomic_or(), loaded by an acquire
 *   LB		load Y, store X || load X, store Y: may both loads see the store?
 *   CORR	store X twice || load X twice
 *
 * BARRIER, WRITE, READ and ORDER say what orders the accesses; without them nothing does.  A
 * refused test is one whose question is answered by yes.
 */
#define CPUS	2
#define LOCS	2
#define LATE_LOADS
#define X	0
#define Y	1
#include "weak.pml"

#define NOTHING	0
#define MB	1
#define WMB	2
#define RMB	3
#define REL	4
#define ACQ	5

#ifndef BARRIER
#define BARRIER	NOTHING
#endif
#ifndef WRITE
#define WRITE	NOTHING
#endif
#ifndef READ
#define READ	NOTHING
#endif
#ifndef ORDER
#define ORDER	RELAXED
#endif

byte r0, r1, done;

inline barrier(c, what)
{
	if
	:: (what) == MB -> smp_mb(c)
	:: (what) == WMB -> smp_wmb(c)
	:: (what) == RMB -> smp_rmb(c)
	:: else
	fi
}

proctype first_cpu()
{
	byte old;

#if defined(SB)
	store(0, X, 1);
	barrier(0, BARRIER);
	load(0, Y, r0);
#elif defined(SB_RMW)
	rmw(0, X, old, 1, ORDER);
	load_acquire(0, Y, r0);
#elif defined(MP)
	store(0, X, 1);
	barrier(0, WRITE);
#if WRITE == REL
	store_release(0, Y, 1);
#else
	store(0, Y, 1);
#endif
#elif defined(MP_OR)
	store(0, X, 1);
	barrier(0, WRITE);
	atomic_or(0, Y, 1);
#elif defined(LB)
	load_late(0, Y);
#if WRITE == REL
	store_release(0, X, 1);
#else
	store(0, X, 1);
#endif
	late_result(0, r0);
#else
	store(0, X, 1);
	store(0, X, 2);
#endif
	done++
}

proctype second_cpu()
{
	byte old;

#if defined(SB)
	store(1, Y, 1);
	barrier(1, BARRIER);
	load(1, X, r1);
#elif defined(SB_RMW)
	rmw(1, Y, old, 1, FULL);
	load(1, X, r1);
#elif defined(MP) || defined(MP_OR)
#if READ == ACQ || defined(MP_OR)
	load_acquire(1, Y, r0);
#else
	load(1, Y, r0);
#endif
	barrier(1, READ);
	load(1, X, r1);
#elif defined(LB)
	load_late(1, X);
	late_result(1, r1);
	store(1, Y, r1);
#else
	load(1, X, r0);
	load(1, X, r1);
#endif
	done++
}

init {
	atomic {
		loads[0] = ONE(X) | ONE(Y);
		loads[1] = loads[0];
		run memory(0);
		run memory(1);
		run first_cpu();
		run second_cpu()
	};
	atomic {
		done == 2 ->
#if defined(SB) || defined(SB_RMW)
		assert(r0 || r1)
#elif defined(MP) || defined(MP_OR)
		assert(!r0 || r1)
#elif defined(LB)
		assert(!r0 || !r1)
#else
		assert(r1 >= r0)
#endif
	}
}
