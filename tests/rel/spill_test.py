"""State for recompute in a file: a smaller minimum, the same weights, nothing left behind, and a full disk is told.

  python3 spill_test.py build/plimsoll build [unittest arguments]
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

PLIMSOLL = BUILD = ""  # set by the main program
JOB = """task = "regress"
[data]
train = "generate:adding?steps=3000&samples=40&min_steps=100"
[[model.layers]]
type = "LSTM"
units = 64
[[model.layers]]
type = "Dense"
[train]
batch_size = 20
epochs = 3
"""


class Spill(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="spill_test_", dir=BUILD)  # /tmp may lie in memory
        self.job = os.path.join(self.holder.name, "job.toml")
        with open(self.job, "w") as file:
            file.write(JOB)
        self.disk = os.path.join(self.holder.name, "disk")
        os.mkdir(self.disk)

    def tearDown(self):
        self.holder.cleanup()

    def call(self, *words, code=0, **options):
        done = subprocess.run([PLIMSOLL, *words, "--json"], capture_output=True, text=True, timeout=300, **options)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def train(self, name, budget, *words):
        out = os.path.join(self.holder.name, name)
        result = self.call("train", self.job, "--memory", str(budget), "--out", out, "--quiet", *words)
        self.assertLessEqual(result["peak_bytes"], budget)
        with open(os.path.join(out, "model", "model.safetensors"), "rb") as file:
            return file.read()

    def test_it_lowers_the_minimum_and_changes_no_bit(self):
        without = self.call("plan", self.job, "--memory", "1GB")
        with_it = self.call("plan", self.job, "--memory", "1GB", "--spill", self.disk)
        self.assertLess(with_it["own_groups_bytes"], without["own_groups_bytes"])
        budget = with_it["own_groups_bytes"]
        self.assertTrue(self.call("plan", self.job, "--memory", str(budget), "--spill", self.disk)["stages"][0]["spilled"])
        self.assertEqual(self.train("spilled", budget, "--spill", self.disk), self.train("kept", without["full_speed_bytes"]))
        self.assertEqual(os.listdir(self.disk), [], "the file has no name")

    def test_memory_that_poses_as_a_disk_is_refused(self):
        if not os.path.isdir("/dev/shm"):
            self.skipTest("no tmpfs here")
        error = self.call("train", self.job, "--spill", "/dev/shm", code=2)["error"]
        self.assertIn("tmpfs", error["message"])

    def test_a_folder_that_is_not_there(self):
        self.call("train", self.job, "--spill", os.path.join(self.disk, "none"), "--quiet", code=7)

    def spilled_budget(self):
        return str(self.call("plan", self.job, "--memory", "1GB", "--spill", self.disk)["own_groups_bytes"])

    def test_a_file_size_limit_ends_it_before_the_first_step(self):
        budget = self.spilled_budget()
        out = os.path.join(self.holder.name, "limited")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        error = self.call("train", self.job, "--memory", budget, "--spill", self.disk, "--out", out, "--quiet", code=7, preexec_fn=limit)["error"]
        self.assertIn("spill", error["message"])
        self.assertFalse(os.path.exists(out), "nothing half-made stays behind")

    def test_a_full_disk_ends_it_with_its_own_code(self):
        image, place = os.path.join(self.holder.name, "image"), os.path.join(self.holder.name, "small")
        os.mkdir(place)
        if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
            self.skipTest("degraded: a small file system cannot be made here")
        subprocess.run(["truncate", "-s", "1M", image], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        if subprocess.run(["mount", "-o", "loop", image, place], capture_output=True).returncode != 0:
            self.skipTest("degraded: a small file system cannot be mounted here")
        try:
            error = self.call("train", self.job, "--memory", self.spilled_budget(), "--spill", place, "--out", os.path.join(self.holder.name, "full"), "--quiet", code=7)["error"]
            self.assertIn("no space left", error["message"])
        finally:
            subprocess.run(["umount", place], check=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    PLIMSOLL, BUILD = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    unittest.main()
