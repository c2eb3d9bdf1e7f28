"""Many epochs over random lengths: resident memory at the end is what it was after the second epoch.

  python3 soak_test.py build/plimsoll build [unittest arguments]

PLIMSOLL_SOAK_EPOCHS sets the number of epochs (300). The controls leak 64 bytes an update, and make up faults.
"""
import collections
import os
import subprocess
import sys
import unittest

SOAK = ""  # set by the main program
EPOCHS = int(os.environ.get("PLIMSOLL_SOAK_EPOCHS", "300"))
CONTROL_EPOCHS = 100
LEAK_BYTES = 64  # an update
MOST_GROWTH = 64 * 1024
MOST_FAULTS = 16  # minor ones an epoch, from the third on

Line = collections.namedtuple("Line", "epoch resident_bytes faults updates")


def soak(epochs, *arguments):
    done = subprocess.run([SOAK, str(epochs), *arguments], capture_output=True, text=True, timeout=60 + epochs)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}\n{done.stderr}")
    return [Line(*map(int, line.split())) for line in done.stdout.splitlines()]


def problems(lines):
    """What is not flat; empty when all is well."""
    found = []
    growth = lines[-1].resident_bytes - lines[1].resident_bytes
    if abs(growth) > MOST_GROWTH:
        found.append(f"resident memory changed by {growth} bytes from epoch 2 to {lines[-1].epoch}")
    for before, line in zip(lines[1:], lines[2:]):
        if line.faults - before.faults > MOST_FAULTS:
            found.append(f"{line.faults - before.faults} page faults in epoch {line.epoch}")
    return found


class Soak(unittest.TestCase):
    def test_memory_stays_flat(self):
        lines = soak(EPOCHS)
        self.assertEqual([line.epoch for line in lines], list(range(1, EPOCHS + 1)), "a line an epoch")
        self.assertGreater(lines[0].resident_bytes, 1_000_000)
        self.assertGreater(lines[0].faults, 0)
        print(f"{EPOCHS} epochs, {lines[-1].updates} updates: {lines[1].resident_bytes} bytes after epoch 2, {lines[-1].resident_bytes} at the "
              f"end; {lines[-1].faults - lines[1].faults} page faults between", flush=True)
        self.assertEqual(problems(lines), [])

    def test_control_a_leak_of_64_bytes_an_update_is_caught(self):
        lines = soak(CONTROL_EPOCHS, "--leak")
        leaked = LEAK_BYTES * (lines[-1].updates - lines[1].updates)
        self.assertGreater(leaked, 4 * MOST_GROWTH, "too few updates to say anything")
        self.assertGreaterEqual(lines[-1].resident_bytes - lines[1].resident_bytes, leaked - MOST_GROWTH)
        self.assertEqual(len(problems(lines)), 1, "the growth, and nothing else")

    def test_control_one_epoch_with_too_many_faults_is_caught(self):
        lines = [Line(epoch, 8_000_000, 500 + (MOST_FAULTS if epoch >= 7 else 0), 80 * epoch) for epoch in range(1, 11)]
        self.assertEqual(problems(lines), [])
        lines[6:] = [line._replace(faults=line.faults + 1) for line in lines[6:]]
        self.assertEqual(problems(lines), [f"{MOST_FAULTS + 1} page faults in epoch 7"])


def main():
    global SOAK
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    SOAK = os.path.join(os.path.abspath(sys.argv[2]), "soak")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])


if __name__ == "__main__":
    main()
