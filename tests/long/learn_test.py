"""Slow: the adding problem at 200 steps is learned, as an LSTM can and a network without memory cannot.

  python3 learn_test.py build/plimsoll build [unittest arguments]

Always answering 1 gives a mean squared error of 0.167; below 0.01 counts as solved.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PLIMSOLL = ""  # set by the main program
SOLVED = 0.01
UNTRAINED_AT_LEAST = 0.1

JOB = """
task = "regress"
[data]
train = "generate:adding?steps=200&samples=20000"
valid = 0.05
[[model.layers]]
type = "LSTM"
units = 64
[[model.layers]]
type = "Dense"
units = 1
[train]
batch_size = 50
epochs = {epochs}
optimizer = "adam"
learning_rate = 2e-3
clip_norm = 1.0
seed = 1
"""


class Learning(unittest.TestCase):
    def test_the_adding_problem_at_200_steps_is_solved(self):
        with tempfile.TemporaryDirectory(prefix="plimsoll_learn_") as folder:
            job = os.path.join(folder, "adding.toml")
            with open(job, "w") as file:
                file.write(JOB.format(epochs=15))
            done = subprocess.run([PLIMSOLL, "train", job, "--json", "--out", os.path.join(folder, "run")],
                                  capture_output=True, text=True, timeout=1800)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            result = json.loads(done.stdout)
            self.assertGreater(result["first"]["loss"], UNTRAINED_AT_LEAST, "solved before training: the test would show nothing")
            self.assertLess(result["last"]["loss"], SOLVED, done.stderr[-2000:])


def main():
    global PLIMSOLL
    arguments = sys.argv[1:]
    if len(arguments) < 2 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    PLIMSOLL = os.path.abspath(arguments[0])
    unittest.main(argv=[sys.argv[0], *arguments[2:]])


if __name__ == "__main__":
    main()
