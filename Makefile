# io_uring, written anew for Linux 7.3 and 6.12.y: build, boot, test, measure.
# 'make help' lists the targets. Every one takes CONFIG=perf (default), debug or preempt,
# most take KERNEL=ours (default) or KERNEL=stock, and BASE=7.3 (default) or 6.12.

comma := ,
KERNEL ?= ours
CONFIG ?= perf
export BASE KERNEL CONFIG KDIR JOBS ACCEL T WALL PLOT PACE
export DEV SPDK SPDK_DEV QUICK LABEL AGAINST RUNS

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test shell kernel kunit selftests liburing clients bpf foreign fuzz bench tables check machines models mutants record soak series deb deb-test deps clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## /\1\t/p' $(MAKEFILE_LIST) | \
		awk -F'\t' '{ printf "  make %-11s %s\n", $$1, $$2 }'
	@echo
	@printf '%b\n' '  CONFIG=perf|debug|preempt|kcsan|cover|foreign  KERNEL=ours|stock  BASE=7.3|6.12  KDIR=/another/tree  T=one,two\n  ACCEL=auto (KVM where it really boots a guest; default: software emulation)'

deps: ## install what is missing, with apt
	@rig/deps

run: deps ## boot a kernel with this io_uring; fio reads, writes and verifies (one table)
	@rig/run

test: export MACHINES = 1
test: deps ## everything below that gates a change; last line 'N passed, N failed, N skipped'
	@rig/test

kernel: deps ## build one image; its path is the last line
	@rig/kernel

shell: deps ## a root shell in the guest
	@rig/shell

kunit: deps ## KUnit suites under User Mode Linux (CONFIG=debug: in the guest)
	@rig/kunit

selftests: deps ## kselftests in the guest (T=name: one program)
	@rig/selftests

liburing: deps ## liburing's test programs in the guest (T=name,...: some of them)
	@rig/liburing $(subst $(comma), ,$(T)) $(if $(QUICK),--quick)

clients: export CLIENTS = 1
clients: deps ## programs that people run: databases, fio, QEMU, Samba, Node.js, Rust, OCaml (T=name,...)
	@rig/clients $(subst $(comma), ,$(T))

# Its kernel is btf unless one is named.
bpf: export BPF = 1
bpf: deps ## kselftests of BPF programs that drive a ring, on a kernel with BTF
	@CONFIG=$(if $(filter file,$(origin CONFIG)),,$(CONFIG)) rig/bpf

# Its kernel is foreign unless one is named.
foreign: deps ## the base's own tests that use io_uring: ublk, pinned memory, sending, vsock (T=ublk/test_null_01,...)
	@CONFIG=$(if $(filter file,$(origin CONFIG)),,$(CONFIG)) rig/foreign $(subst $(comma), ,$(T))

# Its kernel is debug unless one is named, and perf when it compares.
fuzz: deps ## programs from seeds (MINUTES=10, SEED=one, REDUCE=1; AGAINST=stock: on both kernels)
	@CONFIG=$(if $(filter file,$(origin CONFIG)),,$(CONFIG)) rig/fuzz $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(SEED),--seed $(SEED)) $(if $(REDUCE),--reduce) $(if $(AGAINST),--against $(AGAINST))

bench: deps ## instructions per operation, stock beside ours (WALL=1, PACE=1, PLOT=1, PEER=6.1: rig/bench --help)
	@rig/bench

# What is missing leaves out tables; a user without root's rights has the rest.
tables: ## the presentations' tables anew on the kernel that runs (DEV=/dev/nvme0n1, QUICK=1, PLOT=1: rig/tables --help)
	@rig/tables

check: deps ## checkpatch, sparse, W=1, kernel-doc, htmldocs, layers, our own rules
	@rig/check

machines: export MACHINES = $(if $(BOOT),boot,1)
machines: deps ## compile io_uring/ for arm64, s390x, i386, with clang, and without options (T=name,...; BOOT=1: kselftests on the three)
	@rig/machines$(if $(BOOT),-boot) $(subst $(comma), ,$(T))

models: deps ## the spin models of Documentation/io_uring/models
	@Documentation/io_uring/models/check

mutants: deps ## break our code as rig/mutants.table says; the named tests must fail (T=name,...; DRAW=100: at random)
	@rig/mutants-run $(if $(DRAW),--draw $(DRAW) $(if $(SEED),--seed $(SEED)))

series: deps ## the patch series as mails, checked and applied (PROVE=1: each patch built and booted; T=topic)
	@rig/series $(if $(PROVE),--prove)

# rig/deb looks at FROM and at the disk first, and then for packages.
deb: ## Debian packages of this kernel, to install (FROM=running, cloud or a file; 'Installing it' in README.md)
	@rig/deb '$(or $(FROM),running)'

deb-test: ## install and boot such a package in a guest with Debian, and go back
	@rig/deb-test

record: deps ## refresh stock's recorded answers
	@rig/record

soak: export CLIENTS = 1
soak: export BPF = 1
soak: export MACHINES = boot
soak: export DEB = 1
soak: deps ## long loops, KCSAN, ThreadSanitizer, all of liburing on the debug kernel
	@rig/soak

clean: ## remove what was built, keep downloads and the compiler's cache
	cd out$(if $(filter 6.12,$(BASE)),/6.12) && rm -rf ours stock mutant series peer-* selftests log docs base default deb deb-test
