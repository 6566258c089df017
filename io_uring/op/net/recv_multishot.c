// SPDX-License-Identifier: GPL-2.0
/* io_uring: multishot RECV and RECVMSG - a CQE for each part of a stream or message */

/*
 * Each part of a stream, or each message, goes into the next buffer of a group and gets its
 * own CQE.  The request ends at the end of the stream, with an error, if the group is empty,
 * if the CQ is full, or if it is cancelled.  submit/multishot.c describes when it is issued.
 *
 * sqe->len of a RECV limits each part.  With sqe->optlen the request also ends after that number of
 * bytes.  The last part may exceed the number, unless it is a bundle, as on 7.3.
 *
 * Several messages may arrive before the program reaps a CQE, so one msghdr cannot describe
 * them all.  Instead each buffer of a RECVMSG begins with a header:
 *
 *	struct io_uring_recvmsg_out | name | control | payload
 *
 * The program's msghdr has the sizes of name and control, which are fixed for all messages.
 */
#include <net/sock.h>

#include "complete/fast.h"
#include "op/net/net.h"

/* Write the header and the sender's address in front of a message.  Return: 0 or -EFAULT. */
static int io_recvmsg_tell(struct io_net *net, const struct msghdr *msg, int ret)
{
	struct io_uring_recvmsg_out __user *out = u64_to_user_ptr(net->addr);
	struct io_uring_recvmsg_out head = {
		.namelen	= msg->msg_namelen,
		.controllen	= net->control_len - msg->msg_controllen,
		.payloadlen	= ret,
		.flags		= msg->msg_flags & ~MSG_CMSG_COMPAT,
	};
	u32 name_len = min_t(u32, msg->msg_namelen, net->name_room);

	if (copy_to_user(out, &head, sizeof(head)) ||
	    copy_to_user(out + 1, msg->msg_name, name_len))
		return -EFAULT;
	return 0;
}

/* Return: offset of the payload in a buffer. */
static u32 io_recvmsg_head(const struct io_net *net)
{
	return sizeof(struct io_uring_recvmsg_out) + net->name_room + net->control_len;
}

/**
 * io_recvmsg_multishot - attempt a multishot RECVMSG once
 * @req: the request, with a buffer from io_net_pick()
 * @sock: its socket
 * @msg: msghdr that the attempt fills in
 * @issue_flags: IO_URING_F_*
 *
 * Return: number of used bytes in the buffer, or a negative errno: -EFAULT if the buffer, or what
 * other requests have left of it, is too short for the header.
 */
int io_recvmsg_multishot(struct io_kiocb *req, struct socket *sock, struct msghdr *msg,
			 unsigned int issue_flags)
{
	struct io_net *net = io_net(req);
	u32 head = io_recvmsg_head(net);
	struct sockaddr_storage name;
	int ret, err;

	if (unlikely(net->len < head))
		return -EFAULT;
	io_net_msg_init(msg);
	/* without room for the name, its length in the header is 0 */
	msg->msg_name = net->name_room ? &name : NULL;
	/* the protocol reads these flags when it writes ancillary data */
	msg->msg_flags = net->msg_flags & (MSG_CMSG_CLOEXEC | MSG_CMSG_COMPAT);
	msg->msg_control_is_user = true;
	msg->msg_control_user = u64_to_user_ptr(net->addr + head - net->control_len);
	msg->msg_controllen = net->control_len;
	io_net_ask_inq(msg);
	iov_iter_ubuf(&msg->msg_iter, ITER_DEST, u64_to_user_ptr(net->addr + head),
		      net->len - head);
	ret = sock_recvmsg(sock, msg, io_net_flags(net, issue_flags));
	if (unlikely(ret < 0))
		return ret;
	/*
	 * After the end of a stream or an empty message this CQE is the last.  It has a buffer with
	 * the header.
	 */
	if (unlikely(!ret)) {
		req->flags &= ~REQ_F_MULTISHOT;
		io_req_show_cqe(req);
	}
	err = io_recvmsg_tell(net, msg, ret);
	/* with MSG_TRUNC @ret is the full length of the message, even if it was truncated */
	return unlikely(err) ? err : head + min_t(u32, ret, net->len - head);
}

/*
 * Return: true if the stream has ended or failed, which msg_inq does not report.  An end after this
 * check wakes the poll, but an end that came together with the data may have woken the poll before.
 */
static bool io_recv_has_ended(const struct sock *sk)
{
	return READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN || READ_ONCE(sk->sk_err);
}

/*
 * Return: true if an AF_UNIX socket is empty and has not ended.  On 6.12 AF_UNIX does not report
 * msg_inq, so check the queue; sk_is_readable() checks the second queue of a BPF sockmap's socket.
 */
static bool io_recv_is_empty(struct sock *sk)
{
	return sk->sk_family == AF_UNIX && skb_queue_empty_lockless(&sk->sk_receive_queue) &&
	       !io_recv_has_ended(sk) && !sk_is_readable(sk);
}

/* Handle an empty socket.  A MSG_DONTWAIT request ends with -EAGAIN, unless its poll is armed. */
static enum io_result io_recv_rest(struct io_kiocb *req, unsigned int issue_flags)
{
	if (likely(issue_flags & IO_URING_F_MULTISHOT ||
		   !(io_net(req)->msg_flags & MSG_DONTWAIT)))
		return IO_AGAIN;
	req->cqe.flags = 0;
	return io_done(req, -EAGAIN);
}

/*
 * Decide how a request continues after a CQE.  A socket that is known to be empty needs neither
 * another attempt nor a buffer, unless its end has to be reported.  For other sockets report
 * -ENOBUFS as soon as the group is empty, as 6.12 does.
 */
static enum io_result io_recv_more(struct io_kiocb *req, const struct msghdr *msg,
				   unsigned int issue_flags)
{
	struct sock *sk = sock_from_file(req->file)->sk;

	if (!msg->msg_inq) {
		enum io_result result = io_recv_rest(req, issue_flags);

		if (likely(!io_recv_has_ended(sk)) || result == IO_DONE)
			return result;
	}
	if (unlikely(!io_buf_more(req))) {
		req->cqe.flags = 0;
		return io_done(req, -ENOBUFS);
	}
	if (msg->msg_inq >= 0)
		return IO_MORE;
	if (io_recv_is_empty(sk))
		return io_recv_rest(req, issue_flags);
	return IO_MORE_IF_READY;
}

/*
 * Count received bytes.  The CQE of those that complete sqe->optlen is the last.  It has data, so
 * IOSQE_CQE_SKIP_SUCCESS does not hide it.
 */
static void io_recv_count(struct io_kiocb *req, int ret)
{
	struct io_net *net = io_net(req);

	if (ret <= 0)
		return;
	if (ret < net->total) {
		net->total -= ret;
		return;
	}
	req->flags &= ~REQ_F_MULTISHOT;
	io_req_show_cqe(req);
}

/**
 * io_recv_multishot_post - post the result of a multishot receive
 * @req: the request
 * @msg: msghdr that the attempt has filled in
 * @ret: result of the attempt
 * @cflags: CQE flags of the used buffers
 * @issue_flags: IO_URING_F_*
 *
 * Return: the result for ->issue().
 */
enum io_result io_recv_multishot_post(struct io_kiocb *req, const struct msghdr *msg, int ret,
				      u32 cflags, unsigned int issue_flags)
{
	if (msg->msg_inq > 0)
		cflags |= IORING_CQE_F_SOCK_NONEMPTY;
	if (unlikely(io_net(req)->total))
		io_recv_count(req, ret);
	if (likely(ret > 0 && req->flags & REQ_F_MULTISHOT &&
		   (io_post_more_fast(req, ret, cflags) || io_post_more(req, ret, cflags))))
		return io_recv_more(req, msg, issue_flags);
	req->cqe.flags = cflags;
	return io_done(req, io_no_restart(ret));
}

/**
 * io_net_received_multishot - handle an attempt of a multishot receive with one buffer
 * @req: a multishot receive that has selected the buffer
 * @msg: msghdr that the attempt has filled in
 * @ret: result of the attempt
 * @issue_flags: IO_URING_F_*
 *
 * Return: the result for ->issue().
 */
enum io_result io_net_received_multishot(struct io_kiocb *req, const struct msghdr *msg, int ret,
					 unsigned int issue_flags)
{
	bool lent = !req->picked.taken;
	u32 cflags;

	if (io_net_waits(io_net(req), ret, issue_flags)) {
		io_buf_unused(req);
		return IO_AGAIN;
	}
	/* with MSG_TRUNC the result counts bytes that did not fit */
	cflags = io_buf_used(req, min(ret, (int)io_net(req)->len), issue_flags);
	/* drop the rest of an incremental buffer that is too short for another header */
	if (unlikely(cflags & IORING_CQE_F_BUF_MORE) && req->opcode == IORING_OP_RECVMSG && lent &&
	    io_buf_retire(req, io_recvmsg_head(io_net(req))))
		cflags &= ~IORING_CQE_F_BUF_MORE;
	return io_recv_multishot_post(req, msg, ret, cflags, issue_flags);
}
