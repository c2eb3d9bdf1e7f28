#!/usr/bin/env python3
"""What docs/extend.md shows is what the sources say: every block of C++ in it stands in one of them, line for line. And every link
of the pages leads to a file and a heading that are there.

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


def prose_of(page):
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)


def anchors_of(page):
    """Headings as links name them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", prose_of(page), re.M)}


def dead_links(page, text):
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not link.startswith("http") and not (target.exists() and (not anchor or anchor in anchors_of(target))):
            dead.append(link)
    return dead


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

    def test_links_lead_somewhere(self):
        for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
            self.assertEqual(dead_links(page, prose_of(page)), [], page)

    def test_a_dead_link_is_found(self):
        page = ROOT / "README.md"
        self.assertEqual(dead_links(page, "[a](docs/none.md) [b](docs/data.md#none) [c](#none) [d](docs/data.md#the-store)"),
                         ["docs/none.md", "docs/data.md#none", "#none"])


if __name__ == "__main__":
    del sys.argv[1:3]
    unittest.main()
