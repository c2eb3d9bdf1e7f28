#!/usr/bin/env python3
"""What must hold of the command line as a whole: exit codes, streams, JSON, help, suggestions.

Run as: python3 tests/cli/cli_test.py build/plimsoll
"""
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM = ""

VERBS = ["train", "plan", "evaluate", "predict", "generate", "lengths", "summary", "verify", "resize", "explain", "watch", "bench", "completion", "doctor", "demo"]

JOB = """
task = "regress"
[data]
train = "generate:adding?steps=24&samples=256&min_steps=8"
valid = 0.25
[[model.layers]]
type = "LSTM"
units = 16
[[model.layers]]
type = "Dense"
units = 1
[train]
batch_size = 32
epochs = 2
learning_rate = 1e-2
seed = 3
threads = 1
[memory]
budget = "64MB"
"""


def without_bytes(message):
    """The process base is measured in whole pages and may differ by some of them from one run to the next."""
    return re.sub(r"[\d.]+(?= (bytes|kB|MB)\b)|(?<=--memory )\d+", "N", message)


class CliTest(unittest.TestCase):
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

    def refused(self, *words, code=2, says=()):
        """The refusal is on stderr, twice the same as JSON on stdout, and says what it must."""
        done = self.run_cli(*words, code=code)
        self.assertEqual(done.stdout, "", words)
        self.assertTrue(done.stderr.startswith("plimsoll: "), done.stderr)
        for text in says:
            self.assertIn(text, done.stderr)
        as_json = self.run_cli(*words, "--json", code=code)
        error = json.loads(as_json.stdout)["error"]
        self.assertEqual(error["code"], code)
        self.assertIn(without_bytes(error["message"]), without_bytes(done.stderr))
        self.assertIn("hint", error)
        self.assertEqual(as_json.stderr, "")
        return error


class Help(CliTest):
    def test_every_help_fits_a_screen_and_ends_with_two_examples(self):
        for words in [["--help"], *[[verb, "--help"] for verb in VERBS], ["help", "train"]]:
            text = self.run_cli(*words).stdout
            lines = text.splitlines()
            self.assertLessEqual(len(lines), 40, words)
            self.assertLessEqual(max(map(len, lines)), 100, words)
            self.assertEqual(lines[-3], "Examples:", words)
            for line in lines[-2:]:
                self.assertTrue(line.startswith("  plimsoll "), line)

    def test_the_general_help_names_every_verb(self):
        text = self.run_cli("--help").stdout
        for verb in VERBS:
            self.assertIn(f"\n  {verb}", text)

    def test_version(self):
        self.assertRegex(self.run_cli("--version").stdout, r"^plimsoll \d+\.\d+\.\d+\n$")
        self.assertIn("version", json.loads(self.run_cli("--version", "--json").stdout))


class Usage(CliTest):
    def test_unknown_verbs_are_answered_with_the_nearest(self):
        self.refused("trian", says=["unknown verb trian", "did you mean 'train'?"])
        self.refused("evalute", says=["did you mean 'evaluate'?"])
        self.refused("fits", says=["did you mean 'fit'?"])
        self.refused("small.toml", says=["try: plimsoll train small.toml"])
        self.refused("frobnicate", says=["unknown verb frobnicate", "plimsoll --help"])

    def test_nothing_is_not_enough(self):
        self.assertIn("plimsoll --help", self.run_cli(code=2).stderr)

    def test_unknown_flags_are_answered_with_the_nearest(self):
        self.refused("train", "small.toml", "--epoch", "3", says=["unknown flag --epoch of train", "did you mean '--epochs'?"])
        self.refused("plan", "small.toml", "--memroy=1GB", says=["did you mean '--memory'?"])
        self.refused("doctor", "--memory", "1GB", says=["unknown flag --memory of doctor"])
        self.refused("train", "small.toml", "other.toml", says=["takes no further argument"])
        self.refused("train", "small.toml", "--train.epoch=3", says=["unknown key", "did you mean 'epochs'?"])
        self.refused("evaluate", "runs/x", "--train.epochs=3", says=["has no job"])

    def test_values_are_checked_before_anything_runs(self):
        self.refused("train", "small.toml", "--epochs", "five", says=['train.epochs: wanted a whole number, got text "five"'])
        self.refused("train", "small.toml", "--epochs", "0", says=["from 1 to"])
        self.refused("train", "small.toml", "--lr", "-1", says=["train.learning_rate: wanted a number from 0 to 1000, got -1"])
        self.refused("train", "small.toml", "--optimizer", "adamm", says=["wanted one of adam, adamw, sgd", "did you mean 'adam"])
        self.refused("plan", "small.toml", "--train.momentum=0.9", says=["train.momentum = 0.9: a setting of optimizer sgd alone"])
        self.refused("train", "small.toml", "--train.clip_value=1", "--clip-norm", "1", says=["clipped by one of them"])
        self.refused("train", "small.toml", "--memory", "12 parsecs", says=["12 parsecs", "wanted bytes, or an amount like 256MB"])
        self.refused("train", "small.toml", "--memory", "0")
        self.refused("train", "small.toml", "--memory", "-5MB", says=["not negative"])
        self.refused("train", "small.toml", "--memory", "200%", says=["at most 100%"])
        self.refused("train", "small.toml", "--task", "clasify", says=["did you mean 'classify'?"])
        self.refused("train", "small.toml", "--log-format", "bra", says=["did you mean 'bar'?"])
        self.refused("train", "small.toml", "--color", "pink")
        self.refused("train", "small.toml", "--train.epochs", says=["has no value"])
        self.refused("evaluate", "runs/x", "--threads", "-1")
        self.refused("evaluate", "runs/x", "--memory", "lots")

    def test_the_job_must_be_there_and_readable(self):
        self.refused("train", says=["no job file and no data", "--data"])
        self.refused("train", "none.toml", says=["none.toml", "No such file"])
        self.refused("train", ".", says=["Is a directory"])
        self.refused("train", "x.npz", says=["is a data file", "--data x.npz"])
        self.refused("evaluate", says=["run folder is missing"])
        (self.folder / "bad.toml").write_text("[train]\nepochs = = 5\n")
        self.refused("plan", "bad.toml", says=["bad.toml:2:", "not TOML"])
        (self.folder / "bad.json").write_text('{"train": {\n"epochs": 5,}}')
        self.refused("plan", "bad.json", says=["bad.json:2:", "not JSON"])
        (self.folder / "key.toml").write_text("[train]\nepoch = 5\n")
        self.refused("plan", "key.toml", says=["key.toml:2: unknown key", "did you mean 'epochs'?"])

    def test_a_full_stdout_is_exit_code_7(self):
        if not os.path.exists("/dev/full"):
            self.fail("this test needs /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 7)
        self.assertIn("No space left", done.stderr)

    def test_hostile_words_do_not_crash(self):
        for word in ["", "-", "--", "---", "--=", "--.", "--.=", "=", "--x=", "\x1b[31m", "é", "-1", "a" * 100_000]:
            for words in [[word], ["train", word], ["train", "--epochs", word], ["plan", "--train.epochs", word], ["evaluate", word]]:
                done = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, timeout=60)
                self.assertIn(done.returncode, (2, 3), [w[:40] for w in words])


class Config(CliTest):
    def test_print_config_is_a_job_file_that_gives_itself(self):
        once = self.run_cli("train", "small.toml", "--print-config").stdout
        (self.folder / "again.toml").write_text(once)
        self.assertEqual(self.run_cli("plan", "again.toml", "--print-config").stdout, once)
        self.assertIn("units = 16", once)
        self.assertEqual(list(self.folder.glob("runs")), [])

    def test_flags_win_over_the_file_and_the_long_names_over_the_short(self):
        text = self.run_cli("train", "small.toml", "--epochs", "7", "--lr=.5", "--data", "2024", "--train.seed", "9", "--epochs=8",
                            "--train.beta_1=0.5", "--model.layers.0.units=24", "--memory", "1000000", "--print-config").stdout
        for line in ["epochs = 8 ", "learning_rate = 0.5 ", "seed = 9 ", "beta_1 = 0.5 ", "units = 24 ", 'budget = "1000000" ',
                     f'train = "{os.path.realpath(self.folder)}/2024"']:
            self.assertIn(line, text.replace(str(self.folder), os.path.realpath(self.folder)))
        text = self.run_cli("train", "small.toml", "--epochs", "7", "--train.epochs=6", "--print-config").stdout
        self.assertIn("epochs = 6 ", text)

    def test_every_optimizer_and_schedule_trains_and_its_config_reads_back(self):
        for optimizer, more in [("adamw", []), ("sgd", ["--train.momentum=0.9", "--train.nesterov=true"]), ("rmsprop", []),
                                ("adagrad", [])]:
            self.run_cli("train", "small.toml", "--optimizer", optimizer, *more, "--out", optimizer, "--quiet")
            self.assertIn(f'optimizer = "{optimizer}"', (self.folder / optimizer / "job.toml").read_text())
            self.run_cli("evaluate", optimizer)
        models = set()
        for schedule in ["constant", "linear", "cosine", "polynomial", "inverse_sqrt", "step", "exponential", "one_cycle"]:
            more = ["--train.lr_power=2"] if schedule == "polynomial" else []  # or it would be linear
            self.run_cli("train", "small.toml", "--lr-schedule", schedule, "--warmup-steps", "3", *more, "--out", schedule,
                         "--quiet")
            models.add((self.folder / schedule / "model" / "model.safetensors").read_bytes())
        self.assertEqual(len(models), 8, "every schedule gives weights of its own")
        text = self.run_cli("train", "--data", "generate:adding", "--optimizer", "sgd", "--print-config").stdout
        self.assertIn("learning_rate = 0.01 ", text)

    def test_paths_in_a_file_are_relative_to_the_file(self):
        (self.folder / "deep").mkdir()
        (self.folder / "deep" / "job.toml").write_text('[data]\ntrain = "x.npz"\n')
        self.assertIn("/deep/x.npz", self.run_cli("plan", "deep/job.toml", "--print-config").stdout)

    def test_json_jobs_are_read_too(self):
        (self.folder / "job.json").write_text('{"task": "regress", "train": {"epochs": 4}}')
        text = self.run_cli("train", "job.json", "--print-config").stdout
        self.assertIn('task = "regress"', text)
        self.assertIn("epochs = 4 ", text)

    def test_the_demo_can_be_printed_as_a_job(self):
        text = self.run_cli("demo", "--print-config", "--memory", "48MB").stdout
        self.assertIn("generate:adding", text)
        self.assertIn('budget = "48MB"', text)

    def test_with_json_the_config_is_inside_an_object(self):
        self.assertIn("[train]", json.loads(self.run_cli("plan", "small.toml", "--print-config", "--json").stdout)["config"])


class Verbs(CliTest):
    def test_doctor_stays_small(self):
        machine = json.loads(self.run_cli("doctor", "--json").stdout)
        self.assertGreater(machine["cores"], 0)
        self.assertLess(machine["peak_bytes"], 8_000_000)
        self.assertIn("cpu", self.run_cli("doctor").stdout)

    def test_plan_fits_and_says_how(self):
        done = self.run_cli("plan", "small.toml")
        self.assertIn("plan   fits: ", done.stdout)
        self.assertIn("smallest budget", done.stdout)
        plan = json.loads(self.run_cli("plan", "small.toml", "--json").stdout)
        self.assertTrue(plan["feasible"])
        self.assertLessEqual(plan["peak_bytes"], plan["budget_bytes"])
        self.assertEqual(sum(plan["owners"].values()), plan["peak_bytes"])

    def test_a_budget_that_is_too_small_is_exit_code_4_with_the_smallest_that_works(self):
        error = self.refused("train", "small.toml", "--memory", "1MB", code=4)
        self.assertGreater(error["min_bytes"], 1_000_000)
        self.assertEqual(list(self.folder.glob("runs/*")), [])
        self.run_cli("plan", "small.toml", "--memory", error["min_bytes"] + 1_000_000)

    def test_a_plan_that_does_not_fit_is_shown_and_exit_code_4(self):
        self.assertIn("does not fit 1 MB", self.run_cli("plan", "small.toml", "--memory", "1MB", code=4).stdout)
        plan = json.loads(self.run_cli("plan", "small.toml", "--memory", "1MB", "--json", code=4).stdout)
        self.assertFalse(plan["feasible"])
        self.assertGreater(plan["min_bytes"], 1_000_000)

    def test_more_than_the_machine_has_is_said(self):
        self.assertIn("only", self.run_cli("plan", "small.toml", "--memory", "900TB").stdout)

    def test_changes_that_a_refusal_offers_do_what_they_say(self):
        job = ["small.toml", "--data", "generate:adding?steps=4000&samples=256", "--model.layers.0.units=200"]
        plan = json.loads(self.run_cli("plan", *job, "--memory", "1MB", "--json", code=4).stdout)
        changes = plan["changes"]
        self.assertTrue(1 <= len(changes) <= 3)
        self.assertEqual([change["min_bytes"] for change in changes], sorted(change["min_bytes"] for change in changes))
        tried = 0
        for change in changes:
            self.assertLess(change["min_bytes"], plan["min_bytes"])
            if " = " not in change["change"]:
                continue
            key, value = change["change"].split(" = ")
            again = json.loads(self.run_cli("plan", *job, f"--{key}={value}", "--memory", "1MB", "--json", code=4).stdout)
            self.assertLessEqual(abs(again["min_bytes"] - change["min_bytes"]), 32768, change)  # the process base is measured
            tried += 1
        self.assertGreater(tried, 0)

    def test_the_curve_shows_what_memory_buys(self):
        job = ["small.toml", "--data", "generate:adding?steps=400&samples=256"]
        done = self.run_cli("plan", *job, "--curve", "--out", "curve.svg")
        self.assertIn("smallest", done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        xml.etree.ElementTree.parse(self.folder / "curve.svg")
        points = json.loads(self.run_cli("plan", *job, "--curve", "--json").stdout)["curve"]
        self.assertGreater(len(points), 4)
        budgets, times = [point["budget_bytes"] for point in points], [point["extra_time"] for point in points]
        self.assertEqual(budgets, sorted(budgets))
        self.assertEqual(times[-1], 0.0)
        self.assertGreater(times[0], 0.2)
        self.assertTrue(self.refused("plan", *job, "--curve", "--out", "none/curve.svg", code=7))

    def test_dry_run_plans_and_writes_nothing(self):
        self.assertIn("plan   fits", self.run_cli("train", "small.toml", "--dry-run").stdout)
        self.assertEqual(list(self.folder.glob("runs")), [])

    def test_train_writes_a_new_run_each_time_and_over_nothing(self):
        first = self.run_cli("train", "small.toml", "--quiet")
        self.assertEqual(first.stderr, "")
        self.assertIn("run     runs/small\n", first.stdout)
        result = json.loads(self.run_cli("fit", "small.toml", "--json", "--quiet").stdout)
        self.assertEqual(result["run"], "runs/small-2")
        self.assertLess(result["last"]["loss"], result["first"]["loss"])
        self.assertLessEqual(result["peak_bytes"], result["budget_bytes"])
        self.assertTrue((self.folder / "runs/small").is_dir())
        without_file = self.run_cli("train", "--quiet", "--task=regress", "--data=generate:adding?steps=12&samples=64",
                                    '--model.layers=[{type="LSTM", units=4}, {type="Dense"}]', "--json")
        self.assertEqual(json.loads(without_file.stdout)["run"], "runs/regress")

    def test_an_out_that_exists_stays_as_it_is_and_the_run_takes_a_new_name(self):
        (self.folder / "taken").write_text("mine")
        (self.folder / "dangling").symlink_to("nowhere")
        (self.folder / "full").mkdir()
        (self.folder / "full/job.toml").write_text("mine")
        (self.folder / "full-2").write_text("mine, too")
        for asked, used in [("taken", "taken-2"), ("full/", "full-3"), ("dangling", "dangling-2"), ("new/", "new"), ("new", "new-2")]:
            done = self.run_cli("train", "small.toml", "--out", asked, "--json", "--no-report")
            self.assertEqual(json.loads(done.stdout)["run"], used)
            said = f"{asked.rstrip('/')} exists and stays as it is; this run is {used}\n"
            self.assertEqual(said in done.stderr, used != "new", done.stderr)
            self.assertTrue((self.folder / used / "model/job.toml").exists())
        self.assertEqual((self.folder / "taken").read_text(), "mine")
        self.assertEqual(os.listdir(self.folder / "full"), ["job.toml"])
        self.assertEqual((self.folder / "full/job.toml").read_text(), "mine")
        self.assertTrue((self.folder / "dangling").is_symlink())
        told = self.run_cli("demo", "--max-steps", "2", "--out", "taken", "--log-format", "json").stderr.splitlines()[0]
        self.assertEqual(json.loads(told), {"event": "message", "text": "taken exists and stays as it is; this run is taken-3"})
        self.assertEqual(self.run_cli("train", "small.toml", "--out", "taken", "--quiet").stderr, "")

    def test_a_folder_without_rights_is_exit_code_7_and_nothing_is_lost(self):
        self.run_cli("train", "small.toml", "--out", "mine", "--quiet", "--no-report")
        before = sorted(path.name for path in (self.folder / "mine").rglob("*"))
        self.folder.chmod(0o755)
        for program in [PROGRAM, PROGRAM + "-report"]:  # nobody may be kept out of the build folder
            shutil.copy(program, self.folder)
        program = self.folder / os.path.basename(PROGRAM)
        (self.folder / "closed").mkdir(mode=0o700)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        if not nobody:
            (self.folder / "closed").chmod(0)
            self.folder.chmod(0o555)
            self.addCleanup(self.folder.chmod, 0o755)
        for words, says in [(["small.toml", "--out", "new"], "new: cannot make the folder: no rights"),
                            (["small.toml", "--out", "closed/run"], "closed/run: cannot make the folder: no rights"),
                            (["small.toml"], "cannot make the folder runs")]:
            done = subprocess.run([program, "train", *words, "--quiet"], cwd=self.folder, capture_output=True, text=True, timeout=60, **nobody)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count("plimsoll: "), 1, done.stderr)
        if nobody:  # in a run of somebody else's
            done = subprocess.run([program, "train", "--resume", "mine", "--quiet"], cwd=self.folder, capture_output=True, text=True,
                                  timeout=60, **nobody)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertEqual(done.stderr.count("plimsoll: "), 1, done.stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "mine").rglob("*")), before)
        self.assertEqual(self.run_cli("train", "--resume", "mine", "--quiet").stderr, "", "control: who may write goes on")

    def test_a_parent_that_is_missing_is_named(self):
        done = self.run_cli("train", "small.toml", "--out", "no/such/run", "--quiet", code=7)
        self.assertIn("no/such/run: cannot make the folder: no/such is not there\n  try: mkdir -p no/such\n", done.stderr)

    def test_progress_into_a_pipe_has_no_escapes(self):
        done = self.run_cli("train", "small.toml", "--color", "always")
        self.assertNotIn("\x1b", done.stderr + done.stdout)
        self.assertNotIn("\r", done.stderr + done.stdout)
        self.assertIn("plan   fits", done.stderr)
        self.assertIn("Epoch 2/2", done.stderr)

    def test_progress_on_a_terminal_is_a_bar(self):
        reader, writer = pty.openpty()
        process = subprocess.Popen([PROGRAM, "train", "small.toml"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=writer,
                                   env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        os.close(writer)
        shown = b""
        while True:
            try:
                chunk = os.read(reader, 4096)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        os.close(reader)
        self.assertEqual(process.wait(timeout=300), 0)
        self.assertIn("━".encode(), shown)
        self.assertIn(b"\r", shown)

    def test_progress_as_json_is_one_object_a_line(self):
        done = self.run_cli("train", "small.toml", "--log-format", "json")
        events = [json.loads(line)["event"] for line in done.stderr.splitlines()]
        self.assertEqual(events[0], "plan")
        self.assertEqual(events.count("epoch"), 2)

    def test_a_run_can_be_evaluated(self):
        self.run_cli("train", "small.toml", "--quiet", "--out", "mine")
        score = json.loads(self.run_cli("evaluate", "mine", "--json").stdout)
        self.assertGreater(score["items"], 0)
        self.assertIn("loss", self.run_cli("eval", "mine").stdout)
        self.refused("evaluate", "nowhere", code=3, says=["nowhere"])
        self.refused("test", "mine", "--data", "none.npz", code=3, says=["none.npz"])

    def test_missing_data_is_exit_code_3(self):
        self.refused("plan", "--task", "regress", "--data", "none.npz", "--model.layers=[{type='LSTM'}, {type='Dense'}]", code=3,
                     says=["none.npz"])

    def test_summary_and_verify(self):
        summary = json.loads(self.run_cli("summary", "small.toml", "--json").stdout)
        self.assertEqual(summary["parameters"], sum(layer["parameters"] for layer in summary["layers"]))
        self.assertIn("LSTM(units=16", self.run_cli("summary", "small.toml").stdout)
        report = json.loads(self.run_cli("verify", "small.toml", "--json").stdout)
        self.assertTrue(report["ok"] and report["same_bits"])
        self.assertIn("verify  ok", self.run_cli("verify", "small.toml").stdout)

    def test_vectors_beside_the_job_file_are_the_tables_first_and_last(self):
        (self.folder / "jobs").mkdir()
        (self.folder / "jobs" / "vectors.txt").write_text("2 3\nzero 0.25 -0.5 0.75\none 1.5 0.125 -2\n")
        (self.folder / "jobs" / "job.toml").write_text(
            'task = "classify"\n[data]\ntrain = "generate:parity?steps=9&samples=40&per_step=false"\n'
            '[[model.layers]]\ntype = "Embedding"\noutput_dim = 3\nweights = "vectors.txt"\ntrainable = false\n'
            '[[model.layers]]\ntype = "LSTM"\nunits = 7\nkernel_l2 = 1e-3\n[[model.layers]]\ntype = "Dense"\n[train]\nepochs = 2\n')
        trained = json.loads(self.run_cli("train", "jobs/job.toml", "--out", "vectors_run", "--quiet", "--json").stdout)
        content = (self.folder / "vectors_run" / "model" / "model.safetensors").read_bytes()
        self.assertIn(struct.pack("<6f", 0.25, -0.5, 0.75, 1.5, 0.125, -2), content)
        (self.folder / "jobs" / "vectors.txt").write_text("zero 0.25 -0.5 0.75\none 1.5 0.125\n")
        score = json.loads(self.run_cli("evaluate", "vectors_run", "--json").stdout)  # needs the file no more
        self.assertAlmostEqual(score["loss"], trained["last"]["loss"], places=6)
        refused = self.run_cli("train", "jobs/job.toml", "--out", "other_run", code=3)
        self.assertIn("vectors.txt:2: 2 numbers, but output_dim = 3", refused.stderr)

    def test_ctc_learns_to_spell_and_says_how_many_labels_are_wrong(self):
        (self.folder / "spell.toml").write_text(
            'task = "classify"\n[data]\ntrain = "generate:spell?labels=6&min_labels=2&symbols=3&samples=256"\nvalid = 0.2\n'
            '[[model.layers]]\ntype = "Embedding"\noutput_dim = 8\n[[model.layers]]\ntype = "LSTM"\nunits = 16\n'
            '[[model.layers]]\ntype = "Dense"\n[train]\nloss = "ctc"\nbatch_size = 16\nepochs = 12\nlearning_rate = 0.02\n')
        trained = json.loads(self.run_cli("train", "spell.toml", "--out", "spell_run", "--quiet", "--json").stdout)
        self.assertGreater(trained["first"]["label_error_rate"], 0.5)
        self.assertLess(trained["last"]["label_error_rate"], 0.1)
        self.assertLess(trained["last"]["loss"], 0.2 * trained["first"]["loss"])
        self.assertNotIn("accuracy", trained["last"])
        score = json.loads(self.run_cli("evaluate", "spell_run", "--json").stdout)
        self.assertAlmostEqual(score["label_error_rate"], trained["last"]["label_error_rate"], places=6)
        self.assertIn("label error rate 0.0", self.run_cli("evaluate", "spell_run").stdout)
        self.assertIn("CTC(classes=4, labels=6)", self.run_cli("summary", "spell.toml").stdout)
        self.refused("train", "spell.toml", "--train.loss=auto", says=["sequences of labels", 'train.loss = "ctc"'])
        self.refused("train", "spell.toml", "--task=regress", says=['does not go with task "regress"'])
        self.refused("train", "spell.toml", "--model.layers.2.units=3", says=["labels up to 3", "0 is the blank"])
        self.refused("train", "spell.toml", "--data", "generate:parity", says=["no sequences of labels", "generate:spell"])

    def test_the_demo_closes_with_a_report(self):
        done = self.run_cli("demo", "--epochs", "2", "--max-steps", "40")
        for text in ["before  loss", "after   loss", "memory  planned", "budget 16 MB"]:
            self.assertIn(text, done.stdout)
        self.assertEqual(list(self.folder.glob("runs")), [])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: cli_test.py PROGRAM [unittest arguments]")
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
        sys.argv.pop(1)  # the build folder, which every scripted test is given
    unittest.main(verbosity=2)
