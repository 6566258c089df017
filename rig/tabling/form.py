# SPDX-License-Identifier: GPL-2.0
"""rig/tables: results as text, one kernel's columns beside another's."""
from tabling.common import median, spread

PERCENTILES = ("p50", "p90", "p99", "p99.9")
TITLES = {
    "latency": "Latency tests, {device}, 4k random read (p50 to p99.9 in usec)",
    "peak": "Peak IOPS, {device}, {sector}b random read",
    "core": "Peak per-core, {devices} x {device}, 4k random read, all on one CPU, 32 SQEs at a time",
    "accept": "{connections} clients connect to one server, data size 128 bytes (unit: the server's clock())",
    "aux": "Requests of 64 bytes on 16 connections, bursts of several a connection: requests a second",
    "bundle": "A proxy passes on {messages} packets of 32 bytes: time from start to end",
    "msg": "MSG_RING from thread to thread, init_flags=3000",
}
ROWS = {
    "single": "single accepts", "multi": "multishot accept",
    "plain": "no bundles", "bundle": "bundles",
}


def label(kernel):
    return " ".join(w for w in (kernel["release"], kernel["name"]) if w)


def labels(one, other):
    """The names of two kernels, with their builds where the rest is the same."""
    names = [label(one), label(other)]
    if names[0] == names[1]:
        names = [f"{n} {k['build'] or '(other)'}" for n, k in zip(names, (one, other))]
    return names


def usec(value):
    return f"{value:.1f}usec" if value < 100 else f"{value:.0f}usec"


def kilo(value):
    return f"{value / 1000:.1f}K" if value < 10000 else f"{value / 1000:.0f}K"


def apart(runs):
    percent = 100 * spread(runs)
    return f"{percent:.0f}%" if percent < 1000 else ">999%"


def cell(row, figure, form):
    """A median and its spread; dashes where there is no such figure."""
    runs = (row or {}).get(figure)
    return f"{form(median(runs)):>9} {apart(runs):>5}" if runs else f"{'-':>9} {'-':>5}"


def ratio(row, other, figure):
    """This kernel's median against the other's; "~" where their runs overlap."""
    ours, theirs = row.get(figure), (other or {}).get(figure)
    if not ours or not theirs or not median(theirs):
        return f"{'-':>6} "
    overlap = min(ours) <= max(theirs) and min(theirs) <= max(ours)
    return f"{median(ours) / median(theirs):6.2f}{'~' if overlap else ' '}"


def block(name, rows, other, names):
    """Tables of fio: a line for each interface, queue depth and way to wait."""
    wide = name != "core"
    head = f"{'Interface':10} {'QD':>4} {'Polled':>7}"
    here = (f" {'Latency':>9} {'+-':>5}" if wide else "") + \
        (" " + " ".join(f"{p:>7}" for p in PERCENTILES) if name == "latency" else "") + f" {'IOPS':>9} {'+-':>5}"
    there = (f" {'Latency':>9} {'+-':>5}" if wide else "") + f" {'IOPS':>9} {'+-':>5} {'ratio':>6} "
    if other is not None:
        yield f"{'':{len(head)}} {names[0]:^{len(here) - 1}}  | {names[1]:^{len(there) - 1}}"
    line = head + here + ("  |" + there if other is not None else "")
    yield line
    yield "-" * len(line)
    last = None
    for key, row in rows.items():
        interface, depth, polled = key.split()
        if last not in (None, (interface, polled)):
            yield ""
        last = interface, polled
        text = f"{interface:10} {depth:>4} {polled:>7}"
        if wide:
            text += " " + cell(row, "lat_us", usec)
        if name == "latency":
            text += " " + " ".join(f"{median(row[p]):7.1f}" if p in row else f"{'-':>7}" for p in PERCENTILES)
        text += " " + cell(row, "iops", kilo)
        if other is not None:
            beside = other.get(key)
            text += "  |" + (" " + cell(beside, "lat_us", usec) if wide else "") + \
                " " + cell(beside, "iops", kilo) + " " + ratio(row, beside, "iops")
        yield text


def lines_of(rows, other, names, figures, words):
    """Other tables: a line for each row, and for each figure its median and spread."""
    head = f"{'':40}" + "".join(f" {title:>9} {'+-':>5}" for _, title, _ in figures)
    more = "".join(f" {title:>9} {'+-':>5} {'ratio':>6} " for _, title, _ in figures)
    if other is not None:
        yield f"{'':40} {names[0]:^{len(head) - 41}}  | {names[1]:^{len(more) - 1}}"
    head += "  |" + more if other is not None else ""
    yield head
    yield "-" * len(head)
    for key, row in rows.items():
        text = f"{words(key):40}" + "".join(" " + cell(row, f, form) for f, _, form in figures)
        if other is not None:
            beside = other.get(key)
            text += "  |" + "".join(" " + cell(beside, f, form) + " " + ratio(row, beside, f)
                                    for f, _, form in figures)
        yield text


def less(rows, first, second, figure):
    """By how much the second way is below the first, in words."""
    if first not in rows or second not in rows:
        return
    a, b = (median(rows[key][figure]) for key in (first, second))
    names = ROWS[first], ROWS[second]
    yield f"({names[0]} - {names[1]}) / {names[0]} = {100 * (a - b) / a:.2f}%" if a else "no time was measured"


def accept(rows, other, names):
    """All runs as a sum, as the table of 2022 has them, then medians."""
    for key, row in rows.items():
        runs = row["clock"]
        yield f"{ROWS[key]}:"
        yield f"  ({'+'.join(map(str, runs))})/{len(runs)} = {sum(runs) / len(runs):.2f}"
    yield ""
    whole = lambda v: f"{v:.0f}"
    yield from lines_of(rows, other, names, (("clock", "clock()", whole), ("ms", "ms", lambda v: f"{v:.1f}")),
                        ROWS.get)
    yield from less(rows, "single", "multi", "clock")


def aux_words(key):
    way, burst = key.split()
    return {"multi": "multishot", "single": "a request each",
            "eventfd": "multishot, eventfd"}[way] + f", {burst} a burst"


def aux(rows, other, names):
    yield from lines_of(rows, other, names, (("rps", "rps", kilo),), aux_words)


def bundle(rows, other, names):
    ms = lambda v: f"{v:.1f}"
    yield from lines_of(rows, other, names, (("ms", "ms", ms), ("cpu_ms", "CPU ms", ms)), ROWS.get)
    yield from less(rows, "plain", "bundle", "ms")


def percentile_block(row, side):
    """Percentiles in the form in which fio prints them, medians of the runs."""
    found = [(float(key.split(" p")[1]), median(runs)) for key, runs in row.items() if key.startswith(side + " p")]
    yield f"Latencies for: {side.capitalize()} (msg={median(row[side]):.0f})"
    yield "    percentiles (nsec):"
    cells = [f"{p:8.4f}th=[{ns:8.0f}]" for p, ns in found]
    for i in range(0, len(cells), 3):
        yield "     | " + ", ".join(cells[i:i + 3])


def msg(rows, other, names):
    """For each pace the blocks of sender and receiver, then the four percentiles with spreads."""
    for delay, row in rows.items():
        yield f"delay={delay} usec: {median(row['receiver']):.0f} of {median(row['possible']):.0f} messages"
        for side in ("sender", "receiver"):
            yield from percentile_block(row, side)
        yield ""
        flat = {f"{side} {p}": {"ns": row[f"{side} {p}"]} for side in ("sender", "receiver") for p in PERCENTILES}
        beside = None
        if other is not None:
            beside = {key: {"ns": other.get(delay, {}).get(key)} for key in flat}
        yield from lines_of(flat, beside, names, (("ns", "nsec", lambda v: f"{v:.0f}"),),
                            lambda key: f"delay={delay} usec, {key}")
        yield ""


FORMS = {"accept": accept, "aux": aux, "bundle": bundle, "msg": msg}


def table(name, result, other):
    """One table as lines.  @other: an earlier result of another kernel, or None."""
    here = result["tables"][name]
    beside = (other or {}).get("tables", {}).get(name)
    title = TITLES[name].format(**here["about"])
    names = labels(result["kernel"], other["kernel"]) if beside else [label(result["kernel"]), ""]
    yield f"{title}"
    yield f"({names[0]}; {how_often(here, beside)})"
    yield ""
    rows = beside["rows"] if beside else None
    if name in FORMS:
        yield from FORMS[name](here["rows"], rows, names)
    else:
        yield from block(name, here["rows"], rows, names)


def how_often(table, beside):
    """The runs behind a table's medians, and what its signs mean."""
    runs = {len(values) for row in table["rows"].values() for values in row.values()}
    length = table["about"].get("ms")
    return (f"medians of {'/'.join(map(str, sorted(runs)))} runs" + (f" of {length} ms" if length else "") +
            "; +-: from the least to the most of them" + ("; ~: those of both kernels overlap" if beside else ""))


def whole(result, other):
    """All tables that there are."""
    for name in TITLES:
        if result["tables"].get(name, {}).get("rows"):
            yield ""
            yield ""
            yield from map(str.rstrip, table(name, result, other))
