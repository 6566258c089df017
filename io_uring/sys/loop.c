// SPDX-License-Identifier: GPL-2.0
/* io_uring: BPF loops, programs that drive a ring within io_uring_enter() */

/*
 * A BPF program of the type struct io_uring_bpf_ops reads CQEs, writes SQEs and submits them, and
 * the task returns to user mode only at the end.  While a link attaches such a program to a ring,
 * io_uring_enter() calls it in a loop:
 *
 *	->loop_step()		with the ring lock held
 *	IOU_LOOP_STOP		ends the system call
 *	IOU_LOOP_CONTINUE	runs task work and the mailbox, and waits for CQEs, without the lock
 *
 * The program sees the memory that the ring shares with user space.  It has no more rights than the
 * task to submit requests, and all that it writes is checked as if the task had written it.  A
 * signal ends the loop between two steps.
 *
 * Lifetime: a ring and its loop point to each other, without references, under io_loop_lock.  When
 * the link is detached or the ring is closed, both pointers are cleared.  A task that runs the loop
 * holds a reference to it, and checks before each step that the loop is still attached.
 *
 * The callers of ->reg() and ->unreg() may hold a mutex that all links of struct_ops share.  The
 * holder of a ring lock may sleep for a long time, also in ->loop_step(), so these functions do not
 * wait for the ring lock: a step may still be running, or begin, when a link is detached.
 */
#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/file.h>
#include <linux/init.h>
#include <linux/io_uring.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "ring/cq.h"
#include "ring/locks.h"
#include "ring/mailbox.h"
#include "ring/queues.h"
#include "rsrc/memory.h"
#include "submit/submit.h"
#include "sys/file.h"
#include "sys/loop.h"
#include "sys/wait.h"
#include "task/tctx.h"

/* protects the pointers between rings and loops; a leaf lock, in task context only */
static DEFINE_SPINLOCK(io_loop_lock);

/* Take a reference to the loop of a ring.  Return: the loop, or NULL if none is attached. */
static const struct io_uring_bpf_ops *io_loop_get(struct io_ring_ctx *ctx)
{
	const struct io_uring_bpf_ops *ops;

	/* a loop is freed by RCU, some time after its link has put the last reference */
	guard(rcu)();
	ops = rcu_dereference(ctx->loop);
	return ops && bpf_struct_ops_get(ops) ? ops : NULL;
}

/*
 * Return: %IOU_LOOP_CONTINUE or %IOU_LOOP_STOP; -EINTR; -EINVAL if the step returned another value;
 * -EFAULT if the loop is not attached any more.
 */
static int io_loop_step(struct io_ring_ctx *ctx, const struct io_uring_bpf_ops *ops,
			struct iou_loop_params *params)
{
	int ret;

	io_ring_yield(ctx);
	ret = io_ring_lock(ctx);
	if (ret)
		return ret;
	ret = -EFAULT;
	if (rcu_access_pointer(ctx->loop) == ops) {
		ret = ops->loop_step((struct iou_ctx *)ctx, params);
		if (ret != IOU_LOOP_CONTINUE && ret != IOU_LOOP_STOP)
			ret = -EINVAL;
	}
	io_ring_unlock(ctx);
	return ret;
}

/**
 * io_loop_run - run the loop of a ring
 * @ctx: the ring, its lock not held
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0 after %IOU_LOOP_STOP; -EINTR for a signal; -EINVAL if a step returned another value;
 * -EFAULT if the loop is not attached any more; -EEXIST if current is not the owner of the ring;
 * or an error of io_tctx_attach_slow() or io_wait_tail().
 */
int io_loop_run(struct io_ring_ctx *ctx)
{
	const struct io_uring_bpf_ops *ops;
	struct iou_loop_params params = { };
	int ret;

	ret = io_tctx_attach_submitter(ctx);
	if (ret)
		return ret;
	ops = io_loop_get(ctx);
	if (!ops)
		return -EFAULT;
	do {
		ret = io_loop_step(ctx, ops, &params);
		if (ret != IOU_LOOP_CONTINUE)
			break;
		ret = io_wait_tail(ctx, params.cq_wait_idx);
		/* a loop that never sleeps must not delay the release of other BPF programs */
		cond_resched_tasks_rcu_qs();
	} while (!ret);
	bpf_struct_ops_put(ops);
	/* report a lost CQE once, as without a loop */
	if (unlikely(ret == -EBADR))
		clear_bit(IO_CHECK_CQ_DROPPED, &ctx->check_cq);
	return ret == IOU_LOOP_STOP ? 0 : ret;
}

__bpf_kfunc_start_defs();

/*
 * Return: the ring of a step.  @loop_ctx is the argument of ->loop_step(), because programs have no
 * other trusted pointer of this type.  So current holds the ring lock and is attached to the ring.
 */
static struct io_ring_ctx *io_loop_ring(struct iou_ctx *loop_ctx)
{
	return (struct io_ring_ctx *)loop_ctx;
}

/**
 * bpf_io_uring_submit_sqes - submit SQEs
 * @loop_ctx: the ring
 * @nr: maximum number of SQEs
 *
 * The CQEs of requests that end at once are in the CQ, unless that is full.
 *
 * Return: as io_submit_sqes()
 */
__bpf_kfunc int bpf_io_uring_submit_sqes(struct iou_ctx *loop_ctx, u32 nr)
{
	struct io_ring_ctx *ctx = io_loop_ring(loop_ctx);
	int ret;

	ret = io_submit_sqes(ctx, nr);
	io_cq_commit(ctx);
	return ret;
}

/**
 * bpf_io_uring_get_region - find memory that the ring shares with user space
 * @loop_ctx: the ring
 * @region_id: %IOU_REGION_MEM for the region of IORING_REGISTER_MEM_REGION, %IOU_REGION_CQ for the
 *	words and the CQEs, %IOU_REGION_SQ for the SQEs
 * @rdwr_buf_size: number of bytes to access from the start of the memory, a constant
 *
 * The memory stays in place during the step: only the owner of the ring could resize the queues.
 *
 * Return: the memory; NULL if there is none, or not as much
 */
__bpf_kfunc u8 *bpf_io_uring_get_region(struct iou_ctx *loop_ctx, u32 region_id,
					const size_t rdwr_buf_size)
{
	struct io_ring_ctx *ctx = io_loop_ring(loop_ctx);
	const struct io_mapped_region *region = NULL;
	struct io_memory *memory;

	switch (region_id) {
	case IOU_REGION_MEM:
		memory = io_memory_get(ctx);
		if (memory)
			region = &memory->region;
		break;
	case IOU_REGION_CQ:
		region = &io_queues_locked(ctx)->ring_region;
		break;
	case IOU_REGION_SQ:
		region = &io_queues_locked(ctx)->sqe_region;
		break;
	}
	if (!region || rdwr_buf_size > (u64)region->nr_pages << PAGE_SHIFT)
		return NULL;
	return region->ptr;
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(io_loop_kfuncs)
BTF_ID_FLAGS(func, bpf_io_uring_submit_sqes, KF_SLEEPABLE)
BTF_ID_FLAGS(func, bpf_io_uring_get_region, KF_RET_NULL)
BTF_KFUNCS_END(io_loop_kfuncs)

static const struct btf_kfunc_id_set io_loop_kfunc_set = {
	.owner	= THIS_MODULE,
	.set	= &io_loop_kfuncs,
};

static const struct btf_type *io_loop_params_type;

static int io_loop_init_btf(struct btf *btf)
{
	s32 id = btf_find_by_name_kind(btf, "iou_loop_params", BTF_KIND_STRUCT);

	if (id < 0)
		return id;
	io_loop_params_type = btf_type_by_id(btf, id);
	return 0;
}

static bool io_loop_valid_access(int off, int size, enum bpf_access_type type,
				 const struct bpf_prog *prog, struct bpf_insn_access_aux *info)
{
	return bpf_tracing_btf_ctx_access(off, size, type, prog, info);
}

/* A program writes to the parameters of its loop, and to no other struct of the kernel. */
static int io_loop_struct_access(struct bpf_verifier_log *log, const struct bpf_reg_state *reg,
				 int off, int size)
{
	if (btf_type_by_id(reg->btf, reg->btf_id) != io_loop_params_type ||
	    off < offsetof(struct iou_loop_params, cq_wait_idx) ||
	    off + size > offsetofend(struct iou_loop_params, cq_wait_idx))
		return -EACCES;
	return 0;
}

static const struct bpf_verifier_ops io_loop_verifier_ops = {
	.get_func_proto		= bpf_base_func_proto,
	.is_valid_access	= io_loop_valid_access,
	.btf_struct_access	= io_loop_struct_access,
};

static int io_loop_init_member(const struct btf_type *t, const struct btf_member *member,
			       void *kdata, const void *udata)
{
	struct io_uring_bpf_ops *ops = kdata;
	const struct io_uring_bpf_ops *from = udata;

	if (__btf_member_bit_offset(t, member) / 8 != offsetof(struct io_uring_bpf_ops, ring_fd))
		return 0;
	ops->ring_fd = from->ring_fd;
	return 1;
}

/* Attach a loop to a ring.  Return: 0 or a negative errno. */
static int io_loop_attach(struct io_ring_ctx *ctx, struct io_uring_bpf_ops *ops,
			  struct bpf_link *link)
{
	/* a loop cannot poll devices */
	if (!ctx->cq.single_writer || ctx->iopoll)
		return -EOPNOTSUPP;
	if (!ops->loop_step)
		return -EINVAL;
	guard(spinlock)(&io_loop_lock);
	if (ops->priv || rcu_access_pointer(ctx->loop))
		return -EBUSY;
	ops->priv = ctx;
	ctx->loop_link = link;
	rcu_assign_pointer(ctx->loop, ops);
	WRITE_ONCE(ctx->stops.loop, true);
	return 0;
}

static void io_loop_detach(struct io_uring_bpf_ops *ops)
{
	struct io_ring_ctx *ctx = ops->priv;

	lockdep_assert_held(&io_loop_lock);
	WRITE_ONCE(ctx->stops.loop, false);
	RCU_INIT_POINTER(ctx->loop, NULL);
	ops->priv = NULL;
}

static int io_loop_reg(void *kdata, struct bpf_link *link)
{
	struct io_uring_bpf_ops *ops = kdata;

	CLASS(fd, f)(ops->ring_fd);
	if (fd_empty(f))
		return -EBADF;
	if (!io_is_uring_fops(fd_file(f)))
		return -EOPNOTSUPP;
	return io_loop_attach(fd_file(f)->private_data, ops, link);
}

static void io_loop_unreg(void *kdata, struct bpf_link *link)
{
	struct io_uring_bpf_ops *ops = kdata;
	struct io_ring_ctx *ctx;

	guard(spinlock)(&io_loop_lock);
	ctx = ops->priv;
	/* another link may have attached the same loop since the ring of this link was closed */
	if (ctx && ctx->loop_link == link)
		io_loop_detach(ops);
}

/**
 * io_loop_end - detach the loop of a ring whose file is released
 * @ctx: the ring
 */
void io_loop_end(struct io_ring_ctx *ctx)
{
	/* no task can attach a loop any more, because that takes a reference to the file */
	if (!rcu_access_pointer(ctx->loop))
		return;
	guard(spinlock)(&io_loop_lock);
	if (rcu_access_pointer(ctx->loop))
		io_loop_detach(rcu_dereference_protected(ctx->loop,
							 lockdep_is_held(&io_loop_lock)));
}

static int io_loop_no_step(struct iou_ctx *ctx, struct iou_loop_params *lp)
{
	return IOU_LOOP_STOP;
}

static struct io_uring_bpf_ops io_loop_stubs = {
	.loop_step	= io_loop_no_step,
};

static struct bpf_struct_ops io_loop_struct_ops = {
	.verifier_ops	= &io_loop_verifier_ops,
	.init		= io_loop_init_btf,
	.init_member	= io_loop_init_member,
	.reg		= io_loop_reg,
	.unreg		= io_loop_unreg,
	.cfi_stubs	= &io_loop_stubs,
	.owner		= THIS_MODULE,
	.name		= "io_uring_bpf_ops",
};

static int __init io_loop_init(void)
{
	int ret = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &io_loop_kfunc_set);

	return ret ?: register_bpf_struct_ops(&io_loop_struct_ops, io_uring_bpf_ops);
}
late_initcall(io_loop_init);
