// SPDX-License-Identifier: GPL-2.0
/* io_uring: filters, programs of classic BPF that allow or deny requests */

/*
 * A filter belongs to an opcode.  It sees some fields of the SQE, as ->prep() has read them.  So
 * the program that submits cannot change a field between the filter and the use of the field.
 *
 * Each filter of an opcode points to the filter before it, and all of them have to allow a request.
 * Filters are only added, so nothing that was denied is allowed later.  A filter never changes.  It
 * is freed with the last struct io_restriction, or later filter of its opcode, that points to it.
 */
#include <linux/filter.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <uapi/linux/io_uring/bpf_filter.h>

#include "op.h"
#include "rsrc/filter.h"

/*
 * Instructions that the filters of one opcode may have in total, and what each filter counts
 * besides its own.  As with seccomp(2), this bounds the time that a request may take.
 */
#define IO_FILTER_MAX_INSNS	((1 << 18) / sizeof(struct sock_filter))
#define IO_FILTER_COST		4

/**
 * struct io_filter - a filter
 * @refs: references from struct io_restriction and from later filters
 * @insns: instructions of this filter and of all before it
 * @prev: the filter of the same opcode before it, or NULL
 * @prog: the program
 */
struct io_filter {
	refcount_t		refs;
	unsigned int		insns;
	struct io_filter	*prev;
	struct bpf_prog		*prog;
};

/* Drop a reference to a filter, and to those before it that nothing else points to. */
static void io_filter_put(struct io_filter *filter)
{
	while (filter && refcount_dec_and_test(&filter->refs)) {
		struct io_filter *prev = filter->prev;

		bpf_prog_destroy(filter->prog);
		kfree(filter);
		filter = prev;
		cond_resched();
	}
}

/**
 * io_filters_get - take references to the filters of copied restrictions
 * @r: the copy
 */
void io_filters_get(struct io_restriction *r)
{
	unsigned int i;

	for (i = 0; i < IORING_OP_LAST; i++)
		if (r->filters[i])
			refcount_inc(&r->filters[i]->refs);
}

/**
 * io_filters_put - drop the filters of restrictions that end
 * @r: the restrictions
 *
 * Context: Task context.  May sleep.
 */
void io_filters_put(struct io_restriction *r)
{
	unsigned int i;

	for (i = 0; i < IORING_OP_LAST; i++)
		io_filter_put(r->filters[i]);
}

/* Let a load read a word of struct io_uring_bpf_ctx or a constant.  Return: 0 or -EINVAL. */
static int io_filter_check_load(struct sock_filter *insn)
{
	const u32 size = sizeof(struct io_uring_bpf_ctx);

	switch (BPF_MODE(insn->code)) {
	case BPF_ABS:
		if (BPF_SIZE(insn->code) != BPF_W || insn->k >= size || insn->k % sizeof(u32))
			return -EINVAL;
		/* the code of a load from the context, not from a packet */
		insn->code = BPF_LDX | BPF_W | BPF_ABS;
		return 0;
	case BPF_LEN:
		insn->code = BPF_CLASS(insn->code) | BPF_IMM;
		insn->k = size;
		return 0;
	case BPF_IMM:
	case BPF_MEM:
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * Check the instructions of a filter, which bpf_prog_create_from_user() has found to be valid for
 * packets.  A filter has no packet, and no modulo, like one of seccomp(2).
 */
static int io_filter_check_insns(struct sock_filter *insns, unsigned int len)
{
	struct sock_filter *insn;
	int ret = 0;

	for (insn = insns; insn < insns + len && !ret; insn++) {
		if (BPF_CLASS(insn->code) == BPF_LD || BPF_CLASS(insn->code) == BPF_LDX)
			ret = io_filter_check_load(insn);
		else if (BPF_CLASS(insn->code) == BPF_ALU && BPF_OP(insn->code) == BPF_MOD)
			ret = -EINVAL;
	}
	return ret;
}

/* Load the program of a filter.  Return: the filter, for the list of @prev, or an ERR_PTR(). */
static struct io_filter *io_filter_load(const struct io_uring_bpf_filter *reg,
					struct io_filter *prev)
{
	struct sock_fprog prog = {
		.len	= reg->filter_len,
		.filter	= u64_to_user_ptr(reg->filter_ptr),
	};
	unsigned int insns = reg->filter_len + IO_FILTER_COST + (prev ? prev->insns : 0);
	struct io_filter *filter;
	int ret;

	if (insns > IO_FILTER_MAX_INSNS)
		return ERR_PTR(-ENOMEM);
	filter = kzalloc_obj(*filter, GFP_KERNEL_ACCOUNT);
	if (!filter)
		return ERR_PTR(-ENOMEM);
	ret = bpf_prog_create_from_user(&filter->prog, &prog, io_filter_check_insns, false);
	if (ret) {
		kfree(filter);
		return ERR_PTR(ret);
	}
	refcount_set(&filter->refs, 1);
	filter->insns = insns;
	/* the restrictions had a reference to @prev, which becomes that of the new filter */
	filter->prev = prev;
	return filter;
}

/* Check the fields of a registration, except for the size of the operation's own fields. */
static int io_filter_check_reg(const struct io_uring_bpf *reg)
{
	const struct io_uring_bpf_filter *filter = &reg->filter;

	if (reg->cmd_type != IO_URING_BPF_CMD_FILTER || reg->cmd_flags || reg->resv)
		return -EINVAL;
	if (filter->flags & ~(IO_URING_BPF_FILTER_DENY_REST | IO_URING_BPF_FILTER_SZ_STRICT))
		return -EINVAL;
	if (memchr_inv(filter->resv, 0, sizeof(filter->resv)) ||
	    memchr_inv(filter->resv2, 0, sizeof(filter->resv2)))
		return -EINVAL;
	if (filter->opcode >= IORING_OP_LAST || !filter->filter_len ||
	    filter->filter_len > BPF_MAXINSNS)
		return -EINVAL;
	return 0;
}

/* Return: true if a filter for @size bytes of fields can be used with @have bytes. */
static bool io_filter_size_fits(const struct io_uring_bpf_filter *reg, unsigned int have)
{
	if (reg->flags & IO_URING_BPF_FILTER_SZ_STRICT)
		return reg->pdu_size == have;
	return reg->pdu_size <= have;
}

/* Deny all opcodes that have no filter. */
static void io_filters_deny_rest(struct io_restriction *r)
{
	unsigned int i;

	for (i = 0; i < IORING_OP_LAST; i++)
		if (!r->filters[i])
			__set_bit(i, r->denied);
}

/**
 * io_filter_add - add a filter to the restrictions of a task or a ring
 * @place: the restrictions; set to a copy with the filter
 * @arg: struct io_uring_bpf in user space
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -EINVAL for fields or instructions that are not known; -EMSGSIZE if the filter is for
 * other fields of the operation; -ENOMEM, also if the filters of the opcode would have too many
 * instructions; -EFAULT.
 */
int io_filter_add(struct io_restriction **place, void __user *arg)
{
	struct io_uring_bpf __user *uarg = arg;
	struct io_restriction *r;
	struct io_uring_bpf reg;
	struct io_filter *filter;
	unsigned int opcode, size;
	int ret;

	if (copy_from_user(&reg, arg, sizeof(reg)))
		return -EFAULT;
	ret = io_filter_check_reg(&reg);
	if (ret)
		return ret;
	opcode = array_index_nospec(reg.filter.opcode, IORING_OP_LAST);
	size = io_ops[opcode]->filter_size;
	if (put_user(size, &uarg->filter.pdu_size))
		return -EFAULT;
	if (!io_filter_size_fits(&reg.filter, size))
		return -EMSGSIZE;
	r = io_restriction_copy(*place);
	if (!r)
		return -ENOMEM;
	filter = io_filter_load(&reg.filter, r->filters[opcode]);
	if (IS_ERR(filter)) {
		io_restriction_put(r);
		return PTR_ERR(filter);
	}
	r->filters[opcode] = filter;
	r->filtered = true;
	if (reg.filter.flags & IO_URING_BPF_FILTER_DENY_REST)
		io_filters_deny_rest(r);
	io_restriction_put(*place);
	*place = r;
	return 0;
}

/**
 * io_filter_check - let the filters of an opcode decide about a request
 * @r: restrictions of the ring, with filters
 * @req: the request, after ->prep()
 * @sqe_flags: flags of the SQE
 *
 * Context: Task context.
 *
 * Return: 0 or -EACCES.
 */
int io_filter_check(const struct io_restriction *r, struct io_kiocb *req, u8 sqe_flags)
{
	const struct io_op *op = io_ops[req->opcode];
	struct io_uring_bpf_ctx ctx;
	unsigned int opcode = array_index_nospec(req->opcode, IORING_OP_LAST);
	const struct io_filter *filter;

	if (test_bit(opcode, r->denied))
		return -EACCES;
	/* all of it, as a filter may read any word */
	memset(&ctx, 0, sizeof(ctx));
	ctx.user_data = req->cqe.user_data;
	ctx.opcode = req->opcode;
	ctx.sqe_flags = sqe_flags;
	ctx.pdu_size = op->filter_size;
	if (op->filter_fields)
		op->filter_fields(req, &ctx);
	for (filter = r->filters[opcode]; filter; filter = filter->prev)
		if (!bpf_prog_run_pin_on_cpu(filter->prog, &ctx))
			return -EACCES;
	return 0;
}
