/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the paths that requests name */
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
 * getname() does not charge the caller's cgroup: a system call has a path or two, but a program
 * may have any number of requests wait.
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
 * io_path_get() - read a path from user space, on the account of the caller's cgroup
 * @req: the request, which is marked as having something to clean up
 * @path: filled in, for dismiss_delayed_filename()
 * @uaddr: where it is
 * @uflags: AT_EMPTY_PATH allows it to be empty
 *
 * The count of a struct filename is not atomic and audit takes references.  So the name is for
 * audit only from complete_getname() on, which the task that uses it calls.
 *
 * Context: the submitter's; may sleep.
 * Return: 0, or a negative errno as of getname().
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

/* The request has done what it needed its path for: its end has nothing to clean up. */
static inline void io_path_put(struct io_kiocb *req, struct filename *name)
{
	putname(name);
	req->flags &= ~REQ_F_NEED_CLEANUP;
}

/*
 * Another task will use the path: a copy of it if audit has taken a reference.
 * Return: what ->issue does.
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
