"""worker: a program that runs training steps when it is asked to, as seen by the programs that measure.

One line each way, flushed; everything else that the program says goes to a file and is quoted when it fails:
  worker    ready [FACTS]        after set-up and warm-up: what follows can be timed
  driver    go N                 run N training steps
  worker    ms M1 M2 ... MN      wall time of each in milliseconds, loss known to the host
  driver    memory
  worker    peak BYTES           VmHWM of /proc/self/status
  driver    quit                 the worker exits with code 0; end of input means the same
A driver may know further orders of its own.
"""
import os
import select
import statistics
import subprocess
import tempfile


class Worker:
    """`failure` is empty while all is well; then it says what was asked, what came, and the program's last line."""

    def __init__(self, command, threads):
        self.times, self.failure = {}, ""
        cores = sorted(os.sched_getaffinity(0))[:threads]
        self.errors = tempfile.TemporaryFile("w+")  # not a pipe: nobody reads it until the worker fails
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                            env=dict(os.environ, OMP_NUM_THREADS=str(threads)),
                                            preexec_fn=lambda: os.sched_setaffinity(0, cores))
        except OSError as error:
            self.process, self.failure = None, str(error)

    def ask(self, line, wanted, seconds=600):
        """Sends a line (None: only listens) and returns what follows `wanted` in the answer; empty when the worker failed."""
        if self.failure:
            return ""
        try:
            if line:
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], seconds)
            answer = self.process.stdout.readline() if ready else ""
        except OSError:
            answer = ""
        word, _, rest = answer.strip().partition(" ")
        if word != wanted:
            self.process.kill()
            self.process.wait()
            self.errors.seek(0)
            errors = self.errors.read().strip().splitlines()
            self.failure = f"asked {line!r}, answered {answer.strip()!r}" + (f"; {errors[-1]}" if errors else "")
            return ""
        return rest

    def measure(self, order, count):
        """Runs steps and remembers how long each took."""
        found = [float(word) for word in self.ask(f"{order} {count}", "ms").split()]
        self.times.setdefault(order, []).extend(found)
        return found

    def faster_half(self, order="go"):
        """The mean of the faster half: what else runs on the machine only ever adds."""
        times = sorted(self.times[order])
        return statistics.mean(times[: (len(times) + 1) // 2])

    def finish(self):
        """Ends the program and returns the most memory that it ever held, in bytes."""
        peak = int(self.ask("memory", "peak") or 0)
        if self.process and not self.failure:
            self.process.stdin.write("quit\n")
            self.process.stdin.close()
            self.process.wait(60)
        return peak


def plimsoll_worker(program, problem, threads):
    """A worker of build/plimsoll-bench, ready."""
    worker = Worker([program, problem, "--threads", str(threads), "--worker"], threads)
    worker.ask(None, "ready")
    return worker
