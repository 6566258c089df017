"""rig/deb: what ends it before anything is built, with one message."""
import os
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Refused(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.deb = os.path.join(TOP, "out", "deb")

    def assert_refused(self, words, *args, **environment):
        before = os.path.exists(self.deb) and sorted(os.listdir(self.deb))
        p = subprocess.run([os.path.join(TOP, "rig", "deb"), *args], capture_output=True, text=True,
                           env={**os.environ, "KERNEL": "ours", "BASE": "7.3", **environment}, check=False)
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertEqual(p.stdout, "")
        self.assertEqual(len(p.stderr.splitlines()), 1, p.stderr)
        self.assertIn(words, p.stderr)
        self.assertEqual(os.path.exists(self.deb) and sorted(os.listdir(self.deb)), before)

    def put(self, text):
        path = os.path.join(self.folder, "some.config")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def test_no_file(self):
        self.assert_refused("no file that can be read", self.folder + "/none.config")
        self.assert_refused("no file that can be read", self.folder)

    def test_no_configuration(self):
        self.assert_refused("has no CONFIG_ lines", self.put("# CONFIG_A is not set\nB=y\n"))

    def test_nothing_of_the_running_kernel(self):
        self.assert_refused("left no configuration", "running", RUNNING=self.folder + "/none")
        self.assert_refused("left no configuration", RUNNING=self.folder + "/none")

    def test_too_little_disk(self):
        for source in ("cloud", self.put("CONFIG_A=y\n")):
            self.assert_refused("takes 1000000 GB of disk", source, NEED="1000000")

    def test_a_kernel_that_is_neither(self):
        self.assert_refused("'ours' and 'stock'", "cloud", KERNEL="mutant")


if __name__ == "__main__":
    unittest.main()
