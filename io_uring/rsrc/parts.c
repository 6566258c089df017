// SPDX-License-Identifier: GPL-2.0
/* io_uring: parts of a registered buffer, for requests with a vector */

/*
 * Each entry of a request's vector is a range of the registered buffer.  The request gets a buffer
 * of its own, whose segments are those of the ranges, one after the other.  In this buffer, offsets
 * count the bytes of the vector.  So a request with a vector makes its attempts in the same way as
 * a request with one range.
 *
 * The request's buffer holds the request's reference to the registered buffer.  As the request is
 * its only user, the ring lock is not needed to make or replace it.  The segments stay in memory
 * until the request is freed, as a device or a packet may use them until then.  The ring keeps the
 * memory of small buffers for later requests.
 */
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "rsrc/bufs.h"

/**
 * struct io_buf_parts - parts of a registered buffer
 * @buf: the buffer that the request uses
 * @whole: the registered buffer, with a reference
 * @next: (R) next in ctx->bufs.spare, if no request uses this memory
 * @small: true if there is memory for IO_PARTS_SMALL segments, false for more
 * @map: segments of the parts; ->release only tells whether @whole is a driver's buffer, and ->priv
 *	has the vector if @buf has no segments
 */
struct io_buf_parts {
	struct io_buf_node	buf;
	union {
		struct io_rsrc_node	*whole;
		struct io_buf_parts	*next;
	};
	bool			small;
	struct io_mapped_ubuf	map;
};

/* most segments of a request, besides the incomplete ones; their array then has 4 MiB */
#define IO_PARTS_MAX	(SZ_4M / sizeof(struct bio_vec))
/* segments of a small buffer, which has an object of 2 KiB */
#define IO_PARTS_SMALL	((SZ_2K - sizeof(struct io_buf_parts)) / sizeof(struct bio_vec))
/* most small buffers whose memory a ring keeps */
#define IO_PARTS_SPARE	64

static struct io_buf_parts *io_buf_parts(struct io_rsrc_node *node)
{
	return container_of(io_buf_node(node), struct io_buf_parts, buf);
}

/* Get memory for @nr segments.  Return: NULL without memory. */
static struct io_buf_parts *io_buf_parts_alloc(struct io_ring_ctx *ctx, unsigned int nr,
					       bool locked)
{
	struct io_buf_parts *parts;

	if (locked)
		io_assert_ring(ctx);
	if (locked && ctx->bufs.spare && nr <= IO_PARTS_SMALL) {
		parts = ctx->bufs.spare;
		ctx->bufs.spare = parts->next;
		ctx->bufs.nr_spare--;
		return parts;
	}
	nr = max(nr, IO_PARTS_SMALL);
	parts = kvmalloc(struct_size(parts, map.bvec, nr), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (parts)
		parts->small = nr == IO_PARTS_SMALL;
	return parts;
}

/* Keep the memory for a later request, or free it. */
static void io_buf_parts_free(struct io_ring_ctx *ctx, struct io_buf_parts *parts, bool locked)
{
	if (!locked || !parts->small || ctx->bufs.nr_spare >= IO_PARTS_SPARE) {
		kvfree(parts);
		return;
	}
	io_assert_ring(ctx);
	parts->next = ctx->bufs.spare;
	ctx->bufs.spare = parts;
	ctx->bufs.nr_spare++;
}

/* The request is freed; ring lock held. */
static void io_buf_parts_release(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	struct io_buf_parts *parts = io_buf_parts(node);

	io_node_put(ctx, parts->whole);
	io_buf_parts_free(ctx, parts, true);
}

/**
 * io_parts_free - free the memory that a ring keeps for parts
 * @ctx: a ring that ends
 */
void io_parts_free(struct io_ring_ctx *ctx)
{
	struct io_buf_parts *parts;

	while ((parts = ctx->bufs.spare)) {
		ctx->bufs.spare = parts->next;
		kvfree(parts);
	}
}

/* Return: the segment with the byte at @offset; *@skip becomes the byte's offset in the segment. */
static const struct bio_vec *io_buf_find(const struct io_buf_node *buf, u32 offset, u32 *skip)
{
	const struct bio_vec *bvec = buf->bvec;

	if (likely(buf->shift)) {
		u32 pos = offset + buf->head;
		u32 first = pos >> buf->shift;

		*skip = first ? pos & ((1U << buf->shift) - 1) : offset;
		return bvec + first;
	}
	for (; offset >= bvec->bv_len; bvec++)
		offset -= bvec->bv_len;
	*skip = offset;
	return bvec;
}

/* Return: the number of segments of a range of a driver's buffer. */
static unsigned int io_buf_count(const struct io_buf_node *buf, u32 offset, u32 len)
{
	const struct bio_vec *bvec, *first;
	u32 skip;

	first = io_buf_find(buf, offset, &skip);
	len += skip;
	for (bvec = first; len > bvec->bv_len; bvec++)
		len -= bvec->bv_len;
	return bvec - first + 1;
}

/* Store the segments of a range, which is not empty, at @to.  Return: the end of them. */
static struct bio_vec *io_buf_split(const struct io_buf_node *buf, u32 offset, u32 left,
				    struct bio_vec *to)
{
	const struct bio_vec *bvec;
	u32 skip;

	bvec = io_buf_find(buf, offset, &skip);
	do {
		u32 at = bvec->bv_offset + skip;
		u32 len = min(bvec->bv_len - skip, left);

		bvec_set_page(to++, bvec->bv_page + (at >> PAGE_SHIFT), len, offset_in_page(at));
		left -= len;
		bvec++;
		skip = 0;
	} while (left);
	return to;
}

/*
 * Check the ranges, and add up their bytes.  *@nr_bvecs becomes a number of segments that is large
 * enough.  In user memory, each range has up to two incomplete segments.
 *
 * Return: 0 or a negative errno.
 */
static int io_buf_measure(const struct io_buf_node *buf, int ddir, const struct iovec *iov,
			  unsigned int nr, unsigned int *nr_bvecs, u32 *len)
{
	unsigned int i, nr_segs = 0;
	u64 sum = 0;

	for (i = 0; i < nr; i++) {
		/* as on Linux 7.3, an empty entry is an error, unlike in READV */
		if (!iov[i].iov_len ||
		    !io_buf_covers(buf, ddir, (uintptr_t)iov[i].iov_base, iov[i].iov_len))
			return -EFAULT;
		sum += iov[i].iov_len;
	}
	if (sum > MAX_RW_COUNT)
		return -EINVAL;
	*len = sum;
	if (likely(buf->shift)) {
		nr_segs = sum >> buf->shift;
		*nr_bvecs = nr_segs + 2 * nr;
		return nr_segs > IO_PARTS_MAX ? -ENOMEM : 0;
	}
	/* in a driver's buffer, addresses are offsets */
	for (i = 0; i < nr && nr_segs <= IO_PARTS_MAX; i++) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		nr_segs += io_buf_count(buf, (uintptr_t)iov[i].iov_base, iov[i].iov_len);
	}
	*nr_bvecs = nr_segs;
	return nr_segs > IO_PARTS_MAX ? -ENOMEM : 0;
}

/**
 * io_parts_by_address - let a request use the addresses of its vector, as a READV does
 * @req: a request whose parts of user memory io_buf_gather() has set
 * @iov: the same vector, which exists as long as @req
 * @nr: number of entries
 *
 * The request keeps its reference to the registered buffer.
 */
void io_parts_by_address(struct io_kiocb *req, struct iovec *iov, unsigned int nr)
{
	struct io_buf_parts *parts = io_buf_parts(req->buf_node);

	parts->buf.bvec = NULL;
	parts->map.nr_bvecs = nr;
	parts->map.priv = iov;
}

/**
 * io_buf_gather - let a request use parts of its registered buffer
 * @req: a request with a registered buffer
 * @ddir: ITER_DEST or ITER_SOURCE
 * @iov: the parts in the order of their use, with addresses as for io_buf_covers()
 * @nr: number of parts
 * @issue_flags: as for ->issue()
 *
 * Afterwards ->buf_node has the parts, and nothing else: the first byte has the address 0.  A
 * repeated call replaces the parts.
 *
 * Context: Task context.  May sleep.  The caller holds the ring lock unless @issue_flags has
 * %IO_URING_F_UNLOCKED.
 *
 * Return: number of bytes; -EFAULT for an empty part, or one that is not in the buffer; -EINVAL for
 * too many bytes; -ENOMEM, also for too many segments; for a driver's buffer, -EINTR after a kill.
 * On failure ->buf_node stays as it is.
 */
int io_buf_gather(struct io_kiocb *req, int ddir, const struct iovec *iov, unsigned int nr,
		  unsigned int issue_flags)
{
	bool locked = !(issue_flags & IO_URING_F_UNLOCKED);
	struct io_rsrc_node *node = req->buf_node, *whole = node;
	bool again = node->release == io_buf_parts_release;
	const struct io_buf_node *buf;
	struct io_buf_parts *parts;
	unsigned int i, nr_bvecs;
	struct bio_vec *to;
	u32 len;
	int ret;

	if (again)
		whole = io_buf_parts(node)->whole;
	buf = io_buf_node(whole);
	ret = io_buf_measure(buf, ddir, iov, nr, &nr_bvecs, &len);
	if (ret)
		return ret;
	parts = io_buf_parts_alloc(req->ctx, nr_bvecs, locked);
	if (!parts)
		return -ENOMEM;
	io_rsrc_node_init(&parts->buf.node, io_buf_parts_release);
	parts->buf.ubuf = 0;
	parts->buf.len[ddir] = len;
	parts->buf.len[!ddir] = 0;
	parts->buf.head = 0;
	parts->buf.shift = 0;
	parts->buf.bvec = parts->map.bvec;
	parts->buf.map = &parts->map;
	parts->whole = whole;
	parts->map.release = buf->map->release;
	to = parts->map.bvec;
	for (i = 0; i < nr; i++) {
		to = io_buf_split(buf, (uintptr_t)iov[i].iov_base - buf->ubuf, iov[i].iov_len, to);
		cond_resched();
	}
	parts->map.nr_bvecs = to - parts->map.bvec;
	if (again)
		io_buf_parts_free(req->ctx, io_buf_parts(node), locked);
	req->buf_node = &parts->buf.node;
	return len;
}
