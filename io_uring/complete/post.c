// SPDX-License-Identifier: GPL-2.0
/* io_uring: CQEs that do not end a request */

/*
 * io_post_more() is for requests that go on.  It fails before any side effect when
 * the CQE would not fit, so that the op can make it its last.
 *
 * io_post_to() is for CQEs without a request: a registered resource's tag.  It is
 * called with the ring lock held, but not always by the writer of a single-writer
 * ring; then the CQE travels as a message does.
 */
#include <trace/events/io_uring.h>

#include "complete/complete.h"
#include "complete/message.h"

static bool io_post_more_any(struct io_kiocb *req, s32 res, u32 cflags, bool counted)
{
	struct io_cqe_val val = {
		.user_data = req->cqe.user_data,
		.res = res,
		.flags = cflags | IORING_CQE_F_MORE,
	};

	if (!io_cq_post_more(req->ctx, &val, counted))
		return false;
	trace_io_uring_complete(req->ctx, req, val.user_data, val.res, val.flags, 0, 0);
	return true;
}

/**
 * io_post_more - post a CQE with IORING_CQE_F_MORE for a live request
 * @req: the request; ring lock held, single-writer rings: called by the writer
 * @res: result
 * @cflags: IORING_CQE_F_* besides F_MORE
 *
 * Return: false, and nothing was done, if there is no room: the caller ends the
 * request with this result.
 */
bool io_post_more(struct io_kiocb *req, s32 res, u32 cflags)
{
	return io_post_more_any(req, res, cflags, true);
}

/**
 * io_post_more_uncounted - io_post_more() of a timeout
 * @req: the request
 * @res: result
 *
 * Return: as io_post_more()
 */
bool io_post_more_uncounted(struct io_kiocb *req, s32 res)
{
	return io_post_more_any(req, res, 0, false);
}

/**
 * io_post_to - post a CQE that no request asked for
 * @ctx: the ring, its lock held
 * @user_data: shown as it is
 * @res: result
 * @cflags: IORING_CQE_F_*
 *
 * Never refuses; if there is no memory for a CQE that has to travel, it counts
 * as lost, as an overflowed one would.
 */
void io_post_to(struct io_ring_ctx *ctx, u64 user_data, s32 res, u32 cflags)
{
	struct io_cqe_val val = { .user_data = user_data, .res = res, .flags = cflags };
	struct io_cqe_entry *entry;

	if (io_cq_is_writer(ctx)) {
		trace_io_uring_complete(ctx, NULL, user_data, res, cflags, 0, 0);
		io_cq_post(ctx, &val, NULL);
		return;
	}
	entry = io_entry_alloc(GFP_KERNEL);
	if (entry)
		io_message_post(ctx, entry, val);
	else
		io_cq_lost(ctx);
}
