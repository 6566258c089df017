// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_SEND, SENDMSG - send through a socket */

#include "op/net.h"

static enum io_result io_send_issue(struct io_kiocb *req, unsigned int issue_flags)
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
	if (unlikely(net->name_len)) {
		struct io_net_async *async = req->async_data;

		msg.msg_name = req->flags & REQ_F_ASYNC_DATA ? (void *)&async->name : net->name;
		msg.msg_namelen = net->name_len;
	}
	iov_iter_ubuf(&msg.msg_iter, ITER_SOURCE, u64_to_user_ptr(net->addr + net->done),
		      net->len - net->done);
	msg.msg_flags = io_net_flags(net, issue_flags);
	ret = sock_sendmsg(sock, &msg);
	if (likely(io_net_complete(net, ret)))
		return io_done(req, ret);
	return io_net_incomplete(req, sock, ret, 0, issue_flags);
}

static enum io_result io_sendmsg_issue(struct io_kiocb *req, unsigned int issue_flags)
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
	if (unlikely(net->name_len)) {
		struct io_net_async *async = req->async_data;

		msg.msg_name = &async->name;
		msg.msg_namelen = net->name_len;
	}
	io_net_iter(req, ITER_SOURCE, &msg.msg_iter);
	msg.msg_flags = io_net_flags(net, issue_flags);
	/* ancillary data goes with the first part */
	if (unlikely(net->control_len) && !net->done) {
		msg.msg_control_user = net->control;
		msg.msg_control_is_user = true;
		msg.msg_controllen = net->control_len;
		ret = __sys_sendmsg_sock(sock, &msg, msg.msg_flags);
	} else {
		ret = sock_sendmsg(sock, &msg);
	}
	if (likely(io_net_complete(net, ret)))
		return io_done(req, ret);
	return io_net_incomplete(req, sock, ret, 0, issue_flags);
}

const struct io_op io_op_send = {
	.needs_file		= 1,
	.ioprio			= 1,
	.audit_skip		= 1,
	.unbound_nonreg_file	= 1,
	.poll_out		= 1,
	.prep			= io_send_prep,
	.issue			= io_send_issue,
	.fail			= io_net_fail,
};

const struct io_op io_op_sendmsg = {
	.needs_file		= 1,
	.ioprio			= 1,
	.unbound_nonreg_file	= 1,
	.poll_out		= 1,
	.prep			= io_sendmsg_prep,
	.issue			= io_sendmsg_issue,
	.fail			= io_net_fail,
};
