// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_OP_RECV_ZC - receive into the memory of a queue */

/*
 * A RECV_ZC is a multishot request of a TCP socket, see submit/multishot.c.  Each piece of data
 * gets a CQE with IORING_CQE_F_MORE, whose second half has the offset of the data in the areas of
 * the queue (rsrc/zcrx.c).  Data that the device of the queue has written is there.  Other data is
 * copied to a free chunk.  It stays in the socket until it has a chunk and a CQE: if no chunk is
 * free the request ends with -ENOMEM.  If the CQ is full the request tries again in further runs
 * of task work.  It ends with -ENOSPC if the program reaps nothing between many of them.
 *
 * sqe->len limits the bytes of all pieces.  Once they are received, the request ends with 0.
 *
 * An attempt receives a limited number of pieces.  More data is received by further attempts, so
 * that a fast sender does not keep other requests from running.
 */
#include <linux/highmem.h>
#include <linux/security.h>
#include <net/rps.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "complete/complete.h"
#include "op/net/net.h"
#include "rsrc/zcrx.h"

/* pieces that an attempt receives */
#define IO_ZC_PIECES	16
/* attempts that find the CQ full before the program has reaped CQEs */
#define IO_ZC_TRIES	16

/**
 * struct io_zc_attempt - an attempt of a RECV_ZC
 * @req: the request
 * @nr: number of received pieces
 * @copies: number of socket buffers of which pieces were copied
 * @copied: bytes that were copied
 * @err: why no more pieces can be received: a negative errno or 0
 */
struct io_zc_attempt {
	struct io_kiocb	*req;
	unsigned int	nr;
	unsigned int	copies;
	size_t		copied;
	int		err;
};

static int io_recv_zc_prep(struct io_kiocb *req, const struct io_uring_sqe *sqe)
{
	struct io_net *net = io_net(req);

	if (READ_ONCE(sqe->addr) || READ_ONCE(sqe->addr2) || READ_ONCE(sqe->addr3) ||
	    READ_ONCE(sqe->msg_flags))
		return -EINVAL;
	net->how = READ_ONCE(sqe->ioprio);
	if ((net->how & ~IORING_RECVSEND_POLL_FIRST) != IORING_RECV_MULTISHOT)
		return -EINVAL;
	net->msg_flags = 0;
	net->addr = 0;
	net->done = 0;
	net->len = READ_ONCE(sqe->len);
	net->zcrx = io_zcrx_find(req->ctx, READ_ONCE(sqe->zcrx_ifq_idx));
	if (!net->zcrx)
		return -EINVAL;
	if (net->len)
		net->how |= IO_NET_LIMITED;
	req->flags |= REQ_F_MULTISHOT;
	/* issue it inline: only the submitter posts its CQEs, and it does not block */
	req->flags &= ~REQ_F_FORCE_ASYNC;
	return 0;
}

/**
 * struct io_zc_place - a byte of a socket buffer, and the bytes that follow it in memory
 * @skb: the socket buffer, or one in its list; NULL if no byte was looked for
 * @frag: the fragment with the byte, or NULL for a byte in the head of @skb
 * @offset: offset of the byte in @frag, or else in the head
 * @left: number of bytes up to the end of the fragment or head
 */
struct io_zc_place {
	const struct sk_buff	*skb;
	const skb_frag_t	*frag;
	unsigned int		offset;
	unsigned int		left;
};

/* Find the byte at @offset of a socket buffer.  ->left stays 0 if there is none. */
static void io_recv_zc_find(const struct sk_buff *skb, unsigned int offset,
			    struct io_zc_place *place)
{
	unsigned int size = skb_headlen(skb), i;
	const struct sk_buff *next;

	*place = (struct io_zc_place){ .skb = skb, .offset = offset };
	if (offset < size) {
		place->left = size - offset;
		return;
	}
	offset -= size;
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		size = skb_frag_size(&skb_shinfo(skb)->frags[i]);
		if (offset < size) {
			place->frag = &skb_shinfo(skb)->frags[i];
			place->offset = offset;
			place->left = size - offset;
			return;
		}
		offset -= size;
	}
	skb_walk_frags(skb, next) {
		if (offset < next->len) {
			io_recv_zc_find(next, offset, place);
			return;
		}
		offset -= next->len;
	}
}

/*
 * Go to the byte at @offset of @skb, which follows the last byte of @place.  A long list of socket
 * buffers is not searched from its start for each of them.
 */
static void io_recv_zc_step(const struct sk_buff *skb, unsigned int offset,
			    struct io_zc_place *place)
{
	const struct sk_buff *at = place->skb;
	const skb_frag_t *frag, *end;

	if (at) {
		frag = place->frag ? place->frag + 1 : skb_shinfo(at)->frags;
		end = skb_shinfo(at)->frags + skb_shinfo(at)->nr_frags;
		if (frag < end && skb_frag_size(frag)) {
			place->frag = frag;
			place->offset = 0;
			place->left = skb_frag_size(frag);
			return;
		}
		if (frag == end && at != skb && at->next && at->next->len &&
		    !skb_has_frag_list(at)) {
			io_recv_zc_find(at->next, 0, place);
			return;
		}
	}
	io_recv_zc_find(skb, offset, place);
}

/*
 * Copy up to @len bytes from @place to offset @at of a chunk.  The bytes are in one page of the
 * chunk, and in one page of a fragment.
 *
 * Return: the number of bytes; -EFAULT for memory that the CPU may not read, or for no data.
 */
static int io_recv_zc_copy_part(struct page *chunk, unsigned int at, unsigned int len,
				const struct io_zc_place *place)
{
	struct page *to = pfn_to_page(page_to_pfn(chunk) + (at >> PAGE_SHIFT)), *from;
	unsigned int pos = place->offset;

	len = min3(len, place->left, PAGE_SIZE - offset_in_page(at));
	if (unlikely(!len))
		return -EFAULT;
	if (!place->frag) {
		memcpy_to_page(to, offset_in_page(at), place->skb->data + pos, len);
		return len;
	}
	if (unlikely(!skb_frags_readable(place->skb)))
		return -EFAULT;
	pos += skb_frag_off(place->frag);
	from = pfn_to_page(page_to_pfn(skb_frag_page(place->frag)) + (pos >> PAGE_SHIFT));
	len = min(len, PAGE_SIZE - offset_in_page(pos));
	memcpy_page(to, offset_in_page(at), from, offset_in_page(pos), len);
	flush_dcache_page(to);
	return len;
}

/*
 * Copy up to @len bytes at @offset of a socket buffer to a free chunk.  @place is the place of the
 * first byte.  The copy ends at memory that the CPU may not read.
 *
 * Return: the number of bytes, or a negative errno; then the chunk is free again.
 */
static int io_recv_zc_copy(struct io_zcrx *zcrx, struct io_zcrx_piece *piece,
			   const struct sk_buff *skb, unsigned int offset, unsigned int len,
			   struct io_zc_place *place)
{
	unsigned int done = 0;
	int ret;

	if (!io_zcrx_take(zcrx, piece))
		return -ENOMEM;
	while (1) {
		ret = io_recv_zc_copy_part(piece->page, done, len - done, place);
		if (unlikely(ret < 0))
			break;
		done += ret;
		place->offset += ret;
		place->left -= ret;
		if (done == len)
			return done;
		if (!place->left)
			io_recv_zc_step(skb, offset + done, place);
	}
	if (done)
		return done;
	io_zcrx_return(zcrx, piece);
	return ret;
}

/*
 * Receive up to @len bytes as one piece, and post its CQE.  @place is the place of the first byte,
 * and then that of the next one.
 * Return: the number of bytes, or a negative errno; then nothing was received.
 */
static int io_recv_zc_piece(struct io_zc_attempt *attempt, const struct sk_buff *skb,
			    unsigned int offset, unsigned int len, struct io_zc_place *place)
{
	struct io_kiocb *req = attempt->req;
	struct io_zcrx *zcrx = io_net(req)->zcrx;
	struct io_zcrx_piece piece;
	unsigned int copied = 0;
	int ret;

	/* do not take data that cannot be reported */
	if (io_cq_is_full(req->ctx))
		return -ENOSPC;
	if (!place->left)
		io_recv_zc_step(skb, offset, place);
	if (zcrx->device && place->frag && io_zcrx_device_hold(zcrx, place->frag, &piece)) {
		piece.offset += place->offset;
		ret = min(len, place->left);
		place->offset += ret;
		place->left -= ret;
	} else {
		ret = io_recv_zc_copy(zcrx, &piece, skb, offset, min(len, 1U << zcrx->shift),
				      place);
		if (unlikely(ret < 0))
			return ret;
		copied = ret;
	}
	if (unlikely(!io_post_more_large(req, ret, 0, (u64 []){ piece.offset, 0 }))) {
		io_zcrx_return(zcrx, &piece);
		return -ENOSPC;
	}
	attempt->copied += copied;
	return ret;
}

/* Return: the most bytes of the next piece, at most @len; 0 if there is none. */
static unsigned int io_recv_zc_next(const struct io_zc_attempt *attempt, size_t len)
{
	const struct io_net *net = io_net(attempt->req);

	if (attempt->err || attempt->nr == IO_ZC_PIECES)
		return 0;
	return net->how & IO_NET_LIMITED ? min(len, net->len) : len;
}

/* Receive @len bytes of a socket buffer, as far as possible.  Return: number of received bytes. */
static int io_recv_zc_skb(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset,
			  size_t len)
{
	struct io_zc_attempt *attempt = desc->arg.data;
	struct io_net *net = io_net(attempt->req);
	size_t copied = attempt->copied;
	struct io_zc_place place = { .skb = NULL };
	unsigned int done = 0, most;
	int ret;

	while ((most = io_recv_zc_next(attempt, len - done))) {
		ret = io_recv_zc_piece(attempt, skb, offset + done, most, &place);
		if (ret < 0) {
			attempt->err = ret;
			break;
		}
		done += ret;
		attempt->nr++;
		if (net->how & IO_NET_LIMITED)
			net->len -= ret;
	}
	attempt->copies += attempt->copied != copied;
	/* do not look at the next buffer if no piece may follow */
	desc->count = io_recv_zc_next(attempt, 1);
	return done;
}

/* Return: true if the limit of the request is reached. */
static bool io_recv_zc_reached(const struct io_net *net)
{
	return net->how & IO_NET_LIMITED && !net->len;
}

/*
 * Handle a full CQ.  Other requests may fill it again and again before this one gets its turn, so
 * count only attempts between which the program has reaped nothing.  The program may wait for more
 * CQEs than there is room for, so do not try forever.
 * Return: the result for ->issue().
 */
static enum io_result io_recv_zc_full(struct io_kiocb *req)
{
	u32 head = READ_ONCE(req->ctx->rings->cq_head);
	struct io_net *net = io_net(req);

	if (head != net->addr) {
		net->addr = head;
		net->done = 0;
	} else if (net->done++ == IO_ZC_TRIES) {
		return io_done(req, -ENOSPC);
	}
	return IO_MORE_LATER;
}

/* Handle a socket without data; its lock is held.  Return: the result for ->issue(). */
static enum io_result io_recv_zc_empty(struct io_kiocb *req, struct sock *sk)
{
	int ret = 0;

	if (!sock_flag(sk, SOCK_DONE) && sk->sk_err)
		ret = sock_error(sk);
	else if (!sock_flag(sk, SOCK_DONE) && !(sk->sk_shutdown & RCV_SHUTDOWN))
		ret = sk->sk_state == TCP_CLOSE ? -ENOTCONN : -EAGAIN;
	if (ret == -EAGAIN)
		return IO_AGAIN;
	/* the end of a stream breaks a chain, as on 7.3 */
	req->flags |= REQ_F_FAIL;
	return io_done(req, ret);
}

/* Attempt a receive; the lock of the socket is held.  Return: the result for ->issue(). */
static enum io_result io_recv_zc_attempt(struct io_kiocb *req, struct sock *sk,
					 struct io_zc_attempt *attempt)
{
	read_descriptor_t desc = { .arg.data = attempt, .count = 1 };
	int ret;

	/* a protocol on top of TCP may have its own receive queue, or encrypted data */
	if (sk->sk_prot->recvmsg != tcp_recvmsg)
		return io_done(req, -EPROTONOSUPPORT);
	ret = tcp_read_sock(sk, &desc, io_recv_zc_skb);
	if (io_recv_zc_reached(io_net(req)))
		return io_done(req, 0);
	if (attempt->err == -ENOSPC)
		return io_recv_zc_full(req);
	if (attempt->err)
		return io_done(req, attempt->err);
	if (ret < 0)
		return io_done(req, ret);
	if (attempt->nr == IO_ZC_PIECES)
		return IO_MORE;
	return io_recv_zc_empty(req, sk);
}

static enum io_result io_recv_zc_issue(struct io_kiocb *req, unsigned int issue_flags)
{
	struct io_zc_attempt attempt = { .req = req };
	struct msghdr msg = {};
	enum io_result result;
	struct socket *sock;
	int ret;

	/*
	 * A worker must not post the CQEs.  It gets a request that cannot wait: the socket stays
	 * ready, but has only urgent data, or there is no memory for a poll.
	 */
	if (unlikely(issue_flags & IO_URING_F_IOWQ))
		return io_done(req, -EAGAIN);
	sock = io_net_begin(req, issue_flags, &result);
	if (unlikely(!sock))
		return result;
	/* tcp_read_sock() does not ask, as sock_recvmsg() does */
	ret = security_socket_recvmsg(sock, &msg, INT_MAX, MSG_DONTWAIT);
	if (unlikely(ret))
		return io_done(req, ret);
	sock_rps_record_flow(sock->sk);
	lock_sock(sock->sk);
	result = io_recv_zc_attempt(req, sock->sk, &attempt);
	release_sock(sock->sk);
	if (attempt.copies)
		io_zcrx_copied(req->ctx, io_net(req)->zcrx, attempt.copies,
			       attempt.copied);
	return result;
}

const struct io_op io_op_recv_zc = {
	.needs_file		= 1,
	.ioprio			= 1,
	.audit_skip		= 1,
	.poll_in		= 1,
	.borrows_file		= 1,
	.prep			= io_recv_zc_prep,
	.issue			= io_recv_zc_issue,
};
