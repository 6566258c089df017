// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_RENAMEAT, UNLINKAT, MKDIRAT, SYMLINKAT, LINKAT - change directory entries */

/*
 * ->prep() reads the paths, so that the program may reuse their memory.  All these ops change a
 * directory, and may wait for the directory's lock or for a disk.  So only workers run them.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/fs.h>

#include "../../../fs/internal.h"

#include "op/fs/path.h"
#include "op/list.h"
#include "op/result.h"

/**
 * struct io_names - arguments of an op with one or two names
 * @old: existing name, or contents of a symbolic link; unset for MKDIRAT and UNLINKAT
 * @new: name to create, or the name that UNLINKAT removes
 * @old_dfd: directory where a relative @old starts
 * @new_dfd: directory where a relative @new starts
 * @flags: RENAME_*, AT_*
 * @mode: mode of a new directory
 */
struct io_names {
	struct delayed_filename	old;
	struct delayed_filename	new;
	int			old_dfd;
	int			new_dfd;
	unsigned int		flags;
	umode_t			mode;
};

IO_OP_DATA(io_names);

/* Check that unused fields, and the OR of fields in @used, are 0.  Return: 0 or -errno. */
static int io_names_check(struct io_kiocb *req, const struct io_uring_sqe *sqe, u64 used)
{
	if (used || req->buf_index || READ_ONCE(sqe->splice_fd_in))
		return -EINVAL;
	return req->flags & REQ_F_FIXED_FILE ? -EBADF : 0;
}

/* Read both names.  AT_EMPTY_PATH in @uflags allows the old name to be empty. */
static int io_names_get(struct io_kiocb *req, const struct io_uring_sqe *sqe, int uflags)
{
	struct io_names *names = io_names(req);
	int ret;

	INIT_DELAYED_FILENAME(&names->new);
	ret = io_path_get(req, &names->old, READ_ONCE(sqe->addr), uflags);
	return ret ?: io_path_get(req, &names->new, READ_ONCE(sqe->addr2), 0);
}

static void io_names_cleanup(struct io_kiocb *req)
{
	struct io_names *names = io_names(req);

	dismiss_delayed_filename(&names->old);
	dismiss_delayed_filename(&names->new);
}

/* End a request.  The caller's CLASS() puts the names, so ->cleanup() must not put them. */
static enum io_result io_names_done(struct io_kiocb *req, int ret)
{
	req->flags &= ~REQ_F_NEED_CLEANUP;
	return io_done_unbroken(req, io_no_restart(ret));
}

static int io_renameat_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_names *names = io_names(req);
	int ret = io_names_check(req, sqe, 0);

	if (ret)
		return ret;
	names->old_dfd = READ_ONCE(sqe->fd);
	names->new_dfd = READ_ONCE(sqe->len);
	names->flags = READ_ONCE(sqe->rename_flags);
	return io_names_get(req, sqe, 0);
}

static enum io_result io_renameat_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_names *names = io_names(req);

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	CLASS(filename_complete_delayed, old)(&names->old);
	CLASS(filename_complete_delayed, new)(&names->new);
	return io_names_done(req, filename_renameat2(names->old_dfd, old, names->new_dfd, new,
						     names->flags));
}

static int io_unlinkat_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_names *names = io_names(req);
	int ret = io_names_check(req, sqe, READ_ONCE(sqe->off) | READ_ONCE(sqe->len));

	if (ret)
		return ret;
	names->new_dfd = READ_ONCE(sqe->fd);
	names->flags = READ_ONCE(sqe->unlink_flags);
	if (names->flags & ~AT_REMOVEDIR)
		return -EINVAL;
	INIT_DELAYED_FILENAME(&names->old);
	return io_path_get(req, &names->new, READ_ONCE(sqe->addr), 0);
}

static enum io_result io_unlinkat_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_names *names = io_names(req);

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	CLASS(filename_complete_delayed, name)(&names->new);
	if (names->flags & AT_REMOVEDIR)
		return io_names_done(req, filename_rmdir(names->new_dfd, name));
	return io_names_done(req, filename_unlinkat(names->new_dfd, name));
}

static int io_mkdirat_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_names *names = io_names(req);
	int ret = io_names_check(req, sqe, READ_ONCE(sqe->off) | READ_ONCE(sqe->open_flags));

	if (ret)
		return ret;
	names->new_dfd = READ_ONCE(sqe->fd);
	names->mode = READ_ONCE(sqe->len);
	INIT_DELAYED_FILENAME(&names->old);
	return io_path_get(req, &names->new, READ_ONCE(sqe->addr), 0);
}

static enum io_result io_mkdirat_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_names *names = io_names(req);

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	CLASS(filename_complete_delayed, name)(&names->new);
	return io_names_done(req, filename_mkdirat(names->new_dfd, name, names->mode));
}

static int io_symlinkat_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_names *names = io_names(req);
	int ret = io_names_check(req, sqe, READ_ONCE(sqe->len) | READ_ONCE(sqe->open_flags));

	if (ret)
		return ret;
	names->new_dfd = READ_ONCE(sqe->fd);
	return io_names_get(req, sqe, 0);
}

static enum io_result io_symlinkat_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_names *names = io_names(req);

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	CLASS(filename_complete_delayed, old)(&names->old);
	CLASS(filename_complete_delayed, new)(&names->new);
	return io_names_done(req, filename_symlinkat(old, names->new_dfd, new));
}

static int io_linkat_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_names *names = io_names(req);
	int ret = io_names_check(req, sqe, 0);

	if (ret)
		return ret;
	names->old_dfd = READ_ONCE(sqe->fd);
	names->new_dfd = READ_ONCE(sqe->len);
	/* filename_linkat() checks the flags */
	names->flags = READ_ONCE(sqe->hardlink_flags);
	return io_names_get(req, sqe, names->flags);
}

static enum io_result io_linkat_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_names *names = io_names(req);

	if (issue_flags & IO_URING_F_NONBLOCK)
		return IO_AGAIN;
	CLASS(filename_complete_delayed, old)(&names->old);
	CLASS(filename_complete_delayed, new)(&names->new);
	return io_names_done(req, filename_linkat(names->old_dfd, old, names->new_dfd, new,
						  names->flags));
}

const struct io_op io_op_renameat = {
	.blocks		= 1,
	.prep		= io_renameat_prep,
	.issue		= io_renameat_issue,
	.cleanup	= io_names_cleanup,
};

const struct io_op io_op_unlinkat = {
	.blocks		= 1,
	.prep		= io_unlinkat_prep,
	.issue		= io_unlinkat_issue,
	.cleanup	= io_names_cleanup,
};

const struct io_op io_op_mkdirat = {
	.blocks		= 1,
	.prep		= io_mkdirat_prep,
	.issue		= io_mkdirat_issue,
	.cleanup	= io_names_cleanup,
};

const struct io_op io_op_symlinkat = {
	.blocks		= 1,
	.prep		= io_symlinkat_prep,
	.issue		= io_symlinkat_issue,
	.cleanup	= io_names_cleanup,
};

const struct io_op io_op_linkat = {
	.blocks		= 1,
	.prep		= io_linkat_prep,
	.issue		= io_linkat_issue,
	.cleanup	= io_names_cleanup,
};
