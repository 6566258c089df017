// SPDX-License-Identifier: GPL-2.0
/* io_uring: registered files and direct descriptors */

/*
 * A request finds a registered file in a table of the ring instead of the task's descriptors, and
 * takes no reference to the file itself.  Slots are filled by io_uring_register(2), by
 * IORING_OP_FILES_UPDATE, and by requests that open or create a file ("direct descriptors").
 * Such a request can let the kernel choose the slot, within a range that the program can set.
 *
 * Rings cannot be registered: a ring that refers to itself would never be freed.
 *
 * Unlike in earlier kernels, IORING_UNREGISTER_FILES does not wait for the requests that use the
 * files: it would sleep for as long as a pipe stays empty.  The requests keep their references.
 * The CQE of a tag does not wait for resources that were updated before, either.
 * IORING_UNREGISTER_BUFFERS waits, as buffers are the program's memory; see sys/unregister.c.
 *
 * Context: Task context.  Holds the ring lock, which io_install_slot() may take itself.
 */
#include <linux/file.h>
#include <linux/io_uring.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "req/put.h"
#include "rsrc/files.h"

static void io_file_node_release(struct io_ring_ctx *ctx, struct io_rsrc_node *node)
{
	io_rsrc_post_tag(ctx, node);
	io_file_put(ctx, io_file_node(node)->file);
	kfree(io_file_node(node));
}

/* Make a node for a file.  Consumes the reference to the file, also on failure. */
static struct io_rsrc_node *io_file_node_make(struct file *file)
{
	struct io_file_node *fnode;
	int err = -EBADF;

	if (io_is_uring_fops(file))
		goto refuse;
	fnode = kmalloc_obj(*fnode, GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (!fnode)
		goto refuse;
	io_rsrc_node_init(&fnode->node, io_file_node_release);
	fnode->file = file;
	return &fnode->node;
refuse:
	fput(file);
	return ERR_PTR(err);
}

static struct io_rsrc_node *io_file_node_from_fd(int fd)
{
	struct file *file = fget(fd);

	return file ? io_file_node_make(file) : ERR_PTR(-EBADF);
}

/* Let the next search for an empty slot start at @slot, if @slot is in the range. */
static void io_file_alloc_hint(struct io_file_table *table, unsigned int slot)
{
	if (slot >= table->alloc_start && slot < table->alloc_end)
		table->alloc_hint = slot;
}

/* Change a slot that exists, and update the bitmap.  All changes of single slots call this. */
static void io_file_set_slot(struct io_ring_ctx *ctx, unsigned int slot, struct io_rsrc_node *node)
{
	struct io_file_table *table = &ctx->file_table;

	slot = array_index_nospec(slot, table->data.nr);
	if (node) {
		__set_bit(slot, table->bitmap);
		io_file_alloc_hint(table, slot + 1);
	} else if (__test_and_clear_bit(slot, table->bitmap)) {
		io_file_alloc_hint(table, slot);
	}
	io_rsrc_set_slot(ctx, &table->data, slot, node);
}

/* Choose an empty slot in the range.  Return: number of the slot, or -ENFILE. */
static int io_file_find_empty(const struct io_file_table *table)
{
	unsigned int hint = table->alloc_hint;
	unsigned long slot;

	slot = find_next_zero_bit(table->bitmap, table->alloc_end, hint);
	if (slot < table->alloc_end)
		return slot;
	slot = find_next_zero_bit(table->bitmap, hint, table->alloc_start);
	return slot < hint ? slot : -ENFILE;
}

/**
 * io_fixed_fd_install - install a file in a slot
 * @ctx: the ring, its lock held
 * @file: the file, whose reference is consumed, also on failure
 * @file_index: slot + 1 as in an SQE, or IORING_FILE_INDEX_ALLOC to choose a slot
 *
 * Return: the slot if this function chose it, otherwise 0; -EBADF for a ring, -ENFILE
 * if there is no empty slot to choose, -ENXIO for a slot without a table, -EINVAL for
 * a slot that does not exist, -ENOMEM.
 */
int io_fixed_fd_install(struct io_ring_ctx *ctx, struct file *file, u32 file_index)
{
	bool choose = file_index == IORING_FILE_INDEX_ALLOC;
	struct io_rsrc_node *node;
	u32 slot = file_index - 1;
	int ret = 0;

	io_assert_ring(ctx);
	if (choose) {
		ret = io_file_find_empty(&ctx->file_table);
		if (ret < 0) {
			fput(file);
			return ret;
		}
		slot = ret;
	}
	node = io_file_node_make(file);
	if (IS_ERR(node))
		return PTR_ERR(node);
	if (!ctx->file_table.data.nr)
		ret = -ENXIO;
	else if (slot >= ctx->file_table.data.nr)
		ret = -EINVAL;
	if (ret < 0)
		io_node_put(ctx, node);
	else
		io_file_set_slot(ctx, slot, node);
	return ret;
}

/**
 * io_install_slot - install the new file of a request in a slot
 * @ctx: the ring
 * @file: the file, whose reference is consumed, also on failure
 * @file_index: the slot, as for io_fixed_fd_install()
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * Return: as io_fixed_fd_install(), or -ECANCELED if current is killed while it waits for the lock.
 */
int io_install_slot(struct io_ring_ctx *ctx, struct file *file, u32 file_index,
		    unsigned int issue_flags)
{
	int ret = io_issue_lock(ctx, issue_flags);

	if (ret) {
		fput(file);
		return ret;
	}
	ret = io_fixed_fd_install(ctx, file, file_index);
	io_issue_unlock(ctx, issue_flags);
	return ret;
}

/* Choose the slots of a pair of files, @file_index as for io_fixed_fd_install(). */
static int io_file_find_pair(struct io_file_table *table, u32 file_index, int slots[2])
{
	if (file_index == IORING_FILE_INDEX_ALLOC) {
		slots[0] = io_file_find_empty(table);
		if (slots[0] < 0)
			return slots[0];
		/* not the same slot again */
		__set_bit(slots[0], table->bitmap);
		slots[1] = io_file_find_empty(table);
		__clear_bit(slots[0], table->bitmap);
		return min(slots[1], 0);
	}
	if (!table->data.nr)
		return -ENXIO;
	if (file_index >= table->data.nr)
		return -EINVAL;
	slots[0] = file_index - 1;
	slots[1] = file_index;
	return 0;
}

static int io_install_pair_locked(struct io_ring_ctx *ctx, struct file *files[2], u32 file_index,
				  int __user *uslots)
{
	struct io_rsrc_node *nodes[2];
	int i, slots[2], ret;

	ret = io_file_find_pair(&ctx->file_table, file_index, slots);
	if (!ret && copy_to_user(uslots, slots, sizeof(slots)))
		ret = -EFAULT;
	for (i = 0; i < 2; i++) {
		nodes[i] = io_file_node_make(files[i]);
		if (IS_ERR(nodes[i]))
			ret = PTR_ERR(nodes[i]);
	}
	for (i = 0; i < 2; i++) {
		if (!ret)
			io_file_set_slot(ctx, slots[i], nodes[i]);
		else if (!IS_ERR(nodes[i]))
			io_node_put(ctx, nodes[i]);
	}
	return ret;
}

/**
 * io_install_pair - install two new files of a request in two slots
 * @ctx: the ring
 * @files: the files, whose references are consumed, also on failure
 * @file_index: the first of two adjacent slots + 1, or IORING_FILE_INDEX_ALLOC to choose two
 * @uslots: the numbers of the slots, in user memory
 * @issue_flags: with %IO_URING_F_UNLOCKED the ring lock is taken
 *
 * A failure leaves all slots as they were.
 *
 * Return: 0; -ENFILE if there are not two empty slots to choose, -ENXIO for slots without a table,
 * -EINVAL for a slot that does not exist, -EFAULT for @uslots, -ENOMEM, or -ECANCELED if current
 * is killed while it waits for the lock.
 */
int io_install_pair(struct io_ring_ctx *ctx, struct file *files[2], u32 file_index,
		    int __user *uslots, unsigned int issue_flags)
{
	int ret = io_issue_lock(ctx, issue_flags);

	if (ret) {
		fput(files[0]);
		fput(files[1]);
		return ret;
	}
	ret = io_install_pair_locked(ctx, files, file_index, uslots);
	io_issue_unlock(ctx, issue_flags);
	return ret;
}

/**
 * io_fixed_fd_remove - empty a slot
 * @ctx: the ring, its lock held
 * @slot: the slot
 *
 * Return: 0; -ENXIO without a table, -EINVAL for a slot that does not exist,
 * -EBADF if the slot is empty.
 */
int io_fixed_fd_remove(struct io_ring_ctx *ctx, u32 slot)
{
	if (!ctx->file_table.data.nr)
		return -ENXIO;
	if (slot >= ctx->file_table.data.nr)
		return -EINVAL;
	if (!io_rsrc_find(&ctx->file_table.data, slot))
		return -EBADF;
	io_file_set_slot(ctx, slot, NULL);
	return 0;
}

/*
 * Put a file into a slot that the program has named.  The old file is dropped even if the new
 * descriptor is bad.
 */
static int io_file_update_one(struct io_ring_ctx *ctx, unsigned int slot, const s32 __user *ufd,
			      const u64 __user *utag)
{
	struct io_rsrc_node *node;
	u64 tag = 0;
	s32 fd;

	if (utag && copy_from_user(&tag, utag, sizeof(tag)))
		return -EFAULT;
	if (get_user(fd, ufd))
		return -EFAULT;
	if ((fd == IORING_REGISTER_FILES_SKIP || fd == -1) && tag)
		return -EINVAL;
	if (fd == IORING_REGISTER_FILES_SKIP)
		return 0;

	io_file_set_slot(ctx, slot, NULL);
	if (fd == -1)
		return 0;
	node = io_file_node_from_fd(fd);
	if (IS_ERR(node))
		return PTR_ERR(node);
	node->tag = tag;
	io_file_set_slot(ctx, slot, node);
	return 0;
}

/**
 * io_files_update - change slots of the table of files, in order
 * @ctx: the ring, its lock held
 * @up: slots, descriptors and tags; the caller has checked the reserved fields
 *
 * Return: number of slots that were handled; if there are none, -EOVERFLOW, -ENXIO or
 * -EINVAL for bad slots, -EFAULT, -EINVAL for a tag without a file, -EBADF,
 * -ENOMEM.
 */
int io_files_update(struct io_ring_ctx *ctx, const struct io_uring_rsrc_update2 *up)
{
	const s32 __user *fds = u64_to_user_ptr(up->data);
	const u64 __user *tags = u64_to_user_ptr(up->tags);
	unsigned int done;
	int err;

	io_assert_ring(ctx);
	err = io_rsrc_check_range(&ctx->file_table.data, up->offset, up->nr);
	if (err)
		return err;
	for (done = 0; done < up->nr; done++) {
		err = io_file_update_one(ctx, up->offset + done, fds + done,
					 tags ? tags + done : NULL);
		if (err)
			break;
		cond_resched();
	}
	return done ?: err;
}

/**
 * io_update_files - handle IORING_REGISTER_FILES_UPDATE
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_rsrc_update in user space
 * @nr: number of slots
 *
 * Return: as io_files_update().
 */
int io_update_files(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr)
{
	struct io_uring_rsrc_update2 up = { .nr = nr };
	struct io_uring_rsrc_update old;

	if (!nr)
		return -EINVAL;
	if (copy_from_user(&old, arg, sizeof(old)))
		return -EFAULT;
	if (old.resv)
		return -EINVAL;
	up.offset = old.offset;
	up.data = old.data;
	return io_files_update(ctx, &up);
}

/* Put a file into an empty slot, whose number replaces the descriptor in user memory. */
static int io_file_alloc_one(struct io_ring_ctx *ctx, s32 __user *ufd)
{
	struct file *file;
	int slot;
	s32 fd;

	if (get_user(fd, ufd))
		return -EFAULT;
	file = fget(fd);
	if (!file)
		return -EBADF;
	slot = io_fixed_fd_install(ctx, file, IORING_FILE_INDEX_ALLOC);
	if (slot < 0)
		return slot;
	if (!put_user(slot, ufd))
		return 0;
	io_fixed_fd_remove(ctx, slot);
	return -EFAULT;
}

/**
 * io_files_update_op - perform IORING_OP_FILES_UPDATE
 * @ctx: the ring, its lock held
 * @fds_uaddr: array of descriptors in user space
 * @offset: first slot, or IORING_FILE_INDEX_ALLOC to choose empty slots and write
 *	their numbers back to the array
 * @nr: number of descriptors
 *
 * Return: number of descriptors that were handled, or a negative errno if there are none.
 */
int io_files_update_op(struct io_ring_ctx *ctx, u64 fds_uaddr, u32 offset, u32 nr)
{
	struct io_uring_rsrc_update2 up = { .offset = offset, .data = fds_uaddr, .nr = nr };
	s32 __user *fds = u64_to_user_ptr(fds_uaddr);
	unsigned int done;
	int err;

	io_assert_ring(ctx);
	if (!nr)
		return -EINVAL;
	if (offset != IORING_FILE_INDEX_ALLOC)
		return io_files_update(ctx, &up);
	if (!ctx->file_table.data.nr)
		return -ENXIO;
	for (done = 0; done < nr; done++) {
		err = io_file_alloc_one(ctx, fds + done);
		if (err)
			break;
		cond_resched();
	}
	return done ?: err;
}

static void io_file_set_alloc_range(struct io_file_table *table, unsigned int start,
				    unsigned int end)
{
	table->alloc_start = start;
	table->alloc_hint = start;
	table->alloc_end = end;
}

/**
 * io_register_file_alloc_range - handle IORING_REGISTER_FILE_ALLOC_RANGE
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_file_index_range in user space
 *
 * Return: 0; -EFAULT, -EOVERFLOW if the range wraps, -EINVAL for a range beyond the table
 * or a reserved field that is not 0.
 */
int io_register_file_alloc_range(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_uring_file_index_range range;
	u32 end;

	io_assert_ring(ctx);
	if (copy_from_user(&range, arg, sizeof(range)))
		return -EFAULT;
	if (check_add_overflow(range.off, range.len, &end))
		return -EOVERFLOW;
	if (range.resv || end > ctx->file_table.data.nr)
		return -EINVAL;
	io_file_set_alloc_range(&ctx->file_table, range.off, end);
	return 0;
}

static int io_file_table_alloc(struct io_file_table *table, unsigned int nr)
{
	table->bitmap = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), GFP_KERNEL_ACCOUNT);
	if (!table->bitmap)
		return -ENOMEM;
	if (io_rsrc_table_alloc(&table->data, nr)) {
		kvfree(table->bitmap);
		table->bitmap = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* Fill the slots of a new table.  Without @fds, or for a descriptor of -1, a slot stays empty. */
static int io_files_fill(struct io_ring_ctx *ctx, const s32 __user *fds, const u64 *tags)
{
	unsigned int i;

	for (i = 0; i < ctx->file_table.data.nr; i++) {
		struct io_rsrc_node *node;
		s32 fd = -1;

		cond_resched();
		if (fds && get_user(fd, fds + i))
			return -EFAULT;
		if (fd == -1) {
			if (tags && tags[i])
				return -EINVAL;
			continue;
		}
		node = io_file_node_from_fd(fd);
		if (IS_ERR(node))
			return PTR_ERR(node);
		node->tag = tags ? tags[i] : 0;
		io_file_set_slot(ctx, i, node);
	}
	return 0;
}

/**
 * io_files_free - drop all registered files, without the CQEs of their tags
 * @ctx: the ring, its lock held; it may have no table
 */
void io_files_free(struct io_ring_ctx *ctx)
{
	struct io_file_table *table = &ctx->file_table;

	io_assert_ring(ctx);
	io_file_set_alloc_range(table, 0, 0);
	kvfree(table->bitmap);
	table->bitmap = NULL;
	io_rsrc_table_free(ctx, &table->data);
}

static int io_files_register(struct io_ring_ctx *ctx, const s32 __user *fds, unsigned int nr,
			     const u64 __user *utags)
{
	u64 *tags __free(kvfree) = NULL;
	int err;

	io_assert_ring(ctx);
	if (ctx->file_table.data.nr)
		return -EBUSY;
	if (!nr)
		return -EINVAL;
	if (nr > IO_FILES_MAX || nr > rlimit(RLIMIT_NOFILE))
		return -EMFILE;
	tags = io_rsrc_copy_tags(utags, nr);
	if (IS_ERR(tags))
		return PTR_ERR(tags);
	err = io_file_table_alloc(&ctx->file_table, nr);
	if (err)
		return err;
	err = io_files_fill(ctx, fds, tags);
	if (err) {
		io_files_free(ctx);
		return err;
	}
	io_file_set_alloc_range(&ctx->file_table, 0, nr);
	return 0;
}

/**
 * io_register_files - handle IORING_REGISTER_FILES
 * @ctx: the ring, its lock held
 * @arg: array of descriptors in user space
 * @nr: number of descriptors
 * @tags: array of one tag per descriptor in user space, or NULL
 *
 * Return: 0; -EFAULT, -EBUSY if there is a table, -EINVAL if @nr is 0 or for a tag
 * without a file, -EMFILE if @nr exceeds IO_FILES_MAX or RLIMIT_NOFILE, -EBADF, -ENOMEM.
 */
int io_register_files(struct io_ring_ctx *ctx, void __user *arg, unsigned int nr,
		      u64 __user *tags)
{
	return arg ? io_files_register(ctx, arg, nr, tags) : -EFAULT;
}

/**
 * io_register_files2 - handle IORING_REGISTER_FILES2
 * @ctx: the ring, its lock held
 * @arg: struct io_uring_rsrc_register in user space
 * @size: size of the struct, from the program
 *
 * Return: as io_register_files(), and -EINVAL for bad arguments.
 */
int io_register_files2(struct io_ring_ctx *ctx, void __user *arg, unsigned int size)
{
	struct io_uring_rsrc_register reg;
	int err = io_rsrc_read_register(&reg, arg, size);

	if (err)
		return err;
	return io_files_register(ctx, u64_to_user_ptr(reg.data), reg.nr, u64_to_user_ptr(reg.tags));
}

/**
 * io_unregister_files - handle IORING_UNREGISTER_FILES
 * @ctx: the ring, its lock held
 *
 * Return: 0, or -ENXIO if there is no table.
 */
int io_unregister_files(struct io_ring_ctx *ctx)
{
	io_assert_ring(ctx);
	if (!ctx->file_table.data.nr)
		return -ENXIO;
	io_rsrc_table_unregister(ctx, &ctx->file_table.data);
	io_files_free(ctx);
	return 0;
}
