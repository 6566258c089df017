/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: read the audit records of operations */
#ifndef AUDIT_H
#define AUDIT_H

#include <linux/audit.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include "iou.h"

struct audit_message {
	struct nlmsghdr head;
	char data[8192];
};

/* Send a message, and wait until the kernel acknowledges or refuses it. */
static inline int audit_send(int fd, int type, const void *data, size_t size)
{
	static struct audit_message msg;
	int *error = (int *)msg.data;

	msg.head = (struct nlmsghdr) {
		.nlmsg_len = NLMSG_HDRLEN + size, .nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
	};
	memcpy(msg.data, data, size);
	if (send(fd, &msg, NLMSG_HDRLEN + size, 0) < 0)
		return -errno;
	do {
		if (recv(fd, &msg, sizeof(msg), 0) < 0)
			return -errno;
	} while (msg.head.nlmsg_type != NLMSG_ERROR);
	return *error;
}

/* An audit rule for one operation. */
#define AUDIT_OF(op) {							\
	.flags = AUDIT_FILTER_URING_EXIT, .action = AUDIT_ALWAYS,	\
	.mask = { [AUDIT_WORD(op)] = AUDIT_BIT(op) },			\
}

/*
 * Start to record the operations that have a bit in @rule, in tasks that are created after this
 * call.  Return: a socket for the records, or -1 without audit.
 */
static inline int audit_start(const struct audit_rule_data *rule)
{
	struct timeval patience = { .tv_sec = IOU_PATIENCE / 1000 };
	int room = 4 << 20;	/* room for all records of a test, which may read them late */
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT);
	struct audit_status on = {
		/* set no limit: above a limit, the kernel drops records of operations */
		.mask = AUDIT_STATUS_ENABLED | AUDIT_STATUS_PID | AUDIT_STATUS_BACKLOG_LIMIT,
		.enabled = 1, .pid = getpid(),
	};

	if (fd < 0)
		return -1;
	/* the kernel drops a record if the socket has no room for it within half a second */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) &&
	    !audit_send(fd, AUDIT_SET, &on, sizeof(on)) &&
	    !audit_send(fd, AUDIT_ADD_RULE, rule, sizeof(*rule)))
		return fd;
	close(fd);
	return -1;
}

static inline int audit_stop(int fd, const struct audit_rule_data *rule)
{
	struct audit_status off = {
		.mask = AUDIT_STATUS_ENABLED | AUDIT_STATUS_PID | AUDIT_STATUS_BACKLOG_LIMIT,
		.backlog_limit = 64,	/* the kernel's default */
	};
	int ret = audit_send(fd, AUDIT_DEL_RULE, rule, sizeof(*rule));

	if (!ret)
		ret = audit_send(fd, AUDIT_SET, &off, sizeof(off));
	close(fd);
	return ret;
}

/* Return: the opcode in the next record of an operation, or -1 after IOU_PATIENCE. */
static inline int audit_next(int fd, char *text, size_t size)
{
	static struct audit_message msg;
	const char *op;

	do {
		memset(&msg, 0, sizeof(msg));
		if (recv(fd, &msg, sizeof(msg) - 1, 0) < 0)
			return -1;
		op = strstr(msg.data, "uring_op=");
	} while (msg.head.nlmsg_type != AUDIT_URINGOP || !op);
	msg.data[size - 1] = '\0';
	memcpy(text, msg.data, size);
	return atoi(op + strlen("uring_op="));
}

#endif
