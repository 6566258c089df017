// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_SOCKET, BIND, LISTEN, CONNECT, SHUTDOWN - set up and shut down sockets */

/*
 * ->prep() copies addresses, so that the program may reuse their memory.  Short addresses, such as
 * those of IPv4 and IPv6, are stored in the request, longer addresses on the heap.
 *
 * An inline CONNECT starts the connection without blocking, and waits until the socket is
 * writable.  A second call of connect then returns the result of the first call.
 */
#include <linux/file.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <uapi/linux/io_uring/bpf_filter.h>

#include "op/list.h"
#include "op/result.h"
#include "req/req.h"
#include "rsrc/files.h"

/**
 * struct io_socket - arguments of SOCKET
 * @domain: AF_*
 * @type: SOCK_*, with SOCK_CLOEXEC and SOCK_NONBLOCK
 * @protocol: protocol number within @domain, such as IPPROTO_*
 * @file_index: slot + 1, IORING_FILE_INDEX_ALLOC, or 0 for a descriptor
 */
struct io_socket {
	int	domain;
	int	type;
	int	protocol;
	u32	file_index;
};

/**
 * struct io_sockaddr - arguments of BIND and CONNECT
 * @len: length of the address
 * @connecting: an earlier attempt has started the connection
 * @data: the address, if it fits; otherwise req->async_data has it
 */
struct io_sockaddr {
	int	len;
	bool	connecting;
	u8	data[48] __aligned(8);
};

/**
 * struct io_sock_arg - argument of LISTEN and SHUTDOWN
 * @arg: LISTEN: the backlog; SHUTDOWN: SHUT_*
 */
struct io_sock_arg {
	int	arg;
};

IO_OP_DATA(io_socket);
IO_OP_DATA(io_sockaddr);
IO_OP_DATA(io_sock_arg);

static int io_socket_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_socket *s = io_socket(req);

	if (READ_ONCE(sqe->addr) || READ_ONCE(sqe->rw_flags) || req->buf_index)
		return -EINVAL;
	s->domain = READ_ONCE(sqe->fd);
	s->type = READ_ONCE(sqe->off);
	s->protocol = READ_ONCE(sqe->len);
	s->file_index = READ_ONCE(sqe->file_index);
	/* exec does not close registered files, so a slot cannot have SOCK_CLOEXEC */
	if (s->file_index && s->type & SOCK_CLOEXEC)
		return -EINVAL;
	if (s->type & ~(SOCK_TYPE_MASK | SOCK_CLOEXEC | SOCK_NONBLOCK))
		return -EINVAL;
	return 0;
}

static void io_socket_filter_fields(struct io_kiocb *req, struct io_uring_bpf_ctx *ctx)
{
	const struct io_socket *s = io_socket(req);

	ctx->socket.family = s->domain;
	ctx->socket.type = s->type & SOCK_TYPE_MASK;
	ctx->socket.protocol = s->protocol;
}

static enum io_result io_socket_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_socket *s = io_socket(req);
	struct file *file;
	int fd = -1, ret;

	if (!s->file_index) {
		fd = get_unused_fd_flags(s->type & SOCK_CLOEXEC ? O_CLOEXEC : 0);
		if (fd < 0)
			return io_done(req, fd);
	}
	file = __sys_socket_file(s->domain, s->type, s->protocol);
	if (IS_ERR(file)) {
		if (fd >= 0)
			put_unused_fd(fd);
		return io_done(req, io_no_restart(PTR_ERR(file)));
	}
	ret = io_install_file(req->ctx, file, fd, s->file_index, issue_flags);
	/* only the use of a slot can fail; as on 6.12, such a failure does not break the chain */
	return io_done_unbroken(req, ret);
}

/* Read the SQE of BIND or CONNECT. */
static int io_sockaddr_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	void __user *uaddr = u64_to_user_ptr(READ_ONCE(sqe->addr));
	struct io_sockaddr *sa = io_sockaddr(req);

	if (READ_ONCE(sqe->len) || READ_ONCE(sqe->rw_flags) || req->buf_index ||
	    READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	sa->len = READ_ONCE(sqe->addr2);
	sa->connecting = false;
	if (sa->len > 0 && sa->len <= sizeof(sa->data))
		return move_addr_to_kernel(uaddr, sa->len, (void *)sa->data);
	if (!io_req_alloc_async(req, sizeof(struct sockaddr_storage)))
		return -ENOMEM;
	return move_addr_to_kernel(uaddr, sa->len, req->async_data);
}

/* Copy the address to @addr, which has full size: protocols may access bytes behind the address. */
static void io_sockaddr_get(struct io_kiocb *req, struct sockaddr_storage *addr)
{
	struct io_sockaddr *sa = io_sockaddr(req);

	memcpy(addr, req->flags & REQ_F_ASYNC_DATA ? req->async_data : sa->data, sa->len);
}

static enum io_result io_bind_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct socket *sock = sock_from_file(req->file);
	struct sockaddr_storage addr;
	int ret;

	if (unlikely(!sock))
		return io_done(req, -ENOTSOCK);
	io_sockaddr_get(req, &addr);
	ret = __sys_bind_socket(sock, &addr, io_sockaddr(req)->len);
	return io_done(req, io_no_restart(ret));
}

/* Store the fields that are within the length of the address. */
static void io_connect_filter_fields(struct io_kiocb *req, struct io_uring_bpf_ctx *ctx)
{
	unsigned int len = io_sockaddr(req)->len;
	struct sockaddr_storage addr = { };

	if (len < sizeof(addr.ss_family))
		return;
	io_sockaddr_get(req, &addr);
	ctx->connect.family = addr.ss_family;
	if (addr.ss_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *in = (const void *)&addr;

		ctx->connect.port = in->sin_port;
		ctx->connect.v4_addr = in->sin_addr.s_addr;
	} else if (addr.ss_family == AF_INET6 && len >= SIN6_LEN_RFC2133) {
		const struct sockaddr_in6 *in6 = (const void *)&addr;

		ctx->connect.port = in6->sin6_port;
		memcpy(ctx->connect.v6_addr, &in6->sin6_addr, sizeof(ctx->connect.v6_addr));
	}
}

/* Return: true if a non-blocking attempt has to be continued later. */
static bool io_connect_goes_on(struct io_sockaddr *sa, int ret)
{
	if (ret == -EINPROGRESS)
		sa->connecting = true;
	else if (ret == -EALREADY)
		return sa->connecting;
	else if (ret != -EAGAIN)
		return false;
	return true;
}

/* Return: the result of a started connection; @ret is the result of another connect(). */
static int io_connect_outcome(struct io_kiocb *req, int ret)
{
	switch (ret) {
	case -EISCONN:
		return 0;
	case -EBADFD:
		/* protocols such as bluetooth refuse a second connect(): read the socket's error */
		return sock_error(sock_from_file(req->file)->sk);
	default:
		return ret;
	}
}

static enum io_result io_connect_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	bool asked = issue_flags & IO_URING_F_NONBLOCK;
	struct io_sockaddr *sa = io_sockaddr(req);
	struct sockaddr_storage addr;
	int ret;

	io_sockaddr_get(req, &addr);
	ret = __sys_connect_file(req->file, &addr, sa->len, asked ? O_NONBLOCK : 0);
	if (asked && io_connect_goes_on(sa, ret))
		return IO_AGAIN;
	if (sa->connecting)
		ret = io_connect_outcome(req, ret);
	return io_done(req, io_no_restart(ret));
}

static int io_listen_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	if (READ_ONCE(sqe->addr) || READ_ONCE(sqe->addr2) || READ_ONCE(sqe->rw_flags) ||
	    req->buf_index || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	io_sock_arg(req)->arg = READ_ONCE(sqe->len);
	return 0;
}

static enum io_result io_listen_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct socket *sock = sock_from_file(req->file);
	int ret = -ENOTSOCK;

	if (likely(sock))
		ret = __sys_listen_socket(sock, io_sock_arg(req)->arg);
	return io_done(req, io_no_restart(ret));
}

/* Leave the shutdown to a worker, as some protocols wait until the sent data has arrived. */
static enum io_result io_shutdown_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct socket *sock = sock_from_file(req->file);

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	if (unlikely(!sock))
		return io_done(req, -ENOTSOCK);
	return io_done_unbroken(req, io_no_restart(__sys_shutdown_sock(sock,
								      io_sock_arg(req)->arg)));
}

const struct io_op io_op_socket = {
	.audit_skip	= 1,
	.filter_size	= sizeof_field(struct io_uring_bpf_ctx, socket),
	.filter_fields	= io_socket_filter_fields,
	.prep		= io_socket_prep,
	.issue		= io_socket_issue,
};

const struct io_op io_op_bind = {
	.needs_file	= 1,
	.prep		= io_sockaddr_prep,
	.issue		= io_bind_issue,
};

const struct io_op io_op_listen = {
	.needs_file	= 1,
	.prep		= io_listen_prep,
	.issue		= io_listen_issue,
};

const struct io_op io_op_connect = {
	.needs_file		= 1,
	.unbound_nonreg_file	= 1,
	.poll_out		= 1,
	.borrows_file		= 1,
	.filter_size		= sizeof_field(struct io_uring_bpf_ctx, connect),
	.filter_fields		= io_connect_filter_fields,
	.prep			= io_sockaddr_prep,
	.issue			= io_connect_issue,
};

const struct io_op io_op_shutdown = {
	.needs_file	= 1,
	.prep		= io_listen_prep,
	.issue		= io_shutdown_issue,
};
