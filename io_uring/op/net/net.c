// SPDX-License-Identifier: GPL-2.0
/* io_uring: sends and receives: handling of attempts, and the end of a request */

/*
 * A stream socket may move only a part of the data.  With MSG_WAITALL further attempts follow until
 * all data is moved; io_net->done counts the bytes.  Without MSG_WAITALL a part ends the request.
 */
#include "op/net/net.h"
#include "rsrc/bufs.h"

/**
 * io_net_async_alloc - allocate memory for a long address or a vector
 * @req: a send or receive that has no such memory yet
 * @nr_segs: number of entries in the vector
 *
 * Return: the memory, which is freed with the request, or NULL.
 */
struct io_net_async *io_net_async_alloc(struct io_kiocb *req, unsigned int nr_segs)
{
	struct io_net_async *async = io_req_alloc_async(req, struct_size(async, iov, nr_segs));

	if (async)
		async->nr_segs = nr_segs;
	return async;
}

/*
 * Send to the request's destination address.  The protocol gets a copy with room for any address,
 * because a BPF program of the cgroup may replace the address.  @control: the request may have
 * ancillary data.  Return: as sock_sendmsg().
 */
noinline int io_send_to_name(struct io_kiocb *req, struct socket *sock, struct msghdr *msg,
			     bool control)
{
	struct io_net_async *async = req->async_data;
	struct io_net *net = io_net(req);
	struct sockaddr_storage name __uninitialized;

	memcpy(&name, req->flags & REQ_F_ASYNC_DATA ? (void *)&async->name : net->name,
	       net->name_len);
	msg->msg_name = &name;
	msg->msg_namelen = net->name_len;
	return control ? io_sendmsg_control(req, sock, msg) : sock_sendmsg(sock, msg);
}

/**
 * io_net_iter_fixed - set up an iterator over the rest of the data in a registered buffer
 * @req: a SEND or RECV with IORING_RECVSEND_FIXED_BUF; it keeps the buffer of its first attempt
 * @ddir: ITER_SOURCE or ITER_DEST
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 * @iter: the iterator
 *
 * Return: 0; -EFAULT if there is no buffer, or the data is not in the buffer; -ECANCELED if a
 * worker is killed while it waits for the lock.
 */
int io_net_iter_fixed(struct io_kiocb *req, int ddir, unsigned int issue_flags,
		      struct iov_iter *iter)
{
	struct io_net *net = io_net(req);
	const struct io_buf_node *buf;
	int ret = io_buf_assign(req, issue_flags);

	if (unlikely(ret))
		return ret;
	buf = io_buf_node(req->buf_node);
	if (unlikely(!io_buf_covers(buf, ddir, net->addr, net->len)))
		return -EFAULT;
	if (likely(net->len))
		io_buf_iter(buf, ddir, net->addr - buf->ubuf + net->done, net->len - net->done,
			    iter);
	else
		iov_iter_ubuf(iter, ddir, NULL, 0);
	return 0;
}

/*
 * Return: true if the request has to move all bytes.  A RECVMSG with room for ancillary data ends
 * with a part instead, as another attempt would overwrite the ancillary data of that part.
 */
static bool io_net_wants_all(struct io_kiocb *req)
{
	struct io_net *net = io_net(req);

	return net->msg_flags & MSG_WAITALL &&
	       !(req->opcode == IORING_OP_RECVMSG && net->control_len);
}

/* Return: true if a stream has moved a part of the data and another part is left. */
static bool io_net_goes_on(const struct io_net *net, const struct socket *sock, int ret)
{
	return ret > 0 && net->done + ret < net->len &&
	       (sock->type == SOCK_STREAM || sock->type == SOCK_SEQPACKET);
}

/**
 * io_net_incomplete - handle an attempt that has failed or moved a part
 * @req: a send or receive
 * @sock: its socket
 * @ret: result of the attempt
 * @got_flags: MSG_* flags that a receive has returned
 * @issue_flags: IO_URING_F_*
 *
 * Return: IO_AGAIN or IO_MORE_IF_READY if another attempt has to follow, otherwise IO_DONE.
 */
enum io_result io_net_incomplete(struct io_kiocb *req, struct socket *sock, int ret,
				 unsigned int got_flags, unsigned int issue_flags)
{
	struct io_net *net = io_net(req);
	bool waits = !(net->msg_flags & MSG_DONTWAIT);
	bool all = io_net_wants_all(req);

	if (io_net_waits(net, ret, issue_flags))
		return IO_AGAIN;
	/* the rest of an incremental buffer is left to other requests */
	if (all && !(net->how & IO_NET_NO_RETRY) && io_net_goes_on(net, sock, ret)) {
		net->done += ret;
		io_poll_progress(req);
		/* with an armed poll, check whether the socket is still ready: no wake follows */
		if (waits)
			return issue_flags & IO_URING_F_MULTISHOT ? IO_MORE_IF_READY : IO_AGAIN;
		ret = 0;
	}
	/* a part breaks the chain */
	if ((all && net->done + max(ret, 0) < net->len) || got_flags & (MSG_TRUNC | MSG_CTRUNC))
		req->flags |= REQ_F_FAIL;
	if (ret >= 0)
		ret += net->done;
	else if (net->done)
		ret = net->done;
	return io_done(req, io_no_restart(ret));
}

/**
 * io_net_picked_end - consume or keep the provided buffer after an attempt
 * @req: a send or single-shot receive that has selected a buffer or consumed a bundle
 * @result: result of the attempt
 * @issue_flags: IO_URING_F_*
 *
 * Return: @result
 */
enum io_result io_net_picked_end(struct io_kiocb *req, enum io_result result,
				 unsigned int issue_flags)
{
	/* with MSG_TRUNC the result counts bytes that did not fit */
	if (likely(result == IO_DONE))
		req->cqe.flags |= io_buf_used(req, min(req->cqe.res, (s32)io_net(req)->len),
					      issue_flags);
	else if (!io_net(req)->done || req->picked.taken)
		io_buf_unused(req);
	else
		/* the buffer has a part of the data, so no other request may use it */
		io_buf_take(req);
	return result;
}

/* Report the bytes that were moved before the request failed or was cancelled. */
void io_net_fail(struct io_kiocb *req)
{
	if (io_net(req)->done)
		req->cqe.res = io_net(req)->done;
}
