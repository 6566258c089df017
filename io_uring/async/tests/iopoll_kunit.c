// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of which devices a round polls, and which requests it ends */
/*
 * ->iopoll() of the files here returns 1, as the block layer does in a running task.  It marks
 * requests as done that the test has chosen.  All requests have REQ_F_REISSUE, so a round runs
 * their task work instead of completing them, which would need a completion queue.
 */
#include <kunit/test.h>

#define IOPOLL_REQS	4

/* A request, its file, and the behaviour of the file's ->iopoll(). */
struct iopoll_req {
	struct io_kiocb	req;
	struct file	file;
	unsigned int	asked;		/* number of calls of ->iopoll() */
	unsigned int	finds;		/* number of requests to mark as done, from @req on */
	bool		ended;
};

struct iopoll_fixture {
	struct io_ring_ctx	ctx;
	struct iopoll_req	reqs[IOPOLL_REQS];
};

static struct iopoll_req *to_iopoll_req(struct io_kiocb *req)
{
	return container_of(req, struct iopoll_req, req);
}

static int iopoll_ask(struct kiocb *kiocb, struct io_comp_batch *iob, unsigned int flags)
{
	struct iopoll_req *r = to_iopoll_req(io_kiocb_to_req(kiocb));
	unsigned int i;

	r->asked++;
	for (i = 0; i < r->finds; i++)
		io_iopoll_done(&r[i].req);
	return 1;
}

static const struct file_operations iopoll_fops = {
	.iopoll = iopoll_ask,
};

static void iopoll_end(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int flags)
{
	to_iopoll_req(io_tw_to_req(tw))->ended = true;
}

/* Set up a ring with requests in flight, whose ->finds is in @finds. */
static struct iopoll_fixture *iopoll_ring(struct kunit *test, const unsigned int *finds)
{
	struct iopoll_fixture *fix = kunit_kzalloc(test, sizeof(*fix), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, fix);
	mutex_init(&fix->ctx.uring_lock.mutex);
	fix->ctx.polled.tail = &fix->ctx.polled.first;
	mutex_lock(&fix->ctx.uring_lock.mutex);
	for (i = 0; i < IOPOLL_REQS; i++) {
		struct iopoll_req *r = &fix->reqs[i];

		r->file.f_op = &iopoll_fops;
		r->finds = finds[i];
		r->req.ctx = &fix->ctx;
		r->req.file = &r->file;
		r->req.flags = REQ_F_REISSUE;
		r->req.tw.run = iopoll_end;
#ifdef CONFIG_IO_URING_DEBUG
		r->req.state = IO_REQ_ISSUING;
#endif
		io_iopoll_add(&r->req);
	}
	return fix;
}

static void iopoll_expect(struct kunit *test, struct iopoll_fixture *fix, unsigned int ended)
{
	struct io_tw *tw = fix->ctx.polled.first;
	unsigned int i;

	for (i = 0; i < IOPOLL_REQS; i++) {
		KUNIT_EXPECT_EQ(test, fix->reqs[i].ended, !!(ended & BIT(i)));
		if (fix->reqs[i].ended)
			continue;
		KUNIT_EXPECT_PTR_EQ(test, tw, &fix->reqs[i].req.tw);
		tw = tw ? tw->next : NULL;
	}
	KUNIT_EXPECT_NULL(test, tw);
}

/* A round polls all devices, even if the request of the first device is not done for long. */
static void iopoll_slow_head(struct kunit *test)
{
	struct iopoll_fixture *fix = iopoll_ring(test, (unsigned int []){ 0, 1, 0, 1 });

	io_iopoll_reap(&fix->ctx);
	iopoll_expect(test, fix, BIT(1) | BIT(3));
	fix->reqs[2].finds = 1;
	io_iopoll_reap(&fix->ctx);
	iopoll_expect(test, fix, BIT(1) | BIT(2) | BIT(3));
	fix->reqs[0].finds = 1;
	io_iopoll_reap(&fix->ctx);
	iopoll_expect(test, fix, BIT(0) | BIT(1) | BIT(2) | BIT(3));
	KUNIT_EXPECT_EQ(test, fix->reqs[1].asked, 1);
	mutex_unlock(&fix->ctx.uring_lock.mutex);
}

/* A round does not poll for a request that an earlier ->iopoll() has marked as done. */
static void iopoll_one_finds_all(struct kunit *test)
{
	struct iopoll_fixture *fix = iopoll_ring(test, (unsigned int []){ 0, 3, 0, 0 });

	io_iopoll_reap(&fix->ctx);
	iopoll_expect(test, fix, BIT(1) | BIT(2) | BIT(3));
	KUNIT_EXPECT_EQ(test, fix->reqs[2].asked, 0);
	KUNIT_EXPECT_EQ(test, fix->reqs[3].asked, 0);
	mutex_unlock(&fix->ctx.uring_lock.mutex);
}

/* A request to be reissued goes to its submitter, also if another task reaps it. */
static void iopoll_of_another_task(struct kunit *test)
{
	struct iopoll_fixture *fix = iopoll_ring(test, (unsigned int []){ 1, 1, 1, 1 });
	struct io_uring_task another = {};

	fix->ctx.cq.single_writer = true;
	fix->reqs[1].req.tctx = &another;
	KUNIT_EXPECT_EQ(test, io_iopoll_reap(&fix->ctx), 0);
	KUNIT_EXPECT_NULL(test, fix->ctx.polled.first);
	KUNIT_EXPECT_TRUE(test, fix->reqs[0].ended);
	KUNIT_EXPECT_FALSE(test, fix->reqs[1].ended);
	KUNIT_EXPECT_TRUE(test, fix->reqs[2].ended);
	KUNIT_EXPECT_PTR_EQ(test, io_mailbox_take(&fix->ctx.mailbox), &fix->reqs[1].req.tw);
	KUNIT_EXPECT_NULL(test, fix->reqs[1].req.tw.next);
	KUNIT_EXPECT_TRUE(test, fix->reqs[1].req.tw.run == iopoll_end);
	mutex_unlock(&fix->ctx.uring_lock.mutex);
}

/* A round stores queues by request queue and cookie, and overwrites the oldest first. */
static void iopoll_queues(struct kunit *test)
{
	struct io_iopoll_round round = {};
	struct request_queue *queues = (void *)PAGE_SIZE;
	unsigned int i;

	for (i = 0; i < IO_IOPOLL_QUEUES; i++) {
		KUNIT_EXPECT_TRUE(test, io_iopoll_note(&round, queues, i));
		KUNIT_EXPECT_FALSE(test, io_iopoll_note(&round, queues, 0));
	}
	KUNIT_EXPECT_TRUE(test, io_iopoll_note(&round, queues + 1, 1));
	KUNIT_EXPECT_FALSE(test, io_iopoll_note(&round, queues, 1));
	KUNIT_EXPECT_TRUE(test, io_iopoll_note(&round, queues, 0));
}

static struct kunit_case iopoll_kunit_cases[] = {
	KUNIT_CASE(iopoll_slow_head),
	KUNIT_CASE(iopoll_one_finds_all),
	KUNIT_CASE(iopoll_of_another_task),
	KUNIT_CASE(iopoll_queues),
	{}
};

static struct kunit_suite iopoll_kunit_suite = {
	.name = "io_uring_iopoll",
	.test_cases = iopoll_kunit_cases,
};

kunit_test_suite(iopoll_kunit_suite);
