/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/* /dev/io_uring_mock: files without data, for tests of io_uring */
#ifndef LINUX_IO_URING_MOCK_FILE_H
#define LINUX_IO_URING_MOCK_FILE_H

#include <linux/types.h>

/*
 * sqe->cmd_op on /dev/io_uring_mock; sqe->addr and sqe->len are those of the argument, and the
 * commands need CAP_SYS_ADMIN
 */
enum {
	IORING_MOCK_MGR_CMD_PROBE	= 0,	/* struct io_uring_mock_probe */
	IORING_MOCK_MGR_CMD_CREATE	= 1,	/* struct io_uring_mock_create */
};

/* sqe->cmd_op on a mock file */
enum {
	/*
	 * Copy to a registered buffer, with IORING_URING_CMD_FIXED.  sqe->addr is a vector of
	 * parts of the buffer, sqe->len the number of parts, sqe->addr3 the other memory, and
	 * sqe->file_index has flags.  The result is the number of bytes.
	 */
	IORING_MOCK_CMD_COPY_REGBUF	= 0,
};

/* Flags of IORING_MOCK_CMD_COPY_REGBUF */
enum {
	IORING_MOCK_COPY_FROM		= 1,	/* copy from the registered buffer */
};

/* Parts of the driver; io_uring_mock_probe->features is the number of those that it has */
enum {
	IORING_MOCK_FEAT_CMD_COPY	= 0,	/* IORING_MOCK_CMD_COPY_REGBUF */
	IORING_MOCK_FEAT_RW_ZERO	= 1,	/* reads, which give zeroes, and writes */
	IORING_MOCK_FEAT_RW_NOWAIT	= 2,	/* IORING_MOCK_CREATE_F_SUPPORT_NOWAIT */
	IORING_MOCK_FEAT_RW_ASYNC	= 3,	/* io_uring_mock_create->rw_delay_ns */
	IORING_MOCK_FEAT_POLL		= 4,	/* IORING_MOCK_CREATE_F_POLL */

	IORING_MOCK_FEAT_END,
};

/* All zero when the command begins */
struct io_uring_mock_probe {
	__u64 features;
	__u64 __resv[9];
};

/* io_uring_mock_create->flags */
enum {
	IORING_MOCK_CREATE_F_SUPPORT_NOWAIT	= 1,	/* reads and writes may have RWF_NOWAIT */
	IORING_MOCK_CREATE_F_POLL		= 2,	/* the file has ->poll(), and is ready */
};

struct io_uring_mock_create {
	__u32 out_fd;		/* out: a descriptor of the file */
	__u32 flags;		/* IORING_MOCK_CREATE_F_* */
	__u64 file_size;	/* at most 1 GiB */
	__u64 rw_delay_ns;	/* time that a read or write takes, at most a second */
	__u64 __resv[13];	/* 0 */
};

#endif
