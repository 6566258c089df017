// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_OPENAT, IORING_OP_OPENAT2 - open a file, as a descriptor or into a slot */

/*
 * Both ops use a struct open_how, which OPENAT builds from its flags and mode.  ->prep() reads the
 * path, so that the program may reuse its memory.
 *
 * An inline attempt opens only files whose path is in the dentry cache, as with RESOLVE_CACHED.
 * A worker opens other files, and runs requests that may create or truncate a file.
 *
 * sqe->file_index selects a slot of the registered files instead of a descriptor.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/uaccess.h>
#include <uapi/linux/io_uring/bpf_filter.h>

#include "../../../fs/internal.h"

#include "op/fs/path.h"
#include "op/list.h"
#include "op/result.h"
#include "rsrc/files.h"

/**
 * struct io_open - arguments of OPENAT and OPENAT2
 * @path: the path; put by the attempt that ends the request, or by ->cleanup()
 * @how: flags, mode and resolve flags
 * @dfd: directory where a relative path starts
 * @file_index: slot + 1, IORING_FILE_INDEX_ALLOC, or 0 for a descriptor
 */
struct io_open {
	struct delayed_filename	path;
	struct open_how		how;
	int			dfd;
	u32			file_index;
};

IO_OP_DATA(io_open);

/* Read the fields that both ops use; ->how is set already.  Return: 0 or a negative errno. */
static int io_open_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_open *open = io_open(req);
	int ret;

	if (unlikely(req->buf_index))
		return -EINVAL;
	if (unlikely(req->flags & REQ_F_FIXED_FILE))
		return -EBADF;
	if (!(open->how.flags & O_PATH) && force_o_largefile())
		open->how.flags |= O_LARGEFILE;
	open->dfd = READ_ONCE(sqe->fd);
	open->file_index = READ_ONCE(sqe->file_index);
	ret = io_path_get(req, &open->path, READ_ONCE(sqe->addr), 0);
	if (ret)
		return ret;
	/* exec does not close registered files, so O_CLOEXEC would have no effect */
	if (open->file_index && open->how.flags & O_CLOEXEC)
		return -EINVAL;
	return 0;
}

static int io_openat_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	umode_t mode = READ_ONCE(sqe->len);
	int flags = READ_ONCE(sqe->open_flags);

	io_open(req)->how = build_open_how(flags, mode);
	return io_open_prep(req, sqe);
}

static int io_openat2_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	size_t size = READ_ONCE(sqe->len);
	int ret;

	if (size < OPEN_HOW_SIZE_VER0)
		return -EINVAL;
	/* as openat2(2): copy_struct_from_user() reads all of it, however long */
	if (size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(&io_open(req)->how, sizeof(struct open_how),
				    u64_to_user_ptr(READ_ONCE(sqe->addr2)), size);
	return ret ?: io_open_prep(req, sqe);
}

/* The resolve flags of OPENAT are always zero. */
static void io_open_filter_fields(struct io_kiocb *req, struct io_uring_bpf_ctx *ctx)
{
	const struct open_how *how = &io_open(req)->how;

	ctx->open.flags = how->flags;
	ctx->open.mode = how->mode;
	ctx->open.resolve = how->resolve;
	/* filters for 7.3 see the flag that such an open gets there */
	if (how->flags & (O_TRUNC | O_CREAT | __O_TMPFILE))
		ctx->sqe_flags |= IOSQE_ASYNC;
}

static enum io_result io_open_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_open *open = io_open(req);
	bool inline_attempt = issue_flags & IO_URING_F_NONBLOCK;
	struct filename *name;
	struct open_flags op;
	struct file *file;
	int fd = -1, ret;

	ret = build_open_flags(&open->how, &op);
	if (ret)
		return io_done(req, ret);
	if (inline_attempt) {
		if (open->how.flags & (O_TRUNC | O_CREAT | __O_TMPFILE))
			return IO_AGAIN;
		op.lookup_flags |= LOOKUP_CACHED;
		op.open_flag |= O_NONBLOCK;
	}
	if (!open->file_index) {
		fd = get_unused_fd_flags(open->how.flags);
		if (fd < 0)
			return io_done(req, fd);
	}
	name = complete_getname(&open->path);
	file = do_file_open(open->dfd, name, &op);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		if (fd >= 0)
			put_unused_fd(fd);
		if (ret == -EAGAIN && inline_attempt && !(open->how.resolve & RESOLVE_CACHED))
			return io_path_keep(req, &open->path, name);
		io_path_put(req, name);
		return io_done(req, io_no_restart(ret));
	}
	if (inline_attempt && !(open->how.flags & O_NONBLOCK))
		file->f_flags &= ~O_NONBLOCK;
	io_path_put(req, name);
	ret = io_install_file(req->ctx, file, fd, open->file_index, issue_flags);
	return io_done(req, ret);
}

static void io_open_cleanup(struct io_kiocb *req)
{
	dismiss_delayed_filename(&io_open(req)->path);
}

const struct io_op io_op_openat = {
	.filter_size	= sizeof_field(struct io_uring_bpf_ctx, open),
	.filter_fields	= io_open_filter_fields,
	.prep		= io_openat_prep,
	.issue		= io_open_issue,
	.cleanup	= io_open_cleanup,
};

const struct io_op io_op_openat2 = {
	.filter_size	= sizeof_field(struct io_uring_bpf_ctx, open),
	.filter_fields	= io_open_filter_fields,
	.prep		= io_openat2_prep,
	.issue		= io_open_issue,
	.cleanup	= io_open_cleanup,
};
