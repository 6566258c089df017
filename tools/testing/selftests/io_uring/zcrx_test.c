// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: RECV_ZC, and queues without a device, into which data is copied */
#include <linux/capability.h>
#include <linux/io_uring/query.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "zcrx.h"

/* a bad address */
#define BAD	8

/* Mutant: zcrx-small-region. */
TEST(refused)
{
	const struct zq_row rows[] = {
		ROW(reg.if_idx, 1, -EINVAL),
		ROW(reg.if_rxq, 1, -EINVAL),
		ROW(reg.rq_entries, 0, -EINVAL),
		ROW(reg.rq_entries, 1, 0),
		ROW(reg.rq_entries, 100, 0),
		ROW(reg.rq_entries, 200, -EINVAL),
		ROW(reg.rq_entries, 32768, -EINVAL),
		ROW(reg.rq_entries, 32769, -EINVAL),
		ROW(reg.flags, 4, -EINVAL),
		ROW(reg.flags, ZCRX_REG_NODEV | 4, -EINVAL),
		ROW(reg.flags, ZCRX_REG_NODEV | ZCRX_REG_IMPORT, -EINVAL),
		ROW(reg.area_ptr, 0, -EFAULT),
		ROW(reg.area_ptr, BAD, -EFAULT),
		ROW(reg.region_ptr, 0, -EFAULT),
		ROW(reg.region_ptr, BAD, -EFAULT),
		ROW(reg.offsets.head, 1, 0),
		ROW(reg.offsets.__resv[1], 1, 0),
		ROW(reg.zcrx_id, 1, -EINVAL),
		ROW(reg.rx_buf_len, 1, -EINVAL),
		ROW(reg.rx_buf_len, 2048, -EINVAL),
		ROW(reg.rx_buf_len, IOU_PAGE, 0),
		ROW(reg.rx_buf_len, 3 * 2048, -EINVAL),
		ROW(reg.rx_buf_len, 2 * IOU_PAGE, -EOPNOTSUPP),
		ROW(reg.rx_buf_len, 1U << 31, -EOPNOTSUPP),
		ROW(reg.event_desc, BAD, -EFAULT),
		ROW(reg.__resv[0], 1, -EINVAL),
		ROW(reg.__resv[1], 1, -EINVAL),
		ROW(event.type_mask, 4, -EINVAL),
		ROW(event.flags, 2, -EINVAL),
		ROW(event.__resv2[8], 1, -EINVAL),
		ROW(event.stats_offset, 2048, -EINVAL),
		ROW(area.addr, 0, -EFAULT),
		ROW(area.addr, BAD, -EINVAL),
		ROW(area.len, 0, -EFAULT),
		ROW(area.len, 100, -EINVAL),
		ROW(area.len, 5000, -EINVAL),
		ROW(area.len, IOU_PAGE, 0),
		ROW(area.len, 1ULL << 40, -EOVERFLOW),
		ROW(area.len, 1ULL << 48, -EINVAL),
		ROW(area.len, -4096ULL, -EINVAL),
		ROW(area.rq_area_token, 1, -EINVAL),
		ROW(area.flags, IORING_ZCRX_AREA_DMABUF, -EINVAL),
		ROW(area.flags, 2, -EINVAL),
		ROW(area.dmabuf_fd, 1, -EINVAL),
		ROW(area.__resv2[0], 1, -EINVAL),
		ROW(area.__resv2[1], 1, -EINVAL),
		ROW(desc.flags, 0, -EFAULT),
		ROW(desc.flags, 2, -EINVAL),
		ROW(desc.user_addr, 0, -EFAULT),
		ROW(desc.user_addr, BAD, -EINVAL),
		ROW(desc.size, 0, -EINVAL),
		ROW(desc.size, 100, -EINVAL),
		ROW(desc.id, 1, -EINVAL),
		ROW(desc.mmap_offset, IOU_PAGE, -EINVAL),
		ROW(desc.__resv[3], 1, -EINVAL),
	};
	unsigned int i;
	struct iou r;
	struct zq q;

	SKIP_WITHOUT_ZCRX();
	ASSERT_EQ(0, iou_init(&r, 4, CQE32_DEFER));
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		size_t size;
		char *refill;

		zq_args(&q, 4, 64);
		size = q.desc.size;
		refill = q.refill;
		q.reg.event_desc = (uintptr_t)&q.event;
		memcpy((char *)&q + rows[i].at, &rows[i].value, rows[i].size);
		EXPECT_EQ(rows[i].ret, zq_register(&r, &q)) {
			TH_LOG("row %u: %s %llx", i, rows[i].name, rows[i].value);
		}
		munmap(q.mem, q.size);
		munmap(refill, size);
	}
	iou_exit(&r);
}

/* The kind of ring, and what is missing in memory */
TEST(rings)
{
	const struct {
		unsigned int	flags;
		int		ret;
	} rows[] = {
		{ 0, -EINVAL },
		{ IOU_DEFER, -EINVAL },
		{ IORING_SETUP_CQE32, -EINVAL },
		{ IORING_SETUP_CQE32 | IORING_SETUP_SINGLE_ISSUER, -EINVAL },
		{ IORING_SETUP_CQE32 | IORING_SETUP_SQPOLL, -EINVAL },
		{ CQE32_DEFER, 0 },
		{ IOU_DEFER | IOU_LARGE, 0 },
		{ CQE32_DEFER | IORING_SETUP_R_DISABLED, 0 },
		{ CQE32_DEFER | IORING_SETUP_IOPOLL, 0 },
	};
	unsigned int i;
	struct iou r;
	struct zq q;

	SKIP_WITHOUT_ZCRX();
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		ASSERT_EQ(0, iou_init(&r, 4, rows[i].flags));
		EXPECT_EQ(rows[i].ret, zq_make(&r, &q, 4, 64)) {
			TH_LOG("row %u", i);
		}
		zq_unmap(&q);
		iou_exit(&r);
	}
	ASSERT_EQ(0, iou_init(&r, 4, CQE32_DEFER));
	zq_args(&q, 4, 64);
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_ZCRX_IFQ, &q.reg, 0));
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_ZCRX_IFQ, &q.reg, 2));
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_ZCRX_IFQ, NULL, 1));
	EXPECT_EQ(-EFAULT, iou_register(&r, IORING_REGISTER_ZCRX_IFQ, (void *)BAD, 1));
	q.reg.flags = 0;
	q.reg.if_idx = 1;
	EXPECT_EQ(-EOPNOTSUPP, zq_register(&r, &q));
	zq_unmap(&q);
	zq_args(&q, 4, 64);
	ASSERT_EQ(0, mprotect(q.mem, q.size, PROT_READ));
	EXPECT_EQ(-EFAULT, zq_register(&r, &q));
	ASSERT_EQ(0, mprotect(q.mem, q.size, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, mprotect(q.refill, q.desc.size, PROT_READ));
	EXPECT_EQ(-EFAULT, zq_register(&r, &q));
	zq_unmap(&q);
	iou_exit(&r);
}

/* The offset of the counts.  Mutant: zcrx-stats-anywhere. */
TEST(stats_offset)
{
	const struct {
		__u64	offset;
		int	ret;
	} rows[] = {
		{ 0, -ERANGE }, { 1, -EINVAL }, { HEADER, -ERANGE },
		{ HEADER + 64 * 16 - 8, -ERANGE }, { HEADER + 64 * 16, 0 },
		{ HEADER + 64 * 16 + 4, -EINVAL }, { IOU_PAGE - 16, 0 }, { IOU_PAGE - 8, -ERANGE },
		{ IOU_PAGE, -ERANGE }, { -8ULL, -ERANGE }, { -16ULL, -ERANGE },
	};
	unsigned int i;
	struct iou r;
	struct zq q;

	SKIP_WITHOUT_ZCRX();
	ASSERT_EQ(0, iou_init(&r, 4, CQE32_DEFER));
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		zq_args(&q, 1, 64);
		q.reg.event_desc = (uintptr_t)&q.event;
		q.event.flags = STATS;
		q.event.stats_offset = rows[i].offset;
		EXPECT_EQ(rows[i].ret, zq_register(&r, &q)) {
			TH_LOG("row %u", i);
		}
		zq_unmap(&q);
	}
	iou_exit(&r);
}

/* The header of the refill ring is cleared, and the counts.  Mutant: zcrx-counts-from-garbage. */
TEST(cleared)
{
	const size_t at = HEADER + 8 * 16 + 64;
	unsigned int i;
	struct iou r;
	struct zq q;

	SKIP_WITHOUT_ZCRX();
	ASSERT_EQ(0, iou_init(&r, 4, CQE32_DEFER));
	zq_args(&q, 1, 8);
	memset(q.refill, 0xaa, IOU_PAGE);
	q.reg.event_desc = (uintptr_t)&q.event;
	q.event.flags = STATS;
	q.event.stats_offset = at;
	ASSERT_EQ(0, zq_register(&r, &q));
	for (i = 0; i < IOU_PAGE; i++) {
		bool ours = i < HEADER || (i >= at && i < at + sizeof(struct zcrx_stats));

		ASSERT_EQ(ours ? 0 : (char)0xaa, q.refill[i]) {
			TH_LOG("byte %u", i);
		}
	}
	iou_exit(&r);
}

/*
 * The kernel cannot tell the program the number or the token, so nothing is registered.  Mutant:
 * zcrx-number-kept.
 */
TEST(read_only)
{
	struct zq *q = iou_map_anon(IOU_PAGE), second;
	struct io_uring_region_desc *desc;
	struct iou r;

	SKIP_WITHOUT_ZCRX();
	ASSERT_EQ(0, iou_init(&r, 4, CQE32_DEFER));
	zq_args(q, 4, 64);
	ASSERT_EQ(0, mprotect(q, IOU_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, zq_register(&r, q));
	ASSERT_EQ(0, mprotect(q, IOU_PAGE, PROT_READ | PROT_WRITE));
	desc = iou_map_anon(IOU_PAGE);
	*desc = (struct io_uring_region_desc){ .size = 2 * IOU_PAGE };
	q->reg.region_ptr = (uintptr_t)desc;
	ASSERT_EQ(0, mprotect(desc, IOU_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, zq_register(&r, q));
	q->reg.region_ptr = (uintptr_t)&q->desc;
	EXPECT_EQ(MAP_FAILED, mmap(NULL, IOU_PAGE, PROT_READ, MAP_SHARED, r.fd, OFF_ZCRX));
	q->reg.zcrx_id = 0;
	EXPECT_EQ(0, zq_register(&r, q));
	EXPECT_EQ(0, q->reg.zcrx_id);
	EXPECT_EQ(0, zq_make(&r, &second, 1, 1));
	EXPECT_EQ(1, second.reg.zcrx_id);
	zq_unmap(&second);
	zq_unmap(q);
	munmap(desc, IOU_PAGE);
	munmap(q, IOU_PAGE);
	iou_exit(&r);
}

/* What a successful call tells, and the mapping of the refill ring. */
TEST(mapped)
{
	unsigned int i, *words[3];
	struct iou r, other;
	struct zq q;
	int fd;

	SKIP_WITHOUT_ZCRX();
	ASSERT_EQ(0, iou_init(&r, 4, CQE32_DEFER));
	for (i = 0; i < 3; i++) {
		zq_args(&q, 4, 60);
		q.desc.flags = 0;
		q.desc.user_addr = 0;
		ASSERT_EQ(0, zq_register(&r, &q));
		EXPECT_EQ(i, q.reg.zcrx_id);
		EXPECT_EQ(64, q.reg.rq_entries);
		EXPECT_EQ(IOU_PAGE, q.reg.rx_buf_len);
		EXPECT_EQ(0, q.reg.offsets.head);
		EXPECT_EQ(64, q.reg.offsets.tail);
		EXPECT_EQ(HEADER, q.reg.offsets.rqes);
		EXPECT_EQ(0, q.area.rq_area_token);
		EXPECT_EQ(OFF_ZCRX + (i << 16), q.desc.mmap_offset);
		words[i] = mmap(NULL, q.desc.size, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd,
				q.desc.mmap_offset);
		ASSERT_NE(MAP_FAILED, words[i]);
		EXPECT_EQ(0, words[i][0]);
		words[i][100] = i + 1;
		zq_unmap(&q);
	}
	EXPECT_EQ(MAP_FAILED, mmap(NULL, IOU_PAGE, PROT_READ, MAP_SHARED, r.fd,
				   OFF_ZCRX + (3 << 16)));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i + 1, words[i][100]);
	/* a ring that has imported the queue maps the same memory, with its own number */
	fd = zq_export(&r, 1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, iou_init(&other, 4, CQE32_DEFER));
	EXPECT_EQ(0, zq_import(&other, fd));
	words[0] = mmap(NULL, IOU_PAGE, PROT_READ, MAP_SHARED, other.fd, OFF_ZCRX);
	ASSERT_NE(MAP_FAILED, words[0]);
	EXPECT_EQ(2, words[0][100]);
	iou_exit(&r);
	iou_exit(&other);
	close(fd);
	EXPECT_EQ(2, words[1][100]);

	/* the program has its own memory already */
	ASSERT_EQ(0, iou_init(&r, 4, CQE32_DEFER));
	ASSERT_EQ(0, zq_make(&r, &q, 4, 64));
	EXPECT_EQ(0, q.desc.mmap_offset);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, IOU_PAGE, PROT_READ, MAP_SHARED, r.fd, OFF_ZCRX));
	zq_unmap(&q);
	iou_exit(&r);
}

/* Become user @uid with CAP_NET_ADMIN alone, or without any capability. */
static int become(unsigned int uid, bool admin)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { };

	if (admin)
		data[0].effective = data[0].permitted = 1 << CAP_NET_ADMIN;
	return prctl(PR_SET_KEEPCAPS, 1) ?: setresuid(uid, uid, uid) ?:
	       syscall(SYS_capset, &head, data);
}

/* Register a queue for a while, on one ring after the other. */
static int register_later(struct zq *q)
{
	unsigned int ms;
	struct iou r;
	int ret = -ENOMEM;

	for (ms = 0; ret == -ENOMEM && ms < IOU_PATIENCE; ms += 20) {
		iou_sleep_ms(20);
		if (iou_init(&r, 4, CQE32_DEFER))
			return -ENODEV;
		ret = zq_register(&r, q);
		iou_exit(&r);
	}
	return ret;
}

/*
 * A child of user @uid, which may lock @pages, registers a queue of 8 pages with a refill ring of
 * 2 pages.  After the end of its ring it does so again.  Return: the exit status, an errno.
 */
static int charge_child(unsigned int uid, unsigned int pages, bool user, bool admin)
{
	struct rlimit limit = { .rlim_cur = pages * IOU_PAGE, .rlim_max = pages * IOU_PAGE };
	int status, ret;
	struct iou r;
	struct zq q;

	if (!fork()) {
		zq_args(&q, 8, 256);
		if (!user) {
			q.desc.flags = 0;
			q.desc.user_addr = 0;
		}
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || become(uid, admin) ||
		    iou_init(&r, 4, CQE32_DEFER))
			_exit(ENODEV);
		ret = zq_register(&r, &q);
		iou_exit(&r);
		q.reg.zcrx_id = 0;
		q.desc.mmap_offset = 0;
		_exit(-(ret ?: register_later(&q)));
	}
	if (wait(&status) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/*
 * All pages count for RLIMIT_MEMLOCK until the end of the queue.  Mutants: zcrx-for-all,
 * zcrx-never-freed, region-uncharged.
 */
TEST(charged)
{
	unsigned int user;

	SKIP_WITHOUT_ZCRX();
	for (user = 0; user < 2; user++) {
		EXPECT_EQ(0, charge_child(72000 + user, 10, user, true));
		EXPECT_EQ(ENOMEM, charge_child(72010 + user, 9, user, true));
	}
	EXPECT_EQ(EPERM, charge_child(72020, 100, true, false));
}

FIXTURE(zcrx)
{
	struct iou r;
	struct zq q;
	int fds[2];
};

FIXTURE_VARIANT(zcrx)
{
	unsigned int flags;
};

IOU_KIND(zcrx, defer, CQE32_DEFER);
IOU_KIND(zcrx, defer_large, IOU_DEFER | IOU_LARGE);
IOU_KIND(zcrx, sqe128, CQE32_DEFER | IORING_SETUP_SQE128);
IOU_KIND(zcrx, mixed, IOU_DEFER | IORING_SETUP_CQE_MIXED);

FIXTURE_SETUP(zcrx)
{
	SKIP_WITHOUT_ZCRX();
	ASSERT_EQ(0, iou_init_cq(&self->r, 16, 256, variant->flags));
	ASSERT_EQ(0, zq_make(&self->r, &self->q, 16, 64));
	ASSERT_EQ(0, sock_tcp_pair(self->fds));
}

FIXTURE_TEARDOWN(zcrx)
{
	if (!self->q.mem)
		return;
	iou_exit(&self->r);
	sock_close_pair(self->fds);
	zq_unmap(&self->q);
}

/* Mutant: zcrx-chain-goes-on-at-end. */
TEST_F(zcrx, sqe)
{
	const struct {
		size_t		at, size;
		__u64		value;
		int		ret;
	} rows[] = {
#define SQE(field, number, err) \
	{ offsetof(struct io_uring_sqe, field), sizeof(((struct io_uring_sqe *)0)->field), \
	  (number), (err) }
		SQE(ioprio, 0, -EINVAL),
		SQE(ioprio, IORING_RECVSEND_POLL_FIRST, -EINVAL),
		SQE(ioprio, IORING_RECV_MULTISHOT | IORING_RECVSEND_POLL_FIRST, 10),
		SQE(ioprio, IORING_RECV_MULTISHOT | IORING_RECVSEND_FIXED_BUF, -EINVAL),
		SQE(ioprio, IORING_RECV_MULTISHOT | IORING_RECVSEND_BUNDLE, -EINVAL),
		SQE(ioprio, IORING_RECV_MULTISHOT | 0x8000, -EINVAL),
		SQE(addr, 1, -EINVAL),
		SQE(addr2, 1, -EINVAL),
		SQE(addr3, 1, -EINVAL),
		SQE(__pad2[0], 1, 10),
		SQE(buf_index, 1, 10),
		SQE(msg_flags, MSG_DONTWAIT, -EINVAL),
		SQE(msg_flags, MSG_PEEK, -EINVAL),
		SQE(msg_flags, 1U << 31, -EINVAL),
		SQE(len, 11, 10),
		SQE(len, ~0U, 10),
		SQE(zcrx_ifq_idx, 1, -EINVAL),
		SQE(zcrx_ifq_idx, ~0U, -EINVAL),
		SQE(flags, IOSQE_ASYNC, 10),
		SQE(flags, IOSQE_BUFFER_SELECT, -EOPNOTSUPP),
		SQE(flags, IOSQE_FIXED_FILE, -EBADF),
		SQE(fd, -1, -EBADF),
	};
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct piece p;

		ASSERT_TRUE(put(self->fds[0], 10, 0));
		sqe = recv_zc(r, self->fds[1], 0);
		memcpy((char *)sqe + rows[i].at, &rows[i].value, rows[i].size);
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(0, get_piece(r, &p));
		EXPECT_EQ(rows[i].ret, p.res) {
			TH_LOG("row %u", i);
		}
		EXPECT_EQ(p.res > 0 ? IORING_CQE_F_MORE : 0, p.flags);
		if (p.res > 0) {
			EXPECT_TRUE(piece_is(&self->q, &p, 0));
			zq_write(&self->q, p.off, p.res, 0);
			EXPECT_EQ(0, zq_flush(r, &self->q));
			shutdown(self->fds[0], SHUT_WR);
			EXPECT_EQ(0, next_res(r));
		}
		sock_close_pair(self->fds);
		ASSERT_EQ(0, sock_tcp_pair(self->fds));
	}
}

/* Return: the result of a RECV_ZC from @fd. */
static int recv_from(struct iou *r, int fd)
{
	recv_zc(r, fd, 0);
	return iou_submit(r) == 1 ? next_res(r) : -ENODEV;
}

/* Mutant: zcrx-any-protocol. */
TEST_F(zcrx, other_files)
{
	struct iou *r = &self->r;
	int pair[2], fd;

	ASSERT_EQ(0, pipe(pair));
	EXPECT_EQ(-ENOTSOCK, recv_from(r, pair[0]));
	sock_close_pair(pair);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	EXPECT_EQ(1, send(pair[0], "x", 1, 0));
	EXPECT_EQ(-EPROTONOSUPPORT, recv_from(r, pair[1]));
	sock_close_pair(pair);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	EXPECT_EQ(-EPROTONOSUPPORT, recv_from(r, fd));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	EXPECT_EQ(-ENOTCONN, recv_from(r, fd));
	ASSERT_EQ(0, listen(fd, 1));
	EXPECT_EQ(-ENOTCONN, recv_from(r, fd));
	close(fd);
	EXPECT_EQ(0, iou_ready(r));
}

/*
 * Data of many sizes goes through an area that is smaller than the data.
 * Mutants: zcrx-copy-stays, zcrx-copy-first-page.
 */
TEST_F(zcrx, sizes)
{
	static const unsigned int sizes[] = {
		1, 2, 100, 1447, 1448, 1449, 4095, 4096, 4097, 5000, 8191, 8192, 8193, 12289, 20000,
		32767, 32768, 32769, 40000, 61440,
	};
	unsigned long long pos = 0, got = 0;
	struct iou *r = &self->r;
	struct zq *q = &self->q;
	unsigned int i, round;
	struct piece p;

	recv_zc(r, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(r));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_LEN(sizes); i++) {
			ASSERT_TRUE(put(self->fds[0], sizes[i], pos));
			pos += sizes[i];
			while (got < pos) {
				ASSERT_EQ(0, get_piece(r, &p));
				if (p.res == -ENOMEM) {
					/* the pages are on their way back: what is left, is left */
					EXPECT_EQ(0, p.flags);
					ASSERT_EQ(0, zq_flush(r, q));
					recv_zc(r, self->fds[1], 0);
					ASSERT_EQ(1, iou_submit(r));
					continue;
				}
				ASSERT_TRUE(piece_is(q, &p, got)) {
					TH_LOG("at %llu: %d, off %llx", got, p.res, p.off);
				}
				got += p.res;
				zq_write(q, p.off + got % IOU_PAGE, got, 0);
			}
			ASSERT_EQ(0, zq_flush(r, q));
			EXPECT_EQ(q->tail, zq_head(q));
		}
	}
	EXPECT_EQ(0, iou_ready(r));
}

/* A request that can go on gets what comes, and ends at the end of the stream. */
TEST_F(zcrx, end)
{
	struct linger reset = { .l_onoff = 1 };
	struct iou *r = &self->r;
	unsigned int i;
	struct piece p;

	recv_zc(r, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(put(self->fds[0], 100 + i, 0));
		ASSERT_EQ(0, get_piece(r, &p));
		EXPECT_EQ(100 + i, p.res);
		EXPECT_TRUE(piece_is(&self->q, &p, 0));
	}
	shutdown(self->fds[0], SHUT_WR);
	ASSERT_EQ(0, get_piece(r, &p));
	EXPECT_EQ(0, p.res);
	EXPECT_EQ(0, p.flags);
	EXPECT_EQ(0, recv_from(r, self->fds[1]));
	sock_close_pair(self->fds);

	/* data in front of the end, which breaks a chain */
	ASSERT_EQ(0, sock_tcp_pair(self->fds));
	ASSERT_TRUE(put(self->fds[0], 50, 0));
	shutdown(self->fds[0], SHUT_WR);
	recv_zc(r, self->fds[1], 0)->flags = IOSQE_IO_LINK;
	iou_nop(r, 5);
	ASSERT_EQ(2, iou_submit(r));
	EXPECT_EQ(50, next_res(r));
	EXPECT_EQ(0, next_res(r));
	EXPECT_EQ(-ECANCELED, next_res(r));
	sock_close_pair(self->fds);

	/* an error behind data */
	ASSERT_EQ(0, sock_tcp_pair(self->fds));
	ASSERT_TRUE(put(self->fds[0], 60, 0));
	setsockopt(self->fds[0], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(self->fds[0]);
	recv_zc(r, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(r));
	EXPECT_EQ(60, next_res(r));
	EXPECT_EQ(-ECONNRESET, next_res(r));
	close(self->fds[1]);

	ASSERT_EQ(0, sock_tcp_pair(self->fds));
	recv_zc(r, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(r));
	shutdown(self->fds[1], SHUT_RD);
	EXPECT_EQ(0, next_res(r));
	EXPECT_EQ(0, iou_ready(r));
}

/* sqe->len counts the bytes of all pieces.  Mutant: zcrx-limit-ignored. */
TEST_F(zcrx, limit)
{
	static const unsigned int limits[] = { 1, 250, 4096, 4097, 6000, 10000, 20000 };
	unsigned long long pos = 0, got = 0;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct zq *q = &self->q;
	unsigned int i;
	struct piece p;

	for (i = 0; i < ARRAY_LEN(limits); i++) {
		unsigned int left = limits[i];

		/* the first half is there before the request, the second half comes later */
		ASSERT_TRUE(put(self->fds[0], left / 2, pos));
		pos += left / 2;
		recv_zc(r, self->fds[1], 0)->len = left;
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_TRUE(put(self->fds[0], left - left / 2 + 10, pos));
		pos += left - left / 2 + 10;
		while (left) {
			ASSERT_EQ(0, get_piece(r, &p));
			ASSERT_TRUE(piece_is(q, &p, got));
			ASSERT_GE(left, (unsigned int)p.res);
			got += p.res;
			left -= p.res;
			zq_write(q, p.off, p.res, 0);
		}
		ASSERT_EQ(0, get_piece(r, &p));
		EXPECT_EQ(0, p.res);
		EXPECT_EQ(0, p.flags);
		/* the rest waits for the next request */
		EXPECT_EQ(0, iou_ready(r));
		ASSERT_EQ(0, zq_flush(r, q));
		recv_zc(r, self->fds[1], 0)->len = 10;
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(0, get_piece(r, &p));
		EXPECT_EQ(10, p.res);
		EXPECT_TRUE(piece_is(q, &p, got));
		got += 10;
		zq_write(q, p.off, p.res, 0);
		EXPECT_EQ(0, next_res(r));
		ASSERT_EQ(0, zq_flush(r, q));
	}
	/* the limit is no failure for a chain */
	ASSERT_TRUE(put(self->fds[0], 10, pos));
	sqe = recv_zc(r, self->fds[1], 0);
	sqe->len = 10;
	sqe->flags = IOSQE_IO_LINK;
	iou_nop(r, 5);
	ASSERT_EQ(2, iou_submit(r));
	EXPECT_EQ(10, next_res(r));
	EXPECT_EQ(0, next_res(r));
	EXPECT_EQ(0, next_res(r));
}

/* A request that waits is cancelled, by a program or by a timeout. */
TEST_F(zcrx, cancel)
{
	struct __kernel_timespec ts = { .tv_nsec = 20000000 };
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct piece p;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		recv_zc(r, self->fds[1], 0);
		ASSERT_EQ(1, iou_submit(r));
		if (i) {
			ASSERT_TRUE(put(self->fds[0], 10, 0));
			EXPECT_EQ(10, next_res(r));
		}
		sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0);
		sqe->addr = self->fds[1];
		sqe->user_data = 1007;
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(0, get_piece(r, &p));
		EXPECT_EQ(1007, p.user_data);
		EXPECT_EQ(0, p.res);
		EXPECT_EQ(-ECANCELED, next_res(r));
	}
	recv_zc(r, self->fds[1], 0)->flags = IOSQE_IO_LINK;
	sqe = iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0);
	sqe->user_data = 1008;
	ASSERT_EQ(2, iou_submit(r));
	ASSERT_EQ(0, get_piece(r, &p));
	EXPECT_EQ(p.user_data == 1008 ? -ETIME : -ECANCELED, p.res);
	ASSERT_EQ(0, get_piece(r, &p));
	EXPECT_EQ(p.user_data == 1008 ? -ETIME : -ECANCELED, p.res);
	/* the socket lives on */
	ASSERT_TRUE(put(self->fds[0], 20, 0));
	EXPECT_EQ(20, recv_from(r, self->fds[1]));
}

/*
 * Without a free page a request ends, and the data stays.  Only a flush frees the pages in the
 * refill ring.
 */
TEST_F(zcrx, exhausted)
{
	unsigned long long pos = 0, off[16];
	struct iou *r = &self->r;
	struct zq *q = &self->q;
	struct piece p;
	unsigned int i;

	recv_zc(r, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(r));
	/* each piece has its own page, and the last page is the first to be used */
	for (i = 0; i < 16; i++) {
		ASSERT_TRUE(put(self->fds[0], 10, pos));
		ASSERT_EQ(0, get_piece(r, &p));
		ASSERT_TRUE(piece_is(q, &p, pos));
		EXPECT_EQ((15 - i) * IOU_PAGE, p.off);
		off[i] = p.off;
		pos += 10;
	}
	ASSERT_TRUE(put(self->fds[0], 30, pos));
	ASSERT_EQ(0, get_piece(r, &p));
	EXPECT_EQ(-ENOMEM, p.res);
	EXPECT_EQ(0, p.flags);
	EXPECT_EQ(-ENOMEM, recv_from(r, self->fds[1]));
	zq_write(q, off[4], 10, 0);
	EXPECT_EQ(-ENOMEM, recv_from(r, self->fds[1]));
	EXPECT_EQ(0, zq_head(q));
	EXPECT_EQ(0, zq_flush(r, q));
	EXPECT_EQ(1, zq_head(q));
	recv_zc(r, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, get_piece(r, &p));
	EXPECT_EQ(30, p.res);
	EXPECT_EQ(off[4], p.off);
	EXPECT_TRUE(piece_is(q, &p, pos));
	pos += 30;
	/* pages come back in the order that is the best for caches */
	zq_write(q, off[7], 10, 0);
	zq_write(q, off[2], 10, 0);
	zq_write(q, off[9], 10, 0);
	EXPECT_EQ(0, zq_flush(r, q));
	for (i = 0; i < 3; i++) {
		static const unsigned int order[] = { 9, 2, 7 };

		ASSERT_TRUE(put(self->fds[0], 10, pos));
		ASSERT_EQ(0, get_piece(r, &p));
		EXPECT_EQ(off[order[i]], p.off);
		EXPECT_TRUE(piece_is(q, &p, pos));
		pos += 10;
	}
	/* a part of the data fits */
	for (i = 0; i < 2; i++)
		zq_write(q, off[i], 10, 0);
	EXPECT_EQ(0, zq_flush(r, q));
	ASSERT_TRUE(put(self->fds[0], 10000, pos));
	while (!get_piece(r, &p) && p.res > 0) {
		EXPECT_TRUE(piece_is(q, &p, pos));
		pos += p.res;
	}
	EXPECT_EQ(-ENOMEM, p.res);
}

/* Receive until no page is left.  Return: the pages that were handed out; 0 if one came twice. */
static unsigned int drain_pages(struct iou *r, struct zq *q, int fds[2], unsigned char *seen)
{
	unsigned int nr = 0;
	struct piece p;

	recv_zc(r, fds[1], 0);
	if (iou_submit(r) != 1)
		return 0;
	while (put(fds[0], 1, 0) && !get_piece(r, &p) && p.res == 1) {
		if (p.off >= q->size || seen[p.off / IOU_PAGE]++)
			return 0;
		nr++;
	}
	return p.res == -ENOMEM ? nr : 0;
}

/*
 * Entries of the refill ring with any contents: a page that the program does not have stays free
 * once.  Mutants: zcrx-free-twice, zcrx-any-area-number.
 */
TEST_F(zcrx, wild_entries)
{
	const unsigned long long area = 1ULL << IORING_ZCRX_AREA_SHIFT;
	unsigned char seen[16] = { };
	struct iou *r = &self->r;
	struct zq *q = &self->q;
	unsigned int i;

	/* the program has no page yet */
	for (i = 0; i < 16; i++)
		zq_write(q, i * IOU_PAGE, IOU_PAGE, 0);
	EXPECT_TRUE(zq_flush_all(r, q));
	EXPECT_EQ(16, drain_pages(r, q, self->fds, seen));
	/* none of these are pages of the queue */
	zq_write(q, area, 1, 0);
	zq_write(q, 5 * area, 1, 0);
	zq_write(q, 0xffff * area, 1, 0);
	zq_write(q, -1ULL, ~0U, 0);
	zq_write(q, q->size, 1, 0);
	/* differences: zcrx-wrong-entry */
	if (!iou_on_stock()) {
		zq_write(q, area - 1, 1, 0);
		zq_write(q, area / 2, 1, 0);
		zq_write(q, 1ULL << 44, 1, 0);
	}
	zq_write(q, IOU_PAGE, 1, 1);
	zq_write(q, IOU_PAGE, 1, 1U << 31);
	EXPECT_TRUE(zq_flush_all(r, q));
	EXPECT_EQ(-ENOMEM, recv_from(r, self->fds[1]));
	/* this page is given back several times, and comes once */
	seen[3] = 0;
	for (i = 0; i < 20; i++)
		zq_write(q, 3 * IOU_PAGE + 200 * i, i * 1000, 0);
	EXPECT_TRUE(zq_flush_all(r, q));
	EXPECT_EQ(1, drain_pages(r, q, self->fds, seen));
	EXPECT_EQ(1, seen[3]);
}

/*
 * A flush takes at most as many entries as the ring has.  The kernel has its own head.  Mutant:
 * zcrx-flush-without-end.
 */
TEST_F(zcrx, wild_tail)
{
	unsigned char seen[16] = { };
	struct iou *r = &self->r;
	struct zq *q = &self->q;

	zq_set_tail(q, 1000);
	EXPECT_EQ(0, zq_flush(r, q));
	EXPECT_EQ(64, zq_head(q));
	EXPECT_EQ(0, zq_flush(r, q));
	EXPECT_EQ(128, zq_head(q));
	zq_set_tail(q, 100);
	EXPECT_EQ(0, zq_flush(r, q));
	EXPECT_EQ(192, zq_head(q));
	zq_set_tail(q, -5);
	*zq_word(q, q->reg.offsets.head) = 500;
	EXPECT_EQ(0, zq_flush(r, q));
	EXPECT_EQ(256, zq_head(q));
	q->tail = 256;
	zq_set_tail(q, q->tail);
	EXPECT_EQ(0, zq_flush(r, q));
	EXPECT_EQ(256, zq_head(q));
	EXPECT_EQ(16, drain_pages(r, q, self->fds, seen));
	seen[2] = 0;
	zq_write(q, 2 * IOU_PAGE, 1, 0);
	EXPECT_EQ(0, zq_flush(r, q));
	EXPECT_EQ(257, zq_head(q));
	EXPECT_EQ(1, drain_pages(r, q, self->fds, seen));
}

/* Two sockets receive into one queue, and one socket into two queues. */
TEST_F(zcrx, shared)
{
	unsigned long long pos[2] = { };
	struct iou *r = &self->r;
	struct zq *q = &self->q, second;
	unsigned int i, round;
	int more[2];
	struct piece p;

	ASSERT_EQ(0, sock_tcp_pair(more));
	recv_zc(r, self->fds[1], 0);
	recv_zc(r, more[1], 0);
	ASSERT_EQ(2, iou_submit(r));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 2; i++)
			ASSERT_TRUE(put(i ? more[0] : self->fds[0], 5000 + round, pos[i]));
		for (i = 0; i < 4; i++) {
			unsigned int which;

			ASSERT_EQ(0, get_piece(r, &p));
			which = p.user_data == more[1];
			ASSERT_TRUE(piece_is(q, &p, pos[which]));
			pos[which] += p.res;
			zq_write(q, p.off, p.res, 0);
		}
		ASSERT_EQ(pos[0], pos[1]);
		ASSERT_EQ(0, zq_flush(r, q));
	}
	sock_close_pair(more);
	EXPECT_EQ(0, next_res(r));

	ASSERT_EQ(0, zq_make(r, &second, 4, 8));
	EXPECT_EQ(1, second.reg.zcrx_id);
	recv_zc(r, self->fds[1], 1)->user_data = 99;
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < 4; i++) {
		/* either of them gets the data */
		ASSERT_TRUE(put(self->fds[0], 100, pos[0]));
		ASSERT_EQ(0, get_piece(r, &p));
		EXPECT_TRUE(piece_is(p.user_data == 99 ? &second : q, &p, pos[0]));
		pos[0] += 100;
	}
	shutdown(self->fds[0], SHUT_WR);
	EXPECT_EQ(0, next_res(r));
	EXPECT_EQ(0, next_res(r));
	zq_unmap(&second);
}

/*
 * A request that finds the CQ full waits for the program, and no data is lost.  On stock the
 * request ends with -ENOSPC.  Mutant: zcrx-full-cq-ends.
 * differences: zcrx-full-cq
 */
TEST_F(zcrx, full_cq)
{
	unsigned long long got = 0;
	struct iou *r = &self->r, small;
	struct piece p = { };
	unsigned int i;
	struct zq q;

	ASSERT_EQ(0, iou_init_cq(&small, 4, 4, variant->flags));
	ASSERT_EQ(0, zq_make(&small, &q, 64, 64));
	ASSERT_TRUE(put(self->fds[0], 100000, 0));
	while (got < 100000) {
		if (!(p.flags & IORING_CQE_F_MORE)) {
			recv_zc(&small, self->fds[1], 0);
			ASSERT_EQ(1, iou_submit(&small));
		}
		ASSERT_EQ(0, get_piece(&small, &p));
		if (p.res == -ENOSPC) {
			EXPECT_TRUE(iou_on_stock());
			EXPECT_EQ(0, p.flags);
			continue;
		}
		ASSERT_TRUE(piece_is(&q, &p, got));
		got += p.res;
		zq_write(&q, p.off, p.res, 0);
		ASSERT_EQ(0, zq_flush(&small, &q));
	}
	iou_exit(&small);
	zq_unmap(&q);

	/* nothing can be received at first */
	ASSERT_EQ(0, iou_init_cq(&small, 4, 4, variant->flags));
	ASSERT_EQ(0, zq_make(&small, &q, 4, 4));
	for (i = 0; i < 4; i++)
		iou_nop(&small, i);
	ASSERT_EQ(4, iou_submit(&small));
	ASSERT_TRUE(put(self->fds[0], 10, 0));
	recv_zc(&small, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(&small));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, next_res(&small));
	if (iou_on_stock()) {
		EXPECT_EQ(-ENOSPC, next_res(&small));
		EXPECT_EQ(10, recv_from(&small, self->fds[1]));
	} else {
		EXPECT_EQ(10, next_res(&small));
	}
	iou_exit(&small);
	zq_unmap(&q);
	EXPECT_EQ(0, iou_ready(r));
}

/*
 * A program that does not wait for CQEs gets a full CQ, and the rest later.
 * differences: zcrx-full-cq
 */
TEST_F(zcrx, full_cq_without_wait)
{
	unsigned int nr = 0, ends = 0, calls = 0;
	struct piece p = { };
	struct iou small;
	struct zq q;

	if (iou_on_stock())
		SKIP(return, "the request ends");
	ASSERT_EQ(0, iou_init_cq(&small, 4, 4, variant->flags));
	ASSERT_EQ(0, zq_make(&small, &q, 64, 64));
	recv_zc(&small, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(&small));
	ASSERT_TRUE(put(self->fds[0], 8 * IOU_PAGE, 0));
	while (nr < 8 && !ends && calls++ < 100) {
		ASSERT_EQ(0, iou_enter(&small, 0, 0, IORING_ENTER_GETEVENTS));
		while (iou_ready(&small)) {
			ASSERT_EQ(0, get_piece(&small, &p));
			nr += p.res > 0;
			ends += p.res < 0;
		}
	}
	EXPECT_EQ(8, nr);
	EXPECT_EQ(0, ends);
	iou_exit(&small);
	zq_unmap(&q);
}

/*
 * A request ends if the program does not reap CQEs, as it may wait for more than there is room for.
 * Mutant: zcrx-full-cq-forever.
 */
TEST_F(zcrx, full_cq_unread)
{
	bool mixed = variant->flags & IORING_SETUP_CQE_MIXED;
	struct iou small;
	unsigned int i;
	struct zq q;

	ASSERT_EQ(0, iou_init_cq(&small, 4, 4, variant->flags));
	ASSERT_EQ(0, zq_make(&small, &q, 4, 4));
	/* on a mixed ring, one slot is free and a piece needs two */
	for (i = 0; i < 4 - mixed; i++)
		iou_nop(&small, i);
	ASSERT_EQ(4 - mixed, iou_submit(&small));
	ASSERT_TRUE(put(self->fds[0], 10, 0));
	recv_zc(&small, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(&small));
	for (i = 0; i < 40; i++)
		ASSERT_EQ(0, iou_enter(&small, 0, 4, IORING_ENTER_GETEVENTS));
	for (i = 0; i < 4 - mixed; i++)
		EXPECT_EQ(0, next_res(&small));
	EXPECT_EQ(-ENOSPC, next_res(&small));
	iou_exit(&small);
	zq_unmap(&q);
}

#define MANY	100

/*
 * More requests have data than the CQ has slots.  Each gets its turn.  Mutant:
 * zcrx-full-cq-impatient.  differences: zcrx-full-cq
 */
TEST_F(zcrx, full_cq_of_many)
{
	unsigned int i, nr = 0, calls = 0;
	struct iou small;
	int fds[MANY][2];
	struct piece p;
	struct zq q;

	if (iou_on_stock())
		SKIP(return, "requests end");
	ASSERT_EQ(0, iou_init_cq(&small, 4, 4, variant->flags));
	ASSERT_EQ(0, zq_make(&small, &q, MANY, MANY));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, sock_tcp_pair(fds[i]));
		recv_zc(&small, fds[i][1], 0);
		ASSERT_EQ(1, iou_submit(&small));
	}
	for (i = 0; i < MANY; i++)
		ASSERT_TRUE(put(fds[i][0], 100, 0));
	while (nr < MANY && calls++ < 2 * MANY) {
		ASSERT_EQ(0, iou_wait(&small, 1));
		while (iou_ready(&small)) {
			ASSERT_EQ(0, get_piece(&small, &p));
			ASSERT_EQ(100, p.res);
			nr++;
		}
	}
	EXPECT_EQ(MANY, nr);
	iou_exit(&small);
	for (i = 0; i < MANY; i++)
		sock_close_pair(fds[i]);
	zq_unmap(&q);
}

/* Areas that are added, and their tokens. */
TEST_F(zcrx, areas)
{
	struct io_uring_zcrx_area_reg area, *only = iou_map_anon(IOU_PAGE);
	struct zcrx_ctrl ctrl = { .op = ZCRX_CTRL_ADD_AREA };
	char *mem = iou_map_anon(4 * IOU_PAGE);
	unsigned long long token, off[2];
	struct iou *r = &self->r;
	struct zq *q = &self->q;
	unsigned char seen[16] = { };
	struct piece p;
	unsigned int i;

	EXPECT_EQ(-EINVAL, zq_add_area(r, &area, mem + 8, IOU_PAGE));
	EXPECT_EQ(-EINVAL, zq_add_area(r, &area, mem, 100));
	EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0));
	ctrl.zc_area.area_ptr = BAD;
	EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0));
	*only = (struct io_uring_zcrx_area_reg){ .addr = (uintptr_t)mem, .len = IOU_PAGE };
	ctrl.zc_area.area_ptr = (uintptr_t)only;
	ASSERT_EQ(0, mprotect(only, IOU_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0));
	ASSERT_EQ(0, mprotect(only, IOU_PAGE, PROT_READ | PROT_WRITE));
	for (i = 0; i < ARRAY_LEN(ctrl.zc_area.__resv); i++) {
		ctrl.zc_area.__resv[i] = 1;
		EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0));
		ctrl.zc_area.__resv[i] = 0;
	}
	EXPECT_EQ(16, drain_pages(r, q, self->fds, seen));
	ASSERT_EQ(0, zq_add_area(r, &area, mem, 2 * IOU_PAGE));
	token = area.rq_area_token;
	EXPECT_EQ(1ULL << IORING_ZCRX_AREA_SHIFT, token);
	recv_zc(r, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(r));
	/* the byte that found no page is still there */
	ASSERT_EQ(0, get_piece(r, &p));
	EXPECT_EQ(1, p.res);
	off[0] = p.off;
	ASSERT_TRUE(put(self->fds[0], 100, 7));
	ASSERT_EQ(0, get_piece(r, &p));
	EXPECT_EQ(100, p.res);
	off[1] = p.off;
	EXPECT_EQ(token + IOU_PAGE, off[0]);
	EXPECT_EQ(token, off[1]);
	EXPECT_GT(0, iou_verify(mem, 100, 7, 1));
	ASSERT_TRUE(put(self->fds[0], 1, 0));
	EXPECT_EQ(-ENOMEM, next_res(r));
	/* a page of each area */
	zq_write(q, off[0], 1, 0);
	zq_write(q, 5 * IOU_PAGE, 1, 0);
	EXPECT_EQ(0, zq_flush(r, q));
	recv_zc(r, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(r));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, get_piece(r, &p));
		EXPECT_EQ(1, p.res);
		EXPECT_TRUE(p.off == off[0] || p.off == 5 * IOU_PAGE);
		ASSERT_TRUE(put(self->fds[0], 1, 0));
	}
	EXPECT_EQ(-ENOMEM, next_res(r));
	for (i = 2; i < 1024; i++)
		ASSERT_EQ(0, zq_add_area(r, &area, mem + 3 * IOU_PAGE, IOU_PAGE));
	EXPECT_EQ(1023ULL << IORING_ZCRX_AREA_SHIFT, area.rq_area_token);
	EXPECT_EQ(-EINVAL, zq_add_area(r, &area, mem, IOU_PAGE));
	munmap(mem, 4 * IOU_PAGE);
	munmap(only, IOU_PAGE);
}

TEST_F(zcrx, control)
{
	struct zcrx_ctrl ctrl, *only = iou_map_anon(IOU_PAGE);
	struct iou *r = &self->r;
	unsigned int op, i;
	int fd;

	EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_ZCRX_CTRL, NULL, 0));
	EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_ZCRX_CTRL, (void *)BAD, 0));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 1));
	EXPECT_EQ(-EOPNOTSUPP, zq_ctrl(r, 0, 4));
	EXPECT_EQ(-EOPNOTSUPP, zq_ctrl(r, 0, ~0U));
	EXPECT_EQ(-ENXIO, zq_ctrl(r, 1, 4));
	for (op = 0; op < 4; op++) {
		EXPECT_EQ(-ENXIO, zq_ctrl(r, 1, op));
		for (i = 0; i < 2; i++) {
			ctrl = (struct zcrx_ctrl){ .op = op, .zcrx_id = 1 };
			ctrl.__resv[i] = 1;
			EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0));
		}
		for (i = 0; i < 12 && op < 3; i++) {
			ctrl = (struct zcrx_ctrl){ .op = op };
			((unsigned int *)&ctrl.zc_export)[i] = 1;
			EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0));
		}
	}
	/* a descriptor that the program would not learn of is not opened */
	fd = dup(0);
	close(fd);
	only->op = ZCRX_CTRL_EXPORT;
	ASSERT_EQ(0, mprotect(only, IOU_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_ZCRX_CTRL, only, 0));
	EXPECT_EQ(fd, dup(0));
	close(fd);
	munmap(only, IOU_PAGE);
}

/* A descriptor of a queue. */
TEST_F(zcrx, import)
{
	struct io_uring_zcrx_ifq_reg reg;
	struct iou *r = &self->r, other;
	struct zq *q = &self->q;
	struct piece p;
	char byte = 0;
	int fd, i;
#define IMPORT(err, ...) do {						\
	reg = (struct io_uring_zcrx_ifq_reg){				\
		.if_idx = fd, .flags = ZCRX_REG_IMPORT, __VA_ARGS__ };	\
	EXPECT_EQ((err), iou_register(&other, IORING_REGISTER_ZCRX_IFQ, &reg, 1)); \
} while (0)

	fd = zq_export(r, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(-1, read(fd, &byte, 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, IOU_PAGE, PROT_READ, MAP_SHARED, fd, 0));
	ASSERT_EQ(0, iou_init(&other, 4, IOU_DEFER));
	IMPORT(-EINVAL);
	iou_exit(&other);
	ASSERT_EQ(0, iou_init_cq(&other, 4, 64, variant->flags));
	IMPORT(-EBADF, .if_idx = -1);
	IMPORT(-EBADF, .if_idx = r->fd);
	IMPORT(-EINVAL, .if_rxq = 1);
	IMPORT(-EINVAL, .rq_entries = 1);
	IMPORT(-EINVAL, .area_ptr = (uintptr_t)&q->area);
	IMPORT(-EINVAL, .region_ptr = (uintptr_t)&q->desc);
	IMPORT(-EINVAL, .event_desc = (uintptr_t)&q->event);
	IMPORT(-EINVAL, .zcrx_id = 1);
	IMPORT(-EINVAL, .__resv[0] = 1);
	IMPORT(-EINVAL, .flags = ZCRX_REG_IMPORT | ZCRX_REG_NODEV);
	IMPORT(0, .offsets.head = 1, .rx_buf_len = 1);
	EXPECT_EQ(0, reg.zcrx_id);
	EXPECT_EQ(0, reg.offsets.head);
	EXPECT_EQ(64, reg.offsets.tail);
	EXPECT_EQ(HEADER, reg.offsets.rqes);
	EXPECT_EQ(0, reg.rq_entries);
	EXPECT_EQ(1, zq_import(&other, fd));
	EXPECT_EQ(1, zq_import(r, fd));

	/* both rings receive into the queue, and both flush its refill ring */
	for (i = 0; i < 40; i++) {
		struct iou *to = i % 2 ? r : &other;

		recv_zc(to, self->fds[1], i / 2 % 2)->len = 2000;
		ASSERT_EQ(1, iou_submit(to));
		ASSERT_TRUE(put(self->fds[0], 2000, 0));
		ASSERT_EQ(0, get_piece(to, &p));
		EXPECT_EQ(2000, p.res);
		EXPECT_TRUE(piece_is(q, &p, 0));
		EXPECT_EQ(0, next_res(to));
		zq_write(q, p.off, 0, 0);
		EXPECT_EQ(0, zq_ctrl(i % 3 ? r : &other, 0, ZCRX_CTRL_FLUSH_RQ));
	}
	iou_exit(&other);
	close(fd);
}

/*
 * The rings and the descriptor of a queue end in any order.  Mutant: zcrx-import-without-reference.
 */
TEST_F(zcrx, exit_orders)
{
	unsigned int order, i;
	struct iou r[2];
	struct piece p;
	struct zq q;
	int fd;

	for (order = 0; order < 6; order++) {
		static const char ends[][4] = { "012", "021", "102", "120", "201", "210" };

		ASSERT_EQ(0, iou_init_cq(&r[0], 4, 64, variant->flags));
		ASSERT_EQ(0, iou_init_cq(&r[1], 4, 64, variant->flags));
		ASSERT_EQ(0, zq_make(&r[0], &q, 8, 8));
		fd = zq_export(&r[0], 0);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, zq_import(&r[1], fd));
		/* requests wait in both rings */
		for (i = 0; i < 2; i++) {
			recv_zc(&r[i], self->fds[1], 0);
			ASSERT_EQ(1, iou_submit(&r[i]));
		}
		for (i = 0; i < 3; i++) {
			if (ends[order][i] == '2')
				close(fd);
			else
				iou_exit(&r[ends[order][i] - '0']);
		}
		zq_unmap(&q);
	}
	/* the descriptor keeps the queue and its data alive */
	ASSERT_EQ(0, iou_init_cq(&r[0], 4, 64, variant->flags));
	ASSERT_EQ(0, zq_make(&r[0], &q, 8, 8));
	fd = zq_export(&r[0], 0);
	ASSERT_LE(0, fd);
	iou_exit(&r[0]);
	iou_sleep_ms(50);
	ASSERT_EQ(0, iou_init_cq(&r[1], 4, 64, variant->flags));
	ASSERT_EQ(0, zq_import(&r[1], fd));
	close(fd);
	recv_zc(&r[1], self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(&r[1]));
	ASSERT_TRUE(put(self->fds[0], 5000, 0));
	ASSERT_EQ(0, get_piece(&r[1], &p));
	EXPECT_TRUE(piece_is(&q, &p, 0));
	iou_exit(&r[1]);
	zq_unmap(&q);
}

/* Register a queue of 3 pages that reports @events, with counts at 2048. */
static int make_events(struct iou *r, struct zq *q, unsigned int events)
{
	zq_args(q, 3, 64);
	q->reg.event_desc = (uintptr_t)&q->event;
	q->event = (struct zcrx_event_desc){
		.user_data = 999, .type_mask = events, .flags = STATS, .stats_offset = 2048,
	};
	return zq_register(r, q);
}

/*
 * An event posts a CQE once, until it is armed again.  The counts start with what is there.
 * Mutant: zcrx-event-each-time.
 */
TEST_F(zcrx, events)
{
	const unsigned int copy = 1 << ZCRX_EVENT_COPY;
	static const unsigned int masks[] = { 0, 1, 2, 3 };
	struct zcrx_stats *stats;
	struct iou r;
	struct piece p;
	struct zq q;
	unsigned int i, n;

	for (i = 0; i < ARRAY_LEN(masks); i++) {
		ASSERT_EQ(0, iou_init_cq(&r, 4, 64, variant->flags));
		ASSERT_EQ(0, make_events(&r, &q, masks[i]));
		stats = (void *)(q.refill + 2048);
		stats->copy_count = 5;
		recv_zc(&r, self->fds[1], 0);
		ASSERT_EQ(1, iou_submit(&r));
		for (n = 0; n < 3; n++) {
			ASSERT_TRUE(put(self->fds[0], 10, 0));
			ASSERT_EQ(0, get_piece(&r, &p));
			EXPECT_EQ(10, p.res);
			EXPECT_EQ(6 + n, stats->copy_count);
			EXPECT_EQ(10 * (n + 1), stats->copy_bytes);
			if (masks[i] & copy && !n) {
				ASSERT_EQ(0, get_piece(&r, &p));
				EXPECT_EQ(999, p.user_data);
				EXPECT_EQ(ZCRX_EVENT_COPY, p.res);
				EXPECT_EQ(0, p.flags);
			}
		}
		/* no page is left, which is not the event of that name: that is a device's */
		ASSERT_TRUE(put(self->fds[0], 5000, 0));
		EXPECT_EQ(-ENOMEM, next_res(&r));
		EXPECT_EQ(0, iou_ready(&r));
		EXPECT_EQ(-EINVAL, zq_arm(&r, ZCRX_EVENT_ALLOC_FAIL));
		EXPECT_EQ(-EINVAL, zq_arm(&r, 2));
		EXPECT_EQ(-EINVAL, zq_arm(&r, 32));
		EXPECT_EQ(masks[i] & copy ? 0 : -EINVAL, zq_arm(&r, ZCRX_EVENT_COPY));
		EXPECT_EQ(-EINVAL, zq_arm(&r, ZCRX_EVENT_COPY));
		zq_write(&q, 0, 1, 0);
		zq_write(&q, IOU_PAGE, 1, 0);
		EXPECT_EQ(0, zq_flush(&r, &q));
		recv_zc(&r, self->fds[1], 0);
		ASSERT_EQ(1, iou_submit(&r));
		for (n = 0; n < 5000; n += p.res) {
			ASSERT_EQ(0, get_piece(&r, &p));
			if (p.user_data == 999)
				p.res = 0;
			ASSERT_LE(0, p.res);
		}
		iou_wait_ms(&r, 1, 20);
		EXPECT_LE(iou_ready(&r), masks[i] & copy ? 1 : 0);
		EXPECT_EQ(5030, stats->copy_bytes);
		EXPECT_LE(9, stats->copy_count);
		iou_exit(&r);
		zq_unmap(&q);
	}
}

/* The ring that has made the queue gets the events of others.  Mutant: zcrx-event-for-receiver. */
TEST_F(zcrx, events_of_others)
{
	struct iou r, other;
	struct piece p;
	struct zq q;
	int fd;

	ASSERT_EQ(0, iou_init_cq(&r, 4, 64, variant->flags));
	ASSERT_EQ(0, iou_init_cq(&other, 4, 64, variant->flags));
	ASSERT_EQ(0, make_events(&r, &q, 3));
	fd = zq_export(&r, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, zq_import(&other, fd));
	recv_zc(&other, self->fds[1], 0);
	ASSERT_EQ(1, iou_submit(&other));
	ASSERT_TRUE(put(self->fds[0], 10, 0));
	EXPECT_EQ(10, next_res(&other));
	ASSERT_EQ(0, get_piece(&r, &p));
	EXPECT_EQ(999, p.user_data);
	EXPECT_EQ(ZCRX_EVENT_COPY, p.res);
	EXPECT_EQ(0, iou_ready(&other));
	/* any of the rings arms it for all */
	EXPECT_EQ(0, zq_arm(&other, ZCRX_EVENT_COPY));
	EXPECT_EQ(-EINVAL, zq_arm(&r, ZCRX_EVENT_COPY));
	ASSERT_TRUE(put(self->fds[0], 30, 0));
	EXPECT_EQ(30, next_res(&other));
	ASSERT_EQ(0, get_piece(&r, &p));
	EXPECT_EQ(999, p.user_data);
	EXPECT_EQ(0, zq_arm(&r, ZCRX_EVENT_COPY));
	/* without that ring no CQE comes */
	iou_exit(&r);
	ASSERT_TRUE(put(self->fds[0], 20, 0));
	EXPECT_EQ(20, next_res(&other));
	EXPECT_EQ(0, iou_ready(&other));
	iou_exit(&other);
	close(fd);
	zq_unmap(&q);
}

/* Areas in large and in shared pages, which the program unmaps.  Mutant: zcrx-segment-start. */
TEST_F(zcrx, large_pages)
{
	const size_t huge = 2 << 20;
	unsigned int kind;

	for (kind = 0; kind < 3; kind++) {
		int file = memfd_create("area", 0);
		unsigned long long pos = 0;
		char *mem, *start;
		struct piece p;
		struct iou r;
		struct zq q;

		ASSERT_EQ(0, ftruncate(file, 4 * huge));
		mem = mmap(NULL, 4 * huge, PROT_READ | PROT_WRITE,
			   kind ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, kind ? -1 : file, 0);
		ASSERT_NE(MAP_FAILED, mem);
		/* the area begins within a large page, and ends within another one */
		start = (char *)(((uintptr_t)mem + huge - 1) & -huge);
		madvise(start, 2 * huge, kind == 1 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		memset(start, 1, 2 * huge);
		ASSERT_EQ(0, iou_init_cq(&r, 4, 512, variant->flags));
		zq_args(&q, 1, 512);
		munmap(q.mem, q.size);
		q.size = 64 * IOU_PAGE;
		q.mem = start + huge - 20 * IOU_PAGE;
		q.area.addr = (uintptr_t)q.mem;
		q.area.len = q.size;
		ASSERT_EQ(0, zq_register(&r, &q));
		recv_zc(&r, self->fds[1], 0);
		ASSERT_EQ(1, iou_submit(&r));
		while (pos < 60 * IOU_PAGE) {
			ASSERT_TRUE(put(self->fds[0], IOU_PAGE, pos));
			do {
				ASSERT_EQ(0, get_piece(&r, &p));
				ASSERT_TRUE(piece_is(&q, &p, pos)) {
					TH_LOG("kind %u at %llu, off %llx", kind, pos, p.off);
				}
				pos += p.res;
			} while (pos % IOU_PAGE);
		}
		munmap(mem, 4 * huge);
		ASSERT_TRUE(put(self->fds[0], 10, pos));
		EXPECT_EQ(10, next_res(&r));
		iou_exit(&r);
		munmap(q.refill, q.desc.size);
		close(file);
	}
}

/* A process is killed while its requests wait, and others have its queue. */
TEST_F(zcrx, killed)
{
	unsigned int round;
	int status, pair[2];
	char byte;

	for (round = 0; round < 5; round++) {
		pid_t child;

		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		child = fork();
		if (!child) {
			struct iou r, other;
			struct zq q;
			int fd;

			if (iou_init_cq(&r, 4, 64, variant->flags) ||
			    iou_init_cq(&other, 4, 64, variant->flags) ||
			    make_events(&r, &q, 3))
				_exit(1);
			fd = zq_export(&r, 0);
			if (fd < 0 || zq_import(&other, fd))
				_exit(2);
			recv_zc(&r, self->fds[1], 0);
			recv_zc(&other, self->fds[1], 0);
			if (iou_submit(&r) != 1 || iou_submit(&other) != 1)
				_exit(3);
			if (write(pair[1], "x", 1) != 1)
				_exit(4);
			iou_wait_ms(&r, 100, 60000);
			_exit(5);
		}
		ASSERT_EQ(1, read(pair[0], &byte, 1));
		ASSERT_TRUE(put(self->fds[0], 100, 0));
		ASSERT_EQ(0, kill(child, SIGKILL));
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		sock_close_pair(pair);
		sock_close_pair(self->fds);
		ASSERT_EQ(0, sock_tcp_pair(self->fds));
	}
}

TEST(query)
{
	struct io_uring_query_zcrx zcrx = { };
	struct io_uring_query_zcrx_event event = { };
	struct io_uring_query_hdr hdr[2] = {
		{
			.next_entry = (uintptr_t)&hdr[1], .query_op = IO_URING_QUERY_ZCRX,
			.query_data = (uintptr_t)&zcrx, .size = sizeof(zcrx),
		}, {
			.query_op = IO_URING_QUERY_ZCRX_EVENT,
			.query_data = (uintptr_t)&event, .size = sizeof(event),
		},
	};

	SKIP_WITHOUT_ZCRX();
	ASSERT_EQ(0, iou_sys_register(-1, IORING_REGISTER_QUERY, hdr, 0));
	EXPECT_EQ(0, hdr[0].result);
	EXPECT_EQ(sizeof(zcrx), hdr[0].size);
	EXPECT_EQ(ZCRX_REG_IMPORT | ZCRX_REG_NODEV, zcrx.register_flags);
	EXPECT_EQ(IORING_ZCRX_AREA_DMABUF, zcrx.area_flags);
	EXPECT_EQ(4, zcrx.nr_ctrl_opcodes);
	EXPECT_EQ(ZCRX_FEATURE_RX_PAGE_SIZE | ZCRX_FEATURE_EVENT, zcrx.features);
	EXPECT_EQ(HEADER, zcrx.rq_hdr_size);
	EXPECT_EQ(64, zcrx.rq_hdr_alignment);
	EXPECT_EQ(0, hdr[1].result);
	EXPECT_EQ(sizeof(event), hdr[1].size);
	EXPECT_EQ(3, event.event_flags);
	EXPECT_EQ(sizeof(struct zcrx_stats), event.stats_size);
	EXPECT_EQ(8, event.stats_off_alignment);
}

TEST_HARNESS_MAIN
