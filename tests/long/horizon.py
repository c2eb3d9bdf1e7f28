"""One exact gradient step over 100,000 time steps: LSTM 512, 32 rows, the adding problem, the whole process in 200 MB.

  python3 horizon.py build/plimsoll
"""
import json
import os
import subprocess
import sys
import tempfile

BUDGET = 200_000_000
JOB = """task = "regress"
[data]
train = "generate:adding?steps=100000&samples=32"
[[model.layers]]
type = "LSTM"
units = 512
[[model.layers]]
type = "Dense"
[train]
batch_size = 32
max_steps = 1
"""


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="plimsoll_horizon_") as folder:
        job = os.path.join(folder, "job.toml")
        with open(job, "w") as file:
            file.write(JOB)
        done = subprocess.run([sys.argv[1], "train", job, "--memory", str(BUDGET), "--json", "--quiet", "--out", os.path.join(folder, "run")],
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"exit {done.returncode}: {done.stdout}{done.stderr}")
        result = json.loads(done.stdout)
        with open(os.path.join(folder, "run", "plan.json")) as file:
            plan = json.load(file)
        print(f"{result['peak_bytes'] / 1e6:.1f} MB of {BUDGET / 1e6:.0f} MB, {result['updates']} update, {result['seconds']:.0f} s, "
              f"forward runs {plan['recompute_factor']:.2f}, full storage would take {plan['full_speed_bytes'] / 1e9:.1f} GB")
        if result["peak_bytes"] > BUDGET or result["updates"] != 1:
            sys.exit("the budget was not held")


if __name__ == "__main__":
    main()
