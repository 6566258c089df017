// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: RENAMEAT, UNLINKAT, MKDIRAT, SYMLINKAT, LINKAT - names in directories */
#include <linux/fs.h>
#include <sys/wait.h>
#include "audit.h"
#include "iou_test.h"

#define NOBODY	4242

FIXTURE(names) {
	struct iou r;
	char dir[32];
	int dfd;
};

FIXTURE_VARIANT(names) {
	unsigned int flags;
	unsigned int sqe_flags;
};

IOU_KINDS(names);
IOU_KINDS_ASYNC(names);

static void make_file(int dfd, const char *name)
{
	close(openat(dfd, name, O_CREAT | O_WRONLY, 0600));
}

FIXTURE_SETUP(names)
{
	self->dfd = iou_dir(self->dir, sizeof(self->dir));
	ASSERT_LE(0, self->dfd);
	make_file(self->dfd, "here");
	make_file(self->dfd, "there");
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
}

FIXTURE_TEARDOWN(names)
{
	iou_exit(&self->r);
	iou_dir_remove(self->dir, self->dfd);
}

/* Prepare an operation.  A second path is in addr2, its directory (RENAMEAT, LINKAT) in len. */
static struct io_uring_sqe *prep_name(struct iou *r, unsigned int f, int op, int dfd,
				      const char *old, const char *new, unsigned int flags)
{
	bool two = op == IORING_OP_RENAMEAT || op == IORING_OP_LINKAT;
	struct io_uring_sqe *sqe = iou_prep(r, op, dfd, old, two ? dfd : 0, (uintptr_t)new);

	sqe->rw_flags = flags;
	sqe->flags = f;
	return sqe;
}

static int do_name(struct iou *r, unsigned int f, int op, int dfd, const char *old,
		   const char *new, unsigned int flags)
{
	prep_name(r, f, op, dfd, old, new, flags);
	return iou_one(r);
}

static bool there_is(int dfd, const char *name)
{
	return !faccessat(dfd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

TEST_F(names, rename)
{
	unsigned int f = variant->sqe_flags, op = IORING_OP_RENAMEAT;
	struct iou *r = &self->r;
	struct stat before, after;

	fstatat(self->dfd, "here", &before, 0);
	EXPECT_EQ(0, do_name(r, f, op, self->dfd, "here", "new", 0));
	EXPECT_FALSE(there_is(self->dfd, "here"));
	fstatat(self->dfd, "new", &after, 0);
	EXPECT_EQ(before.st_ino, after.st_ino);
	EXPECT_EQ(-EEXIST, do_name(r, f, op, self->dfd, "new", "there", RENAME_NOREPLACE));
	EXPECT_EQ(0, do_name(r, f, op, self->dfd, "new", "there", RENAME_EXCHANGE));
	fstatat(self->dfd, "there", &after, 0);
	EXPECT_EQ(before.st_ino, after.st_ino);
	EXPECT_EQ(0, do_name(r, f, op, self->dfd, "there", "new", 0));
	EXPECT_FALSE(there_is(self->dfd, "there"));
	EXPECT_EQ(-ENOENT, do_name(r, f, op, self->dfd, "there", "new", 0));
	EXPECT_EQ(-EINVAL, do_name(r, f, op, self->dfd, "there", "new", 1 << 7));
	EXPECT_EQ(-EFAULT, do_name(r, f, op, self->dfd, (char *)8, "new", 0));
	EXPECT_EQ(-EFAULT, do_name(r, f, op, self->dfd, "new", (char *)8, 0));
	EXPECT_EQ(-EBADF, do_name(r, f, op, 999, "new", "here", 0));
	EXPECT_EQ(-EBADF, do_name(r, f | IOSQE_FIXED_FILE, op, self->dfd, (char *)8, NULL, 0));
}

TEST_F(names, mkdir_and_unlink)
{
	unsigned int f = variant->sqe_flags;
	struct iou *r = &self->r;
	struct stat st;
	mode_t mask = umask(027);

	prep_name(r, f, IORING_OP_MKDIRAT, self->dfd, "dir", NULL, 0)->len = 0777;
	EXPECT_EQ(0, iou_one(r));
	umask(mask);
	ASSERT_EQ(0, fstatat(self->dfd, "dir", &st, 0));
	EXPECT_EQ(S_IFDIR | 0750, st.st_mode);
	EXPECT_EQ(-EEXIST, do_name(r, f, IORING_OP_MKDIRAT, self->dfd, "dir", NULL, 0));

	EXPECT_EQ(-EISDIR, do_name(r, f, IORING_OP_UNLINKAT, self->dfd, "dir", NULL, 0));
	EXPECT_EQ(-ENOTDIR, do_name(r, f, IORING_OP_UNLINKAT, self->dfd, "here", NULL,
				    AT_REMOVEDIR));
	make_file(self->dfd, "dir/in");
	EXPECT_EQ(-ENOTEMPTY, do_name(r, f, IORING_OP_UNLINKAT, self->dfd, "dir", NULL,
				      AT_REMOVEDIR));
	EXPECT_EQ(0, do_name(r, f, IORING_OP_UNLINKAT, self->dfd, "dir/in", NULL, 0));
	EXPECT_EQ(0, do_name(r, f, IORING_OP_UNLINKAT, self->dfd, "dir", NULL, AT_REMOVEDIR));
	EXPECT_FALSE(there_is(self->dfd, "dir"));
	EXPECT_EQ(-ENOENT, do_name(r, f, IORING_OP_UNLINKAT, self->dfd, "dir", NULL, 0));
	/* IOSQE_FIXED_FILE is checked before the flags, and the flags before the path */
	EXPECT_EQ(-EINVAL, do_name(r, f, IORING_OP_UNLINKAT, self->dfd, (char *)8, NULL, 1));
	EXPECT_EQ(-EBADF, do_name(r, f | IOSQE_FIXED_FILE, IORING_OP_UNLINKAT, 0, (char *)8,
				  NULL, 1));
}

TEST_F(names, links)
{
	unsigned int f = variant->sqe_flags, op = IORING_OP_LINKAT;
	struct iou *r = &self->r;
	char text[16] = "";
	struct stat st;
	int fd;

	EXPECT_EQ(0, do_name(r, f, IORING_OP_SYMLINKAT, self->dfd, "here", "link", 0));
	EXPECT_EQ(4, readlinkat(self->dfd, "link", text, sizeof(text)));
	EXPECT_STREQ("here", text);
	EXPECT_EQ(-EEXIST, do_name(r, f, IORING_OP_SYMLINKAT, self->dfd, "here", "link", 0));
	EXPECT_EQ(-ENOENT, do_name(r, f, IORING_OP_SYMLINKAT, self->dfd, "", "new", 0));

	EXPECT_EQ(0, do_name(r, f, op, self->dfd, "here", "new", 0));
	fstatat(self->dfd, "here", &st, 0);
	EXPECT_EQ(2, st.st_nlink);
	EXPECT_EQ(-EEXIST, do_name(r, f, op, self->dfd, "here", "new", 0));
	unlinkat(self->dfd, "new", 0);
	EXPECT_EQ(0, do_name(r, f, op, self->dfd, "link", "new", AT_SYMLINK_FOLLOW));
	fstatat(self->dfd, "here", &st, 0);
	EXPECT_EQ(2, st.st_nlink);
	unlinkat(self->dfd, "new", 0);

	/* AT_EMPTY_PATH links a descriptor, for privileged callers */
	fd = openat(self->dfd, "here", O_RDONLY);
	prep_name(r, f, op, fd, "", "new", AT_EMPTY_PATH)->len = self->dfd;
	EXPECT_EQ(getuid() ? -ENOENT : 0, iou_one(r));
	close(fd);
	EXPECT_EQ(-ENOENT, do_name(r, f, op, self->dfd, "", "new", 0));
	/* paths are read before the flags are checked */
	EXPECT_EQ(-EFAULT, do_name(r, f, op, self->dfd, (char *)8, "new", 1));
	EXPECT_EQ(-EINVAL, do_name(r, f, op, self->dfd, "here", "new", 1));
}

/* The kernel copies the paths when it takes the SQE. */
TEST_F(names, paths_are_copied)
{
	char old[8] = "here", new[8] = "new";

	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the SQE is taken at some time");
	prep_name(&self->r, IOSQE_ASYNC, IORING_OP_RENAMEAT, self->dfd, old, new, 0);
	ASSERT_EQ(1, iou_submit(&self->r));
	memset(old, 'x', sizeof(old));
	memset(new, 'x', sizeof(new));
	EXPECT_EQ(0, iou_discard(&self->r, 1));
	EXPECT_TRUE(there_is(self->dfd, "new"));
}

static const int name_ops[] = {
	IORING_OP_RENAMEAT, IORING_OP_UNLINKAT, IORING_OP_MKDIRAT, IORING_OP_SYMLINKAT,
	IORING_OP_LINKAT,
};

static bool has_two_names(int op)
{
	return op != IORING_OP_UNLINKAT && op != IORING_OP_MKDIRAT;
}

/*
 * Each name is put once, even if the second name cannot be read, or if a prepared
 * request is never issued.  Mutant: names-not-put.
 */
TEST_F(names, names_are_put)
{
	unsigned long i, rounds = iou_rounds(250);
	long before = iou_slab_objects("names_cache");
	struct iou *r = &self->r;
	unsigned int o;

	/* KASAN delays the release of freed objects */
	if (before < 0 || iou_slow_kernel())
		SKIP(return, "needs /proc/slabinfo, and no KASAN");
	for (i = 0; i < rounds; i++) {
		for (o = 0; o < ARRAY_LEN(name_ops); o++) {
			const char *new = has_two_names(name_ops[o]) ? "no/ne" : NULL;
			unsigned int f = variant->sqe_flags | IOSQE_IO_LINK;

			if (new) {
				EXPECT_EQ(-EFAULT, do_name(r, variant->sqe_flags, name_ops[o],
							   self->dfd, "here", (char *)8, 0));
			}
			EXPECT_GT(0, do_name(r, variant->sqe_flags, name_ops[o], self->dfd,
					     "no/ne", new, 0));
			/* this chain breaks before the operations are issued */
			iou_prep(r, IORING_OP_READ, -1, NULL, 0, 0)->flags = IOSQE_IO_LINK;
			prep_name(r, f, name_ops[o], self->dfd, "here", new, 0);
			prep_name(r, variant->sqe_flags, name_ops[o], self->dfd, "here", new, 0);
			ASSERT_EQ(3, iou_submit_wait(r, 3));
			EXPECT_EQ(-EBADF, iou_discard(r, 3));
		}
	}
	/* allow for caches of other CPUs, and for other tasks */
	EXPECT_GT(before + 200, iou_slab_objects("names_cache"));
	EXPECT_TRUE(there_is(self->dfd, "here"));
}

/* An operation that fails does not break its chain. */
TEST_F(names, failure_keeps_chain)
{
	struct io_uring_cqe first, second;
	unsigned int o;

	for (o = 0; o < ARRAY_LEN(name_ops); o++) {
		prep_name(&self->r, variant->sqe_flags | IOSQE_IO_LINK, name_ops[o], self->dfd,
			  "no/ne", has_two_names(name_ops[o]) ? "no/ne" : NULL, 0);
		iou_nop(&self->r, 2);
		ASSERT_EQ(2, iou_submit_wait(&self->r, 2));
		ASSERT_EQ(0, iou_reap(&self->r, &first));
		ASSERT_EQ(0, iou_reap(&self->r, &second));
		EXPECT_EQ(-ENOENT, first.res);
		EXPECT_EQ(0, second.res);
	}
}

/* The rights of the personality decide whether a request may change a directory. */
TEST_F(names, personality)
{
	struct iou *r = &self->r;
	unsigned int o;
	int id;

	if (getuid())
		SKIP(return, "needs to be root");
	if (variant->flags & IORING_SETUP_SQPOLL)
		SKIP(return, "the ring's own credentials are root's");
	ASSERT_EQ(0, syscall(__NR_setresuid, NOBODY, NOBODY, 0));
	id = iou_register(r, IORING_REGISTER_PERSONALITY, NULL, 0);
	ASSERT_EQ(0, syscall(__NR_setresuid, 0, 0, 0));
	ASSERT_LT(0, id);
	chmod("/tmp", 01777);
	fchmod(self->dfd, 0755);
	for (o = 0; o < ARRAY_LEN(name_ops); o++) {
		const char *old = name_ops[o] == IORING_OP_MKDIRAT ? "new" : "here";

		prep_name(r, variant->sqe_flags, name_ops[o], self->dfd, old,
			  has_two_names(name_ops[o]) ? "new" : NULL, 0)->personality = id;
		/* a sysctl may forbid links to files of other users */
		if (name_ops[o] == IORING_OP_LINKAT) {
			EXPECT_GT(0, iou_one(r));
		} else {
			EXPECT_EQ(-EACCES, iou_one(r));
		}
	}
	EXPECT_TRUE(there_is(self->dfd, "here"));
	EXPECT_FALSE(there_is(self->dfd, "new"));
}

/*
 * Each operation leaves one audit record, with its result.  Mutant: audit-of-no-attempt.
 * differences: audit-result
 */
TEST_F(names, audited)
{
	struct audit_rule_data rule = {
		.flags = AUDIT_FILTER_URING_EXIT, .action = AUDIT_ALWAYS,
	};
	unsigned int o;
	char text[512];
	int fd, pid, status;

	for (o = 0; o < ARRAY_LEN(name_ops); o++)
		rule.mask[AUDIT_WORD(name_ops[o])] |= AUDIT_BIT(name_ops[o]);
	fd = audit_start(&rule);
	if (fd < 0)
		SKIP(return, "needs audit and root");
	pid = fork();
	if (!pid) {
		struct iou r;

		if (iou_init(&r, 8, variant->flags))
			_exit(1);
		for (o = 0; o < ARRAY_LEN(name_ops); o++)
			if (do_name(&r, variant->sqe_flags, name_ops[o], self->dfd, "no/ne",
				    has_two_names(name_ops[o]) ? "no/ne" : NULL, 0) != -ENOENT)
				_exit(2);
		_exit(0);
	}
	for (o = 0; o < ARRAY_LEN(name_ops); o++) {
		EXPECT_EQ(name_ops[o], audit_next(fd, text, sizeof(text)));
		EXPECT_NE(NULL, strstr(text, iou_on_stock() ? "success=yes exit=0 " :
							       "success=no exit=-2 "));
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, audit_stop(fd, &rule));
}

TEST_HARNESS_MAIN
