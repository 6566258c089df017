/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/* IORING_OP_RECV_ZC: queues that receive into memory of the program */
#ifndef LINUX_IO_ZCRX_H
#define LINUX_IO_ZCRX_H

#include <linux/types.h>

/* An entry of the refill ring: received memory that the program gives back */
struct io_uring_zcrx_rqe {
	__u64	off;		/* rq_area_token, plus the offset in the area */
	__u32	len;
	__u32	__pad;		/* 0 */
};

/* The second half of the CQE of a RECV_ZC */
struct io_uring_zcrx_cqe {
	__u64	off;		/* number of the area, and the offset in it */
	__u64	__pad;
};

/* The bits of io_uring_zcrx_cqe->off that are the number of an area */
#define IORING_ZCRX_AREA_SHIFT	48
#define IORING_ZCRX_AREA_MASK	(~(((__u64)1 << IORING_ZCRX_AREA_SHIFT) - 1))

/* Offsets in the region of a refill ring */
struct io_uring_zcrx_offsets {
	__u32	head;		/* __u32, the kernel writes */
	__u32	tail;		/* __u32, the program writes */
	__u32	rqes;		/* the entries */
	__u32	__resv2;
	__u64	__resv[2];
};

/* io_uring_zcrx_area_reg->flags */
enum io_uring_zcrx_area_flags {
	IORING_ZCRX_AREA_DMABUF		= 1,	/* the memory is a dma-buf */
};

/* Memory to receive into */
struct io_uring_zcrx_area_reg {
	__u64	addr;
	__u64	len;
	__u64	rq_area_token;	/* out: for io_uring_zcrx_rqe->off */
	__u32	flags;		/* IORING_ZCRX_AREA_* */
	__u32	dmabuf_fd;
	__u64	__resv2[2];
};

/* io_uring_zcrx_ifq_reg->flags */
enum zcrx_reg_flags {
	ZCRX_REG_IMPORT		= 1,	/* if_idx is a descriptor of ZCRX_CTRL_EXPORT */
	ZCRX_REG_NODEV		= 2,	/* no network device: data is copied into the areas */
};

/* io_uring_query_zcrx->features */
enum zcrx_features {
	ZCRX_FEATURE_RX_PAGE_SIZE	= 1 << 0,	/* io_uring_zcrx_ifq_reg->rx_buf_len */
	ZCRX_FEATURE_EVENT		= 1 << 1,	/* io_uring_zcrx_ifq_reg->event_desc */
};

/* Events of a queue, for which the program can get a CQE */
enum zcrx_event_type {
	ZCRX_EVENT_ALLOC_FAIL,	/* the areas are used up */
	ZCRX_EVENT_COPY,	/* data was copied */

	__ZCRX_EVENT_TYPE_LAST,
};

/* zcrx_event_desc->flags */
enum zcrx_event_desc_flags {
	ZCRX_EVENT_DESC_FLAG_STATS	= 1 << 0,	/* stats_offset is set */
};

/* Counts of a queue, which the kernel keeps in the region of the refill ring */
struct zcrx_stats {
	__u64	copy_count;	/* copies, each of which may have several CQEs */
	__u64	copy_bytes;
};

/* The CQEs and the counts that a program wants for the events of a queue */
struct zcrx_event_desc {
	__u64	user_data;	/* of the CQEs */
	__u32	type_mask;	/* events, a bit for each ZCRX_EVENT_* */
	__u32	flags;		/* ZCRX_EVENT_DESC_FLAG_* */
	__u64	stats_offset;	/* offset of a struct zcrx_stats in the region */
	__u64	__resv2[9];
};

/* IORING_REGISTER_ZCRX_IFQ */
struct io_uring_zcrx_ifq_reg {
	__u32	if_idx;		/* network device, or see ZCRX_REG_IMPORT */
	__u32	if_rxq;		/* its receive queue */
	__u32	rq_entries;	/* of the refill ring; out: rounded up to a power of two */
	__u32	flags;		/* ZCRX_REG_* */

	__u64	area_ptr;	/* struct io_uring_zcrx_area_reg * */
	__u64	region_ptr;	/* struct io_uring_region_desc *, for the refill ring */

	struct io_uring_zcrx_offsets	offsets;	/* out */
	__u32	zcrx_id;	/* out: for sqe->zcrx_ifq_idx */
	__u32	rx_buf_len;	/* bytes in one piece, or 0 for a page; out */
	__u64	event_desc;	/* struct zcrx_event_desc *, or 0 */
	__u64	__resv[2];
};

/* zcrx_ctrl->op */
enum zcrx_ctrl_op {
	ZCRX_CTRL_FLUSH_RQ,	/* take back the memory in the refill ring */
	ZCRX_CTRL_EXPORT,	/* get a descriptor, for ZCRX_REG_IMPORT */
	ZCRX_CTRL_ARM_EVENT,	/* let an event post a CQE again */
	ZCRX_CTRL_ADD_AREA,	/* add memory */

	__ZCRX_CTRL_LAST,
};

struct zcrx_ctrl_flush_rq {
	__u64	__resv[6];
};

struct zcrx_ctrl_export {
	__u32	zcrx_fd;	/* out */
	__u32	__resv1[11];
};

struct zcrx_ctrl_arm_event {
	__u32	event_type;	/* ZCRX_EVENT_* */
	__u32	__resv[11];
};

struct zcrx_ctrl_add_area {
	__u64	area_ptr;	/* struct io_uring_zcrx_area_reg * */
	__u64	__resv[5];
};

/* IORING_REGISTER_ZCRX_CTRL */
struct zcrx_ctrl {
	__u32	zcrx_id;
	__u32	op;		/* ZCRX_CTRL_* */
	__u64	__resv[2];

	union {
		struct zcrx_ctrl_export		zc_export;
		struct zcrx_ctrl_flush_rq	zc_flush;
		struct zcrx_ctrl_arm_event	zc_arm_event;
		struct zcrx_ctrl_add_area	zc_area;
	};
};

#endif
