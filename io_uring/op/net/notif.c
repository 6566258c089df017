// SPDX-License-Identifier: GPL-2.0
/* io_uring: notifications of zero copy sends: the program may reuse the memory */

/*
 * A notification reports that the network stack does not read the memory of a zero copy send any
 * more.  Each packet with a part of the memory holds a reference to the notification's struct
 * ubuf_info.  So does the send until its CQE is posted.  When the last reference is dropped, in any
 * context in which packets are freed, the notification's CQE is queued.
 *
 * The notification is a request without an SQE (io_req_take_notif()).  Its task work posts the CQE.
 * The task of the mailbox runs the task work, or the fallback worker if the task is gone.
 * The ring is not freed before its notifications.  A notification drops a registered buffer
 * after its CQE, so that the CQE of the buffer's tag follows.  A cancel finds no notifications, as
 * they are not in the wait table: each ends after its last packet.  A notification may outlive
 * the send, the socket's descriptor, the ring's file and the task.
 *
 * Packets have references to the program's pages.  These pages are charged to the ring's user until
 * the packets are gone.  Packets need no references to a registered buffer: the notification holds
 * the buffer, and the pages of the buffer are charged since its registration.
 */
#include <linux/bvec.h>
#include <linux/sched/user.h>
#include <linux/skbuff.h>

#include "complete/complete.h"
#include "op/net/net.h"
#include "rsrc/account.h"
#include "rsrc/bufs.h"

/**
 * struct io_notif - a notification, in the storage of a request of its own
 * @ubuf: counts the references of the packets and of the send
 * @pinned: number of charged pages, and the user they are charged to
 * @report: (-) report in cqe.res whether data was copied
 * @sent: (A) a packet was sent without a copy
 * @copied: (A) the data of a packet was copied
 */
struct io_notif {
	struct ubuf_info	ubuf;
	struct mmpin		pinned;
	bool			report;
	bool			sent;
	bool			copied;
};

IO_OP_DATA(io_notif);

/* Post the notification's CQE. */
static void io_notif_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags)
{
	ctx->reqs.nr_notifs--;
	io_complete(io_tw_to_req(tw));
}

/* Queue a notification whose last reference is gone.  Any context may call this. */
static void io_notif_post(struct io_notif *notif)
{
	struct io_kiocb *req = container_of((void *)notif, struct io_kiocb, data);

	mm_unaccount_pinned_pages(&notif->pinned);
	if (notif->report && (notif->copied || !notif->sent))
		req->cqe.res = (s32)IORING_NOTIF_USAGE_ZC_COPIED;
	req->cqe.flags = IORING_CQE_F_NOTIF;
	io_req_push(req, io_notif_tw, 0);
}

/* ubuf_info_ops->complete: drop the reference of @skb, or another reference if @skb is NULL. */
static void io_notif_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool success)
{
	struct io_notif *notif = container_of(ubuf, struct io_notif, ubuf);

	if (skb && success)
		WRITE_ONCE(notif->sent, true);
	else if (!success)
		WRITE_ONCE(notif->copied, true);
	/* a release; for the last reference also an acquire, before ->sent and ->copied are read */
	if (refcount_dec_and_test(&ubuf->refcnt))
		io_notif_post(notif);
}

static const struct ubuf_info_ops io_notif_ops = {
	.complete = io_notif_complete,
};

/*
 * Let the notification hold the parts of the registered buffer that are in the send's vector; ring
 * lock held.
 */
static noinline int io_notif_gather(struct io_kiocb *req, struct io_kiocb *notif)
{
	struct io_net_async *async = req->async_data;
	struct io_net *net = io_net(req);
	int ret;

	/* a vector without an entry has no copy */
	ret = io_buf_gather(notif, ITER_SOURCE, net->len ? async->iov : NULL, net->len, 0);
	if (ret < 0) {
		io_buf_forget(notif);
		return ret;
	}
	net->addr = 0;
	net->len = ret;
	return 0;
}

/**
 * io_notif_make - allocate the notification of a send
 * @req: a zero copy send in ->prep()
 * @user_data: user_data of the notification
 * @report: as in struct io_notif
 *
 * Afterwards the CQE of @req has IORING_CQE_F_MORE, and ->cleanup() has to call io_notif_put().
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: 0 or -ENOMEM
 */
int io_notif_make(struct io_kiocb *req, u64 user_data, bool report)
{
	struct io_kiocb *notif = io_req_take_notif(req, user_data);

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

/* Let the notification hold the registered buffer.  Return: 0, -EFAULT or -ECANCELED. */
static int io_notif_hold_buf(struct io_kiocb *req, struct io_kiocb *notif,
			     unsigned int issue_flags)
{
	struct io_ring_ctx *ctx = req->ctx;
	struct io_net *net = io_net(req);
	bool vec = net->how & IORING_SEND_VECTORIZED;
	struct io_rsrc_node *node;
	int ret = io_issue_lock(ctx, issue_flags);

	if (unlikely(ret))
		return ret;
	node = io_rsrc_find(&ctx->buf_table, req->buf_index);
	if (likely(node) && (vec || io_buf_covers(io_buf_node(node), ITER_SOURCE, net->addr,
						  net->len))) {
		notif->buf_node = io_node_get(ctx, node);
		notif->flags |= REQ_F_BUF_NODE;
		if (unlikely(vec))
			ret = io_notif_gather(req, notif);
	} else {
		ret = -EFAULT;
	}
	io_issue_unlock(ctx, issue_flags);
	return ret;
}

/**
 * io_notif_bind - charge the pages of a send, or hold its registered buffer
 * @req: a zero copy send before its first attempt
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -ENOMEM if the charge would exceed RLIMIT_MEMLOCK; -EFAULT for data that is not in
 * the registered buffer; -ECANCELED if a worker is killed while it waits for the lock.
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
		/* the worst case: the data begins and ends within a page */
		unsigned int nr = (net->len >> PAGE_SHIFT) + 2;

		if (io_user_charge(user, nr))
			return -ENOMEM;
		*pinned = (struct mmpin){ .user = get_uid(user), .num_pg = nr };
	}
	net->how |= IO_NET_BOUND;
	return 0;
}

/* msghdr->sg_from_iter: add pages of the program, with references, to a packet. */
static int io_notif_fill(struct sk_buff *skb, struct iov_iter *from, size_t length)
{
	skb_zcopy_downgrade_managed(skb);
	return zerocopy_fill_skb_from_iter(skb, from, length);
}

/* msghdr->sg_from_iter: add pages of a registered buffer, without references, to a packet. */
static int io_notif_fill_fixed(struct sk_buff *skb, struct iov_iter *from, size_t length)
{
	struct skb_shared_info *shinfo = skb_shinfo(skb);
	int frag = shinfo->nr_frags;

	if (!frag)
		shinfo->flags |= SKBFL_MANAGED_FRAG_REFS;
	else if (unlikely(!skb_zcopy_managed(skb)))
		/* the packet has references to its other pages, so take references to these, too */
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
 * io_notif_attach - attach a notification to the msghdr of an attempt
 * @req: the send, after io_notif_bind()
 * @msg: the msghdr with its iterator
 *
 * For data in a registered buffer this function also replaces the iterator of @msg.
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
 * io_notif_put - drop a send's reference to its notification
 * @req: the send, whose CQE is posted
 *
 * Context: Task context.
 */
void io_notif_put(struct io_kiocb *req)
{
	io_notif_complete(NULL, &io_notif(io_net(req)->notif)->ubuf, true);
}
