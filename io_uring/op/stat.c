// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_STATX - what statx(2) tells about a file */

/*
 * Inline, only what the dentry cache knows is answered, and only where the
 * attributes are in memory with the inode.  A filesystem that has to be asked
 * whether a name is still right (->d_revalidate: network, FUSE) may have to be
 * asked for attributes as well, which is for a worker.
 */
#include <linux/dcache.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/stat.h>

#include "../../fs/internal.h"

#include "op/list.h"
#include "op/result.h"

#define IO_STATX_FLAGS	(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH)

/**
 * struct io_statx - what to look at
 * @path: from user space; put by ->cleanup
 * @buffer: where the answer goes
 * @dfd: where relative paths start
 * @flags: AT_*
 * @mask: STATX_*
 */
struct io_statx {
	struct filename		*path;
	struct statx __user	*buffer;
	int			dfd;
	unsigned int		flags;
	unsigned int		mask;
};

IO_OP_DATA(io_statx);

static int io_statx_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_statx *statx = io_statx(req);

	if (req->buf_index || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	if (req->flags & REQ_F_FIXED_FILE)
		return -EBADF;
	statx->dfd = READ_ONCE(sqe->fd);
	statx->mask = READ_ONCE(sqe->len);
	statx->flags = READ_ONCE(sqe->statx_flags);
	statx->buffer = u64_to_user_ptr(READ_ONCE(sqe->addr2));
	statx->path = getname_uflags(u64_to_user_ptr(READ_ONCE(sqe->addr)), statx->flags);
	if (IS_ERR(statx->path))
		return PTR_ERR(statx->path);
	req->flags |= REQ_F_NEED_CLEANUP;
	return 0;
}

/*
 * Can the answer be given without waiting for anything?  Return: 0, -EAGAIN for a
 * worker's turn, or the errno that the path leads to.
 */
static int io_statx_cached(const struct io_statx *statx)
{
	unsigned int lookup = getname_statx_lookup_flags(statx->flags) | LOOKUP_CACHED;
	struct path path;
	bool local;
	int ret;

	/* who gives wrong flags, or wants the server to be asked, is told by a worker */
	if (statx->flags & ~IO_STATX_FLAGS || statx->mask & STATX__RESERVED)
		return -EAGAIN;
	ret = filename_lookup(statx->dfd, statx->path, lookup, &path, NULL);
	if (ret)
		return ret;
	local = !(path.dentry->d_flags & DCACHE_OP_REVALIDATE);
	path_put(&path);
	return local ? 0 : -EAGAIN;
}

static enum io_result io_statx_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_statx *statx = io_statx(req);
	int ret = 0;

	if (issue_flags & IO_URING_F_NONBLOCK) {
		ret = io_statx_cached(statx);
		if (ret == -EAGAIN)
			return IO_AGAIN;
	}
	if (!ret)
		ret = do_statx(statx->dfd, statx->path, statx->flags, statx->mask, statx->buffer);
	return io_done(req, io_no_restart(ret));
}

static void io_statx_cleanup(struct io_kiocb *req)
{
	putname(io_statx(req)->path);
}

const struct io_op io_op_statx = {
	.audit_skip	= 1,
	.prep		= io_statx_prep,
	.issue		= io_statx_issue,
	.cleanup	= io_statx_cleanup,
};
