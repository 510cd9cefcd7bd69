"""Runs programs and measures them: processor time and elapsed time of a whole process, two programs in turn."""
import csv
import io
import os
import statistics
import subprocess
import time

# Seconds after which a program counts as hanging.
LIMIT = 600


class Missing(Exception):
    """A tool that a comparison needs is absent. The message says which and how to get it."""


class Difference(Exception):
    """A comparison ended otherwise than its page says. The message says how."""


def run(*command, folder=None, status=0):
    """Runs a command to its end and returns it; any other status than `status` is a `Difference`. `None` allows all."""
    done = subprocess.run([str(part) for part in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=LIMIT)
    done.text = done.stdout.decode(errors="replace")
    done.messages = done.stderr.decode(errors="replace")
    if status is not None and done.returncode != status:
        raise Difference(f"`{' '.join(str(part) for part in command)}` ended with {done.returncode}, not {status}:\n"
                         f"{done.text[-2000:]}{done.messages[-2000:]}")
    return done


def cells(boardlab, *command, folder=None):
    """The cells of a result, as a dictionary from (table, row, column) to text."""
    text = run(boardlab, *command, "--format", "csv", "--quiet", folder=folder).text
    return {(row["table"], row["row"], row["column"]): row["value"] for row in csv.DictReader(io.StringIO(text))}


def cost(command, folder):
    """Processor seconds and elapsed seconds of one run of a command."""
    begun = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    usage = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begun


class Ratio:
    """Medians of what two commands took, and of the ratio of each pair of runs."""

    def __init__(self, pairs):
        self.ours = statistics.median(ours for ours, _ in pairs)
        self.theirs = statistics.median(theirs for _, theirs in pairs)
        ratios = [ours / theirs for ours, theirs in pairs]
        self.ratio, self.least, self.most = statistics.median(ratios), min(ratios), max(ratios)

    def row(self, *name):
        """A row of a table: name, seconds here, seconds there, ratio with its range."""
        return [*name, f"{self.ours:.2f} s", f"{self.theirs:.2f} s",
                f"{self.ratio:.2f} ({self.least:.2f} to {self.most:.2f})"]


class Pairs:
    """Two commands, run in turn: the processor time of each, and the time from start to end.

    `before` prepares each run and is not measured.
    """

    def __init__(self, ours, theirs, runs, folder, before=lambda: None):
        pairs = []
        for index in range(runs + 1):
            pair = []
            for command in ours, theirs:
                before()
                pair.append(cost(command, folder))
            # The first pair fills the host's page cache.
            if index:
                pairs.append(pair)
        self.processor = Ratio([(ours[0], theirs[0]) for ours, theirs in pairs])
        self.elapsed = Ratio([(ours[1], theirs[1]) for ours, theirs in pairs])


def print_table(title, head, rows):
    """Prints a table as Markdown."""
    print(f"\n**{title}**\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
