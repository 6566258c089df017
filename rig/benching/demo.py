# SPDX-License-Identifier: GPL-2.0
"""rig/bench: what a program sees, as make run shows it."""
import json
import os

from benching.common import OUT, die
from benching.guest import build_tools, write_initrd, kernel_image, Kernel
from benching.pace import two_cpus, latency

HAND_WAYS = {"queue": "mutex and eventfd", "rings": "messages between rings"}
SERVED = {
    "an echo server: connections of 128 bytes": {
        "accept-echo/epoll/b32": "epoll and system calls",
        "accept-echo/single/b32": "single accepts",
        "accept-echo/many/b32": "multishot accept"},
    "a proxy between two connections: packets of 32 bytes": {
        "proxy32/epoll/b64": "epoll and system calls",
        "proxy32/many/b64": "a buffer a request",
        "proxy32/bundle/b64": "bundles"},
}


def demo(kernel):
    """Polls by the CQEs that are waited for, jobs handed over by way and number: figures."""
    seen = {"polls": {}, "hand": {}, "serve": {}}
    for line in two_cpus(kernel, "demo"):
        if line[0] == "demo":
            wait, cqes, nsec, wakes = line[1], *map(int, line[2:])
            seen["polls"][wait] = {"rate": cqes * 10 ** 9 / nsec,
                                   "wakes": 1000 * wakes / max(cqes, 1)}
        elif line[0] == "hand":
            jobs = latency(line[4:])
            seen["hand"][f"{line[1]} {line[2]}"] = {"rate": jobs["nr"] * 10 ** 9 / int(line[3]),
                                                    "us": jobs["us"]}
        elif line[0] == "serve":
            seen["serve"][line[1]] = {"nr": int(line[2]), "ms": int(line[3]) / 10 ** 6}
    return seen


def print_hand(name, seen, stock):
    """Jobs handed over: a line for each way, the rings' on stock as well where it is known."""
    print("\na dispatcher hands jobs to 4 workers, 2 CPUs*     "
          f"{'jobs/s':>8}  us until taken: {'p1':>7} {'p50':>7} {'p90':>7} {'p99':>7} {'p99.9':>8}")
    for what, figures in seen.items():
        way, nr = what.split()
        sides = [(name, figures)]
        if way == "rings" and what in stock:
            sides.append(("stock", stock[what]))
        for kernel, side in sides:
            words = f"{nr} at a time: {HAND_WAYS[way]}" + (f", {kernel}" if way == "rings" else "")
            print(f"  {words:47} {side['rate']:8.0f} {'':16} "
                  + " ".join(f"{t:7.0f}" for t in side["us"][:4]) + f" {side['us'][4]:8.0f}")


def print_demo(name, seen, stock):
    """The demo's figures, beside stock's where they are known."""
    print_polls(name, seen["polls"], stock.get("polls"))
    print_hand(name, seen["hand"], stock.get("hand", {}))
    print_served(name, seen["serve"], stock.get("serve", {}))
    print("* seen under software emulation: compare lines and columns, not machines")


def print_served(name, seen, stock):
    """Servers and proxies: how long each way took for the same work."""
    for title, ways in SERVED.items():
        ways = {way: words for way, words in ways.items() if way in seen}
        if not ways:
            continue
        words = f"{next(iter(seen[w] for w in ways))['nr']} {title.split(': ')[1]}, by {title.split(': ')[0]}"
        print(f"\n{words:62} {name:>14} {'stock' if stock else '':>14}")
        base = next(iter(ways))
        for way, text in ways.items():
            cells = [f"{s[way]['ms']:6.0f} ms {s[base]['ms'] / s[way]['ms']:4.2f}x"
                     for s in ([seen, stock] if way in stock else [seen])]
            print(f"  {text:60} " + " ".join(f"{c:>14}" for c in cells))


def print_polls(name, seen, stock):
    """Multishot polls that other tasks feed."""
    print("\n128 multishot polls on 16 pipes, 2 writers, 2 CPUs*   "
          f"{name:>21} {'stock' if stock else '':>21}")
    print(f"{'':50} " + f"{'CQEs/s':>10} {'wakes/1000':>11} " * (2 if stock else 1))
    for wait, figures in seen.items():
        sides = [figures] + ([stock[wait]] if stock else [])
        print(f"  CQEs waited for: {wait:33}"
              + " ".join(f"{s['rate']:10.0f} {s['wakes']:11.1f}" for s in sides))


def demo_alone(images):
    """What make run shows: one kernel, with stock's figures as they were recorded."""
    name = os.environ.get("KERNEL", "ours")
    kernel = Kernel(name, images.get(name) or kernel_image(name))
    build_tools()
    write_initrd(OUT / "bench.cpio", {"init": (0o100755, (OUT / "bench").read_bytes())})
    record = OUT / "demo-stock.json"
    stock = json.loads(record.read_text()) if record.exists() else {}
    try:
        print_demo(name, demo(kernel), stock)
    except RuntimeError as error:
        die(str(error))
    if not stock:
        print("stock's column comes with 'make bench', which has not been run here")
    return 0
