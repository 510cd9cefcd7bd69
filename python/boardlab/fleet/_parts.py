"""Parts: the points of a batch as a file of Parquet.

A row is a point: its number from 1, its keys, its figures by their names, why it failed, and its line,
which has every figure exactly. The name of a file has its points and the CRC-32 of its bytes:

    part-000000001-000000100-9e3779b9.parquet

So a part that is not as it was written is known by its name, and equal batches have equal files.
"""

from __future__ import annotations

import io
import json
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .._errors import InputError, input_error
from .._files import write_whole

__all__ = ["LINE", "Part", "found", "polars", "save", "written"]

#: The columns besides keys and figures.
POINT, FAILURE, LINE = "point", "failure", "line"
NAME = re.compile(r"part-(\d{9,})-(\d{9,})-([0-9a-f]{8})\.parquet")


def polars() -> Any:
    """The module, or a message that says how to get it."""
    try:
        import polars
    except ImportError as error:
        raise ImportError("boardlab.fleet needs polars: pip install 'boardlab[fleet]'") from error
    return polars


class Part(NamedTuple):
    """A file of a store: its path, its first point from 0, the one behind its last, its checksum."""

    path: str
    first: int
    end: int
    crc32: int

    def bytes(self) -> bytes:
        """Its bytes.

        Raises:
            InputError: they are not those that were written.
        """
        with open(self.path, "rb") as file:
            content = file.read()
        own = zlib.crc32(content)
        if own != self.crc32:
            raise input_error(
                f"{self.path} is damaged: its checksum is {own:08x}",
                found=f"{own:08x}",
                expected=f"{self.crc32:08x}",
                help="remove it: its points are run again",
            )
        return content


def written(keys: Sequence[str], ran: Iterable[tuple[int, str, str, bool]]) -> bytes:
    """The part of points that have run: number, values as JSON, line, and whether it failed."""
    rows = [(point, json.loads(values), json.loads(line), line) for point, values, line, _ in ran]
    columns: dict[str, list[Any]] = {POINT: [point + 1 for point, *_ in rows]}
    for place, key in enumerate(keys):
        columns[key] = [values[place] for _, values, _, _ in rows]
    done = [line["outcome"].get("done", {}) for _, _, line, _ in rows]
    cells = [one.get("cells", {}) for one in done]
    for name in dict.fromkeys(name for one in cells for name in one):
        columns[name] = [_number(one.get(name)) for one in cells]
    columns["virtual_time_ns"] = [one.get("virtual_time_ns") for one in done]
    columns[FAILURE] = [line["outcome"].get("failed") for _, _, line, _ in rows]
    columns[LINE] = [line for *_, line in rows]
    frame = polars().DataFrame([_series(name, values) for name, values in columns.items()])
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


def _number(figure: Any) -> Any:
    """A figure of a line: a whole number, or a number as text, so that it reads back exactly."""
    return float(figure) if isinstance(figure, str) else figure


def _series(name: str, values: list[Any]) -> Any:
    pl = polars()
    kinds = {type(value) for value in values if value is not None}
    if name in (FAILURE, LINE) or (kinds and not kinds <= {int, float}):
        return pl.Series(name, [None if one is None else str(one) for one in values], pl.String)
    if kinds <= {int}:
        return pl.Series(name, values, pl.Int64)
    return pl.Series(name, [None if one is None else float(one) for one in values], pl.Float64)


def save(folder: str, points: tuple[int, int], part: bytes) -> None:
    """Writes a part into a folder: all of it, or nothing."""
    name = f"part-{points[0] + 1:09d}-{points[1]:09d}-{zlib.crc32(part):08x}.parquet"
    write_whole(os.path.join(folder, name), part)


def found(folder: str) -> list[Part]:
    """The parts of a folder, in the order of their points."""
    parts = []
    for entry in os.scandir(folder):
        match = NAME.fullmatch(entry.name)
        if match:
            first, end, crc = int(match[1]) - 1, int(match[2]), int(match[3], 16)
            parts.append(Part(entry.path, first, end, crc))
    return sorted(parts, key=lambda part: (part.first, part.end, part.crc32))


def is_damaged(part: Part) -> bool:
    """Whether its bytes are not those that were written."""
    try:
        part.bytes()
    except InputError:
        return True
    return False
