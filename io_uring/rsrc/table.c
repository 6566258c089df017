// SPDX-License-Identifier: GPL-2.0
/* io_uring: tables of registered files and buffers: slots, nodes, tags */

/*
 * A table is an array of pointers to nodes, NULL for an empty slot.  The slot
 * holds a reference to its node, and so does each request that uses the file or
 * the buffer.  The reference count is a plain integer that changes only under the
 * ring lock.
 *
 * A node in a slot never changes its file or buffer: an update makes a new node
 * and drops the slot's reference to the old node.  The old file or buffer stays for
 * as long as requests use it.  The last of these requests releases it, and posts the
 * CQE of the tag, if any.  Only IORING_UNREGISTER_BUFFERS waits for these requests.
 *
 * Context: Task context.  Holds the ring lock.  May sleep.  The program chooses
 * the size of a table, so loops over slots call cond_resched().
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
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
 * @table: the table, not in use
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
 * io_rsrc_table_free - drop all nodes of a table and free the table
 * @ctx: the ring, its lock held
 * @table: the table, which may be empty; it is empty afterwards
 *
 * The tags of the nodes are cleared.  Callers are the end of a ring and a failed registration.
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
 * io_rsrc_check_range - check whether slots can be updated
 * @table: the table
 * @offset: first slot
 * @nr: number of slots
 *
 * Return: 0; -EOVERFLOW if @offset + @nr wraps, -ENXIO without a table, -EINVAL
 * for slots beyond the end of the table.
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
 * Count a tagged node that leaves its slot while requests use the node.  The last of these requests
 * posts two CQEs, its own and that of the tag.  io_ring_is_urgent() depends on this count.
 */
static void io_rsrc_owe_tag(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	node->owed = true;
	WRITE_ONCE(ctx->tags_owed, ctx->tags_owed + 1);
	/* a worker, or a task that sends a file, may change the slot while the owner sleeps */
	io_owner_wake_recount(ctx);
}

/**
 * io_rsrc_set_slot - replace the node in a slot
 * @ctx: the ring, its lock held
 * @table: a table of the ring
 * @slot: a slot that exists
 * @node: the new node, whose reference passes to the slot; NULL to empty the slot
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
 * io_rsrc_table_unregister - unregister all nodes of a table and free the table
 * @ctx: the ring, its lock held
 * @table: the table; it is empty afterwards
 *
 * Tags are posted as if each slot were updated, from the last slot to the first, as in 7.3.  The
 * tag of a node in use is posted when its last request ends.  A fatal signal drops the tags that
 * are left.
 */
void io_rsrc_table_unregister(struct io_ring_ctx *ctx, struct io_rsrc_table *table)
{
	unsigned int i;

	for (i = table->nr; i-- && !fatal_signal_pending(current); ) {
		cond_resched();
		io_rsrc_set_slot(ctx, table, i, NULL);
	}
	io_rsrc_table_free(ctx, table);
}

/**
 * io_rsrc_copy_tags - copy the tags for a new table
 * @tags: array in user space, one tag per slot; NULL for none
 * @nr: number of slots
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
 * io_rsrc_post_tag - post the CQE of a node's tag, if any, after the node's last use
 * @ctx: the ring, its lock held
 * @node: the node that is being released
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
 * io_rsrc_read_register - read the argument of IORING_REGISTER_FILES2 and _BUFFERS2
 * @reg: result
 * @arg: struct io_uring_rsrc_register in user space
 * @size: size of the struct, from the program
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
 * io_update_rsrc - handle IORING_REGISTER_FILES_UPDATE2 and IORING_REGISTER_BUFFERS_UPDATE
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_rsrc_update2 in user space
 * @size: size of the struct, from the program
 * @buffers: true for the table of buffers, false for the table of files
 *
 * Return: number of slots that were handled, or a negative errno if there are none.
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
 * io_rsrc_free_all - release all registered resources of a ring that ends
 * @ctx: the ring, its lock held; no requests are left
 */
void io_rsrc_free_all(struct io_ring_ctx *ctx)
{
	io_files_free(ctx);
	io_rsrc_table_free(ctx, &ctx->buf_table);
	io_parts_free(ctx);
	io_personalities_free(ctx);
	if (ctx->account.charged)
		io_account_put(ctx->account.charged);
	ctx->account.charged = NULL;
}
