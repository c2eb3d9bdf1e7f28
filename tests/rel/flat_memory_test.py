"""Memory stays flat: epochs make no allocation call, and the measured peak is what the plan said.

  python3 flat_memory_test.py build/plimsoll build [unittest arguments]

Needs NumPy, a C compiler, and strace for the part that looks at system calls.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
PLIMSOLL = ""  # set by the main program
FEW, MANY = 10, 19  # as many digits, so that no text differs in length
MOST_BYTES_UNUSED = 0.03  # share of the planned peak that may stay untouched
PEAK_JOB_BYTES = 30_000_000

JOB = """
task = "classify"
[data]
train = "{data}"
valid = 0.1
[[model.layers]]
type = "LSTM"
units = {units}
[[model.layers]]
type = "Dropout"
rate = 0.1
[[model.layers]]
type = "LSTM"
units = {units}
[[model.layers]]
type = "Dense"
units = 5
[train]
batch_size = {rows}
epochs = {epochs}
clip_norm = 1.0
threads = 2
seed = 1
"""

# Makes a known number of each call in each of argv[1] "epochs", after some that every run makes.
KNOWN_CALLS = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
void* volatile kept;
int main(int argc, char** argv) {
  kept = malloc(1000);
  struct timespec now;
  for (int epoch = 0; epoch < atoi(argv[1]); ++epoch) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (argc < 3) continue;
    kept = malloc(10); kept = realloc(kept, 20000); free(kept);
    kept = calloc(3, 5); free(kept);
    kept = aligned_alloc(64, 128); free(kept);
    void* other; if (posix_memalign(&other, 64, 100)) return 1; kept = other; free(kept);
    char* map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    map = mremap(map, 4096, 8192, MREMAP_MAYMOVE);
    munmap(map, 8192);
    sbrk(0);
  }
  return 0;
}
"""


def write_samples(path, samples, longest, features=8, equal=False):
    random = np.random.default_rng(3)
    lengths = random.integers(1, longest + 1, samples)
    lengths[:2] = [1, longest]
    if equal:
        lengths[:] = longest
    np.savez(path, x=random.normal(0, 1, (samples, longest, features)).astype(np.float32),
             y=(np.arange(samples) % 5).astype(np.int32), lengths=lengths)


def call(command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=dict(os.environ, **environment))
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def difference(few, many):
    """Calls that the longer run made more or less often; empty when memory is flat."""
    return {name: many.get(name, 0) - few.get(name, 0) for name in sorted(few.keys() | many.keys())
            if name not in ("vm_hwm_bytes", "marks", "between") and many.get(name, 0) != few.get(name, 0)}


class FlatMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="plimsoll_flat_")
        cls.folder = cls.holder.name
        cls.shim = os.path.join(cls.folder, "alloc_count.so")
        call(["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-builtin", "-shared", "-fPIC", "-o", cls.shim,
              os.path.join(HERE, "alloc_count.c"), "-ldl"])
        write_samples(os.path.join(cls.folder, "ragged.npz"), samples=150, longest=60)
        cls.runs = 0

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def counted(self, command, **environment):
        """The counts of a command run under the shim, and what it wrote to stdout."""
        out = os.path.join(self.folder, "counts.jsonl")
        if os.path.exists(out):
            os.remove(out)
        stdout = call(command, LD_PRELOAD=self.shim, ALLOC_COUNT_OUT=out, **environment)
        with open(out) as file:
            lines = file.readlines()
        self.assertEqual(len(lines), 1, "one process, one line of counts")
        return json.loads(lines[0]), stdout

    def train_command(self, epochs):
        """Two runs differ in the number of epochs only; even the paths have equal lengths."""
        type(self).runs += 1
        job = os.path.join(self.folder, f"job{self.runs:03}.toml")
        with open(job, "w") as file:
            file.write(JOB.format(data="ragged.npz", units=24, rows=16, epochs=epochs))
        # The page is written by another program that the process becomes: what it allocates is no part of training.
        return [PLIMSOLL, "train", job, "--no-report", "--out", os.path.join(self.folder, f"run{self.runs:03}")]

    def test_the_shim_counts_every_kind_of_call(self):
        program = os.path.join(self.folder, "known_calls")
        with open(program + ".c", "w") as file:
            file.write(KNOWN_CALLS)
        call(["cc", "-O0", "-fno-builtin", "-o", program, program + ".c"])
        few, _ = self.counted([program, str(FEW), "allocate"])
        many, _ = self.counted([program, str(MANY), "allocate"])
        nine = MANY - FEW
        self.assertEqual(difference(few, many), {"malloc": nine, "calloc": nine, "realloc": nine, "aligned_alloc": nine,
                                                 "posix_memalign": nine, "free": 4 * nine, "mmap": nine, "mremap": nine,
                                                 "munmap": nine, "sbrk": nine})
        few, _ = self.counted([program, str(FEW)])
        many, _ = self.counted([program, str(MANY)])
        self.assertGreater(few["malloc"], 0)
        self.assertGreater(few["vm_hwm_bytes"], 100_000)
        self.assertEqual(difference(few, many), {})
        few, _ = self.counted([program, str(FEW)], ALLOC_COUNT_LEAK="1")
        many, _ = self.counted([program, str(MANY)], ALLOC_COUNT_LEAK="1")
        self.assertEqual(difference(few, many), {"malloc": nine})

    def between_epochs(self, **environment):
        """The allocation calls from the end of the first epoch to the end of the last one."""
        counts, _ = self.counted(self.train_command(MANY), **environment)
        self.assertGreater(counts["malloc"] + counts["mmap"], 0, "the shim saw nothing at all: is the program linked statically?")
        self.assertGreaterEqual(counts["marks"], MANY, "a line for every epoch")
        return {name: number for name, number in counts["between"].items() if number != 0}

    def test_epochs_make_no_allocation_call(self):
        self.assertEqual(self.between_epochs(), {}, f"calls of {MANY - 1} epochs")

    def test_control_an_allocation_in_every_epoch_is_reported(self):
        self.assertGreaterEqual(self.between_epochs(ALLOC_COUNT_LEAK="1").get("malloc", 0), MANY - 1)

    def test_nine_more_epochs_make_no_memory_system_call(self):
        if not shutil.which("strace"):
            self.skipTest("degraded: strace is not installed")
        found = {}
        for epochs in (FEW, MANY):
            table = os.path.join(self.folder, f"strace{epochs}.txt")
            call(["strace", "-f", "-c", "-e", "trace=mmap,munmap,mremap,brk", "-o", table, *self.train_command(epochs)])
            with open(table) as file:
                rows = [line.split() for line in file]
            found[epochs] = {row[-1]: int(row[3]) for row in rows if row and row[-1] in ("mmap", "munmap", "mremap", "brk")}
        self.assertGreater(found[FEW].get("mmap", 0), 0)
        self.assertEqual(difference(found[FEW], found[MANY]), {}, f"system calls of {MANY - FEW} more epochs")

    def test_the_measured_peak_is_the_planned_one(self):
        for equal in (True, False):
            with self.subTest(lengths="equal" if equal else "ragged"):
                name = "equal" if equal else "ragged_long"
                write_samples(os.path.join(self.folder, f"{name}.npz"), samples=96, longest=300, equal=equal)
                job = os.path.join(self.folder, f"{name}.toml")
                with open(job, "w") as file:
                    file.write(JOB.format(data=f"{name}.npz", units=64, rows=64, epochs=2))
                planned = json.loads(call([PLIMSOLL, "plan", job, "--json"]))["peak_bytes"]
                self.assertGreaterEqual(planned, PEAK_JOB_BYTES, "the job is too small to say anything about 3 %")
                result = json.loads(call([PLIMSOLL, "train", job, "--json", "--out", os.path.join(self.folder, name)]))
                self.check_peak(result["peak_bytes"], result["planned_bytes"])
                self.assertAlmostEqual(result["planned_bytes"] / planned, 1.0, delta=0.01)
                # The run reports its own peak; the shim asks the system again when everything is over.
                counts, stdout = self.counted([PLIMSOLL, "train", job, "--json", "--no-report", "--out", os.path.join(self.folder, name + "_counted")])
                self.check_peak(counts["vm_hwm_bytes"], json.loads(stdout)["planned_bytes"])

    def check_peak(self, measured, planned):
        self.assertLessEqual(measured, planned, "more than planned")
        self.assertGreaterEqual(measured, planned * (1 - MOST_BYTES_UNUSED), f"measured {measured} is too far below planned {planned}")


def main():
    global PLIMSOLL
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    PLIMSOLL = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])


if __name__ == "__main__":
    main()
