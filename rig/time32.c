// SPDX-License-Identifier: GPL-2.0
/* rig/selftests links this into 32-bit programs: their C library finds its calls in the guest. */
/*
 * The guests' kernels have no system calls with 32-bit times (CONFIG_COMPAT_32BIT_TIME).
 * glibc wants two all the same: futex(2), without which its threads abort, and, for usleep(),
 * clock_nanosleep(2).  Its calls go through a pointer that each thread inherits from its
 * maker, at %gs:0x10; here that leads to those with 64-bit times.
 */
#include <asm/unistd.h>

void rig_system_call(void);

#define TEXT(nr) #nr
#define NUMBER(nr) "$" TEXT(nr)

/* The call in %eax, with a longer copy of the time that @reg points to. */
#define CALL_WITH_LONG_TIME(reg)	\
	"	pushl	" reg "\n"	\
	"	pushl	$0\n"		\
	"	pushl	4(" reg ")\n"	\
	"	pushl	$0\n"		\
	"	pushl	(" reg ")\n"	\
	"	movl	%esp, " reg "\n"	\
	"	int	$0x80\n"	\
	"	addl	$16, %esp\n"	\
	"	popl	" reg "\n"

asm(".pushsection .text\n"
    "rig_system_call:\n"
    "	cmpl	" NUMBER(__NR_clock_nanosleep) ", %eax\n"
    "	jne	1f\n"
    /* nobody here asks what is left of the time */
    "	pushl	%esi\n"
    "	xorl	%esi, %esi\n"
    "	movl	" NUMBER(__NR_clock_nanosleep_time64) ", %eax\n"
    CALL_WITH_LONG_TIME("%edx")
    "	popl	%esi\n"
    "	ret\n"
    "1:	cmpl	" NUMBER(__NR_futex) ", %eax\n"
    "	jne	2f\n"
    "	movl	" NUMBER(__NR_futex_time64) ", %eax\n"
    "	testl	%esi, %esi\n"
    "	je	2f\n"
    CALL_WITH_LONG_TIME("%esi")
    "	ret\n"
    "2:	int	$0x80\n"
    "	ret\n"
    ".popsection");

__attribute__((constructor)) static void lead_calls(void)
{
	asm volatile("movl %0, %%gs:0x10" : : "r" (rig_system_call) : "memory");
}
