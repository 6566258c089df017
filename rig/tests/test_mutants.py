"""The table of mutants: how rows are read, found in a source, and applied."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import draw                                             # noqa: E402
import mutants                                          # noqa: E402

SOURCE = """\
#include <linux/a.h>
#define TWICE(x) \\
	do_it((x) + 1, \\
	      (x))

struct thing {
	int first;	/* in the comment: int second; */
	int second;
};

static const struct op op_thing = {
	.needs_file = 1,
};

static const char *const names[LAST + 1] = { [ONE] = "{ one }", };

#ifdef CONFIG_A
static inline int early(struct thing *t, int (*fn)(void))
{
	return a(t);
}
#else
static inline int early(struct thing *t, int (*fn)(void)) { return b(t); }
#endif

SYSCALL_DEFINE2(enter, int, fd, int, nr)
{
	if (fd < 0 || nr >= LAST)
		return -EINVAL;
	if (fd < nr) {
		/* take it: if (fd < 0) */
		take(fd);
	}
	return 0;
}

enum state late(void)
{
	if (max(a, 0) <= 3)
		return 0;
	return 0;
}
"""


class Tree(unittest.TestCase):
    """A tree with two files of ours."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = folder.name
        os.makedirs(self.tree + "/io_uring/op")
        self.write("io_uring/op/one.c", SOURCE)
        self.write("io_uring/op/two.h", "static inline int other(void) { return 7; }\n")

    def write(self, path, text):
        with open(f"{self.tree}/{path}", "w", encoding="utf-8") as f:
            f.write(text)

    def change(self, place, *changes):
        """What a row with these changes makes of one.c."""
        rows = mutants.parse(f"# Why.\nname | io_uring/op/one.c | {place} | kunit a\n" +
                             "".join(f"\t{change}\n" for change in changes))
        return mutants.apply(rows[0], self.tree)["io_uring/op/one.c"]

    def assert_changed(self, was, now, place, *changes):
        self.assertEqual(self.change(place, *changes), SOURCE.replace(was, now))

    def assert_refused(self, words, place, *changes):
        with self.assertRaisesRegex(mutants.MutantError, words):
            self.change(place, *changes)


class Fingerprint(unittest.TestCase):
    def test_changes_with_the_row(self):
        def of(why, test, change):
            return mutants.parse(f"# {why}\nname | io_uring/op/one.c | enter | {test}\n\t{change}\n")[0].fingerprint()
        self.assertEqual(of("Why.", "kunit a", "1 => 2"), of("Why not.", "kunit a", "1 => 2"))
        self.assertNotEqual(of("Why.", "kunit a", "1 => 2"), of("Why.", "kunit a", "1 => 3"))
        self.assertNotEqual(of("Why.", "kunit a", "1 => 2"), of("Why.", "kunit b", "1 => 2"))


class Apply(Tree):
    def test_in_each_kind_of_place(self):
        self.assert_changed("int second;\n};", "long second;\n};", "thing", "int second; => long second;")
        self.assert_changed("= 1,", "= 0,", "op_thing", "1 => 0")
        self.assert_changed('"{ one }"', '"two"', "names", '"{ one }" => "two"')
        self.assert_changed("(x) + 1, \\\n\t      (x)", "2", "TWICE", "(x) + 1, (x) => 2")
        self.assert_changed("take(fd);", "", "enter", "take(fd); =>")
        self.assert_changed("a.h>", "b.h>", "-", "<linux/a.h> => <linux/b.h>")

    def test_white_space_and_comments_do_not_count(self):
        self.assert_changed("fd<0||nr>=LAST".replace("<", " < ").replace("||", " || ").replace(">=", " >= "),
                            "false", "enter", "fd<0||nr>=  LAST => false")
        self.assert_changed("{\n\t\t/* take it: if (fd < 0) */\n\t\ttake(fd);", "{ drop(fd);", "enter",
                            "{ take(fd); => { drop(fd);")

    def test_whole_tokens(self):
        self.assert_refused("is not there", "late", "max(a, 0) < 3 => 1")
        self.assert_refused("is not there", "late", "ax(a, 0) => 1")

    def test_one_name_with_two_bodies(self):
        self.assert_changed("b(t)", "0", "early", "b(t) => 0")
        self.assert_refused("is there 2 times", "early", "return => goto")

    def test_once_in_its_place(self):
        self.assert_refused("is there 2 times", "late", "return 0; => return 1;")
        self.assert_refused("is not there", "late", "take(fd); =>")
        self.assert_refused("does not define other: io_uring/op/two.h", "other", "7 => 8")
        self.assert_refused("does not define none: no file has", "none", "7 => 8")
        self.assert_refused("nothing changes", "late", "3 => /* still */ 3")
        self.assert_refused("overlap", "enter", "take(fd); =>", "fd); } => fd); return 1; }")
        self.assert_refused("changes nothing", "late")

    def test_a_function_may_move(self):
        before, late = SOURCE.split("enum state late")
        self.write("io_uring/op/one.c", "enum state late" + late + before)
        self.assertIn("<= 4", self.change("late", "3 => 4"))

    def test_several_places(self):
        rows = mutants.parse("name | io_uring/op/one.c | late | kunit a; kunit b | debug\n\t3 => 4\n"
                             "\t@ io_uring/op/two.h | other\n\t7 => 8\n"
                             "\t@ io_uring/op/one.c | -\n\t<linux/a.h> => <linux/a.h> #include <linux/b.h>\n")
        out = mutants.apply(rows[0], self.tree)
        self.assertEqual((rows[0].tests, rows[0].config), (["kunit a", "kunit b"], "debug"))
        self.assertEqual(out["io_uring/op/two.h"], "static inline int other(void) { return 8; }\n")
        self.assertEqual(out["io_uring/op/one.c"], SOURCE.replace("<= 3", "<= 4").replace(
            "a.h>", "a.h>\n#include <linux/b.h>"))


class Parse(unittest.TestCase):
    def test_refused(self):
        for text, words in (("a | b | c\n", "name | file"), ("a | b | c | d | slow\n", "name | file"),
                            ("\tx => y\n", "before the first"), ("a | b | c | d\n\tx -> y\n", "pattern =>"),
                            ("a | b | c | d\n\t@ b\n", "@ file")):
            with self.assertRaisesRegex(mutants.MutantError, re_escape(words)):
                mutants.parse(text)

    def test_sentence_belongs_to_the_row_below(self):
        rows = mutants.parse("# Of the file.\n\n# One\n# more.\na | b | c | kunit d | 32\n\tx =>\nb | b | c | kunit d\n")
        self.assertEqual([row.why for row in rows], ["One more.", ""])
        self.assertEqual((rows[0].bits, rows[0].changes), ("32", [("b", "c", "x", "")]))


class Draw(Tree):
    def test_each_candidate_is_a_row(self):
        seen = set()
        for change in draw.candidates("io_uring/op/one.c", SOURCE):
            direct = SOURCE[:change.begin] + change.new + SOURCE[change.end:]
            made = self.change(change.place, f"{change.pattern} => {change.replacement}")
            self.assertEqual([t.text for t in mutants.tokens(made)], [t.text for t in mutants.tokens(direct)])
            seen.add((change.place, SOURCE[change.begin:change.end], change.new))
        self.assertLessEqual({("enter", "||", "&&"), ("enter", ">=", ">"), ("enter", "take(fd)", ""),
                              ("late", "<=", "<"), ("late", "3", "4")}, seen)
        self.assertNotIn("TWICE", {place for place, _, _ in seen})

    def test_tests_are_the_programs_that_run_the_line(self):
        change = next(change for change in draw.candidates("io_uring/op/one.c", SOURCE) if change.new == "&&")
        line = SOURCE[:change.begin].count("\n") + 1
        covered = {"seconds": {"a_test": 5, "b_test": 1, "c_test": 9, "d_test": 30},
                   "lines": {"io_uring/op/one.c": {str(line - 1): ["a_test", "b_test", "c_test", "d_test"],
                                                   str(line + 1): ["e_test"]}}}
        rows = mutants.parse("n | io_uring/op/one.c | late | selftests c_test -r global.x\n\t3 => 4\n"
                             "m | io_uring/op/one.c | enter | selftests d_test; kunit s\n\tnr => 4\n"
                             "o | io_uring/op/two.h | enter | selftests a_test\n\tnr => 4\n")
        self.assertEqual(draw.tests_for(change, rows, covered, SOURCE),
                         [f"selftests {name}_test" for name in "dcba"] + ["kunit *"])
        # io_uring/op/ has suites
        self.assertEqual(draw.tests_for(change, rows, {"seconds": {}, "lines": {}}, SOURCE), ["kunit *"])


def re_escape(words):
    return words.replace("|", r"\|")


if __name__ == "__main__":
    unittest.main()
