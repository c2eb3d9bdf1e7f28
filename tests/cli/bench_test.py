#!/usr/bin/env python3
"""The verb `bench`: problem strings, what it answers, and that a wrong step is not timed.

  python3 bench_test.py build/plimsoll build [unittest arguments]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, BUILD = (os.path.abspath(word) for word in sys.argv[1:3])
BENCH = os.path.join(BUILD, "plimsoll-bench")
KEYS = ["problem", "threads", "ms", "best_ms", "gflops", "limit_gflops", "registers_gflops", "share", "peak_bytes", "plan_bytes",
        "verified", "verified_rows", "verified_steps"]
# Beside this library the C library's tanh, which the plain loops call and the engine does not, is a little larger: a step that
# differs from the loops by a wrong function.
WRONG_TANH = """
#define _GNU_SOURCE
#include <dlfcn.h>
double tanh(double x) {
  double (*right)(double) = (double (*)(double))dlsym(RTLD_NEXT, "tanh");
  return right(x) * 1.0001;
}
float tanhf(float x) {
  float (*right)(float) = (float (*)(float))dlsym(RTLD_NEXT, "tanhf");
  return right(x) * 1.0001f;
}
"""


def bench(*words, **options):
    return subprocess.run([PROGRAM, "bench", *words], capture_output=True, text=True, timeout=300, **options)


def described(problem):
    done = subprocess.run([BENCH, problem, "--describe"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Answers(unittest.TestCase):
    def measured(self, *words):
        done = bench(*words, "--threads", "1", "--seconds", "0.1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_one_object_a_line_in_the_order_asked(self):
        problems = ["lstm t12 b5 d3 h16", "gru t40 b9 d4 h8 l2", "rnn t9 b3 d8 h8 v20", "lstm t9 b3 d8 h16 p5"]
        lines = self.measured(*problems)
        self.assertEqual([line["problem"] for line in lines], problems)
        for line in lines:
            self.assertEqual(list(line), KEYS)
            self.assertIs(line["verified"], True)
            self.assertEqual(line["threads"], 1)
            self.assertTrue(0 < line["best_ms"] <= line["ms"])
            self.assertAlmostEqual(line["gflops"], described(line["problem"])["operations"] / line["ms"] / 1e6, delta=1e-6)
            self.assertAlmostEqual(line["share"], line["gflops"] / line["limit_gflops"], delta=1e-6)
            self.assertGreater(line["registers_gflops"], 0.5)
            self.assertGreater(line["plan_bytes"], 4_000_000)
            self.assertLessEqual(line["peak_bytes"], line["plan_bytes"])

    def test_a_budget_is_kept(self):
        free, = self.measured("lstm t600 b8 d4 h64")
        budget = int(0.85 * free["plan_bytes"])
        tight, = self.measured(f"lstm t600 b8 d4 h64 m{budget}")
        self.assertGreater(free["peak_bytes"], budget)
        self.assertLessEqual(tight["peak_bytes"], tight["plan_bytes"])
        self.assertLessEqual(tight["plan_bytes"], budget)

    def test_rows_of_all_lengths(self):
        line, = self.measured("lstm t60 b12 d4 h16 ragged")
        self.assertEqual((line["verified_rows"], line["verified_steps"]), (12, 60))

    def test_what_plain_loops_cannot_do_soon_is_verified_on_less(self):
        line, = self.measured("lstm t40 b70 d300 h300")
        self.assertIs(line["verified"], True)
        self.assertLess(line["verified_rows"] * line["verified_steps"], 40 * 70)
        self.assertGreater(line["verified_steps"], 16)  # more than one block

    def test_a_table_for_people(self):
        done = bench("lstm t40 b70 d300 h300", "--threads", "1", "--seconds", "0.1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        head, row, *_ = done.stdout.splitlines()
        for word in ("problem", "ms", "GFLOP/s", "share", "peak MB", "plan MB", "verified on"):
            self.assertIn(word, head)
        self.assertRegex(row, r"^lstm t40 b70 d300 h300 +1 +\d.* \d+% .* \d+ rows, \d+ steps$")


class Problems(unittest.TestCase):
    def test_operations_are_the_useful_ones(self):
        self.assertEqual(described("lstm t100 b64 d256 h256")["operations"], 2 * 4 * 256 * (2 * 256 + 3 * 256) * 100 * 64)
        self.assertEqual(described("gru t10 b4 d8 h16 l2")["operations"], 2 * 3 * 16 * (2 * 8 + 3 * 16 + 3 * 16 + 3 * 16) * 40)
        words = 2 * 16 * (3 * 8 + 3 * 16) + 3 * 2 * 16 * 50  # the embedding learns, so inputs need a gradient
        self.assertEqual(described("rnn t10 b4 d8 h16 v50")["operations"], words * 40)

    def test_ragged_lengths(self):
        facts = described("lstm t1000 b32 d128 h128 ragged")
        lengths = facts["lengths"]
        self.assertEqual((len(lengths), max(lengths)), (32, 1000))
        self.assertGreaterEqual(min(lengths), 1)
        self.assertAlmostEqual(sum(lengths) / 32, 250, delta=5)
        self.assertGreater(len(set(lengths)), 20)
        self.assertEqual(facts["operations"], 2 * 4 * 128 * (2 * 128 + 3 * 128) * sum(lengths))
        self.assertEqual(described("lstm t50 b1 d1 h1 ragged")["lengths"], [50])
        self.assertEqual(described("lstm t50 b3 d1 h1")["lengths"], [50, 50, 50])

    def test_bad_ones_are_refused_with_what_was_wanted(self):
        for problem, says in [
            ("", 'begins with lstm, gru or rnn'),
            ("lstn t5 b5 d5 h5", "did you mean 'lstm'?"),
            ("lstm t5 b5 d5", "h is missing"),
            ("lstm t5 b5 d5 h0", "h0: wanted h and a whole number from 1"),
            ("lstm t5x b5 d5 h5", "t5x: wanted t and a whole number"),
            ("lstm t99999999999999999999 b5 d5 h5", "wanted t and a whole number"),
            ("lstm t5 b5 d5 h5 l1001", "l1001: wanted l and a whole number from 1 to 1000"),
            ("lstm t5 b5 d5 h5 q7", "q7 is not understood"),
            ("lstm t5 b5 d5 h5 raged", "raged is not understood"),
            ("lstm t5 b5 d5 h5 t6", "t6: a second word with t"),
            ("lstm t5 b5 d5 h5 mlots", "mlots"),
            ("gru t5 b5 d5 h5 p3", "goes with lstm alone"),
            ("lstm t1000000 b1000000 d1 h8", "are the most"),
        ]:
            with self.subTest(problem=problem):
                done = bench("lstm t5 b5 d5 h5", problem)
                self.assertEqual((done.returncode, done.stdout), (2, ""))  # the good one before it is not run in vain
                self.assertIn(says, done.stderr)
                self.assertIn("try: lstm t100", done.stderr)
                error = json.loads(bench(problem, "--json").stdout)["error"]
                self.assertEqual(error["code"], 2)
                self.assertIn(says, error["message"])

    def test_bad_flags_are_refused(self):
        for words, says in [(["--seconds", "0"], "--seconds"), (["--seconds", "nan"], "--seconds"), (["--threads", "999"], "--threads"),
                            (["--thread", "2"], "did you mean '--threads'?")]:
            with self.subTest(words=words):
                done = bench("lstm t5 b5 d5 h5", *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(says, done.stderr)

    def test_a_budget_that_nothing_fits_is_refused_as_everywhere(self):
        words = ["lstm t50 b5 d5 h64 m1MB", "--threads", "1"]
        done = bench(*words)
        self.assertEqual(done.returncode, 4)
        self.assertIn("smallest budget", done.stderr)
        error = json.loads(bench(*words, "--json").stdout)["error"]
        self.assertEqual(error["code"], 4)
        self.assertGreater(error["min_bytes"], 1_000_000)


class Orders(unittest.TestCase):
    def served(self, *orders):
        lines = "".join(order + "\n" for order in orders)
        return subprocess.run([BENCH, "lstm t5 b5 d5 h5", "--threads", "2", "--worker"], input=lines, capture_output=True, text=True)

    def test_a_worker_answers_each_with_a_line(self):
        done = self.served("go 3", "forward 2", "plan", "limit", "meeting", "memory", "quit")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answers = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([(words[0], len(words) - 1) for words in answers],
                         [("ready", 0), ("ms", 3), ("ms", 2), ("plan", 5), ("gflops", 4), ("ns", 1), ("peak", 1)])
        for word in (word for words in answers for word in words[1:]):
            self.assertGreater(float(word), 0)

    def test_an_order_that_is_none_is_refused(self):
        done = self.served("gone 3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'gone 3' is no order", done.stderr)


class Control(unittest.TestCase):
    def test_a_step_that_differs_from_the_reference_is_not_timed(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = pathlib.Path(folder, "wrong.c"), os.path.join(folder, "wrong.so")
            source.write_text(WRONG_TANH)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
            words = ["lstm t12 b5 d3 h16", "--threads", "1", "--seconds", "0.1"]
            done = bench(*words, "--json", env={**os.environ, "LD_PRELOAD": library})
            self.assertEqual(done.returncode, 6, done.stderr + done.stdout)
            line = json.loads(done.stdout)
            self.assertIs(line["verified"], False)
            self.assertIn("differs by", line["difference"])
            self.assertNotIn("ms", line)
            done = bench(*words, env={**os.environ, "LD_PRELOAD": library})
            self.assertEqual(done.returncode, 6)
            self.assertIn("NOT VERIFIED", done.stdout)


if __name__ == "__main__":
    del sys.argv[1:3]
    unittest.main()
