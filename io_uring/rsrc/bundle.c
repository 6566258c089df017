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
 * Not all of @seg, whose buffers have the lengths from @len up to @end, is user memory: leave
 * those before the first one that is not.  Return: behind the last one of them.
 */
static noinline u32 *io_bundle_shorten(struct iovec *seg, u32 *len, const u32 *end)
{
	seg->iov_len = 0;
	for (; len != end && access_ok(seg->iov_base + seg->iov_len, *len); len++)
		seg->iov_len += *len;
	return len;
}

/*
 * Take at most @nr buffers, until they have room for @want bytes.  For the sake of @most one is
 * cut if its group keeps the rest, or if it is the first that has any bytes; else it is left out.
 * A bad address ends it, as a fault ends a copy.
 *
 * Bundles of small buffers spend most of their time here.  So the inner loop does only what each
 * buffer needs: its length is read and kept, and compared with what is still wanted; its address
 * is read, and compared with the end of the one before.  Addresses are checked once a segment;
 * one comparison finds the end of the array as well as that of the buffers.
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
	/* the room that @most leaves for it, beyond what is wanted */
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
		/* nor is the one that is cut among those that remain */
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
 * io_bundle_pick - pick the buffers that a transfer is to use
 * @req: has REQ_F_BUFFER_SELECT and no buffer; ring lock held
 * @nr: limit of buffers; one, of a group that is no ring: its order is not the program's
 * @want: bytes to provide buffers for, no more than needed
 * @most: bytes that the transfer may move; whole buffers, but for the first
 *
 * Return: the bundle, valid until the lock is released or the next one is picked; -ENOENT
 * without a group, -ENOBUFS without a buffer, -EFAULT for the address of the first one, -ENOMEM.
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
	io_bundle_fill(bundle, group, group->ring ? nr : 1, want, most);
	return likely(bundle->nr) ? bundle : ERR_PTR(-EFAULT);
}

/* Return: behind the last one of the first @moved bytes, of which there are some. */
static u64 io_bundle_behind(const struct io_bundle *bundle, u32 moved)
{
	const struct iovec *seg = bundle->segs;

	for (; moved > seg->iov_len; seg++)
		moved -= seg->iov_len;
	return (u64)(uintptr_t)seg->iov_base + moved;
}

/* The first @nr buffers of an incremental group are used up, which their descriptors tell. */
static void io_bundle_empty(struct io_buf_group *group, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		WRITE_ONCE(io_group_slot(group, group->head + i)->len, 0);
}

/**
 * io_bundle_used - consume the buffers of a transfer
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
	u32 last = bundle->nr - 1, used = moved, i = 0;
	/* bytes before the last one */
	u32 before = bundle->len - (bundle->lens[last] - bundle->cut);

	io_assert_ring(req->ctx);
	if (likely(moved > before)) {
		used -= before;
		i = last;
	}
	for (; i != last && used > bundle->lens[i]; i++)
		used -= bundle->lens[i];
	/* all before it are used up, whatever the kind of group */
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
 * Buffers without a byte behind the last one that has some belong to it: they are not sent
 * again as empty packets.
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
 * io_bundle_take - take a bundle whose transfer has to continue
 * @req: as for io_bundle_used()
 * @bundle: from io_bundle_pick()
 *
 * From here on the buffers are the request's, which has to copy the segments before the
 * ring lock is released.
 */
void io_bundle_take(struct io_kiocb *req, const struct io_bundle *bundle)
{
	req->cqe.flags = io_bundle_sent(req, bundle);
	req->picked.taken = IO_TAKEN_BUFFER;
	req->flags |= REQ_F_PICKED;
}
