/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/* IORING_REGISTER_QUERY: what this kernel's io_uring can do */
#ifndef LINUX_IO_URING_QUERY_H
#define LINUX_IO_URING_QUERY_H

#include <linux/types.h>

/* io_uring_query_hdr->query_op: the structure that query_data points to */
enum {
	IO_URING_QUERY_OPCODES		= 0,	/* struct io_uring_query_opcode */
	IO_URING_QUERY_ZCRX		= 1,	/* struct io_uring_query_zcrx */
	IO_URING_QUERY_SCQ		= 2,	/* struct io_uring_query_scq */
	IO_URING_QUERY_ZCRX_EVENT	= 3,	/* struct io_uring_query_zcrx_event */
};

/* One question; the kernel stores the answer, its size and a result */
struct io_uring_query_hdr {
	__u64 next_entry;	/* struct io_uring_query_hdr *, 0 in the last one */
	__u64 query_data;	/* where the answer goes */
	__u32 query_op;
	__u32 size;		/* in: room, at most a page; out: bytes of the answer in it */
	__s32 result;		/* in: 0; out: 0 or a negative error code */
	__u32 __resv[3];
};

/* Opcodes are below these numbers, and some numbers may have no meaning */
struct io_uring_query_opcode {
	__u32 nr_request_opcodes;	/* IORING_OP_* */
	__u32 nr_register_opcodes;	/* IORING_REGISTER_* */
	__u64 feature_flags;		/* all IORING_FEAT_* of rings */
	__u64 ring_setup_flags;		/* known IORING_SETUP_* */
	__u64 enter_flags;		/* known IORING_ENTER_* */
	__u64 sqe_flags;		/* known IOSQE_* */
	__u32 nr_query_opcodes;		/* IO_URING_QUERY_* */
	__u32 __pad;
};

/* Queues for IORING_OP_RECV_ZC, see zcrx.h */
struct io_uring_query_zcrx {
	__u64 register_flags;	/* known ZCRX_REG_* */
	__u64 area_flags;	/* known IORING_ZCRX_AREA_* */
	__u32 nr_ctrl_opcodes;	/* ZCRX_CTRL_* are below this number */
	__u32 features;		/* ZCRX_FEATURE_* */
	__u32 rq_hdr_size;	/* bytes before the entries of a refill ring */
	__u32 rq_hdr_alignment;
	__u64 __resv2;
};

/* Events and counts of these queues */
struct io_uring_query_zcrx_event {
	__u32 event_flags;	/* known events, a bit for each ZCRX_EVENT_* */
	__u32 stats_size;	/* bytes of struct zcrx_stats */
	__u32 stats_off_alignment;	/* of zcrx_event_desc->stats_offset */
	__u32 __resv1;
	__u64 __resv2[4];
};

/* What lies before the CQEs in the memory of a ring */
struct io_uring_query_scq {
	__u64 hdr_size;
	__u64 hdr_alignment;
};

#endif
