// SPDX-License-Identifier: GPL-2.0
/* io_uring: CQEs that do not end a request */

/*
 * io_post_more() posts a CQE for a request that continues, or fails if the CQE does not fit.  After
 * a failure the op ends the request with this result, in its last CQE.
 *
 * io_post_to() posts a CQE without a request: the tag of a registered resource.  A caller holds
 * the ring lock, but is not always the writer of a single-writer ring.  If the caller is not the
 * writer, the CQE is pushed to the writer as a message.
 */
#include <trace/events/io_uring.h>

#include "complete/complete.h"
#include "complete/message.h"

/* The last CQE of @req has a result, so IOSQE_CQE_SKIP_SUCCESS must not hide it.  Return: false. */
static bool io_post_last(struct io_kiocb *req)
{
	io_req_show_cqe(req);
	return false;
}

static bool io_post_more_any(struct io_kiocb *req, s32 res, u32 cflags, bool counted)
{
	struct io_cqe_val val = {
		.user_data = req->cqe.user_data,
		.res = res,
		.flags = cflags | IORING_CQE_F_MORE,
	};

	if (!io_cq_post_more(req->ctx, &val, counted))
		return io_post_last(req);
	trace_io_uring_complete(req->ctx, req, val.user_data, val.res, val.flags, 0, 0);
	return true;
}

/**
 * io_post_more - post a CQE with IORING_CQE_F_MORE for a request that continues
 * @req: the request; ring lock held, single-writer rings: called by the writer
 * @res: result
 * @cflags: IORING_CQE_F_* besides F_MORE
 *
 * Return: true if the CQE was posted; false if there is no room.  On false the caller has to end
 * the request with this result, which its last CQE tells in spite of IOSQE_CQE_SKIP_SUCCESS.
 */
bool io_post_more(struct io_kiocb *req, s32 res, u32 cflags)
{
	return io_post_more_any(req, res, cflags, true);
}

/**
 * io_post_more_large - io_post_more() with all words of a 32-byte CQE
 * @req: the request, as for io_post_more(), of a ring that has such CQEs
 * @res: result
 * @cflags: IORING_CQE_F_* besides F_MORE
 * @extra: the two extra words
 *
 * Return: as io_post_more()
 */
bool io_post_more_large(struct io_kiocb *req, s32 res, u32 cflags, const u64 *extra)
{
	struct io_cqe_val val = {
		.user_data = req->cqe.user_data,
		.res = res,
		.flags = cflags | IORING_CQE_F_MORE | io_cqe_large_flag(req->ctx),
	};

	if (!io_cq_post_more_large(req->ctx, &val, extra))
		return io_post_last(req);
	trace_io_uring_complete(req->ctx, req, val.user_data, val.res, val.flags, extra[0],
				extra[1]);
	return true;
}

/**
 * io_post_more_uncounted - post one more CQE of a timeout, which other timeouts do not count
 * @req: the request, as for io_post_more()
 * @res: result
 *
 * Return: as io_post_more()
 */
bool io_post_more_uncounted(struct io_kiocb *req, s32 res)
{
	return io_post_more_any(req, res, 0, false);
}

/**
 * io_post_to - post a CQE that belongs to no request
 * @ctx: the ring, its lock held
 * @user_data: user_data of the CQE
 * @res: result
 * @cflags: IORING_CQE_F_*
 *
 * This function does not fail.  A CQE that has to be pushed to the writer needs memory.  If there
 * is no memory, the CQE is lost and cq_overflow is incremented.
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
