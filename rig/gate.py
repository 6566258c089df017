#!/usr/bin/python3
"""rig/gate.py: rig/stages, the table of what make test has to run, against what it ran.

    rig/gate.py budget STAGE      the minutes that a stage may take
    rig/gate.py judge SUMMARY     a line for each stage, what is wrong, and the sum

A line of SUMMARY is 'STAGE PASSED FAILED SKIPPED SECONDS'; a stage that has said nothing has a
'-' for each number but the last.  The log of a stage is test-STAGE.log beside SUMMARY.
"""
import collections
import os
import re
import sys

STAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stages")
Stage = collections.namedtuple("Stage", "name minutes passed skipped")
Result = collections.namedtuple("Result", "name passed failed skipped seconds")
FAILURE = re.compile(r"\bFAIL\b|^\s*not ok\b|\bBUG:|\bWARNING:|(?<!\b0 )\bfailed\b")


def rows(text, kind):
    """The rows of a table of words and numbers."""
    for line in text.split("\n"):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield kind(words[0], *(None if word == "-" else int(word) for word in words[1:]))


def judge(stages, results):
    """Yield a line for each stage, with its numbers of passed, failed and skipped checks.

    What is wrong with a stage beside its failed checks counts as one more.
    """
    ran = collections.defaultdict(list)
    for result in results:
        ran[result.name].append(result)
    for stage in stages:
        found = ran.pop(stage.name, [])
        wrong = list(faults(stage, found))
        result = found[0] if found else Result(stage.name, 0, 0, 0, 0)
        passed, skipped = result.passed or 0, result.skipped or 0
        failed = (result.failed or 0) + bool(wrong)
        minutes = -(-result.seconds // 60)
        late = "  over its budget" if minutes > stage.minutes else ""
        yield "%-22s %5d passed %4d failed %4d skipped  %3d of %2d min%s%s" % (
            stage.name, passed, failed, skipped, minutes, stage.minutes, late,
            "".join(f"\n    {words}" for words in wrong)), passed, failed, skipped
    for name in ran:
        yield f"{name}: not in rig/stages", 0, 1, 0


def faults(stage, found):
    """What is wrong with what a stage said, if it ran, apart from its failed checks."""
    if not found:
        yield "did not run, or did not end"
    elif len(found) > 1:
        yield f"ran {len(found)} times"
    elif found[0].passed is None:
        yield "said nothing of how it ended"
    else:
        if found[0].passed < stage.passed:
            yield f"{found[0].passed} checks passed, at least {stage.passed} have to"
        if found[0].skipped > stage.skipped:
            yield f"{found[0].skipped} checks were left out, at most {stage.skipped} may be"


def read(path, kind):
    """The rows of a file."""
    with open(path, encoding="utf-8") as f:
        return list(rows(f.read(), kind))


def failures(summary, name, most=8):
    """The last lines of a stage's log that speak of a failure."""
    try:
        path = os.path.join(os.path.dirname(summary), f"test-{name}.log")
        with open(path, encoding="utf-8", errors="replace") as f:
            found = [line.rstrip()[:160] for line in f if FAILURE.search(line)]
    except FileNotFoundError:
        return []
    return [f"    {line}" for line in found[-most:]]


def main():
    stages = read(STAGES, Stage)
    if sys.argv[1:2] == ["budget"]:
        print(next(stage.minutes for stage in stages if stage.name == sys.argv[2]))
        return 0
    total = [0, 0, 0]
    for line, *counts in judge(stages, read(sys.argv[2], Result)):
        print(line)
        if counts[1]:
            print("\n".join(failures(sys.argv[2], line.split()[0])))
        total = [a + b for a, b in zip(total, counts)]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return total[1] > 0


if __name__ == "__main__":
    sys.exit(main())
