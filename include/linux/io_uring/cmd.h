/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring: the interface for drivers whose files have ->uring_cmd() */
#ifndef _LINUX_IO_URING_CMD_H
#define _LINUX_IO_URING_CMD_H
/*
 * IORING_OP_URING_CMD passes a driver's own command to file->f_op->uring_cmd(),
 * which returns
 *
 *	a result or an errno	the command is done, and io_uring posts the CQE;
 *	-EAGAIN			with IO_URING_F_NONBLOCK: the command would block.
 *				A worker calls ->uring_cmd() again, and may block;
 *	-EIOCBQUEUED		the driver owns the command until it calls
 *				io_uring_cmd_done(), once.
 *
 * The driver owns the command from the call of ->uring_cmd() on.  The driver may end the
 * command, or request a callback, before ->uring_cmd() has returned, in any context, and
 * also when the submitting task is gone.  The command stays in memory until the driver
 * ends it.  The driver may request the next callback once the last callback has begun.
 * From the request to the end of a callback, only the callback may end the command.  Each
 * requested callback is called.
 *
 * A driver's callback runs in a context that may sleep and that may post CQEs: usually
 * in the submitter.  io_uring_cmd_do_in_task_lazy() or io_uring_cmd_complete_in_task()
 * requests it, and the callback passes IO_URING_CMD_TASK_WORK_ISSUE_FLAGS to
 * io_uring_cmd_done().  The callback has the credentials of its task at that time.  So the
 * driver checks permissions in ->uring_cmd(), with the credentials of the submission.  On
 * a ring with IORING_SETUP_IOPOLL, the task that polls the ring calls ->uring_cmd_iopoll()
 * until the command is done.
 *
 * A driver that may keep a command for ever marks the command with
 * io_uring_cmd_mark_cancelable().  When the ring ends, or the submitting task exits or
 * calls exec, ->uring_cmd() is called again with IO_URING_F_CANCEL.  The driver should
 * then finish the command, at once or soon.  Until it does, the call is repeated.  The
 * command stays in memory until the call has returned, even if another context ends the
 * command.  IORING_OP_ASYNC_CANCEL does not cancel such commands.
 *
 * A command with IORING_URING_CMD_MULTISHOT may post CQEs before its last one.  For each such CQE
 * the driver selects a provided buffer, fills the buffer, and posts the CQE with the number of the
 * buffer.  Only the submitter issues such a command.  If ->uring_cmd() returns -EAGAIN, a worker
 * calls it again, and from then on the command cannot post such CQEs.  A callback that may post
 * several CQEs is requested by io_uring_cmd_complete_in_task().
 */
#include <linux/bits.h>
#include <linux/blk-mq.h>	/* fs/fuse takes bio_vec and folios from here */
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/io_uring_types.h>
#include <linux/types.h>
#include <linux/uio.h>

struct iovec;
struct task_struct;

/**
 * enum io_uring_twq_flags - urgency of a callback
 * @IOU_F_TWQ_LAZY_WAKE: the callback posts at most one CQE, so a task that waits
 *	for several CQEs need not be woken for this callback alone
 */
enum io_uring_twq_flags {
	IOU_F_TWQ_LAZY_WAKE	= 1,
};

/* io_uring_cmd->flags, set by the kernel: see io_uring_cmd_mark_cancelable() */
#define IORING_URING_CMD_CANCELABLE	BIT(30)
/* io_uring_cmd->flags, set by the kernel: ->uring_cmd() was called for the command before */
#define IORING_URING_CMD_REISSUE	BIT(31)

/* issue_flags in a callback */
#define IO_URING_CMD_TASK_WORK_ISSUE_FLAGS	IO_URING_F_COMPLETE_DEFER

/* io_buffer_register_bvec(): requests may write to the buffer (DEST), or read it (SOURCE) */
#define IO_BUF_DEST	BIT(ITER_DEST)
#define IO_BUF_SOURCE	BIT(ITER_SOURCE)

/**
 * struct io_tw_req - request of a driver's callback
 * @req: the request, see io_uring_cmd_from_tw()
 */
struct io_tw_req {
	struct io_kiocb	*req;
};

/**
 * struct io_tw_state - state in which a driver's callback runs
 * @cancel: the submitter exits or is gone, so the callback has to end its command
 */
struct io_tw_state {
	bool	cancel;
};

typedef struct io_tw_state io_tw_token_t;
typedef void (*io_req_tw_func_t)(struct io_tw_req tw_req, io_tw_token_t tw);

/**
 * struct io_br_sel - a provided buffer for a driver
 * @addr: user address of the buffer, or NULL
 * @val: 0, or a negative errno if there is no buffer; later the driver's result
 *
 * On 32-bit systems an address may look like an errno, so the two do not share memory.
 */
struct io_br_sel {
	void __user	*addr;
	ssize_t		val;
};

/**
 * struct io_uring_cmd - a driver's command
 * @file: file of the command, to which the command holds a reference
 * @sqe: the SQE, valid only in ->uring_cmd(): perhaps in the ring's memory in the first call, a
 *	copy in later calls
 * @task_work_cb: used by io_uring, while a callback waits to run in the submitter
 * @res2: used by io_uring, from io_uring_cmd_done() on
 * @cmd_op: the driver's opcode
 * @flags: IORING_URING_CMD_*
 * @pdu: used by the driver, from ->uring_cmd() to io_uring_cmd_done()
 */
struct io_uring_cmd {
	struct file			*file;
	const struct io_uring_sqe	*sqe;
	union {
		io_req_tw_func_t	task_work_cb;
		u64			res2;
	};
	u32				cmd_op;
	u32				flags;
	u8				pdu[32];
};

/**
 * io_uring_sqe_cmd - get the command's data in an SQE
 * @sqe: io_uring_cmd->sqe
 * @type: type of the data, at most 16 bytes long
 *
 * The data may be in user memory that changes: read each field once.
 */
#define io_uring_sqe_cmd(sqe, type) ({					\
	static_assert(sizeof(type) <= sizeof(struct io_uring_sqe) -	\
		      offsetof(struct io_uring_sqe, cmd));		\
	(const type *)(sqe)->cmd;					\
})

/**
 * io_uring_sqe128_cmd - io_uring_sqe_cmd() with IO_URING_F_SQE128
 * @sqe: io_uring_cmd->sqe
 * @type: type of the data, at most 80 bytes long
 */
#define io_uring_sqe128_cmd(sqe, type) ({				\
	static_assert(sizeof(type) <= 2 * sizeof(struct io_uring_sqe) -	\
		      offsetof(struct io_uring_sqe, cmd));		\
	(const type *)(sqe)->cmd;					\
})

/* Return: the request whose op data is the command. */
static inline struct io_kiocb *cmd_to_io_kiocb(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(*cmd) > sizeof_field(struct io_kiocb, data));
	return container_of((void *)cmd, struct io_kiocb, data);
}

/**
 * io_uring_cmd_get_task - get the submitting task of a command
 * @cmd: the command
 *
 * Return: the task, valid while the driver owns the command.
 */
static inline struct task_struct *io_uring_cmd_get_task(struct io_uring_cmd *cmd)
{
	return cmd_to_io_kiocb(cmd)->tctx->task;
}

/**
 * io_uring_cmd_ctx_handle - get a value that identifies the ring of a command
 * @cmd: the command
 *
 * Return: a value that is equal for all commands of a ring.  io_comp_batch->poll_ctx has this value
 * while the only submitter of the ring polls.
 */
static inline void *io_uring_cmd_ctx_handle(struct io_uring_cmd *cmd)
{
	return cmd_to_io_kiocb(cmd)->ctx;
}

/* Return: the command of a callback. */
static inline struct io_uring_cmd *io_uring_cmd_from_tw(struct io_tw_req tw_req)
{
	return (struct io_uring_cmd *)tw_req.req->data;
}

/* Fail the build if the driver's data is larger than io_uring_cmd->pdu. */
static inline void *io_uring_cmd_pdu_sized(struct io_uring_cmd *cmd, size_t size)
{
	BUILD_BUG_ON(size > sizeof_field(struct io_uring_cmd, pdu));
	return cmd->pdu;
}

/**
 * io_uring_cmd_to_pdu - get the driver's data of a command
 * @cmd: the command
 * @pdu_type: type of the data, which has to fit
 */
#define io_uring_cmd_to_pdu(cmd, pdu_type) \
	((typeof(pdu_type) *)io_uring_cmd_pdu_sized((cmd), sizeof(pdu_type)))

#ifdef CONFIG_IO_URING
/**
 * __io_uring_cmd_done - end a command for which ->uring_cmd() returns -EIOCBQUEUED
 * @cmd: the command, which the driver must not access afterwards
 * @ret: cqe->res
 * @res2: first extra word of a 32 byte CQE, ignored on rings without such CQEs
 * @issue_flags: those that io_uring has passed to the caller; 0 in ->uring_cmd_iopoll();
 *	IO_URING_F_UNLOCKED in other contexts
 * @is_cqe32: true if the driver uses @res2; if false, @res2 is 0, and the CQE is small if it can be
 *
 * Context: Any.  In a callback, this usually posts the CQE without a push of the request.
 */
void __io_uring_cmd_done(struct io_uring_cmd *cmd, s32 ret, u64 res2, unsigned int issue_flags,
			 bool is_cqe32);

/**
 * __io_uring_cmd_do_in_task - request a callback of the driver in the submitter
 * @cmd: the command
 * @task_work_cb: function to call
 * @flags: enum io_uring_twq_flags
 *
 * Context: Any.
 */
void __io_uring_cmd_do_in_task(struct io_uring_cmd *cmd, io_req_tw_func_t task_work_cb,
			       unsigned int flags);

/**
 * io_uring_cmd_import_fixed - set up an iterator over a registered buffer
 * @ubuf: user address, within the buffer that sqe->buf_index names
 * @len: bytes
 * @rw: ITER_SOURCE or ITER_DEST
 * @iter: result, valid until the command is done
 * @ioucmd: a command with IORING_URING_CMD_FIXED
 * @issue_flags: those of ->uring_cmd(), or IO_URING_CMD_TASK_WORK_ISSUE_FLAGS in a callback
 *
 * Context: ->uring_cmd(), or a callback.
 * Return: 0, -EINVAL without IORING_URING_CMD_FIXED, -EFAULT if there is no such buffer or it does
 * not contain the range, or -ECANCELED if a worker is killed while it waits for the ring lock.
 */
int io_uring_cmd_import_fixed(u64 ubuf, unsigned long len, int rw, struct iov_iter *iter,
			      struct io_uring_cmd *ioucmd, unsigned int issue_flags);

/**
 * io_uring_cmd_import_fixed_vec - set up an iterator over parts of a registered buffer
 * @ioucmd: a command with IORING_URING_CMD_FIXED
 * @uvec: vector in user space, each entry within the buffer that sqe->buf_index names
 * @uvec_segs: number of entries
 * @ddir: ITER_SOURCE or ITER_DEST
 * @iter: result, valid until the command is done or imports another vector
 * @issue_flags: those of ->uring_cmd(), or IO_URING_CMD_TASK_WORK_ISSUE_FLAGS in a callback
 *
 * A command that imports a vector does not call io_uring_cmd_import_fixed().
 *
 * Context: ->uring_cmd(), or a callback, with the memory of the submitter.  May sleep.
 * Return: as io_uring_cmd_import_fixed(); also -EFAULT if the vector cannot be read or has an empty
 * entry, -EINVAL for too many entries or bytes or a negative length, -ENOMEM.
 */
int io_uring_cmd_import_fixed_vec(struct io_uring_cmd *ioucmd, const struct iovec __user *uvec,
				  size_t uvec_segs, int ddir, struct iov_iter *iter,
				  unsigned int issue_flags);

/**
 * io_uring_cmd_mark_cancelable - let a command be cancelled when its ring or task ends
 * @cmd: the command
 * @issue_flags: those of ->uring_cmd()
 *
 * Context: ->uring_cmd(), before -EIOCBQUEUED, or a callback.
 */
void io_uring_cmd_mark_cancelable(struct io_uring_cmd *cmd,
				  unsigned int issue_flags);

/**
 * io_uring_cmd_issue_blocking - call ->uring_cmd() again, from a worker
 * @cmd: a command that has to block, after ->uring_cmd() has returned -EIOCBQUEUED
 *
 * For block devices, whose commands keep a copy of their SQE.  Without a copy: -ENOMEM.
 *
 * Context: a callback in the submitter.
 */
void io_uring_cmd_issue_blocking(struct io_uring_cmd *cmd);

/**
 * io_buffer_register_request - register the data of a block request in a slot of the ring
 * @cmd: a command of the ring
 * @rq: the request; requests of the ring can only read the data of a write, or fill that of a read
 * @release: called with @rq when the slot is empty again and the buffer is not in use any more
 * @index: an empty slot among the ring's registered buffers
 * @issue_flags: those of ->uring_cmd(), or IO_URING_CMD_TASK_WORK_ISSUE_FLAGS in a callback
 *
 * @release may be called by any task, also within io_buffer_unregister().
 *
 * Context: ->uring_cmd(), or a callback.  May sleep.
 * Return: 0; -EINVAL if there is no such slot or @rq has no data, -EBUSY if the slot is in use,
 * -ENOMEM, or -ECANCELED if a worker is killed while it waits for the ring lock.  On failure
 * @release is not called.
 */
int io_buffer_register_request(struct io_uring_cmd *cmd, struct request *rq,
			       void (*release)(void *), unsigned int index,
			       unsigned int issue_flags);

/**
 * io_buffer_register_bvec - register pages in a slot of the ring
 * @cmd: a command of the ring
 * @bvs: segments of the memory, which are copied
 * @nr_bvecs: number of segments, at least one
 * @release: called with @priv when the slot is empty again and the buffer is not in use any more
 * @priv: argument of @release
 * @dir: IO_BUF_DEST, IO_BUF_SOURCE, or both
 * @index: an empty slot among the ring's registered buffers
 * @issue_flags: those of ->uring_cmd(), or IO_URING_CMD_TASK_WORK_ISSUE_FLAGS in a callback
 *
 * Context: ->uring_cmd(), or a callback.  May sleep.
 * Return: as io_buffer_register_request(); also -EINVAL for a bad @dir, -EOVERFLOW beyond 4 GiB.
 */
int io_buffer_register_bvec(struct io_uring_cmd *cmd, const struct bio_vec *bvs,
			    unsigned int nr_bvecs, void (*release)(void *), void *priv, u8 dir,
			    unsigned int index, unsigned int issue_flags);

/**
 * io_buffer_unregister - empty a slot that a driver has filled
 * @cmd: a command of the ring
 * @index: number of the slot
 * @issue_flags: those of ->uring_cmd(), or IO_URING_CMD_TASK_WORK_ISSUE_FLAGS in a callback
 *
 * Requests that use the buffer continue to use it.
 *
 * Context: ->uring_cmd(), or a callback.  May sleep.
 * Return: 0; -EINVAL if there is no such slot or it is empty, -EBUSY if it has a buffer of the
 * program, or -ECANCELED if a worker is killed while it waits for the ring lock.
 */
int io_buffer_unregister(struct io_uring_cmd *cmd, unsigned int index, unsigned int issue_flags);

/**
 * io_uring_cmd_buffer_select - select a provided buffer for a CQE
 * @ioucmd: a command with IORING_URING_CMD_MULTISHOT
 * @buf_group: sqe->buf_group of the command
 * @len: the most bytes that the driver wants, or 0 for the whole buffer; returns the length of the
 *	buffer
 * @issue_flags: those of ->uring_cmd(), or IO_URING_CMD_TASK_WORK_ISSUE_FLAGS in a callback
 *
 * The buffer stays in its group until io_uring_mshot_cmd_post_cqe(), which the driver has to call
 * in the same ->uring_cmd() or callback.  The ring lock is held in between.
 *
 * Context: ->uring_cmd(), or a callback.  May sleep.
 * Return: the buffer's address, and 0; or NULL and a negative errno: -ENOBUFS without a buffer,
 * -EFAULT for an address that is not in user space, -EINVAL for another command or group,
 * -ECANCELED if the submitter is gone.
 */
struct io_br_sel io_uring_cmd_buffer_select(struct io_uring_cmd *ioucmd, unsigned int buf_group,
					    size_t *len, unsigned int issue_flags);

/**
 * io_uring_mshot_cmd_post_cqe - post a CQE of a command that continues
 * @ioucmd: a command with IORING_URING_CMD_MULTISHOT
 * @sel: the selected buffer; the driver has set @sel->val to the number of bytes in the buffer, or
 *	to 0 or a negative errno to keep the buffer in its group without a CQE
 * @issue_flags: as for io_uring_cmd_buffer_select()
 *
 * If the CQ is full, the CQE with which the driver ends the command returns the buffer.
 *
 * Return: false if the CQE was posted; true if not.
 */
bool io_uring_mshot_cmd_post_cqe(struct io_uring_cmd *ioucmd, struct io_br_sel *sel,
				 unsigned int issue_flags);
#else
static inline void __io_uring_cmd_done(struct io_uring_cmd *cmd, s32 ret, u64 res2,
				       unsigned int issue_flags, bool is_cqe32)
{
}

static inline void __io_uring_cmd_do_in_task(struct io_uring_cmd *cmd,
					     io_req_tw_func_t task_work_cb, unsigned int flags)
{
}

static inline int io_uring_cmd_import_fixed(u64 ubuf, unsigned long len, int rw,
					    struct iov_iter *iter, struct io_uring_cmd *ioucmd,
					    unsigned int issue_flags)
{
	return -EOPNOTSUPP;
}

static inline int io_uring_cmd_import_fixed_vec(struct io_uring_cmd *ioucmd,
						const struct iovec __user *uvec, size_t uvec_segs,
						int ddir, struct iov_iter *iter,
						unsigned int issue_flags)
{
	return -EOPNOTSUPP;
}

static inline void io_uring_cmd_mark_cancelable(struct io_uring_cmd *cmd,
						unsigned int issue_flags)
{
}

static inline void io_uring_cmd_issue_blocking(struct io_uring_cmd *cmd)
{
}

static inline int io_buffer_register_request(struct io_uring_cmd *cmd, struct request *rq,
					     void (*release)(void *), unsigned int index,
					     unsigned int issue_flags)
{
	return -EOPNOTSUPP;
}

static inline int io_buffer_register_bvec(struct io_uring_cmd *cmd, const struct bio_vec *bvs,
					  unsigned int nr_bvecs, void (*release)(void *),
					  void *priv, u8 dir, unsigned int index,
					  unsigned int issue_flags)
{
	return -EOPNOTSUPP;
}

static inline int io_buffer_unregister(struct io_uring_cmd *cmd, unsigned int index,
				       unsigned int issue_flags)
{
	return -EOPNOTSUPP;
}

static inline struct io_br_sel io_uring_cmd_buffer_select(struct io_uring_cmd *ioucmd,
							  unsigned int buf_group, size_t *len,
							  unsigned int issue_flags)
{
	return (struct io_br_sel) { .val = -EOPNOTSUPP };
}

static inline bool io_uring_mshot_cmd_post_cqe(struct io_uring_cmd *ioucmd,
					       struct io_br_sel *sel, unsigned int issue_flags)
{
	return true;
}
#endif

/* Finish a command, see __io_uring_cmd_done(). */
static inline void io_uring_cmd_done(struct io_uring_cmd *cmd, s32 ret, unsigned int issue_flags)
{
	__io_uring_cmd_done(cmd, ret, 0, issue_flags, false);
}

/* Finish a command, with the first extra word of a 32 byte CQE. */
static inline void io_uring_cmd_done32(struct io_uring_cmd *cmd, s32 ret, u64 res2,
				       unsigned int issue_flags)
{
	__io_uring_cmd_done(cmd, ret, res2, issue_flags, true);
}

/* Call the driver back in the submitter, as soon as possible. */
static inline void io_uring_cmd_complete_in_task(struct io_uring_cmd *cmd,
						 io_req_tw_func_t task_work_cb)
{
	__io_uring_cmd_do_in_task(cmd, task_work_cb, 0);
}

/* Call the driver back in the submitter, see IOU_F_TWQ_LAZY_WAKE. */
static inline void io_uring_cmd_do_in_task_lazy(struct io_uring_cmd *cmd,
						io_req_tw_func_t task_work_cb)
{
	__io_uring_cmd_do_in_task(cmd, task_work_cb, IOU_F_TWQ_LAZY_WAKE);
}

#endif
