"""Random jobs at random budgets: the whole process stays inside, the smallest budget is exact, the plan is close.

  python3 budget_test.py build/plimsoll build [unittest arguments]

PLIMSOLL_BUDGET_JOBS sets the number of jobs (40). A failing job's file is printed whole, so that it can be run again.
"""
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

PLIMSOLL = BUILD = ""  # set by the main program
JOBS = int(os.environ.get("PLIMSOLL_BUDGET_JOBS", "40"))
STEP = 64 * 1024
WAVERS = 32 * 1024  # what two runs hold at start differs by some pages, and so may the minimum that they name


def random_job(rng, spill=None):
    """A job that brings its own data: any of the layers, sizes odd and even, ragged lengths."""
    steps = rng.choice([5, 16, 17, 60, 200, 400])
    rows = rng.choice([1, 2, 7, 16, 33, 64, 80])
    kind = rng.choice(["adding", "parity", "sine", "copy"])
    task = {"adding": "regress", "parity": "classify", "sine": "regress", "copy": "classify"}[kind]
    samples = rows + rng.randrange(50)
    settings = f"steps={steps}&min_steps=2"
    if kind == "parity":
        settings += f"&per_step={rng.choice(['true', 'false'])}"
    if kind == "copy":  # the output layer has as many classes
        settings = f"delay={steps}&count=5&symbols={rng.choice([8, 300, 3000])}"
    lines = [f'task = "{task}"', "[data]", f'train = "generate:{kind}?{settings}&samples={samples}"']
    learned_table = kind in ("parity", "copy")
    if kind in ("parity", "copy"):
        lines += ["[[model.layers]]", 'type = "Embedding"', f"output_dim = {rng.randrange(1, 40)}"]
        if rng.random() < 0.2:
            lines += ["trainable = false"]
            learned_table = False
    backwards = rng.random() < 0.2
    if rng.random() < 0.2:
        lines += ["[[model.layers]]", 'type = "Conv1D"', f"filters = {rng.choice([3, 16, 40])}", f"kernel_size = {rng.choice([1, 3, 5])}",
                  f"dilation_rate = {rng.choice([1, 2, 16])}"]
    for number in range(rng.choice([1, 1, 2, 3])):
        cell = rng.choice(["LSTM", "LSTM", "GRU", "GRU", "SimpleRNN"])
        units = rng.choice([1, 8, 17, 64, 100])
        lines += ["[[model.layers]]", f'type = "{cell}"', f"units = {units}"]
        if cell == "LSTM" and rng.random() < 0.3:
            lines += [f"proj_size = {rng.randrange(units)}"]
        if cell == "GRU" and rng.random() < 0.3:
            lines += ["reset_after = false"]
        if number == 0 and backwards:
            lines += ["go_backwards = true"]
        for key in ("dropout", "recurrent_dropout"):
            if rng.random() < 0.2:
                lines += [f"{key} = 0.25"]
        if rng.random() < 0.1:
            lines += ["use_bias = false"]
        if rng.random() < 0.1:
            lines += ['activation = "softsign"']
        if rng.random() < 0.1:
            lines += [f'{rng.choice(["kernel", "recurrent"])}_initializer = "{rng.choice(["orthogonal", "he_normal", "identity"])}"']
        if rng.random() < 0.2:
            lines += ["trainable = false"]
        elif rng.random() < 0.1:
            lines += ["kernel_l2 = 1e-4"]
        if not backwards and rng.random() < 0.2:  # a way around a layer
            lines += [f'name = "cell{number}"', "[[model.layers]]", 'type = "Dense"', "units = 12", f'name = "way{number}"',
                      "[[model.layers]]", 'type = "Concatenate"', f'inputs = ["way{number}", "cell{number}"]']
        if rng.random() < 0.3:
            lines += ["[[model.layers]]", f'type = "{rng.choice(["Dropout", "SpatialDropout1D"])}"', "rate = 0.2"]
        if rng.random() < 0.2:
            lines += ["[[model.layers]]", 'type = "LayerNormalization"']
        if rng.random() < 0.1:
            lines += ["[[model.layers]]", 'type = "Activation"', 'activation = "elu"']
    losses = ['loss = "huber"', 'loss = "mean_absolute_error"'] if task == "regress" else ["label_smoothing = 0.1"]
    tagger = kind == "copy" and "symbols=8" in settings and rng.random() < 0.5
    if tagger:
        losses = []
    lines += ["[[model.layers]]", 'type = "Dense"', *(["[[model.layers]]", 'type = "CRF"'] if tagger else []), "[train]", *rng.sample(losses, min(len(losses), rng.randrange(2))), f"batch_size = {rows}", "max_steps = 2", "epochs = 5", f"threads = {rng.choice([1, 2, 3])}"]
    lines += rng.sample(["clip_tensor_norm = 0.1", "clip_norm = 1.0"], rng.randrange(2))
    if rng.random() < 0.2:
        lines += ['lr_schedule = "plateau"', "plateau_patience = 1"]
    if learned_table and rng.random() < 0.3:
        lines += ['optimizer = "lazy_adam"']
    if spill is not None and rng.random() < 0.3:
        lines += ["[memory]", f'spill = "{spill}"']
    return "\n".join(lines) + "\n"


class Budget(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="plimsoll_budget_")
        self.runs = 0
        self.disk = os.path.dirname(PLIMSOLL)  # /tmp may lie in memory

    def tearDown(self):
        self.holder.cleanup()

    def call(self, verb, job, budget, code=0):
        self.runs += 1
        path = os.path.join(self.holder.name, "job.toml")
        with open(path, "w") as file:
            file.write(job)
        out = ["--out", os.path.join(self.holder.name, f"run{self.runs}"), "--quiet"] if verb == "train" else []
        done = subprocess.run([PLIMSOLL, verb, path, "--json", "--memory", str(budget), *out], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"--memory {budget}\n{job}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def test_random_jobs_stay_inside_their_budgets(self):
        rng = random.Random(11)
        unused = []
        for _ in range(JOBS):
            job = random_job(rng, spill=self.disk)
            plan = self.call("plan", job, "1GB")
            smallest, largest = plan["min_bytes"], plan["full_speed_bytes"]
            groups = plan["own_groups_bytes"]
            self.assertLessEqual(smallest, largest)
            for budget in (smallest, groups, rng.randint(smallest, 4 * smallest)):
                result = self.call("train", job, budget)
                self.assertLessEqual(result["peak_bytes"], budget, job)
                self.assertLessEqual(result["peak_bytes"], result["planned_bytes"], job)
                unused.append(1 - result["peak_bytes"] / result["planned_bytes"])
            refused = self.call("train", job, smallest - STEP, code=4)["error"]["min_bytes"]
            self.assertLessEqual(abs(refused - smallest), WAVERS, job)
        unused.sort()
        print(f"{len(unused)} runs; planned but not used: median {statistics.median(unused):.1%}, most {unused[-1]:.1%}")
        self.assertLessEqual(statistics.median(unused), 0.03)
        self.assertLessEqual(unused[-1], 0.08)

    def test_budgets_that_cannot_hold_are_refused_quickly_with_the_smallest(self):
        rng = random.Random(12)
        for _ in range(20):
            job = random_job(rng)
            smallest = self.call("plan", job, "1GB")["min_bytes"]
            began = time.monotonic()
            error = self.call("train", job, rng.randint(1, smallest - STEP), code=4)["error"]
            self.assertLess(time.monotonic() - began, 1.0)
            self.assertLessEqual(abs(error["min_bytes"] - smallest), WAVERS, job)
        self.assertEqual([name for name in os.listdir(self.holder.name) if name.startswith("run")], [], "nothing is left of a refusal")

    def test_the_demonstration_is_refused_in_little_time_and_memory(self):
        report = os.path.join(self.holder.name, "report.json")
        began = time.monotonic()
        done = subprocess.run([os.path.join(BUILD, "capsule"), "--limit", "1000000000", "--group", "none", "--report", report, "--",
                               PLIMSOLL, "demo", "--memory", "5MB", "--json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertLess(time.monotonic() - began, 1.0)
        with open(report) as file:
            self.assertLess(json.load(file)["peak_bytes"] or 0, 10_000_000)

    def test_the_plan_of_a_million_sequences_takes_less_than_a_second(self):
        train = 'train = "generate:adding?steps=500&samples=1000000&min_steps=5"'
        job = f'task = "regress"\n[data]\n{train}\n[[model.layers]]\ntype = "LSTM"\nunits = 64\n[[model.layers]]\ntype = "Dense"\n'
        began = time.monotonic()
        self.call("plan", job, "1GB")
        self.assertLess(time.monotonic() - began, 1.0)

    def test_a_larger_vocabulary_costs_its_weights_and_one_slice(self):
        def peak_of(words):
            job = (f'task = "classify"\n[data]\ntrain = "generate:copy?delay=80&count=10&symbols={words - 2}&samples=32"\n'
                   '[[model.layers]]\ntype = "Embedding"\noutput_dim = 64\n[[model.layers]]\ntype = "LSTM"\nunits = 256\n'
                   '[[model.layers]]\ntype = "Dense"\n[train]\nbatch_size = 32\nmax_steps = 1\n')
            plan = self.call("plan", job, "2GB")
            owners = plan["owners"]
            result = self.call("train", job, plan["full_speed_bytes"])
            return result["peak_bytes"], sum(owners[name] for name in ("weights", "gradient", "optimizer"))
        small, small_weights = peak_of(1_000)
        large, large_weights = peak_of(30_000)
        self.assertLessEqual(large - small, large_weights - small_weights + 256 * 30_000 * 4 + STEP)
        self.assertGreater(large_weights - small_weights, 29_000 * 256 * 4 * 4, "weights, gradient and two moments did not grow: nothing is shown")

    def test_eight_budgets_give_the_same_weights(self):
        job = ('task = "regress"\n[data]\ntrain = "generate:adding?steps=300&samples=80&min_steps=3"\n[[model.layers]]\ntype = "LSTM"\nunits = 40\n'
               '[[model.layers]]\ntype = "Dropout"\nrate = 0.2\n[[model.layers]]\ntype = "LSTM"\nunits = 24\n[[model.layers]]\ntype = "Dense"\n'
               '[train]\nbatch_size = 40\nmax_steps = 20\nepochs = 10\n')
        plan = self.call("plan", job, "1GB")
        smallest, largest = plan["own_groups_bytes"], plan["full_speed_bytes"]
        weights, schedules = set(), set()
        for number in range(8):
            threads = (1, 2, 4)[number % 3]
            spill = f'[memory]\nspill = "{self.disk}"\n' if number % 2 else ""
            budget = smallest + (largest - smallest) * number // 7 + 256 * 1024  # more threads have more stacks
            self.call("train", job + f"threads = {threads}\n" + spill, budget)
            folder = os.path.join(self.holder.name, f"run{self.runs}")
            with open(os.path.join(folder, "plan.json")) as file:
                taken = json.load(file)
            self.assertFalse(taken["rounding_only_change"])
            schedules.add(json.dumps(taken["stages"]))
            with open(os.path.join(folder, "model", "model.safetensors"), "rb") as file:
                weights.add(hashlib.sha256(file.read()).hexdigest())
        self.assertEqual(len(weights), 1)
        self.assertGreaterEqual(len(schedules), 6, "the budgets gave the same plan: nothing is shown")

    def test_a_sequence_of_ten_thousand_steps_fits_48_megabytes(self):
        job = ('task = "regress"\n[data]\ntrain = "generate:adding?steps=10000&samples=32"\n[[model.layers]]\ntype = "LSTM"\nunits = 128\n'
               '[[model.layers]]\ntype = "Dense"\n[train]\nbatch_size = 32\nmax_steps = 1\n')
        result = self.call("train", job, "48MB")
        self.assertLessEqual(result["peak_bytes"], 48_000_000)
        self.assertGreater(self.call("plan", job, "48MB")["recompute_factor"], 1.0, "nothing was computed again: the test shows nothing")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PLIMSOLL = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
        BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
