/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/* IORING_REGISTER_BPF_FILTER: programs of classic BPF that allow or deny requests */
#ifndef LINUX_IO_URING_BPF_FILTER_H
#define LINUX_IO_URING_BPF_FILTER_H

#include <linux/types.h>

/*
 * What a filter can load, in words of 32 bits at offsets that are multiples of 4.  A filter that
 * returns 0 denies the request, which then ends with -EACCES; any other value allows it.
 */
struct io_uring_bpf_ctx {
	__u64 user_data;	/* the fields of the SQE */
	__u8 opcode;
	__u8 sqe_flags;
	__u8 pdu_size;		/* bytes of the following that the opcode has */
	__u8 pad[5];
	union {
		/* IORING_OP_SOCKET, as socket(2), but without the flags in type */
		struct {
			__u32 family;
			__u32 type;
			__u32 protocol;
		} socket;
		/* IORING_OP_OPENAT, without resolve, and IORING_OP_OPENAT2 */
		struct {
			__u64 flags;
			__u64 mode;
			__u64 resolve;
		} open;
		/* IORING_OP_CONNECT; only the family if it is neither AF_INET nor AF_INET6 */
		struct {
			__u32 family;
			__be16 port;
			__u8 pad[2];
			union {
				__be32 v4_addr;
				__u8 v6_addr[16];
			};
		} connect;
	};
};

/* io_uring_bpf_filter->flags */
enum {
	/* from now on deny each opcode that has no filter, also if a filter follows */
	IO_URING_BPF_FILTER_DENY_REST	= 1,
	/* refuse a filter for another pdu_size than the kernel's, not only for a larger one */
	IO_URING_BPF_FILTER_SZ_STRICT	= 2,
};

/* A filter for one opcode; all filters of an opcode have to allow a request */
struct io_uring_bpf_filter {
	__u32 opcode;		/* IORING_OP_* */
	__u32 flags;
	__u32 filter_len;	/* number of instructions */
	__u8 pdu_size;		/* in: what the program knows; out: what the kernel has */
	__u8 resv[3];
	__u64 filter_ptr;	/* struct sock_filter * */
	__u64 resv2[5];
};

/* io_uring_bpf->cmd_type */
enum {
	IO_URING_BPF_CMD_FILTER	= 1,	/* add a filter */
};

/* The argument of the registration, for a ring, or with -1 as the descriptor for a task */
struct io_uring_bpf {
	__u16 cmd_type;
	__u16 cmd_flags;	/* 0 */
	__u32 resv;
	union {
		struct io_uring_bpf_filter filter;
	};
};

#endif
