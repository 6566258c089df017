/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: registered files and direct descriptors */
#ifndef IO_RSRC_FILES_H
#define IO_RSRC_FILES_H

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sizes.h>

#include "layer.h"
#if IO_LAYER < IO_LAYER_RSRC
#error "rsrc/ may not be seen from below, see io_uring/layer.h"
#endif

#include "rsrc/table.h"

/* maximum number of slots for registered files */
#define IO_FILES_MAX		SZ_1M

/**
 * struct io_file_node - a registered file
 * @node: references and tag
 * @file: (-) the file, with a reference
 */
struct io_file_node {
	struct io_rsrc_node	node;
	struct file		*file;
};

static inline struct io_file_node *io_file_node(struct io_rsrc_node *node)
{
	return container_of(node, struct io_file_node, node);
}

/**
 * io_file_node_take - get a reference to a registered file
 * @ctx: the ring
 * @slot: number of the slot, from the program
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * Return: the node with a reference; NULL if the slot has no file, or if current is killed while
 * it waits for the lock.
 */
static inline struct io_rsrc_node *io_file_node_take(struct io_ring_ctx *ctx, unsigned int slot,
						     unsigned int issue_flags)
{
	struct io_rsrc_node *node;

	if (io_issue_lock(ctx, issue_flags))
		return NULL;
	node = io_rsrc_find(&ctx->file_table.data, slot);
	if (likely(node))
		node = io_node_get(ctx, node);
	io_issue_unlock(ctx, issue_flags);
	return node;
}

/**
 * io_file_assign_fixed - assign a registered file to a request
 * @req: the request, has no file yet
 * @fd: number of the slot, from the program
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * Sets req->file and req->file_node on success.  io_req_free() puts the reference.
 *
 * Return: true; false if the slot has no file, or if current is killed while it waits for the
 * lock.
 */
static inline bool io_file_assign_fixed(struct io_kiocb *req, unsigned int fd,
					unsigned int issue_flags)
{
	struct io_rsrc_node *node = io_file_node_take(req->ctx, fd, issue_flags);

	if (unlikely(!node))
		return false;
	req->file_node = node;
	req->file = io_file_node(node)->file;
	req->flags |= REQ_F_FILE_NODE;
	return true;
}

/* for ops */
int io_files_update_op(struct io_ring_ctx *ctx, u64 fds_uaddr, u32 offset, u32 nr);
int io_fixed_fd_install(struct io_ring_ctx *ctx, struct file *file, u32 file_index);
int io_install_slot(struct io_ring_ctx *ctx, struct file *file, u32 file_index,
		    unsigned int issue_flags);
int io_install_pair(struct io_ring_ctx *ctx, struct file *files[2], u32 file_index,
		    int __user *uslots, unsigned int issue_flags);
int io_fixed_fd_remove(struct io_ring_ctx *ctx, u32 slot);

/**
 * io_install_file - install the new file of a request, as a descriptor or in a slot
 * @ctx: the ring
 * @file: the file, whose reference is consumed, also on failure
 * @fd: reserved descriptor, or negative to use a slot
 * @file_index: the slot, as for io_fixed_fd_install()
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * Return: the descriptor, or for a slot as io_install_slot().
 */
static inline int io_install_file(struct io_ring_ctx *ctx, struct file *file, int fd,
				  u32 file_index, unsigned int issue_flags)
{
	if (fd < 0)
		return io_install_slot(ctx, file, file_index, issue_flags);
	fd_install(fd, file);
	return fd;
}

/* for io_uring_register(2) */
int io_register_files(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr,
		      u64 __user *tags);
int io_register_files2(struct io_ring_ctx *ctx, void __user *arg, unsigned int size);
void io_files_free(struct io_ring_ctx *ctx);
int io_unregister_files(struct io_ring_ctx *ctx);
int io_update_files(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr);
int io_register_file_alloc_range(struct io_ring_ctx *ctx, void __user *arg);
int io_files_update(struct io_ring_ctx *ctx, const struct io_uring_rsrc_update2 *up);

#endif
