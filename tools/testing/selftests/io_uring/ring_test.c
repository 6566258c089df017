// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: memory of rings - sizes, mappings, indexes, features */
#include <poll.h>
#include <sys/wait.h>
#include "iou_test.h"

/*
 * Return: the feature bits of 6.12 and those that were added, without bits that belong
 * to an operation which the probe does not list.
 */
static unsigned int features(struct iou *r)
{
	static const struct {
		unsigned char op;
		unsigned int bits;
	} of_op[] = {
		{ IORING_OP_POLL_ADD, IORING_FEAT_FAST_POLL | IORING_FEAT_POLL_32BITS },
		{ IORING_OP_SEND, IORING_FEAT_RECVSEND_BUNDLE },
	};
	struct io_uring_probe *probe = iou_map_anon(IOU_PAGE);
	unsigned int i, bits = 0xffff;

	if (iou_register(r, IORING_REGISTER_PROBE, probe, IORING_OP_LAST))
		return 0;
	/* differences: none, a feature of 6.15 */
	if (!iou_on_older_stock())
		bits |= IORING_FEAT_NO_IOWAIT;
	if (iou_kernel_from("7"))
		bits |= IORING_FEAT_RW_ATTR;
	for (i = 0; i < ARRAY_LEN(of_op); i++)
		if (!(probe->ops[of_op[i].op].flags & IO_URING_OP_SUPPORTED))
			bits &= ~of_op[i].bits;
	munmap(probe, IOU_PAGE);
	return bits;
}

FIXTURE(ring) {
	struct iou r;
};

FIXTURE_VARIANT(ring) {
	unsigned int flags;
};

IOU_KINDS(ring);
IOU_KIND(ring, iopoll, IORING_SETUP_IOPOLL);

FIXTURE_SETUP(ring)
{
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
}

FIXTURE_TEARDOWN(ring)
{
	iou_exit(&self->r);
}

TEST_F(ring, words_of_a_new_ring)
{
	struct iou *r = &self->r;

	EXPECT_EQ(8, r->p.sq_entries);
	EXPECT_EQ(16, r->p.cq_entries);
	EXPECT_EQ(7, *iou_word(r, r->p.sq_off.ring_mask));
	EXPECT_EQ(15, *iou_word(r, r->p.cq_off.ring_mask));
	EXPECT_EQ(8, *iou_word(r, r->p.sq_off.ring_entries));
	EXPECT_EQ(16, *iou_word(r, r->p.cq_off.ring_entries));
	EXPECT_EQ(0, *r->sq_head);
	EXPECT_EQ(0, *r->sq_tail);
	EXPECT_EQ(0, *r->cq_head);
	EXPECT_EQ(0, *r->cq_tail);
	EXPECT_EQ(0, *r->sq_dropped);
	EXPECT_EQ(0, *r->cq_lost);
	EXPECT_EQ(0, *r->cq_flags);
	EXPECT_EQ(features(r), r->p.features);
}

TEST_F(ring, offsets_do_not_overlap)
{
	struct io_sqring_offsets *sq = &self->r.p.sq_off;
	struct io_cqring_offsets *cq = &self->r.p.cq_off;
	unsigned int word[] = {
		sq->head, sq->tail, sq->ring_mask, sq->ring_entries, sq->flags,
		sq->dropped, cq->head, cq->tail, cq->ring_mask,
		cq->ring_entries, cq->overflow, cq->flags,
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_LEN(word); i++) {
		EXPECT_EQ(0, word[i] % 4);
		EXPECT_LE(word[i] + 4, cq->cqes);
		for (j = 0; j < i; j++)
			EXPECT_NE(word[i], word[j]);
	}
	EXPECT_EQ(0, cq->cqes % 64);
	EXPECT_EQ(0, sq->resv1);
	EXPECT_EQ(0, cq->resv1);
	if (variant->flags & IORING_SETUP_NO_SQARRAY)
		EXPECT_EQ(0, sq->array);
	if (!(variant->flags & IORING_SETUP_NO_SQARRAY))
		EXPECT_LE(cq->cqes + 16 * self->r.cqe_size, sq->array);
}

/* The indexes of both rings wrap around several times, with every size of batch. */
TEST_F(ring, wraps)
{
	struct iou *r = &self->r;
	unsigned long long data = 0, seen = 0;
	unsigned int round, batch, i;
	struct io_uring_cqe cqe;

	for (round = 0; round < iou_rounds(64); round++) {
		batch = 1 + round % 8;
		for (i = 0; i < batch; i++)
			ASSERT_NE(NULL, iou_nop(r, data++));
		ASSERT_EQ(batch, iou_submit(r));
		for (i = 0; i < batch; i++) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			ASSERT_EQ(seen, cqe.user_data);
			ASSERT_EQ(0, cqe.res);
			ASSERT_EQ(0, cqe.flags);
			seen++;
		}
	}
	iou_taken(r, IOU_PATIENCE);
	EXPECT_EQ(data, *r->sq_head);
	EXPECT_EQ(data, *r->cq_tail);
	EXPECT_EQ(0, *r->sq_dropped);
	EXPECT_EQ(0, *r->cq_lost);
}

/* Every slot of both rings can be used. */
TEST_F(ring, fills_every_slot)
{
	struct iou *r = &self->r;
	unsigned int i;

	for (i = 0; i < 16; i++) {
		ASSERT_NE(NULL, iou_nop(r, 1000 + i));
		if (i % 8 == 7) {
			ASSERT_EQ(8, iou_submit(r));
			iou_taken(r, IOU_PATIENCE);
		}
	}
	ASSERT_EQ(0, iou_wait(r, 16));
	ASSERT_EQ(16, iou_ready(r));
	for (i = 0; i < 16; i++)
		EXPECT_EQ(1000 + i, iou_cqe_at(r, i)->user_data);
	if (r->cqe_size == 32) {
		for (i = 0; i < 16; i++) {
			EXPECT_EQ(0, iou_cqe_at(r, i)->big_cqe[0]);
			EXPECT_EQ(0, iou_cqe_at(r, i)->big_cqe[1]);
		}
	}
	EXPECT_EQ(0, *r->sq_flags & IORING_SQ_CQ_OVERFLOW);
}

/* The array may name SQEs in any order. */
TEST_F(ring, index_array)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;

	if (variant->flags & IORING_SETUP_NO_SQARRAY)
		SKIP(return, "this ring has no index array");
	for (i = 0; i < 8; i++) {
		iou_nop(r, i);
		r->sq_array[i] = 7 - i;
	}
	ASSERT_EQ(8, iou_submit(r));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(7 - i, cqe.user_data);
	}
}

/* An index out of range uses up its slot and is counted in ->dropped, but has no CQE. */
TEST_F(ring, bad_index_is_dropped)
{
	static const unsigned int bad[] = { 8, 9, 0x7fffffff, 0x80000000, ~0U };
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i;
	int ret;

	if (variant->flags & IORING_SETUP_NO_SQARRAY)
		SKIP(return, "this ring has no index array");
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		unsigned int slot = r->next & 7;

		iou_nop(r, 77);
		r->sq_array[slot] = bad[i];
		ret = iou_submit(r);
		if (!(variant->flags & IORING_SETUP_SQPOLL))
			EXPECT_EQ(0, ret);
		iou_taken(r, IOU_PATIENCE);
		EXPECT_EQ(i + 1, load_acq(r->sq_dropped));
		EXPECT_EQ(0, iou_ready(r));
		r->sq_array[slot] = slot;
	}
	iou_nop(r, 78);
	ASSERT_EQ(1, iou_submit(r));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(78, cqe.user_data);
}

/* A call to submit more SQEs than the SQ has submits those that it has. */
TEST_F(ring, submit_more_than_queued)
{
	struct iou *r = &self->r;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the thread takes what it finds");
	iou_nop(r, 1);
	iou_nop(r, 2);
	iou_flush(r);
	EXPECT_EQ(2, iou_enter(r, 100, 0, 0));
	EXPECT_EQ(2, iou_ready(r));
	EXPECT_EQ(0, iou_enter(r, 100, 0, 0));
	EXPECT_EQ(0, iou_discard(r, 2));
}

/* An SQ tail that is too far ahead must not let the kernel read past the ring. */
TEST_F(ring, tail_far_ahead)
{
	struct iou *r = &self->r;
	unsigned int i;
	int ret;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the thread could take the SQEs meanwhile");
	for (i = 0; i < 8; i++)
		iou_nop(r, i);
	store_rel(r->sq_tail, *r->sq_head + 0x10000);
	ret = iou_enter(r, 0x10000, 0, 0);
	EXPECT_EQ(8, ret);
	EXPECT_EQ(8, load_acq(r->sq_head));
	EXPECT_EQ(8, iou_ready(r));
}

TEST_F(ring, poll_of_the_ring)
{
	struct iou *r = &self->r;
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN | POLLOUT };
	unsigned int i;

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the thread empties the SQ");
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLOUT, pfd.revents);
	for (i = 0; i < 8; i++)
		iou_nop(r, i);
	iou_flush(r);
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_EQ(8, iou_enter(r, 8, 0, 0));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLIN | POLLOUT, pfd.revents);
	iou_seen(r, 8);
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLOUT, pfd.revents);
}

/* A ring still works after dup() of its descriptor and a close() of the original. */
TEST_F(ring, dup_and_close)
{
	struct iou *r = &self->r;
	int copy = dup(r->fd);

	ASSERT_LE(0, copy);
	close(r->fd);
	r->fd = copy;
	iou_nop(r, 5);
	EXPECT_EQ(0, iou_one(r));
}

/* A child that closes its copy of a ring does not affect the parent's ring. */
TEST_F(ring, fork_and_exit)
{
	struct iou *r = &self->r;
	int status, pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		close(r->fd);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	iou_nop(r, 5);
	EXPECT_EQ(0, iou_one(r));
}

/* A child may submit into the ring that it has inherited. */
TEST_F(ring, submit_from_a_child)
{
	bool single = variant->flags & IORING_SETUP_SINGLE_ISSUER;
	struct iou *r = &self->r;
	int status, pid, ret;

	if (variant->flags & IORING_SETUP_NO_MMAP)
		SKIP(return, "the child has a private copy of the memory");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		iou_nop(r, 6);
		ret = iou_submit(r);
		_exit(ret == (single ? -EEXIST : 1) ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	if (single)
		return;
	ASSERT_EQ(0, iou_wait(r, 1));
	EXPECT_EQ(6, iou_cqe_at(r, 0)->user_data);
}

/* The number of SQEs that are taken if the second of four is bad. */
FIXTURE(bad_sqe) {
	struct iou r;
};

FIXTURE_VARIANT(bad_sqe) {
	unsigned int flags;
	unsigned int taken;
};

FIXTURE_VARIANT_ADD(bad_sqe, stops) {
	.flags = 0, .taken = 2,
};

FIXTURE_VARIANT_ADD(bad_sqe, defer_stops) {
	.flags = IOU_DEFER, .taken = 2,
};

FIXTURE_VARIANT_ADD(bad_sqe, submit_all) {
	.flags = IORING_SETUP_SUBMIT_ALL, .taken = 4,
};

FIXTURE_VARIANT_ADD(bad_sqe, defer_submit_all) {
	.flags = IOU_DEFER | IORING_SETUP_SUBMIT_ALL, .taken = 4,
};

FIXTURE_SETUP(bad_sqe)
{
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
}

FIXTURE_TEARDOWN(bad_sqe)
{
	iou_exit(&self->r);
}

TEST_F(bad_sqe, taken)
{
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	unsigned int i, nr;

	for (i = 0; i < 4; i++)
		iou_nop(r, i);
	((struct io_uring_sqe *)r->sqes)[1].opcode = 200;
	EXPECT_EQ(variant->taken, iou_submit(r));
	EXPECT_EQ(variant->taken, iou_ready(r));
	nr = iou_ready(r);
	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(i, cqe.user_data);
		EXPECT_EQ(i == 1 ? -EINVAL : 0, cqe.res);
	}
	/* the rest is still queued */
	EXPECT_EQ(4 - variant->taken, iou_enter(r, 4 - variant->taken, 0, 0));
	EXPECT_EQ(4 - variant->taken, iou_ready(r));
}

struct size_row {
	unsigned int entries, cq, flags;
	int ret;			/* negative errno, or 0 for the sizes below */
	unsigned int sq_got, cq_got;
};

#define CQSIZE	IORING_SETUP_CQSIZE
#define CLAMP	IORING_SETUP_CLAMP
static const struct size_row size_rows[] = {
	{ 0, 0, 0, -EINVAL },
	{ 0, 0, CLAMP, -EINVAL },
	{ 1, 0, 0, 0, 1, 2 },
	{ 2, 0, 0, 0, 2, 4 },
	{ 3, 0, 0, 0, 4, 8 },
	{ 5, 0, 0, 0, 8, 16 },
	{ 4095, 0, 0, 0, 4096, 8192 },
	{ 32767, 0, 0, 0, 32768, 65536 },
	{ 32768, 0, 0, 0, 32768, 65536 },
	{ 32769, 0, 0, -EINVAL },
	{ ~0U, 0, 0, -EINVAL },
	{ 32769, 0, CLAMP, 0, 32768, 65536 },
	{ ~0U, 0, CLAMP, 0, 32768, 65536 },
	{ 4, 0, CQSIZE, -EINVAL },
	{ 4, 1, CQSIZE, -EINVAL },
	{ 4, 3, CQSIZE, 0, 4, 4 },
	{ 4, 4, CQSIZE, 0, 4, 4 },
	{ 3, 3, CQSIZE, 0, 4, 4 },
	{ 5, 4, CQSIZE, -EINVAL },
	{ 1, 1, CQSIZE, 0, 1, 1 },
	{ 1, 65536, CQSIZE, 0, 1, 65536 },
	{ 1, 65535, CQSIZE, 0, 1, 65536 },
	{ 1, 65537, CQSIZE, -EINVAL },
	{ 1, ~0U, CQSIZE, -EINVAL },
	{ 1, 65537, CQSIZE | CLAMP, 0, 1, 65536 },
	{ 1, ~0U, CQSIZE | CLAMP, 0, 1, 65536 },
	{ ~0U, ~0U, CQSIZE | CLAMP, 0, 32768, 65536 },
	{ ~0U, 1, CQSIZE | CLAMP, -EINVAL },
	{ 4, 77, 0, 0, 4, 8 },
};

TEST(sizes)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(size_rows); i++) {
		const struct size_row *row = &size_rows[i];
		struct io_uring_params p = {
			.flags = row->flags, .cq_entries = row->cq,
		};
		int fd = iou_sys_setup(row->entries, &p);

		if (row->ret) {
			EXPECT_EQ(row->ret, fd) {
				TH_LOG("row %u", i);
			}
			continue;
		}
		ASSERT_LE(0, fd) {
			TH_LOG("row %u", i);
		}
		EXPECT_EQ(row->sq_got, p.sq_entries);
		EXPECT_EQ(row->cq_got, p.cq_entries);
		close(fd);
	}
}

/* The largest ring of each layout can be used up to its last slot. */
TEST(largest)
{
	static const unsigned int flags[] = {
		0, IORING_SETUP_CQE32, IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
		IORING_SETUP_NO_SQARRAY, IOU_LARGE, IOU_LARGE | IOU_DEFER,
	};
	unsigned int i, k;
	struct iou r;

	for (k = 0; k < ARRAY_LEN(flags); k++) {
		ASSERT_EQ(0, iou_init(&r, 32768, flags[k]));
		for (i = 0; i < 65536; i++) {
			iou_nop(&r, i);
			if (i % 32768 == 32767)
				ASSERT_EQ(32768, iou_submit(&r));
		}
		ASSERT_EQ(0, iou_wait(&r, 65536));
		for (i = 0; i < 65536; i++)
			ASSERT_EQ(i, iou_cqe_at(&r, i)->user_data);
		iou_exit(&r);
	}
}

TEST(descriptor)
{
	char path[64], name[64] = { };
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 4, 0));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r.fd);
	ASSERT_LT(0, readlink(path, name, sizeof(name) - 1));
	EXPECT_STREQ("anon_inode:[io_uring]", name);
	EXPECT_EQ(FD_CLOEXEC, fcntl(r.fd, F_GETFD));
	EXPECT_EQ(O_RDWR, fcntl(r.fd, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(-1, read(r.fd, name, 1));
	EXPECT_EQ(EINVAL, errno);
	iou_exit(&r);
}

/* The mmap offsets of SQ and CQ map the same pages. */
TEST(one_mapping_for_both)
{
	struct iou r;
	char *cq;

	ASSERT_EQ(0, iou_init(&r, 4, 0));
	cq = mmap(NULL, r.rings_len, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd,
		  IORING_OFF_CQ_RING);
	ASSERT_NE(MAP_FAILED, cq);
	iou_nop(&r, 1);
	ASSERT_EQ(1, iou_submit(&r));
	EXPECT_EQ(1, *(unsigned int *)(cq + r.p.cq_off.tail));
	EXPECT_EQ(1, *(unsigned int *)(cq + r.p.sq_off.head));
	munmap(cq, r.rings_len);
	iou_exit(&r);
}

struct map_row {
	const char *name;
	unsigned long long off;
	size_t len;
	int prot, type, ret;
};

#define RW	(PROT_READ | PROT_WRITE)
static const struct map_row map_rows[] = {
	{ "sq ring", IORING_OFF_SQ_RING, 4096, RW, MAP_SHARED, 0 },
	{ "cq ring", IORING_OFF_CQ_RING, 4096, RW, MAP_SHARED, 0 },
	{ "sqes", IORING_OFF_SQES, 4096, RW, MAP_SHARED, 0 },
	{ "read only", IORING_OFF_SQ_RING, 4096, PROT_READ, MAP_SHARED, 0 },
	{ "no access", IORING_OFF_SQ_RING, 4096, PROT_NONE, MAP_SHARED, 0 },
	{ "one byte", IORING_OFF_SQ_RING, 1, RW, MAP_SHARED, 0 },
	{ "ring too long", IORING_OFF_SQ_RING, 1 << 20, RW, MAP_SHARED, 0 },
	{ "cq too long", IORING_OFF_CQ_RING, 1 << 20, RW, MAP_SHARED, 0 },
	{ "sqes too long", IORING_OFF_SQES, 1 << 20, RW, MAP_SHARED, 0 },
	{ "no such region", 0x18000000ULL, 4096, RW, MAP_SHARED, EINVAL },
	{ "no such region", 0x40000000ULL, 4096, RW, MAP_SHARED, EINVAL },
	{ "no such group", IORING_OFF_PBUF_RING, 4096, RW, MAP_SHARED, EINVAL },
	{ "no such group", 0x80010000ULL, 4096, RW, MAP_SHARED, EINVAL },
	/* only five bits of an offset select the memory */
	{ "sq ring, low bits", 0x1000, 4096, RW, MAP_SHARED, 0 },
	{ "sq ring, high bits", 1ULL << 40, 4096, RW, MAP_SHARED, 0 },
	{ "sq ring, all bits", 0x7fffffff07fff000ULL, 4096, RW, MAP_SHARED, 0 },
	{ "cq ring, low bits", 0xffff000, 4096, RW, MAP_SHARED, 0 },
	{ "sqes, low bits", 0x10001000, 4096, RW, MAP_SHARED, 0 },
	{ "sqes, high bits", 0x110000000ULL, 4096, RW, MAP_SHARED, 0 },
	{ "no such region, high bits", 0x118000000ULL, 4096, RW, MAP_SHARED, EINVAL },
};

/* Return: true if the first words of @mem are those of the memory for @off. */
static bool is_region(struct iou *r, unsigned long long off, const void *mem)
{
	bool sqes = (off & IORING_OFF_MMAP_MASK) == IORING_OFF_SQES;

	return !memcmp(mem, sqes ? r->sqes : r->rings, 64);
}

/* Mutant: unknown-offset-lacks-memory.  differences: mmap-unknown */
TEST(mappings)
{
	unsigned int i;
	struct iou r;
	void *mem;

	ASSERT_EQ(0, iou_init(&r, 4, 0));
	iou_nop(&r, 1);
	for (i = 0; i < ARRAY_LEN(map_rows); i++) {
		const struct map_row *row = &map_rows[i];

		/* mmap2() of a 32-bit program takes a number of pages in 32 bits */
		if (sizeof(long) == 4 && row->off >> 44)
			continue;
		errno = 0;
		mem = mmap(NULL, row->len, row->prot, row->type, r.fd, row->off);
		if (row->ret) {
			EXPECT_EQ(MAP_FAILED, mem);
			EXPECT_TRUE(errno == row->ret ||
				    (errno == ENOMEM && iou_on_older_stock())) {
				TH_LOG("%s: %d", row->name, errno);
			}
			continue;
		}
		ASSERT_NE(MAP_FAILED, mem) {
			TH_LOG("%s: %d", row->name, errno);
		}
		/* a mapping starts at the beginning of the memory, whatever the offset is */
		if (row->prot & PROT_READ)
			EXPECT_TRUE(is_region(&r, row->off, mem));
		munmap(mem, row->len);
	}
	iou_exit(&r);
}

/* A mapping of SQEs must have all of them, one of the rest may be shorter.  Mutant: map-a-part. */
TEST(part_of_the_memory)
{
	struct iou r;
	void *mem;

	ASSERT_EQ(0, iou_init(&r, 1024, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * IOU_PAGE, RW, MAP_SHARED, r.fd, IORING_OFF_SQES));
	EXPECT_EQ(EFAULT, errno);
	mem = mmap(NULL, 2 * IOU_PAGE, RW, MAP_SHARED, r.fd, IORING_OFF_CQ_RING);
	ASSERT_NE(MAP_FAILED, mem);
	munmap(mem, 2 * IOU_PAGE);
	mem = mmap(NULL, IOU_PAGE, RW, MAP_SHARED, r.fd, IORING_OFF_SQ_RING);
	ASSERT_NE(MAP_FAILED, mem);
	munmap(mem, IOU_PAGE);
	iou_exit(&r);
}

/* A mapping may be longer than the ring; an access behind the ring raises SIGBUS. */
TEST(nothing_behind_the_end)
{
	static const unsigned long long off[] = {
		IORING_OFF_SQ_RING, IORING_OFF_CQ_RING, IORING_OFF_SQES,
	};
	unsigned int i;
	int status, pid;
	struct iou r;
	char *mem;

	ASSERT_EQ(0, iou_init(&r, 4, 0));
	for (i = 0; i < ARRAY_LEN(off); i++) {
		mem = mmap(NULL, 1 << 20, RW, MAP_SHARED, r.fd, off[i]);
		ASSERT_NE(MAP_FAILED, mem);
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(load_acq(mem + (1 << 19)));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
		munmap(mem, 1 << 20);
	}
	iou_exit(&r);
}

/* differences: mmap-unknown */
TEST(no_mmap_ring_is_not_mapped)
{
	static const unsigned long long off[] = {
		IORING_OFF_SQ_RING, IORING_OFF_CQ_RING, IORING_OFF_SQES,
	};
	unsigned int i;
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_NO_MMAP));
	EXPECT_EQ((uintptr_t)r.rings, r.p.cq_off.user_addr);
	EXPECT_EQ((uintptr_t)r.sqes, r.p.sq_off.user_addr);
	for (i = 0; i < ARRAY_LEN(off); i++) {
		EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, RW, MAP_SHARED, r.fd,
					   off[i]));
		EXPECT_EQ(iou_on_older_stock() ? ENOMEM : EINVAL, errno);
	}
	iou_exit(&r);
}

/* After the last close() a mapping keeps the memory, but not the ring. */
TEST(mapping_outlives_descriptor)
{
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 4, 0));
	iou_nop(&r, 1);
	ASSERT_EQ(1, iou_submit(&r));
	close(r.fd);
	iou_sleep_ms(50);
	EXPECT_EQ(1, *r.cq_tail);
	*r.sq_tail = 1;
	r.fd = -1;
	iou_exit(&r);
}

/* Set up a ring in the middle of the program's memory: the bytes around it do not change. */
TEST(no_mmap_keeps_to_its_memory)
{
	struct io_uring_params p = { .flags = IORING_SETUP_NO_MMAP };
	unsigned char *mem = iou_map_anon(16 * IOU_PAGE);
	unsigned int i;
	int fd;

	ASSERT_NE(NULL, mem);
	memset(mem, 0xa5, 16 * IOU_PAGE);
	memset(mem + 4 * IOU_PAGE, 0, IOU_PAGE);
	memset(mem + 8 * IOU_PAGE, 0, IOU_PAGE);
	p.cq_off.user_addr = (uintptr_t)mem + 4 * IOU_PAGE;
	p.sq_off.user_addr = (uintptr_t)mem + 8 * IOU_PAGE;
	fd = iou_sys_setup(4, &p);
	ASSERT_LE(0, fd);
	*(unsigned int *)(mem + 4 * IOU_PAGE + p.sq_off.tail) = 4;
	EXPECT_EQ(4, iou_sys_enter(fd, 4, 0, 0, NULL, 0));
	EXPECT_EQ(4, *(unsigned int *)(mem + 4 * IOU_PAGE + p.cq_off.tail));
	close(fd);
	for (i = 0; i < 16 * IOU_PAGE; i++) {
		if (i / IOU_PAGE == 4 || i / IOU_PAGE == 8)
			continue;
		ASSERT_EQ(0xa5, mem[i]);
	}
	munmap(mem, 16 * IOU_PAGE);
}

/* A ring without a descriptor has only an index in the task's table of rings. */
TEST(registered_index_only)
{
	struct io_uring_rsrc_update slot = { };
	struct io_uring_cqe cqe;
	struct iou r, more;
	int before, after;

	before = dup(0);
	close(before);
	ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_NO_MMAP |
				     IORING_SETUP_REGISTERED_FD_ONLY));
	after = dup(0);
	close(after);
	EXPECT_EQ(before, after);
	EXPECT_EQ(0, r.fd);
	iou_nop(&r, 3);
	ASSERT_EQ(1, iou_submit(&r));
	ASSERT_EQ(0, iou_reap(&r, &cqe));
	EXPECT_EQ(3, cqe.user_data);
	ASSERT_EQ(0, iou_init(&more, 8, IORING_SETUP_NO_MMAP |
					IORING_SETUP_REGISTERED_FD_ONLY));
	EXPECT_EQ(1, more.fd);
	slot.offset = 0;
	EXPECT_EQ(1, iou_register(&r, IORING_UNREGISTER_RING_FDS, &slot, 1));
	EXPECT_EQ(-EBADF, iou_enter(&r, 0, 0, 0));
	iou_nop(&more, 4);
	EXPECT_EQ(0, iou_one(&more));
	iou_exit(&more);
	iou_exit(&r);
}

static int set_number(const char *path, int value)
{
	FILE *f = fopen(path, "w");
	int ret;

	if (!f)
		return -errno;
	ret = fprintf(f, "%d\n", value) < 0 ? -EIO : 0;
	return fclose(f) ? -errno : ret;
}

#define SYSCTL_OFF	"/proc/sys/kernel/io_uring_disabled"
#define SYSCTL_GROUP	"/proc/sys/kernel/io_uring_group"

/* Set up a ring as an ordinary user in @group.  Return: 0, or a positive errno. */
static int setup_as_user(int group)
{
	struct io_uring_params p = { };
	int status, pid = fork();

	if (!pid) {
		if (setgid(group) || setuid(65534))
			_exit(255);
		status = iou_sys_setup(1, &p);
		_exit(status < 0 ? -status : 0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

FIXTURE(sysctl) {
};

FIXTURE_SETUP(sysctl)
{
	if (set_number(SYSCTL_OFF, 0))
		SKIP(return, "needs to write kernel.io_uring_disabled");
}

FIXTURE_TEARDOWN(sysctl)
{
	set_number(SYSCTL_OFF, 0);
	set_number(SYSCTL_GROUP, -1);
}

TEST_F(sysctl, disabled)
{
	struct io_uring_params p = { };
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 4, 0));
	EXPECT_EQ(0, setup_as_user(100));
	ASSERT_EQ(0, set_number(SYSCTL_OFF, 1));
	EXPECT_EQ(EPERM, setup_as_user(100));
	ASSERT_EQ(0, set_number(SYSCTL_GROUP, 100));
	EXPECT_EQ(0, setup_as_user(100));
	EXPECT_EQ(EPERM, setup_as_user(101));
	ASSERT_EQ(0, set_number(SYSCTL_OFF, 2));
	EXPECT_EQ(EPERM, setup_as_user(100));
	EXPECT_EQ(-EPERM, iou_sys_setup(1, &p));
	/* refused before any argument is checked */
	EXPECT_EQ(-EPERM, iou_sys_setup(0, NULL));
	/* an existing ring still works */
	iou_nop(&r, 1);
	EXPECT_EQ(0, iou_one(&r));
	EXPECT_NE(0, set_number(SYSCTL_OFF, 3));
	EXPECT_NE(0, set_number(SYSCTL_OFF, -1));
	iou_exit(&r);
}

/* Set up and close many rings: no memory and no descriptor is leaked. */
TEST(many_rings)
{
	static const unsigned int flags[] = {
		0, IOU_DEFER, IORING_SETUP_SQPOLL, IOU_LARGE, IORING_SETUP_IOPOLL,
	};
	unsigned int i, k;
	struct iou r[16];

	for (i = 0; i < iou_rounds(16); i++) {
		for (k = 0; k < ARRAY_LEN(r); k++) {
			ASSERT_EQ(0, iou_init(&r[k], 1 << k % 8,
					      flags[(i + k) % ARRAY_LEN(flags)]));
			iou_nop(&r[k], k);
			ASSERT_EQ(1, iou_submit(&r[k]));
		}
		for (k = 0; k < ARRAY_LEN(r); k++) {
			ASSERT_EQ(0, iou_discard(&r[k], 1));
			iou_exit(&r[k]);
		}
	}
}

/* Use a ring with each pair of setup flags that the kernel accepts; badinput_test has others. */
TEST(every_legal_pair_of_flags)
{
	unsigned int a, b, tried = 0;
	struct iou r;
	int ret;

	for (a = 0; a <= 16; a++) {
		for (b = a; b <= 16; b++) {
			unsigned int flags = 1U << a | 1U << b;

			if (flags & (IORING_SETUP_SQ_AFF | IORING_SETUP_ATTACH_WQ |
				     IORING_SETUP_CQSIZE |
				     IORING_SETUP_REGISTERED_FD_ONLY))
				continue;
			ret = iou_init(&r, 2, flags);
			if (ret == -EINVAL)
				continue;
			ASSERT_EQ(0, ret);
			tried++;
			if (flags & IORING_SETUP_R_DISABLED)
				ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS,
							  NULL, 0));
			iou_nop(&r, flags);
			EXPECT_EQ(0, iou_one(&r)) {
				TH_LOG("flags %x", flags);
			}
			iou_exit(&r);
		}
	}
	EXPECT_EQ(67, tried);
}

/* Prepare a NOP in a slot of a ring with IORING_SETUP_SQ_REWIND. */
static struct io_uring_sqe *rewound_nop(struct iou *r, unsigned int slot, unsigned long long data)
{
	struct io_uring_sqe *sqe = r->sqes + (size_t)slot * r->sqe_size;

	memset(sqe, 0, r->sqe_size);
	sqe->opcode = IORING_OP_NOP;
	sqe->user_data = data;
	return sqe;
}

/* Submit @nr SQEs from the first slot on, and expect a CQE of each of the first @taken ones. */
static void submit_rewound(struct __test_metadata *_metadata, struct iou *r, unsigned int nr,
			   int taken)
{
	struct io_uring_cqe cqe;
	int i;

	for (i = 0; i < (int)nr && i < 4; i++)
		rewound_nop(r, i, nr * 10 + i);
	EXPECT_EQ(taken, iou_enter(r, nr, 0, IORING_ENTER_GETEVENTS));
	EXPECT_EQ(taken, iou_ready(r));
	for (i = 0; i < taken; i++) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(nr * 10 + i, cqe.user_data);
	}
}

/*
 * With IORING_SETUP_SQ_REWIND each call begins at the first slot, and the head and tail of the SQ
 * do not count.  Mutants: rewind-goes-on, rewind-reads-tail, rewind-with-thread.
 */
TEST(rewind_sq)
{
	static const unsigned int kinds[] = {
		0, IORING_SETUP_SQE128, IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER,
		IORING_SETUP_IOPOLL, IORING_SETUP_NO_MMAP,
	};
	unsigned int rewind = IORING_SETUP_SQ_REWIND | IORING_SETUP_NO_SQARRAY, k;
	struct io_uring_cqe cqe;
	struct iou r;

	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_SETUP_SQ_REWIND");
	EXPECT_EQ(-EINVAL, iou_init(&r, 4, IORING_SETUP_SQ_REWIND));
	EXPECT_EQ(-EINVAL, iou_init(&r, 4, rewind | IORING_SETUP_SQPOLL));
	for (k = 0; k < ARRAY_LEN(kinds); k++) {
		ASSERT_EQ(0, iou_init(&r, 4, rewind | kinds[k]));
		submit_rewound(_metadata, &r, 1, 1);
		submit_rewound(_metadata, &r, 3, 3);
		submit_rewound(_metadata, &r, 100, 4);
		submit_rewound(_metadata, &r, 2, 2);
		/* a refused SQE ends the batch; the next one begins at the first slot again */
		rewound_nop(&r, 0, 1);
		rewound_nop(&r, 1, 2)->nop_flags = 1U << 31;
		rewound_nop(&r, 2, 3);
		EXPECT_EQ(2, iou_enter(&r, 3, 0, IORING_ENTER_GETEVENTS));
		EXPECT_EQ(0, iou_discard(&r, 1));
		ASSERT_EQ(0, iou_reap(&r, &cqe));
		EXPECT_EQ(2, cqe.user_data);
		EXPECT_EQ(-EINVAL, cqe.res);
		EXPECT_EQ(0, *r.sq_head);
		EXPECT_EQ(0, *r.sq_tail);
		*r.sq_tail = 1;
		submit_rewound(_metadata, &r, 2, 2);
		EXPECT_EQ(0, *r.sq_head);
		iou_exit(&r);
	}
}

/* Take @slots slots for an SQE of @op.  Return: its first slot. */
static struct io_uring_sqe *mixed_sqe(struct iou *r, int op, unsigned int slots,
				      unsigned long long data)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, -1, NULL, 0, 0);

	sqe->user_data = data;
	if (slots == 2)
		/* nothing may take this for an SQE of its own */
		memset(iou_sqe(r), 0xff, sizeof(*sqe));
	return sqe;
}

/* Expect CQEs, each with the result for the user_data in the order of the calls. */
static void expect_mixed(struct __test_metadata *_metadata, struct iou *r, unsigned long long data,
			 int res)
{
	struct io_uring_cqe cqe;

	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(data, cqe.user_data);
	EXPECT_EQ(res, cqe.res) {
		TH_LOG("user_data %llu", data);
	}
}

static const unsigned int mixed_kinds[] = {
	0, IORING_SETUP_NO_SQARRAY, IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER,
	IORING_SETUP_IOPOLL, IORING_SETUP_NO_MMAP, IORING_SETUP_CQE32,
};

/*
 * With IORING_SETUP_SQE_MIXED, NOP128 and URING_CMD128 take two slots, and all counts are those of
 * slots.  Mutants: mixed-takes-one-slot, mixed-reads-behind-the-array.
 * differences: none, 6.12 has no such flag
 */
TEST(mixed_sqes)
{
	struct io_uring_sqe *sqe;
	unsigned int k, i;
	struct iou r;

	if (iou_on_older_stock())
		SKIP(return, "no IORING_SETUP_SQE_MIXED");
	for (k = 0; k < ARRAY_LEN(mixed_kinds); k++) {
		ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_SQE_MIXED | mixed_kinds[k]));
		/* more often than the queue has slots */
		for (i = 0; i < 6; i++) {
			mixed_sqe(&r, IORING_OP_NOP, 1, 1);
			sqe = mixed_sqe(&r, IORING_OP_NOP128, 2, 2);
			sqe->nop_flags = IORING_NOP_INJECT_RESULT;
			sqe->len = 77;
			sqe->flags = IOSQE_IO_LINK;
			mixed_sqe(&r, IORING_OP_NOP, 1, 3);
			EXPECT_EQ(4, iou_submit(&r));
			EXPECT_EQ(*r.sq_tail, *r.sq_head);
			expect_mixed(_metadata, &r, 1, 0);
			expect_mixed(_metadata, &r, 2, 77);
			expect_mixed(_metadata, &r, 3, 0);
			EXPECT_EQ(0, iou_ready(&r));
		}
		/* the last slot has no neighbour */
		for (i = 0; i < 7; i++)
			mixed_sqe(&r, IORING_OP_NOP, 1, 1);
		EXPECT_EQ(7, iou_submit(&r));
		EXPECT_EQ(0, iou_discard(&r, 7));
		mixed_sqe(&r, IORING_OP_NOP128, 1, 2);
		mixed_sqe(&r, IORING_OP_NOP, 1, 3);
		EXPECT_EQ(1, iou_submit(&r));
		expect_mixed(_metadata, &r, 2, -EINVAL);
		EXPECT_EQ(1, iou_enter(&r, 1, 0, IORING_ENTER_GETEVENTS));
		expect_mixed(_metadata, &r, 3, 0);
		/* the call ends between the two slots */
		mixed_sqe(&r, IORING_OP_NOP128, 1, 4);
		mixed_sqe(&r, IORING_OP_NOP, 1, 5);
		iou_flush(&r);
		EXPECT_EQ(1, iou_enter(&r, 1, 0, IORING_ENTER_GETEVENTS));
		expect_mixed(_metadata, &r, 4, -EINVAL);
		EXPECT_EQ(1, iou_enter(&r, 1, 0, IORING_ENTER_GETEVENTS));
		expect_mixed(_metadata, &r, 5, 0);
		iou_exit(&r);
	}
}

/*
 * The second slot of an SQE that is refused is not an SQE of its own.  Mutant:
 * refused-leaves-its-second-slot.
 * differences: none, 6.12 has no such flag
 */
TEST(mixed_sqe_refused)
{
	struct io_uring_sqe *sqe;
	unsigned int i;
	struct iou r;

	if (iou_on_older_stock())
		SKIP(return, "no IORING_SETUP_SQE_MIXED");
	ASSERT_EQ(0, iou_init(&r, 32, IORING_SETUP_SQE_MIXED | IORING_SETUP_SUBMIT_ALL));
	for (i = 0; i < 5; i++) {
		sqe = mixed_sqe(&r, IORING_OP_NOP128, 1, 1);
		if (i == 0)
			sqe->ioprio = 1;
		else if (i == 1)
			sqe->flags = 0x80;
		else if (i == 2)
			sqe->personality = 7;
		else if (i == 3)
			sqe->flags = IOSQE_BUFFER_SELECT;
		else
			sqe->nop_flags = 1U << 31;
		mixed_sqe(&r, IORING_OP_NOP, 1, 2);
		mixed_sqe(&r, IORING_OP_NOP, 1, 3);
		EXPECT_EQ(3, iou_submit(&r));
		expect_mixed(_metadata, &r, 1, i == 3 ? -EOPNOTSUPP : -EINVAL);
		expect_mixed(_metadata, &r, 3, 0);
		EXPECT_EQ(0, iou_discard(&r, 0));
	}
	iou_exit(&r);
}

/*
 * Half an SQE is refused before its flags, its personality and the restrictions of the ring have an
 * effect.  Mutant: half-an-sqe-has-flags.
 * differences: none, 6.12 has no such flag
 */
TEST(mixed_sqe_by_half)
{
	struct io_uring_restriction only = {
		.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_NOP,
	};
	struct io_uring_sqe *sqe;
	unsigned int i, kind;
	struct iou r;

	if (iou_on_older_stock())
		SKIP(return, "no IORING_SETUP_SQE_MIXED");
	for (kind = 0; kind < 3; kind++) {
		unsigned int flags = kind ? IORING_SETUP_SQE_MIXED : 0;

		if (kind == 2)
			flags |= IORING_SETUP_R_DISABLED;
		ASSERT_EQ(0, iou_init(&r, 8, flags));
		if (kind == 2) {
			ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_RESTRICTIONS, &only, 1));
			ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
		}
		for (i = 0; i < 4 && kind != 2; i++) {
			sqe = mixed_sqe(&r, i & 1 ? IORING_OP_NOP128 : IORING_OP_URING_CMD128, 1,
					1);
			sqe->flags = i & 2 ? IOSQE_BUFFER_SELECT : IOSQE_CQE_SKIP_SUCCESS;
			EXPECT_EQ(1, iou_submit(&r));
			expect_mixed(_metadata, &r, 1, -EINVAL);
		}
		mixed_sqe(&r, IORING_OP_NOP128, 1, 2)->personality = 9;
		EXPECT_EQ(1, iou_submit(&r));
		expect_mixed(_metadata, &r, 2, -EINVAL);
		/* IOSQE_CQE_SKIP_SUCCESS would have disabled it */
		if (kind != 2) {
			mixed_sqe(&r, IORING_OP_NOP, 1, 3)->flags = IOSQE_IO_DRAIN;
			EXPECT_EQ(1, iou_submit(&r));
			expect_mixed(_metadata, &r, 3, 0);
		}
		iou_exit(&r);
	}
}

/*
 * The array of indices says where an SQE begins.  Its second half is the next slot in memory.
 * differences: none, 6.12 has no such flag
 */
TEST(mixed_sqe_by_index)
{
	struct io_uring_sqe *sqe;
	struct iou r;
	int i;

	if (iou_on_older_stock())
		SKIP(return, "no IORING_SETUP_SQE_MIXED");
	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_SQE_MIXED));
	memset(r.sqes, 0xff, 4 * sizeof(*sqe));
	for (i = 2; i < 4; i++) {
		sqe = (struct io_uring_sqe *)r.sqes + i;
		memset(sqe, 0, sizeof(*sqe));
		sqe->opcode = IORING_OP_NOP128;
		sqe->user_data = i;
		r.sq_array[0] = i;
		r.sq_array[1] = 0;
		r.sq_array[2] = i;
		r.sq_array[3] = 0;
		r.next += 2;
		EXPECT_EQ(i == 2 ? 2 : 1, iou_submit(&r));
		expect_mixed(_metadata, &r, i, i == 2 ? 0 : -EINVAL);
	}
	iou_exit(&r);
}

/*
 * Other rings have no NOP128, or have 128 bytes for each SQE.
 * differences: none, 6.12 has no such flag
 */
TEST(mixed_setup)
{
	struct iou r;

	if (iou_on_older_stock())
		SKIP(return, "no IORING_SETUP_SQE_MIXED");
	EXPECT_EQ(-EINVAL, iou_init(&r, 8, IORING_SETUP_SQE_MIXED | IORING_SETUP_SQE128));
	EXPECT_EQ(-EOVERFLOW, iou_init(&r, 1, IORING_SETUP_SQE_MIXED));
	ASSERT_EQ(0, iou_init(&r, 8, 0));
	mixed_sqe(&r, IORING_OP_NOP128, 1, 1);
	EXPECT_EQ(1, iou_submit(&r));
	expect_mixed(_metadata, &r, 1, -EINVAL);
	iou_exit(&r);
	ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_SQE128));
	mixed_sqe(&r, IORING_OP_NOP128, 1, 1);
	mixed_sqe(&r, IORING_OP_NOP, 1, 2);
	EXPECT_EQ(2, iou_submit(&r));
	expect_mixed(_metadata, &r, 1, 0);
	expect_mixed(_metadata, &r, 2, 0);
	iou_exit(&r);
}

/*
 * An SQPOLL thread that serves several rings limits its batches, and splits no SQE.
 * differences: none, 6.12 has no such flag
 */
TEST(mixed_sqes_of_a_thread)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SQE_MIXED | IORING_SETUP_SQPOLL, .sq_thread_idle = 50,
	};
	unsigned int i, k, nr;
	struct iou r[2];

	if (iou_on_older_stock())
		SKIP(return, "no IORING_SETUP_SQE_MIXED");
	for (k = 0; k < 2; k++) {
		ASSERT_EQ(0, iou_init_params(&r[k], 64, &p));
		p.flags = IORING_SETUP_SQE_MIXED | IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ;
		p.wq_fd = r[0].fd;
	}
	for (k = 0; k < 2; k++) {
		/* an odd number first, so that an even limit is in the middle of an SQE */
		mixed_sqe(&r[k], IORING_OP_NOP, 1, 0);
		for (i = 1, nr = 1; nr < 60; i++, nr += 2)
			mixed_sqe(&r[k], IORING_OP_NOP128, 2, i);
		iou_submit(&r[k]);
		for (nr = 0; nr < i; nr++)
			expect_mixed(_metadata, &r[k], nr, 0);
	}
	iou_exit(&r[1]);
	iou_exit(&r[0]);
}

TEST_HARNESS_MAIN
