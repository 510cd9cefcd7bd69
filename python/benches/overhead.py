"""What Dask costs: short lifetimes by `boardlab sweep` and by `boardlab.fleet`, in turns, on the same cores.

usage: python python/benches/overhead.py PROGRAM [--points N] [--rounds N]

PROGRAM is the `boardlab` of the same build as the installed package. A round runs both; the one that is first
changes. The ratio is that of the whole times: start of the cluster, points, parts on the disk and the result. The
results are compared to the byte.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import boardlab
from boardlab import fleet

#: A card whose blocks end after 20 to 32 cycles: a point takes about 10 ms.
SHORT = {
    "life.cards": 1,
    "what_if.cards": 0,
    "part.capacity": "1 GiB",
    "part.endurance.rated": 100,
    "part.endurance.pe_cycles": [20, 22, 25, 28, 32],
}


def by_program(program: str, points: int) -> str:
    """What `boardlab sweep` prints."""
    command = [program, "sweep", "sd-life", f"--grid=seed=1..{points}", "--format=json", "--no-wall-time"]
    command += [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def by_fleet(points: int, folder: Path) -> str:
    """The same by `fleet.sweep`, in a store of its own."""
    swept = fleet.sweep("sd-life", {"seed": range(1, points + 1)}, set=SHORT, store=str(folder))
    return swept.result().json


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("program")
    options.add_argument("--points", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=3)
    asked = options.parse_args()
    ratios = []
    for number in range(asked.rounds):
        with tempfile.TemporaryDirectory() as scratch:
            took, results = {}, []
            kinds = ["sweep", "fleet"] if number % 2 == 0 else ["fleet", "sweep"]
            for kind in kinds:
                begun = time.perf_counter()
                if kind == "sweep":
                    results.append(by_program(asked.program, asked.points))
                else:
                    results.append(by_fleet(asked.points, Path(scratch, "store")))
                took[kind] = time.perf_counter() - begun
            if results[0] != results[1]:
                sys.exit("the results differ")
            ratios.append(took["fleet"] / took["sweep"])
            print(f"{asked.points} points: sweep {took['sweep']:.1f} s, fleet {took['fleet']:.1f} s,"
                  f" ratio {ratios[-1]:.3f}", flush=True)  # fmt: skip
    print(f"boardlab {boardlab.__version__}: median ratio {median(ratios):.3f}")


if __name__ == "__main__":
    main()
