// SPDX-License-Identifier: GPL-2.0
/* io_uring: sends and receives: preparation of a request from its SQE */

/*
 * A program may reuse the SQE, the msghdr, its vector and the address once the request is
 * submitted.  So ->prep() copies them.  A vector with one entry is stored as a plain buffer.
 * Addresses of SENDMSG, long addresses of SEND, and longer vectors are copied to the heap.  The
 * data and the ancillary data stay in user memory: each attempt reads or writes them there.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/compat.h>

#include "op/net/net.h"

static void io_send_prep_flags(struct io_net *net)
{
	net->msg_flags = (net->msg_flags & ~MSG_INTERNAL_SENDMSG_FLAGS) | MSG_NOSIGNAL;
}

/*
 * Return: false if a SEND or RECV with a registered buffer has a flag that does not go with it.  As
 * on Linux 7.3, the data is in one piece.
 */
static bool io_net_fixed_valid(const struct io_kiocb *req, u16 how)
{
	return !(how & IORING_RECVSEND_FIXED_BUF) ||
	       !(req->flags & REQ_F_BUFFER_SELECT ||
		 how & ~(IORING_RECVSEND_FIXED_BUF | IORING_RECVSEND_POLL_FIRST));
}

/* Check a receive that is multishot or has a registered buffer.  Return: 0 or -EINVAL. */
static noinline int io_recv_prep_rare(struct io_kiocb *req)
{
	struct io_net *net = io_net(req);

	if (net->how & IORING_RECVSEND_FIXED_BUF)
		return io_net_fixed_valid(req, net->how) ? 0 : -EINVAL;
	/* MSG_WAITALL means one CQE for all data, multishot means one CQE for each part */
	if (!(req->flags & REQ_F_BUFFER_SELECT) || net->msg_flags & MSG_WAITALL)
		return -EINVAL;
	net->total = 0;
	req->flags |= REQ_F_MULTISHOT;
	/* issue it inline: a worker would wait for an event before the first attempt */
	if (net->msg_flags & MSG_DONTWAIT) {
		req->flags &= ~REQ_F_FORCE_ASYNC;
		req->flags |= REQ_F_NOWAIT;
	}
	return 0;
}

/* flags of receives that few of them have */
#define IO_RECV_RARE	(IORING_RECV_MULTISHOT | IORING_RECVSEND_FIXED_BUF)

static int io_recv_prep_flags(struct io_kiocb *req)
{
	struct io_net *net = io_net(req);

	if (unlikely(net->msg_flags & MSG_ERRQUEUE))
		io_poll_errors_only(req);
	return likely(!(net->how & IO_RECV_RARE)) ? 0 : io_recv_prep_rare(req);
}

/*
 * Check the buffer of a SEND or RECV.  For a provided buffer, which is checked when it is selected,
 * store only the length.  Return: 0 or -EFAULT.
 */
static int io_net_prep_buf(struct io_kiocb *req)
{
	struct io_net *net = io_net(req);

	net->len = min(net->len, MAX_RW_COUNT);
	if (unlikely(req->flags & REQ_F_BUFFER_SELECT)) {
		req->picked.max = net->len;
		return 0;
	}
	return likely(access_ok(u64_to_user_ptr(net->addr), net->len)) ? 0 : -EFAULT;
}

/* Copy the vector, or store it as a plain buffer.  Return: 0 or a negative errno. */
static noinline int io_net_prep_vec(struct io_kiocb *req, int ddir,
				    const struct iovec __user *uiov, unsigned int nr)
{
	struct io_net_async *async = req->flags & REQ_F_ASYNC_DATA ? req->async_data : NULL;
	struct io_net *net = io_net(req);
	struct iovec one, *iov = async && nr > 1 ? async->iov : &one;
	struct iov_iter iter;
	ssize_t len;

	net->len = 0;
	if (unlikely(!nr))
		return 0;
	len = __import_iovec(ddir, uiov, nr, nr, &iov, &iter, req->ctx->compat);
	if (unlikely(len < 0))
		return len;
	if (nr == 1)
		net->addr = (uintptr_t)iter.ubuf;
	net->len = len;
	return 0;
}

/*
 * Copy the vector of a zero copy send from a registered buffer.  The entries are checked when the
 * buffer is looked up, see io_notif_bind().  Return: 0 or a negative errno.
 */
static int io_send_prep_parts(struct io_kiocb *req, const struct iovec __user *uiov,
			      unsigned int nr)
{
	struct io_net_async *async;
	struct iovec *iov;

	io_net(req)->len = nr;
	if (!nr)
		return 0;
	async = req->flags & REQ_F_ASYNC_DATA ? req->async_data : io_net_async_alloc(req, nr);
	if (!async)
		return -ENOMEM;
	iov = iovec_from_user(uiov, nr, nr, async->iov, req->ctx->compat);
	return PTR_ERR_OR_ZERO(iov);
}

/* Copy the vector of a SEND with IORING_SEND_VECTORIZED.  Return: 0 or a negative errno. */
static noinline int io_send_prep_vec(struct io_kiocb *req)
{
	struct io_net *net = io_net(req);
	unsigned int nr = net->len;

	/* as on Linux 7.3, a provided buffer has no vector */
	if (req->flags & REQ_F_BUFFER_SELECT)
		return io_net_prep_buf(req);
	if (nr > UIO_MAXIOV)
		return -EINVAL;
	if (net->how & IORING_RECVSEND_FIXED_BUF)
		return io_send_prep_parts(req, u64_to_user_ptr(net->addr), nr);
	if (nr > 1 && !io_net_async_alloc(req, nr))
		return -ENOMEM;
	return io_net_prep_vec(req, ITER_SOURCE, u64_to_user_ptr(net->addr), nr);
}

/* Copy the destination address of a SEND.  Return: 0 or a negative errno. */
static noinline int io_send_prep_name(struct io_kiocb *req, void __user *uname, u16 len)
{
	struct io_net *net = io_net(req);
	void *name = net->name;

	if (len > sizeof(struct sockaddr_storage))
		return -EINVAL;
	if (len > sizeof(net->name) && !(req->flags & REQ_F_ASYNC_DATA) &&
	    !io_net_async_alloc(req, 0))
		return -ENOMEM;
	if (req->flags & REQ_F_ASYNC_DATA)
		name = &((struct io_net_async *)req->async_data)->name;
	net->name_len = len;
	net->how |= IO_NET_NAMED;
	return move_addr_to_kernel(uname, len, name);
}

/* Prepare the vector or the buffer of a SEND, and its address.  Return: 0 or a negative errno. */
static noinline int io_send_prep_more(struct io_kiocb *req, const struct io_uring_sqe *sqe,
				      u64 uname)
{
	int ret = 0;

	if (io_net(req)->how & IORING_SEND_VECTORIZED)
		ret = io_send_prep_vec(req);
	else if (!(io_net(req)->how & IORING_RECVSEND_FIXED_BUF))
		ret = io_net_prep_buf(req);
	if (ret || !uname)
		return ret;
	return io_send_prep_name(req, u64_to_user_ptr(uname), READ_ONCE(sqe->addr_len));
}

int io_send_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_net *net = io_net(req);
	u64 uname = READ_ONCE(sqe->addr2);
	int ret;

	if (unlikely(READ_ONCE(sqe->__pad3[0])))
		return -EINVAL;
	ret = io_net_prep_sqe(req, sqe, IORING_RECVSEND_POLL_FIRST | IORING_RECVSEND_BUNDLE |
					IORING_RECVSEND_FIXED_BUF | IORING_SEND_VECTORIZED);
	if (unlikely(ret))
		return ret;
	io_send_prep_flags(net);
	if (unlikely(net->how & IORING_RECVSEND_BUNDLE)) {
		bool select = req->flags & REQ_F_BUFFER_SELECT;

		if (!select && net->how & IORING_RECVSEND_FIXED_BUF)
			return -EINVAL;
		/* a request sends the rest before it ends; of a plain buffer as well, as on 7.3 */
		net->msg_flags |= MSG_WAITALL;
		if (select)
			req->flags |= REQ_F_MULTISHOT;
		else
			net->how &= ~IORING_RECVSEND_BUNDLE;
	}
	if (unlikely(uname || net->how & (IORING_SEND_VECTORIZED | IORING_RECVSEND_FIXED_BUF))) {
		if (!io_net_fixed_valid(req, net->how))
			return -EINVAL;
		return io_send_prep_more(req, sqe, uname);
	}
	return io_net_prep_buf(req);
}

/*
 * Check and read the fields of both zero copy ops.  As on 6.12, a request that is refused before
 * its notification is allocated posts one CQE; a request that fails later posts two CQEs.
 */
static int io_zc_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe, u16 valid)
{
	struct io_net *net = io_net(req);
	u16 how = READ_ONCE(sqe->ioprio);
	int ret;

	if (unlikely(READ_ONCE(sqe->__pad2[0])))
		return -EINVAL;
	/* without the first CQE the program cannot know that a notification follows */
	if (unlikely(req->flags & REQ_F_CQE_SKIP))
		return -EINVAL;
	/* as on 7.3, nothing is reported of a request whose flags are refused */
	ret = io_notif_make(req, READ_ONCE(sqe->addr3) ?: req->cqe.user_data,
			    !(how & ~valid) && how & IORING_SEND_ZC_REPORT_USAGE);
	if (unlikely(ret))
		return ret;
	ret = io_net_prep_fields(req, sqe, valid);
	if (unlikely(ret))
		return ret;
	io_send_prep_flags(net);
	net->msg_flags |= MSG_ZEROCOPY;
	return 0;
}

int io_send_zc_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	u16 valid = IORING_RECVSEND_POLL_FIRST | IORING_RECVSEND_FIXED_BUF |
		    IORING_SEND_ZC_REPORT_USAGE | IORING_SEND_VECTORIZED;
	u64 uname = READ_ONCE(sqe->addr2);
	int ret;

	ret = io_zc_prep(req, sqe, valid);
	if (unlikely(ret))
		return ret;
	if (unlikely(READ_ONCE(sqe->__pad3[0])))
		return -EINVAL;
	if (unlikely(uname || io_net(req)->how & IORING_SEND_VECTORIZED))
		return io_send_prep_more(req, sqe, uname);
	/* the address is checked against the registered buffer when the buffer is looked up */
	return io_net(req)->how & IORING_RECVSEND_FIXED_BUF ? 0 : io_net_prep_buf(req);
}

int io_recv_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	/* without IOSQE_BUFFER_SELECT, IORING_RECVSEND_BUNDLE has no effect */
	u16 valid = IORING_RECVSEND_POLL_FIRST | IORING_RECVSEND_BUNDLE | IO_RECV_RARE;
	int ret;

	if (unlikely(READ_ONCE(sqe->optlen) && !(READ_ONCE(sqe->ioprio) & IORING_RECV_MULTISHOT)))
		return -EINVAL;
	if (unlikely(READ_ONCE(sqe->addr2)))
		return -EINVAL;
	ret = io_net_prep_sqe(req, sqe, valid);
	if (unlikely(ret))
		return ret;
	ret = io_recv_prep_flags(req);
	if (unlikely(ret))
		return ret;
	if (unlikely(io_net(req)->how & IO_RECV_RARE)) {
		/* the address is checked when the registered buffer is looked up */
		if (io_net(req)->how & IORING_RECVSEND_FIXED_BUF)
			return 0;
		io_net(req)->total = READ_ONCE(sqe->optlen);
	}
	return io_net_prep_buf(req);
}

/* Copy the msghdr of a 32-bit program.  Return: 0 or -EFAULT. */
static noinline int io_net_read_compat(struct user_msghdr *umsg, const void __user *from)
{
	struct compat_msghdr compat;

	if (copy_from_user(&compat, from, sizeof(compat)))
		return -EFAULT;
	*umsg = (struct user_msghdr){
		.msg_name	= compat_ptr(compat.msg_name),
		.msg_namelen	= compat.msg_namelen,
		.msg_iov	= compat_ptr(compat.msg_iov),
		.msg_iovlen	= compat.msg_iovlen,
		.msg_control	= compat_ptr(compat.msg_control),
		.msg_controllen	= compat.msg_controllen,
	};
	return 0;
}

/* Copy the program's msghdr, except its flags, which are ignored.  Return: 0 or -EFAULT. */
static int io_net_read_msghdr(struct io_kiocb *req, struct user_msghdr *umsg)
{
	const struct user_msghdr __user *from = u64_to_user_ptr(io_net(req)->addr);

	if (IS_ENABLED(CONFIG_COMPAT) && unlikely(req->ctx->compat))
		return io_net_read_compat(umsg, from);
	if (unlikely(!user_access_begin(from, sizeof(*from))))
		return -EFAULT;
	unsafe_get_user(umsg->msg_name, &from->msg_name, fault);
	unsafe_get_user(umsg->msg_namelen, &from->msg_namelen, fault);
	unsafe_get_user(umsg->msg_iov, &from->msg_iov, fault);
	unsafe_get_user(umsg->msg_iovlen, &from->msg_iovlen, fault);
	unsafe_get_user(umsg->msg_control, &from->msg_control, fault);
	unsafe_get_user(umsg->msg_controllen, &from->msg_controllen, fault);
	user_access_end();
	umsg->msg_flags = 0;
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

/* Store a 64-bit vector with one entry as a plain buffer.  Return: 0 or a negative errno. */
static int io_net_prep_one(struct io_net *net, const struct iovec __user *uiov)
{
	void __user *base;
	size_t len;

	if (unlikely(!user_access_begin(uiov, sizeof(*uiov))))
		return -EFAULT;
	unsafe_get_user(base, &uiov->iov_base, fault);
	unsafe_get_user(len, &uiov->iov_len, fault);
	user_access_end();
	if (unlikely((ssize_t)len < 0))
		return -EINVAL;
	net->addr = (uintptr_t)base;
	net->len = min_t(size_t, len, MAX_RW_COUNT);
	return likely(access_ok(base, net->len)) ? 0 : -EFAULT;
fault:
	user_access_end();
	return -EFAULT;
}

/*
 * Prepare a RECVMSG into provided buffers.  The length of the only vector entry limits the transfer
 * of a single-shot request; the address in the entry is ignored.  Return: 0 or a negative errno.
 */
static noinline int io_net_prep_picked(struct io_kiocb *req, const struct user_msghdr *umsg)
{
	unsigned int nr = umsg->msg_iovlen;
	struct iovec one, *iov;

	req->picked.max = 0;
	if (!nr)
		return 0;
	iov = iovec_from_user(umsg->msg_iov, nr, 1, &one, req->ctx->compat);
	if (IS_ERR(iov))
		return PTR_ERR(iov);
	/* on 6.12 the length cuts the first message of a multishot request alone */
	if (!(io_net(req)->how & IORING_RECV_MULTISHOT))
		req->picked.max = min_t(size_t, iov->iov_len, MAX_RW_COUNT);
	return 0;
}

/* Store the room for name and control of a multishot RECVMSG.  Return: 0 or -EOVERFLOW. */
static int io_net_prep_multishot(struct io_kiocb *req, const struct user_msghdr *umsg)
{
	struct io_net *net = io_net(req);
	u32 room;

	if (umsg->msg_namelen < 0 || umsg->msg_controllen > INT_MAX ||
	    check_add_overflow((u32)umsg->msg_namelen, (u32)umsg->msg_controllen, &room) ||
	    room > INT_MAX - sizeof(struct io_uring_recvmsg_out))
		return -EOVERFLOW;
	net->name_room = umsg->msg_namelen;
	net->control_len = umsg->msg_controllen;
	return 0;
}

/*
 * Copy the program's msghdr; @uname is set for RECVMSG and NULL for SENDMSG.  Only a destination
 * address or a vector with several entries needs memory.  Return: 0 or a negative errno.
 */
static int io_net_prep_msg(struct io_kiocb *req, int ddir, struct sockaddr __user **uname)
{
	struct io_net *net = io_net(req);
	struct user_msghdr umsg;
	struct msghdr msg;
	unsigned int nr;
	int ret;

	ret = io_net_read_msghdr(req, &umsg);
	if (unlikely(ret))
		return ret;
	if (unlikely(umsg.msg_iovlen > UIO_MAXIOV))
		return -EINVAL;
	if (unlikely(req->flags & REQ_F_BUFFER_SELECT && umsg.msg_iovlen > 1))
		return -EINVAL;
	nr = umsg.msg_iovlen > 1 ? umsg.msg_iovlen : 0;
	if (unlikely(nr || (!uname && umsg.msg_name && umsg.msg_namelen > 0))) {
		struct io_net_async *async = io_net_async_alloc(req, nr);

		if (!async)
			return -ENOMEM;
		msg.msg_name = &async->name;
	}
	ret = __copy_msghdr(&msg, &umsg, uname);
	if (unlikely(ret))
		return ret;
	net->name_len = msg.msg_namelen;
	net->control = msg.msg_control_user;
	/* 32 bits are enough: sends refuse more than INT_MAX, and no receive needs that much */
	net->control_len = min(msg.msg_controllen, U32_MAX);
	if (unlikely(req->flags & REQ_F_BUFFER_SELECT)) {
		ret = io_net_prep_picked(req, &umsg);
		if (ret || !(net->how & IORING_RECV_MULTISHOT))
			return ret;
		return io_net_prep_multishot(req, &umsg);
	}
	if (likely(umsg.msg_iovlen == 1 && !req->ctx->compat))
		return io_net_prep_one(net, umsg.msg_iov);
	return io_net_prep_vec(req, ddir, umsg.msg_iov, umsg.msg_iovlen);
}

int io_sendmsg_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret;

	if (unlikely(READ_ONCE(sqe->file_index) || READ_ONCE(sqe->addr2)))
		return -EINVAL;
	/* a SENDMSG has a vector in any case */
	ret = io_net_prep_sqe(req, sqe, IORING_RECVSEND_POLL_FIRST | IORING_SEND_VECTORIZED);
	if (unlikely(ret))
		return ret;
	io_send_prep_flags(io_net(req));
	return io_net_prep_msg(req, ITER_SOURCE, NULL);
}

/* Copy the msghdr of a send from a registered buffer.  Return: 0 or a negative errno. */
static noinline int io_sendmsg_prep_parts(struct io_kiocb *req)
{
	struct io_net *net = io_net(req);
	struct io_net_async *async;
	struct user_msghdr umsg;
	struct msghdr msg;
	int ret;

	if (IS_ENABLED(CONFIG_COMPAT) && req->ctx->compat)
		ret = io_net_read_compat(&umsg, u64_to_user_ptr(net->addr));
	else
		ret = copy_from_user(&umsg, u64_to_user_ptr(net->addr), sizeof(umsg)) ? -EFAULT : 0;
	if (ret)
		return ret;
	/* as in 7.3; other messages keep the errno of 6.12 */
	if (umsg.msg_iovlen > UIO_MAXIOV)
		return -EMSGSIZE;
	async = io_net_async_alloc(req, umsg.msg_iovlen);
	if (!async)
		return -ENOMEM;
	msg.msg_name = &async->name;
	ret = __copy_msghdr(&msg, &umsg, NULL);
	if (ret)
		return ret;
	net->name_len = msg.msg_namelen;
	net->control = msg.msg_control_user;
	net->control_len = min(msg.msg_controllen, U32_MAX);
	net->how |= IORING_SEND_VECTORIZED;
	return io_send_prep_parts(req, umsg.msg_iov, umsg.msg_iovlen);
}

int io_sendmsg_zc_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret;

	ret = io_zc_prep(req, sqe, IORING_RECVSEND_POLL_FIRST | IORING_RECVSEND_FIXED_BUF |
				   IORING_SEND_ZC_REPORT_USAGE | IORING_SEND_VECTORIZED);
	if (unlikely(ret))
		return ret;
	if (unlikely(READ_ONCE(sqe->file_index) || READ_ONCE(sqe->addr2)))
		return -EINVAL;
	if (io_net(req)->how & IORING_RECVSEND_FIXED_BUF)
		return io_sendmsg_prep_parts(req);
	return io_net_prep_msg(req, ITER_SOURCE, NULL);
}

int io_recvmsg_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_net *net = io_net(req);
	int ret;

	if (unlikely(READ_ONCE(sqe->file_index) || READ_ONCE(sqe->addr2)))
		return -EINVAL;
	ret = io_net_prep_sqe(req, sqe, IORING_RECVSEND_POLL_FIRST | IORING_RECV_MULTISHOT);
	if (unlikely(ret))
		return ret;
	ret = io_recv_prep_flags(req);
	if (unlikely(ret))
		return ret;
	net->umsg = u64_to_user_ptr(net->addr);
	return io_net_prep_msg(req, ITER_DEST, &net->uname);
}
