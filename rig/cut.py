#!/usr/bin/python3
"""rig/cut.py: what each patch of the series holds. rig/series says how series/ is written.

Nothing here knows git's objects: a Tree is a dictionary of files, and a Cut says what a path
looks like once the first k patches are applied.
"""
import collections
import fnmatch
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
# Not counted against a patch's size: what proves the code.
TESTS = ("tools/testing/*", "io_uring/*/tests/*", "*/.kunitconfig", "Documentation/io_uring/models/*")
LIST = "io_uring/op/list.h"
TOCTREE = "Documentation/io_uring/index.rst"
WORDS = {"topic", "patch", "path", "begin", "part", "lines", "insert", "interim", "end-interim", "alone"}


class CutError(Exception):
    """A plain message about series/ or the tree."""


def load_insert():
    loader = importlib.machinery.SourceFileLoader("rig_insert", str(TOP / "rig" / "insert"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("rig_insert", loader))
    loader.exec_module(module)
    return module


def working_tree():
    """name -> (mode, content) of the files that git knows or would add."""
    names = subprocess.run(["git", "-C", str(TOP), "ls-files", "-co", "--exclude-standard"],
                           check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    files = {}
    for name in names:
        path = TOP / name
        if path.is_file():
            files[name] = ("755" if os.access(path, os.X_OK) else "644", path.read_bytes())
    return files


def committed_tree(commit):
    data = subprocess.run(["git", "-C", str(TOP), "archive", commit], check=True,
                          stdout=subprocess.PIPE).stdout
    files = {}
    with tarfile.open(fileobj=BytesIO(data)) as archive:
        for item in archive:
            if item.isfile():
                files[item.name] = ("755" if item.mode & 0o100 else "644",
                                    archive.extractfile(item).read())
    return files


class Patch:
    def __init__(self, number, topic, subject, where):
        self.number, self.topic, self.subject, self.where = number, topic, subject, where
        self.text, self.paths, self.begin, self.parts, self.lines = [], [], [], [], []
        self.inserts, self.interim, self.end_interim, self.alone = [], [], [], False

    @property
    def name(self):
        return f"{self.number:02} {self.subject}"


class Topic:
    def __init__(self, name, subject):
        self.name, self.subject, self.text, self.patches = name, subject, [], []


def read_topic(name, text, topics, patches):
    topic = patch = None
    for n, line in enumerate(text.splitlines(), 1):
        where = f"series/{name}:{n}"
        if not line.startswith("@"):
            if topic:
                (patch or topic).text.append(line)
            continue
        word, _, rest = line[1:].partition(" ")
        rest = rest.strip()
        if word not in WORDS:
            raise CutError(f"{where}: no such word: @{word}")
        if word == "topic":
            topic = Topic(name, rest)
            topics.append(topic)
        elif word == "patch":
            patch = Patch(len(patches) + 1, topic, rest, where)
            patches.append(patch)
            topic.patches.append(patch)
        elif not patch:
            raise CutError(f"{where}: @{word} stands before the first @patch")
        elif word == "path":
            patch.paths.append((rest, where))
        elif word in ("begin", "part"):
            (patch.begin if word == "begin" else patch.parts).append((rest.split()[0], rest.split()[1:], where))
        elif word == "lines":
            patch.lines.append((*rest.split(" ", 1), where))
        elif word == "alone":
            patch.alone = True
        else:
            getattr(patch, {"insert": "inserts", "interim": "interim",
                            "end-interim": "end_interim"}[word]).append(rest)


def part_range(lines, name):
    """The lines of one function, type or macro at column 0, with the comment above it."""
    word = re.compile(rf"^[A-Za-z#].*\b{re.escape(name)}\b(?!;)")
    kind = re.compile(rf"^(?:struct|enum|union) {re.escape(name)} \{{|^#define {re.escape(name)}\b|"
                      rf"^(?!struct|enum|union|#)\S.*\b{re.escape(name)}\(")
    at = [i for i, line in enumerate(lines) if word.match(line) and kind.match(line)]
    if len(at) != 1:
        return None
    first = last = at[0]
    if lines[first].startswith("#define"):
        while lines[last].rstrip().endswith("\\"):
            last += 1
    elif not lines[first].rstrip().endswith(";"):
        while last < len(lines) - 1 and not lines[last].startswith("}") and \
                not (lines[last].rstrip().endswith(";") and lines[last][0] not in " \t"):
            last += 1
    while first > 0 and lines[first - 1].strip():
        first -= 1
    if last + 1 < len(lines) and not lines[last + 1].strip():
        last += 1
    return range(first, last + 1)


class Cut:
    """The patches of one tree."""

    def __init__(self, files, base):
        """@files: the repository's; @base: a function from a path to the base's content."""
        self.base = base
        roots = [r.strip() for r in files["rig/paths"][1].decode().splitlines()]
        self.roots = [r for r in roots if r and not r.startswith("#")]
        self.files = {n: v for n, v in sorted(files.items()) if self.listed(n)}
        self.fragments = {n: v[1].decode() for n, v in files.items()
                          if n.startswith(("series/inserts/", "series/interim/"))}
        self.topics, self.patches = [], []
        for name in sorted(n for n in files if re.match(r"series/\d[^/]*$", n)):
            read_topic(name.split("/")[1], files[name][1].decode(), self.topics, self.patches)
        if not self.patches:
            raise CutError("there are no patches in series/")
        self.owner, self.line_owner = {}, {}
        self.claim()
        self.grow()
        self.claim_fragments()
        self.check_includes()

    def listed(self, name):
        return any(name == r or r.endswith("/") and name.startswith(r) for r in self.roots)

    def claim(self):
        """self.owner: path -> number of the patch that brings it; the longest pattern counts."""
        claims, wrong = collections.defaultdict(lambda: collections.defaultdict(set)), []
        for patch in self.patches:
            for path, where in patch.paths:
                hits = [n for n in self.files if n == path or fnmatch.fnmatchcase(n, path) or
                        path.endswith("/") and n.startswith(path)]
                if not hits:
                    wrong.append(f"{where}: '{path}' is no path of the tree (moved, or renamed?)")
                for name in hits:
                    claims[name][len(path)].add(patch.number)
        for name in self.files:
            best = claims[name][max(claims[name])] if claims[name] else set()
            if len(best) == 1:
                self.owner[name] = min(best)
            elif not best:
                wrong.append(f"{name} belongs to no patch: give it an @path in series/")
            else:
                names = ", ".join(f"'{self.patches[k - 1].subject}'" for k in sorted(best))
                wrong.append(f"{name} belongs to {len(best)} patches: {names}")
        if wrong:
            raise CutError("\n".join(wrong))

    def grow(self):
        """self.line_owner: path -> for each line, the patch that brings it."""
        wrong = self.begin()
        for patch in self.patches:
            for path, names, where in patch.parts:
                lines = self.lines(path, where)
                for name in names:
                    span = part_range(lines, name)
                    if not span:
                        wrong.append(f"{where}: '{name}' is not defined, or not once, in {path}")
                    for i in span or ():
                        self.line_owner[path][i] = patch.number
            for path, regex, where in patch.lines:
                hits = [i for i, line in enumerate(self.lines(path, where)) if re.search(regex, line)]
                if not hits:
                    wrong.append(f"{where}: no line of {path} matches '{regex}'")
                for i in hits:
                    self.line_owner[path][i] = patch.number
        for path, owners in self.line_owner.items():
            if min(owners) < self.owner[path]:
                wrong.append(f"{path}: a part of it belongs to a patch before the one that brings the file")
        if wrong:
            raise CutError("\n".join(wrong))
        self.derive_list()
        self.derive_toctree()

    def begin(self):
        """Files whose head and some parts come before the rest of them."""
        wrong = []
        for patch in self.patches:
            for path, names, where in patch.begin:
                lines = self.lines(path, where)
                if patch.number >= self.owner[path]:
                    wrong.append(f"{where}: {path} comes no later as a whole")
                includes = [i for i, line in enumerate(lines) if line.startswith("#include")]
                spans = [(name, part_range(lines, name)) for name in names]
                wrong += [f"{where}: '{name}' is not defined, or not once, in {path}"
                          for name, span in spans if not span]
                early = set(range(max(includes, default=0) + 2)) | {len(lines) - 1}
                for _, span in spans:
                    early.update(span or ())
                for i in early:
                    self.line_owner[path][i] = patch.number
                self.owner[path] = patch.number
        return wrong

    def lines(self, path, where="series"):
        if path not in self.files:
            raise CutError(f"{where}: '{path}' is no path of the tree (moved, or renamed?)")
        lines = self.files[path][1].decode().splitlines()
        self.line_owner.setdefault(path, [self.owner[path]] * len(lines))
        return lines

    def derive_list(self):
        if LIST not in self.files:
            return
        brings = {}
        for name, (_, data) in self.files.items():
            if name.startswith("io_uring/op/") and name.endswith(".c"):
                for record in re.findall(r"^const struct io_op io_op_(\w+) = \{", data.decode(), re.M):
                    brings[record] = name
        for i, line in enumerate(self.lines(LIST)):
            match = re.match(r"IO_OP\(\w+, (\w+), \w+\)", line)
            if match and match.group(1) not in brings:
                raise CutError(f"{LIST}: no file of io_uring/op/ has io_op_{match.group(1)}")
            if match:
                self.line_owner[LIST][i] = self.owner[brings[match.group(1)]]

    def derive_toctree(self):
        if TOCTREE not in self.files:
            return
        for i, line in enumerate(self.lines(TOCTREE)):
            name = f"Documentation/io_uring/{line.strip()}.rst"
            if line.startswith("   ") and name in self.files:
                self.line_owner[TOCTREE][i] = max(self.owner[name], self.owner[TOCTREE])
            # A row of the table of files comes with the last of them, both of its lines.
            if line.startswith("   * - ``"):
                listed = [self.owner.get(f"io_uring/{n}", self.owner.get(n, 0))
                          for n in re.findall(r"``([^`]+)``", line)]
                self.line_owner[TOCTREE][i:i + 2] = [max(listed + [self.owner[TOCTREE]])] * 2

    def claim_fragments(self):
        self.insert = load_insert()
        inserts = [name for p in self.patches for name in p.inserts]
        have = [n.split("/")[2] for n in self.fragments if n.startswith("series/inserts/")]
        for name in set(inserts) | set(have):
            if inserts.count(name) != 1 or name not in have:
                raise CutError(f"series/inserts/{name} has to belong to exactly one patch (@insert)")
        begun = [n for p in self.patches for n in p.interim]
        if sorted(begun) != sorted(n for p in self.patches for n in p.end_interim):
            raise CutError("each @interim needs one @end-interim")

    def check_includes(self):
        """No file includes a header of ours that comes with a later patch."""
        wrong = []
        for name, (_, data) in self.files.items():
            if not name.endswith((".c", ".h")) or not name.startswith(("io_uring/", "include/")):
                continue
            owners = self.line_owner.get(name)
            for i, line in enumerate(data.decode().splitlines()):
                match = re.match(r'#include [<"](.*)[>"]', line)
                if not match:
                    continue
                at = match.group(1)
                target = next((t for t in (f"io_uring/{at}", os.path.normpath(os.path.join(
                    os.path.dirname(name), at)), f"include/{at}") if t in self.files), None)
                mine = owners[i] if owners else self.owner[name]
                if target and self.owner[target] > mine:
                    wrong.append(f"{name} ('{self.patches[mine - 1].subject}') includes {target}, which "
                                 f"comes later, with '{self.patches[self.owner[target] - 1].subject}'")
        if wrong:
            raise CutError("\n".join(wrong))

    def makefile(self, name, lines, k):
        """A Makefile without the words that name what comes after patch @k."""
        folder, out = os.path.dirname(name), []
        for line in lines:
            match = re.match(r"^([^#=]*[:+?]?=)(.*?)(\\?)$", line)
            if not match:
                out.append(line)
                continue
            words = match.group(2).split()
            kept = [w for w in words if not self.later(folder, w, k)]
            if len(kept) == len(words):
                out.append(line)
            elif kept:
                out.append(f"{match.group(1)} {' '.join(kept)}{' ' if match.group(3) else ''}{match.group(3)}")
            elif match.group(1).strip() == "obj-y :=":
                out.append("obj-y :=")
        return out

    def later(self, folder, word, k):
        for ending in (re.sub(r"\.o$", ".c", word), word + ".c", word.rstrip("/") + "/Makefile", word):
            path = os.path.normpath(os.path.join(folder, ending))
            if path in self.owner:
                return self.owner[path] > k
        place = os.path.normpath(os.path.join(folder, word)) + "/"
        inside = [o for p, o in self.owner.items() if p.startswith(place)]
        return bool(inside) and min(inside) > k

    def content(self, name, k):
        """One of our files once @k patches are applied, or None."""
        if self.owner[name] > k:
            return None
        data = self.files[name][1]
        owners = self.line_owner.get(name)
        if k == len(self.patches):
            return data
        if owners is None and not name.endswith("/Makefile"):
            return data
        lines = data.decode().splitlines()
        if owners:
            lines = [line for line, owner in zip(lines, owners) if owner <= k]
            if len(lines) < len(owners):
                lines = tidy(lines)
        if name.endswith("/Makefile"):
            made = self.makefile(name, lines, k)
            lines = made if len(made) == len(lines) else tidy(made)
        return "".join(line + "\n" for line in lines).encode()

    def shared(self, k):
        """Files of the base that have inserts after @k patches: path -> content."""
        files = {}
        gone = {n for p in self.patches[:k] for n in p.end_interim}
        for folder, names in (("interim", [n for p in self.patches[:k] for n in p.interim if n not in gone]),
                              ("inserts", [n for p in self.patches[:k] for n in p.inserts])):
            for fragment in sorted(names):
                path = f"series/{folder}/{fragment}"
                if path not in self.fragments:
                    raise CutError(f"there is no {path}")
                for name, where, anchor, text in self.insert.parse_text(self.fragments[path]):
                    lines = files.get(name) or self.base(name).decode().splitlines(True)
                    files[name] = self.insert.apply(lines, where, anchor, text, name)
        return {n: "".join(lines).encode() for n, lines in files.items()}

    def touched(self):
        """Every file of the base that an insert or an interim line goes into."""
        return sorted({item[0] for text in self.fragments.values() for item in self.insert.parse_text(text)})

    def state(self, k):
        """Everything of ours after @k patches: path -> (mode, content)."""
        state = {}
        for name, (mode, _) in self.files.items():
            data = self.content(name, k)
            if data is not None:
                state[name] = (mode, data)
        shared = self.shared(k)
        for name in self.touched():
            state[name] = ("644", shared.get(name) or self.base(name))
        return state


def tidy(lines):
    """What is left of a file without some of its lines: no empty #if, no double blank lines."""
    while True:
        out = []
        for line in lines:
            if line.startswith("#endif") and out and re.match(r"#if", out[-1]):
                out.pop()
            elif not line.strip() and out and not out[-1].strip():
                continue
            else:
                out.append(line)
        if len(out) == len(lines):
            return out
        lines = out


def is_test(name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in TESTS)
