// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: BPF programs that drive a ring */
#include "loop.bpf.h"

char _license[] SEC("license") = "GPL";

/* zero initialised, at the start of .bss, which the test maps */
volatile struct loop_data data;

static unsigned int load_word(const __u8 *mem, unsigned int offset)
{
	if (offset > LOOP_PAGE - sizeof(__u32))
		return 0;
	return *(const volatile __u32 *)(mem + offset);
}

static void store_word(__u8 *mem, unsigned int offset, __u32 value)
{
	if (offset <= LOOP_PAGE - sizeof(__u32))
		*(volatile __u32 *)(mem + offset) = value;
}

static unsigned int cq_tail(struct iou_ctx *loop)
{
	__u8 *cq = bpf_io_uring_get_region(loop, IOU_REGION_CQ, LOOP_PAGE);

	return cq ? load_word(cq, data.tail) : 0;
}

/* Do what the next step of the plan says.  After the last one, return a value that is an error. */
STEP(scripted)
{
	unsigned int i = data.next;
	volatile struct loop_plan *plan;

	data.steps++;
	if (i >= LOOP_STEPS)
		return -1;
	data.next = i + 1;
	plan = &data.plan[i];
	plan->before = lp->cq_wait_idx;
	plan->tail = cq_tail(loop);
	if (plan->submit != LOOP_NONE)
		plan->submitted = bpf_io_uring_submit_sqes(loop, plan->submit);
	if (plan->set_wait)
		lp->cq_wait_idx = plan->wait;
	plan->after = cq_tail(loop);
	return plan->ret;
}

/* Continue without a wait until the test says stop. */
STEP(spin)
{
	data.steps++;
	return data.stop ? IOU_LOOP_STOP : IOU_LOOP_CONTINUE;
}

/* Read memory of the program, which may sleep. */
STEP(sleeper)
{
	__u64 word;

	data.steps++;
	data.error = bpf_copy_from_user(&word, sizeof(word), (void *)data.address);
	return IOU_LOOP_STOP;
}

#define TRY(bit, id, size)						\
	do {								\
		if (bpf_io_uring_get_region(loop, (id), (size)))		\
			data.regions |= 1U << (bit);			\
	} while (0)

/* Ask for memory of different sizes. */
STEP(regions)
{
	data.steps++;
	TRY(0, IOU_REGION_MEM, 1);
	TRY(1, IOU_REGION_MEM, 4096);
	TRY(2, IOU_REGION_MEM, 4097);
	TRY(3, IOU_REGION_CQ, 1);
	TRY(4, IOU_REGION_CQ, 4096);
	TRY(5, IOU_REGION_CQ, 4097);
	TRY(6, IOU_REGION_SQ, 1);
	TRY(7, IOU_REGION_SQ, 4096);
	TRY(8, IOU_REGION_SQ, 4097);
	TRY(9, 3, 1);
	TRY(10, 0xffffffff, 1);
	TRY(11, IOU_REGION_CQ, 0x40000000);
	return IOU_LOOP_STOP;
}

/* Consume a CQE.  Return: true if there was one; *@res is its result. */
static bool take_cqe(__u8 *cq, int *res)
{
	unsigned int head = load_word(cq, data.head), at;

	if (head == load_word(cq, data.tail))
		return false;
	at = data.cqes + (head & data.mask) * sizeof(struct io_uring_cqe);
	*res = load_word(cq, at + offsetof(struct io_uring_cqe, res));
	store_word(cq, data.head, head + 1);
	return true;
}

/* Submit data.left NOPs in batches, on a ring with IORING_SETUP_SQ_REWIND. */
STEP(nops)
{
	__u8 *cq = bpf_io_uring_get_region(loop, IOU_REGION_CQ, LOOP_PAGE);
	int i, res, nr;

	data.steps++;
	if (!cq)
		return -1;
	for (i = 0; i < 64 && take_cqe(cq, &res); i++) {
		data.done++;
		if (res)
			data.error = res;
	}
	if (!data.left)
		return IOU_LOOP_STOP;
	nr = data.left < data.batch ? data.left : data.batch;
	res = bpf_io_uring_submit_sqes(loop, nr);
	if (res != nr) {
		data.error = res < 0 ? res : -1;
		return IOU_LOOP_STOP;
	}
	data.left -= nr;
	lp->cq_wait_idx = load_word(cq, data.head) + nr;
	return IOU_LOOP_CONTINUE;
}

static int submit_rw(struct iou_ctx *loop, struct iou_loop_params *lp, unsigned int head,
		     bool write, unsigned int len)
{
	struct io_uring_sqe *sqe;

	sqe = (void *)bpf_io_uring_get_region(loop, IOU_REGION_SQ, sizeof(*sqe));
	if (!sqe)
		return -1;
	__builtin_memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = write ? IORING_OP_WRITE : IORING_OP_READ;
	sqe->fd = write ? data.out : data.in;
	sqe->off = data.done;
	sqe->addr = data.buffer;
	sqe->len = len;
	sqe->user_data = write;
	if (bpf_io_uring_submit_sqes(loop, 1) != 1)
		return -1;
	lp->cq_wait_idx = head + 1;
	return IOU_LOOP_CONTINUE;
}

/* Copy the file data.in to data.out: each result of a read or a write leads to the next one. */
STEP(copy)
{
	__u8 *cq = bpf_io_uring_get_region(loop, IOU_REGION_CQ, LOOP_PAGE);
	unsigned int head;
	int res;

	data.steps++;
	if (!cq)
		return -1;
	if (!take_cqe(cq, &res)) {
		/* the first step; data.left is the length of a write in flight */
		data.left = 0;
		return submit_rw(loop, lp, load_word(cq, data.head), false, LOOP_PAGE);
	}
	head = load_word(cq, data.head);
	if (res < 0 || (data.left && res != (int)data.left)) {
		data.error = res < 0 ? res : -1;
		return IOU_LOOP_STOP;
	}
	if (data.left) {
		data.done += data.left;
		data.left = 0;
		return submit_rw(loop, lp, head, false, LOOP_PAGE);
	}
	if (!res)
		return IOU_LOOP_STOP;
	data.left = res;
	return submit_rw(loop, lp, head, true, res);
}

LOOP(scripted);
LOOP(spin);
LOOP(sleeper);
LOOP(regions);
LOOP(nops);
LOOP(copy);
