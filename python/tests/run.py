#!/usr/bin/env python3
"""Installs the Python package into a new environment, and runs its tests there.

usage: python/tests/run.py MODULE PROGRAM

MODULE is the compiled half as Cargo has built it, PROGRAM the command `boardlab`, which the package is compared with.
With BOARDLAB_FULL set, `make wheel` builds the wheel instead. The data frames are those of the Python that runs this
program: its packages can be imported, the environment has only boardlab.
"""
import glob
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv

import wheel


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    module, program = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="boardlab-python-") as folder:
        environment = os.path.join(folder, "environment")
        venv.create(environment, with_pip=True)
        python = os.path.join(environment, "bin", "python")
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps"]
        subprocess.run([*pip, built(module, folder)], check=True)
        variables = dict(os.environ, BOARDLAB=program, PYTHONPATH=sysconfig.get_path("purelib"), LC_ALL="C.UTF-8",
                         PYTHONDONTWRITEBYTECODE="1",
                         BOARDLAB_EXAMPLES=os.path.join(wheel.ROOT, "python", "examples"))
        suite = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suite.py")
        return subprocess.run([python, suite], cwd=folder, env=variables).returncode


def built(module, folder):
    if not os.environ.get("BOARDLAB_FULL"):
        return wheel.pack(module, folder)
    subprocess.run([os.path.join(wheel.ROOT, "setup", "wheel.sh")], check=True)
    return glob.glob(os.path.join(wheel.ROOT, "dist", "boardlab-*.whl"))[0]


if __name__ == "__main__":
    sys.exit(main())
