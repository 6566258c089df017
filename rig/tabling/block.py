# SPDX-License-Identifier: GPL-2.0
"""rig/tables: random reads of a block device by fio, by io_uring, libaio and SPDK."""
import contextlib
import json
import os
import re
import shutil
import stat
from pathlib import Path

from tabling.common import Failure, Lacking, run, say

DEPTHS = {"latency": (1, 2, 4, 8), "peak": (4, 8, 16, 32, 64), "core": (128,)}
PERCENTILES = (50, 90, 99, 99.9)
NULLB = Path("/sys/kernel/config/nullb")
# Device numbers far from those that a machine has.
NULLB_FIRST, NULLB_NR = 80, 4
NO_FIO = "no fio, which the tables of the block layer need: as root, 'apt install fio'"
NO_SPDK = ("no SPDK: build it with './configure --with-fio' and give SPDK=PATH of build/fio/spdk_nvme "
           "and SPDK_DEV='trtype=PCIe traddr=0000.01.00.0 ns=1', a drive that its setup.sh has taken "
           "from the kernel")


class Target:
    """What is read: device files, how they are called in a heading, and what they can."""

    def __init__(self, paths, what, size=None, direct=True):
        self.paths = paths
        self.what = what
        self.size = size
        self.direct = direct
        self.sector = 512
        self.polled = False
        self.why_not_polled = "a file is not polled"

    def ask_queue(self, root="/"):
        """Whether all devices have polled queues, and the smallest block they take."""
        sectors = []
        polled = []
        for path in self.paths:
            queue = Path(root) / "sys/class/block" / Path(path).name / "queue"
            if not queue.exists():
                # a partition's queue is its disk's
                queue = queue.parent.resolve().parent / "queue"
            with contextlib.suppress(OSError, ValueError):
                sectors.append(int((queue / "logical_block_size").read_text()))
                polled.append((queue / "io_poll").read_text().strip() == "1")
        self.sector = max(sectors, default=512)
        self.polled = len(polled) == len(self.paths) and all(polled)
        self.why_not_polled = ("the device has no polled queues: for NVMe, load the driver with "
                               "nvme.poll_queues=2 (a word of the kernel's command line)")
        return self


def named(devices):
    """The devices that the user names.  Raises Lacking where they cannot be read."""
    for path in devices:
        try:
            mode = os.stat(path).st_mode
            os.close(os.open(path, os.O_RDONLY))
        except OSError as error:
            raise Lacking(f"DEV={path}: {error.strerror}; name a drive that you may read (root, or "
                          "a member of the group disk)") from None
        if not stat.S_ISBLK(mode):
            raise Lacking(f"DEV={path} is no block device: name one, such as /dev/nvme0n1")
    return Target(devices, ", ".join(devices)).ask_queue()


def put(path, value):
    path.write_text(f"{value}\n")


@contextlib.contextmanager
def null_blocks():
    """Null devices of our own, removed at the end; none where they cannot be made."""
    loaded = False
    made, paths = [], []
    try:
        if os.geteuid() == 0:
            if not NULLB.exists() and shutil.which("modprobe"):
                with contextlib.suppress(Failure):
                    loaded = run(["modprobe", "null_blk", "nr_devices=0"], 30)[0] == 0
                if not NULLB.parent.is_mount():
                    with contextlib.suppress(Failure):
                        run(["mount", "-t", "configfs", "none", str(NULLB.parent)], 30)
            with contextlib.suppress(OSError):
                for nr in range(NULLB_FIRST, NULLB_FIRST + NULLB_NR):
                    paths.append(make_null(NULLB / f"nullb{nr}", made))
        yield paths if len(paths) == NULLB_NR else []
    finally:
        for item in reversed(made):
            with contextlib.suppress(OSError):
                item.rmdir()
        if loaded:
            with contextlib.suppress(Failure):
                run(["modprobe", "-r", "null_blk"], 30)


def make_null(item, made):
    """One null device of 1 GiB, its requests ended by the CPU that sent them."""
    cpus = len(os.sched_getaffinity(0))
    item.mkdir()
    made.append(item)
    for name, value in (("size", 1024), ("blocksize", 512), ("submit_queues", cpus),
                        ("hw_queue_depth", 1024)):
        put(item / name, value)
    with contextlib.suppress(OSError):
        put(item / "poll_queues", cpus)
    put(item / "power", 1)
    for name in (item.name, "nullb" + (item / "index").read_text().strip()):
        if os.path.exists(f"/dev/{name}"):
            return f"/dev/{name}"
    raise OSError("the device did not appear")


def own_file(folder, mib):
    """A file of our own where there is no device, unbuffered where its file system can."""
    path = folder / "data"
    block = os.urandom(1 << 20)
    with open(path, "wb") as f:
        for _ in range(mib):
            f.write(block)
        f.flush()
        os.fsync(f.fileno())
    kind = run(["stat", "-f", "-c", "%T", str(path)], 10)[1].strip() or "unknown"
    direct = True
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        direct = False
    what = f"A FILE of {mib} MiB on {kind}, no device" + ("" if direct else ", and through the page cache")
    return Target([str(path)], what, f"{mib}m", direct)


@contextlib.contextmanager
def target(devices, folder, mib, notes):
    """What the tables read: the named devices, else null devices, else a file."""
    if devices:
        yield named(devices)
        return
    with null_blocks() as paths:
        if paths:
            yield Target(paths, "null_blk").ask_queue()
            return
        notes.leave_out("the tables of the block layer read a file and say nothing about a drive: as root, "
                        "DEV=/dev/nvme0n1 names one (it is only read), or 'modprobe null_blk' works")
        try:
            file = own_file(folder, mib)
        except OSError as error:
            raise Lacking(f"no file can be made in {folder}: {error.strerror}; give --out a folder "
                          "that you may write") from None
        try:
            yield file
        finally:
            os.unlink(file.paths[0])


def engines(table, polled, uring):
    """Interface and 'polled' of each block of rows; the peak is looked for the best way alone."""
    if table == "peak":
        return [("io_uring", int(polled))] if uring else []
    found = []
    if uring:
        found.append(("io_uring", 0))
    found.append(("libaio", 0))
    if uring and polled:
        found.append(("io_uring", 1))
    return found


def jobs(target, table, interface, polled, runtime, cpu, spdk_dev=""):
    """The text of a fio job file: one job after the other, one for each queue depth."""
    paths = target.paths if table == "core" else target.paths[:1]
    size = {"latency": 4096, "core": 4096, "peak": target.sector}[table]
    lines = ["[global]", "rw=randread", f"bs={size}", f"direct={int(target.direct)}", "time_based=1",
             f"runtime={runtime}ms", "thread=1", "norandommap=1", "randrepeat=0", f"cpus_allowed={cpu}",
             "clat_percentiles=0", "lat_percentiles=1",
             "percentile_list=" + ":".join(map(str, PERCENTILES))]
    if interface == "spdk":
        lines += ["ioengine=spdk", f"filename={spdk_dev}"]
    else:
        lines += [f"ioengine={interface}", "filename=" + ":".join(p.replace(":", "\\:") for p in paths)]
    if target.size and interface != "spdk":
        lines.append(f"size={target.size}")
    if interface == "io_uring":
        lines += ["fixedbufs=1", "registerfiles=1"] + (["hipri=1"] if polled else [])
    if table == "core":
        lines += ["iodepth_batch_submit=32", "iodepth_batch_complete_min=1", "iodepth_batch_complete_max=32"]
    for depth in DEPTHS[table]:
        lines += [f"[{interface} {depth} {polled}]", "stonewall", f"iodepth={depth}"]
    return "\n".join(lines) + "\n"


def parse(text):
    """Row -> figure -> value from fio's JSON, which may have lines before it."""
    rows = {}
    for job in json.loads(text[text.index("{"):])["jobs"]:
        if job["error"]:
            raise Failure(f"fio, {job['jobname']}: {os.strerror(job['error'])}")
        read = job["read"]
        row = rows[job["jobname"]] = {"iops": read["iops"], "lat_us": read["lat_ns"]["mean"] / 1000}
        for key, ns in read["lat_ns"].get("percentile", {}).items():
            row[f"p{float(key):g}"] = ns / 1000
    if not rows:
        raise Failure("fio has run no job")
    return rows


def fio(folder, text, limit, preload=""):
    """One fio: row -> figure -> value."""
    path = folder / "tables.fio"
    path.write_text(text)
    env = {"LD_PRELOAD": preload} if preload else None
    status, out, err = run(["fio", "--readonly", "--output-format=json", str(path)], limit, env)
    try:
        return parse(out)
    except (ValueError, KeyError):
        said = [l for l in (err + out).splitlines() if l.strip() and not re.match(r"[\s{}\"]", l)]
        raise Failure(f"fio ended with status {status}: {said[-1] if said else 'it said nothing'}") from None


def find_spdk(path, dev):
    """The plugin that was named, or lies where SPDK installs it; None where it cannot be used."""
    places = [path] if path else ["/usr/local/lib/spdk/fio/spdk_nvme", "/opt/spdk/build/fio/spdk_nvme",
                                  os.path.expanduser("~/spdk/build/fio/spdk_nvme")]
    found = next((p for p in places if os.path.exists(p)), None)
    return found if found and dev else None


def measure(target, table, folder, runs, runtime, uring, spdk, notes):
    """One of the tables: row -> figure -> the runs."""
    cpu = max(os.sched_getaffinity(0))
    kinds = engines(table, target.polled, uring) + ([("spdk", 1)] if spdk[0] else [])
    limit = 60 + len(DEPTHS[table]) * runtime * 3 // 1000
    rows = {}
    gone = set()
    for nr in range(runs):
        for kind in kinds:
            if kind in gone:
                continue
            say(f"  {table}, run {nr + 1} of {runs}: {kind[0]}{' polled' if kind[1] else ''}")
            try:
                seen = fio(folder, jobs(target, table, *kind, runtime, cpu, spdk[1]), limit,
                           spdk[0] if kind[0] == "spdk" else "")
            except Failure as why:
                notes.fail(f"{table}, {kind[0]}{' polled' if kind[1] else ''}: {why}")
                gone.add(kind)
                for row in [r for r in rows if r.split()[0] == kind[0] and r.split()[2] == str(kind[1])]:
                    del rows[row]
                continue
            for row, figures in seen.items():
                for figure, value in figures.items():
                    rows.setdefault(row, {}).setdefault(figure, []).append(value)
    return rows
