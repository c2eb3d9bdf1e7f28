"""Bad input gets one message that names file, key or sample, and the right exit code, before anything is trained.

  python3 bad_input_test.py build/plimsoll build [unittest arguments]

Needs NumPy.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy as np

PLIMSOLL = ""  # set by the main program

JOB = """
task = "classify"
[data]
train = "data.npz"
[[model.layers]]
type = "LSTM"
units = 8
[[model.layers]]
type = "Dense"
[train]
batch_size = 4
"""
ID_JOB = JOB.replace('[[model.layers]]\ntype = "LSTM"', '[[model.layers]]\ntype = "Embedding"\ninput_dim = 10\noutput_dim = 4\n[[model.layers]]\ntype = "LSTM"')


class BadInput(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="plimsoll_bad_")
        self.folder = pathlib.Path(self.holder.name)
        self.x = np.random.default_rng(1).normal(0, 1, (12, 7, 3)).astype(np.float32)
        self.y = (np.arange(12) % 3).astype(np.int64)

    def tearDown(self):
        self.holder.cleanup()

    def train(self, job=JOB, **arrays):
        if arrays:
            np.savez(self.folder / "data.npz", **arrays)
        (self.folder / "job.toml").write_text(job)
        return subprocess.run([PLIMSOLL, "train", "job.toml", "--quiet"], cwd=self.folder, capture_output=True, text=True, timeout=60)

    def refused(self, code, says, job=JOB, **arrays):
        done = self.train(job, **arrays)
        self.assertEqual(done.returncode, code, f"{says}\n{done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, "")
        for text in says:
            self.assertIn(text, done.stderr)
        self.assertLessEqual(len(done.stderr.splitlines()), 3, done.stderr)
        self.assertFalse((self.folder / "runs").exists() and any((self.folder / "runs").iterdir()), "something was written")

    def test_good_data_train(self):  # the control of every test below
        self.assertEqual(self.train(x=self.x, y=self.y).returncode, 0)
        self.assertEqual(self.train(ID_JOB, x=np.arange(84).reshape(12, 7) % 10, y=self.y).returncode, 0)

    def test_job_files(self):
        np.savez(self.folder / "data.npz", x=self.x, y=self.y)
        self.refused(2, ["job.toml", "units", "whole number"], JOB.replace("units = 8", 'units = "eight"'))
        self.refused(2, ["job.toml", "LTSM", "did you mean 'LSTM'"], JOB.replace("LSTM", "LTSM"))
        self.refused(2, ["job.toml", "batch_sise", "did you mean 'batch_size'"], JOB.replace("batch_size", "batch_sise"))
        self.refused(2, ["dense", "2", "3"], JOB.replace('type = "Dense"', 'type = "Dense"\nunits = 2'))
        self.refused(2, ["Embedding"], ID_JOB)
        self.refused(2, ["regress"], JOB.replace("classify", "regres"))

    def test_no_samples(self):
        self.refused(3, ["data.npz", "x"], x=self.x[:0], y=self.y[:0])

    def test_a_length_of_zero(self):
        lengths = np.full(12, 7)
        lengths[5] = 0
        self.refused(3, ["data.npz", "lengths", "5"], x=self.x, y=self.y, lengths=lengths)

    def test_features_that_are_not_finite(self):
        for value in (np.nan, np.inf):
            self.x[4, 2, 1] = value
            self.refused(3, ["data.npz", "sample 4", "step 2"], x=self.x, y=self.y)

    def test_ids_outside_the_vocabulary(self):
        ids = np.arange(84).reshape(12, 7) % 10
        ids[3, 3] = 10
        self.refused(3, ["10"], ID_JOB, x=ids, y=self.y)
        ids[3, 3] = -1
        self.refused(3, ["data.npz", "-1"], ID_JOB, x=ids, y=self.y)

    def test_targets_that_do_not_fit(self):
        self.refused(3, ["data.npz", "y"], x=self.x, y=self.y[:5])
        self.refused(3, ["data.npz", "'y'"], x=self.x)

    def test_truncated_archives(self):
        np.savez(self.folder / "data.npz", x=self.x, y=self.y)
        whole = (self.folder / "data.npz").read_bytes()
        for length in [0, 1, 3, 30, 31, 100, len(whole) // 2, len(whole) - 23, len(whole) - 1]:
            (self.folder / "data.npz").write_bytes(whole[:length])
            self.refused(3, ["data.npz"])

    def test_hostile_arrays(self):
        def archive(header):
            text = header.encode().ljust(118) + b"\n"
            npy = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\0" * 64
            with zipfile.ZipFile(self.folder / "data.npz", "w") as out:
                out.writestr("x.npy", npy)
                out.writestr("y.npy", npy)

        for header in ["{'descr': '<f4', 'fortran_order': False, 'shape': (4194305, 4194305, 211106198978564), }",
                       "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
                       "{'descr': '>f4', 'fortran_order': False, 'shape': (4, 4), }",
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (-4, 4), }",
                       "{'descr': __import__('os'), 'fortran_order': False, 'shape': (4, 4), }",
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000), }"]:
            archive(header)
            self.refused(3, ["data.npz"])

    def test_files_that_are_not_there_or_not_arrays(self):
        self.refused(3, ["nothing.npz"], JOB.replace("data.npz", "nothing.npz"))
        (self.folder / "text.npz").write_text("label,text\n")
        self.refused(3, ["text.npz"], JOB.replace("data.npz", "text.npz"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PLIMSOLL = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
        sys.argv.pop(1)
    unittest.main()
