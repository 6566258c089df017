// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: FSETXATTR, SETXATTR, FGETXATTR, GETXATTR - extended attributes */
#include <sys/wait.h>
#include <sys/xattr.h>
#include "iou_test.h"

#define NAME	"user.iou"

FIXTURE(xattr) {
	struct iou r;
	char dir[32];
	char path[64];
	int dfd, fd;
};

FIXTURE_VARIANT(xattr) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS(xattr);
IOU_KINDS_ASYNC(xattr);

FIXTURE_SETUP(xattr)
{
	self->dfd = iou_dir(self->dir, sizeof(self->dir));
	ASSERT_LE(0, self->dfd);
	snprintf(self->path, sizeof(self->path), "%s/here", self->dir);
	self->fd = open(self->path, O_CREAT | O_RDWR, 0600);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, &self->fd, 1));
	if (fsetxattr(self->fd, NAME, "old", 3, 0))
		SKIP(return, "/tmp has no attributes");
}

FIXTURE_TEARDOWN(xattr)
{
	iou_exit(&self->r);
	close(self->fd);
	iou_dir_remove(self->dir, self->dfd);
}

/* Prepare a request that has a path or, for FSETXATTR and FGETXATTR, a descriptor. */
static struct io_uring_sqe *prep_xattr(struct iou *r, unsigned int f, int op, const char *path,
				       int fd, const char *name, const void *value,
				       unsigned int len, unsigned int flags)
{
	struct io_uring_sqe *sqe = iou_prep(r, op, fd, name, len, (uintptr_t)value);

	sqe->addr3 = (uintptr_t)path;
	sqe->xattr_flags = flags;
	sqe->flags = f;
	return sqe;
}

static int do_xattr(struct iou *r, unsigned int f, int op, const char *path, int fd,
		    const char *name, const void *value, unsigned int len, unsigned int flags)
{
	prep_xattr(r, f, op, path, fd, name, value, len, flags);
	return iou_one(r);
}

/* Test a pair of operations on a file, which either @path or @fd names. */
static void set_and_get(struct __test_metadata *_metadata, struct iou *r, unsigned int f, int set,
			int get, const char *path, int fd)
{
	char value[16] = "";

	EXPECT_EQ(0, do_xattr(r, f, set, path, fd, NAME, "value", 5, 0));
	EXPECT_EQ(5, do_xattr(r, f, get, path, fd, NAME, value, sizeof(value), 0));
	EXPECT_STREQ("value", value);
	/* read only the size of the value, then the value to a buffer that is too small */
	EXPECT_EQ(5, do_xattr(r, f, get, path, fd, NAME, NULL, 0, 0));
	EXPECT_EQ(-ERANGE, do_xattr(r, f, get, path, fd, NAME, value, 4, 0));
	EXPECT_EQ(5, do_xattr(r, f, get, path, fd, NAME, value, ~0U, 0));
	EXPECT_EQ(-EFAULT, do_xattr(r, f, get, path, fd, NAME, (void *)8, 16, 0));
	EXPECT_EQ(-ENODATA, do_xattr(r, f, get, path, fd, "user.none", value, 16, 0));
	EXPECT_EQ(-EINVAL, do_xattr(r, f, get, path, fd, NAME, value, 16, 1));

	EXPECT_EQ(-EEXIST, do_xattr(r, f, set, path, fd, NAME, "x", 1, XATTR_CREATE));
	EXPECT_EQ(0, do_xattr(r, f, set, path, fd, NAME, "x", 1, XATTR_REPLACE));
	EXPECT_EQ(-ENODATA, do_xattr(r, f, set, path, fd, "user.none", "x", 1, XATTR_REPLACE));
	EXPECT_EQ(-EINVAL, do_xattr(r, f, set, path, fd, NAME, "x", 1, 4));
	EXPECT_EQ(-EFAULT, do_xattr(r, f, set, path, fd, NAME, (void *)8, 1, 0));
	EXPECT_EQ(-E2BIG, do_xattr(r, f, set, path, fd, NAME, (void *)8, 65537, 0));
	EXPECT_EQ(-EOPNOTSUPP, do_xattr(r, f, set, path, fd, "none.such", "x", 1, 0));
	EXPECT_EQ(0, do_xattr(r, f, set, path, fd, NAME, NULL, 0, 0));
	EXPECT_EQ(0, do_xattr(r, f, get, path, fd, NAME, value, sizeof(value), 0));
}

TEST_F(xattr, by_descriptor)
{
	unsigned int f = variant->sqe_flags;
	int fd;

	set_and_get(_metadata, &self->r, f, IORING_OP_FSETXATTR, IORING_OP_FGETXATTR, NULL,
		    self->fd);
	EXPECT_EQ(-EBADF, do_xattr(&self->r, f, IORING_OP_FSETXATTR, NULL, 999, NAME, "x", 1, 0));
	EXPECT_EQ(-EBADF, do_xattr(&self->r, f, IORING_OP_FGETXATTR, NULL, 999, NAME, NULL, 0, 0));
	/* the file need not be open for writing */
	fd = open(self->path, O_RDONLY);
	EXPECT_EQ(0, do_xattr(&self->r, f, IORING_OP_FSETXATTR, NULL, fd, NAME, "x", 1, 0));
	close(fd);
}

TEST_F(xattr, by_path)
{
	unsigned int f = variant->sqe_flags, get = IORING_OP_GETXATTR, set = IORING_OP_SETXATTR;
	struct iou *r = &self->r;
	char link[64];

	set_and_get(_metadata, r, f, set, get, self->path, -1);
	snprintf(link, sizeof(link), "%s/link", self->dir);
	ASSERT_EQ(0, symlink("here", link));
	set_and_get(_metadata, r, f, set, get, link, -1);
	unlink(link);
	EXPECT_EQ(-ENOENT, do_xattr(r, f, set, link, -1, NAME, "x", 1, 0));
	EXPECT_EQ(-ENOENT, do_xattr(r, f, get, link, -1, NAME, NULL, 0, 0));
	EXPECT_EQ(-ENOENT, do_xattr(r, f, get, "", -1, NAME, NULL, 0, 0));
	EXPECT_EQ(-EFAULT, do_xattr(r, f, set, (char *)8, -1, NAME, "x", 1, 0));
	EXPECT_EQ(-EFAULT, do_xattr(r, f, get, (char *)8, -1, NAME, NULL, 0, 0));
}

/*
 * Attributes of a registered file.  A path has no registered file.
 * Mutant: xattr-refuses-slots.  differences: xattr-fixed-file
 */
TEST_F(xattr, by_slot)
{
	unsigned int f = variant->sqe_flags | IOSQE_FIXED_FILE;
	struct iou *r = &self->r;

	if (iou_on_older_stock())
		return;
	set_and_get(_metadata, r, f, IORING_OP_FSETXATTR, IORING_OP_FGETXATTR, NULL, 0);
	EXPECT_EQ(-EBADF, do_xattr(r, f, IORING_OP_FGETXATTR, NULL, 1, NAME, NULL, 0, 0));
}

/* Wrong requests fail before the file is looked up.  The checks have the order of these lines. */
TEST_F(xattr, refused)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	char longest[300];
	unsigned int op;

	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	for (op = IORING_OP_FSETXATTR; op <= IORING_OP_GETXATTR; op++) {
		if (op == IORING_OP_SETXATTR || op == IORING_OP_GETXATTR) {
			EXPECT_EQ(-EBADF, do_xattr(r, f | IOSQE_FIXED_FILE, op, self->path, 0,
						   (char *)8, NULL, 0, 8));
			EXPECT_EQ(-EBADF, do_xattr(r, f | IOSQE_FIXED_FILE, op, self->path, 0,
						   NAME, NULL, 0, 0));
		}
		EXPECT_EQ(-EINVAL, do_xattr(r, f, op, (char *)8, 999, (char *)8, NULL, 0, 8));
		EXPECT_EQ(-EFAULT, do_xattr(r, f, op, (char *)8, 999, (char *)8, NULL, 0, 0));
		EXPECT_EQ(-ERANGE, do_xattr(r, f, op, (char *)8, 999, "", NULL, 0, 0));
		EXPECT_EQ(-ERANGE, do_xattr(r, f, op, (char *)8, 999, longest, NULL, 0, 0));
	}
}

/*
 * A request that fails posts a CQE in spite of IOSQE_CQE_SKIP_SUCCESS, and its chain goes on.  6.12
 * posts no CQE.  Mutant: unbroken-failure-hidden.  differences: failed-told
 */
TEST_F(xattr, failures_are_told)
{
	unsigned int f = variant->sqe_flags | IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
	struct iou *r = &self->r;
	struct io_uring_cqe cqe;
	int op;

	for (op = IORING_OP_FSETXATTR; op <= IORING_OP_GETXATTR; op++) {
		bool set = op == IORING_OP_FSETXATTR || op == IORING_OP_SETXATTR;

		prep_xattr(r, f, op, self->path, self->fd, "user.none", "x", 1,
			   set ? XATTR_REPLACE : 0)->user_data = 1;
		iou_nop(r, 2);
		ASSERT_EQ(2, iou_submit(r));
		if (!iou_on_stock()) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			EXPECT_EQ(1, cqe.user_data);
			EXPECT_EQ(-ENODATA, cqe.res);
		}
		ASSERT_EQ(0, iou_reap(r, &cqe));
		EXPECT_EQ(2, cqe.user_data);
		EXPECT_EQ(0, cqe.res);
	}
}

/* A program may change path, name and value once the kernel has consumed the SQE. */
TEST_F(xattr, all_is_copied)
{
	char name[16] = NAME, value[4] = "new", path[64];

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the SQE is taken at some time");
	memcpy(path, self->path, sizeof(path));
	prep_xattr(&self->r, IOSQE_ASYNC, IORING_OP_SETXATTR, path, -1, name, value, 3, 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	memset(path, 'x', sizeof(path));
	memset(name, 'x', sizeof(name));
	memset(value, 'x', sizeof(value));
	EXPECT_EQ(0, iou_discard(&self->r, 1));
	EXPECT_EQ(3, fgetxattr(self->fd, NAME, value, sizeof(value)));
	EXPECT_EQ(0, memcmp(value, "new", 3));
}

/*
 * The memory of a value is freed, whether the value was set or read, or its request has
 * failed.  Mutant: xattr-value-kept.
 */
TEST_F(xattr, values_are_freed)
{
	unsigned long i, rounds = iou_rounds(400);
	static char value[8192] = "value";
	unsigned int f = variant->sqe_flags;
	long before = iou_slab_objects("-8k");
	struct iou *r = &self->r;

	/* KASAN keeps freed memory for a while */
	if (before < 0 || iou_slow_kernel())
		SKIP(return, "needs /proc/slabinfo, and no KASAN");
	for (i = 0; i < rounds; i++) {
		EXPECT_EQ(-EBADF, do_xattr(r, f, IORING_OP_FSETXATTR, NULL, 999, NAME, value,
					   sizeof(value), 0));
		EXPECT_EQ(-ENOENT, do_xattr(r, f, IORING_OP_SETXATTR, "/tmp/no/ne", -1, NAME,
					    value, sizeof(value), 0));
		EXPECT_EQ(0, do_xattr(r, f, IORING_OP_FSETXATTR, NULL, self->fd, NAME, value,
				      sizeof(value), 0));
		EXPECT_EQ(8192, do_xattr(r, f, IORING_OP_FGETXATTR, NULL, self->fd, NAME, value,
					 sizeof(value), 0));
		iou_prep(r, IORING_OP_READ, -1, NULL, 0, 0)->flags = IOSQE_IO_LINK;
		prep_xattr(r, f, IORING_OP_FSETXATTR, NULL, self->fd, NAME, value, sizeof(value),
			   0);
		ASSERT_EQ(2, iou_submit_wait(r, 2));
		EXPECT_EQ(-EBADF, iou_discard(r, 2));
	}
	/* a request that leaks its value would leak one in each round */
	EXPECT_GT(before + (long)rounds / 2, iou_slab_objects("-8k"));
}

#define GROUPS	"/sys/fs/cgroup/"
#define BIGGEST	65536

static long charged(const char *group)
{
	char path[64];
	long bytes = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/memory.current", group);
	f = fopen(path, "r");

	if (f && fscanf(f, "%ld", &bytes) != 1)
		bytes = -1;
	if (f)
		fclose(f);
	return bytes;
}

/* The memory that one request of a chain holds while it waits. */
struct holds {
	const char *name;
	void (*prep)(struct iou *r, int fd, const char *path);
	long bytes;
	int nr;
};

static void hold_value(struct iou *r, int fd, const char *path)
{
	static char value[BIGGEST] = { 1 };

	prep_xattr(r, IOSQE_IO_LINK, IORING_OP_FSETXATTR, NULL, fd, NAME, value, sizeof(value), 0);
}

static void hold_setxattr(struct iou *r, int fd, const char *path)
{
	prep_xattr(r, IOSQE_IO_LINK, IORING_OP_SETXATTR, path, -1, NAME, "1", 1, 0);
}

static void hold_open(struct iou *r, int fd, const char *path)
{
	iou_prep(r, IORING_OP_OPENAT, AT_FDCWD, path, 0, 0)->flags = IOSQE_IO_LINK;
}

static void hold_statx(struct iou *r, int fd, const char *path)
{
	static char buffer[256];

	iou_prep(r, IORING_OP_STATX, AT_FDCWD, path, 0, (uintptr_t)buffer)->flags = IOSQE_IO_LINK;
}

static void hold_unlink(struct iou *r, int fd, const char *path)
{
	iou_prep(r, IORING_OP_UNLINKAT, AT_FDCWD, path, 0, 0)->flags = IOSQE_IO_LINK;
}

static void hold_rename(struct iou *r, int fd, const char *path)
{
	iou_prep(r, IORING_OP_RENAMEAT, AT_FDCWD, path, AT_FDCWD, (uintptr_t)path + 1)->flags =
		IOSQE_IO_LINK;
}

/* A long path takes 4 KiB; on 6.12, a short path takes as much. */
static const struct holds holds[] = {
	{ "value", hold_value, BIGGEST, 100 },
	{ "setxattr", hold_setxattr, 4096, 1000 },
	{ "openat", hold_open, 4096, 1000 },
	{ "statx", hold_statx, 4096, 1000 },
	{ "unlinkat", hold_unlink, 4096, 1000 },
	{ "renameat", hold_rename, 2 * 4096, 1000 },
};

/*
 * Join the group, and submit a chain that waits.  Return: the bytes charged to the group, in tenths
 * of the bytes that the requests hold; 255 if something else failed
 */
static int hold(const struct holds *h, const char *group, int fd, const char *path)
{
	char procs[64];
	struct iou r;
	long before;
	int i, p[2];
	char c;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
	if (pipe(p) || iou_put(procs, "0") || iou_init(&r, 2 * h->nr, 0))
		return 255;
	before = charged(group);
	iou_prep(&r, IORING_OP_READ, p[0], &c, 1, 0)->flags = IOSQE_IO_LINK;
	for (i = 0; i < h->nr; i++)
		h->prep(&r, fd, path);
	if (iou_submit(&r) != (unsigned int)h->nr + 1)
		return 255;
	return (charged(group) - before) * 10 / (h->bytes * h->nr);
}

/*
 * The values and paths of waiting requests are charged to the memory cgroup of their task, but on
 * 6.12 to no cgroup.  Mutants: xattr-value-uncharged, path-uncharged, long-path-uncharged.
 * differences: op-memory-charged
 */
TEST(what_waits_is_charged)
{
	static char path[4090];
	int fd = iou_file(0, 0), pid, status;
	unsigned int i, len;
	char group[40];

	if (iou_on_stock())
		SKIP(return, "it is not");
	iou_put(GROUPS "cgroup.subtree_control", "+memory");
	for (i = 0; i < 2 * ARRAY_LEN(holds); i++) {
		const struct holds *h = &holds[i / 2];

		/* a short path is part of struct filename, which is small in kernels after 6.12 */
		if (!(i % 2) && h->prep != hold_value && iou_kernel_from("7"))
			continue;
		/* a new group each time: memory that KASAN keeps is uncharged from a group later */
		snprintf(group, sizeof(group), GROUPS "iou_xattr_test%u", i);
		if (mkdir(group, 0755) && errno != EEXIST)
			SKIP(return, "no cgroup v2 hierarchy that can be written");
		/* a short path fits into the memory of struct filename, a long path does not */
		len = i % 2 ? sizeof(path) - 1 : 8;
		memset(path, 'a', len);
		path[len] = 0;
		pid = fork();
		if (!pid)
			_exit(hold(h, group, fd, path));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		/* a group is charged a little in advance; a request itself has less than 1 KiB */
		EXPECT_LE(9, WEXITSTATUS(status)) TH_LOG("%s %u", h->name, len);
		/* KASAN doubles the memory of a long name from 7.3 on */
		EXPECT_GE(iou_slow_kernel() && iou_kernel_from("7") ? 24 : 15, WEXITSTATUS(status))
			TH_LOG("%s %u", h->name, len);
		rmdir(group);
	}
	close(fd);
}

TEST_HARNESS_MAIN
