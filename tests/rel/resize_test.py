"""A running job takes new budgets between two updates: less memory at once, the same weights at the end.

  python3 resize_test.py build/plimsoll build [unittest arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

PLIMSOLL = ""  # set by the main program
UPDATES = 400
JOB = f"""task = "regress"
[data]
train = "generate:adding?steps=200&samples=640&min_steps=20"
[[model.layers]]
type = "LSTM"
units = 64
[[model.layers]]
type = "Dropout"
rate = 0.1
[[model.layers]]
type = "LSTM"
units = 32
[[model.layers]]
type = "Dense"
[train]
batch_size = 32
epochs = 100000
max_steps = {UPDATES}
"""


class Resize(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="plimsoll_resize_")
        self.job = os.path.join(self.holder.name, "job.toml")
        with open(self.job, "w") as file:
            file.write(JOB)

    def tearDown(self):
        self.holder.cleanup()

    def call(self, *words, code=0):
        done = subprocess.run([PLIMSOLL, *words, "--json"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def run_folder(self, name):
        return os.path.join(self.holder.name, name)

    def resident(self, process):
        with open(f"/proc/{process.pid}/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))

    def weights(self, name):
        with open(os.path.join(self.run_folder(name), "model", "model.safetensors"), "rb") as file:
            return file.read()

    def test_less_then_too_little_then_more(self):
        plan = self.call("plan", self.job, "--memory", "1GB")
        full, smallest = plan["full_speed_bytes"], plan["own_groups_bytes"]
        self.assertGreater(full - smallest, 4_000_000, "too small a job to see anything")
        self.call("train", self.job, "--memory", str(full), "--out", self.run_folder("straight"), "--quiet")

        changed = self.run_folder("changed")
        running = subprocess.Popen([PLIMSOLL, "train", self.job, "--memory", str(full), "--out", changed, "--json", "--quiet"], stdout=subprocess.PIPE, text=True)
        try:
            while not os.path.exists(os.path.join(changed, "lock")):
                self.assertIsNone(running.poll())
                time.sleep(0.01)
            less = self.call("resize", changed, "--memory", str(smallest))
            self.assertTrue(less["taken"])
            self.assertLess(less["update"], UPDATES)
            self.assertLessEqual(less["peak_bytes"], smallest)
            self.assertLessEqual(self.resident(running), smallest, "the freed part goes back to the system")
            refused = self.call("resize", changed, "--memory", str(smallest - 1_000_000), code=4)
            self.assertLessEqual(abs(refused["error"]["min_bytes"] - smallest), 32 * 1024)  # a run's base wavers by some pages
            with open(os.path.join(changed, "plan.json")) as file:
                self.assertEqual(json.load(file)["budget_bytes"], smallest, "a refusal changes nothing")
            more = self.call("resize", changed, "--memory", str(full))
            self.assertGreater(more["peak_bytes"], less["peak_bytes"])
            self.assertGreater(more["update"], less["update"])
            self.assertIsNone(running.poll(), "the job was over before it was asked")
            out, _ = running.communicate(timeout=300)
        finally:
            running.kill()
            running.wait()
        self.assertEqual(running.returncode, 0)
        self.assertLessEqual(json.loads(out)["peak_bytes"], full)
        self.assertEqual(self.weights("changed"), self.weights("straight"))
        self.assertEqual([name for name in os.listdir(changed) if name.endswith("request")], [])

    def test_state_that_goes_on_goes_on(self):
        with open(self.job, "w") as file:
            text = JOB.replace("steps=200&samples=640&min_steps=20", "steps=80&samples=640").replace("units = 64", "units = 64\nstateful = true")
            file.write(text.replace(f"max_steps = {UPDATES}", "max_steps = 110") + "shuffle = false\n")
        plan = self.call("plan", self.job, "--memory", "1GB")
        full, smallest = plan["full_speed_bytes"], plan["own_groups_bytes"]
        self.call("train", self.job, "--memory", str(full), "--out", self.run_folder("straight"), "--quiet")
        folder = self.run_folder("changed")
        running = subprocess.Popen([PLIMSOLL, "train", self.job, "--memory", str(full), "--out", folder, "--json", "--quiet"], stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(os.path.join(folder, "lock")):
                self.assertIsNone(running.poll())
                time.sleep(0.01)
            taken = []
            for amount in (smallest, full):
                taken.append(self.call("resize", folder, "--memory", str(amount))["update"])
            self.assertTrue(any(update % 20 != 0 for update in taken), "only between epochs, where State begins anew")
            running.wait(timeout=300)
        finally:
            running.kill()
            running.wait()
        self.assertEqual(running.returncode, 0)
        self.assertEqual(self.weights("changed"), self.weights("straight"))

    def test_where_the_peak_cannot_be_counted_anew(self):
        """The system's peak is then that of the larger budget before, which must not end the run."""
        plan = self.call("plan", self.job, "--memory", "1GB")
        full, smallest = plan["full_speed_bytes"], plan["own_groups_bytes"]
        folder = self.run_folder("forbidden")
        words = [PLIMSOLL, "train", self.job, "--memory", str(full), "--out", folder, "--json", "--quiet"]
        forbid = ["strace", "-f", "-qq", "-o", os.devnull, "-P", "/proc/self/clear_refs", "-e", "trace=openat", "-e", "inject=openat:error=EACCES"]
        running = subprocess.Popen(forbid + words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            while not os.path.exists(os.path.join(folder, "lock")):
                self.assertIsNone(running.poll())
                time.sleep(0.01)
            less = self.call("resize", folder, "--memory", str(smallest))
            self.assertTrue(less["taken"])
            self.assertLess(less["update"], UPDATES)
            out, _ = running.communicate(timeout=300)
        finally:
            running.kill()
            running.wait()
        self.assertEqual(running.returncode, 0, out)
        self.assertGreater(json.loads(out)["peak_bytes"], smallest, "the peak was counted anew all the same: nothing was shown")

    def test_nobody_runs_there(self):
        error = self.call("resize", self.holder.name, "--memory", "64MB", code=2)["error"]
        self.assertIn("no job is running", error["message"])

    def test_an_amount_that_is_none(self):
        self.call("resize", self.holder.name, "--memory", "much", code=2)
        self.call("resize", self.holder.name, code=2)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PLIMSOLL = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
        sys.argv.pop(1)
    unittest.main()
