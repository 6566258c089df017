"""Differences: a test that asks for stock names a row that is there."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import differences                                      # noqa: E402

PAGE = "   * - ``one``\n     - a subject\n   * - ``two-words``\n     - another, with ``code``\n"
TEST = """\
#define KNOWS(flags)	(!iou_on_stock() || (flags))

/* differences: one */
TEST_F(a, first)
{
	EXPECT_EQ(0, 0);

	if (iou_on_stock())
		return;
out:
	close(0);
}

/*
 * Two of them.  Mutant: some-mutant.  differences: one,
 * two-words.
 */
static int second(int a,
		  int b)
{
	return iou_on_stock();
}

TEST(third)
{
	/* differences: none, it takes long */
	if (iou_on_stock())
		return;
}
""".replace("#define", "/* differences: two-words */\n#define")


class TestDifferences(unittest.TestCase):
    def judge(self, test, page=PAGE):
        return list(differences.judge(page, {"a_test.c": test}))

    def test_all_are_named(self):
        self.assertEqual(self.judge(TEST), [])

    def test_each_mention_counts(self):
        for mention in ("/* differences: two-words */\n#", "/* differences: one */", "  differences: one,\n * two-words",
                        "/* differences: none, it takes long */"):
            self.assertIn(mention, TEST)
            without = TEST.replace(mention, "#" if mention.endswith("#") else "")
            self.assertEqual(len(self.judge(without)), 1, mention)
            self.assertIn("iou_on_stock() without", self.judge(without)[0])

    def test_a_comment_further_up_is_another_ones(self):
        self.assertIn("a_test.c:6: iou_on_stock() without",
                      self.judge(TEST.replace("one */\n", "one */\n\n"))[0])

    def test_no_such_row(self):
        self.assertEqual(self.judge(TEST.replace("differences: one,", "differences: won,")), [
            f"a_test.c:15: won is no row of {differences.PAGE}"])
        self.assertIn("two is no row", self.judge(TEST.replace("two-words", "two"))[0])

    def test_none_says_why(self):
        self.assertIn("none is no row", self.judge(TEST.replace("none, it takes long", "none"))[0])
        self.assertIn("without a row", self.judge(TEST.replace(": one */", ": */"))[0])

    def test_a_row_that_is_there_twice(self):
        self.assertEqual(self.judge(TEST, PAGE + "   * - ``one``\n"), [f"{differences.PAGE}: one is there 2 times"])

    def test_no_rows(self):
        self.assertIn("no rows", self.judge(TEST, "")[0])

    def test_list_of_failures(self):
        good = "# a comment\n\na_test  a.*.b sometimes : one\na_test a.c : none, a race\n"
        self.assertEqual([], list(differences.judge_fails(PAGE, "fails", good)))
        for bad in ("a_test a.b : three\n", "a_test a.b : none\n", "a_test a.b\n"):
            self.assertEqual(1, len(list(differences.judge_fails(PAGE, "fails", bad))))


if __name__ == "__main__":
    unittest.main()
