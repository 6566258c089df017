/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model: messages on their way to another ring and home again
 *
 * What is modelled: io_entry_get(), io_entry_put_chain() and io_entry_store_free()
 * of io_uring/ring/entry.c, io_owner_mailbox_push(), io_owner_mailbox_close() and io_fallback_take()
 * of io_uring/ring/mailbox.c, and io_entry_tw() of io_uring/complete/message.c, which
 * collects entries that have the same home.
 *
 * A sender takes an entry from its store's free list, else takes all that has come
 * home, else makes one; beyond STORE entries they are single.  It pushes the entry
 * to a receiver and its ring goes, after any number of messages.  A receiver runs
 * its mailbox and closes it, at any time; a fallback worker runs what is left.  One
 * sender sends to two receivers, whose chains come home at the same time; with
 * SENDERS two send to one receiver.  With OVERFLOW one CQE finds no room: its entry
 * stays at the receiver and goes home alone later.
 *
 * Not modelled: who wakes the receiver (mailbox.pml), how long a ring that is pushed
 * to lives (exit.pml).
 *
 * Checked: each message is posted once, one sender's in their order, none is left
 * over; no task looks at an entry or a store that is freed; each is freed once, the
 * store after its last entry, and nothing stays when all are gone.
 *
 * Memory is sequentially consistent here; all accesses that matter are full barriers
 * in the code (try_cmpxchg(), xchg(), atomic_add_return()).
 *
 * Broken on purpose, each has to be found:
 *   BROKEN_PUSH	a chain is brought home by load and store
 *   BROKEN_AWAY	store->away is changed by load and store
 *   BROKEN_CUT	a chain that could not be brought home still ends in what was
 *		there when that was tried first
 *   BROKEN_EMPTY	the exit frees the store only if all entries are home, and who
 *		brings the last one home leaves the store alone
 *   BROKEN_NEXT	looks for the next message when this one has gone home already
 *   BROKEN_STORE	a chain goes to the home of its last entry, whatever the others'
 *		is (needs SENDERS)
 *   BROKEN_KEPT	an entry whose CQE found no room goes home with the chain before
 *		it (needs OVERFLOW)
 *   BROKEN_MOVE	closing takes what is there and hands it to the fallback worker
 *   BROKEN_LATE	the fallback worker runs what was in the mailbox last
 */
#ifdef SENDERS
#define NSEND 2
#define NRECV 1
#define STORE 1
#define MESSAGES(s) (2 - (s))
#else
#define NSEND 1
#define NRECV 2
#define STORE 2
#define MESSAGES(s) 3
#endif
#define ENTRIES 3

byte next[ENTRIES + 1];		/* entry -> next one, 0: none */
bool there[ENTRIES + 1];	/* allocated */
bool single[ENTRIES + 1];	/* entry->store is NULL */
byte from[ENTRIES + 1];		/* who made it */
byte number[ENTRIES + 1];	/* the message in it, 1 is the first */

bool store[NSEND];		/* allocated */
byte back_top[NSEND];		/* store->back ... */
bool back_dead[NSEND];		/* ... and its mark */
byte free[NSEND];
byte made[NSEND];
short away[NSEND];

byte box_top[NRECV];		/* the mailbox ... */
bool box_dead[NRECV];		/* ... and its mark */
byte fall_top[NRECV];		/* ctx->fallback.items */
bool work[NRECV];		/* the fallback worker is queued ... */
bool busy[NRECV];		/* ... or runs */
bool writes[NRECV];		/* a task writes CQEs */

byte sent[NSEND];
byte posted[NSEND];
byte last_seen[NSEND * NRECV];
byte done;

#define SEEN(s, r) last_seen[(s) * NRECV + (r)]

inline free_entry(e)
{
	assert(there[e]);
	there[e] = false;
	next[e] = 0;
	number[e] = 0
}

/* no other task can see the list; entries are freed and counted */
inline free_list(head, count)
{
	d_step {
		do
		:: head != 0 ->
			tmp = next[head];
			free_entry(head);
			head = tmp;
			count++
		:: else -> break
		od;
		tmp = 0
	}
}

inline turn_round(list)
{
	tmp = 0;
	do
	:: list != 0 ->
		tmp2 = next[list];
		next[list] = tmp;
		tmp = list;
		list = tmp2
	:: else -> break
	od;
	list = tmp;
	tmp = 0;
	tmp2 = 0
}

inline add_away(s, nr)
{
	assert(store[s]);
#ifdef BROKEN_AWAY
	left = away[s];
	left = left + (nr);
	away[s] = left
#else
	atomic {
		away[s] = away[s] + (nr);
		left = away[s]
	}
#endif
}

/* io_entry_put_chain() */
inline put_chain(first, last)
{
	if
	:: single[last] -> d_step { free_entry(last) }
	:: else ->
		home = from[last];
		d_step {
			assert(store[home]);
			old = back_top[home];
			dead = back_dead[home]
		};
		do
		:: dead -> break
		:: else ->
#ifdef BROKEN_PUSH
			next[last] = old;
			back_top[home] = first;
			break
#else
			next[last] = old;
			atomic {
				assert(store[home]);
				if
				:: back_top[home] == old && !back_dead[home] ->
					back_top[home] = first;
					break
				:: else ->
					old = back_top[home];
					dead = back_dead[home]
				fi
			}
#endif
		od;
		if
		:: dead ->
#ifndef BROKEN_CUT
			next[last] = 0;
#endif
			count = 0;
			item = first;
			free_list(item, count);
			add_away(home, -count);
			if
#ifndef BROKEN_EMPTY
			:: left == 0 -> d_step { assert(store[home]); store[home] = false }
#endif
			:: else
			fi
		:: else
		fi;
		atomic { old = 0; dead = false; home = 0; count = 0; left = 0; item = 0 }
	fi
}

/* io_entry_store_free() */
inline store_free(s)
{
	count = 0;
	free_list(free[s], count);
	atomic {
		item = back_top[s];
		back_top[s] = 0;
		back_dead[s] = true
	};
	free_list(item, count);
	add_away(s, made[s] - count);
	if
	:: left == 0 -> d_step { assert(store[s]); store[s] = false }
	:: else
	fi
}

/* io_entry_get() */
inline get(s)
{
	if
	:: free[s] != 0 ->
		d_step { item = free[s]; free[s] = next[item] }
	:: free[s] == 0 && back_top[s] != 0 ->
		d_step {
			item = back_top[s];
			back_top[s] = 0;
			free[s] = next[item]
		}
	:: free[s] == 0 && back_top[s] == 0 ->
		d_step {
			item = 1;
			do
			:: there[item] -> item++
			:: else -> break
			od;
			there[item] = true;
			from[item] = s;
			if
			:: made[s] < STORE -> single[item] = false; made[s]++
			:: else -> single[item] = true
			fi
		}
	fi;
	assert(there[item])
}

inline push_fallback(r, e)
{
	atomic {
		next[e] = fall_top[r];
		fall_top[r] = e;
		if
		:: next[e] == 0 -> work[r] = true
		:: else
		fi
	}
}

/* io_owner_mailbox_push() */
inline push(r, e)
{
	d_step { old = box_top[r]; dead = box_dead[r] };
	do
	:: dead -> push_fallback(r, e); break
	:: else ->
		atomic {
			if
			:: box_top[r] == old && !box_dead[r] ->
				next[e] = old;
				box_top[r] = e;
				break
			:: else ->
				old = box_top[r];
				dead = box_dead[r]
			fi
		}
	od;
	atomic { old = 0; dead = false }
}

proctype sender(byte s)
{
	byte item, old, count, tmp;
	short left;
	bool dead;

	do
	:: sent[s] < MESSAGES(s) ->
		get(s);
		d_step { sent[s]++; number[item] = sent[s] };
		if
		:: push(0, item)
#if NRECV > 1
		:: sent[s] > 1 -> push(1, item)
#endif
		fi;
		item = 0
	:: true -> break
	od;
	store_free(s);
	done++
}

/* what is left of a chain of finished messages goes home */
inline go_home()
{
	if
	:: first != 0 -> put_chain(first, last); first = 0; last = 0
	:: else
	fi
}

/* io_entry_tw(): the CQE, then perhaps home */
inline post(r)
{
	d_step {
		assert(there[e] && number[e] > SEEN(from[e], r));
		SEEN(from[e], r) = number[e];
		posted[from[e]]++;
		company = (!single[e] && list != 0);
		if
		:: company ->
			company = !single[list];
#ifndef BROKEN_STORE
			company = company && from[list] == from[e]
#endif
		:: else
		fi
	};
	if
#ifdef OVERFLOW
	:: kept == 0 ->
		kept = e;
#ifdef BROKEN_KEPT
		if
		:: first == 0 -> first = e
		:: else
		fi;
		last = e;
#endif
		go_home()
#endif
	:: true ->
		d_step {
			if
			:: first == 0 -> first = e
			:: else
			fi;
			last = e
		};
		if
		:: !company -> go_home()
		:: else
		fi
	fi
}

inline run_list(r)
{
	d_step { assert(!writes[r]); writes[r] = true };
	do
	:: list != 0 ->
		e = list;
		assert(there[e]);
#ifdef BROKEN_NEXT
		list = next[e];
		post(r);
		list = next[e]
#else
		list = next[e];
		post(r)
#endif
	:: else -> break
	od;
	atomic { e = 0; company = false; writes[r] = false }
}

proctype receiver(byte r)
{
	byte list, e, first, last, item, old, count, tmp, tmp2, home, kept;
	short left;
	bool dead, company;

	do
	:: box_top[r] != 0 ->
		atomic { list = box_top[r]; box_top[r] = 0 };
		d_step { turn_round(list) };
		run_list(r)
	:: true -> break
	od;
#ifdef BROKEN_MOVE
	atomic { list = box_top[r]; box_top[r] = 0; box_dead[r] = true };
	d_step { turn_round(list) };
	do
	:: list != 0 ->
		e = list;
		list = next[e];
		push_fallback(r, e)
	:: else -> break
	od;
#else
	atomic {
		box_dead[r] = true;
		if
		:: box_top[r] != 0 -> work[r] = true
		:: else
		fi
	};
#endif
#ifdef OVERFLOW
	/* the overflow list is flushed, or freed with the ring */
	if
	:: kept != 0 -> put_chain(kept, kept)
	:: else
	fi;
#endif
	done++
}

/* io_fallback_work() */
proctype fallback(byte r)
{
	byte list, late, e, first, last, item, old, count, tmp, tmp2, home;
	byte kept = 1;			/* one CQE without room is enough */
	short left;
	bool dead, company;

end:	do
	:: atomic { work[r] -> work[r] = false; busy[r] = true };
	   atomic { late = fall_top[r]; fall_top[r] = 0 };
	   atomic {
		if
		:: box_dead[r] -> list = box_top[r]; box_top[r] = 0
		:: else
		fi
	   };
	   /* each oldest first, the one behind the other */
	   d_step {
		turn_round(list);
		turn_round(late);
#ifdef BROKEN_LATE
		tmp = list;
		list = late;
		late = tmp;
#endif
		if
		:: list == 0 -> list = late
		:: else ->
			tmp = list;
			do
			:: next[tmp] != 0 -> tmp = next[tmp]
			:: else -> break
			od;
			next[tmp] = late;
			tmp = 0
		fi;
		late = 0
	   };
	   run_list(r);
	   busy[r] = false
	od
}

init {
	byte i;

	atomic {
		i = 0;
		do
		:: i < NSEND -> store[i] = true; run sender(i); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < NRECV -> run receiver(i); run fallback(i); i++
		:: else -> break
		od
	};
	/* all are gone, and no fallback worker has anything to do */
#if NRECV > 1
	done == NSEND + NRECV && !work[0] && !busy[0] && !work[1] && !busy[1];
#else
	done == NSEND + NRECV && !work[0] && !busy[0];
#endif
	d_step {
		i = 1;
		do
		:: i <= ENTRIES -> assert(!there[i]); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < NSEND -> assert(!store[i] && posted[i] == sent[i]); i++
		:: else -> break
		od
	}
}
