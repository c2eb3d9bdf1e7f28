#!/usr/bin/env python3
"""What a run shows and leaves behind: progress, logs, report, trace, live page, completion.

Run as: python3 tests/cli/report_test.py build/plimsoll
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = ""

JOB = """
task = "classify"
[data]
train = "generate:copy?delay=10&count=3&symbols=4&samples=256"
valid = 0.25
[[model.layers]]
type = "Embedding"
output_dim = 8
[[model.layers]]
type = "LSTM"
units = 16
[[model.layers]]
type = "Dense"
[train]
batch_size = 16
epochs = 3
learning_rate = 1e-2
seed = 3
threads = 1
[memory]
budget = "64MB"
"""


def without(what):
    """Says loudly that a test did not run."""
    print(f"SKIPPED: {what}", file=sys.stderr)
    raise unittest.SkipTest(what)


class RunTest(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.place.name)
        self.job = self.folder / "small.toml"
        self.job.write_text(JOB)

    def tearDown(self):
        self.place.cleanup()

    def run_cli(self, *words, code=0, **more):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=300, **more)
        self.assertEqual(done.returncode, code, f"{words}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        return done


class Progress(RunTest):
    def test_a_log_file_has_no_escape_and_no_carriage_return(self):
        for flags in [[], ["--color", "always"], ["--log-format", "line"], ["--log-format", "json"]]:
            log = self.folder / "log"
            with open(log, "wb") as file:
                subprocess.run([PROGRAM, "train", self.job, *flags, "--out", self.folder / f"run{len(flags)}{flags[-1:]}"],
                               cwd=self.folder, stdout=file, stderr=file, check=True, timeout=300)
            text = log.read_bytes()
            self.assertIn(b"poch", text)
            self.assertNotIn(b"\x1b", text)
            self.assertNotIn(b"\r", text)
        done = subprocess.run([PROGRAM, "train", self.job, "--log-format", "bar", "--out", self.folder / "bar"], cwd=self.folder,
                              capture_output=True, check=True, timeout=300)
        self.assertIn(b"\r", done.stderr, "control: a bar that was asked for is seen")

    def test_quiet_and_none_say_nothing(self):
        for flags in [["--quiet"], ["--log-format", "none"]]:
            self.assertEqual(self.run_cli("train", "small.toml", *flags).stderr, "")

    def test_in_tmux_the_screen_stays_clean_while_the_window_changes(self):
        if shutil.which("tmux") is None:
            without("tmux is not installed: the bar was not seen in a real terminal")
        socket = str(self.folder / "tmux")
        tmux = lambda *words: subprocess.run(["tmux", "-S", socket, "-f", "/dev/null", *words], capture_output=True, text=True,
                                             timeout=60, env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"})
        started = tmux("new-session", "-d", "-x", "110", "-y", "30", f"{PROGRAM} demo --epochs 50; sleep 60")
        if started.returncode != 0:
            without(f"tmux does not start here: {started.stderr}")
        try:
            def bar_at(columns):
                tmux("resize-window", "-x", str(columns), "-y", "30")
                time.sleep(0.5)
                for _ in range(100):  # a busy machine draws late
                    lines = [line for line in tmux("capture-pane", "-p").stdout.splitlines() if line.strip()]
                    if lines and lines[-1].startswith("Epoch") and len(lines[-1]) <= columns:
                        return lines
                    time.sleep(0.2)
                self.fail("\n".join(lines))
            for columns in [110, 60, 34, 100]:
                lines = bar_at(columns)
                remains = [line for line in lines[:-1] if "─" in line or ("mem " in line and "val_loss" not in line)]
                self.assertEqual(remains, [], "\n".join(lines))
        finally:
            tmux("kill-server")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
