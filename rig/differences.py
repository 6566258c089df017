#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""rig/differences.py: tests that expect something else on stock name the row that says why.

The rows are those of differences.rst and mainline.rst of Documentation/io_uring/, each with an id of
its own.  A function of tools/testing/selftests/io_uring/*_test.c that calls iou_on_stock() or
iou_on_older_stock() says in its text, or in the comment directly before it:

    differences: ID[, ID]...    the row, or rows, that it is about
    differences: none, WHY      it is about no difference

A macro that calls it says so in the comment before it.  A line of rig/recorded/BASE/selftests has
the same words behind its colon.
"""
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = "Documentation/io_uring/differences.rst"
MAINLINE = "Documentation/io_uring/mainline.rst"
TESTS = "tools/testing/selftests/io_uring"
FAILS = "rig/recorded/*/selftests"
CALL = re.compile(r"\biou_on_(?:older_)?stock\(\)")
ID = r"[a-z0-9]+(?:-[a-z0-9]+)*"
MENTION = re.compile(rf"differences:(?: (none), \w| ({ID}(?:, {ID})*)|)")


def read_pages():
    """The text of both pages."""
    text = ""
    for name in (PAGE, MAINLINE):
        with open(os.path.join(TOP, name), encoding="utf-8") as f:
            text += f.read()
    return text


def ids(page):
    """The ids on the page, in its order."""
    return re.findall(rf"^   \* - ``({ID})``$", page, re.M)


def units(text):
    """Yield (line, text) of each function, macro and other piece at column 0, its comment included."""
    start, piece, closes = 1, "", None
    for number, line in enumerate(text.split("\n"), 1):
        head = re.match(r"[\w#/]", line) and not piece.endswith(("*/\n", "\\\n"))
        if not closes and (head or not line):
            yield start, piece
            start, piece = number, ""
        if closes:
            closes = None if line.strip().endswith("*/") and closes == "*/" or line.startswith(closes) else closes
        elif line.startswith("/*"):
            closes = None if "*/" in line else "*/"
        elif line.endswith("{"):
            closes = "}"
        piece += line + "\n"
    yield start, piece


def judge(page, sources):
    """Yield what is wrong; sources has the text of each file by its name."""
    rows = ids(page)
    for row in sorted({row for row in rows if rows.count(row) > 1}):
        yield f"{PAGE}: {row} is there {rows.count(row)} times"
    if not rows:
        yield f"{PAGE}: there are no rows"
    for name, text in sorted(sources.items()):
        for line, piece in units(text):
            # a comment's lines are one text
            flat = re.sub(r"\s*\n\s*\*(?!/)\s*", " ", piece)
            found = list(MENTION.finditer(flat))
            if CALL.search(piece) and not found:
                yield f"{name}:{line}: iou_on_stock() without 'differences: ID' or 'differences: none, WHY'"
            for mention in found:
                why, named = mention.groups()
                if not why and not named:
                    yield f"{name}:{line}: 'differences:' without a row"
                for row in named.split(", ") if named else ():
                    if row not in rows:
                        yield f"{name}:{line}: {row} is no row of {PAGE}"


def judge_fails(page, name, text):
    """Yield what is wrong with a base's list of tests that fail on stock."""
    rows = ids(page)
    for number, line in enumerate(text.split("\n"), 1):
        words = line.partition(" : ")[2].strip()
        if line and line[0] != "#" and words not in rows and not re.match(r"none, \w", words):
            yield f"{name}:{number}: '{words}' is no row of {PAGE}"


def main():
    sources = {}
    for name in glob.glob("**/*_test.c", root_dir=os.path.join(TOP, TESTS), recursive=True):
        with open(os.path.join(TOP, TESTS, name), encoding="utf-8") as f:
            sources[name] = f.read()
    page = read_pages()
    wrong = list(judge(page, sources))
    for name in sorted(glob.glob(FAILS, root_dir=TOP)):
        with open(os.path.join(TOP, name), encoding="utf-8") as f:
            wrong += judge_fails(page, name, f.read())
    print("\n".join(wrong), end="\n" if wrong else "")
    calls = sum(len(CALL.findall(text)) for text in sources.values())
    print(f"differences: {len(ids(page))} rows, {calls} uses, {len(wrong)} findings")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
