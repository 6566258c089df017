# SPDX-License-Identifier: GPL-2.0
"""rig/bench --smp: loads of several virtual CPUs, the kernels in turn.

The guest's CPUs are threads of an emulator on a host that has other work, so only lines of one
table are compared: medians of interleaved runs, and how far the runs lie apart.  Where they lie
further apart than SPREAD more runs are made, and in the end the line says that it cannot tell.

The emulator takes tens of microseconds to wake a CPU that halts, more than most operations take, so
a kernel that keeps CPUs busy for nothing seems faster. Where the host has a CPU for each of the
guest's, a second table has idle CPUs that poll instead (idle=poll).
"""
import os
import statistics

from benching.common import OUT, die, say
from benching.count import Silent, qemu

SPREAD = 0.10
MOST_PAIRS = 15
# A run takes about 15 s.  One boot of stock in 22 stopped before its first load, for 600 s;
# the table names those that do.
SECONDS = 180
MOST_SILENT = 2


def idle_modes(cpus):
    """How the CPUs of a guest are idle: words for the kernel's command line."""
    return ("", "idle=poll") if cpus <= len(os.sched_getaffinity(0)) else ("",)


def run_once(kernel, cpus, idle):
    """Load -> what got done a second, nanoseconds of kernel time an operation."""
    report = qemu(kernel, f"smp{cpus}-{kernel.name}", OUT / "bench.cpio", f"bench_mode=smp {idle}",
                  ["-accel", "tcg,thread=multi", "-cpu", "max"], smp=cpus, seconds=SECONDS)
    rows = {}
    for line in report:
        if line[0] == "fail":
            raise RuntimeError(f"{line[1]} fails on {kernel.name}: {' '.join(line[3:])}")
        if line[0] == "smp":
            ops, nsec, inside = map(int, line[2:5])
            rows[line[1]] = (ops * 1e9 / nsec, inside / max(ops, 1))
        elif line[0] == "hand":
            rows[f"hand/{line[2]} by {line[1]}"] = (int(line[4]) * 1e9 / int(line[3]), 0.0)
    return rows


def spread(values):
    """How far the middle half of the values lies apart, against their median."""
    if len(values) < 4:
        return 1.0
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / (statistics.median(values) or 1)


def unsettled(runs):
    """Loads whose runs lie too far apart to be compared, on either kernel."""
    names = runs[0][0].keys() & runs[1][0].keys()
    return {name for name in names
            if any(spread([r[name][0] for r in side]) > SPREAD for side in runs)}


def compare(kernels, cpus, pairs, idle):
    """The table for one number of CPUs; its lines as name -> (stock, ours, tells)."""
    runs, silent = [[], []], []
    while len(runs[0]) < pairs or (unsettled(runs) and len(runs[0]) < MOST_PAIRS):
        pair = [None, None]
        for side in ((0, 1), (1, 0))[len(runs[0]) % 2]:
            say(f"  {cpus} CPUs {idle}, run {len(runs[0]) + 1}: {kernels[side].name}")
            try:
                pair[side] = run_once(kernels[side], cpus, idle)
            except Silent as error:
                silent.append(str(error))
                if len(silent) > MOST_SILENT:
                    die("; ".join(silent))
            except RuntimeError as error:
                die(str(error))
        if all(pair):
            for side, rows in enumerate(pair):
                runs[side].append(rows)
    open_ones = unsettled(runs)
    print(f"\n{cpus} CPUs, which {'poll' if idle else 'halt'} when idle; medians of {len(runs[0])} "
          "interleaved runs of 0.5 s (software emulation: compare lines, not machines)"
          + "".join(f"\nleft out with its pair: {words}" for words in silent))
    print(f"{'load':24} {'operations a second':>23} {'ratio':>6} {'kernel ns an operation':>25} {'ratio':>6}")
    table = {}
    for name in runs[0][0]:
        if name not in runs[1][0]:
            continue
        (a, b), (c, d) = (([statistics.median(r[name][k] for r in side) for side in runs])
                          for k in (0, 1))
        words = "" if name not in open_ones else "  cannot tell: the runs lie too far apart"
        inside = f"{c:12.0f} {d:12.0f} {d / c:6.2f}" if c else f"{'-':>12} {'-':>12} {'-':>6}"
        print(f"{name:24} {a:11.0f} {b:11.0f} {b / a:6.2f} {inside}{words}")
        table[name] = (a, b, name not in open_ones)
    for hand in (1, 8):
        names = f"hand/{hand} by rings", f"hand/{hand} by queue"
        if all(n in table for n in names):
            print(f"jobs handed over, {hand} at a time: by messages {table[names[0]][1] / table[names[1]][1]:.2f} "
                  "of what a mutex and an eventfd do")
    return table
