"""Time and money of a million lifetimes: what the page on fleets shows.

usage: python python/benches/cost.py [--cards N]

Measures how long some cards take, and what Dask needs for a batch, on this machine; simulates the scheduler with both; and
compares the simulation with a sweep that really runs on the cores that are there.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import boardlab
from boardlab import fleet
from overhead import SHORT

POINTS = 1_000_000
CORES = (1, 16, 256, 4096)
#: Of a core for an hour, in dollars: about what large clouds ask for general-purpose machines.
PRICE = 0.04
#: From the order of the machines to the first batch.
START_S = 120.0
#: Cards that are timed together: so many that what a batch costs besides them does not count.
BATCH = 10
KINDS = {
    "short life (endurance of 20 to 32 cycles, 1 GiB)": SHORT,
    "`sd-life` as it is": {"life.cards": 1, "what_if.cards": 0},
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cards", type=int, default=200)
    asked = options.parse_args()
    here = os.cpu_count() or 1
    overhead = fleet.measure()
    print(f"boardlab {boardlab.__version__}, {here} cores: {overhead.task_s * 1e3:.2f} ms for a batch in client and "
          f"scheduler, {overhead.latency_s * 1e3:.2f} ms one way, {overhead.batch_s * 1e3:.2f} ms for its part")  # fmt: skip
    for name, settings in KINDS.items():
        with tempfile.TemporaryDirectory() as scratch:
            grid = {"seed": range(1, asked.cards + 1)}
            alone = fleet.sweep("sd-life", grid, set=settings, store=f"{scratch}/store", batch=BATCH)
        seconds = alone.seconds
        mean = sum(seconds) / len(seconds)
        print(f"\n{name}: {mean * 1e3:.1f} ms (from {min(seconds) * 1e3:.1f} to {max(seconds) * 1e3:.1f})")
        print("| cores | time | busy | core hours | money at $0.04 an hour |\n|---:|---:|---:|---:|---:|")
        cloud = fleet.Overhead(overhead.task_s, overhead.latency_s, overhead.batch_s, START_S)
        for one in fleet.cost(POINTS, seconds, cloud, cores=CORES, price=PRICE):
            print(f"| {one.cores:,} | {_time(one.seconds)} | {one.busy_ratio:.1%} | {one.core_hours:,.1f} | "
                  f"${one.money:,.2f} |")  # fmt: skip
        with tempfile.TemporaryDirectory() as scratch:
            cards = 3 * asked.cards
            begun = time.perf_counter()
            fleet.sweep("sd-life", {"seed": range(1, cards + 1)}, set=settings, store=f"{scratch}/store")
            took = time.perf_counter() - begun
        (said,) = fleet.cost(cards, seconds, overhead, cores=[here])
        print(f"{cards} cards on {here} cores: simulated {said.seconds:.1f} s, measured {took:.1f} s")


def _time(seconds: float) -> str:
    if seconds >= 3_600:
        return f"{seconds / 3_600:.1f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.0f} s"


if __name__ == "__main__":
    main()
