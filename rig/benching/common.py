# SPDX-License-Identifier: GPL-2.0
"""rig/bench: where things are, what is wanted, and how a failure is told."""
import sys
import tomllib
from pathlib import Path

import base

TOP = Path(__file__).resolve().parents[2]
OUT = base.OUT / "bench"
QEMU = "qemu-system-x86_64"
# Ours at the last landing.
FIGURES = base.RECORDED / "figures"
STOCK_FIGURES = base.RECORDED / "stock-figures"
WANTED = tomllib.loads((Path(__file__).parent / "goals.toml").read_text())
# What the names mean is said in goals.toml.
LIMIT, GOALS, LOCKED, CYCLES = (WANTED[k] for k in ("other", "instructions", "locked", "cycles"))
PEER_GOALS, WORSE, PACE, REQUEST = (WANTED[k] for k in ("peer", "worse", "pace", "request"))
# Of the peer: rows that run on it.
PEER_ROWS = "aux/"


def die(text):
    sys.exit(f"bench: {text}")


def say(text):
    print(text, file=sys.stderr, flush=True)


def cycles(row, instr="instr"):
    """Modelled cycles an operation; orders work, claims nothing."""
    return 0.3 * row[instr] + 20 * row["locked"] + 115 * row["syscalls"]


def goal_of(name, goals=GOALS, other=LIMIT):
    """What a row may cost at most: by the longest key that means it."""
    return max(((len(row), goal) for row, goal in goals.items()
                if name == row or row[-1] == "/" and name.startswith(row)),
               default=(0, other))[1]
