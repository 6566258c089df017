// SPDX-License-Identifier: GPL-2.0
/* io_uring: SEND and RECV of bundles - several provided buffers for one CQE */

/*
 * The CQE has the number of bytes and the number of the first buffer.  The other buffers follow in
 * the order in which the program has provided them.
 *
 * A SEND selects all buffers of its group, up to IO_BUNDLE_MAX, for one call of sock_sendmsg().  If
 * sqe->len is not 0, it limits the bytes of the first CQE.  If the group has more buffers, the CQE
 * gets IORING_CQE_F_MORE and the request is issued again, as a multishot request is (see
 * submit/multishot.c), until its group is empty.  If a stream socket sends only a part, the
 * request keeps its buffers, and ends after it has sent the rest.
 *
 * A RECV selects buffers for the bytes that it expects.  TCP reports how many bytes are queued.
 * For other protocols the limit is sqe->len or, if that is 0, IO_RECV_GUESS buffers.  If the
 * buffers were too few and the socket reports more bytes, another attempt receives more bytes
 * for the same CQE, unless sqe->len or sqe->optlen limits the request.  With MSG_WAITALL, a RECV
 * of one buffer waits until the buffer is full.  A RECV of several buffers ends with the data that
 * is there, as on 6.12: other requests may use the buffers that it has not used.
 *
 * A worker does not hold the ring lock, so it uses only one buffer.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "complete/complete.h"
#include "op/net/net.h"

/* maximum number of buffers that a RECV selects if the number of queued bytes is not known */
#define IO_RECV_GUESS	64
/* maximum number of attempts that a RECV makes for one CQE */
#define IO_RECV_ROUNDS	4

static void io_bundle_iter(const struct io_bundle *bundle, int ddir, struct iov_iter *iter)
{
	if (likely(bundle->nr_segs == 1))
		iov_iter_ubuf(iter, ddir, bundle->segs[0].iov_base, bundle->len);
	else
		iov_iter_init(iter, ddir, bundle->segs, bundle->nr_segs, bundle->len);
}

/*
 * Copy the segments of a partly sent bundle to the request.  Return: true; false if the request
 * must not wait or there is no memory.  After false the caller leaves the rest in the group.
 */
static noinline bool io_send_keep(struct io_kiocb *req, const struct io_bundle *bundle)
{
	struct io_net *net = io_net(req);
	struct io_net_async *async;

	/* with REQ_F_ASYNC_DATA the address is too long for a stream socket */
	if (req->flags & REQ_F_ASYNC_DATA || net->msg_flags & MSG_DONTWAIT)
		return false;
	async = io_net_async_alloc(req, bundle->nr_segs);
	if (!async)
		return false;
	memcpy(async->iov, bundle->segs, flex_array_size(async, iov, bundle->nr_segs));
	/* with REQ_F_ASYNC_DATA, io_send_to_name() reads the address from async->name */
	memcpy(&async->name, net->name, net->name_len);
	net->len = bundle->len;
	io_bundle_take(req, bundle);
	return true;
}

/* Report a sent bundle, or a part that ends the request.  Return: the result for ->issue(). */
static enum io_result io_send_bundle_tell(struct io_kiocb *req, const struct io_bundle *bundle,
					  int ret)
{
	bool all = ret == bundle->len;
	u32 cflags = all ? io_bundle_sent(req, bundle) : io_bundle_used(req, bundle, ret);

	if (unlikely(ret && all && io_bundle_more(req) && io_post_more(req, ret, cflags))) {
		/* sqe->len limits the first CQE only */
		req->picked.max = 0;
		return IO_MORE;
	}
	req->cqe.flags = cflags;
	return io_done(req, ret);
}

/**
 * io_send_bundle - send the buffers of a group
 * @req: a SEND that has selected no buffer
 * @sock: its socket
 * @issue_flags: IO_URING_F_*
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: the result for ->issue().
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
		/* the request ends with this part, which breaks its chain */
		req->flags |= REQ_F_FAIL;
		return io_send_bundle_tell(req, bundle, ret);
	}
	return io_net_picked_end(req, io_net_incomplete(req, sock, ret, 0, issue_flags),
				 issue_flags);
}

/* Return: an estimate of the bytes that a socket has queued, 0 if the number is not known. */
static u32 io_recv_expected(const struct sock *sk)
{
	const struct tcp_sock *tp;

	if (!sk_is_tcp(sk))
		return 0;
	tp = tcp_sk(sk);
	/* only a hint: the socket is not locked, and urgent data is included */
	return max_t(int, READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq), 1);
}

/**
 * struct io_recv_sum - the result of all attempts of a RECV for one CQE
 * @moved: number of received bytes
 * @room: bytes that MSG_WAITALL asks for
 * @cflags: CQE flags of the buffers that have these bytes
 */
struct io_recv_sum {
	u32	moved;
	u32	room;
	u32	cflags;
};

/* Return: the most bytes for one CQE, from sqe->len and from what is left of sqe->optlen. */
static u32 io_recv_most(struct io_kiocb *req)
{
	const struct io_net *net = io_net(req);
	u32 most = req->picked.max ?: MAX_RW_COUNT;

	if (unlikely(net->how & IORING_RECV_MULTISHOT && net->total))
		return min(most, net->total);
	return most;
}

/*
 * Select buffers for the next attempt.  @expected: number of queued bytes, 0 if not known.
 *
 * MSG_WAITALL needs room for all bytes of sqe->len, not only for those that are queued.  Without a
 * length the RECV waits until it has filled one buffer, as on 6.12.
 */
static struct io_bundle *io_recv_pick(struct io_kiocb *req, u32 moved, u32 expected)
{
	bool all = io_net(req)->msg_flags & MSG_WAITALL;
	u32 most = io_recv_most(req) - moved;

	if (expected && !(all && req->picked.max))
		return io_bundle_pick(req, IO_BUNDLE_MAX, expected, most);
	if (req->picked.max)
		return io_bundle_pick(req, IO_BUNDLE_MAX, most, most);
	return io_bundle_pick(req, all ? 1 : IO_RECV_GUESS, most, most);
}

/* Return: true if a RECV has to fill its only buffer, a part of which is filled from a stream. */
static bool io_recv_fills(struct io_kiocb *req, const struct socket *sock,
			  const struct io_bundle *bundle, const struct io_recv_sum *sum, int ret)
{
	return io_net(req)->msg_flags & MSG_WAITALL && bundle->nr == 1 && ret < bundle->len &&
	       !sum->moved && (sock->type == SOCK_STREAM || sock->type == SOCK_SEQPACKET) &&
	       !io_group_find(req->ctx, req->buf_index)->inc;
}

/*
 * Make one attempt, and add its result to *@sum.  Return: as sock_recvmsg(); a negative errno if
 * no buffer is found; 0 also if no other attempt may follow for the same CQE, because the attempt
 * has not filled its buffers or the group is not a ring of buffers.  If the request has to wait for
 * the rest of its only buffer, the buffer belongs to the request afterwards.
 */
static int io_recv_round(struct io_kiocb *req, struct socket *sock, struct msghdr *msg,
			 struct io_recv_sum *sum, u32 expected, unsigned int issue_flags)
{
	struct io_bundle *bundle = io_recv_pick(req, sum->moved, expected);
	bool guessed;
	u32 cflags;
	int ret;

	if (IS_ERR(bundle))
		return PTR_ERR(bundle);
	io_recv_msg_init(msg);
	io_bundle_iter(bundle, ITER_DEST, &msg->msg_iter);
	ret = sock_recvmsg(sock, msg, io_net_flags(io_net(req), issue_flags));
	if (unlikely(ret <= 0))
		return ret;
	if (unlikely(io_recv_fills(req, sock, bundle, sum, ret))) {
		io_net(req)->addr = (uintptr_t)bundle->segs[0].iov_base;
		io_net(req)->len = bundle->len;
		io_bundle_take(req, bundle);
		sum->moved = ret;
		return 0;
	}
	/*
	 * Without a length, several buffers are to hold the bytes that were queued.  How many that
	 * was is a hint, so a RECV that did not fill these buffers breaks no chain.
	 */
	guessed = expected && !req->picked.max && (bundle->nr > 1 || sum->moved);
	sum->room += guessed ? ret : bundle->len;
	cflags = io_bundle_used(req, bundle, min_t(u32, ret, bundle->len));
	/* the buffer number is that of the first buffer, F_BUF_MORE is that of the last buffer */
	if (sum->moved)
		cflags = (sum->cflags & ~IORING_CQE_F_BUF_MORE) | (cflags & IORING_CQE_F_BUF_MORE);
	sum->cflags = cflags;
	sum->moved += ret;
	return ret < bundle->len || bundle->single ? 0 : ret;
}

/*
 * Return: true if another attempt may add bytes to the same CQE.  The socket must report more
 * bytes, because an error of that attempt could not be reported.
 */
static bool io_recv_goes_on(struct io_kiocb *req, const struct msghdr *msg, u32 moved)
{
	return msg->msg_inq > 0 && io_recv_most(req) == MAX_RW_COUNT && moved < MAX_RW_COUNT &&
	       !(io_net(req)->msg_flags & MSG_PEEK);
}

/* Complete a single-shot RECV that has received data. */
static enum io_result io_recv_bundle_end(struct io_kiocb *req, const struct msghdr *msg,
					 const struct io_recv_sum *sum)
{
	req->cqe.flags = sum->cflags;
	if (msg->msg_inq > 0)
		req->cqe.flags |= IORING_CQE_F_SOCK_NONEMPTY;
	/* a datagram that is cut off breaks the chain of a bundle with MSG_WAITALL alone */
	if (io_net(req)->msg_flags & MSG_WAITALL &&
	    (sum->moved < sum->room || msg->msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		req->flags |= REQ_F_FAIL;
	return io_done(req, sum->moved);
}

/**
 * io_recv_bundle - receive into the buffers of a group
 * @req: a RECV that has selected no buffer
 * @sock: its socket
 * @issue_flags: IO_URING_F_*
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: the result for ->issue().
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
	} while (ret > 0 && io_recv_goes_on(req, &msg, sum.moved) && --rounds);

	if (!sum.moved && io_net_waits(net, ret, issue_flags))
		return IO_AGAIN;
	if (unlikely(req->flags & REQ_F_PICKED)) {
		enum io_result result = io_net_received(req, sock, &msg, sum.moved, issue_flags);

		return io_net_picked_end(req, result, issue_flags);
	}
	if (net->how & IORING_RECV_MULTISHOT)
		return io_recv_multishot_post(req, &msg, sum.moved ?: ret, sum.cflags, issue_flags);
	if (likely(sum.moved))
		return io_recv_bundle_end(req, &msg, &sum);
	return io_net_received(req, sock, &msg, ret, issue_flags);
}
