"""What a sweep takes on more cores: time and money, by a simulation of the scheduler.

```text
 client --submit--> scheduler --assign--> worker: batch, batch, ...
    ^-------------------- done --------------'
```
The scheduler serves one message at a time. A worker has one batch that runs and one that waits, so it
stands still only when the scheduler falls behind, and at the end. Times are measured (:func:`measure`),
or given. What is not in the model: the network's bandwidth, and workers that are lost.
"""

from __future__ import annotations

import heapq
import random
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .._errors import input_error
from . import _dispatch, _parts
from ._sweep import batch_size

__all__ = ["Cost", "Overhead", "cost", "measure"]

#: Batches that a worker holds: one runs, and one waits.
HELD = 2


@dataclass(frozen=True)
class Overhead:
    """What handing out batches takes, in seconds.

    Attributes:
        task_s: the scheduler's and the client's work for a batch.
        latency_s: from the scheduler to a worker, one way.
        batch_s: the worker's work for a batch besides its points: planning it and writing its part.
        start_s: from the order of the machines to the first batch.
    """

    task_s: float
    latency_s: float
    batch_s: float
    start_s: float


@dataclass(frozen=True)
class Cost:
    """What a sweep takes on so many cores.

    Attributes:
        cores: the cores, each with a worker.
        seconds: from the start of the machines to the last point.
        busy_ratio: the share of the cores' time in which points run.
        core_hours: the cores' time.
        money: their price.
    """

    cores: int
    seconds: float
    busy_ratio: float
    core_hours: float
    money: float


def cost(
    points: int,
    seconds: Sequence[float],
    overhead: Overhead,
    *,
    cores: Iterable[int] = (1, 16, 256, 4096),
    batch: int | None = None,
    price: float = 0.04,
    seed: int = 1,
) -> list[Cost]:
    """Time and money of a sweep on different numbers of cores.

    Args:
        points: how many points.
        seconds: what some points took; each point takes one of these at random.
        overhead: what handing out takes: :func:`measure`.
        cores: the numbers of cores.
        batch: the points of a batch; by default as :func:`sweep` chooses it.
        price: of a core for an hour.
        seed: of what is random.
    """
    if points < 1 or not seconds or min(seconds) < 0:
        raise input_error(
            "the cost of no points, or of points without a time",
            found=(points, len(seconds)),
            expected="at least one point, and the time of one",
            help="measure some points first",
        )
    return [_cost(points, seconds, overhead, one, batch, price, seed) for one in cores]


def _cost(
    points: int,
    seconds: Sequence[float],
    overhead: Overhead,
    cores: int,
    batch: int | None,
    price: float,
    seed: int,
) -> Cost:
    mean = sum(seconds) / len(seconds)
    size = batch or batch_size(points, mean, cores)
    works = _Works(points, size, seconds, seed)
    end = overhead.start_s + _simulate(works, overhead, cores)
    hours = end * cores / 3_600
    return Cost(cores, end, works.spent / (end * cores), hours, hours * price)


class _Works:
    """The time that each batch takes, one after the other."""

    def __init__(self, points: int, size: int, seconds: Sequence[float], seed: int) -> None:
        self.left, self.size, self.spent = points, size, 0.0
        self._random = random.Random(seed)
        count = len(seconds)
        self._mean = sum(seconds) / count
        self._deviation = (sum((one - self._mean) ** 2 for one in seconds) / count) ** 0.5

    def next(self) -> float | None:
        """The time of the next batch: the sum of its points is spread as by the central limit theorem."""
        size = min(self.size, self.left)
        if size == 0:
            return None
        self.left -= size
        time = self._random.gauss(size * self._mean, size**0.5 * self._deviation)
        time = max(time, size * self._mean / 10)
        self.spent += time
        return time


def _simulate(works: _Works, overhead: Overhead, cores: int) -> float:
    """The time from the first batch handed out to the end of the last."""
    served, end = 0.0, 0.0
    waiting: list[list[tuple[float, float]]] = [[] for _ in range(cores)]
    free = [0.0] * cores
    ends: list[tuple[float, int]] = []

    def hand_out(worker: int, asked: float) -> None:
        """The scheduler answers a worker that has ended a batch, after all that asked before."""
        nonlocal served
        work = works.next()
        if work is None:
            return
        served = max(served, asked + overhead.latency_s) + overhead.task_s
        waiting[worker].append((served + overhead.latency_s, work))
        if len(waiting[worker]) == 1 and free[worker] >= 0:
            begin(worker)

    def begin(worker: int) -> None:
        arrived, work = waiting[worker].pop(0)
        done = max(arrived, free[worker]) + overhead.batch_s + work
        free[worker] = -1.0
        heapq.heappush(ends, (done, worker))

    for _ in range(HELD):
        for worker in range(cores):
            hand_out(worker, 0.0)
    while ends:
        now, worker = heapq.heappop(ends)
        end, free[worker] = max(end, now), now
        if waiting[worker]:
            begin(worker)
        hand_out(worker, now)
    return end + overhead.latency_s


def measure(client: Any = None, *, tasks: int = 2_000, start_s: float = 0.0) -> Overhead:
    """Measures what handing out batches takes on a cluster, with tasks that do nothing.

    Args:
        client: as for :func:`sweep`.
        tasks: how many.
        start_s: what the machines need to start: it is not measured.
    """
    with _dispatch.cluster(client) as ready:
        threads = _dispatch.threads(ready)
        _nothing_through(ready, 8 * threads, threads)
        begun = time.perf_counter()
        _nothing_through(ready, tasks, threads)
        task_s = (time.perf_counter() - begun) / tasks
        begun = time.perf_counter()
        for _ in range(20):
            ready.submit(_nothing, uuid.uuid4().hex, pure=False).result()
        latency_s = (time.perf_counter() - begun) / 20 / 4
    begun = time.perf_counter()
    for _ in range(20):
        line = '{"point":0,"outcome":{"done":{"virtual_time_ns":0,"cells":{}}}}'
        _parts.written((), [(0, "[]", line, False)])
    return Overhead(task_s, latency_s, (time.perf_counter() - begun) / 20, start_s)


def _nothing(_: object) -> None:
    return None


def _nothing_through(client: Any, tasks: int, threads: int) -> None:
    """So many tasks, of which as many are on their way as of batches."""
    from distributed import as_completed

    pool, left = as_completed(), tasks
    for _ in range(min(tasks, _dispatch.AHEAD * threads)):
        pool.add(client.submit(_nothing, left, pure=False))
        left -= 1
    for future in pool:
        future.release()
        if left > 0:
            pool.add(client.submit(_nothing, left, pure=False))
            left -= 1
