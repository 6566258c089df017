/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: memory whose pages the test supplies at a chosen moment */
/*
 * A task that touches a page of a hole waits in the page fault until the test supplies the page
 * (userfaultfd).  So a test decides how long a piece of work takes, or how long another task holds
 * a lock.
 */
#ifndef IOU_FAULT_H
#define IOU_FAULT_H

#include <linux/userfaultfd.h>
#include "iou.h"

struct hole {
	int uffd;
	unsigned int pages;
	char *mem;
	char *zero;
};

/* Watch memory that is mapped, but has no pages.  Return: 0, or -1 without userfaultfd */
static inline int hole_watch(struct hole *h)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range.start = (uintptr_t)h->mem,
		.range.len = h->pages * IOU_PAGE,
	};

	h->uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (h->uffd < 0 || ioctl(h->uffd, UFFDIO_API, &api))
		return -1;
	return ioctl(h->uffd, UFFDIO_REGISTER, &reg);
}

static inline int hole_open(struct hole *h, unsigned int pages)
{
	h->pages = pages;
	h->zero = iou_map_anon(pages * IOU_PAGE);
	h->mem = mmap(NULL, pages * IOU_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return hole_watch(h);
}

/* Supply @nr pages from page @first on, and so wake the tasks that wait for them. */
static inline int hole_give(struct hole *h, unsigned int first, unsigned int nr)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)h->mem + first * IOU_PAGE,
		.src = (uintptr_t)h->zero, .len = nr * IOU_PAGE,
	};

	return ioctl(h->uffd, UFFDIO_COPY, &copy);
}

struct hole_later {
	struct hole *hole;
	unsigned int after_ms;
};

/* Supply all pages later, as a thread with a struct hole_later. */
static inline void *hole_give_later(void *arg)
{
	struct hole_later *later = arg;

	iou_sleep_ms(later->after_ms);
	hole_give(later->hole, 0, later->hole->pages);
	return NULL;
}

/* Wait for @expected page faults, and a moment for more.  Return: the number of faults. */
static inline unsigned int hole_faults(struct hole *h, unsigned int expected)
{
	unsigned long long end = iou_now_us() + IOU_PATIENCE * 1000ULL;
	struct uffd_msg msg;
	unsigned int nr = 0;

	while (nr < expected && iou_now_us() < end) {
		if (read(h->uffd, &msg, sizeof(msg)) == sizeof(msg))
			nr++;
		else
			iou_sleep_ms(1);
	}
	iou_sleep_ms(100);
	while (read(h->uffd, &msg, sizeof(msg)) == sizeof(msg))
		nr++;
	return nr;
}

#endif
