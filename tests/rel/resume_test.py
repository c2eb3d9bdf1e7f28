"""A run that is ended by a signal and goes on elsewhere ends with the weights of one that was never ended, to the byte.

  python3 resume_test.py build/plimsoll build [unittest arguments]

PLIMSOLL_RESUMES is the number of random runs (default 7).
"""
import filecmp
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

PLIMSOLL = ""  # set by the main program
RESUMES = int(os.environ.get("PLIMSOLL_RESUMES", "7"))
signal.signal(signal.SIGINT, signal.default_int_handler)  # one that is ignored, as behind a shell's &, would be in the runs too

PLAIN = """task = "regress"
[data]
train = "generate:adding?steps=40&samples=300&min_steps=5"
valid = 0.1
[[model.layers]]
type = "LSTM"
units = 12
dropout = 0.2
recurrent_dropout = 0.1
[[model.layers]]
type = "Dropout"
rate = 0.2
[[model.layers]]
type = "GRU"
units = 9
[[model.layers]]
type = "Dense"
[train]
batch_size = 32
epochs = 5
"""
STATEFUL = """task = "regress"
[data]
train = "pieces.npz"
[[model.layers]]
type = "LSTM"
units = 10
stateful = true
[[model.layers]]
type = "Dense"
[train]
batch_size = 16
epochs = 6
shuffle = false
"""
# What comes behind [train]: everything that a run carries from update to update.
MANNERS = {
    "adam": "",
    "ema": "use_ema = true\nema_momentum = 0.9\n",
    "plateau": 'lr_schedule = "plateau"\nplateau_patience = 1\nplateau_factor = 0.5\nlearning_rate = 0.05\n',
    "exponential": 'lr_schedule = "exponential"\nlr_decay_steps = 10\nwarmup_steps = 5\nclip_norm = 1.0\n',
    "momentum": 'optimizer = "sgd"\nmomentum = 0.9\nnesterov = true\n',
    "rmsprop": 'optimizer = "rmsprop"\n',
    "patience": "patience = 2\nlearning_rate = 0.1\nuse_ema = true\n",
}


class Resume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="plimsoll_resume_")
        cls.folder = cls.holder.name
        rng = np.random.default_rng(5)
        np.savez(os.path.join(cls.folder, "pieces.npz"), x=rng.normal(0, 1, (128, 20, 3)).astype(np.float32),
                 y=rng.normal(0, 1, (128, 20, 1)).astype(np.float32))
        cls.straight = {}
        cls.runs = 0

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *words, code=0, cwd=None):
        done = subprocess.run([PLIMSOLL, *words, "--json", "--quiet"], capture_output=True, text=True, timeout=300, cwd=cwd or self.folder)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def job(self, name, text):
        job = self.path(name + ".toml")
        with open(job, "w") as file:
            file.write(text)
        return job

    def straight_run(self, name, text):
        """The job, and the folder and result of a run of it that nothing has ended."""
        if name not in self.straight:
            job = self.job(name, text)
            self.straight[name] = (job, self.path("straight_" + name), self.call("train", job, "--out", self.path("straight_" + name)))
        return self.straight[name]

    def same_model(self, a, b, why):
        self.assertTrue(filecmp.cmp(os.path.join(a, "model", "model.safetensors"), os.path.join(b, "model", "model.safetensors"), shallow=False), why)

    def test_random_runs_that_are_ended_and_go_on(self):
        rng = random.Random(int(os.environ.get("PLIMSOLL_SEED", "8")))
        for number in range(RESUMES):
            base = rng.choice(["plain", "plain", "stateful"])
            manner = list(MANNERS)[number % len(MANNERS)]
            job, straight, unbroken = self.straight_run(base + "_" + manner, (PLAIN if base == "plain" else STATEFUL) + MANNERS[manner])
            run = self.path(f"run{number}")
            at = sorted(rng.sample(range(1, unbroken["updates"]), 2))
            why = f"run {number}: {base} {manner}, ended after updates {at}"
            with self.subTest(why):
                # The first part ends by a save that is the last thing it did: max_steps at a random update, in the middle of an epoch.
                self.call("train", job, "--out", run, "--max-steps", str(at[0]), "--threads", str(rng.choice([1, 1, 2, 3])), "--memory", "200MB")
                second = rng.choice([run, run + "_moved"])
                words = ["--out", second] if second != run else []
                self.call("train", job, "--resume", run, *words, "--allow-changes", "--max-steps", str(at[1]),
                          "--threads", str(rng.choice([1, 1, 2, 3])), "--memory", rng.choice(["16MB", "64MB"]))
                if second != run:
                    shutil.rmtree(run)
                os.rename(second, run + "_elsewhere")
                result = self.call("train", job, "--resume", run + "_elsewhere", "--allow-changes", "--threads", str(rng.choice([1, 1, 2, 3])),
                                   cwd=tempfile.gettempdir())
                self.assertEqual(result["resumed_at"], at[1])
                for score in ["first", "last"]:
                    self.assertEqual(result[score], unbroken[score], why)
                self.same_model(run + "_elsewhere", straight, why)

    def running(self, *words):
        return subprocess.Popen([PLIMSOLL, "train", *words, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)

    def wait_for_snapshot(self, process, run):
        until = time.monotonic() + 60
        while not os.path.exists(os.path.join(run, "snapshots", "last")):
            self.assertIsNone(process.poll(), "it was over before it had saved")
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)

    def test_a_signal_saves_and_says_so_with_its_exit_code(self):
        text = PLAIN.replace("epochs = 5", "epochs = 30")
        job, straight, _ = self.straight_run("long", text)
        for number, (sent, code) in enumerate([(signal.SIGINT, 130), (signal.SIGTERM, 143)]):
            run = self.path(f"signal{number}")
            process = self.running(job, "--out", run, "--save-every", "3")
            try:
                self.wait_for_snapshot(process, run)
                process.send_signal(sent)
                _, told = process.communicate(timeout=60)
            finally:
                process.kill()
                process.wait()
            self.assertEqual(process.returncode, code, told)
            self.assertIn("saved in", told)
            self.assertIn("--resume " + run, told)
            self.assertFalse(os.path.exists(os.path.join(run, "model")))
            self.call("train", "--resume", run)
            self.same_model(run, straight, f"signal {sent}")

    def test_the_second_signal_leaves_at_once(self):
        # A step of this job takes a good part of a second, and every one is saved.
        text = PLAIN.replace("steps=40&samples=300&min_steps=5", "steps=30000&samples=4&min_steps=30000").replace("valid = 0.1\n", "")
        job = self.job("slow", text.replace("batch_size = 32", "batch_size = 1").replace("units = 12", "units = 96"))
        run = self.path("slow_run")
        process = self.running(job, "--out", run, "--memory", "1GB", "--threads", "1", "--save-every", "1")
        try:
            self.wait_for_snapshot(process, run)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.02)
            self.assertIsNone(process.poll(), "the first signal waits for the step")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, 143)
        self.assertEqual(os.readlink(os.path.join(run, "snapshots", "last")), "000001.plimsoll", "it went on to save")

    def test_max_time_ends_with_a_model_and_exit_code_0(self):
        job, straight, unbroken = self.straight_run("long", PLAIN.replace("epochs = 5", "epochs = 30"))
        run = self.path("timed")
        first = self.call("train", job, "--out", run, "--max-time", "0.05s")
        self.assertEqual(first["ended"], "max_time")
        self.assertLess(first["updates"], unbroken["updates"])
        rest = self.call("train", job, "--resume", "last", "--out", run)
        self.assertEqual(rest["updates"], unbroken["updates"])
        self.same_model(run, straight, "max-time")

    def test_two_processes_do_not_train_in_one_folder(self):
        job = self.job("locked", PLAIN.replace("epochs = 5", "epochs = 100000"))
        run = self.path("locked_run")
        process = self.running(job, "--out", run, "--save-every", "3")
        try:
            self.wait_for_snapshot(process, run)
            error = self.call("train", job, "--resume", run, code=2)["error"]
            self.assertIn("another process trains", error["message"])
        finally:
            process.kill()
            process.communicate()

    def test_what_cannot_go_on_is_refused(self):
        job, straight, _ = self.straight_run("plain_adam", PLAIN)
        empty = self.path("empty")
        os.makedirs(empty, exist_ok=True)
        error = self.call("train", job, "--resume", empty, code=3)["error"]
        self.assertIn("no snapshot", error["message"])
        for nothing in [empty, self.path("nowhere")]:  # without a job file of its own the folder must have one
            error = self.call("train", "--resume", nothing, code=3)["error"]
            self.assertIn(nothing + ": there is no run", error["message"])
        self.call("train", job, "--resume", "last", "--out", self.path("nowhere"), code=3)
        self.call("train", job, "--resume", self.path("nowhere"), code=3)
        self.call("train", "--resume", "last", code=2)
        self.call("train", job, "--allow-changes", code=2)
        self.call("train", job, "--max-time", "soon", code=2)
        self.call("train", job, "--save-every", "often", code=2)
        self.call("train", job, "--keep", "1", code=2)
        error = self.call("train", job, "--resume", straight, "--epochs", "9", code=2)["error"]
        self.assertIn("train.epochs was 5, is 9", error["message"])
        self.assertIn("--allow-changes", error["hint"])
        error = self.call("train", job, "--resume", straight, "--batch-size", "8", "--allow-changes", code=2)["error"]
        self.assertIn("train.batch_size was 32, is 8", error["message"])
        error = self.call("train", job, "--resume", straight, "--out", empty, code=2)["error"]
        self.assertIn("exists already", error["message"])
        other = self.job("other", PLAIN + "seed = 5\n")
        error = self.call("train", other, "--resume", straight, code=2)["error"]
        self.assertIn("train.seed was 1, is 5", error["message"])
        self.assertEqual(os.listdir(empty), [])

    def test_one_snapshot_alone_is_enough(self):
        job, straight, unbroken = self.straight_run("plain_adam", PLAIN)
        run, alone = self.path("whole"), self.path("alone.plimsoll")
        self.call("train", job, "--out", run, "--max-steps", str(unbroken["updates"] // 2))
        shutil.copy(os.path.realpath(os.path.join(run, "snapshots", "last")), alone)
        shutil.rmtree(run)
        self.call("train", job, "--resume", alone, "--out", self.path("from_alone"), "--allow-changes")
        self.same_model(self.path("from_alone"), straight, "a snapshot alone")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PLIMSOLL = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
        sys.argv.pop(1)
    unittest.main()
