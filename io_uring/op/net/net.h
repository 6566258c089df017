/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: shared parts of sends and receives */
#ifndef IO_OP_NET_H
#define IO_OP_NET_H

#include <linux/net.h>
#include <linux/socket.h>
#include <linux/uio.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

#include "async/poll.h"
#include "op/list.h"
#include "op/result.h"
#include "rsrc/groups.h"

/* io_net->how: a short transfer ends even a MSG_WAITALL request, as its buffer is incremental */
#define IO_NET_NO_RETRY	BIT(15)
/* io_net->how: SEND or SEND_ZC has a destination address, whose length may be 0 */
#define IO_NET_NAMED	BIT(14)
/* io_net->how: io_notif_bind() has succeeded, so later attempts do not call it again */
#define IO_NET_BOUND	BIT(13)
/* io_net->how: RECV_ZC ends when io_net->len more bytes are received */
#define IO_NET_LIMITED	BIT(12)

/**
 * struct io_net - a send or a receive
 * @addr: user address of data in one piece, or of the selected provided buffer; RECV_ZC: the
 *	program's head of the CQ when an attempt found the CQ full
 * @len: bytes to transfer; entries of a vector in a registered buffer, until io_notif_bind()
 * @done: bytes that earlier attempts have moved, MSG_WAITALL only; RECV_ZC: number of attempts that
 *	found the CQ full again with the head @addr
 * @msg_flags: MSG_*
 * @how: IORING_RECVSEND_*, IORING_RECV_MULTISHOT, IORING_SEND_*, IO_NET_*
 * @name_len: sends: length of the destination address
 * @umsg: RECVMSG: the program's msghdr, into which lengths and flags are written
 * @uname: RECVMSG: user address for the sender's address, or NULL
 * @control: SENDMSG, RECVMSG: user address of the ancillary data
 * @control_len: length of the ancillary data, or of the room for it
 * @name_room: multishot RECVMSG: bytes that each buffer reserves for the sender's address
 * @name: SEND, SEND_ZC: the destination address, if it fits and there is no struct io_net_async
 * @notif: zero copy sends, with REQ_F_NEED_CLEANUP: the request that posts the notification
 * @total: multishot receives: bytes after which the request ends, 0 for no limit
 * @zcrx: RECV_ZC: the queue, which stays until the end of the ring
 *
 * Each attempt builds its msghdr from these fields, so a request that waits or moves to a worker
 * keeps no msghdr.  struct io_net_async has vectors, addresses of SENDMSG, long addresses of SEND.
 */
struct io_net {
	u64	addr;
	u32	len;
	u32	done;
	u32	msg_flags;
	u16	how;
	u16	name_len;
	union {
		struct {
			struct user_msghdr __user	*umsg;
			struct sockaddr __user		*uname;
			void __user			*control;
			u32				control_len;
			u32				name_room;
		};
		u8	name[32] __aligned(8);
	};
	union {
		struct io_kiocb	*notif;
		u32		total;
		struct io_zcrx	*zcrx;
	};
};

IO_OP_DATA(io_net);

/**
 * struct io_net_async - data that only some sends and receives need
 * @name: sends: the destination address
 * @nr_segs: number of entries in @iov, 0 if the data is in one piece
 * @iov: copy of the program's vector, or of the segments of a bundle
 */
struct io_net_async {
	struct sockaddr_storage	name;
	unsigned int		nr_segs;
	struct iovec		iov[] __counted_by(nr_segs);
};

int io_send_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_sendmsg_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_send_zc_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_sendmsg_zc_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_recv_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_recvmsg_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
enum io_result io_net_incomplete(struct io_kiocb *req, struct socket *sock, int ret,
				 unsigned int got_flags, unsigned int issue_flags);
void io_net_fail(struct io_kiocb *req);
enum io_result io_net_picked_end(struct io_kiocb *req, enum io_result result,
				 unsigned int issue_flags);
int io_net_iter_fixed(struct io_kiocb *req, int ddir, unsigned int issue_flags,
		      struct iov_iter *iter);
int io_recvmsg_multishot(struct io_kiocb *req, struct socket *sock, struct msghdr *msg,
			 unsigned int issue_flags);
enum io_result io_recv_multishot_post(struct io_kiocb *req, const struct msghdr *msg, int ret,
				      u32 cflags, unsigned int issue_flags);
enum io_result io_net_received_multishot(struct io_kiocb *req, const struct msghdr *msg, int ret,
					 unsigned int issue_flags);

struct io_net_async *io_net_async_alloc(struct io_kiocb *req, unsigned int nr_segs);
enum io_result io_send_bundle(struct io_kiocb *req, struct socket *sock, unsigned int issue_flags);
enum io_result io_recv_bundle(struct io_kiocb *req, struct socket *sock, unsigned int issue_flags);

int io_notif_make(struct io_kiocb *req, u64 user_data, bool report);
int io_notif_bind(struct io_kiocb *req, unsigned int issue_flags);
void io_notif_attach(struct io_kiocb *req, struct msghdr *msg);
void io_notif_put(struct io_kiocb *req);

/* Read the fields that all sends and receives use.  @valid: flags that sqe->ioprio may have. */
static __always_inline int io_net_prep_fields(struct io_kiocb *req,
					      const struct io_uring_sqe *sqe, u16 valid)
{
	struct io_net *net = io_net(req);

	net->how = READ_ONCE(sqe->ioprio);
	if (unlikely(net->how & ~valid))
		return -EINVAL;
	net->addr = READ_ONCE(sqe->addr);
	net->len = READ_ONCE(sqe->len);
	net->done = 0;
	net->name_len = 0;
	net->msg_flags = READ_ONCE(sqe->msg_flags);
	if (unlikely(req->ctx->compat))
		net->msg_flags |= MSG_CMSG_COMPAT;
	return 0;
}

/* Like io_net_prep_fields(), but refuse a sqe->len of more than INT_MAX. */
static __always_inline int io_net_prep_sqe(struct io_kiocb *req, const struct io_uring_sqe *sqe,
					   u16 valid)
{
	int ret = io_net_prep_fields(req, sqe, valid);

	if (unlikely(ret))
		return ret;
	return unlikely(io_net(req)->len > INT_MAX) ? -EINVAL : 0;
}

/* Return: MSG_* flags for an attempt, with MSG_DONTWAIT for an inline attempt. */
static inline unsigned int io_net_flags(const struct io_net *net, unsigned int issue_flags)
{
	return net->msg_flags | (issue_flags & IO_URING_F_NONBLOCK ? MSG_DONTWAIT : 0);
}

/* Return: the socket.  If the file is not a socket, set *@result for ->issue() and return NULL. */
static __always_inline struct socket *io_net_sock(struct io_kiocb *req, enum io_result *result)
{
	struct socket *sock = sock_from_file(req->file);

	if (unlikely(!sock))
		*result = io_done(req, -ENOTSOCK);
	return sock;
}

/* Handle IORING_RECVSEND_POLL_FIRST.  Return: true if ->issue() has to return *@result. */
static __always_inline bool io_net_holds(struct io_kiocb *req, struct socket *sock,
					 unsigned int issue_flags, enum io_result *result)
{
	struct io_net *net = io_net(req);

	if (likely(!(net->how & IORING_RECVSEND_POLL_FIRST)))
		return false;
	/* only the first attempt waits before it tries */
	net->how &= ~IORING_RECVSEND_POLL_FIRST;
	/* a multishot request that is issued after an event already has an armed poll */
	if (issue_flags & IO_URING_F_MULTISHOT)
		return false;
	*result = io_net_incomplete(req, sock, -EAGAIN, 0, IO_URING_F_NONBLOCK);
	return true;
}

/* Return: true if a SEND or RECV waits first, or has a registered buffer: one test for both. */
static inline bool io_net_is_rare(const struct io_net *net)
{
	return net->how & (IORING_RECVSEND_POLL_FIRST | IORING_RECVSEND_FIXED_BUF);
}

/*
 * Begin an attempt.  Return: the socket; NULL if ->issue() has to return *@result without an
 * attempt.
 */
static __always_inline struct socket *io_net_begin(struct io_kiocb *req, unsigned int issue_flags,
						   enum io_result *result)
{
	struct socket *sock = io_net_sock(req, result);

	if (unlikely(!sock || io_net_holds(req, sock, issue_flags, result)))
		return NULL;
	return sock;
}

/* Select a provided buffer for the next attempt.  Return: 0 or a negative errno. */
static inline int io_net_pick(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_net *net = io_net(req);
	struct io_buf buf;
	int ret;

	/* keep the buffer that an earlier attempt has consumed, and may have used in part */
	if (unlikely(req->flags & REQ_F_PICKED))
		return 0;
	ret = io_buf_pick(req, &buf, issue_flags);
	if (unlikely(ret))
		return ret;
	net->addr = buf.addr;
	net->len = buf.len;
	/* the group may have been replaced since the last attempt */
	net->how = (net->how & ~IO_NET_NO_RETRY) | (buf.inc ? IO_NET_NO_RETRY : 0);
	return 0;
}

/* Return: true if @ret completes the request: without MSG_WAITALL a part of the data is enough. */
static inline bool io_net_complete(const struct io_net *net, int ret)
{
	return ret >= 0 && !(net->msg_flags & MSG_WAITALL);
}

/* Return: true if an attempt would have blocked and the request may wait for its socket. */
static inline bool io_net_waits(const struct io_net *net, int ret, unsigned int issue_flags)
{
	return ret == -EAGAIN && issue_flags & IO_URING_F_NONBLOCK &&
	       !(net->msg_flags & MSG_DONTWAIT);
}

/*
 * Initialize all fields of a msghdr except msg_iter and msg_flags, without an address or ancillary
 * data.  Callers declare the msghdr __uninitialized: with CONFIG_INIT_STACK_ALL_ZERO the compiler
 * would add 14 instructions that clear the fields, which this function then sets.
 */
static inline void io_net_msg_init(struct msghdr *msg)
{
	msg->msg_name = NULL;
	msg->msg_namelen = 0;
	msg->msg_inq = 0;
	msg->msg_control = NULL;
	msg->msg_control_is_user = false;
	msg->msg_get_inq = false;
	msg->msg_controllen = 0;
	msg->msg_ubuf = NULL;
	msg->sg_from_iter = NULL;
}

/* Request the number of bytes left in the socket.  Without a report msg_inq stays -1. */
static inline void io_net_ask_inq(struct msghdr *msg)
{
	msg->msg_get_inq = 1;
	msg->msg_inq = -1;
}

/* Initialize a msghdr for a SEND, except msg_iter. */
static inline void io_send_msg_init(struct io_kiocb *req, struct msghdr *msg,
				    unsigned int issue_flags)
{
	struct io_net *net = io_net(req);

	io_net_msg_init(msg);
	msg->msg_flags = io_net_flags(net, issue_flags);
}

int io_send_to_name(struct io_kiocb *req, struct socket *sock, struct msghdr *msg,
		    bool control);

/* Send @msg, to the destination address if the SQE has any.  Return: see sock_sendmsg(). */
static inline int io_send_msg(struct io_kiocb *req, struct socket *sock, struct msghdr *msg)
{
	if (unlikely(io_net(req)->how & IO_NET_NAMED))
		return io_send_to_name(req, sock, msg, false);
	return sock_sendmsg(sock, msg);
}

/* Handle the result @ret of an attempt to send.  Return: the result for ->issue(). */
static inline enum io_result io_net_sent(struct io_kiocb *req, struct socket *sock, int ret,
					 unsigned int issue_flags)
{
	if (likely(io_net_complete(io_net(req), ret)))
		return io_done(req, ret);
	return io_net_incomplete(req, sock, ret, 0, issue_flags);
}

/* Initialize a msghdr for a RECV, except msg_iter. */
static inline void io_recv_msg_init(struct msghdr *msg)
{
	io_net_msg_init(msg);
	msg->msg_flags = 0;
	io_net_ask_inq(msg);
}

/*
 * Return: true if the next attempt uses a bundle.  This requires a request without a buffer, and
 * the ring lock, so that no other request selects the same buffers.
 */
static inline bool io_net_bundles(const struct io_kiocb *req, const struct io_net *net,
				  unsigned int issue_flags)
{
	return net->how & IORING_RECVSEND_BUNDLE && !(req->flags & REQ_F_PICKED) &&
	       !(issue_flags & IO_URING_F_UNLOCKED);
}

/* Handle the result @ret of an attempt to receive, which has filled in @msg. */
static inline enum io_result io_net_received(struct io_kiocb *req, struct socket *sock,
					     const struct msghdr *msg, int ret,
					     unsigned int issue_flags)
{
	req->cqe.flags = msg->msg_inq > 0 ? IORING_CQE_F_SOCK_NONEMPTY : 0;
	if (likely(io_net_complete(io_net(req), ret)))
		return io_done(req, ret);
	return io_net_incomplete(req, sock, ret, msg->msg_flags, issue_flags);
}

/* Initialize an iterator over the rest of the data, for a request that may have a vector. */
static inline void io_net_iter(struct io_kiocb *req, int ddir, struct iov_iter *iter)
{
	struct io_net *net = io_net(req);
	struct io_net_async *async = req->async_data;

	if (unlikely(req->flags & REQ_F_ASYNC_DATA) && async->nr_segs) {
		iov_iter_init(iter, ddir, async->iov, async->nr_segs, net->len);
		iov_iter_advance(iter, net->done);
		return;
	}
	iov_iter_ubuf(iter, ddir, u64_to_user_ptr(net->addr + net->done), net->len - net->done);
}

/* Send the message, and with its first part the ancillary data.  Return: see sock_sendmsg(). */
static inline int io_sendmsg_control(struct io_kiocb *req, struct socket *sock, struct msghdr *msg)
{
	struct io_net *net = io_net(req);

	if (likely(!net->control_len || net->done))
		return sock_sendmsg(sock, msg);
	msg->msg_control_user = net->control;
	msg->msg_control_is_user = true;
	msg->msg_controllen = net->control_len;
	return __sys_sendmsg_sock(sock, msg, msg->msg_flags);
}

/**
 * io_sendmsg_attempt - make one attempt at a SENDMSG
 * @req: the request
 * @sock: its socket
 * @msg: initialized by io_net_msg_init() and io_net_iter(), possibly with a notification attached
 * @issue_flags: IO_URING_F_*
 *
 * Return: see sock_sendmsg().
 */
static __always_inline int io_sendmsg_attempt(struct io_kiocb *req, struct socket *sock,
					      struct msghdr *msg, unsigned int issue_flags)
{
	struct io_net *net = io_net(req);

	msg->msg_flags = io_net_flags(net, issue_flags);
	if (unlikely(net->name_len))
		return io_send_to_name(req, sock, msg, true);
	return io_sendmsg_control(req, sock, msg);
}

#endif
