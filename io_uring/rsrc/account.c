// SPDX-License-Identifier: GPL-2.0
/* io_uring: charges for pinned memory */

/*
 * Pages are charged to the ring's user (RLIMIT_MEMLOCK) and to the mm of the ring's creator.  A pin
 * of any page pins its whole compound page.  So a compound page is charged once and in full, while
 * any segment of the ring's buffers lies in it.  The account counts these segments for each page;
 * successive segments of a buffer count once.  Each pin of a single page is charged.
 *
 * Buffers are added under the lock of the account's ring.  A buffer that another ring has cloned
 * may be removed concurrently under the lock of that ring.  A compound page is charged when its
 * count becomes 1, and uncharged when its count becomes 0.
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
 * io_account_init - record current's user and mm, to charge them for a ring's pinned memory
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
 * io_account_free - drop the user and mm that io_account_init() has recorded
 * @ctx: the ring; io_account_init() need not have been called
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
 * @user: user whose RLIMIT_MEMLOCK is charged, or NULL
 * @mm: mm whose ->pinned_vm is charged, or NULL
 *
 * Return: the account with one reference, or NULL without memory.
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
 * @account: may be freed; the caller must have uncharged its pages
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
 * @pages: number of pages
 *
 * Return: 0, or -ENOMEM if the charge would exceed current's RLIMIT_MEMLOCK.
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
	/* a charge of 0 pages succeeds even if RLIMIT_MEMLOCK is below the present charge */
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

/* Count a segment in a compound page.  Return: 1 for the first segment, else 0, or -ENOMEM. */
static int io_compound_enter(struct xarray *compounds, struct page *head)
{
	unsigned long index = page_to_pfn(head), nr;
	void *entry;

	xa_lock(compounds);
	entry = xa_load(compounds, index);
	nr = entry ? xa_to_value(entry) : 0;
	/* __xa_store() unlocks only to allocate for a new index, which no ring counts down yet */
	entry = __xa_store(compounds, index, xa_mk_value(nr + 1), GFP_KERNEL_ACCOUNT);
	xa_unlock(compounds);
	return xa_err(entry) ?: !nr;
}

/* Uncount a segment in a compound page.  Return: true if it was the last segment. */
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
 * Return: the head page to count for a segment, or NULL if the previous segment of the buffer has
 * counted it.
 */
static struct page *io_seg_compound(const struct io_mapped_ubuf *map, unsigned int seg)
{
	struct page *head = compound_head(map->bvec[seg].bv_page);

	if (seg && compound_head(map->bvec[seg - 1].bv_page) == head)
		return NULL;
	return head;
}

/* Count a segment.  Return: number of pages to charge for it, or -ENOMEM. */
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
 * io_account_del_segs - remove segments of @map from the account
 * @account: the account
 * @map: the memory
 * @nr_segs: number of segments, starting with the first
 *
 * Context: Task context.  May sleep.
 *
 * Return: number of pages to uncharge.
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
 * io_account_add_segs - add the segments of @map to the account
 * @account: the account; its ring's lock is held
 * @map: the memory
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: number of pages to charge; -ENOMEM; -EINTR if current was killed.  After an error the
 * segments are not in the account.
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
	/* if another buffer was charged for a page and was removed meanwhile, drop its charge */
	io_mem_uncharge(account, io_account_del_segs(account, map, seg) - pages);
	return ret;
}

/**
 * io_account_charge - charge pinned memory
 * @account: the account; its ring's lock is held
 * @map: the memory
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: 0; -ENOMEM, also if the charge would exceed RLIMIT_MEMLOCK; -EINTR if current was
 * killed.
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
 * Context: Task context.  May sleep.
 */
void io_account_uncharge(struct io_mem_account *account, const struct io_mapped_ubuf *map)
{
	io_mem_uncharge(account, io_account_del_segs(account, map, map->nr_bvecs));
}
