// SPDX-License-Identifier: GPL-2.0
/* io_uring: groups of provided buffers */

/*
 * A group is a queue of buffers.  A ring of buffers is an array that the program shares with the
 * kernel; the program appends buffers without a system call.  Other groups are private arrays of
 * the kernel, which PROVIDE_BUFFERS fills.  Requests use both kinds in the same manner.
 *
 * This file and bundle.c decide whether a buffer belongs to its group or to a request, see
 * Documentation/io_uring/buffers.rst.  A request selects the first buffer of its group:
 *
 * - If the request is issued under the ring lock and its file can be polled, the buffer stays in
 *   the group during the attempt, while the lock is held ("peeked").  Afterwards a used buffer
 *   leaves the group (io_buf_used()).  An unused buffer stays, and the group is not changed
 *   (io_buf_unused()).
 * - Otherwise the request may continue without the lock, while other requests select buffers.  So
 *   the buffer leaves the group at once ("consumed").  The buffer belongs to the request until
 *   the request ends, and the request's CQE has the number of the buffer for any result.
 *
 * The program may write to a ring of buffers at any time.  So each descriptor is read once, into
 * group->seen, and all later steps use that copy.
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

/* minimum number of slots of a group that PROVIDE_BUFFERS fills */
#define IO_GROUP_MIN	16U

/*
 * Bytes that the groups of an io_uring may pin without a charge to RLIMIT_MEMLOCK: eight groups of
 * the largest size.  6.12 does not charge rings of buffers at all, so programs that work there
 * may have a limit that is too low for a charge.
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
 * io_group_get - get a reference to a group, to map its memory
 * @ctx: the ring; its lock need not be held
 * @id: number of the group
 *
 * Return: the group, to be released by io_group_put(), or NULL.  The region of a group that
 * PROVIDE_BUFFERS fills is empty.
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
 * io_group_put - drop a reference to a group
 * @group: the group or NULL
 *
 * Memory that a program has mapped stays until it is unmapped.
 *
 * Context: Task context.  May sleep.
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

/* Return: of @pinned pages, the number that is charged. */
static unsigned long io_groups_charge(unsigned long pinned)
{
	unsigned long free = IO_GROUPS_UNCHARGED >> PAGE_SHIFT;

	return pinned > free ? pinned - free : 0;
}

static void io_group_uncharge(struct io_ring_ctx *ctx, struct io_buf_group *group)
{
	unsigned long charged = io_groups_charge(ctx->groups.pinned);

	if (!group || !group->pinned)
		return;
	ctx->groups.pinned -= group->pinned;
	group->pinned = 0;
	charged -= io_groups_charge(ctx->groups.pinned);
	if (charged && ctx->account.user)
		atomic_long_sub(charged, &ctx->account.user->locked_vm);
}

/* Charge the pages of a group.  Return: 0, or -ENOMEM if the charge would exceed RLIMIT_MEMLOCK. */
static int io_group_charge(struct io_ring_ctx *ctx, struct io_buf_group *group, u32 pages)
{
	unsigned long pinned = ctx->groups.pinned + pages;
	unsigned long more = io_groups_charge(pinned) - io_groups_charge(ctx->groups.pinned);

	if (more && ctx->account.user) {
		int ret = io_user_charge(ctx->account.user, more);

		if (ret)
			return ret;
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

/* Replace the group with number @id, if it exists, by @group, which may be NULL. */
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

/* Insert a group.  After an error the caller has to free it.  Return: 0 or -ENOMEM. */
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
 * @ctx: the ring, which no other context can reach
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
		/* there may be 65,536 groups, with many pages each */
		cond_resched();
	}
	xa_destroy(&ctx->groups.others);
	kvfree(ctx->groups.bundle);
}

/* Copy the group's first struct io_uring_buf to ->seen.  Return: false if the group is empty. */
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

/* Return: bytes of the buffer in ->seen that a request may use, MAX_RW_COUNT at most. */
static u32 io_picked_len(const struct io_kiocb *req, const struct io_buf_group *group)
{
	return min(group->seen.len, req->picked.max ?: MAX_RW_COUNT);
}

/*
 * Consume the bytes of the buffer in ->seen that a request may use.  For an incremental buffer,
 * save its state, so that io_picked_give_back() can return a part.
 */
static void io_picked_take(struct io_kiocb *req, struct io_buf_group *group)
{
	req->picked.more = io_group_use(group, io_picked_len(req, group));
	req->picked.taken = IO_TAKEN_BUFFER;
	req->cqe.flags = io_picked_cflags(req);
	if (unlikely(group->inc)) {
		req->picked.taken = IO_TAKEN_PIECE;
		group->taker = req;
		group->whole = group->seen;
	}
}

/*
 * Return the unused rest of a consumed piece of an incremental buffer to the group, so that the
 * next data follows the @used bytes.  Do nothing if a later use of the group has consumed a buffer
 * or a part of a buffer.  Ring lock held.
 */
static void io_picked_give_back(struct io_kiocb *req, u32 used)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);
	struct io_uring_buf *slot;

	io_assert_ring(req->ctx);
	if (!group || group->taker != req)
		return;
	if (!req->picked.more) {
		/* a program that has read the head may have filled the slot again */
		if (io_group_count(group) >= group->size)
			return;
		group->head--;
	}
	group->seen = group->whole;
	slot = io_group_slot(group, group->head);
	WRITE_ONCE(slot->addr, group->seen.addr);
	WRITE_ONCE(slot->len, group->seen.len);
	/* the result of a receive may count bytes that did not fit */
	req->picked.more = io_group_use(group, min(used, io_picked_len(req, group)));
}

/* End the use of a consumed buffer.  Return: flags for the CQE. */
static noinline u32 io_picked_end(struct io_kiocb *req, s32 res, unsigned int issue_flags)
{
	/* a killed worker returns nothing to the group */
	if (req->picked.taken == IO_TAKEN_PIECE && !io_issue_lock(req->ctx, issue_flags)) {
		io_picked_give_back(req, max(res, 0));
		io_issue_unlock(req->ctx, issue_flags);
	}
	return io_picked_cflags(req);
}

/*
 * Return: the error of a request that has no buffer: -ENOENT for a send without a group, -ENOBUFS
 * for others.
 */
static int io_group_none(const struct io_kiocb *req, const struct io_buf_group *group)
{
	return group || !io_ops[req->opcode]->poll_out ? -ENOBUFS : -ENOENT;
}

/* Select a buffer; ring lock held. */
static noinline int io_group_pick(struct io_kiocb *req, struct io_buf *buf,
				  unsigned int issue_flags)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);
	struct io_picked *picked = &req->picked;

	io_assert_ring(req->ctx);
	if (unlikely(!group || !io_group_look(group)))
		return io_group_none(req, group);
	io_group_limit_send(req, group);
	buf->addr = group->seen.addr;
	buf->len = io_picked_len(req, group);
	buf->inc = group->inc;
	picked->bid = group->seen.bid;
	picked->taken = 0;
	picked->more = false;
	req->flags |= REQ_F_PICKED;
	/* a multishot driver's command does not poll its file, but ends the use under the lock */
	if (issue_flags & IO_URING_F_UNLOCKED ||
	    !(req->flags & REQ_F_MULTISHOT || file_can_poll(req->file))) {
		io_picked_take(req, group);
		buf->inc = false;
	}
	/* check here, so that no op or file uses an address that is not in user space */
	if (likely(access_ok(u64_to_user_ptr(buf->addr), buf->len)))
		return 0;
	req->flags &= ~REQ_F_PICKED;
	return -EFAULT;
}

/* Select a buffer for a worker, which does not hold the ring lock. */
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
 * io_buf_pick - select a buffer for a request
 * @req: the request, with REQ_F_BUFFER_SELECT, a file and ->picked.max, but without a buffer
 * @buf: result
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * ->issue() has to call io_buf_used() or io_buf_unused() before it returns, or io_buf_take() if
 * another context continues the request.
 *
 * Return: 0; -ENOBUFS without a buffer, for receives and reads also without a group; -ENOENT for
 * sends without a group; -EFAULT for an address that is not in user space; -ECANCELED if a worker
 * is killed while it waits for the lock.  The request ends with the error.  If the buffer was
 * consumed before -EFAULT, cqe.flags has the number of the buffer.
 */
int io_buf_pick(struct io_kiocb *req, struct io_buf *buf, unsigned int issue_flags)
{
	if (unlikely(issue_flags & IO_URING_F_UNLOCKED))
		return io_group_pick_unlocked(req, buf);
	return io_group_pick(req, buf, issue_flags);
}

/**
 * io_buf_used - consume the buffer of a request
 * @req: has selected a buffer
 * @res: result of the transfer
 * @issue_flags: as for io_buf_pick()
 *
 * The ring lock must have been held since io_buf_pick(), unless io_buf_pick() consumed the buffer.
 *
 * Return: flags for the CQE with the result; 0 if the buffer stays in its group, because the
 * transfer has not used it.
 */
u32 io_buf_used(struct io_kiocb *req, s32 res, unsigned int issue_flags)
{
	req->flags &= ~REQ_F_PICKED;
	if (unlikely(req->picked.taken))
		return io_picked_end(req, res, issue_flags);
	/* errors and the end of a multishot request use no bytes */
	if (unlikely(res < 0 || (!res && req->flags & REQ_F_MULTISHOT)))
		return 0;
	req->picked.more = io_group_use(io_group_find(req->ctx, req->buf_index), res);
	return io_picked_cflags(req);
}

/**
 * io_buf_unused - keep the buffer of an attempt without a result
 * @req: has selected a buffer; ring lock held as for io_buf_used()
 *
 * The next attempt selects a buffer again, unless the buffer was consumed.  For a consumed buffer,
 * store the number in cqe.flags again, since the request may end without another attempt.
 */
void io_buf_unused(struct io_kiocb *req)
{
	if (req->picked.taken)
		req->cqe.flags = io_picked_cflags(req);
	else
		req->flags &= ~REQ_F_PICKED;
}

/**
 * io_buf_take - consume the buffer of a request that is completed later
 * @req: the request, which continues after ->issue() has returned; the ring lock has been held
 *	since io_buf_pick()
 */
void io_buf_take(struct io_kiocb *req)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);

	io_assert_ring(req->ctx);
	io_picked_take(req, group);
}

/**
 * io_buf_retire - drop the rest of an incremental buffer if the rest is too short for a request
 * @req: has just used a part of the buffer; ring lock held since then
 * @need: bytes that the request needs
 *
 * Return: true if the rest was dropped.
 */
bool io_buf_retire(struct io_kiocb *req, u32 need)
{
	struct io_buf_group *group = io_group_find(req->ctx, req->buf_index);

	io_assert_ring(req->ctx);
	if (!io_group_look(group) || group->seen.len >= need)
		return false;
	io_group_use(group, group->seen.len);
	return true;
}

/**
 * io_buf_offered - check whether a request would find a buffer
 * @req: a request with REQ_F_BUFFER_SELECT on a worker, which does not hold the ring lock
 *
 * Return: true if the request's group has a buffer whose address is not refused; false also if the
 * worker is killed while it waits for the lock.
 */
bool io_buf_offered(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx = req->ctx;
	const struct io_uring_buf *slot;
	struct io_buf_group *group;
	bool offered = false;

	if (io_issue_lock(ctx, IO_URING_F_UNLOCKED))
		return false;
	group = io_group_find(ctx, req->buf_index);
	if (group && io_group_count(group)) {
		slot = io_group_slot(group, group->head);
		offered = access_ok(u64_to_user_ptr(READ_ONCE(slot->addr)), READ_ONCE(slot->len));
	}
	io_issue_unlock(ctx, IO_URING_F_UNLOCKED);
	return offered;
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
		/* the program may have provided millions of buffers */
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

/* Append @nr buffers that are adjacent in memory and have consecutive numbers. */
static void io_group_append(struct io_buf_group *group, struct io_uring_buf buf, u32 nr)
{
	while (nr--) {
		*io_group_slot(group, group->tail++) = buf;
		buf.addr += buf.len;
		buf.bid++;
	}
}

/* Find the group for PROVIDE_BUFFERS, or make the group if it does not exist. */
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
 * io_group_provide - add buffers of one size to a group, for PROVIDE_BUFFERS
 * @ctx: the ring, its lock held
 * @id: number of the group, which is made if it does not exist
 * @first: the first buffer; the others follow it in memory
 * @nr: number of buffers
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
 * io_group_withdraw - remove the first buffers of a group, for REMOVE_BUFFERS
 * @ctx: the ring, its lock held
 * @id: number of the group
 * @nr: maximum number of buffers
 *
 * Return: number of buffers removed, -ENOENT without such a group, -EINVAL for a ring of buffers.
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
	/* with 65536 entries a full ring and an empty one would have equal 16-bit counters */
	if (!is_power_of_2(reg->ring_entries) || reg->ring_entries >= 65536)
		return -EINVAL;
	/* as on 7.3, the address of a ring that the kernel allocates has no meaning */
	if (reg->flags & IOU_PBUF_RING_MMAP)
		return 0;
	if (!reg->ring_addr)
		return -EFAULT;
	return PAGE_ALIGNED(reg->ring_addr) ? 0 : -EINVAL;
}

/* Allocate or pin the memory of a ring of buffers. */
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
 * io_group_register - handle IORING_REGISTER_PBUF_RING
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_buf_reg in user space
 *
 * Return: 0; -EEXIST if the group has buffers or is a ring; -EINVAL or -EFAULT for a bad @arg;
 * -EOVERFLOW; -ENOMEM, also if the charge would exceed RLIMIT_MEMLOCK.
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
 * io_group_unregister - handle IORING_UNREGISTER_PBUF_RING
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_buf_reg in user space
 *
 * Return: 0, -ENOENT without such a group, -EINVAL for a bad @arg or a group that is not a ring
 * of buffers, -EFAULT.
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
 * io_group_status - handle IORING_REGISTER_PBUF_STATUS
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_buf_status in user space
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
