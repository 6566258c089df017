# SPDX-License-Identifier: GPL-2.0
"""rig/bench: what is built: the guest, the plugin, kernels and their symbols."""
import bisect
import hashlib
import os
import re
import subprocess
from pathlib import Path

import base
from benching.common import TOP, OUT, QEMU, die, say

GUEST = TOP / "tools" / "testing" / "io_uring" / "bench"
PLUGIN = TOP / "rig" / "plugin" / "count.c"
# Options that may differ between the two: those of io_uring, and of tools that build nothing.
NOT_COMPARED = re.compile(r"CONFIG_(IO_URING|IO_WQ|RUSTC|PAHOLE)")


def qemu_api():
    """Which form of the plugin interface the installed QEMU speaks."""
    try:
        text = subprocess.run([QEMU, "--version"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        die(f"{QEMU} is not installed: apt install qemu-system-x86")
    found = re.search(r"version (\d+)\.(\d+)", text)
    if not found:
        die(f"cannot read QEMU's version from: {text!r}")
    version = (int(found[1]), int(found[2]))
    return 1 if version < (9, 0) else 2 if version < (9, 1) else 3


def cc(args):
    run = subprocess.run([os.environ.get("CC", "cc"), *args], capture_output=True, text=True)
    if run.returncode:
        die(f"the compiler failed:\n{run.stderr}")


def build_tools():
    OUT.mkdir(parents=True, exist_ok=True)
    api = qemu_api()
    cc(["-O2", "-Wall", "-shared", "-fPIC", f"-DQEMU_API={api}",
        "-o", str(OUT / "count.so"), str(PLUGIN)])
    run = subprocess.run(["make", "-s", "-C", str(GUEST), f"OUTPUT={OUT}"],
                         capture_output=True, text=True)
    if run.returncode:
        die(f"building the guest's program failed:\n{run.stderr}")


def cpio_entry(name, mode, data, ino):
    head = "070701" + "".join(f"{v:08x}" for v in (
        ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0))
    entry = head.encode() + name.encode() + b"\0"
    entry += b"\0" * (-len(entry) % 4)
    return entry + data + b"\0" * (-len(data) % 4)


def write_initrd(path, files):
    """An initramfs of @files: guest path -> (mode, bytes); folders are made."""
    folders = sorted({str(p) for f in files for p in Path(f).parents if str(p) != "."})
    blob = b""
    ino = 1
    for folder in folders:
        blob += cpio_entry(folder, 0o040755, b"", ino)
        ino += 1
    for name, (mode, data) in sorted(files.items()):
        blob += cpio_entry(name, mode, data, ino)
        ino += 1
    path.write_bytes(blob + cpio_entry("TRAILER!!!", 0, b"", 0))


def kernel_image(kernel, **env):
    say(f"  kernel {kernel}")
    run = subprocess.run([str(TOP / "rig" / "kernel")], stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "KERNEL": kernel, "CONFIG": "perf", **env})
    lines = run.stdout.split()
    if run.returncode or not lines:
        die(f"no image of {kernel}: see the message above")
    return Path(lines[-1])


def peer_kernel(version):
    """The other package's kernel; None where there is no such package."""
    env = {**os.environ, "PEER": version}
    run = subprocess.run([str(TOP / "rig" / "deps")], env=env)
    if run.returncode:
        die(f"linux-source-{version} could not be installed")
    if not Path(f"/usr/src/linux-source-{version}.tar.xz").exists():
        return None
    return Kernel(version, kernel_image("peer", PEER=version))


class Kernel:
    """An image with its symbols and what is told about it."""

    def __init__(self, name, image):
        self.name = name
        self.image = Path(image)
        if not self.image.exists():
            die(f"{image} does not exist")
        self.objects = next((p for p in self.image.resolve().parents
                             if (p / "System.map").exists()), None)
        if not self.objects:
            die(f"no System.map above {image}")
        self.read_symbols()
        self.read_config()

    def read_symbols(self):
        self.addresses, self.names = [], []
        for line in (self.objects / "System.map").read_text().splitlines():
            address, kind, name = line.split(None, 2)
            if kind in "tTwW" and len(address) == 16 and address[0] == "f":
                self.addresses.append(int(address, 16))
                self.names.append(name)
        self.ours = set()
        archive = self.objects / "io_uring" / "built-in.a"
        if archive.exists():
            text = subprocess.run(["nm", str(archive)], capture_output=True, text=True).stdout
            for line in text.splitlines():
                part = line.split()
                if len(part) == 3 and part[1] in "tTwW":
                    self.ours.add(part[2])

    def read_config(self):
        """The configuration's hash, as rig/ident tells it, and what of it must be equal."""
        # the version of pahole changes nothing where there is no BTF
        lines = [re.sub(r"^(CONFIG_PAHOLE_VERSION=).*", r"\g<1>0", l)
                 for l in (self.objects / ".config").read_text().splitlines()
                 if not l.startswith("#")]
        self.config = hashlib.sha256("".join(f"{l}\n" for l in lines).encode()).hexdigest()[:12]
        self.options = {l for l in lines if l and not NOT_COMPARED.match(l)}

    def ident(self):
        if self.objects == base.OUT / self.name / "perf":
            run = subprocess.run([str(TOP / "rig" / "ident")], capture_output=True, text=True,
                                 env={**os.environ, "KERNEL": self.name, "CONFIG": "perf"})
            if not run.returncode:
                return run.stdout.strip()
        return f"image {self.image}, config {self.config}"

    def function(self, pc):
        i = bisect.bisect_right(self.addresses, pc) - 1
        return self.names[i] if i >= 0 else "?"

    def entry(self, pc):
        i = bisect.bisect_left(self.addresses, pc)
        return i < len(self.addresses) and self.addresses[i] == pc
