// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: REGISTER_NAPI - tasks that wait poll network devices */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/wait.h>
#include "sock.h"

#ifndef SO_INCOMING_NAPI_ID
#define SO_INCOMING_NAPI_ID	56
#endif

FIXTURE(napi) {
	struct iou r;
};

FIXTURE_VARIANT(napi) {
	unsigned int flags;
};

IOU_KINDS(napi);

FIXTURE_SETUP(napi)
{
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
}

FIXTURE_TEARDOWN(napi)
{
	iou_exit(&self->r);
}

static int reg_napi(struct iou *r, struct io_uring_napi *napi, unsigned int us, unsigned int prefer)
{
	*napi = (struct io_uring_napi){ .busy_poll_to = us, .prefer_busy_poll = prefer };
	return iou_register(r, IORING_REGISTER_NAPI, napi, 1);
}

/* Ask for something that older kernels do not have; @napi receives the old settings. */
static int napi_op(struct iou *r, struct io_uring_napi *napi, unsigned int op, unsigned int param)
{
	*napi = (struct io_uring_napi){
		.busy_poll_to = 2000, .prefer_busy_poll = 1, .opcode = op, .op_param = param,
	};
	return iou_register(r, IORING_REGISTER_NAPI, napi, 1);
}

/*
 * Return: what fdinfo says of a registered ring.
 * differences: none, 6.12 has one kind of tracking
 */
static const char *shown(const char *tracking, unsigned int us, const char *prefer)
{
	static char text[256];

	snprintf(text, sizeof(text),
		 "NAPI:\tenabled\n%s%s%snapi_busy_poll_dt:\t%u000\nnapi_prefer_busy_poll:\t%s\n",
		 iou_on_older_stock() ? "" : "napi tracking:\t",
		 iou_on_older_stock() ? "" : tracking, iou_on_older_stock() ? "" : "\n",
		 us, prefer);
	return text;
}

/* Store the ring's fdinfo from "NAPI:" on, or "" without this key. */
static void show(struct iou *r, char *text, size_t size)
{
	char path[64], buf[4096] = "", *at;
	int fd, n = 0;

	text[0] = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r->fd);
	fd = open(path, O_RDONLY);
	while (fd >= 0 && n < (int)sizeof(buf) - 1) {
		ssize_t ret = read(fd, buf + n, sizeof(buf) - 1 - n);

		if (ret <= 0)
			break;
		n += ret;
	}
	close(fd);
	at = strstr(buf, "NAPI:");
	if (at)
		snprintf(text, size, "%s", at);
}

/* The poll time is at most 10 milliseconds.  Mutant: napi-polls-for-an-hour. */
TEST_F(napi, longest)
{
	static const unsigned int times[] = { 9999, 10000, 10001, -1U };
	struct io_uring_napi napi;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(times); i++) {
		ASSERT_EQ(0, reg_napi(&self->r, &napi, times[i], 0));
		ASSERT_EQ(0, reg_napi(&self->r, &napi, 0, 0));
		EXPECT_EQ(i ? 10000 : 9999, napi.busy_poll_to);
	}
}

/* Each call returns the values before the call, and fdinfo shows the current values. */
TEST_F(napi, values)
{
	struct iou *r = &self->r;
	struct io_uring_napi napi;
	char text[256];

	show(r, text, sizeof(text));
	EXPECT_STREQ("NAPI:\tdisabled\n", text);
	ASSERT_EQ(0, reg_napi(r, &napi, 50, 1));
	EXPECT_EQ(0, napi.busy_poll_to);
	EXPECT_EQ(0, napi.prefer_busy_poll);
	show(r, text, sizeof(text));
	EXPECT_STREQ(shown("dynamic", 50, "true"), text);
	ASSERT_EQ(0, reg_napi(r, &napi, 7, 0));
	EXPECT_EQ(50, napi.busy_poll_to);
	EXPECT_EQ(1, napi.prefer_busy_poll);
	show(r, text, sizeof(text));
	EXPECT_STREQ(shown("dynamic", 7, "false"), text);
	memset(&napi, 0xff, sizeof(napi));
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_NAPI, &napi, 1));
	EXPECT_EQ(7, napi.busy_poll_to);
	EXPECT_EQ(0, napi.prefer_busy_poll);
	EXPECT_EQ(0, napi.resv);
	show(r, text, sizeof(text));
	EXPECT_STREQ("NAPI:\tdisabled\n", text);
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_NAPI, NULL, 1));
}

TEST_F(napi, refusals)
{
	struct iou *r = &self->r, polled;
	struct io_uring_napi napi = {};
	int i;

	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_NAPI, &napi, 0));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_NAPI, &napi, 2));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_NAPI, NULL, 1));
	EXPECT_EQ(-EFAULT, iou_register(r, IORING_REGISTER_NAPI, (void *)8, 1));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_UNREGISTER_NAPI, &napi, 0));
	EXPECT_EQ(-EFAULT, iou_register(r, IORING_UNREGISTER_NAPI, (void *)8, 1));
	for (i = 0; i < 2; i++) {
		napi = (struct io_uring_napi){};
		napi.pad[i] = 1;
		EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_NAPI, &napi, 1));
	}
	napi = (struct io_uring_napi){ .resv = 1 };
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_NAPI, &napi, 1));
	ASSERT_EQ(0, iou_init(&polled, 8, variant->flags | IORING_SETUP_IOPOLL));
	EXPECT_EQ(-EINVAL, reg_napi(&polled, &napi, 50, 0));
	iou_exit(&polled);
}

/* IDs can be added and deleted with static tracking alone.  Mutant: napi-adds-twice. */
TEST_F(napi, tracking)
{
	const unsigned int add = IO_URING_NAPI_STATIC_ADD_ID, delete = IO_URING_NAPI_STATIC_DEL_ID;
	struct iou *r = &self->r;
	struct io_uring_napi napi;
	char text[256];

	/* differences: none, 6.12 has one kind of tracking */
	if (iou_on_older_stock())
		SKIP(return, "no static tracking");
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, add, 5000));
	EXPECT_EQ(IO_URING_NAPI_TRACKING_INACTIVE, napi.op_param);
	EXPECT_EQ(0, napi.opcode);
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, 0, IO_URING_NAPI_TRACKING_INACTIVE));
	EXPECT_EQ(0, reg_napi(r, &napi, 7, 0));
	EXPECT_EQ(IO_URING_NAPI_TRACKING_INACTIVE, napi.op_param);
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, add, 5000));
	EXPECT_EQ(IO_URING_NAPI_TRACKING_DYNAMIC, napi.op_param);
	EXPECT_EQ(7, napi.busy_poll_to);
	EXPECT_EQ(0, napi_op(r, &napi, 0, IO_URING_NAPI_TRACKING_STATIC));
	EXPECT_EQ(7, napi.busy_poll_to);
	EXPECT_EQ(0, napi_op(r, &napi, add, 5000));
	EXPECT_EQ(IO_URING_NAPI_TRACKING_STATIC, napi.op_param);
	EXPECT_EQ(2000, napi.busy_poll_to);
	EXPECT_EQ(1, napi.prefer_busy_poll);
	show(r, text, sizeof(text));
	EXPECT_STREQ(shown("static", 2000, "true"), text);
	EXPECT_EQ(-EEXIST, napi_op(r, &napi, add, 5000));
	EXPECT_EQ(0, napi_op(r, &napi, add, -1U));
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, add, 0));
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, add, 1));
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, delete, 1));
	EXPECT_EQ(-ENOENT, napi_op(r, &napi, delete, 5001));
	EXPECT_EQ(0, napi_op(r, &napi, delete, 5000));
	EXPECT_EQ(-ENOENT, napi_op(r, &napi, delete, 5000));
	EXPECT_EQ(-EEXIST, napi_op(r, &napi, add, -1U));
	/* a bad call changes nothing, and tells the settings */
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, 3, 5000));
	EXPECT_EQ(2000, napi.busy_poll_to);
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, 0, 2));
	EXPECT_EQ(IO_URING_NAPI_TRACKING_STATIC, napi.op_param);
	EXPECT_EQ(-EEXIST, napi_op(r, &napi, add, -1U));
	/* another registration forgets what was added */
	EXPECT_EQ(0, napi_op(r, &napi, 0, IO_URING_NAPI_TRACKING_STATIC));
	EXPECT_EQ(0, napi_op(r, &napi, add, -1U));
	EXPECT_EQ(0, napi_op(r, &napi, 0, IO_URING_NAPI_TRACKING_DYNAMIC));
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, delete, -1U));
	EXPECT_EQ(0, napi_op(r, &napi, 0, IO_URING_NAPI_TRACKING_STATIC));
	EXPECT_EQ(0, napi_op(r, &napi, add, -1U));
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_NAPI, &napi, 1));
	EXPECT_EQ(0, napi.op_param);
	EXPECT_EQ(-EINVAL, napi_op(r, &napi, delete, -1U));
	EXPECT_EQ(IO_URING_NAPI_TRACKING_INACTIVE, napi.op_param);
}

/* A ring polls at most 1024 queues in turn.  Mutant: napi-adds-without-limit. */
TEST_F(napi, many)
{
	struct iou *r = &self->r;
	struct io_uring_napi napi;
	unsigned int i;

	/* differences: none, 6.12 has no static tracking, and 7.3 no limit */
	if (iou_on_stock())
		SKIP(return, "no limit");
	ASSERT_EQ(0, napi_op(r, &napi, 0, IO_URING_NAPI_TRACKING_STATIC));
	for (i = 0; i < 1024; i++)
		ASSERT_EQ(0, napi_op(r, &napi, IO_URING_NAPI_STATIC_ADD_ID, 1000000 + i));
	EXPECT_EQ(-ENOSPC, napi_op(r, &napi, IO_URING_NAPI_STATIC_ADD_ID, 5000));
	EXPECT_EQ(-EEXIST, napi_op(r, &napi, IO_URING_NAPI_STATIC_ADD_ID, 1001023));
	EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 5));
	for (i = 0; i < 1024; i++)
		ASSERT_EQ(0, napi_op(r, &napi, IO_URING_NAPI_STATIC_DEL_ID, 1000000 + i));
	EXPECT_EQ(0, napi_op(r, &napi, IO_URING_NAPI_STATIC_ADD_ID, 5000));
}

/* Set up one end of a pair of devices that have queues, as network cards do. */
static int end_of_pair(const char *dev, const char *addr)
{
	/* without the second setting, packets of the other end bypass the queue */
	struct ethtool_value how[] = {
		{ .cmd = ETHTOOL_SGRO, .data = 1 },
		{ .cmd = ETHTOOL_STSO, .data = 0 },
	};
	struct ifreq ifr = {};
	char cmd[128];
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret = 0;
	unsigned int i;

	snprintf(cmd, sizeof(cmd), "ip addr add %s/24 dev %s && ip link set %s up", addr, dev, dev);
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	for (i = 0; !ret && i < ARRAY_LEN(how); i++) {
		ifr.ifr_data = (void *)&how[i];
		ret = ioctl(fd, SIOCETHTOOL, &ifr);
	}
	close(fd);
	return ret ? ret : system(cmd);
}

#define PORT	htons(7777)

/* Send all data back, from another network namespace. */
static int echo(int begin, int ready)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = PORT };
	int listener, fd;
	char buf[256];
	ssize_t n;

	if (read(begin, buf, 1) != 1 || end_of_pair("iouv1", "10.9.9.2"))
		return 1;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&addr, sizeof(addr)) || listen(listener, 1) ||
	    write(ready, buf, 1) != 1)
		return 2;
	fd = accept(listener, NULL, NULL);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		if (send(fd, buf, n, 0) != n)
			return 3;
	}
	return 0;
}

#define INSTANCE	"/sys/kernel/tracing/instances/iou_napi"

/* Trace each poll of a queue, without the events of the scheduler.  Return: true on success. */
static bool watch_polls(void)
{
	return iou_trace_instance(INSTANCE) &&
	       !iou_put(INSTANCE "/events/napi/napi_poll/enable", "1");
}

/*
 * Return: the number of polls of @dev by tasks that wait, in the trace.  Their budget is 8 packets
 * (BUSY_POLL_BUDGET); the budget of a poll after an interrupt is 64.
 */
static unsigned int count_polls(const char *dev)
{
	char line[512], want[64];
	unsigned int nr = 0;
	FILE *f = fopen(INSTANCE "/trace", "r");

	snprintf(want, sizeof(want), "for device %s ", dev);
	while (f && fgets(line, sizeof(line), f))
		nr += strstr(line, want) && strstr(line, " budget 8\n");
	if (f)
		fclose(f);
	return nr;
}

/* Remove the trace.  Return: as count_polls(). */
static unsigned int polls_by_tasks(const char *dev)
{
	unsigned int nr = count_polls(dev);

	iou_put(INSTANCE "/events/napi/napi_poll/enable", "0");
	rmdir(INSTANCE);
	return nr;
}

/* Send 100 bytes and receive them again, from a peer that sends back what it gets. */
static void exchange(struct __test_metadata *_metadata, struct iou *r, int fd, unsigned int round)
{
	struct io_uring_cqe cqe;
	char out[100], in[100];

	iou_fill(out, sizeof(out), round * 7, 3);
	iou_prep(r, IORING_OP_RECV, fd, in, sizeof(in), 0)->user_data = 1;
	iou_prep(r, IORING_OP_SEND, fd, out, sizeof(out), 0)->user_data = 2;
	ASSERT_LE(0, iou_submit_wait(r, 2));
	while (iou_ready(r) < 2)
		ASSERT_EQ(0, iou_wait(r, 2));
	while (iou_ready(r)) {
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(sizeof(out), cqe.res);
	}
	EXPECT_EQ(-1, iou_verify(in, sizeof(in), round * 7, 3));
}

/* Return: how often a wait of @r polled the queue of iouv0, or -1. */
static int polls_in_a_wait(struct iou *r)
{
	/* the end of a poll that had begun before may still be traced */
	usleep(1000);
	close(open(INSTANCE "/trace", O_WRONLY | O_TRUNC));
	return iou_wait_ms(r, 1, 5) == -ETIME ? (int)count_polls("iouv0") : -1;
}

/*
 * A ring with static tracking polls the queues that were added, and not that of its socket.
 * Mutants: napi-static-learns, napi-keeps-deleted.
 */
static void static_traffic(struct __test_metadata *_metadata, struct iou *r, int fd,
			   unsigned int id)
{
	struct io_uring_napi napi;

	ASSERT_EQ(0, napi_op(r, &napi, 0, IO_URING_NAPI_TRACKING_STATIC));
	/* trace from here on: an emulated CPU may fail if its code is patched while it polls */
	ASSERT_TRUE(watch_polls());
	exchange(_metadata, r, fd, 40);
	EXPECT_EQ(0, polls_in_a_wait(r));
	ASSERT_EQ(0, napi_op(r, &napi, IO_URING_NAPI_STATIC_ADD_ID, id));
	/* an SQPOLL thread that sleeps is woken by an exchange */
	exchange(_metadata, r, fd, 41);
	EXPECT_LT(0, polls_in_a_wait(r));
	/* one of two */
	ASSERT_EQ(0, napi_op(r, &napi, IO_URING_NAPI_STATIC_ADD_ID, -1U));
	exchange(_metadata, r, fd, 42);
	/* differences: none, an SQPOLL thread of 7.3 polls neither of these two */
	EXPECT_TRUE(polls_in_a_wait(r) > 0 || iou_on_stock());
	ASSERT_EQ(0, napi_op(r, &napi, IO_URING_NAPI_STATIC_DEL_ID, id));
	EXPECT_EQ(0, polls_in_a_wait(r));
	polls_by_tasks("iouv0");
}

/*
 * A task that waits on a ring with NAPI polls the queue.  The task gets its packets, whether
 * its poll or an interrupt finds them.  A ring without NAPI forgets the queue.
 * Mutants: napi-never-polls, napi-remembers.
 */
TEST_F(napi, traffic)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = PORT };
	int begin[2], ready[2], fd, i, status;
	struct iou *r = &self->r;
	struct io_uring_napi napi;
	char cmd[96], c = 0;
	socklen_t len = sizeof(int);
	unsigned int id = 0;
	pid_t child;

	if (access("/usr/sbin/ip", X_OK) && access("/sbin/ip", X_OK))
		SKIP(return, "needs ip(8)");
	if (!watch_polls())
		SKIP(return, "needs tracefs");
	ASSERT_EQ(0, pipe(begin));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	child = fork();
	if (!child) {
		if (unshare(CLONE_NEWNET) || write(ready[1], &c, 1) != 1)
			_exit(4);
		_exit(echo(begin[0], ready[1]));
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	snprintf(cmd, sizeof(cmd),
		 "ip link add iouv0 type veth peer name iouv1 netns %d", child);
	ASSERT_EQ(0, system(cmd));
	ASSERT_EQ(1, write(begin[1], &c, 1));
	ASSERT_EQ(0, end_of_pair("iouv0", "10.9.9.1"));
	ASSERT_EQ(1, read(ready[0], &c, 1));
	addr.sin_addr.s_addr = htonl(0x0a090902);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	ASSERT_EQ(0, connect(fd, (void *)&addr, sizeof(addr)));
	ASSERT_EQ(0, reg_napi(r, &napi, 2000, 1));
	for (i = 0; i < 30; i++) {
		exchange(_metadata, r, fd, i);
		/* this wait ends only by its timeout */
		if (i == 20)
			EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 3));
	}
	/* the socket has a queue that can be polled */
	ASSERT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &len));
	EXPECT_LT(0, id);
	EXPECT_LT(0, polls_by_tasks("iouv0"));
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_NAPI, &napi, 1));
	EXPECT_EQ(2000, napi.busy_poll_to);
	ASSERT_EQ(0, reg_napi(r, &napi, 2000, 1));
	ASSERT_TRUE(watch_polls());
	EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 5));
	/* differences: none, 6.12 keeps the queue, which costs nothing but time */
	EXPECT_TRUE(!polls_by_tasks("iouv0") || iou_on_stock());
	/* differences: none, 6.12 has one kind of tracking */
	if (!iou_on_older_stock())
		static_traffic(_metadata, r, fd, id);
	close(fd);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
