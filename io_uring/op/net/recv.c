// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_RECV, RECVMSG - receive from a socket */

/*
 * A request makes attempts until it is complete, see net.c.  This file has the attempts that use
 * one buffer.  msg_bundle.c has the attempts that use several provided buffers.
 * recv_multishot.c posts the CQEs of multishot requests.
 */
#include <linux/poll.h>
#include <net/tcp.h>

#include "op/net/net.h"

/* Attempt a RECV once.  Return: as sock_recvmsg(). */
static int io_recv_attempt(struct io_kiocb *req, struct socket *sock, struct msghdr *msg,
			   unsigned int issue_flags)
{
	struct io_net *net = io_net(req);

	io_recv_msg_init(msg);
	iov_iter_ubuf(&msg->msg_iter, ITER_DEST, u64_to_user_ptr(net->addr + net->done),
		      net->len - net->done);
	return sock_recvmsg(sock, msg, io_net_flags(net, issue_flags));
}

/* Handle the result @ret of a receive into a provided buffer. */
static enum io_result io_recv_picked_end(struct io_kiocb *req, struct socket *sock,
					 const struct msghdr *msg, int ret,
					 unsigned int issue_flags)
{
	enum io_result result;

	if (io_net(req)->how & IORING_RECV_MULTISHOT)
		return io_net_received_multishot(req, msg, ret, issue_flags);
	result = io_net_received(req, sock, msg, ret, issue_flags);
	/* nothing was received, so an unconsumed buffer stays in its group */
	if (unlikely(result == IO_DONE && !req->cqe.res && !req->picked.taken)) {
		io_buf_unused(req);
		return result;
	}
	return io_net_picked_end(req, result, issue_flags);
}

#define IO_RECV_EVENTS	(EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)

/*
 * Return: true if a receive gets -EAGAIN whenever the poll of its socket finds no event.  A
 * listening socket, one that is being repaired, or one without urgent data has an error instead.
 * SO_RCVLOWAT only holds back events.
 */
static bool io_recv_poll_decides(const struct io_net *net, const struct sock *sk)
{
	if (sk_is_tcp(sk) && tcp_sk(sk)->repair)
		return false;
	return (sk_is_inet(sk) || sk->sk_family == AF_UNIX) && READ_ONCE(sk->sk_rcvlowat) <= 1 &&
	       READ_ONCE(sk->sk_state) != TCP_LISTEN && !(net->msg_flags & MSG_OOB);
}

/*
 * Return: true if a receive on a worker waits for its socket.  It must not have a buffer meanwhile,
 * which other receives may need.  Without any buffer it ends instead, with -ENOBUFS.
 */
static noinline bool io_recv_waits_unpicked(struct io_kiocb *req, const struct socket *sock,
					    unsigned int issue_flags)
{
	const struct io_net *net = io_net(req);

	return !(req->flags & REQ_F_PICKED) && io_net_waits(net, -EAGAIN, issue_flags) &&
	       io_recv_poll_decides(net, sock->sk) &&
	       !(vfs_poll(req->file, NULL) & IO_RECV_EVENTS) && io_buf_offered(req);
}

/* Issue a RECV into one provided buffer, or into a bundle. */
static noinline enum io_result io_recv_picked(struct io_kiocb *req, struct socket *sock,
					      unsigned int issue_flags)
{
	struct msghdr msg __uninitialized;
	int ret;

	if (io_net_bundles(req, io_net(req), issue_flags))
		return io_recv_bundle(req, sock, issue_flags);
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED) &&
	    io_recv_waits_unpicked(req, sock, issue_flags))
		return IO_AGAIN;
	ret = io_net_pick(req, issue_flags);
	if (unlikely(ret))
		return io_done(req, ret);
	ret = io_recv_attempt(req, sock, &msg, issue_flags);
	return io_recv_picked_end(req, sock, &msg, ret, issue_flags);
}

/* Issue a RECV into a registered buffer. */
static noinline enum io_result io_recv_fixed(struct io_kiocb *req, struct socket *sock,
					     unsigned int issue_flags)
{
	struct io_net *net = io_net(req);
	struct msghdr msg __uninitialized;
	int ret = io_net_iter_fixed(req, ITER_DEST, issue_flags, &msg.msg_iter);

	if (unlikely(ret))
		return io_done(req, ret);
	io_recv_msg_init(&msg);
	ret = sock_recvmsg(sock, &msg, io_net_flags(net, issue_flags));
	return io_net_received(req, sock, &msg, ret, issue_flags);
}

static enum io_result io_recv_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_net *net = io_net(req);
	enum io_result result;
	struct socket *sock = io_net_sock(req, &result);
	struct msghdr msg __uninitialized;
	int ret;

	if (unlikely(!sock))
		return result;
	if (unlikely(io_net_is_rare(net))) {
		if (io_net_holds(req, sock, issue_flags, &result))
			return result;
		if (net->how & IORING_RECVSEND_FIXED_BUF)
			return io_recv_fixed(req, sock, issue_flags);
	}
	if (unlikely(req->flags & REQ_F_BUFFER_SELECT))
		return io_recv_picked(req, sock, issue_flags);
	ret = io_recv_attempt(req, sock, &msg, issue_flags);
	return io_net_received(req, sock, &msg, ret, issue_flags);
}

/* Attempt a single-shot RECVMSG once.  Return: as sock_recvmsg(). */
static int io_recvmsg_attempt(struct io_kiocb *req, struct socket *sock, struct msghdr *msg,
			      unsigned int issue_flags)
{
	struct io_net *net = io_net(req);

	io_net_msg_init(msg);
	msg->msg_control_user = net->control;
	msg->msg_control_is_user = true;
	msg->msg_controllen = net->control_len;
	io_net_ask_inq(msg);
	io_net_iter(req, ITER_DEST, &msg->msg_iter);
	return __sys_recvmsg_sock(sock, msg, net->umsg, net->uname,
				  io_net_flags(net, issue_flags));
}

/* Issue a RECVMSG into a provided buffer. */
static noinline enum io_result io_recvmsg_picked(struct io_kiocb *req, struct socket *sock,
						 unsigned int issue_flags)
{
	bool many = io_net(req)->how & IORING_RECV_MULTISHOT;
	struct msghdr msg __uninitialized;
	int ret;

	if (unlikely(issue_flags & IO_URING_F_UNLOCKED) &&
	    io_recv_waits_unpicked(req, sock, issue_flags))
		return IO_AGAIN;
	ret = io_net_pick(req, issue_flags);
	if (unlikely(ret))
		return io_done(req, ret);
	msg.msg_inq = -1;
	msg.msg_flags = 0;
	if (many)
		ret = io_recvmsg_multishot(req, sock, &msg, issue_flags);
	else
		ret = io_recvmsg_attempt(req, sock, &msg, issue_flags);
	return io_recv_picked_end(req, sock, &msg, ret, issue_flags);
}

static enum io_result io_recvmsg_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	enum io_result result;
	struct socket *sock = io_net_begin(req, issue_flags, &result);
	struct msghdr msg __uninitialized;
	int ret;

	if (unlikely(!sock))
		return result;
	if (unlikely(req->flags & REQ_F_BUFFER_SELECT))
		return io_recvmsg_picked(req, sock, issue_flags);
	ret = io_recvmsg_attempt(req, sock, &msg, issue_flags);
	return io_net_received(req, sock, &msg, ret, issue_flags);
}

const struct io_op io_op_recv = {
	.needs_file		= 1,
	.ioprio			= 1,
	.audit_skip		= 1,
	.unbound_nonreg_file	= 1,
	.buffer_select		= 1,
	.poll_in		= 1,
	.borrows_file		= 1,
	.prep			= io_recv_prep,
	.issue			= io_recv_issue,
	.fail			= io_net_fail,
};

const struct io_op io_op_recvmsg = {
	.needs_file		= 1,
	.ioprio			= 1,
	.unbound_nonreg_file	= 1,
	.buffer_select		= 1,
	.poll_in		= 1,
	.borrows_file		= 1,
	.heeds_nonblock		= 1,
	.prep			= io_recvmsg_prep,
	.issue			= io_recvmsg_issue,
	.fail			= io_net_fail,
};
