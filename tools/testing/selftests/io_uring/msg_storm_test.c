// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: MSG_RING - storms of messages, and rings that end during them */
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include "fault.h"
#include "msg.h"

/* A ring that has its own work, and gets messages. */
FIXTURE(busy) {
	struct iou from;
	struct iou to;
	int pipe[2];
};

FIXTURE_VARIANT(busy) {
	unsigned int flags;
};

IOU_KINDS_OF_TASK(busy);
IOU_KIND(busy, defer_cqe32, IOU_DEFER | IORING_SETUP_CQE32);

FIXTURE_SETUP(busy)
{
	ASSERT_EQ(0, iou_init(&self->from, 64, IOU_DEFER));
	ASSERT_EQ(0, iou_init_cq(&self->to, 4, 8, variant->flags));
	ASSERT_EQ(0, pipe2(self->pipe, O_NONBLOCK));
}

FIXTURE_TEARDOWN(busy)
{
	iou_exit(&self->from);
	iou_exit(&self->to);
	close(self->pipe[0]);
	close(self->pipe[1]);
}

#define POLL_DATA	1000
#define TIMER_DATA	1001
#define MESSAGE_DATA	1

/* Take at least @nr CQEs, and all that are posted.  Count messages and ended requests. */
static int take(struct iou *r, unsigned int nr, unsigned int *messages, unsigned int *ended)
{
	struct io_uring_cqe cqe;
	int ret;

	while (nr || iou_ready(r)) {
		ret = iou_reap(r, &cqe);
		if (ret)
			return ret;
		if (cqe.user_data == MESSAGE_DATA)
			++*messages;
		else if (!(cqe.flags & IORING_CQE_F_MORE))
			++*ended;
		nr -= !!nr;
	}
	return 0;
}

/*
 * A message in flight does not end a multishot request.  A full CQ would end it, but
 * the CQ is never full here, although its positions wrap around.
 *
 * Mutant: message-ends-multishot.
 */
TEST_F(busy, multishot_goes_on)
{
	unsigned int i, k, nr, messages = 0, ended = 0, sent = 0, rounds = iou_rounds(500);
	struct iou *r = &self->to;
	struct io_uring_sqe *sqe;
	char c;

	sqe = iou_prep(r, IORING_OP_POLL_ADD, self->pipe[0], NULL, IORING_POLL_ADD_MULTI, 0);
	sqe->poll32_events = poll_word(POLLIN);
	sqe->user_data = POLL_DATA;
	ASSERT_LE(0, iou_submit(r));
	for (i = 0; i < rounds; i++) {
		nr = 1 + i % 5;
		for (k = 0; k < nr; k++)
			prep_msg(&self->from, r->fd, MESSAGE_DATA, k);
		if (i & 1)
			ASSERT_EQ(1, write(self->pipe[1], "x", 1));
		ASSERT_EQ(nr, iou_submit(&self->from));
		if (!(i & 1))
			ASSERT_EQ(1, write(self->pipe[1], "x", 1));
		ASSERT_EQ(0, iou_discard(&self->from, nr));
		sent += nr;
		ASSERT_EQ(0, take(r, nr + 1, &messages, &ended));
		ASSERT_EQ(0, ended);
		ASSERT_EQ(1, read(self->pipe[0], &c, 1));
	}
	EXPECT_EQ(sent, messages);
}

/* Messages do not end a repeating timeout.  Mutant: message-ends-multishot. */
TEST_F(busy, timer_goes_on)
{
	struct __kernel_timespec ts = { .tv_nsec = 2000000 };
	unsigned int i, messages = 0, ended = 0, rounds = iou_rounds(1000);
	struct iou *r = &self->to, timed;

	ASSERT_EQ(0, iou_init_cq(&timed, 8, 256, r->flags));
	iou_prep(&timed, IORING_OP_TIMEOUT, -1, &ts, 1, 0)->timeout_flags =
		IORING_TIMEOUT_MULTISHOT;
	ASSERT_LE(0, iou_submit(&timed));
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, send_data(&self->from, timed.fd, MESSAGE_DATA, 0));
		ASSERT_EQ(0, take(&timed, 1, &messages, &ended));
		ASSERT_EQ(0, ended);
	}
	while (messages < rounds)
		ASSERT_EQ(0, take(&timed, 1, &messages, &ended));
	EXPECT_EQ(0, ended);
	EXPECT_EQ(rounds, messages);
	iou_exit(&timed);
}

/*
 * Send more messages than the 512 for which a ring keeps memory.  Take some of the messages while
 * more arrive.  Mutant: message-store-is-all.
 */
TEST_F(busy, more_than_the_store)
{
	unsigned int batch = 64, sent = 0, messages = 0, ended = 0, i;
	struct iou to;

	ASSERT_EQ(0, iou_init_cq(&to, 8, 8192, self->to.flags));
	while (sent < 4096) {
		for (i = 0; i < batch; i++)
			prep_msg(&self->from, to.fd, MESSAGE_DATA, sent + i);
		ASSERT_EQ(batch, iou_submit(&self->from));
		ASSERT_EQ(0, iou_discard(&self->from, batch));
		sent += batch;
		/* take no message until half of all messages are sent */
		if (sent > 2048)
			ASSERT_EQ(0, take(&to, batch / 2, &messages, &ended));
	}
	ASSERT_EQ(0, take(&to, sent - messages, &messages, &ended));
	EXPECT_EQ(sent, messages);
	EXPECT_EQ(0, *to.cq_lost);
	iou_exit(&to);
}

/* A task that submits and sleeps in a page fault, while it holds the ring lock. */
struct stuck {
	pthread_t thread;
	pthread_barrier_t ready, end;
	struct hole hole;
	struct iou r;
	int ret;
};

static void *stuck_main(void *data)
{
	struct stuck *s = data;

	s->ret = iou_init(&s->r, 8, 0);
	if (!s->ret)
		s->ret = register_slots(&s->r, -1);
	pthread_barrier_wait(&s->ready);
	/* reading the vector faults, and the bad descriptor is checked only after the fault */
	iou_prep(&s->r, IORING_OP_READV, -1, s->hole.mem, 1, 0)->user_data = 7;
	iou_submit(&s->r);
	pthread_barrier_wait(&s->end);
	return NULL;
}

static int take_one(struct iou *r)
{
	int ret = iou_ready(r) ? (int)iou_cqe_at(r, 0)->user_data : -ENOENT;

	iou_seen(r, ret >= 0);
	return ret;
}

/*
 * A sender does not wait for the ring lock of the target.  If it passes a file, a worker waits.
 * Mutant: message-waits-for-lock.
 */
TEST(target_is_locked)
{
	struct io_uring_cqe cqe;
	struct stuck s = {};
	struct iou from;

	if (hole_open(&s.hole, 1))
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(0, iou_init(&from, 8, IOU_DEFER));
	ASSERT_EQ(0, register_slots(&from, 0));
	pthread_barrier_init(&s.ready, NULL, 2);
	pthread_barrier_init(&s.end, NULL, 2);
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, stuck_main, &s));
	pthread_barrier_wait(&s.ready);
	ASSERT_EQ(0, s.ret);
	ASSERT_EQ(1, hole_faults(&s.hole, 1));

	EXPECT_EQ(0, send_data(&from, s.r.fd, 5, 0));
	EXPECT_EQ(5, take_one(&s.r));
	prep_file(&from, s.r.fd, 0, 1, 6);
	ASSERT_EQ(1, iou_submit(&from));
	EXPECT_EQ(-ETIME, iou_wait_ms(&from, 1, 50));
	/* the sender's own ring works while the worker waits */
	EXPECT_EQ(0, send_data(&from, s.r.fd, 8, 0));
	EXPECT_EQ(8, take_one(&s.r));
	hole_give(&s.hole, 0, 1);
	ASSERT_EQ(0, iou_reap(&from, &cqe));
	EXPECT_EQ(0, cqe.res);
	pthread_barrier_wait(&s.end);
	pthread_join(s.thread, NULL);
	iou_exit(&from);
	iou_exit(&s.r);
	close(s.hole.uffd);
}

/*
 * A sender can be killed while another task holds the ring lock of the target.
 * Mutant: message-lock-not-killable.  differences: msg-lock-killable
 */
TEST(sender_killed_at_locked_target)
{
	struct stuck s = {};
	int status;
	pid_t pid;

	if (hole_open(&s.hole, 1))
		SKIP(return, "needs userfaultfd");
	pthread_barrier_init(&s.ready, NULL, 2);
	pthread_barrier_init(&s.end, NULL, 2);
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, stuck_main, &s));
	pthread_barrier_wait(&s.ready);
	ASSERT_EQ(1, hole_faults(&s.hole, 1));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct iou from;

		if (iou_init(&from, 8, 0) || register_slots(&from, 0))
			_exit(1);
		prep_file(&from, s.r.fd, 0, 1, 6);
		iou_submit(&from);
		iou_sleep_ms(20);
		raise(SIGKILL);
	}
	if (iou_on_stock())
		hole_give(&s.hole, 0, 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	hole_give(&s.hole, 0, 1);
	pthread_barrier_wait(&s.end);
	pthread_join(s.thread, NULL);
	iou_exit(&s.r);
	close(s.hole.uffd);
}

/* One of two rings that send messages to each other, and files if ->files is set. */
struct peer {
	pthread_t thread;
	struct iou r;
	struct peer *other;
	pthread_barrier_t *start;
	unsigned int nr;
	bool files;
	int ret;
};

static int peer_run(struct peer *p)
{
	unsigned int sent = 0, done = 0, got = 0;
	struct io_uring_cqe cqe;
	int ret;

	while (done < p->nr || got < p->nr) {
		if (sent < p->nr && sent - done < 4) {
			struct io_uring_sqe *sqe;

			if (p->files && sent & 1)
				sqe = prep_file(&p->r, p->other->r.fd, 0, 2 + sent % 4, 2);
			else
				sqe = prep_msg(&p->r, p->other->r.fd, 2, 0);
			sqe->user_data = 1;
			ret = iou_submit(&p->r);
			if (ret != 1)
				return ret < 0 ? ret : -EIO;
			sent++;
		}
		ret = iou_wait_ms(&p->r, 1, sent < p->nr ? 0 : IOU_PATIENCE);
		if (ret == -ETIME && sent < p->nr)
			continue;
		if (ret < 0 && ret != -EINTR)
			return ret;
		while (iou_ready(&p->r)) {
			iou_reap(&p->r, &cqe);
			if (cqe.res < 0)
				return cqe.res;
			done += cqe.user_data == 1;
			got += cqe.user_data == 2;
		}
	}
	return 0;
}

static void *peer_main(void *data)
{
	struct peer *p = data;

	p->ret = iou_init(&p->r, 16, IOU_DEFER);
	if (!p->ret && p->files)
		p->ret = register_slots(&p->r, 0);
	pthread_barrier_wait(p->start);
	if (!p->ret && !p->other->ret)
		p->ret = peer_run(p);
	/* no task sends to a ring that is gone */
	pthread_barrier_wait(p->start);
	iou_exit(&p->r);
	return NULL;
}

static int circle(unsigned int nr, bool files)
{
	pthread_barrier_t start;
	struct peer p[2] = {};
	int i, ret = 0;

	pthread_barrier_init(&start, NULL, 2);
	for (i = 0; i < 2; i++) {
		p[i].other = &p[!i];
		p[i].start = &start;
		p[i].nr = nr;
		p[i].files = files;
		pthread_create(&p[i].thread, NULL, peer_main, &p[i]);
	}
	for (i = 0; i < 2; i++) {
		pthread_join(p[i].thread, NULL);
		ret = ret ? ret : p[i].ret;
	}
	return ret;
}

/* Two rings send messages to each other at the same time.  Mutant: message-takes-lock. */
TEST(circle_of_messages)
{
	EXPECT_EQ(0, circle(iou_rounds(4000), false));
}

/* Two rings pass files to each other at the same time.  Mutant: message-waits-for-lock. */
TEST(circle_of_files)
{
	EXPECT_EQ(0, circle(iou_rounds(1000), true));
}

/*
 * A thread that sends to rings while these are created and closed.  The thread stores an
 * unexpected error in ->bad.
 */
struct churn {
	pthread_t thread;
	struct iou r;
	int fd;
	bool stop;
	int bad;
	unsigned int sent;
};

static void *churn_main(void *data)
{
	struct churn *c = data;

	while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE)) {
		int ret = send_data(&c->r, __atomic_load_n(&c->fd, __ATOMIC_ACQUIRE), 1, 1);

		/* for a moment the descriptor may be free, or not a ring */
		if (!ret)
			c->sent++;
		else if (ret != -EBADF && ret != -EBADFD)
			c->bad = ret;
	}
	return NULL;
}

static void *owner_dies(void *data)
{
	struct iou *r = data;

	return (void *)(long)iou_init(r, 8, IOU_DEFER);
}

/* A sender keeps its target until the message is posted.  Mutant: message-target-not-held. */
TEST(targets_come_and_go)
{
	static const unsigned int kinds[] = { 0, IOU_DEFER, IOU_COOP, IORING_SETUP_SQPOLL };
	unsigned int i, rounds = iou_rounds(200);
	struct churn c = { .fd = -1 };
	struct iou r;

	/* create the sender's ring first, so that its descriptor is never a target's */
	ASSERT_EQ(0, iou_init(&c.r, 8, 0));
	ASSERT_EQ(0, pthread_create(&c.thread, NULL, churn_main, &c));
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, iou_init(&r, 4, kinds[i % ARRAY_LEN(kinds)]));
		__atomic_store_n(&c.fd, r.fd, __ATOMIC_RELEASE);
		if (i & 1)
			ASSERT_EQ(0, iou_wait(&r, 1));
		iou_exit(&r);
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_RELEASE);
	pthread_join(c.thread, NULL);
	iou_exit(&c.r);
	EXPECT_EQ(0, c.bad);
	/* each wait has received at least one message */
	EXPECT_LE(rounds / 2, c.sent);
}

/* The target's owner has exited, and the target is still open.  Mutant: message-to-the-dead. */
TEST(owner_is_gone)
{
	struct iou from, to;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, iou_init(&from, 8, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, owner_dies, &to));
	pthread_join(thread, &ret);
	ASSERT_EQ(NULL, ret);
	/* a join may return before the thread's exit has ended */
	iou_sleep_ms(100);
	EXPECT_EQ(0, send_data(&from, to.fd, 1, 1));
	ASSERT_EQ(0, register_slots(&from, 0));
	prep_file(&from, to.fd, 0, 1, 1);
	EXPECT_EQ(-EOWNERDEAD, iou_one(&from));
	iou_exit(&to);
	iou_exit(&from);
}

/* Kill two threads that send to each other.  Mutant: message-takes-lock. */
TEST(killed)
{
	unsigned int i, rounds = iou_rounds(20);

	for (i = 0; i < rounds; i++) {
		pid_t pid = fork();
		int status;

		ASSERT_LE(0, pid);
		if (!pid) {
			circle(1 << 30, i & 1);
			_exit(0);
		}
		usleep(1000 + i * 997 % 20000);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

/*
 * Messages in a mailbox are charged to their sender, which gets -ENOMEM at its memory limit.
 * Mutants: message-flood-kills, message-uncharged.  differences: msg-flood
 */
TEST(flood_of_a_sleeper)
{
	static const char group[] = "/sys/fs/cgroup/iou_msg_test";
	char path[128], self[32];
	int status, made;
	pid_t pid;

	iou_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	made = mkdir(group, 0755);
	if (made && errno != EEXIST)
		SKIP(return, "no cgroup v2 hierarchy that can be written");
	snprintf(path, sizeof(path), "%s/memory.max", group);
	/* a slow kernel takes half a minute to send 16 MiB */
	if (iou_put(path, iou_slow_kernel() ? "4194304" : "16777216")) {
		rmdir(group);
		SKIP(return, "no memory controller");
	}
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct iou from, to;
		unsigned long i;
		int ret = 0;

		snprintf(path, sizeof(path), "%s/cgroup.procs", group);
		snprintf(self, sizeof(self), "%d", getpid());
		if (iou_put(path, self) || iou_init(&from, 8, 0) || iou_init(&to, 8, IOU_DEFER))
			_exit(1);
		for (i = 0; i < 2000000 && !ret; i++)
			ret = send_data(&from, to.fd, i, 0);
		_exit(ret == -ENOMEM ? 0 : 2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	/* on 6.12 the OOM killer of the cgroup kills the process */
	if (iou_on_stock()) {
		EXPECT_TRUE(WIFSIGNALED(status));
	} else {
		EXPECT_EQ(0, status);
	}
	rmdir(group);
}

TEST_HARNESS_MAIN
