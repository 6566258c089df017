// SPDX-License-Identifier: GPL-2.0
/* io_uring: a task that waits for sockets polls their network devices */

/*
 * A ring stores the IDs of the last IO_NAPI_MAX NAPI instances (here: queues) that its sockets have
 * used.  An ID is only a number: once its queue is gone, to poll the ID does nothing.  So the ring
 * holds no reference to a queue, and polls read the IDs without a lock.
 */
#include <linux/file.h>
#include <linux/net.h>
#include <linux/sched/signal.h>
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

/**
 * io_napi_meet_file - store the NAPI ID of a file that a request waits for
 * @ctx: the ring, with IORING_REGISTER_NAPI; lock held
 * @file: if it is a socket, later polls include the queue of its packets
 */
void io_napi_meet_file(struct io_ring_ctx *ctx, struct file *file)
{
	struct socket *sock = sock_from_file(file);
	struct io_napi *napi = &ctx->napi;
	unsigned int i;
	u32 id;

	io_assert_ring(ctx);
	if (!sock || !sock->sk)
		return;
	id = READ_ONCE(sock->sk->sk_napi_id);
	if (id < MIN_NAPI_ID)
		return;
	for (i = 0; i < napi->nr; i++) {
		if (napi->ids[i] == id)
			return;
	}
	WRITE_ONCE(napi->ids[napi->next], id);
	napi->next = (napi->next + 1) % IO_NAPI_MAX;
	if (napi->nr < IO_NAPI_MAX)
		WRITE_ONCE(napi->nr, napi->nr + 1);
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
	unsigned int i, nr = READ_ONCE(ctx->napi.nr);

	/* napi_busy_loop() loops until @end returns true, and keeps the single queue claimed */
	if (nr == 1) {
		napi_busy_loop(READ_ONCE(ctx->napi.ids[0]), end, arg, prefer, BUSY_POLL_BUDGET);
		return;
	}
	do {
		for (i = 0; i < nr; i++)
			napi_busy_loop(READ_ONCE(ctx->napi.ids[i]), NULL, NULL, prefer,
				       BUSY_POLL_BUDGET);
		cond_resched();
	} while (end && !end(arg, 0));
}

/* Copy the current settings to the program. */
static int io_napi_tell(const struct io_napi *napi, void __user *arg)
{
	struct io_uring_napi old = {
		.busy_poll_to		= napi->time_us,
		.prefer_busy_poll	= napi->prefer,
	};

	return copy_to_user(arg, &old, sizeof(old)) ? -EFAULT : 0;
}

/**
 * io_napi_register - handle IORING_REGISTER_NAPI
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_napi in user space, with the new settings; receives the old ones
 *
 * A time above the limit is lowered to the limit.
 *
 * Return: 0; -EINVAL on an IORING_SETUP_IOPOLL ring or if a reserved field is not 0; -EFAULT.
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
	if (io_napi_tell(napi, arg))
		return -EFAULT;
	WRITE_ONCE(napi->time_us, min(reg.busy_poll_to, IO_NAPI_TIME_MAX));
	WRITE_ONCE(napi->prefer, reg.prefer_busy_poll);
	napi->enabled = true;
	/* never disable the key: a program could patch kernel code in a loop, and delay others */
	if (!static_key_enabled(&io_napi_used))
		static_branch_enable(&io_napi_used);
	return 0;
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
	if (arg && io_napi_tell(napi, arg))
		return -EFAULT;
	WRITE_ONCE(napi->nr, 0);
	WRITE_ONCE(napi->time_us, 0);
	WRITE_ONCE(napi->prefer, false);
	napi->next = 0;
	napi->enabled = false;
	return 0;
}
