/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: what BPF programs know of the kernel's loops */
#ifndef LOOP_BPF_H
#define LOOP_BPF_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "../../../../../include/uapi/linux/io_uring.h"
#include "loop.h"

enum { IOU_LOOP_CONTINUE, IOU_LOOP_STOP };
enum { IOU_REGION_MEM, IOU_REGION_CQ, IOU_REGION_SQ };

/* The kernel's has no members. */
struct iou_ctx {
	unsigned int flags;
};

struct iou_loop_params {
	__u32 cq_wait_idx;
} __attribute__((preserve_access_index));

struct io_uring_bpf_ops {
	int (*loop_step)(struct iou_ctx *loop, struct iou_loop_params *lp);
	__u32 ring_fd;
};

int bpf_io_uring_submit_sqes(struct iou_ctx *loop, __u32 nr) __ksym;
__u8 *bpf_io_uring_get_region(struct iou_ctx *loop, __u32 id,
			      const __u64 rdwr_buf_size) __ksym;

/* The head of a program */
#define STEP(name)	SEC("struct_ops.s/loop_step")				\
	int BPF_PROG(name, struct iou_ctx *loop, struct iou_loop_params *lp)

/* A map for a program; the test attaches others like it. */
#define LOOP(name)							\
	SEC(".struct_ops.link") struct io_uring_bpf_ops ops_##name = {	\
		.loop_step = (void *)name,				\
	}

#endif
