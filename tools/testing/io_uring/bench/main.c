// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: set-up, the measuring loop, the report */

/*
 * Runs as init of a small guest, from an initramfs that holds little else, or
 * as an ordinary program.  Five modes:
 *
 *	count	each row runs once unmeasured and then REPEATS times between two
 *		marks, which the counting plugin sees; no clock is read.  It has a
 *		process of its own: workers that a row before it left idle would share
 *		the file table, and looking up a descriptor would cost more
 *	wall	each row runs for SLICES short whiles, the best time for an
 *		operation is told
 *	pace	one thread sends messages to another at a fixed pace, see threads.c
 *	demo	multishot polls, fed by other tasks, see demo.c; jobs handed to
 *		workers, see threads.c; servers and proxies, see serve.c
 *	exec	each line of /programs runs between two marks: a name, how many
 *		operations it does, and a command without quotes
 *
 * The report goes to /dev/ttyS1 where that is a line of its own, else to stdout,
 * after the last row: a console's interrupts would fall into the next region.
 *
 *	version <uname -r>
 *	size <slab cache> <bytes of an object>
 *	row <name> <batch> <operations a region> <number of the first region> <regions>
 *	wall <name> <picoseconds an operation>
 *	exec <name> <operations> <number of the region>
 *	demo <CQEs waited for> <CQEs> <nanoseconds> <times slept>
 *	pace <microseconds> <possible> <of 1,000 in the best tenth> <sent> <its percentiles>
 *		<received> <its percentiles>
 *	serve <name> <connections or packets> <nanoseconds>
 *	hand <way> <jobs at a time> <nanoseconds> <jobs> <their percentiles>
 *	fail <name> <errno> <text>
 *	done
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define REPEATS		5
#define SLICES		20
#define SLICE_NSEC	5000000ull

/**
 * struct shared - what the rows' processes share with their parent
 * @nr_regions:	regions that were marked
 * @report_len:	bytes of @report_text
 * @report_text: the report
 */
static struct shared {
	unsigned int	nr_regions;
	size_t		report_len;
	char		report_text[1 << 16];
} *shared;

static int shared_open(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return shared == MAP_FAILED ? -errno : 0;
}

static void report(const char *fmt, ...)
{
	size_t left = sizeof(shared->report_text) - shared->report_len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(shared->report_text + shared->report_len, left, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < left)
		shared->report_len += n;
}

static void report_write(bool init)
{
	int fd = init ? open("/dev/ttyS1", O_WRONLY | O_NOCTTY) : -1;
	size_t done = 0;

	while (done < shared->report_len) {
		ssize_t n = write(fd < 0 ? 1 : fd, shared->report_text + done,
				  shared->report_len - done);

		if (n <= 0)
			break;
		done += n;
	}
	if (fd >= 0) {
		tcdrain(fd);
		close(fd);
	}
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -errno : 0;
}

/* A null_blk whose requests end in a timer's interrupt, 10 us later. */
static void make_timer_device(void)
{
	static const char dir[] = "/sys/kernel/config/nullb/nullt";
	static const char * const set[][2] = {
		{ "size", "16384" }, { "irqmode", "2" }, { "completion_nsec", "10000" },
		{ "submit_queues", "1" }, { "hw_queue_depth", "1024" }, { "power", "1" },
	};
	char path[128];
	size_t i;

	if (mkdir(dir, 0755))
		return;
	for (i = 0; i < ARRAY_SIZE(set); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, set[i][0]);
		put(path, set[i][1]);
	}
}

static int make_cached_file(void)
{
	static unsigned char block[BLOCK];
	int fd = open("/tmp/cached", O_RDWR | O_CREAT | O_TRUNC, 0600);
	unsigned int i;

	if (fd < 0)
		return -errno;
	for (i = 0; i < CACHED_BLOCKS; i++)
		if (write(fd, block, sizeof(block)) != sizeof(block))
			break;
	close(fd);
	return i == CACHED_BLOCKS ? 0 : -EIO;
}

/* It is found while init runs. */
static void wait_for_drive(void)
{
	int i;

	for (i = 0; i < 1000 && access("/dev/ng0n1", F_OK); i++)
		usleep(10000);
}

/* The kernel was booted on the first CPU alone. */
static void start_cpus(void)
{
	char path[64];
	int cpu, fd;

	for (cpu = 1;; cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		fd = open(path, O_WRONLY);
		if (fd < 0)
			return;
		if (write(fd, "1", 1) != 1)
			report("fail cpu%d %d %s\n", cpu, errno, strerror(errno));
		close(fd);
	}
}

static void init_machine(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	mount("configfs", "/sys/kernel/config", "configfs", 0, NULL);
	start_cpus();
	make_timer_device();
}

static void report_machine(void)
{
	static const char * const caches[] = { "io_kiocb", "io_ring_ctx" };
	struct utsname uts;
	char path[128], text[32];
	size_t i;

	uname(&uts);
	report("version %s\n", uts.release);
	for (i = 0; i < ARRAY_SIZE(caches); i++) {
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/object_size", caches[i]);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (n > 0)
			report("size %s %d\n", caches[i], atoi(text));
	}
}

static int register_resources(struct bench *b)
{
	const struct row *row = b->row;
	struct iovec vec[MAX_BATCH];
	unsigned int i;
	int ret = 0;

	if (row->flags & ROW_FIXED_FILE)
		ret = ring_register(&b->ring, IORING_REGISTER_FILES, &b->fd, 1);
	if (!ret && row->flags & ROW_FIXED_BUF) {
		for (i = 0; i < MAX_BATCH; i++) {
			vec[i].iov_base = b->buf + i * BLOCK;
			vec[i].iov_len = BLOCK;
		}
		ret = ring_register(&b->ring, IORING_REGISTER_BUFFERS, vec, MAX_BATCH);
	}
	if (!ret && row->flags & ROW_EVENTFD) {
		b->event_fd = eventfd(0, EFD_NONBLOCK);
		ret = ring_register(&b->ring, IORING_REGISTER_EVENTFD, &b->event_fd, 1);
	}
	return ret;
}

static void row_close(struct bench *b)
{
	if (b->sharer) {
		kill(b->sharer, SIGKILL);
		waitpid(b->sharer, NULL, 0);
	}
	if (b->target.fd >= 0)
		ring_close(&b->target);
	if (b->ring.fd >= 0)
		ring_close(&b->ring);
	if (b->aio)
		syscall(__NR_io_destroy, b->aio);
	if (b->fd >= 0)
		close(b->fd);
	if (b->event_fd >= 0)
		close(b->event_fd);
	while (b->nr_pipes--) {
		close(b->pipes[b->nr_pipes][0]);
		close(b->pipes[b->nr_pipes][1]);
	}
	munmap(b->buf, MAX_BATCH * BLOCK);
}

/* A task that sleeps and shares the file table; it is gone for good once waited for. */
static int open_sharer(struct bench *b)
{
	long pid = syscall(__NR_clone, CLONE_FILES | SIGCHLD, 0, NULL, NULL, 0);

	if (!pid)
		for (;;)
			pause();
	b->sharer = pid < 0 ? 0 : pid;
	return pid < 0 ? -errno : 0;
}

static int row_open(struct bench *b, const struct row *row)
{
	int ret = 0;

	memset(b, 0, sizeof(*b));
	b->row = row;
	b->ring.fd = -1;
	b->target.fd = -1;
	b->fd = -1;
	b->event_fd = -1;
	b->seed = 42;
	b->buf = mmap(NULL, MAX_BATCH * BLOCK, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (b->buf == MAP_FAILED)
		return -ENOMEM;
	memset(b->buf, 0x5a, MAX_BATCH * BLOCK);
	if (row->dev) {
		b->fd = open(row->dev, O_RDWR | (row->flags & ROW_BUFFERED ? 0 : O_DIRECT));
		if (b->fd < 0)
			ret = -errno;
	}
	if (!ret && row->flags & ROW_AIO) {
		if (syscall(__NR_io_setup, MAX_BATCH, &b->aio))
			ret = -errno;
	} else if (!ret && row->flags & ROW_RING) {
		ret = ring_open(&b->ring, row);
		if (!ret)
			ret = register_resources(b);
		else
			b->ring.fd = -1;
	}
	if (!ret && row->open)
		ret = row->open(b);
	if (!ret && row->flags & ROW_SHARED_FD)
		ret = open_sharer(b);
	if (ret)
		row_close(b);
	return ret;
}

/* A row that marks parts: each is a region, of as many operations as one write wakes. */
static int count_parts(struct bench *b)
{
	const struct row *row = b->row;
	int ret = row->run(b, row_rounds(row));

	b->marking = true;
	if (!ret)
		ret = row->run(b, row_rounds(row) * REPEATS);
	if (!ret)
		report("row %s %u %u %u %u\n", row->name, row->batch, row->len,
		       shared->nr_regions, b->marked);
	shared->nr_regions += b->marked;
	return ret;
}

/* Once to warm up (allocations, workers, page tables), then what is measured. */
static int count_row(struct bench *b)
{
	const struct row *row = b->row;
	unsigned int first = shared->nr_regions;
	int ret = row->run(b, row_rounds(row));
	int i;

	for (i = 0; !ret && i < REPEATS; i++) {
		mark_begin();
		ret = row->run(b, row_rounds(row));
		mark_end();
		shared->nr_regions++;
	}
	if (!ret)
		report("row %s %u %u %u %u\n", row->name, row->batch,
		       row->batch * row_rounds(row), first, shared->nr_regions - first);
	return ret;
}

__u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* The best of many short slices: what else the host does only ever adds. */
static int wall_row(struct bench *b)
{
	const struct row *row = b->row;
	__u64 best = ~0ull;
	int ret = row->run(b, row_rounds(row));
	int i;

	for (i = 0; !ret && i < SLICES; i++) {
		__u64 ops = 0, spent = 0, start = now();

		while (!ret && spent < SLICE_NSEC) {
			ret = row->run(b, row_rounds(row));
			ops += row->batch * row_rounds(row);
			spent = now() - start;
		}
		if (ops && spent * 1000 / ops < best)
			best = spent * 1000 / ops;
	}
	if (!ret)
		report("wall %s %llu\n", row->name, (unsigned long long)best);
	return ret;
}

#define MAX_WORDS	40

/* One command, counted from fork to exit. */
static int exec_words(char **words)
{
	int status;
	pid_t pid;

	mark_begin();
	pid = fork();
	if (!pid) {
		execv(words[0], words);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	mark_end();
	shared->nr_regions++;
	return status;
}

static void exec_programs(void)
{
	char line[1024], *words[MAX_WORDS + 1];
	FILE *file = fopen("/programs", "r");

	if (!file) {
		report("fail /programs %d %s\n", errno, strerror(errno));
		return;
	}
	while (fgets(line, sizeof(line), file)) {
		char *word = strtok(line, "\n ");
		int n, status;

		for (n = 0; word && n < MAX_WORDS; n++) {
			words[n] = word;
			word = strtok(NULL, "\n ");
		}
		words[n] = NULL;
		if (n < 3)
			continue;
		status = exec_words(words + 2);
		if (status)
			report("fail %s %d ended with status %#x\n", words[0], EIO, status);
		else
			report("exec %s %s %u\n", words[0], words[1],
			       shared->nr_regions - 1);
	}
	fclose(file);
}

static void report_latency(const struct latency *latency)
{
	int i;

	report(" %llu", (unsigned long long)latency->nr);
	for (i = 0; i < NR_PERCENTILES; i++)
		report(" %u", latency->percentile[i]);
}

#define PACE_NSEC	3000000000ull

static void run_pace(void)
{
	static const unsigned int periods[] = { 10, 20, 100, 200 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		struct paced paced;
		int ret = pace_run(periods[i], PACE_NSEC, &paced);

		if (ret) {
			report("fail pace %d %s\n", -ret, strerror(-ret));
			continue;
		}
		report("pace %u %llu %u", periods[i], (unsigned long long)paced.possible,
		       paced.best);
		report_latency(&paced.sender);
		report_latency(&paced.receiver);
		report("\n");
	}
}

/* @run a row in a process of its own. */
static void run_alone(void (*run)(const struct row *row, unsigned int how), const struct row *row,
		      unsigned int how)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		run(row, how);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		report("fail %s %d its process failed\n", row->name, EIO);
}

#define DEMO_NSEC	2000000000ull

#define HAND_NSEC	1000000000ull

#define SERVED		10000		/* connections */
#define PROXIED		100000		/* packets */

/* A server's or proxy's row, for a number of connections or packets: the time of its own part. */
static void run_server(const struct row *row, unsigned int nr)
{
	struct bench b;
	int ret = row_open(&b, row);

	if (!ret) {
		ret = row->run(&b, 2);
		b.timing = true;
		if (!ret)
			ret = row->run(&b, nr / row->batch);
		row_close(&b);
	}
	if (ret)
		report("fail %s %d %s\n", row->name, -ret, strerror(-ret));
	else
		report("serve %s %u %llu\n", row->name, nr / row->batch * row->batch,
		       (unsigned long long)b.part_nsec);
}

static void run_servers(void)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		bool proxy = !strncmp(rows[i].name, "proxy", 5);

		if (proxy || !strncmp(rows[i].name, "accept-echo", 11))
			run_alone(run_server, &rows[i], proxy ? PROXIED : SERVED);
	}
}

/* One way to hand jobs over, this many to each worker at a time. */
static void run_hand(bool rings, unsigned int nr)
{
	struct handed handed;
	int ret = hand_run(rings, nr, HAND_NSEC, &handed);

	if (ret) {
		report("fail hand %d %s\n", -ret, strerror(-ret));
		return;
	}
	report("hand %s %u %llu", rings ? "rings" : "queue", nr, (unsigned long long)handed.nsec);
	report_latency(&handed.jobs);
	report("\n");
}

static void run_demo(void)
{
	static const struct row row = { .name = "demo", .len = MAX_BATCH / MAX_PIPES,
		.setup = DEFER, .flags = ROW_RING, .open = open_aux };
	static const unsigned int waits[] = { 1, 8, 32 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(waits); i++) {
		struct bench b;
		struct demo demo;
		int ret = row_open(&b, &row);

		if (!ret) {
			ret = demo_run(&b, waits[i], DEMO_NSEC, &demo);
			row_close(&b);
		}
		if (ret)
			report("fail demo %d %s\n", -ret, strerror(-ret));
		else
			report("demo %u %llu %llu %llu\n", waits[i],
			       (unsigned long long)demo.cqes, (unsigned long long)demo.nsec,
			       (unsigned long long)demo.wakes);
	}
}

#define SMP_NSEC	500000000ull

/* A load of several CPUs, in a process of its own. */
static void run_smp(const struct row *row, unsigned int nr)
{
	struct smp_result result;
	const char *name;
	int ret = smp_run(nr, SMP_NSEC, &name, &result);

	(void)row;
	if (ret)
		report("fail %s %d %s\n", name, -ret, strerror(-ret));
	else
		report("smp %s %llu %llu %llu\n", name, (unsigned long long)result.ops,
		       (unsigned long long)result.nsec, (unsigned long long)result.kernel_nsec);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void run_row(const struct row *row, unsigned int wall)
{
	struct bench b;
	int ret = row_open(&b, row);

	if (!ret) {
		bool parts = row->flags & (ROW_WAKE | ROW_RUN);

		alarm(20);
		if (parts)
			ret = wall ? 0 : count_parts(&b);
		else
			ret = wall ? wall_row(&b) : count_row(&b);
		alarm(0);
		row_close(&b);
	}
	if (ret)
		report("fail %s %d %s\n", row->name, -ret, strerror(-ret));
}

/* Return: true if the kernel has what rows with ROW_LATER need. */
static bool is_later(void)
{
	struct utsname name;

	return !uname(&name) && atoi(name.release) >= 7;
}

/*
 * bench [count|wall|pace|smp|demo|exec] [part of a row's name]; init takes them from the kernel's
 * command line, as bench_mode= and bench_rows=, which come as its environment.  With bench_drive=
 * the rows of an NVMe drive run, else the others.
 */
int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	bool init = getpid() == 1;
	const char *mode = init ? getenv("bench_mode") : argv[1];
	const char *only = init ? getenv("bench_rows") : argc > 2 ? argv[2] : NULL;
	bool wall = mode && !strcmp(mode, "wall");
	bool exec = mode && !strcmp(mode, "exec");
	bool demo = mode && !strcmp(mode, "demo");
	bool pace = mode && !strcmp(mode, "pace");
	bool smp = mode && !strcmp(mode, "smp");
	bool drive = getenv("bench_drive");
	unsigned int i;

	if (shared_open())
		return 1;
	sigaction(SIGALRM, &sa, NULL);
	if (init)
		init_machine();
	if (drive)
		wait_for_drive();
	make_cached_file();
	report_machine();
	if (exec)
		exec_programs();
	if (demo) {
		run_demo();
		for (i = 1; i <= 8; i *= 8) {
			run_hand(false, i);
			run_hand(true, i);
		}
		run_servers();
	}
	if (pace)
		run_pace();
	for (i = 0; smp && i < smp_loads(); i++)
		run_alone(run_smp, &(const struct row){ .name = "smp" }, i);
	for (i = 1; smp && i <= 8; i *= 8) {
		run_hand(false, i);
		run_hand(true, i);
	}
	for (i = 0; i < nr_rows && !exec && !demo && !pace && !smp; i++)
		if (drive == !!(rows[i].flags & ROW_DRIVE) &&
		    (!(rows[i].flags & ROW_LATER) || is_later()) &&
		    (!only || strstr(rows[i].name, only)))
			run_alone(run_row, &rows[i], wall);
	report("done\n");
	report_write(init);
	if (init)
		reboot(RB_POWER_OFF);
	return 0;
}
