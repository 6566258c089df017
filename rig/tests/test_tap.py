"""What rig/tap makes of the tests of programs, and of those that were left out."""
import os
import subprocess
import tempfile
import unittest

TAP = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tap")
RUN = """1..1
# selftests: io_uring: one_test
# 1..2
# ok 1 one.defer.works
# ok 2 one.defer.waits # SKIP no time
ok 1 selftests: io_uring: one_test
"""
SKIPS = "one_test one.defer.waits : no time\none_test one.plain.waits : no time\n"


def tap(without, skips=SKIPS, run=RUN):
    """Its last line, and all of it."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as f:
        f.write(skips)
        f.flush()
        out = subprocess.run([TAP, "--skips", f.name, f"--without={without}"], input=run, text=True,
                             stdout=subprocess.PIPE, check=False).stdout
    return out.splitlines()[-1], out


class Without(unittest.TestCase):
    def test_a_skip_that_is_missing(self):
        last, text = tap("")
        self.assertEqual(last, "1 passed, 1 failed, 1 skipped")
        self.assertIn("one.plain.waits: listed as a skip, and ran", text)

    def test_left_out_everywhere(self):
        self.assertEqual(tap("coop,plain")[0], "1 passed, 0 failed, 1 skipped")

    def test_left_out_of_the_program(self):
        self.assertEqual(tap("one_test:plain")[0], "1 passed, 0 failed, 1 skipped")

    def test_left_out_of_another_program(self):
        self.assertEqual(tap("two_test:plain")[0], "1 passed, 1 failed, 1 skipped")

    def test_left_out_fixture(self):
        run = RUN.replace("# 1..2", "# 1..1").replace("# ok 2 one.defer.waits # SKIP no time\n", "")
        skips = "one_test other.plain.waits : no time\n"
        self.assertEqual(tap("other", skips, run)[0], "1 passed, 0 failed, 0 skipped")
        self.assertEqual(tap("", skips, run)[0], "1 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
