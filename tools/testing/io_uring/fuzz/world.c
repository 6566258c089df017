// SPDX-License-Identifier: GPL-2.0
/* io_uring fuzz: the descriptors and the memory that a program starts with */
#include <dirent.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>

#include "fuzz.h"

#define FILE_SIZE	8192u

static char pattern[BUF_PAGES * PAGE];

uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

/* A folder of our own, in memory; the caller's folder from now on. */
void world_once(void)
{
	char path[64];
	unsigned int i;

	snprintf(path, sizeof(path), "/tmp/iou-fuzz-%d", getpid());
	if ((mkdir(path, 0777) && errno != EEXIST) || chdir(path)) {
		perror(path);
		exit(1);
	}
	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (i ^ i >> 8) * 31 + 7;
}

static void place(int slot, int fd)
{
	if (fd < 0 || fd == slot)
		return;
	dup3(fd, slot, O_CLOEXEC);
	close(fd);
}

static void place_two(int slot, int fd[2])
{
	place(slot, fd[0]);
	place(slot + 1, fd[1]);
}

static int fresh_file(const char *name, int flags)
{
	int fd;

	unlink(name);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (write(fd, pattern, FILE_SIZE) != FILE_SIZE)
		return fd;
	close(fd);
	return open(name, flags | O_CLOEXEC);
}

static void open_pipes(void)
{
	int two[2];

	if (!pipe2(two, O_CLOEXEC))
		place_two(FD_PIPE_R, two);
	if (!pipe2(two, O_CLOEXEC | O_NONBLOCK))
		place_two(FD_PIPE2_R, two);
	if (!pipe2(two, O_CLOEXEC)) {
		fcntl(two[1], F_SETPIPE_SZ, PAGE);
		if (write(two[1], pattern, PAGE) != PAGE)
			_exit(1);
		place_two(FD_FULL_R, two);
	}
	if (!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two))
		place_two(FD_SOCK1, two);
}

/* Files that take real time, and what waits for events of other kinds */
static void open_wild(void)
{
	const char *ext4 = getenv("IOU_EXT4");
	char path[256];
	sigset_t set;
	int fd;

	if (ext4) {
		snprintf(path, sizeof(path), "%s/fuzz", ext4);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (lseek(fd, 0, SEEK_END) < (off_t)sizeof(pattern) &&
		    pwrite(fd, pattern, sizeof(pattern), 0) < 0)
			_exit(1);
		place(FD_EXT_BUF, fd);
		place(FD_EXT, open(path, O_RDWR | O_DIRECT | O_CLOEXEC));
	}
	place(FD_NVME, open("/dev/nvme0n1", O_RDONLY | O_DIRECT | O_CLOEXEC));
	place(FD_EPOLL, epoll_create1(EPOLL_CLOEXEC));
	place(FD_TIMER, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	place(FD_SIGNAL, signalfd(-1, &set, SFD_CLOEXEC));
}

static void open_sockets(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "s" };
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = htons(TCP_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int two[2], one = 1, fd;

	unlink("s");
	unlink("l");
	unlink("d/a");
	rmdir("d");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !bind(fd, (void *)&un, sizeof(un)))
		listen(fd, 4);
	place(FD_LISTEN, fd);
	place(FD_CLIENT, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, two))
		place_two(FD_DGRAM1, two);
	/* without these two where an earlier program still has the port */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (void *)&in, sizeof(in)) || listen(fd, 4)) {
		close(fd);
		return;
	}
	place(FD_TCP_LISTEN, fd);
	two[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (two[0] >= 0 && !connect(two[0], (void *)&in, sizeof(in))) {
		two[1] = accept4(FD_TCP_LISTEN, NULL, NULL, SOCK_CLOEXEC);
		place(FD_TCP2, two[1]);
	}
	place(FD_TCP1, two[0]);
}

static void open_hole(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range = { AT(AREA_HOLE), HOLE_PAGES * PAGE },
	};
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		return;
	place(FD_UFFD, fd);
}

static void map(unsigned int first, unsigned int end, int prot, bool touch)
{
	char *mem = mmap((void *)AT(first), (end - first) * PAGE, prot,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE |
			 (touch ? MAP_POPULATE : 0), -1, 0);

	if (mem == MAP_FAILED)
		_exit(1);
}

void world_open(const struct prog *p)
{
	struct rlimit files = { 256, 256 };

	/* what belongs to the fuzzer is not a program's to write to */
	close_range(3, ~0u, 0);
	setrlimit(RLIMIT_NOFILE, &files);
	map(AREA_BUF, AREA_RO, PROT_READ | PROT_WRITE, false);
	memcpy((void *)AT(AREA_BUF), pattern, sizeof(pattern));
	map(AREA_RO, AREA_NONE, PROT_READ, true);
	map(AREA_ARGS, AREA_END, PROT_READ | PROT_WRITE, false);

	place(FD_TMP, fresh_file("t", O_RDWR));
	place(FD_TMP_NB, fresh_file("n", O_RDWR | O_NONBLOCK));
	place(FD_RDONLY, fresh_file("r", O_RDONLY | O_NONBLOCK));
	place(FD_APPEND, fresh_file("p", O_RDWR | O_APPEND | O_NONBLOCK));
	place(FD_MEM, memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	close(fresh_file("f", O_RDONLY));
	unlink("a");
	unlink("b");
	open_pipes();
	place(FD_EVENT, eventfd(0, EFD_CLOEXEC));
	place(FD_TOLD, eventfd(0, EFD_CLOEXEC));
	place(FD_ZERO, open("/dev/zero", O_RDWR | O_CLOEXEC));
	place(FD_NULL, open("/dev/null", O_RDWR | O_CLOEXEC));
	place(FD_DIR, open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	place(FD_NULLB, open("/dev/nullb0", O_RDWR | O_DIRECT | O_CLOEXEC));
	if (p->compared)
		return;
	map(AREA_HOLE, AREA_HOLE + HOLE_PAGES, PROT_READ | PROT_WRITE, false);
	open_hole();
	open_wild();
	open_sockets();
	place(FD_NG, open("/dev/ng0n1", O_RDWR | O_CLOEXEC));
}

static uint32_t hash(const void *data, size_t len)
{
	const unsigned char *b = data;
	uint32_t h = 2166136261u;
	uint64_t word;

	for (; len >= 8; len -= 8, b += 8) {
		memcpy(&word, b, 8);
		h = (h ^ (uint32_t)(word ^ word >> 29)) * 16777619u;
	}
	while (len--)
		h = (h ^ *b++) * 16777619u;
	return h;
}

static void file_state(int fd, FILE *log)
{
	static char buf[1 << 16];
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st)) {
		fprintf(log, "fd %d closed\n", fd);
	} else if (S_ISREG(st.st_mode)) {
		len = pread(fd, buf, sizeof(buf), 0);
		fprintf(log, "fd %d size %lld position %lld bytes %08x\n", fd,
			(long long)st.st_size, (long long)lseek(fd, 0, SEEK_CUR),
			hash(buf, len < 0 ? 0 : len));
	} else if (fd == FD_EVENT || fd == FD_TOLD) {
		/* how often a ring signals is not promised */
		fcntl(fd, F_SETFL, O_NONBLOCK);
		fprintf(log, "fd %d %s\n", fd, read(fd, buf, 8) == 8 ? "signalled" : "is 0");
	} else if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		fcntl(fd, F_SETFL, O_NONBLOCK);
		len = read(fd, buf, sizeof(buf));
		fprintf(log, "fd %d has %zd %08x\n", fd, len, len > 0 ? hash(buf, len) : 0);
	}
}

/* Which CQEs IORING_REGISTER_EVENTFD_ASYNC tells of is not to be relied on. */
static bool told_async(const struct prog *p)
{
	unsigned int i;

	for (i = 0; i < p->nr; i++)
		if (p->call[i].kind == C_REGISTER && !p->dropped[i] &&
		    p->call[i].a[0] == IORING_REGISTER_EVENTFD_ASYNC)
			return true;
	return false;
}

/* What is left when a compared program is over. */
void world_state(const struct prog *p, FILE *log)
{
	static const char * const names[] = { "f", "a", "b" };
	struct stat st;
	unsigned int i;
	int fd;

	for (i = 0; i < BUF_PAGES; i++) {
		uint32_t is = hash((void *)AT(AREA_BUF + i), PAGE);

		if (is != hash(pattern + i * PAGE, PAGE))
			fprintf(log, "page %u %08x\n", i, is);
	}
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!stat(names[i], &st))
			fprintf(log, "%s size %lld mode %o\n", names[i], (long long)st.st_size,
				st.st_mode);
	for (fd = 3; fd < RING_FD; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			fprintf(log, "fd %d open %#x %#x\n", fd, fcntl(fd, F_GETFL),
				fcntl(fd, F_GETFD));
	/* before the look at the pipes wakes requests */
	if (!told_async(p))
		file_state(FD_TOLD, log);
	for (fd = FD_FIRST; fd < FD_LAST_COMMON; fd++)
		if (fd != FD_TOLD)
			file_state(fd, log);
}
