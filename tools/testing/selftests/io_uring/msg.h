/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring selftests: messages from ring to ring */
#ifndef IOU_MSG_H
#define IOU_MSG_H

#include "iou_test.h"

/* Number of file slots of a ring that sends or receives files */
#define SLOTS	8

/* Prepare a message that posts a CQE in the ring @fd. */
static inline struct io_uring_sqe *prep_msg(struct iou *r, int fd, unsigned long long data,
					    unsigned int res)
{
	return iou_prep(r, IORING_OP_MSG_RING, fd, (void *)IORING_MSG_DATA, res, data);
}

/* Send a message that prep_msg() prepares.  Return: the result in the sender's CQE. */
static inline int send_data(struct iou *r, int fd, unsigned long long data, unsigned int res)
{
	prep_msg(r, fd, data, res);
	return iou_one(r);
}

/* Prepare a message that passes the file of slot @from to slot @to - 1 of the ring @fd. */
static inline struct io_uring_sqe *prep_file(struct iou *r, int fd, unsigned int from,
					     unsigned int to, unsigned long long data)
{
	struct io_uring_sqe *sqe = iou_prep(r, IORING_OP_MSG_RING, fd,
					    (void *)IORING_MSG_SEND_FD, 0, data);

	sqe->addr3 = from;
	sqe->file_index = to;
	return sqe;
}

/* Register SLOTS slots.  The first slot gets the file @first, unless it is -1; others are empty. */
static inline int register_slots(struct iou *r, int first)
{
	int fds[SLOTS], i;

	for (i = 0; i < SLOTS; i++)
		fds[i] = i ? -1 : first;
	return iou_register(r, IORING_REGISTER_FILES, fds, SLOTS);
}

#endif
