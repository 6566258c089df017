"""rig/outcome.py: what a compared program of the fuzzer came to on two kernels, and what differs.

Each difference is one of a request (all its CQEs on one side against those on the other), of what
a call returned, or of a line of the program's end. rig/fuzz.known lists the differences that stay:

    request: a pattern for the request, as describe() shows it
    call: or a pattern for a call of the listing, whose return value differs
    end: or a pattern for a line at the program's end, its numbers left out
    stock: a pattern for all that stock tells of it
    ours: likewise
    reason: the id of a row of Documentation/io_uring/differences.rst
    program: a pattern that is found in the listing (optional)

Patterns but the last have to match the whole. A known difference explains itself, and what follows from it
alone: the rest of its chain, how many CQEs wait in its ring, the data that it moved. Everything
else is still compared.
"""
import collections
import functools
import re

from differences import ids

Difference = collections.namedtuple("Difference", "kind key stock ours")
NOTHING = "nothing"
# Both ends of pipes and sockets: what one side writes is found at the other.
PAIRS = ({44, 45}, {46, 47}, {48, 49}, {55, 56})
POLLIN, OVERFLOWN = 1, 2
TAGS = 2000     # the first user_data of a resource's tag
FULL = -16      # what the fuzzer returns for an SQE that has no room


@functools.lru_cache(8)
class Outcome:
    """A program's text, as 'fuzz list' prints it, taken apart."""

    def __init__(self, text):
        self.cqes = collections.defaultdict(list)       # (ring, user_data) -> [(call, result)]
        self.returns, self.words, self.lines = {}, {}, collections.defaultdict(list)
        at = -1
        for line in filter(None, text.split("\n")):
            call = re.fullmatch(r" *(\d+): (-?\d+)", line)
            cqe = re.fullmatch(r"   ring (\d): (\d+) = (.*)", line)
            ring = re.fullmatch(r"   ring (\d): sq (\d+) cq (\d+) dropped (\d+) overflow (\d+) flags (\w+)", line)
            if call:
                at = int(call.group(1))
                self.returns[at] = int(call.group(2))
            elif cqe:
                self.cqes[int(cqe.group(1)), int(cqe.group(2))].append((at, cqe.group(3)))
            elif ring:
                self.words[at, int(ring.group(1))] = [int(n) for n in ring.groups()[1:5]] + [int(ring.group(6), 16)]
            else:
                # what is left of the program has no indentation
                self.lines[at if line.startswith(" ") else "end"].append(line)


class Listing:
    """A program as 'fuzz showc' prints it; SQEs that found the SQ full are no requests."""

    def __init__(self, text, full=()):
        self.head = text.split("\n", 1)[0]
        self.calls = {int(at): rest for at, rest in re.findall(r"^ *(\d+)  (.*)$", text, re.M)}
        self.rings = {int(ring): rest for ring, rest in re.findall(r"^ *\d+  ring(\d) (.*)$", text, re.M)}
        self.requests = {}                              # call -> (ring, user_data, text)
        self.named = collections.defaultdict(list)      # (ring, user_data) -> calls
        self.before, self.behind = {}, {}               # call -> the call that it is linked to, and back
        self.cut = set()                                # calls whose chain the end of a batch cuts off
        tail = {}                                       # ring -> the last SQE, if it links
        for at, rest in self.calls.items():
            sqe = re.match(r"sqe ring(\d) (.*) data=(\d+)", rest)
            if at in full:
                continue
            if not sqe:
                last = tail.pop(int(rest[10]), None) if rest.startswith("enter") else None
                if last is not None:
                    self.cut.update([last, *self.chain(last)])
                continue
            ring, data = int(sqe.group(1)), int(sqe.group(3))
            self.requests[at] = ring, data, sqe.group(2)
            self.named[ring, data].append(at)
            if tail.get(ring) is not None:
                self.before[at], self.behind[tail[ring]] = tail[ring], at
            tail[ring] = at if self.has(at, "LINK|HARDLINK") else None

    def has(self, at, flags):
        """Has a request one of these flags?"""
        return bool(re.match(rf"(op )?\w+ \S*\b({flags})\b\S* ", self.requests[at][2]))

    def chain(self, at):
        """The requests before one in its chain, the last first."""
        while at in self.before:
            at = self.before[at]
            yield at

    def describe(self, at, waiting=()):
        """A request, its ring and its chain, in one line: 'REQUEST on RING [cut off] [drained] [held]
        [behind REQUEST]... [before REQUEST]...'.  It is held by a request that is waiting."""
        ring, _, text = self.requests[at]
        before, after = list(self.chain(at)), []
        while (after[-1] if after else at) in self.behind:
            after.append(self.behind[after[-1] if after else at])
        return f"{text} on {self.rings.get(ring, '')}" + (" cut off" if at in self.cut else "") + \
            (" drained" if any(self.has(a, "DRAIN") for a in [*before, at, *after]) else "") + \
            (" held" if any(w < at and self.requests[w][0] == ring for w in waiting) else "") + \
            "".join(f" behind {self.requests[b][2]}" for b in before) + \
            "".join(f" before {self.requests[a][2]}" for a in after)

    def fds(self, at):
        """The descriptors that a request may move data of."""
        fds = {int(fd) for fd in re.findall(r"fd=(\d+)\(", self.requests[at][2])}
        if "fd=[" in self.requests[at][2]:
            fds |= set(range(40, 60))
        return fds.union(*(pair for pair in PAIRS if pair & fds))


def told(cqes, others):
    """The CQEs of a request as words; with the time if the other side has the same ones."""
    if not cqes:
        return NOTHING
    words = ", ".join(result for _, result in cqes)
    if [r for _, r in cqes] == [r for _, r in others]:
        words += " later" if [c for c, _ in cqes] > [c for c, _ in others] else " earlier"
    return words


def differences(listing, stock, ours):
    """Everything that differs between two outcomes of a program."""
    for key in sorted(set(stock.cqes) | set(ours.cqes)):
        a, b = stock.cqes.get(key, []), ours.cqes.get(key, [])
        if len(listing.named[key]) > 1:
            # of several requests: what both sides tell is told of the same one
            a, b = ([cqe for cqe in a if cqe not in b], [cqe for cqe in b if cqe not in a]) \
                if len(set(a + b)) == len(a + b) - len(set(a) & set(b)) else (a, b)
        if a != b:
            yield Difference("request", key, told(a, b), told(b, a))
    for at in sorted(set(stock.returns) | set(ours.returns)):
        a, b = stock.returns.get(at), ours.returns.get(at)
        if a != b:
            yield Difference("call", at, str(a), str(b))
    for key in sorted(set(stock.words) | set(ours.words)):
        a, b = stock.words.get(key), ours.words.get(key)
        if a != b:
            yield Difference("words", key, a, b)
    for at in sorted(set(stock.lines) | set(ours.lines), key=str):
        a, b = stock.lines.get(at, []), ours.lines.get(at, [])
        for name in sorted({name_of(line) for line in a + b}):
            pair = [", ".join(line for line in side if name_of(line) == name) for side in (a, b)]
            if pair[0] != pair[1]:
                yield Difference("end" if at == "end" else "line", name, *pair)


def name_of(line):
    """What a line is about: its first words, with the number of what it names."""
    return " ".join(line.split()[:2]) if re.match(r"\s*(fd|page) ", line) else line.split()[0]


class Known:
    """The entries of rig/fuzz.known."""

    KINDS = ("request", "call", "end")

    def __init__(self, text, page):
        self.entries = []
        rows = ids(page)
        text = "".join(line + "\n" for line in text.split("\n") if not line.startswith("#"))
        for block in filter(None, re.split(r"\n\s*\n", text.strip())):
            entry = dict(re.findall(r"^(\w+): *(.*)$", block, re.M))
            kinds = [kind for kind in self.KINDS if kind in entry]
            if len(kinds) != 1 or not {"stock", "ours", "reason"} <= set(entry):
                raise ValueError(f"wants request, call or end, and stock, ours and reason: {block}")
            if entry["reason"] not in rows:
                raise ValueError(f"not among the differences: {entry['reason']}")
            self.entries.append((kinds[0], entry))

    def reason(self, difference, texts, program):
        """Of the first entry about a difference, of which the listing has these texts."""
        for kind, entry in self.entries:
            if kind == difference.kind and re.search(entry.get("program", ""), program) and any(re.fullmatch(entry[kind], text) for text in texts) and \
                    re.fullmatch(entry["stock"], difference.stock) and re.fullmatch(entry["ours"], difference.ours):
                return entry["reason"]
        return None


def compare(known, text, stock, ours):
    """Compare two texts of a program.  Return: the reasons that were met, and what nothing explains."""
    sides = Outcome(stock), Outcome(ours)
    listing = Listing(text, {at for at, value in sides[0].returns.items() if value == FULL})
    found = list(differences(listing, *sides))
    reasons, explained, left = [], set(), []
    waiting = [at for at, (ring, data, _) in listing.requests.items()
               if not sides[1].cqes.get((ring, data)) and not listing.has(at, "SKIP|DRAIN")]
    for d in found:
        texts = [listing.describe(at, waiting) for at in listing.named[d.key]] if d.kind == "request" else \
            [listing.calls.get(d.key, "")] if d.kind == "call" else [d.key]
        reason = known.reason(d, texts, text)
        if reason:
            reasons.append(reason)
            explained.add((d.kind, d.key))
        else:
            left.append(d)
    # what hides its CQE may differ all the same
    for at, (ring, data, _) in listing.requests.items():
        hidden = Difference("request", (ring, data), NOTHING, NOTHING)
        if listing.has(at, "SKIP") and known.reason(hidden, [listing.describe(at)], text):
            explained.add(("request", (ring, data)))
    left = [d for d in left if not (d.kind == "request" and (
        in_chain(listing, sides, d, explained) or held(listing, sides, d, explained) or
        sent(listing, d, explained)))]
    rings = collections.Counter(key[0] for kind, key in explained if kind == "request")
    left = [d for d in left if not (d.kind == "request" and rings[d.key[0]] and delayed(sides, d))]
    return reasons, [d for d in left if not follows(listing, d, explained, rings)]


def delayed(sides, d):
    """Do a request's CQEs come at another time alone, in a ring whose queue had no room?"""
    full = any(ring == d.key[0] and words[4] & OVERFLOWN
               for side in sides for (_, ring), words in side.words.items())
    return full and untimed(d.stock) == untimed(d.ours)


def untimed(words):
    """What told() says, without the time."""
    return words.removesuffix(" later").removesuffix(" earlier")


def in_chain(listing, sides, d, explained):
    """Does this request's difference follow from that of one before it in its chain?"""
    for at in listing.named[d.key]:
        for before in listing.chain(at):
            key = listing.requests[before][:2]
            if ("request", key) not in explained:
                continue
            heads = [[r for _, r in side.cqes.get(key, [])] for side in sides]
            if heads == [[], []] or all(may_follow(listing, before, head, words)
                                        for head, words in zip(heads, (d.stock, d.ours))):
                explained.add(("request", d.key))
                return True
    return False


def held(listing, sides, d, explained):
    """Is this request behind a drained one that waits, on one side only, for one that is explained?"""
    for at in listing.named[d.key]:
        for before, (ring, data, _) in listing.requests.items():
            if before < at and ring == d.key[0] and listing.has(before, "DRAIN") and \
                    ("request", (ring, data)) in explained:
                for side, words in zip(sides, (d.stock, d.ours)):
                    if not side.cqes.get((ring, data)) and words == NOTHING:
                        return True
    return False


def sent(listing, d, explained):
    """Is this the message of a MSG_RING, or the tag of a file of a request, that is explained?"""
    if listing.named[d.key] or {d.stock, d.ours} & {NOTHING} == set():
        return False
    for kind, key in explained:
        for at in listing.named[key] if kind == "request" else ():
            text = listing.requests[at][2]
            if re.match(rf"MSG_RING .*off={d.key[1]:#x}\b", text) or \
                    d.key[1] >= TAGS and "FIXED_FILE" in text and "0" in (d.stock, d.ours):
                return True
    return False


def may_follow(listing, before, head, words):
    """On one side: may a request end like this behind one that told of this?"""
    if not head:
        return words == NOTHING
    if head[-1].startswith("-") and not listing.has(before, "HARDLINK"):
        return untimed(words) == "-125"
    return True


def follows(listing, d, explained, rings):
    """Does a difference that is no request's follow from requests that are explained?"""
    keys = {key for kind, key in explained if kind == "request"}
    if d.kind == "words":
        # sq, cq, dropped, overflow, flags
        a, b = d.stock, d.ours
        most = rings[d.key[1]]
        return bool(a and b and most) and (a[0], a[2]) == (b[0], b[2]) and abs(a[1] - b[1]) <= most and \
            abs(a[3] - b[3]) <= most and a[4] | OVERFLOWN == b[4] | OVERFLOWN
    if d.kind == "call":
        call = listing.calls.get(d.key, "")
        ring = re.match(r"(enter|reap|poll) ring(\d)", call)
        if ring and rings[int(ring.group(2))]:
            a, b = int(d.stock), int(d.ours)
            return {"reap": abs(a - b) <= rings[int(ring.group(2))], "poll": a | POLLIN == b | POLLIN,
                    "enter": {a, b} <= {0, -4, -62}}[ring.group(1)]
        fd = re.match(r"(?:read|write|close) (\d+)\(", call)
        return bool(fd) and moved(listing, keys, {int(fd.group(1))})
    if d.kind == "end":
        fd = re.match(r"fd (\d+)", d.key)
        return moved(listing, keys, {int(fd.group(1))} if fd else set()) if fd or d.key.startswith("page") else False
    return False


def moved(listing, keys, fds):
    """May one of these requests have moved data of a descriptor, or, without one, of memory?"""
    for key in keys:
        for at in listing.named[key]:
            if re.match(r"(READ|WRITE|RECV|SEND|SPLICE|TEE)", listing.requests[at][2]) and \
                    (not fds or fds & listing.fds(at)):
                return True
    return False
