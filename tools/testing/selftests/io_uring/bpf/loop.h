/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: what a test and the BPF programs of loop.bpf.c share */
#ifndef LOOP_H
#define LOOP_H

#define LOOP_STEPS	16
/* no submission in this step */
#define LOOP_NONE	(-1000000)
/* bytes of a ring's memory that the programs look at: the words and the CQEs, and the SQEs */
#define LOOP_PAGE	4096
#define LOOP_REGIONS	12

/* A step of the program "scripted": what it does, and what it has seen. */
struct loop_plan {
	int		submit;		/* number of SQEs, or LOOP_NONE */
	unsigned int	wait;		/* becomes cq_wait_idx if @set_wait */
	unsigned int	set_wait;
	int		ret;
	/* results */
	int		submitted;	/* of bpf_io_uring_submit_sqes() */
	unsigned int	before;		/* cq_wait_idx at the beginning */
	unsigned int	tail;		/* tail of the CQ at the beginning */
	unsigned int	after;		/* tail of the CQ at the end */
};

/* The data of the programs, which a test reads and writes. */
struct loop_data {
	struct loop_plan	plan[LOOP_STEPS];
	unsigned int		next;		/* step of the plan */
	unsigned int		steps;		/* number of calls */
	/* where the words and the CQEs are, see struct io_cqring_offsets */
	unsigned int		head, tail, cqes, mask;
	/* "nops" and "copy": what is left to do, what was done, and the first error */
	unsigned long long	left, done;
	unsigned int		batch;
	int			error;
	int			in, out;
	unsigned long long	buffer;
	/* "regions": a bit for each call that returned memory */
	unsigned int		regions;
	/* "spin": the loop ends when this is set */
	unsigned int		stop;
	/* "sleep": user memory to read in each step */
	unsigned long long	address;
};

#endif
