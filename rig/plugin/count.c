// SPDX-License-Identifier: GPL-2.0
/* io_uring bench: QEMU TCG plugin that counts instructions between two marks */

/*
 * The guest marks a region with two long NOPs that no compiler emits (see MARK_*,
 * the guest's side is tools/testing/io_uring/bench/bench.h).  For each region the
 * plugin writes one line of totals and one line for each kernel instruction that
 * ran:
 *
 *	region <number> user <n> syscalls <n> kernel <n> locked <n> rep <n>
 *	<address> <count> <flags>
 *
 * "locked" counts instructions with a LOCK prefix and XCHG with memory, which
 * locks without one.  "rep" counts iterations of REP string instructions: TCG
 * runs each iteration as one instruction, so they are part of "kernel" too.
 *
 * One vCPU only: counters are plain, and a region belongs to the machine.
 *
 * QEMU packages bring no header for plugins, so the few prototypes stand here.
 * Three forms of the interface exist; QEMU_API picks one: 1 (QEMU 4.2 to 8.2),
 * 2 (9.0: inline operations on scoreboards), 3 (9.1 and later: the instruction's
 * bytes are copied).
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef QEMU_API
#error "build with -DQEMU_API=1, 2 or 3"
#endif

#define MARK_BEGIN	0x62676e01u
#define MARK_END	0x656e6402u

#define MAX_SLOTS	(1u << 20)
#define HASH_BITS	21
#define SLOT_USER	0u
#define SLOT_SYSCALL	1u
#define SLOT_FIRST	2u

#define FLAG_LOCKED	1u
#define FLAG_REP	2u

typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;
enum { CB_NO_REGS };
enum { INLINE_ADD_U64 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
		void (*cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
		void (*cb)(unsigned int vcpu, void *data), int flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
		void (*cb)(qemu_plugin_id_t id, void *data), void *data);
#if QEMU_API == 1
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
		int op, void *ptr, uint64_t imm);
#else
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int vcpu);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn,
		int op, qemu_plugin_u64 entry, uint64_t imm);
#endif
#if QEMU_API < 3
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
#endif

int qemu_plugin_version = QEMU_API;

static uint32_t hash_slot[1u << HASH_BITS];
static uint64_t slot_pc[MAX_SLOTS];
static uint8_t slot_flags[MAX_SLOTS];
static uint32_t n_slots = SLOT_FIRST;
static unsigned int n_regions;
static bool in_region;
static FILE *out;

#if QEMU_API == 1
static uint64_t slot_count[MAX_SLOTS];

static uint64_t *counters(void)
{
	return slot_count;
}

static void count_insn(struct qemu_plugin_insn *insn, uint32_t slot)
{
	qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD_U64, &slot_count[slot], 1);
}
#else
static struct qemu_plugin_scoreboard *score;

static uint64_t *counters(void)
{
	return qemu_plugin_scoreboard_find(score, 0);
}

static void count_insn(struct qemu_plugin_insn *insn, uint32_t slot)
{
	qemu_plugin_u64 entry = { score, slot * sizeof(uint64_t) };

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, INLINE_ADD_U64, entry, 1);
}
#endif

/* The counter that belongs to a kernel address; the same one each time it is translated. */
static uint32_t slot_of(uint64_t pc)
{
	uint32_t mask = (1u << HASH_BITS) - 1;
	uint32_t h = (pc * 0x9e3779b97f4a7c15ull) >> (64 - HASH_BITS);

	while (hash_slot[h] && slot_pc[hash_slot[h]] != pc)
		h = (h + 1) & mask;
	if (!hash_slot[h]) {
		if (n_slots == MAX_SLOTS) {
			fprintf(stderr, "count: more than %u kernel instructions\n", MAX_SLOTS);
			exit(1);
		}
		hash_slot[h] = n_slots;
		slot_pc[n_slots++] = pc;
	}
	return hash_slot[h];
}

/* What kind of instruction the bytes are; only what we report is told apart. */
static uint8_t classify(const uint8_t *code, size_t len)
{
	bool lock = false, rep = false;
	size_t i;

	for (i = 0; i < len; i++) {
		uint8_t c = code[i];

		if (c == 0xf0)
			lock = true;
		else if (c == 0xf2 || c == 0xf3)
			rep = true;
		else if (c != 0x66 && c != 0x67 && c != 0x2e && c != 0x36 && c != 0x3e &&
			 c != 0x26 && c != 0x64 && c != 0x65 && (c & 0xf0) != 0x40)
			break;
	}
	if (lock)
		return FLAG_LOCKED;
	if (i + 1 < len && (code[i] == 0x86 || code[i] == 0x87) && code[i + 1] < 0xc0)
		return FLAG_LOCKED;
	if (rep && i < len && code[i] >= 0xa4 && code[i] <= 0xaf &&
	    code[i] != 0xa8 && code[i] != 0xa9)
		return FLAG_REP;
	return 0;
}

static uint32_t mark_of(const uint8_t *code, size_t len)
{
	uint32_t disp;

	if (len != 8 || memcmp(code, "\x0f\x1f\x84\x00", 4))
		return 0;
	memcpy(&disp, code + 4, 4);
	return disp;
}

static void on_begin(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	memset(counters(), 0, n_slots * sizeof(uint64_t));
	in_region = true;
}

static void on_end(unsigned int vcpu, void *data)
{
	const uint64_t *count = counters();
	uint64_t kernel = 0, locked = 0, rep = 0;
	uint32_t i;

	(void)vcpu;
	(void)data;
	if (!in_region)
		return;
	in_region = false;
	for (i = SLOT_FIRST; i < n_slots; i++) {
		kernel += count[i];
		if (slot_flags[i] & FLAG_LOCKED)
			locked += count[i];
		if (slot_flags[i] & FLAG_REP)
			rep += count[i];
	}
	fprintf(out, "region %u user %llu syscalls %llu kernel %llu locked %llu rep %llu\n",
		n_regions++,
		(unsigned long long)(count[SLOT_USER] + count[SLOT_SYSCALL]),
		(unsigned long long)count[SLOT_SYSCALL], (unsigned long long)kernel,
		(unsigned long long)locked, (unsigned long long)rep);
	for (i = SLOT_FIRST; i < n_slots; i++) {
		if (!count[i])
			continue;
		fprintf(out, "%llx %llu %u\n", (unsigned long long)slot_pc[i],
			(unsigned long long)count[i], slot_flags[i]);
	}
}

static void translate_insn(struct qemu_plugin_insn *insn)
{
	uint64_t pc = qemu_plugin_insn_vaddr(insn);
	size_t len = qemu_plugin_insn_size(insn);
	uint8_t code[16];
	uint32_t slot;

	if (len > sizeof(code))
		len = sizeof(code);
#if QEMU_API < 3
	memcpy(code, qemu_plugin_insn_data(insn), len);
#else
	len = qemu_plugin_insn_data(insn, code, len);
#endif
	if (pc >> 63) {
		slot = slot_of(pc);
		slot_flags[slot] = classify(code, len);
		count_insn(insn, slot);
		return;
	}
	switch (mark_of(code, len)) {
	case MARK_BEGIN:
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_begin, CB_NO_REGS, NULL);
		return;
	case MARK_END:
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_end, CB_NO_REGS, NULL);
		return;
	}
	if (len == 2 && code[0] == 0x0f && code[1] == 0x05)
		count_insn(insn, SLOT_SYSCALL);
	else
		count_insn(insn, SLOT_USER);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	size_t i;

	(void)id;
	for (i = 0; i < n; i++)
		translate_insn(qemu_plugin_tb_get_insn(tb, i));
}

static void on_shutdown(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	fprintf(out, "end %u\n", n_regions);
	fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv);

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
	if (!out) {
		fprintf(stderr, "count: out=FILE is missing or cannot be written\n");
		return 1;
	}
#if QEMU_API > 1
	score = qemu_plugin_scoreboard_new(MAX_SLOTS * sizeof(uint64_t));
#endif
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_shutdown, NULL);
	return 0;
}
