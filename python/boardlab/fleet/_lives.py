"""Lifetimes of many cards, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from .. import _arguments as arguments
from .._arguments import Settings
from .._errors import input_error
from .._progress import Progress
from .._run import AnyScenario
from . import _dispatch, _parts
from ._job import Job
from ._store import Store
from ._sweep import Swept, _swept, _whole

__all__ = ["Estimate", "Lives", "lives"]

#: The figure that is the life of a card.
LIFE = "life/end/years_50"
#: Cards of the first round, where a precision is asked for. Each round has as many as all before it.
FIRST = 100


class Estimate(NamedTuple):
    """A figure with its confidence interval; ``inf`` where more cards survive the horizon than that.

    Attributes:
        value: the figure.
        low, high: the interval in which it lies with the confidence that was asked for.
    """

    value: float
    low: float
    high: float

    @property
    def precision(self) -> float:
        """Half of the interval, as a share of the value."""
        if not math.isfinite(self.high) or not self.value:
            return math.inf
        return (self.high - self.low) / 2 / self.value


class Lives:
    """How long cards live.

    Attributes:
        years: the life of each card in ascending order; ``inf`` for one that survives the horizon.
        sweeps: what has run, a store a round.
    """

    def __init__(self, years: Iterable[float], sweeps: Sequence[Swept] = ()) -> None:
        self.years = tuple(sorted(years))
        self.sweeps = tuple(sweeps)

    def quantile(self, share: float, confidence: float = 0.95) -> Estimate:
        """The time at which `share` of the cards have ended, without any assumption on how they are
        spread: the interval is between two lives of the sample, by the binomial distribution.

        >>> from boardlab.fleet import Lives
        >>> Lives(range(1, 101)).quantile(0.5)
        Estimate(value=50, low=40, high=61)
        """
        if not 0 < share < 1 or not 0 < confidence < 1:
            raise input_error(
                f"the share {share!r} or the confidence {confidence!r} is not between 0 and 1",
                found=(share, confidence),
                expected="numbers between 0 and 1",
                help="0.05 is the time at which 5 % of the cards have ended",
            )
        count = len(self.years)
        if count == 0:
            return Estimate(math.nan, 0.0, math.inf)
        low, high = _ranks(count, share, confidence)
        value = self.years[min(math.ceil(share * count), count) - 1]
        return Estimate(
            value,
            self.years[low - 1] if low >= 1 else 0.0,
            self.years[high - 1] if high <= count else math.inf,
        )

    def survival(self, confidence: float = 0.95) -> Any:
        """The share of cards that live longer, as a frame of polars: ``years``, ``share_ratio``,
        ``low_ratio`` and ``high_ratio`` (the interval of Wilson for each time)."""
        pl, count = _parts.polars(), len(self.years)
        rows, ended = [(0.0, 1.0, *_wilson(count, count, confidence))], 0
        for place, years in enumerate(self.years):
            ended = place + 1
            if math.isinf(years):
                break
            if place + 1 < count and self.years[place + 1] == years:
                continue
            left = count - ended
            rows.append((years, left / count, *_wilson(left, count, confidence)))
        return pl.DataFrame(
            rows, schema=["years", "share_ratio", "low_ratio", "high_ratio"], orient="row"
        )

    def chart(self, confidence: float = 0.95) -> dict[str, Any]:
        """The survival curve in its band, as a chart of Vega-Lite."""
        rows = self.survival(confidence).to_dicts()
        x = {"field": "years", "type": "quantitative", "title": "years"}
        share = {"type": "quantitative", "axis": {"format": "%"}, "title": "cards that still work"}
        band = {"mark": {"type": "area", "interpolate": "step-after", "opacity": 0.25}}
        line = {"mark": {"type": "line", "interpolate": "step-after"}}
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "data": {"values": rows},
            "layer": [
                {**band, "encoding": {"x": x, "y": {"field": "low_ratio", **share},
                                      "y2": {"field": "high_ratio"}}},
                {**line, "encoding": {"x": x, "y": {"field": "share_ratio", **share}}},
            ],
        }  # fmt: skip

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/vnd.vegalite.v6+json": self.chart(), "text/plain": repr(self)}

    def __len__(self) -> int:
        return len(self.years)

    def __repr__(self) -> str:
        if not self.years:
            return "<Lives: none>"
        at = {f"{share:.0%}": self.quantile(share) for share in (0.05, 0.5, 0.95)}
        told = ", ".join(f"{name} {one.value:g} [{one.low:g}, {one.high:g}]" for name, one in at.items())
        return f"<Lives: {len(self)} cards; years at which cards have ended: {told}>"


def _ranks(count: int, share: float, confidence: float) -> tuple[int, int]:
    """The ranks, from 1, between which the quantile lies: 0 and `count + 1` are beyond the sample."""
    tail = (1 - confidence) / 2
    low = _binomial(count, share, tail)
    high = count - _binomial(count, 1 - share, tail) + 1
    return low, high


def _binomial(count: int, share: float, tail: float) -> int:
    """The largest rank of which the chance that it is above the quantile is at most `tail`."""
    total, rank = 0.0, 0
    log_share, log_rest = math.log(share), math.log1p(-share)
    for hits in range(count + 1):
        ways = math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
        total += math.exp(ways + hits * log_share + (count - hits) * log_rest)
        if total > tail:
            return rank
        rank = hits + 1
    return rank


def _wilson(hits: int, count: int, confidence: float) -> tuple[float, float]:
    if count == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = hits / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def lives(
    scenario: AnyScenario,
    cards: int,
    client: Any = None,
    *,
    set: Settings = None,
    first_seed: int = 1,
    precision: float | None = None,
    share: float = 0.5,
    confidence: float = 0.95,
    figure: str = LIFE,
    store: str | None = None,
    batch: int | None = None,
    retries: int = 3,
    progress: Progress = None,
) -> Lives:
    """How long so many cards live: a run for each, with a seed of its own.

    Args:
        scenario: a scenario of the kind of ``sd-life``; each run is of one card
            (``life.cards=1``, ``what_if.cards=0``).
        cards: how many cards, at most if `precision` is given.
        client, set, store, batch, retries, progress: as for :func:`sweep`.
        first_seed: the seed of the first card; the others follow.
        precision: ends early, as soon as half of the confidence interval of the time at which `share`
            of the cards have ended is at most this share of it: 0.02 for 2 %. Each round has as many
            cards as all before it, so the answer is the same on any cluster.
        share, confidence: what `precision` is about.
        figure: the figure that is the life of a card, in years.

    Returns:
        The lives. A card that survives the horizon counts as ``inf``.

    Raises:
        InputError, RunError, KeyboardInterrupt: as for :func:`sweep`; InputError too if a point has
            failed or lacks the figure.
    """
    count, seed = _whole(cards, "the number of cards", 1), arguments.seed(first_seed)
    own = {"life.cards": 1, "what_if.cards": 0}
    settings = arguments.settings(own) + arguments.settings(set)
    rounds: list[Swept] = []
    years: list[float] = []
    with _dispatch.cluster(client) as ready:
        while len(years) < count:
            begin = len(years)
            size = count if precision is None else max(begin, FIRST)
            end = min(begin + size, count)
            seeds = [f"seed={seed + begin}..{seed + end - 1}"]
            if end - begin == 1:
                seeds = [f"seed={seed + begin}"]
            job = Job.plan(scenario, seeds, settings, 1, "run")
            path = None if store is None else f"{store}/cards-{begin + 1:09d}-{end:09d}"
            rounds.append(_swept(ready, job, path, batch, _whole(retries, "retries", 0), progress))
            years += _years(rounds[-1].store, figure)
            if precision is not None and Lives(years).quantile(share, confidence).precision <= precision:
                break
    return Lives(years, rounds)


def _years(store: Store, figure: str) -> list[float]:
    """The lives of a round, in the order of the seeds."""
    frame = store.frame()
    names = frame.collect_schema().names()
    failed = frame.filter(_parts.polars().col(_parts.FAILURE).is_not_null())
    broken = failed.select("point", _parts.FAILURE).head(1).collect().rows()
    if broken:
        point, words = broken[0]
        raise input_error(
            f"point {point} of {store.path} has failed: {words}",
            found=words,
            expected="a life",
            help="run it alone: boardlab.run(scenario, set=..., seed=...)",
        )
    ended = [name for name in names if name == figure]
    if not ended and figure != LIFE:
        raise input_error(
            f"no card has the figure {figure}",
            found=figure,
            expected="a figure of the runs",
            help="Store.frame().collect_schema() lists the figures",
        )
    if not ended:
        return [math.inf] * store.job.points
    column = frame.select(figure).collect()[figure]
    return [math.inf if one is None else float(one) for one in column]
