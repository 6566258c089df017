// SPDX-License-Identifier: GPL-2.0
/* io_uring: parts of a registered buffer, for requests with a vector */

/*
 * Each entry of a request's vector is a range of the registered buffer.  The request gets a buffer
 * of its own, whose segments are those of the ranges, one after the other.  In this buffer, offsets
 * count the bytes of the vector.  So a request with a vector makes its attempts in the same way as
 * a request with one range.
 *
 * The request's buffer holds the request's reference to the registered buffer.  As the request is
 * its only user, it is made and replaced without the ring lock.  The segments stay in memory until
 * the request is freed, as a device or a packet may use them until then.  The ring keeps the memory
 * of one buffer for the next request.
 */
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "rsrc/bufs.h"

/**
 * struct io_buf_parts - parts of a registered buffer
 * @buf: the buffer that the request uses
 * @whole: the registered buffer, with a reference
 * @nr_max: number of segments for which there is memory
 * @map: segments of the parts; ->release only tells whether @whole is a driver's buffer
 */
struct io_buf_parts {
	struct io_buf_node	buf;
	struct io_rsrc_node	*whole;
	unsigned int		nr_max;
	struct io_mapped_ubuf	map;
};

/* most segments of a request; their array then has 4 MiB */
#define IO_PARTS_MAX	(SZ_4M / sizeof(struct bio_vec))
/* most segments for which the ring keeps memory */
#define IO_PARTS_KEPT	(SZ_64K / sizeof(struct bio_vec))

static struct io_buf_parts *io_buf_parts(struct io_rsrc_node *node)
{
	return container_of(io_buf_node(node), struct io_buf_parts, buf);
}

/* Get memory for @nr segments.  Return: NULL without memory. */
static struct io_buf_parts *io_buf_parts_alloc(struct io_ring_ctx *ctx, unsigned int nr)
{
	struct io_buf_parts *parts = xchg(&ctx->bufs.spare, NULL);

	if (parts && parts->nr_max >= nr)
		return parts;
	kvfree(parts);
	parts = kvmalloc(struct_size(parts, map.bvec, nr), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (parts)
		parts->nr_max = nr;
	return parts;
}

/* Keep the memory for the next request, or free it. */
static void io_buf_parts_free(struct io_ring_ctx *ctx, struct io_buf_parts *parts)
{
	if (parts->nr_max <= IO_PARTS_KEPT)
		parts = xchg(&ctx->bufs.spare, parts);
	kvfree(parts);
}

static void io_buf_parts_release(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	struct io_buf_parts *parts = io_buf_parts(node);

	io_node_put(ctx, parts->whole);
	io_buf_parts_free(ctx, parts);
}

/**
 * io_parts_free - free the memory that a ring keeps for parts
 * @ctx: a ring that ends
 */
void io_parts_free(struct io_ring_ctx *ctx)
{
	kvfree(ctx->bufs.spare);
	ctx->bufs.spare = NULL;
}

/* Set up an iterator over a range, which is a part of the buffer. */
static void io_buf_range(const struct io_buf_node *buf, int ddir, const struct iovec *range,
			 struct iov_iter *iter)
{
	io_buf_iter(buf, ddir, (uintptr_t)range->iov_base - buf->ubuf, range->iov_len, iter);
}

/* Return: the number of segments of a range. */
static unsigned int io_buf_count(const struct io_buf_node *buf, int ddir, const struct iovec *range)
{
	const struct bio_vec *bvec;
	struct iov_iter iter;
	size_t left;

	io_buf_range(buf, ddir, range, &iter);
	if (buf->shift)
		return iter.nr_segs;
	left = range->iov_len + iter.iov_offset;
	for (bvec = iter.bvec; left > bvec->bv_len; bvec++)
		left -= bvec->bv_len;
	return bvec - iter.bvec + 1;
}

/* Store the segments of a range at @to.  Return: the end of them. */
static struct bio_vec *io_buf_split(const struct io_buf_node *buf, int ddir,
				    const struct iovec *range, struct bio_vec *to)
{
	size_t left = range->iov_len;
	const struct bio_vec *bvec;
	struct iov_iter iter;
	u32 skip;

	io_buf_range(buf, ddir, range, &iter);
	skip = iter.iov_offset;
	for (bvec = iter.bvec; left; bvec++, skip = 0) {
		u32 at = bvec->bv_offset + skip;
		u32 len = min_t(size_t, bvec->bv_len - skip, left);

		bvec_set_page(to++, bvec->bv_page + (at >> PAGE_SHIFT), len, offset_in_page(at));
		left -= len;
	}
	return to;
}

/* Check the ranges, and count their segments and bytes.  Return: 0 or a negative errno. */
static int io_buf_measure(const struct io_buf_node *buf, int ddir, const struct iovec *iov,
			  unsigned int nr, unsigned int *nr_bvecs, u32 *len)
{
	unsigned int i;
	u64 sum = 0;

	*nr_bvecs = 0;
	for (i = 0; i < nr; i++) {
		/* as on Linux 7.3, an empty entry is an error, unlike in READV */
		if (!iov[i].iov_len ||
		    !io_buf_covers(buf, ddir, (uintptr_t)iov[i].iov_base, iov[i].iov_len))
			return -EFAULT;
		sum += iov[i].iov_len;
	}
	if (sum > MAX_RW_COUNT)
		return -EINVAL;
	for (i = 0; i < nr && *nr_bvecs <= IO_PARTS_MAX; i++) {
		if (fatal_signal_pending(current))
			return -EINTR;
		*nr_bvecs += io_buf_count(buf, ddir, &iov[i]);
	}
	*len = sum;
	return *nr_bvecs > IO_PARTS_MAX ? -ENOMEM : 0;
}

/**
 * io_buf_gather - let a request use parts of its registered buffer
 * @req: a request with a registered buffer
 * @ddir: ITER_DEST or ITER_SOURCE
 * @iov: the parts in the order of their use, with addresses as for io_buf_covers()
 * @nr: number of parts
 *
 * Afterwards ->buf_node has the parts, and nothing else: the first byte has the address 0.  A
 * repeated call replaces the parts.
 *
 * Context: Task context.  May sleep.
 *
 * Return: number of bytes; -EFAULT for an empty part, or one that is not in the buffer; -EINVAL for
 * too many bytes; -ENOMEM, also for too many segments; -EINTR after a kill.  On failure ->buf_node
 * stays as it is.
 */
int io_buf_gather(struct io_kiocb *req, int ddir, const struct iovec *iov, unsigned int nr)
{
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
	parts = io_buf_parts_alloc(req->ctx, nr_bvecs);
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
	parts->map.nr_bvecs = nr_bvecs;
	parts->map.release = buf->map->release;
	to = parts->map.bvec;
	for (i = 0; i < nr; i++) {
		to = io_buf_split(buf, ddir, &iov[i], to);
		cond_resched();
	}
	if (again)
		io_buf_parts_free(req->ctx, io_buf_parts(node));
	req->buf_node = &parts->buf.node;
	return len;
}
