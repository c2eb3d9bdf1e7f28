#!/usr/bin/env python3
"""What is installed is complete: headers that compile alone, a CMake package and a pkg-config file that the examples of
examples/cpp are built with, and examples that do what their headings say.

  python3 package_test.py build/plimsoll build [unittest arguments]
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = ""  # set by the main program
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "cpp"
STRICT = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def run(*words, code=0, env=None, cwd=None):
    """stdout and stderr of a command; it must end with `code` (None: with any but 0)."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600, cwd=cwd,
                          env={**os.environ, **(env or {})})
    if done.returncode != code if code is not None else done.returncode == 0:
        raise AssertionError(f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout, done.stderr


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="plimsoll_package_")
        cls.folder = pathlib.Path(cls.holder.name)
        # Installed and then moved: nothing in it may name the place.
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        (cls.folder / "first").rename(cls.folder / "prefix")
        cls.prefix = cls.folder / "prefix"
        cls.pkg = {"PKG_CONFIG_PATH": str(cls.prefix / "lib" / "pkgconfig")}
        run("cmake", "-G", "Ninja", "-S", EXAMPLES, "-B", cls.folder / "examples", f"-DCMAKE_PREFIX_PATH={cls.prefix}")
        run("cmake", "--build", cls.folder / "examples")

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def example(self, name):
        return run(self.folder / "examples" / name, cwd=self.folder)[0]

    def number(self, pattern, text):
        found = re.search(pattern + r" (\d+(?:\.\d+)?)", text)
        self.assertTrue(found, f"no '{pattern}' in: {text}")
        return float(found[1])

    def test_headers_compile_alone(self):
        headers = sorted((self.prefix / "include" / "plimsoll").iterdir())
        self.assertIn("session.h", [header.name for header in headers])
        for header in headers:
            source = self.folder / "alone.cpp"
            source.write_text(f'#include "plimsoll/{header.name}"\n')
            run("g++", *STRICT, "-fsyntax-only", f"-I{self.prefix}/include", source)

    def test_program_and_versions_agree(self):
        version = run(self.prefix / "bin" / "plimsoll", "--version")[0].split()[1]
        self.assertEqual(version, run("pkg-config", "--modversion", "plimsoll", env=self.pkg)[0].strip())
        self.assertIn(f'"{version}"', (self.prefix / "lib" / "cmake" / "Plimsoll" / "PlimsollConfigVersion.cmake").read_text())

    def test_pkg_config_is_enough_to_build_an_example(self):
        flags = run("pkg-config", "--cflags", "--libs", "--static", "plimsoll", env=self.pkg)[0].split()
        run("g++", "-std=c++20", EXAMPLES / "observer.cpp", *flags, "-o", self.folder / "by_pkg_config")
        self.assertIn("heard of 120 updates", run(self.folder / "by_pkg_config")[0])

    def test_without_the_prefix_the_package_is_not_found(self):
        nowhere = {"CMAKE_PREFIX_PATH": "", "Plimsoll_DIR": "", "PKG_CONFIG_PATH": ""}
        _, said = run("cmake", "-G", "Ninja", "-S", EXAMPLES, "-B", self.folder / "lost", code=None, env=nowhere)
        self.assertIn('"Plimsoll"', said)
        run("pkg-config", "plimsoll", code=None, env=nowhere)
        # A version that is not there is refused, too.
        other = self.folder / "other_version"
        other.mkdir()
        (other / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(Other LANGUAGES NONE)\nfind_package(Plimsoll 99 REQUIRED)\n")
        _, said = run("cmake", "-G", "Ninja", "-S", other, "-B", other / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", code=None)
        self.assertIn("version", said)

    def test_classifier(self):
        text = self.example("classifier")
        self.assertLess(self.number("accuracy before", text), 0.7)
        self.assertGreater(self.number("accuracy after", text), 0.95)
        self.assertEqual(self.number("accuracy again", text), self.number("accuracy after", text))
        # The installed program knows the folder.
        said, _ = run(self.prefix / "bin" / "plimsoll", "evaluate", self.folder / "parity_run")
        self.assertIn("accuracy", said)

    def test_language_model(self):
        text = self.example("language_model")
        self.assertGreater(self.number("perplexity before", text), 15)
        self.assertLess(self.number("perplexity after", text), 2)

    def test_tagger(self):
        text = self.example("tagger")
        self.assertLess(self.number("accuracy before", text), 0.5)
        self.assertGreater(self.number("accuracy after", text), 0.95)

    def test_custom_layer(self):
        text = self.example("custom_layer")
        self.assertIn("verify ok", text)
        self.assertLess(self.number("worst error after", text), self.number("worst error before", text))

    def test_forecaster(self):
        text = self.example("forecaster")
        self.assertLess(self.number("error after", text), self.number("error of the guess", text) / 2)

    def test_observer(self):
        text = self.example("observer")
        self.assertEqual(len(re.findall(r"^epoch \d: loss", text, re.M)), 4, text)
        self.assertIn("heard of 120 updates", text)

    def test_custom_loop(self):
        text = self.example("custom_loop")
        self.assertEqual(len(re.findall(r"^epoch \d: validation", text, re.M)), 8, text)
        self.assertLess(self.number("best validation", text), 0.05)
        self.assertTrue((self.folder / "sine_model" / "model.safetensors").is_file())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    BUILD = os.path.abspath(sys.argv[2])
    del sys.argv[1:3]
    unittest.main()
