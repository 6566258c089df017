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

#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/req.h"

/**
 * io_path_get() - read a path from user space, on the account of the caller's cgroup
 * @uaddr: where it is
 * @uflags: AT_EMPTY_PATH allows it to be empty
 *
 * getname() does not charge its 4 KiB: a system call has a path or two, but a program may have
 * any number of requests wait.
 *
 * Context: the submitter's; may sleep.
 * Return: what putname() puts, or an ERR_PTR() as of getname().
 */
static inline struct filename *io_path_get(u64 uaddr, int uflags)
{
	int flags = uflags & AT_EMPTY_PATH ? LOOKUP_EMPTY : 0;
	struct filename *path = getname_flags(u64_to_user_ptr(uaddr), flags);
	void *text = path;

	if (IS_ERR(path))
		return path;
	/* a long one has its struct filename apart */
	if (unlikely(path->name != path->iname))
		text = (void *)path->name;
	if (likely(kmem_cache_charge(text, GFP_KERNEL)))
		return path;
	putname(path);
	return ERR_PTR(-ENOMEM);
}

/* The request has done what it needed its path for: its end has nothing to clean up. */
static inline void io_path_put(struct io_kiocb *req, struct filename *path)
{
	putname(path);
	req->flags &= ~REQ_F_NEED_CLEANUP;
}

#endif
