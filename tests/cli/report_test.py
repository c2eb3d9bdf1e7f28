#!/usr/bin/env python3
"""What a run shows and leaves behind: progress, logs, report, trace, live page, completion.

Run as: python3 tests/cli/report_test.py build/plimsoll
"""
import csv
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
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
        self.place = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a browser that ends may still write there
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)
        self.job = self.folder / "small.toml"
        self.job.write_text(JOB)

    def run_cli(self, *words, code=0, **more):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=300, **more)
        self.assertEqual(done.returncode, code, f"{words}\nstdout: {done.stdout}\nstderr: {done.stderr}")
        return done


class Browser:
    """Chromium without a window, driven through its debugging pipe: one JSON object each way, ended by a zero byte."""

    def __init__(self, folder):
        program = shutil.which("chromium")
        if program is None:
            without("chromium is not installed: nobody has looked at the pages")
        to_read, self.to_write = os.pipe()
        self.to_answer, to_tell = os.pipe()

        def wire():
            os.dup2(to_read, 1003)
            os.dup2(to_tell, 1004)
            os.dup2(1003, 3)
            os.dup2(1004, 4)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={folder}/chromium", "about:blank"],
            preexec_fn=wire, close_fds=False, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_tell)
        self.number, self.rest, self.events = 0, b"", []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network"]:
            self.ask(f"{domain}.enable")

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to_write)
        os.close(self.to_answer)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                if not select.select([self.to_answer], [], [], 60)[0]:
                    raise TimeoutError(method)
                piece = os.read(self.to_answer, 1 << 20)
                if not piece:
                    without("chromium does not start here: nobody has looked at the pages")
                self.rest += piece
            answer, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, address, width=1100, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Page.navigate", url=address)
        self.until("document.readyState == 'complete'")

    def value(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def until(self, expression, seconds=60):
        began = time.monotonic()
        while not self.value(expression):
            if time.monotonic() - began > seconds:
                raise TimeoutError(expression)
            time.sleep(0.1)


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


class Examples(RunTest):
    """Where a score has no more samples than are kept, its own numbers follow from the examples."""

    def end_of(self, run):
        return json.loads((self.folder / run / "metrics.jsonl").read_text().splitlines()[-1])

    def train(self, task, data, layers, epochs=2):
        job = f'task = "{task}"\n[data]\n{data}\n' + "".join(f"[[model.layers]]\n{layer}\n" for layer in layers)
        (self.folder / "job.toml").write_text(job + f'[train]\nepochs = {epochs}\nbatch_size = 8\nlearning_rate = 1e-2\n'
                                              f'[memory]\nbudget = "64MB"\n')
        for old in self.folder.glob("run"):
            shutil.rmtree(old)
        self.run_cli("train", "job.toml", "--out", "run", "--data.cache", self.folder / "cache")
        return self.end_of("run"), (self.folder / "run/report.html").read_text()

    def table(self, name, rows):
        (self.folder / name).write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))

    def hits(self, end):
        judged = [example for example in end["examples"] if "target" in example]
        return sum(example["likely"][0][0] == example["target"] for example in judged), len(judged)

    EMBEDDED = ['type = "Embedding"\noutput_dim = 8', 'type = "LSTM"\nunits = 8', 'type = "Dense"']

    def test_classes_have_names_and_texts(self):
        rows = [("warm sun and sand", "summer"), ("cold ice and snow", "deep <winter>"), ("leaves and rain", "fall")] * 20
        self.table("train.tsv", rows)
        self.table("valid.tsv", rows[:10])
        end, page = self.train("classify", 'train = "train.tsv"\nvalid = "valid.tsv"', self.EMBEDDED, epochs=8)
        hits, all_of_them = self.hits(end)
        self.assertEqual(all_of_them, 10)
        self.assertAlmostEqual(hits / 10, end["last_accuracy"], places=12)
        self.assertGreater(hits, 5)
        self.assertIn("<td>cold ice and snow</td><td>deep &lt;winter&gt;</td>", page)
        self.assertIn("<th>summer</th>", page)
        self.assertIn("<th><span>fall</span></th>", page)

    def test_a_language_model_shows_the_text(self):
        text = "the cat sat on the mat. " * 200
        (self.folder / "train.txt").write_text(text)
        (self.folder / "valid.txt").write_text(text[:129])
        end, page = self.train("lm", 'train = "train.txt"\nvalid = "valid.txt"\nwindow = 32', self.EMBEDDED)
        hits, all_of_them = self.hits(end)
        self.assertEqual(all_of_them, 128)
        self.assertAlmostEqual(hits / 128, end["last_accuracy"], places=12)
        shown = re.findall(r"<b>([^<]*)</b>", page[page.index('<div class="steps">'):])
        self.assertTrue("".join(shown).startswith(text[:33].replace(" ", "\u2423")), shown)

    def test_tags_stand_under_their_words_with_and_without_a_crf(self):
        rows = [("the cat sees a dog", "D N V D N"), ("a dog runs", "D N V"), ("dogs run", "N V")] * 20
        self.table("train.tsv", rows)
        self.table("valid.tsv", rows[:4])
        for more in [[], ['type = "CRF"']]:
            end, page = self.train("tag", 'train = "train.tsv"\nvalid = "valid.tsv"', self.EMBEDDED + more, epochs=1)
            hits, all_of_them = self.hits(end)
            self.assertEqual(all_of_them, 5 + 3 + 2 + 5)
            self.assertAlmostEqual(hits / all_of_them, end["last_accuracy"], places=12)
            self.assertIn("<em>sees</em><b>V</b>", page)

    def test_several_labels(self):
        rows = [("sea and salt", "sea|food"), ("bread", "food"), ("ship", "sea"), ("drum song", "music")] * 20
        self.table("train.tsv", rows)
        self.table("valid.tsv", rows[:4])
        end, page = self.train("classify", 'train = "train.tsv"\nvalid = "valid.tsv"\nlabel_separator = "|"', self.EMBEDDED, epochs=20)
        wanted = [(example["sample"], example["step"]) for example in end["examples"] if example.get("wanted") == 1]
        self.assertEqual(sorted(wanted), [(0, 0), (0, 2), (1, 0), (2, 2), (3, 1)], "food, music, sea")
        self.assertIn("<td>sea and salt</td><td>food, sea</td>", page)

    def test_values_of_a_regression_and_of_a_forecast(self):
        end, page = self.train("regress", 'train = "generate:adding?steps=10&samples=64"', self.EMBEDDED[1:])
        pairs = [(example["wanted"], example["given"]) for example in end["examples"]]
        self.assertEqual(len(pairs), 64)
        self.assertAlmostEqual(sum((wanted - given) ** 2 for wanted, given in pairs) / 64, end["last_loss"], places=6)
        self.assertIn("On the line it is right", page)
        (self.folder / "train.csv").write_text("level\n" + "".join(f"{100 + i % 7}\n" for i in range(400)))
        (self.folder / "valid.csv").write_text("level\n" + "".join(f"{100 + i % 7}\n" for i in range(15)))
        end, page = self.train("forecast", 'train = "train.csv"\nvalid = "valid.csv"\nlabel = ["level"]\nwindow = 8\nhorizon = 4', self.EMBEDDED[1:])
        pairs = [(example["wanted"], example["given"]) for example in end["examples"]]
        self.assertEqual(len(pairs), 16)
        self.assertAlmostEqual(sum((wanted - given) ** 2 for wanted, given in pairs) / 16, end["last_loss"], places=6)
        self.assertIn("level, example 1", page)
        self.assertIn(">104<", page, "in its own unit")


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
        page = (self.folder / "wild/report.html").read_text()
        self.assertIn("stopped", page)
        self.assertIn("is not finite at update", page)
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

    def test_a_port_in_use_and_a_run_that_is_none_are_refused(self):
        self.run_cli("train", "small.toml", "--out", "run")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = self.run_cli("watch", "run", "--port", taken.getsockname()[1], code=2)
            self.assertIn("in use", done.stderr)
            self.assertIn("--port", done.stderr)
        self.run_cli("watch", "nowhere", code=3)
        self.run_cli("watch", code=2)
        self.run_cli("watch", "run", "--port", "70000", code=2)

    def test_the_page_takes_less_memory_than_any_run(self):
        self.run_cli("train", "small.toml", "--out", "run", "--epochs", "300", "--log-every", "1")
        program = os.path.join(os.path.dirname(PROGRAM), "plimsoll-report")
        done = subprocess.run([os.path.join(os.path.dirname(PROGRAM), "capsule"), "--limit", "1000000000", "--group", "none", "--report",
                               self.folder / "peak.json", "--", program, self.folder / "run"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(json.loads((self.folder / "peak.json").read_text())["peak_bytes"], 9_500_000)


class Pages(RunTest):
    def setUp(self):
        super().setUp()
        self.browser = Browser(self.folder)
        self.addCleanup(self.browser.close)

    def test_the_report_fits_a_phone_is_dark_in_the_dark_and_asks_for_nothing(self):
        self.run_cli("train", "small.toml", "--out", "run")
        self.run_cli("train", "small.toml", "--out", "a-rather-long-name-of-a-run-that-nobody-would-want-to-type-twice", "--epochs", "1")
        self.run_cli("explain", "run", "--against", next(self.folder.glob("a-rather*")), "--out", "both.html")
        light = {}
        for page in ["run/report.html", "both.html"]:
            for width in [400, 1100]:
                for dark in [False, True]:
                    self.browser.open(f"file://{self.folder}/{page}", width, dark)
                    self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width, page)
                    paper = self.browser.value("getComputedStyle(document.body).backgroundColor")
                    light[dark] = sum(map(int, re.findall(r"\d+", paper)[:3]))
                self.assertGreater(light[False], 600)
                self.assertLess(light[True], 120)
            self.assertGreaterEqual(self.browser.value("document.querySelectorAll('svg').length"), 6)
        asked = [event["params"]["request"]["url"] for event in self.browser.events if event["method"] == "Network.requestWillBeSent"]
        self.assertEqual([url for url in asked if not url.startswith(("file:", "data:", "about:"))], [])
        self.assertEqual([event for event in self.browser.events if event["method"] == "Runtime.exceptionThrown"], [])

    def test_words_of_a_table_are_not_torn(self):
        rows = [("warm sun and sand on a very long and lazy afternoon", "midsummer"), ("cold ice and snow", "midwinter")] * 30
        (self.folder / "days.tsv").write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
        self.run_cli("train", "--task", "classify", "--data", "days.tsv", "--valid", "0.2", "--epochs", "2", "--out", "days", "--memory",
                     "64MB", "--data.cache", self.folder / "cache", '--train.metrics=["f1_macro", "recall"]')
        lines = ("Math.max(...[...document.querySelectorAll('.of-text td:nth-child(2)')].map(cell => {"
                 "const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length }))")
        for width in [400, 1100]:
            self.browser.open(f"file://{self.folder}/days/report.html", width)
            self.assertEqual(self.browser.value(lines), 1, width)
            self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)
            self.assertLessEqual(self.browser.value("document.querySelector('.charts svg').getBoundingClientRect().width"), 480)
        self.browser.value("document.querySelectorAll('.of-text td').forEach(cell => cell.style.overflowWrap = 'anywhere')")
        self.browser.value("document.querySelector('.of-text').style.width = '200px'")
        self.assertGreater(self.browser.value(lines), 1, "control: a torn word is seen")

    def test_the_live_page_follows_a_run_to_its_end(self):
        training = subprocess.Popen([PROGRAM, "train", self.job, "--out", self.folder / "run", "--epochs", "4000", "--quiet"],
                                    cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(training.wait)
        self.addCleanup(training.kill)
        for _ in range(100):
            if (self.folder / "run/metrics.jsonl").exists():
                break
            time.sleep(0.1)
        before = sorted(os.listdir(self.folder / "run"))
        watching = subprocess.Popen([PROGRAM, "watch", self.folder / "run", "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(watching.stdout.close)
        self.addCleanup(watching.wait)
        self.addCleanup(watching.kill)
        address = watching.stdout.readline().split()[1]
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/$")
        self.browser.open(address)
        self.assertEqual(self.browser.value("document.querySelector('.state').textContent"), "training")
        self.browser.until("document.body.dataset.draws >= 2")
        self.assertEqual(sorted(os.listdir(self.folder / "run")), before, "watching writes nothing")
        training.kill()
        training.wait()
        with open(self.folder / "run/metrics.jsonl", "a") as file:
            file.write('{"event":"end","seconds":1,"updates":7,"epochs":1,"peak_bytes":1,"last_loss":0.5}\n')
        self.browser.until("document.querySelector('.state').textContent == 'done'")
        self.assertEqual([event for event in self.browser.events if event["method"] == "Runtime.exceptionThrown"], [])


class Completion(RunTest):
    def script(self, shell):
        path = self.folder / f"plimsoll.{shell}"
        path.write_text(self.run_cli("completion", shell).stdout)
        return path

    def flags_of(self, verb):
        """As --help lists them."""
        return set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", self.run_cli(verb, "--help").stdout, re.M))

    def verbs(self):
        return re.findall(r"^  ([a-z]+)[ ,]", self.run_cli("--help").stdout.split("Verbs:")[1].split("\n\n")[0], re.M)

    def test_bash_completes_verbs_flags_choices_and_files(self):
        script = self.script("bash")

        def offered(*words):
            line = " ".join(f"'{word}'" for word in ["plimsoll", *words])
            done = subprocess.run(["bash", "-c", f'source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _plimsoll; '
                                   'printf "%s\\n" "${COMPREPLY[@]}"'], cwd=self.folder, capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")
            return set(done.stdout.split())
        self.assertEqual(offered("tra"), {"train"})
        self.assertLessEqual(set(self.verbs()), offered(""))
        for verb in self.verbs():
            self.assertLessEqual(self.flags_of(verb), offered(verb, "-"), verb)
        self.assertEqual(offered("train", "--log-format", "l"), {"line"})
        self.assertEqual(offered("train", "sm"), {"small.toml"})
        self.assertEqual(offered("train", "--data", "sm"), {"small.toml"})
        self.assertEqual(offered("train", "--epochs", "sm"), set())
        self.assertEqual(offered("completion", ""), {"bash", "zsh", "fish", "man"})

    def test_fish_completes_them_too(self):
        if shutil.which("fish") is None:
            without("fish is not installed: its completion was not tried")
        script = self.script("fish")

        def offered(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], cwd=self.folder,
                                  capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(self.folder)})
            self.assertEqual(done.stderr, "")
            return {word.split("\t")[0] for word in done.stdout.splitlines()}
        self.assertEqual(offered("plimsoll tra"), {"train"})
        for verb in self.verbs():
            self.assertLessEqual(self.flags_of(verb), offered(f"plimsoll {verb} --"), verb)
        self.assertEqual(offered("plimsoll train --log-format "), {"auto", "bar", "line", "json", "none"})

    def test_zsh_takes_its_script(self):
        if shutil.which("zsh") is None:
            without("zsh is not installed: its completion was not tried")
        script = self.script("zsh")
        asked = ("autoload -U compinit; compinit -u -d $HOME/dump; source $1; print -r -- $_comps[plimsoll]; "
                 "_describe() { print -r -- verbs ${#verbs}; }; _arguments() { print -rl -- \"$@\"; }; "
                 "words=(plimsoll ''); CURRENT=2; _plimsoll; words=(plimsoll train ''); CURRENT=3; _plimsoll")
        done = subprocess.run(["zsh", "-f", "-c", asked, "zsh", script], capture_output=True, text=True, check=True,
                              env={**os.environ, "HOME": str(self.folder)})
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "_plimsoll")
        self.assertEqual(lines[1], f"verbs {len(self.verbs())}")
        self.assertLessEqual(self.flags_of("train"), {line.split("[")[0] for line in lines[2:]})

    def test_the_man_page_is_one_and_names_every_flag(self):
        page = self.script("man")
        text = page.read_text().replace("\\-", "-")
        for verb in self.verbs():
            self.assertIn(f".SS {verb}", text)
            for flag in self.flags_of(verb):
                self.assertIn(flag, text)
        if shutil.which("mandoc") is None:
            without("mandoc is not installed: the man page was not checked")
        self.assertEqual(subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True).stdout, "")

    def test_other_shells_are_refused(self):
        self.assertIn("bash", self.run_cli("completion", "tcsh", code=2).stderr)
        self.run_cli("completion", code=2)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
