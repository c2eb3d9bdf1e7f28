"""Slow: tasks that need a memory of hundreds of steps are learned by LSTM and GRU; a model that remembers nothing cannot.

  python3 learn_test.py build/plimsoll build [unittest arguments]

A task is solved where the validation loss is below a bound that lies far below what the best answer without memory gives:

  adding   400 steps (and 200, by an LSTM from a usual start); always answering 1 gives a mean squared error of 1/6
  parity   100 steps, of the ones so far; either answer is as likely: a cross entropy of ln 2
  copy     10 symbols out of 8, 200 steps later; blanks are known and symbols are not: 10 ln 8 / 220.
           In three stages, with 10, 60 and 200 steps between

PLIMSOLL_LEARN_SEED draws other first weights and data.
"""
import array
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import typing
import unittest

PLIMSOLL = ""  # set by the main program
SEED = int(os.environ.get("PLIMSOLL_LEARN_SEED", "1"))

ADDING = {"task": "regress", "data": "adding?steps={steps}&samples=20000", "chance": 1 / 6, "solved": 0.01}
PARITY = {"task": "classify", "data": "parity?steps={steps}&samples=20000", "ids": 2, "chance": math.log(2), "solved": 0.02}
COPY = {"task": "classify", "data": "copy?delay={steps}&samples=40000", "ids": 10, "chance": 10 * math.log(8) / 220, "solved": 0.03}

# An id is fed as it is: row id of the identity.
EMBEDDING = """
[[model.layers]]
type = "Embedding"
output_dim = {ids}
embeddings_initializer = "identity"
"""
JOB = """
task = "{task}"
init_from = "{start}"
[data]
train = "generate:{data}"
valid = 0.01
{embedding}
[[model.layers]]
type = "{cell}"
units = {units}
[[model.layers]]
type = "Dense"
[train]
batch_size = {batch_size}
epochs = 1000
max_steps = {updates}
learning_rate = {learning_rate}
lr_schedule = "{lr_schedule}"
clip_norm = 1.0
seed = {seed}
truncate = {truncate}
"""


# The adding problem at 200 steps, with nothing set that is not usual.
USUAL = """
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
epochs = 15
optimizer = "adam"
learning_rate = 2e-3
clip_norm = 1.0
seed = 1
"""


class Stage(typing.NamedTuple):
    steps: int
    updates: int
    learning_rate: float
    lr_schedule: str = "constant"


def keep_for_long(folder, cell, units, steps, shut):
    """Gates that begin by keeping State for up to so many steps (Tallec and Ollivier 2018): the biases of f, or of z, are those of a
    logistic function that stays open for a time drawn from [1, steps). shut: the input gate of an LSTM begins as far shut."""
    path = os.path.join(folder, "model", "model.safetensors")
    with open(path, "rb") as file:
        content = bytearray(file.read())
    body = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:body])
    drawn = random.Random(SEED)
    biases = [math.log(drawn.uniform(1, steps - 1)) for _ in range(units)]

    def write(tensor, block, values):
        begin = body + header[tensor]["data_offsets"][0] + 4 * units * block
        content[begin:begin + 4 * units] = array.array("f", values).tobytes()

    write(*{"LSTM": ("lstm.bias", 1), "GRU": ("gru.bias_ih", 0)}[cell], biases)
    if cell == "LSTM" and shut:
        write("lstm.bias", 0, [-bias for bias in biases])
    with open(path, "wb") as file:
        file.write(content)


class Learning(unittest.TestCase):
    def train(self, folder, name, text=JOB, **settings):
        job = os.path.join(folder, f"{name}.toml")
        with open(job, "w") as file:
            file.write(text.format(**settings))
        done = subprocess.run([PLIMSOLL, "train", job, "--json", "--out", os.path.join(folder, name)],
                              capture_output=True, text=True, timeout=1800)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def losses(self, cell, task, stages, units, batch_size, keep=0, shut=False, truncate=0):
        """Before the first and after the last of the stages, each of which begins where the one before ended. keep: steps that
        gates begin by keeping State for; 0: as always. shut: see keep_for_long."""
        settings = {"task": task["task"], "cell": cell, "units": units, "batch_size": batch_size, "seed": SEED, "truncate": truncate,
                    "embedding": EMBEDDING.format(ids=task["ids"]) if "ids" in task else ""}
        with tempfile.TemporaryDirectory(prefix="plimsoll_learn_") as folder:
            first = self.train(folder, "start", start="", data=task["data"].format(steps=stages[-1].steps), updates=1,
                               learning_rate=0, lr_schedule="constant", **settings)
            start = os.path.join(folder, "start")
            if keep > 0:
                keep_for_long(start, cell, units, keep, shut)
            for number, stage in enumerate(stages):
                last = self.train(folder, f"stage{number}", start=start, data=task["data"].format(steps=stage.steps),
                                  updates=stage.updates, learning_rate=stage.learning_rate, lr_schedule=stage.lr_schedule, **settings)
                start = os.path.join(folder, f"stage{number}")
        return first["last"]["loss"], last["last"]["loss"]

    def assert_solved(self, cell, task, stages, **settings):
        first, last = self.losses(cell, task, stages, **settings)
        print(f"{cell} {task['data'].partition('?')[0]}: {last:.5f} after {sum(stage.updates for stage in stages)} updates")
        self.assertGreater(first, 0.9 * task["chance"], "solved before training: the test would show nothing")
        self.assertLess(last, task["solved"], f"{cell}: by chance {task['chance']:.4f}")

    def test_the_adding_problem_at_200_steps_is_solved_from_a_usual_start(self):
        with tempfile.TemporaryDirectory(prefix="plimsoll_learn_") as folder:
            result = self.train(folder, "run", USUAL)
        self.assertGreater(result["first"]["loss"], 0.1, "solved before training: the test would show nothing")
        self.assertLess(result["last"]["loss"], ADDING["solved"])

    def test_the_adding_problem_at_400_steps_is_solved(self):
        for cell in ("LSTM", "GRU"):
            with self.subTest(cell=cell):
                self.assert_solved(cell, ADDING, [Stage(400, 1500, 5e-3)], units=32, batch_size=32, keep=400, shut=True)

    def test_parity_at_100_steps_is_solved(self):
        for cell in ("LSTM", "GRU"):
            with self.subTest(cell=cell):
                self.assert_solved(cell, PARITY, [Stage(100, 900, 1e-2)], units=16, batch_size=32)

    def test_copy_memory_at_200_steps_is_solved(self):
        for cell in ("LSTM", "GRU"):
            with self.subTest(cell=cell):
                self.assert_solved(cell, COPY, [Stage(10, 2500, 1e-2), Stage(60, 1200, 1e-2), Stage(200, 1500, 5e-3, "cosine")],
                                   units=64, batch_size=16, keep=200)

    def test_without_a_gradient_through_time_the_adding_problem_is_not_solved(self):
        _, last = self.losses("GRU", ADDING, [Stage(400, 1500, 5e-3)], units=32, batch_size=32, keep=400, truncate=1)
        self.assertGreater(last, 3 * ADDING["solved"])


def main():
    global PLIMSOLL
    arguments = sys.argv[1:]
    if len(arguments) < 2 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    PLIMSOLL = os.path.abspath(arguments[0])
    unittest.main(argv=[sys.argv[0], *arguments[2:]])


if __name__ == "__main__":
    main()
