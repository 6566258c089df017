// SPDX-License-Identifier: GPL-2.0
/* io_uring: finding the requests that a program wants to end */

/*
 * IORING_OP_ASYNC_CANCEL and IORING_REGISTER_SYNC_CANCEL name requests by a key,
 * a linked timeout means one request.  Found are those that a worker pool has,
 * of any task that uses the ring, and those that are parked.  Both places are
 * searched under one hold of the ring lock, under which requests move from the
 * one to the other.
 *
 * Not found are requests that have not begun, because they wait for the one
 * before them in a chain or for a drained one, and those that a device has.
 */
#include <linux/io_uring_types.h>

#include "async/wq.h"
#include "req/parked.h"
#include "task/cancel.h"
#include "task/tctx.h"

/* Who asks for any by file means all that have a file. */
static bool io_key_match_file(const struct io_kiocb *req, const struct io_cancel_key *key)
{
	if (!io_ops[req->opcode]->needs_file)
		return false;
	return req->file == key->file || key->flags & IORING_ASYNC_CANCEL_ANY;
}

/* What is compared does not change while a request is in the pool or parked. */
static bool io_key_match(const struct io_kiocb *req, const struct io_cancel_key *key)
{
	if (req->ctx != key->ctx)
		return false;
	/* one that cancels all leaves itself out, one that names itself is found running */
	if (req == key->self && key->flags & IORING_ASYNC_CANCEL_ALL)
		return false;
	if (key->flags & IORING_ASYNC_CANCEL_FD && !io_key_match_file(req, key))
		return false;
	if (key->flags & IORING_ASYNC_CANCEL_ANY)
		return true;
	if (key->flags & IORING_ASYNC_CANCEL_OP && req->opcode != key->opcode)
		return false;
	return !(key->flags & IORING_ASYNC_CANCEL_USERDATA) ||
	       req->cqe.user_data == key->user_data;
}

static bool io_key_match_work(struct io_wq_work *work, void *data)
{
	return io_key_match(io_work_to_req(work), data);
}

/**
 * struct io_key_walk - a search through the lot
 * @key: for what
 * @nr: requests that were ended
 * @counted: the last of them says how many they are, see struct io_op
 * @killed: it was not finished, its task is to die
 */
struct io_key_walk {
	const struct io_cancel_key	*key;
	unsigned int			nr;
	bool				counted;
	bool				killed;
};

/* Look at a parked request.  Return: go on? */
static bool io_key_cancel_one(struct io_key_walk *walk, struct io_kiocb *req)
{
	if (unlikely(!io_parked_walk(walk->key->ctx))) {
		walk->killed = true;
		return false;
	}
	if (!io_key_match(req, walk->key) || !io_parked_cancel(req))
		return true;
	walk->nr++;
	walk->counted = io_ops[req->opcode]->cancel_counts;
	return walk->key->flags & IORING_ASYNC_CANCEL_ALL;
}

/* What has the key's user_data.  Return: go on? */
static bool io_key_cancel_kind(struct io_key_walk *walk, enum io_parked_kind kind)
{
	const struct io_cancel_key *key = walk->key;
	struct io_kiocb *req, *tmp;

	list_for_each_entry_safe(req, tmp, io_parked_bucket(key->ctx, key->user_data, kind), parked)
		if (!io_key_cancel_one(walk, req))
			return false;
	return true;
}

/* Everything that is parked. */
static void io_key_cancel_any(struct io_key_walk *walk)
{
	struct io_ring_ctx *ctx = walk->key->ctx;
	struct io_kiocb *req, *tmp;
	struct list_head *bucket;

	io_parked_trim(ctx);
	io_for_each_parked(ctx, bucket, tmp, req)
		if (!io_key_cancel_one(walk, req))
			return;
}

/* Requests that are parked.  Return: how many were ended, or -EINTR. */
static int io_key_cancel_parked(struct io_key_walk *walk)
{
	if (!(walk->key->flags & IORING_ASYNC_CANCEL_USERDATA))
		io_key_cancel_any(walk);
	else if (io_key_cancel_kind(walk, IO_PARKED_POLL))
		/* a LINK_TIMEOUT goes with its head alone */
		io_key_cancel_kind(walk, IO_PARKED_TIMEOUT);
	return walk->killed ? -EINTR : walk->nr;
}

/**
 * io_cancel_key_init - what a program wants to end
 * @key: result; file, opcode and self are left to the caller
 * @ctx: the ring
 * @user_data: of the requests
 * @flags: IORING_ASYNC_CANCEL_*
 */
void io_cancel_key_init(struct io_cancel_key *key, struct io_ring_ctx *ctx, u64 user_data,
			u32 flags)
{
	if (flags & IORING_ASYNC_CANCEL_ANY) {
		flags |= IORING_ASYNC_CANCEL_ALL;
		flags &= ~IORING_ASYNC_CANCEL_USERDATA;
	} else if (!(flags & (IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_OP))) {
		flags |= IORING_ASYNC_CANCEL_USERDATA;
	}
	*key = (struct io_cancel_key) { .ctx = ctx, .user_data = user_data, .flags = flags };
}

/**
 * io_cancel_by_key - end the requests that a program names
 * @key: which; the ring's lock is held
 *
 * Without IORING_ASYNC_CANCEL_ALL the first that is found: one that can be ended
 * rather than one that a worker runs.
 *
 * Return: with IORING_ASYNC_CANCEL_ALL, or _ANY, which implies it, how many end;
 * those that run are told, but not counted.  Else 0 if one ends, or 1 if it is of an
 * op that says so (cancel_counts), -EALREADY if a
 * worker that runs it was told to, -ENOENT if there is none.  -EINTR if the task is
 * to die before all was looked at.
 */
int io_cancel_by_key(const struct io_cancel_key *key)
{
	bool all = key->flags & IORING_ASYNC_CANCEL_ALL;
	struct io_key_walk walk = { .key = key };
	struct io_wq_found found;
	int parked;

	/* what a program submits at once may be many searches, each of which is long */
	if (unlikely(fatal_signal_pending(current)))
		return -EINTR;
	found = io_cancel_work(key->ctx, NULL, io_key_match_work, (void *)key, all);
	if (found.queued && !all)
		return 0;
	parked = io_key_cancel_parked(&walk);
	if (parked < 0)
		return parked;
	if (all)
		return found.queued + parked;
	if (parked)
		return walk.counted ? parked : 0;
	return found.running ? -EALREADY : -ENOENT;
}

static bool io_match_this_work(struct io_wq_work *work, void *data)
{
	return io_work_to_req(work) == data;
}

/**
 * io_cancel_request - end one request
 * @req: the request, held by the caller; ring lock held
 *
 * Return: 0 if it ends, -EALREADY if a worker that runs it was told to, -ENOENT
 * if it cannot be ended or has begun to end by itself.
 */
int io_cancel_request(struct io_kiocb *req)
{
	struct io_wq_found found;

	io_assert_ring(req->ctx);
	/* set and cleared under the ring lock */
	if (data_race(req->flags) & REQ_F_PARKED)
		return io_parked_cancel(req) ? 0 : -ENOENT;
	found = io_cancel_work(req->ctx, req->tctx, io_match_this_work, req, false);
	if (found.queued)
		return 0;
	return found.running ? -EALREADY : -ENOENT;
}
