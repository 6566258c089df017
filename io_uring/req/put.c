// SPDX-License-Identifier: GPL-2.0
/* io_uring: the last reference to a file that a request or a slot held */

/*
 * The release of a file may take an unbounded time, e.g. if a FUSE server does not answer.
 * A task that drops the last reference usually runs the release itself, on its return to user
 * mode.  For kernel threads fput() defers the release to one work item for the whole machine.
 * In that work item a slow release would delay the files of all other users.
 *
 * Kernel threads therefore defer the release to a work item per user.  Exiting tasks and tasks that
 * close a ring do so if the release may be slow.  The user is the creator of the ring.  So a file
 * waits only for other files of that user, and many files do not block many threads.
 *
 * Containers may use equal user ids for unrelated users, so a user is a uid in a pid namespace.
 * Users of a user namespace that root has not created, and of all namespaces inside, count as
 * its creator.  Otherwise any user could act as any number of users.
 *
 * The work items ignore SO_LINGER.  It delays the return of close(2) until the peer has
 * acknowledged the data, but no close(2) waits for this release.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/net.h>
#include <linux/panic.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "req/put.h"

/**
 * struct io_late_put - the last reference to a file, to be dropped by a work item
 * @file: the file
 * @owner: owner of the ring that held the file
 * @next: list of the user's entries; the first entry is the list head; under io_late_puts_lock
 * @user: in the first entry: its place in io_late_puts, under io_late_puts_lock
 * @work: in the first entry: drops the references of all entries of the user, one by one
 */
struct io_late_put {
	struct file		*file;
	struct io_owner		owner;
	struct list_head	next;
	struct hlist_node	user;
	struct work_struct	work;
};

static struct workqueue_struct *io_put_wq;

/* the first entry of each user, hashed by its ->owner */
static DEFINE_HASHTABLE(io_late_puts, 6);
static DEFINE_SPINLOCK(io_late_puts_lock);

/**
 * io_owner_init - set the owner of a ring that current creates
 * @owner: result: the user to whom the ring's files are attributed
 */
void io_owner_init(struct io_owner *owner)
{
	struct pid_namespace *pids = task_active_pid_ns(current);
	struct user_namespace *ns, *charged = NULL;

	owner->uid = current_uid();
	for (ns = current_user_ns(); ns != &init_user_ns; ns = ns->parent) {
		if (uid_eq(ns->owner, GLOBAL_ROOT_UID))
			continue;
		charged = ns;
		owner->uid = ns->owner;
	}
	while (charged && pids->parent && in_userns(charged, pids->user_ns))
		pids = pids->parent;
	owner->pid_ns = pids->ns.inum;
}

static bool io_owner_eq(const struct io_owner *one, const struct io_owner *other)
{
	return uid_eq(one->uid, other->uid) && one->pid_ns == other->pid_ns;
}

/**
 * io_owner_is_current - check whether a ring of current would have the same owner
 * @owner: the owner of a ring
 *
 * Return: true if the owners are equal.
 */
bool io_owner_is_current(const struct io_owner *owner)
{
	struct io_owner me;

	io_owner_init(&me);
	return io_owner_eq(owner, &me);
}

static u32 io_owner_hash(const struct io_owner *owner)
{
	return __kuid_val(owner->uid) ^ owner->pid_ns;
}

/* Remove the user's next entry and return it.  If none is left, remove @first from the table. */
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

/* Drop the last reference to a file in a kernel thread, without lingering. */
static void io_late_put_file(struct file *file)
{
	struct socket *sock = IS_ENABLED(CONFIG_NET) ? sock_from_file(file) : NULL;

	if (sock && io_file_lingers(file)) {
		lock_sock(sock->sk);
		sock_reset_flag(sock->sk, SOCK_LINGER);
		release_sock(sock->sk);
	}
	__fput_sync(file);
}

static void io_late_put_work(struct work_struct *work)
{
	struct io_late_put *first = container_of(work, struct io_late_put, work);
	struct io_late_put *put;

	io_late_put_file(first->file);
	while ((put = io_late_put_next(first))) {
		io_late_put_file(put->file);
		kfree(put);
		cond_resched();
	}
	kfree(first);
}

/* Add an entry of a user.  Return: true if its work has to be queued, as it is the first entry. */
static bool io_late_put_add(struct io_late_put *put)
{
	struct io_late_put *first;

	guard(spinlock)(&io_late_puts_lock);
	hash_for_each_possible(io_late_puts, first, user, io_owner_hash(&put->owner)) {
		if (io_owner_eq(&first->owner, &put->owner)) {
			list_add_tail(&put->next, &first->next);
			return false;
		}
	}
	INIT_LIST_HEAD(&put->next);
	hash_add(io_late_puts, &put->user, io_owner_hash(&put->owner));
	return true;
}

/**
 * io_file_lingers - check whether the release of a file may wait for a peer
 * @file: any file
 *
 * Return: true for a socket with SO_LINGER and a nonzero time.
 */
bool io_file_lingers(struct file *file)
{
	struct socket *sock = IS_ENABLED(CONFIG_NET) ? sock_from_file(file) : NULL;

	return sock && sock_flag(sock->sk, SOCK_LINGER) && READ_ONCE(sock->sk->sk_lingertime);
}

/* Return: true if the release of a file waits neither for user space nor for a thaw. */
static bool io_file_ends_soon(struct file *file)
{
	const struct inode *inode = file_inode(file);
	umode_t mode = inode->i_mode;

	/* the release may wait for a server to drop locks, or for the write-back of data */
	if (file->f_op->flock || file->f_op->flush)
		return false;
	/* the release of an unlinked file frees its inode, which waits for a frozen filesystem */
	if (S_ISREG(mode) || S_ISFIFO(mode))
		return inode->i_nlink;
	return S_ISSOCK(mode) && (current->flags & PF_EXITING || !io_file_lingers(file));
}

/**
 * io_file_put_late - drop a reference to a file without waiting for the release of the file
 * @ctx: the ring that held the file
 * @file: the file
 *
 * A task that closes a ring, or exits, does not wait for the release of files that the ring
 * held.  But the task runs a release that does not block.  So a port or a lock is free when
 * close(2) returns, or when wait(2) for the task returns.
 *
 * Context: Task context.  Sleeps only to allocate memory.
 */
void io_file_put_late(struct io_ring_ctx *ctx, struct file *file)
{
	struct io_late_put *put;

	/* not the last reference */
	if (atomic_long_add_unless(&file->f_ref.refcnt, -1, FILE_REF_ONEREF))
		return;
	if (!(current->flags & PF_KTHREAD) && io_file_ends_soon(file)) {
		fput(file);
		return;
	}
	/* must not fail, as the reference has to be dropped; the allocation is small */
	put = kmalloc(sizeof(*put), GFP_KERNEL | __GFP_NOFAIL);
	put->file = file;
	put->owner = ctx->owner;
	INIT_WORK(&put->work, io_late_put_work);
	if (io_late_put_add(put))
		queue_work(io_put_wq, &put->work);
}

static int __init io_put_init(void)
{
	io_put_wq = alloc_workqueue("iou_put", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!io_put_wq)
		panic("io_uring: cannot allocate a workqueue\n");
	return 0;
}
core_initcall(io_put_init);
