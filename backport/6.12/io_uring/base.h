/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: 7.3's names on 6.12; every file of io_uring/ is compiled with it */
#ifndef IO_BASE_H
#define IO_BASE_H

#include <linux/audit.h>
#include <linux/cleanup.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/sched/mm.h>
#ifdef CONFIG_FUTEX
#include "../kernel/futex/futex.h"
#endif

#ifndef kmalloc_obj
#define kmalloc_obj(obj, gfp)		kmalloc(sizeof(obj), gfp)
#define kzalloc_obj(obj, gfp)		kzalloc(sizeof(obj), gfp)
#endif
#define security_uring_allowed()	0
#define mem_cgroup_from_virt(p)		mem_cgroup_from_slab_obj(p)
#define alloc_pages_bulk(gfp, nr, pages)	alloc_pages_bulk_array(gfp, nr, pages)
#define mm_get_unmapped_area(file, ...)	mm_get_unmapped_area(current->mm, file, __VA_ARGS__)
#define do_file_open(dfd, name, op)	do_filp_open(dfd, name, op)

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

/* Names are for audit from the beginning, and their count is atomic. */
struct delayed_filename {
	struct filename	*__incomplete_filename;
};

#define INIT_DELAYED_FILENAME(path)	((void)((path)->__incomplete_filename = NULL))

static inline int delayed_getname_uflags(struct delayed_filename *path, const char __user *text,
					 int uflags)
{
	int flags = uflags & AT_EMPTY_PATH ? LOOKUP_EMPTY : 0;

	path->__incomplete_filename = getname_flags(text, flags);
	return PTR_ERR_OR_ZERO(path->__incomplete_filename);
}

static inline void dismiss_delayed_filename(struct delayed_filename *path)
{
	struct filename *name = no_free_ptr(path->__incomplete_filename);

	if (name)
		putname(name);
}

static inline struct filename *complete_getname(struct delayed_filename *path)
{
	return no_free_ptr(path->__incomplete_filename);
}

static inline int putname_to_delayed(struct delayed_filename *path, struct filename *name)
{
	path->__incomplete_filename = name;
	return 0;
}

DEFINE_CLASS(filename_complete_delayed, struct filename *, putname(_T), complete_getname(path),
	     struct delayed_filename *path)

/* For a function that puts the name it is given. */
static inline struct filename *io_name_get(struct filename *name)
{
	atomic_inc(&name->refcnt);
	return name;
}

#define filename_renameat2(old_dfd, old, new_dfd, new, flags)			\
	do_renameat2(old_dfd, io_name_get(old), new_dfd, io_name_get(new), flags)
#define filename_linkat(old_dfd, old, new_dfd, new, flags)			\
	do_linkat(old_dfd, io_name_get(old), new_dfd, io_name_get(new), flags)
#define filename_symlinkat(old, dfd, new)					\
	do_symlinkat(io_name_get(old), dfd, io_name_get(new))
#define filename_mkdirat(dfd, name, mode)	do_mkdirat(dfd, io_name_get(name), mode)
#define filename_unlinkat(dfd, name)		do_unlinkat(dfd, io_name_get(name))
#define filename_rmdir(dfd, name)		do_rmdir(dfd, io_name_get(name))

/* Extended attributes: these are macros because fs/internal.h can be included only once. */
#define kernel_xattr_ctx	xattr_ctx

#define io_do_getxattr(where, ctx)						\
({										\
	/* of an earlier attempt, for a path that was stale */			\
	kvfree((ctx)->kvalue);							\
	(ctx)->kvalue = NULL;							\
	do_getxattr(mnt_idmap((where)->mnt), (where)->dentry, ctx);		\
})

#define io_do_setxattr(where, ctx)						\
({										\
	int _ret = mnt_want_write((where)->mnt);				\
										\
	if (!_ret) {								\
		_ret = do_setxattr(mnt_idmap((where)->mnt), (where)->dentry, ctx); \
		mnt_drop_write((where)->mnt);					\
	}									\
	_ret;									\
})

#define io_xattr_at(dfd, name, flags, todo, ctx)				\
({										\
	unsigned int _lookup = flags;						\
	struct path _path;							\
	int _error;								\
										\
	for (;;) {								\
		_error = filename_lookup(dfd, name, _lookup, &_path, NULL);	\
		if (_error)							\
			break;							\
		_error = todo(&_path, ctx);					\
		path_put(&_path);						\
		if (!retry_estale(_error, _lookup))				\
			break;							\
		_lookup |= LOOKUP_REVAL;					\
	}									\
	_error;									\
})

#define file_getxattr(file, ctx)		io_do_getxattr(&(file)->f_path, ctx)
#define filename_getxattr(dfd, name, flags, ctx)				\
	io_xattr_at(dfd, name, flags, io_do_getxattr, ctx)
#define filename_setxattr(dfd, name, flags, ctx)				\
	io_xattr_at(dfd, name, flags, io_do_setxattr, ctx)
/* write access to the file's own mount, which it may hold already */
#define file_setxattr(file, ctx)						\
({										\
	int _ret = mnt_want_write_file(file);					\
										\
	if (!_ret) {								\
		_ret = do_setxattr(file_mnt_idmap(file), (file)->f_path.dentry, ctx); \
		mnt_drop_write_file(file);					\
	}									\
	_ret;									\
})

#ifdef CONFIG_FUTEX
#define futex_wake(uaddr, flags, pop, nr, mask)	futex_wake(uaddr, flags, nr, mask)

/* Without a second key, and for no task that sleeps. */
static inline int io_futex_wait_setup(u32 __user *uaddr, u32 val, unsigned int flags,
				      struct futex_q *q)
{
	struct futex_hash_bucket *hb;
	int ret = futex_wait_setup(uaddr, val, flags, q, &hb);

	if (!ret)
		futex_queue(q, hb, NULL);
	return ret;
}

#define futex_wait_setup(uaddr, val, flags, q, key2, task)			\
	io_futex_wait_setup(uaddr, val, flags, q)
#endif
#include "additions.h"
#endif
