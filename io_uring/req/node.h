/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: registered files and buffers as requests reference them */
#ifndef IO_REQ_NODE_H
#define IO_REQ_NODE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_REQ
#error "req/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"
#include "ring/locks.h"

/**
 * struct io_rsrc_node - the common part of a registered file or buffer
 * @refs: (R) one for the table slot, one for each request that uses the node.  A plain integer
 *	under the ring lock makes a registered resource cheaper than an atomic reference
 *	for each request
 * @tag: posted as user_data after the last reference is dropped, 0 for none
 * @owed: (R) the node has left its slot, but requests use it; counted in ctx->tags_owed
 * @release: posts the CQE of @tag and frees the node; ring lock held
 */
struct io_rsrc_node {
	unsigned int	refs;
	bool		owed;
	u64		tag;
	void		(*release)(struct io_ring_ctx *ctx, struct io_rsrc_node *node);
};

static inline struct io_rsrc_node *io_node_get(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	io_assert_ring(ctx);
	node->refs++;
	return node;
}

static inline void io_node_put(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	io_assert_ring(ctx);
	if (!--node->refs)
		node->release(ctx, node);
}

#endif
