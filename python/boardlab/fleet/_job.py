"""A sweep that many processes run, and one batch of it. Nothing here needs Dask.

A job says everything that a worker needs, so that a batch is a function of the job and its number
alone: whoever runs it, and however often, gets the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _arguments as arguments
from .. import _boardlab
from .._arguments import Settings
from .._errors import input_error
from .._run import AnyScenario
from .._scenario import Scenario, spec
from . import _parts

__all__ = ["Done", "Job", "run_batch"]

#: What may be done at each point.
ACTIONS = ("run", "life", "powercut", "tune", "advise")


@dataclass(frozen=True)
class Job:
    """A sweep in batches.

    Attributes:
        scenario: name, text and folder of the scenario, and its settings.
        grid: the arguments of the grid, ``KEY=VALUE,VALUE``.
        action: what is done at each point.
        seed: the seed of all points, unless the grid varies it.
        points: how many there are.
        keys: the keys of the grid, the slowest first.
        inputs: a checksum of the values of the points and of the files that they name.
        batch: how many points a batch has; the last one may have fewer.
        version: the version of boardlab that runs it.
    """

    scenario: _boardlab.Spec
    grid: tuple[str, ...]
    action: str
    seed: int
    points: int
    keys: tuple[str, ...]
    inputs: int
    batch: int
    version: str

    @classmethod
    def plan(
        cls,
        scenario: AnyScenario,
        grid: Any,
        set: Settings,
        seed: int,
        action: str,
        threads: int | None = None,
    ) -> Job:
        """Plans a sweep and checks its points, as far as that is done before any runs.

        The text of the scenario is read now, and goes with the job.

        Raises:
            InputError: as for :func:`boardlab.sweep`.
        """
        if action not in ACTIONS:
            raise input_error(
                f"no action is called {action!r}",
                found=action,
                expected=", ".join(ACTIONS),
                help=f"one of {', '.join(ACTIONS)}",
            )
        if not isinstance(scenario, Scenario):
            scenario = Scenario.load(scenario)
        known = spec(scenario, set)
        axes, number = tuple(arguments.axes(grid)), arguments.seed(seed)
        asked = (known, list(axes), action, number)
        points, keys, inputs = _boardlab.fleet_plan(asked, (None, threads))
        known_as = (points, tuple(keys), inputs)
        return cls(known, axes, action, number, *known_as, 1, _boardlab.VERSION)

    @property
    def asked(self) -> tuple[_boardlab.Spec, list[str], str, int]:
        """What the compiled half takes."""
        return self.scenario, list(self.grid), self.action, self.seed

    @property
    def batches(self) -> int:
        """How many batches there are."""
        return -(-self.points // self.batch)

    def range(self, number: int) -> tuple[int, int]:
        """The first point of a batch, from 0, and the one behind its last."""
        first = number * self.batch
        return first, min(first + self.batch, self.points)

    def identity(self) -> dict[str, Any]:
        """What two jobs have in common if they give the same figures. A batch may be larger or
        smaller; a folder is that of one machine."""
        name, text, _, settings = self.scenario
        return {
            "version": self.version,
            "scenario": os.path.basename(name),
            "text": None if text is None else hashlib.sha256(text.encode()).hexdigest(),
            "set": list(settings),
            "grid": list(self.grid),
            "action": self.action,
            "seed": self.seed,
            "points": self.points,
            "inputs": f"{self.inputs:08x}",
        }

    def name(self) -> str:
        """A short name, the same for equal jobs."""
        text = json.dumps(self.identity(), sort_keys=True)
        stem = os.path.splitext(os.path.basename(self.scenario[0]))[0]
        return f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


class Done(NamedTuple):
    """What is told of a batch that has run.

    Attributes:
        number: its number.
        points: how many points it had.
        failed: how many of them failed.
        seconds: how long they took.
        worker: the machine and the process that ran it.
        part: its bytes, where the worker cannot write to the store.
    """

    number: int
    points: int
    failed: int
    seconds: float
    worker: str
    part: bytes | None


def run_batch(job: Job, number: int, folder: str | None) -> Done:
    """Runs a batch, in a worker: one point after the other, in one thread.

    Its part is written to `folder`, or else returned.

    Raises:
        InputError: the worker has another version of boardlab, or cannot read the scenario.
    """
    if job.version != _boardlab.VERSION:
        raise input_error(
            f"the worker {_here()} has boardlab {_boardlab.VERSION}",
            found=_boardlab.VERSION,
            expected=job.version,
            help=f"install boardlab {job.version} there: versions give other figures",
        )
    begun = time.perf_counter()
    first, end = job.range(number)
    ran = _boardlab.fleet_run(job.asked, first, end, (None, 1))
    written = _parts.written(job.keys, ran)
    failed = sum(failed for *_, failed in ran)
    if folder is not None:
        _parts.save(folder, (first, end), written)
    part = written if folder is None else None
    return Done(number, end - first, failed, time.perf_counter() - begun, _here(), part)


def _here() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
