/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring: what a socket offers to IORING_OP_URING_CMD */
#ifndef _LINUX_IO_URING_NET_H
#define _LINUX_IO_URING_NET_H
/*
 * net/socket.c names io_uring_cmd_sock() as every socket's ->uring_cmd.  The
 * commands are enum io_uring_socket_op.
 */
#include <linux/errno.h>

struct io_uring_cmd;

#ifdef CONFIG_IO_URING
/**
 * io_uring_cmd_sock - run a command on a socket
 * @cmd: the command, @cmd->file is the socket
 * @issue_flags: enum io_uring_cmd_flags
 *
 * Context: task context, never blocks in IO_URING_F_NONBLOCK.
 * Return: the command's result, -EOPNOTSUPP if it is not known.
 */
int io_uring_cmd_sock(struct io_uring_cmd *cmd, unsigned int issue_flags);
#else
static inline int io_uring_cmd_sock(struct io_uring_cmd *cmd,
				    unsigned int issue_flags)
{
	return -EOPNOTSUPP;
}
#endif

#endif
