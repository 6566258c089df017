// SPDX-License-Identifier: GPL-2.0
/* io_uring fuzz: run a program apart, end it, and see whether the kernel took harm */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "fuzz.h"

#define GROUP	"/sys/fs/cgroup/fuzz/"

/* Words of the kernel's log that tell of a bug; the runner reads all of it afterwards. */
static const char * const words[] = {
	"BUG: ", "BUG at", "WARNING: ", "KASAN: ", "UBSAN: ", "ODEBUG: ", "KCSAN: ", "Oops",
	"blocked for more than", "INFO: possible", "INFO: trying", "INFO: suspicious",
	"rcu: INFO", "inconsistent lock", "suspicious RCU", "bad unlock", "held lock freed",
	"lock held when", "general protection", "unable to handle", "refcount_t: ",
	"list_add corruption", "list_del corruption", "soft lockup", "scheduling while",
	"sleeping function", "Bad page", "Bad rss", "unreferenced object", "nobody cared",
	"possible recursive", "possible circular",
};

unsigned int patience = 20;
static unsigned int deadline_ms = 300;
static int kmsg = -1;

/*
 * What is counted before and after: names of slabs, and how many more may be there.  A slab
 * in use by a CPU counts as a whole.
 */
static struct {
	const char *slab;
	unsigned int more;
	long base, now;
} counted[] = {
	{ "io_kiocb", 0 }, { "filp", 128 }, { "task_struct", 32 }, { "mm_struct", 64 },
	{ "signal_cache", 64 },
};

static long base_charge;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* not every kernel has everything, and memory.reclaim may find less */
	if (write(fd, text, strlen(text)) < 0 && errno != EAGAIN && errno != EINVAL)
		fprintf(stderr, "%s: %m\n", path);
	close(fd);
}

static bool get(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, text, size - 1);
	close(fd);
	text[len < 0 ? 0 : len] = 0;
	return len > 0;
}

static long number(const char *path)
{
	char text[64];

	return get(path, text, sizeof(text)) ? strtol(text, NULL, 0) : -1;
}

/* What fails on purpose: for tasks that ask for it, quietly. */
static void arm_faults(void)
{
	static const char * const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	static const char * const set[][2] = {
		{ "probability", "0" }, { "interval", "1" }, { "times", "-1" },
		{ "verbose", "0" }, { "task-filter", "Y" },
	};
	char path[128];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (j = 0; j < ARRAY_SIZE(set); j++) {
			snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", kinds[i],
				 set[j][0]);
			put(path, set[j][1]);
		}
	}
	put("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
}

static void set_chance(unsigned int percent)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", percent);
	put("/sys/kernel/debug/failslab/probability", text);
	put("/sys/kernel/debug/fail_page_alloc/probability", text);
	put("/sys/kernel/debug/fail_usercopy/probability", text);
}

void watch_start(void)
{
	sigset_t set;

	late_wakes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* KASAN, lock debugging and an emulator: all of it takes several times as long */
	if (!access("/proc/lockdep", F_OK)) {
		patience *= 2;
		deadline_ms *= 2;
	}
	put("/sys/fs/cgroup/cgroup.subtree_control", "+memory +pids");
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		perror(GROUP);
	put(GROUP "memory.max", "268435456");
	put(GROUP "pids.max", "200");
	put("/sys/kernel/debug/kmemleak", "scan=off");
	arm_faults();
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	lseek(kmsg, 0, SEEK_END);
}

/* What the kernel has said since the last look */
bool watch_reports(uint64_t seed)
{
	char line[8192], *text;
	bool found = false;
	unsigned int i;
	ssize_t len;

	while ((len = read(kmsg, line, sizeof(line) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		if (len < 0)
			continue;
		line[len] = 0;
		text = strchr(line, ';');
		text = text ? text + 1 : line;
		text[strcspn(text, "\n")] = 0;
		for (i = 0; i < ARRAY_SIZE(words) && !found; i++) {
			if (!strstr(text, words[i]))
				continue;
			printf("finding: seed %llu: %s\n", (unsigned long long)seed, text);
			found = true;
		}
	}
	return found;
}

static void print_file(const char *format, int pid, int tid)
{
	char path[128], text[8192];

	snprintf(path, sizeof(path), format, pid, tid);
	if (get(path, text, sizeof(text)))
		printf("  %s\n", text);
}

/* Where every thread of @pid stands */
static void print_task(int pid)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		print_file("/proc/%d/task/%d/stat", pid, atoi(e->d_name));
		print_file("/proc/%d/task/%d/stack", pid, atoi(e->d_name));
	}
	if (dir)
		closedir(dir);
}

static void print_group(void)
{
	char text[4096], *at = text;
	int pid;

	if (!get(GROUP "cgroup.procs", text, sizeof(text)))
		return;
	while ((pid = strtol(at, &at, 10)))
		print_task(pid);
	put("/proc/sysrq-trigger", "w");
}

static void nap(unsigned int us)
{
	struct timespec ts = { .tv_nsec = us * 1000l };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &ts);
}

static bool populated(void)
{
	char text[128];

	return get(GROUP "cgroup.events", text, sizeof(text)) && strstr(text, "populated 1");
}

static void join_group(void)
{
	put(GROUP "cgroup.procs", "0");
}

/* An unrelated task uses io_uring. */
static bool stranger_hangs(uint64_t seed)
{
	uint64_t end = now_us() + patience * 1000000ull;
	struct io_uring_params p = { };
	pid_t pid = fork();

	if (!pid) {
		close(sys_setup(4, &p));
		_exit(0);
	}
	while (waitpid(pid, NULL, WNOHANG) != pid) {
		nap(2000);
		if (now_us() < end)
			continue;
		printf("finding: seed %llu: a stranger hangs beside it\n",
		       (unsigned long long)seed);
		print_task(pid);
		print_group();
		return true;
	}
	return false;
}

static bool number_behind(const char *text, const char *name, unsigned int *is)
{
	const char *at = strstr(text, name);

	if (!at)
		return false;
	*is = strtoul(at + strlen(name), NULL, 0);
	return true;
}

/* Does this thread sleep in io_uring_enter() for CQEs?  @missing: number that are not there */
static bool waits_for_cqes(int tid, int *missing)
{
	unsigned int fd, min, flags, mask, head, tail;
	char path[64], text[8192];

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	if (!get(path, text, sizeof(text)) ||
	    sscanf(text, "426 %x %*x %x %x", &fd, &min, &flags) != 3)
		return false;
	if (!(flags & IORING_ENTER_GETEVENTS) || flags & IORING_ENTER_REGISTERED_RING || !min ||
	    fd < RING_FD || fd >= RING_FD + MAX_RINGS)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stack", tid);
	/* while its arguments are read it does not wait yet */
	if (!get(path, text, sizeof(text)) || !strstr(text, "io_wait_cqes") ||
	    strstr(text, "handle_userfault"))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%u", tid, fd);
	if (!get(path, text, sizeof(text)) || !number_behind(text, "CqMask:", &mask) ||
	    !number_behind(text, "CqHead:", &head) || !number_behind(text, "CqTail:", &tail))
		return false;
	*missing = (int)(min > mask ? mask + 1 : min) - (int)(tail - head);
	return true;
}

/* A thread of the program that waits, for CQEs that are there or for some that are not */
static int who_waits(bool there)
{
	char text[4096], *at = text;
	int tid, missing;
	bool some;

	if (!get(GROUP "cgroup.threads", text, sizeof(text)))
		return 0;
	while ((tid = strtol(at, &at, 10))) {
		if (!waits_for_cqes(tid, &missing))
			continue;
		some = missing > 0;
		if (some != there)
			return tid;
	}
	return 0;
}

/* How often the program's threads have slept so far; 0 if one of them runs */
static unsigned int sleeps(void)
{
	char threads[4096], path[64], text[4096], *at = threads;
	unsigned int sum = 1, n, m;
	int tid;

	if (!get(GROUP "cgroup.threads", threads, sizeof(threads)))
		return 0;
	while ((tid = strtol(at, &at, 10))) {
		snprintf(path, sizeof(path), "/proc/%d/status", tid);
		if (!get(path, text, sizeof(text)) || strstr(text, "State:\tR") ||
		    !number_behind(text, "\nvoluntary_ctxt_switches:", &n) ||
		    !number_behind(text, "nonvoluntary_ctxt_switches:", &m))
			return 0;
		sum += n + m;
	}
	return sum;
}

static bool nothing_moves(void)
{
	unsigned int was = sleeps();

	if (!was)
		return false;
	usleep(100000);
	return sleeps() == was;
}

/*
 * Does another task wait for CQEs that would come if it only checked?  Then a signal makes them
 * appear, which do_enter() notices.
 */
static bool wake_missing(const struct prog *p)
{
	int tid = who_waits(false);

	if (!tid || !nothing_moves())
		return false;
	__atomic_store_n(late_wakes, 0, __ATOMIC_SEQ_CST);
	if (syscall(SYS_tkill, tid, SIGUSR2))
		return false;
	usleep(50000);
	if (!__atomic_load_n(late_wakes, __ATOMIC_SEQ_CST))
		return false;
	printf("finding: seed %llu: a signal makes CQEs appear that task %d waits for\n",
	       (unsigned long long)p->seed, tid);
	return true;
}

/* Does another task wait for CQEs that are there?  A wake-up may be on its way now. */
static bool wake_lost(const struct prog *p)
{
	uint64_t end = now_us() + patience * 1000000ull;
	int tid;

	while ((tid = who_waits(true))) {
		nap(2000);
		if (now_us() < end)
			continue;
		printf("finding: seed %llu: task %d waits for CQEs that are there\n",
		       (unsigned long long)p->seed, tid);
		print_file("/proc/%d/syscall", tid, 0);
		print_group();
		return true;
	}
	return false;
}

/* Return: when it stands in its group, so that a kill of that finds it */
static pid_t start(const struct prog *p)
{
	int joined[2], input;
	sigset_t none;
	pid_t pid;

	if (pipe2(joined, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid) {
		close(joined[1]);
		input = read(joined[0], &input, 1);
		close(joined[0]);
		return pid;
	}
	join_group();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close(joined[0]);
	close(joined[1]);
	setpgid(0, 0);
	input = open("/dev/null", O_RDWR);
	dup2(input, 0);
	if (p->chance)
		put("/proc/self/make-it-fail", "1");
	run_prog(p, NULL);
}

/* Run @p, kill what is left of it, and tell whether something is wrong then. */
bool watch_one(const struct prog *p)
{
	bool found = false;
	uint64_t end;
	pid_t pid;

	if (p->chance)
		set_chance(p->chance);
	pid = start(p);
	end = now_us() + (p->kill_us ? p->kill_us : deadline_ms * 1000);
	while (now_us() < end && waitpid(pid, NULL, WNOHANG) != pid)
		nap(p->kill_us ? 300 : 2000);
	if (p->canary)
		found = stranger_hangs(p->seed);
	if (!found && keeps_words(p))
		found = wake_lost(p) || (!p->kill_us && wake_missing(p));
	put(GROUP "cgroup.kill", "1");
	end = now_us() + patience * 1000000ull;
	while (!found) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (!populated())
			break;
		nap(1000);
		if (now_us() < end)
			continue;
		printf("finding: seed %llu: a task lives %u s after SIGKILL\n",
		       (unsigned long long)p->seed, patience);
		print_group();
		found = true;
	}
	if (p->chance)
		set_chance(0);
	return watch_reports(p->seed) || found;
}

static bool print_leaks(void)
{
	char line[512];
	unsigned int n = 0, lines = 0;
	FILE *f = fopen("/sys/kernel/debug/kmemleak", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "unreferenced object"))
			n++;
		if (lines++ < 120)
			printf("  %s", line);
	}
	if (f)
		fclose(f);
	return n;
}

static bool scan_leaks(void)
{
	unsigned int i;

	/* what is young, or moved while it looked, is told at a later scan only */
	for (i = 0; i < 3; i++) {
		put("/sys/kernel/debug/kmemleak", "scan");
		sleep(i == 2 ? 0 : 6);
	}
	return print_leaks();
}

static bool too_many(void)
{
	char path[128];
	bool more = false;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		/* this takes what is free from the CPUs and from KASAN's quarantine */
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", counted[i].slab);
		put(path, "1");
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/objects", counted[i].slab);
		counted[i].now = number(path);
		more |= counted[i].now > counted[i].base + counted[i].more;
	}
	return more;
}

static long charge(void)
{
	put(GROUP "memory.reclaim", "268435456");
	return number(GROUP "memory.current");
}

/*
 * Wait until as much is there as before the first program, and tell if that does not come
 * about.  The first call looks what is there.
 */
bool watch_leaks(uint64_t first, uint64_t last, bool final)
{
	uint64_t end = now_us() + patience * 1000000ull;
	unsigned int i;
	bool more;
	long c;

	if (first == last) {
		too_many();
		for (i = 0; i < ARRAY_SIZE(counted); i++)
			counted[i].base = counted[i].now;
		return false;
	}
	while ((more = too_many()) && now_us() < end)
		usleep(200000);
	c = charge();
	if (!base_charge)
		base_charge = c;
	more |= c > base_charge + (8 << 20);
	for (i = 0; i < ARRAY_SIZE(counted); i++)
		printf("  %s %ld (%ld)", counted[i].slab, counted[i].now, counted[i].base);
	printf("  charge %ld KiB (%ld)\n", c / 1024, base_charge / 1024);
	if (more) {
		printf("finding: seeds %llu to %llu: a leak\n", (unsigned long long)first,
		       (unsigned long long)last);
		return true;
	}
	if (final && scan_leaks()) {
		printf("finding: seeds %llu to %llu: kmemleak\n", (unsigned long long)first,
		       (unsigned long long)last);
		return true;
	}
	return false;
}

/* Does the check for tasks that outlive SIGKILL see one that was not killed? */
static bool sees_tasks(void)
{
	uint64_t end = now_us() + patience * 1000000ull;
	bool seen = false, gone = false;
	pid_t pid = fork();

	if (!pid) {
		join_group();
		for (;;)
			pause();
	}
	while (!(seen = populated()) && now_us() < end)
		nap(1000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (!(gone = !populated()) && now_us() < end)
		nap(1000);
	return seen && gone;
}

/* Does a call fail for a task that writes to this file that its allocations shall? */
static bool fault_comes(const char *file)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		int fd = open(file, O_RDWR | O_CLOEXEC);
		int fds[2];

		_exit(write(fd, "1", 1) != 1 || !pipe(fds));
	}
	waitpid(pid, &status, 0);
	return !status;
}

/* Do allocations fail on request, by chance and by number? */
static bool sees_faults(void)
{
	bool seen;

	set_chance(100);
	seen = fault_comes("/proc/self/make-it-fail");
	set_chance(0);
	return fault_comes("/proc/thread-self/fail-nth") && seen;
}

/* Do files show in the count of their slab? */
static bool sees_slabs(void)
{
	const unsigned int more = 512;
	int fds[512];
	unsigned int i;
	bool seen;

	watch_leaks(0, 0, false);
	for (i = 0; i < more; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	seen = too_many();
	for (i = 0; i < more; i++)
		close(fds[i]);
	return seen;
}

/* What cannot see a fault finds none: look at some that were made on purpose. */
bool watch_eyes(void)
{
	bool inject = !access("/sys/kernel/debug/failslab", F_OK);

	if (!inject)
		printf("eyes: no fault injection\n");
	if (!sees_tasks())
		printf("finding: eyes: a task that lives is not seen\n");
	else if (inject && !sees_faults())
		printf("finding: eyes: allocations do not fail on purpose\n");
	else if (!sees_slabs())
		printf("finding: eyes: files do not count\n");
	else
		return false;
	return true;
}
