"""What runs: scenarios, sweeps and the published evaluations."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _arguments as arguments
from . import _boardlab
from ._arguments import Settings
from ._files import write_whole
from ._progress import Progress, following
from ._result import Reproduction, Result
from ._scenario import Scenario, spec
from .policies import Policies, given, tell_unasked

__all__ = ["SweepResult", "advise", "life", "powercut", "reproduce", "run", "sweep", "tune"]

#: A scenario: its name, the path of its file, or an object.
AnyScenario = Union[str, "os.PathLike[str]", Scenario]

#: The journal in the folder of a sweep, as the command line calls it.
JOURNAL = "sweep.journal"


def _perform(
    action: str,
    scenario: AnyScenario,
    set: Settings,
    policies: Policies,
    **terms: Any,
) -> Result:
    room, own = given(policies)
    known = spec(scenario, [*arguments.settings(set), *room] if room else set)
    number, cores = arguments.seed(terms["seed"]), arguments.threads(terms["threads"])
    with following(terms["progress"], known[0]) as told:
        outcome = _boardlab.perform(action, known, own, number, (told, cores))
    tell_unasked(own)
    return Result(outcome)


def run(
    scenario: AnyScenario,
    *,
    set: Settings = None,
    policies: Policies = None,
    seed: int = 1,
    progress: Progress = None,
    threads: int | None = None,
) -> Result:
    """Runs a scenario, as `boardlab run` does.

    Args:
        scenario: the name of a built-in one, such as ``nor-write``, or that of its evaluation,
            such as ``nor``; the path of a file ``*.toml`` or ``*.fio``; or a :class:`Scenario`.
        set: other values: ``{"linux.wait": "170 us"}``, or a list of ``KEY=VALUE``. Quantities are
            texts with their unit. ``boardlab.Scenario.keys`` lists the keys.
        policies: policies of your own for keys that take one, ``{"linux.wait": function}``: see
            :mod:`boardlab.policies`.
        seed: the seed of everything random, from 0 to 2**64 - 1.
        progress: ``True`` for a bar on standard error, if that is a terminal; or a function, called
            with the number of completed steps, the number of all, and the name of the last one.
            What it raises ends the run.
        threads: how many threads the run has, that of all cores by default. It changes no figure.

    Returns:
        The result. Equal arguments and versions give equal bytes.

    Raises:
        InputError: something is wrong with an argument or the scenario; nothing has run.
        RunError: the run failed.
        KeyboardInterrupt: Ctrl-C. What is left of the run's step goes on in the background; it has
            no effect but its time.

    Other threads of Python go on meanwhile.

    >>> import boardlab
    >>> result = boardlab.run("nor-write", set={"workload.bytes": "64 KiB"})
    >>> result.tables["table5"]["total", "total_ns"].unit
    'ns'
    """
    return _perform(
        "run", scenario, set, policies, seed=seed, progress=progress, threads=threads
    )


def tune(
    scenario: AnyScenario,
    *,
    set: Settings = None,
    policies: Policies = None,
    seed: int = 1,
    progress: Progress = None,
    threads: int | None = None,
) -> Result:
    """Finds the best waits for a NOR part, as `boardlab tune` does. For arguments and errors see
    :func:`run`.

    >>> import boardlab
    >>> boardlab.tune("nor-write", set={"workload.bytes": "64 KiB"}).tables[0].id
    'optimum'
    """
    return _perform(
        "tune", scenario, set, policies, seed=seed, progress=progress, threads=threads
    )


def life(
    scenario: AnyScenario,
    *,
    set: Settings = None,
    policies: Policies = None,
    seed: int = 1,
    progress: Progress = None,
    threads: int | None = None,
) -> Result:
    """Computes how long a card or a flash lives, as `boardlab life` does. For arguments and errors
    see :func:`run`."""
    return _perform(
        "life", scenario, set, policies, seed=seed, progress=progress, threads=threads
    )


def powercut(
    scenario: AnyScenario,
    *,
    set: Settings = None,
    seed: int = 1,
    progress: Progress = None,
    threads: int | None = None,
) -> Result:
    """Cuts the power at every operation of the flash, as `boardlab powercut` does. For arguments
    and errors see :func:`run`."""
    return _perform("powercut", scenario, set, None, seed=seed, progress=progress, threads=threads)


def advise(
    scenario: AnyScenario,
    *,
    set: Settings = None,
    seed: int = 1,
    progress: Progress = None,
    threads: int | None = None,
) -> Result:
    """Ranks what a scenario compares by the limits that it names, as `boardlab advise` does. For
    arguments and errors see :func:`run`."""
    return _perform("advise", scenario, set, None, seed=seed, progress=progress, threads=threads)


class SweepResult(Result):
    """The result of a sweep: a table of all points, and every figure as an attachment.

    Attributes:
        of_points: the number of points.
        of_resumed: how many of them the journal had already.
    """

    of_points: int = 0
    of_resumed: int = 0

    @property
    def points(self) -> int:
        """The number of points."""
        return self.of_points

    @property
    def resumed(self) -> int:
        """How many of them the journal had already."""
        return self.of_resumed


def sweep(
    scenario: AnyScenario,
    grid: Union[Mapping[str, Any], Iterable[str]],
    *,
    set: Settings = None,
    cells: Iterable[str] = (),
    seed: int = 1,
    out: Union[str, os.PathLike[str], None] = None,
    restart: bool = False,
    progress: Progress = None,
    threads: int | None = None,
) -> SweepResult:
    """Runs a scenario at every point of a grid, as `boardlab sweep` does.

    Args:
        scenario: as for :func:`run`.
        grid: each key with its values, ``{"linux.wait": ["170 us", "200 us"], "seed": range(4)}``,
            or a list of ``KEY=VALUE,VALUE``. The last key varies fastest. The key ``seed`` is the
            seed of the run.
        set: values for all points, as for :func:`run`.
        cells: figures for the table: ``TABLE/ROW/COLUMN``; by default those that differ.
        seed: the seed of all points, unless the grid varies it.
        out: a folder for ``sweep.journal``, the journal of completed points, and ``result.json``.
            The same call resumes after Ctrl-C or a kill; so does `boardlab sweep --out`.
        restart: discard the journal.
        progress: as for :func:`run`; a step is a point.
        threads: points that run at a time; their number changes no figure.

    Raises:
        InputError: a point is wrong, or the journal is that of another sweep; nothing has run.
        RunError: the journal can no longer be written.
        KeyboardInterrupt: Ctrl-C. Points that were complete are in the journal.

    A rejected line of the journal is a warning of Python, and its point runs again.

    >>> import boardlab
    >>> swept = boardlab.sweep("nor-write", {"seed": range(1, 3)}, set={"workload.bytes": "64 KiB"})
    >>> swept.points
    2
    """
    known, axes = spec(scenario, set), arguments.axes(grid)
    wanted = [arguments.text(cell, "a cell") for cell in _texts(cells)]
    number, cores = arguments.seed(seed), arguments.threads(threads)
    folder = None if out is None else arguments.path(out, "the folder `out`")
    journal = None if folder is None else os.path.join(folder, JOURNAL)
    with following(progress, known[0]) as told:
        wish = (axes, wanted, journal, bool(restart))
        outcome, resumed, points, told_of = _boardlab.sweep(known, wish, number, (told, cores))
    for sentence in told_of:
        warnings.warn(sentence, stacklevel=2)
    result = SweepResult(outcome)
    result.of_points, result.of_resumed = points, resumed
    if folder is not None:
        write_whole(os.path.join(folder, "result.json"), result.json.encode())
    return result


def _texts(cells: object) -> list[object]:
    return [cells] if isinstance(cells, str) else list(cells)  # type: ignore[call-overload]


def reproduce(
    *evaluations: str,
    seed: int = 1,
    progress: Progress = None,
    threads: int | None = None,
) -> Reproduction:
    """Repeats published evaluations and compares the figures, as `boardlab reproduce` does.

    Args:
        evaluations: ``nor``, ``nandfs``, ``sdwear``, ``sata`` and ``fcse``; all of them if there
            are none.
        seed, progress, threads: as for :func:`run`.

    Returns:
        Their results in order: ``reproduce("nor")[0]``.
    """
    names = [arguments.text(name, "the name of an evaluation") for name in evaluations]
    chosen = _boardlab.evaluations(names)
    return Reproduction([run(one, seed=seed, progress=progress, threads=threads) for one in chosen])
