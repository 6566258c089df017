/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring fuzz: what the parts of the generator share */
#ifndef GEN_H
#define GEN_H

#include "fuzz.h"

struct gen {
	struct prog *p;
	uint64_t state;
	unsigned int tasks;
	unsigned int rings;
	unsigned int flags[MAX_RINGS];	/* IORING_SETUP_* */
	unsigned int files[MAX_RINGS];	/* registered */
	unsigned int bufs[MAX_RINGS];
	unsigned int data[64];		/* user_data given so far */
	unsigned int datas;
	bool racy;			/* the last SQE takes its time */
	unsigned int room[MAX_RINGS][GROUPS];	/* entries of rings of buffers */
	bool rare;			/* odd values are welcome */
};

/* May the program have what mainline has added since 6.12? */
#define NEWER(g) (!OLDER || !(g)->p->compared)

#define PICK(g, ...) ({ \
	static const uint64_t list_[] = { __VA_ARGS__ }; \
	list_[below(g, ARRAY_SIZE(list_))]; \
})

/* gen.c */
uint64_t next(struct gen *g);
unsigned int below(struct gen *g, unsigned int n);
bool pct(struct gen *g, unsigned int percent);
uint64_t odd(struct gen *g);
struct call *add(struct gen *g, enum kind kind, unsigned int ring);
uint64_t put(struct gen *g, struct call *c, const void *data, unsigned int len);
uint64_t buffer(struct gen *g, unsigned int len, bool aligned);
unsigned int length(struct gen *g, bool aligned);
void name_fd(struct gen *g, struct call *c, int fd);
void gen_rw(struct gen *g, struct call *c);

/* gen_more.c */
unsigned int draw_more(struct gen *g);
void gen_more(struct gen *g, struct call *c);
void gen_provide(struct gen *g, struct call *c);
void reg_group(struct gen *g, struct call *c);

#endif
