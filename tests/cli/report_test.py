#!/usr/bin/env python3
"""What a run shows and leaves behind: progress, logs, report, trace, live page, completion.

Run as: python3 tests/cli/report_test.py build/plimsoll
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = ""
ROOT = pathlib.Path(__file__).resolve().parents[2]

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


class Logs(RunTest):
    def lines(self, run):
        return [json.loads(line) for line in (self.folder / run / "metrics.jsonl").read_text().splitlines()]

    def test_the_run_folder_has_logs_that_agree(self):
        self.run_cli("train", "small.toml", "--out", "run", "--log-every", "4")
        lines = self.lines("run")
        self.assertEqual([line["event"] for line in lines[:2]], ["run", "plan"])
        self.assertEqual(lines[-1]["event"], "end")
        steps = [line for line in lines if line["event"] == "step"]
        epochs = [line for line in lines if line["event"] == "epoch"]
        self.assertEqual([step["update"] for step in steps], [1, *range(4, 37, 4)])
        self.assertEqual(len(epochs), 3)
        for step in steps:
            self.assertLessEqual(step["resident_bytes"], step["planned_bytes"])
            self.assertLessEqual(step["planned_bytes"], step["budget_bytes"])
            self.assertLessEqual(sum(step["phase_ms"].values()), step["step_ms"] * 1.01)
            self.assertEqual(len(step["layer_forward_ms"]), 3)
        with open(self.folder / "run/metrics.csv") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([float(row["val_loss"]) for row in rows], [epoch["val_loss"] for epoch in epochs])
        self.assertTrue(all(float(row["backward_ms"]) > 0 and int(row["peak_bytes"]) > 0 for row in rows))
        evaluated = json.loads(self.run_cli("evaluate", "run", "--json").stdout)
        self.assertAlmostEqual(evaluated["accuracy"], lines[-1]["last_accuracy"], places=12)
        self.assertEqual(sum(lines[-1]["confusion"]), evaluated["items"])

    def test_tensorboards_own_reader_reads_the_events(self):
        made = subprocess.run(["bash", "-c", "source tools/setup.sh; need_venv tests/cli/tensorboard.txt && echo $VENV"], cwd=ROOT,
                              capture_output=True, text=True)
        python = made.stdout.strip() + "/bin/python"
        if made.returncode != 0 or not os.path.exists(python):
            without("tensorboard cannot be installed: nobody but us has read the event files")
        self.run_cli("train", "small.toml", "--out", "run")
        epochs = [line for line in self.lines("run") if line["event"] == "epoch"]
        reader = ("import sys, json\n"
                  "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
                  "events = EventAccumulator(sys.argv[1]); events.Reload()\n"
                  "print(json.dumps({tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()['scalars']}))")
        read = lambda: json.loads(subprocess.run([python, "-c", reader, self.folder / "run"], capture_output=True, text=True,
                                                 check=True, timeout=120).stdout)
        scalars = read()
        self.assertEqual([step for step, _ in scalars["epoch/val_loss"]], [epoch["update"] for epoch in epochs])
        for (_, value), epoch in zip(scalars["epoch/val_loss"], epochs):
            self.assertAlmostEqual(value, epoch["val_loss"], places=5)
        self.assertEqual(len(scalars["step/loss"]), 36)
        for tag in ["memory_mb/resident", "memory_mb/planned", "memory_mb/budget", "phase_ms/backward", "step/learning_rate"]:
            self.assertEqual(len(scalars[tag]), 36, tag)
        self.assertTrue(all(value == 64.0 for _, value in scalars["memory_mb/budget"]))
        events = next((self.folder / "run").glob("*tfevents*"))
        damaged = bytearray(events.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        events.write_bytes(damaged)
        self.assertLess(len(read()["step/loss"]), 36, "control: a wrong checksum is seen")

    def test_a_trace_nests_and_names_what_ran(self):
        self.run_cli("train", "small.toml", "--out", "run", "--trace-steps", "5-6")
        trace = json.loads((self.folder / "run/trace.json").read_text())
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual([span["args"]["update"] for span in spans if span["name"] == "update"], [5, 6])
        open_until = []
        for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
            end = span["ts"] + span["dur"]
            while open_until and open_until[-1] <= span["ts"] + 0.0015:
                open_until.pop()
            self.assertTrue(not open_until or end <= open_until[-1] + 0.0015, span)
            open_until.append(end)
        names = {span["name"] for span in spans}
        self.assertLessEqual({"read", "record", "reverse", "loss", "optimizer", "lstm forward", "lstm backward"}, names)
        counters = [event for event in trace["traceEvents"] if event["ph"] == "C"]
        self.assertTrue(all(sum(event["args"].values()) > 0 for event in counters) and counters)
        self.run_cli("train", "small.toml", "--out", "plain")
        self.assertFalse((self.folder / "plain/trace.json").exists())
        for words in ["0", "x", "3-2", "3-", "-3", "1-2-3"]:
            self.run_cli("train", "small.toml", f"--trace-steps={words}", code=2)


class Report(RunTest):
    def test_every_run_ends_with_a_page_and_its_own_exit_code(self):
        self.run_cli("train", "small.toml", "--out", "run")
        page = (self.folder / "run/report.html").read_text()
        self.assertTrue(page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n"))
        self.assertNotIn("http", page)
        (self.folder / "wild.toml").write_text('task = "regress"\n[data]\ntrain = "generate:adding?steps=20&samples=512"\n'
                                               '[[model.layers]]\ntype = "SimpleRNN"\nunits = 8\nactivation = "linear"\n'
                                               '[[model.layers]]\ntype = "Dense"\n')
        done = self.run_cli("train", "wild.toml", "--out", "wild", "--lr", "1000", "--optimizer", "sgd", "--memory", "64MB", code=5)
        self.assertIn("finite", done.stderr)
        self.assertIn("stopped", (self.folder / "wild/report.html").read_text())
        self.run_cli("train", "small.toml", "--out", "none", "--memory", "1MB", code=4)
        self.assertFalse((self.folder / "none").exists())
        only = json.loads(self.run_cli("train", "small.toml", "--out", "json", "--json").stdout)
        self.assertEqual(only["run"], "json")

    def test_explain_says_what_the_page_shows(self):
        self.run_cli("train", "small.toml", "--out", "run")
        (self.folder / "run/report.html").unlink()
        text = self.run_cli("explain", "run").stdout
        self.assertIn("planned", text)
        self.assertTrue((self.folder / "run/report.html").exists())
        told = json.loads(self.run_cli("explain", "run", "--json").stdout)
        self.assertEqual(sum(told["owners"].values()), told["planned_bytes"])
        self.assertLessEqual(told["peak_bytes"], told["planned_bytes"])
        self.run_cli("train", "small.toml", "--out", "two", "--lr", "1e-3")
        self.run_cli("explain", "run", "--against", "two", "--out", "both.html")
        self.assertIn("- [train] learning_rate = 0.01", (self.folder / "both.html").read_text())

    def test_bad_input_is_refused(self):
        for words, code in [([], 2), (["nowhere"], 3), (["."], 3), (["small.toml"], 3), (["run", "--against", "nowhere"], 3),
                            (["run", "--out", "/no/such/folder/x.html"], 7), (["run", "more"], 2)]:
            if not (self.folder / "run").exists():
                self.run_cli("train", "small.toml", "--out", "run")
            done = self.run_cli("explain", *words, code=code)
            self.assertTrue(done.stderr.startswith("plimsoll: "), done.stderr)
            self.assertEqual(json.loads(self.run_cli("explain", *words, "--json", code=code).stdout)["error"]["code"], code)

    def test_the_page_takes_less_memory_than_any_run(self):
        self.run_cli("train", "small.toml", "--out", "run", "--epochs", "300", "--log-every", "1")
        program = os.path.join(os.path.dirname(PROGRAM), "plimsoll-report")
        done = subprocess.run([os.path.join(os.path.dirname(PROGRAM), "capsule"), "--limit", "1000000000", "--group", "none", "--report",
                               self.folder / "peak.json", "--", program, self.folder / "run"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(json.loads((self.folder / "peak.json").read_text())["peak_bytes"], 9_500_000)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
