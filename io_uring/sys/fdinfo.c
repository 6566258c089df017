// SPDX-License-Identifier: GPL-2.0
/* io_uring: the state of a ring in /proc/PID/fdinfo */
/*
 * People read this file to find out why a program hangs.  So it must work in any state of the
 * ring, and must not delay the users of the ring:
 *
 * - A read does not wait for the ring lock, whose holder may sleep, e.g. in a page fault that the
 *   reader of this file has to handle.  Without the lock, the data that it protects is left
 *   out: the lists of files, buffers, personalities and polls, and on single-writer rings
 *   the overflow list.
 * - A program can make some lists very long.  No more than IO_SHOW_MOST files, personalities, polls
 *   and overflowed CQEs are shown, because their lines are formatted with a lock held.
 * - cq.lock of multi-writer rings is taken: its holders do not sleep.
 * - The words and entries of the two queues are shared with the program, and are read without
 *   a lock.  A reference keeps them in memory if a resize replaces them.  If values are wrong,
 *   still no more entries are shown than a queue has.
 * - The SQPOLL thread may end at any time; io_sq_stat() in task/sqpoll.c handles this.
 *
 * Programs parse the lines, so their order and format are fixed.  One difference from older kernels
 * is intended: pending SQEs are shown with IORING_SETUP_NO_SQARRAY, too.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/nospec.h>
#include <linux/seq_file.h>
#include <linux/task_work.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include "req/wait_table.h"
#include "ring/cq.h"
#include "ring/locks.h"
#include "ring/queues.h"
#include "rsrc/bufs.h"
#include "rsrc/files.h"
#include "sys/fdinfo.h"
#include "task/sqpoll.h"

/* most overflowed CQEs, polls, files, personalities, and groups of a personality that are shown */
#define IO_SHOW_MOST	256

/* Show a pending SQE.  Return: true if it has a second slot. */
static bool io_show_sqe(struct seq_file *m, struct io_ring_ctx *ctx,
			const struct io_queues *queues, u32 index)
{
	const struct io_uring_sqe *sqe = &queues->sqes[index << ctx->sq.shift];
	/* the program may write to the SQE at the same time */
	u8 opcode = READ_ONCE(sqe->opcode);
	bool mixed = ctx->flags & IORING_SETUP_SQE_MIXED && io_ops[opcode]->sqe128 &&
		     index < queues->sq_entries - 1;
	bool big = ctx->sq.shift || mixed;
	const u64 *extra = (const u64 *)(sqe + 1);
	unsigned int i;

	seq_printf(m, "%5u: opcode:%s, fd:%d, flags:%x, off:%llu, addr:0x%llx, rw_flags:0x%x, buf_index:%d user_data:%llu",
		   index, io_uring_get_opcode(opcode), READ_ONCE(sqe->fd),
		   READ_ONCE(sqe->flags), READ_ONCE(sqe->off), READ_ONCE(sqe->addr),
		   READ_ONCE(sqe->rw_flags), READ_ONCE(sqe->buf_index),
		   READ_ONCE(sqe->user_data));
	for (i = 0; big && i < sizeof(*sqe) / sizeof(*extra); i++)
		seq_printf(m, ", e%u:0x%llx", i, READ_ONCE(extra[i]));
	seq_putc(m, '\n');
	return mixed;
}

static void io_show_sqes(struct seq_file *m, struct io_ring_ctx *ctx,
			 const struct io_queues *queues, u32 head, u32 tail)
{
	u32 nr = min(tail - head, queues->sq_entries);
	u32 mask = queues->sq_entries - 1;
	u32 index, i;

	seq_printf(m, "SQEs:\t%u\n", tail - head);
	for (i = 0; i < nr && !seq_has_overflowed(m); i++) {
		index = (head + i) & mask;
		if (queues->array)
			index = READ_ONCE(queues->array[index]);
		if (index < queues->sq_entries)
			i += io_show_sqe(m, ctx, queues,
					 array_index_nospec(index, queues->sq_entries));
	}
}

static void io_show_cqes(struct seq_file *m, struct io_ring_ctx *ctx,
			 const struct io_queues *queues, u32 head, u32 tail)
{
	u32 nr = min(tail - head, queues->cq_entries);
	u32 mask = queues->cq_entries - 1;
	bool large = ctx->flags & IORING_SETUP_CQE32;
	u32 i, slots;

	seq_printf(m, "CQEs:\t%u\n", tail - head);
	for (i = 0; i < nr && !seq_has_overflowed(m); i += slots) {
		u32 slot = (head + i) & mask;
		const struct io_uring_cqe *cqe = &queues->rings->cqes[slot << large];

		slots = io_cq_slots_at(ctx, queues, slot);
		seq_printf(m, "%5u: user_data:%llu, res:%d, flags:%x", slot,
			   READ_ONCE(cqe->user_data), READ_ONCE(cqe->res), READ_ONCE(cqe->flags));
		if (large || slots == 2)
			seq_printf(m, ", extra1:%llu, extra2:%llu",
				   READ_ONCE(cqe->big_cqe[0]), READ_ONCE(cqe->big_cqe[1]));
		seq_putc(m, '\n');
	}
}

/* Show the heads and tails of both queues: the shared words, and the kernel's copies. */
static void io_show_queues(struct seq_file *m, struct io_ring_ctx *ctx)
{
	struct io_queues *queues = io_queues_get(ctx);
	const struct io_rings *rings = queues->rings;
	u32 sq_head = READ_ONCE(rings->sq_head);
	u32 sq_tail = READ_ONCE(rings->sq_tail);
	u32 cq_head = READ_ONCE(rings->cq_head);
	u32 cq_tail = READ_ONCE(rings->cq_tail);

	seq_printf(m, "SqMask:\t0x%x\n", queues->sq_entries - 1);
	seq_printf(m, "SqHead:\t%u\n", sq_head);
	seq_printf(m, "SqTail:\t%u\n", sq_tail);
	/* this value is a snapshot, because the ring lock is not held */
	seq_printf(m, "CachedSqHead:\t%u\n", data_race(ctx->sq.head));
	seq_printf(m, "CqMask:\t0x%x\n", queues->cq_entries - 1);
	seq_printf(m, "CqHead:\t%u\n", cq_head);
	seq_printf(m, "CqTail:\t%u\n", cq_tail);
	/* this value is a snapshot, too */
	seq_printf(m, "CachedCqTail:\t%u\n", data_race(ctx->cq.tail));
	io_show_sqes(m, ctx, queues, sq_head, sq_tail);
	io_show_cqes(m, ctx, queues, cq_head, cq_tail);
	io_queues_put(queues);
}

static void io_show_sq_thread(struct seq_file *m, struct io_ring_ctx *ctx)
{
	struct io_sq_stat stat;

	if (!io_sq_stat(ctx, &stat))
		stat = (struct io_sq_stat) { .pid = -1, .cpu = -1 };
	seq_printf(m, "SqThread:\t%d\n", stat.pid);
	seq_printf(m, "SqThreadCpu:\t%d\n", stat.cpu);
	seq_printf(m, "SqTotalTime:\t%llu\n", stat.total_us);
	seq_printf(m, "SqWorkTime:\t%llu\n", stat.work_us);
}

static void io_show_files(struct seq_file *m, struct io_ring_ctx *ctx, bool locked)
{
	struct io_rsrc_table *table = &ctx->file_table.data;
	unsigned int nr = READ_ONCE(table->nr);
	unsigned int i;

	seq_printf(m, "UserFiles:\t%u\n", nr);
	nr = min(nr, IO_SHOW_MOST);
	for (i = 0; locked && i < nr && !seq_has_overflowed(m); i++) {
		struct io_rsrc_node *node = io_rsrc_find(table, i);

		cond_resched();
		seq_printf(m, "%5u: ", i);
		if (node)
			seq_file_path(m, io_file_node(node)->file, " \t\n\\");
		else
			seq_puts(m, "<none>");
		seq_putc(m, '\n');
	}
}

static void io_show_bufs(struct seq_file *m, struct io_ring_ctx *ctx, bool locked)
{
	struct io_rsrc_table *table = &ctx->buf_table;
	unsigned int nr = READ_ONCE(table->nr);
	unsigned int i;

	seq_printf(m, "UserBufs:\t%u\n", nr);
	for (i = 0; locked && i < nr && !seq_has_overflowed(m); i++) {
		struct io_rsrc_node *node = io_rsrc_find(table, i);
		const struct io_buf_node *buf = node ? io_buf_node(node) : NULL;
		/* an empty slot is shown by values that no buffer can have */
		u64 ubuf = buf ? buf->ubuf : U64_MAX;
		u32 len = buf ? max(buf->len[ITER_DEST], buf->len[ITER_SOURCE]) : U32_MAX;

		cond_resched();
		seq_printf(m, "%5u: 0x%llx/%u\n", i, ubuf, len);
	}
}

/* Show credentials, with ids of the reader's user namespace. */
static void io_show_cred(struct seq_file *m, const struct cred *cred)
{
	struct user_namespace *ns = seq_user_ns(m);
	const struct group_info *groups = cred->group_info;
	int i;

	seq_printf(m, "\tUid:\t%u\t\t%u\t\t%u\t\t%u\n",
		   from_kuid_munged(ns, cred->uid), from_kuid_munged(ns, cred->euid),
		   from_kuid_munged(ns, cred->suid), from_kuid_munged(ns, cred->fsuid));
	seq_printf(m, "\tGid:\t%u\t\t%u\t\t%u\t\t%u\n",
		   from_kgid_munged(ns, cred->gid), from_kgid_munged(ns, cred->egid),
		   from_kgid_munged(ns, cred->sgid), from_kgid_munged(ns, cred->fsgid));
	seq_puts(m, "\tGroups:\t");
	for (i = 0; i < min(groups->ngroups, IO_SHOW_MOST) && !seq_has_overflowed(m); i++)
		seq_printf(m, "%s%u", i ? " " : "", from_kgid_munged(ns, groups->gid[i]));
	seq_printf(m, "\n\tCapEff:\t%016llx\n", cred->cap_effective.val);
}

static void io_show_personalities(struct seq_file *m, struct io_ring_ctx *ctx)
{
	const struct cred *cred;
	unsigned int nr = 0;
	unsigned long id;

	io_assert_ring(ctx);
	if (xa_empty(&ctx->creds.personalities))
		return;
	seq_puts(m, "Personalities:\n");
	xa_for_each(&ctx->creds.personalities, id, cred) {
		if (seq_has_overflowed(m) || nr++ == IO_SHOW_MOST)
			return;
		cond_resched();
		seq_printf(m, "%5lu\n", id);
		io_show_cred(m, cred);
	}
}

/* Show requests that wait for their file: POLL_ADD and retries of other ops. */
static void io_show_polls(struct seq_file *m, struct io_ring_ctx *ctx, bool locked)
{
	struct io_kiocb *req, *tmp;
	struct list_head *bucket;
	unsigned int nr = 0;

	seq_puts(m, "PollList:\n");
	if (!locked)
		return;
	io_for_each_waiting(ctx, bucket, tmp, req) {
		/* requests that are not shown may be many */
		if (seq_has_overflowed(m) || nr == IO_SHOW_MOST || !io_wait_table_walk(ctx))
			return;
		if (req->opcode != IORING_OP_POLL_ADD && !(req->flags & REQ_F_POLLED))
			continue;
		nr++;
		seq_printf(m, "  op=%d, task_works=%d\n", req->opcode,
			   task_work_pending(req->tctx->task));
	}
}

/* Show the first CQEs for which the program has not made room. */
static void io_show_overflow(struct seq_file *m, struct io_ring_ctx *ctx)
{
	const struct io_tw *tw = ctx->cq.overflow;
	unsigned int nr;

	for (nr = 0; tw && nr < IO_SHOW_MOST && !seq_has_overflowed(m); nr++) {
		const struct io_cqe_entry *entry = container_of(tw, struct io_cqe_entry, tw);

		seq_printf(m, "  user_data=%llu, res=%d, flags=%x\n",
			   entry->val.user_data, entry->val.res, entry->val.flags);
		tw = tw->next;
	}
}

static void io_show_overflow_list(struct seq_file *m, struct io_ring_ctx *ctx, bool locked)
{
	seq_puts(m, "CqOverflowList:\n");
	if (ctx->cq.single_writer) {
		if (locked)
			io_show_overflow(m, ctx);
		return;
	}
	spin_lock(&ctx->cq.lock);
	io_show_overflow(m, ctx);
	spin_unlock(&ctx->cq.lock);
}

static void io_show_napi(struct seq_file *m, const struct io_napi *napi)
{
	/* these values are a snapshot, because the ring lock need not be held */
	if (!data_race(napi->enabled)) {
		seq_puts(m, "NAPI:\tdisabled\n");
		return;
	}
	seq_puts(m, "NAPI:\tenabled\n");
	/* such a value, too */
	seq_printf(m, "napi tracking:\t%s\n", data_race(napi->learns) ? "dynamic" : "static");
	/* show nanoseconds, as older kernels do */
	seq_printf(m, "napi_busy_poll_dt:\t%llu\n", READ_ONCE(napi->time_us) * 1000ULL);
	seq_printf(m, "napi_prefer_busy_poll:\t%s\n",
		   READ_ONCE(napi->prefer) ? "true" : "false");
}

void io_uring_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct io_ring_ctx *ctx = file->private_data;
	bool locked;

	io_show_queues(m, ctx);
	io_show_sq_thread(m, ctx);
	locked = io_ring_trylock(ctx);
	io_show_files(m, ctx, locked);
	io_show_bufs(m, ctx, locked);
	if (locked)
		io_show_personalities(m, ctx);
	io_show_polls(m, ctx, locked);
	io_show_overflow_list(m, ctx, locked);
	if (locked)
		io_ring_unlock(ctx);
	io_show_napi(m, &ctx->napi);
}
