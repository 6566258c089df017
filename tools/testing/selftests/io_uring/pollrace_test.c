// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: polls whose events race with changes, ends and each other */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "poll.h"

/* A thread that writes to a pipe or an eventfd all the time. */
struct storm {
	int fd;
	unsigned int gap_us;
	bool stop;
	bool pause;
	bool paused;
	pthread_t thread;
};

static void *storm_main(void *arg)
{
	struct storm *storm = arg;
	__u64 one = 1;

	while (!load_acq(&storm->stop)) {
		if (load_acq(&storm->pause)) {
			store_rel(&storm->paused, true);
			sched_yield();
			continue;
		}
		if (write(storm->fd, &one, 8) < 0 && errno != EAGAIN)
			break;
		if (storm->gap_us)
			usleep(storm->gap_us);
	}
	return NULL;
}

static int storm_start(struct storm *storm, int fd, unsigned int gap_us)
{
	*storm = (struct storm){ .fd = fd, .gap_us = gap_us };
	return pthread_create(&storm->thread, NULL, storm_main, storm);
}

/* Pause or resume a storm: a poll that fires all the time may never be removed (-EALREADY). */
static void storm_pause(struct storm *storm, struct iou *r, bool pause)
{
	storm->paused = false;
	store_rel(&storm->pause, pause);
	if (!pause)
		return;
	while (!load_acq(&storm->paused))
		sched_yield();
	settle(r);
}

static void storm_end(struct storm *storm)
{
	store_rel(&storm->stop, true);
	pthread_join(storm->thread, NULL);
}

/* Two events, @gap turns of a loop apart; a new pair each time @go is set. */
struct two_events {
	int fd;
	unsigned int gap;
	bool go;
	bool stop;
};

static void *two_events_main(void *arg)
{
	struct two_events *two = arg;

	while (!load_acq(&two->stop)) {
		volatile unsigned int turns;

		if (!load_acq(&two->go))
			continue;
		turns = two->gap;
		if (write(two->fd, "x", 1) != 1)
			break;
		while (turns)
			turns--;
		shutdown(two->fd, SHUT_WR);
		store_rel(&two->go, false);
	}
	return NULL;
}

/*
 * The second event comes at any moment while the first event's task work runs.  It may come
 * between the check for events and the release of the poll, and is reported nevertheless.
 * Mutants: poll-not-settled, release-wakes-no-poll.
 */
TEST_F(poll, event_at_the_release)
{
	unsigned long rounds = iou_rounds(3000);
	unsigned long long end = iou_race_end();
	struct two_events two = {};
	struct iou *r = &self->r;
	struct got got = {};
	pthread_t thread;
	unsigned long i;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "wants two CPUs");
	ASSERT_EQ(0, pthread_create(&thread, NULL, two_events_main, &two));
	for (i = 0; iou_race_goes_on(i, rounds, end); i++) {
		int s[2];

		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
		prep_poll(r, s[0], POLLIN | POLLRDHUP, MULTI, 1);
		ASSERT_LE(0, submit(r));
		two.fd = s[1];
		two.gap = i % 300;
		store_rel(&two.go, true);
		do {
			ASSERT_EQ(0, take_of(r, 1, &got)) {
				TH_LOG("round %lu", i);
			}
		} while (!(got.res & POLLRDHUP));
		while (load_acq(&two.go))
			sched_yield();
		/* the poll's task work may be queued again; settle() lets it run */
		for (;;) {
			prep_remove(r, 1);
			ASSERT_LE(0, submit(r));
			ASSERT_EQ(0, take_of(r, ACT, &got));
			if (got.res != -EALREADY)
				break;
			settle(r);
		}
		do {
			ASSERT_EQ(0, take_of(r, 1, &got));
		} while (got.flags & MORE);
		close(s[0]);
		close(s[1]);
	}
	store_rel(&two.stop, true);
	pthread_join(thread, NULL);
}

/*
 * Change and remove polls while they fire.  Whatever the requests return, a removed
 * poll posts one final CQE, and no CQE after it.
 */
TEST_F(poll, changed_while_firing)
{
	unsigned long long end = iou_race_end();
	unsigned long i, rounds = iou_rounds(2000);
	struct iou *r = &self->r;
	struct storm storm;
	int fd = eventfd(0, EFD_NONBLOCK);

	ASSERT_EQ(0, storm_start(&storm, fd, 0));
	for (i = 0; iou_race_goes_on(i, rounds, end); i++) {
		unsigned int answers = 0, ends = 0;
		struct io_uring_cqe cqe;
		int removed = -EALREADY;
		eventfd_t value;

		prep_poll(r, fd, POLLIN, i % 3 ? MULTI : 0, 1);
		prep_update(r, 1, EVENTS | USER_DATA, POLLIN | POLLERR, 2);
		prep_update(r, 2, USER_DATA, 0, 1);
		ASSERT_LE(0, iou_submit(r));
		eventfd_read(fd, &value);
		prep_remove(r, 1)->user_data = ACT + 1;
		prep_remove(r, 2)->user_data = ACT + 2;
		ASSERT_LE(0, iou_submit(r));
		while (answers < 4 || !ends) {
			ASSERT_EQ(0, iou_reap(r, &cqe));
			if (cqe.user_data >= ACT) {
				answers++;
				if (cqe.res != -EALREADY && cqe.res != -ENOENT)
					ASSERT_EQ(0, cqe.res);
				if (cqe.user_data > ACT && !cqe.res)
					removed = 0;
				/* no removal found the poll: a multishot poll may still wait */
				if (answers == 4 && removed && !ends) {
					storm_pause(&storm, r, true);
					prep_remove(r, 1)->user_data = ACT + 1;
					prep_remove(r, 2)->user_data = ACT + 2;
					answers = 2;
					ASSERT_LE(0, iou_submit(r));
				}
				continue;
			}
			ASSERT_EQ(0, ends);
			if (cqe.flags & MORE) {
				ASSERT_LT(0, cqe.res);
				continue;
			}
			if (cqe.res != -ECANCELED)
				ASSERT_LT(0, cqe.res);
			ends++;
		}
		storm_pause(&storm, r, false);
	}
	storm_end(&storm);
	EXPECT_TRUE(has_quiet_ring(r, 20));
	close(fd);
}

/*
 * Many tasks wake a poll at the same time, and no event is lost at the end.  Writers on
 * another CPU can keep the ring's task in the kernel until the CQ is full.  Only a full
 * CQ may end the poll.
 */
TEST_F(poll, wakes_side_by_side)
{
	struct iou *r = &self->r;
	struct storm storm[8];
	struct got got = {};
	unsigned long i, rounds = iou_rounds(200);
	int fd = eventfd(0, EFD_NONBLOCK);
	bool armed = false, full = false;
	unsigned int k;

	for (k = 0; k < ARRAY_LEN(storm); k++)
		ASSERT_EQ(0, storm_start(&storm[k], fd, k));
	for (i = 0; i < rounds; i++) {
		eventfd_t value;

		if (!armed) {
			prep_poll(r, fd, POLLIN, MULTI, 1);
			ASSERT_LE(0, submit(r));
		}
		ASSERT_EQ(0, take_of(r, 1, &got));
		ASSERT_EQ(POLLIN, got.res);
		armed = got.flags & IORING_CQE_F_MORE;
		ASSERT_TRUE(armed || full);
		eventfd_read(fd, &value);
		/* take_of() has consumed one CQE already */
		full = iou_ready(r) + 1 >= r->p.cq_entries;
		iou_seen(r, iou_ready(r));
	}
	for (k = 0; k < ARRAY_LEN(storm); k++)
		storm_end(&storm[k]);
	do {
		settle(r);
		k = iou_ready(r);
		full |= k == r->p.cq_entries;
		while (k--) {
			if (!(iou_cqe_at(r, 0)->flags & IORING_CQE_F_MORE))
				armed = false;
			iou_seen(r, 1);
		}
	} while (iou_ready(r));
	ASSERT_TRUE(armed || full);
	if (!armed) {
		prep_poll(r, fd, POLLIN, MULTI, 1);
		ASSERT_LE(0, submit(r));
	}
	ASSERT_EQ(0, eventfd_write(fd, 1));
	EXPECT_CQE(r, 1, POLLIN, MORE);
	close(fd);
}

/* Open a FIFO for reading and writing. */
static int open_fifo(void)
{
	char dir[] = "/tmp/iou.XXXXXX", name[32];
	int fd;

	if (!mkdtemp(dir))
		return -1;
	snprintf(name, sizeof(name), "%s/fifo", dir);
	if (mkfifo(name, 0600))
		return -1;
	fd = open(name, O_RDWR | O_NONBLOCK);
	unlink(name);
	rmdir(dir);
	return fd;
}

/* Terminals, and FIFOs that are open for reading and writing, have two wait queues. */
TEST_F(poll, two_waitqueues)
{
	struct iou *r = &self->r;
	int i, slave, master = open_pty(&slave);
	char byte = 'x';

	ASSERT_LE(0, master);
	for (i = 0; i < 20; i++) {
		prep_poll(r, slave, POLLIN, MULTI, 1);
		prep_poll(r, slave, POLLIN, 0, 2);
		ASSERT_LE(0, submit(r));
		settle(r);
		ASSERT_EQ(1, write(master, &byte, 1));
		EXPECT_CQE(r, 1, POLLIN, MORE);
		EXPECT_CQE(r, 2, POLLIN, 0);
		ASSERT_EQ(1, read(slave, &byte, 1));
		prep_remove(r, 1);
		ASSERT_LE(0, submit(r));
		EXPECT_CQE(r, ACT, 0, 0);
		do {
			struct got got = {};

			ASSERT_EQ(0, take_of(r, 1, &got));
			if (got.flags & MORE)
				continue;
			EXPECT_EQ(-ECANCELED, got.res);
			break;
		} while (true);
	}
	prep_poll(r, slave, POLLIN, MULTI, 3);
	ASSERT_LE(0, submit(r));
	close(master);
	/* an SQPOLL thread may check the file between the wakes of this close() */
	if (variant->flags & IORING_SETUP_SQPOLL) {
		struct got got = {};

		ASSERT_EQ(0, take_of(r, 3, &got));
		EXPECT_EQ(POLLHUP, got.res & POLLHUP);
		EXPECT_EQ(MORE, got.flags & MORE);
	} else {
		EXPECT_CQE(r, 3, POLLIN | POLLHUP | POLLERR, MORE);
	}
	close(slave);
}

TEST_F(poll, two_waitqueues_of_a_fifo)
{
	struct iou *r = &self->r;
	int size, fifo = open_fifo();
	char byte = 'x';
	char *fill;

	ASSERT_LE(0, fifo);
	prep_poll(r, fifo, POLLIN, MULTI, 4);
	ASSERT_LE(0, submit(r));
	ASSERT_EQ(1, write(fifo, &byte, 1));
	EXPECT_CQE(r, 4, POLLIN, MORE);
	drain(fifo);
	size = fcntl(fifo, F_GETPIPE_SZ);
	fill = calloc(1, size);
	ASSERT_EQ(size, write(fifo, fill, size));
	EXPECT_CQE(r, 4, POLLIN, MORE);
	prep_poll(r, fifo, POLLOUT, 0, 5);
	ASSERT_LE(0, submit(r));
	settle(r);
	drain(fifo);
	EXPECT_CQE(r, 5, POLLOUT, 0);
	free(fill);
	close(fifo);
}

/* Both wait queues of a FIFO wake a poll at the same time. */
TEST_F(poll, two_waitqueues_race)
{
	unsigned long i, rounds = iou_rounds(400);
	unsigned long long end = iou_race_end();
	struct iou *r = &self->r;
	struct storm storm[2];
	int fifo = open_fifo();
	struct got got = {};

	ASSERT_LE(0, fifo);
	ASSERT_EQ(0, storm_start(&storm[0], fifo, 20));
	ASSERT_EQ(0, storm_start(&storm[1], fifo, 30));
	for (i = 0; iou_race_goes_on(i, rounds, end); i++) {
		prep_poll(r, fifo, POLLIN | POLLOUT, MULTI, 1);
		prep_poll(r, fifo, POLLIN, 0, 2);
		ASSERT_LE(0, submit(r));
		drain(fifo);
		EXPECT_CQE(r, 2, POLLIN, 0);
		prep_remove(r, 1);
		ASSERT_LE(0, submit(r));
		ASSERT_EQ(0, take_of(r, ACT, &got));
		if (got.res == -EALREADY) {
			storm_pause(&storm[0], r, true);
			storm_pause(&storm[1], r, true);
		}
		/* an SQPOLL thread takes the removal before the last event's task work */
		while (got.res == -EALREADY) {
			prep_remove(r, 1);
			ASSERT_LE(0, submit(r));
			ASSERT_EQ(0, take_of(r, ACT, &got));
		}
		ASSERT_EQ(0, got.res);
		do {
			ASSERT_EQ(0, take_of(r, 1, &got));
		} while (got.flags & MORE);
		ASSERT_EQ(-ECANCELED, got.res);
		storm_pause(&storm[0], r, false);
		storm_pause(&storm[1], r, false);
	}
	storm_end(&storm[0]);
	storm_end(&storm[1]);
	close(fifo);
}

/*
 * The wait queue of a signalfd is freed with the task that has armed the poll.
 * Mutant: poll-free-ignored.
 */
TEST_F(poll, waitqueue_goes)
{
	struct iou *r = &self->r;
	unsigned int k;
	sigset_t set;
	int fd;

	if (variant->flags)
		SKIP(return, "the ring is used by two tasks");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	ASSERT_LE(0, fd);
	for (k = 0; k < 3; k++) {
		int status, pid = fork();

		if (!pid) {
			if (k == 2) {
				char buf[128];

				fcntl(fd, F_SETFL, 0);
				iou_prep(r, IORING_OP_READ, fd, buf, 128, 0)->user_data = 7;
			} else {
				prep_poll(r, fd, POLLIN, k ? MULTI : 0, 7);
			}
			_exit(iou_submit(r) != 1);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		/* the child's submission has not changed the parent's copy of the tail */
		r->next = *r->sq_tail;
		r->sent = r->next;
		EXPECT_CQE(r, 7, -ECANCELED, 0);
	}
	close(fd);
}

/* One event each time @go is set. */
struct one_event {
	int fd;
	bool go;
	bool stop;
};

static void *one_event_main(void *arg)
{
	struct one_event *one = arg;

	while (!load_acq(&one->stop)) {
		if (!load_acq(&one->go))
			continue;
		if (send(one->fd, "x", 1, 0) != 1)
			break;
		store_rel(&one->go, false);
	}
	return NULL;
}

/* End all polls of a ring, and discard their CQEs. */
static int end_polls(struct iou *r)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_ASYNC_CANCEL, -1, NULL, 0, 0);
	struct got got;
	int ret;

	sqe->cancel_flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
	sqe->user_data = ACT;
	ret = submit(r);
	if (ret > 0)
		ret = take_of(r, ACT, &got);
	if (ret)
		return ret;
	settle(r);
	iou_seen(r, iou_ready(r));
	return 0;
}

/*
 * Each event wakes one of two exclusive polls.  The event comes at any moment while the first poll
 * is changed to ignore such events.  If the change succeeds, the second poll has to get the event.
 * 6.12 loses an event once in 10,000 rounds.  Mutant: changed-poll-keeps-event.
 * differences: event-passed-on
 */
TEST(event_at_the_change)
{
	unsigned long rounds = iou_rounds(40000), i;
	unsigned long long end = iou_race_end();
	/* turns of a loop from the event to the change */
	unsigned int delay = 200;
	struct one_event one = {};
	struct iou r[2];
	pthread_t thread;
	int s[2];

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "wants two CPUs");
	if (iou_on_stock())
		SKIP(return, "it loses one now and then");
	ASSERT_EQ(0, iou_init(&r[0], 8, IOU_DEFER));
	ASSERT_EQ(0, iou_init(&r[1], 8, IOU_DEFER));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
	one.fd = s[1];
	ASSERT_EQ(0, pthread_create(&thread, NULL, one_event_main, &one));
	for (i = 0; iou_race_goes_on(i, rounds, end); i++) {
		volatile unsigned int turns;
		struct got got;
		char byte;

		prep_poll(&r[0], s[0], POLLIN | EPOLLEXCLUSIVE, 0, 1);
		ASSERT_EQ(1, submit(&r[0]));
		prep_poll(&r[1], s[0], POLLIN | EPOLLEXCLUSIVE, 0, 2);
		ASSERT_EQ(1, submit(&r[1]));
		prep_update(&r[0], 1, EVENTS, POLLPRI, 0);
		store_rel(&one.go, true);
		for (turns = delay - delay / 8 + i % (delay / 4 + 8); turns; turns--)
			;
		ASSERT_EQ(1, submit(&r[0]));
		while (load_acq(&one.go))
			;
		ASSERT_EQ(0, take_of(&r[0], ACT, &got));
		if (!got.res) {
			ASSERT_EQ(0, take_of(&r[1], 2, &got)) {
				TH_LOG("round %lu: nobody was told", i);
			}
			delay += 1 + i % 3;
		} else if (delay > 3) {
			/* the event came before the change */
			delay -= 1 + i % 3;
		}
		if (delay > 100000)
			delay = 200;
		ASSERT_EQ(1, recv(s[0], &byte, 1, 0));
		ASSERT_EQ(0, end_polls(&r[0]));
		ASSERT_EQ(0, end_polls(&r[1]));
	}
	store_rel(&one.stop, true);
	pthread_join(thread, NULL);
	close(s[0]);
	close(s[1]);
	iou_exit(&r[0]);
	iou_exit(&r[1]);
}

/* Change the mounts of the caller's namespace, so that pollers of /proc/self/mounts are woken. */
static void *remount(void *arg)
{
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_NODEV | MS_NOSUID;
	bool *stop = arg;

	while (!load_acq(stop)) {
		flags ^= MS_NOEXEC;
		mount(NULL, "/tmp", NULL, flags, NULL);
	}
	return NULL;
}

/* End rings on which workers have armed many exclusive polls of a seemingly regular file. */
static int poll_own_mounts(unsigned int rounds)
{
	struct io_uring_sqe *sqe;
	pthread_t thread;
	bool stop = false;
	struct iou r;
	int i, fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/tmp", "tmpfs", 0, NULL))
		return 4;
	fd = open("/proc/thread-self/mounts", O_RDWR);
	if (fd < 0 || pthread_create(&thread, NULL, remount, &stop))
		return 1;
	while (rounds--) {
		if (iou_init(&r, 128, IOU_DEFER))
			return 2;
		for (i = 0; i < 128; i++) {
			sqe = iou_prep(&r, IORING_OP_POLL_ADD, fd, NULL, 0, 0);
			sqe->poll32_events = poll_word(POLLIN | POLLPRI | EPOLLEXCLUSIVE);
			sqe->flags = IOSQE_ASYNC;
		}
		iou_submit(&r);
		usleep(20000);
		iou_exit(&r);
	}
	store_rel(&stop, true);
	pthread_join(thread, NULL);
	return 0;
}

/*
 * An event wakes an exclusive poll while a worker ends this poll.  The poll keeps its file until
 * the event is passed on, even a file that is open for writing.  Mutant: poll-file-dropped.
 */
TEST(file_of_a_chosen_poll)
{
	int status, pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(poll_own_mounts(iou_rounds(200)));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (status == 4 << 8)
		SKIP(return, "needs to be root");
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
