#!/usr/bin/env python3
"""What must hold of text, tables and series from the file to the trained model: every kind of file, every task, files larger
than the budget, bad input, Stores that are used again, jobs that are chosen.

  python3 data_test.py build/plimsoll build [unittest arguments]
"""
import ctypes
import datetime
import gzip
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from text_case import LAYERS, PROGRAM, TextCase, messages, open_folder, table

QUICK = ["--epochs", "6", "--lr", "0.02", "--seed", "3", "--threads", "1", "--memory", "32MB", "--json"]


def zstd(data):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = ctypes.c_size_t
    library.ZSTD_compress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = library.ZSTD_compress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


class DataTest(TextCase):
    def setUp(self):
        self.addCleanup(open_folder(self))

    def watched(self, budget, *words, code):
        """Runs the program inside a budget that is seen from outside as well, reading included. A process begins with the peak
        of the one that started it, so that a small one must do so."""
        watch = ("import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]);"
                 "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(code)")
        done = subprocess.run([sys.executable, "-c", watch, PROGRAM, *map(str, words), "--memory", str(budget)], cwd=self.folder,
                              capture_output=True, text=True, env=self.environment, timeout=600)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertLessEqual(int(done.stderr.split("peak")[-1]) * 1024, budget, done.stderr)
        return done

    def train(self, task, path, *words, layers=LAYERS):
        done = self.run_cli("train", "--task", task, "--data", path, f"--model.layers={layers}", *QUICK, *words)
        return json.loads(done.stdout), done.stderr

    def stores(self):
        return sorted(self.cache.glob("plimsoll/*"))

    def refused(self, text, *says, name="a.tsv", words=()):
        """Exit code 3 with file and line, nothing left behind: neither a Store nor a run."""
        path = self.put(name, text)
        done = self.run_cli("train", "--task", "classify", "--data", path, f"--model.layers={LAYERS}", "--out", "refused", *words,
                            code=3)
        for part in says:
            self.assertIn(part, done.stderr)
        self.assertEqual(self.stores(), [], done.stderr)
        self.assertFalse((self.folder / "refused").exists())
        return done


class Kinds(DataTest):
    def test_the_same_records_train_the_same_model_from_every_kind_of_file(self):
        rows = messages(400)
        tsv = table(rows)
        lines = "".join(json.dumps({"id": i, "label": label, "text": text}) + "\n" for i, (text, label) in enumerate(rows))
        quoted = "label,text\r\n" + "".join(f'{label},"{text}"\r\n' for text, label in rows)
        files = [self.put("a.tsv", tsv), self.put("b.csv", quoted), self.put("c.jsonl", lines),
                 self.put("d.tsv.gz", gzip.compress(tsv.encode())), self.put("e.jsonl.zst", zstd(lines.encode())),
                 self.put("f", lines)]
        losses = []
        for path in files:
            result, _ = self.train("classify", path, "--valid", "0.2", "--out", f"run-{path.name}")
            self.assertGreater(result["last"]["accuracy"], 0.95, path)
            self.assertLessEqual(result["peak_bytes"], 32_000_000)
            losses.append(result["last"]["loss"])
        self.assertEqual(len(set(losses)), 1, losses)
        model = self.folder / "run-a.tsv" / "model"
        self.assertEqual((model / "labels.txt").read_text(), "neg\npos\n")
        self.assertTrue((model / "vocabulary.txt").read_text().startswith("\\unknown\n"))

    def test_several_files_are_one_data_set(self):
        rows = messages(400)
        tables = ["text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in part)
                  for part in (rows, rows[:200], rows[200:])]
        one, first, second = [self.put(f"{i}.tsv", table) for i, table in enumerate(tables)]
        whole, _ = self.train("classify", one, "--out", "whole")
        files = f'--data.train=["{first}", "{second}"]'
        parts = json.loads(self.run_cli("train", "--task", "classify", files, f"--model.layers={LAYERS}", *QUICK,
                                        "--out", "parts").stdout)
        self.assertEqual(whole["last"]["loss"], parts["last"]["loss"])
        again = self.run_cli("train", "parts/job.toml", "--out", "again", "--json")
        self.assertEqual(json.loads(again.stdout)["last"]["loss"], whole["last"]["loss"])

    def test_columns_by_number_and_tokens_of_each_level(self):
        table = "".join(f"{label}\t{text}\n" for text, label in messages(300))
        path = self.put("a.tsv", table)
        for tokens, most in (("word", 20), ("char", 40), ("byte", 256)):
            result, told = self.train("classify", path, "--data.text=2", "--data.label=1", f"--data.tokens={tokens}",
                                      "--out", tokens)
            self.assertLess(result["last"]["loss"], result["first"]["loss"])
            vocabulary = (self.folder / tokens / "model" / "vocabulary.txt").read_text(errors="surrogateescape").splitlines()
            self.assertLessEqual(len(vocabulary), most)
        ids = "".join(f"{i % 2}\t{' '.join(str((i + j) % 2 + 2 * (j % 3)) for j in range(5))}\n" for i in range(200))
        result, _ = self.train("classify", self.put("ids.tsv", ids), "--data.text=2", "--data.label=1", "--data.tokens=ids")
        self.assertGreater(result["last"]["accuracy"], 0.95)


class Tasks(DataTest):
    def test_several_labels_a_sample(self):
        rng = random.Random(5)
        rows = []
        for _ in range(400):
            own = [word for word in ("red", "blue", "green") if rng.random() < 0.5]
            rows.append({"text": " ".join(rng.sample(own + ["a", "b", "c"], len(own) + 3)), "label": own})
        path = self.put("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        result, _ = self.train("classify", path, "--data.label_separator=,", "--out", "run")
        self.assertLess(result["last"]["loss"], 0.1)
        self.assertEqual((self.folder / "run/model/labels.txt").read_text(), "blue\ngreen\nred\n")

    def test_several_labels_a_step(self):
        rng = random.Random(6)
        chords = [["c", "e", "g"], ["d", "f"], [], ["g", "b"]]  # each is followed by the next
        def songs(count, more=()):
            lines = []
            for _ in range(count):
                first = rng.randrange(4)
                lines.append({"notes": [chords[(first + i) % 4] for i in range(rng.randint(2, 20))]})
            return "".join(json.dumps(line) + "\n" for line in lines + list(more))
        path, valid = self.put("a.jsonl", songs(200)), self.put("v.jsonl", songs(20, [{"notes": [["c"], ["zz"]]}]))
        layers = '[{type = "LSTM", units = 16}, {type = "Dense"}]'
        words = ["--data.text=notes", "--data.label_separator=,"]
        result, told = self.train("lm", path, *words, "--valid", valid, "--out", "run", "--epochs", "30", layers=layers)
        self.assertLess(result["last"]["loss"], 0.2, "the first chord of a song tells the second; what comes before it does not")
        self.assertGreater(result["last"]["f1_micro"], 0.9)
        self.assertIn('v.jsonl:21: "zz"', told)
        self.assertEqual((self.folder / "run/model/labels.txt").read_text(), "b\nc\nd\ne\nf\ng\n")
        scored = json.loads(self.run_cli("evaluate", "run", "--data", path, "--json").stdout)
        self.assertLess(scored["loss"], 0.2)
        self.assertIn("sets of labels", self.run_cli("generate", "run", code=2).stderr)
        self.assertIn("evaluate", self.run_cli("predict", "run", path, code=2).stderr)
        path.write_text(songs(3, [{"notes": [["c"], "d"]}]))
        done = self.run_cli("train", "--task", "lm", "--data", path, *words, f"--model.layers={layers}", "--out", "bad", code=3)
        self.assertIn("a.jsonl:4:", done.stderr)
        self.assertFalse((self.folder / "bad").exists())

    def test_several_labels_a_token_are_foretold_for_each(self):
        rows = [{"text": ["red", "apple", "is"], "label": [["colour", "word"], ["fruit", "word"], ["word"]]},
                {"text": ["is", ",", "red"], "label": [["word"], [], ["colour", "word"]]}] * 50
        path = self.put("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        result, _ = self.train("tag", path, "--data.label_separator=|", "--out", "run", "--epochs", "20")
        self.assertGreater(result["last"]["f1_micro"], 0.95)
        self.put("new.txt", "red apple\nis , red\n")
        said = self.run_cli("predict", "run", "new.txt", "--input-format", "text").stdout.splitlines()
        self.assertEqual([json.loads(line)["labels"] for line in said], [[["colour", "word"], ["fruit", "word"]], [["word"], [], ["colour", "word"]]])

    def test_a_tag_for_every_token(self):
        rng = random.Random(5)
        text = ""
        for _ in range(300):
            for _ in range(rng.randint(1, 8)):
                word = rng.choice(["Anna", "Paris", "walks", "to"])
                text += f"{word} {dict(Anna='PER', Paris='LOC').get(word, 'O')}\n"
            text += "\n"
        result, _ = self.train("tag", self.put("a.conll", text), "--valid", "0.2", "--out", "run")
        self.assertGreater(result["last"]["accuracy"], 0.99)
        rows = "".join('{"text": ["Anna", "walks"], "label": ["PER", "O"]}\n' for _ in range(50))
        score = json.loads(self.run_cli("evaluate", "run", "--data", self.put("b.jsonl", rows), "--json").stdout)
        self.assertEqual(score["items"], 100)
        self.assertGreater(score["accuracy"], 0.99)

    def test_a_language_model_of_lines_and_of_one_long_text_with_carried_state(self):
        lines = self.put("a.txt", "".join("abcdefgh"[i % 4:] + "\n" for i in range(300)))
        result, _ = self.train("lm", lines, "--valid", "0.1", "--out", "lines")
        self.assertLess(result["last"]["loss"], 0.7)
        text = self.put("b.txt", "the quick brown fox jumps over the lazy dog. " * 300)
        pieces, _ = self.train("lm", text, "--data.window=32", "--valid", "0.1", "--out", "pieces")
        self.assertLess(pieces["last"]["loss"], 0.4)
        stateful = '[{type = "Embedding"}, {type = "LSTM", units = 32, stateful = true}, {type = "Dense"}]'
        carried, told = self.train("lm", text, "--data.window=32", "--train.shuffle=false", "--batch-size", "8", "--out", "carried",
                                   layers=stateful)
        self.assertLess(carried["last"]["loss"], 0.4)

    def test_values_of_texts_and_of_columns(self):
        rng = random.Random(5)
        rows = [[rng.random() for _ in range(4)] for _ in range(400)]
        table = "a,b,c,d,sum\n" + "".join(",".join(f"{x:.4f}" for x in row) + f",{sum(row):.4f}\n" for row in rows)
        layers = '[{type = "LSTM", units = 16}, {type = "Dense"}]'
        result, _ = self.train("regress", self.put("a.csv", table), '--data.inputs=["a", "b", "c", "d"]', "--data.label=sum",
                               layers=layers)
        self.assertLess(result["last"]["loss"], 0.05)

    def test_a_forecast_of_several_series_with_missing_values(self):
        table = "series,hour,load\n"
        for name, phase in (("north", 0.0), ("south", 1.0)):
            for hour in range(400):
                load = "NA" if hour % 50 == 7 else f"{100 + 10 * math.sin(hour * 0.3 + phase):.3f}"
                table += f"{name},{hour},{load}\n"
        layers = '[{type = "LSTM", units = 16}, {type = "Dense"}]'
        result, _ = self.train("forecast", self.put("a.csv", table), "--data.label=load", "--data.series=series",
                               "--data.window=16", "--data.horizon=3", "--valid", "0.2", "--out", "run", layers=layers)
        self.assertLess(result["last"]["loss"], 0.1, "in deviations; guessing the mean gives 1")
        self.assertEqual(len((self.folder / "run/model/scale.txt").read_text().splitlines()), 3)
        score = json.loads(self.run_cli("evaluate", "run", "--json").stdout)
        self.assertAlmostEqual(score["loss"], result["last"]["loss"], places=6)


    def test_a_forecast_that_only_categories_and_dates_explain(self):
        """Every shop has its own level on every day of the week: neither is to be seen in yesterday's sales alone."""
        rng = random.Random(4)
        level = {(shop, day): rng.uniform(-1, 1) for shop in ("north", "south", "east") for day in range(7)}
        start = datetime.date(2024, 1, 1)
        table = "shop,day,weather,sales\n"
        for shop in ("north", "south", "east"):
            for i in range(300):
                date = start + datetime.timedelta(days=i)
                weather = rng.choice(["sun", "rain", "NA"])
                table += f"{shop},{date},{weather},{level[shop, date.weekday()] + rng.gauss(0, 0.01):.4f}\n"
        path = self.put("a.csv", table)
        layers = '[{type = "LSTM", units = 16}, {type = "Dense"}]'
        words = ["--data.label=sales", "--data.series=shop", "--data.window=1", "--valid", "0.2", "--epochs", "20",
                 "--batch-size", "16"]
        bare, _ = self.train("forecast", path, *words, "--out", "bare", layers=layers)
        full, _ = self.train("forecast", path, *words, '--data.categories=["shop", "weather"]', "--data.dates=day", "--out",
                             "full", layers=layers)
        self.assertGreater(bare["last"]["loss"], 0.2)
        self.assertLess(full["last"]["loss"], 0.05)
        self.assertLessEqual(full["peak_bytes"], 32_000_000)
        features = (self.folder / "full/model/features.txt").read_text().splitlines()
        self.assertEqual(features[1:], ["category\tshop\teast", "category\tshop\tnorth", "category\tshop\tsouth",
                                        "category\tweather\train", "category\tweather\tsun", "date\tday\tday_of_week",
                                        "date\tday\tday_of_year"])
        score = json.loads(self.run_cli("evaluate", "full", "--json").stdout)
        self.assertAlmostEqual(score["loss"], full["last"]["loss"], places=6)
        # Another file has the model's features; a shop that it has not seen is all zeros, and told.
        other = table.replace("east", "west")
        path = self.put("b.csv", other)
        done = self.run_cli("evaluate", "full", "--data", path, "--json")
        self.assertGreater(json.loads(done.stdout)["loss"], full["last"]["loss"])
        warning = "warning: 300 rows have a value in data.categories"
        self.assertIn(warning, done.stderr)
        self.assertIn("b.csv:602: 'shop' is \"west\"", done.stderr)
        self.assertIn(warning, self.run_cli("evaluate", "full", "--data", path).stderr, "the Store is there already")
        self.assertNotIn(warning, self.run_cli("evaluate", "full").stderr)
        self.assertEqual(self.run_cli("evaluate", "full", "--data", path, "--quiet").stderr, "")
        _, told = self.train("forecast", self.folder / "a.csv", *words[:3], "--valid", path, '--data.categories=["shop", "weather"]',
                             "--epochs", "1", "--log-format", "line", layers=layers)
        self.assertIn(warning, told)
        self.assertIn("b.csv:602: 'shop' is \"west\"", told)

    def test_categories_and_dates_of_a_row_of_a_table(self):
        rng = random.Random(6)
        table = "when,colour,a,y\n"
        for i in range(600):
            hour, colour = rng.randrange(24), rng.choice(["red", "blue"])
            table += f"2026-03-04T{hour:02}:00,{colour},{rng.random():.3f},{int((hour < 12) == (colour == 'red'))}\n"
        layers = '[{type = "LSTM", units = 16}, {type = "Dense"}]'
        for inputs in (["--data.inputs=a"], []):
            result, _ = self.train("classify", self.put("a.csv", table), *inputs, "--data.categories=colour", "--data.dates=when",
                                   "--data.label=y", "--valid", "0.2", "--epochs", "20", layers=layers)
            self.assertGreater(result["last"]["accuracy"], 0.9)


class Large(DataTest):
    def test_a_file_of_ten_times_the_budget_trains_inside_it(self):
        budget = 16_000_000
        rng = random.Random(2)
        words = [f"word{i}" for i in range(3000)]
        with open(self.folder / "large.tsv", "w") as file:
            for i in range(60_000):
                label = i % 2
                start = rng.randrange(2500)
                text = " ".join(words[start:start + rng.randrange(200, 500)])
                file.write(f"{label}\t{'good' if label else 'bad'} {text}\n")
        self.assertGreater(os.path.getsize(self.folder / "large.tsv"), 10 * budget)
        words = ["--data.text=2", "--data.label=1", "--data.vocabulary=2000", "--max-length", "8"]
        done = self.watched(budget, "train", "--task", "classify", "--data", "large.tsv", *words, f"--model.layers={LAYERS}",
                            *QUICK, "--epochs", "2", "--max-steps", "3000", code=0)
        result = json.loads(done.stdout)
        self.assertLessEqual(result["peak_bytes"], budget)
        self.assertGreater(result["last"]["accuracy"], 0.95)
        self.assertIn("60000 samples were longer than data.max_length = 8", done.stderr)

    def test_a_million_lines_are_stored_in_seconds_and_found_again_at_once(self):
        with open(self.folder / "million.tsv", "w") as file:
            file.write("text\tlabel\n")
            file.writelines(f"a short line number {i % 5000}\t{i % 3}\n" for i in range(1_000_000))
        words = ["plan", "--task", "classify", "--data", "million.tsv", f"--model.layers={LAYERS}", "--memory", "32MB", "--json"]
        seconds = []
        for _ in range(2):
            start = time.monotonic()
            self.run_cli(*words)
            seconds.append(time.monotonic() - start)
        self.assertLess(seconds[0], 10)
        self.assertLess(seconds[1], 0.5)

    def test_each_sample_comes_once_an_epoch_in_another_order_each_time_and_no_step_is_padding(self):
        """With a rate of next to nothing the loss of a batch of one names its sample."""
        rng = random.Random(3)
        rows = [(" ".join(rng.choice("abcdefgh") for _ in range(rng.randint(1, 40))), i % 2) for i in range(150)]
        path = self.put("a.tsv", "text\tlabel\n" + "".join(f"{text} w{i}\t{label}\n" for i, (text, label) in enumerate(rows)))
        orders = {}
        for threads, memory in (("1", "32MB"), ("3", "13MB")):
            out = self.folder / f"run{threads}"
            self.train("classify", path, "--lr", "1e-30", "--epochs", "3", "--batch-size", "1", "--log-every", "1", "--threads",
                       threads, "--memory", memory, "--out", out)
            lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
            epochs = [[line["loss"] for line in lines if line["event"] == "step" and line["epoch"] == epoch]
                      for epoch in (1, 2, 3)]
            orders[threads] = epochs
            # Losses are given as differences of sums: what is the same sample is the same to some digits.
            rounded = [[round(loss, 9) for loss in epoch] for epoch in epochs]
            self.assertEqual([len(epoch) for epoch in epochs], [150] * 3)
            self.assertGreater(len(set(rounded[0])), 140, "losses must tell the samples apart")
            for other in (1, 2):
                for a, b in zip(sorted(epochs[0]), sorted(epochs[other])):
                    self.assertAlmostEqual(a, b, places=9)
                same = sum(abs(a - b) < 1e-9 for a, b in zip(epochs[0], epochs[other]))
                self.assertLess(same, 15, "another order each epoch")
            last = [line for line in lines if line["event"] == "epoch"][-1]
            steps = 3 * sum(len(text.split()) + 1 for text, _ in rows)
            self.assertEqual(last["useful_row_steps"], steps)
            self.assertEqual(last["computed_row_steps"], steps)
            self.assertIn("useful steps / computed steps = 1, of", (out / "report.html").read_text())
        self.assertEqual(orders["1"], orders["3"])

    def test_one_seed_gives_one_order_on_any_number_of_threads(self):
        path = self.put("a.tsv", table(messages(500)))
        losses = set()
        for threads in ("1", "2", "3"):
            for more in ([], ["--memory", "13MB"]):
                result, _ = self.train("classify", path, "--threads", threads, "--batch-tokens", "200",
                                       "--train.length_window=128", *more)
                losses.add(result["last"]["loss"])
        self.assertEqual(len(losses), 1, losses)


class BadInput(DataTest):
    def test_bad_files_are_refused_with_file_and_line_and_leave_nothing_behind(self):
        head = "text\tlabel\ngood film\tpos\n"
        self.refused(head.encode() + b"caf\xe9\tneg\n", "a.tsv:3:4", "UTF-8")
        self.refused(head + "x" * 20_000_000 + "\tneg\n", "a.tsv:3", "longer than")
        self.refused("text,label\ngood,pos\n\"open,neg\nmore,pos\n", "b.csv:3", "quote", name="b.csv")
        self.refused(head, "no column 'sentiment'", "text, label", words=["--data.label=sentiment"])
        self.refused("", "empty")
        self.refused(head + "no label\n", "a.tsv:3", "1 columns, wanted 2")
        self.refused(head + "bad\t\n", "a.tsv:3", "wanted a label")
        self.refused(head + "\tneg\n", "a.tsv:3", "no tokens")
        self.refused('{"text": "a", "label": "x"}\n{"text": "b", "label"}\n', "c.jsonl:2:", name="c.jsonl")
        packed = gzip.compress(head.encode() * 50)
        for cut in (len(packed) // 2, len(packed) - 4):
            self.refused(packed[:cut], "a.tsv.gz", "middle", name="a.tsv.gz")

    def test_a_line_of_a_gigabyte_is_refused_or_passed_over_in_bounded_memory(self):
        rows = "".join(f"{text}\t{label}\n" for text, label in messages(50))
        path = self.put("a.tsv", "text\tlabel\n" + rows + "x")
        os.truncate(path, 1_000_000_000)  # a hole: no disk is filled
        with open(path, "a") as file:
            file.write("\tneg\n" + rows)
        words = ["train", "--task", "classify", "--data", path, f"--model.layers={LAYERS}", "--epochs", "1", "--threads", "1"]
        done = self.watched(16_000_000, *words, "--out", "refused", code=3)
        self.assertIn("a.tsv:52: is longer than", done.stderr)
        self.assertEqual(self.stores(), [])
        self.assertFalse((self.folder / "refused").exists())
        done = self.watched(16_000_000, *words, "--skip-bad", "1", "--log-format", "line", code=0)
        self.assertIn("100 samples", done.stderr)
        self.assertIn("1 bad lines were passed over", done.stderr)

    def test_a_file_that_changes_while_it_is_read_is_refused(self):
        rows = "".join(f"{text}\t{label}\n" for text, label in messages(3000))
        path = self.put("a.tsv", "text\tlabel\n" + rows * 100)
        for change in ("grows", "other bytes"):
            process = subprocess.Popen([PROGRAM, "train", "--task", "classify", "--data", path, f"--model.layers={LAYERS}",
                                        "--out", "refused"], cwd=self.folder, env=self.environment, text=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            # A draft of the Store is there from the end of the first pass on: the second one reads the file.
            while not self.stores() and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGSTOP)
            self.assertIn("partial", self.stores()[0].name, "the file must be large enough to be caught")
            text = path.read_bytes()
            with open(path, "r+b") as file:
                file.seek(len(text) if change == "grows" else text.index(b"film", len(text) // 2))
                file.write(b"more\tpos\n" if change == "grows" else b"FILM")
            process.send_signal(signal.SIGCONT)
            _, told = process.communicate(timeout=600)
            self.assertEqual(process.returncode, 3, told)
            self.assertIn("a.tsv: changed while it was read", told)
            self.assertEqual(self.stores(), [])
            self.assertFalse((self.folder / "refused").exists())

    def test_numbers_that_no_float_holds_are_refused(self):
        path = self.put("a.csv", "x,y\n1,2\n1e999,3\n")
        done = self.run_cli("train", "--task", "regress", "--data", path, "--data.inputs=x", "--data.label=y",
                            '--model.layers=[{type = "LSTM"}, {type = "Dense"}]', code=3)
        self.assertIn("a.csv:3", done.stderr)
        self.assertIn("1e999", done.stderr)

    def test_bad_dates_and_columns_where_they_have_no_meaning_are_refused(self):
        path = self.put("a.csv", "day,v\n2026-02-28,1\n2026-02-29,2\n2026-03-01,3\n")
        layers = '--model.layers=[{type = "LSTM"}, {type = "Dense"}]'
        words = ["train", "--task", "forecast", "--data", path, "--data.label=v", "--data.window=1", layers]
        done = self.run_cli(*words, "--data.dates=day", code=3)
        self.assertIn("a.csv:3: 'day' is \"2026-02-29\"", done.stderr)
        self.assertEqual(self.stores(), [])
        done = self.run_cli(*words, "--data.categories=dya", code=3)
        self.assertIn("no column 'dya'; it has day, v; did you mean", done.stderr)
        self.run_cli(*words, '--data.categories=["day", "day"]', code=2)
        self.run_cli(*words, "--data.text=v", "--data.dates=day", code=2)
        self.run_cli("train", "--task", "lm", "--data", self.put("a.txt", "abc\n"), "--data.dates=1", layers, code=2)
        self.run_cli("train", "--task", "regress", "--data", "generate:adding", "--data.dates=x", layers, code=2)

    def test_some_bad_lines_are_passed_over_counted_and_listed(self):
        rows = [f"{text}\t{label}\n" for text, label in messages(100)]
        rows[10] = "no label\n"
        rows[20] = "a\tb\tc\n"
        text = "text\tlabel\n" + "".join(rows)
        self.refused(text, "a.tsv:22", "1 bad lines before it", words=["--skip-bad", "1"])
        _, told = self.train("classify", self.folder / "a.tsv", "--skip-bad", "2", "--log-format", "line")
        self.assertIn("2 bad lines were passed over", told)
        self.assertIn("a.tsv:12:", told)
        self.assertIn("a.tsv:22:", told)

    def test_a_label_seen_only_in_validation_is_a_warning_and_unknown_to_a_model_an_error(self):
        train = self.put("a.tsv", table(messages(100)))
        valid = self.put("b.tsv", "text\tlabel\ngood\tpos\nfilm\tmeh\n")
        _, told = self.train("classify", train, "--valid", valid, "--out", "run", "--log-format", "line")
        self.assertIn("warning: 1 of the 3 labels are seen only in validation", told)
        self.train("classify", train, "--out", "plain")
        error = json.loads(self.run_cli("evaluate", "plain", "--data", valid, "--json", code=3).stdout)["error"]
        self.assertIn("b.tsv:3", error["message"])
        self.assertIn("meh", error["message"])

    def test_keys_of_text_and_of_arrays_are_not_mixed(self):
        self.run_cli("train", "--task", "regress", "--data", "generate:adding", "--data.text=x",
                     '--model.layers=[{type = "LSTM"}, {type = "Dense"}]', code=2)
        path = self.put("a.tsv", "text\tlabel\na\tb\n")
        self.run_cli("train", "--task", "classify", "--data", path, "--data.targets=y.npy", f"--model.layers={LAYERS}", code=2)


class Stores(DataTest):
    def test_a_second_start_reads_the_store_and_a_changed_file_is_read_again(self):
        rows = messages(200)
        path = self.put("a.tsv", table(rows))
        words = ["--valid", "0.1", "--log-format", "line"]
        first, told = self.train("classify", path, *words)
        self.assertNotIn("read before", told)
        second, told = self.train("classify", path, *words)
        self.assertIn("read before", told)
        self.assertEqual(first["last"], second["last"])
        with open(path, "a") as file:
            file.write("good again\tpos\n")
        _, told = self.train("classify", path, *words)
        self.assertNotIn("read before", told)
        self.assertIn("201 samples", told)
        self.assertEqual(len(self.stores()), 1, "the new Store takes the place of the old one")

    def test_the_cache_is_where_the_job_says(self):
        path = self.put("a.tsv", table(messages(50)))
        self.train("classify", path, "--data.cache=here")
        self.assertEqual(len(list((self.folder / "here").iterdir())), 1)
        self.assertEqual(self.stores(), [])
        self.put("wall", "")
        done = self.run_cli("plan", "--task", "classify", "--data", path, f"--model.layers={LAYERS}", "--data.cache=wall/x", code=7)
        self.assertIn("data.cache", done.stderr)

    def test_a_trained_model_begins_another_run_with_its_own_words(self):
        rows = messages(300)
        path = self.put("a.tsv", table(rows))
        first, _ = self.train("classify", path, "--out", "run")
        other = self.put("b.tsv", "text\tlabel\n" + "".join(f"{text} {i}\t{label}\n" for i, (text, label) in enumerate(rows[:50])))
        second, _ = self.train("classify", other, "--init-from", "run", "--epochs", "1")
        self.assertLess(second["first"]["loss"], 0.2, "the weights fit the words that they were trained with")


class Chosen(DataTest):
    def test_a_table_without_a_job_file(self):
        path = self.put("reviews.csv", "id,review,sentiment\n" +
                        "".join(f'{i},"{text}",{label}\n' for i, (text, label) in enumerate(messages(300))))
        done = self.run_cli("train", "--task", "classify", "--data", path, "--memory", "64MB", "--seed", "2", "--out", "run",
                            "--log-format", "line")
        for part in ('data.label = "sentiment"', 'data.text = "review"', 'data.tokens = "word"', "LSTM(64)"):
            self.assertIn(part, done.stderr)
        job = (self.folder / "run/job.toml").read_text()
        self.assertIn('text = "review"', job)
        score = json.loads(self.run_cli("evaluate", "run", "--json").stdout)
        self.assertGreater(score["accuracy"], 0.9)
        again = json.loads(self.run_cli("train", "run/job.toml", "--json", "--out", "again").stdout)
        self.assertAlmostEqual(again["last"]["loss"], score["loss"], places=6)

    def test_what_is_given_stays(self):
        path = self.put("a.tsv", "".join(f"{label}\t{text}\n" for text, label in messages(100)))
        config = self.run_cli("train", "--task", "classify", "--data", path, "--epochs", "2", "--data.tokens=char",
                              "--print-config").stdout
        self.assertIn("epochs = 2 ", config)
        self.assertIn('tokens = "char"', config)
        self.assertIn("header = false", config)
        self.assertIn('label = "1"', config)

    def test_names_a_long_text_and_a_series(self):
        names = self.put("names.tsv", "".join(f"{'greek' if i % 2 else 'dutch'}\t{'os' * (i % 4 + 1)}{i}\n" for i in range(300)))
        self.assertIn('tokens = "char"', self.run_cli("train", "--task", "classify", "--data", names, "--print-config").stdout)
        text = self.put("book.txt", "It was a dark and stormy night. " * 500)
        self.assertIn("window = 128", self.run_cli("train", "--task", "lm", "--data", text, "--print-config").stdout)
        series = self.put("s.csv", "month,passengers\n" + "".join(f"1949-{i},{100 + i % 12}\n" for i in range(144)))
        result = json.loads(self.run_cli("train", "--task", "forecast", "--data", series, "--json", "--memory", "32MB").stdout)
        self.assertLess(result["last"]["loss"], result["first"]["loss"])

    def test_dates_and_categories_of_a_table_are_recognised(self):
        rng = random.Random(1)
        rows = "".join(f"{datetime.date(2025, 1, 1) + datetime.timedelta(days=i)},{rng.choice(['sun', 'rain'])},{i % 7}\n"
                       for i in range(200))
        path = self.put("a.csv", "date,weather,load\n" + rows)
        config = self.run_cli("train", "--task", "forecast", "--data", path, "--print-config").stdout
        self.assertIn('dates = "date"', config)
        self.assertIn('categories = "weather"', config)
        self.assertIn('label = "load"', config)
        done = self.run_cli("train", "--task", "forecast", "--data", path, "--memory", "32MB", "--epochs", "2", "--log-format",
                            "line")
        self.assertIn('data.dates = ["date"]: dates', done.stderr)
        table = self.put("b.csv", "day,x,label\n" + "".join(f"2025-01-{i % 28 + 1:02},{rng.random()},{i % 2}\n" for i in range(200)))
        config = self.run_cli("train", "--task", "classify", "--data", table, "--print-config").stdout
        self.assertIn('dates = "day"', config)
        self.assertIn('inputs = "x"', config)

    def test_a_task_must_be_said_and_a_label_must_be_there(self):
        path = self.put("a.tsv", "x\ty\n")
        self.assertIn("--task", self.run_cli("train", "--data", path, code=2).stderr)


class Lengths(DataTest):
    def test_a_histogram_and_what_it_means_for_memory(self):
        path = self.put("a.tsv", table(messages(200)))
        words = ["lengths", "--task", "classify", "--data", path, f"--model.layers={LAYERS}"]
        report = json.loads(self.run_cli(*words, "--json").stdout)
        self.assertEqual(report["samples"], 200)
        self.assertEqual(sum(b["samples"] for b in report["bins"]), 200)
        self.assertEqual(report["cuts"][-1]["steps"], report["longest"])
        budgets = [cut["full_speed_bytes"] for cut in report["cuts"]]
        self.assertEqual(budgets, sorted(budgets))
        self.assertIn("━", self.run_cli(*words).stdout)


if __name__ == "__main__":
    unittest.main()
