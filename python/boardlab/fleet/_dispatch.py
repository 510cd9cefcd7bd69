"""Batches handed to Dask, and what comes back.

A few batches for each thread of the cluster are on their way at a time, so that neither the scheduler nor
this process knows more of a sweep than that. A batch whose worker is lost is handed out again.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from .. import _boardlab
from .._errors import Error, RunError
from . import _parts
from ._job import Done, Job, run_batch
from ._store import Store

__all__ = ["cluster", "perform"]

#: Batches on their way for each thread: one runs, one waits for it, one is on its way back.
AHEAD = 3


@contextmanager
def cluster(client: Any) -> Iterator[Any]:
    """The caller's client; without one that of a cluster on this machine, which ends afterwards."""
    if client is not None:
        yield client
        return
    distributed = _distributed()
    cores = os.cpu_count() or 1
    local = distributed.LocalCluster(
        n_workers=cores, threads_per_worker=1, dashboard_address=None, processes=True
    )
    with local, distributed.Client(local) as own:
        yield own


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError("boardlab.fleet needs Dask: pip install 'boardlab[fleet]'") from error
    return distributed


def threads(client: Any) -> int:
    """How many batches the cluster runs at a time; waits for its first worker."""
    client.wait_for_workers(1, timeout=60)
    return max(1, int(sum(client.nthreads().values())))


def perform(
    client: Any,
    store: Store,
    numbers: Iterator[int],
    retries: int,
    told: Callable[[Done], object],
) -> None:
    """Runs the batches `numbers` of a store.

    Raises:
        RunError: a batch has lost its worker more than `retries` times, or the scheduler is gone.
    """
    distributed = _distributed()
    folder = store.parts_path if _is_shared(client, store) else None
    running: dict[Any, tuple[int, int]] = {}
    pool = distributed.as_completed()

    def submit(number: int, attempt: int) -> None:
        key = f"{store.job.name()}-{number}-{uuid.uuid4().hex[:8]}"
        future = client.submit(
            run_batch, store.job, number, folder, key=key, pure=False, priority=-number
        )
        running[future] = (number, attempt)
        pool.add(future)

    try:
        for number in islice(numbers, AHEAD * threads(client)):
            submit(number, 0)
        while running:
            future = next(pool)
            number, attempt = running.pop(future)
            problem = _problem(future)
            if problem is None:
                _take(store, future.result(), told)
                following = next(numbers, None)
                if following is not None:
                    submit(following, 0)
            elif isinstance(problem, Error):
                raise problem
            elif attempt >= retries or not _is_alive(client):
                raise _lost(store.job, number, attempt, problem)
            else:
                submit(number, attempt + 1)
            future.release()
    finally:
        # What is on its way is of no use any more; what has run is in the store.
        if running and _is_alive(client):
            client.cancel(list(running), force=True)


def _problem(future: Any) -> BaseException | None:
    if future.status == "finished":
        return None
    if future.cancelled():
        return ConnectionError("the scheduler has forgotten it")
    return future.exception() or ConnectionError(future.status)


def _take(store: Store, done: Done, told: Callable[[Done], object]) -> None:
    if done.part is not None:
        _parts.save(store.parts_path, store.job.range(done.number), done.part)
        done = done._replace(part=None)
    told(done)


def _is_alive(client: Any) -> bool:
    return bool(client.status == "running")


def _lost(job: Job, number: int, attempt: int, problem: BaseException) -> RunError:
    first, end = job.range(number)
    return RunError(
        f"error: batch {number + 1} of {job.batches} (points {first + 1} to {end}) is lost after "
        f"{attempt + 1} attempts: {type(problem).__name__}: {problem}\n"
        "  = help: what has run is in the store: the same call goes on there; a smaller `batch` loses less",
        title=f"batch {number + 1} of {job.batches} is lost",
        found=f"{type(problem).__name__}: {problem}",
        expected="a worker that lives to the end of the batch",
        help="the same call goes on with what is missing; a smaller `batch` loses less",
    )


def _is_shared(client: Any, store: Store) -> bool:
    """Whether the workers see the store: all that live read what this process has just written there."""
    token = uuid.uuid4().hex
    path = os.path.join(store.parts_path, f".shared-{token}")
    with open(path, "x", encoding="ascii") as file:
        file.write(token)
    try:
        seen = client.run(_reads, path, token, on_error="return")
    finally:
        os.unlink(path)
    # The connection to a worker that is lost meanwhile ends with an OSError.
    answers = [answer for answer in seen.values() if not isinstance(answer, OSError)]
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return bool(answers) and all(answers)


def _reads(path: str, token: str) -> bool:
    try:
        with open(path, encoding="ascii") as file:
            is_there = file.read() == token
        return is_there and os.access(os.path.dirname(path), os.W_OK)
    except OSError:
        return False


def pace(job: Job) -> float:
    """The seconds of a point, by its first one, which runs here for that."""
    begun = time.perf_counter()
    _boardlab.fleet_run(job.asked, 0, 1, (None, 1))
    return time.perf_counter() - begun
