/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring tsan: as much of the kernel as ring/mailbox.c and ring/entry.c need */
#ifndef TSAN_KERNEL_H
#define TSAN_KERNEL_H

/*
 * The Makefile makes every <linux/...> header that those files include an include
 * of this one, except our own, which are the kernel's as they are.  So the types
 * here only have to be there; those which mailboxes and stores use work.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

typedef uint8_t u8, __u8;
typedef uint16_t u16, __u16;
typedef uint32_t u32, __u32;
typedef uint64_t u64, __u64;
typedef int8_t s8, __s8;
typedef int16_t s16, __s16;
typedef int32_t s32, __s32;
typedef int64_t s64, __s64;
typedef u64 __aligned_u64 __attribute__((aligned(8)));
typedef int __kernel_rwf_t;
typedef unsigned int gfp_t;

struct __kernel_timespec {
	s64	tv_sec;
	long long tv_nsec;
};

#define __bitwise
#define __force
#define __rcu
#define __user
/* a mutex of the tests is always got */
#define __must_check
#define __aligned(n)		__attribute__((aligned(n)))
#define ____cacheline_aligned	__aligned(64)
#define ____cacheline_aligned_in_smp	____cacheline_aligned
#define noinline		__attribute__((noinline))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define DECLARE_BITMAP(name, bits)	unsigned long name[((bits) + 63) / 64]
#define __DECLARE_FLEX_ARRAY(type, name)	type name[0]
#define __struct_group(tag, name, attrs, ...)	struct { __VA_ARGS__ } attrs
#define container_of(ptr, type, member)	((type *)((char *)(ptr) - offsetof(type, member)))

static __attribute__((unused)) int fence_;

/* Atomics: what the kernel orders fully is sequentially consistent here. */
typedef struct {
	int	counter;
} atomic_t;

typedef struct {
	long	counter;
} atomic_long_t;

/* The test makes a thread stop at times where it has looked and not acted yet. */
#ifdef PERTURB
void perturb(void);
#else
#define perturb()		((void)0)
#endif

#define READ_ONCE(x)								\
({										\
	__auto_type value_ = __atomic_load_n(&(x), __ATOMIC_RELAXED);		\
										\
	perturb();								\
	value_;									\
})
#define WRITE_ONCE(x, val)	__atomic_store_n(&(x), (val), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
/* ThreadSanitizer knows no fences */
#define smp_mb()		((void)__atomic_fetch_add(&fence_, 0, __ATOMIC_SEQ_CST))
#define xchg(p, v)		__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define try_cmpxchg(p, old, v) \
	__atomic_compare_exchange_n((p), (old), (v), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)
#define atomic_set(v, i)	__atomic_store_n(&(v)->counter, (i), __ATOMIC_RELAXED)
#define atomic_or(i, v)		((void)__atomic_fetch_or(&(v)->counter, (i), __ATOMIC_SEQ_CST))
#define atomic_andnot(i, v)	((void)__atomic_fetch_and(&(v)->counter, ~(i), __ATOMIC_SEQ_CST))
/* all of these are full barriers */
#define smp_mb__after_atomic()	((void)0)
#define atomic_add_return(i, v)	__atomic_add_fetch(&(v)->counter, (int)(i), __ATOMIC_SEQ_CST)
#define atomic_sub_return(i, v)	__atomic_sub_fetch(&(v)->counter, (int)(i), __ATOMIC_SEQ_CST)
#define atomic_dec_and_test(v)	(!atomic_sub_return(1, v))

static inline bool test_bit(int nr, const unsigned long *word)
{
	return READ_ONCE(*word) & BIT(nr);
}

/* Locks and memory. */
struct mutex {
	pthread_mutex_t	m;
};

#define mutex_lock(lock)		((void)pthread_mutex_lock(&(lock)->m))
#define mutex_lock_nested(lock, depth)	mutex_lock(lock)
#define mutex_lock_killable(lock)	pthread_mutex_lock(&(lock)->m)
#define mutex_lock_interruptible(lock)	pthread_mutex_lock(&(lock)->m)
#define mutex_trylock(lock)		(!pthread_mutex_trylock(&(lock)->m))
#define mutex_unlock(lock)		((void)pthread_mutex_unlock(&(lock)->m))
#define lockdep_assert_held(lock)	((void)(lock))

/*
 * Every ring of the tests is held, as by its file, until no task pushes to it any
 * more: no task waits for readers, so they need not be known.
 */
static inline void guard_rcu(void)
{
}

/* Nor does the owner come back to a ring that it has closed. */
#define synchronize_rcu()	__builtin_trap()

#define guard(name)		guard_##name
#define DEFINE_GUARD(name, type, lock, unlock)

#define GFP_KERNEL		0
#define __GFP_ACCOUNT		0
#define __GFP_NORETRY		0
#define __GFP_NOWARN		0
#define GFP_KERNEL_ACCOUNT	0

void *kzalloc(size_t size, gfp_t gfp);
#define kzalloc_obj(obj, gfp)	((typeof(&(obj)))kzalloc(sizeof(obj), gfp))
void kfree(const void *memory);

/* Sleeping.  A state of 0 is TASK_RUNNING. */
struct task_struct {
	unsigned int	state;
	unsigned int	wakes;
};

#define TASK_RUNNING		0
#define TASK_INTERRUPTIBLE	1
#define TASK_IDLE		2

extern __thread struct task_struct *current;

/* Memory is checked by other means here. */
#define CONFIG_KASAN		0
#define IS_ENABLED(CONFIG_option)	(CONFIG_option)
#define kasan_mempool_poison_object(object)	((void)(object))
#define kasan_mempool_unpoison_object(object, size)	((void)(object))
#define kasan_unpoison_range(object, size)		((void)(object))

#define HZ			1000

/* There are processors for all, and no signals. */
#define need_resched()		false
#define cond_resched()		((void)0)
#define fatal_signal_pending(task)	((void)(task), false)
#define schedule_timeout_killable(jiffies)	((void)sched_yield())
#define usleep_range_state(min, max, state)	((void)(max), (void)(state), (void)usleep(min))
#define cpu_relax()		((void)0)

void set_current_state(unsigned int state);
void schedule(void);
int wake_up_state(struct task_struct *task, unsigned int state);

/* A kworker: the function runs once for any number of calls before it begins. */
struct work_struct {
	void	(*func)(struct work_struct *work);
};

struct delayed_work {
	struct work_struct	work;
	pthread_mutex_t		lock;
	pthread_cond_t		more;
	bool			queued;
	bool			stop;
};

struct rcu_work {
	int		unused;
};

#define system_dfl_wq	NULL

bool mod_delayed_work(void *wq, struct delayed_work *work, unsigned long delay);

/* Kworkers here do not wait, so one that is queued is never put off. */
#define queue_delayed_work(wq, work, delay)	mod_delayed_work(wq, work, delay)

/* Types that are members of ours and are not used here. */
enum task_work_notify_mode { TWA_NONE };
typedef struct { int unused; } refcount_t;

struct hlist_node { };
struct hlist_head { };
struct list_head { };
struct rb_node { };
struct rb_root { };
struct rb_root_cached { };
struct rcu_head { };
struct callback_head { };
struct completion { };
struct percpu_ref { };
struct wait_queue_head { };
struct wait_queue_entry { };
struct xarray { };
struct blk_plug { };
typedef struct { } spinlock_t;

typedef struct {
	unsigned int	val;
} kuid_t;

struct cred;
struct file;
struct mm_struct;
struct page;
struct user_struct;

#endif
