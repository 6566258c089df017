// SPDX-License-Identifier: GPL-2.0
/* io_uring tsan: memory, sleeping and kworkers, on threads */
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hand.h"

#define HEAD_LIVE	0x6c697665u
#define HEAD_FREED	0x66726565u

/* Stands before each object, so that one that is freed twice is noticed. */
struct head {
	unsigned int	state;
} __aligned(16);

static long objects;

void *kzalloc(size_t size, gfp_t gfp)
{
	struct head *head = calloc(1, sizeof(*head) + size);

	(void)gfp;
	if (!head)
		return NULL;
	head->state = HEAD_LIVE;
	__atomic_add_fetch(&objects, 1, __ATOMIC_RELAXED);
	return head + 1;
}

void kfree(const void *memory)
{
	struct head *head = (struct head *)memory - 1;

	if (!memory)
		return;
	if (head->state != HEAD_LIVE)
		fail("something is freed that is not allocated");
	head->state = HEAD_FREED;
	__atomic_sub_fetch(&objects, 1, __ATOMIC_RELAXED);
	free(head);
}

long objects_left(void)
{
	return READ_ONCE(objects);
}

#ifdef PERTURB
void perturb(void)
{
	static __thread unsigned int seed;

	seed = seed * 1664525 + 1013904223 + (unsigned int)(uintptr_t)&seed;
	if (!(seed >> 26))
		sched_yield();
}

/* A kworker begins when it begins: in the meantime others go on. */
static void dawdle(void)
{
	usleep(500);
}
#else
#define dawdle()	((void)0)
#endif

__thread struct task_struct *current;

void set_current_state(unsigned int state)
{
	__atomic_store_n(&current->state, state, __ATOMIC_SEQ_CST);
}

static void futex(unsigned int *word, int op, unsigned int val)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, val, NULL, NULL, 0);
}

void schedule(void)
{
	unsigned int state;

	while ((state = __atomic_load_n(&current->state, __ATOMIC_ACQUIRE)) != TASK_RUNNING)
		futex(&current->state, FUTEX_WAIT, state);
}

int wake_up_state(struct task_struct *task, unsigned int state)
{
	if (!__atomic_compare_exchange_n(&task->state, &state, TASK_RUNNING, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return 0;
	__atomic_add_fetch(&task->wakes, 1, __ATOMIC_RELAXED);
	futex(&task->state, FUTEX_WAKE, 1);
	return 1;
}

bool mod_delayed_work(void *wq, struct delayed_work *work, unsigned long delay)
{
	(void)wq;
	(void)delay;
	pthread_mutex_lock(&work->lock);
	work->queued = true;
	pthread_cond_signal(&work->more);
	pthread_mutex_unlock(&work->lock);
	return true;
}

static void *kworker(void *arg)
{
	struct delayed_work *work = arg;

	pthread_mutex_lock(&work->lock);
	for (;;) {
		while (!work->queued && !work->stop)
			pthread_cond_wait(&work->more, &work->lock);
		if (!work->queued)
			break;
		work->queued = false;
		pthread_mutex_unlock(&work->lock);
		dawdle();
		work->work.func(&work->work);
		pthread_mutex_lock(&work->lock);
	}
	pthread_mutex_unlock(&work->lock);
	return NULL;
}

pthread_t work_start(struct delayed_work *work, void (*func)(struct work_struct *work))
{
	work->work.func = func;
	pthread_mutex_init(&work->lock, NULL);
	pthread_cond_init(&work->more, NULL);
	return thread_start(kworker, work);
}

/* What is queued runs first. */
void work_stop(struct delayed_work *work, pthread_t thread)
{
	pthread_mutex_lock(&work->lock);
	work->stop = true;
	pthread_cond_signal(&work->more);
	pthread_mutex_unlock(&work->lock);
	pthread_join(thread, NULL);
}

pthread_t thread_start(void *(*func)(void *arg), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, func, arg))
		fail("no thread");
	return thread;
}

void fail(const char *what)
{
	printf("  FAIL %s\n", what);
	fflush(stdout);
	_exit(1);
}
