"""A run that is killed at any instant, or whose disk fails in any way, loses at most what it did since its last save.

  python3 kill_test.py build/plimsoll build [unittest arguments]

PLIMSOLL_KILLS is the number of kills (default 100): most at system calls of the saving path, one after the other, by strace; the
others at random instants. Needs strace; without it only the latter are done, and that is said.
"""
import collections
import concurrent.futures
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
import unittest

from saving_case import SEED, UPDATES, SavingCase

KILLS = int(os.environ.get("PLIMSOLL_KILLS", "100"))
WORKERS = len(os.sched_getaffinity(0))  # runs of one thread each
# What saving does, in this order, and some of it again to read back and to clean up.
CALLS = "openat,write,fsync,fadvise64,close,renameat,renameat2,newfstatat,fstat,pread64,unlinkat,symlinkat,fstatfs"


@unittest.skipIf(KILLS < 1, "no kills were asked for")
class Kill(SavingCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        began = time.monotonic()
        done = cls.train("--out", cls.straight)
        cls.seconds = time.monotonic() - began
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.runs = itertools.count(1)
        cls.calls = []
        if shutil.which("strace"):
            cls.calls = cls.saving_calls()

    @classmethod
    def new_run(cls):
        return os.path.join(cls.folder, f"run{next(cls.runs)}")

    @classmethod
    def strace(cls, run, *options):
        """strace of the calls on a run's snapshots, and on nothing else."""
        folder = os.path.join(run, "snapshots")
        names = [f"{number:06}.{ending}" for number in range(1, UPDATES + 4) for ending in ("partial", "plimsoll")]
        paths = [word for name in names + ["link.partial", "last", "best"] for word in ("-P", os.path.join(folder, name))]
        return ["strace", "-f", "-qq", "-P", folder, *paths, *options]

    @classmethod
    def saving_calls(cls):
        """(call, how often it was made before, itself included), for every call of the saving path of a whole run."""
        run, log = cls.new_run(), os.path.join(cls.folder, "calls.txt")
        done = cls.train("--out", run, before=cls.strace(run, "-e", "trace=" + CALLS, "-o", log))
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        counts, calls = collections.Counter(), []
        with open(log) as file:
            for line in file:
                if match := re.match(r"\d+ +(\w+)\(", line):
                    counts[match[1]] += 1
                    calls.append((match[1], counts[match[1]]))
        missing = {"openat", "write", "fsync", "close", "renameat", "pread64", "unlinkat", "symlinkat"} - set(counts)
        if missing:
            raise AssertionError(f"the saving path makes no {missing}: is it being traced at all?")
        return calls

    @staticmethod
    def side_by_side(work, items):
        """Calls work(item) for all, as many at a time as there are processors; the first that fails fails here."""
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            calls = [pool.submit(work, item) for item in items]
            try:
                for call in concurrent.futures.as_completed(calls):
                    call.result()
            finally:
                for call in calls:
                    call.cancel()

    def saved_updates(self, text):
        """Updates behind the last save that was reported."""
        found = re.findall(r"saved \S+ after update (\d+)", text)
        return int(found[-1]) if found else 0

    def goes_on(self, run, reported, why):
        """Resumes a run and compares. A run that had committed nothing has nothing to resume."""
        snapshots = os.path.join(run, "snapshots")
        there = [name for name in (os.listdir(snapshots) if os.path.isdir(snapshots) else []) if re.fullmatch(r"\d+\.plimsoll", name)]
        done = self.train("--resume", "last", "--out", run, "--json")
        if not there:
            self.assertEqual(done.returncode, 3, why + done.stderr)
            self.assertEqual(reported, 0, why + "what was reported as saved is gone")
            return
        self.assertEqual(done.returncode, 0, why + done.stdout + done.stderr)
        self.assertGreaterEqual(json.loads(done.stdout).get("resumed_at", 0), reported, why + "a reported save is lost")
        self.assertNotIn("passed over", done.stderr, why + "a name that is not whole was there")
        self.same_model(run, why)
        self.assertEqual([name for name in os.listdir(snapshots) if name.endswith(".partial")], [], why)

    def test_killed_at_each_call_of_the_saving_path(self):
        if not self.calls:
            self.skipTest("degraded: strace is not installed")
        kills = KILLS * 3 // 4
        order = list(self.calls)
        if kills < len(order):  # spread over the whole path; the rest is for a longer run
            order = [order[i * len(order) // kills] for i in range(kills)]

        def kill(point):
            call, when = point
            why = f"killed at {call} number {when}: "
            run = self.new_run()
            done = self.train("--out", run, before=self.strace(run, "-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}"))
            self.assertIn(done.returncode, (-signal.SIGKILL, 128 + signal.SIGKILL), why + done.stderr)
            self.goes_on(run, self.saved_updates(done.stderr), why)
            shutil.rmtree(run, ignore_errors=True)
        self.side_by_side(kill, [order[number % len(order)] for number in range(kills)])

    def test_killed_at_random_instants_again_and_again(self):
        wanted, kills = KILLS - KILLS * 3 // 4, itertools.count(1)
        enough = threading.Event()

        def kill_on_and_on(worker):
            rng = random.Random(f"{SEED} {worker}")
            while not enough.is_set():
                run, reported = self.new_run(), 0
                for attempt in range(8):
                    resumed = ["--resume", "last"] if attempt > 0 else []
                    process = subprocess.Popen(self.command("--out", run, *resumed), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    try:
                        _, told = process.communicate(timeout=rng.uniform(0.3, 1.2) * self.seconds)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        _, told = process.communicate()
                        if next(kills) >= wanted:
                            enough.set()
                    reported = max(reported, self.saved_updates(told))
                    if process.returncode != -signal.SIGKILL or not os.path.isdir(run):
                        break
                if not os.path.isdir(run):  # it was killed before it had made its folder
                    continue
                self.goes_on(run, reported, f"killed at random instants, seed {SEED}: ")
                shutil.rmtree(run, ignore_errors=True)
        self.side_by_side(kill_on_and_on, range(WORKERS))

    def faulty(self, call, fault, when):
        run = self.new_run()
        done = self.train("--out", run, before=self.strace(run, "-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={when}"))
        return run, done

    FAULTS = [("openat", "error=EROFS"), ("openat", "error=ENOSPC"), ("write", "error=ENOSPC"), ("write", "error=EIO"), ("write", "error=EDQUOT"),
              ("write", "retval=7"), ("fsync", "error=EIO"), ("fsync", "error=ENOSPC"), ("close", "error=EIO"), ("renameat", "error=EIO"),
              ("renameat", "error=EROFS"), ("pread64", "error=EIO")]

    def test_an_error_that_passes_costs_nothing(self):
        """`retval=7` says that 7 bytes were written where none were: only reading back can find that."""
        if not self.calls:
            self.skipTest("degraded: strace is not installed")
        rng = random.Random(SEED)
        for call, fault in self.FAULTS:
            when = rng.choice([number for name, number in self.calls if name == call and number > (2 if call in ("openat", "close") else 0)])
            with self.subTest(call=call, fault=fault, when=when):
                run, done = self.faulty(call, fault, when)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.same_model(run, f"{call} {fault}")
                self.goes_on(run, UPDATES, f"{call} {fault} number {when}: ")
                shutil.rmtree(run)

    def test_an_error_that_stays_is_told_and_is_no_success(self):
        if not self.calls:
            self.skipTest("degraded: strace is not installed")
        for call, fault in self.FAULTS:
            fault = fault.replace("retval=7", "retval=0")  # more than what is left of a block is never written
            numbers = [number for name, number in self.calls if name == call]
            # From the second save on; the first is to stay.
            when = numbers[len(numbers) // 2] if call != "renameat" else 5
            with self.subTest(call=call, fault=fault, when=when):
                run, done = self.faulty(call, fault, f"{when}+")
                self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
                self.assertIn("cannot", done.stderr)
                self.assertIn("snapshots", done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertGreater(self.saved_updates(done.stderr), 0, "nothing was saved before: nothing is shown")
                self.goes_on(run, self.saved_updates(done.stderr), f"{call} {fault} from number {when} on: ")
                shutil.rmtree(run)

    def test_one_save_that_fails_is_told_and_the_run_goes_on(self):
        if not self.calls:
            self.skipTest("degraded: strace is not installed")
        # A save renames its file and the link `last`; that of a better epoch the link `best`, too. These two are both tries of the third.
        run, done = self.faulty("renameat", "error=EIO", "6..7")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("not saved: "), 1, done.stderr)
        self.assertIn("the device reports an error; training goes on", done.stderr)
        self.same_model(run, "one failed save")
        self.goes_on(run, UPDATES, "one failed save: ")

    def test_a_file_that_may_not_become_so_large(self):
        """A real short write, and then an error: the limit is passed in the middle of a block."""
        run = self.new_run()
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        done = self.train("--out", run, preexec_fn=limit)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("larger than the limit", done.stderr)
        self.assertEqual(self.train("--resume", "last", "--out", run).returncode, 3)

    def test_a_disk_that_is_too_small_is_refused_before_the_first_step(self):
        disk = os.path.join(self.folder, "disk")
        os.makedirs(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", disk], capture_output=True).returncode != 0:
            self.skipTest("degraded: no right to mount a small disk")
        try:
            run = os.path.join(disk, "run")
            done = self.train("--out", run)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertIn("no space left", done.stderr)
            self.assertFalse(os.path.exists(run), "nothing of it stays")
            self.assertNotIn("Epoch", done.stderr)
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_control_a_damaged_generation_is_seen(self):
        """What goes_on looks for can be found: a generation that was reported and is cut off."""
        run = self.new_run()
        self.assertEqual(self.train("--out", run, "--max-steps", "5").returncode, 0)
        newest = os.path.realpath(os.path.join(run, "snapshots", "last"))
        os.truncate(newest, 1000)
        done = self.train("--resume", "last", "--out", run, "--allow-changes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("passed over " + os.path.basename(newest), done.stderr)
        self.same_model(run, "resumed from the generation before")


if __name__ == "__main__":
    unittest.main()
