"""The comparison with stock: wrong answers are reported, known differences explain themselves alone."""
import os
import random
import sys
import unittest

RIG = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, RIG)
import differences                                      # noqa: E402
import faults                                           # noqa: E402
import outcome                                          # noqa: E402

# What once opened the door to any difference is in it: a chain, a drained request, a linked timeout.
LISTING = """\
program 1, compared, drains
  0  ring0 entries=8 SINGLE|DEFER
  1  ring1 entries=8 COOP
  2  sqe ring1 READ fd=44(pipe-r) addr=BUF+0 len=0x8 data=103
  3  sqe ring0 POLL_ADD fd=48(sock1) addr=0 len=0x1 op_flags=0x1 data=104
  4  enter ring0 submit=all min=0 GETEVENTS
  5  sqe ring0 READ LINK fd=40(tmp) addr=BUF+0x100 len=0x8 off=0x1 data=106
  6  sqe ring0 NOP LINK fd=0 addr=0 data=107
  7  sqe ring0 LINK_TIMEOUT fd=0 addr=ARG+0x700 len=0x1 data=108 { 10000 0 }
  8  sqe ring0 ASYNC_CANCEL fd=0 addr=0x68 data=109
  9  sqe ring0 TIMEOUT_REMOVE DRAIN fd=0 addr=0x99 data=110
 10  enter ring0 submit=all min=0 GETEVENTS
 11  sqe ring0 WRITE fd=50(eventfd) addr=BUF+0x200 len=0x8 data=112
 13  sqe ring1 RECV BUFFER_SELECT fd=49(sock2) addr=0 buf_index=0x1 data=114
 14  enter ring0 submit=all min=0
 15  enter ring1 submit=all min=0 GETEVENTS

"""
STOCK = """\
   sq 8 cq 16 features bfff
 0: 0
   sq 8 cq 16 features bfff
 1: 0
 4: 2
   ring 0: 104 = 1 flags 0x2
   ring 0: sq 0 cq 0 dropped 0 overflow 0 flags 0
   ring 1: sq 0 cq 0 dropped 0 overflow 0 flags 0
10: 5
   ring 0: 106 = 8
   ring 0: 107 = 0
   ring 0: 108 = -125
   ring 0: 104 = -125
   ring 0: 109 = 0
   ring 0: 110 = -2
   ring 0: sq 0 cq 0 dropped 0 overflow 0 flags 0
   ring 1: sq 0 cq 0 dropped 0 overflow 0 flags 0
14: 1
   ring 0: sq 0 cq 0 dropped 0 overflow 0 flags 0
   ring 1: sq 1 cq 0 dropped 0 overflow 0 flags 0
15: 2
   ring 0: sq 0 cq 0 dropped 0 overflow 0 flags 0
   ring 1: 114 = 5 flags 0x10001
   ring 1: sq 0 cq 0 dropped 0 overflow 0 flags 0
f size 8192 mode 100644
fd 44 has -1 00000000
fd 50 is 0
"""
# The eventfd is written to on a DEFER_TASKRUN ring, as on others.
OURS = STOCK.replace("14: 1\n", "14: 1\n   ring 0: 112 = 8\n").replace("fd 50 is 0", "fd 50 signalled")


class Comparison(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(RIG + "/fuzz.known", encoding="utf-8") as known:
            cls.known = outcome.Known(known.read(), differences.read_pages())

    def left(self, stock, ours):
        return outcome.compare(self.known, LISTING, stock, ours)[1]

    def test_the_same(self):
        self.assertEqual(outcome.compare(self.known, LISTING, STOCK, STOCK), ([], []))

    def test_a_known_difference(self):
        reasons, left = outcome.compare(self.known, LISTING, STOCK, OURS)
        self.assertEqual(left, [])
        self.assertEqual(reasons, ["write-eventfd"])

    def test_faults_are_reported(self):
        """A CQE that is lost, doubled, made up, late, cancelled, of another ring, and so on."""
        for stock, ours in (STOCK, STOCK), (STOCK, OURS):
            lines = ours.split("\n")
            for at, line in enumerate(lines):
                if not faults.CQE.match(line) or ": 112 = " in line:
                    continue
                for kind in faults.KINDS:
                    wrong = kind(outcome.Listing(LISTING), list(lines), at, random.Random(1))
                    if wrong:
                        self.assertTrue(self.left(stock, "\n".join(wrong)), f"{kind.__name__}: {line}")

    def test_faults_of_a_known_difference_are_reported(self):
        for wrong in ("112 = 7", "112 = 8 flags 0x2", "112 = 8\n   ring 0: 112 = 8"):
            self.assertTrue(self.left(STOCK, OURS.replace("112 = 8", wrong)), wrong)

    def test_what_is_no_cqe(self):
        for was, now in (("\n10: 5\n", "\n10: 4\n"), ("mode 100644", "mode 100600"), ("fd 44 has -1", "fd 44 has 8"),
                         ("ring 1: sq 1", "ring 1: sq 0"), ("dropped 0", "dropped 1"), ("flags 0\n", "flags 2\n")):
            self.assertTrue(self.left(STOCK, STOCK.replace(was, now)), now)

    def test_the_chain_of_a_known_difference(self):
        listing = LISTING.replace("WRITE fd=50", "WRITE LINK fd=50").replace(
            " 13  sqe", " 12  sqe ring0 NOP fd=0 addr=0 data=113\n 13  sqe")
        ours = OURS.replace("112 = 8\n", "112 = 8\n   ring 0: 113 = 0\n")
        self.assertEqual(outcome.compare(self.known, listing, STOCK, ours)[1], [])
        # behind one that waits nothing may have ended
        stock = STOCK.replace("14: 1\n", "14: 1\n   ring 0: 113 = 0\n")
        self.assertTrue(outcome.compare(self.known, listing, stock, OURS)[1])

    def test_entries(self):
        page, row = "   * - ``a-row``\n", "request: NOP .*\nstock: 0\nours: -22\nreason: a-row\n"
        self.assertEqual(len(outcome.Known("# why\n" + row, page).entries), 1)
        for wrong in (row.replace("stock", "other"), row + "call: enter\n", row.replace("a-row", "a")):
            with self.assertRaises(ValueError):
                outcome.Known(wrong, page)


if __name__ == "__main__":
    unittest.main()
