# SPDX-License-Identifier: GPL-2.0
"""rig/bench: one boot, and what the plugin has counted in it."""
import os
import shutil
import subprocess
import threading
from pathlib import Path

import reports
from benching.common import OUT, QEMU, die, cycles

GUEST_TIMEOUT = 600
# In the plugin's lines of instructions.
FLAG_LOCKED = 1
# The kernel's line: LOCK prefixes stay, addresses and stacks do not move.
CMDLINE = ("console=ttyS0 quiet loglevel=5 panic=-1 nokaslr noreplace-smp slab_nomerge "
           "randomize_kstack_offset=off mitigations=off "
           "null_blk.poll_queues=1 null_blk.hw_queue_depth=1024 null_blk.submit_queues=1")
# On several CPUs, as in APPEND of rig/boot; the program starts the other CPUs.
SEVERAL = "maxcpus=1 no_timer_check tsc=reliable"
# Rows about an NVMe drive, which answers at once and keeps nothing.
DRIVE_ROWS = ("nvme-cmd/polled/b32", "nvme-cmd/irq/b32")
DRIVE = ("-blockdev", "driver=null-co,node-name=drive,size=1073741824,read-zeroes=off",
         "-device", "nvme,drive=drive,serial=bench,max_ioqpairs=4")
# Rows in which a memory clear counts as one instruction, and the functions that clear.
CLEARED_ROWS = "msg/"
CLEARS = ("memset", "__memset", "memset_orig", "clear_page_orig", "clear_page_rep")
# fio, from start to exit with each of two numbers of I/Os; the difference is told.
FIO = ("--name=r --filename=/dev/nullb0 --direct=1 --rw=randread --bs=4k --size=4g --thread "
       "--norandommap --gtod_reduce=1 --clocksource=clock_gettime --output=/dev/null")
FIO_DEEP = "--iodepth=128 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32"
FIO_IOS = (4096, 20480)
FIO_ROWS = {
    "fio/io_uring/poll+fixed": f"{FIO_DEEP} --ioengine=io_uring --hipri --fixedbufs --registerfiles",
    "fio/io_uring/irq+fixed": f"{FIO_DEEP} --ioengine=io_uring --fixedbufs --registerfiles",
    "fio/io_uring/irq": f"{FIO_DEEP} --ioengine=io_uring",
    "fio/libaio": f"{FIO_DEEP} --ioengine=libaio",
    "fio/psync": "--ioengine=psync",
    "fio/pvsync2+hipri": "--ioengine=pvsync2 --hipri",
}
# A region in which the timer's tick ran is not used.
TICK = "update_process_times"


class Silent(RuntimeError):
    """A guest that had not begun with its rows when its time was over."""


def qemu(kernel, tag, initrd, append, extra, smp=1, seconds=GUEST_TIMEOUT):
    """Boot once; the report's lines, or an exception with what is known."""
    console, result = OUT / f"{tag}.console", OUT / f"{tag}.report"
    result.write_text("")
    command = [QEMU, "-nodefaults", "-display", "none", "-no-reboot", "-m", "1G",
               "-smp", str(smp), "-kernel", str(kernel.image), "-initrd", str(initrd),
               "-append", f"{CMDLINE} {SEVERAL if smp > 1 else ''} {append}", "-seed", "1",
               "-serial", f"file:{console}", "-serial", f"file:{result}", *extra]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        kind = RuntimeError if result.read_text() else Silent
        raise kind(f"{tag}: no end after {seconds} s; console: {console}")
    found, _ = reports.read(console, silent=True)
    if found:
        raise RuntimeError(f"{tag}: the kernel reports: {found[0]}; console: {console}")
    lines = result.read_text().splitlines()
    if run.returncode or "done" not in lines:
        raise RuntimeError(f"{tag}: the guest did not finish; console: {console}\n{run.stderr}")
    return [l.split() for l in lines]


def read_regions(path, kernel):
    """The plugin's file: a list of regions, each with totals and functions."""
    regions = []
    memo = {}
    for line in path.open():
        part = line.split()
        if part[0] == "region":
            region = {part[i]: int(part[i + 1]) for i in range(2, len(part), 2)}
            region.update(functions={}, calls={}, locks={})
            regions.append(region)
        elif part[0] == "end":
            return regions
        else:
            name, entry = memo.get(part[0]) or memo.setdefault(
                part[0], (kernel.function(int(part[0], 16)), kernel.entry(int(part[0], 16))))
            count = int(part[1])
            functions = region["functions"]
            functions[name] = functions.get(name, 0) + count
            if entry:
                region["calls"][name] = region["calls"].get(name, 0) + count
            if int(part[2]) & FLAG_LOCKED:
                region["locks"][name] = region["locks"].get(name, 0) + count
    raise RuntimeError(f"{path} ends early")


def settle(name, batch, ops, regions, kernel):
    """One row's figures an operation: its cheapest repetition, as what disturbs one only adds."""
    clean = [r for r in regions if TICK not in r["functions"]] or regions
    clean.sort(key=lambda r: cycles(r, "kernel"))
    pick = clean[0]
    inside = sum(n for f, n in pick["functions"].items() if f in kernel.ours)
    instr = pick["kernel"]
    if name.startswith(CLEARED_ROWS):
        instr -= sum(pick["functions"].get(f, 0) - pick["calls"].get(f, 0) for f in CLEARS)
    return {"name": name, "batch": batch,
            "instr": instr / ops, "locked": pick["locked"] / ops,
            "user": pick["user"] / ops, "syscalls": pick["syscalls"] / ops,
            "rep": pick["rep"] / ops, "inside": inside / ops,
            "spread": (clean[-1]["kernel"] - clean[0]["kernel"]) / clean[0]["kernel"],
            "used": len(clean),
            "functions": {f: n / ops for f, n in pick["functions"].items()},
            "calls": {f: n / ops for f, n in pick["calls"].items()},
            "locks": {f: n / ops for f, n in pick["locks"].items()}}


def count_boot(kernel, tag, initrd, append, devices=()):
    """Boot @kernel under the plugin; the guest's report and the regions' counts."""
    counts = OUT / f"{tag}.counts"
    report = qemu(kernel, tag, initrd, append,
                  ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off",
                   "-cpu", "max,-erms,-fsrm", "-rtc", "base=2024-01-01,clock=vm",
                   "-plugin", f"{OUT / 'count.so'},out={counts}", *devices])
    regions = read_regions(counts, kernel)
    counts.unlink()
    return report, regions


def count(kernel, rows, boot=""):
    """What the rows cost on @kernel: {"rows": name -> figures, ...}.  A drive could disturb
    the other rows, so that those about it have a boot of their own."""
    result = {"kernel": kernel.name, "config": kernel.config, "rows": {}, "failed": {}, "sizes": {}}
    append = f"bench_mode=count {boot}" + (f" bench_rows={rows}" if rows else "")
    if not rows.startswith("nvme-cmd/"):
        add_rows(result, kernel, *count_boot(kernel, f"count-{kernel.name}", OUT / "bench.cpio",
                                             append))
    if any(rows in name for name in DRIVE_ROWS):
        add_rows(result, kernel, *count_boot(kernel, f"drive-{kernel.name}", OUT / "bench.cpio",
                                             f"bench_drive=1 nvme.poll_queues=1 {append}", DRIVE))
    return result


def add_rows(result, kernel, report, regions):
    """Put what one boot has told into @result."""
    for line in report:
        if line[0] == "version":
            result["version"] = line[1]
        elif line[0] == "size":
            result["sizes"][line[1]] = int(line[2])
        elif line[0] == "fail":
            result["failed"][line[1]] = " ".join(line[3:])
        elif line[0] == "row":
            batch, ops, first, n = map(int, line[2:])
            result["rows"][line[1]] = settle(line[1], batch, ops, regions[first:first + n], kernel)


def fio_files():
    """fio with its libraries, and what to run, for the initramfs; None without fio."""
    fio = shutil.which("fio")
    if not fio:
        return None
    text = subprocess.run(["ldd", fio], capture_output=True, text=True).stdout
    paths = [fio] + [w for l in text.splitlines() for w in l.split() if w.startswith("/")]
    files = {p.lstrip("/"): (0o100755, Path(p).read_bytes()) for p in paths}
    lines = [f"{name} {n} {fio} {FIO} {how} --number_ios={n}\n"
             for name, how in FIO_ROWS.items() for n in FIO_IOS]
    files["programs"] = (0o100644, "".join(lines).encode())
    return files


def count_fio(kernel):
    """Instructions an I/O of whole fio runs on @kernel: name -> figures, or why not."""
    report, regions = count_boot(kernel, f"fio-{kernel.name}", OUT / "fio.cpio", "bench_mode=exec")
    runs, rows = {}, {}
    for line in report:
        if line[0] == "exec":
            runs.setdefault(line[1], []).append((int(line[2]), regions[int(line[3])]))
        elif line[0] == "fail":
            rows[line[1]] = " ".join(line[3:])
    for name, pair in runs.items():
        if len(pair) == 2:
            (n, a), (m, b) = pair
            per = {k: (b[k] - a[k]) / (m - n) for k in ("kernel", "locked", "user", "syscalls")}
            rows[name] = {"instr": per["kernel"], **per}
    return rows


def together(jobs):
    """Run the jobs side by side, one a core at most; their results in order."""
    results = [None] * len(jobs)
    gate = threading.Semaphore(max(1, min(len(jobs), os.cpu_count() or 1)))

    def work(i, job):
        with gate:
            try:
                results[i] = job()
            except Exception as error:
                results[i] = error

    threads = [threading.Thread(target=work, args=(i, j)) for i, j in enumerate(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for r in results:
        if isinstance(r, Exception):
            die(str(r))
    return results
