// SPDX-License-Identifier: GPL-2.0
/* io_uring selftests: BPF loops, programs that drive a ring */
/*
 * The BPF programs are in loop.bpf.c.  They are loaded once, before the tests fork.  A loop is a
 * map that names a program and a ring, and a link that attaches it.  Tests create both by hand, so
 * that one load serves all rings.
 */
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../iou_test.h"
#include "loop.h"

enum { CONTINUE, STOP };

#define REWIND	(IOU_DEFER | IORING_SETUP_NO_SQARRAY | IORING_SETUP_SQ_REWIND)
/* within the value of a map: the struct follows a header that has a cache line */
#define OPS_AT	64

static struct bpf_object *obj;
static struct bpf_map_info info;
static volatile struct loop_data *data;
static volatile unsigned int alarms;

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return getenv("LOOP_VERBOSE") ? vfprintf(stderr, format, args) : 0;
}

static struct bpf_object *open_object(const char *name)
{
	char path[256];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 32);

	if (len < 0)
		return NULL;
	path[len] = 0;
	snprintf(strrchr(path, '/') + 1, 32, "%s", name);
	return bpf_object__open_file(path, NULL);
}

static __attribute__((constructor)) void load_programs(void)
{
	__u32 len = sizeof(info);
	struct bpf_map *map;
	size_t size;

	libbpf_set_print(quiet);
	obj = open_object("loop.bpf.o");
	if (!obj || bpf_object__load(obj)) {
		obj = NULL;
		return;
	}
	map = bpf_object__find_map_by_name(obj, "ops_scripted");
	if (bpf_map_get_info_by_fd(bpf_map__fd(map), &info, &len))
		obj = NULL;
	map = bpf_object__find_map_by_name(obj, ".bss");
	data = bpf_map__initial_value(map, &size);
}

/* Create a map for a program and a ring.  Return: its descriptor or a negative errno. */
static int loop_map(const char *name, int ring, unsigned int flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags,
		    .btf_fd = bpf_object__btf_fd(obj),
		    .btf_vmlinux_value_type_id = info.btf_vmlinux_value_type_id);
	struct bpf_program *prog = name ? bpf_object__find_program_by_name(obj, name) : NULL;
	char *value = calloc(1, info.value_size);
	int fd, ret, key = 0;

	fd = bpf_map_create(BPF_MAP_TYPE_STRUCT_OPS, "loop", sizeof(key), info.value_size, 1,
			    &opts);
	if (fd < 0)
		return -errno;
	*(unsigned long *)(value + OPS_AT) = prog ? bpf_program__fd(prog) : 0;
	*(unsigned int *)(value + OPS_AT + sizeof(long)) = ring;
	ret = bpf_map_update_elem(fd, &key, value, 0);
	free(value);
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

/* Attach a map.  Return: the descriptor of the link or a negative errno. */
static int loop_link(int map)
{
	int link = bpf_link_create(map, 0, BPF_STRUCT_OPS, NULL);

	return link < 0 ? -errno : link;
}

static int attach(const char *name, int ring)
{
	int map = loop_map(name, ring, BPF_F_LINK), link;

	if (map < 0)
		return map;
	link = loop_link(map);
	close(map);
	return link;
}

/* Forget the plan of the last loop. */
static void reset(struct iou *r)
{
	memset((void *)data, 0, sizeof(*data));
	data->head = r->p.cq_off.head;
	data->tail = r->p.cq_off.tail;
	data->cqes = r->p.cq_off.cqes;
	data->mask = r->p.cq_entries - 1;
}

/* Set a step of the plan, which ends with the first step that does not return CONTINUE. */
static volatile struct loop_plan *step(unsigned int i, int submit, int ret)
{
	data->plan[i].submit = submit;
	data->plan[i].ret = ret;
	return &data->plan[i];
}

static void step_wait(unsigned int i, int submit, unsigned int wait)
{
	step(i, submit, CONTINUE);
	data->plan[i].set_wait = 1;
	data->plan[i].wait = wait;
}

static int run(struct iou *r)
{
	return iou_enter(r, 0, 0, IORING_ENTER_GETEVENTS);
}

/* Write an SQE of a ring with SQ_REWIND. */
static struct io_uring_sqe *slot(struct iou *r, unsigned int i, int op,
				 unsigned long long user_data)
{
	struct io_uring_sqe *sqe = (struct io_uring_sqe *)r->sqes + i;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = op;
	sqe->user_data = user_data;
	return sqe;
}

static void on_alarm(int signal)
{
	alarms++;
}

static void alarm_in(unsigned int ms, int flags)
{
	struct itimerval timer = {
		.it_value = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 },
	};
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = flags };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

FIXTURE(loop) {
	struct iou r;
	int link;
};

FIXTURE_SETUP(loop)
{
	if (!obj)
		SKIP(return, "no BTF, or no BPF loops");
	ASSERT_EQ(iou_init(&self->r, 8, REWIND), 0);
	self->link = attach("scripted", self->r.fd);
	ASSERT_GE(self->link, 0);
	reset(&self->r);
}

FIXTURE_TEARDOWN(loop)
{
	close(self->link);
	iou_exit(&self->r);
}

TEST_F(loop, stop)
{
	step(0, LOOP_NONE, STOP);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->steps, 1);
	EXPECT_EQ(data->plan[0].before, 0);
}

/* Without a wait, a step follows the other; a step that returns another value is the last one. */
TEST_F(loop, steps)
{
	unsigned int i;

	for (i = 0; i < 5; i++)
		step(i, LOOP_NONE, CONTINUE);
	step(i, LOOP_NONE, STOP);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->steps, 6);
}

/* SQEs are submitted from within the program, which sees the CQEs of NOPs at once. */
TEST_F(loop, submit)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		slot(&self->r, i, IORING_OP_NOP, i);
	step_wait(0, 3, 3);
	step(1, 0, CONTINUE);
	step(2, 100, CONTINUE);
	step(3, LOOP_NONE, STOP);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->steps, 4);
	EXPECT_EQ(data->plan[0].submitted, 3);
	EXPECT_EQ(data->plan[0].tail, 0);
	EXPECT_EQ(data->plan[0].after, 3);
	EXPECT_EQ(data->plan[1].submitted, 0);
	EXPECT_EQ(data->plan[2].submitted, 8);
	EXPECT_EQ(data->plan[3].tail, 11);
	EXPECT_EQ(iou_ready(&self->r), 11);
	for (i = 0; i < 11; i++)
		EXPECT_EQ(iou_cqe_at(&self->r, i)->user_data, i < 3 ? i : i - 3);
}

TEST_F(loop, parameters_stay)
{
	step_wait(0, LOOP_NONE, -7);
	step(1, LOOP_NONE, CONTINUE);
	step(2, LOOP_NONE, STOP);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->plan[1].before, -7);
	EXPECT_EQ(data->plan[2].before, -7);
	/* a further call begins anew */
	data->next = 0;
	step(0, LOOP_NONE, STOP);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->plan[0].before, 0);
}

/* A position that the tail has reached or passed is no wait. */
TEST_F(loop, wait_for_the_past)
{
	unsigned int past[] = { 0, -1, -1000, 0x80000001 }, i;

	for (i = 0; i < ARRAY_LEN(past); i++) {
		reset(&self->r);
		step_wait(0, LOOP_NONE, past[i]);
		step(1, LOOP_NONE, STOP);
		EXPECT_EQ(run(&self->r), 0);
		EXPECT_EQ(data->steps, 2);
	}
}

/* If CQEs overflow, only the program can make room, so it gets the next step. */
TEST_F(loop, wait_with_a_full_queue)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		slot(&self->r, i, IORING_OP_NOP, i);
	step(0, 8, CONTINUE);
	step(1, 8, CONTINUE);
	step_wait(2, 8, 20);
	step(3, LOOP_NONE, STOP);
	alarm_in(5000, 0);
	EXPECT_EQ(run(&self->r), 0);
	alarm_in(0, 0);
	EXPECT_EQ(data->steps, 4);
	EXPECT_EQ(iou_ready(&self->r), 16);
	iou_seen(&self->r, 16);
	data->next = 3;
	EXPECT_EQ(run(&self->r), 0);
}

TEST_F(loop, wait_for_a_pipe)
{
	struct io_uring_sqe *sqe = slot(&self->r, 0, IORING_OP_READ, 5);
	int fds[2], status;
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(pipe(fds), 0);
	sqe->fd = fds[0];
	sqe->addr = iou_addr(&byte);
	sqe->len = 1;
	step_wait(0, 1, 1);
	step(1, LOOP_NONE, STOP);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		iou_sleep_ms(200);
		_exit(write(fds[1], "x", 1) != 1);
	}
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(byte, 'x');
	EXPECT_EQ(data->plan[0].after, 0);
	EXPECT_EQ(data->plan[1].tail, 1);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	close(fds[0]);
	close(fds[1]);
}

TEST_F(loop, signal_ends_wait)
{
	step_wait(0, LOOP_NONE, 1);
	alarm_in(200, 0);
	EXPECT_EQ(run(&self->r), -EINTR);
	EXPECT_EQ(data->steps, 1);
	EXPECT_EQ(alarms, 1);
	/* a position that the CQ cannot reach */
	reset(&self->r);
	step_wait(0, LOOP_NONE, 0x7fffffff);
	alarm_in(200, 0);
	EXPECT_EQ(run(&self->r), -EINTR);
	EXPECT_EQ(data->steps, 1);
	/* the call is not restarted */
	reset(&self->r);
	step_wait(0, LOOP_NONE, 1);
	alarm_in(200, SA_RESTART);
	EXPECT_EQ(run(&self->r), -EINTR);
	EXPECT_EQ(data->steps, 1);
	EXPECT_EQ(alarms, 3);
}

/* Mutant: loop-spins-on */
TEST_F(loop, signal_ends_spin)
{
	close(self->link);
	self->link = attach("spin", self->r.fd);
	ASSERT_GE(self->link, 0);
	alarm_in(300, 0);
	EXPECT_EQ(run(&self->r), -EINTR);
	EXPECT_EQ(alarms, 1);
	EXPECT_GT(data->steps, 2);
	data->stop = 1;
	EXPECT_EQ(run(&self->r), 0);
}

/* A task that waits or spins can be killed. */
TEST_F(loop, kill)
{
	static const char *const progs[] = { "scripted", "spin" };
	int status, i;
	pid_t pid;

	for (i = 0; i < 2; i++) {
		reset(&self->r);
		step_wait(0, LOOP_NONE, 1);
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			struct iou r;

			if (iou_init(&r, 8, REWIND) || attach(progs[i], r.fd) < 0)
				_exit(1);
			run(&r);
			_exit(2);
		}
		while (!data->steps && !waitpid(pid, &status, WNOHANG))
			iou_sleep_ms(10);
		iou_sleep_ms(100);
		EXPECT_EQ(kill(pid, SIGKILL), 0);
		EXPECT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

TEST_F(loop, nops)
{
	unsigned int batches[] = { 1, 3, 8 }, i;

	close(self->link);
	self->link = attach("nops", self->r.fd);
	ASSERT_GE(self->link, 0);
	for (i = 0; i < ARRAY_LEN(batches); i++) {
		reset(&self->r);
		data->left = 1000;
		data->batch = batches[i];
		EXPECT_EQ(run(&self->r), 0);
		EXPECT_EQ(data->error, 0);
		EXPECT_EQ(data->done, 1000);
		EXPECT_EQ(iou_ready(&self->r), 0);
	}
}

TEST_F(loop, copy)
{
	const size_t size = 10 * IOU_PAGE + 123;
	char *buf = iou_map_anon(IOU_PAGE), *all = iou_map_anon(11 * IOU_PAGE);
	int in = iou_file(11 * IOU_PAGE, 7), out = iou_file(0, 0);

	ASSERT_GE(in, 0);
	ASSERT_GE(out, 0);
	ASSERT_EQ(ftruncate(in, size), 0);
	close(self->link);
	self->link = attach("copy", self->r.fd);
	ASSERT_GE(self->link, 0);
	data->in = in;
	data->out = out;
	data->buffer = iou_addr(buf);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->error, 0);
	EXPECT_EQ(data->done, size);
	EXPECT_EQ(pread(out, all, 11 * IOU_PAGE, 0), (ssize_t)size);
	EXPECT_EQ(iou_verify(all, size, 0, 7), -1);
	close(in);
	close(out);
}

/* A step may sleep, in a page fault for example. */
TEST_F(loop, step_sleeps)
{
	int fd = iou_file(IOU_PAGE, 0);

	close(self->link);
	self->link = attach("sleeper", self->r.fd);
	ASSERT_GE(self->link, 0);
	data->address = (uintptr_t)mmap(NULL, IOU_PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	data->error = 1;
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->error, 0);
	data->address = 8;
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->error, -EFAULT);
	close(fd);
}

/* Return: true if a worker of the ring has run on a CPU last. */
static bool worker_is_on(int cpu)
{
	DIR *dir = opendir("/proc/self/task");
	char path[64], text[512], *at;
	struct dirent *entry;
	bool found = false;
	int fd, i;

	while (dir && !found && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/stat", entry->d_name);
		fd = open(path, O_RDONLY);
		i = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		close(fd);
		if (i <= 0)
			continue;
		text[i] = 0;
		at = strrchr(text, ')');
		if (!at || !strstr(text, "(iou-wrk"))
			continue;
		/* the CPU is field 39, and the second ends with the bracket */
		for (i = 2; at && i < 39; i++)
			at = strchr(at + 1, ' ');
		found = at && atoi(at) == cpu;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Have a worker run a NOP that a step submits. */
static int run_on_worker(struct iou *r)
{
	int ret;

	reset(r);
	slot(r, 0, IORING_OP_NOP, 1)->flags = IOSQE_ASYNC;
	step_wait(0, 1, *r->cq_tail + 1);
	step(1, LOOP_NONE, STOP);
	ret = run(r);
	iou_seen(r, iou_ready(r));
	return ret;
}

/*
 * A worker that is created in a step can move to other CPUs.  Mutant: loop-binds-workers
 * differences: loop-workers
 */
TEST_F(loop, workers_migrate)
{
	unsigned long mask;
	int i, tries;

	if (iou_on_stock())
		SKIP(return, "a worker stays on its CPU");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	EXPECT_EQ(run_on_worker(&self->r), 0);
	for (i = 0; i < 4; i++) {
		mask = 1UL << (i & 1);
		EXPECT_EQ(iou_register(&self->r, IORING_REGISTER_IOWQ_AFF, &mask, sizeof(mask)), 0);
		/* a worker moves when it has work, and another one may take the work */
		for (tries = 0; tries < 200; tries++) {
			EXPECT_EQ(run_on_worker(&self->r), 0);
			if (worker_is_on(i & 1))
				break;
			iou_sleep_ms(10);
		}
		EXPECT_LT(tries, 200);
	}
}

TEST_F(loop, regions)
{
	struct io_uring_region_desc desc = { .size = IOU_PAGE };
	struct io_uring_mem_region_reg reg = { .region_uptr = (uintptr_t)&desc };

	close(self->link);
	self->link = attach("regions", self->r.fd);
	ASSERT_GE(self->link, 0);
	EXPECT_EQ(run(&self->r), 0);
	/* the queues have a page each */
	EXPECT_EQ(data->regions, 0x0d8);
	ASSERT_EQ(iou_register(&self->r, IORING_REGISTER_MEM_REGION, &reg, 1), 0);
	reset(&self->r);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->regions, 0x0db);
}

/* A value that is neither CONTINUE nor STOP ends the loop with an error. */
TEST_F(loop, wrong_values)
{
	int values[] = { 2, -1, -EINTR, 1000, INT_MIN }, i;

	for (i = 0; i < (int)ARRAY_LEN(values); i++) {
		reset(&self->r);
		step(0, LOOP_NONE, values[i]);
		step(1, LOOP_NONE, STOP);
		EXPECT_EQ(run(&self->r), -EINVAL);
		EXPECT_EQ(data->steps, 1);
	}
}

TEST_F(loop, submit_errors)
{
	slot(&self->r, 0, IORING_OP_LAST + 100, 1);
	slot(&self->r, 1, IORING_OP_NOP, 2);
	step(0, 2, CONTINUE);
	step(1, -1, STOP);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->plan[0].submitted, 1);
	EXPECT_EQ(data->plan[1].submitted, 1);
	EXPECT_EQ(iou_ready(&self->r), 2);
	EXPECT_EQ(iou_cqe_at(&self->r, 0)->res, -EINVAL);
}

/* With a loop, io_uring_enter() runs it and ignores its arguments, except unknown flags. */
TEST_F(loop, arguments)
{
	int fd = self->r.fd;

	step(0, LOOP_NONE, STOP);
	EXPECT_EQ(iou_sys_enter(fd, 0, 0, 0, NULL, 0), 0);
	data->next = 0;
	EXPECT_EQ(iou_sys_enter(fd, 5, 0, IORING_ENTER_GETEVENTS, NULL, 0), 0);
	data->next = 0;
	EXPECT_EQ(iou_sys_enter(fd, 0, 5, IORING_ENTER_GETEVENTS, NULL, 0), 0);
	data->next = 0;
	EXPECT_EQ(iou_sys_enter(fd, 0, 0, IORING_ENTER_EXT_ARG, IOU_KERNEL, 3), 0);
	EXPECT_EQ(data->steps, 4);
	data->next = 0;
	EXPECT_EQ(iou_sys_enter(fd, 0, 0, 1U << 30, NULL, 0), -EINVAL);
	EXPECT_EQ(data->steps, 4);
	EXPECT_EQ(iou_ready(&self->r), 0);
}

/* Only the owner of a ring runs its loop. */
static void *enter_thread(void *arg)
{
	return (void *)(long)run(arg);
}

TEST_F(loop, other_tasks)
{
	pthread_t thread;
	int status;
	void *ret;
	pid_t pid;

	step(0, LOOP_NONE, STOP);
	ASSERT_EQ(pthread_create(&thread, NULL, enter_thread, &self->r), 0);
	ASSERT_EQ(pthread_join(thread, &ret), 0);
	EXPECT_EQ((long)ret, -EEXIST);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(-run(&self->r));
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(WEXITSTATUS(status), EEXIST);
	EXPECT_EQ(data->steps, 0);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->steps, 1);
}

TEST_F(loop, second_link)
{
	int map, link;

	EXPECT_EQ(attach("nops", self->r.fd), -EBUSY);
	close(self->link);
	map = loop_map("scripted", self->r.fd, BPF_F_LINK);
	ASSERT_GE(map, 0);
	self->link = loop_link(map);
	ASSERT_GE(self->link, 0);
	EXPECT_EQ(loop_link(map), -EBUSY);
	EXPECT_EQ(bpf_link_detach(self->link), 0);
	EXPECT_EQ(bpf_link_detach(self->link), 0);
	link = loop_link(map);
	EXPECT_GE(link, 0);
	close(self->link);
	step(0, LOOP_NONE, STOP);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->steps, 1);
	self->link = link;
	close(map);
}

/* A map that is made without BPF_F_LINK is attached until its element is deleted. */
TEST_F(loop, without_link)
{
	int map, key = 0;

	close(self->link);
	self->link = -1;
	map = loop_map("scripted", self->r.fd, 0);
	ASSERT_GE(map, 0);
	step(0, LOOP_NONE, STOP);
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->steps, 1);
	EXPECT_EQ(bpf_map_delete_elem(map, &key), 0);
	data->next = 0;
	EXPECT_EQ(run(&self->r), 0);
	EXPECT_EQ(data->steps, 1);
	close(map);
}

/* Without its link a ring is as others. */
TEST_F(loop, detached)
{
	EXPECT_EQ(bpf_link_detach(self->link), 0);
	slot(&self->r, 0, IORING_OP_NOP, 3);
	EXPECT_EQ(iou_enter(&self->r, 1, 1, IORING_ENTER_GETEVENTS), 1);
	EXPECT_EQ(iou_ready(&self->r), 1);
	EXPECT_EQ(data->steps, 0);
}

/* The ring may go first, or the link. */
TEST_F(loop, ring_closed_first)
{
	struct iou r;
	int map;

	iou_exit(&self->r);
	EXPECT_EQ(bpf_link_detach(self->link), 0);
	ASSERT_EQ(iou_init(&r, 8, REWIND), 0);
	map = loop_map("scripted", r.fd, BPF_F_LINK);
	ASSERT_GE(map, 0);
	close(self->link);
	self->link = loop_link(map);
	ASSERT_GE(self->link, 0);
	iou_exit(&r);
	EXPECT_EQ(loop_link(map), -EBADF);
	close(map);
	self->r.fd = -1;
}

/* A link does not keep its ring. */
TEST_F(loop, ring_ends)
{
	struct pollfd poll_fd = { .events = POLLOUT };
	int fds[2], i;

	ASSERT_EQ(pipe(fds), 0);
	ASSERT_EQ(iou_register(&self->r, IORING_REGISTER_FILES, fds, 1), 0);
	close(fds[0]);
	iou_exit(&self->r);
	self->r.fd = -1;
	poll_fd.fd = fds[1];
	for (i = 0; i < 500; i++) {
		poll(&poll_fd, 1, 0);
		if (poll_fd.revents & POLLERR)
			break;
		iou_sleep_ms(10);
	}
	EXPECT_TRUE(poll_fd.revents & POLLERR);
	close(fds[1]);
}

static void *detach_thread(void *arg)
{
	iou_sleep_ms(300);
	return (void *)(long)bpf_link_detach(*(int *)arg);
}

/*
 * A loop that has lost its link does not go on.
 * differences: loop-detach
 */
TEST_F(loop, detached_while_it_spins)
{
	pthread_t thread;
	void *ret;

	if (iou_on_stock())
		SKIP(return, "the detach does not end");
	close(self->link);
	self->link = attach("spin", self->r.fd);
	ASSERT_GE(self->link, 0);
	ASSERT_EQ(pthread_create(&thread, NULL, detach_thread, &self->link), 0);
	EXPECT_EQ(run(&self->r), -EFAULT);
	ASSERT_EQ(pthread_join(thread, &ret), 0);
	EXPECT_EQ((long)ret, 0);
	EXPECT_EQ(run(&self->r), 0);
}

/* Rings with IORING_SETUP_IOPOLL, or without IORING_SETUP_DEFER_TASKRUN, have no loop. */
TEST_F(loop, flags)
{
	static const struct { unsigned int flags; int ret; } kinds[] = {
		{ 0, -EOPNOTSUPP },
		{ IORING_SETUP_SINGLE_ISSUER, -EOPNOTSUPP },
		{ IORING_SETUP_SQPOLL, -EOPNOTSUPP },
		{ IOU_DEFER | IORING_SETUP_IOPOLL, -EOPNOTSUPP },
		{ IOU_COOP, -EOPNOTSUPP },
		{ IOU_DEFER },
		{ IOU_DEFER | IORING_SETUP_R_DISABLED },
		{ IOU_DEFER | IOU_LARGE },
		{ REWIND | IORING_SETUP_CQE_MIXED | IORING_SETUP_SQE_MIXED },
	};
	struct iou r;
	int link;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		ASSERT_EQ(iou_init(&r, 8, kinds[i].flags), 0);
		link = attach("scripted", r.fd);
		EXPECT_EQ(link < 0 ? link : 0, kinds[i].ret) TH_LOG("kind %u", i);
		if (link >= 0)
			close(link);
		iou_exit(&r);
	}
}

TEST_F(loop, descriptors)
{
	int fds[2];

	ASSERT_EQ(pipe(fds), 0);
	EXPECT_EQ(attach("scripted", -1), -EBADF);
	EXPECT_EQ(attach("scripted", 999), -EBADF);
	EXPECT_EQ(attach("scripted", fds[0]), -EOPNOTSUPP);
	/* a loop without a program; differences: loop-empty */
	EXPECT_EQ(bpf_link_detach(self->link), 0);
	if (!iou_on_stock())
		EXPECT_EQ(attach(NULL, self->r.fd), -EINVAL);
	close(fds[0]);
	close(fds[1]);
}

static void *churn_thread(void *arg)
{
	struct iou *r = arg;
	int link;

	while (!data->stop) {
		link = attach("spin", r->fd);
		if (link >= 0) {
			sched_yield();
			close(link);
		}
	}
	return NULL;
}

/* Links come and go while the owner runs the loop and the ring is closed. */
TEST_F(loop, links_come_and_go)
{
	unsigned long long end = iou_race_end();
	unsigned long i, rounds = iou_rounds(400);
	pthread_t thread;

	close(self->link);
	self->link = -1;
	ASSERT_EQ(pthread_create(&thread, NULL, churn_thread, &self->r), 0);
	for (i = 0; iou_race_goes_on(i, rounds, end); i++) {
		int ret = run(&self->r);

		if (ret && ret != -EFAULT) {
			EXPECT_EQ(ret, 0);
			break;
		}
	}
	data->stop = 1;
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

/* The kernel loads programs whose names begin with "ok", and refuses the others. */
TEST_F(loop, verifier)
{
	struct bpf_program *one, *next;
	struct bpf_object *refused;
	struct bpf_map *map;
	const char *name;
	int ret, nr = 0;

	for (;; nr++) {
		char last[64] = "";
		int i = 0;

		refused = open_object("refused.bpf.o");
		ASSERT_NE(refused, NULL);
		one = NULL;
		bpf_object__for_each_program(next, refused) {
			bpf_program__set_autoload(next, i == nr);
			if (i++ == nr)
				one = next;
		}
		if (!one)
			break;
		name = bpf_program__name(one);
		snprintf(last, sizeof(last), "ops_%s", name);
		bpf_object__for_each_map(map, refused) {
			if (!strncmp(bpf_map__name(map), "ops_", 4))
				bpf_map__set_autocreate(map, !strcmp(bpf_map__name(map), last));
		}
		ret = bpf_object__load(refused);
		EXPECT_EQ(!ret, !strncmp(name, "ok", 2)) TH_LOG("%s: %d", name, ret);
		bpf_object__close(refused);
	}
	bpf_object__close(refused);
	EXPECT_GT(nr, 5);
}

TEST_HARNESS_MAIN
