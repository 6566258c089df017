// SPDX-License-Identifier: GPL-2.0
/* io_uring: IORING_REGISTER_QUERY - what this kernel's io_uring can do */

/*
 * The program passes a list of questions, each with room for the answer.  The structure of an
 * answer can grow.  A program gets as much of it as its room holds, and zeroes in the rest of a
 * larger room.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <uapi/linux/io_uring.h>
#include <uapi/linux/io_uring/query.h>

#include "ctx.h"
#include "rsrc/zcrx.h"
#include "sys/flags.h"
#include "sys/query.h"

/* a list of this length or more ends with an error, so that a list that is a loop ends */
#define IO_QUERY_MAX	1000

/**
 * union io_answer - the answer to a question
 * @opcode: the answer to IO_URING_QUERY_OPCODES
 * @zcrx: the answer to IO_URING_QUERY_ZCRX
 * @scq: the answer to IO_URING_QUERY_SCQ
 * @event: the answer to IO_URING_QUERY_ZCRX_EVENT
 */
union io_answer {
	struct io_uring_query_opcode	opcode;
	struct io_uring_query_zcrx	zcrx;
	struct io_uring_query_scq	scq;
	struct io_uring_query_zcrx_event	event;
};

static size_t io_query_zcrx(struct io_uring_query_zcrx *answer)
{
	*answer = (struct io_uring_query_zcrx){
		.register_flags		= IO_ZCRX_REG_FLAGS,
		.area_flags		= IO_ZCRX_AREA_FLAGS,
		.nr_ctrl_opcodes	= __ZCRX_CTRL_LAST,
		.features		= IO_ZCRX_FEATURES,
		.rq_hdr_size		= offsetof(struct io_zcrx_refill, rqes),
		.rq_hdr_alignment	= IO_ZCRX_ALIGN,
	};
	return IS_ENABLED(CONFIG_INET) ? sizeof(*answer) : 0;
}

static size_t io_query_zcrx_event(struct io_uring_query_zcrx_event *answer)
{
	*answer = (struct io_uring_query_zcrx_event){
		.event_flags		= IO_ZCRX_EVENTS,
		.stats_size		= sizeof(struct zcrx_stats),
		.stats_off_alignment	= __alignof__(struct zcrx_stats),
	};
	return IS_ENABLED(CONFIG_INET) ? sizeof(*answer) : 0;
}

/* Fill in an answer.  Return: its size, or 0 if the question is unknown. */
static size_t io_query_answer(u32 op, union io_answer *answer)
{
	switch (op) {
	case IO_URING_QUERY_OPCODES:
		answer->opcode = (struct io_uring_query_opcode){
			.nr_request_opcodes	= IORING_OP_LAST,
			.nr_register_opcodes	= IORING_REGISTER_LAST,
			.feature_flags		= IO_FEATURES,
			.ring_setup_flags	= IO_SETUP_FLAGS,
			.enter_flags		= IO_ENTER_FLAGS,
			.sqe_flags		= IO_SQE_FLAGS_VALID,
			.nr_query_opcodes	= IO_URING_QUERY_ZCRX_EVENT + 1,
		};
		return sizeof(answer->opcode);
	case IO_URING_QUERY_ZCRX:
		return io_query_zcrx(&answer->zcrx);
	case IO_URING_QUERY_ZCRX_EVENT:
		return io_query_zcrx_event(&answer->event);
	case IO_URING_QUERY_SCQ:
		answer->scq = (struct io_uring_query_scq){
			.hdr_size	= offsetof(struct io_rings, cqes),
			.hdr_alignment	= __alignof__(struct io_rings),
		};
		return sizeof(answer->scq);
	default:
		return 0;
	}
}

/* Answer one question, and set its result and size.  Return: 0, -E2BIG or -EFAULT. */
static int io_query_one(struct io_uring_query_hdr *hdr)
{
	bool zeroes = !hdr->result && !memchr_inv(hdr->__resv, 0, sizeof(hdr->__resv));
	u32 room = hdr->size;
	union io_answer answer;
	size_t size;

	if (room > PAGE_SIZE)
		return -E2BIG;
	size = io_query_answer(hdr->query_op, &answer);
	hdr->result = 0;
	if (!size) {
		hdr->result = -EOPNOTSUPP;
	} else if (!room || !zeroes) {
		hdr->result = -EINVAL;
		size = 0;
	}
	hdr->size = min(size, room);
	return copy_struct_to_user(u64_to_user_ptr(hdr->query_data), room, &answer, size, NULL);
}

/**
 * io_query - handle IORING_REGISTER_QUERY
 * @arg: the first struct io_uring_query_hdr of a list in user space, or NULL
 *
 * Context: Task context.  May sleep.
 *
 * Return: 0, also if a question is refused, which its header says; -E2BIG if the room for an answer
 * is larger than a page; -EFAULT; -ERANGE if the list is too long; -EINTR if current is killed.
 * The questions before an error are answered.
 */
int io_query(void __user *arg)
{
	struct io_uring_query_hdr hdr;
	unsigned int nr = 0;
	int ret;

	while (arg) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (copy_from_user(&hdr, arg, sizeof(hdr)))
			return -EFAULT;
		ret = io_query_one(&hdr);
		if (ret)
			return ret;
		if (copy_to_user(arg, &hdr, sizeof(hdr)))
			return -EFAULT;
		if (++nr == IO_QUERY_MAX)
			return -ERANGE;
		arg = u64_to_user_ptr(hdr.next_entry);
		cond_resched();
	}
	return 0;
}
