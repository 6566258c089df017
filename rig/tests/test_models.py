"""Models of Documentation/io_uring/models: a function that has changed since is noticed."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import models                                           # noqa: E402

SOURCE = "static int io_one(int a)\n{\n\treturn a + 1;\n}\n\nstatic int io_two(void)\n{\n\treturn 2;\n}\n"


class TestModels(unittest.TestCase):
    def judge(self, source, names=("one",)):
        rows = [("one", "a.c", "io_one", models.hash_of(SOURCE, "io_one"))]
        with tempfile.TemporaryDirectory() as top:
            with open(os.path.join(top, "a.c"), "w", encoding="utf-8") as f:
                f.write(source)
            return list(models.judge(rows, names, top))

    def test_nothing_changed(self):
        self.assertEqual(self.judge(SOURCE), [])

    def test_comments_and_neighbours_do_not_count(self):
        self.assertEqual(self.judge(SOURCE.replace("a + 1;", "a /* of many */ +  1;")), [])
        self.assertEqual(self.judge(SOURCE.replace("2;", "3;")), [])

    def test_a_token_counts(self):
        self.assertIn("has changed", self.judge(SOURCE.replace("a + 1", "a - 1"))[0])

    def test_gone(self):
        self.assertIn("not in a.c any more", self.judge(SOURCE.replace("io_one", "io_first"))[0])

    def test_a_model_of_nothing(self):
        self.assertEqual(self.judge(SOURCE, ("one", "two")), ["two.pml stands for no function"])


if __name__ == "__main__":
    unittest.main()
