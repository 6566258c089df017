/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: BPF loops, programs that drive a ring within io_uring_enter() */
#ifndef IO_SYS_LOOP_H
#define IO_SYS_LOOP_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

/*
 * BPF programs find the types below, and the functions bpf_io_uring_*() of sys/loop.c, by their
 * names in the kernel's type information (BTF), so the names are part of the ABI.
 */

enum {
	IOU_LOOP_CONTINUE,
	IOU_LOOP_STOP,
};

enum {
	IOU_REGION_MEM,
	IOU_REGION_CQ,
	IOU_REGION_SQ,
};

/* What a program knows of a ring: nothing, see io_loop_ring(). */
struct iou_ctx {
};

/**
 * struct iou_loop_params - what a step of a loop asks for
 * @cq_wait_idx: with %IOU_LOOP_CONTINUE, tail of the CQ at which the next step is called; keeps its
 *	value from one step to the next, and is 0 before the first one
 */
struct iou_loop_params {
	__u32			cq_wait_idx;
};

/**
 * struct io_uring_bpf_ops - a BPF loop
 * @loop_step: called with the ring lock held; returns %IOU_LOOP_CONTINUE or %IOU_LOOP_STOP
 * @ring_fd: descriptor of the ring, in the task that creates the link
 * @priv: the kernel's: ring to which a link attaches the loop, or NULL; under io_loop_lock
 */
struct io_uring_bpf_ops {
	int			(*loop_step)(struct iou_ctx *ctx, struct iou_loop_params *lp);
	__u32			ring_fd;
	void			*priv;
};

#ifdef CONFIG_IO_URING_BPF_OPS
int io_loop_run(struct io_ring_ctx *ctx);
void io_loop_end(struct io_ring_ctx *ctx);
#else
static inline int io_loop_run(struct io_ring_ctx *ctx)
{
	return 0;
}

static inline void io_loop_end(struct io_ring_ctx *ctx)
{
}
#endif

#endif
