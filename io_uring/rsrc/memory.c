// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_REGISTER_MEM_REGION - memory for the arguments of waits */

/*
 * A ring can have one region besides its queues.  The program writes arguments of waits there, and
 * io_uring_enter() reads them without the cost and the errors of a copy from user space.
 *
 * The region is registered under the ring lock.  io_uring_enter() and mmap() use it without that
 * lock, whose holder may sleep for a long time.  So a region is complete when ctx->memory is set,
 * and does not change until the ring is freed.  That happens after the last reference to the
 * ring's file is gone, and each user of the region has such a reference.
 *
 * All pages are charged to RLIMIT_MEMLOCK before they are allocated or pinned.  The queues of
 * rsrc/zcrx_register.c have regions of this kind, too.
 */
#include <linux/mm.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ring/locks.h"
#include "ring/region.h"
#include "rsrc/account.h"
#include "rsrc/memory.h"

/* Check a request for a region.  Return: 0 or a negative errno. */
static int io_memory_check(const struct io_ring_ctx *ctx, const struct io_uring_mem_region_reg *reg)
{
	if (reg->flags & ~IORING_MEM_REGION_REG_WAIT_ARG ||
	    memchr_inv(reg->__resv, 0, sizeof(reg->__resv)))
		return -EINVAL;
	/* a wait of an enabled ring might begin while the region is registered */
	if (reg->flags & IORING_MEM_REGION_REG_WAIT_ARG && !ctx->stops.disabled)
		return -EINVAL;
	return 0;
}

/* Check the description of a region.  Return: 0 or a negative errno. */
static int io_memory_check_desc(const struct io_uring_region_desc *desc)
{
	bool user = desc->flags & IORING_MEM_REGION_TYPE_USER;

	if (desc->flags & ~IORING_MEM_REGION_TYPE_USER || desc->id || desc->mmap_offset ||
	    memchr_inv(desc->__resv, 0, sizeof(desc->__resv)))
		return -EINVAL;
	if (user != !!desc->user_addr)
		return -EFAULT;
	if (!desc->size || !PAGE_ALIGNED(desc->size) || !PAGE_ALIGNED(desc->user_addr))
		return -EINVAL;
	if (desc->size >> PAGE_SHIFT > INT_MAX)
		return -E2BIG;
	if (desc->size >> PAGE_SHIFT > IO_MEMORY_PAGES)
		return user ? -EOVERFLOW : -ENOMEM;
	return 0;
}

/**
 * io_memory_destroy - unpin or free a region, and drop its charge
 * @memory: from io_memory_create(), or NULL
 *
 * Context: Task context.  May sleep.
 */
void io_memory_destroy(struct io_memory *memory)
{
	if (!memory)
		return;
	if (memory->region.ptr && memory->user)
		atomic_long_sub(memory->region.nr_pages, &memory->user->locked_vm);
	io_region_free(&memory->region);
	free_uid(memory->user);
	kfree(memory);
}

/**
 * io_memory_create - make a region
 * @ctx: the ring, whose user is charged
 * @desc: the region, from the program
 *
 * Context: Task context.  May sleep.
 *
 * Return: the region, which may outlive the ring; or an ERR_PTR(): -EINVAL; -EFAULT; -E2BIG or
 * -EOVERFLOW for a size that is too large; -ENOMEM, also if the charge would exceed RLIMIT_MEMLOCK,
 * or if current was killed
 */
struct io_memory *io_memory_create(struct io_ring_ctx *ctx,
				   const struct io_uring_region_desc *desc)
{
	struct io_memory *memory;
	unsigned long pages;
	int ret;

	ret = io_memory_check_desc(desc);
	if (ret)
		return ERR_PTR(ret);
	/* as for the pages: no task is killed if the cgroup has no room */
	memory = kzalloc_obj(*memory, GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	pages = desc->size >> PAGE_SHIFT;
	if (ctx->account.user) {
		memory->user = get_uid(ctx->account.user);
		ret = io_user_charge(memory->user, pages);
	}
	if (ret)
		goto destroy;
	if (desc->flags & IORING_MEM_REGION_TYPE_USER)
		ret = io_region_pin(&memory->region, desc->user_addr, desc->size);
	else
		ret = io_region_alloc(&memory->region, desc->size);
	if (!ret)
		return memory;
	if (memory->user)
		atomic_long_sub(pages, &memory->user->locked_vm);
destroy:
	io_memory_destroy(memory);
	return ERR_PTR(ret);
}

/**
 * io_memory_register - handle IORING_REGISTER_MEM_REGION
 * @ctx: the ring, its lock held
 * @arg: user pointer to a struct io_uring_mem_region_reg
 *
 * Context: Task context.  Holds the ring lock.  May sleep.
 *
 * Return: 0; -EBUSY if the ring has a region already; -EINVAL; -EFAULT; -E2BIG or -EOVERFLOW for a
 * size that is too large; -ENOMEM, also if the charge would exceed RLIMIT_MEMLOCK, or if current
 * was killed.
 */
int io_memory_register(struct io_ring_ctx *ctx, void __user *arg)
{
	struct io_uring_mem_region_reg reg;
	struct io_uring_region_desc desc;
	struct io_memory *memory;
	void __user *descp;
	int ret;

	io_assert_ring(ctx);
	if (ctx->memory)
		return -EBUSY;
	if (copy_from_user(&reg, arg, sizeof(reg)))
		return -EFAULT;
	descp = u64_to_user_ptr(reg.region_uptr);
	if (copy_from_user(&desc, descp, sizeof(desc)))
		return -EFAULT;
	ret = io_memory_check(ctx, &reg);
	if (ret)
		return ret;
	memory = io_memory_create(ctx, &desc);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	memory->wait_args = reg.flags & IORING_MEM_REGION_REG_WAIT_ARG;
	if (!memory->region.user)
		desc.mmap_offset = IO_OFF_MEMORY;
	if (copy_to_user(descp, &desc, sizeof(desc))) {
		io_memory_destroy(memory);
		return -EFAULT;
	}
	/* pairs with io_memory_get() */
	smp_store_release(&ctx->memory, memory);
	return 0;
}

/**
 * io_memory_free - free the region of a ring that is freed
 * @ctx: the ring
 *
 * Mappings of the region keep their pages.
 */
void io_memory_free(struct io_ring_ctx *ctx)
{
	io_memory_destroy(ctx->memory);
}
