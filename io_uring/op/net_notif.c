// SPDX-License-Identifier: GPL-2.0
/* io_uring: notifications of zero copy sends - the memory is the program's again */

/*
 * What the network stack calls a struct ubuf_info: each packet that has some of the memory
 * holds a reference to it, and so does the request until its CQE is posted.  The last one to
 * let go, in whatever context a packet is freed, makes the notification's CQE.
 *
 * The CQE is that of a request without a SQE (io_req_take_notif()), because all that it
 * needs is what a request has: it goes to the right context by the mailbox of the ring or of
 * the task, or to the fallback worker if that is gone; it keeps the ring's memory; and it
 * gives back a registered buffer, whose tag may follow, after its CQE.  It does not wait, so
 * that nothing finds it: there is no way to end it but to free the packets.  It may outlive
 * the request, the socket's descriptor, the ring's file and the task.
 *
 * Pages are held by packets: each has references to those that are in it, or, if they are of a
 * registered buffer, relies on the notification, which holds the buffer.  The first kind is
 * charged to the ring's user until the packets are gone; the second is charged with its
 * registration.
 */
#include <linux/bvec.h>
#include <linux/sched/user.h>
#include <linux/skbuff.h>

#include "complete/complete.h"
#include "op/net.h"
#include "rsrc/account.h"
#include "rsrc/bufs.h"

/**
 * struct io_notif - what a notification will tell, in a request of its own
 * @ubuf: references of packets, and of the send
 * @pinned: what is charged to whom
 * @report: (-) say whether the data was copied all the same
 * @sent: (A) a packet was sent as it is
 * @copied: (A) the data of one was copied
 */
struct io_notif {
	struct ubuf_info	ubuf;
	struct mmpin		pinned;
	bool			report;
	bool			sent;
	bool			copied;
};

IO_OP_DATA(io_notif);

/* Post the CQE. */
static void io_notif_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	ctx->reqs.nr_notifs--;
	io_complete(io_tw_to_req(tw));
}

/* Post the notification: the memory is not read any more.  Any context. */
static void io_notif_post(struct io_notif *notif)
{
	struct io_kiocb *req = container_of((void *)notif, struct io_kiocb, data);

	mm_unaccount_pinned_pages(&notif->pinned);
	if (notif->report && (notif->copied || !notif->sent))
		req->cqe.res = (s32)IORING_NOTIF_USAGE_ZC_COPIED;
	req->cqe.flags = IORING_CQE_F_NOTIF;
	io_req_push(req, io_notif_tw, 0);
}

/* ubuf_info_ops->complete: a packet lets go, or, without one, who holds a reference. */
static void io_notif_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool success)
{
	struct io_notif *notif = container_of(ubuf, struct io_notif, ubuf);

	if (skb && success)
		WRITE_ONCE(notif->sent, true);
	else if (!success)
		WRITE_ONCE(notif->copied, true);
	/* fully ordered: the last one sees what others have found */
	if (refcount_dec_and_test(&ubuf->refcnt))
		io_notif_post(notif);
}

static const struct ubuf_info_ops io_notif_ops = {
	.complete = io_notif_complete,
};

/* The registered buffer that a send names.  Return: NULL if it does not have the data. */
static struct io_rsrc_node *io_notif_buf(struct io_kiocb *req)
{
	struct io_rsrc_node *node = io_rsrc_find(&req->ctx->buf_table, req->buf_index);
	struct io_net *net = io_net(req);

	return node && io_buf_covers(io_buf_node(node), net->addr, net->len) ? node : NULL;
}

/**
 * io_notif_make - make a send's notification
 * @req: a zero copy send whose SQE is read, ring lock held
 * @report: as in struct io_notif
 *
 * From here on the request's CQE has IORING_CQE_F_MORE, and io_notif_put() has to follow it.
 *
 * Return: 0 or -ENOMEM
 */
int io_notif_make(struct io_kiocb *req, bool report)
{
	struct io_kiocb *notif = io_req_take_notif(req);

	if (unlikely(!notif))
		return -ENOMEM;
	*io_notif(notif) = (struct io_notif){
		.ubuf = {
			.ops	= &io_notif_ops,
			.refcnt	= REFCOUNT_INIT(1),
			.flags	= SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN,
		},
		.report = report,
	};
	io_net(req)->notif = notif;
	req->cqe.flags = IORING_CQE_F_MORE;
	req->flags |= REQ_F_NEED_CLEANUP;
	return 0;
}

/* Have the notification hold the registered buffer.  Return: 0, -EFAULT or -ECANCELED. */
static int io_notif_hold_buf(struct io_kiocb *req, struct io_kiocb *notif,
			     unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_rsrc_node *node;
	int ret = io_issue_lock(ctx, issue_flags);

	if (unlikely(ret))
		return ret;
	node = io_notif_buf(req);
	if (likely(node)) {
		notif->buf_node = io_node_get(ctx, node);
		notif->flags |= REQ_F_BUF_NODE;
	} else {
		ret = -EFAULT;
	}
	io_issue_unlock(ctx, issue_flags);
	return ret;
}

/**
 * io_notif_bind - charge a send's pages, or find its registered buffer
 * @req: a zero copy send about to reach its socket for the first time
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * Return: 0; -ENOMEM when RLIMIT_MEMLOCK is reached; -EFAULT for data that is not in the
 * registered buffer; -ECANCELED for a worker that is killed.
 */
int io_notif_bind(struct io_kiocb *req, unsigned int issue_flags)
{
	struct user_struct *user = req->ctx->account.user;
	struct io_net *net = io_net(req);
	struct io_kiocb *notif = net->notif;

	if (net->how & IORING_RECVSEND_FIXED_BUF) {
		int ret = io_notif_hold_buf(req, notif, issue_flags);

		if (unlikely(ret))
			return ret;
	} else if (user && net->len) {
		struct mmpin *pinned = &io_notif(notif)->pinned;
		/* the worst case */
		unsigned int nr = (net->len >> PAGE_SHIFT) + 2;

		if (io_user_charge(user, nr))
			return -ENOMEM;
		*pinned = (struct mmpin){ .user = get_uid(user), .num_pg = nr };
	}
	net->how |= IO_NET_BOUND;
	return 0;
}

/* msghdr->sg_from_iter for memory that packets hold themselves. */
static int io_notif_fill(struct sk_buff *skb, struct iov_iter *from, size_t length)
{
	skb_zcopy_downgrade_managed(skb);
	return zerocopy_fill_skb_from_iter(skb, from, length);
}

/* Fill an skb from a registered buffer, whose pages the notification holds. */
static int io_notif_fill_fixed(struct sk_buff *skb, struct iov_iter *from, size_t length)
{
	struct skb_shared_info *shinfo = skb_shinfo(skb);
	int frag = shinfo->nr_frags;

	if (!frag)
		shinfo->flags |= SKBFL_MANAGED_FRAG_REFS;
	else if (unlikely(!skb_zcopy_managed(skb)))
		/* it holds others by references */
		return zerocopy_fill_skb_from_iter(skb, from, length);
	length = min(length, iov_iter_count(from));
	for (; length && frag < MAX_SKB_FRAGS; frag++) {
		const struct bio_vec *bv = from->bvec;
		u32 at = bv->bv_offset + from->iov_offset;
		u32 len = min_t(size_t, bv->bv_len - from->iov_offset, length);

		__skb_fill_page_desc_noacc(shinfo, frag, bv->bv_page, at, len);
		shinfo->nr_frags = frag + 1;
		skb->data_len += len;
		skb->len += len;
		skb->truesize += PAGE_ALIGN(offset_in_page(at) + len);
		iov_iter_advance(from, len);
		length -= len;
	}
	return length ? -EMSGSIZE : 0;
}

/**
 * io_notif_attach - tell the socket of the notification
 * @req: has made it
 * @msg: for an attempt, with an iterator
 *
 * The iterator of a registered buffer is made here.
 */
void io_notif_attach(struct io_kiocb *req, struct msghdr *msg)
{
	struct io_net *net = io_net(req);
	struct io_kiocb *notif = net->notif;

	msg->msg_ubuf = &io_notif(notif)->ubuf;
	msg->sg_from_iter = io_notif_fill;
	if (notif->flags & REQ_F_BUF_NODE && likely(net->len)) {
		const struct io_buf_node *buf = io_buf_node(notif->buf_node);

		io_buf_iter(buf, ITER_SOURCE, net->addr + net->done - buf->ubuf,
			    net->len - net->done, &msg->msg_iter);
		msg->sg_from_iter = io_notif_fill_fixed;
	}
}

/**
 * io_notif_put - drop the reference of a send whose CQE is posted
 * @req: has made a notification
 *
 * Task context.
 */
void io_notif_put(struct io_kiocb *req)
{
	io_notif_complete(NULL, &io_notif(io_net(req)->notif)->ubuf, true);
}
