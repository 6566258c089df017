/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: paths in the SQEs of requests */
#ifndef IO_OP_PATH_H
#define IO_OP_PATH_H

#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/namei.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

#include "op.h"
#include "req/req.h"

/*
 * Charge a path to the caller's cgroup.  getname() does not charge it, as a system call has few
 * paths, but many requests may hold a path while they wait.  Return: 0 or -ENOMEM.
 */
static inline int io_path_charge(struct delayed_filename *path)
{
	struct filename *name = path->__incomplete_filename;
	char *text;

	if (unlikely(!kmem_cache_charge(name, GFP_KERNEL)))
		return -ENOMEM;
	if (likely(name->name == name->iname))
		return 0;
	/* the text of a long one is apart, and what kmalloc() gave cannot be charged afterwards */
	text = kstrdup(name->name, GFP_KERNEL_ACCOUNT);
	if (!text)
		return -ENOMEM;
	kfree(name->name);
	name->name = text;
	return 0;
}

/**
 * io_path_get() - read a path from user space, and charge it to the caller's cgroup
 * @req: the request, which gets REQ_F_NEED_CLEANUP
 * @path: the path, to be released by dismiss_delayed_filename()
 * @uaddr: user address of the path
 * @uflags: AT_EMPTY_PATH allows an empty path
 *
 * The reference count of a struct filename is not atomic, and audit takes references.  So audit
 * gets the path only in complete_getname(), called by the task that uses the path.
 *
 * Context: Task context of the submitter.  May sleep.
 *
 * Return: 0 or a negative errno, as getname().
 */
static inline int io_path_get(struct io_kiocb *req, struct delayed_filename *path, u64 uaddr,
			      int uflags)
{
	int ret = delayed_getname_uflags(path, u64_to_user_ptr(uaddr), uflags);

	if (ret)
		return ret;
	req->flags |= REQ_F_NEED_CLEANUP;
	return io_path_charge(path);
}

/* Put a path that the request does not need any more.  ->cleanup() is not called after this. */
static inline void io_path_put(struct io_kiocb *req, struct filename *name)
{
	putname(name);
	req->flags &= ~REQ_F_NEED_CLEANUP;
}

/*
 * Keep the path for a worker, or a copy if audit has a reference to the path.
 * Return: IO_AGAIN, or IO_DONE if there is no memory.
 */
static inline enum io_result io_path_keep(struct io_kiocb *req, struct delayed_filename *path,
					  struct filename *name)
{
	int ret = putname_to_delayed(path, name);

	if (unlikely(!ret && path->__incomplete_filename != name))
		ret = io_path_charge(path);
	return likely(!ret) ? IO_AGAIN : io_done(req, ret);
}

#endif
