"""A store: the folder of a sweep, with the parts that have run."""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _arguments as arguments
from .. import _boardlab
from .._errors import input_error
from .._files import write_whole
from .._result import Result
from . import _parts
from ._job import Job

__all__ = ["Store"]

#: The file that says which sweep a store has.
ABOUT = "fleet.json"
PARTS = "parts"
FORMAT = 1


class Store:
    """The points of a sweep that have run, in a folder.

    Attributes:
        path: the folder.
        job: the sweep.

    The folder has ``fleet.json``, which says what was asked, and ``parts/*.parquet``, one file a batch.
    Each is written whole or not at all. What has run is never run again.
    """

    def __init__(self, path: str, job: Job) -> None:
        self.path = path
        self.job = job

    @staticmethod
    def exists(path: str) -> bool:
        """Whether there is a store at `path`."""
        return os.path.exists(os.path.join(arguments.path(path, "the store"), ABOUT))

    @classmethod
    def open(cls, path: str, job: Job) -> Store:
        """The store of `job` at `path`, with the size of its batches; a new one if there is none.

        Raises:
            InputError: the folder has another sweep, or something else.
        """
        path = os.path.abspath(arguments.path(path, "the store"))
        about = os.path.join(path, ABOUT)
        if not os.path.exists(about):
            if os.path.isdir(path) and os.listdir(path):
                raise input_error(
                    f"{path} is no store: it has no {ABOUT}",
                    found="other files",
                    expected="a new folder, or the store of this sweep",
                    help="give another folder",
                )
            os.makedirs(os.path.join(path, PARTS), exist_ok=True)
            known = {"format": FORMAT, "batch": job.batch, **job.identity()}
            write_whole(about, (json.dumps(known, indent=1) + "\n").encode())
            return cls(path, job)
        known = _read(about)
        for key, value in job.identity().items():
            if known.get(key) != value:
                raise input_error(
                    f"{path} has another sweep: its `{key}` is {_shown(known.get(key))}",
                    found=_shown(known.get(key)),
                    expected=_shown(value),
                    help="give another folder, or ask for the same sweep",
                )
        os.makedirs(os.path.join(path, PARTS), exist_ok=True)
        return cls(path, dataclasses.replace(job, batch=int(known["batch"])))

    @property
    def parts_path(self) -> str:
        """The folder of the parts."""
        return os.path.join(self.path, PARTS)

    def parts(self) -> list[_parts.Part]:
        """The parts that are there, in order, one for each batch."""
        parts: dict[int, _parts.Part] = {}
        for part in _parts.found(self.parts_path):
            number = part.first // self.job.batch
            if (part.first, part.end) == self.job.range(number):
                parts.setdefault(number, part)
        return [parts[number] for number in sorted(parts)]

    def missing(self) -> Iterator[int]:
        """The batches that have not run, in order. They take no memory before their turn."""
        done = bytearray(self.job.batches)
        for part in self.parts():
            done[part.first // self.job.batch] = 1
        return (number for number in range(self.job.batches) if not done[number])

    def verify(self) -> list[str]:
        """Reads every part, and removes those that are not as they were written: their names."""
        damaged = [part.path for part in _parts.found(self.parts_path) if _parts.is_damaged(part)]
        for path in damaged:
            os.unlink(path)
        return [os.path.basename(path) for path in damaged]

    @property
    def done(self) -> int:
        """How many points have run."""
        return sum(part.end - part.first for part in self.parts())

    def frame(self) -> Any:
        """The points as a lazy frame of polars: a row a point, in order; what is not asked for is not read.

        Columns: ``point``, the keys, the figures by their names, which end in their units,
        ``virtual_time_ns``, ``failure`` and ``line``. A figure that a point lacks is null.
        """
        pl = _parts.polars()
        files = [part.path for part in self.parts()]
        if not files:
            raise input_error(
                f"{self.path} has no points yet",
                found="no parts",
                expected="points that have run",
                help="run the sweep",
            )
        return pl.concat([pl.scan_parquet(file) for file in files], how="diagonal_relaxed")

    def lines(self) -> Iterator[str]:
        """The line of each point, in order, with every figure exactly."""
        pl = _parts.polars()
        for part in self.parts():
            column = pl.read_parquet(io.BytesIO(part.bytes()), columns=[_parts.LINE])
            yield from column[_parts.LINE]

    def result(self, cells: Iterable[str] = ()) -> Result:
        """The result of all points, of at most 10,000: the bytes of `boardlab sweep`.

        Raises:
            InputError: points are missing or damaged, there are too many, or none has one of `cells`.
        """
        wanted = [arguments.text(cell, "a cell") for cell in cells]
        lines = list(self.lines()) if self.job.points <= 10_000 else []
        return Result(_boardlab.fleet_result(self.job.asked, lines, wanted, (None, None)))


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
        if known["format"] == FORMAT and int(known["batch"]) > 0:
            return dict(known)
        problem = f"its format is {known['format']}"
    except (ValueError, KeyError, TypeError) as error:
        problem = str(error) or type(error).__name__
    raise input_error(
        f"{path} cannot be read: {problem}",
        found=problem,
        expected=f"a store of the format {FORMAT}",
        help="give another folder",
    )


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
