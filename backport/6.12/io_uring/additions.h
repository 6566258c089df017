/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: what additions after 6.12 need; a part of base.h */
#ifndef IO_BASE_ADDITIONS_H
#define IO_BASE_ADDITIONS_H

#include <linux/net.h>
#include <linux/pipe_fs_i.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/security.h>
#include <linux/uaccess.h>
#ifdef CONFIG_NET
#include <net/sock.h>
#endif

/* pipe2(2) sets FMODE_NOWAIT itself */
static inline int io_create_pipe_files(struct file *files[2], int flags)
{
	int ret = create_pipe_files(files, flags);

	if (!ret) {
		files[0]->f_mode |= FMODE_NOWAIT;
		files[1]->f_mode |= FMODE_NOWAIT;
	}
	return ret;
}

#define create_pipe_files(files, flags)	io_create_pipe_files(files, flags)

/* Copy a structure of @ksize bytes; the program knows @usize bytes of it, or has room for more. */
static inline int copy_struct_to_user(void __user *dst, size_t usize, const void *src,
				      size_t ksize, bool *ignored_trailing)
{
	size_t size = min(usize, ksize);

	return copy_to_user(dst, src, size) || clear_user(dst + size, usize - size) ? -EFAULT : 0;
}

#ifdef CONFIG_NET
/* Copy an address of @len bytes as recvfrom(2) does: cut off, but with its whole length. */
static inline int io_address_to_user(const void *addr, int len, void __user *uaddr,
				     int __user *ulen)
{
	int room;

	if (get_user(room, ulen))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	if (copy_to_user(uaddr, addr, min(room, len)))
		return -EFAULT;
	return put_user(len, ulen);
}

static inline int do_getsockname(struct socket *sock, int peer, struct sockaddr __user *uaddr,
				 int __user *ulen)
{
	struct sockaddr_storage addr;
	int ret;

	ret = peer ? security_socket_getpeername(sock) : security_socket_getsockname(sock);
	if (ret)
		return ret;
	ret = READ_ONCE(sock->ops)->getname(sock, (struct sockaddr *)&addr, peer);
	return ret < 0 ? ret : io_address_to_user(&addr, ret, uaddr, ulen);
}

/* Return: the time of the network card, which the driver may have to compute. */
static inline ktime_t io_skb_card_time(struct sk_buff *skb, u32 tsflags)
{
	bool cycles = tsflags & SOF_TIMESTAMPING_BIND_PHC;
	struct net_device *dev = NULL;

	guard(rcu)();
	if (skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP_NETDEV)
		dev = dev_get_by_napi_id(skb_napi_id(skb));
	return dev ? netdev_get_tstamp(dev, skb_hwtstamps(skb), cycles) :
		     skb_hwtstamps(skb)->hwtstamp;
}

/* Find when data was sent, for an entry of the error queue. */
static inline int skb_get_tx_timestamp(struct sk_buff *skb, struct sock *sk, struct timespec64 *ts)
{
	u32 tsflags = READ_ONCE(sk->sk_tsflags);
	ktime_t card;

	if (tsflags & SOF_TIMESTAMPING_SOFTWARE && ktime_to_timespec64_cond(skb->tstamp, ts))
		return SOF_TIMESTAMPING_TX_SOFTWARE;
	/* an entry has one of the two times */
	if (!(tsflags & SOF_TIMESTAMPING_RAW_HARDWARE) || skb->tstamp)
		return -ENOENT;
	card = io_skb_card_time(skb, tsflags);
	if (tsflags & SOF_TIMESTAMPING_BIND_PHC)
		card = ptp_convert_timestamp(&card, READ_ONCE(sk->sk_bind_phc));
	return ktime_to_timespec64_cond(card, ts) ? SOF_TIMESTAMPING_TX_HARDWARE : -ENOENT;
}
#endif

/* chains behind a drained one do not wait for its end */
#define IO_DRAIN_UNTIL_START	true

/* 6.12 has no attributes of reads and writes, and ignores their fields */
#define FMODE_HAS_METADATA	((__force fmode_t)0)
#define IOCB_HAS_METADATA	0

struct uio_meta {
	u16		flags;
	u16		app_tag;
	u64		seed;
	struct iov_iter	iter;
};

#endif
