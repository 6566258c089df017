# SPDX-License-Identifier: GPL-2.0
"""rig/tables: the C programs, built and run, and what they print as figures."""
import os
import shutil
import signal

from tabling.common import HERE, Failure, Lacking, run, say

LIMIT = 150
NAMES = ("accept", "aux", "bundle", "msg")
NO_CC = ("no C compiler, which the tables of programs need: as root, "
         "'apt install gcc libc6-dev make'")


def build(where):
    """Build what is not there yet, all of them static.  Raises Lacking or Failure."""
    line = ["make", "-C", str(HERE), f"OUTPUT={where}", "CC=" + ("gcc" if shutil.which("gcc") else "cc")]
    if not shutil.which("make"):
        if all(os.access(where / name, os.X_OK) for name in NAMES):
            return
        raise Lacking(NO_CC)
    if run(line + ["-q"], LIMIT)[0] == 0:
        return
    if not shutil.which("cc") and not shutil.which("gcc"):
        raise Lacking(NO_CC)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Lacking(f"programs cannot be built in {where}: {error.strerror}; run 'make tables' "
                      "once as the owner of this folder") from None
    say("  build the programs")
    status, out, err = run(line, LIMIT)
    if status:
        raise Failure("the programs do not compile: " + (err or out).strip().splitlines()[-1])


def parse(text):
    """Lines of a name and numbers: plain ones as figures, PERCENTILE:NS as 'name p<percentile>'."""
    figures = {}
    for line in text.splitlines():
        name, *words = line.split()
        if name == "flags":
            figures[name] = words[0]
            continue
        for word in words:
            if ":" in word:
                percentile, ns = word.split(":")
                figures[f"{name} p{float(percentile):g}"] = int(ns)
            else:
                figures[name] = int(word)
    return figures


def once(where, name, *args):
    """One run.  Raises Lacking where the kernel has not what it needs, else Failure."""
    status, out, err = run([str(where / name), *map(str, args)], LIMIT)
    why = err.strip().splitlines()[-1] if err.strip() else f"ended with status {status}"
    if status == 2:
        raise Lacking(f"{name}: {why}")
    if status:
        if status < 0:
            why = "it took too long" if status == -signal.SIGALRM else \
                f"ended by {signal.Signals(-status).name}"
        raise Failure(f"{name} {' '.join(map(str, args))}: {why}")
    return parse(out)


def table(where, name, cases, runs, notes):
    """All @cases, row -> arguments, @runs times in turn.  Return: row -> figure -> the runs."""
    rows = {}
    gone = set()
    for nr in range(runs):
        for row, args in cases.items():
            if row in gone:
                continue
            say(f"  {name}, run {nr + 1} of {runs}: {row}")
            try:
                figures = once(where, name, *args)
            except Lacking as why:
                notes.leave_out(str(why))
                gone.add(row)
                rows.pop(row, None)
                continue
            except Failure as why:
                notes.fail(str(why))
                gone.add(row)
                rows.pop(row, None)
                continue
            for figure, value in figures.items():
                rows.setdefault(row, {}).setdefault(figure, []).append(value)
    return rows
