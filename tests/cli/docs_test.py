#!/usr/bin/env python3
"""What docs/extend.md shows is what the sources say: every block of C++ in it stands in one of them, line for line.

  python3 docs_test.py build/plimsoll build [unittest arguments]
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def blocks_of(text):
    return re.findall(r"^```cpp\n(.*?)^```$", text, re.M | re.S)


def missing(blocks, sources):
    return [block for block in blocks if not any(block in source for source in sources)]


class Docs(unittest.TestCase):
    def setUp(self):
        self.sources = [path.read_text() for folder in ("include", "src") for path in (ROOT / folder).rglob("*")
                        if path.suffix in (".h", ".cpp")]

    def test_code_of_the_six_steps_is_code_of_the_library(self):
        blocks = blocks_of((ROOT / "docs" / "extend.md").read_text())
        self.assertEqual(len(blocks), 5)
        self.assertEqual(missing(blocks, self.sources), [])

    def test_a_changed_line_is_found(self):
        block = blocks_of((ROOT / "docs" / "extend.md").read_text())[0]
        self.assertEqual(len(missing([block.replace("Relu", "Tanh")], self.sources)), 1)


if __name__ == "__main__":
    del sys.argv[1:3]
    unittest.main()
