// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of request states and of chains */
#include <kunit/test.h>

#include "req/link.h"
#include "req/state.h"

/* Return: the states that can be reached from @from, including @from. */
static unsigned int state_reach(enum io_req_state from)
{
	unsigned int seen = BIT(from), last = 0;
	int a, b;

	while (seen != last) {
		last = seen;
		for (a = 0; a < IO_REQ_NR_STATES; a++) {
			for (b = 0; b < IO_REQ_NR_STATES; b++) {
				if (seen & BIT(a) && io_req_may_move(a, b))
					seen |= BIT(b);
			}
		}
	}
	return seen;
}

/* A new request can reach each state, and from each state become free again. */
static void state_no_dead_end(struct kunit *test)
{
	int state;

	KUNIT_EXPECT_EQ(test, state_reach(IO_REQ_FREE), BIT(IO_REQ_NR_STATES) - 1);
	for (state = 0; state < IO_REQ_NR_STATES; state++)
		KUNIT_EXPECT_TRUE(test, state_reach(state) & BIT(IO_REQ_FREE));
}

/* Only a request that is done is freed.  No request is done twice, or issued again when done. */
static void state_one_end(struct kunit *test)
{
	int state;

	for (state = 0; state < IO_REQ_NR_STATES; state++) {
		KUNIT_EXPECT_EQ(test, io_req_may_move(state, IO_REQ_FREE), state == IO_REQ_DONE);
		/* a worker may attempt the same request again */
		KUNIT_EXPECT_EQ(test, io_req_may_move(state, state), state == IO_REQ_ISSUING);
	}
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_DONE, IO_REQ_ISSUING));
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_DONE, IO_REQ_WAITING));
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_DONE, IO_REQ_QUEUED));
}

/* A request cannot be issued before its SQE was read, nor be on two lists. */
static void state_order(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_FREE, IO_REQ_ISSUING));
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_FREE, IO_REQ_QUEUED));
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_FREE, IO_REQ_TW_QUEUED));
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_LINKED, IO_REQ_DRAINED));
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_DRAINED, IO_REQ_LINKED));
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_DRAINED, IO_REQ_WAITING));
	KUNIT_EXPECT_FALSE(test, io_req_may_move(IO_REQ_QUEUED, IO_REQ_WAITING));
}

/* Return: an array of prepared requests, which belong to no ring. */
static struct io_kiocb *link_reqs(struct kunit *test, int nr)
{
	struct io_kiocb *reqs = kunit_kcalloc(test, nr, sizeof(*reqs), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, reqs);
	for (i = 0; i < nr; i++)
		io_req_move(&reqs[i], IO_REQ_PREPPED);
	return reqs;
}

/* A chain is cut at its head, and cannot be cut there twice. */
static void link_cut(struct kunit *test)
{
	struct io_kiocb *reqs = link_reqs(test, 3);

	io_link_append(&reqs[0], &reqs[1]);
	io_link_append(&reqs[1], &reqs[2]);
	KUNIT_EXPECT_EQ(test, io_link_len(&reqs[0]), 3);
	KUNIT_EXPECT_PTR_EQ(test, io_link_cut(&reqs[0]), &reqs[1]);
	KUNIT_EXPECT_EQ(test, io_link_len(&reqs[0]), 1);
	KUNIT_EXPECT_EQ(test, io_link_len(&reqs[1]), 2);
	KUNIT_EXPECT_NULL(test, io_link_cut(&reqs[0]));
}

/* A failure breaks a chain at a link, but not at a hard link. */
static void link_breaks(struct kunit *test)
{
	struct io_kiocb *req = link_reqs(test, 1);

	req->flags = REQ_F_LINK;
	KUNIT_EXPECT_FALSE(test, io_link_breaks(req));
	req->flags = REQ_F_LINK | REQ_F_FAIL;
	KUNIT_EXPECT_TRUE(test, io_link_breaks(req));
	req->flags = REQ_F_HARDLINK | REQ_F_FAIL;
	KUNIT_EXPECT_FALSE(test, io_link_breaks(req));
}

/* The last put frees a request.  A request without a count has one reference. */
static void refs_last(struct kunit *test)
{
	struct io_kiocb *req = link_reqs(test, 1);

	KUNIT_EXPECT_TRUE(test, io_req_put_is_last(req));
	io_req_refs_start(req, 2);
	io_req_get(req);
	KUNIT_EXPECT_FALSE(test, io_req_put_is_last(req));
	KUNIT_EXPECT_FALSE(test, io_req_put_is_last(req));
	KUNIT_EXPECT_TRUE(test, io_req_put_is_last(req));
}

static struct kunit_case state_cases[] = {
	KUNIT_CASE(state_no_dead_end),
	KUNIT_CASE(state_one_end),
	KUNIT_CASE(state_order),
	KUNIT_CASE(link_cut),
	KUNIT_CASE(link_breaks),
	KUNIT_CASE(refs_last),
	{}
};

static struct kunit_suite state_suite = {
	.name = "io_uring_req",
	.test_cases = state_cases,
};

kunit_test_suite(state_suite);
