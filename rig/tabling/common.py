# SPDX-License-Identifier: GPL-2.0
"""rig/tables: where things are, progress, and what was left out."""
import os
import statistics
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def say(text, end="\n"):
    print(text, file=sys.stderr, end=end, flush=True)


class Notes:
    """Messages about what is left out or has failed, each of them once, for the end of the text."""

    def __init__(self):
        self.left_out = []
        self.failed = []

    def leave_out(self, text):
        if text not in self.left_out:
            self.left_out.append(text)

    def fail(self, text):
        if text not in self.failed:
            self.failed.append(text)
            say("  FAILED; the end of the text says why")

    def lines(self):
        return [f"left out: {text}" for text in self.left_out] + [f"FAILED:   {text}" for text in self.failed]


class Failure(Exception):
    """A run that ended badly; its text says why."""


class Lacking(Failure):
    """A run that needs what the kernel, a device or the machine does not have."""


def run(line, limit, env=None):
    """Run a command for at most @limit seconds.  Return: its status, stdout and stderr."""
    try:
        p = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit,
                           env={**os.environ, **(env or {})})
    except subprocess.TimeoutExpired:
        raise Failure(f"{Path(line[0]).name} took more than {limit} s") from None
    except OSError as error:
        raise Failure(f"{line[0]}: {error.strerror}") from None
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


def median(runs):
    return statistics.median(runs)


def spread(runs):
    """How far the runs lie apart, as a share of their median."""
    middle = median(runs)
    return (max(runs) - min(runs)) / middle if middle else 0.0
