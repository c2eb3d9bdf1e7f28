"""What the tests of saving share: a short run that saves often, and its model, for runs that something happens to."""
import filecmp
import os
import subprocess
import sys
import tempfile
import unittest

if len(sys.argv) < 3:
    sys.exit(f"usage: {sys.argv[0]} build/plimsoll build [unittest arguments]")
PLIMSOLL, BUILD = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]

SEED = int(os.environ.get("PLIMSOLL_SEED", "8"))
UPDATES = 9
JOB = """task = "regress"
[data]
train = "generate:adding?steps=12&samples=60&min_steps=2"
valid = 0.2
[[model.layers]]
type = "LSTM"
units = 4
dropout = 0.2
[[model.layers]]
type = "Dense"
[train]
batch_size = 16
epochs = 3
use_ema = true
patience = 50
save_every = 2
threads = 1
[memory]
budget = "64MB"
"""


class SavingCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="plimsoll_saving_")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = holder.name
        cls.job = os.path.join(cls.folder, "job.toml")
        with open(cls.job, "w") as file:
            file.write(JOB)
        cls.straight = os.path.join(cls.folder, "straight")  # the run that nothing happens to

    @classmethod
    def train(cls, *words, before=(), **more):
        """Trains, by a program `before` if there is one."""
        return subprocess.run([*before, *cls.command(*words)], capture_output=True, text=True, timeout=120, **more)

    @classmethod
    def command(cls, *words):
        return [PLIMSOLL, "train", cls.job, *words, "--log-format", "line", "--no-report"]

    def same_model(self, run, why):
        names = [os.path.join(folder, "model", "model.safetensors") for folder in (run, self.straight)]
        self.assertTrue(filecmp.cmp(*names, shallow=False), why)
