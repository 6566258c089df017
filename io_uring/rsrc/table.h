/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: tables of registered files and buffers: slots, nodes, tags */
#ifndef IO_RSRC_TABLE_H
#define IO_RSRC_TABLE_H

#include <linux/nospec.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/node.h"

int io_rsrc_table_alloc(struct io_rsrc_table *table, unsigned int nr);
void io_rsrc_table_free(struct io_ring_ctx *ctx, struct io_rsrc_table *table);
void io_rsrc_table_unregister(struct io_ring_ctx *ctx, struct io_rsrc_table *table);
int io_rsrc_check_range(const struct io_rsrc_table *table, u32 offset, u32 nr);
void io_rsrc_set_slot(struct io_ring_ctx *ctx, struct io_rsrc_table *table, unsigned int slot,
		      struct io_rsrc_node *node);
u64 *io_rsrc_copy_tags(const u64 __user *tags, unsigned int nr);
void io_rsrc_post_tag(struct io_ring_ctx *ctx, struct io_rsrc_node *node);
int io_rsrc_read_register(struct io_uring_rsrc_register *reg, void __user *arg, unsigned int size);
int io_update_rsrc(struct io_ring_ctx *ctx, void __user *arg, unsigned int size, bool buffers);
void io_rsrc_free_all(struct io_ring_ctx *ctx);

/**
 * io_rsrc_find - find the node in a slot
 * @table: the table; the ring lock is held
 * @slot: number of the slot, from the program
 *
 * Return: the node without a reference; NULL if the slot is empty or does not exist.
 */
static inline struct io_rsrc_node *io_rsrc_find(const struct io_rsrc_table *table,
						unsigned int slot)
{
	if (unlikely(slot >= table->nr))
		return NULL;
	return table->nodes[array_index_nospec(slot, table->nr)];
}

/* Initialize a node without a tag, with one reference for the slot. */
static inline void io_rsrc_node_init(struct io_rsrc_node *node,
				     void (*release)(struct io_ring_ctx *ctx,
						     struct io_rsrc_node *node))
{
	node->refs = 1;
	node->owed = false;
	node->tag = 0;
	node->release = release;
}

#endif
