// SPDX-License-Identifier: GPL-2.0
/* io_uring: reads and writes: from the SQE to an iterator */

/*
 * ->prep takes over everything that belongs to the program and may change once
 * the SQE is given back: the SQE's fields, and the vector of READV and WRITEV.
 * A vector of one piece is the same as a buffer and is kept as one, so that a
 * copy on the heap is made for longer vectors only.
 *
 * Addresses are checked here and bad ones refused; the data itself may fault at
 * any later time.  The file is not known yet.
 */
#include <linux/compat.h>
#include <linux/slab.h>

#include "op/rw.h"

/**
 * io_rw_async_alloc - memory for what does not fit into a request
 * @req: a read or write that has none
 * @nr_segs: entries of its vector
 *
 * Freed with the request.
 *
 * Return: NULL if there is no memory.
 */
struct io_rw_async *io_rw_async_alloc(struct io_kiocb *req, unsigned int nr_segs)
{
	struct io_rw_async *async = io_req_alloc_async(req, struct_size(async, iov, nr_segs));

	if (async)
		async->nr_segs = nr_segs;
	return async;
}

/*
 * READV into a provided buffer: of the vector only the length of its single entry counts,
 * 0 for as much as there is.
 */
static int io_rw_prep_select(struct io_kiocb *req)
{
	struct io_rw *rw = io_rw(req);
	const void __user *vec = u64_to_user_ptr(rw->addr);
	struct compat_iovec compat;
	struct iovec iov;

	if (rw->len != 1)
		return -EINVAL;
	if (req->ctx->compat) {
		if (copy_from_user(&compat, vec, sizeof(compat)))
			return -EFAULT;
		/* as for any other vector of 32 bits */
		if ((compat_ssize_t)compat.iov_len < 0)
			return -EINVAL;
		iov.iov_len = compat.iov_len;
	} else if (copy_from_user(&iov, vec, sizeof(iov))) {
		return -EFAULT;
	}
	rw->len = min_t(size_t, iov.iov_len, MAX_RW_COUNT);
	return 0;
}

/* READV and WRITEV: take over the vector, whose length is in rw->len. */
static noinline int io_rw_prep_vec(struct io_kiocb *req, int ddir)
{
	struct io_rw *rw = io_rw(req);
	struct iovec one, *iov = &one;
	unsigned int nr = rw->len;
	struct iov_iter iter;
	ssize_t len;

	if (unlikely(req->flags & REQ_F_BUFFER_SELECT))
		return io_rw_prep_select(req);
	if (unlikely(!nr))
		return 0;
	if (unlikely(nr > UIO_MAXIOV))
		return -EINVAL;
	if (nr > 1) {
		struct io_rw_async *async = io_rw_async_alloc(req, nr);

		if (!async)
			return -ENOMEM;
		iov = async->iov;
	}
	len = __import_iovec(ddir, u64_to_user_ptr(rw->addr), nr, nr, &iov, &iter,
			     req->ctx->compat);
	if (unlikely(len < 0))
		return len;
	if (nr == 1)
		rw->addr = (uintptr_t)iter.ubuf;
	rw->len = len;
	return 0;
}

/* READV and WRITEV */
int io_readv_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret = io_rw_prep_sqe(req, sqe);

	return unlikely(ret) ? ret : io_rw_prep_vec(req, READ);
}

int io_writev_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	int ret = io_rw_prep_sqe(req, sqe);

	return unlikely(ret) ? ret : io_rw_prep_vec(req, WRITE);
}

/* READ and WRITE: data in one piece. */
int io_rw_buf_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_rw *rw = io_rw(req);
	int ret = io_rw_prep_sqe(req, sqe);

	if (unlikely(ret))
		return ret;
	rw->len = min(rw->len, MAX_RW_COUNT);
	if (likely(access_ok(u64_to_user_ptr(rw->addr), rw->len)))
		return 0;
	/* a provided buffer has an address of its own */
	return req->flags & REQ_F_BUFFER_SELECT ? 0 : -EFAULT;
}

/* READ_FIXED and WRITE_FIXED: data within a registered buffer. */
int io_rw_fixed_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_rw *rw = io_rw(req);
	int ret = io_rw_prep_sqe(req, sqe);

	if (unlikely(ret))
		return ret;
	ret = io_buf_assign(req, 0);
	if (unlikely(ret))
		return ret;
	return likely(io_buf_covers(io_buf_node(req->buf_node), rw->addr, rw->len)) ? 0 : -EFAULT;
}

/**
 * io_rw_set_flags - look at RWF_* of the SQE
 * @req: has a file now
 * @ddir: %READ or %WRITE
 *
 * Return: 0 or a negative errno.
 */
int io_rw_set_flags(struct io_kiocb *req, int ddir)
{
	struct kiocb *kiocb = &io_rw(req)->kiocb;
	int ret = kiocb_set_rw_flags(kiocb, io_rw(req)->flags, ddir);

	if (ret)
		return ret;
	if (kiocb->ki_flags & IOCB_HIPRI && !req->ctx->iopoll)
		return -EINVAL;
	if (kiocb->ki_flags & IOCB_NOWAIT)
		req->flags |= REQ_F_NOWAIT;
	return 0;
}

/**
 * io_rw_current_pos - offset -1 is the file's position
 * @req: has a file now
 *
 * Return: where it is kept, NULL for files that have none.
 */
loff_t *io_rw_current_pos(struct io_kiocb *req)
{
	struct kiocb *kiocb = &io_rw(req)->kiocb;

	if (req->file->f_mode & FMODE_STREAM) {
		kiocb->ki_pos = 0;
		return NULL;
	}
	req->flags |= REQ_F_CUR_POS;
	kiocb->ki_pos = READ_ONCE(req->file->f_pos);
	return &kiocb->ki_pos;
}

/**
 * io_rw_follow_pos - update the position of a request that has waited
 * @req: has REQ_F_CUR_POS, and has moved nothing yet
 * @ddir: %READ or %WRITE
 *
 * A request starts at the position that the file has when data is moved.  Other requests may
 * have moved it while this one waited for a worker or for data.
 *
 * Return: 0 or a negative errno.
 */
int io_rw_follow_pos(struct io_kiocb *req, int ddir)
{
	struct kiocb *kiocb = &io_rw(req)->kiocb;
	loff_t pos = READ_ONCE(req->file->f_pos);

	if (pos == kiocb->ki_pos)
		return 0;
	kiocb->ki_pos = pos;
	return rw_verify_area(ddir, req->file, &kiocb->ki_pos, io_rw(req)->len);
}

/**
 * io_rw_iter_slow - io_rw_iter() for requests that have a struct io_rw_async
 * @req: a read or write
 * @ddir: %READ or %WRITE
 * @iter: filled in
 */
void io_rw_iter_slow(struct io_kiocb *req, int ddir, struct iov_iter *iter)
{
	struct io_rw *rw = io_rw(req);
	struct io_rw_async *async = req->async_data;

	if (async->nr_segs) {
		iov_iter_init(iter, ddir, async->iov, async->nr_segs, rw->len);
		/* an empty piece at the start stays: to a file without iterators it is a call */
		if (rw->done)
			iov_iter_advance(iter, rw->done);
	} else {
		iov_iter_ubuf(iter, ddir, u64_to_user_ptr(rw->addr + rw->done),
			      rw->len - rw->done);
	}
}

/**
 * io_rw_pick - pick a buffer of a group for a read
 * @req: a read with REQ_F_BUFFER_SELECT and without a buffer
 * @issue_flags: IO_URING_F_*
 *
 * Return: as io_buf_pick().
 */
int io_rw_pick(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_rw *rw = io_rw(req);
	struct io_buf buf;
	int ret = io_buf_pick(req, &buf, issue_flags);

	if (unlikely(ret))
		return ret;
	rw->addr = buf.addr;
	rw->len = buf.len;
	return 0;
}
