#!/usr/bin/env python3
"""What must hold of predictions: a line for each sample in the order of the data, from every kind of input, inside the budget;
the same labels that evaluate counts; bad lines; and what evaluate tells of each class.

  python3 predict_test.py build/plimsoll build [unittest arguments]
"""
import gzip
import json
import math
import pathlib
import random
import subprocess
import time
import unittest

import numpy as np

from text_case import LAYERS, PROGRAM, TextCase, messages, open_folder, table

QUICK = ["--epochs", "6", "--lr", "0.02", "--seed", "3", "--threads", "1", "--memory", "40MB", "--json"]


class PredictTest(TextCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(open_folder(cls))

    def train(self, task, path, out, *words, layers=LAYERS):
        text = self.run_cli("train", "--task", task, "--data", path, f"--model.layers={layers}", *QUICK, "--out", out, *words).stdout
        return json.loads(text)

    def predict(self, *words, **more):
        out = self.run_cli("predict", *words, **more).stdout
        return [json.loads(line) for line in out.splitlines()]


class Texts(PredictTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.train(cls(), "classify", cls.put(cls(), "train.tsv", table(messages(500, longest=30))), "run")

    def test_the_same_lines_come_from_every_kind_of_input(self):
        rows = messages(1300, seed=2, longest=30)  # more than a window
        plain = "".join(text + "\n" for text, _ in rows)
        lines = self.put("new.txt", plain)
        first = self.run_cli("predict", "run", lines).stdout
        said = [json.loads(line) for line in first.splitlines()]
        self.assertEqual(len(said), len(rows))
        right = sum(answer["label"] == label for answer, (_, label) in zip(said, rows))
        self.assertGreater(right, 0.95 * len(rows), "the order is that of the data")
        shuffled = list(zip(said, random.Random(1).sample(rows, len(rows))))
        self.assertLess(sum(answer["label"] == label for answer, (_, label) in shuffled), 0.7 * len(rows), "the control")
        self.assertTrue(all(0.5 <= answer["probability"] <= 1.0 for answer in said))
        objects = "".join(json.dumps({"text": text}) + "\n" for text, _ in rows)
        for words, stdin in [((self.put("new.tsv", table(rows)),), b""), ((self.put("new.jsonl", objects),), b""),
                             ((self.put("new.txt.gz", gzip.compress(plain.encode())),), b""), ((), plain.encode()),
                             (("-",), plain.encode()), ((), gzip.compress(plain.encode())),
                             (("-", "--input-format", "jsonl"), objects.encode()), ((lines, "--threads", "2"), b""),
                             ((lines, "--memory", "24MB"), b""), ((lines, "--json"), b"")]:
            again = self.run_cli("predict", "run/model", *words, stdin=stdin).stdout
            self.assertEqual(again, first, words)

    def test_it_says_what_evaluate_counts(self):
        rows = messages(300, seed=5, longest=30)
        rows[7] = ("the bad film", "pos")  # one that must be wrong
        path = self.put("test.tsv", table(rows))
        out = self.run_cli("evaluate", "run", "--data", path, "--json").stdout
        score = json.loads(out)
        said = [answer["label"] for answer in self.predict("run", path)]
        pairs = [(label, answer) for (_, label), answer in zip(rows, said)]
        self.assertAlmostEqual(sum(a == b for a, b in pairs) / len(pairs), score["accuracy"], 12)
        names = ["neg", "pos"]
        self.assertEqual(score["confusion"], [[pairs.count((row, column)) for column in names] for row in names])
        f1 = []
        for one, name in zip(score["classes"], names):
            hits = pairs.count((name, name))
            given, wanted = said.count(name), sum(label == name for label, _ in pairs)
            self.assertEqual((one["class"], one["support"]), (name, wanted))
            self.assertAlmostEqual(one["precision"], hits / given, 12)
            self.assertAlmostEqual(one["recall"], hits / wanted, 12)
            f1.append(2 * hits / (given + wanted))
            self.assertAlmostEqual(one["f1"], f1[-1], 12)
        self.assertAlmostEqual(score["f1_macro"], sum(f1) / 2, 12)
        text = self.run_cli("evaluate", "run", "--data", path).stdout
        for part in ("precision", "support", "taken for", "neg", "f1_macro"):
            self.assertIn(part, text)

    def test_top_and_tsv(self):
        said = self.predict("run", "--top", "5", stdin=b"a good film\n")[0]
        self.assertEqual([one["label"] for one in said["top"]], ["pos", "neg"])
        self.assertAlmostEqual(sum(one["probability"] for one in said["top"]), 1.0, 5)
        out = self.run_cli("predict", "run", "--top", "2", "--format", "tsv", stdin=b"a good film\nbad\n").stdout
        cells = [line.split("\t") for line in out.splitlines()]
        self.assertEqual([len(line) for line in cells], [4, 4])
        self.assertEqual([line[0] for line in cells], ["pos", "neg"])
        self.assertAlmostEqual(float(cells[0][1]), said["probability"], 6)

    def test_bad_lines_end_it_with_their_number_or_have_a_line_of_their_own(self):
        bad = b"a good film\nbroken \xff utf\n\nbad\n"
        done = self.run_cli("predict", "run", stdin=bad, code=3)
        self.assertIn("stdin:2:8", done.stderr)
        self.assertEqual([json.loads(line)["label"] for line in done.stdout.splitlines()], ["pos"], "what stands before it is told")
        many = self.predict("run", "--skip-bad", "5000", stdin=b"good\n" + b"\xff\n" * 5000 + b"bad\n")  # more than windows hold
        self.assertEqual(["label" in answer for answer in many], [True] + [False] * 5000 + [True])
        said = self.predict("run", "--skip-bad", "2", stdin=bad)
        self.assertEqual([answer.get("label") for answer in said], ["pos", None, None, "neg"])
        self.assertIn("stdin:2:8", said[1]["error"])
        self.assertIn("no tokens", said[2]["error"])
        err = self.run_cli("predict", "run", "--skip-bad", "1", stdin=bad, code=3).stderr
        self.assertIn("stdin:3", err)
        out = self.run_cli("predict", "run", "--skip-bad", "2", "--format", "tsv", stdin=bad).stdout
        self.assertEqual([line == "" for line in out.split("\n")], [False, True, True, False, True])
        whole = gzip.compress(bad.replace(b"\xff", b"x") * 1000)
        err = self.run_cli("predict", "run", "--skip-bad", "9999", stdin=whole[:-20], code=3).stderr
        self.assertIn("ends in the middle", err)
        err = self.run_cli("predict", "run", stdin=b"", code=3).stderr
        self.assertIn("stdin: is empty", err)

    def test_what_cannot_be_is_refused(self):
        for words, code, says in [(("nothing",), 3, "no model here"), (("run", "missing.txt"), 3, "missing.txt"),
                                  (("run", "--format", "xml"), 2, "--format"), (("run", "--top", "0"), 2, "--top"),
                                  (("run", "--memory", "1MB"), 4, "smallest budget"), ((), 2, "which model"),
                                  (("run", "-", "--lengths", "a.npy"), 2, "--lengths")]:
            err = self.run_cli("predict", *words, stdin=b"x\n", code=code).stderr
            self.assertIn(says, err, words)

    def test_input_far_larger_than_the_budget_stays_inside_it(self):
        rows = messages(4000, seed=7, longest=30)
        text = "".join(text + "\n" for text, _ in rows)
        repeats = 120  # some 40 MB
        path = self.folder / "large.txt"
        with open(path, "w", encoding="utf-8") as out:
            for _ in range(repeats):
                out.write(text)
        budget = 24_000_000
        self.assertGreater(path.stat().st_size, 1.5 * budget)
        with open(path, "rb") as stdin, open(self.folder / "said.tsv", "wb") as out:
            child = subprocess.Popen([PROGRAM, "predict", "run", "--memory", str(budget), "--format", "tsv"], cwd=self.folder,
                                     stdin=stdin, stdout=out, env=self.environment)
            peak = 0
            while child.poll() is None:  # its own highest mark; that of rusage has our pages in it, too
                status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
                peak = max([peak] + [int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")])
                time.sleep(0.01)
        self.assertEqual(child.returncode, 0)
        self.assertGreater(peak, budget / 4, "it was seen")
        self.assertLessEqual(peak, budget + 256 * 1024)
        with open(self.folder / "said.tsv", encoding="utf-8") as said:
            answers = said.read().splitlines()
        self.assertEqual(len(answers), repeats * len(rows))
        self.assertEqual(answers[:len(rows)] * repeats, answers, "what a line says does not depend on its neighbours")

    def test_weights_of_a_model_with_other_words_are_refused(self):
        other = self.put("other.tsv", table([(text.replace("film", "play"), label) for text, label in messages(200, seed=9, longest=30)]))
        result = self.train("classify", other, "from-run", "--init-from", self.folder / "run")
        self.assertGreater(result["first"]["accuracy"], 0.9, "the words and the weights are the model's")
        third = self.put("third.tsv", "text\tlabel\nx\ta\ny\tb\nz\tc\n")
        err = self.run_cli("train", "--task", "classify", "--data", third, f"--model.layers={LAYERS}", *QUICK[:-1],
                           "--init-from", self.folder / "run", "--out", "none", code=3).stderr
        self.assertIn("none of those that the model knows", err)
        small = self.put("small.tsv", table(messages(50, longest=30)))
        self.train("classify", small, "small", "--data.vocabulary=8")
        err = self.run_cli("train", "--task", "classify", "--data", small, f"--model.layers={LAYERS}", *QUICK[:-1],
                           "--init-from", self.folder / "run", f"--data.dictionary={self.folder / 'small'}", "--out", "none",
                           code=3).stderr
        self.assertIn("differ: the weights know other ids", err)
        err = self.run_cli("train", "--task", "classify", "--data", small, f"--model.layers={LAYERS}", *QUICK[:-1],
                           "--init-from", self.folder / "run", "--data.tokens=char", "--out", "none", code=2).stderr
        self.assertIn("cuts text into other tokens", err)


class Tasks(PredictTest):
    def test_tags_of_a_line_and_of_a_crf(self):
        rng = random.Random(4)
        text = ""
        for _ in range(300):
            for _ in range(rng.randint(1, 8)):
                name = rng.random() < 0.3
                text += "Ann B-PER\nLee I-PER\n" if name else rng.choice(["sees", "the", "sea"]) + " O\n"
            text += "\n"
        path = self.put("tags.conll", text)
        for layers, out in [('[{type = "Embedding"}, {type = "LSTM", units = 16}, {type = "Dense"}]', "tags"),
                            ('[{type = "Embedding"}, {type = "LSTM", units = 16}, {type = "Dense"}, {type = "CRF"}]', "crf")]:
            result = self.train("tag", path, out, "--valid", "0.2", "--monitor", "val_entity_f1", layers=layers)
            self.assertGreater(result["last"]["entity_f1"], 0.95)
            said = self.predict(out, stdin=b"the Ann Lee sees Ann Lee\nsea\n")
            self.assertEqual([one["tags"] for one in said], [["O", "B-PER", "I-PER", "O", "B-PER", "I-PER"], ["O"]])
            self.assertEqual("probabilities" in said[0], out == "tags")
            self.assertEqual(len(self.predict(out, path)), 300, "a sequence of conll is a line")
            log = (self.folder / out / "metrics.jsonl").read_text().splitlines()
            epoch = [json.loads(line) for line in log if '"epoch"' in line and '"val_entity_f1"' in line]
            self.assertGreater(len(epoch), 0)
            head, first = [line.split(",") for line in (self.folder / out / "metrics.csv").read_text().splitlines()[:2]]
            self.assertAlmostEqual(float(first[head.index("val_entity_f1")]), epoch[0]["val_entity_f1"], 6)

    def test_several_labels(self):
        rng = random.Random(2)
        rows = []
        for _ in range(400):
            labels = [name for name in ("red", "green") if rng.random() < 0.5]
            words = ["it", "is"] + labels + [rng.choice(["far", "near"])]
            rows.append({"text": " ".join(words), "label": labels})
        path = self.put("several.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        result = self.train("classify", path, "several", "--data.label_separator=,", "--train.metrics=['f1_micro', 'auc']")
        self.assertGreater(result["last"]["f1_micro"], 0.95)
        self.assertGreater(result["last"]["auc"], 0.95)
        said = self.predict("several", stdin=b"it is red green far\nit is near\nit is green near\n")
        self.assertEqual([one["labels"] for one in said], [["green", "red"], [], ["green"]])
        report = json.loads(self.run_cli("evaluate", "several", "--data", path, "--json").stdout)
        self.assertEqual([one["class"] for one in report["classes"]], ["green", "red"])

    def test_forecasts_of_the_end_of_each_series(self):
        text = "name,value\n"
        for name, phase in (("a", 0.0), ("b", 2.0)):
            for step in range(200):
                text += f"{name},{100 + 10 * math.sin(0.3 * step + phase)}\n"
        path = self.put("series.csv", text)
        result = self.train("forecast", path, "series", "--data.label=value", "--data.series=name", "--data.window=20",
                            "--data.horizon=2", "--valid", "0.2", "--epochs", "20",
                            layers='[{type = "LSTM", units = 16}, {type = "Dense"}]')
        self.assertLess(result["last"]["mae"], 3.0, "in the unit of the data")
        said = self.predict("series", path)
        self.assertEqual([one["series"] for one in said], ["a", "b"])
        for one, phase in zip(said, (0.0, 2.0)):
            for step, value in enumerate(one["forecast"]):
                self.assertAlmostEqual(value, 100 + 10 * math.sin(0.3 * (200 + step) + phase), delta=6.0)
        err = self.run_cli("predict", "series", stdin=b"name,value\na,1\n", code=2).stderr
        self.assertIn("--input-format", err)
        err = self.run_cli("predict", "series", "-", "--input-format", "csv", stdin=b"name,value\na,1\n", code=3).stderr
        self.assertIn("looks back on 20", err)
        np.savez(self.folder / "x.npz", x=np.zeros((2, 20, 1), np.float32))
        err = self.run_cli("predict", "series", self.folder / "x.npz", code=2).stderr
        self.assertIn("these data are arrays", err)

    def test_series_as_json_lines(self):
        rows = [{"value": math.sin(0.3 * step)} for step in range(200)]
        path = self.put("series.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        words = ["--data.label=value", "--data.window=20", "--epochs", "1"]
        layers = '[{type = "LSTM", units = 4}, {type = "Dense"}]'
        self.train("forecast", path, "lines", *words, layers=layers)
        self.assertEqual(len(self.predict("lines", path)), 1)
        lists = self.put("lists.jsonl", "".join(json.dumps({"value": [1.0] * 1000}) + "\n" for _ in rows))
        self.assertIn("lists.jsonl:1: has a list", self.run_cli("predict", "lines", lists, code=3).stderr)
        err = self.run_cli("train", "--task", "forecast", "--data", lists, f"--model.layers={layers}", *QUICK[:-1], *words,
                           code=3).stderr
        self.assertIn("lists.jsonl:1: has a list", err)

    def test_tables_with_categories_and_dates(self):
        rng = random.Random(5)
        rows = []
        for _ in range(600):  # wrong without the category, and without the day of the week
            kind, day = rng.choice(["even", "odd"]), rng.randrange(1, 29)
            weekend = (day + 3) % 7 in (5, 6)  # 2024-02-01 was a Thursday
            rows.append((kind, f"2024-02-{day:02d}", "yes" if weekend == (kind == "odd") else "no"))
        path = self.put("days.csv", "kind,day,label\n" + "".join(",".join(row) + "\n" for row in rows))
        layers = '[{type = "LSTM", units = 16}, {type = "Dense"}]'
        self.train("classify", path, "days", "--data.categories=kind", "--data.dates=day", "--epochs", "40", layers=layers)
        new = self.put("new.csv", "day,kind\n2024-02-03,odd\n2024-02-03,even\n2024-02-05,odd\n2024-02-05,even\n2024-02-05,none\n")
        said = self.predict("days", new)
        self.assertEqual([one["label"] for one in said[:4]], ["yes", "no", "no", "yes"])
        self.assertEqual(len(said), 5, "a category that training had not is none of them")
        err = self.run_cli("predict", "days", new).stderr
        self.assertIn("warning: 1 rows have a value in data.categories", err)
        self.assertIn("new.csv:6: 'kind' is \"none\"", err)
        self.assertEqual(self.run_cli("predict", "days", path).stderr, "")
        err = self.run_cli("predict", "days", stdin=b"odd\n", code=2).stderr
        self.assertIn("kind, day", err)

        text = "shop,when,value\n"
        for shop, mean in (("north", 10.0), ("south", 50.0)):
            for hour in range(400):
                text += f"{shop},2024-03-{1 + hour // 24:02d}T{hour % 24:02d}:00:00,{mean + (5 if hour % 24 >= 12 else 0)}\n"
        path = self.put("shops.csv", text)
        self.train("forecast", path, "shops", "--data.label=value", "--data.series=shop", "--data.categories=shop",
                   "--data.dates=when", "--data.window=6", "--valid", "0.2", "--epochs", "10", layers=layers)
        for one, mean in zip(self.predict("shops", path), (10.0, 50.0)):  # hour 400 is the 16th of its day
            self.assertAlmostEqual(one["forecast"][0], mean + 5.0, delta=2.0)

    def test_values_and_classes_of_arrays(self):
        rng = np.random.default_rng(3)
        x = rng.normal(size=(700, 9, 2)).astype(np.float32)
        lengths = rng.integers(1, 10, size=700)
        y = np.array([row[:length].sum() for row, length in zip(x, lengths)], dtype=np.float32)
        np.savez(self.folder / "train.npz", x=x, y=y, lengths=lengths)
        np.savez(self.folder / "inputs.npz", x=x[:600], lengths=lengths[:600])
        layers = '[{type = "LSTM", units = 16}, {type = "Dense"}]'
        result = self.train("regress", self.folder / "train.npz", "values", layers=layers)
        said = np.array([one["value"] for one in self.predict("values", self.folder / "inputs.npz")])
        self.assertEqual(len(said), 600)
        self.assertAlmostEqual(float(np.abs(said - y[:600]).mean()), result["last"]["mae"], delta=0.1)
        np.savez(self.folder / "classes.npz", x=x, y=(y > 0).astype(np.int32), lengths=lengths)
        self.train("classify", self.folder / "classes.npz", "classes", layers=layers)
        labels = np.array([one["label"] for one in self.predict("classes", self.folder / "inputs.npz")])
        self.assertGreater(((y[:600] > 0) == labels).mean(), 0.8)
        steps = np.cumsum(x[:, :, :1], axis=1).astype(np.float32)
        np.savez(self.folder / "steps.npz", x=x, y=steps, lengths=lengths)
        self.train("regress", self.folder / "steps.npz", "steps", layers=layers)
        many = self.predict("steps", self.folder / "inputs.npz")
        self.assertEqual([len(one["values"]) for one in many], lengths[:600].tolist())
        np.save(self.folder / "x.npy", x[:3])
        self.assertEqual(len(self.predict("values", self.folder / "x.npy")), 3)
        err = self.run_cli("predict", "values", "-", stdin=b"1 2\n", code=3).stderr
        self.assertIn("vocabulary.txt", err)
        self.train("forecast", self.folder / "train.npz", "forecast", layers=layers)
        self.assertEqual([list(one) for one in self.predict("forecast", self.folder / "x.npy")], [["value"]] * 3)
        np.savez(self.folder / "several.npz", x=x, y=(x > 0).astype(np.float32), lengths=lengths)
        self.train("regress", self.folder / "several.npz", "each-step", "--train.loss=binary_crossentropy", layers=layers)
        self.assertEqual([[len(one) for one in each.values()][0] for each in self.predict("each-step", self.folder / "x.npy")],
                         [x.shape[1]] * 3, "a list a step")

    def test_a_language_model_has_no_label(self):
        path = self.put("text.txt", "abc abd\n" * 60)
        result = self.train("lm", path, "lm")
        self.assertAlmostEqual(result["last"]["perplexity"], math.exp(result["last"]["loss"]), 6)
        self.assertAlmostEqual(result["last"]["bits_per_character"], result["last"]["loss"] / math.log(2), 6)
        err = self.run_cli("predict", "lm", stdin=b"x\n", code=2).stderr
        self.assertIn("language model", err)


if __name__ == "__main__":
    unittest.main()
