"""Random jobs at random budgets: the whole process stays inside, the smallest budget is exact, the plan is close.

  python3 budget_test.py build/plimsoll build [unittest arguments]

PLIMSOLL_BUDGET_JOBS sets the number of jobs (20). A failing job's file is printed whole, so that it can be run again.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import unittest

PLIMSOLL = ""  # set by the main program
JOBS = int(os.environ.get("PLIMSOLL_BUDGET_JOBS", "20"))
STEP = 64 * 1024
BASE_STEP = 256 * 1024  # the process base is rounded up to these; a base at a border may fall on either side of it


def random_job(rng):
    """A job that brings its own data: any of the layers, sizes odd and even, ragged lengths."""
    steps = rng.choice([5, 16, 17, 60, 200, 400])
    rows = rng.choice([1, 2, 7, 16, 33, 64, 80])
    kind = rng.choice(["adding", "parity", "sine"])
    task = {"adding": "regress", "parity": "classify", "sine": "regress"}[kind]
    per_step = f"&per_step={rng.choice(['true', 'false'])}" if kind == "parity" else ""
    lines = [f'task = "{task}"', "[data]", f'train = "generate:{kind}?steps={steps}&samples={rows + rng.randrange(50)}&min_steps=2{per_step}"']
    if kind == "parity":
        lines += ["[[model.layers]]", 'type = "Embedding"', f"output_dim = {rng.randrange(1, 40)}"]
    for _ in range(rng.choice([1, 1, 2, 3])):
        lines += ["[[model.layers]]", 'type = "LSTM"', f"units = {rng.choice([1, 8, 17, 64, 100])}"]
        if rng.random() < 0.3:
            lines += ["[[model.layers]]", 'type = "Dropout"', "rate = 0.2"]
    lines += ["[[model.layers]]", 'type = "Dense"', "[train]", f"batch_size = {rows}", "max_steps = 2", "epochs = 5", f"threads = {rng.choice([1, 2, 3])}"]
    return "\n".join(lines) + "\n"


class Budget(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="plimsoll_budget_")
        self.runs = 0

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
        unused, wavering = [], 0
        for _ in range(JOBS):
            job = random_job(rng)
            plan = self.call("plan", job, "1GB")
            smallest, largest = plan["min_bytes"], plan["full_speed_bytes"]
            again = [self.call("plan", job, "1GB")["min_bytes"] for _ in range(3)]
            if any(number != smallest for number in again):
                self.assertEqual({abs(number - smallest) for number in again} - {0}, {BASE_STEP}, job)
                wavering += 1
                continue
            self.assertLessEqual(smallest, largest)
            for budget in (smallest, rng.randint(smallest, max(smallest, largest)), rng.randint(largest, 4 * largest)):
                result = self.call("train", job, budget)
                self.assertLessEqual(result["peak_bytes"], budget, job)
                self.assertLessEqual(result["peak_bytes"], result["planned_bytes"], job)
                unused.append(1 - result["peak_bytes"] / result["planned_bytes"])
            self.assertEqual(self.call("train", job, smallest - STEP, code=4)["error"]["min_bytes"], smallest, job)
        self.assertLessEqual(wavering, max(1, JOBS // 10), "the smallest budget must not waver")
        unused.sort()
        print(f"{len(unused)} runs; {wavering} jobs with a base at a border; planned but not used: median {statistics.median(unused):.1%}, most {unused[-1]:.1%}")
        self.assertLessEqual(statistics.median(unused), 0.03)
        self.assertLessEqual(unused[-1], 0.08)

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
        sys.argv.pop(1)
    unittest.main()
