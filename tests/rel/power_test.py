"""A power cut at any point of a run loses nothing that was reported as saved.

  python3 power_test.py build/plimsoll build [unittest arguments]

What a run asks of its disk is recorded by strace. For a cut behind every one of these calls all states are built that the disk may
then hold: what was synced is there; of all else any part may be. Bytes that were not synced are lost, there, zeros, cut off or
torn; names that were not synced are any subset of what was done to them, which is more than a journal would leave. In each of
these states the newest generation that was reported must be found whole, or a newer one.
Needs strace.
"""
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from saving_case import BUILD, SEED, SavingCase

PROBE = os.path.join(BUILD, "power_probe")
CALLS = "openat,write,fsync,fdatasync,close,rename,renameat,renameat2,unlink,unlinkat,symlink,symlinkat,pwrite64,writev,ftruncate"
MOST_LOOSE = 8  # operations on names of which every subset is tried; of more, those that are the last


class Recorder:
    """The operations on one folder, from strace's log."""

    def __init__(self, log, folder):
        self.folder, self.folders, self.files, self.ops = folder, set(), {}, []
        self.contents = []  # of each file that was made, in the end
        with open(log) as file:
            for line in file:
                if match := re.match(r"\d+ +(\w+)\((.*)\) += (-?\d+)", line):
                    self.take(match[1], match[2], int(match[3]))

    @staticmethod
    def strings(words):
        return [bytes.fromhex(text.replace("\\x", "")) for text in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', words)]

    def take(self, call, words, result):
        if result < 0:
            return
        strings = self.strings(words)
        first = words.split(",")[0].strip()
        number = int(first) if first.isdigit() else None
        inside = number in self.folders
        names = [text.decode(errors="replace") for text in strings] if call not in ("write", "pwrite64", "writev") else []
        if call == "openat":
            if names[0] == self.folder:
                self.folders.add(result)
            elif inside and "O_CREAT" in words:
                self.files[result] = len(self.contents)
                self.ops.append(("create", names[0], len(self.contents)))
                self.contents.append(b"")
        elif call == "close":
            self.files.pop(number, None)
            self.folders.discard(number)
        elif call == "write" and number in self.files:
            self.contents[self.files[number]] += strings[0][:result]
            self.ops.append(("write", self.files[number], strings[0][:result]))
        elif call == "write":  # of the log, where every save is told
            if saved := re.match(rb'\{"event":"saved",.*"generation":(\d+)', strings[0]):
                self.ops.append(("saved", int(saved[1])))
        elif call == "fsync" and number in self.files:
            self.ops.append(("sync file", self.files[number]))
        elif call == "fsync" and inside:
            self.ops.append(("sync folder",))
        elif call == "renameat" and inside:
            self.ops.append(("rename", names[0], names[1]))
        elif call == "unlinkat" and inside:
            self.ops.append(("unlink", names[0]))
        elif call == "symlinkat" and len(names) == 2 and int(words.split(",")[1]) in self.folders:
            self.ops.append(("symlink", names[1], names[0]))
        elif any(self.folder in name for name in names) or number in self.files or inside:
            raise AssertionError(f"a call that the test does not know: {call}({words[:200]}")


def apply(names, op):
    """One operation on names; what it needs may never have reached the disk."""
    if op[0] == "create":
        names[op[1]] = ("file", op[2])
    elif op[0] == "symlink":
        names[op[1]] = ("link", op[2])
    elif op[0] == "unlink":
        names.pop(op[1], None)
    elif op[1] in names:
        names[op[2]] = names.pop(op[1])


class Disk:
    """What is durable, and what is not yet."""

    def __init__(self):
        self.names, self.loose = {}, []
        self.synced, self.written = {}, {}
        self.reported = 0

    def take(self, op):
        if op[0] == "saved":
            self.reported = max(self.reported, op[1])
        elif op[0] == "write":
            self.written[op[1]] = self.written.get(op[1], b"") + op[2]
        elif op[0] == "sync file":
            self.synced[op[1]] = self.written.get(op[1], b"")
        elif op[0] == "sync folder":
            for loose in self.loose:
                apply(self.names, loose)
            self.loose = []
        else:
            self.loose.append(op)

    def contents_of(self, file):
        """What a file may hold after a cut."""
        synced, all_of_it = self.synced.get(file, b""), self.written.get(file, b"")
        new = len(all_of_it) - len(synced)
        if new == 0:
            return [synced]
        torn = bytearray(all_of_it)
        middle = len(synced) + new // 2
        torn[middle:middle + 512] = bytes(len(torn[middle:middle + 512]))
        return [synced, all_of_it, synced + bytes(new), all_of_it[:middle], bytes(torn)]

    def names_after(self):
        """Every set of names that a cut may leave, each once."""
        certain, open_ones = self.loose[:-MOST_LOOSE], self.loose[-MOST_LOOSE:]
        found = set()
        for chosen in itertools.product([False, True], repeat=len(open_ones)):
            names = dict(self.names)
            for op in certain + [op for op, there in zip(open_ones, chosen) if there]:
                apply(names, op)
            found.add(tuple(sorted(names.items())))
        return found

    def states(self, number_of):
        """The same with their contents, as number_of(bytes)."""
        contents = {}
        newest = max(self.written, default=None)  # a run writes one file at a time; those before it are as they were written
        for names in self.names_after():
            files = sorted({entry[1] for _, entry in names if entry[0] == "file"})
            for file in files:
                if file not in contents:
                    held = self.contents_of(file) if file == newest else [self.written.get(file, b"")]
                    contents[file] = [number_of(one) for one in held]
            for held in itertools.product(*(contents[file] for file in files)):
                holds = dict(zip(files, held))
                yield tuple((name, entry[0], entry[1] if entry[0] == "link" else holds[entry[1]]) for name, entry in names)


@unittest.skipIf(shutil.which("strace") is None, "degraded: strace is not installed")
class PowerCut(SavingCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        log = os.path.join(cls.folder, "calls.txt")
        strace = ["strace", "-f", "-qq", "-xx", "-s", "4000000", "-e", "trace=" + CALLS, "-o", log]
        done = cls.train("--out", cls.straight, before=strace)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        recorder = Recorder(log, os.path.join(cls.straight, "snapshots"))
        cls.ops = recorder.ops
        # Generations as they were meant, by name.
        cls.whole = {op[2]: recorder.contents[made] for made, op in cls.renames(recorder.ops)}
        cls.blobs, cls.blob_numbers = [], {}  # contents of files

    @staticmethod
    def renames(ops):
        made = {}
        for op in ops:
            if op[0] == "create":
                made[op[1]] = op[2]
            elif op[0] == "rename" and op[2].endswith(".plimsoll"):
                yield made[op[1]], op

    def number_of(self, held):
        """Contents lie on the disk once, and have many names."""
        if held not in self.blob_numbers:
            self.blob_numbers[held] = len(self.blobs)
            self.blobs.append(held)
            with open(self.blob_path(len(self.blobs) - 1), "wb") as file:
                file.write(held)
        return self.blob_numbers[held]

    def blob_path(self, number):
        return os.path.join(self.folder, f"blob{number}")

    def build(self, folder, state):
        """The state as a folder."""
        os.makedirs(folder)
        for name, kind, held in state:
            if kind == "link":
                os.symlink(held, os.path.join(folder, name))
            else:
                os.link(self.blob_path(held), os.path.join(folder, name))

    def cuts(self, ops):
        """(what was reported, state) for a cut behind every operation, each once."""
        disk, seen = Disk(), {}
        for op in ops:
            disk.take(op)
            for state in disk.states(self.number_of):
                seen[state] = max(seen.get(state, 0), disk.reported)
        return [(reported, state) for state, reported in seen.items()]

    def violations(self, ops):
        """(states that were tried, those in which a promise is broken)."""
        cuts = self.cuts(ops)
        place = tempfile.mkdtemp(dir=self.folder)
        folders = [os.path.join(place, str(i)) for i in range(len(cuts))]
        for folder, (_, state) in zip(folders, cuts):
            self.build(folder, state)
        probed = subprocess.run([PROBE], input="".join(folder + "\n" for folder in folders), capture_output=True, text=True, timeout=300, check=True)
        found = [tuple(map(int, line.split())) for line in probed.stdout.splitlines()]
        self.assertEqual(len(found), len(cuts))
        shutil.rmtree(place)
        broken = []
        for (generation, passed_over), (reported, state) in zip(found, cuts):
            name = f"{generation:06}.plimsoll"
            good = generation == 0 or (name, "file", self.number_of(self.whole[name])) in state
            if generation < reported or passed_over > 0 or not good:
                broken.append((reported, generation, passed_over, state))
        return cuts, broken

    def test_after_every_cut_the_newest_reported_generation_is_there(self):
        saves = [op for op in self.ops if op[0] == "saved"]
        self.assertGreaterEqual(len(saves), 6, "is it recorded at all?")
        self.assertEqual(max(op[1] for op in saves), len(self.whole))
        cuts, broken = self.violations(self.ops)
        self.assertEqual(broken[:3], [], f"{len(broken)} of {len(cuts)} states")
        self.assertGreater(len(cuts), 500)
        print(f"power cuts: {len(self.ops)} operations, {len(cuts)} states", file=sys.stderr)

    def test_what_is_found_goes_on_to_the_same_model(self):
        cuts = [(reported, state) for reported, state in self.cuts(self.ops) if any(name.endswith(".plimsoll") for name, _, _ in state)]
        for number, (reported, state) in enumerate(random.Random(SEED).sample(cuts, 8)):
            run = os.path.join(self.folder, f"cut{number}")
            os.makedirs(run)
            self.build(os.path.join(run, "snapshots"), state)
            done = self.train("--resume", "last", "--out", run, "--json")
            self.assertEqual(done.returncode, 0, f"{state}: {done.stdout}{done.stderr}")
            self.assertIn("resumed_at", json.loads(done.stdout), state)
            self.same_model(run, state)

    def test_control_a_protocol_without_its_syncs_is_caught(self):
        for left_out in ("sync file", "sync folder"):
            _, broken = self.violations([op for op in self.ops[:60] if op[0] != left_out])
            self.assertGreater(len(broken), 0, f"without '{left_out}' nothing is seen: the test sees nothing")


if __name__ == "__main__":
    unittest.main()
