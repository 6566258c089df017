/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: SOCKET_URING_OP_TX_TIMESTAMP */
#ifndef IO_OP_NET_TIMESTAMPS_H
#define IO_OP_NET_TIMESTAMPS_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

struct io_uring_cmd;
struct sock;

int io_cmd_sock_timestamps(struct io_uring_cmd *cmd, struct sock *sk, unsigned int issue_flags);

#endif
