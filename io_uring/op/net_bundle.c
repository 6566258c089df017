// SPDX-License-Identifier: GPL-2.0
/* io_uring: SEND and RECV of bundles - several provided buffers by one attempt and one CQE */

/*
 * The CQE tells how many bytes were moved, and of the first buffer; the program finds the
 * others in the order in which it has provided them.
 *
 * A SEND takes all buffers that there are, up to sqe->len bytes if that is not 0, and
 * sends them as one.  If others are behind these it goes on with all of them and says
 * IORING_CQE_F_MORE.  So it is issued as a multishot request (submit/multishot.c), which ends
 * when its group is empty.  A stream that takes only a part keeps what it has picked until the
 * rest is sent, so that nothing else gets between.
 *
 * A RECV picks as many buffers as it expects bytes.  TCP knows how many there are before
 * it is asked to hand them over; of others a guess has to do.  If the guess was too low and the
 * socket says that there is more, that is received too, and told by the same CQE.
 *
 * Workers, who do not hold the ring lock, move one buffer.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "complete/complete.h"
#include "op/net.h"

/* buffers that a RECV picks when it does not know how much there is */
#define IO_RECV_GUESS	64
/* attempts that one RECV makes for one CQE */
#define IO_RECV_ROUNDS	4

static void io_bundle_iter(const struct io_bundle *bundle, int ddir, struct iov_iter *iter)
{
	if (likely(bundle->nr_segs == 1))
		iov_iter_ubuf(iter, ddir, bundle->segs[0].iov_base, bundle->len);
	else
		iov_iter_init(iter, ddir, bundle->segs, bundle->nr_segs, bundle->len);
}

/*
 * A stream has sent a part: keep the segments for the rest.  Return: false without memory, or if
 * the rest is not waited for, and its buffers are better left to the group.
 */
static noinline bool io_send_keep(struct io_kiocb *req, const struct io_bundle *bundle)
{
	struct io_net *net = io_net(req);
	struct io_net_async *async;

	/* one that has a long address is no stream */
	if (req->flags & REQ_F_ASYNC_DATA || net->msg_flags & MSG_DONTWAIT)
		return false;
	async = io_net_async_alloc(req, bundle->nr_segs);
	if (!async)
		return false;
	memcpy(async->iov, bundle->segs, flex_array_size(async, iov, bundle->nr_segs));
	/* io_send_to_name() reads it here from now on */
	memcpy(&async->name, net->name, net->name_len);
	net->len = bundle->len;
	io_bundle_take(req, bundle);
	return true;
}

/* All was sent, or a part that is all there will be.  Return: what becomes of the request. */
static enum io_result io_send_bundle_tell(struct io_kiocb *req, const struct io_bundle *bundle,
					  int ret)
{
	bool all = ret == bundle->len;
	u32 cflags = all ? io_bundle_sent(req, bundle) : io_bundle_used(req, bundle, ret);

	if (unlikely(ret && all && io_bundle_more(req) && io_post_more(req, ret, cflags))) {
		/* sqe->len was for the first CQE */
		req->picked.max = 0;
		return IO_MORE;
	}
	req->cqe.flags = cflags;
	return io_done(req, ret);
}

/**
 * io_send_bundle - send the buffers that a group has
 * @req: a SEND without a buffer; ring lock held
 * @sock: its socket
 * @issue_flags: IO_URING_F_*
 *
 * Return: what becomes of the request.
 */
enum io_result io_send_bundle(struct io_kiocb *req, struct socket *sock, unsigned int issue_flags)
{
	u32 most = req->picked.max ?: MAX_RW_COUNT;
	struct io_bundle *bundle = io_bundle_pick(req, IO_BUNDLE_MAX, most, most);
	struct msghdr msg __uninitialized;
	int ret;

	if (IS_ERR(bundle))
		return io_done(req, PTR_ERR(bundle));
	io_send_msg_init(req, &msg, issue_flags);
	io_bundle_iter(bundle, ITER_SOURCE, &msg.msg_iter);
	ret = io_send_msg(req, sock, &msg);
	if (likely(ret == bundle->len))
		return io_send_bundle_tell(req, bundle, ret);
	req->cqe.flags = 0;
	if (ret < 0)
		return io_net_incomplete(req, sock, ret, 0, issue_flags);
	if (!io_send_keep(req, bundle)) {
		/* a part is all that there will be */
		req->flags |= REQ_F_FAIL;
		return io_send_bundle_tell(req, bundle, ret);
	}
	return io_net_picked_end(req, io_net_incomplete(req, sock, ret, 0, issue_flags),
				 issue_flags);
}

/* How many bytes may there be?  0: it is not known. */
static u32 io_recv_expected(const struct sock *sk)
{
	const struct tcp_sock *tp;

	if (!sk_is_tcp(sk))
		return 0;
	tp = tcp_sk(sk);
	/* no more than a hint: it is not locked, and urgent data counts */
	return max_t(int, READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq), 1);
}

/**
 * struct io_recv_sum - what the attempts of a RECV have come to
 * @moved: bytes
 * @cflags: of the buffers that have them
 */
struct io_recv_sum {
	u32	moved;
	u32	cflags;
};

/* Pick what the next attempt may need.  @expected: bytes that there are, 0 if it is not known. */
static struct io_bundle *io_recv_pick(struct io_kiocb *req, u32 moved, u32 expected)
{
	u32 most = (req->picked.max ?: MAX_RW_COUNT) - moved;

	/* what is asked for as a whole needs room for all of it */
	if (expected && !(io_net(req)->msg_flags & MSG_WAITALL))
		return io_bundle_pick(req, IO_BUNDLE_MAX, expected, most);
	return io_bundle_pick(req, req->picked.max ? IO_BUNDLE_MAX : IO_RECV_GUESS, most, most);
}

/*
 * One attempt, which adds to *@sum.  Return: as sock_recvmsg(), or why there was none; 0 as well
 * if it has not filled all that was picked for it, or is the only one for its CQE.
 */
static int io_recv_round(struct io_kiocb *req, struct socket *sock, struct msghdr *msg,
			 struct io_recv_sum *sum, u32 expected, unsigned int issue_flags)
{
	struct io_bundle *bundle = io_recv_pick(req, sum->moved, expected);
	u32 cflags;
	int ret;

	if (IS_ERR(bundle))
		return PTR_ERR(bundle);
	io_recv_msg_init(msg);
	io_bundle_iter(bundle, ITER_DEST, &msg->msg_iter);
	ret = sock_recvmsg(sock, msg, io_net_flags(io_net(req), issue_flags));
	if (unlikely(ret <= 0))
		return ret;
	cflags = io_bundle_used(req, bundle, min_t(u32, ret, bundle->len));
	/* of the first buffer, and whether the last one is used again */
	if (sum->moved)
		cflags = (sum->cflags & ~IORING_CQE_F_BUF_MORE) | (cflags & IORING_CQE_F_BUF_MORE);
	sum->cflags = cflags;
	sum->moved += ret;
	return ret < bundle->len || bundle->single ? 0 : ret;
}

/* Is there more for the same CQE?  Only where the next attempt has no error to tell. */
static bool io_recv_goes_on(const struct io_kiocb *req, const struct io_net *net,
			    const struct msghdr *msg, u32 moved)
{
	return msg->msg_inq > 0 && !req->picked.max && moved < MAX_RW_COUNT &&
	       !(net->msg_flags & MSG_PEEK);
}

/* The attempts of a single RECV have moved something. */
static enum io_result io_recv_bundle_end(struct io_kiocb *req, const struct msghdr *msg,
					 const struct io_recv_sum *sum)
{
	struct io_net *net = io_net(req);

	req->cqe.flags = sum->cflags;
	if (msg->msg_inq > 0)
		req->cqe.flags |= IORING_CQE_F_SOCK_NONEMPTY;
	if ((net->msg_flags & MSG_WAITALL && sum->moved < net->len) ||
	    msg->msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		req->flags |= REQ_F_FAIL;
	return io_done(req, sum->moved);
}

/**
 * io_recv_bundle - receive into the buffers that a group has
 * @req: a RECV without a buffer; ring lock held
 * @sock: its socket
 * @issue_flags: IO_URING_F_*
 *
 * Return: what becomes of the request.
 */
enum io_result io_recv_bundle(struct io_kiocb *req, struct socket *sock, unsigned int issue_flags)
{
	u32 expected = io_recv_expected(sock->sk);
	struct msghdr msg = { .msg_inq = -1 };
	int ret, rounds = IO_RECV_ROUNDS;
	struct io_net *net = io_net(req);
	struct io_recv_sum sum = {};

	do {
		ret = io_recv_round(req, sock, &msg, &sum, expected, issue_flags);
		expected = max(msg.msg_inq, 0);
	} while (ret > 0 && io_recv_goes_on(req, net, &msg, sum.moved) && --rounds);

	if (!sum.moved && io_net_waits(net, ret, issue_flags))
		return IO_AGAIN;
	if (net->how & IORING_RECV_MULTISHOT)
		return io_recv_multishot_post(req, &msg, sum.moved ?: ret, sum.cflags, issue_flags);
	if (likely(sum.moved))
		return io_recv_bundle_end(req, &msg, &sum);
	return io_net_received(req, sock, &msg, ret, issue_flags);
}
