// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_FSYNC, SYNC_FILE_RANGE, FALLOCATE, FTRUNCATE - flush, allocate, truncate */

/*
 * All these ops may wait for a disk, and none has a non-blocking mode.  So only
 * workers run them.
 */
#include <linux/fs.h>

#include "../../../fs/internal.h"

#include "op/list.h"
#include "op/result.h"

/**
 * struct io_sync - arguments of all four ops
 * @off: start of the range
 * @len: length of the range; FTRUNCATE: the new size
 * @flags: FSYNC and SYNC_FILE_RANGE: their flags; FALLOCATE: the mode
 */
struct io_sync {
	loff_t	off;
	loff_t	len;
	int	flags;
};

IO_OP_DATA(io_sync);

static int io_fsync_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_sync *sync = io_sync(req);

	if (READ_ONCE(sqe->addr) || READ_ONCE(sqe->buf_index) || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	sync->flags = READ_ONCE(sqe->fsync_flags);
	if (sync->flags & ~IORING_FSYNC_DATASYNC)
		return -EINVAL;
	sync->off = READ_ONCE(sqe->off);
	if (sync->off < 0)
		return -EINVAL;
	sync->len = READ_ONCE(sqe->len);
	return 0;
}

static enum io_result io_fsync_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_sync *sync = io_sync(req);
	loff_t end = (u64)sync->off + sync->len;
	int ret;

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	/* an offset and a length of 0 mean the whole file */
	ret = vfs_fsync_range(req->file, sync->off, end > 0 ? end : LLONG_MAX,
			      sync->flags & IORING_FSYNC_DATASYNC);
	return io_done_unbroken(req, io_no_restart(ret));
}

static int io_sync_range_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_sync *sync = io_sync(req);

	if (READ_ONCE(sqe->addr) || READ_ONCE(sqe->buf_index) || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	sync->off = READ_ONCE(sqe->off);
	sync->len = READ_ONCE(sqe->len);
	sync->flags = READ_ONCE(sqe->sync_range_flags);
	return 0;
}

static enum io_result io_sync_range_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_sync *sync = io_sync(req);
	int ret;

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	if (io_file_is_path(req->file))
		return io_done(req, -EBADF);
	ret = sync_file_range(req->file, sync->off, sync->len, sync->flags);
	return io_done_unbroken(req, io_no_restart(ret));
}

static int io_fallocate_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_sync *sync = io_sync(req);

	if (READ_ONCE(sqe->buf_index) || READ_ONCE(sqe->rw_flags) || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	sync->off = READ_ONCE(sqe->off);
	sync->len = READ_ONCE(sqe->addr);
	sync->flags = READ_ONCE(sqe->len);
	return 0;
}

static enum io_result io_fallocate_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_sync *sync = io_sync(req);
	int ret;

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	ret = vfs_fallocate(req->file, sync->flags, sync->off, sync->len);
	return io_done_unbroken(req, io_no_restart(ret));
}

static int io_ftruncate_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_sync *sync = io_sync(req);

	if (READ_ONCE(sqe->rw_flags) || READ_ONCE(sqe->addr) || READ_ONCE(sqe->len) ||
	    READ_ONCE(sqe->buf_index) || READ_ONCE(sqe->splice_fd_in) || READ_ONCE(sqe->addr3))
		return -EINVAL;
	sync->len = READ_ONCE(sqe->off);
	return 0;
}

static enum io_result io_ftruncate_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	return io_done_unbroken(req, io_no_restart(do_ftruncate(req->file, io_sync(req)->len, 0)));
}

const struct io_op io_op_fsync = {
	.needs_file	= 1,
	.audit_skip	= 1,
	.prep		= io_fsync_prep,
	.issue		= io_fsync_issue,
};

const struct io_op io_op_sync_file_range = {
	.needs_file	= 1,
	.audit_skip	= 1,
	.prep		= io_sync_range_prep,
	.issue		= io_sync_range_issue,
};

const struct io_op io_op_fallocate = {
	.needs_file	= 1,
	.serialize_writes	= 1,
	.blocks		= 1,
	.prep		= io_fallocate_prep,
	.issue		= io_fallocate_issue,
};

const struct io_op io_op_ftruncate = {
	.needs_file	= 1,
	.serialize_writes	= 1,
	.blocks		= 1,
	.prep		= io_ftruncate_prep,
	.issue		= io_ftruncate_issue,
};
