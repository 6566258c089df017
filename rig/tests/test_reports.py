"""The kernel's reports: what counts in a console."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import reports                                          # noqa: E402

COUNT = """\
WARNING: CPU: 0 PID: 1 at io_uring/ring/cq.c:10 io_cq_fill+0x1/0x2
BUG: KASAN: slab-use-after-free in io_req_free+0x1/0x2
INFO: task rw_test:12 blocked for more than 120 seconds.
unregister_netdevice: waiting for lo to become free. Usage count = 2
I/O error, dev nvme0n1, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2
blk_update_request: I/O error, dev nullb0, sector 0
nvme nvme0: I/O tag 64 (0040) QID 1 timeout, aborting req_op:READ(0) size:4096
** 17 printk messages dropped **
"""
FINE = """\
Linux version 6.12.117 (rig@rig)
EXT4-fs (nullb5): VFS: Can't find ext4 filesystem
I/O error, dev ublkb0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2
nvme nvme0: 2/0/2 default/read/poll queues
hrtimer: interrupt took 24216487 ns
"""


class Reports(unittest.TestCase):
    def read(self, text, **more):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as f:
            f.write(text)
            f.flush()
            return reports.read(f.name, **more)[0]

    def test_what_counts(self):
        for line in COUNT.splitlines():
            self.assertEqual(self.read(f"[    1.000000] {line}\n"), [line])

    def test_what_does_not(self):
        self.assertEqual(self.read("".join(f"[    1.000000] {line}\n" for line in FINE.splitlines())), [])
        # what a program wrote is no report
        self.assertEqual(self.read("[    1.000000] Linux version\nBUG: KASAN: said by a program\n"), [])

    def test_a_console_without_times(self):
        self.assertRegex(self.read("Linux version 6.12\nKASAN: nobody looks\n")[0], "has a time")
        self.assertRegex(self.read("")[0], "has a time")
        self.assertEqual(self.read("", silent=True), [])
        self.assertEqual(self.read("Linux version 6.12\n", stamped=False), [])


if __name__ == "__main__":
    unittest.main()
