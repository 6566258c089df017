/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: charges for pinned memory */
#ifndef IO_RSRC_ACCOUNT_H
#define IO_RSRC_ACCOUNT_H

#include <linux/refcount.h>
#include <linux/xarray.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

struct io_mapped_ubuf;
struct io_ring_ctx;
struct mm_struct;
struct user_struct;

/**
 * struct io_mem_account - charges for the memory that a ring has pinned
 * @refs: (A) references of the ring, and of each struct io_mapped_ubuf
 * @user: (-) user whose RLIMIT_MEMLOCK is charged, NULL if the ring's creator had CAP_IPC_LOCK
 * @mm: (-) mm whose ->pinned_vm is charged
 * @compounds: (A) number of segments in each compound page, indexed by the pfn of
 *	its head page
 *
 * The account outlives the ring if another ring has cloned the buffers.
 */
struct io_mem_account {
	refcount_t		refs;
	struct user_struct	*user;
	struct mm_struct	*mm;
	struct xarray		compounds;
};

void io_account_init(struct io_ring_ctx *ctx);
void io_account_free(struct io_ring_ctx *ctx);
struct io_mem_account *io_account_make(struct user_struct *user, struct mm_struct *mm);
int io_user_charge(struct user_struct *user, unsigned long pages);
void io_account_put(struct io_mem_account *account);
int io_account_charge(struct io_mem_account *account, const struct io_mapped_ubuf *map);
void io_account_uncharge(struct io_mem_account *account, const struct io_mapped_ubuf *map);

/* parts of io_account_charge() and io_account_uncharge(), for the tests */
long io_account_add_segs(struct io_mem_account *account, const struct io_mapped_ubuf *map);
unsigned long io_account_del_segs(struct io_mem_account *account, const struct io_mapped_ubuf *map,
				  unsigned int nr_segs);

#endif
