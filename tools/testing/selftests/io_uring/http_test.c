// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: a web server that does everything by io_uring, and curl as its client */
#include <sys/prctl.h>
#include <sys/wait.h>
#include "sock.h"

#define GROUP	5
#define SLOTS	16

#include "group.h"

/* Size of the served file; /bundle and /splice are two ways in which it is sent. */
#define BYTES	((getenv("IOU_SOAK") && iou_rounds(1) > 2 ? iou_rounds(1) : 2UL) << 20)

/* The group GROUP receives heads of requests; GROUP + 1 + i has data to send to peer i. */
#define PEERS	4
#define PART	8192U
#define HEAD	1024U

enum { ACCEPT, RECEIVE, ANSWER, READ, BUNDLE, TO_PIPE, FROM_PIPE, BYE };

struct peer {
	int fd;
	int pipe[2];
	bool splices;
	char text[HEAD];		/* head of the request, then of the reply */
	unsigned int have;
	unsigned long long at;		/* position in the file */
	unsigned int left;		/* bytes read or spliced, not sent yet */
	struct io_uring_buf_ring *ring;
	char *parts;
};

struct server {
	struct iou r;
	struct io_uring_buf_ring *ring;
	char *heads;
	int listener, file;
	unsigned long long bytes;
	struct peer peers[PEERS];
};

static struct io_uring_sqe *serve(struct server *s, unsigned int peer, int step, int op, int fd,
				  const void *addr, unsigned int len, unsigned long long off)
{
	struct io_uring_sqe *sqe = iou_prep(&s->r, op, fd, addr, len, off);

	sqe->user_data = step * PEERS + peer;
	return sqe;
}

static void serve_accept(struct server *s)
{
	serve(s, 0, ACCEPT, IORING_OP_ACCEPT, s->listener, NULL, 0, 0)->ioprio =
		IORING_ACCEPT_MULTISHOT;
}

static void serve_receive(struct server *s, unsigned int i)
{
	struct io_uring_sqe *sqe = serve(s, i, RECEIVE, IORING_OP_RECV, s->peers[i].fd, NULL, 0, 0);

	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
}

static void serve_bundle(struct server *s, unsigned int i)
{
	struct io_uring_sqe *sqe = prep_bundle(&s->r, IORING_OP_SEND, s->peers[i].fd, 0, 0);

	sqe->buf_group = GROUP + 1 + i;
	sqe->user_data = BUNDLE * PEERS + i;
}

/* Read more of the file, to a pipe or buffers; at its end, close the peer's connection. */
static void serve_next(struct server *s, unsigned int i)
{
	struct peer *p = s->peers + i;
	struct io_uring_sqe *sqe;

	if (p->at == s->bytes) {
		serve(s, i, BYE, IORING_OP_CLOSE, p->fd, NULL, 0, 0);
	} else if (p->splices) {
		sqe = serve(s, i, TO_PIPE, IORING_OP_SPLICE, p->pipe[1], NULL, 1 << 16, -1);
		sqe->splice_fd_in = s->file;
		sqe->splice_off_in = p->at;
	} else {
		serve(s, i, READ, IORING_OP_READ, s->file, p->parts, SLOTS * PART, p->at);
	}
}

static void serve_from_pipe(struct server *s, unsigned int i)
{
	struct peer *p = s->peers + i;
	struct io_uring_sqe *sqe = serve(s, i, FROM_PIPE, IORING_OP_SPLICE, p->fd, NULL, p->left,
					 -1);

	sqe->splice_fd_in = p->pipe[0];
	sqe->splice_off_in = -1;
}

/* Accept a client.  Return: 0, or the number of the line that failed, as all on_*() do. */
static int on_accept(struct server *s, const struct io_uring_cqe *cqe)
{
	unsigned int i;

	for (i = 0; i < PEERS && s->peers[i].fd >= 0; i++)
		;
	if (i == PEERS || cqe->res < 0 || !(cqe->flags & IORING_CQE_F_MORE))
		return __LINE__;
	s->peers[i].fd = cqe->res;
	s->peers[i].have = 0;
	s->peers[i].at = 0;
	serve_receive(s, i);
	return 0;
}

static int on_receive(struct server *s, unsigned int i, const struct io_uring_cqe *cqe)
{
	unsigned int bid = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	struct peer *p = s->peers + i;

	if (cqe->res <= 0 || !(cqe->flags & IORING_CQE_F_BUFFER) ||
	    p->have + cqe->res >= sizeof(p->text))
		return __LINE__;
	memcpy(p->text + p->have, s->heads + bid * HEAD, cqe->res);
	add(s->ring, s->heads + bid * HEAD, HEAD, bid);
	p->have += cqe->res;
	p->text[p->have] = 0;
	if (!strstr(p->text, "\r\n\r\n")) {
		serve_receive(s, i);
		return 0;
	}
	p->splices = !strncmp(p->text, "GET /splice ", 12);
	if (!p->splices && strncmp(p->text, "GET /bundle ", 12))
		return __LINE__;
	p->have = snprintf(p->text, sizeof(p->text), "HTTP/1.1 200 OK\r\n"
			   "Content-Length: %llu\r\nConnection: close\r\n\r\n", s->bytes);
	serve(s, i, ANSWER, IORING_OP_SEND, p->fd, p->text, p->have, 0)->msg_flags = MSG_WAITALL;
	return 0;
}

static int on_read(struct server *s, unsigned int i, const struct io_uring_cqe *cqe)
{
	struct peer *p = s->peers + i;
	unsigned int at;

	if (cqe->res <= 0)
		return __LINE__;
	for (at = 0; at < (unsigned int)cqe->res; at += PART)
		add(p->ring, p->parts + at, cqe->res - at < PART ? cqe->res - at : PART, at / PART);
	p->left = cqe->res;
	serve_bundle(s, i);
	return 0;
}

static int on_sent(struct server *s, unsigned int i, const struct io_uring_cqe *cqe)
{
	struct peer *p = s->peers + i;

	if (cqe->res <= 0 || (unsigned int)cqe->res > p->left)
		return __LINE__;
	p->left -= cqe->res;
	p->at += cqe->res;
	if (!p->left && cqe->flags & IORING_CQE_F_MORE)
		return __LINE__;
	if (!p->left)
		serve_next(s, i);
	else if (p->splices)
		serve_from_pipe(s, i);
	else if (!(cqe->flags & IORING_CQE_F_MORE))
		serve_bundle(s, i);
	return 0;
}

static int on_cqe(struct server *s, const struct io_uring_cqe *cqe)
{
	unsigned int i = cqe->user_data % PEERS;
	struct peer *p = s->peers + i;

	switch (cqe->user_data / PEERS) {
	case ACCEPT:
		return on_accept(s, cqe);
	case RECEIVE:
		return on_receive(s, i, cqe);
	case ANSWER:
		if (cqe->res != (int)p->have)
			return __LINE__;
		serve_next(s, i);
		return 0;
	case READ:
		return on_read(s, i, cqe);
	case TO_PIPE:
		if (cqe->res <= 0)
			return __LINE__;
		p->left = cqe->res;
		serve_from_pipe(s, i);
		return 0;
	case BUNDLE:
	case FROM_PIPE:
		return on_sent(s, i, cqe);
	default:
		p->fd = -1;
		return cqe->res ? __LINE__ : 0;
	}
}

/* Run the server until it is killed.  Return: the number of the line that failed. */
static int serve_all(unsigned int flags, int listener, int file, unsigned long long bytes)
{
	static struct server s;
	struct io_uring_cqe cqe;
	unsigned int i;
	int wrong = 0;

	s.listener = listener;
	s.file = file;
	s.bytes = bytes;
	s.ring = iou_map_anon(IOU_PAGE);
	s.heads = iou_map_anon(SLOTS * HEAD);
	if (iou_init(&s.r, 32, flags) || reg(&s.r, GROUP, s.ring, SLOTS, 0, 0))
		return __LINE__;
	for (i = 0; i < SLOTS; i++)
		add(s.ring, s.heads + i * HEAD, HEAD, i);
	for (i = 0; i < PEERS; i++) {
		struct peer *p = s.peers + i;

		p->fd = -1;
		p->ring = iou_map_anon(IOU_PAGE);
		p->parts = iou_map_anon(SLOTS * PART);
		if (pipe(p->pipe) || reg(&s.r, GROUP + 1 + i, p->ring, SLOTS, 0, 0))
			return __LINE__;
	}
	serve_accept(&s);
	while (!wrong) {
		if (iou_submit_wait(&s.r, 1) < 0)
			return __LINE__;
		while (!wrong && iou_ready(&s.r)) {
			memcpy(&cqe, iou_cqe_at(&s.r, 0), 16);
			iou_seen(&s.r, 1);
			wrong = on_cqe(&s, &cqe);
		}
	}
	fprintf(stderr, "# server: line %d, request %llu, result %d, flags %x\n", wrong,
		cqe.user_data, cqe.res, cqe.flags);
	return wrong;
}

FIXTURE(http) {
	struct sockaddr_in addr;
	unsigned long long bytes;
	int file;
	pid_t server;
};

FIXTURE_VARIANT(http) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(http);

FIXTURE_SETUP(http)
{
	int listener = sock_listener(&self->addr, 8);
	char *mem;

	ASSERT_LE(0, listener);
	self->bytes = BYTES;
	self->file = memfd_create("iou", 0);
	ASSERT_EQ(0, ftruncate(self->file, self->bytes));
	mem = mmap(NULL, self->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, self->file, 0);
	ASSERT_NE(MAP_FAILED, mem);
	iou_fill_words(mem, self->bytes, 0);
	munmap(mem, self->bytes);
	self->server = fork();
	if (!self->server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(serve_all(variant->flags, listener, self->file, self->bytes) % 251 + 1);
	}
	ASSERT_LT(0, self->server);
	close(listener);
}

FIXTURE_TEARDOWN(http)
{
	int status;

	/* the server must not have ended */
	EXPECT_EQ(0, waitpid(self->server, &status, WNOHANG));
	kill(self->server, SIGKILL);
	waitpid(self->server, &status, 0);
	close(self->file);
}

/* Start curl for @what; its output can be read from *@fd.  Return: its PID. */
static pid_t fetch(const struct sockaddr_in *addr, const char *what, int *fd)
{
	char url[64];
	int out[2];
	pid_t pid;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/%s", ntohs(addr->sin_port), what);
	if (pipe2(out, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		execlp("curl", "curl", "-q", "-sS", "--noproxy", "*", url, NULL);
		perror("# curl");
		_exit(127);
	}
	close(out[1]);
	*fd = out[0];
	return pid;
}

/* Return: true if @fd has all of the file, and nothing behind it. */
static bool fetched(int fd, unsigned long long bytes, unsigned long long *at)
{
	static char buf[1 << 16];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (!iou_follows(buf, n, at))
			return false;
	return !n && *at == bytes;
}

/* Run two clients: while the first is read, pipe and connection of the second are full. */
TEST_F(http, curl)
{
	static const char *const what[] = { "bundle", "splice" };
	unsigned long long at[2] = {};
	int fds[2], status, i;
	pid_t pids[2];

	for (i = 0; i < 2; i++) {
		pids[i] = fetch(&self->addr, what[i], fds + i);
		ASSERT_LT(0, pids[i]);
	}
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(fetched(fds[i], self->bytes, at + i)) {
			TH_LOG("%s: until %llu of %llu", what[i], at[i], self->bytes);
		}
		close(fds[i]);
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
}

TEST_HARNESS_MAIN
