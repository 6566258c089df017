"""rig/faults.py: what a wrong kernel might answer, for the comparison to notice.

Each function takes a program's listing, the lines of what it came to, the number of the line that
it breaks, and a source of random numbers; it returns the lines of a wrong kernel, or None.
"""
import re

import outcome

CQE = re.compile(r"   ring (\d): (\d+) = (-?\d+)(.*)")


def result(lines, at, new):
    """Another result in a CQE."""
    ring, data, was, rest = CQE.fullmatch(lines[at]).groups()
    return None if int(was) == new else [*lines[:at], f"   ring {ring}: {data} = {new}{rest}", *lines[at + 1:]]


def lost(_listing, lines, at, _rng):
    return lines[:at] + lines[at + 1:]


def doubled(_listing, lines, at, _rng):
    return lines[:at + 1] + lines[at:]


def made_up(listing, lines, at, rng):
    """A CQE of no request."""
    data = rng.choice([n for n in range(101, 400) if (0, n) not in listing.named and (1, n) not in listing.named])
    return lines[:at] + [re.sub(r": \d+ = .*", f": {data} = 0", lines[at])] + lines[at:]


def of_another(listing, lines, at, rng):
    """A cancel ends a request that it does not mean, and that would go on."""
    done = {(int(m.group(1)), int(m.group(2))) for m in map(CQE.match, lines) if m}
    waiting = [key for key in listing.named if listing.named[key] and key not in done and
               not listing.has(listing.named[key][0], "SKIP")]
    if not waiting:
        return None
    ring, data = rng.choice(waiting)
    return lines[:at] + [f"   ring {ring}: {data} = -125"] + lines[at:]


def cancelled(_listing, lines, at, _rng):
    return result(lines, at, -125)


def succeeds(_listing, lines, at, _rng):
    return result(lines, at, 0)


def fails(_listing, lines, at, _rng):
    return result(lines, at, -22)


def off_by_one(_listing, lines, at, _rng):
    return result(lines, at, int(CQE.fullmatch(lines[at]).group(3)) + 1)


def flags(_listing, lines, at, _rng):
    """Another CQE flag."""
    ring, data, was, rest = CQE.fullmatch(lines[at]).groups()
    old = re.match(r" flags (0x\w+)", rest)
    new = int(old.group(1), 16) ^ 2 if old else 2
    rest = re.sub(r"^ flags 0x\w+", "", rest)
    return [*lines[:at], f"   ring {ring}: {data} = {was}" + (f" flags {new:#x}" if new else "") + rest, *lines[at + 1:]]


def wrong_ring(_listing, lines, at, _rng):
    return [*lines[:at], re.sub(r"ring (\d)", lambda m: f"ring {int(m.group(1)) ^ 1}", lines[at]), *lines[at + 1:]]


def late(_listing, lines, at, _rng):
    """The CQE comes with the next call."""
    for i in range(at + 1, len(lines)):
        if re.fullmatch(r" *\d+: -?\d+", lines[i]) and i + 1 < len(lines) and lines[i + 1].startswith("   ring"):
            return lines[:at] + lines[at + 1:i + 1] + [lines[at]] + lines[i + 1:]
    return None


KINDS = (lost, doubled, made_up, of_another, cancelled, succeeds, fails, off_by_one, flags, wrong_ring, late)


def put(text, stock, ours, rng, known):
    """One fault of each kind into each of a program's operations, in what ours said.

    Yield: the fault, the operation, the request's line, and whether the comparison reports it.
    """
    lines = ours.split("\n")
    listing = outcome.Listing(text)
    places = {}
    for at, line in enumerate(lines):
        cqe = CQE.fullmatch(line)
        for call in listing.named.get((int(cqe.group(1)), int(cqe.group(2))), ()) if cqe else ():
            places.setdefault(re.match(r"(op )?\w+", listing.requests[call][2]).group(), []).append(at)
    for op, found in sorted(places.items()):
        for kind in KINDS:
            at = rng.choice(found)
            wrong = kind(listing, list(lines), at, rng)
            if wrong and wrong != lines:
                left = outcome.compare(known, text, stock, "\n".join(wrong))[1]
                yield kind.__name__, op, lines[at].strip(), bool(left)
