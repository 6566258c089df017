// SPDX-License-Identifier: GPL-2.0
/* io_uring: restrictions, what a task or a ring may do */

/*
 * A ring may get restrictions of its own while it is disabled.  A task may get restrictions for all
 * rings that it sets up afterwards.  Its children and threads have them, too, also after an exec.
 *
 * A struct io_restriction that a task has, or that an enabled ring has, never changes.  So a fork,
 * or the setup of a ring, takes another reference.  The last reference frees the struct.  Only the
 * task itself sets its pointer, and only the holder of the ring lock sets that of a ring.  Readers
 * therefore need no lock of their own.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "ring/locks.h"
#include "rsrc/filter.h"
#include "rsrc/restrict.h"

/**
 * io_restriction_copy - allocate restrictions that can be changed
 * @old: what to copy, or NULL for none
 *
 * Return: the copy, or NULL if there is no memory.
 */
struct io_restriction *io_restriction_copy(const struct io_restriction *old)
{
	struct io_restriction *r = kzalloc_obj(*r, GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	if (old) {
		*r = *old;
		io_filters_get(r);
	}
	refcount_set(&r->refs, 1);
	return r;
}

static void io_restriction_free_work(struct work_struct *work)
{
	struct io_restriction *r = container_of(work, struct io_restriction, free_work);

	io_filters_put(r);
	kfree(r);
}

/**
 * io_restriction_put - drop a reference to restrictions
 * @r: the restrictions, or NULL
 *
 * Context: Any.
 */
void io_restriction_put(struct io_restriction *r)
{
	if (!r || !refcount_dec_and_test(&r->refs))
		return;
	/* the last reference may end in a softirq, and there may be thousands of filters */
	if (r->filtered) {
		INIT_WORK(&r->free_work, io_restriction_free_work);
		queue_work(system_dfl_wq, &r->free_work);
		return;
	}
	kfree(r);
}

/* Documented in linux/io_uring.h. */
void __io_uring_fork(struct task_struct *tsk)
{
	refcount_inc(&io_task_restriction(tsk)->refs);
}

/**
 * io_task_set_restriction - set the restrictions of a task
 * @tsk: current, or a task that is freed
 * @r: the restrictions, of which the task gets the caller's reference, or NULL
 */
void io_task_set_restriction(struct task_struct *tsk, struct io_restriction *r)
{
	tsk->io_uring_restrict = r;
}

/* Add one restriction.  Return: 0 or -EINVAL. */
static int io_restrict_one(struct io_restriction *r, const struct io_uring_restriction *res)
{
	if (res->opcode == IORING_RESTRICTION_REGISTER_OP)
		r->of_register = true;
	else
		r->of_sqe = true;
	switch (res->opcode) {
	case IORING_RESTRICTION_REGISTER_OP:
		if (res->register_op >= IORING_REGISTER_LAST)
			return -EINVAL;
		__set_bit(res->register_op, r->register_op);
		return 0;
	case IORING_RESTRICTION_SQE_OP:
		if (res->sqe_op >= IORING_OP_LAST)
			return -EINVAL;
		__set_bit(res->sqe_op, r->sqe_op);
		return 0;
	case IORING_RESTRICTION_SQE_FLAGS_ALLOWED:
		r->flags.allowed = res->sqe_flags;
		return 0;
	case IORING_RESTRICTION_SQE_FLAGS_REQUIRED:
		r->flags.required = res->sqe_flags;
		return 0;
	default:
		return -EINVAL;
	}
}

#define IO_MAX_RESTRICTIONS	(IORING_RESTRICTION_LAST + IORING_REGISTER_LAST + IORING_OP_LAST)

/*
 * Replace the restrictions at @place by a copy that also has the list of @nr entries at @arg.
 * @hold: check the list from now on.  Return: 0 or a negative errno.
 */
static int io_restrict(struct io_restriction **place, void __user *arg, unsigned int nr, bool hold)
{
	struct io_uring_restriction *all;
	struct io_restriction *r;
	unsigned int i;
	int ret = 0;

	if (nr > IO_MAX_RESTRICTIONS)
		return -EINVAL;
	all = memdup_array_user(arg, nr, sizeof(*all));
	if (IS_ERR(all))
		return PTR_ERR(all);
	r = io_restriction_copy(*place);
	if (!r)
		ret = -ENOMEM;
	for (i = 0; i < nr && !ret; i++)
		ret = io_restrict_one(r, &all[i]);
	kfree(all);
	if (ret) {
		io_restriction_put(r);
		return ret;
	}
	r->of_register |= !nr;
	r->of_sqe |= !nr;
	r->registered = true;
	r->hold = hold;
	io_restriction_put(*place);
	*place = r;
	return 0;
}

/**
 * io_register_restrictions - handle IORING_REGISTER_RESTRICTIONS for a ring
 * @ctx: the ring, its lock held
 * @arg: array of struct io_uring_restriction in user space
 * @nr: number of entries
 *
 * Return: 0; -EBADFD if the ring is enabled; -EBUSY if it has restrictions already, or had them
 * from its task; -EINVAL for an entry that is not known, or for too many entries; -EFAULT, -ENOMEM.
 */
int io_register_restrictions(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	io_assert_ring(ctx);
	if (!ctx->stops.disabled)
		return -EBADFD;
	if (ctx->restrictions && ctx->restrictions->registered)
		return -EBUSY;
	if (!arg)
		return -EINVAL;
	return io_restrict(&ctx->restrictions, arg, nr, false);
}

/*
 * Return: true if current may restrict itself.  A program that is set-user-ID must not run with
 * restrictions of its caller, so the caller needs no_new_privs, as for seccomp(2).
 */
static bool io_may_restrict_task(void)
{
	return task_no_new_privs(current) ||
	       ns_capable_noaudit(current_user_ns(), CAP_SYS_ADMIN);
}

/**
 * io_restrict_task - handle IORING_REGISTER_RESTRICTIONS for current
 * @arg: struct io_uring_task_restriction in user space
 * @nr: has to be 1
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -EACCES without the right to do this; -EPERM if current has restrictions or filters;
 * -EINVAL for fields that are not known or not zero; -EFAULT, -ENOMEM.
 */
int io_restrict_task(void __user *arg, unsigned int nr)
{
	struct io_uring_task_restriction __user *list = arg;
	struct io_restriction *r = io_task_restriction(current);
	struct io_uring_task_restriction head;
	int ret;

	if (!io_may_restrict_task())
		return -EACCES;
	if (r)
		return -EPERM;
	if (nr != 1)
		return -EINVAL;
	if (copy_from_user(&head, list, sizeof(head)))
		return -EFAULT;
	if (head.flags || memchr_inv(head.resv, 0, sizeof(head.resv)))
		return -EINVAL;
	ret = io_restrict(&r, list->restrictions, head.nr_res, true);
	if (!ret)
		io_task_set_restriction(current, r);
	return ret;
}

/* Let the submission check the restrictions of a ring. */
static void io_restrictions_apply(struct io_ring_ctx *ctx)
{
	if (ctx->restrictions->hold && ctx->restrictions->of_sqe)
		ctx->submit_slow |= IO_SLOW_RESTRICTED;
	if (ctx->restrictions->filtered)
		ctx->submit_slow |= IO_SLOW_FILTERED;
}

/**
 * io_register_filter - handle IORING_REGISTER_BPF_FILTER for a ring
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_bpf in user space
 *
 * Return: as io_filter_add().
 */
int io_register_filter(struct io_ring_ctx *ctx, void __user *arg)
{
	int ret;

	io_assert_ring(ctx);
	ret = io_filter_add(&ctx->restrictions, arg);
	if (!ret)
		io_restrictions_apply(ctx);
	return ret;
}

/**
 * io_filter_task - handle IORING_REGISTER_BPF_FILTER for current
 * @arg: struct io_uring_bpf in user space
 * @nr: 1
 *
 * Return: as io_filter_add(), or -EACCES without the right to do this.
 */
int io_filter_task(void __user *arg, unsigned int nr)
{
	struct io_restriction *r = io_task_restriction(current);
	int ret;

	if (!io_may_restrict_task())
		return -EACCES;
	ret = io_filter_add(&r, arg);
	if (!ret)
		io_task_set_restriction(current, r);
	return ret;
}

/**
 * io_restrictions_inherit - give a new ring the restrictions of current
 * @ctx: the ring, which no other context can reach
 */
void io_restrictions_inherit(struct io_ring_ctx *ctx)
{
	struct io_restriction *r = io_task_restriction(current);

	if (likely(!r))
		return;
	refcount_inc(&r->refs);
	ctx->restrictions = r;
	io_restrictions_apply(ctx);
}

/**
 * io_restrictions_enable - begin to check the list that a disabled ring was given
 * @ctx: the ring, its lock held
 */
void io_restrictions_enable(struct io_ring_ctx *ctx)
{
	struct io_restriction *r = ctx->restrictions;

	io_assert_ring(ctx);
	/* a list that does not hold was registered for this ring, so no task or ring shares it */
	if (!r || !r->registered || r->hold)
		return;
	r->hold = true;
	io_restrictions_apply(ctx);
}
