"""Sweeps on a cluster."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, Union

from .. import _arguments as arguments
from .._arguments import Settings
from .._errors import RunError, input_error
from .._progress import Progress, following
from .._result import Result
from .._run import AnyScenario
from . import _dispatch
from ._job import Done, Job
from ._store import Store

__all__ = ["Swept", "powercut", "sweep"]

#: The seconds that a batch takes by default: so long that handing it out costs little, and so short
#: that little is lost with a worker.
BATCH_SECONDS = 2.0
#: The most points of a batch by default.
BATCH_MOST = 2_000
#: A batch is so small that each thread gets so many, which evens out what points take,
BATCHES_EACH = 16
#: and so large that the scheduler, which serves a batch in so many seconds, keeps all threads busy.
SERVED_SECONDS = 0.002


class Swept:
    """A sweep that has run on a cluster.

    Attributes:
        store: the points, in a folder.
        resumed: how many points the store had already.
        failed: how many of the points that ran now have failed.
        seconds: what a point took, a number for each batch that ran now: what :func:`cost` asks for.
    """

    def __init__(self, store: Store, resumed: int, failed: int, seconds: Iterable[float]) -> None:
        self.store = store
        self.resumed = resumed
        self.failed = failed
        self.seconds = tuple(seconds)

    @property
    def points(self) -> int:
        """The number of points."""
        return self.store.job.points

    @property
    def batch(self) -> int:
        """How many points a batch has: so much is lost with a worker."""
        return self.store.job.batch

    def frame(self) -> Any:
        """The points as a lazy frame of polars: :meth:`Store.frame`."""
        return self.store.frame()

    def result(self, cells: Iterable[str] = ()) -> Result:
        """The result of at most 10,000 points, to the byte that of `boardlab sweep`: :meth:`Store.result`."""
        return self.store.result(cells)

    def __repr__(self) -> str:
        return (
            f"<Swept: {self.points} points in batches of {self.batch}, {self.resumed} resumed, "
            f"{self.failed} failed, in {self.store.path}>"
        )


def sweep(
    scenario: AnyScenario,
    grid: Union[Mapping[str, Any], Iterable[str]],
    client: Any = None,
    *,
    set: Settings = None,
    seed: int = 1,
    action: str = "run",
    store: str | None = None,
    batch: int | None = None,
    retries: int = 3,
    progress: Progress = None,
) -> Swept:
    """Runs a scenario at every point of a grid, on a cluster of Dask.

    Args:
        scenario, grid, set, seed: as for :func:`boardlab.sweep`; up to a thousand million points.
        client: a client of Dask, of any cluster: Slurm, Kubernetes, SSH. Without one, a cluster of one
            process for each core of this machine.
        action: what is done at each point: ``run``, ``life``, ``powercut``, ``tune`` or ``advise``.
        store: the folder for what has run; by default one in the current folder, named after the
            sweep. The same call goes on with what is missing there. Workers that do not see the folder
            hand their points to this process, which writes them.
        batch: the points of a task of Dask. By default as many as take some two seconds, by the time
            of the first point. A store keeps the size that it began with.
        retries: how often a batch may lose its worker before the sweep ends.
        progress: as for :func:`boardlab.run`; a step is a point.

    Returns:
        What has run. The figures do not depend on the cluster, the batches or what was lost meanwhile:
        :meth:`Swept.result` is what `boardlab sweep` prints.

    Raises:
        InputError: something is wrong with an argument, the scenario or a point; nothing has run. Of
            more than 10,000 points, every written value is checked before, and both ends of ranges;
            a point that cannot be, because of several values together, has its message in ``failure``.
        RunError: a batch is lost for good, or the scheduler is. What has run is in the store.
        KeyboardInterrupt: Ctrl-C. What has run is in the store.
    """
    job = Job.plan(scenario, grid, set, seed, action)
    again, size = _whole(retries, "retries", 0), None
    if batch is not None:
        size = _whole(batch, "the size of a batch", 1)
    with _dispatch.cluster(client) as ready:
        return _swept(ready, job, store, size, again, progress)


def _swept(
    client: Any,
    job: Job,
    path: str | None,
    batch: int | None,
    retries: int,
    progress: Progress,
) -> Swept:
    path = path or f"boardlab-{job.name()}"
    if not Store.exists(path):
        job = dataclasses.replace(job, batch=batch or _batch(job, _dispatch.threads(client)))
    store = Store.open(path, job)
    if batch is not None and batch != store.job.batch:
        raise input_error(
            f"{store.path} has batches of {store.job.batch} points, not {batch}",
            found=batch,
            expected=str(store.job.batch),
            help=f"leave batch out, or give batch={store.job.batch}",
        )
    resumed = store.done
    done, failed = resumed, 0
    seconds: list[float] = []
    with following(progress, job.scenario[0]) as tell:

        def told(batch: Done) -> None:
            nonlocal done, failed
            done, failed = done + batch.points, failed + batch.failed
            seconds.append(batch.seconds / batch.points)
            if tell is not None:
                tell(done, store.job.points, f"batch {batch.number + 1} by {batch.worker}")

        _dispatch.perform(client, store, store.missing(), retries, told)
    lost = next(store.missing(), None)
    if lost is not None:
        first, end = store.job.range(lost)
        raise RunError(
            f"error: the part of points {first + 1} to {end} is not in {store.path}\n"
            "  = help: the same call runs it again",
            title=f"the part of points {first + 1} to {end} is missing",
            help="the same call runs it again",
        )
    return Swept(store, resumed, failed, seconds)


def _batch(job: Job, threads: int) -> int:
    """How many points a batch has by default."""
    if job.points <= threads * BATCHES_EACH:
        return 1
    return batch_size(job.points, _dispatch.pace(job), threads)


def batch_size(points: int, seconds: float, threads: int) -> int:
    """How many points a batch has, where a point takes so many seconds."""
    seconds = max(seconds, 1e-6)
    busy = math.ceil(threads * SERVED_SECONDS / seconds)
    even = math.ceil(points / (threads * BATCHES_EACH))
    most = max(1, min(BATCH_MOST, points // threads))
    size = min(max(min(round(BATCH_SECONDS / seconds), even), busy, 1), most)
    # Each thread gets the same number of batches, so that none stands still while the last ones run.
    batches = threads * math.ceil(points / (size * threads))
    return math.ceil(points / batches)


def _whole(value: object, what: str, least: int) -> int:
    number = arguments.count(value, what)
    if number is None or number < least:
        raise input_error(
            f"{what} is {value!r}",
            found=value,
            expected=f"a whole number from {least} on",
            help=f"give a whole number from {least} on",
        )
    return number


def powercut(
    scenario: AnyScenario,
    grid: Union[Mapping[str, Any], Iterable[str]],
    client: Any = None,
    **options: Any,
) -> Swept:
    """Cuts the power at every operation of the flash, for each point of a grid: :func:`sweep` with the
    action ``powercut``. A grid over ``seed`` gives other moments within an operation.

    The figures of a point are those of `boardlab powercut`.
    """
    return sweep(scenario, grid, client, action="powercut", **options)
