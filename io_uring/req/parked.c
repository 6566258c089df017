// SPDX-License-Identifier: GPL-2.0
/* io_uring: the one lot where requests stand that wait for an event or a time */

/*
 * A bucket is chosen by multiplication with an odd number.  While the lot is small
 * that is a fixed one, which spreads the counters and addresses that programs use
 * best.  User_data can be chosen so that all of it falls into one bucket then, which
 * costs little.  From IO_PARKED_SALT_BITS on the number is random, a new one with
 * each growth: whatever was chosen beforehand, two of it meet with a probability of
 * at most two in the number of buckets.
 */
#include <linux/hash.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "req/parked.h"

/* the table has so many buckets, and is four times as large when it grows */
#define IO_PARKED_MIN_BITS	4
#define IO_PARKED_SALT_BITS	12
#define IO_PARKED_MAX_BITS	20
#define IO_PARKED_STEP_BITS	2

static unsigned int io_parked_bits(const struct io_ring_ctx *ctx)
{
	return 64 - ctx->parked.shift;
}

static u64 io_parked_factor(unsigned int bits)
{
	return bits < IO_PARKED_SALT_BITS ? GOLDEN_RATIO_64 : get_random_u64() | 1;
}

static struct list_head *io_parked_table(unsigned int bits)
{
	struct list_head *table;
	unsigned int i;

	table = kvmalloc_array(1U << bits, sizeof(*table), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	for (i = 0; table && i < 1U << bits; i++)
		INIT_LIST_HEAD(&table[i]);
	return table;
}

/* What can be found moves to another table; of one user_data in its order. */
static void io_parked_rehash(struct io_ring_ctx *ctx, struct list_head *table, unsigned int bits)
{
	struct io_kiocb *req, *tmp;
	struct list_head *bucket, *old = ctx->parked.buckets;
	unsigned int i, nr = 1U << io_parked_bits(ctx);

	ctx->parked.room += (1 << bits) - nr;
	ctx->parked.shift = 64 - bits;
	ctx->parked.factor = io_parked_factor(bits);
	ctx->parked.buckets = table;
	for (i = 0; i < nr; i++) {
		list_for_each_entry_safe(req, tmp, &old[i], parked) {
			bucket = io_parked_bucket(ctx, req->cqe.user_data, io_parked_kind(req));
			list_add_tail(&req->parked, bucket);
			io_parked_walk(ctx);
		}
		io_parked_walk(ctx);
	}
	kvfree(old);
}

/**
 * io_parked_grow - there is more in the lot than it has buckets
 * @ctx: the ring, its lock held
 *
 * May sleep.  If there is no memory the buckets become fuller, and it is tried
 * again when there is one more in each.
 */
void io_parked_grow(struct io_ring_ctx *ctx)
{
	unsigned int bits = io_parked_bits(ctx) + IO_PARKED_STEP_BITS;
	struct list_head *table;

	io_assert_ring(ctx);
	if (bits > IO_PARKED_MAX_BITS || ctx->parked.room % (1 << io_parked_bits(ctx)) != -1)
		return;
	table = io_parked_table(bits);
	if (table)
		io_parked_rehash(ctx, table, bits);
}

/**
 * io_parked_trim - a walk through the whole lot is to come
 * @ctx: the ring, its lock held
 *
 * Gives back buckets that would be found empty.  May sleep.
 */
void io_parked_trim(struct io_ring_ctx *ctx)
{
	unsigned int bits = io_parked_bits(ctx);
	unsigned int nr = io_parked_nr(ctx);
	struct list_head *table;

	io_assert_ring(ctx);
	if (bits == IO_PARKED_MIN_BITS || nr >> (bits - IO_PARKED_STEP_BITS - 1))
		return;
	while (bits > IO_PARKED_MIN_BITS && !(nr >> (bits - IO_PARKED_STEP_BITS)))
		bits -= IO_PARKED_STEP_BITS;
	table = io_parked_table(bits);
	if (table)
		io_parked_rehash(ctx, table, bits);
}

/**
 * io_parked_init - an empty lot for a new ring
 * @ctx: the ring
 *
 * Return: 0 or -ENOMEM.
 */
int io_parked_init(struct io_ring_ctx *ctx)
{
	ctx->parked.buckets = io_parked_table(IO_PARKED_MIN_BITS);
	if (!ctx->parked.buckets)
		return -ENOMEM;
	ctx->parked.factor = io_parked_factor(IO_PARKED_MIN_BITS);
	ctx->parked.shift = 64 - IO_PARKED_MIN_BITS;
	ctx->parked.room = 1 << IO_PARKED_MIN_BITS;
	return 0;
}

/**
 * io_parked_free - the lot of a ring that goes
 * @ctx: the ring, without requests
 */
void io_parked_free(struct io_ring_ctx *ctx)
{
	kvfree(ctx->parked.buckets);
}
