// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: BPF programs that the kernel refuses to load, and a few that it accepts */
#include "loop.bpf.h"

#define PROG(name, body)							\
	STEP(name)								\
	{									\
		body;								\
		return IOU_LOOP_STOP;						\
	}									\
	LOOP(name)

char _license[] SEC("license") = "GPL";

volatile unsigned int out, size = 8;

PROG(ok_writes_parameters, lp->cq_wait_idx = 1);
PROG(ok_writes_a_byte, *((volatile __u8 *)lp + 3) = 1);
PROG(ok_variable_id, out = !bpf_io_uring_get_region(loop, size, 8));

PROG(bad_reads_the_ring, out = loop->flags);
PROG(bad_writes_the_ring, loop->flags = 1);
PROG(bad_writes_past_parameters, *(volatile __u32 *)((char *)lp + 4) = 1);
PROG(bad_region_unchecked, out = *bpf_io_uring_get_region(loop, 1, 8));
PROG(bad_region_variable, out = !bpf_io_uring_get_region(loop, 1, size));

STEP(bad_region_exceeded)
{
	__u8 *mem = bpf_io_uring_get_region(loop, 1, 8);

	return mem ? mem[8] : IOU_LOOP_STOP;
}

LOOP(bad_region_exceeded);

/* Not sleepable, which the functions that may sleep need. */
SEC("struct_ops/loop_step")
int BPF_PROG(ok_atomic, struct iou_ctx *loop, struct iou_loop_params *lp)
{
	return bpf_io_uring_get_region(loop, 1, 8) ? IOU_LOOP_STOP : -1;
}

LOOP(ok_atomic);

SEC("struct_ops/loop_step")
int BPF_PROG(bad_atomic, struct iou_ctx *loop, struct iou_loop_params *lp)
{
	return bpf_io_uring_submit_sqes(loop, 1) ? IOU_LOOP_STOP : -1;
}

LOOP(bad_atomic);
