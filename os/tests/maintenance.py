#!/usr/bin/env python3
"""Deletes each call of cache and TLB maintenance of the kernel, one a build, and tells who finds it.

Each mutant is built and runs the program coherence (and what else is named) on the simulator with its checker of
coherence, and on QEMU. Where the checker finds nothing the mutant runs under load, and the simulator tells how long
interrupts were off: a call that is there for that is missed by its time. Prints a line a call: where, what, found by the
checker, by the time, by the simulator at all, by QEMU; then the shares, those of the TLB apart. Exit status 0 if checker
and time found at least 90 %, 1 if not, 2 usage.

    maintenance.py --simulator target/release/boardlab
"""
import argparse
import concurrent.futures
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join("arch", "arm926")
OPERATIONS = ["data_clean", "data_invalidate", "code_invalidate", "data_clean_all", "data_flush",
              "code_invalidate_all", "writes_drain", "tlb_invalidate_all", "tables_clean"]
CALL = re.compile(r"^ +(" + "|".join(OPERATIONS) + r")\([^;{]*\);", re.MULTILINE)
FOUND = "Used although it was not the newest"
INPUT = "coherence\nforktest\nhalt\n"
GOOD = ["coherence: ok", "fork test OK"]
LOAD = "bench large 40 &\nbench load &\n"     # a process that is too large for a slot, and others
LONGEST = 2000                                # cycles with interrupts off
KERNEL = 0xc0000000                           # below it the system starts, with interrupts off


def calls(tree):
    """(file, start, end, line, text) of each call."""
    folder = os.path.join(tree, SOURCES)
    found = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".c") or name == "cache.c":
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        for match in CALL.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append((name, match.start(), match.end(), line, " ".join(match.group().split())))
    return found


def build(tree, out):
    subprocess.run(["make", "-s", "-C", tree, f"OUT={out}", "STRICT=", f"{out}/kernel.elf"], check=True,
                   capture_output=True)
    return os.path.join(out, "kernel.elf")


def run(command, limit, typed=INPUT):
    """Exit status (None: time over), console, notes."""
    try:
        done = subprocess.run(command, input=typed.encode(), capture_output=True, timeout=limit,
                              env=dict(os.environ, QEMU_AUDIO_DRV="none"))
    except subprocess.TimeoutExpired as over:
        return None, (over.stdout or b"").decode("latin-1"), ""
    return done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")


def wrong(status, console):
    return status != 0 or "panic" in console or any(text not in console for text in GOOD)


def longest(args, kernel):
    """Cycles of the longest stretch with interrupts off under load."""
    command = [args.simulator, "os", "run", kernel, "--profile", "--format", "json", "--limit", "500 ms"]
    result = json.loads(run(command, args.limit, LOAD)[1])
    table = next(table for table in result["tables"] if table["id"] == "interrupts-off")
    cells = [row["cells"] for row in table["rows"]]
    return max(cell["cycles_count"]["value"] for cell in cells
               if int(cell["from"]["value"].split()[0], 16) >= KERNEL)


def simulate(args, kernel):
    """Found by the checker, by the time, at all."""
    command = [args.simulator, "os", "run", kernel, "--check", "--limit", "2 s"]
    status, console, notes = run(command, args.limit)
    checked = FOUND in console + notes
    late = not checked and not wrong(status, console) and longest(args, kernel) > LONGEST
    return checked, late, checked or late or wrong(status, console)


def emulate(args, kernel):
    command = ["qemu-system-arm", "-M", "realview-eb", "-cpu", "arm926", "-m", "128", "-nographic", "-audiodev",
               "none,id=none", "-semihosting", "-kernel", kernel]
    return wrong(*run(command, args.limit)[:2])


def judge(args, workshops, call):
    """Builds without the call, or the kernel as it is; found by the checker, by the time, by the simulator, by QEMU."""
    tree, out = workshop = workshops.get()
    try:
        if call:
            return mutate(args, tree, out, call)
        kernel = build(tree, out)
        return (*simulate(args, kernel), emulate(args, kernel))
    finally:
        workshops.put(workshop)


def mutate(args, tree, out, call):
    name, start, end = call[:3]
    path = os.path.join(tree, SOURCES, name)
    with open(path, encoding="utf-8") as file:
        original = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(original[:start] + "    ;" + original[end:])
    try:
        kernel = build(tree, out)
        return (*simulate(args, kernel), emulate(args, kernel))
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(original)


def tell(title, results):
    """The share of checker and time."""
    counts = [sum(found) for found in zip(*results)]
    print(f"{title}: {len(results)} calls; found by the checker {counts[0]}, by the time {counts[1]}, "
          f"by the simulator {counts[2]}, by QEMU {counts[3]}")
    return (counts[0] + counts[1]) / len(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulator", default="boardlab", metavar="PROGRAM")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="of one run")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="the N-th call, from 0 on")
    args = parser.parse_args()
    caches, translations = [], []
    jobs = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        workshops = queue.SimpleQueue()
        for number in range(jobs):
            tree, out = os.path.join(folder, f"os-{number}"), os.path.join(folder, f"build-{number}")
            shutil.copytree(os.path.join(HERE, ".."), tree, ignore=shutil.ignore_patterns("build"))
            workshops.put((tree, out))
        chosen = [(number, call) for number, call in enumerate(calls(tree))
                  if not args.only or number in args.only]
        whole = pool.submit(judge, args, workshops, None)
        judged = [pool.submit(judge, args, workshops, call) for _, call in chosen]
        if any(whole.result()):
            pool.shutdown(cancel_futures=True)
            print("maintenance.py: the kernel as it is has faults", file=sys.stderr)
            return 1
        for (number, call), future in zip(chosen, judged):
            result = future.result()
            (translations if "tlb" in call[4] else caches).append(result)
            words = ["found" if found else "-" for found in result]
            print(f"{number:2} {call[0]}:{call[3]:<4} {call[4]:50} checker {words[0]:6} time {words[1]:6} "
                  f"simulator {words[2]:6} QEMU {words[3]}", flush=True)
    if caches:
        tell("caches", caches)
    if translations:
        tell("TLB", translations)
    return 0 if tell("all", caches + translations) >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
