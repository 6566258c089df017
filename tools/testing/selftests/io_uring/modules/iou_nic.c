// SPDX-License-Identifier: GPL-2.0
/* io_uring: a pair of network devices whose receive queues may have memory of a provider */

/*
 * iou0 and iou1 are connected, as the ends of a veth are: what one sends, the other one receives.
 * The receiver does what a network card with header split does.  It copies the headers of a packet
 * into a socket buffer, and writes the rest to the DMA addresses of memory of a page pool.  This
 * pool uses the memory provider of its queue, if there is one, see netif_mp_open_rxq().
 *
 * A TCP packet goes to the queue of its destination port, modulo the number of queues.  Other
 * packets go to queue 0.  A packet without a buffer is dropped.
 *
 * Without an IOMMU a DMA address is a physical address, which the CPU can write to.  The module
 * refuses to load where this is not so.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/io.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/tcp.h>
#include <net/netdev_lock.h>
#include <net/netdev_queues.h>
#include <net/page_pool/helpers.h>

#define NIC_QUEUES	4
/* packets that wait in a queue */
#define NIC_BACKLOG	1024

static bool share;
module_param(share, bool, 0644);
MODULE_PARM_DESC(share, "put the data of several packets into one buffer");

static unsigned int starve;
module_param(starve, uint, 0644);
MODULE_PARM_DESC(starve, "drop each so many-th packet as if there was no buffer; 0: none");

static bool split = true;
module_param(split, bool, 0444);
MODULE_PARM_DESC(split, "split headers from data");

static bool large = true;
module_param(large, bool, 0444);
MODULE_PARM_DESC(large, "let memory providers choose the size of buffers");

/**
 * struct nic_queue - a receive queue
 * @napi: receives the packets
 * @pool: memory for data
 * @packets: packets from the other device
 * @index: number of the queue
 * @count: number of buffers that it needed, for the parameter "starve"
 */
struct nic_queue {
	struct napi_struct	napi;
	struct page_pool	*pool;
	struct sk_buff_head	packets;
	unsigned int		index;
	unsigned int		count;
};

/**
 * struct nic - a device
 * @dev: the network device
 * @peer: the other device
 * @queues: the receive queues
 */
struct nic {
	struct net_device	*dev;
	struct nic		*peer;
	struct nic_queue	queues[NIC_QUEUES];
};

/**
 * struct nic_mem - memory of a queue while it is not used, see struct netdev_queue_mgmt_ops
 * @pool: its memory for data
 */
struct nic_mem {
	struct page_pool	*pool;
};

static struct platform_device *parent;
static struct net_device *nics[2];

static struct page_pool *nic_pool(struct nic *nic, unsigned int index, u32 size)
{
	struct page_pool_params params = {
		.order		= size ? ilog2(size) - PAGE_SHIFT : 0,
		.pool_size	= 256,
		.nid		= NUMA_NO_NODE,
		.dev		= &parent->dev,
		.napi		= &nic->queues[index].napi,
		.dma_dir	= DMA_FROM_DEVICE,
		.max_len	= size ?: PAGE_SIZE,
		.netdev		= nic->dev,
		.queue_idx	= index,
		.flags		= PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV |
				  PP_FLAG_ALLOW_UNREADABLE_NETMEM,
	};

	return page_pool_create(&params);
}

/* Return: the number of bytes of a packet that go into the socket buffer. */
static unsigned int nic_headers(const struct nic *nic, struct sk_buff *packet)
{
	if (!split)
		return packet->len;
	return eth_get_headlen(nic->dev, packet->data, skb_headlen(packet));
}

/* Add a buffer with data from @offset on.  Return: the number of bytes, 0 if there is no buffer. */
static unsigned int nic_add(struct nic_queue *queue, struct sk_buff *skb,
			    const struct sk_buff *packet, unsigned int offset)
{
	unsigned int size = PAGE_SIZE << queue->pool->p.order, at = 0;
	unsigned int len = min(packet->len - offset, size);
	netmem_ref netmem;
	dma_addr_t dma;

	if (share)
		netmem = page_pool_alloc_frag_netmem(queue->pool, &at, len, GFP_ATOMIC);
	else
		netmem = page_pool_alloc_netmems(queue->pool, GFP_ATOMIC);
	if (!netmem)
		return 0;
	dma = page_pool_get_dma_addr_netmem(netmem);
	skb_copy_bits(packet, offset, phys_to_virt(dma + at), len);
	page_pool_dma_sync_netmem_for_cpu(queue->pool, netmem, at, len);
	skb_add_rx_frag_netmem(skb, skb_shinfo(skb)->nr_frags, netmem, at, len, share ? len : size);
	return len;
}

/* Return: a socket buffer as that of a card, or NULL. */
static struct sk_buff *nic_make(const struct nic *nic, struct nic_queue *queue,
				struct sk_buff *packet)
{
	unsigned int done = nic_headers(nic, packet), len;
	struct sk_buff *skb = napi_alloc_skb(&queue->napi, done);

	if (!skb)
		return NULL;
	skb_mark_for_recycle(skb);
	skb_copy_bits(packet, 0, skb_put(skb, done), done);
	while (done < packet->len) {
		len = 0;
		if (skb_shinfo(skb)->nr_frags < MAX_SKB_FRAGS &&
		    (!starve || ++queue->count % starve))
			len = nic_add(queue, skb, packet, done);
		if (!len) {
			kfree_skb(skb);
			return NULL;
		}
		done += len;
	}
	skb->protocol = eth_type_trans(skb, nic->dev);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb_record_rx_queue(skb, queue->index);
	return skb;
}

static int nic_poll(struct napi_struct *napi, int budget)
{
	struct nic_queue *queue = container_of(napi, struct nic_queue, napi);
	struct nic *nic = netdev_priv(napi->dev);
	struct sk_buff *packet, *skb;
	int done = 0;

	while (done < budget) {
		packet = skb_dequeue(&queue->packets);
		if (!packet)
			break;
		skb = nic_make(nic, queue, packet);
		dev_kfree_skb_any(packet);
		if (skb)
			napi_gro_receive(napi, skb);
		else
			dev_core_stats_rx_dropped_inc(nic->dev);
		done++;
	}
	if (done < budget && napi_complete_done(napi, done) && !skb_queue_empty(&queue->packets))
		napi_schedule(napi);
	return done;
}

/* Return: the number of the queue for a packet. */
static unsigned int nic_choose(const struct sk_buff *skb)
{
	const struct tcphdr *tcp;

	if (!skb_transport_header_was_set(skb))
		return 0;
	if (skb->protocol == htons(ETH_P_IP) && ip_hdr(skb)->protocol != IPPROTO_TCP)
		return 0;
	if (skb->protocol == htons(ETH_P_IPV6) && ipv6_hdr(skb)->nexthdr != IPPROTO_TCP)
		return 0;
	tcp = tcp_hdr(skb);
	return ntohs(tcp->dest) % NIC_QUEUES;
}

static netdev_tx_t nic_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev), *peer = nic->peer;
	struct nic_queue *queue = &peer->queues[nic_choose(skb)];

	if (!netif_running(peer->dev) || skb_queue_len(&queue->packets) >= NIC_BACKLOG) {
		dev_core_stats_tx_dropped_inc(dev);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	skb_orphan(skb);
	skb_tx_timestamp(skb);
	skb_queue_tail(&queue->packets, skb);
	napi_schedule(&queue->napi);
	return NETDEV_TX_OK;
}

static int nic_open(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	struct netdev_queue_config config;
	struct nic_queue *queue;
	unsigned int i;

	for (i = 0; i < NIC_QUEUES; i++) {
		queue = &nic->queues[i];
		netif_napi_add_config_locked(dev, &queue->napi, nic_poll, i);
		netdev_queue_config(dev, i, &config);
		queue->pool = nic_pool(nic, i, config.rx_page_size);
		if (IS_ERR(queue->pool)) {
			int ret = PTR_ERR(queue->pool);

			__netif_napi_del_locked(&queue->napi);
			while (i--) {
				netif_queue_set_napi(dev, i, NETDEV_QUEUE_TYPE_RX, NULL);
				napi_disable_locked(&nic->queues[i].napi);
				__netif_napi_del_locked(&nic->queues[i].napi);
				page_pool_destroy(nic->queues[i].pool);
			}
			synchronize_net();
			return ret;
		}
		netif_queue_set_napi(dev, i, NETDEV_QUEUE_TYPE_RX, &queue->napi);
		napi_enable_locked(&queue->napi);
	}
	return 0;
}

static int nic_stop(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	unsigned int i;

	for (i = 0; i < NIC_QUEUES; i++) {
		netif_queue_set_napi(dev, i, NETDEV_QUEUE_TYPE_RX, NULL);
		napi_disable_locked(&nic->queues[i].napi);
		__netif_napi_del_locked(&nic->queues[i].napi);
	}
	synchronize_net();
	for (i = 0; i < NIC_QUEUES; i++) {
		skb_queue_purge(&nic->queues[i].packets);
		page_pool_destroy(nic->queues[i].pool);
		nic->queues[i].pool = NULL;
	}
	return 0;
}

static const struct net_device_ops nic_ops = {
	.ndo_open		= nic_open,
	.ndo_stop		= nic_stop,
	.ndo_start_xmit		= nic_xmit,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

static int nic_mem_alloc(struct net_device *dev, struct netdev_queue_config *config, void *mem,
			 int index)
{
	struct nic_mem *new = mem;
	struct page_pool *pool;

	if (!netif_running(dev))
		return -ENETDOWN;
	pool = nic_pool(netdev_priv(dev), index, config->rx_page_size);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	new->pool = pool;
	return 0;
}

static void nic_mem_free(struct net_device *dev, void *mem)
{
	struct nic_mem *old = mem;

	page_pool_destroy(old->pool);
}

static int nic_queue_start(struct net_device *dev, struct netdev_queue_config *config, void *mem,
			   int index)
{
	struct nic *nic = netdev_priv(dev);
	struct nic_mem *new = mem;

	nic->queues[index].pool = new->pool;
	napi_enable_locked(&nic->queues[index].napi);
	napi_schedule(&nic->queues[index].napi);
	return 0;
}

static int nic_queue_stop(struct net_device *dev, void *mem, int index)
{
	struct nic *nic = netdev_priv(dev);
	struct nic_mem *old = mem;

	napi_disable_locked(&nic->queues[index].napi);
	old->pool = nic->queues[index].pool;
	page_pool_disable_direct_recycling(old->pool);
	return 0;
}

static const struct netdev_queue_mgmt_ops nic_queue_ops = {
	.ndo_queue_mem_size	= sizeof(struct nic_mem),
	.ndo_queue_mem_alloc	= nic_mem_alloc,
	.ndo_queue_mem_free	= nic_mem_free,
	.ndo_queue_start	= nic_queue_start,
	.ndo_queue_stop		= nic_queue_stop,
};

static const struct netdev_queue_mgmt_ops nic_queue_large_ops = {
	.ndo_queue_mem_size	= sizeof(struct nic_mem),
	.ndo_queue_mem_alloc	= nic_mem_alloc,
	.ndo_queue_mem_free	= nic_mem_free,
	.ndo_queue_start	= nic_queue_start,
	.ndo_queue_stop		= nic_queue_stop,
	.supported_params	= QCFG_RX_PAGE_SIZE,
};

static void nic_setup(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	unsigned int i;

	ether_setup(dev);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &nic_ops;
	dev->queue_mgmt_ops = large ? &nic_queue_large_ops : &nic_queue_ops;
	dev->features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA | NETIF_F_RXCSUM;
	dev->hw_features = dev->features;
	dev->max_mtu = 16000;
	dev->mtu = 9000;
	nic->dev = dev;
	for (i = 0; i < NIC_QUEUES; i++) {
		nic->queues[i].index = i;
		skb_queue_head_init(&nic->queues[i].packets);
	}
}

static void nic_remove(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (!nics[i])
			continue;
		if (nics[i]->reg_state == NETREG_REGISTERED)
			unregister_netdev(nics[i]);
	}
	/* each device knows the other one */
	for (i = 0; i < 2; i++)
		if (nics[i])
			free_netdev(nics[i]);
	platform_device_unregister(parent);
}

static int nic_create(unsigned int i)
{
	struct net_device *dev;

	dev = alloc_netdev_mqs(sizeof(struct nic), "iou%d", NET_NAME_ENUM, nic_setup, 1,
			       NIC_QUEUES);
	if (!dev)
		return -ENOMEM;
	SET_NETDEV_DEV(dev, &parent->dev);
	dev->cfg->hds_config = split ? ETHTOOL_TCP_DATA_SPLIT_ENABLED :
				       ETHTOOL_TCP_DATA_SPLIT_DISABLED;
	nics[i] = dev;
	return 0;
}

/* Return: true if the CPU can write where the device would. */
static bool nic_is_direct(void)
{
	struct page *page = alloc_page(GFP_KERNEL);
	bool direct = false;
	dma_addr_t dma;

	if (!page)
		return false;
	dma = dma_map_page(&parent->dev, page, 0, PAGE_SIZE, DMA_FROM_DEVICE);
	if (!dma_mapping_error(&parent->dev, dma)) {
		direct = dma == page_to_phys(page);
		dma_unmap_page(&parent->dev, dma, PAGE_SIZE, DMA_FROM_DEVICE);
	}
	__free_page(page);
	return direct;
}

static int __init nic_init(void)
{
	unsigned int i;
	int ret;

	parent = platform_device_register_simple("iou_nic", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	ret = dma_coerce_mask_and_coherent(&parent->dev, DMA_BIT_MASK(64));
	if (!ret && !nic_is_direct())
		ret = -EOPNOTSUPP;
	for (i = 0; i < 2 && !ret; i++)
		ret = nic_create(i);
	if (ret)
		goto remove;
	((struct nic *)netdev_priv(nics[0]))->peer = netdev_priv(nics[1]);
	((struct nic *)netdev_priv(nics[1]))->peer = netdev_priv(nics[0]);
	for (i = 0; i < 2 && !ret; i++)
		ret = register_netdev(nics[i]);
	if (!ret)
		return 0;
remove:
	nic_remove();
	return ret;
}

static void __exit nic_exit(void)
{
	nic_remove();
}

module_init(nic_init);
module_exit(nic_exit);
MODULE_DESCRIPTION("Network devices for tests of zero copy receives");
MODULE_LICENSE("GPL");
