// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_URING_CMD on sockets */

/*
 * With these commands a server can query and configure each connection without system calls.
 * Like those calls, a command may wait for locks, such as the socket's, but not for data.
 * Only SOCKET_URING_OP_TX_TIMESTAMP waits for events, see timestamps.c.
 */
#include <asm/ioctls.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/io_uring/cmd.h>
#include <linux/io_uring/net.h>
#include <linux/net.h>
#include <linux/sockios.h>
#include <linux/sockptr.h>
#include <net/sock.h>

#include "op/net/timestamps.h"

/* Handle SIOCINQ and SIOCOUTQ.  Return: number of bytes, or a negative errno. */
static int io_cmd_sock_queue(struct socket *sock, int op)
{
	struct proto *prot = READ_ONCE(sock->sk->sk_prot);
	int bytes = 0, ret;

	if (!prot || !prot->ioctl)
		return -EOPNOTSUPP;
	ret = prot->ioctl(sock->sk, op, &bytes);
	return ret ?: bytes;
}

/* Get a socket option of SOL_SOCKET.  Return: length of its value, or a negative errno. */
static int io_cmd_sock_getopt(struct socket *sock, const struct io_uring_sqe *sqe, bool compat)
{
	void __user *val = u64_to_user_ptr(READ_ONCE(sqe->optval));
	int level = READ_ONCE(sqe->level);
	int len = READ_ONCE(sqe->optlen);
	int ret;

	if (level != SOL_SOCKET)
		return -EOPNOTSUPP;
	ret = do_sock_getsockopt(sock, compat, level, READ_ONCE(sqe->optname), USER_SOCKPTR(val),
				 KERNEL_SOCKPTR(&len));
	return ret ?: len;
}

static int io_cmd_sock_setopt(struct socket *sock, const struct io_uring_sqe *sqe, bool compat)
{
	void __user *val = u64_to_user_ptr(READ_ONCE(sqe->optval));

	return do_sock_setsockopt(sock, compat, READ_ONCE(sqe->level), READ_ONCE(sqe->optname),
				  USER_SOCKPTR(val), READ_ONCE(sqe->optlen));
}

/* Get the address of a socket, or of its peer.  Return: 0 or a negative errno. */
static int io_cmd_sock_getname(struct socket *sock, const struct io_uring_sqe *sqe)
{
	struct sockaddr __user *addr = u64_to_user_ptr(READ_ONCE(sqe->addr));
	int __user *len = u64_to_user_ptr(READ_ONCE(sqe->addr3));
	u32 peer = READ_ONCE(sqe->optlen);

	if (peer > 1 || READ_ONCE(sqe->len) || READ_ONCE(sqe->rw_flags))
		return -EINVAL;
	return do_getsockname(sock, peer, addr, len);
}

/* Documented in linux/io_uring/net.h. */
int io_uring_cmd_sock(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct socket *sock = cmd->file->private_data;
	bool compat = issue_flags & IO_URING_F_COMPAT;

	switch (cmd->cmd_op) {
	case SOCKET_URING_OP_SIOCINQ:
		return io_cmd_sock_queue(sock, SIOCINQ);
	case SOCKET_URING_OP_SIOCOUTQ:
		return io_cmd_sock_queue(sock, SIOCOUTQ);
	case SOCKET_URING_OP_GETSOCKOPT:
		return io_cmd_sock_getopt(sock, cmd->sqe, compat);
	case SOCKET_URING_OP_SETSOCKOPT:
		return io_cmd_sock_setopt(sock, cmd->sqe, compat);
	case SOCKET_URING_OP_TX_TIMESTAMP:
		return io_cmd_sock_timestamps(cmd, sock->sk, issue_flags);
	case SOCKET_URING_OP_GETSOCKNAME:
		return io_cmd_sock_getname(sock, cmd->sqe);
	default:
		return -EOPNOTSUPP;
	}
}
EXPORT_SYMBOL_GPL(io_uring_cmd_sock);
