// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_FSETXATTR, SETXATTR, FGETXATTR, GETXATTR - extended attributes */

/*
 * The ops with a path accept no registered file.  ->prep() reads the name, the path and a value to
 * be set.  A worker does the rest: filesystems may read a disk or lock the inode to access
 * attributes.
 */
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/namei.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xattr.h>

#include "../../../fs/internal.h"

#include "op/fs/path.h"
#include "op/list.h"
#include "op/result.h"

/**
 * struct io_xattr - arguments of all four ops
 * @attr: name and value of the attribute, in memory that the request owns
 * @path: path of the file; unset for FSETXATTR and FGETXATTR
 */
struct io_xattr {
	struct kernel_xattr_ctx	attr;
	struct delayed_filename	path;
};

IO_OP_DATA(io_xattr);

static void io_xattr_cleanup(struct io_kiocb *req)
{
	struct io_xattr *xattr = io_xattr(req);

	dismiss_delayed_filename(&xattr->path);
	kfree(xattr->attr.kname);
	kvfree(xattr->attr.kvalue);
}

/* Read the fields that all four ops use.  Return: 0 or a negative errno. */
static int io_xattr_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_xattr *xattr = io_xattr(req);
	struct kernel_xattr_ctx *attr = &xattr->attr;

	if (req->flags & REQ_F_FIXED_FILE && !io_ops[req->opcode]->needs_file)
		return -EBADF;
	INIT_DELAYED_FILENAME(&xattr->path);
	attr->value = u64_to_user_ptr(READ_ONCE(sqe->addr2));
	attr->kvalue = NULL;
	attr->size = READ_ONCE(sqe->len);
	attr->flags = READ_ONCE(sqe->xattr_flags);
	attr->kname = kmalloc_obj(*attr->kname, GFP_KERNEL_ACCOUNT);
	if (!attr->kname)
		return -ENOMEM;
	req->flags |= REQ_F_NEED_CLEANUP;
	return 0;
}

static int io_xattr_name(struct xattr_name *kname, const struct io_uring_sqe *sqe)
{
	long len = strncpy_from_user(kname->name, u64_to_user_ptr(READ_ONCE(sqe->addr)),
				     sizeof(kname->name));

	if (!len || len == sizeof(kname->name))
		return -ERANGE;
	return min(len, 0L);
}

/*
 * Copy the value like setxattr_copy(), but charge it to the cgroup.  A system call has one value,
 * but many requests may hold a value while they wait.  Return: 0 or a negative errno.
 */
static int io_xattr_value(struct kernel_xattr_ctx *attr)
{
	if (!attr->size)
		return 0;
	if (attr->size > XATTR_SIZE_MAX)
		return -E2BIG;
	attr->kvalue = kvmalloc(attr->size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!attr->kvalue)
		return -ENOMEM;
	return copy_from_user(attr->kvalue, attr->cvalue, attr->size) ? -EFAULT : 0;
}

static int io_fsetxattr_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct kernel_xattr_ctx *attr = &io_xattr(req)->attr;
	int ret = io_xattr_prep(req, sqe);

	if (ret)
		return ret;
	if (attr->flags & ~(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	ret = io_xattr_name(attr->kname, sqe);
	return ret ?: io_xattr_value(attr);
}

static int io_fgetxattr_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct kernel_xattr_ctx *attr = &io_xattr(req)->attr;
	int ret = io_xattr_prep(req, sqe);

	if (ret)
		return ret;
	if (attr->flags)
		return -EINVAL;
	return io_xattr_name(attr->kname, sqe);
}

static int io_xattr_path(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return io_path_get(req, &io_xattr(req)->path, READ_ONCE(sqe->addr3), 0);
}

static int io_setxattr_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret = io_fsetxattr_prep(req, sqe);

	return ret ?: io_xattr_path(req, sqe);
}

static int io_getxattr_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret = io_fgetxattr_prep(req, sqe);

	return ret ?: io_xattr_path(req, sqe);
}

static enum io_result io_fsetxattr_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	int ret;

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	if (io_file_is_path(req->file))
		return io_done(req, -EBADF);
	ret = file_setxattr(req->file, &io_xattr(req)->attr);
	return io_done_unbroken(req, io_no_restart(ret));
}

static enum io_result io_setxattr_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_xattr *xattr = io_xattr(req);
	int ret;

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	CLASS(filename_complete_delayed, name)(&xattr->path);
	ret = filename_setxattr(AT_FDCWD, name, LOOKUP_FOLLOW, &xattr->attr);
	return io_done_unbroken(req, io_no_restart(ret));
}

static enum io_result io_fgetxattr_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	int ret;

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	if (io_file_is_path(req->file))
		return io_done(req, -EBADF);
	ret = file_getxattr(req->file, &io_xattr(req)->attr);
	return io_done_unbroken(req, io_no_restart(ret));
}

static enum io_result io_getxattr_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_xattr *xattr = io_xattr(req);
	int ret;

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	CLASS(filename_complete_delayed, name)(&xattr->path);
	ret = filename_getxattr(AT_FDCWD, name, LOOKUP_FOLLOW, &xattr->attr);
	return io_done_unbroken(req, io_no_restart(ret));
}

const struct io_op io_op_fsetxattr = {
	.needs_file	= 1,
	.blocks		= 1,
	.prep		= io_fsetxattr_prep,
	.issue		= io_fsetxattr_issue,
	.cleanup	= io_xattr_cleanup,
};

const struct io_op io_op_setxattr = {
	.blocks		= 1,
	.prep		= io_setxattr_prep,
	.issue		= io_setxattr_issue,
	.cleanup	= io_xattr_cleanup,
};

const struct io_op io_op_fgetxattr = {
	.needs_file	= 1,
	.blocks		= 1,
	.prep		= io_fgetxattr_prep,
	.issue		= io_fgetxattr_issue,
	.cleanup	= io_xattr_cleanup,
};

const struct io_op io_op_getxattr = {
	.blocks		= 1,
	.prep		= io_getxattr_prep,
	.issue		= io_getxattr_issue,
	.cleanup	= io_xattr_cleanup,
};
