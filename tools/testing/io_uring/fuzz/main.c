// SPDX-License-Identifier: GPL-2.0
/* io_uring fuzz: programs drawn from seeds */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fuzz.h"

#define TEXT		262144u	/* of what a compared program came to */
#define LOOK		200		/* programs between two looks for leaks */

static const char usage[] =
	"fuzz run FIRST COUNT SECONDS           programs that may do anything, until a finding\n"
	"fuzz one TRIES SEED[:CALL,...]...      these, again and again, without some calls\n"
	"fuzz leak TRIES SEED[:CALL,...]...     the same, and kmemleak looks behind each\n"
	"fuzz compare FIRST COUNT CPUS          a line each: seed, and a hash of what came of it\n"
	"fuzz list TRIES SEED[:CALL,...]...     the same, in words\n"
	"fuzz show SEED[:CALL,...]              what 'run' and 'one' do\n"
	"fuzz showc SEED[:CALL,...]             what 'compare' and 'list' do\n"
	"\n"
	"A line 'finding: ...' tells of a mistake of the kernel, which had better be booted\n"
	"anew then.  $FUZZ_SEED: a file that has the seed of the program that runs.\n";

static struct prog prog;

/* "SEED" or "SEED:3,4,9": a program, without these calls */
static void parse(const char *word, bool compared)
{
	char *at;
	uint64_t seed = strtoull(word, &at, 0);
	unsigned long call;

	gen_prog(&prog, seed, compared);
	while (*at == ':' || *at == ',') {
		call = strtoul(at + 1, &at, 0);
		if (call < MAX_CALLS)
			prog.dropped[call] = true;
	}
}

static uint32_t hash(const char *text, size_t len)
{
	uint32_t h = 2166136261u;

	while (len--)
		h = (h ^ (unsigned char)*text++) * 16777619u;
	return h;
}

/* Where to look for the seed when the machine is gone */
static void note(const char *word)
{
	static int fd = -2;
	char text[MAX_CALLS * 4 + 32];
	int len;

	if (fd == -2)
		fd = getenv("FUZZ_SEED") ?
		     open(getenv("FUZZ_SEED"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
	if (fd < 0)
		return;
	len = snprintf(text, sizeof(text), "%s\n", word);
	if (len >= (int)sizeof(text) || pwrite(fd, text, len, 0) != len)
		fd = -1;
}

static void note_seed(uint64_t seed)
{
	char word[24];

	snprintf(word, sizeof(word), "%llu", (unsigned long long)seed);
	note(word);
}

static int run(uint64_t first, uint64_t count, unsigned int seconds)
{
	uint64_t begin = now_us(), tell = begin, seed, looked = first;
	bool found = false;

	watch_start();
	found = watch_eyes();
	watch_leaks(first, first, false);
	for (seed = first; seed < first + count && !found; seed++) {
		if (now_us() - begin > seconds * 1000000ull)
			break;
		gen_prog(&prog, seed, false);
		note_seed(seed);
		found = watch_one(&prog);
		if (!found && seed + 1 - looked >= LOOK) {
			found = watch_leaks(looked, seed, false);
			looked = seed + 1;
		}
		if (now_us() - tell < 10000000)
			continue;
		tell = now_us();
		printf("  %4llu s: %llu programs\n", (unsigned long long)(tell - begin) / 1000000,
		       (unsigned long long)(seed + 1 - first));
	}
	if (!found)
		found = watch_leaks(first, seed - 1, true);
	printf("programs: %llu\n", (unsigned long long)(seed - first));
	return found;
}

static int one(unsigned int tries, bool leak, char **words)
{
	bool found = false;
	unsigned int i;

	watch_start();
	watch_leaks(0, 0, false);
	for (; *words && !found; words++) {
		parse(*words, false);
		note(*words);
		for (i = 0; i < tries && !found; i++)
			found = watch_one(&prog);
		if (!found)
			found = watch_leaks(prog.seed, prog.seed + 1, leak);
		if (found)
			printf("found: %s\n", *words);
	}
	return found;
}

/* Run what is in prog in a child; its result is in @text then. */
static size_t result(char *text)
{
	FILE *log;
	pid_t pid;
	int st;

	text[0] = 0;
	pid = fork();
	if (!pid) {
		log = fmemopen(text, TEXT, "w");
		run_prog(&prog, log);
	}
	while (waitpid(pid, &st, 0) != pid)
		;
	if (st)
		return sprintf(text, "the program died with status %#x\n", st);
	return strlen(text);
}

static void stay_on_cpu(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static char *shared_text(void)
{
	char *text = mmap(NULL, TEXT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return text == MAP_FAILED ? NULL : text;
}

/* One part of the programs, on one CPU: what shares a CPU races less. */
static void compare_part(uint64_t first, uint64_t count, unsigned int part, unsigned int parts)
{
	char *text = shared_text();
	uint64_t seed;
	size_t len;

	world_once();
	stay_on_cpu(part);
	for (seed = first + part; text && seed < first + count; seed += parts) {
		gen_prog(&prog, seed, true);
		note_seed(seed);
		len = result(text);
		printf("%llu %08x\n", (unsigned long long)seed, hash(text, len));
	}
}

static void compare(uint64_t first, uint64_t count, unsigned int parts)
{
	unsigned int part;

	for (part = 0; part < parts; part++) {
		if (fork())
			continue;
		compare_part(first, count, part, parts);
		exit(0);
	}
	while (wait(NULL) > 0)
		;
}

static void list(unsigned int tries, char **words)
{
	char *text = shared_text();
	unsigned int i;

	stay_on_cpu(0);
	for (; text && *words; words++) {
		parse(*words, true);
		for (i = 0; i < tries; i++) {
			result(text);
			printf("== %s\n%s", *words, text);
		}
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "sleep"))
		return usleep(5000);
	if (argc < 3 || (argc == 3 && strncmp(argv[1], "show", 4))) {
		fputs(usage, stderr);
		return 2;
	}
	if (!strncmp(argv[1], "show", 4)) {
		parse(argv[2], argv[1][4]);
		print_prog(stdout, &prog);
		return 0;
	}
	world_once();
	if (!strcmp(argv[1], "run") && argc == 5)
		return run(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0),
			   atoi(argv[4]));
	if (!strcmp(argv[1], "one") || !strcmp(argv[1], "leak"))
		return one(atoi(argv[2]), argv[1][0] == 'l', argv + 3);
	if (!strcmp(argv[1], "compare") && argc == 5)
		compare(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0), atoi(argv[4]));
	else if (!strcmp(argv[1], "list"))
		list(atoi(argv[2]), argv + 3);
	return 0;
}
