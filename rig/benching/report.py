# SPDX-License-Identifier: GPL-2.0
"""rig/bench: tables, and what they are held against."""
import subprocess

from benching.common import (TOP, OUT, FIGURES, STOCK_FIGURES, WANTED, LIMIT, PEER_GOALS,
                             WORSE, REQUEST, die, say, cycles, goal_of)
from benching.guest import build_tools, write_initrd, kernel_image, Kernel
from benching.count import count, CLEARED_ROWS, FIO_ROWS
from benching.goals import Goals

# Where timers and threads take part, the figures also depend on where in a tick the guest
# is when the row begins: as many boots with command lines of different lengths.
BOOTS = ("", "phase=" + "1" * 20, "phase=" + "2" * 200)


def print_table(stock, ours, same):
    """The table; how many goals are missed."""
    missed, goals = 0, Goals()
    print("\nkernel instructions and locked operations an operation, one CPU, QEMU -icount;"
          " cycles = 0.3 instr + 20 locked + 115 a system call (a model, not a time);"
          f" {CLEARED_ROWS}: a memory clear is one instruction\n")
    print(f"{'':28} {'stock':>16} {'ours':>16} {'ratio':>7} {'ratio':>7}")
    print(f"{'row':28} {'instr':>9} {'lock':>6} {'instr':>9} {'lock':>6} {'instr':>7} {'cycles':>7}"
          f"  goal")
    for name, a in stock["rows"].items():
        b = ours["rows"].get(name)
        left = f"{name:28} {a['instr']:9.1f} {a['locked']:6.2f} "
        if not b:
            print(left + f"{'-':>9} {'-':>6} {'-':>7} {'-':>7}  FAIL {ours['failed'].get(name, '')}")
            missed += 1
            continue
        ratio = b["instr"] / a["instr"]
        bad, words = (ratio != 1, "= 1.000") if same else goals.against_stock(name, a, b)
        missed += bad
        print(left + f"{b['instr']:9.1f} {b['locked']:6.2f} {ratio:7.3f} {cycles(b) / cycles(a):7.3f}"
              f"  {words}")
    for name, why in stock["failed"].items():
        print(f"{name:28} fails on stock: {why}")
        missed += 1
    if same:
        return missed
    return missed + print_peers(ours) + print_bounces(stock, ours) + print_sizes(stock, ours)


def answers_head():
    """What stock's figures depend on: the base, and the configuration as asked for."""
    return subprocess.run([str(TOP / "rig" / "ident"), "--answers"], capture_output=True,
                          text=True, check=True).stdout.strip()


def figures_head(kernel):
    """What recorded figures depend on; the configuration has the compiler's version in it."""
    return f"{answers_head().split(',')[0]}, config perf {kernel.config}"


def read_figures(path=FIGURES):
    """The head of recorded figures, and the rows: name -> figures; ours have their best, too."""
    if not path.exists():
        return f"nothing: there is no {path}", {}
    lines = path.read_text().splitlines()
    rows = {w[0]: dict(zip(("instr", "locked", "best"), map(float, w[1:])))
            for w in map(str.split, lines) if w and w[0] != "#"}
    return lines[0].lstrip("# "), rows


def write_figures(kernel, boots):
    """What each row cost in the dearest of the boots, and the least that it ever did."""
    head, before = read_figures()
    now = figures_head(kernel)
    rows = {name: {k: max(boot["rows"][name][k] for boot in boots) for k in WORSE}
            for name in boots[0]["rows"]}
    lines = [f"# {now}\n",
             "# row, instructions and locked operations an operation, its best so far; by rig/record bench\n"]
    for name, row in rows.items():
        best = row["instr"]
        if head == now and name in before:
            best = min(best, before[name]["best"])
        lines.append(f"{name:32} {row['instr']:10.2f} {row['locked']:8.3f} {best:10.2f}\n")
    FIGURES.write_text("".join(lines))


def worse_in(then, now):
    """In what a row costs more than it did."""
    return [k for k, (units, part) in WORSE.items()
            if now[k] > then[k] + max(units, part * then[k])]


def fails(goals, name, row, recorded, stock):
    """Whether a row costs more than it did, or than its goals allow."""
    if not_ours(name):
        return False
    return (name in recorded and (bool(worse_in(recorded[name], row))
                                  or goals.against_best(name, row, recorded[name]["best"])[0])
            or name in stock and goals.against_stock(name, stock[name], row)[0])


def look_again(kernel, recorded, ours, part):
    """Rows that fail are counted in other boots too; the cheapest is told."""
    goals, (_, stock) = Goals(), read_figures(STOCK_FIGURES)
    for boot in BOOTS[1:]:
        bad = [n for n, row in ours["rows"].items() if fails(goals, n, row, recorded, stock)]
        if not bad:
            return
        say(f"  {len(bad)} rows cost more than they did, or than their goals allow: one more boot")
        again = count(kernel, part, boot)["rows"]
        for name in bad:
            now = again.get(name, ours["rows"][name])
            ours["rows"][name].update({k: min(ours["rows"][name][k], now[k]) for k in WORSE})


def print_recorded(kernel, ours, part):
    """Ours now against the last landing: how many rows are as good, worse, not comparable."""
    head, recorded = read_figures()
    now = figures_head(kernel)
    if head != now:
        print(f"\nNOT COMPARED with the last landing: recorded on {head}; this is {now}")
        return 0, len(ours["failed"]), len(ours["rows"])
    print(f"\nagainst the last landing ({head}):")
    look_again(kernel, recorded, ours, part)
    good = bad = 0
    goals = Goals()
    for name in sorted(set(recorded) | set(ours["rows"]) | set(ours["failed"])):
        a, b = recorded.get(name), ours["rows"].get(name)
        if not b:
            if part in name:
                bad += 1
                print(f"{name:28} {ours['failed'].get(name, 'did not run')}  FAIL")
        elif not a:
            bad += 1
            print(f"{name:28} {b['instr']:9.1f}  was not recorded  FAIL")
        elif print_change(name, a, b) | print_best(goals, name, a, b):
            bad += 1
        else:
            good += 1
    print(f"{good} rows cost no more than they did, {bad} fail")
    return good, bad, 0


def print_best(goals, name, recorded, now):
    """A row beside its best, if it was better; whether that fails."""
    if not_ours(name):
        return False
    bad, words = goals.against_best(name, now, recorded["best"])
    if bad:
        print(f"{name:28} instr {now['instr']:9.1f}, {words}")
    return bad


def print_goals(ours):
    """Ours now against stock's recorded figures: goals that are reached or excused, and missed."""
    head, stock = read_figures(STOCK_FIGURES)
    if head.removeprefix("stock's figures, ") != answers_head():
        print(f"\nNOT COMPARED with stock: recorded on {head}")
        return 0, 0, len(ours["rows"])
    print(f"\nagainst {head}:")
    goals = Goals()
    good = bad = 0
    for name, row in ours["rows"].items():
        if name not in stock:
            fails, words = True, "stock's figure was not recorded  FAIL"
        else:
            fails, words = goals.against_stock(name, stock[name], row)
            if fails and not_ours(name):
                fails, words = False, words.removesuffix("FAIL") + "not ours"
        bad, good = bad + fails, good + (not fails)
        if not words.endswith(" pass"):
            print(f"{name:28} {row['instr'] / stock[name]['instr'] if name in stock else 0:.3f}  {words}")
    for words in goals.stale(ours["rows"]):
        print(f"{words}  FAIL")
        bad += 1
    print(f"{good} rows reach their goals or are excused, {bad} fail")
    return good, bad, 0


def not_ours(name):
    return any(word in name for word in WANTED["others"])


def print_change(name, then, now):
    """One row's change, if there is one that counts; whether it is worse."""
    worse = worse_in(then, now)
    ours = not not_ours(name)
    better = then["instr"] - now["instr"] > max(WORSE["instr"][0], WORSE["instr"][1] * then["instr"])
    if worse or better:
        print(f"{name:28} instr {then['instr']:9.1f} -> {now['instr']:9.1f}, "
              f"locked {then['locked']:5.2f} -> {now['locked']:5.2f}  "
              + (f"worse: {', '.join(worse)}{'  FAIL' if ours else ', not ours'}" if worse
                 else "better"))
    return bool(worse) and ours


def alone(o):
    """--short and --record: ours alone, every row."""
    kernel = Kernel("ours", o.ours or kernel_image("ours"))
    build_tools()
    write_initrd(OUT / "bench.cpio", {"init": (0o100755, (OUT / "bench").read_bytes())})
    try:
        boots = [count(kernel, o.rows, boot) for boot in (BOOTS if o.record else BOOTS[:1])]
    except RuntimeError as error:
        die(str(error))
    ours = boots[0]
    print(kernel.ident())
    if not ours["rows"]:
        die("no row was measured")
    if o.record:
        if o.rows or ours["failed"]:
            die(f"not recorded: not every row was measured {ours['failed']}")
        write_figures(kernel, boots)
        return 0
    sums = [print_recorded(kernel, ours, o.rows), print_goals(ours)]
    good, bad, skipped = map(sum, zip(*sums))
    print(f"{good} passed, {bad} failed, {skipped} skipped")
    return bool(bad)


def print_peers(ours):
    missed = 0
    print()
    for name, peer, instr_goal, cycles_goal in map(dict.values, WANTED["against"]):
        a, b = ours["rows"].get(peer), ours["rows"].get(name)
        if not a or not b:
            print(f"{name} against {peer}: not measured  FAIL")
            missed += 1
            continue
        for what, times, goal in (("instructions", a["instr"] / b["instr"], instr_goal),
                                  ("modelled cycles", cycles(a) / cycles(b), cycles_goal)):
            missed += times < goal
            print(f"{name} against {peer}: {times:.3f}x fewer {what}, goal >= {goal:.3f}x "
                  f"{'pass' if times >= goal else 'FAIL'}")
    return missed


def print_bounces(stock, ours):
    missed = 0
    for name, other, goal in map(dict.values, WANTED["bounces"]):
        a, b = stock["rows"].get(other), ours["rows"].get(name)
        if not a or not b:
            print(f"{name} against stock's {other}: not measured  FAIL")
            missed += 1
            continue
        times = cycles(a) / cycles(b)
        missed += times < goal
        print(f"{name} against stock's {other}: {times:.2f}x fewer modelled cycles, "
              f"goal >= {goal:.1f}x {'pass' if times >= goal else 'FAIL'}")
    return missed


def print_peer(peer, stock, ours):
    """The peer's rows: what a request costs there, on stock and on ours."""
    sides = (peer, stock, ours)
    missed = 0
    print(f"\n{'requests that a write fires':28} "
          + " ".join(f"{side['kernel']:>24}" for side in sides) + "   ours against "
          + f"{peer['kernel']}, cycles")
    print(f"{'row':28} " + f"{'instr':>9} {'lock':>6} {'cycles':>7} " * len(sides))
    for name, a in peer["rows"].items():
        rows = [side["rows"].get(name) for side in sides]
        print(f"{name:28} " + " ".join(
            f"{r['instr']:9.1f} {r['locked']:6.2f} {cycles(r):7.1f}" if r else f"{'-':>24}"
            for r in rows), end="")
        goal = goal_of(name, PEER_GOALS, None)
        times = cycles(a) / cycles(rows[-1]) if rows[-1] else 0
        missed += bool(goal) and times < goal
        print(f"  {times:6.2f}x as many a second"
              + (f", goal >= {goal:.1f}x {'pass' if times >= goal else 'FAIL'}" if goal else ""))
    for name, why in peer["failed"].items():
        print(f"{name:28} fails on {peer['kernel']}: {why}")
    return missed


def print_sizes(stock, ours):
    size = ours["sizes"].get("io_kiocb")
    good = size is not None and size <= REQUEST
    print(f"a request: {size} bytes, stock {stock['sizes'].get('io_kiocb')}, "
          f"goal <= {REQUEST} {'pass' if good else 'FAIL'}")
    return not good


def print_fio(stock, ours):
    """fio's rows, kernel part; its own instructions stand beside them."""
    missed = 0
    print(f"\n{'fio randread 4k, an I/O':28} {'stock':>9} {'ours':>9} {'ratio':>7} {'user':>9}  goal")
    for name in FIO_ROWS:
        a, b = stock.get(name, "not run"), ours.get(name, "not run")
        if isinstance(a, str) or isinstance(b, str):
            print(f"{name:28} stock: {a if isinstance(a, str) else 'ran'}; "
                  f"ours: {b if isinstance(b, str) else 'ran'}  FAIL")
            missed += 1
            continue
        ratio = b["instr"] / a["instr"]
        missed += ratio > LIMIT
        print(f"{name:28} {a['instr']:9.1f} {b['instr']:9.1f} {ratio:7.3f} {b['user']:9.1f}"
              f"  <= {LIMIT:.2f} {'pass' if ratio <= LIMIT else 'FAIL'}")
    return missed


def print_profile(kernels, results, part, top):
    """Functions side by side; those of io_uring itself are starred."""
    stock, ours = results
    for name in stock["rows"]:
        if part != "all" and part not in name:
            continue
        sides = [r["rows"].get(name) for r in (stock, ours)]
        print(f"\n{name}")
        for kernel, row in zip(kernels, sides):
            if row:
                print(f"  {kernel.name:6} {row['instr']:9.1f} instr, {row['inside']:.1f} inside io_uring, "
                      f"{row['locked']:.2f} locked, {row['rep']:.1f} rep, {row['user']:.1f} user, "
                      f"{row['used']} regions, spread {100 * row['spread']:.2f} %")
        tables = [row["functions"] if row else {} for row in sides]
        calls = [row["calls"] if row else {} for row in sides]
        names = sorted(set(tables[0]) | set(tables[1]),
                       key=lambda f: -max(tables[0].get(f, 0), tables[1].get(f, 0)))
        print(f"  {'stock':>8} {'calls':>6} {'ours':>8} {'calls':>6} {'differ':>8}  function")
        for f in names[:top]:
            a, b = tables[0].get(f, 0), tables[1].get(f, 0)
            star = "*" if f in kernels[0].ours or f in kernels[1].ours else " "
            print(f"  {a:8.1f} {calls[0].get(f, 0):6.2f} {b:8.1f} {calls[1].get(f, 0):6.2f} "
                  f"{b - a:+8.1f} {star}{f}")
        print_locks(sides, top)


def print_locks(sides, top):
    """The functions in which locked operations run."""
    locks = [row["locks"] if row else {} for row in sides]
    names = sorted(set(locks[0]) | set(locks[1]),
                   key=lambda f: (-max(side.get(f, 0) for side in locks), f))
    print(f"  {'stock':>8} {'ours':>8} {'differ':>8}  locked operations in")
    for f in names[:top]:
        a, b = (side.get(f, 0) for side in locks)
        print(f"  {a:8.2f} {b:8.2f} {b - a:+8.2f}  {f}")
