/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: user memory pinned for registered buffers */
#ifndef IO_RSRC_MAP_H
#define IO_RSRC_MAP_H

#include <linux/bvec.h>
#include <linux/refcount.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "ctx.h"

struct io_mem_account;

/**
 * struct io_mapped_ubuf - memory of a registered buffer and of its clones in other rings
 * @refs: (A) number of nodes that use the memory
 * @nr_bvecs: (-) entries of @bvec
 * @shift: (-) log2 of the bytes in a full segment; 0 if segments have any size
 * @account: (-) account that is charged for user memory, with a reference; NULL for driver memory
 * @release: (-) for a driver's memory: called with @priv when the last node is gone, else NULL
 * @priv: (-) argument of @release
 * @bvec: (-) segments of the memory.  With @shift all are full except the first, which has the
 *	end of a full segment, and the last, which has the start of a full segment
 */
struct io_mapped_ubuf {
	refcount_t	refs;
	unsigned int	nr_bvecs;
	unsigned int	shift;
	struct io_mem_account	*account;
	void		(*release)(void *priv);
	void		*priv;
	struct bio_vec	bvec[] __counted_by(nr_bvecs);
};

struct io_mapped_ubuf *io_map_alloc(unsigned int nr_bvecs);
struct io_mapped_ubuf *io_map_pin(struct io_ring_ctx *ctx, unsigned long uaddr, size_t len);
void io_map_put(struct io_mapped_ubuf *map);

#endif
