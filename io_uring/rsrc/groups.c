// SPDX-License-Identifier: GPL-2.0
/* io_uring: groups of provided buffers */

/*
 * A group is a queue of buffers.  Either it is an array that the program shares with
 * us and appends to without a call (a ring), or an array of our own, to which it appends by
 * PROVIDE_BUFFERS.  What requests do with it is the same.
 *
 * Who owns a buffer is decided here and nowhere else; the table of it is in
 * Documentation/io_uring/buffers.rst.  A request picks the first buffer of its group:
 *
 * - If it is issued under the ring lock and its file can be polled, the buffer is only lent,
 *   for as long as the attempt takes and the lock is held.  Then it was used
 *   (io_buf_used()) and leaves the group, or it was not (io_buf_unused()): then the
 *   group is as it was before.
 * - Otherwise the request may go on without the lock, and other requests pick meanwhile.  So
 *   it takes the buffer out of the group when it picks it, and keeps it until its
 *   end, whatever that is; cqe.flags tells the program of it from then on.
 *
 * The program may write to a ring at any time.  Each descriptor is read once, into
 * group->seen, from which all that follows is worked out.
 */
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/poll.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ring/locks.h"
#include "ring/region.h"
#include "rsrc/account.h"
#include "rsrc/groups.h"

/* slots of a group's first array */
#define IO_GROUP_MIN	16U

/*
 * A ring of buffers in user memory is pinned.  6.12 does not charge it to RLIMIT_MEMLOCK, and
 * most programs could not use it otherwise.  So these bytes of a ring, eight groups of the
 * largest size, are not charged; more are.
 */
#define IO_GROUPS_UNCHARGED	(8UL * 32768 * sizeof(struct io_uring_buf))

/**
 * io_groups_init - initialize the groups of a new ring
 * @ctx: the ring
 */
void io_groups_init(struct io_ring_ctx *ctx)
{
	xa_init_flags(&ctx->groups.others, XA_FLAGS_ACCOUNT);
	spin_lock_init(&ctx->groups.lock);
}

/**
 * io_group_get - find a group to look at its memory
 * @ctx: the ring; its lock need not be held
 * @id: the group's number
 *
 * Return: NULL, or the group with a reference, for io_group_put(); its memory may
 * be no region.
 */
struct io_buf_group *io_group_get(struct io_ring_ctx *ctx, unsigned int id)
{
	struct io_buf_group *group;

	guard(spinlock)(&ctx->groups.lock);
	group = io_group_find(ctx, id);
	if (group)
		refcount_inc(&group->refs);
	return group;
}

/**
 * io_group_put - drop a reference
 * @group: the group or NULL
 *
 * May sleep.  What a program has mapped stays.
 */
void io_group_put(struct io_buf_group *group)
{
	if (!group || !refcount_dec_and_test(&group->refs))
		return;
	if (!group->ring)
		kvfree(group->bufs);
	io_region_free(&group->region);
	kfree(group);
}

static void io_group_uncharge(struct io_ring_ctx *ctx, struct io_buf_group *group)
{
	if (!group || !group->pinned)
		return;
	ctx->groups.pinned -= group->pinned;
	group->pinned = 0;
	if (group->charged)
		atomic_long_sub(group->charged, &ctx->account.user->locked_vm);
}

/* Return: 0, or -ENOMEM beyond RLIMIT_MEMLOCK. */
static int io_group_charge(struct io_ring_ctx *ctx, struct io_buf_group *group, u32 pages)
{
	unsigned long free = IO_GROUPS_UNCHARGED >> PAGE_SHIFT;
	unsigned long pinned = ctx->groups.pinned + pages;

	if (pinned > free && ctx->account.user) {
		u32 charge = min(pages, pinned - free);
		int ret = io_user_charge(ctx->account.user, charge);

		if (ret)
			return ret;
		group->charged = charge;
	}
	group->pinned = pages;
	ctx->groups.pinned = pinned;
	return 0;
}

static struct io_buf_group *io_group_alloc(unsigned int id)
{
	struct io_buf_group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);

	if (!group)
		return NULL;
	refcount_set(&group->refs, 1);
	group->id = id;
	return group;
}

/* Put @group, or nothing, where there was another one or nothing. */
static void io_group_replace(struct io_ring_ctx *ctx, unsigned int id, struct io_buf_group *group)
{
	struct io_buf_group *old;

	scoped_guard(spinlock, &ctx->groups.lock) {
		old = io_group_find(ctx, id);
		if (id < IO_GROUPS_SMALL)
			ctx->groups.small[id] = group;
		else if (group)
			xa_store(&ctx->groups.others, id, group, 0);
		else
			xa_erase(&ctx->groups.others, id);
	}
	io_group_uncharge(ctx, old);
	io_group_put(old);
}

/* Return: 0, or -ENOMEM, and the group is still the caller's. */
static int io_group_insert(struct io_ring_ctx *ctx, struct io_buf_group *group)
{
	io_assert_ring(ctx);
	if (group->id >= IO_GROUPS_SMALL &&
	    xa_reserve(&ctx->groups.others, group->id, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	io_group_replace(ctx, group->id, group);
	return 0;
}

/**
 * io_groups_free - free the groups of a ring that ends
 * @ctx: the ring, not visible to others
 */
void io_groups_free(struct io_ring_ctx *ctx)
{
	struct io_buf_group *group;
	unsigned long id;

	for (id = 0; id < IO_GROUPS_SMALL; id++) {
		io_group_uncharge(ctx, ctx->groups.small[id]);
		io_group_put(ctx->groups.small[id]);
	}
	xa_for_each(&ctx->groups.others, id, group) {
		io_group_uncharge(ctx, group);
		io_group_put(group);
		/* up to 65,536 of them, each with up to 128 pages */
		cond_resched();
	}
	xa_destroy(&ctx->groups.others);
	kvfree(ctx->groups.bundle);
}

/* Read the first buffer into ->seen.  Return: false if there is none. */
static bool io_group_look(struct io_buf_group *group)
{
	const struct io_uring_buf *slot;

	if (!io_group_count(group))
		return false;
	slot = io_group_slot(group, group->head);
	group->seen.addr = READ_ONCE(slot->addr);
	group->seen.len = READ_ONCE(slot->len);
	group->seen.bid = READ_ONCE(slot->bid);
	return true;
}

/* How much of the buffer in ->seen a request may use; no transfer moves more than the limit. */
static u32 io_picked_len(const struct io_kiocb *req, const struct io_buf_group *group)
{
	return min(group->seen.len, req->picked.max ?: MAX_RW_COUNT);
}

/* The buffer in ->seen leaves the group for the request that has picked it. */
static void io_picked_use(struct io_kiocb *req, struct io_buf_group *group, u32 used)
{
	req->picked.more = io_group_use(group, used);
	req->picked.taken = IO_TAKEN_BUFFER;
}

/* A request may use all that it wants of the buffer in ->seen, and tell of less later. */
static void io_picked_take(struct io_kiocb *req, struct io_buf_group *group)
{
	io_picked_use(req, group, io_picked_len(req, group));
	req->cqe.flags = io_picked_cflags(req);
	if (unlikely(group->inc)) {
		req->picked.taken = IO_TAKEN_PIECE;
		group->taker = req;
		group->whole = group->seen;
	}
}

/*
 * A request has moved @used bytes into the piece of an incremental buffer that it has taken.
 * The rest is the group's again, so that the next data follows these bytes, unless another
 * request has used a part of it meanwhile.  Ring lock held.
 */
static void io_picked_give_back(struct io_kiocb *req, u32 used)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);
	struct io_uring_buf *slot;

	io_assert_ring(req->ctx);
	if (!group || group->taker != req)
		return;
	if (!req->picked.more) {
		/* a program that knows the head may have put another buffer there */
		if (io_group_count(group) >= group->size)
			return;
		group->head--;
	}
	group->seen = group->whole;
	slot = io_group_slot(group, group->head);
	WRITE_ONCE(slot->addr, group->seen.addr);
	WRITE_ONCE(slot->len, group->seen.len);
	/* the result of a receive may count what did not fit */
	req->picked.more = io_group_use(group, min(used, io_picked_len(req, group)));
}

/* A request is through with what it has taken.  Return: flags for its CQE. */
static noinline u32 io_picked_end(struct io_kiocb *req, s32 res, unsigned int issue_flags)
{
	/* a worker that is killed gives nothing back */
	if (req->picked.taken == IO_TAKEN_PIECE && !io_issue_lock(req->ctx, issue_flags)) {
		io_picked_give_back(req, max(res, 0));
		io_issue_unlock(req->ctx, issue_flags);
	}
	return io_picked_cflags(req);
}

/* What a request ends with that has no buffer.  For receives a group without buffers is none. */
static int io_group_none(const struct io_kiocb *req, const struct io_buf_group *group)
{
	return group || !io_ops[req->opcode]->poll_out ? -ENOBUFS : -ENOENT;
}

/* Ring lock held. */
static noinline int io_group_pick(struct io_kiocb *req, struct io_buf *buf,
				  unsigned int issue_flags)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);
	struct io_picked *picked = &req->picked;

	io_assert_ring(req->ctx);
	if (unlikely(!group || !io_group_look(group)))
		return io_group_none(req, group);
	buf->addr = group->seen.addr;
	buf->len = io_picked_len(req, group);
	buf->inc = group->inc;
	picked->bid = group->seen.bid;
	picked->taken = 0;
	picked->more = false;
	req->flags |= REQ_F_PICKED;
	if (issue_flags & IO_URING_F_UNLOCKED || !file_can_poll(req->file))
		io_picked_take(req, group);
	/* no op or file sees an address that is none of the program's */
	if (likely(access_ok(u64_to_user_ptr(buf->addr), buf->len)))
		return 0;
	req->flags &= ~REQ_F_PICKED;
	return -EFAULT;
}

/* Pick a buffer for a worker, which does not hold the ring lock. */
static noinline int io_group_pick_unlocked(struct io_kiocb *req, struct io_buf *buf)
{
	struct io_ring_ctx *ctx = req->ctx;
	int ret = io_issue_lock(ctx, IO_URING_F_UNLOCKED);

	if (unlikely(ret))
		return ret;
	ret = io_group_pick(req, buf, IO_URING_F_UNLOCKED);
	io_issue_unlock(ctx, IO_URING_F_UNLOCKED);
	return ret;
}

/**
 * io_buf_pick - pick the buffer that a request is to use
 * @req: has REQ_F_BUFFER_SELECT, a file and ->picked.max, and no buffer
 * @buf: out
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * Before ->issue() returns io_buf_used() or io_buf_unused() follows, or io_buf_take() if the
 * request is on its way to another context.
 *
 * Return: 0, -ENOBUFS without a buffer, or, for receives and reads, a group; -ENOENT for sends
 * without a group; -EFAULT for a buffer that is not user memory, -ECANCELED for a worker that is
 * killed.  The request ends with the error; if the buffer
 * was taken cqe.flags tells of it.
 */
int io_buf_pick(struct io_kiocb *req, struct io_buf *buf, unsigned int issue_flags)
{
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED))
		return io_group_pick_unlocked(req, buf);
	return io_group_pick(req, buf, issue_flags);
}

/**
 * io_buf_used - consume the buffer of a request
 * @req: has picked one
 * @res: the result of the transfer
 * @issue_flags: as for io_buf_pick()
 *
 * In the same hold of the ring lock as io_buf_pick(), unless that took the buffer.
 *
 * Return: flags for the CQE with the result; none, and the buffer stays in its group, for
 * a transfer that has not used it
 */
u32 io_buf_used(struct io_kiocb *req, s32 res, unsigned int issue_flags)
{
	req->flags &= ~REQ_F_PICKED;
	if (unlikely(req->picked.taken))
		return io_picked_end(req, res, issue_flags);
	/* an error has used nothing, nor has the end that a multishot request has come to */
	if (unlikely(res < 0 || (!res && req->flags & REQ_F_MULTISHOT)))
		return 0;
	io_picked_use(req, io_group_find(req->ctx, req->buf_index), res);
	return io_picked_cflags(req);
}

/**
 * io_buf_unused - keep the buffer of an attempt without a result
 * @req: has picked a buffer; as for io_buf_used()
 *
 * The request picks anew, unless it has taken the buffer: cqe.flags names that again, since the
 * request may end without another attempt.
 */
void io_buf_unused(struct io_kiocb *req)
{
	if (req->picked.taken)
		req->cqe.flags = io_picked_cflags(req);
	else
		req->flags &= ~REQ_F_PICKED;
}

/**
 * io_buf_take - take the buffer of a request that is completed later
 * @req: will be completed in another context, with the ring lock; ring lock held
 *	since io_buf_pick()
 */
void io_buf_take(struct io_kiocb *req)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);

	io_assert_ring(req->ctx);
	io_picked_take(req, group);
}

/**
 * io_buf_retire - drop the rest of an incremental buffer that is too short for a request
 * @req: has no buffer; ring lock held
 * @need: bytes that it needs
 *
 * The next buffer leaves the group, if it is shorter than that.
 *
 * Return: true if it does.
 */
bool io_buf_retire(struct io_kiocb *req, u32 need)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);

	io_assert_ring(req->ctx);
	if (!group->inc || !io_group_look(group) || group->seen.len >= need)
		return false;
	io_group_use(group, group->seen.len);
	return true;
}

/* Make room for @nr more buffers.  Return: 0 or -ENOMEM. */
static int io_group_reserve(struct io_buf_group *group, u32 nr)
{
	u32 i, size, count = group->tail - group->head;
	struct io_uring_buf *bufs;

	if (nr <= group->size - count)
		return 0;
	if (check_add_overflow(count, nr, &size) || size > BIT(30))
		return -ENOMEM;
	size = max(IO_GROUP_MIN, roundup_pow_of_two(size));
	bufs = kvmalloc_array(size, sizeof(*bufs), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bufs)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		bufs[i] = *io_group_slot(group, group->head + i);
		/* a program may have provided millions */
		if (unlikely(!(i % 4096)))
			cond_resched();
	}
	kvfree(group->bufs);
	group->bufs = bufs;
	group->size = size;
	group->head = 0;
	group->tail = count;
	return 0;
}

/* One behind the other in memory, with rising numbers. */
static void io_group_append(struct io_buf_group *group, struct io_uring_buf buf, u32 nr)
{
	while (nr--) {
		*io_group_slot(group, group->tail++) = buf;
		buf.addr += buf.len;
		buf.bid++;
	}
}

/* The group for PROVIDE_BUFFERS, made if there is none. */
static struct io_buf_group *io_group_find_or_make(struct io_ring_ctx *ctx, unsigned int id)
{
	struct io_buf_group *group = io_group_find(ctx, id);

	if (group)
		return group->ring ? ERR_PTR(-EINVAL) : group;
	group = io_group_alloc(id);
	if (group && !io_group_insert(ctx, group))
		return group;
	io_group_put(group);
	return ERR_PTR(-ENOMEM);
}

/**
 * io_group_provide - add buffers of one size to a group of the kernel's own
 * @ctx: the ring, its lock held
 * @id: the group's number; it is made if there is none
 * @first: the first of them
 * @nr: their number
 *
 * Return: 0, -EINVAL for a ring of buffers, -ENOMEM.
 */
int io_group_provide(struct io_ring_ctx *ctx, unsigned int id, struct io_uring_buf first,
		     unsigned int nr)
{
	struct io_buf_group *group = io_group_find_or_make(ctx, id);
	int ret;

	io_assert_ring(ctx);
	if (IS_ERR(group))
		return PTR_ERR(group);
	ret = io_group_reserve(group, nr);
	if (!ret)
		io_group_append(group, first, nr);
	return ret;
}

/**
 * io_group_withdraw - take buffers out of a group of the kernel's own
 * @ctx: the ring, its lock held
 * @id: the group's number
 * @nr: limit of buffers, the first to be used first
 *
 * Return: their number, -ENOENT without such a group, -EINVAL for a ring of buffers.
 */
int io_group_withdraw(struct io_ring_ctx *ctx, unsigned int id, unsigned int nr)
{
	struct io_buf_group *group = io_group_find(ctx, id);

	io_assert_ring(ctx);
	if (!group)
		return -ENOENT;
	if (group->ring)
		return -EINVAL;
	nr = min(nr, io_group_count(group));
	group->head += nr;
	return nr;
}

static int io_group_check(const struct io_uring_buf_reg *reg)
{
	if (memchr_inv(reg->resv, 0, sizeof(reg->resv)))
		return -EINVAL;
	if (reg->flags & ~(IOU_PBUF_RING_MMAP | IOU_PBUF_RING_INC))
		return -EINVAL;
	if (reg->min_left && !(reg->flags & IOU_PBUF_RING_INC))
		return -EINVAL;
	if (reg->flags & IOU_PBUF_RING_MMAP) {
		if (reg->ring_addr)
			return -EINVAL;
	} else if (!reg->ring_addr) {
		return -EFAULT;
	} else if (!PAGE_ALIGNED(reg->ring_addr)) {
		return -EINVAL;
	}
	/* head and tail could not tell a full ring of more from an empty one */
	return is_power_of_2(reg->ring_entries) && reg->ring_entries < 65536 ? 0 : -EINVAL;
}

/* The memory of a ring of buffers. */
static int io_group_share(struct io_ring_ctx *ctx, struct io_buf_group *group,
			  const struct io_uring_buf_reg *reg)
{
	size_t size = array_size(reg->ring_entries, sizeof(struct io_uring_buf));
	int ret;

	if (reg->flags & IOU_PBUF_RING_MMAP) {
		ret = io_region_alloc(&group->region, size);
	} else {
		ret = io_group_charge(ctx, group, PAGE_ALIGN(size) >> PAGE_SHIFT);
		if (!ret)
			ret = io_region_pin(&group->region, reg->ring_addr, size);
	}
	if (ret)
		return ret;
	group->ring = true;
	group->inc = reg->flags & IOU_PBUF_RING_INC;
	group->min_left = reg->min_left;
	group->size = reg->ring_entries;
	group->bufs = group->region.ptr;
	return 0;
}

/**
 * io_group_register - IORING_REGISTER_PBUF_RING
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_buf_reg
 *
 * Return: 0, -EEXIST if the group has buffers or is a ring of them already, or what is
 * wrong with @arg.
 */
int io_group_register(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_buf_group *group;
	struct io_uring_buf_reg reg;
	int ret;

	if (copy_from_user(&reg, arg, sizeof(reg)))
		return -EFAULT;
	ret = io_group_check(&reg);
	if (ret)
		return ret;
	group = io_group_find(ctx, reg.bgid);
	if (group && (group->ring || io_group_count(group)))
		return -EEXIST;
	group = io_group_alloc(reg.bgid);
	if (!group)
		return -ENOMEM;
	ret = io_group_share(ctx, group, &reg);
	if (!ret)
		ret = io_group_insert(ctx, group);
	if (ret) {
		io_group_uncharge(ctx, group);
		io_group_put(group);
	}
	return ret;
}

/**
 * io_group_unregister - IORING_UNREGISTER_PBUF_RING
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_buf_reg
 *
 * Return: 0, -ENOENT without such a group, -EINVAL if it is no ring of buffers.
 */
int io_group_unregister(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_buf_group *group;
	struct io_uring_buf_reg reg;

	if (copy_from_user(&reg, arg, sizeof(reg)))
		return -EFAULT;
	if (reg.flags || memchr_inv(reg.resv, 0, sizeof(reg.resv)))
		return -EINVAL;
	group = io_group_find(ctx, reg.bgid);
	if (!group)
		return -ENOENT;
	if (!group->ring)
		return -EINVAL;
	io_group_replace(ctx, reg.bgid, NULL);
	return 0;
}

/**
 * io_group_status - IORING_REGISTER_PBUF_STATUS
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_buf_status
 *
 * Return: as io_group_unregister().
 */
int io_group_status(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_uring_buf_status status;
	struct io_buf_group *group;

	if (copy_from_user(&status, arg, sizeof(status)))
		return -EFAULT;
	if (memchr_inv(status.resv, 0, sizeof(status.resv)))
		return -EINVAL;
	group = io_group_find(ctx, status.buf_group);
	if (!group)
		return -ENOENT;
	if (!group->ring)
		return -EINVAL;
	status.head = (u16)group->head;
	return copy_to_user(arg, &status, sizeof(status)) ? -EFAULT : 0;
}

#if IS_ENABLED(CONFIG_IO_URING_KUNIT_TEST)
#include "tests/groups_kunit.c"
#endif
