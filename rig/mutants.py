"""rig/mutants.py: read rig/mutants.table, and change sources as its rows say.

A row breaks our code in one way; a line or more say why, one names it, others say what changes:

    # A killed task issues the rest of a long batch.
    batch-not-killable | io_uring/submit/submit.c | io_submit_sqes | selftests wait_table_test -r global.long
    <tab>fatal_signal_pending(current) => false

The columns are the mutant's name, a file, a place in it, the tests that have to notice (kinds:
'selftests PROGRAM [-r fixture.test]', 'bpf' with the same, 'kunit SUITE[.CASE]' and 'liburing
PROGRAM'; several are joined by ';'), and, where 64-bit programs on the perf kernel cannot notice,
'debug', 'preempt', 'cover', 'btf' or '32'. A place is a function, struct, initialiser or macro by
its name, or '-' for the whole file.

Each line that begins with a tab is 'pattern => replacement'. A pattern is a row of tokens, so
white space and comments do not count, and it occurs exactly once in its place. The replacement
may be empty; an #include in it gets a line of its own. A line '<tab>@ FILE | PLACE' names another
place for the lines below it.
"""
import collections
import hashlib
import os
import re

ROOTS = ("io_uring", "include")
CONFIGS = ("debug", "preempt", "cover", "btf", "32")
# The standing rules for the sentence that says what goes wrong.
WORDS = 25
VAGUE = re.compile(r"\b(who(so)?ever|(no|some|any)body|so many)\b", re.I)

LEX = re.compile(r"""(?P<blank>\s+|\\\n|/\*.*?\*/|//[^\n]*)
    |(?P<token>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\w+|<<=|>>=|\.\.\.
    |->|\+\+|--|<<|>>|&&|\|\||\#\#|[-+*/%&|^=!<>]=|.)""", re.S | re.X)

Token = collections.namedtuple("Token", "text begin end")


class MutantError(Exception):
    """A row that cannot be read, or does not apply."""


class Row:
    """One mutant: tests, and what changes as (file, place, pattern, replacement)."""

    def __init__(self, head, why, at):
        cells = [cell.strip() for cell in head.split(" | ")]
        self.why, self.at, self.config, self.bits, self.changes = why, at, "perf", "", []
        if len(cells) not in (4, 5) or not all(cells) or cells[4:] and cells[4] not in CONFIGS:
            raise MutantError(f"line {at}: 'name | file | place | tests', or with debug, preempt, cover, btf or 32 behind")
        self.name, self.file, self.place = cells[:3]
        self.tests = [test.strip() for test in cells[3].split(";")]
        if cells[4:] == ["32"]:
            self.bits = "32"
        elif cells[4:]:
            self.config = cells[4]

    def fingerprint(self):
        """Another one if the row changes, but for its sentence."""
        what = (self.file, self.place, self.tests, self.config, self.bits, self.changes)
        return hashlib.sha256(repr(what).encode()).hexdigest()[:8]


def parse(text):
    """The rows of a table, in their order."""
    rows, why, place = [], [], None
    for at, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            why = []
        elif line.startswith("#"):
            why.append(line[1:].strip())
        elif not line.startswith("\t"):
            rows.append(Row(line, " ".join(why), at))
            place, why = (rows[-1].file, rows[-1].place), []
        elif not rows:
            raise MutantError(f"line {at}: a change before the first mutant")
        elif line.startswith("\t@ "):
            place = tuple(cell.strip() for cell in line[3:].split(" | "))
            if len(place) != 2:
                raise MutantError(f"line {at}: '@ file | place'")
        else:
            pattern, arrow, new = (line + " ").partition(" => ")
            if not arrow:
                raise MutantError(f"line {at}: 'pattern => replacement'")
            rows[-1].changes.append((*place, pattern.strip(), new.strip()))
    return rows


def read(path):
    """The rows of the table in a file, by name."""
    with open(path, encoding="utf-8") as f:
        rows = parse(f.read())
    twice = [n for n, count in collections.Counter(row.name for row in rows).items() if count > 1]
    if twice:
        raise MutantError(f"{path}: {', '.join(twice)}: the name of two mutants")
    return {row.name: row for row in rows}


def tokens(text, begin=0, end=None):
    """What the compiler sees of a text, without white space and comments."""
    for match in LEX.finditer(text, begin, len(text) if end is None else end):
        if match.group("token"):
            yield Token(match.group("token"), match.start(), match.end())


def outline(text):
    """Yield (names, begin, end) of each macro, function, struct and initialiser."""
    for match in re.finditer(r"^#[ \t]*define[ \t]+(\w+)(?:[^\n]*\\\n)*[^\n]*\n?", text, re.M):
        yield {match.group(1)}, match.start(), match.end()
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: " " * len(m.group()), text, flags=re.M)
    head, depth, begin = [], 0, None
    for token in tokens(code):
        if token.text == "{":
            if not depth:
                begin, names = head[0].begin if head else token.begin, names_of(head)
            depth += 1
        elif token.text == "}":
            depth -= 1
            if not depth:
                yield names, begin, token.end
                head = []
        elif depth:
            continue
        elif token.text == ";":
            head = []
        else:
            head.append(token)


def names_of(head):
    """The names that the head of a block at file scope gives it."""
    words = [token.text for token in head]
    if "=" in words:
        words = words[:words.index("=")]
        while words and words[-1] == "]":
            del words[len(words) - words[::-1].index("[") - 1:]
        return set(words[-1:])
    names = set()
    if len(words) > 1 and words[-2] in ("struct", "union", "enum"):
        names.add(words[-1])
    depth = 0
    for i, (word, behind) in enumerate(zip(words, words[1:])):
        depth += (word == "(") - (word == ")")
        if behind == "(" and word.isidentifier() and not depth:
            names.add(word)
            # SYSCALL_DEFINE6(name, ...) and the like
            if word.isupper() or re.match(r"[A-Z_]+DEFINE\d$", word):
                names.update(words[i + 2:i + 3])
    return names


def spans(text, place):
    """Where a place is; more than one range where #ifdef gives a name two bodies."""
    if place == "-":
        return [(0, len(text))]
    return [(begin, end) for names, begin, end in outline(text) if place in names]


def find(text, place, pattern):
    """The range of the pattern's one occurrence in a place."""
    want = [token.text for token in tokens(pattern)]
    found = []
    for begin, end in spans(text, place):
        have = list(tokens(text, begin, end))
        for i in range(len(have) - len(want) + 1):
            if have[i].text == want[0] and [t.text for t in have[i:i + len(want)]] == want:
                found.append((have[i].begin, have[i + len(want) - 1].end))
    if len(found) != 1:
        raise MutantError(f"'{pattern}' is there {len(found)} times" if found else f"'{pattern}' is not there")
    return found[0]


def elsewhere(tree, place):
    """Files that have a place of that name."""
    for root in ROOTS:
        for folder, _, names in sorted(os.walk(os.path.join(tree, root))):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if "io_uring" not in os.path.relpath(path, tree) or not name.endswith((".c", ".h")):
                    continue
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                if place in text and spans(text, place):
                    yield os.path.relpath(path, tree)


def apply(row, tree):
    """The files that a row changes in a tree: path -> what is in it then."""
    texts, edits = {}, collections.defaultdict(list)
    if not row.changes:
        raise MutantError("changes nothing")
    for path, place, pattern, new in row.changes:
        try:
            with open(os.path.join(tree, path), encoding="utf-8") as f:
                texts[path] = f.read()
        except OSError:
            texts[path] = ""
        if not spans(texts[path], place):
            have = ", ".join(elsewhere(tree, place)) or "no file has"
            raise MutantError(f"{path} does not define {place}: {have}")
        try:
            edits[path].append((*find(texts[path], place, pattern), re.sub(r"\s*#include", "\n#include", new)))
        except MutantError as e:
            raise MutantError(f"{path}, {place}: {e}") from None
    out = {}
    for path, changes in edits.items():
        text = texts[path]
        for (begin, end, new), later in zip(sorted(changes, reverse=True),
                                            [None] + sorted(changes, reverse=True)):
            if later and end > later[0]:
                raise MutantError(f"{path}: two patterns overlap")
            text = text[:begin] + new + text[end:]
        if [t.text for t in tokens(text)] == [t.text for t in tokens(texts[path])]:
            raise MutantError(f"{path}: nothing changes")
        out[path] = text
    return out
