// SPDX-License-Identifier: GPL-2.0
/* io_uring: bundles - several provided buffers for one transfer */

/*
 * A bundle is the first buffers of a group, in their order, as many as a transfer may need.
 * They are lent in the sense of Documentation/io_uring/buffers.rst: the group has them
 * until the transfer has said how much it has moved, under the same hold of the ring lock.  So
 * one bundle a ring is enough, and its memory is kept for the next.
 *
 * Each descriptor is read once, when the bundle is made.  Buffers that lie one behind the
 * other in memory become one segment, so that the transfer of a row of small buffers costs
 * what that of a large one costs.
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
 * Take at most @nr buffers, until they have room for @want bytes.  None is cut for the sake
 * of @most but the first that has any.  A bad address ends it, as a fault ends a copy.
 *
 * Bundles of small buffers spend most of their time here: what the loop needs is in registers,
 * and a segment's length is known when the next one begins.
 */
static void io_bundle_fill(struct io_bundle *bundle, struct io_buf_group *group, u32 nr,
			   u32 want, u32 most)
{
	const struct io_uring_buf *slot = io_group_slot(group, group->head);
	const struct io_uring_buf *wrap = group->bufs + group->size;
	struct io_uring_buf *buf = bundle->bufs, *end = buf + nr;
	struct iovec *seg = bundle->segs;
	u32 left = most, enough = most - min(want, most);
	u64 behind = U64_MAX, base = 0;

	seg->iov_base = NULL;
	for (; buf != end && left > enough; buf++) {
		u64 addr = READ_ONCE(slot->addr);
		u32 len = READ_ONCE(slot->len);

		buf->addr = addr;
		buf->len = len;
		buf->bid = READ_ONCE(slot->bid);
		if (unlikely(len > left)) {
			if (left != most)
				break;
			len = left;
		}
		if (unlikely(!access_ok(u64_to_user_ptr(addr), len)))
			break;
		/* no user memory begins at the last address: so it is with the first buffer */
		if (addr != behind) {
			if (buf != bundle->bufs)
				(seg++)->iov_len = behind - base;
			seg->iov_base = u64_to_user_ptr(addr);
			base = addr;
		}
		behind = addr + len;
		left -= len;
		if (unlikely(++slot == wrap))
			slot = group->bufs;
	}
	seg->iov_len = behind - base;
	bundle->nr = buf - bundle->bufs;
	bundle->nr_segs = seg - bundle->segs + 1;
	bundle->len = most - left;
}

/**
 * io_bundle_pick - pick the buffers that a transfer is to use
 * @req: has REQ_F_BUFFER_SELECT and no buffer; ring lock held
 * @nr: at most so many; one, of a group that is no ring: its order is not the program's
 * @want: no more than are needed for so many bytes
 * @most: bytes that the transfer may move; whole buffers, but for the first
 *
 * Return: the bundle, valid until the lock is released or the next one is picked; -ENOBUFS
 * without a buffer or a group, -EFAULT for the address of the first one, -ENOMEM.
 */
struct io_bundle *io_bundle_pick(struct io_kiocb *req, u32 nr, u32 want, u32 most)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);
	struct io_bundle *bundle;

	io_assert_ring(req->ctx);
	if (unlikely(!group))
		return ERR_PTR(-ENOBUFS);
	nr = min3(nr, (u32)IO_BUNDLE_MAX, io_group_count(group));
	if (unlikely(!nr))
		return ERR_PTR(-ENOBUFS);
	bundle = io_bundle_of(req->ctx);
	if (unlikely(!bundle))
		return ERR_PTR(-ENOMEM);
	bundle->single = !group->ring;
	io_bundle_fill(bundle, group, group->ring ? nr : 1, want, most);
	return likely(bundle->nr) ? bundle : ERR_PTR(-EFAULT);
}

/**
 * io_bundle_used - a transfer is through with its bundle
 * @req: has picked it, in the same hold of the ring lock
 * @bundle: from io_bundle_pick()
 * @moved: bytes that it has moved
 *
 * The buffers that have some of them leave the group, the last one as io_buf_used() would
 * do it.
 *
 * Return: flags for the CQE with the result, which tell of the first buffer, and of the last
 * whether its group uses the rest of it.
 */
u32 io_bundle_used(struct io_kiocb *req, const struct io_bundle *bundle, u32 moved)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);
	const struct io_uring_buf *buf = bundle->bufs;
	const struct io_uring_buf *last = buf + bundle->nr - 1;

	io_assert_ring(req->ctx);
	if (likely(moved == bundle->len && last->len && last != buf)) {
		moved = last->len;
		buf = last;
	}
	for (; buf != last && moved > buf->len; buf++)
		moved -= buf->len;
	/* all before it are used up, whatever the kind of group */
	group->head += buf - bundle->bufs;
	group->seen = *buf;
	req->picked.bid = bundle->bufs[0].bid;
	req->picked.more = io_group_use(group, moved);
	return io_picked_cflags(req);
}

/**
 * io_bundle_take - a transfer has moved a part of a bundle, and will move the rest
 * @req: as for io_bundle_used()
 * @bundle: from io_bundle_pick()
 *
 * From here on the buffers are the request's, which has to copy the segments before the
 * ring lock is released.
 */
void io_bundle_take(struct io_kiocb *req, const struct io_bundle *bundle)
{
	req->cqe.flags = io_bundle_used(req, bundle, bundle->len);
	req->picked.taken = true;
	req->flags |= REQ_F_PICKED;
}
