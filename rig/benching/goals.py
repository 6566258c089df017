# SPDX-License-Identifier: GPL-2.0
"""rig/bench: the goals of the rows, those that are missed for now, and the best that a row was."""
import tomllib

import base
from benching.common import WANTED, LOCKED, CYCLES, cycles, goal_of

EXCUSES = base.RECORDED / "missed.toml"
# What the names mean is said in goals.toml.
NOISE, CREEP, MOST = (WANTED["counts"][k] for k in ("noise", "creep", "most"))


def key_of(name, keys):
    """The longest key that means a row, as goal_of()."""
    return max((key for key in keys
                if name == key or key[-1] == "/" and name.startswith(key)), key=len, default=None)


class Goals:
    """What is wanted of the rows, and what is excused.  A check says (bad, words)."""

    def __init__(self, excuses=None):
        if excuses is None:
            excuses = tomllib.loads(EXCUSES.read_text())
        self.missed = excuses.get("missed", {})
        self.dearer = excuses.get("dearer", {})
        self.used = set()

    def against_stock(self, name, stock, ours):
        """One row of ours beside stock's, instructions and locked operations."""
        ratio = ours["instr"] / stock["instr"]
        goal, locked, times = (goal_of(name), goal_of(name, LOCKED, stock["locked"]),
                               goal_of(name, CYCLES, None))
        words = f"<= {goal:.2f}"
        good = ratio <= goal + NOISE
        if ours["locked"] > locked + NOISE * max(locked, 50):
            good, words = False, words + f", lock {ours['locked']:.2f} <= {locked:.2f}"
            if key_of(name, self.missed) and not self.locks_excused(name, ours["locked"] / locked):
                return True, words + " FAIL: missed.toml excuses instructions only"
        if times is not None:
            # system calls are not recorded; as many on both
            reached = (cycles({"syscalls": ours["syscalls"], **stock}) / cycles(ours)
                       if "syscalls" in ours else times)
            words += f", cycles {reached:.2f}x fewer >= {times:.1f}x"
            good = good and reached >= times
        if good:
            return False, words + " pass"
        key = key_of(name, self.missed)
        if not key:
            return True, words + " FAIL"
        self.used.add(key)
        floor = self.missed[key]["ratio"]
        if ratio > floor + NOISE:
            return True, words + f" FAIL: above {floor:.3f} of missed.toml"
        return False, words + f" missed, {floor:.3f} is known"

    def locks_excused(self, name, ratio):
        """missed.toml may say how far a row misses its goal for locked operations as well."""
        return ratio <= self.missed[key_of(name, self.missed)].get("locked", 1) + NOISE

    def against_best(self, name, ours, best):
        """One row beside the least that it ever cost."""
        now = ours["instr"]
        if now <= max(best * (1 + CREEP), best + 1):
            return False, ""
        key = key_of(name, self.dearer)
        most = self.dearer[key]["ratio"] if key else 1
        words = f"{now / best:.3f} of its best, {best:.1f}"
        if now <= best * (most + NOISE):
            return False, words
        return True, words + (f", more than {most:.3f} of missed.toml  FAIL" if key
                              else ", and no reason in missed.toml  FAIL")

    def stale(self, names):
        """Keys of missed.toml of which every row was seen, and reaches its goal; too many rows."""
        for key in self.missed:
            if key not in self.used and any(key_of(n, [key]) for n in names):
                yield f"missed.toml: '{key}' reaches its goal"
            if not self.missed[key].get("why") or not self.missed[key].get("date"):
                yield f"missed.toml: '{key}' has no reason, or no date"
        if len(self.missed) > MOST:
            yield f"missed.toml: {len(self.missed)} entries, at most {MOST}"

