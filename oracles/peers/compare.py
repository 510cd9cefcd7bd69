#!/usr/bin/env python3
"""Runs boardlab beside other tools and prints the tables of docs/comparison.md as Markdown.

What is not installed is named at the end; the exit status is 1 when a comparison was left out, or ended otherwise than
that page says. Nothing is downloaded, and everything is written to a temporary folder.

  oracles/peers/compare.py --boardlab target/release/boardlab --python VENV/bin --mqsim MQSIM
"""
import argparse
import datetime
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

import fio
import jefferson
import mqsim
import qemu
import ubi
import unyaffs
from measure import Difference, Missing, run

HERE = Path(__file__).resolve().parent
PEERS = {"QEMU": qemu, "fio": fio, "jefferson": jefferson, "ubi_reader": ubi, "unyaffs": unyaffs, "MQSim": mqsim}


class Context:
    """Where the programs are, and the folder to work in."""

    def __init__(self, arguments, folder):
        self.boardlab = arguments.boardlab.resolve()
        self.tools = arguments.python
        self.mqsim = arguments.mqsim and arguments.mqsim.resolve()
        self.runs = arguments.runs
        self.here, self.root, self.folder = HERE, HERE.parent.parent, folder

    def python(self, program):
        """A program of a Python package."""
        found = shutil.which(program, path=self.tools) if self.tools else shutil.which(program)
        if not found:
            raise Missing(f"`{program}`: `python3 -m venv VENV; VENV/bin/pip install jefferson==0.4.8 "
                          "ubi_reader==0.8.16`, then give --python VENV/bin")
        return Path(found).absolute()

    def python_version(self, package):
        interpreter = self.python("python3")
        code = f"import importlib.metadata; print(importlib.metadata.version('{package}'))"
        return run(interpreter, "-c", code).text.strip()


def read_arguments():
    """Command line and environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    environment = lambda name: Path(os.environ[name]) if os.environ.get(name) else None
    found = environment("BOARDLAB") or Path(shutil.which("boardlab") or "target/debug/boardlab")
    parser.add_argument("--boardlab", type=Path, default=found, help="the program; BOARDLAB in the environment")
    parser.add_argument("--python", default=os.environ.get("PEERS_PYTHON"), metavar="VENV/bin",
                        help="programs of jefferson and ubi_reader; PEERS_PYTHON in the environment")
    parser.add_argument("--mqsim", type=Path, default=environment("MQSIM"), help="folder where MQSim was built; MQSIM in "
                        "the environment")
    parser.add_argument("--runs", type=int, default=5, help="measured pairs of runs; the median counts (5)")
    parser.add_argument("--only", choices=PEERS, nargs="+", default=list(PEERS), help="tools to compare with")
    return parser.parse_args()


def machine():
    """Where and when it is measured."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{datetime.date.today()}, {os.cpu_count()} processors ({model}), load {os.getloadavg()[0]:.1f}"


def compare_with(name, peer, context):
    for tool, package in peer.TOOLS.items():
        if not shutil.which(tool):
            raise Missing(f"`{tool}`: {package}")
    for tool in getattr(peer, "PYTHON", {}):
        context.python(tool)
    version = peer.version() if name in ("QEMU", "fio") else peer.version(context)
    print(f"\n## {name}\n\nVersion: {version}")
    peer.compare(context)


def main():
    arguments = read_arguments()
    if not arguments.boardlab.is_file():
        sys.exit(f"no program {arguments.boardlab}: build boardlab, or give --boardlab")
    failures = []
    print(f"Measured {machine()}, with {run(arguments.boardlab.resolve(), '--version').text.strip()}.")
    for name in arguments.only:
        with tempfile.TemporaryDirectory(prefix="boardlab-peers-") as folder:
            try:
                compare_with(name, PEERS[name], Context(arguments, Path(folder)))
            except Missing as missing:
                failures.append(f"left out: {name} needs {missing}")
            except Difference as difference:
                failures.append(f"differs: {name}: {difference}")
        sys.stdout.flush()
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
