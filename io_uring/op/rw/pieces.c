// SPDX-License-Identifier: GPL-2.0
/* io_uring: reads and writes of files without ->read_iter() or ->write_iter() */

/*
 * Some drivers have only ->read() and ->write().  Each segment of the data takes one call, until a
 * call moves less than its segment.  The two methods take user addresses.  For data in a registered
 * buffer they get the user address of the buffer, so the transfer does not use the pinned pages.
 * A driver's buffer has no user address, so the transfer fails.
 *
 * The methods do not support IOCB_NOWAIT, so a non-blocking attempt needs O_NONBLOCK.
 */
#include "op/rw/rw.h"

/**
 * io_rw_pieces - attempt a transfer on a file without ->read_iter() or ->write_iter()
 * @req: a read or write
 * @ddir: %READ or %WRITE
 * @iter: iterator over the rest of the data
 *
 * Return: number of moved bytes or a negative errno; -EFAULT for a driver's buffer
 */
ssize_t io_rw_pieces(struct io_kiocb *req, int ddir, struct iov_iter *iter)
{
	struct kiocb *kiocb = &io_rw(req)->kiocb;
	struct file *file = req->file;
	loff_t *pos = file->f_mode & FMODE_STREAM ? NULL : &kiocb->ki_pos;
	ssize_t moved = 0;

	if (ddir == READ ? !file->f_op->read : !file->f_op->write)
		return -EINVAL;
	if (kiocb->ki_flags & IOCB_HIPRI)
		return -EOPNOTSUPP;
	if (kiocb->ki_flags & IOCB_NOWAIT && !(file->f_flags & O_NONBLOCK))
		return -EAGAIN;
	if (iov_iter_is_bvec(iter) && io_buf_node(req->buf_node)->map->release)
		return -EFAULT;
	/* the vector of a READV_FIXED or WRITEV_FIXED has user addresses, too */
	if (iov_iter_is_bvec(iter) && req->flags & REQ_F_ASYNC_DATA)
		io_rw_iter_slow(req, ddir, iter);

	while (iov_iter_count(iter)) {
		void __user *base;
		size_t len;
		ssize_t ret;

		if (iov_iter_is_bvec(iter)) {
			/* one call for all of it */
			base = u64_to_user_ptr(io_rw(req)->addr + io_rw(req)->done);
			len = iov_iter_count(iter);
		} else {
			base = iter_iov_addr(iter);
			len = iter_iov_len(iter);
		}
		if (ddir == READ)
			ret = file->f_op->read(file, base, len, pos);
		else
			ret = file->f_op->write(file, base, len, pos);
		if (ret < 0)
			return moved ?: ret;
		moved += ret;
		if (ret != len)
			break;
		iov_iter_advance(iter, ret);
	}
	return moved;
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "op/tests/rw_pieces_kunit.c"
#endif
