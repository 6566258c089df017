#!/usr/bin/python3
"""rig/reports.py: find the reports of bugs of its own in what a kernel wrote.

    rig/reports.py LOG [IMAGE]

A data race (KCSAN) counts where one of its two accesses stands in a function of
io_uring/, by the objects beside IMAGE, and a leak (kmemleak) where such a function is
among those that allocated it, or where it is something that a request holds a reference
to, whoever made it; those of others are told, no more. Without IMAGE every one counts.
Anything else that the kernel reports counts, also that a check switched itself off, that lines
were lost, and that no line of a console has a time, so that none is known to be the kernel's.
Drives that a program serves (ublk) fail when the program goes.
"""
import os
import re
import subprocess
import sys

WORDS = r"""
\bBUG\b
\bWARNING: 
\bKASAN\b: 
\bKCSAN\b: 
\bUBSAN\b: 
\bODEBUG\b: 
\bOops\b
\bINFO: task .* blocked for more than
\bINFO: (?:trying to register|possible|suspicious)
rcu: INFO: .*(?:stall|expedited)
possible (?:recursive|circular|irq) lock
inconsistent lock state
suspicious RCU usage
bad unlock balance
held lock freed
lock held when returning to user space
general protection fault
unable to handle
kernel NULL pointer
Kernel panic
refcount_t: 
list_(?:add|del) corruption
soft lockup
scheduling while atomic
sleeping function called
Bad page state
Bad rss-counter
unreferenced object
VFS: Busy inodes after unmount
EXT4-fs (?:error|warning)
kmemleak: (?:Memory pool empty|Kernel memory leak detector disabled|.*runs out of memory)
turning off the locking correctness validator
ODEBUG disabled
unregister_netdevice: waiting
I/O error, dev (?!ublk)
nvme .*timeout
messages dropped
"""
PATTERN = re.compile("|".join(w for w in WORDS.split("\n") if w))
STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[[^]]*\])? ?")
RACE = re.compile(r"BUG: KCSAN: (.*)")
LEAK = re.compile(r"^unreferenced object")
# Who makes what requests and rings hold references to: files, credentials, memory maps.
HELD = {"alloc_empty_file", "prepare_creds", "prepare_kernel_cred", "mm_alloc", "dup_mm"}
ACCESS = re.compile(r"\b(?:read|write|assert no).* (?:of|to) .* by (?:task|interrupt|thread)")
FRAME = re.compile(r"^ *(?:\[<[0-9a-f]+>\] )?([\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+")
# What only moves bytes or links for its caller.
HELPER = re.compile(r"_*(?:copy|mem(?:cpy|set|move|cmp)|strn?cpy|llist|list|hlist|rb)_?")


def own_functions(image):
    """The names of the functions in io_uring/ of the kernel with this image."""
    objects = os.path.dirname(image)
    for _ in range(3):
        objects = os.path.dirname(objects)
    p = subprocess.run(["nm", os.path.join(objects, "io_uring", "built-in.a")],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    words = (line.split() for line in p.stdout.splitlines())
    return {w[2] for w in words if len(w) == 3 and w[1] in "tTwW"}


def culprits(block):
    """The function of each access that a race's report tells of."""
    found, waiting = [], False
    for line in block:
        frame = FRAME.match(line)
        if ACCESS.search(line):
            waiting = True
        elif waiting and frame and not HELPER.match(frame.group(1)):
            found.append(frame.group(1))
            waiting = False
    return found


def allocators(block):
    """The functions in the backtrace of a leak's report, innermost first."""
    found = []
    for line in block:
        frame = FRAME.match(line)
        if frame:
            found.append(frame.group(1))
        elif LEAK.match(line):
            break
    return found


def find(lines, own=None):
    """Split reports in two lists, those that count and races and leaks of others."""
    ours, others = [], []
    lines = [STAMP.sub("", line.rstrip("\n")) for line in lines]
    for i, line in enumerate(lines):
        race = RACE.search(line)
        if race:
            end = next((j for j in range(i + 1, min(i + 80, len(lines)))
                        if lines[j].startswith("=====")), i + 80)
            mine = not own or any(f in own for f in culprits(lines[i + 1:end]))
            (ours if mine else others).append(line.strip())
        elif LEAK.match(line):
            frames = allocators(lines[i + 1:i + 40])
            mine = not own or any(f in own or f in HELD for f in frames)
            (ours if mine else others).append(line.strip() + " from " + " < ".join(frames[:6]))
        elif PATTERN.search(line):
            ours.append(line.strip())
    return ours, others


def read(log, image=None, stamped=True, silent=False):
    """find() in a console's log, of which only the kernel's own lines are looked at.

    A kernel that prints no times has all of its log read.  One that was told to print next to
    nothing may be @silent.
    """
    with open(log, encoding="utf-8", errors="replace") as f:
        lines = [line for line in f if not stamped or STAMP.match(line)]
    own = None
    if image and any(RACE.search(line) or "unreferenced object" in line for line in lines):
        own = own_functions(image)
    ours, others = find(lines, own)
    if stamped and not silent and not lines:
        ours.append(f"no line of {os.path.basename(log)} has a time: nothing was looked at")
    return ours, others


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    ours, others = read(*sys.argv[1:])
    for line in ours:
        print(line)
    for line in others:
        print("elsewhere:", line)
    sys.exit(bool(ours))


if __name__ == "__main__":
    main()
