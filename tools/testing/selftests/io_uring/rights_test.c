// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: rights that each operation requires, and its audit record */
/*
 * A row is an operation, with the error that an unprivileged user gets; root may do all of them.
 * Each row runs with each source of a request's credentials.  6.12 gives the same results.
 *
 * TEE, FADVISE, MADVISE, EPOLL_CTL, WAITID and FUTEX_* require no right that a user may lack.  They
 * have rows because their audit records are checked here, too.  FIXED_FD_INSTALL refuses other
 * credentials altogether, see fd_test.
 */
#include "iou_test.h"
#include "audit.h"
#include "sock.h"
#include <linux/futex.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#define NOBODY	4242

/* The files and sockets of the rows.  Only root may look up names in "locked". */
struct place {
	char dir[32];
	int dfd;
	struct sockaddr_un server;	/* a socket in "locked" */
	int listener;
	int datagrams, locked;
	int file;			/* "suid": only a write by root keeps its S_ISUID */
	int pipe[2], other[2];
	int sock;			/* a new socket for each attempt */
	int epfd;
	unsigned int word;
	struct statx stx;
	siginfo_t info;
	char value[16];
	struct msghdr msg;
	struct iovec iov;
	char control[CMSG_SPACE(sizeof(struct ucred))];
};

struct row {
	int op;
	int refused;		/* result for the unprivileged user; 0: needs no rights */
	bool recorded;
	struct io_uring_sqe *(*prep)(struct iou *r, struct place *p);
	int (*judge)(struct place *p, int res);		/* result after a check, or NULL */
};

static struct io_uring_sqe *prep_path(struct iou *r, int op, struct place *p, const char *old,
				      const char *new)
{
	bool two = op == IORING_OP_RENAMEAT || op == IORING_OP_LINKAT;

	return iou_prep(r, op, p->dfd, old, two ? p->dfd : 0, (uintptr_t)new);
}

static struct io_uring_sqe *prep_open(struct iou *r, struct place *p)
{
	return prep_path(r, IORING_OP_OPENAT, p, "locked/old", NULL);
}

static struct io_uring_sqe *prep_open2(struct iou *r, struct place *p)
{
	static const struct open_how how = { .flags = O_RDONLY };
	struct io_uring_sqe *sqe = prep_path(r, IORING_OP_OPENAT2, p, "locked/old",
					     (const char *)&how);

	sqe->len = sizeof(how);
	return sqe;
}

static struct io_uring_sqe *prep_statx(struct iou *r, struct place *p)
{
	struct io_uring_sqe *sqe = prep_path(r, IORING_OP_STATX, p, "locked/old",
					     (const char *)&p->stx);

	sqe->len = STATX_BASIC_STATS;
	return sqe;
}

static struct io_uring_sqe *prep_rename(struct iou *r, struct place *p)
{
	return prep_path(r, IORING_OP_RENAMEAT, p, "locked/old", "locked/new");
}

static struct io_uring_sqe *prep_unlink(struct iou *r, struct place *p)
{
	return prep_path(r, IORING_OP_UNLINKAT, p, "locked/old", NULL);
}

static struct io_uring_sqe *prep_mkdir(struct iou *r, struct place *p)
{
	return prep_path(r, IORING_OP_MKDIRAT, p, "locked/new", NULL);
}

static struct io_uring_sqe *prep_symlink(struct iou *r, struct place *p)
{
	return prep_path(r, IORING_OP_SYMLINKAT, p, "x", "locked/new");
}

static struct io_uring_sqe *prep_link(struct iou *r, struct place *p)
{
	return prep_path(r, IORING_OP_LINKAT, p, "locked/old", "locked/new");
}

static struct io_uring_sqe *prep_xattr(struct iou *r, int op, struct place *p, const char *name)
{
	static char path[64];
	struct io_uring_sqe *sqe;

	memcpy(p->value, "x", 2);
	sqe = iou_prep(r, op, p->file, name, 1, (uintptr_t)p->value);
	if (op == IORING_OP_SETXATTR || op == IORING_OP_GETXATTR) {
		snprintf(path, sizeof(path), "%s/locked/old", p->dir);
		sqe->fd = 0;
		sqe->addr3 = (uintptr_t)path;
	}
	return sqe;
}

static struct io_uring_sqe *prep_setxattr(struct iou *r, struct place *p)
{
	return prep_xattr(r, IORING_OP_SETXATTR, p, "user.there");
}

static struct io_uring_sqe *prep_getxattr(struct iou *r, struct place *p)
{
	return prep_xattr(r, IORING_OP_GETXATTR, p, "user.there");
}

static struct io_uring_sqe *prep_fsetxattr(struct iou *r, struct place *p)
{
	return prep_xattr(r, IORING_OP_FSETXATTR, p, "trusted.there");
}

static struct io_uring_sqe *prep_fgetxattr(struct iou *r, struct place *p)
{
	return prep_xattr(r, IORING_OP_FGETXATTR, p, "trusted.there");
}

/*
 * Return: -EPERM if a change of the file has cleared its S_ISUID, as it does in a task without the
 * right to keep the bit; otherwise 0, or @res if this is an error.
 */
static int keeps_suid(struct place *p, int res)
{
	struct stat st;

	if (res < 0 || fstat(p->file, &st))
		return res;
	return st.st_mode & S_ISUID ? 0 : -EPERM;
}

static struct io_uring_sqe *prep_write(struct iou *r, struct place *p)
{
	return iou_prep(r, IORING_OP_WRITE, p->file, "x", 1, 0);
}

static struct io_uring_sqe *prep_fallocate(struct iou *r, struct place *p)
{
	return iou_prep(r, IORING_OP_FALLOCATE, p->file, (void *)4096, 0, 0);
}

static struct io_uring_sqe *prep_truncate(struct iou *r, struct place *p)
{
	return iou_prep(r, IORING_OP_FTRUNCATE, p->file, NULL, 0, 100);
}

static struct io_uring_sqe *prep_splice(struct iou *r, struct place *p)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_SPLICE, p->file, NULL, 1, 0);

	sqe->splice_off_in = -1;
	sqe->splice_fd_in = p->pipe[0];
	return sqe;
}

static struct io_uring_sqe *prep_socket(struct iou *r, struct place *p)
{
	return iou_prep(r, IORING_OP_SOCKET, AF_INET, NULL, IPPROTO_UDP, SOCK_RAW);
}

static struct io_uring_sqe *prep_bind(struct iou *r, struct place *p)
{
	static struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/locked/new", p->dir);
	return iou_prep(r, IORING_OP_BIND, p->sock, &at, 0, sizeof(at));
}

static struct io_uring_sqe *prep_listen(struct iou *r, struct place *p)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	bind(p->sock, (void *)&at, sizeof(sa_family_t));
	return iou_prep(r, IORING_OP_LISTEN, p->sock, NULL, 1, 0);
}

/*
 * Connect to the socket.  Return: 0, or -EPERM if SO_PEERCRED reports that the unprivileged user
 * has called listen(), or another error.
 */
static int listened_as_root(struct place *p, int res)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un at;
	socklen_t len = sizeof(at), cred_len = sizeof(struct ucred);
	struct ucred cred = { .uid = -1 };

	if (!res && (getsockname(p->sock, (void *)&at, &len) || connect(fd, (void *)&at, len) ||
		     getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len)))
		res = -errno;
	close(fd);
	return res ?: cred.uid == NOBODY ? -EPERM : 0;
}

static struct io_uring_sqe *prep_connect(struct iou *r, struct place *p)
{
	return iou_prep(r, IORING_OP_CONNECT, p->sock, &p->server, 0, sizeof(p->server));
}

static struct io_uring_sqe *prep_send(struct iou *r, struct place *p)
{
	static struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_SEND, p->datagrams, "x", 1, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/locked/datagrams", p->dir);
	sqe->addr2 = (uintptr_t)&at;
	sqe->addr_len = sizeof(at);
	sqe->msg_flags = MSG_DONTWAIT;
	return sqe;
}

/* Prepare a message with credentials of user 1, which only root may send. */
static struct io_uring_sqe *prep_sendmsg(struct iou *r, struct place *p)
{
	struct ucred cred = { .pid = getpid(), .uid = 1, .gid = getgid() };
	static struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct cmsghdr *c;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/datagrams", p->dir);
	p->iov = (struct iovec){ "x", 1 };
	p->msg = (struct msghdr){
		.msg_name = &at, .msg_namelen = sizeof(at), .msg_iov = &p->iov, .msg_iovlen = 1,
		.msg_control = p->control, .msg_controllen = sizeof(p->control),
	};
	c = CMSG_FIRSTHDR(&p->msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_CREDENTIALS;
	c->cmsg_len = CMSG_LEN(sizeof(cred));
	memcpy(CMSG_DATA(c), &cred, sizeof(cred));
	return iou_prep(r, IORING_OP_SENDMSG, p->datagrams, &p->msg, 1, 0);
}

static struct io_uring_sqe *prep_command(struct iou *r, struct place *p)
{
	static const int mark = 7;
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_URING_CMD, p->sock, NULL, 0, 0);

	sqe->cmd_op = SOCKET_URING_OP_SETSOCKOPT;
	sqe->level = SOL_SOCKET;
	sqe->optname = SO_MARK;
	sqe->optval = (uintptr_t)&mark;
	sqe->optlen = sizeof(mark);
	return sqe;
}

static struct io_uring_sqe *prep_tee(struct iou *r, struct place *p)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_TEE, p->other[1], NULL, 1, 0);

	sqe->splice_fd_in = p->pipe[0];
	return sqe;
}

static struct io_uring_sqe *prep_fadvise(struct iou *r, struct place *p)
{
	return iou_prep(r, IORING_OP_FADVISE, p->file, NULL, 0, 0);
}

static struct io_uring_sqe *prep_madvise(struct iou *r, struct place *p)
{
	static char *mem;

	mem = mem ?: iou_map_anon(IOU_PAGE);
	return iou_prep(r, IORING_OP_MADVISE, -1, mem, IOU_PAGE, 0);
}

static struct io_uring_sqe *prep_epoll(struct iou *r, struct place *p)
{
	static struct epoll_event event = { .events = EPOLLIN };

	return iou_prep(r, IORING_OP_EPOLL_CTL, p->epfd, &event, EPOLL_CTL_ADD, p->sock);
}

/* There is no child, so the result is -ECHILD.  WNOWAIT would keep a child for later attempts. */
static struct io_uring_sqe *prep_waitid(struct iou *r, struct place *p)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_WAITID, 0, NULL, P_ALL,
					    (uintptr_t)&p->info);

	sqe->file_index = WEXITED | WNOHANG | WNOWAIT;
	return sqe;
}

static int no_child_is_fine(struct place *p, int res)
{
	return res == -ECHILD ? 0 : res;
}

static struct io_uring_sqe *prep_wake(struct iou *r, struct place *p)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_FUTEX_WAKE,
					    FUTEX2_SIZE_U32 | FUTEX2_PRIVATE, &p->word, 0, 1);

	sqe->addr3 = ~0U;
	return sqe;
}

/* The word is 0, and 1 is expected, so the request does not wait. */
static struct io_uring_sqe *prep_wait(struct iou *r, struct place *p)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_FUTEX_WAIT,
					    FUTEX2_SIZE_U32 | FUTEX2_PRIVATE, &p->word, 0, 1);

	sqe->addr3 = ~0U;
	return sqe;
}

static struct io_uring_sqe *prep_waitv(struct iou *r, struct place *p)
{
	static struct futex_waitv wait;

	wait = (struct futex_waitv){
		.val = 1, .uaddr = (uintptr_t)&p->word, .flags = FUTEX2_SIZE_U32 | FUTEX2_PRIVATE,
	};
	return iou_prep(r, IORING_OP_FUTEX_WAITV, 0, &wait, 1, 0);
}

static int not_waited(struct place *p, int res)
{
	return res == -EAGAIN ? 0 : res ?: -ENODATA;
}

static const struct row rows[] = {
	{ IORING_OP_OPENAT, -EACCES, true, prep_open },
	{ IORING_OP_OPENAT2, -EACCES, true, prep_open2 },
	{ IORING_OP_STATX, -EACCES, false, prep_statx },
	{ IORING_OP_RENAMEAT, -EACCES, true, prep_rename },
	{ IORING_OP_UNLINKAT, -EACCES, true, prep_unlink },
	{ IORING_OP_MKDIRAT, -EACCES, true, prep_mkdir },
	{ IORING_OP_SYMLINKAT, -EACCES, true, prep_symlink },
	{ IORING_OP_LINKAT, -EACCES, true, prep_link },
	{ IORING_OP_SETXATTR, -EACCES, true, prep_setxattr },
	{ IORING_OP_GETXATTR, -EACCES, true, prep_getxattr },
	{ IORING_OP_FSETXATTR, -EPERM, true, prep_fsetxattr },
	{ IORING_OP_FGETXATTR, -ENODATA, true, prep_fgetxattr },
	{ IORING_OP_WRITE, -EPERM, false, prep_write, keeps_suid },
	{ IORING_OP_FALLOCATE, -EPERM, true, prep_fallocate, keeps_suid },
	{ IORING_OP_FTRUNCATE, -EPERM, true, prep_truncate, keeps_suid },
	{ IORING_OP_SPLICE, -EPERM, false, prep_splice, keeps_suid },
	{ IORING_OP_SOCKET, -EPERM, false, prep_socket },
	{ IORING_OP_BIND, -EACCES, true, prep_bind },
	{ IORING_OP_LISTEN, -EPERM, true, prep_listen, listened_as_root },
	{ IORING_OP_CONNECT, -EACCES, true, prep_connect },
	{ IORING_OP_SEND, -EACCES, false, prep_send },
	{ IORING_OP_SENDMSG, -EPERM, true, prep_sendmsg },
	{ IORING_OP_URING_CMD, -EPERM, true, prep_command },
	{ IORING_OP_TEE, 0, false, prep_tee },
	{ IORING_OP_FADVISE, 0, false, prep_fadvise },
	{ IORING_OP_MADVISE, 0, false, prep_madvise },
	{ IORING_OP_EPOLL_CTL, 0, false, prep_epoll },
	{ IORING_OP_WAITID, 0, true, prep_waitid, no_child_is_fine },
	{ IORING_OP_FUTEX_WAKE, 0, true, prep_wake },
	{ IORING_OP_FUTEX_WAIT, 0, true, prep_wait, not_waited },
	{ IORING_OP_FUTEX_WAITV, 0, true, prep_waitv, not_waited },
};

static int become(int effective)
{
	return iou_ret(syscall(__NR_setresuid, -1, effective, -1));
}

static int bound(struct place *p, int type, const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", p->dir, name);
	if (fd < 0 || bind(fd, (void *)&at, sizeof(at)) || chmod(at.sun_path, 0777))
		return -errno;
	p->server = at;
	return fd;
}

static int make_place(struct place *p)
{
	p->dfd = iou_dir(p->dir, sizeof(p->dir));
	if (p->dfd < 0 || chmod("/tmp", 01777) || fchmod(p->dfd, 0755) ||
	    mkdirat(p->dfd, "locked", 0700) || pipe(p->pipe) || pipe(p->other))
		return -errno;
	p->file = openat(p->dfd, "suid", O_CREAT | O_RDWR, 0600);
	p->epfd = epoll_create1(0);
	p->locked = bound(p, SOCK_DGRAM, "locked/datagrams");
	p->datagrams = bound(p, SOCK_DGRAM, "datagrams");
	p->listener = bound(p, SOCK_STREAM | SOCK_NONBLOCK, "locked/server");
	return p->file < 0 || p->datagrams < 0 || p->listener < 0 || listen(p->listener, 100) ||
	       fsetxattr(p->file, "trusted.there", "x", 1, 0) ? -EIO : 0;
}

static void end_place(struct place *p)
{
	int fds[] = { p->file, p->epfd, p->datagrams, p->locked, p->listener, p->pipe[0],
		      p->pipe[1], p->other[0], p->other[1], p->sock };
	unsigned int i;
	char path[64];
	int fd;

	for (i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	snprintf(path, sizeof(path), "%s/locked", p->dir);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	iou_dir_remove(path, fd);
	iou_dir_remove(p->dir, p->dfd);
}

/* Restore, as root, the state that each attempt begins with. */
static int tidy_up(struct place *p)
{
	char byte[16], path[64];

	if (become(0))
		return -EPERM;
	if (unlinkat(p->dfd, "locked/new", 0))
		unlinkat(p->dfd, "locked/new", AT_REMOVEDIR);
	close(openat(p->dfd, "locked/old", O_CREAT | O_WRONLY, 0600));
	snprintf(path, sizeof(path), "%s/locked/old", p->dir);
	fchmod(p->file, 04700);
	/* one byte in the first pipe, none in the second */
	fcntl(p->pipe[0], F_SETFL, O_NONBLOCK);
	fcntl(p->other[0], F_SETFL, O_NONBLOCK);
	while (read(p->pipe[0], byte, sizeof(byte)) > 0)
		;
	while (read(p->other[0], byte, sizeof(byte)) > 0)
		;
	while (recv(p->datagrams, byte, sizeof(byte), MSG_DONTWAIT) > 0 ||
	       recv(p->locked, byte, sizeof(byte), MSG_DONTWAIT) > 0)
		;
	close(accept(p->listener, NULL, NULL));
	/* close() also removes the socket from the epoll set */
	close(p->sock);
	p->sock = socket(AF_UNIX, SOCK_STREAM, 0);
	if (p->sock < 0 || write(p->pipe[1], "x", 1) != 1 ||
	    setxattr(path, "user.there", "x", 1, 0))
		return -errno;
	return 0;
}

/* Try an operation.  Return: 0 if it was done, or a negative errno. */
static int attempt(const struct row *row, struct place *p, struct iou *r, unsigned int sqe_flags,
		   int personality, int user)
{
	struct io_uring_sqe *sqe;
	int res = tidy_up(p);

	if (res)
		return -EBADE;
	sqe = row->prep(r, p);
	sqe->flags |= sqe_flags;
	sqe->personality = personality;
	if (become(user))
		return -EBADE;
	res = iou_one(r);
	if (row->judge)
		res = row->judge(p, res);
	become(0);
	if (res > 0 && (row->op == IORING_OP_OPENAT || row->op == IORING_OP_OPENAT2 ||
			row->op == IORING_OP_SOCKET)) {
		close(res);
		return 0;
	}
	return res < 0 ? res : 0;
}

FIXTURE(rights) {
	struct iou r;		/* made by root */
	struct iou low;		/* made by the unprivileged user */
	int nobody, root;	/* personalities of both rings */
	struct place p;
};

FIXTURE_VARIANT(rights) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS_OF_TASK(rights);
IOU_KINDS_ASYNC(rights);

/* Add the personalities of a ring; the unprivileged user's gets the id 1. */
static int add_personalities(struct iou *r)
{
	int nobody, root;

	become(NOBODY);
	nobody = iou_register(r, IORING_REGISTER_PERSONALITY, NULL, 0);
	become(0);
	root = iou_register(r, IORING_REGISTER_PERSONALITY, NULL, 0);
	return nobody == 1 && root == 2 ? 0 : -EIO;
}

FIXTURE_SETUP(rights)
{
	int ret;

	self->r.fd = -1;
	self->low.fd = -1;
	self->nobody = 1;
	self->root = 2;
	if (getuid())
		SKIP(return, "needs to be root");
	ASSERT_EQ(0, make_place(&self->p));
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	ASSERT_EQ(0, become(NOBODY));
	ret = iou_init(&self->low, 8, variant->flags);
	ASSERT_EQ(0, become(0));
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, add_personalities(&self->r));
	ASSERT_EQ(0, add_personalities(&self->low));
}

FIXTURE_TEARDOWN(rights)
{
	if (getuid())
		return;
	iou_exit(&self->r);
	iou_exit(&self->low);
	end_place(&self->p);
}

#define EXPECT_EACH(want, r, personality, user) do {						\
	unsigned int i_;									\
												\
	for (i_ = 0; i_ < ARRAY_LEN(rows); i_++) {						\
		const struct row *row = &rows[i_];						\
												\
		EXPECT_EQ((want), attempt(row, &self->p, (r), variant->sqe_flags, (personality),\
					  (user))) {						\
			TH_LOG("operation %d", row->op);					\
		}										\
	}											\
} while (0)

/* A request with a personality has the rights of that personality, not those of the submitter. */
TEST_F(rights, of_the_personality)
{
	EXPECT_EACH(row->refused, &self->r, self->nobody, 0);
	EXPECT_EACH(0, &self->r, self->root, NOBODY);
}

/*
 * An SQPOLL thread uses the credentials of the ring's creator, not those of the submitter.
 * Mutant: statx-without-creds.
 */
TEST_F(rights, of_the_submitter)
{
	bool thread = variant->flags & IORING_SETUP_SQPOLL;

	EXPECT_EACH(0, &self->r, 0, 0);
	EXPECT_EACH(thread ? 0 : row->refused, &self->r, 0, NOBODY);
	EXPECT_EACH(thread ? row->refused : 0, &self->low, 0, 0);
	EXPECT_EACH(row->refused, &self->low, 0, NOBODY);
	/* a personality that root has registered can be used nevertheless */
	EXPECT_EACH(0, &self->low, self->root, NOBODY);
}

/*
 * Run all rows as root and with the other user's personality, in a task that audit covers from its
 * start.  Return: 0; the failed row + 1; or 99 without a ring.
 */
static int do_recorded(struct place *p, unsigned int flags, unsigned int sqe_flags)
{
	struct iou r;
	unsigned int i;

	if (iou_init(&r, 8, flags) || add_personalities(&r))
		return 99;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		if (attempt(&rows[i], p, &r, sqe_flags, 0, 0))
			return 1 + i;
		if (attempt(&rows[i], p, &r, sqe_flags, 1, 0) != rows[i].refused)
			return 1 + i;
	}
	return 0;
}

/*
 * Return: the operation in the next record, without attempts that returned -EAGAIN, as the last
 * attempt has a record, too.  -EAGAIN is the result of FUTEX_WAIT and FUTEX_WAITV.
 */
static int next_ended(int fd, char *text, size_t size)
{
	int op;

	do {
		op = audit_next(fd, text, size);
	} while (op >= 0 && strstr(text, "success=no exit=-11 ") &&
		 op != IORING_OP_FUTEX_WAIT && op != IORING_OP_FUTEX_WAITV);
	return op;
}

/*
 * Each audited operation leaves one record, with the credentials that it ran with;
 * other operations leave no record.  Mutant: audit-of-the-task.
 */
TEST_F(rights, recorded)
{
	struct audit_rule_data rule = {
		.flags = AUDIT_FILTER_URING_EXIT, .action = AUDIT_ALWAYS,
	};
	unsigned int i, j;
	int fd, pid, status;
	char text[512];

	for (i = 0; i < ARRAY_LEN(rows); i++)
		rule.mask[AUDIT_WORD(rows[i].op)] |= AUDIT_BIT(rows[i].op);
	fd = audit_start(&rule);
	if (fd < 0)
		SKIP(return, "needs audit");
	pid = fork();
	if (!pid)
		_exit(do_recorded(&self->p, variant->flags, variant->sqe_flags));
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		for (j = 0; rows[i].recorded && j < 2; j++) {
			EXPECT_EQ(rows[i].op, next_ended(fd, text, sizeof(text)));
			EXPECT_NE(NULL, strstr(text, j ? " euid=4242 " : " euid=0 ")) {
				TH_LOG("%s", text);
			}
		}
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, audit_stop(fd, &rule));
}

TEST_HARNESS_MAIN
