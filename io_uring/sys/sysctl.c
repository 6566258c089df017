// SPDX-License-Identifier: GPL-2.0
/* io_uring: settings: which tasks may set up rings on this machine */
/*
 * Two settings under /proc/sys/kernel:
 *
 * io_uring_disabled	0: all tasks may create rings;
 *			1: tasks with CAP_SYS_ADMIN, or in io_uring_group, may;
 *			2: no task may.
 * io_uring_group	a group id of the initial user namespace; -1: no group.
 *
 * Only io_uring_setup(2) reads the settings.  A call that races with a write uses
 * the old or the new value.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/init.h>
#include <linux/security.h>
#include <linux/sysctl.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "sys/sysctl.h"

enum {
	IO_SETUP_FOR_ALL	= 0,
	IO_SETUP_FOR_FEW	= 1,
	IO_SETUP_FOR_NONE	= 2,
};

static int io_setup_for __read_mostly = IO_SETUP_FOR_ALL;
static int io_setup_group __read_mostly = -1;

/* Return: true if current is in io_uring_group; false if that is not a valid id. */
static bool io_in_setup_group(void)
{
	kgid_t group = make_kgid(&init_user_ns, READ_ONCE(io_setup_group));

	return gid_valid(group) && in_group_p(group);
}

int io_uring_may_setup(void)
{
	int setup_for = READ_ONCE(io_setup_for);

	if (setup_for != IO_SETUP_FOR_ALL && setup_for != IO_SETUP_FOR_FEW)
		return -EPERM;
	if (setup_for == IO_SETUP_FOR_FEW && !capable(CAP_SYS_ADMIN) && !io_in_setup_group())
		return -EPERM;
	return security_uring_allowed();
}

static const struct ctl_table io_sysctls[] = {
	{
		.procname = "io_uring_disabled",
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.data = &io_setup_for, .maxlen = sizeof(io_setup_for),
		.extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_TWO,
	},
	{
		.procname = "io_uring_group",
		.mode = 0644,
		.proc_handler = proc_dointvec,
		.data = &io_setup_group, .maxlen = sizeof(io_setup_group),
	},
};

static int __init io_sysctl_init(void)
{
	register_sysctl_init("kernel", io_sysctls);
	return 0;
}
fs_initcall(io_sysctl_init);
