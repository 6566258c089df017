# SPDX-License-Identifier: GPL-2.0
"""rig/tables: which kernel runs, on what, and what makes its figures doubtful."""
import ctypes
import errno
import os
import platform
import re
from pathlib import Path

IO_URING_SETUP = 425
# A function that this project's io_uring has and the base's has not.
OURS = re.compile(r" io_mailbox_take\b")


def read(root, path):
    """The text of a file of /proc or /sys; empty where there is none."""
    try:
        return (Path(root) / path).read_text(errors="replace").strip()
    except OSError:
        return ""


def build_id(root="/"):
    """The start of the kernel's build ID, which tells apart two kernels of one release."""
    try:
        notes = (Path(root) / "sys/kernel/notes").read_bytes()
    except OSError:
        return ""
    at = notes.find(b"\x03\x00\x00\x00GNU\x00")
    return notes[at + 8:at + 12].hex() if at >= 0 else ""


def kernel(name, root="/"):
    """Release, build and the word that a table has beside them."""
    if not name and OURS.search(read(root, "proc/kallsyms")):
        name = "ours"
    return {"release": platform.release(), "build": build_id(root), "name": name}


def emulated(root="/"):
    """What a guest runs on; empty on a real machine."""
    cpu = read(root, "proc/cpuinfo")
    if "TCG" in cpu:
        return "software emulation (QEMU's TCG)"
    if re.search(r"^flags\b.*\bhypervisor\b", cpu, re.M):
        return "a hypervisor"
    return ""


def machine(root="/"):
    cpu = re.search(r"^model name\s*: (.*)", read(root, "proc/cpuinfo"), re.M)
    return {"cpu": cpu.group(1) if cpu else platform.machine(),
            "cpus": len(os.sched_getaffinity(0)), "host": emulated(root)}


def doubts(root="/"):
    """Lines about what makes the figures doubtful."""
    cpu = Path("sys/devices/system/cpu")
    lines = []
    host = emulated(root)
    if host:
        lines.append(f"this is a guest under {host}: compare lines of one table, not machines")
    governors = {read(root, p.relative_to(root))
                 for p in (Path(root) / cpu / "cpufreq").glob("policy*/scaling_governor")}
    wrong = sorted(governors - {"performance"})
    if wrong:
        lines.append(f"the CPU governor is '{wrong[0]}', so clocks change while a run goes on: "
                     "cpupower frequency-set -g performance")
    if read(root, cpu / "intel_pstate/no_turbo") == "0":
        lines.append("turbo is on, so clocks depend on heat: "
                     f"echo 1 >/{cpu}/intel_pstate/no_turbo")
    elif read(root, cpu / "cpufreq/boost") == "1":
        lines.append(f"boost is on, so clocks depend on heat: echo 0 >/{cpu}/cpufreq/boost")
    load = read(root, "proc/loadavg").split()
    cpus = len(os.sched_getaffinity(0))
    if load and float(load[0]) > cpus / 4:
        lines.append(f"other programs use the {cpus} CPUs (load {load[0]})")
    if cpus < 2:
        lines.append("there is one CPU, so clients and servers take it from each other")
    return lines


def setup_errno():
    """What io_uring_setup() says: 0 or an errno."""
    libc = ctypes.CDLL(None, use_errno=True)
    params = ctypes.create_string_buffer(120)
    fd = libc.syscall(ctypes.c_long(IO_URING_SETUP), ctypes.c_uint(1), params)
    if fd < 0:
        return ctypes.get_errno()
    os.close(fd)
    return 0


def uring_problem(error=None, root="/"):
    """Why io_uring cannot be used, and what to do; empty when it can."""
    error = setup_errno() if error is None else error
    switch = read(root, "proc/sys/kernel/io_uring_disabled")
    if not error:
        return ""
    if error == errno.ENOSYS:
        return "this kernel has no io_uring: boot one with CONFIG_IO_URING=y (Linux 5.1 or later)"
    if error == errno.EPERM and switch not in ("", "0"):
        who = "for users: run this as root, or" if switch == "1" else "for all:"
        return f"io_uring is switched off {who} as root, 'sysctl kernel.io_uring_disabled=0' switches it on"
    return (f"io_uring_setup() fails: {os.strerror(error)}; a container's seccomp filter may be "
            "the reason")
