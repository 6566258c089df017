#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The functions that each model of Documentation/io_uring/models stands for.

    rig/models.py              check that none has changed since its model was compared with it
    rig/models.py --read NAME  the model NAME was compared with them as they are now
    rig/models.py --add NAME FILE FUNCTION...   the model stands for these, too

The list is rig/models.functions: a line for each function, with the model, the
file, its name and a hash of its tokens; comments and white space do not count.  The commit that
renews a hash says what was compared.
"""
import hashlib
import os
import sys

sys.dont_write_bytecode = True
import mutants                                          # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = os.path.join(TOP, "Documentation/io_uring/models")
LIST = os.path.join(TOP, "rig/models.functions")
LITMUS = ("litmus.pml", "weak.pml")                     # a memory, and its tests
HEAD = """\
# The functions that each model stands for, as they were when it was compared with them last.
# rig/models.py writes the list, and checks it in rig/check.
#
# model        file                               function                         hash
"""


def hash_of(text, name):
    """The hash of a function's tokens; None if it is not there."""
    bodies = mutants.spans(text, name)
    if not bodies:
        return None
    words = " ".join(token.text for begin, end in bodies for token in mutants.tokens(text, begin, end))
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def read(path=LIST):
    """The list's lines, as (model, file, function, hash)."""
    with open(path, encoding="utf-8") as f:
        return [tuple(line.split()) for line in f if line.strip() and line[0] != "#"]


def write(rows, path=LIST):
    with open(path, "w", encoding="utf-8") as f:
        f.write(HEAD)
        f.writelines(f"{m:14} {file:34} {name:32} {digest}\n" for m, file, name, digest in sorted(rows))


def now(row, top=TOP):
    """A row's hash as the sources are; None if the file or the function is gone."""
    try:
        with open(os.path.join(top, row[1]), encoding="utf-8") as f:
            return hash_of(f.read(), row[2])
    except FileNotFoundError:
        return None


def judge(rows, models, top=TOP):
    """Yield what is wrong."""
    for row in rows:
        digest = now(row, top)
        if not digest:
            yield f"{row[0]}.pml stands for {row[2]}(), which is not in {row[1]} any more"
        elif digest != row[3]:
            yield (f"{row[2]}() of {row[1]} has changed: compare it with {row[0]}.pml,"
                   f" then rig/models.py --read {row[0]}")
    for model in sorted(set(models) - {row[0] for row in rows}):
        yield f"{model}.pml stands for no function"


def main(args):
    models = [name[:-4] for name in os.listdir(MODELS) if name.endswith(".pml") and name not in LITMUS]
    rows = read()
    if args[:1] == ["--read"] and len(args) == 2:
        write([(*row[:3], now(row) or row[3]) if row[0] == args[1] else row for row in rows])
    elif args[:1] == ["--add"] and len(args) > 3:
        rows += [(args[1], args[2], name, now((args[1], args[2], name)) or "-") for name in args[3:]]
        write(set(rows))
    elif args:
        sys.exit(__doc__)
    wrong = list(judge(read(), models))
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
