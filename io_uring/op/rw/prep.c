// SPDX-License-Identifier: GPL-2.0
/* io_uring: reads and writes: from the SQE to an iterator */

/*
 * A program may reuse the SQE, and the vector of READV and WRITEV, once the request is submitted.
 * So ->prep() copies them.  A vector with one entry is stored as a plain buffer; only vectors with
 * more entries need memory on the heap.
 *
 * ->prep() refuses addresses outside of user space.  An attempt may still fault on the data.
 * The file is looked up after ->prep(), so io_rw_start() makes the checks that depend on the file.
 */
#include <linux/compat.h>
#include <linux/slab.h>

#include "op/rw/rw.h"

/**
 * io_rw_async_alloc - allocate memory for a vector or the wait for a folio
 * @req: a read or write that has no such memory yet
 * @nr_segs: number of entries in the vector
 *
 * The memory is freed with the request.
 *
 * Return: the memory, or NULL.
 */
struct io_rw_async *io_rw_async_alloc(struct io_kiocb *req, unsigned int nr_segs)
{
	struct io_rw_async *async = io_req_alloc_async(req, struct_size(async, iov, nr_segs));

	if (async) {
		async->nr_segs = nr_segs;
		async->has_meta = false;
	}
	return async;
}

/*
 * Read the only vector entry of a READV with a provided buffer.  The entry's length limits the
 * transfer (0: no limit), and its address is ignored.  Return: 0 or a negative errno.
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
		/* a negative length is invalid, as in any other 32-bit vector */
		if ((compat_ssize_t)compat.iov_len < 0)
			return -EINVAL;
		iov.iov_len = compat.iov_len;
	} else if (copy_from_user(&iov, vec, sizeof(iov))) {
		return -EFAULT;
	}
	rw->len = min_t(size_t, iov.iov_len, MAX_RW_COUNT);
	return 0;
}

/* Copy the vector of a READV or WRITEV, of rw->len entries.  Return: 0 or a negative errno. */
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
		struct io_rw_async *async = io_rw_async_vec(req, nr);

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

/* Read the SQE of a READ or WRITE. */
int io_rw_buf_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_rw *rw = io_rw(req);
	int ret = io_rw_prep_sqe(req, sqe);

	if (unlikely(ret))
		return ret;
	rw->len = min(rw->len, MAX_RW_COUNT);
	if (likely(access_ok(u64_to_user_ptr(rw->addr), rw->len)))
		return 0;
	/* with IOSQE_BUFFER_SELECT the address in the SQE is ignored */
	return req->flags & REQ_F_BUFFER_SELECT ? 0 : -EFAULT;
}

int io_read_fixed_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return io_rw_fixed_prep(req, sqe, ITER_DEST);
}

int io_write_fixed_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	return io_rw_fixed_prep(req, sqe, ITER_SOURCE);
}

/**
 * io_rw_set_flags - apply RWF_* of the SQE to the kiocb
 * @req: a read or write that has its file
 * @ddir: %READ or %WRITE
 *
 * Return: 0 or a negative errno.
 */
int io_rw_set_flags(struct io_kiocb *req, int ddir)
{
	struct kiocb *kiocb = &io_rw(req)->kiocb;
	int ret;

	if (io_rw(req)->flags & IO_RWF_META) {
		ret = io_rw_meta_start(req, ddir);
		if (ret)
			return ret;
	}
	ret = kiocb_set_rw_flags(kiocb, io_rw(req)->flags, ddir);
	if (ret)
		return ret;
	if (kiocb->ki_flags & IOCB_HIPRI && !req->ctx->iopoll)
		return -EINVAL;
	if (kiocb->ki_flags & IOCB_NOWAIT)
		req->flags |= REQ_F_NOWAIT;
	return 0;
}

/**
 * io_rw_current_pos - use the current position of the file
 * @req: a read or write with offset -1 that has its file
 *
 * Return: pointer to the position in the kiocb; NULL for a stream, which has no position.
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
 * @req: a read or write with REQ_F_CUR_POS that has moved no data yet
 * @ddir: %READ or %WRITE
 *
 * Other requests may have changed the file's position while this request waited for a worker or
 * for data.  The transfer starts at the position that the file has when an attempt moves data.
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
 * io_rw_iter_slow - set up an iterator for a request that has a struct io_rw_async
 * @req: a read or write
 * @ddir: %READ or %WRITE
 * @iter: the iterator
 */
void io_rw_iter_slow(struct io_kiocb *req, int ddir, struct iov_iter *iter)
{
	struct io_rw *rw = io_rw(req);
	struct io_rw_async *async = req->async_data;

	if (async->nr_segs) {
		iov_iter_init(iter, ddir, async->iov, async->nr_segs, rw->len);
		/* do not skip an empty first entry: io_rw_pieces() makes a call for each entry */
		if (rw->done)
			iov_iter_advance(iter, rw->done);
	} else {
		iov_iter_ubuf(iter, ddir, u64_to_user_ptr(rw->addr + rw->done),
			      rw->len - rw->done);
	}
}

/**
 * io_rw_pick - select a provided buffer for a read
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
