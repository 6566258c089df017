// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: RECV_ZC from the receive queue of a network device */

/*
 * The device is iou0 of modules/iou_nic.c, whose other end is in a network namespace of its own.
 * The environment variable IOU_MODULES names the folder with the module, built for the kernel that
 * runs; without it, all tests are skipped.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/udmabuf.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "zcrx.h"

unsigned int if_nametoindex(const char *name);

#define QUEUES		4
/* a receive queue that has a memory provider during the whole test */
#define HELD		3
/* user_data of events */
#define EVENT		77
#define SERVER		0x0a630001
#define CLIENT		0x0a630002

static int load(const char *args)
{
	const char *folder = getenv("IOU_MODULES");
	char path[512];
	int fd, ret;

	if (!folder)
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/iou_nic.ko", folder);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	ret = syscall(__NR_finit_module, fd, args, 0) ? -errno : 0;
	close(fd);
	return ret;
}

static int unload(void)
{
	return syscall(__NR_delete_module, "iou_nic", O_NONBLOCK) ? -errno : 0;
}

/* Give a device of this namespace an address, and start it. */
static int up(const char *name, unsigned int addr)
{
	struct sockaddr_in *in;
	struct ifreq req = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	strcpy(req.ifr_name, name);
	in = (void *)&req.ifr_addr;
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(addr);
	ret = ioctl(fd, SIOCSIFADDR, &req) ? -errno : 0;
	in->sin_addr.s_addr = htonl(0xffffff00);
	ret = ret ?: ioctl(fd, SIOCSIFNETMASK, &req) ? -errno : 0;
	req.ifr_flags = IFF_UP;
	ret = ret ?: ioctl(fd, SIOCSIFFLAGS, &req) ? -errno : 0;
	close(fd);
	return ret;
}

static int set_up(const char *name, bool up)
{
	struct ifreq req = { .ifr_flags = up ? IFF_UP : 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	strcpy(req.ifr_name, name);
	ret = ioctl(fd, SIOCSIFFLAGS, &req) ? -errno : 0;
	close(fd);
	return ret;
}

/* Move a device to the namespace of @ns. */
static int move(const char *name, int ns)
{
	struct {
		struct nlmsghdr		head;
		struct ifinfomsg	info;
		struct rtattr		attr;
		int			ns;
	} msg = {
		.head = {
			.nlmsg_len = sizeof(msg), .nlmsg_type = RTM_NEWLINK,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		},
		.info.ifi_index = if_nametoindex(name),
		.attr = { .rta_len = sizeof(msg.attr) + 4, .rta_type = IFLA_NET_NS_FD },
		.ns = ns,
	};
	struct {
		struct nlmsghdr	head;
		struct nlmsgerr	err;
	} reply = {};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), ret;

	ret = send(fd, &msg, sizeof(msg), 0) < 0 || recv(fd, &reply, sizeof(reply), 0) < 0;
	close(fd);
	return ret ? -errno : reply.err.error;
}

/* Prepare the arguments for receive queue @rxq of a device. */
static void zq_args_of(struct zq *q, unsigned int index, unsigned int rxq, unsigned int pages)
{
	zq_args(q, pages, pages);
	q->reg.flags = 0;
	q->reg.if_idx = index;
	q->reg.if_rxq = rxq;
}

/* Let the devices of this namespace send nothing of their own. */
static void quiet(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/all/disable_ipv6", O_WRONLY);

	if (fd < 0)
		return;
	if (write(fd, "1", 1) != 1)
		perror("disable_ipv6");
	close(fd);
}

FIXTURE(device) {
	int		home, away;
	unsigned int	index;
	struct iou	r, holder;
	struct zq	q, held;
	bool		loaded;
};

FIXTURE_VARIANT(device) {
	unsigned int	flags;
	const char	*args;
};

FIXTURE_VARIANT_ADD(device, defer) { .flags = CQE32_DEFER, };
FIXTURE_VARIANT_ADD(device, mixed) { .flags = IOU_DEFER | IORING_SETUP_CQE_MIXED, };
FIXTURE_VARIANT_ADD(device, shared) { .flags = CQE32_DEFER, .args = "share=1", };
FIXTURE_VARIANT_ADD(device, starved) { .flags = CQE32_DEFER, .args = "starve=7", };

FIXTURE_SETUP(device)
{
	int ret;

	if (no_zcrx())
		SKIP(return, "no RECV_ZC");
	if (getuid())
		SKIP(return, "needs root");
	ret = load(variant->args ?: "");
	if (ret == -ENOENT)
		SKIP(return, "IOU_MODULES names no folder with iou_nic.ko");
	ASSERT_EQ(0, ret);
	self->loaded = true;
	self->home = open("/proc/self/ns/net", O_RDONLY);
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	self->away = open("/proc/self/ns/net", O_RDONLY);
	quiet();
	ASSERT_EQ(0, setns(self->home, CLONE_NEWNET));
	quiet();
	ASSERT_EQ(0, move("iou1", self->away));
	ASSERT_EQ(0, up("iou0", SERVER));
	ASSERT_EQ(0, setns(self->away, CLONE_NEWNET));
	ASSERT_EQ(0, up("iou1", CLIENT));
	ASSERT_EQ(0, setns(self->home, CLONE_NEWNET));
	self->index = if_nametoindex("iou0");
	ASSERT_EQ(0, iou_init(&self->r, 64, variant->flags));
	/*
	 * The first memory provider of all patches code of the page pool.  This is done while no
	 * packet is received, because emulators may execute the breakpoint that is there meanwhile.
	 */
	ASSERT_EQ(0, iou_init(&self->holder, 4, variant->flags));
	zq_args_of(&self->held, self->index, HELD, 1);
	ASSERT_EQ(0, zq_register(&self->holder, &self->held));
}

FIXTURE_TEARDOWN(device)
{
	if (!self->loaded)
		return;
	iou_exit(&self->r);
	iou_exit(&self->holder);
	close(self->away);
	EXPECT_EQ(0, unload());
}

/* Ask for the counts, and for the events of @mask. */
static struct zcrx_stats *zq_want(struct zq *q, unsigned int mask)
{
	q->reg.event_desc = (uintptr_t)&q->event;
	q->event.flags = STATS;
	q->event.user_data = EVENT;
	q->event.type_mask = mask;
	/* behind the entries, on a page of its own */
	munmap(q->refill, q->desc.size);
	q->event.stats_offset = q->desc.size;
	q->desc.size += IOU_PAGE;
	q->refill = iou_map_anon(q->desc.size);
	q->desc.user_addr = (uintptr_t)q->refill;
	return (void *)(q->refill + q->event.stats_offset);
}

/* Connect: fds[1] receives by receive queue @rxq. */
static int pair(int home, int away, unsigned int rxq, int fds[2])
{
	static unsigned short port = 4000;
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(SERVER) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	port += QUEUES;
	addr.sin_port = htons(port + rxq);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (void *)&addr, sizeof(addr)) || listen(listener, 1))
		return -errno;
	setns(away, CLONE_NEWNET);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	setns(home, CLONE_NEWNET);
	if (connect(fds[0], (void *)&addr, sizeof(addr)))
		return -errno;
	fds[1] = accept(listener, NULL, NULL);
	close(listener);
	setsockopt(fds[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return 0;
}

static void close_pair(int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

/* What a program has received */
struct got {
	size_t		bytes;
	unsigned int	pieces;
	unsigned int	events[2];
	bool		wrong;
	int		end;
};

/* Reap CQEs until @bytes of the stream, or the end of the request.  @back: give the pieces back. */
static bool reap(struct iou *r, struct zq *q, struct got *got, size_t bytes, bool back)
{
	struct piece p;

	while (got->bytes < bytes) {
		if (get_piece(r, &p))
			return false;
		if (p.user_data == EVENT) {
			got->events[p.res & 1]++;
			continue;
		}
		if (p.res <= 0) {
			got->end = p.res;
			return false;
		}
		if (p.off >= q->size || p.off + p.res > q->size ||
		    iou_verify(q->mem + p.off, p.res, got->bytes, 1) >= 0)
			got->wrong = true;
		got->bytes += p.res;
		got->pieces++;
		if (back)
			zq_write(q, p.off, p.res, 0);
	}
	return true;
}

/* Send @total bytes in parts, each of which is received before the next one. */
static bool stream(struct iou *r, struct zq *q, struct got *got, int fd, size_t total, size_t part)
{
	size_t sent;

	for (sent = 0; sent < total; sent += part)
		if (!put(fd, part, sent) || !reap(r, q, got, sent + part, true))
			return false;
	return true;
}

/* Return: true once @len bytes wait in a socket. */
static bool arrived(int fd, int len)
{
	int tries = 2000, n = 0;

	while (tries-- && !ioctl(fd, FIONREAD, &n) && n < len)
		usleep(1000);
	return n >= len;
}

/* Register once a ring that ends has left the receive queue. */
static int register_when_free(struct iou *r, struct zq *q)
{
	int tries = 5000, ret;

	while ((ret = zq_register(r, q)) == -EEXIST && tries--)
		usleep(1000);
	return ret;
}

static int register_once(struct zq *q, unsigned int flags)
{
	struct iou r;
	int ret = iou_init(&r, 4, flags);

	if (ret)
		return ret;
	ret = register_when_free(&r, q);
	iou_exit(&r);
	return ret;
}

/* Mutant: zcrx-device-any-queue. */
TEST_F(device, refused)
{
	const struct zq_row rows[] = {
		ROW(reg.if_idx, 1, -EOPNOTSUPP),
		ROW(reg.if_idx, 9999, -ENODEV),
		ROW(reg.if_rxq, QUEUES, -ERANGE),
		ROW(reg.if_rxq, 1U << 31, -ERANGE),
		ROW(reg.if_rxq, -1U, -EINVAL),
		ROW(reg.rx_buf_len, IOU_PAGE / 2, -EINVAL),
		ROW(reg.rx_buf_len, 3 * IOU_PAGE, -EINVAL),
		ROW(reg.rx_buf_len, 32 * IOU_PAGE, -ERANGE),
		ROW(reg.rx_buf_len, 1U << 31, -ERANGE),
		ROW(area.dmabuf_fd, 1, -EINVAL),
		ROW(area.addr, 0, -EFAULT),
	};
	const struct {
		unsigned int	index, rxq;
		__u64		addr;
		unsigned int	region_flags;
		int		ret;
	} orders[] = {
		{ 1, -1U, 8, 0, -EINVAL },
		{ 1, 1, 8, 2, -EINVAL },
		{ 1, 1, 8, USER, -EOPNOTSUPP },
		{ 9999, 1, 8, 2, -EINVAL },
		{ 9999, 1, 8, USER, -ENODEV },
		{ 0, QUEUES, 8, USER, -EINVAL },
		{ 0, QUEUES, 0, USER, -EFAULT },
	};
	struct zq *q = &self->q;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		zq_args_of(q, self->index, 1, 16);
		memcpy((char *)q + rows[i].at, &rows[i].value, rows[i].size);
		EXPECT_EQ(rows[i].ret, register_once(q, variant->flags)) {
			TH_LOG("row %u: %s %llx", i, rows[i].name, rows[i].value);
		}
		zq_unmap(q);
	}
	for (i = 0; i < ARRAY_LEN(orders); i++) {
		zq_args_of(q, orders[i].index ?: self->index, orders[i].rxq, 16);
		q->area.addr = orders[i].addr;
		q->desc.flags = orders[i].region_flags;
		EXPECT_EQ(orders[i].ret, register_once(q, variant->flags)) {
			TH_LOG("row %u", i);
		}
		zq_unmap(q);
	}
	zq_args_of(q, self->index, 1, 16);
	ASSERT_EQ(0, set_up("iou0", false));
	EXPECT_EQ(-ENETDOWN, zq_register(&self->r, q));
	ASSERT_EQ(0, set_up("iou0", true));
	EXPECT_EQ(0, zq_register(&self->r, q));
	zq_args_of(q, self->index, 1, 16);
	EXPECT_EQ(-EEXIST, zq_register(&self->r, q));
	/* the program cannot learn the number, so the receive queue is given up */
	q = iou_map_anon(IOU_PAGE);
	zq_args_of(q, self->index, 2, 16);
	ASSERT_EQ(0, mprotect(q, IOU_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, zq_register(&self->r, q));
	ASSERT_EQ(0, mprotect(q, IOU_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, register_when_free(&self->r, q));
	EXPECT_EQ(1, q->reg.zcrx_id);
}

/* What was refused leaves the receive queue as it was. */
TEST_F(device, again)
{
	struct zq *q = &self->q;
	unsigned int i;

	for (i = 0; i < HELD; i++) {
		zq_args_of(q, self->index, i, 16);
		EXPECT_EQ(0, register_once(q, variant->flags));
		EXPECT_EQ(0, register_once(q, variant->flags));
		q->area.addr = 0;
		EXPECT_EQ(-EFAULT, register_once(q, variant->flags));
		zq_unmap(q);
	}
}

/* A stream that is longer than the area: the device takes what the program gives back. */
TEST_F(device, stream)
{
	const size_t total = 400000, part = 8000;
	struct zcrx_stats *stats;
	struct zq *q = &self->q;
	struct got got = {};
	int fds[2];

	zq_args_of(q, self->index, 1, 32);
	stats = zq_want(q, 1 << ZCRX_EVENT_COPY);
	ASSERT_EQ(0, zq_register(&self->r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	ASSERT_TRUE(stream(&self->r, q, &got, fds[0], total, part));
	EXPECT_FALSE(got.wrong);
	EXPECT_EQ(0, got.events[ZCRX_EVENT_COPY]);
	EXPECT_EQ(0, stats->copy_count);
	EXPECT_EQ(0, stats->copy_bytes);
	/* the kernel has read the refill ring */
	EXPECT_LE(total / IOU_PAGE - 2 * 32, zq_head(q));
	close(fds[0]);
	EXPECT_EQ(0, next_res(&self->r));
	close(fds[1]);
}

/* Chunks that are larger than a page.  Mutant: zcrx-device-torn-chunk. */
TEST_F(device, large_chunks)
{
	const size_t size = 2 << 20, total = 300000, part = 15000;
	static const unsigned int lens[] = { 8192, 65536 };
	struct zq *q = &self->q;
	char *mem;
	unsigned int i;
	int fds[2];

	mem = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	mem += size - (uintptr_t)mem % size;
	if (madvise(mem, size, MADV_HUGEPAGE))
		SKIP(return, "no huge pages");
	memset(mem, 1, size);
	for (i = 0; i < ARRAY_LEN(lens); i++) {
		struct got got = {};
		struct iou r;

		zq_args_of(q, self->index, 1, 512);
		munmap(q->mem, q->size);
		q->mem = mem;
		q->size = size;
		q->area.addr = (uintptr_t)mem;
		q->area.len = size;
		q->reg.rx_buf_len = lens[i];
		ASSERT_EQ(0, iou_init(&r, 64, variant->flags));
		ASSERT_EQ(0, register_when_free(&r, q));
		EXPECT_EQ(lens[i], q->reg.rx_buf_len);
		ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
		recv_zc(&r, fds[1], 0);
		ASSERT_EQ(1, iou_submit(&r));
		ASSERT_TRUE(stream(&r, q, &got, fds[0], total, part));
		EXPECT_FALSE(got.wrong);
		close_pair(fds);
		iou_exit(&r);
		munmap(q->refill, q->desc.size);
	}
	/* pages that are not contiguous */
	ASSERT_EQ(0, madvise(mem, size, MADV_DONTNEED));
	ASSERT_EQ(0, madvise(mem, size, MADV_NOHUGEPAGE));
	for (i = 0; i < size / IOU_PAGE; i++)
		mem[i * 37 % (size / IOU_PAGE) * IOU_PAGE] = 1;
	zq_args_of(q, self->index, 1, 16);
	q->area.addr = (uintptr_t)mem;
	q->area.len = size;
	q->reg.rx_buf_len = size / 2;
	EXPECT_EQ(-ERANGE, register_when_free(&self->r, q));
	zq_unmap(q);
	/* an area that is no whole number of chunks */
	zq_args_of(q, self->index, 1, 16);
	q->area.addr = (uintptr_t)mem;
	q->area.len = 3 * IOU_PAGE;
	q->reg.rx_buf_len = 2 * IOU_PAGE;
	EXPECT_EQ(-ERANGE, register_when_free(&self->r, q));
}

/* Data of another receive queue is copied. */
TEST_F(device, copied)
{
	struct zcrx_stats *stats;
	struct zq *q = &self->q;
	struct got got = {};
	int fds[2];

	zq_args_of(q, self->index, 1, 256);
	stats = zq_want(q, 1 << ZCRX_EVENT_COPY);
	ASSERT_EQ(0, zq_register(&self->r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 2, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	ASSERT_TRUE(put(fds[0], 20000, 0));
	ASSERT_TRUE(reap(&self->r, q, &got, 20000, true));
	ASSERT_TRUE(put(fds[0], 20000, 20000));
	ASSERT_TRUE(reap(&self->r, q, &got, 40000, true));
	EXPECT_FALSE(got.wrong);
	EXPECT_EQ(1, got.events[ZCRX_EVENT_COPY]);
	EXPECT_LE(1, stats->copy_count);
	EXPECT_EQ(40000, stats->copy_bytes);
	EXPECT_EQ(0, zq_flush(&self->r, q));
	EXPECT_EQ(got.pieces, zq_head(q));
	close_pair(fds);
}

/*
 * All data is copied, so the device never needs a chunk.  Mutant: zcrx-device-copies-run-out.
 * differences: zcrx-copies
 */
TEST_F(device, copied_for_long)
{
	struct zq *q = &self->q;
	struct got got = {};
	unsigned int i;
	int fds[2];

	zq_args_of(q, self->index, 1, 128);
	ASSERT_EQ(0, zq_register(&self->r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 2, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	for (i = 0; i < 300; i++) {
		ASSERT_TRUE(put(fds[0], 1000, i * 1000));
		ASSERT_TRUE(reap(&self->r, q, &got, i * 1000 + 1000, true)) {
			TH_LOG("round %u: %d", i, got.end);
		}
	}
	EXPECT_FALSE(got.wrong);
	close_pair(fds);
}

/* Pieces of one chunk are given back one by one.  Mutant: zcrx-device-one-reference. */
TEST_F(device, pieces)
{
	const unsigned int len = 100;
	struct zq *q = &self->q;
	struct io_uring_sqe *sqe;
	unsigned int i;
	struct piece p[20];
	int fds[2];

	zq_args_of(q, self->index, 1, 16);
	ASSERT_EQ(0, zq_register(&self->r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	ASSERT_TRUE(put(fds[0], 20 * len, 0));
	ASSERT_TRUE(arrived(fds[1], 20 * len));
	for (i = 0; i < 20; i++) {
		sqe = recv_zc(&self->r, fds[1], 0);
		sqe->len = len;
		ASSERT_EQ(1, iou_submit(&self->r));
		ASSERT_EQ(0, get_piece(&self->r, &p[i]));
		EXPECT_EQ(len, p[i].res);
		EXPECT_EQ(0, next_res(&self->r));
	}
	for (i = 0; i < 19; i++)
		zq_write(q, p[i].off, p[i].res, 0);
	EXPECT_EQ(0, zq_flush(&self->r, q));
	/* the program still has one piece, so other data does not overwrite it */
	for (i = 0; i < 40; i++) {
		struct piece other;

		sqe = recv_zc(&self->r, fds[1], 0);
		sqe->len = 1000;
		ASSERT_EQ(1, iou_submit(&self->r));
		ASSERT_TRUE(put(fds[0], 1000, 500));
		do {
			ASSERT_EQ(0, get_piece(&self->r, &other));
			if (other.res > 0)
				zq_write(q, other.off, other.res, 0);
		} while (other.flags & IORING_CQE_F_MORE);
		EXPECT_EQ(0, zq_flush(&self->r, q));
	}
	EXPECT_EQ(-1, iou_verify(q->mem + p[19].off, len, 19 * len, 1));
	close_pair(fds);
}

/*
 * No chunk is free: an event, and the stream goes on when the program has given some back.  Mutant:
 * zcrx-device-starves-silently.
 */
TEST_F(device, used_up)
{
	const size_t total = 16 * IOU_PAGE;
	struct zq *q = &self->q;
	struct got got = {};
	struct piece p[64];
	unsigned int i, nr;
	int fds[2];

	zq_args_of(q, self->index, 1, 8);
	zq_want(q, 1 << ZCRX_EVENT_ALLOC_FAIL);
	ASSERT_EQ(0, zq_register(&self->r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	ASSERT_TRUE(put(fds[0], total, 0));
	for (nr = 0; !got.events[ZCRX_EVENT_ALLOC_FAIL];) {
		ASSERT_LT(nr, ARRAY_LEN(p));
		ASSERT_EQ(0, get_piece(&self->r, &p[nr]));
		if (p[nr].user_data == EVENT) {
			EXPECT_EQ(ZCRX_EVENT_ALLOC_FAIL, p[nr].res);
			got.events[ZCRX_EVENT_ALLOC_FAIL]++;
			continue;
		}
		ASSERT_LT(0, p[nr].res);
		got.bytes += p[nr++].res;
	}
	for (i = 0; i < nr; i++)
		zq_write(q, p[i].off, p[i].res, 0);
	ASSERT_TRUE(reap(&self->r, q, &got, total, true));
	EXPECT_FALSE(got.wrong);
	EXPECT_EQ(1, got.events[ZCRX_EVENT_ALLOC_FAIL]);
	close_pair(fds);
}

/* Return: the kilobytes of this process that are pinned. */
static long pinned(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPin: %ld", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb;
}

/*
 * Receive a packet on each CPU.  A CPU keeps socket buffers that other CPUs have freed until its next
 * packet, and they keep the memory of their data.
 */
static void receive_everywhere(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), cpu;
	cpu_set_t all;

	addr.sin_port = htons(9);
	sched_getaffinity(0, sizeof(all), &all);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all) && !iou_run_on(cpu))
			sendto(fd, "", 1, MSG_DONTWAIT, (void *)&addr, sizeof(addr));
	}
	sched_setaffinity(0, sizeof(all), &all);
	close(fd);
}

/*
 * The ring ends while the program has pieces, and while data is in a socket.  Mutants:
 * zcrx-device-stays-open, zcrx-device-keeps-pieces, zcrx-device-foreign.
 */
TEST_F(device, ring_ends)
{
	struct zq *q = &self->q;
	struct got got = {};
	long before;
	struct iou r;
	int tries;
	int fds[2];
	char buf[10];

	zq_args_of(q, self->index, 1, 16);
	ASSERT_EQ(0, iou_init(&r, 64, variant->flags));
	ASSERT_EQ(0, zq_register(&r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_TRUE(put(fds[0], 5000, 0));
	ASSERT_TRUE(reap(&r, q, &got, 5000, false));
	EXPECT_FALSE(got.wrong);
	ASSERT_TRUE(put(fds[0], 5000, 5000));
	ASSERT_TRUE(arrived(fds[1], 5000));
	iou_exit(&r);
	/* the receive queue is free again, for this one or another program */
	before = pinned();
	EXPECT_EQ(0, register_when_free(&self->r, q));
	/* no task may read the data of the old queue any more */
	EXPECT_EQ(-1, recv(fds[1], buf, sizeof(buf), MSG_DONTWAIT));
	EXPECT_EQ(EFAULT, errno);
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	EXPECT_EQ(-EFAULT, next_res(&self->r));
	/* the old memory is unpinned with the last data in it */
	EXPECT_LT(before, pinned());
	close_pair(fds);
	for (tries = 0; tries < 500 && pinned() > before; tries++) {
		receive_everywhere();
		usleep(10000);
	}
	EXPECT_EQ(before, pinned());
}

/* The driver is removed while a queue uses the device.  Mutant: zcrx-device-kept. */
TEST_F(device, removed)
{
	struct io_uring_zcrx_area_reg area;
	struct zq *q = &self->q;
	struct got got = {};
	int fds[2];

	zq_args_of(q, self->index, 1, 16);
	ASSERT_EQ(0, zq_register(&self->r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	ASSERT_TRUE(put(fds[0], 5000, 0));
	ASSERT_TRUE(reap(&self->r, q, &got, 5000, false));
	ASSERT_EQ(0, unload());
	self->loaded = false;
	/* what was received stays */
	EXPECT_EQ(-1, iou_verify(q->mem, 0, 0, 1));
	zq_write(q, 0, 1, 0);
	EXPECT_EQ(0, zq_flush(&self->r, q));
	EXPECT_NE(0, zq_add_area(&self->r, &area, iou_map_anon(IOU_PAGE), IOU_PAGE));
	EXPECT_EQ(-ENODEV, register_once(q, variant->flags));
	close_pair(fds);
	iou_exit(&self->r);
	iou_exit(&self->holder);
	close(self->away);
}

/*
 * The receive queue restarts, so that chunks of two page pools come back.  Mutant:
 * zcrx-device-old-pool.
 */
TEST_F(device, restarted)
{
	struct zq *q = &self->q;
	struct got got = {};
	size_t sent = 0;
	unsigned int i;
	int fds[2];

	zq_args_of(q, self->index, 1, 32);
	ASSERT_EQ(0, zq_register(&self->r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	for (i = 0; i < 4; i++) {
		struct got old = { .bytes = sent };

		ASSERT_TRUE(put(fds[0], 20000, sent));
		ASSERT_TRUE(reap(&self->r, q, &old, sent + 20000, i & 1));
		EXPECT_FALSE(old.wrong);
		ASSERT_EQ(0, set_up("iou0", false));
		ASSERT_EQ(0, set_up("iou0", true));
		if (!(i & 1))
			for (got.pieces = 0; got.pieces < 32; got.pieces++)
				zq_write(q, got.pieces * IOU_PAGE, IOU_PAGE, 0);
		sent += 20000;
	}
	close_pair(fds);
}

/* Another ring receives by the same queue, and outlives the first one. */
TEST_F(device, import)
{
	struct zq *q = &self->q;
	struct got got = {};
	struct iou first;
	int fds[2], fd;

	zq_args_of(q, self->index, 1, 32);
	ASSERT_EQ(0, iou_init(&first, 64, variant->flags));
	ASSERT_EQ(0, zq_register(&first, q));
	fd = zq_export(&first, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, zq_import(&self->r, fd));
	close(fd);
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	ASSERT_TRUE(put(fds[0], 30000, 0));
	ASSERT_TRUE(reap(&self->r, q, &got, 30000, true));
	iou_exit(&first);
	ASSERT_TRUE(put(fds[0], 30000, 30000));
	ASSERT_TRUE(reap(&self->r, q, &got, 60000, true));
	EXPECT_FALSE(got.wrong);
	close_pair(fds);
}

/* The device uses a second area when the first one is used up. */
TEST_F(device, areas)
{
	struct io_uring_zcrx_area_reg area;
	struct zq *q = &self->q;
	unsigned int second = 0;
	struct got got = {};
	struct piece p;
	int fds[2];
	char *mem;

	zq_args_of(q, self->index, 1, 4);
	ASSERT_EQ(0, zq_register(&self->r, q));
	mem = iou_map_anon(64 * IOU_PAGE);
	ASSERT_EQ(0, zq_add_area(&self->r, &area, mem, 64 * IOU_PAGE));
	EXPECT_EQ(1ULL << IORING_ZCRX_AREA_SHIFT, area.rq_area_token);
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	ASSERT_TRUE(put(fds[0], 40000, 0));
	while (got.bytes < 40000) {
		ASSERT_EQ(0, get_piece(&self->r, &p));
		ASSERT_LT(0, p.res);
		if (p.off >> IORING_ZCRX_AREA_SHIFT == 1)
			second++;
		EXPECT_GT(0, iou_verify((p.off >> IORING_ZCRX_AREA_SHIFT ? mem : q->mem) +
					(p.off & 0xffffffff), p.res, got.bytes, 1));
		got.bytes += p.res;
		zq_write(q, p.off, p.res, 0);
	}
	EXPECT_LE(1, second);
	close_pair(fds);
}

/*
 * Entries with any contents, while the device receives.  Only the program's own data suffers.
 * Mutant: zcrx-device-free-twice.
 */
TEST_F(device, wild_entries)
{
	struct zq *q = &self->q;
	unsigned int i, seed = 7;
	struct piece p;
	int fds[2];

	zq_args_of(q, self->index, 1, 32);
	ASSERT_EQ(0, zq_register(&self->r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	for (i = 0; i < 2000; i++) {
		seed = seed * 1103515245 + 12345;
		zq_write(q, (seed >> 8) % (40 * IOU_PAGE) | (__u64)(seed >> 30) << 48, seed,
			 seed % 8 == 0);
		if (i % 16 == 0)
			put(fds[0], 3000, 0);
		if (i % 64 == 0)
			zq_flush(&self->r, q);
		while (iou_ready(&self->r)) {
			get_piece(&self->r, &p);
			if (p.flags & IORING_CQE_F_MORE)
				continue;
			recv_zc(&self->r, fds[1], 0);
			iou_submit(&self->r);
		}
	}
	close_pair(fds);
}

/* A process is killed that has a queue of the device, and pieces. */
TEST_F(device, killed)
{
	struct zq *q = &self->q;
	int fds[2], status;
	pid_t pid;

	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	pid = fork();
	if (!pid) {
		struct got got = {};
		struct iou r;

		zq_args_of(q, self->index, 1, 16);
		if (iou_init(&r, 64, variant->flags) || zq_register(&r, q))
			_exit(1);
		recv_zc(&r, fds[1], 0);
		iou_submit(&r);
		if (!put(fds[0], 9000, 0) || !reap(&r, q, &got, 9000, false))
			_exit(2);
		raise(SIGKILL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status)) {
		TH_LOG("status %x", status);
	}
	zq_args_of(q, self->index, 1, 16);
	EXPECT_EQ(0, register_when_free(&self->r, q));
	close_pair(fds);
}

#define HUGE		(2 << 20)
#define SHMEM_ENABLED	"/sys/kernel/mm/transparent_hugepage/shmem_enabled"

/* Map a whole file so that its memory can be a huge page. */
static char *map_huge(int fd, size_t size)
{
	char *mem = mmap(NULL, size + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int enabled = open(SHMEM_ENABLED, O_WRONLY);

	if (enabled >= 0 && write(enabled, "advise", 6) != 6)
		perror(SHMEM_ENABLED);
	close(enabled);
	mem += HUGE - (uintptr_t)mem % HUGE;
	mem = mmap(mem, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	madvise(mem, size, MADV_HUGEPAGE);
	return mem;
}

/*
 * Make a dma-buf of @pages, which are also mapped at *@mem.  @torn: no two pages of it are
 * contiguous in memory.  Return: its descriptor or a negative errno.
 */
static int make_dmabuf(unsigned int pages, bool torn, char **mem)
{
	struct udmabuf_create create = { .size = pages * IOU_PAGE };
	int dev = open("/dev/udmabuf", O_RDWR), fd, ret;
	unsigned int i;

	if (dev < 0)
		return -errno;
	fd = memfd_create("dmabuf", MFD_ALLOW_SEALING);
	if (ftruncate(fd, create.size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	*mem = create.size == HUGE ? map_huge(fd, create.size) :
	       mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*mem == MAP_FAILED)
		return -errno;
	for (i = 0; i < pages; i++)
		(*mem)[(torn ? i * 7 % pages : i) * IOU_PAGE] = 1;
	create.memfd = fd;
	ret = ioctl(dev, UDMABUF_CREATE, &create);
	if (ret < 0)
		ret = -errno;
	close(dev);
	close(fd);
	return ret;
}

/* Return: the number of dma-bufs of the machine. */
static int count_dmabufs(void)
{
	FILE *file = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	char line[256];
	int nr = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Total %d objects", &nr);
	if (file)
		fclose(file);
	return nr;
}

/* Return: true once the machine has @nr dma-bufs. */
static bool dmabufs_are(int nr)
{
	int tries = 500;

	while (count_dmabufs() != nr && tries--) {
		receive_everywhere();
		usleep(20000);
	}
	return count_dmabufs() == nr;
}

/* Cancel the RECV_ZC of a socket, whose data stays there then. */
static void recv_zc_end(struct iou *r, int fd)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, fd, NULL, 0, 0);

	sqe->cancel_flags = IORING_ASYNC_CANCEL_FD;
	iou_submit(r);
}

/* Prepare the arguments for a queue whose area is dma-buf @fd, which is mapped at @mem. */
static void zq_args_dmabuf(struct zq *q, unsigned int index, unsigned int rxq, unsigned int pages,
			   int fd, char *mem)
{
	zq_args_of(q, index, rxq, pages);
	munmap(q->mem, q->size);
	q->mem = mem;
	q->area.addr = 0;
	q->area.flags = IORING_ZCRX_AREA_DMABUF;
	q->area.dmabuf_fd = fd;
}

/* The device writes to a dma-buf.  Mutant: zcrx-dmabuf-stays. */
TEST_F(device, dmabuf)
{
	const size_t total = 400000, part = 8000;
	struct zcrx_stats *stats;
	struct zq *q = &self->q;
	struct got got = {};
	int fds[2], fd;
	struct iou r;
	char *mem;

	ASSERT_TRUE(dmabufs_are(0));
	fd = make_dmabuf(32, false, &mem);
	ASSERT_LE(0, fd);
	zq_args_dmabuf(q, self->index, 1, 32, fd, mem);
	stats = zq_want(q, 1 << ZCRX_EVENT_COPY);
	ASSERT_EQ(0, iou_init(&r, 64, variant->flags));
	ASSERT_EQ(0, zq_register(&r, q));
	EXPECT_EQ(0, q->area.rq_area_token);
	close(fd);
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_TRUE(stream(&r, q, &got, fds[0], total, part));
	EXPECT_FALSE(got.wrong);
	EXPECT_EQ(0, got.events[ZCRX_EVENT_COPY]);
	EXPECT_EQ(0, stats->copy_bytes);
	EXPECT_EQ(1, count_dmabufs());
	/* data in a socket keeps the dma-buf */
	recv_zc_end(&r, fds[1]);
	ASSERT_TRUE(put(fds[0], part, total));
	ASSERT_TRUE(arrived(fds[1], part));
	iou_exit(&r);
	zq_args_of(q, self->index, 1, 16);
	EXPECT_EQ(0, register_when_free(&self->r, q));
	receive_everywhere();
	EXPECT_EQ(1, count_dmabufs());
	close_pair(fds);
	EXPECT_TRUE(dmabufs_are(0));
}

/* Chunks of a dma-buf that are larger than a page.  Mutant: zcrx-dmabuf-one-address. */
TEST_F(device, dmabuf_large)
{
	const size_t total = 3 << 20, part = 15000;
	struct zq *q = &self->q;
	struct got got = {};
	int fds[2], fd, ret;
	char *mem;

	fd = make_dmabuf(HUGE / IOU_PAGE, false, &mem);
	ASSERT_LE(0, fd);
	zq_args_dmabuf(q, self->index, 1, HUGE / IOU_PAGE, fd, mem);
	q->reg.rx_buf_len = 65536;
	ret = zq_register(&self->r, q);
	if (ret == -ERANGE)
		SKIP(return, "no huge page for a memfd");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	ASSERT_TRUE(stream(&self->r, q, &got, fds[0], total, part));
	EXPECT_FALSE(got.wrong);
	close_pair(fds);
	close(fd);
}

/* Mutant: zcrx-dmabuf-torn-chunk. */
TEST_F(device, dmabuf_refused)
{
	const struct zq_row rows[] = {
		ROW(area.flags, 0, -EINVAL),
		ROW(area.flags, 2, -EINVAL),
		ROW(area.flags, 3, -EINVAL),
		ROW(area.addr, 8, -EINVAL),
		ROW(area.addr, IOU_PAGE, -EINVAL),
		ROW(area.addr, -IOU_PAGE, -EOVERFLOW),
		ROW(area.len, 0, -EFAULT),
		ROW(area.len, 15 * IOU_PAGE, -EINVAL),
		ROW(area.len, 15 * IOU_PAGE + 8, -EINVAL),
		ROW(area.len, 17 * IOU_PAGE, -EINVAL),
		ROW(area.len, 1ULL << 50, -EINVAL),
		ROW(area.dmabuf_fd, -1U, -EBADF),
		ROW(area.dmabuf_fd, 9999, -EBADF),
		ROW(area.dmabuf_fd, self->r.fd, -EINVAL),
		ROW(area.rq_area_token, 1, -EINVAL),
		ROW(reg.rx_buf_len, 32 * IOU_PAGE, -ERANGE),
		ROW(reg.rx_buf_len, 2 * IOU_PAGE, -ERANGE),
		ROW(reg.if_rxq, QUEUES, -ERANGE),
	};
	struct zq *q = &self->q;
	unsigned int i;
	char *mem;
	int fd;

	fd = make_dmabuf(16, true, &mem);
	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		zq_args_dmabuf(q, self->index, 1, 16, fd, mem);
		memcpy((char *)q + rows[i].at, &rows[i].value, rows[i].size);
		EXPECT_EQ(rows[i].ret, register_once(q, variant->flags)) {
			TH_LOG("row %u: %s %llx", i, rows[i].name, rows[i].value);
		}
		munmap(q->refill, q->desc.size);
	}
	zq_args_dmabuf(q, 0, 0, 16, fd, mem);
	q->reg.flags = ZCRX_REG_NODEV;
	EXPECT_EQ(-EINVAL, register_once(q, variant->flags));
	zq_args_dmabuf(q, self->index, 1, 16, fd, mem);
	EXPECT_EQ(0, register_once(q, variant->flags));
	close(fd);
}

static int add_dmabuf(struct iou *r, struct io_uring_zcrx_area_reg *area, unsigned int pages,
		      int fd)
{
	*area = (struct io_uring_zcrx_area_reg){
		.len = pages * IOU_PAGE, .flags = IORING_ZCRX_AREA_DMABUF, .dmabuf_fd = fd,
	};
	return zq_add(r, area);
}

/* A queue has areas of one kind.  Mutants: zcrx-dmabuf-kinds-mix, zcrx-dmabuf-copied-to. */
TEST_F(device, dmabuf_areas)
{
	struct io_uring_zcrx_area_reg area;
	unsigned int second = 0;
	struct zq *q = &self->q;
	struct got got = {};
	struct piece p;
	struct iou r;
	int fds[2], fd;
	char *mem;

	fd = make_dmabuf(64, false, &mem);
	ASSERT_LE(0, fd);
	/* memory of the program first */
	ASSERT_EQ(0, iou_init(&r, 64, variant->flags));
	zq_args_of(q, self->index, 1, 4);
	ASSERT_EQ(0, zq_register(&r, q));
	EXPECT_EQ(-EINVAL, add_dmabuf(&r, &area, 64, fd));
	EXPECT_EQ(0, zq_add_area(&r, &area, iou_map_anon(IOU_PAGE), IOU_PAGE));
	iou_exit(&r);
	/* a dma-buf first, which may be an area more than once */
	zq_args_dmabuf(q, self->index, 1, 64, fd, mem);
	ASSERT_EQ(0, register_when_free(&self->r, q));
	EXPECT_EQ(-EINVAL, zq_add_area(&self->r, &area, iou_map_anon(IOU_PAGE), IOU_PAGE));
	fd = make_dmabuf(64, false, &mem);
	ASSERT_EQ(0, add_dmabuf(&self->r, &area, 64, fd));
	EXPECT_EQ(1ULL << IORING_ZCRX_AREA_SHIFT, area.rq_area_token);
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	while (got.bytes < 400000) {
		ASSERT_TRUE(put(fds[0], 1000, got.bytes));
		ASSERT_EQ(0, get_piece(&self->r, &p));
		ASSERT_EQ(1000, p.res);
		if (p.off >> IORING_ZCRX_AREA_SHIFT)
			second++;
		EXPECT_GT(0, iou_verify((p.off >> IORING_ZCRX_AREA_SHIFT ? mem : q->mem) +
					(p.off & 0xffffffff), p.res, got.bytes, 1));
		got.bytes += p.res;
		if (second)
			zq_write(q, p.off, p.res, 0);
	}
	EXPECT_LE(1, second);
	close_pair(fds);
	EXPECT_EQ(0, next_res(&self->r));
	/* data of another receive queue cannot be copied to a dma-buf */
	ASSERT_EQ(0, pair(self->home, self->away, 2, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	ASSERT_TRUE(put(fds[0], 1000, 0));
	EXPECT_EQ(-ENOMEM, next_res(&self->r));
	close_pair(fds);
}

/* The driver is removed while it has the addresses of a dma-buf. */
TEST_F(device, dmabuf_removed)
{
	struct zq *q = &self->q;
	struct got got = {};
	int fds[2], fd;
	char *mem;

	ASSERT_TRUE(dmabufs_are(0));
	fd = make_dmabuf(16, false, &mem);
	ASSERT_LE(0, fd);
	zq_args_dmabuf(q, self->index, 1, 16, fd, mem);
	ASSERT_EQ(0, zq_register(&self->r, q));
	ASSERT_EQ(0, pair(self->home, self->away, 1, fds));
	recv_zc(&self->r, fds[1], 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	ASSERT_TRUE(put(fds[0], 5000, 0));
	ASSERT_TRUE(reap(&self->r, q, &got, 5000, false));
	EXPECT_FALSE(got.wrong);
	ASSERT_EQ(0, unload());
	self->loaded = false;
	close_pair(fds);
	iou_exit(&self->r);
	iou_exit(&self->holder);
	close(self->away);
	close(fd);
	EXPECT_TRUE(dmabufs_are(0));
}

TEST_HARNESS_MAIN
