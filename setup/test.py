#!/usr/bin/env python3
"""Runs every test and closes with the time of each suite and one line: N passed, N failed, N skipped.

A suite is one program with tests, the examples in the documents of all crates, or the tests of the Python package,
which load the module that is built with the others. Two suites run at a time: where
one waits for a guest or comes down to its last long test, the other takes the free core. What a suite prints is
shown when it ends.

A test that lacks a tool writes `skipped: needs TOOL` to standard error and returns; it counts as skipped here, like
one that is ignored. With CI set, a skipped test fails the run.
"""
import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CARGO = ["cargo", "test", "--locked", "--workspace"]
AT_A_TIME = 2
# The module of the Python package, and the program that it is compared with.
MODULE, PROGRAM = "_boardlab", "boardlab"
PYTHON = os.path.join(ROOT, ".setup", "python", "bin", "python")
# Cargo's status when something does not build or a test fails.
FAILED = 101

Suite = collections.namedtuple("Suite", "name command folder")
Result = collections.namedtuple("Result", "suite seconds status passed failed skipped failures")

running = set()


def environment():
    """On a machine that builds once, what makes the next build faster costs a fifth of this one: the state of an
    incremental build, and crates in many small parts."""
    env = dict(os.environ)
    if env.get("CI"):
        env.update(CARGO_INCREMENTAL="0", CARGO_PROFILE_DEV_CODEGEN_UNITS="4")
    return env


def build(env):
    """Builds all programs with tests. Cargo tells each as a line of JSON; its own messages stay on standard error."""
    cargo = subprocess.Popen(CARGO + ["--no-run", "--message-format=json-render-diagnostics"], cwd=ROOT, env=env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    running.add(cargo)
    suites, files = [], {}
    for line in cargo.stdout:
        try:
            message = json.loads(line)
        except ValueError:
            print(line, end="")
            continue
        if message["reason"] != "compiler-artifact":
            continue
        if message["profile"]["test"] and message["executable"]:
            suites.append(suite_of(message))
        elif message.get("target", {}).get("name") in (MODULE, PROGRAM):
            files[message["target"]["name"]] = message["filenames"][0]
    status = cargo.wait()
    running.discard(cargo)
    if MODULE in files and PROGRAM in files:
        command = [PYTHON, "python/tests/run.py", files[MODULE], files[PROGRAM]]
        suites.append(Suite("python", command, ROOT))
    return suites, status


def suite_of(message):
    """The name is that of the program: `boardlab_ftl` tests the crate from inside, `ftl` from outside."""
    program = message["executable"]
    name = re.sub(r"-[0-9a-f]+$", "", os.path.basename(program))
    return Suite(name, [program], os.path.dirname(message["manifest_path"]))


def run(suite, env):
    start = time.monotonic()
    # As cargo runs it: in the folder of its crate.
    process = subprocess.Popen(suite.command, cwd=suite.folder, env={**env, "CARGO_MANIFEST_DIR": suite.folder},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace")
    running.add(process)
    output = process.communicate()[0]
    running.discard(process)
    result = summed(suite, time.monotonic() - start, process.returncode, output)
    print(f"--- {suite.name}: {' '.join(suite.command)}\n{output}", end="", flush=True)
    return result


def summed(suite, seconds, status, output):
    sums = re.findall(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored;", output, re.MULTILINE)
    passed, failed, ignored = (sum(int(one[k]) for one in sums) for k in range(3))
    lacking = len(re.findall(r"skipped: needs ", output))
    failures = re.findall(r"^test (.+) \.\.\. FAILED$", output, re.MULTILINE)
    if status and not failed:
        failed, failures = 1, [f"it did not end: status {status}"]
    return Result(suite, seconds, status, passed - lacking, failed, ignored + lacking, failures)


def stop(number, _frame):
    for process in list(running):
        process.terminate()
    os._exit(128 + number)


def main():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    env = environment()
    start = time.monotonic()
    suites, status = build(env)
    built = time.monotonic()
    if status:
        print(f"cargo ended with status {status}: something did not build\n0 passed, 1 failed, 0 skipped")
        return status
    suites.append(Suite("documents", CARGO + ["--no-fail-fast", "--doc"], ROOT))
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        results = list(pool.map(lambda suite: run(suite, env), suites))
    ended = time.monotonic()

    print(f"The time of each suite, {AT_A_TIME} at a time, beside {built - start:.0f} s of building and "
          f"{ended - built:.0f} s of testing:")
    for result in sorted(results, key=lambda result: -result.seconds):
        print(f"{result.seconds:9.1f} s  {result.suite.name}")
    for result in results:
        for failure in result.failures:
            print(f"failed: {result.suite.name}: {failure}")
    passed, failed, skipped = (sum(getattr(result, what) for result in results)
                               for what in ("passed", "failed", "skipped"))
    rejected = bool(env.get("CI")) and skipped > 0
    if rejected:
        print("tests were skipped, which fails under CI")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return FAILED if failed else int(rejected)


if __name__ == "__main__":
    sys.exit(main())
