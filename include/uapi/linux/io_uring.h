/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/* io_uring: the binary interface to user space */
/*
 * Everything that crosses the border between user space and io_uring: the
 * arguments of io_uring_setup(2), io_uring_enter(2) and io_uring_register(2),
 * and the layout of the memory that both sides share.  Numbers and layouts are
 * fixed for good; a reserved field or an unknown bit has to be zero and is
 * refused with -EINVAL otherwise, which is what lets it gain a meaning later.
 *
 * This file can stand in a library next to older kernel headers: define
 * UAPI_LINUX_IO_URING_H_SKIP_LINUX_TIME_TYPES_H where linux/time_types.h is
 * missing, and give struct __kernel_timespec by other means.
 */
#ifndef LINUX_IO_URING_H
#define LINUX_IO_URING_H

#include <linux/fs.h>
#include <linux/io_uring/zcrx.h>
#include <linux/stddef.h>
#include <linux/types.h>
#ifndef UAPI_LINUX_IO_URING_H_SKIP_LINUX_TIME_TYPES_H
#include <linux/time_types.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Submission queue entry: one request, 64 bytes, or 128 bytes on a ring with
 * IORING_SETUP_SQE128.  Which member of a union counts depends on the opcode.
 */
struct io_uring_sqe {
	__u8	opcode;		/* enum io_uring_op */
	__u8	flags;		/* IOSQE_* */
	__u16	ioprio;		/* I/O priority, or the flags of some opcodes */
	__s32	fd;		/* descriptor, or slot with IOSQE_FIXED_FILE */
	union {
		__u64	off;	/* position in the file, -1: the current one */
		__u64	addr2;
		struct {
			__u32	cmd_op;
			__u32	__pad1;
		};
	};
	union {
		__u64	addr;	/* user memory: buffer, iovec array, path */
		__u64	splice_off_in;
		struct {
			__u32	level;
			__u32	optname;
		};
	};
	__u32	len;		/* bytes, or entries of an iovec array */
	union {
		__kernel_rwf_t	rw_flags;
		__u32		fsync_flags;
		__u16		poll_events;	/* 16 bit form, for old users */
		__u32		poll32_events;	/* halves swapped on big endian */
		__u32		sync_range_flags;
		__u32		msg_flags;
		__u32		timeout_flags;
		__u32		accept_flags;
		__u32		cancel_flags;
		__u32		open_flags;
		__u32		statx_flags;
		__u32		fadvise_advice;
		__u32		splice_flags;
		__u32		rename_flags;
		__u32		unlink_flags;
		__u32		hardlink_flags;
		__u32		xattr_flags;
		__u32		msg_ring_flags;
		__u32		uring_cmd_flags;
		__u32		waitid_flags;
		__u32		futex_flags;
		__u32		install_fd_flags;
		__u32		nop_flags;
		__u32		pipe_flags;
	};
	__u64	user_data;	/* comes back in the CQE, not looked at */
	/* packed, or the old ARM ABI would round the union up to 32 bits */
	union {
		__u16	buf_index;	/* registered buffer */
		__u16	buf_group;	/* with IOSQE_BUFFER_SELECT */
	} __attribute__((packed));
	__u16	personality;	/* registered credentials, 0: the submitter's */
	union {
		__s32	splice_fd_in;
		__u32	file_index;	/* direct descriptor, plus one */
		__u32	zcrx_ifq_idx;	/* io_uring_zcrx_ifq_reg->zcrx_id */
		__u32	optlen;
		struct {
			__u16	addr_len;
			__u16	__pad3[1];
		};
		struct {
			__u8	write_stream;
			__u8	__pad4[3];
		};
	};
	union {
		struct {
			__u64	addr3;
			__u64	__pad2[1];
		};
		struct {
			__u64	attr_ptr;	/* struct io_uring_attr_pi */
			__u64	attr_type_mask;	/* IORING_RW_ATTR_FLAG_* */
		};
		__u64	optval;
		/* command bytes: 16, or 80 with IORING_SETUP_SQE128 */
		__DECLARE_FLEX_ARRAY(__u8, cmd);
	};
};

/* sqe->attr_type_mask of reads and writes: sqe->attr_ptr is a struct io_uring_attr_pi */
#define IORING_RW_ATTR_FLAG_PI		(1U << 0)

/* protection information that goes with the data, for a direct transfer of a block device */
struct io_uring_attr_pi {
	__u16	flags;		/* IO_INTEGRITY_CHK_* */
	__u16	app_tag;
	__u32	len;
	__u64	addr;		/* user memory with @len bytes of metadata */
	__u64	seed;		/* reference tag of the first block */
	__u64	rsvd;		/* 0 */
};

/*
 * In sqe->file_index of an opcode that installs a direct descriptor: the
 * kernel picks a free slot and returns it in cqe->res, or -ENFILE.
 */
#define IORING_FILE_INDEX_ALLOC		(~0U)

enum io_uring_sqe_flags_bit {
	IOSQE_FIXED_FILE_BIT,
	IOSQE_IO_DRAIN_BIT,
	IOSQE_IO_LINK_BIT,
	IOSQE_IO_HARDLINK_BIT,
	IOSQE_ASYNC_BIT,
	IOSQE_BUFFER_SELECT_BIT,
	IOSQE_CQE_SKIP_SUCCESS_BIT,
};

/* sqe->flags: sqe->fd is a slot of the registered files */
#define IOSQE_FIXED_FILE	(1U << IOSQE_FIXED_FILE_BIT)
/* start only once everything submitted before has finished */
#define IOSQE_IO_DRAIN		(1U << IOSQE_IO_DRAIN_BIT)
/* the next SQE starts after this one, and is cancelled if this one fails */
#define IOSQE_IO_LINK		(1U << IOSQE_IO_LINK_BIT)
/* like IOSQE_IO_LINK, but a failure does not cut the chain */
#define IOSQE_IO_HARDLINK	(1U << IOSQE_IO_HARDLINK_BIT)
/* start in a worker, make no attempt to finish inline */
#define IOSQE_ASYNC		(1U << IOSQE_ASYNC_BIT)
/* take a provided buffer of group sqe->buf_group */
#define IOSQE_BUFFER_SELECT	(1U << IOSQE_BUFFER_SELECT_BIT)
/* a success posts no CQE */
#define IOSQE_CQE_SKIP_SUCCESS	(1U << IOSQE_CQE_SKIP_SUCCESS_BIT)

/* io_uring_params->flags: completions are found by polling the device */
#define IORING_SETUP_IOPOLL	(1U << 0)
/* a kernel thread takes the SQEs */
#define IORING_SETUP_SQPOLL	(1U << 1)
/* that thread is bound to io_uring_params->sq_thread_cpu */
#define IORING_SETUP_SQ_AFF	(1U << 2)
/* io_uring_params->cq_entries is given */
#define IORING_SETUP_CQSIZE	(1U << 3)
/* sizes above the limit are reduced to it instead of refused */
#define IORING_SETUP_CLAMP	(1U << 4)
/* share the SQPOLL thread and workers of io_uring_params->wq_fd */
#define IORING_SETUP_ATTACH_WQ	(1U << 5)
/* nothing can be submitted before IORING_REGISTER_ENABLE_RINGS */
#define IORING_SETUP_R_DISABLED	(1U << 6)
/* a bad SQE does not end the submission of those behind it */
#define IORING_SETUP_SUBMIT_ALL	(1U << 7)
/* finish requests when the task enters the kernel anyway, interrupt it never */
#define IORING_SETUP_COOP_TASKRUN	(1U << 8)
/* IORING_SQ_TASKRUN tells that such work waits; with COOP or DEFER_TASKRUN */
#define IORING_SETUP_TASKRUN_FLAG	(1U << 9)
/* SQEs of 128 bytes */
#define IORING_SETUP_SQE128		(1U << 10)
/* CQEs of 32 bytes */
#define IORING_SETUP_CQE32		(1U << 11)
/* one task alone submits; others get -EEXIST */
#define IORING_SETUP_SINGLE_ISSUER	(1U << 12)
/* finish requests only when that task asks for events */
#define IORING_SETUP_DEFER_TASKRUN	(1U << 13)
/* the rings are in user memory given by sq_off.user_addr, cq_off.user_addr */
#define IORING_SETUP_NO_MMAP		(1U << 14)
/* return an index of the registered rings instead of a descriptor */
#define IORING_SETUP_REGISTERED_FD_ONLY	(1U << 15)
/* SQEs are taken in ring order, without the index array */
#define IORING_SETUP_NO_SQARRAY		(1U << 16)
/* with IOPOLL: a wait sleeps for a part of its expected time before it polls */
#define IORING_SETUP_HYBRID_IOPOLL	(1U << 17)
/* CQEs of 16 bytes, and of 32 bytes in two slots: those have IORING_CQE_F_32 */
#define IORING_SETUP_CQE_MIXED		(1U << 18)
/* SQEs of 64 bytes, and of 128 bytes in two slots: NOP128 and URING_CMD128 */
#define IORING_SETUP_SQE_MIXED		(1U << 19)
/* each call takes SQEs from the first slot on, heads and tails of the SQ do not count */
#define IORING_SETUP_SQ_REWIND		(1U << 20)

enum io_uring_op {
	IORING_OP_NOP,
	IORING_OP_READV,
	IORING_OP_WRITEV,
	IORING_OP_FSYNC,
	IORING_OP_READ_FIXED,
	IORING_OP_WRITE_FIXED,
	IORING_OP_POLL_ADD,
	IORING_OP_POLL_REMOVE,
	IORING_OP_SYNC_FILE_RANGE,
	IORING_OP_SENDMSG,
	IORING_OP_RECVMSG,
	IORING_OP_TIMEOUT,
	IORING_OP_TIMEOUT_REMOVE,
	IORING_OP_ACCEPT,
	IORING_OP_ASYNC_CANCEL,
	IORING_OP_LINK_TIMEOUT,
	IORING_OP_CONNECT,
	IORING_OP_FALLOCATE,
	IORING_OP_OPENAT,
	IORING_OP_CLOSE,
	IORING_OP_FILES_UPDATE,
	IORING_OP_STATX,
	IORING_OP_READ,
	IORING_OP_WRITE,
	IORING_OP_FADVISE,
	IORING_OP_MADVISE,
	IORING_OP_SEND,
	IORING_OP_RECV,
	IORING_OP_OPENAT2,
	IORING_OP_EPOLL_CTL,
	IORING_OP_SPLICE,
	IORING_OP_PROVIDE_BUFFERS,
	IORING_OP_REMOVE_BUFFERS,
	IORING_OP_TEE,
	IORING_OP_SHUTDOWN,
	IORING_OP_RENAMEAT,
	IORING_OP_UNLINKAT,
	IORING_OP_MKDIRAT,
	IORING_OP_SYMLINKAT,
	IORING_OP_LINKAT,
	IORING_OP_MSG_RING,
	IORING_OP_FSETXATTR,
	IORING_OP_SETXATTR,
	IORING_OP_FGETXATTR,
	IORING_OP_GETXATTR,
	IORING_OP_SOCKET,
	IORING_OP_URING_CMD,
	IORING_OP_SEND_ZC,
	IORING_OP_SENDMSG_ZC,
	IORING_OP_READ_MULTISHOT,
	IORING_OP_WAITID,
	IORING_OP_FUTEX_WAIT,
	IORING_OP_FUTEX_WAKE,
	IORING_OP_FUTEX_WAITV,
	IORING_OP_FIXED_FD_INSTALL,
	IORING_OP_FTRUNCATE,
	IORING_OP_BIND,
	IORING_OP_LISTEN,
	IORING_OP_RECV_ZC,
	IORING_OP_EPOLL_WAIT,
	IORING_OP_READV_FIXED,
	IORING_OP_WRITEV_FIXED,
	IORING_OP_PIPE,
	/* with SQEs of 128 bytes: IORING_SETUP_SQE128 or SQE_MIXED */
	IORING_OP_NOP128,
	IORING_OP_URING_CMD128,

	IORING_OP_LAST,
};

/* sqe->uring_cmd_flags: sqe->buf_index names a registered buffer */
#define IORING_URING_CMD_FIXED		(1U << 0)
/* the command posts several CQEs, each for a buffer of sqe->buf_group; with IOSQE_BUFFER_SELECT */
#define IORING_URING_CMD_MULTISHOT	(1U << 1)
/* what user space may set; the highest eight bits are the kernel's */
#define IORING_URING_CMD_MASK		(IORING_URING_CMD_FIXED | IORING_URING_CMD_MULTISHOT)

/* sqe->fsync_flags: fdatasync() */
#define IORING_FSYNC_DATASYNC	(1U << 0)

/* sqe->timeout_flags */
#define IORING_TIMEOUT_ABS		(1U << 0)
#define IORING_TIMEOUT_UPDATE		(1U << 1)
#define IORING_TIMEOUT_BOOTTIME		(1U << 2)
#define IORING_TIMEOUT_REALTIME		(1U << 3)
#define IORING_LINK_TIMEOUT_UPDATE	(1U << 4)
/* -ETIME is no failure: a linked request goes on */
#define IORING_TIMEOUT_ETIME_SUCCESS	(1U << 5)
/* fires again and again */
#define IORING_TIMEOUT_MULTISHOT	(1U << 6)
/* the field that else points to the time has the time itself, in nanoseconds */
#define IORING_TIMEOUT_IMMEDIATE_ARG	(1U << 7)
#define IORING_TIMEOUT_CLOCK_MASK	(IORING_TIMEOUT_BOOTTIME | IORING_TIMEOUT_REALTIME)
#define IORING_TIMEOUT_UPDATE_MASK	(IORING_TIMEOUT_UPDATE | IORING_LINK_TIMEOUT_UPDATE)

/* sqe->splice_flags, beside splice(2)'s own: splice_fd_in is a fixed file */
#define SPLICE_F_FD_IN_FIXED	(1U << 31)

/* sqe->len of POLL_ADD and POLL_REMOVE: more than one event */
#define IORING_POLL_ADD_MULTI		(1U << 0)
/* change a poll request that sqe->addr names by its user_data */
#define IORING_POLL_UPDATE_EVENTS	(1U << 1)
#define IORING_POLL_UPDATE_USER_DATA	(1U << 2)
/* level triggered instead of edge triggered */
#define IORING_POLL_ADD_LEVEL		(1U << 3)

/* sqe->cancel_flags: every match, not the first one only */
#define IORING_ASYNC_CANCEL_ALL		(1U << 0)
/* match by file */
#define IORING_ASYNC_CANCEL_FD		(1U << 1)
/* match everything */
#define IORING_ASYNC_CANCEL_ANY		(1U << 2)
/* sqe->fd is a slot of the registered files */
#define IORING_ASYNC_CANCEL_FD_FIXED	(1U << 3)
/* match by user_data, which is also what happens without any key */
#define IORING_ASYNC_CANCEL_USERDATA	(1U << 4)
/* match by opcode */
#define IORING_ASYNC_CANCEL_OP		(1U << 5)

/* sqe->ioprio of send and receive: wait for readiness first */
#define IORING_RECVSEND_POLL_FIRST	(1U << 0)
/* receive until told otherwise, each CQE but the last with CQE_F_MORE */
#define IORING_RECV_MULTISHOT		(1U << 1)
/* sqe->buf_index names a registered buffer */
#define IORING_RECVSEND_FIXED_BUF	(1U << 2)
/* the notification's result says whether data had to be copied */
#define IORING_SEND_ZC_REPORT_USAGE	(1U << 3)
/* use as many provided buffers as fit, from the CQE's buffer id on */
#define IORING_RECVSEND_BUNDLE		(1U << 4)
/* SEND and SEND_ZC: sqe->addr is a vector with sqe->len entries */
#define IORING_SEND_VECTORIZED		(1U << 5)

/* cqe->res of such a notification, a bit among reserved ones */
#define IORING_NOTIF_USAGE_ZC_COPIED    (1U << 31)

/* sqe->ioprio of ACCEPT */
#define IORING_ACCEPT_MULTISHOT		(1U << 0)
#define IORING_ACCEPT_DONTWAIT		(1U << 1)
#define IORING_ACCEPT_POLL_FIRST	(1U << 2)

/* sqe->addr of MSG_RING */
enum io_uring_msg_ring_flags {
	IORING_MSG_DATA,	/* a CQE made of sqe->off and sqe->len */
	IORING_MSG_SEND_FD,	/* a registered file, to the other ring's table */
};

/* sqe->msg_ring_flags: SEND_FD posts no CQE at the target */
#define IORING_MSG_RING_CQE_SKIP	(1U << 0)
/* sqe->file_index becomes the target CQE's flags */
#define IORING_MSG_RING_FLAGS_PASS	(1U << 1)

/* sqe->install_fd_flags: the new descriptor survives exec */
#define IORING_FIXED_FD_NO_CLOEXEC	(1U << 0)

/*
 * sqe->nop_flags: the result is sqe->len; look up sqe->fd, or the registered file of that
 * number with both flags; look up the registered buffer sqe->buf_index; complete from task
 * work; post a 32-byte CQE that ends with sqe->off and sqe->addr
 */
#define IORING_NOP_INJECT_RESULT	(1U << 0)
#define IORING_NOP_FILE			(1U << 1)
#define IORING_NOP_FIXED_FILE		(1U << 2)
#define IORING_NOP_FIXED_BUFFER		(1U << 3)
#define IORING_NOP_TW			(1U << 4)
#define IORING_NOP_CQE32		(1U << 5)

/* Completion queue entry */
struct io_uring_cqe {
	__u64	user_data;	/* the SQE's */
	__s32	res;		/* result or negative errno */
	__u32	flags;		/* IORING_CQE_F_* */
	__u64	big_cqe[];	/* two words more with IORING_SETUP_CQE32 or F_32 */
};

/* cqe->flags: the upper half is the id of the provided buffer used */
#define IORING_CQE_F_BUFFER		(1U << 0)
/* the request will post more CQEs */
#define IORING_CQE_F_MORE		(1U << 1)
/* the socket has more to read */
#define IORING_CQE_F_SOCK_NONEMPTY	(1U << 2)
/* zero-copy send: the kernel no longer needs the buffer */
#define IORING_CQE_F_NOTIF		(1U << 3)
/* the buffer is used up in part only and stays the kernel's */
#define IORING_CQE_F_BUF_MORE		(1U << 4)
/* no result: fills a slot, so that the next CQE of 32 bytes does not wrap around */
#define IORING_CQE_F_SKIP		(1U << 5)
/* with IORING_SETUP_CQE_MIXED: the CQE has 32 bytes */
#define IORING_CQE_F_32			(1U << 15)

#define IORING_CQE_BUFFER_SHIFT		16

/* mmap(2) offsets; a buffer ring's group id is shifted into its own */
#define IORING_OFF_SQ_RING		0ULL
#define IORING_OFF_CQ_RING		0x8000000ULL
#define IORING_OFF_SQES			0x10000000ULL
#define IORING_OFF_PBUF_RING		0x80000000ULL
#define IORING_OFF_PBUF_SHIFT		16
#define IORING_OFF_MMAP_MASK		0xf8000000ULL

/* Where the members of the SQ ring are in its mapping, in bytes */
struct io_sqring_offsets {
	__u32 head;
	__u32 tail;
	__u32 ring_mask;
	__u32 ring_entries;
	__u32 flags;
	__u32 dropped;
	__u32 array;
	__u32 resv1;
	__u64 user_addr;	/* in, with IORING_SETUP_NO_MMAP */
};

/* SQ ring flags: the SQPOLL thread sleeps, IORING_ENTER_SQ_WAKEUP wakes it */
#define IORING_SQ_NEED_WAKEUP	(1U << 0)
/* CQEs wait in the kernel for room in the CQ ring */
#define IORING_SQ_CQ_OVERFLOW	(1U << 1)
/* completions wait for the task to enter the kernel */
#define IORING_SQ_TASKRUN	(1U << 2)

/* Where the members of the CQ ring are in its mapping, in bytes */
struct io_cqring_offsets {
	__u32 head;
	__u32 tail;
	__u32 ring_mask;
	__u32 ring_entries;
	__u32 overflow;
	__u32 cqes;
	__u32 flags;
	__u32 resv1;
	__u64 user_addr;	/* in, with IORING_SETUP_NO_MMAP */
};

/* CQ ring flags, set by user space: do not signal the eventfd */
#define IORING_CQ_EVENTFD_DISABLED	(1U << 0)

/* io_uring_enter(2) flags: wait for min_complete completions */
#define IORING_ENTER_GETEVENTS		(1U << 0)
/* wake the SQPOLL thread */
#define IORING_ENTER_SQ_WAKEUP		(1U << 1)
/* wait until the SQ ring has room */
#define IORING_ENTER_SQ_WAIT		(1U << 2)
/* the last arguments are a struct io_uring_getevents_arg and its size */
#define IORING_ENTER_EXT_ARG		(1U << 3)
/* fd is an index of the registered rings */
#define IORING_ENTER_REGISTERED_RING	(1U << 4)
/* the timeout is a point in time */
#define IORING_ENTER_ABS_TIMER		(1U << 5)
/* with EXT_ARG: the argument is the offset of a struct io_uring_reg_wait in the memory region */
#define IORING_ENTER_EXT_ARG_REG	(1U << 6)
/* the wait does not count as a wait for I/O in the statistics of the system */
#define IORING_ENTER_NO_IOWAIT		(1U << 7)

/* io_uring_setup(2): wishes in, what became of them out */
struct io_uring_params {
	__u32 sq_entries;
	__u32 cq_entries;
	__u32 flags;
	__u32 sq_thread_cpu;
	__u32 sq_thread_idle;	/* milliseconds */
	__u32 features;
	__u32 wq_fd;
	__u32 resv[3];
	struct io_sqring_offsets sq_off;
	struct io_cqring_offsets cq_off;
};

/* io_uring_params->features: one mapping holds SQ and CQ ring */
#define IORING_FEAT_SINGLE_MMAP		(1U << 0)
/* a full CQ ring loses nothing */
#define IORING_FEAT_NODROP		(1U << 1)
/* what an SQE points to may change once it is submitted */
#define IORING_FEAT_SUBMIT_STABLE	(1U << 2)
/* position -1 is the file's own */
#define IORING_FEAT_RW_CUR_POS		(1U << 3)
/* a request runs with the credentials of the task that submits it */
#define IORING_FEAT_CUR_PERSONALITY	(1U << 4)
/* requests on pollable files need no worker to wait */
#define IORING_FEAT_FAST_POLL		(1U << 5)
/* sqe->poll32_events */
#define IORING_FEAT_POLL_32BITS		(1U << 6)
/* SQPOLL works with plain descriptors */
#define IORING_FEAT_SQPOLL_NONFIXED	(1U << 7)
/* IORING_ENTER_EXT_ARG */
#define IORING_FEAT_EXT_ARG		(1U << 8)
/* workers are threads of the submitting process */
#define IORING_FEAT_NATIVE_WORKERS	(1U << 9)
/* registered files and buffers may carry tags */
#define IORING_FEAT_RSRC_TAGS		(1U << 10)
/* IOSQE_CQE_SKIP_SUCCESS */
#define IORING_FEAT_CQE_SKIP		(1U << 11)
/* a linked request looks its file up when its turn comes */
#define IORING_FEAT_LINKED_FILE		(1U << 12)
/* IORING_REGISTER_USE_REGISTERED_RING */
#define IORING_FEAT_REG_REG_RING	(1U << 13)
/* IORING_RECVSEND_BUNDLE */
#define IORING_FEAT_RECVSEND_BUNDLE	(1U << 14)
/* io_uring_getevents_arg->min_wait_usec */
#define IORING_FEAT_MIN_TIMEOUT		(1U << 15)
/* sqe->attr_type_mask */
#define IORING_FEAT_RW_ATTR		(1U << 16)
/* IORING_ENTER_NO_IOWAIT */
#define IORING_FEAT_NO_IOWAIT		(1U << 17)

/* io_uring_register(2) */
enum io_uring_register_op {
	IORING_REGISTER_BUFFERS			= 0,
	IORING_UNREGISTER_BUFFERS		= 1,
	IORING_REGISTER_FILES			= 2,
	IORING_UNREGISTER_FILES			= 3,
	IORING_REGISTER_EVENTFD			= 4,
	IORING_UNREGISTER_EVENTFD		= 5,
	IORING_REGISTER_FILES_UPDATE		= 6,
	IORING_REGISTER_EVENTFD_ASYNC		= 7,
	IORING_REGISTER_PROBE			= 8,
	IORING_REGISTER_PERSONALITY		= 9,
	IORING_UNREGISTER_PERSONALITY		= 10,
	IORING_REGISTER_RESTRICTIONS		= 11,
	IORING_REGISTER_ENABLE_RINGS		= 12,

	/* with tags */
	IORING_REGISTER_FILES2			= 13,
	IORING_REGISTER_FILES_UPDATE2		= 14,
	IORING_REGISTER_BUFFERS2		= 15,
	IORING_REGISTER_BUFFERS_UPDATE		= 16,

	/* the workers: on which CPUs, how many */
	IORING_REGISTER_IOWQ_AFF		= 17,
	IORING_UNREGISTER_IOWQ_AFF		= 18,
	IORING_REGISTER_IOWQ_MAX_WORKERS	= 19,

	/* rings of this task that calls may name by index */
	IORING_REGISTER_RING_FDS		= 20,
	IORING_UNREGISTER_RING_FDS		= 21,

	/* rings of provided buffers */
	IORING_REGISTER_PBUF_RING		= 22,
	IORING_UNREGISTER_PBUF_RING		= 23,

	/* cancel and wait until it is done */
	IORING_REGISTER_SYNC_CANCEL		= 24,

	/* the file slots that IORING_FILE_INDEX_ALLOC picks from */
	IORING_REGISTER_FILE_ALLOC_RANGE	= 25,

	/* where a ring of provided buffers stands */
	IORING_REGISTER_PBUF_STATUS		= 26,

	/* busy polling of network devices while waiting */
	IORING_REGISTER_NAPI			= 27,
	IORING_UNREGISTER_NAPI			= 28,

	/* the clock of timeouts given to io_uring_enter(2) */
	IORING_REGISTER_CLOCK			= 29,

	/* take over the registered buffers of another ring */
	IORING_REGISTER_CLONE_BUFFERS		= 30,

	/* a MSG_RING without a ring of the sender: the descriptor is -1, the argument an SQE */
	IORING_REGISTER_SEND_MSG_RING		= 31,

	/* a queue that receives into memory of the program, see io_uring/zcrx.h */
	IORING_REGISTER_ZCRX_IFQ		= 32,

	/* other sizes of the queues: io_uring_params, in and out; map the memory anew afterwards */
	IORING_REGISTER_RESIZE_RINGS		= 33,

	/* memory that the program and the kernel share, for arguments of waits */
	IORING_REGISTER_MEM_REGION		= 34,

	/* what this kernel can do, see io_uring/query.h; the descriptor may be -1 */
	IORING_REGISTER_QUERY			= 35,

	/* change a queue of IORING_REGISTER_ZCRX_IFQ, see enum zcrx_ctrl_op */
	IORING_REGISTER_ZCRX_CTRL		= 36,

	/* filters for requests, see io_uring/bpf_filter.h; the descriptor may be -1 */
	IORING_REGISTER_BPF_FILTER		= 37,

	IORING_REGISTER_LAST,

	/* or-ed in: fd is an index of the registered rings */
	IORING_REGISTER_USE_REGISTERED_RING	= 1U << 31
};

/* Workers whose work ends by itself, and those whose work may not */
enum io_wq_type {
	IO_WQ_BOUND,
	IO_WQ_UNBOUND,
};

/* IORING_REGISTER_FILES_UPDATE, the form of struct io_uring_rsrc_update */
struct io_uring_files_update {
	__u32 offset;
	__u32 resv;
	__aligned_u64 fds;	/* __s32 * */
};

/* io_uring_rsrc_register->flags: empty slots, no data is read */
#define IORING_RSRC_REGISTER_SPARSE	(1U << 0)

/* IORING_REGISTER_FILES2, IORING_REGISTER_BUFFERS2 */
struct io_uring_rsrc_register {
	__u32 nr;
	__u32 flags;
	__u64 resv2;
	__aligned_u64 data;
	__aligned_u64 tags;
};

struct io_uring_rsrc_update {
	__u32 offset;
	__u32 resv;
	__aligned_u64 data;
};

/* IORING_REGISTER_FILES_UPDATE2, IORING_REGISTER_BUFFERS_UPDATE */
struct io_uring_rsrc_update2 {
	__u32 offset;
	__u32 resv;
	__aligned_u64 data;
	__aligned_u64 tags;
	__u32 nr;
	__u32 resv2;
};

/* In an array of descriptors for an update: leave this slot as it is */
#define IORING_REGISTER_FILES_SKIP	(-2)

/* io_uring_probe_op->flags */
#define IO_URING_OP_SUPPORTED	(1U << 0)

struct io_uring_probe_op {
	__u8 op;
	__u8 resv;
	__u16 flags;
	__u32 resv2;
};

/* IORING_REGISTER_PROBE */
struct io_uring_probe {
	__u8 last_op;	/* highest opcode known */
	__u8 ops_len;	/* entries filled in below */
	__u16 resv;
	__u32 resv2[3];
	struct io_uring_probe_op ops[];
};

/* IORING_REGISTER_RESTRICTIONS: an array of these; it restricts what it names, or all if empty */
struct io_uring_restriction {
	__u16 opcode;	/* enum io_uring_register_restriction_op */
	union {
		__u8 register_op;
		__u8 sqe_op;
		__u8 sqe_flags;
	};
	__u8 resv;
	__u32 resv2[3];
};

/* IORING_REGISTER_RESTRICTIONS with -1 as the descriptor: for the calling task and its children */
struct io_uring_task_restriction {
	__u16 flags;	/* 0 */
	__u16 nr_res;	/* entries of the array; without any, nothing is allowed */
	__u32 resv[3];
	struct io_uring_restriction restrictions[];
};

/* IORING_REGISTER_CLOCK */
struct io_uring_clock_register {
	__u32	clockid;
	__u32	__resv[3];
};

/*
 * io_uring_clone_buffers->flags: src_fd is an index of the registered rings; buffers in the
 * slots are replaced
 */
enum {
	IORING_REGISTER_SRC_REGISTERED	= (1U << 0),
	IORING_REGISTER_DST_REPLACE	= (1U << 1),
};

/* IORING_REGISTER_CLONE_BUFFERS: nr buffers, all if the last three numbers are 0 */
struct io_uring_clone_buffers {
	__u32	src_fd;
	__u32	flags;
	__u32	src_off;
	__u32	dst_off;
	__u32	nr;
	__u32	pad[3];
};

/* One provided buffer in a ring of them */
struct io_uring_buf {
	__u64	addr;
	__u32	len;
	__u16	bid;
	__u16	resv;
};

/* Such a ring; its tail lies over the first buffer's reserved field */
struct io_uring_buf_ring {
	union {
		struct {
			__u64	resv1;
			__u32	resv2;
			__u16	resv3;
			__u16	tail;
		};
		__DECLARE_FLEX_ARRAY(struct io_uring_buf, bufs);
	};
};

/* io_uring_buf_reg->flags */
enum io_uring_register_pbuf_ring_flags {
	/* kernel memory, to be mapped at IORING_OFF_PBUF_RING */
	IOU_PBUF_RING_MMAP	= 1,
	/* a buffer is used up bit by bit, by one request after the other */
	IOU_PBUF_RING_INC	= 2,
};

/* IORING_REGISTER_PBUF_RING, IORING_UNREGISTER_PBUF_RING */
struct io_uring_buf_reg {
	__u64	ring_addr;
	__u32	ring_entries;
	__u16	bgid;
	__u16	flags;
	__u32	min_left;	/* IOU_PBUF_RING_INC: less room is none */
	__u32	resv[5];
};

/* IORING_REGISTER_PBUF_STATUS */
struct io_uring_buf_status {
	__u32	buf_group;	/* in */
	__u32	head;		/* out */
	__u32	resv[8];
};

/* io_uring_napi->opcode */
enum io_uring_napi_op {
	/* begin, or change the settings; op_param says how devices are found */
	IO_URING_NAPI_REGISTER_OP	= 0,
	/* with static tracking: op_param is a NAPI ID to poll, or to poll no more */
	IO_URING_NAPI_STATIC_ADD_ID	= 1,
	IO_URING_NAPI_STATIC_DEL_ID	= 2,
};

/* io_uring_napi->op_param of IO_URING_NAPI_REGISTER_OP */
enum io_uring_napi_tracking_strategy {
	IO_URING_NAPI_TRACKING_DYNAMIC	= 0,	/* those of the ring's sockets */
	IO_URING_NAPI_TRACKING_STATIC	= 1,	/* those that the program adds */
	IO_URING_NAPI_TRACKING_INACTIVE	= 255,	/* only out: nothing was registered */
};

/* IORING_REGISTER_NAPI, IORING_UNREGISTER_NAPI; out: the values until now */
struct io_uring_napi {
	__u32	busy_poll_to;	/* microseconds, at most 10000 count */
	__u8	prefer_busy_poll;
	__u8	opcode;
	__u8	pad[2];
	__u32	op_param;
	__u32	resv;
};

/* io_uring_restriction->opcode: what the entry allows or asks for */
enum io_uring_register_restriction_op {
	IORING_RESTRICTION_REGISTER_OP		= 0,
	IORING_RESTRICTION_SQE_OP		= 1,
	IORING_RESTRICTION_SQE_FLAGS_ALLOWED	= 2,
	IORING_RESTRICTION_SQE_FLAGS_REQUIRED	= 3,

	IORING_RESTRICTION_LAST
};

/* IORING_ENTER_EXT_ARG */
struct io_uring_getevents_arg {
	__u64	sigmask;
	__u32	sigmask_sz;
	__u32	min_wait_usec;	/* one event is enough after that long */
	__u64	ts;		/* struct __kernel_timespec * */
};

/* io_uring_reg_wait->flags: ts limits the wait */
enum {
	IORING_REG_WAIT_TS	= (1U << 0),
};

/* IORING_ENTER_EXT_ARG_REG: the same in a region */
struct io_uring_reg_wait {
	struct __kernel_timespec	ts;
	__u32				min_wait_usec;
	__u32				flags;
	__u64				sigmask;
	__u32				sigmask_sz;
	__u32				pad[3];
	__u64				pad2[2];
};

/* io_uring_region_desc->flags: the program's own memory, at user_addr */
enum {
	IORING_MEM_REGION_TYPE_USER	= 1,
};

/* Memory for a region; without TYPE_USER it is the kernel's, to be mapped at mmap_offset */
struct io_uring_region_desc {
	__u64	user_addr;
	__u64	size;
	__u32	flags;
	__u32	id;
	__u64	mmap_offset;	/* out */
	__u64	__resv[4];
};

/* io_uring_mem_region_reg->flags: for waits with IORING_ENTER_EXT_ARG_REG */
enum {
	IORING_MEM_REGION_REG_WAIT_ARG	= 1,
};

/* IORING_REGISTER_MEM_REGION */
struct io_uring_mem_region_reg {
	__u64	region_uptr;	/* struct io_uring_region_desc * */
	__u64	flags;
	__u64	__resv[2];
};

/* IORING_REGISTER_SYNC_CANCEL */
struct io_uring_sync_cancel_reg {
	__u64				addr;	/* user_data */
	__s32				fd;
	__u32				flags;	/* IORING_ASYNC_CANCEL_* */
	struct __kernel_timespec	timeout;
	__u8				opcode;
	__u8				pad[7];
	__u64				pad2[3];
};

/* IORING_REGISTER_FILE_ALLOC_RANGE: len slots from off on */
struct io_uring_file_index_range {
	__u32	off;
	__u32	len;
	__u64	resv;
};

/* What a multishot RECVMSG puts at the start of each buffer */
struct io_uring_recvmsg_out {
	__u32 namelen;
	__u32 controllen;
	__u32 payloadlen;
	__u32 flags;
};

/* sqe->cmd_op of URING_CMD on a socket */
enum io_uring_socket_op {
	SOCKET_URING_OP_SIOCINQ		= 0,
	SOCKET_URING_OP_SIOCOUTQ,
	SOCKET_URING_OP_GETSOCKOPT,
	SOCKET_URING_OP_SETSOCKOPT,
	SOCKET_URING_OP_TX_TIMESTAMP,
	SOCKET_URING_OP_GETSOCKNAME,
};

/*
 * CQEs of SOCKET_URING_OP_TX_TIMESTAMP, which is multishot and needs 32-byte CQEs: res is the key
 * of the timestamp (SOF_TIMESTAMPING_OPT_ID), flags also have one of SCM_TSTAMP_* from bit
 * IORING_TIMESTAMP_TYPE_SHIFT on, and the extra words are a struct io_timespec.
 */
#define IORING_TIMESTAMP_HW_SHIFT	16
#define IORING_TIMESTAMP_TYPE_SHIFT	(IORING_TIMESTAMP_HW_SHIFT + 1)
/* the time is that of the network card, not that of the system */
#define IORING_CQE_F_TSTAMP_HW		(1U << IORING_TIMESTAMP_HW_SHIFT)

struct io_timespec {
	__u64	tv_sec;
	__u64	tv_nsec;
};

#ifdef __cplusplus
}
#endif

#endif
