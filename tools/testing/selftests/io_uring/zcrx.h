/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: queues for RECV_ZC, for the programs that test them */
#ifndef ZCRX_H
#define ZCRX_H

#include "sock.h"

#define CQE32_DEFER	(IOU_DEFER | IORING_SETUP_CQE32)
#define USER		IORING_MEM_REGION_TYPE_USER
#define STATS		ZCRX_EVENT_DESC_FLAG_STATS
/* the mmap offset of a refill ring that the kernel has allocated */
#define OFF_ZCRX	0x30000000
/* bytes of a refill ring before its entries */
#define HEADER		128

/* A queue, and the arguments with which it was registered */
struct zq {
	struct io_uring_zcrx_ifq_reg	reg;
	struct io_uring_zcrx_area_reg	area;
	struct io_uring_region_desc	desc;
	struct zcrx_event_desc		event;
	char				*mem;
	size_t				size;
	char				*refill;
	unsigned int			tail;
};

/* Prepare the arguments for a queue with an area of @pages, and @entries in the refill ring. */
static inline void zq_args(struct zq *q, unsigned int pages, unsigned int entries)
{
	*q = (struct zq){ .size = pages * IOU_PAGE };
	q->mem = iou_map_anon(q->size);
	q->desc.size = iou_page_up(HEADER + iou_pow2(entries) * 16);
	q->refill = iou_map_anon(q->desc.size);
	q->desc.user_addr = (uintptr_t)q->refill;
	q->desc.flags = USER;
	q->area.addr = (uintptr_t)q->mem;
	q->area.len = q->size;
	q->reg.rq_entries = entries;
	q->reg.flags = ZCRX_REG_NODEV;
	q->reg.area_ptr = (uintptr_t)&q->area;
	q->reg.region_ptr = (uintptr_t)&q->desc;
}

static inline void zq_unmap(struct zq *q)
{
	munmap(q->mem, q->size);
	munmap(q->refill, q->desc.size);
}

static inline int zq_register(struct iou *r, struct zq *q)
{
	return iou_register(r, IORING_REGISTER_ZCRX_IFQ, &q->reg, 1);
}

static inline int zq_make(struct iou *r, struct zq *q, unsigned int pages, unsigned int entries)
{
	zq_args(q, pages, entries);
	return zq_register(r, q);
}

static inline unsigned int *zq_word(struct zq *q, unsigned int offset)
{
	return (void *)(q->refill + offset);
}

static inline unsigned int zq_head(struct zq *q)
{
	return load_acq(zq_word(q, q->reg.offsets.head));
}

static inline void zq_set_tail(struct zq *q, unsigned int tail)
{
	store_rel(zq_word(q, q->reg.offsets.tail), tail);
}

/* Write an entry of the refill ring. */
static inline void zq_write(struct zq *q, unsigned long long off, unsigned int len,
			    unsigned int pad)
{
	struct io_uring_zcrx_rqe *rqes = (void *)(q->refill + q->reg.offsets.rqes);

	rqes[q->tail++ & (q->reg.rq_entries - 1)] =
		(struct io_uring_zcrx_rqe){ .off = off, .len = len, .__pad = pad };
	zq_set_tail(q, q->tail);
}

static inline int zq_ctrl(struct iou *r, unsigned int id, unsigned int op)
{
	struct zcrx_ctrl ctrl = { .zcrx_id = id, .op = op };

	return iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0);
}

static inline int zq_flush(struct iou *r, struct zq *q)
{
	return zq_ctrl(r, q->reg.zcrx_id, ZCRX_CTRL_FLUSH_RQ);
}

/* Flush all entries, as 7.3 stops behind one that is wrong.  Return: true if none is left. */
static inline bool zq_flush_all(struct iou *r, struct zq *q)
{
	unsigned int tries = 64;

	while (tries-- && zq_head(q) != q->tail)
		if (zq_flush(r, q))
			return false;
	return zq_head(q) == q->tail;
}

static inline int zq_arm(struct iou *r, unsigned int event)
{
	struct zcrx_ctrl ctrl = { .op = ZCRX_CTRL_ARM_EVENT, .zc_arm_event.event_type = event };

	return iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0);
}

static inline int zq_add(struct iou *r, struct io_uring_zcrx_area_reg *area)
{
	struct zcrx_ctrl ctrl = {
		.op = ZCRX_CTRL_ADD_AREA, .zc_area.area_ptr = (uintptr_t)area,
	};

	return iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0);
}

static inline int zq_add_area(struct iou *r, struct io_uring_zcrx_area_reg *area, void *mem,
			      size_t size)
{
	*area = (struct io_uring_zcrx_area_reg){ .addr = (uintptr_t)mem, .len = size };
	return zq_add(r, area);
}

/* Return: a descriptor of queue @id, or a negative errno. */
static inline int zq_export(struct iou *r, unsigned int id)
{
	struct zcrx_ctrl ctrl = { .zcrx_id = id, .op = ZCRX_CTRL_EXPORT };
	int ret = iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0);

	return ret ?: (int)ctrl.zc_export.zcrx_fd;
}

/* Return: the number of the imported queue, or a negative errno. */
static inline int zq_import(struct iou *r, int fd)
{
	struct io_uring_zcrx_ifq_reg reg = { .if_idx = fd, .flags = ZCRX_REG_IMPORT };
	int ret = iou_register(r, IORING_REGISTER_ZCRX_IFQ, &reg, 1);

	return ret ?: (int)reg.zcrx_id;
}

static inline struct io_uring_sqe *recv_zc(struct iou *r, int fd, unsigned int id)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_RECV_ZC, fd, NULL, 0, 0);

	sqe->ioprio = IORING_RECV_MULTISHOT;
	sqe->zcrx_ifq_idx = id;
	sqe->user_data = fd;
	return sqe;
}

/* A CQE, and the offset of the data */
struct piece {
	unsigned long long	user_data;
	unsigned long long	off;
	int			res;
	unsigned int		flags;
};

static inline int get_piece(struct iou *r, struct piece *p)
{
	struct io_uring_cqe *cqe = iou_next(r);
	unsigned int slots;

	*p = (struct piece){ .res = -ETIME };
	if (!cqe)
		return -ETIME;
	slots = iou_cqe_slots(r, cqe);
	*p = (struct piece){
		.user_data = cqe->user_data, .res = cqe->res,
		.flags = cqe->flags & ~IORING_CQE_F_32,
	};
	/* on a mixed ring, only CQEs with data have an offset */
	if (!(r->flags & IORING_SETUP_CQE_MIXED) || slots == 2)
		p->off = cqe->big_cqe[0];
	iou_seen(r, slots);
	return 0;
}

/* Return: the result of the next CQE. */
static inline int next_res(struct iou *r)
{
	struct piece p;

	return get_piece(r, &p) ?: p.res;
}

/* Send @len bytes of the stream that began @pos bytes before. */
static inline bool put(int fd, size_t len, unsigned long long pos)
{
	char buf[4096];

	while (len) {
		size_t n = len < sizeof(buf) ? len : sizeof(buf);

		iou_fill(buf, n, pos, 1);
		if (send(fd, buf, n, MSG_DONTWAIT) != (ssize_t)n)
			return false;
		len -= n;
		pos += n;
	}
	return true;
}

/* Return: true if a piece is in the first area, and has the bytes of the stream at @pos. */
static inline bool piece_is(struct zq *q, const struct piece *p, unsigned long long pos)
{
	return p->res > 0 && p->res <= (int)IOU_PAGE && p->off < q->size &&
	       p->off + p->res <= q->size && p->off % IOU_PAGE == 0 &&
	       p->flags == IORING_CQE_F_MORE && iou_verify(q->mem + p->off, p->res, pos, 1) < 0;
}

/* differences: none, 6.12 has no RECV_ZC */
static inline bool no_zcrx(void)
{
	return iou_on_older_stock();
}

#define SKIP_WITHOUT_ZCRX() do {					\
	if (no_zcrx())							\
		SKIP(return, "no RECV_ZC");				\
	if (getuid())							\
		SKIP(return, "needs root");				\
} while (0)

/* A row of a table: a field of struct zq, its value, and what the registration returns */
struct zq_row {
	size_t		at, size;
	__u64		value;
	int		ret;
	const char	*name;
};

#define ROW(field, number, err)						\
	{ offsetof(struct zq, field), sizeof(((struct zq *)0)->field), (number), (err), #field }

#endif
