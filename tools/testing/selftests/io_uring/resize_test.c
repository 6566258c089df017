// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: queues that get another size */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "iou_test.h"
#include "msg.h"

#define TASKRUN		(IOU_DEFER | IORING_SETUP_TASKRUN_FLAG)
#define REWIND		(IORING_SETUP_NO_SQARRAY | IORING_SETUP_SQ_REWIND)
#define MIXED		IORING_SETUP_SQE_MIXED
#define CQSIZE		IORING_SETUP_CQSIZE
#define CLAMP		IORING_SETUP_CLAMP

/* differences: none, 6.12 cannot resize queues */
static bool no_resize(void)
{
	return iou_on_older_stock();
}

/* Ask for other sizes; the ring's mappings stay those of the old memory. */
static int resize_call(struct iou *r, unsigned int sq, unsigned int cq, unsigned int flags,
		       struct io_uring_params *p)
{
	*p = (struct io_uring_params) { .sq_entries = sq, .cq_entries = cq, .flags = flags };
	return iou_register(r, IORING_REGISTER_RESIZE_RINGS, p, 1);
}

/* Resize the queues to at most 64 SQEs and 128 CQEs, and map them.  *@old gets the old mappings. */
static int resize_keep(struct iou *r, unsigned int sq, unsigned int cq, struct iou *old)
{
	struct io_uring_params p = { .sq_entries = sq, .cq_entries = cq, .flags = CQSIZE };
	struct iou new = *r;
	int ret;

	*old = *r;
	new.p.flags |= CQSIZE;
	new.p.cq_entries = cq;
	if (r->flags & IORING_SETUP_NO_MMAP) {
		ret = iou_place(&new, sq);
		if (ret)
			return ret;
		p.sq_off.user_addr = new.p.sq_off.user_addr;
		p.cq_off.user_addr = new.p.cq_off.user_addr;
	}
	ret = iou_register(r, IORING_REGISTER_RESIZE_RINGS, &p, 1);
	if (ret) {
		if (r->flags & IORING_SETUP_NO_MMAP) {
			munmap(new.rings, new.rings_len);
			munmap(new.sqes, new.sqes_len);
		}
		return ret;
	}
	new.p = p;
	if (!(r->flags & IORING_SETUP_NO_MMAP)) {
		ret = iou_map(&new);
		if (ret)
			return ret;
	}
	*r = new;
	/* iou_find_words() resets the index array, which the caller may want to look at */
	r->flags |= IORING_SETUP_NO_SQARRAY;
	iou_find_words(r);
	r->flags = old->flags;
	if (!(r->flags & IORING_SETUP_NO_SQARRAY))
		r->sq_array = iou_word(r, p.sq_off.array);
	return 0;
}

static void unmap_old(struct iou *old)
{
	munmap(old->rings, old->rings_len);
	munmap(old->sqes, old->sqes_len);
}

/* Resize the queues and drop the old mappings. */
static int resize(struct iou *r, unsigned int sq, unsigned int cq)
{
	struct iou old;
	int ret = resize_keep(r, sq, cq, &old);

	if (ret)
		return ret;
	unmap_old(&old);
	iou_find_words(r);
	return 0;
}

static unsigned int ring_words(const struct iou *r, unsigned int offset)
{
	return *(unsigned int *)((char *)r->rings + offset);
}

/* Submit @nr NOPs one by one; user_data counts from *@data. */
static int nops(struct iou *r, unsigned int nr, unsigned long long *data)
{
	int ret = 1;

	while (nr-- && ret == 1) {
		iou_nop(r, (*data)++);
		ret = iou_submit(r);
	}
	return ret == 1 ? 0 : -ENODATA;
}

/* Take @nr CQEs, with user_data from *@data on. */
static int take(struct iou *r, unsigned int nr, unsigned long long *data)
{
	struct io_uring_cqe cqe;
	int ret = 0;

	while (nr-- && !ret) {
		ret = iou_reap(r, &cqe);
		if (!ret && (cqe.user_data != (*data)++ || cqe.res))
			ret = -EBADMSG;
	}
	return ret;
}

/* Mutants: resize-any-flag, resize-any-ring. */
TEST(refused)
{
	const struct {
		unsigned int setup, sq, cq, flags;
		int ret;
		unsigned int new_sq, new_cq, out;
	} rows[] = {
		{ 0, 16, 32, 0, -EINVAL },
		{ IORING_SETUP_SINGLE_ISSUER, 16, 32, 0, -EINVAL },
		{ IORING_SETUP_SQPOLL, 16, 32, 0, -EINVAL },
		{ IOU_COOP, 16, 32, 0, -EINVAL },
		{ IORING_SETUP_IOPOLL, 16, 32, 0, -EINVAL },
		{ IOU_DEFER, 16, 0, 0, 0, 16, 32, 0 },
		{ TASKRUN, 16, 0, 0, 0, 16, 32, 0 },
		{ IOU_DEFER | IORING_SETUP_IOPOLL, 16, 0, 0, 0, 16, 32, 0 },
		{ IOU_DEFER | IORING_SETUP_R_DISABLED, 16, 0, 0, 0, 16, 32, 0 },
		{ IOU_DEFER | IORING_SETUP_CQE32, 4, 0, 0, 0, 4, 8, IORING_SETUP_CQE32 },
		{ IOU_DEFER | IORING_SETUP_SQE128, 4, 0, 0, 0, 4, 8, IORING_SETUP_SQE128 },
		{ IOU_DEFER | MIXED, 4, 0, 0, 0, 4, 8, MIXED },
		{ IOU_DEFER | MIXED, 2, 0, 0, 0, 2, 4, MIXED },
		{ IOU_DEFER | MIXED, 1, 0, 0, -EOVERFLOW },
		{ IOU_DEFER | REWIND, 4, 0, 0, 0, 4, 8, IORING_SETUP_NO_SQARRAY },
		{ IOU_DEFER, 16, 1, 0, 0, 16, 32, 0 },
		{ IOU_DEFER, 16, 1 << 20, 0, 0, 16, 32, 0 },
		{ IOU_DEFER, 16, 64, CQSIZE, 0, 16, 64, CQSIZE },
		{ IOU_DEFER, 9, 33, CQSIZE, 0, 16, 64, CQSIZE },
		{ IOU_DEFER, 9, 9, CQSIZE, 0, 16, 16, CQSIZE },
		{ IOU_DEFER, 8, 16, CQSIZE, 0, 8, 16, CQSIZE },
		{ IOU_DEFER, 1, 1, CQSIZE, 0, 1, 1, CQSIZE },
		{ IOU_DEFER, 1, 0, CQSIZE, -EINVAL },
		{ IOU_DEFER, 64, 16, CQSIZE, -EINVAL },
		{ IOU_DEFER, 0, 64, CQSIZE, -EINVAL },
		{ IOU_DEFER, 0, 0, CLAMP, -EINVAL },
		{ IOU_DEFER, 32768, 0, 0, 0, 32768, 65536, 0 },
		{ IOU_DEFER, 32769, 0, 0, -EINVAL },
		{ IOU_DEFER, 32769, 0, CLAMP, 0, 32768, 65536, CLAMP },
		{ IOU_DEFER, 16, 65537, CQSIZE, -EINVAL },
		{ IOU_DEFER, 16, 65537, CQSIZE | CLAMP, 0, 16, 65536, CQSIZE | CLAMP },
		{ IOU_DEFER, ~0U, 0, 0, -EINVAL },
	};
	struct io_uring_params p;
	unsigned int i;
	struct iou r;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		ASSERT_EQ(0, iou_init(&r, 8, rows[i].setup));
		EXPECT_EQ(rows[i].ret, resize_call(&r, rows[i].sq, rows[i].cq, rows[i].flags, &p)) {
			TH_LOG("row %u", i);
		}
		if (!rows[i].ret) {
			EXPECT_EQ(rows[i].new_sq, p.sq_entries);
			EXPECT_EQ(rows[i].new_cq, p.cq_entries);
			EXPECT_EQ(rows[i].out, p.flags);
			EXPECT_EQ(0, p.features);
			EXPECT_NE(0, p.cq_off.cqes);
		}
		iou_exit(&r);
	}
	for (i = 0; i < 32; i++) {
		if (1U << i & (CQSIZE | CLAMP))
			continue;
		ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER));
		EXPECT_EQ(-EINVAL, resize_call(&r, 16, 32, 1U << i, &p)) {
			TH_LOG("bit %u", i);
		}
		iou_exit(&r);
	}
}

/* Bad arguments, and members that are not looked at. */
TEST(arguments)
{
	struct io_uring_params *p = iou_map_anon(IOU_PAGE), again;
	unsigned long long sent = 1, got = 1;
	struct iou r;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER));
	p->sq_entries = 16;
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_RESIZE_RINGS, p, 0));
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_RESIZE_RINGS, p, 2));
	EXPECT_EQ(-EINVAL, iou_register(&r, IORING_REGISTER_RESIZE_RINGS, NULL, 1));
	EXPECT_EQ(-EFAULT, iou_register(&r, IORING_REGISTER_RESIZE_RINGS, (void *)8, 1));
	p->resv[1] = 5;
	p->wq_fd = 5;
	p->features = 5;
	p->sq_thread_cpu = 5;
	p->sq_thread_idle = 5;
	p->sq_off.user_addr = 5;
	p->cq_off.user_addr = 5;
	EXPECT_EQ(0, iou_register(&r, IORING_REGISTER_RESIZE_RINGS, p, 1));
	EXPECT_EQ(5, p->resv[1]);
	EXPECT_EQ(5, p->features);
	EXPECT_EQ(0, p->sq_off.user_addr);
	EXPECT_EQ(0, p->cq_off.user_addr);
	iou_exit(&r);

	/* the kernel cannot tell the offsets, so the queues stay as they are */
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER));
	p->sq_entries = 32;
	ASSERT_EQ(0, mprotect(p, IOU_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, iou_register(&r, IORING_REGISTER_RESIZE_RINGS, p, 1));
	EXPECT_EQ(0, nops(&r, 9, &sent));
	EXPECT_EQ(0, take(&r, 9, &got));
	EXPECT_EQ(-EINVAL, resize_call(&r, 0, 0, 0, &again));
	iou_exit(&r);
	munmap(p, IOU_PAGE);
}

static void *resize_thread(void *arg)
{
	struct io_uring_params p;

	return (void *)(long)resize_call(arg, 16, 0, 0, &p);
}

static long resize_elsewhere(struct iou *r)
{
	pthread_t thread;
	void *ret;

	if (pthread_create(&thread, NULL, resize_thread, r) || pthread_join(thread, &ret))
		return -ECHILD;
	return (long)ret;
}

/* Only the owner resizes, and any task before there is an owner.  A registered index works, too. */
TEST(owner)
{
	struct io_uring_rsrc_update up = { .offset = -1U };
	unsigned long long sent = 1, got = 1;
	struct iou r;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER));
	EXPECT_EQ(-EEXIST, resize_elsewhere(&r));
	up.data = r.fd;
	ASSERT_EQ(1, iou_register(&r, IORING_REGISTER_RING_FDS, &up, 1));
	r.by_index = true;
	close(r.fd);
	r.fd = up.offset;
	EXPECT_EQ(0, resize_call(&r, 16, 0, 0, &r.p));
	iou_exit(&r);

	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER | IORING_SETUP_R_DISABLED));
	EXPECT_EQ(0, resize_elsewhere(&r));
	EXPECT_EQ(0, resize(&r, 4, 8));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	EXPECT_EQ(0, nops(&r, 8, &sent));
	EXPECT_EQ(0, take(&r, 8, &got));
	EXPECT_EQ(-EEXIST, resize_elsewhere(&r));
	EXPECT_EQ(0, resize(&r, 16, 32));
	EXPECT_EQ(0, nops(&r, 30, &sent));
	EXPECT_EQ(0, take(&r, 30, &got));
	iou_exit(&r);
}

FIXTURE(resize)
{
	struct iou r;
};

FIXTURE_VARIANT(resize)
{
	unsigned int flags;
};

IOU_KIND(resize, defer, IOU_DEFER);
IOU_KIND(resize, taskrun, TASKRUN);
IOU_KIND(resize, cqe32, IOU_DEFER | IORING_SETUP_CQE32);
IOU_KIND(resize, sqe128, IOU_DEFER | IORING_SETUP_SQE128);
IOU_KIND(resize, mixed, IOU_DEFER | MIXED);
IOU_KIND(resize, no_sqarray, IOU_DEFER | IORING_SETUP_NO_SQARRAY);
IOU_KIND(resize, no_mmap, IOU_DEFER | IORING_SETUP_NO_MMAP);
IOU_KIND(resize, large, IOU_DEFER | IOU_LARGE);

FIXTURE_SETUP(resize)
{
	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, iou_init(&self->r, 16, variant->flags));
}

FIXTURE_TEARDOWN(resize)
{
	iou_exit(&self->r);
}

/* Prepare @nr NOPs without submitting them.  The last word of each SQE counts as well. */
static void prepare(struct iou *r, unsigned int nr, unsigned long long *data)
{
	struct io_uring_sqe *sqe;

	while (nr--) {
		sqe = iou_nop(r, *data);
		/* a NOP looks at this word only in a ring of small SQEs */
		if (r->sqe_size == 128)
			((__u64 *)sqe)[15] = *data;
		(*data)++;
	}
	iou_flush(r);
}

/* Check the last words of pending SQEs of 128 bytes, the first of which has user_data @data. */
static bool sqes_whole(struct iou *r, unsigned int nr, unsigned long long data)
{
	unsigned int pos = *r->sq_head, slot;
	struct io_uring_sqe *sqe;

	for (; nr--; pos++, data++) {
		slot = pos & (r->p.sq_entries - 1);
		if (r->sq_array && r->sq_array[slot] != slot)
			return false;
		sqe = (void *)((char *)r->sqes + slot * (size_t)r->sqe_size);
		if (sqe->user_data != data || (r->sqe_size == 128 && ((__u64 *)sqe)[15] != data))
			return false;
	}
	return true;
}

/*
 * Pending entries are kept, at whatever slot of either queue they begin.  Mutants:
 * resize-keeps-slots, resize-half-sqe, resize-old-room.
 */
TEST_F(resize, kept)
{
	static const unsigned int sizes[] = { 64, 8, 16, 16, 4, 32, 8 };
	unsigned long long sent = 1, got = 1;
	struct iou *r = &self->r, old;
	unsigned int i, n, sq, held;

	for (n = 0; n < 40; n++) {
		for (i = 0; i < ARRAY_LEN(sizes); i++) {
			sq = sizes[i];
			/* as many as both sizes have room for */
			held = sq < r->p.sq_entries ? sq : r->p.sq_entries;
			ASSERT_EQ(0, nops(r, held, &sent));
			ASSERT_EQ(0, iou_wait(r, held));
			prepare(r, held, &sent);
			ASSERT_EQ(0, resize_keep(r, sq, 2 * sq, &old));
			EXPECT_EQ(*old.sq_head, *r->sq_head);
			EXPECT_EQ(*old.sq_tail, *r->sq_tail);
			EXPECT_EQ(*old.cq_head, *r->cq_head);
			EXPECT_EQ(*old.cq_tail, *r->cq_tail);
			EXPECT_EQ(sq, ring_words(r, r->p.sq_off.ring_entries));
			EXPECT_EQ(sq - 1, ring_words(r, r->p.sq_off.ring_mask));
			EXPECT_EQ(2 * sq, ring_words(r, r->p.cq_off.ring_entries));
			EXPECT_EQ(2 * sq - 1, ring_words(r, r->p.cq_off.ring_mask));
			EXPECT_TRUE(sqes_whole(r, held, sent - held));
			unmap_old(&old);
			iou_find_words(r);
			EXPECT_EQ(held, iou_ready(r));
			EXPECT_EQ(held, iou_enter(r, held, 0, 0));
			ASSERT_EQ(0, take(r, 2 * held, &got));
			/* all slots of the new queues work */
			ASSERT_EQ(0, nops(r, 2 * sq, &sent));
			ASSERT_EQ(0, take(r, 2 * sq, &got));
		}
		/* begin at another slot */
		ASSERT_EQ(0, nops(r, 1, &sent));
		ASSERT_EQ(0, take(r, 1, &got));
	}
}

/* CQEs of 32 bytes are copied whole.  Mutant: resize-half-cqe. */
TEST(large_cqes)
{
	unsigned int i, n;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	struct iou r;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER | IORING_SETUP_CQE32));
	for (n = 0; n < 20; n++) {
		for (i = 0; i < 7; i++) {
			sqe = iou_nop(&r, i);
			sqe->rw_flags = IORING_NOP_CQE32;
			sqe->off = 100 + i;
			sqe->addr = 200 + i;
		}
		ASSERT_EQ(7, iou_submit(&r));
		ASSERT_EQ(0, iou_wait(&r, 7));
		ASSERT_EQ(0, resize(&r, 8, n & 1 ? 16 : 8));
		ASSERT_EQ(7, iou_ready(&r));
		for (i = 0; i < 7; i++) {
			cqe = iou_cqe_at(&r, i);
			EXPECT_EQ(i, cqe->user_data);
			EXPECT_EQ(100 + i, cqe->big_cqe[0]);
			EXPECT_EQ(200 + i, cqe->big_cqe[1]);
		}
		iou_seen(&r, 7);
	}
	iou_exit(&r);
}

/* Without room for what is pending nothing changes.  Mutant: resize-loses-cqes. */
TEST_F(resize, no_room)
{
	unsigned long long sent = 1, got = 1;
	struct iou *r = &self->r, old;

	prepare(r, 5, &sent);
	EXPECT_EQ(-EOVERFLOW, resize_keep(r, 4, 16, &old));
	EXPECT_EQ(0, ring_words(r, r->p.sq_off.dropped));
	EXPECT_EQ(16, ring_words(r, r->p.sq_off.ring_entries));
	ASSERT_EQ(5, iou_enter(r, 5, 0, 0));
	EXPECT_EQ(-EOVERFLOW, resize_keep(r, 4, 4, &old));
	EXPECT_EQ(32, ring_words(r, r->p.cq_off.ring_entries));
	ASSERT_EQ(0, nops(r, 27, &sent));
	ASSERT_EQ(0, take(r, 28, &got));
	EXPECT_EQ(0, resize(r, 4, 4));
	ASSERT_EQ(0, take(r, 4, &got));
	ASSERT_EQ(0, nops(r, 4, &sent));
	ASSERT_EQ(0, take(r, 4, &got));
}

/* Overflowed CQEs stay in their list, in order.  Mutant: resize-clears-overflow. */
TEST_F(resize, overflow)
{
	static const unsigned int sizes[] = { 16, 32, 64 };
	unsigned long long sent = 1, got = 1;
	struct iou *r = &self->r;
	unsigned int i, cq;

	ASSERT_EQ(0, resize(r, 16, 16));
	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		cq = r->p.cq_entries;
		ASSERT_EQ(0, nops(r, cq + 5, &sent));
		EXPECT_TRUE(load_acq(r->sq_flags) & IORING_SQ_CQ_OVERFLOW);
		ASSERT_EQ(0, resize(r, 16, sizes[i]));
		EXPECT_TRUE(load_acq(r->sq_flags) & IORING_SQ_CQ_OVERFLOW);
		EXPECT_EQ(cq, iou_ready(r));
		/* this one has no room, or has to wait for those before it */
		ASSERT_EQ(0, nops(r, 1, &sent));
		EXPECT_EQ(cq, iou_ready(r));
		ASSERT_EQ(0, take(r, cq, &got));
		ASSERT_EQ(0, iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS));
		EXPECT_EQ(6, iou_ready(r));
		EXPECT_FALSE(load_acq(r->sq_flags) & IORING_SQ_CQ_OVERFLOW);
		ASSERT_EQ(0, take(r, 6, &got));
	}
}

/* SQEs are taken in the order of the index array, and a bad index stays one. */
TEST(index_array)
{
	struct io_uring_cqe cqe;
	struct iou r, old;
	unsigned int i;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, iou_init(&r, 16, IOU_DEFER));
	for (i = 0; i < 8; i++) {
		iou_nop(&r, i);
		r.sq_array[i] = 7 - i;
	}
	iou_flush(&r);
	ASSERT_EQ(0, resize_keep(&r, 8, 32, &old));
	unmap_old(&old);
	ASSERT_EQ(8, iou_enter(&r, 8, 0, 0));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(7 - i, cqe.user_data);
	}
	/* in the larger queue this index would be good.  Mutant: resize-revives-sqe. */
	iou_nop(&r, 50);
	iou_nop(&r, 51);
	r.sq_array[0] = 20;
	r.sq_array[1] = 1;
	iou_flush(&r);
	ASSERT_EQ(0, resize_keep(&r, 64, 128, &old));
	unmap_old(&old);
	EXPECT_GE(1, iou_enter(&r, 2, 0, 0));
	EXPECT_EQ(1, *r.sq_dropped);
	/* the SQE behind it may be left for the next call */
	if (!iou_ready(&r))
		EXPECT_EQ(1, iou_enter(&r, 1, 0, 0));
	ASSERT_EQ(0, iou_reap(&r, &cqe));
	EXPECT_EQ(51, cqe.user_data);
	iou_exit(&r);
}

/* Prepare an SQE of 128 bytes that begins in the next slot. */
static void prepare_large(struct iou *r, unsigned long long data)
{
	struct io_uring_sqe *sqe = iou_nop(r, data);

	sqe->opcode = IORING_OP_NOP128;
	memset(iou_sqe(r), 0x5a, 64);
}

/*
 * An SQE of two slots is not split: either both halves fit at the same place, or nothing changes.
 * Mutant: resize-splits-sqe.
 */
TEST(mixed_sqes)
{
	unsigned long long sent = 1, got = 1;
	unsigned int array, size;
	struct io_uring_cqe cqe;
	struct iou r, old;
	int ret;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	for (array = 0; array < 2; array++) {
		for (size = 8; size <= 64; size *= 2) {
			ASSERT_EQ(0, iou_init(&r, 16, IOU_DEFER | MIXED |
					      (array ? 0 : IORING_SETUP_NO_SQARRAY)));
			ASSERT_EQ(0, nops(&r, 7, &sent));
			ASSERT_EQ(0, take(&r, 7, &got));
			prepare_large(&r, 70);
			iou_nop(&r, 71);
			iou_flush(&r);
			ret = resize_keep(&r, size, 2 * size, &old);
			EXPECT_EQ(size == 8 ? -EOVERFLOW : 0, ret);
			if (!ret) {
				EXPECT_EQ(0x5a, ((char *)r.sqes)[8 * 64]);
				EXPECT_EQ(0x5a, ((char *)r.sqes)[8 * 64 + 63]);
				unmap_old(&old);
			}
			ASSERT_EQ(3, iou_enter(&r, 3, 0, 0));
			ASSERT_EQ(0, iou_reap(&r, &cqe));
			EXPECT_EQ(70, cqe.user_data);
			EXPECT_EQ(0, cqe.res);
			ASSERT_EQ(0, iou_reap(&r, &cqe));
			EXPECT_EQ(71, cqe.user_data);
			iou_exit(&r);
		}
	}
	/* the second half is the next slot in memory, whatever the index array says */
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER | MIXED));
	prepare_large(&r, 70);
	r.sq_array[1] = 5;
	iou_flush(&r);
	ASSERT_EQ(0, resize_keep(&r, 4, 8, &old));
	unmap_old(&old);
	EXPECT_EQ(0x5a, ((char *)r.sqes)[64]);
	ASSERT_EQ(2, iou_enter(&r, 2, 0, 0));
	ASSERT_EQ(0, iou_reap(&r, &cqe));
	EXPECT_EQ(0, cqe.res);
	iou_exit(&r);
}

/* The program's words and the counters go on.  Mutant: resize-clears-flags. */
TEST(words)
{
	struct iou r, old;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER));
	store_rel(r.cq_flags, IORING_CQ_EVENTFD_DISABLED);
	store_rel(r.cq_lost, 77);
	store_rel(r.sq_dropped, 55);
	ASSERT_EQ(0, resize_keep(&r, 16, 32, &old));
	EXPECT_EQ(IORING_CQ_EVENTFD_DISABLED, *r.cq_flags);
	EXPECT_EQ(77, *r.cq_lost);
	EXPECT_EQ(55, *r.sq_dropped);
	unmap_old(&old);
	/* heads and tails that make no sense */
	store_rel(r.sq_tail, 20);
	EXPECT_EQ(-EOVERFLOW, resize_keep(&r, 16, 32, &old));
	store_rel(r.sq_tail, -1);
	EXPECT_EQ(-EOVERFLOW, resize_keep(&r, 64, 128, &old));
	store_rel(r.sq_tail, 0);
	store_rel(r.cq_head, 5);
	EXPECT_EQ(-EOVERFLOW, resize_keep(&r, 64, 128, &old));
	store_rel(r.cq_head, 0);
	/* differences: resize-positions */
	if (!iou_on_stock()) {
		store_rel(r.sq_head, 7);
		store_rel(r.cq_tail, 7);
		EXPECT_EQ(0, resize(&r, 8, 16));
		EXPECT_EQ(0, *r.sq_head);
		EXPECT_EQ(0, *r.cq_tail);
	}
	iou_exit(&r);
}

/* With SQ_REWIND nothing is pending, and each batch begins at the first slot of the new queue. */
TEST(rewind_sq)
{
	struct io_uring_cqe cqe;
	unsigned int i, nr;
	struct iou r;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER | REWIND));
	for (nr = 32; nr >= 4; nr /= 2) {
		ASSERT_EQ(0, resize(&r, nr, 2 * nr));
		r.next = 0;
		for (i = 0; i < nr; i++)
			iou_nop(&r, i);
		ASSERT_EQ(nr, iou_enter(&r, nr, 0, 0));
		EXPECT_EQ(0, *r.sq_head);
		for (i = 0; i < nr; i++) {
			ASSERT_EQ(0, iou_reap(&r, &cqe));
			EXPECT_EQ(i, cqe.user_data);
		}
	}
	iou_exit(&r);
}

/* Memory of the program has to be good, and may be the old memory. */
TEST(no_mmap)
{
	const size_t size = 32 * IOU_PAGE;
	char *mem = iou_map_anon(size), *none = mem + 16 * IOU_PAGE;
	const struct {
		char *cq, *sq;
		unsigned int entries;
		int ret;
	} rows[] = {
		{ NULL, mem, 16, -EFAULT },
		{ mem, NULL, 16, -EFAULT },
		{ mem + 64, mem + 4 * IOU_PAGE, 16, -EINVAL },
		{ mem, mem + 4 * IOU_PAGE + 64, 16, -EINVAL },
		{ none - IOU_PAGE, mem, 1024, -EFAULT },
		{ mem, none - IOU_PAGE, 128, -EFAULT },
		{ mem, mem + 4 * IOU_PAGE, 16, 0 },
		{ mem, mem + 4 * IOU_PAGE, 16, 0 },
		{ mem, mem + 4 * IOU_PAGE, 32, 0 },
	};
	unsigned long long sent = 1, got = 1;
	struct io_uring_params p;
	unsigned int i;
	struct iou r;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, mprotect(none, IOU_PAGE, PROT_NONE));
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER | IORING_SETUP_NO_MMAP));
	ASSERT_EQ(0, nops(&r, 3, &sent));
	prepare(&r, 2, &sent);
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		p = (struct io_uring_params) {
			.sq_entries = rows[i].entries,
			.cq_off.user_addr = (uintptr_t)rows[i].cq,
			.sq_off.user_addr = (uintptr_t)rows[i].sq,
		};
		EXPECT_EQ(rows[i].ret, iou_register(&r, IORING_REGISTER_RESIZE_RINGS, &p, 1)) {
			TH_LOG("row %u", i);
		}
		if (rows[i].ret)
			continue;
		EXPECT_EQ((uintptr_t)rows[i].cq, p.cq_off.user_addr);
		EXPECT_EQ((uintptr_t)rows[i].sq, p.sq_off.user_addr);
		r.p = p;
		r.rings = rows[i].cq;
		r.sqes = rows[i].sq;
		r.rings_len = 0;
		r.sqes_len = 0;
		iou_find_words(&r);
		EXPECT_EQ(3, iou_ready(&r));
	}
	EXPECT_EQ(2, iou_enter(&r, 2, 0, 0));
	EXPECT_EQ(0, take(&r, 5, &got));
	r.rings = NULL;
	r.sqes = NULL;
	iou_exit(&r);
	munmap(mem, size);
}

/* The kernel uses old memory no more, and old mappings stay. */
TEST_F(resize, old_memory)
{
	unsigned long long sent = 1, got = 1;
	struct iou *r = &self->r, old;

	ASSERT_EQ(0, nops(r, 5, &sent));
	prepare(r, 3, &sent);
	ASSERT_EQ(0, resize_keep(r, 8, 16, &old));
	memset(old.rings, 0xff, old.rings_len);
	memset(old.sqes, 0xff, old.sqes_len);
	iou_find_words(r);
	EXPECT_EQ(3, iou_enter(r, 3, 0, 0));
	EXPECT_EQ(0, take(r, 8, &got));
	ASSERT_EQ(0, nops(r, 16, &sent));
	EXPECT_EQ(0, take(r, 16, &got));
	EXPECT_EQ(~0U, *old.cq_tail);
	EXPECT_EQ(~0U, *old.sq_head);
	EXPECT_EQ(~0U, *old.sq_flags);
	unmap_old(&old);
}

/* Work that waits for the owner is shown in the new memory.  Mutant: resize-no-taskrun. */
TEST(taskrun)
{
	struct io_uring_cqe cqe;
	int fds[2];
	struct iou r;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(0, iou_init(&r, 8, TASKRUN));
	iou_prep(&r, IORING_OP_POLL_ADD, fds[0], NULL, 0, 0)->poll32_events = poll_word(POLLIN);
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_EQ(1, write(fds[1], "x", 1));
	EXPECT_TRUE(load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
	ASSERT_EQ(0, resize(&r, 16, 32));
	EXPECT_TRUE(load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
	EXPECT_EQ(0, iou_ready(&r));
	ASSERT_EQ(0, iou_enter(&r, 0, 0, IORING_ENTER_GETEVENTS));
	EXPECT_FALSE(load_acq(r.sq_flags) & IORING_SQ_TASKRUN);
	ASSERT_EQ(0, iou_reap(&r, &cqe));
	EXPECT_EQ(POLLIN, cqe.res);
	ASSERT_EQ(0, resize(&r, 8, 16));
	/* differences: resize-flags */
	if (!iou_on_stock())
		EXPECT_EQ(0, *r.sq_flags);
	iou_exit(&r);
	close(fds[0]);
	close(fds[1]);
}

static void *poll_thread(void *arg)
{
	struct pollfd fd = { .fd = ((struct iou *)arg)->fd, .events = POLLIN };

	return (void *)(long)(poll(&fd, 1, IOU_PATIENCE) == 1 ? fd.revents : 0);
}

/* A task that polls the ring finds the CQEs in the new memory, and so does one that waits. */
TEST_F(resize, poll)
{
	struct iou *r = &self->r;
	struct pollfd fd = { .fd = r->fd, .events = POLLIN | POLLOUT };
	unsigned long long sent = 1, got = 1;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, resize(r, 4, 8));
	ASSERT_EQ(0, pthread_create(&thread, NULL, poll_thread, r));
	iou_sleep_ms(50);
	ASSERT_EQ(0, resize(r, 8, 16));
	ASSERT_EQ(0, nops(r, 1, &sent));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(POLLIN, (long)ret);
	ASSERT_EQ(0, resize(r, 4, 8));
	EXPECT_EQ(1, poll(&fd, 1, 0));
	EXPECT_EQ(POLLIN | POLLOUT, fd.revents);
	ASSERT_EQ(0, take(r, 1, &got));
	prepare(r, 4, &sent);
	EXPECT_EQ(0, poll(&fd, 1, 0));
	ASSERT_EQ(0, resize(r, 8, 16));
	EXPECT_EQ(1, poll(&fd, 1, 0));
	EXPECT_EQ(POLLOUT, fd.revents);
	/* a wait for more CQEs than the old queue has room for */
	ASSERT_EQ(0, resize(r, 32, 64));
	iou_enter(r, 4, 0, 0);
	ASSERT_EQ(0, nops(r, 28, &sent));
	EXPECT_EQ(0, iou_enter(r, 0, 32, IORING_ENTER_GETEVENTS));
	EXPECT_EQ(0, take(r, 32, &got));
}

/* fdinfo shows the new queues. */
TEST_F(resize, fdinfo)
{
	unsigned long long sent = 1;
	char path[64], line[256];
	unsigned int mask, seen = 0;
	FILE *info;

	ASSERT_EQ(0, nops(&self->r, 3, &sent));
	ASSERT_EQ(0, resize(&self->r, 4, 32));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->r.fd);
	info = fopen(path, "r");
	ASSERT_NE(NULL, info);
	while (fgets(line, sizeof(line), info)) {
		if (sscanf(line, "SqMask: 0x%x", &mask) == 1 && mask == 3)
			seen |= 1;
		if (sscanf(line, "CqMask: 0x%x", &mask) == 1 && mask == 31)
			seen |= 2;
		if (!strcmp(line, "CQEs:\t3\n"))
			seen |= 4;
	}
	EXPECT_EQ(7, seen);
	fclose(info);
}

static long available_kb(void)
{
	FILE *info = fopen("/proc/meminfo", "r");
	char line[256];
	long kb = -1;

	while (info && fgets(line, sizeof(line), info) && kb < 0)
		sscanf(line, "MemAvailable: %ld kB", &kb);
	if (info)
		fclose(info);
	return kb;
}

/* The old memory is returned, that of failed calls as well.  Mutant: resize-leaks. */
TEST(memory)
{
	unsigned long long sent = 1;
	struct io_uring_params p;
	struct iou r;
	long before;
	int i;

	if (no_resize())
		SKIP(return, "no IORING_REGISTER_RESIZE_RINGS");
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER));
	before = available_kb();
	/* 3 MiB each */
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, resize_call(&r, 32768, 0, 0, &p));
	/* give freed pages of other CPUs time */
	iou_sleep_ms(100);
	EXPECT_GT(before - available_kb(), -1L << 40);
	EXPECT_LT(before - available_kb(), 100 << 10);
	iou_exit(&r);
	ASSERT_EQ(0, iou_init(&r, 32768, IOU_DEFER));
	prepare(&r, 16385, &sent);
	for (i = 0; i < 100; i++)
		ASSERT_EQ(-EOVERFLOW, resize_call(&r, 16384, 65536, CQSIZE, &p));
	EXPECT_LT(before - available_kb(), 100 << 10);
	iou_exit(&r);
}

/* What the threads of a race share */
struct race {
	struct iou *r;
	unsigned int sent;
	bool stop;
};

/* Send messages to the ring, one after the other, as long as the owner receives them. */
static void *send_thread(void *arg)
{
	struct race *race = arg;
	struct iou s;

	if (iou_init(&s, 8, 0))
		return (void *)-1;
	while (!load_acq(&race->stop)) {
		if (send_data(&s, race->r->fd, race->sent + 1, 0) < 0)
			return (void *)-2;
		store_rel(&race->sent, race->sent + 1);
		/* leave the owner time */
		if (!(race->sent % 16))
			iou_sleep_ms(1);
	}
	iou_exit(&s);
	return NULL;
}

/* Read all that a task can read of the ring: fdinfo, poll(2) and mappings of either memory. */
static void *look_thread(void *arg)
{
	struct race *race = arg;
	struct pollfd fd = { .fd = race->r->fd, .events = POLLIN | POLLOUT };
	unsigned int *words, mask;
	char path[64], buf[4096];
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", race->r->fd);
	while (!load_acq(&race->stop)) {
		poll(&fd, 1, 0);
		info = open(path, O_RDONLY);
		if (info < 0 || read(info, buf, sizeof(buf)) <= 0)
			return (void *)-1;
		close(info);
		if (race->r->flags & IORING_SETUP_NO_MMAP)
			continue;
		words = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd.fd,
			     IORING_OFF_SQ_RING);
		if (words == MAP_FAILED)
			return (void *)-2;
		mask = words[race->r->p.sq_off.ring_mask / 4];
		if (mask != 3 && mask != 15)
			return (void *)-3;
		munmap(words, IOU_PAGE);
	}
	return NULL;
}

/*
 * Receive messages up to number @last, when the flags in the ring's memory ask for a system call.
 * Return: true if they arrive in order.
 */
static bool receive_up_to(struct iou *r, unsigned int *got, unsigned int last)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	struct io_uring_cqe cqe;

	while ((int)(*got - last) < 0) {
		if (iou_ready(r)) {
			if (iou_reap(r, &cqe) || cqe.user_data != ++*got)
				return false;
		} else if (load_acq(r->sq_flags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) {
			if (iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS))
				return false;
		} else if (iou_now_us() > end) {
			return false;
		}
	}
	return true;
}

/* Receive messages and resize until the time is over.  Return: 0, or the line of a failure. */
static int receive(struct race *race)
{
	unsigned long long end = iou_race_end();
	struct iou *r = race->r, old;
	unsigned int got = 0, n = 0;
	int ret;

	do {
		ret = resize_keep(r, n & 1 ? 16 : 4, n & 2 ? 64 : 32, &old);
		if (ret && ret != -EOVERFLOW)
			return __LINE__;
		if (!ret) {
			/* no position is written to this memory any more */
			store_rel(old.sq_flags, 0);
			store_rel(old.cq_tail, 0);
			n++;
		}
		if (!receive_up_to(r, &got, load_acq(&race->sent)))
			return __LINE__;
		if (!ret) {
			/* no flag either, if this memory is the program's again */
			if (*old.cq_tail || (*old.sq_flags && r->flags & IORING_SETUP_NO_MMAP))
				return __LINE__;
			unmap_old(&old);
		}
	} while (iou_now_us() < end);
	store_rel(&race->stop, true);
	/* the sender may be within its last call */
	iou_sleep_ms(50);
	return n && got && receive_up_to(r, &got, load_acq(&race->sent)) ? 0 : __LINE__;
}

/*
 * A program that waits for the flag in the new memory misses no message, and each arrives once, in
 * order.  Mutants: resize-no-taskrun, resize-no-grace.
 */
TEST_F(resize, race)
{
	struct race race = { .r = &self->r };
	pthread_t sender, looker;
	void *ret;
	int wake;

	if (!(variant->flags & IORING_SETUP_TASKRUN_FLAG) && variant->flags != IOU_DEFER &&
	    !(variant->flags & IORING_SETUP_NO_MMAP))
		return;
	iou_exit(&self->r);
	ASSERT_EQ(0, iou_init(&self->r, 4, variant->flags | IORING_SETUP_TASKRUN_FLAG));
	wake = eventfd(0, EFD_NONBLOCK);
	ASSERT_LE(0, wake);
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_EVENTFD, &wake, 1));
	ASSERT_EQ(0, pthread_create(&sender, NULL, send_thread, &race));
	ASSERT_EQ(0, pthread_create(&looker, NULL, look_thread, &race));
	EXPECT_EQ(0, receive(&race));
	store_rel(&race.stop, true);
	ASSERT_EQ(0, pthread_join(sender, &ret));
	EXPECT_EQ(NULL, ret);
	ASSERT_EQ(0, pthread_join(looker, &ret));
	EXPECT_EQ(NULL, ret);
	close(wake);
}

/* Poll the ring, which always has a CQE.  Return: the number of polls that did not say so. */
static void *always_ready_thread(void *arg)
{
	struct race *race = arg;
	struct pollfd fd = { .fd = race->r->fd, .events = POLLIN };
	unsigned long missed = 0;

	while (!load_acq(&race->stop))
		missed += poll(&fd, 1, 0) != 1;
	return (void *)missed;
}

/*
 * A program may use its old memory for other data, and poll(2) does not read it.  Mutant:
 * resize-polls-old.
 */
TEST_F(resize, poll_race)
{
	unsigned long long end = iou_race_end();
	struct race race = { .r = &self->r };
	struct iou *r = &self->r, old;
	pthread_t poller;
	unsigned int n = 0;
	void *missed;

	if (variant->flags != IOU_DEFER && !(variant->flags & IORING_SETUP_NO_MMAP))
		return;
	iou_nop(r, 1);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(1, iou_ready(r));
	ASSERT_EQ(0, pthread_create(&poller, NULL, always_ready_thread, &race));
	while (iou_now_us() < end) {
		if (resize_keep(r, ++n & 1 ? 16 : 4, 32, &old))
			break;
		if (r->flags & IORING_SETUP_NO_MMAP) {
			store_rel(old.cq_head, 0);
			store_rel(old.cq_tail, 0);
		}
		unmap_old(&old);
	}
	EXPECT_LE(end, iou_now_us());
	store_rel(&race.stop, true);
	ASSERT_EQ(0, pthread_join(poller, &missed));
	EXPECT_EQ(NULL, missed);
}

/* A kill during resizes ends the task. */
TEST_F(resize, killed)
{
	unsigned int i;
	int status;
	pid_t pid;

	for (i = 0; i < 10; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct io_uring_params p;
			struct iou r;

			if (iou_init(&r, 8, variant->flags & ~IORING_SETUP_NO_MMAP))
				_exit(1);
			while (!resize_call(&r, 32768, 0, 0, &p))
				;
			_exit(2);
		}
		iou_sleep_ms(20 + 10 * i);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

TEST_HARNESS_MAIN
