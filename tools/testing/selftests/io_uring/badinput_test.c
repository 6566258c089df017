// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: calls and SQEs that are refused, and their errno */
/*
 * Each row is a call or an SQE, and its result.  The named rows are in this file, with the errno
 * that the kernel has to return.  If a row makes two mistakes, the interface defines which one the
 * kernel finds first.  The other rows come from a sweep, which sets every field of a good SQE to
 * odd values.  It compares the results with stock/badinput_test beside the program, which holds the
 * results of the base.  Every row is also printed as
 *
 *     # row KIND/NAME RESULT
 *
 * so that `badinput_test | sed -n 's/^# row //p'` makes such a record.
 */
#include <linux/falloc.h>
#include <linux/futex.h>
#include <linux/stat.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include "iou_test.h"

/* An address where nothing is mapped */
#define NOWHERE		((void *)8)
#define BAD_FD		900

static void print_row(const char *kind, const char *name, int got)
{
	const char *text = got < 0 ? strerrorname_np(-got) : NULL;

	if (text)
		printf("# row %s/%s %s\n", kind, name, text);
	else
		printf("# row %s/%s %d\n", kind, name, got);
	fflush(stdout);
}

/* Test one row: @want is the expected result of @call, a count or a negative errno. */
#define ROW(kind, name, want, call) do { \
	int _got = (call); \
	print_row(kind, name, _got); \
	EXPECT_EQ(want, _got) \
		TH_LOG("%s/%s", kind, name); \
} while (0)

struct setup_row {
	const char *name;
	int want;
	unsigned int entries;
	struct io_uring_params p;
};

#define PAR(...)	{ __VA_ARGS__ }
static const struct setup_row setup_rows[] = {
	{ "no entries", -EINVAL, 0 },
	{ "too many", -EINVAL, 32769 },
	{ "flag 17", -EINVAL, 1, PAR(.flags = 1U << 17) },
	{ "flag 31", -EINVAL, 1, PAR(.flags = 1U << 31) },
	{ "resv 0", -EINVAL, 1, PAR(.resv = { 1 }) },
	{ "resv 1", -EINVAL, 1, PAR(.resv = { 0, 1 }) },
	{ "resv 2", -EINVAL, 1, PAR(.resv = { 0, 0, 1 }) },
	{ "no cq", -EINVAL, 1, PAR(.flags = IORING_SETUP_CQSIZE) },
	{ "cq below sq", -EINVAL, 8, PAR(.flags = IORING_SETUP_CQSIZE, .cq_entries = 4) },
	{ "cq too large", -EINVAL, 1, PAR(.flags = IORING_SETUP_CQSIZE, .cq_entries = 65537) },
	{ "index only, mapped", -EINVAL, 1, PAR(.flags = IORING_SETUP_REGISTERED_FD_ONLY) },
	{ "sqpoll coop", -EINVAL, 1,
	  PAR(.flags = IORING_SETUP_SQPOLL | IORING_SETUP_COOP_TASKRUN) },
	{ "sqpoll taskrun", -EINVAL, 1,
	  PAR(.flags = IORING_SETUP_SQPOLL | IORING_SETUP_TASKRUN_FLAG) },
	{ "sqpoll defer", -EINVAL, 1, PAR(.flags = IORING_SETUP_SQPOLL | IOU_DEFER) },
	{ "taskrun alone", -EINVAL, 1, PAR(.flags = IORING_SETUP_TASKRUN_FLAG) },
	{ "defer alone", -EINVAL, 1, PAR(.flags = IORING_SETUP_DEFER_TASKRUN) },
	{ "aff alone", -EINVAL, 1, PAR(.flags = IORING_SETUP_SQ_AFF) },
	{ "cpu far away", -EINVAL, 1,
	  PAR(.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF, .sq_thread_cpu = 100000) },
	{ "cpu 2^32-1", -EINVAL, 1,
	  PAR(.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF, .sq_thread_cpu = ~0U) },
	{ "cpu absent", -EINVAL, 1,
	  PAR(.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF, .sq_thread_cpu = 63) },
	{ "attach bad fd", -ENXIO, 1, PAR(.flags = IORING_SETUP_ATTACH_WQ, .wq_fd = BAD_FD) },
	{ "attach fd -1", -ENXIO, 1, PAR(.flags = IORING_SETUP_ATTACH_WQ, .wq_fd = -1) },
	{ "attach no ring", -EINVAL, 1, PAR(.flags = IORING_SETUP_ATTACH_WQ, .wq_fd = 0) },
	{ "attach bad fd, sqpoll", -ENXIO, 1,
	  PAR(.flags = IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ, .wq_fd = BAD_FD) },
	{ "attach no ring, sqpoll", -EINVAL, 1,
	  PAR(.flags = IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ, .wq_fd = 0) },
	{ "own memory missing", -EFAULT, 1, PAR(.flags = IORING_SETUP_NO_MMAP) },
	{ "own memory unaligned", -EINVAL, 1,
	  PAR(.flags = IORING_SETUP_NO_MMAP, .cq_off.user_addr = 0x10010) },
	{ "own memory unmapped", -EFAULT, 1,
	  PAR(.flags = IORING_SETUP_NO_MMAP, .cq_off.user_addr = 0x10000) },
	{ "own memory wraps", -EOVERFLOW, 1,
	  PAR(.flags = IORING_SETUP_NO_MMAP, .cq_off.user_addr = -4096ULL) },
	{ "own memory in the kernel", -EFAULT, 1,
	  PAR(.flags = IORING_SETUP_NO_MMAP, .cq_off.user_addr = 0xffff888000000000ULL) },
	/* a field that belongs to a flag is not read without the flag */
	{ "cq without flag", 0, 1, PAR(.cq_entries = ~0U) },
	{ "cpu without flag", 0, 1, PAR(.flags = IORING_SETUP_SQPOLL, .sq_thread_cpu = ~0U) },
	{ "wq_fd without flag", 0, 1, PAR(.wq_fd = BAD_FD) },
	{ "features are output", 0, 1, PAR(.features = ~0U) },
	{ "sq_entries is output", 0, 1, PAR(.sq_entries = ~0U) },
	{ "idle without sqpoll", 0, 1, PAR(.sq_thread_idle = ~0U) },
	{ "own memory without flag", 0, 1, PAR(.cq_off.user_addr = 1) },
	{ "offsets are output", 0, 1, PAR(.sq_off = { .head = 1, .resv1 = 7 }) },
};

/* Set up a ring and close it.  Return: 0, or the negative errno of the setup. */
static int try_setup(unsigned int entries, const struct io_uring_params *in)
{
	struct io_uring_params p = *in;
	int fd = iou_sys_setup(entries, &p);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

TEST(setup)
{
	struct io_uring_params *readonly;
	unsigned int i;
	int before = dup(0), after;

	close(before);
	for (i = 0; i < ARRAY_LEN(setup_rows); i++) {
		const struct setup_row *row = &setup_rows[i];

		ROW("setup", row->name, row->want, try_setup(row->entries, &row->p));
	}
	ROW("setup", "params nowhere", -EFAULT, iou_sys_setup(1, NOWHERE));
	ROW("setup", "params null", -EFAULT, iou_sys_setup(1, NULL));
	ROW("setup", "params in the kernel", -EFAULT, iou_sys_setup(1, IOU_KERNEL));
	/* setup succeeds, but cannot write the parameters back */
	readonly = mmap(NULL, IOU_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ROW("setup", "params read only", -EFAULT, iou_sys_setup(1, readonly));
	ROW("setup", "params read only, no entries", -EINVAL, iou_sys_setup(0, readonly));
	munmap(readonly, IOU_PAGE);
	after = dup(0);
	close(after);
	EXPECT_EQ(before, after);
}

TEST(setup_own_memory)
{
	struct io_uring_params p = { .flags = IORING_SETUP_NO_MMAP };
	char *mem = iou_map_anon(4 * IOU_PAGE);
	char *ro = mmap(NULL, IOU_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p.cq_off.user_addr = (uintptr_t)mem;
	ROW("own", "no sqes", -EFAULT, try_setup(1, &p));
	p.sq_off.user_addr = 1;
	ROW("own", "sqes unaligned", -EINVAL, try_setup(1, &p));
	p.sq_off.user_addr = (uintptr_t)ro;
	ROW("own", "sqes read only", -EFAULT, try_setup(1, &p));
	p.sq_off.user_addr = (uintptr_t)mem;
	ROW("own", "both at one place", 0, try_setup(1, &p));
	p.sq_off.user_addr = (uintptr_t)mem + IOU_PAGE;
	ROW("own", "good", 0, try_setup(1, &p));
	p.cq_off.user_addr = (uintptr_t)ro;
	ROW("own", "rings read only", -EFAULT, try_setup(1, &p));
	/* the rings are longer than the mapped memory */
	p.cq_off.user_addr = (uintptr_t)mem + 3 * IOU_PAGE;
	munmap(mem + 4 * IOU_PAGE, IOU_PAGE);
	ROW("own", "rings end early", -EFAULT, try_setup(4096, &p));
	munmap(mem, 4 * IOU_PAGE);
	munmap(ro, IOU_PAGE);
}

TEST(setup_limits)
{
	struct io_uring_params p = { };
	struct rlimit old, low;
	struct iou r[17];
	int i, fd;

	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	fd = dup(0);
	low.rlim_cur = fd;
	close(fd);
	setrlimit(RLIMIT_NOFILE, &low);
	ROW("setup", "no descriptor left", -EMFILE, iou_sys_setup(1, &p));
	setrlimit(RLIMIT_NOFILE, &old);
	for (i = 0; i < 16; i++)
		ASSERT_EQ(0, iou_init(&r[i], 1, IORING_SETUP_NO_MMAP |
						IORING_SETUP_REGISTERED_FD_ONLY));
	ROW("setup", "no index left", -EBUSY,
	    iou_init(&r[16], 1, IORING_SETUP_NO_MMAP | IORING_SETUP_REGISTERED_FD_ONLY));
	for (i = 0; i < 16; i++)
		iou_exit(&r[i]);
}

/* Test the calls on each kind of ring. */
FIXTURE(bad) {
	struct iou r;
	char *kind;
	char *page;
	int efd;
};

FIXTURE_VARIANT(bad) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(bad);
IOU_KIND(bad, iopoll, IORING_SETUP_IOPOLL);
IOU_KIND(bad, disabled, IORING_SETUP_R_DISABLED);
IOU_KIND(bad, defer_large, IOU_DEFER | IOU_LARGE);

FIXTURE_SETUP(bad)
{
	static const struct {
		unsigned int flags;
		char *name;
	} names[] = {
		{ IORING_SETUP_IOPOLL, "iopoll" }, { IORING_SETUP_SQPOLL, "sqpoll" },
		{ IORING_SETUP_CQE32, "large" }, { IORING_SETUP_R_DISABLED, "disabled" },
		{ IORING_SETUP_DEFER_TASKRUN, "defer" },
		{ IORING_SETUP_COOP_TASKRUN, "coop" },
	};
	unsigned int i;

	self->kind = "plain";
	for (i = 0; i < ARRAY_LEN(names); i++) {
		if (variant->flags & names[i].flags) {
			self->kind = names[i].name;
			break;
		}
	}
	self->page = iou_map_anon(IOU_PAGE);
	self->efd = eventfd(0, 0);
	ASSERT_EQ(0, iou_init(&self->r, 4, variant->flags));
}

FIXTURE_TEARDOWN(bad)
{
	iou_exit(&self->r);
	munmap(self->page, IOU_PAGE);
	close(self->efd);
}

#define GETEVENTS	IORING_ENTER_GETEVENTS
#define EXT_ARG		IORING_ENTER_EXT_ARG
#define BY_INDEX	IORING_ENTER_REGISTERED_RING

/* Enter @fd with all other arguments zero. */
static int enter(int fd, unsigned int flags, const void *arg, size_t size)
{
	return iou_sys_enter(fd, 0, 0, flags, arg, size);
}

/* Wait for one CQE, since only a wait reads the timeout and the signal mask. */
static int wait_one(int fd, unsigned int flags, const void *arg, size_t size)
{
	return iou_sys_enter(fd, 0, 1, flags | IORING_ENTER_GETEVENTS, arg, size);
}

TEST_F(bad, enter)
{
	int fd = self->r.fd, null = open("/dev/null", O_RDWR);
	bool off = variant->flags & IORING_SETUP_R_DISABLED;
	bool poll = variant->flags & IORING_SETUP_IOPOLL;
	const char *k = self->kind;
	struct __kernel_timespec ts = { .tv_nsec = 1000000 };
	struct io_uring_getevents_arg arg = { };
	__u64 mask = 0;

	ROW(k, "enter flag 8", -EINVAL, enter(fd, 1U << 8, NULL, 0));
	ROW(k, "enter flag 31", -EINVAL, enter(fd, 1U << 31, NULL, 0));
	ROW(k, "enter flag and fd", -EINVAL, enter(-1, 1U << 31, NULL, 0));
	ROW(k, "enter fd -1", -EBADF, enter(-1, 0, NULL, 0));
	ROW(k, "enter bad fd", -EBADF, enter(BAD_FD, 0, NULL, 0));
	ROW(k, "enter no ring", -EOPNOTSUPP, enter(null, 0, NULL, 0));
	ROW(k, "enter empty index", -EBADF, enter(0, BY_INDEX, NULL, 0));
	ROW(k, "enter index 16", -EINVAL, enter(16, BY_INDEX, NULL, 0));
	ROW(k, "enter index -1", -EINVAL, enter(-1, BY_INDEX, NULL, 0));
	ROW(k, "enter nothing", off ? -EBADFD : 0, enter(fd, 0, NULL, 0));
	ROW(k, "enter arg not looked at", off ? -EBADFD : 0, enter(fd, 0, NOWHERE, 77));
	ROW(k, "enter size", off ? -EBADFD : -EINVAL,
	    enter(fd, GETEVENTS | EXT_ARG, &arg, sizeof(arg) - 1));
	ROW(k, "enter size large", off ? -EBADFD : -EINVAL,
	    enter(fd, GETEVENTS | EXT_ARG, &arg, sizeof(arg) + 8));
	ROW(k, "enter size none", off ? -EBADFD : -EINVAL,
	    enter(fd, GETEVENTS | EXT_ARG, &arg, 0));
	ROW(k, "enter arg nowhere", off ? -EBADFD : -EFAULT,
	    enter(fd, GETEVENTS | EXT_ARG, NOWHERE, sizeof(arg)));
	ROW(k, "enter arg null", off ? -EBADFD : -EFAULT,
	    enter(fd, GETEVENTS | EXT_ARG, NULL, sizeof(arg)));
	arg.ts = 8;
	/* differences: none, 6.12 reads the time only if it waits */
	ROW(k, "enter ts nowhere, no wait",
	    off ? -EBADFD : poll || iou_on_older_stock() ? 0 : -EFAULT,
	    enter(fd, GETEVENTS | EXT_ARG, &arg, sizeof(arg)));
	ROW(k, "enter ts nowhere", off ? -EBADFD : poll ? 0 : -EFAULT,
	    wait_one(fd, EXT_ARG, &arg, sizeof(arg)));
	arg.ts = (uintptr_t)&ts;
	arg.sigmask = 8;
	arg.sigmask_sz = 8;
	ROW(k, "enter mask nowhere", off ? -EBADFD : poll ? 0 : -EFAULT,
	    wait_one(fd, EXT_ARG, &arg, sizeof(arg)));
	arg.sigmask = (uintptr_t)&mask;
	arg.sigmask_sz = 4;
	ROW(k, "enter mask size", off ? -EBADFD : poll ? 0 : -EINVAL,
	    wait_one(fd, EXT_ARG, &arg, sizeof(arg)));
	ROW(k, "enter old mask size", off ? -EBADFD : poll ? 0 : -EINVAL,
	    wait_one(fd, 0, &mask, 4));
	ROW(k, "enter old mask nowhere", off ? -EBADFD : poll ? 0 : -EFAULT,
	    wait_one(fd, 0, NOWHERE, 8));
	ROW(k, "enter ext without getevents", off ? -EBADFD : 0,
	    enter(fd, EXT_ARG, NOWHERE, 3));
	ROW(k, "enter wakeup without thread", off ? -EBADFD : 0,
	    enter(fd, IORING_ENTER_SQ_WAKEUP | IORING_ENTER_SQ_WAIT, NULL, 0));
	close(null);
}

/* A task that has never had a ring has no table of registered rings. */
TEST(index_without_ring)
{
	ROW("task", "enter index 0", -EINVAL, enter(0, BY_INDEX, NULL, 0));
	ROW("task", "register index 0", -EINVAL,
	    iou_sys_register(0, 1 | IORING_REGISTER_USE_REGISTERED_RING, NULL, 0));
}

#define REG(op, arg, nr)	iou_sys_register(fd, IORING_REGISTER_##op, arg, nr)
#define UNREG(op, arg, nr)	iou_sys_register(fd, IORING_UNREGISTER_##op, arg, nr)

TEST_F(bad, register_call)
{
	int fd = self->r.fd, null = open("/dev/null", O_RDWR);
	const char *k = self->kind;

	ROW(k, "register last", -EINVAL, iou_sys_register(fd, 31, NULL, 0));
	ROW(k, "register last, bad fd", -EINVAL, iou_sys_register(-1, 31, NULL, 0));
	ROW(k, "register 2^30", -EINVAL, iou_sys_register(fd, 1U << 30, NULL, 0));
	ROW(k, "register fd -1", -EBADF, iou_sys_register(-1, 1, NULL, 0));
	ROW(k, "register bad fd", -EBADF, iou_sys_register(BAD_FD, 1, NULL, 0));
	ROW(k, "register no ring", -EOPNOTSUPP, iou_sys_register(null, 1, NULL, 0));
	ROW(k, "register empty index", -EBADF,
	    iou_sys_register(0, 1 | IORING_REGISTER_USE_REGISTERED_RING, NULL, 0));
	ROW(k, "register index 16", -EINVAL,
	    iou_sys_register(16, 1 | IORING_REGISTER_USE_REGISTERED_RING, NULL, 0));
	close(null);
}

TEST_F(bad, register_files)
{
	int fd = self->r.fd, fds[4] = { -1, -1, -1, -1 };
	const char *k = self->kind;

	ROW(k, "unregister files, none", -ENXIO, UNREG(FILES, NULL, 0));
	ROW(k, "unregister files, arg", -EINVAL, UNREG(FILES, fds, 0));
	ROW(k, "unregister files, nr", -EINVAL, UNREG(FILES, NULL, 1));
	ROW(k, "files null", -EFAULT, REG(FILES, NULL, 1));
	ROW(k, "files none", -EINVAL, REG(FILES, fds, 0));
	ROW(k, "files nowhere", -EFAULT, REG(FILES, NOWHERE, 1));
	ROW(k, "files 2^20+1", -EMFILE, REG(FILES, fds, (1 << 20) + 1));
	ROW(k, "files 2^32-1", -EMFILE, REG(FILES, fds, ~0U));
	fds[1] = BAD_FD;
	ROW(k, "files bad fd", -EBADF, REG(FILES, fds, 4));
	fds[1] = -2;
	ROW(k, "files -2", -EBADF, REG(FILES, fds, 4));
	fds[1] = fd;
	ROW(k, "files a ring", -EBADF, REG(FILES, fds, 4));
	fds[1] = 0;
	ROW(k, "files good", 0, REG(FILES, fds, 4));
	ROW(k, "files again", -EBUSY, REG(FILES, fds, 4));
	ROW(k, "files again, null", -EFAULT, REG(FILES, NULL, 0));
	ROW(k, "files again, none", -EBUSY, REG(FILES, fds, 0));
	ROW(k, "unregister files", 0, UNREG(FILES, NULL, 0));
	ROW(k, "unregister files again", -ENXIO, UNREG(FILES, NULL, 0));
}

TEST_F(bad, register_files2)
{
	struct io_uring_rsrc_register rr = { .nr = 4 };
	int fd = self->r.fd, fds[4] = { -1, 0, -1, -1 };
	const char *k = self->kind;
	__u64 tag = 1;

	ROW(k, "files2 size", -EINVAL, REG(FILES2, &rr, sizeof(rr) - 8));
	ROW(k, "files2 size large", -EINVAL, REG(FILES2, &rr, sizeof(rr) + 8));
	ROW(k, "files2 nowhere", -EFAULT, REG(FILES2, NOWHERE, sizeof(rr)));
	/* without data, all slots are empty */
	ROW(k, "files2 null data", 0, REG(FILES2, &rr, sizeof(rr)));
	ROW(k, "files2 again", -EBUSY, REG(FILES2, &rr, sizeof(rr)));
	ROW(k, "unregister files2", 0, UNREG(FILES, NULL, 0));
	rr.resv2 = 1;
	ROW(k, "files2 resv", -EINVAL, REG(FILES2, &rr, sizeof(rr)));
	rr.resv2 = 0;
	rr.flags = 2;
	ROW(k, "files2 flag", -EINVAL, REG(FILES2, &rr, sizeof(rr)));
	rr.flags = IORING_RSRC_REGISTER_SPARSE;
	rr.data = (uintptr_t)fds;
	ROW(k, "files2 sparse data", -EINVAL, REG(FILES2, &rr, sizeof(rr)));
	rr.data = 0;
	rr.tags = (uintptr_t)&tag;
	rr.nr = 1;
	ROW(k, "files2 sparse tags", -EINVAL, REG(FILES2, &rr, sizeof(rr)));
	rr.flags = 0;
	rr.data = (uintptr_t)fds;
	rr.tags = 8;
	ROW(k, "files2 tags nowhere", -EFAULT, REG(FILES2, &rr, sizeof(rr)));
	rr.tags = 0;
	rr.nr = 0;
	ROW(k, "files2 none", -EINVAL, REG(FILES2, &rr, sizeof(rr)));
}

TEST_F(bad, files_update)
{
	int fd = self->r.fd, fds[4] = { -1, 0, -1, -1 };
	struct io_uring_files_update up = { };
	const char *k = self->kind;

	ROW(k, "files update, none", -ENXIO, REG(FILES_UPDATE, &up, 1));
	ASSERT_EQ(0, REG(FILES, fds, 4));
	up.fds = (uintptr_t)fds;
	ROW(k, "files update none", -EINVAL, REG(FILES_UPDATE, &up, 0));
	ROW(k, "files update nowhere", -EFAULT, REG(FILES_UPDATE, NOWHERE, 1));
	ROW(k, "files update null", -EFAULT, REG(FILES_UPDATE, NULL, 1));
	ROW(k, "files update beyond", -EINVAL, REG(FILES_UPDATE, &up, 5));
	up.offset = 4;
	ROW(k, "files update at end", -EINVAL, REG(FILES_UPDATE, &up, 1));
	up.offset = ~0U;
	ROW(k, "files update wraps", -EOVERFLOW, REG(FILES_UPDATE, &up, 2));
	up.offset = 0;
	up.resv = 1;
	ROW(k, "files update resv", -EINVAL, REG(FILES_UPDATE, &up, 1));
	up.resv = 0;
	up.fds = 8;
	ROW(k, "files update fds nowhere", -EFAULT, REG(FILES_UPDATE, &up, 1));
	fds[2] = BAD_FD;
	up.fds = (uintptr_t)fds;
	ROW(k, "files update counts to the bad", 2, REG(FILES_UPDATE, &up, 4));
	fds[0] = fd;
	ROW(k, "files update a ring", -EBADF, REG(FILES_UPDATE, &up, 4));
	fds[0] = -2;
	fds[1] = -2;
	fds[2] = -2;
	fds[3] = -2;
	ROW(k, "files update skip", 4, REG(FILES_UPDATE, &up, 4));
}

TEST_F(bad, files_update2)
{
	int fd = self->r.fd, fds[4] = { -2, -2, -2, -2 };
	struct io_uring_rsrc_update2 up2 = { .data = (uintptr_t)fds, .nr = 1 };
	static const int none[4] = { -1, -1, -1, -1 };
	const char *k = self->kind;
	__u64 tag = 1;

	ASSERT_EQ(0, REG(FILES, none, 4));
	ROW(k, "files update2 size", -EINVAL, REG(FILES_UPDATE2, &up2, sizeof(up2) - 8));
	ROW(k, "files update2 nowhere", -EFAULT, REG(FILES_UPDATE2, NOWHERE, sizeof(up2)));
	up2.tags = (uintptr_t)&tag;
	ROW(k, "files update2 skip with tag", -EINVAL,
	    REG(FILES_UPDATE2, &up2, sizeof(up2)));
	fds[0] = -1;
	ROW(k, "files update2 sparse with tag", -EINVAL,
	    REG(FILES_UPDATE2, &up2, sizeof(up2)));
	up2.resv = 1;
	ROW(k, "files update2 resv", -EINVAL, REG(FILES_UPDATE2, &up2, sizeof(up2)));
	up2.resv = 0;
	up2.resv2 = 1;
	ROW(k, "files update2 resv2", -EINVAL, REG(FILES_UPDATE2, &up2, sizeof(up2)));
	up2.resv2 = 0;
	up2.nr = 0;
	ROW(k, "files update2 none", -EINVAL, REG(FILES_UPDATE2, &up2, sizeof(up2)));
	up2.nr = ~0U;
	up2.offset = 1;
	ROW(k, "files update2 wraps", -EOVERFLOW, REG(FILES_UPDATE2, &up2, sizeof(up2)));
}

TEST_F(bad, file_range)
{
	static const int none[4] = { -1, -1, -1, -1 };
	struct io_uring_file_index_range range = { };
	int fd = self->r.fd;
	const char *k = self->kind;

	ROW(k, "file range, none", 0, REG(FILE_ALLOC_RANGE, &range, 0));
	ASSERT_EQ(0, REG(FILES, none, 4));
	ROW(k, "file range null", -EINVAL, REG(FILE_ALLOC_RANGE, NULL, 0));
	ROW(k, "file range nr", -EINVAL, REG(FILE_ALLOC_RANGE, &range, 1));
	ROW(k, "file range nowhere", -EFAULT, REG(FILE_ALLOC_RANGE, NOWHERE, 0));
	range = (struct io_uring_file_index_range){ .off = 2, .len = 3 };
	ROW(k, "file range beyond", -EINVAL, REG(FILE_ALLOC_RANGE, &range, 0));
	range.len = ~0U;
	ROW(k, "file range wraps", -EOVERFLOW, REG(FILE_ALLOC_RANGE, &range, 0));
	range.len = 2;
	range.resv = 1;
	ROW(k, "file range resv", -EINVAL, REG(FILE_ALLOC_RANGE, &range, 0));
	range.resv = 0;
	ROW(k, "file range good", 0, REG(FILE_ALLOC_RANGE, &range, 0));
	range.len = 0;
	ROW(k, "file range empty", 0, REG(FILE_ALLOC_RANGE, &range, 0));
}

TEST_F(bad, register_files_limit)
{
	struct io_uring_rsrc_register rr = { .flags = IORING_RSRC_REGISTER_SPARSE };
	const char *k = self->kind;
	struct rlimit old, low;
	int fd = self->r.fd;

	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &low);
	rr.nr = 65;
	ROW(k, "files2 over the limit", -EMFILE, REG(FILES2, &rr, sizeof(rr)));
	rr.nr = 64;
	ROW(k, "files2 at the limit", 0, REG(FILES2, &rr, sizeof(rr)));
	setrlimit(RLIMIT_NOFILE, &old);
}

TEST_F(bad, register_buffers)
{
	/* in the kernel, addresses of a 32-bit program do not overflow, but leave user memory */
	const int wraps = sizeof(void *) == 8 ? -EOVERFLOW : -EFAULT;
	struct iovec iov[2] = { { self->page, IOU_PAGE }, { NULL, 0 } };
	const char *k = self->kind;
	int fd = self->r.fd;

	ROW(k, "unregister buffers, none", -ENXIO, UNREG(BUFFERS, NULL, 0));
	ROW(k, "unregister buffers, arg", -EINVAL, UNREG(BUFFERS, iov, 0));
	ROW(k, "unregister buffers, nr", -EINVAL, UNREG(BUFFERS, NULL, 1));
	ROW(k, "buffers null", -EFAULT, REG(BUFFERS, NULL, 1));
	ROW(k, "buffers none", -EINVAL, REG(BUFFERS, iov, 0));
	ROW(k, "buffers 16385", -EINVAL, REG(BUFFERS, iov, 16385));
	ROW(k, "buffers 2^32-1", -EINVAL, REG(BUFFERS, iov, ~0U));
	ROW(k, "buffers nowhere", -EFAULT, REG(BUFFERS, NOWHERE, 1));
	iov[0].iov_base = NULL;
	ROW(k, "buffer null with length", -EFAULT, REG(BUFFERS, iov, 1));
	iov[0] = (struct iovec){ self->page, 0 };
	ROW(k, "buffer without length", -EFAULT, REG(BUFFERS, iov, 1));
	iov[0] = (struct iovec){ self->page, (1UL << 30) + 1 };
	ROW(k, "buffer over 1 GiB", -EFAULT, REG(BUFFERS, iov, 1));
	iov[0] = (struct iovec){ (void *)-4096L, 8192 };
	ROW(k, "buffer wraps", wraps, REG(BUFFERS, iov, 1));
	iov[0] = (struct iovec){ (void *)-4096L, 4095 };
	ROW(k, "buffer at the top", wraps, REG(BUFFERS, iov, 1));
	iov[0] = (struct iovec){ (void *)-8192L, 4096 };
	ROW(k, "buffer in the kernel", -EFAULT, REG(BUFFERS, iov, 1));
	iov[0] = (struct iovec){ NOWHERE, 4096 };
	ROW(k, "buffer nowhere", -EFAULT, REG(BUFFERS, iov, 1));
	iov[0] = (struct iovec){ self->page, IOU_PAGE };
	ROW(k, "buffers good", 0, REG(BUFFERS, iov, 2));
	ROW(k, "buffers again", -EBUSY, REG(BUFFERS, iov, 2));
	ROW(k, "unregister buffers", 0, UNREG(BUFFERS, NULL, 0));
	ROW(k, "unregister buffers again", -ENXIO, UNREG(BUFFERS, NULL, 0));
}

TEST_F(bad, register_buffers2)
{
	struct iovec iov[2] = { { self->page, IOU_PAGE }, { NULL, 0 } };
	struct io_uring_rsrc_register rr = { .nr = 1 };
	const char *k = self->kind;
	int fd = self->r.fd;
	__u64 tag = 1;

	ROW(k, "buffers2 size", -EINVAL, REG(BUFFERS2, &rr, sizeof(rr) - 8));
	ROW(k, "buffers2 nowhere", -EFAULT, REG(BUFFERS2, NOWHERE, sizeof(rr)));
	rr.data = (uintptr_t)iov;
	rr.resv2 = 1;
	ROW(k, "buffers2 resv", -EINVAL, REG(BUFFERS2, &rr, sizeof(rr)));
	rr.resv2 = 0;
	rr.flags = 2;
	ROW(k, "buffers2 flag", -EINVAL, REG(BUFFERS2, &rr, sizeof(rr)));
	rr.flags = IORING_RSRC_REGISTER_SPARSE;
	ROW(k, "buffers2 sparse data", -EINVAL, REG(BUFFERS2, &rr, sizeof(rr)));
	rr.flags = 0;
	rr.tags = 8;
	ROW(k, "buffers2 tags nowhere", -EFAULT, REG(BUFFERS2, &rr, sizeof(rr)));
	rr.tags = (uintptr_t)&tag;
	iov[0] = (struct iovec){ NULL, 0 };
	ROW(k, "buffers2 tag on empty", -EINVAL, REG(BUFFERS2, &rr, sizeof(rr)));
}

TEST_F(bad, clone_buffers)
{
	struct iovec iov[2] = { { self->page, IOU_PAGE }, { NULL, 0 } };
	int fd = self->r.fd, null = open("/dev/null", O_RDWR);
	struct io_uring_clone_buffers clone = { };
	const char *k = self->kind;

	ROW(k, "clone bad fd", -EBADF,
	    REG(CLONE_BUFFERS, (clone.src_fd = BAD_FD, &clone), 1));
	ROW(k, "clone no ring", -EOPNOTSUPP,
	    REG(CLONE_BUFFERS, (clone.src_fd = null, &clone), 1));
	ROW(k, "clone from itself", -ENXIO,
	    REG(CLONE_BUFFERS, (clone.src_fd = fd, &clone), 1));
	ROW(k, "clone flag", -EINVAL, REG(CLONE_BUFFERS, (clone.flags = 8, &clone), 1));
	clone.flags = 0;
	ROW(k, "clone pad", -EINVAL, REG(CLONE_BUFFERS, (clone.pad[2] = 1, &clone), 1));
	clone.pad[2] = 0;
	ROW(k, "clone null", -EINVAL, REG(CLONE_BUFFERS, NULL, 1));
	ROW(k, "clone nr", -EINVAL, REG(CLONE_BUFFERS, &clone, 2));
	ROW(k, "clone nowhere", -EFAULT, REG(CLONE_BUFFERS, NOWHERE, 1));
	ASSERT_EQ(0, REG(BUFFERS, iov, 2));
	ROW(k, "clone over own", -EBUSY, REG(CLONE_BUFFERS, &clone, 1));
	close(null);
}

TEST_F(bad, buffers_update)
{
	struct iovec iov[2] = { { self->page, IOU_PAGE }, { NULL, 0 } };
	struct io_uring_rsrc_update2 up2 = { .nr = 1 };
	const char *k = self->kind;
	int fd = self->r.fd;
	__u64 tag = 1;

	ROW(k, "buffers update, none", -ENXIO, REG(BUFFERS_UPDATE, &up2, sizeof(up2)));
	ASSERT_EQ(0, REG(BUFFERS, iov, 2));
	up2.data = (uintptr_t)iov;
	ROW(k, "buffers update size", -EINVAL,
	    REG(BUFFERS_UPDATE, &up2, sizeof(up2) - 8));
	up2.offset = 2;
	ROW(k, "buffers update at end", -EINVAL, REG(BUFFERS_UPDATE, &up2, sizeof(up2)));
	up2.offset = ~0U;
	up2.nr = 2;
	ROW(k, "buffers update wraps", -EOVERFLOW,
	    REG(BUFFERS_UPDATE, &up2, sizeof(up2)));
	up2.offset = 0;
	up2.nr = 0;
	ROW(k, "buffers update none", -EINVAL, REG(BUFFERS_UPDATE, &up2, sizeof(up2)));
	up2.nr = 1;
	up2.resv2 = 1;
	ROW(k, "buffers update resv2", -EINVAL, REG(BUFFERS_UPDATE, &up2, sizeof(up2)));
	up2.resv2 = 0;
	iov[0].iov_len = 0;
	ROW(k, "buffers update bad", -EFAULT, REG(BUFFERS_UPDATE, &up2, sizeof(up2)));
	iov[0] = (struct iovec){ NULL, 0 };
	up2.tags = (uintptr_t)&tag;
	ROW(k, "buffers update tag on empty", -EINVAL,
	    REG(BUFFERS_UPDATE, &up2, sizeof(up2)));
}

TEST_F(bad, register_eventfd)
{
	const char *k = self->kind;
	int fd = self->r.fd, bad = BAD_FD, zero = open("/dev/null", O_RDWR);

	ROW(k, "unregister eventfd, none", -ENXIO, UNREG(EVENTFD, NULL, 0));
	ROW(k, "unregister eventfd, arg", -EINVAL, UNREG(EVENTFD, &bad, 0));
	ROW(k, "unregister eventfd, nr", -EINVAL, UNREG(EVENTFD, NULL, 1));
	ROW(k, "eventfd nr 0", -EINVAL, REG(EVENTFD, &self->efd, 0));
	ROW(k, "eventfd nr 2", -EINVAL, REG(EVENTFD, &self->efd, 2));
	ROW(k, "eventfd nowhere", -EFAULT, REG(EVENTFD, NOWHERE, 1));
	ROW(k, "eventfd bad fd", -EBADF, REG(EVENTFD, &bad, 1));
	ROW(k, "eventfd another file", -EINVAL, REG(EVENTFD, &zero, 1));
	ROW(k, "eventfd async nr", -EINVAL, REG(EVENTFD_ASYNC, &self->efd, 0));
	ROW(k, "eventfd async bad fd", -EBADF, REG(EVENTFD_ASYNC, &bad, 1));
	ROW(k, "eventfd good", 0, REG(EVENTFD, &self->efd, 1));
	ROW(k, "eventfd again", -EBUSY, REG(EVENTFD, &self->efd, 1));
	ROW(k, "eventfd again, async", -EBUSY, REG(EVENTFD_ASYNC, &self->efd, 1));
	ROW(k, "unregister eventfd", 0, UNREG(EVENTFD, NULL, 0));
	ROW(k, "eventfd async good", 0, REG(EVENTFD_ASYNC, &self->efd, 1));
	ROW(k, "unregister eventfd async", 0, UNREG(EVENTFD, NULL, 0));
	close(zero);
}

TEST_F(bad, register_probe)
{
	struct io_uring_probe *probe = (void *)self->page;
	const char *k = self->kind;
	int fd = self->r.fd;

	ROW(k, "probe null", -EINVAL, REG(PROBE, NULL, 1));
	ROW(k, "probe nowhere", -EFAULT, REG(PROBE, NOWHERE, 1));
	ROW(k, "probe 257", -EINVAL, REG(PROBE, probe, 257));
	ROW(k, "probe 0", 0, REG(PROBE, probe, 0));
	memset(self->page, 0, IOU_PAGE);
	probe->ops[3].resv2 = 1;
	ROW(k, "probe not empty", -EINVAL, REG(PROBE, probe, 256));
	memset(self->page, 0, IOU_PAGE);
	probe->resv = 1;
	ROW(k, "probe resv", -EINVAL, REG(PROBE, probe, 256));
	memset(self->page, 0, IOU_PAGE);
	ROW(k, "probe good", 0, REG(PROBE, probe, 256));
}

TEST_F(bad, register_sync_cancel)
{
	struct io_uring_sync_cancel_reg reg = { .fd = BAD_FD, .timeout = { -1, -1 } };
	const char *k = self->kind;
	int fd = self->r.fd;

	ROW(k, "sync cancel null", -EINVAL, REG(SYNC_CANCEL, NULL, 1));
	ROW(k, "sync cancel nowhere", -EFAULT, REG(SYNC_CANCEL, NOWHERE, 1));
	ROW(k, "sync cancel nr 0", -EINVAL, REG(SYNC_CANCEL, &reg, 0));
	ROW(k, "sync cancel nr 2", -EINVAL, REG(SYNC_CANCEL, &reg, 2));
	ROW(k, "sync cancel nothing", -ENOENT, REG(SYNC_CANCEL, &reg, 1));
	reg.flags = 1U << 6;
	ROW(k, "sync cancel flag 6", -EINVAL, REG(SYNC_CANCEL, &reg, 1));
	reg.flags = IORING_ASYNC_CANCEL_FD;
	ROW(k, "sync cancel fd", -EBADF, REG(SYNC_CANCEL, &reg, 1));
	reg.flags |= IORING_ASYNC_CANCEL_FD_FIXED;
	ROW(k, "sync cancel slot", -EBADF, REG(SYNC_CANCEL, &reg, 1));
	reg.pad[6] = 1;
	ROW(k, "sync cancel slot, pad", -EINVAL, REG(SYNC_CANCEL, &reg, 1));
	reg.pad[6] = 0;
	reg.pad2[0] = 1;
	ROW(k, "sync cancel slot, pad2", -EINVAL, REG(SYNC_CANCEL, &reg, 1));
	reg.pad2[0] = 0;
	reg.flags = IORING_ASYNC_CANCEL_OP;
	reg.opcode = 255;
	ROW(k, "sync cancel op 255", -ENOENT, REG(SYNC_CANCEL, &reg, 1));
	reg.flags |= IORING_ASYNC_CANCEL_ANY;
	ROW(k, "sync cancel any", 0, REG(SYNC_CANCEL, &reg, 1));
}

TEST_F(bad, register_rest)
{
	bool off = variant->flags & IORING_SETUP_R_DISABLED;
	struct io_uring_restriction res[2] = { };
	const char *k = self->kind;
	unsigned int limits[2] = { };
	int fd = self->r.fd;
	int no = off ? -EINVAL : -EBADFD;

	ROW(k, "personality arg", -EINVAL, REG(PERSONALITY, self->page, 0));
	ROW(k, "personality nr", -EINVAL, REG(PERSONALITY, NULL, 1));
	ROW(k, "unregister personality, none", -EINVAL, UNREG(PERSONALITY, NULL, 1));
	ROW(k, "unregister personality, arg", -EINVAL, UNREG(PERSONALITY, self->page, 1));
	ROW(k, "enable arg", -EINVAL, REG(ENABLE_RINGS, self->page, 0));
	ROW(k, "enable nr", -EINVAL, REG(ENABLE_RINGS, NULL, 1));
	if (!off)
		ROW(k, "enable enabled", -EBADFD, REG(ENABLE_RINGS, NULL, 0));
	ROW(k, "restrictions null", no, REG(RESTRICTIONS, NULL, 1));
	ROW(k, "restrictions 500", no, REG(RESTRICTIONS, self->page, 500));
	ROW(k, "restrictions nowhere", off ? -EFAULT : -EBADFD,
	    REG(RESTRICTIONS, NOWHERE, 1));
	res[0].opcode = IORING_RESTRICTION_LAST;
	ROW(k, "restrictions unknown", no, REG(RESTRICTIONS, res, 1));
	res[0].opcode = IORING_RESTRICTION_SQE_OP;
	res[0].sqe_op = 200;
	ROW(k, "restrictions unknown op", no, REG(RESTRICTIONS, res, 1));
	res[0].opcode = IORING_RESTRICTION_REGISTER_OP;
	res[0].register_op = 200;
	ROW(k, "restrictions unknown register", no, REG(RESTRICTIONS, res, 1));
	ROW(k, "aff null", -EINVAL, REG(IOWQ_AFF, NULL, 8));
	ROW(k, "aff length 0", -EINVAL, REG(IOWQ_AFF, self->page, 0));
	ROW(k, "aff nowhere", -EFAULT, REG(IOWQ_AFF, NOWHERE, 8));
	ROW(k, "unregister aff, arg", -EINVAL, UNREG(IOWQ_AFF, self->page, 0));
	ROW(k, "unregister aff, nr", -EINVAL, UNREG(IOWQ_AFF, NULL, 1));
	ROW(k, "workers null", -EINVAL, REG(IOWQ_MAX_WORKERS, NULL, 2));
	ROW(k, "workers nr 1", -EINVAL, REG(IOWQ_MAX_WORKERS, limits, 1));
	ROW(k, "workers nr 3", -EINVAL, REG(IOWQ_MAX_WORKERS, limits, 3));
	ROW(k, "workers nowhere", -EFAULT, REG(IOWQ_MAX_WORKERS, NOWHERE, 2));
	limits[1] = 0x80000000;
	ROW(k, "workers 2^31", -EINVAL, REG(IOWQ_MAX_WORKERS, limits, 2));
}

TEST_F(bad, register_clock)
{
	struct io_uring_clock_register clock = { };
	const char *k = self->kind;
	int fd = self->r.fd;
	unsigned int i;

	ROW(k, "clock null", -EINVAL, REG(CLOCK, NULL, 0));
	ROW(k, "clock nr", -EINVAL, REG(CLOCK, &clock, 1));
	ROW(k, "clock nowhere", -EFAULT, REG(CLOCK, NOWHERE, 0));
	for (i = 0; i < 3; i++) {
		clock = (struct io_uring_clock_register){ .clockid = CLOCK_MONOTONIC };
		clock.__resv[i] = 1;
		ROW(k, "clock resv", -EINVAL, REG(CLOCK, &clock, 0));
	}
	clock = (struct io_uring_clock_register){ .clockid = CLOCK_REALTIME };
	ROW(k, "clock realtime", -EINVAL, REG(CLOCK, &clock, 0));
	clock.clockid = ~0U;
	ROW(k, "clock unknown", -EINVAL, REG(CLOCK, &clock, 0));
}

TEST_F(bad, register_ring_fds)
{
	struct io_uring_rsrc_update slot[17] = { };
	const char *k = self->kind;
	int fd = self->r.fd;

	ROW(k, "ring fds none", -EINVAL, REG(RING_FDS, slot, 0));
	ROW(k, "ring fds 17", -EINVAL, REG(RING_FDS, slot, 17));
	ROW(k, "ring fds nowhere", -EFAULT, REG(RING_FDS, NOWHERE, 1));
	slot[0].offset = 16;
	slot[0].data = fd;
	ROW(k, "ring fds offset 16", -EINVAL, REG(RING_FDS, slot, 1));
	slot[0].offset = 0;
	slot[0].resv = 1;
	ROW(k, "ring fds resv", -EINVAL, REG(RING_FDS, slot, 1));
	slot[0].resv = 0;
	slot[0].data = BAD_FD;
	ROW(k, "ring fds bad fd", -EBADF, REG(RING_FDS, slot, 1));
	slot[0].data = 0;
	ROW(k, "ring fds no ring", -EOPNOTSUPP, REG(RING_FDS, slot, 1));
	slot[0].data = fd;
	slot[1] = (struct io_uring_rsrc_update){ .offset = 1, .data = BAD_FD };
	ROW(k, "ring fds one of two", 1, REG(RING_FDS, slot, 2));
	ROW(k, "ring fds taken", -EBUSY, REG(RING_FDS, slot, 1));
	slot[0].data = 1;
	ROW(k, "unregister ring fds data", -EINVAL, UNREG(RING_FDS, slot, 1));
	slot[0].data = 0;
	slot[0].offset = 16;
	ROW(k, "unregister ring fds 16", -EINVAL, UNREG(RING_FDS, slot, 1));
	slot[0].offset = 0;
	ROW(k, "unregister ring fds", 1, UNREG(RING_FDS, slot, 1));
	ROW(k, "unregister ring fds again", 1, UNREG(RING_FDS, slot, 1));
	ROW(k, "enter emptied index", -EBADF, enter(0, BY_INDEX, NULL, 0));
}

/* Submit a copy of the 64-byte SQE.  Return: its result. */
static int one(struct iou *r, struct io_uring_sqe with)
{
	struct io_uring_sqe *sqe = iou_sqe(r);

	if (!sqe)
		return -EBUSY;
	memcpy(sqe, &with, 64);
	return iou_one(r);
}

#define SQE(...)	((struct io_uring_sqe){ .fd = -1, __VA_ARGS__ })

TEST_F(bad, sqe)
{
	bool poll = variant->flags & IORING_SETUP_IOPOLL;
	const char *k = self->kind;
	struct iou *r = &self->r;
	unsigned int i;

	if (variant->flags & IORING_SETUP_R_DISABLED)
		SKIP(return, "nothing can be submitted");
	ROW(k, "op 58", -EINVAL, one(r, SQE(.opcode = 58)));
	ROW(k, "op 255", -EINVAL, one(r, SQE(.opcode = 255)));
	ROW(k, "flag 7", -EINVAL, one(r, SQE(.flags = 0x80)));
	ROW(k, "nop ioprio", -EINVAL, one(r, SQE(.ioprio = 1)));
	ROW(k, "nop buffer select", -EOPNOTSUPP, one(r, SQE(.flags = IOSQE_BUFFER_SELECT)));
	ROW(k, "nop personality", -EINVAL, one(r, SQE(.personality = 7)));
	ROW(k, "nop slot", 0, one(r, SQE(.flags = IOSQE_FIXED_FILE)));
	ROW(k, "nop op and flag", -EINVAL, one(r, SQE(.opcode = 58, .flags = 0x80)));
	for (i = 0; i < 2; i++) {
		unsigned char f = i ? IOSQE_ASYNC : 0;

		ROW(k, "read fd", -EBADF, one(r, SQE(.opcode = IORING_OP_READ, .flags = f)));
		ROW(k, "read slot", -EBADF,
		    one(r, SQE(.opcode = IORING_OP_READ, .fd = 0,
			       .flags = f | IOSQE_FIXED_FILE)));
		ROW(k, "write fd", -EBADF, one(r, SQE(.opcode = IORING_OP_WRITE, .flags = f)));
		ROW(k, "write buffer select", -EOPNOTSUPP,
		    one(r, SQE(.opcode = IORING_OP_WRITE,
			       .flags = f | IOSQE_BUFFER_SELECT)));
		ROW(k, "read_fixed no buffers", -EFAULT,
		    one(r, SQE(.opcode = IORING_OP_READ_FIXED, .fd = 0, .flags = f)));
		ROW(k, "fsync fd", poll ? -EINVAL : -EBADF,
		    one(r, SQE(.opcode = IORING_OP_FSYNC, .flags = f)));
		ROW(k, "fsync ioprio", -EINVAL,
		    one(r, SQE(.opcode = IORING_OP_FSYNC, .flags = f, .ioprio = 1)));
		ROW(k, "files_update slot", -EINVAL,
		    one(r, SQE(.opcode = IORING_OP_FILES_UPDATE, .flags = IOSQE_FIXED_FILE)));
		ROW(k, "files_update none", -EINVAL,
		    one(r, SQE(.opcode = IORING_OP_FILES_UPDATE, .flags = f)));
		ROW(k, "files_update no table", -ENXIO,
		    one(r, SQE(.opcode = IORING_OP_FILES_UPDATE, .flags = f, .len = 1,
			       .addr = (uintptr_t)self->page)));
		ROW(k, "fallocate fd", poll ? -EINVAL : -EBADF,
		    one(r, SQE(.opcode = IORING_OP_FALLOCATE, .flags = f)));
	}
}

/*
 * The sweep takes a good SQE of each operation, and sets one field after another to odd values.
 * The record holds the results of the base.
 */
static char record_path[512];

static void __attribute__((constructor)) find_record(void)
{
	char exe[400] = { };
	const char *dir = getenv("IOU_STOCK");

	if (dir) {
		snprintf(record_path, sizeof(record_path), "%s/badinput_test", dir);
		return;
	}
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return;
	*strrchr(exe, '/') = '\0';
	snprintf(record_path, sizeof(record_path), "%s/stock/badinput_test", exe);
}

/* Return: the recorded result of @row, or NULL.  This is fast for rows in the record's order. */
static const char *recorded(FILE *f, const char *row)
{
	static char line[256];
	size_t len = strlen(row);
	int round;

	for (round = 0; round < 2; round++) {
		while (fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = '\0';
			if (!strncmp(line, row, len) && line[len] == ' ')
				return line + len + 1;
		}
		rewind(f);
	}
	return NULL;
}

#define NO_FD	(-1000)

struct swept_op {
	const char *name;
	int op;
	__u64 addr, off;
	__u32 len, rw_flags;
	/* 0 stands for the sweep's file, NO_FD for descriptor 0 */
	int fd;
	__u32 file_index;
	__u64 addr3;
	__u8 flags;
	/* sweep all values on the plain ring only; test one value on each other kind of ring */
	bool once;
};

static int cancel_any(struct iou *r)
{
	struct io_uring_sync_cancel_reg reg = {
		.flags = IORING_ASYNC_CANCEL_ANY, .timeout = { -1, -1 },
	};

	return iou_register(r, IORING_REGISTER_SYNC_CANCEL, &reg, 1);
}

static bool may_wait(int op)
{
	return op == IORING_OP_POLL_ADD || op == IORING_OP_FUTEX_WAIT ||
	       op == IORING_OP_FUTEX_WAITV;
}

/* Return: the first result.  Cancel a request that waits or is multishot. */
static int one_cut_short(struct iou *r, struct io_uring_sqe with)
{
	struct io_uring_sqe *sqe = iou_sqe(r);
	struct io_uring_cqe cqe;
	int ret, res;

	memcpy(sqe, &with, 64);
	ret = iou_submit(r);
	if (ret != 1)
		return ret < 0 ? ret : -ENODATA;
	if (may_wait(with.opcode) && !iou_ready(r))
		cancel_any(r);
	ret = iou_reap(r, &cqe);
	res = cqe.res;
	while (!ret && cqe.flags & IORING_CQE_F_MORE) {
		cancel_any(r);
		ret = iou_reap(r, &cqe);
	}
	return ret ? ret : res;
}

static const char *const fields[] = {
	"flags", "ioprio", "fd", "off", "addr", "len", "rw_flags", "user_data",
	"buf_index", "personality", "file_index", "addr3", "pad2",
};

static const __u64 odd_values[] = {
	1, 2, 0x80, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, 0xffffffff,
	0x7fffffffffffffff, 0x8000000000000000, ~0ULL,
};

static bool set_field(struct io_uring_sqe *sqe, unsigned int field, __u64 v)
{
	switch (field) {
	case 0:
		/* other tests cover links, drain and buffer groups */
		if (v & ~0xffULL || v & (IOSQE_IO_DRAIN | IOSQE_IO_LINK |
					 IOSQE_IO_HARDLINK | IOSQE_BUFFER_SELECT))
			return false;
		sqe->flags = v;
		return true;
	case 1:
		sqe->ioprio = v;
		return v <= 0xffff;
	case 2:
		sqe->fd = v;
		return v >= 0x7fff && v <= 0xffffffff;
	case 3:
		sqe->off = v;
		return true;
	case 4:
		sqe->addr = v;
		return true;
	case 5:
		sqe->len = v;
		return v <= 0xffffffff;
	case 6:
		sqe->rw_flags = sqe->opcode == IORING_OP_POLL_ADD ? poll_word(v) : v;
		return v <= 0xffffffff;
	case 7:
		sqe->user_data = v;
		return v == ~0ULL;
	case 8:
		sqe->buf_index = v;
		return v <= 0xffff;
	case 9:
		sqe->personality = v;
		return v <= 0xffff;
	case 10:
		sqe->file_index = v;
		return v <= 0xffffffff;
	case 11:
		sqe->addr3 = v;
		return true;
	default:
		sqe->__pad2[0] = v;
		return true;
	}
}

/* more than 0x8000 bytes, which are the longest range that MADVISE has to find mapped */
#define SWEEP_PAGES	16

FIXTURE(sweep) {
	struct iou r;
	FILE *record;
	char *mem;
	int fd;
	int dfd, epfd, in[2], out[2];
	char dir[32];
};

/* Remove the names that operations of the sweep may have created. */
static void clear_names(int dfd)
{
	static const char *const names[] = { "old", "new" };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		unlinkat(dfd, names[i], 0);
		unlinkat(dfd, names[i], AT_REMOVEDIR);
	}
}

FIXTURE_VARIANT(sweep) {
	unsigned int flags;
};

IOU_KIND(sweep, plain, 0);
IOU_KIND(sweep, defer, IOU_DEFER);
IOU_KIND(sweep, iopoll, IORING_SETUP_IOPOLL);

FIXTURE_SETUP(sweep)
{
	struct iovec iov;
	int fds[2] = { -1, -1 };

	self->record = fopen(record_path, "r");
	self->mem = mmap(NULL, SWEEP_PAGES * IOU_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	/* accesses beyond the page fault; no other mapping can be placed there */
	mprotect(self->mem + IOU_PAGE, (SWEEP_PAGES - 1) * IOU_PAGE, PROT_NONE);
	self->fd = memfd_create("sweep", 0);
	ASSERT_LE(0, self->fd);
	snprintf(self->dir, sizeof(self->dir), "/tmp/sweep.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	self->dfd = open(self->dir, O_RDONLY | O_DIRECTORY);
	self->epfd = epoll_create1(0);
	ASSERT_EQ(0, pipe2(self->in, O_NONBLOCK));
	ASSERT_EQ(0, pipe2(self->out, O_NONBLOCK));
	ASSERT_EQ(0, iou_init(&self->r, 4, variant->flags));
	iov = (struct iovec){ self->mem, IOU_PAGE };
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_BUFFERS, &iov, 1));
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, fds, 2));
}

FIXTURE_TEARDOWN(sweep)
{
	iou_exit(&self->r);
	close(self->fd);
	clear_names(self->dfd);
	rmdir(self->dir);
	munmap(self->mem, SWEEP_PAGES * IOU_PAGE);
	if (self->record)
		fclose(self->record);
}

/* Restore the names, with a file for "old". */
static void reset_names(struct __test_metadata *_metadata, struct _test_data_sweep *self)
{
	int fd;

	clear_names(self->dfd);
	fd = openat(self->dfd, "old", O_CREAT | O_WRONLY, 0600);
	ASSERT_LE(0, fd);
	fsetxattr(fd, "user.sweep", "12345678", 8, 0);
	close(fd);
}

/* Restore all state that a row may have changed. */
static void sweep_reset(struct __test_metadata *_metadata, struct _test_data_sweep *self)
{
	struct io_uring_files_update slot = { .offset = 1, .fds = (uintptr_t)&self->fd };
	struct futex_waitv futex = { .val = 1, .uaddr = (uintptr_t)self->mem + 2752,
				     .flags = FUTEX2_SIZE_U32 };
	static char bytes[4096];

	ASSERT_EQ(0, ftruncate(self->fd, 0));
	ASSERT_EQ(0, ftruncate(self->fd, 4096));
	lseek(self->fd, 0, SEEK_SET);
	*(struct iovec *)(self->mem + 64) = (struct iovec){ self->mem + 128, 512 };
	*(int *)(self->mem + 32) = -1;
	*(struct __kernel_timespec *)(self->mem + 1024) =
		(struct __kernel_timespec){ .tv_nsec = 1000000 };
	memcpy(self->mem + 2304, "old", 4);
	memcpy(self->mem + 2312, "new", 4);
	memcpy(self->mem + 2320, "user.sweep", 11);
	snprintf(self->mem + 2336, 64, "%s/old", self->dir);
	memcpy(self->mem + 2496, &(struct epoll_event){ .events = EPOLLIN },
	       sizeof(struct epoll_event));
	memset(self->mem + 2752, 0, 64);
	memcpy(self->mem + 2816, &futex, sizeof(futex));

	fsetxattr(self->fd, "user.sweep", "12345678", 8, 0);
	epoll_ctl(self->epfd, EPOLL_CTL_DEL, self->in[0], NULL);
	while (read(self->in[0], bytes, sizeof(bytes)) > 0)
		;
	while (read(self->out[0], bytes, sizeof(bytes)) > 0)
		;
	ASSERT_EQ(512, write(self->in[1], bytes, 512));
	ASSERT_EQ(1, iou_register(&self->r, IORING_REGISTER_FILES_UPDATE, &slot, 1));
}

/* Close an installed descriptor, and return 0, as its number does not matter. */
static int sweep_result(const struct swept_op *op, int res)
{
	if (op->op != IORING_OP_FIXED_FD_INSTALL || res < 0)
		return res;
	close(res);
	return 0;
}

/*
 * Return: true if the record has another result of this row.
 * differences: none, 6.12 has no IORING_TIMEOUT_IMMEDIATE_ARG
 * differences: unlink-fields
 */
static bool is_other_result(const char *name, int got)
{
	if (iou_on_stock())
		return false;
	if (!strcmp(name, "timeout rw_flags=80"))
		return got == -ETIME;
	/* if the address is not refused, the file is asked */
	if (!iou_splits_addresses() &&
	    (!strncmp(name, "read addr=", 10) || !strncmp(name, "write addr=", 11)))
		return got == -EOPNOTSUPP;
	if (strncmp(name, "unlinkat addr3=", 15) && strncmp(name, "unlinkat pad2=", 14))
		return false;
	return !got;
}

/* Print a row.  Return: true if the row agrees with the record, or if there is no record. */
static bool sweep_row(struct __test_metadata *_metadata, FILE *record, const char *kind,
		      const char *name, int got)
{
	const char *want;
	char row[160], text[32];

	print_row(kind, name, got);
	if (!record || is_other_result(name, got))
		return true;
	snprintf(row, sizeof(row), "%s/%s", kind, name);
	if (got < 0)
		snprintf(text, sizeof(text), "%s", strerrorname_np(-got));
	else
		snprintf(text, sizeof(text), "%d", got);
	want = recorded(record, row);
	if (want && !strcmp(want, text))
		return true;
	TH_LOG("%s: %s, on stock %s", row, text, want ? want : "not recorded");
	return false;
}

#define SWEPT_MOST	48

/* Store in @to the requests whose fields the sweep changes.  Return: their number. */
static unsigned int swept_ops(const struct _test_data_sweep *self, struct swept_op *to)
{
	const __u64 mem = (uintptr_t)self->mem;
	const struct swept_op ops[] = {
		{ "nop", IORING_OP_NOP },
		{ "readv", IORING_OP_READV, mem + 64, 0, 1 },
		{ "writev", IORING_OP_WRITEV, mem + 64, 0, 1 },
		{ "fsync", IORING_OP_FSYNC },
		{ "read_fixed", IORING_OP_READ_FIXED, mem + 128, 0, 512 },
		{ "write_fixed", IORING_OP_WRITE_FIXED, mem + 128, 0, 512 },
		{ "sync_file_range", IORING_OP_SYNC_FILE_RANGE, 0, 0, 4096 },
		{ "poll_add", IORING_OP_POLL_ADD, 0, 0, 0, poll_word(POLLIN) },
		{ "poll_remove", IORING_OP_POLL_REMOVE, 77 },
		{ "timeout", IORING_OP_TIMEOUT, mem + 1024, 0, 1 },
		{ "timeout_remove", IORING_OP_TIMEOUT_REMOVE, 77, mem + 1024 },
		{ "async_cancel", IORING_OP_ASYNC_CANCEL, 77 },
		{ "link_timeout", IORING_OP_LINK_TIMEOUT, mem + 1024, 0, 1 },
		{ "fallocate", IORING_OP_FALLOCATE, 4096, 0, 0 },
		{ "files_update", IORING_OP_FILES_UPDATE, mem + 32, 0, 1 },
		{ "read", IORING_OP_READ, mem + 128, 0, 512 },
		{ "write", IORING_OP_WRITE, mem + 128, 0, 512 },
		{ "statx", IORING_OP_STATX, mem + 2304, mem + 3072, STATX_BASIC_STATS,
		  .fd = self->dfd, .once = true },
		{ "fadvise", IORING_OP_FADVISE, 0, 0, 4096, .once = true },
		{ "madvise", IORING_OP_MADVISE, mem, 0, IOU_PAGE, .once = true },
		{ "ftruncate", IORING_OP_FTRUNCATE, 0, 512, .once = true },
		{ "renameat", IORING_OP_RENAMEAT, mem + 2304, mem + 2312, self->dfd,
		  .fd = self->dfd, .once = true },
		{ "unlinkat", IORING_OP_UNLINKAT, mem + 2304, .fd = self->dfd, .once = true },
		{ "mkdirat", IORING_OP_MKDIRAT, mem + 2312, 0, 0700, .fd = self->dfd,
		  .once = true },
		{ "symlinkat", IORING_OP_SYMLINKAT, mem + 2304, mem + 2312, .fd = self->dfd,
		  .once = true },
		{ "linkat", IORING_OP_LINKAT, mem + 2304, mem + 2312, self->dfd,
		  .fd = self->dfd, .once = true },
		{ "fsetxattr", IORING_OP_FSETXATTR, mem + 2320, mem + 3072, 4, .once = true },
		{ "setxattr", IORING_OP_SETXATTR, mem + 2320, mem + 3072, 4, .addr3 = mem + 2336,
		  .once = true },
		{ "fgetxattr", IORING_OP_FGETXATTR, mem + 2320, mem + 3072, 64, .once = true },
		{ "getxattr", IORING_OP_GETXATTR, mem + 2320, mem + 3072, 64, .addr3 = mem + 2336,
		  .once = true },
		{ "splice", IORING_OP_SPLICE, ~0ULL, ~0ULL, 64, .fd = self->out[1],
		  .file_index = self->in[0], .once = true },
		{ "splice_file", IORING_OP_SPLICE, 0, ~0ULL, 64, .fd = self->out[1],
		  .file_index = self->fd, .once = true },
		{ "tee", IORING_OP_TEE, 0, 0, 64, .fd = self->out[1], .file_index = self->in[0],
		  .once = true },
		{ "fixed_fd_install", IORING_OP_FIXED_FD_INSTALL, .fd = 1,
		  .flags = IOSQE_FIXED_FILE, .once = true },
		{ "epoll_ctl", IORING_OP_EPOLL_CTL, mem + 2496, self->in[0], EPOLL_CTL_ADD,
		  .fd = self->epfd, .once = true },
		{ "futex_wait", IORING_OP_FUTEX_WAIT, mem + 2752, 1, .fd = FUTEX2_SIZE_U32,
		  .addr3 = ~0U, .once = true },
		{ "futex_wake", IORING_OP_FUTEX_WAKE, mem + 2752, 1, .fd = FUTEX2_SIZE_U32,
		  .addr3 = ~0U, .once = true },
		{ "futex_waitv", IORING_OP_FUTEX_WAITV, mem + 2816, 0, 1, .fd = NO_FD,
		  .once = true },
		{ "waitid", IORING_OP_WAITID, 0, mem + 3072, P_ALL, .file_index = WEXITED,
		  .fd = 1, .once = true },
	};

	_Static_assert(ARRAY_LEN(ops) <= SWEPT_MOST, "SWEPT_MOST");
	memcpy(to, ops, sizeof(ops));
	return ARRAY_LEN(ops);
}

/*
 * 7.3 refuses FADVISE of a negative offset, and 6.12 does not.  Return: 0, as on 6.12, if @got
 * equals the result of posix_fadvise() on this kernel; otherwise -EPROTO.
 */
static int sweep_fadvise(int fd, __u64 off, int got)
{
	return got == -posix_fadvise(fd, off, 4096, POSIX_FADV_NORMAL) ? 0 : -EPROTO;
}

/* Set one field to an odd value.  Return: true if the result differs from that of the base. */
static bool sweep_value(struct __test_metadata *_metadata, struct _test_data_sweep *self,
			const char *kind, const struct swept_op *op, unsigned int field,
			__u64 value)
{
	struct io_uring_sqe sqe = {
		.opcode = op->op, .flags = op->flags,
		.fd = op->fd == NO_FD ? 0 : op->fd ?: self->fd,
		.addr = op->addr, .off = op->off,
		.len = op->len, .rw_flags = op->rw_flags,
		.file_index = op->file_index, .addr3 = op->addr3,
	};
	char name[128];
	int got;

	if (!set_field(&sqe, field, value))
		return false;
	/* skip sizes of gigabytes, for which there is no room */
	if (sqe.opcode == IORING_OP_FALLOCATE && sqe.addr > 0x8000 && sqe.addr < 1ULL << 63)
		return false;
	/* 6.12 refuses this flag, see complete_test nop_looks_up */
	if (sqe.opcode == IORING_OP_NOP && sqe.nop_flags == IORING_NOP_FILE)
		return false;
	sweep_reset(_metadata, self);
	/* only ops that are swept once use names */
	if (op->once)
		reset_names(_metadata, self);
	got = sweep_result(op, one_cut_short(&self->r, sqe));
	if (sqe.opcode == IORING_OP_FADVISE && sqe.off >> 63)
		got = sweep_fadvise(sqe.fd, sqe.off, got);
	snprintf(name, sizeof(name), "%s %s=%llx", op->name, fields[field],
		 (unsigned long long)value);
	return !sweep_row(_metadata, self->record, kind, name, got);
}

TEST_F(sweep, fields)
{
	const char *kind = variant->flags & IORING_SETUP_IOPOLL ? "sweep iopoll" :
			   variant->flags ? "sweep defer" : "sweep plain";
	struct swept_op ops[SWEPT_MOST];
	unsigned int o, f, v, nr = swept_ops(self, ops), differ = 0;
	unsigned int step = iou_slow_kernel() && !getenv("IOU_SOAK") ? 2 : 1;

	for (o = 0; o < nr; o++) {
		if (!iou_has_op(&self->r, ops[o].op))
			continue;
		for (f = 0; f < ARRAY_LEN(fields); f++) {
			/*
			 * a slow kernel tests every other value, starting with another value for
			 * each op and field
			 */
			for (v = (o + f) % step; v < ARRAY_LEN(odd_values); v += step) {
				/* other kinds of ring test one value, for the submit loop */
				if (ops[o].once && variant->flags && (f || v))
					continue;
				differ += sweep_value(_metadata, self, kind, &ops[o], f,
						      odd_values[v]);
			}
		}
	}
	if (!self->record)
		SKIP(return, "no record of stock's answers");
	EXPECT_EQ(0, differ);
}

TEST_HARNESS_MAIN
