// SPDX-License-Identifier: GPL-2.0
/* io_uring: SOCKET_URING_OP_TX_TIMESTAMP - report when data of a socket was sent */

/*
 * With SO_TIMESTAMPING, the network stack adds the time at which data passed the scheduler, was
 * sent or was acknowledged to the socket's error queue.  This command posts a CQE with
 * IORING_CQE_F_MORE for each of these timestamps, in the order of the queue.  All other entries
 * stay there for recvmsg(2): errors, and timestamps with data, which do not fit a CQE.
 *
 * The command is a multishot request that waits for EPOLLERR, see submit/multishot.c.  Its first
 * attempt only starts to wait, because a worker may make it, and must not post.  A later attempt
 * takes a few timestamps: a long queue is not searched for each CQE, and does not keep other
 * requests from running.  If the CQ is full, the other timestamps go back to the head of the queue,
 * and the command ends with -ENOBUFS.
 */
#include <linux/errqueue.h>
#include <linux/io_uring/cmd.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "async/poll.h"
#include "complete/complete.h"
#include "op/net/timestamps.h"
#include "submit/submit.h"

/* timestamps that an attempt takes */
#define IO_TIMESTAMPS	8

/* Let the command wait for its first timestamp.  Return: as ->uring_cmd(). */
static int io_timestamps_start(struct io_kiocb *req, unsigned int issue_flags)
{
	if (!(req->ctx->issue_flags & IO_URING_F_CQE32))
		return -EINVAL;
	req->flags |= REQ_F_MULTISHOT;
	io_req_keep_creds(req);
	switch (io_poll_hold(req, io_multishot_tw, issue_flags)) {
	case IO_POLL_HOLD:
		return -EIOCBQUEUED;
	case IO_POLL_END:
		return -ECANCELED;
	case IO_POLL_RETRY:
	case IO_POLL_BLOCK:
		break;
	}
	/* without an entry on a waitqueue, the command would miss events */
	return -ENOMEM;
}

/* Return: true if an entry of the error queue is a timestamp that @tsflags of the socket report. */
static bool io_timestamps_has(const struct sk_buff *skb, u32 tsflags)
{
	if (SKB_EXT_ERR(skb)->ee.ee_origin != SO_EE_ORIGIN_TIMESTAMPING ||
	    SKB_EXT_ERR(skb)->ee.ee_errno != ENOMSG || skb->len)
		return false;
	/* each entry has either the time of the system, or that of the network card */
	return tsflags & (skb->tstamp ? SOF_TIMESTAMPING_SOFTWARE : SOF_TIMESTAMPING_RAW_HARDWARE);
}

/* Move up to IO_TIMESTAMPS entries from the error queue to @list. */
static void io_timestamps_take(struct sock *sk, struct sk_buff_head *list)
{
	struct sk_buff_head *queue = &sk->sk_error_queue;
	u32 tsflags = READ_ONCE(sk->sk_tsflags);
	struct sk_buff *skb, *next;

	guard(spinlock_irqsave)(&queue->lock);
	skb_queue_walk_safe(queue, skb, next) {
		if (!io_timestamps_has(skb, tsflags))
			continue;
		__skb_unlink(skb, queue);
		__skb_queue_tail(list, skb);
		if (skb_queue_len(list) == IO_TIMESTAMPS)
			break;
	}
}

/* Wake others who wait for the socket, too: they may have found the queue empty meanwhile. */
static void io_timestamps_give_back(struct sock *sk, struct sk_buff_head *list)
{
	scoped_guard(spinlock_irqsave, &sk->sk_error_queue.lock)
		skb_queue_splice(list, &sk->sk_error_queue);
	sk_error_report(sk);
}

/* Post a CQE for a timestamp.  Return: false if there is no room. */
static bool io_timestamps_post(struct io_kiocb *req, struct sock *sk, struct sk_buff *skb)
{
	const struct sock_extended_err *ee = &SKB_EXT_ERR(skb)->ee;
	u32 cflags = ee->ee_info << IORING_TIMESTAMP_TYPE_SHIFT;
	struct timespec64 ts;
	int source;

	source = skb_get_tx_timestamp(skb, sk, &ts);
	/* the network card, or its clock, does not know the time any more */
	if (source < 0)
		return true;
	if (source == SOF_TIMESTAMPING_TX_HARDWARE)
		cflags |= IORING_CQE_F_TSTAMP_HW;
	return io_post_more_large(req, ee->ee_data, cflags, (u64 []){ ts.tv_sec, ts.tv_nsec });
}

/* Report timestamps after an event.  Return: see io_cmd_sock_timestamps(). */
static int io_timestamps_report(struct io_kiocb *req, struct sock *sk)
{
	struct sk_buff_head list;
	struct sk_buff *skb;
	bool more;

	__skb_queue_head_init(&list);
	io_timestamps_take(sk, &list);
	more = skb_queue_len(&list) == IO_TIMESTAMPS;
	while ((skb = skb_peek(&list))) {
		if (unlikely(!io_timestamps_post(req, sk, skb))) {
			io_timestamps_give_back(sk, &list);
			return -ENOBUFS;
		}
		__skb_unlink(skb, &list);
		consume_skb(skb);
	}
	return more ? -EIOCBQUEUED : -EAGAIN;
}

/**
 * io_cmd_sock_timestamps - make an attempt of SOCKET_URING_OP_TX_TIMESTAMP
 * @cmd: the command
 * @sk: its socket
 * @issue_flags: IO_URING_F_MULTISHOT for an event of the socket; without it, this is the first
 *	attempt
 *
 * Return: the result of the command; -EIOCBQUEUED if the command waits for an event or, for an
 * event, if there may be more timestamps; -EAGAIN, for an event, if there are none
 */
int io_cmd_sock_timestamps(struct io_uring_cmd *cmd, struct sock *sk, unsigned int issue_flags)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);

	if (issue_flags & IO_URING_F_MULTISHOT)
		return io_timestamps_report(req, sk);
	return io_timestamps_start(req, issue_flags);
}
