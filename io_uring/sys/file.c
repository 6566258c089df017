// SPDX-License-Identifier: GPL-2.0
/* io_uring: the ring as a file: poll, mmap, release */
/*
 * A ring is an anonymous file.  A program polls it for CQEs, and maps the memory that it shares
 * with the kernel.  The ring ends with the last reference to its file.
 *
 * Ordering: io_ring_poll() queues its caller, then checks the queues.  A commit publishes the
 * tail, then checks for pollers (D in ring/cq.c).  The option NO_POLL of
 * Documentation/io_uring/models/cq_weak.pml removes the barrier of io_ring_poll().
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/poll.h>

#include "ring/cq.h"
#include "ring/notify.h"
#include "ring/queues.h"
#include "ring/region.h"
#include "ring/sq.h"
#include "rsrc/groups.h"
#include "rsrc/memory.h"
#include "rsrc/zcrx.h"
#include "sys/fdinfo.h"
#include "sys/file.h"
#include "sys/loop.h"
#include "task/exit.h"
#include "task/run.h"

static __poll_t io_ring_poll(struct file *file, poll_table *wait)
{
	struct io_ring_ctx *ctx = file->private_data;
	__poll_t mask = 0;

	io_notify_activate(ctx);
	poll_wait(file, &ctx->notify.wait, wait);
	/* pairs with wq_has_sleeper() in io_notify_pollers(); model: NO_POLL */
	smp_mb();
	guard(rcu)();
	if (!io_sq_full(ctx))
		mask |= EPOLLOUT | EPOLLWRNORM;
	/* the next io_uring_enter() makes overflowed CQEs and mailbox items visible */
	if (io_cq_ready(ctx) || test_bit(IO_CHECK_CQ_OVERFLOW, &ctx->check_cq) ||
	    (ctx->cq.single_writer && io_local_pending(ctx)))
		mask |= EPOLLIN | EPOLLRDNORM;
	return mask;
}

static int io_ring_release(struct inode *inode, struct file *file)
{
	struct io_ring_ctx *ctx = file->private_data;

	file->private_data = NULL;
	io_loop_end(ctx);
	io_ring_kill(ctx);
	return 0;
}

/**
 * struct io_map - the memory that an mmap offset selects
 * @region: the memory, or NULL for none
 * @group: reference to the buffer group that it belongs to, which may be unregistered at any time
 * @queues: reference to the queues that it belongs to, which may be replaced at any time
 * @part: a mapping may be smaller: programs that do not know IORING_FEAT_SINGLE_MMAP map the index
 *	array and the CQEs one after the other, each with the shared words before them
 */
struct io_map {
	struct io_mapped_region	*region;
	struct io_buf_group	*group;
	struct io_queues	*queues;
	bool			part;
};

/*
 * Find the region that an mmap offset selects.  Other bits of the offset are ignored: each mapping
 * starts at the region's start.  The caller calls io_map_put().
 */
static void io_map_get(struct io_ring_ctx *ctx, u64 offset, struct io_map *map)
{
	u64 what = offset & IORING_OFF_MMAP_MASK;

	*map = (struct io_map) { };
	if (what == IORING_OFF_PBUF_RING) {
		map->group = io_group_get(ctx, (offset ^ what) >> IORING_OFF_PBUF_SHIFT);
		if (map->group)
			map->region = &map->group->region;
	} else if (what == IO_OFF_MEMORY) {
		struct io_memory *memory = io_memory_get(ctx);

		if (memory)
			map->region = &memory->region;
	} else if (what == IORING_OFF_SQES) {
		map->queues = io_queues_get(ctx);
		map->region = &map->queues->sqe_region;
	} else if (what == IORING_OFF_SQ_RING || what == IORING_OFF_CQ_RING) {
		map->queues = io_queues_get(ctx);
		map->region = &map->queues->ring_region;
		map->part = true;
	} else if (what == IO_OFF_ZCRX) {
		map->region = io_zcrx_region(ctx, (offset ^ what) >> IO_OFF_ZCRX_SHIFT);
	}
}

static void io_map_put(struct io_map *map)
{
	io_group_put(map->group);
	io_queues_put(map->queues);
}

static int io_ring_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct io_map map;
	int ret = -EINVAL;

	io_map_get(file->private_data, (u64)vma->vm_pgoff << PAGE_SHIFT, &map);
	if (map.region)
		ret = io_region_mmap(map.region, vma, map.part);
	io_map_put(&map);
	return ret;
}

static unsigned long io_ring_get_unmapped_area(struct file *file, unsigned long addr,
					       unsigned long len, unsigned long pgoff,
					       unsigned long flags)
{
	struct io_map map;
	void *ptr = NULL;

	/* the kernel's mapping may determine the cache colour, so accept no address hint */
	if (addr)
		return -EINVAL;
	io_map_get(file->private_data, (u64)pgoff << PAGE_SHIFT, &map);
	if (map.region && !map.region->user)
		ptr = map.region->ptr;
	io_map_put(&map);
	if (!ptr)
		return -EINVAL;
#ifdef SHM_COLOUR
	addr = (unsigned long)ptr;
	pgoff = addr >> PAGE_SHIFT;
#endif
	return mm_get_unmapped_area(NULL, addr, len, pgoff, flags | MAP_SHARED);
}

const struct file_operations io_ring_fops = {
	.release		= io_ring_release,
	.mmap			= io_ring_mmap,
	.get_unmapped_area	= io_ring_get_unmapped_area,
	.poll			= io_ring_poll,
#ifdef CONFIG_PROC_FS
	.show_fdinfo		= io_uring_show_fdinfo,
#endif
};

/**
 * io_is_uring_fops - check whether a file is a ring
 * @file: any open file
 *
 * Return: true if io_uring_setup(2) has created the file
 */
bool io_is_uring_fops(struct file *file)
{
	return file->f_op == &io_ring_fops;
}

/**
 * io_ring_open_file - open the file of a new ring
 * @ctx: the ring; on success the file owns the ring
 *
 * Return: the file or ERR_PTR()
 */
struct file *io_ring_open_file(struct io_ring_ctx *ctx)
{
	return anon_inode_create_getfile("[io_uring]", &io_ring_fops, ctx, O_RDWR | O_CLOEXEC,
					 NULL);
}
