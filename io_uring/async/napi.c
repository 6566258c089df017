// SPDX-License-Identifier: GPL-2.0
/* io_uring: a task that waits for sockets polls their network devices */

/*
 * A ring stores the IDs of the last IO_NAPI_DYNAMIC_MAX NAPI instances (here: queues) that its
 * sockets have used.  With static tracking it stores the IDs that the program adds instead.  An ID
 * is only a number: once its queue is gone, a poll of the ID does nothing.  So the ring holds no
 * reference to a queue, and polls read the IDs without a lock.  A poll during a change may leave an
 * ID out, poll it twice, or poll an ID that was just deleted.
 *
 * The number of IDs is limited, since each wait that polls looks at all of them.
 */
#include <linux/file.h>
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/busy_poll.h>
#include <net/sock.h>

#include "async/napi.h"
#include "ring/locks.h"

DEFINE_STATIC_KEY_FALSE(io_napi_used);

/*
 * Longest busy poll before a sleep, in microseconds.  During the poll, no other task can poll the
 * queue, and ifdown waits for the end of the poll with the RTNL held.
 */
#define IO_NAPI_TIME_MAX	10000U

/* number of polls after which a task looks at its events again */
#define IO_NAPI_BATCH		16

/* Return: the index of an ID, or napi->nr if it is not stored. */
static unsigned int io_napi_find(const struct io_napi *napi, u32 id)
{
	unsigned int i;

	for (i = 0; i < napi->nr && napi->ids[i] != id; i++)
		;
	return i;
}

/* Store an ID in the entry behind the last one, or replace an entry. */
static void io_napi_store(struct io_napi *napi, unsigned int i, u32 id)
{
	WRITE_ONCE(napi->ids[i], id);
	if (i < napi->nr)
		return;
	/* pairs with io_napi_poll(), which has to see napi->ids */
	smp_store_release(&napi->nr, i + 1);
}

/**
 * io_napi_meet_file - store the NAPI ID of a file that a request waits for
 * @ctx: the ring, with dynamic tracking; lock held
 * @file: if it is a socket, later polls include the queue of its packets
 */
void io_napi_meet_file(struct io_ring_ctx *ctx, struct file *file)
{
	struct socket *sock = sock_from_file(file);
	struct io_napi *napi = &ctx->napi;
	u32 id;

	io_assert_ring(ctx);
	if (!sock || !sock->sk)
		return;
	id = READ_ONCE(sock->sk->sk_napi_id);
	if (id < MIN_NAPI_ID || io_napi_find(napi, id) < napi->nr)
		return;
	io_napi_store(napi, napi->next, id);
	napi->next = (napi->next + 1) % IO_NAPI_DYNAMIC_MAX;
}

/**
 * io_napi_poll - poll the queues whose IDs a ring has stored
 * @ctx: the ring
 * @end: returns true to end the poll; NULL to poll each queue once
 * @arg: for @end
 *
 * Context: Task context.  No lock that a network driver could need is held.  May sleep.
 */
void io_napi_poll(struct io_ring_ctx *ctx, bool (*end)(void *arg, unsigned long start), void *arg)
{
	bool prefer = READ_ONCE(ctx->napi.prefer);
	/* pairs with io_napi_store() */
	unsigned int i, nr = smp_load_acquire(&ctx->napi.nr);
	const u32 *ids = READ_ONCE(ctx->napi.ids);

	/* napi_busy_loop() loops until @end returns true, and keeps the single queue claimed */
	if (nr == 1) {
		napi_busy_loop(READ_ONCE(ids[0]), end, arg, prefer, BUSY_POLL_BUDGET);
		return;
	}
	do {
		for (i = 0; i < nr; i++) {
			if (i && i % IO_NAPI_BATCH == 0) {
				cond_resched();
				if (end && end(arg, 0))
					return;
			}
			napi_busy_loop(READ_ONCE(ids[i]), NULL, NULL, prefer, BUSY_POLL_BUDGET);
		}
		cond_resched();
	} while (end && !end(arg, 0));
}

/* Copy the current settings to the program. */
static int io_napi_tell(const struct io_napi *napi, void __user *arg, u32 tracking)
{
	struct io_uring_napi old = {
		.busy_poll_to		= napi->time_us,
		.prefer_busy_poll	= napi->prefer,
		.op_param		= tracking,
	};

	return copy_to_user(arg, &old, sizeof(old)) ? -EFAULT : 0;
}

static u32 io_napi_tracking(const struct io_napi *napi)
{
	if (!napi->enabled)
		return IO_URING_NAPI_TRACKING_INACTIVE;
	return napi->learns ? IO_URING_NAPI_TRACKING_DYNAMIC : IO_URING_NAPI_TRACKING_STATIC;
}

static void io_napi_forget(struct io_napi *napi)
{
	WRITE_ONCE(napi->nr, 0);
	napi->next = 0;
}

/* IO_URING_NAPI_REGISTER_OP: begin, or change the settings.  Return: 0, -EINVAL or -ENOMEM. */
static int io_napi_set(struct io_napi *napi, const struct io_uring_napi *reg)
{
	bool learns = reg->op_param == IO_URING_NAPI_TRACKING_DYNAMIC;
	u32 *ids;

	if (!learns && reg->op_param != IO_URING_NAPI_TRACKING_STATIC)
		return -EINVAL;
	if (!napi->ids) {
		ids = kcalloc(IO_NAPI_STATIC_MAX, sizeof(*ids), GFP_KERNEL_ACCOUNT);
		if (!ids)
			return -ENOMEM;
		WRITE_ONCE(napi->ids, ids);
	}
	/* keep what was learnt: waiting requests would not store the IDs of their sockets again */
	if (!learns || !napi->learns)
		io_napi_forget(napi);
	WRITE_ONCE(napi->time_us, min(reg->busy_poll_to, IO_NAPI_TIME_MAX));
	WRITE_ONCE(napi->prefer, reg->prefer_busy_poll);
	napi->learns = learns;
	napi->enabled = true;
	/* never disable the key: a program could patch kernel code in a loop, and delay others */
	if (!static_key_enabled(&io_napi_used))
		static_branch_enable(&io_napi_used);
	return 0;
}

/* IO_URING_NAPI_STATIC_ADD_ID.  Return: 0, -EINVAL, -EEXIST or -ENOSPC. */
static int io_napi_add(struct io_napi *napi, u32 id)
{
	if (io_napi_tracking(napi) != IO_URING_NAPI_TRACKING_STATIC || id < MIN_NAPI_ID)
		return -EINVAL;
	if (io_napi_find(napi, id) < napi->nr)
		return -EEXIST;
	if (napi->nr == IO_NAPI_STATIC_MAX)
		return -ENOSPC;
	io_napi_store(napi, napi->nr, id);
	return 0;
}

/* IO_URING_NAPI_STATIC_DEL_ID.  Return: 0, -EINVAL or -ENOENT. */
static int io_napi_delete(struct io_napi *napi, u32 id)
{
	unsigned int i;

	if (io_napi_tracking(napi) != IO_URING_NAPI_TRACKING_STATIC || id < MIN_NAPI_ID)
		return -EINVAL;
	i = io_napi_find(napi, id);
	if (i == napi->nr)
		return -ENOENT;
	WRITE_ONCE(napi->ids[i], napi->ids[napi->nr - 1]);
	WRITE_ONCE(napi->nr, napi->nr - 1);
	return 0;
}

/**
 * io_napi_register - handle IORING_REGISTER_NAPI
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_napi in user space, with what to change; receives the old settings
 *
 * A time above the limit is lowered to the limit.
 *
 * Return: 0; -EINVAL on an IORING_SETUP_IOPOLL ring, if a reserved field is not 0, and for a bad
 * opcode, tracking or ID; -EEXIST for an ID that is there, -ENOENT for one that is not; -ENOSPC;
 * -ENOMEM; -EFAULT.  The program gets the old settings also with an error of the last four kinds,
 * and for a bad opcode, tracking or ID.
 */
int io_napi_register(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_napi *napi = &ctx->napi;
	struct io_uring_napi reg;

	io_assert_ring(ctx);
	if (ctx->iopoll)
		return -EINVAL;
	if (copy_from_user(&reg, arg, sizeof(reg)))
		return -EFAULT;
	if (memchr_inv(reg.pad, 0, sizeof(reg.pad)) || reg.resv)
		return -EINVAL;
	if (io_napi_tell(napi, arg, io_napi_tracking(napi)))
		return -EFAULT;
	switch (reg.opcode) {
	case IO_URING_NAPI_REGISTER_OP:
		return io_napi_set(napi, &reg);
	case IO_URING_NAPI_STATIC_ADD_ID:
		return io_napi_add(napi, reg.op_param);
	case IO_URING_NAPI_STATIC_DEL_ID:
		return io_napi_delete(napi, reg.op_param);
	default:
		return -EINVAL;
	}
}

/**
 * io_napi_unregister - handle IORING_UNREGISTER_NAPI
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_napi in user space, receives the old settings; or NULL
 *
 * Return: 0 or -EFAULT.
 */
int io_napi_unregister(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_napi *napi = &ctx->napi;

	io_assert_ring(ctx);
	if (arg && io_napi_tell(napi, arg, 0))
		return -EFAULT;
	io_napi_forget(napi);
	WRITE_ONCE(napi->time_us, 0);
	WRITE_ONCE(napi->prefer, false);
	napi->learns = false;
	napi->enabled = false;
	return 0;
}
