// SPDX-License-Identifier: GPL-2.0
/* io_uring: who is charged for pinned memory */

/*
 * Pages are charged to the ring's user (RLIMIT_MEMLOCK) and to the mm of its
 * creator.  A compound page stays pinned as a whole for as long as any of its
 * pages is, and is charged as a whole: when the first segment of the ring's
 * buffers comes to lie in it, until the last one is gone, whichever buffer that
 * belongs to.  So the account counts segments for each compound page.  Single
 * pages are charged each time they are pinned.
 *
 * Buffers come under the lock of the account's ring.  They go under the lock of
 * any ring that has cloned them, at the same time perhaps: a compound page is
 * charged when its count becomes 1, and uncharged when it becomes 0.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "ctx.h"
#include "rsrc/account.h"
#include "rsrc/map.h"

/**
 * io_account_init - charge current for what the ring will pin
 * @ctx: the ring, being set up
 */
void io_account_init(struct io_ring_ctx *ctx)
{
	if (!capable(CAP_IPC_LOCK))
		ctx->account.user = get_uid(current_user());
	mmgrab(current->mm);
	ctx->account.mm = current->mm;
}

/**
 * io_account_free - free the account of a ring that has no buffers any more
 * @ctx: the ring; io_account_init() may not have been called
 */
void io_account_free(struct io_ring_ctx *ctx)
{
	if (ctx->account.mm)
		mmdrop(ctx->account.mm);
	if (ctx->account.user)
		free_uid(ctx->account.user);
}

/**
 * io_account_make - make an account for a ring
 * @user: whose limit is charged, or NULL
 * @mm: whose pinned pages are counted, or NULL
 *
 * Return: with one reference; NULL if there is no memory.
 */
struct io_mem_account *io_account_make(struct user_struct *user, struct mm_struct *mm)
{
	struct io_mem_account *account = kmalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);

	if (!account)
		return NULL;
	refcount_set(&account->refs, 1);
	account->user = user ? get_uid(user) : NULL;
	account->mm = mm;
	if (mm)
		mmgrab(mm);
	xa_init_flags(&account->compounds, XA_FLAGS_ACCOUNT);
	return account;
}

/**
 * io_account_put - drop a reference to an account
 * @account: may be gone afterwards; nothing of the caller's is charged to it
 */
void io_account_put(struct io_mem_account *account)
{
	if (!refcount_dec_and_test(&account->refs))
		return;
	WARN_ON_ONCE(!xa_empty(&account->compounds));
	xa_destroy(&account->compounds);
	if (account->mm)
		mmdrop(account->mm);
	free_uid(account->user);
	kfree(account);
}

/**
 * io_user_charge - charge pinned pages to a user
 * @user: the user
 * @pages: their number
 *
 * Return: 0, or -ENOMEM if that were more than current's RLIMIT_MEMLOCK.
 */
int io_user_charge(struct user_struct *user, unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	long old = atomic_long_read(&user->locked_vm);

	do {
		if (old + pages > limit)
			return -ENOMEM;
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &old, old + pages));
	return 0;
}

static int io_mem_charge(struct io_mem_account *account, unsigned long pages)
{
	/* a user over a limit that was lowered gets no more, but loses nothing */
	if (!pages)
		return 0;
	if (account->user && io_user_charge(account->user, pages))
		return -ENOMEM;
	if (account->mm)
		atomic64_add(pages, &account->mm->pinned_vm);
	return 0;
}

static void io_mem_uncharge(struct io_mem_account *account, unsigned long pages)
{
	if (account->user)
		atomic_long_sub(pages, &account->user->locked_vm);
	if (account->mm)
		atomic64_sub(pages, &account->mm->pinned_vm);
}

/* One more segment in a compound page.  Return: is it the first, or -ENOMEM. */
static int io_compound_enter(struct xarray *compounds, struct page *head)
{
	unsigned long index = page_to_pfn(head), nr;
	void *entry;

	xa_lock(compounds);
	entry = xa_load(compounds, index);
	nr = entry ? xa_to_value(entry) : 0;
	/* lets the lock go if it needs memory: not for a page that others may count down */
	entry = __xa_store(compounds, index, xa_mk_value(nr + 1), GFP_KERNEL_ACCOUNT);
	xa_unlock(compounds);
	return xa_err(entry) ?: !nr;
}

/* One less.  Return: was it the last? */
static bool io_compound_leave(struct xarray *compounds, struct page *head)
{
	unsigned long index = page_to_pfn(head), nr;

	guard(spinlock)(&compounds->xa_lock);
	nr = xa_to_value(xa_load(compounds, index));
	if (nr > 1)
		__xa_store(compounds, index, xa_mk_value(nr - 1), GFP_NOWAIT);
	else
		__xa_erase(compounds, index);
	return nr == 1;
}

/*
 * The compound page that a segment begins.  NULL for one that lies in the same
 * as the segment before it, which counts for both.
 */
static struct page *io_seg_compound(const struct io_mapped_ubuf *map, unsigned int seg)
{
	struct page *head = compound_head(map->bvec[seg].bv_page);

	if (seg && compound_head(map->bvec[seg - 1].bv_page) == head)
		return NULL;
	return head;
}

/* Return: pages that are to be charged for a segment, or -ENOMEM. */
static long io_seg_enter(struct io_mem_account *account, const struct io_mapped_ubuf *map,
			 unsigned int seg)
{
	struct page *head;
	int first;

	if (!PageCompound(map->bvec[seg].bv_page))
		return 1;
	head = io_seg_compound(map, seg);
	if (!head)
		return 0;
	first = io_compound_enter(&account->compounds, head);
	return first > 0 ? compound_nr(head) : first;
}

/**
 * io_account_del_segs - remove memory from the account
 * @account: the account
 * @map: the memory
 * @nr_segs: number of its segments, from the first one on
 *
 * Task context, may sleep.
 *
 * Return: pages that are not charged any more.
 */
unsigned long io_account_del_segs(struct io_mem_account *account, const struct io_mapped_ubuf *map,
				  unsigned int nr_segs)
{
	unsigned long pages = 0;
	unsigned int seg;

	for (seg = 0; seg < nr_segs; seg++) {
		struct page *head;

		cond_resched();
		if (!PageCompound(map->bvec[seg].bv_page)) {
			pages++;
			continue;
		}
		head = io_seg_compound(map, seg);
		if (head && io_compound_leave(&account->compounds, head))
			pages += compound_nr(head);
	}
	return pages;
}

/**
 * io_account_add_segs - memory comes into the account
 * @account: the account; its ring's lock is held
 * @map: the memory
 *
 * May sleep; a task that is killed gives up.
 *
 * Return: pages that are to be charged; -ENOMEM or -EINTR, and nothing came.
 */
long io_account_add_segs(struct io_mem_account *account, const struct io_mapped_ubuf *map)
{
	long ret, pages = 0;
	unsigned int seg;

	for (seg = 0; seg < map->nr_bvecs; seg++) {
		cond_resched();
		ret = fatal_signal_pending(current) ? -EINTR : io_seg_enter(account, map, seg);
		if (ret < 0)
			goto undo;
		pages += ret;
	}
	return pages;
undo:
	/* what others have left meanwhile was charged, by them, and goes with us */
	io_mem_uncharge(account, io_account_del_segs(account, map, seg) - pages);
	return ret;
}

/**
 * io_account_charge - charge pinned memory
 * @account: the account; its ring's lock is held
 * @map: the memory
 *
 * May sleep.
 *
 * Return: 0; -ENOMEM also when RLIMIT_MEMLOCK is reached, -EINTR for a task that
 * is killed.
 */
int io_account_charge(struct io_mem_account *account, const struct io_mapped_ubuf *map)
{
	long pages = io_account_add_segs(account, map);
	int ret;

	if (pages < 0)
		return pages;
	ret = io_mem_charge(account, pages);
	if (ret)
		io_mem_uncharge(account, io_account_del_segs(account, map, map->nr_bvecs) - pages);
	return ret;
}

/**
 * io_account_uncharge - undo io_account_charge()
 * @account: the account
 * @map: the memory, still pinned
 *
 * Task context, may sleep.
 */
void io_account_uncharge(struct io_mem_account *account, const struct io_mapped_ubuf *map)
{
	io_mem_uncharge(account, io_account_del_segs(account, map, map->nr_bvecs));
}
