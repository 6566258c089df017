// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_RECV, RECVMSG - receive from a socket */

#include "op/net.h"

static enum io_result io_recv_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct socket *sock = sock_from_file(req->file);
	struct io_net *net = io_net(req);
	struct msghdr msg;
	int ret;

	if (unlikely(!sock))
		return io_done(req, -ENOTSOCK);
	if (unlikely(io_net_poll_first(net)))
		return io_net_incomplete(req, sock, -EAGAIN, 0, IO_URING_F_NONBLOCK);
	io_net_msg_init(&msg);
	msg.msg_control_is_user = false;
	msg.msg_flags = 0;
	io_net_ask_inq(&msg);
	iov_iter_ubuf(&msg.msg_iter, ITER_DEST, u64_to_user_ptr(net->addr + net->done),
		      net->len - net->done);
	ret = sock_recvmsg(sock, &msg, io_net_flags(net, issue_flags));
	return io_net_received(req, sock, &msg, ret, issue_flags);
}

static enum io_result io_recvmsg_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct socket *sock = sock_from_file(req->file);
	struct io_net *net = io_net(req);
	struct msghdr msg;
	int ret;

	if (unlikely(!sock))
		return io_done(req, -ENOTSOCK);
	if (unlikely(io_net_poll_first(net)))
		return io_net_incomplete(req, sock, -EAGAIN, 0, IO_URING_F_NONBLOCK);
	msg.msg_control_user = net->control;
	msg.msg_control_is_user = true;
	msg.msg_controllen = net->control_len;
	msg.msg_iocb = NULL;
	msg.msg_ubuf = NULL;
	io_net_ask_inq(&msg);
	io_net_iter(req, ITER_DEST, &msg.msg_iter);
	ret = __sys_recvmsg_sock(sock, &msg, net->umsg, net->uname,
				 io_net_flags(net, issue_flags));
	return io_net_received(req, sock, &msg, ret, issue_flags);
}

const struct io_op io_op_recv = {
	.needs_file		= 1,
	.ioprio			= 1,
	.audit_skip		= 1,
	.unbound_nonreg_file	= 1,
	.poll_in		= 1,
	.prep			= io_recv_prep,
	.issue			= io_recv_issue,
	.fail			= io_net_fail,
};

const struct io_op io_op_recvmsg = {
	.needs_file		= 1,
	.ioprio			= 1,
	.unbound_nonreg_file	= 1,
	.poll_in		= 1,
	.prep			= io_recvmsg_prep,
	.issue			= io_recvmsg_issue,
	.fail			= io_net_fail,
};
