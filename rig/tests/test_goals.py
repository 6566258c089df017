"""Goals of rig/bench: what is missed fails, or is excused as far as it was known."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from benching.goals import Goals, MOST                  # noqa: E402

STOCK = {"instr": 1000.0, "locked": 10.0, "syscalls": 1.0}
KNOWN = {"missed": {"row/": {"ratio": 1.05, "date": "2026-01-01", "why": "half of it is TCP"}},
         "dearer": {"row/": {"ratio": 1.02, "why": "an event is looked for again"}}}


def row(instr, locked=10.0):
    return {"instr": instr, "locked": locked, "syscalls": 1.0}


class TestGoals(unittest.TestCase):
    def judge(self, excuses, ours, name="row/b1"):
        return Goals(excuses).against_stock(name, STOCK, ours)

    def test_reached(self):
        self.assertEqual(self.judge({}, row(1000)), (False, "<= 1.00 pass"))
        self.assertFalse(self.judge({}, row(1001.9))[0])

    def test_missed_and_unknown(self):
        bad, words = self.judge({}, row(1003))
        self.assertTrue(bad)
        self.assertIn("FAIL", words)

    def test_locked(self):
        self.assertTrue(self.judge({}, row(900, 10.2))[0])
        self.assertFalse(self.judge({}, row(900, 10.05))[0])

    def test_known(self):
        self.assertFalse(self.judge(KNOWN, row(1050))[0])
        self.assertTrue(self.judge(KNOWN, row(1053))[0])
        self.assertTrue(self.judge(KNOWN, row(1050), "rows/b1")[0])

    def test_an_excuse_is_for_instructions(self):
        self.assertTrue(self.judge(KNOWN, row(1050, 57))[0])
        locks = {"missed": {"row/": {**KNOWN["missed"]["row/"], "locked": 1.2}}}
        self.assertFalse(self.judge(locks, row(1050, 12))[0])
        self.assertTrue(self.judge(locks, row(1050, 13))[0])

    def test_an_excuse_that_is_not_needed(self):
        goals = Goals(KNOWN)
        goals.against_stock("row/b1", STOCK, row(990))
        self.assertEqual(len(list(goals.stale(["row/b1"]))), 1)
        self.assertEqual(list(goals.stale(["other/b1"])), [])
        goals.against_stock("row/b8", STOCK, row(1040))
        self.assertEqual(list(goals.stale(["row/b1", "row/b8"])), [])

    def test_too_many(self):
        many = {f"r{i}/": KNOWN["missed"]["row/"] for i in range(MOST + 1)}
        self.assertIn(f"at most {MOST}", "".join(Goals({"missed": many}).stale([])))
        self.assertIn("no reason", "".join(Goals({"missed": {"r/": {"ratio": 2}}}).stale([])))

    def test_creep(self):
        self.assertFalse(Goals({}).against_best("row/b1", row(1004), 1000)[0])
        self.assertTrue(Goals({}).against_best("row/b1", row(1006), 1000)[0])
        self.assertFalse(Goals(KNOWN).against_best("row/b1", row(1020), 1000)[0])
        self.assertTrue(Goals(KNOWN).against_best("row/b1", row(1030), 1000)[0])
        self.assertFalse(Goals({}).against_best("row/b1", row(51), 50)[0])


if __name__ == "__main__":
    unittest.main()
