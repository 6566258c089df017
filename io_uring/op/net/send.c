// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_SEND, SENDMSG - send through a socket */

/*
 * A request makes attempts until it is complete, see net.c.  A SEND may use one provided buffer,
 * several provided buffers, see msg_bundle.c, or a registered buffer.  Zero copy sends (zc.c) use
 * the functions for an attempt, too.
 */
#include "op/net/net.h"
#include "rsrc/bufs.h"

/* Issue a SEND of a bundle, of one provided buffer, of the rest of a bundle, or of a vector. */
static noinline enum io_result io_send_pieces(struct io_kiocb *req, struct socket *sock,
					      unsigned int issue_flags)
{
	struct msghdr msg __uninitialized;
	enum io_result result;
	int ret = 0;

	if (io_net_bundles(req, io_net(req), issue_flags))
		return io_send_bundle(req, sock, issue_flags);
	if (req->flags & REQ_F_BUFFER_SELECT)
		ret = io_net_pick(req, issue_flags);
	if (unlikely(ret))
		return io_done(req, ret);
	io_send_msg_init(req, &msg, issue_flags);
	io_net_iter(req, ITER_SOURCE, &msg.msg_iter);
	ret = io_send_msg(req, sock, &msg);
	req->cqe.flags = 0;
	result = io_net_sent(req, sock, ret, issue_flags);
	if (req->flags & REQ_F_BUFFER_SELECT)
		result = io_net_picked_end(req, result, issue_flags);
	return result;
}

/* Issue a SEND of data in a registered buffer. */
static noinline enum io_result io_send_fixed(struct io_kiocb *req, struct socket *sock,
					     unsigned int issue_flags)
{
	struct msghdr msg __uninitialized;
	int ret = io_net_iter_fixed(req, ITER_SOURCE, issue_flags, &msg.msg_iter);

	if (unlikely(ret))
		return io_done(req, ret);
	io_send_msg_init(req, &msg, issue_flags);
	/* a driver gets its memory back with the CQE, which no notification follows */
	if (io_buf_node(req->buf_node)->map->release)
		msg.msg_flags &= ~MSG_ZEROCOPY;
	return io_net_sent(req, sock, io_send_msg(req, sock, &msg), issue_flags);
}

static enum io_result io_send_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_net *net = io_net(req);
	enum io_result result;
	struct socket *sock = io_net_sock(req, &result);
	struct msghdr msg __uninitialized;

	if (unlikely(!sock))
		return result;
	if (unlikely(io_net_is_rare(net))) {
		if (io_net_holds(req, sock, issue_flags, &result))
			return result;
		if (net->how & IORING_RECVSEND_FIXED_BUF)
			return io_send_fixed(req, sock, issue_flags);
	}
	if (unlikely(req->flags & (REQ_F_BUFFER_SELECT | REQ_F_ASYNC_DATA)))
		return io_send_pieces(req, sock, issue_flags);
	io_send_msg_init(req, &msg, issue_flags);
	iov_iter_ubuf(&msg.msg_iter, ITER_SOURCE, u64_to_user_ptr(net->addr + net->done),
		      net->len - net->done);
	return io_net_sent(req, sock, io_send_msg(req, sock, &msg), issue_flags);
}

static enum io_result io_sendmsg_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	enum io_result result;
	struct socket *sock = io_net_begin(req, issue_flags, &result);
	struct msghdr msg __uninitialized;

	if (unlikely(!sock))
		return result;
	io_net_msg_init(&msg);
	io_net_iter(req, ITER_SOURCE, &msg.msg_iter);
	return io_net_sent(req, sock, io_sendmsg_attempt(req, sock, &msg, issue_flags),
			   issue_flags);
}

const struct io_op io_op_send = {
	.needs_file		= 1,
	.ioprio			= 1,
	.audit_skip		= 1,
	.unbound_nonreg_file	= 1,
	.buffer_select		= 1,
	.poll_out		= 1,
	.borrows_file		= 1,
	.prep			= io_send_prep,
	.issue			= io_send_issue,
	.fail			= io_net_fail,
};

const struct io_op io_op_sendmsg = {
	.needs_file		= 1,
	.ioprio			= 1,
	.unbound_nonreg_file	= 1,
	.poll_out		= 1,
	.borrows_file		= 1,
	.heeds_nonblock		= 1,
	.prep			= io_sendmsg_prep,
	.issue			= io_sendmsg_issue,
	.fail			= io_net_fail,
};
