// SPDX-License-Identifier: GPL-2.0
/* io_uring: personalities, credentials that requests can be issued with */

/*
 * A task may register its credentials with a ring, and an SQE names credentials by
 * their number.  Numbers are assigned in a cycle, so that a number that was freed is
 * not reused soon.  The number 0 means no personality in an SQE and is never assigned.
 *
 * All functions are called with the ring lock held, by io_uring_register(2), for an SQE with a
 * personality, or when the ring is freed.
 */
#include <linux/cred.h>

#include "ring/locks.h"
#include "rsrc/creds.h"

/**
 * io_register_personality - register current's credentials with the ring
 * @ctx: the ring, its lock held
 *
 * Return: number of the credentials; -EBUSY if all numbers are in use, -ENOMEM.
 */
int io_register_personality(struct io_ring_ctx *ctx)
{
	const struct cred *creds = get_current_cred();
	u32 id;
	int ret;

	io_assert_ring(ctx);
	ret = xa_alloc_cyclic(&ctx->creds.personalities, &id, (void *)creds, XA_LIMIT(1, U16_MAX),
			      &ctx->creds.next, GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		put_cred(creds);
		return ret;
	}
	return id;
}

/**
 * io_unregister_personality - drop registered credentials
 * @ctx: the ring, its lock held
 * @id: number of the credentials
 *
 * Requests that use the credentials hold references of their own.
 *
 * Return: 0, or -EINVAL if there are no credentials with this number.
 */
int io_unregister_personality(struct io_ring_ctx *ctx, unsigned int id)
{
	const struct cred *creds;

	io_assert_ring(ctx);
	creds = xa_erase(&ctx->creds.personalities, id);
	if (!creds)
		return -EINVAL;
	put_cred(creds);
	return 0;
}

/**
 * io_personality_get - get registered credentials for a request
 * @ctx: the ring, its lock held
 * @id: number of the credentials
 *
 * Return: the credentials with a reference, or NULL.
 */
const struct cred *io_personality_get(struct io_ring_ctx *ctx, unsigned int id)
{
	io_assert_ring(ctx);
	return get_cred(xa_load(&ctx->creds.personalities, id));
}

/**
 * io_personalities_free - drop all registered credentials of a ring that ends
 * @ctx: the ring, its lock held
 */
void io_personalities_free(struct io_ring_ctx *ctx)
{
	const struct cred *creds;
	unsigned long id;

	xa_for_each(&ctx->creds.personalities, id, creds)
		put_cred(creds);
	xa_destroy(&ctx->creds.personalities);
}
