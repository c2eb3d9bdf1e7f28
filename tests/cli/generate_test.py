#!/usr/bin/env python3
"""What must hold of byte-pair encoding and of `generate`: models that are trained on text made here, whose continuation is
certain, go on with it; the same seed gives the same text; memory stays inside the budget for any length; what cannot be is
refused.

  python3 generate_test.py build/plimsoll build [unittest arguments]
"""
import json
import random
import signal
import subprocess
import time
import unittest

from text_case import PROGRAM, TextCase, open_folder

LAYERS = '[{type = "Embedding", output_dim = 8}, {type = "GRU", units = 32}, {type = "Dense"}]'
signal.signal(signal.SIGINT, signal.default_int_handler)  # one that is ignored, as behind a shell's &, would be in the runs too
QUICK = ["--lr", "0.02", "--threads", "1", "--memory", "32MB", "--json", "--batch-size", "16"]


def sayings(count, seed=1):
    """Words whose letters are certain, in an order that is not."""
    rng = random.Random(seed)
    return " ".join(rng.choice(["one", "two", "five", "über", "ἄρα"]) for _ in range(count)) + " "


class GenerateTest(TextCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(open_folder(cls))
        cls.models = {}

    def model(self, tokens, *words):
        """A model of one long text, trained once."""
        if tokens not in self.models:
            path = self.folder / f"{tokens}.txt"
            path.write_text(sayings(3000))
            self.run_cli("train", "--task", "lm", "--data", path, f"--data.tokens={tokens}", "--data.window=32",
                         f"--model.layers={LAYERS}", "--epochs", "16", *QUICK, "--out", f"run-{tokens}", *words)
            path.unlink()  # a model needs its data no more
            self.models[tokens] = f"run-{tokens}"
        return self.models[tokens]

    def text(self, model, *words):
        return self.run_cli("generate", model, *words).stdout


class Text(GenerateTest):
    def check(self, tokens, *words):
        made = self.text(self.model(tokens, *words), "--prompt", "one two ", "--tokens", "120", "--temperature", "0.4")
        found = made.split()
        self.assertGreater(len(found), 10, made)
        for word in found[:-1]:
            self.assertIn(word, {"one", "two", "five", "über", "ἄρα"}, made)

    def test_characters_go_on_as_the_text_does(self):
        self.check("char")

    def test_bytes_do(self):
        self.check("byte")

    def test_words_do(self):
        self.check("word")

    def test_pieces_do_and_their_vocabulary_can_be_read(self):
        self.check("bpe", "--data.vocabulary=290")
        vocabulary = (self.folder / "run-bpe/model/vocabulary.txt").read_text().splitlines()
        self.assertLessEqual(len(vocabulary), 290)
        self.assertEqual(vocabulary[:2], ["\\x00", "\\x01"])
        self.assertIn("\\x20two", vocabulary)
        self.assertIn("\\x20ἄρα", vocabulary)
        score = json.loads(self.run_cli("train", "--task", "lm", "--data", self.put_text(), "--data.tokens=bpe",
                                        "--data.dictionary=run-bpe", "--data.window=32", f"--model.layers={LAYERS}",
                                        "--init-from", "run-bpe", "--data.vocabulary=290", "--epochs", "1", *QUICK, "--out", "run-bpe-2").stdout)
        self.assertLess(score["first"]["loss"], 1.9, "the pieces are the model's: what it has learnt holds")  # ln 5 at best, ln 277 if not

    def put_text(self):
        path = self.folder / "more.txt"
        path.write_text(sayings(1000, seed=9))
        return path

    def test_the_same_seed_gives_the_same_text_and_another_another(self):
        words = [self.model("char"), "--prompt", "two ", "--tokens", "100"]
        first = self.text(*words, "--seed", "5")
        self.assertEqual(first, self.text(*words, "--seed", "5", "--threads", "3", "--memory", "64MB"))
        self.assertNotEqual(first, self.text(*words, "--seed", "6"))
        greedy = self.text(*words, "--temperature", "0", "--seed", "5")
        self.assertEqual(greedy, self.text(*words, "--temperature", "0", "--seed", "6"))

    def test_several_texts_as_json(self):
        answer = json.loads(self.text(self.model("char"), "--prompt", "two ", "--tokens", "40", "--count", "3", "--json"))
        self.assertEqual([text["ended"] for text in answer["texts"]], ["length"] * 3)
        self.assertEqual(len({text["text"] for text in answer["texts"]}), 3)
        self.assertEqual([len(text["text"]) for text in answer["texts"]], [40] * 3)
        self.assertEqual(answer["tokens"], 120)
        self.assertLessEqual(answer["peak_bytes"], answer["budget_bytes"])

    def test_a_stop_text_and_a_prompt_from_a_file(self):
        (self.folder / "prompt.txt").write_text("one two ")
        answer = json.loads(self.text(self.model("char"), "--prompt-file", "prompt.txt", "--stop", "five", "--json",
                                      "--tokens", "2000"))
        self.assertEqual(answer["texts"][0]["ended"], "stop")
        self.assertNotIn("five", answer["texts"][0]["text"])

    def test_one_long_text_begins_behind_a_line_break(self):
        path = self.folder / "lines.txt"
        path.write_text("aab\n" * 1500)
        self.run_cli("train", "--task", "lm", "--data", path, "--data.tokens=char", "--data.window=16",
                     f"--model.layers={LAYERS}", "--epochs", "4", *QUICK, "--out", "run-lines")
        self.assertEqual(self.text("run-lines", "--temperature", "0", "--tokens", "7"), "aab\naab\n")

    def test_documents_begin_and_end_by_themselves(self):
        path = self.folder / "names.txt"
        path.write_text("anna\notto\n" * 200)
        self.run_cli("train", "--task", "lm", "--data", path, "--data.tokens=bpe", "--data.vocabulary=270",
                     f"--model.layers={LAYERS}", "--epochs", "8", *QUICK, "--out", "run-names")
        answer = json.loads(self.text("run-names", "--count", "20", "--json"))
        self.assertEqual({text["text"] for text in answer["texts"] if text["ended"] == "end"}, {"anna", "otto"})


class Memory(GenerateTest):
    def test_a_long_text_takes_no_more_memory_than_a_short_one_and_tells_how_far_it_is(self):
        model = self.model("char")
        short = json.loads(self.text(model, "--prompt", "one ", "--tokens", "1000", "--json"))
        done = self.run_cli("generate", model, "--prompt", "one ", "--tokens", "60000", "--json", "--log-format", "json")
        long = json.loads(done.stdout)
        self.assertEqual(len(long["texts"][0]["text"]), 60000)
        self.assertLessEqual(abs(long["peak_bytes"] - short["peak_bytes"]), 200_000)
        self.assertLessEqual(long["peak_bytes"], 32_000_000)

    def test_a_budget_that_is_too_small_is_refused_with_one_that_does(self):
        model = self.model("char")
        refused = json.loads(self.run_cli("generate", model, "--prompt", "one ", "--memory", "2MB", "--json", code=4).stdout)
        enough = refused["error"]["min_bytes"]
        answer = json.loads(self.text(model, "--prompt", "one ", "--memory", enough, "--json"))
        self.assertLessEqual(answer["peak_bytes"], enough)

    def test_progress_is_told_where_the_text_is_not_seen(self):
        model = self.model("char")
        with subprocess.Popen([PROGRAM, "generate", model, "--prompt", "one ", "--tokens", "100000000", "--log-format", "line"],
                              cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.environment) as run:
            line = run.stderr.readline().decode()
            run.send_signal(signal.SIGINT)
            rest = run.stderr.read().decode()
            self.assertEqual(run.wait(timeout=60), 130)
        self.assertIn("generation", line)
        self.assertIn("mem ", line)
        self.assertIn("stopped behind", rest)

    def test_a_reader_that_has_seen_enough_ends_it(self):
        model = self.model("char")
        with subprocess.Popen([PROGRAM, "generate", model, "--prompt", "one ", "--tokens", "100000000", "--quiet"],
                              cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment) as run:
            begun = time.time()
            self.assertEqual(len(run.stdout.read(100)), 100, "text comes before it is all there")
            run.stdout.close()
            self.assertEqual(run.wait(timeout=60), 7)
            self.assertLess(time.time() - begun, 60)
            self.assertEqual(run.stderr.read(), b"")


class Refused(GenerateTest):
    def refused(self, code, *says_then_words):
        says, words = says_then_words[0], says_then_words[1:]
        error = self.run_cli(*words, code=code).stderr
        for part in says:
            self.assertIn(part, error)

    def test_what_is_no_language_model(self):
        (self.folder / "a.tsv").write_text("text\tlabel\n" + "good day\tx\nbad day\ty\n" * 20)
        self.run_cli("train", "--task", "classify", "--data", "a.tsv", f"--model.layers={LAYERS}", *QUICK, "--out", "run-classes",
                     "--data.tokens=bpe", "--data.vocabulary=260")
        self.refused(2, ["classify", "--task lm"], "generate", "run-classes")
        self.refused(3, ["no model here"], "generate", "nothing")
        self.refused(2, ["which model"], "generate")

    def test_values_that_have_no_meaning(self):
        model = self.model("char")
        for flag, value, says in [("--tokens", "0", "tokens"), ("--temperature", "-1", "temperature"), ("--top-k", "-2", "top_k"),
                                  ("--top-p", "1.5", "top_p"), ("--count", "0", "count"), ("--memory", "much", "much")]:
            self.refused(2, [says], "generate", model, "--prompt", "one", f"{flag}={value}")
        self.refused(2, ["one of them"], "generate", model, "--prompt", "one", "--prompt-file", "x")
        self.refused(2, ["no beginning", "--prompt"], "generate", model)
        self.refused(3, ["missing.txt"], "generate", model, "--prompt-file", "missing.txt")
        self.assertIn("unknown to the model",
                      self.run_cli("generate", model, "--prompt", "one Q", "--tokens", "1", "--log-format", "line").stderr)

    def test_pieces_where_they_make_no_sense(self):
        (self.folder / "tags.conll").write_text("a X\nb Y\n\n" * 10)
        self.refused(2, ["bpe", "whole token"], "train", "--task", "tag", "--data", "tags.conll", "--data.tokens=bpe",
                     f"--model.layers={LAYERS}")
        (self.folder / "b.txt").write_text("a b c\n" * 10)
        self.refused(2, ["256 bytes"], "train", "--task", "lm", "--data", "b.txt", "--data.tokens=bpe", "--data.vocabulary=200",
                     f"--model.layers={LAYERS}")
        self.refused(2, ["data.lower"], "train", "--task", "lm", "--data", "b.txt", "--data.tokens=bpe", "--data.lower=true",
                     f"--model.layers={LAYERS}")
        (self.folder / "c.jsonl").write_text('{"text": ["a", "b"]}\n')
        self.refused(3, ["c.jsonl:1", "list of tokens"], "train", "--task", "lm", "--data", "c.jsonl", "--data.tokens=bpe",
                     f"--model.layers={LAYERS}")


if __name__ == "__main__":
    unittest.main()
