# SPDX-License-Identifier: GPL-2.0
"""rig/tables: a picture of each table."""
from tabling.common import Lacking, median
from tabling.form import TITLES, ROWS, aux_words, labels, label

NO_MATPLOTLIB = "no picture: as root, 'apt install python3-matplotlib' (PLOT=1 does it)"
BARS = {"core": "iops", "accept": "clock", "aux": "rps", "bundle": "ms"}


def depths(axes, rows, figure, kernel, style):
    """A line for each interface, by queue depth."""
    lines = {}
    for key, row in rows.items():
        interface, depth, polled = key.split()
        lines.setdefault((interface, polled), []).append((int(depth), median(row[figure])))
    for (interface, polled), points in lines.items():
        name = f"{interface}{' polled' if polled == '1' else ''}"
        axes.plot(*zip(*points), style, marker="o", markersize=3, label=f"{name}, {kernel}")
    axes.set_xscale("log", base=2)
    ticks = sorted({depth for points in lines.values() for depth, _ in points})
    axes.set_xticks(ticks, ticks)
    axes.minorticks_off()
    axes.set_xlabel("queue depth")
    axes.set_ylim(bottom=0)


def words(name, key):
    if name == "aux":
        return aux_words(key)
    return ROWS.get(key) or (f"{key.split()[0]}{' polled' if key.endswith('1') else ''}")


def bars(axes, name, sides):
    """A bar for each row and kernel; the line on it goes from the least to the most."""
    figure = BARS[name]
    keys = list(sides[0][1])
    for nr, (kernel, rows) in enumerate(sides):
        found = [(i, rows[key][figure]) for i, key in enumerate(keys) if key in rows]
        middle = [median(runs) for _, runs in found]
        error = [[m - min(runs) for m, (_, runs) in zip(middle, found)],
                 [max(runs) - m for m, (_, runs) in zip(middle, found)]]
        axes.bar([i + nr * 0.4 for i, _ in found], middle, width=0.38, yerr=error, capsize=2, label=kernel)
    axes.set_xticks([i + 0.2 * (len(sides) - 1) for i in range(len(keys))], [words(name, key) for key in keys],
                    rotation=20, ha="right", fontsize=6)
    axes.set_ylabel({"iops": "IOPS", "clock": "clock()", "rps": "requests/s"}.get(figure, figure))


def percentiles(axes, rows, kernel, style):
    for delay, row in rows.items():
        for side in ("sender", "receiver"):
            points = [(float(key.split(" p")[1]), median(runs)) for key, runs in row.items()
                      if key.startswith(side + " p")]
            axes.plot(range(len(points)), [ns for _, ns in points], style, label=f"{side} {delay} usec, {kernel}")
            axes.set_xticks(range(len(points)), [f"{p:g}" for p, _ in points], rotation=60, fontsize=6)
    axes.set_yscale("log")
    axes.set_ylabel("nsec")
    axes.set_xlabel("percentile")


def draw(result, other, path):
    """One picture with a panel for each table.  Raises Lacking without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise Lacking(NO_MATPLOTLIB) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot
    names = [name for name in TITLES if result["tables"].get(name, {}).get("rows")]
    if not names:
        return
    high = (len(names) + 1) // 2
    figure, axes = pyplot.subplots(high, 2, figsize=(13, 4 * high), squeeze=False)
    for name, panel in zip(names, axes.flat):
        table = result["tables"][name]
        beside = (other or {}).get("tables", {}).get(name)
        kernels = labels(result["kernel"], other["kernel"]) if beside else [label(result["kernel"])]
        sides = list(zip(kernels, [table["rows"]] + ([beside["rows"]] if beside else [])))
        panel.set_title(TITLES[name].format(**table["about"]), fontsize=7)
        if name in BARS:
            bars(panel, name, sides)
        for (kernel, rows), style in zip(sides if name not in BARS else [], ("-", "--")):
            if name == "msg":
                percentiles(panel, rows, kernel, style)
            else:
                depths(panel, rows, "lat_us" if name == "latency" else "iops", kernel, style)
                panel.set_ylabel("usec" if name == "latency" else "IOPS")
        panel.legend(fontsize=5)
    for panel in list(axes.flat)[len(names):]:
        panel.axis("off")
    figure.suptitle(f"{label(result['kernel'])}, {result['date']}, {result['machine']['cpu']}", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
