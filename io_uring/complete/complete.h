/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: post the results of requests as CQEs */
#ifndef IO_COMPLETE_H
#define IO_COMPLETE_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_COMPLETE
#error "complete/ may not be seen from below, see io_uring/layer.h"
#endif

#include "req/free.h"
#include "ring/cq.h"
#include "ring/mailbox.h"

/*
 * Three functions and their variants post CQEs with the ring lock held:
 *
 *	io_complete()		end a request: post its CQE, continue its chain, free it
 *	io_post_more()		post one more CQE for a request that continues
 *	io_post_to()		post a CQE that belongs to no request: the tag of a resource
 *				(io_message_post() of complete/message.h does not
 *				need the ring lock)
 *
 * A context that must not call io_complete() calls io_complete_later(), which any context may
 * call, or io_complete_in_worker(), which is for workers.
 */
void io_complete(struct io_kiocb *req);
void io_complete_large(struct io_kiocb *req, const u64 *extra);
void io_complete_uncounted(struct io_kiocb *req);
void io_complete_later(struct io_kiocb *req);
struct io_kiocb *io_complete_in_worker(struct io_kiocb *req, bool locked);
void io_complete_tw(struct io_ring_ctx *ctx, struct io_tw *tw, unsigned int issue_flags);
void io_req_set_failed(struct io_kiocb *req, s32 res);
void io_req_fail(struct io_kiocb *req, s32 res);
void io_req_fail_later(struct io_kiocb *req, s32 res);
void io_req_put_unlocked(struct io_kiocb *req);

bool io_post_more(struct io_kiocb *req, s32 res, u32 cflags);
bool io_post_more_large(struct io_kiocb *req, s32 res, u32 cflags, const u64 *extra);
bool io_post_more_uncounted(struct io_kiocb *req, s32 res);
void io_post_to(struct io_ring_ctx *ctx, u64 user_data, s32 res, u32 cflags);

#endif
