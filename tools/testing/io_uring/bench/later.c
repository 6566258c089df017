// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: rows of what came after Linux 6.12 */

/*
 * These rows need a kernel from 7.0 on, see ROW_LATER.  "nop" and "nop128" complete with CQEs of
 * either size, "filter" lets a program decide about each request, "wait" takes its argument from
 * registered memory, and "recvzc" receives what one write(2) has sent, without a device.  Such a
 * row marks the call that posts the CQEs; pages are given back outside.
 */

#include <errno.h>
#include <linux/filter.h>
#include <linux/io_uring/bpf_filter.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

/* Take the CQEs of a batch, which have to be zero. */
static int take_zero(struct ring *ring, unsigned int want)
{
	unsigned int tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
	unsigned int head = *ring->cq_head;

	while (head != tail) {
		const struct io_uring_cqe *cqe = ring_cqe(ring, head);

		/* a slot that is left free at the end of the queue */
		want -= !(cqe->flags & IORING_CQE_F_SKIP);
		if (cqe->res)
			return cqe->res < 0 ? cqe->res : -EIO;
		head += cqe->flags & IORING_CQE_F_32 ? 2 : 1;
	}
	__atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
	return want ? -EIO : 0;
}

int run_nop_large(struct bench *b, unsigned int rounds)
{
	unsigned int i, nr = b->row->batch;
	struct ring *ring = &b->ring;

	while (rounds--) {
		int ret;

		for (i = 0; i < nr; i++) {
			struct io_uring_sqe *sqe = ring_sqe(ring);

			sqe->opcode = b->row->opcode;
			if (b->row->opcode == IORING_OP_NOP128)
				ring_sqe(ring);
			else
				sqe->nop_flags = IORING_NOP_CQE32;
		}
		ret = ring_submit(ring, nr);
		if (!ret)
			ret = take_zero(ring, nr);
		if (ret)
			return ret;
	}
	return 0;
}

/* A filter that looks at the opcode and lets the request pass. */
int open_filter(struct bench *b)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct io_uring_bpf_ctx, opcode)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 1),
	};
	struct io_uring_bpf reg = {
		.cmd_type = IO_URING_BPF_CMD_FILTER,
		.filter = {
			.opcode = b->row->opcode,
			.filter_ptr = (uintptr_t)insns, .filter_len = ARRAY_SIZE(insns),
		},
	};

	return ring_register(&b->ring, IORING_REGISTER_BPF_FILTER, &reg, 1);
}

int open_wait_region(struct bench *b)
{
	struct io_uring_region_desc desc = {
		.user_addr = (uintptr_t)b->buf, .size = BLOCK,
		.flags = IORING_MEM_REGION_TYPE_USER,
	};
	struct io_uring_mem_region_reg reg = {
		.region_uptr = (uintptr_t)&desc, .flags = IORING_MEM_REGION_REG_WAIT_ARG,
	};
	struct io_uring_reg_wait *wait = (void *)b->buf;
	int ret = ring_register(&b->ring, IORING_REGISTER_MEM_REGION, &reg, 1);

	if (!ret)
		ret = ring_register(&b->ring, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
	memset(wait, 0, sizeof(*wait));
	wait->flags = IORING_REG_WAIT_TS;
	wait->ts.tv_sec = 1;
	return ret;
}

/* A NOP and a wait for its CQE, with a timeout that is not needed. */
int run_registered_wait(struct bench *b, unsigned int rounds)
{
	const unsigned int flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG |
				   IORING_ENTER_EXT_ARG_REG;
	struct ring *ring = &b->ring;

	while (rounds--) {
		int ret;

		ring_sqe(ring)->opcode = IORING_OP_NOP;
		__atomic_store_n(ring->sq_tail, ring->sq_next, __ATOMIC_RELEASE);
		ret = ring_enter(ring, 1, 1, flags, NULL, sizeof(struct io_uring_reg_wait));
		if (ret == 1)
			ret = take_zero(ring, 1);
		if (ret)
			return ret < 0 ? ret : -EIO;
	}
	return 0;
}

#define PAGES	64u

/* A queue, whose refill ring is in the last block of b->buf, and its areas in the first ones. */
static struct {
	struct io_uring_zcrx_ifq_reg	reg;
	char				*refill;
	unsigned int			tail;
	bool				armed;
} queue;

int open_tcp_zcrx(struct bench *b)
{
	struct io_uring_zcrx_area_reg area = {
		.addr = (uintptr_t)b->buf, .len = PAGES * BLOCK,
	};
	struct io_uring_region_desc desc = {
		.user_addr = (uintptr_t)b->buf + (MAX_BATCH - 1) * BLOCK, .size = BLOCK,
		.flags = IORING_MEM_REGION_TYPE_USER,
	};

	queue.reg = (struct io_uring_zcrx_ifq_reg){
		.rq_entries = PAGES, .flags = ZCRX_REG_NODEV,
		.area_ptr = (uintptr_t)&area, .region_ptr = (uintptr_t)&desc,
	};
	queue.refill = (char *)(uintptr_t)desc.user_addr;
	return open_tcp(b) ?: ring_register(&b->ring, IORING_REGISTER_ZCRX_IFQ, &queue.reg, 1);
}

/* Give back the page of a CQE.  Return: the number of its bytes. */
static int give_back(const struct io_uring_cqe *cqe)
{
	struct io_uring_zcrx_rqe *rqes = (void *)(queue.refill + queue.reg.offsets.rqes);
	const struct io_uring_zcrx_cqe *more = (const void *)(cqe + 1);

	rqes[queue.tail++ & (queue.reg.rq_entries - 1)] =
		(struct io_uring_zcrx_rqe){ .off = more->off, .len = cqe->res };
	__atomic_store_n((unsigned int *)(queue.refill + queue.reg.offsets.tail), queue.tail,
			 __ATOMIC_RELEASE);
	return cqe->res;
}

/* Take CQEs until @want bytes were received. */
static int take_pieces(struct bench *b, unsigned int want)
{
	struct zcrx_ctrl ctrl = { .zcrx_id = queue.reg.zcrx_id, .op = ZCRX_CTRL_FLUSH_RQ };
	struct ring *ring = &b->ring;
	unsigned int head, tail;
	int ret = 0;

	while (want) {
		tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
		for (head = *ring->cq_head; head != tail; head++) {
			const struct io_uring_cqe *cqe = ring_cqe(ring, head);

			if (cqe->res <= 0 || (unsigned int)cqe->res > want)
				return cqe->res < 0 ? cqe->res : -EIO;
			want -= give_back(cqe);
		}
		__atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
		if (want)
			ret = ring_enter(ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		if (ret < 0)
			return ret;
	}
	return ring_register(ring, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0);
}

int run_recv_zc(struct bench *b, unsigned int rounds)
{
	unsigned int bytes = b->row->bytes;

	while (rounds--) {
		int ret = 0;

		if (!queue.armed) {
			struct io_uring_sqe *sqe = ring_sqe(&b->ring);

			sqe->opcode = IORING_OP_RECV_ZC;
			sqe->ioprio = IORING_RECV_MULTISHOT;
			sqe->fd = b->pipes[0][1];
			sqe->zcrx_ifq_idx = queue.reg.zcrx_id;
			ret = ring_submit(&b->ring, 0);
			queue.armed = true;
		}
		if (!ret && write(b->pipes[0][0], b->buf + PAGES * BLOCK, bytes) != bytes)
			ret = -EIO;
		part_begin(b);
		if (!ret)
			ret = ring_enter(&b->ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		part_end(b);
		if (!ret)
			ret = take_pieces(b, bytes);
		if (ret)
			return ret;
	}
	return 0;
}
