/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: every operation that is built, one line each */
#ifndef IO_OP_LIST_H
#define IO_OP_LIST_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

#include "op.h"

/* op/table.c has the opcodes that they belong to. */
extern const struct io_op io_op_nop;
extern const struct io_op io_op_readv;
extern const struct io_op io_op_writev;
extern const struct io_op io_op_fsync;
extern const struct io_op io_op_read_fixed;
extern const struct io_op io_op_write_fixed;
extern const struct io_op io_op_poll_add;
extern const struct io_op io_op_poll_remove;
extern const struct io_op io_op_sync_file_range;
extern const struct io_op io_op_async_cancel;
extern const struct io_op io_op_timeout;
extern const struct io_op io_op_timeout_remove;
extern const struct io_op io_op_link_timeout;
extern const struct io_op io_op_fallocate;
extern const struct io_op io_op_openat;
extern const struct io_op io_op_close;
extern const struct io_op io_op_files_update;
extern const struct io_op io_op_read;
extern const struct io_op io_op_write;
extern const struct io_op io_op_openat2;
extern const struct io_op io_op_msg_ring;

#endif
