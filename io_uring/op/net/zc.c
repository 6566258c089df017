// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_SEND_ZC, SENDMSG_ZC - send the program's own pages */

/*
 * These ops send without a copy of the data.  The first CQE has the result, and is posted as soon
 * as the socket has accepted the data.  This CQE has IORING_CQE_F_MORE, because the network stack
 * may still read the data.  The program may reuse the memory after a second CQE, the notification
 * (notif.c).
 *
 * ->prep() allocates the notification before it checks flags and addresses.  So a send that fails
 * later, or is cancelled, posts a notification as well, as on 6.12: programs expect two CQEs.
 * All attempts share one notification.  The first attempt stores the charge for the pages, or the
 * registered buffer, in the notification.
 */
#include <linux/net.h>

#include "op/net/net.h"

/*
 * Begin an attempt.  Refuse a socket without support for zero copy before the request waits for
 * the socket.  Return: as io_net_begin().
 */
static struct socket *io_zc_begin(struct io_kiocb *req, unsigned int issue_flags,
				  enum io_result *result)
{
	struct socket *sock = io_net_sock(req, result);
	int ret;

	if (unlikely(!sock) || io_net(req)->how & IO_NET_BOUND)
		return sock;
	ret = -EOPNOTSUPP;
	if (likely(test_bit(SOCK_SUPPORT_ZC, &sock->flags))) {
		if (unlikely(io_net_holds(req, sock, issue_flags, result)))
			return NULL;
		ret = io_notif_bind(req, issue_flags);
	}
	if (likely(!ret))
		return sock;
	/* if the request has waited, req->poll has overwritten the flags */
	req->cqe.flags = IORING_CQE_F_MORE;
	*result = io_done(req, ret);
	return NULL;
}

/* Like io_net_sent(), but restore the CQE flags, which req->poll overwrites during a wait. */
static enum io_result io_zc_sent(struct io_kiocb *req, struct socket *sock, int ret,
				 unsigned int issue_flags)
{
	enum io_result result = io_net_sent(req, sock, ret, issue_flags);

	if (likely(result == IO_DONE))
		req->cqe.flags = IORING_CQE_F_MORE;
	return result;
}

static enum io_result io_send_zc_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	enum io_result result;
	struct socket *sock = io_zc_begin(req, issue_flags, &result);
	struct msghdr msg __uninitialized;

	if (unlikely(!sock))
		return result;
	io_send_msg_init(req, &msg, issue_flags);
	io_net_iter(req, ITER_SOURCE, &msg.msg_iter);
	io_notif_attach(req, &msg);
	return io_zc_sent(req, sock, io_send_msg(req, sock, &msg), issue_flags);
}

static enum io_result io_sendmsg_zc_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	enum io_result result;
	struct socket *sock = io_zc_begin(req, issue_flags, &result);
	struct msghdr msg __uninitialized;

	if (unlikely(!sock))
		return result;
	io_net_msg_init(&msg);
	io_net_iter(req, ITER_SOURCE, &msg.msg_iter);
	io_notif_attach(req, &msg);
	return io_zc_sent(req, sock, io_sendmsg_attempt(req, sock, &msg, issue_flags),
			  issue_flags);
}

static void io_zc_fail(struct io_kiocb *req)
{
	io_net_fail(req);
	req->cqe.flags = IORING_CQE_F_MORE;
}

const struct io_op io_op_send_zc = {
	.needs_file		= 1,
	.ioprio			= 1,
	.audit_skip		= 1,
	.unbound_nonreg_file	= 1,
	.poll_out		= 1,
	.borrows_file		= 1,
	.prep			= io_send_zc_prep,
	.issue			= io_send_zc_issue,
	/* called after the CQE of the send is posted, so the notification's CQE comes second */
	.cleanup		= io_notif_put,
	.fail			= io_zc_fail,
};

const struct io_op io_op_sendmsg_zc = {
	.needs_file		= 1,
	.ioprio			= 1,
	.unbound_nonreg_file	= 1,
	.poll_out		= 1,
	.borrows_file		= 1,
	.prep			= io_sendmsg_zc_prep,
	.issue			= io_sendmsg_zc_issue,
	.cleanup		= io_notif_put,
	.fail			= io_zc_fail,
};
