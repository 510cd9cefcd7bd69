"""A key refined where the answer changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

from .._arguments import Settings
from .._errors import input_error
from .._progress import Progress
from .._run import AnyScenario
from . import _dispatch
from ._job import Job
from ._sweep import Swept, _swept, _whole

__all__ = ["Refined", "refine"]


class Refined:
    """A figure over a key, with more points where it changes.

    Attributes:
        key: the key.
        figure: the name of the figure.
        points: pairs of value and figure, in ascending order; the figure is ``None`` where it has none.
        sweeps: what has run, a store a round.
        whole: whether every change is refined as far as was asked for; otherwise the points ran out.
    """

    def __init__(
        self,
        key: str,
        figure: str,
        points: Sequence[tuple[int, float | None]],
        sweeps: Sequence[Swept],
        whole: bool,
    ) -> None:
        self.key, self.figure = key, figure
        self.points, self.sweeps, self.whole = tuple(points), tuple(sweeps), whole

    def frame(self) -> Any:
        """The points as a frame of polars: the key and the figure."""
        from ._parts import polars

        return polars().DataFrame(list(self.points), schema=[self.key, self.figure], orient="row")

    def __repr__(self) -> str:
        state = "" if self.whole else "; not refined everywhere"
        return f"<Refined: {self.figure} over {self.key}, {len(self.points)} points{state}>"


def refine(
    scenario: AnyScenario,
    key: str,
    values: Iterable[int],
    figure: str,
    client: Any = None,
    *,
    unit: str = "",
    change: Union[float, Callable[[float, float], bool]] = 0.05,
    step: int = 1,
    most: int = 1_000,
    set: Settings = None,
    seed: int = 1,
    store: str | None = None,
    batch: int | None = None,
    retries: int = 3,
    progress: Progress = None,
) -> Refined:
    """Runs a scenario at some values of a key, and then between those where a figure changes, in rounds,
    until values next to each other differ by `step` at most, or the figure changes less.

    Args:
        scenario, client, set, seed, batch, retries, progress: as for :func:`sweep`.
        key: the key that varies.
        values: the first values, at least two whole numbers: the coarse grid.
        figure: what is looked at, ``TABLE/ROW/COLUMN``, with its unit.
        unit: what is written behind each value: ``"us"``.
        change: the share of the range of all figures so far by which two neighbours have to differ; or
            a function of two figures. Where a point fails and its neighbour does not, that is a change.
        step: the distance of values that are not refined further.
        most: how many points there may be.
        store: the folder for the stores of the rounds.

    The points follow from the figures alone, so they are the same on any cluster.
    """
    known: dict[int, float | None] = {}
    sweeps: list[Swept] = []
    wanted = sorted({_whole(value, f"a value of {key}", 0) for value in values})
    least, limit = _whole(step, "the step", 1), _whole(most, "the number of points", 2)
    if len(wanted) < 2:
        raise input_error(
            "the grid to refine has fewer than two values",
            found=wanted,
            expected="at least two",
            help="give the ends of the range, and some values between them",
        )
    with _dispatch.cluster(client) as ready:
        while wanted and len(known) + len(wanted) <= limit:
            grid = [f"{key}=" + ",".join(f"{value}{unit}" for value in wanted)]
            job = Job.plan(scenario, grid, set, seed, "run")
            path = None if store is None else f"{store}/round-{len(sweeps) + 1:02d}"
            sweeps.append(_swept(ready, job, path, batch, _whole(retries, "retries", 0), progress))
            frame = sweeps[-1].frame()
            if figure in frame.collect_schema().names():
                column = frame.select(figure).collect()[figure].to_list()
            else:
                column = [None] * len(wanted)
            known.update(zip(wanted, column))
            wanted = _between(sorted(known.items()), change, least)
    return Refined(key, figure, sorted(known.items()), sweeps, not wanted)


def _between(
    points: list[tuple[int, float | None]],
    change: Union[float, Callable[[float, float], bool]],
    step: int,
) -> list[int]:
    """The values in the middle of neighbours between which the figure changes."""
    figures = [figure for _, figure in points if figure is not None]
    span = max(figures, default=0.0) - min(figures, default=0.0)

    def changes(a: float | None, b: float | None) -> bool:
        if a is None or b is None:
            return a is not b
        return change(a, b) if callable(change) else span > 0 and abs(a - b) > change * span

    pairs = zip(points, points[1:])
    middles = [
        (low + high) // 2
        for (low, a), (high, b) in pairs
        if high - low > step and changes(a, b)
    ]
    return [value for value in middles if value not in dict(points)]
