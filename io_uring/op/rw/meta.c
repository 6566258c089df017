// SPDX-License-Identifier: GPL-2.0
/* io_uring: reads and writes with protection information (IORING_RW_ATTR_FLAG_PI) */

/*
 * Some block devices store metadata with each block, such as a checksum.  A direct transfer can
 * pass it from or to the program, which computes or checks it.
 *
 * kiocb->private points to a struct uio_meta, from which the device's file maps the program's
 * memory.  Each attempt consumes its iterator and its seed, and fails or transfers everything: a
 * device that ends a transfer early does so in ->ki_complete(), and no attempt follows.  So a later
 * attempt begins with the iterator and the seed of the first one.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "op/rw/rw.h"

/* Read the attributes of a read or write.  Return: 0 or a negative errno. */
static int io_rw_meta_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe, u64 attrs)
{
	struct io_rw *rw = io_rw(req);
	struct io_uring_attr_pi pi;
	struct io_rw_async *async;

	if (attrs != IORING_RW_ATTR_FLAG_PI)
		return -EINVAL;
	if (copy_from_user(&pi, u64_to_user_ptr(READ_ONCE(sqe->attr_ptr)), sizeof(pi)))
		return -EFAULT;
	if (pi.rsvd)
		return -EINVAL;
	if (!access_ok(u64_to_user_ptr(pi.addr), pi.len))
		return -EFAULT;
	/* as for any other unknown flag */
	if (rw->flags & IO_RWF_META)
		return -EOPNOTSUPP;
	async = io_rw_async_alloc(req, 0);
	if (!async)
		return -ENOMEM;
	async->has_meta = true;
	async->meta.flags = pi.flags;
	async->meta.app_tag = pi.app_tag;
	async->meta.seed = pi.seed;
	iov_iter_ubuf(&async->meta.iter, READ, u64_to_user_ptr(pi.addr), pi.len);
	async->seed = pi.seed;
	rw->flags |= IO_RWF_META;
	return 0;
}

/**
 * io_rw_prep_rare - read the SQE fields that few reads and writes have
 * @req: a read or write
 * @sqe: the SQE, in shared memory
 * @ioprio: the I/O priority in the SQE, 0 for that of current
 * @attrs: IORING_RW_ATTR_FLAG_*
 *
 * Return: 0 or a negative errno.
 */
noinline int io_rw_prep_rare(struct io_kiocb *req, const struct io_uring_sqe *sqe, u16 ioprio,
			     u64 attrs)
{
	int ret = 0;

	if (ioprio)
		ret = ioprio_check_cap(ioprio);
	else
		ioprio = io_rw_current_ioprio();
	io_rw(req)->kiocb.ki_ioprio = ioprio;
	if (ret || !attrs)
		return ret;
	return io_rw_meta_prep(req, sqe, attrs);
}

/**
 * io_rw_async_grow - add room for a vector to memory that already has metadata
 * @req: a read or write with REQ_F_ASYNC_DATA
 * @nr_segs: number of entries in the vector
 *
 * Return: the memory, or NULL.
 */
struct io_rw_async *io_rw_async_grow(struct io_kiocb *req, unsigned int nr_segs)
{
	struct io_rw_async *async;

	async = krealloc(req->async_data, struct_size(async, iov, nr_segs), GFP_KERNEL_ACCOUNT);
	if (async) {
		req->async_data = async;
		async->nr_segs = nr_segs;
	}
	return async;
}

/**
 * io_rw_meta_start - let the first attempt use the metadata
 * @req: a read or write with IO_RWF_META that has its file
 * @ddir: %READ or %WRITE
 *
 * Return: 0; -EINVAL if the file has no metadata; -EOPNOTSUPP if the transfer is not direct or is
 * polled, and for a program that has set the unknown flag IO_RWF_META itself.
 */
int io_rw_meta_start(struct io_kiocb *req, int ddir)
{
	struct io_rw_async *async = req->flags & REQ_F_ASYNC_DATA ? req->async_data : NULL;
	struct kiocb *kiocb = &io_rw(req)->kiocb;

	if (!async || !async->has_meta)
		return -EOPNOTSUPP;
	if (!(req->file->f_mode & FMODE_HAS_METADATA))
		return -EINVAL;
	/* a polled transfer uses kiocb->private itself */
	if (!(kiocb->ki_flags & IOCB_DIRECT) || req->ctx->iopoll)
		return -EOPNOTSUPP;
	io_rw(req)->flags &= ~IO_RWF_META;
	async->meta.iter.data_source = ddir == WRITE;
	kiocb->ki_flags |= IOCB_HAS_METADATA;
	kiocb->private = &async->meta;
	return 0;
}

/**
 * io_rw_meta_again - let a later attempt use the metadata from the beginning
 * @req: a read or write with IOCB_HAS_METADATA that has moved no data
 */
void io_rw_meta_again(struct io_kiocb *req)
{
	struct io_rw_async *async = req->async_data;

	iov_iter_revert(&async->meta.iter, async->meta.iter.iov_offset);
	async->meta.seed = async->seed;
	io_rw(req)->kiocb.private = &async->meta;
}
