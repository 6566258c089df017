// SPDX-License-Identifier: GPL-2.0
/* io_uring fuzz: the calls of a program, in the process that they may ruin */
#include <dirent.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#include "fuzz.h"

#ifndef __NR_io_uring_setup
#define __NR_io_uring_setup	425
#define __NR_io_uring_enter	426
#define __NR_io_uring_register	427
#endif

#define MAX_CQES	4096

#define load(p)		__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

struct ring {
	int fd;
	bool there;
	bool by_index;
	struct io_uring_params p;
	char *rings;		/* both, one mapping */
	char *sqes;
	size_t rings_len, sqes_len;
	unsigned int prepared;	/* SQ tail to be */
	unsigned int seen;	/* CQ tail that the log knows of */
	unsigned int got;	/* CQEs that the log has not yet */
	uint64_t (*cqes)[4];
};

unsigned int *late_wakes;
static struct ring rings[MAX_RINGS];
static const struct prog *prog;
static FILE *out;		/* the log of a compared program */
static bool times;		/* something may end after a time */
static bool kept;		/* keeps_words() */
static bool over;		/* the program is, its CQEs are taken */
static __thread volatile bool nudged;
static unsigned int alone;	/* links of /proc/self/task while there is one thread */

/* Do heads and tails of rings stay what kernel and program have made them? */
bool keeps_words(const struct prog *p)
{
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		const struct call *c = &p->call[i];

		if (!p->dropped[i] && (c->kind == C_SCRIBBLE || c->kind == C_UNMAP ||
				       c->kind == C_MEMORY))
			return false;
	}
	return true;
}

int sys_setup(unsigned int entries, struct io_uring_params *p)
{
	int ret = syscall(__NR_io_uring_setup, entries, p);

	return ret < 0 ? -errno : ret;
}

static int sys_enter(struct ring *r, unsigned int submit, unsigned int min, unsigned int flags,
		     const void *arg, size_t size)
{
	int ret;

	if (r->by_index)
		flags |= IORING_ENTER_REGISTERED_RING;
	ret = syscall(__NR_io_uring_enter, r->fd, submit, min, flags, arg, size);
	return ret < 0 ? -errno : ret;
}

static uint32_t *word(struct ring *r, uint32_t offset)
{
	return (uint32_t *)(r->rings + offset);
}

static unsigned int cqe_size(struct ring *r)
{
	return r->p.flags & IORING_SETUP_CQE32 ? 32 : 16;
}

static unsigned int sqe_size(struct ring *r)
{
	return r->p.flags & IORING_SETUP_SQE128 ? 128 : 64;
}

static void map_ring(struct ring *r)
{
	size_t cq = r->p.cq_off.cqes + (size_t)r->p.cq_entries * cqe_size(r);
	size_t sq = r->p.sq_off.array + (size_t)r->p.sq_entries * 4;
	unsigned int i;

	if (r->p.flags & IORING_SETUP_NO_SQARRAY)
		sq = 0;
	r->rings_len = cq > sq ? cq : sq;
	r->sqes_len = (size_t)r->p.sq_entries * sqe_size(r);
	if (r->p.flags & IORING_SETUP_NO_MMAP) {
		r->rings = (char *)r->p.cq_off.user_addr;
		r->sqes = (char *)r->p.sq_off.user_addr;
	} else {
		r->rings = mmap(NULL, r->rings_len, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
				IORING_OFF_SQ_RING);
		r->sqes = mmap(NULL, r->sqes_len, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
			       IORING_OFF_SQES);
	}
	if (r->rings == MAP_FAILED || r->sqes == MAP_FAILED) {
		r->rings = NULL;
		return;
	}
	for (i = 0; i < r->p.sq_entries && !(r->p.flags & IORING_SETUP_NO_SQARRAY); i++)
		word(r, r->p.sq_off.array)[i] = i;
}

static long do_ring(const struct call *c)
{
	struct ring *r = &rings[c->ring];
	int fd;

	if (r->there)
		return -EBUSY;
	memset(r, 0, sizeof(*r));
	r->p.flags = c->a[1];
	r->p.cq_entries = c->a[2];
	r->p.sq_thread_cpu = c->a[3];
	r->p.sq_thread_idle = c->a[4];
	r->p.wq_fd = c->a[5];
	if (r->p.flags & IORING_SETUP_NO_MMAP) {
		r->p.cq_off.user_addr = AT(AREA_OWN + c->ring * OWN_PAGES);
		r->p.sq_off.user_addr = AT(AREA_OWN + c->ring * OWN_PAGES + OWN_PAGES / 2);
	}
	fd = sys_setup(c->a[0], &r->p);
	if (fd < 0)
		return fd;
	r->fd = fd;
	r->by_index = r->p.flags & IORING_SETUP_REGISTERED_FD_ONLY;
	if (!r->by_index) {
		r->fd = dup3(fd, RING_FD + c->ring, O_CLOEXEC);
		close(fd);
	}
	map_ring(r);
	if (!r->rings)
		return -ENOMEM;
	r->there = true;
	if (out)
		fprintf(out, "   sq %u cq %u features %x\n", r->p.sq_entries, r->p.cq_entries,
			r->p.features & (IORING_FEAT_RECVSEND_BUNDLE - 1));
	return 0;
}

/* How many slots does an SQE take?  One of 128 bytes does not go round the end of the array. */
static unsigned int sqe_slots(struct ring *r, const struct io_uring_sqe *sqe)
{
	if (!(r->p.flags & IORING_SETUP_SQE_MIXED) || r->p.sq_entries < 2)
		return 1;
	return sqe->opcode == IORING_OP_NOP128 || sqe->opcode == IORING_OP_URING_CMD128 ? 2 : 1;
}

static long do_sqe(const struct call *c)
{
	struct ring *r = &rings[c->ring];
	unsigned int slots = sqe_slots(r, &c->sqe), at;
	char *sqe;

	if (!r->there)
		return -EBADF;
	if (r->prepared - load(word(r, r->p.sq_off.head)) + slots > r->p.sq_entries)
		return -EBUSY;
	at = r->prepared & (r->p.sq_entries - 1);
	if (at + slots > r->p.sq_entries)
		slots = 1;
	r->prepared += slots;
	sqe = r->sqes + at * sqe_size(r);
	memset(sqe, 0, sqe_size(r) * slots);
	memcpy(sqe, &c->sqe, sizeof(c->sqe));
	if (c->sqe.opcode == IORING_OP_TIMEOUT || c->sqe.opcode == IORING_OP_LINK_TIMEOUT ||
	    c->sqe.opcode == IORING_OP_TIMEOUT_REMOVE)
		times = true;
	return 0;
}

/* Told by watch.c that its wake-up may be lost */
static void nudge(int sig)
{
	(void)sig;
	nudged = true;
}

/* By the head as it is now: another thread may have taken CQEs while this one began to wait. */
static bool has_cqes(struct ring *r, unsigned int min)
{
	unsigned int head = load(word(r, r->p.cq_off.head));

	if (min > r->p.cq_entries)
		min = r->p.cq_entries;
	return load(word(r, r->p.cq_off.tail)) - head >= min;
}

static long do_enter(const struct call *c)
{
	struct ring *r = &rings[c->ring];
	bool watched = late_wakes && kept && c->a[2] && c->a[3] & IORING_ENTER_GETEVENTS;
	unsigned int nr = 0;
	long ret;

	if (!r->there)
		return -EBADF;
	if (c->a[0] < 2) {
		nr = r->prepared - load(word(r, r->p.sq_off.head));
		store(word(r, r->p.sq_off.tail), r->prepared);
		if (!c->a[0])
			nr = c->a[1];
	}
	nudged = false;
	ret = sys_enter(r, nr, c->a[2], c->a[3], (void *)c->a[4], c->a[5]);
	if (watched && nudged && has_cqes(r, c->a[2]))
		store(late_wakes, 1);
	return ret;
}

static long do_reap(const struct call *c)
{
	struct ring *r = &rings[c->ring];
	unsigned int head, nr;

	if (!r->there)
		return -EBADF;
	head = *word(r, r->p.cq_off.head);
	nr = load(word(r, r->p.cq_off.tail)) - head;
	if (nr > c->a[0])
		nr = c->a[0];
	store(word(r, r->p.cq_off.head), head + nr);
	return nr;
}

static uint32_t sum(const void *data, unsigned int len)
{
	const unsigned char *b = data;
	uint32_t h = 5381;

	while (len--)
		h = h * 33 + *b++;
	return h;
}

/* The old rings stay mapped, as another thread may look at them. */
static void map_resized(struct ring *r, const struct io_uring_params *p)
{
	struct ring new = *r;

	new.p.sq_entries = p->sq_entries;
	new.p.cq_entries = p->cq_entries;
	new.p.sq_off = p->sq_off;
	new.p.cq_off = p->cq_off;
	map_ring(&new);
	if (new.rings)
		*r = new;
	else
		r->there = false;
}

static long do_register(const struct call *c)
{
	struct ring *r = &rings[c->ring];
	unsigned int op = c->a[0];
	int fd = r->fd, ret;

	if (!r->there)
		return -EBADF;
	if (c->a[3]) {
		op |= IORING_REGISTER_USE_REGISTERED_RING;
		fd = 0;
	} else if (r->by_index) {
		op |= IORING_REGISTER_USE_REGISTERED_RING;
	}
	ret = syscall(__NR_io_uring_register, fd, op, c->a[1], c->a[2]);
	if (!ret && c->a[0] == IORING_REGISTER_RESIZE_RINGS)
		map_resized(r, (void *)c->a[1]);
	return ret < 0 ? -errno : ret;
}

static char bulk[1 << 14];

static long do_feed(const struct call *c)
{
	struct pollfd p = { .fd = c->a[0], .events = c->kind == C_FEED ? POLLOUT : POLLIN };
	uint64_t one = c->a[1];
	ssize_t ret;

	if (poll(&p, 1, 0) != 1)
		return -EAGAIN;
	if (c->kind == C_FEED)
		ret = write(c->a[0], c->a[0] == FD_EVENT ? (char *)&one : bulk,
			    c->a[1] > PAGE ? PAGE : c->a[1]);
	else
		ret = read(c->a[0], bulk, c->a[1]);
	return ret < 0 ? -errno : ret;
}

static long do_close(const struct call *c)
{
	int fd = c->a[0];

	if (fd >= RING_FD && fd < RING_FD + (int)MAX_RINGS)
		rings[fd - RING_FD].there = false;
	return close(fd) ? -errno : 0;
}

static long do_map(const struct call *c)
{
	struct ring *r = &rings[c->ring];
	char *mem;

	if (!r->there)
		return -EBADF;
	mem = mmap(NULL, c->a[1], PROT_READ | (c->a[2] ? PROT_WRITE : 0),
		   c->a[3] ? MAP_SHARED : MAP_PRIVATE, r->fd, c->a[0]);
	if (mem == MAP_FAILED)
		return -errno;
	if (out || c->a[1] % 3)
		munmap(mem, c->a[1]);
	return 0;
}

static long do_poll(const struct call *c)
{
	struct ring *r = &rings[c->ring];
	struct pollfd p = { .fd = r->fd, .events = POLLIN | POLLOUT };

	if (!r->there)
		return -EBADF;
	return poll(&p, 1, 0) < 0 ? -errno : p.revents;
}

static long do_scribble(const struct call *c)
{
	struct ring *r = &rings[c->ring];
	const uint32_t words[] = {
		r->p.cq_off.head, r->p.cq_off.tail, r->p.sq_off.head, r->p.sq_off.tail,
		r->p.cq_off.flags, r->p.sq_off.flags, r->p.cq_off.ring_mask,
		r->p.sq_off.ring_entries,
	};
	unsigned int what = c->a[0] % (ARRAY_SIZE(words) + 1);
	uint32_t *w;

	if (!r->there)
		return -EBADF;
	if (what < ARRAY_SIZE(words))
		w = word(r, words[what]);
	else
		w = (uint32_t *)r->sqes + c->a[2] % (r->sqes_len / 4);
	if (what < 4 && c->a[3] % 2)
		*w += (int)(c->a[2] % 9) - 4;
	else
		*w = c->a[1];
	return 0;
}

static long do_unmap(const struct call *c)
{
	struct ring *r = &rings[c->ring];

	if (!r->there)
		return -EBADF;
	if (c->a[0] % 2)
		return munmap(r->rings, r->rings_len);
	return munmap(r->sqes, r->sqes_len);
}

static long do_memory(const struct call *c)
{
	unsigned int page = c->a[1] % 5 ? c->a[2] % BUF_PAGES : c->a[2] % AREA_END;
	void *at = (void *)AT(page);
	size_t len = PAGE * (1 + c->a[3] % 4);

	switch (c->a[0] % 5) {
	case 0: return munmap(at, len);
	case 1: return madvise(at, len, MADV_DONTNEED);
	case 2: return mprotect(at, len, PROT_READ);
	case 3: return mprotect(at, len, PROT_READ | PROT_WRITE);
	}
	return mmap(at, len, PROT_READ | PROT_WRITE,
		    (c->a[1] % 2 ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == MAP_FAILED;
}

static long do_give(const struct call *c)
{
	static char zero[PAGE] __attribute__((aligned(PAGE)));
	struct uffdio_copy copy = {
		.dst = AT(AREA_HOLE + c->a[0] % HOLE_PAGES), .src = (uintptr_t)zero, .len = PAGE,
	};

	return ioctl(FD_UFFD, UFFDIO_COPY, &copy);
}

static void run_task(unsigned int task);

static void *thread(void *task)
{
	run_task((uintptr_t)task);
	return NULL;
}

static pthread_t threads[MAX_TASKS];
static bool started[MAX_TASKS];

static long do_start(const struct call *c)
{
	unsigned int task = c->a[0] % MAX_TASKS;
	pid_t pid;

	if (!c->a[1]) {
		started[task] = !pthread_create(&threads[task], NULL, thread,
						(void *)(uintptr_t)task);
		return !started[task];
	}
	pid = fork();
	if (pid)
		return pid < 0;
	run_task(task);
	_exit(0);
}

static long do_kill(const struct call *c)
{
	switch (c->a[0] % 4) {
	case 0: return kill(getpid(), SIGKILL);
	case 1: return kill(getpid(), SIGSTOP);
	}
	return kill(getpid(), SIGUSR1);
}

static long do_fdinfo(const struct call *c)
{
	char path[64], buf[4096];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%u", RING_FD + c->ring);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	return close(fd);
}

static long do_cred(const struct call *c)
{
	switch (c->a[0] % 6) {
	case 0: return syscall(SYS_setresuid, -1, 65534, -1);
	case 1: return syscall(SYS_setresuid, -1, 0, -1);
	case 2: return unshare(CLONE_FS);
	case 3: return unshare(CLONE_FILES);
	case 4: return chdir("/");
	}
	return syscall(SYS_setresgid, -1, 1 + c->a[1] % 3, -1);
}

static long do_limit(const struct call *c)
{
	struct rlimit limit = { c->a[1] % 100, 256 };

	if (c->a[0] % 2)
		limit.rlim_cur = c->a[1] % 4 * PAGE;
	return setrlimit(c->a[0] % 2 ? RLIMIT_MEMLOCK : RLIMIT_NOFILE, &limit);
}

/* The n-th thing of this task that can fail does. */
static long do_fail(const struct call *c)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	dprintf(fd, "%llu", (unsigned long long)c->a[0]);
	return close(fd);
}

static long do_send_ring(const struct call *c)
{
	char space[CMSG_SPACE(sizeof(int))] = { }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
		.msg_controllen = sizeof(space),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int fd = RING_FD + c->ring;

	if (c->a[0] % 2)
		return recvmsg(FD_SOCK2, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(FD_SOCK1, &msg, MSG_DONTWAIT);
}

static long do_epoll(const struct call *c)
{
	struct epoll_event e = { .events = EPOLLIN | (c->a[1] % 2 ? EPOLLET : 0) };
	int fd = c->a[2] % 2 ? RING_FD + c->ring : FD_FIRST + (int)(c->a[3] % 12);

	if (c->a[0] % 3 == 2)
		return epoll_wait(FD_EPOLL, &e, 1, 0);
	return epoll_ctl(FD_EPOLL, c->a[0] % 3 ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, fd, &e);
}

/* Give buffers to a group, in the ring of them that the kernel has been told of. */
static long do_provide(const struct call *c)
{
	struct io_uring_buf_ring *br = (void *)AT(AREA_GROUP + c->a[0]);
	struct ring *r = &rings[c->ring];
	unsigned int i, mask = (c->a[4] & 255) - 1;
	uint16_t tail;

	if (!r->there)
		return -EBADF;
	if (c->a[3] && mmap(br, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd,
			    IORING_OFF_PBUF_RING | c->a[0] << IORING_OFF_PBUF_SHIFT) == MAP_FAILED)
		return -errno;
	tail = load(&br->tail);
	for (i = 0; i < c->a[1]; i++, tail++) {
		struct io_uring_buf *buf = &br->bufs[tail & mask & 255];

		buf->addr = AT(AREA_BUF + tail % (BUF_PAGES - 1)) + i;
		buf->len = c->a[2];
		buf->bid = tail;
	}
	store(&br->tail, tail);
	return 0;
}

/* Another task connects to one of the listeners, says a word, and may be gone then. */
static long do_connect(const struct call *c)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "s" };
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = htons(TCP_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	bool tcp = c->a[0] % 2;
	int fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	long ret;

	if (fd < 0)
		return -errno;
	ret = tcp ? connect(fd, (void *)&in, sizeof(in)) : connect(fd, (void *)&un, sizeof(un));
	if (c->a[1] % 2 && send(fd, bulk, c->a[2] % 5000, MSG_NOSIGNAL) < 0)
		ret = -errno;
	if (c->a[3] % 3)
		close(fd);
	return ret;
}

static long do_exec(const struct call *c)
{
	unsigned int i;

	/* sometimes the rings go along */
	for (i = 0; c->a[0] % 2 && i < MAX_RINGS; i++)
		dup2(RING_FD + i, FD_DUP + i);
	execl("/proc/self/exe", "fuzz", "sleep", NULL);
	return -errno;
}

static long do_call(const struct call *c)
{
	switch (c->kind) {
	case C_RING:		return do_ring(c);
	case C_SQE:		return do_sqe(c);
	case C_ENTER:		return do_enter(c);
	case C_REAP:		return do_reap(c);
	case C_REGISTER:	return do_register(c);
	case C_FEED:
	case C_DRAIN:		return do_feed(c);
	case C_CLOSE:		return do_close(c);
	case C_DUP:		return dup2(RING_FD + c->ring, FD_DUP + c->a[0] % 4);
	case C_MAP:		return do_map(c);
	case C_POLL:		return do_poll(c);
	case C_SCRIBBLE:	return do_scribble(c);
	case C_UNMAP:		return do_unmap(c);
	case C_MEMORY:		return do_memory(c);
	case C_GIVE:		return do_give(c);
	case C_START:		return do_start(c);
	case C_SLEEP:		return usleep(c->a[0]);
	case C_EXEC:		return do_exec(c);
	case C_KILL:		return do_kill(c);
	case C_FDINFO:		return do_fdinfo(c);
	case C_CRED:		return do_cred(c);
	case C_LIMIT:		return do_limit(c);
	case C_FAIL:		return do_fail(c);
	case C_SEND_RING:	return do_send_ring(c);
	case C_EPOLL:		return do_epoll(c);
	case C_PROVIDE:		return do_provide(c);
	case C_CONNECT:		return do_connect(c);
	}
	return 0;
}

/* What a compared program waits for between two calls */

static bool threads_sleep(void)
{
	char path[300], buf[512], *state;
	bool asleep = true;
	struct dirent *e;
	struct stat st;
	ssize_t len;
	DIR *dir;
	int fd;

	if (stat("/proc/self/task", &st) || st.st_nlink == alone)
		return true;
	dir = opendir("/proc/self/task");
	while (dir && asleep && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		len = read(fd, buf, sizeof(buf) - 1);
		close(fd);
		buf[len < 0 ? 0 : len] = 0;
		state = strrchr(buf, ')');
		asleep = !state || state[2] == 'S' || state[2] == 'I';
	}
	if (dir)
		closedir(dir);
	return asleep;
}

/*
 * Copy the CQEs that came since the last look.  Most programs take them from the ring as
 * well, since an IOPOLL ring with CQEs in it need not look for others, and since it is not
 * said which of several come into a CQ that has room for some.
 */
static void collect(struct ring *r)
{
	uint32_t tail = load(word(r, r->p.cq_off.tail));
	const struct io_uring_cqe *cqe;
	unsigned int size;

	if (!r->cqes)
		r->cqes = calloc(MAX_CQES, 32);
	while (r->seen != tail && r->got < MAX_CQES) {
		cqe = (void *)(r->rings + r->p.cq_off.cqes +
			      (r->seen & (r->p.cq_entries - 1)) * cqe_size(r));
		size = cqe_size(r);
		if (r->p.flags & IORING_SETUP_CQE_MIXED && cqe->flags & IORING_CQE_F_32)
			size = 32;
		r->seen += size / cqe_size(r);
		/* fills the slots behind which a larger one does not fit */
		if (r->p.flags & IORING_SETUP_CQE_MIXED && cqe->flags & IORING_CQE_F_SKIP)
			continue;
		memset(r->cqes[r->got], 0, 32);
		memcpy(r->cqes[r->got++], cqe, size);
	}
	if (!prog->keeps || over || r->p.flags & IORING_SETUP_IOPOLL)
		store(word(r, r->p.cq_off.head), r->seen);
}

static uint64_t progress(void)
{
	uint64_t is = 0;
	unsigned int i;

	for (i = 0; i < MAX_RINGS; i++) {
		struct ring *r = &rings[i];

		if (!r->there)
			continue;
		collect(r);
		sys_enter(r, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
		is = is * 31 + *word(r, r->p.cq_off.tail);
		is = is * 31 + *word(r, r->p.sq_off.head);
		is = is * 31 + *word(r, r->p.cq_off.overflow);
	}
	return is;
}

/* Until nothing moves any more */
static void settle(void)
{
	uint64_t end = now_us() + 5000000, is, was = ~progress();
	unsigned int calm = 0, want = times ? 3 : 2;
	struct stat st;

	while (calm < want) {
		if (times || stat("/proc/self/task", &st) || st.st_nlink != alone)
			usleep(times ? 700 : 100);
		is = progress();
		calm = is == was && threads_sleep() ? calm + 1 : 0;
		was = is;
		if (now_us() > end) {
			fprintf(out, "   does not come to rest\n");
			return;
		}
	}
}

/* Does this CQE belong to a request that ended in the call that submitted it? */
static bool has_place(const uint64_t *cqe)
{
	const struct io_uring_sqe *sqe;
	uint64_t call = cqe[0] - 101;	/* as fresh() gave it */

	if (!prog->ordered || call >= prog->nr || prog->call[call].kind != C_SQE)
		return false;
	sqe = &prog->call[call].sqe;
	/* the rest of a chain that breaks is told earlier, or later, also what is refused in it */
	if ((int)cqe[1] < 0 && !(sqe->nop_flags && (int)cqe[1] == (int)sqe->len))
		return false;
	return sqe->opcode == IORING_OP_NOP && !(sqe->nop_flags & IORING_NOP_TW) &&
	       !(sqe->flags & ~(IOSQE_IO_LINK | IOSQE_IO_HARDLINK));
}

static int cqe_order(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

/* First CQEs of NOPs as they came, then the others in an order of their own */
static void sort_cqes(uint64_t (*cqe)[4], unsigned int nr)
{
	static uint64_t other[MAX_CQES][4];
	unsigned int i, placed = 0, others = 0;

	for (i = 0; i < nr; i++) {
		if (has_place(cqe[i]))
			memmove(cqe[placed++], cqe[i], 32);
		else
			memcpy(other[others++], cqe[i], 32);
	}
	qsort(other, others, 32, cqe_order);
	memcpy(cqe[placed], other, others * 32);
}

/* The call that submits what comes behind this one in its chain; prog->nr if nothing does */
static unsigned int next_in_chain(unsigned int at)
{
	unsigned int i;

	if (!(prog->call[at].sqe.flags & (IOSQE_IO_LINK | IOSQE_IO_HARDLINK)))
		return prog->nr;
	for (i = at + 1; i < prog->nr; i++)
		if (prog->call[i].kind == C_SQE && prog->call[i].ring == prog->call[at].ring &&
		    !prog->dropped[i])
			return i;
	return prog->nr;
}

/* A request that succeeds is told before the next one of its chain has begun. */
static void check_chains(uint64_t (*cqe)[4], unsigned int nr)
{
	unsigned int i, j, next;

	for (i = 0; i < nr; i++) {
		uint64_t call = cqe[i][0] - 101;
		unsigned int flags = cqe[i][1] >> 32;

		if (call >= prog->nr || prog->call[call].kind != C_SQE || (int)cqe[i][1] < 0 ||
		    flags & (IORING_CQE_F_MORE | IORING_CQE_F_NOTIF))
			continue;
		next = next_in_chain(call);
		for (j = 0; j < i; j++)
			if (cqe[j][0] == next + 101 && (int)cqe[j][1] >= 0)
				fprintf(out, "   chain: %u is told before %u\n", next + 101,
					(unsigned int)call + 101);
	}
}

static void log_cqes(unsigned int nr)
{
	struct ring *r = &rings[nr];
	unsigned int i;

	check_chains(r->cqes, r->got);
	sort_cqes(r->cqes, r->got);
	for (i = 0; i < r->got; i++) {
		uint64_t *cqe = r->cqes[i];

		fprintf(out, "   ring %u: %llu = %d", nr, (unsigned long long)cqe[0],
			(int)cqe[1]);
		if (cqe[1] >> 32)
			fprintf(out, " flags %#x", (unsigned int)(cqe[1] >> 32));
		if (cqe[2] || cqe[3])
			fprintf(out, " more %llx %llx", (unsigned long long)cqe[2],
				(unsigned long long)cqe[3]);
		fprintf(out, "\n");
	}
	r->got = 0;
}

static void log_ring(unsigned int nr)
{
	struct ring *r = &rings[nr];
	uint32_t flags;

	collect(r);
	/* when they go up and down is not said to the moment */
	flags = load(word(r, r->p.sq_off.flags)) & ~(IORING_SQ_NEED_WAKEUP | IORING_SQ_TASKRUN);
	/* which of several have come into a full CQ is not said either; in the end all have */
	if (!(flags & IORING_SQ_CQ_OVERFLOW))
		log_cqes(nr);
	fprintf(out, "   ring %u: sq %u cq %u dropped %u overflow %u flags %x\n", nr,
		load(word(r, r->p.sq_off.tail)) - load(word(r, r->p.sq_off.head)),
		r->seen - *word(r, r->p.cq_off.head), *word(r, r->p.sq_off.dropped),
		*word(r, r->p.cq_off.overflow), flags);
}

static void log_call(const struct call *c, unsigned int at, long ret)
{
	unsigned int i;

	if (c->kind == C_SQE) {
		if (ret)
			fprintf(out, "%2u: %ld\n", at, ret);
		return;
	}
	fprintf(out, "%2u: %ld\n", at, ret);
	if (c->kind == C_RING)
		return;
	settle();
	for (i = 0; i < MAX_RINGS; i++)
		if (rings[i].there)
			log_ring(i);
	if (c->kind != C_REGISTER)
		return;
	/* where things are in new rings is not said */
	if (c->a[0] == IORING_REGISTER_RESIZE_RINGS)
		fprintf(out, "   sq %u cq %u\n", rings[c->ring].p.sq_entries,
			rings[c->ring].p.cq_entries);
	else
		fprintf(out, "   argument %08x\n", sum((void *)ARG(at), ARG_SIZE));
}

static void run_task(unsigned int task)
{
	const struct call *c;
	unsigned int i;
	long ret;

	for (i = 0; i < prog->nr; i++) {
		c = &prog->call[i];
		if (c->task != task || prog->dropped[i])
			continue;
		memcpy((void *)ARG(i), c->blob, c->blob_len);
		if (c->kind == C_EXIT && !out) {
			if (c->a[0] % 2)
				return;
			_exit(0);
		}
		ret = do_call(c);
		if (out)
			log_call(c, i, ret);
	}
}

/* What a program has left in its rings, and could not have while they were full */
static void log_kept(void)
{
	unsigned int i;

	over = true;
	settle();
	for (i = 0; i < MAX_RINGS; i++) {
		if (!rings[i].there)
			continue;
		collect(&rings[i]);
		log_cqes(i);
	}
}

static void nothing(int sig)
{
	(void)sig;
}

static void handle(int sig, void (*handler)(int sig))
{
	struct sigaction sa = { .sa_handler = handler };

	sigaction(sig, &sa, NULL);
}

/* A wait that nothing ends shows as -EINTR. */
static void bound_waits(void)
{
	struct itimerval it = { { 2, 0 }, { 2, 0 } };

	handle(SIGALRM, nothing);
	setitimer(ITIMER_REAL, &it, NULL);
}

void run_prog(const struct prog *p, FILE *log)
{
	struct stat st;
	unsigned int i;

	prog = p;
	out = log;
	signal(SIGPIPE, SIG_IGN);
	handle(SIGUSR1, nothing);
	handle(SIGUSR2, nudge);
	kept = keeps_words(p);
	world_open(p);
	if (out) {
		if (!stat("/proc/self/task", &st))
			alone = st.st_nlink;
		bound_waits();
	}
	run_task(0);
	for (i = 1; i < MAX_TASKS; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
	if (out) {
		if (prog->keeps)
			log_kept();
		world_state(prog, out);
		fflush(out);
	}
	_exit(0);
}
