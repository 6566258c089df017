// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: servers and proxies, by rings and by epoll */

/*
 * What a whole program costs.  Clients and server share one task: the clients send to all
 * connections of a round, the server does what there is to do, the clients look at the
 * answers.  Only the server's part is marked.
 *
 *	echo		every connection brings one message of BYTES and gets it back
 *	accept-echo	every connection is new, brings one message of HELLO bytes, gets it
 *			back and is closed
 *	proxy		PACKETs arrive on one connection and leave by another one
 *
 * +epoll waits by epoll and does the rest by system calls.  +single has a request for each
 * accept, receive and send; +many accepts and receives by multishot requests into provided
 * buffers; +bundle moves all packets that there are by one request.
 */

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define NR_CONNS	64
#define BYTES		32
#define HELLO		128
#define PACKET		32
#define NR_GROUPS	2	/* buffers to receive into, and those that are to be sent */

/* What a CQE is for: in the low bits of user_data, above them the connection or buffer. */
enum what {
	RECEIVED,
	SENT,
	ACCEPTED,
	NR_WHATS,
};

/* The ends of each connection.  A proxy's first one brings packets, its second takes them. */
static struct conn {
	int	client;
	int	server;
} conns[NR_CONNS];

static struct io_uring_buf_ring *groups[NR_GROUPS];
static int epoll_fd = -1;

static struct io_uring_sqe *fill(struct bench *b, unsigned int opcode, int fd, enum what what,
				 unsigned int nr)
{
	struct io_uring_sqe *sqe = ring_sqe(&b->ring);

	sqe->opcode = opcode;
	sqe->fd = fd;
	sqe->user_data = nr * NR_WHATS + what;
	return sqe;
}

/* The memory of connection or buffer @nr, @size bytes each. */
static unsigned char *memory(struct bench *b, unsigned int nr, unsigned int size)
{
	return b->buf + nr * size;
}

static void fill_send(struct bench *b, int fd, unsigned int nr, unsigned int size, unsigned int len)
{
	struct io_uring_sqe *sqe = fill(b, IORING_OP_SEND, fd, SENT, nr);

	sqe->addr = (uintptr_t)memory(b, nr, size);
	sqe->len = len;
}

static void fill_recv(struct bench *b, int fd, unsigned int nr, unsigned int size)
{
	struct io_uring_sqe *sqe = fill(b, IORING_OP_RECV, fd, RECEIVED, nr);

	sqe->addr = (uintptr_t)memory(b, nr, size);
	sqe->len = size;
}

/* Receive for ever, into buffers of the first group. */
static void fill_recv_many(struct bench *b, int fd, unsigned int nr, unsigned int how)
{
	struct io_uring_sqe *sqe = fill(b, IORING_OP_RECV, fd, RECEIVED, nr);

	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->ioprio = IORING_RECV_MULTISHOT | how;
}

/* Buffer @bid, of @size bytes, goes behind the others of a group; told by provide_all(). */
static void provide(struct bench *b, unsigned int group, unsigned int *nr, unsigned int bid,
		    unsigned int size)
{
	struct io_uring_buf_ring *ring = groups[group];
	struct io_uring_buf *buf = (struct io_uring_buf *)ring + (ring->tail + *nr) % MAX_BATCH;

	buf->addr = (uintptr_t)memory(b, bid, size);
	buf->len = size;
	buf->bid = bid;
	++*nr;
}

static void provide_all(unsigned int group, unsigned int nr)
{
	__atomic_store_n(&groups[group]->tail, groups[group]->tail + nr, __ATOMIC_RELEASE);
}

/* A group of MAX_BATCH buffers of @size bytes, or of none. */
static int open_one_group(struct bench *b, unsigned int group, unsigned int size)
{
	struct io_uring_buf_reg reg = { .ring_entries = MAX_BATCH, .bgid = group };
	unsigned int nr = 0;
	int ret;

	groups[group] = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	reg.ring_addr = (uintptr_t)groups[group];
	ret = ring_register(&b->ring, IORING_REGISTER_PBUF_RING, &reg, 1);
	while (!ret && size && nr < MAX_BATCH)
		provide(b, group, &nr, nr, size);
	provide_all(group, nr);
	return ret;
}

static int watch(int fd, unsigned int nr)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = nr };

	if (epoll_fd < 0)
		epoll_fd = epoll_create1(0);
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int connect_unix(struct conn *conn)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return -errno;
	*conn = (struct conn){ fds[0], fds[1] };
	return 0;
}

static int connect_tcp(struct bench *b, struct conn *conn)
{
	int one = 1, ret = open_client(b);

	if (ret < 0)
		return ret;
	conn->client = ret;
	conn->server = accept(b->fd, NULL, NULL);
	if (conn->server < 0)
		return -errno;
	setsockopt(conn->client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(conn->server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return 0;
}

static int connect_all(struct bench *b, unsigned int nr)
{
	bool tcp = b->row->flags & ROW_TCP;
	int ret = tcp ? open_listener(b) : 0;
	unsigned int i;

	for (i = 0; !ret && i < nr; i++)
		ret = tcp ? connect_tcp(b, &conns[i]) : connect_unix(&conns[i]);
	return ret;
}

int open_echo_epoll(struct bench *b)
{
	int ret = connect_all(b, NR_CONNS);
	unsigned int i;

	for (i = 0; !ret && i < NR_CONNS; i++)
		ret = watch(conns[i].server, i);
	return ret;
}

int open_echo_single(struct bench *b)
{
	int ret = connect_all(b, NR_CONNS);
	unsigned int i;

	for (i = 0; !ret && i < NR_CONNS; i++)
		fill_recv(b, conns[i].server, i, BYTES);
	return ret ?: ring_submit(&b->ring, 0);
}

int open_echo_many(struct bench *b)
{
	int ret = connect_all(b, NR_CONNS);
	unsigned int i;

	if (!ret)
		ret = open_one_group(b, 0, BYTES);
	for (i = 0; !ret && i < NR_CONNS; i++)
		fill_recv_many(b, conns[i].server, i, 0);
	return ret ?: ring_submit(&b->ring, 0);
}

/* The clients of a round send @len bytes each. */
static int clients_send(struct bench *b, unsigned int nr, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (send(conns[i].client, b->buf, len, 0) != (ssize_t)len)
			return -EIO;
	return 0;
}

static int clients_receive(unsigned int nr, size_t len)
{
	char answer[BLOCK];
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (recv(conns[i].client, answer, len, MSG_WAITALL) != (ssize_t)len)
			return -EIO;
	return 0;
}

/* One message comes and goes. */
static int bounce(struct bench *b, int fd, size_t len)
{
	ssize_t n = recv(fd, b->buf, len, 0);

	return n > 0 && send(fd, b->buf, n, 0) == n ? 0 : -EIO;
}

static int echo_epoll(struct bench *b, unsigned int want)
{
	struct epoll_event events[NR_CONNS];
	int i, n, ret = 0;

	for (; want; want -= n) {
		n = epoll_wait(epoll_fd, events, NR_CONNS, -1);
		if (n < 0)
			return -errno;
		for (i = 0; !ret && i < n; i++)
			ret = bounce(b, conns[events[i].data.u32].server, BYTES);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Submit what was filled, wait, and call @take for each CQE that has come, until it has counted
 * @want down to zero; then submit what the last of them have filled.
 */
static int serve(struct bench *b, unsigned int want,
		 int (*take)(struct bench *b, const struct io_uring_cqe *cqe, unsigned int *want))
{
	struct ring *ring = &b->ring;
	int ret = 0;

	while (!ret && want) {
		unsigned int head = *ring->cq_head, tail;

		ret = ring_submit(ring, 1);
		tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
		for (; !ret && head != tail; head++)
			ret = take(b, &ring->cqes[head & ring->cq_mask], &want);
		__atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
	}
	return ret ?: ring_submit(ring, 0);
}

static int take_echo(struct bench *b, const struct io_uring_cqe *cqe, unsigned int *want)
{
	unsigned int nr = cqe->user_data / NR_WHATS;

	if (cqe->res != BYTES)
		return cqe->res < 0 ? cqe->res : -EIO;
	if (cqe->user_data % NR_WHATS == RECEIVED) {
		fill_send(b, conns[nr].server, nr, BYTES, BYTES);
		return 0;
	}
	fill_recv(b, conns[nr].server, nr, BYTES);
	--*want;
	return 0;
}

/* A buffer that was sent is for the next message. */
static int take_echo_many(struct bench *b, const struct io_uring_cqe *cqe, unsigned int *want)
{
	unsigned int nr = cqe->user_data / NR_WHATS, bid, none = 0;

	if (cqe->res != BYTES)
		return cqe->res < 0 ? cqe->res : -EIO;
	if (cqe->user_data % NR_WHATS == SENT) {
		provide(b, 0, &none, nr, BYTES);
		provide_all(0, none);
		--*want;
		return 0;
	}
	bid = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	fill_send(b, conns[nr].server, bid, BYTES, BYTES);
	if (!(cqe->flags & IORING_CQE_F_MORE))
		fill_recv_many(b, conns[nr].server, nr, 0);
	return 0;
}

static int echo_single(struct bench *b, unsigned int want)
{
	return serve(b, want, take_echo);
}

static int echo_many(struct bench *b, unsigned int want)
{
	return serve(b, want, take_echo_many);
}

static int run_echo_server(struct bench *b, unsigned int rounds,
			   int (*server)(struct bench *b, unsigned int want))
{
	int ret = 0;

	while (!ret && rounds--) {
		ret = clients_send(b, NR_CONNS, BYTES);
		part_begin(b);
		if (!ret)
			ret = server(b, NR_CONNS);
		part_end(b);
		if (!ret)
			ret = clients_receive(NR_CONNS, BYTES);
	}
	return ret;
}

int run_echo_epoll(struct bench *b, unsigned int rounds)
{
	return run_echo_server(b, rounds, echo_epoll);
}

int run_echo_single(struct bench *b, unsigned int rounds)
{
	return run_echo_server(b, rounds, echo_single);
}

int run_echo_many(struct bench *b, unsigned int rounds)
{
	return run_echo_server(b, rounds, echo_many);
}

/* --- connections that come and go --------------------------------------------- */

/* No trace of a connection is left in the tables of ports. */
static void close_now(int fd)
{
	struct linger none = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

int open_accept_epoll(struct bench *b)
{
	int ret = open_listener(b);

	return ret ?: watch(b->fd, NR_CONNS);
}

static void fill_accept(struct bench *b, unsigned int how)
{
	fill(b, IORING_OP_ACCEPT, b->fd, ACCEPTED, 0)->ioprio = how;
}

int open_accept_single(struct bench *b)
{
	int ret = open_listener(b);

	fill_accept(b, 0);
	return ret ?: ring_submit(&b->ring, 0);
}

int open_accept_many(struct bench *b)
{
	int ret = open_listener(b);

	fill_accept(b, IORING_ACCEPT_MULTISHOT);
	return ret ?: ring_submit(&b->ring, 0);
}

/* The next free place for a connection of the server. */
static unsigned int nr_served;

static unsigned int new_conn(struct bench *b, int fd)
{
	unsigned int nr = nr_served++ % b->row->batch;

	conns[nr].server = fd;
	return nr;
}

static int accept_epoll(struct bench *b, unsigned int want)
{
	struct epoll_event events[NR_CONNS];

	while (want) {
		int i, n = epoll_wait(epoll_fd, events, NR_CONNS, -1);

		if (n < 0)
			return -errno;
		for (i = 0; i < n; i++) {
			unsigned int nr = events[i].data.u32;
			int fd, ret;

			if (nr == NR_CONNS) {
				fd = accept4(b->fd, NULL, NULL, 0);
				ret = fd < 0 ? -errno : watch(fd, new_conn(b, fd));
			} else {
				ret = bounce(b, conns[nr].server, HELLO);
				close(conns[nr].server);
				want--;
			}
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int take_accepted(struct bench *b, const struct io_uring_cqe *cqe, unsigned int *want,
			 unsigned int how)
{
	unsigned int nr = cqe->user_data / NR_WHATS;

	if (cqe->res < 0)
		return cqe->res;
	switch (cqe->user_data % NR_WHATS) {
	case ACCEPTED:
		nr = new_conn(b, cqe->res);
		fill_recv(b, cqe->res, nr, HELLO);
		if (!(cqe->flags & IORING_CQE_F_MORE))
			fill_accept(b, how);
		break;
	case RECEIVED:
		fill_send(b, conns[nr].server, nr, HELLO, cqe->res);
		break;
	case SENT:
		close(conns[nr].server);
		--*want;
	}
	return 0;
}

static int take_accept(struct bench *b, const struct io_uring_cqe *cqe, unsigned int *want)
{
	return take_accepted(b, cqe, want, 0);
}

static int take_accept_many(struct bench *b, const struct io_uring_cqe *cqe, unsigned int *want)
{
	return take_accepted(b, cqe, want, IORING_ACCEPT_MULTISHOT);
}

static int accept_single(struct bench *b, unsigned int want)
{
	return serve(b, want, take_accept);
}

static int accept_many(struct bench *b, unsigned int want)
{
	return serve(b, want, take_accept_many);
}

static int clients_connect(struct bench *b)
{
	unsigned int i;

	for (i = 0; i < b->row->batch; i++) {
		conns[i].client = open_client(b);
		if (conns[i].client < 0)
			return conns[i].client;
	}
	return 0;
}

static int run_accept_server(struct bench *b, unsigned int rounds,
			     int (*server)(struct bench *b, unsigned int want))
{
	unsigned int i, nr = b->row->batch;
	int ret = 0;

	while (!ret && rounds--) {
		ret = clients_connect(b);
		if (!ret)
			ret = clients_send(b, nr, HELLO);
		part_begin(b);
		if (!ret)
			ret = server(b, nr);
		part_end(b);
		if (!ret)
			ret = clients_receive(nr, HELLO);
		for (i = 0; i < nr; i++)
			close_now(conns[i].client);
	}
	return ret;
}

int run_hello_epoll(struct bench *b, unsigned int rounds)
{
	return run_accept_server(b, rounds, accept_epoll);
}

int run_hello_single(struct bench *b, unsigned int rounds)
{
	return run_accept_server(b, rounds, accept_single);
}

int run_hello_many(struct bench *b, unsigned int rounds)
{
	return run_accept_server(b, rounds, accept_many);
}

/* --- packets that come and go on ------------------------------------------------ */

/* Packets arrive at the server's end of the first connection and leave by that of the second. */
static int proxy_in(void)
{
	return conns[0].server;
}

static int proxy_out(void)
{
	return conns[1].server;
}

int open_proxy_epoll(struct bench *b)
{
	int ret = connect_all(b, 2);

	return ret ?: watch(proxy_in(), 0);
}

int open_proxy_many(struct bench *b)
{
	int ret = connect_all(b, 2);

	if (!ret)
		ret = open_one_group(b, 0, PACKET);
	if (!ret)
		fill_recv_many(b, proxy_in(), 0, 0);
	return ret ?: ring_submit(&b->ring, 0);
}

int open_proxy_bundle(struct bench *b)
{
	int ret = connect_all(b, 2);

	if (!ret)
		ret = open_one_group(b, 0, PACKET);
	if (!ret)
		ret = open_one_group(b, 1, 0);
	if (!ret)
		fill_recv_many(b, proxy_in(), 0, IORING_RECVSEND_BUNDLE);
	return ret ?: ring_submit(&b->ring, 0);
}

/* @want: bytes */
static int proxy_epoll(struct bench *b, unsigned int want)
{
	struct epoll_event event;

	while (want) {
		ssize_t n = 0;

		if (epoll_wait(epoll_fd, &event, 1, -1) < 0)
			return -errno;
		/* there is one packet at least */
		while (want) {
			n = recv(proxy_in(), b->buf, PACKET, MSG_DONTWAIT);
			if (n <= 0)
				break;
			if (send(proxy_out(), b->buf, n, 0) != n)
				return -EIO;
			want -= n;
		}
		if (n < 0 && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

static int take_packet(struct bench *b, const struct io_uring_cqe *cqe, unsigned int *want)
{
	unsigned int nr = cqe->user_data / NR_WHATS, none = 0;

	if (cqe->res <= 0)
		return cqe->res ?: -EIO;
	if (cqe->user_data % NR_WHATS == SENT) {
		provide(b, 0, &none, nr, PACKET);
		provide_all(0, none);
		*want -= cqe->res;
		return 0;
	}
	fill_send(b, proxy_out(), cqe->flags >> IORING_CQE_BUFFER_SHIFT, PACKET, cqe->res);
	if (!(cqe->flags & IORING_CQE_F_MORE))
		fill_recv_many(b, proxy_in(), 0, 0);
	return 0;
}

/* The buffers of @len bytes, from @bid on, go to another group. */
static void pass_on(struct bench *b, unsigned int group, unsigned int bid, unsigned int len)
{
	unsigned int nr = 0;

	while (nr * PACKET < len)
		provide(b, group, &nr, (bid + nr) % MAX_BATCH, PACKET);
	provide_all(group, nr);
}

/* One send at a time, of all that has come meanwhile. */
static int take_bundle(struct bench *b, const struct io_uring_cqe *cqe, unsigned int *want)
{
	unsigned int bid = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
	static unsigned int waiting;
	static bool sending;

	/* the senders' packets are moved whole */
	if (cqe->res <= 0 || cqe->res % PACKET)
		return cqe->res < 0 ? cqe->res : -EIO;
	if (cqe->user_data % NR_WHATS == SENT) {
		pass_on(b, 0, bid, cqe->res);
		*want -= cqe->res;
		waiting -= cqe->res;
		sending = cqe->flags & IORING_CQE_F_MORE;
	} else {
		pass_on(b, 1, bid, cqe->res);
		waiting += cqe->res;
		if (!(cqe->flags & IORING_CQE_F_MORE))
			fill_recv_many(b, proxy_in(), 0, IORING_RECVSEND_BUNDLE);
	}
	if (waiting && !sending) {
		struct io_uring_sqe *sqe = fill(b, IORING_OP_SEND, proxy_out(), SENT, 0);

		sqe->flags = IOSQE_BUFFER_SELECT;
		sqe->buf_group = 1;
		sqe->ioprio = IORING_RECVSEND_BUNDLE;
		sending = true;
	}
	return 0;
}

static int proxy_many(struct bench *b, unsigned int want)
{
	return serve(b, want, take_packet);
}

static int proxy_bundle(struct bench *b, unsigned int want)
{
	return serve(b, want, take_bundle);
}

static int run_proxy(struct bench *b, unsigned int rounds,
		     int (*proxy)(struct bench *b, unsigned int want))
{
	unsigned int i, nr = b->row->batch;
	static char packets[MAX_BATCH * PACKET];
	int ret = 0;

	while (!ret && rounds--) {
		for (i = 0; !ret && i < nr; i++)
			if (send(conns[0].client, b->buf, PACKET, 0) != PACKET)
				ret = -EIO;
		part_begin(b);
		if (!ret)
			ret = proxy(b, nr * PACKET);
		part_end(b);
		if (!ret && recv(conns[1].client, packets, nr * PACKET, MSG_WAITALL) !=
		    (ssize_t)nr * PACKET)
			ret = -EIO;
	}
	return ret;
}

int run_proxy_epoll(struct bench *b, unsigned int rounds)
{
	return run_proxy(b, rounds, proxy_epoll);
}

int run_proxy_many(struct bench *b, unsigned int rounds)
{
	return run_proxy(b, rounds, proxy_many);
}

int run_proxy_bundle(struct bench *b, unsigned int rounds)
{
	return run_proxy(b, rounds, proxy_bundle);
}
