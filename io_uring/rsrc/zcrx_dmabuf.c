// SPDX-License-Identifier: GPL-2.0
/* io_uring: areas for zero copy receives in a dma-buf */

/*
 * The memory of a dma-buf belongs to a driver, for example to that of a graphics card.  That driver
 * maps it for the DMA of the network device, which writes data to it.  The kernel does not.  It
 * stays mapped until page pools have given all of it back.
 */
#include <linux/device.h>
#include <linux/dma-buf.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/netmem.h>
#include <net/page_pool/memory_provider.h>

#include "rsrc/zcrx.h"

/**
 * struct io_zcrx_dmabuf - the memory of an area
 * @buf: the dma-buf
 * @dma: does the DMA; with a reference, while @attachment is there
 * @attachment: made by io_zcrx_dmabuf_map(), or NULL
 * @sgt: the addresses for DMA, while @attachment is there
 */
struct io_zcrx_dmabuf {
	struct dma_buf			*buf;
	struct device			*dma;
	struct dma_buf_attachment	*attachment;
	struct sg_table			*sgt;
};

/**
 * io_zcrx_dmabuf_get - get a dma-buf
 * @fd: descriptor, from the program
 * @len: the length of the dma-buf according to the program
 *
 * Return: the memory; or an ERR_PTR(): -EBADF, -EINVAL for another file or another length, -ENOMEM
 */
struct io_zcrx_dmabuf *io_zcrx_dmabuf_get(int fd, u64 len)
{
	struct dma_buf *buf = dma_buf_get(fd);
	struct io_zcrx_dmabuf *dmabuf;
	int ret = -EINVAL;

	if (IS_ERR(buf))
		return ERR_CAST(buf);
	if (buf->size != len)
		goto put;
	ret = -ENOMEM;
	dmabuf = kzalloc_obj(*dmabuf, GFP_KERNEL_ACCOUNT);
	if (!dmabuf)
		goto put;
	dmabuf->buf = buf;
	return dmabuf;
put:
	dma_buf_put(buf);
	return ERR_PTR(ret);
}

/**
 * io_zcrx_dmabuf_put - undo io_zcrx_dmabuf_get() and io_zcrx_dmabuf_map()
 * @dmabuf: the memory, or NULL
 *
 * Context: Task context.  May sleep.
 */
void io_zcrx_dmabuf_put(struct io_zcrx_dmabuf *dmabuf)
{
	if (!dmabuf)
		return;
	if (dmabuf->attachment) {
		dma_buf_unmap_attachment_unlocked(dmabuf->attachment, dmabuf->sgt,
						  DMA_FROM_DEVICE);
		dma_buf_detach(dmabuf->buf, dmabuf->attachment);
		put_device(dmabuf->dma);
	}
	dma_buf_put(dmabuf->buf);
	kfree(dmabuf);
}

/* Set the addresses of all chunks.  Return: 0 or a negative errno. */
static int io_zcrx_dmabuf_set_addrs(const struct sg_table *sgt, struct io_zcrx_area *area,
				    u32 shift, struct net_iov *niovs)
{
	struct scatterlist *sg;
	size_t left;
	dma_addr_t addr;
	u32 nr = 0;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (sg_dma_len(sg) & ((1UL << shift) - 1))
			return -ERANGE;
		addr = sg_dma_address(sg);
		for (left = sg_dma_len(sg) >> shift; left; left--, addr += 1UL << shift) {
			if (nr == area->nr_chunks)
				return -EINVAL;
			if (net_mp_niov_set_dma_addr(&niovs[nr++], addr))
				return -EFAULT;
			cond_resched();
		}
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return nr == area->nr_chunks ? 0 : -EINVAL;
}

/**
 * io_zcrx_dmabuf_map - map a dma-buf for DMA
 * @area: the area; io_zcrx_dmabuf_put() undoes the mapping, also after an error
 * @dma: does the DMA
 * @shift: log2 of the bytes of a chunk
 * @niovs: the chunks; get their addresses
 *
 * The driver that made the dma-buf may move its memory as soon as it is unmapped.
 *
 * Context: Task context.  May sleep, and waits for that driver.
 *
 * Return: 0; -ERANGE if a chunk would not be contiguous; -EINVAL if the dma-buf has another length;
 * -EFAULT; -EINTR for a signal; or another error of that driver
 */
int io_zcrx_dmabuf_map(struct io_zcrx_area *area, struct device *dma, u32 shift,
		       struct net_iov *niovs)
{
	struct io_zcrx_dmabuf *dmabuf = area->dmabuf;
	struct dma_buf_attachment *attachment = dma_buf_attach(dmabuf->buf, dma);
	int ret;

	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	dmabuf->sgt = dma_buf_map_attachment_unlocked(attachment, DMA_FROM_DEVICE);
	if (IS_ERR(dmabuf->sgt)) {
		dma_buf_detach(dmabuf->buf, attachment);
		ret = PTR_ERR(dmabuf->sgt);
		return ret == -ERESTARTSYS ? -EINTR : ret;
	}
	dmabuf->dma = get_device(dma);
	dmabuf->attachment = attachment;
	return io_zcrx_dmabuf_set_addrs(dmabuf->sgt, area, shift, niovs);
}
