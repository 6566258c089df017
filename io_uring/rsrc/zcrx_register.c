// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_REGISTER_ZCRX_IFQ, ZCRX_CTRL - register and control queues for RECV_ZC */

/*
 * ctx->zcrxs has the queues of a ring, which stay until the end of the ring.  The table changes
 * under the ring lock.  mmap() reads it without that lock.
 *
 * A program can pass a queue to another ring, also of another process, as a file: this is
 * ZCRX_CTRL_EXPORT and ZCRX_REG_IMPORT.  Any of the rings may end first.  Only the ring that has
 * made the queue gets CQEs for events.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/uaccess.h>

#include "ring/locks.h"
#include "rsrc/memory.h"
#include "rsrc/zcrx.h"

/* most entries of a refill ring */
#define IO_ZCRX_ENTRIES	32768

/**
 * struct io_zcrx_args - arguments of IORING_REGISTER_ZCRX_IFQ
 * @reg: the struct that the call got
 * @desc: what @reg.region_ptr points to
 * @area: what @reg.area_ptr points to
 * @event: what @reg.event_desc points to, or zeroes
 */
struct io_zcrx_args {
	struct io_uring_zcrx_ifq_reg	reg;
	struct io_uring_region_desc	desc;
	struct io_uring_zcrx_area_reg	area;
	struct zcrx_event_desc		event;
};

static int io_zcrx_file_release(struct inode *inode, struct file *file)
{
	io_zcrx_put(file->private_data);
	return 0;
}

static const struct file_operations io_zcrx_fops = {
	.owner		= THIS_MODULE,
	.release	= io_zcrx_file_release,
};

/* Set the offsets of the words and entries in the region of the refill ring. */
static void io_zcrx_tell_offsets(struct io_uring_zcrx_ifq_reg *reg)
{
	reg->offsets = (struct io_uring_zcrx_offsets){
		.head	= offsetof(struct io_zcrx_refill, head),
		.tail	= offsetof(struct io_zcrx_refill, tail),
		.rqes	= offsetof(struct io_zcrx_refill, rqes),
	};
}

static_assert(!((u64)(IO_ZCRX_MAX - 1) << IO_OFF_ZCRX_SHIFT & IORING_OFF_MMAP_MASK));

/* Reserve a number of a queue: io_zcrx_find() finds no queue there yet. */
static int io_zcrx_reserve(struct io_ring_ctx *ctx, u32 *id)
{
	return xa_alloc(&ctx->zcrxs, id, NULL, XA_LIMIT(0, IO_ZCRX_MAX - 1), GFP_KERNEL_ACCOUNT);
}

/* Put a queue at its reserved number. */
static void io_zcrx_publish(struct io_ring_ctx *ctx, u32 id, struct io_zcrx *zcrx)
{
	xa_store(&ctx->zcrxs, id, zcrx, GFP_KERNEL_ACCOUNT);
}

/* Check the entries of the refill ring, and round their number up.  Return: 0 or -EINVAL. */
static int io_zcrx_check_entries(struct io_uring_zcrx_ifq_reg *reg)
{
	if (!reg->rq_entries || reg->rq_entries > IO_ZCRX_ENTRIES)
		return -EINVAL;
	reg->rq_entries = roundup_pow_of_two(reg->rq_entries);
	return 0;
}

static int io_zcrx_check_event(const struct zcrx_event_desc *event)
{
	if (event->flags & ~IO_ZCRX_DESC_FLAGS ||
	    event->type_mask & ~IO_ZCRX_EVENTS ||
	    memchr_inv(event->__resv2, 0, sizeof(event->__resv2)))
		return -EINVAL;
	return !(event->flags & ZCRX_EVENT_DESC_FLAG_STATS) && event->stats_offset ? -EINVAL : 0;
}

/* Copy the structs that @args->reg points to, and check what needs no memory. */
static int io_zcrx_read_args(struct io_zcrx_args *args)
{
	struct io_uring_zcrx_ifq_reg *reg = &args->reg;
	int ret;

	if (copy_from_user(&args->desc, u64_to_user_ptr(reg->region_ptr), sizeof(args->desc)))
		return -EFAULT;
	if (reg->flags & ZCRX_REG_NODEV ? reg->if_idx || reg->if_rxq : reg->if_rxq == U32_MAX)
		return -EINVAL;
	ret = io_zcrx_check_entries(reg);
	if (ret)
		return ret;
	if (copy_from_user(&args->area, u64_to_user_ptr(reg->area_ptr), sizeof(args->area)))
		return -EFAULT;
	if (!reg->event_desc)
		return 0;
	if (copy_from_user(&args->event, u64_to_user_ptr(reg->event_desc), sizeof(args->event)))
		return -EFAULT;
	return io_zcrx_check_event(&args->event);
}

/* Set up the refill ring of a queue.  Return: 0 or a negative errno. */
static int io_zcrx_make_refill(struct io_ring_ctx *ctx, struct io_zcrx *zcrx,
			       const struct io_zcrx_args *args)
{
	size_t used = struct_size_t(struct io_zcrx_refill, rqes, args->reg.rq_entries);
	struct io_memory *memory = io_memory_create(ctx, &args->desc);
	const struct zcrx_event_desc *event = &args->event;
	struct io_zcrx_refill *refill;
	size_t size;

	if (IS_ERR(memory))
		return PTR_ERR(memory);
	zcrx->memory = memory;
	zcrx->entries = args->reg.rq_entries;
	size = (size_t)memory->region.nr_pages << PAGE_SHIFT;
	if (size < used)
		return -EINVAL;
	refill = memory->region.ptr;
	memset(refill, 0, sizeof(*refill));
	if (!(event->flags & ZCRX_EVENT_DESC_FLAG_STATS))
		return 0;
	if (event->stats_offset % __alignof__(*zcrx->stats))
		return -EINVAL;
	if (event->stats_offset < used || event->stats_offset > size - sizeof(*zcrx->stats))
		return -ERANGE;
	zcrx->stats = memory->region.ptr + event->stats_offset;
	memset(zcrx->stats, 0, sizeof(*zcrx->stats));
	return 0;
}

/* Set the size of chunks.  Without a device only that of a page is possible. */
static int io_zcrx_set_buf_len(struct io_zcrx *zcrx, struct io_uring_zcrx_ifq_reg *reg)
{
	u32 len = reg->rx_buf_len ?: PAGE_SIZE;

	if (!is_power_of_2(len) || len < PAGE_SIZE)
		return -EINVAL;
	if (len > PAGE_SIZE && reg->flags & ZCRX_REG_NODEV)
		return -EOPNOTSUPP;
	zcrx->shift = ilog2(len);
	reg->rx_buf_len = len;
	return 0;
}

/* Tell the program the numbers and offsets of a new queue.  Return: 0 or -EFAULT. */
static int io_zcrx_tell(struct io_zcrx_args *args, void __user *arg)
{
	const struct io_uring_zcrx_ifq_reg *reg = &args->reg;

	io_zcrx_tell_offsets(&args->reg);
	if (copy_to_user(arg, reg, sizeof(*reg)) ||
	    copy_to_user(u64_to_user_ptr(reg->region_ptr), &args->desc, sizeof(args->desc)) ||
	    copy_to_user(u64_to_user_ptr(reg->area_ptr), &args->area, sizeof(args->area)))
		return -EFAULT;
	return 0;
}

/* Give the queue its first area, its device and its number in the ring. */
static int io_zcrx_complete(struct io_ring_ctx *ctx, struct io_zcrx *zcrx,
			    struct io_zcrx_args *args, void __user *arg)
{
	struct io_zcrx_area *area = io_zcrx_area_make(ctx, zcrx, &args->area);
	u32 id;
	int ret;

	if (IS_ERR(area))
		return PTR_ERR(area);
	args->area.rq_area_token = area->offset;
	ret = 0;
	if (!(args->reg.flags & ZCRX_REG_NODEV))
		ret = io_zcrx_device_find(zcrx, args->reg.if_idx, args->reg.if_rxq);
	if (!ret)
		ret = io_zcrx_area_add(zcrx, area);
	if (ret) {
		io_zcrx_area_drop(zcrx, area);
		return ret;
	}
	if (zcrx->device)
		ret = io_zcrx_device_open(zcrx);
	if (ret)
		return ret;
	ret = io_zcrx_reserve(ctx, &id);
	if (ret)
		return ret;
	args->reg.zcrx_id = id;
	if (!zcrx->memory->region.user)
		args->desc.mmap_offset = IO_OFF_ZCRX + ((u64)id << IO_OFF_ZCRX_SHIFT);
	ret = io_zcrx_tell(args, arg);
	if (ret) {
		xa_erase(&ctx->zcrxs, id);
		return ret;
	}
	io_zcrx_publish(ctx, id, zcrx);
	/* from now on, it can report events */
	guard(spinlock_bh)(&zcrx->lock);
	zcrx->owner = ctx;
	return 0;
}

/* Make a queue with a refill ring and an area. */
static int io_zcrx_make(struct io_ring_ctx *ctx, struct io_zcrx_args *args, void __user *arg)
{
	struct io_zcrx *zcrx;
	int ret;

	ret = io_zcrx_read_args(args);
	if (ret)
		return ret;
	zcrx = io_zcrx_alloc();
	if (!zcrx)
		return -ENOMEM;
	/* copies need memory of the program */
	zcrx->dmabuf = args->area.flags & IORING_ZCRX_AREA_DMABUF &&
		       !(args->reg.flags & ZCRX_REG_NODEV);
	zcrx->user_data = args->event.user_data;
	zcrx->events = args->event.type_mask;
	zcrx->armed = zcrx->events;
	ret = io_zcrx_make_refill(ctx, zcrx, args);
	if (!ret && !(args->reg.flags & ZCRX_REG_NODEV))
		ret = io_zcrx_device_check(args->reg.if_idx, args->reg.if_rxq);
	if (!ret)
		ret = io_zcrx_set_buf_len(zcrx, &args->reg);
	if (!ret)
		ret = io_zcrx_complete(ctx, zcrx, args, arg);
	if (ret)
		io_zcrx_put(zcrx);
	return ret;
}

/* Get the queue of a file from ZCRX_CTRL_EXPORT, with a reference. */
static struct io_zcrx *io_zcrx_get_exported(unsigned int fd)
{
	CLASS(fd, f)(fd);
	struct io_zcrx *zcrx;

	if (!fd_file(f) || fd_file(f)->f_op != &io_zcrx_fops)
		return ERR_PTR(-EBADF);
	zcrx = fd_file(f)->private_data;
	refcount_inc(&zcrx->users);
	return zcrx;
}

/* Add the queue of another ring, or of the same one. */
static int io_zcrx_import(struct io_ring_ctx *ctx, struct io_uring_zcrx_ifq_reg *reg,
			  void __user *arg)
{
	struct io_zcrx *zcrx;
	u32 id;
	int ret;

	if (reg->flags != ZCRX_REG_IMPORT || reg->if_rxq || reg->rq_entries || reg->area_ptr ||
	    reg->region_ptr || reg->event_desc)
		return -EINVAL;
	zcrx = io_zcrx_get_exported(reg->if_idx);
	if (IS_ERR(zcrx))
		return PTR_ERR(zcrx);
	ret = io_zcrx_reserve(ctx, &id);
	if (ret)
		goto put;
	io_zcrx_tell_offsets(reg);
	reg->zcrx_id = id;
	if (copy_to_user(arg, reg, sizeof(*reg))) {
		ret = -EFAULT;
		xa_erase(&ctx->zcrxs, id);
		goto put;
	}
	io_zcrx_publish(ctx, id, zcrx);
	return 0;
put:
	io_zcrx_put(zcrx);
	return ret;
}

/**
 * io_zcrx_register - handle IORING_REGISTER_ZCRX_IFQ
 * @ctx: the ring, its lock held
 * @arg: user pointer to a struct io_uring_zcrx_ifq_reg
 *
 * The order of the checks is that of 7.3.
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: 0; -EPERM without CAP_NET_ADMIN; -EINVAL, also for a ring without DEFER_TASKRUN or large
 * CQEs; -EFAULT; -ERANGE for an offset of the counts beyond the region; -EBADF for a descriptor
 * that is no queue; or an error of io_memory_create(), io_zcrx_area_make(), io_zcrx_device_find()
 * or io_zcrx_device_open().  After an error the program has nothing.
 */
int io_zcrx_register(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_zcrx_args args = {};

	io_assert_ring(ctx);
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (!(ctx->flags & IORING_SETUP_DEFER_TASKRUN) || !io_zcrx_fits_cqe(ctx))
		return -EINVAL;
	if (copy_from_user(&args.reg, arg, sizeof(args.reg)))
		return -EFAULT;
	if (args.reg.zcrx_id || memchr_inv(args.reg.__resv, 0, sizeof(args.reg.__resv)) ||
	    args.reg.flags & ~IO_ZCRX_REG_FLAGS)
		return -EINVAL;
	if (args.reg.flags & ZCRX_REG_IMPORT)
		return io_zcrx_import(ctx, &args.reg, arg);
	return io_zcrx_make(ctx, &args, arg);
}

/* Handle ZCRX_CTRL_EXPORT: open a file that holds the queue. */
static int io_zcrx_export(struct io_zcrx *zcrx, struct zcrx_ctrl *ctrl, void __user *arg)
{
	struct file *file;
	int fd;

	if (memchr_inv(&ctrl->zc_export, 0, sizeof(ctrl->zc_export)))
		return -EINVAL;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = anon_inode_create_getfile("[zcrx]", &io_zcrx_fops, zcrx, O_CLOEXEC, NULL);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	refcount_inc(&zcrx->users);
	ctrl->zc_export.zcrx_fd = fd;
	if (copy_to_user(arg, ctrl, sizeof(*ctrl))) {
		put_unused_fd(fd);
		fput(file);
		return -EFAULT;
	}
	fd_install(fd, file);
	return 0;
}

/* Handle ZCRX_CTRL_ADD_AREA. */
static int io_zcrx_add_area(struct io_ring_ctx *ctx, struct io_zcrx *zcrx,
			    const struct zcrx_ctrl_add_area *add)
{
	void __user *arg = u64_to_user_ptr(add->area_ptr);
	struct io_uring_zcrx_area_reg reg;
	struct io_zcrx_area *area;
	int ret;

	if (copy_from_user(&reg, arg, sizeof(reg)))
		return -EFAULT;
	if (memchr_inv(add->__resv, 0, sizeof(add->__resv)))
		return -EINVAL;
	area = io_zcrx_area_make(ctx, zcrx, &reg);
	if (IS_ERR(area))
		return PTR_ERR(area);
	reg.rq_area_token = area->offset;
	if (copy_to_user(arg, &reg, sizeof(reg))) {
		io_zcrx_area_drop(zcrx, area);
		return -EFAULT;
	}
	ret = io_zcrx_area_add(zcrx, area);
	if (ret)
		io_zcrx_area_drop(zcrx, area);
	return ret;
}

/**
 * io_zcrx_ctrl - handle IORING_REGISTER_ZCRX_CTRL
 * @ctx: the ring, its lock held
 * @arg: user pointer to a struct zcrx_ctrl
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: 0; -EFAULT, also for reserved fields of struct zcrx_ctrl that are set, as on 7.3; -ENXIO
 * if there is no such queue; -EOPNOTSUPP for an unknown operation; -EINVAL for its reserved fields,
 * or an event that cannot be armed; -EMFILE, -ENFILE, -ENOMEM; or an error of io_zcrx_area_make()
 */
int io_zcrx_ctrl(struct io_ring_ctx *ctx, void __user *arg)
{
	struct zcrx_ctrl ctrl;
	struct io_zcrx *zcrx;

	io_assert_ring(ctx);
	if (copy_from_user(&ctrl, arg, sizeof(ctrl)) ||
	    memchr_inv(ctrl.__resv, 0, sizeof(ctrl.__resv)))
		return -EFAULT;
	zcrx = io_zcrx_find(ctx, ctrl.zcrx_id);
	if (!zcrx)
		return -ENXIO;
	switch (ctrl.op) {
	case ZCRX_CTRL_FLUSH_RQ:
		if (memchr_inv(&ctrl.zc_flush, 0, sizeof(ctrl.zc_flush)))
			return -EINVAL;
		io_zcrx_flush(zcrx);
		return 0;
	case ZCRX_CTRL_EXPORT:
		return io_zcrx_export(zcrx, &ctrl, arg);
	case ZCRX_CTRL_ARM_EVENT:
		if (memchr_inv(ctrl.zc_arm_event.__resv, 0, sizeof(ctrl.zc_arm_event.__resv)))
			return -EINVAL;
		return io_zcrx_arm(zcrx, ctrl.zc_arm_event.event_type);
	case ZCRX_CTRL_ADD_AREA:
		return io_zcrx_add_area(ctx, zcrx, &ctrl.zc_area);
	default:
		return -EOPNOTSUPP;
	}
}

/**
 * io_zcrx_region - find the region of a refill ring, for mmap()
 * @ctx: the ring; its lock need not be held
 * @id: number of the queue, from the program
 *
 * Return: the region, which stays until the end of the ring; NULL if there is none
 */
struct io_mapped_region *io_zcrx_region(struct io_ring_ctx *ctx, unsigned long id)
{
	struct io_zcrx *zcrx = io_zcrx_find(ctx, id);

	return zcrx ? &zcrx->memory->region : NULL;
}

/**
 * io_zcrx_free_all - drop the queues of a ring that is freed
 * @ctx: the ring; no request uses a queue of it any more
 *
 * Context: Task context.  May sleep.
 */
void io_zcrx_free_all(struct io_ring_ctx *ctx)
{
	struct io_zcrx *zcrx;
	unsigned long id;

	xa_for_each(&ctx->zcrxs, id, zcrx) {
		scoped_guard(spinlock_bh, &zcrx->lock)
			if (zcrx->owner == ctx) {
				zcrx->owner = NULL;
				WRITE_ONCE(zcrx->armed, 0);
			}
		io_zcrx_put(zcrx);
		cond_resched();
	}
	xa_destroy(&ctx->zcrxs);
}
