// SPDX-License-Identifier: GPL-2.0
/* io_uring: queues for zero copy receives whose data a network device writes */

/*
 * A receive queue of a network device has a page pool, which the driver takes memory for data from.
 * Here a queue for zero copy receives becomes the memory provider of that page pool, so that the
 * device writes data to the areas of the program.
 *
 * A chunk of an area is one of
 *
 *   free		in area->free
 *   pooled		a page pool has it: for the driver, or in a socket buffer
 *   copied to		the program has it, io_zcrx_take() gave it away
 *
 * The program has a reference to a pooled chunk for each piece of data there, as each fragment of a
 * socket buffer has.  With the last reference the chunk becomes free for the driver.
 *
 * The device can go away at any time, and the program can end while data is in the queues of
 * sockets.  So pinned memory is unmapped from the device when the receive queue does not use it any
 * more.  The page pool may get the last chunks back much later.  A dma-buf stays mapped until then.
 *
 * Locks are taken in this order: the ring lock, that of the network device, that of a card whose
 * queue is leased to that device, device->lock, zcrx->lock.
 */
#include <linux/dma-mapping.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/netdev_lock.h>
#include <net/netdev_queues.h>
#include <net/netdev_rx_queue.h>
#include <net/netlink.h>
#include <net/page_pool/helpers.h>
#include <net/page_pool/memory_provider.h>
#include <uapi/linux/netdev.h>

#include "rsrc/zcrx.h"

/* the page pool and the driver synchronize what the device has written */
#define IO_ZCRX_DMA	(DMA_ATTR_SKIP_CPU_SYNC | DMA_ATTR_WEAK_ORDERING)
/* most entries of the refill ring that one call of the page pool reads, in a softirq */
#define IO_ZCRX_SOFTIRQ	(16 * IO_ZCRX_BATCH)

/**
 * struct io_zcrx_device - the receive queue of a network device
 * @zcrx: the queue that provides its memory
 * @lock: protects @netdev, and serializes mapping and unmapping of areas
 * @netdev: the network device, or NULL once it does not use the areas any more; changes under @lock
 * @tracker: reference to @netdev
 * @rxq: (-) number of the receive queue
 * @open: true after netif_mp_open_rxq(), under the lock of @netdev
 * @dma: does the DMA; its reference is dropped with that to @netdev
 * @starved: queued to report that the page pool found no free chunk
 */
struct io_zcrx_device {
	struct io_zcrx		*zcrx;
	/* see above */
	struct mutex		lock;
	struct net_device	*netdev;
	netdevice_tracker	tracker;
	u32			rxq;
	bool			open;
	struct device		*dma;
	struct work_struct	starved;
};

/**
 * struct io_zcrx_niovs - the chunks of an area, for page pools
 * @base: what the network code knows of them
 * @area: the area
 * @nr_mapped: number of chunks that are mapped for DMA, under device->lock; 0 for a dma-buf
 * @niovs: the chunks
 */
struct io_zcrx_niovs {
	struct net_iov_area	base;
	struct io_zcrx_area	*area;
	u32			nr_mapped;
	struct net_iov		niovs[];
};

static const struct memory_provider_ops io_zcrx_provider;

static void io_zcrx_starved(struct work_struct *work)
{
	struct io_zcrx_device *device = container_of(work, struct io_zcrx_device, starved);

	io_zcrx_report(device->zcrx, ZCRX_EVENT_ALLOC_FAIL);
	io_zcrx_unref(device->zcrx);
}

/* Return: what does the DMA of a receive queue, with a reference; or an ERR_PTR(). */
static struct device *io_zcrx_get_dma(struct net_device *netdev, u32 rxq)
{
	struct device *dma = ERR_PTR(-ENODEV);

	netdev_lock(netdev);
	if (netdev->reg_state == NETREG_REGISTERED) {
		/* the memory is checked before netif_mp_open_rxq() refuses other numbers */
		if (rxq >= netdev->real_num_rx_queues)
			rxq = 0;
		dma = get_device(netdev_queue_get_dma_dev(netdev, rxq, NETDEV_QUEUE_TYPE_RX));
	}
	netdev_unlock(netdev);
	return dma ?: ERR_PTR(-EOPNOTSUPP);
}

/*
 * Find a network device, and what does the DMA of a receive queue of it.
 * Return: the latter, with references to both; -ENODEV or -EOPNOTSUPP as an ERR_PTR().
 */
static struct device *io_zcrx_find_dma(u32 if_idx, u32 rxq, struct net_device **netdev,
				       netdevice_tracker *tracker)
{
	struct device *dma;

	*netdev = netdev_get_by_index(current->nsproxy->net_ns, if_idx, tracker, GFP_KERNEL);
	if (!*netdev)
		return ERR_PTR(-ENODEV);
	dma = io_zcrx_get_dma(*netdev, rxq);
	if (IS_ERR(dma))
		netdev_put(*netdev, tracker);
	return dma;
}

/**
 * io_zcrx_device_find - find the network device of a queue
 * @zcrx: the queue
 * @if_idx: index of the network device in the network namespace of current
 * @rxq: number of its receive queue, from the program
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -ENODEV if there is no such device; -EOPNOTSUPP if it does no DMA; -ENOMEM
 */
int io_zcrx_device_find(struct io_zcrx *zcrx, u32 if_idx, u32 rxq)
{
	struct io_zcrx_device *device = kzalloc_obj(*device, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!device)
		return -ENOMEM;
	device->zcrx = zcrx;
	device->rxq = rxq;
	mutex_init(&device->lock);
	INIT_WORK(&device->starved, io_zcrx_starved);
	device->dma = io_zcrx_find_dma(if_idx, rxq, &device->netdev, &device->tracker);
	if (IS_ERR(device->dma)) {
		ret = PTR_ERR(device->dma);
		kfree(device);
		return ret;
	}
	zcrx->device = device;
	return 0;
}

/**
 * io_zcrx_device_check - look whether io_zcrx_device_find() would find a network device
 * @if_idx: as for io_zcrx_device_find()
 * @rxq: as for io_zcrx_device_find()
 *
 * No reference is kept, so that the device can go away while user memory is faulted in.
 *
 * Context: Task context.  May sleep.
 *
 * Return: as io_zcrx_device_find()
 */
int io_zcrx_device_check(u32 if_idx, u32 rxq)
{
	netdevice_tracker tracker;
	struct net_device *netdev;
	struct device *dma = io_zcrx_find_dma(if_idx, rxq, &netdev, &tracker);

	if (IS_ERR(dma))
		return PTR_ERR(dma);
	put_device(dma);
	netdev_put(netdev, &tracker);
	return 0;
}

/**
 * io_zcrx_device_free - free what io_zcrx_device_find() has allocated
 * @zcrx: the queue, whose device has been closed
 */
void io_zcrx_device_free(struct io_zcrx *zcrx)
{
	kfree(zcrx->device);
}

/* Lock the network device.  Return: the device; NULL if it does not use the areas any more. */
static struct net_device *io_zcrx_lock_netdev(struct io_zcrx *zcrx, netdevice_tracker *tracker)
{
	struct io_zcrx_device *device = zcrx->device;
	struct net_device *netdev;

	scoped_guard(mutex, &device->lock) {
		netdev = device->netdev;
		if (!netdev)
			return NULL;
		netdev_hold(netdev, tracker, GFP_KERNEL);
	}
	netdev_lock(netdev);
	/* it may have gone while this waited for the lock */
	if (READ_ONCE(device->netdev))
		return netdev;
	netdev_unlock(netdev);
	netdev_put(netdev, tracker);
	return NULL;
}

static void io_zcrx_unlock_netdev(struct net_device *netdev, netdevice_tracker *tracker)
{
	netdev_unlock(netdev);
	netdev_put(netdev, tracker);
}

static void io_zcrx_params(struct io_zcrx *zcrx, struct pp_memory_provider_params *params)
{
	*params = (struct pp_memory_provider_params){
		.mp_ops		= &io_zcrx_provider,
		.mp_priv	= zcrx,
		.rx_page_size	= zcrx->shift == PAGE_SHIFT ? 0 : 1U << zcrx->shift,
	};
}

/**
 * io_zcrx_device_open - let a receive queue use the areas
 * @zcrx: the queue
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -ENODEV; or an error of netif_mp_open_rxq(), as -EOPNOTSUPP, -ERANGE for the number of
 * the receive queue, or -EEXIST if that has a memory provider
 */
int io_zcrx_device_open(struct io_zcrx *zcrx)
{
	struct pp_memory_provider_params params;
	struct net_device *netdev;
	netdevice_tracker tracker;
	int ret;

	netdev = io_zcrx_lock_netdev(zcrx, &tracker);
	if (!netdev)
		return -ENODEV;
	io_zcrx_params(zcrx, &params);
	ret = netdev->reg_state != NETREG_REGISTERED ? -ENODEV :
	      netif_mp_open_rxq(netdev, zcrx->device->rxq, &params, NULL);
	zcrx->device->open = !ret;
	io_zcrx_unlock_netdev(netdev, &tracker);
	return ret;
}

static void io_zcrx_unmap_chunk(struct io_zcrx *zcrx, dma_addr_t addr)
{
	dma_unmap_page_attrs(zcrx->device->dma, addr, 1UL << zcrx->shift, DMA_FROM_DEVICE,
			     IO_ZCRX_DMA);
}

static void io_zcrx_unmap_area(struct io_zcrx *zcrx, struct io_zcrx_niovs *niovs)
{
	struct net_iov *niov;

	while (niovs->nr_mapped) {
		niov = &niovs->niovs[--niovs->nr_mapped];
		io_zcrx_unmap_chunk(zcrx, page_pool_get_dma_addr_netmem(net_iov_to_netmem(niov)));
		cond_resched();
	}
}

/*
 * Unmap all pinned memory, and forget the network device, which does not use the areas any more.
 * If that is done, wait until it is complete.
 */
static void io_zcrx_detach(struct io_zcrx *zcrx)
{
	struct io_zcrx_device *device = zcrx->device;
	struct io_zcrx_area *area;
	unsigned long id;

	guard(mutex)(&device->lock);
	if (!device->netdev)
		return;
	/* page_pool_scrub() does not wait for those that have seen pool->dma_sync */
	if (dma_dev_need_sync(device->dma))
		synchronize_net();
	xa_for_each(&zcrx->areas, id, area)
		io_zcrx_unmap_area(zcrx, area->niovs);
	put_device(device->dma);
	netdev_put(device->netdev, &device->tracker);
	WRITE_ONCE(device->netdev, NULL);
}

static int io_zcrx_map_area(struct io_zcrx *zcrx, struct io_zcrx_area *area)
{
	struct io_zcrx_niovs *niovs = area->niovs;
	struct device *dma = zcrx->device->dma;
	int ret = -EFAULT;
	dma_addr_t addr;

	for (niovs->nr_mapped = 0; niovs->nr_mapped < area->nr_chunks; cond_resched()) {
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		addr = dma_map_page_attrs(dma, io_zcrx_page(zcrx, area, niovs->nr_mapped), 0,
					  1UL << zcrx->shift, DMA_FROM_DEVICE, IO_ZCRX_DMA);
		if (dma_mapping_error(dma, addr))
			break;
		if (net_mp_niov_set_dma_addr(&niovs->niovs[niovs->nr_mapped], addr)) {
			io_zcrx_unmap_chunk(zcrx, addr);
			break;
		}
		niovs->nr_mapped++;
	}
	if (niovs->nr_mapped == area->nr_chunks)
		return 0;
	io_zcrx_unmap_area(zcrx, niovs);
	return ret;
}

/* Map a dma-buf, without device->lock, because the driver that made it may be slow. */
static int io_zcrx_map_dmabuf(struct io_zcrx *zcrx, struct io_zcrx_area *area)
{
	struct io_zcrx_device *device = zcrx->device;
	struct device *dma = NULL;
	int ret;

	scoped_guard(mutex, &device->lock)
		if (device->netdev)
			dma = get_device(device->dma);
	if (!dma)
		return -ENODEV;
	ret = io_zcrx_dmabuf_map(area, dma, zcrx->shift, area->niovs->niovs);
	put_device(dma);
	return ret;
}

static struct io_zcrx_niovs *io_zcrx_make_niovs(struct io_zcrx_area *area)
{
	struct io_zcrx_niovs *niovs = kvzalloc(struct_size(niovs, niovs, area->nr_chunks),
					       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	u32 i;

	if (!niovs)
		return NULL;
	niovs->area = area;
	niovs->base.niovs = niovs->niovs;
	niovs->base.num_niovs = area->nr_chunks;
	for (i = 0; i < area->nr_chunks; i++) {
		net_iov_init(&niovs->niovs[i], &niovs->base, NET_IOV_IOURING);
		cond_resched();
	}
	return niovs;
}

/**
 * io_zcrx_device_add - let the receive queue use an area
 * @zcrx: the queue
 * @area: from io_zcrx_area_make()
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0; -ENODEV if the device has gone; -EFAULT if it cannot write to the memory; -ENOMEM;
 * -EINTR for a signal; or another error of io_zcrx_dmabuf_map()
 */
int io_zcrx_device_add(struct io_zcrx *zcrx, struct io_zcrx_area *area)
{
	int ret;

	area->niovs = io_zcrx_make_niovs(area);
	if (!area->niovs)
		return -ENOMEM;
	ret = area->dmabuf ? io_zcrx_map_dmabuf(zcrx, area) : 0;
	if (ret)
		return ret;
	guard(mutex)(&zcrx->device->lock);
	if (!zcrx->device->netdev)
		return -ENODEV;
	if (!area->dmabuf)
		ret = io_zcrx_map_area(zcrx, area);
	if (!ret)
		io_zcrx_area_publish(zcrx, area);
	return ret;
}

/* Drop @nr references to memory of a page pool. */
static void io_zcrx_drop(struct net_iov *niov, unsigned int nr)
{
	netmem_ref netmem = net_iov_to_netmem(niov);
	struct page_pool *pool = netmem_get_pp(netmem);

	if (!page_pool_unref_netmem(netmem, nr))
		page_pool_put_unrefed_netmem(pool, netmem, -1, false);
}

/* Take back all that the program has in an area, so that page pools can end. */
static void io_zcrx_revoke(struct io_zcrx *zcrx, struct io_zcrx_area *area)
{
	struct net_iov *niov;
	u32 i, nr;

	for (i = 0; i < area->nr_chunks; i++) {
		scoped_guard(spinlock_bh, &zcrx->lock) {
			nr = area->given[i];
			area->given[i] = 0;
			niov = nr ? io_zcrx_device_niov(area, i) : NULL;
		}
		if (niov)
			io_zcrx_drop(niov, nr);
		cond_resched();
	}
}

/**
 * io_zcrx_device_close - detach a queue from its device
 * @zcrx: the queue, which has no user any more
 *
 * Context: Task context.  May sleep.
 */
void io_zcrx_device_close(struct io_zcrx *zcrx)
{
	struct pp_memory_provider_params params;
	struct net_device *netdev;
	netdevice_tracker tracker;
	struct io_zcrx_area *area;
	unsigned long id;

	if (!zcrx->device)
		return;
	/* before the page pool ends: it looks only once a second for chunks that are missing */
	xa_for_each(&zcrx->areas, id, area)
		io_zcrx_revoke(zcrx, area);
	netdev = io_zcrx_lock_netdev(zcrx, &tracker);
	if (netdev) {
		io_zcrx_params(zcrx, &params);
		if (zcrx->device->open)
			netif_mp_close_rxq(netdev, zcrx->device->rxq, &params);
		io_zcrx_unlock_netdev(netdev, &tracker);
	}
	io_zcrx_detach(zcrx);
}

static struct io_zcrx_area *io_zcrx_area_of(const struct net_iov *niov)
{
	return container_of(net_iov_owner(niov), struct io_zcrx_niovs, base)->area;
}

/**
 * io_zcrx_device_hold - give the program a piece of data that the device has written
 * @zcrx: the queue
 * @frag: the fragment of a socket buffer; the caller keeps it alive
 * @piece: result; its offset is that of the start of the fragment
 *
 * Return: false if the fragment is not in an area of the queue
 */
bool io_zcrx_device_hold(struct io_zcrx *zcrx, const skb_frag_t *frag, struct io_zcrx_piece *piece)
{
	netmem_ref netmem = skb_frag_netmem(frag);
	struct page_pool *pool;
	struct net_iov *niov;

	if (!netmem_is_net_iov(netmem))
		return false;
	pool = netmem_get_pp(netmem);
	if (!pool || pool->mp_ops != &io_zcrx_provider || pool->mp_priv != zcrx)
		return false;
	niov = netmem_to_net_iov(netmem);
	piece->area = io_zcrx_area_of(niov);
	piece->index = net_iov_idx(niov);
	piece->offset = (piece->area->offset | (u64)piece->index << zcrx->shift) +
			skb_frag_off(frag);
	page_pool_ref_netmem(netmem);
	guard(spinlock_bh)(&zcrx->lock);
	piece->area->given[piece->index]++;
	return true;
}

/**
 * io_zcrx_device_niov - find the chunk of a page pool
 * @area: an area of a device
 * @index: number of the chunk; it is not free
 *
 * Return: the chunk; NULL if no page pool has it
 */
struct net_iov *io_zcrx_device_niov(const struct io_zcrx_area *area, u32 index)
{
	struct net_iov *niov = &area->niovs->niovs[index];

	return niov->desc.pp ? niov : NULL;
}

/**
 * io_zcrx_device_return - give memory back to its page pools
 * @back: the memory
 *
 * Context: Any but hard interrupts, without the lock of a queue.
 */
void io_zcrx_device_return(const struct io_zcrx_returns *back)
{
	unsigned int i;

	for (i = 0; i < back->nr; i++)
		io_zcrx_drop(back->niovs[i], 1);
}

/* Put a chunk without references into the cache of a page pool. */
static void io_zcrx_cache(struct page_pool *pool, struct net_iov *niov)
{
	netmem_ref netmem = net_iov_to_netmem(niov);

	if (pool->dma_sync)
		dma_sync_single_range_for_device(pool->p.dev, page_pool_get_dma_addr_netmem(netmem),
						 pool->p.offset, pool->p.max_len, pool->p.dma_dir);
	net_mp_netmem_place_in_cache(pool, netmem);
}

/* Put chunks that the program gives back into the cache, which is empty. */
static void io_zcrx_cache_returned(struct io_zcrx *zcrx, struct page_pool *pool)
{
	struct io_zcrx_returns back;
	u32 left = min(zcrx->entries, IO_ZCRX_SOFTIRQ), read;
	struct net_iov *niov;
	unsigned int i, nr;

	static_assert(IO_ZCRX_BATCH <= PP_ALLOC_CACHE_SIZE);
	do {
		read = io_zcrx_refill(zcrx, min(left, IO_ZCRX_BATCH), &back);
		left -= read;
		nr = back.nr;
		back.nr = 0;
		for (i = 0; i < nr; i++) {
			niov = back.niovs[i];
			/* the driver has restarted the queue since another page pool got it */
			if (niov->desc.pp != pool)
				back.niovs[back.nr++] = niov;
			else if (page_pool_unref_and_test(net_iov_to_netmem(niov)))
				io_zcrx_cache(pool, niov);
		}
		io_zcrx_device_return(&back);
	} while (!pool->alloc.count && read == IO_ZCRX_BATCH && left);
}

/* Put free chunks into the cache. */
static void io_zcrx_cache_free(struct io_zcrx *zcrx, struct page_pool *pool)
{
	struct io_zcrx_area *area;
	struct net_iov *niov;
	u32 index;

	guard(spinlock_bh)(&zcrx->lock);
	while (pool->alloc.count < PP_ALLOC_CACHE_REFILL) {
		area = io_zcrx_pop(zcrx, &index);
		if (!area)
			break;
		niov = &area->niovs->niovs[index];
		net_mp_niov_set_page_pool(pool, niov);
		io_zcrx_cache(pool, niov);
	}
}

/* Get memory for a page pool whose cache is empty. */
static netmem_ref io_zcrx_alloc_netmems(struct page_pool *pool, gfp_t gfp)
{
	struct io_zcrx *zcrx = pool->mp_priv;

	io_zcrx_cache_returned(zcrx, pool);
	if (!pool->alloc.count)
		io_zcrx_cache_free(zcrx, pool);
	if (likely(pool->alloc.count))
		return pool->alloc.cache[--pool->alloc.count];
	if (READ_ONCE(zcrx->armed) & BIT(ZCRX_EVENT_ALLOC_FAIL)) {
		/* not the last reference, as the page pool has one */
		refcount_inc(&zcrx->refs);
		if (!queue_work(system_dfl_wq, &zcrx->device->starved))
			refcount_dec(&zcrx->refs);
	}
	return 0;
}

/* Take a chunk from a page pool that does not keep it.  Return: false, it has no page to free. */
static bool io_zcrx_release_netmem(struct page_pool *pool, netmem_ref netmem)
{
	struct net_iov *niov = netmem_to_net_iov(netmem);
	struct io_zcrx *zcrx = pool->mp_priv;

	guard(spinlock_bh)(&zcrx->lock);
	net_mp_niov_clear_page_pool(niov);
	io_zcrx_free_chunk(zcrx, io_zcrx_area_of(niov), net_iov_idx(niov));
	return false;
}

static int io_zcrx_init_pool(struct page_pool *pool)
{
	struct io_zcrx *zcrx = pool->mp_priv;

	if (pool->p.dev != zcrx->device->dma || pool->p.dma_dir != DMA_FROM_DEVICE)
		return -EOPNOTSUPP;
	if (pool->p.order != zcrx->shift - PAGE_SHIFT)
		return -EINVAL;
	/* the driver that made a dma-buf keeps it coherent */
	if (zcrx->dmabuf) {
		pool->dma_sync = false;
		pool->dma_sync_for_cpu = false;
	}
	refcount_inc(&zcrx->refs);
	return 0;
}

/* A page pool ends.  It has given all chunks back. */
static void io_zcrx_destroy_pool(struct page_pool *pool)
{
	io_zcrx_unref(pool->mp_priv);
}

static int io_zcrx_nl_fill(void *mp_priv, struct sk_buff *rsp, struct netdev_rx_queue *rxq)
{
	int type = rxq ? NETDEV_A_QUEUE_IO_URING : NETDEV_A_PAGE_POOL_IO_URING;
	struct nlattr *nest = nla_nest_start(rsp, type);
	struct io_zcrx *zcrx = mp_priv;

	if (!nest ||
	    nla_put_u32(rsp, NETDEV_A_IO_URING_PROVIDER_INFO_RX_BUF_LEN, 1U << zcrx->shift))
		return -EMSGSIZE;
	nla_nest_end(rsp, nest);
	return 0;
}

/*
 * A network device goes away, and its lock is held.  It may be a card that has leased the receive
 * queue to the device that the queue knows.
 */
static void io_zcrx_uninstall(void *mp_priv, struct netdev_rx_queue *rxq)
{
	struct io_zcrx *zcrx = mp_priv;

	/* the last user waits for this in io_zcrx_detach() */
	refcount_inc(&zcrx->refs);
	/* nothing else may call this provider */
	memset(&rxq->mp_params, 0, sizeof(rxq->mp_params));
	io_zcrx_detach(zcrx);
	io_zcrx_unref(zcrx);
}

static const struct memory_provider_ops io_zcrx_provider = {
	.alloc_netmems	= io_zcrx_alloc_netmems,
	.release_netmem	= io_zcrx_release_netmem,
	.init		= io_zcrx_init_pool,
	.destroy	= io_zcrx_destroy_pool,
	.nl_fill	= io_zcrx_nl_fill,
	.uninstall	= io_zcrx_uninstall,
};
