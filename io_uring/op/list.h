/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: every operation, one line each */

/*
 * IO_OP(opcode, record, config): io_op_<record> implements IORING_OP_<opcode>, if
 * the option <config> is set.  The lines are in the order of the opcodes.  An opcode
 * without a line is refused, like a number that is not an opcode.
 *
 * An #include of this file declares each struct io_op.  op/ops.c includes the file twice
 * more, with its own IO_OP(), for the table of operations and for their names.
 */
#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

#include "op.h"

#ifndef IO_OP
#define IO_OP(opcode, record, ...)	extern const struct io_op io_op_##record;
#endif

IO_OP(NOP, nop, CONFIG_IO_URING)
IO_OP(READV, readv, CONFIG_IO_URING)
IO_OP(WRITEV, writev, CONFIG_IO_URING)
IO_OP(FSYNC, fsync, CONFIG_IO_URING)
IO_OP(READ_FIXED, read_fixed, CONFIG_IO_URING)
IO_OP(WRITE_FIXED, write_fixed, CONFIG_IO_URING)
IO_OP(POLL_ADD, poll_add, CONFIG_IO_URING)
IO_OP(POLL_REMOVE, poll_remove, CONFIG_IO_URING)
IO_OP(SYNC_FILE_RANGE, sync_file_range, CONFIG_IO_URING)
IO_OP(SENDMSG, sendmsg, CONFIG_NET)
IO_OP(RECVMSG, recvmsg, CONFIG_NET)
IO_OP(TIMEOUT, timeout, CONFIG_IO_URING)
IO_OP(TIMEOUT_REMOVE, timeout_remove, CONFIG_IO_URING)
IO_OP(ACCEPT, accept, CONFIG_NET)
IO_OP(ASYNC_CANCEL, async_cancel, CONFIG_IO_URING)
IO_OP(LINK_TIMEOUT, link_timeout, CONFIG_IO_URING)
IO_OP(CONNECT, connect, CONFIG_NET)
IO_OP(FALLOCATE, fallocate, CONFIG_IO_URING)
IO_OP(OPENAT, openat, CONFIG_IO_URING)
IO_OP(CLOSE, close, CONFIG_IO_URING)
IO_OP(FILES_UPDATE, files_update, CONFIG_IO_URING)
IO_OP(STATX, statx, CONFIG_IO_URING)
IO_OP(READ, read, CONFIG_IO_URING)
IO_OP(WRITE, write, CONFIG_IO_URING)
IO_OP(FADVISE, fadvise, CONFIG_ADVISE_SYSCALLS)
IO_OP(MADVISE, madvise, CONFIG_ADVISE_SYSCALLS)
IO_OP(SEND, send, CONFIG_NET)
IO_OP(RECV, recv, CONFIG_NET)
IO_OP(OPENAT2, openat2, CONFIG_IO_URING)
IO_OP(EPOLL_CTL, epoll_ctl, CONFIG_EPOLL)
IO_OP(SPLICE, splice, CONFIG_IO_URING)
IO_OP(PROVIDE_BUFFERS, provide_buffers, CONFIG_IO_URING)
IO_OP(REMOVE_BUFFERS, remove_buffers, CONFIG_IO_URING)
IO_OP(TEE, tee, CONFIG_IO_URING)
IO_OP(SHUTDOWN, shutdown, CONFIG_NET)
IO_OP(RENAMEAT, renameat, CONFIG_IO_URING)
IO_OP(UNLINKAT, unlinkat, CONFIG_IO_URING)
IO_OP(MKDIRAT, mkdirat, CONFIG_IO_URING)
IO_OP(SYMLINKAT, symlinkat, CONFIG_IO_URING)
IO_OP(LINKAT, linkat, CONFIG_IO_URING)
IO_OP(MSG_RING, msg_ring, CONFIG_IO_URING)
IO_OP(FSETXATTR, fsetxattr, CONFIG_IO_URING)
IO_OP(SETXATTR, setxattr, CONFIG_IO_URING)
IO_OP(FGETXATTR, fgetxattr, CONFIG_IO_URING)
IO_OP(GETXATTR, getxattr, CONFIG_IO_URING)
IO_OP(SOCKET, socket, CONFIG_NET)
IO_OP(URING_CMD, uring_cmd, CONFIG_IO_URING)
IO_OP(SEND_ZC, send_zc, CONFIG_NET)
IO_OP(SENDMSG_ZC, sendmsg_zc, CONFIG_NET)
IO_OP(READ_MULTISHOT, read_multishot, CONFIG_IO_URING)
IO_OP(WAITID, waitid, CONFIG_IO_URING)
IO_OP(FUTEX_WAIT, futex_wait, CONFIG_FUTEX)
IO_OP(FUTEX_WAKE, futex_wake, CONFIG_FUTEX)
IO_OP(FUTEX_WAITV, futex_waitv, CONFIG_FUTEX)
IO_OP(FIXED_FD_INSTALL, fixed_fd_install, CONFIG_IO_URING)
IO_OP(FTRUNCATE, ftruncate, CONFIG_IO_URING)
IO_OP(BIND, bind, CONFIG_NET)
IO_OP(LISTEN, listen, CONFIG_NET)
IO_OP(RECV_ZC, recv_zc, CONFIG_INET)
IO_OP(EPOLL_WAIT, epoll_wait, CONFIG_EPOLL)
IO_OP(READV_FIXED, readv_fixed, CONFIG_IO_URING)
IO_OP(WRITEV_FIXED, writev_fixed, CONFIG_IO_URING)
IO_OP(PIPE, pipe, CONFIG_IO_URING)
IO_OP(NOP128, nop128, CONFIG_IO_URING)
IO_OP(URING_CMD128, uring_cmd128, CONFIG_IO_URING)

#undef IO_OP
