// SPDX-License-Identifier: GPL-2.0
/* io_uring: per-task state, and which tasks use which ring */

/*
 * A task gets a struct io_uring_task when it sets up, enables or submits to its first ring, or
 * registers ring descriptors.  The struct is freed with the task_struct, or by an exec.
 *
 * A node (struct io_tctx_node) exists for each ring that a task uses.  The task adds the node.  The
 * node is removed when the task exits or calls exec, or before the ring is freed.
 *
 * There is no global lock or list.  Setup, exit and exec do not wait for a ring lock, so other
 * users of the rings do not delay a task.
 */
#include <linux/file.h>
#include <linux/io_uring.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "async/wq.h"
#include "ring/locks.h"
#include "submit/submit.h"
#include "task/run.h"
#include "task/tctx.h"

static struct io_wq *io_tctx_wq(struct io_ring_ctx *ctx, struct task_struct *task)
{
	struct io_wq_params params = {
		.task = task,
		.run = io_work_run,
		.put = io_work_put,
		.key = io_work_key,
		.bounded = min(ctx->sq.entries, 4 * num_online_cpus()),
	};

	return io_wq_create(&params);
}

/**
 * io_tctx_create - create the io_uring state of a task
 * @ctx: the first ring that the task uses
 * @task: current, or a thread that does not run yet; it must have no io_uring state
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0, -ENOMEM, or an error from creating the worker pool.
 */
int io_tctx_create(struct io_ring_ctx *ctx, struct task_struct *task)
{
	struct io_uring_task *tctx = kzalloc(sizeof(*tctx), GFP_KERNEL_ACCOUNT);

	if (!tctx)
		return -ENOMEM;
	tctx->io_wq = io_tctx_wq(ctx, task);
	if (IS_ERR(tctx->io_wq)) {
		int ret = PTR_ERR(tctx->io_wq);

		kfree(tctx);
		return ret;
	}
	tctx->task = task;
	xa_init_flags(&tctx->nodes, XA_FLAGS_ACCOUNT);
	init_waitqueue_head(&tctx->wait);
	init_task_work(&tctx->task_work, io_tctx_task_work);
	/* publish initialized memory; pairs with READ_ONCE() in io_task_is_user() */
	smp_store_release(&task->io_uring, tctx);
	return 0;
}

/**
 * io_tctx_free - free the io_uring state of a task
 * @tctx: the state, which has no requests, nodes or worker pool any more
 */
void io_tctx_free(struct io_uring_task *tctx)
{
	WARN_ON_ONCE(!xa_empty(&tctx->nodes));
	WARN_ON_ONCE(tctx->io_wq);
	WARN_ON_ONCE(tctx->credit);
	/* io_tctx_forget_ring() may still run io_tctx_remove_node() under RCU */
	kfree_rcu(tctx, rcu);
}

/*
 * Apply the ring's worker limits to the pool of a new user.  io_tctx_set_limits() may change the
 * limits at the same time, for this pool as well.  So repeat this until the limits do not change.
 */
static void io_tctx_apply_limits(struct io_ring_ctx *ctx, struct io_uring_task *tctx)
{
	u32 applied[2] = {}, limits[2];

	for (;;) {
		scoped_guard(spinlock, &ctx->users.lock)
			memcpy(limits, ctx->iowq_limits, sizeof(limits));
		if (!memcmp(limits, applied, sizeof(limits)))
			return;
		memcpy(applied, limits, sizeof(limits));
		io_wq_set_max_workers(tctx->io_wq, limits);
	}
}

/* number of nodes that are handled before users.lock is dropped */
#define IO_TCTX_STEP	64

/*
 * Set the limits of the next IO_TCTX_STEP tasks.  A pool does not end while its node is in the
 * list, since an exiting task removes the node first.  Return: true if there are more tasks.
 */
static bool io_tctx_limit_some(struct io_ring_ctx *ctx, const u32 limits[2])
{
	unsigned int left = IO_TCTX_STEP;

	/* RCU keeps the memory of node->tctx */
	guard(rcu)();
	guard(spinlock)(&ctx->users.lock);
	for (; ctx->users.next != &ctx->users.nodes && left--;
	     ctx->users.next = ctx->users.next->next) {
		struct io_tctx_node *node = list_entry(ctx->users.next, struct io_tctx_node,
						       ctx_link);
		u32 copy[2] = { limits[0], limits[1] };
		struct io_wq *wq = READ_ONCE(node->tctx->io_wq);

		if (wq && node->tctx != current->io_uring)
			io_wq_set_max_workers(wq, copy);
	}
	return ctx->users.next != &ctx->users.nodes;
}

/**
 * io_tctx_set_limits - set worker limits for all tasks that use a ring, now or later
 * @ctx: the ring, its lock held
 * @limits: limits for bounded and unbounded work; 0 keeps the old limit
 *
 * The pool of current is skipped: the caller sets its limits later, which may create a worker.
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 */
void io_tctx_set_limits(struct io_ring_ctx *ctx, const u32 limits[2])
{
	unsigned int i;

	io_assert_ring(ctx);
	scoped_guard(spinlock, &ctx->users.lock) {
		for (i = 0; i < ARRAY_SIZE(ctx->iowq_limits); i++)
			ctx->iowq_limits[i] = limits[i] ?: ctx->iowq_limits[i];
		/* tasks that add a node after this read the new limits */
		ctx->users.next = ctx->users.nodes.next;
	}
	/* only the SQPOLL thread submits to such a ring, see io_sqpoll_max_workers() */
	if (ctx->flags & IORING_SETUP_SQPOLL)
		return;
	while (io_tctx_limit_some(ctx, limits))
		cond_resched();
}

static int io_tctx_add_node(struct io_ring_ctx *ctx, struct io_uring_task *tctx)
{
	struct io_tctx_node *node;
	int ret;

	if (xa_load(&tctx->nodes, (unsigned long)ctx))
		return 0;
	node = kmalloc_obj(*node, GFP_KERNEL_ACCOUNT);
	if (!node)
		return -ENOMEM;
	node->tctx = tctx;
	node->ctx = ctx;
	ret = xa_err(xa_store(&tctx->nodes, (unsigned long)ctx, node, GFP_KERNEL));
	if (ret) {
		/* a failed store may leave an empty entry */
		xa_erase(&tctx->nodes, (unsigned long)ctx);
		kfree(node);
		return ret;
	}
	scoped_guard(spinlock, &ctx->users.lock)
		list_add(&node->ctx_link, &ctx->users.nodes);
	io_wq_count_ring(tctx->io_wq, 1);
	io_tctx_apply_limits(ctx, tctx);
	return 0;
}

/**
 * io_tctx_attach - record that current uses a ring
 * @ctx: the ring, kept alive by its file or its SQPOLL thread
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0, -ENOMEM, or an error from creating the worker pool.
 */
int io_tctx_attach(struct io_ring_ctx *ctx)
{
	int ret = current->io_uring ? 0 : io_tctx_create(ctx, current);

	return ret ?: io_tctx_add_node(ctx, current->io_uring);
}

/**
 * io_tctx_attach_slow - record that current submits to a ring other than tctx->last
 * @ctx: the ring, its lock not held
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0, -EEXIST if another task is the single issuer of the ring, -EINTR if current is
 * killed, or an error of io_tctx_attach().
 */
int io_tctx_attach_slow(struct io_ring_ctx *ctx)
{
	int ret;

	if (ctx->flags & IORING_SETUP_SINGLE_ISSUER && READ_ONCE(ctx->submitter_task) != current)
		return -EEXIST;
	ret = io_tctx_attach(ctx);
	if (ret)
		return ret;
	/* an exec of current has closed the mailbox */
	if (unlikely(ctx->cq.single_writer && io_mailbox_dead(&ctx->mailbox))) {
		ret = io_ring_lock(ctx);
		if (ret)
			return ret;
		io_owner_mailbox_reopen(ctx);
		io_ring_unlock(ctx);
	}
	WRITE_ONCE(current->io_uring->last, ctx);
	return 0;
}

static void io_tctx_remove_node(struct io_tctx_node *node)
{
	lockdep_assert_held(&node->ctx->users.lock);
	/* the task may use ->last at the same time, but not for this ring, which is not in use */
	cmpxchg(&node->tctx->last, node->ctx, NULL);
	/* the pool still exists, because it ends after all nodes are removed */
	io_wq_count_ring(node->tctx->io_wq, -1);
	xa_erase(&node->tctx->nodes, (unsigned long)node->ctx);
	/* let a scan of the list continue with the next node */
	if (node->ctx->users.next == &node->ctx_link)
		node->ctx->users.next = node->ctx_link.next;
	list_del(&node->ctx_link);
	kfree_rcu(node, rcu);
}

/**
 * io_tctx_next_ring - iterate over the rings that current uses
 * @tctx: the io_uring state of current
 * @last: the previous ring, whose reference is put; NULL to begin
 *
 * Context: Task context.  Does not sleep.
 *
 * Return: the next ring, with a reference; NULL if there is none.
 */
struct io_ring_ctx *io_tctx_next_ring(struct io_uring_task *tctx, struct io_ring_ctx *last)
{
	unsigned long index = (unsigned long)last;
	struct io_tctx_node *node;
	XA_STATE(xas, &tctx->nodes, index + 1);

	if (last)
		percpu_ref_put(&last->refs);
	guard(rcu)();
	xas_for_each(&xas, node, ULONG_MAX) {
		struct io_ring_ctx *ctx = node->ctx;

		if (xas_retry(&xas, node))
			continue;
		/* io_tctx_forget_ring() takes this lock to remove nodes before the ring is freed */
		guard(spinlock)(&ctx->users.lock);
		if (xa_load(&tctx->nodes, (unsigned long)ctx) == node &&
		    percpu_ref_tryget(&ctx->refs))
			return ctx;
	}
	return NULL;
}

/**
 * io_tctx_detach_all - end the use of all rings by current, and its worker pool
 * @tctx: the io_uring state of current, whose requests were cancelled
 *
 * Context: Task context.  Sleeps until the workers have ended.
 */
void io_tctx_detach_all(struct io_uring_task *tctx)
{
	struct io_wq *wq = tctx->io_wq;
	struct io_tctx_node *node;
	unsigned long index;

	scoped_guard(rcu) {
		xa_for_each(&tctx->nodes, index, node) {
			guard(spinlock)(&node->ctx->users.lock);
			/* io_tctx_forget_ring() may have removed the node */
			if (xa_load(&tctx->nodes, index) == node)
				io_tctx_remove_node(node);
		}
	}
	/* a store that failed for lack of memory may have left XArray nodes */
	xa_destroy(&tctx->nodes);
	if (wq) {
		/* a search that has found the pool through a node has a reference to the pool */
		WRITE_ONCE(tctx->io_wq, NULL);
		io_wq_put_and_exit(wq);
	}
}

/**
 * io_tctx_next_pool - iterate over the pools of all tasks that use a ring
 * @ctx: the ring; its lock is held and serialises callers
 * @first: true to begin
 *
 * Tasks may be added or exit between calls.  A new task has no request on the ring, since it needs
 * the ring lock to submit.  An exiting task ends the work of its pool.
 *
 * Context: Holds the ring lock.  Does not sleep.
 *
 * Return: a pool, to be released by io_wq_unref(), or NULL at the end.
 */
struct io_wq *io_tctx_next_pool(struct io_ring_ctx *ctx, bool first)
{
	io_assert_ring(ctx);
	/* RCU keeps the memory of node->tctx */
	guard(rcu)();
	guard(spinlock)(&ctx->users.lock);
	if (first)
		ctx->users.next = ctx->users.nodes.next;
	while (ctx->users.next != &ctx->users.nodes) {
		struct io_tctx_node *node;
		struct io_wq *wq;

		node = list_entry(ctx->users.next, struct io_tctx_node, ctx_link);
		ctx->users.next = ctx->users.next->next;
		wq = READ_ONCE(node->tctx->io_wq);
		if (wq && io_wq_tryget(wq))
			return wq;
	}
	return NULL;
}

static void io_tctx_forget_some(struct io_ring_ctx *ctx)
{
	struct io_tctx_node *node, *next;
	unsigned int left = IO_TCTX_STEP;

	/* RCU keeps the memory of node->tctx */
	guard(rcu)();
	guard(spinlock)(&ctx->users.lock);
	list_for_each_entry_safe(node, next, &ctx->users.nodes, ctx_link) {
		if (!left--)
			break;
		io_tctx_remove_node(node);
	}
}

/**
 * io_tctx_forget_ring - remove the nodes of a ring that has ended
 * @ctx: the ring, which has no references any more
 *
 * Context: Task context.  May sleep.
 */
void io_tctx_forget_ring(struct io_ring_ctx *ctx)
{
	/* no task adds a node now, but exiting tasks may remove theirs */
	while (!list_empty_careful(&ctx->users.nodes)) {
		io_tctx_forget_some(ctx);
		cond_resched();
	}
}

/**
 * io_ringfd_get - get the ring that current has registered under an index
 * @index: from user space
 *
 * Only current can remove the file from its slot, so current needs no reference while it uses the
 * file.
 *
 * Return: the file; ERR_PTR(-EINVAL) if the index is out of range or current has no io_uring
 * state; ERR_PTR(-EBADF) if the slot is empty.
 */
struct file *io_ringfd_get(unsigned int index)
{
	struct io_uring_task *tctx = current->io_uring;

	if (!tctx || index >= IO_RINGFD_REG_MAX)
		return ERR_PTR(-EINVAL);
	index = array_index_nospec(index, IO_RINGFD_REG_MAX);
	return tctx->registered_rings[index] ?: ERR_PTR(-EBADF);
}

/* Put a file into the first free slot of [first, end).  Return: the slot, or -EBUSY. */
static int io_ringfd_install(struct file *file, unsigned int first, unsigned int end)
{
	struct io_uring_task *tctx = current->io_uring;

	for (; first < end; first++) {
		unsigned int slot = array_index_nospec(first, end);

		if (tctx->registered_rings[slot])
			continue;
		tctx->registered_rings[slot] = file;
		return slot;
	}
	return -EBUSY;
}

/**
 * io_ringfd_add - register a ring's file without a descriptor
 * @file: the ring's file, whose reference passes to the slot on success
 *
 * Return: the index, or -EBUSY if all slots are in use.
 */
int io_ringfd_add(struct file *file)
{
	return io_ringfd_install(file, 0, IO_RINGFD_REG_MAX);
}

/* Get the range of slots that an element allows.  An offset of ~0 allows all slots. */
static int io_ringfd_range(const struct io_uring_rsrc_update *reg, unsigned int *first,
			   unsigned int *end)
{
	*first = 0;
	*end = IO_RINGFD_REG_MAX;
	if (reg->resv)
		return -EINVAL;
	if (reg->offset == -1U)
		return 0;
	if (reg->offset >= IO_RINGFD_REG_MAX)
		return -EINVAL;
	*first = array_index_nospec(reg->offset, IO_RINGFD_REG_MAX);
	*end = *first + 1;
	return 0;
}

static void io_ringfd_drop(unsigned int slot)
{
	struct file *file = current->io_uring->registered_rings[slot];

	current->io_uring->registered_rings[slot] = NULL;
	if (file)
		fput(file);
}

/* Handle an element of IORING_REGISTER_RING_FDS, and write the slot to the element. */
static int io_ringfd_register_one(struct io_uring_rsrc_update __user *user)
{
	struct io_uring_rsrc_update reg;
	unsigned int first, end;
	struct file *file;
	int ret;

	if (copy_from_user(&reg, user, sizeof(reg)))
		return -EFAULT;
	ret = io_ringfd_range(&reg, &first, &end);
	if (ret)
		return ret;
	file = fget(reg.data);
	if (!file)
		return -EBADF;
	ret = io_is_uring_fops(file) ? io_ringfd_install(file, first, end) : -EOPNOTSUPP;
	if (ret < 0) {
		fput(file);
		return ret;
	}
	if (!put_user((u32)ret, &user->offset))
		return 0;
	io_ringfd_drop(ret);
	return -EFAULT;
}

/* Handle an element of IORING_UNREGISTER_RING_FDS. */
static int io_ringfd_unregister_one(struct io_uring_rsrc_update __user *user)
{
	struct io_uring_rsrc_update reg;
	unsigned int slot, end;
	int ret;

	if (copy_from_user(&reg, user, sizeof(reg)))
		return -EFAULT;
	ret = io_ringfd_range(&reg, &slot, &end);
	if (ret || reg.data || end - slot != 1)
		return -EINVAL;
	io_ringfd_drop(slot);
	return 0;
}

/* Return: number of elements done, or the error of the first element. */
static int io_ringfd_each(struct io_uring_rsrc_update __user *user, unsigned int nr,
			  int (*one)(struct io_uring_rsrc_update __user *user))
{
	unsigned int done;
	int ret = 0;

	for (done = 0; done < nr; done++) {
		ret = one(&user[done]);
		if (ret)
			break;
	}
	return done ? done : ret;
}

/**
 * io_ringfd_register - handle IORING_REGISTER_RING_FDS
 * @ctx: the ring of the system call, its lock held
 * @arg: array of struct io_uring_rsrc_update
 * @nr: number of elements
 *
 * Return: number of elements done, an error of the first element or io_tctx_attach(), or -EINVAL.
 */
int io_ringfd_register(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	int ret;

	if (!nr || nr > IO_RINGFD_REG_MAX)
		return -EINVAL;
	ret = io_tctx_attach(ctx);
	return ret ?: io_ringfd_each(arg, nr, io_ringfd_register_one);
}

/**
 * io_ringfd_unregister - handle IORING_UNREGISTER_RING_FDS
 * @ctx: the ring of the system call
 * @arg: array of struct io_uring_rsrc_update
 * @nr: number of elements
 *
 * Return: number of elements done, the error of the first element, or -EINVAL for a bad @nr.
 */
int io_ringfd_unregister(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	if (!nr || nr > IO_RINGFD_REG_MAX)
		return -EINVAL;
	return current->io_uring ? io_ringfd_each(arg, nr, io_ringfd_unregister_one) : 0;
}

/**
 * io_ringfd_drop_all - drop the registered rings of a task that exits or execs
 */
void io_ringfd_drop_all(void)
{
	unsigned int slot;

	for (slot = 0; slot < IO_RINGFD_REG_MAX; slot++)
		io_ringfd_drop(slot);
}
