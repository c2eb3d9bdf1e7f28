"""Random jobs at random budgets: the whole process stays inside, the smallest budget is exact, the plan is close.

  python3 budget_test.py build/plimsoll build [unittest arguments]

PLIMSOLL_BUDGET_JOBS sets the number of jobs (40). A failing job's file is printed whole, so that it can be run again.
"""
import hashlib
import json
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

PLIMSOLL = BUILD = ""  # set by the main program
JOBS = int(os.environ.get("PLIMSOLL_BUDGET_JOBS", "40"))
STEP = 64 * 1024
WAVERS = 32 * 1024  # what two runs hold at start differs by some pages, and so may the minimum that they name


def random_job(rng, spill=None):
    """A job that brings its own data: any of the layers, sizes odd and even, ragged lengths."""
    steps = rng.choice([5, 16, 17, 60, 200, 400])
    rows = rng.choice([1, 2, 7, 16, 33, 64, 80])
    kind = rng.choice(["adding", "parity", "sine", "copy", "spell"])
    task = "regress" if kind in ("adding", "sine") else "classify"
    samples = rows * rng.choice([1, 2, 3]) if kind == "copy" else rows + rng.randrange(50)
    settings = f"steps={steps}&min_steps=2"
    if kind == "parity":
        settings += f"&per_step={rng.choice(['true', 'false'])}"
    if kind == "copy":  # the output layer has as many classes
        settings = f"delay={steps}&count=5&symbols={rng.choice([8, 300, 3000])}"
    if kind == "spell":
        hold = rng.choice([2, 3, 5])
        settings = f"labels={max(1, steps // hold)}&min_labels=1&hold={hold}&symbols={rng.choice([1, 8, 60])}"
    lines = [f'task = "{task}"', "[data]", f'train = "generate:{kind}?{settings}&samples={samples}"']
    learned_table, width = kind in ("parity", "copy", "spell"), rng.randrange(1, 40)
    if learned_table:
        lines += ["[[model.layers]]", 'type = "Embedding"', f"output_dim = {width}"]
        if rng.random() < 0.2:
            lines += ["trainable = false"]
            learned_table = False
    backwards = kind != "spell" and rng.random() < 0.2
    stateful = kind == "copy" and not backwards and rng.random() < 0.4  # all of one length
    convolved, filters = not backwards and rng.random() < 0.2, rng.choice([3, 16, 40])
    if convolved:
        lines += ["[[model.layers]]", 'type = "Conv1D"', f"filters = {filters}", f"kernel_size = {rng.choice([1, 3, 5])}",
                  f"dilation_rate = {rng.choice([1, 2, 16])}"]
    values = filters if convolved else {"adding": 2, "sine": 1}.get(kind, width)  # that the next cell reads
    silent = False  # they may all be zero
    for number in range(rng.choice([1, 1, 2, 3])):
        cell = rng.choice(["LSTM", "LSTM", "GRU", "GRU", "SimpleRNN"])
        units = rng.choice([1, 8, 17, 64, 100])
        lines += ["[[model.layers]]", f'type = "{cell}"', f"units = {units}"]
        shown = units
        # Normalised there is neither projection nor masks, and one unit would stay zero. So it would over zeros, which is all that
        # a LayerNormalization of one value gives, a SpatialDropout1D of a few, and a cell whose few inputs are all dropped: its
        # gradients then grow by 31 a step.
        normalised = cell == "LSTM" and units > 1 and (number == 0 or values >= 8) and not silent and rng.random() < 0.3
        if normalised:
            lines += ["layer_normalization = true"]
        elif cell == "LSTM" and rng.random() < 0.3:
            projected = rng.randrange(units)
            lines += [f"proj_size = {projected}"]
            shown = projected or units
        if cell == "GRU" and rng.random() < 0.3:
            lines += ["reset_after = false"]
        if number == 0 and backwards:
            lines += ["go_backwards = true"]
        if stateful:
            lines += ["stateful = true"]
        for key in ("dropout", "recurrent_dropout"):
            # What a mask of h leaves is enlarged, and so is its gradient at every step back: over 400 no float may hold it.
            if not normalised and rng.random() < 0.2 and (key == "dropout" or steps < 400):
                lines += [f"{key} = 0.25"]
                silent = silent or (key == "dropout" and values < 8)
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
        cell_is_last = len(lines)
        values = shown
        if not backwards and rng.random() < 0.2:  # a way around a layer
            lines += [f'name = "cell{number}"', "[[model.layers]]", 'type = "Dense"', "units = 12", f'name = "way{number}"',
                      "[[model.layers]]", 'type = "Concatenate"', f'inputs = ["way{number}", "cell{number}"]']
        elif not backwards and rng.random() < 0.2:
            lines += [f'name = "cell{number}"', "[[model.layers]]", 'type = "Dense"', f"units = {shown}", f'name = "way{number}"',
                      "[[model.layers]]", f'type = "{rng.choice(["Add", "Multiply"])}"', f'inputs = ["way{number}", "cell{number}"]']
        if rng.random() < 0.3:
            lines += ["[[model.layers]]", f'type = "{rng.choice(["Dropout", "SpatialDropout1D"])}"', "rate = 0.2"]
            silent = silent or shown < 8
        if rng.random() < 0.2:
            lines += ["[[model.layers]]", 'type = "LayerNormalization"']
            silent = silent or shown < 8
        if rng.random() < 0.1:
            lines += ["[[model.layers]]", 'type = "Activation"', 'activation = "elu"']
    pooled = kind == "adding" or "per_step=false" in settings
    if pooled and cell_is_last == len(lines) and rng.random() < 0.5:
        lines += ["[[model.layers]]", 'type = "Pooling"', f'mode = "{rng.choice(["state", "mean", "max", "last"])}"']
    losses = ['loss = "huber"', 'loss = "mean_absolute_error"'] if task == "regress" else ["label_smoothing = 0.1"]
    tagger = kind == "copy" and "symbols=8" in settings and rng.random() < 0.5
    if tagger:
        losses = []
    if kind == "spell":
        losses = ['loss = "ctc"']
    chosen = losses if kind == "spell" else rng.sample(losses, min(len(losses), rng.randrange(2)))
    tied = kind in ("parity", "copy") and rng.random() < 0.3
    if tied:  # to the table, which may be frozen
        lines += ["[[model.layers]]", 'type = "Dense"', f"units = {width}"]
    lines += ["[[model.layers]]", 'type = "Dense"', *(['tied_to = "embedding"', f"trainable = {str(learned_table).lower()}"] if tied else []),
              *(["[[model.layers]]", 'type = "CRF"'] if tagger else []), "[train]", *chosen, f"batch_size = {rows}", "max_steps = 2",
              "epochs = 5", f"threads = {rng.choice([1, 2, 3])}"]
    if stateful:
        lines += ["shuffle = false"]
    lines += rng.sample(["clip_tensor_norm = 0.1", "clip_norm = 1.0", "clip_value = 0.5"], rng.randrange(2))
    lines += rng.choice([[], [], ['lr_schedule = "plateau"', "plateau_patience = 1"], ['lr_schedule = "cosine"'], ['lr_schedule = "one_cycle"']])
    if learned_table and not tied and rng.random() < 0.3:
        lines += ['optimizer = "lazy_adam"']
    elif rng.random() < 0.5:
        lines += rng.choice([['optimizer = "adamw"'], ['optimizer = "sgd"'], ['optimizer = "sgd"', "momentum = 0.9", "nesterov = true"],
                             ['optimizer = "rmsprop"'], ['optimizer = "adagrad"']])
    if rng.random() < 0.2:
        lines += ["use_ema = true"]
    if kind != "spell" and not tagger and rng.random() < 0.2:
        lines += [f"truncate = {rng.choice([1, 16, 21])}"]
    if kind == "parity" and rng.random() < 0.3:
        lines += ["class_weight = [0.5, 2.0]"]
    if spill is not None and rng.random() < 0.3:
        lines += ["[memory]", f'spill = "{spill}"']
    return "\n".join(lines) + "\n"


def npy(kind, shape, values):
    """The bytes of a .npy: kind "i" is int32, "f" is float32."""
    header = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{kind}", *values)


def random_outputs_job(rng, path):
    """A job with several outputs, and its data at `path`: heads on steps, on pooled rows, and on both."""
    samples, steps, words = rng.choice([7, 33, 80]), rng.choice([5, 17, 60]), rng.choice([30, 900])
    lengths = [steps] + [rng.randint(1, steps) for _ in range(samples - 1)]
    arrays = {"x": ("i", (samples, steps), [rng.randrange(words) for _ in range(samples * steps)]), "lengths": ("i", (samples,), lengths)}
    names = rng.sample(["next", "values", "mood", "kind"], rng.randint(2, 4))
    on_steps, on_rows = [name for name in names if name in ("next", "values")], [name for name in names if name in ("mood", "kind")]
    layers = [["Embedding", "output_dim = 9"], [rng.choice(["LSTM", "GRU"]), 'name = "body"', f"units = {rng.choice([9, 40])}"]]
    if on_steps:
        layers.append(["Dense", 'name = "shared"', "units = 9"])
    if on_rows:
        layers.append(["Pooling", 'name = "pooled"', 'inputs = ["body"]'])
    outputs = []
    for name in names:
        shape = (samples, steps) if name in on_steps else (samples,)
        count, classes = samples * (steps if name in on_steps else 1), {"next": words, "kind": 5}.get(name)
        if classes:
            arrays[f"y_{name}"] = ("i", shape, [classes - 1] + [rng.randrange(classes) for _ in range(count - 1)])
        else:
            arrays[f"y_{name}"] = ("f", (*shape, 2), [rng.random() for _ in range(2 * count)])
        tied = ['tied_to = "embedding"'] if name == "next" and rng.random() < 0.5 else []
        layers.append(["Dense", f'name = "{name}"', f'inputs = ["{"shared" if name in on_steps else "pooled"}"]', *tied])
        outputs += ["[[outputs]]", f'layer = "{name}"', f"loss_weight = {rng.choice([0.1, 1, 3])}"]
        if not classes and rng.random() < 0.5:
            outputs += [f'loss = "{rng.choice(["huber", "binary_crossentropy", "mean_absolute_error"])}"']
    with zipfile.ZipFile(path, "w") as file:
        for key, array in arrays.items():
            file.writestr(f"{key}.npy", npy(*array))
    lines = ["[data]", f'train = "{path}"', f"vocabulary = {words}"]
    for kind, *settings in layers:
        lines += ["[[model.layers]]", f'type = "{kind}"', *settings]
    return "\n".join([*lines, *outputs, "[train]", f"batch_size = {rng.choice([1, 7, 33])}", "max_steps = 2", "epochs = 5",
                      f"threads = {rng.choice([1, 2, 3])}"]) + "\n"


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

    def weights(self):
        """What tells the weights of the last run."""
        with open(os.path.join(self.holder.name, f"run{self.runs}", "model", "model.safetensors"), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def test_random_jobs_stay_inside_their_budgets(self):
        rng, budgets = random.Random(11), random.Random(13)  # the same jobs, whatever their plans say
        unused = []
        for number in range(JOBS):
            several = number % 5 == 4
            job = random_outputs_job(rng, os.path.join(self.holder.name, f"data{number}.npz")) if several else random_job(rng, spill=self.disk)
            plan = self.call("plan", job, "1GB")
            smallest, largest = plan["min_bytes"], plan["full_speed_bytes"]
            groups = plan["own_groups_bytes"]
            self.assertLessEqual(smallest, largest)
            weights = []
            for budget in (smallest, groups, budgets.randint(groups, max(groups, 4 * smallest))):
                result = self.call("train", job, budget)
                weights.append(self.weights())
                self.assertLessEqual(result["peak_bytes"], budget, job)
                self.assertLessEqual(result["peak_bytes"], result["planned_bytes"], job)
                unused.append(1 - result["peak_bytes"] / result["planned_bytes"])
                self.assertEqual("outputs" in result["last"], several)
            self.assertEqual(weights[1], weights[2], f"other bits at another budget\n{job}")
            other = 1 if "threads = 2" in job else 2  # more threads have more stacks
            self.call("train", re.sub(r"threads = \d", f"threads = {other}", job), groups + 256 * 1024)
            self.assertEqual(weights[1], self.weights(), f"other bits with {other} threads\n{job}")
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
                   '[[model.layers]]\ntype = "Embedding"\noutput_dim = 256\n[[model.layers]]\ntype = "LSTM"\nunits = 256\n'
                   f'[[model.layers]]\ntype = "Dense"\nunits = {words}\n[train]\nbatch_size = 32\nmax_steps = 1\n')
            return self.call("train", job, self.call("plan", job, "2GB")["full_speed_bytes"])["peak_bytes"]
        weights = (30_000 - 1_000) * (256 + 256 + 1)  # of the embedding, the output layer and its bias
        grown = peak_of(30_000) - peak_of(1_000)
        self.assertLessEqual(grown, 4 * 4 * weights + 256 * 30_000 * 4, "more than weights, gradient, two moments and a slice")
        self.assertGreater(grown, 4 * 4 * weights, "weights, gradient and two moments did not grow: nothing is shown")

    def same_weights_at_eight_budgets(self, job):
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
            weights.add(self.weights())
        self.assertEqual(len(weights), 1)
        self.assertGreaterEqual(len(schedules), 6, "the budgets gave the same plan: nothing is shown")

    def test_eight_budgets_give_the_same_weights(self):
        self.same_weights_at_eight_budgets(
            'task = "regress"\n[data]\ntrain = "generate:adding?steps=300&samples=80&min_steps=3"\n[[model.layers]]\ntype = "LSTM"\nunits = 40\n'
               '[[model.layers]]\ntype = "Dropout"\nrate = 0.2\n[[model.layers]]\ntype = "LSTM"\nunits = 24\n[[model.layers]]\ntype = "Dense"\n'
               '[train]\nbatch_size = 40\nmax_steps = 20\nepochs = 10\n')

    def test_eight_budgets_give_the_same_weights_with_ctc(self):
        self.same_weights_at_eight_budgets(
            'task = "classify"\n[data]\ntrain = "generate:spell?labels=60&min_labels=1&hold=5&samples=80"\n[[model.layers]]\ntype = "Embedding"\n'
            'output_dim = 6\n[[model.layers]]\ntype = "LSTM"\nunits = 40\n[[model.layers]]\ntype = "GRU"\nunits = 24\n[[model.layers]]\n'
            'type = "Dense"\n[train]\nloss = "ctc"\nbatch_size = 40\nmax_steps = 8\nepochs = 10\n')

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
