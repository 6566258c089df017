// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_EPOLL_CTL - change the files that an epoll instance watches */
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/uaccess.h>
#include <linux/eventpoll.h>

#include "op/list.h"
#include "op/result.h"

/**
 * struct io_epoll - arguments of epoll_ctl(2)
 * @epfd: descriptor of the epoll instance
 * @op: EPOLL_CTL_*
 * @fd: descriptor to watch
 * @event: events to watch for, copied by ->prep(); unused if @op takes no event
 */
struct io_epoll {
	int			epfd;
	int			op;
	int			fd;
	struct epoll_event	event;
};

IO_OP_DATA(io_epoll);

static int io_epoll_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_epoll *epoll = io_epoll(req);

	if (req->buf_index || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	epoll->epfd = READ_ONCE(sqe->fd);
	epoll->op = READ_ONCE(sqe->len);
	epoll->fd = READ_ONCE(sqe->off);
	if (ep_op_has_event(epoll->op) &&
	    copy_from_user(&epoll->event, u64_to_user_ptr(READ_ONCE(sqe->addr)),
			   sizeof(epoll->event)))
		return -EFAULT;
	return 0;
}

static enum io_result io_epoll_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_epoll *epoll = io_epoll(req);
	bool nonblock = issue_flags & IO_URING_F_NONBLOCK;
	int ret;

	ret = do_epoll_ctl(epoll->epfd, epoll->op, epoll->fd, &epoll->event, nonblock);
	if (nonblock && ret == -EAGAIN)
		return IO_AGAIN;
	return io_done(req, ret);
}

const struct io_op io_op_epoll_ctl = {
	.audit_skip	= 1,
	.prep		= io_epoll_prep,
	.issue		= io_epoll_issue,
};
