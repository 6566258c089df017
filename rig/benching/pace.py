# SPDX-License-Identifier: GPL-2.0
"""rig/bench: wall-clock runs, messages at a fixed pace, the picture."""
import statistics

from benching.common import OUT, PACE, die, say, goal_of
from benching.count import qemu

def wall(kernels, rows, pairs):
    """Two kernels alternately, two virtual CPUs; median and range of the pairs' ratios."""
    ratios = {}
    names = [k.name for k in kernels]
    append = "bench_mode=wall" + (f" bench_rows={rows}" if rows else "")
    for i in range(pairs):
        times = [None, None]
        for side in ((0, 1), (1, 0))[i % 2]:
            kernel = kernels[side]
            say(f"  wall clock, pair {i + 1} of {pairs}: {kernel.name}")
            try:
                report = qemu(kernel, f"wall-{kernel.name}", OUT / "bench.cpio", append,
                              ["-accel", "tcg,thread=multi", "-cpu", "max"], smp=2)
            except RuntimeError as error:
                die(str(error))
            times[side] = {l[1]: int(l[2]) for l in report if l[0] == "wall"}
        for name in times[0]:
            if name in times[1]:
                ratios.setdefault(name, []).append(times[1][name] / times[0][name])
    print(f"\nwall clock, {names[1]}/{names[0]}, two CPUs, {pairs} interleaved pairs: "
          "median (range)")
    for name, values in ratios.items():
        print(f"{name:28} {statistics.median(values):6.2f}  ({min(values):.2f} - {max(values):.2f})")
    return ratios


def two_cpus(kernel, mode):
    """The report of one boot in @mode on two virtual CPUs; a failure in it is raised."""
    report = qemu(kernel, f"{mode}-{kernel.name}", OUT / "bench.cpio", f"bench_mode={mode}",
                  ["-accel", "tcg,thread=multi", "-cpu", "max"], smp=2)
    for line in report:
        if line[0] == "fail":
            raise RuntimeError(f"{line[1]} fails on {kernel.name}: {' '.join(line[3:])}")
    return report


def latency(words):
    """How many there were, and the percentiles of their times in microseconds."""
    return {"nr": int(words[0]), "us": [int(w) / 1000 for w in words[1:]]}


def pace_once(kernel):
    """Period in microseconds -> what was possible, sent, received."""
    return {int(l[1]): {"possible": int(l[2]), "best": int(l[3]) / 1000,
                        "sent": latency(l[4:10]), "received": latency(l[10:])}
            for l in two_cpus(kernel, "pace") if l[0] == "pace"}


def sum_up(runs, period):
    """One kernel's share delivered: the runs' median, and in the best tenth of the best of them.

    What else the host does only ever takes from the share.  Then the sender's and the
    receiver's times, medians of the runs.
    """
    rows = [r[period] for r in runs]
    share = statistics.median(r["received"]["nr"] / r["possible"] for r in rows)
    best = max(r["best"] for r in rows)
    return share, best, [[statistics.median(t) for t in zip(*(r[side]["us"] for r in rows))]
                   for side in ("sent", "received")]


def pace(kernels, pairs):
    """Paced messages, the kernels in turn; all runs, and how many goals are missed."""
    runs = {k.name: [] for k in kernels}
    for i in range(pairs):
        for kernel in kernels if i % 2 else reversed(kernels):
            say(f"  paced messages, pair {i + 1} of {pairs}: {kernel.name}")
            try:
                runs[kernel.name].append(pace_once(kernel))
            except RuntimeError as error:
                die(str(error))
    print(f"\npaced messages from thread to thread, two CPUs, {pairs} interleaved runs of 3 s: the "
          "share\ndelivered, the runs' median and the best 0.3 s, median times in microseconds under software "
          "emulation:\ncompare lines, not machines")
    print(f"{'':19} {'deli-':>6} {'':>6}   {'until the sender has its CQE':^44}  "
          f"{'until the receiver sees it':^44}")
    print(f"{'period':11} {'kernel':7} {'vered':>6} {'best':>6} "
          + f" {'p1':>8} {'p50':>8} {'p90':>8} {'p99':>8} {'p99.9':>8}  " * 2 + " goal")
    return runs, sum(print_pace(kernels, runs, period) for period in runs[kernels[0].name][0])


def print_pace(kernels, runs, period):
    """One period's lines; whether its goal is missed."""
    goal = PACE["arrive"].get(str(period))
    good, least = True, None
    for kernel in kernels:
        share, best, times = sum_up(runs[kernel.name], period)
        words = ""
        if goal and kernel is kernels[-1]:
            late = [what for what, ok in (("best", best >= least[0]), ("median", share >= least[1]),
                                          ("p50", times[1][1] <= least[2])) if not ok]
            good = not late
            words = (f" best >= {goal:.2f} and {kernels[0].name}'s, median and p50 as "
                     f"{kernels[0].name}'s {'pass' if good else 'FAIL: ' + ', '.join(late)}")
        elif goal:
            least = (max(goal, best - PACE["noise"]), share - PACE["median_noise"],
                     times[1][1] * PACE["times"])
        print(f"{period:4} us     {kernel.name:7} {share:6.3f} {best:6.3f} "
              + "".join(" " + " ".join(f"{t:8.1f}" for t in side) + "  " for side in times) + words)
    return not good


def plot(stock, ours, path):
    try:
        import matplotlib
    except ImportError:
        die("PLOT=1 needs matplotlib: apt install python3-matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    names = [n for n in stock["rows"] if n in ours["rows"]]
    ratios = [ours["rows"][n]["instr"] / stock["rows"][n]["instr"] for n in names]
    figure, axes = pyplot.subplots(figsize=(9, 0.24 * len(names) + 1.6))
    places = range(len(names))
    colours = ["tab:green" if r <= goal_of(n) else "tab:red" for n, r in zip(names, ratios)]
    axes.barh(places, ratios, color=colours, height=0.7)
    axes.plot([goal_of(n) for n in names], places, "k|", markersize=9, label="goal")
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set_yticks(places, names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("kernel instructions an operation, ours / stock")
    axes.set_title(f"base {stock['version']}, configuration perf {stock['config']}", fontsize=9)
    axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"\nplot: {path}")
