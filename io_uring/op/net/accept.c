// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_ACCEPT - take connections from a listening socket */

/*
 * An attempt allocates a socket and a file before it looks for a connection.  It is much cheaper to
 * poll the listener, so the request polls before its first attempt.  Later attempts follow events.
 * A connection wakes only one waiter (poll_exclusive in struct io_op), see io_accept_cleanup().
 *
 * A request with IORING_ACCEPT_MULTISHOT posts a CQE for each connection, until an attempt fails,
 * the CQ is full or the request is cancelled.  submit/multishot.c describes when it is issued.
 */
#include <linux/file.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/socket.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "async/poll.h"
#include "complete/fast.h"
#include "op/list.h"
#include "op/result.h"
#include "rsrc/files.h"

/* maximum number of connections that one ->issue() of a multishot request accepts */
#define IO_ACCEPT_SHARE	4

/* io_accept->how: NOTIFIED: do not poll before an attempt; NO_SLOT: an installation failed */
#define IO_ACCEPT_NOTIFIED	BIT(15)
#define IO_ACCEPT_NO_SLOT	BIT(14)

/**
 * struct io_accept - arguments and state of an ACCEPT
 * @addr: user address for the peer's address, or NULL
 * @addr_len: user address of the room at @addr; receives the length
 * @flags: SOCK_CLOEXEC and SOCK_NONBLOCK
 * @file_index: slot + 1, IORING_FILE_INDEX_ALLOC, or 0 for a descriptor
 * @how: IORING_ACCEPT_*, IO_ACCEPT_NOTIFIED and IO_ACCEPT_NO_SLOT
 */
struct io_accept {
	struct sockaddr __user	*addr;
	int __user		*addr_len;
	int			flags;
	u32			file_index;
	u16			how;
};

IO_OP_DATA(io_accept);

static int io_accept_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_accept *accept = io_accept(req);

	if (READ_ONCE(sqe->len) || req->buf_index)
		return -EINVAL;
	accept->addr = u64_to_user_ptr(READ_ONCE(sqe->addr));
	accept->addr_len = u64_to_user_ptr(READ_ONCE(sqe->addr2));
	accept->flags = READ_ONCE(sqe->accept_flags);
	accept->file_index = READ_ONCE(sqe->file_index);
	accept->how = READ_ONCE(sqe->ioprio);
	if (accept->how & ~(IORING_ACCEPT_MULTISHOT | IORING_ACCEPT_DONTWAIT |
			    IORING_ACCEPT_POLL_FIRST))
		return -EINVAL;
	if (accept->flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return -EINVAL;
	/* exec does not close registered files, so a slot cannot have SOCK_CLOEXEC */
	if (accept->file_index && accept->flags & SOCK_CLOEXEC)
		return -EINVAL;
	if (accept->how & IORING_ACCEPT_MULTISHOT) {
		/* one slot cannot hold several connections */
		if (accept->file_index && accept->file_index != IORING_FILE_INDEX_ALLOC)
			return -EINVAL;
		req->flags |= REQ_F_MULTISHOT;
		/* issue it inline: a worker would wait for an event before the first attempt */
		if (accept->how & IORING_ACCEPT_DONTWAIT) {
			req->flags &= ~REQ_F_FORCE_ASYNC;
			req->flags |= REQ_F_NOWAIT;
		}
	}
	/* a worker may arm the poll before any attempt, and ->cleanup() has to pass events on */
	if (req->flags & REQ_F_FORCE_ASYNC)
		req->flags |= REQ_F_NEED_CLEANUP;
	return 0;
}

/*
 * Wake another waiter if the request was woken for a connection and has left it in the backlog.  A
 * cancelled request may leave a connection there.  So may a multishot request that ends with a
 * connection, if it was woken for several.  A request that ends with another error wakes no waiter:
 * the CQE shows that a connection is there.  A worker that ends with -EINTR slept in
 * do_accept(), where the socket itself may have woken the worker.
 */
static void io_accept_cleanup(struct io_kiocb *req)
{
	s32 res = req->cqe.res;
	bool cancelled = res == -ECANCELED || res == -EINTR;
	bool taken = res >= 0 || io_accept(req)->file_index;
	bool chosen = req->flags & REQ_F_POLL_CHOSEN || (req->file && res == -EINTR);

	/* a request woken by io_poll_pass_on() wakes another: there may be several connections */
	if (req->flags & REQ_F_POLL_PASSED ||
	    (chosen && (cancelled || (taken && req->flags & REQ_F_MULTISHOT))))
		io_poll_pass_on(req->file, EPOLLIN | EPOLLRDNORM);
}

static bool io_accept_is_ready(struct file *file)
{
	struct poll_table_struct pt = { ._key = EPOLLIN };

	return vfs_poll(file, &pt) & (EPOLLIN | EPOLLERR | EPOLLHUP);
}

/* Return: true if the request has to wait before its first attempt. */
static bool io_accept_early(struct io_kiocb *req)
{
	struct io_accept *accept = io_accept(req);
	struct socket *sock;

	if (accept->how & IO_ACCEPT_NOTIFIED)
		return false;
	accept->how |= IO_ACCEPT_NOTIFIED;
	if (accept->how & IORING_ACCEPT_POLL_FIRST)
		return true;
	sock = sock_from_file(req->file);
	/*
	 * If the file is not a listener, do_accept() reports the error.  A TCP listener counts
	 * its connections, and need not be polled if there are any.
	 */
	return sock && READ_ONCE(sock->sk->sk_state) == TCP_LISTEN &&
	       !READ_ONCE(sock->sk->sk_ack_backlog) && !io_accept_is_ready(req->file);
}

/* Accept one connection.  Return: as io_install_file(), or a negative errno. */
static int io_accept_one(struct io_kiocb *req, struct proto_accept_arg *arg,
			 unsigned int issue_flags)
{
	struct io_accept *accept = io_accept(req);
	int fd = -1, flags = 0, ret;
	struct file *file;

	if (accept->flags & SOCK_CLOEXEC)
		flags |= O_CLOEXEC;
	if (accept->flags & SOCK_NONBLOCK)
		flags |= O_NONBLOCK;
	if (!accept->file_index) {
		fd = get_unused_fd_flags(flags);
		if (unlikely(fd < 0))
			return fd;
	}
	file = do_accept(req->file, arg, accept->addr, accept->addr_len, flags);
	if (IS_ERR(file)) {
		if (fd >= 0)
			put_unused_fd(fd);
		return PTR_ERR(file);
	}
	ret = io_install_file(req->ctx, file, fd, accept->file_index, issue_flags);
	if (unlikely(ret < 0))
		accept->how |= IO_ACCEPT_NO_SLOT;
	return ret;
}

/* Report the result @ret of an attempt.  Return: the result for ->issue(). */
static enum io_result io_accept_tell(struct io_kiocb *req, const struct proto_accept_arg *arg,
				     int ret)
{
	u32 cflags = ret >= 0 && !arg->is_empty ? IORING_CQE_F_SOCK_NONEMPTY : 0;

	if (req->flags & REQ_F_MULTISHOT && ret >= 0 &&
	    likely(io_post_more_fast(req, ret, cflags) || io_post_more(req, ret, cflags))) {
		/* a request that does not wait continues until an attempt finds no connection */
		if (!arg->is_empty || io_accept(req)->how & IORING_ACCEPT_DONTWAIT)
			return IO_MORE;
		if (arg->is_empty > 0)
			return IO_AGAIN;
		/* the protocol does not report whether another connection is there: poll again */
		io_accept(req)->how &= ~IO_ACCEPT_NOTIFIED;
		return IO_MORE_IF_READY;
	}
	req->cqe.flags = cflags;
	/* as on 6.12, a connection without a slot does not break the chain */
	if (unlikely(io_accept(req)->how & IO_ACCEPT_NO_SLOT))
		return io_done_unbroken(req, ret);
	return io_done(req, io_no_restart(ret));
}

static enum io_result io_accept_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	bool waits = !(io_accept(req)->how & IORING_ACCEPT_DONTWAIT);
	bool asked = issue_flags & IO_URING_F_NONBLOCK || !waits;
	struct proto_accept_arg arg = {
		.flags = asked ? O_NONBLOCK : 0,
		/* stays -1 if the protocol does not set it */
		.is_empty = -1,
	};
	unsigned int left = IO_ACCEPT_SHARE;
	enum io_result result;
	/* with IO_URING_F_MULTISHOT the armed poll has reported an event */
	bool early = asked && !(issue_flags & IO_URING_F_MULTISHOT) && io_accept_early(req);

	do {
		int ret = early ? -EAGAIN : io_accept_one(req, &arg, issue_flags);

		if (ret == -EAGAIN && asked && waits)
			result = IO_AGAIN;
		else
			result = io_accept_tell(req, &arg, ret);
	} while (result == IO_MORE && --left);
	/* ->cleanup() wakes another waiter if the request does not accept its connection */
	if (result != IO_DONE)
		req->flags |= REQ_F_NEED_CLEANUP;
	return result;
}

const struct io_op io_op_accept = {
	.needs_file		= 1,
	.ioprio			= 1,
	.unbound_nonreg_file	= 1,
	.poll_in		= 1,
	.poll_exclusive		= 1,
	.borrows_file		= 1,
	.heeds_nonblock		= 1,
	.prep			= io_accept_prep,
	.issue			= io_accept_issue,
	.cleanup		= io_accept_cleanup,
};
