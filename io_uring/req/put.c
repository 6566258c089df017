// SPDX-License-Identifier: GPL-2.0
/* io_uring: the last reference to a file that a request or a slot held */

/*
 * The end of a file may take as long as its user likes: the peer of a socket with
 * SO_LINGER does not read, a FUSE server does not answer.  A task that drops the last
 * reference waits for that itself, on its way back to user mode.  For a kernel thread
 * fput() leaves it to the one work of the whole machine, where files of all users
 * would queue up behind it.
 *
 * Workers of rings whose tasks are gone, or which are closed, drop references as well.
 * They leave them to a work of the user who has made the ring, and files of one user
 * wait for one another alone.  One work a user is the limit, as whoever may leave
 * behind any number of files must not have as many threads wait for them.
 */
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "req/put.h"

/**
 * struct io_late_put - a reference that a kernel thread has dropped
 * @file: what is referred to
 * @uid: who has made the ring
 * @next: in @next of the user's first one, under the lock; there the list of the others
 * @user: the first one: in io_late_puts, under the lock
 * @work: the first one: drops all of the user's, one after the other
 */
struct io_late_put {
	struct file		*file;
	kuid_t			uid;
	struct list_head	next;
	struct hlist_node	user;
	struct work_struct	work;
};

static struct workqueue_struct *io_put_wq;

/* the first one of each user, by @uid */
static DEFINE_HASHTABLE(io_late_puts, 6);
static DEFINE_SPINLOCK(io_late_puts_lock);

/* The next one of the same user, or NULL and @first is not in the table any more. */
static struct io_late_put *io_late_put_next(struct io_late_put *first)
{
	struct io_late_put *put;

	guard(spinlock)(&io_late_puts_lock);
	put = list_first_entry_or_null(&first->next, struct io_late_put, next);
	if (put)
		list_del(&put->next);
	else
		hash_del(&first->user);
	return put;
}

static void io_late_put_work(struct work_struct *work)
{
	struct io_late_put *first = container_of(work, struct io_late_put, work);
	struct io_late_put *put;

	__fput_sync(first->file);
	while ((put = io_late_put_next(first))) {
		__fput_sync(put->file);
		kfree(put);
		cond_resched();
	}
	kfree(first);
}

/* Behind others of the same user, or as their first.  Return: is it the first? */
static bool io_late_put_add(struct io_late_put *put)
{
	struct io_late_put *first;

	guard(spinlock)(&io_late_puts_lock);
	hash_for_each_possible(io_late_puts, first, user, __kuid_val(put->uid)) {
		if (uid_eq(first->uid, put->uid)) {
			list_add_tail(&put->next, &first->next);
			return false;
		}
	}
	INIT_LIST_HEAD(&put->next);
	hash_add(io_late_puts, &put->user, __kuid_val(put->uid));
	return true;
}

/**
 * io_file_put_late - drop a reference to a file on a kernel thread
 * @ctx: the ring that held it
 * @file: the file
 *
 * May sleep, for memory alone.
 */
void io_file_put_late(struct io_ring_ctx *ctx, struct file *file)
{
	struct io_late_put *put;

	/* not the last one: nothing ends */
	if (atomic_long_add_unless(&file->f_count, -1, 1))
		return;
	/* a reference cannot be kept for want of memory, and this is a small piece */
	put = kmalloc(sizeof(*put), GFP_KERNEL | __GFP_NOFAIL);
	put->file = file;
	put->uid = ctx->account.uid;
	INIT_WORK(&put->work, io_late_put_work);
	if (io_late_put_add(put))
		queue_work(io_put_wq, &put->work);
}

static int __init io_put_init(void)
{
	io_put_wq = alloc_workqueue("iou_put", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return 0;
}
core_initcall(io_put_init);
