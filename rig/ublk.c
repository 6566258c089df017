// SPDX-License-Identifier: GPL-2.0
/*
 * For rig/run: a program that serves a block device from memory, by IORING_OP_URING_CMD,
 * until its input ends.  It prints the device's path when the device is there.
 */
#define _GNU_SOURCE
#define UBLK_SIZE	(32 << 20)
#include "ublk.h"

int main(void)
{
	struct ublk u = {};
	int ret = ublk_add(&u, 0) ?: ublk_start(&u);
	char byte;

	if (ret) {
		fprintf(stderr, "no ublk device: %s\n", strerror(-ret));
		return 1;
	}
	printf("/dev/ublkb%d\n", u.id);
	fclose(stdout);
	while (read(0, &byte, 1) > 0)
		;
	ret = ublk_ctl(&u, UBLK_U_CMD_STOP_DEV, NULL, 0, 0);
	return ublk_reap(&u) || ublk_del(&u) || ret;
}
