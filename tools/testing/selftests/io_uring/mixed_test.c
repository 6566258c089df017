// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: rings with CQEs of 16 and of 32 bytes - IORING_SETUP_CQE_MIXED */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include "iou_test.h"

#define MIXED	IORING_SETUP_CQE_MIXED

FIXTURE(mixed) {
	struct iou r;
	unsigned int at;	/* position of the next CQE that is expected */
};

FIXTURE_VARIANT(mixed) {
	unsigned int flags;
};

IOU_KIND(mixed, plain, MIXED);
IOU_KIND(mixed, coop, MIXED | IOU_COOP);
IOU_KIND(mixed, defer, MIXED | IOU_DEFER);
IOU_KIND(mixed, sqpoll, MIXED | IORING_SETUP_SQPOLL);
IOU_KIND(mixed, iopoll, MIXED | IORING_SETUP_IOPOLL);
IOU_KIND(mixed, iopoll_defer, MIXED | IORING_SETUP_IOPOLL | IOU_DEFER);
IOU_KIND(mixed, defer_no_mmap, MIXED | IOU_DEFER | IORING_SETUP_NO_MMAP);

FIXTURE_SETUP(mixed)
{
	/* differences: none, 6.12 has no such flag */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_SETUP_CQE_MIXED");
	self->r.fd = -1;
}

FIXTURE_TEARDOWN(mixed)
{
	if (self->r.fd > 0)
		iou_exit(&self->r);
}

/* Create the ring of a test, with a CQ of @cq slots. */
static int make(struct _test_data_mixed *self, unsigned int flags, unsigned int cq)
{
	if (self->r.fd > 0)
		iou_exit(&self->r);
	self->at = 0;
	return iou_init_cq(&self->r, cq < 32 ? cq : 32, cq, flags);
}

/* Prepare a NOP with a CQE of 16 bytes, or of 32 bytes. */
static struct io_uring_sqe *nop(struct iou *r, unsigned long long data, bool large)
{
	struct io_uring_sqe *sqe = iou_nop(r, data);

	if (large) {
		sqe->nop_flags = IORING_NOP_CQE32;
		sqe->off = data + 1000;
		sqe->addr = data + 2000;
	}
	return sqe;
}

/* Let the kernel post what it can: run task work, and move overflowed CQEs. */
static void collect(struct iou *r)
{
	iou_wait_ms(r, 0, 20);
}

static int submit(struct iou *r)
{
	int ret = iou_submit(r);

	collect(r);
	return ret;
}

/* Return: the number of used slots; an SQPOLL thread gets time until there are @nr. */
static unsigned int used_slots(struct iou *r, unsigned int nr)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;

	while (iou_ready(r) < nr && iou_now_us() < end)
		sched_yield();
	return iou_ready(r);
}

/* Return: true if CQEs have overflowed; an SQPOLL thread gets time if @wanted is set. */
static bool overflowed(struct iou *r, bool wanted)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;

	while (wanted && !(load_acq(r->sq_flags) & IORING_SQ_CQ_OVERFLOW) && iou_now_us() < end)
		sched_yield();
	return load_acq(r->sq_flags) & IORING_SQ_CQ_OVERFLOW;
}

/* Expect the CQE of a NOP next, behind a filler if the CQE has 32 bytes and would wrap around. */
static void expect(struct __test_metadata *_metadata, struct _test_data_mixed *self,
		   unsigned long long data, bool large)
{
	unsigned int last = self->r.p.cq_entries - 1;
	struct iou *r = &self->r;
	struct io_uring_cqe *cqe;

	ASSERT_EQ(0, iou_wait(r, 1));
	ASSERT_EQ(self->at, *r->cq_head);
	cqe = iou_cqe_at(r, 0);
	if (large && (self->at & last) == last) {
		EXPECT_EQ(IORING_CQE_F_SKIP, cqe->flags);
		self->at++;
		iou_seen(r, 1);
		ASSERT_EQ(0, iou_wait(r, 1));
		cqe = iou_cqe_at(r, 0);
	}
	EXPECT_EQ(data, cqe->user_data) {
		TH_LOG("at %u", self->at);
	}
	EXPECT_EQ(0, cqe->res);
	EXPECT_EQ(large ? IORING_CQE_F_32 : 0, cqe->flags);
	if (large) {
		EXPECT_EQ(data + 1000, cqe->big_cqe[0]);
		EXPECT_EQ(data + 2000, cqe->big_cqe[1]);
	}
	self->at += 1 + large;
	iou_seen(r, 1 + large);
}

/* Move the positions of the CQ to @at. */
static void advance(struct __test_metadata *_metadata, struct _test_data_mixed *self,
		    unsigned int at)
{
	while (self->at < at) {
		nop(&self->r, 7, false);
		ASSERT_EQ(1, submit(&self->r));
		expect(_metadata, self, 7, false);
	}
}

static bool is_large(unsigned int nr)
{
	return 0x35c6a9 >> nr % 23 & 1;
}

/*
 * CQEs of both sizes come in the order of their SQEs.  Mutants: mixed-cqe-takes-one-slot,
 * mixed-cqe-wraps, mixed-nop-later, mixed-stage-forgets-words.
 */
TEST_F(mixed, in_order)
{
	unsigned int batch, i, nr = 0, done = 0, rounds;
	struct iou *r = &self->r;

	ASSERT_EQ(0, make(self, variant->flags, 64));
	for (rounds = 0; rounds < 40; rounds++) {
		batch = 1 + rounds * 5 % 31;
		for (i = 0; i < batch; i++, nr++)
			nop(r, nr, is_large(nr));
		ASSERT_EQ((int)batch, iou_submit(r));
		collect(r);
		for (i = 0; i < batch; i++, done++)
			expect(_metadata, self, done, is_large(done));
		EXPECT_EQ(0, iou_ready(r));
	}
	EXPECT_EQ(0, *r->cq_lost);
	EXPECT_FALSE(overflowed(r, false));
}

/* Return: the number that an eventfd counts, for which an SQPOLL thread gets time, or 0. */
static unsigned long long signals(int fd, bool wanted)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned long long nr = 0;

	poll(&p, 1, wanted ? IOU_PATIENCE : 0);
	return read(fd, &nr, sizeof(nr)) < 0 ? 0 : nr;
}

/*
 * From each position, and with each number of used slots, a CQE of 32 bytes takes two slots or
 * overflows.  The last slot of the array is filled first, even if there is no room behind it.  An
 * eventfd is signalled once for what the program can see.  Mutant: mixed-fits-one-slot.
 */
TEST_F(mixed, each_position)
{
	unsigned int start, used, i, slots, left;
	struct iou *r = &self->r;
	int ev;

	for (start = 0; start < 4; start++) {
		for (used = 0; used <= 4; used++) {
			bool fill = ((start + used) & 3) == 3;

			ASSERT_EQ(0, make(self, variant->flags, 4));
			advance(_metadata, self, start);
			for (i = 0; i < used; i++)
				nop(r, i, false);
			if (used)
				ASSERT_EQ((int)used, submit(r));
			ASSERT_EQ(used, used_slots(r, used));
			ev = eventfd(0, EFD_NONBLOCK);
			ASSERT_EQ(0, iou_register(r, IORING_REGISTER_EVENTFD, &ev, 1));
			nop(r, used, true);
			ASSERT_EQ(1, submit(r));
			left = 4 - used;
			slots = left >= 2 + fill ? 2 + fill : fill && left;
			EXPECT_EQ(used + slots, used_slots(r, used + slots)) {
				TH_LOG("start %u, used %u", start, used);
			}
			EXPECT_EQ(!!slots, signals(ev, slots)) {
				TH_LOG("start %u, used %u", start, used);
			}
			EXPECT_EQ(slots < 2, overflowed(r, slots < 2));
			/* a small CQE does not overtake a large one that has overflowed */
			nop(r, used + 1, false);
			ASSERT_EQ(1, submit(r));
			for (i = 0; i <= used + 1; i++) {
				expect(_metadata, self, i, i == used);
				collect(r);
			}
			EXPECT_EQ(0, iou_ready(r));
			EXPECT_FALSE(overflowed(r, false));
			EXPECT_EQ(0, *r->cq_lost);
			close(ev);
		}
	}
}

/* Overflowed CQEs keep their sizes and their order, whatever fits at a time. */
TEST_F(mixed, overflow)
{
	unsigned int start, nr, done;
	struct iou *r = &self->r;

	for (start = 0; start < 8; start++) {
		ASSERT_EQ(0, make(self, variant->flags, 8));
		advance(_metadata, self, start);
		for (nr = 0; nr < 40; nr++) {
			nop(r, nr, is_large(nr + start));
			ASSERT_EQ(1, iou_submit(r));
		}
		collect(r);
		EXPECT_TRUE(overflowed(r, true));
		for (done = 0; done < 40; done++) {
			expect(_metadata, self, done, is_large(done + start));
			if (done % 3 == start % 3)
				collect(r);
		}
		EXPECT_EQ(0, iou_ready(r));
		EXPECT_FALSE(overflowed(r, false));
		EXPECT_EQ(0, *r->cq_lost);
	}
}

/* Return: true if a wait for @nr slots is over before its time limit. */
static bool enough(struct iou *r, unsigned int nr)
{
	unsigned long long begin = iou_now_us();

	iou_wait_ms(r, nr, 200);
	return iou_now_us() - begin < 150000;
}

/* Waits count slots.  IOPOLL rings have nothing to wait for here.  Mutant: mixed-waits-for-ever. */
TEST_F(mixed, waits_count_slots)
{
	struct iou *r = &self->r;

	if (variant->flags & IORING_SETUP_IOPOLL)
		SKIP(return, "a wait without polled requests ends at once");
	ASSERT_EQ(0, make(self, variant->flags, 8));
	nop(r, 1, true);
	ASSERT_EQ(1, submit(r));
	EXPECT_TRUE(enough(r, 2));
	EXPECT_FALSE(enough(r, 3));
	expect(_metadata, self, 1, true);
	/* with a filler */
	advance(_metadata, self, 7);
	nop(r, 1, true);
	ASSERT_EQ(1, submit(r));
	EXPECT_TRUE(enough(r, 3));
	EXPECT_FALSE(enough(r, 4));
	expect(_metadata, self, 1, true);
	/* one slot is free, but the next CQE takes two: the program has to make room first */
	ASSERT_EQ(0, make(self, variant->flags, 4));
	advance(_metadata, self, 1);
	nop(r, 1, false);
	nop(r, 2, true);
	nop(r, 3, true);
	ASSERT_EQ(3, submit(r));
	EXPECT_TRUE(overflowed(r, true));
	EXPECT_EQ(3, used_slots(r, 3));
	EXPECT_TRUE(enough(r, 4));
	expect(_metadata, self, 1, false);
	expect(_metadata, self, 2, true);
	expect(_metadata, self, 3, true);
}

static struct io_uring_sqe *prep_msg(struct iou *from, int to, unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(from, IORING_OP_MSG_RING, to, NULL, 42, 77);

	sqe->msg_ring_flags = IORING_MSG_RING_FLAGS_PASS;
	sqe->file_index = flags;
	return sqe;
}

/*
 * A CQE of two slots ends the sleep of a task that waits for two.  Mutants: mixed-message-counted,
 * mixed-sleeps-when-full.
 * differences: none, the owner of a ring with DEFER_TASKRUN sleeps on there: 7.3 counts messages
 */
TEST_F(mixed, wakes)
{
	struct iou *r = &self->r, from;
	unsigned int i;
	int status;
	pid_t child;

	if (variant->flags & (IORING_SETUP_IOPOLL | IORING_SETUP_NO_MMAP))
		SKIP(return, "no wait without polled requests, or no ring that a child can use");
	if (variant->flags & IORING_SETUP_DEFER_TASKRUN && iou_on_stock())
		SKIP(return, "two messages are needed");
	ASSERT_EQ(0, make(self, variant->flags, 8));
	for (i = 0; i < 3; i++) {
		child = fork();
		if (!child) {
			if (iou_init(&from, 4, 0) || !iou_sleeps_in(getppid(), __NR_io_uring_enter))
				_exit(1);
			prep_msg(&from, r->fd, IORING_CQE_F_32);
			_exit(!!iou_one(&from));
		}
		/* the third time, a filler comes first */
		EXPECT_EQ(0, iou_wait_ms(r, i < 2 ? 2 : 3, IOU_PATIENCE));
		ASSERT_EQ(i < 2 ? 2 : 3, iou_ready(r));
		iou_seen(r, iou_ready(r));
		self->at = *r->cq_head;
		if (i == 1)
			advance(_metadata, self, 7);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_EQ(0, status);
	}
	/* a CQE of two slots that finds one free slot ends the sleep as well */
	ASSERT_EQ(0, make(self, variant->flags, 4));
	advance(_metadata, self, 1);
	child = fork();
	if (!child) {
		status = iou_init(&from, 4, 0) || !iou_sleeps_in(getppid(), __NR_io_uring_enter);
		for (i = 0; i < 4 && !status; i++) {
			prep_msg(&from, r->fd, i < 3 ? 0 : IORING_CQE_F_32);
			status = !!iou_one(&from);
		}
		_exit(status);
	}
	EXPECT_EQ(0, iou_wait_ms(r, 4, IOU_PATIENCE));
	EXPECT_EQ(3, iou_ready(r));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

/* Counts of timeouts are those of slots, with fillers. */
TEST_F(mixed, timeouts_count_slots)
{
	struct __kernel_timespec ts = { .tv_sec = 60 };
	struct iou *r = &self->r;
	unsigned int off, fill;

	if (variant->flags & IORING_SETUP_IOPOLL)
		SKIP(return, "no timeouts on IOPOLL rings");
	for (fill = 0; fill < 2; fill++) {
		for (off = 1; off <= 3 + fill; off++) {
			ASSERT_EQ(0, make(self, variant->flags, 8));
			advance(_metadata, self, fill ? 7 : 0);
			iou_prep(r, IORING_OP_TIMEOUT, -1, &ts, 1, off)->user_data = 50;
			ASSERT_EQ(1, iou_submit(r));
			nop(r, 1, true);
			ASSERT_EQ(1, submit(r));
			collect(r);
			expect(_metadata, self, 1, true);
			if (off <= 2 + fill)
				expect(_metadata, self, 50, false);
			EXPECT_EQ(0, iou_ready(r)) {
				TH_LOG("off %u, fill %u", off, fill);
			}
		}
	}
}

/*
 * Senders of messages choose the size of the CQE.  Rings without CQEs of 32 bytes refuse the flag.
 * Mutants: mixed-message-takes-one-slot, message-flag-not-checked.
 */
TEST_F(mixed, messages)
{
	unsigned int flags[] = { 0, IORING_CQE_F_32, IORING_CQE_F_32 | IORING_CQE_F_MORE, ~0U };
	struct iou *r = &self->r, from;
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_MSG_RING, .len = 42, .off = 77,
		.msg_ring_flags = IORING_MSG_RING_FLAGS_PASS,
	};
	unsigned int i, k, last = 15;

	ASSERT_EQ(0, iou_init(&from, 8, 0));
	ASSERT_EQ(0, make(self, variant->flags, 16));
	sqe.fd = r->fd;
	for (i = 0; i < 40; i++) {
		bool large = flags[i % 4] & IORING_CQE_F_32;
		struct io_uring_cqe *cqe;

		sqe.file_index = flags[i % 4];
		if (i % 3) {
			prep_msg(&from, r->fd, flags[i % 4]);
			ASSERT_EQ(0, iou_one(&from));
		} else {
			ASSERT_EQ(0, iou_sys_register(-1, IORING_REGISTER_SEND_MSG_RING, &sqe, 1));
		}
		collect(r);
		if (large && (self->at & last) == last) {
			ASSERT_LE(1, iou_ready(r));
			EXPECT_EQ(IORING_CQE_F_SKIP, iou_cqe_at(r, 0)->flags);
			self->at++;
			iou_seen(r, 1);
		}
		ASSERT_EQ(1 + large, iou_ready(r));
		cqe = iou_cqe_at(r, 0);
		EXPECT_EQ(77, cqe->user_data);
		EXPECT_EQ(42, cqe->res);
		EXPECT_EQ(flags[i % 4], cqe->flags);
		if (large) {
			EXPECT_EQ(0, cqe->big_cqe[0]);
			EXPECT_EQ(0, cqe->big_cqe[1]);
		}
		iou_seen(r, 1 + large);
		self->at += 1 + large;
	}
	/* without CQEs of both sizes */
	for (k = 0; k < 3; k++) {
		ASSERT_EQ(0, make(self, (variant->flags & ~MIXED) |
				  (k == 1 ? IORING_SETUP_CQE32 : 0) |
				  (k == 2 ? IORING_SETUP_R_DISABLED : 0), 8));
		prep_msg(&from, r->fd, IORING_CQE_F_32);
		EXPECT_EQ(k == 0 ? -EINVAL : k == 1 ? 0 : -EBADFD, iou_one(&from));
		sqe.fd = r->fd;
		sqe.file_index = IORING_CQE_F_32;
		EXPECT_EQ(k == 0 ? -EINVAL : k == 1 ? 0 : -EBADFD,
			  iou_sys_register(-1, IORING_REGISTER_SEND_MSG_RING, &sqe, 1));
		if (k == 1) {
			collect(r);
			ASSERT_EQ(2, iou_ready(r));
			EXPECT_EQ(IORING_CQE_F_32, iou_cqe_at(r, 0)->flags);
		}
	}
	iou_exit(&from);
}

/* The other ways of a NOP: by task work, by a worker, failed, silent, with a linked timeout. */
TEST_F(mixed, ways_of_a_nop)
{
	struct __kernel_timespec ts = { .tv_sec = 60 };
	bool timed = !(variant->flags & IORING_SETUP_IOPOLL);
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	unsigned int i;

	ASSERT_EQ(0, make(self, variant->flags, 16));
	for (i = 0; i < 20; i++) {
		sqe = nop(r, i, true);
		if (i % 4 == 0)
			sqe->nop_flags |= IORING_NOP_TW;
		else if (i % 4 == 1)
			sqe->flags = IOSQE_ASYNC;
		else if (i % 4 == 2)
			sqe->flags = IOSQE_IO_DRAIN;
		if (i % 4 == 2 && !timed)
			sqe->flags = 0;
		ASSERT_EQ(1, iou_submit(r));
		expect(_metadata, self, i, true);
	}
	/* failures have two slots as well, but not those of the submission */
	sqe = nop(r, 1, true);
	sqe->nop_flags |= IORING_NOP_FILE;
	sqe = nop(r, 2, true);
	sqe->nop_flags |= IORING_NOP_INJECT_RESULT;
	sqe->len = -EXDEV;
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	nop(r, 3, true)->flags = IOSQE_CQE_SKIP_SUCCESS;
	nop(r, 4, true)->nop_flags |= 1U << 31;
	ASSERT_EQ(4, submit(r));
	for (i = 1; i <= 4; i++) {
		if (i == 3)
			continue;
		cqe = iou_next(r);
		ASSERT_NE(NULL, cqe);
		EXPECT_EQ(i, cqe->user_data);
		EXPECT_EQ(i == 1 ? -EBADF : i == 2 ? -EXDEV : -EINVAL, cqe->res);
		EXPECT_EQ(i < 4 ? IORING_CQE_F_32 : 0, cqe->flags);
		iou_seen(r, iou_cqe_slots(r, cqe));
	}
	EXPECT_EQ(0, iou_ready(r));
	/* the kernel starts the linked timeout after it has issued the NOP */
	for (i = 0; i < 4 && timed; i++) {
		nop(r, 5, true)->flags = IOSQE_IO_LINK;
		iou_prep(r, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0)->user_data = 6;
		nop(r, 8, true)->flags = IOSQE_IO_LINK;
		nop(r, 9, false);
		ASSERT_EQ(4, submit(r));
		for (unsigned int k = 0, seen = 0; k < 4; k++) {
			cqe = iou_next(r);
			ASSERT_NE(NULL, cqe);
			EXPECT_FALSE(seen & 1U << cqe->user_data);
			seen |= 1U << cqe->user_data;
			EXPECT_EQ(cqe->user_data == 6 ? -ECANCELED : 0, cqe->res);
			EXPECT_EQ(cqe->user_data == 5 || cqe->user_data == 8,
				  cqe->flags == IORING_CQE_F_32);
			iou_seen(r, iou_cqe_slots(r, cqe));
		}
	}
}

/* CQEs of a multishot request come between those of 32 bytes, and none is lost. */
TEST_F(mixed, multishot)
{
	unsigned long long one = 1, value;
	unsigned int i, polls = 0, nops = 0;
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	int fd;

	if (variant->flags & IORING_SETUP_IOPOLL)
		SKIP(return, "no polls on IOPOLL rings");
	ASSERT_EQ(0, make(self, variant->flags, 8));
	fd = eventfd(0, EFD_NONBLOCK);
	sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL, IORING_POLL_ADD_MULTI, 0);
	sqe->poll32_events = poll_word(POLLIN);
	sqe->user_data = 99;
	ASSERT_EQ(1, submit(r));
	for (i = 0; i < 60; i++) {
		nop(r, i, true);
		ASSERT_EQ(1, iou_submit(r));
		ASSERT_EQ(8, write(fd, &one, 8));
		collect(r);
		/* now and then the CQ gets full */
		if (i % 4 != 3)
			continue;
		while (iou_ready(r)) {
			cqe = iou_next(r);
			ASSERT_NE(NULL, cqe);
			if (cqe->user_data == 99) {
				EXPECT_EQ(POLLIN, cqe->res);
				/* a CQE without room overflows, and ends the request */
				EXPECT_EQ(0, cqe->flags & ~IORING_CQE_F_MORE);
				polls++;
				if (!(cqe->flags & IORING_CQE_F_MORE)) {
					sqe = iou_prep(r, IORING_OP_POLL_ADD, fd, NULL,
						       IORING_POLL_ADD_MULTI, 0);
					sqe->poll32_events = poll_word(POLLIN);
					sqe->user_data = 99;
					ASSERT_EQ(8, read(fd, &value, 8));
				}
			} else {
				EXPECT_EQ(IORING_CQE_F_32, cqe->flags);
				EXPECT_EQ(nops, cqe->user_data);
				EXPECT_EQ(nops + 1000, cqe->big_cqe[0]);
				nops++;
			}
			iou_seen(r, iou_cqe_slots(r, cqe));
			collect(r);
		}
		if (r->next != r->sent)
			ASSERT_LE(1, submit(r));
	}
	EXPECT_EQ(60, nops);
	EXPECT_LE(15, polls);
	EXPECT_EQ(0, *r->cq_lost);
	close(fd);
}

/* A command with one result has a CQE of 16 bytes. */
TEST_F(mixed, small_commands)
{
	struct iou *r = &self->r;
	unsigned int i;
	int fd = open("/dev/null", O_RDWR);

	ASSERT_EQ(0, make(self, variant->flags, 8));
	for (i = 0; i < 10; i++) {
		iou_prep(r, IORING_OP_URING_CMD, fd, NULL, 0, 0)->user_data = 2 * i;
		nop(r, 2 * i + 1, i & 1);
		ASSERT_EQ(2, submit(r));
		expect(_metadata, self, 2 * i, false);
		expect(_metadata, self, 2 * i + 1, i & 1);
	}
	close(fd);
}

/* Mutants: mixed-with-cqe32, mixed-of-one-slot. */
TEST_F(mixed, refused)
{
	EXPECT_EQ(-EINVAL, make(self, variant->flags | IORING_SETUP_CQE32, 8));
	EXPECT_EQ(-EOVERFLOW, make(self, variant->flags, 1));
	ASSERT_EQ(0, make(self, variant->flags, 2));
	nop(&self->r, 1, true);
	nop(&self->r, 2, true);
	ASSERT_EQ(2, submit(&self->r));
	expect(_metadata, self, 1, true);
	expect(_metadata, self, 2, true);
	ASSERT_EQ(0, make(self, variant->flags & ~MIXED, 8));
	nop(&self->r, 1, true);
	EXPECT_EQ(-EINVAL, iou_one(&self->r));
	/* where all CQEs have 32 bytes, they have no flag, and the same order */
	ASSERT_EQ(0, make(self, (variant->flags & ~MIXED) | IORING_SETUP_CQE32, 8));
	for (unsigned int i = 0; i < 3; i++)
		nop(&self->r, i, i == 1);
	ASSERT_EQ(3, iou_submit(&self->r));
	ASSERT_EQ(0, iou_wait(&self->r, 3));
	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_EQ(i, iou_cqe_at(&self->r, 0)->user_data);
		EXPECT_EQ(0, iou_cqe_at(&self->r, 0)->flags);
		EXPECT_EQ(i == 1 ? 1001 : 0, iou_cqe_at(&self->r, 0)->big_cqe[0]);
		iou_seen(&self->r, 1);
	}
}

/* Return: the number of lines of the ring's fdinfo that are @line. */
static int fdinfo_lines(struct iou *r, const char *line)
{
	char path[64], text[256];
	int nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r->fd);
	f = fopen(path, "r");
	while (f && fgets(text, sizeof(text), f))
		nr += !strcmp(text, line);
	if (f)
		fclose(f);
	return nr;
}

/* Return: the number of lines for a CQE of 32 bytes. */
static int fdinfo_large(struct iou *r, unsigned int slot, unsigned int data)
{
	char line[128];

	snprintf(line, sizeof(line),
		 "%5u: user_data:%u, res:0, flags:8000, extra1:%u, extra2:%u\n", slot, data,
		 data + 1000, data + 2000);
	return fdinfo_lines(r, line);
}

/*
 * The file lists CQEs by their sizes, and believes no flag that would lead it out of the array.
 * Mutant: mixed-fdinfo-leaves-array.
 * differences: none, 7.3 shows what is behind the array
 */
TEST_F(mixed, fdinfo)
{
	struct iou *r = &self->r;

	ASSERT_EQ(0, make(self, variant->flags, 8));
	advance(_metadata, self, 7);
	nop(r, 1, true);
	nop(r, 2, false);
	nop(r, 3, true);
	nop(r, 4, true);
	nop(r, 5, true);
	ASSERT_EQ(5, submit(r));
	EXPECT_TRUE(overflowed(r, true));
	EXPECT_EQ(8, used_slots(r, 8));
	EXPECT_EQ(1, fdinfo_lines(r, "CQEs:\t8\n"));
	EXPECT_EQ(1, fdinfo_lines(r, "    7: user_data:0, res:0, flags:20\n"));
	EXPECT_EQ(1, fdinfo_large(r, 0, 1));
	EXPECT_EQ(1, fdinfo_lines(r, "    2: user_data:2, res:0, flags:0\n"));
	EXPECT_EQ(1, fdinfo_large(r, 3, 3));
	EXPECT_EQ(1, fdinfo_large(r, 5, 4));
	EXPECT_EQ(1, fdinfo_lines(r, "  user_data=5, res=0, flags=8000\n"));
	iou_cqe_at(r, 0)->flags = IORING_CQE_F_32;
	if (!iou_on_stock())
		EXPECT_EQ(1, fdinfo_lines(r, "    7: user_data:0, res:0, flags:8000\n"));
}

TEST_HARNESS_MAIN
