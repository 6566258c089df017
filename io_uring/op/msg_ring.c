// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_MSG_RING - post a CQE to another ring, or hand it a file */

/*
 * IORING_MSG_DATA posts a CQE with contents from the sender's SQE.  If the target is a
 * single-writer ring, the sender pushes an entry with the message (ring/entry.h) to the mailbox of
 * the ring, whose owner posts the CQE.  On a multi-writer ring the sender posts the CQE itself.
 * Neither way needs the target's ring lock, so the sender does not wait.
 *
 * IORING_MSG_SEND_FD puts a registered file of the sender into the target's table, and posts a CQE
 * like DATA.  This needs the target's ring lock.  An inline attempt holds the sender's ring lock.
 * It only tries to take the target's lock, since two rings that send to each other could deadlock.
 * A worker holds no ring lock, so it may wait.
 *
 * All steps that can fail come before the first visible step, with one exception.  If there is
 * neither room nor memory for the CQE of a SEND_FD, the request ends with -EOVERFLOW, but the file
 * stays in its slot.
 *
 * ->issue() looks the target up and holds it only during the call.  So a request does not keep
 * another ring alive, and a process with one thread takes no reference.
 */
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/io_uring.h>

#include "complete/complete.h"
#include "complete/message.h"
#include "op/list.h"
#include "op/msg_ring.h"
#include "req/put.h"
#include "ring/entry.h"
#include "ring/locks.h"
#include "ring/mailbox.h"
#include "rsrc/files.h"

#define IO_MSG_FLAGS	(IORING_MSG_RING_CQE_SKIP | IORING_MSG_RING_FLAGS_PASS)

/**
 * struct io_msg - arguments and state of a MSG_RING
 * @user_data: user_data of the target's CQE
 * @cmd: IORING_MSG_*
 * @src_slot: SEND_FD: slot of the file in the sender's table
 * @res: DATA: result of the target's CQE
 * @cqe_flags: DATA: flags of the target's CQE; SEND_FD: slot + 1 in the target's table, or
 *	IORING_FILE_INDEX_ALLOC
 * @flags: IORING_MSG_RING_*
 * @fd: descriptor of the target
 * @plain: true for a DATA that uses no field but @user_data, @res and @fd
 * @src_file: SEND_FD: the file, until it is installed; put by ->cleanup() if it is not
 */
struct io_msg {
	u64		user_data;
	u32		src_slot;
	u32		cmd;
	u32		res;
	u32		cqe_flags;
	u32		flags;
	int		fd;
	bool		plain;
	struct file	*src_file;
};

IO_OP_DATA(io_msg);

/* Read the fields of an SQE.  Return: 0 or -EINVAL. */
static int io_msg_read(struct io_msg *msg, const struct io_uring_sqe *sqe)
{
	msg->src_file = NULL;
	msg->fd = READ_ONCE(sqe->fd);
	msg->user_data = READ_ONCE(sqe->off);
	msg->res = READ_ONCE(sqe->len);
	/* the upper halves of the next two fields are ignored */
	msg->cmd = READ_ONCE(sqe->addr);
	msg->src_slot = READ_ONCE(sqe->addr3);
	msg->cqe_flags = READ_ONCE(sqe->file_index);
	msg->flags = READ_ONCE(sqe->msg_ring_flags);
	BUILD_BUG_ON(IORING_MSG_DATA);
	msg->plain = !(msg->cmd | msg->src_slot | msg->cqe_flags | msg->flags);
	return msg->flags & ~IO_MSG_FLAGS ? -EINVAL : 0;
}

static int io_msg_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	if (unlikely(req->buf_index || req->flags & REQ_F_CREDS))
		return -EINVAL;
	return io_msg_read(io_msg(req), sqe);
}

/* Return: true if the ring is not enabled yet. */
static bool io_msg_disabled(const struct io_ring_ctx *target)
{
	return READ_ONCE(target->stops.disabled);
}

/* Check the fields of DATA, and set the flags of the CQE.  Return: 0, -EINVAL or -EBADFD. */
static int io_msg_data_flags(const struct io_msg *msg, struct io_ring_ctx *target, u32 *flags)
{
	if (msg->src_slot || msg->flags & ~IORING_MSG_RING_FLAGS_PASS)
		return -EINVAL;
	if (msg->flags & IORING_MSG_RING_FLAGS_PASS)
		*flags = msg->cqe_flags;
	else if (msg->cqe_flags)
		return -EINVAL;
	if (*flags & IORING_CQE_F_32 && !(target->issue_flags & IO_URING_F_CQE32))
		return io_msg_disabled(target) ? -EBADFD : -EINVAL;
	return 0;
}

/* Return: the sender's ring if its lock is held; NULL in a worker. */
static struct io_ring_ctx *io_msg_sender(struct io_kiocb *req, unsigned int issue_flags)
{
	return issue_flags & IO_URING_F_UNLOCKED ? NULL : req->ctx;
}

/* Post the CQE of a DATA that takes two slots. */
static noinline int io_msg_data_large(struct io_ring_ctx *target, struct io_ring_ctx *sender,
				      const struct io_cqe_val *val)
{
	struct io_cqe_entry *entry;

	if (io_msg_disabled(target))
		return -EBADFD;
	entry = io_message_prepare(target, sender);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	return io_message_post_large(target, entry, val);
}

/* Post the CQE of a DATA.  @sender: the sender's ring if its lock is held, else NULL. */
static int io_msg_data(const struct io_msg *msg, struct io_ring_ctx *target,
		       struct io_ring_ctx *sender)
{
	struct io_cqe_val val = { .user_data = msg->user_data, .res = msg->res };
	struct io_cqe_entry *entry;

	if (unlikely(!msg->plain)) {
		int err = io_msg_data_flags(msg, target, &val.flags);

		if (err)
			return err;
		if (io_cqe_slots(target, val.flags) == 2)
			return io_msg_data_large(target, sender, &val);
	}
	if (unlikely(io_msg_disabled(target)))
		return -EBADFD;
	entry = io_message_prepare(target, sender);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	return io_message_post(target, entry, val);
}

/*
 * Get a reference to the file to be sent.  Return: the file; NULL if the slot is empty or does not
 * exist, or if a worker is killed while it waits for the lock.
 */
static struct file *io_msg_take_source(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_msg *msg = io_msg(req);
	struct io_rsrc_node *node = NULL;

	if (io_issue_lock(ctx, issue_flags))
		return NULL;
	if (msg->src_slot < ctx->file_table.data.nr)
		node = io_rsrc_find(&ctx->file_table.data, msg->src_slot);
	if (node)
		msg->src_file = get_file(io_file_node(node)->file);
	io_issue_unlock(ctx, issue_flags);
	if (node)
		req->flags |= REQ_F_NEED_CLEANUP;
	return msg->src_file;
}

/* Take the target's ring lock; an inline attempt does not wait.  Return: 0 or a negative errno. */
static int io_msg_lock_target(struct io_ring_ctx *target, unsigned int issue_flags)
{
	if (issue_flags & IO_URING_F_UNLOCKED)
		return io_ring_lock_interruptible(target);
	return io_ring_trylock(target) ? 0 : -EAGAIN;
}

/* Install the file and post the CQE.  Return: as io_fixed_fd_install(), or a negative errno. */
static int io_msg_install(struct io_kiocb *req, struct io_ring_ctx *target,
			  unsigned int issue_flags)
{
	struct io_msg *msg = io_msg(req);
	bool skip = msg->flags & IORING_MSG_RING_CQE_SKIP;
	struct io_cqe_val val = { .user_data = msg->user_data };
	struct io_cqe_entry *entry = NULL;
	struct file *file;
	int ret, err;

	if (!skip) {
		entry = io_message_prepare(target, io_msg_sender(req, issue_flags));
		if (IS_ERR(entry))
			return PTR_ERR(entry);
	}
	err = io_msg_lock_target(target, issue_flags);
	if (err) {
		if (entry)
			io_entry_put(entry);
		return err;
	}
	/* io_fixed_fd_install() consumes the reference, even if it fails */
	file = msg->src_file;
	msg->src_file = NULL;
	req->flags &= ~REQ_F_NEED_CLEANUP;
	ret = io_fixed_fd_install(target, file, msg->cqe_flags);
	io_ring_unlock(target);
	val.res = ret;
	if (ret >= 0 && !skip)
		err = io_message_post(target, entry, val);
	else if (entry)
		io_entry_put(entry);
	return err ?: ret;
}

static int io_msg_send_fd(struct io_kiocb *req, struct io_ring_ctx *target,
			  unsigned int issue_flags)
{
	struct io_msg *msg = io_msg(req);

	if (msg->res || target == req->ctx)
		return -EINVAL;
	if (io_msg_disabled(target))
		return -EBADFD;
	if (!msg->src_file && !io_msg_take_source(req, issue_flags))
		return -EBADF;
	if (target->cq.single_writer && io_mailbox_dead(&target->mailbox))
		return -EOWNERDEAD;
	return io_msg_install(req, target, issue_flags);
}

static int io_msg_send(struct io_kiocb *req, struct file *file, unsigned int issue_flags)
{
	struct io_msg *msg = io_msg(req);

	if (unlikely(!io_is_uring_fops(file)))
		return -EBADFD;
	if (likely(msg->plain))
		return io_msg_data(msg, file->private_data, io_msg_sender(req, issue_flags));
	switch (msg->cmd) {
	case IORING_MSG_DATA:
		return io_msg_data(msg, file->private_data, io_msg_sender(req, issue_flags));
	case IORING_MSG_SEND_FD:
		return io_msg_send_fd(req, file->private_data, issue_flags);
	default:
		return -EINVAL;
	}
}

static enum io_result io_msg_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_msg *msg = io_msg(req);
	struct fd target;
	int ret;

	/* a registered file is never a ring */
	if (unlikely(req->flags & REQ_F_FIXED_FILE)) {
		bool found = io_file_assign_fixed(req, msg->fd, issue_flags);

		return io_done(req, found ? -EBADFD : -EBADF);
	}
	target = fdget(msg->fd);
	if (unlikely(!fd_file(target)))
		return io_done(req, -EBADF);
	ret = io_msg_send(req, fd_file(target), issue_flags);
	fdput(target);
	/* an inline attempt could not take the target's lock */
	if (ret == -EAGAIN)
		return IO_AGAIN;
	return io_done(req, ret);
}

/**
 * io_msg_send_without_ring - handle IORING_REGISTER_SEND_MSG_RING
 * @arg: SQE of a MSG_RING in user space, with IORING_MSG_DATA
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -EINVAL for another op, or fields that a DATA does not use; -EBADF; -EBADFD if the
 * descriptor is no ring, or a disabled one; -EFAULT; -ENOMEM; -EOVERFLOW
 */
int io_msg_send_without_ring(void __user *arg)
{
	struct io_uring_sqe sqe;
	struct io_msg msg;
	int ret;

	if (copy_from_user(&sqe, arg, sizeof(sqe)))
		return -EFAULT;
	if (sqe.opcode != IORING_OP_MSG_RING || sqe.flags || sqe.buf_index || sqe.personality)
		return -EINVAL;
	ret = io_msg_read(&msg, &sqe);
	if (ret)
		return ret;
	if (msg.cmd != IORING_MSG_DATA)
		return -EINVAL;

	CLASS(fd, target)(msg.fd);
	if (!fd_file(target))
		return -EBADF;
	if (!io_is_uring_fops(fd_file(target)))
		return -EBADFD;
	return io_msg_data(&msg, fd_file(target)->private_data, NULL);
}

static void io_msg_cleanup(struct io_kiocb *req)
{
	io_req_file_put(req, io_msg(req)->src_file);
}

const struct io_op io_op_msg_ring = {
	.iopoll		= 1,
	.prep		= io_msg_prep,
	.issue		= io_msg_issue,
	.cleanup	= io_msg_cleanup,
};
