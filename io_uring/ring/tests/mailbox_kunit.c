// SPDX-License-Identifier: GPL-2.0
/* io_uring: tests of mailboxes: order, marks and count */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "ring/mailbox.h"
#include "ring/tests/test_ring.h"

/* An item with its sender, and its number among the sender's items. */
struct box_item {
	struct io_tw	tw;
	int		sender;
	int		nr;
};

static void box_push_all(struct io_mailbox *box, struct box_item *items, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		items[i].nr = i;
		io_mailbox_push(box, &items[i].tw);
	}
}

/* Expect items @from, @from + 1 and so on.  Return: the number of items. */
static int box_count_in_order(struct kunit *test, struct io_tw *tw, int from)
{
	int nr = 0;

	for (; tw; tw = tw->next, nr++) {
		struct box_item *item = container_of(tw, struct box_item, tw);

		KUNIT_EXPECT_EQ(test, item->nr, from + nr);
	}
	return nr;
}

/* Items are taken in the order of the pushes, and only once. */
static void box_first_in_first_out(struct kunit *test)
{
	struct box_item items[5] = {};
	struct io_mailbox box = {};

	KUNIT_EXPECT_FALSE(test, io_mailbox_pending(&box));
	box_push_all(&box, items, 5);
	KUNIT_EXPECT_TRUE(test, io_mailbox_pending(&box));
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_mailbox_take(&box), 0), 5);
	KUNIT_EXPECT_FALSE(test, io_mailbox_pending(&box));
	KUNIT_EXPECT_NULL(test, io_mailbox_take(&box));
}

/* The result of a push shows whether the mailbox was empty. */
static void box_tells_the_first(struct kunit *test)
{
	struct box_item items[3] = {};
	struct io_mailbox box = {};

	KUNIT_EXPECT_TRUE(test, io_mailbox_was_empty(io_mailbox_push(&box, &items[0].tw)));
	KUNIT_EXPECT_FALSE(test, io_mailbox_was_empty(io_mailbox_push(&box, &items[1].tw)));
	io_mailbox_take(&box);
	KUNIT_EXPECT_TRUE(test, io_mailbox_was_empty(io_mailbox_push(&box, &items[2].tw)));
}

/* If a consumer waits for three items, only the third push completes the count. */
static void box_counts_for_a_sleeper(struct kunit *test)
{
	struct box_item items[4] = {};
	struct io_mailbox box = {};
	int i;

	KUNIT_ASSERT_TRUE(test, io_mailbox_arm(&box, 3));
	for (i = 0; i < 4; i++) {
		unsigned long old = io_mailbox_push(&box, &items[i].tw);

		items[i].nr = i;
		KUNIT_EXPECT_TRUE(test, old & IO_MAILBOX_ARMED);
		KUNIT_EXPECT_EQ(test, io_mailbox_was_empty(old), i == 0);
		KUNIT_EXPECT_EQ(test, io_tw_completes(&box), i == 2);
	}
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_mailbox_take(&box), 0), 4);
	/* io_mailbox_take() has disarmed the mailbox */
	KUNIT_EXPECT_FALSE(test, io_mailbox_push(&box, &items[0].tw) & IO_MAILBOX_ARMED);
}

/* A mailbox with items cannot be armed. */
static void box_arms_only_when_empty(struct kunit *test)
{
	struct box_item item = {};
	struct io_mailbox box = {};

	io_mailbox_push(&box, &item.tw);
	KUNIT_EXPECT_FALSE(test, io_mailbox_arm(&box, 1));
	KUNIT_EXPECT_PTR_EQ(test, io_mailbox_take(&box), &item.tw);
	KUNIT_EXPECT_TRUE(test, io_mailbox_arm(&box, 1));
}

/* io_mailbox_push_fast() pushes nothing if the consumer sleeps or is gone. */
static void mailbox_fast_or_not_at_all(struct kunit *test)
{
	struct box_item items[3] = {};
	struct io_mailbox box = {};
	int i;

	for (i = 0; i < 3; i++) {
		unsigned long old = io_mailbox_push_fast(&box, &items[i].tw);

		items[i].nr = i;
		KUNIT_EXPECT_EQ(test, io_mailbox_was_empty(old), i == 0);
		KUNIT_EXPECT_FALSE(test, old & IO_MAILBOX_MARKS);
	}
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_mailbox_take(&box), 0), 3);

	KUNIT_ASSERT_TRUE(test, io_mailbox_arm(&box, 1));
	KUNIT_EXPECT_EQ(test, io_mailbox_push_fast(&box, &items[0].tw), IO_MAILBOX_ARMED);
	KUNIT_EXPECT_FALSE(test, io_mailbox_pending(&box));
	/* the mailbox is still armed, so the slow path finds the sleeper */
	KUNIT_EXPECT_EQ(test, io_mailbox_push(&box, &items[0].tw), IO_MAILBOX_ARMED);
	/* a later fast push finds the sleeper, too */
	KUNIT_EXPECT_TRUE(test, io_mailbox_push_fast(&box, &items[1].tw) & IO_MAILBOX_ARMED);
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_mailbox_take(&box), 0), 1);

	io_mailbox_close(&box);
	KUNIT_EXPECT_EQ(test, io_mailbox_push_fast(&box, &items[0].tw), IO_MAILBOX_DEAD);
	KUNIT_EXPECT_FALSE(test, io_mailbox_pending(&box));
}

/* After io_mailbox_disarm() a push does not find a sleeping consumer. */
static void box_disarms(struct kunit *test)
{
	struct box_item items[2] = {};
	struct io_mailbox box = {};

	KUNIT_ASSERT_TRUE(test, io_mailbox_arm(&box, 1));
	io_mailbox_disarm(&box);
	KUNIT_EXPECT_FALSE(test, io_mailbox_push(&box, &items[0].tw) & IO_MAILBOX_ARMED);
	/* io_mailbox_disarm() does not remove items */
	io_mailbox_disarm(&box);
	KUNIT_EXPECT_PTR_EQ(test, io_mailbox_take(&box), &items[0].tw);
}

/* io_mailbox_close() returns the items, and later pushes fail. */
static void box_closes(struct kunit *test)
{
	struct box_item items[3] = {};
	struct io_mailbox box = {};

	box_push_all(&box, items, 2);
	KUNIT_EXPECT_FALSE(test, io_mailbox_dead(&box));
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_mailbox_close(&box), 0), 2);
	KUNIT_EXPECT_TRUE(test, io_mailbox_dead(&box));
	KUNIT_EXPECT_TRUE(test, io_mailbox_push(&box, &items[2].tw) & IO_MAILBOX_DEAD);
	KUNIT_EXPECT_FALSE(test, io_mailbox_pending(&box));
	KUNIT_EXPECT_FALSE(test, io_mailbox_arm(&box, 1));
}

static void box_no_work(struct work_struct *work)
{
}

/* Take two items, requeue the second as the leftover, and push a third item. */
static struct io_ring_ctx *box_with_rest(struct kunit *test, struct box_item *items)
{
	struct io_ring_ctx *ctx = test_ring(test, .flags = IORING_SETUP_DEFER_TASKRUN |
						     IORING_SETUP_TASKRUN_FLAG);
	struct io_tw *tw;

	INIT_DELAYED_WORK(&ctx->fallback.work, box_no_work);
	box_push_all(&ctx->mailbox, items, 2);
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	tw = io_owner_mailbox_take(ctx);
	KUNIT_EXPECT_PTR_EQ(test, tw, &items[0].tw);
	io_owner_mailbox_requeue(ctx, tw->next);
	io_ring_unlock(ctx);
	items[2].nr = 2;
	io_mailbox_push(&ctx->mailbox, &items[2].tw);
	return ctx;
}

/* The leftover is taken first, and the mailbox cannot be armed until all items are taken. */
static void box_keeps_the_rest(struct kunit *test)
{
	struct box_item items[3] = {};
	struct io_ring_ctx *ctx = box_with_rest(test, items);

	KUNIT_EXPECT_EQ(test, ctx->rings->sq_flags.counter, IORING_SQ_TASKRUN);
	KUNIT_EXPECT_TRUE(test, io_mailbox_pending(&ctx->mailbox));
	KUNIT_EXPECT_FALSE(test, io_mailbox_arm(&ctx->mailbox, 1));
	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_owner_mailbox_take(ctx), 1), 1);
	KUNIT_EXPECT_TRUE(test, io_mailbox_pending(&ctx->mailbox));
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_owner_mailbox_take(ctx), 2), 1);
	KUNIT_EXPECT_FALSE(test, io_mailbox_pending(&ctx->mailbox));
	/* the mailbox has IO_MAILBOX_LEFTOVER, but no items */
	io_mailbox_push(&ctx->mailbox, &items[0].tw);
	io_owner_mailbox_requeue(ctx, io_owner_mailbox_take(ctx));
	KUNIT_EXPECT_PTR_EQ(test, io_owner_mailbox_take(ctx), &items[0].tw);
	KUNIT_EXPECT_TRUE(test, io_mailbox_pending(&ctx->mailbox));
	KUNIT_EXPECT_NULL(test, io_owner_mailbox_take(ctx));
	KUNIT_EXPECT_TRUE(test, io_mailbox_arm(&ctx->mailbox, 1));
	io_ring_unlock(ctx);
}

/* If the owner closes the mailbox, the fallback worker takes all items, in order. */
static void box_rest_survives_its_owner(struct kunit *test)
{
	struct box_item items[4] = {};
	struct io_ring_ctx *ctx = box_with_rest(test, items);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_owner_mailbox_close(ctx);
	items[3].nr = 3;
	KUNIT_EXPECT_TRUE(test, io_mailbox_push(&ctx->mailbox, &items[3].tw) & IO_MAILBOX_DEAD);
	io_fallback_push(ctx, &items[3].tw);
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_fallback_take(ctx), 1), 3);
	KUNIT_EXPECT_NULL(test, io_fallback_take(ctx));
	io_ring_unlock(ctx);
	cancel_delayed_work_sync(&ctx->fallback.work);
}

/* After a close and a reopen, items are still in the order of their pushes. */
static void box_opens_in_order(struct kunit *test)
{
	struct box_item items[5] = {};
	struct io_ring_ctx *ctx = box_with_rest(test, items);

	KUNIT_ASSERT_EQ(test, 0, io_ring_lock(ctx));
	io_owner_mailbox_close(ctx);
	items[3].nr = 3;
	io_fallback_push(ctx, &items[3].tw);
	io_owner_mailbox_reopen(ctx);
	items[4].nr = 4;
	KUNIT_EXPECT_FALSE(test, io_mailbox_push(&ctx->mailbox, &items[4].tw) & IO_MAILBOX_DEAD);
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_owner_mailbox_take(ctx), 1), 3);
	KUNIT_EXPECT_EQ(test, box_count_in_order(test, io_owner_mailbox_take(ctx), 4), 1);
	KUNIT_EXPECT_FALSE(test, io_mailbox_pending(&ctx->mailbox));
	io_ring_unlock(ctx);
	cancel_delayed_work_sync(&ctx->fallback.work);
}

#define BOX_SENDERS	3
#define BOX_ITEMS	2000

/* A thread that pushes items, concurrently with other senders. */
struct box_sender {
	struct io_mailbox	*box;
	struct box_item		*items;
	struct completion	done;
	int			id;
};

static int box_send(void *data)
{
	struct box_sender *sender = data;
	int i;

	for (i = 0; i < BOX_ITEMS; i++) {
		sender->items[i].sender = sender->id;
		sender->items[i].nr = i;
		if (i % 3)
			io_mailbox_push_fast(sender->box, &sender->items[i].tw);
		else
			io_mailbox_push(sender->box, &sender->items[i].tw);
		if (i % 64 == 0)
			cond_resched();
	}
	complete(&sender->done);
	return 0;
}

/* If several senders push at once, the items of each sender keep their order. */
static void box_keeps_each_senders_order(struct kunit *test)
{
	struct box_sender *senders;
	struct io_mailbox box = {};
	int next[BOX_SENDERS] = {};
	int i, left = BOX_SENDERS * BOX_ITEMS;

	senders = kunit_kcalloc(test, BOX_SENDERS, sizeof(*senders), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, senders);
	for (i = 0; i < BOX_SENDERS; i++) {
		senders[i].box = &box;
		senders[i].id = i;
		senders[i].items = kunit_kcalloc(test, BOX_ITEMS, sizeof(struct box_item),
						 GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, senders[i].items);
		init_completion(&senders[i].done);
	}
	for (i = 0; i < BOX_SENDERS; i++)
		KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(box_send, &senders[i], "box_send")));
	while (left) {
		struct io_tw *tw = io_mailbox_take(&box);

		for (; tw; tw = tw->next, left--) {
			struct box_item *item = container_of(tw, struct box_item, tw);

			KUNIT_EXPECT_EQ(test, item->nr, next[item->sender]++);
		}
		cond_resched();
	}
	for (i = 0; i < BOX_SENDERS; i++)
		wait_for_completion(&senders[i].done);
}

static bool box_taskrun(const struct io_ring_ctx *ctx)
{
	return atomic_read(&ctx->rings->sq_flags) & IORING_SQ_TASKRUN;
}

/* If an item is taken before its announcement, IORING_SQ_TASKRUN must not stay set. */
static void box_taken_before_announced(struct kunit *test)
{
	struct io_ring_ctx *ctx = test_ring(test, .flags = IORING_SETUP_DEFER_TASKRUN |
							   IORING_SETUP_TASKRUN_FLAG);
	struct box_item items[2] = {};
	unsigned long old;

	old = io_mailbox_push(&ctx->mailbox, &items[0].tw);
	io_mailbox_take(&ctx->mailbox);
	io_taskrun_update(ctx, &ctx->mailbox);
	KUNIT_EXPECT_FALSE(test, box_taskrun(ctx));
	io_owner_mailbox_pushed(ctx, &items[0].tw, old, 0);
	KUNIT_EXPECT_FALSE(test, box_taskrun(ctx));

	/* another item is pending at the late announcement, so the flag stays set */
	io_owner_mailbox_push(ctx, &items[1].tw, 0);
	KUNIT_EXPECT_TRUE(test, box_taskrun(ctx));
	io_owner_mailbox_pushed(ctx, &items[0].tw, old, 0);
	KUNIT_EXPECT_TRUE(test, box_taskrun(ctx));
	io_mailbox_take(&ctx->mailbox);
	io_taskrun_update(ctx, &ctx->mailbox);
	KUNIT_EXPECT_FALSE(test, box_taskrun(ctx));
}

static struct kunit_case box_cases[] = {
	KUNIT_CASE(box_first_in_first_out),
	KUNIT_CASE(box_tells_the_first),
	KUNIT_CASE(box_counts_for_a_sleeper),
	KUNIT_CASE(box_arms_only_when_empty),
	KUNIT_CASE(mailbox_fast_or_not_at_all),
	KUNIT_CASE(box_disarms),
	KUNIT_CASE(box_closes),
	KUNIT_CASE(box_keeps_the_rest),
	KUNIT_CASE(box_rest_survives_its_owner),
	KUNIT_CASE(box_opens_in_order),
	KUNIT_CASE(box_keeps_each_senders_order),
	KUNIT_CASE(box_taken_before_announced),
	{}
};

static struct kunit_suite box_suite = {
	.name = "io_uring_mailbox",
	.test_cases = box_cases,
};

kunit_test_suite(box_suite);
