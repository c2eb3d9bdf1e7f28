"""Runs in a kernel memory group whose limit is the budget: none is killed, not even with an input of ten times the budget.

  python3 capsule_test.py build/plimsoll build [unittest arguments]

Needs the rights to make memory groups (cgroup v2 or v1); where they lack, tests are skipped as degraded. Two controls show
that the proof can fail. Files lie in the build folder: what lies on a disk can leave the page cache, and is then charged to
the group that reads it.
"""
import array
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from budget_test import random_job

PLIMSOLL = CAPSULE = BUILD = ""  # set by the main program
MB = 1_000_000
PAGE = 4096
JOBS = int(os.environ.get("PLIMSOLL_CAPSULE_JOBS", "5"))

# Holds as many bytes as it is told, every page touched, for long enough to be seen.
HOLD = "import sys, time; held = bytearray(b'x') * int(sys.argv[1]); time.sleep(0.1)"

# Two thirds of its smallest budget are buffers, which the kernel cannot take back as it can the program's pages.
MOSTLY_BUFFERS_JOB = """
task = "regress"
[data]
train = "generate:adding?steps=16&samples=16&min_steps=2"
[[model.layers]]
type = "LSTM"
units = 512
[[model.layers]]
type = "Dense"
[train]
batch_size = 8
max_steps = 2
threads = 2
"""

SAMPLES, STEPS, FEATURES = 2000, 100, 200
LARGE_INPUT_JOB = """
task = "regress"
[data]
train = "x.npy"
targets = "y.npy"
[[model.layers]]
type = "LSTM"
units = 8
[[model.layers]]
type = "Dense"
[train]
batch_size = 8
threads = 2
"""


def write_npy(path, shape, rows):
    """A float32 array; `rows` gives its bytes piece by piece. It ends on the disk and outside of the page cache."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())
        for row in rows:
            file.write(row)
    leave_cache(path)


def leave_cache(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def groups_left():
    """Folders of capsules, wherever groups are mounted. A test looks for its own capsule's process number."""
    return [name for _, folders, _ in os.walk("/sys/fs/cgroup") for name in folders if name.startswith("plimsoll-capsule-")]


class Capsule(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="capsule_", dir=BUILD)
        self.addCleanup(self.holder.cleanup)
        self.folder = self.holder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, limit, command, *options):
        return subprocess.Popen([CAPSULE, "--limit", str(limit), "--report", self.path("report.json"), *options, "--", *command],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, capsule):
        """The report of a capsule, with its exit code, what the program wrote, and that its group is gone."""
        stdout, stderr = capsule.communicate(timeout=120)
        with open(self.path("report.json")) as file:
            lines = file.readlines()
        self.assertEqual(len(lines), 1, stderr)
        self.assertNotIn(f"plimsoll-capsule-{capsule.pid}", groups_left())
        return dict(json.loads(lines[0]), code=capsule.returncode, output=stdout + stderr)

    def run_in(self, limit, command, *options):
        return self.finish(self.start(limit, command, *options))

    def need_group(self):
        if self.run_in(64 * MB, ["true"])["degraded"]:
            self.skipTest("degraded: no memory group can be made here")


class SelfTest(Capsule):
    def test_what_fits_passes(self):
        self.need_group()
        report = self.run_in(64 * MB, [sys.executable, "-c", HOLD, str(40 * MB)])
        self.assertEqual((report["exit"], report["signal"], report["kills"], report["code"]), (0, None, 0, 0), report)
        self.assertFalse(report["timed_out"])
        self.assertGreater(report["peak_bytes"], 40 * MB)
        self.assertLess(report["peak_bytes"], 64 * MB)
        self.assertGreater(report["group_peak_bytes"], 40 * MB)
        self.assertGreater(report["faults"], 40 * MB // PAGE // 2)

    def test_what_does_not_fit_is_killed_and_reported(self):
        self.need_group()
        report = self.run_in(64 * MB, [sys.executable, "-c", HOLD, str(100 * MB)])
        self.assertEqual((report["exit"], report["signal"], report["kills"], report["code"]),
                         (None, signal.SIGKILL, 1, 128 + signal.SIGKILL), report)
        self.assertFalse(report["timed_out"])

    def test_the_peak_is_the_programs_own_not_its_parents(self):
        held = bytearray(b"x") * (100 * MB)
        report = self.run_in(64 * MB, ["sleep", "0.1"])
        self.assertEqual(report["exit"], 0, report)
        self.assertLess(report["peak_bytes"], 16 * MB, f"{len(held)} bytes are held here")

    def test_a_timeout_ends_the_program_and_what_it_started(self):
        for options in ((), ("--group", "none")):
            with self.subTest(options=options):
                began = time.monotonic()
                report = self.run_in(64 * MB, ["sh", "-c", "sleep 20 & sleep 20"], "--timeout", "0.3", *options)
                self.assertLess(time.monotonic() - began, 10)  # a sleep that lived on would hold our pipe
                self.assertEqual((report["timed_out"], report["signal"], report["code"]), (True, signal.SIGKILL, 137), report)

    def test_what_the_program_leaves_running_ends_with_its_group(self):
        self.need_group()
        report = self.run_in(64 * MB, ["sh", "-c", "setsid sleep 60 & sleep 0.1"])
        self.assertEqual(report["code"], 0, report)

    def test_a_stopped_capsule_leaves_nothing_behind(self):
        capsule = self.start(64 * MB, ["sh", "-c", "echo runs; exec sleep 60"])
        self.assertEqual(capsule.stdout.readline(), "runs\n")
        capsule.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(capsule)["code"], 128 + signal.SIGTERM)

    def test_without_a_group_it_says_degraded(self):
        report = self.run_in(64 * MB, ["sleep", "0.1"], "--group", "none")
        self.assertEqual((report["group"], report["degraded"], report["kills"], report["group_peak_bytes"]),
                         ("none", True, None, None), report)
        # RLIMIT_DATA still refuses what is too much.
        report = self.run_in(64 * MB, [sys.executable, "-c", HOLD, str(100 * MB)], "--group", "none")
        self.assertEqual((report["exit"], report["degraded"]), (1, True), report)
        self.assertIn("MemoryError", report["output"])

    def test_failures_of_its_own_have_their_own_codes(self):
        for arguments, code in ((["--limit", str(64 * MB), "--", "/does/not/exist"], 125), (["--limit", "much", "--", "true"], 2),
                                (["--", "true"], 2), (["--limit", "1000000", "true"], 2)):
            done = subprocess.run([CAPSULE, *arguments], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, code, f"{arguments} {done.stderr}")
            self.assertTrue(done.stderr.startswith("capsule: "))


class Training(Capsule):
    def setUp(self):
        super().setUp()
        self.need_group()
        self.runs = 0

    def smallest_budget(self, job):
        """In whole pages, because the kernel rounds a group's limit down to these."""
        with open(self.path("job.toml"), "w") as file:
            file.write(job)
        done = subprocess.run([PLIMSOLL, "plan", self.path("job.toml"), "--json", "--memory", "1GB"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, job + done.stderr)
        return math.ceil(json.loads(done.stdout)["min_bytes"] / PAGE) * PAGE

    def train_command(self, budget):
        """With copies of the program and its libraries that are in no page cache, so that the group is charged for their pages.
        Pages of the usual files are charged to whoever touched them first."""
        self.runs += 1
        listed = subprocess.run(["ldd", PLIMSOLL], capture_output=True, text=True, check=True).stdout
        for file in (PLIMSOLL, *(word for word in listed.split() if word.startswith("/"))):
            copy = self.path(os.path.basename(file))
            shutil.copy(file, copy)
            leave_cache(copy)
        return ["env", f"LD_LIBRARY_PATH={self.folder}", self.path(os.path.basename(PLIMSOLL)), "train",
                self.path("job.toml"), "--json", "--quiet",
                "--memory", str(budget), "--out", self.path(f"run{self.runs}")]

    def check(self, report, budget, job):
        """What a run at limit = budget has to show."""
        self.assertEqual((report["exit"], report["kills"], report["degraded"]), (0, 0, False), f"limit {budget}\n{job}{report}")
        self.assertLessEqual(report["peak_bytes"], budget, job)

    def show(self, what, budget, report):
        print(f"{what}: budget {budget}, peak {report['peak_bytes']}, group's peak {report['group_peak_bytes']}, "
              f"kills {report['kills']}", flush=True)

    def test_jobs_run_in_a_group_of_their_smallest_budget(self):
        rng = random.Random(5)
        for number, job in enumerate([MOSTLY_BUFFERS_JOB, *(random_job(rng) for _ in range(JOBS))]):
            budget = self.smallest_budget(job)
            report = self.run_in(budget, self.train_command(budget), "--timeout", "60")
            self.show(f"job {number}", budget, report)
            self.check(report, budget, job)

    def test_an_input_of_ten_times_the_budget(self):
        rng = random.Random(6)
        write_npy(self.path("y.npy"), (SAMPLES,), [array.array("f", (rng.random() for _ in range(SAMPLES))).tobytes()])
        noise = array.array("f", (rng.gauss(0, 1) for _ in range(STEPS * FEATURES))).tobytes()
        write_npy(self.path("x.npy"), (SAMPLES, STEPS, FEATURES), (noise for _ in range(SAMPLES)))
        budget = self.smallest_budget(LARGE_INPUT_JOB)
        self.assertGreaterEqual(os.path.getsize(self.path("x.npy")), 10 * budget)
        leave_cache(self.path("x.npy"))  # planning has read it
        report = self.run_in(budget, self.train_command(budget), "--timeout", "60")
        self.show("input of ten times the budget", budget, report)
        self.check(report, budget, LARGE_INPUT_JOB)
        self.assertEqual(json.loads(report["output"])["updates"], math.ceil(SAMPLES / 8))
        self.assertGreater(report["group_peak_bytes"], 0.95 * budget,
                           "the input did not pass through the group: the test shows nothing")

    def test_control_half_the_limit_fails_the_same_check(self):
        job = MOSTLY_BUFFERS_JOB
        budget = self.smallest_budget(job)
        report = self.run_in(budget // 2, self.train_command(budget), "--timeout", "60")
        self.assertEqual((report["exit"], report["kills"]), (4, 0), "it sees the limit and refuses")
        with self.assertRaises(AssertionError):
            self.check(report, budget, job)
        # The same where the program cannot see the limit: in a mount namespace in which groups are hidden.
        blind = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]
        if subprocess.run([*blind, "true"], capture_output=True).returncode != 0:
            self.skipTest("degraded: the limit cannot be hidden from the program")
        report = self.run_in(budget // 2, [*blind, *self.train_command(budget)], "--timeout", "60")
        self.show("half the limit, unseen", budget, report)
        self.assertEqual((report["signal"], report["kills"]), (signal.SIGKILL, 1), report)
        with self.assertRaises(AssertionError):
            self.check(report, budget, job)
        report = self.run_in(budget, [*blind, *self.train_command(budget)], "--timeout", "60")
        self.check(report, budget, job)


def main():
    global PLIMSOLL, CAPSULE, BUILD
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    PLIMSOLL, BUILD = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    CAPSULE = os.path.join(BUILD, "capsule")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])


if __name__ == "__main__":
    main()
