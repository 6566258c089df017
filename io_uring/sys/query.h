/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: IORING_REGISTER_QUERY - what this kernel's io_uring can do */
#ifndef IO_SYS_QUERY_H
#define IO_SYS_QUERY_H

#include "layer.h"
#if IO_LAYER < IO_LAYER_SYS
#error "sys/ may not be seen from below, see io_uring/layer.h"
#endif

#include <linux/compiler.h>

int io_query(void __user *arg);

#endif
