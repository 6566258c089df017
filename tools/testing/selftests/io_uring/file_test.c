// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: STATX, FADVISE, MADVISE and FTRUNCATE */
#include <linux/fuse.h>
#include <linux/stat.h>
#include <poll.h>
#include <pthread.h>
#include "fault.h"
#include "iou_test.h"

FIXTURE(file) {
	struct iou r;
	char dir[32];
	char path[64];
	int dfd, fd;
};

FIXTURE_VARIANT(file) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS(file);
IOU_KINDS_ASYNC(file);

FIXTURE_SETUP(file)
{
	self->dfd = iou_dir(self->dir, sizeof(self->dir));
	ASSERT_LE(0, self->dfd);
	snprintf(self->path, sizeof(self->path), "%s/here", self->dir);
	self->fd = open(self->path, O_CREAT | O_RDWR, 0640);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(5, write(self->fd, "hello", 5));
	ASSERT_EQ(0, symlinkat("here", self->dfd, "link"));
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, &self->fd, 1));
}

FIXTURE_TEARDOWN(file)
{
	iou_exit(&self->r);
	close(self->fd);
	iou_dir_remove(self->dir, self->dfd);
}

static int do_statx(struct iou *r, unsigned int f, int dfd, const char *path, unsigned int flags,
		    unsigned int mask, struct statx *buf)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_STATX, dfd, path, mask, (uintptr_t)buf);

	sqe->statx_flags = flags;
	sqe->flags = f;
	return iou_one(r);
}

TEST_F(file, statx)
{
	struct statx buf = {}, want = {};
	unsigned int f = variant->sqe_flags, all = STATX_BASIC_STATS | STATX_BTIME;
	struct iou *r = &self->r;

	ASSERT_EQ(0, do_statx(r, f, self->dfd, "here", 0, all, &buf));
	ASSERT_EQ(0, statx(self->dfd, "here", 0, all, (void *)&want));
	EXPECT_EQ(0, memcmp(&buf, &want, sizeof(buf)));
	EXPECT_EQ(5, buf.stx_size);
	EXPECT_EQ(S_IFREG | 0640, buf.stx_mode);
	EXPECT_EQ(0, do_statx(r, f, -1, self->path, AT_STATX_DONT_SYNC, all, &buf));
	EXPECT_EQ(want.stx_ino, buf.stx_ino);
	EXPECT_EQ(0, do_statx(r, f, -1, self->path, AT_STATX_FORCE_SYNC, all, &buf));

	/* look up the target of a symbolic link, the link itself, and the file of a descriptor */
	EXPECT_EQ(0, do_statx(r, f, self->dfd, "link", 0, all, &buf));
	EXPECT_EQ(want.stx_ino, buf.stx_ino);
	EXPECT_EQ(0, do_statx(r, f, self->dfd, "link", AT_SYMLINK_NOFOLLOW, all, &buf));
	EXPECT_EQ(S_IFLNK, buf.stx_mode & S_IFMT);
	EXPECT_EQ(0, do_statx(r, f, self->fd, "", AT_EMPTY_PATH, all, &buf));
	EXPECT_EQ(want.stx_ino, buf.stx_ino);

	EXPECT_EQ(-ENOENT, do_statx(r, f, self->dfd, "none", 0, all, &buf));
	EXPECT_EQ(-ENOENT, do_statx(r, f, self->dfd, "", 0, all, &buf));
	EXPECT_EQ(-ENOTDIR, do_statx(r, f, self->dfd, "here/none", 0, all, &buf));
	EXPECT_EQ(-EBADF, do_statx(r, f, 999, "here", 0, all, &buf));
	EXPECT_EQ(-EFAULT, do_statx(r, f, self->dfd, (char *)8, 0, all, &buf));
	EXPECT_EQ(-EFAULT, do_statx(r, f, self->dfd, "here", 0, all, (void *)8));
	/* the path is looked up before the result is written */
	EXPECT_EQ(-ENOENT, do_statx(r, f, self->dfd, "none", 0, all, (void *)8));
	EXPECT_EQ(-EINVAL, do_statx(r, f, self->dfd, "none", AT_STATX_SYNC_TYPE, all, &buf));
	EXPECT_EQ(-EINVAL, do_statx(r, f, self->dfd, "none", 1, all, &buf));
	EXPECT_EQ(-EINVAL, do_statx(r, f, self->dfd, "none", 0, STATX__RESERVED, &buf));
	EXPECT_EQ(-EBADF, do_statx(r, f | IOSQE_FIXED_FILE, 0, "here", 0, all, &buf));
}

/*
 * A STATX of a cached dentry needs no worker.  Mutant: statx-always-worker.
 * differences: statx-cached
 */
TEST_F(file, statx_inline)
{
	struct statx buf;

	if (variant->sqe_flags || variant->flags & IORING_SETUP_SQPOLL || iou_on_stock())
		SKIP(return, "takes a worker");
	EXPECT_EQ(0, do_statx(&self->r, 0, self->dfd, "here", 0, STATX_BASIC_STATS, &buf));
	EXPECT_EQ(0, do_statx(&self->r, 0, self->dfd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &buf));
	EXPECT_EQ(0, iou_threads(getpid(), "iou-wrk"));
}

/*
 * A task submits a STATX that writes to a page which the same task supplies later.
 * Mutant: statx-waits-for-page.
 */
TEST_F(file, statx_into_a_hole)
{
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	struct hole hole;

	if (hole_open(&hole, 1))
		SKIP(return, "needs userfaultfd");
	sqe = iou_prep(r, IORING_OP_STATX, self->dfd, "here", STATX_BASIC_STATS, 0);
	sqe->addr2 = (uintptr_t)hole.mem;
	sqe->flags = variant->sqe_flags;
	ASSERT_EQ(1, iou_submit(r));
	EXPECT_EQ(1, hole_faults(&hole, 1));
	ASSERT_EQ(0, hole_give(&hole, 0, 1));
	ASSERT_EQ(0, iou_wait(r, 1));
	ASSERT_EQ(0, iou_reap(r, &cqe));
	EXPECT_EQ(0, cqe.res);
	EXPECT_EQ(STATX_BASIC_STATS, ((struct statx *)hole.mem)->stx_mask & STATX_BASIC_STATS);
	close(hole.uffd);
	munmap(hole.mem, IOU_PAGE);
	munmap(hole.zero, IOU_PAGE);
}

/* A FUSE server of a filesystem with nothing but a root directory. */
struct server {
	pthread_t thread;
	int fd;
	int submitted;	/* set by the test: attributes may be returned from now on */
	int asked;	/* set by the server: another task waits for the attributes */
};

static void answer(struct server *s, const struct fuse_in_header *in, const void *data, size_t len)
{
	char buf[256];
	struct fuse_out_header *out = (void *)buf;

	memset(buf, 0, sizeof(buf));
	out->len = sizeof(*out) + len;
	out->unique = in->unique;
	if (data)
		memcpy(out + 1, data, len);
	else
		out->error = -EOPNOTSUPP;
	if (write(s->fd, buf, out->len) < 0)
		return;
}

static void answer_getattr(struct server *s, const struct fuse_in_header *in)
{
	struct fuse_attr_out attr = {
		.attr = { .ino = 1, .mode = S_IFDIR | 0755, .nlink = 77 },
	};
	unsigned long long end = iou_now_us() + 1000000;

	store_rel(&s->asked, 1);
	while (!load_acq(&s->submitted) && iou_now_us() < end)
		iou_sleep_ms(1);
	answer(s, in, &attr, sizeof(attr));
}

/* Answer requests until the filesystem is unmounted. */
static void *serve(void *arg)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
		.max_write = 4096,
	};
	static char buf[FUSE_MIN_READ_BUFFER * 2];
	struct fuse_in_header *in = (void *)buf;
	struct server *s = arg;

	while (read(s->fd, buf, sizeof(buf)) > 0) {
		if (in->opcode == FUSE_INIT)
			answer(s, in, &init, sizeof(init));
		else if (in->opcode == FUSE_GETATTR)
			answer_getattr(s, in);
		else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET)
			answer(s, in, NULL, 0);
	}
	return NULL;
}

/* Mount the filesystem, on the block device @device unless it is NULL. */
static int serve_begin(struct server *s, const char *device, const char *dir)
{
	char options[80];

	s->fd = open("/dev/fuse", O_RDWR);
	if (s->fd < 0)
		return -errno;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0%s", s->fd,
		 device ? ",blksize=4096" : "");
	if (mount(device ?: "iou", dir, device ? "fuseblk" : "fuse", 0, options))
		return -errno;
	return -pthread_create(&s->thread, NULL, serve, s);
}

static void serve_end(struct server *s, const char *dir)
{
	umount2(dir, MNT_DETACH);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

static void statx_of_root(struct __test_metadata *_metadata, struct _test_data_file *self,
			  unsigned int f, const char *device)
{
	struct statx buf = {};
	struct server s = {};
	int above;

	/* use a relative path, as the machine's root may be on a server, too */
	above = openat(self->dfd, "..", O_PATH | O_DIRECTORY);
	ASSERT_LE(0, above);
	ASSERT_EQ(0, serve_begin(&s, device, self->dir));
	iou_prep(&self->r, IORING_OP_STATX, above, strrchr(self->dir, '/') + 1, STATX_NLINK,
		 (uintptr_t)&buf)->flags = f;
	EXPECT_EQ(1, iou_submit(&self->r));
	/* a worker may wait for the server, but has no result yet */
	EXPECT_EQ(0, buf.stx_nlink);
	EXPECT_EQ(0, iou_ready(&self->r));
	store_rel(&s.submitted, 1);
	EXPECT_EQ(0, iou_discard(&self->r, 1));
	EXPECT_EQ(77, buf.stx_nlink);
	EXPECT_EQ(1, load_acq(&s.asked));
	serve_end(&s, self->dir);
	close(above);
}

/*
 * The root of a filesystem is always in the dentry cache, but a server holds its attributes.  The
 * task does not wait for the server in io_uring_enter().  Mutant: statx-waits-for-server.
 */
TEST_F(file, statx_of_server)
{
	if (access("/dev/fuse", F_OK))
		SKIP(return, "needs FUSE");
	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "another task waits");
	statx_of_root(_metadata, self, variant->sqe_flags, NULL);
}

/* The server's filesystem is on a block device, so that it looks like a local filesystem. */
TEST_F(file, statx_of_server_with_device)
{
	if (access("/dev/fuse", F_OK))
		SKIP(return, "needs FUSE");
	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "another task waits");
	statx_of_root(_metadata, self, variant->sqe_flags, iou_scratch());
}

struct exchange {
	int dfd;
	bool stop;
};

static void *exchange(void *arg)
{
	struct exchange *x = arg;

	while (!load_acq(&x->stop))
		syscall(SYS_renameat2, x->dfd, "here", x->dfd, "there", RENAME_EXCHANGE);
	return NULL;
}

/*
 * A name alternates between a local file and a server's root.  A STATX must use the file that it
 * has found in the dentry cache.  Mutant: statx-looks-twice.  differences: statx-cached
 */
TEST_F(file, statx_of_a_changing_name)
{
	unsigned long long end, start, longest = 0;
	struct exchange x = { .dfd = self->dfd };
	struct server s = {};
	char srv[64], there[64];
	unsigned int left = 0;
	pthread_t thread;
	struct statx buf;

	if (access("/dev/fuse", F_OK))
		SKIP(return, "needs FUSE");
	if (variant->sqe_flags || variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "another task waits");
	snprintf(srv, sizeof(srv), "%s/srv", self->dir);
	snprintf(there, sizeof(there), "%s/there", self->dir);
	ASSERT_EQ(0, mkdir(srv, 0700));
	ASSERT_EQ(0, serve_begin(&s, NULL, srv));
	ASSERT_EQ(0, symlink(srv, there));
	ASSERT_EQ(0, pthread_create(&thread, NULL, exchange, &x));
	/* a slow kernel shows the race more often, so it gets more time */
	end = iou_race_end() + (iou_slow_kernel() ? 2000000 : 0);
	do {
		iou_prep(&self->r, IORING_OP_STATX, self->dfd, "here", STATX_NLINK,
			 (uintptr_t)&buf);
		start = iou_now_us();
		ASSERT_EQ(1, iou_submit(&self->r));
		if (iou_now_us() - start > longest)
			longest = iou_now_us() - start;
		left += 1 - iou_ready(&self->r);
		iou_seen(&self->r, iou_ready(&self->r));
	} while (iou_now_us() < end && left < 64);
	/* the server delays its reply for a second, so a submission that takes less did not wait */
	EXPECT_GT(500000, longest);
	store_rel(&s.submitted, 1);
	EXPECT_EQ(0, iou_discard(&self->r, left));
	store_rel(&x.stop, true);
	pthread_join(thread, NULL);
	serve_end(&s, srv);
	rmdir(srv);
	unlink(there);
}

/* The program may change the path once the SQE was taken. */
TEST_F(file, statx_path_is_copied)
{
	char path[8] = "here";
	struct statx buf = {};

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the SQE is taken at some time");
	iou_prep(&self->r, IORING_OP_STATX, self->dfd, path, STATX_SIZE, (uintptr_t)&buf)->flags =
		IOSQE_ASYNC;
	ASSERT_EQ(1, iou_submit(&self->r));
	memset(path, 'x', sizeof(path));
	EXPECT_EQ(0, iou_discard(&self->r, 1));
	EXPECT_EQ(5, buf.stx_size);
}

static int do_fadvise(struct iou *r, unsigned int f, int fd, int advice, long long off,
		      unsigned long long long_len, unsigned int len)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_FADVISE, fd, NULL, len, off);

	sqe->addr = long_len;
	sqe->fadvise_advice = advice;
	sqe->flags = f;
	return iou_one(r);
}

TEST_F(file, fadvise)
{
	static const int advice[] = {
		POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL,
		POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED, POSIX_FADV_NOREUSE,
	};
	unsigned int i, f = variant->sqe_flags;
	struct iou *r = &self->r;
	int p[2];

	ASSERT_EQ(0, pipe(p));
	for (i = 0; i < ARRAY_LEN(advice); i++) {
		EXPECT_EQ(0, do_fadvise(r, f, self->fd, advice[i], 0, 0, 0));
		EXPECT_EQ(0, do_fadvise(r, f | IOSQE_FIXED_FILE, 0, advice[i], 0, 0, 4096));
		EXPECT_EQ(-ESPIPE, do_fadvise(r, f, p[0], advice[i], 0, 0, 0));
		EXPECT_EQ(-EBADF, do_fadvise(r, f, 999, advice[i], 0, 0, 0));
		/* the 64-bit length is used if it is not zero */
		EXPECT_EQ(-EINVAL, do_fadvise(r, f, self->fd, advice[i], 0, -1ULL, 1));
		EXPECT_EQ(0, do_fadvise(r, f, self->fd, advice[i], 0, 1ULL << 40, 1));
	}
	EXPECT_EQ(-EINVAL, do_fadvise(r, f, self->fd, 99, 0, 0, 0));
	close(p[0]);
	close(p[1]);
}

static int do_madvise(struct iou *r, unsigned int f, void *mem, int advice,
		      unsigned long long long_len, unsigned int len)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_MADVISE, -1, mem, len, long_len);

	sqe->fadvise_advice = advice;
	sqe->flags = f;
	return iou_one(r);
}

/*
 * A slot can have a file that was opened with O_PATH.  Requests on this file fail as system calls
 * do.  Mutants: path-advised, path-synced, path-attribute-read, path-attribute-set.
 * differences: path-only-file
 */
TEST_F(file, path_only)
{
	static const struct {
		unsigned char op;
		unsigned int len;
	} uses[] = {
		{ IORING_OP_FADVISE, 4096 }, { IORING_OP_SYNC_FILE_RANGE, 4096 },
		{ IORING_OP_FGETXATTR, 4 }, { IORING_OP_FSETXATTR, 4 },
	};
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	unsigned int i;
	char value[4];
	int fd;

	/* this replaces the fixture's file */
	sqe = iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, "/tmp", 0, 0);
	sqe->open_flags = O_PATH;
	sqe->file_index = 1;
	ASSERT_EQ(0, iou_one(r));
	for (i = 0; i < ARRAY_LEN(uses); i++) {
		sqe = iou_prep(r, uses[i].op, 0, NULL, uses[i].len, 0);
		if (i >= 2) {
			sqe->addr = (uintptr_t)"user.x";
			sqe->addr2 = (uintptr_t)value;
		}
		sqe->flags = IOSQE_FIXED_FILE | variant->sqe_flags;
		EXPECT_TRUE(iou_one(r) == -EBADF || iou_on_stock()) TH_LOG("op %u", uses[i].op);
	}
	iou_prep(r, IORING_OP_FIXED_FD_INSTALL, 0, NULL, 0, 0)->flags = IOSQE_FIXED_FILE;
	fd = iou_one(r);
	ASSERT_LE(0, fd);
	EXPECT_EQ(O_PATH, fcntl(fd, F_GETFL) & O_PATH);
	close(fd);
}

TEST_F(file, madvise)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	char *mem = iou_map_anon(4 * IOU_PAGE);

	memset(mem, 'x', 4 * IOU_PAGE);
	EXPECT_EQ(0, do_madvise(r, f, mem, MADV_DONTNEED, 0, IOU_PAGE));
	EXPECT_EQ(0, mem[0]);
	EXPECT_EQ('x', mem[IOU_PAGE]);
	/* the 64-bit length is used if it is not zero */
	EXPECT_EQ(0, do_madvise(r, f, mem, MADV_DONTNEED, 2 * IOU_PAGE, 4 * IOU_PAGE));
	EXPECT_EQ(0, mem[IOU_PAGE]);
	EXPECT_EQ('x', mem[2 * IOU_PAGE]);
	EXPECT_EQ(0, do_madvise(r, f, mem, MADV_WILLNEED, 0, 0));
	EXPECT_EQ(-EINVAL, do_madvise(r, f, mem + 1, MADV_DONTNEED, 0, IOU_PAGE));
	EXPECT_EQ(-EINVAL, do_madvise(r, f, mem, 99, 0, IOU_PAGE));
	munmap(mem + 3 * IOU_PAGE, IOU_PAGE);
	EXPECT_EQ(-ENOMEM, do_madvise(r, f, mem, MADV_DONTNEED, 0, 4 * IOU_PAGE));
	EXPECT_EQ(0, mem[2 * IOU_PAGE]);
	munmap(mem, 3 * IOU_PAGE);
}

static int do_ftruncate(struct iou *r, unsigned int f, int fd, long long len)
{
	iou_prep(r, IORING_OP_FTRUNCATE, fd, NULL, 0, len)->flags = f;
	return iou_one(r);
}

TEST_F(file, ftruncate)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct stat st;
	int fd, p[2];

	EXPECT_EQ(0, do_ftruncate(r, f, self->fd, 3));
	fstat(self->fd, &st);
	EXPECT_EQ(3, st.st_size);
	EXPECT_EQ(0, do_ftruncate(r, f | IOSQE_FIXED_FILE, 0, 1LL << 33));
	fstat(self->fd, &st);
	EXPECT_EQ(1LL << 33, st.st_size);
	EXPECT_EQ(-EINVAL, do_ftruncate(r, f, self->fd, -1));
	EXPECT_EQ(-EBADF, do_ftruncate(r, f, 999, 0));
	EXPECT_EQ(-EINVAL, do_ftruncate(r, f, self->dfd, 0));
	fd = open(self->path, O_RDONLY);
	EXPECT_EQ(-EINVAL, do_ftruncate(r, f, fd, 0));
	close(fd);
	ASSERT_EQ(0, pipe(p));
	EXPECT_EQ(-EINVAL, do_ftruncate(r, f, p[1], 0));
	close(p[0]);
	close(p[1]);
}

/* A 32-bit program that opened the file without O_LARGEFILE cannot make it larger than 2 GiB. */
TEST_F(file, ftruncate_small)
{
	unsigned int f = variant->sqe_flags;
	int fd = syscall(SYS_openat, AT_FDCWD, self->path, O_RDWR);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, do_ftruncate(&self->r, f, fd, (1LL << 31) - 1));
	EXPECT_EQ(sizeof(long) == 4 ? -EINVAL : 0, do_ftruncate(&self->r, f, fd, 1LL << 31));
	close(fd);
}

/* RLIMIT_FSIZE of the process also applies to its workers. */
TEST_F(file, ftruncate_limit)
{
	struct rlimit old, low;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	low.rlim_cur = 4096;
	setrlimit(RLIMIT_FSIZE, &low);
	EXPECT_EQ(0, do_ftruncate(&self->r, variant->sqe_flags, self->fd, 4096));
	EXPECT_EQ(-EFBIG, do_ftruncate(&self->r, variant->sqe_flags, self->fd, 4097));
	setrlimit(RLIMIT_FSIZE, &old);
}

/* Of these ops, only a FADVISE that fails breaks its chain. */
TEST_F(file, failure_in_a_chain)
{
	static const struct {
		int op;
		int want;
	} ops[] = {
		{ IORING_OP_STATX, -ENOENT }, { IORING_OP_FADVISE, -EINVAL },
		{ IORING_OP_MADVISE, -EINVAL }, { IORING_OP_FTRUNCATE, -EINVAL },
	};
	struct io_uring_cqe first, second;
	struct statx buf;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		struct io_uring_sqe *sqe = iou_prep(&self->r, ops[i].op, self->dfd, NULL, 0, 0);

		sqe->flags = IOSQE_IO_LINK | variant->sqe_flags;
		if (ops[i].op == IORING_OP_STATX) {
			sqe->addr = (uintptr_t)"none";
			sqe->off = (uintptr_t)&buf;
		} else if (ops[i].op != IORING_OP_FTRUNCATE) {
			sqe->fd = self->fd;
			sqe->fadvise_advice = 99;
		}
		iou_nop(&self->r, 2);
		ASSERT_EQ(2, iou_submit_wait(&self->r, 2));
		ASSERT_EQ(0, iou_reap(&self->r, &first));
		ASSERT_EQ(0, iou_reap(&self->r, &second));
		EXPECT_EQ(ops[i].want, first.res);
		EXPECT_EQ(ops[i].op == IORING_OP_FADVISE ? -ECANCELED : 0, second.res);
	}
}

TEST_HARNESS_MAIN
