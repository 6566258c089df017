// SPDX-License-Identifier: GPL-2.0
/* io_uring fuzz: from a seed to a program */
/*
 * Most fields are drawn so that they mean something, and then spoiled with a small
 * chance: a program of random bytes is refused at its first check.
 *
 * A program that is compared must have one result on every right kernel.  So no two of
 * its requests race: a batch is a chain, or one request that takes its time, or any
 * number of those that end or park in the call that submits them.  Times have passed
 * already or never come.  Between two calls the runner waits until nothing moves.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/uio.h>
#include <time.h>

#include "gen.h"

#define NSEC	1000000000ll

/* splitmix64 */
uint64_t next(struct gen *g)
{
	uint64_t z = g->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

unsigned int below(struct gen *g, unsigned int n)
{
	return next(g) % n;
}

bool pct(struct gen *g, unsigned int percent)
{
	return below(g, 100) < percent;
}

uint64_t odd(struct gen *g)
{
	if (pct(g, 10))
		return next(g);
	return PICK(g, 0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256,
		    4095, 4096, 4097, 8192, 32767, 32768, 65535, 65536, 1 << 20, 1u << 27,
		    0x7fffffff, 0x80000000u, 0xfffffffeu, 0xffffffffu, 1ull << 32,
		    1ull << 40, 0x7fffffffffffffffull, 1ull << 63, ~0ull - 1, ~0ull);
}

struct call *add(struct gen *g, enum kind kind, unsigned int ring)
{
	struct prog *p = g->p;
	struct call *c;

	if (p->nr == MAX_CALLS)
		return NULL;
	c = &p->call[p->nr++];
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->ring = ring;
	c->task = g->tasks > 1 ? below(g, g->tasks) : 0;
	return c;
}

/* Put bytes where the kernel finds them at run time; tells where that is. */
uint64_t put(struct gen *g, struct call *c, const void *data, unsigned int len)
{
	uint64_t at = ARG(c - g->p->call) + c->blob_len;

	if (len > sizeof(c->blob) - c->blob_len)
		len = sizeof(c->blob) - c->blob_len;
	memcpy(c->blob + c->blob_len, data, len);
	c->blob_len += (len + 7) & ~7u;
	if (g->rare && pct(g, 2))
		return PICK(g, 0, 1, AT(AREA_NONE), AT(AREA_RO), AT(AREA_NONE) - 8);
	if (!g->p->compared && pct(g, 4))
		return AT(AREA_HOLE) + PAGE * below(g, HOLE_PAGES) + 8 * below(g, 8);
	return at;
}

/* Memory for data: where, and at least @len bytes of it are there. */
uint64_t buffer(struct gen *g, unsigned int len, bool aligned)
{
	uint64_t at = AT(AREA_BUF);

	if (!g->p->compared && pct(g, 8))
		return AT(AREA_HOLE) + PAGE * below(g, HOLE_PAGES);
	if (g->rare && pct(g, 5))
		return PICK(g, 0, AT(AREA_RO), AT(AREA_NONE), AT(AREA_NONE) - PAGE - 100);
	if (len >= BUF_PAGES * PAGE)
		return at;
	at += below(g, BUF_PAGES * PAGE - len);
	return aligned ? at & ~511ull : at;
}

unsigned int length(struct gen *g, bool aligned)
{
	if (aligned)
		return PICK(g, 512, 1024, 4096, 8192, 16384);
	if (g->rare && pct(g, 4))
		return odd(g);
	return PICK(g, 0, 1, 2, 7, 8, 8, 100, 512, 1000, 4096, 4097, 8192, 9000, 20000);
}

static uint64_t position(struct gen *g, bool aligned)
{
	if (aligned)
		return 512 * (uint64_t)below(g, 64);
	if (g->rare && pct(g, 4))
		return odd(g);
	return PICK(g, 0, 0, 0, -1ull, -1ull, 1, 100, 4096, 8000, 8192, 10000);
}

/* A user_data of one of the requests so far. */
static uint64_t known(struct gen *g)
{
	if (!g->datas || pct(g, 8))
		return below(g, 300);
	if (pct(g, 50))
		return g->data[g->datas - 1 - below(g, g->datas < 6 ? g->datas : 6)];
	return g->data[below(g, g->datas)];
}

static uint64_t fresh(struct gen *g)
{
	uint64_t data = 100 + g->p->nr;

	if (pct(g, g->p->compared ? 3 : 25))
		data = known(g);
	if (g->datas < ARRAY_SIZE(g->data))
		g->data[g->datas++] = data;
	return data;
}

/* A time: soon, never, or wrong. */
static uint64_t when(struct gen *g, struct call *c, bool *soon, bool absolute)
{
	struct __kernel_timespec ts = { .tv_sec = 10000 };

	*soon = pct(g, 40);
	if (absolute)
		ts.tv_sec = 1ll << 33;
	if (*soon) {
		ts.tv_sec = absolute ? below(g, 2) : 0;
		ts.tv_nsec = PICK(g, 0, 1, 1000, 500000);
	}
	if (g->rare && pct(g, 8)) {
		ts.tv_sec = PICK(g, -1, 0, 1ll << 40, 1ull << 62, 1ull << 63, -10);
		ts.tv_nsec = PICK(g, 0, -1, NSEC, NSEC - 1, 1ull << 40);
		*soon = true;
	}
	return put(g, c, &ts, sizeof(ts));
}

/* Files that data goes to and from.  *slow: a worker may have to take it */
static int data_fd(struct gen *g, bool *slow, bool *aligned)
{
	int fd;

	*slow = false;
	*aligned = false;
	if (!g->p->compared && pct(g, 30)) {
		fd = PICK(g, FD_EXT, FD_EXT, FD_EXT_BUF, FD_NVME, FD_NULLB, FD_EPOLL, FD_TIMER,
			  FD_SIGNAL, FD_UFFD, RING_FD, 3, 4, FD_LISTEN, FD_DGRAM1, FD_DGRAM2,
			  FD_TCP1, FD_TCP2);
		*aligned = pct(g, 95) && (fd == FD_EXT || fd == FD_NVME || fd == FD_NULLB);
		return fd;
	}
	fd = PICK(g, FD_TMP, FD_TMP_NB, FD_TMP_NB, FD_TMP_NB, FD_RDONLY, FD_APPEND, FD_PIPE_R,
		  FD_PIPE_R, FD_PIPE_W, FD_PIPE_W, FD_PIPE2_R, FD_PIPE2_W, FD_SOCK1, FD_SOCK2,
		  FD_EVENT, FD_ZERO, FD_NULL, FD_FULL_R, FD_FULL_W, FD_MEM, FD_DIR, FD_BAD);
	/* a worker reads files of a filesystem that can't be asked not to block */
	*slow = fd <= FD_APPEND || fd == FD_MEM || fd == FD_DIR;
	return fd;
}

/* A descriptor as the SQE names it, perhaps by its slot. */
void name_fd(struct gen *g, struct call *c, int fd)
{
	c->sqe.fd = fd;
	if (g->files[c->ring] && pct(g, 30)) {
		c->sqe.fd = below(g, g->files[c->ring]);
		c->sqe.flags |= IOSQE_FIXED_FILE;
		/* whatever file stands there */
		g->racy = true;
	}
}

/* An address for data; buffer i begins at page 2 * i, see iovecs(). */
static uint64_t data_address(struct gen *g, const struct call *c, bool fixed, unsigned int len,
			     bool aligned)
{
	if (!fixed || pct(g, 10))
		return buffer(g, len, aligned);
	return AT(AREA_BUF) + c->sqe.buf_index * 2 * PAGE + (aligned ? 0 : below(g, 200));
}

/* /dev/zero looks behind each page whether its reader has work to do.  A slot may have it. */
static unsigned int steady(struct gen *g, struct call *c, int fd, unsigned int len,
			   unsigned int most)
{
	bool polled = g->flags[c->ring] & IORING_SETUP_IOPOLL;
	bool zero = fd == FD_ZERO || (c->sqe.flags & IOSQE_FIXED_FILE && !polled);

	return g->p->compared && zero && len > most ? most : len;
}

/* Read or write. */
void gen_rw(struct gen *g, struct call *c)
{
	bool both = c->sqe.opcode == IORING_OP_READV_FIXED ||
		    c->sqe.opcode == IORING_OP_WRITEV_FIXED;
	bool vector = both || c->sqe.opcode == IORING_OP_READV ||
		      c->sqe.opcode == IORING_OP_WRITEV;
	bool fixed = both || c->sqe.opcode == IORING_OP_READ_FIXED ||
		     c->sqe.opcode == IORING_OP_WRITE_FIXED;
	bool iopoll = g->flags[c->ring] & IORING_SETUP_IOPOLL;
	bool aligned, slow;
	int fd = data_fd(g, &slow, &aligned);

	if (iopoll && pct(g, 93)) {
		fd = g->p->compared ? FD_NULLB : PICK(g, FD_NULLB, FD_EXT, FD_NVME);
		aligned = true;
	}
	g->racy |= slow;
	name_fd(g, c, fd);
	c->sqe.len = steady(g, c, fd, length(g, aligned), PAGE);
	c->sqe.off = position(g, aligned);
	if (fd >= FD_PIPE_R && fd <= FD_EVENT && pct(g, 80))
		c->sqe.len = fd == FD_EVENT ? 8 : PICK(g, 1, 2, 8, 100, 4096);
	if (fixed)
		c->sqe.buf_index = below(g, g->bufs[c->ring] + (pct(g, 10) ? 2 : 1));
	if (vector) {
		struct iovec iov[4];
		unsigned int i, nr = 1 + below(g, 4);

		for (i = 0; i < nr; i++) {
			iov[i].iov_len = steady(g, c, fd, length(g, aligned), PAGE / nr);
			/* which of two errors a range has is not said */
			if (both && g->p->compared && iov[i].iov_len > 2 * PAGE)
				iov[i].iov_len = 2 * PAGE;
			iov[i].iov_base = (void *)data_address(g, c, fixed, iov[i].iov_len, aligned);
		}
		c->sqe.addr = put(g, c, iov, nr * sizeof(iov[0]));
		c->sqe.len = nr;
	} else {
		c->sqe.addr = data_address(g, c, fixed, c->sqe.len, aligned);
	}
	if (pct(g, 8)) {
		c->sqe.rw_flags = PICK(g, RWF_NOWAIT, RWF_APPEND, RWF_DSYNC, RWF_SYNC,
				       RWF_HIPRI, RWF_NOAPPEND, 64, 128);
		g->racy |= c->sqe.rw_flags & (RWF_DSYNC | RWF_SYNC);
	}
	if (g->rare && pct(g, 3))
		c->sqe.ioprio = PICK(g, 1, 1 << 13, 2 << 13 | 4, 3 << 13, 4 << 13, 0xffff);
}

static void gen_poll(struct gen *g, struct call *c)
{
	int fd = PICK(g, FD_PIPE_R, FD_PIPE_R, FD_PIPE_W, FD_PIPE2_R, FD_SOCK1, FD_SOCK2,
		      FD_EVENT, FD_FULL_W, FD_FULL_R, FD_TMP, FD_BAD, FD_NULL);

	if (!g->p->compared && pct(g, 25))
		fd = PICK(g, RING_FD, RING_FD + 1, FD_EPOLL, FD_TIMER, FD_SIGNAL, FD_UFFD,
			  FD_LISTEN, FD_TCP_LISTEN, FD_DGRAM1, FD_TCP1);
	name_fd(g, c, fd);
	c->sqe.poll32_events = PICK(g, POLLIN, POLLIN, POLLIN, POLLOUT, POLLIN | POLLOUT, 0,
				    POLLIN | POLLRDHUP, POLLPRI, POLLERR);
	if (pct(g, 4))
		c->sqe.poll32_events |= PICK(g, 1u << 28, 1u << 30, 1u << 31, 1u << 29);
	if (pct(g, 35))
		c->sqe.len = IORING_POLL_ADD_MULTI;
	if (pct(g, 5))
		c->sqe.len |= IORING_POLL_ADD_LEVEL;
	/* one poll's wake would set another's file ready while both wait */
	g->racy = false;
}

static void gen_poll_remove(struct gen *g, struct call *c)
{
	c->sqe.addr = known(g);
	if (pct(g, 45)) {
		c->sqe.len = PICK(g, IORING_POLL_UPDATE_EVENTS, IORING_POLL_UPDATE_USER_DATA,
				  IORING_POLL_UPDATE_EVENTS | IORING_POLL_UPDATE_USER_DATA,
				  IORING_POLL_UPDATE_EVENTS | IORING_POLL_ADD_MULTI);
		if (c->sqe.len & IORING_POLL_UPDATE_EVENTS)
			c->sqe.poll32_events = PICK(g, POLLIN, POLLOUT, POLLIN | POLLOUT, 0);
		if (c->sqe.len & IORING_POLL_UPDATE_USER_DATA)
			c->sqe.off = fresh(g);
	}
}

static void gen_timeout(struct gen *g, struct call *c)
{
	bool soon;

	if (pct(g, 25))
		c->sqe.timeout_flags |= IORING_TIMEOUT_ABS;
	if (pct(g, 12))
		c->sqe.timeout_flags |= PICK(g, IORING_TIMEOUT_BOOTTIME, IORING_TIMEOUT_REALTIME,
					     IORING_TIMEOUT_CLOCK_MASK);
	if (pct(g, 15))
		c->sqe.timeout_flags |= IORING_TIMEOUT_ETIME_SUCCESS;
	c->sqe.addr = when(g, c, &soon, c->sqe.timeout_flags & IORING_TIMEOUT_ABS);
	c->sqe.len = 1;
	g->racy = soon;
	if (c->sqe.opcode == IORING_OP_LINK_TIMEOUT) {
		c->sqe.timeout_flags &= ~IORING_TIMEOUT_ETIME_SUCCESS;
		return;
	}
	if (pct(g, 45))
		c->sqe.off = 1 + below(g, 4);
	if (pct(g, 8) && (c->sqe.off || !soon || !g->p->compared))
		c->sqe.timeout_flags |= IORING_TIMEOUT_MULTISHOT;
	/* else a count that is reached would race with a time that has passed */
	if (g->p->compared && soon && !(c->sqe.timeout_flags & IORING_TIMEOUT_MULTISHOT))
		c->sqe.off = 0;
}

static void gen_timeout_remove(struct gen *g, struct call *c)
{
	bool soon;

	c->sqe.addr = known(g);
	if (pct(g, 50))
		return;
	c->sqe.timeout_flags = PICK(g, IORING_TIMEOUT_UPDATE, IORING_TIMEOUT_UPDATE,
				    IORING_TIMEOUT_UPDATE | IORING_TIMEOUT_ABS,
				    IORING_LINK_TIMEOUT_UPDATE,
				    IORING_TIMEOUT_UPDATE | IORING_LINK_TIMEOUT_UPDATE);
	c->sqe.addr2 = when(g, c, &soon, c->sqe.timeout_flags & IORING_TIMEOUT_ABS);
	g->racy = soon;
}

static void gen_cancel(struct gen *g, struct call *c)
{
	c->sqe.addr = known(g);
	if (pct(g, 45))
		return;
	c->sqe.cancel_flags = PICK(g, IORING_ASYNC_CANCEL_ALL, IORING_ASYNC_CANCEL_ANY,
				   IORING_ASYNC_CANCEL_FD,
				   IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_ALL,
				   IORING_ASYNC_CANCEL_USERDATA,
				   IORING_ASYNC_CANCEL_USERDATA | IORING_ASYNC_CANCEL_FD,
				   IORING_ASYNC_CANCEL_OP,
				   IORING_ASYNC_CANCEL_OP | IORING_ASYNC_CANCEL_ALL,
				   IORING_ASYNC_CANCEL_FD_FIXED | IORING_ASYNC_CANCEL_FD,
				   IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
	if (c->sqe.cancel_flags & IORING_ASYNC_CANCEL_FD) {
		c->sqe.fd = PICK(g, FD_PIPE_R, FD_PIPE_R, FD_SOCK1, FD_EVENT, FD_FULL_W, FD_BAD);
		if (c->sqe.cancel_flags & IORING_ASYNC_CANCEL_FD_FIXED)
			c->sqe.fd = below(g, 8);
	}
	if (c->sqe.cancel_flags & IORING_ASYNC_CANCEL_OP)
		c->sqe.len = PICK(g, IORING_OP_POLL_ADD, IORING_OP_TIMEOUT, IORING_OP_READ, 77);
}

static void gen_message(struct gen *g, struct call *c)
{
	c->sqe.fd = RING_FD + below(g, g->rings);
	if (pct(g, 5))
		c->sqe.fd = PICK(g, FD_NULL, FD_BAD, RING_FD + 3);
	/* which of the two CQEs gets the last room in its own ring is not said */
	if (g->p->keeps)
		c->sqe.fd = FD_NULL;
	c->sqe.off = 1000 + below(g, 5);
	c->sqe.len = PICK(g, 0, 1, 77, 0x7fffffff, 0x80000000u, 0xffffffffu);
	if (pct(g, 15)) {
		c->sqe.msg_ring_flags = PICK(g, IORING_MSG_RING_CQE_SKIP,
					     IORING_MSG_RING_FLAGS_PASS, 4, 3);
		c->sqe.file_index = PICK(g, 0, 1, 2, 4, 0xff00, 0x10000);
	}
	if (pct(g, 30)) {
		c->sqe.addr = IORING_MSG_SEND_FD;
		c->sqe.addr3 = below(g, 6);
		c->sqe.file_index = pct(g, 40) ? IORING_FILE_INDEX_ALLOC : below(g, 9);
		c->sqe.len = 0;
	}
	if (g->rare && pct(g, 4))
		c->sqe.addr = odd(g);
}

static void gen_open(struct gen *g, struct call *c)
{
	static const char * const path[] = {
		"f", "f", "f", "a", "a", "b", "", "/dev/null", "none/a", ".", "f/a", "/dev/zero",
	};
	uint64_t flags = PICK(g, O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_CREAT,
			      O_RDWR | O_CREAT | O_EXCL, O_WRONLY | O_TRUNC | O_CREAT,
			      O_RDONLY | O_CLOEXEC, O_DIRECTORY, O_RDWR | O_TMPFILE, O_PATH,
			      O_RDONLY | O_NONBLOCK, 3, 1u << 28);
	struct open_how how = { .flags = flags };
	const char *name = path[below(g, ARRAY_SIZE(path))];

	c->sqe.fd = PICK(g, FD_DIR, FD_DIR, FD_DIR, AT_FDCWD, FD_TMP, FD_BAD);
	c->sqe.addr = put(g, c, name, strlen(name) + 1);
	if (flags & (O_CREAT | O_TMPFILE) || pct(g, 10))
		how.mode = PICK(g, 0600, 0644, 0, 0777, 010000);
	if (c->sqe.opcode == IORING_OP_OPENAT2) {
		if (pct(g, 20))
			how.resolve = PICK(g, RESOLVE_BENEATH, RESOLVE_IN_ROOT, RESOLVE_CACHED,
					   RESOLVE_NO_SYMLINKS, 64);
		c->sqe.off = put(g, c, &how, sizeof(how));
		c->sqe.len = pct(g, 93) ? sizeof(how) : PICK(g, 0, 8, 16, 23, 25, 32, 200, 5000);
	} else {
		c->sqe.open_flags = flags;
		c->sqe.len = how.mode;
	}
	if (pct(g, 35))
		c->sqe.file_index = pct(g, 30) ? IORING_FILE_INDEX_ALLOC : below(g, 10);
	g->racy = true;
}

static void gen_close(struct gen *g, struct call *c)
{
	if (pct(g, 50)) {
		c->sqe.file_index = 1 + below(g, 9);
		return;
	}
	c->sqe.fd = PICK(g, 3, 4, 5, FD_PIPE_R, FD_PIPE_W, FD_SOCK1, FD_EVENT, FD_TMP_NB, FD_BAD,
			 FD_MEM, RING_FD + 3);
	if (!g->p->compared && pct(g, 20))
		c->sqe.fd = RING_FD + below(g, MAX_RINGS);
}

static void gen_fds(struct gen *g, int *fds, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		fds[i] = PICK(g, FD_PIPE_R, FD_PIPE_W, FD_TMP_NB, FD_EVENT, FD_SOCK1, FD_SOCK2,
			      FD_ZERO, FD_NULL, FD_RDONLY, FD_PIPE2_R, -1, -1);
		if (g->rare && pct(g, 5))
			fds[i] = PICK(g, -2, FD_BAD, RING_FD, RING_FD + 1, -3, FD_DIR);
		if (!g->p->compared && pct(g, 20))
			fds[i] = PICK(g, FD_EXT, FD_NVME, FD_NULLB, FD_UFFD, FD_EPOLL, FD_LISTEN,
				      FD_DGRAM1, FD_TCP1, FD_TCP2, FD_FULL_R);
	}
}

static void gen_files_update(struct gen *g, struct call *c)
{
	unsigned int nr = 1 + below(g, 4);
	int fds[4];

	gen_fds(g, fds, nr);
	c->sqe.addr = put(g, c, fds, nr * sizeof(fds[0]));
	c->sqe.len = nr;
	c->sqe.off = below(g, 8);
	if (pct(g, 25))
		c->sqe.off = IORING_FILE_INDEX_ALLOC;
}

static void gen_sync(struct gen *g, struct call *c)
{
	bool slow, aligned;

	name_fd(g, c, data_fd(g, &slow, &aligned));
	g->racy = true;
	c->sqe.off = PICK(g, 0, 0, 100, 4096, 8192, -1ull);
	if (c->sqe.opcode == IORING_OP_FALLOCATE) {
		c->sqe.addr = PICK(g, 1, 4096, 10000, 0);
		c->sqe.len = PICK(g, 0, 0, 1, 2, 3, 16, 256);
	} else {
		c->sqe.len = PICK(g, 0, 0, 4096, 100000);
		c->sqe.fsync_flags = PICK(g, 0, 0, 0, 1, 2, 4, 7, 8);
	}
}

/* An operation that this tree has not got: any fields */
static void gen_other(struct gen *g, struct call *c)
{
	c->sqe.opcode = g->p->compared ? IORING_OP_LAST + below(g, 190) :
			below(g, IORING_OP_LAST);
	c->sqe.fd = FD_FIRST + below(g, FD_END - FD_FIRST);
	c->sqe.addr = buffer(g, 64, false);
	c->sqe.len = below(g, 64);
}

static const struct {
	unsigned int op;
	unsigned int weight;
	void (*gen)(struct gen *g, struct call *c);
} ops[] = {
	{ IORING_OP_NOP, 9, NULL },
	{ IORING_OP_READ, 10, gen_rw },
	{ IORING_OP_WRITE, 9, gen_rw },
	{ IORING_OP_READV, 4, gen_rw },
	{ IORING_OP_WRITEV, 4, gen_rw },
	{ IORING_OP_READ_FIXED, 4, gen_rw },
	{ IORING_OP_WRITE_FIXED, 4, gen_rw },
	{ IORING_OP_POLL_ADD, 9, gen_poll },
	{ IORING_OP_POLL_REMOVE, 4, gen_poll_remove },
	{ IORING_OP_TIMEOUT, 8, gen_timeout },
	{ IORING_OP_TIMEOUT_REMOVE, 4, gen_timeout_remove },
	{ IORING_OP_ASYNC_CANCEL, 6, gen_cancel },
	{ IORING_OP_MSG_RING, 7, gen_message },
	{ IORING_OP_OPENAT, 3, gen_open },
	{ IORING_OP_OPENAT2, 2, gen_open },
	{ IORING_OP_CLOSE, 3, gen_close },
	{ IORING_OP_FILES_UPDATE, 4, gen_files_update },
	{ IORING_OP_FSYNC, 2, gen_sync },
	{ IORING_OP_FALLOCATE, 1, gen_sync },
	{ IORING_OP_SYNC_FILE_RANGE, 1, gen_sync },
	{ IORING_OP_LINK_TIMEOUT, 1, gen_timeout },
	{ IORING_OP_LAST, 1, gen_other },
};

/* One field gets a value that it should not have. */
static void spoil(struct gen *g, struct call *c)
{
#define MEMBER(name)	{ offsetof(struct io_uring_sqe, name), sizeof(c->sqe.name) }
	static const struct {
		uint8_t at, size;
	} members[] = {
		MEMBER(ioprio), MEMBER(buf_index), MEMBER(personality), MEMBER(splice_fd_in),
		MEMBER(rw_flags), MEMBER(off), MEMBER(len), MEMBER(addr), MEMBER(addr3),
		MEMBER(__pad2), MEMBER(flags),
	};
#undef MEMBER
	unsigned int i = below(g, ARRAY_SIZE(members));
	uint64_t value = pct(g, 20) ? 1 : odd(g);

	memcpy((char *)&c->sqe + members[i].at, &value, members[i].size);
	g->racy = true;
}

static void gen_op(struct gen *g, struct call *c, unsigned int op)
{
	unsigned int i;

	c->sqe.opcode = op;
	g->racy = false;
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (ops[i].op == op && ops[i].gen)
			ops[i].gen(g, c);
	gen_more(g, c);
	if (op == IORING_OP_NOP && pct(g, 15)) {
		c->sqe.nop_flags = pct(g, 85) ? IORING_NOP_INJECT_RESULT : odd(g);
		/* 6.12 has no other flags */
		if (!NEWER(g))
			c->sqe.nop_flags &= ~(2 * IORING_NOP_CQE32 - 1) | IORING_NOP_INJECT_RESULT;
		c->sqe.len = odd(g);
	} else if (op == IORING_OP_NOP && NEWER(g) && pct(g, 50) &&
		   g->flags[c->ring] & (IORING_SETUP_CQE32 | IORING_SETUP_CQE_MIXED)) {
		c->sqe.nop_flags = IORING_NOP_CQE32;
	}
	if (NEWER(g) && pct(g, g->flags[c->ring] & IORING_SETUP_SQE_MIXED ? 40 : 1)) {
		if (op == IORING_OP_NOP)
			c->sqe.opcode = IORING_OP_NOP128;
		else if (op == IORING_OP_URING_CMD)
			c->sqe.opcode = IORING_OP_URING_CMD128;
	}
	c->sqe.user_data = fresh(g);
}

static unsigned int draw_op(struct gen *g, bool iopoll)
{
	unsigned int i, sum = 0, at;

	if (iopoll && pct(g, 75))
		return PICK(g, IORING_OP_READ, IORING_OP_WRITE, IORING_OP_READ_FIXED,
			    IORING_OP_WRITE_FIXED, IORING_OP_READV, IORING_OP_NOP);
	if (pct(g, g->p->compared ? 18 : 45))
		return draw_more(g);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		sum += ops[i].weight;
	at = below(g, sum);
	for (i = 0; at >= ops[i].weight; i++)
		at -= ops[i].weight;
	return ops[i].op;
}

/* What is known to be answered otherwise, and would hide what comes behind it */
static void settle_flags(struct gen *g, struct call *c)
{
	if (!g->p->drains)
		c->sqe.flags &= ~IOSQE_IO_DRAIN;
	if (c->sqe.opcode == IORING_OP_TIMEOUT)
		c->sqe.flags &= ~IOSQE_CQE_SKIP_SUCCESS;
}

/* From which CQE on a TIMEOUT counts is known to differ where a link holds it back. */
static void count_nothing(struct call *c)
{
	c->sqe.off = 0;
	c->sqe.timeout_flags &= ~IORING_TIMEOUT_MULTISHOT;
}

static struct call *gen_sqe(struct gen *g, unsigned int ring, unsigned int op)
{
	struct call *c = add(g, C_SQE, ring);

	if (!c)
		return NULL;
	gen_op(g, c, op);
	if (!g->p->ordered && pct(g, 10)) {
		c->sqe.flags |= IOSQE_ASYNC;
		g->racy = true;
	}
	if (pct(g, 2) && (!g->p->compared || g->p->drains))
		c->sqe.flags |= IOSQE_IO_DRAIN;
	if (pct(g, 7))
		c->sqe.flags |= IOSQE_CQE_SKIP_SUCCESS;
	if (g->rare && pct(g, 4))
		spoil(g, c);
	if (g->p->compared)
		settle_flags(g, c);
	return c;
}

static bool waits_for_ever(const struct io_uring_sqe *sqe)
{
	return sqe->opcode == IORING_OP_POLL_ADD && sqe->fd == FD_EVENT &&
	       !(sqe->flags & (IOSQE_ASYNC | IOSQE_FIXED_FILE)) &&
	       sqe->poll32_events == POLLPRI;
}

/* Requests one after the other, perhaps with a limit behind one of them. */
static void gen_chain(struct gen *g, unsigned int ring, unsigned int nr)
{
	bool iopoll = g->flags[ring] & IORING_SETUP_IOPOLL;
	struct call *c, *last = NULL;

	while (nr--) {
		unsigned int op = draw_op(g, iopoll);

		/* a limit belongs behind something that waits for long */
		if (last && pct(g, 25))
			op = IORING_OP_LINK_TIMEOUT;
		c = gen_sqe(g, ring, op);
		if (!c)
			break;
		/* sometimes it does */
		if (op == IORING_OP_POLL_ADD && nr && pct(g, 30)) {
			c->sqe.fd = FD_EVENT;
			c->sqe.flags = 0;
			c->sqe.poll32_events = POLLPRI;
		}
		/* what ends by itself would race with a limit that passes at once */
		if (g->p->compared && op == IORING_OP_LINK_TIMEOUT && g->racy && last &&
		    !waits_for_ever(&last->sqe)) {
			struct __kernel_timespec never = { .tv_sec = 1ll << 33 };

			memcpy(c->blob, &never, sizeof(never));
			c->sqe.addr = ARG(c - g->p->call);
		}
		if (g->p->compared && op == IORING_OP_TIMEOUT)
			count_nothing(c);
		c->task = last ? last->task : c->task;
		c->sqe.flags |= pct(g, 25) ? IOSQE_IO_HARDLINK : IOSQE_IO_LINK;
		last = c;
	}
	if (last && (g->p->compared || pct(g, 92)))
		last->sqe.flags &= ~(IOSQE_IO_LINK | IOSQE_IO_HARDLINK);
}

/* Requests beside each other; in a compared program none of them races with another. */
static void gen_beside(struct gen *g, unsigned int ring, unsigned int nr)
{
	bool iopoll = g->flags[ring] & IORING_SETUP_IOPOLL;
	unsigned int i, first = g->p->nr;

	for (i = 0; i < nr; i++) {
		unsigned int op = draw_op(g, iopoll);
		struct call *c = gen_sqe(g, ring, op);

		if (!c)
			return;
		if (g->p->compared && g->racy && i) {
			g->p->nr--;
			continue;
		}
		if (!g->p->compared && pct(g, 15))
			c->sqe.flags |= pct(g, 30) ? IOSQE_IO_HARDLINK : IOSQE_IO_LINK;
		c->task = g->p->call[first].task;
		if (g->p->compared && g->racy)
			return;
	}
}

/* How long to wait: a[2] minimum, a[3] flags, a[4] form, a[5] argument */
static void gen_wait(struct gen *g, struct call *c)
{
	struct io_uring_getevents_arg arg = { };
	struct __kernel_timespec ts = { .tv_nsec = PICK(g, 0, 1, 100000, 3000000) };

	c->a[2] = below(g, 4);
	c->a[3] = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
	if (pct(g, 15)) {
		ts.tv_sec = PICK(g, -1, 0, -5, -1ull << 40);
		ts.tv_nsec = PICK(g, 0, -1, 5000000);
	}
	if (pct(g, 12)) {
		c->a[3] |= IORING_ENTER_ABS_TIMER;
		ts.tv_sec = below(g, 2);
	}
	if (pct(g, 20))
		arg.min_wait_usec = PICK(g, 0, 1, 100, 2000);
	arg.ts = put(g, c, &ts, sizeof(ts));
	/* 6.12 reads the time only if it waits */
	if (!NEWER(g) && arg.ts - ARG(c - g->p->call) >= ARG_SIZE)
		arg.ts = 0;
	if (g->rare && pct(g, 5)) {
		arg.sigmask = PICK(g, 0, AT(AREA_BUF));
		arg.sigmask_sz = PICK(g, 0, 8, 4, 16);
	}
	c->a[4] = put(g, c, &arg, sizeof(arg));
	c->a[5] = g->rare && pct(g, 3) ? odd(g) & 0xff : sizeof(arg);
	if (g->rare && pct(g, 10)) {
		/* the arguments may be in a region */
		c->a[3] |= IORING_ENTER_EXT_ARG_REG;
		c->a[4] = pct(g, 95) ? PICK(g, 0, 0, 0, 8, 4, 4096 - 64, 4096 - 56) : odd(g);
		c->a[5] = pct(g, 95) ? sizeof(struct io_uring_reg_wait) : odd(g) & 0xff;
	}
	if (!g->p->compared && pct(g, 6)) {
		/* as long as the program lives, or until something comes */
		c->a[3] = IORING_ENTER_GETEVENTS;
		c->a[4] = 0;
		c->a[5] = 0;
	}
}

static void gen_enter(struct gen *g, unsigned int ring, int task)
{
	struct call *c = add(g, C_ENTER, ring);

	if (!c)
		return;
	if (task >= 0)
		c->task = task;
	/* all that was prepared, or another number, which may cut a chain */
	c->a[0] = pct(g, 90);
	c->a[1] = g->p->compared ? 10 + below(g, 100) : below(g, 4);
	if (pct(g, 50))
		c->a[3] = IORING_ENTER_GETEVENTS;
	if (g->flags[ring] & IORING_SETUP_SQPOLL)
		c->a[3] |= IORING_ENTER_SQ_WAKEUP;
	if (!g->p->compared && pct(g, 35))
		gen_wait(g, c);
	if (g->rare && pct(g, 3))
		c->a[3] |= 1u << below(g, 8);
	/* what is refused leaves its batch to the next one, and both would race */
	if (g->p->compared)
		c->a[3] &= IORING_ENTER_GETEVENTS | IORING_ENTER_SQ_WAKEUP;
}

static void gen_batch(struct gen *g)
{
	unsigned int ring = below(g, g->rings), first = g->p->nr;

	if (pct(g, 35))
		gen_chain(g, ring, 2 + below(g, 4));
	else
		gen_beside(g, ring, 1 + below(g, 6));
	/* the next batch would race with what takes its time here */
	if ((pct(g, g->p->compared ? 95 : 80) || (g->p->compared && g->racy)) && first < g->p->nr)
		gen_enter(g, ring, g->p->call[first].task);
}

/* Buffers of two pages, each at an even page: READ_FIXED knows where they are. */
static uint64_t iovecs(struct gen *g, struct call *c, unsigned int nr)
{
	struct iovec iov[8];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		iov[i].iov_base = (void *)(AT(AREA_BUF) + i * 2 * PAGE);
		iov[i].iov_len = PICK(g, 2 * PAGE, 2 * PAGE, PAGE, 100);
		if (g->rare && pct(g, 6)) {
			iov[i].iov_base = (void *)PICK(g, 0, AT(AREA_NONE), AT(AREA_RO), 4096);
			iov[i].iov_len = PICK(g, 0, 1, PAGE, 1ull << 30, 1ull << 31, -1ull);
		}
		if (!g->p->compared && pct(g, 5))
			iov[i].iov_base = (void *)AT(AREA_HOLE);
	}
	return put(g, c, iov, nr * sizeof(iov[0]));
}

static uint64_t tags(struct gen *g, struct call *c, unsigned int nr)
{
	uint64_t tag[8];
	unsigned int i;

	for (i = 0; i < nr; i++)
		tag[i] = pct(g, 60) ? 2000 + below(g, 100) : 0;
	return put(g, c, tag, nr * sizeof(tag[0]));
}

static void reg_resource(struct gen *g, struct call *c, unsigned int op)
{
	struct io_uring_rsrc_register reg = { .nr = 1 + below(g, 6) };
	bool files = op == IORING_REGISTER_FILES || op == IORING_REGISTER_FILES2;
	int fds[8];

	if (files) {
		gen_fds(g, fds, reg.nr);
		reg.data = put(g, c, fds, reg.nr * sizeof(fds[0]));
		g->files[c->ring] = reg.nr;
	} else {
		reg.data = iovecs(g, c, reg.nr);
		g->bufs[c->ring] = reg.nr;
	}
	c->a[1] = reg.data;
	c->a[2] = reg.nr;
	if (op == IORING_REGISTER_FILES || op == IORING_REGISTER_BUFFERS)
		return;
	if (pct(g, 60))
		reg.tags = tags(g, c, reg.nr);
	if (pct(g, 15)) {
		reg.flags = IORING_RSRC_REGISTER_SPARSE;
		reg.data = 0;
		if (pct(g, 90))
			reg.tags = 0;
	}
	c->a[1] = put(g, c, &reg, sizeof(reg));
	c->a[2] = sizeof(reg);
}

static void reg_update(struct gen *g, struct call *c, unsigned int op)
{
	struct io_uring_rsrc_update2 up = { .offset = below(g, 6), .nr = 1 + below(g, 3) };
	int fds[4];

	if (op == IORING_REGISTER_BUFFERS_UPDATE) {
		up.data = iovecs(g, c, up.nr);
	} else {
		gen_fds(g, fds, up.nr);
		up.data = put(g, c, fds, up.nr * sizeof(fds[0]));
	}
	if (op != IORING_REGISTER_FILES_UPDATE && pct(g, 60))
		up.tags = tags(g, c, up.nr);
	if (g->rare && pct(g, 5))
		up.offset = odd(g);
	if (op == IORING_REGISTER_FILES_UPDATE) {
		c->a[1] = put(g, c, &up, sizeof(struct io_uring_files_update));
		c->a[2] = up.nr;
	} else {
		c->a[1] = put(g, c, &up, sizeof(up));
		c->a[2] = sizeof(up);
	}
}

static void reg_sync_cancel(struct gen *g, struct call *c)
{
	struct io_uring_sync_cancel_reg reg = {
		.addr = known(g), .fd = FD_PIPE_R, .timeout = { -1, -1 },
	};

	reg.flags = PICK(g, 0, 0, IORING_ASYNC_CANCEL_ALL, IORING_ASYNC_CANCEL_FD,
			 IORING_ASYNC_CANCEL_ANY, IORING_ASYNC_CANCEL_OP);
	if (pct(g, 30)) {
		reg.timeout.tv_sec = 0;
		reg.timeout.tv_nsec = PICK(g, 0, 1000, 1000000);
	}
	if (reg.flags & IORING_ASYNC_CANCEL_OP)
		reg.opcode = IORING_OP_POLL_ADD;
	if (g->rare && pct(g, 10))
		reg.pad[below(g, 7)] = 1;
	c->a[1] = put(g, c, &reg, sizeof(reg));
	c->a[2] = 1;
}

static void reg_restrictions(struct gen *g, struct call *c)
{
	struct io_uring_restriction res[8] = { };
	unsigned int i, nr = 1 + below(g, 8);

	for (i = 0; i < nr; i++) {
		res[i].opcode = PICK(g, IORING_RESTRICTION_REGISTER_OP, IORING_RESTRICTION_SQE_OP,
				     IORING_RESTRICTION_SQE_OP, IORING_RESTRICTION_SQE_OP,
				     IORING_RESTRICTION_SQE_FLAGS_ALLOWED,
				     IORING_RESTRICTION_SQE_FLAGS_REQUIRED);
		res[i].sqe_op = PICK(g, 0, 1, 2, 6, 11, 12, 14, 22, 23, 40, 3, 4, 100);
		if (res[i].opcode >= IORING_RESTRICTION_SQE_FLAGS_ALLOWED)
			res[i].sqe_flags = PICK(g, 0, 1, 4, 16, 31, 127);
	}
	c->a[1] = put(g, c, res, nr * sizeof(res[0]));
	c->a[2] = nr;
}

static void reg_ring_fds(struct gen *g, struct call *c)
{
	struct io_uring_rsrc_update up[2] = { };
	unsigned int i, nr = 1 + below(g, 2);

	for (i = 0; i < nr; i++) {
		up[i].offset = pct(g, 70) ? -1u : below(g, 17);
		up[i].data = RING_FD + below(g, g->rings);
		if (c->a[0] == IORING_UNREGISTER_RING_FDS) {
			up[i].offset = below(g, 4);
			up[i].data = 0;
		}
	}
	c->a[1] = put(g, c, up, nr * sizeof(up[0]));
	c->a[2] = nr;
}

static void reg_misc(struct gen *g, struct call *c)
{
	struct io_uring_file_index_range range = { .off = below(g, 6), .len = below(g, 6) };
	struct io_uring_clone_buffers clone = { .src_fd = RING_FD + below(g, g->rings) };
	struct io_uring_query_hdr hdr = { .query_data = AT(AREA_BUF) };
	struct io_uring_mem_region_reg region = { };
	struct io_uring_region_desc desc = { };
	struct io_uring_clock_register clock = { };
	uint32_t word[2] = { g->p->compared || pct(g, 50) ? FD_TOLD : FD_EVENT, 0 };

	switch (c->a[0]) {
	case IORING_REGISTER_EVENTFD:
	case IORING_REGISTER_EVENTFD_ASYNC:
		if (g->rare && pct(g, 10))
			word[0] = FD_NULL;
		c->a[1] = put(g, c, word, 4);
		c->a[2] = 1;
		break;
	case IORING_REGISTER_PROBE:
		c->a[1] = AT(AREA_BUF);
		c->a[2] = PICK(g, 0, 1, 10, 58, 64, 256, 257);
		break;
	case IORING_UNREGISTER_PERSONALITY:
		c->a[2] = below(g, 3);
		break;
	case IORING_REGISTER_IOWQ_AFF:
		word[0] = PICK(g, 1, 3, 0, 2, 0xff);
		c->a[1] = put(g, c, word, 8);
		c->a[2] = PICK(g, 8, 4, 1, 100, 0);
		break;
	case IORING_REGISTER_IOWQ_MAX_WORKERS:
		word[0] = below(g, 4);
		word[1] = below(g, 4);
		c->a[1] = put(g, c, word, 8);
		c->a[2] = pct(g, 90) ? 2 : below(g, 4);
		break;
	case IORING_REGISTER_FILE_ALLOC_RANGE:
		c->a[1] = put(g, c, &range, sizeof(range));
		break;
	case IORING_REGISTER_CLOCK:
		clock.clockid = PICK(g, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME, -1);
		c->a[1] = put(g, c, &clock, sizeof(clock));
		break;
	case IORING_REGISTER_MEM_REGION:
		if (pct(g, 60)) {
			desc.user_addr = AT(AREA_BUF);
			desc.flags = IORING_MEM_REGION_TYPE_USER;
		}
		desc.size = pct(g, 80) ? 4096 : odd(g) & 0xfffff;
		region.region_uptr = put(g, c, &desc, sizeof(desc));
		region.flags = pct(g, 70) ? IORING_MEM_REGION_REG_WAIT_ARG : below(g, 3);
		c->a[1] = put(g, c, &region, sizeof(region));
		c->a[2] = 1;
		break;
	case IORING_REGISTER_QUERY:
		hdr.query_op = below(g, 5);
		/* the sizes of headers are those of a kernel */
		if (g->p->compared && hdr.query_op == IO_URING_QUERY_SCQ)
			hdr.query_op = IO_URING_QUERY_OPCODES;
		hdr.size = PICK(g, 48, 48, 16, 10, 0, 4096, 4097, -1);
		c->a[1] = put(g, c, &hdr, sizeof(hdr));
		break;
	case IORING_REGISTER_CLONE_BUFFERS:
		if (pct(g, 20)) {
			clone.flags = IORING_REGISTER_SRC_REGISTERED;
			clone.src_fd = below(g, 3);
		}
		c->a[1] = put(g, c, &clone, sizeof(clone));
		c->a[2] = 1;
		break;
	}
}

/* Other sizes, with room for what is in the ring or without; do_register() maps the result. */
static void reg_resize(struct gen *g, struct call *c)
{
	struct io_uring_params p = {
		.sq_entries = PICK(g, 8, 16, 16, 32, 64, 1, 4, 5),
		.flags = PICK(g, 0, IORING_SETUP_CLAMP, IORING_SETUP_CQSIZE, IORING_SETUP_CQSIZE,
			      IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP),
	};

	if (p.flags & IORING_SETUP_CQSIZE)
		p.cq_entries = PICK(g, 16, 32, 64, 128, 4, 1, 20);
	if (g->rare && pct(g, 10))
		p.flags |= 1u << below(g, 20);
	if (g->rare && pct(g, 5))
		p.sq_entries = odd(g);
	c->a[1] = put(g, c, &p, sizeof(p));
	c->a[2] = 1;
}

/* Register a queue for RECV_ZC, or change it.  The refill ring is memory that calls write to. */
static void reg_queue(struct gen *g, struct call *c)
{
	struct io_uring_region_desc desc = {
		.user_addr = AT(AREA_BUF), .size = 2 * PAGE, .flags = IORING_MEM_REGION_TYPE_USER,
	};
	struct io_uring_zcrx_area_reg area = {
		.addr = AT(AREA_BUF + below(g, BUF_PAGES)), .len = PAGE * (1 + below(g, 3)),
	};
	struct zcrx_event_desc event = {
		.type_mask = below(g, 5), .flags = ZCRX_EVENT_DESC_FLAG_STATS, .stats_offset = 4096,
	};
	struct io_uring_zcrx_ifq_reg reg = { .rq_entries = PICK(g, 1, 8, 16, 200, 300, 0) };
	struct zcrx_ctrl ctrl = { .zcrx_id = pct(g, 90) ? 0 : below(g, 3), .op = below(g, 5) };

	if (c->a[0] == IORING_REGISTER_ZCRX_CTRL) {
		if (ctrl.op == ZCRX_CTRL_ADD_AREA)
			ctrl.zc_area.area_ptr = put(g, c, &area, sizeof(area));
		else if (ctrl.op == ZCRX_CTRL_ARM_EVENT)
			ctrl.zc_arm_event.event_type = below(g, 3);
		c->a[1] = put(g, c, &ctrl, sizeof(ctrl));
		return;
	}
	reg.flags = PICK(g, ZCRX_REG_NODEV, ZCRX_REG_NODEV, ZCRX_REG_NODEV, ZCRX_REG_IMPORT, 0, 3);
	if (reg.flags == ZCRX_REG_IMPORT)
		reg = (struct io_uring_zcrx_ifq_reg){ .flags = reg.flags, .if_idx = below(g, 99) };
	if (reg.flags & ZCRX_REG_NODEV) {
		reg.area_ptr = put(g, c, &area, sizeof(area));
		reg.region_ptr = put(g, c, &desc, sizeof(desc));
		if (pct(g, 50))
			reg.event_desc = put(g, c, &event, sizeof(event));
	}
	c->a[1] = put(g, c, &reg, sizeof(reg));
	c->a[2] = 1;
}

static void gen_register_op(struct gen *g, unsigned int ring, unsigned int op)
{
	struct call *c = add(g, C_REGISTER, ring);

	if (!c)
		return;
	c->a[0] = op;
	switch (op) {
	case IORING_REGISTER_FILES:
	case IORING_REGISTER_FILES2:
	case IORING_REGISTER_BUFFERS:
	case IORING_REGISTER_BUFFERS2:
		reg_resource(g, c, op);
		break;
	case IORING_REGISTER_FILES_UPDATE:
	case IORING_REGISTER_FILES_UPDATE2:
	case IORING_REGISTER_BUFFERS_UPDATE:
		reg_update(g, c, op);
		break;
	case IORING_REGISTER_SYNC_CANCEL:
		reg_sync_cancel(g, c);
		break;
	case IORING_REGISTER_RESTRICTIONS:
		reg_restrictions(g, c);
		break;
	case IORING_REGISTER_RING_FDS:
	case IORING_UNREGISTER_RING_FDS:
		reg_ring_fds(g, c);
		break;
	case IORING_REGISTER_PBUF_RING:
	case IORING_UNREGISTER_PBUF_RING:
	case IORING_REGISTER_PBUF_STATUS:
	case IORING_REGISTER_NAPI:
	case IORING_UNREGISTER_NAPI:
		reg_group(g, c);
		break;
	case IORING_REGISTER_ZCRX_IFQ:
	case IORING_REGISTER_ZCRX_CTRL:
		reg_queue(g, c);
		break;
	case IORING_REGISTER_RESIZE_RINGS:
		reg_resize(g, c);
		break;
	default:
		reg_misc(g, c);
	}
	if (g->rare && pct(g, 4))
		c->a[1 + below(g, 2)] = odd(g);
	/* by the index that the first registered ring gets */
	c->a[3] = pct(g, 5);
}

static void gen_register(struct gen *g)
{
	unsigned int op = PICK(g, IORING_REGISTER_FILES, IORING_REGISTER_FILES2,
			       IORING_REGISTER_BUFFERS, IORING_REGISTER_BUFFERS2,
			       IORING_REGISTER_FILES_UPDATE, IORING_REGISTER_FILES_UPDATE2,
			       IORING_REGISTER_FILES_UPDATE2, IORING_REGISTER_BUFFERS_UPDATE,
			       IORING_REGISTER_BUFFERS_UPDATE, IORING_UNREGISTER_FILES,
			       IORING_UNREGISTER_BUFFERS, IORING_REGISTER_EVENTFD,
			       IORING_REGISTER_EVENTFD_ASYNC, IORING_UNREGISTER_EVENTFD,
			       IORING_REGISTER_PROBE, IORING_REGISTER_PERSONALITY,
			       IORING_UNREGISTER_PERSONALITY, IORING_REGISTER_ENABLE_RINGS,
			       IORING_REGISTER_IOWQ_AFF, IORING_UNREGISTER_IOWQ_AFF,
			       IORING_REGISTER_IOWQ_MAX_WORKERS, IORING_REGISTER_RING_FDS,
			       IORING_UNREGISTER_RING_FDS, IORING_REGISTER_SYNC_CANCEL,
			       IORING_REGISTER_SYNC_CANCEL, IORING_REGISTER_FILE_ALLOC_RANGE,
			       IORING_REGISTER_CLOCK, IORING_REGISTER_CLONE_BUFFERS,
			       IORING_REGISTER_RESTRICTIONS);

	if (pct(g, 25))
		op = PICK(g, IORING_REGISTER_PBUF_RING, IORING_REGISTER_PBUF_RING,
			  IORING_REGISTER_PBUF_RING, IORING_REGISTER_PBUF_RING,
			  IORING_UNREGISTER_PBUF_RING, IORING_REGISTER_PBUF_STATUS);
	if (!g->p->compared && pct(g, 2))
		op = PICK(g, IORING_REGISTER_NAPI, IORING_UNREGISTER_NAPI);
	if (NEWER(g) && pct(g, 12))
		op = PICK(g, IORING_REGISTER_ZCRX_IFQ, IORING_REGISTER_ZCRX_CTRL,
			  IORING_REGISTER_QUERY, IORING_REGISTER_MEM_REGION,
			  IORING_REGISTER_RESIZE_RINGS, IORING_REGISTER_RESIZE_RINGS,
			  IORING_REGISTER_RESIZE_RINGS);
	if (!g->p->compared && pct(g, 5))
		op = below(g, IORING_REGISTER_LAST + 2);
	gen_register_op(g, below(g, g->rings), op);
}

static unsigned int ring_flags(struct gen *g)
{
	unsigned int flags = PICK(g, 0, 0, 0, IORING_SETUP_COOP_TASKRUN,
				  IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
				  IORING_SETUP_SINGLE_ISSUER,
				  IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
				  IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
				  IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
				  IORING_SETUP_TASKRUN_FLAG);

	if (pct(g, g->p->compared ? 4 : 12))
		flags = IORING_SETUP_SQPOLL;
	if (pct(g, 8))
		flags |= IORING_SETUP_IOPOLL;
	if (pct(g, 8))
		flags |= IORING_SETUP_SQE128;
	if (pct(g, 8))
		flags |= IORING_SETUP_CQE32;
	else if (NEWER(g) && pct(g, 10))
		flags |= IORING_SETUP_CQE_MIXED;
	if (NEWER(g) && !(flags & IORING_SETUP_SQE128) && pct(g, 8))
		flags |= IORING_SETUP_SQE_MIXED;
	if (NEWER(g) && flags & IORING_SETUP_IOPOLL && pct(g, 20))
		flags |= IORING_SETUP_HYBRID_IOPOLL;
	if (pct(g, 10))
		flags |= IORING_SETUP_NO_SQARRAY;
	if (pct(g, 65))
		flags |= IORING_SETUP_SUBMIT_ALL;
	if (pct(g, 6))
		flags |= IORING_SETUP_NO_MMAP;
	if (pct(g, 6))
		flags |= IORING_SETUP_R_DISABLED;
	if (pct(g, 5))
		flags |= IORING_SETUP_CLAMP;
	if (pct(g, 8))
		flags |= IORING_SETUP_ATTACH_WQ;
	if (g->rare && pct(g, 5))
		flags ^= 1u << below(g, NEWER(g) ? 22 : 18);
	return flags;
}

/* a[0] entries, a[1] flags, a[2] CQ entries, a[3] CPU, a[4] idle, a[5] ring to join */
static void gen_ring(struct gen *g, unsigned int ring)
{
	struct call *c = add(g, C_RING, ring);

	if (!c)
		return;
	c->a[0] = PICK(g, 4, 8, 8, 16, 16, 32, 1);
	c->a[1] = ring_flags(g);
	if (pct(g, g->p->ordered ? 30 : 12)) {
		c->a[1] |= IORING_SETUP_CQSIZE;
		c->a[2] = PICK(g, 4, 8, 16, 64);
		if (c->a[2] < c->a[0])
			c->a[2] = c->a[0];
	}
	if (g->rare && pct(g, 5))
		c->a[below(g, 3) & 2] = odd(g) & 0xffffffff;
	c->a[4] = 1;
	c->a[5] = RING_FD + below(g, ring + 1);
	if (g->rare && pct(g, 3))
		c->a[5] = PICK(g, FD_BAD, FD_NULL);
	g->flags[ring] = c->a[1];
	g->files[ring] = 0;
	g->bufs[ring] = 0;
	if (c->a[1] & IORING_SETUP_R_DISABLED && pct(g, 85)) {
		if (pct(g, 50))
			gen_register_op(g, ring, IORING_REGISTER_RESTRICTIONS);
		if (pct(g, 50))
			gen_register_op(g, ring, IORING_REGISTER_FILES);
		gen_register_op(g, ring, IORING_REGISTER_ENABLE_RINGS);
	}
}

/* Plain system calls beside: data in, data out, a descriptor gone */
static void gen_beside_ring(struct gen *g)
{
	struct call *c = add(g, pct(g, 65) ? C_FEED : pct(g, 75) ? C_DRAIN : C_CLOSE, 0);

	if (!c)
		return;
	if (c->kind == C_FEED)
		c->a[0] = PICK(g, FD_PIPE_W, FD_PIPE_W, FD_PIPE_W, FD_PIPE2_W, FD_SOCK1, FD_SOCK2,
			       FD_EVENT);
	if (c->kind == C_FEED && !g->p->compared && pct(g, 35))
		c->a[0] = PICK(g, FD_DGRAM1, FD_DGRAM2, FD_TCP1, FD_TCP2);
	else if (c->kind == C_DRAIN)
		c->a[0] = PICK(g, FD_PIPE_R, FD_PIPE2_R, FD_SOCK1, FD_SOCK2, FD_EVENT, FD_FULL_R,
			       FD_FULL_R);
	else
		c->a[0] = PICK(g, FD_PIPE_W, FD_PIPE_R, FD_SOCK1, FD_SOCK2, FD_TMP_NB, FD_EVENT,
			       FD_PIPE2_W, FD_FULL_R, 3, 4);
	c->a[1] = c->a[0] == FD_EVENT ? 8 : PICK(g, 1, 2, 8, 100, 4096, 8192);
}

static void gen_map(struct gen *g)
{
	struct call *c = add(g, C_MAP, below(g, g->rings));

	if (!c)
		return;
	c->a[0] = PICK(g, IORING_OFF_SQ_RING, IORING_OFF_CQ_RING, IORING_OFF_SQES, 0x1000,
		       IORING_OFF_SQES + PAGE, 1ull << 40, IORING_OFF_CQ_RING + PAGE,
		       IORING_OFF_PBUF_RING, 0x18000000, 0x20000000);
	c->a[1] = PICK(g, PAGE, 2 * PAGE, 4 * PAGE, 1 << 20, 0, 100);
	/* whether it is writable, shared */
	c->a[2] = pct(g, 85);
	c->a[3] = pct(g, 90);
}

static void gen_reap(struct gen *g)
{
	struct call *c = add(g, C_REAP, below(g, g->rings));

	if (c)
		c->a[0] = pct(g, 70) ? 1000 : 1 + below(g, 4);
}

static void gen_only_wait(struct gen *g)
{
	struct call *c = add(g, C_ENTER, below(g, g->rings));

	if (!c)
		return;
	c->a[0] = 2;
	gen_wait(g, c);
}

/* What only programs do that need not end the same way twice */
static void gen_wild(struct gen *g)
{
	struct call *c = add(g, C_SCRIBBLE + below(g, C_KINDS - C_SCRIBBLE), below(g, MAX_RINGS));
	unsigned int i;

	if (!c)
		return;
	for (i = 0; i < 4; i++)
		c->a[i] = next(g) >> 8;
	if (c->kind == C_PROVIDE)
		gen_provide(g, c);
	if (c->kind == C_START)
		c->kind = C_SLEEP;
	/* what ends the task, or most of the world, comes less often */
	if ((c->kind == C_EXEC || c->kind == C_EXIT || c->kind == C_KILL) && pct(g, 60))
		c->kind = C_GIVE;
	if (c->kind == C_SLEEP)
		c->a[0] = PICK(g, 0, 1, 50, 500, 3000);
	if (c->kind == C_SCRIBBLE)
		c->a[1] = odd(g);
	if (c->kind == C_FAIL)
		c->a[0] = 1 + below(g, pct(g, 50) ? 5 : 40);
}

/* Buffers for requests to choose from */
static void gen_groups(struct gen *g, unsigned int ring)
{
	unsigned int nr = 1 + below(g, 3);
	struct call *c;

	while (nr--) {
		gen_register_op(g, ring, IORING_REGISTER_PBUF_RING);
		c = add(g, C_PROVIDE, ring);
		if (c)
			gen_provide(g, c);
	}
}

static void gen_step(struct gen *g)
{
	unsigned int at = below(g, 100);
	struct call *c;

	if (!g->p->compared && pct(g, 30)) {
		gen_wild(g);
		return;
	}
	if (at < 55) {
		gen_batch(g);
	} else if (at < 58 && g->p->compared) {
		c = add(g, C_PROVIDE, 0);
		if (c)
			gen_provide(g, c);
	} else if (at < 68) {
		gen_beside_ring(g);
	} else if (at < 78) {
		gen_reap(g);
	} else if (at < 89) {
		gen_register(g);
	} else if (at < 95) {
		gen_only_wait(g);
	} else if (at < 97) {
		c = add(g, C_POLL, below(g, g->rings));
	} else if (at < 99) {
		gen_map(g);
	} else if (g->rings < MAX_RINGS) {
		gen_ring(g, g->rings++);
	} else {
		c = add(g, C_CLOSE, 0);
		if (c)
			c->a[0] = RING_FD + below(g, MAX_RINGS);
	}
}

static void gen_start(struct gen *g)
{
	unsigned int i, n = 1 + below(g, MAX_TASKS);
	struct call *c;

	for (i = 1; i < n; i++) {
		c = add(g, C_START, 0);
		c->a[0] = i;
		c->a[1] = pct(g, 25);	/* a process of its own */
	}
	g->tasks = n;
}

/*
 * Leave out of a program that runs on 6.12 what mainline has changed or added since, see
 * Documentation/io_uring/mainline.rst.
 */
static void suit_older(struct prog *p)
{
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		struct io_uring_sqe *sqe = &p->call[i].sqe;

		if (p->call[i].kind == C_REGISTER)
			p->dropped[i] = p->call[i].a[0] == IORING_UNREGISTER_FILES ||
					p->call[i].a[0] == IORING_UNREGISTER_BUFFERS ||
					p->call[i].a[0] == IORING_REGISTER_RESTRICTIONS ||
					p->call[i].a[0] == IORING_REGISTER_MEM_REGION;
		if (p->call[i].kind == C_ENTER)
			p->dropped[i] = p->call[i].a[3] & IORING_ENTER_EXT_ARG_REG;
		if (p->call[i].kind != C_SQE)
			continue;
		switch (sqe->opcode) {
		case IORING_OP_READ_FIXED:
			sqe->opcode = IORING_OP_READ;
			break;
		case IORING_OP_WRITE_FIXED:
			sqe->opcode = IORING_OP_WRITE;
			break;
		case IORING_OP_FGETXATTR:
		case IORING_OP_FSETXATTR:
			sqe->flags &= ~IOSQE_FIXED_FILE;
			break;
		case IORING_OP_ASYNC_CANCEL:
			if (sqe->cancel_flags & IORING_ASYNC_CANCEL_OP)
				sqe->len = IORING_OP_POLL_ADD;
			break;
		}
	}
}

/* Draw the whole program that belongs to @seed. */
void gen_prog(struct prog *p, uint64_t seed, bool compared)
{
	struct gen g = { .p = p, .state = seed * 2 + compared, .tasks = 1 };
	unsigned int i, steps;

	memset(p, 0, offsetof(struct prog, call));
	p->seed = seed;
	p->compared = compared;
	next(&g);
	p->ordered = compared && pct(&g, 50);
	p->keeps = compared && pct(&g, 15);
	p->drains = compared && pct(&g, 10);
	g.rare = pct(&g, 60);
	steps = 3 + below(&g, compared ? 9 : 30);
	if (!compared) {
		p->kill_us = pct(&g, 50) ? 1000 * (1 + below(&g, 60)) : 0;
		p->chance = pct(&g, 15) ? PICK(&g, 1, 5, 20) : 0;
		p->canary = pct(&g, 8);
	}
	g.rings = 1 + below(&g, 2);
	for (i = 0; i < g.rings; i++)
		gen_ring(&g, i);
	for (i = 0; i < g.rings; i++) {
		if (pct(&g, 50))
			gen_register_op(&g, i, pct(&g, 50) ? IORING_REGISTER_FILES :
					IORING_REGISTER_FILES2);
		if (pct(&g, 35))
			gen_register_op(&g, i, pct(&g, 50) ? IORING_REGISTER_BUFFERS :
					IORING_REGISTER_BUFFERS2);
		if (pct(&g, 15))
			gen_register_op(&g, i, IORING_REGISTER_EVENTFD);
		if (pct(&g, 35))
			gen_groups(&g, i);
	}
	if (!compared)
		gen_start(&g);
	while (steps--)
		gen_step(&g);
	if (OLDER && compared)
		suit_older(p);
}
