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
 * io_uring_cmd_complete_in_task() runs in the submitter and gets the issue_flags
 * that io_uring_cmd_done() wants.  It has the credentials that this task has by then, so
 * rights are checked in ->uring_cmd(), which has those of the submission.  On a ring with
 * IORING_SETUP_IOPOLL the ring calls ->uring_cmd_iopoll() until the command is done.
 *
 * A driver that may keep commands for ever marks them with
 * io_uring_cmd_mark_cancelable().  When the ring goes away, or its task becomes another
 * program, ->uring_cmd() is called once more with IO_URING_F_CANCEL, and the driver
 * should finish the command, now or soon.  It is called again as long as the driver does
 * not.  The driver may finish the command meanwhile: it is in memory until that call has
 * returned.  Programs cannot cancel such a command by name.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/io_uring_types.h>
#include <linux/preempt.h>
#include <linux/types.h>

struct iov_iter;
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
		void (*task_work_cb)(struct io_uring_cmd *cmd, unsigned int issue_flags);
		u64			res2;
	};
	u32				cmd_op;
	u32				flags;
	u8				pdu[32];
};

/**
 * io_uring_sqe_cmd - a command's bytes in its SQE
 * @sqe: io_uring_cmd->sqe
 *
 * Return: 16 bytes, 80 with IO_URING_F_SQE128.  They may be user memory that
 * changes: read each field once.
 */
static inline const void *io_uring_sqe_cmd(const struct io_uring_sqe *sqe)
{
	return sqe->cmd;
}

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
 * io_uring_cmd_done - finish a command that was answered with -EIOCBQUEUED
 * @cmd: the command, not the driver's any longer
 * @ret: cqe->res
 * @res2: first extra word of a 32 byte CQE, lost on other rings
 * @issue_flags: as given to the caller by io_uring; IO_URING_F_UNLOCKED elsewhere
 *
 * Context: any; the one that @issue_flags tells of lets the CQE be posted at once.
 */
void io_uring_cmd_done(struct io_uring_cmd *cmd, ssize_t ret, ssize_t res2,
		       unsigned int issue_flags);

/**
 * __io_uring_cmd_do_in_task - call the driver back in the submitter
 * @cmd: the command
 * @task_work_cb: function to call, with IO_URING_F_TASK_DEAD where no submitter
 *	is left to run it
 * @flags: enum io_uring_twq_flags
 *
 * Context: any.
 */
void __io_uring_cmd_do_in_task(struct io_uring_cmd *cmd,
			       void (*task_work_cb)(struct io_uring_cmd *, unsigned int),
			       unsigned int flags);

/**
 * io_uring_cmd_import_fixed - iterate over a registered buffer
 * @ubuf: user address, within the buffer that sqe->buf_index names
 * @len: bytes
 * @rw: ITER_SOURCE or ITER_DEST
 * @iter: set up here, valid until the command is done
 * @ioucmd: a command with IORING_URING_CMD_FIXED
 *
 * Context: ->uring_cmd().
 * Return: 0, or -EFAULT if the range is not within the buffer.
 */
int io_uring_cmd_import_fixed(u64 ubuf, unsigned long len, int rw,
			      struct iov_iter *iter, void *ioucmd);

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
#else
static inline void io_uring_cmd_done(struct io_uring_cmd *cmd, ssize_t ret,
				     ssize_t res2, unsigned int issue_flags)
{
}

static inline void
__io_uring_cmd_do_in_task(struct io_uring_cmd *cmd,
			  void (*task_work_cb)(struct io_uring_cmd *, unsigned int),
			  unsigned int flags)
{
}

static inline int io_uring_cmd_import_fixed(u64 ubuf, unsigned long len, int rw,
					    struct iov_iter *iter, void *ioucmd)
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
#endif

/* Like io_uring_cmd_done(), from within ->uring_cmd_iopoll(). */
static inline void io_uring_cmd_iopoll_done(struct io_uring_cmd *cmd,
					    ssize_t ret, ssize_t res2)
{
	WARN_ON_ONCE(!in_task());
	io_uring_cmd_done(cmd, ret, res2, IO_URING_F_COMPLETE_DEFER);
}

/* Call back in the submitter at once. */
static inline void
io_uring_cmd_complete_in_task(struct io_uring_cmd *cmd,
			      void (*task_work_cb)(struct io_uring_cmd *, unsigned int))
{
	__io_uring_cmd_do_in_task(cmd, task_work_cb, 0);
}

/* Call back when the submitter looks for completions; may post one CQE only. */
static inline void
io_uring_cmd_do_in_task_lazy(struct io_uring_cmd *cmd,
			     void (*task_work_cb)(struct io_uring_cmd *, unsigned int))
{
	__io_uring_cmd_do_in_task(cmd, task_work_cb, IOU_F_TWQ_LAZY_WAKE);
}

#endif
