"""Results: tables, findings, verdicts and charts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Union

from . import _arguments as arguments
from . import _boardlab, _frames, _html
from ._errors import input_error
from ._files import write_whole

__all__ = [
    "Agreement", "Attachment", "Cell", "Chart", "Column", "Curve", "Difference", "Field",
    "Parameter", "Publication", "Reproduction", "Result", "Row", "Table", "Tables",
]  # fmt: skip

#: What a cell holds: a number in the unit of its column, words, or nothing.
Content = Union[int, float, str, None]

#: The units, by the end of a key or of the id of a column; the longest first.
UNITS = ("bytes_per_s", "off_ratio", "bytes", "count", "ratio", "ns")


def unit_of(key: str) -> str:
    """The unit that the end of `key` names; empty if it names none."""
    return next((unit for unit in UNITS if key == unit or key.endswith("_" + unit)), "")


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, and the published one if there is one.

    Attributes:
        value: ours, in `unit`.
        unit: ``ns``, ``bytes``, ``bytes_per_s``, ``count``, ``ratio`` or ``off_ratio``; empty for
            words and plain numbers.
        published: the published figure, in `unit`.
        printed: the published figure as it was printed.
        verdict: ``pass``, ``close``, ``differs``, ``input``, ``fail`` or ``not_built``.
        finding: the index, in :attr:`Result.findings`, of the one that explains the difference.
    """

    value: Content
    unit: str = ""
    published: Content = None
    printed: str | None = None
    verdict: str | None = None
    finding: int | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its stable id, which ends in its unit, and its heading."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its stable id, its title and its cells by the id of their column."""

    id: str
    title: str
    cells: dict[str, Cell]

    def __getitem__(self, column: str) -> Cell:
        return self.cells[column]

    def __contains__(self, column: object) -> bool:
        return column in self.cells


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a data frame.

    Attributes:
        name: the name in the data frame.
        unit: the unit of its numbers; ``None`` where its rows have different ones, empty where it
            has none.
        type: ``int``, ``float`` or ``str``.
        title: the heading.
    """

    name: str
    unit: str | None
    type: str
    title: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input of a run: its key, its value as written, and what it rests on."""

    key: str
    value: str
    origin: str
    source: str


@dataclass(frozen=True, slots=True)
class Publication:
    """The publication that a run repeats."""

    title: str
    translation: str
    authors: str
    publisher: str
    date: str
    cited_as: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text for further use, such as a patch, a trace or the output of fio."""

    name: str
    title: str
    text: str

    def __repr__(self) -> str:
        return f"Attachment({self.name!r}, {len(self.text)} characters: {self.title})"


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve: equally many positions `x` and values `y` in `unit`."""

    id: str
    unit: str
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __repr__(self) -> str:
        return f"Curve({self.id!r}, {len(self.x)} points in {self.unit or 'no unit'})"


@dataclass(frozen=True, slots=True)
class Difference:
    """A cell, and its difference from the published figure as a share of that."""

    table: str
    row: str
    column: str
    share: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well a run agrees with its publication.

    Attributes:
        cells: cells with a published figure and one of ours.
        inputs: those of them that a published input determines; they count for nothing below.
        not_built: cells with a published figure alone.
        median: the difference that half of the cells do not exceed, as a share.
        ninetieth: the difference that nine of ten cells do not exceed.
        worst: the largest difference.
    """

    cells: int
    inputs: int
    not_built: int
    median: float | None
    ninetieth: float | None
    worst: Difference | None


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart or a timeline. A notebook draws it by itself.

    Attributes:
        id: its stable id within the result.
        title: its heading.
        caption: what to see in it.
        spec: its specification in Vega-Lite 6 with its data inside, as a dict.
    """

    id: str
    title: str
    caption: str
    spec: dict[str, Any]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return _html.chart_bundle(self.title, self.caption, self.spec)

    def __repr__(self) -> str:
        return f"Chart({self.id!r}: {self.title})"


class Table(Sequence[Row]):
    """A table: rows of cells. ``table["L-7", "mean_ns"]`` is a cell, ``table["L-7"]`` a row.

    Attributes:
        id: its stable id, such as ``table5``.
        title: its heading.
        source: where the published figures are from.
        columns: its columns in order.
        rows: its rows in order.
        parameters: the keys of the parameters that it depends on.
    """

    __slots__ = ("columns", "id", "parameters", "rows", "source", "title")

    def __init__(self, known: dict[str, Any]) -> None:
        self.id: str = known["id"]
        self.title: str = known["title"]
        self.source: str | None = known.get("source")
        self.columns: tuple[Column, ...] = tuple(Column(**one) for one in known["columns"])
        self.rows: tuple[Row, ...] = tuple(_row(one) for one in known["rows"])
        self.parameters: tuple[str, ...] = tuple(known.get("parameters", ()))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, (int, slice)):
            return self.rows[at]
        row, column = at if isinstance(at, tuple) else (at, None)
        found = next((one for one in self.rows if one.id == row), None)
        if found is None:
            raise KeyError(f"{row}; rows of {self.id}: {', '.join(one.id for one in self.rows)}")
        return found if column is None else found[column]

    @property
    def schema(self) -> tuple[Field, ...]:
        """The columns of :meth:`to_polars` and its like, with their units and types."""
        return _frames.frame(self, False).fields

    def to_polars(self, *, published: bool = False) -> Any:
        """A data frame of polars: one row a row, and the columns of :attr:`schema`.

        With `published`, each column with published figures is followed by ``COLUMN.published``
        and ``COLUMN.verdict``.

        Raises:
            ImportError: polars is not installed.
        """
        return _frames.to_polars(self, published)

    def to_pandas(self, *, published: bool = False) -> Any:
        """As :meth:`to_polars`, for pandas. ``frame.attrs["units"]`` has the units."""
        return _frames.to_pandas(self, published)

    def to_arrow(self, *, published: bool = False) -> Any:
        """As :meth:`to_polars`, for Arrow. The metadata of each field have its ``unit`` and its
        ``title``, those of the schema the id and the title of the table."""
        return _frames.to_arrow(self, published)

    def _repr_html_(self) -> str:
        return _html.table(self)

    def __repr__(self) -> str:
        return f"Table({self.id!r}, {len(self.rows)} rows, {len(self.columns)} columns)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.id, self.title, len(self.rows)))


def _row(known: dict[str, Any]) -> Row:
    unit = known.get("unit", "")
    cells = {
        column: Cell(unit=unit_of(column) or unit_of(unit), **cell)
        for column, cell in known["cells"].items()
    }
    return Row(known["id"], known.get("title", ""), cells)


class Tables(Sequence[Table]):
    """Tables, by position or by id."""

    __slots__ = ("_all",)

    def __init__(self, all: Sequence[Table]) -> None:
        self._all = tuple(all)

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, str):
            found = next((table for table in self._all if table.id == at), None)
            if found is None:
                raise KeyError(f"{at}; tables: {', '.join(table.id for table in self._all)}")
            return found
        return self._all[at]

    def __eq__(self, other: object) -> bool:
        return self._all == other._all if isinstance(other, Tables) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return f"Tables({', '.join(table.id for table in self._all)})"


class Result:
    """The result of a run.

    Times are virtual, in nanoseconds; units are in the names and in the cells. Equal scenarios,
    settings, seeds and versions give equal bytes, on any machine and with any number of threads.
    """

    def __init__(self, outcome: _boardlab.Outcome) -> None:
        self._outcome = outcome

    @classmethod
    def from_json(cls, text: str) -> Result:
        """The saved result of one run.

        Raises:
            InputError: the text is no such result.
        """
        outcomes = _boardlab.read(arguments.text(text, "the saved result"))
        if len(outcomes) != 1:
            raise input_error(
                f"the text has {len(outcomes)} results",
                found=len(outcomes),
                expected="one result",
                help="Reproduction.from_json reads several",
            )
        return cls(outcomes[0])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """The result that `boardlab run --out` or :meth:`save` wrote as JSON."""
        with open(path, encoding="utf-8") as file:
            return cls.from_json(file.read())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes :attr:`json` to a file, whole or not at all."""
        write_whole(path, self.json.encode())

    @cached_property
    def json(self) -> str:
        """The bytes that `boardlab run SCENARIO --format json --no-wall-time` prints."""
        return self._outcome.json()

    @property
    def csv(self) -> str:
        """What `--format csv` prints."""
        return self._outcome.csv()

    def text(self, width: int = 100) -> str:
        """What the command line prints for people, in lines of about `width` characters."""
        return self._outcome.text(max(20, min(int(width), 500)))

    @property
    def html(self) -> str:
        """The report, as one page that needs no network."""
        return self._outcome.html()

    @cached_property
    def _known(self) -> dict[str, Any]:
        known: dict[str, Any] = json.loads(self.json)
        return known

    @property
    def scenario(self) -> str:
        """The name of the scenario."""
        return str(self._known["scenario"])

    @property
    def title(self) -> str:
        """The title."""
        return str(self._known["title"])

    @property
    def seed(self) -> int:
        """The seed."""
        return int(self._known["seed"])

    @property
    def version(self) -> str:
        """The version of boardlab."""
        return str(self._known["version"])

    @property
    def virtual_time_ns(self) -> int:
        """The virtual time that passed, summed over the systems of the scenario."""
        return int(self._known["virtual_time_ns"])

    @property
    def wall_time_ns(self) -> int | None:
        """How long the run took on this machine. It is not in :attr:`json`."""
        return self._outcome.wall_time_ns

    @property
    def publication(self) -> Publication | None:
        """The publication that the run repeats."""
        known = self._known.get("publication")
        return None if known is None else Publication(**known)

    @cached_property
    def tables(self) -> Tables:
        """The tables, in order; ``tables["table5"]`` is one by its id."""
        return Tables([Table(one) for one in self._known["tables"]])

    @property
    def curves(self) -> dict[str, Curve]:
        """The curves of the charts, by id."""
        return {
            one["id"]: Curve(one["id"], one["unit"], tuple(one["x"]), tuple(one["y"]))
            for one in self._known["series"]
        }

    @cached_property
    def charts(self) -> tuple[Chart, ...]:
        """The charts and the timelines."""
        return tuple(Chart(**one) for one in json.loads(self._outcome.drawings()))

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Every input, by key."""
        return {one["key"]: Parameter(**one) for one in self._known["parameters"]}

    @property
    def findings(self) -> tuple[str, ...]:
        """The conclusions, in sentences; the first sentence of each is its headline."""
        return tuple(self._known["findings"])

    @property
    def answer(self) -> str | None:
        """The finding that answers the question of the publication."""
        at = self._known.get("answer")
        return None if at is None else self.findings[at]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings, in sentences."""
        return tuple(self._known["warnings"])

    @property
    def attachments(self) -> dict[str, Attachment]:
        """Texts for further use, by name; of several with one name the last."""
        return {one["name"]: Attachment(**one) for one in self._known.get("attachments", ())}

    @property
    def verdicts(self) -> dict[str, int]:
        """How many cells have each verdict; verdicts without cells are left out."""
        counts: dict[str, int] = {}
        for table in self.tables:
            for row in table:
                for cell in row.cells.values():
                    if cell.verdict is not None:
                        counts[cell.verdict] = counts.get(cell.verdict, 0) + 1
        return counts

    @property
    def failed(self) -> bool:
        """Whether a figure differs from the published one and no finding says why. The command
        line ends with status 1 then."""
        return self._outcome.failed

    @cached_property
    def agreement(self) -> Agreement | None:
        """The agreement with the publication; ``None`` without published figures."""
        known = json.loads(self._outcome.agreement())
        if known is None:
            return None
        worst = known.pop("worst")
        return Agreement(**known, worst=None if worst is None else Difference(**worst))

    def _repr_html_(self) -> str:
        return _html.result(self)

    def __repr__(self) -> str:
        seed = f", seed={self.seed}" if self.parameters else ""
        tables = ", ".join(table.id for table in self.tables)
        return f"{type(self).__name__}({self.scenario!r}{seed}: {tables})"

    def __str__(self) -> str:
        return self.text()

    def __eq__(self, other: object) -> bool:
        return self.json == other.json if isinstance(other, Result) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.json)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = {key: value for key, value in self.__dict__.items() if key.startswith("of_")}
        return _again, (type(self), self.json, parts)


def _again(kind: type[Result], text: str, parts: dict[str, Any]) -> Result:
    result = kind(_boardlab.read(text)[0])
    result.__dict__.update(parts)
    return result


class Reproduction(Sequence[Result]):
    """The results of published evaluations, in order."""

    __slots__ = ("_all",)

    def __init__(self, all: Sequence[Result]) -> None:
        self._all = tuple(all)

    @classmethod
    def from_json(cls, text: str) -> Reproduction:
        """Saved results, of one run or of several."""
        outcomes = _boardlab.read(arguments.text(text, "the saved results"))
        return cls([Result(one) for one in outcomes])

    @property
    def json(self) -> str:
        """The bytes that `boardlab reproduce --format json --no-wall-time` prints."""
        return _boardlab.reproduction_json([one._outcome for one in self._all])

    @property
    def failed(self) -> bool:
        """Whether one of the results has failed."""
        return any(one.failed for one in self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, str):
            found = next((one for one in self._all if one.scenario == at), None)
            if found is None:
                raise KeyError(f"{at}; scenarios: {', '.join(one.scenario for one in self._all)}")
            return found
        return self._all[at]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._all)

    def __repr__(self) -> str:
        return f"Reproduction({', '.join(one.scenario for one in self._all)})"
