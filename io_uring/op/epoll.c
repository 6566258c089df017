// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_EPOLL_CTL, EPOLL_WAIT - watch files by an epoll instance */

/*
 * An EPOLL_WAIT waits for its epoll instance like a read, and posts one CQE with the number of
 * events.  Another task may take the events between the wake-up and the attempt.
 */
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/uaccess.h>
#include <linux/eventpoll.h>

#include "async/poll.h"
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

/**
 * struct io_epoll_wait - arguments of EPOLL_WAIT
 * @events: user memory for the events
 * @max: maximum number of events
 */
struct io_epoll_wait {
	struct epoll_event __user	*events;
	int				max;
};

IO_OP_DATA(io_epoll);
IO_OP_DATA(io_epoll_wait);

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

static int io_epoll_wait_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_epoll_wait *wait = io_epoll_wait(req);

	if (READ_ONCE(sqe->off) || READ_ONCE(sqe->rw_flags) || req->buf_index ||
	    READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	wait->events = u64_to_user_ptr(READ_ONCE(sqe->addr));
	wait->max = READ_ONCE(sqe->len);
	return 0;
}

static enum io_result io_epoll_wait_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_epoll_wait *wait = io_epoll_wait(req);
	int ret = epoll_sendevents(req->file, wait->events, wait->max);

	if (ret)
		return io_done(req, io_no_restart(ret));
	if (!(issue_flags & IO_URING_F_NONBLOCK))
		return io_done(req, -EAGAIN);
	/* other tasks may take the events many times before a worker has to end the request */
	io_poll_progress(req);
	return IO_AGAIN;
}

const struct io_op io_op_epoll_ctl = {
	.audit_skip	= 1,
	.prep		= io_epoll_prep,
	.issue		= io_epoll_issue,
};

const struct io_op io_op_epoll_wait = {
	.needs_file	= 1,
	.audit_skip	= 1,
	.poll_in	= 1,
	.prep		= io_epoll_wait_prep,
	.issue		= io_epoll_wait_issue,
};
