/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: a block device that a program serves from memory, by URING_CMD */
#ifndef IOU_UBLK_H
#define IOU_UBLK_H

#include <sys/prctl.h>
#include <sys/wait.h>
#include "iou.h"
#include "../../../../include/uapi/linux/ublk_cmd.h"

#define UBLK_DEPTH	16
#define UBLK_IO		(64 << 10)
#ifndef UBLK_SIZE
#define UBLK_SIZE	(4 << 20)
#endif

/* the server waits 200 us before it ends a request */
#define UBLK_SLOW	1
/* the commands alternate between two rings of the server */
#define UBLK_TWO_RINGS	2

struct ublk_srv;

/* A device: its control ring, and the data that its servers share. */
struct ublk {
	struct iou ctl;
	int ctl_fd;
	int id;
	unsigned int flags;		/* UBLK_SLOW, UBLK_TWO_RINGS */
	unsigned int ring_flags;
	unsigned int sqe_flags, cmd_flags;
	void (*ready)(struct ublk_srv *s);	/* called in a server, before it serves */
	int (*serve)(struct ublk_srv *s, unsigned int tag);	/* moves the data */
	bool zero_copy;			/* requests have no buffers of the server */
	pid_t server;
	char *mem;			/* contents, shared with the servers */
	unsigned int *fetched;		/* requests that were served, shared */
};

/* A server of the device. */
struct ublk_srv {
	struct ublk *u;
	struct iou r[2];
	int fd;
	const struct ublksrv_io_desc *desc;
	char *buf;
	unsigned int left;		/* commands that have not been ended by the driver */
};

static inline int ublk_ctl(struct ublk *u, unsigned int op, const void *addr, unsigned int len,
			   unsigned long long data)
{
	struct io_uring_sqe *sqe = iou_prep(&u->ctl, IORING_OP_URING_CMD, u->ctl_fd, NULL, 0, 0);
	struct ublksrv_ctrl_cmd *cmd = (void *)sqe->cmd;

	sqe->cmd_op = op;
	cmd->dev_id = u->id;
	cmd->queue_id = -1;
	cmd->addr = (uintptr_t)addr;
	cmd->len = len;
	cmd->data[0] = data;
	return iou_one(&u->ctl);
}

/* Return: the state of the device, UBLK_S_*, or a negative errno. */
static inline int ublk_state(struct ublk *u)
{
	struct ublksrv_ctrl_dev_info info = {};
	int ret = ublk_ctl(u, UBLK_U_CMD_GET_DEV_INFO, &info, sizeof(info), 0);

	return ret < 0 ? ret : info.state;
}

static inline int ublk_wait_state(struct ublk *u, int state)
{
	unsigned long long end = iou_now_us() + 3 * IOU_PATIENCE * 1000ULL;
	int now;

	do {
		now = ublk_state(u);
		if (now == state)
			return 0;
		iou_sleep_ms(5);
	} while (now >= 0 && iou_now_us() < end);
	return now < 0 ? now : -ETIME;
}

/* Add a device and set its parameters.  Return: 0 or a negative errno, -ENOENT without ublk. */
static inline int ublk_add(struct ublk *u, unsigned long long flags)
{
	struct ublksrv_ctrl_dev_info info = {
		.nr_hw_queues = 1, .queue_depth = UBLK_DEPTH, .max_io_buf_bytes = UBLK_IO,
		.dev_id = -1, .flags = flags | UBLK_F_CMD_IOCTL_ENCODE,
	};
	struct ublk_params params = {
		.len = sizeof(params),
		.types = UBLK_PARAM_TYPE_BASIC | UBLK_PARAM_TYPE_DISCARD,
		.basic = {
			.logical_bs_shift = 12, .physical_bs_shift = 12,
			.io_opt_shift = 12, .io_min_shift = 12,
			.max_sectors = UBLK_IO >> 9, .dev_sectors = UBLK_SIZE >> 9,
			.attrs = UBLK_ATTR_VOLATILE_CACHE,
		},
		.discard = {
			.discard_granularity = 4096, .max_discard_sectors = UBLK_IO >> 9,
			.max_discard_segments = 1,
		},
	};
	int ret;

	u->id = -1;
	u->ctl_fd = open("/dev/ublk-control", O_RDWR);
	if (u->ctl_fd < 0)
		return -errno;
	ret = iou_init(&u->ctl, 4, IORING_SETUP_SQE128);
	if (ret)
		return ret;
	u->mem = mmap(NULL, UBLK_SIZE + IOU_PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	u->fetched = (void *)(u->mem + UBLK_SIZE);
	ret = ublk_ctl(u, UBLK_U_CMD_ADD_DEV, &info, sizeof(info), 0);
	if (ret)
		return ret;
	u->id = info.dev_id;
	return ublk_ctl(u, UBLK_U_CMD_SET_PARAMS, &params, sizeof(params), 0);
}

static inline int ublk_open(struct ublk *u, const char *kind, int flags)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/ublk%s%d", kind, u->id);
	do {
		/* another server may still have the device open */
		fd = open(path, flags | O_CLOEXEC);
		if (fd < 0)
			iou_sleep_ms(5);
	} while (fd < 0 && iou_now_us() < end);
	return fd;
}

static inline struct iou *ublk_ring(struct ublk_srv *s, unsigned int tag)
{
	return &s->r[s->u->flags & UBLK_TWO_RINGS ? tag % 2 : 0];
}

static inline struct io_uring_sqe *ublk_fetch(struct ublk_srv *s, unsigned int op,
					      unsigned int tag, int result)
{
	struct io_uring_sqe *sqe = iou_prep(ublk_ring(s, tag), IORING_OP_URING_CMD, s->fd, NULL,
					    0, 0);
	struct ublksrv_io_cmd *cmd = (void *)sqe->cmd;

	sqe->cmd_op = op;
	sqe->flags = s->u->sqe_flags;
	sqe->uring_cmd_flags = s->u->cmd_flags;
	sqe->user_data = tag;
	cmd->q_id = 0;
	cmd->tag = tag;
	cmd->result = result;
	cmd->addr = s->u->zero_copy ? 0 : (uintptr_t)s->buf + tag * UBLK_IO;
	return sqe;
}

/* Serve the request of a tag.  Return: bytes or a negative errno. */
static inline int ublk_serve_one(struct ublk_srv *s, unsigned int tag)
{
	const struct ublksrv_io_desc *d = &s->desc[tag];
	char *mem = s->u->mem + d->start_sector * 512, *buf = s->buf + tag * UBLK_IO;
	size_t len = d->nr_sectors * 512UL;

	__atomic_fetch_add(s->u->fetched, 1, __ATOMIC_RELAXED);
	if (s->u->serve)
		return s->u->serve(s, tag);
	switch (ublksrv_get_op(d)) {
	case UBLK_IO_OP_READ:
		memcpy(buf, mem, len);
		return len;
	case UBLK_IO_OP_WRITE:
		memcpy(mem, buf, len);
		return len;
	case UBLK_IO_OP_FLUSH:
		return 0;
	case UBLK_IO_OP_DISCARD:
		memset(mem, 0, len);
		return len;
	default:
		return -EINVAL;
	}
}

static inline int ublk_srv_init(struct ublk_srv *s, struct ublk *u)
{
	size_t desc = iou_page_up(UBLK_DEPTH * sizeof(*s->desc));
	unsigned int i;
	int ret;

	memset(s, 0, sizeof(*s));
	s->u = u;
	for (i = 0; i < 2; i++) {
		ret = iou_init(&s->r[i], 2 * UBLK_DEPTH, u->ring_flags);
		if (ret)
			return ret;
	}
	s->fd = ublk_open(u, "c", O_RDWR);
	if (s->fd < 0)
		return -errno;
	s->buf = iou_map_anon(UBLK_DEPTH * UBLK_IO);
	s->desc = mmap(NULL, desc, PROT_READ, MAP_SHARED | MAP_POPULATE, s->fd, 0);
	if (s->desc == MAP_FAILED)
		return -errno;
	s->left = UBLK_DEPTH;
	for (i = 0; i < UBLK_DEPTH; i++)
		ublk_fetch(s, UBLK_U_IO_FETCH_REQ, i, 0);
	return 0;
}

/* Unmap and close the device: the mapping would keep it open, too. */
static inline void ublk_srv_close(struct ublk_srv *s)
{
	munmap((void *)s->desc, iou_page_up(UBLK_DEPTH * sizeof(*s->desc)));
	close(s->fd);
}

/* Close the device and the rings, whose commands would keep the device open. */
static inline void ublk_srv_exit(struct ublk_srv *s)
{
	munmap(s->buf, UBLK_DEPTH * UBLK_IO);
	ublk_srv_close(s);
	iou_exit(&s->r[0]);
	iou_exit(&s->r[1]);
}

static inline int ublk_srv_submit(struct ublk_srv *s)
{
	int ret = iou_submit(&s->r[0]);

	if (ret >= 0 && s->u->flags & UBLK_TWO_RINGS)
		ret = iou_submit(&s->r[1]);
	return ret < 0 ? ret : 0;
}

/* Serve the requests of a ring.  Return: 0 or a negative errno. */
static inline int ublk_srv_ring(struct ublk_srv *s, struct iou *r)
{
	while (iou_ready(r)) {
		struct io_uring_cqe *cqe = iou_cqe_at(r, 0);
		unsigned int tag = cqe->user_data;
		int res = cqe->res;

		iou_seen(r, 1);
		if (res == UBLK_IO_RES_ABORT) {
			s->left--;
			continue;
		}
		if (res != UBLK_IO_RES_OK)
			return res < 0 ? res : -EBADMSG;
		if (s->u->flags & UBLK_SLOW)
			usleep(200);
		ublk_fetch(s, UBLK_U_IO_COMMIT_AND_FETCH_REQ, tag, ublk_serve_one(s, tag));
	}
	return ublk_srv_submit(s);
}

/* Serve until the driver has ended all commands.  Return: 0 or a negative errno. */
static inline int ublk_srv_run(struct ublk_srv *s)
{
	bool two = s->u->flags & UBLK_TWO_RINGS;
	int ret = ublk_srv_submit(s);

	while (!ret && s->left) {
		if (!iou_ready(&s->r[0]) && !(two && iou_ready(&s->r[1]))) {
			/* wait for the two rings in turn */
			ret = iou_wait_ms(&s->r[0], 1, two ? 1 : 1000);
			if (!ret || ret == -ETIME || ret == -EINTR)
				ret = two ? iou_wait_ms(&s->r[1], 1, 1) : 0;
			if (ret == -ETIME || ret == -EINTR)
				ret = 0;
		}
		if (!ret)
			ret = ublk_srv_ring(s, &s->r[0]);
		if (!ret && two)
			ret = ublk_srv_ring(s, &s->r[1]);
	}
	return ret;
}

/* Start a process that serves the device. */
static inline int ublk_serve(struct ublk *u)
{
	int parent = getpid();

	u->server = fork();
	if (!u->server) {
		struct ublk_srv s;
		int ret;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(99);
		/* references of the child would keep the device after its removal */
		close(u->ctl_fd);
		iou_exit(&u->ctl);
		ret = ublk_srv_init(&s, u);
		if (!ret && u->ready)
			u->ready(&s);
		if (!ret)
			ret = ublk_srv_run(&s);
		if (ret)
			fprintf(stderr, "# server: %s\n", strerror(-ret));
		_exit(!!ret);
	}
	return u->server < 0 ? -errno : 0;
}

static inline int ublk_start(struct ublk *u)
{
	int ret = ublk_serve(u);

	return ret ?: ublk_ctl(u, UBLK_U_CMD_START_DEV, NULL, 0, u->server);
}

/* Start a server for a device whose last server has ended. */
static inline int ublk_recover(struct ublk *u)
{
	unsigned long long end = iou_now_us() + 3 * IOU_PATIENCE * 1000ULL;
	int ret = ublk_wait_state(u, UBLK_S_DEV_QUIESCED);

	while (!ret) {
		ret = ublk_ctl(u, UBLK_U_CMD_START_USER_RECOVERY, NULL, 0, 0);
		/* the file of the killed server may still be open */
		if (ret != -EBUSY || iou_now_us() > end)
			break;
		iou_sleep_ms(2);
		ret = 0;
	}
	ret = ret ?: ublk_serve(u);
	return ret ?: ublk_ctl(u, UBLK_U_CMD_END_USER_RECOVERY, NULL, 0, u->server);
}

/* Wait for the end of the server.  Return: its status; 0 without a server; -1 after a timeout. */
static inline int ublk_reap(struct ublk *u)
{
	unsigned long long end = iou_now_us() + 3 * IOU_PATIENCE * 1000ULL;
	int status = -1, pid;

	if (u->server <= 0)
		return 0;
	do {
		pid = waitpid(u->server, &status, WNOHANG);
		if (!pid)
			iou_sleep_ms(2);
	} while (!pid && iou_now_us() < end);
	u->server = 0;
	return pid > 0 ? status : -1;
}

static inline int ublk_kill(struct ublk *u)
{
	int status;

	if (u->server <= 0)
		return 0;
	kill(u->server, SIGKILL);
	status = ublk_reap(u);
	return status >= 0 && WIFSIGNALED(status) ? 0 : -1;
}

static inline int ublk_del(struct ublk *u)
{
	int ret = u->id >= 0 ? ublk_ctl(u, UBLK_U_CMD_DEL_DEV, NULL, 0, 0) : 0;

	u->id = -1;
	iou_exit(&u->ctl);
	if (u->ctl_fd >= 0)
		close(u->ctl_fd);
	if (u->mem)
		munmap(u->mem, UBLK_SIZE + IOU_PAGE);
	return ret;
}

#endif
