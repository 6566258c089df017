// SPDX-License-Identifier: GPL-2.0
/* io_uring fuzz: sockets, groups of buffers, commands, names, futexes and the like */
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "gen.h"

#ifndef FUTEX2_SIZE_U32
#define FUTEX2_SIZE_U32	0x02
#define FUTEX2_PRIVATE	128
#endif

static int stream_fd(struct gen *g)
{
	if (g->p->compared)
		return PICK(g, FD_SOCK1, FD_SOCK2, FD_SOCK1, FD_SOCK2, FD_PIPE_R, FD_BAD);
	return PICK(g, FD_SOCK1, FD_SOCK2, FD_SOCK1, FD_SOCK2, FD_DGRAM1, FD_DGRAM2, FD_TCP1,
		    FD_TCP2, FD_TCP1, FD_CLIENT, FD_LISTEN, FD_PIPE_R, FD_BAD);
}

/* Mostly one that there is */
static unsigned int draw_group(struct gen *g, unsigned int ring)
{
	unsigned int at = below(g, GROUPS), i;

	if (pct(g, 20))
		return at;
	for (i = 0; i < GROUPS; i++)
		if (g->room[ring][(at + i) % GROUPS])
			return (at + i) % GROUPS;
	return at;
}

/* A buffer comes from a group. */
static void select_buffer(struct gen *g, struct call *c)
{
	c->sqe.flags |= IOSQE_BUFFER_SELECT;
	c->sqe.buf_group = draw_group(g, c->ring);
	c->sqe.addr = 0;
	c->sqe.len = PICK(g, 0, 0, 0, 1, 100, 4096, 100000);
}

static uint64_t put_name(struct gen *g, struct call *c)
{
	static const char * const names[] = {
		"f", "a", "b", "d", "d/a", "l", "", ".", "none/a", "s",
	};
	const char *name = names[below(g, ARRAY_SIZE(names))];

	return put(g, c, name, strlen(name) + 1);
}

static uint64_t put_address(struct gen *g, struct call *c, int fd, unsigned int *len)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "s" };
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = htons(TCP_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	*len = fd < FD_TCP_LISTEN ? offsetof(struct sockaddr_un, sun_path) + 2 : sizeof(in);
	if (pct(g, 5))
		*len = odd(g);
	return fd < FD_TCP_LISTEN ? put(g, c, &un, offsetof(struct sockaddr_un, sun_path) + 2) :
				    put(g, c, &in, sizeof(in));
}

static uint64_t put_message(struct gen *g, struct call *c, bool sends)
{
	struct iovec iov[3];
	struct msghdr msg = { };
	unsigned int i;

	msg.msg_iovlen = below(g, 4);
	for (i = 0; i < msg.msg_iovlen; i++) {
		iov[i].iov_len = length(g, false);
		iov[i].iov_base = (void *)buffer(g, iov[i].iov_len, false);
	}
	if (msg.msg_iovlen)
		msg.msg_iov = (void *)put(g, c, iov, msg.msg_iovlen * sizeof(iov[0]));
	if (c->sqe.flags & IOSQE_BUFFER_SELECT && msg.msg_iovlen > 1)
		msg.msg_iovlen = 1;
	if (pct(g, 25) && !sends) {
		msg.msg_name = (void *)buffer(g, 128, false);
		msg.msg_namelen = PICK(g, 0, 1, 16, 110, 128, 4096, 0x7fffffff);
	}
	if (pct(g, 25) && !sends) {
		msg.msg_control = (void *)buffer(g, 64, false);
		msg.msg_controllen = PICK(g, 0, 1, 16, 64, 4096);
	}
	return put(g, c, &msg, sizeof(msg));
}

/* Make the data of a SEND a vector. */
static void gen_vector(struct gen *g, struct call *c)
{
	struct iovec iov[3];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(iov); i++) {
		iov[i].iov_len = g->p->compared ? below(g, 40) : length(g, false);
		iov[i].iov_base = (void *)buffer(g, iov[i].iov_len, false);
	}
	c->sqe.addr = put(g, c, iov, sizeof(iov));
	c->sqe.len = PICK(g, 0, 1, 2, 3, 3, 4, 1025);
	c->sqe.ioprio |= IORING_SEND_VECTORIZED;
}

/* Transfer data of a registered buffer; buffer i begins at page 2 * i, see iovecs(). */
static void gen_registered(struct gen *g, struct call *c)
{
	if (pct(g, 90)) {
		c->sqe.flags &= ~IOSQE_BUFFER_SELECT;
		c->sqe.ioprio &= IORING_RECVSEND_POLL_FIRST;
	}
	c->sqe.buf_index = below(g, g->bufs[c->ring] + (pct(g, 10) ? 2 : 1));
	c->sqe.addr = AT(AREA_BUF) + c->sqe.buf_index * 2 * PAGE + below(g, 200);
	c->sqe.ioprio |= IORING_RECVSEND_FIXED_BUF;
}

static void gen_transfer(struct gen *g, struct call *c)
{
	bool sends = c->sqe.opcode != IORING_OP_RECV && c->sqe.opcode != IORING_OP_RECVMSG;
	bool message = c->sqe.opcode == IORING_OP_SENDMSG || c->sqe.opcode == IORING_OP_RECVMSG ||
		       c->sqe.opcode == IORING_OP_SENDMSG_ZC;
	unsigned int len;
	int fd = stream_fd(g);

	name_fd(g, c, fd);
	c->sqe.len = length(g, false);
	c->sqe.addr = buffer(g, c->sqe.len, false);
	if (pct(g, sends ? 35 : 60))
		select_buffer(g, c);
	if (message)
		c->sqe.addr = put_message(g, c, sends);
	if (message)
		c->sqe.len = pct(g, 90);
	if (!sends && pct(g, 50))
		c->sqe.ioprio |= IORING_RECV_MULTISHOT;
	if (pct(g, 12))
		c->sqe.ioprio |= IORING_RECVSEND_POLL_FIRST;
	if (g->p->compared) {
		/* a SEND that waits, or fails, is known to leave its group otherwise */
		if (sends)
			c->sqe.flags &= ~IOSQE_BUFFER_SELECT;
		c->sqe.len = c->sqe.addr ? below(g, 100) : PICK(g, 0, 0, 1, 100);
		/* 6.12 refuses a length of a multishot receive, which 6.17 has added */
		if (!NEWER(g) && c->sqe.opcode == IORING_OP_RECV && c->sqe.len)
			c->sqe.ioprio &= ~IORING_RECV_MULTISHOT;
		c->sqe.msg_flags = PICK(g, 0, 0, 0, MSG_DONTWAIT, MSG_PEEK, MSG_NOSIGNAL);
		if (NEWER(g) && sends && !message && pct(g, 12))
			gen_vector(g, c);
		if (NEWER(g) && !message && pct(g, 10))
			gen_registered(g, c);
		return;
	}
	c->sqe.msg_flags = PICK(g, 0, 0, 0, 0, MSG_DONTWAIT, MSG_WAITALL, MSG_PEEK, MSG_TRUNC,
				MSG_OOB, MSG_NOSIGNAL, MSG_MORE, MSG_ERRQUEUE, MSG_CMSG_CLOEXEC);
	if (c->sqe.flags & IOSQE_BUFFER_SELECT && pct(g, 45))
		c->sqe.ioprio |= IORING_RECVSEND_BUNDLE;
	if (sends && !message && pct(g, 8)) {
		c->sqe.addr2 = put_address(g, c, fd, &len);
		c->sqe.addr_len = len;
	}
	if (sends && !message && pct(g, 12))
		gen_vector(g, c);
	if (!message && pct(g, 10))
		gen_registered(g, c);
	if (c->sqe.opcode >= IORING_OP_SEND_ZC && pct(g, 20))
		c->sqe.addr3 = below(g, 6);
	if (g->rare && pct(g, 4))
		c->sqe.ioprio |= 1 << below(g, 16);
}

static void gen_multiread(struct gen *g, struct call *c)
{
	int fd = PICK(g, FD_PIPE_R, FD_PIPE_R, FD_PIPE2_R, FD_SOCK1, FD_DGRAM1, FD_EVENT,
		      FD_TCP1, FD_FULL_R, FD_TIMER, FD_TMP, FD_BAD);

	if (g->p->compared)
		fd = PICK(g, FD_PIPE_R, FD_PIPE_R, FD_PIPE2_R, FD_SOCK1, FD_EVENT, FD_FULL_R,
			  FD_BAD);
	name_fd(g, c, fd);
	c->sqe.off = PICK(g, 0, -1ull, 100);
	if (pct(g, 95))
		select_buffer(g, c);
	if (c->sqe.opcode == IORING_OP_READV) {
		struct iovec iov = { (void *)buffer(g, 100, false), 100 };

		c->sqe.addr = put(g, c, &iov, sizeof(iov));
		c->sqe.len = 1;
	}
}

static void direct(struct gen *g, struct call *c)
{
	if (pct(g, 45))
		c->sqe.file_index = pct(g, 50) ? IORING_FILE_INDEX_ALLOC : below(g, 9);
}

static void gen_accept(struct gen *g, struct call *c)
{
	uint32_t len = PICK(g, 0, 2, 16, 110, 0xffffffff);

	name_fd(g, c, PICK(g, FD_LISTEN, FD_LISTEN, FD_TCP_LISTEN, FD_TCP_LISTEN, FD_SOCK1,
			   FD_CLIENT));
	if (pct(g, 30)) {
		c->sqe.addr = buffer(g, 128, false);
		c->sqe.addr2 = put(g, c, &len, sizeof(len));
	}
	c->sqe.accept_flags = PICK(g, 0, 0, SOCK_CLOEXEC, SOCK_NONBLOCK, 1);
	c->sqe.ioprio = PICK(g, 0, IORING_ACCEPT_MULTISHOT, IORING_ACCEPT_MULTISHOT,
			     IORING_ACCEPT_DONTWAIT, IORING_ACCEPT_POLL_FIRST,
			     IORING_ACCEPT_MULTISHOT | IORING_ACCEPT_POLL_FIRST);
	direct(g, c);
	if (c->sqe.file_index)
		c->sqe.accept_flags &= ~SOCK_CLOEXEC;
}

static void gen_socket(struct gen *g, struct call *c)
{
	unsigned int len;

	switch (c->sqe.opcode) {
	case IORING_OP_SOCKET:
		c->sqe.fd = PICK(g, AF_UNIX, AF_UNIX, AF_INET, AF_INET, 99);
		c->sqe.off = PICK(g, SOCK_STREAM, SOCK_DGRAM, SOCK_STREAM | SOCK_NONBLOCK, 77);
		direct(g, c);
		return;
	case IORING_OP_SHUTDOWN:
		name_fd(g, c, stream_fd(g));
		c->sqe.len = below(g, 4);
		return;
	case IORING_OP_LISTEN:
		name_fd(g, c, PICK(g, FD_LISTEN, FD_CLIENT, FD_TCP_LISTEN, FD_TCP1));
		c->sqe.len = below(g, 5);
		return;
	}
	name_fd(g, c, PICK(g, FD_CLIENT, FD_CLIENT, FD_TCP1, FD_DGRAM1));
	c->sqe.addr = put_address(g, c, c->sqe.fd, &len);
	c->sqe.addr2 = len;
}

static void gen_command(struct gen *g, struct call *c)
{
	int fd = PICK(g, FD_SOCK1, FD_TCP1, FD_DGRAM1, FD_TCP_LISTEN, FD_NULL, FD_NULL, FD_ZERO,
		      FD_NG, FD_NG, FD_NVME, FD_NULLB, FD_PIPE_R);
	uint32_t value = below(g, 3);

	if (g->p->compared)
		fd = PICK(g, FD_SOCK1, FD_SOCK2, FD_NULL, FD_ZERO, FD_PIPE_R);
	name_fd(g, c, fd);
	c->sqe.cmd_op = PICK(g, SOCKET_URING_OP_SIOCINQ, SOCKET_URING_OP_SIOCOUTQ,
			     SOCKET_URING_OP_GETSOCKOPT, SOCKET_URING_OP_SETSOCKOPT, 4, -1u);
	if (pct(g, 15))
		c->sqe.uring_cmd_flags = PICK(g, IORING_URING_CMD_FIXED, 2);
	if (fd == FD_NG) {
		/* what the drive is asked for: a flush, a read of nothing */
		c->sqe.cmd_op = 0xc0484e80;
		((uint8_t *)c->sqe.cmd)[0] = PICK(g, 0, 0, 2, 0x7f);
		((uint8_t *)c->sqe.cmd)[4] = 1;
		return;
	}
	c->sqe.level = PICK(g, SOL_SOCKET, SOL_SOCKET, IPPROTO_TCP, 77);
	c->sqe.optname = PICK(g, SO_RCVBUF, SO_SNDBUF, SO_TYPE, SO_REUSEADDR, SO_LINGER, 1, 999);
	c->sqe.optlen = PICK(g, 4, 4, 4, 0, 8, -1u);
	c->sqe.optval = put(g, c, &value, sizeof(value));
}

static void gen_buffers(struct gen *g, struct call *c)
{
	c->sqe.buf_group = below(g, GROUPS + 1);
	c->sqe.fd = PICK(g, 1, 2, 3, 8, 16, 0, 70000);
	if (c->sqe.opcode == IORING_OP_REMOVE_BUFFERS)
		return;
	c->sqe.len = PICK(g, 1, 100, 512, 4096, 4096, 0, 0x7fffffff);
	c->sqe.addr = pct(g, 85) ? AT(AREA_BUF) : buffer(g, 100, false);
	c->sqe.off = PICK(g, 0, 0, 1, 8, 65535);
}

static void gen_pipe(struct gen *g, struct call *c)
{
	int in = PICK(g, FD_PIPE_R, FD_PIPE2_R, FD_FULL_R, FD_TMP, FD_SOCK1, FD_EXT_BUF, FD_BAD);

	/* a splice that waits for a socket keeps the pipe locked, and world_state() would wait */
	if (g->p->compared && in == FD_SOCK1)
		in = FD_PIPE_R;
	name_fd(g, c, PICK(g, FD_PIPE_W, FD_PIPE2_W, FD_FULL_W, FD_SOCK2, FD_TMP, FD_EXT_BUF));
	c->sqe.splice_fd_in = in;
	c->sqe.splice_flags = PICK(g, 0, 0, 0, 1, 2, 4, 16);
	if (g->files[c->ring] && pct(g, 20)) {
		c->sqe.splice_fd_in = below(g, g->files[c->ring]);
		c->sqe.splice_flags |= SPLICE_F_FD_IN_FIXED;
	}
	c->sqe.len = PICK(g, 0, 1, 8, 4096, 100000);
	if (c->sqe.opcode == IORING_OP_TEE)
		return;
	c->sqe.off = pct(g, 90) ? -1ull : 100;
	c->sqe.splice_off_in = in == FD_TMP || in == FD_EXT_BUF ? below(g, 2) - 1ull : -1ull;
}

static void gen_name(struct gen *g, struct call *c)
{
	c->sqe.fd = PICK(g, FD_DIR, FD_DIR, AT_FDCWD, FD_TMP, FD_BAD);
	c->sqe.addr = put_name(g, c);
	switch (c->sqe.opcode) {
	case IORING_OP_UNLINKAT:
		c->sqe.unlink_flags = PICK(g, 0, 0, AT_REMOVEDIR, 1);
		break;
	case IORING_OP_MKDIRAT:
		c->sqe.len = 0755;
		break;
	case IORING_OP_STATX:
		/* world_state() must not see the times; rings of buffers seldom reach so far */
		c->sqe.addr2 = g->p->compared ? AT(AREA_GROUP + 3) - 256 : buffer(g, 256, false);
		c->sqe.len = PICK(g, 0x7ff, 0, 0xfff, 1u << 31);
		c->sqe.statx_flags = PICK(g, 0, AT_EMPTY_PATH, AT_STATX_FORCE_SYNC, 1);
		break;
	case IORING_OP_RENAMEAT:
	case IORING_OP_LINKAT:
		c->sqe.len = PICK(g, FD_DIR, AT_FDCWD);
		c->sqe.addr2 = put_name(g, c);
		c->sqe.rename_flags = PICK(g, 0, 0, 0, 1, 2, 4);
		break;
	default:
		c->sqe.addr2 = put_name(g, c);
	}
}

static void gen_attribute(struct gen *g, struct call *c)
{
	static const char name[] = "user.fuzz";

	name_fd(g, c, PICK(g, FD_TMP, FD_EXT_BUF, FD_EXT, FD_PIPE_R));
	c->sqe.addr = put(g, c, name, sizeof(name));
	c->sqe.addr2 = buffer(g, 64, false);
	c->sqe.len = PICK(g, 0, 1, 64, 65536, 70000);
	c->sqe.xattr_flags = PICK(g, 0, 0, 1, 2, 8);
	if (c->sqe.opcode == IORING_OP_SETXATTR || c->sqe.opcode == IORING_OP_GETXATTR)
		c->sqe.addr3 = put_name(g, c);
}

static void gen_futex(struct gen *g, struct call *c)
{
	struct futex_waitv waitv[4] = { };
	unsigned int i, nr = 1 + below(g, 4);

	c->sqe.fd = FUTEX2_SIZE_U32 | (pct(g, 60) ? FUTEX2_PRIVATE : 0);
	/* the word is what the pattern has there, or not */
	c->sqe.addr = AT(AREA_BUF) + 4 * below(g, 4);
	c->sqe.addr2 = pct(g, 50) ? below(g, 3) : 0x64452607;
	c->sqe.addr3 = pct(g, 90) ? 0xffffffff : odd(g);
	if (pct(g, 5))
		c->sqe.addr = buffer(g, 4, false);
	if (c->sqe.opcode != IORING_OP_FUTEX_WAITV)
		return;
	for (i = 0; i < nr; i++) {
		waitv[i].uaddr = AT(AREA_BUF + 15) + 4096 - 4 * (1 + below(g, 4));
		waitv[i].val = pct(g, 60) ? 0 : below(g, 3);
		waitv[i].flags = c->sqe.fd;
	}
	c->sqe = (struct io_uring_sqe){
		.opcode = IORING_OP_FUTEX_WAITV, .flags = c->sqe.flags,
		.addr = put(g, c, waitv, nr * sizeof(waitv[0])), .len = nr,
	};
}

static void gen_event(struct gen *g, struct call *c)
{
	struct epoll_event e = { .events = EPOLLIN | (pct(g, 30) ? EPOLLET : 0) };

	c->sqe.fd = pct(g, 90) ? FD_EPOLL : FD_PIPE_R;
	c->sqe.len = PICK(g, EPOLL_CTL_ADD, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD);
	c->sqe.off = PICK(g, FD_PIPE_R, FD_SOCK1, RING_FD, RING_FD + 1, FD_EPOLL, FD_LISTEN);
	c->sqe.addr = put(g, c, &e, sizeof(e));
}

static void gen_little(struct gen *g, struct call *c)
{
	switch (c->sqe.opcode) {
	case IORING_OP_WAITID:
		c->sqe.len = PICK(g, P_ALL, P_ALL, P_PID, 77);
		c->sqe.fd = below(g, 3);
		c->sqe.file_index = PICK(g, WEXITED, WEXITED | WNOHANG, WSTOPPED | WEXITED, 0);
		c->sqe.addr2 = pct(g, 60) ? buffer(g, 128, false) : 0;
		break;
	case IORING_OP_FIXED_FD_INSTALL:
		c->sqe.fd = below(g, 6);
		c->sqe.flags |= pct(g, 92) ? IOSQE_FIXED_FILE : 0;
		c->sqe.install_fd_flags = PICK(g, 0, 0, IORING_FIXED_FD_NO_CLOEXEC, 2);
		break;
	case IORING_OP_FTRUNCATE:
		name_fd(g, c, PICK(g, FD_TMP, FD_MEM, FD_EXT_BUF, FD_RDONLY, FD_PIPE_R));
		c->sqe.off = PICK(g, 0, 1, 4096, 100000, -1ull);
		break;
	case IORING_OP_FADVISE:
		name_fd(g, c, PICK(g, FD_TMP, FD_EXT_BUF, FD_PIPE_R));
		c->sqe.len = length(g, false);
		c->sqe.fadvise_advice = below(g, 8);
		break;
	case IORING_OP_PIPE:
		c->sqe.addr = pct(g, 95) ? buffer(g, 8, true) : 8;
		c->sqe.pipe_flags = PICK(g, 0, O_CLOEXEC, O_NONBLOCK, O_DIRECT, 1);
		direct(g, c);
		break;
	case IORING_OP_RECV_ZC:
		name_fd(g, c, PICK(g, FD_TCP1, FD_TCP2, FD_TCP1, FD_SOCK1, FD_TCP_LISTEN));
		c->sqe.ioprio = pct(g, 97) ? IORING_RECV_MULTISHOT : 0;
		c->sqe.ioprio |= pct(g, 20) ? IORING_RECVSEND_POLL_FIRST : 0;
		c->sqe.len = PICK(g, 0, 0, 0, 1, 100, 5000);
		c->sqe.zcrx_ifq_idx = pct(g, 95) ? 0 : below(g, 3);
		break;
	case IORING_OP_EPOLL_WAIT:
		name_fd(g, c, PICK(g, FD_EPOLL, FD_EPOLL, FD_EPOLL, FD_PIPE_R));
		c->sqe.addr = buffer(g, 64, true);
		c->sqe.len = PICK(g, 1, 1, 4, 0, -1u);
		break;
	case IORING_OP_MADVISE:
		c->sqe.addr = AT(AREA_BUF + below(g, BUF_PAGES));
		c->sqe.len = PAGE * (1 + below(g, 3));
		c->sqe.fadvise_advice = PICK(g, 0, 1, 2, 3, 4, 8, 21, 99);
		break;
	}
}

static const struct {
	unsigned int op;
	unsigned int weight;
	void (*gen)(struct gen *g, struct call *c);
	unsigned int compared;		/* weight in compared programs */
} ops[] = {
	{ IORING_OP_RECV, 14, gen_transfer, 6 },
	{ IORING_OP_SEND, 12, gen_transfer, 5 },
	{ IORING_OP_RECVMSG, 7, gen_transfer, 4 },
	{ IORING_OP_SENDMSG, 6, gen_transfer, 4 },
	{ IORING_OP_SEND_ZC, 3, gen_transfer, 3 },
	{ IORING_OP_SENDMSG_ZC, 2, gen_transfer, 2 },
	{ IORING_OP_READ_MULTISHOT, 6, gen_multiread, 3 },
	{ IORING_OP_PROVIDE_BUFFERS, 6, gen_buffers, 4 },
	{ IORING_OP_REMOVE_BUFFERS, 2, gen_buffers, 2 },
	{ IORING_OP_ACCEPT, 7, gen_accept, 4 },
	{ IORING_OP_CONNECT, 4, gen_socket, 3 },
	{ IORING_OP_SHUTDOWN, 2, gen_socket, 2 },
	{ IORING_OP_SOCKET, 2, gen_socket, 2 },
	{ IORING_OP_BIND, 1, gen_socket, 1 },
	{ IORING_OP_LISTEN, 1, gen_socket, 1 },
	{ IORING_OP_URING_CMD, 7, gen_command, 2 },
	{ IORING_OP_SPLICE, 4, gen_pipe, 3 },
	{ IORING_OP_TEE, 2, gen_pipe, 2 },
	{ IORING_OP_FUTEX_WAIT, 4, gen_futex, 1 },
	{ IORING_OP_FUTEX_WAKE, 3, gen_futex, 1 },
	{ IORING_OP_FUTEX_WAITV, 3, gen_futex, 2 },
	{ IORING_OP_WAITID, 3, gen_little, 2 },
	{ IORING_OP_FIXED_FD_INSTALL, 2, gen_little, 2 },
	{ IORING_OP_FTRUNCATE, 1, gen_little, 2 },
	{ IORING_OP_FADVISE, 1, gen_little, 1 },
	{ IORING_OP_MADVISE, 2, gen_little, 1 },
	{ IORING_OP_EPOLL_CTL, 2, gen_event, 2 },
	{ IORING_OP_PIPE, 2, gen_little, !OLDER * 2 },
	{ IORING_OP_EPOLL_WAIT, 3, gen_little, !OLDER * 2 },
	{ IORING_OP_READV_FIXED, 3, gen_rw, !OLDER * 3 },
	{ IORING_OP_WRITEV_FIXED, 3, gen_rw, !OLDER * 3 },
	/* into how many pieces TCP divides the data is not said */
	{ IORING_OP_RECV_ZC, 3, gen_little, 0 },
	{ IORING_OP_STATX, 1, gen_name, 2 },
	{ IORING_OP_UNLINKAT, 1, gen_name, 2 },
	{ IORING_OP_RENAMEAT, 1, gen_name, 2 },
	{ IORING_OP_MKDIRAT, 1, gen_name, 2 },
	{ IORING_OP_SYMLINKAT, 1, gen_name, 1 },
	{ IORING_OP_LINKAT, 1, gen_name, 1 },
	{ IORING_OP_SETXATTR, 1, gen_attribute, 1 },
	{ IORING_OP_GETXATTR, 1, gen_attribute, 1 },
	{ IORING_OP_FSETXATTR, 1, gen_attribute, 1 },
	{ IORING_OP_FGETXATTR, 1, gen_attribute, 1 },
};

static unsigned int weight(struct gen *g, unsigned int i)
{
	return g->p->compared ? ops[i].compared : ops[i].weight;
}

unsigned int draw_more(struct gen *g)
{
	unsigned int i, sum = 0, at;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		sum += weight(g, i);
	at = below(g, sum);
	for (i = 0; at >= weight(g, i); i++)
		at -= weight(g, i);
	return ops[i].op;
}

/* Fill in an SQE of these operations; a plain read sometimes picks its buffer from a group. */
void gen_more(struct gen *g, struct call *c)
{
	unsigned int i;

	if ((c->sqe.opcode == IORING_OP_READ || c->sqe.opcode == IORING_OP_READV) &&
	    !g->p->compared && pct(g, 20))
		gen_multiread(g, c);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (ops[i].op == c->sqe.opcode && weight(g, i)) {
			ops[i].gen(g, c);
			/* only these end, or wait, in the call that submits them */
			if (ops[i].gen != gen_transfer && ops[i].gen != gen_multiread &&
			    ops[i].gen != gen_futex && ops[i].gen != gen_command &&
			    ops[i].gen != gen_rw)
				g->racy = true;
		}
}

/* a[0] group, a[1] buffers, a[2] lengths, a[3] a ring of the kernel's memory, a[4] entries */
void gen_provide(struct gen *g, struct call *c)
{
	c->ring %= g->rings;
	c->a[0] = draw_group(g, c->ring);
	c->a[1] = 1 + below(g, 8);
	c->a[2] = PICK(g, 1, 64, 512, 4096, 0, 0x7fffffff);
	c->a[3] = !g->p->compared && pct(g, 40);
	c->a[4] = g->room[c->ring][c->a[0]];
	if (!c->a[4] || pct(g, 4))
		c->a[4] = 8;
}

void reg_group(struct gen *g, struct call *c)
{
	struct io_uring_buf_reg reg = { .bgid = below(g, GROUPS) };
	struct io_uring_buf_status status = { .buf_group = below(g, GROUPS) };
	struct io_uring_napi napi = {
		.busy_poll_to = below(g, 100), .prefer_busy_poll = 1,
		.opcode = below(g, 4), .op_param = PICK(g, 0, 1, 1, 5000, 5001, 255),
	};

	c->a[2] = 1;
	switch (c->a[0]) {
	case IORING_REGISTER_PBUF_STATUS:
		c->a[1] = put(g, c, &status, sizeof(status));
		return;
	case IORING_REGISTER_NAPI:
	case IORING_UNREGISTER_NAPI:
		c->a[1] = put(g, c, &napi, sizeof(napi));
		return;
	case IORING_REGISTER_PBUF_RING:
		reg.ring_entries = PICK(g, 1, 2, 4, 8, 8, 64, 3, 65536);
		reg.flags = PICK(g, 0, 0, IOU_PBUF_RING_INC, IOU_PBUF_RING_MMAP,
				 IOU_PBUF_RING_MMAP | IOU_PBUF_RING_INC, 4);
		if (g->p->compared)
			reg.flags &= ~IOU_PBUF_RING_MMAP;
		if (!(reg.flags & IOU_PBUF_RING_MMAP))
			reg.ring_addr = AT(AREA_GROUP + reg.bgid);
		if (reg.flags & IOU_PBUF_RING_INC && pct(g, 20) && NEWER(g))
			reg.min_left = PICK(g, 1, 64, 4096);
		g->room[c->ring][reg.bgid] = reg.ring_entries;
	}
	c->a[1] = put(g, c, &reg, sizeof(reg));
}
