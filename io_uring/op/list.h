/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: every operation that is built, one line each */

/*
 * IO_OP(opcode, record): IORING_OP_<opcode> is what io_op_<record> does.  The
 * lines stand in the order of the opcodes.  An #include of this file gives the
 * records' declarations; op/table.c includes it once more, with an IO_OP() of its
 * own, and makes the table of it.  An opcode without a line is unsupported.
 */
#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

#include "op.h"

#ifndef IO_OP
#define IO_OP(opcode, record)	extern const struct io_op io_op_##record;
#endif

IO_OP(NOP, nop)
IO_OP(READV, readv)
IO_OP(WRITEV, writev)
IO_OP(FSYNC, fsync)
IO_OP(READ_FIXED, read_fixed)
IO_OP(WRITE_FIXED, write_fixed)
IO_OP(POLL_ADD, poll_add)
IO_OP(POLL_REMOVE, poll_remove)
IO_OP(SYNC_FILE_RANGE, sync_file_range)
#ifdef CONFIG_NET
IO_OP(SENDMSG, sendmsg)
IO_OP(RECVMSG, recvmsg)
#endif
IO_OP(TIMEOUT, timeout)
IO_OP(TIMEOUT_REMOVE, timeout_remove)
#ifdef CONFIG_NET
IO_OP(ACCEPT, accept)
#endif
IO_OP(ASYNC_CANCEL, async_cancel)
IO_OP(LINK_TIMEOUT, link_timeout)
#ifdef CONFIG_NET
IO_OP(CONNECT, connect)
#endif
IO_OP(FALLOCATE, fallocate)
IO_OP(OPENAT, openat)
IO_OP(CLOSE, close)
IO_OP(FILES_UPDATE, files_update)
IO_OP(STATX, statx)
IO_OP(READ, read)
IO_OP(WRITE, write)
#ifdef CONFIG_ADVISE_SYSCALLS
IO_OP(FADVISE, fadvise)
IO_OP(MADVISE, madvise)
#endif
#ifdef CONFIG_NET
IO_OP(SEND, send)
IO_OP(RECV, recv)
#endif
IO_OP(OPENAT2, openat2)
#ifdef CONFIG_EPOLL
IO_OP(EPOLL_CTL, epoll_ctl)
#endif
IO_OP(SPLICE, splice)
IO_OP(PROVIDE_BUFFERS, provide_buffers)
IO_OP(REMOVE_BUFFERS, remove_buffers)
IO_OP(TEE, tee)
#ifdef CONFIG_NET
IO_OP(SHUTDOWN, shutdown)
#endif
IO_OP(RENAMEAT, renameat)
IO_OP(UNLINKAT, unlinkat)
IO_OP(MKDIRAT, mkdirat)
IO_OP(SYMLINKAT, symlinkat)
IO_OP(LINKAT, linkat)
IO_OP(MSG_RING, msg_ring)
IO_OP(FSETXATTR, fsetxattr)
IO_OP(SETXATTR, setxattr)
IO_OP(FGETXATTR, fgetxattr)
IO_OP(GETXATTR, getxattr)
#ifdef CONFIG_NET
IO_OP(SOCKET, socket)
#endif
IO_OP(URING_CMD, uring_cmd)
#ifdef CONFIG_NET
IO_OP(SEND_ZC, send_zc)
IO_OP(SENDMSG_ZC, sendmsg_zc)
#endif
IO_OP(READ_MULTISHOT, read_multishot)
IO_OP(WAITID, waitid)
#ifdef CONFIG_FUTEX
IO_OP(FUTEX_WAIT, futex_wait)
IO_OP(FUTEX_WAKE, futex_wake)
IO_OP(FUTEX_WAITV, futex_waitv)
#endif
IO_OP(FIXED_FD_INSTALL, fixed_fd_install)
IO_OP(FTRUNCATE, ftruncate)
#ifdef CONFIG_NET
IO_OP(BIND, bind)
IO_OP(LISTEN, listen)
#endif

#undef IO_OP
