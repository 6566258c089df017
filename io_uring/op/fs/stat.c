// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_STATX - attributes of a file */

/*
 * An inline attempt succeeds only if the path is in the dentry cache, and the attributes are in
 * memory with the inode.  Some filesystems (network, FUSE) request attributes from a server, which
 * may take long.  So a worker handles these filesystems.
 */
#include <linux/dcache.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/stat.h>
#include <linux/uaccess.h>

#include "../../../fs/internal.h"

#include "op/fs/path.h"
#include "op/list.h"
#include "op/result.h"

#define IO_STATX_FLAGS	(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH)

/**
 * struct io_statx - arguments of STATX
 * @path: the path; put by the attempt that ends the request, or by ->cleanup()
 * @buffer: user address for the attributes
 * @dfd: directory where a relative path starts
 * @flags: AT_*
 * @mask: STATX_*
 */
struct io_statx {
	struct delayed_filename	path;
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
	return io_path_get(req, &statx->path, READ_ONCE(sqe->addr), statx->flags);
}

/*
 * Return: true if the attributes are in memory.  A network filesystem may also have a dentry
 * without ->d_revalidate(): its root, which has no name that can become stale.
 */
static bool io_statx_is_local(const struct path *path)
{
	const struct super_block *sb = path->dentry->d_sb;

	if (!d_inode(path->dentry)->i_op->getattr || sb->s_magic == TMPFS_MAGIC)
		return true;
	return sb->s_type->fs_flags & FS_REQUIRES_DEV &&
	       !(path->dentry->d_flags & DCACHE_OP_REVALIDATE);
}

/*
 * Look up the path in the dentry cache, and copy the attributes if they are in memory.  The copy
 * uses this lookup, since a second lookup could find another file and block.  The copy must not
 * wait for a page fault, which current itself may have to handle (userfaultfd).
 *
 * Return: 0, -EAGAIN if a worker has to repeat the request, or another negative errno.
 */
static int io_statx_cached(const struct io_statx *statx, struct filename *name)
{
	unsigned int lookup = LOOKUP_CACHED;
	struct path path __free(path_put) = {};
	int ret;

	/* a worker handles invalid arguments, and AT_STATX_FORCE_SYNC and _DONT_SYNC */
	if (statx->flags & ~IO_STATX_FLAGS || statx->mask & STATX__RESERVED)
		return -EAGAIN;
	if (!(statx->flags & AT_SYMLINK_NOFOLLOW))
		lookup |= LOOKUP_FOLLOW;
	if (!(statx->flags & AT_NO_AUTOMOUNT))
		lookup |= LOOKUP_AUTOMOUNT;
	ret = filename_lookup(statx->dfd, name, lookup, &path, NULL);
	if (ret)
		return ret;
	if (!io_statx_is_local(&path))
		return -EAGAIN;
	pagefault_disable();
	ret = do_statx_path(&path, statx->flags, statx->mask, statx->buffer);
	pagefault_enable();
	return ret == -EFAULT ? -EAGAIN : ret;
}

static enum io_result io_statx_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_statx *statx = io_statx(req);
	struct filename *name = complete_getname(&statx->path);
	int ret;

	if (issue_flags & IO_URING_F_NONBLOCK) {
		ret = io_statx_cached(statx, name);
		if (ret == -EAGAIN)
			return io_path_keep(req, &statx->path, name);
	} else {
		ret = do_statx(statx->dfd, name, statx->flags, statx->mask, statx->buffer);
	}
	io_path_put(req, name);
	return io_done_unbroken(req, io_no_restart(ret));
}

static void io_statx_cleanup(struct io_kiocb *req)
{
	dismiss_delayed_filename(&io_statx(req)->path);
}

const struct io_op io_op_statx = {
	.audit_skip	= 1,
	.prep		= io_statx_prep,
	.issue		= io_statx_issue,
	.cleanup	= io_statx_cleanup,
};
