// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: /proc/PID/fdinfo of a ring - its contents, and when it can be read */
#include <poll.h>
#include <pthread.h>
#include "fault.h"
#include "iou_test.h"

static int read_fdinfo(int fd, char *text, size_t size)
{
	char path[64];
	ssize_t ret;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY);
	if (info < 0)
		return -errno;
	size--;
	while ((ret = read(info, text, size)) > 0) {
		text += ret;
		size -= ret;
	}
	if (ret < 0)
		ret = -errno;
	*text = '\0';
	close(info);
	return ret;
}

/* Return: the number behind @key, or -1. */
static long value_of(const char *text, const char *key)
{
	const char *at = text;
	size_t len = strlen(key);

	while ((at = strstr(at, key))) {
		if ((at == text || at[-1] == '\n') && at[len] == ':')
			return strtol(at + len + 1, NULL, 0);
		at += len;
	}
	return -1;
}

FIXTURE(fdinfo) {
	struct iou r;
	char *text;
};

FIXTURE_VARIANT(fdinfo) {
	unsigned int flags;
};

#define TEXT_SIZE	65536

IOU_KINDS_OF_TASK(fdinfo);
IOU_KIND(fdinfo, iopoll, IORING_SETUP_IOPOLL);
IOU_KIND(fdinfo, disabled, IORING_SETUP_R_DISABLED);
IOU_KIND(fdinfo, defer_large, IOU_DEFER | IOU_LARGE);

FIXTURE_SETUP(fdinfo)
{
	self->text = malloc(TEXT_SIZE);
	ASSERT_NE(NULL, self->text);
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
}

FIXTURE_TEARDOWN(fdinfo)
{
	iou_exit(&self->r);
	free(self->text);
}

TEST_F(fdinfo, keys_in_order)
{
	static const char *const keys[] = {
		"SqMask", "SqHead", "SqTail", "CachedSqHead", "CqMask", "CqHead",
		"CqTail", "CachedCqTail", "SQEs", "CQEs", "SqThread", "SqThreadCpu",
		"SqTotalTime", "SqWorkTime", "UserFiles", "UserBufs", "PollList",
		"CqOverflowList",
	};
	const char *at;
	unsigned int i;

	ASSERT_EQ(0, read_fdinfo(self->r.fd, self->text, TEXT_SIZE));
	for (i = 0, at = self->text; i < ARRAY_LEN(keys); i++) {
		char key[32];

		snprintf(key, sizeof(key), "\n%s:", keys[i]);
		at = strstr(at, key);
		ASSERT_NE(NULL, at) {
			TH_LOG("%s is missing or out of order in\n%s", keys[i],
			       self->text);
		}
	}
}

TEST_F(fdinfo, values)
{
	struct iou *r = &self->r;
	bool off = variant->flags & IORING_SETUP_R_DISABLED;
	unsigned int i;

	if (!off) {
		for (i = 0; i < 5; i++)
			iou_nop(r, i);
		ASSERT_EQ(5, iou_submit_wait(r, 5));
		ASSERT_EQ(0, iou_wait(r, 5));
		iou_seen(r, 2);
	}
	ASSERT_TRUE(iou_taken(r, IOU_PATIENCE));
	ASSERT_EQ(0, read_fdinfo(r->fd, self->text, TEXT_SIZE));
	EXPECT_EQ(7, value_of(self->text, "SqMask"));
	EXPECT_EQ(off ? 0 : 5, value_of(self->text, "SqHead"));
	EXPECT_EQ(off ? 0 : 5, value_of(self->text, "SqTail"));
	EXPECT_EQ(off ? 0 : 5, value_of(self->text, "CachedSqHead"));
	EXPECT_EQ(15, value_of(self->text, "CqMask"));
	EXPECT_EQ(off ? 0 : 2, value_of(self->text, "CqHead"));
	EXPECT_EQ(off ? 0 : 5, value_of(self->text, "CqTail"));
	EXPECT_EQ(off ? 0 : 5, value_of(self->text, "CachedCqTail"));
	EXPECT_EQ(0, value_of(self->text, "SQEs"));
	EXPECT_EQ(off ? 0 : 3, value_of(self->text, "CQEs"));
	EXPECT_EQ(0, value_of(self->text, "UserFiles"));
	EXPECT_EQ(0, value_of(self->text, "UserBufs"));
	if (variant->flags & IORING_SETUP_SQPOLL)
		EXPECT_LT(0, value_of(self->text, "SqThread"));
	if (!(variant->flags & IORING_SETUP_SQPOLL))
		EXPECT_EQ(-1, value_of(self->text, "SqThread"));
}

TEST_F(fdinfo, resources)
{
	int fds[3] = { 0, -1, open("/dev/null", O_RDONLY) };
	char *mem = iou_map_anon(4 * IOU_PAGE);
	struct iovec iov[2] = { { mem, IOU_PAGE }, { mem + IOU_PAGE, 3 * IOU_PAGE } };

	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, fds, 3));
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_BUFFERS, iov, 2));
	ASSERT_EQ(0, read_fdinfo(self->r.fd, self->text, TEXT_SIZE));
	EXPECT_EQ(3, value_of(self->text, "UserFiles"));
	EXPECT_EQ(2, value_of(self->text, "UserBufs"));
	EXPECT_NE(NULL, strstr(self->text, "null"));
	close(fds[2]);
	munmap(mem, 4 * IOU_PAGE);
}

/*
 * A registered file has its whole path, and a name adds no lines.  differences: fdinfo-file-name
 * Mutant: fdinfo-name-not-escaped.
 */
TEST_F(fdinfo, file_names)
{
	char path[] = "/tmp/iou fd\tin\\fo\nUserFiles:\t9";
	int fds[2], p[2];

	ASSERT_EQ(0, pipe(p));
	fds[0] = open(path, O_CREAT | O_RDWR, 0600);
	ASSERT_LE(0, fds[0]);
	fds[1] = p[0];
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_FILES, fds, 2));
	ASSERT_EQ(0, read_fdinfo(self->r.fd, self->text, TEXT_SIZE));
	if (!iou_on_older_stock()) {
		EXPECT_NE(NULL, strstr(self->text, "UserFiles:\t2\n    0: /tmp/"
				       "iou\\040fd\\011in\\134fo\\012UserFiles:\\0119\n"
				       "    1: pipe:[")) {
			TH_LOG("%s", self->text);
		}
	}
	close(fds[0]);
	close(p[0]);
	close(p[1]);
	unlink(path);
}

/* Many personalities make the reader's buffer grow; 256 are listed.  differences: fdinfo-lists */
TEST_F(fdinfo, personalities)
{
	unsigned int nr = 2000, seen = 0;
	size_t size = 1 << 20;
	char *text = malloc(size), *at;

	ASSERT_NE(NULL, text);
	for (seen = 0; seen < nr; seen++)
		ASSERT_LT(0, iou_register(&self->r, IORING_REGISTER_PERSONALITY, NULL, 0));
	ASSERT_EQ(0, read_fdinfo(self->r.fd, text, size));
	for (seen = 0, at = text; (at = strstr(at, "CapEff:")); at++)
		seen++;
	EXPECT_EQ(iou_on_stock() ? nr : 256, seen);
	free(text);
}

/* Return: the number of lines that begin with @start. */
static unsigned int lines(const char *text, const char *start)
{
	unsigned int nr = 0;

	while (text) {
		nr += !strncmp(text, start, strlen(start));
		text = strchr(text, '\n');
		text += !!text;
	}
	return nr;
}

/*
 * The file lists CQEs that did not fit into the CQ, and requests that wait for a file.
 * differences: fdinfo-cqes
 */
TEST_F(fdinfo, lists)
{
	bool polls = !(variant->flags & IORING_SETUP_IOPOLL);
	struct iou *r = &self->r;
	char line[64];
	int p[2], i;

	if (variant->flags & IORING_SETUP_R_DISABLED)
		SKIP(return, "nothing can be submitted");
	ASSERT_EQ(0, pipe(p));
	if (polls) {
		iou_prep(r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0)->poll32_events =
			poll_word(POLLIN);
		ASSERT_LE(0, iou_submit(r));
	}
	/* the CQ has 16 entries */
	for (i = 0; i < 20; i++) {
		ASSERT_NE(NULL, iou_nop(r, 100 + i));
		ASSERT_LE(0, iou_submit(r));
	}
	EXPECT_TRUE(iou_taken(r, IOU_PATIENCE));
	ASSERT_EQ(0, read_fdinfo(r->fd, self->text, TEXT_SIZE));
	EXPECT_EQ(16, value_of(self->text, "CQEs"));
	EXPECT_EQ(polls, lines(self->text, "  op=6, task_works=0\n"));
	EXPECT_EQ(4, lines(self->text, "  user_data="));
	for (i = 16; i < 20; i++) {
		snprintf(line, sizeof(line), "  user_data=%d, res=0, flags=0\n", 100 + i);
		EXPECT_EQ(1, lines(self->text, line));
	}
	for (i = 0; i < 16; i++) {
		snprintf(line, sizeof(line), "%5u: user_data:%d, res:0, %s:0%s", i, 100 + i,
			 iou_on_older_stock() ? "flag" : "flags",
			 variant->flags & IORING_SETUP_CQE32 ? "" : "\n");
		EXPECT_EQ(1, lines(self->text, line));
	}
	close(p[0]);
	close(p[1]);
}

/*
 * Only the beginning of a long overflow list is printed, since it is read under a spinlock on
 * multi-writer rings.  Mutant: fdinfo-reads-all.  differences: fdinfo-overflow
 */
TEST_F(fdinfo, long_overflow_is_cut)
{
	struct iou *r = &self->r;
	int i;

	if (variant->flags & IORING_SETUP_R_DISABLED)
		SKIP(return, "nothing can be submitted");
	/* the CQ has 16 entries */
	for (i = 0; i < 16 + 300; i++) {
		ASSERT_NE(NULL, iou_nop(r, i));
		ASSERT_LE(0, iou_submit(r));
		ASSERT_TRUE(iou_taken(r, IOU_PATIENCE));
	}
	ASSERT_EQ(0, read_fdinfo(r->fd, self->text, TEXT_SIZE));
	EXPECT_EQ(iou_on_stock() ? 300 : 256, lines(self->text, "  user_data="));
	EXPECT_NE(NULL, strstr(self->text, "  user_data=16, res=0, flags=0\n"));
	/* no CQE of the list is lost */
	EXPECT_EQ(0, iou_discard(r, 316));
}

/*
 * Lists of registered files and of polls are cut as well, as programs choose their length.
 * differences: fdinfo-lists
 */
TEST_F(fdinfo, long_lists_are_cut)
{
	unsigned int nr = 1000, shown = iou_on_stock() ? nr : 256, i;
	struct iou *r = &self->r;
	char *text = malloc(1 << 20);
	int p[2], *fds;

	ASSERT_NE(NULL, text);
	ASSERT_EQ(0, pipe(p));
	fds = malloc(nr * sizeof(*fds));
	ASSERT_NE(NULL, fds);
	for (i = 0; i < nr; i++)
		fds[i] = i == 1 ? -1 : p[1];
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_FILES, fds, nr));
	free(fds);
	if (variant->flags & (IORING_SETUP_IOPOLL | IORING_SETUP_R_DISABLED))
		nr = 0;
	for (i = 0; i < nr; i++) {
		if (i % 2) {
			iou_prep(r, IORING_OP_POLL_ADD, p[0], NULL, 0, 0)->poll32_events =
				poll_word(POLLIN);
		} else {
			iou_prep(r, IORING_OP_READ, p[0], text, 1, 0);
		}
		ASSERT_LE(0, iou_submit(r));
		ASSERT_TRUE(iou_taken(r, IOU_PATIENCE));
	}
	ASSERT_EQ(0, read_fdinfo(r->fd, text, 1 << 20));
	EXPECT_EQ(1000, value_of(text, "UserFiles"));
	EXPECT_NE(NULL, strstr(text, "\n    1: <none>\n"));
	for (i = 0; i < 1000; i++) {
		char line[16];

		snprintf(line, sizeof(line), "\n%5u: ", i);
		ASSERT_EQ(i < shown, !!strstr(strstr(text, "UserFiles:"), line)) {
			TH_LOG("file %u of\n%s", i, text);
		}
	}
	EXPECT_EQ(nr ? shown : 0, lines(strstr(text, "PollList:"), "  op="));
	close(p[0]);
	close(p[1]);
	free(text);
}

/* The file lists SQEs that no task has taken yet. */
TEST_F(fdinfo, waiting_sqes)
{
	struct iou *r = &self->r;
	char line[80];
	int i;

	if (!(variant->flags & IORING_SETUP_R_DISABLED))
		SKIP(return, "they are taken");
	for (i = 0; i < 3; i++)
		iou_nop(r, 100 + i);
	iou_flush(r);
	ASSERT_EQ(0, read_fdinfo(r->fd, self->text, TEXT_SIZE));
	EXPECT_EQ(0, value_of(self->text, "SqHead"));
	EXPECT_EQ(3, value_of(self->text, "SqTail"));
	EXPECT_EQ(3, value_of(self->text, "SQEs"));
	EXPECT_EQ(3, lines(strstr(self->text, "SQEs:"), "    "));
	for (i = 0; i < 3; i++) {
		snprintf(line, sizeof(line), "%5u: opcode:NOP, fd:-1, flags:0, off:0, addr:0x0, ",
			 i);
		EXPECT_EQ(1, lines(self->text, line));
		snprintf(line, sizeof(line), " user_data:%d\n", 100 + i);
		EXPECT_NE(NULL, strstr(self->text, line));
	}
}

struct holder {
	int fd;
	struct hole hole;
};

/* Wait in a page fault with the ring lock held, while the kernel reads the descriptors. */
static void *hold_lock(void *arg)
{
	struct holder *h = arg;

	return (void *)(long)iou_sys_register(h->fd, IORING_REGISTER_FILES, h->hole.mem, 1);
}

/* A read of the file must not wait for the ring lock, whose holder may wait for the reader. */
TEST_F(fdinfo, ring_lock_is_held)
{
	struct iovec iov = { self->text, 4096 };
	struct holder h = { self->r.fd };
	pthread_t thread;
	void *ret;

	if (variant->flags & IORING_SETUP_SINGLE_ISSUER)
		SKIP(return, "another thread may not register");
	if (hole_open(&h.hole, 1))
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_BUFFERS, &iov, 1));
	ASSERT_EQ(0, read_fdinfo(self->r.fd, self->text, TEXT_SIZE));
	EXPECT_EQ(1, lines(strstr(self->text, "UserBufs:"), "    0: 0x"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, hold_lock, &h));
	ASSERT_EQ(1, hole_faults(&h.hole, 1));
	/* if the read waited for the lock, this task could not supply the page */
	alarm(IOU_PATIENCE / 1000);
	ASSERT_EQ(0, read_fdinfo(self->r.fd, self->text, TEXT_SIZE));
	alarm(0);
	EXPECT_EQ(7, value_of(self->text, "SqMask"));
	EXPECT_EQ(1, value_of(self->text, "UserBufs"));
	EXPECT_EQ(0, lines(strstr(self->text, "UserBufs:"), "    0: 0x"));
	EXPECT_EQ(0, value_of(self->text, "CqOverflowList"));
	ASSERT_EQ(0, hole_give(&h.hole, 0, 1));
	pthread_join(thread, &ret);
	/* the page of zeroes makes the call register descriptor 0 */
	EXPECT_EQ(NULL, ret);
	close(h.hole.uffd);
}

/* A thread that reads the file of the ring *@fd again and again. */
struct reader {
	int *fd;
	bool stop;
	unsigned int whole;	/* files with the first and the last key */
	unsigned int broken;	/* files with the first key, but not the last one */
	int err;		/* error other than -ENOENT */
};

static void *read_loop(void *arg)
{
	struct reader *rd = arg;
	char *text = malloc(TEXT_SIZE);

	while (!load_acq(&rd->stop)) {
		int ret = read_fdinfo(load_acq(rd->fd), text, TEXT_SIZE);

		if (ret && ret != -ENOENT)
			rd->err = ret;
		/* another file may have the descriptor for a moment */
		if (!ret && value_of(text, "SqMask") == 7) {
			if (value_of(text, "CqOverflowList") == 0)
				store_rel(&rd->whole, rd->whole + 1);
			else
				rd->broken++;
		}
		sched_yield();
	}
	free(text);
	return NULL;
}

/* Readers must not delay the close of a ring, nor print a part of its state. */
TEST_F(fdinfo, readers_against_open_and_close)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	struct reader rd[2] = { { &self->r.fd }, { &self->r.fd } };
	unsigned int i, k, rounds = iou_rounds(60);
	struct iovec iov = { self->text, TEXT_SIZE };
	pthread_t thread[2];

	if (variant->flags & IORING_SETUP_R_DISABLED)
		SKIP(return, "nothing can be submitted");
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, read_loop, &rd[i]));
	for (i = 0; i < rounds || (iou_now_us() < end &&
				   (!load_acq(&rd[0].whole) || !load_acq(&rd[1].whole))); i++) {
		ASSERT_EQ(0, iou_register(&self->r, IORING_REGISTER_BUFFERS, &iov, 1));
		for (k = 0; k < 20; k++) {
			iou_nop(&self->r, k);
			ASSERT_LE(0, iou_submit(&self->r));
		}
		ASSERT_EQ(0, iou_discard(&self->r, 20));
		iou_exit(&self->r);
		ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	}
	for (i = 0; i < 2; i++) {
		store_rel(&rd[i].stop, true);
		pthread_join(thread[i], NULL);
		EXPECT_LT(0, rd[i].whole);
		EXPECT_EQ(0, rd[i].broken);
		EXPECT_EQ(0, rd[i].err);
	}
}

/* Read the file of a busy ring: it shows the values of that moment. */
TEST_F(fdinfo, readers_against_submitters)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	struct reader rd = { &self->r.fd };
	unsigned int i, k, rounds = iou_rounds(300);
	pthread_t thread;

	if (variant->flags & (IORING_SETUP_R_DISABLED | IORING_SETUP_IOPOLL))
		SKIP(return, "no reads to wait for");
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_loop, &rd));
	for (i = 0; i < rounds || (!load_acq(&rd.whole) && iou_now_us() < end); i++) {
		for (k = 0; k < 8; k++)
			iou_nop(&self->r, k)->flags = k % 4 ? 0 : IOSQE_ASYNC;
		ASSERT_LE(0, iou_submit(&self->r));
		ASSERT_EQ(0, iou_discard(&self->r, 8));
		if (i % 16)
			continue;
		ASSERT_EQ(0, read_fdinfo(self->r.fd, self->text, TEXT_SIZE));
		ASSERT_EQ(8 * (i + 1), value_of(self->text, "SqTail"));
		ASSERT_EQ(8 * (i + 1), value_of(self->text, "CqTail"));
		ASSERT_EQ(8 * (i + 1), value_of(self->text, "CqHead"));
		ASSERT_EQ(0, value_of(self->text, "CQEs"));
	}
	store_rel(&rd.stop, true);
	pthread_join(thread, NULL);
	EXPECT_LT(0, rd.whole);
	EXPECT_EQ(0, rd.broken);
	EXPECT_EQ(0, rd.err);
}

TEST_HARNESS_MAIN
