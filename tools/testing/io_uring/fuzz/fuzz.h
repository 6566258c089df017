/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring fuzz: what a program is, and the world that it runs in */
#ifndef FUZZ_H
#define FUZZ_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../include/uapi/linux/io_uring.h"
#include "../../../../include/uapi/linux/io_uring/query.h"

#define ARRAY_SIZE(x)	(sizeof(x) / sizeof((x)[0]))
#define PAGE		4096u

/*
 * A program is a list of calls that follows from its seed alone.  Descriptors have
 * fixed numbers and memory has fixed addresses, so that an SQE is drawn as the bytes
 * that it will be, and prints as a person would write it.
 */

/* Memory of a program, in pages from BASE on. */
#define BASE		0x10000000ul
#define AREA_BUF	0u	/* ordinary, filled with a pattern */
#define AREA_RO		16u	/* can't be written */
#define AREA_NONE	18u	/* nothing is mapped here */
#define AREA_HOLE	20u	/* faults wait in userfaultfd until they are given */
#define AREA_ARGS	32u	/* what calls point to, ARG_SIZE bytes for each */
#define AREA_GROUP	45u	/* rings of buffers, a page for each group */
#define AREA_OWN	48u	/* rings with IORING_SETUP_NO_MMAP */
#define AREA_END	112u
#define AT(page)	(BASE + (page) * (uint64_t)PAGE)
#define BUF_PAGES	16u
#define HOLE_PAGES	8u
#define ARG_SIZE	256u
#define ARG(call)	(AT(AREA_ARGS) + (call) * (uint64_t)ARG_SIZE)
#define OWN_PAGES	16u
#define TCP_PORT	4242

#define GROUPS		3u
#define MAX_CALLS	200u
#define MAX_TASKS	4u
#define MAX_RINGS	4u
#define RING_FD		20	/* ring r has the descriptor RING_FD + r */

/* Descriptors that every program starts with. */
enum slot {
	FD_FIRST = 40,
	FD_TMP = FD_FIRST,	/* tmpfs, 8 KiB of pattern */
	FD_TMP_NB,		/* another, O_NONBLOCK: needs no worker */
	FD_RDONLY,
	FD_APPEND,
	FD_PIPE_R, FD_PIPE_W,
	FD_PIPE2_R, FD_PIPE2_W,	/* O_NONBLOCK */
	FD_SOCK1, FD_SOCK2,
	FD_EVENT,
	FD_ZERO, FD_NULL,
	FD_DIR,
	FD_NULLB,		/* block device with polled queues, O_DIRECT */
	FD_FULL_R, FD_FULL_W,	/* a pipe without room */
	FD_MEM,			/* memfd */
	FD_TOLD,		/* another eventfd, for IORING_REGISTER_EVENTFD */
	FD_LAST_COMMON,
	FD_EXT = FD_LAST_COMMON,	/* ext4 on NVMe, O_DIRECT */
	FD_EXT_BUF,		/* the same, through the page cache */
	FD_NVME,		/* the drive itself, read only, O_DIRECT */
	FD_EPOLL,
	FD_TIMER,
	FD_SIGNAL,
	FD_LISTEN,		/* of CLIENT, by the name "s" */
	FD_CLIENT,
	FD_DGRAM1, FD_DGRAM2,
	FD_TCP_LISTEN,		/* on TCP_PORT */
	FD_TCP1, FD_TCP2,
	FD_NG,			/* the drive's character device */
	FD_END,
	FD_BAD = FD_END,	/* never open */
	FD_UFFD,
	FD_DUP,			/* up to four more names of rings */
};

enum kind {
	C_RING, C_SQE, C_ENTER, C_REAP, C_REGISTER, C_FEED, C_DRAIN, C_CLOSE, C_DUP,
	C_MAP, C_POLL,
	/* only in programs that are not compared */
	C_SCRIBBLE, C_UNMAP, C_MEMORY, C_GIVE, C_START, C_SLEEP, C_EXEC, C_EXIT, C_KILL,
	C_FDINFO, C_CRED, C_LIMIT, C_FAIL, C_SEND_RING, C_EPOLL, C_PROVIDE, C_CONNECT,
	C_KINDS,
};

/**
 * struct call - one step of a program
 * @kind:	what
 * @task:	who does it
 * @ring:	on which ring
 * @blob_len:	bytes of @blob that are put to ARG(index) before
 * @a:		arguments, by kind
 * @sqe:	of C_SQE
 * @blob:	what pointers in @sqe or @a show to
 */
struct call {
	uint8_t kind;
	uint8_t task;
	uint8_t ring;
	uint8_t blob_len;
	uint64_t a[8];
	struct io_uring_sqe sqe;
	uint8_t blob[224];
};

/**
 * struct prog - a program
 * @seed:	it follows from this
 * @compared:	no races: its result is the same on every right kernel
 * @ordered:	also the order of its CQEs
 * @drains:	with IOSQE_IO_DRAIN
 * @keeps:	CQEs stay in the ring until the program takes them
 * @kill_us:	the whole is killed after that long, 0: at its end
 * @chance:	faults are injected: percents for allocations and copies, 0: none
 * @canary:	a stranger sets a ring up while it runs
 * @nr:		calls
 * @dropped:	calls that are left out
 * @call:	the calls
 */
struct prog {
	uint64_t seed;
	bool compared;
	bool ordered;
	bool drains;
	bool keeps;
	bool canary;
	uint32_t kill_us;
	uint32_t chance;
	unsigned int nr;
	bool dropped[MAX_CALLS];
	struct call call[MAX_CALLS];
};

/* gen.c */
void gen_prog(struct prog *p, uint64_t seed, bool compared);

/* print.c */
void print_prog(FILE *f, const struct prog *p);
void print_call(FILE *f, const struct prog *p, unsigned int at);

/* run.c: run it in this process, which ends there; say what happens into @log */
void run_prog(const struct prog *p, FILE *log) __attribute__((noreturn));
bool keeps_words(const struct prog *p);
extern unsigned int *late_wakes; /* not 0: a signal has ended a wait that was over before */

/* world.c: what is made once for all programs, and anew for each */
void world_once(void);
void world_open(const struct prog *p);
void world_state(const struct prog *p, FILE *log);

/* watch.c */
extern unsigned int patience;	/* seconds a killed task may take to go */
bool watch_one(const struct prog *p);
bool watch_reports(uint64_t seed);
bool watch_leaks(uint64_t first, uint64_t last, bool final);
bool watch_eyes(void);
void watch_start(void);
int sys_setup(unsigned int entries, struct io_uring_params *p);

uint64_t now_us(void);

#endif
