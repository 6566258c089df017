// SPDX-License-Identifier: GPL-2.0
/* io_uring: registered buffers */

/*
 * A registered buffer is user memory that stays pinned (rsrc/map.c), so that requests need not
 * pin its pages each time.
 *
 * A driver can register its own memory instead (op/cmd_buf.c), and gets the memory back when the
 * last user of the memory is gone.
 *
 * The node in the table has all fields that a request needs, in one cache line.  The memory of the
 * node has a reference count of its own: a ring may clone the buffers of another ring of the same
 * user and mm, without pinning or charging the memory again.
 *
 * The table changes under the ring lock.  Requests get and put references to nodes under this
 * lock.  Cloning needs two ring locks, see io_clone_lock().
 */
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/io_uring.h>
#include <linux/io_uring/cmd.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "rsrc/bufs.h"

/* Count a buffer, except a driver's, for which IORING_UNREGISTER_BUFFERS does not wait. */
static void io_buf_count_up(struct io_ring_ctx *ctx, const struct io_mapped_ubuf *map)
{
	if (!map->release)
		ctx->bufs.alive++;
}

/* Count down ->awaited for a buffer without users.  At 0, wake the unregistering task. */
static void io_buf_count_down(struct io_ring_ctx *ctx)
{
	if (ctx->bufs.awaited && !--ctx->bufs.awaited)
		wake_up_all(&ctx->work_wait);
}

static void io_buf_node_release(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	struct io_buf_node *buf = io_buf_node(node);

	io_rsrc_post_tag(ctx, node);
	if (!buf->map->release) {
		ctx->bufs.alive--;
		io_buf_count_down(ctx);
	}
	io_map_put(buf->map);
	kfree(buf);
}

/*
 * Give the slot a reference again after the last user has put the last reference.  This is the
 * ->release from io_bufs_begin_leave() to io_bufs_end_leave(), while the slot has no reference.
 */
static void io_buf_node_return(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	node->refs = 1;
	node->release = io_buf_node_release;
	io_buf_count_down(ctx);
}

/* Read the iovec of a buffer, in the layout of the ring's creator, and advance @iovs. */
static int io_buf_read_iovec(struct io_ring_ctx *ctx, struct iovec *iov, void __user **iovs)
{
	struct iovec *read;

	read = iovec_from_user(*iovs, 1, 1, iov, ctx->compat);
	if (IS_ERR(read))
		return PTR_ERR(read);
	*iovs += ctx->compat ? sizeof(struct compat_iovec) : sizeof(*iov);
	return 0;
}

static int io_buf_check(const struct iovec *iov, bool has_tag)
{
	unsigned long addr = (unsigned long)iov->iov_base;
	unsigned long end;

	if (!addr && !iov->iov_len)
		return has_tag ? -EINVAL : 0;
	if (!addr || !iov->iov_len || iov->iov_len > IO_BUF_SIZE_MAX)
		return -EFAULT;
	return check_add_overflow(addr, PAGE_ALIGN(iov->iov_len), &end) ? -EOVERFLOW : 0;
}

/* Initialize the members common to all kinds of memory.  Take over the reference to @map. */
static void io_buf_node_init(struct io_ring_ctx *ctx, struct io_buf_node *buf,
			     struct io_mapped_ubuf *map)
{
	io_rsrc_node_init(&buf->node, io_buf_node_release);
	buf->shift = map->shift;
	buf->bvec = map->bvec;
	buf->map = map;
	io_buf_count_up(ctx, map);
}

/* Pin a buffer and make a node for it.  Return: the node, NULL for an empty iovec, or an error. */
static struct io_rsrc_node *io_buf_node_make(struct io_ring_ctx *ctx, const struct iovec *iov,
					     bool has_tag)
{
	struct io_mapped_ubuf *map;
	struct io_buf_node *buf;
	int err;

	err = io_buf_check(iov, has_tag);
	if (err)
		return ERR_PTR(err);
	if (!iov->iov_base)
		return NULL;
	buf = kmalloc_obj(*buf, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	map = io_map_pin(ctx, (unsigned long)iov->iov_base, iov->iov_len);
	if (IS_ERR(map)) {
		kfree(buf);
		return ERR_CAST(map);
	}
	io_buf_node_init(ctx, buf, map);
	buf->ubuf = (unsigned long)iov->iov_base;
	buf->len[ITER_DEST] = iov->iov_len;
	buf->len[ITER_SOURCE] = iov->iov_len;
	buf->head = (1UL << map->shift) - map->bvec[0].bv_len;
	return &buf->node;
}

/**
 * io_buf_forget - take the registered buffer from a request that is not issued yet
 * @req: a request with a registered buffer; ring lock held
 */
void io_buf_forget(struct io_kiocb *req)
{
	io_assert_ring(req->ctx);
	io_node_put(req->ctx, req->buf_node);
	req->flags &= ~REQ_F_BUF_NODE;
}

/**
 * io_buf_forget_driver - take a driver's buffer from a request that is not issued yet
 * @req: a request to which ->prep() has assigned a buffer; ring lock held
 *
 * A request that waits uses the user memory that was registered at its submission, as in 6.12.
 * A driver's memory is looked up at ->issue(), as in 7.3: a command ahead in the chain may register
 * the memory, or give it back and register other memory.
 */
void io_buf_forget_driver(struct io_kiocb *req)
{
	if (io_buf_node(req->buf_node)->map->release)
		io_buf_forget(req);
}

/**
 * io_buf_iter_segments - do the part of io_buf_iter() for segments of any size, or for addresses
 * @buf: the buffer
 * @ddir: ITER_DEST or ITER_SOURCE
 * @offset: offset of the first byte in the buffer
 * @len: bytes
 * @iter: result
 */
void io_buf_iter_segments(const struct io_buf_node *buf, int ddir, u32 offset, u32 len,
			  struct iov_iter *iter)
{
	const struct io_mapped_ubuf *map = buf->map;
	size_t all = (size_t)offset + len;

	if (buf->bvec)
		iov_iter_bvec(iter, ddir, buf->bvec, map->nr_bvecs, all);
	else
		iov_iter_init(iter, ddir, map->priv, map->nr_bvecs, all);
	/* a driver's first segments may be empty, and a vector without an entry has none */
	if (offset || (len && buf->bvec && !buf->bvec->bv_len))
		iov_iter_advance(iter, offset);
}

/**
 * io_buf_set_driver - register a driver's memory in an empty slot
 * @ctx: the ring, its lock held
 * @slot: number of the slot, from the program
 * @map: the memory; the reference of the caller passes to the slot on success
 * @len: bytes
 * @dirs: IO_BUF_DEST, IO_BUF_SOURCE or both
 *
 * Return: 0, -EINVAL if there is no such slot, -EBUSY if the slot is in use, or -ENOMEM.
 */
int io_buf_set_driver(struct io_ring_ctx *ctx, unsigned int slot, struct io_mapped_ubuf *map,
		      u32 len, unsigned int dirs)
{
	struct io_rsrc_table *table = &ctx->buf_table;
	struct io_buf_node *buf;

	io_assert_ring(ctx);
	if (slot >= table->nr)
		return -EINVAL;
	slot = array_index_nospec(slot, table->nr);
	if (table->nodes[slot])
		return -EBUSY;
	buf = kmalloc_obj(*buf, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	io_buf_node_init(ctx, buf, map);
	buf->ubuf = 0;
	buf->len[ITER_DEST] = dirs & IO_BUF_DEST ? len : 0;
	buf->len[ITER_SOURCE] = dirs & IO_BUF_SOURCE ? len : 0;
	buf->head = 0;
	io_rsrc_set_slot(ctx, table, slot, &buf->node);
	return 0;
}

/**
 * io_buf_clear_driver - remove a driver's memory from its slot
 * @ctx: the ring, its lock held
 * @slot: number of the slot, from the program
 *
 * Return: 0, -EINVAL if the slot is empty or does not exist, -EBUSY if the slot has user memory.
 */
int io_buf_clear_driver(struct io_ring_ctx *ctx, unsigned int slot)
{
	struct io_rsrc_node *node = io_rsrc_find(&ctx->buf_table, slot);

	io_assert_ring(ctx);
	if (!node)
		return -EINVAL;
	if (!io_buf_node(node)->map->release)
		return -EBUSY;
	io_rsrc_set_slot(ctx, &ctx->buf_table, slot, NULL);
	return 0;
}

/* Fill the slots of a new table.  Without iovecs the slots stay empty. */
static int io_bufs_fill(struct io_ring_ctx *ctx, void __user *iovs, const u64 *tags)
{
	struct io_rsrc_table *table = &ctx->buf_table;
	unsigned int i;
	int err;

	for (i = 0; i < table->nr; i++) {
		struct io_rsrc_node *node;
		struct iovec iov = {};

		cond_resched();
		if (iovs) {
			err = io_buf_read_iovec(ctx, &iov, &iovs);
			if (err)
				return err;
		}
		node = io_buf_node_make(ctx, &iov, tags && tags[i]);
		if (IS_ERR(node))
			return PTR_ERR(node);
		if (node && tags)
			node->tag = tags[i];
		io_rsrc_set_slot(ctx, table, i, node);
	}
	return 0;
}

static int io_bufs_register(struct io_ring_ctx *ctx, void __user *iovs, unsigned int nr,
			    const u64 __user *utags)
{
	u64 *tags __free(kvfree) = NULL;
	int err;

	io_assert_ring(ctx);
	if (ctx->buf_table.nodes)
		return -EBUSY;
	if (!nr || nr > IO_BUFS_MAX)
		return -EINVAL;
	tags = io_rsrc_copy_tags(utags, nr);
	if (IS_ERR(tags))
		return PTR_ERR(tags);
	err = io_rsrc_table_alloc(&ctx->buf_table, nr);
	if (err)
		return err;
	err = io_bufs_fill(ctx, iovs, tags);
	if (err)
		io_rsrc_table_free(ctx, &ctx->buf_table);
	return err;
}

/**
 * io_register_buffers - handle IORING_REGISTER_BUFFERS
 * @ctx: the ring, its lock held
 * @arg: array of iovecs in user space
 * @nr: number of iovecs
 * @tags: array of one tag per buffer in user space, or NULL
 *
 * Return: 0; -EBUSY if there is a table, -EINVAL for a bad number, a negative
 * length or a tag without a buffer, -EFAULT, -EOVERFLOW, -ENOMEM, also if the charge
 * would exceed RLIMIT_MEMLOCK, -EINTR if current was killed.
 */
int io_register_buffers(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr,
			u64 __user *tags)
{
	return arg ? io_bufs_register(ctx, arg, nr, tags) : -EFAULT;
}

/**
 * io_register_buffers2 - handle IORING_REGISTER_BUFFERS2
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_rsrc_register in user space
 * @size: size of the struct, from the program
 *
 * Return: as io_register_buffers(), and -EINVAL for bad arguments.
 */
int io_register_buffers2(struct io_ring_ctx *ctx, void __user *arg, unsigned int size)
{
	struct io_uring_rsrc_register reg;
	int err = io_rsrc_read_register(&reg, arg, size);

	if (err)
		return err;
	return io_bufs_register(ctx, u64_to_user_ptr(reg.data), reg.nr, u64_to_user_ptr(reg.tags));
}

/**
 * io_bufs_begin_leave - begin to unregister the table of buffers
 * @ctx: the ring, its lock held
 *
 * Until io_bufs_end_leave() requests find no buffer, and no other table can be registered.
 * ctx->bufs.awaited counts the buffers that requests still use, including buffers that were removed
 * from their slots before.  The slot of a buffer in use drops its reference, so that the put of the
 * last user calls ->release, which counts the buffer down.
 *
 * IORING_UNREGISTER_BUFFERS does not wait for the users of a driver's memory, as the program cannot
 * reuse that memory.  These slots keep their references until the table is dropped.
 *
 * Return: 0, or -ENXIO if there is no table.
 */
int io_bufs_begin_leave(struct io_ring_ctx *ctx)
{
	struct io_rsrc_table *table = &ctx->buf_table;
	unsigned int i, awaited = ctx->bufs.alive;

	io_assert_ring(ctx);
	if (!table->nr)
		return -ENXIO;
	for (i = 0; i < table->nr; i++) {
		struct io_rsrc_node *node = table->nodes[i];

		cond_resched();
		if (!node || io_buf_node(node)->map->release)
			continue;
		if (node->refs == 1) {
			awaited--;
			continue;
		}
		node->refs--;
		node->release = io_buf_node_return;
	}
	ctx->bufs.awaited = awaited;
	ctx->bufs.leaving = table->nr;
	table->nr = 0;
	return 0;
}

/**
 * io_bufs_end_leave - undo io_bufs_begin_leave()
 * @ctx: the ring, its lock held
 */
void io_bufs_end_leave(struct io_ring_ctx *ctx)
{
	struct io_rsrc_table *table = &ctx->buf_table;
	unsigned int i;

	io_assert_ring(ctx);
	table->nr = ctx->bufs.leaving;
	ctx->bufs.awaited = 0;
	for (i = 0; i < table->nr; i++) {
		struct io_rsrc_node *node = table->nodes[i];

		cond_resched();
		if (node && node->release == io_buf_node_return) {
			node->release = io_buf_node_release;
			node->refs++;
		}
	}
}

/* Change a slot.  The new buffer is complete before the old buffer is dropped. */
static int io_buf_update_one(struct io_ring_ctx *ctx, unsigned int slot, void __user **iovs,
			     const u64 __user *utag)
{
	struct io_rsrc_node *node;
	struct iovec iov;
	u64 tag = 0;
	int err;

	err = io_buf_read_iovec(ctx, &iov, iovs);
	if (err)
		return err;
	if (utag && copy_from_user(&tag, utag, sizeof(tag)))
		return -EFAULT;
	node = io_buf_node_make(ctx, &iov, tag);
	if (IS_ERR(node))
		return PTR_ERR(node);
	if (node)
		node->tag = tag;
	io_rsrc_set_slot(ctx, &ctx->buf_table, slot, node);
	return 0;
}

/**
 * io_bufs_update - change slots of the table of buffers, in order
 * @ctx: the ring, its lock held
 * @up: slots, iovecs and tags; the caller has checked the reserved fields
 *
 * Return: number of slots that were changed; if there are none, -EOVERFLOW, -ENXIO or
 * -EINVAL for bad slots, or an error of io_register_buffers().
 */
int io_bufs_update(struct io_ring_ctx *ctx, const struct io_uring_rsrc_update2 *up)
{
	const u64 __user *tags = u64_to_user_ptr(up->tags);
	void __user *iovs = u64_to_user_ptr(up->data);
	unsigned int done;
	int err;

	io_assert_ring(ctx);
	err = io_rsrc_check_range(&ctx->buf_table, up->offset, up->nr);
	if (err)
		return err;
	for (done = 0; done < up->nr; done++) {
		err = io_buf_update_one(ctx, up->offset + done, &iovs, tags ? tags + done : NULL);
		if (err)
			break;
		cond_resched();
	}
	return done ?: err;
}

/* Get a ring that current has registered (IORING_REGISTER_RING_FDS). */
static struct file *io_registered_ring(u32 index)
{
	struct io_uring_task *tctx = current->io_uring;
	struct file *file;

	if (index >= IO_RINGFD_REG_MAX || !tctx)
		return ERR_PTR(-EINVAL);
	index = array_index_nospec(index, IO_RINGFD_REG_MAX);
	file = tctx->registered_rings[index];
	return file ? get_file(file) : ERR_PTR(-EBADF);
}

/* Get the ring to clone from. */
static struct file *io_clone_source(const struct io_uring_clone_buffers *arg)
{
	struct file *file;

	if (arg->flags & IORING_REGISTER_SRC_REGISTERED)
		return io_registered_ring(arg->src_fd);
	file = fget(arg->src_fd);
	if (file && io_is_uring_fops(file))
		return file;
	if (file)
		fput(file);
	return ERR_PTR(file ? -EOPNOTSUPP : -EBADF);
}

/* Make a node without a tag for the memory of another node. */
static struct io_rsrc_node *io_buf_node_clone(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	struct io_buf_node *buf = kmemdup(io_buf_node(node), sizeof(*buf), GFP_KERNEL_ACCOUNT);

	if (!buf)
		return NULL;
	io_rsrc_node_init(&buf->node, io_buf_node_release);
	refcount_inc(&buf->map->refs);
	io_buf_count_up(ctx, buf->map);
	return &buf->node;
}

/* Return: true if there is a table that the clones must not replace. */
static bool io_clone_busy(const struct io_ring_ctx *ctx, const struct io_uring_clone_buffers *clone)
{
	/* a table without slots is being unregistered, and stays until its users are gone */
	return ctx->buf_table.nodes &&
	       (!(clone->flags & IORING_REGISTER_DST_REPLACE) || !ctx->buf_table.nr);
}

/* Check the slots of @clone in both tables.  If it names none, set ->nr for all of @src. */
static int io_clone_check(const struct io_ring_ctx *ctx, const struct io_ring_ctx *src,
			  struct io_uring_clone_buffers *clone)
{
	u32 nr = src->buf_table.nr, end;

	/* once more, as the ring lock may have been dropped */
	if (io_clone_busy(ctx, clone))
		return -EBUSY;
	if (ctx->account.user != src->account.user || ctx->account.mm != src->account.mm)
		return -EINVAL;
	if (!nr)
		return -ENXIO;
	if (!clone->nr && (clone->src_off || clone->dst_off))
		return -EINVAL;
	if (clone->nr > nr)
		return -EINVAL;
	clone->nr = clone->nr ?: nr;
	if (check_add_overflow(clone->src_off, clone->nr, &end) || end > nr ||
	    check_add_overflow(clone->dst_off, clone->nr, &end))
		return -EOVERFLOW;
	return end > IO_BUFS_MAX ? -EINVAL : 0;
}

/* Make the table that @ctx has after the cloning, without the buffers that stay. */
static int io_clone_nodes(struct io_ring_ctx *ctx, struct io_ring_ctx *src,
			  const struct io_uring_clone_buffers *clone, struct io_rsrc_table *new)
{
	struct io_rsrc_node **to, **from;
	unsigned int i;

	if (io_rsrc_table_alloc(new, max(clone->dst_off + clone->nr, ctx->buf_table.nr)))
		return -ENOMEM;
	to = new->nodes + clone->dst_off;
	/* a clone of no buffer may begin at the end of the table */
	from = src->buf_table.nodes + array_index_nospec(clone->src_off, src->buf_table.nr + 1);
	for (i = 0; i < clone->nr; i++) {
		cond_resched();
		if (!from[i])
			continue;
		to[i] = io_buf_node_clone(ctx, from[i]);
		if (!to[i]) {
			io_rsrc_table_free(ctx, new);
			return -ENOMEM;
		}
	}
	return 0;
}

static int io_bufs_clone(struct io_ring_ctx *ctx, struct io_ring_ctx *src,
			 struct io_uring_clone_buffers *clone)
{
	struct io_rsrc_table *table = &ctx->buf_table, new;
	unsigned int i;
	int err;

	io_assert_ring(ctx);
	io_assert_ring(src);
	err = io_clone_check(ctx, src, clone);
	if (!err)
		err = io_clone_nodes(ctx, src, clone, &new);
	if (err)
		return err;
	for (i = 0; i < table->nr; i++) {
		cond_resched();
		if (i >= clone->dst_off && i - clone->dst_off < clone->nr)
			io_rsrc_set_slot(ctx, table, i, NULL);
		else
			new.nodes[i] = table->nodes[i];
	}
	kvfree(table->nodes);
	*table = new;
	return 0;
}

/*
 * Lock @other as well.  A task must not wait for a ring lock while it holds another.  So if @other
 * is not free, unlock @held and retry in the reverse order.
 *
 * Return: 0 with both locks held; %IO_RING_LOST without a lock if current is killed.
 */
static int io_clone_lock(struct io_ring_ctx *held, struct io_ring_ctx *other)
{
	while (!io_ring_trylock(other)) {
		io_ring_unlock(held);
		if (io_ring_lock(other))
			return IO_RING_LOST;
		swap(held, other);
	}
	return 0;
}

/**
 * io_clone_buffers - handle IORING_REGISTER_CLONE_BUFFERS
 * @ctx: the ring, its lock held; the lock may be dropped and taken again
 * @arg: struct io_uring_clone_buffers in user space
 *
 * With IORING_REGISTER_DST_REPLACE, the clones replace what is in their slots, as an update does.
 * The other slots stay, and the table grows if it is too small.  @ctx may be the source as well.
 *
 * Return: 0; -EBUSY if there is a table that the clones do not replace, -EFAULT, -EINVAL for bad
 * flags, a bad index, a bad number of buffers, or a ring of another user or mm, -EOVERFLOW for
 * slots beyond the source, -EBADF, -EOPNOTSUPP if the file is not a ring, -ENXIO if the source has
 * no buffers, -ENOMEM, %IO_RING_LOST.
 */
int io_clone_buffers(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_uring_clone_buffers clone;
	struct io_ring_ctx *src;
	struct file *file;
	int ret;

	io_assert_ring(ctx);
	if (copy_from_user(&clone, arg, sizeof(clone)))
		return -EFAULT;
	if (clone.flags & ~(IORING_REGISTER_SRC_REGISTERED | IORING_REGISTER_DST_REPLACE) ||
	    memchr_inv(clone.pad, 0, sizeof(clone.pad)))
		return -EINVAL;
	if (io_clone_busy(ctx, &clone))
		return -EBUSY;
	file = io_clone_source(&clone);
	if (IS_ERR(file))
		return PTR_ERR(file);
	src = file->private_data;
	ret = src == ctx ? 0 : io_clone_lock(ctx, src);
	if (!ret) {
		ret = io_bufs_clone(ctx, src, &clone);
		if (src != ctx)
			io_ring_unlock(src);
	}
	fput(file);
	return ret;
}
