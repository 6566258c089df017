// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: what Landlock refuses to a task */
/*
 * A test restricts itself halfway, for good.  It may do everything in its directory "open", and
 * nothing in "shut".  In "keep" it may neither truncate nor move or link files from elsewhere.  A
 * row has the same result as a system call and as an operation, and the same as on 6.12.
 *
 * A request has its submitter's credentials.  Only the credentials of an SQPOLL thread, and those
 * registered as a personality, can be older than the restriction.
 */
#include "iou_test.h"
#include "sock.h"
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset	444
#define __NR_landlock_add_rule		445
#define __NR_landlock_restrict_self	446
#endif

#define FILES	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
		 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG)
#define ALL	(FILES | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
		 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
		 LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE)
/* the first Landlock ABI with scopes */
#define ABI	6

enum place { OPEN, SHUT, KEEP, PLACES };

static const char * const names[PLACES] = { "open", "shut", "keep" };

/* What an operation works on: names in directories, or a socket of the given kind. */
enum kind { PATH, MOVE, TCP, UNIX, DATAGRAM };

struct row {
	int op;
	enum kind kind;		/* MOVE: of "old", which is in "open" */
	enum place place;	/* where the row is refused */
	int refused;
	const char *name, *new;
	int flags;
};

static const struct row rows[] = {
	{ IORING_OP_OPENAT, PATH, SHUT, -EACCES, "old", NULL, O_RDONLY },
	{ IORING_OP_OPENAT, PATH, SHUT, -EACCES, "old", NULL, O_WRONLY },
	{ IORING_OP_OPENAT, PATH, SHUT, -EACCES, "new", NULL, O_RDWR | O_CREAT },
	{ IORING_OP_OPENAT, PATH, KEEP, -EACCES, "old", NULL, O_RDWR | O_TRUNC },
	{ IORING_OP_OPENAT2, PATH, SHUT, -EACCES, "old", NULL, O_RDONLY },
	{ IORING_OP_OPENAT2, PATH, SHUT, -EACCES, "new", NULL, O_RDWR | O_CREAT },
	{ IORING_OP_OPENAT2, PATH, KEEP, -EACCES, "old", NULL, O_RDWR | O_TRUNC },
	{ IORING_OP_UNLINKAT, PATH, SHUT, -EACCES, "old" },
	{ IORING_OP_UNLINKAT, PATH, SHUT, -EACCES, "dir", NULL, AT_REMOVEDIR },
	{ IORING_OP_MKDIRAT, PATH, SHUT, -EACCES, "new" },
	{ IORING_OP_SYMLINKAT, PATH, SHUT, -EACCES, "to", "new" },
	{ IORING_OP_RENAMEAT, PATH, SHUT, -EACCES, "old", "new" },
	{ IORING_OP_RENAMEAT, MOVE, SHUT, -EACCES, "old", "new" },
	{ IORING_OP_RENAMEAT, MOVE, KEEP, -EXDEV, "old", "new" },
	{ IORING_OP_LINKAT, PATH, SHUT, -EACCES, "old", "new" },
	{ IORING_OP_LINKAT, MOVE, SHUT, -EACCES, "old", "new" },
	{ IORING_OP_LINKAT, MOVE, KEEP, -EXDEV, "old", "new" },
	{ IORING_OP_BIND, TCP, SHUT, -EACCES },
	{ IORING_OP_CONNECT, TCP, SHUT, -EACCES },
	/* the address of this row is the path of a file */
	{ IORING_OP_BIND, UNIX, SHUT, -EACCES },
	/* the abstract addresses were bound before the restriction */
	{ IORING_OP_CONNECT, UNIX, SHUT, -EPERM },
	{ IORING_OP_SENDMSG, DATAGRAM, SHUT, -EPERM },
};

struct address {
	union {
		struct sockaddr_in in;
		struct sockaddr_un un;
	};
	socklen_t len;
};

FIXTURE(landlock) {
	struct iou before, after;	/* rings from before and after the restriction */
	char dir[32];
	int dirs[PLACES];
	int listeners[4], datagrams[2];
	struct address tcp[2], port[2], stream[2], datagram[2], fresh[2];	/* by place */
	int tidy[2], done[2];		/* pipes to the cleaner and back */
	int cleaner;
};

FIXTURE_VARIANT(landlock) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(landlock);
IOU_KINDS_ASYNC(landlock);

/* Restore the names with which each attempt begins. */
static void tidy_up(const char *dir)
{
	char path[64];
	int i, fd;

	for (i = 0; i < PLACES; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		mkdir(path, 0755);
		fd = open(path, O_RDONLY | O_DIRECTORY);
		if (unlinkat(fd, "new", 0))
			unlinkat(fd, "new", AT_REMOVEDIR);
		mkdirat(fd, "dir", 0755);
		close(openat(fd, "old", O_CREAT | O_WRONLY, 0600));
		close(fd);
	}
}

/*
 * Start an unrestricted process that tidies up at first, and for each byte in @tidy.  It answers in
 * @done, and removes @dir when @tidy is closed.
 */
static int start_cleaner(const char *dir, int tidy[2], int done[2])
{
	char path[64], byte;
	int i, pid;

	if (pipe(tidy) || pipe(done))
		return -errno;
	pid = fork();
	if (pid)
		return pid;
	close(tidy[1]);
	do {
		tidy_up(dir);
	} while (write(done[1], "x", 1) == 1 && read(tidy[0], &byte, 1) == 1);
	for (i = 0; i < PLACES; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		iou_dir_remove(path, open(path, O_RDONLY | O_DIRECTORY));
	}
	iou_dir_remove(dir, open(dir, O_RDONLY | O_DIRECTORY));
	_exit(0);
}

/*
 * Bind a socket to @path, or to an address that the kernel chooses, and store the address in @at.
 * A stream socket also listens.
 */
static int bound(int family, int type, struct address *at, const char *path)
{
	int fd = socket(family, type | SOCK_NONBLOCK, 0);

	memset(at, 0, sizeof(*at));
	at->len = sizeof(at->un);
	if (family == AF_INET) {
		at->in = sock_loopback(0);
		at->len = sizeof(at->in);
	} else {
		at->un.sun_family = AF_UNIX;
	}
	if (path)
		snprintf(at->un.sun_path, sizeof(at->un.sun_path), "%s", path);
	if (bind(fd, (void *)at, path || family == AF_INET ? at->len : sizeof(sa_family_t)))
		return -errno;
	at->len = sizeof(at->un);
	getsockname(fd, (void *)at, &at->len);
	if (type == SOCK_STREAM)
		listen(fd, 8);
	return fd;
}

static int landlock_abi(void)
{
	return iou_ret(syscall(__NR_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION));
}

FIXTURE_SETUP(landlock)
{
	int i, fd, ports[2];
	char path[64];

	self->before.fd = -1;
	self->after.fd = -1;
	self->cleaner = -1;
	if (landlock_abi() < ABI)
		SKIP(return, "needs Landlock");
	fd = iou_dir(self->dir, sizeof(self->dir));
	ASSERT_LE(0, fd);
	close(fd);
	self->cleaner = start_cleaner(self->dir, self->tidy, self->done);
	ASSERT_LT(0, self->cleaner);
	ASSERT_EQ(1, read(self->done[0], path, 1));
	for (i = 0; i < PLACES; i++) {
		snprintf(path, sizeof(path), "%s/%s", self->dir, names[i]);
		self->dirs[i] = open(path, O_RDONLY | O_DIRECTORY);
		ASSERT_LE(0, self->dirs[i]);
	}
	for (i = OPEN; i <= SHUT; i++) {
		/* bind a port that is closed below, a port that listens, and UNIX addresses */
		ports[i] = bound(AF_INET, SOCK_STREAM, &self->port[i], NULL);
		ASSERT_LE(0, ports[i]);
		self->listeners[i] = bound(AF_INET, SOCK_STREAM, &self->tcp[i], NULL);
		snprintf(path, sizeof(path), "%s/stream", self->dir);
		self->listeners[2 + i] = bound(AF_UNIX, SOCK_STREAM, &self->stream[i],
					       i == OPEN ? path : NULL);
		snprintf(path, sizeof(path), "%s/datagrams", self->dir);
		self->datagrams[i] = bound(AF_UNIX, SOCK_DGRAM, &self->datagram[i],
					   i == OPEN ? path : NULL);
		ASSERT_LE(0, self->listeners[i]);
		ASSERT_LE(0, self->listeners[2 + i]);
		ASSERT_LE(0, self->datagrams[i]);
		self->fresh[i].un.sun_family = AF_UNIX;
		self->fresh[i].len = sizeof(self->fresh[i].un);
		snprintf(self->fresh[i].un.sun_path, sizeof(self->fresh[i].un.sun_path),
			 "%s/%s/new", self->dir, names[i]);
	}
	close(ports[OPEN]);
	close(ports[SHUT]);
	ASSERT_EQ(0, iou_init(&self->before, 8, variant->flags));
	ASSERT_EQ(1, iou_register(&self->before, IORING_REGISTER_PERSONALITY, NULL, 0));
}

FIXTURE_TEARDOWN(landlock)
{
	iou_exit(&self->before);
	iou_exit(&self->after);
	if (self->cleaner < 0)
		return;
	close(self->tidy[1]);
	EXPECT_EQ(self->cleaner, waitpid(self->cleaner, NULL, 0));
}

static int allow_path(int ruleset, int fd, unsigned long long access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };

	return iou_ret(syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
			       0));
}

static int allow_port(int ruleset, const struct address *at, unsigned long long access)
{
	struct landlock_net_port_attr rule = {
		.allowed_access = access, .port = ntohs(at->in.sin_port),
	};

	return iou_ret(syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_NET_PORT, &rule, 0));
}

static int restrict_self(struct _test_data_landlock *self)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = ALL,
		.handled_access_net = LANDLOCK_ACCESS_NET_BIND_TCP |
				      LANDLOCK_ACCESS_NET_CONNECT_TCP,
		.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET,
	};
	int fd = syscall(__NR_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (fd < 0 || allow_path(fd, self->dirs[OPEN], ALL) ||
	    allow_path(fd, self->dirs[KEEP], FILES) ||
	    allow_port(fd, &self->port[OPEN], LANDLOCK_ACCESS_NET_BIND_TCP) ||
	    allow_port(fd, &self->tcp[OPEN], LANDLOCK_ACCESS_NET_CONNECT_TCP) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(__NR_landlock_restrict_self, fd, 0))
		return -errno;
	return close(fd);
}

/* The arguments of an attempt, for an SQE or for the system call. */
struct attempt {
	int fd, newfd;
	const char *name, *new;
	const struct address *at;
	struct open_how how;
	struct iovec iov;
	struct msghdr msg;
};

static void choose(struct _test_data_landlock *self, const struct row *row, enum place place,
		   struct attempt *a)
{
	bool binds = row->op == IORING_OP_BIND;

	memset(a, 0, sizeof(*a));
	a->name = row->name;
	a->new = row->new;
	a->how.flags = row->flags;
	a->how.mode = row->flags & O_CREAT ? 0600 : 0;
	if (row->kind == PATH || row->kind == MOVE) {
		a->fd = self->dirs[row->kind == MOVE ? OPEN : place];
		a->newfd = self->dirs[place];
	} else if (row->kind == TCP) {
		a->fd = socket(AF_INET, SOCK_STREAM, 0);
		a->at = binds ? &self->port[place] : &self->tcp[place];
	} else if (row->kind == UNIX) {
		a->fd = socket(AF_UNIX, SOCK_STREAM, 0);
		a->at = binds ? &self->fresh[place] : &self->stream[place];
	} else {
		a->fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		a->at = &self->datagram[place];
		a->iov = (struct iovec){ "x", 1 };
		a->msg = (struct msghdr){
			.msg_name = (void *)a->at, .msg_namelen = a->at->len,
			.msg_iov = &a->iov, .msg_iovlen = 1,
		};
	}
}

static int by_call(const struct row *row, struct attempt *a)
{
	switch (row->op) {
	case IORING_OP_OPENAT:
		return openat(a->fd, a->name, row->flags, 0600);
	case IORING_OP_OPENAT2:
		return syscall(__NR_openat2, a->fd, a->name, &a->how, sizeof(a->how));
	case IORING_OP_UNLINKAT:
		return unlinkat(a->fd, a->name, row->flags);
	case IORING_OP_MKDIRAT:
		return mkdirat(a->fd, a->name, 0700);
	case IORING_OP_SYMLINKAT:
		return symlinkat(a->name, a->fd, a->new);
	case IORING_OP_RENAMEAT:
		return renameat(a->fd, a->name, a->newfd, a->new);
	case IORING_OP_LINKAT:
		return linkat(a->fd, a->name, a->newfd, a->new, 0);
	case IORING_OP_BIND:
		return bind(a->fd, (void *)a->at, a->at->len);
	case IORING_OP_CONNECT:
		return connect(a->fd, (void *)a->at, a->at->len);
	case IORING_OP_SENDMSG:
		return sendmsg(a->fd, &a->msg, 0);
	}
	errno = EBADRQC;
	return -1;
}

static struct io_uring_sqe *prep(struct iou *r, const struct row *row, struct attempt *a)
{
	struct io_uring_sqe *sqe;

	switch (row->op) {
	case IORING_OP_OPENAT2:
		return iou_prep(r, row->op, a->fd, a->name, sizeof(a->how), (uintptr_t)&a->how);
	case IORING_OP_MKDIRAT:
		return iou_prep(r, row->op, a->fd, a->name, 0700, 0);
	case IORING_OP_SYMLINKAT:
		return iou_prep(r, row->op, a->fd, a->name, 0, (uintptr_t)a->new);
	case IORING_OP_RENAMEAT:
	case IORING_OP_LINKAT:
		return iou_prep(r, row->op, a->fd, a->name, a->newfd, (uintptr_t)a->new);
	case IORING_OP_BIND:
	case IORING_OP_CONNECT:
		return iou_prep(r, row->op, a->fd, a->at, 0, a->at->len);
	case IORING_OP_SENDMSG:
		return iou_prep(r, row->op, a->fd, &a->msg, 1, 0);
	}
	/* open_flags and unlink_flags are one field */
	sqe = iou_prep(r, row->op, a->fd, a->name, row->op == IORING_OP_OPENAT ? 0600 : 0, 0);
	sqe->open_flags = row->flags;
	return sqe;
}

/* Try a row, by a system call if @r is NULL.  Return: 0 if it was granted, or -errno. */
static int attempt(struct _test_data_landlock *self, const struct row *row, enum place place,
		   struct iou *r, unsigned int sqe_flags, int personality)
{
	bool opens = row->op == IORING_OP_OPENAT || row->op == IORING_OP_OPENAT2;
	struct io_uring_sqe *sqe;
	struct attempt a;
	unsigned int i;
	char byte;
	int res;

	if (write(self->tidy[1], "x", 1) != 1 || read(self->done[0], &byte, 1) != 1)
		return -EBADE;
	choose(self, row, place, &a);
	if (r) {
		sqe = prep(r, row, &a);
		sqe->flags = sqe_flags;
		sqe->personality = personality;
		res = iou_one(r);
	} else {
		res = iou_ret(by_call(row, &a));
	}
	if (opens && res >= 0)
		close(res);
	if (row->kind != PATH && row->kind != MOVE)
		close(a.fd);
	for (i = 0; i < ARRAY_LEN(self->listeners); i++)
		close(accept(self->listeners[i], NULL, NULL));
	for (i = 0; i < ARRAY_LEN(self->datagrams); i++)
		while (recv(self->datagrams[i], &byte, 1, 0) > 0)
			;
	return res < 0 ? res : 0;
}

/* Each row is granted in "open".  In its other directory it is refused, unless @granted. */
static void try_rows(struct __test_metadata *_metadata, struct _test_data_landlock *self,
		     struct iou *r, unsigned int sqe_flags, int personality, bool granted)
{
	const struct row *row;

	for (row = rows; row < rows + ARRAY_LEN(rows); row++) {
		EXPECT_EQ(0, attempt(self, row, OPEN, r, sqe_flags, personality)) {
			TH_LOG("row %zd, operation %d, granted", row - rows, row->op);
		}
		EXPECT_EQ(granted ? 0 : row->refused,
			  attempt(self, row, row->place, r, sqe_flags, personality)) {
			TH_LOG("row %zd, operation %d", row - rows, row->op);
		}
	}
}

/* Without the restriction all rows are granted. */
TEST_F(landlock, not_yet)
{
	try_rows(_metadata, self, NULL, variant->sqe_flags, 0, true);
	try_rows(_metadata, self, &self->before, variant->sqe_flags, 0, true);
}

TEST_F(landlock, refused)
{
	bool thread = variant->flags & IORING_SETUP_SQPOLL;

	/* create a worker before the restriction */
	EXPECT_EQ(0, attempt(self, &rows[0], SHUT, &self->before, IOSQE_ASYNC, 0));
	ASSERT_EQ(0, restrict_self(self));
	try_rows(_metadata, self, NULL, variant->sqe_flags, 0, false);
	try_rows(_metadata, self, &self->before, variant->sqe_flags, 0, thread);
	ASSERT_EQ(0, iou_init(&self->after, 8, variant->flags));
	try_rows(_metadata, self, &self->after, variant->sqe_flags, 0, false);
}

TEST_F(landlock, personality)
{
	ASSERT_EQ(0, restrict_self(self));
	try_rows(_metadata, self, &self->before, variant->sqe_flags, 1, true);
	/* a personality that is registered now is restricted like the task */
	ASSERT_EQ(2, iou_register(&self->before, IORING_REGISTER_PERSONALITY, NULL, 0));
	try_rows(_metadata, self, &self->before, variant->sqe_flags, 2, false);
}

static int truncated(struct iou *r, unsigned int sqe_flags, int personality, int fd)
{
	struct io_uring_sqe *sqe;

	if (!r)
		return iou_ret(ftruncate(fd, 100));
	sqe = iou_prep(r, IORING_OP_FTRUNCATE, fd, NULL, 0, 100);
	sqe->flags = sqe_flags;
	sqe->personality = personality;
	return iou_one(r);
}

static int opened(struct iou *r, unsigned int sqe_flags, int personality, int dfd)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_OPENAT, dfd, "old", 0, 0);

	sqe->open_flags = O_RDWR;
	sqe->flags = sqe_flags;
	sqe->personality = personality;
	return iou_one(r);
}

/* The right to truncate belongs to the open file: only the opener's restriction counts. */
TEST_F(landlock, truncate)
{
	int early = openat(self->dirs[KEEP], "old", O_RDWR), late, open, by[3];
	struct iou *before = &self->before, *after = &self->after;
	struct iou *rings[3] = { NULL, before, after };
	bool thread = variant->flags & IORING_SETUP_SQPOLL;
	unsigned int i, f = variant->sqe_flags;

	ASSERT_LE(0, early);
	ASSERT_EQ(0, restrict_self(self));
	ASSERT_EQ(0, iou_init(after, 8, variant->flags));
	late = openat(self->dirs[KEEP], "old", O_RDWR);
	open = openat(self->dirs[OPEN], "old", O_RDWR);
	by[0] = opened(after, f, 0, self->dirs[KEEP]);
	by[1] = opened(before, f, 0, self->dirs[KEEP]);
	by[2] = opened(before, f, 1, self->dirs[KEEP]);
	ASSERT_LE(0, late);
	ASSERT_LE(0, open);
	for (i = 0; i < 3; i++)
		ASSERT_LE(0, by[i]);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, truncated(rings[i], f, 0, early));
		EXPECT_EQ(0, truncated(rings[i], f, 0, open));
		EXPECT_EQ(-EACCES, truncated(rings[i], f, 0, late));
		EXPECT_EQ(-EACCES, truncated(rings[i], f, 0, by[0]));
		EXPECT_EQ(thread ? 0 : -EACCES, truncated(rings[i], f, 0, by[1]));
		EXPECT_EQ(0, truncated(rings[i], f, 0, by[2]));
	}
	EXPECT_EQ(-EACCES, truncated(before, f, 1, late));
}

TEST_HARNESS_MAIN
