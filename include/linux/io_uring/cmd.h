/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring: the drivers' door, for files with ->uring_cmd */
#ifndef _LINUX_IO_URING_CMD_H
#define _LINUX_IO_URING_CMD_H
/*
 * IORING_OP_URING_CMD hands a driver's own command to file->f_op->uring_cmd().
 * The driver answers with
 *
 *	a result or an errno	the command is done, io_uring posts the CQE;
 *	-EAGAIN			called with IO_URING_F_NONBLOCK, it would have to
 *				block: it is called again, from a worker that may;
 *	-EIOCBQUEUED		the command is the driver's, until it calls
 *				io_uring_cmd_done(), once.
 *
 * The driver owns the command from the call of ->uring_cmd() on, so it may end it, or
 * ask to be called back, before ->uring_cmd() has returned, in any context, and also when
 * the task that submitted it is gone.  A command that is the driver's stays in memory; it
 * must not be looked at after io_uring_cmd_done().  One callback at a time: the next may
 * be asked for when the last has begun, and a command with a callback under way must not
 * be ended by others.  The callback is always called.
 *
 * A driver finishes commands where it may sleep and where the ring expects it: a
 * callback given to io_uring_cmd_do_in_task_lazy() or
 * io_uring_cmd_complete_in_task() runs in the submitter and hands
 * IO_URING_CMD_TASK_WORK_ISSUE_FLAGS to io_uring_cmd_done().  It has the credentials that
 * this task has by then, so rights are checked in ->uring_cmd(), which has those of the
 * submission.  On a ring with IORING_SETUP_IOPOLL the ring calls ->uring_cmd_iopoll() until
 * the command is done.
 *
 * A driver that may keep commands for ever marks them with
 * io_uring_cmd_mark_cancelable().  When the ring goes away, or its task becomes another
 * program, ->uring_cmd() is called once more with IO_URING_F_CANCEL, and the driver
 * should finish the command, now or soon.  It is called again as long as the driver does
 * not.  The driver may finish the command meanwhile: it is in memory until that call has
 * returned.  Programs cannot cancel such a command by name.
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

struct io_buf_group;
struct iovec;
struct task_struct;

/**
 * enum io_uring_twq_flags - how urgent work for the submitter is
 * @IOU_F_TWQ_LAZY_WAKE: it posts one CQE at most, so that a waiter for several
 *	need not be woken before they are there
 */
enum io_uring_twq_flags {
	IOU_F_TWQ_LAZY_WAKE	= 1,
};

/* io_uring_cmd->flags, the kernel's part: see io_uring_cmd_mark_cancelable() */
#define IORING_URING_CMD_CANCELABLE	BIT(30)
/* ->uring_cmd() has been called before: what it has read of the SQE need not be read again */
#define IORING_URING_CMD_REISSUE	BIT(31)

/* not for programs: of a command that posts several CQEs, each for a provided buffer */
#define IORING_URING_CMD_MULTISHOT	BIT(1)

/* issue_flags in a callback */
#define IO_URING_CMD_TASK_WORK_ISSUE_FLAGS	IO_URING_F_COMPLETE_DEFER

/* io_buffer_register_bvec(): the device writes to the buffer, or reads from it */
#define IO_BUF_DEST	BIT(ITER_DEST)
#define IO_BUF_SOURCE	BIT(ITER_SOURCE)

/**
 * struct io_tw_req - what a driver's callback in the submitter is for
 * @req: the request, see io_uring_cmd_from_tw()
 */
struct io_tw_req {
	struct io_kiocb	*req;
};

/**
 * struct io_tw_state - in which circumstances a driver's callback runs
 * @cancel: the submitter exits or is gone: the callback only ends what it is for
 */
struct io_tw_state {
	bool	cancel;
};

typedef struct io_tw_state io_tw_token_t;
typedef void (*io_req_tw_func_t)(struct io_tw_req tw_req, io_tw_token_t tw);

/**
 * struct io_br_sel - a provided buffer that a driver was given
 * @buf_list: its group
 * @addr: where it is
 * @val: a negative errno; afterwards, the driver's result
 */
struct io_br_sel {
	struct io_buf_group	*buf_list;
	union {
		void __user	*addr;
		ssize_t		val;
	};
};

/**
 * struct io_uring_cmd - a driver's command
 * @file: the file it is for, referenced
 * @sqe: the SQE, for ->uring_cmd() alone: the ring's own in the first call, a private copy
 *	in others
 * @task_work_cb: io_uring's, while a callback waits to run in the submitter
 * @res2: io_uring's, from io_uring_cmd_done() on
 * @cmd_op: the driver's opcode
 * @flags: IORING_URING_CMD_*
 * @pdu: the driver's, from ->uring_cmd() to io_uring_cmd_done()
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
 * io_uring_sqe_cmd - a command's bytes in its SQE
 * @sqe: io_uring_cmd->sqe
 * @type: what they are, 16 bytes at most
 *
 * They may be user memory that changes: read each field once.
 */
#define io_uring_sqe_cmd(sqe, type) ({					\
	static_assert(sizeof(type) <= sizeof(struct io_uring_sqe) -	\
		      offsetof(struct io_uring_sqe, cmd));		\
	(const type *)(sqe)->cmd;					\
})

/**
 * io_uring_sqe128_cmd - likewise with IO_URING_F_SQE128
 * @sqe: io_uring_cmd->sqe
 * @type: what they are, 80 bytes at most
 */
#define io_uring_sqe128_cmd(sqe, type) ({				\
	static_assert(sizeof(type) <= 2 * sizeof(struct io_uring_sqe) -	\
		      offsetof(struct io_uring_sqe, cmd));		\
	(const type *)(sqe)->cmd;					\
})

/* The request that a command is the data of. */
static inline struct io_kiocb *cmd_to_io_kiocb(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(*cmd) > sizeof_field(struct io_kiocb, data));
	return container_of((void *)cmd, struct io_kiocb, data);
}

/**
 * io_uring_cmd_get_task - the submitter
 * @cmd: the command
 *
 * Return: the task, valid as long as the command is the driver's.
 */
static inline struct task_struct *io_uring_cmd_get_task(struct io_uring_cmd *cmd)
{
	return cmd_to_io_kiocb(cmd)->tctx->task;
}

/**
 * io_uring_cmd_ctx_handle - tell commands of one ring from those of another
 * @cmd: the command
 *
 * Return: equal for all commands of a ring; io_comp_batch->poll_ctx has it while the submitter of
 * all of them polls.
 */
static inline void *io_uring_cmd_ctx_handle(struct io_uring_cmd *cmd)
{
	return cmd_to_io_kiocb(cmd)->ctx;
}

/* The command that a callback is for. */
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
 * io_uring_cmd_to_pdu - the driver's data of a command
 * @cmd: the command
 * @pdu_type: its type, checked to fit
 */
#define io_uring_cmd_to_pdu(cmd, pdu_type) \
	((typeof(pdu_type) *)io_uring_cmd_pdu_sized((cmd), sizeof(pdu_type)))

#ifdef CONFIG_IO_URING
/**
 * __io_uring_cmd_done - finish a command that was answered with -EIOCBQUEUED
 * @cmd: the command, not the driver's any longer
 * @ret: cqe->res
 * @res2: first extra word of a 32 byte CQE, lost on other rings
 * @issue_flags: as given to the caller by io_uring, 0 within ->uring_cmd_iopoll(),
 *	IO_URING_F_UNLOCKED elsewhere
 * @is_cqe32: @res2 is meant; otherwise it is 0
 *
 * Context: any; the one that @issue_flags tells of lets the CQE be posted at once.
 */
void __io_uring_cmd_done(struct io_uring_cmd *cmd, s32 ret, u64 res2, unsigned int issue_flags,
			 bool is_cqe32);

/**
 * __io_uring_cmd_do_in_task - call the driver back in the submitter
 * @cmd: the command
 * @task_work_cb: function to call
 * @flags: enum io_uring_twq_flags
 *
 * Context: any.
 */
void __io_uring_cmd_do_in_task(struct io_uring_cmd *cmd, io_req_tw_func_t task_work_cb,
			       unsigned int flags);

/**
 * io_uring_cmd_import_fixed - iterate over a registered buffer
 * @ubuf: user address, within the buffer that sqe->buf_index names
 * @len: bytes
 * @rw: ITER_SOURCE or ITER_DEST
 * @iter: set up here, valid until the command is done
 * @ioucmd: a command with IORING_URING_CMD_FIXED
 * @issue_flags: as given to ->uring_cmd(), or in a callback
 *
 * Context: ->uring_cmd(), or a callback.
 * Return: 0, -EINVAL without that flag, -EFAULT if there is no such buffer or the range is not
 * within it, or -ECANCELED if a worker is killed while it waits for the ring lock.
 */
int io_uring_cmd_import_fixed(u64 ubuf, unsigned long len, int rw, struct iov_iter *iter,
			      struct io_uring_cmd *ioucmd, unsigned int issue_flags);

/**
 * io_uring_cmd_mark_cancelable - let teardown end a command
 * @cmd: the command
 * @issue_flags: as given to ->uring_cmd()
 *
 * Context: ->uring_cmd(), before -EIOCBQUEUED, or a callback.
 */
void io_uring_cmd_mark_cancelable(struct io_uring_cmd *cmd,
				  unsigned int issue_flags);

/**
 * io_uring_cmd_issue_blocking - call ->uring_cmd() again, from a worker
 * @cmd: a command that turned out to need blocking after -EIOCBQUEUED
 *
 * For block devices, whose commands keep a copy of their SQE; others end with -ENOMEM.
 *
 * Context: a callback in the submitter.
 */
void io_uring_cmd_issue_blocking(struct io_uring_cmd *cmd);

/**
 * io_buffer_register_request - register the data of a block request in a slot of the ring
 * @cmd: a command of the ring
 * @rq: the request; what is to be written can only be read from the buffer, and vice versa
 * @release: called with @rq when the slot is empty again and nothing uses the buffer
 * @index: an empty slot among the ring's registered buffers
 * @issue_flags: as given to ->uring_cmd(), or in a callback
 *
 * @release may be called by any task, also within io_buffer_unregister().
 *
 * Context: ->uring_cmd(), or a callback.  May sleep.
 * Return: 0; -EINVAL if there is no such slot or @rq has no data, -EBUSY if the slot is in use,
 * -ENOMEM, or -ECANCELED if a worker is killed while it waits for the ring lock.  @release is not
 * called then.
 */
int io_buffer_register_request(struct io_uring_cmd *cmd, struct request *rq,
			       void (*release)(void *), unsigned int index,
			       unsigned int issue_flags);

/**
 * io_buffer_register_bvec - register pages in a slot of the ring
 * @cmd: a command of the ring
 * @bvs: segments of the memory, which are copied
 * @nr_bvecs: number of segments, at least one
 * @release: called with @priv when the slot is empty again and nothing uses the buffer
 * @priv: the driver's
 * @dir: IO_BUF_DEST, IO_BUF_SOURCE
 * @index: an empty slot among the ring's registered buffers
 * @issue_flags: as given to ->uring_cmd(), or in a callback
 *
 * Context: ->uring_cmd(), or a callback.  May sleep.
 * Return: as io_buffer_register_request(), -EINVAL also for a bad @dir, -EOVERFLOW beyond 4 GiB.
 */
int io_buffer_register_bvec(struct io_uring_cmd *cmd, const struct bio_vec *bvs,
			    unsigned int nr_bvecs, void (*release)(void *), void *priv, u8 dir,
			    unsigned int index, unsigned int issue_flags);

/**
 * io_buffer_unregister - empty a slot that a driver has filled
 * @cmd: a command of the ring
 * @index: number of the slot
 * @issue_flags: as given to ->uring_cmd(), or in a callback
 *
 * Requests that use the buffer go on with it.
 *
 * Context: ->uring_cmd(), or a callback.  May sleep.
 * Return: 0; -EINVAL if there is no such slot or it is empty, -EBUSY if it has a buffer of the
 * program, or -ECANCELED if a worker is killed while it waits for the ring lock.
 */
int io_buffer_unregister(struct io_uring_cmd *cmd, unsigned int index, unsigned int issue_flags);
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
#endif

/*
 * What io_uring refuses: vectors within a registered buffer, and commands that post several CQEs,
 * which IORING_OP_URING_CMD does not accept.
 */
static inline int io_uring_cmd_import_fixed_vec(struct io_uring_cmd *ioucmd,
						const struct iovec __user *uvec, size_t uvec_segs,
						int ddir, struct iov_iter *iter,
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

/* Finish a command, see __io_uring_cmd_done(). */
static inline void io_uring_cmd_done(struct io_uring_cmd *cmd, s32 ret, unsigned int issue_flags)
{
	__io_uring_cmd_done(cmd, ret, 0, issue_flags, false);
}

/* Likewise, with an extra word for a 32 byte CQE. */
static inline void io_uring_cmd_done32(struct io_uring_cmd *cmd, s32 ret, u64 res2,
				       unsigned int issue_flags)
{
	__io_uring_cmd_done(cmd, ret, res2, issue_flags, true);
}

/* Call back in the submitter at once. */
static inline void io_uring_cmd_complete_in_task(struct io_uring_cmd *cmd,
						 io_req_tw_func_t task_work_cb)
{
	__io_uring_cmd_do_in_task(cmd, task_work_cb, 0);
}

/* Call back when the submitter looks for completions; may post one CQE only. */
static inline void io_uring_cmd_do_in_task_lazy(struct io_uring_cmd *cmd,
						io_req_tw_func_t task_work_cb)
{
	__io_uring_cmd_do_in_task(cmd, task_work_cb, IOU_F_TWQ_LAZY_WAKE);
}

#endif
