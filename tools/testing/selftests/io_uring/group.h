/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: groups of provided buffers; a program defines SLOTS and GROUP first */
#ifndef GROUP_H
#define GROUP_H

#include "iou_test.h"

#define BUFFER(bid)	(IORING_CQE_F_BUFFER | (unsigned int)(bid) << IORING_CQE_BUFFER_SHIFT)

static inline int reg(struct iou *r, unsigned int group, void *ring, unsigned int entries,
		      unsigned int flags, unsigned int min_left)
{
	struct io_uring_buf_reg reg = {
		.ring_addr = (uintptr_t)ring,
		.ring_entries = entries,
		.bgid = group,
		.flags = flags,
		.min_left = min_left,
	};

	return iou_register(r, IORING_REGISTER_PBUF_RING, &reg, 1);
}

static inline int unreg(struct iou *r, unsigned int group)
{
	struct io_uring_buf_reg reg = { .bgid = group };

	return iou_register(r, IORING_UNREGISTER_PBUF_RING, &reg, 1);
}

static inline int head(struct iou *r, unsigned int group)
{
	struct io_uring_buf_status status = { .buf_group = group };
	int ret = iou_register(r, IORING_REGISTER_PBUF_STATUS, &status, 1);

	return ret < 0 ? ret : (int)status.head;
}

static inline struct io_uring_buf *slot(struct io_uring_buf_ring *ring, unsigned int at)
{
	return (struct io_uring_buf *)ring + at % SLOTS;
}

static inline void add(struct io_uring_buf_ring *ring, void *addr, unsigned int len,
		       unsigned int bid)
{
	struct io_uring_buf *buf = slot(ring, ring->tail);

	buf->addr = iou_addr(addr);
	buf->len = len;
	buf->bid = bid;
	store_rel(&ring->tail, (__u16)(ring->tail + 1));
}

/* Prepare a SEND or RECV of several buffers of the group GROUP at once. */
static inline struct io_uring_sqe *prep_bundle(struct iou *r, int op, int fd, unsigned int len,
					       unsigned int how)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, fd, NULL, len, 0);

	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	sqe->ioprio = IORING_RECVSEND_BUNDLE | how;
	return sqe;
}

/* Submit the prepared SQE and copy its CQE to *@cqe.  Return: 0, or a negative errno. */
static inline int take(struct iou *r, struct io_uring_cqe *cqe)
{
	int ret = iou_submit(r);

	cqe->flags = 0;
	return ret < 0 ? ret : iou_reap(r, cqe);
}

#define EXPECT_CQE(r, want_res, want_flags) do {		\
	struct io_uring_cqe cqe_;				\
								\
	ASSERT_EQ(0, take((r), &cqe_));				\
	EXPECT_EQ((want_res), cqe_.res);			\
	EXPECT_EQ((want_flags), cqe_.flags);			\
} while (0)

#endif
