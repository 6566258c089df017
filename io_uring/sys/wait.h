/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: sleeping for CQEs */
#ifndef IO_SYS_WAIT_H
#define IO_SYS_WAIT_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

/**
 * struct io_wait_arg - the arguments of io_uring_enter() for its wait
 * @sig: user pointer to a signal mask, or NULL
 * @sig_size: size of the mask
 * @timed: @time limits the wait
 * @time: a time, absolute with IORING_ENTER_ABS_TIMER
 * @min_wait: nanoseconds during which only min_complete CQEs end the wait
 * @flags: IORING_ENTER_*
 */
struct io_wait_arg {
	const sigset_t __user	*sig;
	size_t			sig_size;
	bool			timed;
	struct timespec64	time;
	u64			min_wait;
	unsigned int		flags;
};

int io_wait_arg_read(struct io_ring_ctx *ctx, struct io_wait_arg *arg, unsigned int enter_flags,
		     const void __user *argp, size_t size);
int io_wait_cqes(struct io_ring_ctx *ctx, u32 nr, const struct io_wait_arg *arg);
int io_wait_tail(struct io_ring_ctx *ctx, u32 tail);

/* Return: true if current may wait.  On single-writer rings, only their owner may. */
static inline bool io_may_wait(const struct io_ring_ctx *ctx)
{
	return !ctx->cq.single_writer || READ_ONCE(ctx->submitter_task) == current;
}

#endif
