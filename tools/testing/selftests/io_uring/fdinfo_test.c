// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: /proc/PID/fdinfo of a ring - what it says, and when */
#include <pthread.h>
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
	for (ret = 1; ret > 0 && size; text += ret, size -= ret)
		ret = read(info, text, size);
	*text = '\0';
	close(info);
	return ret < 0 ? -EIO : 0;
}

/* The number behind @key, or -1. */
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
	/* a thread gives the slots back a moment after the CQEs */
	iou_sleep_ms(10);
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

/* Readers must not stop what they look at, nor see it half gone. */
struct reader {
	int *fd;
	bool stop;
	unsigned int reads;
};

static void *read_loop(void *arg)
{
	struct reader *rd = arg;
	char *text = malloc(TEXT_SIZE);

	while (!load_acq(&rd->stop)) {
		read_fdinfo(load_acq(rd->fd), text, TEXT_SIZE);
		rd->reads++;
		sched_yield();
	}
	free(text);
	return NULL;
}

TEST_F(fdinfo, readers_against_open_and_close)
{
	struct reader rd[2] = { { &self->r.fd }, { &self->r.fd } };
	unsigned int i, k, rounds = iou_rounds(60);
	struct iovec iov = { self->text, TEXT_SIZE };
	pthread_t thread[2];

	if (variant->flags & IORING_SETUP_R_DISABLED)
		SKIP(return, "nothing can be submitted");
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, read_loop, &rd[i]));
	for (i = 0; i < rounds; i++) {
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
		EXPECT_LT(0, rd[i].reads);
	}
}

/* Readers of one busy ring; its numbers never run backwards. */
TEST_F(fdinfo, readers_against_submitters)
{
	struct reader rd = { &self->r.fd };
	unsigned int i, k, rounds = iou_rounds(300);
	long tail, last = 0;
	pthread_t thread;

	if (variant->flags & (IORING_SETUP_R_DISABLED | IORING_SETUP_IOPOLL))
		SKIP(return, "no reads to wait for");
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_loop, &rd));
	for (i = 0; i < rounds; i++) {
		for (k = 0; k < 8; k++)
			iou_nop(&self->r, k)->flags = k % 4 ? 0 : IOSQE_ASYNC;
		ASSERT_LE(0, iou_submit(&self->r));
		ASSERT_EQ(0, iou_discard(&self->r, 8));
		if (i % 16)
			continue;
		ASSERT_EQ(0, read_fdinfo(self->r.fd, self->text, TEXT_SIZE));
		tail = value_of(self->text, "CqTail");
		ASSERT_LE(last, tail);
		last = tail;
	}
	store_rel(&rd.stop, true);
	pthread_join(thread, NULL);
}

TEST_HARNESS_MAIN
