// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: register eventfds, ring indexes, personalities, limits, restrictions */
#include <linux/io_uring/query.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "iou_test.h"

FIXTURE(reg) {
	struct iou r;
	int efd;
	int p[2];
	char buf[64];
};

FIXTURE_VARIANT(reg) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(reg);

FIXTURE_SETUP(reg)
{
	ASSERT_EQ(0, iou_init(&self->r, 8, variant->flags));
	self->efd = eventfd(0, EFD_NONBLOCK);
	ASSERT_LE(0, self->efd);
	ASSERT_EQ(0, pipe(self->p));
}

FIXTURE_TEARDOWN(reg)
{
	iou_exit(&self->r);
	close(self->efd);
	close(self->p[0]);
	close(self->p[1]);
}

/* Return: how often the eventfd was signalled since the last call. */
static int signals(int efd)
{
	__u64 value;

	if (read(efd, &value, 8) != 8)
		return 0;
	return value;
}

/* Like signals(), but give a worker or an SQPOLL thread time to signal. */
static int signals_soon(int efd)
{
	struct pollfd pfd = { .fd = efd, .events = POLLIN };

	poll(&pfd, 1, 3000);
	return signals(efd);
}

TEST_F(reg, eventfd_inline)
{
	struct iou *r = &self->r;
	int nr;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_EVENTFD, &self->efd, 1));
	EXPECT_EQ(0, signals(self->efd));
	iou_nop(r, 1);
	EXPECT_EQ(0, iou_one(r));
	EXPECT_LE(1, signals_soon(self->efd));
	EXPECT_EQ(0, signals(self->efd));
	/* a batch sends at least one signal, and at most one for each completion */
	for (nr = 0; nr < 4; nr++)
		iou_nop(r, nr);
	ASSERT_EQ(4, iou_submit_wait(r, 4));
	nr = signals_soon(self->efd);
	EXPECT_LE(1, nr);
	EXPECT_GE(4, nr);
	EXPECT_EQ(0, iou_discard(r, 4));
	/* an enter without a completion sends no signal */
	EXPECT_EQ(0, iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS));
	EXPECT_EQ(0, signals(self->efd));
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_EVENTFD, NULL, 0));
	iou_nop(r, 1);
	EXPECT_EQ(0, iou_one(r));
	EXPECT_EQ(0, signals(self->efd));
}

TEST_F(reg, eventfd_later_completion)
{
	struct iou *r = &self->r;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_EVENTFD, &self->efd, 1));
	iou_prep(r, IORING_OP_READ, self->p[0], self->buf, 8, 0);
	ASSERT_EQ(1, iou_submit(r));
	iou_sleep_ms(50);
	EXPECT_EQ(0, signals(self->efd));
	ASSERT_EQ(2, write(self->p[1], "ab", 2));
	EXPECT_LE(1, signals_soon(self->efd));
	/* a single-writer ring signals before its owner posts the CQE */
	if (variant->flags & IORING_SETUP_DEFER_TASKRUN)
		EXPECT_EQ(0, iou_ready(r));
	EXPECT_EQ(0, iou_discard(r, 1));
}

TEST_F(reg, eventfd_switched_off)
{
	struct iou *r = &self->r;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_EVENTFD, &self->efd, 1));
	store_rel(r->cq_flags, IORING_CQ_EVENTFD_DISABLED);
	iou_nop(r, 1);
	EXPECT_EQ(0, iou_one(r));
	iou_sleep_ms(30);
	EXPECT_EQ(0, signals(self->efd));
	store_rel(r->cq_flags, 0);
	iou_nop(r, 1);
	EXPECT_EQ(0, iou_one(r));
	EXPECT_LE(1, signals_soon(self->efd));
}

/* EVENTFD_ASYNC signals completions of workers, not inline completions. */
TEST_F(reg, eventfd_async)
{
	struct iou *r = &self->r;
	int fd = memfd_create("async", 0);

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_EVENTFD_ASYNC, &self->efd, 1));
	iou_nop(r, 1);
	EXPECT_EQ(0, iou_one(r));
	iou_sleep_ms(30);
	EXPECT_EQ(0, signals(self->efd));
	iou_prep(r, IORING_OP_WRITE, fd, self->buf, 8, 0)->flags = IOSQE_ASYNC;
	EXPECT_EQ(8, iou_one(r));
	EXPECT_LE(1, signals_soon(self->efd));
	close(fd);
}

/* A CQE that overflows is not in the ring yet, and sends no signal. */
TEST_F(reg, eventfd_on_overflow)
{
	struct iou *r = &self->r;
	int i;

	for (i = 0; i < 16; i++) {
		iou_nop(r, i);
		ASSERT_EQ(1, iou_submit(r));
	}
	iou_sleep_ms(30);
	ASSERT_EQ(16, iou_ready(r));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_EVENTFD, &self->efd, 1));
	iou_nop(r, i);
	ASSERT_EQ(1, iou_submit(r));
	iou_sleep_ms(50);
	EXPECT_EQ(IORING_SQ_CQ_OVERFLOW,
		  load_acq(r->sq_flags) & IORING_SQ_CQ_OVERFLOW);
	EXPECT_EQ(0, signals(self->efd));
	EXPECT_EQ(0, iou_discard(r, 17));
}

struct storm {
	struct iou *r;
	int efd;
	bool stop;
};

static void *toggle_eventfd(void *arg)
{
	struct storm *s = arg;

	while (!load_acq(&s->stop)) {
		iou_register(s->r, IORING_REGISTER_EVENTFD, &s->efd, 1);
		sched_yield();
		iou_register(s->r, IORING_UNREGISTER_EVENTFD, NULL, 0);
	}
	return NULL;
}

TEST_F(reg, eventfd_comes_and_goes)
{
	struct storm s = { .r = &self->r, .efd = self->efd };
	unsigned int i, rounds = iou_rounds(2000);
	pthread_t thread;

	if (variant->flags & IORING_SETUP_SINGLE_ISSUER)
		SKIP(return, "another thread may not register");
	ASSERT_EQ(0, pthread_create(&thread, NULL, toggle_eventfd, &s));
	for (i = 0; i < rounds; i++) {
		iou_nop(&self->r, i)->flags = i % 4 ? 0 : IOSQE_ASYNC;
		ASSERT_EQ(0, iou_one(&self->r));
	}
	store_rel(&s.stop, true);
	pthread_join(thread, NULL);
}

/* The probe lists each opcode, and reports the operations of @scope as supported. */
TEST_F(reg, probe)
{
	static const unsigned char scope[] = {
		IORING_OP_NOP, IORING_OP_READV, IORING_OP_WRITEV, IORING_OP_FSYNC,
		IORING_OP_READ_FIXED, IORING_OP_WRITE_FIXED,
		IORING_OP_SYNC_FILE_RANGE, IORING_OP_FALLOCATE,
		IORING_OP_FILES_UPDATE, IORING_OP_READ, IORING_OP_WRITE,
	};
	size_t size = sizeof(struct io_uring_probe) +
		      256 * sizeof(struct io_uring_probe_op);
	struct io_uring_probe *probe = calloc(1, size);
	struct iou *r = &self->r;
	unsigned int i;

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_PROBE, probe, 256));
	EXPECT_EQ(IORING_OP_LAST - 1, probe->last_op);
	EXPECT_EQ(IORING_OP_LAST, probe->ops_len);
	for (i = 0; i < IORING_OP_LAST; i++)
		EXPECT_EQ(i, probe->ops[i].op);
	for (i = 0; i < ARRAY_LEN(scope); i++)
		EXPECT_EQ(IO_URING_OP_SUPPORTED, probe->ops[scope[i]].flags);
	EXPECT_EQ(0, probe->ops[IORING_OP_LAST].op);
	EXPECT_EQ(0, probe->ops[IORING_OP_LAST].flags);
	memset(probe, 0, size);
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_PROBE, probe, 3));
	EXPECT_EQ(3, probe->ops_len);
	EXPECT_EQ(IORING_OP_LAST - 1, probe->last_op);
	EXPECT_EQ(2, probe->ops[2].op);
	EXPECT_EQ(0, probe->ops[3].op);
	/* the entry behind the last opcode is neither read nor written */
	memset(probe, 0, size);
	memset(&probe->ops[IORING_OP_LAST], 0xaa, 8);
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_PROBE, probe, 256));
	EXPECT_EQ(IORING_OP_LAST, probe->ops_len);
	EXPECT_EQ(0xaa, probe->ops[IORING_OP_LAST].op);
	memset(probe, 0, size);
	probe->ops[IORING_OP_LAST - 1].flags = 1;
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_PROBE, probe, 256));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_REGISTER_PROBE, probe, 257));
	free(probe);
}

/* The array of the probe ends with the last opcode, directly before an unmapped page. */
TEST_F(reg, probe_at_an_edge)
{
	size_t size = sizeof(struct io_uring_probe) +
		      IORING_OP_LAST * sizeof(struct io_uring_probe_op);
	char *mem = iou_map_anon(2 * IOU_PAGE);

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, munmap(mem + IOU_PAGE, IOU_PAGE));
	EXPECT_EQ(0, iou_register(&self->r, IORING_REGISTER_PROBE, mem + IOU_PAGE - size, 256));
	memset(mem, 0, IOU_PAGE);
	EXPECT_EQ(-EFAULT, iou_register(&self->r, IORING_REGISTER_PROBE,
					mem + IOU_PAGE - size + 8, 256));
	munmap(mem, IOU_PAGE);
}

TEST_F(reg, ring_index)
{
	struct io_uring_rsrc_update slot = { .offset = ~0U, .data = self->r.fd };
	unsigned int by_index = IORING_REGISTER_USE_REGISTERED_RING;
	struct iou *r = &self->r;
	int fd = r->fd;

	/* register the ring in any slot, and in a given slot */
	ASSERT_EQ(1, iou_register(r, IORING_REGISTER_RING_FDS, &slot, 1));
	EXPECT_EQ(0, slot.offset);
	slot.offset = 15;
	ASSERT_EQ(1, iou_register(r, IORING_REGISTER_RING_FDS, &slot, 1));
	EXPECT_EQ(15, slot.offset);
	EXPECT_EQ(0, iou_sys_register(15, IORING_REGISTER_EVENTFD | by_index,
				      &self->efd, 1));
	EXPECT_EQ(0, iou_sys_register(0, IORING_UNREGISTER_EVENTFD | by_index, NULL, 0));
	r->fd = 15;
	r->by_index = true;
	iou_nop(r, 1);
	EXPECT_EQ(0, iou_one(r));
	slot.offset = 0;
	slot.data = 0;
	ASSERT_EQ(1, iou_register(r, IORING_UNREGISTER_RING_FDS, &slot, 1));
	EXPECT_EQ(-EBADF, iou_sys_enter(0, 0, 0, IORING_ENTER_REGISTERED_RING, NULL, 0));
	/* the registered index alone keeps the ring open */
	close(fd);
	iou_nop(r, 2);
	EXPECT_EQ(0, iou_one(r));
	slot.offset = 15;
	ASSERT_EQ(1, iou_register(r, IORING_UNREGISTER_RING_FDS, &slot, 1));
	EXPECT_EQ(-EBADF, iou_enter(r, 0, 0, 0));
}

static void *enter_by_index(void *arg)
{
	return (void *)(long)iou_sys_enter(0, 0, 0, IORING_ENTER_REGISTERED_RING, NULL,
					   0);
}

/* A table of ring indexes belongs to one thread, and fork() does not copy it. */
TEST_F(reg, ring_index_is_private)
{
	struct io_uring_rsrc_update slot = { .offset = 0, .data = self->r.fd };
	pthread_t thread;
	int status, pid;
	void *ret;

	ASSERT_EQ(1, iou_register(&self->r, IORING_REGISTER_RING_FDS, &slot, 1));
	EXPECT_EQ(0, (long)enter_by_index(NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, enter_by_index, NULL));
	pthread_join(thread, &ret);
	EXPECT_EQ(-EINVAL, (long)ret);
	pid = fork();
	if (!pid)
		_exit(enter_by_index(NULL) == (void *)-EINVAL ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/*
 * Make a file whose set-user-id bit shows which user has written: a write by a user
 * without rights clears the bit, a write by root does not.
 */
static int suid_file(void)
{
	int fd = iou_file(64, 1);

	if (fd >= 0 && fchmod(fd, 04777))
		return -EIO;
	return fd;
}

static bool has_suid(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_ISUID);
}

static int personality_of(struct iou *r, int uid)
{
	int id;

	if (seteuid(uid))
		return -errno;
	id = iou_register(r, IORING_REGISTER_PERSONALITY, NULL, 0);
	if (seteuid(0))
		return -errno;
	return id;
}

TEST_F(reg, personality)
{
	static const unsigned char flags[] = { 0, IOSQE_ASYNC };
	struct iou *r = &self->r;
	struct io_uring_sqe *sqe;
	int id, fd, i;

	if (getuid())
		SKIP(return, "needs to be root");
	id = personality_of(r, 4242);
	ASSERT_LT(0, id);
	for (i = 0; i < 2; i++) {
		fd = suid_file();
		ASSERT_LE(0, fd);
		sqe = iou_prep(r, IORING_OP_WRITE, fd, "x", 1, 0);
		sqe->flags = flags[i];
		EXPECT_EQ(1, iou_one(r));
		EXPECT_TRUE(has_suid(fd));
		sqe = iou_prep(r, IORING_OP_WRITE, fd, "x", 1, 0);
		sqe->flags = flags[i];
		sqe->personality = id;
		EXPECT_EQ(1, iou_one(r));
		EXPECT_FALSE(has_suid(fd));
		close(fd);
		/* a request without a personality still runs as root */
		fd = suid_file();
		sqe = iou_prep(r, IORING_OP_WRITE, fd, "x", 1, 0);
		sqe->flags = flags[i];
		EXPECT_EQ(1, iou_one(r));
		EXPECT_TRUE(has_suid(fd));
		close(fd);
	}
	/* an id that was unregistered is refused */
	ASSERT_EQ(0, iou_register(r, IORING_UNREGISTER_PERSONALITY, NULL, id));
	iou_nop(r, 1)->personality = id;
	EXPECT_EQ(-EINVAL, iou_one(r));
	EXPECT_EQ(-EINVAL, iou_register(r, IORING_UNREGISTER_PERSONALITY, NULL, id));
}

/*
 * Personality ids wrap around: each id works, and an id in use is not assigned again.
 * A slow kernel reaches the last id, and wraps around, only if IOU_SOAK is set.
 */
TEST(personality_ids_wrap)
{
	unsigned int i, rounds = iou_slow_kernel() && !getenv("IOU_SOAK") ? 1000 : 66500;
	struct iou r;
	int id, keep;

	ASSERT_EQ(0, iou_init(&r, 8, 0));
	keep = iou_register(&r, IORING_REGISTER_PERSONALITY, NULL, 0);
	ASSERT_LT(0, keep);
	for (i = 0; i < rounds; i++) {
		id = iou_register(&r, IORING_REGISTER_PERSONALITY, NULL, 0);
		ASSERT_LT(0, id);
		ASSERT_GE(0xffff, id);
		ASSERT_NE(keep, id);
		if (i % 1000 == 0 || i > 65500) {
			iou_nop(&r, 1)->personality = id;
			ASSERT_EQ(0, iou_one(&r));
		}
		ASSERT_EQ(0, iou_register(&r, IORING_UNREGISTER_PERSONALITY, NULL, id));
	}
	iou_nop(&r, 1)->personality = keep;
	EXPECT_EQ(0, iou_one(&r));
	iou_exit(&r);
}

TEST_F(reg, worker_limits)
{
	unsigned int limits[2] = { 0, 0 };
	struct iou *r = &self->r;
	unsigned int first[2];

	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2));
	memcpy(first, limits, sizeof(first));
	EXPECT_LT(0, first[0]);
	EXPECT_LT(0, first[1]);
	limits[0] = 3;
	limits[1] = 5;
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2));
	EXPECT_EQ(first[0], limits[0]);
	EXPECT_EQ(first[1], limits[1]);
	limits[0] = 0;
	limits[1] = 7;
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2));
	EXPECT_EQ(3, limits[0]);
	EXPECT_EQ(5, limits[1]);
	memset(limits, 0, sizeof(limits));
	ASSERT_EQ(0, iou_register(r, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2));
	EXPECT_EQ(3, limits[0]);
	EXPECT_EQ(7, limits[1]);
}

/* Return: the CPUs that worker @tid may run on, as a mask of the first 64 (or 32) CPUs. */
static unsigned long cpus_of(int tid)
{
	cpu_set_t set;

	if (sched_getaffinity(tid, sizeof(set), &set))
		return 0;
	return *(unsigned long *)&set;
}

static int find_worker(void)
{
	char path[320], name[32] = "";
	struct dirent *entry;
	int tid = 0;
	DIR *dir;
	FILE *f;

	dir = opendir("/proc/self/task");
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) && !strncmp(name, "iou-wrk", 7))
			tid = atoi(entry->d_name);
		fclose(f);
	}
	closedir(dir);
	return tid;
}

TEST(worker_affinity)
{
	unsigned long one = 1;
	char buf[8];
	int fd = memfd_create("aff", 0);
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 8, 0));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_IOWQ_AFF, &one, sizeof(one)));
	iou_prep(&r, IORING_OP_WRITE, fd, buf, 8, 0)->flags = IOSQE_ASYNC;
	ASSERT_EQ(8, iou_one(&r));
	ASSERT_LT(0, find_worker());
	EXPECT_EQ(1, cpus_of(find_worker()));
	ASSERT_EQ(0, iou_register(&r, IORING_UNREGISTER_IOWQ_AFF, NULL, 0));
	iou_prep(&r, IORING_OP_WRITE, fd, buf, 8, 0)->flags = IOSQE_ASYNC;
	ASSERT_EQ(8, iou_one(&r));
	iou_exit(&r);
	close(fd);
}

static void *enable_ring(void *arg)
{
	struct iou *r = arg;
	int ret = iou_register(r, IORING_REGISTER_ENABLE_RINGS, NULL, 0);

	if (ret)
		return (void *)(long)ret;
	iou_nop(r, 1);
	return (void *)(long)iou_one(r);
}

TEST(enable)
{
	static const unsigned int kinds[] = {
		0, IOU_DEFER, IORING_SETUP_SINGLE_ISSUER, IORING_SETUP_SQPOLL,
		IORING_SETUP_IOPOLL,
	};
	pthread_t thread;
	unsigned int i;
	struct iou r;
	void *ret;

	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		ASSERT_EQ(0, iou_init(&r, 8, kinds[i] | IORING_SETUP_R_DISABLED));
		iou_nop(&r, 1);
		iou_flush(&r);
		EXPECT_EQ(-EBADFD, iou_enter(&r, 1, 0, 0));
		iou_sleep_ms(20);
		EXPECT_EQ(0, iou_ready(&r));
		EXPECT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
		EXPECT_EQ(-EBADFD, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL,
						0));
		r.sent = 0;
		EXPECT_EQ(0, iou_one(&r));
		iou_exit(&r);
	}
	/* the task that enables the ring owns it */
	ASSERT_EQ(0, iou_init(&r, 8, IOU_DEFER | IORING_SETUP_R_DISABLED));
	ASSERT_EQ(0, pthread_create(&thread, NULL, enable_ring, &r));
	pthread_join(thread, &ret);
	EXPECT_EQ(0, (long)ret);
	iou_nop(&r, 1);
	EXPECT_EQ(-EEXIST, iou_submit(&r));
	EXPECT_EQ(-EEXIST, iou_register(&r, IORING_UNREGISTER_FILES, NULL, 0));
	iou_exit(&r);
}

static void *foreign_calls(void *arg)
{
	struct iou *r = arg;

	iou_nop(r, 1);
	iou_flush(r);
	if (iou_enter(r, 1, 0, 0) != -EEXIST)
		return (void *)1;
	if (iou_register(r, IORING_UNREGISTER_FILES, NULL, 0) != -EEXIST)
		return (void *)2;
	if (iou_enter(r, 0, 1, IORING_ENTER_GETEVENTS) !=
	    (r->flags & IORING_SETUP_DEFER_TASKRUN ? -EEXIST : 0))
		return (void *)3;
	return NULL;
}

TEST(single_issuer)
{
	static const unsigned int kinds[] = { IORING_SETUP_SINGLE_ISSUER, IOU_DEFER };
	pthread_t thread;
	unsigned int i;
	struct iou r;
	void *ret;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iou_init(&r, 8, kinds[i]));
		iou_nop(&r, 1);
		ASSERT_EQ(1, iou_submit(&r));
		ASSERT_EQ(0, pthread_create(&thread, NULL, foreign_calls, &r));
		pthread_join(thread, &ret);
		EXPECT_EQ(0, (long)ret);
		iou_exit(&r);
	}
}

TEST(restrictions)
{
	struct io_uring_restriction res[] = {
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_NOP },
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_WRITE },
		{ .opcode = IORING_RESTRICTION_REGISTER_OP,
		  .register_op = IORING_REGISTER_FILES },
		{ .opcode = IORING_RESTRICTION_REGISTER_OP,
		  .register_op = IORING_REGISTER_ENABLE_RINGS },
		{ .opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED,
		  .sqe_flags = IOSQE_ASYNC | IOSQE_FIXED_FILE },
		{ .opcode = IORING_RESTRICTION_SQE_FLAGS_REQUIRED,
		  .sqe_flags = IOSQE_FIXED_FILE },
	};
	static const struct {
		unsigned char op, flags;
		int ret;
	} rows[] = {
		{ IORING_OP_NOP, IOSQE_FIXED_FILE, 0 },
		{ IORING_OP_NOP, 0, -EACCES },
		{ IORING_OP_NOP, IOSQE_FIXED_FILE | IOSQE_ASYNC, 0 },
		{ IORING_OP_NOP, IOSQE_FIXED_FILE | IOSQE_CQE_SKIP_SUCCESS, -EACCES },
		{ IORING_OP_WRITE, IOSQE_FIXED_FILE, 1 },
		{ IORING_OP_WRITE, IOSQE_FIXED_FILE | IOSQE_ASYNC, 1 },
		{ IORING_OP_WRITE, 0, -EACCES },
		{ IORING_OP_READ, IOSQE_FIXED_FILE, -EACCES },
		{ IORING_OP_FSYNC, IOSQE_FIXED_FILE | IOSQE_ASYNC, -EACCES },
	};
	int fd = memfd_create("res", 0), fds[2] = { fd, -1 };
	struct io_uring_sqe *sqe;
	unsigned int i;
	struct iou r;

	ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_R_DISABLED));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_RESTRICTIONS, res,
				  ARRAY_LEN(res)));
	EXPECT_EQ(-EBUSY, iou_register(&r, IORING_REGISTER_RESTRICTIONS, res, 1));
	/* restrictions apply once the ring is enabled, not before */
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_FILES, fds, 2));
	ASSERT_EQ(0, iou_register(&r, IORING_UNREGISTER_FILES, NULL, 0));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_FILES, fds, 2));
	EXPECT_EQ(-EACCES, iou_register(&r, IORING_UNREGISTER_FILES, NULL, 0));
	EXPECT_EQ(-EACCES, iou_register(&r, IORING_REGISTER_PROBE, NULL, 0));
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		sqe = iou_prep(&r, rows[i].op, 0, rows[i].op ? "x" : NULL,
			       rows[i].op ? 1 : 0, 0);
		sqe->flags = rows[i].flags;
		EXPECT_EQ(rows[i].ret, iou_one(&r)) {
			TH_LOG("row %u", i);
		}
	}
	iou_exit(&r);
	close(fd);
}

/*
 * Restrictions of SQEs leave register opcodes free, and the reverse; none forbid everything.
 * Mutants: free-is-restricted, empty-restricts-nothing.  differences: restriction-kinds
 */
TEST(restrictions_of_one_kind)
{
	static const struct {
		unsigned char nr, opcode, sqe, probe;
	} rows[] = {
		{ 0, 0, false, false },
		{ 1, IORING_RESTRICTION_REGISTER_OP, true, false },
		{ 1, IORING_RESTRICTION_SQE_OP, true, true },
		{ 1, IORING_RESTRICTION_SQE_FLAGS_ALLOWED, false, true },
		{ 1, IORING_RESTRICTION_SQE_FLAGS_REQUIRED, false, true },
	};
	unsigned int i;
	struct iou r;

	if (iou_on_older_stock())
		return;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		char probe[sizeof(struct io_uring_probe)] = { };
		struct io_uring_restriction res = { .opcode = rows[i].opcode };

		ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_R_DISABLED));
		ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_RESTRICTIONS, &res, rows[i].nr));
		ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
		iou_nop(&r, 0);
		EXPECT_EQ(rows[i].sqe ? 0 : -EACCES, iou_one(&r)) {
			TH_LOG("row %u", i);
		}
		EXPECT_EQ(rows[i].probe ? 0 : -EACCES,
			  iou_register(&r, IORING_REGISTER_PROBE, probe, 0)) {
			TH_LOG("row %u", i);
		}
		iou_exit(&r);
	}
}

/*
 * A required flag has to be set, even if the operation ignores it.  SPLICE, TEE and
 * EPOLL_CTL still take their second file by descriptor.  Programs that restrict a ring
 * to registered files have to forbid such operations.
 */
TEST(required_flag_is_a_flag)
{
	struct io_uring_restriction res[] = {
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_SPLICE },
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_TEE },
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_EPOLL_CTL },
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_SOCKET },
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_OPENAT },
		{ .opcode = IORING_RESTRICTION_SQE_FLAGS_REQUIRED,
		  .sqe_flags = IOSQE_FIXED_FILE },
	};
	struct epoll_event ev = { .events = EPOLLIN };
	int in[2], out[2], ep = epoll_create1(0), i, fd;
	struct io_uring_sqe *sqe;
	struct iou r;

	ASSERT_EQ(0, pipe(in));
	ASSERT_EQ(0, pipe(out));
	ASSERT_EQ(2, write(in[1], "ab", 2));
	ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_R_DISABLED));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_FILES, &out[1], 1));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_RESTRICTIONS, res, ARRAY_LEN(res)));
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	for (i = 0; i < 4; i++) {
		sqe = iou_prep(&r, i / 2 ? IORING_OP_SPLICE : IORING_OP_TEE, 0, NULL, 1, 0);
		sqe->addr = i / 2 ? -1ULL : 0;
		sqe->off = sqe->addr;
		sqe->splice_fd_in = in[0];
		sqe->flags = i % 2 ? 0 : IOSQE_FIXED_FILE;
		EXPECT_EQ(i % 2 ? -EACCES : 1, iou_one(&r));
	}
	iou_prep(&r, IORING_OP_EPOLL_CTL, ep, &ev, EPOLL_CTL_ADD, in[0])->flags =
		IOSQE_FIXED_FILE;
	EXPECT_EQ(0, iou_one(&r));
	iou_prep(&r, IORING_OP_SOCKET, AF_UNIX, NULL, 0, SOCK_STREAM)->flags = IOSQE_FIXED_FILE;
	fd = iou_one(&r);
	EXPECT_LE(0, fd);
	close(fd);
	iou_prep(&r, IORING_OP_OPENAT, AT_FDCWD, "/", 0, 0)->flags = IOSQE_FIXED_FILE;
	EXPECT_EQ(-EBADF, iou_one(&r));
	iou_exit(&r);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
	close(ep);
}

/* An empty list of restrictions allows nothing. */
TEST(no_restrictions)
{
	struct io_uring_restriction none = {};
	struct iou r;
	int ret;

	ASSERT_EQ(0, iou_init(&r, 8, IORING_SETUP_R_DISABLED));
	ret = iou_register(&r, IORING_REGISTER_RESTRICTIONS, &none, 0);
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	iou_nop(&r, 1);
	EXPECT_EQ(ret ? 0 : -EACCES, iou_one(&r));
	iou_exit(&r);
}

/* Ask one question by descriptor @fd, with @size bytes of room for the answer. */
static int ask(int fd, struct io_uring_query_hdr *hdr, unsigned int op, void *data,
	       unsigned int size)
{
	*hdr = (struct io_uring_query_hdr){
		.query_op = op, .query_data = (uintptr_t)data, .size = size,
	};
	return iou_sys_register(fd, IORING_REGISTER_QUERY, hdr, 0);
}

/* Return: true if a ring with this flag can be set up, alone or with another flag. */
static bool setup_knows(unsigned int flag, int thread_of)
{
	static const unsigned int others[] = {
		0, IORING_SETUP_SQPOLL, IORING_SETUP_COOP_TASKRUN, IORING_SETUP_SINGLE_ISSUER,
		IORING_SETUP_NO_MMAP, IORING_SETUP_NO_SQARRAY, IORING_SETUP_IOPOLL,
	};
	struct iou r;
	unsigned int i;
	int ret = -1;

	for (i = 0; ret && i < ARRAY_LEN(others); i++) {
		struct io_uring_params p = {
			.flags = flag | others[i], .cq_entries = 8, .wq_fd = thread_of,
		};

		ret = iou_init_params(&r, 2, &p);
		if (!ret)
			iou_exit(&r);
	}
	return !ret;
}

/* The answer to IO_URING_QUERY_OPCODES is how the calls behave.  Mutant: query-needs-ring. */
TEST(query)
{
	struct io_uring_probe *probe = calloc(1, sizeof(*probe) + 256 * sizeof(probe->ops[0]));
	struct io_uring_query_opcode o, by_ring;
	struct io_uring_query_scq scq;
	struct io_uring_query_hdr hdr;
	struct iou r, thread;
	unsigned int bit;
	int i, ret;

	/* differences: none, 6.12 has no such call */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_REGISTER_QUERY");
	memset(&o, 0xff, sizeof(o));
	ASSERT_EQ(0, ask(-1, &hdr, IO_URING_QUERY_OPCODES, &o, sizeof(o)));
	EXPECT_EQ(0, hdr.result);
	EXPECT_EQ(sizeof(o), hdr.size);
	EXPECT_EQ(0, o.__pad);
	ASSERT_EQ(0, iou_init(&r, 4, 0));
	ASSERT_EQ(0, iou_init(&thread, 4, IORING_SETUP_SQPOLL));
	ASSERT_EQ(0, ask(r.fd, &hdr, IO_URING_QUERY_OPCODES, &by_ring, sizeof(by_ring)));
	EXPECT_EQ(0, memcmp(&o, &by_ring, sizeof(o)));

	EXPECT_EQ(r.p.features, o.feature_flags);
	for (bit = 0; bit < 32; bit++) {
		EXPECT_EQ(o.ring_setup_flags >> bit & 1, setup_knows(1U << bit, thread.fd)) {
			TH_LOG("setup flag %#x", 1U << bit);
		}
		/* the calling task has no registered ring */
		ret = iou_sys_enter(1U << bit == IORING_ENTER_REGISTERED_RING ? 0 : r.fd, 0, 0,
				    1U << bit, NULL, 0);
		EXPECT_EQ(o.enter_flags >> bit & 1, ret != -EINVAL) {
			TH_LOG("enter flag %#x: %d", 1U << bit, ret);
		}
	}
	for (bit = 0; bit < 8; bit++) {
		/* this flag suppresses the CQE */
		if (1U << bit == IOSQE_CQE_SKIP_SUCCESS)
			continue;
		iou_nop(&r, 1)->flags = 1U << bit;
		EXPECT_EQ(o.sqe_flags >> bit & 1, iou_one(&r) != -EINVAL);
	}
	EXPECT_EQ(0, (o.ring_setup_flags | o.enter_flags | o.sqe_flags) >> 32);
	ASSERT_EQ(0, iou_register(&r, IORING_REGISTER_PROBE, probe, 256));
	EXPECT_EQ(probe->last_op + 1, o.nr_request_opcodes);
	EXPECT_LT(IORING_REGISTER_QUERY, o.nr_register_opcodes);
	EXPECT_EQ(-EINVAL, iou_sys_register(-1, o.nr_register_opcodes, NULL, 0));
	for (i = -1; i < 2; i++) {
		ASSERT_EQ(0, ask(-1, &hdr, o.nr_query_opcodes + i, &by_ring, 16));
		EXPECT_EQ(i < 0 ? 0 : -EOPNOTSUPP, hdr.result);
	}
	ASSERT_EQ(0, ask(-1, &hdr, IO_URING_QUERY_SCQ, &scq, sizeof(scq)));
	EXPECT_EQ(0, hdr.result);
	EXPECT_EQ(sizeof(scq), hdr.size);
	EXPECT_EQ(r.p.cq_off.cqes, scq.hdr_size);
	EXPECT_LE(sizeof(__u64), scq.hdr_alignment);
	EXPECT_EQ(0, scq.hdr_size % scq.hdr_alignment);
	iou_exit(&thread);
	iou_exit(&r);
	free(probe);
}

/* A question with other room than the answer's.  Mutants: query-leaves-rest, query-any-size. */
TEST(query_sizes)
{
	const unsigned int whole = sizeof(struct io_uring_query_opcode);
	static const unsigned int sizes[] = { 1, 3, 10, 47, 48, 49, 200, 4095, 4096 };
	struct io_uring_query_opcode o;
	struct io_uring_query_hdr hdr;
	static unsigned char mem[8192];
	unsigned int i, size;

	/* differences: none, 6.12 has no such call */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_REGISTER_QUERY");
	ASSERT_EQ(0, ask(-1, &hdr, IO_URING_QUERY_OPCODES, &o, whole));
	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		size = sizes[i] < whole ? sizes[i] : whole;
		memset(mem, 0xaa, sizeof(mem));
		ASSERT_EQ(0, ask(-1, &hdr, IO_URING_QUERY_OPCODES, mem, sizes[i]));
		EXPECT_EQ(0, hdr.result);
		EXPECT_EQ(size, hdr.size);
		EXPECT_EQ(0, memcmp(mem, &o, size));
		for (; size < sizes[i]; size++)
			ASSERT_EQ(0, mem[size]);
		EXPECT_EQ(0xaa, mem[size]);
	}
	/* an unknown question has no answer, but its room is filled, too */
	memset(mem, 0xaa, sizeof(mem));
	ASSERT_EQ(0, ask(-1, &hdr, 99, mem, 10));
	EXPECT_EQ(-EOPNOTSUPP, hdr.result);
	EXPECT_EQ(0, hdr.size);
	EXPECT_EQ(0, mem[9]);
	EXPECT_EQ(0xaa, mem[10]);
	ASSERT_EQ(0, ask(-1, &hdr, 99, NULL, 0));
	EXPECT_EQ(-EOPNOTSUPP, hdr.result);
	/* no room, and more room than a page has */
	ASSERT_EQ(0, ask(-1, &hdr, IO_URING_QUERY_OPCODES, NULL, 0));
	EXPECT_EQ(-EINVAL, hdr.result);
	EXPECT_EQ(-E2BIG, ask(-1, &hdr, IO_URING_QUERY_OPCODES, mem, IOU_PAGE + 1));
	EXPECT_EQ(-E2BIG, ask(-1, &hdr, 99, mem, IOU_PAGE + 1));
	EXPECT_EQ(-E2BIG, ask(-1, &hdr, 99, mem, -1U));
	EXPECT_EQ(0, hdr.result);
	EXPECT_EQ(-1U, hdr.size);
}

/* Return: the result in a header of which one 32-bit word is 1, or the error of the call. */
static int query_with_word(unsigned int word)
{
	struct io_uring_query_opcode o;
	struct io_uring_query_hdr hdr = { .query_data = (uintptr_t)&o, .size = sizeof(o) };
	int ret;

	((__u32 *)&hdr)[word] = 1;
	ret = iou_sys_register(-1, IORING_REGISTER_QUERY, &hdr, 0);
	return ret ?: hdr.result ? hdr.result : (int)hdr.size;
}

/* Mutant: query-ignores-reserved. */
TEST(query_refused)
{
	const struct io_uring_restriction res = {
		.opcode = IORING_RESTRICTION_REGISTER_OP,
		.register_op = IORING_REGISTER_ENABLE_RINGS,
	};
	struct io_uring_query_opcode o;
	struct io_uring_query_hdr hdr = { };
	void *read_only = iou_map_anon(IOU_PAGE);
	unsigned int word;
	int status;
	struct iou r;

	/* differences: none, 6.12 has no such call */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_REGISTER_QUERY");
	/* the result and the three reserved words */
	for (word = 6; word < 10; word++)
		EXPECT_EQ(-EINVAL, query_with_word(word));
	EXPECT_EQ(1, query_with_word(5));
	EXPECT_EQ(-EINVAL, iou_sys_register(-1, IORING_REGISTER_QUERY, &hdr, 1));
	EXPECT_EQ(-EFAULT, iou_sys_register(-1, IORING_REGISTER_QUERY, (void *)8, 0));
	EXPECT_EQ(0, iou_sys_register(-1, IORING_REGISTER_QUERY, NULL, 0));
	EXPECT_EQ(-EFAULT, ask(-1, &hdr, IO_URING_QUERY_OPCODES, NULL, sizeof(o)));
	EXPECT_EQ(-EFAULT, ask(-1, &hdr, 99, NULL, sizeof(o)));
	EXPECT_EQ(-EBADF, ask(-2, &hdr, IO_URING_QUERY_OPCODES, &o, sizeof(o)));
	ASSERT_EQ(0, mprotect(read_only, IOU_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, ask(-1, &hdr, IO_URING_QUERY_OPCODES, read_only, sizeof(o)));

	ASSERT_EQ(0, iou_init(&r, 4, IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER));
	EXPECT_EQ(0, iou_register(&r, IORING_REGISTER_RESTRICTIONS, (void *)&res, 1));
	EXPECT_EQ(0, ask(r.fd, &hdr, IO_URING_QUERY_OPCODES, &o, sizeof(o)));
	EXPECT_EQ(0, iou_register(&r, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
	EXPECT_EQ(-EACCES, ask(r.fd, &hdr, IO_URING_QUERY_OPCODES, &o, sizeof(o)));
	EXPECT_EQ(0, ask(-1, &hdr, IO_URING_QUERY_OPCODES, &o, sizeof(o)));
	if (!fork())
		_exit(-ask(r.fd, &hdr, IO_URING_QUERY_OPCODES, &o, sizeof(o)));
	ASSERT_LT(0, wait(&status));
	EXPECT_EQ(EEXIST, WEXITSTATUS(status));
	iou_exit(&r);
}

/* A list of questions ends, even if it is a loop.  Mutant: query-list-is-shorter. */
TEST(query_list)
{
	static struct io_uring_query_hdr list[1100];
	struct io_uring_query_scq scq = { };
	unsigned int i;

	/* differences: none, 6.12 has no such call */
	if (iou_on_older_stock())
		SKIP(return, "no IORING_REGISTER_QUERY");
	for (i = 0; i < ARRAY_LEN(list); i++) {
		list[i].query_op = i % 2 ? IO_URING_QUERY_SCQ : 99;
		list[i].query_data = (uintptr_t)&scq;
		list[i].size = sizeof(scq);
	}
	for (i = 0; i < 998; i++)
		list[i].next_entry = (uintptr_t)&list[i + 1];
	EXPECT_EQ(0, iou_sys_register(-1, IORING_REGISTER_QUERY, list, 0));
	for (i = 0; i < ARRAY_LEN(list); i++) {
		bool asked = i < 999, known = i % 2;

		EXPECT_EQ(asked && !known ? -EOPNOTSUPP : 0, list[i].result);
		EXPECT_EQ(asked && !known ? 0 : sizeof(scq), list[i].size);
		list[i].size = sizeof(scq);
		list[i].result = 0;
		list[i].next_entry = (uintptr_t)&list[i + 1];
	}
	/* the thousandth question is answered, and is the last one */
	EXPECT_EQ(-ERANGE, iou_sys_register(-1, IORING_REGISTER_QUERY, list, 0));
	EXPECT_EQ(-EOPNOTSUPP, list[998].result);
	EXPECT_EQ(0, list[1000].result);
	list[0] = list[1];
	list[0].next_entry = (uintptr_t)list;
	EXPECT_EQ(-ERANGE, iou_sys_register(-1, IORING_REGISTER_QUERY, list, 0));
	EXPECT_EQ(0, list[0].result);
	list[0].next_entry = 8;
	EXPECT_EQ(-EFAULT, iou_sys_register(-1, IORING_REGISTER_QUERY, list, 0));
}

TEST_HARNESS_MAIN
