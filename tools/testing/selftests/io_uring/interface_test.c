// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: the tables of compatibility.rst and the running kernel agree */
/*
 * Documentation/io_uring/interface/ has a row for each operation, flag and name.  The tests
 * try each row with harmless arguments.  The kernel must refuse a row as unknown if, and only
 * if, the table does not have it as present.  Other tests check results.
 *
 * The tests read four cells of a row: name, value, presence, and the call or operation to
 * which it belongs.  "not yet" is present on 6.12 only.  "added", "base" and "later" came after
 * 6.12, of which "base" needs a newer kernel around io_uring, and "later" is refused here.
 * "refused" has a name, but no meaning on any kernel.
 */
#define SLOTS	4
#define GROUP	7
#include <linux/filter.h>
#include <linux/io_uring/bpf_filter.h>
#include <linux/io_uring/query.h>
#include <linux/net_tstamp.h>
#include "group.h"
#include "sock.h"

#define MOST_ROWS	160
#define EVENTS		"/sys/kernel/tracing/events/io_uring"

struct row {
	char name[64];
	char form[400];
	char there[16];
	char of[32];
	long long value;
};

struct table {
	unsigned int nr;
	struct row row[MOST_ROWS];
};

static FILE *open_table(const char *name)
{
	static const char *const places[] = {
		"interface", "../../../../Documentation/io_uring/interface",
	};
	char exe[400] = { }, path[512];
	unsigned int i;
	FILE *f = NULL;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return NULL;
	*strrchr(exe, '/') = '\0';
	for (i = 0; !f && i < ARRAY_LEN(places); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s.csv", exe, places[i], name);
		f = fopen(path, "r");
	}
	return f;
}

/* Read a table, without the line of headings.  Return: NULL if it is not well formed. */
static const struct table *read_table(const char *name)
{
	static struct table t;
	FILE *f = open_table(name);
	char line[1024];
	struct row *row;

	memset(&t, 0, sizeof(t));
	if (!f || !fgets(line, sizeof(line), f))
		return NULL;
	while (fgets(line, sizeof(line), f)) {
		row = &t.row[t.nr++];
		if (t.nr == MOST_ROWS)
			return NULL;
		if (sscanf(line, "%63[^,],%399[^,],%15[^,],%31[^,],", row->name, row->form,
			   row->there, row->of) != 4)
			return NULL;
		row->value = strtoll(row->form, NULL, 0);
	}
	fclose(f);
	return t.nr ? &t : NULL;
}

/*
 * Return: true if this kernel has the row.
 * differences: none, 6.12 also has the "not yet" rows, and lacks the "added" ones
 */
static bool is_there(const struct row *row)
{
	if (!strcmp(row->there, "added"))
		return !iou_on_older_stock();
	if (!strcmp(row->there, "base"))
		return iou_kernel_from("7");
	return !strcmp(row->there, "yes") || (iou_on_stock() && !strcmp(row->there, "not yet"));
}

/* Return: true if @ret means that the kernel does not know the call or the flag. */
static bool unknown(int ret)
{
	return ret == -EINVAL || ret == -EOPNOTSUPP || ret == -EBADRQC;
}

#define EXPECT_ROW(row, ret) do {						\
	int ret_ = (ret);							\
										\
	EXPECT_EQ(is_there(row), !unknown(ret_)) {				\
		TH_LOG("the table says '%s' of %s, and the kernel %d",		\
		       (row)->there, (row)->name, ret_);			\
	}									\
} while (0)

static int submit_op(unsigned int op)
{
	struct iou r;
	int ret = iou_init(&r, 2, 0);

	if (ret)
		return ret;
	iou_prep(&r, op, -1, NULL, 0, 0);
	ret = iou_one(&r);
	iou_exit(&r);
	return ret;
}

TEST(operations)
{
	const struct table *t = read_table("operations");
	struct io_uring_probe *probe = calloc(1, sizeof(*probe) + 256 * sizeof(probe->ops[0]));
	unsigned int i, last = 0;
	struct iou r;

	ASSERT_NE(NULL, t);
	ASSERT_EQ(0, iou_init(&r, 2, 0));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_PROBE, probe, 256));
	for (i = 0; i < t->nr; i++) {
		const struct row *row = &t->row[i];
		bool has = probe->ops[row->value].flags & IO_URING_OP_SUPPORTED;

		/* the rows have no gaps */
		EXPECT_EQ(i, row->value);
		EXPECT_EQ(is_there(row), has) {
			TH_LOG("the table says '%s' of %s", row->there, row->name);
		}
		if (is_there(row)) {
			last = row->value;
			continue;
		}
		/* a number without an operation is refused, also between others */
		EXPECT_EQ(strcmp(row->there, "not yet") ? -EINVAL : -EOPNOTSUPP,
			  submit_op(row->value)) {
			TH_LOG("%s", row->name);
		}
	}
	EXPECT_EQ(last, probe->last_op);
	free(probe);
	iou_exit(&r);
}

/* fdinfo shows queued SQEs with the names of their operations. */
TEST(names_of_operations)
{
	const struct table *t = read_table("operations");
	static char text[65536];
	char path[64], want[96];
	unsigned int i;
	struct iou r;
	int fd, len;

	ASSERT_NE(NULL, t);
	ASSERT_EQ(0, iou_init(&r, 128, IORING_SETUP_R_DISABLED));
	for (i = 0; i < t->nr; i++)
		iou_prep(&r, i, -1, NULL, 0, 0);
	iou_flush(&r);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r.fd);
	fd = open(path, O_RDONLY);
	for (i = 0; (len = read(fd, text + i, sizeof(text) - 1 - i)) > 0; i += len)
		;
	close(fd);
	for (i = 0; i < t->nr; i++) {
		const char *name = t->row[i].name + strlen("IORING_OP_");

		/* fdinfo has a shorter name of this operation */
		if (!strcmp(name, "EPOLL_CTL"))
			name = "EPOLL";
		snprintf(want, sizeof(want), "%5u: opcode:%s, ", i,
			 is_there(&t->row[i]) ? name : "INVALID");
		EXPECT_NE(NULL, strstr(text, want)) {
			TH_LOG("no line '%s'", want);
		}
	}
	iou_exit(&r);
}

/*
 * The number of arguments of each call.  The tests pass a bad address: a known call returns
 * -EFAULT, or another error that unknown() does not accept.
 */
static const unsigned int register_nr[] = {
	[IORING_REGISTER_BUFFERS] = 1, [IORING_REGISTER_FILES] = 1,
	[IORING_REGISTER_EVENTFD] = 1, [IORING_REGISTER_FILES_UPDATE] = 1,
	[IORING_REGISTER_EVENTFD_ASYNC] = 1, [IORING_REGISTER_PROBE] = 1,
	[IORING_REGISTER_FILES2] = sizeof(struct io_uring_rsrc_register),
	[IORING_REGISTER_FILES_UPDATE2] = sizeof(struct io_uring_rsrc_update2),
	[IORING_REGISTER_BUFFERS2] = sizeof(struct io_uring_rsrc_register),
	[IORING_REGISTER_BUFFERS_UPDATE] = sizeof(struct io_uring_rsrc_update2),
	[IORING_REGISTER_IOWQ_AFF] = 8, [IORING_REGISTER_IOWQ_MAX_WORKERS] = 2,
	[IORING_REGISTER_RING_FDS] = 1, [IORING_UNREGISTER_RING_FDS] = 1,
	[IORING_REGISTER_PBUF_RING] = 1, [IORING_UNREGISTER_PBUF_RING] = 1,
	[IORING_REGISTER_SYNC_CANCEL] = 1, [IORING_REGISTER_PBUF_STATUS] = 1,
	[IORING_REGISTER_NAPI] = 1, [IORING_UNREGISTER_NAPI] = 1,
	[IORING_REGISTER_CLONE_BUFFERS] = 1,
};

static bool takes_no_address(unsigned int op)
{
	switch (op) {
	case IORING_UNREGISTER_BUFFERS:
	case IORING_UNREGISTER_FILES:
	case IORING_UNREGISTER_EVENTFD:
	case IORING_REGISTER_PERSONALITY:
	case IORING_UNREGISTER_PERSONALITY:
	case IORING_REGISTER_ENABLE_RINGS:
	case IORING_UNREGISTER_IOWQ_AFF:
		return true;
	}
	return false;
}

static int try_register(struct iou *r, const struct row *row)
{
	unsigned int op = row->value, nr = op < ARRAY_LEN(register_nr) ? register_nr[op] : 1;
	struct io_uring_rsrc_update index = { .offset = -1, .data = r->fd };
	int ret;

	if (op == IORING_REGISTER_SEND_MSG_RING)
		return iou_sys_register(-1, op, (void *)8, 1);
	if (op == IORING_REGISTER_QUERY)
		return iou_sys_register(-1, op, (void *)8, 0);
	if (op == IORING_REGISTER_RESIZE_RINGS) {
		iou_exit(r);
		ret = iou_init(r, 2, IOU_DEFER);
		if (ret)
			return ret;
	}
	if (op == IORING_REGISTER_ZCRX_IFQ) {
		iou_exit(r);
		ret = iou_init(r, 2, IOU_DEFER | IORING_SETUP_CQE32);
		if (ret)
			return ret;
	}
	if (op == IORING_REGISTER_ZCRX_CTRL)
		nr = 0;
	if (op == IORING_UNREGISTER_PERSONALITY)
		nr = iou_register(r, IORING_REGISTER_PERSONALITY, NULL, 0);
	if (op != IORING_REGISTER_USE_REGISTERED_RING)
		return iou_register(r, op, takes_no_address(op) ? NULL : (void *)8, nr);
	ret = iou_register(r, IORING_REGISTER_RING_FDS, &index, 1);
	return ret < 0 ? ret : iou_sys_register(index.offset, op | IORING_REGISTER_PERSONALITY,
						NULL, 0);
}

TEST(registers)
{
	const struct table *t = read_table("register");
	unsigned int i;
	struct iou r;

	ASSERT_NE(NULL, t);
	for (i = 0; i < t->nr; i++) {
		ASSERT_EQ(0, iou_init(&r, 2, 0));
		EXPECT_ROW(&t->row[i], try_register(&r, &t->row[i]));
		iou_exit(&r);
	}
	/* no call lacks a row */
	ASSERT_EQ(0, iou_init(&r, 2, 0));
	EXPECT_EQ(-EINVAL, iou_register(&r, t->nr - 1, (void *)8, 1));
	iou_exit(&r);
}

/* Return: the flags that @flag of io_uring_setup() requires. */
static unsigned int companions(unsigned int flag)
{
	switch (flag) {
	case IORING_SETUP_SQ_AFF:
	case IORING_SETUP_ATTACH_WQ:
		return IORING_SETUP_SQPOLL;
	case IORING_SETUP_TASKRUN_FLAG:
		return IORING_SETUP_COOP_TASKRUN;
	case IORING_SETUP_DEFER_TASKRUN:
		return IORING_SETUP_SINGLE_ISSUER;
	case IORING_SETUP_REGISTERED_FD_ONLY:
		return IORING_SETUP_NO_MMAP;
	}
	/* flags that came after 6.12 */
	return flag > IORING_SETUP_NO_SQARRAY ? IORING_SETUP_IOPOLL | IORING_SETUP_NO_SQARRAY : 0;
}

TEST(setup_flags)
{
	const struct table *t = read_table("rings");
	unsigned int i, nr = 0;
	struct iou base, r;

	ASSERT_NE(NULL, t);
	ASSERT_EQ(0, iou_init(&base, 2, IORING_SETUP_SQPOLL));
	for (i = 0; i < t->nr; i++) {
		unsigned int flags = t->row[i].value | companions(t->row[i].value);
		struct io_uring_params p = { .flags = flags, .cq_entries = 8, .wq_fd = base.fd };

		if (strcmp(t->row[i].of, "setup"))
			continue;
		EXPECT_EQ(1LL << nr++, t->row[i].value);
		EXPECT_ROW(&t->row[i], iou_init_params(&r, 2, &p));
		iou_exit(&r);
	}
	EXPECT_EQ(-EINVAL, iou_init(&r, 2, 1U << nr));
	iou_exit(&base);
}

static int try_enter(struct iou *r, unsigned int flags)
{
	struct io_uring_rsrc_update index = { .offset = -1, .data = r->fd };
	struct io_uring_getevents_arg arg = { };
	int fd = r->fd, ret;

	if (flags & IORING_ENTER_ABS_TIMER)
		flags |= IORING_ENTER_EXT_ARG;
	if (flags & IORING_ENTER_EXT_ARG)
		flags |= IORING_ENTER_GETEVENTS;
	if (flags & IORING_ENTER_REGISTERED_RING) {
		ret = iou_register(r, IORING_REGISTER_RING_FDS, &index, 1);
		if (ret < 0)
			return ret;
		fd = index.offset;
	}
	return flags & IORING_ENTER_EXT_ARG ? iou_sys_enter(fd, 0, 0, flags, &arg, sizeof(arg)) :
					      iou_sys_enter(fd, 0, 0, flags, NULL, 0);
}

TEST(enter_flags)
{
	const struct table *t = read_table("rings");
	unsigned int i, nr = 0;
	struct iou r;

	ASSERT_NE(NULL, t);
	ASSERT_EQ(0, iou_init(&r, 2, IORING_SETUP_SQPOLL));
	for (i = 0; i < t->nr; i++) {
		if (strcmp(t->row[i].of, "enter"))
			continue;
		EXPECT_EQ(1LL << nr++, t->row[i].value);
		EXPECT_ROW(&t->row[i], try_enter(&r, t->row[i].value));
	}
	EXPECT_EQ(-EINVAL, try_enter(&r, 1U << nr));
	iou_exit(&r);
}

TEST(features)
{
	const struct table *t = read_table("rings");
	unsigned int i, want = 0;
	struct iou r;

	ASSERT_NE(NULL, t);
	ASSERT_EQ(0, iou_init(&r, 2, 0));
	for (i = 0; i < t->nr; i++)
		if (!strcmp(t->row[i].of, "feature") && is_there(&t->row[i]))
			want |= t->row[i].value;
	EXPECT_EQ(want, r.p.features);
	iou_exit(&r);
}

/* Submit a NOP with @flags in its SQE, and a second NOP. */
static int try_sqe(struct iou *r, unsigned int flags)
{
	struct io_uring_cqe cqe;
	int ret;

	iou_nop(r, 1)->flags = flags;
	iou_nop(r, 2);
	ret = iou_submit(r);
	if (ret < 0)
		return ret;
	ret = iou_reap(r, &cqe);
	/* NOP refuses a known flag that it does not support with -EOPNOTSUPP */
	return ret ? ret : cqe.res == -EOPNOTSUPP ? 0 : cqe.res;
}

static int socket_with_data(void)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) || write(sv[1], "data", 4) != 4)
		return -errno;
	return sv[0];
}

static int pipe_with_data(void)
{
	int fds[2];

	if (pipe(fds) || write(fds[1], "data", 4) != 4)
		return -errno;
	return fds[0];
}

static int try_receive(struct iou *r, unsigned int flags)
{
	static char mem[64];
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_PROVIDE_BUFFERS, 1, mem, sizeof(mem), 0);
	int ret;

	sqe->buf_group = GROUP;
	ret = iou_one(r);
	if (ret < 0)
		return ret;
	sqe = iou_prep(r, IORING_OP_RECV, socket_with_data(), NULL, 0, 0);
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	sqe->ioprio = flags;
	return iou_one(r);
}

static int try_send(struct iou *r, unsigned int flags)
{
	static struct iovec iov = { .iov_base = "x", .iov_len = 1 };

	iou_prep(r, IORING_OP_SEND, socket_with_data(), &iov, 1, 0)->ioprio = flags;
	return iou_one(r);
}

static int try_accept(struct iou *r, unsigned int flags)
{
	struct sockaddr_in addr;
	int fd = sock_listener(&addr, 2);

	if (fd < 0 || sock_connected(&addr) < 0)
		return -errno;
	iou_prep(r, IORING_OP_ACCEPT, fd, NULL, 0, 0)->ioprio = flags;
	return iou_one(r);
}

/* Send a message to another ring.  SEND_FD passes the file of slot 0 to slot 0. */
static int send_message(struct iou *r, unsigned int command, unsigned int flags)
{
	int fds[1] = { pipe_with_data() }, none = -1, ret;
	struct io_uring_sqe *sqe;
	struct iou to;

	ret = iou_init(&to, 4, 0) ?: iou_register(&to, IORING_REGISTER_FILES, &none, 1) ?:
	      iou_register(r, IORING_REGISTER_FILES, fds, 1);
	if (ret)
		return ret;
	sqe = iou_prep(r, IORING_OP_MSG_RING, to.fd, (void *)(uintptr_t)command, 0, 0);
	sqe->msg_ring_flags = flags;
	sqe->file_index = command == IORING_MSG_SEND_FD;
	ret = iou_one(r);
	iou_exit(&to);
	return ret;
}

static int try_message(struct iou *r, unsigned int command)
{
	return send_message(r, command, 0);
}

static int try_message_flags(struct iou *r, unsigned int flags)
{
	return send_message(r, flags & IORING_MSG_RING_CQE_SKIP ? IORING_MSG_SEND_FD :
			    IORING_MSG_DATA, flags);
}

static int try_timeout(struct iou *r, unsigned int flags)
{
	static const struct __kernel_timespec ts = { .tv_nsec = 1000 };
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_TIMEOUT, -1, &ts, 1, 0);

	sqe->timeout_flags = flags;
	if (flags & IORING_TIMEOUT_IMMEDIATE_ARG)
		sqe->addr = 1000;
	return iou_one(r);
}

static int try_timeout_remove(struct iou *r, unsigned int flags)
{
	static const struct __kernel_timespec ts = { .tv_nsec = 1000 };
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_TIMEOUT_REMOVE, -1, (void *)77, 0,
					    (uintptr_t)&ts);

	sqe->timeout_flags = flags | IORING_TIMEOUT_UPDATE;
	return iou_one(r);
}

static int try_poll(struct iou *r, unsigned int flags)
{
	iou_prep(r, IORING_OP_POLL_ADD, pipe_with_data(), NULL, flags, 0)->poll32_events =
		poll_word(POLLIN);
	return iou_one(r);
}

static int try_poll_remove(struct iou *r, unsigned int flags)
{
	iou_prep(r, IORING_OP_POLL_REMOVE, -1, (void *)77, flags, 0)->poll32_events =
		flags & IORING_POLL_UPDATE_EVENTS ? POLLIN : 0;
	return iou_one(r);
}

static int try_cancel(struct iou *r, unsigned int flags)
{
	int fd = pipe_with_data(), ret = iou_register(r, IORING_REGISTER_FILES, &fd, 1);

	if (ret)
		return ret;
	if (flags & IORING_ASYNC_CANCEL_FD_FIXED) {
		flags |= IORING_ASYNC_CANCEL_FD;
		fd = 0;
	}
	iou_prep(r, IORING_OP_ASYNC_CANCEL, fd, (void *)77, 0, 0)->cancel_flags = flags;
	return iou_one(r);
}

static int try_fsync(struct iou *r, unsigned int flags)
{
	iou_prep(r, IORING_OP_FSYNC, iou_file(1, 1), NULL, 0, 0)->fsync_flags = flags;
	return iou_one(r);
}

static int try_nop(struct iou *r, unsigned int flags)
{
	static char page[4096];
	const struct iovec iov = { page, sizeof(page) };
	struct iou large;
	int ret = iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1);

	if (!ret)
		ret = iou_init(&large, 1, IORING_SETUP_CQE32);
	if (ret)
		return ret;
	if (flags & IORING_NOP_CQE32)
		r = &large;
	iou_prep(r, IORING_OP_NOP, pipe_with_data(), NULL, 0, 0)->nop_flags = flags;
	ret = iou_one(r);
	iou_exit(&large);
	return ret;
}

static int try_install(struct iou *r, unsigned int flags)
{
	int fd = pipe_with_data(), ret = iou_register(r, IORING_REGISTER_FILES, &fd, 1);
	struct io_uring_sqe *sqe;

	if (ret)
		return ret;
	sqe = iou_prep(r, IORING_OP_FIXED_FD_INSTALL, 0, NULL, 0, 0);
	sqe->install_fd_flags = flags;
	sqe->flags = IOSQE_FIXED_FILE;
	return iou_one(r);
}

static int register_a_buffer(struct iou *r)
{
	struct iovec iov = { iou_map_anon(IOU_PAGE), IOU_PAGE };

	return iou_register(r, IORING_REGISTER_BUFFERS, &iov, 1);
}

static int try_command(struct iou *r, unsigned int flags)
{
	int ret = register_a_buffer(r);
	struct io_uring_sqe *sqe;

	if (ret)
		return ret;
	sqe = iou_prep(r, IORING_OP_URING_CMD, open("/dev/null", O_RDWR), NULL, 0, 0);
	sqe->uring_cmd_flags = flags;
	if (flags & IORING_URING_CMD_MULTISHOT)
		sqe->flags = IOSQE_BUFFER_SELECT;
	return iou_one(r);
}

static int try_socket_command(struct iou *r, unsigned int op)
{
	unsigned int stamps = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
			      SOF_TIMESTAMPING_OPT_TSONLY | SOF_TIMESTAMPING_OPT_ID;
	struct io_uring_sqe *sqe;
	struct sockaddr_storage addr;
	int fds[2], one = 1, len = sizeof(addr), ret = sock_tcp_pair(fds);

	if (!ret && op == SOCKET_URING_OP_TX_TIMESTAMP) {
		iou_exit(r);
		ret = iou_init(r, 2, IORING_SETUP_CQE32) ?:
		      setsockopt(fds[0], SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof(stamps)) ?:
		      send(fds[0], "x", 1, 0) - 1;
	}
	if (ret)
		return ret;
	sqe = iou_prep(r, IORING_OP_URING_CMD, fds[0], NULL, 0, 0);
	sqe->cmd_op = op;
	if (op == SOCKET_URING_OP_GETSOCKNAME) {
		sqe->addr = (uintptr_t)&addr;
		sqe->addr3 = (uintptr_t)&len;
	}
	if (op == SOCKET_URING_OP_GETSOCKOPT || op == SOCKET_URING_OP_SETSOCKOPT) {
		sqe->level = SOL_SOCKET;
		sqe->optname = SO_REUSEADDR;
		sqe->optval = (uintptr_t)&one;
		sqe->optlen = sizeof(one);
	}
	return iou_one(r);
}

static int try_splice(struct iou *r, unsigned int flags)
{
	int from = pipe_with_data(), to[2], ret = iou_register(r, IORING_REGISTER_FILES, &from, 1);
	struct io_uring_sqe *sqe;

	if (ret || pipe(to))
		return -EIO;
	sqe = iou_prep(r, IORING_OP_SPLICE, to[1], (void *)-1, 1, -1);
	sqe->splice_off_in = -1;
	sqe->splice_flags = flags;
	return iou_one(r);
}

static int try_read(struct iou *r, unsigned int flags)
{
	void *mem = iou_map_anon(IOU_PAGE);
	int fd, ret = 0;

	if (flags == RWF_HIPRI) {
		/* polling needs a ring with IORING_SETUP_IOPOLL */
		iou_exit(r);
		ret = iou_init(r, 2, IORING_SETUP_IOPOLL);
		fd = open(iou_scratch(), O_RDONLY | O_DIRECT);
	} else {
		fd = pipe_with_data();
	}
	if (ret)
		return ret;
	iou_prep(r, IORING_OP_READ, fd, mem, IOU_PAGE, 0)->rw_flags = flags;
	return iou_one(r);
}

static int try_buffer_ring(struct iou *r, unsigned int flags)
{
	void *mem = flags & IOU_PBUF_RING_MMAP ? NULL : iou_map_anon(IOU_PAGE);

	return reg(r, GROUP, mem, 4, flags, 0);
}

static int try_files(struct iou *r, unsigned int flags)
{
	struct io_uring_rsrc_register reg = { .nr = 4, .flags = flags };

	return iou_register(r, IORING_REGISTER_FILES2, &reg, sizeof(reg));
}

static int try_files_update(struct iou *r, unsigned int fd)
{
	int fds[1] = { fd }, none = -1;
	struct io_uring_files_update up = { .fds = (uintptr_t)fds };

	return iou_register(r, IORING_REGISTER_FILES, &none, 1) ?:
	       iou_register(r, IORING_REGISTER_FILES_UPDATE, &up, 1);
}

static int try_slot(struct iou *r, unsigned int slot)
{
	int none = -1, ret = iou_register(r, IORING_REGISTER_FILES, &none, 1);

	if (ret)
		return ret;
	iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, "/dev/null", 0, 0)->file_index = slot;
	return iou_one(r);
}

static int try_clone(struct iou *r, unsigned int flags)
{
	struct io_uring_rsrc_update index = { .offset = -1 };
	struct io_uring_clone_buffers clone = { .flags = flags };
	struct iou from;
	int ret = iou_init(&from, 2, 0) ?: register_a_buffer(&from);

	if (ret)
		return ret;
	index.data = from.fd;
	ret = iou_register(&from, IORING_REGISTER_RING_FDS, &index, 1);
	clone.src_fd = flags & IORING_REGISTER_SRC_REGISTERED ? (int)index.offset : from.fd;
	if (ret == 1)
		ret = iou_register(r, IORING_REGISTER_CLONE_BUFFERS, &clone, 1);
	iou_exit(&from);
	return ret;
}

static int try_restriction(struct iou *r, unsigned int kind)
{
	struct io_uring_restriction res = { .opcode = kind };
	int ret;

	iou_exit(r);
	ret = iou_init(r, 2, IORING_SETUP_R_DISABLED);
	return ret ? ret : iou_register(r, IORING_REGISTER_RESTRICTIONS, &res, 1);
}

static int try_napi(struct iou *r, unsigned int op)
{
	struct io_uring_napi napi = { .op_param = IO_URING_NAPI_TRACKING_STATIC };
	int ret = op ? iou_register(r, IORING_REGISTER_NAPI, &napi, 1) : 0;

	napi = (struct io_uring_napi){ .opcode = op, .op_param = op ? 5000 : 0 };
	return ret ?: iou_register(r, IORING_REGISTER_NAPI, &napi, 1);
}

static int try_tracking(struct iou *r, unsigned int tracking)
{
	struct io_uring_napi napi = { .op_param = tracking };

	return iou_register(r, IORING_REGISTER_NAPI, &napi, 1);
}

static int try_query(struct iou *r, unsigned int op)
{
	char answer[256];
	struct io_uring_query_hdr hdr = {
		.query_op = op, .query_data = (uintptr_t)answer, .size = sizeof(answer),
	};

	return iou_register(r, IORING_REGISTER_QUERY, &hdr, 0) ?: hdr.result;
}

/* Register memory for arguments of waits. */
static int try_memory(struct iou *r, unsigned int desc_flags, unsigned int flags)
{
	struct io_uring_region_desc desc = {
		.user_addr = (uintptr_t)iou_map_anon(IOU_PAGE), .size = IOU_PAGE,
		.flags = desc_flags,
	};
	struct io_uring_mem_region_reg reg = { .region_uptr = (uintptr_t)&desc, .flags = flags };
	int ret;

	iou_exit(r);
	ret = iou_init(r, 2, IORING_SETUP_R_DISABLED);
	return ret ?: iou_register(r, IORING_REGISTER_MEM_REGION, &reg, 1);
}

static int try_region_memory(struct iou *r, unsigned int flags)
{
	return try_memory(r, flags, 0);
}

static int try_region(struct iou *r, unsigned int flags)
{
	return try_memory(r, IORING_MEM_REGION_TYPE_USER, flags);
}

static int try_wait_in_region(struct iou *r, unsigned int flags)
{
	struct io_uring_region_desc desc = { .size = IOU_PAGE };
	struct io_uring_mem_region_reg reg = {
		.region_uptr = (uintptr_t)&desc, .flags = IORING_MEM_REGION_REG_WAIT_ARG,
	};
	struct io_uring_reg_wait *w;
	int ret;

	iou_exit(r);
	ret = iou_init(r, 2, IORING_SETUP_R_DISABLED) ?:
	      iou_register(r, IORING_REGISTER_MEM_REGION, &reg, 1) ?:
	      iou_register(r, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
	if (ret)
		return ret;
	w = mmap(NULL, IOU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, desc.mmap_offset);
	w->flags = flags;
	ret = iou_sys_enter(r->fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG |
			    IORING_ENTER_EXT_ARG_REG, NULL, sizeof(*w));
	return ret == -ETIME ? 0 : ret;
}

static int try_filter_command(struct iou *r, unsigned int command)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, 1) };
	struct io_uring_bpf reg = {
		.cmd_type = command,
		.filter = { .filter_ptr = (uintptr_t)allow, .filter_len = 1 },
	};

	return iou_register(r, IORING_REGISTER_BPF_FILTER, &reg, 1);
}

static int try_filter(struct iou *r, unsigned int flags)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, 1) };
	struct io_uring_bpf reg = {
		.cmd_type = IO_URING_BPF_CMD_FILTER,
		.filter = { .flags = flags, .filter_ptr = (uintptr_t)allow, .filter_len = 1 },
	};

	return iou_register(r, IORING_REGISTER_BPF_FILTER, &reg, 1);
}

/* Register a queue for RECV_ZC. */
static int try_queue(struct iou *r, struct io_uring_zcrx_ifq_reg *reg,
		     struct zcrx_event_desc event)
{
	struct io_uring_region_desc desc = { .size = IOU_PAGE };
	struct io_uring_zcrx_area_reg area = {
		.addr = (uintptr_t)iou_map_anon(IOU_PAGE), .len = IOU_PAGE,
	};

	*reg = (struct io_uring_zcrx_ifq_reg){
		.rq_entries = 8, .flags = ZCRX_REG_NODEV, .area_ptr = (uintptr_t)&area,
		.region_ptr = (uintptr_t)&desc, .event_desc = (uintptr_t)&event,
	};
	iou_exit(r);
	return iou_init(r, 2, IOU_DEFER | IORING_SETUP_CQE32) ?:
	       iou_register(r, IORING_REGISTER_ZCRX_IFQ, reg, 1);
}

static int try_zcrx(struct iou *r, unsigned int flags)
{
	struct zcrx_ctrl ctrl = { .op = ZCRX_CTRL_EXPORT };
	struct io_uring_zcrx_ifq_reg reg;
	int ret = try_queue(r, &reg, (struct zcrx_event_desc){ });

	if (ret || !(flags & ZCRX_REG_IMPORT))
		return ret;
	ret = iou_register(r, IORING_REGISTER_ZCRX_CTRL, &ctrl, 0);
	reg = (struct io_uring_zcrx_ifq_reg){ .flags = flags, .if_idx = ctrl.zc_export.zcrx_fd };
	return ret ?: iou_register(r, IORING_REGISTER_ZCRX_IFQ, &reg, 1);
}

static int try_event(struct iou *r, unsigned int event)
{
	struct io_uring_zcrx_ifq_reg reg;

	return try_queue(r, &reg, (struct zcrx_event_desc){ .type_mask = 1U << event });
}

static int try_event_flag(struct iou *r, unsigned int flags)
{
	struct zcrx_event_desc event = { .flags = flags, .stats_offset = 1024 };
	struct io_uring_zcrx_ifq_reg reg;

	return try_queue(r, &reg, event);
}

static const struct {
	const char *of;
	int (*try)(struct iou *r, unsigned int value);
} ways[] = {
	{ "SQE", try_sqe },
	{ "SEND RECV", try_receive },
	{ "SEND", try_send },
	{ "RECV", try_receive },
	{ "ACCEPT", try_accept },
	{ "MSG_RING command", try_message },
	{ "MSG_RING", try_message_flags },
	{ "TIMEOUT", try_timeout },
	{ "TIMEOUT_REMOVE", try_timeout_remove },
	{ "POLL_ADD", try_poll },
	{ "POLL_REMOVE", try_poll_remove },
	{ "ASYNC_CANCEL", try_cancel },
	{ "FSYNC", try_fsync },
	{ "NOP", try_nop },
	{ "FIXED_FD_INSTALL", try_install },
	{ "URING_CMD", try_command },
	{ "socket command", try_socket_command },
	{ "SPLICE", try_splice },
	{ "READ", try_read },
	{ "PBUF_RING", try_buffer_ring },
	{ "FILES2", try_files },
	{ "FILES_UPDATE", try_files_update },
	{ "file_index", try_slot },
	{ "CLONE_BUFFERS", try_clone },
	{ "RESTRICTIONS", try_restriction },
	{ "QUERY", try_query },
	{ "BPF_FILTER command", try_filter_command },
	{ "BPF_FILTER", try_filter },
	{ "NAPI", try_napi },
	{ "NAPI tracking", try_tracking },
	{ "MEM_REGION memory", try_region_memory },
	{ "MEM_REGION", try_region },
	{ "EXT_ARG_REG", try_wait_in_region },
	{ "ZCRX_IFQ", try_zcrx },
	{ "ZCRX event", try_event },
	{ "ZCRX event flag", try_event_flag },
	/* these are output, ignored on 6.12, or of a call that another table has */
	{ "CQE", NULL },
	{ "attribute", NULL },
	{ "PROBE", NULL },
	{ "SEND_ZC", NULL },
	{ "ZCRX feature", NULL },
	/* needs a network device */
	{ "ZCRX area", NULL },
	{ "ZCRX_CTRL", NULL },
};

/* Try each row on its own ring.  Descriptors are left open until the test's process exits. */
TEST(op_flags)
{
	const struct table *t = read_table("flags");
	unsigned int i, w;
	struct iou r;

	ASSERT_NE(NULL, t);
	for (i = 0; i < t->nr; i++) {
		for (w = 0; w < ARRAY_LEN(ways); w++)
			if (!strcmp(ways[w].of, t->row[i].of))
				break;
		ASSERT_NE(ARRAY_LEN(ways), w) {
			TH_LOG("no test tries %s of '%s'", t->row[i].name, t->row[i].of);
		}
		if (!ways[w].try)
			continue;
		ASSERT_EQ(0, iou_init(&r, 8, 0));
		EXPECT_ROW(&t->row[i], ways[w].try(&r, t->row[i].value));
		iou_exit(&r);
	}
}

static bool exists(const char *format, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), format, name);
	return !access(path, F_OK);
}

/* Store the fields of an event as in the table: types and names, separated by semicolons. */
static int event_form(const char *event, char *form, size_t size)
{
	char path[160], line[256], *at, *end;
	FILE *f;

	snprintf(path, sizeof(path), EVENTS "/%s/format", event);
	f = fopen(path, "r");
	if (!f)
		return -errno;
	*form = '\0';
	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, "field:");
		end = strchr(line, ';');
		if (!at || !end || strstr(line, " common_"))
			continue;
		*end = '\0';
		if (*form)
			strncat(form, "; ", size - strlen(form) - 1);
		strncat(form, at + strlen("field:"), size - strlen(form) - 1);
	}
	fclose(f);
	return 0;
}

/* Return: the fields of an event on this kernel; one field differs before release 7. */
static const char *event_form_here(const char *form, char *here, size_t size)
{
	const char *now = "; bool hashed;", *at = strstr(form, now);

	if (!at || iou_kernel_from("7"))
		return form;
	snprintf(here, size, "%.*s; int rw;%s", (int)(at - form), form, at + strlen(now));
	return here;
}

TEST(events)
{
	const struct table *t = read_table("observe");
	struct dirent *entry;
	unsigned int i, nr = 0;
	char form[400], want[400];
	DIR *dir;

	ASSERT_NE(NULL, t);
	mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL);
	dir = opendir(EVENTS);
	if (!dir)
		SKIP(return, "needs tracefs");
	while ((entry = readdir(dir)))
		nr += !strncmp(entry->d_name, "io_uring_", strlen("io_uring_"));
	closedir(dir);
	for (i = 0; i < t->nr; i++) {
		if (strcmp(t->row[i].of, "trace event"))
			continue;
		nr--;
		EXPECT_EQ(0, event_form(t->row[i].name, form, sizeof(form)));
		/* the fields are the same for 32-bit programs */
		EXPECT_STREQ(event_form_here(t->row[i].form, want, sizeof(want)), form) {
			TH_LOG("%s", t->row[i].name);
		}
	}
	/* no event lacks a row */
	EXPECT_EQ(0, nr);
}

#define INSTANCE	"/sys/kernel/tracing/instances/iou"

/* Submit requests that cause all events, and wake the READ that waits. */
static int make_events(struct iou *r, int *fds)
{
	struct io_uring_rsrc_update2 slot = { .data = (uintptr_t)fds, .nr = 1 };
	static __u64 tag = 5;
	static char byte;
	int ret, i;

	/* this wait times out */
	iou_wait_ms(r, 1, 1);
	/* prepare a READ that waits, a chain that breaks, a worker's NOP, and a drained NOP */
	iou_prep(r, IORING_OP_READ, fds[0], &byte, 1, 0);
	iou_prep(r, IORING_OP_READ, 999, &byte, 1, 0)->flags = IOSQE_IO_LINK;
	iou_nop(r, 1);
	iou_nop(r, 2)->flags = IOSQE_ASYNC;
	iou_nop(r, 3)->flags = IOSQE_IO_DRAIN;
	ret = iou_submit(r);
	if (ret != 5 || write(fds[1], "x", 1) != 1)
		return -EIO;
	ret = iou_wait(r, 4);
	/* SQEs with an unknown opcode */
	for (i = 0; !ret && i < 2; i++) {
		iou_prep(r, 200, -1, NULL, 0, 0);
		if (iou_submit(r) != 1)
			ret = -EIO;
	}
	/* the second update posts the tag of the first one */
	for (i = 0; !ret && i < 2; i++) {
		slot.tags = i ? 0 : (uintptr_t)&tag;
		if (iou_register(r, IORING_REGISTER_FILES_UPDATE2, &slot, sizeof(slot)) != 1)
			ret = -EIO;
	}
	return ret ?: iou_wait(r, 4);
}

/* Return: true if each run of a single-writer ring's task work took one or two rounds. */
static bool traced_rounds(const char *text)
{
	unsigned int loops;

	while ((text = strstr(text, " io_uring_local_work_run: "))) {
		text = strstr(text, ", loops ");
		if (!text || sscanf(text, ", loops %u", &loops) != 1 || loops < 1 || loops > 2)
			return false;
	}
	return true;
}

/* Return: the number of CQEs in a trace.  Their 16 bytes must have nothing behind them. */
static unsigned int traced_cqes(const char *text, bool *extra)
{
	unsigned int nr = 0;

	while ((text = strstr(text, " io_uring_complete: "))) {
		text = strstr(text, " extra1 ");
		*extra |= !text || strncmp(text, " extra1 0 extra2 0 ", 19);
		if (!text)
			break;
		nr++;
	}
	return nr;
}

static char *read_trace(void)
{
	static char text[1 << 20];
	int fd = open(INSTANCE "/trace", O_RDONLY), len;
	size_t at = 0;

	while ((len = read(fd, text + at, sizeof(text) - 1 - at)) > 0)
		at += len;
	text[at] = '\0';
	close(fd);
	return text;
}

/* Mutants: tag-traced-with-extra, rounds-count-down. */
TEST(events_happen)
{
	static const unsigned int kinds[] = { 0, IOU_DEFER };
	const struct table *t = read_table("observe");
	int fds[2], none = -1;
	char want[96], *text;
	bool extra = false;
	unsigned int i;
	struct iou r;

	ASSERT_NE(NULL, t);
	if (!iou_trace_instance(INSTANCE))
		SKIP(return, "needs tracefs");
	ASSERT_EQ(0, iou_put(INSTANCE "/events/io_uring/enable", "1"));
	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		ASSERT_EQ(0, pipe(fds));
		/* the second make_events() overflows the CQ of 8 entries */
		EXPECT_EQ(0, iou_init_cq(&r, 4, 4, kinds[i]));
		iou_exit(&r);
		EXPECT_EQ(0, iou_init_cq(&r, 8, 8, kinds[i]));
		EXPECT_EQ(0, iou_register(&r, IORING_REGISTER_FILES, &none, 1));
		EXPECT_EQ(0, make_events(&r, fds));
		EXPECT_EQ(0, make_events(&r, fds));
		iou_exit(&r);
	}
	text = read_trace();
	iou_put(INSTANCE "/events/io_uring/enable", "0");
	rmdir(INSTANCE);
	EXPECT_LE(16, traced_cqes(text, &extra));
	EXPECT_FALSE(extra);
	/* differences: none, 6.12 may take more */
	EXPECT_TRUE(traced_rounds(text) || iou_on_stock());
	for (i = 0; i < t->nr; i++) {
		/* no file system of the test guest does a short write without waiting */
		if (strcmp(t->row[i].of, "trace event") ||
		    !strcmp(t->row[i].name, "io_uring_short_write"))
			continue;
		snprintf(want, sizeof(want), " %s: ", t->row[i].name);
		EXPECT_NE(NULL, strstr(text, want)) {
			TH_LOG("no %s", t->row[i].name);
		}
	}
}

/* fdinfo has the keys of the table, in the same order. */
TEST(fdinfo)
{
	const struct table *t = read_table("observe");
	char path[64], line[256], key[64];
	unsigned int i = 0;
	struct iou r;
	FILE *f;

	ASSERT_NE(NULL, t);
	ASSERT_EQ(0, iou_init(&r, 2, 0));
	ASSERT_LT(0, iou_register(&r, IORING_REGISTER_PERSONALITY, NULL, 0));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r.fd);
	f = fopen(path, "r");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f)) {
		/* skip the indented lines of lists, and the lower-case keys of the VFS */
		if (sscanf(line, "%63[A-Za-z_]:", key) != 1 || strchr(" \t0123456789", line[0]) ||
		    (line[0] >= 'a' && line[0] <= 'z'))
			continue;
		while (i < t->nr && strcmp(t->row[i].of, "fdinfo"))
			i++;
		ASSERT_LT(i, t->nr) {
			TH_LOG("%s has no row", key);
		}
		EXPECT_STREQ(t->row[i].name, key);
		i++;
	}
	while (i < t->nr && strcmp(t->row[i].of, "fdinfo"))
		i++;
	EXPECT_EQ(t->nr, i);
	fclose(f);
	iou_exit(&r);
}

static bool in_file(const char *path, const char *word)
{
	size_t len = strlen(word);
	FILE *f = fopen(path, "r");
	bool found = false;
	char line[512];
	char *at;

	while (!found && f && fgets(line, sizeof(line), f)) {
		at = strstr(line, word);
		found = at && (at == line || at[-1] == ' ') && strchr(" \t\n", at[len]);
	}
	if (f)
		fclose(f);
	return found;
}

static bool seen(const struct row *row, struct iou *r)
{
	char path[64], name[64] = { };

	if (!strcmp(row->of, "sysctl"))
		return exists("/proc/sys/kernel/%s", row->name);
	if (!strcmp(row->of, "thread"))
		return iou_threads(getpid(), row->name) > 0;
	if (!strcmp(row->of, "slab"))
		return access("/sys/kernel/slab", F_OK) || exists("/sys/kernel/slab/%s", row->name);
	if (strcmp(row->of, "file"))
		/* other tests check the names in fdinfo, and the trace events */
		return !strcmp(row->of, "fdinfo") || !strcmp(row->of, "trace event");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->fd);
	return readlink(path, name, sizeof(name) - 1) > 0 && strstr(name, row->name);
}

TEST(names)
{
	const struct table *t = read_table("observe");
	struct iou r, work;
	unsigned int i;

	ASSERT_NE(NULL, t);
	ASSERT_EQ(0, iou_init(&r, 2, IORING_SETUP_SQPOLL));
	ASSERT_EQ(0, iou_init(&work, 2, 0));
	iou_nop(&work, 1)->flags = IOSQE_ASYNC;
	ASSERT_EQ(0, iou_one(&work));
	/* the SQPOLL thread sets its name before it serves the ring */
	iou_nop(&r, 1);
	ASSERT_EQ(0, iou_one(&r));
	for (i = 0; i < t->nr; i++) {
		EXPECT_TRUE(seen(&t->row[i], &r)) {
			TH_LOG("no %s of '%s'", t->row[i].name, t->row[i].of);
		}
	}
	iou_exit(&work);
	iou_exit(&r);
}

/* What the names of system calls begin with in the kernel. */
#if defined(__aarch64__)
#define CALL_PREFIX "__arm64_"
#elif defined(__s390x__)
#define CALL_PREFIX "__s390x_"
#elif defined(__i386__)
#define CALL_PREFIX "__ia32_"
#else
#define CALL_PREFIX "__x64_"
#endif

/* The kernel has the system calls, and the symbols that other parts of it use. */
TEST(doors)
{
	const struct table *t = read_table("doors");
	char name[96];
	unsigned int i;

	ASSERT_NE(NULL, t);
	if (!in_file("/proc/kallsyms", "schedule"))
		SKIP(return, "needs the kernel's symbols");
	for (i = 0; i < t->nr; i++) {
		bool call = !strcmp(t->row[i].of, "system call");

		if (!call && strcmp(t->row[i].of, "symbol"))
			continue;
		snprintf(name, sizeof(name), "%s%s", call ? CALL_PREFIX : "", t->row[i].name);
		EXPECT_TRUE(in_file("/proc/kallsyms", name)) {
			TH_LOG("no %s", name);
		}
	}
}

TEST_HARNESS_MAIN
