/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring: the layers, and which headers each may include */
#ifndef IO_LAYER_H
#define IO_LAYER_H

/*
 * Each folder of this subsystem is a layer.  A file may include headers of its own
 * folder and of lower layers.  Each folder's Makefile has -DIO_LAYER=n, and each
 * header stops the build if a lower layer includes it:
 *
 *	1  ring/	memory shared with user space, SQ reader, CQ writer, waiters, mailboxes
 *	2  req/		what a request is: allocation, references, links, drain
 *	3  complete/	post the results of requests as CQEs
 *	4  rsrc/	resources of requests: files, buffers, credentials
 *	5  async/	requests that do not finish at once: worker pool, polled I/O
 *	6  submit/	SQE -> request -> issue -> retry or fail
 *	7  task/	per-task state, deferred work, SQPOLL thread, cancel, exit
 *	8  op/		a file for each operation or family; none includes another's headers
 *	9  sys/		the three system calls and the ring as a file
 *
 * Calls to higher layers use only these function pointers: io_tw->run, io_wq_params->run, ->put
 * and ->key, io_op, io_rsrc_node->release, io_timer->expired, io_cq_target->reached,
 * io_ring_ctx->polls.recheck and ->reqs.all_gone, and functions of work items.  Lower layers call
 * only io_is_uring_fops() by its name.
 */
#define IO_LAYER_RING		1
#define IO_LAYER_REQ		2
#define IO_LAYER_COMPLETE	3
#define IO_LAYER_RSRC		4
#define IO_LAYER_ASYNC		5
#define IO_LAYER_SUBMIT		6
#define IO_LAYER_TASK		7
#define IO_LAYER_OP		8
#define IO_LAYER_SYS		9

#ifndef IO_LAYER
#error "the folder's Makefile has to define IO_LAYER"
#endif

#endif
