// SPDX-License-Identifier: GPL-2.0
/* io_uring: the table of requests that wait for an event or a timeout */

/*
 * The hash is a multiplication by an odd factor.  A small table has a fixed factor, which suits
 * counters and addresses, the usual values of user_data.  A program can choose values that collide
 * with a fixed factor, but a small table limits the cost.  From IO_WAIT_TABLE_SALT_BITS bits
 * upwards the factor is random, and changes with each resize.  So two values chosen beforehand
 * collide with a probability of at most 2 / (number of buckets).
 */
#include <linux/hash.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "req/wait_table.h"

/* a table has 1 << MIN_BITS to 1 << MAX_BITS buckets; a resize changes the bits by STEP_BITS */
#define IO_WAIT_TABLE_MIN_BITS	4
#define IO_WAIT_TABLE_SALT_BITS	12
#define IO_WAIT_TABLE_MAX_BITS	20
#define IO_WAIT_TABLE_STEP_BITS	2

static unsigned int io_wait_table_bits(const struct io_ring_ctx *ctx)
{
	return 64 - ctx->waiting.shift;
}

static u64 io_wait_table_factor(unsigned int bits)
{
	return bits < IO_WAIT_TABLE_SALT_BITS ? GOLDEN_RATIO_64 : get_random_u64() | 1;
}

static struct list_head *io_wait_buckets(unsigned int bits)
{
	struct list_head *table;
	unsigned int i;

	table = kvmalloc_array(1U << bits, sizeof(*table), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	for (i = 0; table && i < 1U << bits; i++)
		INIT_LIST_HEAD(&table[i]);
	return table;
}

/* Move all requests in the buckets to another table.  Keep the order for equal user_data. */
static void io_wait_table_rehash(struct io_ring_ctx *ctx, struct list_head *table,
				 unsigned int bits)
{
	struct io_kiocb *req, *tmp;
	struct list_head *bucket, *old = ctx->waiting.buckets;
	unsigned int i, nr = 1U << io_wait_table_bits(ctx);

	ctx->waiting.room += (1 << bits) - nr;
	ctx->waiting.shift = 64 - bits;
	ctx->waiting.factor = io_wait_table_factor(bits);
	ctx->waiting.buckets = table;
	for (i = 0; i < nr; i++) {
		list_for_each_entry_safe(req, tmp, &old[i], waiting) {
			bucket = io_wait_bucket(ctx, req->cqe.user_data, io_wait_kind(req));
			list_add_tail(&req->waiting, bucket);
			io_wait_table_walk(ctx);
		}
		io_wait_table_walk(ctx);
	}
	kvfree(old);
}

/**
 * io_wait_table_grow - enlarge the wait table
 * @ctx: the ring, its lock held
 *
 * If there is no memory, the buckets become longer.  This function tries again once the average
 * bucket has one more request.
 *
 * Context: Task context.  May sleep.
 */
void io_wait_table_grow(struct io_ring_ctx *ctx)
{
	unsigned int bits = io_wait_table_bits(ctx) + IO_WAIT_TABLE_STEP_BITS;
	struct list_head *table;

	io_assert_ring(ctx);
	if (bits > IO_WAIT_TABLE_MAX_BITS ||
	    ctx->waiting.room % (1 << io_wait_table_bits(ctx)) != -1)
		return;
	table = io_wait_buckets(bits);
	if (table)
		io_wait_table_rehash(ctx, table, bits);
}

/**
 * io_wait_table_trim - shrink the wait table before a scan of the whole table
 * @ctx: the ring, its lock held
 *
 * This function frees buckets if most of them would be empty.
 *
 * Context: Task context.  May sleep.
 */
void io_wait_table_trim(struct io_ring_ctx *ctx)
{
	unsigned int bits = io_wait_table_bits(ctx);
	unsigned int nr = io_wait_table_nr(ctx);
	struct list_head *table;

	io_assert_ring(ctx);
	if (bits == IO_WAIT_TABLE_MIN_BITS || nr >> (bits - IO_WAIT_TABLE_STEP_BITS - 1))
		return;
	while (bits > IO_WAIT_TABLE_MIN_BITS && !(nr >> (bits - IO_WAIT_TABLE_STEP_BITS)))
		bits -= IO_WAIT_TABLE_STEP_BITS;
	table = io_wait_buckets(bits);
	if (table)
		io_wait_table_rehash(ctx, table, bits);
}

/**
 * io_wait_table_init - initialize the wait table of a new ring
 * @ctx: the ring
 *
 * Return: 0 or -ENOMEM.
 */
int io_wait_table_init(struct io_ring_ctx *ctx)
{
	ctx->waiting.buckets = io_wait_buckets(IO_WAIT_TABLE_MIN_BITS);
	if (!ctx->waiting.buckets)
		return -ENOMEM;
	ctx->waiting.factor = io_wait_table_factor(IO_WAIT_TABLE_MIN_BITS);
	ctx->waiting.shift = 64 - IO_WAIT_TABLE_MIN_BITS;
	ctx->waiting.room = 1 << IO_WAIT_TABLE_MIN_BITS;
	return 0;
}

/**
 * io_wait_table_free - free the wait table of a ring
 * @ctx: the ring, without requests
 */
void io_wait_table_free(struct io_ring_ctx *ctx)
{
	kvfree(ctx->waiting.buckets);
}
