# shellcheck shell=bash
# Shared by every script of the rig: paths, progress, failure. Sourced, not run.

set -euo pipefail
export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The kernel that the sources are laid over: 7.3, or 6.12.y with backport/6.12/, whose things lie
# apart. Without BASE it is 7.3, or what rig/deps has found instead. rig/base.py has the same for
# Python.
# shellcheck disable=SC2034
ASKED=${BASE:-}
BASE=${BASE:-$(cat "$TOP/out/default" 2>/dev/null || echo 7.3)}
case $BASE in
7.3) OUT=$TOP/out ;;
6.12) OUT=$TOP/out/$BASE ;;
*) echo "error: BASE is 7.3 or 6.12, not '$BASE'" >&2; exit 1 ;;
esac
export BASE
# on_other COMMAND...: run a command of the rig for the other base.
OTHER=6.12
[ "$BASE" != 6.12 ] || OTHER=7.3
on_other() { env -u KDIR BASE=$OTHER "$@"; }

# stock's answers on this base, and what the rows of the benchmark cost
# shellcheck disable=SC2034
RECORDED=$TOP/rig/recorded/$BASE
LOG=$OUT/log
BUILD_LOCK=${BUILD_LOCK:-$TOP/out/build.lock}
KERNEL=${KERNEL:-ours}
CONFIG=${CONFIG:-perf}
# peer: another of Debian's kernels, of version $PEER, which is built and run, no more.
TREE=$OUT/$KERNEL
[ "$KERNEL" != peer ] || TREE=$OUT/peer-${PEER:?'KERNEL=peer wants PEER=VERSION'}
SRC=$TREE/src
# The debugging kernel boots as one that preempts itself anywhere, too; see rig/boot.
BUILD=$CONFIG
[ "$CONFIG" != preempt ] || BUILD=debug
OBJ=$TREE/$BUILD
JOBS=${JOBS:-$(nproc)}
mkdir -p "$LOG"

# Same time, user and host in every image: the two kernels differ by their source alone.
export KBUILD_BUILD_TIMESTAMP='1970-01-01' KBUILD_BUILD_USER=rig KBUILD_BUILD_HOST=rig
export CCACHE_DIR=${CCACHE_DIR:-$TOP/out/ccache} CCACHE_BASEDIR=$TOP/out CCACHE_NOHASHDIR=1
# A cold cache is filled without the preprocessor's second run over each file, a fifth
# of the time; a warm one is better off with it when a configuration changes.
[ -d "$CCACHE_DIR" ] || export CCACHE_DEPEND=1
export CCACHE_SLOPPINESS=time_macros CCACHE_COMPILERCHECK=content CCACHE_MAXSIZE=4G

# Progress goes to stderr, so that a script's stdout stays its result.
say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# stage NAME LOGFILE COMMAND...: one line with the elapsed time; on failure the log's end and its path.
stage() {
	local name=$1 log=$2 begin=$SECONDS rc=0
	shift 2
	printf '  %-34s ' "$name" >&2
	"$@" >"$log" 2>&1 </dev/null || rc=$?
	if [ $rc -eq 0 ]; then
		printf '%4d s\n' $((SECONDS - begin)) >&2
		return 0
	fi
	printf 'FAILED after %d s\n' $((SECONDS - begin)) >&2
	tail -n 20 "$log" | sed 's/^/    /' >&2
	say "  whole log: $log"
	say "  command:   $*"
	return $rc
}

# kmake ARGS...: make in the chosen kernel's source with its own object folder.
kmake() {
	make -C "$SRC" O="$OBJ" CC='ccache gcc' HOSTCC='ccache gcc' --no-print-directory "$@"
}

# mutant: ours changed as one row of rig/mutants.table says, in a tree of its own. series: what
# rig/series has laid over the base.
case $KERNEL in ours|stock|mutant|peer|series) ;; *) die "KERNEL is 'ours' or 'stock', not '$KERNEL'" ;; esac
