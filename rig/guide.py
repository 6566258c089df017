#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""rig/guide.py: follow Documentation/io_uring/adding-an-op.rst to the letter, in a scratch copy.

The guide's own blocks become an operation TOY: a file, a line of op/list.h, an opcode, and a row of
interface/.  Each must compile, the table must refer to the new record, and rig/interface must miss
the row where it is left out.  Nothing else of io_uring/ may need a change.  Compiles as the check
kernel does, so it runs behind the stage 'compile'.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import base                                             # noqa: E402

TOP, OUT = base.TOP, base.OUT
SRC, OBJ = OUT / "ours/src", OUT / "ours/check"
GUIDE = "Documentation/io_uring/adding-an-op.rst"
TABLE = "Documentation/io_uring/interface/operations.csv"
COPIED = ("io_uring", "include/uapi/linux/io_uring.h", "include/uapi/linux/io_uring", "include/linux/io_uring", "include/linux/io_uring.h",
          "include/linux/io_uring_types.h", "include/trace/events/io_uring.h", "Documentation/io_uring",
          "tools/testing/selftests/io_uring", "rig/interface")


def blocks(text):
    """The literal blocks of a page, without their indentation."""
    found, lines = [], text.split("\n")
    for at, line in enumerate(lines):
        if not line.endswith("::") or line.startswith(".."):
            continue
        body = []
        for below in lines[at + 1:]:
            if below and not below.startswith("\t"):
                break
            body.append(below[1:])
        found.append("\n".join(body).strip("\n") + "\n")
    return found


def toy(text):
    """The operation of the guide under another name."""
    return re.sub(r"\bIO_OP\(NOP, nop\b", "IO_OP(TOY, toy", re.sub(r"\bio_(op_)?nop", r"io_\1toy", text))


def edit(path, old, new):
    text = path.read_text()
    if text.count(old) != 1:
        sys.exit(f"guide: '{old.strip()}' stands {text.count(old)} times in {path.name}")
    path.write_text(text.replace(old, new))


def command(source, like, tree):
    """What compiles a file of the copy, by what compiled another one."""
    note = OBJ / Path(like).parent / f".{Path(like).stem}.o.cmd"
    if not note.exists():
        sys.exit("guide: build the check kernel first: rig/check compile")
    line = note.read_text().split("\n")[0].split(":=", 1)[1].split(" ; ")[0].strip()
    line = re.sub(r"-Wp,-MMD,\S+| -o \S+", "", line).replace("ccache ", "")
    line = line.replace("../src/", f"{SRC}/").replace(f"{SRC}/io_uring", f"{tree}/io_uring")
    line = line.replace(f"-I{SRC}/include ", f"-I{tree}/include -I{SRC}/include ")
    line = line.replace(f"-I{SRC}/include/uapi ", f"-I{tree}/include/uapi -I{SRC}/include/uapi ")
    return line.replace(like, source) + f" -Werror -o {tree}/{Path(source).stem}.o"


def compile_file(source, like, tree):
    done = subprocess.run(command(source, like, tree), shell=True, cwd=OBJ, text=True, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"guide: {source} does not compile:\n{done.stderr}")


def interface(tree):
    return subprocess.run([tree / "rig/interface", tree], text=True, capture_output=True, check=False)


def main():
    parts = blocks((TOP / GUIDE).read_text())
    code, line = parts[:-1], parts[-1]
    if len(code) != 4 or not line.startswith("IO_OP(NOP, nop"):
        sys.exit(f"guide: {GUIDE} has {len(parts)} blocks; wanted: data, prep, issue, record, line")
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        tree = Path(name)
        for path in COPIED:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            # as it is laid over the base, where a backport may have changed it
            origin = SRC / path if (SRC / path).exists() else TOP / path
            (shutil.copytree if origin.is_dir() else shutil.copy)(origin, tree / path)
        edit(tree / "include/uapi/linux/io_uring.h", "\n\tIORING_OP_LAST,\n", "\tIORING_OP_TOY,\n\n\tIORING_OP_LAST,\n")
        (tree / "io_uring/op/toy.c").write_text(
            '// SPDX-License-Identifier: GPL-2.0\n#include <linux/errno.h>\n\n#include "op/list.h"\n\n' +
            "\n".join(toy(part) for part in code))
        edit(tree / "io_uring/op/list.h", "\n#undef IO_OP\n", toy(line) + "\n#undef IO_OP\n")
        compile_file("io_uring/op/toy.c", "io_uring/op/nop.c", tree)
        compile_file("io_uring/op/ops.c", "io_uring/op/ops.c", tree)
        if "U io_op_toy" not in subprocess.run(["nm", tree / "ops.o"], text=True, capture_output=True, check=True).stdout:
            sys.exit("guide: the table of operations does not refer to the new record")
        if "IORING_OP_TOY has none" not in interface(tree).stdout:
            sys.exit("guide: rig/interface does not miss the row of a new opcode")
        with (tree / TABLE).open("a") as table:
            # behind the last row of an opcode that the header has
            header = (TOP / "include/uapi/linux/io_uring.h").read_text()
            number = max(int(row[1]) for row in re.findall(r"^(\w+),(\d+),", (tree / TABLE).read_text(), re.M)
                         if re.search(rf"\t{row[0]}(\s*= \d+)?,\n", header))
            table.write(f"IORING_OP_TOY,{number + 1},yes,7.4,rw_test.nop,none\n")
        done = interface(tree)
        if done.returncode:
            sys.exit(f"guide: rig/interface refuses the new row:\n{done.stdout}{done.stderr}")
    print("guide: an operation by the letter of the guide compiles; it is one file, one line, an opcode and a row")


if __name__ == "__main__":
    main()
