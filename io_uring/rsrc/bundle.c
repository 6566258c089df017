// SPDX-License-Identifier: GPL-2.0
/* io_uring: bundles - several provided buffers for one transfer */

/*
 * A bundle consists of the first buffers of a group, in their order, as many as a transfer may
 * need.  The buffers stay in the group until io_bundle_used() is called with the number of
 * transferred bytes.  The ring lock is held from the selection to this call.  So one bundle per
 * ring is enough, and its memory is kept for the next transfer.
 *
 * The struct io_uring_buf of each buffer is read once, when the bundle is made.  Buffers adjacent
 * in memory become one segment, so that a copy of many small buffers has few segments to handle.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ring/locks.h"
#include "rsrc/groups.h"

static struct io_bundle *io_bundle_of(struct io_ring_ctx *ctx)
{
	if (unlikely(!ctx->groups.bundle))
		ctx->groups.bundle = kvmalloc(sizeof(*ctx->groups.bundle),
					      GFP_KERNEL_ACCOUNT);
	return ctx->groups.bundle;
}

/*
 * Shorten @seg, a part of which is not user memory, to the buffers before the first bad buffer.
 * [@len, @end) has the lengths of the segment's buffers.  Return: the end of the remaining lengths.
 */
static noinline u32 *io_bundle_shorten(struct iovec *seg, u32 *len, const u32 *end)
{
	seg->iov_len = 0;
	for (; len != end && access_ok(seg->iov_base + seg->iov_len, *len); len++)
		seg->iov_len += *len;
	return len;
}

/*
 * Fill the bundle with at most @nr buffers, until they have room for @want bytes.  Cut a buffer
 * that would exceed @most bytes if the group keeps the rest, or if no earlier buffer has any bytes;
 * leave out any other such buffer.  A bad address ends the bundle, as a fault ends a copy.
 *
 * Bundles of small buffers spend most of their time here, so the inner loop does little for each
 * buffer.  It compares the length with the bytes that are still wanted, and the address with the
 * end of the previous buffer.  Addresses are checked once per segment.  One comparison finds both
 * the end of the array and the last buffer.
 */
static void io_bundle_fill(struct io_bundle *bundle, struct io_buf_group *group, u32 nr,
			   u32 want, u32 most)
{
	const struct io_uring_buf *slot = io_group_slot(group, group->head);
	u32 *pos = bundle->lens, *end = pos + nr, *first;
	u32 *turn = pos + min_t(u32, nr, group->bufs + group->size - slot);
	u32 len, enough = min(want, most), left = enough;
	u64 behind, addr = READ_ONCE(slot->addr);
	struct iovec *seg = bundle->segs;

	bundle->bid = READ_ONCE(slot->bid);
	bundle->cut = 0;
	for (;; seg++) {
		seg->iov_base = u64_to_user_ptr(addr);
		behind = addr;
		first = pos;
		do {
			len = READ_ONCE(slot->len);
			*pos = len;
			if (len >= left)
				goto last;
			pos++;
			left -= len;
			behind += len;
			slot++;
			if (unlikely(pos == turn)) {
				if (pos == end)
					goto end;
				slot = group->bufs;
				turn = pos + min_t(u32, end - pos, group->size);
			}
			addr = READ_ONCE(slot->addr);
		} while (addr == behind);
		seg->iov_len = behind - (uintptr_t)seg->iov_base;
		if (unlikely(!access_ok(seg->iov_base, seg->iov_len)))
			goto bad;
	}
last:
	/* use more of this buffer than @want requires, if @most allows more */
	if (len - left <= most - enough || left == enough || group->inc) {
		len = min(len, left + (most - enough));
		bundle->cut = *pos - len;
		left -= len;
		behind += len;
		pos++;
	}
end:
	seg->iov_len = behind - (uintptr_t)seg->iov_base;
	if (unlikely(!access_ok(seg->iov_base, seg->iov_len))) {
bad:
		/* only the last buffer can be cut, and io_bundle_shorten() removes that buffer */
		bundle->cut = 0;
		left += seg->iov_len;
		pos = io_bundle_shorten(seg, first, pos);
		left -= seg->iov_len;
	}
	bundle->nr = pos - bundle->lens;
	bundle->nr_segs = seg - bundle->segs + (pos != first);
	bundle->len = enough - left;
}

/**
 * io_bundle_pick - select the buffers for a transfer
 * @req: has REQ_F_BUFFER_SELECT and no buffer; ring lock held
 * @nr: maximum number of buffers.  From a group that is not a ring of buffers only one buffer is
 *	selected, since the program does not know the order of the buffers
 * @want: bytes for which the buffers need room, if the group has enough buffers
 * @most: maximum number of bytes that the transfer may move
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: the bundle, valid until the lock is released or the next bundle is selected; -ENOENT
 * without a group, -ENOBUFS without a buffer, -EFAULT if the first buffer has a bad address, or
 * -ENOMEM.
 */
struct io_bundle *io_bundle_pick(struct io_kiocb *req, u32 nr, u32 want, u32 most)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);
	struct io_bundle *bundle;

	io_assert_ring(req->ctx);
	if (unlikely(!group))
		return ERR_PTR(-ENOENT);
	nr = min3(nr, (u32)IO_BUNDLE_MAX, io_group_count(group));
	if (unlikely(!nr))
		return ERR_PTR(-ENOBUFS);
	bundle = io_bundle_of(req->ctx);
	if (unlikely(!bundle))
		return ERR_PTR(-ENOMEM);
	bundle->single = !group->ring;
	io_group_limit_send(req, group);
	if (unlikely(!group->ring) && !req->picked.max) {
		want = MAX_RW_COUNT;
		most = want;
	}
	io_bundle_fill(bundle, group, group->ring ? nr : 1, want, most);
	return likely(bundle->nr) ? bundle : ERR_PTR(-EFAULT);
}

/* Return: address of the end of the first @moved bytes; @moved is not 0. */
static u64 io_bundle_behind(const struct io_bundle *bundle, u32 moved)
{
	const struct iovec *seg = bundle->segs;

	for (; moved > seg->iov_len; seg++)
		moved -= seg->iov_len;
	return (u64)(uintptr_t)seg->iov_base + moved;
}

/* Mark the first @nr buffers of an incremental group as used up, in their descriptors. */
static void io_bundle_empty(struct io_buf_group *group, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		WRITE_ONCE(io_group_slot(group, group->head + i)->len, 0);
}

/**
 * io_bundle_used - consume the buffers of a transfer
 * @req: has selected the bundle; the ring lock has been held since
 * @bundle: from io_bundle_pick()
 * @moved: bytes that the transfer has moved
 *
 * Remove the buffers that hold these bytes from the group.  An incremental group keeps the rest of
 * the last buffer, as after io_buf_used().
 *
 * Return: flags for the CQE with the result: the number of the first buffer, and
 * IORING_CQE_F_BUF_MORE if the group keeps the rest of the last buffer.
 */
u32 io_bundle_used(struct io_kiocb *req, const struct io_bundle *bundle, u32 moved)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);
	u32 last = bundle->nr - 1, used = moved, i = 0;
	/* bytes before the last buffer */
	u32 before = bundle->len - (bundle->lens[last] - bundle->cut);

	io_assert_ring(req->ctx);
	if (likely(moved > before)) {
		used -= before;
		i = last;
	}
	for (; i != last && used > bundle->lens[i]; i++)
		used -= bundle->lens[i];
	/* the buffers before number i are used up, also in an incremental group */
	if (group->inc) {
		io_bundle_empty(group, i);
		group->seen.addr = io_bundle_behind(bundle, moved) - used;
		group->seen.len = bundle->lens[i];
	}
	group->head += i;
	req->picked.bid = bundle->bid;
	req->picked.more = io_group_use(group, used);
	return io_picked_cflags(req);
}

/**
 * io_bundle_sent - consume a bundle that was sent as a whole
 * @req: as for io_bundle_used()
 * @bundle: from io_bundle_pick()
 *
 * Also consume buffers of length 0 at the end of the bundle, so that the next send does not send
 * these buffers again, as empty packets.
 *
 * Return: as io_bundle_used().
 */
u32 io_bundle_sent(struct io_kiocb *req, const struct io_bundle *bundle)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);
	u32 end = group->head + bundle->nr, cflags;

	cflags = io_bundle_used(req, bundle, bundle->len);
	if (!req->picked.more)
		group->head = end;
	return cflags;
}

/**
 * io_bundle_take - consume a bundle whose transfer has to continue
 * @req: as for io_bundle_used()
 * @bundle: from io_bundle_pick()
 *
 * The buffers belong to the request afterwards.  The caller has to copy the segments before it
 * releases the ring lock.
 */
void io_bundle_take(struct io_kiocb *req, const struct io_bundle *bundle)
{
	req->cqe.flags = io_bundle_sent(req, bundle);
	req->picked.taken = IO_TAKEN_BUFFER;
	req->flags |= REQ_F_PICKED;
}
