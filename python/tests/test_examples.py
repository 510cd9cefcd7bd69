"""The examples for Slurm and Kubernetes, with their own commands and four workers on this machine."""
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

import boardlab
import polars
import yaml
from cards import ALONE, SHORT

EXAMPLES = os.environ.get("BOARDLAB_EXAMPLES")
ARGUMENTS = [f"{key}={value}" for key, value in SHORT.items()]
CARDS = 24

#: What Slurm does with a step: so many processes of a command.
SRUN = """#!/bin/sh
case $1 in --ntasks=*) count=${1#--ntasks=}; shift ;; *) exit 9 ;; esac
trap 'kill $(jobs -p) 2>/dev/null' TERM EXIT
for _ in $(seq "$count"); do "$@" >/dev/null 2>&1 & done
wait
"""


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="boardlab-examples-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ, "PYTHON": sys.executable, "RUN": self.folder}

    def expected(self):
        years = [
            boardlab.run("sd-life", set=ALONE, seed=seed).tables["life"]["end", "years_50"].value
            for seed in (1, CARDS)
        ]
        return years

    def lives(self, command, **environment):
        store = os.path.join(self.folder, "store")
        done = subprocess.run([*command, str(CARDS), store, *ARGUMENTS], capture_output=True, text=True,
                              cwd=self.folder, env={**self.environment, **environment}, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"<Lives: {CARDS} cards; years at which cards have ended: 5%", done.stdout)
        columns = ["point", "life/end/years_50"]
        frame = polars.concat([polars.read_parquet(path, columns=columns) for path in self.parts(store)])
        years = frame.sort("point")["life/end/years_50"].to_list()
        self.assertEqual([years[0], years[-1]], self.expected())

    def parts(self, store):
        return [os.path.join(folder, name) for folder, _, names in os.walk(store)
                for name in sorted(names) if name.endswith(".parquet")]

    def test_the_script_for_slurm(self):
        bin = os.path.join(self.folder, "bin")
        os.makedirs(bin)
        srun = os.path.join(bin, "srun")
        with open(srun, "w") as file:
            file.write(SRUN)
        os.chmod(srun, os.stat(srun).st_mode | stat.S_IXUSR)
        script = os.path.join(EXAMPLES, "slurm.sh")
        example = os.path.join(EXAMPLES, "lives.py")
        self.lives(["sh", script, example], PATH=f"{bin}:{os.environ['PATH']}", SLURM_JOB_ID="7",
                   SLURM_NTASKS="4", TMPDIR=self.folder)

    def test_the_file_for_kubernetes(self):
        with open(os.path.join(EXAMPLES, "kubernetes.yaml"), encoding="utf-8") as file:
            objects = [one for one in yaml.safe_load_all(file) if one["kind"] == "Deployment"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        for one in objects:
            container = one["spec"]["template"]["spec"]["containers"][0]
            command = [re.sub("^python3$", sys.executable, word) for word in container["command"]]
            command = [word.replace("boardlab-scheduler:8786", f"127.0.0.1:{port}") for word in command]
            command = [str(port) if word == "8786" else word for word in command]
            for _ in range(one["spec"]["replicas"]):
                process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                self.addCleanup(process.wait)
                self.addCleanup(process.terminate)
        self.assertEqual([one["spec"]["replicas"] for one in objects], [1, 4])
        self.lives([sys.executable, os.path.join(EXAMPLES, "lives.py")], SCHEDULER=f"tcp://127.0.0.1:{port}")


if __name__ == "__main__":
    unittest.main()
