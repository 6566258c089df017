"""rig/draw.py: mutants of one token, drawn at random, and whether the compiler takes a mutant.

Any function of io_uring/ may be hit, those of its tests not. A mutant counts if it compiles and
the object file is another one. What changes:

    a comparison        == and !=, < and <=, > and >= change places
    a negation          goes
    && and ||           change places
    + and -, ++ and --  change places
    a number            0 and 1 change places, others grow by one
    true and false      change places
    break, continue     change places
    |=                  becomes &=
    a call              that is a statement goes
    a barrier           acquire and release become relaxed, a store-release a plain store

Its tests are all programs that run the line, as rig/cover has counted: first those that rows of
rig/mutants.table name for the same function, then those for the same file, each time the shortest
first; and at last all KUnit suites where the folder has some.  The first that notices ends the
trial.  The kernel is that of CONFIG=cover.
"""
import collections
import concurrent.futures
import functools
import glob
import json
import os
import random
import re
import shutil
import subprocess
import tempfile

import base
import mutants

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = str(base.OUT)
SRC, OBJ = OUT + "/ours/src", OUT + "/ours/cover"
HEADERS = ("include/linux/io_uring.h", "include/linux/io_uring_types.h", "include/linux/io_uring")
# of other folders of the kernel, whose headers ours include by path
BESIDE = ("fs", "kernel", "net")
SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&",
         "+": "-", "-": "+", "++": "--", "--": "++", "+=": "-=", "-=": "+=", "|=": "&=",
         "true": "false", "false": "true", "0": "1", "1": "0", "break": "continue", "continue": "break",
         "smp_store_release": "WRITE_ONCE", "smp_load_acquire": "READ_ONCE"}
# Statements that check what holds anyway, or tell of it.
CHECKS = re.compile(r"(lockdep_|might_|io_assert|WARN|BUILD_BUG|trace_|kasan_|kmsan_|static_assert)")
# Which programs run which lines.
PROGRAMS = OUT + "/cover/programs.json"


def build():
    """Bring the kernel up to date that says how a file is compiled."""
    subprocess.run([TOP + "/rig/kernel"], env={**os.environ, "KERNEL": "ours", "CONFIG": "cover"},
                   stdout=subprocess.DEVNULL, check=True)


def command(source, tree):
    """What compiled a file, for the one in another tree, but no output; None if nothing did."""
    path = "%s/%s/.%s.o.cmd" % (OBJ, os.path.dirname(source), os.path.basename(source)[:-2])
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        line = f.readline().split(":=", 1)[1].split(" ; ")[0].strip()
    # counters differ where the code does not
    line = re.sub(r"-Wp,-MMD,\S+| -o \S+| -fprofile-arcs| -ftest-coverage", "", line).replace("ccache ", "")
    line = line.replace("../src/", SRC + "/").replace(SRC + "/io_uring", tree + "/io_uring")
    return line.replace("-I%s/include " % SRC, "-I%s/include -I%s/include " % (tree, SRC)) + " "


def dependents(header):
    """The files of io_uring/ that include a header."""
    found = []
    for path in sorted(glob.glob(OBJ + "/io_uring/*/.*.o.cmd")):
        source = os.path.relpath(path, OBJ).replace("/.", "/")[:-6] + ".c"
        with open(path, encoding="utf-8") as f:
            if header + " " in f.read() and os.path.exists(f"{SRC}/{source}"):
                found.append(source)
    # its own folder's first
    return sorted(found, key=lambda source: os.path.dirname(source) != os.path.dirname(header))


def plant(tree):
    """A copy of what a row may change."""
    shutil.copytree(SRC + "/io_uring", tree + "/io_uring")
    os.makedirs(tree + "/include/linux")
    for name in HEADERS:
        copy = shutil.copytree if os.path.isdir(SRC + "/" + name) else shutil.copy
        copy(SRC + "/" + name, tree + "/" + name)
    for name in BESIDE:
        os.symlink(SRC + "/" + name, tree + "/" + name)


def compile_row(row):
    """Return: a row, and what the compiler has against it."""
    with tempfile.TemporaryDirectory(dir=OUT) as tree:
        plant(tree)
        sources = set()
        for path, text in mutants.apply(row, tree).items():
            with open(f"{tree}/{path}", "w", encoding="utf-8") as f:
                f.write(text)
            sources.update([path] if path.endswith(".c") else dependents(path)[:4])
        lines = [line for line in (command(source, tree) for source in sorted(sources)) if line]
        if not lines:
            return row, "the kernel compiles nothing of it"
        for line in lines:
            done = subprocess.run(line.replace(" -c ", " -fsyntax-only "), shell=True, cwd=OBJ, text=True,
                                  capture_output=True, check=False)
            if done.returncode:
                return row, re.sub(r"^.*?: error: ", "", next(
                    (row for row in done.stderr.splitlines() if "error:" in row), done.stderr))
    return row, None


def compile_rows(rows):
    """Yield the rows that do not compile, with the reason."""
    build()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from ((row, fault) for row, fault in pool.map(compile_row, rows) if fault)


Change = collections.namedtuple("Change", "path place begin end new pattern replacement")


def candidates(path, text):
    """Every change of one token that a file's functions allow."""
    for names, begin, end in mutants.outline(text):
        name = min((n for n in names if not n.startswith("__") and not n.isupper()), default=None)
        head = text[begin:end].partition("{")[0]
        if not name or "(" not in head or "=" in head or head.startswith("#"):
            continue
        have = list(mutants.tokens(text, begin, end))
        body = next(i for i, token in enumerate(have) if token.text == "{")
        for i in range(body + 1, len(have)):
            for upto, new in edits(have, i):
                first, last = around(have, i, upto)
                old = join(text, have[first:last])
                made = join(text, have[first:i]) + " " + new + " " + join(text, have[upto:last])
                yield Change(path, name, have[i].begin, have[upto - 1].end, new, old, " ".join(made.split()))


def edits(have, i):
    """What may become of token i: up to where it goes, and what comes instead."""
    word, before, behind = have[i].text, have[i - 1].text, have[min(i + 1, len(have) - 1)].text
    operand = before in (")", "]") or re.match(r"\w", before) and before not in ("return", "case")
    if word in ("+", "-") and not operand:
        return
    if word == "!" or word in ("smp_mb", "smp_wmb", "smp_rmb"):
        if word == "!":
            yield i + 1, ""
    elif word in SWAPS:
        yield i + 1, SWAPS[word]
    elif re.match(r"0x|[1-9]", word):
        yield i + 1, re.sub(r"^(0x)?[\da-fA-F]+?(?=[uUlL]*$)", lambda m: str(int(m.group(), 0) + 1), word)
    elif re.match(r"(atomic|cmpxchg|xchg|try_cmpxchg|test_and)\w*_(acquire|release)$", word):
        yield i + 1, re.sub(r"_(acquire|release)$", "_relaxed", word)
    if behind == "(" and before in (";", "{", "}", ")", "else") and word.isidentifier() and \
            word not in ("if", "while", "for", "switch", "return", "sizeof") and not CHECKS.match(word):
        depth = 0
        for j in range(i + 1, len(have)):
            depth += (have[j].text == "(") - (have[j].text == ")")
            if not depth:
                if have[j + 1].text == ";":
                    yield j + 1, ""
                return


def around(have, i, upto):
    """A range of tokens around some that occurs once among all."""
    words = [token.text for token in have]
    for width in range(1, len(words)):
        first, last = max(0, i - width), min(len(words), upto + width)
        want = words[first:last]
        if sum(words[k:k + len(want)] == want for k in range(len(words) - len(want) + 1)) == 1:
            return first, last
    return 0, len(words)


def join(text, have):
    """Tokens as text, with a blank where the source has white space."""
    out = ""
    for before, token in zip([None] + have, have):
        out += (" " if before and before.end < token.begin else "") + token.text
    return out


class Objects:
    """What the compiler makes of files."""

    def __init__(self):
        self.base = {}

    def make(self, source, tree):
        line = command(source, tree)
        if not line:
            return None
        with tempfile.NamedTemporaryFile(suffix=".o", dir=OUT) as o:
            line = re.sub(r" -g\S*", " ", line)
            done = subprocess.run(f"{line} -o {o.name}", shell=True, cwd=OBJ, capture_output=True, check=False)
            if done.returncode:
                return None
            dump = subprocess.run(["objdump", "-drs", "--section=.text", "--section=.init.text", "--section=.rodata",
                                   "--section=.data", o.name], capture_output=True, check=False).stdout
            return b"\n".join(dump.split(b"\n")[3:])

    def changes(self, change, tree):
        """Does a change compile, to another object?"""
        path = f"{tree}/{change.path}"
        with open(path, encoding="utf-8") as f:
            was = f.read()
        sources = [change.path] if change.path.endswith(".c") else dependents(change.path)
        for source in sources:
            if source not in self.base:
                self.base[source] = self.make(source, tree)
                if command(source, tree) and self.base[source] is None:
                    raise SystemExit(f"error: {source} does not compile as it stands")
        # a line more or less shows in the object as well
        gone = was[change.begin:change.end]
        try:
            with open(path, "w", encoding="utf-8") as f:
                f.write(was[:change.begin] + change.new + "\n" * gone.count("\n") + was[change.end:])
            for source in sources:
                if self.base[source] is None:
                    continue
                now = self.make(source, tree)
                if now is None:
                    return False
                if now != self.base[source]:
                    return True
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.write(was)
        return False


@functools.cache
def coverage():
    """Return: what rig/cover has found, how long each program ran and which programs ran each line."""
    if not os.path.exists(PROGRAMS):
        raise SystemExit("error: which programs run a line is not known yet: rig/cover")
    with open(PROGRAMS, encoding="utf-8") as f:
        return json.load(f)


def tests_for(change, rows, covered, text):
    """The programs that run the line of a random mutant, by what the table's rows name for places near it."""
    lines = {int(n): programs for n, programs in covered["lines"].get(change.path, {}).items()}
    # a statement counts in its first line
    line = max((n for n in lines if n <= text.count("\n", 0, change.begin) + 1), default=None)
    function, file = set(), set()
    for row in rows:
        names = {test.split()[1] for test in row.tests if test.startswith("selftests ")}
        for path, place, _, _ in row.changes:
            if path == change.path:
                file |= names
                function |= names if place == change.place else set()
    tests = ["selftests " + program for program in sorted(lines.get(line, ()), key=lambda program: (
        program not in function, program not in file, covered["seconds"].get(program, 0)))]
    if os.path.isdir(f"{TOP}/{os.path.dirname(change.path)}/tests"):
        tests.append("kunit *")
    return tests


def draw(number, seed, rows):
    """Return: the text of a table, a line each, of random mutants."""
    build()
    covered = coverage()
    everything, texts = [], {}
    for path in sorted(glob.glob(TOP + "/io_uring/**/*.[ch]", recursive=True)):
        name = os.path.relpath(path, TOP)
        if "/tests/" not in name:
            with open(path, encoding="utf-8") as f:
                texts[name] = f.read()
            everything += candidates(name, texts[name])
    random.Random(seed).shuffle(everything)
    lines, made, objects = [], 0, Objects()
    with tempfile.TemporaryDirectory(dir=OUT) as tree:
        plant(tree)
        for change in everything:
            if made == number:
                break
            if objects.changes(change, tree):
                made += 1
                tests = tests_for(change, rows, covered, texts[change.path]) or ["none"]
                lines += [f"# '{change.pattern}' becomes '{change.replacement}'.",
                          f"{seed[:8]}-{made} | {change.path} | {change.place} | {'; '.join(tests)} | cover",
                          f"\t{change.pattern} => {change.replacement}"]
    if made < number:
        raise SystemExit(f"error: no more than {made} mutants can be drawn")
    return lines
