// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: the rows, and what each does in its measured region */

/*
 * A row is one shape of work, repeated: a number of operations a round, and of
 * rounds a region.  All that is constant (files, buffers, rings) is made before
 * the region; inside it stand the system calls alone and the filling and
 * emptying of the rings.  Each result is checked, so a row that does not do its
 * work fails instead of being fast.
 */

#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/time_types.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench.h"

static void fill_sqe(struct bench *b, struct io_uring_sqe *sqe, unsigned int i)
{
	static struct iovec vec[MAX_BATCH][8];
	const struct row *row = b->row;
	unsigned int k, nr;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = row->opcode;
	sqe->user_data = i;
	if (row->flags & ROW_ASYNC)
		sqe->flags |= IOSQE_ASYNC;
	if (row->flags & ROW_LINK && i + 1 < row->batch)
		sqe->flags |= IOSQE_IO_LINK;
	if (row->opcode == IORING_OP_NOP)
		return;
	sqe->fd = b->fd;
	if (row->flags & ROW_FIXED_FILE) {
		sqe->fd = 0;
		sqe->flags |= IOSQE_FIXED_FILE;
	}
	sqe->off = next_offset(b);
	sqe->addr = (uintptr_t)b->buf + i * BLOCK;
	sqe->len = row->len;
	if (row->flags & ROW_FIXED_BUF)
		sqe->buf_index = i;
	if (row->flags & ROW_VECTOR) {
		nr = row->bytes ? row->len / row->bytes : 1;
		for (k = 0; k < nr; k++)
			vec[i][k] = (struct iovec){
				b->buf + i * BLOCK + k * row->len / nr, row->len / nr,
			};
		sqe->addr = (uintptr_t)vec[i];
		sqe->len = nr;
	}
}

/* Take @want completions, waiting for those that the submission did not bring. */
static int reap(struct bench *b, unsigned int want)
{
	struct ring *ring = &b->ring;
	unsigned int head = *ring->cq_head;
	unsigned int got = 0;

	for (;;) {
		unsigned int tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
		int ret;

		for (; head != tail; head++, got++) {
			int res = ring_cqe(ring, head)->res;

			if (res != (int)b->row->len)
				return res < 0 ? res : -EIO;
		}
		__atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
		if (got >= want)
			return got == want ? 0 : -EOVERFLOW;
		ret = ring_enter(ring, 0, want - got, IORING_ENTER_GETEVENTS, NULL, 0);
		if (ret < 0)
			return ret;
	}
}

static int run_ring(struct bench *b, unsigned int rounds)
{
	struct ring *ring = &b->ring;
	unsigned int batch = b->row->batch;
	unsigned int tail = *ring->sq_tail;

	while (rounds--) {
		unsigned int i;
		int ret;

		for (i = 0; i < batch; i++)
			fill_sqe(b, &ring->sqes[tail++ & ring->sq_mask], i);
		__atomic_store_n(ring->sq_tail, tail, __ATOMIC_RELEASE);
		ret = ring_enter(ring, batch, batch, IORING_ENTER_GETEVENTS, NULL, 0);
		if (ret != (int)batch)
			return ret < 0 ? ret : -EIO;
		ret = reap(b, batch);
		if (ret)
			return ret;
	}
	return 0;
}

/* Wait for one event while one is there: nothing to submit, nothing to sleep for. */
static int run_wait_ready(struct bench *b, unsigned int rounds)
{
	struct ring *ring = &b->ring;
	unsigned int tail = *ring->sq_tail;
	int ret;

	if (*ring->cq_head == __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE)) {
		fill_sqe(b, &ring->sqes[tail & ring->sq_mask], 0);
		__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
		ret = ring_enter(ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		if (ret != 1)
			return ret < 0 ? ret : -EIO;
	}
	while (rounds--) {
		ret = ring_enter(ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		if (ret)
			return ret;
	}
	return 0;
}

/* Wait for an event that never comes, 10 us at a time. */
static int run_wait_timeout(struct bench *b, unsigned int rounds)
{
	struct __kernel_timespec ts = { .tv_nsec = 10000 };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };

	while (rounds--) {
		int ret = ring_enter(&b->ring, 0, 1,
				     IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
				     &arg, sizeof(arg));

		if (ret != -ETIME)
			return ret < 0 ? ret : -EIO;
	}
	return 0;
}

static int run_getppid(struct bench *b, unsigned int rounds)
{
	(void)b;
	while (rounds--)
		syscall(__NR_getppid);
	return 0;
}

static int run_sync(struct bench *b, unsigned int rounds)
{
	const struct row *row = b->row;
	struct iovec vec = { b->buf, row->len };

	while (rounds--) {
		__u64 off = next_offset(b);
		long ret;

		if (row->flags & ROW_HIPRI)
			ret = syscall(__NR_preadv2, b->fd, &vec, 1, off, 0, RWF_HIPRI);
		else if (row->flags & ROW_WRITE)
			ret = syscall(__NR_pwrite64, b->fd, b->buf, row->len, off);
		else
			ret = syscall(__NR_pread64, b->fd, b->buf, row->len, off);
		if (ret != (long)row->len)
			return ret < 0 ? -errno : -EIO;
	}
	return 0;
}

static int run_libaio(struct bench *b, unsigned int rounds)
{
	static struct iocb iocbs[MAX_BATCH], *list[MAX_BATCH];
	static struct io_event events[MAX_BATCH];
	const struct row *row = b->row;

	while (rounds--) {
		unsigned int i;
		long ret;

		for (i = 0; i < row->batch; i++) {
			memset(&iocbs[i], 0, sizeof(iocbs[i]));
			iocbs[i].aio_lio_opcode = row->flags & ROW_WRITE ? IOCB_CMD_PWRITE :
									   IOCB_CMD_PREAD;
			iocbs[i].aio_fildes = b->fd;
			iocbs[i].aio_buf = (uintptr_t)b->buf + i * BLOCK;
			iocbs[i].aio_nbytes = row->len;
			iocbs[i].aio_offset = next_offset(b);
			list[i] = &iocbs[i];
		}
		ret = syscall(__NR_io_submit, b->aio, row->batch, list);
		if (ret != (long)row->batch)
			return ret < 0 ? -errno : -EIO;
		ret = syscall(__NR_io_getevents, b->aio, row->batch, row->batch, events, NULL);
		if (ret != (long)row->batch)
			return ret < 0 ? -errno : -EIO;
		for (i = 0; i < row->batch; i++)
			if (events[i].res != (long long)row->len)
				return -EIO;
	}
	return 0;
}

#define POLLED	IORING_SETUP_IOPOLL
#define FIXED	(ROW_RING | ROW_FIXED_FILE | ROW_FIXED_BUF)
#define NULLB	"/dev/nullb0"
#define TIMERB	"/dev/nullt"
#define TMPFILE	"/tmp/cached"
#define DRIVE	"/dev/ng0n1"
#define BIG	(IORING_SETUP_SQE128 | IORING_SETUP_CQE32)
#define CQE32	IORING_SETUP_CQE32
#define MIXED	IORING_SETUP_CQE_MIXED
#define COMMAND	(FIXED | ROW_BUFFERED | ROW_RUN | ROW_DRIVE)

/* name, run, opcode, batch, bytes, file, ring, wants, opened by */
const struct row rows[] = {
	{ "getppid", run_getppid, 0, 1, 0, NULL, 0, 0 },

	{ "nop/defer/b1", run_ring, IORING_OP_NOP, 1, 0, NULL, DEFER, ROW_RING },
	{ "nop/defer/b8", run_ring, IORING_OP_NOP, 8, 0, NULL, DEFER, ROW_RING },
	{ "nop/defer/b32", run_ring, IORING_OP_NOP, 32, 0, NULL, DEFER, ROW_RING },
	{ "nop/defer/b128", run_ring, IORING_OP_NOP, 128, 0, NULL, DEFER, ROW_RING },
	{ "nop/plain/b1", run_ring, IORING_OP_NOP, 1, 0, NULL, 0, ROW_RING },
	{ "nop/plain/b8", run_ring, IORING_OP_NOP, 8, 0, NULL, 0, ROW_RING },
	{ "nop/plain/b32", run_ring, IORING_OP_NOP, 32, 0, NULL, 0, ROW_RING },
	{ "nop/plain/b128", run_ring, IORING_OP_NOP, 128, 0, NULL, 0, ROW_RING },
	{ "nop/defer+ringfd/b1", run_ring, IORING_OP_NOP, 1, 0,
	  NULL, DEFER, ROW_RING | ROW_REG_RING },
	{ "nop/defer+eventfd/b1", run_ring, IORING_OP_NOP, 1, 0,
	  NULL, DEFER, ROW_RING | ROW_EVENTFD },
	{ "nop/defer+eventfd/b32", run_ring, IORING_OP_NOP, 32, 0,
	  NULL, DEFER, ROW_RING | ROW_EVENTFD },
	{ "nop/plain+eventfd/b32", run_ring, IORING_OP_NOP, 32, 0,
	  NULL, 0, ROW_RING | ROW_EVENTFD },
	{ "nop/defer+link/b32", run_ring, IORING_OP_NOP, 32, 0,
	  NULL, DEFER, ROW_RING | ROW_LINK },
	{ "nop/defer+worker/b1", run_ring, IORING_OP_NOP, 1, 0,
	  NULL, DEFER, ROW_RING | ROW_ASYNC },
	{ "nop/defer+worker/b32", run_ring, IORING_OP_NOP, 32, 0,
	  NULL, DEFER, ROW_RING | ROW_ASYNC },
	{ "nop/plain+worker/b32", run_ring, IORING_OP_NOP, 32, 0, NULL, 0, ROW_RING | ROW_ASYNC },
	{ "nop/defer+cqe32/b1", run_ring, IORING_OP_NOP, 1, 0, NULL, DEFER | CQE32, ROW_RING },
	{ "nop/defer+cqe32/b32", run_ring, IORING_OP_NOP, 32, 0, NULL, DEFER | CQE32, ROW_RING },
	{ "nop/plain+cqe32/b1", run_ring, IORING_OP_NOP, 1, 0, NULL, CQE32, ROW_RING },
	{ "nop/plain+cqe32/b32", run_ring, IORING_OP_NOP, 32, 0, NULL, CQE32, ROW_RING },
	{ "nop/plain+cqe32/b128", run_ring, IORING_OP_NOP, 128, 0, NULL, CQE32, ROW_RING },
	{ "wait/ready", run_wait_ready, IORING_OP_NOP, 1, 0, NULL, DEFER, ROW_RING },
	{ "wait/timeout", run_wait_timeout, IORING_OP_NOP, 1, 0, NULL, DEFER, ROW_RING },

	{ "read4k/poll+fixed/b1", run_ring, IORING_OP_READ_FIXED, 1, 4096,
	  NULLB, DEFER | POLLED, FIXED },
	{ "read4k/poll+fixed/b32", run_ring, IORING_OP_READ_FIXED, 32, 4096,
	  NULLB, DEFER | POLLED, FIXED },
	{ "read4k/poll+fixed/b128", run_ring, IORING_OP_READ_FIXED, 128, 4096,
	  NULLB, DEFER | POLLED, FIXED },
	{ "read4k/poll/b1", run_ring, IORING_OP_READ, 1, 4096, NULLB, DEFER | POLLED, ROW_RING },
	{ "read4k/poll/b32", run_ring, IORING_OP_READ, 32, 4096,
	  NULLB, DEFER | POLLED, ROW_RING },
	{ "read4k/plainpoll+fixed/b1", run_ring, IORING_OP_READ_FIXED, 1, 4096,
	  NULLB, POLLED, FIXED },
	{ "read4k/plainpoll+fixed/b32", run_ring, IORING_OP_READ_FIXED, 32, 4096,
	  NULLB, POLLED, FIXED },
	{ "read512/poll+fixed/b32", run_ring, IORING_OP_READ_FIXED, 32, 512,
	  NULLB, DEFER | POLLED, FIXED },
	{ "read512/poll+fixed/b128", run_ring, IORING_OP_READ_FIXED, 128, 512,
	  NULLB, DEFER | POLLED, FIXED },
	{ "write4k/poll+fixed/b32", run_ring, IORING_OP_WRITE_FIXED, 32, 4096,
	  NULLB, DEFER | POLLED, FIXED },

	{ "read4k/irq+fixed/b1", run_ring, IORING_OP_READ_FIXED, 1, 4096, NULLB, DEFER, FIXED },
	{ "read4k/irq+fixed/b32", run_ring, IORING_OP_READ_FIXED, 32, 4096, NULLB, DEFER, FIXED },
	{ "read4k/irq/b1", run_ring, IORING_OP_READ, 1, 4096, NULLB, DEFER, ROW_RING },
	{ "read4k/irq/b32", run_ring, IORING_OP_READ, 32, 4096, NULLB, DEFER, ROW_RING },
	{ "readv4k/irq/b32", run_ring, IORING_OP_READV, 32, 4096,
	  NULLB, DEFER, ROW_RING | ROW_VECTOR },
	{ "read4k/plainirq+fixed/b1", run_ring, IORING_OP_READ_FIXED, 1, 4096, NULLB, 0, FIXED },
	{ "read4k/plainirq+fixed/b32", run_ring, IORING_OP_READ_FIXED, 32, 4096,
	  NULLB, 0, FIXED },
	{ "write4k/irq+fixed/b32", run_ring, IORING_OP_WRITE_FIXED, 32, 4096,
	  NULLB, DEFER, FIXED },
	{ "write4k/irq/b32", run_ring, IORING_OP_WRITE, 32, 4096, NULLB, DEFER, ROW_RING },
	{ "read4k/timer+fixed/b1", run_ring, IORING_OP_READ_FIXED, 1, 4096,
	  TIMERB, DEFER, FIXED },
	{ "read4k/timer+fixed/b32", run_ring, IORING_OP_READ_FIXED, 32, 4096,
	  TIMERB, DEFER, FIXED },

	{ "read4k/cached/b1", run_ring, IORING_OP_READ, 1, 4096,
	  NULLB, DEFER, ROW_RING | ROW_BUFFERED },
	{ "read4k/cached/b32", run_ring, IORING_OP_READ, 32, 4096,
	  NULLB, DEFER, ROW_RING | ROW_BUFFERED },
	{ "read4k/tmpfs/b32", run_ring, IORING_OP_READ, 32, 4096,
	  TMPFILE, DEFER, ROW_RING | ROW_BUFFERED },
	{ "write4k/tmpfs/b32", run_ring, IORING_OP_WRITE, 32, 4096,
	  TMPFILE, DEFER, ROW_RING | ROW_BUFFERED },

	{ "aux/loop/b8", run_aux, 0, 8, 128, NULL, DEFER, ROW_RING, open_aux },
	{ "aux/loop/b16", run_aux, 0, 16, 128, NULL, DEFER, ROW_RING, open_aux },
	{ "aux/loop/b32", run_aux, 0, 32, 128, NULL, DEFER, ROW_RING, open_aux },
	{ "aux/loop/b128", run_aux, 0, 128, 128, NULL, DEFER, ROW_RING, open_aux },
	{ "aux/wake+run/b8", run_aux, 0, 8, 128, NULL, DEFER,
	  ROW_RING | ROW_WAKE | ROW_RUN, open_aux },
	{ "aux/wake+run/b16", run_aux, 0, 16, 128, NULL, DEFER,
	  ROW_RING | ROW_WAKE | ROW_RUN, open_aux },
	{ "aux/wake+run/b32", run_aux, 0, 32, 128, NULL, DEFER,
	  ROW_RING | ROW_WAKE | ROW_RUN, open_aux },
	{ "aux/wake+run/b128", run_aux, 0, 128, 128, NULL, DEFER,
	  ROW_RING | ROW_WAKE | ROW_RUN, open_aux },
	{ "aux/wake/b128", run_aux, 0, 128, 128, NULL, DEFER, ROW_RING | ROW_WAKE, open_aux },
	{ "aux/run/b128", run_aux, 0, 128, 128, NULL, DEFER, ROW_RING | ROW_RUN, open_aux },
	{ "aux/wake-again/b128", run_aux, 0, 128, 128, NULL, DEFER,
	  ROW_RING | ROW_WAKE | ROW_AGAIN, open_aux },
	{ "aux/run-again/b128", run_aux, 0, 128, 128, NULL, DEFER,
	  ROW_RING | ROW_RUN | ROW_AGAIN, open_aux },
	{ "aux/eventfd-loop/b128", run_aux, 0, 128, 128, NULL, DEFER,
	  ROW_RING | ROW_EVENTFD, open_aux },
	{ "aux/8-a-pipe-loop/b8", run_aux, 0, 8, 8, NULL, DEFER, ROW_RING, open_aux },
	{ "aux/32-a-pipe-loop/b32", run_aux, 0, 32, 32, NULL, DEFER, ROW_RING, open_aux },
	{ "aux/plain-loop/b128", run_aux, 0, 128, 128, NULL, 0, ROW_RING, open_aux },

	{ "aux/cqe32-loop/b128", run_aux, 0, 128, 128, NULL, DEFER | CQE32, ROW_RING, open_aux },
	{ "aux/cqe32-run/b128", run_aux, 0, 128, 128, NULL, DEFER | CQE32,
	  ROW_RING | ROW_RUN, open_aux },
	{ "aux/plain-cqe32-loop/b128", run_aux, 0, 128, 128, NULL, CQE32, ROW_RING, open_aux },

	{ "poll/arm+fire/b1", run_poll, 0, 1, 0, NULL, DEFER, ROW_RING, open_pipe },
	{ "poll/arm+fire/b32", run_poll, 0, 32, 0, NULL, DEFER, ROW_RING, open_pipe },
	{ "poll/plain-arm+fire/b32", run_poll, 0, 32, 0, NULL, 0, ROW_RING, open_pipe },
	{ "poll/cqe32-arm+fire/b32", run_poll, 0, 32, 0, NULL, DEFER | CQE32, ROW_RING, open_pipe },
	{ "poll/plain-cqe32-arm+fire/b32", run_poll, 0, 32, 0, NULL, CQE32, ROW_RING, open_pipe },
	{ "poll/ready/b32", run_poll, 0, 32, 0, NULL, DEFER, ROW_RING, open_full_pipe },
	{ "poll/arm+remove/b32", run_poll_cancel, IORING_OP_POLL_REMOVE, 32, 0,
	  NULL, DEFER, ROW_RING, open_pipe },
	{ "poll/arm+cancel/b32", run_poll_cancel, IORING_OP_ASYNC_CANCEL, 32, 0,
	  NULL, DEFER, ROW_RING, open_pipe },
	{ "pipe-read/wait/b1", run_pipe_read, 0, 1, 0, NULL, DEFER, ROW_RING, open_pipe },
	{ "pipe-read/wait/b32", run_pipe_read, 0, 32, 0, NULL, DEFER, ROW_RING, open_pipe },

	{ "timeout/arm+cancel/b1", run_timeout_cancel, 0, 1, 0, NULL, DEFER, ROW_RING },
	{ "timeout/arm+cancel/b32", run_timeout_cancel, 0, 32, 0, NULL, DEFER, ROW_RING },
	{ "timeout/plain-arm+cancel/b32", run_timeout_cancel, 0, 32, 0, NULL, 0, ROW_RING },
	{ "timeout/arm+fire/b1", run_timeout_fire, 0, 1, 0, NULL, DEFER, ROW_RING },
	{ "timeout/arm+fire/b32", run_timeout_fire, 0, 32, 0, NULL, DEFER, ROW_RING },
	{ "timeout/plain-arm+fire/b32", run_timeout_fire, 0, 32, 0, NULL, 0, ROW_RING },
	{ "timeout/count+nop/b32", run_timeout_count, 0, 32, 0, NULL, DEFER, ROW_RING },
	{ "linktimeout/nop/b1", run_link_timeout, IORING_OP_NOP, 1, 0, NULL, DEFER, ROW_RING },
	{ "linktimeout/nop/b32", run_link_timeout, IORING_OP_NOP, 32, 0, NULL, DEFER, ROW_RING },
	{ "linktimeout/poll/b1", run_link_timeout, IORING_OP_POLL_ADD, 1, 0,
	  NULL, DEFER, ROW_RING, open_pipe },
	{ "linktimeout/poll/b32", run_link_timeout, IORING_OP_POLL_ADD, 32, 0,
	  NULL, DEFER, ROW_RING, open_pipe },

	{ "life/idle/b64", run_life, 0, 64, 0, NULL, DEFER, ROW_LONG },
	{ "life/plain-idle/b64", run_life, 0, 64, 0, NULL, 0, ROW_LONG },
	{ "life/1000-polls/b4", run_life, 0, 4, 1000, NULL, DEFER, ROW_LONG, open_pipe },
	{ "life/plain-1000-polls/b4", run_life, 0, 4, 1000, NULL, 0, ROW_LONG, open_pipe },
	{ "statx/cached/b1", run_statx, 0, 1, 0, TMPFILE, DEFER, ROW_RING | ROW_BUFFERED },
	{ "statx/cached/b32", run_statx, 0, 32, 0, TMPFILE, DEFER, ROW_RING | ROW_BUFFERED },
	{ "unlink/tmpfs/b1", run_unlink, 0, 1, 1, NULL, DEFER, ROW_RING | ROW_RUN },
	{ "unlink/tmpfs/b32", run_unlink, 0, 32, 32, NULL, DEFER, ROW_RING | ROW_RUN },
	{ "splice/file-to-pipe/b1", run_splice, 0, 1, 1,
	  TMPFILE, DEFER, ROW_RING | ROW_BUFFERED | ROW_RUN, open_pipe },
	{ "splice/file-to-pipe/b8", run_splice, 0, 8, 8,
	  TMPFILE, DEFER, ROW_RING | ROW_BUFFERED | ROW_RUN, open_pipe },
	{ "futex/wait+wake/b1", run_futex, 0, 1, 0, NULL, DEFER, ROW_RING },
	{ "futex/wait+wake/b32", run_futex, 0, 32, 0, NULL, DEFER, ROW_RING },
	{ "futex/plain-wait+wake/b32", run_futex, 0, 32, 0, NULL, 0, ROW_RING },
	{ "open+close/cached/b1", run_open, 0, 1, 0, TMPFILE, DEFER, ROW_RING | ROW_BUFFERED },
	{ "open+close/cached/b32", run_open, 0, 32, 0, TMPFILE, DEFER, ROW_RING | ROW_BUFFERED },
	{ "command/null/b1", run_command, 0, 1, 0, "/dev/null", DEFER, ROW_RING | ROW_BUFFERED },
	{ "command/null/b32", run_command, 0, 32, 0, "/dev/null", DEFER, ROW_RING | ROW_BUFFERED },
	{ "command/cqe32-null/b32", run_command, 0, 32, 0,
	  "/dev/null", DEFER | CQE32, ROW_RING | ROW_BUFFERED },
	{ "command/plain-null/b32", run_command, 0, 32, 0,
	  "/dev/null", 0, ROW_RING | ROW_BUFFERED },
	{ "command/plain-cqe32-null/b32", run_command, 0, 32, 0,
	  "/dev/null", CQE32, ROW_RING | ROW_BUFFERED },

	{ "nvme-cmd/polled/b32", run_drive, 0, 32, 32, DRIVE, DEFER | POLLED | BIG, COMMAND,
	  open_drive },
	{ "nvme-cmd/irq/b32", run_drive, 0, 32, 32, DRIVE, DEFER | BIG, COMMAND, open_drive },

	{ "msg/send/b1", run_msg, 0, 1, 1, NULL, DEFER, ROW_RING | ROW_WAKE, open_target },
	{ "msg/send/b64", run_msg, 0, 64, 64, NULL, DEFER, ROW_RING | ROW_WAKE, open_target },
	{ "msg/send+thread/b64", run_msg, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_WAKE | ROW_SHARED_FD, open_target },
	{ "msg/plain-send/b64", run_msg, 0, 64, 64, NULL, 0, ROW_RING | ROW_WAKE, open_target },
	{ "msg/send-plain/b64", run_msg, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_plain_target },
	{ "msg/send-plain+thread/b64", run_msg, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_WAKE | ROW_SHARED_FD, open_plain_target },
	{ "msg/receive/b1", run_msg, 0, 1, 1, NULL, DEFER, ROW_RING | ROW_RUN, open_target },
	{ "msg/receive/b64", run_msg, 0, 64, 64, NULL, DEFER, ROW_RING | ROW_RUN, open_target },
	{ "msg/loop/b64", run_msg, 0, 64, 64, NULL, DEFER, ROW_RING, open_target },
	{ "msg/fd-loop/b64", run_msg_fd, 0, 64, 64, TMPFILE, DEFER,
	  ROW_RING | ROW_BUFFERED | ROW_FIXED_FILE | ROW_WAKE | ROW_RUN, open_file_target },
	{ "msg/fd-round/b1", run_msg_fd, 0, 1, 1,
	  TMPFILE, DEFER, ROW_RING | ROW_BUFFERED | ROW_FIXED_FILE, open_file_target },
	{ "msg/fd-round/b64", run_msg_fd, 0, 64, 64,
	  TMPFILE, DEFER, ROW_RING | ROW_BUFFERED | ROW_FIXED_FILE, open_file_target },

	{ "send/unix/b1", run_net, IORING_OP_SEND, 1, 1,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_unix },
	{ "send/unix/b32", run_net, IORING_OP_SEND, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_unix },
	{ "send/tcp/b1", run_net, IORING_OP_SEND, 1, 1,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_tcp },
	{ "send/tcp/b32", run_net, IORING_OP_SEND, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_tcp },
	{ "recv/unix/b1", run_net, IORING_OP_RECV, 1, 1,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_unix },
	{ "recv/unix/b32", run_net, IORING_OP_RECV, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_unix },
	{ "recv/tcp/b1", run_net, IORING_OP_RECV, 1, 1, NULL, DEFER, ROW_RING | ROW_RUN, open_tcp },
	{ "recv/tcp/b32", run_net, IORING_OP_RECV, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_tcp },
	{ "sendmsg/unix/b32", run_net, IORING_OP_SENDMSG, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_unix },
	{ "sendmsg/tcp/b32", run_net, IORING_OP_SENDMSG, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_tcp },
	{ "recvmsg/unix/b32", run_net, IORING_OP_RECVMSG, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_unix },
	{ "recvmsg/tcp/b32", run_net, IORING_OP_RECVMSG, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_tcp },
	{ "echo/unix/b1", run_echo, 0, 1, 0, NULL, DEFER, ROW_RING, open_unix },
	{ "echo/tcp/b1", run_echo, 0, 1, 0, NULL, DEFER, ROW_RING, open_tcp },
	{ "accept/tcp/b32", run_accept, IORING_OP_ACCEPT, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_listener },
	{ "accept/tcp+many/b32", run_accept_many, IORING_OP_ACCEPT, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_listener },
	{ "send/unix+picked/b32", run_picked, IORING_OP_SEND, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_unix_group },
	{ "recv/unix+picked/b32", run_picked, IORING_OP_RECV, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_unix_group },
	{ "recv/tcp+picked/b32", run_picked, IORING_OP_RECV, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_tcp_group },
	{ "read/pipe+picked/b32", run_picked, IORING_OP_READ, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_pipe_group },
	{ "read/pipe+many/b32", run_read_many, IORING_OP_READ_MULTISHOT, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_pipe_group },
	{ "bundle/send/tcp/b64", run_bundle, IORING_OP_SEND, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_tcp_group },
	{ "bundle/recv/tcp/b64", run_bundle, IORING_OP_RECV, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_tcp_group },
	{ "bundle/recv/unix/b64", run_bundle, IORING_OP_RECV, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_unix_group },

	{ "echo32/unix+epoll/b64", run_echo_epoll, 0, 64, 64, NULL, 0, ROW_RUN, open_echo_epoll },
	{ "echo32/unix+single/b64", run_echo_single, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_echo_single },
	{ "echo32/unix+many/b64", run_echo_many, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_echo_many },
	{ "echo32/tcp+epoll/b64", run_echo_epoll, 0, 64, 64,
	  NULL, 0, ROW_RUN | ROW_TCP, open_echo_epoll },
	{ "echo32/tcp+single/b64", run_echo_single, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN | ROW_TCP, open_echo_single },
	{ "echo32/tcp+many/b64", run_echo_many, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN | ROW_TCP, open_echo_many },
	{ "accept-echo/epoll/b32", run_hello_epoll, 0, 32, 32,
	  NULL, 0, ROW_RUN, open_accept_epoll },
	{ "accept-echo/single/b32", run_hello_single, 0, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_accept_single },
	{ "accept-echo/many/b32", run_hello_many, 0, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_accept_many },
	{ "proxy32/epoll/b64", run_proxy_epoll, 0, 64, 64,
	  NULL, 0, ROW_RUN | ROW_TCP, open_proxy_epoll },
	{ "proxy32/many/b64", run_proxy_many, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN | ROW_TCP, open_proxy_many },
	{ "proxy32/bundle/b64", run_proxy_bundle, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN | ROW_TCP, open_proxy_bundle },

	{ "bundle/send/tcp+64/b64", run_bundle, IORING_OP_SEND, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_tcp_group, 64 },
	{ "bundle/send/tcp+128/b64", run_bundle, IORING_OP_SEND, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_tcp_group, 128 },
	{ "bundle/send/tcp+apart/b64", run_bundle, IORING_OP_SEND, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_WAKE | ROW_APART, open_tcp_group },
	{ "bundle/send/tcp+1500/b64", run_bundle, IORING_OP_SEND, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_tcp_group, 1500 },
	{ "bundle/send/tcp+4096/b64", run_bundle, IORING_OP_SEND, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_tcp_group, 4096 },
	{ "bundle/recv/tcp+64/b64", run_bundle, IORING_OP_RECV, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_tcp_group, 64 },
	{ "bundle/recv/tcp+128/b64", run_bundle, IORING_OP_RECV, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_tcp_group, 128 },
	{ "bundle/recv/tcp+apart/b64", run_bundle, IORING_OP_RECV, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN | ROW_APART, open_tcp_group },
	{ "bundle/recv/tcp+1500/b64", run_bundle, IORING_OP_RECV, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_tcp_group, 1500 },
	{ "bundle/recv/tcp+4096/b64", run_bundle, IORING_OP_RECV, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_tcp_group, 4096 },
	{ "bundle/both/tcp+80/b64", run_bundle_both, 0, 64, 64,
	  NULL, DEFER, ROW_RING | ROW_RUN, open_tcp_group, 80 },
	{ "flat/tcp+80/b64", run_flat, 0, 64, 64, NULL, 0, ROW_RUN, open_tcp, 80 },
	{ "sendzc/tcp+4096/b32", run_send_zc, 0, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_WAKE, open_tcp, 4096 },

	{ "nop/defer+mixed/b32", run_ring, IORING_OP_NOP, 32, 0,
	  NULL, DEFER | MIXED, ROW_RING | ROW_LATER },
	{ "nop/plain+mixed/b32", run_ring, IORING_OP_NOP, 32, 0,
	  NULL, MIXED, ROW_RING | ROW_LATER },
	{ "nop/defer+mixed-large/b32", run_nop_large, IORING_OP_NOP, 32, 0,
	  NULL, DEFER | MIXED, ROW_RING | ROW_LATER },
	{ "nop128/defer/b32", run_nop_large, IORING_OP_NOP128, 32, 0,
	  NULL, DEFER | IORING_SETUP_SQE_MIXED, ROW_RING | ROW_LATER },
	{ "nop/defer+filter/b32", run_ring, IORING_OP_NOP, 32, 0,
	  NULL, DEFER, ROW_RING | ROW_LATER, open_filter },
	{ "wait/registered", run_registered_wait, IORING_OP_NOP, 1, 0,
	  NULL, DEFER | IORING_SETUP_R_DISABLED, ROW_RING | ROW_LATER, open_wait_region },
	{ "aux/mixed-loop/b128", run_aux, 0, 128, 128,
	  NULL, DEFER | MIXED, ROW_RING | ROW_LATER, open_aux },
	{ "readv4k/irq+fixed/b32", run_ring, IORING_OP_READV_FIXED, 32, 4096,
	  NULLB, DEFER, FIXED | ROW_VECTOR | ROW_LATER },
	{ "readv4k/irq+fixed+512/b32", run_ring, IORING_OP_READV_FIXED, 32, 4096,
	  NULLB, DEFER, FIXED | ROW_VECTOR | ROW_LATER, NULL, 512 },
	{ "send/tcp+vector/b32", run_net, IORING_OP_SEND, 32, 32,
	  NULL, DEFER, ROW_RING | ROW_WAKE | ROW_LATER | ROW_VECTORED, open_tcp },
	{ "recvzc/tcp+32/b1", run_recv_zc, IORING_OP_RECV_ZC, 1, 1,
	  NULL, DEFER | CQE32, ROW_RING | ROW_RUN | ROW_LATER, open_tcp_zcrx, 32 },
	{ "recvzc/tcp+4096/b1", run_recv_zc, IORING_OP_RECV_ZC, 1, 1,
	  NULL, DEFER | CQE32, ROW_RING | ROW_RUN | ROW_LATER, open_tcp_zcrx, 4096 },
	{ "recvzc/tcp+16384/b1", run_recv_zc, IORING_OP_RECV_ZC, 1, 1,
	  NULL, DEFER | CQE32, ROW_RING | ROW_RUN | ROW_LATER, open_tcp_zcrx, 16384 },

	{ "pread4k", run_sync, 0, 1, 4096, NULLB, 0, 0 },
	{ "preadv2-hipri4k", run_sync, 0, 1, 4096, NULLB, 0, ROW_HIPRI },
	{ "pwrite4k", run_sync, 0, 1, 4096, NULLB, 0, ROW_WRITE },
	{ "libaio4k/b1", run_libaio, 0, 1, 4096, NULLB, 0, ROW_AIO },
	{ "libaio4k/b32", run_libaio, 0, 32, 4096, NULLB, 0, ROW_AIO },
};

const unsigned int nr_rows = ARRAY_SIZE(rows);
