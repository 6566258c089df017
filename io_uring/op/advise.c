// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_FADVISE, IORING_OP_MADVISE - announce how files and memory will be used */
#include <linux/errno.h>
#include <linux/fadvise.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "op/list.h"
#include "op/result.h"

/**
 * struct io_advise - arguments of FADVISE and MADVISE
 * @start: file position or address
 * @len: number of bytes
 * @advice: POSIX_FADV_* or MADV_*
 */
struct io_advise {
	u64	start;
	u64	len;
	u32	advice;
};

IO_OP_DATA(io_advise);

/* Read the SQE.  @wide is a 64-bit length; if it is 0, the length is in sqe->len. */
static int io_advise_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe, u64 start, u64 wide)
{
	struct io_advise *adv = io_advise(req);

	if (req->buf_index || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	adv->start = start;
	adv->len = wide ?: READ_ONCE(sqe->len);
	adv->advice = READ_ONCE(sqe->fadvise_advice);
	return 0;
}

static int io_fadvise_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return io_advise_prep(req, sqe, READ_ONCE(sqe->off), READ_ONCE(sqe->addr));
}

/* Return: true for advice that may read or drop pages. */
static bool io_fadvise_may_block(u32 advice)
{
	return advice == POSIX_FADV_WILLNEED || advice == POSIX_FADV_DONTNEED;
}

static enum io_result io_fadvise_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_advise *adv = io_advise(req);
	int ret;

	if (io_file_is_path(req->file))
		return io_done(req, -EBADF);
	if (issue_flags & IO_URING_F_NONBLOCK && io_fadvise_may_block(adv->advice))
		return IO_AGAIN;
	ret = vfs_fadvise(req->file, adv->start, adv->len, adv->advice);
	return io_done(req, io_no_restart(ret));
}

static int io_madvise_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return io_advise_prep(req, sqe, READ_ONCE(sqe->addr), READ_ONCE(sqe->off));
}

/* Leave this to a worker, because every kind of advice may wait for mmap_lock. */
static enum io_result io_madvise_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_advise *adv = io_advise(req);
	int ret;

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	ret = do_madvise(current->mm, adv->start, adv->len, adv->advice);
	return io_done_unbroken(req, io_no_restart(ret));
}

const struct io_op io_op_fadvise = {
	.needs_file	= 1,
	.audit_skip	= 1,
	.prep		= io_fadvise_prep,
	.issue		= io_fadvise_issue,
};

const struct io_op io_op_madvise = {
	.audit_skip	= 1,
	.prep		= io_madvise_prep,
	.issue		= io_madvise_issue,
};
