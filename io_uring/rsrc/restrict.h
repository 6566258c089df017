/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: restrictions, what a task or a ring may do */
#ifndef IO_RSRC_RESTRICT_H
#define IO_RSRC_RESTRICT_H

#include <linux/bitops.h>
#include <linux/bitmap.h>
#include <linux/refcount.h>
#include <linux/workqueue_types.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

struct io_filter;

/**
 * struct io_restriction - restrictions of a task or a ring
 * @refs: tasks and rings that these restrictions apply to
 * @register_op: allowed register opcodes
 * @sqe_op: allowed SQE opcodes
 * @flags: SQE flags that are allowed, and SQE flags that are required
 * @registered: a list was registered, for the task, or for the ring before it was enabled
 * @of_register: register opcodes are restricted
 * @of_sqe: SQEs are restricted
 * @hold: the list is checked; not set while the ring that it was registered for is disabled
 * @filtered: filters were registered (io_uring/rsrc/filter.c)
 * @denied: SQE opcodes that had no filter when all others were denied
 * @filters: the newest filter of each SQE opcode, or NULL
 * @free_work: frees restrictions that have filters
 *
 * A list that names register opcodes restricts these, and a list that names SQE opcodes or flags
 * restricts SQEs.  An empty list restricts both.
 */
struct io_restriction {
	refcount_t	refs;
	DECLARE_BITMAP(register_op, IORING_REGISTER_LAST);
	DECLARE_BITMAP(sqe_op, IORING_OP_LAST);
	struct {
		u8	allowed;
		u8	required;
	} flags;
	bool		registered;
	bool		of_register;
	bool		of_sqe;
	bool		hold;
	bool		filtered;
	DECLARE_BITMAP(denied, IORING_OP_LAST);
	struct io_filter	*filters[IORING_OP_LAST];
	struct work_struct	free_work;
};

/* Return: true if restrictions, which may be NULL, allow a call of io_uring_register(2). */
static inline bool io_register_allowed(const struct io_restriction *r, unsigned int opcode)
{
	return likely(!r) || !r->hold || !r->of_register || test_bit(opcode, r->register_op);
}

struct io_restriction *io_restriction_copy(const struct io_restriction *old);
int io_register_restrictions(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr);
int io_restrict_task(void __user *arg, unsigned int nr);
int io_register_filter(struct io_ring_ctx *ctx, void __user *arg);
int io_filter_task(void __user *arg, unsigned int nr);
void io_restriction_put(struct io_restriction *r);
void io_task_set_restriction(struct task_struct *tsk, struct io_restriction *r);
void io_restrictions_inherit(struct io_ring_ctx *ctx);
void io_restrictions_enable(struct io_ring_ctx *ctx);

#endif
