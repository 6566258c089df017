// SPDX-License-Identifier: GPL-2.0
/* io_uring: tables of registered files and buffers: slots, nodes, tags */

/*
 * A table is an array of pointers to nodes, NULL for an empty slot.  The slot
 * holds one reference to its node and each request that uses the file or the
 * buffer another; references are plain integers, they change under the ring
 * lock alone.
 *
 * A node in a slot never changes its file or buffer: an update makes a new node
 * and drops the slot's reference to the old one.  The old file or buffer stays for
 * as long as requests use it.  The last of them releases it, and posts the CQE of
 * its tag, if there is one.  No task waits for that.
 *
 * Everything here runs in task context with the ring lock held, and may sleep.
 * Loops over what a program sized let others run.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "complete/complete.h"
#include "rsrc/account.h"
#include "rsrc/bufs.h"
#include "rsrc/creds.h"
#include "rsrc/files.h"
#include "rsrc/table.h"

/**
 * io_rsrc_table_alloc - allocate a table of empty slots
 * @table: not in use
 * @nr: slots, at least one
 *
 * Return: 0 or -ENOMEM.
 */
int io_rsrc_table_alloc(struct io_rsrc_table *table, unsigned int nr)
{
	table->nodes = kvcalloc(nr, sizeof(*table->nodes), GFP_KERNEL_ACCOUNT);
	if (!table->nodes)
		return -ENOMEM;
	table->nr = nr;
	return 0;
}

/**
 * io_rsrc_table_free - give up all slots of a table and the table
 * @ctx: the ring, its lock held
 * @table: may be empty; is empty afterwards
 *
 * Tags are for updates: a table that goes as a whole goes in silence.
 */
void io_rsrc_table_free(struct io_ring_ctx *ctx, struct io_rsrc_table *table)
{
	struct io_rsrc_table old = *table;
	unsigned int i;

	io_assert_ring(ctx);
	memset(table, 0, sizeof(*table));
	for (i = 0; i < old.nr; i++) {
		cond_resched();
		if (!old.nodes[i])
			continue;
		old.nodes[i]->tag = 0;
		io_node_put(ctx, old.nodes[i]);
	}
	kvfree(old.nodes);
}

/**
 * io_rsrc_check_range - may these slots be updated?
 * @table: the table
 * @offset: first slot
 * @nr: number of slots
 *
 * Return: 0; -EOVERFLOW if the sum wraps, -ENXIO without a table, -EINVAL
 * beyond its end.
 */
int io_rsrc_check_range(const struct io_rsrc_table *table, u32 offset, u32 nr)
{
	u32 end;

	if (check_add_overflow(offset, nr, &end))
		return -EOVERFLOW;
	if (!table->nr)
		return -ENXIO;
	return end > table->nr ? -EINVAL : 0;
}

/*
 * A node leaves its slot while requests use it: the end of one of them makes two
 * CQEs, its own and the tag's, which a waiter for them has to know.
 */
static void io_rsrc_owe_tag(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	node->owed = true;
	WRITE_ONCE(ctx->tags_owed, ctx->tags_owed + 1);
	/* a worker, or a sender of a file, may do this while the owner sleeps */
	io_owner_wake_recount(ctx);
}

/**
 * io_rsrc_set_slot - change what is registered in a slot
 * @ctx: the ring, its lock held
 * @table: one of its tables
 * @slot: exists
 * @node: taken over; NULL empties the slot
 */
void io_rsrc_set_slot(struct io_ring_ctx *ctx, struct io_rsrc_table *table, unsigned int slot,
		      struct io_rsrc_node *node)
{
	struct io_rsrc_node *old;

	io_assert_ring(ctx);
	slot = array_index_nospec(slot, table->nr);
	old = table->nodes[slot];
	table->nodes[slot] = node;
	if (!old)
		return;
	if (old->tag && old->refs > 1)
		io_rsrc_owe_tag(ctx, old);
	io_node_put(ctx, old);
}

/**
 * io_rsrc_copy_tags - copy the tags for a new table
 * @tags: in user space, one per slot; NULL for none
 * @nr: slots
 *
 * Return: array to be freed by kvfree(), NULL if there are no tags, -EFAULT or
 * -ENOMEM.
 */
u64 *io_rsrc_copy_tags(const u64 __user *tags, unsigned int nr)
{
	u64 *copy;

	if (!tags)
		return NULL;
	copy = kvmalloc_array(nr, sizeof(*copy), GFP_KERNEL_ACCOUNT);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	if (!copy_from_user(copy, tags, array_size(nr, sizeof(*copy))))
		return copy;
	kvfree(copy);
	return ERR_PTR(-EFAULT);
}

/**
 * io_rsrc_post_tag - post the CQE of a resource that is not used any more
 * @ctx: the ring, its lock held
 * @node: being released
 */
void io_rsrc_post_tag(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	if (!node->tag)
		return;
	io_post_to(ctx, node->tag, 0, 0);
	if (node->owed)
		WRITE_ONCE(ctx->tags_owed, ctx->tags_owed - 1);
}

/**
 * io_rsrc_read_register - arguments of IORING_REGISTER_FILES2 and _BUFFERS2
 * @reg: out
 * @arg: in user space
 * @size: of it, as the program says
 *
 * Return: 0, -EINVAL or -EFAULT.
 */
int io_rsrc_read_register(struct io_uring_rsrc_register *reg, void __user *arg, unsigned int size)
{
	if (size != sizeof(*reg))
		return -EINVAL;
	if (copy_from_user(reg, arg, sizeof(*reg)))
		return -EFAULT;
	if (!reg->nr || reg->resv2 || reg->flags & ~IORING_RSRC_REGISTER_SPARSE)
		return -EINVAL;
	if (reg->flags & IORING_RSRC_REGISTER_SPARSE && reg->data)
		return -EINVAL;
	return 0;
}

/**
 * io_update_rsrc - IORING_REGISTER_FILES_UPDATE2 and IORING_REGISTER_BUFFERS_UPDATE
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_rsrc_update2 in user space
 * @size: of it, as the program says
 * @buffers: which table
 *
 * Return: slots that were handled, or a negative errno if there was none.
 */
int io_update_rsrc(struct io_ring_ctx *ctx, void __user *arg, unsigned int size, bool buffers)
{
	struct io_uring_rsrc_update2 up;

	if (size != sizeof(up))
		return -EINVAL;
	if (copy_from_user(&up, arg, sizeof(up)))
		return -EFAULT;
	if (!up.nr || up.resv || up.resv2)
		return -EINVAL;
	return buffers ? io_bufs_update(ctx, &up) : io_files_update(ctx, &up);
}

/**
 * io_rsrc_free_all - release what is registered when the ring ends
 * @ctx: the ring, its lock held; no requests are left
 */
void io_rsrc_free_all(struct io_ring_ctx *ctx)
{
	io_unregister_files(ctx);
	io_rsrc_table_free(ctx, &ctx->buf_table);
	io_personalities_free(ctx);
	if (ctx->account.charged)
		io_account_put(ctx->account.charged);
	ctx->account.charged = NULL;
}
