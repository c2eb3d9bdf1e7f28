"""What the tests of text share: labelled texts, a folder with a cache of its own, and the program run in it."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

if len(sys.argv) < 3:
    sys.exit(f"usage: {sys.argv[0]} build/plimsoll build [unittest arguments]")
PROGRAM = os.path.abspath(sys.argv[1])
del sys.argv[1:3]

LAYERS = '[{type = "Embedding", output_dim = 16}, {type = "LSTM", units = 16}, {type = "Dense"}]'


def messages(count, seed=1, longest=12):
    """Texts whose label is said by one word somewhere in them."""
    rng = random.Random(seed)
    words = ["the", "film", "was", "long", "and", "loud", "again", "tonight", "we", "saw"]
    rows = []
    for _ in range(count):
        label = rng.choice(["pos", "neg"])
        text = [rng.choice(words) for _ in range(rng.randint(2, longest))]
        text.insert(rng.randrange(len(text) + 1), "good" if label == "pos" else "bad")
        rows.append((" ".join(text), label))
    return rows


def table(rows):
    return "text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows)


def open_folder(owner):
    """Gives a test, or a class of tests, a folder and a cache in it; returns what removes them."""
    place = tempfile.TemporaryDirectory()
    owner.folder = pathlib.Path(place.name)
    owner.cache = owner.folder / "cache"
    owner.environment = dict(os.environ, XDG_CACHE_HOME=str(owner.cache))
    return place.cleanup


class TextCase(unittest.TestCase):
    def put(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run_cli(self, *words, code=0, stdin=b""):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, timeout=600, input=stdin,
                              env=self.environment)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()  # strictly UTF-8
        self.assertEqual(done.returncode, code, f"{words}\nstdout: {done.stdout[:2000]}\nstderr: {done.stderr[:2000]}")
        return done
