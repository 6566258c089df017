/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring bench: what the rows share: marks, the row table's type, a minimal ring */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>
#include <stdlib.h>
#include <sys/types.h>

#include "../../../../include/uapi/linux/io_uring.h"

#define ARRAY_SIZE(x)	(sizeof(x) / sizeof((x)[0]))

/* The two ends of a measured region, long NOPs that the counting plugin knows. */
static inline void mark_begin(void)
{
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x01, 0x6e, 0x67, 0x62" ::: "memory");
}

static inline void mark_end(void)
{
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x02, 0x64, 0x6e, 0x65" ::: "memory");
}

#define MAX_BATCH	128
#define MAX_PIPES	16
#define BLOCK		4096u
#define CACHED_BLOCKS	256u	/* what ROW_BUFFERED touches */

/* A ring that only its task enters, and that makes its CQEs when it does. */
#define DEFER	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

/**
 * enum row_flags - what a row wants beside its opcode
 * @ROW_RING:		a ring
 * @ROW_AIO:		a libaio context
 * @ROW_FIXED_FILE:	the file is registered
 * @ROW_FIXED_BUF:	the buffers are registered
 * @ROW_BUFFERED:	no O_DIRECT; what is touched stays in the page cache
 * @ROW_ASYNC:		IOSQE_ASYNC
 * @ROW_LINK:		a batch is one chain
 * @ROW_VECTOR:		a request has an iovec
 * @ROW_EVENTFD:	the ring has an eventfd
 * @ROW_REG_RING:	enter names the ring by its registered index
 * @ROW_WRITE:		peers: write instead of read
 * @ROW_HIPRI:		peers: RWF_HIPRI
 * @ROW_WAKE:		the row marks the wake-up, or the sending
 * @ROW_RUN:		the row marks the enter that makes the CQEs
 * @ROW_SHARED_FD:	another task shares the file table, as threads do: looking a
 *			descriptor up takes a reference
 * @ROW_LONG:		a round takes long, two are enough
 * @ROW_TCP:		TCP over loopback instead of AF_UNIX
 * @ROW_APART:		provided buffers do not lie one behind the other
 * @ROW_DRIVE:		runs where there is an NVMe drive, and no other row does there
 * @ROW_AGAIN:		what is woken has been woken before, and no task has come for it
 * @ROW_LATER:		runs from Linux 7.0 on
 * @ROW_VECTORED:	a SEND has an iovec, IORING_SEND_VECTORIZED
 */
enum row_flags {
	ROW_RING	= 1 << 0,
	ROW_AIO		= 1 << 1,
	ROW_FIXED_FILE	= 1 << 2,
	ROW_FIXED_BUF	= 1 << 3,
	ROW_BUFFERED	= 1 << 4,
	ROW_ASYNC	= 1 << 5,
	ROW_LINK	= 1 << 6,
	ROW_VECTOR	= 1 << 7,
	ROW_EVENTFD	= 1 << 8,
	ROW_REG_RING	= 1 << 9,
	ROW_WRITE	= 1 << 10,
	ROW_HIPRI	= 1 << 11,
	ROW_WAKE	= 1 << 12,
	ROW_RUN		= 1 << 13,
	ROW_SHARED_FD	= 1 << 14,
	ROW_LONG	= 1 << 15,
	ROW_TCP		= 1 << 16,
	ROW_APART	= 1 << 17,
	ROW_DRIVE	= 1 << 18,
	ROW_AGAIN	= 1 << 19,
	ROW_LATER	= 1 << 20,
	ROW_VECTORED	= 1 << 21,
};

struct bench;

/**
 * struct row - one line of the table
 * @name:	what/how/b<batch>, unique
 * @run:	does this many rounds; 0, or a negative errno
 * @opcode:	IORING_OP_* of each request
 * @batch:	operations a round
 * @len:	bytes an operation; of rows of auxiliary CQEs: polls on a pipe; of rows of
 *		messages: how many are sent before they are taken; of rows of rings' lives: polls
 *		that each has
 * @dev:	file to open, or NULL
 * @setup:	IORING_SETUP_* of the row's ring
 * @flags:	ROW_*
 * @open:	makes what else the row needs, after its ring, or NULL
 * @bytes:	of a message on sockets, 0: 32; of an entry of a vector, 0: all
 */
struct row {
	const char	*name;
	int		(*run)(struct bench *b, unsigned int rounds);
	unsigned int	opcode;
	unsigned int	batch;
	unsigned int	len;
	const char	*dev;
	unsigned int	setup;
	unsigned int	flags;
	int		(*open)(struct bench *b);
	unsigned int	bytes;
};

/* Rounds a region: 512 operations, mostly less than from one timer tick to the next. */
static inline unsigned int row_rounds(const struct row *row)
{
	if (row->flags & ROW_LONG)
		return 2;
	return row->batch == 1 ? 256 : 512 / row->batch;
}

/**
 * struct ring - the mapped memory of one io_uring
 * @fd:		the ring's descriptor
 * @enter_fd:	what enter is given: the descriptor or the registered index
 * @enter_flags: IORING_ENTER_* that go with @enter_fd
 * @sq_next:	tail of the SQ with what is filled and not yet submitted
 * @sq_mask:	entries of the SQ, less one
 * @cq_mask:	entries of the CQ, less one
 * @cq_shift:	1 with 32-byte CQEs
 * @sq_tail:	ours to write, in shared memory
 * @cq_head:	ours to write, in shared memory
 * @cq_tail:	the kernel's, in shared memory
 * @sqes:	the submission entries, mapped
 * @cqes:	the completion entries, inside @map
 * @map:	both rings' heads and tails, the SQ array and the CQEs
 * @map_size:	bytes of @map
 * @sqes_size:	bytes of @sqes
 */
struct ring {
	int			fd;
	int			enter_fd;
	unsigned int		enter_flags;
	unsigned int		sq_next;
	unsigned int		sq_mask;
	unsigned int		cq_mask;
	unsigned int		cq_shift;
	unsigned int		*sq_tail;
	unsigned int		*cq_head;
	unsigned int		*cq_tail;
	struct io_uring_sqe	*sqes;
	struct io_uring_cqe	*cqes;
	void			*map;
	size_t			map_size;
	size_t			sqes_size;
};

/**
 * struct bench - a row while it runs
 * @row:	its description
 * @ring:	its ring, for rows that have one
 * @target:	the ring that rows of messages send to
 * @sharer:	the task that shares the file table, 0: none
 * @fd:		the file that is read or written, -1: none
 * @event_fd:	the ring's eventfd, -1: none
 * @pipes:	the pipes of rows that wait, not blocking, or connected sockets
 * @nr_pipes:	how many of them are open
 * @marking:	rows that mark parts do so now
 * @marked:	parts that were marked
 * @timing:	their time is taken instead
 * @part_start:	when the last one began
 * @part_nsec:	how long all of them took
 * @aio:	libaio's context
 * @buf:	MAX_BATCH blocks of memory
 * @seed:	state of the offsets' sequence
 */
struct bench {
	const struct row	*row;
	struct ring		ring;
	struct ring		target;
	pid_t			sharer;
	int			fd;
	int			event_fd;
	int			pipes[MAX_PIPES][2];
	unsigned int		nr_pipes;
	bool			marking;
	unsigned int		marked;
	bool			timing;
	__u64			part_start;
	__u64			part_nsec;
	unsigned long		aio;
	unsigned char		*buf;
	__u64		seed;
};

/**
 * struct demo - what demo_run() saw
 * @cqes:	CQEs taken
 * @wakes:	times the ring's task slept for them
 * @nsec:	how long it took
 */
struct demo {
	__u64	cqes;
	__u64	wakes;
	__u64	nsec;
};

#define NR_PERCENTILES	5	/* 1, 50, 90, 99 and 99.9 */

/**
 * struct latency - how long many things took
 * @nr:		how many there were
 * @percentile:	of them, in nanoseconds
 */
struct latency {
	__u64	nr;
	__u32	percentile[NR_PERCENTILES];
};

/**
 * struct paced - what pace_run() saw
 * @possible:	messages that there was time for
 * @best:	of each 1,000 of them, those sent in the best tenth of the time
 * @sender:	from the submission until the sender's CQE
 * @receiver:	from the submission until the receiver saw the message
 */
struct paced {
	__u64		possible;
	unsigned int	best;
	struct latency	sender;
	struct latency	receiver;
};

/**
 * struct handed - what hand_run() saw
 * @nsec:	how long it took
 * @jobs:	from a dispatcher to the worker that takes it
 */
struct handed {
	__u64		nsec;
	struct latency	jobs;
};

/**
 * struct smp_result - what smp_run() saw
 * @ops:	operations of all threads
 * @nsec:	how long it took
 * @kernel_nsec: what its threads spent in the kernel
 */
struct smp_result {
	__u64	ops;
	__u64	nsec;
	__u64	kernel_nsec;
};

extern const struct row rows[];
extern const unsigned int nr_rows;

/* The CQE at a position of the queue. */
static inline struct io_uring_cqe *ring_cqe(const struct ring *ring, unsigned int pos)
{
	return &ring->cqes[(pos & ring->cq_mask) << ring->cq_shift];
}

int ring_open(struct ring *ring, const struct row *row);
void ring_close(struct ring *ring);
int ring_register(struct ring *ring, unsigned int op, const void *arg, unsigned int nr);
int ring_enter(struct ring *ring, unsigned int submit, unsigned int wait,
	       unsigned int flags, const void *arg, size_t size);
struct io_uring_sqe *ring_sqe(struct ring *ring);
struct io_uring_sqe *ring_last(const struct ring *ring);
int ring_submit(struct ring *ring, unsigned int wait);
int ring_take(struct ring *ring, unsigned int want, int (*check)(const struct io_uring_cqe *cqe));
int ring_send(struct ring *ring, unsigned int nr);
int check_zero(const struct io_uring_cqe *cqe);

int demo_run(struct bench *b, unsigned int wait, __u64 nsec, struct demo *demo);
int pace_run(unsigned int period_us, __u64 nsec, struct paced *paced);
int hand_run(bool rings, unsigned int hand, __u64 nsec, struct handed *handed);
unsigned int smp_loads(void);
int smp_run(unsigned int nr, __u64 nsec, const char **name, struct smp_result *result);
__u64 now(void);

int open_pipe(struct bench *b);
int open_full_pipe(struct bench *b);
int open_aux(struct bench *b);
void fill_aux(struct bench *b, unsigned int nr);
int run_aux(struct bench *b, unsigned int rounds);
int run_timeout_cancel(struct bench *b, unsigned int rounds);
int run_timeout_fire(struct bench *b, unsigned int rounds);
int run_timeout_count(struct bench *b, unsigned int rounds);
int run_link_timeout(struct bench *b, unsigned int rounds);
int run_poll(struct bench *b, unsigned int rounds);
int run_poll_cancel(struct bench *b, unsigned int rounds);
int run_pipe_read(struct bench *b, unsigned int rounds);
int run_life(struct bench *b, unsigned int rounds);
int run_statx(struct bench *b, unsigned int rounds);
int run_open(struct bench *b, unsigned int rounds);
int run_command(struct bench *b, unsigned int rounds);
int open_drive(struct bench *b);
int run_drive(struct bench *b, unsigned int rounds);
int run_unlink(struct bench *b, unsigned int rounds);
int run_splice(struct bench *b, unsigned int rounds);
int run_futex(struct bench *b, unsigned int rounds);
int open_target(struct bench *b);
int open_plain_target(struct bench *b);
int open_file_target(struct bench *b);
int open_unix(struct bench *b);
int open_tcp(struct bench *b);
int open_unix_group(struct bench *b);
int open_pipe_group(struct bench *b);
int open_tcp_group(struct bench *b);
int open_listener(struct bench *b);
int open_client(struct bench *b);
int run_net(struct bench *b, unsigned int rounds);
int run_echo(struct bench *b, unsigned int rounds);
int run_accept(struct bench *b, unsigned int rounds);
int run_accept_many(struct bench *b, unsigned int rounds);
int run_picked(struct bench *b, unsigned int rounds);
int run_bundle(struct bench *b, unsigned int rounds);
int run_bundle_both(struct bench *b, unsigned int rounds);
int run_flat(struct bench *b, unsigned int rounds);
int run_send_zc(struct bench *b, unsigned int rounds);
int run_read_many(struct bench *b, unsigned int rounds);
int open_echo_epoll(struct bench *b);
int open_echo_single(struct bench *b);
int open_echo_many(struct bench *b);
int run_echo_epoll(struct bench *b, unsigned int rounds);
int run_echo_single(struct bench *b, unsigned int rounds);
int run_echo_many(struct bench *b, unsigned int rounds);
int open_accept_epoll(struct bench *b);
int open_accept_single(struct bench *b);
int open_accept_many(struct bench *b);
int run_hello_epoll(struct bench *b, unsigned int rounds);
int run_hello_single(struct bench *b, unsigned int rounds);
int run_hello_many(struct bench *b, unsigned int rounds);
int open_proxy_epoll(struct bench *b);
int open_proxy_many(struct bench *b);
int open_proxy_bundle(struct bench *b);
int run_proxy_epoll(struct bench *b, unsigned int rounds);
int run_proxy_many(struct bench *b, unsigned int rounds);
int run_proxy_bundle(struct bench *b, unsigned int rounds);
int run_nop_large(struct bench *b, unsigned int rounds);
int open_filter(struct bench *b);
int open_wait_region(struct bench *b);
int run_registered_wait(struct bench *b, unsigned int rounds);
int open_tcp_zcrx(struct bench *b);
int run_recv_zc(struct bench *b, unsigned int rounds);
int run_msg(struct bench *b, unsigned int rounds);
int run_msg_fd(struct bench *b, unsigned int rounds);

/* The ends of a part, in rows that mark parts. */
static inline void part_begin(struct bench *b)
{
	if (b->timing)
		b->part_start = now();
	if (b->marking)
		mark_begin();
}

static inline void part_end(struct bench *b)
{
	if (b->timing)
		b->part_nsec += now() - b->part_start;
	if (b->marking) {
		mark_end();
		b->marked++;
	}
}

/*
 * A block's place: scattered, so that the block layer cannot merge neighbours;
 * through the page cache one after the other, so that the warm-up brings them all.
 */
static inline __u64 next_offset(struct bench *b)
{
	if (b->row->flags & ROW_BUFFERED)
		return b->seed++ % CACHED_BLOCKS * BLOCK;
	b->seed = b->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (b->seed >> 40) % (1u << 16) * 2 * BLOCK;
}

#endif
