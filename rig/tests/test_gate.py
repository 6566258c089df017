"""The gate: what make test may not take for green."""
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import gate                                             # noqa: E402

STAGES = list(gate.rows("# a table\nkernels 30 3 0\nkunit 8 71 2\n", gate.Stage))


def total(text):
    """The sums, and all lines."""
    lines = list(gate.judge(STAGES, gate.rows(text, gate.Result)))
    return [sum(line[i] for line in lines) for i in (1, 2, 3)], "\n".join(line[0] for line in lines)


class Gate(unittest.TestCase):
    def assert_fails(self, words, text):
        (_, failed, _), lines = total(text)
        self.assertEqual(failed, 1, lines)
        self.assertIn(words, lines)

    def test_green(self):
        counts, lines = total("kernels 3 0 0 1801\nkunit 80 0 2 60\n")
        self.assertEqual(counts, [83, 0, 2])
        self.assertIn("31 of 30 min  over its budget", lines)

    def test_failed_checks_are_counted_once(self):
        self.assertEqual(total("kernels 3 0 0 9\nkunit 75 4 0 9\n")[0], [78, 4, 0])

    def test_a_lane_died(self):
        self.assert_fails("did not run, or did not end", "kernels 3 0 0 9\n")

    def test_a_stage_said_nothing(self):
        self.assert_fails("said nothing", "kernels 3 0 0 9\nkunit - - - 9\n")

    def test_too_few_checks(self):
        self.assert_fails("at least 71", "kernels 3 0 0 9\nkunit 70 0 0 9\n")
        self.assert_fails("at least 71", "kernels 3 0 0 9\nkunit 0 0 0 9\n")

    def test_too_many_left_out(self):
        self.assert_fails("at most 2", "kernels 3 0 0 9\nkunit 71 0 3 9\n")

    def test_strangers(self):
        self.assert_fails("not in rig/stages", "kernels 3 0 0 9\nkunit 71 0 0 9\nkunits 1 0 0 9\n")
        self.assert_fails("2 times", "kernels 3 0 0 9\nkunit 71 0 0 9\nkunit 71 0 0 9\n")

    def test_what_failed_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/test-kunit.log", "w", encoding="utf-8") as f:
                f.write("ok 1 a\n    not ok 2 b\nrow c  1.2 <= 1.0 FAIL\n2 passed, 0 failed, 0 skipped\n")
            found = gate.failures(folder + "/test-summary.log", "kunit")
        self.assertEqual(found, ["        not ok 2 b", "    row c  1.2 <= 1.0 FAIL"])
        self.assertEqual(gate.failures("nowhere/test-summary.log", "kunit"), [])

    def test_the_table_names_what_rig_test_runs(self):
        rig = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        with open(rig + "/test", encoding="utf-8") as f:
            runs = re.findall(r"^\s*(?:\w+\(\) \{ )?(?:part|once) (\w\S*)", f.read(), re.M)
        self.assertEqual(sorted(runs), sorted(s.name for s in gate.read(gate.STAGES, gate.Stage)))

    def test_no_program_is_left_out(self):
        top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        folder = top + "/tools/testing/selftests/io_uring"
        with open(folder + "/Makefile", encoding="utf-8") as f:
            built = re.findall(r"^TEST_GEN_PROGS [:+]= (\w+)$", f.read(), re.M)
        programs = [name[:-2] for name in os.listdir(folder) if name.endswith("_test.c")]
        self.assertEqual(sorted(built), sorted(programs))


if __name__ == "__main__":
    unittest.main()
