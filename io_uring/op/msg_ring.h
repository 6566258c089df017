/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: messages of a task without a ring */
#ifndef IO_OP_MSG_RING_H
#define IO_OP_MSG_RING_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_OP
#error "op/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/compiler_types.h>

int io_msg_send_without_ring(void __user *arg);

#endif
