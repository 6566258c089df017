// SPDX-License-Identifier: GPL-2.0
/* io_uring: from an opcode to its operation and its name */

/*
 * io_ops has an entry for each line of op/list.h.  The other opcodes are known
 * by name only and refuse every SQE, so that a kernel with fewer operations is a
 * working io_uring; IORING_REGISTER_PROBE tells programs which those are.
 *
 * The table has an entry for each value that the opcode's byte can have, so that
 * the submitter needs no check and no clamp against speculation.
 */
#include <linux/array_size.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/io_uring.h>

#include "op/list.h"

static int io_unsupported_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return -EOPNOTSUPP;
}

/* Not reached: what was refused is not issued. */
static enum io_result io_unsupported_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	WARN_ON_ONCE(1);
	return io_done(req, -EOPNOTSUPP);
}

const struct io_op io_op_unsupported = {
	.prep	= io_unsupported_prep,
	.issue	= io_unsupported_issue,
};

static int io_invalid_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return -EINVAL;
}

/* Numbers that are no opcode. */
static const struct io_op io_op_invalid = {
	.prep	= io_invalid_prep,
	.issue	= io_unsupported_issue,
};

#define IO_OP(opcode, record)			\
	[IORING_OP_##opcode] = &io_op_##record,

const struct io_op *const io_ops[IO_OPS] = {
	[0 ... IORING_OP_LAST - 1]	= &io_op_unsupported,
	[IORING_OP_LAST ... IO_OPS - 1]	= &io_op_invalid,
#include "op/list.h"
};

static const char *const io_op_names[] = {
	[IORING_OP_NOP]			= "NOP",
	[IORING_OP_READV]		= "READV",
	[IORING_OP_WRITEV]		= "WRITEV",
	[IORING_OP_FSYNC]		= "FSYNC",
	[IORING_OP_READ_FIXED]		= "READ_FIXED",
	[IORING_OP_WRITE_FIXED]		= "WRITE_FIXED",
	[IORING_OP_POLL_ADD]		= "POLL_ADD",
	[IORING_OP_POLL_REMOVE]		= "POLL_REMOVE",
	[IORING_OP_SYNC_FILE_RANGE]	= "SYNC_FILE_RANGE",
	[IORING_OP_SENDMSG]		= "SENDMSG",
	[IORING_OP_RECVMSG]		= "RECVMSG",
	[IORING_OP_TIMEOUT]		= "TIMEOUT",
	[IORING_OP_TIMEOUT_REMOVE]	= "TIMEOUT_REMOVE",
	[IORING_OP_ACCEPT]		= "ACCEPT",
	[IORING_OP_ASYNC_CANCEL]	= "ASYNC_CANCEL",
	[IORING_OP_LINK_TIMEOUT]	= "LINK_TIMEOUT",
	[IORING_OP_CONNECT]		= "CONNECT",
	[IORING_OP_FALLOCATE]		= "FALLOCATE",
	[IORING_OP_OPENAT]		= "OPENAT",
	[IORING_OP_CLOSE]		= "CLOSE",
	[IORING_OP_FILES_UPDATE]	= "FILES_UPDATE",
	[IORING_OP_STATX]		= "STATX",
	[IORING_OP_READ]		= "READ",
	[IORING_OP_WRITE]		= "WRITE",
	[IORING_OP_FADVISE]		= "FADVISE",
	[IORING_OP_MADVISE]		= "MADVISE",
	[IORING_OP_SEND]		= "SEND",
	[IORING_OP_RECV]		= "RECV",
	[IORING_OP_OPENAT2]		= "OPENAT2",
	[IORING_OP_EPOLL_CTL]		= "EPOLL",
	[IORING_OP_SPLICE]		= "SPLICE",
	[IORING_OP_PROVIDE_BUFFERS]	= "PROVIDE_BUFFERS",
	[IORING_OP_REMOVE_BUFFERS]	= "REMOVE_BUFFERS",
	[IORING_OP_TEE]			= "TEE",
	[IORING_OP_SHUTDOWN]		= "SHUTDOWN",
	[IORING_OP_RENAMEAT]		= "RENAMEAT",
	[IORING_OP_UNLINKAT]		= "UNLINKAT",
	[IORING_OP_MKDIRAT]		= "MKDIRAT",
	[IORING_OP_SYMLINKAT]		= "SYMLINKAT",
	[IORING_OP_LINKAT]		= "LINKAT",
	[IORING_OP_MSG_RING]		= "MSG_RING",
	[IORING_OP_FSETXATTR]		= "FSETXATTR",
	[IORING_OP_SETXATTR]		= "SETXATTR",
	[IORING_OP_FGETXATTR]		= "FGETXATTR",
	[IORING_OP_GETXATTR]		= "GETXATTR",
	[IORING_OP_SOCKET]		= "SOCKET",
	[IORING_OP_URING_CMD]		= "URING_CMD",
	[IORING_OP_SEND_ZC]		= "SEND_ZC",
	[IORING_OP_SENDMSG_ZC]		= "SENDMSG_ZC",
	[IORING_OP_READ_MULTISHOT]	= "READ_MULTISHOT",
	[IORING_OP_WAITID]		= "WAITID",
	[IORING_OP_FUTEX_WAIT]		= "FUTEX_WAIT",
	[IORING_OP_FUTEX_WAKE]		= "FUTEX_WAKE",
	[IORING_OP_FUTEX_WAITV]		= "FUTEX_WAITV",
	[IORING_OP_FIXED_FD_INSTALL]	= "FIXED_FD_INSTALL",
	[IORING_OP_FTRUNCATE]		= "FTRUNCATE",
	[IORING_OP_BIND]		= "BIND",
	[IORING_OP_LISTEN]		= "LISTEN",
};

static_assert(ARRAY_SIZE(io_op_names) == IORING_OP_LAST);

/* Documented in linux/io_uring.h. */
const char *io_uring_get_opcode(u8 opcode)
{
	return opcode < IORING_OP_LAST ? io_op_names[opcode] : "INVALID";
}
