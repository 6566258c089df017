/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: shared parts of reads and writes */
#ifndef IO_OP_RW_H
#define IO_OP_RW_H

#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/pagemap.h>
#include <linux/uio.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

#include "async/iopoll.h"
#include "op/list.h"
#include "rsrc/bufs.h"
#include "rsrc/groups.h"

/**
 * struct io_rw - a read or a write
 * @kiocb: passed to ->read_iter() or ->write_iter().  ki_filp is NULL until io_rw_start() has
 *	succeeded; each attempt that moves data advances ki_pos
 * @addr: user address of the data, or offset in a driver's buffer; unused for a vector
 * @len: bytes to transfer
 * @flags: RWF_*, until io_rw_start()
 * @done: bytes that earlier attempts have moved, from io_rw_start() on
 *
 * Each attempt builds its iterator from these fields, so a request that waits or moves to a worker
 * keeps no iterator.  Vectors are in struct io_rw_async.
 */
struct io_rw {
	struct kiocb	kiocb;
	u64		addr;
	u32		len;
	union {
		rwf_t	flags;
		u32	done;
	};
};

IO_OP_DATA(io_rw);
static_assert(!offsetof(struct io_rw, kiocb));

/**
 * struct io_rw_async - data that only some reads and writes need
 * @wpq: wait queue entry of a buffered read that waits for a folio
 * @meta: with @has_meta, so for direct transfers only: the metadata of the present attempt
 * @seed: the seed of the first attempt
 * @nr_segs: number of entries in @iov, 0 if the data is in one piece
 * @has_meta: the program has passed metadata
 * @iov: copy of the program's vector.  With a registered buffer, only io_rw_pieces() and
 *	io_parts_by_address() use the copy once the buffer is found
 */
struct io_rw_async {
	union {
		struct wait_page_queue	wpq;
		struct {
			struct uio_meta	meta;
			u64		seed;
		};
	};
	unsigned int		nr_segs;
	bool			has_meta;
	struct iovec		iov[] __counted_by(nr_segs);
};

/* io_rw->flags: the request has metadata, see meta.c; no RWF_* has this bit */
#define IO_RWF_META	((__force rwf_t)BIT(31))

/* events with which an attempt does not block; a hang-up or an error is reported at once */
#define IO_READ_EVENTS	(EPOLLIN | EPOLLHUP | EPOLLERR)
#define IO_WRITE_EVENTS	(EPOLLOUT | EPOLLHUP | EPOLLERR)

struct io_rw_async *io_rw_async_alloc(struct io_kiocb *req, unsigned int nr_segs);
int io_rw_buf_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_readv_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_writev_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_read_fixed_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_write_fixed_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_rw_vec_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe);
int io_rw_vec_assign(struct io_kiocb *req);
void io_rw_iter_slow(struct io_kiocb *req, int ddir, struct iov_iter *iter);

int io_rw_prep_rare(struct io_kiocb *req, const struct io_uring_sqe *sqe, u16 ioprio, u64 attrs);
struct io_rw_async *io_rw_async_grow(struct io_kiocb *req, unsigned int nr_segs);
/* Allocate room for a vector, beside metadata that ->prep() has read already. */
static inline struct io_rw_async *io_rw_async_vec(struct io_kiocb *req, unsigned int nr_segs)
{
	return unlikely(req->flags & REQ_F_ASYNC_DATA) ? io_rw_async_grow(req, nr_segs) :
							 io_rw_async_alloc(req, nr_segs);
}

int io_rw_meta_start(struct io_kiocb *req, int ddir);
void io_rw_meta_again(struct io_kiocb *req);

int io_rw_set_flags(struct io_kiocb *req, int ddir);
loff_t *io_rw_current_pos(struct io_kiocb *req);
int io_rw_follow_pos(struct io_kiocb *req, int ddir);
int io_rw_pick(struct io_kiocb *req, unsigned int issue_flags);
bool io_rw_nonblocking(struct file *file, __poll_t events);
ssize_t io_rw_pieces(struct io_kiocb *req, int ddir, struct iov_iter *iter);

void io_read_complete(struct kiocb *kiocb, long res);
void io_write_complete(struct kiocb *kiocb, long res);
void io_rw_complete_polled(struct kiocb *kiocb, long res);
enum io_result io_rw_end(struct io_kiocb *req, ssize_t ret);
void io_rw_fail(struct io_kiocb *req);
bool io_rw_in_turn(struct io_kiocb *req);

/* Get write access to the filesystem.  Return: false if it is frozen and IOCB_NOWAIT is set. */
static inline bool io_write_start(struct kiocb *kiocb)
{
	struct super_block *sb;

	if (!S_ISREG(file_inode(kiocb->ki_filp)->i_mode))
		return true;
	if (!(kiocb->ki_flags & IOCB_NOWAIT)) {
		kiocb_start_write(kiocb);
		return true;
	}
	sb = file_inode(kiocb->ki_filp)->i_sb;
	if (!sb_start_write_trylock(sb))
		return false;
	/* for lockdep: another context may release the write access, see kiocb_end_write() */
	__sb_writers_release(sb, SB_FREEZE_WRITE);
	return true;
}

/* Undo io_write_start().  Any context may call this. */
static inline void io_write_end(struct kiocb *kiocb)
{
	if (S_ISREG(file_inode(kiocb->ki_filp)->i_mode))
		kiocb_end_write(kiocb);
}

/* Like get_current_ioprio(), but skip its arithmetic for tasks with default priorities. */
static inline u16 io_rw_current_ioprio(void)
{
	if (likely(!current->io_context && current->static_prio == DEFAULT_PRIO &&
		   current->policy == SCHED_NORMAL))
		return IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_BE_NORM);
	return get_current_ioprio();
}

/**
 * io_rw_prep_sqe - read the SQE fields that all reads and writes have
 * @req: a read or write
 * @sqe: the SQE, in shared memory
 *
 * Return: 0 or a negative errno.
 */
static __always_inline int io_rw_prep_sqe(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_rw *rw = io_rw(req);
	u64 attrs = IOCB_HAS_METADATA != 0 ? READ_ONCE(sqe->attr_type_mask) : 0;
	u16 ioprio = READ_ONCE(sqe->ioprio);

	rw->kiocb.ki_filp = NULL;
	rw->kiocb.ki_pos = READ_ONCE(sqe->off);
	rw->addr = READ_ONCE(sqe->addr);
	rw->len = READ_ONCE(sqe->len);
	rw->flags = (__force rwf_t)READ_ONCE(sqe->rw_flags);
	rw->kiocb.ki_write_stream = READ_ONCE(sqe->write_stream);
	if (unlikely(ioprio | attrs))
		return io_rw_prep_rare(req, sqe, ioprio, attrs);
	rw->kiocb.ki_ioprio = io_rw_current_ioprio();
	return 0;
}

/* Return: ITER_DEST or ITER_SOURCE for a request with a registered buffer. */
static inline int io_rw_fixed_ddir(const struct io_kiocb *req)
{
	return io_ops[req->opcode]->poll_in ? ITER_DEST : ITER_SOURCE;
}

/*
 * Find the registered buffer of a READ_FIXED or WRITE_FIXED; ring lock held.  Return: 0 or a
 * negative errno, without a buffer.
 */
static __always_inline int io_rw_buf_assign(struct io_kiocb *req, int ddir)
{
	struct io_rw *rw = io_rw(req);
	int ret = io_buf_assign(req, 0);

	if (unlikely(ret))
		return ret;
	if (unlikely(!io_buf_covers(io_buf_node(req->buf_node), ddir, rw->addr, rw->len))) {
		io_buf_forget(req);
		return -EFAULT;
	}
	return 0;
}

/*
 * Read the SQE of a READ_FIXED or WRITE_FIXED, and find the registered buffer.  If that fails,
 * ->issue() looks the buffer up again, as 7.3 does: a request ahead in the chain may register it.
 */
static __always_inline int io_rw_fixed_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe,
					    int ddir)
{
	int ret = io_rw_prep_sqe(req, sqe);

	if (unlikely(ret))
		return ret;
	io_rw_buf_assign(req, ddir);
	return 0;
}

/* Set up an iterator over the range of the registered buffer that io_rw_buf_assign() checked. */
static inline void io_rw_buf_iter(struct io_kiocb *req, int ddir, struct iov_iter *iter)
{
	const struct io_buf_node *buf = io_buf_node(req->buf_node);
	const struct io_rw *rw = io_rw(req);

	io_buf_iter(buf, ddir, rw->addr - buf->ubuf + rw->done, rw->len - rw->done, iter);
}

/**
 * io_rw_iter - set up an iterator over the rest of the data
 * @req: a read or write
 * @ddir: %READ or %WRITE
 * @iter: the iterator
 */
static inline void io_rw_iter(struct io_kiocb *req, int ddir, struct iov_iter *iter)
{
	struct io_rw *rw = io_rw(req);

	if (req->flags & REQ_F_BUF_NODE && likely(rw->len))
		io_rw_buf_iter(req, ddir, iter);
	else if (unlikely(req->flags & REQ_F_ASYNC_DATA))
		io_rw_iter_slow(req, ddir, iter);
	else
		iov_iter_ubuf(iter, ddir, u64_to_user_ptr(rw->addr + rw->done),
			      rw->len - rw->done);
}

/**
 * io_rw_begun - check whether io_rw_start() has succeeded
 * @req: a read or write
 *
 * Each attempt depends on io_rw_start(), which checks the file, sets ki_complete, and replaces
 * rw->flags by rw->done.
 *
 * Return: true if io_rw_start() has succeeded.
 */
static inline bool io_rw_begun(struct io_kiocb *req)
{
	return io_rw(req)->kiocb.ki_filp;
}

static __always_inline int __io_rw_start(struct io_kiocb *req, int ddir)
{
	struct io_rw *rw = io_rw(req);
	struct kiocb *kiocb = &rw->kiocb;
	struct file *file = req->file;
	loff_t *pos = &kiocb->ki_pos;
	int ret;

	if (unlikely(!(file->f_mode & (ddir == READ ? FMODE_READ : FMODE_WRITE))))
		return -EBADF;
	kiocb->ki_filp = file;
	kiocb->ki_flags = file->f_iocb_flags;
	kiocb->private = NULL;
	if (unlikely(rw->flags)) {
		ret = io_rw_set_flags(req, ddir);
		if (ret)
			return ret;
	}
	if (ddir == WRITE)
		kiocb->ki_flags |= IOCB_WRITE;
	if (req->ctx->iopoll) {
		if (unlikely(!(kiocb->ki_flags & IOCB_DIRECT) || !file->f_op->iopoll))
			return -EOPNOTSUPP;
		kiocb->ki_flags |= IOCB_HIPRI;
		kiocb->ki_complete = io_rw_complete_polled;
		req->iopoll_done = 0;
	} else if (ddir == WRITE) {
		kiocb->ki_complete = io_write_complete;
	} else {
		kiocb->ki_complete = io_read_complete;
	}
	if (unlikely(kiocb->ki_pos == -1))
		pos = io_rw_current_pos(req);
	rw->done = 0;
	return rw_verify_area(ddir, file, pos, rw->len);
}

/**
 * io_rw_start - prepare the first attempt
 * @req: a read or write that has its file; not started yet
 * @ddir: %READ or %WRITE
 *
 * After a failure the caller has to end the request.  The request cannot be started again,
 * because rw->done may have replaced rw->flags.
 *
 * Return: 0 or a negative errno.
 */
static __always_inline int io_rw_start(struct io_kiocb *req, int ddir)
{
	int ret = __io_rw_start(req, ddir);

	if (unlikely(ret))
		io_rw(req)->kiocb.ki_filp = NULL;
	return ret;
}

/*
 * Prepare a later attempt, and clear the state of the previous one.  Return: 0, or a negative
 * errno with which the request ends.
 */
static __always_inline int io_rw_start_again(struct io_kiocb *req, int ddir)
{
	struct kiocb *kiocb = &io_rw(req)->kiocb;

	kiocb->ki_flags &= ~IOCB_WAITQ;
	if (unlikely(kiocb->ki_flags & IOCB_HAS_METADATA))
		io_rw_meta_again(req);
	if (req->ctx->iopoll) {
		/* the file has cleared IOCB_HIPRI if the last attempt could not be polled */
		kiocb->ki_flags |= IOCB_HIPRI;
		kiocb->private = NULL;
		req->iopoll_done = 0;
	}
	if (unlikely(req->flags & REQ_F_CUR_POS) && !io_rw(req)->done)
		return io_rw_follow_pos(req, ddir);
	return 0;
}

/**
 * io_rw_attempt - attempt to move the rest of the data
 * @req: a read or write; IOCB_NOWAIT in ki_flags forbids blocking
 * @ddir: %READ or %WRITE
 *
 * Return: as ->read_iter().
 */
static __always_inline ssize_t io_rw_attempt(struct io_kiocb *req, int ddir)
{
	const struct file_operations *f_op = req->file->f_op;
	struct kiocb *kiocb = &io_rw(req)->kiocb;
	/* io_rw_iter() initializes the whole iterator */
	struct iov_iter iter __uninitialized;

	io_rw_iter(req, ddir, &iter);
	if (ddir == READ && likely(f_op->read_iter))
		return f_op->read_iter(kiocb, &iter);
	if (ddir == WRITE && likely(f_op->write_iter))
		return f_op->write_iter(kiocb, &iter);
	return io_rw_pieces(req, ddir, &iter);
}

#endif
