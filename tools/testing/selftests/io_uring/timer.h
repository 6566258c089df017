/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: timeouts, and CQEs written down as text */
/*
 * A chain or a set of timeouts ends with a list of CQEs.  Tests write such a list as text, "1:0
 * 2:ETIME+": user_data, result, and a plus for IORING_CQE_F_MORE.  So they compare it at once, and
 * a failure shows the whole list.
 */
#ifndef IOU_TIMER_H
#define IOU_TIMER_H

#include "iou_test.h"

#define MS		1000000LL
#define HOUR		(3600 * 1000 * MS)
/* Nanoseconds of a 32-bit program are the unsigned lower half; the upper half is padding */
#define NEGATIVE	(sizeof(long) == 8 ? -1 : -1000 * MS)
/* Time in milliseconds after which no further CQE is expected */
#define SILENCE		20

static inline struct __kernel_timespec *ts_of(struct __kernel_timespec *ts, long long ns)
{
	ts->tv_sec = ns / 1000000000LL;
	ts->tv_nsec = ns % 1000000000LL;
	return ts;
}

static inline long long now_on(int clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Prepare a request with a time.  An SQPOLL thread reads *ts later, so *ts is static. */
static inline struct io_uring_sqe *
prep_time(struct iou *r, int op, long long ns, unsigned int nr, unsigned int flags,
	  unsigned long long data)
{
	static struct __kernel_timespec times[1024];
	static unsigned int next;
	struct __kernel_timespec *ts = ts_of(&times[next++ % 1024], ns);
	struct io_uring_sqe *sqe = iou_prep(r, op, -1, ts, 1, nr);

	sqe->timeout_flags = flags;
	sqe->user_data = data;
	return sqe;
}

static inline struct io_uring_sqe *timeout(struct iou *r, long long ns, unsigned int nr,
					   unsigned int flags, unsigned long long data)
{
	return prep_time(r, IORING_OP_TIMEOUT, ns, nr, flags, data);
}

static inline struct io_uring_sqe *link_timeout(struct iou *r, long long ns,
						unsigned int flags, unsigned long long data)
{
	return prep_time(r, IORING_OP_LINK_TIMEOUT, ns, 0, flags, data);
}

static inline struct io_uring_sqe *timeout_remove(struct iou *r, unsigned long long target,
						  unsigned long long data)
{
	struct io_uring_sqe *sqe;

	sqe = iou_prep(r, IORING_OP_TIMEOUT_REMOVE, -1, NULL, 0, 0);
	sqe->addr = target;
	sqe->user_data = data;
	return sqe;
}

static inline struct io_uring_sqe *timeout_update(struct iou *r, unsigned long long target,
						  long long ns, unsigned int flags,
						  unsigned long long data)
{
	struct io_uring_sqe *sqe;

	sqe = prep_time(r, IORING_OP_TIMEOUT_REMOVE, ns, 0, IORING_TIMEOUT_UPDATE | flags, data);
	sqe->addr2 = sqe->addr;
	sqe->addr = target;
	sqe->len = 0;
	return sqe;
}

static inline const char *result_name(int res)
{
	static char text[16];

	switch (res) {
	case -ETIME: return "ETIME";
	case -ECANCELED: return "ECANCELED";
	case -ENOENT: return "ENOENT";
	case -EALREADY: return "EALREADY";
	case -EINVAL: return "EINVAL";
	case -EFAULT: return "EFAULT";
	case -EBADF: return "EBADF";
	case -EINTR: return "EINTR";
	}
	sprintf(text, "%d", res);
	return text;
}

/* Append the CQEs of the CQ to @text, and remove them from the CQ. */
static inline void write_cqes(struct iou *r, char *text, size_t size)
{
	unsigned int nr = iou_ready(r), i;

	for (i = 0; i < nr; i++) {
		struct io_uring_cqe *cqe = iou_cqe_at(r, i);
		size_t len = strlen(text);

		snprintf(text + len, size - len, "%s%llu:%s%s", len ? " " : "",
			 (unsigned long long)cqe->user_data, result_name(cqe->res),
			 cqe->flags & IORING_CQE_F_MORE ? "+" : "");
	}
	iou_seen(r, nr);
}

/* Return: the next @nr CQEs as text, and those that come within SILENCE after them. */
static inline const char *cqes(struct iou *r, unsigned int nr)
{
	static char text[4096];

	text[0] = 0;
	if (nr && iou_wait(r, nr))
		snprintf(text, sizeof(text), "(late)");
	iou_wait_ms(r, nr + 1, SILENCE);
	write_cqes(r, text, sizeof(text));
	return text;
}

/* Submit the prepared SQEs and wait for @nr CQEs.  Return: as cqes() */
static inline const char *submit_cqes(struct iou *r, unsigned int nr)
{
	if (iou_submit(r) < 0)
		return "(not submitted)";
	return cqes(r, nr);
}

static inline int by_text(const void *a, const void *b)
{
	return strcmp(*(char **)a, *(char **)b);
}

/* Return: the list, with its CQEs sorted as text, since they may come in any order. */
static inline const char *sorted(const char *list)
{
	static char text[4096], copy[4096];
	char *part[256], *at;
	unsigned int nr = 0, i;

	snprintf(copy, sizeof(copy), "%s", list);
	for (at = strtok(copy, " "); at && nr < 256; at = strtok(NULL, " "))
		part[nr++] = at;
	qsort(part, nr, sizeof(part[0]), by_text);
	text[0] = 0;
	for (i = 0; i < nr; i++) {
		if (i)
			strcat(text, " ");
		strcat(text, part[i]);
	}
	return text;
}

#endif
