/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: filters, programs of classic BPF that allow or deny requests */
#ifndef IO_RSRC_FILTER_H
#define IO_RSRC_FILTER_H

#include <linux/errno.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "rsrc/restrict.h"

struct io_filter;

#ifdef CONFIG_NET
int io_filter_add(struct io_restriction **place, void __user *arg);
int io_filter_check(const struct io_restriction *r, struct io_kiocb *req, u8 sqe_flags);
void io_filters_get(struct io_restriction *r);
void io_filters_put(struct io_restriction *r);
#else
static inline int io_filter_add(struct io_restriction **place, void __user *arg)
{
	return -EINVAL;
}

static inline int io_filter_check(const struct io_restriction *r, struct io_kiocb *req,
				  u8 sqe_flags)
{
	return 0;
}

static inline void io_filters_get(struct io_restriction *r)
{
}

static inline void io_filters_put(struct io_restriction *r)
{
}
#endif

#endif
