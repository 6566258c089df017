"""rig/tables: what fio and the programs print, the form of the tables, messages about what is missing."""
import errno
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

RIG = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, RIG)
from tabling import block, form, machine, plot, programs, results   # noqa: E402
from tabling.common import Failure, Lacking, Notes, median, spread  # noqa: E402


def job(name, iops=1000.0, error=0):
    return {"jobname": name, "error": error, "read": {
        "iops": iops, "lat_ns": {"mean": 9500.0, "percentile": {"50.000000": 9000, "99.900000": 20000}}}}


def fio_text(*jobs):
    return "fio: a word of warning\n" + json.dumps({"jobs": jobs})


class Base(unittest.TestCase):
    """Messages of progress are not printed, files of /proc and /sys lie in a folder."""

    def setUp(self):
        for module in ("common", "block", "programs"):
            patch = mock.patch(f"tabling.{module}.say")
            patch.start()
            self.addCleanup(patch.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def put(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text)


class TestFio(Base):
    def test_parse(self):
        rows = block.parse(fio_text(job("io_uring 1 0"), job("io_uring 2 0", 2000.0)))
        self.assertEqual(rows["io_uring 1 0"], {"iops": 1000.0, "lat_us": 9.5, "p50": 9.0, "p99.9": 20.0})
        self.assertEqual(rows["io_uring 2 0"]["iops"], 2000.0)

    def test_failed_job(self):
        with self.assertRaisesRegex(Failure, "io_uring 1 1: Operation not supported"):
            block.parse(fio_text(job("io_uring 1 1", error=errno.EOPNOTSUPP)))
        with self.assertRaises(Failure):
            block.parse(fio_text())

    def test_no_json(self):
        with mock.patch("tabling.block.run", return_value=(1, "", "fio: engine libaio not loadable\n")):
            with self.assertRaisesRegex(Failure, "status 1: fio: engine libaio not loadable"):
                block.fio(self.root, "", 1)

    def test_only_reads(self):
        with mock.patch("tabling.block.run", return_value=(0, fio_text(job("a 1 0")), "")) as run:
            block.fio(self.root, "text", 1, "/plugin")
        self.assertIn("--readonly", run.call_args.args[0])
        self.assertEqual(run.call_args.args[2], {"LD_PRELOAD": "/plugin"})
        for table in block.DEPTHS:
            self.assertIn("\nrw=randread\n", block.jobs(block.Target(["/dev/x"], "x"), table, "libaio", 0, 1, 0))

    def test_jobs(self):
        target = block.Target(["/dev/a", "/dev/b"], "two")
        text = block.jobs(target, "latency", "io_uring", 1, 300, 3)
        self.assertIn("filename=/dev/a\n", text)
        self.assertIn("hipri=1", text)
        self.assertEqual([l for l in text.splitlines() if l.startswith("[i")],
                         [f"[io_uring {d} 1]" for d in block.DEPTHS["latency"]])
        self.assertIn("filename=/dev/a:/dev/b\n", block.jobs(target, "core", "libaio", 0, 300, 3))
        self.assertNotIn("hipri", block.jobs(target, "core", "io_uring", 0, 300, 3))
        text = block.jobs(target, "core", "spdk", 1, 300, 3, "trtype=PCIe ns=1")
        self.assertIn("filename=trtype=PCIe ns=1\n", text)
        self.assertIn("bs=4096\n", block.jobs(block.Target(["/dev/a"], ""), "core", "libaio", 0, 1, 0))
        target.sector = 4096
        self.assertIn("bs=4096\n", block.jobs(target, "peak", "io_uring", 1, 1, 0))

    def test_engines(self):
        self.assertEqual(block.engines("latency", True, True), [("io_uring", 0), ("libaio", 0), ("io_uring", 1)])
        self.assertEqual(block.engines("core", True, False), [("libaio", 0)])
        self.assertEqual(block.engines("peak", False, True), [("io_uring", 0)])
        self.assertEqual(block.engines("peak", True, False), [])

    def test_one_engine_fails(self):
        def fio(folder, text, limit, preload):
            if "hipri" in text:
                raise Failure("not polled")
            return {"io_uring 1 0" if "=io_uring" in text else "libaio 1 0": {"iops": 7.0}}
        notes = Notes()
        target = block.Target(["/dev/x"], "x")
        target.polled = True
        with mock.patch("tabling.block.fio", fio):
            rows = block.measure(target, "latency", self.root, 5, 1, True, ("", ""), notes)
        self.assertEqual({key: row["iops"] for key, row in rows.items()},
                         {"io_uring 1 0": [7.0] * 5, "libaio 1 0": [7.0] * 5})
        self.assertEqual(notes.failed, ["latency, io_uring polled: not polled"])

    def test_queue(self):
        for name, polled in (("a", 1), ("b", 0)):
            self.put(f"sys/class/block/{name}/queue/io_poll", f"{polled}\n")
            self.put(f"sys/class/block/{name}/queue/logical_block_size", "4096\n")
        self.assertTrue(block.Target(["/dev/a"], "").ask_queue(self.root).polled)
        self.assertFalse(block.Target(["/dev/a", "/dev/b"], "").ask_queue(self.root).polled)
        self.assertEqual(block.Target(["/dev/a"], "").ask_queue(self.root).sector, 4096)
        self.assertFalse(block.Target(["/dev/c"], "").ask_queue(self.root).polled)


class TestPrograms(Base):
    def test_parse(self):
        self.assertEqual(programs.parse("flags 3000\nclock 12\nsender 9 1.00:5 99.90:70\n"),
                         {"flags": "3000", "clock": 12, "sender": 9, "sender p1": 5, "sender p99.9": 70})

    def once(self, status, err=""):
        with mock.patch("tabling.programs.run", return_value=(status, "clock 1\n", err)):
            return programs.once(Path("/bin"), "accept", "multi", 5)

    def test_status(self):
        self.assertEqual(self.once(0), {"clock": 1})
        with self.assertRaisesRegex(Lacking, "accept: this kernel has no multishot accept"):
            self.once(2, "this kernel has no multishot accept (Linux 5.19)\n")
        for status, err, words in ((1, "accept: Broken pipe\n", "Broken pipe"), (1, "", "status 1"),
                                   (-14, "", "took too long"), (-11, "", "SIGSEGV")):
            with self.assertRaisesRegex(Failure, "accept multi 5: .*" + words):
                self.once(status, err)

    def test_a_row_that_cannot_be(self):
        def once(where, name, way):
            if way == "multi":
                raise Lacking("accept: not there")
            return {"clock": 3}
        notes = Notes()
        with mock.patch("tabling.programs.once", once):
            rows = programs.table(None, "accept", {"single": ("single",), "multi": ("multi",)}, 5, notes)
        self.assertEqual(rows, {"single": {"clock": [3] * 5}})
        self.assertEqual((notes.left_out, notes.failed), (["accept: not there"], []))

    def test_they_do_what_they_say(self):
        if machine.setup_errno() or not programs.shutil.which("gcc") or not programs.shutil.which("make"):
            self.skipTest("no io_uring or no compiler here")
        programs.build(self.root)
        for args, figures in ((("accept", "multi", 20), ("clock", "nsec")), (("aux", "multi", 4, 20), ("requests",)),
                              (("bundle", "bundle", 500), ("nsec", "clock")),
                              (("msg", 50, 20), ("sender p99.9", "receiver p50"))):
            try:
                seen = programs.once(self.root, *args)
            except Lacking:
                continue
            for figure in figures:
                self.assertIn(figure, seen)
        with self.assertRaisesRegex(Failure, "'no' is no number"):
            programs.once(self.root, "bundle", "plain", "no")


class TestMissing(Base):
    def test_no_compiler(self):
        with mock.patch("tabling.programs.shutil.which", return_value=None):
            with self.assertRaisesRegex(Lacking, "apt install gcc"):
                programs.build(self.root)

    def test_switched_off(self):
        self.assertEqual(machine.uring_problem(0, self.root), "")
        self.assertIn("CONFIG_IO_URING=y", machine.uring_problem(errno.ENOSYS, self.root))
        self.assertIn("seccomp", machine.uring_problem(errno.EPERM, self.root))
        for value, words in (("1", "run this as root, or"), ("2", "for all:")):
            self.put("proc/sys/kernel/io_uring_disabled", value + "\n")
            text = machine.uring_problem(errno.EPERM, self.root)
            self.assertIn(words, text)
            self.assertIn("sysctl kernel.io_uring_disabled=0", text)

    def test_device(self):
        with self.assertRaisesRegex(Lacking, "No such file or directory; name a drive"):
            block.named([str(self.root / "none")])
        self.put("file", "")
        with self.assertRaisesRegex(Lacking, "is no block device"):
            block.named([str(self.root / "file")])

    def test_a_file_says_that_it_is_one(self):
        notes = Notes()
        with mock.patch("tabling.block.os.geteuid", return_value=1000):
            with block.target([], self.root, 1, notes) as target:
                self.assertTrue(target.what.startswith("A FILE of 1 MiB"))
                self.assertTrue(os.path.exists(target.paths[0]))
        self.assertFalse(os.path.exists(target.paths[0]))
        self.assertIn("DEV=/dev/nvme0n1", notes.left_out[0])

    def test_spdk(self):
        self.put("spdk_nvme", "")
        path = str(self.root / "spdk_nvme")
        self.assertEqual(block.find_spdk(path, "trtype=PCIe"), path)
        self.assertIsNone(block.find_spdk(path, ""))
        self.assertIsNone(block.find_spdk(str(self.root / "none"), "trtype=PCIe"))
        self.assertIn("SPDK_DEV=", block.NO_SPDK)

    def test_each_is_told_once(self):
        notes = Notes()
        for _ in range(3):
            notes.leave_out("no fio")
        notes.fail("msg: it took too long")
        self.assertEqual(notes.lines(), ["left out: no fio", "FAILED:   msg: it took too long"])

    def test_no_matplotlib(self):
        with mock.patch.dict(sys.modules, {"matplotlib": None}):
            with self.assertRaisesRegex(Lacking, "python3-matplotlib"):
                plot.draw(result(), None, self.root / "x.png")


class TestMachine(Base):
    def test_doubts(self):
        self.put("proc/cpuinfo", "model name\t: A CPU\nflags\t\t: fpu\n")
        self.put("proc/loadavg", "0.00 0.00 0.00 1/1 1\n")
        with mock.patch("tabling.machine.os.sched_getaffinity", return_value={0, 1}):
            self.assertEqual(machine.doubts(self.root), [])
            self.put("proc/loadavg", "1.50 0.00 0.00 1/1 1\n")
            self.put("proc/cpuinfo", "model name\t: QEMU TCG CPU version 2.5+\nflags\t\t: fpu hypervisor\n")
            self.put("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n")
            self.put("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n")
            text = "\n".join(machine.doubts(self.root))
            for words in ("software emulation", "'powersave'", "turbo is on", "load 1.50"):
                self.assertIn(words, text)
            self.put("proc/cpuinfo", "model name\t: A CPU\nflags\t\t: fpu hypervisor vmx\n")
            self.assertIn("under a hypervisor", machine.doubts(self.root)[0])

    def test_kernel(self):
        self.put("sys/kernel/notes", b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + bytes(range(20)))
        self.put("proc/kallsyms", "0 T io_mailbox_take\n")
        self.assertEqual(machine.kernel("", self.root)["build"], "00010203")
        self.assertEqual(machine.kernel("", self.root)["name"], "ours")
        self.assertEqual(machine.kernel("stock", self.root)["name"], "stock")


def result(name="ours", build="1", date="2026-01-02T00:00:00", factor=1):
    runs = [100 * factor, 110 * factor, 90 * factor, 100 * factor, 120 * factor]
    msg = {"possible": runs, "sender": runs, "receiver": runs}
    for side in ("sender", "receiver"):
        for percentile in (1, 50, 90, 99, 99.9):
            msg[f"{side} p{percentile:g}"] = runs
    device = {"device": "null_blk", "devices": 4, "sector": 512, "ms": 300}
    read = {"lat_us": runs, "iops": [r * 1000 for r in runs], "p50": runs, "p99.9": runs}
    return {"version": results.VERSION, "kernel": {"release": "6.12.1", "build": build, "name": name},
            "machine": {"cpu": "A CPU", "cpus": 2, "host": ""}, "date": date, "doubts": [], "notes": [], "tables": {
                "latency": {"about": device, "rows": {"io_uring 1 0": read, "libaio 1 0": read}},
                "peak": {"about": device, "rows": {"io_uring 4 1": read}},
                "core": {"about": device, "rows": {"io_uring 128 1": read}},
                "accept": {"about": {"connections": 10000},
                           "rows": {w: {"clock": runs, "ms": runs} for w in ("single", "multi")}},
                "aux": {"about": {"ms": 300}, "rows": {"multi 4": {"rps": runs}}},
                "bundle": {"about": {"messages": 9},
                           "rows": {w: {"ms": runs, "cpu_ms": runs} for w in ("plain", "bundle")}},
                "msg": {"about": {"ms": 300}, "rows": {"50": msg}}}}


class TestForm(Base):
    def test_figures(self):
        self.assertEqual(median([1, 5, 2, 3, 4]), 3)
        self.assertAlmostEqual(spread([90, 100, 120, 100, 110]), 0.3)
        self.assertEqual(form.cell({"a": [90, 100, 120, 100, 110]}, "a", form.kilo), "     0.1K   30%")
        self.assertEqual(form.cell(None, "a", form.kilo).split(), ["-", "-"])
        self.assertEqual(form.apart([1, 1, 100]), ">999%")
        self.assertEqual(form.usec(9.51), "9.5usec")
        self.assertEqual(form.kilo(151000), "151K")

    def test_alone(self):
        text = "\n".join(form.whole(result(), None))
        for words in ("Interface    QD  Polled", "Latency tests, null_blk, 4k random read",
                      "Peak IOPS, null_blk, 512b random read", "Peak per-core, 4 x null_blk",
                      "(100+110+90+100+120)/5 = 104.00", "= 0.00%", "99.9000th=[", "Sender (msg=100)",
                      "multishot, 4 a burst", "delay=50 usec, receiver p99.9"):
            self.assertIn(words, text)
        self.assertNotIn("ratio", text)
        self.assertNotIn("|  ", "\n".join(form.table("latency", result(), None)))

    def test_beside(self):
        text = "\n".join(form.whole(result(), result("stock", "2", factor=2)))
        self.assertIn("6.12.1 stock", text)
        self.assertIn("  0.50", text)
        self.assertEqual(text.count("6.12.1 stock"), 7)

    def test_ratio(self):
        self.assertEqual(form.ratio({"a": [1, 2, 3]}, {"a": [4, 4, 5]}, "a"), "  0.50 ")
        self.assertEqual(form.ratio({"a": [1, 2, 3]}, {"a": [3, 4, 5]}, "a"), "  0.50~")
        self.assertEqual(form.ratio({"a": [1]}, None, "a").strip(), "-")

    def test_columns_are_below_each_other(self):
        for name in ("latency", "aux", "bundle", "core"):
            lines = list(form.table(name, result(), result("stock", "2")))[3:]
            bars = {line.index("|") for line in lines if "|" in line}
            self.assertEqual(len(bars), 1, name)

    def test_a_row_that_the_other_has_not(self):
        other = result("stock", "2")
        del other["tables"]["latency"]["rows"]["libaio 1 0"]
        line = [l for l in form.table("latency", result(), other) if l.startswith("libaio")][0]
        self.assertEqual(line.split("|")[1].split(), ["-"] * 5)

    def test_labels(self):
        self.assertEqual(form.labels(result()["kernel"], result("stock")["kernel"]), ["6.12.1 ours", "6.12.1 stock"])
        self.assertEqual(form.labels(result("")["kernel"], result("", "2")["kernel"]), ["6.12.1 1", "6.12.1 2"])


class TestResults(Base):
    def test_save_and_load(self):
        path = results.save(result(), self.root)
        self.assertEqual(path.name, "6.12.1-ours-20260102T000000.json")
        self.assertEqual(results.load(path), result())
        self.put("bad.json", "{")
        self.assertIsNone(results.load(self.root / "bad.json"))

    def test_the_latest_of_another_kernel(self):
        for other in (result("stock", "2", "2026-01-01T00:00:00"), result("stock", "2", "2026-01-01T00:00:01"),
                      result("again", "1")):
            results.save(other, self.root)
        found, unlike = results.beside(result(), self.root)
        self.assertEqual((found["date"], unlike), ("2026-01-01T00:00:01", 0))
        self.assertEqual(results.beside(result(), self.root, "6.1.")[0], None)

    def test_another_name_before_another_build(self):
        results.save(result("ours", "9", "2026-02-01T00:00:00"), self.root)
        self.assertEqual(results.beside(result(), self.root)[0]["kernel"]["build"], "9")
        results.save(result("stock", "2", "2026-01-01T00:00:00"), self.root)
        self.assertEqual(results.beside(result(), self.root)[0]["kernel"]["build"], "2")

    def test_tables_of_several_results(self):
        old, new = (result("stock", "2", f"2026-01-0{day}T00:00:00") for day in (1, 2))
        third = result("third", "3", "2025-01-01T00:00:00")
        del new["tables"]["msg"], old["tables"]["aux"], new["tables"]["core"], old["tables"]["core"]
        old["tables"]["peak"]["rows"] = {"old 1 1": {}}
        for other in (old, new, third):
            results.save(other, self.root)
        found = results.beside(result(), self.root)[0]
        self.assertEqual(set(found["tables"]), set(form.TITLES) - {"core"})
        self.assertEqual(found["tables"]["peak"], new["tables"]["peak"])

    def test_control(self):
        self.assertEqual(results.control(result(), None), [])
        self.assertEqual(results.control(result(), result("stock", "2")), [])
        self.assertIn("does 0.50 of", results.control(result(), result("stock", "2", factor=2))[0])

    def test_what_cannot_be_compared(self):
        other = result("stock", "2")
        other["tables"]["latency"]["about"]["device"] = "/dev/nvme0n1"
        results.save(other, self.root)
        self.assertNotIn("latency", results.beside(result(), self.root)[0]["tables"])
        other["machine"]["cpu"] = "B"
        results.save(other, self.root)
        self.assertEqual(results.beside(result(), self.root), (None, 1))


class TestCommand(Base):
    """The script itself, without a run of any table."""

    def call(self, *args, **env):
        return subprocess.run([RIG + "/tables", *map(str, args)], capture_output=True, text=True, timeout=60,
                              env={"PATH": os.environ["PATH"], **env})

    def test_wrong_arguments(self):
        self.assertIn("no table none: there are latency", self.call("--only", "none").stderr)
        self.assertIn("at least 5 runs", self.call(RUNS="3").stderr)
        self.assertIn("is no result", self.call("--show", self.root / "none.json").stderr)

    def test_show(self):
        path = results.save(result(), self.root)
        results.save(result("stock", "2"), self.root)
        seen = self.call("--show", path)
        self.assertEqual((seen.returncode, seen.stderr), (0, ""))
        self.assertIn("beside:   6.12.1 stock of 2026-01-02T00:00:00", seen.stdout)
        self.assertIn("99.9000th=[", path.with_suffix(".txt").read_text())

    def test_nothing_to_do_but_messages(self):
        seen = self.call("--quick", "--only", "latency", "--dev", self.root / "none", "--out", self.root,
                         PATH=str(self.root))
        self.assertEqual(seen.returncode, 0, seen.stderr)
        self.assertEqual(seen.stdout.count("left out: " + block.NO_FIO), 1)
        self.assertIn("result:   nothing was measured", seen.stdout)
        self.assertEqual(list(self.root.glob("*.json")), [])


class TestPicture(Base):
    def test_draw(self):
        try:
            import matplotlib                           # noqa: F401
        except ImportError:
            self.skipTest("no matplotlib here")
        plot.draw(result(), result("stock", "2"), self.root / "x.png")
        self.assertTrue((self.root / "x.png").read_bytes().startswith(b"\x89PNG"))


if __name__ == "__main__":
    unittest.main()
