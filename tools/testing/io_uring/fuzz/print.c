// SPDX-License-Identifier: GPL-2.0
/* io_uring fuzz: a program as text, with names where there are names */
#include "fuzz.h"

static const char * const kinds[C_KINDS] = {
	[C_RING] = "ring", [C_SQE] = "sqe", [C_ENTER] = "enter", [C_REAP] = "reap",
	[C_REGISTER] = "register", [C_FEED] = "write", [C_DRAIN] = "read", [C_CLOSE] = "close",
	[C_DUP] = "dup", [C_MAP] = "mmap", [C_POLL] = "poll", [C_SCRIBBLE] = "scribble",
	[C_UNMAP] = "unmap", [C_MEMORY] = "memory", [C_GIVE] = "give", [C_START] = "start",
	[C_SLEEP] = "sleep", [C_EXEC] = "exec", [C_EXIT] = "exit", [C_KILL] = "kill",
	[C_FDINFO] = "fdinfo", [C_CRED] = "cred", [C_LIMIT] = "limit", [C_FAIL] = "fail-nth",
	[C_SEND_RING] = "send-ring", [C_EPOLL] = "epoll", [C_PROVIDE] = "provide",
	[C_CONNECT] = "connect",
};

static const char * const ops[IORING_OP_LAST] = {
	"NOP", "READV", "WRITEV", "FSYNC", "READ_FIXED", "WRITE_FIXED", "POLL_ADD",
	"POLL_REMOVE", "SYNC_FILE_RANGE", "SENDMSG", "RECVMSG", "TIMEOUT", "TIMEOUT_REMOVE",
	"ACCEPT", "ASYNC_CANCEL", "LINK_TIMEOUT", "CONNECT", "FALLOCATE", "OPENAT", "CLOSE",
	"FILES_UPDATE", "STATX", "READ", "WRITE", "FADVISE", "MADVISE", "SEND", "RECV",
	"OPENAT2", "EPOLL_CTL", "SPLICE", "PROVIDE_BUFFERS", "REMOVE_BUFFERS", "TEE",
	"SHUTDOWN", "RENAMEAT", "UNLINKAT", "MKDIRAT", "SYMLINKAT", "LINKAT", "MSG_RING",
	"FSETXATTR", "SETXATTR", "FGETXATTR", "GETXATTR", "SOCKET", "URING_CMD", "SEND_ZC",
	"SENDMSG_ZC", "READ_MULTISHOT", "WAITID", "FUTEX_WAIT", "FUTEX_WAKE", "FUTEX_WAITV",
	"FIXED_FD_INSTALL", "FTRUNCATE", "BIND", "LISTEN",
	[IORING_OP_RECV_ZC] = "RECV_ZC",
	[IORING_OP_EPOLL_WAIT] = "EPOLL_WAIT", [IORING_OP_PIPE] = "PIPE",
	[IORING_OP_READV_FIXED] = "READV_FIXED", [IORING_OP_WRITEV_FIXED] = "WRITEV_FIXED",
	[IORING_OP_NOP128] = "NOP128",
	[IORING_OP_URING_CMD128] = "URING_CMD128",
};

static const char * const regs[IORING_REGISTER_LAST] = {
	"BUFFERS", "-BUFFERS", "FILES", "-FILES", "EVENTFD", "-EVENTFD", "FILES_UPDATE",
	"EVENTFD_ASYNC", "PROBE", "PERSONALITY", "-PERSONALITY", "RESTRICTIONS", "ENABLE_RINGS",
	"FILES2", "FILES_UPDATE2", "BUFFERS2", "BUFFERS_UPDATE", "IOWQ_AFF", "-IOWQ_AFF",
	"IOWQ_MAX_WORKERS", "RING_FDS", "-RING_FDS", "PBUF_RING", "-PBUF_RING", "SYNC_CANCEL",
	"FILE_ALLOC_RANGE", "PBUF_STATUS", "NAPI", "-NAPI", "CLOCK", "CLONE_BUFFERS",
	"SEND_MSG_RING",
	[IORING_REGISTER_RESIZE_RINGS] = "RESIZE_RINGS",
	[IORING_REGISTER_ZCRX_IFQ] = "ZCRX_IFQ", [IORING_REGISTER_ZCRX_CTRL] = "ZCRX_CTRL",
	[IORING_REGISTER_MEM_REGION] = "MEM_REGION",
	[IORING_REGISTER_QUERY] = "QUERY",
};

static const char * const slots[FD_END - FD_FIRST] = {
	"tmp", "tmp-nonblock", "rdonly", "append", "pipe-r", "pipe-w", "pipe2-r", "pipe2-w",
	"sock1", "sock2", "eventfd", "zero", "null", "dir", "nullb", "full-r", "full-w",
	"memfd", "told", "ext4-direct", "ext4", "nvme", "epoll", "timerfd", "signalfd",
	"listen", "client", "dgram1", "dgram2", "tcp-listen", "tcp1", "tcp2", "nvme-char",
};

static const char * const setup[] = {
	"IOPOLL", "SQPOLL", "SQ_AFF", "CQSIZE", "CLAMP", "ATTACH_WQ", "R_DISABLED", "SUBMIT_ALL",
	"COOP", "TASKRUN_FLAG", "SQE128", "CQE32", "SINGLE", "DEFER", "NO_MMAP", "REG_FD_ONLY",
	"NO_SQARRAY", "HYBRID_IOPOLL", "CQE_MIXED", "SQE_MIXED", "SQ_REWIND",
};

static const char * const sqe_flags[] = {
	"FIXED_FILE", "DRAIN", "LINK", "HARDLINK", "ASYNC", "BUFFER_SELECT", "SKIP",
};

static const char * const enter_flags[] = {
	"GETEVENTS", "SQ_WAKEUP", "SQ_WAIT", "EXT_ARG", "REGISTERED", "ABS_TIMER",
	"EXT_ARG_REG", "NO_IOWAIT",
};

static void print_bits(FILE *f, uint64_t bits, const char * const *names, unsigned int nr)
{
	const char *sep = " ";
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!(bits >> i & 1))
			continue;
		fprintf(f, "%s%s", sep, names[i]);
		sep = "|";
	}
	if (bits >> nr)
		fprintf(f, "%s%#llx", sep, (unsigned long long)(bits >> nr << nr));
}

static void print_fd(FILE *f, int fd)
{
	if (fd >= FD_FIRST && fd < FD_END)
		fprintf(f, "%d(%s)", fd, slots[fd - FD_FIRST]);
	else if (fd >= RING_FD && fd < RING_FD + (int)MAX_RINGS)
		fprintf(f, "ring%d", fd - RING_FD);
	else
		fprintf(f, "%d", fd);
}

static void print_addr(FILE *f, uint64_t addr)
{
	static const struct {
		unsigned int first, end;
		const char *name;
	} areas[] = {
		{ AREA_BUF, AREA_RO, "BUF" }, { AREA_RO, AREA_NONE, "RO" },
		{ AREA_NONE, AREA_HOLE, "NONE" }, { AREA_HOLE, AREA_ARGS, "HOLE" },
		{ AREA_ARGS, AREA_OWN, "ARG" }, { AREA_OWN, AREA_END, "OWN" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(areas); i++) {
		if (addr < AT(areas[i].first) || addr >= AT(areas[i].end))
			continue;
		fprintf(f, "%s+%#llx", areas[i].name,
			(unsigned long long)(addr - AT(areas[i].first)));
		return;
	}
	fprintf(f, "%#llx", (unsigned long long)addr);
}

/* Eight bytes at a time, as small numbers where they are */
static void print_blob(FILE *f, const struct call *c)
{
	unsigned int i;
	int64_t word;

	if (!c->blob_len)
		return;
	fprintf(f, " {");
	for (i = 0; i + 8 <= c->blob_len; i += 8) {
		memcpy(&word, c->blob + i, 8);
		fprintf(f, " ");
		if (word > -100000 && word < 100000)
			fprintf(f, "%lld", (long long)word);
		else
			print_addr(f, word);
	}
	fprintf(f, " }");
}

#define FIELD(f, name, is) do { \
	if (is) \
		fprintf(f, " " name "=%#llx", (unsigned long long)(is)); \
} while (0)

static void print_sqe(FILE *f, const struct call *c)
{
	const struct io_uring_sqe *s = &c->sqe;

	if (s->opcode < IORING_OP_LAST)
		fprintf(f, " %s", ops[s->opcode]);
	else
		fprintf(f, " op %u", s->opcode);
	print_bits(f, s->flags, sqe_flags, ARRAY_SIZE(sqe_flags));
	fprintf(f, " fd=");
	if (s->flags & IOSQE_FIXED_FILE)
		fprintf(f, "[%d]", s->fd);
	else
		print_fd(f, s->fd);
	fprintf(f, " addr=");
	print_addr(f, s->addr);
	FIELD(f, "len", s->len);
	FIELD(f, "off", s->off);
	FIELD(f, "op_flags", s->rw_flags);
	FIELD(f, "ioprio", s->ioprio);
	FIELD(f, "buf_index", s->buf_index);
	FIELD(f, "personality", s->personality);
	FIELD(f, "file_index", s->file_index);
	FIELD(f, "addr3", s->addr3);
	FIELD(f, "pad2", s->__pad2[0]);
	fprintf(f, " data=%llu", (unsigned long long)s->user_data);
}

static void print_args(FILE *f, const struct call *c)
{
	unsigned int i, last = 0;

	for (i = 0; i < ARRAY_SIZE(c->a); i++)
		if (c->a[i])
			last = i + 1;
	for (i = 0; i < last; i++) {
		fprintf(f, " ");
		print_addr(f, c->a[i]);
	}
}

void print_call(FILE *f, const struct prog *p, unsigned int at)
{
	const struct call *c = &p->call[at];

	fprintf(f, "%3u  ", at);
	if (c->task)
		fprintf(f, "task%u: ", c->task);
	fprintf(f, "%s", kinds[c->kind]);
	switch (c->kind) {
	case C_SQE:
		fprintf(f, " ring%u", c->ring);
		print_sqe(f, c);
		break;
	case C_RING:
		fprintf(f, "%u entries=%llu", c->ring, (unsigned long long)c->a[0]);
		print_bits(f, c->a[1], setup, ARRAY_SIZE(setup));
		FIELD(f, "cq_entries", c->a[2]);
		FIELD(f, "cpu", c->a[3]);
		if (c->a[1] & IORING_SETUP_ATTACH_WQ) {
			fprintf(f, " wq_fd=");
			print_fd(f, c->a[5]);
		}
		break;
	case C_ENTER:
		fprintf(f, " ring%u submit=", c->ring);
		if (c->a[0] == 1)
			fprintf(f, "all");
		else
			fprintf(f, "%llu", (unsigned long long)(c->a[0] ? 0 : c->a[1]));
		fprintf(f, " min=%llu", (unsigned long long)c->a[2]);
		print_bits(f, c->a[3], enter_flags, ARRAY_SIZE(enter_flags));
		FIELD(f, "arg", c->a[4]);
		FIELD(f, "size", c->a[5]);
		break;
	case C_REGISTER:
		fprintf(f, " ring%u", c->ring);
		if (c->a[0] < IORING_REGISTER_LAST && regs[c->a[0]])
			fprintf(f, " %s", regs[c->a[0]]);
		else
			fprintf(f, " %llu", (unsigned long long)c->a[0]);
		fprintf(f, " arg=");
		print_addr(f, c->a[1]);
		fprintf(f, " nr=%lld%s", (long long)c->a[2], c->a[3] ? " by index 0" : "");
		break;
	case C_FEED:
	case C_DRAIN:
	case C_CLOSE:
		fprintf(f, " ");
		print_fd(f, c->a[0]);
		if (c->kind != C_CLOSE)
			fprintf(f, " %llu", (unsigned long long)c->a[1]);
		break;
	default:
		fprintf(f, " ring%u", c->ring);
		print_args(f, c);
	}
	print_blob(f, c);
	fprintf(f, "\n");
}

void print_prog(FILE *f, const struct prog *p)
{
	unsigned int i;

	fprintf(f, "program %llu%s%s%s", (unsigned long long)p->seed,
		p->compared ? ", compared" : "", p->ordered ? ", in order" : "",
		p->drains ? ", drains" : "");
	if (p->kill_us)
		fprintf(f, ", killed after %u us", p->kill_us);
	if (p->chance)
		fprintf(f, ", faults injected at %u %%", p->chance);
	if (p->canary)
		fprintf(f, ", beside a stranger");
	fprintf(f, "\n");
	for (i = 0; i < p->nr; i++)
		if (!p->dropped[i])
			print_call(f, p, i);
}
