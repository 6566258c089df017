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
	EXPECT_STREQ("NAPI:\tenabled\nnapi_busy_poll_dt:\t50000\nnapi_prefer_busy_poll:\ttrue\n",
		     text);
	ASSERT_EQ(0, reg_napi(r, &napi, 7, 0));
	EXPECT_EQ(50, napi.busy_poll_to);
	EXPECT_EQ(1, napi.prefer_busy_poll);
	show(r, text, sizeof(text));
	EXPECT_STREQ("NAPI:\tenabled\nnapi_busy_poll_dt:\t7000\nnapi_prefer_busy_poll:\tfalse\n",
		     text);
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
	for (i = 0; i < 3; i++) {
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
 * Return: the number of polls of @dev by tasks that wait.  Their budget is 8 packets
 * (BUSY_POLL_BUDGET); the budget of a poll after an interrupt is 64.
 */
static unsigned int polls_by_tasks(const char *dev)
{
	char line[512], want[64];
	unsigned int nr = 0;
	FILE *f = fopen(INSTANCE "/trace", "r");

	snprintf(want, sizeof(want), "for device %s ", dev);
	while (f && fgets(line, sizeof(line), f))
		nr += strstr(line, want) && strstr(line, " budget 8\n");
	if (f)
		fclose(f);
	iou_put(INSTANCE "/events/napi/napi_poll/enable", "0");
	rmdir(INSTANCE);
	return nr;
}

/*
 * A task that waits on a ring with NAPI polls the queue.  The task gets its packets, whether
 * its poll or an interrupt finds them.  Mutant: napi-never-polls.
 */
TEST_F(napi, traffic)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = PORT };
	int begin[2], ready[2], fd, i, status;
	struct iou *r = &self->r;
	struct io_uring_napi napi;
	struct io_uring_cqe cqe;
	char out[100], in[100], cmd[96], c = 0;
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
		iou_fill(out, sizeof(out), i * 7, 3);
		iou_prep(r, IORING_OP_RECV, fd, in, sizeof(in), 0)->user_data = 1;
		iou_prep(r, IORING_OP_SEND, fd, out, sizeof(out), 0)->user_data = 2;
		ASSERT_LE(0, iou_submit_wait(r, 2));
		while (iou_ready(r) < 2)
			ASSERT_EQ(0, iou_wait(r, 2));
		while (iou_ready(r)) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(sizeof(out), cqe.res);
		}
		EXPECT_EQ(-1, iou_verify(in, sizeof(in), i * 7, 3));
		/* a wait that ends by its timeout only */
		if (i == 20)
			EXPECT_EQ(-ETIME, iou_wait_ms(r, 1, 3));
	}
	/* the socket has a queue that can be polled */
	ASSERT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &len));
	EXPECT_LT(0, id);
	EXPECT_LT(0, polls_by_tasks("iouv0"));
	EXPECT_EQ(0, iou_register(r, IORING_UNREGISTER_NAPI, &napi, 1));
	EXPECT_EQ(2000, napi.busy_poll_to);
	close(fd);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
